//! A capture as the list of its steps, each with its own I/O streams, counts, demand and length.
//! A replay of step sums plays them, one composite after the other. The list is the same for a
//! capture of single I/Os, a capture of steps, a workload file and a "Replay representation".
//!
//! A composite is normalized from counts: the chosen streams of a step represent all of its I/Os,
//! each in proportion to its own count. I/Os and bytes of other streams are kept as totals.

use super::ReplayError;
use super::capture_gaps::capture_gaps;
use crate::replay_representation::{ReplayRepresentation, ReplayStep, mean_outstanding};
use crate::workload_file::{IoTotals, WorkloadFile, WorkloadStep};
use std::cmp::Reverse;
use steadfast_analysis::captured::{PassResult, steps_over};
use steadfast_analysis::questions::cumulative::{
    CumulativeWorkload, Threshold, WorkloadStream, data_pattern_of, stimulus_op,
};
use steadfast_analysis::questions::series::{SeriesOverTime, SeriesSelection};
use steadfast_analysis::questions::steps::STEPS_MAX;
use steadfast_analysis::questions::streams::{ShareMeasure, StreamKey};
use steadfast_analysis::sums::content::ContentFigures;
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_analysis::{Captured, Filter, Fold, PassOptions};
use steadfast_domain::caveats as ids;
use steadfast_domain::io_event::Share;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    Bytes, CaptureConditions, Caveat, CaveatKind, Demand, IoOp, IoStream, Nanos,
};
use steadfast_tracefile::error::TraceError;

/// Largest number of outstanding I/Os of a step, even if a capture records more.
const OUTSTANDING_MAX: u32 = 65_536;

/// The source of capture steps.
pub enum StepSource<'a> {
    /// A capture of single I/Os or of steps.
    Capture(&'a Captured),
    /// A workload file that kept its steps.
    Workload(&'a WorkloadFile),
    /// A "Replay representation".
    Representation(&'a ReplayRepresentation),
}

/// A choice of steps and streams, and the width of the steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepChoice {
    /// Selection of the I/Os.
    pub pass: PassOptions,
    /// Measure by which shares of streams are taken.
    pub by: ShareMeasure,
    /// Smallest share of the whole capture that a chosen stream has.
    pub threshold: Threshold,
    /// Width of a step in nanoseconds; `None` for that of the kept steps, or for the default by the
    /// length of the capture.
    pub step_ns: Option<u64>,
}

/// Replay of a step that holds the chosen streams alone.
impl WorkloadStep {
    /// Returns the totals of the chosen streams.
    pub fn chosen_totals(&self) -> IoTotals {
        let mut totals = IoTotals::default();
        for (key, ios) in &self.ios {
            totals.add(*ios, ios.saturating_mul(u64::from(key.bytes)));
        }
        totals
    }

    /// Returns the totals of other streams; `None` if unknown.
    pub fn left_out(&self) -> Option<IoTotals> {
        Some(self.captured?.saturating_sub(self.chosen_totals()))
    }

    /// Returns the number of I/Os that the composite represents: all of the step's, if known.
    pub fn ios_to_play(&self) -> u64 {
        self.captured.map_or(0, |captured| captured.ios).max(self.chosen_totals().ios)
    }

    /// Returns the I/Os per second.
    pub fn rate(&self) -> f64 {
        self.ios_to_play() as f64 / self.lasts.as_secs_f64()
    }

    /// Returns whether the step is paced by its rate, because fewer than one I/O was outstanding on
    /// average or their number is unknown.
    pub fn is_paced(&self) -> bool {
        self.outstanding_mean.is_none_or(|mean| mean < 1.0)
    }

    /// Returns the pace of the step's I/Os.
    pub fn pace(&self) -> Pace {
        if self.is_paced() {
            Pace::Fixed { ios: self.ios_to_play(), per: self.lasts }
        } else {
            Pace::Closed
        }
    }

    /// Returns the demand: one thread with the average number of outstanding I/Os, rounded up. A
    /// paced step gets the maximum number, so that no I/O is held back.
    pub fn demand(&self) -> Demand {
        let depth = match self.outstanding_mean {
            Some(mean) if mean >= 1.0 => mean.ceil().min(f64::from(OUTSTANDING_MAX)) as u32,
            _ => self.outstanding_max.unwrap_or(1),
        };
        Demand::new(1, depth.clamp(1, OUTSTANDING_MAX))
    }
}

/// The capture steps of a source, ready to be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeSteps {
    /// Steps with I/Os of chosen streams, in order. Their times count from the start of the first;
    /// their streams are sorted by count.
    pub steps: Vec<WorkloadStep>,
    /// Chosen streams of the whole capture.
    pub workload: CumulativeWorkload,
    /// Caveats for the reader of the replay.
    pub caveats: Vec<Caveat>,
}

