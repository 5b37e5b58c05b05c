use super::results::WsatResults;
use super::setup::{HISTOGRAM, PHASE};
use super::*;
use crate::procedure_error::ProcedureError;
use crate::testing::scripted::{
    GEOMETRY, figure, phase_steps, phases, record, refusal, scripted, set, settings_of, setup,
    steps,
};
use steadfast_domain::purge::{PurgeChoice, PurgeMethod};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{
    Bytes, CaveatKind, Criteria, Demand, JournalEntry, Load, Nanos, Note, Profile, Settings, Step,
    Verdict,
};

fn wsat_test(change: impl FnOnce(&mut Settings)) -> Wsat {
    build_wsat(&settings_of("wsat", change)).unwrap()
}

fn build_wsat(settings: &Settings) -> Result<Wsat, ProcedureError> {
    setup(settings, GEOMETRY, &[]).and_then(Wsat::new)
}

/// Returns the steps of the saturation of a drive with these IOPS.
fn saturate(wsat: &Wsat, iops: impl FnMut(&Step) -> f64) -> Vec<Step> {
    let bench = scripted(iops).conducted(wsat);
    phase_steps(&bench.entries, PHASE).into_iter().cloned().collect()
}

/// 250 I/Os of 4 KiB per second: 61 MB in a minute, far from four fills of 1 GiB
/// in 70 minutes.
const SLOW: f64 = 250.0;

#[test]
fn one_load_runs_on_from_the_purge_and_is_cut_every_minute() {
    let bench = scripted(|_| 100.0).conducted(&wsat_test(|_| ()));
    assert!(matches!(bench.entries[1], JournalEntry::Purged(_)));
    let all = steps(&bench.entries);
    assert_eq!(all[0].place.phase, PHASE, "no workload independent preconditioning");
    assert!(!all[0].continues && all[0].cut == Some(Nanos::from_secs(60)));
    let saturation = phase_steps(&bench.entries, PHASE);
    assert!(saturation[1..].iter().all(|step| step.continues && step.load == all[0].load));
    let Load::Stimulus(load) = &all[0].load else { panic!("not a stimulus") };
    assert_eq!(load.demand, Demand::new(4, 32));
    assert_eq!(load.until.bytes, Some(Bytes::gib(4)));
    assert_eq!(wsat_test(|_| ()).time_limit, Some(Nanos::from_secs(6 * 3600)));
}

#[test]
fn five_measured_minutes_31_apart_end_it() {
    let unfilled = |change: fn(&mut Settings)| {
        wsat_test(|s| {
            s.set("least-fills", "0");
            change(s);
        })
    };
    let wsat = unfilled(|_| ());
    let saturation = saturate(&wsat, |_| 100.0);
    assert_eq!(saturation.len(), 5 * 31);
    assert_eq!((saturation[30].place.round, saturation[30].place.point), (1, 31));
    assert_eq!(saturation[30].place.label, "RND 4K W");
    assert_eq!(saturation[29].place.label, "RND 4K W (between)");
    let first = unfilled(|s| s.set("measured-minute", "first"));
    assert_eq!(saturate(&first, |_| 100.0).len(), 4 * 31 + 1, "the fifth measured minute ends it");
    let cycles_of_30 = unfilled(|s| s.set("between-time", "29min"));
    assert_eq!(saturate(&cycles_of_30, |_| 100.0).len(), 5 * 30);
}

/// Texts about steady state follow the criteria of the run, not those of the PTS.
#[test]
fn texts_name_the_criteria_of_the_run() {
    let criteria = Criteria { window: 7, data_excursion: 0.30, slope_excursion: 0.05 };
    let mut setup = setup(&settings_of("wsat", |_| ()), GEOMETRY, &[]).unwrap();
    setup.method.criteria = criteria;
    let wsat = Wsat::new(setup).unwrap();
    assert!(wsat.ending_rule().contains("seven rounds meet 30/5 "), "{}", wsat.ending_rule());
    let (_, findings) = conducted(&wsat, |_| 10.0);
    let early = findings.caveat("ended-before-steady-state").unwrap();
    assert!(early.text.contains("before seven rounds met 30/5"), "{}", early.text);
    let summary = findings.summary[0].as_table().unwrap();
    assert!(summary.rows.iter().any(|row| row.head == "Last seven rounds (NOT steady)"));
    let text = serde_json::to_string(&findings).unwrap();
    assert!(!text.contains("five rounds") && !text.contains("20/10"), "a text with other criteria");
}

