//! The three ways to an answer give the same numbers: cells and segments of the index, row groups
//! from a checkpoint on, and everything from the beginning.

use crate::scoped_threads::Threads;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steadfast_analysis::fleet::{FoldOptions, Merge, fingerprint, fold};
use steadfast_analysis::questions::processes::ProcessTable;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_analysis::{Captured, Filter, PassOptions, StreamTable, ThreadPool};
use steadfast_domain::io_event::{CapturedDevice, CommandName, RESPONSE_UNKNOWN};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_explorer::answers::answer;
use steadfast_explorer::capture::{ExploredCapture, open_all};
use steadfast_explorer::explorer_items::{ExplorerItem, ExplorerItems};
use steadfast_explorer::export::page;
use steadfast_explorer::http_error::HttpError;
use steadfast_explorer::query::QueryString;
use steadfast_explorer::selection::axis;
use steadfast_tracefile::TraceWriter;

/// I/Os in the file: three row groups.
pub const IOS: u64 = 300_007;
const INTERVAL_NS: u64 = 50_021;

/// Writes a trace of sequential and random reads and writes of several processes on two devices.
/// Some complete long after later ones, some never; some sequential runs cross row groups.
pub fn write(path: &Path) {
    write_events(path, (0..IOS).map(event).collect());
}

fn write_events(path: &Path, mut events: Vec<IoEvent>) {
    let device = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    let conditions = CaptureConditions {
        devices: vec![device("sda"), device("sdb")],
        lasted_ns: IOS * INTERVAL_NS,
        ..CaptureConditions::default()
    };
    // A capture writes I/Os when they complete.
    events.sort_by_key(|event| event.completed_ns().unwrap_or(event.issued_ns));
    write_trace(path, &events, conditions);
}

fn write_trace(path: &Path, events: &[IoEvent], conditions: CaptureConditions) {
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.write(events).unwrap();
    writer.finish(conditions).unwrap();
}

fn event(n: u64) -> IoEvent {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let is_sequential = n.is_multiple_of(3);
    IoEvent {
        issued_ns: n * INTERVAL_NS,
        response_ns: match n % 10_007 {
            7 => RESPONSE_UNKNOWN,
            11 => 900_000_000,
            _ => 20_000 + mixed % 400_000,
        },
        offset: if is_sequential { n / 3 * 4096 } else { (1 << 30) + mixed % 65_521 * 8192 },
        bytes: if is_sequential { 4096 } else { 8192 << (mixed % 3) },
        device: u16::from(n.is_multiple_of(7)),
        pid: 100 + (mixed % 5) as u32,
        command: CommandName::new(["reader", "writer", "<script>"][(mixed % 3) as usize]),
        op: if n % 5 == 1 { IoOp::Write } else { IoOp::Read },
        ..IoEvent::default()
    }
}

fn indexed(path: &PathBuf, threads: usize) -> ExploredCapture {
    let threads: Arc<dyn ThreadPool> = Arc::new(Threads(threads));
    let capture = open_all(std::slice::from_ref(path), Some(&threads)).unwrap().remove(0);
    capture.prepare(None);
    capture
}

/// Returns the trace of [`write`] with its index.
fn written_and_indexed() -> (tempfile::TempDir, ExploredCapture) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = indexed(&path, 2);
    (directory, capture)
}

fn try_ask(capture: &ExploredCapture, question: &str) -> Result<Value, HttpError> {
    let (what, query) = question.split_once('?').unwrap_or((question, ""));
    let answer = answer(capture, what, &QueryString::parse(query).unwrap())?;
    Ok(serde_json::from_str(&answer).unwrap())
}

fn ask(capture: &ExploredCapture, question: &str) -> Value {
    try_ask(capture, question).unwrap_or_else(|refusal| panic!("{question}: {refusal}"))
}

/// Returns the tables of streams and processes after reading everything from the beginning.
fn tables_of_all_ios(path: &Path, filter: Filter) -> (Value, Value) {
    let captured = Captured::open(File::open(path).unwrap()).unwrap();
    let (mut streams, mut processes) = (StreamTable::new(), ProcessTable::default());
    let pass = PassOptions { filter, ..PassOptions::default() };
    captured.run(&pass, &mut [&mut streams, &mut processes]).unwrap();
    // Parsed from text, because the answers are compared after parsing too.
    let value = |text: String| serde_json::from_str(&text).unwrap();
    (
        value(serde_json::to_string(&streams.listing(ShareMeasure::Count)).unwrap()),
        value(serde_json::to_string(&processes.listing()).unwrap()),
    )
}

