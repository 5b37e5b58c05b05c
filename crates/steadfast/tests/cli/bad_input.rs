//! Bad input gets one clear line and a non-zero exit, and touches nothing.

use super::fixtures::*;
use super::foreign_results::fio_result;
use std::path::Path;
use steadfast_domain::record::RECORD_VERSION;

#[test]
fn without_permission_the_device_is_refused() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    std::fs::set_permissions(here, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let measure = format!("measure 'RND 4K R' --target {} --time 1s", device.path);
    let mut command = command_in(here, &measure);
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    let Ok(output) = command.output() else {
        return skip("the program cannot be started as another user");
    };
    let text = stderr(&output);
    assert_eq!(code(&output), 1, "{text}");
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
    cut_journal(&here.join("run"), |lines| lines.len() / 2);
    refuse(here, &quick("run"), &["already exists", "resume it: steadfast resume run"]);
}

/// No file is created, nor is its creation advised, where device nodes lie.
#[test]
fn a_missing_device_is_no_file_to_create() {
    let here = &TestDirectory::new();
    let missing = ["/dev/absent: cannot find it"];
    refuse(here, "measure 'RND 4K R' --target /dev/absent", &missing);
    for command in ["measure 'RND 4K W'", "run iops"] {
        let command = format!("{command} --target /dev/absent");
        refuse(here, &command, &missing);
        let output = run_ending(here, &format!("{command} --size 64MiB"), &[2]);
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
        let settings_of_version = own.replacen(&now, &format!("\"version\": {version}"), 1);
        std::fs::write(&settings, settings_of_version).unwrap();
    };
    of_version(9);
    refuse(here, "study run", &["format 9", "newer"]);
    for foreign in ["{}", "{\"editor.tabSize\": 4}"] {
        std::fs::write(&settings, foreign).unwrap();
        refuse(here, "study run", &["settings.json is damaged, or another program's"]);
    }
    of_version(RECORD_VERSION - 1);
    for command in ["study", "report", "resume", "restore"] {
        let parts = ["settings.json was written by an unreleased version", "run again"];
        refuse(here, &[command, "run"], &parts);
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
    let run = format!("run iops --profile quick --target {} -o run", device.path);
    refuse(here, &run, &["--yes-destroy", device.name()]);
    refuse(here, &format!("{run} --yes-destroy loop999"), &["loop999"]);
    let measure = |pattern: &str| format!("measure '{pattern}' --target {} --time 1s", device.path);
    refuse(here, &measure("RND 4K W"), &["--yes-destroy"]);
    assert!(!here.join("run").exists());
    succeed(here, &measure("RND 4K R"));
}

/// The run directory lies on the device that would be overwritten.
#[test]
fn the_disk_that_holds_the_run_directory_is_refused() {
    let Some(device) = LoopDevice::new(256) else { return };
    if !device.has_ext4() {
        return;
    }
    let here = &TestDirectory::new();
    let _mount = Mount::new(&device, here.to_path_buf());
    let run = format!("run iops --profile quick {} -o run", device.confirmed());
    let output = run_ending(here, &run, &[1]);
    assert!(stderr(&output).contains("mounted"), "{}", stderr(&output));
}

/// A file has no commands of a drive; it is refused before anything is created.
#[test]
fn a_file_is_not_purged_by_a_drives_command() {
    let here = &TestDirectory::new();
    let run = "run iops --target x --size 64MiB --purge nvme-format";
    refuse(here, run, &["x", "auto, discard or none"]);
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0);
}

/// A load that only reads creates no file, and leaves one as it is.
#[test]
fn a_load_that_only_reads_creates_nothing_and_changes_no_size() {
    let here = &TestDirectory::new();
    let read = |name: &str, size: &str| {
        format!("measure 'RND 4K R' --target {name} --size {size} --time 100ms")
    };
    refuse(here, &read("f.bin", "8MiB"), &["f.bin does not exist", "--size 8MiB"]);
    assert!(!here.join("f.bin").exists());
    succeed(here, "measure 'SEQ 128K W' --target f.bin --size 8MiB --time 100ms");
    let before = std::fs::read(here.join("f.bin")).unwrap();
    assert!(before.iter().any(|byte| *byte != 0));
    refuse(here, &read("f.bin", "16MiB"), &["has 8388608 bytes", "omit --size"]);
    succeed(here, &read("f.bin", "8MiB"));
    assert!(before == std::fs::read(here.join("f.bin")).unwrap(), "the file has changed");
    let write = |name: &str| format!("measure 'RND 4K W' --target {name} --time 100ms");
    std::fs::copy(here.join("f.bin"), here.join("copy.bin")).unwrap();
    refuse(here, &write("copy.bin"), &["--yes-destroy 'copy.bin'"]);
    std::fs::copy(here.join("copy.bin"), here.join("f.bin")).unwrap();
    let parts = ["--yes-destroy 'f.bin'", "something else has written to it"];
    refuse(here, &write("f.bin"), &parts);
    assert!(before == std::fs::read(here.join("f.bin")).unwrap(), "the file has changed");
}

