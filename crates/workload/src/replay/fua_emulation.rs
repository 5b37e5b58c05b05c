//! Detects whether the captured device implemented forced unit access by a flush after each
//! write ([`FuaEmulation`]). The kernel sends such a flush to a device with a write cache but
//! without FUA. A capture holds it as a separate I/O, so a replay must not request it again.

/// Share of writes with forced unit access that a flush must follow, in percent. It is below 100
/// because the last flush is missing at the end of a capture.
const FOLLOWED_PERCENT: u64 = 95;
/// Fewest writes for a decision: a flush after fewer can be the program's own.
const WRITES_MIN: u64 = 4;
/// Longest time from the completion of a write to the flush that completes it.
const FOLLOWS_WITHIN_NS: u64 = 100_000_000;

/// Counts of the writes with forced unit access and of those that a flush follows.
#[derive(Debug, Default)]
pub(super) struct FuaEmulation {
    pub(super) writes: u64,
    followed: u64,
    /// Completion times of writes that no flush has followed yet, in nanoseconds.
    waiting: Vec<u64>,
}

impl FuaEmulation {
    /// Adds a write with forced unit access. A write without a known completion counts as not
    /// followed by a flush.
    pub(super) fn add_write(&mut self, completed_ns: Option<u64>) {
        self.writes += 1;
        self.waiting.extend(completed_ns);
    }

    /// Adds a flush, which covers every write that completed before it.
    pub(super) fn add_flush(&mut self, issued_ns: u64) {
        self.waiting.retain(|completed_ns| {
            let Some(delay_ns) = issued_ns.checked_sub(*completed_ns) else { return true };
            self.followed += u64::from(delay_ns <= FOLLOWS_WITHIN_NS);
            false
        });
    }

    /// Returns whether the device implemented forced unit access by flushes.
    pub(super) fn is_detected(&self) -> bool {
        self.writes >= WRITES_MIN && self.followed * 100 >= self.writes * FOLLOWED_PERCENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_fua_has_a_flush_after_each_write() {
        let mut found = FuaEmulation::default();
        for at in 0..40u64 {
            // Two writes that share one flush.
            found.add_write(Some(at * 1000 + 300));
            found.add_write(Some(at * 1000 + 310));
            found.add_flush(at * 1000 + 320);
        }
        found.add_write(Some(41_000));
        assert!(found.is_detected());
        assert_eq!(found.writes, 81);
    }

    #[test]
    fn a_flush_now_and_then_is_the_programs_own() {
        let mut found = FuaEmulation::default();
        for at in 0..100u64 {
            found.add_write(Some(at * 1_000_000_000 + 300));
            if at.is_multiple_of(10) {
                found.add_flush(at * 1_000_000_000 + 999_000_000);
            }
        }
        assert!(!found.is_detected() && !FuaEmulation::default().is_detected());
        let mut unknown = FuaEmulation::default();
        unknown.add_write(None);
        unknown.add_flush(7);
        assert!(!unknown.is_detected());
    }
}
