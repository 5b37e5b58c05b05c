//! The tables of a study.

use crate::processes::ProcessFigures;
use crate::streams::{By, StreamFigures};
use crate::study::{SingleIos, Study};
use steadfast_domain::IoOp;
use steadfast_domain::findings::{Cell, Row, Table};

fn ms(ns: Option<u64>) -> Cell {
    Cell::number(ns.map(|ns| ns as f64 / 1e6), 3)
}

fn count(value: u64) -> Cell {
    Cell::number(Some(value as f64), 0)
}

fn table(id: &str, title: &str, corner: &str, columns: &[&str], rows: Vec<Row>) -> Table {
    Table::new(id, title, corner).columns(columns.iter().copied()).rows(rows)
}

/// The cumulative workload, normalised.
pub(super) fn workload(study: &Study) -> Table {
    let workload = &study.workload;
    let figures = study.streams.listing(study.options.by);
    let row = |stream: &crate::workload::WorkloadStream| {
        let found = figures.iter().find(|figures| figures.key == stream.key());
        let response = found.map(|found| found.response);
        Row::new(
            stream.stream.clone(),
            [
                count(stream.count),
                Cell::number(Some(stream.share * 100.0), 2),
                Cell::number(Some(stream.normalized * 100.0), 2),
                Cell::number(Some(stream.amount as f64 / 1e6), 1),
                Cell::number(stream.qd_mean, 2),
                Cell::number(found.and_then(|f| f.qd_max).map(f64::from), 0),
                ms(response.and_then(|r| r.mean_ns)),
                ms(response.and_then(|r| r.max_ns)),
            ],
        )
    };
    let mut rows: Vec<Row> = workload.streams.iter().map(row).collect();
    let (ios, amount) = workload.selected();
    rows.push(
        Row::new(
            format!("{} of {} streams", workload.streams.len(), study.streams.len()),
            [
                count(ios),
                Cell::number(Some(workload.coverage() * 100.0), 2),
                Cell::number((!workload.streams.is_empty()).then_some(100.0), 2),
                Cell::number(Some(amount as f64 / 1e6), 1),
                Cell::Missing,
                Cell::Missing,
                Cell::Missing,
                Cell::Missing,
            ],
        )
        .named("selected")
        .strong(true),
    );
    let of = if study.options.by == By::Count { "I/Os" } else { "bytes" };
    table(
        "cumulative-workload",
        &format!("Cumulative workload at a threshold of {} of {of}", study.options.threshold),
        "I/O stream",
        &["I/Os", "% of all", "Normalised %", "MB", "QD avg", "QD max", "ART ms", "MRT ms"],
        rows,
    )
}

/// Every stream.
pub(super) fn streams(study: &Study) -> Table {
    let row = |stream: &StreamFigures| {
        Row::new(
            stream.key.to_string(),
            [
                Cell::text(stream.op.to_string()),
                Cell::text(stream.order),
                count(u64::from(stream.bytes)),
                count(stream.count),
                count(stream.amount),
                Cell::number(Some(stream.share_of_count * 100.0), 4),
                Cell::number(Some(stream.share_of_bytes * 100.0), 4),
                Cell::number(stream.qd_mean, 3),
                Cell::number(stream.qd_max.map(f64::from), 0),
                ms(stream.response.mean_ns),
                ms(stream.response.p99_ns),
                ms(stream.response.p99_999_ns),
                ms(stream.response.max_ns),
            ],
        )
    };
    table(
        "streams",
        "Every I/O stream",
        "I/O stream",
        &[
            "op",
            "order",
            "bytes",
            "count",
            "amount",
            "% of count",
            "% of amount",
            "QD avg",
            "QD max",
            "ART ms",
            "99% ms",
            "99.999% ms",
            "MRT ms",
        ],
        study.streams.listing(study.options.by).iter().map(row).collect(),
    )
}

/// Response-time percentiles of the workload's streams.
pub(super) fn response_times(study: &Study) -> Table {
    let keys: Vec<_> = study.workload.streams.iter().map(|stream| stream.key()).collect();
    let listing = study.streams.listing(study.options.by);
    let row = |stream: &StreamFigures| {
        let r = stream.response;
        let times =
            [r.mean_ns, r.p50_ns, r.p99_ns, r.p99_9_ns, r.p99_99_ns, r.p99_999_ns, r.max_ns];
        Row::new(stream.key.to_string(), times.map(ms))
    };
    table(
        "response-times",
        "Response times by I/O stream, ms",
        "I/O stream",
        &["ART", "50 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "MRT"],
        listing.iter().filter(|stream| keys.contains(&stream.key)).map(row).collect(),
    )
}

/// The processes with the most I/Os.
pub(super) fn processes(singles: &SingleIos, most: usize) -> Table {
    let listing = singles.processes.listing();
    process_table("processes", &listing[..most.min(listing.len())])
}

/// Every process.
pub(super) fn processes_all(singles: &SingleIos) -> Table {
    process_table("processes-all", &singles.processes.listing())
}

fn process_table(id: &str, listing: &[ProcessFigures]) -> Table {
    let row = |process: &ProcessFigures| {
        Row::new(
            process.process.clone(),
            [
                count(process.count),
                Cell::number(Some(process.share * 100.0), 2),
                count(process.reads),
                count(process.writes),
                Cell::number(Some(process.amount as f64 / 1e6), 1),
                ms(process.response_mean_ns),
                ms(process.response_max_ns),
            ],
        )
    };
    table(
        id,
        "Processes",
        "Process",
        &["I/Os", "% of all", "Reads", "Writes", "MB", "ART ms", "MRT ms"],
        listing.iter().map(row).collect(),
    )
}

/// Every capture step.
pub(super) fn steps(study: &Study) -> Table {
    let seconds = study.step_ns as f64 / 1e9;
    let rows = study.steps.iter().map(|(number, step)| {
        let op = |op: IoOp| step.ops[op as usize];
        Row::new(
            format!("{:.4}", *number as f64 * seconds),
            [
                Cell::number(Some(step.ios() as f64 / seconds), 1),
                Cell::number(Some(step.bytes() as f64 / seconds / 1e6), 3),
                count(op(IoOp::Read).ios),
                count(op(IoOp::Write).ios),
                count(op(IoOp::Discard).ios),
                count(op(IoOp::Flush).ios),
                Cell::number(step.sequential_share().map(|share| share * 100.0), 1),
                ms(step.response_mean().map(|time| time.0)),
                ms(step.percentile(0.99).map(|time| time.0)),
                ms(step.response_max().map(|time| time.0)),
                Cell::number(step.depth_mean(), 2),
                Cell::number((step.depths > 0).then(|| f64::from(step.depth_max)), 0),
                Cell::number(study.utilisation(step).map(|part| part * 100.0), 1),
            ],
        )
    });
    table(
        "steps",
        "Every capture step with an I/O or with one outstanding",
        "Begins at s",
        &[
            "IOPS", "MB/s", "reads", "writes", "discards", "flushes", "SEQ %", "ART ms", "99% ms",
            "MRT ms", "QD avg", "QD max", "busy %",
        ],
        rows.collect(),
    )
}
