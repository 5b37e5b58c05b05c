//! Plays a script without a device: the chosen I/Os of a trace one by one, in the order of their
//! due times, on the addresses of the target.

use super::address_map::MappedIo;
use super::captured_io::{CapturedIo, FIELDS};
use super::due_order::DueOrder;
use super::plan::ReplayPlan;
use super::think_times::ThinkTimes;
use std::sync::Arc;
use steadfast_analysis::annotate::outstanding::OutstandingSet;
use steadfast_analysis::pass::AnnotatedBatches;
use steadfast_domain::{Bytes, DueIo, Nanos, Op};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Trace;

/// Largest discard that is played in one piece, because no engine takes a larger one.
const TRIM_MAX: u64 = 1 << 31;

/// Counts of how the played I/Os were adapted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AdaptationCounts {
    pub(super) rounded: u64,
    pub(super) wrapped: u64,
    pub(super) moved: u64,
    pub(super) too_large: u64,
    /// Number of times that a discard was divided.
    pub(super) divisions: u64,
    /// Number of I/Os due before one that was delivered already, and therefore due at once.
    pub(super) late: u64,
}

/// An I/O of the script, and the captured one from which it was made.
#[derive(Clone, Copy)]
pub(super) struct ReplayedIo {
    pub(super) io: DueIo,
    pub(super) captured: CapturedIo,
}

/// A script that is being played.
pub(super) struct ReplayPlayer {
    pub(super) plan: Arc<ReplayPlan>,
    ios: AnnotatedBatches<'static>,
    order: DueOrder,
    /// The rest of a discard whose first part was played.
    rest: Option<ReplayedIo>,
    think_times: ThinkTimes,
    outstanding: OutstandingSet,
    last_due_ns: u64,
    counts: AdaptationCounts,
    ended: bool,
}

impl ReplayPlayer {
    pub(super) fn new(trace: &Arc<Trace>, plan: &Arc<ReplayPlan>) -> Self {
        ReplayPlayer {
            ios: plan.options.pass.read_shared(trace, FIELDS),
            order: DueOrder::new(plan.wait_max_ns),
            rest: None,
            last_due_ns: plan.origin_ns,
            plan: Arc::clone(plan),
            think_times: ThinkTimes::default(),
            outstanding: OutstandingSet::default(),
            counts: AdaptationCounts::default(),
            ended: false,
        }
    }

    /// Returns the next I/O; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<ReplayedIo>, TraceError> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(self.split_discard(rest)));
        }
        loop {
            if let Some(io) = self.order.next() {
                if let Some(played) = self.map_io(io) {
                    return Ok(Some(self.split_discard(played)));
                }
            } else if self.ended {
                return Ok(None);
            } else {
                self.read_batch()?;
            }
        }
    }

    /// Returns the I/O, or its first part if it is a discard that is too long; the rest follows.
    fn split_discard(&mut self, played: ReplayedIo) -> ReplayedIo {
        let ReplayedIo { io, captured } = played;
        if io.op != Op::Discard || io.size.0 <= TRIM_MAX {
            return played;
        }
        self.counts.divisions += 1;
        let (offset, size) = (Bytes(io.offset.0 + TRIM_MAX), Bytes(io.size.0 - TRIM_MAX));
        let rest = DueIo { offset, size, think: Nanos::ZERO, ..io };
        self.rest = Some(ReplayedIo { io: rest, captured });
        ReplayedIo { io: DueIo { size: Bytes(TRIM_MAX), ..io }, captured }
    }

    /// Returns the counts of the I/Os played so far.
    pub(super) fn adaptations(&self) -> AdaptationCounts {
        AdaptationCounts { late: self.order.late, ..self.counts }
    }

    /// Reads the next I/Os of the trace, or ends the order.
    fn read_batch(&mut self) -> Result<(), TraceError> {
        let Some(rows) = self.ios.next_batch()? else {
            self.order.release_all();
            self.ended = true;
            return Ok(());
        };
        for row in rows.iter() {
            if let Ok(io) = CapturedIo::from_row(&rows, row, self.plan.issue_at) {
                self.order.add(io);
            }
        }
        if let Some(last) = rows.batch.len().checked_sub(1) {
            self.order.release_until(rows.batch.issued_ns(last));
        }
        Ok(())
    }

    /// Maps an I/O to the target; `None` if it is larger than the target.
    fn map_io(&mut self, captured: CapturedIo) -> Option<ReplayedIo> {
        let mapped = match captured.op {
            Op::Flush => Some(MappedIo::default()),
            _ => self.plan.map.map_io(captured.offset, captured.size),
        };
        let Some(mapped) = mapped else {
            self.counts.too_large += 1;
            return None;
        };
        self.counts.rounded += u64::from(mapped.rounded);
        self.counts.wrapped += u64::from(mapped.wrapped);
        self.counts.moved += u64::from(mapped.moved);
        let due = Nanos(captured.due_ns.saturating_sub(self.plan.origin_ns));
        let (offset, size) = (Bytes(mapped.offset), Bytes(mapped.size));
        let fua = captured.fua && !self.plan.fua_is_emulated;
        let mut io = DueIo { fua, ..DueIo::new(due, captured.op, offset, size) };
        if !self.plan.rounded_times {
            io.think = self.think_time(&captured);
            // A closed loop keeps as many outstanding as the capture had.
            let outstanding = captured
                .completed_ns
                .map(|completed_ns| self.outstanding.add(captured.due_ns, completed_ns));
            io.outstanding = outstanding.filter(|count| *count > 0);
        }
        Some(ReplayedIo { io, captured })
    }

    /// Returns the think time of an I/O in a closed loop, which issues one I/O after the other: that
    /// of its process, but at most the time since the previous I/O of any process, because its
    /// earlier part has passed by then.
    fn think_time(&mut self, io: &CapturedIo) -> Nanos {
        let CapturedIo { due_ns, process, completed_ns, .. } = *io;
        let think_ns =
            self.think_times.record_io(process, due_ns, self.plan.origin_ns, completed_ns);
        let since_last_ns = due_ns.saturating_sub(self.last_due_ns);
        self.last_due_ns = due_ns;
        Nanos(think_ns.min(since_last_ns))
    }
}
