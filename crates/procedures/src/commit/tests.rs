use super::flush_cost::{FlushVerdict, flush_costs, flush_verdict};
use super::results::CommitResults;
use super::*;
use crate::testing::scripted::{
    ScriptedBench, assert_unfinished_wherever_it_ends, caveat_ids, first_of_phase, phases, purges,
    record, requested, scripted, settings_of, steps,
};
use steadfast_domain::measurement::{KernelCounters, StreamTally, UnmeasuredIos};
use steadfast_domain::stimulus::{Demand, Durability};
use steadfast_domain::{
    Bytes, Conditions, EndState, JournalEntry, Measurement, Nanos, Op, Profile, Settings, Step,
    Tally, WriteCache,
};

fn build(change: impl FnOnce(&mut Settings)) -> Commit {
    requested(&settings_of("commit", change), Commit::new)
}

/// Two numbers of committers, one block size and the shortest preconditioning.
fn short(settings: &mut Settings) {
    for (name, value) in [("committers", "1,16"), ("block-sizes", "4K"), ("least-fills", "0")] {
        settings.set(name, value);
    }
    settings.step_time = Some(Nanos::from_secs(60));
    settings.set("between-time", "60s");
}

/// A plain write takes 100 us, FUA 500 us, a write and its flush 2.2 ms.
fn volatile(step: &Step) -> Option<Nanos> {
    Some(match durability(step) {
        Durability::Cached => Nanos(100_000),
        Durability::Fua | Durability::Sync => Nanos(500_000),
        Durability::Flush(_) => Nanos(2_200_000),
    })
}

fn durability(step: &Step) -> Durability {
    step.load.stimulus().unwrap().streams[0].durability
}

/// Adds its flushes and its writes alone to each step that flushes.
fn flushed(step: &Step, measurement: &mut Measurement) {
    if let Durability::Flush(every) = durability(step) {
        let writes = measurement.direction(Op::Write);
        let ios = writes.ios / u64::from(every.get());
        // Each write alone takes 100 us of its commit.
        let alone_sum = writes.ios * 100_000;
        let flush_sum = (writes.response_sum.0 - alone_sum) / u64::from(every.get());
        let tally = Tally { ios, response_sum: Nanos(flush_sum), ..Tally::default() };
        measurement.streams.push(StreamTally { op: Op::Flush, tally });
        let alone = Tally { response_sum: Nanos(alone_sum), ..writes };
        measurement.writes_alone = Some(alone);
    }
}

fn bench(response: fn(&Step) -> Option<Nanos>) -> ScriptedBench<impl FnMut(&Step) -> f64> {
    let mut bench = scripted(|_| 1000.0);
    bench.response = response;
    bench.retouch = flushed;
    bench
}

fn measured(bench: &ScriptedBench<impl FnMut(&Step) -> f64>) -> Vec<&Step> {
    let mut steps = steps(&bench.entries);
    steps.retain(|step| step.place.phase.starts_with("commits"));
    steps
}

#[test]
fn the_default_matrix_has_every_kind_beside_the_others() {
    let test = build(|_| ());
    let labels: Vec<String> = test.loads.iter().map(CommitLoad::label).collect();
    // 7 committers x 3 kinds x 2 orders, 6 groups, 2 further sizes x 2 committers x 3 x 2.
    assert_eq!(labels.len(), 42 + 6 + 24);
    let first = ["RND 4K W T1Q1", "RND 4K W FUA T1Q1", "RND 4K W FLUSH/1 T1Q1", "RND 4K W T2Q1"];
    assert_eq!(labels[..4], first);
    let last = ["SEQ 16K W T16Q1", "SEQ 16K W FUA T16Q1", "SEQ 16K W FLUSH/1 T16Q1"];
    assert_eq!(labels[69..], last);
    for (label, demand) in [
        ("SEQ 4K W FLUSH/64 T1Q64", Demand::new(1, 64)),
        ("SEQ 4K W FLUSH/1 T64Q1", Demand::new(64, 1)),
    ] {
        let load = test.loads.iter().find(|load| load.label() == label).unwrap();
        assert_eq!(load.demand(), demand);
    }
    assert!(!labels.iter().any(|label| label.starts_with("RND") && label.ends_with("T1Q64")));
}

