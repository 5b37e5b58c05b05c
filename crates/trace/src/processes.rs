//! The process map: which process did which I/Os.

use crate::cells::{Cell, Cells};
use crate::columns::{self, Column, Print};
use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::firsts::{Firsts, Place};
use crate::fold::{Alike, Fold, FoldCells, FoldSums, InParts, Rows};
use crate::queue::Queued;
use crate::quick::QuickMap;
use crate::untold::Untold;
use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::fmt;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::Command;

/// Processes kept apart, those with the lowest numbers; I/Os of further ones are
/// counted together.
pub const PROCESSES_MAX: usize = 1 << 16;

/// A process: number and command name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessKey {
    /// Its number; 0 where unknown.
    pub pid: u32,
    /// Its command name; empty where it was left out.
    pub command: Command,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.command.is_empty()) {
            (0, true) => f.write_str("unknown"),
            (0, false) => write!(f, "{}", self.command),
            (pid, true) => write!(f, "PID {pid}"),
            (pid, false) => write!(f, "{} ({pid})", self.command),
        }
    }
}

/// What a process's I/Os add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessTally {
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Bytes by operation.
    pub bytes: [u64; 5],
    /// Sequential I/Os.
    pub sequential: u64,
    /// Response times added up, in nanoseconds.
    pub response_sum_ns: u64,
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// The longest, in nanoseconds.
    pub response_max_ns: u64,
    /// Times in the queue.
    pub queued: Queued,
    /// Issue time of its first and last I/O.
    pub span_ns: Option<(u64, u64)>,
}

impl ProcessTally {
    /// I/Os of all operations.
    pub fn total(&self) -> u64 {
        self.ios.iter().sum()
    }
    /// Bytes of all operations.
    pub fn amount(&self) -> u64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
    /// Adds another part.
    pub fn merge(&mut self, other: &ProcessTally) {
        for op in 0..self.ios.len() {
            self.ios[op] += other.ios[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.sequential += other.sequential;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.responses += other.responses;
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.queued.merge(other.queued);
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    fn take_cell(&mut self, cell: &Cell) {
        let op = cell.op as usize;
        let mut part = ProcessTally {
            sequential: if cell.sequential { cell.ios } else { 0 },
            response_sum_ns: cell.responses.sum_ns,
            responses: cell.responses.count,
            response_max_ns: cell.responses.max_ns,
            queued: Queued::of_cell(cell),
            span_ns: Some(cell.span_ns),
            ..ProcessTally::default()
        };
        (part.ios[op], part.bytes[op]) = (cell.ios, cell.amount());
        self.merge(&part);
    }

    fn add(&mut self, rows: &Rows<'_>, row: usize) {
        let op = rows.batch.op(row) as usize;
        self.ios[op] += 1;
        self.bytes[op] = self.bytes[op].saturating_add(u64::from(rows.batch.bytes(row)));
        self.sequential += u64::from(rows.sequential[row]);
        if let Some(response) = rows.response_ns(row) {
            self.responses += 1;
            self.response_sum_ns = self.response_sum_ns.saturating_add(response);
            self.response_max_ns = self.response_max_ns.max(response);
        }
        self.queued.add(rows, row);
        let time = rows.batch.issued_ns(row);
        let (from, to) = self.span_ns.unwrap_or((time, time));
        self.span_ns = Some((from.min(time), to.max(time)));
    }
}

/// The processes of a capture.
#[derive(Debug, Clone)]
pub struct ProcessTable {
    processes: QuickMap<ProcessKey, ProcessTally>,
    firsts: Firsts<ProcessKey>,
    unlisted: ProcessTally,
}

impl Default for ProcessTable {
    fn default() -> Self {
        Self::keeping(PROCESSES_MAX)
    }
}

impl PartialEq for ProcessTable {
    fn eq(&self, other: &Self) -> bool {
        self.processes == other.processes && self.unlisted == other.unlisted
    }
}

impl ProcessTable {
    /// An empty one that keeps at most so many processes apart.
    pub fn keeping(most: usize) -> Self {
        let (processes, unlisted) = (QuickMap::default(), ProcessTally::default());
        ProcessTable { processes, firsts: Firsts::new(most), unlisted }
    }
    /// Adds a process's I/Os that were added up before.
    pub fn add(&mut self, key: ProcessKey, tally: &ProcessTally) {
        self.tally(key).merge(tally);
    }
    /// Adds I/Os that were not kept apart by process.
    pub fn add_unlisted(&mut self, tally: &ProcessTally) {
        self.unlisted.merge(tally);
    }
    /// The processes, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ProcessKey, &ProcessTally)> {
        self.processes.iter()
    }
    /// I/Os beyond [`PROCESSES_MAX`] processes, all together.
    pub fn unlisted(&self) -> &ProcessTally {
        &self.unlisted
    }
    /// The same with all processes of a command name together; those without
    /// a name stay apart.
    pub fn by_command(&self) -> ProcessTable {
        let mut merged = ProcessTable { unlisted: self.unlisted, ..ProcessTable::default() };
        for (key, tally) in &self.processes {
            let pid = if key.command.is_empty() { key.pid } else { 0 };
            merged.tally(ProcessKey { pid, command: key.command }).merge(tally);
        }
        merged
    }
    /// The processes with the most I/Os, these first.
    pub fn most_active(&self, most: usize) -> Vec<ProcessKey> {
        let mut keys: Vec<(Reverse<u64>, ProcessKey)> =
            self.processes.iter().map(|(key, tally)| (Reverse(tally.total()), *key)).collect();
        keys.sort_unstable();
        keys.into_iter().take(most).map(|(_, key)| key).collect()
    }
    /// The processes as a report lists them: the most I/Os first.
    pub fn listing(&self) -> Vec<ProcessFigures> {
        let total: u64 =
            self.processes.values().map(ProcessTally::total).sum::<u64>() + self.unlisted.total();
        let mut keys: Vec<_> = self.processes.iter().collect();
        keys.sort_by_key(|(key, tally)| (Reverse(tally.total()), **key));
        keys.into_iter().map(|(key, tally)| ProcessFigures::of(key, tally, total)).collect()
    }

    fn tally(&mut self, key: ProcessKey) -> &mut ProcessTally {
        if self.firsts.is_full() && !self.processes.contains_key(&key) {
            return self.make_room(key);
        }
        match self.processes.entry(key) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                self.firsts.admit(key);
                place.insert(ProcessTally::default())
            }
        }
    }

