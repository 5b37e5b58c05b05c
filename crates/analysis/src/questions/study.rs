//! Everything that a report shows about a capture, gathered in two passes: the first finds the
//! streams, the processes and the time span, the second the pictures over time. If only step sums
//! were kept there is less, and [`Study::single_ios`] is absent.

use crate::captured::{Captured, steps_over, until};
use crate::filter::Filter;
use crate::fold::{Fold, dyn_folds};
use crate::pass::PassOptions;
use crate::questions::compare::{SideSteps, Sides};
use crate::questions::day_profile::{DayProfile, ProfileFigures};
use crate::questions::drives::Drives;
use crate::questions::extremes::{self, ExtremePeriod, Extremes, MINUTE_NS};
use crate::questions::groups::{Facet, Groups};
use crate::questions::hits::{DeviceEnds, HitMap, HitSteps};
use crate::questions::hot::HotRanges;
use crate::questions::load_shape::LoadShape;
use crate::questions::locality::{Locality, LocalityFigures};
use crate::questions::processes::{ProcessKey, ProcessTable};
use crate::questions::quality::Completeness;
use crate::questions::read_out::{ReadOut, ReadOutChoice};
use crate::questions::series::{SeriesOverTime, SeriesSelection};
use crate::questions::steps::{CaptureStep, StepContext, StepFigures, Steps};
use crate::questions::threads::ThreadSteps;
use crate::questions::totals::{CaptureTotals, PLOT_STEPS_MAX, StudyOptions};
use crate::questions::trust::Evidence;
use crate::questions::working_set::{WorkingSet, WorkingSetFigures};
use crate::sums::content::ContentFigures;
use crate::sums::server_cpu_use::ServerCpuUse;
use std::collections::BTreeMap;
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;

const PROCESSES_SHOWN: usize = 10;
/// Maximum number of devices that get a hit map and a working set each.
const DEVICES_SHOWN: usize = 4;
const WINDOW_STEPS: u64 = 2000;
/// Ranges per device among which the hottest are found: 0.1 % of a device each.
const HOT_RANGES: usize = 1000;
const HIT_STEPS: usize = 300;
/// Memory of the block samples of all devices, in bytes.
const LOCALITY_BYTES: usize = 8 << 20;
/// Maximum memory of the block sample of one device, in bytes.
const LOCALITY_OF_DEVICE: usize = 4 << 20;
/// Default interval of a day profile, as in `trace profile`.
pub const PROFILE_NS: u64 = 3_600_000_000_000;
/// Shortest observed time for a day profile: most times of day then occur on two days.
const OBSERVED_MIN_NS: u64 = 36 * PROFILE_NS;

/// Results of a study.
pub struct Study {
    /// Totals of the capture.
    pub totals: CaptureTotals,
    /// Evidence from which the caveats of the capture follow.
    pub evidence: Evidence,
    /// I/Os by drive.
    pub drives: Drives,
    /// Capture steps of all I/Os.
    pub steps: BTreeMap<u64, CaptureStep>,
    /// True if the busy time of the steps is known and covers all I/Os of the devices.
    pub has_busy_time: bool,
    /// Capture steps by device and layer, for every layer of the capture: a filter by layer does
    /// not apply to them.
    pub sides: Vec<SideSteps>,
    /// The workload's streams over time.
    pub streams_over_time: SeriesOverTime,
    /// True if the steps have response-time percentiles although no single I/Os were kept, as those
    /// of a fold file do.
    pub is_of_fold: bool,
    /// Busiest and slowest minute; `None` if the capture is too short.
    pub extremes: Option<Extremes>,
    /// Parts of the capture in the narrow steps that were asked for, if the picture of the whole
    /// capture uses wider ones.
    pub windows: Vec<DetailWindow>,
    /// Threads with I/Os by step; `None` if threads were not recorded.
    pub threads: Option<ThreadSteps>,
    /// Load by time of day in intervals of [`PROFILE_NS`], if the clock is known and more than one
    /// day was observed.
    pub day: Option<Vec<ProfileFigures>>,
    /// I/Os by process; `None` if processes were not recorded, or for several captures.
    pub processes: Option<ProcessResults>,
    /// Results from single I/Os; `None` if the capture kept none.
    pub single_ios: Option<SingleIoResults>,
}

/// A part of a capture in narrow steps.
pub struct DetailWindow {
    /// Reason to show this part.
    pub what: &'static str,
    /// First step.
    pub first: u64,
    /// Number of steps.
    pub count: u64,
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// The steps by number from the beginning of the capture.
    pub steps: BTreeMap<u64, CaptureStep>,
}

