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
    let has_lba_ranges = capture.conditions().lba_ranges.is_some();
    let mut refused = BTreeMap::new();
    for (view, needed) in OF_SINGLE_IOS {
        let Some(mut reason) = capture.lacks(needed) else { continue };
        if needed == "addresses" && has_lba_ranges {
            reason += " The LBA ranges that it counted are printed by: steadfast trace hits.";
        }
        refused.insert(view, reason);
    }
    refused.extend(capture.lacks_processes().map(|reason| ("processes", reason)));
    refused
}
