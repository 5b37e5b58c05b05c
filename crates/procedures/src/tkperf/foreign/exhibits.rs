//! Exhibits of a TKperf test, with the IDs of our own runs.

use super::results::{TkperfTestResult, tracked, unit};
use crate::common::secondary::mean;
use crate::exhibits::loops::tracking_table;
use crate::exhibits::matrix::size_name;
use crate::exhibits::pages::page;
use crate::exhibits::tkperf::{
    self, SaturatedMinute, TkperfPoint, TkperfTest, point_of, write_saturation,
};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::mix_name;
use std::collections::BTreeSet;
use steadfast_domain::findings::{Cell, Exhibit, KeyFigure, Page, Row, Table};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, ForeignKind, ForeignMeasured, ForeignValue};

/// Minutes over which the end of a saturation is averaged, as in our summary.
const LAST_MINUTES: usize = 5;

/// Returns the summary shown on a terminal, with the IDs of our own runs.
pub(super) fn summary(studied: &TkperfTestResult<'_>) -> Vec<Exhibit> {
    let table = match studied.test.kind {
        ForeignKind::Iops => matrix(studied, "iops-summary", "IOPS in the measurement window", 1),
        ForeignKind::Latency => {
            let title = "Average response time, ms (mean of the rounds)";
            matrix(studied, "average-summary", title, 4)
        }
        ForeignKind::Throughput => rates(studied),
        ForeignKind::WriteSaturation => saturation(studied),
        ForeignKind::ZoneIops => zones(studied, "hdd-iops"),
        ForeignKind::ZoneThroughput => zones(studied, "hdd-throughput"),
    };
    let steady = studied.verdict.as_ref().map(|v| tracking_table("steady-state", v));
    std::iter::once(table).chain(steady).map(Exhibit::Table).collect()
}

/// Returns the numbers of page one, with the IDs of our runs if they mean the same.
pub(super) fn key_figures(studied: &TkperfTestResult<'_>) -> Vec<KeyFigure> {
    let kind = studied.test.kind;
    let figure = |id: &str, label: &str, mix: u8| {
        let pattern = AccessPattern::random(Bytes::kib(4), mix);
        let point = studied.points.iter().find(|point| point.pattern == pattern);
        KeyFigure::new(id, label, point.and_then(|point| point.mean), unit(kind))
    };
    match kind {
        ForeignKind::Iops => vec![
            figure("rnd-4k-read-iops", "RND 4K read", 100),
            figure("rnd-4k-write-iops", "RND 4K write", 0),
            figure("rnd-4k-mixed-iops", "RND 4K 65/35", 65),
        ],
        ForeignKind::Latency => vec![
            figure("rnd-4k-read-mean", "RND 4K read, mean", 100),
            figure("rnd-4k-write-mean", "RND 4K write, mean", 0),
        ],
        ForeignKind::Throughput => {
            let large =
                studied.points.iter().filter(|point| point.pattern.size == Bytes::kib(1024));
            let figure = |point: &TkperfPoint| {
                let direction = if point.pattern.read_percent == 100 { "read" } else { "write" };
                let id = format!("seq-1024k-{direction}-rate");
                let label = format!("SEQ 1024K {direction}");
                KeyFigure::new(&id, label, point.mean, unit(kind))
            };
            large.map(figure).collect()
        }
        ForeignKind::WriteSaturation => {
            let values = || studied.test.values.iter().map(|value| value.measured.iops);
            let first = values().next().flatten();
            let last = mean(values().rev().take(LAST_MINUTES));
            // TKperf writes the same blocks in every round, so this is not a sustained rate.
            vec![
                KeyFigure::new("fresh-iops", "RND 4K W, first step", first, unit(kind)),
                KeyFigure::new("last-steps-iops", "RND 4K W, last 5 steps", last, unit(kind)),
            ]
        }
        ForeignKind::ZoneIops | ForeignKind::ZoneThroughput => Vec::new(),
    }
}

