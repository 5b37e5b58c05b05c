//! Power cuts: of every simulated behavior, and of a loop device that fails and returns.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, PowerLossBehavior, ViolationKind};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::{Halt, JournalEntry, Settings};
use steadfast_engine::StopSignal;
use steadfast_engine::native::{Native, NativeOptions};
use steadfast_engine::sim::{SimulatedSsd, drive};
use steadfast_host::{Consent, SystemRoots, arm, confirmation, inspect};
use steadfast_runner::progress::NoProgress;
use steadfast_runner::real_rig::DeviceRig;
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{CUT_LOG, Ledger, Rig, RunPlan};

fn settings(cycles: &str) -> Settings {
    let mut settings = Settings::new("power-cut", 10_007);
    for (name, value) in
        [("cycles", cycles), ("area", "1"), ("block", "4"), ("flush-every", "8"), ("within", "1s")]
    {
        settings.parameters.insert(name.to_owned(), value.to_owned());
    }
    settings
}

/// Starts or resumes a run in `directory`.
fn run(directory: &Path, rig: &mut dyn Rig, settings: &Settings) -> RunOutcome {
    let plan = RunPlan {
        version: RECORD_VERSION,
        software: "steadfast 0".to_owned(),
        began_unix_ms: 0,
        engine: "uring".to_owned(),
        device: rig.device().clone(),
        settings: settings.clone(),
    };
    let procedure = steadfast_procedures::procedure(settings, plan.geometry(), &[]).unwrap();
    let (ledger, lines) = if directory.exists() {
        let (ledger, contents) = Ledger::open(directory).unwrap();
        (ledger, contents.lines)
    } else {
        (Ledger::create(directory, &plan).unwrap(), Vec::new())
    };
    conduct(&*procedure, rig, ledger, &lines, "steadfast 0", &mut NoProgress).unwrap()
}

fn outcomes(directory: &Path) -> Vec<PowerCutOutcome> {
    let lines = Ledger::read(directory).unwrap().lines;
    let judged = lines.into_iter().filter_map(|line| match line.entry {
        JournalEntry::PowerCutJudged(outcome) => Some(*outcome),
        _ => None,
    });
    judged.collect()
}

#[test]
fn simulated_drives_are_found_out_in_every_cycle_and_the_honest_one_never() {
    let scratch = tempfile::tempdir().unwrap();
    for (behavior, kind) in [
        (PowerLossBehavior::Honest, None),
        (PowerLossBehavior::DropsFlushed, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::IgnoresFlushes, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::TearsSector, Some(ViolationKind::TornSector)),
        (PowerLossBehavior::Reorders, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::Misplaces, Some(ViolationKind::Misplaced)),
    ] {
        let spec = drive("small").unwrap().clone().with_power_loss(behavior);
        let ssd = SimulatedSsd::new(&spec, 7, StopSignal::default());
        let directory = scratch.path().join(format!("{behavior:?}"));
        let ended = run(&directory, &mut SimulatedRig::new(ssd, None), &settings("200"));
        assert_eq!(ended, RunOutcome::Complete);
        let all = outcomes(&directory);
        assert!(all.len() == 200 && all.iter().all(PowerCutOutcome::is_test));
        let moments: BTreeSet<u64> = all.iter().map(|outcome| outcome.acknowledged).collect();
        assert!(moments.len() > 100, "random moments: {moments:?}");
        for (cycle, outcome) in all.iter().enumerate() {
            match kind {
                None => assert!(outcome.counts.is_empty(), "cycle {cycle}: {outcome:?}"),
                Some(kind) => assert!(outcome.counts.contains_key(&kind), "{kind:?}: {outcome:?}"),
            }
        }
    }
}

/// Sets the size limit of a loop device: at 512 bytes it is as good as gone, at 0 it is back.
fn limit(device: &str, bytes: u64) {
    const SET_STATUS: libc::Ioctl = 0x4c04;
    const GET_STATUS: libc::Ioctl = 0x4c05;
    let node = File::options().read(true).write(true).open(device).unwrap();
    // struct loop_info64 of linux/loop.h; its size limit is the fifth word.
    let mut status = [0u64; 29];
    // SAFETY: both calls read or write one loop_info64, 232 bytes, which outlives them.
    unsafe {
        assert_eq!(libc::ioctl(node.as_raw_fd(), GET_STATUS, status.as_mut_ptr()), 0);
        status[4] = bytes;
        assert_eq!(libc::ioctl(node.as_raw_fd(), SET_STATUS, status.as_mut_ptr()), 0);
    }
}

/// A loop device, detached on drop.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn rig(device: &str) -> DeviceRig {
    let roots = SystemRoots::real();
    let found = inspect(Path::new(device), &roots).unwrap();
    let confirmation = Some(confirmation(&found, &roots).unwrap());
    let target = arm(&found, &Consent::Destroy { confirmation }, &[], &roots).unwrap();
    let stop = StopSignal::default();
    let engine = Native::new(target, stop.clone(), NativeOptions::default()).unwrap();
    DeviceRig::new(engine, roots, stop)
}

/// The device fails in the first cycle, and while it is gone a flushed block is zeroed and a
/// sector of another is damaged. It returns, and fails again.
#[test]
fn a_device_that_fails_and_returns_is_read_back_and_its_losses_are_found() {
    let backing = tempfile::NamedTempFile::new().unwrap();
    backing.as_file().set_len(128 << 20).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(backing.path()).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        println!("skip: no loop device");
        return;
    };
    let device = Loop(String::from_utf8(made.stdout).unwrap().trim().to_owned());
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    let log = directory.join(CUT_LOG);
    let flushes = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    let mut before = 0;
    for cycle in 1..=2 {
        let mut rig = rig(&device.0);
        let ended = std::thread::scope(|scope| {
            // 256 blocks in batches of 8: each was written after 32 flushes.
            scope.spawn(|| {
                while flushes() < before + 40 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                limit(&device.0, 512);
            });
            run(&directory, &mut rig, &settings("2"))
        });
        assert!(matches!(ended, RunOutcome::Halted(Halt::PowerCut { .. })), "{ended:?}");
        let contents = Ledger::read(&directory).unwrap();
        assert_eq!(contents.awaited_trial().map(|trial| trial.cycle), Some(cycle));
        if cycle == 1 {
            backing.as_file().write_all_at(&[0; 4096], 5 * 4096).unwrap();
            backing.as_file().write_all_at(&[7; 100], 9 * 4096 + 512 + 200).unwrap();
        }
        before = flushes();
        limit(&device.0, 0);
    }
    assert_eq!(run(&directory, &mut rig(&device.0), &settings("2")), RunOutcome::Complete);
    let found = outcomes(&directory);
    assert!(found.iter().all(|outcome| outcome.evidence == CutEvidence::DeviceFailed));
    assert!(found.iter().all(|outcome| outcome.blocks == 256 && outcome.flushes >= 40));
    let planted: Vec<(ViolationKind, u64)> =
        found[0].violations.iter().map(|one| (one.kind, one.offset.0)).collect();
    let expected = [(ViolationKind::LostFlushed, 5 * 4096), (ViolationKind::TornSector, 9 * 4096)];
    assert_eq!(planted, expected);
    assert!(found.len() == 2 && found[1].counts.is_empty(), "{:?}", found[1]);
}
