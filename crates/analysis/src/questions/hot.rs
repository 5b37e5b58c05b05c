//! The address ranges of a device that are hit most, and the processes that hit them.

use crate::annotate::data_transfers::{DataTransfer, DataTransfers};
use crate::cells::Dimensions;
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::hits::SIDE_MAX;
use crate::questions::processes::ProcessKey;
use crate::tables::bounded_table::BoundedTable;
use crate::tables::recent_cache::RecentCache;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use steadfast_domain::IoOp;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of pairs of range and process that are counted separately: the first in order of
/// range and process. Hits of other pairs count for their range only.
const PAIRS_MAX: usize = 1 << 18;
/// Maximum number of processes listed per range.
const PROCESSES_NAMED: usize = 5;

/// Indexes of the pairs that were hit recently: the next I/O mostly has a range and a process that
/// occurred shortly before.
type PairCache = RecentCache<(u32, ProcessKey), u32>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct AddressRangeHits {
    reads: u64,
    writes: u64,
    bytes: u64,
}

/// Hits of the ranges of a device, in total and by process.
#[derive(Debug, Clone, PartialEq)]
pub struct HotRanges {
    /// Number of the device in the trace.
    pub device: u16,
    /// Size of a range, in bytes.
    pub range_bytes: u64,
    ranges: Vec<AddressRangeHits>,
    /// Hits by range and process.
    pairs: BoundedTable<(u32, ProcessKey), u64>,
}

impl HotRanges {
    /// Divides the first `capacity` bytes of a device into `ranges` ranges of equal size.
    pub fn new(device: u16, capacity: u64, ranges: usize) -> Self {
        Self::keeping(PAIRS_MAX, device, capacity, ranges)
    }

    /// Like [`Self::new`], with at most `most` pairs of range and process counted separately.
    pub fn keeping(most: usize, device: u16, capacity: u64, ranges: usize) -> Self {
        let ranges = ranges.clamp(1, SIDE_MAX);
        HotRanges {
            device,
            range_bytes: capacity.div_ceil(ranges as u64).max(1),
            ranges: vec![AddressRangeHits::default(); ranges],
            pairs: BoundedTable::keeping(most),
        }
    }

    /// Returns the number of ranges with at least one hit.
    pub fn touched(&self) -> usize {
        self.ranges.iter().filter(|range| range.reads + range.writes > 0).count()
    }

    /// Returns the number of ranges.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Counts an I/O in every range that it touches.
    #[inline]
    fn hit(&mut self, transfer: DataTransfer, process: ProcessKey, cache: &mut PairCache) {
        let (from, end) = (transfer.from, transfer.end());
        let most = self.ranges.len() as u64 - 1;
        let mut at = from / self.range_bytes;
        let mut begin = at.saturating_mul(self.range_bytes);
        while at <= most && begin < end {
            let next = begin.saturating_add(self.range_bytes);
            let range = &mut self.ranges[at as usize];
            *(if transfer.op == IoOp::Write { &mut range.writes } else { &mut range.reads }) += 1;
            range.bytes = range.bytes.saturating_add(end.min(next) - from.max(begin));
            let (range, pid) = (at as u32, u64::from(process.pid));
            let (number, pair) = (pid << 32 | at, (range, process));
            *self.pairs.cached_tally(cache, number, pair, || pair) += 1;
            if next >= end {
                return;
            }
            (at, begin) = (at + 1, next);
        }
    }

    /// Returns the `most` ranges with the most hits, in descending order. Ranges with equal hits
    /// are in order of address.
    pub fn hottest(&self, most: usize) -> Vec<HotRange> {
        let all: u64 = self.ranges.iter().map(|range| range.reads + range.writes).sum();
        let mut order: Vec<usize> = (0..self.ranges.len()).collect();
        let hits = |at: usize| self.ranges[at].reads + self.ranges[at].writes;
        order.retain(|at| hits(*at) > 0);
        order.sort_by_key(|at| (Reverse(hits(*at)), *at));
        order.truncate(most);
        let mut processes: BTreeMap<usize, Vec<(ProcessKey, u64)>> =
            order.iter().map(|at| (*at, Vec::new())).collect();
        for ((range, process), count) in self.pairs.iter() {
            if let Some(found) = processes.get_mut(&(*range as usize)) {
                found.push((*process, *count));
            }
        }
        let range = |at: usize| {
            let found = processes.remove(&at).unwrap_or_default();
            HotRange::new(self, at, found, all)
        };
        order.into_iter().map(range).collect()
    }
}

impl Fold for HotRanges {
    fn fields(&self) -> Fields {
        DataTransfers::FIELDS.and(Fields::new(&[Field::Pid, Field::Command]))
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let pid = rows.batch.narrow(Field::Pid);
        let mut cache = PairCache::new();
        DataTransfers::new(rows, self.device).each(|row, transfer| {
            let Some(transfer) = transfer else { return };
            let process = ProcessKey { pid: pid.at(row), command: rows.batch.command(row) };
            self.hit(transfer, process, &mut cache);
        });
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(HotRanges {
            ranges: vec![AddressRangeHits::default(); self.ranges.len()],
            pairs: BoundedTable::keeping(self.pairs.most()),
            ..*self
        })
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Err(NotRecorded::HotAddresses)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (ours, theirs) in self.ranges.iter_mut().zip(&other.ranges) {
            ours.reads += theirs.reads;
            ours.writes += theirs.writes;
            ours.bytes = ours.bytes.saturating_add(theirs.bytes);
        }
        self.pairs.merge(other.pairs);
        Ok(())
    }
}

