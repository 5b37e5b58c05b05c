//! What writes the rows of a capture: single I/Os, or capture steps.

use crate::disk_watch::DiskWatch;
use crate::recorded::Written;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, CaptureError, ContentSampler};
use steadfast_domain::io_event::{StreamInStep, StreamResponses};
use steadfast_domain::{CaptureConditions, IoEvent};
use steadfast_trace::file::Writer;
use steadfast_trace::{StepWriter, TraceError};

/// How often the kernel's capture steps are taken, at most and at least.
const TAKE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How long what was captured may be in memory alone.
const KEEP: Duration = Duration::from_secs(5);

/// The same of capture steps, unless there are many: every row group costs some
/// kilobytes, which a day of them must not.
const KEEP_STEPS: Duration = Duration::from_secs(60);

/// Rows beside which the kilobytes of a row group are few.
const MANY_ROWS: usize = 4096;

/// How long a step waits for I/Os that end after it, so that its streams have
/// one row each; later ones make rows of their own.
const LATE: Duration = Duration::from_secs(2);

/// How long histograms of response times may be in memory alone: written as
/// often as the steps they would be a tenth of the file.
const KEEP_RESPONSES: Duration = Duration::from_secs(300);

/// Which end of a sink has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    /// What the rows come from.
    #[error(transparent)]
    Source(#[from] CaptureError),
    /// What they go to.
    #[error(transparent)]
    File(#[from] TraceError),
}

/// Takes what a capture has and writes it.
pub(crate) enum Sink {
    /// One row per I/O.
    Ios { writer: Box<Writer<BufWriter<File>>>, events: Vec<IoEvent> },
    /// One row per I/O stream and capture step.
    Steps {
        writer: Box<StepWriter<BufWriter<File>>>,
        step_ns: u64,
        parts: Vec<StreamInStep>,
        taken: Instant,
        responses_kept: Instant,
        /// The places of the disks whose response times come next; empty while they are those of
        /// the beginning.
        places: Vec<u16>,
        /// I/Os in all parts so far.
        ios: u64,
    },
}

impl Sink {
    /// Begins to write into a new file.
    pub(crate) fn new(file: File, conditions: &CaptureConditions) -> Result<Sink, TraceError> {
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(match conditions.step_ns {
            None => {
                let writer = Box::new(Writer::new(file, conditions)?);
                Sink::Ios { writer, events: Vec::new() }
            }
            Some(step_ns) => Sink::Steps {
                writer: Box::new(StepWriter::new(file, conditions)?),
                step_ns,
                parts: Vec::new(),
                taken: Instant::now(),
                responses_kept: Instant::now(),
                places: Vec::new(),
                ios: 0,
            },
        })
    }

    /// Takes what has completed; returns how many I/Os that were.
    pub(crate) fn look(
        &mut self,
        capture: &mut Capture,
        sampler: Option<&mut ContentSampler>,
        watch: &mut DiskWatch,
    ) -> Result<u64, SinkError> {
        match self {
            Sink::Ios { events, .. } => {
                events.clear();
                capture.take(events)?;
                if let Some(sampler) = sampler {
                    sampler.look(events);
                }
            }
            Sink::Steps { step_ns, taken, .. } => {
                let (least, most) = TAKE;
                if taken.elapsed() < Duration::from_nanos(*step_ns).clamp(least, most) {
                    return Ok(0);
                }
                *taken = Instant::now();
            }
        }
        self.write(capture, watch)
    }

    /// Ends the capture and takes the rest.
    pub(crate) fn end(
        &mut self,
        capture: &mut Capture,
        sampler: Option<&mut ContentSampler>,
        watch: &mut DiskWatch,
    ) -> Result<u64, SinkError> {
        let mut none = Vec::new();
        let events = match self {
            Sink::Ios { events, .. } => events,
            Sink::Steps { .. } => &mut none,
        };
        events.clear();
        capture.end(events)?;
        if let Some(sampler) = sampler {
            sampler.look(events);
            sampler.finish(events);
        }
        self.write(capture, watch)
    }

    fn write(&mut self, capture: &mut Capture, watch: &mut DiskWatch) -> Result<u64, SinkError> {
        match self {
            Sink::Ios { writer, events } => {
                watch.look();
                events.iter_mut().for_each(|event| event.device = watch.device(event.device));
                writer.write(events)?;
                Ok(events.len() as u64)
            }
            Sink::Steps { writer, parts, ios, step_ns, places, .. } => {
                parts.clear();
                capture.take_steps(parts)?;
                if watch.look() {
                    // Those so far are of the disk that went away.
                    let step = capture.lasted_ns() / *step_ns;
                    writer.add_responses(step, &responses(capture, places));
                    *places = watch.places();
                }
                parts.iter_mut().for_each(|part| part.device = watch.device(part.device));
                writer.add(parts);
                let new = parts.iter().map(|part| part.ios).sum::<u64>();
                *ios += new;
                Ok(new)
            }
        }
    }

    /// How long what was taken may be in memory alone.
    pub(crate) fn may_wait(&self) -> Duration {
        match self {
            Sink::Steps { writer, .. } if writer.waiting() < MANY_ROWS => KEEP_STEPS,
            _ => KEEP,
        }
    }

    /// Whatever was taken so far, but for the newest steps, survives the end of
    /// this process.
    pub(crate) fn keep(
        &mut self,
        capture: &mut Capture,
        conditions: &CaptureConditions,
    ) -> Result<(), TraceError> {
        match self {
            Sink::Ios { writer, .. } => {
                writer.update(conditions)?;
                writer.flush()?;
            }
            Sink::Steps { writer, step_ns, responses_kept, places, .. } => {
                writer.update(conditions)?;
                if responses_kept.elapsed() >= KEEP_RESPONSES {
                    *responses_kept = Instant::now();
                    writer.add_responses(
                        conditions.lasted_ns / *step_ns,
                        &responses(capture, places),
                    );
                }
                let settled = conditions.lasted_ns.saturating_sub(LATE.as_nanos() as u64);
                writer.flush_before(settled / *step_ns)?;
            }
        }
        Ok(())
    }

    /// Bytes of the file so far.
    pub(crate) fn bytes_written(&self) -> u64 {
        match self {
            Sink::Ios { writer, .. } => writer.bytes_written(),
            Sink::Steps { writer, .. } => writer.bytes_written(),
        }
    }

    /// Ends the file of this name; says what is in it.
    pub(crate) fn finish(
        self,
        path: PathBuf,
        capture: &mut Capture,
        conditions: &CaptureConditions,
    ) -> Result<Written, TraceError> {
        Ok(match self {
            Sink::Ios { writer, .. } => {
                let ios = writer.rows();
                writer.finish(conditions.clone())?;
                Written { path, ios, step_rows: None }
            }
            Sink::Steps { mut writer, step_ns, ios, places, .. } => {
                let rows = writer.rows();
                let last = conditions.lasted_ns / step_ns;
                writer.add_responses(last, &responses(capture, &places));
                writer.finish(conditions)?;
                Written { path, ios, step_rows: Some(rows) }
            }
        })
    }
}

/// The response times since they were last taken, on the devices at these places.
fn responses(capture: &mut Capture, places: &[u16]) -> Vec<StreamResponses> {
    let mut responses = Vec::new();
    capture.take_responses(&mut responses);
    for part in &mut responses {
        part.device = places.get(usize::from(part.device)).copied().unwrap_or(part.device);
    }
    responses
}
