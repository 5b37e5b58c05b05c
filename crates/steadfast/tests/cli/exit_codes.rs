//! Exit codes as docs/exit-codes.md has them, and the messages with them.

use super::fixtures::*;
use std::path::Path;
use std::process::Stdio;

/// Every mistake on the command line ends with 2 and a message that says what is wrong and what was
/// probably meant; nothing is created.
#[test]
fn every_mistake_on_the_command_line_ends_with_2() {
    let here = &TestDirectory::new();
    let table: [(&str, &[&str]); 43] = [
        ("messure", &["messure", "'measure'"]),
        ("run iosp --target sim:small", &["no procedure 'iosp'", "did you mean 'iops'"]),
        ("run tea --target sim:small", &["no procedure 'tea'", "iops"]),
        ("plan latencies --target sim:small", &["did you mean 'latency'"]),
        ("run iops --target sim:smal", &["'smal'", "did you mean 'sim:small'"]),
        ("run iops --target sim:absent", &["'absent'", "sim:small"]),
        ("doctor sim:smal", &["no simulated drive", "did you mean 'sim:small'"]),
        ("run iops --target sim:small --profile pts-20", &["did you mean 'pts-2.0'"]),
        ("run iops --target sim:small --profile pts-1.1 --class client", &["segments"]),
        ("run iops --target sim:small --active-range 0%", &["percentage"]),
        ("run iops --target sim:small --threads 0", &["--threads", "1..=4096"]),
        ("run iops --target sim:small --depth 5000", &["--depth", "1..=4096"]),
        ("run iops --target sim:small --set foo=1", &["no parameter 'foo'"]),
        ("run iops --target sim:small --set foo", &["NAME=VALUE"]),
        ("run iops --target sim:small --meta vender=x", &["'vender'", "did you mean 'vendor'"]),
        ("run iops --target sim:small --meta absent.txt", &["absent.txt", "neither"]),
        ("run iops --target sim:small --engine uring", &["uring", "block device"]),
        ("run iops --target sim:small --step-time -5s", &["-5s is negative"]),
        ("run iops --target sim:small --step-time 1ns", &["step time"]),
        ("run iops --target sim:small --power-command ' '", &["--power-command is empty"]),
        ("run iops --target sim:small --demand T4Q32", &["--threads 4 --depth 32"]),
        ("export parquet run -o x.csv", &["ends in .parquet"]),
        ("run iops --target f.bin --size 1MiB", &["too small"]),
        ("run iops --target g.bin --size 100000001", &["g.bin", "512"]),
        ("measure 'RND 4K' --target sim:small", &["RND 4K RW65"]),
        ("measure 'RND 4K R' --target sim:small --demand 4x4", &["T4Q32"]),
        ("measure 'RND 4K R' --target sim:small --time 0s", &["--time", "more than 0"]),
        ("measure 'RND 4K R' --target sim:small --time -5s", &["-5s is negative"]),
        ("measure 'RND 4K R' --target sim:small --ios 0", &["--ios"]),
        ("measure 'RND 4K W' --target /dev/absent --size 1MiB", &["/dev"]),
        ("measure 'RND 4K R' --target f --size 0", &["more than 0"]),
        ("measure 'RND 4K R' --target f --size 1000", &["512"]),
        ("measure --target sim:small", &["--workload"]),
        ("calibrate --target sim:small", &["is simulated"]),
        ("calibrate --target f --within nan", &["above 0"]),
        ("capture --device /dev/absent -o t --rotate-size 0", &["more than 0"]),
        ("capture --device /dev/absent -o t --rotate-time 0s", &["more than 0"]),
        ("capture --device /dev/absent -o t --duration 0s", &["more than 0"]),
        ("capture --device /dev/absent -o t --pid nosuchprog", &["nosuchprog", "process number"]),
        ("trace hits t.parquet --step 0s", &["--step", "100us to 1h"]),
        ("trace steps t.parquet --step 90min", &["whole hours"]),
        ("trace streams t --window 0", &["window"]),
        ("workload derive", &["FILE"]),
    ];
    for (arguments, parts) in table {
        let text = stderr(&run_ending(here, arguments, &[2]));
        assert!(!text.contains("panicked"), "{text}");
        for part in parts {
            assert!(text.contains(part), "{arguments} should say '{part}': {text}");
        }
    }
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0, "nothing was made");
}

/// What fails for another reason than the command line ends with 1, and names its cause once.
#[test]
fn what_fails_or_is_refused_ends_with_1() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("bad.toml"), "x").unwrap();
    let table = [
        ("measure 'RND 4K R' --target f.bin", "create the file first with"),
        ("measure 'RND 700B R' --target f.bin --size 64MiB", "RND 700B R only reads"),
        ("measure 'RND 700 R' --target sim:small", "multiples of 512 B"),
        ("run iops --target f.bin", "give --size to create it"),
        ("run iops --target f.bin --size 9000TB", "f.bin"),
        ("run iops --target .", "is a directory"),
        ("run iops --target /dev/absent", "/dev/absent"),
        ("measure 'RND 4K R' --target /dev/absent", "/dev/absent"),
        ("study absent", "not a run directory"),
        ("restore absent", "not a run directory"),
        ("resume .", "not a run directory"),
        ("trace streams absent.parquet", "absent.parquet"),
        ("compare a b", "a"),
        ("check absent --limits bad.toml", "bad.toml"),
    ];
    for (arguments, part) in table {
        let text = stderr(&run_ending(here, arguments, &[1]));
        assert!(text.contains(part), "{arguments} should say '{part}': {text}");
        assert!(text.matches("os error").count() <= 1, "{arguments}: {text}");
        assert!(text.matches("No such file").count() <= 1, "{arguments}: {text}");
    }
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 1, "only bad.toml");
}

