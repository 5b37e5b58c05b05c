//! Traces of known composition, folded; folds over parts against the whole; and
//! the file as other programs see it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod crew;
mod damage;
mod merging;
mod replay;
mod report;
mod steps_alone;
mod synthetic;

use std::io::Cursor;
use std::process::Command as Program;
use steadfast_domain::findings::Exhibit;
use steadfast_domain::io_event::Command;
use steadfast_domain::step::mix64;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_trace::reach::Distinct;
use steadfast_trace::replay_representation::ReplayRepresentation;
use steadfast_trace::steps::Steps;
use steadfast_trace::streams::By;
use steadfast_trace::workload::Threshold;
use steadfast_trace::{
    Captured, Derivation, Filter, Pass, StreamKey, StreamTable, Study, StudyOptions, Trace, Writer,
    findings,
};
use synthetic::{SECOND, Server, by_completion};

fn written(events: &[IoEvent], conditions: CaptureConditions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &conditions).unwrap().with_rows_per_group(1009);
    writer.write(events).unwrap();
    writer.finish(conditions).unwrap()
}

fn opened(events: &[IoEvent], conditions: CaptureConditions) -> Trace<Cursor<Vec<u8>>> {
    Trace::open(Cursor::new(written(events, conditions))).unwrap()
}

fn streams(trace: &Trace<Cursor<Vec<u8>>>, pass: &Pass) -> StreamTable {
    let mut table = StreamTable::new();
    pass.run(trace, &mut [&mut table]).unwrap();
    table
}

fn key(name: &str) -> StreamKey {
    name.parse().unwrap()
}

/// Five streams, 10,007 I/Os in all, mixed by a fixed rule and recorded by
/// completion. Random addresses are never adjacent; the two sequential streams
/// run through one another.
fn known() -> Vec<IoEvent> {
    let mut kinds: Vec<(u64, usize)> = [5003, 3001, 1499, 401, 103]
        .into_iter()
        .enumerate()
        .flat_map(|(kind, count)| (0..count).map(move |n| (mix64(n * 7 + kind as u64), kind)))
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds.len(), 10_007);
    let mut counts = [0u64; 5];
    let mut events = Vec::new();
    for (at, (_, kind)) in (0..).zip(kinds) {
        let n = counts[kind];
        counts[kind] += 1;
        let (op, offset, bytes) = match kind {
            0 => (IoOp::Read, (n * 7919 % 5003) * 65_536 + 8192, 4096),
            1 => (IoOp::Write, (1 << 40) + n * 131_072, 131_072),
            2 => (IoOp::Write, (2 << 40) + (n * 31 % 1499) * 65_536, 8192),
            3 => (IoOp::Read, (3 << 40) + n * 512, 512),
            _ => (IoOp::Flush, 0, 0),
        };
        events.push(IoEvent {
            issued_ns: at * 10_000,
            response_ns: 50_000 + mix64(at) % 400_000,
            op,
            offset,
            bytes,
            depth: 4,
            ..IoEvent::default()
        });
    }
    by_completion(events.into_iter())
}

#[test]
fn a_known_composition_is_found_exactly() {
    let trace = opened(&known(), CaptureConditions::default());
    let table = streams(&trace, &Pass::default());
    let found = |name: &str| table.get(key(name)).map_or(0, |tally| tally.ios);
    // The first I/O of a sequential run continues nothing: it is random.
    for (name, ios) in [
        ("RND 4K R", 5003),
        ("SEQ 128K W", 3000),
        ("RND 128K W", 1),
        ("RND 8K W", 1499),
        ("SEQ 0.5K R", 400),
        ("RND 0.5K R", 1),
        ("FLUSH", 103),
    ] {
        assert_eq!(found(name), ios, "{name}");
    }
    assert_eq!(table.len(), 7);
    let total = table.total();
    assert_eq!((total.ios, total.responses.count, total.depth_mean()), (10_007, 10_007, Some(4.0)));
    let amount = 5003 * 4096 + 3001 * 131_072 + 1499 * 8192 + 401 * 512;
    assert_eq!(total.amount(), amount);
    assert_eq!(table.get(key("RND 8K W")).unwrap().alignment(), Some(65_536));
    let longest = known().iter().map(|event| event.response_ns).max().unwrap();
    assert_eq!(total.responses.max_ns, longest);
    let listing = table.listing(By::Bytes);
    assert_eq!(listing[0].key, key("SEQ 128K W"));
    assert!((listing[0].share - 3000.0 * 131_072.0 / amount as f64).abs() < 1e-12);
}

