//! `doctor`, and what a run records of its surroundings.

use super::fixtures::*;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use steadfast_domain::JournalEntry;
use steadfast_domain::record::{Check, CheckState};
use steadfast_runner::Ledger;

fn checks(answer: &Value) -> Vec<Check> {
    serde_json::from_value(answer["checks"].clone()).unwrap()
}

#[test]
fn a_simulated_drive_says_so_and_nothing_disturbs_it() {
    let here = &TestDirectory::new();
    let text = succeed(here, "doctor sim:small");
    assert!(text.contains("virtual time") && text.contains("1 good"), "{text}");
    let answer = succeed_json(here, "doctor sim:small --json");
    assert_eq!(answer["state"], "good");
}

#[test]
fn a_file_is_looked_over_and_left_alone() {
    let here = &TestDirectory::new();
    refuse(here, "doctor no-such.bin", &["no-such.bin", "find it"]);
    let file = here.join("some.bin");
    fs::write(&file, vec![7u8; 1 << 20]).unwrap();
    let output = run_in(here, "doctor some.bin --json");
    let answer: Value = parse_json(&output);
    let checks = checks(&answer);
    let worst = checks.iter().map(|check| check.state).max().unwrap();
    assert_eq!(answer["state"], serde_json::to_value(worst).unwrap());
    let expected = if worst >= CheckState::Attention { 6 } else { 0 };
    assert_eq!(code(&output), expected, "{}", stderr(&output));
    let kind = checks.iter().find(|check| check.id == "device-kind").unwrap();
    assert_eq!(kind.state, CheckState::Attention);
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn a_loop_device_is_looked_over_by_name() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let output = run_in(here, &["doctor", &device.path]);
    let text = stdout(&output);
    assert!(matches!(code(&output), 0 | 6), "{}", stderr(&output));
    let parts = ["Queue depth", "Discard", "Background I/O", "Load of the host", " good, "];
    assert_contains(&text, &parts);
}

/// State that only root may see is unknown to others, and never counts as good.
#[test]
fn an_ordinary_user_is_told_what_needs_root() {
    if !is_root() {
        return skip("needs root to become another user");
    }
    let here = &TestDirectory::new();
    fs::set_permissions(here, Permissions::from_mode(0o755)).unwrap();
    fs::write(here.join("some.bin"), [7u8; 4096]).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(steadfast().get_program())
        .args(["doctor", "some.bin", "--json"])
        .env("HOME", &**here)
        .current_dir(here)
        .output()
        .unwrap();
    if matches!(code(&output), 126 | 127) {
        return skip(&stderr(&output));
    }
    assert!(matches!(code(&output), 0 | 6), "{}", stderr(&output));
    let checks = checks(&parse_json(&output));
    let open = checks.iter().find(|check| check.id == "open-handles").unwrap();
    assert_eq!(open.state, CheckState::Unknown, "{}", open.found);
    assert!(open.found.ends_with("(run as root)"), "{}", open.found);
}

/// A run records what was found before it, holds the idle states, and reports its sensors.
#[test]
fn a_run_examines_senses_and_tells() {
    let here = &TestDirectory::new();
    let arguments = "run iops --profile quick --step-time 300ms --target scratch.bin --size 64MiB -o run \
        --hold-c-states --power-command 'echo 4.2 W'";
    let output = run_ending(here, arguments, &[0, 3]);
    assert!(stderr(&output).contains("ATTENTION: Kind of device: file"), "{}", stderr(&output));
    let contents = Ledger::read(&here.join("run")).unwrap();
    assert!(contents.plan.settings.hold_c_states);
    let opened = contents.lines.iter().position(|l| matches!(l.entry, JournalEntry::Opened { .. }));
    let first = &contents.lines[opened.unwrap() + 1].entry;
    assert!(matches!(first, JournalEntry::Examined(_)), "{first:?}");
    let record = contents.into_record();
    let check = |id: &str| record.checks().unwrap().iter().find(|check| check.id == id).unwrap();
    check("sleep");
    check("idle-state-hold");
    assert_eq!(check("power-readings").state, CheckState::Good, "{:?}", check("power-readings"));
    let sensed: Vec<_> = record.steps().map(|(_, outcome)| &outcome.measurement.sensed).collect();
    let powers: Vec<f64> = sensed.iter().filter_map(|sensed| sensed.power_milliwatts).collect();
    assert!(!powers.is_empty() && powers.iter().all(|power| *power == 4200.0), "{powers:?}");
    assert!(sensed.iter().all(|sensed| sensed.log.is_none()), "a file has no device logs");
    let shares = sensed.iter().filter_map(|sensed| sensed.host_cpu);
    assert!(shares.clone().count() > 0);
    assert!(shares.into_iter().all(|cpu| (0.0..=1.0).contains(&(cpu.user + cpu.system))));
}
