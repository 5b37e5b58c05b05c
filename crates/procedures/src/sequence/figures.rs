//! The exhibits that users of one tool look for.

use super::results::{Figures, Results};
use super::{atto, crystaldiskmark, iometer, viking};
use crate::presets::viking::TOOL;
use steadfast_domain::Sequence;

/// What a tool's users look for first; nothing where the tool has no form of its own. The
/// first exhibit stands in the summary, too.
pub(super) fn of(sequence: &Sequence, results: &Results<'_>) -> Option<Figures> {
    match sequence.tool.as_str() {
        "atto" => Some(atto::figures(results)),
        "crystaldiskmark" => Some(crystaldiskmark::figures(results)),
        "iometer" => Some(iometer::figures(results)),
        TOOL => Some(viking::figures(results)),
        _ => None,
    }
}
