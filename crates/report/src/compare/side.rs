//! One run of a comparison, and the common part of several titles.

use steadfast_domain::Findings;

/// One run in the comparison of a procedure.
pub(crate) struct ComparedRun<'a> {
    /// Letter of the run in tables.
    pub letter: char,
    /// Letter and name, for legends.
    pub name: String,
    /// Findings; `None` if the run does not have the procedure.
    pub findings: Option<&'a Findings>,
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
