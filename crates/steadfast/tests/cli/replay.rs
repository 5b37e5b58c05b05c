//! Captured workloads on the command line: refusals and their reasons, reference workloads, the
//! comparison of two captures, the self-test.

use super::capture::{RunningCapture, settled_counts};
use super::fixtures::*;
use super::resume::{assert_resumes_without_its_command_line, half_of};
use super::synthetic_captures::{sized_device, write_trace};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use steadfast_domain::io_event::{CapturedDevice, CommandName, Mark, StreamInStep};
use steadfast_domain::{
    Bytes, CaptureConditions, IoEvent, IoOp, JournalEntry, Layer, Nanos, ScriptSource,
};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::JournalLine;
use steadfast_tracefile::StepWriter;
use steadfast_workload::WorkloadFile;
use steadfast_workload::workload_file::IoTotals;

/// The marks of a replay onto `sdx`, and of one onto `sdy` meanwhile.
const MARKS: [(u64, &str); 4] = [
    (0, "replay begins on sdx"),
    (50_000_000, "replay begins on sdy"),
    (100_000_000, "replay ends on sdy"),
    (1_500_000_000, "replay ends on sdx"),
];

fn marks(kind: ReplayCase) -> Vec<Mark> {
    let marks: &[_] = match kind {
        ReplayCase::Marked => &MARKS,
        ReplayCase::Foreign => &MARKS[1..3],
        _ => &[],
    };
    marks.iter().map(|(at_ns, name)| Mark { at_ns: *at_ns, name: (*name).to_owned() }).collect()
}

/// A trace of 1,009 reads of 4 KiB, one a millisecond, with a flush after every tenth.
fn write(path: &Path, kind: ReplayCase) {
    let device =
        CapturedDevice { logical_sector: Some(512), ..sized_device("sdx", Bytes::mib(512)) };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block],
        devices: vec![device],
        began_unix_ns: Some(1_700_000_000_000_000_000),
        lasted_ns: if kind == ReplayCase::Long { 11_000_000_000 } else { 2_000_000_000 },
        lost: if kind == ReplayCase::Lossy { 7 } else { 0 },
        marks: marks(kind),
        ..CaptureConditions::default()
    };
    let event = |n: u64, op, offset, bytes| IoEvent {
        issued_ns: n * 1_000_000,
        response_ns: 100_000,
        offset,
        bytes,
        depth: 1,
        pid: 7,
        command: CommandName::new("load"),
        op,
        ..IoEvent::default()
    };
    let mut events = Vec::new();
    if kind == ReplayCase::Armed {
        let command = CommandName::new("steadfast");
        events.extend((0..5).map(|n| IoEvent { command, ..event(n, IoOp::Read, n * 4096, 4096) }));
    }
    let before = events.len() as u64;
    // A hundred a second.
    let interval_ms = if kind == ReplayCase::Long { 10 } else { 1 };
    for n in 0..1009u64 {
        // 7 and 131072 have no common divisor: no place comes twice.
        let offset =
            n * 7 % 131_072 * 4096 + if kind == ReplayCase::Moved && n == 503 { 4096 } else { 0 };
        if kind != ReplayCase::Flushes {
            events.push(event(before + n * interval_ms, IoOp::Read, offset, 4096));
        }
        if n % 10 == 9 {
            events.push(event(before + n * interval_ms, IoOp::Flush, 0, 0));
        }
    }
    write_trace(path, conditions, &events);
}

