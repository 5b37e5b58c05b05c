use super::results::DirthResults;
use super::setup::PRECONDITIONING;
use super::*;
use crate::testing::scripted::{
    GEOMETRY, phase_steps, phases, record, scripted, set, settings_of, setup, steps,
    study_of_nothing,
};
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{Demand, JournalEntry, Nanos, Op, Profile, Settings, Step};

fn dirth_test(change: impl FnOnce(&mut Settings)) -> Dirth {
    setup(&settings_of("dirth", change), GEOMETRY, &[]).and_then(Dirth::new).unwrap()
}

fn demand(step: &Step) -> Demand {
    step.load.stimulus().unwrap().demand
}

/// IOPS rise with the outstanding I/Os up to 64 of them.
fn saturating(step: &Step) -> f64 {
    demand(step).outstanding().min(64) as f64 * 100.0
}

/// 10 ms for every 64 outstanding I/Os, at least 1 ms: below 5 ms up to 31.
fn queueing(step: &Step) -> Option<Nanos> {
    Some(Nanos((demand(step).outstanding() * 10_000_000 / 64).max(1_000_000)))
}

fn conducted(dirth: &Dirth) -> Vec<JournalEntry> {
    let mut bench = scripted(saturating);
    bench.response = queueing;
    dirth.conduct(&mut bench).unwrap();
    bench.entries
}

#[test]
fn the_flow_is_the_standards() {
    let entries = conducted(&dirth_test(|_| ()));
    let all = phases(&entries);
    assert_eq!(all[..4], ["wipc", "preconditioning", "pre-write", "demand"]);
    assert_eq!(
        all[all.len() - 6..],
        [
            "max-pre-write", "max-histogram", "mid-pre-write", "mid-histogram", "min-pre-write",
            "min-histogram"
        ]
    );
    let count = |phase: &str| phase_steps(&entries, phase).len();
    assert_eq!(count("preconditioning"), 4 * 31 + 1, "minutes 1, 32, 63, 94 and 125");
    assert_eq!((count("pre-write"), count("demand")), (5 * 5, 5 * 49));
    assert_eq!((count("max-pre-write"), count("max-histogram")), (60, 1));
    let histogram = phase_steps(&entries, "max-histogram")[0].load.stimulus().unwrap();
    assert_eq!(histogram.until, LoadLimits::time(Nanos::from_secs(600)));
}

#[test]
fn preconditioning_and_pre_writes_only_write_at_the_highest_demand() {
    let entries = conducted(&dirth_test(|_| ()));
    for step in steps(&entries) {
        let stimulus = step.load.stimulus().unwrap();
        let writes_only = stimulus.streams.iter().all(|s| s.op == Op::Write);
        match step.place.phase.as_str() {
            "preconditioning" | "pre-write" => {
                assert!(writes_only && stimulus.demand == Demand::new(32, 32));
            }
            "max-pre-write" | "mid-pre-write" | "min-pre-write" => assert!(writes_only),
            "demand" | "max-histogram" => assert!(!writes_only),
            _ => {}
        }
    }
}

#[test]
fn threads_are_the_outer_loop_and_never_swapped_with_depth() {
    let entries = conducted(&dirth_test(|_| ()));
    let mut demands = Vec::new();
    for step in phase_steps(&entries, "demand").iter().filter(|step| step.place.round == 1) {
        demands.push(demand(step).to_string());
        assert!(step.place.label.ends_with(&demands[demands.len() - 1]), "{}", step.place);
    }
    assert_eq!(demands[..3], ["T32Q32", "T32Q16", "T32Q8"]);
    assert_eq!(demands[6..8], ["T32Q1", "T16Q32"]);
    assert_eq!((demands.len(), demands[48].as_str()), (49, "T1Q1"));
}

#[test]
fn points_are_chosen_noted_and_measured_at_their_demand() {
    let dirth = dirth_test(|_| ());
    let entries = conducted(&dirth);
    let mut chosen = Vec::new();
    for entry in &entries {
        if let JournalEntry::Noted(note) = entry
            && let Note::Chosen { what, value } = &**note
        {
            chosen.push(format!("{what} {value}"));
        }
    }
    // Below 5 ms: up to 31 outstanding, so 24 is the most (T6Q4 and T4Q6 are
    // equal); the middle of 2400 and 100 is 1250: 12 is nearest (T6Q2 and T2Q6).
    assert_eq!(
        chosen,
        [
            "MaxIOPS T4Q6 (2400.0 IOPS, ART 3.750 ms)",
            "MidIOPS T2Q6 (1200.0 IOPS, ART 1.875 ms)",
            "MinIOPS T1Q1 (100.0 IOPS, ART 1.000 ms)"
        ]
    );
    let phase_demand = |phase: &str| demand(phase_steps(&entries, phase)[0]);
    assert_eq!(phase_demand("max-pre-write"), Demand::new(4, 6));
    assert_eq!(phase_demand("max-histogram"), Demand::new(4, 6));
    assert_eq!(phase_demand("mid-histogram"), Demand::new(2, 6));
    assert_eq!(phase_demand("min-histogram"), Demand::new(1, 1));
    let findings = dirth.study(&record(&dirth.setup.settings, entries));
    assert_eq!(findings.form_pages.len(), 15);
    assert!(findings.caveat("art-ceiling").is_none());
}