#[test]
fn only_measured_steps_count() {
    let wsat = wsat_test(|s| s.steady_state = SteadyStateMethod::Btw);
    let wild_between = |step: &Step| match step.place.point {
        31 => 100.0,
        minute => f64::from(minute) * 1000.0,
    };
    assert_eq!(saturate(&wsat, wild_between).len(), 5 * 31);
}

#[test]
fn four_fills_end_it_first_where_the_drive_is_fast() {
    // 20 480 x 4 KiB x 60 s = 5.03 GB in a minute: over 4 GiB in the first.
    let wsat = wsat_test(|_| ());
    assert_eq!(saturate(&wsat, |_| 20_480.0).len(), 1);
    let findings = scripted(|_| 20_480.0).studied(&wsat, &wsat.setup.settings);
    assert!(findings.ending.contains("4 x user capacity written"), "{}", findings.ending);
    assert!(findings.verdict.is_none(), "a limit that the method allows is no failure");
    assert!(findings.caveat("ended-before-steady-state").is_some());
}

#[test]
fn the_time_limit_is_6_h_in_2_0_and_24_h_in_1_1() {
    let never_steady = |step: &Step| if step.place.round.is_multiple_of(2) { 1.0 } else { 4.0 };
    assert_eq!(saturate(&wsat_test(|_| ()), never_steady).len(), 360);
    let old = wsat_test(|s| s.profile = Profile::Pts11);
    assert_eq!(saturate(&old, never_steady).len(), 1440);
    let bench = scripted(never_steady).conducted(&old);
    assert!(steps(&bench.entries).iter().all(|s| s.place.phase == PHASE), "1.1 has no histogram");
}

#[test]
fn tkperf_runs_1440_minutes_and_judges_none() {
    let wsat = wsat_test(|s| s.profile = Profile::Tkperf);
    let saturation = saturate(&wsat, |_| 1.0);
    assert_eq!(saturation.len(), 1440);
    assert!(saturation.iter().all(|step| step.place.round == 0));
    assert_eq!(saturate(&wsat, |_| 20_480.0).len(), 1, "four fills end it too");
    let mut bench = scripted(|_| 1.0);
    let findings = bench.studied(&wsat, &wsat.setup.settings);
    assert!(!bench.entries.iter().any(|e| matches!(e, JournalEntry::Noted(_))));
    assert!(findings.verdict.is_none());
    assert_eq!(findings.form_pages.len(), 2);
}

#[test]
fn the_user_can_choose_one_end() {
    let ends = |method: &str, iops: f64| {
        let wsat = wsat_test(|s| s.steady_state = method.parse().unwrap());
        saturate(&wsat, |_| iops).len()
    };
    assert_eq!(ends("time:7min", SLOW), 7);
    let odd = saturate(&wsat_test(|s| s.steady_state = "time:150s".parse().unwrap()), |_| SLOW);
    let cuts: Vec<_> = odd.iter().map(|step| step.cut.unwrap().as_secs_f64()).collect();
    assert_eq!(cuts, [60.0, 60.0, 30.0], "the last cut is the shorter");
    assert_eq!(ends("btw", 20_480.0), 5 * 31, "bytes do not end it then");
    assert_eq!(ends("post-25", SLOW), 25 * 31);
    let until =
        |method: &str| wsat_test(|s| s.steady_state = method.parse().unwrap()).stimulus().until;
    // 1 GB rounded up to a multiple of 4 KiB.
    assert_eq!(until("bytes:1GB"), LoadLimits::bytes(Bytes(1_000_001_536)));
    assert_eq!(until("fills:2"), LoadLimits::bytes(Bytes::gib(2)));
}

#[test]
fn btw_alone_gives_up_after_25_measured_minutes_and_says_so() {
    let wsat = wsat_test(|s| s.steady_state = SteadyStateMethod::Btw);
    let mut bench = scripted(|step| f64::from(step.place.round * step.place.round));
    let findings = bench.studied(&wsat, &wsat.setup.settings);
    assert_eq!(phase_steps(&bench.entries, PHASE).len(), 25 * 31);
    assert!(!findings.verdict.as_ref().unwrap().steady);
    let caveat = findings.caveat("steady-state-not-achieved").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Invalidates);
}

