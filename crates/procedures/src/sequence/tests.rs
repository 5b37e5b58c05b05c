//! Tests of sequences: their steps, their results, and the settings that are refused.

use super::{NAME, SequenceProcedure, tool_exhibits};
use crate::testing::scripted::{
    GEOMETRY, broken_record, idle_times, number, purges, record, request, scripted, steps, table,
};
use crate::testing::sequence::sequence;
use steadfast_domain::findings::{Cell, Exhibit};
use steadfast_domain::sequence::NamedLoad;
use steadfast_domain::settings::Geometry;
use steadfast_domain::step::phase_numbers;
use steadfast_domain::stimulus::{Pace, Zone};
use steadfast_domain::{
    Bytes, EndState, Findings, JournalEntry, Nanos, Procedure, SequenceLoad, Settings, caveats,
};

fn settings() -> Settings {
    Settings { sequence: Some(Box::new(sequence())), ..Settings::new(NAME, 7) }
}

fn build(settings: &Settings, geometry: Geometry) -> Result<SequenceProcedure, String> {
    SequenceProcedure::new(&request(settings, geometry, &[])).map_err(|why| why.0)
}

/// Conducts a sequence with 1,000 IOPS, and twice that in the second of three attempts.
fn conducted(gap: Vec<(&'static str, u32, u32)>) -> (Vec<JournalEntry>, Findings) {
    let settings = settings();
    let sequenced = build(&settings, GEOMETRY).unwrap();
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "step-2-2" => 2000.0,
        _ => 1000.0,
    });
    bench.gap_before = gap;
    sequenced.conduct(&mut bench).unwrap();
    let entries = bench.entries;
    let findings = sequenced.study(&record(&settings, entries.clone()));
    (entries, findings)
}

fn value(findings: &Findings, id: &str, row: &str, column: &str) -> f64 {
    number(table(findings, id), row, column)
}

#[test]
fn steps_run_in_their_order_and_long_ones_in_parts() {
    let (entries, _) = conducted(Vec::new());
    let places: Vec<String> = steps(&entries)
        .iter()
        .map(|step| format!("{} {} {}", step.place.phase, step.place.point, step.continues))
        .collect();
    let expected = [
        "step-1 1 false", "step-2-1 1 false", "step-2-2 1 false", "step-2-3 1 false",
        "step-3 1 false", "step-3 2 true", "step-3 3 true", "step-4 1 false",
    ];
    assert_eq!(places, expected);
    assert_eq!(idle_times(&entries).len(), 3, "a pause before each attempt");
    assert_eq!(purges(&entries), 0);
    let first = steps(&entries)[0].load.stimulus().unwrap().clone();
    assert_eq!(first.active_range.length, Bytes::mib(256));
    assert_eq!(first.until.bytes, Some(Bytes::mib(256)));
    let seeds: std::collections::BTreeSet<u64> =
        steps(&entries)[1..4].iter().map(|s| s.load.stimulus().unwrap().seed).collect();
    assert_eq!(seeds.len(), 3, "every attempt has its own seed");
}

#[test]
fn the_best_attempt_counts_and_the_parts_of_a_step_are_one() {
    let (_, findings) = conducted(Vec::new());
    assert_eq!((findings.id.as_str(), findings.end), ("fio", EndState::Complete));
    assert_eq!(value(&findings, "sequence", "reads", "iops"), 2000.0);
    assert_eq!(value(&findings, "sequence", "reads", "mb"), 8.192);
    // All I/Os of this step are reads: columns of the same ID agree.
    let cells = |id| {
        let table = table(&findings, id);
        let row = table.rows.iter().find(|row| row.id == "reads").unwrap();
        assert_eq!(row.cells.len(), table.columns.len());
        ["iops", "mb", "mean-ms", "min-ms", "p99-ms", "p99.9-ms", "max-ms"]
            .map(|id| row.cells[table.columns.iter().position(|at| at.id == id).unwrap()].clone())
    };
    assert_eq!(cells("sequence"), cells("sequence-reads"));
    assert_eq!(value(&findings, "sequence", "reads", "errors"), 0.0);
    assert_eq!(value(&findings, "sequence-writes", "writes", "ios"), 150_000.0);
    assert_eq!(value(&findings, "sequence-attempts", "reads", "3"), 4.096);
    assert_eq!(value(&findings, "sequence-preparation", "fill", "bytes"), 268_435_456.0);
    assert_eq!(table(&findings, "sequence").columns[0].id, "Depth");
    let named = |id| findings.caveat(id).is_some();
    assert!(named(caveats::SEQUENCE_NOT_STEADY) && named(caveats::SEQUENCE_REMARK));
}