#[test]
fn a_filter_never_makes_a_sequential_io_random() {
    let trace = opened(&known(), CaptureConditions::default());
    let from = 40_000_000;
    let filter = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    let pass = Pass { filter: filter.between(Some(from), None), ..Pass::default() };
    let table = streams(&trace, &pass);
    let expected = |kind: u32| {
        known()
            .iter()
            .filter(|e| e.bytes == kind && e.issued_ns >= from && e.op == IoOp::Write)
            .count()
    };
    assert_eq!(table.len(), 2);
    assert_eq!(table.get(key("SEQ 128K W")).unwrap().ios, expected(131_072) as u64);
    assert_eq!(table.get(key("RND 8K W")).unwrap().ios, expected(8192) as u64);
}

#[test]
fn a_window_of_one_sees_interleaved_streams_as_random() {
    let mut events = Vec::new();
    for n in 0..1000u64 {
        let offset = if n % 2 == 0 { n / 2 * 4096 } else { (1 << 40) + n / 2 * 4096 };
        events.push(IoEvent { issued_ns: n * 1000, offset, bytes: 4096, ..IoEvent::default() });
    }
    let trace = opened(&events, CaptureConditions::default());
    let found = |window| {
        let table = streams(&trace, &Pass { window, ..Pass::default() });
        table.get(key("SEQ 4K R")).map_or(0, |tally| tally.ios)
    };
    assert_eq!((found(1), found(2), found(32)), (0, 998, 998));
}

#[test]
fn steps_hold_what_was_issued_in_them() {
    let io = |issued_ns, response_ns, device| IoEvent {
        issued_ns,
        response_ns,
        device,
        bytes: 4096,
        op: IoOp::Write,
        ..IoEvent::default()
    };
    // Step 0: two that overlap, 300 us busy. The second lasts into steps 1 and 2.
    let events = [
        io(100_000, 200_000, 0),
        io(200_000, 2_000_000, 0),
        io(1_500_000, u64::MAX, 0),
        io(4_000_000, 100_000, 1),
    ];
    let trace = opened(&events, CaptureConditions::default());
    let mut steps = Steps::new(1_000_000);
    Pass::default().run(&trace, &mut [&mut steps]).unwrap();
    let steps = steps.finish().unwrap();
    let ios: Vec<(u64, u64, u64)> =
        steps.iter().map(|(at, step)| (*at, step.ios(), step.busy_ns)).collect();
    assert_eq!(ios, [(0, 2, 900_000), (1, 1, 1_000_000), (2, 0, 200_000), (4, 1, 100_000)]);
    assert_eq!(steps[&0].response_max().unwrap().0, 2_000_000);
    assert_eq!(steps[&0].depth_mean(), Some(1.5));
    assert_eq!(steps[&1].response_mean(), None);
}

#[test]
fn an_endless_io_ends_the_pass_not_the_memory() {
    let events = [
        IoEvent { issued_ns: 0, response_ns: u64::MAX - 10, ..IoEvent::default() },
        IoEvent { issued_ns: u64::MAX - 20, response_ns: 9, ..IoEvent::default() },
    ];
    let trace = opened(&events, CaptureConditions::default());
    let mut steps = Steps::new(100_000);
    Pass::default().run(&trace, &mut [&mut steps]).unwrap();
    let error = steps.finish().unwrap_err().to_string();
    assert!(error.contains("wider"), "{error}");
    let study = Study::of(&trace.into(), &StudyOptions::default()).unwrap();
    assert!(study.steps.len() < 300, "{} steps", study.steps.len());
}

#[test]
fn marks_name_spans_and_wrong_names_are_refused() {
    let conditions = synthetic::conditions(80);
    let filter = Filter::default().during("backup", &conditions).unwrap();
    assert_eq!(filter.spans_ns, [(40 * SECOND, 50 * SECOND)]);
    let error = Filter::default().during("lunch", &conditions).unwrap_err().to_string();
    assert!(error.contains("opening, backup"), "{error}");
    assert_eq!(Filter::default().on("sda", &conditions).unwrap().devices, [1]);
    assert!(Filter::default().on("sdz", &conditions).is_err());
}

#[test]
fn distinct_things_are_counted_within_two_percent() {
    for count in [1u64, 100, 10_007, 1_000_003] {
        let mut distinct = Distinct::default();
        (0..count).for_each(|n| distinct.see(n * 8));
        (0..count / 2).for_each(|n| distinct.see(n * 8));
        let error = distinct.estimate() / count as f64 - 1.0;
        assert!(error.abs() < 0.02, "{count}: {error}");
    }
}

/// A server whose backup and log are known by construction.
fn server(seconds: u64) -> Captured<Cursor<Vec<u8>>> {
    let events = by_completion(Server::new(seconds, 500));
    opened(&events, synthetic::conditions(seconds)).into()
}

/// I/Os in all.
fn ios(captured: &Captured<Cursor<Vec<u8>>>) -> u64 {
    captured.run(&Pass::default(), &mut []).unwrap().events
}

