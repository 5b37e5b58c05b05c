use super::results::FactorsResults;
use super::rules::{AlignmentFinding, ThermalFinding};
use super::setup::{Factor, SUSTAINED};
use super::*;
use crate::testing::scripted::{
    ScriptedBench, assert_unfinished_wherever_it_ends, figure_ids, phase_steps, phases, requested,
    scripted, set, settings_of, steps,
};
use steadfast_domain::measurement::LogDelta;
use steadfast_domain::{
    Bytes, EndState, Halt, Measurement, Nanos, Op, PurgeMethod, Settings, Step,
};

fn build(change: impl FnOnce(&mut Settings)) -> Factors {
    requested(&settings_of(NAME, change), Factors::new)
}

/// Returns MB/s of a step of a drive that compresses and has an indirection unit of 16 KiB.
fn mb_per_second(step: &Step) -> f64 {
    let stimulus = step.load.stimulus().unwrap();
    let stream = &stimulus.streams[0];
    match step.place.phase.as_str() {
        "alignment" if stream.alignment().0 < 16_384 => 60.0,
        "entropy" | "entropy-fresh" => [400.0, 200.0, 100.0][step.place.point as usize - 1],
        "random" => 100.0 - f64::from(step.place.point),
        "used" => 100.0 * Bytes::gib(1).0 as f64 / stimulus.active_range.length.0 as f64,
        "pattern" if stream.op == Op::Read => stream.size.as_kib() * 4.0,
        "pattern" | "pattern-fresh" => 20.0 + f64::from(step.place.round) / 10.0,
        _ => 100.0,
    }
}

fn iops(step: &Step) -> f64 {
    let streams = &step.load.stimulus().unwrap().streams;
    mb_per_second(step) * 1e6 / streams[0].size.0 as f64
}

fn conducted(test: &Factors, bench: &mut ScriptedBench<fn(&Step) -> f64>) -> Record {
    bench.recorded(test, &test.setup.settings)
}

fn bench() -> ScriptedBench<fn(&Step) -> f64> {
    scripted(iops as fn(&Step) -> f64)
}

#[test]
fn every_sweep_has_its_levels_in_every_round() {
    let test = build(|_| ());
    let mut bench = bench();
    let record = conducted(&test, &mut bench);
    let phases = phases(&record.entries);
    let round = ["alignment", "random", "entropy", "pattern"];
    let mut expected = vec!["entropy-fresh", "pattern-fresh", "wipc", "overwrite"];
    (0..3).for_each(|_| expected.extend(round));
    expected.push(SUSTAINED);
    let used = [100, 90, 80, 70, 60, 50];
    let own: Vec<[String; 2]> =
        used.iter().map(|p| [format!("fill-used-{p}"), format!("overwrite-used-{p}")]).collect();
    for [fill, overwrite] in &own {
        expected.extend([fill.as_str(), overwrite, "used"]);
    }
    assert_eq!(phases, expected);
    let count = |phase: &str| phase_steps(&bench.entries, phase).len();
    let counts = ["entropy-fresh", "alignment", "random", "pattern", "used"].map(count);
    assert_eq!(counts, [9, 18, 15, 24, 18]);
    for step in steps(&bench.entries) {
        let stimulus = step.load.stimulus().unwrap();
        if step.place.phase == "alignment" {
            assert_eq!(stimulus.streams[0].size, Bytes::kib(64));
        }
        if step.place.phase == "used" && step.place.point == 6 {
            assert_eq!(
                stimulus.active_range.length,
                Bytes((1 << 30) / 100 * 50).round_down(1 << 20)
            );
        }
    }
}

