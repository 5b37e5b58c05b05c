//! Runs killed at random moments.

use super::scratch::{LoopDevice, code, is_root, run_in, skip, stderr, stdout, steadfast};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use steadfast_domain::Entry;
use steadfast_runner::Ledger;

/// Kills a run with -9 after each of these moments, resuming in between;
/// returns how often it was alive to be killed.
fn kill_again_and_again(directory: &Path, begin: &[&str], moments: &[Duration]) -> usize {
    let mut kills = 0;
    for (index, moment) in moments.iter().enumerate() {
        let arguments: Vec<&str> = match index > 0 && directory.join("run/settings.json").exists() {
            true => vec!["resume", "run"],
            false => {
                let _ = std::fs::remove_dir_all(directory.join("run"));
                begin.to_vec()
            }
        };
        let mut child = steadfast()
            .current_dir(directory)
            .args(&arguments)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(directory.join(format!("stderr-{index}"))).unwrap())
            .spawn()
            .unwrap();
        let end = Instant::now() + *moment;
        while Instant::now() < end && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    kills
}

/// A moment between `least` and `most`, from a small generator with a printed seed.
fn moments(seed: u64, count: u64, least: u64, most: u64) -> Vec<Duration> {
    println!("moments of seed {seed}");
    (0..count)
        .map(|n| {
            let random = steadfast_domain::step::mix64(seed.wrapping_add(n));
            Duration::from_millis(least + random % (most - least))
        })
        .collect()
}

/// Breaks a simulated run off ten times; it must find what an unbroken one finds.
fn killed_ten_times(begin: &[&str]) {
    let scratch = tempfile::tempdir().unwrap();
    let (broken, whole) = (scratch.path().join("broken"), scratch.path().join("whole"));
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::create_dir_all(&whole).unwrap();
    let started = Instant::now();
    assert!(matches!(code(&run_in(&whole, begin)), 0 | 3));
    let took = u64::try_from(started.elapsed().as_millis()).unwrap();
    let kills = kill_again_and_again(&broken, begin, &moments(11, 10, 20, (took / 2).max(60)));
    assert!(kills >= 5, "only {kills} of ten runs were alive to be killed");
    let output = run_in(&broken, &["resume", "run"]);
    assert!(matches!(code(&output), 0 | 3), "{}", stderr(&output));
    let findings = |d: &Path| std::fs::read_to_string(d.join("run/findings.json")).unwrap();
    assert_eq!(findings(&broken), findings(&whole));
}

#[test]
fn a_simulated_run_killed_ten_times_finds_what_an_unbroken_one_finds() {
    killed_ten_times(&[
        "run",
        "iops",
        "--target",
        "sim:small",
        "--step-time",
        "5s",
        "--out",
        "run",
    ]);
}

/// The segments of every active range lie where they lay.
#[test]
fn a_run_on_scattered_ranges_killed_ten_times_finds_the_same() {
    let mut begin = vec!["run", "throughput", "--target", "sim:small", "--step-time", "5s"];
    begin.extend(["--profile", "pts-1.1", "--class", "client", "--out", "run"]);
    begin.extend(["--set", "ar-amount=64MiB,256MiB", "--set", "ar-segments=64"]);
    killed_ten_times(&begin);
}

#[test]
fn a_real_run_killed_ten_times_repeats_no_finished_step() {
    let scratch = tempfile::tempdir().unwrap();
    let begin = [
        "run",
        "iops",
        "--profile",
        "quick",
        "--target",
        "scratch.bin",
        "--size",
        "128MiB",
        "--step-time",
        "200ms",
        "--out",
        "run",
    ];
    // Some kills fall into the second in which the host is looked over.
    let kills = kill_again_and_again(scratch.path(), &begin, &moments(23, 10, 800, 3000));
    assert!(kills >= 5, "only {kills} of ten runs were alive to be killed");
    let output = run_in(scratch.path(), &["resume", "run"]);
    assert!(matches!(code(&output), 0 | 3), "{}", stderr(&output));
    let lines = Ledger::read(&scratch.path().join("run")).unwrap().lines;
    let mut places: Vec<_> = lines
        .iter()
        .filter_map(|line| match &line.entry {
            Entry::Applied { step, .. } => Some(step.place.clone()),
            _ => None,
        })
        .collect();
    let all = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), all, "a finished step was repeated");
    let gaps = lines
        .iter()
        .filter(
            |l| matches!(&l.entry, Entry::Applied { outcome, .. } if outcome.gap_before.is_some()),
        )
        .count();
    assert!(gaps > 0);
    let text = std::fs::read_to_string(scratch.path().join("run/findings.json")).unwrap();
    assert_eq!(text.matches("\"id\": \"gap\"").count(), gaps, "every gap is disclosed");
}

