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

/// A table of 1,009 reads, 1 ms apart, whose times are relative.
fn write_table(path: &Path) {
    let rows = (0..1009).map(|n| format!("{},read,{},4096,50,sda\n", n * 1000, n * 4096));
    std::fs::write(path, rows.collect::<String>()).unwrap();
}

const COLUMNS: &str = "time=1:us,op=2,offset=3,bytes=4,response=5:us,device=6";

/// A capture counts once, whether or not its start is known.
#[test]
fn a_capture_named_twice_is_refused() {
    let here = &TestDirectory::new();
    write_table(&here.join("t.csv"));
    let began = ["--began", "2026-11-21 06:16:17"];
    succeed(here, &["trace", "import", "t.csv", "--csv", COLUMNS, "-o", "undated.parquet"]);
    let dated =
        [&["trace", "import", "t.csv", "--csv", COLUMNS, "-o", "dated.parquet"], &began[..]];
    succeed(here, &dated.concat());
    std::fs::copy(here.join("undated.parquet"), here.join("copy.parquet")).unwrap();
    for name in ["undated", "dated"] {
        let (trace, fold) = (format!("{name}.parquet"), format!("{name}.fold"));
        succeed(here, &["trace", "fold", &trace, "--step", "1s", "-o", &fold]);
        refuse(here, &["trace", "streams", &trace, &trace], &[]);
        refuse(here, &["trace", "streams", &fold, &fold], &[]);
        refuse(here, &["trace", "streams", &trace, &fold], &[]);
    }
    refuse(here, &["trace", "streams", "undated.parquet", "copy.parquet"], &[]);
    refuse(here, &["workload", "derive", "undated.parquet", "copy.parquet"], &[]);
    let alone: serde_json::Value =
        succeed_json(here, &["trace", "streams", "undated.parquet", "--json"]);
    assert_eq!(alone["account"]["events"], 1009, "{alone}");
}

