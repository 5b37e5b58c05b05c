//! Who did what, told by fold files: threads, cgroups, files, merged requests and the
//! content of what was written are those of the captures themselves, however the folds
//! came together; folds of the earlier version are still read.

use super::made_up::SeededRandom;
use super::scratch::{array, refuse, succeed, succeed_json};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturePart, CapturedCgroup, CapturedDevice, CommandName, ContentMeasurement, ContentSample,
    FileName, MergeCounts,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::TraceWriter;

const SECOND: u64 = 1_000_000_000;
/// 2026-11-20 22:00 UTC.
const BEGAN: u64 = 1_795_212_000 * SECOND;
/// Host, beginning after [`BEGAN`] in milliseconds, I/Os. One host was captured twice.
const CAPTURES: [(&str, u64, u64); 4] =
    [("web1", 0, 2003), ("web1", 1_900_123, 1009), ("web2", 17_301, 3001), ("db1", 61_007, 997)];
const FILES: [&str; 4] = ["0.parquet", "1.parquet", "2.parquet", "3.parquet"];

fn conditions(host: &str, begin_ms: u64, lasted_ns: u64) -> CaptureConditions {
    let device = |name: &str| CapturedDevice {
        name: name.into(),
        capacity: Some(Bytes::gib(64)),
        ..CapturedDevice::default()
    };
    let cgroup = |id, path: Option<&str>| CapturedCgroup {
        id,
        path: path.map(str::to_owned),
        ..CapturedCgroup::default()
    };
    // The same cgroup has another number in every capture.
    let mut cgroups =
        vec![cgroup(1, Some("/")), cgroup(77, Some("/docker/c0ffee")), cgroup(begin_ms, None)];
    cgroups.rotate_left(begin_ms as usize % 3);
    let file = |device, inode, path: &str| FileName { device, inode, path: path.into() };
    CaptureConditions {
        software: "test".into(),
        host: Some(host.into()),
        part: Some(CapturePart { capture: format!("{host}-{begin_ms}"), first: 1, last: 1 }),
        layers: vec![Layer::Block, Layer::FileSystem],
        devices: vec![device("nvme0n1"), device("sda")],
        began_unix_ns: Some(BEGAN + begin_ms * 1_000_000),
        zone: Some(TimeZone::default()),
        lasted_ns,
        threads: true,
        cgroups: Some(cgroups),
        merging: Some(vec![
            MergeCounts { merged: 41, split: 3 },
            MergeCounts { merged: 1, split: 0 },
        ]),
        paths: Some((3, 1)),
        files: Arc::new(vec![
            file(0, 12, "/srv/a b.db"),
            file(1, 12, "/var/lib/log"),
            file(1, 13, "/var/lib/it's"),
        ]),
        content: Some(ContentSample { every: 7, ..ContentSample::default() }),
        ..CaptureConditions::default()
    }
}

fn ios(seed: u64, count: u64) -> Vec<IoEvent> {
    let mut random = SeededRandom(seed);
    let mut draw = |below: u64| random.below(below);
    let mut one = |number: u64| {
        let (pid, tid, command, thread) = [
            (4240, 4240, "mysqld", ""),
            (4240, 4242, "mysqld", "ib_io_wr-1"),
            (4240, 4243, "mysqld", "ib_io_wr-1"),
            (7, 7, "backup", ""),
            (0, 0, "", ""),
        ][draw(5) as usize];
        let layer = if draw(3) == 0 { Layer::FileSystem } else { Layer::Block };
        let at_files = layer == Layer::FileSystem;
        let op = if draw(2) == 0 { IoOp::Read } else { IoOp::Write };
        let is_sampled = op == IoOp::Write && !at_files && draw(3) == 0;
        let content = ContentMeasurement {
            blocks: 2,
            duplicates: draw(3) as u16,
            bytes: 8192,
            compressed_bytes: 100 + draw(8000) as u32,
        };
        IoEvent {
            issued_ns: number * 397_000_003,
            response_ns: if draw(97) == 0 { u64::MAX } else { 10 + draw(900_000) },
            queued_ns: draw(3) * 40_000,
            offset: draw(1 << 20) * 8192,
            bytes: [512, 8192, 65_536][draw(3) as usize],
            depth: 1 + draw(9) as u32,
            pid,
            tid,
            command: CommandName::new(command),
            thread: CommandName::new(thread),
            cgroup: draw(4) as u16,
            merged: if at_files { 0 } else { (draw(5) / 3) as u16 },
            inode: if at_files { 12 + draw(3) } else { 0 },
            device: draw(2) as u16,
            content: if is_sampled { content } else { ContentMeasurement::default() },
            op,
            layer,
            ..IoEvent::default()
        }
    };
    (0..count).map(&mut one).collect()
}

