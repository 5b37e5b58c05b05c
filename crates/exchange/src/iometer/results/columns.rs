//! The columns of result files: name, format, dialects, the rows that have a value, and the value;
//! and the matching of a header's names to them (`canonical`).

use super::figures::{DirectionTotals, ProcessorUse, TestFigures};
use super::model::{ResultRow, RowKind};
use crate::iometer::version::Dialect;

/// The first three columns, which hold words.
pub(super) const WORDS: [&str; 3] = ["Target Type", "Target Name", "Access Specification Name"];

/// A column of numbers.
pub(super) struct ResultColumn {
    pub(super) name: &'static str,
    decimals: usize,
    /// Returns true for the dialects that have the column.
    dialects: fn(Dialect) -> bool,
    /// Returns true for the kinds of rows that have a value.
    rows: fn(&RowKind) -> bool,
    value: ColumnSource,
}

/// The source of a column's numbers.
#[derive(Clone, Copy)]
enum ColumnSource {
    /// Any figure of the test.
    Figure(fn(&TestFigures) -> Option<f64>),
    /// Reads and writes together.
    Both(SideMeasure),
    /// Reads.
    Read(SideMeasure),
    /// Writes.
    Write(SideMeasure),
    /// Count of the latency bin with this index.
    Bin(usize),
}

/// Computes a number from I/Os and the measured time in nanoseconds.
type SideMeasure = fn(&DirectionTotals, u64) -> f64;

/// Returns a column of whole numbers.
const fn count(
    name: &'static str,
    rows: fn(&RowKind) -> bool,
    value: ColumnSource,
) -> ResultColumn {
    ResultColumn { name, decimals: 0, dialects: |_| true, rows, value }
}
/// Returns a column of numbers with six decimal places.
const fn decimal(
    name: &'static str,
    rows: fn(&RowKind) -> bool,
    value: ColumnSource,
) -> ResultColumn {
    ResultColumn { decimals: 6, ..count(name, rows, value) }
}

impl ResultColumn {
    const fn until_2008(mut self) -> Self {
        self.dialects = |dialect| dialect != Dialect::V1_1;
        self
    }
    const fn since_1_1(mut self) -> Self {
        self.dialects = |dialect| dialect == Dialect::V1_1;
        self
    }

    /// Returns the name as written. Iometer puts a blank before the name of its last bin only.
    pub(super) fn written_name(&self) -> &'static str {
        if self.name == LATENCY_BINS[LATENCY_BINS.len() - 1].0 { " >= 10 s" } else { self.name }
    }
    /// Returns the text of a row's number; empty if the row has none.
    pub(super) fn cell(&self, row: &ResultRow) -> String {
        let number = row.get(self.name);
        number.map_or_else(String::new, |number| format!("{number:.0$}", self.decimals))
    }
    /// Returns the number for a row of a kind, or `None` if such rows have none.
    pub(super) fn number(&self, kind: &RowKind, figures: &TestFigures) -> Option<f64> {
        if !(self.rows)(kind) {
            return None;
        }
        let sides = figures.sides.as_ref();
        let elapsed = figures.elapsed_ns;
        match self.value {
            ColumnSource::Figure(value) => value(figures),
            ColumnSource::Both(value) => {
                sides.map(|(read, write)| value(&read.with(write), elapsed))
            }
            ColumnSource::Read(value) => sides.map(|(read, _)| value(read, elapsed)),
            ColumnSource::Write(value) => sides.map(|(_, write)| value(write, elapsed)),
            ColumnSource::Bin(bin) => Some(*figures.bins.as_ref()?.get(bin)? as f64),
        }
    }
}

use ColumnSource::{Both, Figure, Read, Write};

const EVERY: fn(&RowKind) -> bool = |_| true;
const WHOLE: fn(&RowKind) -> bool = |kind| *kind == RowKind::All;
const MANAGERS: fn(&RowKind) -> bool = |kind| matches!(kind, RowKind::All | RowKind::Manager);
const NOT_DISKS: fn(&RowKind) -> bool = |kind| *kind != RowKind::Disk;
const NOT_WHOLE: fn(&RowKind) -> bool = |kind| *kind != RowKind::All;

