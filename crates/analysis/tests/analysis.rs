//! Traces of known composition: their streams, steps and reports; folds of parts against the fold
//! of the whole; and the files as other programs read them.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod damage;
mod foreign;
mod merging;
mod report;
mod scoped_threads;
mod steps_alone;
mod synthetic;
mod threads;

use std::io::Cursor;
use std::process::Command as Program;
use std::sync::Arc;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::pass::Checkpoint;
use steadfast_analysis::questions::compare::Sides;
use steadfast_analysis::questions::load_shape::{LoadShape, RunLengths};
use steadfast_analysis::questions::read_out::{ReadOut, ReadOutChoice, StreamPlace};
use steadfast_analysis::questions::steps::Steps;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_analysis::{
    Captured, Filter, PassOptions, StreamTable, Study, StudyOptions, findings,
};
use steadfast_domain::findings::Series;
use steadfast_domain::io_event::{CapturedDevice, CommandName};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_tracefile::parquet::Fields;
use steadfast_tracefile::{Trace, TraceWriter};
use synthetic::{SECOND, SyntheticServer, by_completion, key, known, opened, server, written};

fn streams(trace: &Trace, pass: &PassOptions) -> StreamTable {
    let mut table = StreamTable::new();
    pass.run(trace, &mut [&mut table]).unwrap();
    table
}

/// The tutorial's read-out at 1:01:59 (SNIA tutorial, RWSW part 2): SEQ 64K R 0.030 GiB at LBA
/// 92.1 %, SEQ 64K W 0.034 GiB at 78.5 %, both +/- 0.1 %; by its stream map 34.4 MB and 38.5 MB in
/// all, and 9.1 MB of others.
#[test]
fn the_hit_map_is_read_out_as_the_tutorial_prints_it() {
    const DEVICE: u64 = 256_000_000_000;
    let (from_ns, mut events) = (3719 * SECOND, Vec::new());
    let mut run = |op, begin: u64, ios: u64| {
        events.extend((0..ios).map(|n| (op, begin + n * 65_536, 65_536)));
    };
    // The first I/O of a run is random.
    run(IoOp::Read, DEVICE / 1000 * 921 + 4096, 493);
    run(IoOp::Read, DEVICE / 10, 34);
    run(IoOp::Write, DEVICE / 1000 * 785 + 8192, 558);
    run(IoOp::Write, DEVICE / 5, 31);
    events.extend((0..2158).map(|n| (IoOp::Write, n * 7919 % 2161 * 12_288, 4096)));
    let event = |(n, (op, offset, bytes)): (u64, (IoOp, u64, u32))| IoEvent {
        issued_ns: from_ns + n * 300_000,
        response_ns: 1000,
        op,
        offset,
        bytes,
        ..IoEvent::default()
    };
    let mut events: Vec<IoEvent> = (0..).zip(events).map(event).collect();
    // I/Os before and after it do not count.
    events.insert(0, event((0, (IoOp::Read, 0, 65_536))));
    events[0].issued_ns = from_ns - 1;
    events.push(IoEvent { issued_ns: from_ns + SECOND, ..events[0] });
    let devices = vec![CapturedDevice {
        capacity: Some(steadfast_domain::Bytes(DEVICE)),
        ..CapturedDevice::default()
    }];
    let conditions = CaptureConditions { devices, ..CaptureConditions::default() };
    let capture: Captured = opened(&events, conditions).into();
    let read_out = |threshold: &str| {
        let choice = ReadOutChoice {
            from_ns,
            to_ns: from_ns + SECOND,
            ranges: 1000,
            threshold: threshold.parse().unwrap(),
        };
        ReadOut::read(&capture, &PassOptions::default(), &choice).unwrap().found
    };
    let found = read_out("0%");
    assert_eq!((found.len(), found[0].range_bytes), (1, DEVICE / 1000));
    let rows: Vec<Vec<String>> = found[0]
        .streams
        .iter()
        .map(|place| StreamPlace::TABLE.iter().map(|column| column.text(place)).collect())
        .collect();
    let mb = |row: usize| found[0].streams[row].bytes as f64 / 1e6;
    let place = |row: usize| [rows[row][0].as_str(), &rows[row][2]];
    let gib = |row: usize| format!("{:.3}", rows[row][1].parse::<f64>().unwrap());
    assert_eq!((place(0), gib(0)), (["SEQ 64K W", "78.5 +/- 0.1"], "0.034".into()));
    assert_eq!((place(1), gib(1)), (["SEQ 64K R", "92.1 +/- 0.1"], "0.030".into()));
    assert_eq!([mb(0), mb(1)].map(|mb| format!("{mb:.1}")), ["38.5", "34.4"]);
    let others: f64 = (2..rows.len()).map(mb).sum();
    assert_eq!(format!("{others:.1}"), "9.1");
    let names: Vec<String> = read_out("10%")[0].streams.iter().map(|s| s.stream.clone()).collect();
    assert_eq!(names, ["SEQ 64K W", "SEQ 64K R", "RND 4K W", "others"]);
}

