//! Findings over several targets: comparison of their runs, result per target, and synchronization
//! of their loads.

use crate::compare::{COMPARED_MAX, CompareError, compare};
use crate::page_one::end_text;
use std::collections::BTreeMap;
use steadfast_domain::findings::{Cell, Facts, Origin, Page, Row, Setting, Table};
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::{Exhibit, Findings, Nanos, caveats};

/// A target whose run has ended.
pub struct FinishedTarget<'a> {
    /// Name of the target.
    pub name: &'a str,
    /// Common starts recorded in its run.
    pub starts: Vec<CommonStart>,
    /// Findings of its run.
    pub findings: &'a Findings,
}

/// Computes the findings over all targets.
///
/// # Errors
/// Returns the errors of [`compare`].
pub fn combined_findings(sides: &[FinishedTarget<'_>]) -> Result<Findings, CompareError> {
    let named = sides.iter().take(COMPARED_MAX);
    let compared: Vec<(String, Findings)> =
        named.map(|side| (side.name.to_owned(), side.findings.clone())).collect();
    let mut whole = compare(&compared)?;
    let title = sides.first().map_or("", |side| side.findings.title.as_str());
    whole.title = format!("{title}: {} targets together", sides.len());
    whole.end = sides.iter().map(|side| side.findings.whole_end()).max().unwrap_or(whole.end);
    let shared = sides.iter().flat_map(|side| side.findings.with_parts()).flat_map(|f| &f.caveats);
    let shared = shared.filter(|caveat| caveat.id == caveats::SHARED_HOST);
    whole.caveats.extend(shared.take(1).cloned());
    whole.summary.insert(0, Exhibit::Table(targets(sides)));
    let page = vec![
        Exhibit::Table(table_of_starts(sides)),
        Exhibit::Facts(skew(sides.iter().flat_map(|side| &side.starts))),
    ];
    whole.chapters.insert(0, Page::new("Synchronized start", page).with_id("beginning-together"));
    Ok(whole)
}

/// Returns the table of results per target.
fn targets(sides: &[FinishedTarget<'_>]) -> Table {
    let row = |side: &FinishedTarget<'_>| {
        let (began, end) = side.findings.run_unix_ms;
        let hours = end.saturating_sub(began) as f64 / 3.6e6;
        Row::new(
            side.name,
            [
                Cell::known(side.findings.model()),
                Cell::text(end_text(side.findings.whole_end())),
                Cell::number(Some(hours), 2),
                Cell::count(side.findings.with_parts().map(|f| f.caveats.len() as u64).sum()),
            ],
        )
    };
    Table::new("targets", "Targets", "Target")
        .columns([
            ("model", "Model"),
            ("result", "Result"),
            ("hours", "Hours"),
            ("caveats", "Caveats"),
        ])
        .rows(sides.iter().map(row))
}

/// Returns the table of each target's common starts.
fn table_of_starts(sides: &[FinishedTarget<'_>]) -> Table {
    let seconds = |time: Nanos| time.0 as f64 / 1e9;
    let row = |side: &FinishedTarget<'_>| {
        let starts = &side.starts;
        let waited: u64 = starts.iter().map(|start| start.waited.0).sum();
        let some = |value: Option<Nanos>, unit: f64, decimals| {
            Cell::number(value.map(|time| time.0 as f64 / unit), decimals)
        };
        Row::new(
            side.name,
            [
                Cell::count(starts.len() as u64),
                Cell::number((!starts.is_empty()).then(|| seconds(Nanos(waited))), 1),
                some(starts.iter().map(|start| start.waited).max(), 1e9, 1),
                some(starts.iter().filter_map(|start| start.late).max(), 1e6, 3),
            ],
        )
    };
    Table::new("common-starts", "Synchronized loads", "Target")
        .columns([
            ("loads", "Loads"),
            ("waited", "Waited, s"),
            ("waited-longest", "Longest wait, s"),
            ("late-most", "Latest start after the agreed time, ms"),
        ])
        .rows(sides.iter().map(row))
}

/// Returns facts on how far apart synchronized loads started.
fn skew<'s>(starts: impl Iterator<Item = &'s CommonStart>) -> Facts {
    let mut delays_by_start: BTreeMap<Nanos, Vec<Nanos>> = BTreeMap::new();
    for start in starts {
        delays_by_start.entry(start.agreed).or_default().extend(start.late);
    }
    let mut skews = Vec::new();
    for delays in delays_by_start.values().filter(|delays| delays.len() > 1) {
        if let (Some(least), Some(most)) = (delays.iter().min(), delays.iter().max()) {
            skews.push(most.0 - least.0);
        }
    }
    skews.sort_unstable();
    let shown = |nanos: Option<&u64>| {
        nanos.map_or_else(String::new, |nanos| format!("{:.3} ms", *nanos as f64 / 1e6))
    };
    let fact = |id: &str, label: &str, value: String| {
        Setting::outcome(label, value).with_id(id).by(Origin::Found)
    };
    Facts::new("Start skew").rows([
        fact("start-moments", "Agreed start times", delays_by_start.len().to_string()),
        fact("start-skew-median", "Median skew", shown(skews.get(skews.len() / 2))),
        fact("start-skew-most", "Largest skew", shown(skews.last())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_is_between_loads_of_one_moment() {
        let start = |agreed, late| CommonStart {
            agreed: Nanos(agreed),
            late: Some(Nanos(late)),
            waited: Nanos(0),
            targets: 2,
        };
        let starts = [
            vec![start(1, 1_000_000), start(2, 0)],
            vec![start(1, 3_500_000), start(2, 100_000), start(3, 9_000_000)],
        ];
        let facts = skew(starts.iter().flatten());
        let values: Vec<_> = facts.rows.iter().map(|row| row.value.clone().unwrap()).collect();
        assert_eq!(values, ["3", "2.500 ms", "2.500 ms"]);
    }
}
