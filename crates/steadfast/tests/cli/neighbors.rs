//! `run neighbors`: on a simulated drive, on a loop device below the kernel's control groups, and
//! after it is stopped or killed.

use super::fixtures::*;
use super::real_io::issued;
use super::resume::assert_no_repeats_and_all_gaps;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use steadfast_domain::{Measurement, Op, Step};
use steadfast_runner::Ledger;

const BLKIO: &str = "/sys/fs/cgroup/blkio";

fn metric(findings: &serde_json::Value, name: &str, point: &str) -> f64 {
    let all = array(&findings["metrics"]);
    let found = all.iter().find(|one| one["metric"] == name && one["point"] == point);
    found.unwrap_or_else(|| panic!("no {name} of {point}"))["value"].as_f64().unwrap()
}

/// Runs the program, which must halt before it measures, with a line that contains all of `parts`.
#[track_caller]
fn assert_halts(directory: &Path, arguments: &str, parts: &[&str]) {
    let text = stderr(&run_ending(directory, arguments, &[4]));
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
fn control_groups(device: &LoopDevice) -> Vec<PathBuf> {
    let all = fs::read_dir(BLKIO).unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let number = name.strip_prefix("steadfast-").and_then(|rest| rest.split_once('-'));
        number.is_some_and(|(number, of)| number.parse::<u32>().is_ok() && of == device.name())
    };
    all.filter(own).collect()
}

/// A loop device of a kernel that can throttle it; prints the reason and returns `None` otherwise.
fn throttled_device() -> Option<LoopDevice> {
    if !Path::new(BLKIO).join("blkio.throttle.write_bps_device").exists() {
        skip("no cgroup v1 blkio throttle on this machine");
        return None;
    }
    LoopDevice::new(128)
}

/// Begins a run on a device that takes long enough to be disturbed.
fn begin(device: &LoopDevice, state: &Path, step_time: &str) -> Child {
    let run = format!(
        "run neighbors --profile quick --step-time {step_time} -o run --set rate=200 \
         --set controls=io.max --set limit=20MB/s --purge none {}",
        device.confirmed()
    );
    let mut command = command_in(state, &run);
    command.env("STATE_DIRECTORY", state).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until("the offender in its group", || !offenders(device).is_empty());
    child
}

/// Processes in the offender's groups of a device.
fn offenders(device: &LoopDevice) -> Vec<u32> {
    let mut all = Vec::new();
    for group in control_groups(device) {
        let text = fs::read_to_string(group.join("offender/cgroup.procs")).unwrap_or_default();
        all.extend(text.lines().map(|line| line.parse::<u32>().unwrap()));
    }
    all
}

/// The simulated drive has one queue and no kernel: the loads share it, and every control has a row
/// that says why it is unavailable.
#[test]
fn loads_on_a_simulated_drive_share_its_queue() {
    let here = &TestDirectory::new();
    let run = |name: &str| {
        let run = "run neighbors --profile quick --target sim:small --seed 7 -o";
        succeed(here, &format!("{run} {name}"));
        findings(here.join(name))
    };
    let first = run("run");
    let steps = grouped_steps(here);
    assert_eq!(steps.len(), 2 + 2 * 4, "victim, offender, four cycles");
    // The offender's 32 writes of 128 KiB and the victim's reads wait in one queue.
    let none = "SEQ 128K W / none";
    // The victim cannot keep up with it, so no time of it is a result.
    let metrics = array(&first["metrics"]);
    let of_none = |name: &str| metrics.iter().any(|m| m["metric"] == name && m["point"] == none);
    assert!(!of_none("isolation") && !of_none("p99-on"), "{first}");
    assert!(metric(&first, "p99-off", none) < 1.0);
    // An open loop counts the wait from the time at which each I/O was due.
    let (_, on) = steps.iter().find(|(step, _)| step.place.point == 2).unwrap();
    let victim = &on.concurrent_loads().next().unwrap().streams[0].tally;
    assert!(victim.response_max.as_millis_f64() > 400.0, "{}", victim.response_max);
    let table = fs::read_to_string(here.join("run/neighbors-controls.csv")).unwrap();
    assert_eq!(table.matches("unavailable: ").count(), 4, "{table}");
    assert!(table.contains("io.max") && table.contains("io.bfq.weight"));
    assert_eq!(run("again")["metrics"], first["metrics"], "virtual time");
    let named = "run neighbors --profile quick --target sim:small --set controls=io.max";
    assert_halts(here, named, &["io.max is unavailable here", "simulated"]);
}

