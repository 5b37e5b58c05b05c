//! Counts irregularities of a trace that are not errors.

use steadfast_domain::{IoEvent, IoOp};

/// A count and the position of the first case.
#[derive(Debug, Default)]
struct FirstAndCount {
    first: u64,
    count: u64,
}

impl FirstAndCount {
    fn see(&mut self, number: u64) {
        if self.count == 0 {
            self.first = number;
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
    backwards: FirstAndCount,
    empty: FirstAndCount,
}

impl TraceChecks {
    pub(super) fn new(in_order: bool) -> Self {
        TraceChecks { in_order, ..TraceChecks::default() }
    }

    /// Checks the time of a record in a file that is in order of these times.
    pub(super) fn see_time(&mut self, number: u64, time_ns: u64) {
        if time_ns < self.last_ns {
            self.backwards.see(number);
        }
        self.last_ns = time_ns;
    }

    /// Checks the I/O of a record, given its time in the file.
    ///
    /// # Errors
    /// Returns what is wrong if the I/O ends beyond the largest address.
    pub(super) fn see(&mut self, number: u64, event: &IoEvent) -> Result<(), String> {
        let IoEvent { offset, bytes, .. } = *event;
        if offset.checked_add(bytes.into()).is_none() {
            return Err(format!("{bytes} bytes at offset {offset} end beyond 2^64"));
        }
        if self.in_order {
            self.see_time(number, event.issued_ns);
        }
        self.see_size(number, event);
        // Commands of unknown operation may have none, but these are accesses to data.
        if bytes == 0 && event.op == IoOp::Other {
            self.empty.see(number);
        }
        Ok(())
    }

    /// Checks whether a read or write has data.
    pub(super) fn see_size(&mut self, number: u64, event: &IoEvent) {
        if event.bytes == 0 && matches!(event.op, IoOp::Read | IoOp::Write) {
            self.empty.see(number);
        }
    }

    /// Returns a sentence for each finding; `unit` is `line`, `record` or `row`.
    pub(super) fn remarks(&self, unit: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        let FirstAndCount { first, count } = self.backwards;
        if count > 0 {
            remarks.push(format!(
                "The time goes backward {count} times, first at {unit} {first}; the trace orders \
                 I/Os by time, and response times there may be wrong."
            ));
        }
        let FirstAndCount { first, count } = self.empty;
        if count > 0 {
            remarks.push(format!("{count} I/Os have no data (size 0), first at {unit} {first}."));
        }
        remarks
    }
}