/// Columns that rows of processors have.
const UTILIZATION: &str = "% CPU Utilization";
const USER: &str = "% User Time";
const PRIVILEGED: &str = "% Privileged Time";
const DPC: &str = "% DPC Time";
const INTERRUPT: &str = "% Interrupt Time";
const SPEED: &str = "Processor Speed";

/// Frequency of the clock of raw times, which are in nanoseconds here. Iometer calls it the
/// processor speed in rows with raw times.
const CLOCK_HZ: f64 = 1e9;
const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;
/// Iometer writes -1 where the workers of a row differ.
const DIFFERENT: f64 = -1.0;

fn per_second(amount: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { amount as f64 / (elapsed_ns as f64 / 1e9) }
}
const IOPS: SideMeasure = |side, elapsed| per_second(side.ios, elapsed);
const MIBPS: SideMeasure = |side, elapsed| per_second(side.bytes, elapsed) / MIB;
const MBPS: SideMeasure = |side, elapsed| per_second(side.bytes, elapsed) / MB;
const MEAN_MS: SideMeasure = |side, _| match side.responses {
    0 => 0.0,
    responses => side.response_sum_ns as f64 / responses as f64 / 1e6,
};
const MAX_MS: SideMeasure = |side, _| side.response_max_ns as f64 / 1e6;
const BYTES: SideMeasure = |side, _| side.bytes as f64;
const IOS: SideMeasure = |side, _| side.ios as f64;
const SUM_NS: SideMeasure = |side, _| side.response_sum_ns as f64;
const MAX_NS: SideMeasure = |side, _| side.response_max_ns as f64;
/// Disks have no connections.
const NO_CONNECTIONS: SideMeasure = |_, _| 0.0;
const NO_TRANSACTIONS: SideMeasure = |_, _| -1.0;
const ELAPSED_NS: SideMeasure = |_, elapsed| elapsed as f64;

fn processor_use(figures: &TestFigures) -> Option<f64> {
    figures.processors.map(|processors| processors.user + processors.system)
}

fn ios_per_percent(figures: &TestFigures) -> Option<f64> {
    let (read, write) = figures.sides.as_ref()?;
    let used = processor_use(figures).filter(|used| *used > 0.0)?;
    Some(IOPS(&read.with(write), figures.elapsed_ns) / used)
}

