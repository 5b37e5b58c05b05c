//! The three ways to an answer (cells and segments of the index, row groups from a
//! place in the middle, everything from the beginning) lead to the same numbers.

use crate::scoped_threads::Threads;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steadfast_analysis::fleet::{FoldOptions, Merge, fingerprint, fold};
use steadfast_analysis::questions::processes::ProcessTable;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_analysis::{Captured, Filter, Fold, PassOptions, StreamTable, ThreadPool};
use steadfast_domain::io_event::{CapturedDevice, CommandName, RESPONSE_UNKNOWN};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_explorer::answers::answer;
use steadfast_explorer::capture::{ExploredCapture, open_all};
use steadfast_explorer::explorer_items::{ExplorerItem, ExplorerItems};
use steadfast_explorer::export::page;
use steadfast_explorer::query::QueryString;
use steadfast_explorer::selection::axis;
use steadfast_tracefile::TraceWriter;

/// I/Os in the file: three row groups.
pub const IOS: u64 = 300_007;
/// Between two I/Os.
pub const EVERY_NS: u64 = 50_021;

/// Sequential and random reads and writes of several processes on two devices; some
/// complete long after later ones, some never, some sequences cross row groups.
pub fn write(path: &Path) {
    write_events(path, (0..IOS).map(event).collect());
}

/// The same I/Os on one device: addresses of several are in no map together.
fn write_one_device(path: &Path) {
    write_events(path, (0..IOS).map(|n| IoEvent { device: 0, ..event(n) }).collect());
}

fn write_events(path: &Path, mut events: Vec<IoEvent>) {
    let device = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    let conditions = CaptureConditions {
        devices: vec![device("sda"), device("sdb")],
        lasted_ns: IOS * EVERY_NS,
        ..CaptureConditions::default()
    };
    // As a capture writes them: when they complete.
    let completed = |event: &IoEvent| match event.response_ns {
        RESPONSE_UNKNOWN => event.issued_ns,
        response => event.issued_ns + response,
    };
    events.sort_by_key(completed);
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.write(&events).unwrap();
    writer.finish(conditions).unwrap();
}

fn event(n: u64) -> IoEvent {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let is_sequential = n.is_multiple_of(3);
    IoEvent {
        issued_ns: n * EVERY_NS,
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

fn opened(path: &PathBuf, threads: usize) -> ExploredCapture {
    let crew: Arc<dyn ThreadPool> = Arc::new(Threads(threads));
    open_all(std::slice::from_ref(path), Some(&crew)).unwrap().remove(0)
}

/// The I/Os in a file with its index.
fn indexed() -> (tempfile::TempDir, ExploredCapture) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = opened(&path, 2);
    capture.prepare(None);
    (directory, capture)
}

fn ask(capture: &ExploredCapture, question: &str) -> Value {
    let (what, query) = question.split_once('?').unwrap_or((question, ""));
    let found = answer(capture, what, &QueryString::parse(query).unwrap());
    serde_json::from_str(&found.unwrap_or_else(|refusal| panic!("{question}: {refusal}"))).unwrap()
}

/// The tables of a part of the time, everything read from the beginning.
fn from_the_beginning(path: &Path, filter: Filter) -> (Value, Value) {
    let captured = Captured::open(File::open(path).unwrap()).unwrap();
    let (mut streams, mut processes) = (StreamTable::new(), ProcessTable::default());
    let pass = PassOptions { filter, ..PassOptions::default() };
    let folds: &mut [&mut dyn Fold] = &mut [&mut streams, &mut processes];
    captured.run(&pass, folds).unwrap();
    let value = |listed: String| serde_json::from_str(&listed).unwrap();
    (
        value(serde_json::to_string(&streams.listing(ShareMeasure::Count)).unwrap()),
        value(serde_json::to_string(&processes.listing()).unwrap()),
    )
}

#[test]
fn every_way_leads_to_the_same_tables() {
    let (directory, capture) = indexed();
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
        (border - 5 * EVERY_NS, border + 5 * EVERY_NS),
    ];
    for (from, to) in windows {
        for filter in ["", "&op=write", "&device=sdb", "&process=%3Cscript%3E", "&pid=103"] {
            let query = QueryString::parse(&format!("from={from}&to={to}{filter}")).unwrap();
            let wanted = steadfast_explorer::query::filter(&query, capture.conditions()).unwrap();
            let (streams, processes) = from_the_beginning(
                &directory.path().join("t.parquet"),
                wanted.within(&[(from, to)]),
            );
            let question = format!("streams?from={from}&to={to}{filter}");
            assert_eq!(ask(&capture, &question)["streams"], streams, "{question}");
            let question = format!("processes?from={from}&to={to}{filter}");
            assert_eq!(ask(&capture, &question)["processes"], processes, "{question}");
        }
    }
}

/// Everything, but a filter that the index does not answer: the I/Os are read.
const BOTH_DEVICES: &str = "&device=sda&device=sdb";

/// The sum of a series, column by column.
fn sums(series: &Value, field: &str) -> Vec<u64> {
    let of_key = |values: &Value| -> Vec<u64> {
        values.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
    };
    let keys: Vec<Vec<u64>> = series[field].as_array().unwrap().iter().map(of_key).collect();
    (0..keys[0].len()).map(|at| keys.iter().map(|key| key[at]).sum()).collect()
}

