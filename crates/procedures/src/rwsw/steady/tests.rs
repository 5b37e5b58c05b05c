use crate::testing::scripted::{
    build, phase_steps, phases, record, refusal, scripted, steps, track_names, weights,
};
use crate::testing::workload::settings;
use steadfast_domain::findings::Cell;
use steadfast_domain::stimulus::{DataPattern, Op, Order, Pace, Zone};
use steadfast_domain::{Bytes, CaveatKind, Demand, Nanos, Settings, Stimulus, caveats as ids};

#[test]
fn the_composite_has_the_counts_of_the_capture_in_every_step() {
    let settings = settings("multi-wsat");
    let test = build(&settings);
    let mut bench = scripted(|_| 1000.0);
    let findings = bench.studied(&*test, &settings);
    assert_eq!(phases(&bench.entries), ["wipc", "steady-state"]);
    let runs = phase_steps(&bench.entries, "steady-state");
    assert_eq!(runs.len(), 5 * 31, "five rounds, 30 steps between");
    for step in &runs {
        assert_eq!(weights(step), [5000, 3000, 2000]);
        let demand = step.load.stimulus().unwrap().demand;
        assert_eq!(demand, Demand::new(4, 32), "the class's: the capture says none");
    }
    assert!(runs[1..].iter().all(|step| step.continues));
    assert_eq!(findings.ending, "Steady state in rounds 1 to 5.");
    assert_eq!(findings.form_pages.len(), 4);
    assert!(findings.method.contains("RWSW PTS 1.0.7"), "{}", findings.method);
    for id in ["rwsw-cadence", "rwsw-rules", "parameter-preconditioning"] {
        assert!(findings.caveat(id).is_some(), "{id}");
    }
}

/// A workload whose first stream has three zones, one of them 10 ppm wide, and Poisson arrivals.
fn detailed(procedure: &str) -> Settings {
    let mut settings = settings(procedure);
    let workload = settings.workload.as_mut().unwrap();
    let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
    workload.streams[0].zones =
        vec![zone(80, 0, 10), zone(15, 10, 50_000), zone(5, 50_000, 900_000)];
    workload.arrivals = Some(Pace::poisson(512.0));
    workload.stream_arrivals = vec![(1, Pace::Fixed { ios: 100, per: Nanos::SECOND })];
    settings
}

fn loads(settings: &Settings) -> Vec<Stimulus> {
    let mut bench = scripted(|_| 1000.0);
    bench.response = |_| Some(Nanos::from_millis(2));
    build(settings).conduct(&mut bench).unwrap();
    let steps = steps(&bench.entries);
    let loads = steps.iter().filter(|step| !step.place.phase.starts_with("wipc"));
    loads.map(|step| step.load.stimulus().unwrap().clone()).collect()
}

#[test]
fn zones_are_applied_and_arrivals_where_they_are_asked_for() {
    for procedure in ["multi-wsat", "rwsw-dirth"] {
        let mut settings = detailed(procedure);
        for load in loads(&settings) {
            assert_eq!(
                (load.streams[0].zones.len(), load.pace.clone()),
                (3, Pace::Closed),
                "{procedure}"
            );
            assert_eq!(
                load.streams[0].zones[2],
                Zone { weight: 5, from_ppm: 50_000, to_ppm: 900_000 }
            );
            assert!(load.streams[1].zones.is_empty() && load.fault().is_none());
            // Room for 4 KiB and twice its alignment.
            let narrow = load.streams[0].zones[0];
            let bytes = load.active_range.length.0 / 1000 * u64::from(narrow.to_ppm) / 1000;
            assert!(bytes + 1000 > 12_288 && narrow.from_ppm == 0, "{narrow:?}");
        }
        settings.set("zones", "none");
        settings.set("arrivals", "workload");
        for load in loads(&settings) {
            let paced = Pace::poisson(512.0);
            assert_eq!((load.streams[0].zones.len(), load.pace.clone()), (0, paced), "{procedure}");
        }
    }
    for arrivals in ["workload", "streams"] {
        let mut settings = detailed("multi-wsat");
        settings.set("arrivals", arrivals);
        assert_eq!(loads(&settings)[0].demand, Demand::SCHEDULED);
        settings.workload.as_mut().unwrap().arrivals = None;
        let why = refusal(&settings);
        assert!(why.contains("workload derive"), "{why}");
    }
}

