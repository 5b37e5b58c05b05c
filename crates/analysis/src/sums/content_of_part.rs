//! Compression and duplicates of a filtered part of a capture.

use crate::captured::Captured;
use crate::fold::Fold;
use crate::pass::PassOptions;
use crate::sums::content::of_part;
use crate::sums::content_steps::ContentTotal;
use std::io::{Read, Seek};
use steadfast_domain::CaptureConditions;

/// Content sums of the part of a capture that a pass selects, if it selects a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartContent {
    is_part: bool,
    total: Option<ContentTotal>,
}

impl PartContent {
    /// Prepares the sums.
    pub(crate) fn read<R: Read + Seek + Send + 'static>(
        captured: &Captured<R>,
        pass: &PassOptions,
    ) -> Self {
        let conditions = captured.conditions();
        let is_part = pass.filter.describe(conditions).is_some();
        let is_told = conditions.content.is_some();
        PartContent { is_part, total: (is_part && is_told).then(ContentTotal::default) }
    }

    /// Returns the fold that gathers the sums, or `None` if there is nothing to gather.
    pub(crate) fn fold(&mut self) -> Option<&mut dyn Fold> {
        self.total.as_mut().map(|total| total as &mut dyn Fold)
    }

    /// Returns the conditions of the capture, adjusted to the part.
    pub(crate) fn conditions(self, all: &CaptureConditions) -> CaptureConditions {
        if self.is_part { of_part(all, self.total.map(|total| total.0)) } else { all.clone() }
    }
}
