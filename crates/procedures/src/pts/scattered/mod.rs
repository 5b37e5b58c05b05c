//! A test of PTS-C 1.x: it runs once for each active range and each amount of it. The amount
//! consists of equal segments at random places in the range; no two segments adjoin (SNIA web
//! pages on PTS terms; the ranges and amounts are those of a public implementation of PTS-C 1.1).
//!
//! Each combination is a part of the run (see `parts`), with its own purge, preconditioning and
//! seed. Preconditioning writes the whole active range; the test accesses only the segments.

pub mod parameters;

use super::method;
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::{CoveredRange, Method, Scatter};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::joint_verdict;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::frame::{common_chapters, frame};
use crate::exhibits::pages::page;
use crate::parameters::Parameter;
use crate::parts::{self, EndingsTable, PartFindings, SuitePart, part_amendments};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::boxed;
use crate::report_notation::{decimals, distinct, joined, number};
use parameters::{AMOUNT, RANGES, SEGMENTS, has_scattered_ranges};
use std::collections::BTreeMap;
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, Page, Row, Setting, Table};
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{
    Bench, Bytes, Caveat, Findings, Halt, Procedure, Record, Settings, StepPlace, Verdict,
    caveats as ids,
};

/// A test that can run on one of several active ranges.
pub trait RangedTest: Procedure + Clone + Sized {
    /// Creates the test on the active range of the setup.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if the test cannot run with these settings.
    fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError>;

    /// Returns the choices that the report discloses.
    fn choices(&self) -> RunChoices<'_>;
}

/// Builds a test that runs once, or once for each combination if profile and class ask for
/// scattered active ranges.
pub fn build_ranged<T: RangedTest + 'static>(
    title: &'static str,
    request: &ProcedureRequest<'_>,
) -> Result<Box<dyn Procedure>, ProcedureError> {
    if has_scattered_ranges(request.settings) {
        boxed(ScatteredTest::<T>::new(title, request))
    } else {
        boxed(T::new(method::setup(request)?))
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
    let mut combinations = Vec::new();
    for percent in percents {
        for amount in &amounts {
            let scatter = Scatter { amount: *amount, segments };
            combinations.push(RangeCombination { percent, scatter });
        }
    }
    Ok(combinations)
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
            let seed = StepPlace::new(&name, 0, 0, "").seed(settings.seed);
            let part_settings = Settings { seed, ..settings.clone() };
            let is_last = combinations.last() == Some(combination);
            let amendments = part_amendments(request.amendments, &name, is_last);
            let part_request = ProcedureRequest {
                settings: &part_settings,
                amendments: &amendments,
                ..request.clone()
            };
            let method = combination_method(settings, combination);
            let test = T::new(ProcedureSetup::new(&part_request, method)?)?;
            covered.extend(test.choices().covered);
            first.get_or_insert_with(|| test.clone());
            parts.push(SuitePart { name, procedure: Box::new(test), settings: part_settings });
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
fn combination_method(settings: &Settings, combination: &RangeCombination) -> Method {
    Method {
        active_range_percent: combination.percent,
        scatter: Some(combination.scatter),
        ..method::for_profile(settings.profile, settings.class)
    }
}

impl<T: RangedTest + 'static> Procedure for ScatteredTest<T> {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        parts::conduct(&self.parts, bench)
    }

    fn study(&self, record: &Record) -> Findings {
        let mut parts = parts::study_parts(&self.parts, record);
        for (part, combination) in parts.iter_mut().zip(&self.combinations) {
            if let Some(findings) = &mut part.findings {
                findings.title = format!("{} {}", findings.title, combination.title());
                findings.id.clone_from(&findings.title);
            }
        }
        let endings = EndingsTable {
            id: "combinations",
            title: "How each combination ended",
            corner: "Combination",
        };
        let summary = vec![
            Exhibit::Table(tracked_table(&self.combinations, &parts)),
            Exhibit::Table(endings.table(&parts)),
        ];
        let mut exhibits = summary.clone();
        exhibits.extend(side_by_side_table(&self.combinations, &parts).map(Exhibit::Table));
        let title = format!("{} - Active Ranges and Amounts", self.title);
        let whole = Findings {
            ending: parts::ending("combinations", record, &parts),
            caveats: self.caveats(record, &parts),
            summary,
            form_pages: vec![page(&title, exhibits)],
            chapters: self.chapters(record),
            ..frame(self.title, &self.choices(), record, self.header(record, &parts))
                .with_verdict(self.verdict(&parts))
        };
        parts::add_parts(whole, parts, self.parts.last())
    }
}

