//! A resumed run writes to the device that was confirmed when it began, and to no other. No other
//! device or file changes by a byte.

use super::fixtures::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use steadfast_domain::{JournalEntry, Proof};
use steadfast_runner::Ledger;

/// Size of every target here: the least that a procedure takes.
const SIZE: usize = 64 << 20;

/// Writes a file that stands for somebody's data; returns its content.
fn write_precious_file(path: &Path) -> Vec<u8> {
    let seed = path.as_os_str().len() as u64;
    let words = (0..1 << 16).map(|n| steadfast_domain::random_bits::mix64(seed + n).to_le_bytes());
    let piece: Vec<u8> = words.flatten().collect();
    let content = piece.repeat(SIZE / piece.len());
    fs::write(path, &content).unwrap();
    content
}

/// Number of times that a process has opened the run.
fn openings(run: &Path) -> usize {
    let Ok(contents) = Ledger::read(run) else { return 0 };
    contents.lines.iter().filter(|line| matches!(line.entry, JournalEntry::Opened { .. })).count()
}

/// Kills a run when it has been opened for the `count`th time; returns false if it ended by itself.
fn kill_when_opened(mut child: Child, run: &Path, count: usize) -> bool {
    wait_until("the run", || openings(run) >= count || child.try_wait().unwrap().is_some());
    let _ = child.kill();
    child.wait().unwrap();
    openings(run) == count
}

/// Begins a run in `run` below the directory, and kills it.
fn begin(directory: &Path, target: &str) -> PathBuf {
    let run = directory.join("run");
    let quick = format!("run iops --profile quick --step-time 60s --purge none -o run {target}");
    let child = spawn_in(directory, &quick, Stdio::null(), Stdio::null());
    assert!(kill_when_opened(child, &run, 1), "the run did not begin");
    run
}

/// Resumes from a directory; the run is opened once more, and killed.
#[track_caller]
fn assert_continues(directory: &Path, run: &Path, more: &str) {
    let count = openings(run) + 1;
    let command = format!("resume {} {more}", run.display());
    let child = spawn_in(directory, &command, Stdio::null(), Stdio::null());
    assert!(kill_when_opened(child, run, count), "not continued with: {:?}", resume(run, more));
}

fn resume(run: &Path, more: &str) -> (i32, String) {
    let output = run_in(run.parent().unwrap(), &format!("resume {} {more}", run.display()));
    (code(&output), stderr(&output))
}

/// Resumes; it must be refused with all of these words and leave every file alone.
#[track_caller]
fn assert_refused(run: &Path, more: &str, words: &[&str], untouched: &[(&Path, &[u8])]) {
    let before = fs::read(run.join("journal.jsonl")).ok();
    let (code, text) = resume(run, more);
    assert_eq!(code, 1, "{text}");
    assert_contains(&text, words);
    assert_eq!(fs::read(run.join("journal.jsonl")).ok(), before);
    for (path, content) in untouched {
        assert!(fs::read(path).unwrap() == *content, "{} was changed", path.display());
    }
}

/// Writes the run's ledger again, as another machine, another boot or another version would have
/// left it.
fn rewrite_ledger(run: &Path, change: impl Fn(&mut Option<Box<Proof>>)) -> PathBuf {
    let contents = Ledger::read(run).unwrap();
    let copy =
        run.with_file_name(format!("run-{}", fs::read_dir(run.parent().unwrap()).unwrap().count()));
    let mut ledger = Ledger::create(&copy, &contents.plan).unwrap();
    for line in &contents.lines {
        let mut entry = line.entry.clone();
        if let JournalEntry::Opened { proof, directory, .. } = &mut entry {
            *directory = steadfast_host::directory_proof(&copy).map(Box::new);
            change(proof);
        }
        ledger.append(line.at, &entry).unwrap();
    }
    copy
}

const SCRATCH: &str = "--target scratch.bin --size 64MiB";
const CONFIRMED: &str = "--yes-destroy scratch.bin";

