//! Logs of TKperf as findings: their numbers by a rule that is known.

use super::findings;
use crate::testing::scripted::{build, number, scripted, table};
use steadfast_domain::findings::{Exhibit, Table};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Bytes, CaveatKind, ClaimedSteadyState, EndState, Findings, ForeignKind, ForeignMeasured,
    ForeignRun, ForeignTest, ForeignValue, Settings, caveats as ids,
};

const IOPS_SIZES: [u64; 8] = [1 << 20, 131_072, 65_536, 32_768, 16_384, 8192, 4096, 512];

/// A test with a number of rounds over these patterns; `rule` computes the values.
fn test(
    kind: ForeignKind,
    rounds: u32,
    patterns: &[AccessPattern],
    rule: impl Fn(u32, &AccessPattern) -> ForeignMeasured,
) -> ForeignTest {
    let values = (1..=rounds).flat_map(|round| {
        let value = |pattern: &AccessPattern| ForeignValue {
            round,
            pattern: *pattern,
            measured: rule(round, pattern),
        };
        patterns.iter().map(value).collect::<Vec<_>>()
    });
    ForeignTest {
        kind,
        engine: Some("fio-2.1.9".into()),
        jobs: Some(2),
        depth: Some(16),
        step_seconds: Some(60),
        values: values.collect(),
        claimed_steady_state: Some(ClaimedSteadyState {
            reached: Some(true),
            rounds: vec![1, 2, 3, 4, 5],
        }),
    }
}

fn iops() -> ForeignTest {
    let patterns: Vec<AccessPattern> = [100, 95, 65, 50, 35, 5, 0]
        .iter()
        .flat_map(|mix| IOPS_SIZES.map(|size| AccessPattern::random(Bytes(size), *mix)))
        .collect();
    test(ForeignKind::Iops, 5, &patterns, |round, pattern| ForeignMeasured {
        iops: Some(f64::from(1000 + round) + f64::from(pattern.read_percent)),
        ..ForeignMeasured::default()
    })
}

fn throughput(of_4k: fn(u32) -> f64) -> ForeignTest {
    let patterns: Vec<AccessPattern> = [1 << 20, 65_536, 8192, 4096, 512]
        .iter()
        .flat_map(|size| [100, 0].map(|mix| AccessPattern::sequential(Bytes(*size), mix)))
        .collect();
    test(ForeignKind::Throughput, 5, &patterns, |round, pattern| {
        let kib = if pattern.size == Bytes(4096) { of_4k(round) } else { 1000.0 };
        ForeignMeasured { bytes_per_second: Some(kib * 1024.0), ..ForeignMeasured::default() }
    })
}

fn saturation() -> ForeignTest {
    let pattern = AccessPattern::random(Bytes::kib(4), 0);
    let mut test = test(ForeignKind::WriteSaturation, 11, &[pattern], |round, _| ForeignMeasured {
        iops: Some(f64::from(round)),
        mean_ms: Some(0.5),
        shortest_ms: Some(0.5),
        longest_ms: Some(7.0),
        ..ForeignMeasured::default()
    });
    test.claimed_steady_state = None;
    test
}

fn run(tests: Vec<ForeignTest>) -> Findings {
    let run = ForeignRun {
        name: "drive".into(),
        version: Some("2.0".into()),
        device: Some("\tModel Number:       SAMSUNG X\n\tSerial Number: S1".into()),
        features: Some("| f |".into()),
        tests,
        ..ForeignRun::default()
    };
    findings(&run, "steadfast test")
}

fn has(findings: &Findings, id: &str) -> Option<CaveatKind> {
    findings.caveat(id).map(|caveat| caveat.kind)
}

#[test]
fn the_numbers_are_the_means_of_the_window_and_steady_state_is_judged_again() {
    let found = run(vec![iops()]);
    let part = &found.parts[0];
    assert_eq!((part.id.as_str(), part.end), ("IOPS", EndState::Steady));
    assert_eq!(number(table(part, "iops-summary"), "4", "0/100"), 1003.0);
    assert_eq!(number(table(part, "tkperf-iops-table"), "0.5", "95/5"), 1098.0);
    assert_eq!(part.header.model.as_deref(), Some("SAMSUNG X"));
    assert_eq!(has(part, ids::FOREIGN_SAME_OFFSETS), Some(CaveatKind::Deviation));
    assert_eq!(has(part, ids::FOREIGN_JOBS), Some(CaveatKind::Deviation));
    assert_eq!(has(&found, ids::FOREIGN_UNITS), Some(CaveatKind::Remark));
    assert_eq!(found.chapters[0].title, "What TKperf's numbers are worth");
    let text = format!("{:?}", found.chapters[1]);
    assert!(text.contains("SAMSUNG X") && text.contains("| f |"), "description and matrix");
}

#[test]
fn what_tkperf_calls_mb_is_mib_and_a_size_judged_by_another_is_named() {
    let found = run(vec![throughput(|round| f64::from(round * 1000))]);
    let part = &found.parts[0];
    assert_eq!(number(table(part, "throughput-summary"), "SEQ 1024K", "Read"), 1.024);
    let rates = table(part, "tkperf-throughput-table");
    assert_eq!(number(rates, "1024", "read-mib"), 1000.0 / 1024.0);
    let caveat = part.caveat(ids::FOREIGN_ONE_WINDOW).unwrap();
    assert!(caveat.text.ends_with("not steady: SEQ 4K W."), "{}", caveat.text);
    assert_eq!(has(part, ids::NO_WIPC), Some(CaveatKind::Deviation));
    let steady = run(vec![throughput(|_| 7.0)]);
    assert_eq!(has(&steady.parts[0], ids::FOREIGN_ONE_WINDOW), None);
}

