//! The program as a user runs it: on simulated drives, scratch files and loop
//! devices that these tests make and remove.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::too_many_lines)]

mod bad_input;
mod capture;
mod closed_loop;
mod devices;
mod doctor;
mod fio;
mod house;
mod judged;
mod procedures;
mod real;
mod resume;
mod scratch;
mod simulated;
mod trace;
