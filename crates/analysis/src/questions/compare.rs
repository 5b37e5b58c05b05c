//! Two drives, or the file-system and the block layer, side by side: the capture steps of every
//! device and layer on one time axis.

use crate::cells::{Dimensions, FilteredCells};
use crate::cgroup_owner::owner_of_cgroup;
use crate::cube::CellSums;
use crate::device_layer::{DeviceLayer, device_layer_index};
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::steps::{CaptureStep, STEP_FIELDS, Steps};
use crate::sums::io_sums::SumColumns;
use crate::sums::step_width::check_is_multiple;
use crate::tables::recent_cache::RecentCache;
use crate::tables::smallest_keys::{Admission, SmallestKeys};
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of sides that are kept separately: the first in order of device and layer.
pub const SIDES_MAX: usize = 16;

/// Name shown for a host whose name the capture does not record.
pub const UNKNOWN_HOST: &str = "unknown host";

/// Returns the name of the host of a device. It is recorded with the device if captures of several
/// hosts are read together, otherwise with the capture.
pub fn host_name(conditions: &CaptureConditions, device: u16) -> String {
    let device = conditions.devices.get(usize::from(device));
    let named = device.and_then(|device| device.host.clone()).or_else(|| conditions.host.clone());
    named.unwrap_or_else(|| UNKNOWN_HOST.to_owned())
}

/// Returns the path of a cgroup, or its number if the path is not known. The name of the container,
/// pod, virtual machine or service precedes the path if it has one, and the host's name if captures
/// of several hosts are read together. Returns `None` for 0 and for a cgroup that the conditions do
/// not list.
pub fn cgroup_name(conditions: &CaptureConditions, number: u16) -> Option<String> {
    let at = usize::from(number).checked_sub(1)?;
    let cgroup = conditions.cgroups.as_ref()?.get(at)?;
    let name = match &cgroup.path {
        Some(path) => match owner_of_cgroup(path) {
            Some(owner) => format!("{owner} ({path})"),
            None => path.clone(),
        },
        None => format!("cgroup {}", cgroup.id),
    };
    let hosts: BTreeSet<&Option<String>> = conditions.devices.iter().map(|one| &one.host).collect();
    match &cgroup.host {
        Some(host) if hosts.len() > 1 => Some(format!("{host}:{name}")),
        _ => Some(name),
    }
}

/// Capture steps of one device at one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct SideSteps {
    /// Device and layer.
    pub side: DeviceLayer,
    /// Capture steps by number.
    pub steps: BTreeMap<u64, CaptureStep>,
}

/// The devices and layers whose I/Os pass the filter. In contrast to [`Sides`] their number has no
/// limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideSet {
    seen: BTreeSet<DeviceLayer>,
    /// The devices and layers with busy time that belongs to no I/O that passes.
    in_flight: BTreeSet<DeviceLayer>,
    needs_in_flight: bool,
}

impl SideSet {
    /// Creates an empty set for [`Self::busy_count`] under a filter that has time spans or not.
    /// Without them, every side with busy time has an I/O that passes.
    pub(crate) fn with_busy_sides(has_time_spans: bool) -> Self {
        SideSet { needs_in_flight: has_time_spans, ..SideSet::default() }
    }

    /// Returns the number of sides seen.
    pub fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Returns the number of sides that busy time is a share of: those seen, and those that were
    /// busy with I/Os issued before the time of the filter.
    pub fn busy_count(&self) -> u64 {
        self.seen.union(&self.in_flight).count() as u64
    }

    /// Iterates over the sides seen, in order of device and layer.
    pub fn iter(&self) -> impl Iterator<Item = DeviceLayer> + '_ {
        self.seen.iter().copied()
    }

    /// Returns the number of devices seen at the block layer.
    pub fn at_block_layer(&self) -> usize {
        self.seen.iter().filter(|side| side.layer == Layer::Block).count()
    }
}

