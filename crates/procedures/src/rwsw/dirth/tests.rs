use super::setup::best;
use super::*;
use crate::ground::scripted::{GEOMETRY, record, scripted, steps};
use crate::rwsw::ladder::{Ladder, OUTSTANDING};
use crate::rwsw::sample::settings;
use steadfast_domain::{Entry, Nanos, Settings, Step};

fn made(settings: &Settings) -> Box<dyn Procedure> {
    crate::procedure(settings, GEOMETRY, &[]).unwrap()
}

/// IOPS grow with outstanding I/Os up to 64 of them.
fn saturating(step: &Step) -> f64 {
    let outstanding = step.load.stimulus().unwrap().demand.outstanding();
    outstanding.min(64) as f64 * 100.0
}

fn phases(entries: &[Entry]) -> Vec<String> {
    let mut phases: Vec<String> =
        steps(entries).iter().map(|step| step.place.phase.clone()).collect();
    phases.dedup();
    phases
}

#[test]
fn steady_state_then_every_demand_then_the_histogram_of_the_best() {
    let settings = settings("rwsw-dirth");
    let test = made(&settings);
    let mut bench = scripted(saturating);
    bench.response = |step| {
        let outstanding = step.load.stimulus().unwrap().demand.outstanding();
        Some(Nanos(outstanding * 30_000))
    };
    test.conduct(&mut bench).unwrap();
    let phase_names = phases(&bench.entries);
    assert_eq!(
        phase_names,
        ["wipc", "steady-state", "demand", "max-histogram-run-in", "max-histogram"]
    );
    let all = steps(&bench.entries);
    let demands: Vec<_> = all.iter().filter(|s| s.place.phase == "demand").collect();
    assert_eq!(demands.len(), 11);
    for step in &demands {
        let stimulus = step.load.stimulus().unwrap();
        let weights: Vec<u32> = stimulus.streams.iter().map(|s| s.weight).collect();
        assert_eq!(weights, [5000, 3000, 2000]);
    }
    let steady = all.iter().find(|s| s.place.phase == "steady-state").unwrap();
    assert_eq!(steady.load.stimulus().unwrap().demand, Demand::new(32, 32));
    // 64, 128 and more give as many IOPS; 64 does with the fewest outstanding.
    let last = all.last().unwrap().load.stimulus().unwrap().demand;
    assert_eq!(last, Demand::new(2, 32));
    let findings = test.study(&record(&settings, bench.entries));
    assert!(findings.ending.contains("11 of 11 demands; MaxIOPS at T2Q32"), "{}", findings.ending);
    let titles: Vec<_> = findings.form_pages.iter().map(|page| page.title.as_str()).collect();
    assert_eq!(titles.len(), 4);
    assert!(titles[2].contains("OIO 1, 8, 32"), "{titles:?}");
}

#[test]
fn a_gap_in_the_loop_of_demands_or_before_the_histogram_repeats_it() {
    let settings = settings("rwsw-dirth");
    let test = made(&settings);
    let mut bench = scripted(saturating);
    bench.gap_before = vec![("demand", 0, 4), ("max-histogram", 0, 1)];
    test.conduct(&mut bench).unwrap();
    let again = phases(&bench.entries);
    assert_eq!(
        again[2..],
        [
            "demand",
            "demand-run-in (attempt 2)",
            "demand (attempt 2)",
            "max-histogram-run-in",
            "max-histogram",
            "max-histogram-run-in (attempt 2)",
            "max-histogram (attempt 2)"
        ]
    );
    let findings = test.study(&record(&settings, bench.entries));
    let gaps: Vec<_> = findings.caveats.iter().filter(|c| c.id == "gap").collect();
    assert_eq!(gaps.len(), 2);
    assert!(gaps[0].text.contains("loop of demands was done again"), "{}", gaps[0].text);
}

#[test]
fn the_best_stays_below_the_ceiling_where_any_demand_does() {
    let ladder = Ladder::of(&OUTSTANDING, &Settings::new("rwsw-dirth", 1)).unwrap();
    assert_eq!(best(&ladder, &[], Nanos::from_millis(5)), Demand::new(32, 32), "a rehearsal");
}

#[test]
fn demands_of_the_user_have_no_place_in_it() {
    let mut settings = settings("rwsw-dirth");
    settings.threads = Some(2);
    let why = crate::procedure(&settings, GEOMETRY, &[]).err().unwrap().0;
    assert!(why.contains("--set outstanding="), "{why}");
}
