//! The host that this program runs on.

use crate::error::RecordError;
use crate::marks::MarkFile;
use crate::source::RecordingHost;
use std::io;
use std::path::Path;
use std::time::Duration;
use steadfast_domain::TimeZone;
use steadfast_domain::io_event::{Mark, TimeZoneChange};
use steadfast_host::{ProcessorTimes, SystemRoots, wall_clock_unix_ms};

pub(crate) struct LiveHost<'a> {
    marks: MarkFile,
    is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> LiveHost<'a> {
    /// Accepts marks from now on, for the capture that writes `trace`.
    pub(crate) fn new(
        trace: &Path,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<LiveHost<'a>, RecordError> {
        Ok(LiveHost { marks: MarkFile::new(trace).map_err(RecordError::Marks)?, is_stopped })
    }
}

impl RecordingHost for LiveHost<'_> {
    fn monotonic_ns(&self) -> u64 {
        steadfast_host::monotonic().0
    }

    fn unix_ms(&self) -> u64 {
        wall_clock_unix_ms()
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }

    /// Returns an ID from the kernel, or one made of the time and the process ID if the kernel
    /// provides none.
    fn random_id(&self) -> String {
        let by_time_and_process = || format!("{}-{}", wall_clock_unix_ms(), std::process::id());
        steadfast_host::random_name(&SystemRoots::real()).unwrap_or_else(by_time_and_process)
    }

    fn zone(&self, unix_ms: u64) -> Option<TimeZone> {
        steadfast_host::zone(unix_ms)
    }

    fn zone_change(&self, from_unix_ms: u64, to_unix_ms: u64) -> Option<TimeZoneChange> {
        steadfast_host::zone_change(from_unix_ms, to_unix_ms)
    }

    fn own_cpu_time_ns(&self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn processor_times(&self) -> Option<ProcessorTimes> {
        steadfast_host::processor_times(&SystemRoots::real())
    }

    fn marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        self.marks.read(began_ns)
    }

    fn last_marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        self.marks.end(began_ns)
    }
}
