use super::*;
use crate::pts::scripted::{GEOMETRY, made, record as record_of, scripted, steps};
use steadfast_domain::stimulus::Until;
use steadfast_domain::{Entry, Load, Step};

fn test(change: impl FnOnce(&mut Settings)) -> Iops {
    let mut settings = Settings::new("iops", 7);
    change(&mut settings);
    made::<Iops>(&settings, GEOMETRY, &[]).unwrap()
}

fn record(iops: &Iops, entries: Vec<Entry>) -> Record {
    record_of(&iops.settings, entries)
}

#[test]
fn rounds_run_in_the_mandatory_order_after_twice_the_capacity() {
    let mut bench = scripted(|_| 1000.0);
    test(|_| ()).conduct(&mut bench).unwrap();
    let steps = steps(&bench.entries);
    let Load::Stimulus(wipc) = &steps[0].load else { panic!("not a stimulus") };
    assert_eq!(wipc.until.bytes, Some(Bytes::gib(2)));
    assert_eq!(
        (wipc.demand.to_string(), steps[0].place.label.as_str()),
        ("T1Q32".into(), "SEQ 128K W")
    );
    let rounds = &steps[1..];
    assert_eq!(rounds.len(), 5 * 56, "steady at once: five rounds");
    let labels: Vec<_> = rounds[..9].iter().map(|s| s.place.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "RND 1024K R",
            "RND 128K R",
            "RND 64K R",
            "RND 32K R",
            "RND 16K R",
            "RND 8K R",
            "RND 4K R",
            "RND 0.5K R",
            "RND 1024K RW95"
        ]
    );
    assert_eq!(rounds[55].place.label, "RND 0.5K W");
    assert!(rounds.iter().all(|s| {
        let stimulus = s.load.stimulus().unwrap();
        stimulus.demand == Demand::new(4, 32) && stimulus.until == Until::time(Nanos::from_secs(60))
    }));
    let seeds: std::collections::HashSet<_> =
        rounds.iter().map(|s| s.load.stimulus().unwrap().seed).collect();
    assert_eq!(seeds.len(), rounds.len(), "no two steps draw the same offsets");
}

#[test]
fn the_classes_differ_as_the_standard_says() {
    let client = test(|s| s.class = steadfast_domain::Class::Client);
    assert_eq!(client.demand, Demand::new(2, 16));
    assert_eq!(client.active_range.length, Bytes(3 << 28));
    assert_eq!(client.conditions().write_cache, Some(steadfast_domain::WriteCache::Enabled));
    let enterprise = test(|_| ());
    assert_eq!(enterprise.active_range.length, Bytes::gib(1));
}

#[test]
fn three_variables_must_be_steady_together_in_2_0_but_one_in_1_1() {
    let drifting_reads = |step: &Step| match step.place.label.as_str() {
        "RND 1024K R" => 100.0 * f64::from(step.place.round.min(4)),
        _ => 1000.0,
    };
    let rounds_run = |iops: &Iops| {
        let mut bench = scripted(drifting_reads);
        iops.conduct(&mut bench).unwrap();
        steps(&bench.entries).last().unwrap().place.round
    };
    assert_eq!(rounds_run(&test(|_| ())), 8, "rounds 4-8 are the first common window");
    assert_eq!(rounds_run(&test(|s| s.profile = Profile::Pts11)), 5);
    assert_eq!(rounds_run(&test(|s| s.profile = Profile::Tkperf)), 5);
}

#[test]
fn never_steady_stops_at_25_says_so_and_goes_on_when_amended() {
    let mut bench = scripted(|step| 2f64.powi(step.place.round as i32));
    let iops = test(|_| ());
    iops.conduct(&mut bench).unwrap();
    assert_eq!(steps(&bench.entries).last().unwrap().place.round, 25);
    let findings = iops.study(&record(&iops, bench.entries));
    assert!(!findings.verdict.as_ref().unwrap().steady);
    assert_eq!(findings.verdict.unwrap().window, Some((21, 25)));
    assert!(findings.caveats.iter().any(|c| c.id == "steady-state-not-achieved"));
    let amended = made::<Iops>(&iops.settings, GEOMETRY, &[Amendment::RoundsMax(31)]).unwrap();
    assert_eq!(amended.mixed_loop.rounds_max, 31);
}

#[test]
fn post_25_runs_on_and_reports_the_first_steady_window() {
    let mut bench = scripted(|step| if step.place.round <= 2 { 1.0 } else { 1000.0 });
    let iops = test(|s| s.steady_state = steadfast_domain::settings::SteadyStateMethod::Post25);
    iops.conduct(&mut bench).unwrap();
    assert_eq!(steps(&bench.entries).last().unwrap().place.round, 25);
    let findings = iops.study(&record(&iops, bench.entries));
    assert_eq!(findings.verdict.unwrap().window, Some((3, 7)));
}

