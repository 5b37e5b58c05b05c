//! What the runs were made on and with, and where that differs.

use super::Side;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Exhibit, Facts, FormBlock, Page, Row, Table};

/// Positions of the blocks in the form's head.
const PLATFORM: usize = 0;
const DEVICE: usize = 1;

/// Labels that tell a run from another without being a setting: what came out,
/// and what follows from the device's capacity or from another label.
const NOT_SETTINGS: [&str; 14] = [
    "Test ID No.",
    "SS Rounds",
    "Steady State",
    "Note",
    "AR & Amount",
    "Command line",
    "Run seed",
    "Record version",
    "Demand",
    "Step time",
    "Active range",
    "WIPC",
    "Profile",
    "Class",
];
/// Settings that stand among the facts of the device.
const DEVICE_SETTINGS: [&str; 2] = ["Purge Method", "Write Cache"];
/// Said after a setting that can be chosen.
const ORIGINS: [&str; 2] = [" (chosen)", " (by profile and class)"];
/// Said after the value of a procedure's own parameter, before its meaning.
const PARAMETER_ORIGINS: [&str; 3] = [" (chosen)", " (default)", " (by profile quick)"];

/// A label whose values are not the same in all runs.
pub(super) struct Difference {
    pub label: String,
    /// One for each side.
    pub values: Vec<Option<String>>,
    /// The numbers depend on it.
    pub severe: bool,
}

impl Difference {
    /// `A, C: TC 4 / QD 32; B: TC 2 / QD 16`.
    pub fn told(&self, sides: &[Side<'_>]) -> String {
        let mut told: Vec<(&Option<String>, String)> = Vec::new();
        for (side, value) in sides.iter().zip(&self.values).filter(|(s, _)| s.findings.is_some()) {
            match told.iter_mut().find(|(other, _)| *other == value) {
                Some((_, letters)) => *letters = format!("{letters}, {}", side.letter),
                None => told.push((value, side.letter.to_string())),
            }
        }
        let unknown = "unknown".to_owned();
        let pieces: Vec<String> = told
            .into_iter()
            .map(|(value, letters)| format!("{letters}: {}", value.as_ref().unwrap_or(&unknown)))
            .collect();
        pieces.join("; ")
    }
}

/// One run's labels, in order; the second of the same name has a number.
type Labels = Vec<(String, Option<String>)>;

fn numbered<'a>(rows: impl Iterator<Item = &'a (String, Option<String>)>) -> Labels {
    let mut out: Labels = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (label, value) in rows {
        let same = seen.iter().filter(|other| **other == label.as_str()).count();
        seen.push(label);
        let number = if same > 0 { format!(" ({})", same + 1) } else { String::new() };
        out.push((format!("{label}{number}"), value.clone()));
    }
    out
}

fn block(findings: &Findings, position: usize) -> Option<&FormBlock> {
    findings.header.blocks.get(position)
}

/// A label without its number and its block.
fn plain(label: &str) -> &str {
    label.split(" (").next().unwrap_or(label)
}

fn is_setting(label: &str) -> bool {
    let plain = plain(label);
    // Keys of what the user told about a device are in small letters.
    let told = plain.starts_with(|c: char| c.is_lowercase());
    !told && !NOT_SETTINGS.contains(&plain)
}

/// Every setting of a run on which its numbers depend.
fn settings(findings: &Findings) -> Labels {
    let mut labels = vec![("Method".to_owned(), Some(findings.method.clone()))];
    let of_device = block(findings, DEVICE).map(|b| b.rows.as_slice()).unwrap_or_default();
    labels.extend(
        of_device.iter().filter(|(label, _)| DEVICE_SETTINGS.contains(&label.as_str())).cloned(),
    );
    let blocks = findings.header.blocks.iter().skip(DEVICE + 1);
    for block in blocks {
        let rows = numbered(block.rows.iter()).into_iter().filter(|(label, _)| is_setting(label));
        labels.extend(rows.map(|(label, value)| (format!("{label} ({})", block.title), value)));
    }
    let from_facts = setting_facts(findings).flat_map(|facts| &facts.rows);
    labels.extend(from_facts.filter(|(label, _)| is_setting(label)).map(|(label, value)| {
        let plain = value.as_deref().map(|value| {
            ORIGINS.iter().fold(value, |value, origin| value.strip_suffix(origin).unwrap_or(value))
        });
        (label.clone(), plain.map(str::to_owned))
    }));
    labels.extend(parameters(findings));
    labels
}

/// The values of a procedure's own parameters.
fn parameters(findings: &Findings) -> impl Iterator<Item = (String, Option<String>)> {
    let rows = facts(findings).filter(|facts| facts.title == "Parameters").flat_map(|f| &f.rows);
    rows.filter_map(|(label, value)| {
        let value = value.as_deref()?;
        let end = PARAMETER_ORIGINS.iter().filter_map(|origin| value.find(origin)).min()?;
        Some((format!("Parameter {label}"), Some(value[..end].to_owned())))
    })
}

fn facts(findings: &Findings) -> impl Iterator<Item = &Facts> {
    let exhibits = findings.chapters.iter().flat_map(|page| &page.exhibits);
    exhibits.filter_map(|exhibit| match exhibit {
        Exhibit::Facts(facts) => Some(facts),
        _ => None,
    })
}