#[test]
fn tables_are_the_same_in_any_window() {
    let (directory, capture) = written_and_indexed();
    let index = capture.index().unwrap();
    assert_eq!(index.ios, IOS);
    assert!(index.segments.all.len() >= 2, "{} segments", index.segments.all.len());
    let end = index.end_ns;
    let border = index.segments.all[1].from_ns;
    // All; across a border; inside a segment; exactly a segment; narrow at a border.
    let windows = [
        (0, end),
        (1_000_003, end - 1_000_003),
        (border + 1, border + 500_009),
        (border, end),
        (border - 5 * INTERVAL_NS, border + 5 * INTERVAL_NS),
    ];
    for (from, to) in windows {
        for filter in ["", "&op=write", "&device=sdb", "&process=%3Cscript%3E", "&pid=103"] {
            let text = format!("from={from}&to={to}{filter}");
            let query = QueryString::parse(&text).unwrap();
            let filter = steadfast_explorer::query::filter(&query, capture.conditions()).unwrap();
            let filter = filter.within(&[(from, to)]);
            let (streams, processes) =
                tables_of_all_ios(&directory.path().join("t.parquet"), filter);
            assert_eq!(ask(&capture, &format!("streams?{text}"))["streams"], streams, "{text}");
            let found = ask(&capture, &format!("processes?{text}"));
            assert_eq!(found["processes"], processes, "{text}");
        }
    }
}

/// A filter that selects everything but is not answered by the index, so that the I/Os are read.
const BOTH_DEVICES: &str = "&device=sda&device=sdb";

/// Returns the sums over all series, column by column.
fn sums(series: &Value, field: &str) -> Vec<u64> {
    let of_key = |values: &Value| -> Vec<u64> {
        values.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
    };
    let keys: Vec<Vec<u64>> = series[field].as_array().unwrap().iter().map(of_key).collect();
    (0..keys[0].len()).map(|at| keys.iter().map(|key| key[at]).sum()).collect()
}

#[test]
fn cells_of_the_index_equal_those_of_the_ios() {
    let (_directory, capture) = written_and_indexed();
    let all = BOTH_DEVICES;
    for by in ["none", "op", "stream", "process"] {
        let question = format!("series?cells=97&by={by}");
        let (index, ios) = (ask(&capture, &question), ask(&capture, &(question + all)));
        assert_eq!((&index["from_index"], &ios["from_index"]), (&true.into(), &false.into()));
        for field in ["width_ns", "from", "rt_mean_ns", "rt_p99", "rt_max", "qd_mean", "qd_max"] {
            assert_eq!(index[field], ios[field], "{by}: {field}");
        }
        assert_eq!(index["keys"], ios["keys"], "{by}");
        assert_eq!((&index["ios"], &index["bytes"]), (&ios["ios"], &ios["bytes"]), "{by}");
        assert_eq!(sums(&index, "ios").iter().sum::<u64>(), IOS);
    }
    for kind in ["rt&rows=40", "qd&rows=20", "subsecond&rows=50"] {
        let question = format!("heat?cells=61&kind={kind}");
        assert_eq!(ask(&capture, &question), ask(&capture, &(question.clone() + all)), "{kind}");
    }
    // Reads and writes of addresses add up.
    let heat = |op: &str| ask(&capture, &format!("heat?cells=61&kind=lba&rows=64&device=sda{op}"));
    let (both, reads, writes) = (heat(""), heat("&op=read"), heat("&op=write"));
    let count = |heat: &Value, at: usize| heat["counts"][at].as_u64().unwrap();
    for at in 0..both["counts"].as_array().unwrap().len() {
        assert_eq!(count(&both, at), count(&reads, at) + count(&writes, at));
    }
}

