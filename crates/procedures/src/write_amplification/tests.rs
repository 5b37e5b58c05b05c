use super::results::AmplificationResults;
use super::*;
use crate::testing::scripted::{
    ScriptedBench, assert_unfinished_wherever_it_ends, figure_ids, phases, purges, refusal,
    requested, retouched, settings_of, steps,
};
use crate::testing::workload::workload;
use steadfast_domain::findings::{Cell, Exhibit};
use steadfast_domain::{Bytes, EndState, Measurement, Op, Settings, ValueRange, caveats as ids};

fn build(change: impl FnOnce(&mut Settings)) -> WriteAmplificationTest {
    let mut settings = Settings::new(NAME, 7);
    for (name, value) in [("workloads", "uniform,zones/90-10"), ("used", "100,80")] {
        settings.set(name, value);
    }
    change(&mut settings);
    requested(&settings, WriteAmplificationTest::new)
}

/// Gives a measurement the counts of a drive with this write amplification, in units of 512,000
/// and 1,048,576 bytes.
fn count(measurement: &mut Measurement, amplification: f64) {
    let host = measurement.written().0;
    let nand = (host as f64 * amplification) as u64;
    measurement.sensed.log = Some(LogDelta {
        host_written: Some(Bytes(host / 512_000 * 512_000)),
        nand_written: Some(Bytes(nand).round_down(1 << 20)),
        host_unit: Some(Bytes(512_000)),
        nand_unit: Some(Bytes(1 << 20)),
        ..LogDelta::default()
    });
}

/// Write amplification of each window on its way to 3 at 100 %, to 2 at 80 %; zones have half as
/// much beyond 1.
fn settling(step: &Step, measurement: &mut Measurement) {
    let phase = step.place.phase.as_str();
    let last = if phase.ends_with("-80") { 2.0 } else { 3.0 };
    let last = if phase.starts_with("zones") { (1.0 + last) / 2.0 } else { last };
    let done = (f64::from(step.place.round) / 4.0).min(1.0);
    count(measurement, 1.0 + (last - 1.0) * done);
}

fn conducted(
    bench: &mut ScriptedBench<impl FnMut(&Step) -> f64>,
) -> (WriteAmplificationTest, Record) {
    let test = build(|_| ());
    let record = bench.recorded(&test, &test.setup.settings);
    (test, record)
}

#[test]
fn every_cell_has_its_purge_its_fill_and_windows_until_five_are_steady() {
    let mut bench = retouched(settling);
    let (test, record) = conducted(&mut bench);
    let expected = [
        "counters", "fill-uniform-100", "uniform-100", "fill-uniform-80", "uniform-80",
        "fill-zones-90-10-100", "zones-90-10-100",
    ];
    assert_eq!(phases(&bench.entries), expected);
    assert_eq!(purges(&bench.entries), 3);
    let first = steps(&bench.entries)[0];
    assert!(!first.load.alters(), "the counters are read before anything is written");
    for step in steps(&bench.entries) {
        let stimulus = step.load.stimulus().unwrap();
        let (range, bytes) = (stimulus.active_range, stimulus.until.bytes);
        match step.place.phase.as_str() {
            "fill-uniform-80" => {
                assert_eq!(range.length, Bytes((1 << 30) / 100 * 80).round_down(1 << 20));
                assert_eq!(bytes, Some(range.length));
            }
            "uniform-100" => {
                assert_eq!((range.length, bytes), (Bytes::gib(1), Some(Bytes::mib(512))));
            }
            "zones-90-10-100" => assert_eq!(stimulus.zones.len(), 2),
            _ => {}
        }
    }
    let results = AmplificationResults::new(&test, &record);
    // Windows 4 to 8 have the final value; nothing before the fourth.
    assert!(results.cells.iter().all(|cell| cell.windows.len() == 8));
    assert!(results.cells.iter().all(|cell| cell.verdict.window == Some((4, 8))));
    let close = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-2, "{found} for {expected}");
    };
    close(results.cells[0].value(), 3.0);
    close(results.cells[1].value(), 2.0);
    close(results.cells[2].value(), 2.0);
    close(results.saved_percent(80), 100.0 / 3.0);
    assert_eq!(
        (results.host_unit, results.nand_unit),
        (Some(Bytes(512_000)), Some(Bytes(1 << 20)))
    );
    for cell in &results.cells {
        let steady = cell.steady.unwrap();
        let bounds = steady.bounds.unwrap();
        assert!(bounds.low < steady.value && steady.value < bounds.high);
    }
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::Steady);
    let expected = ["uniform-100", "worst", "best", "saved-at-80", "greedy-spare"];
    assert_eq!(figure_ids(&findings), expected);
    assert_eq!(findings.front.plots, ["amplification-used", "amplification-workloads"]);
}

#[test]
fn a_drive_that_lacks_a_counter_is_refused_before_anything_is_written() {
    let lacking: [fn(&Step, &mut Measurement); 3] = [
        |_, _| (),
        |step, measurement| {
            settling(step, measurement);
            measurement.sensed.log.as_mut().unwrap().nand_written = None;
        },
        |step, measurement| {
            settling(step, measurement);
            measurement.sensed.log.as_mut().unwrap().host_written = None;
        },
    ];
    let missing = ["by its host and to its flash", "written to its flash", "written by its host"];
    for (retouch, missing) in lacking.into_iter().zip(missing) {
        let mut bench = retouched(retouch);
        let Err(Halt::Refused(why)) = build(|_| ()).conduct(&mut bench) else {
            panic!("it is refused")
        };
        assert!(why.contains(missing), "{why}");
        assert!(steps(&bench.entries).iter().all(|step| !step.load.alters()));
        assert_eq!(purges(&bench.entries), 0);
    }
}