/// A step file of a thousand reads of 4 KiB in one second.
fn write_sums(path: &Path) {
    let step_ns = Some(1_000_000_000);
    let conditions = CaptureConditions { step_ns, ..CaptureConditions::default() };
    let mut writer = StepWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.add(&[StreamInStep {
        op: IoOp::Read,
        bytes: 4096,
        ios: 1000,
        responses: 1000,
        response_sum_ns: 1_000_000,
        response_max_ns: 1000,
        ..StreamInStep::default()
    }]);
    writer.finish(&conditions).unwrap();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplayCase {
    Whole,
    Flushes,
    Lossy,
    Moved,
    /// Ten seconds instead of one.
    Long,
    /// After five reads of this program.
    Armed,
    /// Between its marks, and with those of a replay that ran at the same time elsewhere.
    Marked,
    /// With the marks of a replay onto a device that was not captured.
    Foreign,
}

/// A part of a replay in a run's journal.
#[derive(Debug, PartialEq)]
struct ReplayPart {
    /// I/Os of the script up to the end of the part.
    script_position: u64,
    counted_ios: u64,
    has_gap_before: bool,
}

fn parts(run: &Path) -> Vec<ReplayPart> {
    let lines = Ledger::read(run).map(|contents| contents.lines).unwrap_or_default();
    let part = |line: &JournalLine| match &line.entry {
        JournalEntry::Applied { step, outcome } if step.place.phase == "replay" => {
            let measurement = &outcome.measurement;
            Some(ReplayPart {
                script_position: measurement.replay.as_ref()?.position.ios,
                counted_ios: measurement.streams.iter().map(|stream| stream.tally.ios).sum(),
                has_gap_before: outcome.gap_before.is_some(),
            })
        }
        _ => None,
    };
    lines.iter().filter_map(part).collect()
}

/// A replay that is killed with -9 continues from its last cut: what was played after it is played
/// again, and what was outstanding at the cut is in no count.
#[test]
fn a_killed_replay_goes_on_from_its_last_cut_and_says_what_it_left_out() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Long);
    let run = "run replay-native --target scratch.bin --size 512MiB --exact --purge none --set \
               preconditioning=none --set cut=2s --workload t.parquet -o run";
    let errors = here.join("errors.txt");
    let mut child = spawn_in(here, run, Stdio::null(), File::create(&errors).unwrap());
    let ledger = here.join("run");
    wait_until("two parts", || {
        let is_alive = child.try_wait().unwrap().is_none();
        assert!(is_alive, "{}", std::fs::read_to_string(&errors).unwrap());
        parts(&ledger).len() >= 2
    });
    // In the midst of the third part, or of a later one where the machine stood still.
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = parts(&ledger);
    assert!(before.len() < 5, "the run ended before it was killed: {before:?}");
    run_ending(here, "resume run", &[0, 3]);
    let all = parts(&ledger);
    assert_eq!(all[..before.len()], before);
    let gaps: Vec<bool> = all.iter().map(|part| part.has_gap_before).collect();
    assert!(gaps[before.len()] && gaps.iter().filter(|gap| **gap).count() == 1, "{gaps:?}");
    // Whole, but for what was outstanding at the cut; at most as many as the capture had.
    let counted: u64 = all.iter().map(|part| part.counted_ios).sum();
    let missing = (1009 + 100) - counted;
    assert_eq!(all.last().unwrap().script_position, 1009 + 100);
    assert!(missing <= 4, "{missing} are missing: {all:?}");
    let findings = findings(here.join("run"));
    let text = |id: &str| {
        let found = caveat(&findings, id).and_then(|caveat| caveat["text"].as_str());
        found.unwrap_or_default().to_owned()
    };
    assert!(text("gap").contains("continued from the last cut"), "{}", text("gap"));
    match missing {
        0 => assert_eq!(text("replay-left-out"), ""),
        _ => assert!(text("replay-left-out").contains(&format!("{missing} are in no count"))),
    }
}

/// Writes a capture of two drives: 311 reads a millisecond apart on each, those of the second half
/// a second after those of the first.
fn write_two_devices(path: &Path) {
    let device =
        |name| CapturedDevice { logical_sector: Some(512), ..sized_device(name, Bytes::mib(64)) };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block],
        devices: vec![device("sda"), device("sdb")],
        began_unix_ns: Some(1_700_000_000_000_000_000),
        lasted_ns: 2_000_000_000,
        ..CaptureConditions::default()
    };
    let event = |device: u16, n: u64| IoEvent {
        device,
        issued_ns: 100_000_000 + n * 1_000_000 + u64::from(device) * 500_000_000,
        response_ns: 100_000,
        offset: n * 7 % 16_384 * 4096,
        bytes: 4096,
        depth: 1,
        op: IoOp::Read,
        ..IoEvent::default()
    };
    let events: Vec<IoEvent> =
        (0..2).flat_map(|device| (0..311).map(move |n| event(device, n))).collect();
    write_trace(path, conditions, &events);
}

