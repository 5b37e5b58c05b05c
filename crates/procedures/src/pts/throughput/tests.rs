use super::*;
use crate::common::results::LoopResults;
use crate::pts::scattered::RangedTest;
use crate::testing::scripted::{
    GEOMETRY, phase_steps, purges, purges_and_phases, record, scripted, settings_of, setup, steps,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Amendment;
use steadfast_domain::{Bytes, CaveatKind, Class, Demand, JournalEntry, Profile, Settings, Step};

fn throughput_test(change: impl FnOnce(&mut Settings)) -> Throughput {
    setup(&settings_of("throughput", change), GEOMETRY, &[]).and_then(Throughput::new).unwrap()
}

fn conducted(test: &Throughput, iops: impl FnMut(&Step) -> f64) -> Vec<JournalEntry> {
    let bench = scripted(iops).conducted(test);
    bench.entries
}

#[test]
fn each_size_has_its_purge_its_preconditioning_and_its_rounds() {
    let test = throughput_test(|_| ());
    let entries = conducted(&test, |_| 100.0);
    assert_eq!(
        purges_and_phases(&entries),
        ["purge", "wipc-1024K", "rounds-1024K", "purge", "wipc-128K", "rounds-128K"]
    );
    let steps = steps(&entries);
    assert_eq!(steps.len(), 2 * (1 + 5 * 2), "steady at once: five rounds of two steps");
    let labels: Vec<_> = steps[..3].iter().map(|s| s.place.label.as_str()).collect();
    assert_eq!(labels, ["SEQ 1024K W", "SEQ 1024K R", "SEQ 1024K W"]);
    assert!(steps.iter().all(|s| s.load.stimulus().unwrap().demand == Demand::new(1, 32)));
    let wipc = steps[0].load.stimulus().unwrap();
    assert_eq!(wipc.until.bytes, Some(Bytes::gib(2)));
}

/// 100 I/Os of 1 MiB a second are 104.8576 MB/s; of 128 KiB 13.1072.
#[test]
fn megabytes_are_decimal_and_of_one_direction() {
    let test = throughput_test(|_| ());
    let writes_at_half = |step: &Step| if step.place.label.ends_with('W') { 50.0 } else { 100.0 };
    let entries = conducted(&test, writes_at_half);
    let record = record(&test.setup.settings, entries);
    let results: Vec<LoopResults> =
        test.loops.iter().map(|size| LoopResults::new(&size.mixed_loop, &record)).collect();
    let rate = |n: usize, pattern: AccessPattern| {
        results[n].cell(&pattern).unwrap().mb_per_second.mean.unwrap()
    };
    assert!((rate(0, test.loops[0].reads()) - 104.8576).abs() < 1e-9);
    assert!((rate(0, test.loops[0].writes()) - 52.4288).abs() < 1e-9);
    assert!((rate(1, test.loops[1].reads()) - 13.1072).abs() < 1e-9);
    let findings = test.study(&record);
    assert_eq!(findings.form_pages.len(), 10);
    assert!(findings.verdict.unwrap().steady);
}

#[test]
fn only_writes_are_tracked_and_each_size_on_its_own() {
    let drifting = |step: &Step| {
        let round = f64::from(step.place.round);
        match step.place.label.as_str() {
            "SEQ 1024K R" => 2f64.powf(round),
            "SEQ 128K W" => 100.0 * round.min(4.0),
            _ => 100.0,
        }
    };
    let test = throughput_test(|_| ());
    let entries = conducted(&test, drifting);
    let last = |phase: &str| phase_steps(&entries, phase).last().unwrap().place.round;
    assert_eq!((last("rounds-1024K"), last("rounds-128K")), (5, 8));
    let findings = test.study(&record(&test.setup.settings, entries));
    assert!(findings.ending.contains("SEQ 1024K W steady in rounds 1 to 5 of 5"));
    assert!(findings.ending.contains("SEQ 128K W steady in rounds 4 to 8 of 8"));
    let verdict = findings.verdict.unwrap();
    assert!(verdict.steady && verdict.window.is_none(), "no common window");
}

#[test]
fn one_size_without_steady_state_spoils_the_verdict_and_is_named() {
    let test = throughput_test(|_| ());
    let entries = conducted(&test, |step| match step.place.phase.as_str() {
        "rounds-1024K" => 2f64.powi(step.place.round as i32),
        _ => 100.0,
    });
    let findings = test.study(&record(&test.setup.settings, entries));
    assert!(!findings.verdict.unwrap().steady);
    let caveats: Vec<_> =
        findings.caveats.iter().filter(|c| c.id == "steady-state-not-achieved").collect();
    assert_eq!(caveats.len(), 1);
    assert!(caveats[0].text.contains("SEQ 1024K W") && caveats[0].text.contains("21 to 25"));
    assert!(caveats[0].remedy.contains("--max-rounds"), "128K stands behind it in the journal");
}

#[test]
fn a_gap_voids_a_round_of_its_own_size_only() {
    let test = throughput_test(|_| ());
    let mut bench = scripted(|_| 100.0);
    bench.gap_before = vec![("rounds-128K", 2, 2)];
    let record = bench.recorded(&test, &test.setup.settings);
    let window =
        |index: usize| LoopResults::new(&test.loops[index].mixed_loop, &record).verdict.window;
    assert_eq!((window(0), window(1)), (Some((1, 5)), Some((3, 7))));
    let findings = test.study(&record);
    assert!(findings.caveats.iter().any(|c| c.id == "gap" && c.text.contains("void")));
}

#[test]
fn profiles_and_classes_have_their_own_sizes() {
    let sizes = |change: fn(&mut Settings)| -> Vec<String> {
        throughput_test(change).loops.iter().map(|l| l.size.transfer_size()).collect()
    };
    assert_eq!(sizes(|s| s.class = Class::Client), ["1024K", "128K"]);
    assert_eq!(sizes(|s| s.profile = Profile::Pts11), ["1024K", "128K"]);
    let client_1 = |s: &mut Settings| {
        s.profile = Profile::Pts11;
        s.class = Class::Client;
    };
    assert_eq!(sizes(client_1), ["1024K"]);
    let test_1 = throughput_test(client_1);
    let findings = test_1.study(&record(&test_1.setup.settings, conducted(&test_1, |_| 100.0)));
    assert!(findings.caveat("tp-wipc").is_some());
    assert_eq!(findings.form_pages.len(), 5);
    let tkperf = |s: &mut Settings| s.profile = Profile::Tkperf;
    assert_eq!(sizes(tkperf), ["1024K", "64K", "8K", "4K", "0.5K"]);
}

#[test]
fn tkperf_purges_without_preconditioning_and_says_so() {
    let test = throughput_test(|s| s.profile = Profile::Tkperf);
    let entries = conducted(&test, |_| 100.0);
    assert!(steps(&entries).iter().all(|s| s.place.phase.starts_with("rounds-")));
    assert_eq!(purges(&entries), 5);
    let findings = test.study(&record(&test.setup.settings, entries));
    let caveat = findings.caveat("no-wipc").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Deviation);
}

#[test]
fn an_amendment_is_for_the_last_loop_or_for_the_one_that_it_names() {
    let caps = |amendments: &[Amendment]| -> Vec<u32> {
        let settings = Settings::new("throughput", 7);
        let test = setup(&settings, GEOMETRY, amendments).and_then(Throughput::new).unwrap();
        test.loops.iter().map(|l| l.mixed_loop.rounds_max).collect()
    };
    let named = |phase: &str, rounds| Amendment::RoundsMaxOf { phase: phase.to_owned(), rounds };
    assert_eq!(caps(&[Amendment::RoundsMax(40)]), [25, 40]);
    assert_eq!(caps(&[named("rounds-1024K", 6)]), [6, 25]);
    assert_eq!(caps(&[named("rounds-1024K", 6), Amendment::RoundsMax(9)]), [6, 9]);
}
