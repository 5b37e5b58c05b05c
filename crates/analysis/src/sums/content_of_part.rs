//! Compression and duplicates of a part of a capture: a filter has its own.

use crate::captured::Captured;
use crate::fold::Fold;
use crate::pass::Pass;
use crate::sums::content::of_part;
use crate::sums::content_steps::ContentTotal;
use std::io::{Read, Seek};
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::not_recorded::NotRecorded;

/// What was measured of the blocks of a part of a capture, where a pass has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentOfPart {
    is_part: bool,
    total: Option<ContentTotal>,
}

impl ContentOfPart {
    /// Not yet filled.
    pub(crate) fn of<R: Read + Seek + Send + 'static>(captured: &Captured<R>, pass: &Pass) -> Self {
        let conditions = captured.conditions();
        let is_part = pass.filter.told(conditions).is_some();
        // Single I/Os tell theirs, and so do fold files; steps alone do not.
        let is_told = conditions.content.is_some()
            && [NotRecorded::SingleIos, NotRecorded::StepPercentiles]
                .into_iter()
                .any(|untold| captured.tells(untold).is_ok());
        ContentOfPart { is_part, total: (is_part && is_told).then(ContentTotal::default) }
    }

    /// What gathers it in the pass.
    pub(crate) fn fold(&mut self) -> Option<&mut dyn Fold> {
        self.total.as_mut().map(|total| total as &mut dyn Fold)
    }

    /// The conditions of the capture, as they are of the part.
    pub(crate) fn conditions(self, all: &CaptureConditions) -> CaptureConditions {
        if self.is_part { of_part(all, self.total.map(|total| total.0)) } else { all.clone() }
    }
}
