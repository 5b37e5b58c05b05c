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
        let mut side = FidelitySide {
            conditions: captured.conditions().clone(),
            missing: captured.integrity().missing(),
            span_ns,
            streams: StreamTable::new(),
            step_ns,
            steps: BTreeMap::new(),
            depths: None,
            devices: BTreeMap::new(),
            filter: pass.filter.describe(captured.conditions()),
        };
        match captured.conditions().step_ns {
            None => side.read_ios(captured, pass)?,
            Some(recorded_ns) => side.read_sums(captured, pass, recorded_ns)?,
        }
        Ok(side)
    }

    /// Returns the time from the first to the last I/O, in nanoseconds.
    pub fn lasted_ns(&self) -> u64 {
        self.span_ns.1.saturating_sub(self.span_ns.0)
    }

    /// Reads single I/Os.
    fn read_ios(&mut self, captured: &Captured, pass: &PassOptions) -> Result<(), TraceError> {
        let (begin_ns, step_ns) = (self.span_ns.0, self.step_ns.max(1));
        let mut depths = vec![0u64; FineHistogram::LEN];
        let fields = self.streams.fields().and(Fields::new(&[Field::Device]));
        let mut ios = captured.ios(pass, fields)?;
        while let Some(rows) = ios.next_batch()? {
            self.streams.take(&rows)?;
            for row in rows.iter() {
                let number = rows.batch.issued_ns(row).saturating_sub(begin_ns) / step_ns;
                if self.steps.len() >= STEPS_MAX && !self.steps.contains_key(&number) {
                    return Err(TraceError::TooFine(format!(
                        "more than {STEPS_MAX} capture steps; choose wider steps with --step"
                    )));
                }
                let step = self.steps.entry(number).or_default();
                let op = rows.batch.op(row) as usize;
                step.ops[op].add(rows.batch.bytes(row), rows.sequential[row]);
                step.times.add(rows.response_ns(row), 0, rows.depth[row]);
                *self.devices.entry(rows.batch.device(row)).or_default() += 1;
                if rows.depth[row] > 0 {
                    depths[FineHistogram::index(u64::from(rows.depth[row]))] += 1;
                }
            }
        }
        let depths = FineHistogram::from_dense(&depths);
        self.depths = Some(depths).filter(|depths| depths.total() > 0);
        Ok(())
    }

    /// Reads step sums. Recorded steps are joined starting with the first one, so that both captures
    /// begin with step 0.
    fn read_sums(
        &mut self,
        captured: &Captured,
        pass: &PassOptions,
        recorded_ns: u64,
    ) -> Result<(), TraceError> {
        let mut recorded = steps_over(pass, self.span_ns, recorded_ns);
        captured.run(pass, &mut [&mut self.streams, &mut recorded])?;
        let first = self.span_ns.0 / recorded_ns;
        let joined = (self.step_ns / recorded_ns).max(1);
        for (number, step) in recorded.finish()? {
            let number = number.saturating_sub(first) / joined;
            self.steps.entry(number).or_default().merge(&step);
        }
        Ok(())
    }
}
