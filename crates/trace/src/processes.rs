//! The process map: which process did which I/Os.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::pass::{Fold, Rows};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::Command;

/// Processes kept apart; I/Os of further ones are counted together.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
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
        let time = rows.batch.issued_ns(row);
        let (from, to) = self.span_ns.unwrap_or((time, time));
        self.span_ns = Some((from.min(time), to.max(time)));
    }
}

/// The processes of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessTable {
    processes: HashMap<ProcessKey, ProcessTally>,
    unlisted: ProcessTally,
}

impl ProcessTable {
    /// The processes, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ProcessKey, &ProcessTally)> {
        self.processes.iter()
    }
    /// I/Os beyond [`PROCESSES_MAX`] processes, all together.
    pub fn unlisted(&self) -> &ProcessTally {
        &self.unlisted
    }
    /// Adds another part of the same trace.
    pub fn merge(&mut self, other: &ProcessTable) {
        self.unlisted.merge(&other.unlisted);
        for (key, tally) in &other.processes {
            self.tally(*key).merge(tally);
        }
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
    /// The processes as a report lists them: the most I/Os first.
    pub fn listing(&self) -> Vec<ProcessFigures> {
        let total: u64 =
            self.processes.values().map(ProcessTally::total).sum::<u64>() + self.unlisted.total();
        let mut keys: Vec<_> = self.processes.iter().collect();
        keys.sort_by_key(|(key, tally)| (Reverse(tally.total()), **key));
        keys.into_iter().map(|(key, tally)| ProcessFigures::of(key, tally, total)).collect()
    }

    fn tally(&mut self, key: ProcessKey) -> &mut ProcessTally {
        if self.processes.len() >= PROCESSES_MAX && !self.processes.contains_key(&key) {
            return &mut self.unlisted;
        }
        self.processes.entry(key).or_default()
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
        ])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let key = ProcessKey { pid: rows.batch.pid(row), command: rows.batch.command(row) };
            self.tally(key).add(rows, row);
        }
        Ok(())
    }
}

/// One process of a listing.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
            span_ns: tally.span_ns,
        }
    }
}
