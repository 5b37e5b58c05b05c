//! Results of other tools: what fio itself writes, read back and compared with fio's own numbers.

use super::fixtures::*;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs fio on a file; returns false if it is not installed.
fn fio(here: &Path, arguments: &[&str]) -> bool {
    let base = ["--size=8m", "--filename=data", "--randrepeat=0", "--runtime=1", "--time_based"];
    let Ok(output) = Command::new("fio").current_dir(here).args(arguments).args(base).output()
    else {
        skip("fio is not installed");
        return false;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let text = &text[text.find('{').unwrap()..];
    serde_json::Deserializer::from_str(text).into_iter::<Value>().next().unwrap().unwrap()
}

fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
}

/// A result of fio for random reads at a queue depth.
pub fn fio_result(depth: u32) -> Value {
    serde_json::json!({
        "fio version": "fio-3.33",
        "jobs": [{
            "jobname": "r",
            "job options": {"rw": "randread", "bs": "4k", "iodepth": depth.to_string()},
            "read": {"total_ios": 1000, "iops": 100.0, "bw_bytes": 409_600},
        }],
    })
}

/// Two results of fio that differ in one option: `compare` lists it as a setting.
#[test]
fn settings_of_two_jobs_of_fio_are_compared() {
    let here = &TestDirectory::new();
    for depth in [4, 32] {
        let result = fio_result(depth).to_string();
        std::fs::write(here.join(format!("{depth}.json")), result).unwrap();
    }
    let found = succeed_json(here, "compare 4.json 32.json --json");
    let mut tables = array(&found["summary"]).iter().map(|own| &own["table"]);
    let table = tables.find(|table| table["id"] == "differences").unwrap();
    let rows = array(&table["rows"]);
    let row = rows.iter().find(|row| row["id"] == "foreign-demand").unwrap();
    let texts: Vec<&Value> = array(&row["cells"]).iter().map(|cell| &cell["text"]).collect();
    assert_eq!(texts, ["iodepth=4, numjobs=1", "iodepth=32, numjobs=1"]);
    assert!(rows.iter().all(|row| row["id"] != "foreign-load"), "{rows:?}");
}

/// The oracle is fio's own JSON, read here by name.
#[test]
fn fio_says_the_same_in_every_format_of_its_output() {
    let here = &TestDirectory::new();
    let load = ["--name=mix", "--rw=randrw", "--rwmixread=65", "--bs=4k", "--ioengine=psync"];
    let formats = ["--output-format=json+,terse", "--output=both.txt", "--lat_percentiles=1"];
    if !fio(here, &[&load[..], &formats].concat()) {
        return;
    }
    let own = json(&here.join("both.txt"));
    let job = &own["jobs"][0];
    let text = std::fs::read_to_string(here.join("both.txt")).unwrap();
    let line = text.lines().find(|line| line.starts_with("3;")).unwrap();
    std::fs::write(here.join("terse.txt"), line).unwrap();
    let report =
        |file: &str| -> Value { succeed_json(here, &["report", file, "--format", "json"]) };
    let (both, terse) = (report("both.txt"), report("terse.txt"));
    for (direction, table) in [("read", "sequence-reads"), ("write", "sequence-writes")] {
        let of = &job[direction];
        let number = |value: &Value| value.as_f64().unwrap();
        let latency = &of["lat_ns"];
        for found in [&both, &terse] {
            assert_close(table_cell(found, table, "mix", "iops"), number(&of["iops"]));
            assert_close(table_cell(found, table, "mix", "mb"), number(&of["bw_bytes"]) / 1e6);
            let mean = table_cell(found, table, "mix", "mean-ms").unwrap();
            assert!((mean - number(&latency["mean"]) / 1e6).abs() < 2e-6, "{mean}");
        }
        assert_eq!(table_cell(&both, table, "mix", "ios"), of["total_ios"].as_f64());
        assert_close(table_cell(&both, table, "mix", "max-ms"), number(&latency["max"]) / 1e6);
        let p99 = number(&latency["percentile"]["99.000000"]);
        assert_close(table_cell(&both, table, "mix", "p99-ms"), p99 / 1e6);
    }
    let sum = job["read"]["iops"].as_f64().unwrap() + job["write"]["iops"].as_f64().unwrap();
    assert_close(table_cell(&both, "sequence", "mix", "iops"), sum);
    // Of reads and writes together fio states no percentile; its histograms have it.
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for direction in ["read", "write"] {
        for (time, ios) in job[direction]["lat_ns"]["bins"].as_object().unwrap() {
            bins.push((time.parse().unwrap(), ios.as_u64().unwrap()));
        }
    }
    bins.sort_unstable();
    let all: u64 = bins.iter().map(|(_, ios)| ios).sum();
    let mut sum = 0;
    let reached = bins.iter().find(|(_, ios)| {
        sum += ios;
        sum as f64 >= 0.99 * all as f64
    });
    assert_close(table_cell(&both, "sequence", "mix", "p99-ms"), reached.unwrap().0 as f64 / 1e6);
    assert_eq!(table_cell(&terse, "sequence", "mix", "p99-ms"), None);
    let text = terse.to_string();
    assert!(text.contains("NOT MEASURED BY STEADFAST") && text.contains("clat"), "{text}");
}

