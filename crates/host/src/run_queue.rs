//! Time that a runnable thread waited for a processor.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Run queue statistics of one thread.
#[derive(Debug)]
pub struct RunQueueTime(Option<File>);

impl RunQueueTime {
    /// Opens the statistics of the calling thread. Other threads may read them later.
    pub fn of_this_thread() -> RunQueueTime {
        RunQueueTime(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns the waiting time so far in nanoseconds; `None` if the kernel was built without
    /// `CONFIG_SCHED_INFO`.
    pub fn nanos(&self) -> Option<u64> {
        let mut text = [0; 80];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_does_not_wait_for_a_processor() {
        let account = RunQueueTime::of_this_thread();
        let Some(before) = account.nanos() else {
            return eprintln!("SKIPPED: a_thread_that_sleeps: no /proc/thread-self/schedstat");
        };
        let start = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let waited = account.nanos().unwrap() - before;
        assert!(u128::from(waited) <= start.elapsed().as_nanos() - 290_000_000, "{waited} ns");
    }
}