/// A table of 1,009 reads, 1 ms apart, whose times are relative.
fn write_table(path: &Path) {
    let rows = (0..1009).map(|n| format!("{},read,{},4096,50,sda\n", n * 1000, n * 4096));
    std::fs::write(path, rows.collect::<String>()).unwrap();
}

/// Imports that table.
const IMPORT: &str =
    "trace import t.csv --csv time=1:us,op=2,offset=3,bytes=4,response=5:us,device=6 -o";

/// A capture counts once, whether or not its start is known.
#[test]
fn a_capture_named_twice_is_refused() {
    let here = &TestDirectory::new();
    write_table(&here.join("t.csv"));
    succeed(here, &format!("{IMPORT} undated.parquet"));
    succeed(here, &format!("{IMPORT} dated.parquet --began '2026-11-21 06:16:17'"));
    std::fs::copy(here.join("undated.parquet"), here.join("copy.parquet")).unwrap();
    for name in ["undated", "dated"] {
        succeed(here, &format!("trace fold {name}.parquet --step 1s -o {name}.fold"));
        for (one, other) in [("parquet", "parquet"), ("fold", "fold"), ("parquet", "fold")] {
            refuse(here, &format!("trace streams {name}.{one} {name}.{other}"), &[]);
        }
    }
    refuse(here, "trace streams undated.parquet copy.parquet", &[]);
    refuse(here, "workload derive undated.parquet copy.parquet", &[]);
    let alone = succeed_json(here, "trace streams undated.parquet --json");
    assert_eq!(alone["account"]["events"], 1009, "{alone}");
}

/// An option that would change nothing is refused.
#[test]
fn options_without_effect_are_refused() {
    let here = &TestDirectory::new();
    write_table(&here.join("t.csv"));
    succeed(here, &format!("{IMPORT} t.parquet"));
    let derive = "workload derive t.parquet --native -o t.toml --replay-representation t.rr";
    succeed(here, derive);
    let rows = "1700000000,read,0,4096\n1700000010,read,0,4096\n";
    std::fs::write(here.join("clock.csv"), rows).unwrap();
    let import =
        "trace import clock.csv -o clock.parquet --csv time=1:s:unix,op=2,offset=3,bytes=4";
    // The second is the time at which the table itself begins.
    for began in ["2026-11-21 06:16:17", "2023-11-14 22:13:20"] {
        refuse(here, &format!("{import} --began '{began}'"), &["says when it began"]);
    }
    succeed(here, import);
    succeed(here, "run iops --target sim:small --profile quick -o run");
    std::fs::write(here.join("result.json"), fio_result(4).to_string()).unwrap();
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
        ("measure 'RND 4K R' --target sim:small --time 1s", "--keep kept"),
        ("measure 'RND 4K R' --target sim:small --time 1s", "--size 7GiB"),
        ("measure 'RND 4K R' --target sim:small --time 1s", "--group 0"),
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
        let option = more.split(' ').next().unwrap_or_default();
        refuse(here, &format!("{command} {more}"), &[option.trim_start_matches('-')]);
    }
    for (source, format, more) in [
        ("t.parquet", "replay-representation", ""),
        ("t.rr", "replay-representation", "--op write"),
        ("t.toml", "fio", "--step 10s"),
        ("t.toml", "fio", "--step 10s --native"),
        ("t.parquet", "csv", "--filename /dev/x"),
    ] {
        let export = "workload export -o x --device-size 1GB --output-format";
        refuse(here, &format!("{export} {format} {source} {more}"), &[]);
    }
    for name in ["x", "kept", "unused"] {
        assert!(!here.join(name).exists(), "{name}");
    }
}

/// One measurement is one round.
#[test]
fn a_result_named_twice_is_refused() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("a.json"), fio_result(4).to_string()).unwrap();
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
    succeed(here, &format!("{IMPORT} t.parquet"));
    succeed(here, "workload derive t.parquet -o t.toml");
}
