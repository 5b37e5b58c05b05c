use super::*;
use crate::testing::scripted::{
    assert_unfinished_wherever_it_ends, build, caveat_ids, figure, phase_steps, phases, record,
    refusal, scripted, settings_of, steps, weights,
};
use crate::testing::workload;
use steadfast_domain::findings::{Cell, Row};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    EndState, FineHistogram, JournalEntry, Measurement, Nanos, Op, Profile, Settings,
};

/// IOPS of the drive in a closed loop.
const MAXIMUM: f64 = 10_000.0;

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    settings_of(NAME, change)
}

/// A drive that completes what is offered up to its maximum.
fn keeps_up_to_the_maximum(step: &Step) -> f64 {
    let pace = step.load.stimulus().unwrap().pace.clone();
    pace.offered_iops().map_or(MAXIMUM, |offered| offered.min(MAXIMUM))
}

/// Response times of a single server with 100 us per I/O: 99 % take 100 us / (1 - load), and the
/// others twice as long.
fn with_a_queue(step: &Step, measurement: &mut Measurement) {
    let offered = step.load.stimulus().unwrap().pace.offered_iops().unwrap_or(MAXIMUM);
    let load = (offered / MAXIMUM).min(0.999);
    let time = (100_000.0 / (1.0 - load)) as u64;
    for stream in &mut measurement.streams {
        let ios = stream.tally.ios;
        let long = ios / 50;
        let mut dense = vec![0u64; FineHistogram::LEN];
        dense[FineHistogram::index(time)] += ios - long;
        dense[FineHistogram::index(2 * time)] += long;
        stream.tally.response_sum = Nanos(time * (ios + long));
        stream.tally.response_min = Some(Nanos(time));
        stream.tally.response_max = Nanos(2 * time);
        stream.tally.histogram = FineHistogram::from_dense(&dense);
    }
}

fn conducted(settings: &Settings) -> (Findings, Vec<JournalEntry>) {
    let test = build(settings);
    let mut bench = scripted(keeps_up_to_the_maximum);
    bench.retouch = with_a_queue;
    (bench.studied(&*test, settings), bench.entries)
}

fn rates(entries: &[JournalEntry], phase: &str) -> Vec<f64> {
    let steps = phase_steps(entries, phase).into_iter();
    steps.map(|step| step.load.stimulus().unwrap().pace.offered_iops().unwrap()).collect()
}

#[test]
fn the_closed_loop_comes_first_and_every_rate_is_a_part_of_its_maximum() {
    let (findings, entries) = conducted(&settings(|_| ()));
    assert_eq!(phases(&entries), ["wipc", "steady-state", "maximum", "curve"]);
    let stimulus = phase_steps(&entries, "steady-state")[0].load.stimulus().unwrap();
    assert_eq!(
        (stimulus.streams[0].op, stimulus.pace.clone()),
        (Op::Write, Pace::Closed),
        "prepares"
    );
    let percents = [5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 98.0, 102.0];
    assert_eq!(rates(&entries, "curve"), percents.map(|percent| percent * 100.0));
    for step in phase_steps(&entries, "curve") {
        let stimulus = step.load.stimulus().unwrap();
        assert_eq!(stimulus.streams[0].op, Op::Read);
        assert_eq!(stimulus.ramp, Nanos::from_secs(5));
        let ios =
            stimulus.pace.offered_iops().unwrap() * stimulus.until.time.unwrap().as_secs_f64();
        assert!(ios >= 109_999.0, "ten I/Os beyond 99.99 %: {ios}");
    }
    assert_eq!(findings.end, EndState::Steady);
    assert_eq!(figure(&findings, "maximum-iops"), Some(MAXIMUM));
    // 99 % of the I/Os at half of the maximum take twice 200 us; buckets are 0.78 % wide.
    for (id, expected) in [("p99-at-50", 0.4), ("p99-9-at-50", 0.4), ("p99-at-80", 1.0)] {
        let found = figure(&findings, id).unwrap();
        assert!((found / expected - 1.0).abs() < 0.008, "{id}: {found}");
    }
    // Power is load (1 - load) here, whose maximum is at 50 %.
    assert_eq!(figure(&findings, "knee-iops"), Some(5_000.0));
    assert!(findings.ending.contains("knee at 50 % (5,000 IOPS)"), "{}", findings.ending);
}

#[test]
fn a_rate_that_is_not_kept_up_with_has_no_response_times_and_is_marked() {
    let (findings, _) = conducted(&settings(|_| ()));
    let missed = findings.caveat("rate-missed").unwrap();
    assert!(missed.text.contains("102 % (10,000 of 10,200 IOPS)"), "{}", missed.text);
    let steadfast_domain::Exhibit::Table(table) = &findings.summary[0] else { panic!() };
    let row = table.rows.iter().find(|row| row.head == "102").unwrap();
    let last = row.cells.len() - 1;
    assert!(row.cells[3..last].iter().all(|cell| *cell == Cell::Missing));
    assert_eq!(row.cells[last], Cell::text("could not keep up"));
}

/// In a short step the tolerance for random arrivals is wider than 2 %.
#[test]
fn a_short_step_above_the_maximum_is_not_kept_up_with() {
    let settings = settings(|s| {
        s.set("points", "50,102");
        s.set("point-time", "1s");
        s.set("point-time-max", "1s");
    });
    let (findings, _) = conducted(&settings);
    let missed = findings.caveat("rate-missed").unwrap();
    assert!(missed.text.contains("102 % (10,000 of 10,200 IOPS)"), "{}", missed.text);
    // The table of every step has the same rule.
    let steps = findings.table("steps").unwrap();
    let column = steps.columns.iter().position(|column| column.name == "Kept up").unwrap();
    let value = |label: &str| {
        let is_step = |row: &&Row| row.cells.contains(&Cell::text(label));
        steps.rows.iter().find(is_step).unwrap().cells[column].clone()
    };
    assert_eq!(value("RND 4K R at 102 %"), Cell::text("NO"));
    assert_eq!(value("RND 4K R at 50 %"), Cell::text("yes"));
}

