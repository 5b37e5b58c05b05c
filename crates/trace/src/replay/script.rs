//! A [`Script`] made of the single I/Os of a trace: which of them, due when, where
//! on the target.

use super::ReplayError;
use super::map::{AddressMap, MapRule, Space};
use super::player::{Player, ReplayPlan};
use super::summary::Summary;
use super::survey::Survey;
use crate::captured::Answer;
use crate::error::TraceError;
use crate::file::Trace;
use crate::pass::PassAccount;
use crate::streams::By;
use crate::workload::{Threshold, Workload, data_pattern_seen};
use crate::{Captured, Filter, Pass};
use std::fmt;
use std::io::{Read, Seek};
use std::str::FromStr;
use std::sync::Arc;
use steadfast_domain::script::{LeaveOut, OpenScript, Overlaps, Timing};
use steadfast_domain::{
    CaptureConditions, Caveat, CaveatKind, Demand, DueIo, Layer, Nanos, Script, ScriptError,
    ScriptLoad,
};

/// Which captured time an I/O is due at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IssueAt {
    /// When it entered the queue: what the programs asked, whatever the device did.
    Queue,
    /// When it was issued to the device: this includes what the captured device's
    /// queue held back.
    Issue,
}

impl FromStr for IssueAt {
    type Err = ReplayError;
    fn from_str(text: &str) -> Result<Self, ReplayError> {
        match text {
            "queue" => Ok(IssueAt::Queue),
            "issue" => Ok(IssueAt::Issue),
            _ => Err(ReplayError::NoSuchTime(text.to_owned())),
        }
    }
}

impl fmt::Display for IssueAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IssueAt::Queue => "queue",
            IssueAt::Issue => "issue",
        })
    }
}

/// How a script is made.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOptions {
    /// What it is called in reports.
    pub name: String,
    /// Which I/Os.
    pub pass: Pass,
    /// Which captured time they are due at: that of entering the queue where the
    /// trace holds it, unless set.
    pub issue_at: Option<IssueAt>,
    /// Where they land: as they were where all fit, wrapped otherwise, unless set.
    pub map: Option<MapRule>,
    /// The target.
    pub space: Space,
    /// What is in the script and not played.
    pub leave_out: LeaveOut,
    /// What due times are counted from, in nanoseconds from the capture's beginning;
    /// from the first chosen I/O, unless set. Scripts that are played together, each
    /// on its own target, share it.
    pub origin_ns: Option<u64>,
}

impl ScriptOptions {
    /// All I/Os, with the usual choices.
    pub fn new(name: impl Into<String>, space: Space) -> Self {
        ScriptOptions {
            name: name.into(),
            pass: Pass::default(),
            issue_at: None,
            map: None,
            space,
            leave_out: LeaveOut::default(),
            origin_ns: None,
        }
    }
}

/// Narrows a filter to the I/O streams at or above a threshold among what passes it.
///
/// # Errors
/// Where the capture cannot be read, nothing passes, or no stream reaches the
/// threshold.
pub fn at_threshold<R: Read + Seek + Send + 'static>(
    captured: &Captured<R>,
    pass: &Pass,
    (by, threshold): (By, Threshold),
) -> Result<Filter, ReplayError> {
    let Answer { found: table, account } = captured.streams(pass)?;
    if account.kept == 0 {
        let filter = pass.filter.told(captured.conditions());
        return Err(ReplayError::Empty { events: account.events, filter });
    }
    let workload = Workload::of(&table, by, threshold);
    if workload.streams.is_empty() {
        return Err(ReplayError::BelowThreshold(threshold.to_string()));
    }
    Ok(Filter { streams: workload.keys(), ..pass.filter.clone() })
}

/// Chosen I/Os that are not in the script, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// What they did is not known.
    pub unknown_ops: u64,
    /// Reads, writes or discards of no bytes.
    pub without_bytes: u64,
    /// Larger than the target.
    pub too_large: u64,
}

impl LeftOut {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.reasons().into_iter().map(|(count, _)| count).sum()
    }

    /// Every reason with its count.
    pub fn reasons(&self) -> [(u64, &'static str); 3] {
        [
            (self.unknown_ops, "of an unknown operation"),
            (self.without_bytes, "without bytes"),
            (self.too_large, "larger than the target"),
        ]
    }

    /// `3 of an unknown operation; 2 without bytes`.
    pub fn told(&self) -> String {
        let some = self.reasons().into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, why)| format!("{count} {why}")).collect::<Vec<_>>().join("; ")
    }
}

/// A script made of a trace, and what is known of it before it is played.
pub struct TraceScript<R> {
    trace: Arc<Trace<R>>,
    plan: Arc<ReplayPlan>,
    survey: Survey,
    summary: Summary,
}