/// Ctrl-C halts within a second, resumably, with exit code 4.
#[test]
fn ctrl_c_halts_within_a_second() {
    let scratch = tempfile::tempdir().unwrap();
    let arguments = [
        "run",
        "iops",
        "--profile",
        "quick",
        "--target",
        "scratch.bin",
        "--size",
        "128MiB",
        "--step-time",
        "60s",
        "--out",
        "run",
    ];
    let child = steadfast()
        .current_dir(scratch.path())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    // SAFETY: kill takes any pid and signal; the child is ours and not yet reaped.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) };
    let asked = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(asked.elapsed() < Duration::from_secs(3), "took {:?}", asked.elapsed());
    assert!(stderr(&output).contains("steadfast resume"), "{}", stderr(&output));
    let stopped = run_in(scratch.path(), &["resume", "run", "--stop"]);
    assert!(stderr(&stopped).contains("no round is complete"), "{}", stderr(&stopped));
}

/// The run directory's disk fills up: the run halts, nothing is lost, and it
/// goes on when there is room again.
#[test]
fn a_full_disk_halts_the_run_resumably() {
    let test = "a_full_disk_halts_the_run_resumably";
    if !is_root() {
        return skip(test, "needs root to mount a small tmpfs");
    }
    let mount = tempfile::tempdir().unwrap();
    let tmpfs = |options: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(mount.path())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !tmpfs("size=64k") {
        return skip(test, "tmpfs cannot be mounted");
    }
    let begin = ["run", "iops", "--target", "sim:small", "--profile", "quick", "--out", "run"];
    let output = run_in(mount.path(), &begin);
    let (halted, said) = (code(&output), stderr(&output));
    let read = Ledger::read(&mount.path().join("run")).map(|contents| contents.lines.len());
    assert!(tmpfs("remount,size=64m"));
    let resumed = run_in(mount.path(), &["resume", "run"]);
    let (resumed, text) = (code(&resumed), stdout(&resumed) + &stderr(&resumed));
    assert!(Command::new("umount").arg(mount.path()).status().unwrap().success());
    assert_eq!(halted, 4, "{said}");
    assert!(said.contains("No space left") && said.contains("resume"), "{said}");
    assert!(read.unwrap() > 2, "what was finished is there");
    assert!(matches!(resumed, 0 | 3), "{text}");
}

/// The loop device of this name is over another file now: resume refuses it.
#[test]
fn another_device_under_the_same_name_is_refused() {
    let test = "another_device_under_the_same_name_is_refused";
    let Some(device) = LoopDevice::new(test, 128) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let arguments = [
        "run",
        "iops",
        "--profile",
        "quick",
        "--step-time",
        "60s",
        "--target",
        &device.path,
        "--yes-destroy",
        device.name(),
        "--out",
        "run",
    ];
    let child = steadfast()
        .current_dir(scratch.path())
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2000));
    // SAFETY: kill takes any pid and signal; the child is ours and not yet reaped.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM) };
    assert_eq!(code(&child.wait_with_output().unwrap()), 4);
    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().set_len(128 << 20).unwrap();
    let losetup = |arguments: &[&str]| {
        Command::new("losetup").args(arguments).status().is_ok_and(|status| status.success())
    };
    assert!(losetup(&["--detach", &device.path]));
    assert!(losetup(&[&device.path, other.path().to_str().unwrap()]));
    let output = run_in(scratch.path(), &["resume", "run"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains(device.name()), "{}", stderr(&output));
}
