//! Every figure of streams, groups, processes, capture steps, drives and the day, compared with what
//! Python finds with DuckDB in the same file by the rules of docs/trace.md (`figures.py`).

use super::fixtures::{
    Arguments, TestDirectory, array, findings, parse_json, python, succeed, succeed_json,
};
use super::synthetic_captures::{
    BEGAN_S, CHANGE_S, CaptureChoice, LASTED_S, LATER_S, SECOND, ZONE_S, answer, assert_same,
    conditions, counted, ios, write,
};
use serde_json::{Map, Value, json};
use std::path::Path;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::CapturedDevice;

const STEP_NS: u64 = 600 * SECOND;

/// Writes a capture; returns what was counted in it.
fn write_and_count(place: &Path, which: CaptureChoice) -> Option<Value> {
    write(&place.join("t.parquet"), conditions(which), ios(which));
    let is_first = which == CaptureChoice::First;
    let began = BEGAN_S + if is_first { 0 } else { LATER_S };
    let before = if is_first { ZONE_S[0] } else { ZONE_S[1] };
    let mut words = vec!["t.parquet".to_owned(), began.to_string(), LASTED_S.to_string()];
    words.extend([before, ZONE_S[1]].map(|seconds| seconds.to_string()));
    words.extend([CHANGE_S, STEP_NS].map(|number| number.to_string()));
    words.push(drives(&conditions(which)).to_string());
    counted(place, include_str!("figures.py"), &words.words())
}

/// Returns the names, sizes and merged requests of the drives.
fn drives(conditions: &CaptureConditions) -> Value {
    let merging = |at: usize| conditions.merging.as_ref().map(|all| all[at]);
    let row = |(at, device): (usize, &CapturedDevice)| {
        let capacity = device.capacity.map(|size| size.0);
        let (merged, split) = (merging(at).map(|m| m.merged), merging(at).map(|m| m.split));
        json!([device.name, capacity, merged, split])
    };
    conditions.devices.iter().enumerate().map(row).collect()
}

fn found(place: &Path, question: &str) -> Value {
    answer(place, &format!("{question} t.parquet"))
}

