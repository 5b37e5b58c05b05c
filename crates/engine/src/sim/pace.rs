//! Due times of a load's I/Os in virtual time.

use crate::arrival_times::ArrivalTimes;
use steadfast_domain::Stimulus;

#[derive(Debug)]
pub(super) struct Pacer {
    /// Virtual time at which the load begins, in nanoseconds.
    begins: u64,
    /// `None` in a closed loop: an I/O is due as soon as a slot is free.
    times: Option<ArrivalTimes>,
}

impl Pacer {
    pub(super) fn new(stimulus: &Stimulus, seed: u64, begins: u64) -> Self {
        Pacer { begins, times: ArrivalTimes::new(stimulus, 0, 1, seed) }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.times.is_none()
    }

    /// Returns when the next I/O is due; `None` while that depends on a completion.
    pub(super) fn due(&self) -> Option<u64> {
        match &self.times {
            None => Some(0),
            Some(times) => times.due_ns().map(|ns| self.begins.saturating_add(ns)),
        }
    }

    /// Returns the stream of the I/O that is due next; `None` if it is chosen by weight.
    #[inline(always)]
    pub(super) fn stream(&self) -> Option<u32> {
        self.times.as_ref()?.stream()
    }

    pub(super) fn note_issue(&mut self) {
        if let Some(times) = &mut self.times {
            times.note_issue();
        }
    }

    /// Notes that the last outstanding I/O has completed.
    pub(super) fn note_idle(&mut self, now: u64) {
        if let Some(times) = &mut self.times {
            times.note_idle(now.saturating_sub(self.begins));
        }
    }
}
