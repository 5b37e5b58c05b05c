//! Who did what, and to which file: threads, cgroups, paths and merged requests of a trace, compared
//! with DuckDB's counts of the same file; and what a file does not contain unless requested.

use super::capture::{RunningCapture, mount, with_ext4};
use super::fixtures::*;
use super::synthetic_captures::{self, BEGAN, SECOND, SeededRandom, sized_device};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturePart, CapturedCgroup, CommandName, ContentMeasurement, ContentSample, FileName,
    MergeCounts,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};

/// Conditions of a capture that began `begin_ms` after [`BEGAN`].
pub(super) fn conditions(host: &str, begin_ms: u64, lasted_ns: u64) -> CaptureConditions {
    let device = |name: &str| sized_device(name, Bytes::gib(64));
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
    synthetic_captures::write(
        path,
        conditions("web1", 78, 60 * SECOND),
        ios(23, 10_007, 1_000_003),
    );
}

fn groups(place: &Path, options: &str) -> Vec<Value> {
    let groups = format!("trace groups t.parquet --layer both --json {options}");
    let found = succeed_json(place, &groups);
    array(&found["groups"]).clone()
}

/// The figures that both count: I/Os, bytes, merged requests, response times.
fn figures(group: &Value) -> Value {
    let response = &group["response"];
    json!([
        group["count"], group["amount"], group["merged"], response["count"], response["mean_ns"]
    ])
}

/// The rows of DuckDB, with the first columns as a key.
fn counted(found: &Value, keys: usize) -> Vec<(Value, Value)> {
    let rows = array(found).iter().map(|row| {
        let (key, figures) = array(row).split_at(keys);
        (json!(key), json!(figures))
    });
    sorted(rows.collect())
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
    let expected: Value = parse_json(&output);
    let or_zero = |value: &Value| value.as_u64().unwrap_or(0);
    let or_empty = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let threads = groups(place, "--by thread").into_iter().map(|group| {
        let (pid, tid) = (or_zero(&group["pid"]), or_zero(&group["tid"]));
        (json!([pid, or_empty(&group["command"]), tid, group["thread"]]), figures(&group))
    });
    assert_eq!(sorted(threads.collect()), counted(&expected["thread"], 4));
    let number = |name: &Value| match name.as_str() {
        Some("/") => 1,
        Some("/docker/c0ffee") => 2,
        Some("cgroup 78") => 3,
        _ => 0,
    };
    let cgroups = groups(place, "--by cgroup").into_iter();
    let cgroups = cgroups.map(|group| (json!([number(&group["cgroup"])]), figures(&group)));
    assert_eq!(sorted(cgroups.collect()), counted(&expected["cgroup"], 1));
    let files = groups(place, "--by device,file").into_iter();
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
    assert_eq!(sorted(files.collect()), counted(&expected["file"], 2));
    for (name, filter) in [
        ("of_thread", "--tid 4242"),
        ("of_cgroup", "--cgroup c0ffee"),
        ("on_file", "--file /var/lib/log"),
    ] {
        let found = groups(place, &format!("--by op {filter}")).into_iter();
        let found =
            found.map(|group| (json!([u64::from(group["op"] == "write")]), figures(&group)));
        assert_eq!(sorted(found.collect()), counted(&expected[name], 1), "{name}");
    }
}

#[test]
fn drives_doctor_and_tables_tell_who_it_was() {
    let place = &TestDirectory::new();
    write(&place.join("t.parquet"));
    let drives = succeed_json(place, "trace drives t.parquet --json");
    let merged =
        |at: usize| [drives["drives"][at]["merged"].clone(), drives["drives"][at]["split"].clone()];
    assert_eq!(merged(0), [json!(41), json!(3)]);
    assert_eq!(merged(2), [json!(42), json!(3)], "all together");
    let doctor = succeed(place, "trace doctor t.parquet");
    let parts = ["merged 42 requests into others and split 3", "1 of 3 cgroups", "1 of 4 files"];
    assert_contains(&doctor, &parts);
    let by = |by: &str| succeed(place, &format!("trace groups t.parquet --layer both --by {by}"));
    assert!(by("thread").contains("ib_io_wr-1 (4242)"), "{}", by("thread"));
    assert!(by("cgroup").contains("/docker/c0ffee"));
    let files = by("file");
    assert!(files.contains("/srv/a b.db") && files.contains("inode 14"), "{files}");
    let cgroups = ["its cgroups: /, /docker/c0ffee, cgroup 78"];
    refuse(place, "trace groups t.parquet --cgroup tea", &cgroups);
    let paths = ["no path '/tea'; its paths: /srv/a b.db"];
    refuse(place, "trace groups t.parquet --file /tea", &paths);
    // A recovered file has the same, and so has a fold file.
    succeed(place, "trace recover t.parquet -o again.parquet");
    let groups = |file: &str| {
        let by = "--layer both --by thread,cgroup,file --top 200";
        succeed(place, &format!("trace groups {file} {by}"))
    };
    assert_eq!(groups("again.parquet"), groups("t.parquet"));
    succeed(place, "trace fold t.parquet -o t.fold");
    // Cgroups have other numbers there, by which groups of one size are ordered.
    let lines = |file: &str| {
        let mut lines: Vec<String> = groups(file).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines("t.fold"), lines("t.parquet"));
}

