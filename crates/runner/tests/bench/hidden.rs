//! Procedures on simulated drives whose parameters they cannot see: what they report must be what
//! the drive was made with, also after an interruption.

use super::{begin, findings, interrupted_run, resume, scratch_path};
use steadfast_domain::{Bytes, Findings, Nanos, Settings};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{DriveSpec, IdleState, PseudoSlc, SimulatedSsd, drive};
use steadfast_runner::run::RunOutcome;
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig, RunPlan};

fn rig(spec: &DriveSpec) -> SimulatedRig {
    SimulatedRig::new(SimulatedSsd::new(spec, 1, StopSignal::default()), None)
}

fn plan(spec: &DriveSpec, procedure: &str, parameters: &[(&str, &str)]) -> RunPlan {
    let mut settings = Settings::new(procedure, 7);
    for (name, value) in parameters {
        settings.set(name, value);
    }
    RunPlan::new("steadfast 0", 1, "sim", rig(spec).device().clone(), settings)
}

fn run(spec: &DriveSpec, procedure: &str, parameters: &[(&str, &str)]) -> Findings {
    let (_scratch, directory) = scratch_path();
    let plan = plan(spec, procedure, parameters);
    assert_eq!(begin(&directory, &plan, &mut rig(spec)), RunOutcome::Complete);
    findings(&directory)
}

fn figure(findings: &Findings, id: &str) -> Option<f64> {
    findings.figure(id).unwrap().value
}

/// Asserts that a figure is within 3 % of what the drive was made with.
fn assert_figure(findings: &Findings, id: &str, expected: f64) {
    assert_recovered(id, figure(findings, id), expected);
}

/// Asserts that a metric of a point is within 3 % of what the drive was made with.
fn assert_metric(findings: &Findings, name: &str, point: &str, expected: f64) {
    let mut metrics = findings.metrics.iter();
    let found = metrics.find(|metric| metric.metric == name && metric.point == point);
    assert_recovered(&format!("{name}, {point}"), found.map(|metric| metric.value), expected);
}

fn assert_recovered(name: &str, found: Option<f64>, expected: f64) {
    let found = found.unwrap_or_else(|| panic!("{name} is missing"));
    println!("{name}: {found:.3} for {expected:.3}");
    assert!((found / expected - 1.0).abs() < 0.03, "{name}: {found} for {expected}");
}

fn cache() -> PseudoSlc {
    drive("pslc").unwrap().pseudo_slc.unwrap()
}

/// Returns a drive with this cache, and the findings of `fill` on it.
fn filled(cache: PseudoSlc, parameters: &[(&str, &str)]) -> (DriveSpec, Findings) {
    let spec = DriveSpec { pseudo_slc: Some(cache), ..drive("pslc").unwrap().clone() };
    let findings = run(&spec, "fill", parameters);
    (spec, findings)
}

/// Returns the GB of the cache that are free again after an idle time.
fn returned_gb(seconds: f64, cache: &PseudoSlc) -> f64 {
    let time = seconds - cache.fold_after.as_secs_f64();
    (time * f64::from(cache.fold_mb_per_second) / 1000.0).min(cache.size.as_gb())
}

#[test]
fn fill_recovers_the_cache_of_an_empty_drive() {
    let caches = [
        cache(),
        PseudoSlc { size: Bytes(700_000_000), mb_per_second: 90, ..cache() },
        PseudoSlc { direct_mb_per_second: 70, fold_mb_per_second: 4, ..cache() },
        PseudoSlc {
            size: Bytes(2_400_000_000),
            mb_per_second: 180,
            fold_after: Nanos::from_secs(20),
            fold_mb_per_second: 7,
            direct_room: Bytes(20_000_000_000),
            ..cache()
        },
    ];
    for cache in caches {
        let parameters = [("levels", "0"), ("idle-times", "1min,3min,20min"), ("again-max", "50")];
        let (spec, findings) = filled(cache, &parameters);
        let size = cache.size.as_gb();
        assert_figure(&findings, "full-speed", cache.mb_per_second.into());
        assert_figure(&findings, "full-speed-amount", size);
        assert_figure(&findings, "next-speed", cache.direct_mb_per_second.into());
        let folds = cache.direct_room < spec.capacity();
        let slowest = if folds { cache.folding_mb_per_second } else { cache.direct_mb_per_second };
        assert_figure(&findings, "lowest-speed", slowest.into());
        assert_figure(&findings, "back-after-60s", returned_gb(60.0, &cache));
        assert_figure(&findings, "back-after-180s", returned_gb(180.0, &cache));
        assert_figure(&findings, "back-after-1200s", size);
    }
}

/// The writes replace data of a drive that is 50 or 90 % full: its cache is as large as when empty.
#[test]
fn fill_recovers_the_cache_of_a_filled_drive() {
    let caches = [
        cache(),
        PseudoSlc { size: Bytes(900_000_000), mb_per_second: 150, ..cache() },
        PseudoSlc { direct_mb_per_second: 60, fold_mb_per_second: 8, ..cache() },
    ];
    for cache in caches {
        let parameters = [("levels", "50,90"), ("idle-times", "1min,20min"), ("again-max", "50")];
        let (_, findings) = filled(cache, &parameters);
        let size = cache.size.as_gb();
        for level in ["50 % full", "90 % full"] {
            assert_metric(&findings, "full-speed", level, cache.mb_per_second.into());
            assert_metric(&findings, "full-speed-amount", level, size);
            assert_metric(&findings, "next-speed", level, cache.direct_mb_per_second.into());
            let idle = |time: &str| format!("{level}, {time} idle");
            assert_metric(&findings, "returned", &idle("60 s"), returned_gb(60.0, &cache));
            assert_metric(&findings, "returned", &idle("20 min"), size);
        }
    }
}

