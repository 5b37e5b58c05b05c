//! Imports a block trace from its events, in order of time.
//!
//! Merged bios vanish into the request that absorbed them. I/Os that a device-mapper device passes
//! down reappear under the number of the device below.

use super::checks::TraceChecks;
use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportError, ImportOutcome, ImportResult, SECTOR};
use steadfast_domain::io_event::Layer;
use steadfast_domain::io_matcher::{BlockStep, IoMatcher};
use steadfast_domain::{CaptureConditions, IoOp};

const IN_FLIGHT_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct BlockTraceImport {
    matcher: IoMatcher,
    pub devices: DeviceNumbers,
    /// Latest time of a record, in nanoseconds.
    pub last_ns: u64,
    checks: TraceChecks,
    pub imported: ImportResult,
}

impl Default for BlockTraceImport {
    fn default() -> Self {
        BlockTraceImport {
            matcher: IoMatcher::new(IN_FLIGHT_MAX).with_bios(),
            devices: DeviceNumbers::default(),
            last_ns: 0,
            checks: TraceChecks::new(false),
            imported: ImportResult::default(),
        }
    }
}

impl BlockTraceImport {
    /// Counts a record and delivers the I/O that ends with it, if there is one. `event` is `None`
    /// for a record that belongs to no I/O.
    pub(super) fn take(
        &mut self,
        event: Option<&BlockStep>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ImportError> {
        self.imported.records += 1;
        let Some(event) = event else {
            self.imported.passed_over += 1;
            return Ok(());
        };
        reject_beyond_addresses(event, self.imported.records)?;
        self.last_ns = self.last_ns.max(event.time_ns);
        self.checks.check_time(self.imported.records, event.time_ns);
        if let Some(io) = self.matcher.follow(event) {
            self.imported.events += 1;
            self.checks.check_size(self.imported.records, &io);
            sink(&io)?;
        }
        Ok(())
    }

    /// Delivers the I/Os whose completion is missing and returns the result.
    pub(super) fn finish(
        mut self,
        source: &str,
        began_unix_ns: Option<u64>,
        sink: &mut EventSink<'_>,
    ) -> ImportOutcome {
        for io in self.matcher.outstanding_ios() {
            self.imported.events += 1;
            self.checks.check_size(self.imported.records, &io);
            sink(&io)?;
        }
        let part = self.matcher.incomplete();
        let mut remarks = remarks(&self.matcher);
        remarks.extend(self.checks.remarks("record"));
        let conditions = CaptureConditions {
            source: source.to_owned(),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            began_unix_ns,
            lasted_ns: self.last_ns,
            unfinished: part.missing(),
            in_part: Some(part),
            remarks,
            ..CaptureConditions::default()
        };
        Ok(ImportResult { conditions, ..self.imported })
    }
}

/// Rejects an I/O that ends beyond the largest address. Flushes and commands without data have no
/// sector.
fn reject_beyond_addresses(event: &BlockStep, record: u64) -> Result<(), ImportError> {
    let BlockStep { sector, bytes, op, .. } = *event;
    let has_data = bytes > 0 && matches!(op, IoOp::Read | IoOp::Write | IoOp::Discard);
    let end = sector.checked_mul(SECTOR).and_then(|offset| offset.checked_add(bytes));
    if has_data && end.is_none() {
        return Err(ImportError::Unsuitable(format!(
            "record {record}: {bytes} bytes at sector {sector} end beyond 2^64 bytes ({} records were \
             read before)",
            record - 1
        )));
    }
    Ok(())
}

/// Returns remarks on how events were matched.
fn remarks(matcher: &IoMatcher) -> Vec<String> {
    let mut remarks =
        vec!["Issue and completion are matched by device, operation and sector.".to_owned()];
    if matcher.partial_completions > 0 {
        remarks.push(format!(
            "{} completions covered part of an I/O; the whole I/O is counted once.",
            matcher.partial_completions
        ));
    }
    if matcher.requeues > 0 {
        remarks.push(format!(
            "{} requeues; a requeued I/O counts from its first issue.",
            matcher.requeues
        ));
    }
    if matcher.dropped_from_queue > 0 {
        remarks.push(format!(
            "{} I/Os waited at once with too many others: they have no queue time, and those of a \
             device without a request queue are missing.",
            matcher.dropped_from_queue
        ));
    }
    remarks
}