pub(super) fn chapters(studied: &TkperfTestResult<'_>) -> Vec<Page> {
    let kind = studied.test.kind;
    match kind {
        ForeignKind::Iops => tkperf::iops(&content(studied, "IOPS", "iops")),
        ForeignKind::Latency => tkperf::latency(&content(studied, "Latency", "latency")),
        ForeignKind::Throughput => {
            tkperf::throughput(&content(studied, "Throughput", "throughput"))
        }
        ForeignKind::WriteSaturation => write_saturation(listing(kind).into(), &minutes(studied)),
        ForeignKind::ZoneIops => over_zones(studied, "HDD IOPS"),
        ForeignKind::ZoneThroughput => over_zones(studied, "HDD Throughput"),
    }
}

/// Returns TKperf's loop as its reports print it.
fn listing(kind: ForeignKind) -> &'static str {
    match kind {
        ForeignKind::Iops => {
            "Secure erase (not in the log: whether it worked)\nTwice the capacity written \
             sequentially by every job, 128k\nWhile not steady state, at most 25 rounds\n  For R/W \
             mix 100, 95, 65, 50, 35, 5, 0\n    For block size 1024k to 512\n      Random I/O, \
             the same offsets in every step"
        }
        ForeignKind::Latency => {
            "Secure erase (not in the log: whether it worked)\nTwice the capacity written \
             sequentially by every job, 128k\nWhile not steady state, at most 25 rounds\n  For R/W \
             mix 100, 65, 0\n    For block size 8k, 4k, 512\n      Random I/O, one outstanding, \
             the same offsets in every step"
        }
        ForeignKind::Throughput => {
            "For block size 1024k to 512\n  Secure erase (not in the log: whether it worked)\n  \
             While 1024k writes are not steady; other sizes as many rounds\n    Sequential read, \
             sequential write, each from the first byte"
        }
        ForeignKind::WriteSaturation => {
            "Secure erase (not in the log: whether it worked)\nWhile not written 4 x capacity, at \
             most 1440 rounds\n  Random 4k writes, the same offsets in every round"
        }
        ForeignKind::ZoneIops => {
            "For each of 128 zones\n  For R/W mix 100, 50, 0\n    For block size 64k, 16k, 4k\n      \
             Random I/O in the zone"
        }
        ForeignKind::ZoneThroughput => {
            "For block size 1024k, 4k\n  For each of 128 zones\n    Sequential read, sequential \
             write in the zone"
        }
    }
}

fn content(studied: &TkperfTestResult<'_>, title: &'static str, id: &'static str) -> TkperfTest {
    let kind = studied.test.kind;
    TkperfTest {
        title,
        id,
        unit: unit(kind),
        listing: listing(kind).into(),
        dependent: tracked(kind).map(|pattern| pattern.to_string()).unwrap_or_default(),
        points: studied.points.clone(),
        verdicts: studied.verdict.iter().cloned().collect(),
    }
}

/// Returns the matrix: block sizes ascending, mixes from 0/100.
fn matrix(studied: &TkperfTestResult<'_>, id: &str, title: &str, decimals: u8) -> Table {
    let patterns = || studied.points.iter().map(|point| point.pattern);
    let sizes: BTreeSet<Bytes> = patterns().map(|pattern| pattern.size).collect();
    let mixes: BTreeSet<u8> = patterns().map(|pattern| pattern.read_percent).collect();
    let rows = sizes.iter().map(|size| {
        let mean = |mix: &u8| point_of(&studied.points, *mix, *size).and_then(|point| point.mean);
        let cells = mixes.iter().map(|mix| Cell::number(mean(mix), decimals));
        Row::new(size_name(*size), cells).strong(*size == Bytes::kib(4))
    });
    Table::new(id, title, "Block Size (KiB)")
        .spanner("Read / Write Mix %")
        .columns(mixes.iter().map(|mix| mix_name(*mix)))
        .rows(rows)
}

fn rates(studied: &TkperfTestResult<'_>) -> Table {
    let rows = studied.points.iter().filter(|point| point.pattern.read_percent == 100);
    let rows = rows.map(|reads| {
        let size = reads.pattern.size;
        let written = point_of(&studied.points, 0, size).and_then(|point| point.mean);
        let cells = [reads.mean, written].map(|rate| Cell::number(rate, 1));
        Row::new(format!("SEQ {}", size.transfer_size()), cells)
    });
    let title = "Throughput in the measurement window, MB/s";
    Table::new("throughput-summary", title, "Block size").columns(["Read", "Write"]).rows(rows)
}

