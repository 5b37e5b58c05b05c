//! Conditions are read back after every purge, after the preconditioning and at the end: a drive
//! that changes them unnoticed by the run is detected.

use super::device;
use std::path::Path;
use steadfast_domain::measurement::StreamTally;
use steadfast_domain::record::{HostChange, RereadOccasion};
use steadfast_domain::{
    Bytes, Caveat, Conditions, Device, Findings, Halt, Host, JournalEntry, Measurement, Nanos,
    Note, Profile, Purge, PurgeMethod, Settings, Step, Tally, WriteCache,
};
use steadfast_engine::{PreparedStep, StepRefusal, StepStart};
use steadfast_runner::progress::{NoProgress, ProgressSink, RunEvent};
use steadfast_runner::rig::{IntervalCallback, Journal, PurgeCallback};
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::{HostRequests, Ledger, Rig, RunPlan};

const ON: Option<WriteCache> = Some(WriteCache::Enabled);
const OFF: Option<WriteCache> = Some(WriteCache::Disabled);

/// A drive whose write cache is turned on by a purge, or by a step of this phase.
struct WriteCacheRig {
    device: Device,
    cache: Option<WriteCache>,
    turned_on_by: &'static str,
    /// Phase and write cache state of each applied step.
    seen: Vec<(String, Option<WriteCache>)>,
    halt_after: usize,
    /// True if the drive accepts no change of its cache.
    is_stuck: bool,
}

/// Keeps the caveats that were shown.
#[derive(Default)]
struct ShownCaveats(Vec<Caveat>);

impl ProgressSink for ShownCaveats {
    fn report(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Noted(Note::Caveat(caveat)) = event {
            self.0.push(caveat.clone());
        }
    }
}

fn fickle(turned_on_by: &'static str) -> WriteCacheRig {
    WriteCacheRig {
        device: device(),
        cache: ON,
        turned_on_by,
        seen: Vec::new(),
        halt_after: usize::MAX,
        is_stuck: false,
    }
}

impl Rig for WriteCacheRig {
    fn device(&self) -> &Device {
        &self.device
    }
    fn host(&self) -> Host {
        Host::default()
    }
    fn engine(&self) -> String {
        "memory".into()
    }
    fn now_unix_ms(&self) -> u64 {
        1
    }
    fn is_simulated(&self) -> bool {
        false
    }
    fn set_requests(&mut self, _: &HostRequests) {}
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt> {
        if self.cache != wanted.write_cache && !self.is_stuck {
            let [before, after] = ["write back", "write through"].map(str::to_owned);
            journal(&HostChange {
                setting: "write_cache".into(),
                before,
                after,
                ..HostChange::default()
            })?;
            self.cache = wanted.write_cache;
        }
        Ok(Conditions { write_cache: self.cache, ..wanted.clone() })
    }
    fn read_back(&mut self) -> Option<Conditions> {
        Some(Conditions { write_cache: self.cache, merges: Some(false), ..Conditions::default() })
    }
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        Ok(PurgeMethod::NvmeFormat)
    }
    fn purge(&mut self, _: Journal<'_>, _: PurgeCallback<'_>) -> Result<Purge, Halt> {
        self.cache = ON;
        Ok(Purge::new(PurgeMethod::NvmeFormat, Nanos(1)))
    }
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        Ok(PreparedStep::plain(step.clone()))
    }
    fn apply(
        &mut self,
        prepared: PreparedStep,
        _: &StepStart,
        _: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        let step = prepared.step();
        if self.seen.len() >= self.halt_after {
            return Err(Halt::Stopped);
        }
        if step.place.phase == self.turned_on_by {
            self.cache = ON;
        }
        self.seen.push((step.place.phase.clone(), self.cache));
        let stimulus = step.load.stimulus().unwrap();
        let tally = Tally { ios: 1000, bytes: Bytes(4_096_000), ..Tally::default() };
        let streams =
            stimulus.streams.iter().map(|s| StreamTally { op: s.op, tally: tally.clone() });
        let streams = streams.collect();
        Ok(Measurement {
            elapsed: Nanos::SECOND,
            complete: true,
            streams,
            ..Measurement::default()
        })
    }
    fn end_load(&mut self) {}
    fn idle(&mut self, _: Nanos) -> Result<(), Halt> {
        Ok(())
    }
    fn restore(&mut self, _: &HostChange) -> Result<(), Halt> {
        self.cache = ON;
        Ok(())
    }
}

fn run(directory: &Path, rig: &mut WriteCacheRig, resumed: bool) -> RunOutcome {
    run_shown(directory, rig, resumed, &mut NoProgress)
}