/// The I/Os of each process.
pub struct ProcessResults {
    /// All processes.
    pub all: ProcessTable,
    /// The streams of each process.
    pub streams: Groups,
    /// The processes with the most I/Os.
    pub shown: Vec<ProcessKey>,
    /// The processes shown, over time.
    pub over_time: SeriesOverTime,
    /// The processes of the slowest minute.
    pub slowest: Option<ProcessTable>,
}

/// Working set of a device.
pub struct DeviceWorkingSet {
    /// Index into the devices of the conditions.
    pub device: u16,
    /// Sizes, reuse and hits of the working set.
    pub figures: WorkingSetFigures,
}

/// Results that are available only if every I/O was kept.
pub struct SingleIoResults {
    /// Working sets by device.
    pub working_sets: Vec<DeviceWorkingSet>,
    /// Hit maps by device.
    pub hit_maps: Vec<HitMap>,
    /// The hottest ranges by device.
    pub hot_ranges: Vec<HotRanges>,
    /// Effect of a cache on each device with reads or writes.
    pub locality: Vec<LocalityFigures>,
    /// I/Os by thread, by cgroup and by file, as far as they were recorded.
    pub groups: Vec<Groups>,
    /// Gaps, runs, queue depths and idle periods.
    pub shape: LoadShape,
    /// The hit map read out at the busiest minute, one entry per device; empty if the capture is
    /// too short to have one.
    pub read_outs: Vec<ReadOut>,
}

impl Study {
    /// Studies a capture. Results that need single I/Os are left out if none were kept.
    ///
    /// # Errors
    /// Same as [`CaptureTotals::read`].
    pub fn read(captured: &Captured, options: &StudyOptions) -> Result<Self, TraceError> {
        let mut first_pass = FirstPassFolds::new(captured, options);
        let mut quality = Completeness::from_conditions(captured.conditions());
        let mut folds = first_pass.as_mut().map(FirstPassFolds::in_first_pass).unwrap_or_default();
        let has_processes =
            !captured.is_several() && captured.check_recorded(NotRecorded::Processes).is_ok();
        let by = [Facet::Process, Facet::Stream];
        let mut processes = has_processes.then(|| (ProcessTable::default(), Groups::by(&by)));
        if let Some((all, streams)) = &mut processes {
            folds.push(all);
            folds.push(streams);
        }
        let mut drives = Drives::default();
        folds.push(&mut quality);
        folds.push(&mut drives);
        let pass = &options.pass;
        let mut stream_steps = captured.stream_steps_fold(pass, options.step_ns, PLOT_STEPS_MAX);
        folds.extend(dyn_folds(&mut stream_steps));
        let totals = CaptureTotals::read_with_wider_steps(captured, options, folds)?;
        let mut processes = processes.map(|(all, streams)| {
            let shown = all.most_active(PROCESSES_SHOWN);
            let selection = SeriesSelection::Processes(shown.clone());
            let over_time = SeriesOverTime::new(totals.step_ns, &selection);
            ProcessResults { all, streams, shown, over_time, slowest: None }
        });
        let mut second_pass = first_pass.as_ref().map(|folds| folds.second_pass(&totals));
        let series =
            stream_steps.and_then(|steps| steps.series(totals.step_ns, &totals.workload.keys()));
        let (mut series, is_gathered) = match series {
            Some(series) => (series, true),
            None => (totals.series(), false),
        };
        let until_ns = until(pass, totals.span_ns, totals.step_ns);
        let mut sides = Sides::new(totals.step_ns, until_ns).with_unlisted_steps();
        let mut threads = captured.thread_steps(totals.step_ns);
        let mut day = day_profile(captured, &totals);
        let files = files(captured, options)?;
        let mut folds: Vec<&mut dyn Fold> = Vec::new();
        folds.extend(dyn_folds(&mut day));
        if !is_gathered {
            folds.push(&mut series);
        }
        folds.extend(dyn_folds(&mut threads));
        folds.extend(dyn_folds(processes.iter_mut().map(|found| &mut found.over_time)));
        folds.extend(second_pass.iter_mut().flat_map(SecondPassFolds::folds));
        // Without a filter by layer the sides count every selected I/O, so the steps of all I/Os
        // are the sum of theirs and need no fold of their own.
        let filter = pass.filter.without_layer(captured.conditions());
        let mut steps = (filter.is_some() || first_pass.is_none()).then(|| totals.steps());
        folds.extend(dyn_folds(&mut steps));
        let mut minutes = minutes(captured, &totals);
        folds.extend(dyn_folds(&mut minutes));
        match filter {
            Some(filter) => {
                captured.run(&PassOptions { filter, ..pass.clone() }, &mut [&mut sides])?;
            }
            None => folds.push(&mut sides),
        }
        captured.run(pass, &mut folds)?;
        let (sides, all) = sides.finish_with_all()?;
        let steps = steps.map_or(Ok(all), Steps::finish)?;
        let windows = windows(captured, &totals, &steps)?;
        let extremes = match minutes {
            Some(minutes) => Extremes::find(&minutes.finish()?, MINUTE_NS, &totals.observed),
            None => Extremes::find(&steps, totals.step_ns, &totals.observed),
        };
        let slowest = extremes.and_then(|found| found.slowest);
        if let (Some(processes), Some(slowest)) = (&mut processes, slowest) {
            let filter = pass.filter.clone().within(&[(slowest.from_ns, slowest.to_ns)]);
            let table = processes.slowest.insert(ProcessTable::default());
            captured.run(&PassOptions { filter, ..pass.clone() }, &mut [table])?;
        }
        let read_outs = match (&first_pass, extremes.and_then(|found| found.busiest)) {
            (Some(_), Some(busiest)) => read_outs(captured, options, &busiest)?,
            _ => Vec::new(),
        };
        let single_ios = first_pass.zip(second_pass).map(|(first_pass, second_pass)| {
            let mut found = first_pass.finish(second_pass);
            found.groups.extend(files);
            found.read_outs = read_outs;
            found
        });
        Ok(Study {
            is_of_fold: single_ios.is_none()
                && captured.check_recorded(NotRecorded::QueueTimes).is_ok(),
            drives,
            evidence: Evidence::from_pass(captured, totals.account, quality),
            has_busy_time: captured.has_busy_time(pass, steps.values()),
            threads,
            steps,
            extremes,
            windows,
            sides: sides.sides,
            day: day.map(|day| day.listing(&totals.observed)),
            streams_over_time: series,
            processes,
            single_ios,
            totals,
        })
    }

