//! Two drives, or the file-system and the block layer, side by side: capture
//! steps of every device and layer on one time axis.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::pass::{Fold, Rows};
use crate::steps::{CaptureStep, STEP_FIELDS, Steps};
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::{CaptureConditions, Layer};

/// Sides kept apart at most.
pub const SIDES_MAX: usize = 16;

/// One device at one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SideKey {
    /// Index into the conditions' devices.
    pub device: u16,
    /// Where it was seen.
    pub layer: Layer,
}

impl SideKey {
    /// `nvme0n1, block`.
    pub fn name(&self, conditions: &CaptureConditions) -> String {
        format!("{}, {}", self.device_name(conditions), self.layer)
    }

    /// `nvme0n1`.
    pub fn device_name(&self, conditions: &CaptureConditions) -> String {
        let device = conditions.devices.get(usize::from(self.device)).map(|d| d.name.clone());
        device.unwrap_or_else(|| format!("device {}", self.device))
    }
}

/// Capture steps of one device at one layer, by number.
pub type Side = (SideKey, BTreeMap<u64, CaptureStep>);

/// How many devices and layers have I/Os that pass the filter: all of them,
/// where [`Sides`] keeps only so many apart.
#[derive(Debug, Clone, Default)]
pub struct SidesSeen {
    last: Option<SideKey>,
    seen: BTreeSet<SideKey>,
}

impl SidesSeen {
    /// How many.
    pub fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// How many of them are devices at the block layer.
    pub fn at_block_layer(&self) -> usize {
        self.seen.iter().filter(|side| side.layer == Layer::Block).count()
    }
}

impl Fold for SidesSeen {
    fn fields(&self) -> Fields {
        Fields::of(&[Field::Device, Field::Layer])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let key = SideKey { device: rows.batch.device(row), layer: rows.batch.layer(row) };
            if self.last != Some(key) {
                self.last = Some(key);
                self.seen.insert(key);
            }
        }
        Ok(())
    }
}

/// Capture steps of every device and layer in a trace.
#[derive(Debug, Clone)]
pub struct Sides {
    width_ns: u64,
    until_ns: u64,
    sides: Vec<(SideKey, Steps)>,
    /// I/Os of sides beyond [`SIDES_MAX`].
    pub unlisted: u64,
}

impl Sides {
    /// Sides in steps of a width in nanoseconds; busy time after `until_ns` is
    /// not counted.
    pub fn new(width_ns: u64, until_ns: u64) -> Self {
        Sides { width_ns, until_ns, sides: Vec::new(), unlisted: 0 }
    }

    /// The sides in order of device and layer.
    ///
    /// # Errors
    /// Where there are more steps than memory was set aside for.
    pub fn finish(self) -> Result<Vec<Side>, TraceError> {
        let finished = self.sides.into_iter().map(|(key, steps)| Ok((key, steps.finish()?)));
        let mut sides = finished.collect::<Result<Vec<_>, TraceError>>()?;
        sides.sort_by_key(|(key, _)| *key);
        Ok(sides)
    }
}

impl Fold for Sides {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let key = SideKey { device: rows.batch.device(row), layer: rows.batch.layer(row) };
            let known = self.sides.iter().position(|(side, _)| *side == key);
            let at = match known {
                Some(at) => at,
                None if self.sides.len() == SIDES_MAX => {
                    self.unlisted += 1;
                    continue;
                }
                None => {
                    self.sides.push((key, Steps::new(self.width_ns).until(self.until_ns)));
                    self.sides.len() - 1
                }
            };
            self.sides[at].1.take_row(rows, row)?;
        }
        Ok(())
    }
}
