//! Values of a test: nested lists in which the position determines the quantity.

use serde_json::Value;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, ForeignKind, ForeignMeasured, ForeignValue};

/// Percentage of reads by row in a matrix of a solid-state drive ...
const MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];
/// ... in one of its latencies ...
const LATENCY_MIXES: [u8; 3] = [100, 65, 0];
/// ... and in one of a hard disk.
const DISK_MIXES: [u8; 3] = [100, 50, 0];

/// Block sizes by column. Drives with sectors of 4,096 bytes lack the last one.
const SIZES: [Bytes; 8] = [
    Bytes::kib(1024),
    Bytes::kib(128),
    Bytes::kib(64),
    Bytes::kib(32),
    Bytes::kib(16),
    Bytes::kib(8),
    Bytes::kib(4),
    Bytes(512),
];
const LATENCY_SIZES: [Bytes; 3] = [Bytes::kib(8), Bytes::kib(4), Bytes(512)];
const THROUGHPUT_SIZES: [Bytes; 5] =
    [Bytes::kib(1024), Bytes::kib(64), Bytes::kib(8), Bytes::kib(4), Bytes(512)];
const DISK_SIZES: [Bytes; 3] = [Bytes::kib(64), Bytes::kib(16), Bytes::kib(4)];
const DISK_THROUGHPUT_SIZES: [Bytes; 2] = [Bytes::kib(1024), Bytes::kib(4)];
const SATURATION_SIZE: Bytes = Bytes::kib(4);

/// The values of a test.
pub(super) struct TestValues {
    pub(super) kind: ForeignKind,
    pub(super) values: Vec<ForeignValue>,
}

/// Parses the lists of a test. Its element gives the kind on a solid-state drive; that of a hard
/// disk is known by its lists.
///
/// # Errors
/// Returns a message that names what TKperf would not have written.
pub(super) fn values(kind: ForeignKind, lists: &Value) -> Result<TestValues, String> {
    let lists = list(lists, "roundmat")?;
    if lists.is_empty() {
        return Ok(TestValues { kind, values: Vec::new() });
    }
    match kind {
        ForeignKind::Iops | ForeignKind::ZoneIops => iops(lists),
        ForeignKind::Latency => latency(lists),
        ForeignKind::Throughput | ForeignKind::ZoneThroughput => throughput(lists),
        ForeignKind::WriteSaturation => saturation(lists),
    }
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{what} is not a list"))
}

/// Largest value accepted, more than any drive reaches in any unit.
const VALUE_MAX: f64 = 1e15;

/// Parses a number in the plausible range; returns `None` for null.
fn number(value: &Value, what: &str) -> Result<Option<f64>, String> {
    match value {
        Value::Null => Ok(None),
        other => match other.as_f64().filter(|n| (0.0..=VALUE_MAX).contains(n)) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{what} is {}, which is not a plausible number", short(other))),
        },
    }
}

/// Returns the first characters of a value, for a message.
fn short(value: &Value) -> String {
    let text: String = value.to_string().chars().take(40).collect();
    format!("'{text}'", text = excerpt(&text))
}

/// Returns the sizes for `count` columns: all, or all but 512 bytes.
fn columns<'a>(all: &'a [Bytes], count: usize, what: &str) -> Result<&'a [Bytes], String> {
    if count == all.len() || count + 1 == all.len() {
        return Ok(&all[..count]);
    }
    Err(format!(
        "{what} has {count} block sizes; TKperf writes {} or, without 512 bytes, {}",
        all.len(),
        all.len() - 1
    ))
}

/// Parses the cells of all rounds, in which rows are mixes and columns are sizes.
fn cells(
    rounds: &[Value],
    mixes: &[u8],
    sizes: &[Bytes],
    measured: impl Fn(&Value, &str) -> Result<ForeignMeasured, String>,
) -> Result<Vec<ForeignValue>, String> {
    let mut values = Vec::new();
    for (round, matrix) in (1..).zip(rounds) {
        let name = format!("round {round}");
        let rows = list(matrix, &name)?;
        if rows.len() != mixes.len() {
            return Err(format!("{name} has {} mixes instead of {}", rows.len(), mixes.len()));
        }
        for (mix, row) in mixes.iter().zip(rows) {
            let what = format!("{name}, {mix} % reads");
            let row = list(row, &what)?;
            let (count, expected) = (row.len(), sizes.len());
            if count != expected {
                return Err(format!("{what} has {count} block sizes instead of {expected}"));
            }
            for (size, cell) in sizes.iter().zip(row) {
                let pattern = AccessPattern::random(*size, *mix);
                let measured = measured(cell, &format!("{pattern} of {name}"))?;
                values.push(ForeignValue { round, pattern, measured });
            }
        }
    }
    Ok(values)
}

