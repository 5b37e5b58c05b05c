//! The file that a capture is writing.

use crate::capture_result::Written;
use crate::error::RecordError;
use crate::recording::Output;
use crate::sink::{LiveCapture, Sink, SinkError};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;
use steadfast_domain::CaptureConditions;
use steadfast_host::Directory;
use steadfast_tracefile::TraceError;

/// A trace file being written.
pub(crate) struct OpenFile {
    path: PathBuf,
    sink: Sink,
    /// Second handle, to detect deletion of the file.
    handle: File,
    began: Instant,
    flushed: Instant,
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
        let handle = new.place()?;
        let now = Instant::now();
        match Sink::new(file, conditions) {
            Ok(sink) => Ok(OpenFile { path, sink, handle, began: now, flushed: now }),
            Err(source) => Err(RecordError::Uncreated { path, source }),
        }
    }

    /// Writes the completed I/Os; returns their number.
    pub(crate) fn poll(&mut self, live: &mut LiveCapture) -> Result<u64, RecordError> {
        self.sink.poll(live).map_err(|error| self.failed(error))
    }

    /// Ends the capture and writes the remaining I/Os; returns their number.
    pub(crate) fn end(&mut self, live: &mut LiveCapture) -> Result<u64, RecordError> {
        self.sink.end(live).map_err(|error| self.failed(error))
    }

    /// Returns true if data has been only in memory for its longest allowed time.
    pub(crate) fn must_be_flushed(&self) -> bool {
        self.flushed.elapsed() >= self.sink.flush_interval()
    }

    /// Writes out the data captured so far, so that it survives the end of this process.
    pub(crate) fn flush(&mut self, conditions: &CaptureConditions) -> Result<(), RecordError> {
        self.flushed = Instant::now();
        self.sink.flush(conditions).map_err(|error| self.unwritable(error))
    }

    /// Returns true if the file has reached the size or duration at which a capture rotates.
    pub(crate) fn is_full(&self, output: &Output) -> bool {
        output.rotate_size.is_some_and(|most| self.sink.bytes_written() >= most.0)
            || output.rotate_time.is_some_and(|most| self.began.elapsed() >= most.to_duration())
    }

    /// Returns an error if the file has been deleted: data written to it would be lost.
    pub(crate) fn refuse_deleted(&self) -> Result<(), RecordError> {
        match self.handle.metadata().map(|file| file.nlink()) {
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
