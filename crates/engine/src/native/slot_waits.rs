//! Separates the lateness of a thread from the time for which its I/Os waited for a slot.

/// Waits for a slot of one thread of a paced load; all times are ticks.
#[derive(Debug, Default)]
pub(super) struct SlotWaits {
    /// Time at which the thread last saw a slot come free after all had been busy.
    opened: u64,
    /// Time at which I/Os that were due first found no slot, since the thread last had none that
    /// was due; 0 if there are none.
    waiting_from: u64,
    /// `opened` at that time.
    opened_before: u64,
}

impl SlotWaits {
    /// Returns the start error of an I/O: how late it was submitted without its wait for a slot;
    /// see [`steadfast_domain::StartError`].
    #[inline(always)]
    pub(super) fn start_error(&self, due: u64, submitted: u64) -> u64 {
        // The thread was late before the I/O began to wait for a slot, and after it had one.
        let before = self.waiting_from.saturating_sub(due.max(self.opened_before));
        before + submitted.saturating_sub(due.max(self.opened))
    }

    /// Notes whether I/Os that were due at `now` wait for a slot, after as many as possible were
    /// submitted.
    #[inline(always)]
    pub(super) fn note_waiting(&mut self, is_waiting: bool, now: u64) {
        if !is_waiting {
            self.waiting_from = 0;
        } else if self.waiting_from == 0 {
            (self.waiting_from, self.opened_before) = (now, self.opened);
        }
    }

    /// Notes that the thread saw a slot come free at `now`, after all had been busy.
    #[inline(always)]
    pub(super) fn note_opened(&mut self, now: u64) {
        self.opened = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_free_slot_an_io_is_late_from_its_due_time() {
        let waits = SlotWaits::default();
        assert_eq!(waits.start_error(1000, 1003), 3);
        assert_eq!(waits.start_error(1000, 1000), 0);
    }

    /// One slot, busy from 100 to 500; I/Os are due at 200, 300 and 480, and each takes 400.
    #[test]
    fn a_device_that_is_too_slow_makes_no_io_late() {
        let mut waits = SlotWaits::default();
        waits.note_waiting(false, 100);
        waits.note_opened(500);
        assert_eq!(waits.start_error(200, 502), 2);
        waits.note_waiting(true, 502);
        waits.note_opened(900);
        assert_eq!(waits.start_error(300, 903), 3 + 2, "both times the thread took a while");
        waits.note_waiting(true, 903);
        waits.note_opened(1300);
        assert_eq!(waits.start_error(480, 1301), 1 + 2);
    }

    /// Two slots, both free; the thread does not run from 100 to 1000. I/Os are due at 200, 300,
    /// 400 and, while that one waits for a slot, at 1100. Each takes 50.
    #[test]
    fn a_thread_that_did_not_run_is_late_for_all_that_came_due_meanwhile() {
        let mut waits = SlotWaits::default();
        waits.note_opened(50);
        assert_eq!((waits.start_error(200, 1000), waits.start_error(300, 1000)), (800, 700));
        waits.note_waiting(true, 1000);
        waits.note_opened(1200);
        assert_eq!(waits.start_error(400, 1201), 600 + 1, "not the 200 without a slot");
        assert_eq!(waits.start_error(1100, 1201), 1);
        waits.note_waiting(false, 1201);
        assert_eq!(waits.start_error(1300, 1302), 2);
    }
}
