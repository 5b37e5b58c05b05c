//! The files of a capture that was rotated, read as one trace.

use super::reader::Trace;
use super::recovery::Recovery;
use crate::error::TraceError;
use std::io::{Read, Seek};
use steadfast_domain::CaptureConditions;

impl<R: Read + Seek + Send + 'static> Trace<R> {
    /// Puts parts of one capture together, in whatever order they are given.
    /// What the capture lost and when it was marked is told by the last part,
    /// whose counts are from the beginning.
    ///
    /// # Errors
    /// Where there is no part, they are not of one capture, or one is there
    /// twice.
    pub fn together(mut parts: Vec<Trace<R>>) -> Result<Trace<R>, TraceError> {
        parts.sort_by_key(|part| part.conditions.lasted_ns);
        let mut parts = parts.into_iter();
        let none = || TraceError::Unsuitable("there is no trace; name a file".into());
        let first = parts.next().ok_or_else(none)?;
        parts.try_fold(first, Trace::and)
    }

    /// This trace and the next part of it.
    fn and(mut self, next: Trace<R>) -> Result<Trace<R>, TraceError> {
        if !is_same_capture(&self.conditions, &next.conditions) {
            let what = "the files are of different captures; steadfast trace compare puts them \
                        side by side";
            return Err(TraceError::Unsuitable(what.into()));
        }
        if self.conditions.lasted_ns == next.conditions.lasted_ns {
            return Err(TraceError::Unsuitable("one file is named twice".into()));
        }
        let before = self.sources.len();
        self.sources.extend(next.sources);
        self.groups.extend(next.groups.into_iter().map(|mut group| {
            group.source += before;
            group
        }));
        self.conditions = next.conditions;
        self.recovery = both(self.recovery, next.recovery);
        self.rows += next.rows;
        Ok(self)
    }
}

/// Whether two files were written by one capture: it began at the same
/// nanosecond on the same host and listened to the same devices.
pub fn is_same_capture(a: &CaptureConditions, b: &CaptureConditions) -> bool {
    a.began_unix_ns.is_some()
        && a.began_unix_ns == b.began_unix_ns
        && a.host == b.host
        && a.source == b.source
        && a.devices == b.devices
}

fn both(a: Option<Recovery>, b: Option<Recovery>) -> Option<Recovery> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Recovery {
            row_groups: a.row_groups + b.row_groups,
            bytes_ignored: a.bytes_ignored.saturating_add(b.bytes_ignored),
        }),
        (a, b) => a.or(b),
    }
}