/// Of 5000, 3000 and 2000 of 10,007 I/Os; only the second stream has arrivals of its own.
#[test]
fn streams_arrive_by_their_own_pace_or_at_random_with_their_share() {
    for procedure in ["multi-wsat", "rwsw-dirth"] {
        let mut settings = detailed(procedure);
        settings.set("arrivals", "streams");
        // At the rate of its 3,000 I/Os, not at the 100 I/Os a second of its active time.
        let own = Pace::Fixed { ios: 153_493, per: Nanos::from_secs(1000) };
        let random = [5000.0, 2000.0].map(|ios| Pace::poisson(512.0 * ios / 10_007.0));
        let paces = vec![random[0].clone(), own, random[1].clone()];
        for load in loads(&settings) {
            assert_eq!(load.pace, Pace::ByStream(paces.clone()), "{procedure}");
            assert_eq!(load.fault(), None);
        }
        let bursts = Pace::Burst { ios: 5, delay: Nanos::SECOND };
        settings.workload.as_mut().unwrap().stream_arrivals = vec![(0, bursts)];
        let why = refusal(&settings);
        assert!(why.contains("arrivals=streams") && why.contains("rate"), "{why}");
    }
}

#[test]
fn a_drive_that_is_slower_than_the_arrivals_is_said_to_be() {
    for procedure in ["multi-wsat", "rwsw-dirth"] {
        for (arrivals, iops, is_missed) in [
            ("closed", 100.0, false),
            ("workload", 1000.0, false),
            ("workload", 100.0, true),
            ("streams", 100.0, true),
        ] {
            let mut settings = detailed(procedure);
            settings.set("arrivals", arrivals);
            let mut bench = scripted(|_| iops);
            bench.response = |_| Some(Nanos::from_millis(2));
            let findings = bench.studied(&*build(&settings), &settings);
            let found = findings.caveat(ids::RATE_MISSED).is_some();
            assert_eq!(found, is_missed, "{procedure} {arrivals} {iops}");
        }
    }
}

#[test]
fn reports_disclose_zones_and_arrivals() {
    let found = |settings: &Settings| -> [bool; 3] {
        let findings = scripted(|_| 1000.0).studied(&*build(settings), settings);
        let text = serde_json::to_string(&findings).unwrap();
        assert_eq!(text.contains("applied-zones"), !text.contains("left out: the whole"));
        ["as captured: 512 IOPS", "not applied: 512 IOPS", "1 streams, as captured"]
            .map(|words| text.contains(words))
    };
    let mut settings = detailed("multi-wsat");
    assert_eq!(found(&settings), [false, true, true]);
    settings.set("zones", "none");
    settings.set("arrivals", "workload");
    assert_eq!(found(&settings), [true, false, false]);
    settings.set("arrivals", "streams");
    let findings = scripted(|_| 1000.0).studied(&*build(&settings), &settings);
    let arrivals = findings.table("applied-arrivals").unwrap();
    let rows: Vec<_> = arrivals.rows.iter().map(|row| row.cells[0].clone()).collect();
    assert_eq!(rows, [255.821, 153.493, 102.328].map(|iops| Cell::number(Some(iops), 3)));
}

#[test]
fn every_stream_is_run_alone_at_the_demand_of_its_order() {
    let settings = settings("individual-streams");
    let test = build(&settings);
    let mut bench = scripted(|_| 1000.0);
    bench.response = |_| Some(Nanos::from_millis(2));
    let findings = bench.studied(&*test, &settings);
    let load_of = |phase: &str| {
        let steps = phase_steps(&bench.entries, phase);
        let stimulus = steps[0].load.stimulus().unwrap().clone();
        assert_eq!((steps.len(), stimulus.streams.len()), (5 * 31, 1), "{phase}");
        (stimulus.streams[0].to_string(), stimulus.demand)
    };
    assert_eq!(load_of("stream-1"), ("RND 4K W".to_owned(), Demand::new(4, 32)));
    assert_eq!(load_of("stream-2"), ("RND 8K R".to_owned(), Demand::new(4, 32)));
    assert_eq!(load_of("stream-3"), ("SEQ 64K W".to_owned(), Demand::new(1, 32)));
    assert_eq!(findings.ending, "All 3 I/O streams reached steady state.");
    let verdict = findings.verdict.unwrap();
    assert!(verdict.steady);
    let streams = ["RND 4K W T4Q32", "RND 8K R T4Q32", "SEQ 64K W T1Q32"];
    assert_eq!((verdict.window, &track_names(&verdict)[..]), (Some((1, 5)), &streams[..]));
    let figures: Vec<&str> = findings.front.figures.iter().map(|f| f.label.as_str()).collect();
    assert_eq!(figures[..3], streams);
    let per_watt = streams.map(|stream| format!("{stream}, rate per watt"));
    assert_eq!(figures[3..], per_watt);
    assert!(findings.front.figures[3..].iter().all(|figure| figure.value.is_none()), "no sensor");
}