/// Returns rows by the value of one field.
#[track_caller]
fn keyed(rows: &Value, field: &str) -> Value {
    let rows = rows.as_array().unwrap().iter();
    let name = |row: &Value| match &row[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Value::Object(rows.map(|row| (name(row), row.clone())).collect::<Map<String, Value>>())
}

/// Asserts that the rows are those that were counted, and no others.
#[track_caller]
fn assert_same_rows(rows: &Value, field: &str, counted: &Value, what: &str) {
    assert_eq!(rows.as_array().unwrap().len(), counted.as_object().unwrap().len(), "{what}: rows");
    assert_same(&keyed(rows, field), counted, what);
}

/// Asserts that the largest comes first.
#[track_caller]
fn descending(rows: &Value, field: &str) {
    let values: Vec<u64> = array(rows).iter().map(|row| row[field].as_u64().unwrap()).collect();
    assert!(values.is_sorted_by(|one, next| one >= next), "{field}: {values:?}");
}

fn names(rows: &Value) -> Vec<&str> {
    array(rows).iter().map(|row| row["stream"].as_str().unwrap()).collect()
}

/// A part of the time that cuts two steps of 10 minutes: `CUT` of `figures.py`.
const PART: &str = "--from 65min --to 5100000000007ns";

/// Writes each of the two captures to a directory and calls `check` with it and what was counted.
fn for_each_capture(check: impl Fn(&Path, &Value)) {
    for which in [CaptureChoice::First, CaptureChoice::Second] {
        let place = &TestDirectory::new();
        let Some(counted) = write_and_count(place, which) else { return };
        check(place, &counted);
    }
}

#[test]
fn streams_kinds_and_processes_are_as_python_counts_them() {
    for_each_capture(|place, counted| {
        let streams = found(place, "streams");
        assert_same_rows(&streams["streams"], "stream", &counted["streams"], "streams");
        assert_same(&streams["total"], &counted["all"], "all streams");
        descending(&streams["streams"], "count");
        let narrow = &found(place, "streams --window 3")["streams"];
        assert_same_rows(narrow, "stream", &counted["streams_of_a_narrow_window"], "window of 3");
        let by_bytes = found(place, "streams --shares bytes --threshold 1.5%");
        descending(&by_bytes["streams"], "amount");
        assert_eq!(json!(names(&by_bytes["streams"])), counted["streams_by_bytes"]);
        for by in ["stream", "process"] {
            let kinds = found(place, &format!("groups --by {by} --show kinds"));
            assert_same_rows(&kinds["groups"], by, &counted[format!("kinds_by_{by}")], by);
            descending(&kinds["groups"], "count");
        }
        let processes = &found(place, "processes")["processes"];
        assert_same_rows(processes, "process", &counted["processes"], "processes");
    });
}

#[test]
fn applied_workloads_and_their_steps_are_as_python_counts_them() {
    for_each_capture(|place, counted| {
        let derived = succeed_json(place, "workload derive t.parquet --json");
        let streams = &derived["workload"]["streams"];
        assert_same_rows(streams, "stream", &counted["applied"], "cumulative workload");
        for (name, part) in [("played", ""), ("played_of_a_part", PART)] {
            let derive = "workload derive t.parquet --native --step 10min";
            succeed(place, &format!("{derive} -o {name} {part}"));
            let read = "import json, sys, tomllib
print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
            let Some(output) = python(&["tomllib"], &["-c", read, name], place) else { return };
            let file: Value = parse_json(&output);
            assert_same(&file["step"], &counted[name], name);
        }
    });
}

#[test]
fn steps_maps_and_percentiles_of_shapes_are_as_python_counts_them() {
    for_each_capture(|place, counted| {
        for (name, filter) in [
            ("steps", ""),
            ("steps_of_a_part", PART),
            ("steps_of_files", "--layer filesystem"),
            ("steps_of_reads", "--op read"),
        ] {
            let steps = found(place, &format!("steps --step 10min {filter}"));
            assert_same_rows(&steps["steps"], "begin_ns", &counted[name], name);
        }
        let map = found(place, "map --step 10min --threshold 3%");
        same_map(&map, &counted["map"]);
        let shape = found(place, "shape --threshold 0% --step 10min");
        for row in array(&shape["streams"]) {
            let name = row["stream"].as_str().unwrap();
            assert_same(&row["gaps"], &counted["shape"]["gaps"][name], name);
        }
        assert_same(
            &keyed(&shape["steps"], "begin_ns"),
            &counted["shape"]["steps"],
            "shape over time",
        );
    });
}

/// Two captures that overlap are on one axis, the later one behind the first by their clocks.
#[test]
fn devices_side_by_side_are_as_python_counts_them() {
    let place = &TestDirectory::new();
    let mut wanted = Map::new();
    for (which, name, later_ns) in [
        (CaptureChoice::First, "a.parquet", 0),
        (CaptureChoice::Second, "b.parquet", LATER_S * SECOND),
    ] {
        let Some(counted) = write_and_count(place, which) else { return };
        std::fs::rename(place.join("t.parquet"), place.join(name)).unwrap();
        for (side, steps) in counted["sides"].as_object().unwrap() {
            let steps = steps.as_object().unwrap().iter();
            let later = steps.map(|(at, step)| {
                ((at.parse::<u64>().unwrap() + later_ns).to_string(), step.clone())
            });
            wanted.insert(format!("{name}: {side}"), later.collect());
        }
    }
    let found = answer(place, "compare a.parquet b.parquet --step 10min");
    let found = array(&found["sides"]);
    assert_eq!(found.len(), wanted.len());
    for side in found {
        let name = side["name"].as_str().unwrap();
        assert_same_rows(&side["steps"], "begin_ns", &wanted[name], name);
    }
}

/// Compares streams over time by name.
fn same_map(map: &Value, counted: &Value) {
    let series: Vec<&str> =
        array(&map["series"]).iter().map(|name| name.as_str().unwrap()).collect();
    let (rest, listed) = series.split_last().unwrap();
    assert_eq!((*rest, &json!(listed)), ("others", &counted["series"]));
    let not_zero = |cells: &mut Map<String, Value>| cells.retain(|_, cell| *cell != 0);
    let of = |row: &Value, field: &str| -> Map<String, Value> {
        let cells = series.iter().zip(array(&row[field]));
        let mut cells = cells.map(|(name, cell)| ((*name).to_owned(), cell.clone())).collect();
        not_zero(&mut cells);
        cells
    };
    let rows = array(&map["steps"]);
    assert_eq!(rows.len(), counted["steps"].as_object().unwrap().len());
    for row in rows {
        let at = row["begin_ns"].to_string();
        let counted = &counted["steps"][&at];
        assert_eq!(json!(of(row, "counts")), counted["counts"], "{at}");
        let mut amounts = counted["amounts"].as_object().unwrap().clone();
        not_zero(&mut amounts);
        assert_eq!(of(row, "amounts"), amounts, "{at}");
    }
}

#[test]
fn drives_are_as_python_counts_them() {
    for_each_capture(|place, counted| {
        assert_same(&found(place, "drives")["drives"], &counted["drives"], "drives");
        let both = found(place, "drives --layer both");
        assert_same(&both["drives"], &counted["drives_of_both"], "drives of both layers");
    });
}

/// Returns the rows of a report's facts by their labels, wherever they are in it.
fn facts(report: &Value, title: &str) -> Option<Value> {
    match report {
        Value::Object(fields) if fields.get("title").is_some_and(|found| found == title) => {
            fields.get("rows").map(|rows| keyed(rows, "label"))
        }
        Value::Object(fields) => fields.values().find_map(|field| facts(field, title)),
        Value::Array(values) => values.iter().find_map(|value| facts(value, title)),
        _ => None,
    }
}

/// Asserts that texts begin with a number, to their last digit and so many percent.
#[track_caller]
fn near(rows: &Value, counted: &Value, percent: f64) {
    for (label, number) in counted.as_object().unwrap() {
        let text = rows[label]["value"].as_str().unwrap_or_else(|| panic!("{label}: {rows}"));
        let (shown, _) = text.split_once(' ').unwrap_or((text, ""));
        let digits = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
        let shown: f64 = shown.replace(',', "").parse().unwrap();
        let number = number.as_f64().unwrap();
        let rounded = 0.500_001 / 10f64.powi(digits as i32);
        let allowed = rounded + number * percent / 100.0;
        assert!((shown - number).abs() <= allowed, "{label}: {text}, counted {number}");
    }
}

/// A working set is a sketch of a standard error of 0.81 %: within three of them.
#[test]
fn working_sets_and_quality_are_as_python_counts_them() {
    for_each_capture(|place, counted| {
        succeed(place, "trace report t.parquet -o r --format json");
        let report = findings(place.join("r"));
        for (drive, counted) in counted["working_sets"].as_object().unwrap() {
            let title = format!("Working set of {drive}");
            let rows = facts(&report, &title).unwrap_or_else(|| panic!("no {title}"));
            near(&rows, &counted["sketched"], 3.0 * 0.81);
            near(&rows, &counted["exact"], 0.0);
        }
        let hits = found(place, "hits --ranges 64");
        assert_same_rows(&hits["maps"], "device", &counted["outside"], "outside of all ranges");
        let doctor = found(place, "doctor --layer both");
        assert_same(&doctor["quality"], &counted["quality"], "quality");
    });
}

/// Over two nights, in one of which the clock shows an hour twice.
#[test]
fn the_day_is_as_python_counts_it() {
    for_each_capture(|place, counted| {
        for (name, step) in [("hours", "1h"), ("quarters", "15min")] {
            let day = found(place, &format!("profile --step {step}"));
            assert_same(&day["intervals"], &counted[name], name);
        }
    });
}
