//! Views that need what a capture of totals or a fold file does not have: single I/Os or processes.

use crate::capture::ExploredCapture;
use std::collections::BTreeMap;

/// Views with what each needs.
const OF_SINGLE_IOS: [(&str, &str); 6] = [
    ("lba", "addresses"),
    ("hot", "addresses"),
    ("read-out", "addresses"),
    ("depths", "queue depths of single I/Os"),
    ("subsecond", "times within a second"),
    ("ios", "single I/Os"),
];

/// Returns the views that the capture cannot show, with the reasons.
pub fn refused(capture: &ExploredCapture) -> BTreeMap<&'static str, String> {
    let counted = match capture.conditions().lba_ranges {
        Some(_) => " The LBA ranges that it counted are printed by: steadfast trace hits.",
        None => "",
    };
    let refusal = |(view, what): (&'static str, &str)| {
        let counted = if what == "addresses" { counted } else { "" };
        Some((view, capture.lacks(what)? + counted))
    };
    let of_processes = capture.lacks_processes().map(|reason| ("processes", reason));
    OF_SINGLE_IOS.into_iter().filter_map(refusal).chain(of_processes).collect()
}