#[test]
fn a_study_shows_every_picture_and_adds_up() {
    let trace = server(80);
    let study = Study::of(&trace, &StudyOptions::default()).unwrap();
    let in_steps: u64 = study.steps.values().map(|step| step.ios()).sum();
    assert_eq!(in_steps, ios(&trace));
    let sides: u64 =
        study.sides.iter().flat_map(|(_, steps)| steps.values()).map(|s| s.ios()).sum();
    assert_eq!(sides, ios(&trace));
    let cells: u64 = study.streams_over_time.steps().values().flatten().map(|cell| cell.ios).sum();
    assert_eq!(cells, ios(&trace));
    let backup = Server::new(80, 500).filter(|e| e.bytes == 65_536 && e.op == IoOp::Read);
    let found = study.totals.streams.get(key("SEQ 64K R")).unwrap().ios;
    assert_eq!(found, backup.count() as u64 - 1);
    let shown = findings(&study, "test");
    let pages = shown.form_pages.iter().chain(&shown.chapters);
    let plots: Vec<&str> = pages
        .flat_map(|page| &page.exhibits)
        .filter_map(|exhibit| match exhibit {
            Exhibit::Plot(plot) => Some(plot.id.as_str()),
            _ => None,
        })
        .collect();
    for id in [
        "streams-v-segments",
        "iops-v-time",
        "response-v-time",
        "oio-v-time",
        "stream-map-frequency",
        "stream-map-amount",
        "process-map",
        "hits-0-read",
        "hits-1-write",
        "utilisation",
        "sequentiality",
        "operations",
        "sizes",
        "response-histogram",
        "sides-iops",
    ] {
        assert!(plots.contains(&id), "{id} of {plots:?}");
    }
    assert_eq!(shown.digest.len(), 64);
}

#[test]
fn a_trace_becomes_a_replay_representation_and_a_workload() {
    let trace = server(80);
    let options = StudyOptions { step_ns: Some(10 * SECOND), ..StudyOptions::default() };
    let derived = Derivation::of(&trace, &options, true).unwrap();
    let mut text = Vec::new();
    derived.replay_representation("shop").unwrap().write(&mut text).unwrap();
    let (read, warnings) = ReplayRepresentation::read(&text[..]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(read.steps.len(), 8);
    let workload = read.workload(By::Count, Threshold(0));
    // Flushes and discards count in the totals and have no line of their own.
    assert_eq!(workload.total_count, ios(&trace));
    for stream in &workload.streams {
        let direct =
            derived.totals.workload.streams.iter().find(|s| s.key() == stream.key()).unwrap();
        assert_eq!(stream.count, direct.count, "{}", stream.stream);
    }
}

#[test]
fn an_empty_selection_is_an_error_that_says_so() {
    let trace = server(8);
    let filter = Filter::default().between(Some(u64::MAX - 1), None);
    let options =
        StudyOptions { pass: Pass { filter, ..Pass::default() }, ..StudyOptions::default() };
    let error = Study::of(&trace, &options).err().unwrap().to_string();
    assert!(error.contains("filter"), "{error}");
}

#[test]
fn duckdb_reads_a_trace() {
    let tried = Program::new("python3").args(["-c", "import duckdb"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: duckdb_reads_a_trace: Python has no module duckdb");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("known.parquet");
    let mut events = known();
    events[0].response_ns = u64::MAX;
    events[0].depth = 0;
    events[1].command = Command::new("postgres");
    std::fs::write(&file, written(&events, synthetic::conditions(80))).unwrap();
    let script = format!(
        "import duckdb, json\n\
         f = '{}'\n\
         rows = duckdb.sql(f\"\"\"select count(*), sum(bytes), count(response_ns), count(depth), \
         max(\"offset\" + bytes), min(issued_ns), sum((command = 'postgres')::int) from '{{f}}'\"\"\")\n\
         print(json.dumps([int(v) for v in rows.fetchall()[0]]))\n\
         ops = duckdb.sql(f\"select op, count(*) from '{{f}}' group by op order by op\").fetchall()\n\
         print(json.dumps(ops))\n\
         keys = duckdb.sql(f\"select decode(key) from parquet_kv_metadata('{{f}}')\").fetchall()\n\
         print(json.dumps(sorted(k[0] for k in keys)))\n",
        file.display()
    );
    let output = Program::new("python3").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let bytes: u64 = events.iter().map(|event| u64::from(event.bytes)).sum();
    let end = events.iter().map(|event| event.offset + u64::from(event.bytes)).max().unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], format!("[10007, {bytes}, 10006, 10006, {end}, 0, 1]"));
    assert_eq!(lines[1], "[[0, 5404], [1, 4500], [3, 103]]");
    assert!(lines[2].contains("steadfast.conditions.start"), "{}", lines[2]);
}