#[test]
fn an_import_says_what_must_be_unpacked_first() {
    let here = &TestDirectory::new();
    let tar = [vec![b'x'; 257], b"ustar".to_vec()].concat();
    let kinds: [(&[u8], &str); 5] = [
        (b"nothing known", "--input-format (blktrace"),
        (b"\xfd7zXZ\0", "after 0 bytes"),
        (b"BZh91AY", "after 0 bytes"),
        (b"\x04\x22\x4d\x18", "lz4 -d"),
        (&tar, "tar -xf"),
    ];
    for (start, remedy) in kinds {
        std::fs::write(here.join("packed"), start).unwrap();
        refuse(here, "trace import packed -o u.parquet", &[remedy]);
    }
    refuse(here, "trace import packed --input-format fio-iolog -o u.parquet", &["a tar archive"]);
    let seconds = "time=1,op=2,offset=3,bytes=4";
    std::fs::write(here.join("t.csv"), "1281000000000000000,R,0,4096\n").unwrap();
    let import = format!("trace import t.csv --csv {seconds} -o u.parquet");
    refuse(here, &import, &["too large for seconds", "time=1:ns"]);
}

#[test]
fn spans_and_processes_that_no_trace_can_have_are_refused() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("t.csv"), "1,R,0,4096\n2,W,4096,4096\n").unwrap();
    let import = "trace import t.csv --csv time=1:s,op=2,offset=3:bytes,bytes=4 -o t.parquet";
    succeed(here, import);
    let backwards = run_ending(here, "trace streams t.parquet --from 10m --to 5m", &[2]);
    assert!(stderr(&backwards).contains("not before --to"), "{}", stderr(&backwards));
    for process in ["nosuchprog", "4711"] {
        let output = run_ending(here, &format!("trace streams t.parquet --pid {process}"), &[1]);
        assert!(stderr(&output).contains(process), "{}", stderr(&output));
    }
    run_ending(here, "trace import t.csv --csv tome=1 -o u.parquet", &[2]);
}

/// Every JSON document on standard output has its version, and times and sizes end in `_ns` and
/// `_bytes`.
#[test]
fn every_json_document_has_a_version_and_one_style_of_units() {
    let here = &TestDirectory::new();
    for command in [
        "devices --json",
        "doctor sim:small --json",
        "plan latency --target sim:small --json",
        "restore --json",
        "measure 'RND 4K R' --target sim:small --time 1s --json",
        "run iops --target sim:small --profile quick -o r --json",
    ] {
        let json = succeed_json(here, command);
        assert!(json["version"].is_u64(), "{command}");
        for name in json.as_object().unwrap().keys() {
            assert!(!name.ends_with("seconds") && !name.starts_with("mb"), "{command}: {name}");
        }
    }
    for command in ["study r --json", "check r --list --json"] {
        let json = succeed_json(here, command);
        assert!(json["version"].is_u64(), "{command}");
    }
}

/// With `--quiet` only results, warnings and errors are printed; with `--color` a pipe has colors.
#[test]
fn options_of_every_command_apply_before_and_after_it() {
    let here = &TestDirectory::new();
    let run = "run iops --target sim:small --profile quick -o";
    let loud = run_in(here, &format!("{run} a"));
    assert_ne!(stderr(&loud), "");
    let quiet = run_in(here, &format!("-q {run} b"));
    assert_eq!((code(&quiet), stderr(&quiet)), (code(&loud), String::new()));
    assert_eq!(quiet.stdout.is_empty(), loud.stdout.is_empty());
    let has_colors =
        |when: &str| succeed(here, &["doctor", "sim:small", "--color", when]).contains("\x1b[32m");
    assert!(has_colors("always") && !has_colors("auto") && !has_colors("never"));
    refuse(here, "schema --json", &["`steadfast schema` prints no JSON"]);
    assert!(succeed(here, "help topics").contains("\n  safety  "));
}

/// A plan shows the steps that follow on steady state, which the last round may bring.
#[test]
fn the_plan_of_the_latency_test_has_its_histogram_run() {
    let plan = "plan latency --target sim:small";
    let text = succeed(Path::new("/"), plan);
    assert!(text.contains("histogram") && text.contains("20 min"), "{text}");
    let json = succeed_json(Path::new("/"), &format!("{plan} --json"));
    let (round, histogram) = (9 * 60, 20 * 60);
    let nanos = |seconds: u64| seconds * 1_000_000_000;
    assert_eq!(json["best_time_ns"], nanos(5 * round + histogram));
    assert_eq!(json["worst_time_ns"], nanos(25 * round + histogram));
    let last = array(&json["sections"]).last().unwrap();
    assert_eq!((&last["phase"], &last["time_ns"]), (&"histogram".into(), &nanos(1200).into()));
}

/// A closed output is no failure, and hides none.
#[test]
fn a_reader_that_went_away_changes_no_exit_code() {
    let here = &TestDirectory::new();
    let ended_with = |arguments: &str| {
        let mut child = spawn_in(here, arguments, Stdio::piped(), Stdio::piped());
        drop(child.stdout.take());
        drop(child.stderr.take());
        child.wait().unwrap().code()
    };
    assert_eq!(ended_with("devices"), Some(0));
    let run = "run iops --target sim:small --profile quick --max-rounds 3 -o run";
    assert_eq!(ended_with(run), Some(3));
    assert!(here.join("run/report.html").exists());
}
