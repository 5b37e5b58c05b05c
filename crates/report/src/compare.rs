//! Compares several runs: tables value by value, plots overlaid, and every setting in which they
//! differ.
//!
//! Procedures, pages, tables, rows, columns, plots and series are matched by ID, settings by ID
//! and role, endings by state; nothing is matched by its printed text. The result is a `Findings`,
//! so everything that prints a run also prints a comparison.

mod changes;
mod figures;
mod metrics;
mod plots;
pub(crate) mod settings;
pub(crate) mod side;
mod tables;

pub use self::metrics::metrics;
use self::side::ComparedRun;
use crate::grouping::{comma_separated, keys_by_value, unique_by};
use crate::named_run::NamedRun;
use crate::parts;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, Page, Row, Table};
use steadfast_domain::{Caveat, EndState, Findings};

/// Maximum number of runs, as many as fit side by side on a page.
pub const COMPARED_MAX: usize = 7;

/// Reasons why runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Fewer than two runs or more than [`COMPARED_MAX`]; holds their number.
    #[error("compare needs two to seven runs; got {0}")]
    Count(usize),
    /// No procedure is in more than one run.
    #[error("the runs have no procedure in common: {0}; compare runs of one procedure")]
    NothingInCommon(String),
}

/// Compares runs; percentages are relative to the first.
///
/// A procedure that only one run has is omitted. One that some runs lack is compared with dashes,
/// and a caveat says so.
///
/// # Errors
/// Returns [`CompareError::Count`] for fewer than two runs or more than [`COMPARED_MAX`], and
/// [`CompareError::NothingInCommon`] if no procedure is in two of them.
pub fn compare(runs: &[NamedRun]) -> Result<Findings, CompareError> {
    if !(2..=COMPARED_MAX).contains(&runs.len()) {
        return Err(CompareError::Count(runs.len()));
    }
    let procedures = compared_procedures(runs);
    let part_count = procedures.len();
    let mut compared: Vec<Findings> =
        procedures.iter().map(|one| comparison(&one.title, &one.sides, part_count)).collect();
    let mut whole = match part_count {
        0 => {
            let titles = comma_separated(runs.iter().map(|run| &run.findings.title));
            return Err(CompareError::NothingInCommon(titles));
        }
        1 => {
            let mut only = compared.remove(0);
            only.title = format!("Comparison: {}", only.title);
            only
        }
        _ => comparison_of_parts(runs, compared),
    };
    whole.caveats.extend(caveats_of_whole_runs(runs, &procedures));
    Ok(whole)
}

/// Returns the caveats that belong to a whole run if only some of its procedures are compared.
fn caveats_of_whole_runs(runs: &[NamedRun], procedures: &[ComparedProcedure<'_>]) -> Vec<Caveat> {
    let sides = || procedures.iter().flat_map(|procedure| &procedure.sides);
    let mut caveats = Vec::new();
    for (letter, NamedRun { findings, .. }) in ('A'..).zip(runs) {
        let is_compared = |side: &ComparedRun<'_>| {
            side.findings.is_some_and(|compared| std::ptr::eq(compared, findings))
        };
        if !findings.parts.is_empty() && !sides().any(is_compared) {
            caveats.extend(findings.caveats.iter().map(|caveat| Caveat {
                text: format!("{letter}: {}", caveat.text),
                ..caveat.clone()
            }));
        }
    }
    caveats
}

/// A procedure that at least two runs have.
struct ComparedProcedure<'a> {
    title: String,
    /// All runs, in order.
    sides: Vec<ComparedRun<'a>>,
}