/// Jobs at once, clones, and our run of the same job file next to fio's.
#[test]
fn a_result_of_fio_stands_next_to_our_run_of_its_job_file() {
    let here = &TestDirectory::new();
    let job = "[global]\nioengine=psync\nsize=8m\nfilename=data\nruntime=1\ntime_based\nbs=4k\n\
        [reader]\nrw=randread\nnumjobs=2\n[writer]\nrw=randwrite\n[last]\nstonewall\nrw=read\n";
    std::fs::write(here.join("job.fio"), job).unwrap();
    if !fio(here, &["job.fio", "--output-format=json", "--output=result.json"]) {
        return;
    }
    let own = json(&here.join("result.json"));
    let iops = |name: &str, direction: &str| -> f64 {
        let jobs = array(&own["jobs"]).iter();
        let jobs = jobs.filter(|job| job["jobname"] == name);
        jobs.map(|job| job[direction]["iops"].as_f64().unwrap()).sum()
    };
    let report = succeed_json(here, "report result.json --format json");
    let both = "reader + writer";
    let (reader, writer) = (iops("reader", "read"), iops("writer", "write"));
    assert_close(table_cell(&report, "sequence-reads", both, "iops"), reader);
    assert_close(table_cell(&report, "sequence", both, "iops"), reader + writer);
    assert_close(table_cell(&report, "sequence", "last", "iops"), iops("last", "read"));
    assert_close(table_cell(&report, "sequence-apart", "reader + writer: writer", "iops"), writer);
    succeed(here, "fio job.fio --target sim:small -o run");
    succeed(here, "compare result.json run -o comparison");
    let text = std::fs::read_to_string(here.join("comparison/sequence.csv")).unwrap();
    let row = text.lines().find(|line| line.starts_with("last · IOPS")).unwrap();
    let values: Vec<&str> = row.split(',').collect();
    assert!(values[1].parse::<f64>().unwrap() > 0.0 && values[2].parse::<f64>().unwrap() > 0.0);
    let limits = "[[limit]]\ntitle='x'\ntable='sequence'\nrow='last'\ncolumn='iops'\nmin=1e12\n";
    std::fs::write(here.join("limits.toml"), limits).unwrap();
    run_ending(here, "check result.json --limits limits.toml --no-report", &[5]);
}

/// A result of fio with this rate, with the fields that are read.
fn round(rate: f64, at: u64) -> String {
    format!(
        "{{\"fio version\":\"fio-3.33\",\"timestamp_ms\":{at},\"jobs\":[{{\"jobname\":\"w\",\"groupid\":0,\
         \"error\":0,\"read\":{{\"total_ios\":0}},\"write\":{{\"total_ios\":60000,\"iops\":{rate},\
         \"bw_bytes\":{},\"lat_ns\":{{\"mean\":1e6,\"max\":2e6,\"N\":60000}}}}}}]}}",
        rate * 4096.0
    )
}

