//! The surroundings of a test: the ambient temperature, a device that must cool down first, a
//! vendor's purge command, and the device's own counters.

use super::fixtures::*;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use steadfast_domain::{JournalEntry, Nanos, Op, PurgeMethod, Record};
use steadfast_runner::Ledger;

const QUICK: &str = "--profile quick --step-time 300ms";

fn record(directory: &Path) -> Record {
    Ledger::read(directory).unwrap().into_record()
}

/// Returns the value of a row of the report's head.
fn head_row(directory: &Path, label: &str) -> Option<String> {
    let findings = findings(directory);
    let rows = array(&findings["header"]["blocks"]).iter().flat_map(|block| array(&block["rows"]));
    rows.into_iter().find(|row| row["label"] == label)?["value"].as_str().map(str::to_owned)
}

#[test]
fn the_ambient_temperature_has_a_place() {
    let here = &TestDirectory::new();
    let run = |name: &str, more: &str| {
        run_ending(here, &format!("run iops {QUICK} -o {name} {more}"), &[0, 3]);
    };
    run("plain", "--target sim:small");
    assert_eq!(head_row(&here.join("plain"), "Ambient Temperature"), None);
    run("stated", "--target sim:small --ambient 23C");
    assert_eq!(head_row(&here.join("stated"), "Ambient Temperature").as_deref(), Some("23 C"));

    let sensor = here.join("temp1_input");
    std::fs::write(&sensor, "22750\n").unwrap();
    let sensor = sensor.to_str().unwrap();
    run("sensed", &format!("--target scratch.bin --size 64MiB --ambient-sensor {sensor}"));
    let sensed = head_row(&here.join("sensed"), "Ambient Temperature");
    assert_eq!(sensed.as_deref(), Some("22.8 to 22.8 C by its sensor"));
    let record = record(&here.join("sensed"));
    let readings = record.steps().map(|(_, outcome)| outcome.measurement.sensed.ambient_celsius);
    assert!(readings.collect::<Vec<_>>().iter().all(|celsius| *celsius == Some(22.75)));

    for (more, part) in [
        ("--ambient warm", "degrees Celsius"),
        ("--ambient 73F", "degrees Celsius"),
        (&*format!("--ambient-sensor {sensor}"), "not where the device is"),
    ] {
        refuse(here, &format!("run iops --target sim:small {more}"), &[part]);
    }
    let run = "run iops --target other.bin --size 64MiB --ambient-sensor no-such-label";
    refuse(here, run, &["no-such-label", "labels"]);
    assert!(!here.join("other.bin").exists(), "refused before anything is made");
}

/// The simulated drive cools towards 31 C with a time constant of 150 s.
#[test]
fn a_suite_waits_in_virtual_time_until_the_drive_is_cool() {
    let here = &TestDirectory::new();
    let target = "--target sim:small --start-below 35C";
    let suite = format!("run suite --procedures iops,latency --profile quick {target} -o run");
    run_ending(here, &suite, &[0, 3]);
    let waits: Vec<_> = record(&here.join("run")).cool_downs().copied().collect();
    assert_eq!(waits.len(), 2, "each part has a purge and a wait: {waits:?}");
    assert_eq!(waits[0].waited, Nanos::ZERO);
    let second = waits[1];
    assert!(second.from > 35.0 && second.to < 35.0, "{second:?}");
    let expected = 150.0 * ((second.from - 31.0) / 4.0).ln();
    let waited = second.waited.as_secs_f64();
    assert!((waited - expected).abs() <= 11.0, "{waited} s, {expected} s by the formula");
    assert_eq!(head_row(&here.join("run"), "Start Below").as_deref(), Some("35 C"));
    let plan = succeed(here, &format!("plan iops {target}"));
    assert!(plan.contains("less than 35 C"), "{plan}");

    // Nothing cools below the temperature of an idle drive.
    let never = "--target sim:small --start-below 30C --start-below-limit 2min";
    let output = run_ending(here, &format!("run iops {QUICK} {never} -o warm"), &[4]);
    assert!(stderr(&output).contains("--start-below"), "{}", stderr(&output));
    assert_eq!(Ledger::read(&here.join("warm")).unwrap().steps().count(), 0);
    let file = "--target none.bin --size 64MiB --start-below 45C";
    refuse(here, &format!("run iops {QUICK} {file}"), &["no temperature"]);
    assert!(!here.join("none.bin").exists());
    refuse(here, "run iops --start-below-limit 3min", &["--start-below"]);
}

