//! Counts irregularities in a trace that are not errors.

use steadfast_domain::{IoEvent, IoOp};

/// The number of records with an irregularity, and the number of the first such record.
#[derive(Debug, Default)]
struct Irregularity {
    first: u64,
    count: u64,
}

impl Irregularity {
    fn add(&mut self, record: u64) {
        if self.count == 0 {
            self.first = record;
        }
        self.count += 1;
    }
}

/// I/Os that are older than their predecessor, and I/Os without data.
#[derive(Debug, Default)]
pub(super) struct TraceChecks {
    /// True if the source lists I/Os in order of issue.
    in_order: bool,
    last_ns: u64,
    backwards: Irregularity,
    empty: Irregularity,
}

impl TraceChecks {
    pub(super) fn new(in_order: bool) -> Self {
        TraceChecks { in_order, ..TraceChecks::default() }
    }

    /// Counts a record whose time precedes that of the record before it.
    pub(super) fn check_time(&mut self, record: u64, time_ns: u64) {
        if time_ns < self.last_ns {
            self.backwards.add(record);
        }
        self.last_ns = time_ns;
    }

    /// Checks the I/O of a record, given its time in the file.
    ///
    /// # Errors
    /// Returns a message if the I/O ends beyond the largest address.
    pub(super) fn check(&mut self, record: u64, event: &IoEvent) -> Result<(), String> {
        let IoEvent { offset, bytes, .. } = *event;
        if offset.checked_add(bytes.into()).is_none() {
            return Err(format!("{bytes} bytes at offset {offset} end beyond 2^64"));
        }
        if self.in_order {
            self.check_time(record, event.issued_ns);
        }
        self.check_size(record, event);
        // A block trace may have commands without data, but here every row is an access to data.
        if bytes == 0 && event.op == IoOp::Other {
            self.empty.add(record);
        }
        Ok(())
    }

    /// Counts a read or write without data.
    pub(super) fn check_size(&mut self, record: u64, event: &IoEvent) {
        if event.bytes == 0 && matches!(event.op, IoOp::Read | IoOp::Write) {
            self.empty.add(record);
        }
    }

    /// Returns a sentence for each finding; `unit` is `line`, `record` or `row`.
    pub(super) fn remarks(&self, unit: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        let Irregularity { first, count } = self.backwards;
        if count > 0 {
            remarks.push(format!(
                "The time goes backward {count} times, first at {unit} {first}; the trace orders \
                 I/Os by time, and response times there may be wrong."
            ));
        }
        let Irregularity { first, count } = self.empty;
        if count > 0 {
            remarks.push(format!("{count} I/Os have no data (size 0), first at {unit} {first}."));
        }
        remarks
    }
}
