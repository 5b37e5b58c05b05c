//! Conditions are read back after every purge, after the preconditioning and at the end: a drive
//! that changes them unnoticed by the run is detected.

use super::{RigLog, begin, findings, quick_plan, real_rig, resume, resume_shown, scratch_path};
use std::path::Path;
use steadfast_domain::record::{HostChange, RereadOccasion};
use steadfast_domain::{Caveat, Conditions, Halt, JournalEntry, Note, WriteCache};
use steadfast_runner::Ledger;
use steadfast_runner::progress::{ProgressSink, RunEvent};
use steadfast_runner::rig::Journal;
use steadfast_runner::run::RunOutcome;

const ON: Option<WriteCache> = Some(WriteCache::Enabled);
const OFF: Option<WriteCache> = Some(WriteCache::Disabled);

/// A write cache that is turned on by a purge, or by a step of this phase.
#[derive(Debug)]
pub struct WriteCacheModel {
    state: Option<WriteCache>,
    turned_on_by: &'static str,
    /// Phase and write cache state of each applied step.
    steps: Vec<(String, Option<WriteCache>)>,
    /// True if the drive accepts no change of its cache.
    is_stuck: bool,
}

impl WriteCacheModel {
    pub fn settle(
        &mut self,
        wanted: &Conditions,
        journal: Journal<'_>,
    ) -> Result<Conditions, Halt> {
        if self.state != wanted.write_cache && !self.is_stuck {
            journal(&HostChange {
                setting: "write_cache".into(),
                before: "write back".into(),
                after: "write through".into(),
                ..HostChange::default()
            })?;
            self.state = wanted.write_cache;
        }
        Ok(Conditions { write_cache: self.state, ..wanted.clone() })
    }
    pub fn read_back(&self) -> Conditions {
        Conditions { write_cache: self.state, merges: Some(false), ..Conditions::default() }
    }
    pub fn turn_on(&mut self) {
        self.state = ON;
    }
    pub fn note_step(&mut self, phase: &str) {
        if phase == self.turned_on_by {
            self.turn_on();
        }
        self.steps.push((phase.to_owned(), self.state));
    }
}

/// Returns the log of a rig with a write cache that a step of this phase turns on.
fn cache_log(turned_on_by: &'static str) -> RigLog {
    let cache = WriteCacheModel { state: ON, turned_on_by, steps: Vec::new(), is_stuck: false };
    RigLog { cache: Some(cache), ..RigLog::default() }
}

/// Begins a run that is halted in its first round.
fn begin_and_halt(directory: &Path) {
    let mut log = cache_log("none");
    let mut rig = real_rig(&mut log).halting_after(12);
    assert!(matches!(begin(directory, &quick_plan(), &mut rig), RunOutcome::Halted(_)));
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
    let mut log = cache_log("none");
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    assert_eq!(ending, RunOutcome::Complete);
    let steps = log.cache.unwrap().steps;
    assert!(steps.iter().all(|(_, cache)| *cache == OFF), "{steps:?}");
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
        begin(&directory, &quick_plan(), &mut real_rig(&mut cache_log(phase)));
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
        begin_and_halt(&directory);
        if !keeps {
            remove_rereadings(&directory);
        }
        let mut log = cache_log("none");
        assert_eq!(resume(&directory, &mut real_rig(&mut log)), RunOutcome::Complete);
        let steps = log.cache.unwrap().steps;
        assert!(steps.iter().all(|(phase, cache)| phase == "rounds" && *cache == OFF));
        assert!(findings(&directory).verdict.unwrap().steady);
    }
}

/// A setting that cannot be made again when a run is resumed is shown and disclosed, with both
/// values.
#[test]
fn a_cache_that_cannot_be_set_again_is_disclosed() {
    let (_scratch, directory) = scratch_path();
    begin_and_halt(&directory);
    let mut log = cache_log("none");
    log.cache.as_mut().unwrap().is_stuck = true;
    let mut shown = ShownCaveats::default();
    let ending = resume_shown(&directory, &mut real_rig(&mut log), &mut shown);
    assert_eq!(ending, RunOutcome::Complete);
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
