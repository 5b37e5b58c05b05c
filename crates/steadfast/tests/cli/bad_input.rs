//! Bad input gets one clear line and a non-zero exit, and touches nothing.

use super::scratch::{
    LoopDevice, TestDirectory, code, is_root, refuse, run_in, skip, stderr, succeed,
};
use std::path::Path;
use steadfast_domain::record::RECORD_VERSION;

const QUICK: [&str; 7] = ["run", "iops", "--target", "sim:small", "--profile", "quick", "-o"];

fn quick_run(scratch: &Path) {
    let mut arguments = QUICK.to_vec();
    arguments.push("run");
    run_in(scratch, &arguments);
}

#[test]
fn what_is_named_wrongly_is_said() {
    let here = &TestDirectory::new();
    refuse(here, "run iops --target /dev/absent", &["/dev/absent"]);
    refuse(
        here,
        "run iops --target sim:absent",
        &["sim:absent".trim_start_matches("sim:"), "sim:small"],
    );
    refuse(here, "run tea --target sim:small", &["no procedure 'tea'", "iops"]);
    refuse(here, "run iops --target sim:small --profile pts-3", &["pts-3", "pts-2.0"]);
    refuse(here, "run iops --target sim:small --active-range 0%", &["percentage"]);
    refuse(here, "run iops --target sim:small --threads 0", &["threads"]);
    refuse(here, "run iops --target sim:small --meta absent.txt", &["absent.txt"]);
    refuse(here, "run iops --target sim:small --step-time 1ns", &["step time"]);
    refuse(here, "run iops --target sim:small --engine uring", &["uring"]);
    refuse(here, "run iops --target sim:small --profile pts-1.1 --class client", &["segments"]);
    refuse(here, "measure 'RND 4K' --target sim:small", &["RND 4K RW65"]);
    refuse(here, "measure 'RND 700 R' --target sim:small", &["700"]);
    refuse(here, "measure 'RND 4K R' --target sim:small --demand 4x4", &["T4Q32"]);
    refuse(here, "study absent", &["absent", "not a run directory"]);
    refuse(here, "resume .", &["not a run directory"]);
    refuse(here, "run iops --target .", &["."]);
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_device_too_small_or_a_size_too_large_is_refused() {
    let here = &TestDirectory::new();
    refuse(here, "run iops --target f.bin --size 1MiB", &["too small"]);
    refuse(here, "run iops --target f.bin --size 9000TB", &["f.bin"]);
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0, "nothing was made");
}

#[test]
fn sizes_that_no_sector_divides_are_refused() {
    let here = &TestDirectory::new();
    refuse(here, "measure 'RND 700B R' --target f.bin --size 64MiB --time 1s", &["700"]);
    refuse(here, "run iops --target g.bin --size 100000001", &["g.bin", "512"]);
    assert!(!here.join("g.bin").exists());
}

#[test]
fn without_permission_the_device_is_refused() {
    let test = "without_permission_the_device_is_refused";
    let Some(device) = LoopDevice::new(test, 128) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut command = super::scratch::steadfast();
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    let arguments = ["measure", "RND 4K R", "--target", &device.path, "--time", "1s"];
    let Ok(output) = command.current_dir(scratch.path()).args(arguments).output() else {
        return skip(test, "the program cannot be started as another user");
    };
    let text = super::scratch::stderr(&output);
    assert_eq!(super::scratch::code(&output), 1, "{text}");
    assert!(text.contains(&device.path) && text.to_lowercase().contains("permission"), "{text}");
}

#[test]
fn an_existing_run_directory_is_never_written_into() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("run")).unwrap();
    std::fs::write(scratch.path().join("run/mine"), "x").unwrap();
    let mut arguments = QUICK.to_vec();
    arguments.push("run");
    refuse(scratch.path(), &arguments, &["already exists and is not a run directory"]);
    assert_eq!(std::fs::read_dir(scratch.path().join("run")).unwrap().count(), 1);
    std::fs::write(scratch.path().join("file"), "mine").unwrap();
    arguments.pop();
    arguments.push("file");
    refuse(scratch.path(), &arguments, &["already exists and is not a directory"]);
    assert_eq!(std::fs::read_to_string(scratch.path().join("file")).unwrap(), "mine");
    arguments.pop();
    arguments.push("run");
    std::fs::remove_dir_all(scratch.path().join("run")).unwrap();
    run_in(scratch.path(), &arguments);
    refuse(scratch.path(), &arguments, &["already exists", "resume it: steadfast resume run"]);
}

/// No file is created, nor is its creation advised, where device nodes lie.
#[test]
fn a_missing_device_is_no_file_to_create() {
    let scratch = tempfile::tempdir().unwrap();
    let named = ["--target", "/dev/absent"];
    let reading = [&["measure", "RND 4K R"], &named[..]].concat();
    refuse(scratch.path(), &reading, &["/dev/absent: cannot find it"]);
    for command in [["measure", "RND 4K W"], ["run", "iops"]] {
        let command = &command[..];
        refuse(scratch.path(), &[command, &named].concat(), &["/dev/absent: cannot find it"]);
        let sized = [command, &named, &["--size", "64MiB"]].concat();
        let output = run_in(scratch.path(), &sized);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("no file is created in /dev"), "{}", stderr(&output));
        assert!(!Path::new("/dev/absent").exists());
    }
}

