//! What becomes of a load that a cut left running when the next step comes.

use steadfast_domain::{Halt, Load, Step};

/// A load that runs.
pub(crate) trait Runs {
    /// Whether it is this one.
    fn is_of(&self, load: &Load) -> bool;
}

/// The running load, for the step that comes.
pub(crate) enum Handover<R> {
    /// The step goes on with it.
    Same(R),
    /// The step continues another one, and is refused.
    Other(R, Halt),
    /// The step begins a load: what may still run is to be ended.
    New,
}

/// Whether a step only takes over the load that runs.
pub(crate) fn goes_on<R: Runs>(running: &Option<R>, step: &Step) -> bool {
    step.continues && running.as_ref().is_some_and(|running| running.is_of(&step.load))
}

/// Hands the running load over to a step.
pub(crate) fn hand_over<R: Runs>(running: &mut Option<R>, step: &Step) -> Handover<R> {
    match running.take_if(|_| step.continues) {
        None => Handover::New,
        Some(running) if running.is_of(&step.load) => Handover::Same(running),
        Some(running) => {
            let why = "the step continues a load other than the running one";
            Handover::Other(running, Halt::Refused(format!("{}: {why}", step.place)))
        }
    }
}
