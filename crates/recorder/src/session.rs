//! The loop of a capture: polling, counting and rotation of files.

use crate::capture_result::Recorded;
use crate::disk_watch::DiskWatch;
use crate::error::RecordError;
use crate::marks::MarkFile;
use crate::open_file::OpenFile;
use crate::processors::ProcessorLog;
use crate::progress::{CaptureStatus, RecordingEvent, RecordingProgress};
use crate::recording::{self, Recording};
use crate::sink::LiveCapture;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, CaptureCounters};
use steadfast_domain::io_event::{CaptureCost, CapturePart, Mark, Share};
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_host::{Directory, FileError, SystemRoots, wall_clock_unix_ms};

/// Shortest and longest interval between polls. Every poll costs some time even if it finds
/// nothing.
const POLL_INTERVAL: RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_millis(100);

/// Interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a capture until its duration is over or `is_stopped` returns true.
///
/// # Errors
/// The capture cannot be started, or its source or file has failed; what was written before that
/// can be read.
pub fn record(
    recording: &Recording,
    is_stopped: &dyn Fn() -> bool,
    progress: &mut dyn RecordingProgress,
) -> Result<Recorded, RecordError> {
    let devices = recording::find(&recording.devices, &recording.mounts)?;
    let options = recording.options(&devices);
    recording.check(&options)?;
    let directory = recording.output.open_directory()?;
    for instance in steadfast_capture::remove_left_behind() {
        progress.tell(&RecordingEvent::Removed { instance: &instance });
    }
    let conditions = recording.conditions(&devices);
    let capture = Capture::begin(&options)?;
    let sampler = recording.sampler(&devices)?;
    let watch = DiskWatch::new(devices.iter().map(recording::FoundDevice::disk));
    let live = LiveCapture { capture, sampler, watch };
    Session::new(recording, directory, conditions, live, progress)?.run(is_stopped)
}

/// Returns the time until the next poll, from the last one and the fill level of the buffers.
/// Nothing may be lost even if the rate rises sixteenfold.
fn pause(last: Duration, fullness: Option<f64>) -> Duration {
    let next = match fullness {
        Some(full) if full > 1.0 / 16.0 => last / 2,
        Some(full) if full < 1.0 / 64.0 => last * 2,
        Some(_) => last,
        None => *POLL_INTERVAL.start(),
    };
    next.clamp(*POLL_INTERVAL.start(), *POLL_INTERVAL.end())
}

/// A running capture.
struct Session<'a> {
    recording: &'a Recording,
    /// Directory of the files.
    directory: Directory,
    conditions: CaptureConditions,
    live: LiveCapture,
    processors: ProcessorLog,
    marks: MarkFile,
    progress: &'a mut dyn RecordingProgress,
    /// Number of the current file, from 1.
    part: u32,
    reported: Instant,
    total: u64,
    /// Processor time of this process before the first poll, in nanoseconds.
    cpu_before_ns: u64,
    /// Time at which the host's time zone was last checked.
    time_zone_checked_unix_ms: u64,
}

impl<'a> Session<'a> {
    fn new(
        recording: &'a Recording,
        directory: Directory,
        mut conditions: CaptureConditions,
        live: LiveCapture,
        progress: &'a mut dyn RecordingProgress,
    ) -> Result<Self, RecordError> {
        conditions.source = live.capture.describe();
        let now_unix_ms = wall_clock_unix_ms();
        let now_unix_ns = now_unix_ms * 1_000_000;
        conditions.zone = steadfast_host::zone(now_unix_ms);
        conditions.began_unix_ns = Some(now_unix_ns.saturating_sub(live.capture.lasted_ns()));
        conditions.part = Some(CapturePart { capture: new_capture_id(), first: 1, last: 1 });
        conditions.remarks.extend_from_slice(live.capture.remarks());
        for remark in &conditions.remarks {
            progress.tell(&RecordingEvent::Remark(remark));
        }
        let mark = recording.mark.clone().map(|name| Mark { at_ns: 0, name });
        conditions.marks.extend(mark);
        Ok(Session {
            recording,
            directory,
            conditions,
            live,
            processors: ProcessorLog::new(recording.step.map(|width| width.0)),
            marks: MarkFile::new(&recording.output.path).map_err(RecordError::Marks)?,
            progress,
            part: 1,
            reported: Instant::now(),
            total: 0,
            cpu_before_ns: own_cpu_time_ns(),
            time_zone_checked_unix_ms: now_unix_ms,
        })
    }

