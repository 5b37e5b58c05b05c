//! The file that a capture is writing.

use crate::capture_result::CapturedFile;
use crate::error::RecordError;
use crate::recording::Output;
use crate::sink::{Sink, SinkError};
use crate::source::RecordingSource;
use std::path::PathBuf;
use std::time::Duration;
use steadfast_domain::CaptureConditions;
use steadfast_host::OutputStorage;
use steadfast_tracefile::TraceError;

pub(crate) struct OpenFile<D: OutputStorage>
where
    D::File: Send,
{
    path: PathBuf,
    sink: Sink<D::File>,
    /// Second handle, to detect deletion of the file and to make its content durable.
    handle: D::File,
    /// Time of the host at which the file was created.
    began_ns: u64,
    /// Time of the host at which the file last received all data captured so far.
    flushed_ns: u64,
}

impl<D: OutputStorage> OpenFile<D>
where
    D::File: Send,
{
    /// Creates a file under its final name, so that the data captured so far can be read whatever
    /// becomes of this process. The name leads to a readable trace from the first moment.
    pub(crate) fn create(
        path: PathBuf,
        directory: &D,
        output: &Output,
        conditions: &CaptureConditions,
        now_ns: u64,
    ) -> Result<OpenFile<D>, RecordError> {
        let new = output.begin(directory, &path)?;
        match Sink::new(new.handle()?, conditions, now_ns) {
            Ok(sink) => {
                let handle = new.persist()?;
                Ok(OpenFile { path, sink, handle, began_ns: now_ns, flushed_ns: now_ns })
            }
            Err(source) => Err(RecordError::Uncreated { path, source }),
        }
    }

    /// Writes the completed I/Os; returns their number.
    pub(crate) fn poll(
        &mut self,
        source: &mut dyn RecordingSource,
        now_ns: u64,
    ) -> Result<u64, RecordError> {
        self.sink.poll(source, now_ns).map_err(|error| self.failed(error))
    }

    /// Ends the capture and writes the remaining I/Os; returns their number.
    pub(crate) fn end(&mut self, source: &mut dyn RecordingSource) -> Result<u64, RecordError> {
        self.sink.end(source).map_err(|error| self.failed(error))
    }

    /// Returns true if data has been only in memory for its longest allowed time.
    pub(crate) fn must_be_flushed(&self, now_ns: u64) -> bool {
        since(self.flushed_ns, now_ns) >= self.sink.flush_interval()
    }

    /// Writes out the data captured so far, so that it survives the end of this process.
    pub(crate) fn flush(
        &mut self,
        conditions: &CaptureConditions,
        now_ns: u64,
    ) -> Result<(), RecordError> {
        self.flushed_ns = now_ns;
        self.sink.flush(conditions).map_err(|error| self.unwritable(error))
    }

    /// Returns true if the file has reached the size or duration at which a capture rotates.
    pub(crate) fn is_full(&self, output: &Output, now_ns: u64) -> bool {
        output.rotate_size.is_some_and(|most| self.sink.bytes_written() >= most.0)
            || output
                .rotate_time
                .is_some_and(|most| since(self.began_ns, now_ns) >= most.to_duration())
    }

    /// Returns an error if the file has been deleted: data written to it would be lost.
    pub(crate) fn refuse_deleted(&self) -> Result<(), RecordError> {
        match D::has_name(&self.handle) {
            Ok(false) => Err(RecordError::Deleted(self.path.clone())),
            Ok(true) => Ok(()),
            Err(error) => Err(self.unwritable(error.into())),
        }
    }

    /// Completes the file; its content is not durable yet.
    pub(crate) fn finish(
        self,
        conditions: &CaptureConditions,
    ) -> Result<CompleteFile<D>, RecordError> {
        self.refuse_deleted()?;
        let OpenFile { path, sink, handle, .. } = self;
        match sink.finish(path.clone(), conditions) {
            Ok(file) => Ok(CompleteFile { file, handle }),
            Err(source) => Err(RecordError::Unwritable { path, source }),
        }
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

/// A trace file that is complete, but may still be in the cache of the operating system only.
pub(crate) struct CompleteFile<D: OutputStorage> {
    pub(crate) file: CapturedFile,
    handle: D::File,
}

impl<D: OutputStorage> CompleteFile<D> {
    /// Makes the content durable. An error of the disk that came after the last write is seen here
    /// only.
    pub(crate) fn sync(self) -> Result<(), RecordError> {
        D::sync_file(&self.handle)
            .map_err(|error| RecordError::Unwritable { path: self.file.path, source: error.into() })
    }
}

fn since(then_ns: u64, now_ns: u64) -> Duration {
    Duration::from_nanos(now_ns.saturating_sub(then_ns))
}