    #[cold]
    fn make_room(&mut self, key: ProcessKey) -> &mut ProcessTally {
        match self.firsts.admit(key) {
            Place::None => return &mut self.unlisted,
            Place::Free => {}
            Place::Of(last) => {
                let gone = self.processes.remove(&last).unwrap_or_default();
                self.unlisted.merge(&gone);
            }
        }
        self.processes.entry(key).or_default()
    }
}

impl Alike for ProcessTable {
    fn alike(&self) -> Self {
        ProcessTable::keeping(self.firsts.most())
    }
}

impl Fold for ProcessTable {
    fn fields(&self) -> Fields {
        Fields::of(&[
            Field::Issued,
            Field::Pid,
            Field::Command,
            Field::Op,
            Field::Bytes,
            Field::Response,
            Field::Queued,
        ])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let key = ProcessKey { pid: rows.batch.pid(row), command: rows.batch.command(row) };
            self.tally(key).add(rows, row);
        }
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Err(Untold::Processes)
    }
    fn of_cells(&mut self) -> Result<&mut dyn FoldCells, Untold> {
        Ok(self)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.unlisted.merge(&other.unlisted);
        for (key, tally) in &other.processes {
            self.tally(*key).merge(tally);
        }
        Ok(())
    }
}

impl FoldCells for ProcessTable {
    fn take_cells(&mut self, cells: &Cells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            let key = ProcessKey { pid: cell.who.pid, command: cell.who.command };
            self.tally(key).take_cell(cell);
        }
        Ok(())
    }
}

/// One process of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessFigures {
    /// Number and command, for people.
    pub process: String,
    /// Its number; `None` where unknown, or where a command's processes stand together.
    pub pid: Option<u32>,
    /// Its command name; `None` where it was left out.
    pub command: Option<String>,
    /// I/Os.
    pub count: u64,
    /// Bytes moved.
    pub amount: u64,
    /// Share of all I/Os, 0 to 1.
    pub share: f64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Sequential I/Os.
    pub sequential: u64,
    /// Average response time.
    pub response_mean_ns: Option<u64>,
    /// Longest response time.
    pub response_max_ns: Option<u64>,
    /// Times in the queue before.
    pub queued: Queued,
    /// Issue time of its first and last I/O.
    pub span_ns: Option<(u64, u64)>,
}

