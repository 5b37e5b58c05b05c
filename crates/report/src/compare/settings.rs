//! Settings and platforms of the runs, and their differences. Values are matched by ID and by
//! their effect on the numbers ([`Role`]), whatever their printed labels.

use super::side::{ComparedRun, letters};
use crate::grouping::{comma_separated, keys_by_value, unique_by};
use steadfast_domain::caveats::ROUNDS_MAX;
use steadfast_domain::findings::{
    Cell, Exhibit, Facts, FormBlock, FormSubject, Role, Row, Setting, Table,
};
use steadfast_domain::{EndState, Findings};

/// A value that differs between runs.
pub(crate) struct SettingDifference {
    pub id: String,
    pub label: String,
    /// Value in each run.
    pub values: Vec<Option<String>>,
    /// True if the numbers depend on it.
    pub severe: bool,
}

impl SettingDifference {
    /// Returns the letters of the runs that do not state the value if all others agree; empty
    /// otherwise.
    pub fn not_stated_by(&self, sides: &[ComparedRun<'_>]) -> String {
        let (without, stated): (Vec<_>, Vec<_>) =
            self.by_run(sides).partition(|(_, value)| value.is_none());
        let agree = stated.windows(2).all(|pair| pair[0].1 == pair[1].1);
        comma_separated(without.iter().filter(|_| agree).map(|(letter, _)| letter))
    }

    /// Formats the values by run: `A, C: TC 4 / QD 32; B: TC 2 / QD 16`.
    pub fn values_by_run(&self, sides: &[ComparedRun<'_>]) -> String {
        let text = |(value, letters): (Option<&str>, Vec<char>)| {
            format!("{}: {}", comma_separated(letters), value.unwrap_or("unknown"))
        };
        keys_by_value(self.by_run(sides)).into_iter().map(text).collect::<Vec<_>>().join("; ")
    }

    /// Returns the values of the runs that have the procedure, with the letters of the runs.
    fn by_run<'a>(
        &'a self,
        sides: &'a [ComparedRun<'_>],
    ) -> impl Iterator<Item = (char, Option<&'a str>)> {
        let present = sides.iter().zip(&self.values).filter(|(side, _)| side.findings.is_some());
        present.map(|(side, value)| (side.letter, value.as_deref()))
    }
}

/// A value of one run with its ID and label.
struct NamedSetting {
    id: String,
    label: String,
    value: Option<String>,
}

impl NamedSetting {
    fn new(setting: &Setting, label: String) -> NamedSetting {
        NamedSetting { id: setting.id.clone(), label, value: setting.value.clone() }
    }
    fn plain(setting: &Setting) -> NamedSetting {
        NamedSetting::new(setting, setting.label.clone())
    }
}

/// Returns the settings of a block, labeled with the block's title. Repeated labels are numbered.
fn block_settings(block: &FormBlock) -> Vec<NamedSetting> {
    let mut seen: Vec<&str> = Vec::new();
    let mut named = Vec::new();
    for row in &block.rows {
        let same = seen.iter().filter(|other| **other == row.label).count();
        seen.push(&row.label);
        if row.role == Role::Setting {
            let number = if same > 0 { format!(" ({})", same + 1) } else { String::new() };
            named.push(NamedSetting::new(row, format!("{}{number} ({})", row.label, block.title)));
        }
    }
    named
}

/// Returns the settings among labeled values.
fn fact_settings(facts: &Facts) -> impl Iterator<Item = NamedSetting> {
    let settings = facts.rows.iter().filter(|row| row.role == Role::Setting);
    settings.map(|row| match &facts.noun {
        Some(noun) => NamedSetting::new(row, format!("{noun} {}", row.label)),
        None => NamedSetting::plain(row),
    })
}

/// Returns everything that the numbers of a run depend on, without duplicates: the method in one
/// line, then every setting.
fn settings(findings: &Findings) -> Vec<NamedSetting> {
    let method = NamedSetting {
        id: "method".into(),
        label: "Method".into(),
        value: Some(findings.method.clone()),
    };
    let header = &findings.header;
    let of_device = header.rows_of(FormSubject::Device).iter();
    let of_device = of_device.filter(|row| row.role == Role::Setting).map(NamedSetting::plain);
    let blocks = header.blocks.iter().filter(|block| block.subject == FormSubject::Procedure);
    let exhibits = findings.chapters.iter().flat_map(|page| &page.exhibits);
    let facts = exhibits.filter_map(Exhibit::as_facts);
    let of_form = std::iter::once(method).chain(of_device).chain(blocks.flat_map(block_settings));
    unique_by(of_form.chain(facts.flat_map(fact_settings)), |one, other| one.id == other.id)
}

/// Returns the facts that distinguish test platforms.
fn platform(findings: &Findings) -> Vec<NamedSetting> {
    let rows = findings.header.rows_of(FormSubject::Platform).iter();
    rows.filter(|row| row.role == Role::Identity).map(NamedSetting::plain).collect()
}