/// True if a file contains a text.
fn has(file: &Path, text: &str) -> bool {
    std::fs::read(file).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
}

/// Captures a process that writes a file; returns the directory and the messages of the capture.
fn captured(more: &str) -> Option<(TestDirectory, String)> {
    let device = with_ext4()?;
    let place = TestDirectory::new();
    let mount = mount(&device, &place);
    let options = format!("--layer block,filesystem {more}");
    let capture = RunningCapture::new(&place, &device, &options)?;
    let to = format!("of={}", mount.0.join("very-private.txt").display());
    let copy = ["if=/dev/zero", &to, "bs=64k", "count=64", "conv=fsync"];
    assert!(Command::new("dd").args(copy).output().unwrap().status.success());
    capture.end();
    drop(mount);
    let messages = std::fs::read_to_string(place.join("capture.txt")).unwrap();
    Some((place, messages))
}

#[test]
fn a_trace_has_no_path_unless_it_was_asked_for() {
    let Some((scratch, messages)) = captured("") else { return };
    let file = scratch.join("trace.parquet");
    assert!(!has(&file, "very-private") && !has(&file, "steadfast.files"));
    assert!(!messages.contains("Paths:"), "{messages}");
    let Some((scratch, messages)) = captured("--paths --cgroups --merges") else { return };
    assert!(has(&scratch.join("trace.parquet"), "very-private.txt"));
    assert!(messages.contains("can see the stored paths"), "{messages}");
    assert!(messages.contains("Cgroups: ") && messages.contains("Requests: "), "{messages}");
    let by = "trace groups trace.parquet --by file,command,cgroup --layer filesystem --json";
    let found = succeed_json(&scratch, by);
    let is_the_copy = |row: &&Value| {
        row["path"].as_str().is_some_and(|path| path.ends_with("/very-private.txt"))
            && row["command"] == "dd"
            && row["cgroup"].as_str().is_some_and(|path| path.starts_with('/'))
    };
    let row = array(&found["groups"]).iter().find(is_the_copy);
    let row = row.unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(row["written_bytes"], 64 * 65_536);
}

/// Reads a file in a second thread, then becomes the program of the arguments.
const THREAD_THEN_PROGRAM: &str = "
import mmap, os, sys, threading
def read():
    file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    os.preadv(file, [mmap.mmap(-1, 4096)], 0)
    os.close(file)
thread = threading.Thread(target=read)
thread.start()
thread.join()
os.execv(sys.argv[2], sys.argv[2:])
";

/// The captures sleep from before a program's start until after its end: /proc cannot tell them its
/// name. The program's threads have names of their own, and its process had another one before.
#[test]
fn a_process_that_ended_before_the_capture_looked_has_its_name() {
    let Some(device) = with_ext4() else { return };
    let (scratch, every, added) =
        (TestDirectory::new(), TestDirectory::new(), TestDirectory::new());
    let mount = mount(&device, &scratch);
    let file = mount.0.join("data");
    std::fs::write(&file, vec![1; 4 << 20]).unwrap();
    let layers = "--layer block,filesystem";
    let Some(ios) = RunningCapture::new(&every, &device, layers) else { return };
    let steps = format!("{layers} --totals-every 1s");
    let steps = RunningCapture::new(&added, &device, &steps).unwrap();
    ios.signal(libc::SIGSTOP);
    steps.signal(libc::SIGSTOP);
    let measure = ["measure", "RND 4K R", "--demand", "T2Q4", "--ios", "1009", "--json"];
    let mut engine = Command::new("python3")
        .args(["-c", THREAD_THEN_PROGRAM])
        .arg(&file)
        .arg(env!("CARGO_BIN_EXE_steadfast"))
        .args(measure)
        .arg("--target")
        .arg(&file)
        .env("STATE_DIRECTORY", env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = u64::from(engine.id());
    assert!(engine.wait().unwrap().success());
    for mut capture in [ios, steps] {
        capture.signal(libc::SIGCONT);
        capture.end_by(libc::SIGINT);
    }
    drop(mount);
    for (place, layer) in
        [(&every, "block"), (&every, "filesystem"), (&added, "block"), (&added, "filesystem")]
    {
        let processes = format!("trace processes trace.parquet --layer {layer} --json");
        let found = succeed_json(place, &processes);
        let of_engine = array(&found["processes"]).iter().filter(|process| process["pid"] == pid);
        let names_and_reads: Vec<_> = of_engine
            .map(|process| (process["command"].as_str(), process["reads"].as_u64()))
            .collect();
        assert_eq!(names_and_reads.len(), 1, "{layer}: {found:#}");
        let (name, reads) = names_and_reads[0];
        assert_eq!(name, Some("steadfast"), "{layer}");
        // The kernel merges some reads of adjacent blocks.
        let reads_min = if layer == "block" { 900 } else { 1010 };
        assert!(reads >= Some(reads_min), "{layer}: {found:#}");
    }
}
