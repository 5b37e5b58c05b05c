//! The commands, one file each.

pub mod atto;
pub mod calibrate;
pub mod capture;
pub mod check;
pub mod compare;
mod conduct;
pub mod crystaldiskmark;
pub mod devices;
pub mod doctor;
#[cfg(feature = "explorer")]
pub mod explore;
pub mod export;
pub mod fio;
pub mod fiosynth;
pub mod identify;
pub mod iometer;
pub mod mark;
pub mod measure;
pub mod other_tools;
pub mod plan;
mod power_cuts;
pub mod replay;
pub mod report;
pub mod restore;
pub mod resume;
mod resumed_run;
pub mod run;
pub mod schema;
mod several;
pub mod shell;
mod start_run;
pub mod study;
pub mod tkperf;
pub mod trace;
pub mod trend;
