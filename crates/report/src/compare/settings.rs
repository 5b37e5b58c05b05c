//! Settings and platforms of the runs, and their differences. Values are matched by ID and by
//! their effect on the numbers ([`Role`]), whatever their printed labels.

use super::side::ComparedRun;
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
        let there = sides.iter().zip(&self.values).filter(|(side, _)| side.findings.is_some());
        let (without, stated): (Vec<_>, Vec<_>) = there.partition(|(_, value)| value.is_none());
        let agree = stated.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let letters: Vec<String> =
            without.iter().filter(|_| agree).map(|(side, _)| side.letter.to_string()).collect();
        letters.join(", ")
    }
    /// Formats the values by run: `A, C: TC 4 / QD 32; B: TC 2 / QD 16`.
    pub fn values_by_run(&self, sides: &[ComparedRun<'_>]) -> String {
        let mut by_value: Vec<(&Option<String>, String)> = Vec::new();
        for (side, value) in sides.iter().zip(&self.values).filter(|(s, _)| s.findings.is_some()) {
            match by_value.iter_mut().find(|(other, _)| *other == value) {
                Some((_, letters)) => *letters = format!("{letters}, {}", side.letter),
                None => by_value.push((value, side.letter.to_string())),
            }
        }
        let unknown = "unknown".to_owned();
        let pieces: Vec<String> = by_value
            .into_iter()
            .map(|(value, letters)| format!("{letters}: {}", value.as_ref().unwrap_or(&unknown)))
            .collect();
        pieces.join("; ")
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
fn of_block(block: &FormBlock) -> Vec<NamedSetting> {
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
fn of_facts(facts: &Facts) -> impl Iterator<Item = NamedSetting> {
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
    let of_device = header.rows_about(FormSubject::Device).iter();
    let of_device = of_device.filter(|row| row.role == Role::Setting).map(NamedSetting::plain);
    let blocks = header.blocks.iter().filter(|block| block.about == FormSubject::Procedure);
    let exhibits = findings.chapters.iter().flat_map(|page| &page.exhibits);
    let facts = exhibits.filter_map(Exhibit::as_facts);
    let mut all: Vec<NamedSetting> = Vec::new();
    let found = std::iter::once(method).chain(of_device).chain(blocks.flat_map(of_block));
    for named in found.chain(facts.flat_map(of_facts)) {
        if !all.iter().any(|other| other.id == named.id) {
            all.push(named);
        }
    }
    all
}

/// Returns the facts that distinguish test platforms.
fn platform(findings: &Findings) -> Vec<NamedSetting> {
    let rows = findings.header.rows_about(FormSubject::Platform).iter();
    rows.filter(|row| row.role == Role::Identity).map(NamedSetting::plain).collect()
}

/// Returns all facts about the device and the test conditions.
fn device(findings: &Findings) -> Vec<NamedSetting> {
    let (header, front) = (&findings.header, &findings.front);
    let mut all: Vec<NamedSetting> =
        front.device.iter().chain(&front.conditions).map(NamedSetting::plain).collect();
    if all.is_empty() {
        all.extend(header.rows_about(FormSubject::Device).iter().map(NamedSetting::plain));
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
    let mut firsts: Vec<&NamedSetting> = Vec::new();
    for one in named.iter().flatten() {
        if !firsts.iter().any(|first| first.id == one.id) {
            firsts.push(one);
        }
    }
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
    let mut there = sides.iter().zip(&difference.values).filter(|(s, _)| s.findings.is_some());
    let plain = |value: &Option<String>| value.as_deref().map(unseparated);
    let first = there.next().map(|(_, value)| plain(value));
    there.any(|(_, value)| Some(plain(value)) != first)
}

/// Removes thousands separators: earlier versions omitted some.
fn unseparated(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let separates = |at: usize| {
        letters[at] == ','
            && at > 0
            && digit(at - 1)
            && (1..=3).all(|next| digit(at + next))
            && !digit(at + 4)
    };
    (0..letters.len()).filter(|at| !separates(*at)).map(|at| letters[at]).collect()
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
    let letters = sides.iter().map(|side| side.letter.to_string());
    Table::new(id, title, corner).columns(letters).rows(rows)
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
    let name = |side: &ComparedRun<'_>| {
        Cell::text(side.name.split_once(": ").map_or(side.name.as_str(), |(_, name)| name))
    };
    let all = side_by_side(sides, device, false);
    let (differing, same): (Vec<SettingDifference>, Vec<SettingDifference>) =
        all.into_iter().partition(|difference| differs(difference, sides));
    let mut rows = vec![Row::new("Run", sides.iter().map(name))];
    rows.extend(differing.iter().map(text_row));
    let known = |difference: SettingDifference| -> Option<Setting> {
        let value = difference.values.into_iter().flatten().next()?;
        Some(Setting::identity(&difference.label, Some(value)).with_id(&difference.id))
    };
    let same = same.into_iter().filter_map(known).collect();
    (table(sides, DEVICES, "Devices and conditions that differ", "", rows), same)
}

/// ID of the table of devices.
pub(super) const DEVICES: &str = "devices";

/// Returns all settings and platforms, for the CSV files.
pub(super) fn tables(sides: &[ComparedRun<'_>]) -> Vec<Table> {
    let rows = |differences: Vec<SettingDifference>| -> Vec<Row> {
        let differing =
            |d: SettingDifference| SettingDifference { severe: differs(&d, sides), ..d };
        differences.into_iter().map(differing).map(|d| text_row(&d)).collect()
    };
    let all = [
        ("settings", "Settings", side_by_side(sides, settings, true)),
        ("platforms", "Test platforms", side_by_side(sides, platform, false)),
    ];
    all.into_iter()
        .map(|(id, title, found)| table(sides, id, title, "", rows(found)))
        .filter(|table| !table.rows.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::unseparated;

    #[test]
    fn separators_of_thousands_make_no_difference() {
        assert_eq!(unseparated("bytes 0 to 1,073,741,823"), "bytes 0 to 1073741823");
        assert_eq!(unseparated("32,16,8"), "32,16,8");
        assert_eq!(unseparated("T1Q32, 2147 bytes"), "T1Q32, 2147 bytes");
    }
}
