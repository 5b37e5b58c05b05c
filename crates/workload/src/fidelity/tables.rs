//! Tables of a comparison.

use super::comparison::Fidelity;
use super::pairs::{DevicePair, OpPair, StartErrors};
use super::side::FidelitySide;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_analysis::cube::CellSums;
use steadfast_analysis::sums::io_sums::IoSums;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::units::Bytes;
use steadfast_domain::{FineHistogram, IoOp, Nanos};
use steadfast_tracefile::StreamKey;

/// Columns of a value of both captures.
const BOTH: [&str; 2] = ["Original", "Replay"];
/// A stream is printed if it has at least one part in this many of either side's I/Os: 1 %.
const PRINTED: u64 = 100;

fn ms(ns: Option<u64>) -> Cell {
    Cell::number(ns.map(|ns| ns as f64 / 1e6), 3)
}

fn micros(ns: Option<f64>) -> Cell {
    Cell::number(ns.map(|ns| ns / 1e3), 3)
}

/// Returns the difference of the second value from the first, in percent of the first.
fn difference(values: [Option<f64>; 2]) -> Cell {
    let [Some(original), Some(replay)] = values else { return Cell::Missing };
    let percent = (replay - original) * 100.0 / original;
    // A difference that would print as -0.00 is shown as 0.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    Cell::number((original != 0.0).then_some(percent), 2)
}

/// Returns a row of a value of both sides and their difference.
fn compared(head: &str, values: [Option<f64>; 2], decimals: u8) -> Row {
    let [original, replay] = values.map(|value| Cell::number(value, decimals));
    Row::new(head, [original, replay, difference(values)])
}

pub(super) fn totals(fidelity: &Fidelity) -> Table {
    let of = |value: &dyn Fn(&FidelitySide) -> Option<f64>| fidelity.sides.each_ref().map(value);
    let total = fidelity.sides.each_ref().map(|side| side.streams.total());
    let figures = total.each_ref().map(|tally| tally.times.responses.figures());
    let millis = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    // The replay's clock.
    let seconds = [
        fidelity.sides[0].lasted_ns() as f64 / fidelity.faster,
        fidelity.sides[1].lasted_ns() as f64,
    ]
    .map(|ns| ns / 1e9);
    let rate = |amount: [f64; 2]| {
        [0, 1].map(|side: usize| (seconds[side] > 0.0).then(|| amount[side] / seconds[side]))
    };
    let ios = total.each_ref().map(|tally| tally.count() as f64);
    let mb = total.each_ref().map(|tally| Bytes(tally.amount()).as_mb());
    let deepest = |tally: &IoSums| tally.times.depths.largest().map(f64::from);
    Table::new("replay-totals", "Original and replay", "")
        .columns(BOTH)
        .column(("difference", "Difference %"))
        .rows([
            compared("I/Os", ios.map(Some), 0),
            compared("MB", mb.map(Some), 1),
            compared("I/O streams", of(&|side| Some(side.streams.len() as f64)), 0),
            compared("From first to last, s", seconds.map(Some), 3),
            compared("IOPS", rate(ios), 1),
            compared("MB/s", rate(mb), 2),
            compared("Average response time, ms", figures.map(|f| millis(f.mean_ns)), 4),
            compared("99 % response time, ms", figures.map(|f| millis(f.p99_ns)), 4),
            compared("99.999 % response time, ms", figures.map(|f| millis(f.p99_999_ns)), 4),
            compared("Maximum response time, ms", figures.map(|f| millis(f.max_ns)), 4),
            compared(
                "Average queue depth",
                total.each_ref().map(|tally| tally.times.depths.mean()),
                3,
            ),
            compared("Maximum queue depth", total.each_ref().map(deepest), 0),
            compared("Failed I/Os", total.each_ref().map(|tally| Some(tally.failed() as f64)), 0),
        ])
}