/// Returns the last verdict in the journal.
fn last_noted_verdict(entries: &[JournalEntry]) -> &Verdict {
    let verdict = entries.iter().rev().find_map(|entry| match entry {
        JournalEntry::Noted(note) => match &**note {
            Note::Verdict(verdict) => Some(verdict),
            _ => None,
        },
        _ => None,
    });
    verdict.unwrap()
}

#[test]
fn a_gap_begins_the_window_anew_and_voids_the_minute_after_it() {
    let wsat = wsat_test(|s| {
        s.steady_state = SteadyStateMethod::Btw;
        s.set("least-fills", "0");
    });
    let cycles_and_window = |round: u32, point: u32| {
        let mut bench = scripted(|_| 100.0);
        bench.gap_before = vec![(PHASE, round, point)];
        let findings = bench.studied(&wsat, &wsat.setup.settings);
        let cycles = phase_steps(&bench.entries, PHASE).len() / 31;
        let window = last_noted_verdict(&bench.entries).window;
        assert_eq!(findings.verdict.unwrap().window, window, "gap in {round}, {point}");
        (cycles, window)
    };
    assert_eq!(cycles_and_window(1, 1), (5, Some((1, 5))), "nothing had begun");
    assert_eq!(cycles_and_window(3, 7), (7, Some((3, 7))), "round 3 is the first after the gap");
    let after_rest = cycles_and_window(3, 31);
    assert_eq!(after_rest, (8, Some((4, 8))), "the measured minute itself came after a rest");
}

#[test]
fn a_gap_before_the_histogram_repeats_it() {
    let wsat = wsat_test(|_| ());
    let mut bench = scripted(|_| 100.0);
    bench.gap_before = vec![(HISTOGRAM, 0, 1)];
    bench.response = |_| Some(Nanos::from_millis(2));
    let record = bench.recorded(&wsat, &wsat.setup.settings);
    assert_eq!(phases(&bench.entries), [PHASE, "histogram", "histogram (attempt 2)"]);
    let results = WsatResults::new(&wsat, &record);
    assert!(results.histogram.is_some());
    let findings = wsat.study(&record);
    let gap = findings.caveat("gap").unwrap();
    assert!(gap.text.contains("repeated"), "{}", gap.text);
}

#[test]
fn written_bytes_fills_and_response_times_are_added_up() {
    let wsat = wsat_test(|s| {
        s.steady_state = "time:4min".parse().unwrap();
        s.set("workload", "RND 8K RW50");
    });
    let mut bench = scripted(|_| 2000.0);
    bench.response = |_| Some(Nanos::from_millis(3));
    let record = bench.recorded(&wsat, &wsat.setup.settings);
    let results = WsatResults::new(&wsat, &record);
    let last = results.steps.last().unwrap();
    // 1000 writes of 8 KiB per second for 240 s.
    assert!((last.written_gb - 1000.0 * 8192.0 * 240.0 / 1e9).abs() < 1e-9);
    assert!((last.fills - last.written_gb / Bytes::gib(1).as_gb()).abs() < 1e-9);
    assert_eq!((last.time, last.iops, last.art), (4.0, Some(2000.0), Some(3.0)));
    assert_eq!(results.end, results::SaturationEnd::Time);
}

#[test]
fn a_mix_needs_more_bytes_than_it_writes_and_reads_none_by_bytes() {
    let wsat = wsat_test(|s| s.set("workload", "RND 8K RW50"));
    assert_eq!(wsat.stimulus().until.bytes, Some(Bytes::gib(8)));
    let reads = wsat_test(|s| {
        s.set("workload", "read-intensive");
        s.set("precondition", "wipc");
    });
    assert_eq!(reads.stimulus().until.bytes, None);
}

#[test]
fn sequential_workloads_run_at_t1q32_and_the_composite_at_the_class_demand() {
    let video = wsat_test(|s| s.set("workload", "video"));
    assert_eq!(
        (video.demand, video.workload.to_string()),
        (Demand::new(1, 32), "SEQ 128K RW90".into())
    );
    let mut settings = Settings::new("composite", 1);
    let composite = build_wsat(&settings).unwrap();
    assert_eq!(composite.demand, Demand::new(4, 32));
    assert_eq!(composite.workload.to_string(), "composite W");
    assert_eq!(composite.stimulus().zones.len(), 3);
    settings.set("mix", "40/60");
    assert_eq!(build_wsat(&settings).unwrap().stimulus().streams.len(), 24);
}