/// All columns of numbers before the latency bins, in Iometer's order. A transaction of a disk is
/// one I/O.
static COLUMNS: [ResultColumn; 59] = [
    count("# Managers", WHOLE, Figure(|figures| Some(figures.managers as f64))),
    count("# Workers", MANAGERS, Figure(|figures| Some(figures.workers as f64))),
    count("# Disks", NOT_DISKS, Figure(|figures| Some(figures.disks as f64))),
    decimal("IOps", EVERY, Both(IOPS)),
    decimal("Read IOps", EVERY, Read(IOPS)),
    decimal("Write IOps", EVERY, Write(IOPS)),
    // 2006 and 2008 call MiB MB.
    decimal("MBps", EVERY, Both(MIBPS)).until_2008(),
    decimal("Read MBps", EVERY, Read(MIBPS)).until_2008(),
    decimal("Write MBps", EVERY, Write(MIBPS)).until_2008(),
    decimal("MiBps (Binary)", EVERY, Both(MIBPS)).since_1_1(),
    decimal("Read MiBps (Binary)", EVERY, Read(MIBPS)).since_1_1(),
    decimal("Write MiBps (Binary)", EVERY, Write(MIBPS)).since_1_1(),
    decimal("MBps (Decimal)", EVERY, Both(MBPS)).since_1_1(),
    decimal("Read MBps (Decimal)", EVERY, Read(MBPS)).since_1_1(),
    decimal("Write MBps (Decimal)", EVERY, Write(MBPS)).since_1_1(),
    decimal("Transactions per Second", EVERY, Both(IOPS)),
    decimal("Connections per Second", EVERY, Both(NO_CONNECTIONS)),
    decimal("Average Response Time", EVERY, Both(MEAN_MS)),
    decimal("Average Read Response Time", EVERY, Read(MEAN_MS)),
    decimal("Average Write Response Time", EVERY, Write(MEAN_MS)),
    decimal("Average Transaction Time", EVERY, Both(MEAN_MS)),
    decimal("Average Connection Time", EVERY, Both(NO_CONNECTIONS)),
    decimal("Maximum Response Time", EVERY, Both(MAX_MS)),
    decimal("Maximum Read Response Time", EVERY, Read(MAX_MS)),
    decimal("Maximum Write Response Time", EVERY, Write(MAX_MS)),
    decimal("Maximum Transaction Time", EVERY, Both(MAX_MS)),
    decimal("Maximum Connection Time", EVERY, Both(NO_CONNECTIONS)),
    count("Errors", EVERY, Figure(|figures| Some(figures.errors?.all as f64))),
    count("Read Errors", EVERY, Figure(|figures| Some(figures.errors?.reads? as f64))),
    count("Write Errors", EVERY, Figure(|figures| Some(figures.errors?.writes()? as f64))),
    count("Bytes Read", EVERY, Read(BYTES)),
    count("Bytes Written", EVERY, Write(BYTES)),
    count("Read I/Os", EVERY, Read(IOS)),
    count("Write I/Os", EVERY, Write(IOS)),
    count("Connections", EVERY, Both(NO_CONNECTIONS)),
    count("Transactions per Connection", EVERY, Both(NO_TRANSACTIONS)),
    count("Total Raw Read Response Time", NOT_WHOLE, Read(SUM_NS)),
    count("Total Raw Write Response Time", NOT_WHOLE, Write(SUM_NS)),
    count("Total Raw Transaction Time", NOT_WHOLE, Both(SUM_NS)),
    count("Total Raw Connection Time", NOT_WHOLE, Both(NO_CONNECTIONS)),
    count("Maximum Raw Read Response Time", NOT_WHOLE, Read(MAX_NS)),
    count("Maximum Raw Write Response Time", NOT_WHOLE, Write(MAX_NS)),
    count("Maximum Raw Transaction Time", NOT_WHOLE, Both(MAX_NS)),
    count("Maximum Raw Connection Time", NOT_WHOLE, Both(NO_CONNECTIONS)),
    count("Total Raw Run Time", NOT_WHOLE, Both(ELAPSED_NS)),
    count("Starting Sector", EVERY, Figure(|figures| common(figures.start))),
    count("Maximum Size", EVERY, Figure(|figures| common(figures.sectors))),
    count("Queue Depth", EVERY, Figure(|figures| common(figures.depth))),
    decimal(UTILIZATION, MANAGERS, Figure(processor_use)),
    decimal(USER, MANAGERS, Figure(|figures| Some(figures.processors?.user))),
    decimal(PRIVILEGED, MANAGERS, Figure(|figures| Some(figures.processors?.system))),
    decimal(DPC, MANAGERS, Figure(|figures| figures.processors?.soft_interrupts)),
    decimal(INTERRUPT, MANAGERS, Figure(|figures| figures.processors?.interrupts)),
    count(SPEED, NOT_WHOLE, Figure(|_| Some(CLOCK_HZ))),
    decimal("Interrupts per Second", MANAGERS, Figure(|figures| figures.host.interrupts)),
    decimal("CPU Effectiveness", MANAGERS, Figure(ios_per_percent)),
    decimal("Packets/Second", MANAGERS, Figure(|figures| figures.host.packets)),
    count("Packet Errors", MANAGERS, Figure(|figures| figures.host.packet_errors)),
    decimal(
        "Segments Retransmitted/Second",
        MANAGERS,
        Figure(|figures| figures.host.segments_retransmitted),
    ),
];

/// Returns the value that all workers of a row have in common, or [`DIFFERENT`].
fn common(value: Option<u64>) -> Option<f64> {
    Some(value.map_or(DIFFERENT, |value| value as f64))
}