/// What a run keeps of the script that it plays.
struct RunScript {
    reads: u64,
    span: Nanos,
    source: ScriptSource,
}

fn script(run: &Path) -> RunScript {
    let workload = Ledger::read(run).unwrap().plan.settings.workload.unwrap();
    let script = workload.script.unwrap();
    let source = *workload.script_source.unwrap();
    RunScript { reads: script.counts.reads, span: script.span, source }
}

/// Every drive of a capture is replayed on a target of its own, as far apart in time as captured.
#[test]
fn two_captured_devices_replay_together_each_on_its_target() {
    let Some(first) = LoopDevice::new(64) else { return };
    let Some(second) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    write_two_devices(&here.join("two.parquet"));
    // The captured device of the second stands first.
    let run = format!(
        "run replay-native --exact --workload two.parquet --purge none --set preconditioning=none \
         --target sdb={} --yes-destroy {} --target sda={} --yes-destroy {} -o both",
        first.path,
        first.name(),
        second.path,
        second.name()
    );
    run_ending(here, &run, &[0, 3]);
    let runs = [&second, &first].map(|device| here.join("both").join(device.name()));
    let scripts = [script(&runs[0]), script(&runs[1])];
    // Both count from the first I/O.
    for (device, span_ms, script) in [(0u16, 310, &scripts[0]), (1, 810, &scripts[1])] {
        assert_eq!(script.reads, 311);
        assert_eq!(script.span, Nanos::from_millis(span_ms));
        assert_eq!(script.source.chosen.devices, [device]);
        assert_eq!(script.source.counted_from, Nanos::from_millis(100));
    }
    let agreed = runs.each_ref().map(|run| {
        let starts = Ledger::read(run).unwrap().common_starts();
        starts.iter().map(|start| (start.agreed, start.targets)).collect::<Vec<_>>()
    });
    assert_eq!(agreed[0], agreed[1]);
    assert_eq!(agreed[0].len(), 1);
    for run in &runs {
        assert_eq!(parts(run).iter().map(|part| part.counted_ios).sum::<u64>(), 311);
    }
    let group = std::fs::read_to_string(here.join("both/targets.json")).unwrap();
    assert!(group.contains("\"phases\""), "{group}");
}

#[test]
fn captured_devices_are_given_for_every_target_or_for_none() {
    let here = &TestDirectory::new();
    write_two_devices(&here.join("two.parquet"));
    let replay = "plan replay-native --workload two.parquet";
    let curve = "plan load-curve --workload two.parquet";
    let both = "--target sda=sim:small --target sdb=sim:client";
    succeed(here, &format!("{replay} {both}"));
    succeed(here, &format!("{replay} {both} --step 100ms"));
    succeed(here, &format!("{replay} {both} --exact"));
    succeed(here, &format!("{replay} --target sdb=sim:small --step 100ms"));
    let half = format!("{replay} --target sda=sim:small --target sim:client");
    refuse(here, &half, &["--target DEVICE=sim:client"]);
    refuse(here, &format!("{replay} {both} --device sda"), &["omit --device"]);
    let unknown = format!("{replay} --target sdz=sim:small");
    refuse(here, &unknown, &["no device 'sdz'", "sda, sdb"]);
    // Only a captured workload has devices.
    succeed(here, &format!("{curve} {both}"));
    refuse(here, &format!("{curve} {both} --exact"), &["--exact is for replay-native"]);
    let stream = "plan load-curve --workload 'RND 4K R' --target sda=sim:small";
    refuse(here, stream, &["sda=sim:small"]);
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_line() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    write(&here.join("flushes.parquet"), ReplayCase::Flushes);
    write(&here.join("lossy.parquet"), ReplayCase::Lossy);
    write_sums(&here.join("steps.parquet"));
    std::fs::write(here.join("text.csv"), "1,2,3\n").unwrap();
    let is_made = std::process::Command::new("mkfifo").arg(here.join("pipe")).status();
    assert!(is_made.unwrap().success());
    let native = "plan replay-native --target sim:small";
    refuse(here, native, &["--workload", "workload list"]);
    let cases: [(&str, &[&str]); 13] = [
        ("no-such", &["neither a file nor a reference workload", "pgbench"]),
        ("t.parquet --op write", &["none of the capture's I/Os is chosen"]),
        ("t.parquet --exact --op write", &["none of the capture's I/Os is chosen"]),
        ("t.parquet --exact --device sdy", &["sdy"]),
        ("t.parquet --exact --issue-at queue", &["no queue times"]),
        ("t.parquet --exact --map stretch", &["same, wrap, pack, scale"]),
        ("t.parquet --timing closed", &["--exact"]),
        ("flushes.parquet", &["flushes", "nothing to replay"]),
        ("flushes.parquet --exact", &["are all flushes", "nothing to replay"]),
        ("text.csv", &["neither a trace", "trace import"]),
        ("retail-backup --exact", &["no single I/O", "leave out --exact"]),
        ("steps.parquet --exact", &["step file", "leave out --exact"]),
        ("pipe", &["not a regular file"]),
    ];
    for (workload, parts) in cases {
        refuse(here, &format!("{native} --workload {workload}"), parts);
    }
    let lossy = run_in(here, &format!("{native} --workload lossy.parquet --exact"));
    assert!(stderr(&lossy).contains("lost 7 events"), "{}", stderr(&lossy));
    let small = "plan replay-native --target small.bin --size 512KiB --workload t.parquet --exact \
                 --map wrap";
    refuse(here, small, &["granules of 1 MiB"]);
}