#[test]
fn several_files_are_rounds_and_are_judged() {
    let here = &TestDirectory::new();
    std::fs::create_dir(here.join("rounds")).unwrap();
    // The sixth round is the first whose window is within 20 %.
    for (number, rate) in (1..).zip([2000.0, 1000.0, 1020.0, 990.0, 1010.0, 980.0]) {
        let file = here.join(format!("rounds/{}.json", 10 - number));
        std::fs::write(file, round(rate, number)).unwrap();
    }
    let read =
        |runs: &str| -> Value { succeed_json(here, &format!("report {runs} --format json")) };
    let steady = read("rounds");
    assert_eq!(steady["end"], "steady");
    assert_eq!(steady["verdict"]["window"][0], 2);
    assert_close(table_cell(&steady, "sequence", "w", "iops"), 1000.0);
    assert_close(table_cell(&steady, "foreign-round-iops", "w", "1"), 2000.0);
    let few = read("rounds/9.json rounds/8.json");
    assert_eq!((few["end"].as_str(), &few["verdict"]), (Some("complete"), &Value::Null));
    succeed(here, "report rounds -o out --format html,csv");
    assert!(here.join("out/report.html").is_file() && here.join("out/sequence.csv").is_file());
    succeed(here, "compare rounds rounds/9.json -o both.json");
    refuse(here, "report rounds -o out", &["exists", "--force"]);
    std::fs::create_dir(here.join("empty")).unwrap();
    refuse(here, "report empty", &["not a run directory"]);
    // A directory with a report is read, but not instead of results that may be newer.
    succeed(here, "report rounds -o stored --format json");
    assert_eq!(read("stored")["verdict"], steady["verdict"]);
    std::fs::rename(here.join("stored/findings.json"), here.join("rounds/findings.json")).unwrap();
    std::fs::remove_file(here.join("rounds/9.json")).unwrap();
    assert_eq!(read("rounds")["verdict"]["window"][0], 1);
}

/// Every command that is given a file of another kind names the command that takes it.
#[test]
fn files_of_another_kind_are_named_with_their_command() {
    let here = &TestDirectory::new();
    let files = [
        ("job.fio", "[a]\nrw=read\nsize=1m\n", "fio-job", "steadfast fio job.fio"),
        (
            "test.icf", "Version 1.1.0 \n'TEST SETUP =====\n", "iometer-icf",
            "steadfast iometer test.icf",
        ),
        (
            "old.txt", "CrystalDiskMark 8.0.4 x64\n", "crystaldiskmark",
            "crystaldiskmark --read old.txt",
        ),
        (
            "suite.json", "{\"def\":[{\"template\":\"a\"}]}", "fiosynth-suite",
            "steadfast fiosynth suite.json",
        ),
        (
            "log.xml",
            "<x><ioperfversion>2</ioperfversion></x>",
            "tkperf-xml",
            "tkperf --read log.xml",
        ),
        ("r.json", &round(1.0, 1), "fio-json", "steadfast report r.json"),
        ("io.log", "fio version 2 iolog\n", "fio-iolog", "steadfast trace import io.log"),
    ];
    for (name, content, ..) in &files {
        std::fs::write(here.join(name), content).unwrap();
    }
    std::fs::write(here.join("x.xz"), [0xfd, b'7', b'z', b'X', b'Z', 0, 1]).unwrap();
    for (name, _, kind, command) in &files {
        let found = succeed_json(here, &["identify", name, "--json"]);
        assert_eq!(found["files"][0]["kind"], *kind, "{found}");
        assert!(found["files"][0]["command"].as_str().unwrap().contains(command), "{found}");
    }
    for (reader, own) in [
        ("fio FILE --target sim:small --plan", "fio-job"),
        ("fiosynth FILE --target sim:small --plan", "fiosynth-suite"),
        ("iometer FILE --target sim:small --plan", "iometer-icf"),
        ("crystaldiskmark --read FILE", "crystaldiskmark"),
        ("tkperf --read FILE", "tkperf-xml"),
        ("trace import FILE -o out.parquet", "fio-iolog"),
    ] {
        for (name, _, _, command) in files.iter().filter(|(_, _, kind, _)| *kind != own) {
            let output = run_ending(here, &reader.replace("FILE", name), &[1]);
            assert!(stderr(&output).contains(command), "{reader} {name}: {}", stderr(&output));
        }
    }
    refuse(here, "trace streams job.fio", &["a job file of fio", "steadfast fio job.fio"]);
    refuse(here, "compare job.fio r.json", &["a job file of fio"]);
    refuse(here, "fio x.xz --target sim:small", &["xz -dk x.xz"]);
    std::fs::write(here.join("what"), "hello\n").unwrap();
    run_ending(here, "identify what job.fio", &[1]);
}
