//! Waits until a device is cool enough for a test, and the journal of a vendor's purge command.

use super::{
    RigLog, begin, findings, interrupted_run, plan_with, quick_plan, real_rig, resume, scratch_path,
};
use std::path::Path;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::CoolDown;
use steadfast_domain::settings::StartBelow;
use steadfast_domain::{Halt, JournalEntry, Nanos, Note};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::run::RunOutcome;

fn below(celsius: f64, temperatures: &[f64]) -> RigLog {
    RigLog {
        start_below: Some(StartBelow { celsius, limit: Nanos::from_secs(60) }),
        temperatures: temperatures.iter().copied().collect(),
        ..RigLog::default()
    }
}

/// Returns the waits in a journal, each with the number of purges and steps before it.
fn waits(directory: &Path) -> Vec<(CoolDown, usize, usize)> {
    let lines = Ledger::read(directory).unwrap().lines;
    let (mut purges, mut steps, mut found) = (0, 0, Vec::new());
    for line in lines {
        match line.entry {
            JournalEntry::Purged(_) => purges += 1,
            JournalEntry::Applied { .. } => steps += 1,
            JournalEntry::Cooled(cooling) => found.push((cooling, purges, steps)),
            _ => {}
        }
    }
    found
}

#[test]
fn the_first_load_waits_after_the_purge_until_the_device_is_cool() {
    let (_scratch, directory) = scratch_path();
    let mut log = below(45.0, &[50.5, 47.0, 45.0, 44.9, 60.0]);
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    assert_eq!(ending, RunOutcome::Complete);
    let waited = Nanos::from_secs(30);
    let expected = CoolDown { below: 45.0, from: 50.5, to: 44.9, waited, failed_readings: 0 };
    assert_eq!(waits(&directory), [(expected, 1, 0)]);
    assert_eq!(log.idled, waited);
}

/// Each part of a suite is a test of its own, and so is one that purges again.
#[test]
fn every_part_of_a_suite_waits() {
    let (_scratch, directory) = scratch_path();
    let settings = plan_with(|settings| {
        settings.procedure = "suite".into();
        settings.set("procedures", "iops,latency");
    });
    let mut log = below(45.0, &[40.0]);
    assert_eq!(begin(&directory, &settings, &mut real_rig(&mut log)), RunOutcome::Complete);
    let purges: Vec<usize> = waits(&directory).iter().map(|(_, purges, _)| *purges).collect();
    assert_eq!(purges, [1, 2]);
    assert_eq!(log.idled, Nanos::ZERO, "the device was cool at once");
}

#[test]
fn a_device_that_stays_warm_halts_the_run_before_its_first_load() {
    let (_scratch, directory) = scratch_path();
    let mut log = below(45.0, &[50.0]);
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    let RunOutcome::Halted(Halt::Refused(why)) = ending else { panic!("{ending:?}") };
    assert!(why.contains("50.0 C") && why.contains("45.0 C"), "{why}");
    assert_eq!((log.idled, log.applied.len()), (Nanos::from_secs(60), 0));
    // Resumed on a cool device, the run continues without a second purge.
    let mut again = below(45.0, &[44.0]);
    assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
    assert_eq!((again.purges, waits(&directory).len()), (0, 1));

    let lost = directory.with_file_name("lost");
    let mut log = below(45.0, &[]);
    let ending = begin(&lost, &quick_plan(), &mut real_rig(&mut log));
    assert!(matches!(ending, RunOutcome::Halted(Halt::Refused(_))), "{ending:?}");
    assert!(log.applied.is_empty());
}

/// Two failures in a row are passed over, three end the wait; so does the limit.
#[test]
fn isolated_failed_readings_do_not_end_a_wait() {
    const FAILS: f64 = f64::NAN;
    let (_scratch, directory) = scratch_path();
    let mut log = below(45.0, &[FAILS, 50.0, FAILS, FAILS, 44.0]);
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    assert_eq!(ending, RunOutcome::Complete);
    let waited = Nanos::from_secs(40);
    let expected = CoolDown { below: 45.0, from: 50.0, to: 44.0, waited, failed_readings: 3 };
    assert_eq!(waits(&directory), [(expected, 1, 0)]);
    for (name, temperatures, idled) in [
        ("lost", vec![50.0, FAILS], 30),
        ("unsteady", vec![50.0, FAILS, 49.0, FAILS, 49.0, FAILS, 48.0, FAILS, FAILS], 60),
    ] {
        let directory = directory.with_file_name(name);
        let mut log = below(45.0, &temperatures);
        let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
        assert!(matches!(ending, RunOutcome::Halted(Halt::Refused(_))), "{ending:?}");
        assert_eq!((log.idled, log.applied.len()), (Nanos::from_secs(idled), 0), "{name}");
    }
}