#[test]
fn what_a_drive_hides_is_found() {
    let test = build(|_| ());
    let record = conducted(&test, &mut bench());
    let results = FactorsResults::new(&test, &record);
    assert_eq!(results.alignment(), Some(AlignmentFinding::Unit(3)));
    assert_eq!(results.indirection_unit(), Some(16_384.0));
    let ratio = |factor| results.lowest_to_highest(factor).unwrap().ratio;
    assert!((ratio(Factor::Entropy) - 4.0).abs() < 0.01);
    assert!((ratio(Factor::FreshEntropy) - 4.0).abs() < 0.01);
    assert!((ratio(Factor::Used) - 2.0).abs() < 0.01);
    let randomness = results.lowest_to_highest(Factor::Randomness).unwrap();
    assert!((randomness.ratio - 1.0).abs() > 0.03, "it is printed as measured: {randomness:?}");
    assert!(!randomness.is_effect, "a difference of 4 % is less than 5 %");
    assert_eq!(results.is_life_throttled(), Some(true));
    assert!((results.life_throttle_rate().unwrap() - 20.2).abs() < 0.01);
    assert_eq!(results.thermal(), Some(ThermalFinding::None));
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::Complete);
    let figure = |id: &str| findings.figure(id).unwrap();
    assert_eq!(figure("random-ratio").value, Some(randomness.ratio));
    let unit = figure("indirection-unit");
    assert_eq!((unit.value, unit.digits), (Some(16.0), 2));
    let has_sentence = |factor: &&Factor| results.sentence(**factor).is_some();
    assert_eq!(Factor::ALL.iter().filter(has_sentence).count(), 6, "two sweeps share a sentence");
    assert_eq!(
        figure_ids(&findings),
        [
            "indirection-unit", "entropy-fresh-ratio", "entropy-ratio", "random-ratio",
            "used-ratio", "life-throttle", "throttled-steps",
        ]
    );
}

#[test]
fn a_thermal_throttle_is_told_by_the_counters_of_the_drive() {
    /// Makes late steps twice as long; returns true for one of them.
    fn slowed(step: &Step, measurement: &mut Measurement) -> bool {
        let late = step.place.phase == SUSTAINED && step.place.point > 5;
        measurement.elapsed = Nanos(measurement.elapsed.0 * (1 + u64::from(late)));
        late
    }
    let throttles = |step: &Step, measurement: &mut Measurement| {
        let seconds = u64::from(slowed(step, measurement)) * 60;
        let log = LogDelta { throttle_seconds: Some(seconds), ..LogDelta::default() };
        measurement.sensed.log = Some(log);
    };
    let of_any_cause = |step: &Step, measurement: &mut Measurement| {
        let events = u64::from(slowed(step, measurement));
        let log = LogDelta { throttle_events: Some(events), ..LogDelta::default() };
        measurement.sensed.log = Some(log);
    };
    let test = build(set("factors", "pattern"));
    let mut bench = bench();
    bench.retouch = throttles;
    let record = conducted(&test, &mut bench);
    let results = FactorsResults::new(&test, &record);
    assert_eq!(results.thermal(), Some(ThermalFinding::Counted));
    assert_eq!(results.throttled_steps(), Some(10));
    bench.retouch = of_any_cause;
    bench.entries.clear();
    let record = conducted(&test, &mut bench);
    let results = FactorsResults::new(&test, &record);
    assert_eq!(results.thermal(), Some(ThermalFinding::AnyCause));
    assert!(results.throttles().unwrap().contains("OCP"));
}

/// A purge that did nothing leaves no unwritten blocks.
#[test]
fn a_device_that_was_not_purged_is_refused() {
    let test = build(set("factors", "used"));
    let mut bench = bench();
    bench.purge = PurgeMethod::Nothing;
    assert!(matches!(test.conduct(&mut bench), Err(Halt::Refused(_))));
    assert!(steps(&bench.entries).is_empty());
}

#[test]
fn a_step_after_a_gap_is_void_and_one_round_is_no_rate() {
    let test = build(set("factors", "alignment"));
    let mut bench = bench();
    bench.gap_before = vec![("alignment", 2, 4), ("alignment", 1, 5), ("alignment", 3, 5)];
    let record = conducted(&test, &mut bench);
    let results = FactorsResults::new(&test, &record);
    let rounds: Vec<usize> = results.levels.iter().map(|measured| measured.steps.len()).collect();
    assert_eq!(rounds, [3, 3, 3, 2, 1, 3]);
    assert!(results.levels[3].rate.is_some() && results.levels[4].rate.is_none());
    assert_eq!(results.alignment(), None, "a level is missing");
}

#[test]
fn a_record_that_ends_anywhere_shows_what_it_has() {
    let test = build(|settings| {
        settings.set("used", "100,50");
        settings.set("rounds", "2");
    });
    let whole = conducted(&test, &mut bench());
    assert_unfinished_wherever_it_ends(&test, &whole);
}
