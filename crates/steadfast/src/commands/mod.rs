//! The commands, one file each.

pub mod atto;
mod begin;
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
pub mod front;
pub mod identify;
pub mod iometer;
pub mod mark;
pub mod measure;
pub mod plan;
pub mod replay;
pub mod report;
pub mod restore;
pub mod resume;
mod resumed_run;
pub mod run;
pub mod schema;
mod several;
pub mod shell;
pub mod study;
pub mod tkperf;
pub mod trace;
