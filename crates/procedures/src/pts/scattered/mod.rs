//! A test of PTS-C 1.x: it runs once for each active range and each amount of it. The amount
//! consists of equal segments at random places in the range; no two segments adjoin (SNIA web
//! pages on PTS terms; the ranges and amounts are those of a public implementation of PTS-C 1.1).
//!
//! Each combination is a part of the run (see `parts`), with its own purge, preconditioning and
//! seed. Preconditioning writes the whole active range; the test accesses only the segments.

use super::method;
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::{CoveredRange, Method, Scatter};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::ranges::{AMOUNT, RANGES, SEGMENTS, is_asked};
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::frame::{common_chapters, frame};
use crate::exhibits::pages::page;
use crate::parts::{self, PartFindings, SuitePart, part_amendments};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::boxed;
use crate::report_notation::{decimals, distinct, joined, number};
use std::collections::BTreeMap;
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, Page, Row, Setting, Table};
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{
    Bench, Bytes, Caveat, Findings, Halt, Procedure, Record, Settings, StepPlace, Verdict,
    caveats as ids,
};

/// A test that can run on one of several active ranges.
pub trait RangedTest: Procedure + Clone + Sized {
    fn on(setup: ProcedureSetup) -> Result<Self, ProcedureError>;

    fn choices(&self) -> RunChoices<'_>;
}

/// Creates a test that runs once, or once for each combination if profile and class ask for
/// scattered active ranges.
pub fn offered<T: RangedTest + 'static>(
    title: &'static str,
    request: &ProcedureRequest<'_>,
) -> Result<Box<dyn Procedure>, ProcedureError> {
    if is_asked(request.settings) {
        boxed(ScatteredTest::<T>::new(title, request))
    } else {
        boxed(T::on(method::setup(request)?))
    }
}

/// An active range and an amount of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RangeCombination {
    percent: u8,
    scatter: Scatter,
}

impl RangeCombination {
    /// Returns the prefix of the phases, such as `ar75-8GiB`.
    fn name(&self) -> String {
        format!("ar{}-{}", self.percent, self.scatter.amount.binary().replace(' ', ""))
    }
    /// Returns the title, such as `AR75 8 GiB`.
    fn title(&self) -> String {
        format!("AR{} {}", self.percent, self.scatter.amount.binary())
    }
}

/// Parses the amounts, in the given order. A repeated amount is an error.
fn amounts(settings: &Settings) -> Result<Vec<Bytes>, ProcedureError> {
    AMOUNT.list(settings, |text| text.parse().ok().filter(|amount: &Bytes| amount.0 > 0))
}

fn segments(settings: &Settings) -> Result<u32, ProcedureError> {
    SEGMENTS.parse(settings, |text| text.parse().ok().filter(|count: &u32| *count > 0))
}

/// Returns all combinations: an outer loop over the ranges, an inner one over the amounts.
fn combinations(settings: &Settings) -> Result<Vec<RangeCombination>, ProcedureError> {
    let (amounts, segments) = (amounts(settings)?, segments(settings)?);
    let percents = settings.active_range_percent.map_or(RANGES.to_vec(), |percent| vec![percent]);
    let of_range = |percent: &u8| {
        let percent = *percent;
        amounts.iter().map(move |amount| RangeCombination {
            percent,
            scatter: Scatter { amount: *amount, segments },
        })
    };
    Ok(percents.iter().flat_map(of_range).collect())
}

/// A test for each combination of active range and amount.
struct ScatteredTest<T> {
    title: &'static str,
    settings: Settings,
    combinations: Vec<RangeCombination>,
    parts: Vec<SuitePart>,
    /// Accessed part of the capacity, one per part of the run.
    covered: Vec<CoveredRange>,
    /// Test of the first part; its choices apply to all parts, except for the accessed range.
    first: T,
}

