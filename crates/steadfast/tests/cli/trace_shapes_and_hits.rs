//! Shapes, hit maps and hot ranges of a trace, compared with another program that counts the same
//! file by the rules of docs/trace.md: DuckDB reads it, Python counts (`rules.py`, `oracle.py`).
//! Counts are equal; quotients are equal to the last bits.

use super::fixtures::{TestDirectory, array, assert_contains, python, succeed, succeed_json};
use super::synthetic_captures::{self, SECOND, sized_device};
use serde_json::Value;
use std::path::Path;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};

const ZONE_S: i32 = -19_800;
const STEP_NS: u64 = 600 * SECOND;

fn conditions() -> CaptureConditions {
    let device = |name: &str| sized_device(name, Bytes::gib(64));
    CaptureConditions {
        software: "test".into(),
        layers: vec![Layer::Block],
        devices: vec![device("nvme0n1"), device("sda")],
        began_unix_ns: Some(synthetic_captures::BEGAN),
        zone: Some(TimeZone::fixed(ZONE_S, None)),
        lasted_ns: 30 * 3600 * SECOND,
        ..CaptureConditions::default()
    }
}

/// 10,007 I/Os: interleaved sequential runs, random places, bursts and pauses.
fn ios() -> Vec<IoEvent> {
    let mut random = synthetic_captures::SeededRandom(17);
    let mut draw = |below: u64| random.below(below);
    let (mut now, mut cursors) = (0, [0u64, 1 << 30, 2 << 30, 3 << 30]);
    let mut one = |_| {
        now += match draw(40) {
            0 => 1 + draw(100_000) * 2_000_000,
            1..10 => 1 + draw(2_000_000),
            _ => 1 + draw(60_000),
        };
        let bytes = [512, 4096, 8192, 65_536][draw(4) as usize];
        let cursor = draw(4) as usize;
        let offset = match draw(10) {
            0..5 => cursors[cursor],
            _ => (8 << 30) + draw(1 << 20) * 131_072,
        };
        let is_run = offset < 8 << 30;
        if is_run {
            // Now and then a run begins elsewhere.
            cursors[cursor] = if draw(30) == 0 {
                ((cursor as u64) << 30) + draw(1 << 10) * 4096
            } else {
                offset + bytes
            };
        }
        let op = match draw(20) {
            0 => IoOp::Flush,
            1 => IoOp::Discard,
            n if n % 3 == 0 => IoOp::Write,
            _ => IoOp::Read,
        };
        let (pid, command) =
            [(100, "mysqld"), (101, "mysqld"), (7, "backup"), (0, "")][draw(4) as usize];
        IoEvent {
            issued_ns: now,
            response_ns: if draw(97) == 0 { u64::MAX } else { 10 + draw(900_000) },
            queued_ns: draw(3) * 40_000,
            offset: if op == IoOp::Flush { 0 } else { offset },
            bytes: if op == IoOp::Flush { 0 } else { bytes as u32 },
            depth: 1 + draw(70) as u32,
            pid,
            command: CommandName::new(command),
            device: u16::from(cursor == 3),
            op,
            ..IoEvent::default()
        }
    };
    (0..10_007).map(&mut one).collect()
}

/// Writes the capture; returns what the other program counted in it.
fn counted(place: &Path) -> Option<Value> {
    synthetic_captures::write(&place.join("t.parquet"), conditions(), ios());
    let arguments = ["t.parquet", &STEP_NS.to_string()];
    let counted = synthetic_captures::counted(place, include_str!("oracle.py"), &arguments)?;
    assert_eq!(counted["ios"], 10_007);
    Some(counted)
}

fn json(place: &Path, question: &str) -> Value {
    succeed_json(place, &format!("trace {question} t.parquet --json"))
}

fn assert_close(one: &Value, other: &Value, what: &str) {
    match (one.as_f64(), other.as_f64()) {
        (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a} {b}"),
        _ => assert_eq!(one, other, "{what}"),
    }
}