fn saturation(studied: &TkperfTestResult<'_>) -> Table {
    let values = &studied.test.values;
    let row = |head: &str, step: Option<&ForeignValue>| {
        let measured = step.map(|step| step.measured).unwrap_or_default();
        typed_row(head, &SATURATION, &measured)
    };
    let mut rows = vec![row("First step", values.first()), row("Last step", values.last())];
    if values.len() > LAST_MINUTES {
        let last = &values[values.len() - LAST_MINUTES..];
        let iops = mean(last.iter().map(|step| step.measured.iops));
        let cells = [Cell::number(iops, 1), Cell::text(""), Cell::text(""), Cell::text("")];
        rows.push(Row::new(format!("Mean of the last {LAST_MINUTES} steps"), cells).strong(true));
    }
    typed_table("wsat-summary", "Write saturation", "", &SATURATION).rows(rows)
}

const SATURATION: [TypedColumn<ForeignMeasured>; 4] = [
    TypedColumn::number("IOPS", 1, |measured| measured.iops),
    TypedColumn::number("ART ms", 3, |measured| measured.mean_ms),
    TypedColumn::number("Min ms", 3, |measured| measured.shortest_ms),
    TypedColumn::number("MRT ms", 3, |measured| measured.longest_ms),
];

fn minutes(studied: &TkperfTestResult<'_>) -> Vec<SaturatedMinute> {
    let minute =
        |m: &ForeignMeasured| SaturatedMinute { iops: m.iops, mean_ms: m.mean_ms, gap: false };
    studied.test.values.iter().map(|value| minute(&value.measured)).collect()
}

/// Returns the tables for files only: the minutes of a write saturation, as in our own runs.
pub(super) fn long_tables(studied: &TkperfTestResult<'_>) -> Vec<Table> {
    if studied.test.kind != ForeignKind::WriteSaturation {
        return Vec::new();
    }
    let values = studied.test.values.iter();
    let rows = values.map(|value| typed_row(value.round.to_string(), &MINUTE, &value.measured));
    vec![typed_table("minutes", "Every minute of the saturation", "Step", &MINUTE).rows(rows)]
}

const MINUTE: [TypedColumn<ForeignMeasured>; 5] = [
    TypedColumn::number("IOPS", 3, |measured| measured.iops),
    TypedColumn::number("MB/s", 3, |measured| Some(measured.bytes_per_second? / 1e6)),
    TypedColumn::number("ART ms", 6, |measured| measured.mean_ms),
    TypedColumn::number("Min ms", 6, |measured| measured.shortest_ms),
    TypedColumn::number("MRT ms", 6, |measured| measured.longest_ms),
];

/// Returns the statistics over the zones of a hard disk.
fn zones(studied: &TkperfTestResult<'_>, id: &str) -> Table {
    let rows = studied.points.iter().map(|point| {
        let values: Vec<f64> = point.values.iter().filter_map(|found| found.value).collect();
        let least = values.iter().copied().reduce(f64::min);
        let most = values.iter().copied().reduce(f64::max);
        let average = mean(values.iter().map(|value| Some(*value)));
        let first = point.values.first().and_then(|found| found.value);
        let last = point.values.last().and_then(|found| found.value);
        let cells = [average, least, most, first, last].map(|value| Cell::number(value, 1));
        Row::new(point.pattern.to_string(), cells)
    });
    let title = format!("{} over the zones", unit(studied.test.kind));
    Table::new(id, title, "Point")
        .columns(["Mean", "Minimum", "Maximum", "First zone", "Last zone"])
        .rows(rows)
}

fn over_zones(studied: &TkperfTestResult<'_>, title: &str) -> Vec<Page> {
    let kind = studied.test.kind;
    let listing = Exhibit::Listing(listing(kind).into());
    let mut pages = vec![page(&format!("{title} - Test Loop"), vec![listing])];
    pages.extend(tkperf::zone_pages(title, unit(kind), &studied.points));
    pages
}
