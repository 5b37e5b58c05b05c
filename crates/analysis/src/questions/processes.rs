//! The process map: the I/Os of each process.

use crate::cells::{Dimensions, FilteredCells};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::cube::CellSums;
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::stream_figures::share_of;
use crate::sums::io_sums::{IoSums, SumColumns};
use crate::tables::bounded_table::BoundedTable;
use crate::tables::recent_cache::RecentCache;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::CommandName;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of processes that are counted separately: those with the lowest numbers. I/Os of
/// all others are counted together.
pub const PROCESSES_MAX: usize = 1 << 16;

/// A process: number and command name.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "(u32, [u8; 16])", into = "(u32, [u8; 16])")]
pub struct ProcessKey {
    /// Process number; 0 if unknown.
    pub pid: u32,
    /// Command name; empty if it was not recorded.
    pub command: CommandName,
}

impl From<(u32, [u8; 16])> for ProcessKey {
    fn from((pid, command): (u32, [u8; 16])) -> Self {
        ProcessKey { pid, command: CommandName(command) }
    }
}

impl From<ProcessKey> for (u32, [u8; 16]) {
    fn from(key: ProcessKey) -> Self {
        (key.pid, key.command.0)
    }
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.command.is_empty()) {
            (0, true) => f.write_str("unknown"),
            // A program called "unknown" is not an unknown program.
            (0, false) if self.command.to_string() == "unknown" => f.write_str("'unknown'"),
            (0, false) => write!(f, "{}", self.command),
            (pid, true) => write!(f, "PID {pid}"),
            (pid, false) => write!(f, "{} ({pid})", self.command),
        }
    }
}

/// The processes of a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessTable(BoundedTable<ProcessKey>);

impl Default for ProcessTable {
    fn default() -> Self {
        Self::keeping(PROCESSES_MAX)
    }
}

impl ProcessTable {
    /// Creates an empty table that counts at most `most` processes separately.
    pub fn keeping(most: usize) -> Self {
        ProcessTable(BoundedTable::keeping(most))
    }
    /// Adds sums of the I/Os of a process.
    pub fn add(&mut self, key: ProcessKey, tally: &IoSums) {
        self.0.tally(key).merge(tally);
    }
    /// Adds sums of I/Os that were not counted by process.
    pub fn add_unlisted(&mut self, tally: &IoSums) {
        self.0.rest_mut().merge(tally);
    }
    /// Iterates over the processes, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ProcessKey, &IoSums)> {
        self.0.iter()
    }
    /// Returns the I/Os of the processes beyond [`PROCESSES_MAX`], all together.
    pub fn unlisted(&self) -> &IoSums {
        self.0.rest()
    }
    /// Returns the table with all processes of a command name merged. Processes without a name stay
    /// separate.
    pub fn by_command(&self) -> ProcessTable {
        let mut merged = ProcessTable::default();
        merged.add_unlisted(self.unlisted());
        for (key, tally) in self.iter() {
            let pid = if key.command.is_empty() { key.pid } else { 0 };
            merged.add(ProcessKey { pid, command: key.command }, tally);
        }
        merged
    }
    /// Returns the `most` processes with the most I/Os, in descending order.
    pub fn most_active(&self, most: usize) -> Vec<ProcessKey> {
        let mut keys: Vec<(Reverse<u64>, ProcessKey)> =
            self.iter().map(|(key, tally)| (Reverse(tally.count()), *key)).collect();
        keys.sort_unstable();
        keys.into_iter().take(most).map(|(_, key)| key).collect()
    }
    /// Returns one row per process, in descending order of I/Os.
    pub fn listing(&self) -> Vec<ProcessFigures> {
        let listed: u64 = self.iter().map(|(_, sums)| sums.count()).sum();
        let total = listed + self.unlisted().count();
        let figures = |(key, sums): (&ProcessKey, &IoSums)| ProcessFigures {
            key: *key,
            share: share_of(sums.count(), total),
            sums: sums.clone(),
        };
        let mut rows: Vec<ProcessFigures> = self.iter().map(figures).collect();
        rows.sort_by_key(|row| (Reverse(row.sums.count()), row.key));
        rows
    }
}