#[test]
fn no_point_below_the_ceiling_is_a_caveat() {
    let dirth = dirth_test(set("art-ceiling", "500us"));
    let entries = conducted(&dirth);
    let findings = dirth.study(&record(&dirth.setup.settings, entries));
    let caveat = findings.caveat("art-ceiling").unwrap();
    assert!(caveat.text.contains("500 µs"), "{}", caveat.text);
}

#[test]
fn a_gap_inside_a_round_voids_it() {
    let dirth = dirth_test(|_| ());
    let window = |phase: &'static str, round: u32, point: u32| {
        let mut bench = scripted(saturating);
        bench.response = queueing;
        bench.gap_before = vec![(phase, round, point)];
        let findings = bench.studied(&dirth, &dirth.setup.settings);
        findings.verdict.unwrap().window
    };
    assert_eq!(window("demand", 3, 20), Some((4, 8)));
    assert_eq!(window("demand", 3, 1), Some((4, 8)), "its writes came before the gap");
    assert_eq!(window("pre-write", 3, 2), Some((4, 8)));
    assert_eq!(window("pre-write", 3, 1), Some((3, 7)), "a gap between rounds voids none");
}

#[test]
fn a_gap_before_a_histogram_repeats_its_hour_of_writes() {
    let dirth = dirth_test(|_| ());
    let mut bench = scripted(saturating);
    bench.response = queueing;
    bench.gap_before = vec![("mid-histogram", 0, 1)];
    let record = bench.recorded(&dirth, &dirth.setup.settings);
    let all = phases(&bench.entries);
    assert_eq!(
        all[all.len() - 6..],
        [
            "mid-pre-write", "mid-histogram", "mid-pre-write (attempt 2)",
            "mid-histogram (attempt 2)", "min-pre-write", "min-histogram"
        ]
    );
    let results = DirthResults::new(&dirth, &record);
    assert!(results.histograms.iter().all(|h| h.measurement.is_some()));
    let in_the_writes = |point: u32| {
        let mut bench = scripted(saturating);
        bench.gap_before = vec![("max-pre-write", 0, point)];
        dirth.conduct(&mut bench).unwrap();
        phases(&bench.entries).iter().filter(|p| p.contains("attempt")).count()
    };
    assert_eq!((in_the_writes(30), in_the_writes(1)), (2, 0));
}

#[test]
fn rounds_end_at_25_and_preconditioning_too() {
    let dirth = dirth_test(|_| ());
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "preconditioning" | "demand" => 2f64.powi(step.place.round as i32),
        _ => 100.0,
    });
    let findings = bench.studied(&dirth, &dirth.setup.settings);
    let last = |phase: &str| phase_steps(&bench.entries, phase).last().unwrap().place.round;
    assert_eq!((last("preconditioning"), last("demand")), (25, 25));
    assert!(findings.caveat("steady-state-not-achieved").is_some());
    assert!(findings.caveat("preconditioning-not-steady").is_some());
}

#[test]
fn the_composite_is_40_60_preconditioned_by_writes() {
    let settings = Settings::new("composite-dirth", 1);
    let dirth = setup(&settings, GEOMETRY, &[]).and_then(Dirth::new).unwrap();
    assert_eq!(
        (dirth.workload.to_string(), dirth.writes.to_string()),
        ("composite RW40".into(), "composite W".into())
    );
    assert_eq!(dirth.preconditioning.stimulus.zones.len(), 3);
}

#[test]
fn an_empty_record_has_every_page() {
    let dirth = dirth_test(|s| s.profile = Profile::Quick);
    let findings = study_of_nothing(&dirth, &dirth.setup.settings);
    assert_eq!(findings.form_pages.len(), 15);
}

#[test]
fn rounds_after_an_unsteady_preconditioning_are_not_steady() {
    let dirth = dirth_test(|s| s.profile = Profile::Quick);
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        PRECONDITIONING => 2f64.powi(step.place.round as i32),
        _ => 1000.0,
    });
    bench.response = |_| Some(Nanos::from_millis(1));
    let findings = bench.studied(&dirth, &dirth.setup.settings);
    assert_eq!(findings.whole_end().steady(), Some(false));
    let verdict = findings.verdict.as_ref().unwrap();
    assert!(verdict.tracks[0].steady, "the rounds themselves were");
    assert_eq!(verdict.reservation.as_deref(), Some("the preconditioning was not steady"));
    assert!(findings.ending.starts_with("Steady state NOT achieved in the preconditioning"));
    assert!(findings.caveat("histogram-bins").is_some());
    let first = findings.header.blocks[2].rows.iter().find(|r| r.id == "wipc").unwrap();
    assert!(first.value.as_ref().unwrap().contains("2 × User Capacity"), "{first:?}");
}