#[test]
fn a_known_composition_is_found_exactly() {
    let trace = opened(&known(), CaptureConditions::default());
    let table = streams(&trace, &PassOptions::default());
    let found = |name: &str| table.get(key(name)).map_or(0, |tally| tally.count());
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
    assert_eq!(
        (total.count(), total.times.responses.total.count, total.times.depths.mean()),
        (10_007, 10_007, Some(4.0))
    );
    let amount = 5003 * 4096 + 3001 * 131_072 + 1499 * 8192 + 401 * 512;
    assert_eq!(total.amount(), amount);
    assert_eq!(table.get(key("RND 8K W")).unwrap().alignment(), Some(65_536));
    let longest = known().iter().map(|event| event.response_ns).max().unwrap();
    assert_eq!(total.times.responses.total.max_ns, longest);
    let listing = table.listing(ShareMeasure::Bytes);
    assert_eq!(listing[0].key, key("SEQ 128K W"));
    assert!((listing[0].share - 3000.0 * 131_072.0 / amount as f64).abs() < 1e-12);
}

#[test]
fn a_filter_never_makes_a_sequential_io_random() {
    let trace = opened(&known(), CaptureConditions::default());
    let from = 40_000_000;
    let filter = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    let pass = PassOptions { filter: filter.within(&[(from, u64::MAX)]), ..PassOptions::default() };
    let table = streams(&trace, &pass);
    let expected = |kind: u32| {
        known()
            .iter()
            .filter(|e| e.bytes == kind && e.issued_ns >= from && e.op == IoOp::Write)
            .count()
    };
    assert_eq!(table.len(), 2);
    assert_eq!(table.get(key("SEQ 128K W")).unwrap().count(), expected(131_072) as u64);
    assert_eq!(table.get(key("RND 8K W")).unwrap().count(), expected(8192) as u64);
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
        let table = streams(&trace, &PassOptions { window, ..PassOptions::default() });
        table.get(key("SEQ 4K R")).map_or(0, |tally| tally.count())
    };
    assert_eq!((found(1), found(2), found(32)), (0, 998, 998));
}

/// Returns a trace in row groups of `rows` I/Os.
fn in_groups(events: &[IoEvent], rows: usize) -> Trace {
    let conditions = CaptureConditions::default();
    let mut writer = TraceWriter::new(Vec::new(), &conditions).unwrap().with_rows_per_group(rows);
    writer.write(events).unwrap();
    Trace::open(Cursor::new(writer.finish(conditions).unwrap())).unwrap()
}

fn checkpoints(trace: &Trace, fields: Fields) -> Vec<Checkpoint> {
    let every = PassOptions { checkpoint_every: Some(1), ..PassOptions::default() };
    let mut batches = every.read(trace, fields);
    let mut checkpoints = Vec::new();
    while let Some(rows) = batches.next_batch().unwrap() {
        checkpoints.extend(rows.checkpoint.cloned());
    }
    checkpoints
}