#[test]
fn options_of_captured_workloads_are_for_their_procedures() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    for (plan, reason) in [
        ("iops --from 5s", "iops applies no captured"),
        ("wsat --exact", "replay-native"),
        ("wsat --workload 'RND 4K W' --workload 'SEQ 4K W'", "one workload"),
        ("multi-wsat --workload pgbench --exact", "--exact is for replay-native"),
        ("replay-native --workload t.parquet --depth 8 --step 100ms", "its own demands"),
    ] {
        refuse(here, &format!("plan {plan} --target sim:small"), &[reason]);
    }
    succeed(here, "plan replay-native --workload t.parquet --depth 8 --exact --target sim:small");
}

#[test]
fn reference_workloads_are_listed_shown_and_applied() {
    let here = &TestDirectory::new();
    let listed = succeed_json(here, "workload list --json");
    let listed = array(&listed["workloads"]);
    assert_eq!(listed.len(), 13);
    for one in listed {
        let name = one["name"].as_str().unwrap();
        let shown = WorkloadFile::read(&succeed(here, &["workload", "show", name])).unwrap();
        assert_eq!(one["ios"].as_u64(), Some(shown.workload.selected().ios), "{name}");
    }
    let measure = "measure --workload retail-web-portal --target sim:small --ios 10007 --json";
    let answer = succeed_json(here, measure);
    assert_eq!(array(&answer["measurement"]["streams"]).len(), 9);
    refuse(here, "workload show pgbensh", &["pgbench"]);
    refuse(here, "measure --workload pgbensh --target sim:small", &["pgbench"]);
}

