//! A [`Prepared`] step: what an engine has found that it can do, and what it
//! needs to do it.
//!
//! Everything that can be made of a step without touching the device is made
//! once, here, before the step begins: the plan that I/Os are drawn from, an opened
//! script, the content of a data pattern, fio's options. What cannot be done is said at the
//! same moment, as a [`Refusal`].

use crate::{fio, native, sim};
use std::fmt;
use steadfast_domain::{Halt, Step};

/// Why an engine cannot apply a step, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    /// As the end of a run that has come to this step.
    pub fn of(self, step: &Step) -> Halt {
        Halt::Refused(format!("{}: {self}", step.place))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Refusal(why)
    }
}

/// A step that an engine can apply.
#[derive(Debug)]
pub struct Prepared {
    step: Step,
    made: Made,
}

/// What an engine made for a step.
#[derive(Debug)]
pub(crate) enum Made {
    /// Nothing: the load that the step continues has all that it needs.
    Nothing,
    /// For the engine of that name.
    Native(Box<native::Provisions>),
    Sim(Box<sim::Provisions>),
    Fio(Box<fio::Expression>),
}

impl Prepared {
    /// A step for an engine that needs nothing made beforehand.
    pub fn plain(step: Step) -> Self {
        Prepared { step, made: Made::Nothing }
    }

    pub(crate) fn new(step: &Step, made: Made) -> Self {
        Prepared { step: step.clone(), made }
    }

    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    pub(crate) fn into_parts(self) -> (Step, Made) {
        (self.step, self.made)
    }
}