#[test]
fn a_saturation_that_wrote_the_same_blocks_is_called_invalid() {
    let found = run(vec![saturation()]);
    let part = &found.parts[0];
    assert_eq!(part.end, EndState::Complete);
    assert_eq!(has(part, ids::FOREIGN_SAME_OFFSETS), Some(CaveatKind::Invalidates));
    let summary = table(part, "wsat-summary");
    assert_eq!(number(summary, "Mean of the last 5 steps", "IOPS"), 9.0);
    assert_eq!(number(summary, "Last step", "MRT ms"), 7.0);
}

#[test]
fn a_verdict_that_is_not_tkperfs_is_said() {
    let mut restless = iops();
    for value in &mut restless.values {
        value.measured.iops = Some(2f64.powi(value.round as i32));
    }
    let found = run(vec![restless]);
    let part = &found.parts[0];
    assert_eq!(part.end, EndState::NotSteady);
    assert!(part.caveats.iter().any(|c| c.text.contains("says steady")));
    assert_eq!(has(part, ids::STEADY_STATE_NOT_ACHIEVED), Some(CaveatKind::Invalidates));
}

#[test]
fn a_test_without_values_and_one_of_two_rounds_are_shown_as_far_as_they_go() {
    let mut short = iops();
    short.values.retain(|value| value.round <= 2);
    let mut empty = iops();
    empty.values.clear();
    for (test, mean) in [(short, Some(1001.5)), (empty, None)] {
        let found = run(vec![test]);
        assert_eq!(found.parts[0].end, EndState::Void);
        if let Some(mean) = mean {
            assert_eq!(number(table(&found.parts[0], "iops-summary"), "4", "0/100"), mean);
        }
    }
}

/// A comparison matches the two runs by these names.
#[test]
fn tables_rows_columns_and_plots_have_the_names_of_a_new_run() {
    let mut settings = Settings::new(crate::tkperf::NAME, 7);
    settings.set("tests", "iops,tp,writesat");
    let new = scripted(|_| 1000.0).studied(&*build(&settings), &settings);
    let old = run(vec![iops(), throughput(|_| 7.0), saturation()]);
    assert_eq!(old.id, new.id);
    for part in &old.parts {
        let of_new = new.parts.iter().find(|other| other.id == part.id).unwrap();
        for page in &part.chapters {
            let other = of_new.chapters.iter().find(|other| other.id == page.id);
            let other = other.unwrap_or_else(|| panic!("{} has no page {}", part.id, page.id));
            for exhibit in &page.exhibits {
                if let Exhibit::Plot(plot) = exhibit {
                    let same = |e: &Exhibit| matches!(e, Exhibit::Plot(p) if p.id == plot.id);
                    assert!(other.exhibits.iter().any(same), "{}", plot.id);
                }
            }
        }
        for exhibit in part.summary.iter().take(1) {
            let Exhibit::Table(table_of_old) = exhibit else { continue };
            let of_new = table(of_new, &table_of_old.id);
            let rows = |table: &Table| -> Vec<String> {
                table.rows.iter().map(|row| row.id.clone()).collect()
            };
            assert_eq!(rows(of_new), rows(table_of_old), "{}", table_of_old.id);
            for column in &table_of_old.columns {
                assert!(of_new.columns.iter().any(|c| c.id == column.id), "{}", column.id);
            }
        }
    }
}

/// A comparison with a new run does not report settings that are fixed in TKperf as unknown.
#[test]
fn settings_that_tkperf_always_has_are_those_of_a_new_run() {
    let mut settings = Settings::new(crate::tkperf::NAME, 7);
    (settings.threads, settings.depth) = (Some(2), Some(16));
    let new = scripted(|_| 1000.0).studied(&*build(&settings), &settings);
    let old = run(vec![iops(), throughput(|_| 7.0), saturation()]);
    for part in &old.parts {
        let of_new = new.parts.iter().find(|other| other.id == part.id).unwrap();
        let chapters = of_new.chapters.iter().flat_map(|page| &page.exhibits);
        let facts = chapters.filter_map(Exhibit::as_facts).map(|facts| &facts.rows);
        let head = of_new.header.blocks.iter().map(|block| &block.rows);
        let rows: Vec<_> = head.chain(facts).flatten().collect();
        let of_old = part.header.blocks.iter().flat_map(|block| &block.rows);
        for row in of_old.filter(|row| row.role == steadfast_domain::findings::Role::Setting) {
            let same = rows.iter().find(|other| other.id == row.id);
            let same = same.unwrap_or_else(|| panic!("{} has no {}", part.id, row.id));
            let differs = ["data-pattern", "parameter-precondition", "wipc-amount", "wipc-demand"];
            if !differs.contains(&row.id.as_str()) {
                assert_eq!(same.value, row.value, "{} {}", part.id, row.id);
            }
        }
    }
}
