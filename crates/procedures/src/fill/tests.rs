use super::results::FillResults;
use super::*;
use crate::testing::scripted::{
    ScriptedBench, assert_unfinished_wherever_it_ends, figure, figure_ids, idle_times, purges,
    requested, retouched, set, settings_of, steps,
};
use steadfast_domain::device_log::{LatencyBuckets, LogDelta};
use steadfast_domain::measurement::{Interval, IntervalTally};
use steadfast_domain::{
    Bytes, CoarseHistogram, EndState, Measurement, Nanos, Op, PurgeChoice, PurgeMethod, Settings,
    Step, ValueRange,
};

fn build(change: impl FnOnce(&mut Settings)) -> DriveFill {
    requested(&settings_of("fill", change), DriveFill::new)
}

/// Gives a measurement the intervals of plateaus, each an amount in bytes and a rate in MB/s.
fn shape(measurement: &mut Measurement, plateaus: &[(f64, f64)]) {
    let mut left = measurement.bytes().0 as f64;
    let (mut begin, mut bytes, mut room) = (0_u64, 0.0, 0.5);
    let mut close = |bytes: &mut f64, room: &mut f64| {
        let end = begin + ((0.5 - *room) * 1e9).round() as u64;
        measurement.intervals.push(Interval {
            begin: Nanos(begin),
            end: Nanos(end),
            partial: false,
            tallies: vec![IntervalTally {
                op: Op::Write,
                ios: 1,
                bytes: Bytes(bytes.round() as u64),
                response_sum: Nanos(1),
                response_max: Nanos(1),
                histogram: CoarseHistogram::default(),
            }],
        });
        (begin, *bytes, *room) = (end, 0.0, 0.5);
    };
    for (amount, rate) in plateaus {
        let mut amount = amount.min(left);
        left -= amount;
        while amount > 0.5 {
            let part = (room * rate * 1e6).min(amount);
            (bytes, amount, room) = (bytes + part, amount - part, room - part / rate / 1e6);
            if room < 1e-9 {
                close(&mut bytes, &mut room);
            }
        }
    }
    if bytes > 0.5 {
        close(&mut bytes, &mut room);
    }
}

/// A drive with a cache of 200 MB at 20 MB/s in front of flash at 5 MB/s, which returns 2 MB per
/// idle second.
fn cached(step: &Step, measurement: &mut Measurement) {
    let phase = step.place.phase.as_str();
    let cache = match phase.strip_prefix("again-").and_then(|rest| rest.split('-').nth(1)) {
        Some(rest) => {
            let seconds: f64 = rest.split('s').next().unwrap().parse().unwrap();
            (2e6 * seconds).min(200e6)
        }
        None if phase.starts_with("fill") => 200e6,
        None => 0.0,
    };
    shape(measurement, &[(cache, 20.0), (f64::MAX, 5.0)]);
}

fn conducted(bench: &mut ScriptedBench<impl FnMut(&Step) -> f64>) -> (DriveFill, Record) {
    let test = build(|_| ());
    let record = bench.recorded(&test, &test.setup.settings);
    (test, record)
}

fn phases(record: &Record) -> Vec<String> {
    record.steps().map(|(step, _)| step.place.phase.clone()).collect()
}

const LEVEL_0: [&str; 7] = [
    "fill-0", "again-0-30s", "again-0-120s", "again-0-600s", "again-0-1800s", "read-new-0",
    "read-old-0",
];