#[test]
fn cells_of_the_index_are_those_of_the_ios() {
    let (_directory, capture) = indexed();
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
    let (_directory, capture) = indexed();
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

/// Columns of a question whose width is the same whether the index or the I/Os tell it.
fn cells_alike(capture: &ExploredCapture, (from, to): (u64, u64)) -> u64 {
    let index = capture.index().unwrap();
    // Pictures have columns four times as wide.
    let (narrow, wide) = (index.cells.width_ns, index.by_pair.width_ns().unwrap() * 4);
    let is_alike = |cells: &u64| {
        let of_ios = axis((from, to), *cells, narrow, 1);
        of_ios == axis((from, to), *cells, wide, wide)
    };
    (20..500).find(is_alike).expect("some number of columns gives the same width")
}

/// Filters by operation, stream and process: what the index tells is what the I/Os tell.
#[test]
fn filtered_windows_of_the_index_are_those_of_the_ios() {
    let (_directory, capture) = indexed();
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
        let cells = cells_alike(&capture, (from, to));
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
            for what in ["heat?kind=rt&", "heat?kind=qd&", "steps?"] {
                let (index, ios, question) = both(what);
                assert!(index == ios, "{question}");
            }
            for what in ["streams?", "processes?", "cumulative?", "ios?limit=500&"] {
                let (index, ios, question) = both(what);
                assert!(index == ios, "{question}");
            }
            let (index, ios, question) = both("heat?kind=subsecond&rows=50&");
            assert!(index == ios, "{question}");
        }
    }
}

/// Addresses: what the index of one device tells is what its I/Os tell, and several devices are
/// refused together.
#[test]
fn addresses_are_those_of_one_device() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["one.parquet", "two.parquet"].map(|name| directory.path().join(name));
    write_one_device(&paths[0]);
    write(&paths[1]);
    let [one, two] = paths.map(|path| opened(&path, 2));
    one.prepare(None);
    two.prepare(None);
    let end_ns = one.index().unwrap().end_ns;
    let cells = cells_alike(&one, (0, end_ns));
    for question in ["heat?kind=lba&", "hot?", "read-out?"] {
        for filter in ["", "&op=write", "&pid=103"] {
            let question = format!("{question}from=0&to={end_ns}&cells={cells}{filter}");
            let index = ask(&one, &question);
            assert_eq!(index, ask(&one, &format!("{question}&device=sda")), "{question}");
            let (path, parameters) = question.split_once('?').unwrap();
            let query = QueryString::parse(parameters).unwrap();
            assert!(answer(&two, path, &query).is_err(), "{question}");
        }
    }
}

/// One thread, several, and none that was lent come to the same.
#[test]
fn any_number_of_threads_makes_the_same_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let alone = open_all(std::slice::from_ref(&path), None).unwrap().remove(0);
    let several: Vec<ExploredCapture> = [2, 7].map(|threads| opened(&path, threads)).into();
    alone.prepare(None);
    several.iter().for_each(|capture| capture.prepare(None));
    let width = alone.index().unwrap().cells.width_ns;
    let narrow = format!("from={}&to={}", width * 501, width * 1009);
    for question in
        ["series?by=stream", "series?by=process", "heat?kind=rt", "heat?kind=lba&device=sda"]
    {
        for window in ["cells=97", &narrow, "op=write", "cells=4096"] {
            let mark = if question.contains('?') { "&" } else { "?" };
            let question = format!("{question}{mark}{window}");
            let wanted = ask(&alone, &question);
            several.iter().for_each(|one| assert_eq!(ask(one, &question), wanted, "{question}"));
        }
    }
    for question in
        ["hot?device=sdb", "streams", "processes", "heat?kind=qd", "steps", "ios?offset=150000"]
    {
        let wanted = ask(&alone, question);
        several.iter().for_each(|one| assert_eq!(ask(one, question), wanted, "{question}"));
    }
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
    let events: Vec<IoEvent> = (0..IOS).map(event).collect();
    let mut writer = TraceWriter::new(File::create(&path).unwrap(), &conditions).unwrap();
    writer.write(&events).unwrap();
    writer.finish(conditions).unwrap();
    let capture = opened(&path, 2);
    capture.prepare(None);
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

/// A fold without processes refuses what names them, and is exported without it.
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
    let mut merge = Merge::<File>::new(&options);
    merge.add(fold(&captured, vec![identity], &pass, &options).unwrap()).unwrap();
    merge.write(File::create(&folded).unwrap()).unwrap();

    let capture = opened(&folded, 2);
    capture.prepare(None);
    assert_eq!(ask(&capture, "streams")["total"]["count"], IOS);
    for question in ["processes", "streams?pid=101", "streams?process=reader", "series?by=process"]
    {
        let (what, query) = question.split_once('?').unwrap_or((question, ""));
        let refusal = answer(&capture, what, &QueryString::parse(query).unwrap()).unwrap_err();
        assert!(refusal.status == 400 && refusal.text.contains("--no-processes"), "{refusal}");
    }
    let shown = ExplorerItems { items: vec![ExplorerItem::Capture(Box::new(capture))] };
    let meta = shown.answer("meta", &QueryString::default()).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    assert!(meta["items"][0]["processes"].as_array().unwrap().is_empty());
    assert!(meta["items"][0]["refused"]["processes"].is_string());
    let page = page(&shown).unwrap();
    assert!(page.contains("\"api/streams?c=0\"") && !page.contains("\"api/processes?"));
    assert!(!page.contains("\"api/series?by=process"));
}
