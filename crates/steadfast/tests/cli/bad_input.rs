//! Bad input gets one clear line and a non-zero exit, and touches nothing.

use super::scratch::*;
use std::path::Path;
use steadfast_domain::record::RECORD_VERSION;

#[test]
fn without_permission_the_device_is_refused() {
    let Some(device) = LoopDevice::new(128) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut command = super::scratch::steadfast();
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    let arguments = ["measure", "RND 4K R", "--target", &device.path, "--time", "1s"];
    let Ok(output) = command.current_dir(scratch.path()).args(arguments).output() else {
        return skip("the program cannot be started as another user");
    };
    let text = super::scratch::stderr(&output);
    assert_eq!(super::scratch::code(&output), 1, "{text}");
    assert!(text.contains(&device.path) && text.to_lowercase().contains("permission"), "{text}");
}

#[test]
fn an_existing_run_directory_is_never_written_into() {
    let here = &TestDirectory::new();
    let quick = |name| format!("run iops --target sim:small --profile quick -o {name}");
    std::fs::create_dir(here.join("run")).unwrap();
    std::fs::write(here.join("run/mine"), "x").unwrap();
    refuse(here, &quick("run"), &["already exists and is not a run directory"]);
    assert_eq!(std::fs::read_dir(here.join("run")).unwrap().count(), 1);
    std::fs::write(here.join("file"), "mine").unwrap();
    refuse(here, &quick("file"), &["already exists and is not a directory"]);
    assert_eq!(std::fs::read_to_string(here.join("file")).unwrap(), "mine");
    std::fs::remove_dir_all(here.join("run")).unwrap();
    finished_run(here, "sim:small", "run");
    refuse(here, &quick("run"), &["a finished run", "steadfast report run"]);
    let journal = here.join("run/journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&journal, lines[..lines.len() / 2].concat()).unwrap();
    refuse(here, &quick("run"), &["already exists", "resume it: steadfast resume run"]);
}

/// No file is created, nor is its creation advised, where device nodes lie.
#[test]
fn a_missing_device_is_no_file_to_create() {
    let here = &TestDirectory::new();
    let named = ["--target", "/dev/absent"];
    let reading = [&["measure", "RND 4K R"], &named[..]].concat();
    refuse(here, &reading, &["/dev/absent: cannot find it"]);
    for command in [["measure", "RND 4K W"], ["run", "iops"]] {
        let command = &command[..];
        refuse(here, &[command, &named].concat(), &["/dev/absent: cannot find it"]);
        let output = run_in(here, &[command, &named, &["--size", "64MiB"]].concat());
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("no file is created in /dev"), "{}", stderr(&output));
        assert!(!Path::new("/dev/absent").exists());
    }
}

#[test]
fn an_edited_or_newer_ledger_is_refused_by_every_reader() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let journal = here.join("run/journal.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, whole.replacen("\"ios\":", "\"ios\":1", 1)).unwrap();
    for command in ["study", "report", "resume", "restore"] {
        refuse(here, &[command, "run"], &["journal.jsonl, line", "edited"]);
    }
    std::fs::write(&journal, &whole).unwrap();
    let settings = here.join("run/settings.json");
    let own = std::fs::read_to_string(&settings).unwrap();
    let now = format!("\"version\": {RECORD_VERSION}");
    let of_version = |version: u32| {
        assert!(own.contains(&now));
        std::fs::write(&settings, own.replacen(&now, &format!("\"version\": {version}"), 1))
            .unwrap();
    };
    of_version(9);
    refuse(here, "study run", &["format 9", "newer"]);
    for foreign in ["{}", "{\"editor.tabSize\": 4}"] {
        std::fs::write(&settings, foreign).unwrap();
        refuse(here, "study run", &["settings.json is damaged, or another program's"]);
    }
    of_version(RECORD_VERSION - 1);
    for command in ["study", "report", "resume", "restore"] {
        let said = ["settings.json was written by an unreleased version", "run again"];
        refuse(here, &[command, "run"], &said);
    }
}

#[test]
fn a_truncated_journal_is_an_unfinished_run() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let journal = here.join("run/journal.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    let text = succeed(here, "study run");
    assert!(text.contains("not finished"), "{text}");
    run_in(here, "resume run");
    let text = succeed(here, "study run");
    assert!(!text.contains("not finished"), "{text}");
}

#[test]
fn a_block_device_needs_its_name_and_the_right_one() {
    let Some(device) = LoopDevice::new(256) else { return };
    let here = &TestDirectory::new();
    let run = ["run", "iops", "--profile", "quick", "--target", &device.path, "-o", "run"];
    refuse(here, &run, &["--yes-destroy", device.name()]);
    let mut wrong = run.to_vec();
    wrong.extend(["--yes-destroy", "loop999"]);
    refuse(here, &wrong, &["loop999"]);
    refuse(
        here,
        &["measure", "RND 4K W", "--target", &device.path, "--time", "1s"],
        &["--yes-destroy"],
    );
    assert!(!here.join("run").exists());
    succeed(here, &["measure", "RND 4K R", "--target", &device.path, "--time", "1s"]);
}

/// The run directory lies on the device that would be overwritten.
#[test]
fn the_disk_that_holds_the_run_directory_is_refused() {
    let Some(device) = LoopDevice::new(256) else { return };
    if !device.has_ext4() {
        return;
    }
    let mount = tempfile::tempdir().unwrap();
    let status =
        std::process::Command::new("mount").arg(&device.path).arg(mount.path()).status().unwrap();
    assert!(status.success() && is_root());
    let (target, name) = (&device.path, device.name());
    let run = format!("run iops --profile quick --target {target} --yes-destroy {name} -o run");
    let output = run_in(mount.path(), &run);
    assert!(std::process::Command::new("umount").arg(mount.path()).status().unwrap().success());
    let text = super::scratch::stderr(&output);
    assert_eq!(super::scratch::code(&output), 1, "{text}");
    assert!(text.contains("mounted"), "{text}");
}

/// A file has no commands of a drive; nothing is made before that is said.
#[test]
fn a_file_is_not_purged_by_a_drives_command() {
    let here = &TestDirectory::new();
    let run = "run iops --target x --size 64MiB --purge nvme-format";
    refuse(here, run, &["x", "auto, discard or none"]);
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0);
}

/// A load that only reads makes no file, and leaves one as it is.
#[test]
fn a_load_that_only_reads_creates_nothing_and_changes_no_size() {
    let here = &TestDirectory::new();
    let read = |name: &'static str, size: &'static str| {
        ["measure", "RND 4K R", "--target", name, "--size", size, "--time", "100ms"]
    };
    refuse(here, &read("f.bin", "8MiB"), &["f.bin does not exist", "--size 8MiB"]);
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
