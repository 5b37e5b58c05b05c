//! Several targets at the same time.

use super::fixtures::*;
use super::real_io::issued;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::record::Note;
use steadfast_domain::{JournalEntry, Op, caveats};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::JournalLine;

/// Two loop devices of different sizes; prints the reason and returns `None` if there are none.
fn devices() -> Option<[LoopDevice; 2]> {
    Some([LoopDevice::new(64)?, LoopDevice::new(96)?])
}

fn begin(devices: &[LoopDevice; 2], step: &str) -> String {
    let mut begin = format!("run iops --profile quick --step-time {step} -o both");
    for device in devices {
        begin += &format!(" {}", device.confirmed());
    }
    begin
}

fn starts(run: &Path) -> Vec<CommonStart> {
    Ledger::read(run).unwrap().common_starts()
}

/// Every step of both runs agrees with the kernel's counts of its own device, the loads
/// begin at the same moments, and there is a report over both.
#[test]
fn two_devices_are_tested_together_and_each_agrees_with_its_diskstats() {
    let Some(devices) = devices() else { return };
    let here = &TestDirectory::new();
    let output = run_ending(here, &begin(&devices, "300ms"), &[0, 3]);
    let both = here.join("both");
    for device in &devices {
        let contents = Ledger::read(&both.join(device.name())).unwrap();
        let mut checked = 0;
        for (step, outcome) in contents.steps() {
            let measurement = &outcome.measurement;
            let Some(kernel) = measurement.kernel else { continue };
            for (op, bytes) in [(Op::Read, kernel.read_bytes), (Op::Write, kernel.write_bytes)] {
                let sum = issued(measurement, op);
                assert_eq!(sum.bytes, bytes.0, "{}: {}", device.path, step.place);
            }
            checked += 1;
        }
        assert!(checked >= 5 * 9, "{checked} steps of {}", device.path);
        let is_shared = |line: &&JournalLine| match &line.entry {
            JournalEntry::Noted(note) => {
                matches!(&**note, Note::Caveat(c) if c.id == caveats::SHARED_HOST)
            }
            _ => false,
        };
        assert_eq!(contents.lines.iter().filter(is_shared).count(), 1);
    }
    let [a, b] = [&devices[0], &devices[1]].map(|device| starts(&both.join(device.name())));
    let common = a.iter().filter(|start| b.iter().any(|other| other.agreed == start.agreed));
    let common = common.count();
    assert!(common >= 5 * 9, "{common} of {} and {} began together", a.len(), b.len());
    assert!(a.iter().chain(&b).all(|start| start.targets == 2 && start.late.is_some()));
    let text = stdout(&output);
    assert_contains(&text, &["Run directory", devices[0].name(), devices[1].name()]);
    for file in ["report.html", "findings.json", "targets.json"] {
        assert!(both.join(file).is_file(), "{file}");
    }
    assert!(caveat(&findings(both), "shared-host").is_some());
}

/// If one target is refused, nothing is written to the other, and no directory is made.
#[test]
fn where_one_target_is_refused_none_is_touched() {
    let Some(devices) = devices() else { return };
    let here = &TestDirectory::new();
    let blank = std::fs::read(&devices[0].path).unwrap();
    let confirmation = format!(" --yes-destroy {}", devices[1].name());
    let confirmed = begin(&devices, "100ms");
    let unconfirmed = confirmed.strip_suffix(&confirmation).unwrap();
    let parts = [devices[1].path.as_str(), "no target was written to", "--yes-destroy"];
    refuse(here, unconfirmed, &parts);
    assert!(!here.join("both").exists());
    assert!(std::fs::read(&devices[0].path).unwrap() == blank, "it was written to");
}