/// With a limit of N bytes per second, the offender moves N; and every I/O of both processes is one
/// of the kernel's.
#[test]
fn an_offender_with_a_limit_moves_that_much() {
    let Some(device) = throttled_device() else { return };
    let here = &TestDirectory::new();
    let output = unless_stalled(|| {
        let _ = fs::remove_dir_all(here.join("run"));
        let run = format!(
            "run neighbors {} --purge none --profile quick --step-time 2s --set rate=300 \
             --set controls=io.max --set limit=20MB/s --set cycles=2 -o run \
             --set 'offenders=SEQ 128K W,RND 64K RW50'",
            device.confirmed()
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
        let (reads, writes) = (issued(&measured, Op::Read).ios, issued(&measured, Op::Write).ios);
        assert_eq!((kernel.reads, kernel.writes), (reads, writes), "{}", step.place);
    }
    assert_eq!(control_groups(&device), Vec::<PathBuf>::new(), "removed at the end");
}

/// Another program raises the offender's limit while the loads run: the run reads it back at its end.
#[test]
fn a_limit_that_another_program_changes_is_disclosed() {
    let Some(device) = throttled_device() else { return };
    let state = &TestDirectory::new();
    let child = begin(&device, state, "1s");
    let limit = || {
        let group = control_groups(&device).pop()?.join("offender/blkio.throttle.write_bps_device");
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
    let findings = findings(state.join("run"));
    let changed = caveat(&findings, "conditions-changed").unwrap()["text"].as_str().unwrap();
    assert!(changed.contains("was io.max") && changed.contains("wbps=20000000"), "{changed}");
}

/// Runs the program with its state in a directory, which must succeed.
fn succeed_with_state(state: &Path, arguments: &str) -> String {
    let output = command_in(state, arguments).env("STATE_DIRECTORY", state).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_stopped_run_leaves_no_process_and_no_group() {
    let Some(device) = throttled_device() else { return };
    let state = &TestDirectory::new();
    let child = begin(&device, state, "60s");
    let processes = offenders(&device);
    signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()));
    assert_eq!(control_groups(&device), Vec::<PathBuf>::new());
}

#[test]
fn the_groups_of_a_killed_run_are_removed_by_restore() {
    let Some(device) = throttled_device() else { return };
    let state = &TestDirectory::new();
    let mut child = begin(&device, state, "60s");
    let processes = offenders(&device);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of its processes", || {
        processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists())
    });
    assert_eq!(control_groups(&device).len(), 1, "nobody has removed it");
    let text = succeed_with_state(state, "restore run");
    assert!(text.contains("control group blkio/steadfast-"), "{text}");
    assert_eq!(control_groups(&device), Vec::<PathBuf>::new());
}

/// Killed with the offender on: the resumed run removes the groups of the killed one, repeats no
/// finished step and leaves nothing.
#[test]
fn a_killed_run_is_resumed_in_groups_of_its_own() {
    let Some(device) = throttled_device() else { return };
    let state = &TestDirectory::new();
    let mut child = begin(&device, state, "2s");
    wait_until("a step with groups", || !grouped_steps(state).is_empty());
    wait_until("the offender", || !offenders(&device).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    succeed_with_state(state, "resume run");
    assert_eq!(control_groups(&device), Vec::<PathBuf>::new());
    assert_no_repeats_and_all_gaps(&state.join("run"));
    // The offender alone, and four times off and on without a rule and with one.
    assert_eq!(grouped_steps(state).len(), 1 + 2 * 2 * 4);
}

#[test]
fn what_cannot_run_is_refused_in_one_line() {
    let here = &TestDirectory::new();
    let run = "run neighbors --profile quick --target";
    refuse(here, &format!("{run} sim:small --set rate=0"), &["rate", "'0'"]);
    refuse(here, &format!("{run} sim:small --set rate=2000000"), &["2000000 IOPS", "2 threads"]);
    refuse(here, &format!("{run} sim:small --set offenders=SEQ"), &["offenders"]);
    let file = format!("{run} scratch.bin --size 128MiB");
    assert_halts(here, &file, &["control groups", "not a block device"]);
    // Only the program itself starts it.
    refuse(here, "attend-load", &["take over a load"]);
}
