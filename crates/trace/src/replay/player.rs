//! Plays a script without a device: the chosen I/Os of a trace, one by one in the
//! order in which they are due, on the addresses of the target.

use super::due::DueOrder;
use super::flight::Outstanding;
use super::map::{AddressMap, Landing};
use super::script::{IssueAt, LeftOut, ScriptOptions};
use super::think::Thinking;
use crate::Rows;
use crate::error::TraceError;
use crate::file::{Field, Fields, Trace};
use crate::pass::Ios;
use crate::workload::stimulus_op;
use std::io::{Read, Seek};
use std::sync::Arc;
use steadfast_domain::io_event::flags;
use steadfast_domain::{Bytes, DueIo, IoOp, Nanos, Op};

/// Columns that a script is made of, beside those that every pass reads.
pub(super) const FIELDS: Fields = Fields::of(&[Field::Queued, Field::Flags, Field::Pid]);

/// One I/O that is played, as it was captured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    /// When it is due, from the capture's beginning.
    pub(super) due_ns: u64,
    pub(super) completed_ns: Option<u64>,
    pub(super) op: Op,
    pub(super) fua: bool,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) process: u32,
}

impl Default for Chosen {
    fn default() -> Self {
        Chosen {
            due_ns: 0,
            completed_ns: None,
            op: Op::Read,
            fua: false,
            offset: 0,
            size: 0,
            process: 0,
        }
    }
}

/// Why an I/O is not played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    UnknownOp,
    NoBytes,
}

/// The I/O of a row, or why it is not played.
#[inline]
pub(super) fn chosen(rows: &Rows<'_>, row: usize, at: IssueAt) -> Result<Chosen, Why> {
    let batch = rows.batch;
    let (set, size) = (batch.flags(row), u64::from(batch.bytes(row)));
    // How a request to flush and nothing else looks where bios are captured.
    let only_flushes = batch.op(row) == IoOp::Write && size == 0 && set & flags::PREFLUSH != 0;
    let op =
        if only_flushes { Op::Flush } else { stimulus_op(batch.op(row)).ok_or(Why::UnknownOp)? };
    let is_flush = op == Op::Flush;
    if size == 0 && !is_flush {
        return Err(Why::NoBytes);
    }
    let issued = batch.issued_ns(row);
    Ok(Chosen {
        due_ns: match at {
            IssueAt::Queue => issued.saturating_sub(batch.queued_ns(row)),
            IssueAt::Issue => issued,
        },
        completed_ns: rows.response_ns(row).map(|response| issued.saturating_add(response)),
        op,
        fua: op == Op::Write && set & flags::FUA != 0,
        offset: if is_flush { 0 } else { batch.offset(row) },
        size: if is_flush { 0 } else { size },
        process: batch.pid(row),
    })
}

/// What is known of a script before it is played.
#[derive(Debug)]
pub(super) struct ReplayPlan {
    pub(super) options: ScriptOptions,
    pub(super) issue_at: IssueAt,
    pub(super) map: AddressMap,
    /// What due times are counted from, from the capture's beginning.
    pub(super) origin_ns: u64,
    /// The longest that any I/O is due before its issue.
    pub(super) slack_ns: u64,
    /// The capture's times are coarser than what lies between two I/Os.
    pub(super) rounded_times: bool,
}

/// What became of the I/Os that were played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Landed {
    pub(super) rounded: u64,
    pub(super) wrapped: u64,
    pub(super) moved: u64,
    pub(super) too_large: u64,
    /// I/Os due before one that was given out, and therefore due at once.
    pub(super) late: u64,
}

/// One I/O that was played.
pub(super) struct Played {
    pub(super) io: DueIo,
    pub(super) captured: Chosen,
}

/// A script that is being played.
pub(super) struct Player<R: 'static> {
    plan: Arc<ReplayPlan>,
    ios: Ios<'static, R>,
    order: DueOrder,
    thinking: Thinking,
    outstanding: Outstanding,
    last_due_ns: u64,
    landed: Landed,
    ended: bool,
}

impl<R: Read + Seek + Send + 'static> Player<R> {
    pub(super) fn new(trace: &Arc<Trace<R>>, plan: &Arc<ReplayPlan>) -> Self {
        Player {
            ios: plan.options.pass.shared_ios(trace, FIELDS),
            order: DueOrder::new(plan.slack_ns),
            last_due_ns: plan.origin_ns,
            plan: Arc::clone(plan),
            thinking: Thinking::default(),
            outstanding: Outstanding::default(),
            landed: Landed::default(),
            ended: false,
        }
    }

    /// The next I/O; `None` when there are no more.
    pub(super) fn next(&mut self) -> Result<Option<Played>, TraceError> {
        loop {
            if let Some(io) = self.order.next() {
                if let Some(played) = self.land(io) {
                    return Ok(Some(played));
                }
            } else if self.ended {
                return Ok(None);
            } else {
                self.read()?;
            }
        }
    }

    /// What became of those played so far.
    pub(super) fn landed(&self) -> Landed {
        Landed { late: self.order.late, ..self.landed }
    }

    /// Whether the capture's times are coarser than what lies between two I/Os.
    pub(super) fn times_are_rounded(&self) -> bool {
        self.plan.rounded_times
    }

    fn read(&mut self) -> Result<(), TraceError> {
        let Some(rows) = self.ios.next_rows()? else {
            self.order.end();
            self.ended = true;
            return Ok(());
        };
        for row in rows.iter() {
            if let Ok(io) = chosen(&rows, row, self.plan.issue_at) {
                self.order.take(io);
            }
        }
        if let Some(last) = rows.batch.len().checked_sub(1) {
            self.order.issued_until(rows.batch.issued_ns(last));
        }
        Ok(())
    }

    fn land(&mut self, captured: Chosen) -> Option<Played> {
        let landing = match captured.op {
            Op::Flush => Landing::default(),
            _ => match self.plan.map.land(captured.offset, captured.size) {
                Some(landing) => landing,
                None => {
                    self.landed.too_large += 1;
                    return None;
                }
            },
        };
        self.landed.rounded += u64::from(landing.rounded);
        self.landed.wrapped += u64::from(landing.wrapped);
        self.landed.moved += u64::from(landing.moved);
        let due = Nanos(captured.due_ns.saturating_sub(self.plan.origin_ns));
        let place = (Bytes(landing.offset), Bytes(landing.size));
        let mut io = DueIo { fua: captured.fua, ..DueIo::new(due, captured.op, place.0, place.1) };
        if !self.plan.rounded_times {
            io.think = self.think(&captured);
            io.outstanding = self.outstanding.with(captured.due_ns, captured.completed_ns);
        }
        Some(Played { io, captured })
    }

    /// How long it waits in a closed loop, where I/Os go out one after the other: as
    /// long as its process thought, but no longer than the I/O before it was ago.
    /// What other processes did in the meantime has passed by then.
    fn think(&mut self, io: &Chosen) -> Nanos {
        let Chosen { due_ns, process, completed_ns, .. } = *io;
        let think_ns = self.thinking.before(process, due_ns, self.plan.origin_ns, completed_ns);
        let since_last_ns = due_ns.saturating_sub(self.last_due_ns);
        self.last_due_ns = due_ns;
        Nanos(think_ns.min(since_last_ns))
    }
}

impl LeftOut {
    pub(super) fn count(&mut self, why: Why) {
        match why {
            Why::UnknownOp => self.unknown_ops += 1,
            Why::NoBytes => self.without_bytes += 1,
        }
    }
}
