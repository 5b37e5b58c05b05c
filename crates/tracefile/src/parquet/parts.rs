//! Reads the files of a rotated capture as one trace.

use super::reader::Trace;
use super::recovery::Recovery;
use crate::error::TraceError;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{CapturedDevice, ProcessorReading};

/// One file of a capture.
pub trait PartFile {
    /// Returns the capture conditions as this file records them.
    fn conditions(&self) -> &CaptureConditions;
    /// Returns the conditions at the beginning of the file; `None` if it does not record them.
    fn start(&self) -> Option<&CaptureConditions>;

    /// Returns the sort key of the file: its part number, or 0 in a file of an earlier version,
    /// and the time at which the file begins, in nanoseconds since the capture began.
    fn sort_key(&self) -> (u32, u64) {
        let number = self.conditions().part.as_ref().map_or(0, |part| part.first);
        // At the beginning of a file, this is how long the capture has run.
        let begin_ns = self.start().map_or(0, |start| start.lasted_ns);
        (number, begin_ns)
    }

    /// Returns whether this file and `other` hold a part in common: they are the same file or
    /// copies, or one holds the other's part among others.
    fn overlaps(&self, other: &Self) -> bool {
        match (&self.conditions().part, &other.conditions().part) {
            (Some(ours), Some(theirs)) => ours.first <= theirs.last && theirs.first <= ours.last,
            _ => self.sort_key() == other.sort_key(),
        }
    }
}

/// Sorts parts by their order in the capture; returns them and the numbers of missing parts
/// between them.
///
/// # Errors
/// Returns [`TraceError::Unsuitable`] if the parts belong to different captures or one part
/// occurs twice.
pub fn in_order<P: PartFile>(mut parts: Vec<P>) -> Result<(Vec<P>, Vec<u32>), TraceError> {
    parts.sort_by_key(PartFile::sort_key);
    let mut missing = Vec::new();
    for pair in parts.windows(2) {
        let (earlier, later) = (pair[0].conditions(), pair[1].conditions());
        if !is_same_capture(earlier, later) {
            return Err(TraceError::Unsuitable(
                "the files belong to different captures; compare them with: steadfast trace compare"
                    .into(),
            ));
        }
        if pair[0].overlaps(&pair[1]) {
            let what = "one file is named twice, or two files hold the same part of one capture; \
                name one of them";
            return Err(TraceError::Unsuitable(what.into()));
        }
        if let (Some(earlier_part), Some(later_part)) = (&earlier.part, &later.part) {
            missing.extend(earlier_part.last.saturating_add(1)..later_part.first);
        }
    }
    Ok((parts, missing))
}

impl PartFile for Trace {
    fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }
    fn start(&self) -> Option<&CaptureConditions> {
        self.start.as_ref()
    }
}

impl Trace {
    /// Joins the parts of one capture, given in any order. Losses and marks come from the last
    /// part, which holds the totals since the capture began.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if there is no part, the parts belong to different
    /// captures, or one part occurs twice.
    pub fn join(parts: Vec<Trace>) -> Result<Trace, TraceError> {
        let (parts, missing) = in_order(parts)?;
        let mut whole = parts.into_iter().reduce(Trace::append).ok_or_else(no_trace_named)?;
        whole.missing_parts = missing;
        Ok(whole)
    }

    /// Appends the next part of the capture.
    fn append(mut self, next: Trace) -> Trace {
        // A group's source counts from 0, the file of a damage from 1.
        let file_count = self.sources.len();
        self.sources.extend(next.sources);
        for mut group in next.groups {
            group.source += file_count;
            self.groups.push(group);
        }
        for mut damage in next.damaged {
            damage.file += file_count;
            self.damaged.push(damage);
        }
        self.checksums &= next.checksums;
        self.observed = self.observed.and(&next.observed);
        self.conditions = join_conditions(&self.conditions, next.conditions);
        self.recovery = merge_recoveries(self.recovery, next.recovery);
        self.rows += next.rows;
        self
    }
}

/// Returns the error for an empty list of files.
pub fn no_trace_named() -> TraceError {
    TraceError::Unsuitable("no trace was given; name a file".into())
}

/// Returns the conditions of two consecutive parts: those of the later one, with the part
/// numbers and the readings of processor time of both.
pub fn join_conditions(one: &CaptureConditions, mut next: CaptureConditions) -> CaptureConditions {
    if let (Some(earlier_part), Some(later_part)) = (&one.part, &mut next.part) {
        later_part.first = earlier_part.first;
    }
    next.processors = join_readings(&one.processors, &next.processors);
    next
}

/// Returns the readings of two consecutive parts, without those of the later part that repeat the
/// earlier one.
fn join_readings(
    one: &Arc<Vec<ProcessorReading>>,
    next: &Arc<Vec<ProcessorReading>>,
) -> Arc<Vec<ProcessorReading>> {
    let last_ns = one.last().map(|reading| reading.at_ns);
    // None is less than every time: if the earlier part has no readings, all of the later one count.
    let later = next.iter().filter(|reading| Some(reading.at_ns) > last_ns);
    Arc::new(one.iter().chain(later).copied().collect())
}

/// Returns whether two files belong to one capture: start time, host, source, devices and step
/// width match, and the capture IDs too if both files have one (files of earlier versions do not).
pub fn is_same_capture(a: &CaptureConditions, b: &CaptureConditions) -> bool {
    let parts = a.part.as_ref().zip(b.part.as_ref());
    a.began_unix_ns.is_some()
        && a.began_unix_ns == b.began_unix_ns
        && a.host == b.host
        && a.source == b.source
        && device_lists_agree(&a.devices, &b.devices)
        && a.step_ns == b.step_ns
        && parts.is_none_or(|(a, b)| a.capture == b.capture)
}

/// Returns whether one list is a prefix of the other. A disk that is replaced during a capture
/// is appended as a new entry. An empty list agrees only with an empty list.
fn device_lists_agree(a: &[CapturedDevice], b: &[CapturedDevice]) -> bool {
    let length = a.len().min(b.len());
    a[..length] == b[..length] && (length > 0 || a.len() == b.len())
}

/// Adds the recoveries of two parts.
pub fn merge_recoveries(a: Option<Recovery>, b: Option<Recovery>) -> Option<Recovery> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Recovery {
            row_groups: a.row_groups + b.row_groups,
            bytes_ignored: a.bytes_ignored.saturating_add(b.bytes_ignored),
        }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second file begins with the last reading of the first.
    #[test]
    fn readings_of_consecutive_parts_follow_one_another() {
        let part = |seconds: std::ops::RangeInclusive<u64>| {
            let readings = seconds.map(|second| ProcessorReading {
                at_ns: second * 1_000_000_000,
                busy: second * 30,
                io_wait: second,
                total: second * 100,
            });
            let processors = Arc::new(readings.collect());
            CaptureConditions { processors, ..CaptureConditions::default() }
        };
        let joined = join_conditions(&part(0..=3), part(3..=7));
        let whole = join_conditions(&joined, CaptureConditions::default());
        assert_eq!(whole.processors, part(0..=7).processors);
    }
}
