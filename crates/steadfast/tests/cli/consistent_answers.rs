//! A question about a trace has one answer: in the terminal, as JSON, in the report and in the
//! explorer.

use super::explore::Explorer;
use super::fixtures::{TestDirectory, array, read_json, succeed, succeed_json};
use super::synthetic_captures::{SECOND, SeededRandom, two_drives, write_trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use steadfast_analysis::annotate::sequential::Sequencer;
use steadfast_domain::io_event::{
    CommandName, DeviceBusyStep, RESPONSE_UNKNOWN, StreamInStep, flags,
};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp, Layer};
use steadfast_tracefile::StepWriter;
use steadfast_tracefile::batch::Batch;

const IOS: u64 = 10_007;
const HOUR: u64 = 3600 * SECOND;
/// Number of the I/O that lasts for hours.
const LONG_IO: u64 = 3_001;
const LASTED_NS: u64 = 50 * HOUR;

fn conditions() -> CaptureConditions {
    CaptureConditions { threads: true, ..two_drives(LASTED_NS) }
}

/// 10,007 I/Os over 50 hours: bursts and pauses, runs that continue, all operations, four
/// processes, two drives of which one is idle for hours; some responses last over several steps,
/// some were never seen.
fn ios() -> Vec<IoEvent> {
    let mut random = SeededRandom(29);
    let (mut now_ns, mut next) = (0, [0u64; 2]);
    let mut one = |number: u64| {
        let mut draw = |below: u64| random.below(below);
        now_ns += if draw(50) == 0 { draw(1_700) * SECOND } else { draw(4_000_003) };
        // The slow drive is asked in the first and the last thousands only.
        let is_slow = !(LONG_IO + 1..7_001).contains(&number) && draw(3) == 0;
        let device = u16::from(is_slow || number == LONG_IO);
        let op = match draw(20) {
            _ if number == LONG_IO => IoOp::Write,
            0 => IoOp::Flush,
            1 => IoOp::Discard,
            2 => IoOp::Other,
            n if n % 3 == 0 => IoOp::Write,
            _ => IoOp::Read,
        };
        let bytes = [4096, 4096, 65_536][draw(3) as usize];
        let offset = if draw(3) == 0 {
            next[usize::from(device)]
        } else {
            draw(1 << 20) * 8192 + u64::from(device) * 4096
        };
        next[usize::from(device)] = offset + bytes;
        let has_address = op != IoOp::Flush;
        let response_ns = match draw(101) {
            // The slow drive has one I/O outstanding while it is asked for nothing else.
            _ if number == LONG_IO => 20_011 * SECOND,
            0 => draw(300) * SECOND,
            1 => RESPONSE_UNKNOWN,
            _ => 50_000 + draw(900_000),
        };
        let (pid, tid, name) =
            [(100, 100, "mysqld"), (101, 103, "mysqld"), (200, 200, "backup"), (0, 0, "")]
                [draw(4) as usize];
        IoEvent {
            issued_ns: now_ns,
            response_ns: if op == IoOp::Other { RESPONSE_UNKNOWN } else { response_ns },
            queued_ns: draw(3) * 40_000,
            offset: if has_address { offset } else { 0 },
            bytes: if has_address { bytes as u32 } else { 0 },
            depth: 1 + draw(9) as u32,
            pid,
            tid,
            flags: [0, flags::SYNC, flags::FUA, flags::META][draw(4) as usize],
            device,
            op,
            command: CommandName::new(name),
            ..IoEvent::default()
        }
    };
    (0..IOS).map(&mut one).collect()
}

/// A column of a table: its field in JSON, the value of a unit as tables print it, and its headings in
/// the terminal and in the report, empty where it has none.
struct ComparedColumn {
    field: &'static str,
    unit: f64,
    text: &'static str,
    report: &'static str,
}

const fn column(
    field: &'static str,
    unit: f64,
    text: &'static str,
    report: &'static str,
) -> ComparedColumn {
    ComparedColumn { field, unit, text, report }
}

const ONE: f64 = 1.0;
const PERCENT: f64 = 0.01;
const MILLI: f64 = 1e6;
const MEGA: f64 = 1e6;

