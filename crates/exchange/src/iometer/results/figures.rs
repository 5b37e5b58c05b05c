//! Rows of results from measured figures: each kind of row has its own columns.

use super::columns::LATENCY_BINS;
use super::model::{Row, RowKind};
use crate::iometer::version::Dialect;
use std::collections::BTreeMap;

/// Frequency of the clock of raw times, which are in nanoseconds here. Iometer calls it the
/// processor speed.
const CLOCK_HZ: f64 = 1e9;
const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

/// I/Os of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_sum_ns: u64,
    /// Number of response times in that sum.
    pub responses: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// Failed I/Os.
    pub errors: u64,
}

/// Processor utilization, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Processors {
    /// Time in user space.
    pub user: f64,
    /// Time in the kernel.
    pub system: f64,
}

/// Figures of a test, from which a row is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Number of managers.
    pub managers: u64,
    /// Number of workers.
    pub workers: u64,
    /// Number of disks; a disk used by two workers counts twice.
    pub disks: u64,
    /// Reads and writes; `None` if they were not counted separately for this row.
    pub sides: Option<(Side, Side)>,
    /// Measured time, in nanoseconds.
    pub elapsed_ns: u64,
    /// The first sector; `None` where workers differ.
    pub start: Option<u64>,
    /// Sectors, 0 for all; `None` where workers differ.
    pub sectors: Option<u64>,
    /// Outstanding I/Os of each disk of each worker; `None` where workers differ.
    pub depth: Option<u64>,
    /// The processors, where they were observed.
    pub processors: Option<Processors>,
    /// I/Os by response time, one count per bin of [`LATENCY_BINS`].
    pub bins: Option<Vec<u64>>,
}

impl Row {
    /// Returns a row of the given kind, with the columns that this kind has.
    pub fn of(kind: RowKind, name: &str, spec: &str, dialect: Dialect, figures: &Figures) -> Self {
        let spec = if kind == RowKind::Disk { "" } else { spec };
        let mut values = Values { dialect, values: BTreeMap::new() };
        values.counts(&kind, figures);
        if let Some((read, write)) = figures.sides {
            values.rates(figures.elapsed_ns, &read, &write);
            values.response_times(&read, &write);
            values.totals(&read, &write);
            if kind != RowKind::All {
                values.raw(figures.elapsed_ns, &read, &write);
            }
        }
        values.place(figures);
        values.processors(&kind, figures);
        if let (Dialect::V1_1, Some(bins)) = (dialect, &figures.bins) {
            for ((name, _), count) in LATENCY_BINS.iter().zip(bins) {
                values.set(name, *count as f64);
            }
        }
        Row { kind, name: name.to_owned(), spec: spec.to_owned(), values: values.values }
    }
}

impl Row {
    /// Returns the row of a processor whose utilization was not observed separately.
    pub fn processor(name: &str) -> Self {
        Row {
            kind: RowKind::Processor,
            name: name.to_owned(),
            spec: String::new(),
            values: BTreeMap::from([("Processor Speed".to_owned(), CLOCK_HZ)]),
        }
    }
}

struct Values {
    dialect: Dialect,
    values: BTreeMap<String, f64>,
}

impl Values {
    fn set(&mut self, column: &str, value: f64) {
        self.values.insert(column.to_owned(), value);
    }

    fn counts(&mut self, kind: &RowKind, figures: &Figures) {
        if *kind == RowKind::All {
            self.set("# Managers", figures.managers as f64);
        }
        if matches!(kind, RowKind::All | RowKind::Manager) {
            self.set("# Workers", figures.workers as f64);
        }
        if *kind != RowKind::Disk {
            self.set("# Disks", figures.disks as f64);
        }
    }

    fn rates(&mut self, elapsed_ns: u64, read: &Side, write: &Side) {
        let rate = |count: u64| match elapsed_ns {
            0 => 0.0,
            ns => count as f64 / (ns as f64 / 1e9),
        };
        let ios = (rate(read.ios), rate(write.ios));
        let bytes = (rate(read.bytes), rate(write.bytes));
        self.three("IOps", ios, 1.0);
        match self.dialect {
            Dialect::Y2006 | Dialect::Y2008 => self.three("MBps", bytes, MIB),
            Dialect::V1_1 => {
                self.three("MiBps (Binary)", bytes, MIB);
                self.three("MBps (Decimal)", bytes, MB);
            }
        }
        self.set("Transactions per Second", ios.0 + ios.1);
        self.set("Connections per Second", 0.0);
    }

