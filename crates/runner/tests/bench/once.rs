//! One step outside a run, and two engines that take turns with such steps.

use super::{MemoryRig, RigLog, device, real_rig, scratch_path};
use std::path::{Path, PathBuf};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Bytes, Caveat, Demand, Halt, Nanos};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{SimulatedSsd, drives};
use steadfast_runner::calibrate::{
    CalibrateError, Calibration, CalibrationContext, CalibrationEngine, CalibrationEvent,
    CalibrationPoint, Judgement, agree,
};
use steadfast_runner::host_changes::abandoned_changes;
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{HostChanges, Rig, SingleLoad, SingleLoadResult, apply_once};

fn single(pattern: AccessPattern) -> SingleLoad {
    SingleLoad {
        name: pattern.to_string(),
        streams: pattern.streams(),
        demand: Demand::new(1, 8),
        pace: Default::default(),
        data_pattern: Default::default(),
        active_range_percent: 50,
        ramp: Nanos::ZERO,
        time: None,
        ios: None,
        seed: 7,
        verify: false,
    }
}

fn journal(directory: &Path) -> HostChanges {
    HostChanges::new(Ok(directory.to_owned()), "measure".into(), 7)
}

fn apply(rig: &mut MemoryRig<'_>, may_write: bool, changes: &mut HostChanges) -> SingleLoadResult {
    let step = single(AccessPattern::random(Bytes::kib(4), 65)).step(&device(), 1);
    let prepared = rig.prepare(&step).unwrap();
    apply_once(rig, prepared, may_write, changes, &mut |_| ())
}

#[test]
fn a_single_load_lasts_ten_seconds_by_default() {
    let mut load = single(AccessPattern::random(Bytes::kib(4), 65));
    assert!(load.alters());
    assert!(!single(AccessPattern::random(Bytes::kib(4), 100)).alters());
    let until = |load: &SingleLoad| load.step(&device(), 1).load.stimulus().unwrap().until;
    assert_eq!(until(&load).time, Some(Nanos::from_secs(10)));
    load.ios = Some(10_007);
    assert_eq!((until(&load).time, until(&load).ios), (None, Some(10_007)));
    load.time = Some(Nanos::SECOND);
    assert_eq!((until(&load).time, until(&load).ios), (Some(Nanos::SECOND), Some(10_007)));
}

/// Request merging is restored however the step ends, and is changed only if the target may be
/// written.
#[test]
fn the_host_is_restored_after_a_failed_step() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    let caveat = Caveat::deviation("x", "of the engine", "");
    log.caveats = vec![caveat.clone()];
    let mut memory = real_rig(&mut log);
    let done = apply(&mut memory, true, &mut journal(&directory));
    assert!(done.result.is_ok());
    assert_eq!((done.checks.len(), done.caveats), (1, vec![caveat]));
    memory.halt_after = 0;
    let halted = apply(&mut memory, true, &mut journal(&directory));
    assert!(matches!(halted.result, Err(Halt::Stopped)));
    assert_eq!(log.setting, "0");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

/// A measurement counts even if the host cannot be restored, and a halt is not hidden by that.
#[test]
fn a_failed_restore_does_not_hide_the_result() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    let mut memory = real_rig(&mut log);
    memory.log.stuck = Some(super::SETTING);
    let done = apply(&mut memory, true, &mut journal(&directory));
    assert!(done.result.is_ok());
    let message = done.failure().unwrap().to_string();
    assert!(message.contains("stuck") && message.contains("steadfast restore"), "{message}");
    assert_eq!(abandoned_changes(&directory).unwrap()[0].changes.len(), 1);
    memory.log.setting = "0".into();
    memory.halt_after = 0;
    let halted = apply(&mut memory, true, &mut journal(&directory.with_file_name("second")));
    assert_eq!(halted.result, Err(Halt::Stopped));
    let message = halted.failure().unwrap().to_string();
    assert!(message.contains("stopped on request") && message.contains("stuck"), "{message}");
}

/// One setting that cannot be restored keeps no other changed.
#[test]
fn one_stuck_change_does_not_stop_the_others() {
    let (_scratch, directory) = scratch_path();
    let mut changes = journal(&directory);
    for name in ["a", "b", "c"] {
        let change = HostChange { setting: name.into(), ..HostChange::default() };
        changes.journal(&change).unwrap();
    }
    let mut tried = Vec::new();
    let undone = changes.undo(&mut |change| {
        tried.push(change.setting.clone());
        if change.setting == "a" { Ok(()) } else { Err(Halt::Refused(change.setting.clone())) }
    });
    assert_eq!((undone, tried.concat()), (Err(Halt::Refused("c".into())), "cba".to_owned()));
    drop(changes);
    let abandoned = abandoned_changes(&directory).unwrap();
    let settings: Vec<&str> =
        abandoned[0].changes.iter().map(|change| change.setting.as_str()).collect();
    assert_eq!(settings, ["b", "c"]);
}

