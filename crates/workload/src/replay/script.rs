//! A [`Script`] made from the single I/Os of a trace: the choice of I/Os, their due times and
//! their addresses on the target.

use super::ReplayError;
use super::address_map::AddressMap;
use super::capture_gaps::capture_gaps;
use super::options::{OmittedIos, ScriptOptions};
use super::plan::ReplayPlan;
use super::player::ReplayPlayer;
use super::summary::Summary;
use super::survey::ReplaySurvey;
use std::sync::Arc;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::pass::PassAccount;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold, data_pattern_seen};
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_analysis::{Captured, Filter, PassOptions};
use steadfast_domain::caveats as ids;
use steadfast_domain::script::{DueTimeSource, MapRule, OpenScript};
use steadfast_domain::{
    CaptureConditions, Caveat, CaveatKind, Demand, DueIo, Layer, Nanos, Script, ScriptError,
    ScriptLoad,
};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Trace;

/// Narrows a filter to the I/O streams that reach a threshold among the I/Os that pass it.
///
/// # Errors
/// Returns [`ReplayError::Empty`] if no I/O passes, [`ReplayError::BelowThreshold`] if no stream
/// reaches the threshold, and [`ReplayError::Trace`] if the capture cannot be read.
pub fn at_threshold(
    captured: &Captured,
    pass: &PassOptions,
    measure: ShareMeasure,
    threshold: Threshold,
) -> Result<Filter, ReplayError> {
    let PassResult { found: table, account } = captured.streams(pass)?;
    if account.kept == 0 {
        let filter = pass.filter.describe(captured.conditions());
        return Err(ReplayError::Empty { events: account.events, filter });
    }
    let workload = CumulativeWorkload::new(&table, measure, threshold);
    if workload.streams.is_empty() {
        return Err(ReplayError::BelowThreshold(threshold));
    }
    Ok(Filter { streams: workload.keys(), ..pass.filter.clone() })
}

/// A script made from a trace, and everything that is known of it before it is played.
pub struct TraceScript {
    trace: Arc<Trace>,
    plan: Arc<ReplayPlan>,
    survey: ReplaySurvey,
    summary: Summary,
}

impl TraceScript {
    /// Chooses the I/Os, maps them to the target, and plays them once without a device.
    ///
    /// # Errors
    /// Returns [`ReplayError::SingleIosNeeded`] if the capture kept only sums,
    /// [`ReplayError::Trace`] if it cannot be read, and another variant if the chosen I/Os cannot
    /// be played as requested.
    pub fn prepare(captured: &Captured, options: &ScriptOptions) -> Result<Self, ReplayError> {
        if let Some(step_ns) = captured.conditions().step_ns {
            return Err(ReplayError::SingleIosNeeded(Nanos(step_ns)));
        }
        let trace = captured.shared_trace()?;
        let mut survey = ReplaySurvey::read(&trace, options)?;
        let plan = Arc::new(survey.plan(trace.conditions(), options)?);
        let summary = Summary::play(ReplayPlayer::new(&trace, &plan), options.pass.window)?;
        survey.omitted.too_large = summary.adaptations.too_large;
        if summary.ios_played(options.leave_out) == 0 {
            let reasons = match survey.omitted.total() {
                0 => "flushes and discards, as requested".to_owned(),
                _ => survey.omitted.describe(),
            };
            return Err(ReplayError::AllLeftOut { ios: survey.account.kept, reasons });
        }
        Ok(TraceScript { trace, plan, survey, summary })
    }

    /// Returns the totals.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
    /// Returns the account of the pass that chose the I/Os.
    pub fn account(&self) -> PassAccount {
        self.survey.account
    }
    /// Returns the number of chosen I/Os that are not in the script.
    pub fn left_out(&self) -> OmittedIos {
        self.survey.omitted
    }
    /// Returns the captured time at which I/Os are due.
    pub fn issue_at(&self) -> DueTimeSource {
        self.plan.issue_at
    }
    /// Returns the mapping of addresses.
    pub fn map(&self) -> &AddressMap {
        &self.plan.map
    }
    /// Returns the origin of the due times, in nanoseconds from the capture's beginning.
    pub fn origin_ns(&self) -> u64 {
        self.plan.origin_ns
    }
    /// Returns the conditions under which the trace was captured.
    pub fn conditions(&self) -> &CaptureConditions {
        self.trace.conditions()
    }