impl<T: RangedTest + 'static> ScatteredTest<T> {
    /// Returns one verdict for all combinations, which is steady only if all have run and are
    /// steady. Its variables are named for their combination.
    fn verdict(&self, parts: &[PartFindings<'_>]) -> Option<Verdict> {
        let mut verdicts = Vec::new();
        for (combination, part) in self.combinations.iter().zip(parts) {
            let Some(mut verdict) = part.verdict().cloned() else { continue };
            for track in &mut verdict.tracks {
                track.name = format!("{} {}", combination.title(), track.name);
            }
            verdicts.push(verdict);
        }
        let joint = joint_verdict(&verdicts, &verdicts.first()?.criteria);
        Some(Verdict { steady: joint.steady && verdicts.len() == self.parts.len(), ..joint })
    }

    fn header(&self, record: &Record, parts: &[PartFindings<'_>]) -> FormHeader {
        let choices = self.choices();
        let stimulus = format!("{} Loop", self.title);
        let rounds = joined(
            parts.iter().map(|part| part.verdict().map_or("–".to_owned(), disclosure::window_text)),
        );
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
        let distinct_values = |text: fn(&RangeCombination) -> String| {
            distinct(self.combinations.iter().map(text)).join(", ")
        };
        format!(
            "For active range {}\n  For amount {}, in {} segments\n    Purge\n    Workload \
             independent preconditioning of the whole active range\n    {} loop over the segments",
            distinct_values(|combination| format!("{} %", combination.percent)),
            distinct_values(|combination| combination.scatter.amount.binary()),
            number(self.combinations[0].scatter.segments.into(), 0),
            self.title
        )
    }

    fn layout_table(&self) -> Table {
        let mut rows = Vec::new();
        for (index, combination) in self.combinations.iter().enumerate() {
            let range = self.covered[index].range;
            let Some(segments) = range.segments else { continue };
            rows.push(Row::new(
                combination.title(),
                [
                    Cell::text(range.end().0.to_string()),
                    Cell::text(segments.amount().binary()),
                    Cell::number(Some(f64::from(segments.count)), 0),
                    Cell::text(segments.size.binary()),
                    Cell::text(segments.seed.to_string()),
                    Cell::text(self.parts[index].settings.seed.to_string()),
                ],
            ));
        }
        let columns = [
            "Active bytes", "Amount", "Segments", "Segment size", "Layout seed", "Seed of the part",
        ];
        Table::new("ar-layout", "Active ranges and their segments", "Combination")
            .columns(columns)
            .rows(rows)
    }

    fn caveats(&self, record: &Record, parts: &[PartFindings<'_>]) -> Vec<Caveat> {
        let mut caveats =
            parts::caveats(record, parts, self.parts.last(), |_| "`--max-rounds N`".into());
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
    let mut caveats = Vec::new();
    if let Some(percent) = settings.active_range_percent {
        caveats.push(Caveat::deviation(
            ids::ACTIVE_RANGE,
            format!("Active range {percent} % instead of 100 % and 75 %, one after the other."),
            "Omit --active-range.",
        ));
    }
    let standard = Settings { parameters: BTreeMap::new(), ..settings.clone() };
    for (parameter, label, is_changed) in [
        (AMOUNT, "Amount of the active range", amounts(settings) != amounts(&standard)),
        (SEGMENTS, "Segments", segments(settings) != segments(&standard)),
    ] {
        if is_changed {
            let Parameter { name, default, .. } = parameter;
            caveats.push(Caveat::deviation(
                name,
                format!("{label}: {} instead of {default}.", parameter.value(settings)),
                format!("Omit --set {name}=... if the drive is large enough."),
            ));
        }
    }
    caveats
}

/// Returns the table of the tracking variables' averages in the window of each combination.
fn tracked_table(combinations: &[RangeCombination], parts: &[PartFindings<'_>]) -> Table {
    let column = |track: &TrackVerdict| format!("{}, {}", track.name, track.unit);
    let columns = distinct(parts.iter().flat_map(tracks).map(column));
    let value = |part: &PartFindings<'_>, name: &String| {
        let track = tracks(part).find(|track| column(track) == *name);
        track.map_or(Cell::Missing, |t| Cell::number(Some(t.average), decimals(&t.unit)))
    };
    let rows = combinations.iter().zip(parts).map(|(combination, part)| {
        Row::new(combination.title(), columns.iter().map(|name| value(part, name)))
    });
    let title = "Tracking variables, mean of each combination's measurement window";
    Table::new("tracked", title, "Combination").columns(columns.clone()).rows(rows)
}

/// Merges the first summary table of all parts into one, row by row; `None` if there is none.
fn side_by_side_table(
    combinations: &[RangeCombination],
    parts: &[PartFindings<'_>],
) -> Option<Table> {
    let first = parts.iter().find_map(first_table)?;
    let mut rows = Vec::new();
    for row in &first.rows {
        for (combination, part) in combinations.iter().zip(parts) {
            let table = first_table(part);
            let same = table.and_then(|table| table.rows.iter().find(|other| other.id == row.id));
            let Some(same) = same else { continue };
            let label = |name: &str| format!("{name}, {}", combination.title());
            let cells = same.cells.clone();
            rows.push(Row::new(label(&row.head), cells).with_id(label(&row.id)).strong(row.strong));
        }
    }
    let title = format!("{}: all combinations", first.title);
    let table = Table::new("side-by-side", title, &format!("{}, combination", first.corner))
        .columns(first.columns.iter().cloned())
        .rows(rows);
    Some(match &first.spanner {
        Some(spanner) => table.spanner(spanner),
        None => table,
    })
}

fn first_table<'a>(part: &'a PartFindings<'_>) -> Option<&'a Table> {
    part.findings.as_ref()?.summary.iter().find_map(Exhibit::as_table)
}

fn tracks<'a>(part: &'a PartFindings<'_>) -> impl Iterator<Item = &'a TrackVerdict> {
    part.verdict().into_iter().flat_map(|verdict| &verdict.tracks)
}

#[cfg(test)]
mod tests;