#[test]
fn a_gap_is_reported_and_nothing_begins_anew() {
    let (entries, findings) = conducted(vec![("step-3", 0, 2)]);
    assert_eq!(steps(&entries).len(), 8);
    let gap = findings.caveat(caveats::GAP).unwrap();
    assert!(gap.text.contains("continued from its last part"), "{}", gap.text);
}

#[test]
fn what_the_sectors_cannot_hold_is_left_out_only_where_it_may_be() {
    let geometry = Geometry { logical_sector: 4096, ..GEOMETRY };
    let sequenced = build(&settings(), geometry).unwrap();
    assert_eq!((sequenced.steps.len(), sequenced.left_out.len()), (3, 1));
    assert!(sequenced.left_out[0].contains("small is left out"), "{:?}", sequenced.left_out);
    let mut settings = settings();
    settings.sequence.as_mut().unwrap().steps[3].may_be_left_out = false;
    assert!(build(&settings, geometry).unwrap_err().starts_with("small: "));
    settings.sequence = None;
    assert!(build(&settings, geometry).unwrap_err().contains("crystaldiskmark"));
}

#[test]
fn a_record_that_broke_off_anywhere_is_studied() {
    let (entries, _) = conducted(Vec::new());
    let settings = settings();
    let sequenced = build(&settings, GEOMETRY).unwrap();
    for kept in 0..entries.len() {
        let findings = sequenced.study(&broken_record(&settings, entries[..kept].to_vec()));
        assert_eq!(findings.end, EndState::Unfinished);
        assert_eq!(table(&findings, "sequence").rows.len(), 3);
    }
}

#[test]
fn steps_with_numbers_of_their_own_have_phases_in_their_order() {
    let mut settings = settings();
    let steps = &mut settings.sequence.as_mut().unwrap().steps;
    steps.iter_mut().zip([1, 4, 9, 12]).for_each(|(step, number)| step.number = Some(number));
    let sequenced = build(&settings, GEOMETRY).unwrap();
    let phases: Vec<String> =
        sequenced.steps.iter().map(|device_step| device_step.phase(2)).collect();
    assert_eq!(phases, ["step-1", "step-4-2", "step-9", "step-12"]);
    let numbers: Vec<_> = phases.iter().map(|phase| phase_numbers(phase).unwrap()).collect();
    assert!(numbers.is_sorted());
    assert_eq!(super::phase_of(9), "step-9");
    assert_eq!(phase_numbers("rounds"), None);
}

/// A sequence whose last step has a pace of 1,000 IOPS and 512-byte alignment, and reaches `iops`.
fn paced(pace: Pace, iops: f64) -> Findings {
    let mut settings = settings();
    let load = &mut settings.sequence.as_mut().unwrap().steps[2].load;
    load.pace = pace;
    load.streams[0].alignment = Some(Bytes(512));
    load.zones = vec![
        Zone { weight: 50, from_ppm: 0, to_ppm: 50_000 },
        Zone { weight: 50, from_ppm: 50_000, to_ppm: 1_000_000 },
    ];
    let sequenced = build(&settings, GEOMETRY).unwrap();
    scripted(|_| iops).studied(&sequenced, &settings)
}

