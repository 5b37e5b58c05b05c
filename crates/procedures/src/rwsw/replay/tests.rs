use super::*;
use crate::testing::scripted::{
    applied, build, idle_times, page, phases, plot_of, record, refusal, retouched, scripted, steps,
    weights,
};
use crate::testing::workload::{settings, workload};
use steadfast_domain::findings::Exhibit;
use steadfast_domain::measurement::{Interval, StreamTally, UnmeasuredIos};
use steadfast_domain::replayed::IntervalLateness;
use steadfast_domain::script::OpCounts;
use steadfast_domain::stimulus::{DataPattern, Pace};
use steadfast_domain::{
    Bytes, Demand, FineHistogram, JournalEntry, Load, Measurement, Nanos, Op, ReplayResult,
    Settings, Tally,
};

fn plain(name: &str, value: &str) -> Settings {
    let mut settings = settings("replay-native");
    settings.set("preconditioning", "none");
    settings.set(name, value);
    settings
}

#[test]
fn capture_steps_are_played_with_their_counts_demands_times_and_pauses() {
    let settings = plain("pauses", "keep");
    let test = build(&settings);
    let mut bench = scripted(|_| 500.0);
    bench.response = |_| Some(Nanos::from_millis(4));
    let findings = bench.studied(&*test, &settings);
    let all = steps(&bench.entries);
    let loads: Vec<_> = all.iter().map(|step| step.load.stimulus().unwrap()).collect();
    let weights: Vec<_> = all.iter().map(|step| weights(step)).collect();
    assert_eq!(weights, [vec![2000, 1000], vec![2000; 2], vec![3000]]);
    for (load, step) in loads.iter().zip(&workload().steps) {
        assert_eq!(
            load.streams.iter().map(|s| u64::from(s.weight)).sum::<u64>(),
            step.captured_ios - 1
        );
        assert_eq!((load.demand, load.until.time), (step.demand, Some(step.lasted)));
    }
    assert_eq!(loads[0].pace, Pace::Fixed { ios: 3000, per: Nanos::from_secs(10) });
    assert_eq!(loads[1].pace, Pace::Closed);
    let idled = idle_times(&bench.entries);
    assert_eq!(idled, [Nanos::from_secs(20)], "what was silent between the second and the third");
    // 500 IOPS for 3 x 10 s; the steps had 3,000, 4,000 and 3,000 I/Os.
    assert!(
        findings.ending.starts_with("Replay complete: 3 of 3 capture steps were played; 150.0 %")
    );
    let caveat = findings.caveat("paced-by-rate").unwrap();
    assert!(caveat.text.starts_with("1 of 3 capture steps"), "{}", caveat.text);
    let plot = plot_of(page(&findings, "Replay Native Outstanding I/Os v Time"));
    // 500 I/Os per second of 4 ms each: two outstanding, where the capture had 0.5.
    let first = |at: usize| plot.series[at].points[0];
    assert_eq!((first(0), first(1)), ((5.0, Some(2.0)), (5.0, Some(0.5))));
}

