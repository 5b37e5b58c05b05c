//! The file that a capture is writing.

use crate::capture_result::Written;
use crate::disk_watch::DiskWatch;
use crate::error::RecordError;
use crate::recording::Output;
use crate::sink::{Sink, SinkError};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;
use steadfast_capture::{Capture, ContentSampler};
use steadfast_domain::CaptureConditions;
use steadfast_host::Directory;
use steadfast_tracefile::TraceError;

/// A trace file being written.
pub(crate) struct OpenFile {
    path: PathBuf,
    sink: Sink,
    /// Second handle, to detect deletion of the file.
    written: File,
    began: Instant,
    kept: Instant,
}

impl OpenFile {
    /// Creates a file under its final name, so that the data captured so far can be read whatever
    /// becomes of this process.
    pub(crate) fn create(
        path: PathBuf,
        directory: &Directory,
        output: &Output,
        conditions: &CaptureConditions,
    ) -> Result<OpenFile, RecordError> {
        let new = output.begin(directory, &path)?;
        let file = new.handle()?;
        let written = new.place()?;
        let now = Instant::now();
        match Sink::new(file, conditions) {
            Ok(sink) => Ok(OpenFile { path, sink, written, began: now, kept: now }),
            Err(source) => Err(RecordError::Uncreated { path, source }),
        }
    }

    /// Writes the completed I/Os; returns their number.
    pub(crate) fn take(
        &mut self,
        capture: &mut Capture,
        sampler: Option<&mut ContentSampler>,
        watch: &mut DiskWatch,
    ) -> Result<u64, RecordError> {
        self.sink.look(capture, sampler, watch).map_err(|error| self.failed(error))
    }

    /// Ends the capture and writes the remaining I/Os; returns their number.
    pub(crate) fn take_rest(
        &mut self,
        capture: &mut Capture,
        sampler: Option<&mut ContentSampler>,
        watch: &mut DiskWatch,
    ) -> Result<u64, RecordError> {
        self.sink.end(capture, sampler, watch).map_err(|error| self.failed(error))
    }

    /// Returns true if data has been only in memory for its longest allowed time.
    pub(crate) fn is_to_be_kept(&self) -> bool {
        self.kept.elapsed() >= self.sink.may_wait()
    }

    /// Writes out the data captured so far, so that it survives the end of this process.
    pub(crate) fn keep(&mut self, conditions: &CaptureConditions) -> Result<(), RecordError> {
        self.kept = Instant::now();
        self.sink.keep(conditions).map_err(|error| self.unwritable(error))
    }

    /// Returns true if the file has reached the size or duration at which a capture rotates.
    pub(crate) fn is_full(&self, output: &Output) -> bool {
        let is_long = |most: u64| self.sink.bytes_written() >= most;
        output.rotate_size.is_some_and(|most| is_long(most.0))
            || output.rotate_time.is_some_and(|most| self.began.elapsed() >= most.to_duration())
    }

    /// Returns an error if the file has been deleted: data written to it would be lost.
    pub(crate) fn refuse_deleted(&self) -> Result<(), RecordError> {
        match self.written.metadata().map(|file| file.nlink()) {
            Ok(0) => Err(RecordError::Deleted(self.path.clone())),
            Ok(_) => Ok(()),
            Err(error) => Err(self.unwritable(error.into())),
        }
    }

    /// Completes the file and returns its path and counts.
    pub(crate) fn finish(self, conditions: &CaptureConditions) -> Result<Written, RecordError> {
        self.refuse_deleted()?;
        let path = self.path.clone();
        let finished = self.sink.finish(self.path, conditions);
        finished.map_err(|source| RecordError::Unwritable { path, source })
    }

    fn failed(&self, error: SinkError) -> RecordError {
        match error {
            SinkError::File(source) => self.unwritable(source),
            SinkError::Source(source) => RecordError::Broken { path: self.path.clone(), source },
        }
    }

    fn unwritable(&self, source: TraceError) -> RecordError {
        RecordError::Unwritable { path: self.path.clone(), source }
    }
}