impl<R: Read + Seek + Send + 'static> TraceScript<R> {
    /// Chooses the I/Os, finds where they land, and plays them once without a device.
    ///
    /// # Errors
    /// Where single I/Os were not kept or cannot be read, or what was chosen cannot be
    /// played as asked.
    pub fn of(captured: &Captured<R>, options: &ScriptOptions) -> Result<Self, ReplayError> {
        if let Some(step_ns) = captured.conditions().step_ns {
            return Err(ReplayError::SingleIosNeeded(Nanos(step_ns)));
        }
        let trace = captured.shared_trace()?;
        let mut survey = Survey::of(&trace, options)?;
        let plan = Arc::new(survey.plan(trace.conditions(), options)?);
        let summary = Summary::of(Player::new(&trace, &plan), options.pass.window)?;
        let landed = summary.landed;
        survey.left_out.too_large = landed.too_large;
        if summary.moving(options.leave_out) == 0 {
            let reasons = match survey.left_out.total() {
                0 => "flushes and discards, as requested".to_owned(),
                _ => survey.left_out.told(),
            };
            return Err(ReplayError::AllLeftOut { ios: survey.account.kept, reasons });
        }
        Ok(TraceScript { trace, plan, survey, summary })
    }

    /// What it adds up to.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
    /// What the pass that chose the I/Os saw.
    pub fn account(&self) -> PassAccount {
        self.survey.account
    }
    /// Chosen I/Os that are not in the script.
    pub fn left_out(&self) -> LeftOut {
        self.survey.left_out
    }
    /// Which captured time its I/Os are due at.
    pub fn issue_at(&self) -> IssueAt {
        self.plan.issue_at
    }
    /// Where its I/Os land.
    pub fn map(&self) -> &AddressMap {
        &self.plan.map
    }
    /// What its due times are counted from, from the capture's beginning.
    pub fn origin_ns(&self) -> u64 {
        self.plan.origin_ns
    }
    /// How the trace came about.
    pub fn conditions(&self) -> &CaptureConditions {
        self.trace.conditions()
    }

    /// Opens it from its beginning.
    pub fn open(&self) -> Box<dyn Script> {
        playing(&self.trace, &self.plan)
    }

    /// It as a load, played at its due times; with as many I/Os outstanding as the
    /// capture had at most, unless another demand is given.
    pub fn load(&self, demand: Option<Demand>) -> ScriptLoad {
        let summary = &self.summary;
        let most = u32::try_from(summary.outstanding_max.unwrap_or(1)).unwrap_or(u32::MAX);
        let (trace, plan) = (Arc::clone(&self.trace), Arc::clone(&self.plan));
        let opened = Arc::clone(&plan);
        let open: OpenScript = Arc::new(move || Ok(playing(&trace, &opened)));
        ScriptLoad {
            name: self.plan.options.name.clone(),
            digest: summary.digest.clone(),
            mapping: match plan.map.rule() {
                MapRule::Same => String::new(),
                _ => plan.map.told(),
            },
            counts: summary.counts,
            bytes: summary.bytes,
            span: summary.span,
            largest: summary.largest,
            unit: summary.unit,
            reach: summary.reach,
            demand: demand.unwrap_or(Demand::new(1, most.max(1))),
            timing: Timing::default(),
            overlaps: Overlaps::default(),
            leave_out: plan.options.leave_out,
            data_pattern: data_pattern_seen(self.trace.conditions()),
            open: Some(open),
        }
    }

    /// What a reader of the replay must know: what the capture lacks, what was left
    /// out, where I/Os landed, and what was inferred.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = lacking(self.trace.conditions(), &self.trace.integrity().missing());
        if self.trace.recovery().is_some() {
            let text = "The capture was killed; I/Os that it had not written to its file are not \
                replayed.";
            caveats.push(Caveat::new(CaveatKind::Deviation, "capture-killed", text, ""));
        }
        caveats.extend(self.left_out_caveats());
        caveats.extend(self.place_caveats());
        caveats.extend(self.time_caveats());
        caveats
    }

    fn left_out_caveats(&self) -> Vec<Caveat> {
        let Survey { account, left_out, flush_before, .. } = &self.survey;
        let (leave_out, counts) = (self.plan.options.leave_out, self.summary.counts);
        let mut caveats = Vec::new();
        let mut say = |is: bool, kind, id, text: String| {
            caveats.extend(is.then(|| Caveat::new(kind, id, text, "")));
        };
        let text = format!(
            "{} of the {} chosen I/Os are not replayed: {}.",
            left_out.total(),
            account.kept,
            left_out.told()
        );
        say(left_out.total() > 0, CaveatKind::Deviation, "replay-left-out", text);
        let filter = self.plan.options.pass.filter.told(self.trace.conditions());
        if let Some(filter) = filter {
            let text = format!("{} I/Os of the capture were chosen: {filter}.", account.kept);
            say(true, CaveatKind::Remark, "replay-filtered", text);
        }
        let text = format!(
            "{flush_before} writes requested a flush before them; none of these \
            flushes is played."
        );
        say(*flush_before > 0, CaveatKind::Deviation, "replay-preflush", text);
        let text = format!("{} flushes are not played, as requested.", counts.flushes);
        let is = leave_out.flushes && counts.flushes > 0;
        say(is, CaveatKind::Deviation, "replay-without-flushes", text);
        let text = format!("{} discards are not played, as requested.", counts.trims);
        let is = leave_out.trims && counts.trims > 0;
        say(is, CaveatKind::Deviation, "replay-without-discards", text);
        let fua = self.summary.fua;
        let text = format!(
            "{fua} writes had forced unit access; they are played without it, as \
                requested."
        );
        say(leave_out.fua && fua > 0, CaveatKind::Deviation, "replay-without-fua", text);
        caveats
    }

    fn place_caveats(&self) -> Vec<Caveat> {
        let landed = self.summary.landed;
        let percent = |share: Option<f64>| {
            share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let mut told = vec![self.plan.map.told()];
        for (count, what) in [
            (landed.wrapped, "wrapped around the target's end"),
            (landed.moved, "reached beyond the target's end and were moved down to end with it"),
            (landed.rounded, "were rounded outward to the target's sectors"),
        ] {
            if count > 0 {
                told.push(format!("{count} I/Os {what}."));
            }
        }
        told.push(format!(
            "{} of the reads and writes were sequential as captured, {} are as replayed.",
            percent(self.summary.sequential_captured),
            percent(self.summary.sequential)
        ));
        let kind = match self.plan.map.rule() {
            MapRule::Same if landed.rounded == 0 => CaveatKind::Remark,
            _ => CaveatKind::Deviation,
        };
        let mut caveats = vec![Caveat::new(kind, "replay-addresses", told.join(" "), "")];
        if self.survey.layers.contains(&Layer::FileSystem) {
            let text = "The capture is of the file-system layer: its addresses are places in files, \
                        and those of different files coincide on the target.";
            let remedy = "Capture at the block layer to replay addresses.";
            caveats.push(Caveat::new(CaveatKind::Deviation, "replay-files", text, remedy));
        }
        caveats
    }

    fn time_caveats(&self) -> Vec<Caveat> {
        let summary = &self.summary;
        let mut caveats = Vec::new();
        let text = match self.plan.issue_at {
            IssueAt::Queue => "I/Os are due when they entered the queue of the captured device.",
            IssueAt::Issue => "I/Os are due when they were issued to the captured device.",
        };
        caveats.push(Caveat::new(CaveatKind::Remark, "replay-issue-at", text, ""));
        let late = summary.landed.late;
        let text = format!("{late} I/Os could not be put in order; each is due immediately.");
        if late > 0 {
            caveats.push(Caveat::new(CaveatKind::Deviation, "replay-order", text, ""));
        }
        let text = format!(
            "{} I/Os overlapped another I/O in flight in the capture, and one of the two changed \
             data. This estimates the overlaps on the target.",
            summary.overlapping
        );
        if summary.overlapping > 0 {
            caveats.push(Caveat::new(CaveatKind::Remark, "replay-overlaps", text, ""));
        }
        if summary.outstanding_max.is_none() {
            let text = "The capture has no usable completion times: the number of outstanding \
                I/Os is unknown, and think times cannot be inferred.";
            caveats.push(Caveat::new(CaveatKind::Deviation, "replay-no-completions", text, ""));
        }
        caveats
    }
}