fn write(issued_ns: u64, response_ns: u64, device: u16) -> IoEvent {
    IoEvent { issued_ns, response_ns, device, bytes: 4096, op: IoOp::Write, ..IoEvent::default() }
}

#[test]
fn steps_hold_the_ios_issued_in_them() {
    // The first two I/Os overlap. The second lasts into steps 1 and 2.
    let events = [
        write(100_000, 200_000, 0),
        write(200_000, 2_000_000, 0),
        write(1_500_000, u64::MAX, 0),
        write(4_000_000, 100_000, 1),
    ];
    let trace = opened(&events, CaptureConditions::default());
    let mut steps = Steps::new(1_000_000);
    PassOptions::default().run(&trace, &mut [&mut steps]).unwrap();
    let steps = steps.finish().unwrap();
    let ios: Vec<(u64, u64, u64)> =
        steps.iter().map(|(at, step)| (*at, step.ios(), step.busy_ns)).collect();
    assert_eq!(ios, [(0, 2, 900_000), (1, 1, 1_000_000), (2, 0, 200_000), (4, 1, 100_000)]);
    assert_eq!(steps[&0].times.response_max().unwrap().0, 2_000_000);
    assert_eq!(steps[&0].times.depths.mean(), Some(1.5));
    assert_eq!(steps[&1].times.response_mean(), None);
}

/// Two drives: one is busy when the window begins, with an I/O issued before it, and the other with
/// one that lasts beyond its end.
#[test]
fn busy_time_of_a_window_counts_ios_that_were_issued_before_it() {
    let events = [
        write(100_000, 1_450_000, 0),
        write(200_000, 2_000_000, 0),
        write(300_000, u64::MAX, 1),
        write(1_500_000, 600_000, 0),
        write(1_900_000, 1_007_000_000, 1),
        write(2_600_000, 100_000, 0),
        write(9_000_000, 100_000, 0),
    ];
    let trace = in_groups(&events, 2);
    let captured: Captured = in_groups(&events, 2).into();
    let busy = |pass: &PassOptions| -> Vec<(u64, u64, u64)> {
        let mut steps = Steps::new(1_000_000);
        pass.run(&trace, &mut [&mut steps]).unwrap();
        let steps = steps.finish().unwrap();
        let mut sides = Sides::new(1_000_000, u64::MAX);
        pass.run(&trace, &mut [&mut sides]).unwrap();
        let of_sides = sides.finish().unwrap().sides;
        for (at, step) in &steps {
            let found = of_sides.iter().filter_map(|side| side.steps.get(at));
            assert_eq!(found.map(|step| step.busy_ns).sum::<u64>(), step.busy_ns);
        }
        steps.iter().map(|(at, step)| (*at, step.ios(), step.busy_ns)).collect()
    };
    let within = |spans: &[(u64, u64)], filter: Filter| PassOptions {
        filter: filter.within(spans),
        ..PassOptions::default()
    };
    let window = (1_600_000, 2_700_000);
    let pass = within(&[window], Filter::default());
    // Drive 0 until 2.2 ms and from 2.6 ms on, drive 1 from 1.9 ms on.
    assert_eq!(busy(&pass), [(1, 1, 400_000 + 100_000), (2, 1, 300_000 + 700_000)]);
    // No other I/O of drive 0 is issued in this window; it is busy all the same.
    let one = within(&[(1_600_000, 2_000_000)], Filter::default());
    assert_eq!(busy(&one), [(1, 1, 400_000 + 100_000)]);
    let found = captured.steps(&one, Some(1_000_000)).unwrap().found;
    assert_eq!(found.devices, Some(2));
    // Two spans: what lies between them counts in neither.
    let two = within(&[(1_600_000, 1_700_000), (2_000_000, 2_300_000)], Filter::default());
    assert_eq!(busy(&two), [(1, 0, 100_000), (2, 0, 200_000 + 300_000)]);
    let device = Filter { devices: vec![0], ..Filter::default() };
    assert_eq!(busy(&within(&[window], device)), [(1, 0, 400_000), (2, 1, 300_000)]);
    // A filter that hides some I/Os of a drive leaves no busy time.
    let writes = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    assert_eq!(busy(&within(&[window], writes)), [(1, 1, 0), (2, 1, 0)]);
    // A pass from any checkpoint before the window finds the same.
    let mut checkpoints = checkpoints(&trace, Fields::BUSY);
    checkpoints.retain(|checkpoint| checkpoint.at_ns <= window.0);
    assert!(!checkpoints.is_empty());
    for checkpoint in checkpoints {
        let start = Some(Arc::new(checkpoint));
        assert_eq!(busy(&PassOptions { start, ..pass.clone() }), busy(&pass));
    }
}