#[test]
fn a_gap_inside_a_round_voids_it_and_begins_the_window_anew() {
    let mut bench = scripted(|_| 1000.0);
    bench.gap_before = vec![("", 3, 20)];
    let iops = test(|_| ());
    iops.conduct(&mut bench).unwrap();
    let findings = iops.study(&record(&iops, bench.entries));
    assert_eq!(findings.verdict.unwrap().window, Some((4, 8)));
    assert!(findings.caveats.iter().any(|c| c.id == "gap" && c.text.contains("void")));

    let mut between = scripted(|_| 1000.0);
    between.gap_before = vec![("", 3, 1)];
    iops.conduct(&mut between).unwrap();
    let findings = iops.study(&record(&iops, between.entries));
    assert_eq!(findings.verdict.unwrap().window, Some((3, 7)), "a gap between rounds voids none");
}

#[test]
fn a_mixed_step_counts_reads_plus_writes() {
    let mut bench =
        scripted(|step| if step.place.label == "RND 4K RW65" { 3000.0 } else { 1000.0 });
    let iops = test(|_| ());
    iops.conduct(&mut bench).unwrap();
    let record = record(&iops, bench.entries);
    let results = Results::of(&iops.mixed_loop, &record);
    let cell = results.cell(&AccessPattern::random(Bytes::kib(4), 65)).unwrap();
    assert_eq!(cell.iops, Some(3000.0));
    assert_eq!(results.cells.len(), 56);
}

#[test]
fn the_form_has_eight_pages_in_2_0_and_six_in_1_1() {
    for (profile, pages) in [(Profile::Pts20, 8), (Profile::Pts11, 6)] {
        let iops = test(|s| s.profile = profile);
        let mut bench = scripted(|_| 1000.0);
        iops.conduct(&mut bench).unwrap();
        let findings = iops.study(&record(&iops, bench.entries));
        assert_eq!(findings.form_pages.len(), pages);
        assert_eq!(
            findings.header.blocks.iter().map(|b| b.rows.len()).collect::<Vec<_>>(),
            [10; 4]
        );
    }
}

#[test]
fn a_4kn_device_leaves_the_half_kib_out_and_says_so() {
    let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
    let iops = made::<Iops>(&Settings::new("iops", 1), geometry, &[]).unwrap();
    let mut bench = scripted(|_| 1000.0);
    iops.conduct(&mut bench).unwrap();
    assert_eq!(steps(&bench.entries).len(), 1 + 5 * 49);
    let findings = iops.study(&record(&iops, bench.entries));
    assert!(findings.caveats.iter().any(|c| c.id == "block-size-left-out"));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refuse = |geometry: Geometry, change: fn(&mut Settings)| {
        let mut settings = Settings::new("iops", 1);
        change(&mut settings);
        made::<Iops>(&settings, geometry, &[]).unwrap_err().0
    };
    let tiny = Geometry { capacity: Bytes::mib(32), logical_sector: 512 };
    assert!(refuse(tiny, |_| ()).contains("too small"));
    let odd = Geometry { capacity: Bytes::gib(1), logical_sector: 520 };
    assert!(refuse(odd, |_| ()).contains("520"));
    assert!(refuse(GEOMETRY, |s| s.step_time = Some(Nanos(1))).contains("step time"));
}

#[test]
fn quick_says_that_it_is_not_the_full_method() {
    let iops = test(|s| s.profile = Profile::Quick);
    let mut bench = scripted(|_| 1000.0);
    iops.conduct(&mut bench).unwrap();
    assert_eq!(steps(&bench.entries).len(), 1 + 5 * 9);
    let findings = iops.study(&record(&iops, bench.entries));
    let quick = findings.caveats.iter().find(|c| c.id == "quick").unwrap();
    assert_eq!(quick.kind, steadfast_domain::CaveatKind::Invalidates);
}

#[test]
fn an_empty_and_an_unfinished_record_are_studied_without_invention() {
    let iops = test(|_| ());
    let mut empty = record(&iops, Vec::new());
    empty.entries.clear();
    let findings = iops.study(&empty);
    assert!(findings.caveats.iter().any(|c| c.id == "unfinished"));
    assert!(findings.verdict.unwrap().window.is_none());
    let text = serde_json::to_string(&findings.summary).unwrap();
    assert!(text.contains("missing") && !text.contains("\"value\":0.0"));
}