#[test]
fn a_rate_that_was_held_or_missed_is_reported() {
    let fixed = Pace::Fixed { ios: 100, per: Nanos::from_millis(100) };
    let is_missed = |findings: &Findings| findings.caveat(caveats::RATE_MISSED).is_some();
    let held = paced(fixed.clone(), 995.0);
    assert_eq!(value(&held, "sequence-rates", "writes", "asked"), 1000.0);
    assert_eq!(value(&held, "sequence-rates", "writes", "iops"), 995.0);
    assert_eq!(table(&held, "sequence-rates").rows.len(), 1, "the others are not paced");
    assert!(!is_missed(&held));
    let missed = paced(fixed, 926.0);
    let caveat = missed.caveat(caveats::RATE_MISSED).unwrap();
    assert!(caveat.text.contains("writes 926.0 of 1,000.0 IOPS"), "{}", caveat.text);
    // 12 I/Os of 15 in 150 s are within chance.
    assert!(!is_missed(&paced(Pace::Poisson { ios: 1, per: Nanos::from_secs(10) }, 0.08)));
    assert!(is_missed(&paced(Pace::Poisson { ios: 1000, per: Nanos::SECOND }, 926.0)));
    let burst = paced(Pace::Burst { ios: 4, delay: Nanos::from_millis(100) }, 40.0);
    assert!(!is_missed(&burst) && table(&burst, "sequence-rates").rows.len() == 1);
    let label = &held.front.figures[1].label;
    assert_eq!(label, "writes, held to 1,000 IOPS, evenly");
    let mut step = settings().sequence.unwrap().steps[2].clone();
    assert_eq!(tool_exhibits::pace_suffix(&step), None);
    let load =
        SequenceLoad { pace: Pace::Fixed { ios: 7, per: Nanos::SECOND }, ..step.load.clone() };
    step.concurrent = vec![NamedLoad { name: "own".into(), load }];
    assert_eq!(tool_exhibits::pace_suffix(&step).unwrap(), ", held to no rate + 7 IOPS, evenly");
}

#[test]
fn pace_alignment_zones_and_content_are_reported() {
    let findings = paced(Pace::Fixed { ios: 100, per: Nanos::from_millis(100) }, 1000.0);
    let loads = table(&findings, "sequence-loads");
    let columns: Vec<&str> = loads.columns.iter().map(|column| column.id.as_str()).collect();
    let cell = |row: usize, column: &str| {
        let at = columns.iter().position(|id| *id == column).unwrap();
        match &loads.rows[row].cells[at] {
            Cell::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((cell(2, "Pace"), cell(2, "Alignment")), ("1,000 IOPS, evenly", "512 B"));
    assert!(cell(2, "Zones").starts_with("50 % of the I/Os in 0 to 5 % of the range"));
    assert_eq!((cell(2, "Content"), cell(1, "Content")), ("random-unique", "nothing written"));
    assert_eq!((cell(1, "Pace"), cell(1, "Zones")), ("as fast as possible", "whole range"));
}

/// Profile and class have no effect on a sequence, and no step lasts the profile's minute.
#[test]
fn settings_are_those_of_the_file() {
    let (_, findings) = conducted(Vec::new());
    let mut facts = findings.exhibits().filter_map(Exhibit::as_facts);
    let rows = &facts.find(|facts| facts.title == "Settings").unwrap().rows;
    let row = |id: &str| rows.iter().find(|row| row.id == id);
    assert!(row("class").is_none() && row("profile").is_none() && row("rounds-max").is_none());
    let value = |id: &str| row(id).unwrap().value.clone().unwrap();
    assert_eq!(value("step-time"), "each step's own", "5 s and 150 s");
    assert_eq!(value("active-range"), "each step's own");
    let remark = serde_json::to_string(row("demand").unwrap()).unwrap();
    assert!(remark.contains("(by the preset)"), "{remark}");
    let page_one = &findings.front.conditions;
    assert!(
        page_one[..4].iter().all(|row| row.id != "class" && row.value.is_some()),
        "{page_one:?}"
    );
    let mut truncated = settings();
    truncated.sequence.as_mut().unwrap().steps.truncate(2);
    let sequenced = build(&truncated, GEOMETRY).unwrap();
    assert_eq!(sequenced.choices().step_text.as_deref(), Some("5 s"));
}
