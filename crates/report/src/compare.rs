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
use crate::parts;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, Page, Row, Table};
use steadfast_domain::{Caveat, CaveatKind, EndState, Findings};

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

/// Compares runs, given with their names; percentages are relative to the first.
///
/// A procedure that only one run has is omitted. One that some runs lack is compared with dashes,
/// and a caveat says so.
///
/// # Errors
/// Returns [`CompareError::Count`] for fewer than two runs or more than [`COMPARED_MAX`], and
/// [`CompareError::NothingInCommon`] if no procedure is in two of them.
pub fn compare(runs: &[(String, Findings)]) -> Result<Findings, CompareError> {
    if !(2..=COMPARED_MAX).contains(&runs.len()) {
        return Err(CompareError::Count(runs.len()));
    }
    let groups = groups(runs);
    let room = (DRAWINGS / groups.len().max(1)).max(DRAWINGS_LEAST);
    let of_many = (groups.len() > 1, room);
    let mut compared: Vec<Findings> =
        groups.iter().map(|(title, sides)| comparison(title, sides, of_many)).collect();
    let mut whole = match compared.len() {
        0 => {
            let titles: Vec<&str> = runs.iter().map(|(_, f)| f.title.as_str()).collect();
            return Err(CompareError::NothingInCommon(titles.join(", ")));
        }
        1 => {
            let mut only = compared.remove(0);
            only.title = format!("Comparison: {}", only.title);
            only
        }
        _ => covered(runs, compared),
    };
    whole.caveats.extend(cover_caveats(runs, &groups));
    Ok(whole)
}

/// Returns the caveats that belong to a whole run if only some of its procedures are compared.
fn cover_caveats(
    runs: &[(String, Findings)],
    groups: &[(String, Vec<ComparedRun<'_>>)],
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for (letter, (_, findings)) in ('A'..).zip(runs) {
        let is_compared = |side: &ComparedRun<'_>| {
            side.findings.is_some_and(|compared| std::ptr::eq(compared, findings))
        };
        if !findings.parts.is_empty()
            && !groups.iter().any(|(_, sides)| sides.iter().any(is_compared))
        {
            caveats.extend(findings.caveats.iter().map(|caveat| Caveat {
                text: format!("{letter}: {}", caveat.text),
                ..caveat.clone()
            }));
        }
    }
    caveats
}

/// Returns the procedures that at least two runs have, each with the findings of all runs.
fn groups(runs: &[(String, Findings)]) -> Vec<(String, Vec<ComparedRun<'_>>)> {
    let procedures: Vec<Vec<ProcedureFindings<'_>>> =
        runs.iter().map(|(_, findings)| procedures(findings)).collect();
    let mut firsts: Vec<&ProcedureFindings<'_>> = Vec::new();
    for named in procedures.iter().flatten() {
        if !firsts.iter().any(|first| first.is_same(named)) {
            firsts.push(named);
        }
    }
    let sides = |first: &ProcedureFindings<'_>| -> Vec<ComparedRun<'_>> {
        let of_run = |procedures: &Vec<ProcedureFindings<'_>>| -> Option<usize> {
            procedures.iter().position(|named| named.is_same(first))
        };
        ('A'..)
            .zip(runs.iter().zip(&procedures))
            .map(|(letter, ((name, _), procedures))| ComparedRun {
                letter,
                name: format!("{letter}: {name}"),
                findings: of_run(procedures).map(|at| procedures[at].findings),
            })
            .collect()
    };
    let all = firsts.into_iter().map(|first| (first.title(), sides(first)));
    all.filter(|(_, sides)| sides.iter().filter(|s| s.findings.is_some()).count() > 1).collect()
}

/// A procedure of a run.
struct ProcedureFindings<'a> {
    findings: &'a Findings,
    /// Index among the procedures of the same title in its run.
    again: usize,
}

impl ProcedureFindings<'_> {
    fn is_same(&self, other: &ProcedureFindings<'_>) -> bool {
        (&self.findings.id, self.again) == (&other.findings.id, other.again)
    }
    /// Returns the title, with a number from the second of the same title on.
    fn title(&self) -> String {
        match self.again {
            0 => self.findings.title.clone(),
            again => format!("{} ({})", self.findings.title, again + 1),
        }
    }
}

