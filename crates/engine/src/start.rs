//! Where a step begins: what earlier steps of the run left behind.

use std::collections::BTreeMap;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::step::mix64;
use steadfast_domain::{Bytes, Nanos};

/// Where a step begins: what earlier steps of the run left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The byte offset of every sequential cursor's next I/O; a cursor that is
    /// not in it starts at the beginning of its range.
    pub cursors: BTreeMap<String, Bytes>,
    /// What the load has done in the steps that this one continues. Counts
    /// against the load's `until`; all zero for a step that begins a load.
    pub done: WorkDone,
    /// The same for each of several loads that are applied at once.
    pub done_apart: Vec<WorkDone>,
    /// How often the run had been taken up again, for the first load that
    /// begins after that: the step that was broken off before may have drawn
    /// I/Os that are not recorded. 0 for every other load.
    pub resumed: u64,
    /// Where a script goes on: its beginning, or where the steps that this one
    /// continues have left it.
    pub script: ScriptPosition,
    /// When a load is to begin, or a script to go on, so that several can do so
    /// together: a time of `CLOCK_MONOTONIC`, on a simulated drive virtual time.
    /// At once where it is absent. A script that cannot keep to it is refused; any
    /// other load begins as soon as it can, and the measurement says how late.
    pub begins: Option<Nanos>,
}

impl Start {
    /// The seed that a load draws its I/Os with: its own where it starts from the beginning,
    /// and another one wherever it goes on after a gap. With its own it would
    /// draw again, from the first on, what it has drawn before the gap; a drive
    /// that is written to for hours would be written to in the same places.
    pub fn seed(&self, own: u64) -> u64 {
        if self.done == WorkDone::default() && self.resumed == 0 {
            return own;
        }
        let WorkDone { time, bytes, ios } = self.done;
        [time.0, bytes.0, ios, self.resumed].iter().fold(own, |seed, part| mix64(seed ^ part))
    }

    /// Where one of several loads begins that are applied at once: what it has done itself,
    /// and its own cursors.
    pub fn of_part(&self, number: usize) -> Start {
        let own = cursors_of_part(number);
        let cursor = |(key, at): (&String, &Bytes)| Some((key.strip_prefix(&own)?.to_owned(), *at));
        Start {
            cursors: self.cursors.iter().filter_map(cursor).collect(),
            done: self.done_apart.get(number).copied().unwrap_or_default(),
            done_apart: Vec::new(),
            ..self.clone()
        }
    }

    /// That seed, where it is not the load's own.
    pub(crate) fn other_seed(&self, own: u64) -> Option<u64> {
        Some(self.seed(own)).filter(|seed| *seed != own)
    }
}

/// What the names of the cursors begin with that belong to one of several loads, from 0, that
/// are applied at once.
pub(crate) fn cursors_of_part(number: usize) -> String {
    format!("#{} ", number + 1)
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Measured time.
    pub time: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// I/Os completed.
    pub ios: u64,
}
