use super::*;
use crate::common::results::LoopResults;
use crate::pts::scattered::RangedTest;
use crate::testing::scripted::{GEOMETRY, record, scripted, set, settings_of, setup, steps};
use std::collections::HashSet;
use steadfast_domain::findings::Cell;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{
    Bytes, CaveatKind, Class, Demand, Nanos, Profile, Settings, Step, WriteCache,
};

fn iops_test(change: impl FnOnce(&mut Settings)) -> Iops {
    setup(&settings_of("iops", change), GEOMETRY, &[]).and_then(Iops::new).unwrap()
}

#[test]
fn rounds_run_in_the_mandatory_order_after_twice_the_capacity() {
    let bench = scripted(|_| 1000.0).conducted(&iops_test(|_| ()));
    let steps = steps(&bench.entries);
    let wipc = steps[0].load.stimulus().unwrap();
    assert_eq!((wipc.until.bytes, wipc.demand), (Some(Bytes::gib(2)), Demand::new(1, 32)));
    assert_eq!(steps[0].place.label, "SEQ 128K W");
    let rounds = &steps[1..];
    assert_eq!(rounds.len(), 5 * 56, "steady at once: five rounds");
    let labels: Vec<_> = rounds[..9].iter().map(|s| s.place.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "RND 1024K R", "RND 128K R", "RND 64K R", "RND 32K R", "RND 16K R", "RND 8K R",
            "RND 4K R", "RND 0.5K R", "RND 1024K RW95"
        ]
    );
    assert_eq!(rounds[55].place.label, "RND 0.5K W");
    assert!(rounds.iter().all(|s| {
        let stimulus = s.load.stimulus().unwrap();
        stimulus.demand == Demand::new(4, 32)
            && stimulus.until == LoadLimits::time(Nanos::from_secs(60))
    }));
    let seeds: HashSet<u64> = rounds.iter().map(|s| s.load.stimulus().unwrap().seed).collect();
    assert_eq!(seeds.len(), rounds.len(), "no two steps draw the same offsets");
}

#[test]
fn the_classes_differ_as_the_standard_says() {
    let client = iops_test(|s| s.class = Class::Client);
    assert_eq!(client.mixed_loop.demand, Demand::new(2, 16));
    assert_eq!(client.setup.active_range.length, Bytes(3 << 28));
    assert_eq!(client.setup.conditions().write_cache, Some(WriteCache::Enabled));
    let enterprise = iops_test(|_| ());
    assert_eq!(enterprise.setup.active_range.length, Bytes::gib(1));
}

#[test]
fn three_variables_must_be_steady_together_in_2_0_but_one_in_1_1() {
    let drifting_reads = |step: &Step| match step.place.label.as_str() {
        "RND 1024K R" => 100.0 * f64::from(step.place.round.min(4)),
        _ => 1000.0,
    };
    let rounds_run = |iops: &Iops| {
        let bench = scripted(drifting_reads).conducted(iops);
        steps(&bench.entries).last().unwrap().place.round
    };
    assert_eq!(rounds_run(&iops_test(|_| ())), 8, "rounds 4-8 are the first common window");
    assert_eq!(rounds_run(&iops_test(|s| s.profile = Profile::Pts11)), 5);
    assert_eq!(rounds_run(&iops_test(|s| s.profile = Profile::Tkperf)), 5);
}

#[test]
fn never_steady_stops_at_25_says_so_and_goes_on_when_amended() {
    let mut bench = scripted(|step| 2f64.powi(step.place.round as i32));
    let iops = iops_test(|_| ());
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(steps(&bench.entries).last().unwrap().place.round, 25);
    assert!(!findings.verdict.as_ref().unwrap().steady);
    assert_eq!(findings.verdict.as_ref().unwrap().window, Some((21, 25)));
    assert!(findings.caveat("steady-state-not-achieved").is_some());
    let amended = setup(&iops.setup.settings, GEOMETRY, &[Amendment::RoundsMax(31)])
        .and_then(Iops::new)
        .unwrap();
    assert_eq!(amended.mixed_loop.rounds_max, 31);
}

#[test]
fn post_25_runs_on_and_reports_the_first_steady_window() {
    let mut bench = scripted(|step| if step.place.round <= 2 { 1.0 } else { 1000.0 });
    let iops = iops_test(|s| s.steady_state = SteadyStateMethod::Post25);
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(steps(&bench.entries).last().unwrap().place.round, 25);
    assert_eq!(findings.verdict.unwrap().window, Some((3, 7)));
}

#[test]
fn a_gap_inside_a_round_voids_it_and_begins_the_window_anew() {
    let mut bench = scripted(|_| 1000.0);
    bench.gap_before = vec![("", 3, 20)];
    let iops = iops_test(|_| ());
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(findings.verdict.unwrap().window, Some((4, 8)));
    assert!(findings.caveats.iter().any(|c| c.id == "gap" && c.text.contains("void")));

    let mut between = scripted(|_| 1000.0);
    between.gap_before = vec![("", 3, 1)];
    let findings = between.studied(&iops, &iops.setup.settings);
    assert_eq!(findings.verdict.unwrap().window, Some((3, 7)), "a gap between rounds voids none");
}

#[test]
fn a_mixed_step_counts_reads_plus_writes() {
    let mut bench =
        scripted(|step| if step.place.label == "RND 4K RW65" { 3000.0 } else { 1000.0 });
    let iops = iops_test(|_| ());
    let record = bench.recorded(&iops, &iops.setup.settings);
    let results = LoopResults::new(&iops.mixed_loop, &record);
    let cell = results.cell(&AccessPattern::random(Bytes::kib(4), 65)).unwrap();
    assert_eq!(cell.iops.mean, Some(3000.0));
    assert_eq!(results.cells.len(), 56);
}

