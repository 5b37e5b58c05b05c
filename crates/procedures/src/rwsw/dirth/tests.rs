use super::setup::best;
use super::*;
use crate::rwsw::ladder::{DemandLadder, OUTSTANDING};
use crate::testing::scripted::{build, figure, phase_steps, phases, scripted, weights};
use crate::testing::workload::settings;
use steadfast_domain::{Nanos, Settings, Step};

/// IOPS grow with outstanding I/Os up to 64 of them.
fn saturating(step: &Step) -> f64 {
    let outstanding = step.load.stimulus().unwrap().demand.outstanding();
    outstanding.min(64) as f64 * 100.0
}

#[test]
fn steady_state_then_every_demand_then_the_histogram_of_the_best() {
    let settings = settings("rwsw-dirth");
    let test = build(&settings);
    let mut bench = scripted(saturating);
    bench.response = |step| {
        let outstanding = step.load.stimulus().unwrap().demand.outstanding();
        Some(Nanos(outstanding * 30_000))
    };
    let findings = bench.studied(&*test, &settings);
    assert_eq!(
        phases(&bench.entries),
        ["wipc", "steady-state", "demand", "max-histogram-run-in", "max-histogram"]
    );
    let demands = phase_steps(&bench.entries, "demand");
    assert_eq!(demands.len(), 11);
    assert!(demands.iter().all(|step| weights(step) == [5000, 3000, 2000]));
    let demand =
        |phase: &str| phase_steps(&bench.entries, phase)[0].load.stimulus().unwrap().demand;
    assert_eq!(demand("steady-state"), Demand::new(32, 32));
    // 64, 128 and more give as many IOPS; 64 does with the fewest outstanding.
    assert_eq!(demand("max-histogram"), Demand::new(2, 32));
    assert!(findings.ending.contains("11 of 11 demands; MaxIOPS at T2Q32"), "{}", findings.ending);
    let titles: Vec<_> = findings.form_pages.iter().map(|page| page.title.as_str()).collect();
    assert_eq!(titles.len(), 4);
    assert!(titles[2].contains("OIO 1, 8, 32"), "{titles:?}");
}

#[test]
fn a_gap_in_the_loop_of_demands_or_before_the_histogram_repeats_it() {
    let settings = settings("rwsw-dirth");
    let test = build(&settings);
    let mut bench = scripted(saturating);
    bench.gap_before = vec![("demand", 0, 4), ("max-histogram", 0, 1)];
    let findings = bench.studied(&*test, &settings);
    assert_eq!(
        phases(&bench.entries)[2..],
        [
            "demand", "demand-run-in (attempt 2)", "demand (attempt 2)", "max-histogram-run-in",
            "max-histogram", "max-histogram-run-in (attempt 2)", "max-histogram (attempt 2)"
        ]
    );
    let gaps: Vec<_> = findings.caveats.iter().filter(|c| c.id == "gap").collect();
    assert_eq!(gaps.len(), 2);
    assert!(gaps[0].text.contains("loop of demands was done again"), "{}", gaps[0].text);
}

#[test]
fn the_best_stays_below_the_ceiling_where_any_demand_does() {
    let ladder = DemandLadder::parse(&OUTSTANDING, &Settings::new("rwsw-dirth", 1)).unwrap();
    assert_eq!(best(&ladder, &[], Nanos::from_millis(5)), Demand::new(32, 32), "a rehearsal");
}

/// A drive that reaches its rate only until the histogram.
#[test]
fn a_rate_that_was_only_passed_through_is_no_result() {
    let settings = settings("rwsw-dirth");
    let test = build(&settings);
    let study = |held: f64| {
        let mut bench = scripted(move |step: &Step| match step.place.phase.as_str() {
            "max-histogram" => held,
            _ => saturating(step),
        });
        bench.response = |_| Some(Nanos::from_millis(1));
        bench.studied(&*test, &settings)
    };
    let lost = study(978.0);
    assert_eq!(figure(&lost, "iops"), Some(978.0));
    assert_eq!(figure(&lost, "sweep-iops"), Some(6400.0));
    let caveat = lost.caveat("max-iops-not-held").unwrap();
    assert_eq!(caveat.kind, steadfast_domain::CaveatKind::Invalidates, "a red bar");
    assert!(caveat.remedy.contains("least-fills=1"), "{}", caveat.remedy);
    assert!(study(6300.0).caveat("max-iops-not-held").is_none());
}

/// 5,000 writes of 4 KiB and 2,000 of 64 KiB in 10,000 I/Os write 15,155.2 bytes an I/O: at 20
/// IOPS 1 GiB in 59 min. What preconditioning wrote does not count, so that the window cannot
/// begin with the first measured minute.
#[test]
fn fills_are_those_of_the_workload_itself() {
    let cycles = |least: Option<&str>, profile| {
        let mut settings = settings("rwsw-dirth");
        settings.profile = profile;
        if let Some(least) = least {
            settings.set("least-fills", least);
        }
        let bench = scripted(|_| 20.0).conducted(&*build(&settings));
        phase_steps(&bench.entries, "steady-state").last().unwrap().place.round
    };
    use steadfast_domain::Profile::{Pts20, Quick};
    assert_eq!(cycles(Some("0"), Pts20), 5);
    assert_eq!(cycles(None, Pts20), 6, "the first measured minute begins at 0.5 fills");
    assert_eq!(cycles(Some("2"), Pts20), 8, "1 x the capacity in 59 minutes");
    assert_eq!(cycles(None, Quick), 5, "quick does not wait");
}
