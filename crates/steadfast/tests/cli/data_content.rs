//! Compression and duplicates of written data, by step, process and device: compared with DuckDB's
//! sums of the same file, and with a capture whose content is known.

use super::capture::RunningCapture;
use super::fixtures::{
    LoopDevice, TestDirectory, array, parse_json, python, succeed, succeed_json,
};
use super::synthetic_captures::{self, answer, write_trace};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use steadfast_domain::io_event::{CapturedDevice, CommandName, ContentMeasurement, ContentSample};
use steadfast_domain::text::grouped;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp, Layer};

const STEP_NS: u64 = 10_000_000_000;

/// 10,007 I/Os, some of whose blocks were measured; nothing was measured in the first step.
fn write(path: &Path, every: u64) {
    let device = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block],
        devices: vec![device("nvme0n1"), device("sda")],
        lasted_ns: 101_000_000_000,
        content: Some(ContentSample { every, blocks: 10, ..ContentSample::default() }),
        ..CaptureConditions::default()
    };
    let event = |n: u64| {
        let op = if n.is_multiple_of(3) { IoOp::Read } else { IoOp::Write };
        let is_measured = op == IoOp::Write && n % 7 == 2 && n > 1000;
        let blocks = 1 + (n % 5) as u16;
        let bytes = u32::from(blocks) * 4096;
        let compressed_bytes = bytes / (1 + (n % 4) as u32);
        let content =
            ContentMeasurement { blocks, duplicates: (n % 2) as u16, bytes, compressed_bytes };
        IoEvent {
            issued_ns: n * 10_000_019,
            response_ns: 1000,
            bytes: 65_536,
            offset: n % 101 * 65_536,
            pid: 100 + (n % 3) as u32,
            command: CommandName::new("db"),
            device: (n % 2) as u16,
            content: if is_measured { content } else { ContentMeasurement::default() },
            op,
            ..IoEvent::default()
        }
    };
    synthetic_captures::write(path, conditions, (0..10_007).map(event).collect());
}

/// Compares the content of a row with the sums that it must come from.
fn assert_content(row: &Value, sums: Option<&Value>, what: &str) {
    let content = &row["content"];
    let figures = json!([
        content["blocks"], content["bytes"], content["compressed_bytes"], content["duplicates"]
    ]);
    let Some(sums) = sums else {
        assert_eq!(figures, json!([0, 0, 0, 0]), "{what}");
        assert!(content["compression_ratio"].is_null(), "{what}");
        assert!(content["duplicate_share"].is_null(), "{what}");
        return;
    };
    assert_eq!(figures, *sums, "{what}");
    let number = |at: usize| sums[at].as_f64().unwrap();
    let ratio = content["compression_ratio"].as_f64().unwrap();
    assert!((ratio - number(1) / number(2)).abs() < 1e-12, "{what}");
    let share = content["duplicate_share"].as_f64().unwrap();
    assert!((share - number(3) / number(0)).abs() < 1e-12, "{what}");
}

#[test]
fn content_is_told_by_step_process_and_device_as_duckdb_adds_it_up() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 1);
    fs::write(here.join("content.py"), include_str!("content.py")).unwrap();
    let step = STEP_NS.to_string();
    let arguments = ["content.py", "t.parquet", &step];
    let Some(output) = python(&["duckdb"], &arguments, here) else { return };
    let sums: Value = parse_json(&output);
    let steps = answer(here, "steps t.parquet --step 10s");
    let steps = array(&steps["steps"]);
    assert_eq!(steps.len(), 11);
    for step in steps {
        let at = (step["begin_ns"].as_u64().unwrap() / STEP_NS).to_string();
        assert_content(step, sums["steps"].get(&at), &at);
    }
    assert!(sums["steps"].get("0").is_none(), "one step has none");
    let processes = answer(here, "groups t.parquet --by process");
    for group in array(&processes["groups"]) {
        let pid = group["pid"].to_string();
        assert_content(group, sums["processes"].get(&pid), &pid);
    }
    let devices = answer(here, "groups t.parquet --by device");
    for group in array(&devices["groups"]) {
        let number = if group["device"].as_str().unwrap().starts_with("sda") { "1" } else { "0" };
        assert_content(group, sums["devices"].get(number), number);
    }
    for (pid, sums) in sums["processes"].as_object().unwrap() {
        assert_selection_has_its_own_content(here, pid, sums);
    }
    let text = succeed(here, "trace steps t.parquet --step 10s");
    assert!(text.contains("compression") && text.contains("duplicates"), "{text}");
    let words = "trace groups t.parquet --by process --show content";
    assert!(succeed(here, words).contains("compression"));
    succeed(here, "trace report t.parquet -o r --format json,csv");
    let findings = fs::read_to_string(here.join("r/findings.json")).unwrap();
    assert!(findings.contains("Compression of written data"));
    assert!(findings.contains("Duplicates in written data"));
    succeed(here, "trace recover t.parquet -o again.parquet");
    let of = |file: &str| answer(here, &format!("steps {file} --step 10s"))["steps"].clone();
    assert_eq!(of("again.parquet"), of("t.parquet"));
}

/// Under a filter, reports and applied workloads have the content of the selected I/Os.
fn assert_selection_has_its_own_content(here: &Path, pid: &str, sums: &Value) {
    let number = |at: usize| sums[at].as_f64().unwrap();
    let (ratio, duplicates) = (number(1) / number(2), number(3) / number(0));
    let text = succeed(here, &format!("trace self-test t.parquet --pid {pid}"));
    assert!(text.contains(&format!("Compression ratio: {ratio:.2}\n")), "{ratio}: {text}");
    let blocks = grouped(sums[0].as_u64().unwrap());
    let blocks = format!("Content: {blocks} written blocks of 4 KiB");
    assert!(text.contains(&blocks), "{blocks}: {text}");
    let derived = succeed_json(here, &format!("workload derive t.parquet --pid {pid} --json"));
    let pattern = format!("entropy:{:.0},{:.0}", 100.0 / ratio, duplicates * 100.0);
    assert_eq!(derived["data_pattern"], pattern);
}