#[test]
fn every_level_has_its_purge_its_rest_its_idle_times_and_its_reads() {
    let mut bench = retouched(cached);
    let (_, record) = conducted(&mut bench);
    let all = phases(&record);
    assert_eq!(all[..7], LEVEL_0);
    assert_eq!((all[7].as_str(), all[8].as_str(), all.len()), ("load-50", "fill-50", 7 + 8 + 8));
    assert_eq!(purges(&bench.entries), 3);
    let idle: u64 = idle_times(&bench.entries).iter().map(|time| time.0).sum();
    assert_eq!(Nanos(idle), Nanos::from_secs(3 * (30 + 120 + 600 + 1800) + 2 * 1800));
    for step in steps(&bench.entries) {
        let stimulus = step.load.stimulus().unwrap();
        assert_eq!(step.interval, Some(Nanos::from_millis(500)));
        let range = stimulus.active_range;
        let bytes = stimulus.until.bytes.unwrap().0;
        match step.place.phase.as_str() {
            "fill-0" => assert_eq!((range.length, bytes), (Bytes::gib(1), 1 << 30)),
            "fill-50" | "load-50" => assert_eq!((range.length.0, bytes), (511 << 20, 511 << 20)),
            // Half as much again as the 200 MB of the cache.
            "again-0-600s" => assert!(bytes.abs_diff(300_000_000) < 1_000_000, "{bytes}"),
            // No more than half of the range.
            "again-50-600s" => assert_eq!(bytes, ((511 << 20) / 100 * 50) / 131_072 * 131_072),
            // Where the last writes began, and where they ended.
            "read-new-0" => assert_eq!((range.start, range.length.0), (Bytes(0), bytes)),
            "read-old-0" => assert!(range.start.0.abs_diff(300_000_000) < 1_000_000),
            _ => {}
        }
    }
}

#[test]
fn the_cliff_its_amount_and_what_returns_are_found() {
    let (test, record) = conducted(&mut retouched(cached));
    let results = FillResults::new(&test, &record);
    let close = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} for {expected}");
    };
    for level in &results.levels {
        close(level.full_speed(), 20.0);
        close(level.full_speed_gb(), 0.2);
        close(level.next_speed(), 5.0);
        close(level.after_idle[0].returned_gb(), 0.06);
        assert_eq!(level.curve.cliffs().count(), 1);
    }
    close(results.levels[0].after_idle[2].returned_gb(), 0.2);
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::Complete);
    assert_eq!(figure_ids(&findings)[5], "back-after-30s");
    assert!((figure(&findings, "back-after-30s").unwrap() - 0.06).abs() < 1e-4);
    assert!(
        findings.ending.starts_with("Empty: full speed 20.0 MB/s for 0.20 GB, then 5.00 MB/s;")
    );
}

#[test]
fn a_drive_without_a_cliff_has_none_and_nothing_returns() {
    let flat = |_: &Step, measurement: &mut Measurement| shape(measurement, &[(f64::MAX, 20.0)]);
    let (test, record) = conducted(&mut retouched(flat));
    let results = FillResults::new(&test, &record);
    let first = &results.levels[0];
    assert_eq!(
        (first.full_speed_gb(), first.next_speed(), first.after_idle[0].returned_gb()),
        (None, None, None)
    );
    assert!(first.after_idle[0].mean.is_some());
    let findings = test.study(&record);
    assert!(findings.ending.contains("without a cliff"));
    let notes: Vec<&str> =
        findings.front.figures.iter().filter_map(|figure| figure.note.as_deref()).collect();
    assert_eq!(notes[..2], ["1.07 GB, no drop", "did not drop"]);
    assert!(notes.len() == 6 && notes[2..].iter().all(|note| *note == "no fast amount"));
}

/// A step of 1 GiB with counters in units of 256 MiB: flash bytes between 1.2 and 3.7 of the host's.
#[test]
fn what_the_device_counted_is_among_the_metrics() {
    let counted = |step: &Step, measurement: &mut Measurement| {
        cached(step, measurement);
        let buckets = LatencyBuckets { writes: [9, 3, 1, 0], ..LatencyBuckets::default() };
        measurement.sensed.log = Some(LogDelta {
            host_written: Some(Bytes::gib(1)),
            nand_written: Some(Bytes::gib(2)),
            host_unit: Some(Bytes::mib(256)),
            nand_unit: Some(Bytes::mib(256)),
            media_errors: Some(2),
            throttle_events: Some(1),
            throttle_seconds: Some(7),
            latency_buckets: Some(buckets),
            ..LogDelta::default()
        });
    };
    let (test, record) = conducted(&mut retouched(counted));
    let metrics = test.study(&record).metrics;
    let find = |name: &str| {
        let mut all = metrics.iter().filter(|m| m.point == "empty" && m.metric == name);
        all.next().unwrap_or_else(|| panic!("{name}"))
    };
    let steps = FillResults::new(&test, &record).levels[0].steps.len() as f64;
    for (name, count) in [
        ("throttle-events", 1.0),
        ("throttled", 7.0),
        ("media-errors", 2.0),
        ("slow-writes-a", 9.0),
        ("slow-writes-c", 1.0),
        ("slow-reads-a", 0.0),
    ] {
        assert_eq!(find(name).value, count * steps, "{name}");
    }
    let amplified = find("write-amplification");
    let ValueRange { low, high } = amplified.range.unwrap();
    assert!(amplified.value == 2.0 && low < 1.5 && high > 2.5, "{low} {high}");
}