#[test]
fn an_endless_io_is_refused_before_it_exhausts_memory() {
    let events = [
        IoEvent { issued_ns: 0, response_ns: u64::MAX - 10, ..IoEvent::default() },
        IoEvent { issued_ns: u64::MAX - 20, response_ns: 9, ..IoEvent::default() },
    ];
    let trace = opened(&events, CaptureConditions::default());
    let mut steps = Steps::new(100_000);
    PassOptions::default().run(&trace, &mut [&mut steps]).unwrap();
    let error = steps.finish().unwrap_err().to_string();
    assert!(error.contains("wider"), "{error}");
    let study = Study::read(&trace.into(), &StudyOptions::default()).unwrap();
    assert!(study.steps.len() < 300, "{} steps", study.steps.len());
}

#[test]
fn marks_select_spans_and_unknown_names_are_refused() {
    let conditions = synthetic::conditions(80);
    let filter = Filter::default().with_event("backup", &conditions).unwrap();
    assert_eq!(filter.spans_ns, [(40 * SECOND, 50 * SECOND)]);
    let error = Filter::default().with_event("lunch", &conditions).unwrap_err().to_string();
    assert!(error.contains("opening, backup"), "{error}");
    assert_eq!(Filter::default().with_device("sda", &conditions).unwrap().devices, [1]);
    assert!(Filter::default().with_device("sdz", &conditions).is_err());
}

#[test]
fn a_study_has_every_plot_and_counts_every_io() {
    let trace = server(80);
    let ios = trace.run(&PassOptions::default(), &mut []).unwrap().events;
    let study = Study::read(&trace, &StudyOptions::default()).unwrap();
    let in_steps: u64 = study.steps.values().map(|step| step.ios()).sum();
    let sides = study.sides.iter().flat_map(|side| side.steps.values());
    let in_sides: u64 = sides.map(|step| step.ios()).sum();
    let cells = study.streams_over_time.steps().values().flatten();
    assert_eq!([in_steps, in_sides, cells.map(|cell| cell.ios).sum()], [ios; 3]);
    let backup = SyntheticServer::new(80, 500).filter(|e| e.bytes == 65_536 && e.op == IoOp::Read);
    let found = study.totals.streams.get(key("SEQ 64K R")).unwrap().count();
    assert_eq!(found, backup.count() as u64 - 1);
    let shown = findings(&study, "test");
    // No step has the I/Os for a 99th percentile.
    let response = shown.plot("response-v-time").unwrap();
    let has_value = |one: &Series| one.points.iter().any(|(_, value)| value.is_some());
    assert!(response.series.len() >= 2 && response.series.iter().all(has_value));
    assert!(!response.caption.is_empty());
    for id in [
        "streams-v-segments", "iops-v-time", "response-v-time", "oio-v-time",
        "stream-map-frequency", "stream-map-amount", "process-map", "hits-0-read", "hits-1-write",
        "utilisation", "sequentiality", "operations", "sizes", "response-histogram", "sides-iops",
    ] {
        assert!(shown.plot(id).is_some(), "{id}");
    }
    assert_eq!(shown.digest.len(), 64);
}