fn run_shown(
    directory: &Path,
    rig: &mut WriteCacheRig,
    resumed: bool,
    progress: &mut dyn ProgressSink,
) -> RunOutcome {
    let mut settings = Settings::new("iops", 7);
    settings.profile = Profile::Quick;
    let settings = RunPlan::new("steadfast 0", 1, "memory", device(), settings);
    let test = steadfast_procedures::procedure(&settings.settings, settings.geometry(), &[]);
    let (ledger, lines) = if resumed {
        let (ledger, contents) = Ledger::open(directory).unwrap();
        (ledger, contents.lines)
    } else {
        (Ledger::create(directory, &settings).unwrap(), Vec::new())
    };
    let test = test.unwrap();
    conduct(test.as_ref(), rig, ledger, &lines, "steadfast 0", progress).unwrap()
}

fn findings(directory: &Path) -> Findings {
    let contents = Ledger::read(directory).unwrap();
    let settings = contents.plan.clone();
    let test = steadfast_procedures::procedure(&settings.settings, settings.geometry(), &[]);
    test.unwrap().study(&contents.into_record())
}

fn occasions(directory: &Path) -> Vec<(Option<RereadOccasion>, Option<WriteCache>)> {
    let lines = Ledger::read(directory).unwrap().lines;
    let read = lines.iter().filter_map(|line| match &line.entry {
        JournalEntry::Resettled { got, when } => Some((*when, got.write_cache)),
        _ => None,
    });
    read.collect()
}

#[test]
fn a_cache_enabled_by_a_purge_is_disabled_again() {
    let scratch = tempfile::tempdir().unwrap();
    let mut rig = fickle("none");
    let directory = scratch.path().join("run");
    assert_eq!(run(&directory, &mut rig, false), RunOutcome::Complete);
    assert!(rig.seen.iter().all(|(_, cache)| *cache == OFF), "{:?}", rig.seen);
    let all = [RereadOccasion::Purge, RereadOccasion::Preconditioning, RereadOccasion::End];
    assert_eq!(occasions(&directory), all.map(|when| (Some(when), OFF)));
    let findings = findings(&directory);
    assert!(findings.headline.contains("WCD"), "{}", findings.headline);
    assert!(findings.caveat("conditions-changed").is_none());
}

#[test]
fn a_cache_that_goes_on_later_is_read_and_disclosed_and_the_header_says_what_is() {
    for (phase, when) in [("wipc", "after the preconditioning"), ("rounds", "at the end")] {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("run");
        run(&directory, &mut fickle(phase), false);
        let findings = findings(&directory);
        assert!(findings.headline.contains("WCE"), "{}", findings.headline);
        let said: Vec<_> =
            findings.caveats.iter().filter(|c| c.id == "conditions-changed").collect();
        assert_eq!(said.len(), 1, "once, where it changed");
        let text = &said[0].text;
        assert!(text.contains(when) && text.contains("is enabled (WCE), was disabled"), "{text}");
        assert!(findings.caveat("write-cache").is_some());
    }
}

/// Conditions read back are not part of the replay: a run resumes the same with and without them.
#[test]
fn a_run_resumes_with_or_without_reread_conditions() {
    for keeps in [true, false] {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("run");
        let mut rig = fickle("none");
        rig.halt_after = 12;
        assert!(matches!(run(&directory, &mut rig, false), RunOutcome::Halted(_)));
        if !keeps {
            without_read_back(&directory);
        }
        let mut rig = fickle("none");
        assert_eq!(run(&directory, &mut rig, true), RunOutcome::Complete);
        assert!(rig.seen.iter().all(|(phase, cache)| phase == "rounds" && *cache == OFF));
        assert!(findings(&directory).verdict.unwrap().steady);
    }
}

/// A setting that cannot be made again when a run is resumed is shown and disclosed, with both
/// values.
#[test]
fn a_cache_that_cannot_be_set_again_is_disclosed() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    let mut rig = fickle("none");
    rig.halt_after = 12;
    assert!(matches!(run(&directory, &mut rig, false), RunOutcome::Halted(_)));
    let mut rig = fickle("none");
    rig.is_stuck = true;
    let mut shown = ShownCaveats::default();
    assert_eq!(run_shown(&directory, &mut rig, true, &mut shown), RunOutcome::Complete);
    assert_eq!(occasions(&directory).last(), Some(&(Some(RereadOccasion::End), ON)));
    let disclosed = findings(&directory).caveats;
    for caveats in [&shown.0, &disclosed] {
        let changed: Vec<_> = caveats.iter().filter(|c| c.id == "conditions-changed").collect();
        assert_eq!(changed.len(), 1);
        let text = &changed[0].text;
        assert!(text.contains("resumed: the write cache is enabled (WCE), was disabled"), "{text}");
    }
}

/// Rewrites the journal without what was read back.
fn without_read_back(directory: &Path) {
    let contents = Ledger::read(directory).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    let mut ledger = Ledger::create(directory, &contents.plan).unwrap();
    let lines = contents.lines.iter();
    for line in lines.filter(|line| !matches!(line.entry, JournalEntry::Resettled { .. })) {
        ledger.append(line.at, &line.entry).unwrap();
    }
}
