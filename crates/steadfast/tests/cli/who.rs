//! Who did what, and to which file: threads, cgroups, paths and merged requests of a
//! trace, beside DuckDB's counts of the same file; and what a file does not tell unasked.

use super::capture::{RunningCapture, mounted, with_ext4};
use super::made_up::{self, SECOND, SeededRandom};
use super::scratch::{TestDirectory, array, parse_json, python, refuse, succeed, succeed_json};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturePart, CapturedCgroup, CapturedDevice, CommandName, ContentMeasurement, ContentSample,
    FileName, MergeCounts,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};

/// 2026-11-20 22:00 UTC.
const BEGAN: u64 = 1_795_212_000 * SECOND;

/// Conditions of a capture that began so many milliseconds after [`BEGAN`].
pub(super) fn conditions(host: &str, begin_ms: u64, lasted_ns: u64) -> CaptureConditions {
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

/// I/Os of both layers, one every `every_ns`; some of the writes have their content measured.
pub(super) fn ios(seed: u64, count: u64, every_ns: u64) -> Vec<IoEvent> {
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
            issued_ns: number * every_ns,
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

fn write(path: &Path) {
    made_up::write(path, conditions("web1", 78, 60 * SECOND), ios(23, 10_007, 1_000_003));
}

fn answer(place: &Path, words: &[&str]) -> Value {
    succeed_json(place, &[&["trace"], words, &["t.parquet", "--json"]].concat())
}

fn groups(place: &Path, words: &[&str]) -> Vec<Value> {
    let found = answer(place, &[&["groups"], words, &["--layer", "both"]].concat());
    array(&found["groups"]).clone()
}

/// What both count: I/Os, bytes, merged requests, response times.
fn figures(group: &Value) -> Value {
    let response = &group["response"];
    json!([
        group["count"], group["amount"], group["merged"], response["count"], response["mean_ns"]
    ])
}

/// The rows of DuckDB, the first columns as a key.
fn counted(found: &Value, keys: usize) -> Vec<(Value, Value)> {
    let rows = found.as_array().unwrap().iter().map(|row| {
        let (key, figures) = row.as_array().unwrap().split_at(keys);
        (json!(key), json!(figures))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(key, _)| key.to_string());
    rows
}

fn sorted(mut rows: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    rows.sort_by_key(|(key, _)| key.to_string());
    rows
}

#[test]
fn threads_cgroups_and_files_are_as_duckdb_counts_them() {
    let place = &TestDirectory::new();
    write(&place.join("t.parquet"));
    std::fs::write(place.join("who.py"), include_str!("who.py")).unwrap();
    let Some(output) = python(&["duckdb"], &["who.py", "t.parquet"], place) else { return };
    let told: Value = parse_json(&output);
    let or_zero = |value: &Value| value.as_u64().unwrap_or(0);
    let or_empty = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let threads = groups(place, &["--by", "thread"]).into_iter().map(|group| {
        let (pid, tid) = (or_zero(&group["pid"]), or_zero(&group["tid"]));
        (json!([pid, or_empty(&group["command"]), tid, group["thread"]]), figures(&group))
    });
    assert_eq!(sorted(threads.collect()), counted(&told["thread"], 4));
    let number = |name: &Value| match name.as_str() {
        Some("/") => 1,
        Some("/docker/c0ffee") => 2,
        Some("cgroup 78") => 3,
        _ => 0,
    };
    let cgroups = groups(place, &["--by", "cgroup"]).into_iter();
    let cgroups = cgroups.map(|group| (json!([number(&group["cgroup"])]), figures(&group)));
    assert_eq!(sorted(cgroups.collect()), counted(&told["cgroup"], 1));
    let files = groups(place, &["--by", "device,file"]).into_iter();
    let files = files.filter(|group| !group["inode"].is_null()).map(|group| {
        let device = u64::from(group["device"].as_str().unwrap().starts_with("sda"));
        let inode = group["inode"].as_u64().unwrap();
        let path = match (device, inode) {
            (0, 12) => json!("/srv/a b.db"),
            (1, 12) => json!("/var/lib/log"),
            (1, 13) => json!("/var/lib/it's"),
            _ => Value::Null,
        };
        assert_eq!(group["path"], path);
        (json!([device, inode]), figures(&group))
    });
    assert_eq!(sorted(files.collect()), counted(&told["file"], 2));
    let filters = [
        ("of_thread", "--tid", "4242"),
        ("of_cgroup", "--cgroup", "c0ffee"),
        ("on_file", "--file", "/var/lib/log"),
    ];
    for (name, option, value) in filters {
        let found = groups(place, &["--by", "op", option, value]).into_iter();
        let found =
            found.map(|group| (json!([u64::from(group["op"] == "write")]), figures(&group)));
        assert_eq!(sorted(found.collect()), counted(&told[name], 1), "{name}");
    }
}

#[test]
fn drives_doctor_and_tables_tell_who_it_was() {
    let place = &TestDirectory::new();
    write(&place.join("t.parquet"));
    let drives = answer(place, &["drives"]);
    let merged =
        |at: usize| (drives["drives"][at]["merged"].clone(), drives["drives"][at]["split"].clone());
    assert_eq!(merged(0), (json!(41), json!(3)));
    assert_eq!(merged(2), (json!(42), json!(3)), "all together");
    let doctor = succeed(place, "trace doctor t.parquet");
    for text in ["merged 42 requests into others and split 3", "1 of 3 cgroups", "1 of 4 files"] {
        assert!(doctor.contains(text), "{text}: {doctor}");
    }
    let by =
        |by: &str| succeed(place, &["trace", "groups", "t.parquet", "--layer", "both", "--by", by]);
    assert!(by("thread").contains("ib_io_wr-1 (4242)"), "{}", by("thread"));
    assert!(by("cgroup").contains("/docker/c0ffee"));
    let files = by("file");
    assert!(files.contains("/srv/a b.db") && files.contains("inode 14"), "{files}");
    let wrong = ["trace", "groups", "t.parquet", "--cgroup", "tea"];
    refuse(place, &wrong, &["its cgroups: /, /docker/c0ffee, cgroup 78"]);
    let wrong = ["trace", "groups", "t.parquet", "--file", "/tea"];
    refuse(place, &wrong, &["no path '/tea'; its paths: /srv/a b.db"]);
    // A recovered file has all of it, and so has a fold file.
    succeed(place, "trace recover t.parquet -o again.parquet");
    let of = |file: &str| {
        let words = ["trace", "groups", file, "--layer", "both", "--by", "thread,cgroup,file"];
        succeed(place, &[&words[..], &["--top", "200"]].concat())
    };
    assert_eq!(of("again.parquet"), of("t.parquet"));
    succeed(place, "trace fold t.parquet -o t.fold");
    // Cgroups have other numbers there, by which groups of one size are ordered.
    let lines = |file: &str| {
        let mut lines: Vec<String> = of(file).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines("t.fold"), lines("t.parquet"));
}

/// Bytes of a trace, looked through for a text.
fn has(file: &Path, text: &str) -> bool {
    std::fs::read(file).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
}

/// What a capture with these options says and writes about a process that writes a file.
fn captured(more: &[&str]) -> Option<(TestDirectory, String)> {
    let device = with_ext4()?;
    let place = TestDirectory::new();
    let mount = mounted(&device, &place);
    let options = [&["--layer", "block,filesystem"], more].concat();
    let capture = RunningCapture::new(&place, &device, &options);
    let to = format!("of={}", mount.join("very-private.txt").display());
    let copy = ["if=/dev/zero", &to, "bs=64k", "count=64", "conv=fsync"];
    let copied = Command::new("dd").args(copy).output().unwrap();
    let found = capture.map(RunningCapture::end);
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    assert!(copied.status.success());
    let said = std::fs::read_to_string(place.join("capture.txt")).unwrap();
    found.map(|_| (place, said))
}

#[test]
fn a_trace_has_no_path_unless_it_was_asked_for() {
    let Some((scratch, said)) = captured(&[]) else { return };
    let file = scratch.join("trace.parquet");
    assert!(!has(&file, "very-private") && !has(&file, "steadfast.files"));
    assert!(!said.contains("Paths:"), "{said}");
    let Some((scratch, said)) = captured(&["--paths", "--cgroups", "--merges"]) else {
        return;
    };
    assert!(has(&scratch.join("trace.parquet"), "very-private.txt"));
    assert!(said.contains("whoever may read it sees them"), "{said}");
    assert!(said.contains("Cgroups: ") && said.contains("Requests: "), "{said}");
    let by = "trace groups trace.parquet --by file,command,cgroup --layer filesystem --json";
    let found: Value = succeed_json(&scratch, by);
    let rows = array(&found["groups"]);
    let is_it = |row: &&Value| {
        row["path"].as_str().is_some_and(|path| path.ends_with("/very-private.txt"))
            && row["command"] == "dd"
            && row["cgroup"].as_str().is_some_and(|path| path.starts_with('/'))
    };
    let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!(row["written_bytes"], 64 * 65_536);
}