/// Labelled values that a procedure calls settings.
fn setting_facts(findings: &Findings) -> impl Iterator<Item = &Facts> {
    facts(findings).filter(|facts| facts.title.to_lowercase().contains("setting"))
}

fn platform(findings: &Findings) -> Labels {
    let rows = block(findings, PLATFORM).map(|b| b.rows.as_slice()).unwrap_or_default();
    rows.iter().filter(|(label, _)| is_setting(label)).cloned().collect()
}

/// Every label of any run in order, with each side's value.
fn side_by_side(sides: &[Side<'_>], of: impl Fn(&Findings) -> Labels) -> Vec<Difference> {
    let labels: Vec<Labels> =
        sides.iter().map(|side| side.findings.map(&of).unwrap_or_default()).collect();
    let mut names: Vec<&String> = Vec::new();
    for (label, _) in labels.iter().flatten() {
        if !names.contains(&label) {
            names.push(label);
        }
    }
    let value = |labels: &Labels, name: &String| {
        labels.iter().find(|(label, _)| label == name).and_then(|(_, value)| value.clone())
    };
    names
        .into_iter()
        .map(|name| Difference {
            label: name.clone(),
            values: labels.iter().map(|labels| value(labels, name)).collect(),
            severe: false,
        })
        .collect()
}

/// Whether the runs that are there have different values.
fn differs(difference: &Difference, sides: &[Side<'_>]) -> bool {
    let mut there = sides.iter().zip(&difference.values).filter(|(s, _)| s.findings.is_some());
    let first = there.next().map(|(_, value)| value);
    there.any(|(_, value)| Some(value) != first)
}

/// The settings in which the runs differ, then what differs in their platforms.
pub(super) fn differences(sides: &[Side<'_>]) -> Vec<Difference> {
    let severe = side_by_side(sides, settings)
        .into_iter()
        .map(|difference| Difference { severe: true, ..difference });
    let mut all: Vec<Difference> = Vec::new();
    for difference in severe.filter(|d| differs(d, sides)) {
        // The form's head says some settings more than once.
        let same = |other: &Difference| {
            plain(&other.label) == plain(&difference.label) && other.values == difference.values
        };
        if !all.iter().any(same) {
            all.push(difference);
        }
    }
    if all.is_empty() {
        // The headline names some settings that stand nowhere else.
        let headline =
            |f: &Findings| vec![("the settings string".to_owned(), Some(f.headline.clone()))];
        all.extend(
            side_by_side(sides, headline).into_iter().map(|d| Difference { severe: true, ..d }),
        );
        all.retain(|d| differs(d, sides));
    }
    all.extend(side_by_side(sides, platform).into_iter().filter(|d| differs(d, sides)));
    all
}

fn table(sides: &[Side<'_>], id: &str, title: &str, corner: &str, rows: Vec<Row>) -> Table {
    Table {
        id: id.to_owned(),
        title: title.to_owned(),
        corner: corner.to_owned(),
        spanner: None,
        columns: sides.iter().map(|side| side.letter.to_string()).collect(),
        rows,
    }
}

fn text_row(difference: &Difference) -> Row {
    let cell = |value: &Option<String>| value.clone().map_or(Cell::Missing, Cell::Text);
    Row {
        head: difference.label.clone(),
        cells: difference.values.iter().map(cell).collect(),
        strong: difference.severe,
    }
}

/// The differences as a table; those that matter are set off.
pub(super) fn difference_table(sides: &[Side<'_>], differences: &[Difference]) -> Option<Table> {
    let rows: Vec<Row> = differences.iter().map(text_row).collect();
    let title = "What differs; set off: settings on which the numbers depend";
    (!rows.is_empty()).then(|| table(sides, "differences", title, "Setting", rows))
}

/// What each device is.
pub(super) fn devices(sides: &[Side<'_>]) -> Option<Table> {
    let of = |findings: &Findings| {
        let header = &findings.header;
        let known = |rows: &[(String, Option<String>)]| rows.to_vec();
        match block(findings, DEVICE) {
            Some(block) => known(&block.rows),
            None => known(&[
                ("Mfgr".to_owned(), header.vendor.clone()),
                ("Model No.".to_owned(), header.model.clone()),
            ]),
        }
    };
    let name = |side: &Side<'_>| {
        Cell::text(side.name.split_once(": ").map_or(side.name.as_str(), |(_, name)| name))
    };
    let mut rows =
        vec![Row { head: "Run".into(), cells: sides.iter().map(name).collect(), strong: false }];
    rows.extend(side_by_side(sides, of).iter().map(text_row));
    (rows.len() > 1).then(|| table(sides, "devices", "Devices under test", "", rows))
}

/// All settings and platforms in full.
pub(super) fn chapter(sides: &[Side<'_>]) -> Page {
    let rows = |differences: Vec<Difference>| -> Vec<Row> {
        let differing = |d: Difference| Difference { severe: differs(&d, sides), ..d };
        differences.into_iter().map(differing).map(|d| text_row(&d)).collect()
    };
    let all = [
        ("settings", "Settings; set off: those that differ", side_by_side(sides, settings)),
        ("platforms", "Test platforms; set off: what differs", side_by_side(sides, platform)),
    ];
    let tables = all
        .into_iter()
        .map(|(id, title, found)| table(sides, id, title, "", rows(found)))
        .filter(|table| !table.rows.is_empty());
    Page { title: "Settings and platforms".into(), exhibits: tables.map(Exhibit::Table).collect() }
}