#[test]
fn duplicates_of_a_sample_are_a_lower_bound_in_every_step() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 100);
    let steps = answer(here, "steps t.parquet --step 10s");
    assert!(steps["steps"][3]["content"]["duplicate_share"].is_null());
    assert!(steps["steps"][3]["content"]["compression_ratio"].is_number());
    let text = succeed(here, "trace steps t.parquet --step 10s");
    assert!(text.contains(">= ") && text.contains('–'), "{text}");
}

/// The sums of the blocks of sda in a capture of two devices.
fn content_of_sda(here: &Path, file: &str) -> Value {
    let devices = answer(here, &format!("groups {file} --by device"));
    let mut groups = array(&devices["groups"]).iter();
    groups.find(|group| group["device"].as_str().unwrap().starts_with("sda")).unwrap()["content"]
        .clone()
}

#[test]
fn a_folded_part_has_the_content_of_its_own_ios() {
    let here = &TestDirectory::new();
    for (every, file) in [(1, "t.parquet"), (100, "sample.parquet")] {
        write(&here.join(file), every);
        let sums = content_of_sda(here, file);
        let fold = format!("{every}.fold");
        succeed(here, &["trace", "fold", file, "--device", "sda", "--step", "10min", "-o", &fold]);
        let conditions = &answer(here, &format!("steps {fold} --step 1h"))["conditions"];
        for name in ["blocks", "bytes", "compressed_bytes", "duplicates"] {
            assert_eq!(conditions["content"][name], sums[name], "{file}: {name}");
        }
        assert_eq!(conditions["compression_ratio"], sums["compression_ratio"], "{file}");
        assert_eq!(content_of_sda(here, &fold), sums, "{file}");
    }
    // A file of an earlier version has the sums of the whole capture only; the fold says so.
    let conditions = CaptureConditions {
        devices: ["nvme0n1", "sda"]
            .map(|name| CapturedDevice { name: name.into(), ..CapturedDevice::default() })
            .into(),
        compression_ratio: Some(3.0),
        duplicate_share: Some(0.25),
        ..CaptureConditions::default()
    };
    let path = here.join("old.parquet");
    write_trace(path, conditions, &[IoEvent { bytes: 4096, device: 1, ..IoEvent::default() }]);
    succeed(here, "trace fold old.parquet --device sda -o old.fold");
    let text = succeed(here, "trace doctor old.fold");
    assert!(text.contains("are those of the whole capture"), "{text}");
}

/// The table of facts and the caveat have the same bound: that of the selected I/Os.
#[test]
fn a_filtered_report_has_one_bound_of_duplicates() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 100);
    let sums = content_of_sda(here, "t.parquet");
    let number = |name: &str| sums[name].as_f64().unwrap();
    let bound = format!(">= {:.1} %", 100.0 * number("duplicates") / number("blocks"));
    succeed(here, "trace report t.parquet --device sda -o r --format json");
    let findings = fs::read_to_string(here.join("r/findings.json")).unwrap();
    assert!(findings.contains(&format!("is a lower bound ({bound})")), "{bound}");
    let fact = findings.rsplit("Duplication ratio").next().unwrap().split('}').next().unwrap();
    assert!(fact.contains(&bound), "{bound}: {fact}");
    let doctor = succeed(here, "trace doctor t.parquet --device sda");
    assert!(doctor.contains(&format!("is a lower bound ({bound})")), "{bound}: {doctor}");
}

/// Zeros, then random bytes, each through a device of its own.
#[test]
fn a_capture_has_the_content_of_each_process() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    let Some(capture) = RunningCapture::new(here, &device, "--content-sample 1") else { return };
    let copy = |from: &str, program: &str| {
        let [from, to] = [format!("if={from}"), format!("of={}", device.path)];
        let size = ["bs=4k", "count=101", "oflag=direct", "conv=notrunc"];
        let run = std::process::Command::new("dd").arg(from).arg(to).args(size).output();
        assert!(run.unwrap().status.success(), "{program}");
    };
    copy("/dev/zero", "zeros");
    copy("/dev/urandom", "random bytes");
    capture.end();
    let found = answer(here, "groups trace.parquet --by process --op write");
    let mut groups: Vec<&Value> = array(&found["groups"]).iter().collect();
    groups.retain(|group| group["command"] == "dd");
    groups.sort_by_key(|group| group["pid"].as_u64());
    assert_eq!(groups.len(), 2, "{found:#}");
    let sum = |field: &str| -> u64 {
        groups.iter().map(|group| group["content"][field].as_u64().unwrap()).sum()
    };
    let all = &found["conditions"]["content"];
    let number = |field: &str| all[field].as_u64().unwrap();
    assert_eq!(sum("blocks") + number("late"), number("blocks"), "{all}");
    assert_eq!(number("passed_over") + number("unreadable"), 0, "{all}");
    // A block that was read too late is in the capture's sums alone.
    if number("late") == 0 {
        let content = |at: usize| &groups[at]["content"];
        let (first, second) = (content(0)["duplicates"].clone(), content(1)["duplicates"].clone());
        assert_eq!((sum("blocks"), sum("bytes")), (202, 202 * 4096));
        // A block that is overwritten before it is read back is measured as it is then.
        assert!(first.as_u64().unwrap() + second.as_u64().unwrap() <= 201);
        assert!(content(1)["compression_ratio"].as_f64().unwrap() < 1.1, "{found:#}");
    }
}