impl Fold for SideSet {
    fn fields(&self) -> Fields {
        let sides = Fields::new(&[Field::Device, Field::Layer]);
        if self.needs_in_flight { sides.and(Fields::BUSY) } else { sides }
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (device, layer) = (rows.batch.narrow(Field::Device), rows.batch.narrow(Field::Layer));
        let mut known = RecentCache::new();
        for row in rows.iter() {
            let side = DeviceLayer { device: device.at(row) as u16, layer: layer.layer(row) };
            let index = device_layer_index(side.device, side.layer == Layer::FileSystem);
            known.get_or(index as u64, side, || {
                self.seen.insert(side);
            });
        }
        self.in_flight.extend(rows.edge_busy.iter().map(|busy| busy.side));
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(SideSet { needs_in_flight: self.needs_in_flight, ..SideSet::default() })
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        self.seen.extend(cells.cells.iter().map(DeviceLayer::from));
        self.in_flight.extend(cells.busy.iter().map(DeviceLayer::from));
        Ok(())
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        self.seen.append(&mut other.seen);
        self.in_flight.append(&mut other.in_flight);
        Ok(())
    }
}

/// Capture steps of every device and layer in a capture.
#[derive(Debug, Clone)]
pub struct Sides {
    width_ns: u64,
    until_ns: u64,
    sides: Vec<(DeviceLayer, Steps)>,
    smallest: SmallestKeys<DeviceLayer>,
    unlisted: u64,
    /// Steps of the sides beyond the limit, merged, if they are asked for.
    unlisted_steps: Option<Steps>,
}

/// Result of [`Sides`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SidesResult {
    /// The sides in order of device and layer.
    pub sides: Vec<SideSteps>,
    /// I/Os of the sides beyond the limit.
    pub unlisted: u64,
}

impl Sides {
    /// Creates empty sides in steps of `width_ns` nanoseconds. Busy time after `until_ns` is not
    /// counted.
    pub fn new(width_ns: u64, until_ns: u64) -> Self {
        Self::keeping(SIDES_MAX, width_ns, until_ns)
    }

    /// Like [`Self::new`], with at most `most` sides kept separately.
    pub fn keeping(most: usize, width_ns: u64, until_ns: u64) -> Self {
        let (sides, smallest) = (Vec::new(), SmallestKeys::new(most));
        Sides { width_ns, until_ns, sides, smallest, unlisted: 0, unlisted_steps: None }
    }

    /// Keeps the merged steps of the sides beyond the limit too, so that [`Self::finish_with_all`]
    /// can return the steps of all I/Os.
    pub(crate) fn with_unlisted_steps(self) -> Self {
        Sides { unlisted_steps: Some(self.empty_steps()), ..self }
    }

    fn empty_steps(&self) -> Steps {
        Steps::new(self.width_ns).until(self.until_ns)
    }

    /// Returns the sides, and the steps of all of them merged.
    pub(crate) fn finish_with_all(
        mut self,
    ) -> Result<(SidesResult, BTreeMap<u64, CaptureStep>), TraceError> {
        let unlisted_steps = self.unlisted_steps.take().map(Steps::finish).transpose()?;
        let found = self.finish()?;
        let mut all = unlisted_steps.unwrap_or_default();
        for (number, step) in found.sides.iter().flat_map(|side| &side.steps) {
            all.entry(*number).or_default().merge(step);
        }
        Ok((found, all))
    }

    /// Returns the sides.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if there are too many steps.
    pub fn finish(self) -> Result<SidesResult, TraceError> {
        let mut sides = Vec::new();
        for (side, steps) in self.sides {
            sides.push(SideSteps { side, steps: steps.finish()? });
        }
        sides.sort_by_key(|steps| steps.side);
        Ok(SidesResult { sides, unlisted: self.unlisted })
    }

    /// Returns the steps of a side; `None` if the side is beyond the limit.
    #[inline]
    fn steps(&mut self, key: DeviceLayer) -> Result<Option<&mut Steps>, TraceError> {
        let at = match self.sides.iter().position(|(side, _)| *side == key) {
            Some(known) => Some(known),
            None => self.admit(key)?,
        };
        Ok(at.and_then(|at| self.sides.get_mut(at)).map(|(_, steps)| steps))
    }