fn conducted(wsat: &Wsat, iops: impl FnMut(&Step) -> f64) -> (Vec<Step>, Findings) {
    let mut bench = scripted(iops);
    let findings = bench.studied(wsat, &wsat.setup.settings);
    (steps(&bench.entries).into_iter().cloned().collect(), findings)
}

fn steady_row(findings: &Findings) -> &str {
    let rows = &findings.header.blocks[3].rows;
    rows.iter().find(|row| row.label == "Steady State").unwrap().value.as_deref().unwrap()
}

/// 100 I/Os of 4 KiB per second write 1 GiB in 44 minutes: the first measured minute
/// of 31 is one of a fresh drive.
#[test]
fn a_window_that_begins_before_the_drive_was_filled_does_not_count() {
    let btw = |s: &mut Settings| s.steady_state = SteadyStateMethod::Btw;
    let cycles = |all: &[Step]| all.iter().filter(|s| s.place.phase == PHASE).count() / 31;
    let (all, findings) = conducted(&wsat_test(btw), |_| 100.0);
    assert_eq!(cycles(&all), 6);
    assert_eq!(findings.verdict.as_ref().unwrap().window, Some((2, 6)));
    assert!(findings.caveat("steady-within-first-fill").is_none());

    let plain = wsat_test(|s| {
        btw(s);
        s.set("least-fills", "0");
    });
    let (all, findings) = conducted(&plain, |_| 100.0);
    assert_eq!(cycles(&all), 5);
    let verdict = findings.verdict.as_ref().unwrap();
    assert!(verdict.steady && verdict.reservation.as_ref().unwrap().contains("0.69 drive fills"));
    let caveat = findings.caveat("steady-within-first-fill").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Deviation);
    assert!(findings.ending.contains("STILL FRESH: 0.69"), "{}", findings.ending);
    assert!(steady_row(&findings).contains("STILL FRESH"), "{}", steady_row(&findings));
}

/// Six hours of 10 I/Os per second fill a fifth of the drive, all of it steady.
#[test]
fn a_limit_that_comes_first_leaves_a_verdict_that_does_not_count() {
    let (_, findings) = conducted(&wsat_test(|_| ()), |_| 10.0);
    assert!(findings.verdict.is_none(), "ended by time, which the method allows");
    assert_eq!(findings.whole_end().steady(), None);
    assert!(findings.caveat("ended-before-steady-state").is_some());
    assert_eq!(steady_row(&findings), "not required: time limit");
}

#[test]
fn reads_of_a_purged_drive_are_refused_unless_it_is_written_first() {
    let mut settings = Settings::new("wsat", 7);
    settings.set("workload", "RND 4K R");
    let why = build_wsat(&settings).unwrap_err().0;
    assert!(why.contains("--set precondition=wipc") && why.contains("--purge none"), "{why}");
    settings.purge = PurgeChoice::Method(PurgeMethod::Nothing);
    assert!(build_wsat(&settings).is_ok());
    settings.purge = PurgeChoice::Auto;
    settings.set("precondition", "wipc");
    let (all, findings) = conducted(&build_wsat(&settings).unwrap(), |_| 100.0);
    assert_eq!(all[0].place.phase, "wipc");
    assert_eq!(all[0].load.stimulus().unwrap().until.bytes, Some(Bytes::gib(2)));
    assert!(findings.caveat("reads-unwritten").is_none());
    assert_eq!(findings.caveat("precondition").unwrap().kind, CaveatKind::Deviation);
    assert_eq!(findings.verdict.unwrap().window, Some((1, 5)), "reads fill nothing");
    let mixed = wsat_test(|s| s.set("workload", "RND 8K RW65"));
    let (_, findings) = conducted(&mixed, |_| 100.0);
    assert_eq!(findings.caveat("reads-unwritten").unwrap().kind, CaveatKind::Remark);
}

