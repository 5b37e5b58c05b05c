//! The report of a complete run, read as its reader does.

use std::collections::HashSet;
use steadfast_domain::findings::{Cell, Metric, Row};
use steadfast_domain::record::Note;
use steadfast_domain::{Caveat, Exhibit, Findings, JournalEntry, StepPlace, caveats as ids, text};
use steadfast_report::{NamedRun, ReportTime, StudiedTarget, html, json, metrics, parse_findings};
use steadfast_runner::ledger::JournalLine;

/// Checks that a run's findings, and the report made of them, have all caveats of its journal and
/// all numbers.
pub fn check_report(lines: &[JournalLine], findings: &Findings) -> Result<(), String> {
    check_caveats(lines, findings)?;
    check_printed(findings)
}

/// Checks that the report over all targets has the result, the numbers and the caveats of each,
/// under its name.
pub fn check_group_report(
    targets: &[(&str, &StudiedTarget)],
    whole: &Findings,
) -> Result<(), String> {
    let listed = whole.table("targets").map(|table| table.rows.as_slice()).unwrap_or_default();
    let tables = parts(whole).flat_map(|part| &part.long_tables);
    let numbers: Vec<&Row> =
        tables.filter(|table| table.id == "metrics").flat_map(|table| &table.rows).collect();
    let caveats: Vec<&Caveat> = parts(whole).flat_map(|part| &part.caveats).collect();
    for (letter, (name, target)) in ('A'..).zip(targets) {
        if !listed.iter().any(|row| row.head == *name) {
            return Err(format!("the report over all targets lacks {name}"));
        }
        let own =
            metrics(&[NamedRun { name: (*name).to_owned(), findings: target.findings.clone() }]);
        if let Some(row) = own.rows.iter().find(|row| !numbers.contains(row)) {
            return Err(format!("the report over all targets lacks a number: {row:?}"));
        }
        for caveat in parts(&target.findings).flat_map(|part| &part.caveats) {
            let is_own = |other: &&Caveat| {
                let of = other.text.strip_suffix(caveat.text.as_str());
                let is_of = |of: &str| of == "All runs: " || of.contains(letter);
                other.id == caveat.id && of.is_some_and(is_of)
            };
            if !caveats.iter().any(is_own) {
                return Err(format!("the report over all targets lacks, of {name}: {caveat:?}"));
            }
        }
    }
    check_printed(whole)
}

/// Checks that the JSON file and the web page of findings have all caveats and numbers.
fn check_printed(findings: &Findings) -> Result<(), String> {
    let encoded = json(findings).map_err(|error| error.to_string())?;
    let read = parse_findings(&encoded).map_err(|error| format!("the report's JSON: {error}"))?;
    if read != *findings {
        return Err("the report's JSON has other findings".into());
    }
    let page = html(&read, &ReportTime { report_unix_ms: 0 });
    let shown = visible_text(&page);
    for caveat in parts(&read).flat_map(|part| &part.caveats) {
        for text in [&caveat.text, &caveat.remedy] {
            if !shown.contains(text.as_str()) {
                return Err(format!("the report's page does not have the caveat {text:?}"));
            }
        }
    }
    check_numbers(&read, &shown)
}

/// Returns the findings and those of their parts.
fn parts(findings: &Findings) -> impl Iterator<Item = &Findings> {
    std::iter::once(findings).chain(&findings.parts)
}

/// Checks that every caveat and every gap of the journal is among the caveats of the findings.
fn check_caveats(lines: &[JournalLine], findings: &Findings) -> Result<(), String> {
    let caveats: Vec<&Caveat> = parts(findings).flat_map(|part| &part.caveats).collect();
    for line in lines {
        let has_caveat = match &line.entry {
            JournalEntry::Noted(note) => match &**note {
                Note::Caveat(noted) => caveats.contains(&noted),
                _ => true,
            },
            JournalEntry::Applied { step, outcome } => {
                // A part of a run of several procedures has its own phases.
                let phase = step.place.phase.split_once('/').map_or("", |(_, phase)| phase);
                let whole = format!("before {}", step.place);
                let of_part = StepPlace { phase: phase.to_owned(), ..step.place.clone() };
                let of_part = format!("before {of_part}");
                let is_of_gap = |caveat: &&Caveat| {
                    let text = &caveat.text;
                    caveat.id == ids::GAP && (text.contains(&whole) || text.contains(&of_part))
                };
                outcome.gap_before.is_none() || caveats.iter().any(is_of_gap)
            }
            _ => true,
        };
        if !has_caveat {
            return Err(format!("the findings have no caveat of {:?}", line.entry));
        }
    }
    Ok(())
}

/// Checks that the page has the numbers of all tables, rounded or not.
fn check_numbers(findings: &Findings, shown: &str) -> Result<(), String> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.');
    let numbers: HashSet<&str> = shown
        .split(|c: char| !is_of_number(c))
        .map(|number| number.trim_matches([',', '.']))
        .collect();
    for part in parts(findings) {
        for table in part.exhibits().filter_map(Exhibit::as_table) {
            for row in &table.rows {
                for cell in &row.cells {
                    let Cell::Number { value, decimals, .. } = cell else { continue };
                    let is_shown = |decimals: u8| {
                        let number = text::number(value.abs(), usize::from(decimals));
                        numbers.contains(number.as_str())
                    };
                    if !(0..=*decimals).rev().any(is_shown) {
                        let (table, row) = (&table.id, &row.id);
                        return Err(format!("the page lacks {value}, of {table}, row {row}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the metrics of an undisturbed run that the findings of another lack.
pub fn missing_metrics(undisturbed: &Findings, findings: &Findings) -> Vec<String> {
    let mut missing = Vec::new();
    for (expected, part) in parts(undisturbed).zip(parts(findings)) {
        let is_missing = |metric: &&Metric| !part.metrics.iter().any(|found| found.is_same(metric));
        for metric in expected.metrics.iter().filter(is_missing) {
            missing.push(format!("{} {} of {}", metric.metric, metric.point, part.id));
        }
    }
    missing
}

/// Returns the text of a web page without its tags.
fn visible_text(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    let (mut in_tag, mut rest) = (false, page);
    while let Some(at) = rest.find(['<', '>']) {
        let (before, after) = rest.split_at(at);
        if !in_tag {
            shown.push_str(before);
            shown.push(' ');
        }
        in_tag = after.starts_with('<');
        rest = &after[1..];
    }
    shown.push_str(rest);
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    named.iter().fold(shown, |shown, (name, character)| shown.replace(name, character))
}
