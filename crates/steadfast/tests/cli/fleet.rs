//! Captures of several hosts, read together from their files and from fold files: a fold has the
//! answers of the I/Os, however the captures were merged.

use super::fixtures::*;
use super::synthetic_captures::{BEGAN, SECOND, SeededRandom, counted, sized_device, write_trace};
use std::fs;
use std::fs::File;
use std::path::Path;
use steadfast_domain::io_event::{
    CapturePart, CapturedDevice, CommandName, RESPONSE_UNKNOWN, StreamInStep, flags,
};
use steadfast_domain::{Bytes, CaptureConditions, FineHistogram, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::StepWriter;

const MINUTE: u64 = 60 * SECOND;

pub(super) struct FleetCapture {
    pub(super) host: &'static str,
    /// Milliseconds after [`BEGAN`].
    pub(super) begin_ms: u64,
    pub(super) ios: u64,
}

const CAPTURES: [FleetCapture; 4] = [
    FleetCapture { host: "web1", begin_ms: 0, ios: 2003 },
    FleetCapture { host: "web1", begin_ms: 1_900_123, ios: 1009 },
    FleetCapture { host: "web2", begin_ms: 17_301, ios: 3001 },
    FleetCapture { host: "db1", begin_ms: 61_007, ios: 4001 },
];

fn conditions(host: &str, begin_ms: u64, lasted_ns: u64) -> CaptureConditions {
    let device = |name: &str, gib: u64| CapturedDevice {
        model: Some("DISK".into()),
        ..sized_device(name, Bytes::gib(gib))
    };
    CaptureConditions {
        software: "test".into(),
        host: Some(host.into()),
        part: Some(CapturePart { capture: format!("{host}-{begin_ms}"), first: 1, last: 1 }),
        layers: vec![Layer::Block],
        devices: vec![device("nvme0n1", 64), device("sda", 1)],
        began_unix_ns: Some(BEGAN + begin_ms * 1_000_000),
        zone: Some(TimeZone::fixed(3600, Some("CET"))),
        lasted_ns,
        lost: 3,
        ..CaptureConditions::default()
    }
}

/// I/Os of few kinds, some sequential, some overlapping, some beyond their device.
fn ios(seed: u64, count: u64) -> Vec<IoEvent> {
    let mut random = SeededRandom(seed);
    let mut draw = |below: u64| random.below(below);
    let mut next = 0;
    (0..count)
        .map(|n| {
            let bytes = [4096u32, 8192, 65_536][draw(3) as usize];
            let sequential = draw(3) == 0;
            let offset = if sequential { next } else { 8192 * (draw(300_000) * 2 + 1) };
            next = offset + u64::from(bytes);
            let (pid, name) = [(100, "mysqld"), (101, "mysqld"), (200, "backup")][draw(3) as usize];
            IoEvent {
                issued_ns: n * 397_000_003,
                response_ns: if draw(97) == 0 {
                    RESPONSE_UNKNOWN
                } else {
                    50_000 + draw(900_000_000)
                },
                queued_ns: draw(3) * 40_000,
                offset,
                bytes,
                depth: draw(9) as u32,
                pid,
                cpu: draw(4) as u16,
                flags: if draw(31) == 0 { flags::FAILED } else { flags::SYNC },
                device: draw(2) as u16,
                op: [IoOp::Read, IoOp::Write, IoOp::Write][draw(3) as usize],
                layer: Layer::Block,
                command: CommandName::new(name),
                ..IoEvent::default()
            }
        })
        .collect()
}

/// Writes the captures of [`CAPTURES`], as `0.parquet` to `3.parquet`.
fn write_captures() -> TestDirectory {
    let directory = TestDirectory::new();
    for (number, capture) in CAPTURES.into_iter().enumerate() {
        let lasted_ns = capture.ios * 397_000_003;
        let conditions = conditions(capture.host, capture.begin_ms, lasted_ns);
        let path = directory.join(format!("{number}.parquet"));
        write_trace(&path, conditions, &ios(number as u64, capture.ios));
    }
    directory
}

const FILES: [&str; 4] = ["0.parquet", "1.parquet", "2.parquet", "3.parquet"];

fn json(here: &Path, command: &str) -> serde_json::Value {
    succeed_json(here, &format!("{command} --json"))
}

/// A document without the name of its file and the width of a fold's steps.
fn content(mut found: serde_json::Value) -> serde_json::Value {
    found.as_object_mut().unwrap().remove("file");
    found["conditions"].as_object_mut().unwrap().remove("step_ns");
    found
}

/// Commands that a fold answers like the I/Os themselves.
const QUESTIONS: [&str; 15] = [
    "streams",
    "streams --shares bytes --threshold 2% --host web1",
    "streams --device sda --op write",
    "steps --step 5min",
    "steps --step 1min --host db1",
    "map --step 10min",
    "processes",
    "processes --pid mysqld --by command",
    "groups --by host",
    "groups --by host,device,stream --show times",
    "groups --by command,op --stream 'SEQ 4K W'",
    "drives",
    "profile",
    "doctor",
    "hosts --rank p99",
];

#[test]
fn a_fold_answers_what_the_ios_answer() {
    let here = &write_captures();
    fold(here, &FILES, "all.fold");
    let files = FILES.join(" ");
    for question in QUESTIONS {
        let of_files = json(here, &format!("trace {question} {files}"));
        let of_fold = json(here, &format!("trace {question} all.fold"));
        assert_eq!(content(of_fold), content(of_files), "{question}");
    }
    // Several captures stand beside each other; a fold is one side.
    let compared = json(here, "trace compare --step 5min all.fold");
    assert_eq!(array(&compared["sides"]).len(), 6);
    let total = &json(here, "trace streams all.fold")["total"]["count"];
    assert_eq!(*total, CAPTURES.iter().map(|capture| capture.ios).sum::<u64>());
    let derived = |files: &str| {
        let found = json(here, &format!("workload derive {files}"));
        (found["workload"].clone(), found["io_streams"].clone(), found["demand"].clone())
    };
    assert_eq!(derived("all.fold"), derived(&files));
    succeed(here, "trace report all.fold -o r --format json,html");
    let findings = fs::read_to_string(here.join("r/findings.json")).unwrap();
    assert!(findings.contains("The report is of a fold file"), "it names its limits");
}

#[test]
fn one_capture_and_its_fold_agree_but_for_the_axis() {
    let here = &write_captures();
    succeed(here, "trace fold 3.parquet -o one.fold");
    for command in ["streams", "drives", "hosts"] {
        let fold = json(here, &format!("trace {command} one.fold"));
        let file = json(here, &format!("trace {command} 3.parquet"));
        for part in ["total", "streams", "drives", "hosts"] {
            assert_eq!(fold[part], file[part], "{command} {part}");
        }
    }
    // The axis begins with the hour: 61.007 s before the capture.
    let streams = json(here, "trace streams one.fold");
    assert_eq!(streams["account"]["span_ns"][0], 61_007_000_000u64);
}

/// The numbers of a question that depend on the observed time.
fn over_time(here: &Path, [one, other]: [&str; 2], filter: &str) -> serde_json::Value {
    let hosts = json(here, &format!("trace hosts {one} {filter}"));
    let profile = json(here, &format!("trace profile {one} --step 10min {filter}"));
    let compare = format!("trace compare {one} {other} --by op --align start {filter}");
    let compared = json(here, &compare);
    let [hosts, profile] = [&hosts["hosts"], &profile["intervals"]];
    serde_json::json!([hosts, profile, compared["observed_ns"], compared["deltas"]])
}

/// Rates of a fold of a part of the time are per second of that part.
#[test]
fn a_fold_of_a_part_of_the_time_has_the_rates_of_that_part() {
    let here = &write_captures();
    let filter = "--from 5min --to 10min";
    succeed(here, &format!("trace fold 0.parquet -o a.fold {filter}"));
    succeed(here, &format!("trace fold 3.parquet -o b.fold {filter}"));
    succeed(here, "trace fold 2.parquet -o c.fold");
    let (traces, folds) = (["0.parquet", "3.parquet"], ["a.fold", "b.fold"]);
    let part = over_time(here, traces, filter);
    let observed = [&part[0][0]["observed_ns"], &part[2][0], &part[2][1]];
    assert_eq!(observed.map(|time| time.as_u64()), [Some(300 * SECOND); 3]);
    assert_ne!(part, over_time(here, traces, ""));
    assert_eq!(over_time(here, folds, ""), part);
    // Merged with others, and for a part of the part.
    succeed(here, "trace merge c.fold a.fold -o both.fold");
    assert_eq!(json(here, "trace hosts both.fold --host web1")["hosts"], part[0]);
    let narrower = json(here, "trace hosts a.fold --from 7min --to 25min");
    assert_eq!(narrower["hosts"][0]["observed_ns"], 180 * SECOND);
}

#[derive(Clone, Debug, Default, PartialEq)]
struct RangeIos {
    reads: u64,
    writes: u64,
}

/// Returns the hits of each range, whenever they came.
fn hits_by_range(found: &serde_json::Value) -> Vec<RangeIos> {
    let map = &found["maps"][0];
    let mut ranges = vec![RangeIos::default(); map["ranges"].as_u64().unwrap() as usize];
    for hit in array(&map["hits"]) {
        let range = &mut ranges[hit["range"].as_u64().unwrap() as usize];
        range.reads += hit["reads"].as_u64().unwrap();
        range.writes += hit["writes"].as_u64().unwrap();
    }
    ranges
}

/// The parts of an answer about single I/Os that depend neither on the beginning of its axis nor on
/// the device's name.
fn without_axis(mut found: serde_json::Value) -> serde_json::Value {
    for part in ["devices", "idle", "streams"] {
        for row in found[part].as_array_mut().into_iter().flatten() {
            let row = row.as_object_mut().unwrap();
            ["device", "name", "dispersion"].iter().for_each(|key| drop(row.remove(*key)));
        }
    }
    serde_json::json!([found["devices"], found["idle"], found["streams"]])
}

/// Questions that a fold cannot answer are answered from the files of several hosts: for a device of
/// one host as from that host's capture alone, though all have a device of that name.
#[test]
fn single_ios_of_one_host_are_not_mixed_with_those_of_others() {
    let here = &write_captures();
    for (host, file) in [("db1", "3.parquet"), ("web2", "2.parquet")] {
        let ask = |command: &str| {
            let files = FILES.join(" ");
            let among = json(here, &format!("trace {command} {files} --device {host}:sda"));
            (among, json(here, &format!("trace {command} {file} --device sda")))
        };
        for command in ["hot", "locality", "shape"] {
            let (among, alone) = ask(command);
            assert_eq!(among["account"]["kept"], alone["account"]["kept"], "{command}");
            assert_eq!(without_axis(among), without_axis(alone), "{command} of {host}");
        }
        let (among, alone) = ask("hits");
        assert_eq!(hits_by_range(&among), hits_by_range(&alone));
        assert!(hits_by_range(&alone).iter().any(|range| range.reads > 0 && range.writes > 0));
    }
}

/// Every order and partition gives the same bytes.
#[test]
fn folds_are_the_same_bytes_however_they_were_merged() {
    let here = &write_captures();
    fold(here, &FILES, "all.fold");
    fold(here, &["3.parquet", "1.parquet", "0.parquet", "2.parquet"], "shuffled.fold");
    fold(here, &FILES[..1], "a.fold");
    fold(here, &FILES[1..3], "b.fold");
    fold(here, &FILES[3..], "c.fold");
    merge(here, &["c.fold", "a.fold", "b.fold"], "merged.fold");
    merge(here, &["b.fold", "a.fold"], "ba.fold");
    merge(here, &["ba.fold", "c.fold"], "nested.fold");
    let bytes = |name: &str| fs::read(here.join(name)).unwrap();
    for name in ["shuffled.fold", "merged.fold", "nested.fold"] {
        assert!(bytes(name) == bytes("all.fold"), "{name}");
    }
    // A duplicate counts once, with a message.
    let twice = run_in(here, "trace merge ba.fold all.fold -o twice.fold");
    assert!(stderr(&twice).contains("0.parquet of web1 is a duplicate; counted once"));
    assert!(bytes("twice.fold") == bytes("all.fold"));
    fs::copy(here.join("0.parquet"), here.join("copy.parquet")).unwrap();
    let twice = run_in(here, "trace fold 0.parquet copy.parquet -o t.fold");
    assert!(stderr(&twice).contains("copy.parquet is a duplicate; counted once"));
    assert!(bytes("t.fold") == bytes("a.fold"));
}

#[test]
fn folds_that_do_not_fit_together_are_refused() {
    let here = &write_captures();
    succeed(here, "trace fold 0.parquet -o a.fold");
    succeed(here, "trace fold 1.parquet -o hour.fold --step 1h");
    succeed(here, "trace fold 0.parquet -o reads.fold --op read");
    let merge = |other: &str, parts: &[&str]| {
        refuse(here, &format!("trace merge a.fold {other} -o x.fold"), parts);
    };
    merge("hour.fold", &["hour.fold", "different options"]);
    merge("reads.fold", &["0.parquet of web1", "folded twice with different"]);
    merge("0.parquet", &["0.parquet", "not a fold file", "trace fold"]);
    refuse(here, "trace fold a.fold -o x.fold", &["a.fold", "trace merge"]);
    refuse(here, "trace fold 0.parquet -o x.fold --step 7min", &["divide an hour"]);
    refuse(here, "trace streams a.fold 0.parquet", &["web1", "at the same time", "count twice"]);
    assert!(!here.join("x.fold").exists());
    // Parts of one capture belong together.
    let part = |number| CaptureConditions {
        part: Some(CapturePart { capture: "c".into(), first: number, last: number }),
        ..conditions("web9", 0, 9 * SECOND)
    };
    write_trace(here.join("p.parquet"), part(1), &ios(1, 11));
    write_trace(here.join("p.2.parquet"), part(2), &ios(2, 13));
    succeed(here, "trace fold p.parquet -o p.fold");
    succeed(here, "trace fold p.2.parquet -o p2.fold");
    let parts = "trace merge p.fold p2.fold -o x.fold";
    refuse(here, parts, &["files of one capture", "fold them together"]);
    succeed(here, "trace fold p.2.parquet p.parquet -o whole.fold");
    assert_eq!(json(here, "trace streams whole.fold")["total"]["count"], 24);
}

#[test]
fn questions_beyond_a_fold_are_refused_by_name() {
    let here = &write_captures();
    succeed(here, "trace fold 0.parquet -o a.fold --no-processes");
    let cases: [(&str, &[&str]); 8] = [
        ("hits", &["sums, no single I/Os", "LBA range hits", "trace files"]),
        ("locality", &["sums, no single I/Os"]),
        ("groups --by cpu", &["sums, no single I/Os"]),
        ("processes", &["--no-processes", "trace files"]),
        ("streams --pid 100", &["--no-processes"]),
        ("streams --window 7", &["--window", "trace files"]),
        ("steps --step 90s", &["multiple"]),
        ("streams --host web7", &["the trace has no host 'web7'", "web1"]),
    ];
    for (question, expected) in cases {
        refuse(here, &format!("trace {question} a.fold"), expected);
    }
    refuse(here, "trace recover a.fold -o x.parquet", &["a.fold"]);
    assert!(json(here, "trace drives a.fold")["drives"][0]["processes"].is_null());
}

#[test]
fn damaged_foreign_and_unreleased_folds_are_refused_by_name() {
    let here = &write_captures();
    succeed(here, "trace fold 0.parquet 2.parquet -o a.fold");
    let whole = fs::read(here.join("a.fold")).unwrap();
    let ask = |content: &[u8], expected: &[&str]| {
        fs::write(here.join("bad.fold"), content).unwrap();
        refuse(here, "trace streams bad.fold", &[&["bad.fold"], expected].concat());
        refuse(here, "trace merge bad.fold -o x.fold", &["bad.fold"]);
        assert!(!here.join("x.fold").exists());
    };
    // Row groups, the description of the captures, and the footer's end.
    for at in [whole.len() / 3, whole.len() / 2, whole.len() - 300, whole.len() - 1] {
        let mut content = whole.clone();
        content[at] ^= 1;
        ask(&content, &["damaged"]);
    }
    ask(&whole[..whole.len() - 1], &["damaged"]);
    ask(&whole[..30], &["not a trace"]);
    ask(&[&whole[..], b"x"].concat(), &["damaged"]);
    ask(b"steadfast fold 2\n1 2\n", &["unreleased version; import or capture again"]);
    ask(b"", &["empty"]);
}

/// The streams of a file of steps: two of two processes each.
fn write_steps(path: &Path) {
    let conditions = CaptureConditions { step_ns: Some(SECOND), ..conditions("h", 0, 3 * SECOND) };
    let mut writer = StepWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    // The response times are 1, 2 ... 1,000 us.
    let read = |us: u64| StreamInStep {
        step: if us <= 600 { 0 } else { 2 },
        bytes: 4096,
        pid: 10 + us as u32 % 3,
        command: CommandName::new("db"),
        ios: 1,
        responses: 1,
        response_sum_ns: us * 1000,
        response_max_ns: us * 1000,
        response_buckets: vec![(FineHistogram::index(us * 1000) as u16, 1)],
        ..StreamInStep::default()
    };
    let write = StreamInStep {
        step: 1,
        op: IoOp::Write,
        sequential: true,
        bytes: 8192,
        ios: 7,
        response_buckets: Vec::new(),
        command: CommandName::new("backup"),
        ..read(5)
    };
    writer.add(&(1..=1000).map(read).chain([write]).collect::<Vec<_>>());
    writer.finish(&conditions).unwrap();
}

/// The query of docs/trace.md has the answer of `trace streams`, from the file alone.
#[test]
fn the_query_in_the_docs_gives_the_streams_of_a_cube_file() {
    let here = &write_captures();
    fold(here, &FILES, "all.fold");
    write_steps(&here.join("steps.parquet"));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trace.md");
    for (file, streams) in [("all.fold", 12), ("steps.parquet", 2)] {
        let Some(rows) = counted(here, include_str!("cube.py"), &[page, file, "streams"]) else {
            return;
        };
        let rows = rows.as_array().unwrap();
        let answer = json(here, &format!("trace streams {file}"));
        let ours = array(&answer["streams"]);
        assert_eq!((rows.len(), ours.len()), (streams, streams), "{file}");
        assert!(ours.iter().any(|one| !one["response"]["p99_ns"].is_null()), "{file}");
        for row in rows {
            let op = ["read", "write", "discard", "flush", "other"];
            let op = op[row["op"].as_u64().unwrap() as usize];
            let is_same = |one: &&serde_json::Value| {
                one["op"] == op
                    && one["bytes"] == row["bytes"]
                    && (one["order"] == "SEQ") == row["sequential"].as_bool().unwrap()
            };
            let one = ours.iter().find(is_same).unwrap_or_else(|| panic!("{file}: no {row}"));
            for (field, column) in [
                ("/count", "count"),
                ("/amount", "amount"),
                ("/response/mean_ns", "mean_ns"),
                ("/response/p99_ns", "p99_ns"),
            ] {
                assert_eq!(one.pointer(field), row.get(column), "{file}: {row}");
            }
        }
        let rows = counted(here, include_str!("cube.py"), &[page, file, "processes"]);
        let rows: Vec<_> = rows.iter().flat_map(|rows| rows.as_array().unwrap()).collect();
        let answer = json(here, &format!("trace processes {file}"));
        let ours = array(&answer["processes"]);
        assert_eq!(rows.len(), ours.len(), "{file}");
        for row in rows {
            let names = ["pid", "count", "amount", "reads", "writes"];
            let is_same = |one: &serde_json::Value| {
                names.iter().all(|name| one[name] == row[name])
                    && one["command"] == row["command"]
                    && one["response_mean_ns"] == row["mean_ns"]
            };
            assert!(ours.iter().any(is_same), "{file}: no {row}");
        }
    }
    // The fold counts what the traces count.
    let of_traces = json(here, &format!("trace streams {}", FILES.join(" ")));
    assert_eq!(json(here, "trace streams all.fold")["streams"], of_traces["streams"]);
}

#[test]
fn files_that_cannot_be_read_are_left_out_and_counted() {
    let here = &write_captures();
    let content = fs::read(here.join("1.parquet")).unwrap();
    fs::write(here.join("bad.parquet"), &content[..content.len() / 2]).unwrap();
    fs::write(here.join("text.parquet"), "nothing of the kind").unwrap();
    let fold = "trace fold 0.parquet text.parquet 2.parquet gone.parquet -o a.fold";
    refuse(here, fold, &["text.parquet", "not a trace"]);
    assert!(!here.join("a.fold").exists());
    let made = run_ending(here, &format!("{fold} --skip-unreadable --json"), &[1]);
    let answer: serde_json::Value = parse_json(&made);
    assert_eq!((answer["captures"].as_u64(), answer["ios"].as_u64()), (Some(2), Some(5004)));
    let left_out = array(&answer["left_out"]);
    let names: Vec<_> = left_out.iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gone.parquet", "text.parquet"]);
    assert_eq!(left_out[1]["bytes"], 19);
    // The fold says what is left out, and the exit code is that of an incomplete answer.
    let read = run_ending(here, "trace streams a.fold", &[1]);
    assert!(stderr(&read).contains("Omitted: text.parquet (19 bytes)"), "{}", stderr(&read));
    succeed(here, "trace streams a.fold --accept-damage");
    let output = run_ending(here, "trace identify 0.parquet text.parquet a.fold --json", &[1]);
    let answer: serde_json::Value = parse_json(&output);
    let files = array(&answer["files"]);
    assert_eq!((&files[0]["capture"], &files[0]["host"]), (&"web1-0".into(), &"web1".into()));
    assert_eq!((&files[0]["kind"], &files[2]["kind"]), (&"trace".into(), &"fold".into()));
    assert!(files[1]["error"].as_str().unwrap().contains("not a trace"));
}

#[test]
fn hosts_are_ranked_and_chosen_by_role() {
    let here = &TestDirectory::new();
    let mut files = Vec::new();
    for host in 0..7u64 {
        let conditions = conditions(&format!("h{host}"), host * 1000, 10 * SECOND);
        // The last host is a hundred times slower, each a little slower than the one before.
        let response_ns = if host == 6 { 100_000_000 } else { 1_000_000 + host * 10_000 };
        let io = |n: u64| IoEvent {
            issued_ns: n * 1_000_000,
            response_ns,
            offset: n * 81_920,
            bytes: 4096,
            depth: 1,
            ..IoEvent::default()
        };
        let name = format!("{host}.parquet");
        write_trace(here.join(&name), conditions.clone(), &(0..1009).map(io).collect::<Vec<_>>());
        files.push(name);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    fold(here, &files, "all.fold");
    let ranked = json(here, "trace hosts all.fold --rank mean");
    let hosts = array(&ranked["hosts"]);
    let names: Vec<&str> = hosts.iter().map(|host| host["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["h6", "h5", "h4", "h3", "h2", "h1", "h0"]);
    assert_eq!(hosts[0]["iops"], 100.9);
    let outliers: Vec<bool> = hosts.iter().map(|host| host["outlier"] == true).collect();
    assert_eq!(outliers, [true, false, false, false, false, false, false]);
    let only = json(here, "trace hosts all.fold --rank max --outliers");
    assert_eq!(array(&only["hosts"]).len(), 1);
    fs::write(here.join("tags"), "# role\nh0 db main\nh3 db\nh6,web\nelsewhere db\n").unwrap();
    let of_role = |role: &str| {
        let streams = json(here, &format!("trace streams all.fold --tags tags --role {role}"));
        streams["total"]["count"].as_u64().unwrap()
    };
    assert_eq!((of_role("db"), of_role("web"), of_role("main")), (2018, 1009, 1009));
    let unknown = "trace hosts all.fold --tags tags --role cache";
    refuse(here, unknown, &["tags", "cache", "db, main, web"]);
    fs::write(here.join("bad"), "h0\n").unwrap();
    let bad = "trace hosts all.fold --tags bad --role db";
    refuse(here, bad, &["bad, line 1", "'h0' has no role"]);
    refuse(here, "trace hosts all.fold --role db", &["--tags"]);
    refuse(here, "trace hosts all.fold --rank size", &["size", "p99.9"]);
    // Before and after, several files a side.
    let compared =
        "trace compare 0.parquet 1.parquet --after 5.parquet 6.parquet --by op --align start";
    let found = json(here, compared);
    for (side, mean_ns) in [("a", 1_005_000), ("b", 50_525_000)] {
        assert_eq!(found["total"][side]["count"], 2018);
        assert_eq!(found["total"][side]["response_mean_ns"], mean_ns);
    }
    // The time in which any of them was captured, not from the full hour on.
    assert_eq!(found["observed_ns"], serde_json::json!([11 * SECOND, 11 * SECOND]));
}

/// Steps are those of the clock: captures that began within a minute of each other share them.
#[test]
fn steps_of_all_hosts_lie_on_one_grid() {
    let here = &write_captures();
    fold(here, &FILES, "all.fold");
    let steps = json(here, "trace steps all.fold --step 1min");
    let counts: u64 = array(&steps["steps"]).iter().map(|one| one["count"].as_u64().unwrap()).sum();
    assert_eq!(counts, 10_014);
    let begins = array(&steps["steps"]).iter().map(|one| one["begin_ns"].as_u64());
    assert!(begins.flatten().all(|begin| begin % MINUTE == 0));
    assert_eq!(steps["conditions"]["began_unix_ns"], BEGAN);
}

/// Captures of one device at the same time cannot be read together, so they are not folded together.
#[test]
fn captures_of_one_device_at_the_same_time_are_not_folded() {
    let home = &TestDirectory::new();
    for (name, begin_ms) in [("a", 0), ("b", 1000)] {
        let conditions = conditions("web1", begin_ms, MINUTE);
        write_trace(home.join(format!("{name}.parquet")), conditions, &ios(begin_ms + 1, 101));
        succeed(home, &format!("trace fold {name}.parquet -o {name}.fold"));
    }
    for words in
        ["trace fold a.parquet b.parquet -o all.fold", "trace merge a.fold b.fold -o all.fold"]
    {
        refuse(home, words, &["web1", "at the same time"]);
        assert!(!home.join("all.fold").exists(), "{words}");
    }
    let identified = succeed_json(home, "trace identify a.fold --json");
    assert_eq!(identified["files"][0]["capture"], "web1-0");
}