#[test]
fn the_error_for_an_empty_selection_names_the_filter() {
    let trace = server(8);
    let filter = Filter::default().within(&[(u64::MAX - 1, u64::MAX)]);
    let options = StudyOptions {
        pass: PassOptions { filter, ..PassOptions::default() },
        ..StudyOptions::default()
    };
    let error = Study::read(&trace, &options).err().unwrap().to_string();
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
    events[1].command = CommandName::new("postgres");
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
    let output = String::from_utf8(output.stdout).unwrap();
    let bytes: u64 = events.iter().map(|event| u64::from(event.bytes)).sum();
    let end = events.iter().map(|event| event.offset + u64::from(event.bytes)).max().unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], format!("[10007, {bytes}, 10006, 10006, {end}, 0, 1]"));
    assert_eq!(lines[1], "[[0, 5404], [1, 4500], [3, 103]]");
    assert!(lines[2].contains("steadfast.conditions.start"), "{}", lines[2]);
}

/// Returns an I/O of a sequential run; I/O number n is issued at n microseconds.
fn in_run(number: u64) -> IoEvent {
    IoEvent {
        issued_ns: number * 1000,
        response_ns: 100,
        offset: number * 4096,
        bytes: 4096,
        ..IoEvent::default()
    }
}

/// Returns a run of six I/Os that processes 1 and 2 issue in turn, after the random I/O that it
/// continues.
fn shared_run() -> Captured {
    let event = |number: u64| IoEvent { pid: 2 - (number % 2) as u32, ..in_run(number) };
    let events: Vec<IoEvent> = (0..7).map(event).collect();
    opened(&events, CaptureConditions::default()).into()
}

fn runs_of(captured: &Captured, pass: &PassOptions) -> RunLengths {
    let mut shape = LoadShape::new(SECOND, &[]);
    captured.run(pass, &mut [&mut shape]).unwrap();
    *shape.runs(IoOp::Read).unwrap()
}

#[test]
fn runs_have_the_length_of_their_selected_ios() {
    let captured = shared_run();
    let figures = |pass: &PassOptions| {
        let runs = runs_of(&captured, pass);
        (runs.classes()[..4].to_vec(), runs.count(), runs.ios, runs.longest)
    };
    let with_filter = |filter| PassOptions { filter, ..PassOptions::default() };
    assert_eq!(figures(&PassOptions::default()), (vec![0, 0, 1, 0], 1, 6, 6));
    // Positions 1, 3 and 5 belong to process 1, positions 2, 4 and 6 to process 2.
    for pid in [1, 2] {
        let process = Some(ProcessSelector::Pid(pid));
        let selected = Filter { process, ..Filter::default() };
        assert_eq!(figures(&with_filter(selected)), (vec![0, 1, 0, 0], 1, 3, 3), "{pid}");
    }
    // The last four I/Os of the run, and the first two.
    let late = Filter::default().within(&[(3000, u64::MAX)]);
    assert_eq!(figures(&with_filter(late)), (vec![0, 0, 1, 0], 1, 4, 4));
    let early = Filter::default().within(&[(0, 3000)]);
    assert_eq!(figures(&with_filter(early)), (vec![0, 1, 0, 0], 1, 2, 2));
}

#[test]
fn a_run_counts_from_the_checkpoint_at_which_a_pass_begins() {
    let events: Vec<IoEvent> = (0..8).map(in_run).collect();
    let last = checkpoints(&in_groups(&events, 4), Fields::NEIGHBORS).pop().unwrap();
    let left = 8 - last.at_ns / 1000;
    assert!((1..8).contains(&left), "{left}");
    let resumed = PassOptions { start: Some(Arc::new(last)), ..PassOptions::default() };
    let captured = in_groups(&events, 4).into();
    let runs = runs_of(&captured, &resumed);
    assert_eq!((runs.count(), runs.ios, u64::from(runs.longest)), (1, left, left));
}
