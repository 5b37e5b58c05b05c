use super::*;
use crate::testing::scripted::{
    broken_record, first_of_phase, purges_and_phases, record, scripted, set, steps, track_names,
};
use std::collections::HashSet;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{
    CaveatKind, Class, Demand, JournalEntry, Nanos, Profile, Segments, Step, WriteCache,
};

/// A client drive of 32 GB.
const DRIVE: Geometry = Geometry { capacity: Bytes(32_000_000_000), logical_sector: 512 };

fn settings(procedure: &str, change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::new(procedure, 7);
    (settings.profile, settings.class) = (Profile::Pts11, Class::Client);
    change(&mut settings);
    settings
}

fn build(settings: &Settings) -> Box<dyn Procedure> {
    crate::procedure(settings, DRIVE, &[]).unwrap()
}

fn conducted(settings: &Settings, iops: impl FnMut(&Step) -> f64) -> Vec<JournalEntry> {
    let mut bench = scripted(iops);
    bench.response = |_| Some(Nanos(1_000_000));
    build(settings).conduct(&mut bench).unwrap();
    bench.entries
}

fn refused(geometry: Geometry, change: impl FnOnce(&mut Settings)) -> String {
    crate::procedure(&settings("iops", change), geometry, &[]).err().unwrap().0
}

#[test]
fn every_combination_has_its_purge_its_preconditioning_and_its_rounds() {
    for (name, points) in [("iops", 56), ("latency", 9)] {
        let entries = conducted(&settings(name, |_| ()), |_| 1000.0);
        for entry in &entries {
            if let JournalEntry::Settled { wanted, .. } = entry {
                assert_eq!(wanted.write_cache, Some(WriteCache::Enabled));
            }
        }
        let mut expected = Vec::new();
        for part in ["ar100-8GiB", "ar100-16GiB", "ar75-8GiB", "ar75-16GiB"] {
            expected.extend(["purge".to_owned(), format!("{part}/wipc"), format!("{part}/rounds")]);
        }
        assert_eq!(purges_and_phases(&entries), expected);
        assert_eq!(steps(&entries).len(), 4 * (1 + 5 * points), "steady at once");
    }
}

#[test]
fn preconditioning_writes_the_whole_range_and_the_rounds_touch_the_segments() {
    let entries = conducted(&settings("iops", |_| ()), |_| 1000.0);
    let mut layouts: BTreeMap<String, HashSet<Segments>> = BTreeMap::new();
    for step in steps(&entries) {
        let stimulus = step.load.stimulus().unwrap();
        let range = stimulus.active_range;
        assert_eq!(stimulus.fault(), None);
        let (part, phase) = step.place.phase.split_once('/').unwrap();
        let percent = if part.starts_with("ar75") { 75 } else { 100 };
        let whole = ActiveRange::first(percent, DRIVE.capacity, 1 << 20);
        assert_eq!(range.in_one_piece(), whole);
        if phase == "wipc" {
            assert_eq!((range.segments, stimulus.demand), (None, Demand::new(1, 32)));
            assert!(stimulus.until.bytes.unwrap() >= Bytes(2 * DRIVE.capacity.0));
            continue;
        }
        assert_eq!(stimulus.demand, Demand::new(2, 16));
        let segments = range.segments.unwrap();
        let gib = if part.ends_with("16GiB") { 16 } else { 8 };
        assert_eq!((segments.count, segments.amount()), (2048, Bytes::gib(gib)));
        layouts.entry(part.to_owned()).or_default().insert(segments);
    }
    assert_eq!(layouts.len(), 4);
    assert!(layouts.values().all(|of_part| of_part.len() == 1), "one layout for all its steps");
    let seeds: HashSet<u64> = layouts.values().flatten().map(|s| s.seed).collect();
    assert_eq!(seeds.len(), 4, "each part has a layout of its own");
}

#[test]
fn throughput_is_of_1024k_alone_through_the_segments() {
    let entries = conducted(&settings("throughput", |_| ()), |_| 100.0);
    let steps = steps(&entries);
    assert_eq!(steps.len(), 4 * (1 + 5 * 2));
    assert!(steps.iter().all(|s| s.place.label.starts_with("SEQ 1024K")));
    assert!(steps.iter().all(|s| s.load.stimulus().unwrap().demand == Demand::new(1, 32)));
}

