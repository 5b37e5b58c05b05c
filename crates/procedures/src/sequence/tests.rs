//! The steps of a sequence, what they give, and what is refused.

use super::sample::sequence;
use super::{NAME, Sequenced};
use crate::catalogue::asked;
use crate::ground::scripted::{GEOMETRY, record, scripted, steps};
use steadfast_domain::findings::{Cell, Exhibit, Table};
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bytes, EndState, Entry, Findings, Procedure, Settings, caveats};

fn settings() -> Settings {
    Settings { sequence: Some(Box::new(sequence())), ..Settings::new(NAME, 7) }
}

fn made(settings: &Settings, geometry: Geometry) -> Result<Sequenced, String> {
    let offer = crate::offer(NAME).unwrap();
    Sequenced::new(&asked(offer, settings, geometry, &[])).map_err(|why| why.0)
}

/// Conducted with 1,000 IOPS, and twice that in the second of three attempts.
fn conducted(gap: Vec<(&'static str, u32, u32)>) -> (Vec<Entry>, Findings) {
    let settings = settings();
    let sequenced = made(&settings, GEOMETRY).unwrap();
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

fn table<'f>(findings: &'f Findings, id: &str) -> &'f Table {
    let mut all = findings.pages().flat_map(|page| &page.exhibits);
    let found = all.find_map(|exhibit| match exhibit {
        Exhibit::Table(table) if table.id == id => Some(table),
        _ => None,
    });
    found.unwrap()
}

fn value(findings: &Findings, id: &str, row: &str, column: &str) -> f64 {
    let table = table(findings, id);
    let at = table.columns.iter().position(|c| c.id == column).unwrap();
    let row = table.rows.iter().find(|r| r.id == row).unwrap();
    match row.cells[at] {
        Cell::Number { value, .. } => value,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn steps_run_in_their_order_and_long_ones_in_parts() {
    let (entries, _) = conducted(Vec::new());
    let places: Vec<String> = steps(&entries)
        .iter()
        .map(|step| format!("{} {} {}", step.place.phase, step.place.point, step.continues))
        .collect();
    let expected = [
        "step-1 1 false",
        "step-2-1 1 false",
        "step-2-2 1 false",
        "step-2-3 1 false",
        "step-3 1 false",
        "step-3 2 true",
        "step-3 3 true",
        "step-4 1 false",
    ];
    assert_eq!(places, expected);
    let idles = entries.iter().filter(|entry| matches!(entry, Entry::Idled(_))).count();
    assert_eq!(idles, 3, "a pause before each attempt");
    let purges = entries.iter().filter(|entry| matches!(entry, Entry::Purged(_))).count();
    assert_eq!(purges, 0);
    let first = steps(&entries)[0].load.stimulus().unwrap().clone();
    assert_eq!(first.active_range.length, Bytes::mib(256));
    assert_eq!(first.until.bytes, Some(Bytes::mib(256)));
    let seeds: std::collections::BTreeSet<u64> =
        steps(&entries)[1..4].iter().map(|s| s.load.stimulus().unwrap().seed).collect();
    assert_eq!(seeds.len(), 3, "every attempt draws anew");
}

#[test]
fn the_best_attempt_counts_and_the_parts_of_a_step_are_one() {
    let (_, findings) = conducted(Vec::new());
    assert_eq!((findings.id.as_str(), findings.end), ("fio", EndState::Complete));
    assert_eq!(value(&findings, "sequence", "reads", "iops"), 2000.0);
    assert_eq!(value(&findings, "sequence", "reads", "mb"), 8.192);
    assert_eq!(value(&findings, "sequence-writes", "writes", "ios"), 150_000.0);
    assert_eq!(value(&findings, "sequence-attempts", "reads", "3"), 4.096);
    assert_eq!(value(&findings, "sequence-preparation", "fill", "bytes"), 268_435_456.0);
    assert_eq!(table(&findings, "sequence").columns[0].id, "Depth");
    let named = |id| findings.caveats.iter().any(|caveat| caveat.id == id);
    assert!(named(caveats::SEQUENCE_NOT_STEADY) && named(caveats::SEQUENCE_REMARK));
}

#[test]
fn a_gap_is_reported_and_nothing_begins_anew() {
    let (entries, findings) = conducted(vec![("step-3", 0, 2)]);
    assert_eq!(steps(&entries).len(), 8);
    let gap = findings.caveats.iter().find(|caveat| caveat.id == caveats::GAP).unwrap();
    assert!(gap.text.contains("went on from its last part"), "{}", gap.text);
}

#[test]
fn what_the_sectors_cannot_hold_is_left_out_only_where_it_may_be() {
    let geometry = Geometry { logical_sector: 4096, ..GEOMETRY };
    let sequenced = made(&settings(), geometry).unwrap();
    assert_eq!((sequenced.steps.len(), sequenced.left_out.len()), (3, 1));
    assert!(sequenced.left_out[0].contains("small is left out"), "{:?}", sequenced.left_out);
    let mut settings = settings();
    settings.sequence.as_mut().unwrap().steps[3].may_be_left_out = false;
    assert!(made(&settings, geometry).unwrap_err().starts_with("small: "));
    settings.sequence = None;
    assert!(made(&settings, geometry).unwrap_err().contains("crystaldiskmark"));
}

#[test]
fn a_record_that_broke_off_anywhere_is_studied() {
    let (entries, _) = conducted(Vec::new());
    let settings = settings();
    let sequenced = made(&settings, GEOMETRY).unwrap();
    for kept in 0..entries.len() {
        let mut record = record(&settings, entries[..kept].to_vec());
        record.entries.pop();
        let findings = sequenced.study(&record);
        assert_eq!(findings.end, EndState::Unfinished);
        assert_eq!(table(&findings, "sequence").rows.len(), 3);
    }
}

#[test]
fn steps_with_numbers_of_their_own_have_phases_in_their_order() {
    let mut settings = settings();
    let steps = &mut settings.sequence.as_mut().unwrap().steps;
    steps.iter_mut().zip([1, 4, 9, 12]).for_each(|(step, number)| step.number = Some(number));
    let sequenced = made(&settings, GEOMETRY).unwrap();
    let phases: Vec<String> = sequenced.steps.iter().map(|planned| planned.phase(2)).collect();
    assert_eq!(phases, ["step-1", "step-4-2", "step-9", "step-12"]);
    let numbers: Vec<_> = phases.iter().map(|phase| super::numbers_of(phase).unwrap()).collect();
    assert!(numbers.is_sorted());
    assert_eq!(super::phase_of(9), "step-9");
    assert_eq!(super::numbers_of("rounds"), None);
    assert_eq!(steadfast_domain::record::version_for(&settings), 3);
    settings.sequence = Some(Box::new(super::sample::sequence()));
    assert_eq!(steadfast_domain::record::version_for(&settings), 2);
}
