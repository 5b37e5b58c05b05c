//! Findings of version 1, read as those of today.
//!
//! In version 1 a labeled value was a pair of texts, columns were texts, and nothing had a
//! name beside what prints. Whoever compared runs went by the words. This module is the
//! only place that still knows those words: it gives each value its id, its role and, where
//! the text told it, its origin. An origin that no text told counts as the profile's.

use crate::caveats;
use crate::findings::{
    Axis, Caveat, Cell, EndState, Exhibit, Facts, Findings, FormBlock, FormHeader, Marker, Origin,
    Page, Plot, PlotKind, Role, Row, Series, Setting, Stroke, Subject, Table,
};
use crate::steady_state::Verdict;
use serde::Deserialize;

/// A label and its value.
type Pair = (String, Option<String>);

/// What was called otherwise in version 1, in methods and in values.
const REWORDED: [(&str, &str); 3] = [
    ("a short look, not a method", "a quick check, not a method"),
    (
        "Capture and analysis after RWSW PTS 1.0.7 as the SNIA tutorial describes it, as in \
         docs/trace.md",
        "Capture and analysis of RWSW PTS 1.0.7 as described in the SNIA tutorial and in \
         docs/trace.md",
    ),
    ("no use in this run", "not used in this run"),
];

/// What was said after a value about its origin.
const ORIGINS: [(&str, Origin); 4] = [
    (" (chosen)", Origin::Chosen),
    (" (by profile and class)", Origin::Profile),
    (" (by profile quick)", Origin::Profile),
    (" (default)", Origin::Default),
];

/// Labels of the form's head that open a group: what follows belongs to them.
const GROUPS: [(&str, &str); 7] = [
    ("Pre Condition 1", "wipc"),
    ("Pre Condition 2", "wdpc"),
    ("Inter-Round Pre W", "between-rounds"),
    ("Test Stimulus 1", "stimulus-1"),
    ("Test Stimulus 2", "stimulus-2"),
    ("Test Stimulus 3", "stimulus-3"),
    ("Write Stimulus", "stimulus-1"),
];

/// Labels that stand in several groups: group, label, id.
const IN_GROUPS: [(&str, &str, &str); 11] = [
    ("Pre Condition 1", "TOIO - TC/QD", "wipc-demand"),
    ("Pre Condition 1", "Duration", "wipc-amount"),
    ("Inter-Round Pre W", "Duration", "parameter-pre-write"),
    ("Test Stimulus 1", "AR", "range-loop"),
    ("Test Stimulus 1", "Amount", "amount-loop"),
    ("Test Stimulus 1", "TC/QD, Duration", "demand-and-time-1"),
    ("Test Stimulus 2", "TC/QD, Duration", "demand-and-time-2"),
    ("Test Stimulus 3", "TC/QD, Duration", "demand-and-time-3"),
    ("Test Stimulus 2", "TOIO - TC/QD", "demand-2"),
    ("Test Stimulus 2", "Duration", "parameter-histogram-time"),
    ("Write Stimulus", "Duration", "parameter-access-time"),
];

/// Every other label on which numbers depend, and its id. One that is not here is its own.
const SETTINGS: [(&str, &str); 33] = [
    ("AR", "active-range"),
    ("AR Segments", "active-range-segments"),
    ("Accesses of each", "parameter-accesses"),
    ("Active range", "active-range"),
    ("Alignment of offsets", "alignment"),
    ("Block Sizes", "block-sizes"),
    ("Capture Step", "capture-step"),
    ("Capture Tool", "capture-tool"),
    ("Data Pattern", "data-pattern"),
    ("Data pattern", "data-pattern"),
    ("Demand", "demand"),
    ("Durations (s)", "parameter-idle-times"),
    ("End of rounds", "end-of-rounds"),
    ("Idle State", "idle-state"),
    ("Kept", "kept"),
    ("Layer", "layer"),
    ("Only", "filter"),
    ("Only Process", "process"),
    ("Procedure", "procedure"),
    ("R/W %", "mixes"),
    ("RW Mix", "mixes"),
    ("Rounds, at most", "rounds-max"),
    ("Sequential", "sequential"),
    ("Simulated gap", "sim-gap"),
    ("Source", "source"),
    ("Steady state", "criteria"),
    ("Step", "step-time"),
    ("Step time", "step-time"),
    ("TC & QD Loops", "loop-order"),
    ("TC/QD", "parameter-loops"),
    ("TOIO - TC/QD", "demand"),
    ("Threshold", "threshold"),
    ("Verification of data", "verify"),
];

