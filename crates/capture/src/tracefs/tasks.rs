//! Maps threads to processes. The kernel's events name threads.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The start of a thread or process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewTask {
    pub time_ns: u64,
    /// The thread that started it.
    pub parent: u32,
    pub thread: u32,
    /// True for a further thread of the parent's process.
    pub same_process: bool,
}

#[derive(Default)]
pub(super) struct ThreadTable {
    process_of: HashMap<u32, u32>,
}

impl ThreadTable {
    /// Returns the map of all threads that run now.
    pub(super) fn running() -> ThreadTable {
        let mut process_of = HashMap::new();
        for process in numbers_in("/proc") {
            let threads = numbers_in(format!("/proc/{process}/task"));
            process_of.extend(threads.map(|thread| (thread, process)));
        }
        ThreadTable { process_of }
    }

    /// Records the start of a thread. Starts must come in order of time, because thread IDs are
    /// reused.
    pub(super) fn begin(&mut self, start: &NewTask) {
        let process = if start.same_process { self.process(start.parent) } else { start.thread };
        self.process_of.insert(start.thread, process);
    }

    /// Returns the process of a thread, or the thread ID itself if the thread ended before it could
    /// be looked up.
    pub(super) fn process(&mut self, thread: u32) -> u32 {
        let from_proc = || process_of(thread).unwrap_or(thread);
        *self.process_of.entry(thread).or_insert_with(from_proc)
    }
}

fn numbers_in(directory: impl AsRef<Path>) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the process of a running thread by /proc, or `None` if the thread has ended.
fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_found_by_their_process_and_by_their_start() {
        let own_id = std::process::id();
        // SAFETY: takes nothing and returns a number.
        let thread = unsafe { libc::gettid() } as u32;
        assert_eq!(ThreadTable::running().process_of.get(&thread), Some(&own_id));
        let mut tasks = ThreadTable::default();
        assert_eq!(tasks.process(thread), own_id);
        // None of these runs: thread IDs are below 2^22.
        let start =
            |thread, parent, same_process| NewTask { time_ns: 0, parent, thread, same_process };
        tasks.begin(&start(1 << 23, thread, true));
        tasks.begin(&start((1 << 23) + 1, 1 << 23, true));
        assert_eq!(tasks.process((1 << 23) + 1), own_id);
        // The ID is reused for a process.
        tasks.begin(&start(1 << 23, thread, false));
        assert_eq!(tasks.process(1 << 23), 1 << 23);
        assert_eq!(tasks.process((1 << 23) + 7), (1 << 23) + 7);
    }
}