impl NativeSteps {
    /// Reads the steps of a source.
    ///
    /// # Errors
    /// Returns [`ReplayError::Trace`] if the source cannot be read, [`ReplayError::NoSteps`] if it
    /// has no steps, and another variant if the choice leaves nothing to replay.
    pub fn read(source: &StepSource<'_>, choice: &StepChoice) -> Result<Self, ReplayError> {
        let mut native = match source {
            StepSource::Capture(captured) => read_capture_steps(captured, choice)?,
            StepSource::Workload(file) => read_workload_steps(file, choice)?,
            StepSource::Representation(representation) => {
                read_representation_steps(representation, choice)?
            }
        };
        if native.workload.total_count == 0 {
            let filter = choice.pass.filter.describe(&CaptureConditions::default());
            return Err(ReplayError::Empty { events: 0, filter });
        }
        native.trim();
        native.validate(choice)?;
        native.shift_to_zero();
        native.disclose();
        Ok(native)
    }

    /// Returns the I/Os and bytes of the capture's streams that are not replayed; the bytes are
    /// `None` if those of the whole capture are unknown.
    pub fn left_out(&self) -> (u64, Option<Bytes>) {
        let IoCount { ios, bytes } = self.workload.selected();
        let left_bytes = self.workload.total_bytes().map(|all| Bytes(all.0.saturating_sub(bytes)));
        (self.workload.total_count.saturating_sub(ios), left_bytes)
    }

    /// Returns the composite of a step, in which each stream is weighted by its exact count.
    ///
    /// # Errors
    /// Returns [`ReplayError::Trace`] if no stream of the step can be applied to a device.
    pub fn composite(&self, step: &WorkloadStep) -> Result<Vec<IoStream>, ReplayError> {
        let stream = |(key, ios): &(StreamKey, u64)| {
            let found = self.workload.streams.iter().find(|stream| stream.key() == *key)?;
            Some(WorkloadStream { count: *ios, ..found.clone() })
        };
        let streams = step.ios.iter().filter_map(stream).collect();
        Ok(CumulativeWorkload { streams, ..self.workload.clone() }.applied_streams()?.streams)
    }

    /// Adds the caveats on I/Os that are not replayed and on steps that are paced by their rate.
    fn disclose(&mut self) {
        let (ios, bytes) = self.left_out();
        if ios > 0 {
            let amount = bytes.map_or("an unknown amount".to_owned(), |bytes| bytes.to_string());
            let text = format!(
                "{ios} of {} I/Os ({amount}) belong to streams that are not replayed; the replayed \
                 streams stand for them, scaled by their counts.",
                self.workload.total_count
            );
            self.add_caveat(CaveatKind::Deviation, ids::REPLAY_STREAMS_LEFT_OUT, text);
        }
        let steps = self.steps.len();
        let is_below_one = |step: &&WorkloadStep| step.outstanding_mean.is_some_and(|n| n < 1.0);
        let paced = self.steps.iter().filter(is_below_one).count();
        if paced > 0 {
            let text = format!(
                "{paced} of {steps} capture steps had fewer than one I/O outstanding on average: \
                 they are paced by their rate."
            );
            self.add_caveat(CaveatKind::Remark, ids::REPLAY_PACED, text);
        }
        let unknown = self.steps.iter().filter(|step| step.outstanding_mean.is_none()).count();
        if unknown > 0 {
            let text = format!(
                "The number of outstanding I/Os is unknown for {unknown} of {steps} capture steps: \
                 they are paced by their rate."
            );
            self.add_caveat(CaveatKind::Deviation, ids::REPLAY_DEMAND_UNKNOWN, text);
        }
    }

    fn add_caveat(&mut self, kind: CaveatKind, id: &str, text: String) {
        self.caveats.push(Caveat::new(kind, id, text, ""));
    }