/// Returns the streams of both captures, most frequent first: those with 1 % of the I/Os of
/// either, or all of them.
pub(super) fn streams(fidelity: &Fidelity, all: bool) -> Table {
    let sides = fidelity.sides.each_ref().map(|side| &side.streams);
    let total = sides.map(|table| table.total().count());
    let keys: BTreeSet<StreamKey> =
        sides.iter().flat_map(|table| table.iter().map(|(key, _)| key)).collect();
    let of = |key: StreamKey| sides.map(|table| table.get(key).cloned().unwrap_or_default());
    let mut rows: Vec<(StreamKey, [IoSums; 2])> =
        keys.into_iter().map(|key| (key, of(key))).collect();
    rows.sort_by_key(|(key, tallies)| (Reverse(tallies[0].count().max(tallies[1].count())), *key));
    let (listed, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, tallies)| {
        all || (0..2)
            .any(|side| tallies[side].count().saturating_mul(PRINTED) >= total[side].max(1))
    });
    let mut rest = sides.map(|table| table.unlisted().clone());
    for (_, tallies) in &others {
        rest.iter_mut().zip(tallies).for_each(|(rest, tally)| rest.merge(tally));
    }
    let has_rest = rest.iter().any(|tally| tally.count() > 0);
    let rest = has_rest.then(|| stream_row("others", &rest));
    let (id, title) = if all {
        ("replay-streams-all", "Every I/O stream of original and replay")
    } else {
        ("replay-streams", "I/O streams of original and replay")
    };
    Table::new(id, title, "I/O stream")
        .columns([
            ("original-ios", "I/Os, original"),
            ("replay-ios", "I/Os, replay"),
            ("difference", "Difference"),
            ("original-mb", "MB, original"),
            ("replay-mb", "MB, replay"),
            ("original-art", "ART ms, original"),
            ("replay-art", "ART ms, replay"),
            ("original-qd", "QD avg, original"),
            ("replay-qd", "QD avg, replay"),
        ])
        .rows(listed.iter().map(|(key, tallies)| stream_row(&key.to_string(), tallies)))
        .rows(rest)
}

fn stream_row(head: &str, tallies: &[IoSums; 2]) -> Row {
    let [original, replay] = tallies;
    let mb = |tally: &IoSums| Cell::number(Some(Bytes(tally.amount()).as_mb()), 1);
    let art = |tally: &IoSums| ms(tally.times.responses.figures().mean_ns);
    let depth = |tally: &IoSums| Cell::number(tally.times.depths.mean(), 2);
    let cells = [
        Cell::count(original.count()),
        Cell::count(replay.count()),
        Cell::number(Some(replay.count() as f64 - original.count() as f64), 0),
        mb(original),
        mb(replay),
        art(original),
        art(replay),
        depth(original),
        depth(replay),
    ];
    let ios = |tally: &IoSums| tally.ops.map(|op| op.ios);
    Row::new(head, cells).strong(ios(original) != ios(replay))
}

/// Returns the I/Os by operation and size, random and sequential together.
pub(super) fn sizes(fidelity: &Fidelity) -> Table {
    let mut counts: BTreeMap<(IoOp, u32), [u64; 2]> = BTreeMap::new();
    for (at, side) in fidelity.sides.iter().enumerate() {
        for (key, tally) in side.streams.iter() {
            counts.entry((key.op, key.bytes)).or_default()[at] += tally.count();
        }
    }
    let total: [u64; 2] = [0, 1].map(|at: usize| counts.values().map(|ios| ios[at]).sum());
    let share = |ios: u64, at: usize| {
        Cell::number((total[at] > 0).then(|| ios as f64 * 100.0 / total[at] as f64), 3)
    };
    let row = |((op, bytes), ios): (&(IoOp, u32), &[u64; 2])| {
        let size = Bytes(u64::from(*bytes)).transfer_size();
        let cells = [Cell::count(ios[0]), Cell::count(ios[1]), share(ios[0], 0), share(ios[1], 1)];
        Row::new(format!("{op} {size}"), cells).strong(ios[0] != ios[1])
    };
    Table::new("replay-sizes", "I/Os by operation and size", "Operation and size")
        .columns(BOTH)
        .columns([("original-share", "Original %"), ("replay-share", "Replay %")])
        .rows(counts.iter().map(row))
}

/// Returns the table that shows whether the devices received the same I/Os.
pub(super) fn sequences(pairs: &[DevicePair]) -> Table {
    let row = |pair: &DevicePair| {
        let first = pair.sequence.first.map(|difference| difference.to_string());
        let cells = [
            Cell::count(pair.ios[0]),
            Cell::count(pair.ios[1]),
            Cell::count(pair.sequence.different),
            Cell::verdict(pair.sequence.first.is_none()),
            Cell::verdict(pair.sequence.same_ios),
            Cell::known(first),
        ];
        Row::new(devices(pair), cells).strong(pair.sequence.first.is_some())
    };
    Table::new("replay-sequence", "Operation, size and offset in order of issue", "Devices")
        .columns(BOTH)
        .columns([
            ("different", "Pairs that differ"),
            ("same-order", "Same order"),
            ("same-ios", "Same I/Os in any order"),
            ("first-difference", "First difference"),
        ])
        .rows(pairs.iter().map(row))
}