impl<T: RangedTest + 'static> ScatteredTest<T> {
    fn new(title: &'static str, request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        let combinations = combinations(settings)?;
        let (mut parts, mut covered, mut first) = (Vec::new(), Vec::new(), None);
        for combination in &combinations {
            let name = combination.name();
            let of_part = part_settings(settings, &name);
            let is_last = combinations.last() == Some(combination);
            let amendments = part_amendments(request.amendments, &name, is_last);
            let request =
                ProcedureRequest { settings: &of_part, amendments: &amendments, ..request.clone() };
            let test = T::on(ProcedureSetup::new(&request, by_method(settings, combination))?)?;
            covered.extend(test.choices().covered);
            first.get_or_insert_with(|| test.clone());
            parts.push(SuitePart { name, procedure: Box::new(test), settings: of_part });
        }
        let first =
            first.ok_or_else(|| ProcedureError("there is no active range to test".into()))?;
        Ok(ScatteredTest { title, settings: settings.clone(), combinations, parts, covered, first })
    }

    fn choices(&self) -> RunChoices<'_> {
        let covered = self.covered.clone();
        RunChoices { settings: &self.settings, covered, ..self.first.choices() }
    }
}

/// Returns the method of profile and class for this combination.
fn by_method(settings: &Settings, combination: &RangeCombination) -> Method {
    Method {
        active_range_percent: combination.percent,
        scatter: Some(combination.scatter),
        ..method::for_profile(settings.profile, settings.class)
    }
}

/// Returns the settings of a part, with its own seed.
fn part_settings(settings: &Settings, name: &str) -> Settings {
    Settings { seed: StepPlace::new(name, 0, 0, "").seed(settings.seed), ..settings.clone() }
}

impl<T: RangedTest + 'static> Procedure for ScatteredTest<T> {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        parts::conduct(&self.parts, bench)
    }

    fn study(&self, record: &Record) -> Findings {
        let mut studied = parts::studied(&self.parts, record);
        for (part, combination) in studied.iter_mut().zip(&self.combinations) {
            if let Some(findings) = &mut part.findings {
                findings.title = format!("{} {}", findings.title, combination.title());
                findings.id.clone_from(&findings.title);
            }
        }
        let tables = self.tables(&studied);
        let mut on_page = tables.clone();
        on_page.extend(side_by_side(&self.combinations, &studied).map(Exhibit::Table));
        let whole = Findings {
            ending: parts::ending("combinations", record, &studied),
            caveats: self.caveats(record, &studied),
            summary: tables,
            form_pages: vec![page(&format!("{} - Active Ranges and Amounts", self.title), on_page)],
            chapters: self.chapters(record),
            ..frame(self.title, &self.choices(), record, self.header(record, &studied))
                .with_verdict(self.verdict(&studied))
        };
        parts::with_parts(whole, studied, self.parts.last())
    }
}