/// A question, and where its rows stand in each of the places that answer it.
struct ComparedQuestion {
    /// Arguments of `steadfast trace`, in front of the file.
    command: &'static str,
    /// Path of the rows in JSON.
    rows: &'static str,
    /// ID of the table in the report.
    table: &'static str,
    /// Question and rows of the explorer; empty if it has none.
    explorer: (&'static str, &'static str),
    columns: &'static [ComparedColumn],
}

const STREAMS: ComparedQuestion = ComparedQuestion {
    command: "trace streams",
    rows: "/streams",
    table: "streams",
    explorer: ("streams", "/streams"),
    columns: &[
        column("/stream", ONE, "I/O stream", ""),
        column("/op", ONE, "", "op"),
        column("/order", ONE, "", "order"),
        column("/bytes", ONE, "", "bytes"),
        column("/count", ONE, "I/Os", "count"),
        column("/share_of_count", PERCENT, "%", "% of count"),
        column("/amount", MEGA, "MB", ""),
        column("/amount", ONE, "", "amount"),
        column("/share_of_bytes", PERCENT, "% of MB", "% of amount"),
        column("/qd_mean", ONE, "QD avg", "QD avg"),
        column("/qd_max", ONE, "QD max", "QD max"),
        column("/response/mean_ns", MILLI, "ART ms", "ART ms"),
        column("/response/p99_ns", MILLI, "99% ms", "99% ms"),
        column("/response/p99_9_ns", MILLI, "99.9% ms", ""),
        column("/response/p99_999_ns", MILLI, "", "99.999% ms"),
        column("/response/max_ns", MILLI, "MRT ms", "MRT ms"),
        column("/queued/mean_ns", MILLI, "queue ms", "queue ms"),
        column("/queue_share", PERCENT, "queue %", "queue %"),
    ],
};

const PROCESSES: ComparedQuestion = ComparedQuestion {
    command: "trace processes",
    rows: "/processes",
    table: "processes-all",
    explorer: ("processes", "/processes"),
    columns: &[
        column("/process", ONE, "Process", ""),
        column("/count", ONE, "I/Os", "I/Os"),
        column("/share", PERCENT, "%", "% of all"),
        column("/reads", ONE, "reads", "Reads"),
        column("/writes", ONE, "writes", "Writes"),
        column("/sequential", ONE, "SEQ", ""),
        column("/amount", MEGA, "MB", "MB"),
        column("/response_mean_ns", MILLI, "ART ms", "ART ms"),
        column("/response_max_ns", MILLI, "MRT ms", "MRT ms"),
        column("/queue_mean_ns", MILLI, "queue ms", "queue ms"),
        column("/queue_share", PERCENT, "queue %", "queue %"),
    ],
};

const DRIVES: ComparedQuestion = ComparedQuestion {
    command: "trace drives",
    rows: "/drives",
    table: "drives",
    explorer: ("", ""),
    columns: &[
        column("/drive", ONE, "Drive", ""),
        column("/model", ONE, "Model", "Model"),
        column("/capacity", MEGA, "Capacity MB", "Capacity MB"),
        column("/count", ONE, "I/Os", "I/Os"),
        column("/processes", ONE, "Processes", "Processes"),
        column("/read", MEGA, "MB read", "MB read"),
        column("/written", MEGA, "MB written", "MB written"),
        column("/total", MEGA, "MB", "MB"),
    ],
};

const STEPS: ComparedQuestion = ComparedQuestion {
    command: "trace steps",
    rows: "/steps",
    table: "steps",
    explorer: ("steps", "/steps"),
    columns: &[
        column("/iops", ONE, "IOPS", "IOPS"),
        column("/bytes_per_second", MEGA, "MB/s", "MB/s"),
        column("/reads", ONE, "reads", "reads"),
        column("/writes", ONE, "writes", "writes"),
        column("/discards", ONE, "", "discards"),
        column("/flushes", ONE, "", "flushes"),
        column("/sequential_share", PERCENT, "SEQ %", "SEQ %"),
        column("/response_mean_ns", MILLI, "ART ms", "ART ms"),
        column("/response_p99_ns", MILLI, "99% ms", "99% ms"),
        column("/response_max_ns", MILLI, "MRT ms", "MRT ms"),
        column("/qd_mean", ONE, "QD avg", "QD avg"),
        column("/qd_max", ONE, "QD max", "QD max"),
        column("/utilisation", PERCENT, "busy %", "busy %"),
        column("/queue_mean_ns", MILLI, "queue ms", "queue ms"),
        column("/queue_share", PERCENT, "queue %", "queue %"),
        column("/threads", ONE, "threads", "threads"),
        column("/qd_per_thread", ONE, "QD/thread", "QD/thread"),
    ],
};

