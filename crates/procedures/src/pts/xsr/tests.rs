use super::results::XsrResults;
use super::*;
use crate::testing::scripted::{
    GEOMETRY, broken_record, first_of_phase, idle_times, purges, scripted, set, settings_of, setup,
    steps,
};
use results::RecoveryTime;
use steadfast_domain::{Demand, JournalEntry, Settings, Step};

fn xsr_test(change: impl FnOnce(&mut Settings)) -> Xsr {
    setup(&settings_of("xsr", change), GEOMETRY, &[]).and_then(Xsr::new).unwrap()
}

/// 1024 KiB writes at 500 per second in the first segment; the last one begins
/// at 100 and gains 10 every step.
fn recovering(step: &Step) -> f64 {
    match step.place.phase.as_str() {
        "segment-1" => 500.0,
        "segment-3" => 90.0 + 10.0 * f64::from(step.place.point),
        _ => 1000.0,
    }
}

#[test]
fn three_segments_follow_the_purge_without_a_pause() {
    let bench = scripted(recovering).conducted(&xsr_test(|_| ()));
    assert!(matches!(bench.entries[1], JournalEntry::Purged(_)));
    let all = steps(&bench.entries);
    assert_eq!(all.len(), 480 + 360 + 480);
    let described = |step: &Step| {
        let stimulus = step.load.stimulus().unwrap();
        format!("{}: {} {}", step.place.phase, stimulus.streams[0], stimulus.demand)
    };
    assert_eq!(described(all[0]), "segment-1: SEQ 1024K W T1Q32");
    assert_eq!(described(all[480]), "segment-2: RND 8K W T4Q32");
    assert_eq!(described(all[840]), "segment-3: SEQ 1024K W T1Q32");
    let begins: Vec<usize> = (0..all.len()).filter(|n| !all[*n].continues).collect();
    assert_eq!(begins, [0, 480, 840], "inside a segment the load runs on");
    assert!(idle_times(&bench.entries).is_empty());
}

#[test]
fn recovery_is_the_first_step_at_the_first_segments_average() {
    let recovery = |level: &str| {
        let xsr = xsr_test(set("recovery-level", level));
        let record = scripted(recovering).recorded(&xsr, &xsr.setup.settings);
        let results = XsrResults::new(&xsr, &record);
        let rate = results.segments[0].average().unwrap();
        assert!((rate - 500.0 * 1.048_576).abs() < 1e-6, "{rate}");
        (results.recovery, xsr.study(&record).ending)
    };
    // 90 + 10 n reaches 500 in minute 41, 250 in minute 16.
    assert_eq!(recovery("100").0, RecoveryTime::After(41.0));
    assert_eq!(recovery("50%").0, RecoveryTime::After(16.0));
    assert!(recovery("100").1.contains("41 min (in steps of 60 s)"));
}

#[test]
fn never_recovered_reads_not_yet() {
    let xsr = xsr_test(|_| ());
    let findings = scripted(|step| if step.place.phase == "segment-3" { 1.0 } else { 100.0 })
        .studied(&xsr, &xsr.setup.settings);
    assert!(findings.ending.contains("Not recovered yet"), "{}", findings.ending);
    assert!(serde_json::to_string(&findings.summary).unwrap().contains("not yet"));
    assert!(findings.verdict.is_none());
}

/// Segment 1 has 100 IOPS and one step of 90; segment 3 gives 50, 91, 96, 99.9 and then 100.
#[test]
fn recovery_is_to_the_step_and_its_approach_stands_next_to_it() {
    let xsr = xsr_test(|_| ());
    let mut bench = scripted(|step| match (step.place.phase.as_str(), step.place.point) {
        ("segment-1", 7) => 90.0,
        ("segment-3", 1) => 50.0,
        ("segment-3", 2) => 91.0,
        ("segment-3", 3) => 96.0,
        ("segment-3", 4) => 99.9,
        _ => 100.0,
    });
    let findings = bench.studied(&xsr, &xsr.setup.settings);
    let figure = |id: &str| {
        let found = findings.figure(id).unwrap();
        (found.value.unwrap(), found.unit.as_str(), found.digits)
    };
    assert_eq!(figure("recovery"), (5.0, "min", 1));
    assert_eq!(figure("recovery-nearly"), (3.0, "min", 1));
    assert_eq!(figure("recovery-range"), (2.0, "min", 1));
}

/// Returns the number of steps of every segment.
fn measured_steps(xsr: &Xsr, record: &Record) -> Vec<usize> {
    XsrResults::new(xsr, record).segments.iter().map(|segment| segment.steps.len()).collect()
}

#[test]
fn a_gap_begins_the_test_anew_with_the_purge() {
    let attempts = |phase: &'static str, point: u32| {
        let xsr = xsr_test(|_| ());
        let mut bench = scripted(recovering);
        bench.gap_before = vec![(phase, 0, point)];
        let record = bench.recorded(&xsr, &xsr.setup.settings);
        assert_eq!(measured_steps(&xsr, &record), [480, 360, 480], "only the last attempt counts");
        let last = steps(&bench.entries).last().unwrap().place.phase.clone();
        (purges(&bench.entries), last)
    };
    assert_eq!(attempts("segment-1", 1), (1, "segment-3".to_owned()));
    assert_eq!(attempts("segment-1", 2), (2, "segment-3 (attempt 2)".to_owned()));
    assert_eq!(attempts("segment-2", 1), (2, "segment-3 (attempt 2)".to_owned()));
    assert_eq!(attempts("segment-3", 480), (2, "segment-3 (attempt 2)".to_owned()));
}

#[test]
fn an_attempt_that_was_just_begun_anew_shows_nothing_of_the_old_one() {
    let xsr = xsr_test(|_| ());
    let mut bench = scripted(recovering);
    bench.gap_before = vec![("segment-2", 0, 5)];
    xsr.conduct(&mut bench).unwrap();
    let mut entries = bench.entries;
    entries.truncate(first_of_phase(&entries, "segment-1 (attempt 2)") + 3);
    let record = broken_record(&xsr.setup.settings, entries);
    assert_eq!(measured_steps(&xsr, &record), [3, 0, 0]);
    assert_eq!(XsrResults::new(&xsr, &record).recovery, RecoveryTime::NotMeasured);
}

#[test]
fn durations_and_the_middle_demand_are_parameters() {
    let xsr = xsr_test(|s| {
        s.set("first-time", "2min");
        s.set("middle-time", "3min");
        s.set("middle-demand", "T8Q32");
    });
    let mut bench = scripted(recovering);
    let findings = bench.studied(&xsr, &xsr.setup.settings);
    let all = steps(&bench.entries);
    assert_eq!(all.len(), 2 + 3 + 480);
    assert_eq!(all[2].load.stimulus().unwrap().demand, Demand::new(8, 32));
    let unverified = findings.caveats.iter().filter(|c| c.id.starts_with("parameter-")).count();
    assert_eq!(unverified, 6, "with the alignment");
}