/// Returns the number of rows and columns of the first round.
fn shape(lists: &[Value]) -> (usize, usize) {
    let rows = lists.first().and_then(Value::as_array);
    let columns = rows.and_then(|rows| rows.first()).and_then(Value::as_array);
    (rows.map_or(0, Vec::len), columns.map_or(0, Vec::len))
}

fn iops(rounds: &[Value]) -> Result<TestValues, String> {
    let (kind, mixes, sizes) = match shape(rounds) {
        (3, 3) => (ForeignKind::ZoneIops, &DISK_MIXES[..], &DISK_SIZES[..]),
        (7, count) => (ForeignKind::Iops, &MIXES[..], columns(&SIZES, count, "round 1")?),
        (rows, _) => {
            return Err(format!(
                "round 1 has {rows} mixes; TKperf writes 7 for a solid-state drive and 3 for a \
                 hard disk"
            ));
        }
    };
    let measured = |cell: &Value, what: &str| {
        Ok(ForeignMeasured { iops: number(cell, what)?, ..ForeignMeasured::default() })
    };
    Ok(TestValues { kind, values: cells(rounds, mixes, sizes, measured)? })
}

/// Parses `[min, max, mean]` in microseconds.
fn response(cell: &Value, what: &str) -> Result<ForeignMeasured, String> {
    let [shortest, longest, mean] = list(cell, what)? else {
        return Err(format!("{what} is {}, which is not [min, max, mean]", short(cell)));
    };
    let millis = |value: &Value| number(value, what).map(|n| n.map(|micros| micros / 1000.0));
    Ok(ForeignMeasured {
        mean_ms: millis(mean)?,
        shortest_ms: millis(shortest)?,
        longest_ms: millis(longest)?,
        ..ForeignMeasured::default()
    })
}

fn latency(rounds: &[Value]) -> Result<TestValues, String> {
    let (_, count) = shape(rounds);
    let sizes = columns(&LATENCY_SIZES, count, "round 1")?;
    let values = cells(rounds, &LATENCY_MIXES, sizes, response)?;
    Ok(TestValues { kind: ForeignKind::Latency, values })
}

/// Parses, per block size, the list of reads and the list of writes of all rounds, in KiB/s.
fn throughput(lists: &[Value]) -> Result<TestValues, String> {
    let (kind, sizes) = match lists.len() {
        2 => (ForeignKind::ZoneThroughput, &DISK_THROUGHPUT_SIZES[..]),
        count => (ForeignKind::Throughput, columns(&THROUGHPUT_SIZES, count, "roundmat")?),
    };
    let mut values = Vec::new();
    for (size, of_size) in sizes.iter().zip(lists) {
        let name = size.transfer_size();
        let [reads, writes] = list(of_size, &name)? else {
            return Err(format!("{name} is not a list of reads and a list of writes"));
        };
        for (mix, rates) in [(100, reads), (0, writes)] {
            let pattern = AccessPattern::sequential(*size, mix);
            for (round, rate) in (1..).zip(list(rates, &pattern.to_string())?) {
                let rate = number(rate, &format!("{pattern} of round {round}"))?;
                let measured = ForeignMeasured {
                    bytes_per_second: rate.map(|kib| kib * 1024.0),
                    ..ForeignMeasured::default()
                };
                values.push(ForeignValue { round, pattern, measured });
            }
        }
    }
    Ok(TestValues { kind, values })
}

/// Parses the IOPS of all minutes and the response times of all minutes.
fn saturation(lists: &[Value]) -> Result<TestValues, String> {
    let [iops, responses] = lists else {
        let count = lists.len();
        return Err(format!("roundmat has {count} lists instead of IOPS and latencies"));
    };
    let (iops, responses) = (list(iops, "the list of IOPS")?, list(responses, "latencies")?);
    if iops.len() != responses.len() {
        let (some, others) = (iops.len(), responses.len());
        return Err(format!("roundmat has IOPS of {some} rounds and latencies of {others}"));
    }
    let pattern = AccessPattern::random(SATURATION_SIZE, 0);
    let mut values = Vec::new();
    for (round, (iops, times)) in (1..).zip(iops.iter().zip(responses)) {
        let what = format!("round {round}");
        let measured = ForeignMeasured { iops: number(iops, &what)?, ..response(times, &what)? };
        values.push(ForeignValue { round, pattern, measured });
    }
    Ok(TestValues { kind: ForeignKind::WriteSaturation, values })
}
