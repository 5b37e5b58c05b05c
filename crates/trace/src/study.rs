//! Everything that a report shows of a capture, gathered in two passes: one finds
//! the streams, the processes and the span, one the pictures over time. Of a
//! step file there is less ([`Study::of_steps`] stands beside its reader).

use crate::compare::{Side, Sides, SidesSeen};
use crate::error::TraceError;
use crate::file::{Integrity, Recovery, Trace};
use crate::hits::{Ends, HitMap, HitSteps};
use crate::pass::{Fold, Pass, PassAccount};
use crate::processes::{ProcessKey, ProcessTable};
use crate::reach::{Reach, ReachFigures};
use crate::replay_representation::{ReplayRepresentation, ReplayStep};
use crate::series::{Choice, SeriesOverTime};
use crate::steps::{CaptureStep, Steps, WIDTH_NS};
use crate::streams::{By, StreamKey, StreamTable};
use crate::workload::{Threshold, Workload};
use crate::workload_file::WorkloadStep;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::io_event::Share;
use steadfast_domain::{CaptureConditions, Layer, Nanos};

/// Steps over a whole picture, where the user does not choose their width.
const STEPS_AIM: u64 = 240;
/// Steps over a whole picture, at most.
pub const PICTURE_STEPS_MAX: u64 = 4000;
/// Processes that a picture tells apart.
const PROCESSES_SHOWN: usize = 10;
/// Devices that get a hit map and a working set each.
const DEVICES_SHOWN: usize = 4;
/// Steps of a hit map.
const HIT_STEPS: usize = 300;

/// How to study a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyOptions {
    /// Filter and sequentiality.
    pub pass: Pass,
    /// By what shares are taken.
    pub by: By,
    /// The smallest share of a stream that is told apart.
    pub threshold: Threshold,
    /// Width of a capture step; chosen by the length of the capture where absent.
    pub step_ns: Option<u64>,
    /// LBA ranges of a hit map.
    pub ranges: usize,
}

impl Default for StudyOptions {
    fn default() -> Self {
        StudyOptions {
            pass: Pass::default(),
            by: By::Count,
            threshold: Threshold(20_000),
            step_ns: None,
            ranges: 200,
        }
    }
}

/// What was found.
pub struct Study {
    /// How it was made.
    pub options: StudyOptions,
    /// How the trace came about.
    pub conditions: CaptureConditions,
    /// Whether its writer was killed.
    pub recovery: Option<Recovery>,
    /// What of its files is damaged or missing.
    pub integrity: Integrity,
    /// Width of a capture step in nanoseconds.
    pub step_ns: u64,
    /// First and last issue time; of a step file, beginning and end of the steps.
    pub span_ns: (u64, u64),
    /// Every I/O stream.
    pub streams: StreamTable,
    /// The streams at or above the threshold.
    pub workload: Workload,
    /// Capture steps of everything.
    pub steps: BTreeMap<u64, CaptureStep>,
    /// Capture steps by device and layer, of every layer of the trace: the filter
    /// by layer does not hold for them.
    pub sides: Vec<Side>,
    /// The workload's streams over time.
    pub streams_over_time: SeriesOverTime,
    /// What single I/Os tell; `None` of a capture that kept none.
    pub single_ios: Option<SingleIos>,
}

/// What can be told only where every I/O was kept.
pub struct SingleIos {
    /// What the pass saw.
    pub account: PassAccount,
    /// Devices and layers with I/Os, of which `sides` holds the first.
    pub sides_seen: SidesSeen,
    /// Every process.
    pub processes: ProcessTable,
    /// The processes with the most I/Os.
    pub processes_shown: Vec<ProcessKey>,
    /// The processes shown over time.
    pub processes_over_time: SeriesOverTime,
    /// Working sets by device.
    pub reach: Vec<(u16, ReachFigures)>,
    /// Hit maps by device.
    pub hits: Vec<(u16, HitMap)>,
}

impl Study {
    /// Which of the trace's I/Os are counted; `None` where all are.
    pub fn filter_told(&self) -> Option<String> {
        self.options.pass.filter.told(&self.conditions)
    }

    /// Whether I/Os of the block and of the file-system layer are counted
    /// together: what a program asked, and what the device got of it.
    pub fn mixes_layers(&self) -> bool {
        let first = self.sides_counted().next().map(|(side, _)| side.layer);
        self.sides_counted().any(|(side, _)| Some(side.layer) != first)
    }