const PROFILE: ComparedQuestion = ComparedQuestion {
    command: "trace profile",
    rows: "/intervals",
    table: "day-profile",
    explorer: ("", ""),
    columns: &[
        column("/time", ONE, "Time", ""),
        column("/days", ONE, "days", "days"),
        column("/observed_ns", 1e9, "seconds", "seconds"),
        column("/count", ONE, "I/Os", "I/Os"),
        column("/iops", ONE, "IOPS", "IOPS"),
        column("/iops_least", ONE, "least", "least"),
        column("/iops_most", ONE, "most", "most"),
        column("/bytes_per_second", MEGA, "MB/s", "MB/s"),
        column("/read_share", PERCENT, "reads %", "reads %"),
        column("/response_mean_ns", MILLI, "ART ms", "ART ms"),
        column("/response_max_ns", MILLI, "MRT ms", "MRT ms"),
    ],
};

const THREADS: ComparedQuestion = ComparedQuestion {
    command: "trace groups --by thread",
    rows: "/groups",
    table: "threads",
    explorer: ("groups?by=thread", "/groups"),
    columns: &[
        column("/process", ONE, "Process", ""),
        column("/tid", ONE, "Thread", ""),
        column("/count", ONE, "I/Os", "I/Os"),
        column("/share_of_count", PERCENT, "%", "%"),
        column("/reads", ONE, "reads", ""),
        column("/writes", ONE, "writes", ""),
        column("/sequential", ONE, "SEQ", ""),
        column("/read_bytes", MEGA, "MB read", "MB read"),
        column("/written_bytes", MEGA, "MB written", "MB written"),
        column("/share_of_bytes", PERCENT, "% of MB", ""),
        column("/qd_mean", ONE, "QD avg", "QD avg"),
        column("/qd_max", ONE, "QD max", ""),
        column("/response/mean_ns", MILLI, "ART ms", "ART ms"),
        column("/response/max_ns", MILLI, "MRT ms", "MRT ms"),
    ],
};

const WORKLOAD: ComparedQuestion = ComparedQuestion {
    command: "workload derive",
    rows: "/workload/streams",
    table: "cumulative-workload",
    explorer: ("cumulative", "/workload/streams"),
    columns: &[
        column("/stream", ONE, "I/O stream", ""),
        column("/count", ONE, "I/Os", "I/Os"),
        column("/share", PERCENT, "% of all", "% of all"),
        column("/normalized", PERCENT, "normalized %", "Normalized %"),
        column("/amount", MEGA, "", "MB"),
        column("/qd_mean", ONE, "QD avg", "QD avg"),
    ],
};

const HOT: ComparedQuestion = ComparedQuestion {
    command: "trace hot --device sda",
    rows: "/devices/0/hottest",
    table: "hot-1",
    explorer: ("", ""),
    columns: &[
        column("/range", ONE, "Range", ""),
        column("/from_bytes", MEGA, "from MB", ""),
        column("/to_bytes", MEGA, "to MB", ""),
        column("/count", ONE, "hits", "hits"),
        column("/share", PERCENT, "%", "%"),
        column("/reads", ONE, "reads", "reads"),
        column("/writes", ONE, "writes", "writes"),
        column("/amount", MEGA, "MB", "MB"),
    ],
};

const QUESTIONS: [&ComparedQuestion; 8] =
    [&STREAMS, &PROCESSES, &DRIVES, &STEPS, &PROFILE, &THREADS, &WORKLOAD, &HOT];

