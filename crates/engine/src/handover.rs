//! Handover of a load that a cut left running to the next step.

use steadfast_domain::{Halt, Load, Step};

/// A running load.
pub(crate) trait ActiveLoad {
    fn is_of(&self, load: &Load) -> bool;
}

/// The running load as the next step finds it.
pub(crate) enum Handover<R> {
    /// The step continues the running load.
    Same(R),
    /// The step continues a different load and is refused.
    Other(R, Halt),
    /// The step begins a load; one that still runs has to be ended.
    New,
}

/// Returns true if a step continues the running load.
pub(crate) fn takes_over<R: ActiveLoad>(running: &Option<R>, step: &Step) -> bool {
    step.continues && running.as_ref().is_some_and(|running| running.is_of(&step.load))
}

pub(crate) fn take_over<R: ActiveLoad>(running: &mut Option<R>, step: &Step) -> Handover<R> {
    match running.take_if(|_| step.continues) {
        None => Handover::New,
        Some(running) if running.is_of(&step.load) => Handover::Same(running),
        Some(running) => {
            let why = "the step continues a load other than the running one";
            Handover::Other(running, Halt::Refused(format!("{}: {why}", step.place)))
        }
    }
}
