//! Miss-ratio curves and reuse of blocks, compared with an exact computation of stack distances in
//! Python (`localities.py`).

use super::fixtures::{TestDirectory, array};
use super::synthetic_captures::{
    CaptureChoice, SeededRandom, answer, assert_same, conditions, counted, ios, write,
};
use serde_json::Value;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

const SCRIPT: &str = include_str!("localities.py");
const BLOCK: u64 = 4096;

#[test]
fn curves_reuse_and_overwrites_are_those_of_exact_stack_distances() {
    // As captured, and so slow that it takes weeks.
    for (which, slower) in
        [(CaptureChoice::First, 1), (CaptureChoice::Second, 1), (CaptureChoice::Second, 307)]
    {
        let place = &TestDirectory::new();
        let lasted_ns = conditions(which).lasted_ns * slower;
        let slowed = |io: IoEvent| IoEvent { issued_ns: io.issued_ns * slower, ..io };
        let ios = ios(which).into_iter().map(slowed).collect();
        write(&place.join("t.parquet"), CaptureConditions { lasted_ns, ..conditions(which) }, ios);
        for (ops, filter) in [("0,1", ""), ("0", "--op read"), ("1", "--op write")] {
            let Some(counted) = counted(place, SCRIPT, &["t.parquet", "4096", ops]) else { return };
            let found = answer(place, &format!("locality t.parquet {filter}"));
            let devices = array(&found["devices"]);
            assert!(devices.iter().all(|one| array(&one["curve"]).len() > 15));
            assert_same(&found["devices"], &counted, ops);
        }
    }
}

/// 4,001 I/Os of 8 MiB, skewed to some ranges: more blocks than the analysis follows.
fn extents() -> Vec<IoEvent> {
    let mut draw = SeededRandom(29);
    let one = |number: u64| {
        let (near, far) = (draw.below(6_000), draw.below(6_000));
        IoEvent {
            issued_ns: number * 1_000_003,
            response_ns: 1000,
            offset: (if draw.hits(3) { far } else { near * near / 6_000 }) << 23,
            bytes: 1 << 23,
            op: if draw.hits(4) { IoOp::Write } else { IoOp::Read },
            ..IoEvent::default()
        }
    };
    (0..4_001).map(one).collect()
}

#[test]
fn a_curve_of_a_sample_is_within_its_stated_error_of_exact_stack_distances() {
    let place = &TestDirectory::new();
    write(&place.join("t.parquet"), conditions(CaptureChoice::First), extents());
    let Some(counted) = counted(place, SCRIPT, &["t.parquet", "8388608", "0,1"]) else { return };
    let (found, counted) = (answer(place, "locality t.parquet"), &counted[0]);
    let device = &found["devices"][0];
    let share = device["followed_share"].as_f64().unwrap();
    assert!(share < 0.9 && share > 0.1, "{share}");
    assert_eq!(device["accesses"], counted["accesses"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let touched = number(&device["touched_bytes"]) / number(&counted["touched_bytes"]);
    assert!((touched - 1.0).abs() < 0.02, "{touched}");
    let curve = array(&device["curve"]);
    assert!(curve.len() > 20);
    for point in curve {
        let blocks = point["bytes"].as_u64().unwrap() / BLOCK;
        let again = array(&counted["again"]).iter();
        let hits = again.filter(|distance| distance[0].as_u64().unwrap() <= blocks);
        let hits: f64 = hits.map(|distance| number(&distance[1])).sum();
        let misses = 1.0 - hits / number(&counted["accesses"]);
        assert!((number(&point["misses"]) - misses).abs() < 0.05, "{point}: exactly {misses}");
    }
}