#[test]
fn an_edited_or_newer_ledger_is_refused_by_every_reader() {
    let scratch = tempfile::tempdir().unwrap();
    quick_run(scratch.path());
    let journal = scratch.path().join("run/journal.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, whole.replacen("\"ios\":", "\"ios\":1", 1)).unwrap();
    for command in ["study", "report", "resume", "restore"] {
        refuse(scratch.path(), &[command, "run"], &["journal.jsonl, line", "edited"]);
    }
    std::fs::write(&journal, &whole).unwrap();
    let settings = scratch.path().join("run/settings.json");
    let own = std::fs::read_to_string(&settings).unwrap();
    let now = format!("\"version\": {RECORD_VERSION}");
    let of_version = |version: u32| {
        assert!(own.contains(&now));
        std::fs::write(&settings, own.replacen(&now, &format!("\"version\": {version}"), 1))
            .unwrap();
    };
    of_version(9);
    refuse(scratch.path(), "study run", &["format 9", "newer"]);
    of_version(RECORD_VERSION - 1);
    for command in ["study", "report", "resume", "restore"] {
        let said = ["settings.json was written by an unreleased version", "run again"];
        refuse(scratch.path(), &[command, "run"], &said);
    }
}

#[test]
fn a_truncated_journal_is_an_unfinished_run() {
    let scratch = tempfile::tempdir().unwrap();
    quick_run(scratch.path());
    let journal = scratch.path().join("run/journal.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    let text = succeed(scratch.path(), "study run");
    assert!(text.contains("not finished"), "{text}");
    run_in(scratch.path(), "resume run");
    let text = succeed(scratch.path(), "study run");
    assert!(!text.contains("not finished"), "{text}");
}

#[test]
fn a_block_device_needs_its_name_and_the_right_one() {
    let test = "a_block_device_needs_its_name_and_the_right_one";
    let Some(device) = LoopDevice::new(test, 256) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let run = ["run", "iops", "--profile", "quick", "--target", &device.path, "-o", "run"];
    refuse(scratch.path(), &run, &["--yes-destroy", device.name()]);
    let mut wrong = run.to_vec();
    wrong.extend(["--yes-destroy", "loop999"]);
    refuse(scratch.path(), &wrong, &["loop999"]);
    refuse(
        scratch.path(),
        &["measure", "RND 4K W", "--target", &device.path, "--time", "1s"],
        &["--yes-destroy"],
    );
    assert!(!scratch.path().join("run").exists());
    succeed(scratch.path(), &["measure", "RND 4K R", "--target", &device.path, "--time", "1s"]);
}

/// The run directory lies on the device that would be overwritten.
#[test]
fn the_disk_that_holds_the_run_directory_is_refused() {
    let test = "the_disk_that_holds_the_run_directory_is_refused";
    let Some(device) = LoopDevice::new(test, 256) else { return };
    let made = std::process::Command::new("mkfs.ext4").args(["-q", &device.path]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip(test, "mkfs.ext4 is not installed");
    }
    let mount = tempfile::tempdir().unwrap();
    let status =
        std::process::Command::new("mount").arg(&device.path).arg(mount.path()).status().unwrap();
    assert!(status.success() && is_root());
    let (target, name) = (&device.path, device.name());
    let run = format!("run iops --profile quick --target {target} --yes-destroy {name} -o run");
    let output = run_in(mount.path(), &run);
    let status = std::process::Command::new("umount").arg(mount.path()).status().unwrap();
    assert!(status.success());
    let text = super::scratch::stderr(&output);
    assert_eq!(super::scratch::code(&output), 1, "{text}");
    assert!(text.contains("mounted"), "{text}");
}

/// A file has no commands of a drive; nothing is made before that is said.
#[test]
fn a_file_is_not_purged_by_a_drives_command() {
    let scratch = tempfile::tempdir().unwrap();
    let run = "run iops --target x --size 64MiB --purge nvme-format";
    refuse(scratch.path(), run, &["x", "auto, discard or none"]);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

/// A load that only reads makes no file, and leaves one as it is.
#[test]
fn a_load_that_only_reads_creates_nothing_and_changes_no_size() {
    let here = &TestDirectory::new();
    let read = |name: &'static str, size: &'static str| {
        ["measure", "RND 4K R", "--target", name, "--size", size, "--time", "100ms"]
    };
    refuse(here, &read("f.bin", "8MiB"), &["f.bin does not exist", "--size 8388608B"]);
    assert!(!here.join("f.bin").exists());
    let mut write = read("f.bin", "8MiB");
    write[1] = "SEQ 128K W";
    succeed(here, &write);
    let before = std::fs::read(here.join("f.bin")).unwrap();
    assert!(before.iter().any(|byte| *byte != 0));
    refuse(here, &read("f.bin", "16MiB"), &["has 8388608 bytes", "omit --size"]);
    succeed(here, &read("f.bin", "8MiB"));
    assert!(before == std::fs::read(here.join("f.bin")).unwrap(), "the file has changed");
    let error = ["measure", "RND 4K W", "--target", "copy.bin", "--time", "100ms"];
    std::fs::copy(here.join("f.bin"), here.join("copy.bin")).unwrap();
    refuse(here, &error, &["--yes-destroy 'copy.bin'"]);
    std::fs::copy(here.join("copy.bin"), here.join("f.bin")).unwrap();
    let mut error = error;
    error[3] = "f.bin";
    refuse(here, &error, &["--yes-destroy 'f.bin'", "something else has written to it"]);
    assert!(before == std::fs::read(here.join("f.bin")).unwrap(), "the file has changed");
}