    /// The devices and layers whose I/Os are counted.
    pub fn sides_counted(&self) -> impl Iterator<Item = &Side> {
        let layer = self.options.pass.filter.layer;
        self.sides.iter().filter(move |(side, _)| layer.is_none_or(|layer| layer == side.layer))
    }

    /// Studies a trace.
    ///
    /// # Errors
    /// Where it cannot be read, nothing passes the filter, or the steps are too
    /// narrow for a picture.
    pub fn of<R: Read + Seek + Send + 'static>(
        trace: &Trace<R>,
        options: &StudyOptions,
    ) -> Result<Self, TraceError> {
        let devices = devices_shown(trace, options);
        let (mut streams, mut processes) = (StreamTable::new(), ProcessTable::default());
        let mut reaches: Vec<Reach> =
            devices.iter().map(|device| Reach::new(*device, end_of(trace, *device))).collect();
        let (mut sides_seen, mut ends) = (SidesSeen::default(), Ends::default());
        let mut folds: Vec<&mut dyn Fold> =
            vec![&mut streams, &mut processes, &mut sides_seen, &mut ends];
        folds.extend(reaches.iter_mut().map(|reach| reach as &mut dyn Fold));
        let account = options.pass.run(trace, &mut folds)?;
        let span_ns = account.span_ns.ok_or_else(|| {
            TraceError::Unsuitable(match account.events {
                0 => "it holds no I/O".to_owned(),
                ios => format!("none of the {ios} I/Os passes the filter; widen it"),
            })
        })?;
        let step_ns = step_width(options.step_ns, span_ns, PICTURE_STEPS_MAX)?;
        let workload = Workload::of(&streams, options.by, options.threshold);
        let processes_shown = most_active(&processes);
        let over = Over { trace, options, span_ns, step_ns, devices: &devices, ends: &ends };
        let pictures = over.pictures(&workload, &processes_shown)?;
        Ok(Study {
            options: options.clone(),
            conditions: trace.conditions().clone(),
            recovery: trace.recovery().cloned(),
            integrity: trace.integrity(),
            step_ns,
            span_ns,
            streams,
            workload,
            steps: pictures.steps,
            sides: pictures.sides,
            streams_over_time: pictures.streams,
            single_ios: Some(SingleIos {
                account,
                sides_seen,
                processes,
                processes_shown,
                processes_over_time: pictures.processes,
                reach: devices.iter().copied().zip(reaches.iter().map(Reach::figures)).collect(),
                hits: pictures.hits,
            }),
        })
    }

    /// Whether busy time is known, and of all I/Os of the devices: neither a
    /// step file nor a filter by operation, stream or process leaves it, nor a
    /// source without response times or with rounded ones.
    pub fn tells_utilisation(&self) -> bool {
        let responses =
            || !self.conditions.rounded_times && self.steps.values().any(|step| step.responses > 0);
        self.single_ios.is_some() && self.options.pass.filter.keeps_whole_devices() && responses()
    }

    /// Whether response times are known by more than their sums: a step file may
    /// hold histograms of its streams.
    pub fn tells_percentiles(&self) -> bool {
        let total = || self.streams.total().responses.histogram().total();
        self.single_ios.is_some() || total() > 0
    }

    /// Share of a step's time in which a device had an I/O outstanding, the mean
    /// over the devices seen; `None` where it is not known.
    pub fn utilisation(&self, step: &CaptureStep) -> Option<f64> {
        let sides = self.single_ios.as_ref().map_or(0, |s| s.sides_seen.count());
        let time = self.step_ns.saturating_mul(sides);
        (self.tells_utilisation() && time > 0).then(|| step.busy_ns as f64 / time as f64)
    }

    /// The capture steps with the workload's streams, as TestMyWorkload.com
    /// exports them.
    pub fn replay_representation(&self, name: &str) -> ReplayRepresentation {
        let keys: Vec<StreamKey> = self.workload.streams.iter().map(|s| s.key()).collect();
        let began = self.conditions.began_unix_ns.unwrap_or(0);
        let duplicates = self.conditions.duplicates().and_then(Share::exact);
        let replay_step = |(number, step): (&u64, &CaptureStep)| {
            let cells = self.streams_over_time.steps().get(number);
            let listed = keys.iter().zip(cells.into_iter().flatten());
            let at =
                |step: u64| began.saturating_add(step.saturating_mul(self.step_ns)) / 1_000_000;
            ReplayStep {
                began_unix_ms: at(*number),
                lasted_ms: at(number.saturating_add(1)) - at(*number),
                count: step.ios(),
                amount: step.ops.iter().map(|op| op.bytes).sum(),
                qd_mean: step.depth_mean(),
                qd_max: (step.depths > 0).then_some(step.depth_max),
                response_mean_ms: step.response_mean().map(Nanos::as_millis_f64),
                response_max_ms: step.response_max().map(Nanos::as_millis_f64),
                compression_ratio: self.conditions.compression_ratio,
                duplicate_percent: duplicates.map(|share| share * 100.0),
                streams: listed
                    .filter(|(_, cell)| cell.ios > 0)
                    .map(|(key, cell)| (*key, cell.ios, cell.bytes))
                    .collect(),
            }
        };
        let with_ios = self.steps.iter().filter(|(_, step)| step.ios() > 0);
        ReplayRepresentation { name: name.to_owned(), steps: with_ios.map(replay_step).collect() }
    }

    /// The capture steps with the I/Os of the workload's streams.
    pub fn workload_steps(&self) -> Vec<WorkloadStep> {
        let keys: Vec<StreamKey> = self.workload.streams.iter().map(|s| s.key()).collect();
        let steps = self.streams_over_time.steps().iter().map(|(number, cells)| WorkloadStep {
            at: Nanos(number.saturating_mul(self.step_ns)),
            lasts: Nanos(self.step_ns),
            ios: keys.iter().zip(cells).map(|(key, cell)| (*key, cell.ios)).collect(),
            ..WorkloadStep::default()
        });
        steps.map(|step| step.of(|_| true)).filter(|step| !step.ios.is_empty()).collect()
    }
}

