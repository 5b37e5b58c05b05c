//! One capture of a comparison: everything that does not depend on the other.

use crate::replay::ReplayError;
use std::collections::BTreeMap;
use steadfast_analysis::captured::steps_over;
use steadfast_analysis::cube::CellSums;
use steadfast_analysis::questions::steps::{CaptureStep, STEPS_MAX};
use steadfast_analysis::questions::streams::StreamTable;
use steadfast_analysis::{Captured, Fold, PassOptions};
use steadfast_domain::{CaptureConditions, FineHistogram};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};

/// The contents of one of the two captures.
#[derive(Debug, Clone)]
pub struct FidelitySide {
    /// Capture conditions.
    pub conditions: CaptureConditions,
    /// Damaged or missing parts of its files, one sentence each.
    pub missing: Vec<String>,
    /// First and last issue time in nanoseconds; for step sums, first and last beginning of a step.
    pub span_ns: (u64, u64),
    /// I/O streams.
    pub streams: StreamTable,
    /// Width of a step in nanoseconds.
    pub step_ns: u64,
    /// Steps by their number from the first chosen I/O. Steps made from single I/Os have no busy
    /// time and no percentiles.
    pub steps: BTreeMap<u64, CaptureStep>,
    /// I/Os by queue depth at issue, themselves included; exact below 256. `None` for step sums
    /// and if no depth is known.
    pub depths: Option<FineHistogram>,
    /// Number of I/Os by device; empty for step sums.
    pub devices: BTreeMap<u16, u64>,
    /// Description of the filter; `None` if all I/Os were chosen.
    pub filter: Option<String>,
}

/// Returns the first and last time of the chosen I/Os.
pub(super) fn span_ns(captured: &Captured, pass: &PassOptions) -> Result<(u64, u64), ReplayError> {
    let account = captured.run(pass, &mut [])?;
    let filter = pass.filter.describe(captured.conditions());
    account.span_ns.ok_or(ReplayError::Empty { events: account.events, filter })
}

impl FidelitySide {
    pub(super) fn read(
        captured: &Captured,
        pass: &PassOptions,
        span_ns: (u64, u64),
        step_ns: u64,
    ) -> Result<Self, TraceError> {
        let figures = match captured.conditions().step_ns {
            None => TraceSideFigures::from_ios(captured, pass, span_ns.0, step_ns)?,
            Some(recorded_ns) => {
                TraceSideFigures::from_sums(captured, pass, span_ns, recorded_ns, step_ns)?
            }
        };
        let TraceSideFigures { streams, steps, depths, devices } = figures;
        Ok(FidelitySide {
            conditions: captured.conditions().clone(),
            missing: captured.integrity().missing(),
            span_ns,
            streams,
            step_ns,
            steps,
            depths,
            devices,
            filter: pass.filter.describe(captured.conditions()),
        })
    }

    /// Returns the time from the first to the last I/O, in nanoseconds.
    pub fn lasted_ns(&self) -> u64 {
        self.span_ns.1.saturating_sub(self.span_ns.0)
    }
}

/// The figures of a capture, from single I/Os or from step sums.
struct TraceSideFigures {
    streams: StreamTable,
    steps: BTreeMap<u64, CaptureStep>,
    depths: Option<FineHistogram>,
    devices: BTreeMap<u16, u64>,
}

impl TraceSideFigures {
    /// Reads single I/Os.
    fn from_ios(
        captured: &Captured,
        pass: &PassOptions,
        begin_ns: u64,
        step_ns: u64,
    ) -> Result<Self, TraceError> {
        let mut streams = StreamTable::new();
        let mut depths = vec![0u64; FineHistogram::LEN];
        let mut steps: BTreeMap<u64, CaptureStep> = BTreeMap::new();
        let mut devices = BTreeMap::new();
        let mut ios = captured.ios(pass, streams.fields().and(Fields::new(&[Field::Device])))?;
        while let Some(rows) = ios.next_batch()? {
            streams.take(&rows)?;
            for row in rows.iter() {
                let number = rows.batch.issued_ns(row).saturating_sub(begin_ns) / step_ns.max(1);
                if steps.len() >= STEPS_MAX && !steps.contains_key(&number) {
                    return Err(TraceError::TooFine(format!(
                        "more than {STEPS_MAX} capture steps; choose wider steps with --step"
                    )));
                }
                let step = steps.entry(number).or_default();
                let op = rows.batch.op(row) as usize;
                step.ops[op].add(rows.batch.bytes(row), rows.sequential[row]);
                step.times.add(rows.response_ns(row), 0, rows.depth[row]);
                *devices.entry(rows.batch.device(row)).or_default() += 1;
                if rows.depth[row] > 0 {
                    depths[FineHistogram::index(u64::from(rows.depth[row]))] += 1;
                }
            }
        }
        let depths = Some(FineHistogram::from_dense(&depths)).filter(|depths| depths.total() > 0);
        Ok(TraceSideFigures { streams, steps, depths, devices })
    }

    /// Reads step sums. Recorded steps are joined starting with the first one, so that both captures
    /// begin with step 0.
    fn from_sums(
        captured: &Captured,
        pass: &PassOptions,
        span_ns: (u64, u64),
        recorded_ns: u64,
        step_ns: u64,
    ) -> Result<Self, TraceError> {
        let mut streams = StreamTable::new();
        let mut recorded = steps_over(pass, span_ns, recorded_ns);
        captured.run(pass, &mut [&mut streams, &mut recorded])?;
        let (first, joined) = (span_ns.0 / recorded_ns, (step_ns / recorded_ns).max(1));
        let mut steps: BTreeMap<u64, CaptureStep> = BTreeMap::new();
        for (number, step) in recorded.finish()? {
            steps.entry(number.saturating_sub(first) / joined).or_default().merge(&step);
        }
        Ok(TraceSideFigures { streams, steps, depths: None, devices: BTreeMap::new() })
    }
}
