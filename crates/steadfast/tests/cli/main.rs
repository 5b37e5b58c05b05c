//! The program as a user runs it: on simulated drives, scratch files and loop
//! devices that these tests make and remove.

mod bad_input;
mod devices;
mod house;
mod real;
mod resume;
mod scratch;
mod simulated;