#[test]
fn two_captures_are_compared_io_by_io() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    write(&here.join("moved.parquet"), ReplayCase::Moved);
    write(&here.join("lossy.parquet"), ReplayCase::Lossy);
    let same = succeed(here, "replay verify t.parquet t.parquet -o verified --format html,pdf");
    assert!(same.contains("equal, in order"), "{same}");
    assert!(
        here.join("verified/report.html").exists() && here.join("verified/report.pdf").exists()
    );
    let other = run_ending(here, "replay verify t.parquet moved.parquet --json", &[5]);
    let found: Value = parse_json(&other);
    assert!(found["ending"].as_str().unwrap().contains("first difference"), "{found}");
    let lossy = run_in(here, "replay verify t.parquet lossy.parquet");
    assert_eq!(code(&lossy), 0);
    assert!(stderr(&lossy).contains("lost 7 events"), "{}", stderr(&lossy));
    write(&here.join("marked.parquet"), ReplayCase::Marked);
    write(&here.join("foreign.parquet"), ReplayCase::Foreign);
    for (verify, used) in [
        ("marked.parquet", "'replay begins on sdx', 'replay ends on sdx'\n"),
        ("marked.parquet --replayed-from 0s", ": 'replay ends on sdx'\n"),
        ("foreign.parquet", ""),
        ("foreign.parquet --replayed-from 0s", ""),
    ] {
        let verified = run_in(here, &format!("replay verify t.parquet {verify}"));
        let (found, messages) = (stdout(&verified), stderr(&verified));
        assert!(found.contains("equal, in order"), "{verify}: {found}{messages}");
        let names_marks = messages.contains("its marks");
        assert!(messages.contains(used) && names_marks != used.is_empty(), "{messages}");
    }
    // Without marks, what this program read before the replay is left out; what others read is not.
    write(&here.join("armed.parquet"), ReplayCase::Armed);
    let armed = succeed(here, "replay verify t.parquet armed.parquet");
    assert!(armed.contains("equal, in order"), "{armed}");
    run_ending(here, "replay verify moved.parquet armed.parquet", &[5]);
    succeed(here, "replay verify t.parquet moved.parquet --op flush");
    refuse(here, "replay verify t.parquet none.parquet", &["none.parquet"]);
}

#[test]
fn the_self_test_has_its_four_reports() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    let found = succeed_json(here, "trace self-test t.parquet --json -o st");
    let pages = array(&found["form_pages"]);
    let titles: Vec<&str> = pages.iter().map(|page| page["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "I/O streams distribution v segments", "IOPS and throughput v time",
            "Response time v time", "Outstanding I/Os v time"
        ]
    );
    assert!(here.join("st/report.html").exists());
}

#[test]
fn a_derived_workload_keeps_its_steps_when_asked() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    let derive = "workload derive t.parquet --step 100ms";
    succeed(here, &format!("{derive} -o plain.toml"));
    succeed(here, &format!("{derive} --native --threshold 20% -o native.toml"));
    let read = |name: &str| {
        WorkloadFile::read(&std::fs::read_to_string(here.join(name)).unwrap()).unwrap()
    };
    assert!(read("plain.toml").steps.is_empty());
    let steps = read("native.toml").steps;
    assert_eq!(steps.len(), 11);
    // A hundred reads and the ten flushes, which are below the threshold.
    let captured = IoTotals { ios: 110, bytes: Bytes(409_600) };
    assert_eq!((steps[0].ios[0].1, steps[0].captured), (100, Some(captured)));
    assert_eq!(steps[0].outstanding_mean, Some(0.11));
    let without = "plan replay-native --target sim:small --workload plain.toml";
    refuse(here, without, &["no capture steps", "--native"]);
}

const LOAD: &str = "format = \"steadfast workload 1\"\ndemand = \"T1Q4\"\n\
    [[stream]]\nstream = \"RND 4K R\"\nios = 5\n[[stream]]\nstream = \"RND 8K W\"\nios = 3\n\
    [[stream]]\nstream = \"SEQ 16K W\"\nios = 2\n";

/// A process in a capture, as options of the program.
struct CapturedProgram {
    pid: String,
    /// Time of the first of its last 10,007 I/Os: before them it reads what lies on the device.
    from: String,
}

/// Captures while the program runs, to a trace called `name`.
fn capture_program(
    here: &Path,
    device: &LoopDevice,
    run: &str,
    name: &str,
) -> Option<CapturedProgram> {
    settled_counts(device);
    let capture = RunningCapture::new(here, device, "")?;
    let run = format!("{run} --json {}", device.confirmed());
    let child = spawn_in(here, &run, Stdio::null(), Stdio::piped());
    let pid = child.id().to_string();
    let output = child.wait_with_output().unwrap();
    let (conditions, events) = capture.end();
    assert!(matches!(code(&output), 0 | 3), "{}", stderr(&output));
    assert_eq!(conditions.lost, 0);
    std::fs::rename(here.join("trace.parquet"), here.join(name)).unwrap();
    let mut times: Vec<u64> = events
        .iter()
        .filter(|event| event.pid.to_string() == pid)
        .map(|event| event.issued_ns)
        .collect();
    times.sort_unstable();
    let first = times[times.len() - 10_007];
    Some(CapturedProgram { pid, from: format!("{first}ns") })
}