#[test]
fn a_relative_target_is_the_same_file_from_every_directory() {
    let scratch = &TestDirectory::new();
    let [here, there] = ["here", "there"].map(|name| scratch.join(name));
    for directory in [&here, &there] {
        fs::create_dir(directory).unwrap();
    }
    let run = begin(&here, SCRATCH);
    let letters = write_precious_file(&there.join("scratch.bin"));
    assert_continues(&there, &run, "");
    assert!(fs::read(there.join("scratch.bin")).unwrap() == letters);
    let lines = Ledger::read(&run).unwrap().lines;
    let taken = lines.iter().rev().find_map(|line| match &line.entry {
        JournalEntry::Opened { device, .. } => Some(device.path.clone()),
        _ => None,
    });
    let own = fs::canonicalize(here.join("scratch.bin")).unwrap();
    assert_eq!(taken.as_deref(), own.to_str());

    // Moved, it is not there, and nothing takes its place.
    let moved = here.join("moved.bin");
    fs::rename(&own, &moved).unwrap();
    let content = fs::read(&moved).unwrap();
    assert_refused(&run, "", &["scratch.bin", "cannot find it"], &[(&moved, &content)]);
    assert_refused(&run, CONFIRMED, &["scratch.bin"], &[(&moved, &content)]);
}

/// Renaming run directories does not choose a device.
#[test]
fn a_run_that_took_the_place_of_another_must_be_confirmed() {
    let scratch = &TestDirectory::new();
    let [one, two] = ["one", "two"].map(|name| scratch.join(name));
    let runs = [&one, &two].map(|directory| {
        fs::create_dir(directory).unwrap();
        begin(directory, SCRATCH)
    });
    let files = [&one, &two].map(|directory| directory.join("scratch.bin"));
    let contents = [0, 1].map(|at| fs::read(&files[at]).unwrap());
    let untouched: [(&Path, &[u8]); 2] = [0, 1].map(|at| (&*files[at], &*contents[at]));
    let swap = || {
        let aside = scratch.join("aside");
        fs::rename(&runs[0], &aside).unwrap();
        fs::rename(&runs[1], &runs[0]).unwrap();
        fs::rename(&aside, &runs[1]).unwrap();
    };
    swap();
    for run in &runs {
        assert_refused(run, "", &["the run directory was", CONFIRMED], &untouched);
    }
    swap();
    assert_continues(scratch, &runs[0], "");
    // A copy at the same place is another directory.
    let aside = scratch.join("aside");
    fs::rename(&runs[1], &aside).unwrap();
    assert!(Command::new("cp").arg("-a").args([&aside, &runs[1]]).status().unwrap().success());
    let two: [(&Path, &[u8]); 1] = [untouched[1]];
    assert_refused(&runs[1], "", &["took the place of another", CONFIRMED], &two);
    // Moved, it is confirmed once.
    let moved = scratch.join("two/moved");
    fs::rename(&aside, &moved).unwrap();
    assert_refused(&moved, "", &["the run directory was", CONFIRMED], &two);
    assert_continues(scratch, &moved, CONFIRMED);
    assert_continues(scratch, &moved, "");
}

#[test]
fn a_file_that_took_the_place_of_another_must_be_confirmed() {
    let scratch = &TestDirectory::new();
    let run = begin(scratch, SCRATCH);
    let file = scratch.join("scratch.bin");
    let was = fs::metadata(&file).unwrap().ino();
    // A new file may get the inode of the one that was removed before it.
    for round in 0..3 {
        fs::remove_file(&file).unwrap();
        let letters = write_precious_file(&file);
        let ask = ["another file", CONFIRMED];
        let reused = fs::metadata(&file).unwrap().ino() == was;
        println!("round {round}: inode used again: {reused}");
        assert_refused(&run, "", &ask, &[(&file, &letters)]);
        assert_refused(&run, "--yes-destroy scratch", &ask, &[(&file, &letters)]);
    }
    assert_continues(scratch, &run, CONFIRMED);
    // It is the run's file from now on.
    assert_continues(scratch, &run, "");
}

/// The inode, its birth and its mark are unchanged; the content is not.
#[test]
fn a_scratch_file_that_somebody_wrote_to_must_be_confirmed() {
    let scratch = &TestDirectory::new();
    let run = begin(scratch, SCRATCH);
    let file = scratch.join("scratch.bin");
    let opened = Ledger::read(&run).unwrap().lines.remove(0);
    let JournalEntry::Opened { proof: Some(proof), .. } = opened.entry else {
        panic!("{opened:?}")
    };
    if proof.mark.is_none() {
        return skip("no extended attributes here");
    }
    let letters = write_precious_file(&file);
    let old = Command::new("touch").args(["--date=2001-01-01"]).arg(&file).status().unwrap();
    assert!(old.success());
    assert_refused(&run, "", &["the file was written to"], &[(&file, &letters)]);
}