#[test]
fn the_drive_is_purged_and_steady_before_the_first_commit() {
    let test = build(short);
    let mut bench = bench(volatile);
    test.conduct(&mut bench).unwrap();
    let wanted = bench.entries.iter().find_map(|entry| match entry {
        JournalEntry::Settled { wanted, .. } => Some(wanted.write_cache),
        _ => None,
    });
    assert_eq!(wanted, Some(None), "the write cache stays as it is");
    assert_eq!(phases(&bench.entries), ["wipc", "preconditioning", "commits"]);
    assert_eq!(purges(&bench.entries), 1);
    for step in measured(&bench) {
        let stimulus = step.load.stimulus().unwrap();
        assert_eq!(stimulus.ramp, Nanos::from_secs(10));
        assert_eq!(stimulus.until.time, Some(Nanos::from_secs(60)));
    }
    let findings = test.study(&record(&test.setup.settings, bench.entries));
    assert_eq!(findings.end, EndState::Steady);
    let figures: Vec<_> = findings.front.figures.iter().map(|f| (f.id.as_str(), f.value)).collect();
    assert_eq!(figures[0], ("seq-flush-1-rate", Some(1000.0)));
    let (id, nines) = figures[1];
    assert_eq!(id, "seq-flush-1-p99-9");
    assert!((nines.unwrap() / 2.2 - 1.0).abs() < 0.008, "{nines:?}");
    assert_eq!(figures[6].0, "rnd-flush-16-rate");
    assert_eq!(figures.len(), 8);
}

#[test]
fn a_gap_voids_its_step_only_and_the_drive_is_written_before_it_is_repeated() {
    let test = build(short);
    let mut bench = bench(volatile);
    bench.gap_before = vec![("commits", 0, 3), ("commits (attempt 2)", 0, 3), ("commits", 0, 5)];
    test.conduct(&mut bench).unwrap();
    let places: Vec<String> = steps(&bench.entries)
        .iter()
        .filter(|step| step.place.phase.starts_with("commits") || step.place.point == 1)
        .map(|step| format!("{} {}.{}", step.place.phase, step.place.round, step.place.point))
        .skip_while(|place| !place.starts_with("commits"))
        .collect();
    let expected = [
        "commits 0.1", "commits 0.2", "commits 0.3", "refresh (attempt 2) 3.1",
        "commits (attempt 2) 0.3", "refresh (attempt 3) 3.1", "commits (attempt 3) 0.3",
        "commits 0.4", "commits 0.5", "refresh (attempt 2) 5.1", "commits (attempt 2) 0.5",
        "commits 0.6",
    ];
    assert_eq!(places[..12], expected);
    let record = record(&test.setup.settings, bench.entries);
    let results = CommitResults::new(&test, &record);
    assert_eq!(results.measured(), test.loads.len());
    let (step, _) = results.points[2].step.unwrap();
    assert_eq!(step.place.phase, "commits (attempt 3)");
    let findings = test.study(&record);
    assert_eq!(caveat_ids(&findings).iter().filter(|id| **id == "gap").count(), 3);
}

/// A gap inside the refresh: the step after it does not count either.
#[test]
fn a_gap_in_the_refresh_repeats_both() {
    let test = build(short);
    let mut bench = bench(volatile);
    bench.gap_before = vec![("commits", 0, 1), ("refresh (attempt 2)", 1, 2)];
    test.conduct(&mut bench).unwrap();
    let of_first: Vec<_> = measured(&bench)
        .into_iter()
        .filter(|step| step.place.point == 1)
        .map(|step| step.place.phase.clone())
        .collect();
    assert_eq!(of_first, ["commits", "commits (attempt 2)", "commits (attempt 3)"]);
    let third = first_of_phase(&bench.entries, "refresh (attempt 3)");
    let broken = record(&test.setup.settings, bench.entries[..third].to_vec());
    assert!(CommitResults::new(&test, &broken).points[0].step.is_none());
    let whole = record(&test.setup.settings, bench.entries);
    assert!(CommitResults::new(&test, &whole).points[0].step.is_some());
}

/// Further block sizes are measured with the committers of page one only.
#[test]
fn every_block_size_has_a_cost_without_a_single_committer() {
    let test = build(|s| {
        short(s);
        s.set("committers", "4,16");
        s.set("block-sizes", "4K,8K");
    });
    let record = bench(volatile).recorded(&test, &test.setup.settings);
    assert_eq!(flush_costs(&test, &CommitResults::new(&test, &record)).len(), 4);
}

/// Conducts the test and returns the verdict, the ending and the IDs of its caveats.
fn judged(
    response: fn(&Step) -> Option<Nanos>,
    cache: Option<WriteCache>,
) -> (FlushVerdict, String, Vec<String>) {
    let test = build(short);
    let mut bench = bench(response);
    test.conduct(&mut bench).unwrap();
    let got = Conditions { write_cache: cache, ..Conditions::default() };
    bench.entries.push(JournalEntry::Resettled { got, when: None });
    let record = record(&test.setup.settings, bench.entries);
    let results = CommitResults::new(&test, &record);
    let verdict = flush_verdict(&flush_costs(&test, &results), &record);
    let findings = test.study(&record);
    (verdict, findings.ending, findings.caveats.into_iter().map(|caveat| caveat.id).collect())
}