fn device(findings: &Findings) -> Vec<NamedSetting> {
    let (header, front) = (&findings.header, &findings.front);
    let mut all: Vec<NamedSetting> =
        front.device.iter().chain(&front.conditions).map(NamedSetting::plain).collect();
    if all.is_empty() {
        all.extend(header.rows_of(FormSubject::Device).iter().map(NamedSetting::plain));
    }
    if all.is_empty() {
        let known = [("Mfgr", &header.vendor), ("Model No.", &header.model)];
        all.extend(
            known.map(|(label, value)| NamedSetting::plain(&Setting::identity(label, value))),
        );
    }
    all
}

/// Returns every value of any run in order, with its value in each run. The label is that of the
/// first run that has it.
fn side_by_side(
    sides: &[ComparedRun<'_>],
    of: impl Fn(&Findings) -> Vec<NamedSetting>,
    severe: bool,
) -> Vec<SettingDifference> {
    let named: Vec<Vec<NamedSetting>> =
        sides.iter().map(|side| side.findings.map(&of).unwrap_or_default()).collect();
    let firsts = unique_by(named.iter().flatten(), |one, other| one.id == other.id);
    let value = |of_run: &Vec<NamedSetting>, first: &NamedSetting| {
        of_run.iter().find(|one| one.id == first.id).and_then(|one| one.value.clone())
    };
    firsts
        .into_iter()
        .map(|first| SettingDifference {
            id: first.id.clone(),
            label: first.label.clone(),
            values: named.iter().map(|of_run| value(of_run, first)).collect(),
            severe,
        })
        .collect()
}

/// Returns true if the runs with this procedure have different values.
fn differs(difference: &SettingDifference, sides: &[ComparedRun<'_>]) -> bool {
    let mut values = difference.by_run(sides).map(|(_, value)| value);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// Returns the differences in settings, then those in platforms.
pub(crate) fn differences(sides: &[ComparedRun<'_>]) -> Vec<SettingDifference> {
    let mut all = side_by_side(sides, settings, true);
    all.retain(|difference| differs(difference, sides));
    // A run that became steady before its last round is the same with more rounds allowed.
    let mut present = sides.iter().filter_map(|side| side.findings);
    if present.all(|findings| findings.end == EndState::Steady) {
        for difference in all.iter_mut().filter(|difference| difference.id == ROUNDS_MAX) {
            difference.severe = false;
        }
    }
    if all.is_empty() {
        // The headline contains some settings that are stated nowhere else.
        let headline = |f: &Findings| {
            let (id, label) = ("headline".into(), "the settings string".into());
            vec![NamedSetting { id, label, value: Some(f.headline.clone()) }]
        };
        all.extend(side_by_side(sides, headline, true));
    }
    all.extend(side_by_side(sides, platform, false));
    all.retain(|difference| differs(difference, sides));
    all
}

fn table(sides: &[ComparedRun<'_>], id: &str, title: &str, corner: &str, rows: Vec<Row>) -> Table {
    Table::new(id, title, corner).columns(letters(sides)).rows(rows)
}

fn text_row(difference: &SettingDifference) -> Row {
    let cells = difference.values.iter().map(|value| Cell::known(value.as_deref()));
    Row::new(difference.label.clone(), cells).with_id(&difference.id).strong(difference.severe)
}

/// Returns the table of differences; important ones are highlighted.
pub(super) fn difference_table(
    sides: &[ComparedRun<'_>],
    differences: &[SettingDifference],
) -> Option<Table> {
    let rows: Vec<Row> = differences.iter().map(text_row).collect();
    let title = "Settings that differ; bold: the numbers depend on them";
    (!rows.is_empty()).then(|| table(sides, "differences", title, "Setting", rows))
}

/// Returns device and conditions: a table of the values that differ, and the values that are equal
/// in all runs.
pub(super) fn devices(sides: &[ComparedRun<'_>]) -> (Table, Vec<Setting>) {
    let all = side_by_side(sides, device, false);
    let (differing, same): (Vec<SettingDifference>, Vec<SettingDifference>) =
        all.into_iter().partition(|difference| differs(difference, sides));
    let names = sides.iter().map(|side| Cell::text(side.bare_name()));
    let mut rows = vec![Row::new("Run", names)];
    rows.extend(differing.iter().map(text_row));
    let known = |difference: SettingDifference| -> Option<Setting> {
        let value = difference.values.into_iter().flatten().next()?;
        Some(Setting::identity(&difference.label, Some(value)).with_id(&difference.id))
    };
    let same = same.into_iter().filter_map(known).collect();
    (table(sides, "devices", "Devices and conditions that differ", "", rows), same)
}

/// Returns all settings and platforms, for the CSV files.
pub(super) fn tables(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let mut tables = Vec::new();
    for (id, title, values) in [
        ("settings", "Settings", side_by_side(sides, settings, true)),
        ("platforms", "Test platforms", side_by_side(sides, platform, false)),
    ] {
        let row = |value: &SettingDifference| text_row(value).strong(differs(value, sides));
        let rows: Vec<Row> = values.iter().map(row).collect();
        if !rows.is_empty() {
            tables.push(table(sides, id, title, "", rows));
        }
    }
    tables
}