    /// Opens the script at its beginning.
    pub fn open(&self) -> Box<dyn Script> {
        open_script(&self.trace, &self.plan)
    }

    /// Returns the script as a load that is played at its due times. Without `demand`, it keeps as
    /// many I/Os outstanding as the capture had at most.
    pub fn load(&self, demand: Option<Demand>) -> ScriptLoad {
        let TraceScript { summary, plan, .. } = self;
        let depth = u32::try_from(summary.outstanding_max.unwrap_or(1)).unwrap_or(u32::MAX);
        let demand = demand.unwrap_or(Demand::new(1, depth.max(1)));
        let (shared_trace, shared_plan) = (Arc::clone(&self.trace), Arc::clone(plan));
        let open: OpenScript = Arc::new(move || Ok(open_script(&shared_trace, &shared_plan)));
        ScriptLoad {
            digest: summary.digest.clone(),
            mapping: match plan.map.rule() {
                MapRule::Same => String::new(),
                _ => plan.map.describe(),
            },
            counts: summary.counts,
            bytes: summary.bytes,
            span: summary.span,
            largest: summary.largest,
            unit: summary.unit,
            reach: summary.reach,
            leave_out: plan.options.leave_out,
            data_pattern: data_pattern_seen(self.trace.conditions()),
            open: Some(open),
            ..ScriptLoad::new(plan.options.name.clone(), demand)
        }
    }