/// A step may be 2 ms short with every engine: a cut by fio is judged like one by our own engines.
#[test]
fn a_minute_two_milliseconds_short_counts_and_one_of_three_does_not() {
    let window = |retouch: fn(&Step, &mut steadfast_domain::Measurement)| {
        let wsat = wsat_test(|s| {
            s.steady_state = SteadyStateMethod::Btw;
            s.set("least-fills", "0");
        });
        let mut bench = scripted(|_| 100.0);
        bench.retouch = retouch;
        let findings = bench.studied(&wsat, &wsat.setup.settings);
        findings.verdict.unwrap().window
    };
    assert_eq!(window(|_, m| m.elapsed = Nanos::from_millis(59_998)), Some((1, 5)));
    assert_eq!(window(|_, m| m.elapsed = Nanos::from_millis(59_997)), None);
}

#[test]
fn unverified_parameters_stand_in_the_report_unless_they_are_without_use() {
    let unverified = |change: fn(&mut Settings)| {
        let wsat = wsat_test(change);
        let mut caveats = wsat.study(&record(&wsat.setup.settings, Vec::new())).caveats;
        caveats.retain(|caveat| caveat.id.starts_with("parameter-"));
        caveats
    };
    let all = unverified(|s| s.set("histogram-time", "5min"));
    let ids: Vec<&str> = all.iter().map(|caveat| caveat.id.as_str()).collect();
    let expected = [
        "parameter-alignment", "parameter-between-time", "parameter-measured-minute",
        "parameter-histogram-time",
    ];
    assert_eq!(ids, expected);
    assert!(all.iter().all(|caveat| caveat.kind == CaveatKind::Unverified));
    assert!(all[3].text.contains("5min (chosen)"), "{}", all[3].text);
    let without_use = unverified(|s| {
        s.steady_state = "time:4min".parse().unwrap();
        s.profile = Profile::Pts11;
        s.set("workload", "SEQ 128K W");
    });
    assert!(without_use.is_empty(), "{without_use:?}");
}

#[test]
fn a_mean_of_fresh_and_last_steps_is_not_shown() {
    let rows = |minutes: &str| -> Vec<String> {
        let wsat = wsat_test(|s| s.steady_state = format!("time:{minutes}min").parse().unwrap());
        let (_, findings) = conducted(&wsat, |_| 100.0);
        let table = findings.summary[0].as_table().unwrap();
        table.rows.iter().map(|row| row.head.clone()).collect()
    };
    let after = "Histogram run, after the saturation";
    assert_eq!(rows("4"), ["First step", "Last step", after]);
    assert_eq!(rows("6"), ["First step", "Last step", "Mean of the last 5 steps", after]);
}

/// A drive that loses 100 IOPS a minute until its histogram, which has 700.
fn falling(step: &Step) -> f64 {
    match step.place.phase.as_str() {
        HISTOGRAM => 700.0,
        _ => 2000.0 - 100.0 * f64::from(step.place.point),
    }
}

#[test]
fn without_a_steady_window_page_one_has_the_histogram_and_nothing_sustained() {
    for time in ["4min", "9min"] {
        let wsat = wsat_test(|s| s.steady_state = format!("time:{time}").parse().unwrap());
        let mut bench = scripted(falling);
        bench.response =
            |step| Some(Nanos::from_millis(if step.place.phase == HISTOGRAM { 9 } else { 2 }));
        let findings = bench.studied(&wsat, &wsat.setup.settings);
        assert_eq!(figure(&findings, "fresh-iops"), Some(1900.0));
        assert_eq!(figure(&findings, "after-iops"), Some(700.0), "{time}");
        assert_eq!(figure(&findings, "after-mean"), Some(9.0), "of the same run");
        let share = figure(&findings, "after-share").unwrap();
        assert!((share - 700.0 / 19.0).abs() < 1e-9);
        assert_eq!(figure(&findings, "sustained-iops"), None);
        assert!(!findings.front.figures.iter().any(|f| f.label.contains("ustained")));
    }
}

/// 1,600 to 1,300 IOPS for 60 s each and 1,000 for the last 30 s, summed by the test.
#[test]
fn without_a_histogram_the_last_steps_count_by_their_time_and_are_called_not_steady() {
    let wsat = wsat_test(|s| {
        s.profile = Profile::Pts11;
        s.steady_state = "time:510s".parse().unwrap();
    });
    let (all, findings) = conducted(&wsat, |step| match step.place.point {
        9 => 1000.0,
        point => 2100.0 - 100.0 * f64::from(point),
    });
    assert_eq!((all.len(), all[8].cut), (9, Some(Nanos::from_secs(30))));
    let ios = (1600.0 + 1500.0 + 1400.0 + 1300.0) * 60.0 + 1000.0 * 30.0;
    assert!((figure(&findings, "last-iops").unwrap() - ios / 270.0).abs() < 1e-9);
    let label = &findings.figure("last-iops").unwrap().label;
    assert!(label.contains("last 5 steps, not steady"), "{label}");
    assert_eq!(figure(&findings, "after-iops"), None);
}