    /// Iterates over the devices and layers whose I/Os are counted, up to the number that is kept
    /// separately.
    pub fn sides_counted(&self) -> impl Iterator<Item = &SideSteps> {
        let layer = self.totals.options.pass.filter.layer;
        self.sides.iter().filter(move |steps| layer.is_none_or(|layer| layer == steps.side.layer))
    }

    /// Returns whether response-time percentiles are known. Step captures may hold histograms of
    /// their streams.
    pub fn has_percentiles(&self) -> bool {
        let total = || self.totals.streams.total().times.responses.histogram().total();
        self.single_ios.is_some() || total() > 0
    }

    /// Returns the number of devices (at a layer) by whose time busy time is divided; `None` if
    /// busy time is unknown.
    pub fn devices_busy(&self) -> Option<u64> {
        self.has_busy_time.then(|| self.totals.sides_seen.busy_count())
    }

    /// Iterates over the figures of the steps.
    pub fn step_figures(&self) -> impl Iterator<Item = StepFigures> + '_ {
        let CaptureTotals { step_ns: width_ns, observed, conditions, .. } = &self.totals;
        let (width_ns, devices) = (*width_ns, self.devices_busy());
        let context = StepContext { width_ns, observed, devices, conditions };
        self.steps.iter().map(move |(at, step)| {
            StepFigures::new(*at, step, &context)
                .with_threads(self.threads_of(*at))
                .with_processors(conditions, width_ns)
        })
    }

    /// Returns whether any step has a sampled block.
    pub fn has_content(&self) -> bool {
        self.steps.values().any(|step| step.times.contents.blocks > 0)
    }

    /// Returns the number of threads with I/Os in a step; `None` if unknown.
    pub fn threads_of(&self, step: u64) -> Option<u32> {
        self.threads.as_ref().and_then(|threads| threads.count(step))
    }

    /// Returns the processor use of the captured host in a step; `None` if unknown.
    pub fn processors_of(&self, step: u64) -> Option<ServerCpuUse> {
        let begin_ns = step.saturating_mul(self.totals.step_ns);
        let end_ns = begin_ns.saturating_add(self.totals.step_ns);
        ServerCpuUse::between(&self.totals.conditions, begin_ns, end_ns)
    }

    /// Returns the measurements of the blocks written in a step.
    pub fn content_of(&self, step: u64) -> ContentFigures {
        let contents = self.steps.get(&step).map(|step| step.times.contents);
        ContentFigures::new(contents.unwrap_or_default(), &self.totals.conditions)
    }
}

/// Folds of single I/Os in the first pass of a study, for the devices that are shown.
struct FirstPassFolds {
    devices: Vec<u16>,
    ends: DeviceEnds,
    working_sets: Vec<WorkingSet>,
}

