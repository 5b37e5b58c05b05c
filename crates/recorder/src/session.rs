//! The loop of a capture: polling, counting and rotation of files.

use crate::capture_result::CaptureResult;
use crate::disk_watch::DiskWatch;
use crate::error::RecordError;
use crate::live_host::LiveHost;
use crate::open_file::{CompleteFile, OpenFile};
use crate::processors::ProcessorLog;
use crate::progress::{CaptureStatus, RecordingEvent, RecordingProgress};
use crate::recording::{self, Recording};
use crate::source::{LiveCapture, RecordingHost, RecordingSource};
use std::ops::RangeInclusive;
use std::time::Duration;
use steadfast_capture::{Capture, CaptureCounters};
use steadfast_domain::io_event::{CaptureCost, CapturePart, Mark};
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_host::{FileError, OutputStorage};

/// Shortest and longest interval between polls. Every poll costs some time even if it finds
/// nothing.
const POLL_INTERVAL: RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_millis(100);

const REPORT_INTERVAL_NS: u64 = 1_000_000_000;

/// Runs a capture until its duration is over or `is_stopped` returns true.
///
/// # Errors
/// Returns [`RecordError`] if the capture cannot be started, or if its source or file has failed;
/// what was written before that can be read.
pub fn record(
    recording: &Recording,
    is_stopped: &dyn Fn() -> bool,
    progress: &mut dyn RecordingProgress,
) -> Result<CaptureResult, RecordError> {
    let devices = recording::find(&recording.devices, &recording.mounts)?;
    let options = recording.options(&devices);
    recording.check(&options)?;
    let directory = recording.output.open_directory()?;
    for instance in steadfast_capture::remove_left_behind() {
        progress.report(&RecordingEvent::Removed { instance: &instance });
    }
    let conditions = recording.conditions(&devices);
    let capture = Capture::begin(&options)?;
    let sampler = recording.sampler(&devices)?;
    let watch = DiskWatch::new(&options.devices);
    let mut source = LiveCapture { capture, sampler, watch };
    let mut host = LiveHost::new(&recording.output.path, is_stopped)?;
    record_from(recording, conditions, &mut source, &mut host, &directory, progress)
}

/// Records what a source yields until the duration is over or the user stops it. The time counts
/// from the creation of the source. The files are created in `directory`, under the names that the
/// recording gives them; when this returns, they are durable.
///
/// # Errors
/// Returns [`RecordError`] if the source or a file has failed; what was written before that can be
/// read.
pub fn record_from<D: OutputStorage>(
    recording: &Recording,
    conditions: CaptureConditions,
    source: &mut dyn RecordingSource,
    host: &mut dyn RecordingHost,
    directory: &D,
    progress: &mut dyn RecordingProgress,
) -> Result<CaptureResult, RecordError>
where
    D::File: Send,
{
    Session::new(recording, conditions, source, host, directory, progress).run()
}

/// Returns the interval until the next poll, given the last interval and the fill level of the
/// buffers. Nothing may be lost even if the rate rises sixteenfold.
fn next_interval(last: Duration, fullness: Option<f64>) -> Duration {
    let next = match fullness {
        Some(full) if full > 1.0 / 16.0 => last / 2,
        Some(full) if full < 1.0 / 64.0 => last * 2,
        Some(_) => last,
        None => *POLL_INTERVAL.start(),
    };
    next.clamp(*POLL_INTERVAL.start(), *POLL_INTERVAL.end())
}

struct Session<'a, D: OutputStorage>
where
    D::File: Send,
{
    recording: &'a Recording,
    conditions: CaptureConditions,
    source: &'a mut dyn RecordingSource,
    host: &'a mut dyn RecordingHost,
    directory: &'a D,
    progress: &'a mut dyn RecordingProgress,
    processors: ProcessorLog,
    /// Number of the current file, from 1.
    part: u32,
    /// The previous file, until it is durable.
    previous: Option<CompleteFile<D>>,
    /// Time of the host at which the capture began.
    began_ns: u64,
    /// Time of the host at the last progress report.
    reported_ns: u64,
    /// Number of I/Os recorded so far.
    total: u64,
    /// Processor time of this process before the first poll, in nanoseconds.
    cpu_before_ns: u64,
    /// Time at which the host's time zone was last checked.
    time_zone_checked_unix_ms: u64,
}