impl<T: RangedTest + 'static> ScatteredTest<T> {
    fn tables(&self, studied: &[PartFindings<'_>]) -> Vec<Exhibit> {
        let heads = ["combinations", "How each combination ended", "Combination"];
        vec![
            Exhibit::Table(tracked_table(&self.combinations, studied)),
            Exhibit::Table(parts::parts_table(heads, studied)),
        ]
    }

    /// Returns one verdict for all combinations: steady if all are steady, each variable in its
    /// own window. Its window is `None` unless all combinations have the same one.
    fn verdict(&self, studied: &[PartFindings<'_>]) -> Option<Verdict> {
        let verdicts = || studied.iter().filter_map(verdict);
        let first = verdicts().next()?;
        let mut named = Vec::new();
        for (combination, part) in self.combinations.iter().zip(studied) {
            for track in tracks(part) {
                let name = format!("{} {}", combination.title(), track.name);
                named.push(TrackVerdict { name, ..track.clone() });
            }
        }
        Some(Verdict {
            steady: verdicts().count() == self.parts.len() && verdicts().all(|v| v.steady),
            window: first.window.filter(|window| verdicts().all(|v| v.window == Some(*window))),
            tracks: named,
            criteria: first.criteria,
            reservation: None,
        })
    }

    fn header(&self, record: &Record, studied: &[PartFindings<'_>]) -> FormHeader {
        let choices = self.choices();
        let stimulus = format!("{} Loop", self.title);
        let rounds = windows(studied);
        let set_up = disclosure::loop_set_up_rows(&stimulus, &choices, &rounds);
        let mut test_parameters = disclosure::common_test_rows(&choices);
        test_parameters.extend([
            disclosure::profile_row("stimulus-1", "Test Stimulus 1", &stimulus),
            disclosure::profile_row("range-loop", "AR", "Outer Loop"),
            disclosure::profile_row("amount-loop", "Amount", "Inner Loop"),
            choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&choices.demands)),
            choices.step_row("Step"),
            Setting::outcome("Steady State", rounds),
        ]);
        let test = format!("{} Test (REQUIRED)", self.title);
        let subtitle = "Every active range and amount".to_owned();
        let form = ReportForm { test, subtitle, set_up, test_parameters };
        disclosure::form_header(form, &choices, record)
    }

    fn chapters(&self, record: &Record) -> Vec<Page> {
        let exhibits = vec![
            Exhibit::Listing(self.listing()),
            Exhibit::Table(self.layout_table()),
            Exhibit::Text(
                "The segments of a combination are the same in all its steps. Each begins at a \
                 whole MiB, and at least 1 MiB lies between two of them; every such layout is \
                 equally likely, and the seed alone decides which. Random I/O is uniform over all \
                 of them together; sequential I/O runs through them in address order. \
                 Preconditioning writes the whole active range."
                    .into(),
            ),
        ];
        let mut chapters = vec![page("Active Ranges and Segments", exhibits)];
        chapters.extend(common_chapters(&self.choices(), record));
        chapters
    }

    fn listing(&self) -> String {
        let each = |text: fn(&RangeCombination) -> String| {
            distinct(self.combinations.iter().map(text)).join(", ")
        };
        format!(
            "For active range {}\n  For amount {}, in {} segments\n    Purge\n    Workload \
             independent preconditioning of the whole active range\n    {} loop over the segments",
            each(|c| format!("{} %", c.percent)),
            each(|c| c.scatter.amount.binary()),
            number(self.combinations[0].scatter.segments.into(), 0),
            self.title
        )
    }

    fn layout_table(&self) -> Table {
        let rows = self.combinations.iter().zip(&self.covered).zip(&self.parts).filter_map(
            |((combination, covered), part)| {
                let segments = covered.range.segments?;
                Some(Row::new(
                    combination.title(),
                    [
                        Cell::text(covered.range.end().0.to_string()),
                        Cell::text(segments.amount().binary()),
                        Cell::number(Some(f64::from(segments.count)), 0),
                        Cell::text(segments.size.binary()),
                        Cell::text(segments.seed.to_string()),
                        Cell::text(part.settings.seed.to_string()),
                    ],
                ))
            },
        );
        let columns = [
            "Active bytes", "Amount", "Segments", "Segment size", "Layout seed", "Seed of the part",
        ];
        Table::new("ar-layout", "Active ranges and their segments", "Combination")
            .columns(columns)
            .rows(rows)
    }

    fn caveats(&self, record: &Record, studied: &[PartFindings<'_>]) -> Vec<Caveat> {
        let mut caveats =
            parts::caveats(record, studied, self.parts.last(), |_| "`--max-rounds N`".into());
        caveats.extend(deviations(&self.settings));
        caveats.push(Caveat::unverified(
            ids::AR_SEGMENTS_LAYOUT,
            "Active ranges of 100 % and 75 %, amounts of 8 and 16 GiB and 2,048 segments are those \
             of a public implementation and of SNIA's summary; the document itself could not be \
             checked. Where the segments begin and how sequential I/O runs through them is our \
             choice, and so is preconditioning of the whole active range in one piece.",
            "",
        ));
        caveats
    }
}

/// Returns a caveat for each choice that deviates from the document.
fn deviations(settings: &Settings) -> Vec<Caveat> {
    let deviation = |id: &str, text: String, remedy: String| Caveat::deviation(id, text, remedy);
    let range = settings.active_range_percent.map(|percent| {
        let text =
            format!("Active range {percent} % instead of 100 % and 75 %, one after the other.");
        deviation(ids::ACTIVE_RANGE, text, "Omit --active-range.".to_owned())
    });
    let standard = Settings { parameters: BTreeMap::new(), ..settings.clone() };
    let changed = [
        (AMOUNT, "Amount of the active range", amounts(settings) != amounts(&standard)),
        (SEGMENTS, "Segments", segments(settings) != segments(&standard)),
    ];
    let changed = changed.iter().filter(|(.., is_changed)| *is_changed).map(|(p, what, _)| {
        let text = format!("{what}: {} instead of {}.", p.value(settings), p.default);
        let remedy = format!("Omit --set {}=... if the drive is large enough.", p.name);
        deviation(p.name, text, remedy)
    });
    range.into_iter().chain(changed).collect()
}

fn windows(studied: &[PartFindings<'_>]) -> String {
    let window =
        |part: &PartFindings<'_>| verdict(part).map_or("–".to_owned(), disclosure::window_text);
    joined(studied.iter().map(window))
}

/// Returns the table of the tracking variables' averages in the window of each combination.
fn tracked_table(combinations: &[RangeCombination], studied: &[PartFindings<'_>]) -> Table {
    let column = |track: &TrackVerdict| format!("{}, {}", track.name, track.unit);
    let columns = distinct(studied.iter().flat_map(tracks).map(column));
    let value = |part: &PartFindings<'_>, name: &String| {
        let track = tracks(part).find(|track| column(track) == *name);
        track.map_or(Cell::Missing, |t| Cell::number(Some(t.average), decimals(&t.unit)))
    };
    let rows = combinations.iter().zip(studied).map(|(combination, part)| {
        Row::new(combination.title(), columns.iter().map(|name| value(part, name)))
    });
    let title = "Tracking variables, mean of each combination's measurement window";
    Table::new("tracked", title, "Combination").columns(columns.clone()).rows(rows)
}

/// Merges the first summary table of all parts into one, row by row; `None` if there is none.
fn side_by_side(combinations: &[RangeCombination], studied: &[PartFindings<'_>]) -> Option<Table> {
    let first = studied.iter().find_map(first_table)?;
    let of_row = |row: &Row| {
        let row = row.clone();
        combinations.iter().zip(studied).filter_map(move |(combination, part)| {
            let same = first_table(part)?.rows.iter().find(|other| other.id == row.id)?;
            let label = |name: &str| format!("{name}, {}", combination.title());
            let cells = same.cells.clone();
            Some(Row::new(label(&row.head), cells).with_id(label(&row.id)).strong(row.strong))
        })
    };
    let title = format!("{}: all combinations", first.title);
    let table = Table::new("side-by-side", title, &format!("{}, combination", first.corner))
        .columns(first.columns.iter().cloned())
        .rows(first.rows.iter().flat_map(of_row));
    Some(match &first.spanner {
        Some(spanner) => table.spanner(spanner),
        None => table,
    })
}

fn first_table<'a>(part: &'a PartFindings<'_>) -> Option<&'a Table> {
    part.findings.as_ref()?.summary.iter().find_map(Exhibit::as_table)
}

fn tracks<'a>(part: &'a PartFindings<'_>) -> impl Iterator<Item = &'a TrackVerdict> {
    verdict(part).into_iter().flat_map(|verdict| &verdict.tracks)
}

fn verdict<'a>(part: &'a PartFindings<'_>) -> Option<&'a Verdict> {
    part.findings.as_ref()?.verdict.as_ref()
}

#[cfg(test)]
mod tests;