/// The parts after the last purge start from the state of those before them, without a wait.
#[test]
fn parts_that_share_a_state_do_not_wait() {
    let (_scratch, directory) = scratch_path();
    let settings = plan_with(|settings| {
        settings.procedure = "portrait".into();
        settings.set("length", "1h");
    });
    let mut log = below(45.0, &[40.0]);
    begin(&directory, &settings, &mut real_rig(&mut log));
    let record = Ledger::read(&directory).unwrap().into_record();
    let purges = record.purges().count();
    let parts = record.notes().filter(|note| matches!(note, Note::Part(_))).count();
    assert!(parts > purges, "{parts} parts and {purges} purges");
    assert_eq!(waits(&directory).len(), purges);
}

/// A resumed run waits before the first load only: later ones are in the middle of a test.
#[test]
fn a_resumed_run_waits_only_before_its_first_load() {
    let (_scratch, whole) = scratch_path();
    begin(&whole, &quick_plan(), &mut real_rig(&mut below(45.0, &[50.0, 44.0])));
    let lines = Ledger::read(&whole).unwrap().lines;
    let is_step = |line: &JournalLine| matches!(line.entry, JournalEntry::Applied { .. });
    let first_step = lines.iter().position(is_step).unwrap();
    for (keep, expected) in [(first_step, 10), (first_step + 1, 0), (lines.len() - 4, 0)] {
        let directory = interrupted_run(&whole, keep);
        let mut again = below(45.0, &[50.0, 44.0]);
        assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
        assert_eq!(again.idled, Nanos::from_secs(expected), "after {keep} lines");
        assert!(findings(&directory).verdict.unwrap().steady);
    }
}

#[test]
fn a_purge_command_is_in_the_journal_before_it_runs() {
    let (_scratch, directory) = scratch_path();
    let command = Some("/opt/tool erase {device}");
    let mut log = RigLog { purge_command: command, ..RigLog::default() };
    begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    let lines = Ledger::read(&directory).unwrap().lines;
    let is_purge = |line: &JournalLine| matches!(line.entry, JournalEntry::Purged(_));
    let purged = lines.iter().position(is_purge).unwrap();
    let journaled = lines[..purged].iter().find_map(|line| match &line.entry {
        JournalEntry::PurgeCommand(command) => Some(command.as_str()),
        _ => None,
    });
    assert_eq!(journaled, command);
    // A resumed run skips it.
    let broken = interrupted_run(&directory, lines.len() - 3);
    let mut again = RigLog { purge_command: command, ..RigLog::default() };
    assert_eq!(resume(&broken, &mut real_rig(&mut again)), RunOutcome::Complete);
    assert_eq!(again.purges, 0);
}

#[test]
fn a_failed_purge_command_is_in_the_journal_and_runs_again() {
    let (_scratch, directory) = scratch_path();
    let record = PurgeCommandRecord {
        command: "/opt/tool erase /dev/memory".into(),
        version: None,
        output: "no such drive".into(),
        failure: Some("exit status: 3".into()),
        awaited: Nanos(0),
    };
    let purge_command = Some("/opt/tool erase {device}");
    let mut log = RigLog { purge_command, ..RigLog::default() };
    log.failed_purge_command = Some(record.clone());
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    assert!(matches!(ending, RunOutcome::Halted(Halt::Refused(_))), "{ending:?}");
    let failed = || -> Vec<PurgeCommandRecord> {
        let lines = Ledger::read(&directory).unwrap().lines.into_iter();
        let failed = lines.filter_map(|line| match line.entry {
            JournalEntry::PurgeCommandFailed(record) => Some(record),
            _ => None,
        });
        failed.collect()
    };
    assert_eq!(failed(), std::slice::from_ref(&record));
    let mut again = RigLog { purge_command, ..RigLog::default() };
    assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
    assert_eq!((again.purges, failed()), (1, vec![record]));
}