/// Returns the procedures of a run.
fn procedures(findings: &Findings) -> Vec<ProcedureFindings<'_>> {
    let parts = parts::parts(findings);
    let own = parts.is_empty() || !findings.summary.is_empty();
    let mut named: Vec<ProcedureFindings<'_>> = Vec::new();
    for findings in own.then_some(findings).into_iter().chain(parts) {
        let again = named.iter().filter(|other| other.findings.id == findings.id).count();
        named.push(ProcedureFindings { findings, again });
    }
    named
}

/// Returns a comparison of several procedures: a cover, and one part per procedure.
fn covered(runs: &[(String, Findings)], mut parts: Vec<Findings>) -> Findings {
    let everything: Vec<ComparedRun<'_>> = ('A'..)
        .zip(runs)
        .map(|(letter, (name, findings))| ComparedRun {
            letter,
            name: format!("{letter}: {name}"),
            findings: Some(findings),
        })
        .collect();
    let mut whole = frame("Comparison", &everything);
    // The header of a suite may not describe the device; those of its parts do.
    let first: Vec<ComparedRun<'_>> = everything
        .iter()
        .map(|side| ComparedRun {
            letter: side.letter,
            name: side.name.clone(),
            findings: side.findings.map(|findings| findings.parts.first().unwrap_or(findings)),
        })
        .collect();
    let (devices, same) = settings::devices(&first);
    whole.front.conditions = same;
    // Runs with figures of their own, over all procedures, show them on page one instead of in
    // their part.
    let figures = [figures::table(&everything), figures::changes(&everything)];
    let of_all: Vec<Table> = figures.into_iter().flatten().collect();
    if let (false, Some((_, first))) = (of_all.is_empty(), runs.first()) {
        let is_there = |exhibit: &Exhibit| {
            exhibit.as_table().is_some_and(|table| of_all.iter().any(|all| all.id == table.id))
        };
        for part in parts.iter_mut().filter(|part| part.title == first.title) {
            part.summary.retain(|exhibit| !is_there(exhibit));
        }
    }
    let tables = std::iter::once(devices).chain(of_all);
    whole.summary = tables.map(Exhibit::Table).collect();
    whole.front.tables = ids_of(&whole.summary);
    let differing = parts.iter().filter(|part| has_differences(&part.caveats)).count();
    whole.ending = format!("{} runs, {} procedures. ", runs.len(), parts.len())
        + &match differing {
            0 => "All settings are the same.".to_owned(),
            n => format!("Settings differ in {n} procedures: see below."),
        };
    if let Some(left_out) = figures::left_out(&everything) {
        whole.ending.push(' ');
        whole.ending.push_str(&left_out);
    }
    whole.parts = parts;
    whole
}

/// Returns the IDs of the tables.
fn ids_of(exhibits: &[Exhibit]) -> Vec<String> {
    exhibits.iter().filter_map(Exhibit::as_table).map(|table| table.id.clone()).collect()
}

/// Maximum number of drawings in a comparison, which fill two pages.
const DRAWINGS: usize = 12;
/// Minimum number of drawings per procedure if there are several.
const DRAWINGS_LEAST: usize = 2;

