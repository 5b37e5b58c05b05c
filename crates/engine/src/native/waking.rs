//! How long before an I/O is due a thread stops sleeping.
//!
//! A sleep ends late: the timer fires, an idle processor wakes up (a virtual one
//! has to be given a real one first), and the thread gets its turn. How late is
//! learned from the sleeps themselves, so that as little as possible of a
//! processor is spent on looking at the clock, and no I/O is late for it.

use super::queue::Wait;

/// The longest sleep, so that an end is noticed.
const NAP_NS: u64 = 40_000_000;

/// The thread is awake at least, and at most, so long before an I/O is due.
const LEAST_NS: u64 = 60_000;
const MOST_NS: u64 = 1_000_000;

/// After a sleep that ended in time, the margin shrinks by this part of itself, as
/// a power of two.
const SHRINKS: u32 = 8;

/// And by this part with every I/O: where all follow within the margin nothing is
/// learned from sleeps any more.
const FORGETS: u32 = 13;

/// A thread's sleeps.
#[derive(Debug)]
pub(super) struct Waking {
    margin_ns: u64,
    /// When the sleep was to end.
    planned: Option<u64>,
}

impl Default for Waking {
    fn default() -> Self {
        // Nothing is late before anything was learned.
        Waking { margin_ns: MOST_NS, planned: None }
    }
}

impl Waking {
    /// How long to sleep where the next I/O is due then; in nanoseconds both.
    #[inline(always)]
    pub(super) fn until(&mut self, due: u64, now: u64) -> Wait {
        match due.saturating_sub(now) {
            nanos if nanos > self.margin_ns => {
                let sleep = (nanos - self.margin_ns).min(NAP_NS);
                self.planned = Some(now + sleep);
                Wait::AtMost(sleep)
            }
            _ => Wait::Not,
        }
    }

    /// The thread is awake. A completion may have woken it before its time.
    #[inline(always)]
    pub(super) fn awake(&mut self, now: u64) {
        if let Some(planned) = self.planned.take()
            && now >= planned
        {
            self.learn(now - planned);
        }
    }

    /// An I/O was handed over.
    #[inline(always)]
    pub(super) fn handed_over(&mut self) {
        self.margin_ns = (self.margin_ns - (self.margin_ns >> FORGETS)).max(LEAST_NS);
    }

    fn learn(&mut self, late: u64) {
        let wanted = 2 * late;
        let shrunk = self.margin_ns - (self.margin_ns >> SHRINKS);
        self.margin_ns = wanted.max(shrunk).clamp(LEAST_NS, MOST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_how_late_sleeps_end() {
        let mut waking = Waking::default();
        let mut margin = |late: u64, times: u32| {
            for _ in 0..times {
                let Wait::AtMost(sleep) = waking.until(10_000_000, 0) else { panic!("no sleep") };
                waking.awake(sleep + late);
            }
            match waking.until(10_000_000, 0) {
                Wait::AtMost(sleep) => 10_000_000 - sleep,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(margin(1_000, 2000), LEAST_NS);
        assert_eq!(margin(150_000, 1), 300_000);
        assert_eq!(margin(80_000_000, 1), MOST_NS);
        let after = margin(1_000, 100);
        assert!((600_000..700_000).contains(&after), "one outlier is forgotten slowly: {after}");
        assert_eq!(margin(1_000, 1000), LEAST_NS);
    }

    #[test]
    fn what_is_due_soon_is_not_slept_for_and_a_completion_teaches_nothing() {
        let mut waking = Waking::default();
        assert_eq!(waking.until(1_000_000 + MOST_NS, 1_000_000), Wait::Not);
        assert_eq!(waking.until(5, 1_000_000), Wait::Not);
        let Wait::AtMost(sleep) = waking.until(9_000_000, 0) else { panic!("no sleep") };
        waking.awake(sleep / 2);
        waking.awake(900_000_000);
        assert_eq!(waking.until(9_000_000, 0), Wait::AtMost(sleep));
        (0..100_000).for_each(|_| waking.handed_over());
        assert_eq!(waking.until(1_000_000, 0), Wait::AtMost(1_000_000 - LEAST_NS));
        assert_eq!(waking.until(u64::MAX, 0), Wait::AtMost(NAP_NS));
    }
}