/// A loop device has no temperature: nothing is written to it.
#[test]
fn a_device_without_a_temperature_is_refused_before_anything_is_written() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let before = device.written();
    let run = format!("run iops {} -o run --start-below 45C", device.confirmed());
    refuse(here, &run, &["no temperature", "--start-below"]);
    assert_eq!(device.written(), before);
    assert!(!here.join("run").exists());
}

/// The counters of the simulated drive are exact: each step's host bytes are its own I/Os, and the
/// counters of one step continue where those of the last ended.
#[test]
fn the_counters_of_every_step_follow_from_its_ios() {
    let here = &TestDirectory::new();
    run_ending(here, &format!("run iops {QUICK} --target sim:client -o run"), &[0, 3]);
    let record = record(&here.join("run"));
    let mut written = None;
    for (step, outcome) in record.steps() {
        let measurement = &outcome.measurement;
        let log = measurement.sensed.log.unwrap();
        let (before, after) = (log.before.unwrap(), log.after.unwrap());
        let value = |bytes: Option<steadfast_domain::Bytes>| bytes.unwrap().0;
        assert_eq!(value(log.host_written), value(after.host_written) - value(before.host_written));
        assert!(written.is_none_or(|last| last <= value(before.host_written)), "{}", step.place);
        written = Some(value(after.host_written));
        // I/Os that are outstanding at a step's ends are counted on one side of it.
        let own = measurement.direction(Op::Write).bytes.0;
        let slack = 256 << 20;
        assert!(value(log.host_written).abs_diff(own) <= slack, "{}", step.place);
        if value(log.host_written) > 0 {
            let ratio = value(log.nand_written) as f64 / value(log.host_written) as f64;
            assert_eq!(measurement.write_amplification.unwrap().value(), Some(ratio));
        }
        let joules = measurement.joules().unwrap();
        let idle = 0.05 * measurement.elapsed.as_secs_f64();
        assert!(joules >= idle, "{}: {joules} J", step.place);
        let commands = measurement.total().ios as f64 * 5e-6;
        let work = commands
            + value(log.nand_written) as f64 / 4096.0 * 12e-6
            + (value(log.host_written) + value(log.host_read)) as f64 * 1.5e-9;
        // As above: at most 1,024 commands are counted on the other side of an end.
        let slack = 1024.0 * 5e-6 + 1e-6 * joules;
        assert!((joules - idle - work).abs() <= slack, "{}: {joules} J", step.place);
    }
    let csv = std::fs::read_to_string(here.join("run/steps.csv")).unwrap();
    let head = csv.lines().find(|line| line.contains("Device host bytes before")).unwrap();
    assert!(head.contains("Energy J") && head.contains("Write amplification, low"), "{head}");
    let compared = succeed(here, "compare run run --long-table csv");
    assert!(compared.contains("joules-per-gb") && compared.contains("write-amplification"));
}

