//! The starting point of a step: what earlier steps of the run left behind.

use std::collections::BTreeMap;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::{Bytes, Nanos};

/// The starting point of a step: what earlier steps of the run left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepStart {
    /// Byte offset of every sequential cursor's next I/O; a cursor that is missing here starts at
    /// the beginning of its range.
    pub cursors: BTreeMap<String, Bytes>,
    /// Work done in the steps that this one continues. It counts toward the load's `until` and is
    /// zero for a step that begins a load.
    pub done: WorkDone,
    /// The same for each of several loads that are applied at once.
    pub done_by_load: Vec<WorkDone>,
    /// Number of resumptions of the run, for the first load started after them: the interrupted
    /// step may have drawn I/Os that are not recorded. 0 for every other load.
    pub resumed: u64,
    /// Position at which a script starts: its beginning, or where the steps that this one
    /// continues ended.
    pub script: ScriptPosition,
    /// Time at which a load starts or a script continues, so that several can do so together: on
    /// `CLOCK_MONOTONIC`, or in virtual time on a simulated drive. `None` means at once. A script
    /// that cannot keep to the time is refused, and so is every late load on a simulated drive;
    /// any other load starts as soon as it can, and the measurement reports the delay.
    pub begins: Option<Nanos>,
}

impl StepStart {
    /// Returns the seed of a load's I/Os: `load_seed` if the load starts from the beginning, and a
    /// different one if it continues after a gap. With its own seed it would repeat the I/Os from
    /// before the gap, and a drive that is written for hours would be written in the same places.
    pub fn seed(&self, load_seed: u64) -> u64 {
        if self.done == WorkDone::default() && self.resumed == 0 {
            return load_seed;
        }
        let WorkDone { time, bytes, ios } = self.done;
        let mut seed = load_seed;
        for part in [time.0, bytes.0, ios, self.resumed] {
            seed = mix64(seed ^ part);
        }
        seed
    }

    /// Returns the start of one of several loads that are applied at once, with its own work done
    /// and its own cursors. `number` counts from 0.
    pub fn for_part(&self, number: usize) -> StepStart {
        let prefix = cursor_prefix(number);
        let cursor =
            |(key, at): (&String, &Bytes)| Some((key.strip_prefix(&prefix)?.to_owned(), *at));
        StepStart {
            cursors: self.cursors.iter().filter_map(cursor).collect(),
            done: self.done_by_load.get(number).copied().unwrap_or_default(),
            done_by_load: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns how long ago the load started, its ramp included; zero for a load that starts now.
    /// A delay of its first I/O counts from then.
    pub(crate) fn elapsed_with(&self, ramp: Nanos) -> Nanos {
        let elapsed = self.done.time;
        if elapsed == Nanos::ZERO { Nanos::ZERO } else { Nanos(ramp.0.saturating_add(elapsed.0)) }
    }

    /// Returns the part of the work's time that counts toward the load's time limit: a load
    /// without a ramp is measured from its first I/O on, one with a ramp from the ramp's end on.
    pub(crate) fn measured_time(&self, delay: Nanos, ramp: Nanos) -> Nanos {
        if ramp > Nanos::ZERO { self.done.time } else { self.done.time.saturating_sub(delay) }
    }

    /// Returns the seed of the load's I/Os; `None` if it is `load_seed`.
    pub(crate) fn other_seed(&self, load_seed: u64) -> Option<u64> {
        Some(self.seed(load_seed)).filter(|seed| *seed != load_seed)
    }
}

fn cursor_prefix(number: usize) -> String {
    format!("#{} ", number + 1)
}

/// Returns the cursors of one of several loads that are applied at once, with its number in their
/// names. `number` counts from 0.
pub(crate) fn part_cursors(
    number: usize,
    cursors: BTreeMap<String, Bytes>,
) -> impl Iterator<Item = (String, Bytes)> {
    let prefix = cursor_prefix(number);
    cursors.into_iter().map(move |(key, at)| (format!("{prefix}{key}"), at))
}

/// Progress of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Measured time.
    pub time: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// I/Os completed.
    pub ios: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_from_the_start_of_the_load_and_the_limit_from_its_first_io() {
        let second = |n: u64| Nanos(n * 1_000_000_000);
        let start = |passed: u64| StepStart {
            done: WorkDone { time: second(passed), ..WorkDone::default() },
            ..StepStart::default()
        };
        let zero = Nanos::ZERO;
        // Delay of 40 s: after 19 s no I/O was due, after 59 s 19 s are measured.
        for (passed, left_of_delay, measured) in [(0, 40, 0), (19, 21, 0), (40, 0, 0), (59, 0, 19)]
        {
            let delay = second(40).saturating_sub(start(passed).elapsed_with(zero));
            assert_eq!(delay, second(left_of_delay), "{passed}");
            assert_eq!(start(passed).measured_time(second(40), zero), second(measured), "{passed}");
        }
        // A ramp of 10 s is over before measured time passes.
        let delay = second(40).saturating_sub(start(19).elapsed_with(second(10)));
        assert_eq!(delay, second(11));
        assert_eq!(start(19).measured_time(second(40), second(10)), second(19));
        assert_eq!(start(0).elapsed_with(second(10)), zero);
    }
}
