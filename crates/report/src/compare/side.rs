//! One run of a comparison, and what the titles of several have in common.

use steadfast_domain::Findings;

/// One run in a comparison of a procedure; without findings where it has none of
/// that procedure.
pub(super) struct Side<'a> {
    /// Its letter in tables.
    pub letter: char,
    /// As it is called in legends: letter and name.
    pub name: String,
    /// What it found.
    pub findings: Option<&'a Findings>,
}

/// What the titles of several runs have in common: without the rounds, numbers
/// and names that are of one run alone.
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