/// Folds of single I/Os that need the end of each device and the streams of the workload.
struct SecondPassFolds {
    hit_maps: Vec<HitMap>,
    hot_ranges: Vec<HotRanges>,
    localities: Vec<Locality>,
    groups: Vec<Groups>,
    shape: LoadShape,
}

impl FirstPassFolds {
    /// Returns `None` if the capture kept no single I/Os.
    fn new(captured: &Captured, options: &StudyOptions) -> Option<FirstPassFolds> {
        captured.check_recorded(NotRecorded::SingleIos).ok()?;
        let devices = devices_shown(captured.conditions(), options);
        let working_set = |device: &u16| WorkingSet::new(*device, end_of(captured, *device));
        Some(FirstPassFolds {
            working_sets: devices.iter().map(working_set).collect(),
            devices,
            ends: DeviceEnds::default(),
        })
    }

    fn in_first_pass(&mut self) -> Vec<&mut dyn Fold> {
        let mut folds: Vec<&mut dyn Fold> = vec![&mut self.ends];
        folds.extend(dyn_folds(&mut self.working_sets));
        folds
    }

    fn second_pass(&self, totals: &CaptureTotals) -> SecondPassFolds {
        let steps = HitSteps::over(totals.span_ns, HIT_STEPS);
        let streams = totals.workload.keys();
        let locality_bytes = LOCALITY_OF_DEVICE.min(LOCALITY_BYTES / self.devices.len().max(1));
        let mut folds = SecondPassFolds {
            hit_maps: Vec::new(),
            hot_ranges: Vec::new(),
            localities: Vec::new(),
            groups: thread_and_cgroup_groups(&totals.conditions),
            shape: LoadShape::new(totals.step_ns, &streams),
        };
        for device in self.devices.iter().copied() {
            let end = self.ends.end(device, &totals.conditions);
            let hit_map = HitMap::new(device, end, totals.options.ranges, steps);
            folds.hit_maps.push(hit_map.showing(totals.options.hits, &streams));
            folds.hot_ranges.push(HotRanges::new(device, end, HOT_RANGES));
            folds.localities.push(Locality::keeping(locality_bytes, device));
        }
        folds
    }

    fn finish(self, second_pass: SecondPassFolds) -> SingleIoResults {
        let figures = self.working_sets.iter().map(WorkingSet::figures);
        let working_sets = self.devices.iter().zip(figures);
        // Devices are evaluated one after the other, so that each frees its memory before the next.
        let localities = second_pass.localities.into_iter().map(Locality::figures);
        SingleIoResults {
            locality: localities.filter(|figures| figures.accesses > 0).collect(),
            groups: second_pass.groups,
            working_sets: working_sets
                .map(|(device, figures)| DeviceWorkingSet { device: *device, figures })
                .collect(),
            hit_maps: second_pass.hit_maps,
            hot_ranges: second_pass.hot_ranges,
            shape: second_pass.shape,
            read_outs: Vec::new(),
        }
    }
}

impl SecondPassFolds {
    fn folds(&mut self) -> Vec<&mut dyn Fold> {
        let mut folds: Vec<&mut dyn Fold> = vec![&mut self.shape];
        folds.extend(dyn_folds(&mut self.hit_maps));
        folds.extend(dyn_folds(&mut self.hot_ranges));
        folds.extend(dyn_folds(&mut self.localities));
        folds.extend(dyn_folds(&mut self.groups));
        folds
    }
}

/// Returns steps of a minute if those of the pictures do not divide a minute and the capture has
/// steps that do.
fn minutes(captured: &Captured, totals: &CaptureTotals) -> Option<Steps> {
    if MINUTE_NS.is_multiple_of(totals.step_ns) {
        return None;
    }
    captured.width(Some(MINUTE_NS), totals.span_ns, extremes::STEPS_MAX).ok()?;
    Some(steps_over(&totals.options.pass, totals.span_ns, MINUTE_NS))
}