impl ComparedQuestion {
    fn is_steps(&self) -> bool {
        self.table == STEPS.table
    }

    /// The command line for a file; the steps have this width.
    fn line(&self, file: &str, step: &str, options: &str) -> String {
        let step = if self.is_steps() { format!("--step {step}") } else { String::new() };
        format!("{} {file} {step} {options}", self.command)
    }

    /// The rows of `--json`.
    fn json(&self, here: &Path, file: &str, step: &str, options: &str) -> Vec<Value> {
        let line = self.line(file, step, options);
        let answer = succeed_json(here, &format!("{line} --json"));
        array(answer.pointer(self.rows).unwrap_or_else(|| panic!("{}: {answer}", self.table)))
            .clone()
    }

    /// Compares the table of the terminal with the rows.
    fn check_text(&self, text: &str, rows: &[Value], what: &str) {
        let split = |line: &str| -> Vec<String> {
            let parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let shown: Vec<&ComparedColumn> =
            self.columns.iter().filter(|one| !one.text.is_empty()).collect();
        let is_head = |line: &&str| {
            let heads = split(line);
            shown.iter().all(|column| heads.iter().any(|head| head == column.text))
        };
        let mut lines = text.lines().skip_while(|line| !is_head(line));
        let heads = split(lines.next().unwrap_or_else(|| panic!("{what}: no table\n{text}")));
        for (number, row) in rows.iter().enumerate() {
            let cells = split(lines.next().unwrap_or_else(|| panic!("{what}: row {number}")));
            assert_eq!(cells.len(), heads.len(), "{what}: {heads:?} {cells:?}");
            for column in &shown {
                let at = heads.iter().position(|head| head == column.text).unwrap();
                let place = format!("{what}, row {number}, {}", column.text);
                check_cell(&cells[at], row.pointer(column.field).unwrap(), column, &place);
            }
        }
    }

    /// Compares the table of the report with the rows.
    fn check_report(&self, findings: &Value, rows: &[Value], what: &str) {
        let table = table_of(findings, self.table);
        let table = table.unwrap_or_else(|| panic!("{what}: no table {}", self.table));
        let heads: Vec<&str> =
            array(&table["columns"]).iter().map(|one| one["name"].as_str().unwrap()).collect();
        let known = |row: &&Value| !["others", "selected"].map(Value::from).contains(&row["id"]);
        let found: Vec<&Value> = array(&table["rows"]).iter().filter(known).collect();
        assert_eq!(found.len(), rows.len(), "{what}: rows of the report");
        for (number, (ours, row)) in found.into_iter().zip(rows).enumerate() {
            for column in self.columns.iter().filter(|one| !one.report.is_empty()) {
                let at = heads.iter().position(|head| *head == column.report);
                let place = format!("{what}, row {number} of the report, {}", column.report);
                let at = at.unwrap_or_else(|| panic!("{place}: {heads:?}"));
                let cell = &ours["cells"][at];
                let value = row.pointer(column.field).unwrap();
                match value {
                    Value::Null => assert_eq!(cell, "missing", "{place}"),
                    Value::String(text) => assert_eq!(cell["text"], text.as_str(), "{place}"),
                    _ => {
                        let number = cell["number"]["value"].as_f64();
                        assert_eq!(number, Some(column.scaled(value)), "{place}");
                    }
                }
            }
        }
    }
}

impl ComparedColumn {
    /// The value of JSON in the unit of the tables.
    fn scaled(&self, value: &Value) -> f64 {
        let value = value.as_f64().unwrap_or_else(|| panic!("{}: {value}", self.field));
        if self.unit < ONE { value * 100.0 } else { value / self.unit }
    }
}

/// Compares a cell of the terminal with the value of JSON, to the digits shown.
#[track_caller]
fn check_cell(cell: &str, value: &Value, column: &ComparedColumn, place: &str) {
    match value {
        Value::Null => assert_eq!(cell, "\u{2013}", "{place}"),
        Value::String(text) => assert_eq!(cell, text, "{place}"),
        _ => {
            let decimals = cell.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert_eq!(cell, format!("{:.decimals$}", column.scaled(value)), "{place}");
        }
    }
}

/// The table of a report with this ID.
fn table_of<'f>(findings: &'f Value, id: &str) -> Option<&'f Value> {
    match findings {
        Value::Object(fields) if fields.contains_key("columns") && findings["id"] == id => {
            Some(findings)
        }
        Value::Object(fields) => fields.values().find_map(|value| table_of(value, id)),
        Value::Array(values) => values.iter().find_map(|value| table_of(value, id)),
        _ => None,
    }
}

