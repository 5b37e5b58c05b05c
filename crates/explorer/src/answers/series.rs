//! Series over time, and capture steps.

use crate::cells::ColumnSums;
use crate::http_error::{HttpError, HttpResult};
use crate::pair_numbers::Breakdowns;
use crate::query::{QueryString, op_named, process_id};
use crate::selection::{CellWindow, IoSelection};
use serde::Serialize;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::questions::steps::{
    CaptureStep, StepContext, StepFigures, busy_share, is_busy_time_missed,
};
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_domain::IoOp;
use steadfast_tracefile::StreamKey;
use steadfast_tracefile::observed_time::{ObservedTime, rate_is_known};

const COLUMNS_DEFAULT: u64 = 1024;
/// Largest number of columns or capture steps.
const COLUMNS_MAX: u64 = 4096;
/// Default number of capture steps.
const STEPS_DEFAULT: u64 = 120;

#[derive(Debug, Serialize)]
pub struct SeriesKey {
    id: String,
    name: String,
}

/// Series over time. Every array has one value per column.
#[derive(Debug, Default, Serialize)]
pub struct SeriesAnswer {
    from: u64,
    width_ns: u64,
    cells: usize,
    /// True if the index answered the question; otherwise the I/Os were read.
    from_index: bool,
    /// Observed time of each column, by which rates are divided; `None` if it is too short for a
    /// rate.
    observed_ns: Vec<Option<u64>>,
    keys: Vec<SeriesKey>,
    ios: Vec<Vec<u64>>,
    bytes: Vec<Vec<u64>>,
    rt_mean_ns: Vec<Option<u64>>,
    rt_p50: Vec<Option<u64>>,
    rt_p99: Vec<Option<u64>>,
    rt_p999: Vec<Option<u64>>,
    rt_max: Vec<Option<u64>>,
    qd_mean: Vec<Option<f64>>,
    qd_max: Vec<Option<u32>>,
    busy: Vec<Option<f64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum SeriesBreakdown {
    None,
    Op,
    Stream,
    Process,
}

pub fn answer(mut selection: IoSelection<'_>, query: &QueryString) -> HttpResult<SeriesAnswer> {
    let columns = query.within("cells", COLUMNS_DEFAULT, COLUMNS_MAX)?;
    let by = match query.one("by")? {
        None | Some("none") => SeriesBreakdown::None,
        Some("op") => SeriesBreakdown::Op,
        Some("stream") => SeriesBreakdown::Stream,
        Some("process") => SeriesBreakdown::Process,
        Some(other) => {
            let why = format!("'{other}' is no split: none, op, stream or process");
            return Err(HttpError::bad(why));
        }
    };
    if let Some(key) = query.one("key")? {
        narrow(&mut selection, by, key)?;
    }
    let breakdowns = Breakdowns {
        streams: by == SeriesBreakdown::Stream,
        processes: by == SeriesBreakdown::Process,
    };
    let window = selection.cell_window(columns, breakdowns)?;
    let observed = selection.observed(&window)?;
    Ok(fill(&selection, &window, by, &observed))
}

/// Restricts the selection to the I/Os of one series.
fn narrow(selection: &mut IoSelection<'_>, by: SeriesBreakdown, key: &str) -> HttpResult<()> {
    let filter = &mut selection.filter;
    match by {
        SeriesBreakdown::Stream => filter.streams = vec![key.parse::<StreamKey>()?],
        SeriesBreakdown::Process => filter.process = Some(ProcessSelector::parse(key)),
        SeriesBreakdown::Op => {
            let unknown = || HttpError::bad(format!("'{key}' is no operation"));
            filter.ops = vec![op_named(key).ok_or_else(unknown)?];
        }
        SeriesBreakdown::None => return Err(HttpError::bad("'key' needs 'by'")),
    }
    Ok(())
}

fn fill(
    selection: &IoSelection<'_>,
    window: &CellWindow,
    by: SeriesBreakdown,
    observed: &ObservedTime,
) -> SeriesAnswer {
    let axis = window.axis;
    let keys = keys(window, by);
    let observed_in = |number: u64| {
        let observed_ns = observed.of_step(number, axis.width_ns);
        rate_is_known(observed_ns, axis.width_ns).then_some(observed_ns)
    };
    let columns = axis.first..axis.first + axis.columns as u64;
    let observed_ns: Vec<Option<u64>> = columns.map(observed_in).collect();
    let mut series = SeriesAnswer {
        from: axis.first.saturating_mul(axis.width_ns),
        width_ns: axis.width_ns,
        cells: axis.columns,
        from_index: window.is_of_index(),
        observed_ns: observed_ns.clone(),
        ios: vec![vec![0; axis.columns]; keys.len()],
        bytes: vec![vec![0; axis.columns]; keys.len()],
        rt_mean_ns: vec![None; axis.columns],
        rt_p50: vec![None; axis.columns],
        rt_p99: vec![None; axis.columns],
        rt_p999: vec![None; axis.columns],
        rt_max: vec![None; axis.columns],
        qd_mean: vec![None; axis.columns],
        qd_max: vec![None; axis.columns],
        busy: vec![None; axis.columns],
        keys,
    };
    let mut any_response = false;
    let devices = selection.devices(window);
    let conditions = selection.capture.conditions();
    for (busy, observed_ns) in series.busy.iter_mut().zip(&observed_ns) {
        *busy = devices.and(observed_ns.map(|_| 0.0));
    }
    window.all().columns(window.cells.clone(), window.wide, |at, column| {
        let step = column.step();
        any_response |= step.times.responses.count > 0;
        series.busy[at] = devices
            .zip(observed_ns[at])
            .map(|(devices, observed_ns)| busy_share(step.busy_ns, observed_ns, devices))
            .filter(|share| !is_busy_time_missed(conditions, step.ios(), *share));
        series.put(at, column, &step, by);
    });
    if !any_response {
        series.busy.fill(None);
    }
    series
}

fn keys(window: &CellWindow, by: SeriesBreakdown) -> Vec<SeriesKey> {
    let named = |name: &str| SeriesKey { id: name.to_owned(), name: name.to_owned() };
    let cells = window.all();
    match by {
        SeriesBreakdown::None => vec![named("all")],
        SeriesBreakdown::Op => IoOp::ALL.iter().map(|op| named(&op.to_string())).collect(),
        SeriesBreakdown::Stream => {
            let streams = cells.shares.streams.keys.iter().map(|key| named(&key.to_string()));
            streams.chain([named("others")]).collect()
        }
        SeriesBreakdown::Process => {
            let one = |key: &ProcessKey| SeriesKey { id: process_id(key), name: key.to_string() };
            cells.shares.processes.keys.iter().map(one).chain([named("others")]).collect()
        }
    }
}

impl SeriesAnswer {
    fn put(&mut self, at: usize, column: &ColumnSums, step: &CaptureStep, by: SeriesBreakdown) {
        match by {
            SeriesBreakdown::None => {
                self.ios[0][at] = step.ios();
                self.bytes[0][at] = step.transferred_bytes();
            }
            SeriesBreakdown::Op => {
                for (op, sums) in step.ops.iter().enumerate() {
                    self.ios[op][at] = sums.ios;
                    self.bytes[op][at] = sums.bytes;
                }
            }
            SeriesBreakdown::Stream => self.put_all(at, &column.streams),
            SeriesBreakdown::Process => self.put_all(at, &column.processes),
        }
        let times = &step.times;
        let percentile = |share| step.percentile(share).map(|time| time.0);
        self.rt_mean_ns[at] = times.response_mean().map(|time| time.0);
        self.rt_p50[at] = percentile(0.5);
        self.rt_p99[at] = percentile(0.99);
        self.rt_p999[at] = percentile(0.999);
        self.rt_max[at] = times.response_max().map(|time| time.0);
        self.qd_mean[at] = times.depths.mean();
        self.qd_max[at] = times.depths.largest();
    }