#[test]
fn a_steady_window_is_sustained_unless_the_drive_was_still_fresh() {
    let conducted_with = |least: &str| {
        let wsat = wsat_test(|s| {
            s.steady_state = SteadyStateMethod::Btw;
            s.set("least-fills", least);
        });
        conducted(&wsat, |step| if step.place.phase == HISTOGRAM { 80.0 } else { 100.0 }).1
    };
    assert_eq!(figure(&conducted_with("1"), "sustained-iops"), Some(100.0));
    let fresh = conducted_with("0");
    assert_eq!(figure(&fresh, "sustained-iops"), None, "STILL FRESH");
    assert_eq!(figure(&fresh, "after-iops"), Some(80.0));
}

/// The writes of a mix are only expected: 3.9 fills are not reported as "4 x written".
#[test]
fn a_mix_that_ends_by_bytes_does_not_say_that_it_wrote_them() {
    let wsat = wsat_test(|s| {
        s.set("workload", "RND 8K RW50");
        s.steady_state = "fills:2".parse().unwrap();
    });
    assert_eq!(wsat.fills_text(), "the I/Os expected to write 2 x user capacity");
    let writes = wsat_test(|s| s.steady_state = "fills:2".parse().unwrap());
    assert_eq!(writes.fills_text(), "2 x user capacity written");
}

#[test]
fn an_alignment_is_applied_and_named() {
    let wsat = wsat_test(|s| {
        s.set("workload", "RND 64K W");
        s.set("alignment", "4K");
    });
    assert_eq!(wsat.stimulus().streams[0].alignment, Some(Bytes::kib(4)));
    let (_, findings) = conducted(&wsat, |_| 100.0);
    assert!(findings.headline.ends_with("Aln=4K"), "{}", findings.headline);
    let own = wsat_test(|_| ());
    assert_eq!(own.stimulus().streams[0].alignment, None, "as before the option");
    assert!(conducted(&own, |_| 100.0).1.headline.ends_with("Aln=BS"));
    let composite = build_wsat(&Settings::new("composite", 1)).unwrap();
    assert!(conducted(&composite, |_| 100.0).1.headline.ends_with("Aln=4K"));
}

#[test]
fn a_histogram_discloses_its_bins() {
    let (_, findings) = conducted(&wsat_test(|_| ()), |_| 100.0);
    assert!(findings.caveat("histogram-bins").is_some());
    let (_, findings) = conducted(&wsat_test(|s| s.profile = Profile::Pts11), |_| 100.0);
    assert!(findings.caveat("histogram-bins").is_none());
}

/// Procedures that take no one-pass preconditioning say so; the others need the spare.
#[test]
fn one_pass_is_refused_where_it_has_no_place() {
    for spec in crate::PROCEDURES {
        let why = refusal(&settings_of(spec.name, set("precondition", "one-pass")));
        let single = crate::catalogue::SINGLE.iter().find(|single| single.name == spec.name);
        if single.is_some_and(|single| single.parameters.iter().all(|p| p.name != "spare")) {
            assert!(why.contains("--precondition one-pass has no place"), "{why}");
        }
    }
}

#[test]
fn one_pass_needs_the_spare_and_precedes_the_saturation() {
    let wsat = wsat_test(|s| {
        s.set("precondition", "one-pass");
        s.set("spare", "7%");
    });
    let (all, findings) = conducted(&wsat, |_| 100.0);
    let regions = all.iter().take_while(|step| step.place.phase == "one-pass").count();
    assert_eq!((regions, all[regions].place.phase.as_str()), (64, PHASE));
    let caveat = findings.caveat("precondition").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Deviation);
    // 1 / (1 - p) of p = exp(-1.0698 (1 - p)) is 7.84.
    assert!(
        caveat.text.contains("7.0 % spare") && caveat.text.contains("of 7.84"),
        "{}",
        caveat.text
    );
}
