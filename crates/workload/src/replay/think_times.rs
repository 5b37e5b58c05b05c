//! Think time: the idle time of a process before its next I/O. A trace does not record it. It
//! is inferred as the time from the last completion of the process to its next I/O, and is 0
//! while the process has I/Os outstanding.

use std::collections::HashMap;

const PROCESSES_MAX: usize = 1 << 18;

/// The time until which each process has an I/O outstanding.
#[derive(Default)]
pub(super) struct ThinkTimes {
    busy_until_ns: HashMap<u32, u64>,
}

impl ThinkTimes {
    /// Records an I/O of `process` that is due at `due_ns`, and returns the think time before it in
    /// nanoseconds. Before its first I/O, a process thinks from the beginning of the
    /// script.
    pub(super) fn record_io(
        &mut self,
        process: u32,
        due_ns: u64,
        origin_ns: u64,
        completed_ns: Option<u64>,
    ) -> u64 {
        let is_full = self.busy_until_ns.len() >= PROCESSES_MAX;
        if is_full && !self.busy_until_ns.contains_key(&process) {
            // Only processes with I/Os outstanding are certain to be needed again.
            self.busy_until_ns.retain(|_, until| *until > due_ns);
            if self.busy_until_ns.len() >= PROCESSES_MAX {
                return 0;
            }
        }
        let until = self.busy_until_ns.entry(process).or_insert(origin_ns);
        let think = due_ns.saturating_sub(*until);
        *until = completed_ns.unwrap_or(due_ns).max(*until);
        think
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_thinks_from_its_last_completion_to_its_next_io() {
        let mut times = ThinkTimes::default();
        let mut before = |process, due, completed| times.record_io(process, due, 100, completed);
        assert_eq!(before(7, 100, Some(150)), 0);
        assert_eq!(before(7, 120, Some(300)), 0, "one is outstanding");
        assert_eq!(before(7, 200, Some(210)), 0, "the longer one still is");
        assert_eq!(before(7, 340, None), 40);
        assert_eq!(before(8, 400, Some(450)), 300, "the first of another process");
        assert_eq!(before(7, 400, None), 60, "an unseen completion counts as none");
    }
}