    fn three(&mut self, name: &str, (read, write): (f64, f64), unit: f64) {
        self.set(name, (read + write) / unit);
        self.set(&format!("Read {name}"), read / unit);
        self.set(&format!("Write {name}"), write / unit);
    }

    fn response_times(&mut self, read: &Side, write: &Side) {
        let ms = |ns: f64| ns / 1e6;
        let mean = |sum: u64, n: u64| if n == 0 { 0.0 } else { ms(sum as f64 / n as f64) };
        let responses = read.responses + write.responses;
        let both = mean(read.response_sum_ns + write.response_sum_ns, responses);
        self.set("Average Response Time", both);
        self.set("Average Read Response Time", mean(read.response_sum_ns, read.responses));
        self.set("Average Write Response Time", mean(write.response_sum_ns, write.responses));
        // A transaction of a disk is one I/O.
        self.set("Average Transaction Time", both);
        self.set("Average Connection Time", 0.0);
        let longest = read.response_max_ns.max(write.response_max_ns);
        self.set("Maximum Response Time", ms(longest as f64));
        self.set("Maximum Read Response Time", ms(read.response_max_ns as f64));
        self.set("Maximum Write Response Time", ms(write.response_max_ns as f64));
        self.set("Maximum Transaction Time", ms(longest as f64));
        self.set("Maximum Connection Time", 0.0);
    }

    fn totals(&mut self, read: &Side, write: &Side) {
        self.set("Errors", (read.errors + write.errors) as f64);
        self.set("Read Errors", read.errors as f64);
        self.set("Write Errors", write.errors as f64);
        self.set("Bytes Read", read.bytes as f64);
        self.set("Bytes Written", write.bytes as f64);
        self.set("Read I/Os", read.ios as f64);
        self.set("Write I/Os", write.ios as f64);
        self.set("Connections", 0.0);
        self.set("Transactions per Connection", -1.0);
    }

    fn raw(&mut self, elapsed_ns: u64, read: &Side, write: &Side) {
        self.set("Total Raw Read Response Time", read.response_sum_ns as f64);
        self.set("Total Raw Write Response Time", write.response_sum_ns as f64);
        let all = read.response_sum_ns + write.response_sum_ns;
        self.set("Total Raw Transaction Time", all as f64);
        self.set("Total Raw Connection Time", 0.0);
        self.set("Maximum Raw Read Response Time", read.response_max_ns as f64);
        self.set("Maximum Raw Write Response Time", write.response_max_ns as f64);
        let longest = read.response_max_ns.max(write.response_max_ns);
        self.set("Maximum Raw Transaction Time", longest as f64);
        self.set("Maximum Raw Connection Time", 0.0);
        self.set("Total Raw Run Time", elapsed_ns as f64);
    }

    fn place(&mut self, figures: &Figures) {
        // Iometer writes -1 where the workers of a row differ.
        let common = |value: Option<u64>| value.map_or(-1.0, |value| value as f64);
        self.set("Starting Sector", common(figures.start));
        self.set("Maximum Size", common(figures.sectors));
        self.set("Queue Depth", common(figures.depth));
    }

    fn processors(&mut self, kind: &RowKind, figures: &Figures) {
        if *kind != RowKind::All {
            self.set("Processor Speed", CLOCK_HZ);
        }
        let (RowKind::All | RowKind::Manager, Some(share)) = (kind, figures.processors) else {
            return;
        };
        let used = share.user + share.system;
        self.set("% CPU Utilization", used);
        self.set("% User Time", share.user);
        self.set("% Privileged Time", share.system);
        if let Some(iops) = self.values.get("IOps").filter(|_| used > 0.0) {
            self.values.insert("CPU Effectiveness".into(), iops / used);
        }
    }
}