#[test]
fn a_vendors_purge_command_is_confirmed_recorded_and_shown() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let tool = here.join("tool");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo tool 1.0; exit; }\n\
                  blkdiscard -f -z \"$2\" || dd if=/dev/zero of=\"$2\" bs=1M count=64 conv=notrunc\n\
                  echo erased\n";
    std::fs::write(&tool, script).unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let line = format!("{} erase {{device}}", tool.display());
    let run = format!("run iops {QUICK} --target {} -o run --purge-command '{line}'", device.path);
    refuse(here, &run, &["--yes-destroy"]);
    let confirmed = format!("{run} --yes-destroy {}", device.name());
    refuse(here, &format!("{confirmed} --purge discard"), &["two purges"]);
    run_ending(here, &confirmed, &[0, 3]);
    let record = record(&here.join("run"));
    assert_eq!(record.settings.purge_command.as_deref(), Some(line.as_str()));
    let is_noted =
        |entry: &JournalEntry| matches!(entry, JournalEntry::PurgeCommand(own) if *own == line);
    assert!(record.entries.iter().any(is_noted));
    let purge = record.purge().unwrap();
    assert_eq!((purge.method, purge.blank), (PurgeMethod::VendorCommand, Some(true)));
    let run = purge.command.as_ref().unwrap();
    assert_eq!(run.version.as_deref(), Some("tool 1.0"));
    assert!(run.output.contains("erased") && run.command.ends_with(&device.path), "{run:?}");
    let shown = head_row(&here.join("run"), "Purge Method").unwrap();
    assert!(shown.contains("vendor's command") && shown.contains(&device.path), "{shown}");

    let plan = |line: &str| format!("plan iops --target sim:small --purge-command '{line}'");
    assert!(succeed(here, &plan(&line)).contains(&line));
    for (wrong, part) in [
        ("tool erase", "write {device} in its place"),
        ("", "is empty"),
        ("{device}", "give a program first"),
        ("tool {device} {device}", "2 times"),
    ] {
        refuse(here, &plan(wrong), &["--purge-command", part]);
    }
    let without = "run iops --target sim:small --purge vendor-command";
    refuse(here, without, &["--purge-command"]);
}

/// Another program limits the I/O of the group while the load runs: nothing was limited when the
/// run began.
#[test]
fn a_throttle_that_is_set_during_a_step_is_named_in_it() {
    let Some(device) = LoopDevice::new(64) else { return };
    // 0 is no limit.
    let Some(throttle) = Throttle::new(&device, 0) else { return };
    let here = &TestDirectory::new();
    let procs = throttle.procs();
    let before = device.reads();
    let load = format!("measure 'RND 4K R' --target {} --time 2s --json", device.path);
    let mut command = command_in(here, &load);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec, writes one file; 0 is the writing process.
    unsafe { command.pre_exec(move || std::fs::write(&procs, "0")) };
    let child = command.spawn().unwrap();
    wait_until("the load", || device.reads() > before + 200);
    throttle.limit(&device, 50);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer: Value = parse_json(&output);
    let group = format!("/blkio/steadfast-test-{}-{}", std::process::id(), device.name());
    let expected = serde_json::json!([
        {"group": group, "file": "blkio.throttle.read_iops", "set": "50"},
        {"group": group, "file": "blkio.throttle.write_iops", "set": "50"},
    ]);
    assert_eq!(answer["measurement"]["sensed"]["cgroup_limits"], expected);
}

/// A run whose group has a limit from the beginning has the caveat, with the group and the value.
#[test]
fn a_throttle_of_the_own_group_is_a_caveat_of_the_run() {
    let Some(device) = LoopDevice::new(64) else { return };
    let Some(throttle) = Throttle::new(&device, 400) else { return };
    let here = &TestDirectory::new();
    let run = format!("run latency -o run --purge none {QUICK} {}", device.confirmed());
    let mut command = command_in(here, &run);
    let output = throttle.run(&mut command);
    assert!(matches!(code(&output), 0 | 3), "{}", stderr(&output));
    let steps = record(&here.join("run"));
    let limits = |(_, outcome): (_, &steadfast_domain::Outcome)| {
        outcome.measurement.sensed.cgroup_limits.len()
    };
    assert!(steps.steps().map(limits).all(|count| count == 2));
    let findings = findings(here.join("run"));
    let found = caveat(&findings, "cgroup-io-limit").unwrap();
    let group = format!("/blkio/steadfast-test-{}-{}", std::process::id(), device.name());
    let expected = format!("blkio.throttle.read_iops 400 of the control group {group}");
    assert!(found["text"].as_str().unwrap().contains(&expected), "{found}");
}