/// Returns the procedures that at least two runs have.
fn compared_procedures(runs: &[NamedRun]) -> Vec<ComparedProcedure<'_>> {
    let procedures: Vec<Vec<ProcedureFindings<'_>>> =
        runs.iter().map(|run| procedures(&run.findings)).collect();
    let mut compared = Vec::new();
    for first in unique_by(procedures.iter().flatten(), |one, other| one.is_same(other)) {
        let mut sides = Vec::new();
        for (letter, (run, procedures)) in ('A'..).zip(runs.iter().zip(&procedures)) {
            let same = procedures.iter().find(|other| other.is_same(first));
            sides.push(ComparedRun::new(letter, &run.name, same.map(|same| same.findings)));
        }
        if sides.iter().filter(|side| side.findings.is_some()).count() > 1 {
            compared.push(ComparedProcedure { title: first.title(), sides });
        }
    }
    compared
}

struct ProcedureFindings<'a> {
    findings: &'a Findings,
    /// Index among the procedures of the same ID in its run.
    repetition: usize,
}

impl ProcedureFindings<'_> {
    fn is_same(&self, other: &ProcedureFindings<'_>) -> bool {
        (&self.findings.id, self.repetition) == (&other.findings.id, other.repetition)
    }
    fn title(&self) -> String {
        match self.repetition {
            0 => self.findings.title.clone(),
            repetition => format!("{} ({})", self.findings.title, repetition + 1),
        }
    }
}

fn procedures(findings: &Findings) -> Vec<ProcedureFindings<'_>> {
    let parts = findings.all_parts();
    let has_own = parts.is_empty() || !findings.summary.is_empty();
    let mut procedures: Vec<ProcedureFindings<'_>> = Vec::new();
    for findings in has_own.then_some(findings).into_iter().chain(parts) {
        let repetition = procedures.iter().filter(|one| one.findings.id == findings.id).count();
        procedures.push(ProcedureFindings { findings, repetition });
    }
    procedures
}

fn comparison_of_parts(runs: &[NamedRun], mut parts: Vec<Findings>) -> Findings {
    let lettered = || ('A'..).zip(runs);
    let sides: Vec<ComparedRun<'_>> = lettered()
        .map(|(letter, run)| ComparedRun::new(letter, &run.name, Some(&run.findings)))
        .collect();
    let mut whole = without_exhibits("Comparison", &sides);
    // The header of a suite may not describe the device; those of its parts do.
    let first_parts: Vec<ComparedRun<'_>> = lettered()
        .map(|(letter, run)| {
            let first = run.findings.parts.first().unwrap_or(&run.findings);
            ComparedRun::new(letter, &run.name, Some(first))
        })
        .collect();
    let (devices, same) = settings::devices(&first_parts);
    whole.front.conditions = same;
    // Runs with figures of their own, over all procedures, show them on page one instead of in
    // their part.
    let figures = [figures::table(&sides), figures::changes(&sides)];
    let figures: Vec<Table> = figures.into_iter().flatten().collect();
    if !figures.is_empty() {
        for part in parts.iter_mut().filter(|part| part.title == runs[0].findings.title) {
            part.summary.retain(|exhibit| {
                exhibit.as_table().is_none_or(|table| figures.iter().all(|f| f.id != table.id))
            });
        }
    }
    let tables: Vec<Table> = std::iter::once(devices).chain(figures).collect();
    whole.front.tables = tables.iter().map(|table| table.id.clone()).collect();
    whole.summary = tables.into_iter().map(Exhibit::Table).collect();
    let differing = parts.iter().filter(|part| has_differences(&part.caveats)).count();
    whole.ending = format!("{} runs, {} procedures. ", runs.len(), parts.len())
        + &match differing {
            0 => "All settings are the same.".to_owned(),
            n => format!("Settings differ in {n} procedures: see below."),
        };
    if let Some(left_out) = figures::left_out(&sides) {
        whole.ending.push(' ');
        whole.ending.push_str(&left_out);
    }
    whole.parts = parts;
    whole
}

/// Maximum number of overlaid plots in a comparison, which fill two pages.
const PLOTS_MAX: usize = 12;
/// Number of overlaid plots that each procedure may have in any case.
const PLOTS_PER_PROCEDURE: usize = 2;