/// Times in which a device had an I/O outstanding, without overlap: the rule of docs/trace.md,
/// computed a second time.
fn busy_spans(ios: &[IoEvent], device: u16) -> Vec<Range<u64>> {
    let mut spans: Vec<Range<u64>> = ios
        .iter()
        .filter(|io| io.device == device && io.response_ns != RESPONSE_UNKNOWN)
        .map(|io| io.issued_ns..io.issued_ns + io.response_ns)
        .collect();
    spans.sort_unstable_by_key(|span| span.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// Returns how long a device was busy in a time.
fn busy_within(spans: &[Range<u64>], time: &Range<u64>) -> u64 {
    let overlap =
        |span: &Range<u64>| span.end.min(time.end).saturating_sub(span.start.max(time.start));
    spans.iter().map(overlap).sum()
}

/// Compares the utilization of steps with the I/Os themselves.
fn check_utilization(
    ios: &[IoEvent],
    devices: &[u16],
    time: &Range<u64>,
    step_ns: u64,
    steps: &[Value],
) {
    let inside = |io: &&IoEvent| devices.contains(&io.device) && time.contains(&io.issued_ns);
    let last_ns = ios.iter().filter(inside).map(|io| io.issued_ns).max().unwrap();
    let mut busy = Vec::new();
    let mut used_devices = 0u32;
    for device in devices {
        let spans = busy_spans(ios, *device);
        let is_issued = ios.iter().filter(inside).any(|io| io.device == *device);
        if is_issued || busy_within(&spans, time) > 0 {
            used_devices += 1;
        }
        busy.push(spans);
    }
    let mut expected = BTreeMap::new();
    for number in time.start / step_ns..=last_ns / step_ns {
        let step = number * step_ns..(number + 1) * step_ns;
        let observed = step.start.max(time.start)..step.end.min(time.end).min(LASTED_NS);
        let busy_ns: u64 = busy.iter().map(|spans| busy_within(spans, &observed)).sum();
        let is_issued = ios.iter().filter(inside).any(|io| step.contains(&io.issued_ns));
        if busy_ns > 0 || is_issued {
            let observed_ns = (observed.end - observed.start) as f64;
            expected.insert(step.start, busy_ns as f64 / observed_ns / f64::from(used_devices));
        }
    }
    let begins: Vec<u64> = steps.iter().map(|step| step["begin_ns"].as_u64().unwrap()).collect();
    assert_eq!(begins, expected.keys().copied().collect::<Vec<_>>(), "{time:?}");
    for step in steps {
        let share = expected[&step["begin_ns"].as_u64().unwrap()];
        let utilization = step["utilisation"].as_f64().unwrap();
        assert!((utilization - share).abs() < 1e-12, "{time:?}: {step}, counted {share}");
    }
}

/// Fields of a step that the explorer and fold files do not know.
fn without_threads(rows: &[Value]) -> Vec<Value> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        let fields = row.as_object_mut().unwrap();
        fields.remove("threads");
        fields.remove("qd_per_thread");
    }
    rows
}

