//! One of two captures that are compared: everything that needs no other.

use super::Side;
use crate::error::TraceError;
use crate::file::{Field, Fields, Trace};
use crate::replay::ReplayError;
use crate::step_file::StepFile;
use crate::steps::{CaptureStep, STEPS_MAX};
use crate::streams::StreamTable;
use crate::{Fold, Pass, Rows};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::{CaptureConditions, FineHistogram};

/// What one of two captures holds.
#[derive(Debug, Clone)]
pub struct SideFound {
    /// How it came about.
    pub conditions: CaptureConditions,
    /// What of its files is damaged or missing, one sentence each.
    pub missing: Vec<String>,
    /// First and last issue time; of step sums, first and last beginning of a step.
    pub span_ns: (u64, u64),
    /// Its I/O streams.
    pub streams: StreamTable,
    /// Width of its steps, in nanoseconds.
    pub step_ns: u64,
    /// Its steps by number from the first chosen I/O. Of single I/Os without busy time
    /// and percentiles.
    pub steps: BTreeMap<u64, CaptureStep>,
    /// I/Os by queue depth at issue, itself included; exact below 256. `None` of step
    /// sums, and where no depth is known.
    pub depths: Option<FineHistogram>,
    /// I/Os by device; empty of step sums.
    pub devices: BTreeMap<u16, u64>,
    /// Which I/Os were chosen; `None` where all were.
    pub filter: Option<String>,
}

impl<R: Read + Seek + Send + 'static> Side<'_, R> {
    /// Width of the steps that were kept; `None` of single I/Os.
    pub(super) fn kept_ns(&self) -> Option<u64> {
        match self {
            Side::Trace(_) => None,
            Side::Steps(file) => Some(file.step_ns()),
        }
    }

    /// First and last moment of what passes.
    pub(super) fn span_ns(&self, pass: &Pass) -> Result<(u64, u64), ReplayError> {
        match self {
            Side::Trace(trace) => {
                let account = pass.run(trace, &mut [])?;
                let filter = pass.filter.told(trace.conditions());
                account.span_ns.ok_or(ReplayError::Empty { events: account.events, filter })
            }
            Side::Steps(file) => Ok(file.span_ns(&pass.filter)?),
        }
    }
}

impl SideFound {
    pub(super) fn of<R: Read + Seek + Send + 'static>(
        side: &Side<'_, R>,
        pass: &Pass,
        span_ns: (u64, u64),
        step_ns: u64,
    ) -> Result<Self, TraceError> {
        match side {
            Side::Trace(trace) => of_trace(trace, pass, span_ns, step_ns),
            Side::Steps(file) => of_steps(file, pass, span_ns, step_ns),
        }
    }

    /// How long it lasted, from its first to its last I/O, in nanoseconds.
    pub fn lasted_ns(&self) -> u64 {
        self.span_ns.1.saturating_sub(self.span_ns.0)
    }

    /// A device's name.
    pub fn device_name(&self, device: u16) -> String {
        let named = self.conditions.devices.get(usize::from(device));
        named.map_or_else(|| format!("device {device}"), |device| device.name.clone())
    }
}

fn of_trace<R: Read + Seek + Send + 'static>(
    trace: &Trace<R>,
    pass: &Pass,
    span_ns: (u64, u64),
    step_ns: u64,
) -> Result<SideFound, TraceError> {
    let mut streams = StreamTable::new();
    let mut depths = vec![0u64; FineHistogram::LEN];
    let (mut steps, mut devices) = (BTreeMap::new(), BTreeMap::new());
    let mut ios = pass.ios(trace, streams.fields().and(Fields::of(&[Field::Device])));
    while let Some(rows) = ios.next_rows()? {
        streams.take(&rows)?;
        for row in rows.iter() {
            let at = rows.batch.issued_ns(row).saturating_sub(span_ns.0) / step_ns.max(1);
            add(step_at(&mut steps, at)?, &rows, row);
            *devices.entry(rows.batch.device(row)).or_default() += 1;
            if let Some(depth) = rows.depth(row) {
                depths[FineHistogram::index(u64::from(depth))] += 1;
            }
        }
    }
    let depths = FineHistogram::from_dense(&depths);
    Ok(SideFound {
        conditions: trace.conditions().clone(),
        missing: trace.integrity().missing(),
        span_ns,
        streams,
        step_ns,
        steps,
        depths: (depths.total() > 0).then_some(depths),
        devices,
        filter: pass.filter.told(trace.conditions()),
    })
}

fn step_at(
    steps: &mut BTreeMap<u64, CaptureStep>,
    at: u64,
) -> Result<&mut CaptureStep, TraceError> {
    if steps.len() >= STEPS_MAX && !steps.contains_key(&at) {
        let what = format!("more than {STEPS_MAX} capture steps; choose wider steps");
        return Err(TraceError::TooFine(what));
    }
    Ok(steps.entry(at).or_default())
}

fn add(step: &mut CaptureStep, rows: &Rows<'_>, row: usize) {
    let op = &mut step.ops[rows.batch.op(row) as usize];
    op.ios += 1;
    op.bytes = op.bytes.saturating_add(u64::from(rows.batch.bytes(row)));
    op.sequential += u64::from(rows.sequential[row]);
    if let Some(response) = rows.response_ns(row) {
        step.responses += 1;
        step.response_sum_ns = step.response_sum_ns.saturating_add(response);
        step.response_max_ns = step.response_max_ns.max(response);
    }
    if let Some(depth) = rows.depth(row) {
        step.depth_sum += u64::from(depth);
        step.depths += 1;
        step.depth_max = step.depth_max.max(depth);
    }
}

fn of_steps<R: Read + Seek + Send + 'static>(
    file: &StepFile<R>,
    pass: &Pass,
    span_ns: (u64, u64),
    step_ns: u64,
) -> Result<SideFound, TraceError> {
    let filter = &pass.filter;
    // Steps of the kept width are put together from the first one on, so that both
    // captures begin with step 0.
    let first = span_ns.0 / file.step_ns();
    let each = (step_ns / file.step_ns()).max(1);
    let mut steps: BTreeMap<u64, CaptureStep> = BTreeMap::new();
    for (number, step) in file.steps(filter, file.step_ns())? {
        steps.entry(number.saturating_sub(first) / each).or_default().merge(&step);
    }
    Ok(SideFound {
        conditions: file.conditions().clone(),
        missing: file.integrity().missing(),
        span_ns,
        streams: file.streams(filter)?,
        step_ns,
        steps,
        depths: None,
        devices: BTreeMap::new(),
        filter: filter.told(file.conditions()),
    })
}