impl Fold for ProcessTable {
    fn fields(&self) -> Fields {
        IoSums::FIELDS.and(Fields::new(&[Field::Pid, Field::Command]))
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (columns, pid) = (SumColumns::new(rows, false), rows.batch.narrow(Field::Pid));
        let mut cache = RecentCache::new();
        for row in rows.iter() {
            let key = ProcessKey { pid: pid.at(row), command: rows.batch.command(row) };
            self.0.cached_tally(&mut cache, key.pid.into(), key, || key).add(&columns, row);
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(ProcessTable::keeping(self.0.most()))
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        if recorded.processes { Ok(()) } else { Err(NotRecorded::Processes) }
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            let key = ProcessKey { pid: cell.who.pid, command: cell.who.command };
            self.0.tally(key).add_cell(cell, cells.dimensions.single_ios, false);
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.0.merge(other.0);
        Ok(())
    }
}

/// One process of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessFigures {
    /// Number and command. The number is 0 if unknown, or if the row holds all processes of a
    /// command.
    pub key: ProcessKey,
    /// Share of all I/Os, 0 to 1.
    pub share: f64,
    /// Sums over the process's I/Os.
    pub sums: IoSums,
}

json_columns! {
    ProcessFigures;
    /// Process ID and command, for display.
    PROCESS = "process", "Process", Plain(0), Text(|p| p.key.to_string());
    /// Process ID; null for all processes of a command.
    PID = "pid", "PID", Plain(0), MaybeWhole(|p| Some(p.key.pid.into()).filter(|pid| *pid > 0));
    /// Command name; null if it was not recorded.
    COMMAND = "command", "Command", Plain(0),
        MaybeText(|p| (!p.key.command.is_empty()).then(|| p.key.command.to_string()));
    /// I/Os.
    COUNT = "count", "I/Os", Plain(0), Whole(|p| p.sums.count());
    /// Data moved.
    AMOUNT = "amount", "MB", Megabytes(1), Whole(|p| p.sums.amount());
    /// Share of all I/Os.
    SHARE = "share", "%", Percent(2), Real(|p| p.share);
    /// Reads.
    READS = "reads", "reads", Plain(0), Whole(|p| p.sums.of_op(IoOp::Read).ios);
    /// Writes.
    WRITES = "writes", "writes", Plain(0), Whole(|p| p.sums.of_op(IoOp::Write).ios);
    /// Sequential I/Os.
    SEQUENTIAL = "sequential", "SEQ", Plain(0), Whole(|p| p.sums.sequential());
    /// Average response time.
    ART = "response_mean_ns", "ART ms", Milliseconds, MaybeWhole(|p| p.sums.times.responses.total.mean_ns());
    /// Longest response time.
    MRT = "response_max_ns", "MRT ms", Milliseconds, MaybeWhole(|p| p.sums.times.responses.total.longest_ns());
    /// Average time in the queue.
    QUEUE_MEAN = "queue_mean_ns", "queue ms", Milliseconds, MaybeWhole(|p| p.sums.times.queued.total.mean_ns());
    /// Longest time in the queue.
    QUEUE_MAX = "queue_max_ns", "queue max ms", Milliseconds, MaybeWhole(|p| p.sums.times.queued.total.longest_ns());
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(|p| p.sums.times.together.share());
    /// Issue times of the first and the last I/O, in nanoseconds since the capture began.
    SPAN = "span_ns", "From, to", Plain(0), MaybeSpan(|p| p.sums.span_ns);
}

type ProcessColumn = ListingColumn<ProcessFigures>;

impl ProcessFigures {
    const TABLE: [ProcessColumn; 9] =
        columns![PROCESS, COUNT, SHARE, READS, WRITES, SEQUENTIAL, AMOUNT, ART, MRT];

    /// Returns the columns of a terminal's table, with times in the queue if they are known.
    pub fn table(has_queue: bool) -> Vec<ProcessColumn> {
        let queue: &[ProcessColumn] =
            if has_queue { &[Self::QUEUE_MEAN, Self::QUEUE_SHARE] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }

    /// Columns of a report's table, next to the process names.
    pub const OF_REPORT: [ProcessColumn; 9] = [
        Self::COUNT,
        Self::SHARE.headed("% of all"),
        Self::READS.headed("Reads"),
        Self::WRITES.headed("Writes"),
        Self::AMOUNT,
        Self::ART,
        Self::MRT,
        Self::QUEUE_MEAN,
        Self::QUEUE_SHARE,
    ];
}