/// Data patterns of the tutorial's first and last step, 4.97:1 with 44.97 % and 5.98:1 with 40.52 %
/// of duplicates. A step of unknown data is written as the workload.
#[test]
fn every_capture_step_writes_its_own_data_where_the_workloads_are_wanted() {
    let pattern = |random_percent, duplicate_percent| DataPattern::Entropy {
        random_percent,
        duplicate_percent,
    };
    let patterns = |content: &str| {
        let mut settings = plain("content", content);
        let workload = settings.workload.as_mut().unwrap();
        workload.data_pattern = pattern(19, 42);
        workload.steps[0].data_pattern = Some(pattern(20, 45));
        workload.steps[2].data_pattern = Some(pattern(17, 41));
        workload.steps[2].threads = Some(3);
        let mut bench = scripted(|_| 500.0);
        bench.response = |_| Some(Nanos::from_millis(4));
        let findings = bench.studied(&*build(&settings), &settings);
        let all = steps(&bench.entries);
        let patterns: Vec<_> =
            all.iter().map(|s| s.load.stimulus().unwrap().data_pattern.clone()).collect();
        (patterns, findings)
    };
    let (own, findings) = patterns("workload");
    assert_eq!(own, [pattern(20, 45), pattern(19, 42), pattern(17, 41)]);
    let blocks = &findings.header.blocks;
    let row = blocks.iter().flat_map(|block| &block.rows).find(|row| row.id == "step-data");
    assert_eq!(row.unwrap().value.as_deref(), Some("as captured in 2 of 3 steps"));
    assert_eq!(patterns("settings").0, vec![DataPattern::RandomUnique; 3]);
    // T1Q8 with two I/Os outstanding; the capture had three threads, 0.5 outstanding, 7 at most.
    let table = findings.table("moments").unwrap();
    let number = |row: usize, column: usize| table.rows[row].cells[column].value();
    let oio = |row: usize| [5, 6, 7, 8, 9].map(|column| number(row, column));
    assert_eq!(oio(2), [Some(2.0), None, Some(8.0), Some(1.0), Some(2.0)]);
    assert_eq!(oio(8), [Some(0.5), Some(7.0), None, Some(3.0), Some(0.5 / 3.0)]);
    assert_eq!(oio(7), [Some(0.5), Some(7.0), None, None, None], "its threads are unknown");
}

/// The streams of `workload()` have 10,000 I/Os in 30 s of steps; the whole capture has 10,007.
#[test]
fn a_target_that_does_not_keep_up_is_a_warning_with_its_share() {
    let share = |iops: f64| {
        let settings = plain("pauses", "skip");
        let test = build(&settings);
        let findings = scripted(|_| iops).studied(&*test, &settings);
        let is_warned = findings.caveat("replay-share").is_some();
        (findings.ending.clone(), is_warned, findings)
    };
    let (ending, is_warned, findings) = share(27.0);
    assert!(ending.starts_with("Replay ended") && ending.contains("8.1 % of"), "{ending}");
    assert!(is_warned);
    let Exhibit::Table(table) = &findings.summary[0] else { panic!("no table") };
    let number = |row: &str| {
        let row = table.rows.iter().find(|found| found.head == row).unwrap();
        row.cells[0].value().unwrap()
    };
    assert_eq!(number("Capture, all I/Os"), 10_007.0);
    assert_eq!(number("Capture, all I/Os of these steps"), 10_003.0);
    assert_eq!(number("Capture, applied streams"), 10_000.0);
    let (ending, is_warned, _) = share(316.6);
    assert!(ending.contains("94.9 %") && is_warned, "not rounded up to the bound: {ending}");
    assert!(!share(400.0).1);
}

/// A fifth of the first stream's I/Os of the first two steps is outstanding at their ends, and the
/// second stream is played twice as often as captured.
#[test]
fn a_stream_that_lacks_ios_is_not_made_up_for_by_another() {
    let settings = plain("pauses", "skip");
    let test = build(&settings);
    let mut bench = scripted(|_| 400.0);
    test.conduct(&mut bench).unwrap();
    for (number, entry) in bench.entries.iter_mut().enumerate() {
        let JournalEntry::Applied { step, outcome } = entry else { continue };
        let weights: Vec<u64> =
            step.load.stimulus().unwrap().streams.iter().map(|s| s.weight.into()).collect();
        let measurement = &mut outcome.measurement;
        measurement.streams[0].tally.ios = weights[0];
        if let [first, second] = &mut measurement.streams[..] {
            first.tally.ios = weights[0] * 4 / 5;
            first.tally.outstanding = weights[0] / 5;
            second.tally.ios = weights[1] * 2;
            let (ios, bytes) = (weights[0] / 5, Bytes(4096 * number as u64));
            measurement.unmeasured = vec![UnmeasuredIos { op: first.op, ios, bytes }];
        }
    }
    let findings = test.study(&record(&settings, bench.entries));
    let text = |id: &str| &findings.caveat(id).unwrap().text;
    assert!(text("replay-unmeasured").starts_with("800 I/Os ("), "{}", text("replay-unmeasured"));
    assert!(text("replay-share").contains("(fewest: "), "{}", text("replay-share"));
    assert!(findings.ending.starts_with("Replay ended"), "{}", findings.ending);
    let json = serde_json::to_value(&findings).unwrap().to_string();
    assert!(json.contains("streams-compared") && json.contains("I/Os after their step"));
}

