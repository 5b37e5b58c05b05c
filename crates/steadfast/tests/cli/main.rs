//! The program as a user runs it: on simulated drives, scratch files and loop
//! devices that these tests make and remove.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod bad_input;

mod capture;
mod captured_workloads;
mod closed_loop;
mod commit;
mod compare_and_check;
mod compare_file_names;
mod confirmations;
#[cfg(feature = "explorer")]
mod consistent_answers;
mod data_content;
mod derive;
mod devices;
mod doctor;
mod exit_codes;
#[cfg(feature = "explorer")]
mod explore;
mod export;
mod factors;
mod failing_calls;
mod fio;
mod fixtures;
mod fleet;
mod folded_threads_and_files;
mod foreign_results;
mod foreign_traces;
mod host_ranking;
mod hostile_files;
mod hostile_users;
mod hosts;
mod hosts_in_use;
mod hosts_lost;
mod house;
mod import_circles;
mod iometer;
mod load_curve;
mod measure;
mod neighbors;
mod observed_time;
mod other_tools;
mod outputs;

mod portrait;
mod power_cut;
mod procedures;
mod questions;
mod real_io;
mod recomputed_tables;
mod replay;
mod report_assertions;
mod resume;
mod resume_device;
mod run_environment;
mod schema;
mod signals;
mod simulated_runs;
mod stalls;
mod synthetic_captures;
mod targets;
mod threads_and_files;
mod tkperf;
mod totals_by_process;
mod trace;
mod trace_deltas;
mod trace_figures;
mod trace_locality;
mod trace_shapes_and_hits;
mod trend;
mod tutorial;
mod verify_write;
mod workload_export;
mod write_amplification;
