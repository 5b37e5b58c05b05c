//! Plays a script without a device: the chosen I/Os of a trace one by one, in the order of their
//! due times, on the addresses of the target.

use super::address_map::MappedIo;
use super::chosen::{CapturedIo, FIELDS, chosen};
use super::due::DueOrder;
use super::flight::CompletionHeap;
use super::plan::ReplayPlan;
use super::think::ThinkTimes;
use std::io::{Read, Seek};
use std::sync::Arc;
use steadfast_analysis::pass::AnnotatedBatches;
use steadfast_domain::{Bytes, DueIo, Nanos, Op};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Trace;

/// Largest discard that is played in one piece, because no engine takes a larger one.
const TRIM_MOST: u64 = 1 << 31;

/// Counts of how the played I/Os were adapted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AdaptationCounts {
    pub(super) rounded: u64,
    pub(super) wrapped: u64,
    pub(super) moved: u64,
    pub(super) too_large: u64,
    /// Number of times that a discard was divided.
    pub(super) divided: u64,
    /// Number of I/Os due before one that was delivered already, and therefore due at once.
    pub(super) late: u64,
}

/// One played I/O.
#[derive(Clone, Copy)]
pub(super) struct ReplayedIo {
    pub(super) io: DueIo,
    pub(super) captured: CapturedIo,
}

/// A script that is being played.
pub(super) struct ReplayPlayer<R: 'static> {
    plan: Arc<ReplayPlan>,
    ios: AnnotatedBatches<'static, R>,
    order: DueOrder,
    /// The rest of a discard whose first part was played.
    rest: Option<ReplayedIo>,
    thinking: ThinkTimes,
    outstanding: CompletionHeap,
    last_due_ns: u64,
    landed: AdaptationCounts,
    ended: bool,
}

impl<R: Read + Seek + Send + 'static> ReplayPlayer<R> {
    pub(super) fn new(trace: &Arc<Trace<R>>, plan: &Arc<ReplayPlan>) -> Self {
        ReplayPlayer {
            ios: plan.options.pass.read_shared(trace, FIELDS),
            order: DueOrder::new(plan.slack_ns),
            rest: None,
            last_due_ns: plan.origin_ns,
            plan: Arc::clone(plan),
            thinking: ThinkTimes::default(),
            outstanding: CompletionHeap::default(),
            landed: AdaptationCounts::default(),
            ended: false,
        }
    }

    /// Returns the next I/O; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<ReplayedIo>, TraceError> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(self.divided(rest)));
        }
        loop {
            if let Some(io) = self.order.next() {
                if let Some(played) = self.land(io) {
                    return Ok(Some(self.divided(played)));
                }
            } else if self.ended {
                return Ok(None);
            } else {
                self.read()?;
            }
        }
    }

    /// Returns the I/O, or its first part if it is a discard that is too long.
    fn divided(&mut self, played: ReplayedIo) -> ReplayedIo {
        let ReplayedIo { io, captured } = played;
        if io.op != Op::Discard || io.size.0 <= TRIM_MOST {
            return played;
        }
        self.landed.divided += 1;
        let place = (Bytes(io.offset.0 + TRIM_MOST), Bytes(io.size.0 - TRIM_MOST));
        let rest = DueIo { offset: place.0, size: place.1, think: Nanos::ZERO, ..io };
        self.rest = Some(ReplayedIo { io: rest, captured });
        ReplayedIo { io: DueIo { size: Bytes(TRIM_MOST), ..io }, captured }
    }

    /// Returns the counts of the I/Os played so far.
    pub(super) fn landed(&self) -> AdaptationCounts {
        AdaptationCounts { late: self.order.late, ..self.landed }
    }

    /// Returns whether the capture's times are too coarse to separate two I/Os.
    pub(super) fn times_are_rounded(&self) -> bool {
        self.plan.rounded_times
    }

    fn read(&mut self) -> Result<(), TraceError> {
        let Some(rows) = self.ios.next_batch()? else {
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

    fn land(&mut self, captured: CapturedIo) -> Option<ReplayedIo> {
        let landing = match captured.op {
            Op::Flush => MappedIo::default(),
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
        let fua = captured.fua && !self.plan.fua_is_flushed;
        let mut io = DueIo { fua, ..DueIo::new(due, captured.op, place.0, place.1) };
        if !self.plan.rounded_times {
            io.think = self.think(&captured);
            io.outstanding = self.outstanding.with(captured.due_ns, captured.completed_ns);
        }
        Some(ReplayedIo { io, captured })
    }

    /// Returns the think time of an I/O in a closed loop, where I/Os go out one after the other:
    /// that of its process, but at most the time since the previous I/O. What other processes did
    /// in the meantime has passed by then.
    fn think(&mut self, io: &CapturedIo) -> Nanos {
        let CapturedIo { due_ns, process, completed_ns, .. } = *io;
        let think_ns = self.thinking.before(process, due_ns, self.plan.origin_ns, completed_ns);
        let since_last_ns = due_ns.saturating_sub(self.last_due_ns);
        self.last_due_ns = due_ns;
        Nanos(think_ns.min(since_last_ns))
    }
}
