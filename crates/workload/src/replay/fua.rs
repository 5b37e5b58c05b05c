//! [`FuaFlushes`]: whether the captured device made forced unit access by a flush after each
//! write. The kernel sends such a flush where a device with a write cache has no FUA; a capture
//! holds it as an I/O of its own, so a replay must not ask for it a second time.

/// Share of the writes with forced unit access that a flush follows, where the device has none,
/// in percent: at the end of a capture the last flush is missing.
const FOLLOWED_PERCENT: u64 = 95;
/// Fewer writes tell nothing: a flush after them can be the program's own.
const WRITES_MIN: u64 = 4;
/// The longest time from the completion of a write to the flush that completes it.
const FOLLOWS_WITHIN_NS: u64 = 100_000_000;

/// Writes with forced unit access, and those of them that a flush follows.
#[derive(Debug, Default)]
pub(super) struct FuaFlushes {
    pub(super) writes: u64,
    followed: u64,
    /// Completion times of writes that no flush has followed yet.
    waiting: Vec<u64>,
}

impl FuaFlushes {
    /// Takes a write with forced unit access; one whose completion is unknown counts as followed
    /// by no flush.
    pub(super) fn write(&mut self, completed_ns: Option<u64>) {
        self.writes += 1;
        self.waiting.extend(completed_ns);
    }

    /// Takes a flush, which completes every write that was completed before it.
    pub(super) fn flush(&mut self, issued_ns: u64) {
        let followed = &mut self.followed;
        self.waiting.retain(|completed_ns| {
            let follows = *completed_ns <= issued_ns;
            let is_soon = issued_ns.saturating_sub(*completed_ns) <= FOLLOWS_WITHIN_NS;
            *followed += u64::from(follows && is_soon);
            !follows
        });
    }

    /// Whether the device made forced unit access by flushes.
    pub(super) fn are_captured(&self) -> bool {
        self.writes >= WRITES_MIN && self.followed * 100 >= self.writes * FOLLOWED_PERCENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_fua_has_a_flush_after_each_write() {
        let mut found = FuaFlushes::default();
        for at in 0..40u64 {
            // Two writes that one flush completes.
            found.write(Some(at * 1000 + 300));
            found.write(Some(at * 1000 + 310));
            found.flush(at * 1000 + 320);
        }
        found.write(Some(41_000));
        assert!(found.are_captured());
        assert_eq!(found.writes, 81);
    }

    #[test]
    fn a_flush_now_and_then_is_the_programs_own() {
        let mut found = FuaFlushes::default();
        for at in 0..100u64 {
            found.write(Some(at * 1_000_000_000 + 300));
            if at.is_multiple_of(10) {
                found.flush(at * 1_000_000_000 + 999_000_000);
            }
        }
        assert!(!found.are_captured() && !FuaFlushes::default().are_captured());
        let mut unknown = FuaFlushes::default();
        unknown.write(None);
        unknown.flush(7);
        assert!(!unknown.are_captured());
    }
}