#[test]
fn narrow_windows_add_up_to_wide_ones() {
    let (_directory, capture) = written_and_indexed();
    let width = capture.index().unwrap().cells.width_ns;
    let (from, to) = (width * 5000, width * 5064);
    let narrow = ask(&capture, &format!("series?from={from}&to={to}&cells=64&by=stream"));
    assert_eq!((&narrow["from_index"], &narrow["width_ns"]), (&false.into(), &width.into()));
    let finer = ask(&capture, &format!("series?from={from}&to={to}&cells=512&by=stream"));
    assert!(finer["width_ns"].as_u64().unwrap() * 8 == width);
    let (narrow, finer) = (sums(&narrow, "ios"), sums(&finer, "ios"));
    let added: Vec<u64> = finer.chunks(8).map(|cells| cells.iter().sum()).collect();
    assert_eq!(narrow, added);
    // Each I/O of the window, one by one.
    let listed = ask(&capture, &format!("ios?from={from}&to={to}&limit=10000"));
    assert_eq!(listed["total"].as_u64().unwrap(), narrow.iter().sum::<u64>());
    assert_eq!(listed["rows"].as_array().unwrap().len() as u64, narrow.iter().sum::<u64>());
    let page = ask(&capture, &format!("ios?from={from}&to={to}&limit=3&offset=2"));
    assert_eq!(page["rows"][0], listed["rows"][2]);
    assert_eq!(page["total"], Value::Null);
}

/// Returns a number of columns that have the same width in answers from the index and from the I/Os.
fn columns_of_equal_width(capture: &ExploredCapture, window_ns: (u64, u64)) -> u64 {
    let index = capture.index().unwrap();
    // Heat maps have columns four times as wide.
    let (narrow, wide) = (index.cells.width_ns, index.by_pair.width_ns().unwrap() * 4);
    (20..500)
        .find(|cells| axis(window_ns, *cells, narrow, 1) == axis(window_ns, *cells, wide, wide))
        .unwrap()
}

/// The filters are by operation, stream and process.
#[test]
fn filtered_windows_of_the_index_equal_those_of_the_ios() {
    let (_directory, capture) = written_and_indexed();
    let index = capture.index().unwrap();
    let wide = index.by_pair.width_ns().unwrap() * 4;
    // The whole, and a window of whole columns with more I/Os than are read.
    let windows = [(0, index.end_ns), (wide * 3, index.end_ns / wide * wide - wide * 20)];
    let filters = [
        "&op=write",
        "&stream=RND%208K%20R&stream=SEQ%204K%20R",
        "&process=%3Cscript%3E",
        "&pid=103&op=read",
        "&process=writer&stream=RND%2016K%20W",
    ];
    for (from, to) in windows {
        let cells = columns_of_equal_width(&capture, (from, to));
        for filter in filters {
            let window = format!("from={from}&to={to}{filter}&cells={cells}");
            let both = |question: &str| {
                let question = format!("{question}{window}");
                let read = format!("{question}{BOTH_DEVICES}");
                (ask(&capture, &question), ask(&capture, &read), question)
            };
            for by in ["none", "op", "stream", "process"] {
                let (mut index, mut ios, question) = both(&format!("series?by={by}&"));
                let from_index = (index["from_index"].take(), ios["from_index"].take());
                assert_eq!(from_index, (true.into(), false.into()), "{question}");
                assert!(index == ios, "{question}");
            }
            for what in [
                "heat?kind=rt&", "heat?kind=qd&", "heat?kind=subsecond&rows=50&", "steps?",
                "streams?", "processes?", "cumulative?", "ios?limit=500&",
            ] {
                let (index, ios, question) = both(what);
                assert!(index == ios, "{question}");
            }
        }
    }
}

/// The index of one device answers as its I/Os do. Addresses of several devices are refused.
#[test]
fn addresses_are_those_of_one_device() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["one.parquet", "two.parquet"].map(|name| directory.path().join(name));
    write_events(&paths[0], (0..IOS).map(|n| IoEvent { device: 0, ..event(n) }).collect());
    write(&paths[1]);
    let [one, two] = paths.map(|path| indexed(&path, 2));
    let end_ns = one.index().unwrap().end_ns;
    let cells = columns_of_equal_width(&one, (0, end_ns));
    for question in ["heat?kind=lba&", "hot?", "read-out?"] {
        for filter in ["", "&op=write", "&pid=103"] {
            let question = format!("{question}from=0&to={end_ns}&cells={cells}{filter}");
            let index = ask(&one, &question);
            assert_eq!(index, ask(&one, &format!("{question}&device=sda")), "{question}");
            assert!(try_ask(&two, &question).is_err(), "{question}");
        }
    }
}

