//! Rates are per second of the observed time, whatever the command, file, filter or width of steps:
//! the expected rates are known in closed form, because the capture has an I/O every 100 ms from its
//! first to its last second, and none in the middle of a second.

use super::fixtures::{TestDirectory, array, python, refuse, succeed};
use super::synthetic_captures::{SECOND, answer, sized_device};
use serde_json::Value;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use steadfast_domain::io_event::{CapturePart, Mark};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, TimeZone};
use steadfast_tracefile::TraceWriter;

/// 2026-11-20 22:04:42.66 UTC: no step of a fold begins with the capture.
const BEGAN_NS: u64 = 1_795_212_282_660_000_000;
const LASTED_NS: u64 = 244_420_000_000;
const PART_NS: u64 = 61 * SECOND;
const GAP_NS: u64 = SECOND / 10;

fn conditions(lasted_ns: u64, capture: &str, part: u32) -> CaptureConditions {
    CaptureConditions {
        software: "test".into(),
        host: Some("db1".into()),
        devices: vec![sized_device("sda", Bytes::gib(1))],
        began_unix_ns: Some(BEGAN_NS),
        zone: Some(TimeZone::fixed(0, None)),
        lasted_ns,
        marks: vec![
            Mark { at_ns: 100 * SECOND + 7, name: "backup".into() },
            Mark { at_ns: 100 * SECOND + 300_000_000, name: "short".into() },
            Mark { at_ns: 101 * SECOND, name: "end".into() },
        ],
        part: Some(CapturePart { capture: capture.into(), first: part, last: part }),
        ..CaptureConditions::default()
    }
}

/// The I/Os of a part of the time.
fn ios(from_ns: u64, to_ns: u64) -> Vec<IoEvent> {
    let times = (0..LASTED_NS / GAP_NS).map(|at| at * GAP_NS + GAP_NS / 2);
    let inside = times.filter(|at| (from_ns..to_ns).contains(at));
    let one = |at: u64| IoEvent {
        issued_ns: at,
        offset: at / GAP_NS * 8192,
        bytes: 4096,
        op: if (at / GAP_NS).is_multiple_of(3) { IoOp::Write } else { IoOp::Read },
        response_ns: 1_000_000 + at % 7919,
        depth: 1,
        ..IoEvent::default()
    };
    inside.map(one).collect()
}

fn write(path: &Path, capture: &str, part: u32, time_ns: Range<u64>) {
    let start = conditions(time_ns.start, capture, part);
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &start).unwrap();
    writer.write(&ios(time_ns.start, time_ns.end)).unwrap();
    writer.finish(conditions(time_ns.end, capture, part)).unwrap();
}

/// Writes one file of all, and another capture of the same I/Os in files of 61 s; returns the names
/// of these.
fn write_captures(place: &Path) -> Vec<String> {
    write(&place.join("one.parquet"), "one", 1, 0..LASTED_NS);
    let mut names = Vec::new();
    for part in 0..LASTED_NS.div_ceil(PART_NS) {
        let name = format!("part{}.parquet", part + 1);
        let to = ((part + 1) * PART_NS).min(LASTED_NS);
        write(&place.join(&name), "rotated", part as u32 + 1, part * PART_NS..to);
        names.push(name);
    }
    names
}

#[track_caller]
fn assert_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn a_part_of_a_rotated_capture_has_the_rates_of_its_own_time() {
    let place = &TestDirectory::new();
    let parts = write_captures(place);
    for (number, part) in (0u64..).zip(&parts) {
        let (from, to) = (number * PART_NS, ((number + 1) * PART_NS).min(LASTED_NS));
        let (count, ns) = (ios(from, to).len() as f64, (to - from) as f64);
        let rate = count * 1e9 / ns;
        let host = &answer(place, &format!("hosts {part}"))["hosts"][0];
        assert_eq!(host["observed_ns"], to - from);
        assert_near(&host["iops"], rate);
        let intervals = answer(place, &format!("profile {part} --step 1h"));
        let intervals = array(&intervals["intervals"]);
        assert_eq!(intervals.len(), 1, "no silence is made up");
        assert_eq!(intervals[0]["observed_ns"], to - from);
        assert!(intervals[0]["iops_most"].is_null());
        assert_near(&intervals[0]["iops"], rate);
        let compared = answer(place, &format!("compare {part} one.parquet --by op"));
        assert_eq!(compared["observed_ns"], serde_json::json!([to - from, to - from]), "by clock");
        let steps = answer(place, &format!("steps {part} --step 50s"));
        for step in array(&steps["steps"]) {
            let begin = step["begin_ns"].as_u64().unwrap();
            let (first, last) = (begin.max(from), (begin + 50 * SECOND).min(to));
            if (last - first) * 100 < 50 * SECOND {
                assert_eq!(step["iops"], Value::Null, "0.42 s of 50 s are too few for a rate");
            } else {
                assert_near(
                    &step["iops"],
                    ios(first, last).len() as f64 * 1e9 / (last - first) as f64,
                );
            }
        }
        let limits = answer(place, &format!("doctor {part}"))["limits"].to_string();
        assert_eq!(limits.contains("earlier-parts"), number > 0, "{limits}");
    }
    let all = answer(place, &format!("hosts {}", parts.join(" ")));
    assert_eq!(all["hosts"][0]["observed_ns"], LASTED_NS);
    let gap = answer(place, &format!("hosts {} {} --accept-damage", parts[0], parts[3]));
    assert_eq!(gap["hosts"][0]["observed_ns"], 2 * PART_NS, "a missing file is not observed");
}

