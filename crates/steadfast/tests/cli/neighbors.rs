//! `run neighbors`: on a simulated drive, on a loop device below the kernel's control groups, and
//! what is left of it when it is stopped or killed.

use super::resume::repeats_no_step_and_tells_every_gap;
use super::scratch::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use steadfast_domain::{Measurement, Step};
use steadfast_runner::Ledger;

const BLKIO: &str = "/sys/fs/cgroup/blkio";

fn metric(findings: &serde_json::Value, name: &str, point: &str) -> f64 {
    let all = array(&findings["metrics"]);
    let found = all.iter().find(|one| one["metric"] == name && one["point"] == point);
    found.unwrap_or_else(|| panic!("no {name} of {point}"))["value"].as_f64().unwrap()
}

/// Runs the program, which must halt before it measures, with a line that says all of `parts`.
#[track_caller]
fn halt(directory: &Path, arguments: &[&str], parts: &[&str]) {
    let output = run_in(directory, arguments);
    let text = stderr(&output);
    assert_eq!(code(&output), 4, "{text}");
    let line = text.lines().find(|line| line.contains("halted: ")).unwrap_or_default();
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    assert!(!text.contains("wipc 1"), "nothing was written: {text}");
}

/// Steps with control groups, in order.
fn grouped_steps(directory: &Path) -> Vec<(Step, Measurement)> {
    let contents = Ledger::read(&directory.join("run")).unwrap();
    let grouped = contents.steps().filter(|(step, _)| !step.groups.is_empty());
    grouped.map(|(step, outcome)| (step.clone(), outcome.measurement.clone())).collect()
}

/// Directories of control groups that were made for a device.
fn groups(device: &LoopDevice) -> Vec<PathBuf> {
    let all = fs::read_dir(BLKIO).unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let number = name.strip_prefix("steadfast-").and_then(|rest| rest.split_once('-'));
        number.is_some_and(|(number, of)| number.parse::<u32>().is_ok() && of == device.name())
    };
    all.filter(own).collect()
}

/// A loop device below a kernel that can throttle it; `None` with the reason printed.
fn throttled_device() -> Option<LoopDevice> {
    if !Path::new(BLKIO).join("blkio.throttle.write_bps_device").exists() {
        skip("no cgroup v1 blkio throttle on this machine");
        return None;
    }
    LoopDevice::new(128)
}

/// A run on a device that takes long enough to be disturbed.
fn begin(device: &LoopDevice, state: &Path, step_time: &str) -> Child {
    let target = ["--target", &device.path, "--yes-destroy", device.name(), "--purge", "none"];
    let child = steadfast()
        .current_dir(state)
        .env("STATE_DIRECTORY", state)
        .args(["run", "neighbors", "--profile", "quick", "--step-time", step_time, "-o", "run"])
        .args(["--set", "rate=200", "--set", "controls=io.max", "--set", "limit=20MB/s"])
        .args(target)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the offender in its group", || !offenders(device).is_empty());
    child
}

/// Processes in the offender's groups of a device.
fn offenders(device: &LoopDevice) -> Vec<u32> {
    let mut all = Vec::new();
    for group in groups(device) {
        let text = fs::read_to_string(group.join("offender/cgroup.procs")).unwrap_or_default();
        all.extend(text.lines().map(|line| line.parse::<u32>().unwrap()));
    }
    all
}

/// The simulated drive has one queue and no kernel: the loads share it, and every control is a row
/// that says why it is unavailable.
#[test]
fn loads_on_a_simulated_drive_share_its_queue() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let words = "run neighbors --profile quick --target sim:small --seed 7 -o";
        succeed(scratch.path(), &format!("{words} {name}"));
    };
    run("run");
    let first = findings(scratch.path().join("run"));
    let steps = grouped_steps(scratch.path());
    assert_eq!(steps.len(), 2 + 2 * 4, "victim, offender, four cycles");
    // The offender's 32 writes of 128 KiB and the victim's reads wait in one queue.
    let none = "SEQ 128K W / none";
    // The victim cannot keep up beside it, so no time of it is a result.
    let metrics = array(&first["metrics"]);
    let of_none = |name: &str| metrics.iter().any(|m| m["metric"] == name && m["point"] == none);
    assert!(!of_none("isolation") && !of_none("p99-on"), "{first}");
    assert!(metric(&first, "p99-off", none) < 1.0);
    // An open loop counts the wait from the time at which each I/O was due.
    let (_, on) = steps.iter().find(|(step, _)| step.place.point == 2).unwrap();
    let victim = &on.apart().next().unwrap().0[0].tally;
    assert!(victim.response_max.as_millis_f64() > 400.0, "{}", victim.response_max);
    let table = fs::read_to_string(scratch.path().join("run/neighbors-controls.csv")).unwrap();
    assert_eq!(table.matches("unavailable: ").count(), 4, "{table}");
    assert!(table.contains("io.max") && table.contains("io.bfq.weight"));
    fs::rename(scratch.path().join("run"), scratch.path().join("first")).unwrap();
    run("run");
    assert_eq!(findings(scratch.path().join("run"))["metrics"], first["metrics"], "virtual time");
    let named = "run neighbors --profile quick --target sim:small --set controls=io.max".words();
    halt(scratch.path(), &named, &["io.max is unavailable here", "simulated"]);
}

