//! The loop of a capture: polling, counting and rotation of files.

use crate::capture_result::Recorded;
use crate::disk_watch::DiskWatch;
use crate::error::RecordError;
use crate::marks::MarkFile;
use crate::open_file::OpenFile;
use crate::processors::ProcessorLog;
use crate::progress::{CaptureStatus, RecordingEvent, RecordingProgress};
use crate::recording::{self, Recording};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, CaptureCounters, ContentSampler};
use steadfast_domain::io_event::{CapturePart, Mark, Share};
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
    let watch = DiskWatch::new(devices.iter().map(recording::Found::disk));
    Session::new(recording, directory, conditions, capture, sampler, watch, progress)?
        .run(is_stopped)
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
    capture: Capture,
    sampler: Option<ContentSampler>,
    watch: DiskWatch,
    processors: ProcessorLog,
    marks: MarkFile,
    progress: &'a mut dyn RecordingProgress,
    /// Number of the current file, from 1.
    part: u32,
    reported: Instant,
    total: u64,
    /// Processor time of this process before the capture, in nanoseconds.
    own_before: u64,
    /// Time at which the host's time zone was last checked.
    zone_seen_unix_ms: u64,
}

impl<'a> Session<'a> {
    fn new(
        recording: &'a Recording,
        directory: Directory,
        mut conditions: CaptureConditions,
        capture: Capture,
        sampler: Option<ContentSampler>,
        watch: DiskWatch,
        progress: &'a mut dyn RecordingProgress,
    ) -> Result<Self, RecordError> {
        conditions.source = capture.describe();
        let now_unix_ms = wall_clock_unix_ms();
        let now_unix_ns = now_unix_ms * 1_000_000;
        conditions.zone = steadfast_host::zone(now_unix_ms);
        conditions.began_unix_ns = Some(now_unix_ns.saturating_sub(capture.lasted_ns()));
        conditions.part = Some(CapturePart { capture: new_name(), first: 1, last: 1 });
        conditions.remarks.extend_from_slice(capture.remarks());
        for remark in &conditions.remarks {
            progress.tell(&RecordingEvent::Remark(remark));
        }
        let begun = recording.mark.clone().map(|name| Mark { at_ns: 0, name });
        conditions.marks.extend(begun);
        Ok(Session {
            recording,
            directory,
            conditions,
            capture,
            sampler,
            watch,
            processors: ProcessorLog::new(recording.step.map(|width| width.0)),
            marks: MarkFile::new(&recording.output.path).map_err(RecordError::Marks)?,
            progress,
            part: 1,
            reported: Instant::now(),
            total: 0,
            own_before: own_time(),
            zone_seen_unix_ms: now_unix_ms,
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
        self.total += file.take(&mut self.capture, self.sampler.as_mut(), &mut self.watch)?;
        self.name_replaced_disks();
        self.read_marks();
        self.read_processors();
        if file.is_to_be_kept() {
            self.count()?;
            file.keep(&self.conditions)?;
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
    fn name_replaced_disks(&mut self) {
        for replaced in self.watch.take_replaced() {
            self.progress.tell(&RecordingEvent::Remark(&replaced.remark));
            self.conditions.devices.push(replaced.device);
            self.conditions.remarks.push(replaced.remark);
        }
    }

    fn read_processors(&mut self) {
        self.processors.look(self.capture.lasted_ns(), &mut self.conditions.processors);
    }

    fn read_marks(&mut self) {
        for (unix_ns, name) in self.marks.read() {
            let began = self.conditions.began_unix_ns.unwrap_or(unix_ns);
            self.conditions.marks.push(Mark { at_ns: unix_ns.saturating_sub(began), name });
        }
    }

    /// Returns the time until the next poll. With a content sampler, polling stays fast, so that
    /// written blocks are read back before they are overwritten; with capture steps too, because
    /// their tables are not covered by the fill level.
    fn pause(&self, last: Duration) -> Duration {
        let buffers_alone = self.sampler.is_none() && self.conditions.step_ns.is_none();
        pause(last, self.capture.fullness().filter(|_| buffers_alone))
    }

    /// Records changes of the zone's UTC offset, such as the start of summer time.
    fn follow_zone(&mut self) {
        let now_unix_ms = wall_clock_unix_ms();
        if let Some(zone) = &mut self.conditions.zone {
            let change = steadfast_host::zone_change(self.zone_seen_unix_ms, now_unix_ms);
            zone.changes.extend(change);
        }
        self.zone_seen_unix_ms = now_unix_ms;
    }

    /// Updates the conditions with the current counters.
    fn count(&mut self) -> Result<CaptureCounters, RecordError> {
        self.follow_zone();
        let counters = self.capture.counters()?;
        self.conditions.lasted_ns = self.capture.lasted_ns();
        self.conditions.lost = counters.lost;
        self.conditions.skipped = counters.skipped;
        self.conditions.unseen.clone_from(&counters.unseen);
        self.conditions.unfinished = counters.in_part.missing();
        self.conditions.in_part = Some(counters.in_part);
        self.conditions.cgroups = self.capture.cgroups().map(<[_]>::to_vec);
        self.conditions.merging = self.capture.merging(&counters);
        self.conditions.paths = self.capture.paths();
        if let Some(files) = self.capture.files() {
            self.conditions.files = Arc::clone(files);
        }
        if let Some(sampler) = &self.sampler {
            let content = sampler.so_far();
            self.conditions.compression_ratio = content.compression_ratio();
            self.conditions.duplicate_share = content.duplicate_share().and_then(Share::exact);
            self.conditions.content = Some(content);
        }
        let own = own_time().saturating_sub(self.own_before);
        self.conditions.cost_ns = Some((counters.kernel_ns.unwrap_or(0), own));
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
        let counters = self.count()?;
        self.processors.add(self.conditions.lasted_ns, &mut self.conditions.processors);
        let written = file.finish(&self.conditions)?;
        self.progress.tell(&RecordingEvent::Written(&written));
        Ok(counters)
    }

    fn report(&mut self) -> Result<(), RecordError> {
        self.reported = Instant::now();
        if self.progress.is_watched() {
            let lost = self.count()?.lost;
            let lasted = Nanos(self.conditions.lasted_ns);
            let under_way = CaptureStatus { lasted, ios: self.total, lost };
            self.progress.tell(&RecordingEvent::Status(under_way));
        }
        Ok(())
    }

    /// Writes the remaining I/Os and returns the results.
    fn end(mut self, file: OpenFile) -> Result<Recorded, RecordError> {
        let mut file = self.poll(file)?;
        self.total += file.take_rest(&mut self.capture, self.sampler.as_mut(), &mut self.watch)?;
        self.name_replaced_disks();
        let counters = self.finish(file)?;
        Ok(Recorded { conditions: self.conditions, counters, ios: self.total })
    }
}

/// Returns a random ID for the capture from the kernel, or one made of time and process ID if the
/// kernel provides none.
fn new_name() -> String {
    let by_time_and_process = || format!("{}-{}", wall_clock_unix_ms(), std::process::id());
    steadfast_host::random_name(&SystemRoots::real()).unwrap_or_else(by_time_and_process)
}

/// Returns the processor time of this process so far, in nanoseconds.
fn own_time() -> u64 {
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