    fn put_all(&mut self, at: usize, sums: &[IoCount]) {
        for (key, sum) in sums.iter().enumerate() {
            self.ios[key][at] = sum.ios;
            self.bytes[key][at] = sum.bytes;
        }
    }
}

#[derive(Debug, Serialize)]
pub struct StepsAnswer {
    step_ns: u64,
    steps: Vec<StepFigures>,
}

/// Answers `steps`, with the numbers of `steadfast trace steps --step` for this width.
pub fn steps(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<StepsAnswer> {
    let count = query.within("cells", STEPS_DEFAULT, COLUMNS_MAX)?;
    let window = selection.cell_window(count, Breakdowns::default())?;
    let axis = window.axis;
    let mut found: Vec<(u64, CaptureStep)> = Vec::new();
    window.all().columns(window.cells.clone(), window.wide, |at, column| {
        found.push((axis.first + at as u64, column.step()));
    });
    // The last step is that of the last I/O, even if the device is busy after it.
    found.truncate(found.iter().rposition(|(_, step)| step.ios() > 0).map_or(0, |last| last + 1));
    let any_response = found.iter().any(|(_, step)| step.times.responses.count > 0);
    let devices = selection.devices(&window).filter(|_| any_response);
    let conditions = selection.capture.conditions();
    let observed = &selection.observed(&window)?;
    let context = StepContext { width_ns: axis.width_ns, observed, devices, conditions };
    let figures = found.iter().map(|(number, step)| {
        StepFigures::new(*number, step, &context).with_processors(conditions, axis.width_ns)
    });
    Ok(StepsAnswer { step_ns: axis.width_ns, steps: figures.collect() })
}