    /// Removes streams that no device can play and steps without I/Os, and sorts both.
    fn trim(&mut self) {
        let is_playable = |key: &StreamKey| stimulus_op(key.op).is_some();
        for step in &mut self.steps {
            step.ios.retain(|(key, ios)| *ios > 0 && is_playable(key));
            step.ios.sort_by_key(|(key, ios)| (Reverse(*ios), *key));
        }
        self.workload.streams.retain(|stream| is_playable(&stream.key()));
        self.steps.retain(|step| !step.ios.is_empty());
        self.steps.sort_by_key(|step| step.at);
    }

    fn validate(&self, choice: &StepChoice) -> Result<(), ReplayError> {
        if self.steps.is_empty() {
            return Err(ReplayError::BelowThreshold(choice.threshold));
        }
        if self.workload.streams.iter().all(|stream| stream.op == IoOp::Flush) {
            return Err(ReplayError::OnlyFlushes { flushes: self.workload.selected().ios });
        }
        match self.steps.iter().find(|step| step.lasts == Nanos::ZERO) {
            Some(step) => Err(ReplayError::StepWithoutLength(step.at)),
            None => Ok(()),
        }
    }

    /// Moves the first step to time 0.
    fn shift_to_zero(&mut self) {
        let first = self.steps.iter().map(|step| step.at).min().unwrap_or(Nanos::ZERO);
        self.steps.iter_mut().for_each(|step| step.at = step.at.saturating_sub(first));
    }
}

/// Smallest default width of steps made from single I/Os; shorter ones are too short to be
/// loads of their own.
const NARROWEST_NS: u64 = 10_000_000;

fn read_capture_steps(
    captured: &Captured,
    choice: &StepChoice,
) -> Result<NativeSteps, ReplayError> {
    let (pass, conditions) = (&choice.pass, captured.conditions());
    if conditions.layers.len() > 1 && pass.filter.layer.is_none() {
        return Err(ReplayError::SeveralLayers);
    }
    let PassResult { found: table, account } = captured.streams(pass)?;
    let span_ns = account.span_ns.ok_or_else(|| ReplayError::Empty {
        events: account.events,
        filter: pass.filter.describe(conditions),
    })?;
    let chosen_ns = choice.step_ns.or(conditions.step_ns);
    let width_ns = captured.width(chosen_ns, span_ns, STEPS_MAX as u64)?;
    let width_ns = if chosen_ns.is_none() { width_ns.max(NARROWEST_NS) } else { width_ns };
    let workload = CumulativeWorkload::new(&table, choice.by, choice.threshold);
    let keys = workload.keys();
    let mut capture_steps = steps_over(pass, span_ns, width_ns);
    let mut series = SeriesOverTime::new(width_ns, &SeriesSelection::Streams(keys.clone()));
    let mut threads = captured.thread_steps(width_ns);
    let mut folds: Vec<&mut dyn Fold> = vec![&mut capture_steps, &mut series];
    folds.extend(threads.iter_mut().map(|fold| fold as &mut dyn Fold));
    captured.run(pass, &mut folds)?;
    let observed = captured.observed(&pass.filter);
    let with_ios = capture_steps.finish()?.into_iter().filter(|(_, step)| step.ios() > 0);
    let steps = with_ios.map(|(number, step)| {
        let cells = series.steps().get(&number).into_iter().flatten();
        // A step lasts as long as it was observed.
        let lasted_ns = observed.length_of_step(number, width_ns);
        let content = ContentFigures::new(step.times.contents, conditions);
        let duplicates = content.duplicates.and_then(Share::exact);
        WorkloadStep {
            at: Nanos(observed.begin_of_step(number, width_ns)),
            lasts: Nanos(lasted_ns),
            ios: keys.iter().copied().zip(cells.map(|cell| cell.ios)).collect(),
            captured: Some(IoTotals {
                ios: step.ios(),
                bytes: Bytes(step.ops.iter().map(|op| op.bytes).sum()),
            }),
            outstanding_mean: mean_outstanding(&step, lasted_ns),
            outstanding_max: step.times.depths.largest(),
            response_mean: step.times.response_mean(),
            response_max: step.times.response_max(),
            threads: threads.as_ref().and_then(|threads| threads.count(number)),
            data_pattern: data_pattern_of(content.ratio, duplicates),
        }
    });
    Ok(NativeSteps {
        steps: steps.collect(),
        workload,
        caveats: capture_gaps(conditions, &captured.integrity().missing()),
    })
}