#[test]
fn the_composite_to_steady_state_and_the_demands_can_precede_it() {
    let phases_of = |preconditioning: &str| {
        let mut bench = scripted(|_| 1000.0);
        let mut settings = settings("replay-native");
        settings.set("preconditioning", preconditioning);
        build(&settings).conduct(&mut bench).unwrap();
        phases(&bench.entries)
    };
    assert_eq!(phases_of("none"), ["replay"]);
    assert_eq!(phases_of("wipc"), ["wipc", "replay"]);
    assert_eq!(phases_of("multi-wsat"), ["wipc", "steady-state", "replay"]);
    assert_eq!(
        phases_of("rwsw-dirth"),
        ["wipc", "steady-state", "preconditioning-demand", "replay"]
    );
}

#[test]
fn a_gap_repeats_no_step_and_is_told() {
    let settings = plain("pauses", "skip");
    let mut bench = scripted(|_| 500.0);
    bench.gap_before = vec![("replay", 0, 2)];
    let findings = bench.studied(&*build(&settings), &settings);
    assert_eq!(steps(&bench.entries).len(), 3);
    let gap = findings.caveat("gap").unwrap();
    assert!(gap.text.contains("from its beginning; nothing is left out"), "{}", gap.text);
}

#[test]
fn what_cannot_be_replayed_is_refused_with_the_remedy() {
    let why = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings("replay-native");
        change(&mut settings);
        refusal(&settings)
    };
    let none = why(&|s| s.workload.as_mut().unwrap().steps.clear());
    assert!(none.contains("no capture steps") && none.contains("multi-wsat"), "{none}");
    let fine = why(&|s| s.workload.as_mut().unwrap().steps[1].lasted = Nanos::from_millis(1));
    assert!(fine.contains("wider steps"), "{fine}");
}

fn script() -> ScriptLoad {
    ScriptLoad {
        digest: "ab".repeat(32),
        counts: OpCounts { reads: 6000, writes: 4000, discards: 0, flushes: 7 },
        bytes: Bytes(40_960_000),
        span: Nanos::from_secs(150),
        largest: Bytes(4096),
        unit: Bytes(512),
        reach: Bytes(1 << 20),
        ..ScriptLoad::new("shop.parquet", Demand::new(1, 32))
    }
}

#[test]
fn single_ios_are_one_load_that_is_cut_every_minute() {
    let mut settings = plain("alignment", "auto");
    settings.workload.as_mut().unwrap().script = Some(script());
    let test = build(&settings);
    // The script is complete after the third minute.
    let bench = retouched(|step, measurement| measurement.complete = step.place.point == 3);
    let bench = bench.conducted(&*test);
    let steps = steps(&bench.entries);
    assert_eq!(steps.len(), 3);
    assert!(steps.iter().all(|step| step.load == Load::Script(script())));
    assert!(steps.iter().all(|step| step.cut == Some(Nanos::from_secs(60))));
    build(&Settings { depth: Some(4), ..settings.clone() });
    assert!(!steps[0].continues && steps[1..].iter().all(|step| step.continues));
    let findings = test.study(&record(&settings, Vec::new()));
    assert_eq!(
        findings.ending,
        "Replay ended: 0 of 10,007 I/Os were played; 0.0 % of those that were to be played."
    );
    let share = findings.caveat("replay-share").unwrap();
    assert_eq!(share.kind, steadfast_domain::CaveatKind::Invalidates);
    let left = findings.caveat("replay-left-out").unwrap();
    assert!(left.text.contains("10007 are in no count"), "{}", left.text);
}