/// Compares one procedure.
fn comparison(title: &str, sides: &[ComparedRun<'_>], (of_many, room): (bool, usize)) -> Findings {
    let mut findings = frame(title, sides);
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
    let plots::Overlays { drawn, left_out } = plots::overlaid(sides, room);
    if !drawn.is_empty() {
        let count = drawn.len();
        let mut exhibits: Vec<Exhibit> = drawn.into_iter().map(Exhibit::Plot).collect();
        exhibits.extend(not_drawn(count, &left_out).map(Exhibit::Text));
        findings.chapters.push(Page::new("Curves over one another", exhibits).with_id("curves"));
    }
    findings.long_tables = long_tables(sides);
    findings.chapters.push(listed(&findings.long_tables));
    findings
}

/// Name of the test in the header of a comparison, by which one is recognized.
pub const COMPARISON: &str = "Comparison";

/// Maximum number of omitted curves that are named.
const LEFT_OUT_NAMED: usize = 6;

/// Returns a sentence that names the curves that did not fit; `None` if all did.
fn not_drawn(drawn: usize, left_out: &[String]) -> Option<String> {
    let named = left_out.iter().take(LEFT_OUT_NAMED).map(String::as_str).collect::<Vec<_>>();
    let more = match left_out.len().saturating_sub(LEFT_OUT_NAMED) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    let all = drawn + left_out.len();
    (!left_out.is_empty()).then(|| {
        format!("{drawn} of {all} curves are drawn. Left out: {}{more}.", named.join("; "))
    })
}

/// Maximum number of lines of a printed table.
const PRINTED_ROWS: usize = 60;

/// Compares the runs' own summary tables: used for runs without numbers in long form.
fn own_summaries(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let of = |side: &ComparedRun<'_>| side.findings.map(|f| f.summary.clone()).unwrap_or_default();
    let all: Vec<Vec<Exhibit>> = sides.iter().map(of).collect();
    let tables = tables::compared(sides, &all, &mut tables::PrintedTables::default());
    tables.into_iter().filter(|table| table.rows.len() <= PRINTED_ROWS).collect()
}

/// Compares every value of every table, and every setting. The tables are too long to print.
fn long_tables(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let mut printed = tables::PrintedTables::default();
    let all: Vec<Vec<Exhibit>> = sides.iter().map(exhibits).collect();
    let mut tables = settings::tables(sides);
    tables.extend(tables::compared(sides, &all, &mut printed));
    tables.extend(metrics::table(sides));
    tables
}

/// Returns all exhibits of a run.
fn exhibits(side: &ComparedRun<'_>) -> Vec<Exhibit> {
    side.findings.map(|findings| findings.exhibits().cloned().collect()).unwrap_or_default()
}

/// Returns a page that says where the values are that are not printed.
fn listed(tables: &[Table]) -> Page {
    let names: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
    let text = format!(
        "Every value of every run stands side by side in CSV files, which are written into a \
         directory with the report (compare -o DIR): {}.",
        names.join(", ")
    );
    Page::new("All values", vec![Exhibit::Text(text)]).with_id("all-values")
}

/// Returns the findings of a comparison without its exhibits.
fn frame(title: &str, sides: &[ComparedRun<'_>]) -> Findings {
    let all: Vec<&Findings> = sides.iter().filter_map(|side| side.findings).collect();
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let began = all.iter().map(|f| f.run_unix_ms.0).min().unwrap_or(0);
    let ended = all.iter().map(|f| f.run_unix_ms.1).max().unwrap_or(0);
    let digests: Vec<&str> =
        all.iter().map(|f| f.digest.get(..16).unwrap_or(f.digest.as_str())).collect();
    let same = |of: &dyn Fn(&Findings) -> String, otherwise: &str| match all.split_first() {
        Some((first, rest)) if rest.iter().all(|f| of(f) == of(first)) => of(first),
        _ => otherwise.to_owned(),
    };
    let header = FormHeader {
        issuer: same(&|f| f.header.issuer.clone(), "several"),
        specification: same(&|f| f.header.specification.clone(), "several"),
        lesser: lesser(sides),
        test: COMPARISON.into(),
        subtitle: title.to_owned(),
        revision: same(&|f| f.header.revision.clone(), "several"),
        vendor: None,
        model: Some(names.join("; ")),
        sponsor: None,
        blocks: Vec::new(),
    };
    // A comparison is only as good as its worst run, and has no verdict of its own.
    let worst = all.iter().map(|f| f.whole_end()).max();
    let end = worst.filter(|end| *end > EndState::Steady).unwrap_or(EndState::Complete);
    Findings {
        end,
        method: same(&|f| f.method.clone(), "The runs differ in their method."),
        headline: same(&|f| f.headline.clone(), ""),
        simulated: all.iter().any(|f| parts::simulated(f)),
        run_unix_ms: (began, ended),
        activity: all.first().map(|f| f.activity).unwrap_or_default(),
        digest: digests.join(" "),
        software: same(&|f| f.software.clone(), "several versions of the program"),
        ..Findings::new(title, header)
    }
}

/// Returns the notice for every page about runs of a lesser profile, with the letters of these
/// runs unless it applies to all.
fn lesser(sides: &[ComparedRun<'_>]) -> Option<String> {
    let mut found: Vec<(Option<&str>, String)> = Vec::new();
    for (side, findings) in sides.iter().filter_map(|side| Some((side, side.findings?))) {
        let said = findings.header.lesser.as_deref();
        match found.iter_mut().find(|(other, _)| *other == said) {
            Some((_, letters)) => *letters = format!("{letters}, {}", side.letter),
            None => found.push((said, side.letter.to_string())),
        }
    }
    let alone = found.len() == 1;
    let pieces = found.into_iter().filter_map(|(said, letters)| {
        said.map(|said| if alone { said.to_owned() } else { format!("{letters}: {said}") })
    });
    let pieces: Vec<String> = pieces.collect();
    (!pieces.is_empty()).then(|| pieces.join("; "))
}

fn ending(sides: &[ComparedRun<'_>], differences: &[settings::SettingDifference]) -> String {
    let count = sides.iter().filter(|side| side.findings.is_some()).count();
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
    format!("{count} runs side by side; percentages relate to A. {settings} {left_out}")
        .trim_end()
        .to_owned()
}

/// Returns the table of each run's ending.
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
const NOT_STATED: usize = 3;

/// Returns the settings that some runs do not state, grouped by these runs; only if there are
/// many.
fn not_stated(
    sides: &[ComparedRun<'_>],
    differences: &[settings::SettingDifference],
) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for difference in differences {
        let letters = difference.not_stated_by(sides);
        match found.iter_mut().find(|(other, _)| *other == letters) {
            Some((_, labels)) => labels.push(difference.label.clone()),
            None => found.push((letters, vec![difference.label.clone()])),
        }
    }
    found.retain(|(letters, labels)| !letters.is_empty() && labels.len() > NOT_STATED);
    found
}

fn caveats(
    title: &str,
    sides: &[ComparedRun<'_>],
    differences: &[settings::SettingDifference],
) -> Vec<Caveat> {
    let together = not_stated(sides, differences);
    let is_alone = |difference: &&settings::SettingDifference| {
        let letters = difference.not_stated_by(sides);
        !together.iter().any(|(other, _)| *other == letters)
    };
    let mut caveats: Vec<Caveat> = differences
        .iter()
        .filter(is_alone)
        .map(|difference| {
            let kind = if difference.severe { CaveatKind::Invalidates } else { CaveatKind::Remark };
            let id = if difference.severe { ids::SETTING_DIFFERS } else { ids::PLATFORM_DIFFERS };
            let text = format!(
                "The runs differ in {}: {}.",
                difference.label,
                difference.values_by_run(sides)
            );
            let remedy = "Compare runs with the same settings.";
            Caveat::new(kind, id, text, if difference.severe { remedy } else { "" })
        })
        .collect();
    caveats.extend(together.iter().map(|(letters, labels)| {
        let text = format!(
            "{letters} does not state: {}. Whether the runs differ in them is not known.",
            labels.join(", ")
        );
        let remedy = "Compare runs whose settings are known to be the same.";
        Caveat::invalidates(ids::SETTING_DIFFERS, text, remedy)
    }));
    let without: Vec<String> =
        sides.iter().filter(|s| s.findings.is_none()).map(|s| s.letter.to_string()).collect();
    if !without.is_empty() {
        let text = format!("{} has no {title}: its values are missing.", without.join(", "));
        caveats.push(Caveat::deviation(ids::PROCEDURE_MISSING, text, ""));
    }
    caveats.extend(unsteady(sides));
    caveats.extend(inherited(sides));
    caveats
}

/// Returns a caveat that lists runs without steady state that have no such caveat themselves.
fn unsteady(sides: &[ComparedRun<'_>]) -> Option<Caveat> {
    let says_so = |f: &Findings| f.caveats.iter().any(|c| ids::NOT_STEADY.contains(&c.id.as_str()));
    let letters: Vec<String> = sides
        .iter()
        .filter(|side| {
            side.findings.is_some_and(|f| f.whole_end().steady() == Some(false) && !says_so(f))
        })
        .map(|side| side.letter.to_string())
        .collect();
    let text = format!("{}: steady state was not achieved.", letters.join(", "));
    (!letters.is_empty()).then(|| Caveat::invalidates(ids::STEADY_STATE_NOT_ACHIEVED, text, ""))
}

/// Returns the runs' own caveats without duplicates, with the letters of their runs.
fn inherited(sides: &[ComparedRun<'_>]) -> Vec<Caveat> {
    let mut found: Vec<(&Caveat, String)> = Vec::new();
    for side in sides {
        for caveat in side.findings.into_iter().flat_map(|f| &f.caveats) {
            match found.iter_mut().find(|(other, _)| *other == caveat) {
                Some((_, letters)) if letters.ends_with(side.letter) => {}
                Some((_, letters)) => *letters = format!("{letters}, {}", side.letter),
                None => found.push((caveat, side.letter.to_string())),
            }
        }
    }
    let everyone: Vec<String> =
        sides.iter().filter(|s| s.findings.is_some()).map(|s| s.letter.to_string()).collect();
    let everyone = everyone.join(", ");
    let with_letters = |(caveat, letters): (&Caveat, String)| {
        let of = if letters == everyone { "All runs" } else { &letters };
        Caveat { text: format!("{of}: {}", caveat.text), ..caveat.clone() }
    };
    found.into_iter().map(with_letters).collect()
}