    /// Returns the caveats of a replay: gaps of the capture, I/Os left out, changed addresses, and
    /// inferred values.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = capture_gaps(self.trace.conditions(), &self.trace.integrity().missing());
        if self.trace.recovery().is_some() {
            let text = "The capture was killed; I/Os that it had not written to its file are not \
                replayed.";
            caveats.push(Caveat::new(CaveatKind::Deviation, ids::CAPTURE_KILLED, text, ""));
        }
        caveats.extend(self.left_out_caveats());
        caveats.extend(self.address_caveats());
        caveats.extend(self.time_caveats());
        caveats
    }

    fn left_out_caveats(&self) -> Vec<Caveat> {
        let ReplaySurvey { account, omitted, preflushes, fua_emulation, .. } = &self.survey;
        let (leave_out, counts) = (self.plan.options.leave_out, self.summary.counts);
        let mut caveats = Vec::new();
        let mut add_if = |applies: bool, kind, id, text: String| {
            caveats.extend(applies.then(|| Caveat::new(kind, id, text, "")));
        };
        let text = format!(
            "{} of the {} chosen I/Os are not replayed: {}.",
            omitted.total(),
            account.kept,
            omitted.describe()
        );
        add_if(omitted.total() > 0, CaveatKind::Deviation, ids::REPLAY_LEFT_OUT, text);
        let filter = self.plan.options.pass.filter.describe(self.trace.conditions());
        if let Some(filter) = filter {
            let text = format!("{} I/Os of the capture were chosen: {filter}.", account.kept);
            add_if(true, CaveatKind::Remark, ids::REPLAY_FILTERED, text);
        }
        let text = format!("{preflushes} writes asked for a flush before them; none is played.");
        add_if(*preflushes > 0, CaveatKind::Deviation, ids::REPLAY_PREFLUSH, text);
        let text = format!(
            "{} writes had forced unit access, which the captured device made by a flush after each. \
             They are played as plain writes, because these flushes are in the capture.",
            fua_emulation.writes
        );
        add_if(fua_emulation.is_detected(), CaveatKind::Deviation, ids::REPLAY_FUA_FLUSHED, text);
        let text = format!("{} flushes are not played, as asked.", counts.flushes);
        let applies = leave_out.flushes && counts.flushes > 0;
        add_if(applies, CaveatKind::Deviation, ids::REPLAY_WITHOUT_FLUSHES, text);
        let text = format!("{} discards are not played, as asked.", counts.discards);
        let applies = leave_out.discards && counts.discards > 0;
        add_if(applies, CaveatKind::Deviation, ids::REPLAY_WITHOUT_DISCARDS, text);
        let divisions = self.summary.adaptations.divisions;
        let text = format!("Discards of more than 2 GiB were divided {divisions} times.");
        add_if(divisions > 0, CaveatKind::Deviation, ids::REPLAY_DIVIDED, text);
        let fua = self.summary.fua;
        let text =
            format!("{fua} writes had forced unit access; they are played without, as asked.");
        add_if(leave_out.fua && fua > 0, CaveatKind::Deviation, ids::REPLAY_WITHOUT_FUA, text);
        caveats
    }

    fn address_caveats(&self) -> Vec<Caveat> {
        let adaptations = self.summary.adaptations;
        let percent = |share: Option<f64>| {
            share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let mut sentences = vec![self.plan.map.describe()];
        for (count, what) in [
            (adaptations.wrapped, "wrapped around the target's end"),
            (
                adaptations.moved,
                "reached beyond the target's end and were moved down to end with it",
            ),
            (adaptations.rounded, "were rounded outward to the target's sectors"),
        ] {
            if count > 0 {
                sentences.push(format!("{count} I/Os {what}."));
            }
        }
        sentences.push(format!(
            "{} of the reads and writes were sequential as captured, {} are as replayed.",
            percent(self.summary.sequential_captured),
            percent(self.summary.sequential)
        ));
        let kind = match self.plan.map.rule() {
            MapRule::Same if adaptations.rounded == 0 => CaveatKind::Remark,
            _ => CaveatKind::Deviation,
        };
        let mut caveats = vec![Caveat::new(kind, ids::REPLAY_ADDRESSES, sentences.join(" "), "")];
        if self.survey.layers.contains(&Layer::FileSystem) {
            let text = "The capture is of the file-system layer: its addresses are places in files, \
                        and those of different files coincide on the target.";
            let remedy = "Capture at the block layer to replay addresses.";
            caveats.push(Caveat::new(CaveatKind::Deviation, ids::REPLAY_FILES, text, remedy));
        }
        caveats
    }

    fn time_caveats(&self) -> Vec<Caveat> {
        let summary = &self.summary;
        let mut caveats = Vec::new();
        let text = match self.plan.issue_at {
            DueTimeSource::Queue => {
                "I/Os are due when they entered the queue of the captured device."
            }
            DueTimeSource::Issue => "I/Os are due when they were issued to the captured device.",
        };
        caveats.push(Caveat::new(CaveatKind::Remark, ids::REPLAY_ISSUE_AT, text, ""));
        let late = summary.adaptations.late;
        let text = format!("{late} I/Os could not be put in order; each is due immediately.");
        if late > 0 {
            caveats.push(Caveat::new(CaveatKind::Deviation, ids::REPLAY_ORDER, text, ""));
        }
        let text = format!(
            "{} I/Os overlapped another I/O in flight in the capture, and one of the two changed \
             data. This estimates the overlaps on the target.",
            summary.overlapping
        );
        if summary.overlapping > 0 {
            caveats.push(Caveat::new(CaveatKind::Remark, ids::REPLAY_OVERLAPS, text, ""));
        }
        if summary.outstanding_max.is_none() {
            let text = "The capture has no usable completion times: how many I/Os were outstanding is unknown, \
                        and no think time can be inferred.";
            caveats.push(Caveat::new(CaveatKind::Deviation, ids::REPLAY_NO_COMPLETIONS, text, ""));
        }
        caveats
    }
}

/// A script from which I/Os are being pulled.
struct OpenScriptIos {
    name: String,
    player: ReplayPlayer,
    delivered: u64,
    /// Error that is returned after the I/Os before it were delivered.
    failed: Option<ScriptError>,
}

fn open_script(trace: &Arc<Trace>, plan: &Arc<ReplayPlan>) -> Box<dyn Script> {
    Box::new(OpenScriptIos {
        name: plan.options.name.clone(),
        player: ReplayPlayer::new(trace, plan),
        delivered: 0,
        failed: None,
    })
}

impl Script for OpenScriptIos {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let before = self.delivered;
        while batch.len() < batch.capacity() {
            match self.player.next() {
                Ok(Some(played)) => batch.push(played.io),
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(self.error(&error));
                    break;
                }
            }
            self.delivered += 1;
        }
        match &self.failed {
            Some(failed) if self.delivered == before => Err(failed.clone()),
            _ => Ok(usize::try_from(self.delivered - before).unwrap_or(0)),
        }
    }
}

impl OpenScriptIos {
    fn error(&self, error: &TraceError) -> ScriptError {
        ScriptError {
            name: self.name.clone(),
            ios_done: self.delivered,
            why: format!(
                "{error}; copy the readable part with: steadfast trace recover FILE -o WHOLE"
            ),
        }
    }
}
