//! Checks of host and device before the run.

use super::pages::page;
use super::typed_table::{TypedColumn, typed_row, typed_table};
use steadfast_domain::findings::{Cell, Exhibit, Page};
use steadfast_domain::record::{Check, CheckState};
use steadfast_domain::{Caveat, Record, caveats as ids};

pub(crate) fn chapter(record: &Record) -> Page {
    const TITLE: &str = "Host and device check";
    let Some(checks) = record.checks() else {
        let text = "Host and device were not examined before the run.";
        return page(TITLE, vec![Exhibit::Text(text.into())]);
    };
    let rows = checks.iter().map(|check| {
        typed_row(check.subject.clone(), &CHECK, check).strong(check.state == CheckState::Bad)
    });
    let title = "What was found before the run";
    page(TITLE, vec![Exhibit::Table(typed_table("checks", title, "Subject", &CHECK).rows(rows))])
}

const CHECK: [TypedColumn<Check>; 3] = [
    TypedColumn::cell("State", |check| {
        Cell::text(match check.state {
            CheckState::Good => "good",
            CheckState::Unknown => "unknown",
            CheckState::Attention => "attention",
            CheckState::Bad => "BAD",
        })
    }),
    TypedColumn::cell("Found", |check| Cell::text(check.found.clone())),
    TypedColumn::cell("Advice", |check| Cell::text(check.advice.clone())),
];

pub(crate) fn caveats(record: &Record) -> Vec<Caveat> {
    let bad = record.checks().unwrap_or_default().iter().filter(|c| c.state == CheckState::Bad);
    bad.map(|check| {
        Caveat::invalidates(
            &ids::check(&check.id),
            format!("{}: {}.", check.subject, check.found.trim_end_matches('.')),
            check.advice.clone(),
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::record;
    use steadfast_domain::{JournalEntry, Settings};

    #[test]
    fn what_was_found_bad_before_the_run_is_a_caveat() {
        let check = |id: &str, state| Check {
            id: id.into(),
            subject: format!("Subject {id}"),
            state,
            found: "x1 of x4".into(),
            advice: "Reseat the card.".into(),
        };
        let checks =
            vec![check("governor", CheckState::Attention), check("pcie-link", CheckState::Bad)];
        let record_of = |entries| record(&Settings::new("iops", 1), entries);
        let record = record_of(vec![JournalEntry::Examined(checks)]);
        let caveats = caveats(&record);
        assert_eq!(caveats.len(), 1);
        assert_eq!(
            (caveats[0].id.as_str(), caveats[0].remedy.as_str()),
            ("check-pcie-link", "Reseat the card.")
        );
        let Exhibit::Table(table) = &chapter(&record).exhibits[0] else { panic!() };
        assert_eq!(table.rows.len(), 2);
        assert!(matches!(chapter(&record_of(Vec::new())).exhibits[0], Exhibit::Text(_)));
    }
}
