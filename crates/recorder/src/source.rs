//! The seam between a recording and what it records: the source of its I/Os and the host it runs
//! on, which the fault simulator replaces.

use crate::disk_watch::{DiskWatch, ReplacedDisk};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use steadfast_capture::{Capture, CaptureCounters, CaptureError, ContentSampler, StepParts};
use steadfast_domain::io_event::{Mark, Share, TimeZoneChange};
use steadfast_domain::{CaptureConditions, IoEvent, TimeZone};
use steadfast_host::ProcessorTimes;

/// A source of captured I/Os, which records from its creation on.
pub trait RecordingSource {
    /// Returns one line that names the source.
    fn describe(&self) -> String;
    /// Returns remarks for readers of the files.
    fn remarks(&self) -> &[String];
    /// Returns the time since the start of the capture, or to its end, in nanoseconds.
    fn lasted_ns(&self) -> u64;
    /// Returns the fill level of the fullest buffer at the last [`Self::take`], from 0 to 1, or
    /// `None` if the source must be polled at the shortest interval.
    fn fullness(&self) -> Option<f64>;
    /// Appends the I/Os completed since the last call.
    ///
    /// # Errors
    /// The source has failed.
    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Ends the capture and appends the remaining I/Os.
    ///
    /// # Errors
    /// The source has failed.
    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Appends the parts of capture steps added up since the last call.
    ///
    /// # Errors
    /// The source has failed.
    fn take_steps(&mut self, into: &mut StepParts) -> Result<(), CaptureError>;
    /// Returns the disks that took over the device number of another since the last call.
    fn take_replaced(&mut self) -> Vec<ReplacedDisk>;
    /// Returns the counters so far, and updates the conditions that depend on them.
    ///
    /// # Errors
    /// The source has failed.
    fn count(
        &mut self,
        conditions: &mut CaptureConditions,
    ) -> Result<CaptureCounters, CaptureError>;
}

/// The host of a recording: its clocks, its user, and readings of it.
pub trait RecordingHost {
    /// Returns the time of a clock that never jumps, in nanoseconds. Marks are stamped by it.
    fn monotonic_ns(&self) -> u64;
    /// Returns the wall-clock time in milliseconds since the Unix epoch.
    fn unix_ms(&self) -> u64;
    /// Waits.
    fn sleep(&mut self, time: Duration);
    /// Returns true if the user has stopped the capture.
    fn is_stopped(&self) -> bool;
    /// Returns a new random ID.
    fn random_id(&self) -> String;
    /// Returns the time zone at a wall-clock time, if known.
    fn zone(&self, unix_ms: u64) -> Option<TimeZone>;
    /// Returns the change of the UTC offset between two wall-clock times, if there was one.
    fn zone_change(&self, from_unix_ms: u64, to_unix_ms: u64) -> Option<TimeZoneChange>;
    /// Returns the processor time of this process so far, in nanoseconds.
    fn own_cpu_time_ns(&self) -> u64;
    /// Returns the processor times of the host, if they can be read.
    fn processor_times(&self) -> Option<ProcessorTimes>;
    /// Returns the marks set since the last call, in a capture that began at this time of
    /// [`Self::monotonic_ns`].
    ///
    /// # Errors
    /// The marks cannot be read now; the next call returns them.
    fn marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>>;
    /// Lets no further marks in, and returns those set since the last call of [`Self::marks`].
    ///
    /// # Errors
    /// The marks cannot be read.
    fn last_marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>>;
}

/// The probes of a capture, and what completes their events.
pub(crate) struct LiveCapture {
    pub(crate) capture: Capture,
    /// Sampler of written blocks; `None` if content is not sampled.
    pub(crate) sampler: Option<ContentSampler>,
    pub(crate) watch: DiskWatch,
}

impl LiveCapture {
    fn label(&mut self, events: &mut [IoEvent]) {
        self.watch.update();
        events.iter_mut().for_each(|event| event.device = self.watch.device(event.device));
    }
}

impl RecordingSource for LiveCapture {
    fn describe(&self) -> String {
        self.capture.describe()
    }

    fn remarks(&self) -> &[String] {
        self.capture.remarks()
    }

    fn lasted_ns(&self) -> u64 {
        self.capture.lasted_ns()
    }

    /// With a content sampler, polling stays fast, so that written blocks are read back before they
    /// are overwritten.
    fn fullness(&self) -> Option<f64> {
        self.capture.fullness().filter(|_| self.sampler.is_none())
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.capture.take(into)?;
        if let Some(sampler) = &mut self.sampler {
            sampler.process(into);
        }
        self.label(into);
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.capture.end(into)?;
        if let Some(sampler) = &mut self.sampler {
            sampler.process(into);
            sampler.finish(into);
        }
        self.label(into);
        Ok(())
    }

    fn take_steps(&mut self, into: &mut StepParts) -> Result<(), CaptureError> {
        self.capture.take_steps(into)?;
        let StepParts { streams, busy, ranges } = into;
        self.watch.update();
        streams.iter_mut().for_each(|part| part.device = self.watch.device(part.device));
        busy.iter_mut().for_each(|part| part.device = self.watch.device(part.device));
        ranges.iter_mut().for_each(|part| part.device = self.watch.device(part.device));
        Ok(())
    }

    fn take_replaced(&mut self) -> Vec<ReplacedDisk> {
        self.watch.take_replaced()
    }

    fn count(
        &mut self,
        conditions: &mut CaptureConditions,
    ) -> Result<CaptureCounters, CaptureError> {
        let counters = self.capture.counters()?;
        conditions.cgroups = self.capture.cgroups().map(<[_]>::to_vec);
        conditions.merging = self.capture.merging(&counters);
        conditions.paths = self.capture.paths();
        if let Some(files) = self.capture.files() {
            conditions.files = Arc::clone(files);
        }
        if let Some(sampler) = &self.sampler {
            let content = sampler.so_far();
            conditions.compression_ratio = content.compression_ratio();
            conditions.duplicate_share = content.duplicate_share().and_then(Share::exact);
            conditions.content = Some(content);
        }
        Ok(counters)
    }
}