/// Labels that say which method was followed.
const METHODS: [(&str, &str); 8] = [
    ("Class", "class"),
    ("Cycle", "cycle"),
    ("Measured", "cycle-measured"),
    ("Profile", "profile"),
    ("Purge and preconditioning", "set-up"),
    ("Request merging, asked for", "merging-asked"),
    ("Tracking variables", "tracked"),
    ("Write cache, asked for", "write-cache-asked"),
];

/// Settings among the facts of the device.
const OF_THE_DEVICE: [(&str, &str); 2] =
    [("Purge Method", "purge"), ("Write Cache", "write-cache")];

/// What came out, and what follows from the device or from another label.
const OUTCOMES: [&str; 14] = [
    "AR & Amount",
    "Baseline after each",
    "I/Os",
    "Lost Events",
    "MaxIOPS Point",
    "MidIOPS Point",
    "MinIOPS Point",
    "SS Rounds",
    "Steady State",
    "Test ID No.",
    "WIPC",
    "Wait States",
    "and",
    "none",
];

/// What tells a run from another without being a setting.
const IDENTITIES: [&str; 4] = ["Command line", "Note", "Record version", "Run seed"];

/// Findings as version 1 stored them.
#[derive(Debug, Deserialize)]
pub struct Findings1 {
    title: String,
    method: String,
    headline: String,
    simulated: bool,
    run_unix_ms: (u64, u64),
    digest: String,
    software: String,
    ending: String,
    header: Header1,
    verdict: Option<Verdict>,
    caveats: Vec<Caveat>,
    summary: Vec<Exhibit1>,
    form_pages: Vec<Page1>,
    chapters: Vec<Page1>,
    long_tables: Vec<Table1>,
    #[serde(default)]
    parts: Vec<Findings1>,
}

#[derive(Debug, Deserialize)]
struct Header1 {
    #[serde(default = "sss_twg")]
    issuer: String,
    #[serde(default = "sss_pts")]
    specification: String,
    lesser: Option<String>,
    test: String,
    subtitle: String,
    revision: String,
    vendor: Option<String>,
    model: Option<String>,
    sponsor: Option<String>,
    blocks: Vec<Block1>,
}

/// The first files had one form only, and did not say whose.
fn sss_twg() -> String {
    "SNIA SSS TWG".to_owned()
}

fn sss_pts() -> String {
    "Solid State Storage Performance Test Spec (PTS)".to_owned()
}

