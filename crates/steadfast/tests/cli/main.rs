//! The program as a user runs it: on simulated drives, scratch files and loop
//! devices that these tests make and remove.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod bad_input;
mod captions;
mod capture;
mod captured;
mod circles;
mod closed_loop;
mod confirmations;
mod content;
mod deltas;
mod devices;
mod doctor;
mod exit_codes;
#[cfg(feature = "explorer")]
mod explore;
mod export;
mod figures;
mod fio;
mod fleet;
mod front;
mod hostile;
mod hosts;
mod hosts_lost;
mod hosts_used;
mod house;
mod iometer;
mod judged;
mod localities;
mod made_up;
mod observed;
mod oracles;
mod outputs;
mod pairs;
mod procedures;
mod questions;
mod ranked_hosts;
mod real;
mod recognize;
mod recomputed;
mod replay;
mod results;
mod resume;
mod schema;
mod scratch;
mod signals;
mod simulated;
mod stalls;
mod strangers;
mod targets;
mod tkperf;
mod trace;
mod tutorial;
mod verify_write;
mod who;
mod who_folded;