/// With a limit of N bytes per second, the offender moves N; and every I/O of both processes is one
/// of the kernel's.
#[test]
fn an_offender_with_a_limit_moves_that_much() {
    let Some(device) = throttled_device() else { return };
    let here = &TestDirectory::new();
    let output = unless_stalled(|| {
        let _ = fs::remove_dir_all(here.join("run"));
        let (target, name) = (&device.path, device.name());
        let run = format!(
            "run neighbors --target {target} --yes-destroy {name} --purge none --profile quick \
             --step-time 2s --set rate=300 --set controls=io.max --set limit=20MB/s \
             --set 'offenders=SEQ 128K W,RND 64K RW50' --set cycles=2 -o run"
        );
        run_in(here, &run)
    });
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found = findings(here.join("run"));
    for offender in ["SEQ 128K W", "RND 64K RW50"] {
        let limited = metric(&found, "offender-throughput", &format!("{offender} / io.max"));
        assert!((limited / 20.0 - 1.0).abs() < 0.05, "{offender}: {limited} MB/s of 20");
        let free = metric(&found, "offender-throughput", &format!("{offender} / none"));
        assert!(free > 2.0 * limited, "{offender}: {free} MB/s without a limit");
    }
    for (step, measured) in grouped_steps(here) {
        let kernel = measured.kernel.unwrap();
        let own = |op| {
            let late = measured.unmeasured.iter().filter(|part| part.op == op);
            measured.direction(op).ios + late.map(|part| part.ios).sum::<u64>()
        };
        let (reads, writes) = (own(steadfast_domain::Op::Read), own(steadfast_domain::Op::Write));
        assert_eq!((kernel.reads, kernel.writes), (reads, writes), "{}", step.place);
    }
    assert_eq!(groups(&device), Vec::<PathBuf>::new(), "removed at the end");
}

/// Another program raises the offender's limit while the loads run: the run reads it back at its end.
#[test]
fn a_limit_that_another_program_changes_is_disclosed() {
    let Some(device) = throttled_device() else { return };
    let state = tempfile::tempdir().unwrap();
    let child = begin(&device, state.path(), "1s");
    let limit = || {
        let group = groups(&device).pop()?.join("offender/blkio.throttle.write_bps_device");
        let text = fs::read_to_string(&group).ok()?;
        (!text.trim().is_empty()).then_some((group, text))
    };
    let mut found = None;
    wait_until("the limit during a cycle", || {
        found = limit();
        found.is_some() && !offenders(&device).is_empty()
    });
    let (file, text) = found.unwrap();
    let number = text.split(' ').next().unwrap();
    fs::write(&file, format!("{number} 50000000")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let findings = findings(state.path().join("run"));
    let caveats = array(&findings["caveats"]);
    let changed = caveats.iter().find(|caveat| caveat["id"] == "conditions-changed").unwrap();
    let text = changed["text"].as_str().unwrap();
    assert!(text.contains("was io.max") && text.contains("wbps=20000000"), "{text}");
}

#[test]
fn a_stopped_run_leaves_no_process_and_no_group() {
    let Some(device) = throttled_device() else { return };
    let state = tempfile::tempdir().unwrap();
    let child = begin(&device, state.path(), "60s");
    let processes = offenders(&device);
    // SAFETY: kill takes any pid and signal; the child is ours and not yet reaped.
    assert_eq!(unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM) }, 0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()));
    assert_eq!(groups(&device), Vec::<PathBuf>::new());
}

#[test]
fn the_groups_of_a_killed_run_are_removed_by_restore() {
    let Some(device) = throttled_device() else { return };
    let state = tempfile::tempdir().unwrap();
    let mut child = begin(&device, state.path(), "60s");
    let processes = offenders(&device);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of its processes", || {
        processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists())
    });
    assert_eq!(groups(&device).len(), 1, "nobody has removed it");
    let mut restore = steadfast();
    let restore = restore.current_dir(state.path()).env("STATE_DIRECTORY", state.path());
    let output = restore.args(["restore", "run"]).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("control group blkio/steadfast-"), "{}", stdout(&output));
    assert_eq!(groups(&device), Vec::<PathBuf>::new());
}

/// Killed with the offender on: the run that is resumed removes the groups of the killed one,
/// repeats no finished step and leaves nothing.
#[test]
fn a_killed_run_is_resumed_in_groups_of_its_own() {
    let Some(device) = throttled_device() else { return };
    let state = tempfile::tempdir().unwrap();
    let mut child = begin(&device, state.path(), "2s");
    wait_until("a step with groups", || !grouped_steps(state.path()).is_empty());
    wait_until("the offender", || !offenders(&device).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let mut resume = steadfast();
    let resume = resume.current_dir(state.path()).env("STATE_DIRECTORY", state.path());
    let output = resume.args(["resume", "run"]).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(groups(&device), Vec::<PathBuf>::new());
    repeats_no_step_and_tells_every_gap(&state.path().join("run"));
    // The offender alone, and four times off and on without a rule and with one.
    assert_eq!(grouped_steps(state.path()).len(), 1 + 2 * 2 * 4);
}

#[test]
fn what_cannot_run_is_refused_in_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    let on = |target: &'static str, more: &[&'static str]| {
        let all = ["run", "neighbors", "--profile", "quick", "--target", target];
        all.iter().chain(more).copied().collect::<Vec<_>>()
    };
    let sim = |set: &'static str| on("sim:small", &["--set", set]);
    refuse(scratch.path(), &sim("rate=0"), &["rate", "'0'"]);
    refuse(scratch.path(), &sim("rate=2000000"), &["2000000 IOPS", "2 threads"]);
    refuse(scratch.path(), &sim("offenders=SEQ"), &["offenders"]);
    let file = on("scratch.bin", &["--size", "128MiB"]);
    halt(scratch.path(), &file, &["control groups", "not a block device"]);
    // Only the program itself starts it.
    refuse(scratch.path(), &["attend-load"], &["take over a load"]);
}