/// Compares the series of the explorer with the steps of the same width.
fn check_series(series: &Value, steps: &[Value]) {
    let (from, width_ns) = (&series["from"], &series["width_ns"]);
    let (from, width_ns) = (from.as_u64().unwrap(), width_ns.as_u64().unwrap());
    let mut ios = 0;
    for step in steps {
        let at = ((step["begin_ns"].as_u64().unwrap() - from) / width_ns) as usize;
        ios += step["count"].as_u64().unwrap();
        let pairs = [
            (&series["ios"][0], "count"),
            (&series["bytes"][0], "amount"),
            (&series["rt_mean_ns"], "response_mean_ns"),
            (&series["rt_p99"], "response_p99_ns"),
            (&series["rt_max"], "response_max_ns"),
            (&series["qd_mean"], "qd_mean"),
            (&series["qd_max"], "qd_max"),
            (&series["busy"], "utilisation"),
        ];
        for (column, field) in pairs {
            assert_eq!(column[at], step[field], "{field} of {step}");
        }
    }
    let all = array(&series["ios"][0]).iter().map(|count| count.as_u64().unwrap());
    assert_eq!(all.sum::<u64>(), ios);
}

/// Each figure that two places show is one number: for all of a capture, and for windows at whose
/// beginning I/Os are in flight, on a drive that has no others.
#[test]
fn terminal_json_report_and_explorer_print_one_number() {
    let here = &TestDirectory::new();
    let ios = ios();
    write_trace(here.join("t.parquet"), conditions(), &ios);
    let explorer = Explorer::ready(here, &["t.parquet"]);
    let cell_ns = explorer.json("api/meta")["items"][0]["cell_ns"].as_u64().unwrap();
    let in_cells = |ns: u64| ns / cell_ns * cell_ns;
    let long_ns = ios[LONG_IO as usize].issued_ns;
    let alone = (in_cells(long_ns + 600 * SECOND), in_cells(long_ns + 20_000 * SECOND));
    let windows = [
        None,
        // Answered by the index, and from the I/Os.
        Some(alone),
        Some((alone.0, in_cells(alone.0 + 3_000 * SECOND))),
        Some((in_cells(long_ns + 15_000 * SECOND), in_cells(long_ns + 40_000 * SECOND))),
    ];
    for (number, window) in windows.into_iter().enumerate() {
        let (options, query) = match window {
            Some((from, to)) => {
                (format!("--from {from}ns --to {to}ns"), format!("&from={from}&to={to}"))
            }
            None => (String::new(), String::new()),
        };
        let shown = explorer.json(&format!("api/steps?cells=60{query}"));
        let step_ns = shown["step_ns"].as_u64().unwrap();
        let step = format!("{step_ns}ns");
        let directory = format!("r{number}");
        let report = format!("trace report t.parquet --step {step} -o {directory} --format json");
        succeed(here, &format!("{report} {options}"));
        let findings: Value = read_json(here.join(&directory).join("findings.json"));
        for question in QUESTIONS {
            let what = format!("{} of {window:?}", question.table);
            // Only the whole capture is long enough for a profile; one drive is not hot throughout.
            if window.is_some() && [PROFILE.table, HOT.table].contains(&question.table) {
                continue;
            }
            let rows = question.json(here, "t.parquet", &step, &options);
            assert!(rows.len() > 1, "{what}");
            let line = question.line("t.parquet", &step, &options);
            question.check_text(&succeed(here, &line), &rows, &what);
            question.check_report(&findings, &rows, &what);
            let (asked, place) = question.explorer;
            if !asked.is_empty() {
                let mark = if asked.contains('?') { "&" } else { "?" };
                let answer = explorer.json(&format!("api/{asked}{mark}cells=60{query}"));
                let ours = array(answer.pointer(place).unwrap());
                assert_eq!(without_threads(ours), without_threads(&rows), "{what}");
            }
            if question.is_steps() {
                let (from, to) = window.unwrap_or((0, LASTED_NS));
                check_utilization(&ios, &[0, 1], &(from..to), step_ns, &rows);
                let series = explorer.json(&format!("api/series?cells=60{query}"));
                assert_eq!(series["width_ns"], step_ns);
                check_series(&series, &rows);
            }
        }
        // One drive alone has its own utilization; a part of its I/Os has none.
        let (from, to) = window.unwrap_or((0, LASTED_NS));
        let of_drive = format!("{options} --device nvme0n1");
        let rows = STEPS.json(here, "t.parquet", "1h", &of_drive);
        check_utilization(&ios, &[0], &(from..to), HOUR, &rows);
        let of_writes = format!("{options} --op write");
        let shown = explorer.json(&format!("api/steps?cells=60&op=write{query}"));
        let step = format!("{}ns", shown["step_ns"]);
        let rows = STEPS.json(here, "t.parquet", &step, &of_writes);
        assert_eq!(without_threads(array(&shown["steps"])), without_threads(&rows));
        assert!(rows.iter().all(|row| row["utilisation"].is_null() && row["count"] != 0));
    }
    let rows = STEPS.json(here, "t.parquet", "10min", "--from 02:00 --to 02:30");
    let begins: Vec<u64> = rows.iter().map(|row| row["begin_ns"].as_u64().unwrap()).collect();
    assert!(
        begins.iter().all(|begin| (3 * HOUR..3 * HOUR + HOUR / 2).contains(&(begin % (24 * HOUR))))
    );
}

