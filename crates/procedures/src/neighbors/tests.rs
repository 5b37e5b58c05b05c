use super::control::ControlName;
use super::results::NeighborsResults;
use super::setup::{OFF, ON};
use super::*;
use crate::testing::scripted::{
    ScriptedBench, broken_record, figure_ids, first_of_phase, phase_steps, purges, record,
    requested, scripted, steps,
};
use steadfast_domain::{
    Bytes, EndState, GroupLimits, JournalEntry, LoadGroup, Measurement, Nanos, Op, Settings, Step,
};

fn build(pairs: &[&str]) -> Neighbors {
    let mut settings = Settings::new("neighbors", 7);
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap();
        settings.set(name, value);
    }
    requested(&settings, Neighbors::new)
}

/// The kernel of this bench has io.max only, and no scheduler BFQ.
fn settle(wanted: &Conditions) -> Conditions {
    let unmet = vec!["the write cache cannot be set".to_owned()];
    let mut got = Conditions { scheduler: Some("none".into()), unmet, ..wanted.clone() };
    if matches!(wanted.io_control, Some(IoControl::BfqWeight { .. })) {
        got.unmet.push("there is no scheduler bfq".into());
    }
    if matches!(wanted.io_control, Some(IoControl::Cost { .. } | IoControl::Latency { .. })) {
        (got.io_control, got.unmet) = (None, vec!["the kernel has none".into()]);
    }
    got
}

/// The victim's I/Os take 1 ms, with the offender on 10 ms, and 4 ms if that is limited.
fn bench() -> ScriptedBench<impl FnMut(&Step) -> f64> {
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "victim-max" => 20_000.0,
        "wipc" => 1000.0,
        "offender-1" => 800.0,
        _ => 4000.0,
    });
    bench.settle = settle;
    bench.response = |step| {
        let is_limited = step.place.phase.starts_with("io-max");
        Some(match step.place.point {
            ON if is_limited => Nanos::from_millis(4),
            ON => Nanos::from_millis(10),
            _ => Nanos::from_millis(1),
        })
    };
    // The offender moves 100 I/Os per second next to the victim, 25 if it is limited.
    bench.retouch = |step, measurement: &mut Measurement| {
        if step.place.point == ON && !step.groups.is_empty() {
            let rate = if step.place.phase.starts_with("io-max") { 25 } else { 100 };
            let seconds = measurement.elapsed.0 / 1_000_000_000;
            let tally = &mut measurement.streams[1].tally;
            (tally.ios, tally.bytes) = (rate * seconds, Bytes(rate * seconds * 131_072));
        }
    };
    bench
}

const SHORT: &[&str] = &["offenders=SEQ 128K W", "cycles=2"];

#[test]
fn each_offender_is_measured_alone_and_in_cycles_under_each_control_that_is_there() {
    let test = build(SHORT);
    let mut bench = bench();
    test.conduct(&mut bench).unwrap();
    let all = steps(&bench.entries);
    let places: Vec<(&str, u32, u32)> = all
        .iter()
        .filter(|step| !step.groups.is_empty())
        .map(|step| (step.place.phase.as_str(), step.place.round, step.place.point))
        .collect();
    let cycles = |phase| [(phase, 1, OFF), (phase, 1, ON), (phase, 2, OFF), (phase, 2, ON)];
    let mut expected = vec![("victim-max", 0, 1), ("offender-1", 0, 1)];
    expected.extend(cycles("none-1"));
    expected.extend(cycles("io-max-1"));
    assert_eq!(places, expected);
    let on = all.iter().find(|step| step.place.point == ON && step.place.round == 1).unwrap();
    assert_eq!(on.groups, LoadGroup::ALL);
    let [victim, offender] = on.load.stimuli() else { panic!("two loads") };
    assert_eq!(victim.pace.offered_iops(), Some(4000.0), "20 % of 20,000");
    assert_eq!(victim.active_range.length, Bytes::mib(512));
    assert_eq!(offender.active_range.start, Bytes::mib(512), "the other half");
    assert_eq!(offender.pace, Pace::Closed);
    assert_ne!(victim.seed, offender.seed);
    // A quarter of 800 x 128 KiB per second.
    let limits = GroupLimits { write_bytes: Some(200 * 131_072), ..GroupLimits::default() };
    let limit = IoControl::Max(limits);
    let entries = bench.entries.iter();
    let settled: Vec<Option<IoControl>> = entries
        .filter_map(|entry| match entry {
            JournalEntry::Settled { wanted, .. } => Some(wanted.io_control),
            _ => None,
        })
        .collect();
    assert!(settled.contains(&Some(limit)), "{settled:?}");
    assert_eq!(settled.last(), Some(&Some(IoControl::Uncontrolled)));
}

