//! The I/Os of a trace that a script can play, as they were captured.

use super::options::OmittedIos;
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::questions::cumulative::stimulus_op;
use steadfast_domain::io_event::flags;
use steadfast_domain::script::DueTimeSource;
use steadfast_domain::{IoOp, Op};
use steadfast_tracefile::parquet::{Field, Fields};

/// Columns that a script needs in addition to those that every pass reads.
pub(super) const FIELDS: Fields = Fields::new(&[Field::Queued, Field::Flags, Field::Pid]);

/// A playable I/O as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CapturedIo {
    /// Due time in nanoseconds from the capture's beginning.
    pub(super) due_ns: u64,
    pub(super) completed_ns: Option<u64>,
    pub(super) op: Op,
    pub(super) fua: bool,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) process: u32,
}

/// The reason why an I/O is not played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnplayableReason {
    UnknownOp,
    NoBytes,
}

impl CapturedIo {
    /// Returns the I/O of a row, or the reason why it is not played.
    #[inline]
    pub(super) fn from_row(
        rows: &AnnotatedRows<'_>,
        row: usize,
        issue_at: DueTimeSource,
    ) -> Result<Self, UnplayableReason> {
        let batch = rows.batch;
        let (io_flags, size) = (batch.flags(row), u64::from(batch.bytes(row)));
        // A pure flush request looks like this where bios are captured.
        let is_empty_preflush =
            batch.op(row) == IoOp::Write && size == 0 && io_flags & flags::PREFLUSH != 0;
        let op = if is_empty_preflush {
            Op::Flush
        } else {
            stimulus_op(batch.op(row)).ok_or(UnplayableReason::UnknownOp)?
        };
        let is_flush = op == Op::Flush;
        if size == 0 && !is_flush {
            return Err(UnplayableReason::NoBytes);
        }
        let issued_ns = batch.issued_ns(row);
        Ok(CapturedIo {
            due_ns: match issue_at {
                DueTimeSource::Queue => issued_ns.saturating_sub(batch.queued_ns(row)),
                DueTimeSource::Issue => issued_ns,
            },
            completed_ns: rows.response_ns(row).map(|response| issued_ns.saturating_add(response)),
            op,
            fua: op == Op::Write && io_flags & flags::FUA != 0,
            offset: if is_flush { 0 } else { batch.offset(row) },
            size: if is_flush { 0 } else { size },
            process: batch.pid(row),
        })
    }
}

impl OmittedIos {
    /// Counts an I/O by its reason.
    pub(super) fn count(&mut self, reason: UnplayableReason) {
        match reason {
            UnplayableReason::UnknownOp => self.unknown_ops += 1,
            UnplayableReason::NoBytes => self.without_bytes += 1,
        }
    }
}
