//! What is done anew where a gap spoiled it: attempts, and their phases.

use steadfast_domain::caveats as ids;
use steadfast_domain::{Bench, Caveat, CaveatKind, Halt, Note, Outcome, Record, Step};

/// Attempts a test that allows no gap until one ran in one piece; an attempt
/// answers whether it did. It begins with `first`: the purge.
pub fn until_unbroken(
    bench: &mut dyn Bench,
    first: &str,
    mut attempt: impl FnMut(&mut dyn Bench, u32) -> Result<bool, Halt>,
) -> Result<(), Halt> {
    for number in 1.. {
        if attempt(bench, number)? {
            break;
        }
        bench.note(&Note::Caveat(Caveat::new(
            CaveatKind::Remark,
            ids::BEGUN_ANEW,
            format!("Attempt {number} was interrupted; the test begins anew with {first}."),
            "",
        )));
    }
    Ok(())
}

/// The name of a phase that is done anew after a gap.
pub fn attempt_phase(phase: &str, attempt: u32) -> String {
    match attempt {
        0 | 1 => phase.to_owned(),
        again => format!("{phase} (attempt {again})"),
    }
}

/// Whether this is the phase, or the phase done anew.
pub fn is_attempt_of(phase: &str, base: &str) -> bool {
    phase.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (attempt "))
}

/// What the phase of an attempt ends with; nothing for the first.
pub fn attempt_of(phase: &str) -> Option<&str> {
    phase.split_once(" (").map(|(_, attempt)| attempt)
}

/// The attempt that ran last.
pub fn current_attempt(record: &Record) -> Option<&str> {
    record.steps().last().and_then(|(step, _)| attempt_of(&step.place.phase))
}

/// The steps of the last attempt at a phase.
pub fn last_attempt<'a>(record: &'a Record, base: &str) -> Vec<(&'a Step, &'a Outcome)> {
    let of_base: Vec<_> =
        record.steps().filter(|(step, _)| is_attempt_of(&step.place.phase, base)).collect();
    let Some(last) = of_base.last().map(|(step, _)| step.place.phase.clone()) else {
        return Vec::new();
    };
    of_base.into_iter().filter(|(step, _)| step.place.phase == last).collect()
}

/// The phases of a record that are one of these, or one of them done anew.
pub fn phases_of(record: &Record, bases: &[&str]) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for (step, _) in record.steps() {
        let phase = &step.place.phase;
        if bases.iter().any(|base| is_attempt_of(phase, base)) && !phases.contains(phase) {
            phases.push(phase.clone());
        }
    }
    phases
}