#[test]
fn a_drive_without_a_cache_has_no_cliff() {
    for name in ["small", "client"] {
        let findings = run(drive(name).unwrap(), "fill", &[("levels", "0"), ("idle-times", "10s")]);
        assert_eq!(figure(&findings, "full-speed-amount"), None, "{name}");
        assert_eq!(figure(&findings, "back-after-10s"), None, "{name}");
        assert!(findings.ending.contains("without a cliff"), "{name}: {}", findings.ending);
    }
}

/// A simulated drive is new in every process: the steps of the journal are applied again and must
/// give the same.
#[test]
fn an_interrupted_fill_reports_the_same() {
    let spec = drive("pslc").unwrap();
    let (_scratch, whole) = scratch_path();
    let plan = plan(spec, "fill", &[("levels", "0"), ("idle-times", "30s,2min")]);
    begin(&whole, &plan, &mut rig(spec));
    let expected = findings(&whole);
    let lines = Ledger::read(&whole).unwrap().lines.len();
    for keep in [1, 4, 9, lines - 3, lines - 1] {
        let directory = interrupted_run(&whole, keep);
        let outcome = resume(&directory, &mut rig(spec));
        assert_eq!(outcome, RunOutcome::Complete, "after {keep} lines");
        let found = findings(&directory);
        assert_eq!(found.front.figures, expected.front.figures, "after {keep} of {lines} lines");
        assert_eq!(found.ending, expected.ending);
    }
}

static STATES: [[IdleState; 2]; 2] = [
    [
        IdleState { after: Nanos::from_millis(20), exit_latency: Nanos(70_123) },
        IdleState { after: Nanos::from_millis(700), exit_latency: Nanos(9_000_001) },
    ],
    [
        IdleState { after: Nanos::from_secs(4), exit_latency: Nanos(654_321) },
        IdleState { after: Nanos::from_secs(200), exit_latency: Nanos(1_200_000_000) },
    ],
];

#[test]
fn idle_exit_recovers_exit_latencies_exactly() {
    // Neighbors of each threshold in the ladder.
    let thresholds = [[("10ms", "30ms"), ("300ms", "1s")], [("3s", "10s"), ("1min", "10min")]];
    for (states, thresholds) in STATES.iter().zip(thresholds) {
        let spec = DriveSpec { idle_states: states, ..drive("exact").unwrap().clone() };
        let findings = run(&spec, "idle-exit", &[]);
        let table = findings.table("states").unwrap();
        assert_eq!(table.rows.len(), states.len());
        for ((row, state), (not_after, after)) in table.rows.iter().zip(states).zip(thresholds) {
            use steadfast_domain::findings::Cell;
            let [Cell::Text(before), Cell::Text(from), Cell::Number { value, .. }] = &row.cells[..]
            else {
                panic!("{row:?}")
            };
            let time = |text: &str| text.parse::<Nanos>().unwrap();
            assert_eq!((time(before), time(from)), (time(not_after), time(after)));
            assert_eq!((value * 1e6).round() as u64, state.exit_latency.0);
        }
    }
    let awake = run(drive("exact").unwrap(), "idle-exit", &[]);
    assert!(awake.ending.starts_with("At no idle time up to"), "{}", awake.ending);
}

/// Write amplification of the saturation's minutes, and the bytes that the run wrote in all.
struct Saturation {
    amplification: Vec<f64>,
    written: u64,
}

/// Conducts WSAT with these parameters and returns what the drive counted.
fn saturated(spec: &DriveSpec, ending: &str, parameters: &[(&str, &str)]) -> Saturation {
    let (_scratch, directory) = scratch_path();
    let mut plan = plan(spec, "wsat", parameters);
    plan.settings.steady_state = ending.parse().unwrap();
    begin(&directory, &plan, &mut rig(spec));
    let record = Ledger::read(&directory).unwrap().into_record();
    let mut saturation = Saturation { amplification: Vec::new(), written: 0 };
    for (step, outcome) in record.steps() {
        saturation.written += outcome.measurement.bytes().0;
        if step.place.phase == "saturation" {
            let counted = outcome.measurement.write_amplification;
            saturation.amplification.extend(counted.map(|counted| counted.ratio));
        }
    }
    saturation
}

/// A pass of 1.07 to 1.28 capacities leaves the drive as 13 capacities of random writes do.
#[test]
fn one_pass_leaves_the_drive_in_the_steady_state_of_random_writes() {
    for superblocks in [548, 594, 656] {
        let spec = DriveSpec { superblocks, ..drive("small").unwrap().clone() };
        let parameters = [("histogram-time", "1s")];
        let long = saturated(&spec, "fills:13", &parameters);
        let last = &long.amplification[long.amplification.len() - 5..];
        let steady = last.iter().sum::<f64>() / last.len() as f64;
        let spare = format!("{}%", spec.spare() * 100.0);
        let parameters = [parameters[0], ("precondition", "one-pass"), ("spare", &spare)];
        let short = saturated(&spec, "time:2min", &parameters);
        let first = short.amplification[0];
        let passed = spec.capacity().0 as f64 * (1.0 + spec.spare());
        println!("{spare}: {first:.3} after the pass, {steady:.3} after {} bytes", long.written);
        assert!((first / steady - 1.0).abs() < 0.05, "{spare}: {first} for {steady}");
        assert!(passed < 0.1 * long.written as f64, "{passed} of {}", long.written);
    }
}
