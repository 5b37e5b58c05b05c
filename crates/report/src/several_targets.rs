//! Findings over several targets: comparison of their runs, result per target, and synchronization
//! of their loads.

use crate::compare::{COMPARED_MAX, CompareError, compare};
use crate::named_run::NamedRun;
use crate::page_one::end_text;
use crate::text_table;
use std::collections::BTreeMap;
use std::path::PathBuf;
use steadfast_domain::findings::{Cell, Facts, Origin, Page, Row, Setting, Table};
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::{Caveat, Exhibit, Findings, Nanos, caveats};

/// A target of a group, and the end of its run.
pub struct GroupTarget<'a> {
    /// Target as the user named it.
    pub target: &'a str,
    /// Name of the run directory.
    pub name: &'a str,
    /// Path of the run directory.
    pub directory: PathBuf,
    /// Exit code of a command that had conducted only this run.
    pub exit_code: u8,
    /// End of the run.
    pub end: TargetEnd,
}

/// End of a target's run.
pub enum TargetEnd {
    /// It has ended and was studied.
    Studied(Box<StudiedTarget>),
    /// It halted and can be resumed.
    Halted,
    /// It failed, or cannot be studied.
    Failed,
}

/// A target whose run has ended.
#[derive(Debug, Clone)]
pub struct StudiedTarget {
    /// Findings of its run.
    pub findings: Findings,
    /// Common starts recorded in its run.
    pub starts: Vec<CommonStart>,
}

impl GroupTarget<'_> {
    /// Returns the findings and starts of a run that has ended.
    pub fn studied(&self) -> Option<&StudiedTarget> {
        match &self.end {
            TargetEnd::Studied(studied) => Some(studied),
            TargetEnd::Halted | TargetEnd::Failed => None,
        }
    }
}

/// Formats the result of each target, and names those without which there is no report over all.
pub fn targets_text<'a>(targets: impl Iterator<Item = &'a GroupTarget<'a>> + Clone) -> String {
    let head = ["Target", "Model", "Result", "Exit code", "Run directory"].map(str::to_owned);
    let row = |one: &GroupTarget<'_>| {
        let findings = one.studied().map(|studied| &studied.findings);
        let result = match &one.end {
            TargetEnd::Studied(studied) => end_text(studied.findings.whole_end()),
            TargetEnd::Halted => "HALTED".to_owned(),
            TargetEnd::Failed => "FAILED".to_owned(),
        };
        let model = findings.and_then(Findings::model).unwrap_or("–").to_owned();
        let directory = one.directory.display().to_string();
        [one.target.to_owned(), model, result, one.exit_code.to_string(), directory]
    };
    let rows: Vec<_> = std::iter::once(head).chain(targets.clone().map(row)).collect();
    let table = text_table::with_left(&rows, |column| column != 3);
    let missing = targets.filter(|one| one.studied().is_none());
    let missing: Vec<&str> = missing.map(|one| one.target).collect();
    if missing.is_empty() {
        return table;
    }
    format!("{table}\n\nNo report over all targets: no result of {}.", missing.join(", "))
}

/// A target in the report over all.
struct ComparedTarget<'a> {
    name: &'a str,
    starts: &'a [CommonStart],
    findings: &'a Findings,
}

/// Computes the findings over all targets; `None` if a run has not ended.
///
/// # Errors
/// Returns the errors of [`compare`].
pub fn combined_findings<'a>(
    targets: impl Iterator<Item = &'a GroupTarget<'a>>,
) -> Result<Option<Findings>, CompareError> {
    let side = |one: &'a GroupTarget<'a>| {
        let StudiedTarget { findings, starts } = one.studied()?;
        Some(ComparedTarget { name: one.name, starts, findings })
    };
    let sides: Option<Vec<ComparedTarget<'_>>> = targets.map(side).collect();
    sides.map(|sides| compared(&sides)).transpose()
}