    #[cold]
    fn admit(&mut self, key: DeviceLayer) -> Result<Option<usize>, TraceError> {
        let new = (key, self.empty_steps());
        let at = match self.smallest.admit(key) {
            Admission::Free => {
                self.sides.push(new);
                Some(self.sides.len() - 1)
            }
            Admission::Replaced(largest) => {
                let at = self.sides.iter().position(|(side, _)| *side == largest);
                if let Some(replaced) = at.and_then(|at| self.sides.get_mut(at)) {
                    let (_, steps) = std::mem::replace(replaced, new);
                    self.leave_out(steps)?;
                }
                at
            }
            Admission::Rejected => None,
        };
        Ok(at)
    }

    /// Counts the steps of a side beyond the limit.
    fn leave_out(&mut self, steps: Steps) -> Result<(), TraceError> {
        self.unlisted = self.unlisted.saturating_add(steps.ios());
        self.unlisted_steps.as_mut().map_or(Ok(()), |unlisted_steps| unlisted_steps.merge(steps))
    }

    /// Counts a row of a side beyond the limit.
    fn leave_row_out(&mut self, columns: &SumColumns<'_>, row: usize) -> Result<(), TraceError> {
        self.unlisted += 1;
        self.unlisted_steps
            .as_mut()
            .map_or(Ok(()), |unlisted_steps| unlisted_steps.take_row(columns, row))
    }
}

impl Fold for Sides {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        for row in rows.iter() {
            match self.steps(columns.side(row))? {
                Some(steps) => steps.take_row(&columns, row)?,
                None => self.leave_row_out(&columns, row)?,
            }
        }
        for busy in rows.edge_busy {
            if let Some(steps) = self.steps(busy.side)? {
                steps.divide_busy(busy.span)?;
            } else if let Some(unlisted_steps) = &mut self.unlisted_steps {
                unlisted_steps.divide_busy(busy.span)?;
            }
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        let empty = Sides::keeping(self.smallest.most(), self.width_ns, self.until_ns);
        Some(if self.unlisted_steps.is_some() { empty.with_unlisted_steps() } else { empty })
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        check_is_multiple(self.width_ns, cells.step_ns)?;
        for cell in cells.cells {
            match self.steps(cell.into())? {
                Some(steps) => steps.take_cell(cell)?,
                None => self.unlisted = self.unlisted.saturating_add(cell.ios),
            }
        }
        for busy in cells.busy {
            if let Some(steps) = self.steps(busy.into())? {
                steps.take_busy(busy)?;
            }
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.unlisted = self.unlisted.saturating_add(other.unlisted);
        if let Some((ours, theirs)) = self.unlisted_steps.as_mut().zip(other.unlisted_steps) {
            ours.merge(theirs)?;
        }
        for (key, steps) in other.sides {
            match self.steps(key)? {
                Some(ours) => ours.merge(steps)?,
                None => self.leave_out(steps)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use steadfast_domain::IoEvent;

    /// I/Os that cycle through the devices from the last to the first, each busy for some time.
    fn fold_ios(fold: &mut dyn Fold, numbers: std::ops::Range<u64>) {
        let event = |at: u64| IoEvent {
            issued_ns: at * 70,
            response_ns: 30 + at % 90,
            device: (7 - at % 8) as u16,
            bytes: 512,
            ..IoEvent::default()
        };
        let events: Vec<IoEvent> = numbers.clone().map(event).collect();
        let busy: Vec<(u64, u64)> = numbers.map(|at| (at * 70, at * 70 + 90 + at % 60)).collect();
        let batch = AnnotatedBatch { busy, ..AnnotatedBatch::from_events(&events) };
        fold.take(&batch.rows()).unwrap();
    }

    #[test]
    fn the_steps_of_all_ios_are_known_however_few_sides_are_separate() {
        let mut steps = Steps::new(1000).until(60_000);
        fold_ios(&mut steps, 0..900);
        let steps = steps.finish().unwrap();
        for most in [0, 1, 3, 16] {
            let mut sides = Sides::keeping(most, 1000, 60_000).with_unlisted_steps();
            let mut part = sides.new_part().unwrap();
            fold_ios(&mut sides, 0..400);
            fold_ios(&mut part, 400..900);
            sides.merge(part).unwrap();
            let (found, all) = sides.finish_with_all().unwrap();
            assert_eq!((found.sides.len(), &all), (most.min(8), &steps));
        }
    }
}