/// What the second pass needs.
struct Over<'a, R> {
    trace: &'a Trace<R>,
    options: &'a StudyOptions,
    span_ns: (u64, u64),
    step_ns: u64,
    devices: &'a [u16],
    ends: &'a Ends,
}

struct Pictures {
    steps: BTreeMap<u64, CaptureStep>,
    sides: Vec<Side>,
    streams: SeriesOverTime,
    processes: SeriesOverTime,
    hits: Vec<(u16, HitMap)>,
}

impl<R: Read + Seek + Send + 'static> Over<'_, R> {
    fn pictures(
        &self,
        workload: &Workload,
        processes: &[ProcessKey],
    ) -> Result<Pictures, TraceError> {
        let until = (self.span_ns.1 / self.step_ns + 1).saturating_mul(self.step_ns);
        let mut steps = Steps::new(self.step_ns).until(until);
        let mut sides = Sides::new(self.step_ns, until);
        let keys = workload.streams.iter().map(|stream| stream.key()).collect();
        let mut streams = SeriesOverTime::new(self.step_ns, &Choice::Streams(keys));
        let choice = Choice::Processes(processes.to_vec());
        let mut by_process = SeriesOverTime::new(self.step_ns, &choice);
        let mut hits: Vec<HitMap> = self.devices.iter().map(|device| self.map(*device)).collect();
        let mut folds: Vec<&mut dyn Fold> = vec![&mut steps, &mut streams, &mut by_process];
        folds.extend(hits.iter_mut().map(|map| map as &mut dyn Fold));
        let pass = &self.options.pass;
        match pass.filter.of_every_layer(self.trace.conditions()) {
            Some(filter) => {
                Pass { filter, ..pass.clone() }.run(self.trace, &mut [&mut sides])?;
            }
            None => folds.push(&mut sides),
        }
        pass.run(self.trace, &mut folds)?;
        Ok(Pictures {
            steps: steps.finish()?,
            sides: sides.finish()?,
            streams,
            processes: by_process,
            hits: self.devices.iter().copied().zip(hits).collect(),
        })
    }

    fn map(&self, device: u16) -> HitMap {
        let end = self.ends.of(device, self.trace.conditions());
        HitMap::new(device, end, self.options.ranges, HitSteps::over(self.span_ns, HIT_STEPS))
    }
}