#[derive(Debug, Deserialize)]
struct Block1 {
    title: String,
    rows: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
struct Page1 {
    title: String,
    exhibits: Vec<Exhibit1>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Exhibit1 {
    Table(Table1),
    Plot(Plot1),
    Facts(Block1),
    Text(String),
    Listing(String),
}

#[derive(Debug, Deserialize)]
struct Table1 {
    id: String,
    title: String,
    corner: String,
    spanner: Option<String>,
    columns: Vec<String>,
    rows: Vec<Row1>,
}

#[derive(Debug, Deserialize)]
struct Row1 {
    head: String,
    cells: Vec<Cell>,
    #[serde(default)]
    strong: bool,
}

#[derive(Debug, Deserialize)]
struct Plot1 {
    id: String,
    title: String,
    caption: String,
    kind: PlotKind,
    x: Axis,
    y: Axis,
    y_right: Option<Axis>,
    series: Vec<Series1>,
    #[serde(default)]
    markers: Vec<Marker>,
}

#[derive(Debug, Deserialize)]
struct Series1 {
    name: String,
    stroke: Stroke,
    points: Vec<(f64, Option<f64>)>,
    #[serde(default)]
    right: bool,
}

impl From<Findings1> for Findings {
    fn from(old: Findings1) -> Self {
        let ended = !old.caveats.iter().any(|caveat| caveat.id == caveats::UNFINISHED);
        let end = EndState::of(ended, old.verdict.as_ref());
        Findings {
            method: reworded(old.method),
            headline: old.headline,
            simulated: old.simulated,
            run_unix_ms: old.run_unix_ms,
            digest: old.digest,
            software: old.software,
            end,
            ending: old.ending,
            verdict: old.verdict,
            caveats: old.caveats,
            summary: all(old.summary, exhibit),
            form_pages: all(old.form_pages, page),
            chapters: all(old.chapters, page),
            long_tables: all(old.long_tables, table),
            parts: all(old.parts, Findings::from),
            ..Findings::new(&old.title, header(old.header))
        }
    }
}

fn all<A, B>(old: Vec<A>, lift: impl Fn(A) -> B) -> Vec<B> {
    old.into_iter().map(lift).collect()
}

fn reworded(text: String) -> String {
    let text = REWORDED.iter().fold(text, |text, (old, new)| text.replace(old, new));
    let mut pieces = text.split(", of these ");
    let first = pieces.next().unwrap_or_default().to_owned();
    // Of an active range in segments.
    pieces.fold(first, |text, piece| match piece.split_once(" in ") {
        Some((amount, segments)) => format!("{text}, with {amount} of it in {segments}"),
        None => format!("{text}, of these {piece}"),
    })
}

fn header(old: Header1) -> FormHeader {
    let abouts = [Subject::Platform, Subject::Device].into_iter();
    let abouts = abouts.chain(std::iter::repeat(Subject::Procedure));
    FormHeader {
        issuer: old.issuer,
        specification: old.specification,
        lesser: old.lesser.map(reworded),
        test: old.test,
        subtitle: old.subtitle,
        revision: old.revision,
        vendor: old.vendor,
        model: old.model,
        sponsor: old.sponsor,
        blocks: abouts.zip(old.blocks).map(block).collect(),
    }
}

fn block((about, old): (Subject, Block1)) -> FormBlock {
    let rows = match about {
        Subject::Procedure => of_procedure(old.rows),
        Subject::Platform | Subject::Device => all(old.rows, of_device),
    };
    FormBlock { title: old.title, about, rows }
}

/// A value about the device or the machine.
fn of_device((label, value): Pair) -> Setting {
    match id_of(&OF_THE_DEVICE, &label) {
        Some(id) => Setting::new(id, &label, value, Origin::Profile),
        None if OUTCOMES.contains(&label.as_str()) => Setting::outcome(&label, value),
        None => Setting::identity(&label, value),
    }
}

/// The values of a block about what was done: some belong to the group that an earlier
/// label opened.
fn of_procedure(rows: Vec<Pair>) -> Vec<Setting> {
    let mut group = String::new();
    let lift = |(label, value): Pair| {
        if let Some(id) = id_of(&GROUPS, &label) {
            group.clone_from(&label);
            return setting(id, &label, value);
        }
        let mut in_group = IN_GROUPS.iter().filter(|(of, name, _)| *of == group && *name == label);
        match in_group.next() {
            Some((_, _, id)) => setting(id, &label, value),
            // A preconditioning by time has no demand.
            None if group == "Pre Condition 2" && value.is_none() && label == "TOIO - TC/QD" => {
                setting("wdpc-demand", &label, value)
            }
            None => chosen((label, value)),
        }
    };
    rows.into_iter().map(lift).collect()
}

/// A value of a list of settings, by its label alone.
fn chosen((label, value): Pair) -> Setting {
    // The keys of what the user told about a device are in small letters.
    let told = label.starts_with(char::is_lowercase);
    if OUTCOMES.contains(&label.as_str()) {
        Setting::outcome(&label, value)
    } else if told || IDENTITIES.contains(&label.as_str()) {
        Setting::identity(&label, value)
    } else if let Some(id) = id_of(&METHODS, &label) {
        method(id, &label, value)
    } else {
        let part = label.strip_prefix("Procedure ").map(|number| format!("procedure-{number}"));
        let id = part.as_deref().or(id_of(&SETTINGS, &label)).unwrap_or(&label);
        setting(id, &label, value)
    }
}

/// A setting; an origin that was said after its value is none of it.
fn setting(id: &str, label: &str, value: Option<String>) -> Setting {
    let value = value.map(reworded);
    let said = value.as_deref().and_then(|text| {
        let at = |(words, origin): &(&str, Origin)| text.find(words).map(|at| (at, *origin));
        ORIGINS.iter().filter_map(at).min_by_key(|(at, _)| *at)
    });
    match (value, said) {
        (Some(text), Some((at, origin))) => {
            let (value, remark) = text.split_at(at);
            Setting::new(id, label, value, origin).remark(remark)
        }
        (value, _) => Setting::new(id, label, value, Origin::Profile),
    }
}

/// A part of the method; what is said of a profile stands in brackets.
fn method(id: &str, label: &str, value: Option<String>) -> Setting {
    let text = value.unwrap_or_default();
    let at = if id == "profile" { text.find(" (") } else { None };
    let (value, remark) = text.split_at(at.unwrap_or(text.len()));
    Setting::method(id, label, value, Origin::Profile).remark(reworded(remark.to_owned()))
}

fn id_of<'a>(known: &[(&str, &'a str)], label: &str) -> Option<&'a str> {
    known.iter().find(|(name, _)| *name == label).map(|(_, id)| *id)
}