/// Hits of one address range.
#[derive(Debug, Clone, PartialEq)]
pub struct HotRange {
    /// Number of the range, counted from the lowest address, starting at 0.
    pub range: u64,
    /// First byte of the range and the byte after its last.
    pub span: (u64, u64),
    /// Begin and end of the range in percent of the device.
    pub percent: (f64, f64),
    /// Reads that touch the range.
    pub reads: u64,
    /// Writes that touch the range.
    pub writes: u64,
    /// Bytes read and written inside the range.
    pub amount: u64,
    /// Share of the hits of all ranges, 0 to 1.
    pub share: f64,
    /// Processes with the most hits of the range; at most five.
    pub processes: Vec<HotProcess>,
}

/// Hits of a range by one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct HotProcess {
    /// Process ID and command, for display.
    pub process: String,
    /// Process ID; `None` if unknown.
    pub pid: Option<u32>,
    /// Hits of the range by the process.
    pub count: u64,
}

impl HotRange {
    fn new(ranges: &HotRanges, at: usize, mut found: Vec<(ProcessKey, u64)>, all: u64) -> Self {
        let AddressRangeHits { reads, writes, bytes } = ranges.ranges[at];
        let begin = ranges.range_bytes.saturating_mul(at as u64);
        found.sort_by_key(|(process, count)| (Reverse(*count), *process));
        let process = |(key, count): (ProcessKey, u64)| HotProcess {
            process: key.to_string(),
            pid: (key.pid > 0).then_some(key.pid),
            count,
        };
        let percent = |range: usize| range as f64 * 100.0 / ranges.ranges() as f64;
        HotRange {
            percent: (percent(at), percent(at + 1)),
            range: at as u64,
            span: (begin, begin.saturating_add(ranges.range_bytes)),
            reads,
            writes,
            amount: bytes,
            share: (reads + writes) as f64 / all.max(1) as f64,
            processes: found.into_iter().take(PROCESSES_NAMED).map(process).collect(),
        }
    }

    /// Returns the number of hits.
    pub fn count(&self) -> u64 {
        self.reads + self.writes
    }

    /// Returns the location of the range in percent of the device: `12.3 to 12.4`.
    pub(crate) fn place(&self) -> String {
        format!("{:.1} to {:.1}", self.percent.0, self.percent.1)
    }

    /// Returns the processes and their shares: `mysqld (100) 61 %, backup (7) 39 %`.
    fn named(&self) -> String {
        let part = |process: &HotProcess| {
            let percent = process.count as f64 * 100.0 / self.count().max(1) as f64;
            format!("{} {percent:.0} %", process.process)
        };
        self.processes.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

type HotRangeColumn = ListingColumn<HotRange>;

impl HotRange {
    const PROCESSES: HotRangeColumn =
        ListingColumn::shown("Processes", Plain(0), Text(HotRange::named));

    /// Columns of a terminal's table.
    pub const TABLE: [HotRangeColumn; 11] = columns![
        RANGE, FROM, TO, FROM_PERCENT, TO_PERCENT, COUNT, SHARE, READS, WRITES, AMOUNT, PROCESSES
    ];

    /// Columns of a report's table, next to the locations of the ranges.
    pub(crate) const OF_REPORT: [HotRangeColumn; 6] =
        [Self::COUNT, Self::SHARE, Self::READS, Self::WRITES, Self::AMOUNT, Self::PROCESSES];
}

json_columns! {
    HotRange;
    /// Number of the range, counted from the lowest address, starting at 0.
    RANGE = "range", "Range", Plain(0), Whole(|r| r.range);
    /// Offset of the first byte.
    FROM = "from_bytes", "from MB", Megabytes(1), Whole(|r| r.span.0);
    /// Offset of the byte after the last.
    TO = "to_bytes", "to MB", Megabytes(1), Whole(|r| r.span.1);
    /// Start of the range, in percent of the device.
    FROM_PERCENT = "from_percent", "from %", Plain(2), Real(|r| r.percent.0);
    /// End of the range, in percent of the device.
    TO_PERCENT = "to_percent", "to %", Plain(2), Real(|r| r.percent.1);
    /// Reads and writes that touch the range.
    COUNT = "count", "hits", Plain(0), Whole(|r| r.count());
    /// Share of the hits of all ranges.
    SHARE = "share", "%", Percent(2), Real(|r| r.share);
    /// Reads that touch the range.
    READS = "reads", "reads", Plain(0), Whole(|r| r.reads);
    /// Writes that touch the range.
    WRITES = "writes", "writes", Plain(0), Whole(|r| r.writes);
    /// Data read and written inside the range.
    AMOUNT = "amount", "MB", Megabytes(1), Whole(|r| r.amount);
}