#[test]
fn a_read_only_target_leaves_the_host_unchanged() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    apply(&mut real_rig(&mut log), false, &mut journal(&directory)).result.unwrap();
    assert!(!directory.exists());
}

/// A kill between a change and its undoing leaves a journal that `restore` reads.
#[test]
fn a_change_of_a_killed_process_is_left_for_restore() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    let mut changes = journal(&directory);
    let wanted = steadfast_domain::Conditions { merges: Some(false), ..Default::default() };
    real_rig(&mut log).settle(&wanted, &mut |change| changes.journal(change)).unwrap();
    drop(changes);
    let abandoned = abandoned_changes(&directory).unwrap();
    assert_eq!((abandoned.len(), abandoned[0].changes[0].before.as_str()), (1, "0"));
}

/// Simulated drives in place of the engines.
struct SimulatedTargets {
    directory: PathBuf,
    events: Vec<String>,
}

impl CalibrationContext for SimulatedTargets {
    type Error = CalibrateError;

    fn rig(&mut self, _: CalibrationEngine) -> Result<Box<dyn Rig>, CalibrateError> {
        let ssd = SimulatedSsd::new(&drives()[0], 1, StopSignal::default());
        Ok(Box::new(SimulatedRig::new(ssd, None)))
    }
    fn journal(&mut self) -> HostChanges {
        journal(&self.directory)
    }
    fn report(&mut self, event: &CalibrationEvent<'_>) {
        match event {
            CalibrationEvent::Filling(bytes) => self.events.push(format!("filling {}", bytes.0)),
            CalibrationEvent::Read { point, repeat, engine, .. } => {
                self.events.push(format!("{point} {repeat} {engine}"));
            }
            CalibrationEvent::OwnCost(_) | CalibrationEvent::Remarks { .. } => {}
        }
    }
}

fn calibration(may_write: bool) -> Calibration {
    let points = vec!["RND 4K R T1Q8".parse::<CalibrationPoint>().unwrap()];
    Calibration {
        range: Calibration::range(&points, Bytes(10_000_000), Bytes::gib(1)),
        points,
        time: Nanos::from_millis(200),
        ramp: Nanos::ZERO,
        repeats: 3,
        within_percent: 5.0,
        seed: 1,
        may_write,
        sends_flushes: false,
    }
}

#[test]
fn engines_take_turns_and_equal_ones_agree() {
    let (_scratch, directory) = scratch_path();
    let mut targets = SimulatedTargets { directory, events: Vec::new() };
    let calibrated = calibration(true).conduct(&mut targets).unwrap();
    let turns = ["uring", "fio", "fio", "uring", "uring", "fio"];
    let runs = turns.iter().zip([1, 1, 2, 2, 3, 3]);
    let mut expected = vec![format!("filling {}", 10_000_000 / 4096 * 4096)];
    expected.extend(runs.map(|(engine, repeat)| format!("RND 4K R T1Q8 {repeat} {engine}")));
    assert_eq!(targets.events, expected);
    let comparison = &calibrated.comparisons[0];
    assert_eq!((comparison.judgement, &comparison.ratios[..]), (Judgement::Agree, &[1.0; 3][..]));
    assert!(agree(&calibrated.comparisons));
}

/// The highest rate is what the drive completes of a rate that is beyond it; the others are shares
/// of it, and nothing is late in virtual time.
#[test]
fn commits_and_rates_have_own_costs() {
    let (_scratch, directory) = scratch_path();
    let mut targets = SimulatedTargets { directory, events: Vec::new() };
    let costs = calibration(true).conduct(&mut targets).unwrap().own_costs;
    let [commits, highest, rates @ ..] = &costs[..] else { panic!("{costs:?}") };
    assert_eq!((commits.point.as_str(), commits.offered_iops), ("RND 4K W FLUSH/1 T1Q1", None));
    assert!(commits.flush_mean_ns < commits.mean_ns, "{commits:?}");
    assert_eq!(commits.start_error_max_ns, None);
    assert_eq!((highest.point.as_str(), highest.offered_iops), ("RND 4K R T1Q256", Some(1e6)));
    assert!(highest.iops > 5_000.0 && highest.iops < 1e5, "{highest:?}");
    for (share, rate) in [0.25, 0.5, 0.75, 0.9].into_iter().zip(rates) {
        let offered = rate.offered_iops.unwrap();
        assert!((offered / highest.iops / share - 1.0).abs() < 1e-6, "{rate:?}");
        assert!((rate.iops / offered - 1.0).abs() < 0.2, "{rate:?}");
        assert_eq!((rate.start_error_p50_ns, rate.start_error_max_ns), (Some(0), Some(0)));
    }
    let read_only = calibration(false).conduct(&mut targets).unwrap().own_costs;
    assert_eq!((rates.len(), read_only.len()), (4, 5), "no commits on a read-only target");
}

/// Three repeats of two runs and five rates of 200 ms, with half a second of overhead for each.
#[test]
fn the_duration_is_known_in_advance() {
    assert!((calibration(false).expected_seconds() - 7.7).abs() < 1e-9);
}
