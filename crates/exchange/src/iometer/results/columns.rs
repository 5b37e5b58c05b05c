//! Columns of each version, in their order.

use crate::iometer::version::Dialect;

/// Format of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A whole number.
    Count,
    /// A number with six decimal places.
    Decimal,
}

use Form::{Count, Decimal};

/// The first three columns, which hold words.
pub(super) const WORDS: [&str; 3] = ["Target Type", "Target Name", "Access Specification Name"];

const COUNTS: [(&str, Form); 3] = [("# Managers", Count), ("# Workers", Count), ("# Disks", Count)];
const IOPS: [(&str, Form); 3] =
    [("IOps", Decimal), ("Read IOps", Decimal), ("Write IOps", Decimal)];
const RATES_2006: [(&str, Form); 3] =
    [("MBps", Decimal), ("Read MBps", Decimal), ("Write MBps", Decimal)];
const RATES_1_1: [(&str, Form); 6] = [
    ("MiBps (Binary)", Decimal),
    ("Read MiBps (Binary)", Decimal),
    ("Write MiBps (Binary)", Decimal),
    ("MBps (Decimal)", Decimal),
    ("Read MBps (Decimal)", Decimal),
    ("Write MBps (Decimal)", Decimal),
];
const REST: [(&str, Form); 44] = [
    ("Transactions per Second", Decimal),
    ("Connections per Second", Decimal),
    ("Average Response Time", Decimal),
    ("Average Read Response Time", Decimal),
    ("Average Write Response Time", Decimal),
    ("Average Transaction Time", Decimal),
    ("Average Connection Time", Decimal),
    ("Maximum Response Time", Decimal),
    ("Maximum Read Response Time", Decimal),
    ("Maximum Write Response Time", Decimal),
    ("Maximum Transaction Time", Decimal),
    ("Maximum Connection Time", Decimal),
    ("Errors", Count),
    ("Read Errors", Count),
    ("Write Errors", Count),
    ("Bytes Read", Count),
    ("Bytes Written", Count),
    ("Read I/Os", Count),
    ("Write I/Os", Count),
    ("Connections", Count),
    ("Transactions per Connection", Count),
    ("Total Raw Read Response Time", Count),
    ("Total Raw Write Response Time", Count),
    ("Total Raw Transaction Time", Count),
    ("Total Raw Connection Time", Count),
    ("Maximum Raw Read Response Time", Count),
    ("Maximum Raw Write Response Time", Count),
    ("Maximum Raw Transaction Time", Count),
    ("Maximum Raw Connection Time", Count),
    ("Total Raw Run Time", Count),
    ("Starting Sector", Count),
    ("Maximum Size", Count),
    ("Queue Depth", Count),
    ("% CPU Utilization", Decimal),
    ("% User Time", Decimal),
    ("% Privileged Time", Decimal),
    ("% DPC Time", Decimal),
    ("% Interrupt Time", Decimal),
    ("Processor Speed", Count),
    ("Interrupts per Second", Decimal),
    ("CPU Effectiveness", Decimal),
    ("Packets/Second", Decimal),
    ("Packet Errors", Count),
    ("Segments Retransmitted/Second", Decimal),
];

/// The last bin of response times.
pub(super) const LAST_BIN: &str = ">= 10 s";

/// The bins of response times that 1.1.0 appends: the name of the column, and the first
/// time that is above the bin, in microseconds.
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
    (LAST_BIN, u64::MAX),
];

/// Returns name and format of every numeric column, in the order of the version.
pub(super) fn numbers(dialect: Dialect) -> Vec<(&'static str, Form)> {
    let mut columns = COUNTS.to_vec();
    columns.extend(IOPS);
    match dialect {
        Dialect::Y2006 | Dialect::Y2008 => columns.extend(RATES_2006),
        Dialect::V1_1 => columns.extend(RATES_1_1),
    }
    columns.extend(REST);
    if dialect == Dialect::V1_1 {
        columns.extend(LATENCY_BINS.iter().map(|(name, _)| (*name, Count)));
    }
    columns
}

/// Returns the canonical name of a column, whatever a build calls it.
pub(super) fn known(name: &str) -> String {
    let name = name.trim().trim_start_matches('\'').trim();
    // Builds between the releases called the binary rates MBps, too.
    let name = match name.strip_suffix("MBps (Binary)") {
        Some(start) => format!("{start}MiBps (Binary)"),
        None => name.to_owned(),
    };
    let words = COUNTS.iter().chain(&IOPS).chain(&RATES_2006).chain(&RATES_1_1).chain(&REST);
    let bins = LATENCY_BINS.iter().map(|(bin, _)| bin);
    let mut every = words.map(|(column, _)| column).chain(bins);
    every.find(|known| known.eq_ignore_ascii_case(&name)).map_or(name, |known| (*known).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_columns() {
        assert_eq!(WORDS.len() + numbers(Dialect::Y2006).len(), 56);
        assert_eq!(WORDS.len() + numbers(Dialect::V1_1).len(), 56 + 3 + 21);
        assert_eq!(known(" MBps (Binary)"), "MiBps (Binary)");
        assert_eq!(known("'read mbps"), "Read MBps");
        assert!(LATENCY_BINS.iter().map(|(_, limit)| limit).is_sorted());
    }
}