#[test]
fn isolation_and_utilization_are_quotients_of_what_was_measured() {
    let test = build(SHORT);
    let mut bench = bench();
    let record = bench.recorded(&test, &test.setup.settings);
    let results = NeighborsResults::new(&test, &record);
    let near = |value: Option<f64>, expected: f64| {
        assert!(value.is_some_and(|v| (v / expected - 1.0).abs() < 0.01), "{value:?} {expected}");
    };
    let [none, limited] = results.disturbances.as_slice() else { panic!("two controls") };
    near(none.isolation(), 1.0 / 10.0);
    near(limited.isolation(), 1.0 / 4.0);
    let (victim, alone) = (4000.0 * 4096.0, 800.0 * 131_072.0);
    near(none.utilization(), (victim + 100.0 * 131_072.0) / alone);
    near(limited.utilization(), (victim + 25.0 * 131_072.0) / alone);
    near(limited.limit, 200.0 * 131_072.0);
    assert_eq!(none.limit, None);
    assert_eq!(none.course.len(), 4);
    let names: Vec<ControlName> = results.controls.iter().map(|control| control.name).collect();
    let expected =
        [ControlName::Max, ControlName::BfqWeight, ControlName::Cost, ControlName::Latency];
    assert_eq!(names[1..], expected);
    let why: Vec<Option<&str>> =
        results.controls.iter().map(|control| control.unavailable.as_deref()).collect();
    let none = Some("the kernel has none");
    assert_eq!(why, [None, None, Some("there is no scheduler bfq"), none, none]);
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::Complete);
    let expected = ["isolation-none", "isolation-io-max", "utilization-none", "utilization-io-max"];
    assert_eq!(figure_ids(&findings), expected);
}

#[test]
fn a_control_that_was_named_must_be_there() {
    let mut bench = bench();
    let named = build(&["controls=io.bfq.weight"]).conduct(&mut bench).unwrap_err();
    assert!(named.to_string().contains("io.bfq.weight is unavailable"), "{named}");
    let mut bench = self::bench();
    bench.settle = |wanted| Conditions {
        io_control: None,
        unmet: vec!["the kernel has none".into()],
        ..wanted.clone()
    };
    let none = build(&[]).conduct(&mut bench).unwrap_err();
    assert!(none.to_string().contains("needs control groups"), "{none}");
    assert!(steps(&bench.entries).is_empty(), "nothing was written");
    assert_eq!(purges(&bench.entries), 0);
}

/// The kernel has io.max before the purge and not when its limit is set for the cycles.
#[test]
fn a_control_that_is_lost_halts_the_run() {
    let mut bench = bench();
    bench.settle = |wanted| {
        let mut got = settle(wanted);
        // The limit of the check is a quarter of 1 GB/s.
        if let Some(IoControl::Max(limits)) = wanted.io_control
            && limits.write_bytes != Some(250_000_000)
        {
            (got.io_control, got.unmet) = (None, vec!["io.max is gone".into()]);
        }
        got
    };
    let lost = build(SHORT).conduct(&mut bench).unwrap_err();
    assert!(lost.to_string().contains("io.max is no longer in effect: io.max is gone"), "{lost}");
    assert!(phase_steps(&bench.entries, "io-max-1").is_empty());
}

/// A resumed run that finds its control gone: the steps after it do not count.
#[test]
fn steps_without_their_control_do_not_count() {
    let test = build(SHORT);
    let mut bench = bench();
    test.conduct(&mut bench).unwrap();
    let first = first_of_phase(&bench.entries, "io-max-1");
    let got = Conditions { io_control: None, ..Conditions::default() };
    bench.entries.insert(first + 2, JournalEntry::Resettled { got, when: None });
    let record = record(&test.setup.settings, bench.entries);
    let results = NeighborsResults::new(&test, &record);
    let lengths: Vec<usize> =
        results.disturbances.iter().map(|disturbance| disturbance.course.len()).collect();
    assert_eq!(lengths, [4, 2]);
}