/// A file without a mark, confirmed by its name, still has its inode and its birth.
#[test]
fn a_file_without_a_mark_that_somebody_wrote_to_must_be_confirmed() {
    let here = &TestDirectory::new();
    let file = here.join("own.bin");
    write_precious_file(&file);
    let run = begin(here, "--target own.bin --yes-destroy own.bin");
    assert_continues(here, &run, "");
    // As when the run was killed a minute ago.
    let contents = Ledger::read(&run).unwrap();
    let earlier = here.join("earlier");
    let mut ledger = Ledger::create(&earlier, &contents.plan).unwrap();
    for line in &contents.lines {
        ledger.append(line.at - 60_000, &line.entry).unwrap();
    }
    drop(ledger);
    let letters = write_precious_file(&file);
    let old = Command::new("touch").args(["--date=2001-01-01"]).arg(&file).status().unwrap();
    assert!(old.success());
    let ask = ["was changed after the last journal entry", "--yes-destroy own.bin"];
    assert_refused(&earlier, "", &ask, &[(&file, &letters)]);
    // A run that was halted wrote nothing later than that.
    let mut ledger = Ledger::open(&run).unwrap().0;
    let at = contents.lines.last().unwrap().at;
    ledger.append(at, &JournalEntry::Halted("stopped on request".into())).unwrap();
    drop(ledger);
    assert_refused(&run, "", &ask, &[(&file, &letters)]);
    assert_continues(here, &run, "--yes-destroy own.bin");
}

/// A program that is named relative to the directory in which the run begins is the same program
/// wherever the run is resumed.
#[test]
fn a_power_command_is_the_same_program_from_every_directory() {
    let scratch = &TestDirectory::new();
    let [here, there] = ["here", "there"].map(|name| scratch.join(name));
    for directory in [&here, &there] {
        fs::create_dir(directory).unwrap();
        let program = directory.join("power");
        let text = format!("#!/bin/sh\necho $1 >> {}/called\necho 4 W\n", directory.display());
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let run = begin(&here, &format!("{SCRATCH} --power-command './power  once'"));
    let settings = Ledger::read(&run).unwrap().plan;
    let own = fs::canonicalize(&here).unwrap().join("power");
    let kept = settings.settings.power_command.clone().unwrap();
    let (program, arguments) = kept.split_once(' ').unwrap();
    assert_eq!((fs::canonicalize(program).unwrap(), arguments.trim()), (own, "once"));
    assert_continues(&there, &run, "");
    assert!(!there.join("called").exists(), "another program was run");
}

#[test]
fn a_loop_device_over_another_file_must_be_confirmed() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let confirmed = format!("--yes-destroy {}", device.name());
    let run = begin(here, &format!("--target {} {confirmed}", device.path));
    assert_continues(here, &run, "");
    let backing = format!("/sys/block/{}/loop/backing_file", device.name());
    let own = PathBuf::from(fs::read_to_string(backing).unwrap().trim());
    let attach = |to: &Path| device.attach(to);
    let other = here.join("other");
    let letters = write_precious_file(&other);
    attach(&other);
    let ask = ["attached to something else", &confirmed];
    assert_refused(&run, "", &ask, &[(&other, &letters)]);
    // The same path, another file.
    let kept = own.with_extension("kept");
    fs::rename(&own, &kept).unwrap();
    fs::copy(&other, &own).unwrap();
    attach(&own);
    assert_refused(&run, "", &ask, &[(&other, &letters), (&own, &letters)]);
    // Another path, and the file that was confirmed.
    attach(&kept);
    assert_continues(here, &run, "");
    attach(&other);
    assert_continues(here, &run, &confirmed);
    attach(&kept);
    fs::rename(&kept, &own).unwrap();
}

#[test]
fn a_run_of_another_machine_and_one_of_an_older_version_must_be_confirmed() {
    let scratch = &TestDirectory::new();
    let run = begin(scratch, SCRATCH);
    let file = scratch.join("scratch.bin");
    let content = fs::read(&file).unwrap();
    let elsewhere = rewrite_ledger(&run, |proof| {
        let proof = proof.as_mut().unwrap();
        (proof.machine, proof.boot) = (Some("0123".into()), Some("4567".into()));
    });
    let ask = ["another machine", CONFIRMED];
    assert_refused(&elsewhere, "", &ask, &[(&file, &content)]);
    let unproven = rewrite_ledger(&run, |proof| *proof = None);
    let ask = ["no proof of the device", "--yes-destroy"];
    assert_refused(&unproven, "", &ask, &[(&file, &content)]);
    succeed(scratch, &format!("study {}", unproven.display()));
    assert_continues(scratch, &unproven, CONFIRMED);
}