/// An option that would change nothing is refused.
#[test]
fn options_without_effect_are_refused() {
    let here = &TestDirectory::new();
    write_table(&here.join("t.csv"));
    succeed(here, &["trace", "import", "t.csv", "--csv", COLUMNS, "-o", "t.parquet"]);
    let derive = ["workload", "derive", "t.parquet", "--native", "-o", "t.toml"];
    succeed(here, &[&derive[..], &["--replay-representation", "t.rr"]].concat());
    std::fs::write(here.join("clock.csv"), "1700000000,read,0,4096\n1700000010,read,0,4096\n")
        .unwrap();
    let unix = ["--csv", "time=1:s:unix,op=2,offset=3,bytes=4"];
    let import = [&["trace", "import", "clock.csv", "-o", "clock.parquet"], &unix[..]].concat();
    let began = ["--began", "2026-11-21 06:16:17"];
    refuse(here, &[&import[..], &began[..]].concat(), &[]);
    succeed(here, &import);
    let export = ["workload", "export", "-o", "x", "--device-size", "1GB"];
    succeed(here, "run iops --target sim:small --profile quick -o run");
    std::fs::write(here.join("result.json"), fio_result()).unwrap();
    for (command, more) in [
        ("workload derive t.rr", "--from 10ms"),
        ("workload derive t.rr", "--op read"),
        ("workload derive t.rr", "--step 10s"),
        ("workload derive t.rr", "t.parquet"),
        ("trace hits t.parquet", "--threshold 20%"),
        ("plan replay-native --workload t.toml --target sim:small", "--step 10s"),
        ("plan replay-native --workload t.rr --target sim:small", "--step 10s"),
        ("plan iops --target sim:small --set precondition=wipc", "--precondition one-pass"),
        ("run iops --target sim:small -o unused", "--size 7GiB"),
        ("run iops --target sim:small -o unused", "--together start"),
        ("run iops --target sim:small --target sim:client -o unused", "--together start"),
        ("run iops --target sim:small -o unused", "--log-to x"),
        ("plan iops --target sim:small", "--size 7GiB"),
        ("plan iops --target sim:small --verbose", "--json"),
        ("plan fill --target sim:small", "--step-time 1s"),
        ("plan idle-exit --target sim:small", "--step-time 1s"),
        ("plan write-amplification --target sim:small", "--step-time 1s"),
        ("plan power-cut --target sim:small", "--step-time 1s"),
        ("plan power-cut --target sim:small", "--verify"),
        ("plan iops --target sim:small --profile tkperf", "--class client"),
        ("plan tkperf --target sim:small", "--class client"),
        ("crystaldiskmark --target sim:small --plan", "--size 7GiB"),
        ("crystaldiskmark --target sim:small --plan", "--force"),
        ("crystaldiskmark --read old.txt", "--runs 3"),
        ("crystaldiskmark --read old.txt", "--group 0"),
        ("iometer a.icf --from-run run -r x", "--seed 3"),
        ("iometer export iops --target sim:small -o x", "--power-command true"),
        ("tkperf --read old.xml", "--seed 3"),
        ("tkperf ssd a sim:small --plan", "--force"),
        ("measure RND4KR --target sim:small --time 1s", "--keep kept"),
        ("measure RND4KR --target sim:small --time 1s", "--size 7GiB"),
        ("measure RND4KR --target sim:small --time 1s", "--group 0"),
        ("report run", "--force"),
        ("report result.json", "--group 0"),
        ("report result.json", "--format html"),
        ("check run --limits limits.toml", "--group 0"),
        ("check run --list", "-o x"),
        ("compare run result.json", "--force"),
        ("trend run", "--force"),
        ("trace steps t.parquet --json", "--time-axis relative"),
        ("trace groups t.parquet --json", "--top 3"),
        ("trace compare t.parquet u.parquet --by stream", "--step 1s"),
        ("trace compare t.parquet u.parquet --by stream", "--force"),
        ("explore t.parquet -o x", "--port 8080"),
    ] {
        let command = command.replace("RND4KR", "RND_4K_R");
        let words = command.split(' ').chain(more.split(' '));
        let words: Vec<String> = words.map(|word| word.replace('_', " ")).collect();
        let (option, _) = more.split_once(' ').unwrap_or((more, ""));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        refuse(here, &words, &[option.trim_start_matches('-')]);
    }
    for (source, format, more) in [
        ("t.parquet", "replay-representation", ""),
        ("t.rr", "replay-representation", "--op write"),
        ("t.toml", "fio", "--step 10s"),
        ("t.toml", "fio", "--step 10s --native"),
        ("t.parquet", "csv", "--filename /dev/x"),
    ] {
        let format = ["--output-format", format, source];
        let more: Vec<&str> = more.split(' ').filter(|word| !word.is_empty()).collect();
        refuse(here, &[&export[..], &format[..], &more].concat(), &[]);
    }
    for name in ["x", "kept", "unused"] {
        assert!(!here.join(name).exists(), "{name}");
    }
}

fn fio_result() -> String {
    let result = serde_json::json!({
        "fio version": "fio-3.33",
        "jobs": [{
            "jobname": "r",
            "job options": {"rw": "randread", "bs": "4k", "iodepth": "4"},
            "read": {"total_ios": 1000, "iops": 100.0, "bw_bytes": 409_600},
        }],
    });
    result.to_string()
}

/// One measurement is one round.
#[test]
fn a_result_named_twice_is_refused() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("a.json"), fio_result()).unwrap();
    std::fs::copy(here.join("a.json"), here.join("b.json")).unwrap();
    for second in ["a.json", "b.json"] {
        refuse(here, &["report", "a.json", second], &["same content"]);
    }
}

/// Addresses up to the last that a trace can have.
#[test]
fn a_workload_is_derived_from_addresses_up_to_the_end_of_all_addresses() {
    let here = &TestDirectory::new();
    let rows = "1000,read,0,4096,5,sda\n2000,read,18446744073709543424,4096,5,sda\n";
    std::fs::write(here.join("t.csv"), rows).unwrap();
    succeed(here, &["trace", "import", "t.csv", "--csv", COLUMNS, "-o", "t.parquet"]);
    succeed(here, &["workload", "derive", "t.parquet", "-o", "t.toml"]);
}