/// Returns narrow steps around the busiest step and around the longest response time.
fn windows(
    captured: &Captured,
    totals: &CaptureTotals,
    steps: &BTreeMap<u64, CaptureStep>,
) -> Result<Vec<DetailWindow>, TraceError> {
    let Some(width_ns) = totals.detail_step_ns else { return Ok(Vec::new()) };
    let measures: [(&str, StepMeasure); 2] = [
        ("the busiest step", CaptureStep::ios),
        ("the longest response time", |step| step.times.responses.max_ns),
    ];
    let mut windows = Vec::new();
    for (what, measure) in measures {
        let most = steps.iter().max_by_key(|(_, step)| measure(step));
        let Some((wide, _)) = most else { continue };
        let begin = wide.saturating_mul(totals.step_ns);
        let margin = width_ns.saturating_mul(WINDOW_STEPS);
        let end = begin.saturating_add(totals.step_ns).saturating_add(margin);
        let filter = totals.options.pass.filter.clone();
        let filter = filter.within(&[(begin.saturating_sub(margin), end)]);
        let mut narrow = Steps::new(width_ns).until(end);
        captured.run(&PassOptions { filter, ..totals.options.pass.clone() }, &mut [&mut narrow])?;
        let mut steps = narrow.finish()?;
        let inside = steps.range(begin / width_ns..);
        let Some((most, _)) = inside.max_by_key(|(_, step)| measure(step)) else { continue };
        let first = most.saturating_sub(WINDOW_STEPS / 2);
        steps.retain(|at, _| *at >= first && *at < first + WINDOW_STEPS);
        windows.push(DetailWindow { what, first, count: WINDOW_STEPS, width_ns, steps });
    }
    Ok(windows)
}

/// Reads the hit map out at a time, for the devices that are shown.
fn read_outs(
    captured: &Captured,
    options: &StudyOptions,
    time: &ExtremePeriod,
) -> Result<Vec<ReadOut>, TraceError> {
    let (from_ns, to_ns, threshold) = (time.from_ns, time.to_ns, options.threshold);
    let choice = ReadOutChoice { from_ns, to_ns, ranges: HOT_RANGES, threshold };
    let mut pass = options.pass.clone();
    pass.filter.devices = devices_shown(captured.conditions(), options);
    // An empty list would let every device pass.
    if pass.filter.devices.is_empty() {
        return Ok(Vec::new());
    }
    Ok(ReadOut::read(captured, &pass, &choice)?.found)
}

type StepMeasure = fn(&CaptureStep) -> u64;

/// Groups I/Os by a facet for a report.
fn grouping(facet: Facet) -> Groups {
    Groups::by(&[facet]).without_percentiles()
}

/// Returns the groups by thread and by cgroup, as far as the capture recorded them.
fn thread_and_cgroup_groups(conditions: &CaptureConditions) -> Vec<Groups> {
    let cgroups = conditions.cgroups.as_ref().is_some_and(|cgroups| !cgroups.is_empty());
    let recorded = [(conditions.threads, Facet::Thread), (cgroups, Facet::Cgroup)];
    recorded.into_iter().filter(|(known, _)| *known).map(|(_, facet)| grouping(facet)).collect()
}

/// Returns the files of the file-system layer if it was captured, whichever layer is counted.
fn files(captured: &Captured, options: &StudyOptions) -> Result<Option<Groups>, TraceError> {
    let is_of_files = captured.conditions().layers.contains(&Layer::FileSystem);
    if !is_of_files || captured.check_recorded(NotRecorded::SingleIos).is_err() {
        return Ok(None);
    }
    let filter = Filter { layer: Some(Layer::FileSystem), ..options.pass.filter.clone() };
    let mut files = grouping(Facet::File);
    captured.run(&PassOptions { filter, ..options.pass.clone() }, &mut [&mut files])?;
    Ok(Some(files))
}

/// Returns the fold for the day profile if the clock is known and most times of day were observed
/// on more than one day.
fn day_profile(captured: &Captured, totals: &CaptureTotals) -> Option<DayProfile> {
    let clock = totals.options.clock.clone()?;
    captured.width(Some(PROFILE_NS), totals.span_ns, u64::MAX).ok()?;
    DayProfile::new(clock, PROFILE_NS)
        .ok()
        .filter(|_| totals.observed.total_ns() >= OBSERVED_MIN_NS)
}

/// Returns the devices that pass the filter, up to the number shown; none if only the file-system
/// layer is counted.
fn devices_shown(conditions: &CaptureConditions, options: &StudyOptions) -> Vec<u16> {
    let filter = &options.pass.filter;
    if filter.layer == Some(Layer::FileSystem) {
        return Vec::new();
    }
    let all = 0..u16::try_from(conditions.devices.len().max(1)).unwrap_or(u16::MAX);
    let passes = |device: &u16| filter.devices.is_empty() || filter.devices.contains(device);
    all.filter(passes).take(DEVICES_SHOWN).collect()
}

/// Returns an upper bound for the addresses of a device: its size, or the end of what was touched
/// on any device if the size is unknown.
fn end_of(captured: &Captured, device: u16) -> u64 {
    captured.size_of(device).unwrap_or(1).max(1)
}