fn read_workload_steps(
    file: &WorkloadFile,
    choice: &StepChoice,
) -> Result<NativeSteps, ReplayError> {
    if file.steps.is_empty() {
        return Err(ReplayError::NoSteps(file.name.clone()));
    }
    if choice.step_ns.is_some() {
        return Err(ReplayError::FixedSteps(file.name.clone()));
    }
    let filter = &choice.pass.filter;
    let workload = select_streams(file, choice)?;
    let keys = workload.keys();
    let outstanding = |demand: Demand| u32::try_from(demand.outstanding()).unwrap_or(u32::MAX);
    let depth = file.demand.map(outstanding);
    let steps = file.steps.iter().filter(|step| filter.keeps_time(step.at.0));
    let steps = steps.map(|step| WorkloadStep {
        ios: step.ios.iter().filter(|(key, _)| keys.contains(key)).copied().collect(),
        outstanding_max: step.outstanding_max.or(depth),
        ..step.clone()
    });
    Ok(NativeSteps { steps: steps.collect(), workload, caveats: file_caveats(file) })
}

/// Returns the chosen streams and the caveats of a workload file, for use without steps.
pub(super) fn select_without_steps(
    file: &WorkloadFile,
    choice: &StepChoice,
) -> Result<(CumulativeWorkload, Vec<Caveat>), ReplayError> {
    let mut workload = select_streams(file, choice)?;
    workload.streams.retain(|stream| stimulus_op(stream.op).is_some());
    if !choice.pass.filter.spans_ns.is_empty() {
        return Err(ReplayError::NoSteps(file.name.clone()));
    }
    if workload.streams.is_empty() {
        return Err(ReplayError::BelowThreshold(choice.threshold));
    }
    Ok((workload, file_caveats(file)))
}

fn select_streams(
    file: &WorkloadFile,
    choice: &StepChoice,
) -> Result<CumulativeWorkload, ReplayError> {
    let filter = &choice.pass.filter;
    reject_unrecorded_filters(filter, "a workload file")?;
    let whole = &file.workload;
    let total = IoCount { ios: whole.total_count, bytes: whole.total_amount };
    let streams = whole.streams.clone();
    let mut workload = CumulativeWorkload::select(streams, total, choice.by, choice.threshold);
    workload.streams.retain(|stream| filter.keeps_stream(&stream.key()));
    workload.total_streams = whole.total_streams.max(workload.total_streams);
    // If the bytes equal those of the listed I/Os, those of the other I/Os are unknown.
    let listed = whole.selected();
    if listed.ios < whole.total_count && listed.bytes == whole.total_amount {
        workload.total_amount = 0;
    }
    Ok(workload)
}

/// Returns the remarks of a workload file and the doubts about it as caveats.
fn file_caveats(file: &WorkloadFile) -> Vec<Caveat> {
    let remark =
        |text: &String| Caveat::new(CaveatKind::Remark, ids::WORKLOAD_REMARK, text.clone(), "");
    file.remarks.iter().chain(&file.doubts).map(remark).collect()
}

fn read_representation_steps(
    representation: &ReplayRepresentation,
    choice: &StepChoice,
) -> Result<NativeSteps, ReplayError> {
    let filter = &choice.pass.filter;
    reject_unrecorded_filters(filter, "a Replay representation")?;
    if choice.step_ns.is_some() {
        return Err(ReplayError::FixedSteps(representation.name.clone()));
    }
    let is_chosen = |step: &&ReplayStep| filter.keeps_time(representation.step_start(step).0);
    let chosen = ReplayRepresentation {
        name: representation.name.clone(),
        steps: representation.steps.iter().filter(is_chosen).cloned().collect(),
    };
    let mut workload = chosen.workload(choice.by, choice.threshold);
    workload.streams.retain(|stream| filter.keeps_stream(&stream.key()));
    let steps = chosen.workload_steps(&workload);
    Ok(NativeSteps { steps, workload, caveats: unlisted_caveat(&chosen).into_iter().collect() })
}

/// Returns a caveat for the I/Os of a representation that are listed under no stream.
fn unlisted_caveat(representation: &ReplayRepresentation) -> Option<Caveat> {
    let mut unlisted = IoTotals::default();
    for step in &representation.steps {
        let rest = step.totals().saturating_sub(step.listed());
        unlisted.add(rest.ios, rest.bytes.0);
    }
    let text = format!(
        "The export lists no stream for {} of its I/Os ({}); their streams are unknown.",
        unlisted.ios, unlisted.bytes
    );
    (unlisted.ios > 0)
        .then(|| Caveat::new(CaveatKind::Deviation, ids::REPLAY_STREAMS_UNLISTED, text, ""))
}

