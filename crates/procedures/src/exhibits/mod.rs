//! What the reports of several procedures have in common.
//!
//! [`report`] builds a report from the table of contents of a procedure, [`matrix`] and
//! [`typed_table`] make tables whose columns are data. [`pages`] has the pieces of which exhibits are made, [`loops`] what is shown of
//! a loop of rounds, [`seconds`] a load second by second, [`response`] and [`secondary`] response times and what was
//! sensed, [`checks`] what was looked at before the run,
//! [`held`] whether a chosen rate was held, [`hosts`] what each of several hosts did, [`steps`] every step,
//! [`disclosure`] the head of the form, the settings and the caveats;
//! [`tkperf`] the sections of a TKperf report.

pub(crate) mod checks;
pub mod disclosure;
mod envelope;
pub(crate) mod frame;
pub(crate) mod held;
pub(crate) mod hosts;
pub(crate) mod loops;
pub(crate) mod matrix;
pub(crate) mod pages;
pub(crate) mod report;
pub(crate) mod response;
pub(crate) mod secondary;
pub(crate) mod seconds;
pub(crate) mod steps;
pub(crate) mod tkperf;
pub(crate) mod typed_table;
