//! The drives of a capture: identity, number of processes that used it, and bytes read and written.

use crate::cells::{Dimensions, FilteredCells};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::cube::CellSums;
use crate::device_layer::DeviceLayer;
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::compare::host_name;
use crate::sums::io_sums::{IoSums, SumColumns};
use crate::tables::bounded_table::BoundedTable;
use crate::tables::recent_cache::RecentCache;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::io_event::MergeCounts;
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of drives with sums of their own: every device index at every layer.
const DRIVES_MAX: usize = 1 << 18;
/// Default maximum number of pairs of drive and process that are kept. Beyond it the number of
/// processes is unknown.
const PAIRS_MAX: usize = 1 << 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DriveProcess {
    drive: DeviceLayer,
    /// Process ID; 0 if the source does not record it.
    pid: u32,
}

/// The drives with I/Os.
#[derive(Debug, Clone, PartialEq)]
pub struct Drives {
    drives: BoundedTable<DeviceLayer>,
    pairs: BTreeSet<DriveProcess>,
    pairs_max: usize,
    /// Set if there were more pairs than are kept, or if sums without processes were added.
    has_unknown_processes: bool,
}

impl Default for Drives {
    fn default() -> Self {
        Self::keeping(PAIRS_MAX)
    }
}

impl Drives {
    /// Creates an empty table that keeps at most `pairs_max` pairs of drive and process.
    pub fn keeping(pairs_max: usize) -> Self {
        Drives {
            drives: BoundedTable::keeping(DRIVES_MAX),
            pairs: BTreeSet::new(),
            pairs_max,
            has_unknown_processes: false,
        }
    }

    /// Returns a row for each drive, followed by a row for all of them.
    pub fn listing(&self, conditions: &CaptureConditions) -> Vec<DriveFigures> {
        let drives: BTreeMap<&DeviceLayer, &IoSums> = self.drives.iter().collect();
        let mut rows: Vec<DriveFigures> =
            drives.iter().map(|(drive, sums)| self.figures(**drive, sums, conditions)).collect();
        rows.push(self.total_figures(&rows, conditions));
        rows
    }

    fn figures(
        &self,
        drive: DeviceLayer,
        sums: &IoSums,
        conditions: &CaptureConditions,
    ) -> DriveFigures {
        let device = conditions.devices.get(usize::from(drive.device));
        let processes = self.known_processes().filter(|pair| pair.drive == drive).count();
        DriveFigures {
            name: drive.name(conditions),
            model: device.and_then(|device| device.model.clone()),
            serial: device.and_then(|device| device.serial.clone()),
            capacity: capacity(conditions, drive.device),
            processes: self.has_all_processes().then_some(processes as u64),
            merging: merging(conditions, drive),
            sums: sums.clone(),
        }
    }

    /// Returns the row for all drives together, given those of each.
    fn total_figures(&self, rows: &[DriveFigures], conditions: &CaptureConditions) -> DriveFigures {
        let mut sums = IoSums::default();
        let mut merging: Option<MergeCounts> = None;
        for row in rows {
            sums.merge(&row.sums);
            if let Some(counted) = row.merging {
                let total = merging.get_or_insert_default();
                total.merged = total.merged.saturating_add(counted.merged);
                total.split = total.split.saturating_add(counted.split);
            }
        }
        // A drive that is seen at two layers counts once.
        let devices: BTreeSet<u16> = self.drives.iter().map(|(drive, _)| drive.device).collect();
        let mut total_capacity = Some(0u64);
        for device in &devices {
            let sum = total_capacity.zip(capacity(conditions, *device));
            total_capacity = sum.map(|(sum, capacity)| sum.saturating_add(capacity));
        }
        // The same process number on two hosts means two processes.
        let processes: BTreeSet<(String, u32)> = self
            .known_processes()
            .map(|pair| (host_name(conditions, pair.drive.device), pair.pid))
            .collect();
        DriveFigures {
            name: match devices.len() {
                1 => "Total for 1 drive with I/Os".to_owned(),
                count => format!("Total for {count} drives with I/Os"),
            },
            model: None,
            serial: None,
            capacity: total_capacity,
            processes: self.has_all_processes().then_some(processes.len() as u64),
            merging,
            sums,
        }
    }

    /// Iterates over the pairs whose process is known.
    fn known_processes(&self) -> impl Iterator<Item = &DriveProcess> {
        self.pairs.iter().filter(|pair| pair.pid > 0)
    }

    /// Returns whether the processes of all I/Os were kept. If no I/O has a process ID, the source
    /// does not record processes.
    fn has_all_processes(&self) -> bool {
        !self.has_unknown_processes && self.known_processes().next().is_some()
    }

    fn add_pair(&mut self, pair: DriveProcess) {
        if !self.has_unknown_processes {
            self.pairs.insert(pair);
            self.limit_pairs();
        }
    }

    /// Discards all pairs if there are too many, or if some are missing.
    fn limit_pairs(&mut self) {
        self.has_unknown_processes |= self.pairs.len() > self.pairs_max;
        if self.has_unknown_processes {
            self.pairs.clear();
        }
    }
}

