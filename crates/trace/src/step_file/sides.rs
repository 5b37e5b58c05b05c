//! Capture steps of every device and layer, from rows that were added up before.

use super::reader::add_to;
use crate::compare::{SIDES_MAX, Side, SideKey};
use crate::error::TraceError;
use crate::steps::CaptureStep;
use std::collections::BTreeMap;
use steadfast_domain::io_event::StreamInStep;

/// Sides in order of device and layer, up to [`SIDES_MAX`].
#[derive(Default)]
pub(super) struct SidesOfSums {
    sides: Vec<Side>,
    /// I/Os of further ones.
    pub(super) unlisted: u64,
}

impl SidesOfSums {
    /// Adds a row to a step of its side.
    pub(super) fn take(&mut self, at: u64, row: &StreamInStep) -> Result<(), TraceError> {
        match self.side(SideKey { device: row.device, layer: row.layer }) {
            Some(steps) => add_to(steps, at, row),
            None => {
                self.unlisted += row.ios;
                Ok(())
            }
        }
    }

    /// The steps of a side; `None` beyond those that are kept apart.
    fn side(&mut self, key: SideKey) -> Option<&mut BTreeMap<u64, CaptureStep>> {
        let at = match self.sides.binary_search_by_key(&key, |(side, _)| *side) {
            Ok(at) => at,
            Err(_) if self.sides.len() == SIDES_MAX => return None,
            Err(at) => {
                self.sides.insert(at, (key, BTreeMap::new()));
                at
            }
        };
        Some(&mut self.sides[at].1)
    }

    pub(super) fn finish(self) -> Vec<Side> {
        self.sides
    }
}
