//! The three ways to an answer (cells and stretches of the index, row groups from a
//! place in the middle, everything from the beginning) lead to the same numbers.

use serde_json::Value;
use std::fs::File;
use std::path::Path;
use steadfast_domain::io_event::{CapturedDevice, Command, RESPONSE_UNKNOWN};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_explorer::answers::answer;
use steadfast_explorer::capture::{Capture, open_all};
use steadfast_explorer::query::Query;
use steadfast_trace::processes::ProcessTable;
use steadfast_trace::streams::By;
use steadfast_trace::{Captured, Filter, Fold, Pass, StreamTable, Writer};

/// I/Os in the file: three row groups.
pub const IOS: u64 = 300_007;
/// Between two I/Os.
pub const EVERY_NS: u64 = 50_021;

/// Sequential and random reads and writes of several processes on two devices; some
/// complete long after later ones, some never, some sequences cross row groups.
pub fn write(path: &Path) {
    let device = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    let conditions = CaptureConditions {
        devices: vec![device("sda"), device("sdb")],
        lasted_ns: IOS * EVERY_NS,
        ..CaptureConditions::default()
    };
    let mut events: Vec<IoEvent> = (0..IOS).map(event).collect();
    // As a capture writes them: when they complete.
    let completed = |event: &IoEvent| match event.response_ns {
        RESPONSE_UNKNOWN => event.issued_ns,
        response => event.issued_ns + response,
    };
    events.sort_by_key(completed);
    let mut writer = Writer::new(File::create(path).unwrap(), &conditions).unwrap();
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
        command: Command::new(["reader", "writer", "<script>"][(mixed % 3) as usize]),
        op: if n % 5 == 1 { IoOp::Write } else { IoOp::Read },
        ..IoEvent::default()
    }
}

fn ask(capture: &Capture, question: &str) -> Value {
    let (what, query) = question.split_once('?').unwrap_or((question, ""));
    let found = answer(capture, what, &Query::parse(query).unwrap());
    serde_json::from_str(&found.unwrap_or_else(|refusal| panic!("{question}: {refusal}"))).unwrap()
}

/// The tables of a part of the time, everything read from the beginning.
fn from_the_beginning(path: &Path, filter: Filter) -> (Value, Value) {
    let captured = Captured::open(File::open(path).unwrap()).unwrap();
    let (mut streams, mut processes) = (StreamTable::new(), ProcessTable::default());
    let pass = Pass { filter, ..Pass::default() };
    let folds: &mut [&mut dyn Fold] = &mut [&mut streams, &mut processes];
    captured.run(&pass, folds).unwrap();
    let value = |listed: String| serde_json::from_str(&listed).unwrap();
    (
        value(serde_json::to_string(&streams.listing(By::Count)).unwrap()),
        value(serde_json::to_string(&processes.listing()).unwrap()),
    )
}

#[test]
fn every_way_leads_to_the_same_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = open_all(std::slice::from_ref(&path)).unwrap().remove(0);
    capture.prepare(None);
    let index = capture.index().unwrap();
    assert_eq!(index.ios, IOS);
    assert!(index.stretches.len() >= 2, "{} stretches", index.stretches.len());
    let end = index.end_ns;
    let border = index.stretches[1].from_ns;
    // All; across a border; inside a stretch; exactly a stretch; narrow at a border.
    let windows = [
        (0, end),
        (1_000_003, end - 1_000_003),
        (border + 1, border + 500_009),
        (border, end),
        (border - 5 * EVERY_NS, border + 5 * EVERY_NS),
    ];
    for (from, to) in windows {
        for filter in ["", "&op=write", "&device=sdb", "&process=%3Cscript%3E", "&pid=103"] {
            let query = Query::parse(&format!("from={from}&to={to}{filter}")).unwrap();
            let wanted = steadfast_explorer::query::filter(&query, capture.conditions()).unwrap();
            let (streams, processes) = from_the_beginning(&path, wanted.within(&[(from, to)]));
            let question = format!("streams?from={from}&to={to}{filter}");
            assert_eq!(ask(&capture, &question)["streams"], streams, "{question}");
            let question = format!("processes?from={from}&to={to}{filter}");
            assert_eq!(ask(&capture, &question)["processes"], processes, "{question}");
        }
    }
}

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
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = open_all(std::slice::from_ref(&path)).unwrap().remove(0);
    capture.prepare(None);
    // Both operations are everything, but a filter the index does not answer.
    let all = "&op=read&op=write";
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
    let heat = |op: &str| ask(&capture, &format!("heat?cells=61&kind=lba&rows=64{op}"));
    let (both, reads, writes) = (heat(""), heat("&op=read"), heat("&op=write"));
    let count = |heat: &Value, at: usize| heat["counts"][at].as_u64().unwrap();
    for at in 0..both["counts"].as_array().unwrap().len() {
        assert_eq!(count(&both, at), count(&reads, at) + count(&writes, at));
    }
}

#[test]
fn narrow_windows_add_up_to_wide_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = open_all(std::slice::from_ref(&path)).unwrap().remove(0);
    capture.prepare(None);
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
    // The index and the I/Os know the same hot ranges.
    assert_eq!(ask(&capture, "hot"), ask(&capture, "hot?op=read&op=write"));
}
