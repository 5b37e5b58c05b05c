//! A [`Prepared`] step: what an engine has found that it can do, and what it
//! needs to do it.
//!
//! Everything that can be made of a step without touching the device is made
//! once, here, before the step begins: the plan that I/Os are drawn from, an opened
//! script, the content of a data pattern, fio's options. What cannot be done is said at the
//! same moment, as a [`Refusal`].

use std::any::Any;
use std::fmt;
use steadfast_domain::{Halt, Load, Step};

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
    /// What its engine made for it, of a type that only this engine knows. Nothing, where
    /// the load that the step continues has all that it needs.
    made: Option<Box<dyn Any + Send>>,
}

impl Prepared {
    /// A step for an engine that needs nothing made beforehand.
    pub fn plain(step: Step) -> Self {
        Prepared { step, made: None }
    }

    /// A step with what its engine makes of its load, unless it `goes_on` with the load
    /// that runs.
    pub(crate) fn with<M: Any + Send>(
        step: &Step,
        goes_on: bool,
        make: impl FnOnce(&Load) -> Result<M, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut prepared = Prepared::plain(step.clone());
        if !goes_on {
            prepared.made = Some(Box::new(make(&step.load)?));
        }
        Ok(prepared)
    }

    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The step, and what this engine made for it.
    pub(crate) fn into_parts<M: Any>(self) -> (Step, Option<M>) {
        let made = self.made.and_then(|made| made.downcast::<M>().ok());
        (self.step, made.map(|made| *made))
    }
}