/// Returns the merged and split requests of a drive, if they were counted. They cover the whole
/// capture, regardless of the filter.
fn merging(conditions: &CaptureConditions, drive: DeviceLayer) -> Option<MergeCounts> {
    let counted = conditions.merging.as_ref().filter(|_| drive.layer == Layer::Block)?;
    counted.get(usize::from(drive.device)).copied()
}

/// Returns the size of a device in bytes, or `None` if it is unknown.
fn capacity(conditions: &CaptureConditions, device: u16) -> Option<u64> {
    conditions.devices.get(usize::from(device))?.capacity.map(|size| size.0)
}

impl Fold for Drives {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Device, Field::Layer, Field::Pid, Field::Op, Field::Bytes])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (columns, pid) = (SumColumns::new(rows, false), rows.batch.narrow(Field::Pid));
        let (mut cache, mut known_pairs) = (RecentCache::new(), RecentCache::new());
        for row in rows.iter() {
            let drive = columns.side(row);
            let tally = self.drives.cached_tally(&mut cache, drive.device.into(), drive, || drive);
            tally.add(&columns, row);
            let pair = DriveProcess { drive, pid: pid.at(row) };
            let number = u64::from(pair.pid) << 16 | u64::from(drive.device);
            known_pairs.get_or(number, pair, || self.add_pair(pair));
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(Drives::keeping(self.pairs_max))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            let drive = DeviceLayer::from(cell);
            self.drives.tally(drive).add_cell(cell, cells.dimensions.single_ios, false);
            self.add_pair(DriveProcess { drive, pid: cell.who.pid });
        }
        self.has_unknown_processes |= !cells.dimensions.processes && !cells.cells.is_empty();
        self.limit_pairs();
        Ok(())
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        self.drives.merge(other.drives);
        self.has_unknown_processes |= other.has_unknown_processes;
        self.pairs.append(&mut other.pairs);
        self.limit_pairs();
        Ok(())
    }
}

/// One drive of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveFigures {
    /// Name and layer.
    pub name: String,
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Size in bytes.
    pub capacity: Option<u64>,
    /// Number of processes with I/Os on the drive; `None` if unknown.
    pub processes: Option<u64>,
    /// Requests merged and split on the drive; `None` if they were not counted.
    pub merging: Option<MergeCounts>,
    sums: IoSums,
}

impl DriveFigures {
    /// Returns the number of I/Os of all operations.
    pub fn count(&self) -> u64 {
        self.sums.count()
    }
    /// Returns the bytes written.
    pub fn bytes_written(&self) -> u64 {
        self.sums.of_op(IoOp::Write).bytes
    }
}

json_columns! {
    DriveFigures;
    /// Name of the drive, with the layer.
    DRIVE = "drive", "Drive", Plain(0), Text(|d| d.name.clone());
    /// Model number; null if unknown.
    MODEL = "model", "Model", Plain(0), MaybeText(|d| d.model.clone());
    /// Serial number; null if unknown.
    SERIAL = "serial", "Serial", Plain(0), MaybeText(|d| d.serial.clone());
    /// Capacity; null if unknown.
    CAPACITY = "capacity", "Capacity MB", Megabytes(0), MaybeWhole(|d| d.capacity);
    /// I/Os.
    COUNT = "count", "I/Os", Plain(0), Whole(DriveFigures::count);
    /// Processes with I/Os on the drive; null if unknown.
    PROCESSES = "processes", "Processes", Plain(0), MaybeWhole(|d| d.processes);
    /// Data read.
    READ = "read", "MB read", Megabytes(1), Whole(|d| d.sums.of_op(IoOp::Read).bytes);
    /// Data written.
    WRITTEN = "written", "MB written", Megabytes(1), Whole(DriveFigures::bytes_written);
    /// Data read and written.
    TOTAL = "total", "MB", Megabytes(1), Whole(|d| d.sums.transfers().bytes);
    /// Merged requests; null if they were not counted.
    MERGED = "merged", "merged", Plain(0), MaybeWhole(|d| d.merging.map(|m| m.merged));
    /// Split requests; null if they were not counted.
    SPLIT = "split", "split", Plain(0), MaybeWhole(|d| d.merging.map(|m| m.split));
}

type DriveColumn = ListingColumn<DriveFigures>;

impl DriveFigures {
    /// Returns the columns of a terminal's table, with merged and split requests if they were
    /// counted.
    pub fn table(conditions: &CaptureConditions) -> &'static [DriveColumn] {
        match conditions.merging {
            Some(_) => Self::ALL,
            // The last two columns are the merged and the split requests.
            None => &Self::ALL[..Self::ALL.len() - 2],
        }
    }

    /// Columns of a report's table, next to the drive names.
    pub const OF_REPORT: [DriveColumn; 7] =
        columns![MODEL, CAPACITY, COUNT, PROCESSES, READ, WRITTEN, TOTAL];
}