/// Returns an error if the filter needs what the source does not record.
fn reject_unrecorded_filters(filter: &Filter, source: &str) -> Result<(), ReplayError> {
    let needed = [
        (filter.process.is_some(), "processes; omit --pid"),
        (filter.needs_single_ios(), "threads, cgroups and files; omit --tid, --cgroup and --file"),
        (!filter.devices.is_empty(), "devices; omit --device"),
        (filter.layer.is_some(), "layers; omit --layer"),
    ];
    match needed.into_iter().find(|(is_needed, _)| *is_needed) {
        Some((_, what)) => {
            Err(TraceError::Unsuitable(format!("{source} does not record {what}")).into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPORT: &str = "### Replay representation for workload 'w'\n\
        ## Step 1\n1000.000 300.000 1233 9192960 0.15 5 2.71 125.89 4.97 44.9\n\
        SEQ 0.5K W SEQ 512 W 4.87 60 0.33 30720\n\
        RND 4K W RND 4096 W 47.61 587 26.15 2404352\n\
        ## Step 2\n1300.000 300.000 800 4341248 4.1 9 1000.00 5000.00 4.99 41.3\n\
        RND 4K W RND 4096 W 50.00 400 37.74 1638400\n\
        ## Step 3\n1900.000 300.000 10 40960 0.2 9 1.69 33.66 4.99 41.3\n\
        RND 4K R RND 4096 R 100.00 10 100.0 40960\n";

    fn steps_of(source: &StepSource<'_>, threshold: &str) -> Result<NativeSteps, ReplayError> {
        let threshold = threshold.parse().unwrap();
        NativeSteps::read(source, &StepChoice { threshold, ..StepChoice::default() })
    }

    fn export() -> ReplayRepresentation {
        ReplayRepresentation::read(EXPORT.as_bytes()).unwrap().0
    }

    #[test]
    fn an_export_is_paced_where_there_was_time_between_ios() {
        let export = export();
        let native = steps_of(&StepSource::Representation(&export), "0%").unwrap();
        let began: Vec<u64> = native.steps.iter().map(|s| s.at.0 / 1_000_000_000).collect();
        assert_eq!(began, [0, 300, 900], "a gap stays one");
        let first = &native.steps[0];
        assert_eq!(first.pace(), Pace::Fixed { ios: 1233, per: Nanos::from_secs(300) });
        assert_eq!(first.demand(), Demand::new(1, 5));
        assert_eq!(first.ios[0], ("RND 4K W".parse().unwrap(), 587));
        let unlisted = IoTotals { ios: 1233 - 647, bytes: Bytes(9_192_960 - 2_435_072) };
        assert_eq!(first.left_out(), Some(unlisted));
        assert!((first.rate() - 4.11).abs() < 1e-9);
        let second = &native.steps[1];
        assert_eq!(second.outstanding_mean, Some(4.1), "the step's average queue depth");
        assert_eq!((second.pace(), second.demand()), (Pace::Closed, Demand::new(1, 5)));
        // 800 I/Os of 1 s in 300 s.
        let mean = export.steps[1].outstanding_by_littles_law().unwrap();
        assert!((mean - 800.0 / 300.0).abs() < 1e-9);
        let mut without_depth = export.clone();
        without_depth.steps[1].qd_mean = None;
        let native = steps_of(&StepSource::Representation(&without_depth), "0%").unwrap();
        assert_eq!(native.steps[1].outstanding_mean, Some(mean));
        let composite = native.composite(&native.steps[0]).unwrap();
        let weights: Vec<u32> = composite.iter().map(|stream| stream.weight).collect();
        assert_eq!(weights, [587, 60], "normalized from counts");
        let caveats: Vec<&str> = native.caveats.iter().map(|caveat| caveat.id.as_str()).collect();
        assert_eq!(caveats, ["replay-streams-unlisted", "replay-streams-left-out", "replay-paced"]);
        assert!(native.caveats[0].text.contains("986 of its I/Os"), "{:?}", native.caveats[0]);
        assert_eq!(native.left_out().0, 986);
    }

    /// Its lines are in any order; each step keeps its own time.
    #[test]
    fn steps_that_are_listed_late_begin_first() {
        let mut export = export();
        export.steps.rotate_left(2);
        let times = |filter: Filter| -> Vec<(u64, u64)> {
            let pass = PassOptions { filter, ..PassOptions::default() };
            let choice = StepChoice { pass, ..StepChoice::default() };
            let source = StepSource::Representation(&export);
            let native = NativeSteps::read(&source, &choice).unwrap();
            native.steps.iter().map(|s| (s.at.0 / 1_000_000_000, s.ios_to_play())).collect()
        };
        assert_eq!(times(Filter::default()), [(0, 1233), (300, 800), (900, 10)]);
        let from = Filter::default().within(&[(300_000_000_000, u64::MAX)]);
        assert_eq!(times(from), [(0, 800), (600, 10)]);
        let CaptureConditions { began_unix_ns, lasted_ns, .. } = export.conditions();
        assert_eq!((began_unix_ns, lasted_ns), (Some(1_000_000_000_000), 1_200_000_000_000));
    }

    #[test]
    fn a_threshold_leaves_out_streams_and_steps_and_keeps_their_count() {
        let text = export();
        let native = steps_of(&StepSource::Representation(&text), "5%").unwrap();
        assert_eq!(native.steps.len(), 2, "nothing of the last step reaches it");
        assert_eq!(native.left_out().0, 986 + 60 + 10);
        let refusal = steps_of(&StepSource::Representation(&text), "90%").unwrap_err();
        assert!(matches!(refusal, ReplayError::BelowThreshold(_)), "{refusal}");
    }

    #[test]
    fn an_export_is_chosen_by_time_and_stream_but_not_by_process() {
        let text = export();
        let read_filtered = |filter| {
            let pass = PassOptions { filter, ..PassOptions::default() };
            let choice = StepChoice { pass, ..StepChoice::default() };
            NativeSteps::read(&StepSource::Representation(&text), &choice)
        };
        let from = Filter::default().within(&[(300_000_000_000, u64::MAX)]);
        let native = read_filtered(from).unwrap();
        assert_eq!((native.steps.len(), native.workload.total_count), (2, 810));
        let reads = Filter { ops: vec![IoOp::Read], ..Filter::default() };
        assert_eq!(read_filtered(reads).unwrap().steps.len(), 1);
        let process = Some(steadfast_analysis::filter::ProcessSelector::Pid(1));
        let refusal =
            read_filtered(Filter { process, ..Filter::default() }).unwrap_err().to_string();
        assert!(refusal.contains("--pid"), "{refusal}");
    }

    #[test]
    fn steps_of_a_workload_file_are_paced() {
        let text = "format = \"steadfast workload 1\"\nname = \"shop\"\ndemand = \"T1Q8\"\n\
            [captured]\nby = \"count\"\nthreshold = \"0%\"\nstreams = 2\nios = 100\nbytes = 409600\n\
            [[stream]]\nstream = \"RND 4K R\"\nios = 60\n[[stream]]\nstream = \"RND 4K W\"\nios = 20\n\
            [[step]]\nat_ns = 5000000000\nlasts_ns = 1000000000\n\
            ios = { \"RND 4K R\" = 60, \"RND 4K W\" = 20 }\n";
        let file = WorkloadFile::read(text).unwrap();
        let native = steps_of(&StepSource::Workload(&file), "0%").unwrap();
        let step = &native.steps[0];
        assert_eq!(step.pace(), Pace::Fixed { ios: 80, per: Nanos::from_secs(1) });
        assert_eq!(
            (step.demand(), step.at, step.left_out()),
            (Demand::new(1, 8), Nanos::ZERO, None)
        );
        assert_eq!(native.left_out(), (20, Some(Bytes(81_920))));
        let without_steps = WorkloadFile { steps: Vec::new(), ..file };
        let refusal =
            steps_of(&StepSource::Workload(&without_steps), "0%").unwrap_err().to_string();
        assert!(refusal.contains("'shop'") && refusal.contains("--native"), "{refusal}");
    }

    #[test]
    fn a_step_without_length_is_refused() {
        let text = EXPORT.replace("1000.000 300.000", "1000.000 0");
        let (text, _) = ReplayRepresentation::read(text.as_bytes()).unwrap();
        let refusal = steps_of(&StepSource::Representation(&text), "0%").unwrap_err();
        assert!(matches!(refusal, ReplayError::StepWithoutLength(_)), "{refusal}");
    }
}