#[test]
fn the_shape_of_a_load_is_as_duckdb_counts_it() {
    let place = &TestDirectory::new();
    let Some(counted) = counted(place) else { return };
    let counted = &counted["shape"];
    let shape = json(place, "shape --threshold 0% --step 10min");
    let streams = array(&shape["streams"]);
    assert!(streams.len() > 15);
    for row in streams {
        let name = row["stream"].as_str().unwrap();
        let gaps = &counted["gaps"][name];
        assert_eq!(row["gaps"]["count"], gaps[0], "{name}");
        assert_eq!(row["gaps"]["mean_ns"], gaps[1], "{name}");
        assert_eq!(row["gaps"]["max_ns"], gaps[2], "{name}");
        assert_close(&row["variation"], &gaps[3], name);
        assert_close(&row["dispersion"], &counted["dispersion"][name], name);
    }
    for (class, row) in array(&shape["runs"]).iter().enumerate() {
        for (op, field) in ["reads", "writes"].into_iter().enumerate() {
            let theirs = counted["runs"][op.to_string()].get(class.to_string());
            assert_eq!(row[field], theirs.cloned().unwrap_or(0.into()), "{field} {class}");
        }
    }
    let idle = array(&shape["idle"]);
    assert_eq!(idle.len(), 14);
    for (at, row) in idle.iter().enumerate() {
        let theirs = &counted["idle"][(at / 7).to_string()][at % 7];
        assert_eq!((&row["periods"], &row["idle_ns"]), (&theirs[0], &theirs[1]), "{at}");
    }
    let steps = array(&shape["steps"]);
    assert!(steps.len() > 30);
    for step in steps {
        let at = (step["begin_ns"].as_u64().unwrap() / STEP_NS).to_string();
        let none = serde_json::json!([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(step["depths"], *counted["depths"].get(&at).unwrap_or(&none), "{at}");
        let none = serde_json::json!({});
        assert_eq!(step["responses"], *counted["heat"].get(&at).unwrap_or(&none), "{at}");
    }
    let text = succeed(place, "trace shape t.parquet");
    assert_contains(&text, &["dispersion", "runs of reads", "idle for", "QD 1", "darkest"]);
}

#[test]
fn hit_maps_and_hot_ranges_are_as_duckdb_counts_them() {
    let place = &TestDirectory::new();
    let Some(counted) = counted(place) else { return };
    let map = |show: &str| {
        let threshold = if show == "streams" { "--threshold 3%" } else { "" };
        json(place, &format!("hits --ranges 50 --step 10min --show {show} {threshold}"))
    };
    let [counts, amounts, streams] = ["count", "bytes", "streams"].map(map);
    let names: Vec<&str> =
        array(&streams["streams"]).iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.len() > 5 && names.last() == Some(&"others"));
    let cells = counted["hits"].as_object().unwrap();
    for (found, show) in [(&counts, "count"), (&amounts, "bytes"), (&streams, "streams")] {
        let mut seen = 0;
        for (device, map) in array(&found["maps"]).iter().enumerate() {
            for hit in array(&map["hits"]) {
                let name = format!("{device} {} {}", hit["range"], hit["begin_ns"]);
                let cell = &cells[&name];
                seen += 1;
                match show {
                    "count" => {
                        assert_eq!([&hit["reads"], &hit["writes"]], [&cell[0][0], &cell[0][1]])
                    }
                    "bytes" => assert_eq!(
                        [&hit["read_bytes"], &hit["written_bytes"]],
                        [&cell[1][0], &cell[1][1]]
                    ),
                    _ => assert_same_counts(&hit["counts"], &cell[2], &names),
                }
            }
        }
        assert_eq!(seen, cells.len(), "{show}");
    }
    let hot = json(place, "hot --top 1000");
    let mut seen = 0;
    for (number, device) in array(&hot["devices"]).iter().enumerate() {
        let hottest = array(&device["hottest"]);
        assert_eq!((&device["ranges"], &device["touched"]), (&1000.into(), &hottest.len().into()));
        let hits = |range: &Value| range["count"].as_u64().unwrap();
        assert!(hottest.windows(2).all(|pair| hits(&pair[0]) >= hits(&pair[1])));
        let all: u64 = hottest.iter().map(hits).sum();
        for range in hottest {
            let cell = &counted["hot"][format!("{number} {}", range["range"])];
            seen += 1;
            let fields = ["reads", "writes", "amount"];
            fields.iter().enumerate().for_each(|(at, field)| assert_eq!(range[*field], cell[at]));
            assert_close(&range["share"], &(hits(range) as f64 / all as f64).into(), "share");
            let processes = array(&range["processes"]);
            assert_eq!(processes.len(), cell[3].as_object().unwrap().len());
            for process in processes {
                assert_eq!(process["count"], cell[3][process["process"].as_str().unwrap()]);
            }
        }
    }
    assert_eq!(seen, counted["hot"].as_object().unwrap().len());
    let text = succeed(place, "trace hits t.parquet --show streams");
    assert!(text.contains("A = ") && text.contains("from 16:30:44.562"), "{text}");
    let text = succeed(place, "trace hits t.parquet --show bytes --time-axis relative");
    assert!(text.contains("darkest: ") && !text.contains("2026-"), "{text}");
    let text = succeed(place, "trace hot t.parquet --top 3");
    assert!(text.contains("mysqld (100) ") && text.contains("of 1000 ranges"), "{text}");
}

/// Compares the hits of every stream; the last number is of the streams that are not listed.
fn assert_same_counts(counts: &Value, cell: &Value, names: &[&str]) {
    let (mut rest, cell) = (0, cell.as_object().unwrap());
    for (name, count) in cell {
        match names.iter().position(|one| one == name) {
            Some(at) => assert_eq!(counts[at], *count, "{name}"),
            None => rest += count.as_u64().unwrap(),
        }
    }
    assert_eq!(counts[names.len() - 1], rest);
}

/// pyarrow writes each codec in pages of either version, with dictionaries that end in the middle of
/// a column chunk.
#[test]
fn a_trace_that_pyarrow_wrote_again_has_the_same_streams() {
    let place = &TestDirectory::new();
    synthetic_captures::write(&place.join("t.parquet"), conditions(), ios());
    let script = "import pyarrow.parquet as p\n\
        t = p.read_table('t.parquet')\n\
        for codec in ['none', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli']:\n    \
            for version in ['1.0', '2.0']:\n        \
                p.write_table(t, f'{codec}{version}.parquet', compression=codec, data_page_version=version, \
                    data_page_size=4096, dictionary_pagesize_limit=2048)";
    let Some(_) = python(&["pyarrow"], &["-c", script], place) else { return };
    let expected = json(place, "streams");
    for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"] {
        for version in ["1.0", "2.0"] {
            let name = format!("{codec}{version}.parquet");
            let again = succeed_json(place, &["trace", "streams", &name, "--json"]);
            assert_eq!(again["streams"], expected["streams"], "{name}");
        }
    }
}