#[test]
fn a_cell_that_keeps_changing_ends_at_its_limit_without_a_value() {
    let restless = |step: &Step, measurement: &mut Measurement| {
        settling(step, measurement);
        if step.place.phase == "uniform-80" {
            count(measurement, f64::from(2 + step.place.round % 2));
        }
    };
    let (test, record) = conducted(&mut retouched(restless));
    let results = AmplificationResults::new(&test, &record);
    let cell = &results.cells[1];
    assert_eq!((cell.windows.len(), cell.value()), (40, None));
    let ValueRange { low, high } = cell.last_values().unwrap();
    assert!((low / 2.0 - 1.0).abs() < 0.01 && (high / 3.0 - 1.0).abs() < 0.01);
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::NotSteady);
    assert!(findings.caveat(ids::STEADY_STATE_NOT_ACHIEVED).is_some());
    let table = findings.summary.iter().find_map(Exhibit::as_table);
    assert_eq!(table.unwrap().rows[0].cells[1], Cell::text("not steady"));
    assert_eq!(findings.figure("saved-at-80").unwrap().value, None);
}

/// As [`settling`], with every window in two parts.
fn in_parts(step: &Step, measurement: &mut Measurement) {
    settling(step, measurement);
    measurement.complete &= step.place.round == 0 || step.place.point == 2;
}

#[test]
fn a_gap_voids_its_window_and_no_steady_windows_extend_across_it() {
    for (point, void, first) in [(1, false, 5), (2, true, 6)] {
        let mut bench = retouched(in_parts);
        bench.gap_before = vec![("uniform-100", 5, point)];
        let (test, record) = conducted(&mut bench);
        let results = AmplificationResults::new(&test, &record);
        let cell = &results.cells[0];
        assert_eq!(cell.windows[4].amplification().is_none(), void);
        assert_eq!(cell.verdict.window, Some((first, first + 4)));
        assert!(cell.value().is_some());
    }
}

#[test]
fn a_counter_that_goes_backwards_voids_its_window() {
    let backwards = |step: &Step, measurement: &mut Measurement| {
        settling(step, measurement);
        if (step.place.phase.as_str(), step.place.round) == ("uniform-100", 6) {
            measurement.sensed.log.as_mut().unwrap().nand_written = None;
        }
    };
    let (test, record) = conducted(&mut retouched(backwards));
    let results = AmplificationResults::new(&test, &record);
    assert_eq!(results.cells[0].windows[5].amplification(), None);
    assert_eq!(results.cells[0].verdict.window, Some((7, 11)));
}

#[test]
fn a_record_that_ends_anywhere_shows_what_it_has() {
    let (test, whole) = conducted(&mut retouched(settling));
    assert_unfinished_wherever_it_ends(&test, &whole);
}

#[test]
fn a_drive_that_counts_other_amounts_or_fewer_flash_bytes_is_disclosed() {
    let strange = |_: &Step, measurement: &mut Measurement| {
        let host = measurement.written().0;
        measurement.sensed.log = Some(LogDelta {
            host_written: Some(Bytes(host * 2)),
            nand_written: Some(Bytes(host)),
            host_unit: Some(Bytes(0)),
            nand_unit: Some(Bytes(0)),
            ..LogDelta::default()
        });
    };
    let (test, record) = conducted(&mut retouched(strange));
    let findings = test.study(&record);
    assert!(findings.caveat(ids::AMPLIFICATION_BELOW_ONE).is_some());
    assert!(findings.caveat(ids::HOST_COUNTER_DIFFERS).is_some());
}

#[test]
fn a_captured_workload_is_a_cell_of_its_own() {
    let captured = |settings: &mut Settings| {
        settings.workload = Some(Box::new(workload()));
        settings.set("workloads", "none");
    };
    let test = build(captured);
    let phases: Vec<String> = test.cells.iter().map(|cell| cell.phase()).collect();
    assert_eq!(phases, ["captured-100"]);
    let stimulus = test.window(&test.cells[0], 1).stimulus;
    assert!(stimulus.streams.iter().any(|stream| stream.op == Op::Write));
    // Its reads count as bytes of the load, but not of the window.
    assert!(stimulus.until.bytes.unwrap() > Bytes::mib(512));
    let reads_only = |settings: &mut Settings| {
        let mut workload = workload();
        workload.streams.iter_mut().for_each(|stream| stream.op = Op::Read);
        settings.workload = Some(Box::new(workload));
    };
    assert!(refusal(&settings_of(NAME, reads_only)).contains("writes nothing"));
}

/// Windows of 3.00 and 3.03 in turn, with counters that are exact to 0.1 %.
#[test]
fn the_range_of_a_value_is_that_of_its_windows() {
    let mut bench = retouched(|step, measurement| {
        count(measurement, 3.0 + 0.03 * f64::from(step.place.round % 2));
    });
    let (test, record) = conducted(&mut bench);
    let findings = test.study(&record);
    let worst = findings.figure("worst").unwrap();
    let ValueRange { low, high } = worst.range.unwrap();
    assert!((low - 3.0).abs() < 4e-3 && (high - 3.03).abs() < 4e-3, "{low} {high}");
    assert!(!worst.is_bounded);
    assert!(worst.subject.is_some());
    let is_own = |metric: &&steadfast_domain::findings::Metric| {
        metric.metric == "write-amplification" && Some(&metric.point) == worst.subject.as_ref()
    };
    assert_eq!(findings.metrics.iter().find(is_own).unwrap().range, worst.range);
}
