//! Attempts at a test or a phase: repetition after a gap, and the phase names of attempts.

use crate::report_notation::distinct;
use steadfast_domain::{
    Bench, Caveat, Halt, Measurement, Note, Outcome, Record, Step, caveats as ids,
};

/// Runs attempts at a test until one has no gap. `attempt` gets the number of the attempt, from 1,
/// and returns true if there was no gap. `first_action` names what an attempt starts with, such as
/// `the purge`.
pub fn repeat_until_unbroken(
    bench: &mut dyn Bench,
    first_action: &str,
    mut attempt: impl FnMut(&mut dyn Bench, u32) -> Result<bool, Halt>,
) -> Result<(), Halt> {
    for number in 1.. {
        if attempt(bench, number)? {
            break;
        }
        bench.note(&Note::Caveat(Caveat::remark(
            ids::RESTARTED,
            format!("Attempt {number} was interrupted; the test begins anew with {first_action}."),
            "",
        )));
    }
    Ok(())
}

/// Returns the steps whose phase has exactly this name, in order.
pub fn steps_of<'a>(record: &'a Record, phase: &str) -> Vec<(&'a Step, &'a Outcome)> {
    record.steps().filter(|(step, _)| step.place.phase == phase).collect()
}

/// Returns the name of a phase in an attempt: `phase` for the first, `phase (attempt N)` for
/// later ones.
pub fn attempt_phase(phase: &str, attempt: u32) -> String {
    match attempt {
        0 | 1 => phase.to_owned(),
        number => format!("{phase} (attempt {number})"),
    }
}

/// Returns true if `phase` is the name of an attempt at the phase `base`.
pub fn is_attempt_of(phase: &str, base: &str) -> bool {
    phase.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (attempt "))
}

/// Returns the suffix of a repeated phase after the opening parenthesis, such as `attempt 2)`;
/// `None` for the first attempt.
pub fn attempt_suffix(phase: &str) -> Option<&str> {
    phase.split_once(" (").map(|(_, attempt)| attempt)
}

/// Returns the suffix of the attempt that the record's last step belongs to, as [`attempt_suffix`]
/// does.
pub fn current_attempt(record: &Record) -> Option<&str> {
    record.steps().last().and_then(|(step, _)| attempt_suffix(&step.place.phase))
}

/// Returns the steps of the last attempt at the phase `base`; empty if there was none.
pub fn last_attempt_steps<'a>(record: &'a Record, base: &str) -> Vec<(&'a Step, &'a Outcome)> {
    let attempts = record.steps().filter(|(step, _)| is_attempt_of(&step.place.phase, base));
    match attempts.last() {
        Some((step, _)) => steps_of(record, &step.place.phase),
        None => Vec::new(),
    }
}

/// Returns the steps of the phase `base` in the current attempt, that of the record's last step;
/// empty if this attempt has not reached the phase.
pub fn current_attempt_steps<'a>(record: &'a Record, base: &str) -> Vec<(&'a Step, &'a Outcome)> {
    let current = current_attempt(record);
    let mut steps = last_attempt_steps(record, base);
    steps.retain(|(step, _)| attempt_suffix(&step.place.phase) == current);
    steps
}

/// Returns the measurements of these steps.
pub fn measurements<'a>(steps: &[(&Step, &'a Outcome)]) -> Vec<&'a Measurement> {
    steps.iter().map(|(_, outcome)| &outcome.measurement).collect()
}

/// Returns the distinct phases of a record that are attempts at one of `bases`, in order of their
/// first steps.
pub fn phases_of(record: &Record, bases: &[&str]) -> Vec<String> {
    let phases = record.steps().map(|(step, _)| step.place.phase.clone());
    distinct(phases.filter(|phase| bases.iter().any(|base| is_attempt_of(phase, base))))
}