#[test]
fn the_form_has_eight_pages_in_2_0_and_six_in_1_1() {
    for (profile, pages) in [(Profile::Pts20, 8), (Profile::Pts11, 6)] {
        let iops = iops_test(|s| s.profile = profile);
        let findings = scripted(|_| 1000.0).studied(&iops, &iops.setup.settings);
        assert_eq!(findings.form_pages.len(), pages);
    }
}

#[test]
fn a_4kn_device_leaves_the_half_kib_out_and_says_so() {
    let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
    let iops = setup(&Settings::new("iops", 1), geometry, &[]).and_then(Iops::new).unwrap();
    let mut bench = scripted(|_| 1000.0);
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(steps(&bench.entries).len(), 1 + 5 * 49);
    assert!(findings.caveat("block-size-left-out").is_some());
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refuse = |geometry: Geometry, change: fn(&mut Settings)| {
        setup(&settings_of("iops", change), geometry, &[]).and_then(Iops::new).unwrap_err().0
    };
    let tiny = Geometry { capacity: Bytes::mib(32), logical_sector: 512 };
    assert!(refuse(tiny, |_| ()).contains("too small"));
    let odd = Geometry { capacity: Bytes::gib(1), logical_sector: 520 };
    assert!(refuse(odd, |_| ()).contains("520"));
    assert!(refuse(GEOMETRY, |s| s.step_time = Some(Nanos(1))).contains("step time"));
}

#[test]
fn quick_says_that_it_is_not_the_full_method() {
    let iops = iops_test(|s| s.profile = Profile::Quick);
    let mut bench = scripted(|_| 1000.0);
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(steps(&bench.entries).len(), 1 + 5 * 9);
    let quick = findings.caveat("quick").unwrap();
    assert_eq!(quick.kind, CaveatKind::Invalidates);
}

/// The cap is six rounds and the fourth is void: no window of five is clean.
#[test]
fn a_void_round_is_in_no_table() {
    let iops = iops_test(|s| s.rounds_max = Some(6));
    let mut bench = scripted(|step| if step.place.round == 4 { 9e9 } else { 1000.0 });
    bench.gap_before = vec![("rounds", 4, 7)];
    let findings = bench.studied(&iops, &iops.setup.settings);
    assert_eq!(findings.verdict.as_ref().unwrap().window, None);
    let table = findings.summary[0].as_table().unwrap();
    for cell in table.rows.iter().flat_map(|row| &row.cells) {
        assert_eq!(*cell, Cell::number(Some(1000.0), 1));
    }
    let caveat = findings.caveat("steady-state-not-achieved").unwrap();
    assert!(caveat.text.contains("rounds 2, 3, 5, 6"), "{}", caveat.text);
}

#[test]
fn rounds_that_are_all_void_leave_dashes() {
    let iops = iops_test(|s| s.rounds_max = Some(2));
    let mut bench = scripted(|_| 1000.0);
    bench.gap_before = vec![("rounds", 1, 7), ("rounds", 2, 7)];
    let findings = bench.studied(&iops, &iops.setup.settings);
    let text = serde_json::to_string(&findings.summary[0]).unwrap();
    assert!(!text.contains("number"), "{text}");
}

/// The form names the PTS only for the method of the PTS.
#[test]
fn a_lesser_profile_says_so_and_does_not_name_the_pts() {
    for profile in [Profile::Quick, Profile::Tkperf] {
        let iops = iops_test(|s| s.profile = profile);
        let findings = iops.study(&record(&iops.setup.settings, Vec::new()));
        let header = &findings.header;
        let disclaimer = header.disclaimer.as_ref().unwrap();
        assert!(disclaimer.contains(&profile.to_string().to_uppercase()), "{disclaimer}");
        assert_eq!(header.test, "IOPS Test");
        for field in [&header.issuer, &header.revision, &findings.headline] {
            assert!(!field.contains("PTS") && !field.contains("SNIA"), "{field}");
        }
        assert!(!header.specification.contains("Solid State Storage"));
    }
    let full = iops_test(|_| ());
    let header = full.study(&record(&full.setup.settings, Vec::new())).header;
    // The layout is SNIA's, the report is not.
    assert_eq!((header.issuer.as_str(), header.disclaimer), ("Issued by steadfast", None));
    assert!(header.specification.starts_with("in the layout of "), "{}", header.specification);
    assert_eq!(
        (header.test.as_str(), header.revision.as_str()),
        ("IOPS Test (REQUIRED)", "PTS-E 2.0")
    );
}

#[test]
fn offsets_can_be_aligned_to_4_kib() {
    let iops = iops_test(set("alignment", "4K"));
    let mut bench = scripted(|_| 1000.0);
    let findings = bench.studied(&iops, &iops.setup.settings);
    let steps = steps(&bench.entries);
    let aligned = |step: &&Step| {
        let streams = &step.load.stimulus().unwrap().streams;
        streams.iter().all(|s| s.alignment == Some(Bytes::kib(4)))
    };
    assert!(steps[1..].iter().all(aligned));
    assert!(!aligned(&steps[0]), "sequential I/O lies at multiples of its size");
    assert!(findings.headline.ends_with("Aln=4K"), "{}", findings.headline);
}