/// The devices that pass the filter and were seen at the block layer.
fn devices_shown<R: Read + Seek + Send + 'static>(
    trace: &Trace<R>,
    options: &StudyOptions,
) -> Vec<u16> {
    let filter = &options.pass.filter;
    if filter.layer == Some(Layer::FileSystem) {
        return Vec::new();
    }
    let all = 0..u16::try_from(trace.conditions().devices.len().max(1)).unwrap_or(u16::MAX);
    let passes = |device: &u16| filter.devices.is_empty() || filter.devices.contains(device);
    all.filter(passes).take(DEVICES_SHOWN).collect()
}

/// What no I/O of a device reaches beyond: its size; where that is not known, the
/// end of what was touched on any.
fn end_of<R: Read + Seek + Send + 'static>(trace: &Trace<R>, device: u16) -> u64 {
    let told = trace.conditions().devices.get(usize::from(device));
    let capacity = told.and_then(|device| device.capacity).map(|bytes| bytes.0);
    capacity.or(trace.end_of_range()).unwrap_or(1).max(1)
}

fn most_active(processes: &ProcessTable) -> Vec<ProcessKey> {
    let mut keys: Vec<(ProcessKey, u64)> =
        processes.iter().map(|(key, tally)| (*key, tally.total())).collect();
    keys.sort_by_key(|(key, total)| (Reverse(*total), *key));
    keys.into_iter().take(PROCESSES_SHOWN).map(|(key, _)| key).collect()
}

/// The widths that are chosen from where nobody asks for one, ascending.
fn usual_widths() -> impl Iterator<Item = u64> {
    let short = (0..8).flat_map(|power| [1, 2, 5].map(|n| n * 10u64.pow(power) * 100_000));
    let long = [60u64, 120, 300, 600, 1800, 3600].map(|seconds| seconds * 1_000_000_000);
    short.filter(move |width| *width < long[0]).chain(long)
}

/// As [`step_width`], for steps that can only be made of whole steps of `kept_ns`.
///
/// # Errors
/// As there, and a width that is no multiple.
pub(crate) fn step_width_of(
    kept_ns: u64,
    asked: Option<u64>,
    span_ns: (u64, u64),
    most: u64,
) -> Result<u64, TraceError> {
    if let Some(width) = asked.filter(|width| !width.is_multiple_of(kept_ns)) {
        return Err(TraceError::TooFine(format!(
            "steps of {} cannot be made of the {} that were kept; choose a multiple",
            Nanos(width),
            Nanos(kept_ns)
        )));
    }
    if asked.is_some() {
        return step_width(asked, span_ns, most);
    }
    let span = span_ns.1.saturating_sub(span_ns.0);
    let fits = |width: &u64| width.is_multiple_of(kept_ns) && span / width <= STEPS_AIM;
    let as_many = kept_ns.saturating_mul(span / kept_ns / STEPS_AIM + 1);
    Ok(usual_widths().find(fits).unwrap_or(as_many))
}

/// Whether capture steps can be this wide: 100 us to 1 h, or whole hours.
#[must_use]
pub fn is_step_width(width_ns: u64) -> bool {
    let is_hours = width_ns > 0 && width_ns.is_multiple_of(*WIDTH_NS.end());
    WIDTH_NS.contains(&width_ns) || is_hours
}

/// The width asked for, or the narrowest of the usual ones that gives a
/// readable picture: of a capture of many days, as many hours as it needs.
///
/// # Errors
/// A width outside 100 us to 1 h that is no whole hours, or so narrow that there are more steps than
/// `most`.
pub fn step_width(asked: Option<u64>, span_ns: (u64, u64), most: u64) -> Result<u64, TraceError> {
    let span = span_ns.1.saturating_sub(span_ns.0);
    let hour = *WIDTH_NS.end();
    let Some(width) = asked else {
        let fits = |width: &u64| span / width <= STEPS_AIM;
        let hours = hour.saturating_mul(span / hour / STEPS_AIM + 1);
        return Ok(usual_widths().find(fits).unwrap_or(hours));
    };
    if !is_step_width(width) {
        let what = format!(
            "a capture step of {} is neither between 100 µs and 1 h nor whole hours",
            Nanos(width)
        );
        return Err(TraceError::TooFine(what));
    }
    if span / width > most {
        return Err(TraceError::TooFine(format!(
            "{} steps of {} are more than the {most} that can be shown; choose wider steps, or a \
             part of the time",
            span / width,
            Nanos(width)
        )));
    }
    Ok(width)
}