#[test]
fn the_report_has_a_part_for_each_and_all_side_by_side() {
    let settings = settings("latency", |_| ());
    let slower = |step: &Step| if step.place.phase.contains("16GiB") { 500.0 } else { 1000.0 };
    let entries = conducted(&settings, slower);
    let findings = build(&settings).study(&record(&settings, entries));
    assert_eq!(findings.title, "Latency");
    let verdict = findings.verdict.as_ref().unwrap();
    assert_eq!((verdict.steady, verdict.window), (true, Some((1, 5))));
    let names = track_names(verdict);
    assert_eq!((names[0], names.len()), ("AR100 8 GiB RND 4K W", 4));
    let titles: Vec<&str> = findings.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Latency AR100 8 GiB", "Latency AR100 16 GiB", "Latency AR75 8 GiB",
            "Latency AR75 16 GiB"
        ]
    );
    assert!(findings.parts.iter().all(|part| part.form_pages.len() == 6));
    let tracked = findings.summary[0].as_table().unwrap();
    assert_eq!(tracked.columns, ["RND 4K W, ms".into()]);
    assert!(tracked.rows.iter().all(|row| row.cells == [Cell::number(Some(1.0), 4)]));
    let all = findings.form_pages[0].exhibits[2].as_table().unwrap();
    assert_eq!((all.rows.len(), all.columns.len()), (3 * 4, 3));
    assert_eq!(all.rows[5].head, "4, AR100 16 GiB");
    let value = |block: usize, label: &str, findings: &Findings| -> String {
        let rows = &findings.header.blocks[block].rows;
        let row = rows.iter().find(|row| row.label == label).unwrap();
        row.text().unwrap()
    };
    assert_eq!(value(2, "AR", &findings), "100%, 75%");
    assert_eq!(value(2, "AR Segments", &findings), "2,048 x 4 MiB, 2,048 x 8 MiB");
    assert_eq!(value(3, "AR & Amount", &findings), "100%, 75%: 8 GiB, 16 GiB");
    let last = &findings.parts[3];
    assert_eq!(value(2, "AR", last), "75%");
    assert_eq!(value(2, "AR Segments", last), "2,048 x 8 MiB");
    assert_eq!(value(3, "AR & Amount", last), "75%: 16 GiB");
    assert_eq!(last.headline, "PTS-C 1.x  WCE  T1/Q1  DP=RND  AR75/16GiB  Aln=BS");
    assert!(findings.caveat("ar-segments-layout").is_some());
    assert!(findings.caveat("ar-amount").is_none());
    assert!(findings.parts.iter().all(|part| part.caveat("active-range").is_none()));
}

#[test]
fn other_ranges_amounts_and_segments_are_run_and_disclosed() {
    let settings = settings("iops", |s| {
        s.active_range_percent = Some(50);
        set("ar-amount", "64MiB, 1GiB")(s);
        set("ar-segments", "32")(s);
    });
    let entries = conducted(&settings, |_| 1000.0);
    let phases: HashSet<_> = steps(&entries).iter().map(|s| s.place.phase.clone()).collect();
    let expected = ["ar50-64MiB/wipc", "ar50-64MiB/rounds", "ar50-1GiB/wipc", "ar50-1GiB/rounds"];
    assert_eq!(phases, expected.map(str::to_owned).into());
    let findings = build(&settings).study(&record(&settings, entries));
    for id in ["active-range", "ar-amount", "ar-segments"] {
        let caveat = findings.caveat(id).unwrap();
        assert_eq!(caveat.kind, CaveatKind::Deviation, "{id}");
    }
}

#[test]
fn the_same_amounts_in_other_words_are_no_deviation() {
    let settings = settings("latency", set("ar-amount", "8192MiB, 16GiB"));
    let findings = build(&settings).study(&record(&settings, Vec::new()));
    assert!(findings.caveats.iter().all(|c| c.id != "ar-amount"));
}

#[test]
fn a_part_without_steady_state_is_named_and_the_next_one_runs() {
    let settings = settings("throughput", |_| ());
    let drifting = |step: &Step| match step.place.phase.as_str() {
        "ar100-16GiB/rounds-1024K" => 2f64.powi(step.place.round as i32),
        _ => 100.0,
    };
    let entries = conducted(&settings, drifting);
    let findings = build(&settings).study(&record(&settings, entries));
    let caveat = findings.caveat("part-not-steady").unwrap();
    assert!(caveat.text.ends_with("in: Throughput AR100 16 GiB."), "{}", caveat.text);
    assert_eq!(findings.parts.len(), 4);
    let verdict = findings.verdict.unwrap();
    assert_eq!((verdict.steady, verdict.window), (false, None), "the run counts as not steady");
}

#[test]
fn an_empty_and_an_unfinished_record_are_studied_without_invention() {
    let settings = settings("iops", |_| ());
    let mut entries = conducted(&settings, |_| 1000.0);
    entries.truncate(first_of_phase(&entries, "ar100-16GiB/rounds") + 3);
    let mut broken = broken_record(&settings, entries);
    let findings = build(&settings).study(&broken);
    assert_eq!(findings.parts.len(), 2);
    assert!(!findings.verdict.as_ref().unwrap().steady);
    assert!(findings.ending.contains("not started: ar75-8GiB, ar75-16GiB"), "{}", findings.ending);
    broken.entries.clear();
    let nothing = build(&settings).study(&broken);
    assert!(nothing.parts.is_empty() && nothing.caveat("unfinished").is_some());
}

#[test]
fn what_the_range_cannot_hold_is_refused_with_the_reason() {
    let small = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };
    let why = refused(small, |_| ());
    assert!(why.contains("2048 segments of 4 MiB") && why.contains("--set ar-amount"), "{why}");
    // 16 GiB in 2,048 segments need 2,047 MiB between them.
    let least = |mib: u64| Geometry { capacity: Bytes::mib(mib), logical_sector: 512 };
    let whole = |s: &mut Settings| s.active_range_percent = Some(100);
    assert!(refused(least(16 * 1024 + 2046), whole).contains("cannot hold"));
    let fits = settings("iops", whole);
    assert!(crate::procedure(&fits, least(16 * 1024 + 2047), &[]).is_ok());
    assert!(refused(DRIVE, set("ar-segments", "2047")).contains("a multiple of 1 MiB"));
    for segments in ["0", "x", "4294967296"] {
        assert!(refused(DRIVE, set("ar-segments", segments)).contains("ar-segments"), "{segments}");
    }
    for amount in ["", "8GiB,", "8GiB,8192MiB", "0", "17179869184GiB"] {
        assert!(refused(DRIVE, set("ar-amount", amount)).contains("ar-amount"), "{amount}");
    }
}