fn compared(sides: &[ComparedTarget<'_>]) -> Result<Findings, CompareError> {
    let runs: Vec<NamedRun> = sides
        .iter()
        .take(COMPARED_MAX)
        .map(|side| NamedRun { name: side.name.to_owned(), findings: side.findings.clone() })
        .collect();
    let mut whole = compare(&runs)?;
    let title = sides.first().map_or("", |side| side.findings.title.as_str());
    whole.title = format!("{title}: {} targets together", sides.len());
    whole.end = sides.iter().map(|side| side.findings.whole_end()).max().unwrap_or(whole.end);
    let shared = sides.iter().flat_map(|side| caveats_of(side.findings));
    let shared = shared.filter(|caveat| caveat.id == caveats::SHARED_HOST);
    whole.caveats.extend(shared.take(1).cloned());
    // The comparison has those of the others.
    for side in sides.iter().skip(COMPARED_MAX) {
        whole.caveats.extend(caveats_of(side.findings).map(|caveat| Caveat {
            text: format!("{}: {}", side.name, caveat.text),
            ..caveat.clone()
        }));
    }
    whole.summary.insert(0, Exhibit::Table(target_table(sides)));
    // Loads of simulated drives have no common clock, and none are synchronized.
    let page = if sides.iter().all(|side| side.starts.is_empty()) {
        let reason = if whole.simulated {
            "The loads did not start together: each simulated drive has a virtual time of its own."
        } else {
            "No load started at a time agreed between the targets."
        };
        vec![Exhibit::Text(reason.to_owned())]
    } else {
        vec![
            Exhibit::Table(start_table(sides)),
            Exhibit::Facts(skew(sides.iter().flat_map(|side| side.starts))),
        ]
    };
    whole.chapters.insert(0, Page::new("Synchronized start", page).with_id("beginning-together"));
    Ok(whole)
}

/// Returns the caveats of a run and of its parts.
fn caveats_of(findings: &Findings) -> impl Iterator<Item = &Caveat> {
    findings.self_and_parts().into_iter().flat_map(|part| &part.caveats)
}

fn target_table(sides: &[ComparedTarget<'_>]) -> Table {
    let row = |side: &ComparedTarget<'_>| {
        let lasted_ms = side.findings.ended_unix_ms.saturating_sub(side.findings.began_unix_ms);
        let hours = lasted_ms as f64 / 3.6e6;
        Row::new(
            side.name,
            [
                Cell::known(side.findings.model()),
                Cell::text(end_text(side.findings.whole_end())),
                Cell::number(Some(hours), 2),
                Cell::count(caveats_of(side.findings).count() as u64),
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

fn start_table(sides: &[ComparedTarget<'_>]) -> Table {
    let time = |time: Option<Nanos>, unit: f64, decimals| {
        Cell::number(time.map(|time| time.0 as f64 / unit), decimals)
    };
    let row = |side: &ComparedTarget<'_>| {
        let starts = side.starts;
        let waited = Nanos(starts.iter().map(|start| start.waited.0).sum());
        Row::new(
            side.name,
            [
                Cell::count(starts.len() as u64),
                time((!starts.is_empty()).then_some(waited), 1e9, 1),
                time(starts.iter().map(|start| start.waited).max(), 1e9, 1),
                time(starts.iter().filter_map(|start| start.late).max(), 1e6, 3),
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
    let milliseconds = |nanos: Option<&u64>| {
        nanos.map_or_else(String::new, |nanos| format!("{:.3} ms", *nanos as f64 / 1e6))
    };
    let fact = |id: &str, label: &str, value: String| {
        Setting::outcome(label, value).with_id(id).by(Origin::Found)
    };
    Facts::new("Start skew").rows([
        fact("start-moments", "Agreed start times", delays_by_start.len().to_string()),
        fact("start-skew-median", "Median skew", milliseconds(skews.get(skews.len() / 2))),
        fact("start-skew-most", "Largest skew", milliseconds(skews.last())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_did_not_start_together_have_no_table_of_starts() {
        let findings = Findings { simulated: true, ..Findings::new("One", Default::default()) };
        let page = |starts: &[CommonStart]| {
            let side = |name| ComparedTarget { name, starts, findings: &findings };
            let whole = compared(&[side("a"), side("b")]).unwrap();
            whole.chapters.into_iter().find(|page| page.id == "beginning-together").unwrap()
        };
        assert!(matches!(page(&[]).exhibits.as_slice(), [Exhibit::Text(_)]));
        let start = CommonStart { agreed: Nanos(1), late: None, waited: Nanos(0), targets: 2 };
        assert!(matches!(page(&[start]).exhibits.as_slice(), [Exhibit::Table(_), _]));
    }

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
