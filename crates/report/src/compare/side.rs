//! One run of a comparison, and the common part of several titles.

use steadfast_domain::Findings;
use steadfast_domain::findings::Column;

/// One run in the comparison of a procedure.
pub(crate) struct ComparedRun<'a> {
    /// Letter of the run in tables.
    pub letter: char,
    /// Letter and name, for legends.
    pub name: String,
    /// `None` if the run does not have the procedure.
    pub findings: Option<&'a Findings>,
}

impl<'a> ComparedRun<'a> {
    pub fn new(letter: char, name: &str, findings: Option<&'a Findings>) -> Self {
        ComparedRun { letter, name: format!("{letter}: {name}"), findings }
    }

    /// Returns the name without the letter.
    pub(super) fn bare_name(&self) -> &str {
        self.name.split_once(": ").map_or(self.name.as_str(), |(_, name)| name)
    }
}

/// Returns the letters of runs, as the columns of a table.
pub(super) fn letters(sides: &[ComparedRun<'_>]) -> impl Iterator<Item = Column> {
    sides.iter().map(|side| Column::from(side.letter.to_string()))
}

/// Returns the common part of several titles, without rounds, numbers and names that only one run
/// has.
pub(super) fn common_title<'a>(titles: impl Iterator<Item = &'a str>) -> Option<String> {
    let pieces = |title: &'a str| -> Vec<&'a str> {
        let ends = [": ", " - ", ", "].iter().flat_map(|s| title.match_indices(*s)).map(|m| m.0);
        let mut ends: Vec<usize> = ends.collect();
        ends.sort_unstable();
        ends.into_iter().chain([title.len()]).map(|end| &title[..end]).collect()
    };
    let common = titles.map(pieces).reduce(|mut common, other| {
        common.retain(|piece| other.contains(piece));
        common
    });
    common?.pop().map(str::to_owned)
}
