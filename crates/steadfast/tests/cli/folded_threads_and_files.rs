//! Fold files have the threads, cgroups, files, merged requests and content of the captures, however
//! they were merged.

use super::fixtures::{TestDirectory, array, fold, merge, refuse, succeed, succeed_json};
use super::fleet::FleetCapture;
use super::synthetic_captures::write;
use super::threads_and_files::{conditions, ios};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Time between two I/Os.
const EVERY_NS: u64 = 397_000_003;
/// One host was captured twice.
const CAPTURES: [FleetCapture; 4] = [
    FleetCapture { host: "web1", begin_ms: 0, ios: 2003 },
    FleetCapture { host: "web1", begin_ms: 1_900_123, ios: 1009 },
    FleetCapture { host: "web2", begin_ms: 17_301, ios: 3001 },
    FleetCapture { host: "db1", begin_ms: 61_007, ios: 997 },
];
const FILES: [&str; 4] = ["0.parquet", "1.parquet", "2.parquet", "3.parquet"];

/// Writes the captures of [`CAPTURES`], as [`FILES`].
fn write_captures() -> TestDirectory {
    let directory = TestDirectory::new();
    for (number, capture) in (0..).zip(CAPTURES) {
        let conditions = conditions(capture.host, capture.begin_ms, capture.ios * EVERY_NS);
        let path = directory.join(format!("{number}.parquet"));
        write(&path, conditions, ios(number, capture.ios, EVERY_NS));
    }
    directory
}

/// The answer of a command, without the names of the files and the width of a fold's steps.
fn answer(here: &Path, files: &str, question: &str) -> Value {
    let mut found = succeed_json(here, &format!("trace {question} {files} --json"));
    found.as_object_mut().unwrap().remove("file");
    found["conditions"].as_object_mut().unwrap().remove("step_ns");
    found
}

const QUESTIONS: [&str; 14] = [
    "groups --by thread --layer both",
    "groups --by cgroup --layer both",
    "groups --by file --layer both",
    "groups --by host,device,thread,cgroup,file,stream --layer both",
    "groups --by command,file --layer filesystem --show kinds",
    "groups --by op --tid 4242",
    "groups --by thread --cgroup c0ffee",
    "groups --by host --file /var/lib/log --layer filesystem",
    "streams --cgroup / --host web1",
    "steps --step 5min",
    "steps --step 1min --tid 4243",
    "drives --layer both",
    "doctor",
    "processes --file 13 --layer filesystem",
];

#[test]
fn folds_have_the_threads_cgroups_files_merges_and_content_of_the_captures() {
    let here = &write_captures();
    fold(here, &FILES, "all.fold");
    fold(here, &["2.parquet"], "a.fold");
    fold(here, &["3.parquet", "0.parquet"], "b.fold");
    fold(here, &["1.parquet"], "c.fold");
    merge(here, &["c.fold", "a.fold"], "ca.fold");
    merge(here, &["b.fold", "ca.fold"], "merged.fold");
    let bytes = |name: &str| fs::read(here.join(name)).unwrap();
    assert!(bytes("merged.fold") == bytes("all.fold"));
    for question in QUESTIONS {
        let of_files = answer(here, "3.parquet 1.parquet 0.parquet 2.parquet", question);
        assert_eq!(answer(here, "merged.fold", question), of_files, "{question}");
        let mixed = answer(here, "1.parquet b.fold 2.parquet", question);
        assert_eq!(mixed, of_files, "{question}");
    }
    let steps = answer(here, "all.fold", "steps --step 5min");
    let is_known = |step: &Value| step["content"]["compression_ratio"].as_f64() > Some(1.0);
    assert!(array(&steps["steps"]).iter().any(is_known));
    let merged = answer(here, "all.fold", "groups --by device");
    assert!(merged["groups"][0]["merged"].as_u64() > Some(0));
}

#[test]
fn dimensions_that_a_fold_omits_are_refused_by_name() {
    let here = &write_captures();
    succeed(here, "trace fold 0.parquet --no-threads -o t.fold");
    succeed(here, "trace fold 0.parquet --no-files -o f.fold");
    succeed(here, "trace fold 0.parquet --no-processes -o p.fold");
    refuse(here, "trace groups t.fold --by thread", &["no threads", "--no-threads"]);
    refuse(here, "trace groups p.fold --by thread", &["no threads"]);
    refuse(here, "trace groups f.fold --by file", &["no files", "--no-files"]);
    refuse(here, "trace groups t.fold --tid 7", &["no threads"]);
    refuse(here, "trace streams f.fold --file 12", &["no files"]);
    let parts = "trace merge t.fold f.fold -o x.fold";
    refuse(here, parts, &["different options", "without threads", "without files"]);
    // Without files there are no paths either.
    let head = String::from_utf8_lossy(&fs::read(here.join("f.fold")).unwrap()).into_owned();
    assert!(!head.contains("/var/lib/log") && head.contains("web1"));
    succeed(here, "trace groups p.fold --by cgroup");
}
