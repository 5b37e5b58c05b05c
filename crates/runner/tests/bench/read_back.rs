//! Conditions are read back after every purge, after the preconditioning and at the end: a drive
//! that changes them unnoticed by the run is detected.

use super::{begin, device, findings, quick_plan, resume, resume_shown, scratch_path};
use std::path::Path;
use steadfast_domain::measurement::StreamTally;
use steadfast_domain::record::{HostChange, RereadOccasion};
use steadfast_domain::{
    Bytes, Caveat, Conditions, Device, Halt, Host, JournalEntry, Measurement, Nanos, Note, Purge,
    PurgeMethod, Step, Tally, WriteCache,
};
use steadfast_engine::{PreparedStep, StepRefusal, StepStart};
use steadfast_runner::progress::{ProgressSink, RunEvent};
use steadfast_runner::rig::{IntervalCallback, Journal, PurgeCallback};
use steadfast_runner::run::RunOutcome;
use steadfast_runner::{HostRequests, Ledger, Rig};

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

fn write_cache_rig(turned_on_by: &'static str) -> WriteCacheRig {
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
    fn set_requests(&mut self, _: &HostRequests) {}
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt> {
        if self.cache != wanted.write_cache && !self.is_stuck {
            journal(&HostChange {
                setting: "write_cache".into(),
                before: "write back".into(),
                after: "write through".into(),
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
        let mut measurement =
            Measurement { elapsed: Nanos::SECOND, complete: true, ..Measurement::default() };
        for stream in &stimulus.streams {
            measurement.streams.push(StreamTally { op: stream.op, tally: tally.clone() });
        }
        Ok(measurement)
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

fn occasions(directory: &Path) -> Vec<(Option<RereadOccasion>, Option<WriteCache>)> {
    let lines = Ledger::read(directory).unwrap().lines;
    let read = lines.iter().filter_map(|line| match &line.entry {
        JournalEntry::Resettled { got, when } => Some((*when, got.write_cache)),
        _ => None,
    });
    read.collect()
}

/// Returns the text of the only caveat on changed conditions.
fn changed_conditions(caveats: &[Caveat]) -> &str {
    let mut changed = caveats.iter().filter(|caveat| caveat.id == "conditions-changed");
    let caveat = changed.next().unwrap();
    assert_eq!(changed.next(), None);
    &caveat.text
}

#[test]
fn a_cache_enabled_by_a_purge_is_disabled_again() {
    let (_scratch, directory) = scratch_path();
    let mut rig = write_cache_rig("none");
    assert_eq!(begin(&directory, &quick_plan(), &mut rig), RunOutcome::Complete);
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
        let (_scratch, directory) = scratch_path();
        begin(&directory, &quick_plan(), &mut write_cache_rig(phase));
        let findings = findings(&directory);
        assert!(findings.headline.contains("WCE"), "{}", findings.headline);
        let text = changed_conditions(&findings.caveats);
        assert!(text.contains(when) && text.contains("is enabled (WCE), was disabled"), "{text}");
        assert!(findings.caveat("write-cache").is_some());
    }
}

/// Conditions read back are not part of the replay: a run resumes the same with and without them.
#[test]
fn a_run_resumes_with_or_without_reread_conditions() {
    for keeps in [true, false] {
        let (_scratch, directory) = scratch_path();
        let mut rig = write_cache_rig("none");
        rig.halt_after = 12;
        assert!(matches!(begin(&directory, &quick_plan(), &mut rig), RunOutcome::Halted(_)));
        if !keeps {
            remove_rereadings(&directory);
        }
        let mut rig = write_cache_rig("none");
        assert_eq!(resume(&directory, &mut rig), RunOutcome::Complete);
        assert!(rig.seen.iter().all(|(phase, cache)| phase == "rounds" && *cache == OFF));
        assert!(findings(&directory).verdict.unwrap().steady);
    }
}

/// A setting that cannot be made again when a run is resumed is shown and disclosed, with both
/// values.
#[test]
fn a_cache_that_cannot_be_set_again_is_disclosed() {
    let (_scratch, directory) = scratch_path();
    let mut rig = write_cache_rig("none");
    rig.halt_after = 12;
    assert!(matches!(begin(&directory, &quick_plan(), &mut rig), RunOutcome::Halted(_)));
    let mut rig = write_cache_rig("none");
    rig.is_stuck = true;
    let mut shown = ShownCaveats::default();
    assert_eq!(resume_shown(&directory, &mut rig, &mut shown), RunOutcome::Complete);
    assert_eq!(occasions(&directory).last(), Some(&(Some(RereadOccasion::End), ON)));
    let disclosed = findings(&directory).caveats;
    for caveats in [&shown.0, &disclosed] {
        let text = changed_conditions(caveats);
        assert!(text.contains("resumed: the write cache is enabled (WCE), was disabled"), "{text}");
    }
}

/// Rewrites the journal without the conditions that were read back.
fn remove_rereadings(directory: &Path) {
    let contents = Ledger::read(directory).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    let mut ledger = Ledger::create(directory, &contents.plan).unwrap();
    let lines = contents.lines.iter();
    for line in lines.filter(|line| !matches!(line.entry, JournalEntry::Resettled { .. })) {
        ledger.append(line.at, &line.entry).unwrap();
    }
}