#[test]
fn a_victim_without_any_io_has_no_rate() {
    let mut bench = bench();
    bench.retouch = |step, measurement| {
        if step.place.phase == "victim-max" {
            measurement.streams.clear();
        }
    };
    let none = build(SHORT).conduct(&mut bench).unwrap_err();
    assert!(none.to_string().contains("completed no I/O"), "{none}");
}

#[test]
fn the_range_of_discards_is_written_before_each_use() {
    let test = build(&["offenders=discards", "cycles=1", "controls=io.max", "rate=500"]);
    let mut bench = bench();
    test.conduct(&mut bench).unwrap();
    let phases: Vec<&str> = steps(&bench.entries)
        .iter()
        .map(|step| step.place.phase.as_str())
        .filter(|phase| !phase.starts_with("wipc"))
        .collect();
    let expected = [
        "fill-offender-1", "offender-1", "fill-none-1", "none-1", "none-1", "fill-io-max-1",
        "io-max-1", "io-max-1",
    ];
    assert_eq!(phases, expected);
    let fill = phase_steps(&bench.entries, "fill-none-1")[0].load.stimulus().unwrap();
    assert_eq!(
        (fill.active_range.start, fill.until.bytes),
        (Bytes::mib(512), Some(Bytes::mib(512)))
    );
    let limits = test.offenders[0].limits(8e6);
    assert_eq!(limits, GroupLimits { write_ios: Some(7), ..GroupLimits::default() });
    assert_eq!(test.offenders[0].streams[0].op, Op::Discard);
}

#[test]
fn a_mix_is_limited_in_each_direction_by_its_share() {
    let test = build(&["offenders=RND 64K RW70"]);
    let limits = test.offenders[0].limits(10e6);
    assert_eq!((limits.read_bytes, limits.write_bytes), (Some(7_000_000), Some(3_000_000)));
}

#[test]
fn a_run_that_broke_off_has_no_result_of_what_it_did_not_measure() {
    let test = build(SHORT);
    let mut bench = bench();
    test.conduct(&mut bench).unwrap();
    // The first step without the offender is the only one.
    bench.entries.truncate(first_of_phase(&bench.entries, "none-1") + 1);
    let broken = broken_record(&test.setup.settings, bench.entries);
    let results = NeighborsResults::new(&test, &broken);
    assert_eq!(results.disturbances.len(), 1);
    let none = &results.disturbances[0];
    assert_eq!((none.isolation(), none.utilization()), (None, None));
    assert_eq!(test.study(&broken).end, EndState::Unfinished);
}

/// Next to the offender the victim completes half of what it offers: its response times would grow
/// with the length of a step.
#[test]
fn a_victim_that_could_not_keep_up_has_no_response_times() {
    let test = build(SHORT);
    let mut slow = scripted(|step| match step.place.phase.as_str() {
        "victim-max" => 20_000.0,
        "wipc" => 1000.0,
        "offender-1" => 800.0,
        phase if step.place.point == ON && !phase.starts_with("io-max") => 2000.0,
        _ => 4000.0,
    });
    let usual = bench();
    (slow.settle, slow.response, slow.retouch) = (usual.settle, usual.response, usual.retouch);
    let record = slow.recorded(&test, &test.setup.settings);
    let results = NeighborsResults::new(&test, &record);
    let [none, limited] = results.disturbances.as_slice() else { panic!("two controls") };
    assert!(none.on.fell_behind && !none.off.fell_behind && !limited.on.fell_behind);
    assert_eq!((none.isolation(), none.on.response_ms(0.99)), (None, None));
    assert!(limited.isolation().is_some());
    let findings = test.study(&record);
    let figure = |id: &str| findings.figure(id).unwrap();
    let isolation = figure("isolation-none");
    assert_eq!((isolation.value, isolation.note.as_deref()), (None, Some("could not keep up")));
    assert_eq!(isolation.subject.as_ref(), Some(&none.offender));
    assert!(figure("isolation-io-max").value.is_some());
    assert_eq!(findings.metrics.iter().filter(|metric| metric.metric == "p99-on").count(), 1);
    assert!(findings.ending.contains("could not keep up"), "{}", findings.ending);
}