/// A part of seven seconds with 1,009 I/Os in each, all of them `late_us` microseconds late.
fn replayed(point: u32, late_us: u64) -> JournalEntry {
    let step = setup::part(&script(), Nanos::from_secs(7), point);
    let second = |at: u64| {
        let mut counts = vec![0u64; FineHistogram::LEN];
        counts[FineHistogram::index(late_us * 1000)] = 1009;
        let late = IntervalLateness {
            ios: 1009,
            sum: Nanos(1009 * late_us * 1000),
            max: Nanos(late_us * 1000),
        };
        let interval = Interval {
            begin: Nanos::from_secs(at),
            end: Nanos::from_secs(at + 1),
            partial: false,
            tallies: Vec::new(),
        };
        (FineHistogram::from_dense(&counts), late, interval)
    };
    let mut part = ReplayResult::default();
    let mut measurement =
        Measurement { complete: true, elapsed: Nanos::from_secs(7), ..Measurement::default() };
    for at in 0..7 {
        let (histogram, late, interval) = second(at);
        part.lateness.ios += late.ios;
        part.lateness.sum += late.sum;
        part.lateness.max = part.lateness.max.max(late.max);
        part.lateness.histogram.merge(&histogram);
        part.intervals.push(late);
        measurement.intervals.push(interval);
    }
    let tally = Tally { ios: 7063, bytes: Bytes(7063 * 4096), ..Tally::default() };
    measurement.streams.push(StreamTally { op: Op::Read, tally });
    let response_max = Nanos::from_millis(3);
    let served = Tally { ios: 7063, response_max, ..Tally::default() };
    part.served.push(StreamTally { op: Op::Read, tally: served });
    measurement.replay = Some(Box::new(part));
    applied(step, measurement)
}

#[test]
fn single_ios_are_reported_with_their_start_errors_drift_and_verdict() {
    let mut settings = plain("cut", "7s");
    settings.workload.as_mut().unwrap().script = Some(script());
    let test = build(&settings);
    let found = |late: [u64; 2]| {
        let entries = vec![replayed(1, late[0]), replayed(2, late[1])];
        let findings = test.study(&record(&settings, entries));
        let Exhibit::Facts(facts) = &findings.summary[1] else { panic!("no facts") };
        let fact = |id: &str| {
            let row = facts.rows.iter().find(|row| row.label == id).unwrap();
            row.value.clone().unwrap_or_default()
        };
        let labels =
            ["Start error p50", "Start error, at most", "Drift, last seconds against first"];
        (labels.map(fact), fact("Verdict"), findings)
    };
    let (numbers, verdict, findings) = found([10, 10]);
    assert_eq!((numbers[1].as_str(), numbers[2].as_str()), ("10.0 µs", "0.0 µs"));
    let median: f64 = numbers[0].trim_end_matches(" µs").parse().unwrap();
    assert!((median / 10.0 - 1.0).abs() < 0.01, "{median}");
    assert_eq!(verdict, "the target kept up with the trace");
    let plot = findings.form_pages.last().unwrap();
    assert_eq!(plot.title, "Replay Native Start Error v Time");
    let done = findings.table("streams-compared").unwrap();
    let heads: Vec<&str> = done.rows.iter().map(|row| row.head.as_str()).collect();
    assert_eq!(heads, ["Reads", "Writes", "Flushes", "Together"]);
    let rows = &findings.table("replay-served").unwrap().rows;
    let number = |row: usize| rows[row].cells[0].value().unwrap();
    assert_eq!((number(0), number(rows.len() - 1)), (14_126.0, 3.0), "both parts together");
    let (numbers, verdict, _) = found([10, 5010]);
    assert_eq!(numbers[2], "5.000 ms");
    assert_eq!(verdict, "the target is slower than the trace");
}

#[test]
fn a_capture_without_steps_has_no_rates_to_compare_with() {
    let mut settings = plain("alignment", "auto");
    let workload = settings.workload.as_mut().unwrap();
    workload.script = Some(script());
    workload.steps.clear();
    let findings = build(&settings).study(&record(&settings, vec![replayed(1, 10)]));
    let table = findings.table("replay-summary").unwrap();
    for head in ["Capture, applied streams", "Capture, all I/Os of these steps"] {
        let row = table.rows.iter().find(|row| row.head == head).unwrap();
        assert!(row.cells[..4].iter().all(|cell| cell.value().is_none()), "{row:?}");
    }
}