/// The third stream, whose rate doubles until its fourth measured minute.
#[test]
fn evidence_of_streams_that_end_at_different_rounds_names_their_windows() {
    let settings = settings("individual-streams");
    let mut bench = scripted(|step| match (step.place.phase.as_str(), step.place.round) {
        ("stream-3", round @ 1..=3) => 1000.0 * f64::from(round),
        _ => 8000.0,
    });
    let verdict = bench.studied(&*build(&settings), &settings).verdict.unwrap();
    assert_eq!((verdict.steady, verdict.window), (true, None));
    let names = track_names(&verdict);
    assert_eq!(names[0], "RND 4K W T4Q32, rounds 1 to 5");
    assert_eq!(names[2], "SEQ 64K W T1Q32, rounds 4 to 8");
}

#[test]
fn one_stream_that_is_never_steady_makes_the_run_unsteady_and_is_named() {
    let settings = settings("individual-streams");
    let test = build(&settings);
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "stream-2" => f64::from(step.place.round * step.place.round),
        _ => 1000.0,
    });
    let findings = bench.studied(&*test, &settings);
    let third = phase_steps(&bench.entries, "stream-3");
    assert!(!third.is_empty(), "the others are run all the same");
    assert!(!findings.verdict.as_ref().unwrap().steady);
    let caveat = findings.caveat("steady-state-not-achieved").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Invalidates);
    assert!(caveat.text.contains("RND 8K R") && !caveat.text.contains("SEQ"), "{}", caveat.text);
}

#[test]
fn a_gap_begins_the_window_of_its_run_anew() {
    let settings = settings("multi-wsat");
    let mut bench = scripted(|_| 1000.0);
    bench.gap_before = vec![("steady-state", 3, 7)];
    build(&settings).conduct(&mut bench).unwrap();
    let count = phase_steps(&bench.entries, "steady-state").len();
    assert_eq!(count, 7 * 31, "rounds 3 to 7 are the window");
}

#[test]
fn without_a_workload_or_in_an_older_profile_it_is_refused_with_the_remedy() {
    for name in crate::rwsw::NAMES {
        let none = refusal(&Settings::new(name, 1));
        assert!(none.contains("give --workload FILE or --workload NAME"), "{none}");
        let mut old = settings(name);
        old.profile = steadfast_domain::Profile::Pts11;
        assert!(refusal(&old).contains("RWSW PTS 1.0.7"), "{name}");
    }
}

#[test]
fn the_regime_and_the_content_are_the_operators_choice_and_disclosed() {
    let mut settings = settings("multi-wsat");
    settings.set("preconditioning", "none");
    settings.set("content", "workload");
    let own = DataPattern::Entropy { random_percent: 32, duplicate_percent: 28 };
    settings.workload.as_mut().unwrap().data_pattern = own.clone();
    let test = build(&settings);
    let mut bench = scripted(|_| 100_000.0);
    let findings = bench.studied(&*test, &settings);
    let all = steps(&bench.entries);
    assert_eq!(all[0].place.phase, "steady-state");
    assert_eq!(all[0].load.stimulus().unwrap().data_pattern, own);
    assert!(findings.caveat("reads-unwritten").is_some());
    assert!(findings.caveat("data-pattern").is_some());
}

#[test]
fn streams_of_no_whole_sectors_are_left_out_and_named() {
    let mut settings = settings("multi-wsat");
    let small = steadfast_domain::IoStream::new(Op::Read, Order::Random, Bytes(128)).with_weight(9);
    settings.workload.as_mut().unwrap().streams.push(small);
    let test = build(&settings);
    let mut bench = scripted(|_| 1000.0);
    let findings = bench.studied(&*test, &settings);
    let all = steps(&bench.entries);
    assert_eq!(all.last().unwrap().load.stimulus().unwrap().streams.len(), 3);
    let caveat = findings.caveat("streams-left-out").unwrap();
    assert!(caveat.text.contains("9 I/Os"), "{}", caveat.text);
}

#[test]
fn a_share_of_bytes_that_are_not_known_is_missing() {
    let mut settings = settings("multi-wsat");
    settings.workload.as_mut().unwrap().captured_bytes = None;
    let findings = build(&settings).study(&record(&settings, Vec::new()));
    for row in &findings.table("applied-streams").unwrap().rows {
        assert!(matches!(row.cells[1], Cell::Number { .. }), "{row:?}");
        assert!(matches!(row.cells[4], Cell::Missing), "{row:?}");
    }
}