impl<'a, D: OutputStorage> Session<'a, D>
where
    D::File: Send,
{
    fn new(
        recording: &'a Recording,
        mut conditions: CaptureConditions,
        source: &'a mut dyn RecordingSource,
        host: &'a mut dyn RecordingHost,
        directory: &'a D,
        progress: &'a mut dyn RecordingProgress,
    ) -> Self {
        let now_ns = host.monotonic_ns();
        let now_unix_ms = host.unix_ms();
        let lasted_ns = source.lasted_ns();
        conditions.source = source.describe();
        conditions.zone = host.zone(now_unix_ms);
        conditions.began_unix_ns = Some((now_unix_ms * 1_000_000).saturating_sub(lasted_ns));
        conditions.part = Some(CapturePart { capture: host.random_id(), first: 1, last: 1 });
        conditions.remarks.extend_from_slice(source.remarks());
        for remark in &conditions.remarks {
            progress.report(&RecordingEvent::Remark(remark));
        }
        let mark = recording.mark.clone().map(|name| Mark { at_ns: 0, name });
        conditions.marks.extend(mark);
        Session {
            recording,
            processors: ProcessorLog::new(conditions.step_ns),
            conditions,
            source,
            directory,
            progress,
            part: 1,
            previous: None,
            began_ns: now_ns.saturating_sub(lasted_ns),
            reported_ns: now_ns,
            total: 0,
            cpu_before_ns: host.own_cpu_time_ns(),
            time_zone_checked_unix_ms: now_unix_ms,
            host,
        }
    }

    fn run(mut self) -> Result<CaptureResult, RecordError> {
        self.read_processors();
        let mut file = self.open()?;
        self.progress.report(&RecordingEvent::Begun { source: &self.conditions.source });
        let duration = self.recording.duration;
        let end_ns = duration.map(|time| self.host.monotonic_ns().saturating_add(time.0));
        let mut wait = *POLL_INTERVAL.start();
        while !self.host.is_stopped() {
            let left_ns = end_ns.map(|end| end.saturating_sub(self.host.monotonic_ns()));
            if left_ns == Some(0) {
                break;
            }
            self.host.sleep(left_ns.map_or(wait, |left| wait.min(Duration::from_nanos(left))));
            file = self.poll(file)?;
            wait = self.next_wait(wait);
        }
        self.end(file)
    }

    fn open(&self) -> Result<OpenFile<D>, RecordError> {
        let output = &self.recording.output;
        let path = output.part(self.part);
        let now_ns = self.host.monotonic_ns();
        OpenFile::create(path, self.directory, output, &self.conditions, now_ns)
    }

    /// Writes the completed I/Os, and opens the next file if this one is full.
    fn poll(&mut self, mut file: OpenFile<D>) -> Result<OpenFile<D>, RecordError> {
        let now_ns = self.host.monotonic_ns();
        self.total += file.poll(self.source, now_ns)?;
        self.record_replaced_disks();
        self.read_marks();
        self.read_processors();
        if file.must_be_flushed(now_ns) {
            self.update_conditions()?;
            file.flush(&self.conditions, now_ns)?;
        }
        if file.is_full(&self.recording.output, now_ns) {
            file = self.rotate(file)?;
        }
        if now_ns.saturating_sub(self.reported_ns) >= REPORT_INTERVAL_NS {
            file.refuse_deleted()?;
            self.report(now_ns)?;
        }
        Ok(file)
    }

    /// Records a disk that took over a device number as a device of its own.
    fn record_replaced_disks(&mut self) {
        for replaced in self.source.take_replaced() {
            self.conditions.devices.push(replaced.device);
            self.add_remark(replaced.remark);
        }
    }

    fn add_remark(&mut self, remark: String) {
        self.progress.report(&RecordingEvent::Remark(&remark));
        self.conditions.remarks.push(remark);
    }

    fn read_processors(&mut self) {
        let read = || self.host.processor_times();
        let readings = &mut self.conditions.processors;
        self.processors.update(self.source.lasted_ns(), read, readings);
    }

    fn read_marks(&mut self) {
        // Marks that cannot be read now are returned by the next call.
        self.conditions.marks.extend(self.host.marks(self.began_ns).unwrap_or_default());
    }

    /// Returns the time until the next poll. With capture steps, polling stays fast, because their
    /// tables are not covered by the fill level.
    fn next_wait(&self, last: Duration) -> Duration {
        next_interval(last, self.source.fullness().filter(|_| self.conditions.step_ns.is_none()))
    }

    /// Records a change of the host's UTC offset, such as the start of summer time.
    fn record_time_zone_change(&mut self) {
        let now_unix_ms = self.host.unix_ms();
        if let Some(zone) = &mut self.conditions.zone {
            let change = self.host.zone_change(self.time_zone_checked_unix_ms, now_unix_ms);
            zone.changes.extend(change);
        }
        self.time_zone_checked_unix_ms = now_unix_ms;
    }

    /// Updates the conditions with the current counters.
    fn update_conditions(&mut self) -> Result<CaptureCounters, RecordError> {
        self.record_time_zone_change();
        let counters = self.source.count(&mut self.conditions)?;
        self.conditions.lasted_ns = self.source.lasted_ns();
        self.conditions.lost = counters.lost;
        self.conditions.skipped = counters.skipped;
        self.conditions.unseen.clone_from(&counters.unseen);
        self.conditions.unfinished = counters.in_part.missing();
        self.conditions.in_part = Some(counters.in_part);
        self.conditions.cost_ns = Some(CaptureCost {
            kernel_ns: counters.kernel_ns,
            user_ns: self.host.own_cpu_time_ns().saturating_sub(self.cpu_before_ns),
        });
        Ok(counters)
    }

    /// Completes the file and starts the next: `NAME.2.parquet` and so on.
    fn rotate(&mut self, file: OpenFile<D>) -> Result<OpenFile<D>, RecordError> {
        let (complete, _) = self.finish(file)?;
        // A sync would take long now, and buffers would overflow. By the next rotation the system
        // has written the file out.
        if let Some(previous) = self.previous.replace(complete) {
            previous.sync()?;
        }
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

    fn finish(
        &mut self,
        file: OpenFile<D>,
    ) -> Result<(CompleteFile<D>, CaptureCounters), RecordError> {
        let counters = self.update_conditions()?;
        let read = || self.host.processor_times();
        ProcessorLog::add(self.conditions.lasted_ns, read, &mut self.conditions.processors);
        let complete = file.finish(&self.conditions)?;
        self.progress.report(&RecordingEvent::Written(&complete.file));
        Ok((complete, counters))
    }

    fn report(&mut self, now_ns: u64) -> Result<(), RecordError> {
        self.reported_ns = now_ns;
        if self.progress.is_watched() {
            let lost = self.update_conditions()?.lost;
            let lasted = Nanos(self.conditions.lasted_ns);
            let status = CaptureStatus { lasted, ios: self.total, lost };
            self.progress.report(&RecordingEvent::Status(status));
        }
        Ok(())
    }

    /// Writes the remaining I/Os and returns the results.
    fn end(mut self, file: OpenFile<D>) -> Result<CaptureResult, RecordError> {
        let mut file = self.poll(file)?;
        self.total += file.end(self.source)?;
        self.record_replaced_disks();
        // Marks may have come while the last I/Os were waited for.
        match self.host.last_marks(self.began_ns) {
            Ok(marks) => self.conditions.marks.extend(marks),
            Err(error) => {
                self.read_marks();
                self.add_remark(format!("The last marks cannot be read: {error}."));
            }
        }
        let (complete, counters) = self.finish(file)?;
        self.previous.take().into_iter().chain([complete]).try_for_each(CompleteFile::sync)?;
        Ok(CaptureResult { conditions: self.conditions, counters, ios: self.total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuller_buffers_are_polled_more_often() {
        let ms = Duration::from_millis;
        assert_eq!(next_interval(ms(20), Some(0.0)), ms(40));
        assert_eq!(next_interval(ms(80), Some(0.0)), ms(100));
        assert_eq!(next_interval(ms(100), Some(0.03)), ms(100));
        assert_eq!(next_interval(ms(100), Some(0.07)), ms(50));
        assert_eq!(next_interval(ms(25), Some(1.0)), ms(20));
        assert_eq!(next_interval(ms(100), None), ms(20));
    }
}
