//! Windows of a workload, and the bytes that the drive counted in each.

use steadfast_domain::measurement::LogDelta;
use steadfast_domain::steady_state::TrackPoint;
use steadfast_domain::{Bytes, Outcome, Step, Track};

#[derive(Debug, Clone, PartialEq)]
pub struct CountedWindow {
    /// Number of the window, from 1.
    pub number: u32,
    counts: LogDelta,
    lacks_a_count: bool,
    /// True if there was a gap before or inside it.
    pub after_gap: bool,
    gap_inside: bool,
    pub is_complete: bool,
    /// Bytes that this program wrote.
    pub written: Bytes,
}

impl CountedWindow {
    pub(super) fn new(number: u32) -> Self {
        CountedWindow {
            number,
            counts: LogDelta::default(),
            lacks_a_count: false,
            after_gap: false,
            gap_inside: false,
            is_complete: false,
            written: Bytes(0),
        }
    }

    pub(super) fn add(&mut self, step: &Step, outcome: &Outcome) {
        if outcome.gap_before.is_some() {
            self.after_gap = true;
            self.gap_inside |= step.place.point > 1;
        }
        match outcome.measurement.sensed.log.as_ref().filter(|log| has_both_counts(log)) {
            Some(log) => self.counts.merge(log),
            None => self.lacks_a_count = true,
        }
        self.written += outcome.measurement.written();
        self.is_complete = outcome.measurement.complete;
    }

    /// Returns what the drive counted; `None` if a count is missing, or the window is void.
    pub(super) fn counts(&self) -> Option<&LogDelta> {
        let is_void = self.lacks_a_count || self.gap_inside || !self.is_complete;
        (!is_void).then_some(&self.counts)
    }

    /// Returns the write amplification; `None` if the window is void.
    pub(super) fn amplification(&self) -> Option<f64> {
        amplification(self.counts()?)
    }
}

/// Returns true if a log has the bytes of host and flash; false also if a counter went backwards.
fn has_both_counts(log: &LogDelta) -> bool {
    log.host_written.is_some() && log.nand_written.is_some()
}

/// Returns the flash bytes per host byte of a sum of logs; `None` if the host wrote nothing.
pub(super) fn amplification(counts: &LogDelta) -> Option<f64> {
    let (host, nand) = (counts.host_written?.0, counts.nand_written?.0);
    (host > 0).then(|| nand as f64 / host as f64)
}

/// Returns the write amplification of windows as a variable that is judged.
pub(super) fn track(name: &str, windows: &[CountedWindow]) -> Track {
    let point = |window: &CountedWindow| TrackPoint {
        round: window.number,
        value: window.amplification(),
        after_gap: window.after_gap,
    };
    Track {
        name: name.to_owned(),
        unit: "1".to_owned(),
        points: windows.iter().map(point).collect(),
    }
}
