//! One capture, with its single I/Os or with sums in their place.

use super::summed_capture::{CellTotals, SummedCapture};
use crate::fold::Fold;
use crate::parallel_pass;
use crate::pass::{PassAccount, PassOptions};
use crate::thread_pool::ThreadPool;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::{ObservedTime, StepGrid, refuse_without_step};
use steadfast_tracefile::parquet::{Integrity, Recovery, Trace};

/// One capture: a file, or several if it was rotated.
pub(crate) enum SingleCapture {
    /// A capture with its single I/Os.
    Ios(Arc<Trace>),
    /// A capture with sums in place of its I/Os.
    Sums(Box<SummedCapture>),
}

impl SingleCapture {
    pub(crate) fn conditions(&self) -> &CaptureConditions {
        match self {
            SingleCapture::Ios(trace) => trace.conditions(),
            SingleCapture::Sums(sums) => &sums.conditions,
        }
    }

    pub(crate) fn integrity(&self) -> Integrity {
        match self {
            SingleCapture::Ios(trace) => trace.integrity(),
            SingleCapture::Sums(sums) => sums.integrity.clone(),
        }
    }

    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        match self {
            SingleCapture::Ios(trace) => trace.recovery(),
            SingleCapture::Sums(sums) => sums.recovery.as_ref(),
        }
    }

    /// Returns the number of files.
    pub(super) fn files(&self) -> usize {
        match self {
            SingleCapture::Sums(sums) => sums.files(),
            SingleCapture::Ios(trace) => trace.conditions().part.as_ref().map_or(1, |part| {
                (part.last.saturating_sub(part.first) as usize).saturating_add(1)
            }),
        }
    }

    /// Returns the known duration of the capture, in nanoseconds.
    pub(super) fn lasted_ns(&self) -> u64 {
        match self {
            SingleCapture::Ios(trace) => {
                trace.conditions().lasted_ns.max(trace.observed().end_ns().unwrap_or(0))
            }
            SingleCapture::Sums(sums) => sums.lasted_ns(),
        }
    }

    /// Returns the observed time from the beginning of the capture. For a fold of a part of the
    /// time it is only that part.
    pub(crate) fn observed(&self) -> &ObservedTime {
        match self {
            SingleCapture::Ios(trace) => trace.observed(),
            SingleCapture::Sums(sums) => &sums.observed,
        }
    }

    /// Returns the width of the kept steps in nanoseconds, or `None` for single I/Os.
    pub(crate) fn step_ns(&self) -> Option<u64> {
        match self {
            SingleCapture::Ios(_) => None,
            SingleCapture::Sums(sums) => Some(sums.step_ns),
        }
    }

    /// Returns the grid of the kept steps on an axis that begins `shift_ns` before the capture, or
    /// `None` for single I/Os.
    pub(crate) fn step_grid(&self, shift_ns: u64) -> Option<StepGrid> {
        match self {
            SingleCapture::Ios(_) => None,
            SingleCapture::Sums(sums) => Some(sums.step_grid(shift_ns)),
        }
    }

    /// Checks that the capture can report something that needs single I/Os.
    pub(crate) fn check_recorded(&self, what: NotRecorded) -> Result<(), TraceError> {
        match self {
            SingleCapture::Ios(_) => Ok(()),
            SingleCapture::Sums(sums) => sums.check_recorded(what),
        }
    }

    /// Returns a byte offset that no I/O of any device exceeds, or `None` if it is unknown without
    /// reading the I/Os.
    pub(crate) fn end_of_range(&self) -> Option<u64> {
        match self {
            SingleCapture::Ios(trace) => trace.end_of_range(),
            SingleCapture::Sums(_) => None,
        }
    }

    /// Reads the capture once and passes its batches or cells to all folds, placed among other
    /// captures if `mapping` is set. `totals` are those of all captures so far.
    pub(crate) fn run(
        &self,
        pass: &PassOptions,
        mapping: Option<&MergeMapping>,
        folds: &mut [&mut dyn Fold],
        totals: &mut CellTotals,
        threads: Option<&dyn ThreadPool>,
    ) -> Result<PassAccount, TraceError> {
        match self {
            SingleCapture::Ios(trace) => match threads {
                Some(threads) => parallel_pass::run(pass, trace, mapping, folds, threads),
                None => pass.run_mapped(trace, mapping, folds),
            },
            SingleCapture::Sums(sums) => {
                let shift_ns = mapping.map_or(0, |mapping| mapping.shift_ns);
                let grid = sums.step_grid(shift_ns);
                let observed = sums.observed.shifted(shift_ns);
                let span = observed.span_without_step(&pass.filter.spans_ns, grid);
                refuse_without_step(span, grid.step_ns)?;
                sums.run(pass, mapping, folds, totals)
            }
        }
    }
}