/// What a capture lacks, and a replay of it therefore too.
pub(crate) fn lacking(conditions: &CaptureConditions, missing: &[String]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut say = |count: u64, id, text: String, remedy: &str| {
        caveats.extend((count > 0).then(|| Caveat::new(CaveatKind::Deviation, id, text, remedy)));
    };
    let lost = conditions.lost;
    let text = format!("The capture lost {lost} events; at most that many I/Os are not replayed.");
    say(lost, "events-lost", text, "Capture again with a larger buffer.");
    let skipped = conditions.skipped;
    let text = format!(
        "The kernel skipped the capture's probes {skipped} times: at most that many I/Os are \
         missing."
    );
    say(skipped, "skipped", text, "");
    let unseen = conditions.in_part.map_or(conditions.unfinished, |part| part.missing());
    let text = format!("{unseen} incomplete I/Os (issue or completion missing) are not replayed.");
    say(unseen, "replay-incomplete", text, "");
    for text in missing {
        let remedy = "These I/Os are not replayed. Restore the file from a backup.";
        say(1, "file-damaged", text.clone(), remedy);
    }
    caveats
}

/// A script that is being pulled.
struct Playing<R: 'static> {
    name: String,
    player: Player<R>,
    delivered: u64,
    /// Said when the I/Os before it were delivered.
    failed: Option<ScriptError>,
}

fn playing<R: Read + Seek + Send + 'static>(
    trace: &Arc<Trace<R>>,
    plan: &Arc<ReplayPlan>,
) -> Box<dyn Script> {
    let name = plan.options.name.clone();
    Box::new(Playing { name, player: Player::new(trace, plan), delivered: 0, failed: None })
}

impl<R: Read + Seek + Send + 'static> Script for Playing<R> {
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
                    self.failed = Some(self.fault(&error));
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

impl<R: 'static> Playing<R> {
    fn fault(&self, error: &TraceError) -> ScriptError {
        ScriptError {
            name: self.name.clone(),
            ios_done: self.delivered,
            why: format!(
                "{error}; copy the readable part with: steadfast trace recover FILE -o WHOLE"
            ),
        }
    }
}