/// 10,007 I/Os are captured, replayed onto a second device and captured again: the
/// same operations, sizes and offsets in the same order.
#[test]
fn a_replay_has_the_captured_ios_in_their_order() {
    let Some(first) = LoopDevice::new(256) else { return };
    let Some(second) = LoopDevice::new(256) else { return };
    let here = &TestDirectory::new();
    std::fs::write(here.join("w.toml"), LOAD).unwrap();
    let measure = "measure --workload w.toml --ios 10007";
    let original = capture_program(here, &first, measure, "original.parquet");
    let Some(CapturedProgram { pid, from }) = original else { return };
    // Issued at the times of issue: on one queue, in the order of the capture.
    let run = format!(
        "run replay-native --workload original.parquet --exact --pid {pid} --from {from} \
         --issue-at issue --purge none --set preconditioning=none -o replay"
    );
    let replayed = capture_program(here, &second, &run, "replayed.parquet");
    if replayed.is_none() {
        return;
    }
    let verify = format!(
        "replay verify original.parquet replayed.parquet --json --pid {pid} --from {from} \
         -o verified"
    );
    // The replay lies between its marks: neither what the run read before nor what udev reads of
    // the closed device is among its I/Os.
    let output = run_in(here, &verify);
    let found: Value = parse_json(&output);
    let ending = found["ending"].as_str().unwrap();
    assert!(ending.contains("10,007 I/Os in the original, 10,007 in the replay"), "{ending}");
    assert_eq!(code(&output), 0, "{ending} {}", stderr(&output));
}

/// A run whose trace is missing, or is another, is not resumed.
#[test]
fn a_replay_is_resumed_with_its_own_trace_only() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    let run = "run replay-native --target sim:small --workload t.parquet --exact \
               --set preconditioning=none -o run";
    run_ending(here, run, &[0, 3]);
    let RunScript { reads, source, .. } = script(&here.join("run"));
    assert_eq!(reads, 1009);
    let [file] = source.files.as_slice() else { panic!("{source:?}") };
    assert!(file.starts_with('/') && file.ends_with("t.parquet"), "{file}");
    half_of(&here.join("run"), |_| ());
    std::fs::rename(here.join("t.parquet"), here.join("away.parquet")).unwrap();
    refuse(here, "resume half", &["t.parquet", "is missing"]);
    write(&here.join("t.parquet"), ReplayCase::Moved);
    refuse(here, "resume half", &["not the I/Os that this run began with", "SHA-256"]);
    succeed(here, "study run");
}

/// The record keeps the selection as data: its command line is for readers.
#[test]
fn a_replay_resumes_whatever_its_command_line_says() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), ReplayCase::Whole);
    let run = "run replay-native --target sim:small --workload t.parquet --exact --op read \
               --from 100ms --window 7 --map wrap --timing faster:2 --overlaps order \
               --set preconditioning=none -o run";
    run_ending(here, run, &[0, 3]);
    assert_eq!(script(&here.join("run")).reads, 909);
    assert_resumes_without_its_command_line(&here.join("run"));
}

#[test]
fn a_reference_workload_is_planned_and_run_on_every_test_that_takes_one() {
    let here = &TestDirectory::new();
    for procedure in ["individual-streams", "multi-wsat", "rwsw-dirth"] {
        succeed(here, &format!("plan {procedure} --target sim:small --workload two-minutes"));
    }
    let plan = "plan replay-native --target sim:small --workload seven-steps";
    let whole = succeed(here, plan);
    let without = succeed(here, &format!("{plan} --purge none"));
    assert!(whole.to_lowercase().contains("purge"), "{whole}");
    // The command to run it asks for none, and nothing before it does one.
    let (without, command) = without.split_once("To run it:").unwrap();
    assert!(!without.to_lowercase().contains("purge"), "{without}");
    assert!(command.contains("--purge none"), "{command}");
}