/// A fold of the I/Os, and what a capture of steps keeps of them, have the same numbers.
#[test]
fn folds_and_steps_have_the_numbers_of_the_ios() {
    let here = &TestDirectory::new();
    let ios = ios();
    write_trace(here.join("t.parquet"), conditions(), &ios);
    succeed(here, "trace fold t.parquet --step 1h -o t.fold");
    write_steps(&here.join("s.parquet"), &ios);
    for options in ["", "--from 17h --to 23h"] {
        for question in [&STREAMS, &PROCESSES, &DRIVES, &STEPS, &PROFILE, &THREADS] {
            let rows = question.json(here, "t.parquet", "1h", options);
            let folded = question.json(here, "t.fold", "1h", options);
            let what = format!("{} {options}", question.table);
            assert_eq!(without_threads(&folded), without_threads(&rows), "{what}");
        }
        for question in [&STREAMS, &PROCESSES, &DRIVES, &STEPS, &PROFILE] {
            let rows = question.json(here, "t.parquet", "1h", options);
            let steps = question.json(here, "s.parquet", "1h", options);
            let kept = |rows: &[Value]| {
                rows.iter().map(|row| question.kept_by_steps(row)).collect::<Vec<_>>()
            };
            assert_eq!(kept(&steps), kept(&rows), "{} {options}", question.table);
        }
    }
}

/// Fields that a capture of steps does not have, or only to the width of its buckets.
const UNKNOWN_OF_STEPS: [&str; 11] = [
    "queue_mean_ns", "queue_max_ns", "queue_share", "queued", "threads", "qd_per_thread",
    "span_ns", "response_p99_ns", "processes", "merged", "split",
];

impl ComparedQuestion {
    /// Returns a row without the fields that a capture of steps does not have.
    fn kept_by_steps(&self, row: &Value) -> Value {
        let mut row = row.clone();
        let fields = row.as_object_mut().unwrap();
        for field in UNKNOWN_OF_STEPS {
            fields.remove(field);
        }
        if let Some(Value::Object(response)) = fields.get_mut("response") {
            response.retain(|field, _| !field.starts_with('p'));
        }
        row
    }
}

/// Writes a capture of steps of one hour.
fn write_steps(path: &Path, ios: &[IoEvent]) {
    let conditions =
        CaptureConditions { step_ns: Some(HOUR), busy_time: true, threads: false, ..conditions() };
    let mut sequencer = Sequencer::new(32);
    sequencer.follow(&Batch::from_events(ios));
    let row = |(io, sequential): (&IoEvent, &bool)| StreamInStep::from_io(io, *sequential, HOUR);
    let rows: Vec<StreamInStep> = ios.iter().zip(&sequencer.sequential).map(row).collect();
    let mut writer = StepWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.add(&rows);
    let last = ios.last().unwrap().issued_ns / HOUR;
    for device in [0, 1] {
        let spans = busy_spans(ios, device);
        let busy = |step: u64| DeviceBusyStep {
            step,
            device,
            layer: Layer::Block,
            busy_ns: busy_within(&spans, &(step * HOUR..(step + 1) * HOUR)),
        };
        let busy: Vec<DeviceBusyStep> =
            (0..=last).map(busy).filter(|busy| busy.busy_ns > 0).collect();
        writer.add_busy(&busy);
    }
    writer.finish(&conditions).unwrap();
}
