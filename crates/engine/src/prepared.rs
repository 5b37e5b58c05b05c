//! Preparation of a step, before anything is touched: the plan that I/Os are drawn from, an opened
//! script, the content of a data pattern, fio's options. A step that cannot be applied is refused
//! here, with a [`StepRefusal`].

use std::any::Any;
use std::fmt;
use steadfast_domain::{Halt, Load, Step};

/// Why an engine cannot apply a step, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRefusal(pub String);

impl StepRefusal {
    /// Returns the refusal as the end of a run at this step.
    pub fn at_step(self, step: &Step) -> Halt {
        Halt::Refused(format!("{}: {self}", step.place))
    }
}

impl fmt::Display for StepRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StepRefusal {}

impl From<String> for StepRefusal {
    fn from(why: String) -> Self {
        StepRefusal(why)
    }
}

/// Refuses a step whose loads belong into control groups, for an engine that cannot put them there.
pub(crate) fn refuse_groups(step: &Step) -> Result<(), StepRefusal> {
    if step.groups.is_empty() {
        return Ok(());
    }
    Err(StepRefusal("fio's processes cannot be put into control groups: omit --engine".to_owned()))
}

/// A step that an engine can apply.
#[derive(Debug)]
pub struct PreparedStep {
    step: Step,
    /// Data that the engine made for the step, of a type known only to that engine; `None` if the
    /// step continues a load that has everything it needs.
    engine_data: Option<Box<dyn Any + Send>>,
}

impl PreparedStep {
    /// Creates a step for an engine that prepares nothing.
    pub fn plain(step: Step) -> Self {
        PreparedStep { step, engine_data: None }
    }

    /// Creates a step with the data that `prepare_load` builds from its load, unless the step
    /// `takes_over` the running load.
    pub(crate) fn with<M: Any + Send>(
        step: &Step,
        takes_over: bool,
        prepare_load: impl FnOnce(&Load) -> Result<M, StepRefusal>,
    ) -> Result<Self, StepRefusal> {
        let mut prepared = PreparedStep::plain(step.clone());
        if !takes_over {
            prepared.engine_data = Some(Box::new(prepare_load(&step.load)?));
        }
        Ok(prepared)
    }

    /// Returns the step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Returns the step and the data that this engine made for it.
    pub(crate) fn into_parts<M: Any>(self) -> (Step, Option<M>) {
        let data = self.engine_data.and_then(|data| data.downcast::<M>().ok());
        (self.step, data.map(|data| *data))
    }
}