#[test]
fn any_number_of_threads_builds_the_same_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let alone = open_all(std::slice::from_ref(&path), None).unwrap().remove(0);
    alone.prepare(None);
    let several = [2, 7].map(|threads| indexed(&path, threads));
    let width = alone.index().unwrap().cells.width_ns;
    let narrow = format!("from={}&to={}", width * 501, width * 1009);
    let check = |question: &str| {
        let expected = ask(&alone, question);
        several.iter().for_each(|one| assert_eq!(ask(one, question), expected, "{question}"));
    };
    for question in
        ["series?by=stream", "series?by=process", "heat?kind=rt", "heat?kind=lba&device=sda"]
    {
        for window in ["cells=97", &narrow, "op=write", "cells=4096"] {
            check(&format!("{question}&{window}"));
        }
    }
    ["hot?device=sdb", "streams", "processes", "heat?kind=qd", "steps", "ios?offset=150000"]
        .into_iter()
        .for_each(check);
}

/// A wide window with too many I/Os to be read is answered by fewer cells, exactly.
#[test]
fn windows_of_many_ios_are_answered_by_cells() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    // All I/Os within a tenth of a second of an hour: a cell has 50 ms.
    let conditions =
        CaptureConditions { lasted_ns: 3_600_000_000_000, ..CaptureConditions::default() };
    let event = |n: u64| IoEvent { issued_ns: n * 331, response_ns: 907, device: 0, ..event(n) };
    write_trace(&path, &(0..IOS).map(event).collect::<Vec<_>>(), conditions);
    let capture = indexed(&path, 2);
    let width = capture.index().unwrap().cells.width_ns;
    let window = format!("from=0&to={}", width * 3);
    let series = ask(&capture, &format!("series?{window}&cells=1024"));
    assert_eq!((&series["from_index"], &series["cells"]), (&true.into(), &3.into()));
    assert_eq!(sums(&series, "ios").iter().sum::<u64>(), IOS);
    let hits = ask(&capture, &format!("heat?kind=lba&{window}&rows=128"));
    let counts = hits["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap());
    assert!(counts.sum::<u64>() >= IOS);
    let fewer = format!("from=0&to={}", width / 2);
    assert_eq!(ask(&capture, &format!("series?{fewer}"))["from_index"], false);
    let few = format!("from={}&to={}", width * 3, width * 4);
    assert_eq!(ask(&capture, &format!("series?{few}"))["from_index"], false);
}

/// Questions that name processes are refused and missing from an exported page.
#[test]
fn a_fold_without_processes_names_none() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, folded) = (directory.path().join("t.parquet"), directory.path().join("all.fold"));
    write(&trace);
    let captured = Captured::open(File::open(&trace).unwrap()).unwrap();
    let identity = fingerprint(&mut File::open(&trace).unwrap(), "t.parquet").unwrap();
    let pass = PassOptions::default();
    let options = FoldOptions {
        step_ns: 1_000_000_000,
        processes: false,
        window: pass.window,
        threads: false,
        files: false,
    };
    let mut merge = Merge::new(&options);
    merge.add(fold(&captured, vec![identity], &pass, &options).unwrap()).unwrap();
    merge.write(File::create(&folded).unwrap()).unwrap();
    let capture = indexed(&folded, 2);
    assert_eq!(ask(&capture, "streams")["total"]["count"], IOS);
    for question in ["processes", "streams?pid=101", "streams?process=reader", "series?by=process"]
    {
        let refusal = try_ask(&capture, question).unwrap_err();
        assert!(refusal.status == 400 && refusal.text.contains("--no-processes"), "{refusal}");
    }
    let items = ExplorerItems { items: vec![ExplorerItem::Capture(Box::new(capture))] };
    let meta = items.answer("meta", &QueryString::default()).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    assert!(meta["items"][0]["processes"].as_array().unwrap().is_empty());
    assert!(meta["items"][0]["refused"]["processes"].is_string());
    let page = page(&items).unwrap();
    assert!(page.contains("\"api/streams?c=0\"") && !page.contains("\"api/processes?"));
    assert!(!page.contains("\"api/series?by=process"));
}