#[test]
fn a_gap_restarts_the_level_or_repeats_the_idle_time() {
    let with_gap = |phase: &'static str| {
        let mut bench = retouched(cached);
        bench.gap_before = vec![(phase, 0, 1)];
        let (test, record) = conducted(&mut bench);
        let results = FillResults::new(&test, &record);
        let level = &results.levels[1];
        assert!(
            level.full_speed().is_some() && level.after_idle.iter().all(|a| a.returned.is_some())
        );
        phases(&record)
    };
    let all = with_gap("fill-50");
    let again =
        ["load-50", "fill-50", "load-50 (attempt 2)", "fill-50 (attempt 2)", "again-50-30s"];
    assert_eq!(all[7..12], again);
    let all = with_gap("again-50-120s");
    assert_eq!(all[10..13], ["again-50-120s", "again-50-120s (attempt 2)", "again-50-600s"]);
    assert_eq!(with_gap("fill-0")[..7], LEVEL_0, "nothing had been written");
    let mut bench = retouched(cached);
    bench.gap_before = vec![("read-new-0", 0, 1)];
    let (test, record) = conducted(&mut bench);
    let results = FillResults::new(&test, &record);
    assert!(results.levels[0].reads[0].is_none() && results.levels[0].reads[1].is_some());
}

/// As [`cached`], with a first part of the writes after two minutes idle, and of those that use up
/// what returned, that is not the last.
fn in_parts(step: &Step, measurement: &mut Measurement) {
    cached(step, measurement);
    let place = &step.place;
    let has_more = ["again-50-120s", "use-up-50-120s"].contains(&place.phase.as_str());
    measurement.complete &= !(has_more && place.point == 1);
}

#[test]
fn what_returned_in_a_gap_inside_the_writes_is_used_up_before_the_idle_time_is_repeated() {
    let mut bench = retouched(in_parts);
    bench.gap_before = vec![("again-50-120s", 0, 2), ("use-up-50-120s", 0, 2)];
    let (test, record) = conducted(&mut bench);
    let expected = [
        "again-50-120s", "again-50-120s", "use-up-50-120s", "use-up-50-120s",
        "use-up-50-120s (attempt 2)", "again-50-120s (attempt 2)", "again-50-600s",
    ];
    assert_eq!(phases(&record)[10..17], expected);
    let amounts: Vec<Bytes> = steps(&bench.entries)[10..17]
        .iter()
        .map(|step| step.load.stimulus().unwrap().until.bytes.unwrap())
        .collect();
    assert!(amounts.iter().all(|amount| *amount == amounts[0]));
    let results = FillResults::new(&test, &record);
    assert!((results.levels[1].after_idle[1].returned_gb().unwrap() - 0.2).abs() < 1e-4);
}

#[test]
fn what_is_too_little_to_time_is_not_read() {
    let test = build(|_| ());
    let reads = |returned: Option<f64>| {
        test.reads(test.levels[0], LastWrites { returned, ..LastWrites::default() }).len()
    };
    assert_eq!([reads(None), reads(Some(1e6)), reads(Some(200e6))], [2, 0, 2]);
}

#[test]
fn a_drive_that_is_not_purged_is_not_called_empty() {
    let purge = PurgeChoice::Method(PurgeMethod::Nothing);
    let test = build(|settings| settings.purge = purge);
    let findings = retouched(cached).studied(&test, &test.setup.settings);
    assert!(findings.ending.starts_with("Not purged: full speed"), "{}", findings.ending);
}

#[test]
fn a_record_that_ends_anywhere_shows_what_it_has() {
    let (test, whole) = conducted(&mut retouched(cached));
    assert_unfinished_wherever_it_ends(&test, &whole);
}

#[test]
fn random_writes_are_not_read_back() {
    let test = build(set("pattern", "RND 4K W"));
    let mut bench = retouched(cached);
    let record = bench.recorded(&test, &test.setup.settings);
    assert!(phases(&record).iter().all(|phase| !phase.starts_with("read-")));
}
