//! Writers of a capture's rows: single I/Os or capture steps.

use crate::capture_result::CapturedFile;
use crate::source::RecordingSource;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;
use steadfast_capture::{CaptureError, StepParts};
use steadfast_domain::{CaptureConditions, IoEvent};
use steadfast_tracefile::parquet::TraceWriter;
use steadfast_tracefile::{StepWriter, TraceError};

/// Shortest interval at which capture steps are taken from the kernel.
const TAKE_INTERVAL_MIN: Duration = Duration::from_millis(20);
/// Longest interval at which capture steps are taken from the kernel.
const TAKE_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// Longest time for which captured I/Os are only in memory.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// The same for capture steps with few rows: a row group costs some kilobytes, which would add up
/// over a day.
const FLUSH_INTERVAL_STEPS: Duration = Duration::from_secs(60);

/// Number of rows from which the kilobytes of a row group are small in comparison.
const ROW_GROUP_ROWS_MIN: usize = 4096;

/// Time that a step waits for I/Os that complete after it, so that each of its streams gets one
/// row; I/Os completing later get rows of their own.
const STEP_GRACE: Duration = Duration::from_secs(2);

/// An error of a sink, by the side that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    /// The capture failed.
    #[error(transparent)]
    Source(#[from] CaptureError),
    /// Writing the file failed.
    #[error(transparent)]
    File(#[from] TraceError),
}

/// Takes events or steps from a capture and writes them.
pub(crate) enum Sink<F: Write + Send> {
    /// One row per I/O.
    Ios { writer: Box<TraceWriter<BufWriter<F>>>, events: Vec<IoEvent> },
    /// One row per I/O stream and capture step.
    Steps {
        writer: Box<StepWriter<BufWriter<F>>>,
        step_ns: u64,
        parts: StepParts,
        /// Time of the host at which steps were last taken.
        taken_ns: u64,
        /// I/Os in all parts so far.
        ios: u64,
    },
}

impl<F: Write + Send> Sink<F> {
    /// Starts writing to a new file at a time of the host.
    pub(crate) fn new(
        file: F,
        conditions: &CaptureConditions,
        now_ns: u64,
    ) -> Result<Sink<F>, TraceError> {
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(match conditions.step_ns {
            None => {
                let writer = Box::new(TraceWriter::new(file, conditions)?);
                Sink::Ios { writer, events: Vec::new() }
            }
            Some(step_ns) => Sink::Steps {
                writer: Box::new(StepWriter::new(file, conditions)?),
                step_ns,
                parts: StepParts::default(),
                taken_ns: now_ns,
                ios: 0,
            },
        })
    }

    /// Takes and writes the completed I/Os; returns their number.
    pub(crate) fn poll(
        &mut self,
        source: &mut dyn RecordingSource,
        now_ns: u64,
    ) -> Result<u64, SinkError> {
        match self {
            Sink::Ios { writer, events } => {
                events.clear();
                source.take(events)?;
                writer.write(events)?;
                Ok(events.len() as u64)
            }
            Sink::Steps { step_ns, taken_ns, .. } => {
                let width = Duration::from_nanos(*step_ns);
                let interval = width.clamp(TAKE_INTERVAL_MIN, TAKE_INTERVAL_MAX);
                if Duration::from_nanos(now_ns.saturating_sub(*taken_ns)) < interval {
                    return Ok(0);
                }
                *taken_ns = now_ns;
                self.take_steps(source)
            }
        }
    }

    /// Ends the capture and writes the remaining I/Os; returns their number.
    pub(crate) fn end(&mut self, source: &mut dyn RecordingSource) -> Result<u64, SinkError> {
        let mut remaining = Vec::new();
        source.end(&mut remaining)?;
        match self {
            Sink::Ios { writer, .. } => {
                writer.write(&remaining)?;
                Ok(remaining.len() as u64)
            }
            Sink::Steps { .. } => self.take_steps(source),
        }
    }

    fn take_steps(&mut self, source: &mut dyn RecordingSource) -> Result<u64, SinkError> {
        let Sink::Steps { writer, parts, ios, .. } = self else { return Ok(0) };
        parts.clear();
        source.take_steps(parts)?;
        writer.add_ranges(&parts.ranges);
        writer.add_busy(&parts.busy);
        writer.add(&parts.streams);
        let new = parts.streams.iter().map(|part| part.ios).sum::<u64>();
        *ios += new;
        Ok(new)
    }

    /// Returns the longest time for which taken data may be only in memory.
    pub(crate) fn flush_interval(&self) -> Duration {
        match self {
            Sink::Steps { writer, .. } if writer.waiting() < ROW_GROUP_ROWS_MIN => {
                FLUSH_INTERVAL_STEPS
            }
            _ => FLUSH_INTERVAL,
        }
    }

    /// Writes out everything taken so far except the newest steps, so that it survives the end of
    /// this process.
    pub(crate) fn flush(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        match self {
            Sink::Ios { writer, .. } => {
                writer.update(conditions)?;
                writer.flush()?;
            }
            Sink::Steps { writer, step_ns, .. } => {
                writer.update(conditions)?;
                let complete_ns = conditions.lasted_ns.saturating_sub(STEP_GRACE.as_nanos() as u64);
                writer.flush_before(complete_ns / *step_ns)?;
            }
        }
        Ok(())
    }

    /// Returns the length of the file so far, in bytes.
    pub(crate) fn bytes_written(&self) -> u64 {
        match self {
            Sink::Ios { writer, .. } => writer.bytes_written(),
            Sink::Steps { writer, .. } => writer.bytes_written(),
        }
    }

    /// Completes the file at `path` and returns its counts.
    pub(crate) fn finish(
        self,
        path: PathBuf,
        conditions: &CaptureConditions,
    ) -> Result<CapturedFile, TraceError> {
        Ok(match self {
            Sink::Ios { writer, .. } => {
                let ios = writer.rows();
                writer.finish(conditions.clone())?;
                CapturedFile { path, ios, step_rows: None }
            }
            Sink::Steps { writer, ios, .. } => {
                let rows = writer.rows();
                writer.finish(conditions)?;
                CapturedFile { path, ios, step_rows: Some(rows) }
            }
        })
    }
}
