//! Power cuts: in virtual time, and of a loop device whose capacity vanishes and returns.

use super::fixtures::*;
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};
use steadfast_domain::JournalEntry;
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, ViolationKind};
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::{CUT_LOG, Ledger};

fn outcomes(here: &Path) -> Vec<PowerCutOutcome> {
    let lines = Ledger::read(&here.join("run")).unwrap().lines;
    let outcome = |line: JournalLine| match line.entry {
        JournalEntry::PowerCutJudged(outcome) => Some(*outcome),
        _ => None,
    };
    lines.into_iter().filter_map(outcome).collect()
}

const SIMULATED: &str = "run power-cut --profile quick -o run --target";

#[test]
fn the_lost_flushes_of_a_simulated_drive_are_found_and_its_plan_has_times() {
    let here = &TestDirectory::new();
    let plan = "plan power-cut --target sim:small --profile quick --assume 64MiB";
    let plan = succeed(here, plan);
    assert!(plan.contains("power-cut"), "{plan}");
    let output = run_ending(here, &format!("{SIMULATED} sim:forgetful"), &[3]);
    assert!(stdout(&output).contains("VIOLATIONS: 3 of 3 power cuts"), "{}", stdout(&output));
    for outcome in outcomes(here) {
        // The cache of 64 writes, less those that were not flushed.
        let lost = outcome.counts[&ViolationKind::LostFlushed];
        assert!((32..=64).contains(&lost), "{outcome:?}");
        assert_eq!(outcome.evidence, CutEvidence::Simulated);
    }
    assert_eq!(findings(here.join("run"))["end"], "failed");
}

/// The journal of a run that was killed anywhere leads to the same findings.
#[test]
fn a_simulated_run_that_was_killed_anywhere_resumes_to_the_same_findings() {
    let here = &TestDirectory::new();
    succeed(here, &format!("{SIMULATED} sim:small"));
    let (whole, journal) = (outcomes(here), here.join("run/journal.jsonl"));
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begun: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at].contains("power-cut-began")).collect();
    assert_eq!(begun.len(), 3);
    for kept in [begun[1], begun[1] + 1, begun[2] + 1] {
        std::fs::write(&journal, lines[..kept].concat()).unwrap();
        succeed(here, &["resume", "run"]);
        assert_eq!(outcomes(here), whole, "{kept} lines kept");
        let ending = findings(here.join("run"))["ending"].clone();
        assert!(ending.as_str().unwrap().starts_with("0 violations in 3"), "{ending}");
    }
}

#[test]
fn options_that_do_not_belong_together_are_refused() {
    let here = &TestDirectory::new();
    let sim = "--target sim:small -o run";
    for (option, value) in [("--cut-command", "true"), ("--log-to", "other:7007")] {
        refuse(here, &format!("run iops {sim} {option} {value}"), &[option, "power-cut"]);
        refuse(here, &format!("run power-cut {sim} {option} {value}"), &[option, "virtual time"]);
    }
    for (more, parts) in [
        ("--depth 4", &["flush-every"][..]),
        // A meter's command in place of the relay's.
        ("--power-command true", &["--cut-command", "meter"]),
        ("--target sim:client", &["one target at a time"]),
    ] {
        refuse(here, &format!("run power-cut {sim} {more}"), parts);
    }
    // The log would be on the file system whose power is cut.
    let output = run_in(here, "run power-cut -o run --target f.bin --size 128MiB");
    assert_ne!(code(&output), 0);
    assert!(!here.join("run").exists());
    assert!(stderr(&output).contains("own file system"), "{}", stderr(&output));
}

/// Settings of a short run whose power is cut by hand.
const SHORT: &str = "--set area=1 --set flush-every=8 --set within=1s --set cut-limit=60s \
                     --set cycles=2";

/// Sets the size limit of a loop device: at 512 bytes its capacity is gone, at 0 it is back.
fn set_size_limit(device: &LoopDevice, bytes: u64) {
    const SET_STATUS: libc::Ioctl = 0x4c04;
    const GET_STATUS: libc::Ioctl = 0x4c05;
    let node = File::options().read(true).write(true).open(&device.path).unwrap();
    // struct loop_info64 of linux/loop.h; its size limit is the fifth word.
    let mut status = [0u64; 29];
    // SAFETY: both calls read or write one loop_info64, 232 bytes, which outlives them.
    unsafe {
        assert_eq!(libc::ioctl(node.as_raw_fd(), GET_STATUS, status.as_mut_ptr()), 0);
        status[4] = bytes;
        assert_eq!(libc::ioctl(node.as_raw_fd(), SET_STATUS, status.as_mut_ptr()), 0);
    }
}

