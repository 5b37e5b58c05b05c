//! Gaps of a capture that a replay must disclose.

use steadfast_domain::caveats as ids;
use steadfast_domain::{CaptureConditions, Caveat, CaveatKind};

/// Returns the gaps of a capture, which its replay has too, as caveats.
pub(super) fn capture_gaps(conditions: &CaptureConditions, missing: &[String]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |count: u64, id, text: String, remedy: &str| {
        caveats.extend((count > 0).then(|| Caveat::new(CaveatKind::Deviation, id, text, remedy)));
    };
    let lost = conditions.lost;
    let text = format!("The capture lost {lost} events; as many I/Os at most are not replayed.");
    add(lost, ids::EVENTS_LOST, text, "Capture again with a larger buffer.");
    let skipped = conditions.skipped;
    let text = format!(
        "The kernel did not let the capture look {skipped} times: as many I/Os at most are missing."
    );
    add(skipped, ids::SKIPPED, text, "");
    let unseen = conditions.in_part.map_or(conditions.unfinished, |part| part.missing());
    let text = format!("{unseen} I/Os that the capture saw only in part are not replayed.");
    add(unseen, ids::REPLAY_INCOMPLETE, text, "");
    for text in missing {
        let remedy = "These I/Os are not replayed; read the file from a backup.";
        add(1, ids::FILE_DAMAGED, text.clone(), remedy);
    }
    caveats
}