/// Compares one procedure, which is one of `part_count`.
fn comparison(title: &str, sides: &[ComparedRun<'_>], part_count: usize) -> Findings {
    let of_many = part_count > 1;
    let mut findings = without_exhibits(title, sides);
    let differences = settings::differences(sides);
    findings.caveats = caveats(title, sides, &differences);
    findings.ending = ending(sides, &differences);
    let (devices, same) = settings::devices(sides);
    let figures = [figures::table(sides), figures::changes(sides)].into_iter().flatten();
    let mut summary: Vec<Table> = figures.collect();
    if !of_many {
        summary.push(devices);
        findings.front.conditions = same;
        findings.front.tables = summary.iter().map(|table| table.id.clone()).collect();
    }
    summary.extend(settings::difference_table(sides, &differences));
    summary.push(endings(sides));
    let changes = changes::page(sides);
    if changes.is_none() {
        summary.extend(own_summaries(sides));
    }
    findings.summary = summary.into_iter().map(Exhibit::Table).collect();
    if of_many {
        findings.front.figures = figures::headline(sides);
    }
    let bars = figures::plots(sides);
    if !bars.is_empty() {
        findings.front.plots.extend(bars.iter().map(|plot| plot.id.clone()));
        let page = Page::new("Key figures", bars.into_iter().map(Exhibit::Plot).collect());
        findings.form_pages.push(page.with_id("key-figures"));
    }
    findings.chapters.extend(changes);
    findings.chapters.extend(changes::secondary_page(sides));
    let plots_max = (PLOTS_MAX / part_count).max(PLOTS_PER_PROCEDURE);
    let plots::Overlays { drawn, left_out } = plots::overlaid(sides, plots_max);
    if !drawn.is_empty() {
        let count = drawn.len();
        let mut exhibits: Vec<Exhibit> = drawn.into_iter().map(Exhibit::Plot).collect();
        exhibits.extend(not_drawn(count, &left_out).map(Exhibit::Text));
        findings.chapters.push(Page::new("Curves over one another", exhibits).with_id("curves"));
    }
    findings.long_tables = long_tables(sides);
    findings.chapters.push(page_of_files(&findings.long_tables));
    findings
}

/// Name of the test in the header of a comparison, by which one is recognized.
pub const COMPARISON: &str = "Comparison";

const LEFT_OUT_NAMED_MAX: usize = 6;

/// Returns a sentence that names the curves that did not fit; `None` if all did.
fn not_drawn(drawn: usize, left_out: &[String]) -> Option<String> {
    let (named, others) = left_out.split_at(left_out.len().min(LEFT_OUT_NAMED_MAX));
    let named = named.join("; ");
    let more = if others.is_empty() { String::new() } else { format!("; {} more", others.len()) };
    let all = drawn + left_out.len();
    (!left_out.is_empty())
        .then(|| format!("{drawn} of {all} curves are drawn. Left out: {named}{more}."))
}

/// Maximum number of rows of a printed table.
const PRINTED_ROWS_MAX: usize = 60;

/// Compares the runs' own summary tables: used for runs without numbers in long form.
fn own_summaries(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let tables = tables::compared(sides, |findings| findings.summary.iter().collect());
    tables.into_iter().filter(|table| table.rows.len() <= PRINTED_ROWS_MAX).collect()
}

/// Compares every value of every table, and every setting. The tables are too long to print.
fn long_tables(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let mut tables = settings::tables(sides);
    tables.extend(tables::compared(sides, |findings| findings.exhibits().collect()));
    tables.extend(metrics::table(sides));
    tables
}

/// Returns a page that says where the values are that are not printed.
fn page_of_files(tables: &[Table]) -> Page {
    let text = format!(
        "Every value of every run stands side by side in CSV files, which are written into a \
         directory with the report (compare -o DIR): {}.",
        comma_separated(tables.iter().map(|table| &table.id))
    );
    Page::new("All values", vec![Exhibit::Text(text)]).with_id("all-values")
}

/// Returns the findings of a comparison without its exhibits.
fn without_exhibits(title: &str, sides: &[ComparedRun<'_>]) -> Findings {
    let all: Vec<&Findings> = sides.iter().filter_map(|side| side.findings).collect();
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let digests: Vec<&str> =
        all.iter().map(|f| f.digest.get(..16).unwrap_or(f.digest.as_str())).collect();
    let same = |of: &dyn Fn(&Findings) -> String, otherwise: &str| match all.split_first() {
        Some((first, rest)) if rest.iter().all(|f| of(f) == of(first)) => of(first),
        _ => otherwise.to_owned(),
    };
    let header = FormHeader {
        issuer: same(&|f| f.header.issuer.clone(), "several"),
        specification: same(&|f| f.header.specification.clone(), "several"),
        disclaimer: disclaimer(sides),
        test: COMPARISON.into(),
        subtitle: title.to_owned(),
        revision: same(&|f| f.header.revision.clone(), "several"),
        model: Some(names.join("; ")),
        ..FormHeader::default()
    };
    // A comparison is only as good as its worst run, and has no verdict of its own.
    let worst = all.iter().map(|f| f.whole_end()).max();
    let end = worst.filter(|end| *end > EndState::Steady).unwrap_or(EndState::Complete);
    Findings {
        end,
        method: same(&|f| f.method.clone(), "The runs differ in their method."),
        headline: same(&|f| f.headline.clone(), ""),
        simulated: all.iter().any(|f| parts::simulated(f)),
        began_unix_ms: all.iter().map(|f| f.began_unix_ms).min().unwrap_or(0),
        ended_unix_ms: all.iter().map(|f| f.ended_unix_ms).max().unwrap_or(0),
        activity: all.first().map(|f| f.activity).unwrap_or_default(),
        digest: digests.join(" "),
        software: same(&|f| f.software.clone(), "several versions of the program"),
        ..Findings::new(title, header)
    }
}

/// Returns the disclaimers of the runs, each with the letters of its runs unless it applies to all.
fn disclaimer(sides: &[ComparedRun<'_>]) -> Option<String> {
    let present = sides.iter().filter_map(|side| Some((side.letter, side.findings?)));
    let groups = keys_by_value(present.map(|(letter, f)| (letter, f.header.disclaimer.as_deref())));
    if let [(notice, _)] = groups.as_slice() {
        return notice.map(str::to_owned);
    }
    let mut notices = Vec::new();
    for (notice, letters) in groups {
        notices.extend(notice.map(|notice| format!("{}: {notice}", comma_separated(letters))));
    }
    (!notices.is_empty()).then(|| notices.join("; "))
}

fn ending(sides: &[ComparedRun<'_>], differences: &[settings::SettingDifference]) -> String {
    let count = sides.iter().filter(|side| side.findings.is_some()).count();
    let runs = if count == sides.len() {
        format!("{count} runs")
    } else {
        format!("{count} of {} runs", sides.len())
    };
    let severe: Vec<&str> =
        differences.iter().filter(|d| d.severe).map(|d| d.label.as_str()).collect();
    let settings = match severe.as_slice() {
        [] => "No setting differs.".to_owned(),
        [only] => format!("1 setting differs: {only}."),
        [a, b] => format!("2 settings differ: {a}, {b}."),
        [a, b, rest @ ..] => {
            format!("{} settings differ: {a}, {b} and {} more.", severe.len(), rest.len())
        }
    };
    let left_out = figures::left_out(sides).unwrap_or_default();
    format!("{runs} side by side; percentages relate to A. {settings} {left_out}")
        .trim_end()
        .to_owned()
}

fn endings(sides: &[ComparedRun<'_>]) -> Table {
    let row = |side: &ComparedRun<'_>| {
        let steady = side.findings.and_then(|f| f.whole_end().steady());
        let ending = Cell::known(side.findings.map(|f| f.ending.as_str()));
        Row::new(side.name.clone(), [steady.map_or(Cell::Missing, Cell::verdict), ending])
    };
    Table::new("endings", "How each run ended", "Run")
        .columns(["Steady", "Ending"])
        .rows(sides.iter().map(row))
}

fn has_differences(caveats: &[Caveat]) -> bool {
    caveats.iter().any(|caveat| caveat.id == ids::SETTING_DIFFERS)
}

/// Number of unknown settings of a run, such as results of another tool, above which they become
/// one disclosure.
const SEPARATE_UNKNOWNS_MAX: usize = 3;

/// Returns the settings that some runs do not state, grouped by these runs; only if there are
/// many.
fn not_stated(
    sides: &[ComparedRun<'_>],
    differences: &[settings::SettingDifference],
) -> Vec<(String, Vec<String>)> {
    let mut groups =
        keys_by_value(differences.iter().map(|one| (one.label.clone(), one.not_stated_by(sides))));
    groups.retain(|(letters, labels)| !letters.is_empty() && labels.len() > SEPARATE_UNKNOWNS_MAX);
    groups
}

fn caveats(
    title: &str,
    sides: &[ComparedRun<'_>],
    differences: &[settings::SettingDifference],
) -> Vec<Caveat> {
    let not_stated = not_stated(sides, differences);
    let mut caveats = Vec::new();
    for difference in differences {
        let letters = difference.not_stated_by(sides);
        if not_stated.iter().any(|(other, _)| *other == letters) {
            continue;
        }
        let values = difference.values_by_run(sides);
        let text = format!("The runs differ in {}: {values}.", difference.label);
        caveats.push(if difference.severe {
            let remedy = "Compare runs with the same settings.";
            Caveat::invalidates(ids::SETTING_DIFFERS, text, remedy)
        } else {
            Caveat::remark(ids::PLATFORM_DIFFERS, text, "")
        });
    }
    caveats.extend(not_stated.iter().map(|(letters, labels)| {
        let text = format!(
            "{letters} does not state: {}. Whether the runs differ in them is not known.",
            labels.join(", ")
        );
        let remedy = "Compare runs whose settings are known to be the same.";
        Caveat::invalidates(ids::SETTING_DIFFERS, text, remedy)
    }));
    let without = sides.iter().filter(|side| side.findings.is_none()).map(|side| side.letter);
    let without = comma_separated(without);
    if !without.is_empty() {
        let text = format!("{without} has no {title}: its values are missing.");
        caveats.push(Caveat::deviation(ids::PROCEDURE_MISSING, text, ""));
    }
    caveats.extend(unsteady(sides));
    caveats.extend(inherited(sides));
    caveats
}

/// Returns a caveat that lists runs without steady state that have no such caveat themselves.
fn unsteady(sides: &[ComparedRun<'_>]) -> Option<Caveat> {
    let says_so = |f: &Findings| f.caveats.iter().any(|c| ids::NOT_STEADY.contains(&c.id.as_str()));
    let unsteady = sides.iter().filter(|side| {
        side.findings.is_some_and(|f| f.whole_end().steady() == Some(false) && !says_so(f))
    });
    let letters = comma_separated(unsteady.map(|side| side.letter));
    let text = format!("{letters}: steady state was not achieved.");
    (!letters.is_empty()).then(|| Caveat::invalidates(ids::STEADY_STATE_NOT_ACHIEVED, text, ""))
}

/// Returns the runs' own caveats without duplicates, with the letters of their runs.
fn inherited(sides: &[ComparedRun<'_>]) -> Vec<Caveat> {
    let present = || sides.iter().filter_map(|side| Some((side.letter, side.findings?)));
    let caveats = present().flat_map(|(letter, f)| f.caveats.iter().map(move |c| (letter, c)));
    let run_count = present().count();
    let mut inherited = Vec::new();
    for (caveat, mut letters) in keys_by_value(caveats) {
        letters.dedup();
        let runs = if letters.len() == run_count {
            "All runs".to_owned()
        } else {
            comma_separated(letters)
        };
        inherited.push(Caveat { text: format!("{runs}: {}", caveat.text), ..caveat.clone() });
    }
    inherited
}
