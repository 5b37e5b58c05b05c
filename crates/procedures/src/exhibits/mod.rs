//! Exhibits shared by several procedures.
//!
//! [`report`] builds a report from a procedure's table of contents; [`matrix`] and [`typed_table`]
//! build tables with columns as data. [`pages`] has parts of exhibits, [`loops`] the exhibits of a
//! loop of rounds, [`cyclic_load`] those of a load with measured steps, [`seconds`] a load second
//! by second, [`response`] and [`secondary`] response times and sensors, [`device_curves`] what the
//! device reports over time, [`checks`] the checks before the run, [`chosen_rate`] whether a chosen
//! rate was reached again, [`hosts`] the share of each host, [`steps`] every step, [`disclosure`] the
//! head of the form, settings and caveats, and [`tkperf`] the sections of a TKperf report.

pub(crate) mod checks;
pub(crate) mod chosen_rate;
pub(crate) mod cyclic_load;
pub(crate) mod device_curves;
pub mod disclosure;
mod envelope;
pub(crate) mod frame;
pub(crate) mod hosts;
pub(crate) mod loops;
pub(crate) mod matrix;
pub(crate) mod pages;
pub(crate) mod report;
pub(crate) mod response;
pub(crate) mod secondary;
pub(crate) mod seconds;
pub(crate) mod steps;
pub(crate) mod time_axis;
pub(crate) mod tkperf;
pub(crate) mod typed_table;