fn facts(old: Block1) -> Facts {
    let facts = Facts::new(&old.title);
    match old.title.as_str() {
        "Every setting" => facts.rows(all(old.rows, chosen)),
        "Parameters" => facts.noun("Parameter").rows(all(old.rows, parameter)),
        "Performance system" | "Tested device" => facts.rows(all(old.rows, of_device)),
        _ => facts.rows(all(old.rows, found)),
    }
}

/// A parameter of the procedure's own; `none` says that there is none.
fn parameter((label, value): Pair) -> Setting {
    match label.as_str() {
        "none" => Setting::outcome(&label, value),
        _ => setting(&format!("parameter-{label}"), &label, value),
    }
}

/// A value among others that came out.
fn found((label, value): Pair) -> Setting {
    match id_of(&METHODS, &label) {
        Some(id) => method(id, &label, value),
        None => Setting { role: Role::Outcome, ..Setting::identity(&label, value) },
    }
}

fn page(old: Page1) -> Page {
    Page::new(old.title, all(old.exhibits, exhibit))
}

fn exhibit(old: Exhibit1) -> Exhibit {
    match old {
        Exhibit1::Table(old) => Exhibit::Table(table(old)),
        Exhibit1::Plot(old) => Exhibit::Plot(plot(old)),
        Exhibit1::Facts(old) => Exhibit::Facts(facts(old)),
        Exhibit1::Text(text) => Exhibit::Text(text),
        Exhibit1::Listing(text) => Exhibit::Listing(text),
    }
}

fn table(old: Table1) -> Table {
    let block = block_length(&old.columns);
    let columns = old.columns.iter().map(|name| name.replace("Normalised", "Normalized"));
    let mut above = String::new();
    let rows = old.rows.into_iter().map(|row| {
        // The streams that a workload keeps were counted in their row's head.
        let id = match old.id.as_str() {
            "cumulative-workload" | "summary-workload" if row.strong => "selected".to_owned(),
            _ if row.head.is_empty() => above.clone(),
            _ => row.head.clone(),
        };
        above.clone_from(&id);
        Row::new(row.head, row.cells).named(id).strong(row.strong)
    });
    let table = Table::new(&old.id, old.title, &old.corner).columns(columns).rows(rows);
    Table { spanner: old.spanner, block, ..table }
}