impl ProcessFigures {
    fn of(key: &ProcessKey, tally: &ProcessTally, total: u64) -> Self {
        ProcessFigures {
            process: key.to_string(),
            pid: (key.pid > 0).then_some(key.pid),
            command: (!key.command.is_empty()).then(|| key.command.to_string()),
            count: tally.total(),
            amount: tally.amount(),
            share: if total == 0 { 0.0 } else { tally.total() as f64 / total as f64 },
            reads: tally.ios[IoOp::Read as usize],
            writes: tally.ios[IoOp::Write as usize],
            sequential: tally.sequential,
            response_mean_ns: tally.response_sum_ns.checked_div(tally.responses),
            response_max_ns: (tally.responses > 0).then_some(tally.response_max_ns),
            queued: tally.queued,
            span_ns: tally.span_ns,
        }
    }
}

impl schemars::JsonSchema for ProcessFigures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ProcessFigures".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&Self::ALL)
    }
}

impl Serialize for ProcessFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns::serialize(&Self::ALL, self, serializer)
    }
}

type Of = Column<ProcessFigures>;

/// What is told of a process.
impl ProcessFigures {
    const PROCESS: Of =
        Column::new("process", "Process", Print::Plain(0), |p| p.process.clone().into());
    const PID: Of = Column::new("pid", "PID", Print::Plain(0), |p| p.pid.into());
    const COMMAND: Of =
        Column::new("command", "Command", Print::Plain(0), |p| p.command.clone().into());
    const COUNT: Of = Column::new("count", "I/Os", Print::Plain(0), |p| p.count.into());
    const AMOUNT: Of = Column::new("amount", "MB", Print::Megabytes(1), |p| p.amount.into());
    const SHARE: Of = Column::new("share", "%", Print::Percent(2), |p| p.share.into());
    const READS: Of = Column::new("reads", "reads", Print::Plain(0), |p| p.reads.into());
    const WRITES: Of = Column::new("writes", "writes", Print::Plain(0), |p| p.writes.into());
    const SEQUENTIAL: Of =
        Column::new("sequential", "SEQ", Print::Plain(0), |p| p.sequential.into());
    const ART: Of = Column::new("response_mean_ns", "ART ms", Print::Milliseconds, |p| {
        p.response_mean_ns.into()
    });
    const MRT: Of =
        Column::new("response_max_ns", "MRT ms", Print::Milliseconds, |p| p.response_max_ns.into());
    const QUEUE_MEAN: Of = Column::new("queue_mean_ns", "queue ms", Print::Milliseconds, |p| {
        p.queued.mean_ns().into()
    });
    const QUEUE_MAX: Of = Column::new("queue_max_ns", "queue max", Print::Milliseconds, |p| {
        p.queued.longest_ns().into()
    });
    const QUEUE_SHARE: Of = Column::new("queue_share", "queue %", Print::Percent(1), |p| {
        p.queued.together.share().into()
    });
    const SPAN: Of = Column::new("span_ns", "From, to", Print::Plain(0), |p| p.span_ns.into());

    /// Everything, as JSON has it.
    const ALL: [Of; 15] = [
        Self::PROCESS,
        Self::PID,
        Self::COMMAND,
        Self::COUNT,
        Self::AMOUNT,
        Self::SHARE,
        Self::READS,
        Self::WRITES,
        Self::SEQUENTIAL,
        Self::ART,
        Self::MRT,
        Self::QUEUE_MEAN,
        Self::QUEUE_MAX,
        Self::QUEUE_SHARE,
        Self::SPAN,
    ];

    /// A terminal's table.
    const TABLE: [Of; 9] = [
        Self::PROCESS,
        Self::COUNT,
        Self::SHARE,
        Self::READS,
        Self::WRITES,
        Self::SEQUENTIAL,
        Self::AMOUNT,
        Self::ART,
        Self::MRT,
    ];

    /// A terminal's table, with times in the queue where they are known.
    pub fn table(tells_queue: bool) -> Vec<Of> {
        let queue: &[Of] = if tells_queue { &[Self::QUEUE_MEAN, Self::QUEUE_SHARE] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }

    /// A report's table, beside the processes' names.
    pub const OF_REPORT: [Of; 9] = [
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