/// The captures of [`CAPTURES`], as [`FILES`].
fn captured() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (number, (host, begin_ms, count)) in (0..).zip(CAPTURES) {
        let conditions = conditions(host, begin_ms, count * 397_000_003);
        let file = File::create(directory.path().join(format!("{number}.parquet"))).unwrap();
        let mut writer = TraceWriter::new(file, &conditions).unwrap().with_rows_per_group(499);
        writer.write(&ios(number, count)).unwrap();
        writer.finish(conditions).unwrap();
    }
    directory
}

/// What a command says of some files, but for what these are called and how wide the
/// steps of a fold are.
fn told(here: &Path, files: &[&str], question: &[&str]) -> Value {
    let words = [&["trace", question[0]], files, &question[1..], &["--json"]].concat();
    let mut found: Value = succeed_json(here, &words);
    found.as_object_mut().unwrap().remove("file");
    found["conditions"].as_object_mut().unwrap().remove("step_ns");
    found
}

const QUESTIONS: [&[&str]; 14] = [
    &["groups", "--by", "thread", "--layer", "both"],
    &["groups", "--by", "cgroup", "--layer", "both"],
    &["groups", "--by", "file", "--layer", "both"],
    &["groups", "--by", "host,device,thread,cgroup,file,stream", "--layer", "both"],
    &["groups", "--by", "command,file", "--layer", "filesystem", "--show", "kinds"],
    &["groups", "--by", "op", "--tid", "4242"],
    &["groups", "--by", "thread", "--cgroup", "c0ffee"],
    &["groups", "--by", "host", "--file", "/var/lib/log", "--layer", "filesystem"],
    &["streams", "--cgroup", "/", "--host", "web1"],
    &["steps", "--step", "5min"],
    &["steps", "--step", "1min", "--tid", "4243"],
    &["drives", "--layer", "both"],
    &["doctor"],
    &["processes", "--file", "13", "--layer", "filesystem"],
];

#[test]
fn folds_tell_threads_cgroups_files_merges_and_content_as_the_captures_do() {
    let directory = captured();
    let here = directory.path();
    let fold = |files: &[&str], to: &str| {
        succeed(here, &[&["trace", "fold"], files, &["-o", to]].concat());
    };
    let merge = |files: &[&str], to: &str| {
        succeed(here, &[&["trace", "merge"], files, &["-o", to]].concat());
    };
    fold(&FILES, "all.fold");
    fold(&["2.parquet"], "a.fold");
    fold(&["3.parquet", "0.parquet"], "b.fold");
    fold(&["1.parquet"], "c.fold");
    merge(&["c.fold", "a.fold"], "ca.fold");
    merge(&["b.fold", "ca.fold"], "merged.fold");
    assert!(
        fs::read(here.join("merged.fold")).unwrap() == fs::read(here.join("all.fold")).unwrap()
    );
    for question in QUESTIONS {
        let of_files = told(here, &["3.parquet", "1.parquet", "0.parquet", "2.parquet"], question);
        assert_eq!(told(here, &["merged.fold"], question), of_files, "{question:?}");
        let mixed = ["1.parquet", "b.fold", "2.parquet"];
        assert_eq!(told(here, &mixed, question), of_files, "{question:?}");
    }
    let steps = told(here, &["all.fold"], &["steps", "--step", "5min"]);
    let is_known = |step: &Value| step["content"]["compression_ratio"].as_f64() > Some(1.0);
    assert!(array(&steps["steps"]).iter().any(is_known));
    let merged = told(here, &["all.fold"], &["groups", "--by", "device"]);
    assert!(merged["groups"][0]["merged"].as_u64() > Some(0));
}

#[test]
fn what_a_fold_left_out_is_refused_by_name() {
    let directory = captured();
    let here = directory.path();
    let fold = |option: &str, to: &str| {
        succeed(here, &["trace", "fold", "0.parquet", option, "-o", to]);
    };
    fold("--no-threads", "t.fold");
    fold("--no-files", "f.fold");
    fold("--no-processes", "p.fold");
    let groups = |file: &'static str, by: &'static str| ["trace", "groups", file, "--by", by];
    refuse(here, &groups("t.fold", "thread"), &["no threads", "--no-threads"]);
    refuse(here, &groups("p.fold", "thread"), &["no threads"]);
    refuse(here, &groups("f.fold", "file"), &["no files", "--no-files"]);
    refuse(here, "trace groups t.fold --tid 7", &["no threads"]);
    refuse(here, "trace streams f.fold --file 12", &["no files"]);
    let parts = "trace merge t.fold f.fold -o x.fold";
    refuse(here, parts, &["different options", "without threads", "without files"]);
    // Without files there are no paths either.
    let head = String::from_utf8_lossy(&fs::read(here.join("f.fold")).unwrap()).into_owned();
    assert!(!head.contains("/var/lib/log") && head.contains("web1"));
    succeed(here, &groups("p.fold", "cgroup"));
}
