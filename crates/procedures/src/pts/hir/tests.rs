use super::results::HirResults;
use super::setup::{PRECONDITIONING, wait_phase};
use super::*;
use crate::testing::scripted::{
    GEOMETRY, ScriptedBench, idle_times, phase_steps, phases, purges, scripted, set, settings_of,
    setup, steps,
};
use steadfast_domain::{JournalEntry, Measurement, Settings, Step};

fn hir_test(change: impl FnOnce(&mut Settings)) -> Hir {
    setup(&settings_of("hir", change), GEOMETRY, &[]).and_then(Hir::new).unwrap()
}

/// 1000 IOPS when saturated; the idle seconds x 100 more after a pause.
fn rested(step: &Step) -> f64 {
    match step.place.phase.strip_prefix("wait-") {
        Some(rest) => {
            let seconds = rest.split('s').next().unwrap();
            1000.0 + 100.0 * seconds.parse::<f64>().unwrap()
        }
        None => 1000.0,
    }
}

fn conducted(hir: &Hir) -> ScriptedBench<fn(&Step) -> f64> {
    scripted(rested as fn(&Step) -> f64).conducted(hir)
}

#[test]
fn wait_states_follow_the_preconditioning_in_order() {
    let bench = conducted(&hir_test(|_| ()));
    assert!(matches!(bench.entries[1], JournalEntry::Purged(_)));
    let count = |phase: &str| phase_steps(&bench.entries, phase).len();
    assert_eq!(
        (count("preconditioning"), count("wait-25s"), count("baseline-25s")),
        (5 * 31, 360, 360)
    );
    assert_eq!(
        phases(&bench.entries),
        [
            "preconditioning", "wait-5s", "baseline-5s", "wait-10s", "baseline-10s", "wait-15s",
            "baseline-15s", "wait-25s", "baseline-25s", "wait-50s", "baseline-50s"
        ]
    );
}

#[test]
fn the_host_idles_after_every_access_and_never_in_a_baseline() {
    let bench = conducted(&hir_test(|_| ()));
    for pair in bench.entries.windows(2) {
        if let [JournalEntry::Applied { step, .. }, next] = pair {
            match next {
                JournalEntry::Idled(time) => assert_eq!(step.place.phase, wait_phase(*time)),
                _ => assert!(!step.place.phase.starts_with("wait-"), "{}", step.place),
            }
        }
    }
    let pauses = idle_times(&bench.entries);
    assert_eq!(pauses.len(), 5 * 360);
    let idled = Nanos(pauses.iter().map(|time| time.0).sum());
    assert_eq!(idled, Nanos::from_secs(360 * (5 + 10 + 15 + 25 + 50)));
    let baseline = phase_steps(&bench.entries, "baseline-5s");
    assert!(baseline[1..].iter().all(|s| s.continues && s.cut == Some(Nanos::from_secs(5))));
    // 55,800 s from the first access to the end of the last baseline.
    let accesses =
        steps(&bench.entries).iter().filter(|s| !s.place.phase.starts_with("pre")).count();
    assert_eq!(accesses as u64 * 5 + idled.0 / 1_000_000_000, 55_800);
}

#[test]
fn iops_are_of_the_access_and_x_is_wall_time() {
    let hir = hir_test(|s| {
        s.set("idle-times", "5,55");
        s.set("accesses", "3");
    });
    let mut bench = scripted(rested);
    // Access n of the first wait state begins at 1,000,000 ms + (n - 1) x 10 s.
    bench.retouch = |step: &Step, measurement: &mut Measurement| {
        let base = match step.place.phase.as_str() {
            "wait-5s" => 1_000_000,
            "baseline-5s" => 1_030_000,
            "wait-55s" => 1_045_000,
            _ => return,
        };
        let every = if step.place.phase.starts_with("base") { 5_000 } else { 10_000 };
        measurement.began_unix_ms = base + u64::from(step.place.point - 1) * every;
    };
    let record = bench.recorded(&hir, &hir.setup.settings);
    let results = HirResults::new(&hir, &record);
    let wait = &results.waits[0];
    let minutes = |seconds: f64| seconds / 60.0;
    assert_eq!(
        wait.accesses.points,
        [(0.0, Some(1500.0)), (minutes(10.0), Some(1500.0)), (minutes(20.0), Some(1500.0))]
    );
    assert_eq!(wait.baseline.points[2], (minutes(40.0), Some(1000.0)));
    assert_eq!(results.waits[1].accesses.points[0].0, minutes(45.0));
    assert_eq!(results.waits[1].accesses.iops(), Some(6500.0), "idle time does not count");
    assert_eq!(results.saturated(), Some(1000.0));
    let findings = hir.study(&record);
    let text = serde_json::to_string(&findings.summary).unwrap();
    assert!(text.contains("150.0") && text.contains("650.0"), "percent of saturated: {text}");
}

#[test]
fn a_gap_in_a_wait_state_begins_anew_with_the_purge() {
    let hir = hir_test(set("accesses", "4"));
    let attempts = |phase: &'static str, round: u32, point: u32| {
        let mut bench = scripted(rested);
        bench.gap_before = vec![(phase, round, point)];
        let record = bench.recorded(&hir, &hir.setup.settings);
        let results = HirResults::new(&hir, &record);
        assert!(results.waits.iter().all(|w| w.accesses.steps.len() == 4));
        let verdict = results.preconditioning.verdict;
        assert!(verdict.steady);
        (purges(&bench.entries), verdict.window)
    };
    assert_eq!(attempts("wait-10s", 0, 1), (2, Some((1, 5))));
    assert_eq!(attempts("wait-10s", 0, 3), (2, Some((1, 5))));
    assert_eq!(attempts("baseline-50s", 0, 4), (2, Some((1, 5))));
    assert_eq!(attempts("preconditioning", 2, 3), (1, Some((2, 6))), "that window restarts");
}

#[test]
fn never_steady_goes_on_after_25_and_says_so() {
    let hir = hir_test(set("accesses", "1"));
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "preconditioning" => f64::from(step.place.round * step.place.round),
        _ => 100.0,
    });
    let findings = bench.studied(&hir, &hir.setup.settings);
    assert_eq!(phase_steps(&bench.entries, PRECONDITIONING).len(), 25 * 31);
    assert!(findings.caveat("steady-state-not-achieved").is_some());
    assert_eq!(findings.form_pages.len(), 3);
}

/// 100 IOPS fill the drive in 44 minutes.
#[test]
fn a_preconditioning_counts_only_once_the_drive_was_filled() {
    let cycles = |least: &'static str| {
        let hir = hir_test(set("least-fills", least));
        let mut bench = scripted(|_| 100.0);
        let findings = bench.studied(&hir, &hir.setup.settings);
        let cycles = phase_steps(&bench.entries, PRECONDITIONING).len() / 31;
        let fresh = findings.caveat("steady-within-first-fill").is_some();
        (cycles, fresh, findings.whole_end().steady())
    };
    assert_eq!(cycles("0"), (5, true, Some(true)));
    assert_eq!(cycles("1"), (6, false, Some(true)));
    assert_eq!(cycles("100"), (25, false, Some(false)));
}