/// Lines in the log of a run.
fn flushes(here: &Path) -> usize {
    std::fs::read_to_string(here.join("run").join(CUT_LOG)).unwrap_or_default().lines().count()
}

/// Runs a power-cut test on the device.
fn power_cut(device: &LoopDevice, settings: &str) -> String {
    format!("run power-cut {} -o run {settings}", device.confirmed())
}

/// Begins a short run on the device.
fn begin(here: &Path, device: &LoopDevice) -> Child {
    spawn_in(here, &power_cut(device, SHORT), Stdio::null(), Stdio::inherit())
}

/// The device fails and returns, twice. While it is gone the first time, a flushed block is zeroed
/// and a sector of another is damaged.
#[test]
fn a_device_that_vanishes_and_returns_is_read_back_and_its_losses_are_found() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let mut child = begin(here, &device);
    let backing = format!("/sys/block/{}/loop/backing_file", device.name());
    let backing = std::fs::read_to_string(backing).unwrap();
    let backing = File::options().write(true).open(backing.trim_end()).unwrap();
    let journal = || std::fs::read_to_string(here.join("run/journal.jsonl")).unwrap_or_default();
    let mut written = 0;
    for cycle in 1..=2 {
        // 64 blocks in batches of 8: each was written after 8 flushes.
        wait_until("writes", || flushes(here) >= written + 20);
        set_size_limit(&device, 512);
        wait_until("the cut", || journal().matches("power-cut-seen").count() == cycle);
        if cycle == 1 {
            backing.write_all_at(&[0; 16 << 10], 5 * (16 << 10)).unwrap();
            backing.write_all_at(&[7; 100], 9 * (16 << 10) + 512 + 200).unwrap();
        }
        written = flushes(here);
        set_size_limit(&device, 0);
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let found = outcomes(here);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|outcome| outcome.evidence == CutEvidence::DeviceFailed));
    assert!(found.iter().all(|outcome| outcome.blocks == 64 && outcome.flushes >= 20));
    let kinds: Vec<(ViolationKind, u64)> =
        found[0].violations.iter().map(|violation| (violation.kind, violation.offset.0)).collect();
    let block = 16 << 10;
    let planted = [(ViolationKind::LostFlushed, 5 * block), (ViolationKind::TornSector, 9 * block)];
    assert_eq!(kinds, planted);
    assert!(found[1].counts.is_empty(), "{:?}", found[1]);
    let ending = findings(here.join("run"))["ending"].as_str().unwrap().to_owned();
    assert!(ending.starts_with("VIOLATIONS: 1 of 2 power cuts"), "{ending}");
}

/// Writes beyond an offset fail while the device answers reads below it: no power cut.
#[test]
fn a_medium_error_is_no_power_cut() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let mut child = begin(here, &device);
    wait_until("writes", || flushes(here) >= 20);
    set_size_limit(&device, 512 << 10);
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let found = outcomes(here);
    assert_eq!((found.len(), found[0].evidence), (1, CutEvidence::MediumError));
    let findings = findings(here.join("run"));
    assert_eq!(findings["end"], "void");
    let ending = findings["ending"].as_str().unwrap();
    assert!(ending.starts_with("NO POWER CUT WAS MADE"), "{ending}");
}

/// Runs one cycle whose command cuts no power, with a second log.
fn cut_nothing(here: &Path, device: &LoopDevice, log_to: &str) -> PowerCutOutcome {
    let settings = format!(
        "--cut-command true --set cut-limit=1s --log-to {log_to} --set area=1 --set within=1s"
    );
    run_ending(here, &power_cut(device, &settings), &[3]);
    let mut found = outcomes(here);
    assert_eq!((found.len(), found[0].evidence), (1, CutEvidence::Nothing));
    found.remove(0)
}

/// A command that cuts no power: the ending says so first.
#[test]
fn a_command_that_cuts_nothing_is_no_power_cut() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let found = cut_nothing(here, &device, "second.log");
    let ending = findings(here.join("run"))["ending"].as_str().unwrap().to_owned();
    assert!(ending.starts_with("NO POWER CUT WAS MADE"), "{ending}");
    // The blocks were read back all the same, and hold everything.
    assert!(found.counts.is_empty() && found.acknowledged > 0);
    let second = std::fs::read_to_string(here.join("second.log")).unwrap();
    assert_eq!(second, std::fs::read_to_string(here.join("run").join(CUT_LOG)).unwrap());
    assert_eq!(second.lines().count() as u64, found.flushes);
}

#[test]
fn a_listener_receives_every_acknowledgment() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let found = cut_nothing(here, &device, &address);
    let received = received.join().unwrap();
    assert_eq!(received, std::fs::read_to_string(here.join("run").join(CUT_LOG)).unwrap());
    assert_eq!(received.lines().count() as u64, found.flushes);
}