/// How many columns a block has, where the columns are several alike side by side.
fn block_length(columns: &[String]) -> Option<usize> {
    let length = columns.iter().skip(1).position(|name| *name == columns[0])? + 1;
    let alike = columns.chunks(length).all(|block| *block == columns[..length]);
    alike.then_some(length)
}

fn plot(old: Plot1) -> Plot {
    let line = |line: Series1| Series {
        right: line.right,
        ..Series::new(line.name, line.stroke, line.points)
    };
    Plot {
        caption: old.caption,
        y_right: old.y_right,
        series: all(old.series, line),
        markers: old.markers,
        ..Plot::new(old.kind, &old.id, old.title, old.x, old.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::CaveatKind;
    use std::fmt::Write;

    /// A suite on a simulated drive, as version 1 wrote it, shortened.
    fn suite() -> Findings {
        let text = include_str!("old_findings/suite.json");
        Findings::from(serde_json::from_str::<Findings1>(text).unwrap())
    }

    fn facts_of(findings: &Findings) -> impl Iterator<Item = &Facts> {
        findings.chapters.iter().flat_map(|page| &page.exhibits).filter_map(|one| match one {
            Exhibit::Facts(facts) => Some(facts),
            _ => None,
        })
    }

    /// Ends and settings, line by line.
    fn settings(findings: &Findings, lines: &mut String) {
        writeln!(lines, "{}: {}", findings.id, named(&findings.end)).unwrap();
        let of_facts = facts_of(findings)
            .filter(|facts| ["Every setting", "Parameters"].contains(&facts.title.as_str()));
        let rows = findings.header.blocks.iter().flat_map(|block| &block.rows);
        for row in rows.chain(of_facts.flat_map(|facts| &facts.rows)) {
            if matches!(row.role, Role::Setting | Role::Method) {
                let value = row.value.as_deref().unwrap_or_default();
                let line = format!("{} ({}): {value}", row.id, named(&row.role));
                writeln!(lines, "{}", line.trim_end()).unwrap();
            }
        }
        findings.parts.iter().for_each(|part| settings(part, lines));
    }

    fn named(of: &impl serde::Serialize) -> String {
        serde_json::to_value(of).unwrap().as_str().unwrap().to_owned()
    }

    /// The other file holds what version 2 makes of the same record.
    #[test]
    fn every_setting_and_end_is_as_version_2_has_it() {
        let mut lines = String::new();
        settings(&suite(), &mut lines);
        assert_eq!(lines, include_str!("old_findings/settings.txt"));
    }

    #[test]
    fn blocks_origins_and_rows_without_a_head_are_found() {
        let suite = suite();
        let iops = &suite.parts[0];
        assert_eq!(iops.header.rows_about(Subject::Device)[1].id, "Model No.");
        let every = facts_of(iops).find(|facts| facts.title == "Every setting").unwrap();
        let demand = every.rows.iter().find(|row| row.id == "demand").unwrap();
        assert_eq!((demand.origin, demand.value.as_deref()), (Origin::Profile, Some("T4Q32")));
        assert_eq!(demand.text().as_deref(), Some("T4Q32 (by profile and class)"));
        let tables = iops.chapters.iter().flat_map(|page| &page.exhibits);
        let mut secondary = tables.filter_map(|one| match one {
            Exhibit::Table(table) if table.id == "secondary" => Some(table),
            _ => None,
        });
        let secondary = secondary.next_back().unwrap();
        let ids: Vec<&str> = secondary.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!((secondary.block, ids), (Some(4), vec!["IOPS", "IOPS", "ART ms", "ART ms"]));
    }

    #[test]
    fn what_came_to_no_end_is_unfinished() {
        let text = include_str!("old_findings/suite.json");
        let mut old: Findings1 = serde_json::from_str(text).unwrap();
        let caveat = |id| Caveat::new(CaveatKind::Invalidates, id, "It ended.", "");
        old.caveats.push(caveat(caveats::UNFINISHED));
        assert_eq!(Findings::from(old).end, EndState::Unfinished);
    }
}