    fn run(mut self, is_stopped: &dyn Fn() -> bool) -> Result<Recorded, RecordError> {
        self.read_processors();
        let mut file = self.open()?;
        self.progress.tell(&RecordingEvent::Begun { source: &self.conditions.source });
        let end = self.recording.duration.map(|time| Instant::now() + time.to_duration());
        let mut wait = *POLL_INTERVAL.start();
        while !is_stopped() && end.is_none_or(|end| Instant::now() < end) {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.map_or(wait, |left| wait.min(left)));
            file = self.poll(file)?;
            wait = self.pause(wait);
        }
        self.end(file)
    }

    fn open(&self) -> Result<OpenFile, RecordError> {
        let output = &self.recording.output;
        OpenFile::create(output.part(self.part), &self.directory, output, &self.conditions)
    }

    /// Writes the completed I/Os, and opens the next file if this one is full.
    fn poll(&mut self, mut file: OpenFile) -> Result<OpenFile, RecordError> {
        self.total += file.poll(&mut self.live)?;
        self.record_replaced_disks();
        self.read_marks();
        self.read_processors();
        if file.must_be_flushed() {
            self.update_conditions()?;
            file.flush(&self.conditions)?;
        }
        if file.is_full(&self.recording.output) {
            file = self.rotate(file)?;
        }
        if self.reported.elapsed() >= REPORT_INTERVAL {
            file.refuse_deleted()?;
            self.report()?;
        }
        Ok(file)
    }

    /// Records a disk that took over a device number as a device of its own.
    fn record_replaced_disks(&mut self) {
        for replaced in self.live.watch.take_replaced() {
            self.progress.tell(&RecordingEvent::Remark(&replaced.remark));
            self.conditions.devices.push(replaced.device);
            self.conditions.remarks.push(replaced.remark);
        }
    }

    fn read_processors(&mut self) {
        self.processors.update(self.live.capture.lasted_ns(), &mut self.conditions.processors);
    }

    fn read_marks(&mut self) {
        let began_unix_ns = self.conditions.began_unix_ns.unwrap_or_default();
        self.conditions.marks.extend(self.marks.read(began_unix_ns));
    }

    /// Returns the time until the next poll. With a content sampler, polling stays fast, so that
    /// written blocks are read back before they are overwritten; with capture steps too, because
    /// their tables are not covered by the fill level.
    fn pause(&self, last: Duration) -> Duration {
        let buffers_alone = self.live.sampler.is_none() && self.conditions.step_ns.is_none();
        pause(last, self.live.capture.fullness().filter(|_| buffers_alone))
    }

    /// Records a change of the host's UTC offset, such as the start of summer time.
    fn record_time_zone_change(&mut self) {
        let now_unix_ms = wall_clock_unix_ms();
        if let Some(zone) = &mut self.conditions.zone {
            let change = steadfast_host::zone_change(self.time_zone_checked_unix_ms, now_unix_ms);
            zone.changes.extend(change);
        }
        self.time_zone_checked_unix_ms = now_unix_ms;
    }

    /// Updates the conditions with the current counters.
    fn update_conditions(&mut self) -> Result<CaptureCounters, RecordError> {
        self.record_time_zone_change();
        let counters = self.live.capture.counters()?;
        self.conditions.lasted_ns = self.live.capture.lasted_ns();
        self.conditions.lost = counters.lost;
        self.conditions.skipped = counters.skipped;
        self.conditions.unseen.clone_from(&counters.unseen);
        self.conditions.unfinished = counters.in_part.missing();
        self.conditions.in_part = Some(counters.in_part);
        self.conditions.cgroups = self.live.capture.cgroups().map(<[_]>::to_vec);
        self.conditions.merging = self.live.capture.merging(&counters);
        self.conditions.paths = self.live.capture.paths();
        if let Some(files) = self.live.capture.files() {
            self.conditions.files = Arc::clone(files);
        }
        if let Some(sampler) = &self.live.sampler {
            let content = sampler.so_far();
            self.conditions.compression_ratio = content.compression_ratio();
            self.conditions.duplicate_share = content.duplicate_share().and_then(Share::exact);
            self.conditions.content = Some(content);
        }
        self.conditions.cost_ns = Some(CaptureCost {
            kernel_ns: counters.kernel_ns,
            user_ns: own_cpu_time_ns().saturating_sub(self.cpu_before_ns),
        });
        Ok(counters)
    }

    /// Completes the file and starts the next: `NAME.2.parquet` and so on.
    fn rotate(&mut self, file: OpenFile) -> Result<OpenFile, RecordError> {
        self.finish(file)?;
        ProcessorLog::next_file(&mut self.conditions.processors);
        if let Some(part) = &mut self.conditions.part {
            (part.first, part.last) = (part.last + 1, part.last + 1);
        }
        loop {
            self.part += 1;
            match self.open() {
                // A file created under this name meanwhile is not ours; try the next number.
                Err(RecordError::File(FileError::Exists(_) | FileError::NotRegular { .. })) => {}
                opened => return opened,
            }
        }
    }

    fn finish(&mut self, file: OpenFile) -> Result<CaptureCounters, RecordError> {
        let counters = self.update_conditions()?;
        self.processors.add(self.conditions.lasted_ns, &mut self.conditions.processors);
        let written = file.finish(&self.conditions)?;
        self.progress.tell(&RecordingEvent::Written(&written));
        Ok(counters)
    }

    fn report(&mut self) -> Result<(), RecordError> {
        self.reported = Instant::now();
        if self.progress.is_watched() {
            let lost = self.update_conditions()?.lost;
            let lasted = Nanos(self.conditions.lasted_ns);
            let status = CaptureStatus { lasted, ios: self.total, lost };
            self.progress.tell(&RecordingEvent::Status(status));
        }
        Ok(())
    }

    /// Writes the remaining I/Os and returns the results.
    fn end(mut self, file: OpenFile) -> Result<Recorded, RecordError> {
        let mut file = self.poll(file)?;
        self.total += file.end(&mut self.live)?;
        self.record_replaced_disks();
        // Marks may have come while the last I/Os were waited for.
        let began_unix_ns = self.conditions.began_unix_ns.unwrap_or_default();
        self.conditions.marks.extend(self.marks.end(began_unix_ns));
        let counters = self.finish(file)?;
        Ok(Recorded { conditions: self.conditions, counters, ios: self.total })
    }
}

/// Returns a random ID for the capture from the kernel, or one made of time and process ID if the
/// kernel provides none.
fn new_capture_id() -> String {
    let by_time_and_process = || format!("{}-{}", wall_clock_unix_ms(), std::process::id());
    steadfast_host::random_name(&SystemRoots::real()).unwrap_or_else(by_time_and_process)
}

/// Returns the processor time of this process so far, in nanoseconds.
fn own_cpu_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuller_buffers_are_polled_more_often() {
        let ms = Duration::from_millis;
        assert_eq!(pause(ms(20), Some(0.0)), ms(40));
        assert_eq!(pause(ms(80), Some(0.0)), ms(100));
        assert_eq!(pause(ms(100), Some(0.03)), ms(100));
        assert_eq!(pause(ms(100), Some(0.07)), ms(50));
        assert_eq!(pause(ms(25), Some(1.0)), ms(20));
        assert_eq!(pause(ms(100), None), ms(20));
    }
}