#[test]
fn a_trace_and_its_own_fold_do_not_differ() {
    let place = &TestDirectory::new();
    let parts = write_captures(place);
    for step in ["1s", "10s", "1min"] {
        let fold = |files: &str, to: &str| {
            succeed(place, &format!("trace fold {files} -o {to} --step {step} --force"));
        };
        fold("one.parquet", "one.fold");
        fold(&parts.join(" "), "parts.fold");
        fold("part3.parquet", "part3.fold");
        let pairs = [
            ("one.parquet", "one.fold"),
            ("parts.fold", "one.parquet"),
            ("part3.parquet", "part3.fold"),
            ("one.fold", "parts.fold"),
        ];
        for (a, b) in pairs {
            let mut aligns = vec!["clock", "start"];
            if !a.starts_with("part3") {
                aligns.extend(["mark:backup", "mark:backup+7s", "mark:end"]);
            }
            for align in aligns {
                let found = answer(place, &format!("compare {a} {b} --by op --align {align}"));
                let what = format!("{a} {b} {align} {step}");
                assert_eq!(found["observed_ns"][0], found["observed_ns"][1], "{what}");
                for row in array(&found["deltas"]).iter().chain([&found["total"]]) {
                    for name in ["count", "iops", "bytes_per_second", "response_mean_ns"] {
                        assert_eq!(row["a"][name], row["b"][name], "{what} {name} {row}");
                    }
                    assert!(row["a"]["count"].as_u64().unwrap() > 0);
                }
            }
        }
        for file in ["one.fold", "part3.fold"] {
            let trace = file.replace("fold", "parquet");
            let rate =
                |name: &str| answer(place, &format!("hosts {name}"))["hosts"][0]["iops"].clone();
            assert_eq!(rate(file), rate(&trace));
        }
    }
    // The first and the last step of a fold are those parts of it that were observed.
    let steps = answer(place, "steps one.fold --step 1min");
    let steps = array(&steps["steps"]);
    let (first_to, last_from) = (17_340_000_000, 197_340_000_000);
    for (step, from, to) in
        [(&steps[0], 0, first_to), (&steps[steps.len() - 1], last_from, LASTED_NS)]
    {
        assert_near(&step["iops"], ios(from, to).len() as f64 * 1e9 / (to - from) as f64);
    }
}

#[test]
fn what_a_fold_cannot_answer_is_refused() {
    let place = &TestDirectory::new();
    write_captures(place);
    succeed(place, "trace fold one.parquet -o a.fold --step 10s");
    refuse(place, "trace streams a.fold --event short", &["steps of 10 s", "none begins"]);
    // 60 s count from the capture's beginning, not from the full hour: 22:05:42.66 to 22:06:42.66
    // holds the steps from 22:05:50 to 22:06:50.
    let found = answer(place, "streams a.fold --from 60s --to 120s");
    let begin = 67_340_000_000;
    assert_eq!(found["total"]["count"], ios(begin, begin + 60 * SECOND).len());
}

/// 1,000 I/Os, one every 10 ms, without metadata of the capture.
const OF_ANOTHER_PROGRAM: &str = r#"
import pyarrow, pyarrow.parquet
wide = [("issued_ns", 10_000_000), ("offset", 4096)]
columns = {name: pyarrow.array([at * each for at in range(1000)], pyarrow.int64()) for name, each in wide}
for name, value in [("bytes", 4096), ("op", 0)]:
    columns[name] = pyarrow.array([value] * 1000, pyarrow.int32())
for name, told in [("told.parquet", True), ("untold.parquet", False)]:
    pyarrow.parquet.write_table(pyarrow.table(columns), name, write_statistics=told)
"#;

/// A trace without a known length ends with its last I/O, whether or not its file has statistics.
#[test]
fn a_trace_of_another_program_is_observed_to_its_last_io() {
    let place = &TestDirectory::new();
    if python(&["pyarrow"], &["-c", OF_ANOTHER_PROGRAM], place).is_none() {
        return;
    }
    for file in ["told.parquet", "untold.parquet"] {
        let host = &answer(place, &format!("hosts {file}"))["hosts"][0];
        assert_eq!(host["observed_ns"], 9_990_000_001_u64, "{file}");
        assert_near(&host["iops"], 1e12 / 9_990_000_001.0);
        let steps = answer(place, &format!("steps {file} --step 5s"));
        assert_near(&steps["steps"][0]["iops"], 100.0);
        assert_near(&steps["steps"][1]["iops"], 500e9 / 4_990_000_001.0);
    }
}

/// A whole trace whose writer knew its length before the first I/O is observed from its beginning.
#[test]
fn a_length_that_is_known_beforehand_is_no_beginning() {
    let place = &TestDirectory::new();
    for part in [None, Some(CapturePart { capture: "one".into(), first: 1, last: 1 })] {
        let whole = CaptureConditions { part, ..conditions(LASTED_NS, "one", 1) };
        let file = File::create(place.join("t.parquet")).unwrap();
        let mut writer = TraceWriter::new(file, &whole).unwrap();
        writer.write(&ios(0, LASTED_NS)).unwrap();
        writer.finish(whole).unwrap();
        assert_eq!(&answer(place, "hosts t.parquet")["hosts"][0]["observed_ns"], LASTED_NS);
    }
}