/// Returns median, 99 % and maximum of start-time errors, in microseconds.
fn start_error_cells(starts: &StartErrors) -> [Cell; 3] {
    let percentile = |fraction| {
        let error: Option<Nanos> = starts.errors.reportable_percentile(fraction);
        micros(error.map(|error| error.0.min(starts.max_ns) as f64))
    };
    let max = micros((starts.pairs > 0).then_some(starts.max_ns as f64));
    [percentile(0.5), percentile(0.99), max]
}

/// Returns the table of start-time errors and inter-arrival times.
pub(super) fn times(pairs: &[DevicePair]) -> Table {
    let row = |pair: &DevicePair| {
        let starts = &pair.starts;
        let [p50, p99, max] = start_error_cells(starts);
        let ks = pair.gaps.as_ref().map(|gaps| {
            if gaps.is_exact() {
                format!("{:.5}", gaps.ks)
            } else {
                format!("{:.5} to {:.5}", gaps.ks, gaps.at_most)
            }
        });
        let early = (starts.pairs > 0).then(|| starts.early as f64 * 100.0 / starts.pairs as f64);
        let cells = [
            Cell::count(starts.pairs),
            p50,
            p99,
            max,
            Cell::number(early, 2),
            micros(starts.drift_ns.map(|drift| drift as f64)),
            Cell::known(ks),
        ];
        Row::new(devices(pair), cells)
    };
    Table::new("replay-times", "Start times and inter-arrival times", "Devices")
        .columns([
            ("pairs", "Pairs"),
            ("start-error-p50", "Start error 50 % µs"),
            ("start-error-p99", "99 % µs"),
            ("start-error-max", "Maximum µs"),
            ("early", "Early %"),
            ("drift", "Drift at the end µs"),
            ("inter-arrival-ks", "Inter-arrival KS distance"),
        ])
        .rows(pairs.iter().map(row))
}

/// Returns the comparison per operation; `None` if the captures do not differ.
pub(super) fn by_op(pairs: &[DevicePair]) -> Option<Table> {
    let has_several = pairs.len() > 1;
    let row = |(pair, one): (&DevicePair, &OpPair)| {
        let head =
            if has_several { format!("{}: {}", devices(pair), one.op) } else { one.op.to_string() };
        let [p50, p99, max] = start_error_cells(&one.starts);
        let [original, replay] = one.ios;
        let cells = [
            Cell::count(original),
            Cell::count(replay),
            Cell::number(Some(replay as f64 - original as f64), 0),
            Cell::count(one.sequence.different),
            Cell::verdict(one.sequence.same_ios),
            p50,
            p99,
            max,
        ];
        Row::new(head, cells).strong(original != replay)
    };
    let ops = pairs.iter().flat_map(|pair| pair.by_op.iter().map(move |one| (pair, one)));
    let table = Table::new("replay-operations", "Each operation for itself", "Operation")
        .columns(BOTH)
        .columns([
            ("difference", "Difference"),
            ("different", "Pairs that differ"),
            ("same-ios", "Same I/Os in any order"),
            ("start-error-p50", "Start error 50 % µs"),
            ("start-error-p99", "99 % µs"),
            ("start-error-max", "Maximum µs"),
        ])
        .rows(ops.map(row));
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the table of queue depths; `None` if neither capture has them.
pub(super) fn depths(fidelity: &Fidelity) -> Option<Table> {
    let depths = fidelity.sides.each_ref().map(|side| side.depths.as_ref());
    depths.iter().any(Option::is_some).then(|| {
        let at = |fraction: f64| {
            depths.map(|depths: Option<&FineHistogram>| {
                Some(depths?.reportable_percentile(fraction)?.0 as f64)
            })
        };
        let total = fidelity.sides.each_ref().map(|side| side.streams.total());
        let deepest = |tally: &IoSums| tally.times.depths.largest().map(f64::from);
        Table::new("replay-depths", "Queue depth at issue", "")
            .columns(BOTH)
            .column(("difference", "Difference %"))
            .rows([
                compared("Average", total.each_ref().map(|tally| tally.times.depths.mean()), 3),
                compared("50 %", at(0.5), 0),
                compared("99 %", at(0.99), 0),
                compared("Maximum", total.each_ref().map(deepest), 0),
            ])
    })
}

/// Returns `nvme0n1`, or `nvme0n1 and nvme1n1` if the names differ.
pub(super) fn devices(pair: &DevicePair) -> String {
    let [original, replay] = &pair.names;
    if original == replay { original.clone() } else { format!("{original} and {replay}") }
}