/// The same device, whatever it is called.
#[test]
fn a_device_is_named_once_whatever_its_names_are() {
    let place = &TestDirectory::new();
    let refused = |a: &str, b: &str| {
        let size = if a.ends_with(".bin") { "--size 64MiB" } else { "" };
        let run = format!("run iops --profile quick --target {a} --target {b} {size}");
        refuse(place, &run, &["are the same device", a, b]);
    };
    refused("sim:small", "sim:small");
    refused("new.bin", "./new.bin");
    assert!(!place.join("new.bin").exists());
    succeed(place, "measure 'RND 4K W' --target f.bin --size 64MiB --ios 7");
    std::os::unix::fs::symlink("f.bin", place.join("link.bin")).unwrap();
    std::fs::hard_link(place.join("f.bin"), place.join("hard.bin")).unwrap();
    refused("f.bin", "link.bin");
    refused("f.bin", "hard.bin");
    let Some(device) = LoopDevice::new(64) else { return };
    let alias = place.join("alias");
    std::os::unix::fs::symlink(&device.path, &alias).unwrap();
    refused(&device.path, alias.to_str().unwrap());
}

/// Killed again and again, and resumed together: no finished step is repeated.
#[test]
fn both_are_resumed_after_a_kill() {
    let Some(devices) = devices() else { return };
    let here = &TestDirectory::new();
    let both = here.join("both");
    let first = begin(&devices, "150ms");
    let finished = |name: &str| Ledger::read(&both.join(name)).map_or(0, |all| all.lines.len());
    for wanted in [10, 30] {
        let arguments = if wanted == 10 { first.as_str() } else { "resume both" };
        let mut child = spawn_in(here, arguments, Stdio::null(), Stdio::null());
        let enough = || devices.iter().all(|device| finished(device.name()) >= wanted);
        wait_until("the steps", || enough() || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let resumed = run_with_pdf_in(here, "resume both");
    assert!(matches!(code(&resumed), 0 | 3), "{}", stderr(&resumed));
    for device in &devices {
        let contents = Ledger::read(&both.join(device.name())).unwrap();
        let mut places = Vec::new();
        for (step, _) in contents.steps() {
            let place = (step.place.phase.clone(), step.place.round, step.place.point);
            assert!(!places.contains(&place), "{}: {} twice", device.path, step.place);
            places.push(place);
        }
        assert!(contents.lines.iter().any(|line| matches!(line.entry, JournalEntry::Ended)));
    }
    assert!(both.join("report.pdf").is_file());
}

/// Ctrl-C halts both, and both can be resumed.
#[test]
fn a_stop_halts_all_of_them() {
    let Some(devices) = devices() else { return };
    let here = &TestDirectory::new();
    let both = here.join("both");
    let child = spawn_in(here, &begin(&devices, "1s"), Stdio::piped(), Stdio::piped());
    let lines = |name: &str| Ledger::read(&both.join(name)).map_or(0, |all| all.lines.len());
    wait_until("their beginning", || devices.iter().all(|device| lines(device.name()) >= 8));
    signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(stdout(&output).matches("HALTED").count(), 2, "{}", stdout(&output));
    for device in &devices {
        let lines = Ledger::read(&both.join(device.name())).unwrap().lines;
        assert!(lines.iter().any(|line| matches!(line.entry, JournalEntry::Halted(_))));
    }
}

/// Simulated drives have a virtual time each, so that neither changes the other, and an answer each.
#[test]
fn simulated_drives_run_as_each_does_alone() {
    let here = &TestDirectory::new();
    let drives = ["sim:small", "sim:client"];
    let quick = "run iops --profile quick --target";
    let together = format!("{quick} {} --target {} -o both --json", drives[0], drives[1]);
    let output = run_ending(here, &together, &[0, 3]);
    let answer: Value = parse_json(&output);
    let targets = array(&answer["targets"]);
    assert_eq!(targets.len(), 2);
    assert!(answer["combined"].is_object());
    let mut worst = 0;
    for (at, drive) in drives.iter().enumerate() {
        let alone = run_in(here, &format!("{quick} {drive} -o {at}"));
        worst = worst.max(code(&alone));
        let own = findings(here.join(at.to_string()));
        let with_other = findings(here.join(targets[at]["directory"].as_str().unwrap()));
        assert_eq!(own["digest"], with_other["digest"], "{drive}");
        assert_eq!(targets[at]["exit_code"], code(&alone));
    }
    assert_eq!(code(&output), worst);
}

/// A list of targets is refused if it names another directory or cannot be read.
#[test]
fn a_list_of_targets_that_leads_elsewhere_is_refused() {
    let here = &TestDirectory::new();
    let group = here.join("both");
    std::fs::create_dir(&group).unwrap();
    let list = r#"{"version":1,"together":"steps",
        "targets":[{"target":"x","directory":"../x","settings":"9f"}]}"#;
    let refused = |list: &str, why: &str| {
        std::fs::write(group.join("targets.json"), list).unwrap();
        refuse(here, "resume both", &["targets.json", why, "steadfast resume both/RUN_DIR"]);
    };
    refused(list, "'../x' is not the name of a run directory");
    refused(&list.replace(r#","settings":"9f""#, ""), "missing field `settings`");
    refused(&list.replace(":1", ":9"), "version 9");
    refused("{", "EOF");
}

#[test]
fn several_targets_are_measured_from_one_moment() {
    let Some(devices) = devices() else { return };
    let here = &TestDirectory::new();
    let [one, other] = &devices;
    let measure = "measure 'RND 4K R' --ios 1009 --json";
    let measure = format!("{measure} --target {} --target {}", one.path, other.path);
    let answer = succeed_json(here, &measure);
    let targets = array(&answer["targets"]);
    assert_eq!(targets.len(), 2);
    for target in targets {
        let measurement = &target["measurement"];
        assert_eq!(measurement["streams"][0]["tally"]["ios"], 1009);
        let start = &measurement["common_start"];
        assert_eq!(start["agreed"], targets[0]["measurement"]["common_start"]["agreed"]);
        assert!(start["late"].as_u64().is_some(), "{start}");
    }
    let twice = format!("measure 'RND 4K R' --target {0} --target {0}", one.path);
    refuse(here, &twice, &["same device"]);
    let shown = succeed(here, "measure 'SEQ 128K W' --target sim:small --target sim:client");
    assert!(shown.contains("sim:small") && shown.contains("sim:client"), "{shown}");
}

/// Two simulated drives in one run.
const RUN_ON_TWO_DRIVES: &str =
    "run iops --profile quick -o both --target sim:small --target sim:client";

/// Killed between the making of the run directories and the first line of a journal.
#[test]
fn runs_that_had_not_begun_are_resumed_with_the_others() {
    let here = &TestDirectory::new();
    let whole = run_ending(here, RUN_ON_TWO_DRIVES, &[0, 3]);
    let members = ["small", "client"].map(|name| here.join("both").join(name));
    let journal = |member: &PathBuf| std::fs::read(member.join("journal.jsonl")).unwrap();
    let before: Vec<usize> = members.iter().map(|member| journal(member).len()).collect();
    for member in &members {
        std::fs::write(member.join("journal.jsonl"), "").unwrap();
    }
    refuse(here, &["resume", members[0].to_str().unwrap()], &["no run"]);
    let resumed = run_in(here, "resume both");
    assert_eq!(code(&resumed), code(&whole), "{}", stderr(&resumed));
    let after: Vec<usize> = members.iter().map(|member| journal(member).len()).collect();
    assert!(after.iter().zip(&before).all(|(after, before)| after.abs_diff(*before) < 1000));
}

/// Killed before every run directory existed: nothing was written to a target.
#[test]
fn a_group_without_all_of_its_runs_says_what_to_do() {
    let path = &TestDirectory::new();
    run_ending(path, RUN_ON_TWO_DRIVES, &[0, 3]);
    let member = |name: &str| path.join("both").join(name);
    std::fs::remove_file(member("client").join("settings.json")).unwrap();
    refuse(path, "resume both", &["client", "steadfast resume both/small"]);
    std::fs::write(member("small").join("journal.jsonl"), "").unwrap();
    std::fs::remove_dir_all(member("client")).unwrap();
    let parts = ["nothing was written to a target", "Remove both and start the run again"];
    refuse(path, "resume both", &parts);
    refuse(path, RUN_ON_TWO_DRIVES, &["already exists", "steadfast resume both"]);
}