/// The bins of response times that 1.1.0 appends: the name of the column, and the exclusive upper
/// bound of the bin, in microseconds.
pub const LATENCY_BINS: [(&str, u64); 21] = [
    ("0 to 50 uS", 50),
    ("50 to 100 uS", 100),
    ("100 to 200 uS", 200),
    ("200 to 500 uS", 500),
    ("0.5 to 1 mS", 1_000),
    ("1 to 2 mS", 2_000),
    ("2 to 5 mS", 5_000),
    ("5 to 10 mS", 10_000),
    ("10 to 15 mS", 15_000),
    ("15 to 20 mS", 20_000),
    ("20 to 30 mS", 30_000),
    ("30 to 50 mS", 50_000),
    ("50 to 100 mS", 100_000),
    ("100 to 200 mS", 200_000),
    ("200 to 500 mS", 500_000),
    ("0.5 to 1 S", 1_000_000),
    ("1 to 2 s", 2_000_000),
    ("2 to 4.7 s", 4_700_000),
    ("4.7 to 5 s", 5_000_000),
    ("5 to 10 s", 10_000_000),
    (">= 10 s", u64::MAX),
];

/// Source of a bin's column until [`BINS`] sets it.
const PLACEHOLDER: ColumnSource = Figure(|_| None);

static BINS: [ResultColumn; LATENCY_BINS.len()] = {
    let mut columns = [const { count("", EVERY, PLACEHOLDER).since_1_1() }; LATENCY_BINS.len()];
    let mut bin = 0;
    while bin < columns.len() {
        columns[bin].name = LATENCY_BINS[bin].0;
        columns[bin].value = ColumnSource::Bin(bin);
        bin += 1;
    }
    columns
};

/// Returns the columns of numbers of a dialect, in its order.
pub(super) fn columns(dialect: Dialect) -> Vec<&'static ResultColumn> {
    COLUMNS.iter().chain(&BINS).filter(|column| (column.dialects)(dialect)).collect()
}

/// Returns the name in [`columns`] of a column as a file's header writes it. Ignores the case,
/// surrounding blanks and a leading quotation mark. An unknown name is only trimmed.
pub(super) fn canonical(name: &str) -> String {
    let name = name.trim().trim_start_matches('\'').trim();
    // Builds between the releases called the binary rates MBps, too.
    let name = match name.strip_suffix("MBps (Binary)") {
        Some(start) => format!("{start}MiBps (Binary)"),
        None => name.to_owned(),
    };
    let mut names = COLUMNS.iter().chain(&BINS).map(|column| column.name);
    names.find(|known| known.eq_ignore_ascii_case(&name)).map_or(name, str::to_owned)
}

impl ResultRow {
    /// Returns a row of the given kind, with the columns that this kind has.
    pub fn new(
        kind: RowKind,
        name: &str,
        spec: &str,
        dialect: Dialect,
        figures: &TestFigures,
    ) -> Self {
        let spec = if kind == RowKind::Disk { "" } else { spec };
        let numbers = columns(dialect)
            .into_iter()
            .filter_map(|column| Some((column.name.to_owned(), column.number(&kind, figures)?)));
        let values = numbers.collect();
        ResultRow { kind, name: name.to_owned(), spec: spec.to_owned(), values }
    }
    /// Returns the row of a processor: its utilization and its frequency in Hz, where known.
    pub fn processor(name: &str, observed: Option<ProcessorUse>, hz: Option<u64>) -> Self {
        let numbers = [
            (UTILIZATION, observed.map(|cpu| cpu.user + cpu.system)),
            (USER, observed.map(|cpu| cpu.user)),
            (PRIVILEGED, observed.map(|cpu| cpu.system)),
            (DPC, observed.and_then(|cpu| cpu.soft_interrupts)),
            (INTERRUPT, observed.and_then(|cpu| cpu.interrupts)),
            (SPEED, hz.map(|hz| hz as f64)),
        ];
        let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name, value?)));
        ResultRow {
            kind: RowKind::Processor,
            name: name.to_owned(),
            spec: String::new(),
            values: numbers.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_columns() {
        assert_eq!(WORDS.len() + columns(Dialect::Y2006).len(), 56);
        assert_eq!(WORDS.len() + columns(Dialect::V1_1).len(), 56 + 3 + 21);
        assert_eq!(canonical(" MBps (Binary)"), "MiBps (Binary)");
        assert_eq!(canonical("'read mbps"), "Read MBps");
        assert!(LATENCY_BINS.iter().map(|(_, limit)| limit).is_sorted());
    }
}