/// A disk without a serial number is recognized while it stays attached.
#[test]
fn a_disk_without_a_serial_number_must_be_confirmed_after_a_restart() {
    let Some(zram) = Zram::new() else { return };
    let here = &TestDirectory::new();
    let path = format!("/dev/{}", zram.0);
    let confirmed = format!("--yes-destroy {}", zram.0);
    let run = begin(here, &format!("--target {path} {confirmed}"));
    let content = fs::read(&path).unwrap();
    let untouched: [(&Path, &[u8]); 1] = [(Path::new(&path), &content)];
    // The kernel does not report whether a reset emptied it.
    assert_refused(&run, "", &["was reset", &confirmed], &untouched);
    let restarted =
        rewrite_ledger(&run, |proof| proof.as_mut().unwrap().boot = Some("4567".into()));
    let ask = ["no serial number", &confirmed, "restarted"];
    assert_refused(&restarted, "", &ask, &untouched);
    assert_continues(here, &restarted, &confirmed);
}

/// A zram device of our own, removed when dropped.
struct Zram(String);

impl Zram {
    fn new() -> Option<Zram> {
        let control = Path::new("/sys/class/zram-control");
        if !is_root() || !control.exists() {
            skip("needs root and the kernel's zram");
            return None;
        }
        let Ok(number) = fs::read_to_string(control.join("hot_add")) else {
            skip("no zram device can be added");
            return None;
        };
        let zram = Zram(format!("zram{}", number.trim()));
        fs::write(format!("/sys/block/{}/disksize", zram.0), SIZE.to_string()).unwrap();
        Some(zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/{}/reset", self.0), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", self.0.trim_start_matches("zram"));
    }
}

/// Settings that no journal covers are not obeyed: neither their device nor their command.
#[test]
fn bare_and_edited_settings_are_refused_and_no_command_is_run() {
    let scratch = &TestDirectory::new();
    let run = begin(scratch, SCRATCH);
    let file = scratch.join("scratch.bin");
    let content = fs::read(&file).unwrap();
    let untouched: [(&Path, &[u8]); 1] = [(&file, &content)];
    let canary = scratch.join("canary");
    let [settings, journal] = ["settings.json", "journal.jsonl"].map(|name| run.join(name));
    let text = fs::read_to_string(&settings).unwrap();
    let lines = fs::read_to_string(&journal).unwrap();

    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    edited["settings"]["power_command"] = format!("touch {}", canary.display()).into();
    fs::write(&settings, serde_json::to_string_pretty(&edited).unwrap()).unwrap();
    for more in ["", CONFIRMED] {
        assert_refused(&run, more, &["journal.jsonl, line 1", "settings.json"], &untouched);
        let bare = scratch.join("bare");
        let _ = fs::remove_dir_all(&bare);
        fs::create_dir(&bare).unwrap();
        fs::copy(&settings, bare.join("settings.json")).unwrap();
        let reason = ["contains settings, but no run", "start the run again"];
        assert_refused(&bare, more, &reason, &untouched);
        assert_eq!(fs::read_dir(&bare).unwrap().count(), 1, "nothing is added");
        // A journal without a device is no run.
        fs::write(bare.join("journal.jsonl"), &lines[..lines.len() / 3]).unwrap();
        assert_refused(&bare, more, &["no run"], &untouched);
    }
    fs::write(&settings, &text).unwrap();
    fs::write(&journal, lines.replacen("\"wwid\":null", "\"wwid\":\"1\"", 1)).unwrap();
    assert_refused(&run, "", &["journal.jsonl, line 1"], &untouched);
    fs::write(&journal, &lines).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&settings, Some(65534), None).unwrap();
        assert_refused(&run, "", &["belongs to user 65534", "chown"], &untouched);
        std::os::unix::fs::chown(&settings, Some(0), None).unwrap();
    }
    assert!(!canary.exists(), "no command was run");
    assert_continues(scratch, &run, "");
}