#[test]
fn the_verdict_on_flushes_follows_from_the_ratio_to_plain_writes() {
    let (verdict, ending, caveats) = judged(volatile, Some(WriteCache::Enabled));
    assert_eq!(verdict, FlushVerdict::Costs);
    assert!(
        ending.starts_with("A flush costs 2.100 ms: a commit takes 22.0 times its"),
        "{ending}"
    );
    // A plain write of a full cache waits for flash, which makes no flush free.
    let full = |step: &Step| match durability(step) {
        Durability::Flush(_) => Some(Nanos(2_200_000)),
        _ => Some(Nanos(2_000_000)),
    };
    assert_eq!(judged(full, Some(WriteCache::Enabled)).0, FlushVerdict::Costs);
    assert!(!caveats.iter().any(|id| id == "flush-costs-nothing" || id == "nothing-flushed"));

    let safe = |step: &Step| {
        let is_flushed = matches!(durability(step), Durability::Flush(_));
        Some(Nanos(if is_flushed { 300_000 } else { 100_000 }))
    };
    let (verdict, ending, caveats) = judged(safe, Some(WriteCache::Enabled));
    assert_eq!(verdict, FlushVerdict::Free, "3.0 times is still free");
    assert!(ending.contains("only a power cut can tell"), "{ending}");
    assert!(caveats.contains(&"flush-costs-nothing".to_owned()));
    let (verdict, ending, caveats) = judged(safe, Some(WriteCache::Disabled));
    assert_eq!(verdict, FlushVerdict::NothingFlushed);
    assert!(ending.starts_with("Nothing was flushed"), "{ending}");
    assert!(caveats.contains(&"nothing-flushed".to_owned()));
    assert_eq!(judged(safe, None).0, FlushVerdict::Free, "an unknown cache is not write through");

    let mixed = |step: &Step| {
        let label = &step.place.label;
        let slow = label.starts_with("RND") && label.contains("FLUSH");
        Some(Nanos(if slow { 301_000 } else { 100_000 }))
    };
    assert_eq!(judged(mixed, Some(WriteCache::Enabled)).0, FlushVerdict::Mixed);
}

#[test]
fn flushes_at_the_device_are_counted_per_commit() {
    let test = build(short);
    let mut bench = bench(volatile);
    bench.retouch = |step, measurement| {
        flushed(step, measurement);
        if matches!(durability(step), Durability::Flush(_)) {
            // 10,000 writes of the run-in, and a flush for every other write.
            let bytes = Bytes(10_000 * 4096);
            measurement.unmeasured = vec![UnmeasuredIos { op: Op::Write, ios: 10_000, bytes }];
            let kernel = KernelCounters { flushes: Some(35_000), ..KernelCounters::default() };
            measurement.kernel = Some(kernel);
        }
    };
    let record = bench.recorded(&test, &test.setup.settings);
    let results = CommitResults::new(&test, &record);
    let point = |label: &str| results.points.iter().find(|p| p.load.label() == label).unwrap();
    let (own, group) = (point("SEQ 4K W FLUSH/1 T16Q1"), point("SEQ 4K W FLUSH/16 T1Q16"));
    // 60,000 measured writes, 70,000 in all.
    assert_eq!((own.device_flushes(), own.flush_rate()), (Some(0.5), Some(1000.0)));
    assert_eq!((group.rate(), group.flush_rate()), (Some(1000.0), Some(62.5)));
    let plain = point("SEQ 4K W T16Q1");
    assert_eq!((plain.device_flushes(), plain.flush_rate()), (None, None));
}

#[test]
fn a_run_that_broke_off_shows_what_it_has() {
    let test = build(short);
    let whole = bench(volatile).recorded(&test, &test.setup.settings);
    assert_unfinished_wherever_it_ends(&test, &whole);
}

#[test]
fn a_quick_run_has_fewer_loads_and_page_one_the_first_committers() {
    let quick = build(|s| s.profile = Profile::Quick);
    assert!(quick.loads.len() < 72 && quick.setup.step_time == Nanos::SECOND);
    // Without 1 and 16 page one shows the first.
    let other = build(|s| s.set("committers", "3,5"));
    let shown: Vec<u32> = other.page_one().iter().map(|n| n.get()).collect();
    assert_eq!(shown, [3]);
}