/// The 99 % percentile is 200 us / (1 - load): 1 ms at 80 %.
#[test]
fn the_service_level_is_met_up_to_the_rate_that_the_formula_says() {
    for (slo, expected) in [("p99=1ms", 8_000.0), ("p99.9=4ms", 9_500.0), ("p50=250us", 6_000.0)] {
        let settings = settings(|s| s.slo = Some(slo.parse().unwrap()));
        let (findings, entries) = conducted(&settings);
        let found = figure(&findings, "slo-iops").unwrap();
        assert!((found / expected - 1.0).abs() <= 0.021, "{slo}: {found}");
        let tried = rates(&entries, "slo-search");
        assert!(tried.len() <= 6, "{tried:?}");
        let text = format!("{slo} is met up to");
        assert!(findings.ending.contains(&text), "{}", findings.ending);
    }
}

#[test]
fn a_service_level_that_no_rate_or_every_rate_meets_is_said_without_a_search() {
    let (findings, entries) = conducted(&settings(|s| s.slo = Some("p50=90us".parse().unwrap())));
    assert_eq!(figure(&findings, "slo-iops"), None);
    assert!(findings.ending.contains("NOT met, not even at 500 IOPS"), "{}", findings.ending);
    assert!(rates(&entries, "slo-search").is_empty());
    let generous = settings(|s| {
        s.slo = Some("p99=1s".parse().unwrap());
        s.set("points", "10,20");
    });
    let (findings, entries) = conducted(&generous);
    assert_eq!(figure(&findings, "slo-iops"), Some(2_000.0));
    assert!(findings.ending.contains("the highest offered rate"), "{}", findings.ending);
    assert!(rates(&entries, "slo-search").is_empty());
}

#[test]
fn a_gap_repeats_the_rate_before_which_it_lies() {
    let settings = settings(|s| s.slo = Some("p99=1ms".parse().unwrap()));
    let test = build(&settings);
    let mut bench = scripted(keeps_up_to_the_maximum);
    bench.retouch = with_a_queue;
    bench.gap_before = vec![("curve", 0, 3), ("slo-search", 0, 1)];
    let findings = bench.studied(&*test, &settings);
    assert_eq!(
        phases(&bench.entries)[3..],
        [
            "curve", "curve (attempt 2)", "curve", "slo-search", "slo-search (attempt 2)",
            "slo-search"
        ]
    );
    let whole = conducted(&settings).0;
    assert_eq!(findings.front.figures, whole.front.figures);
    assert_eq!(caveat_ids(&findings).iter().filter(|id| **id == "gap").count(), 2);
}

#[test]
fn a_record_that_broke_off_anywhere_is_studied() {
    let settings = settings(|s| {
        s.profile = Profile::Quick;
        s.slo = Some("p99=1ms".parse().unwrap());
    });
    let (whole, entries) = conducted(&settings);
    let test = build(&settings);
    assert_unfinished_wherever_it_ends(&*test, &record(&settings, entries));
    assert!(!whole.ending.contains("not finished"));
}

/// Too slow for 99.99 % at low rates: the longest time of a rate prevents it.
#[test]
fn percentiles_that_the_time_does_not_allow_are_missing_and_named() {
    let settings = settings(|s| {
        s.slo = Some("p99.99=10s".parse().unwrap());
        s.set("point-time-max", "60s");
    });
    let (findings, _) = conducted(&settings);
    let short = findings.caveat("percentile-unsupported").unwrap();
    assert!(short.text.starts_with("At 5 %, 10 % of the maximum"), "{}", short.text);
}

#[test]
fn a_captured_workload_is_applied_by_its_weights() {
    let (findings, entries) = conducted(&workload::settings(NAME));
    assert_eq!(findings.title, "Load Curve shop");
    for step in steps(&entries).into_iter().filter(|s| s.place.phase != "wipc") {
        assert_eq!(weights(step), [5000, 3000, 2000], "{}", step.place);
    }
}

/// The chosen rate paces the saturation and the histogram, but nothing that prepares.
#[test]
fn a_rate_paces_what_is_measured_and_is_disclosed() {
    let mut settings = Settings::new("wsat", 7);
    settings.profile = Profile::Quick;
    settings.set("precondition", "wipc");
    settings.rate = Some(steadfast_domain::rate::OfferedLoad {
        rate: "2000".parse().unwrap(),
        arrivals: steadfast_domain::rate::Arrivals::Fixed,
    });
    let test = build(&settings);
    let mut bench = scripted(|_| 1_000.0);
    let findings = bench.studied(&*test, &settings);
    for step in steps(&bench.entries) {
        let offered = step.load.stimulus().unwrap().pace.offered_iops();
        let expected = (step.place.phase != "wipc").then_some(2_000.0);
        assert_eq!(offered, expected, "{}", step.place);
        assert_eq!(step.place.label.contains("at 2000 IOPS"), expected.is_some(), "{}", step.place);
    }
    let text = |id: &str| findings.caveat(id).unwrap().text.clone();
    assert!(text("offered-rate").contains("2000 IOPS, evenly spaced"));
    assert!(text("rate-missed").contains("could not keep up with 2000 IOPS"));
    settings.rate = Some(steadfast_domain::rate::OfferedLoad {
        rate: "9000000".parse().unwrap(),
        arrivals: Default::default(),
    });
    assert!(refusal(&settings).contains("threads"));
}
