//! The tables of a study.

use crate::columns::{ListingColumn, cells, heads, table_row};
use crate::device_layer::device_name;
use crate::questions::cumulative::WorkloadStream;
use crate::questions::drives::DriveFigures;
use crate::questions::group_figures::{GroupFigureSet, GroupFigures};
use crate::questions::groups::{Facet, Groups};
use crate::questions::hot::{HotRange, HotRanges};
use crate::questions::processes::ProcessFigures;
use crate::questions::read_out::{ReadOut, StreamPlace};
use crate::questions::shape_figures::{self, IdleShape, RunShape, StreamShape};
use crate::questions::steps::StepFigures;
use crate::questions::streams::StreamFigures;
use crate::questions::study::{ProcessResults, SingleIoResults, Study};
use crate::questions::totals::CaptureTotals;
use steadfast_domain::Layer;
use steadfast_domain::findings::{Cell, Row, Table};

const RANGES_SHOWN: usize = 20;
pub(super) const GROUPS_SHOWN: usize = 25;

pub(super) fn table<T>(
    [id, title, corner]: [&str; 3],
    columns: &[ListingColumn<T>],
    rows: impl IntoIterator<Item = (String, T)>,
) -> Table {
    let rows = rows.into_iter().map(|(head, row)| table_row(head, columns, &row));
    Table::new(id, title, corner).columns(heads(columns)).rows(rows)
}

fn named(listing: Vec<StreamFigures>) -> impl Iterator<Item = (String, StreamFigures)> {
    listing.into_iter().map(|stream| (stream.key.to_string(), stream))
}

/// Returns the cumulative workload, normalized.
pub(super) fn workload(study: &Study) -> Table {
    let CaptureTotals { options, workload, streams, .. } = &study.totals;
    let figures = streams.listing(options.by);
    let row = |stream: &WorkloadStream| {
        let found = figures.iter().find(|figures| figures.key == stream.key());
        let applied = cells(&WorkloadStream::OF_REPORT, Some(stream));
        Row::new(&stream.stream, applied.chain(cells(&StreamFigures::AS_CAPTURED, found)))
    };
    let of = options.by.choose("I/Os", "bytes");
    let title = format!("Cumulative workload at a threshold of {} of {of}", options.threshold);
    Table::new("cumulative-workload", title, "I/O stream")
        .columns(heads(&WorkloadStream::OF_REPORT))
        .columns(heads(&StreamFigures::AS_CAPTURED))
        .rows(workload.streams.iter().map(row))
        .row(selected(study))
}

/// Returns the totals over all streams of the workload.
fn selected(study: &Study) -> Row {
    let CaptureTotals { workload, streams, .. } = &study.totals;
    let total = workload.selected();
    let head = format!("{} of {} streams", workload.streams.len(), streams.len());
    let all = WorkloadStream {
        count: total.ios,
        amount: total.bytes,
        share: workload.coverage(),
        normalized: if workload.streams.is_empty() { f64::NAN } else { 1.0 },
        ..WorkloadStream::default()
    };
    let captured = cells::<StreamFigures>(&StreamFigures::AS_CAPTURED, None);
    let cells: Vec<Cell> = cells(&WorkloadStream::OF_REPORT, Some(&all)).chain(captured).collect();
    Row::new(head, cells).with_id("selected").strong(true)
}

pub(super) fn streams(study: &Study) -> Table {
    let listing = study.totals.streams.listing(study.totals.options.by);
    let names = ["streams", "Every I/O stream", "I/O stream"];
    table(names, &StreamFigures::LONG_TABLE, named(listing))
}

pub(super) fn response_times(study: &Study) -> Table {
    let keys = study.totals.workload.keys();
    let mut listing = study.totals.streams.listing(study.totals.options.by);
    listing.retain(|stream| keys.contains(&stream.key));
    let names = ["response-times", "Response times by I/O stream, ms", "I/O stream"];
    table(names, &StreamFigures::RESPONSE_TIMES, named(listing))
}

pub(super) fn drives(study: &Study) -> Table {
    let mut drives = study.drives.listing(&study.totals.conditions);
    let total = drives.pop();
    let row = |drive: &DriveFigures| table_row(&drive.name, &DriveFigures::OF_REPORT, drive);
    let table = Table::new("drives", "Drives", "Drive").columns(heads(&DriveFigures::OF_REPORT));
    let table = table.rows(drives.iter().map(row));
    match total.as_ref().map(row) {
        Some(total) => table.row(total.with_id("total").strong(true)),
        None => table,
    }
}

pub(super) fn process_streams(study: &Study, processes: &ProcessResults) -> Table {
    let names =
        ["process-streams", "Which process issued which I/O streams", "Process, I/O stream"];
    groups(names, &processes.streams, study, GroupFigureSet::Counts)
}

pub(super) fn queue_times(study: &Study, processes: &ProcessResults) -> Table {
    let names = ["queue-times", "Queue time and response time, ms", "I/O stream"];
    groups(names, &by(processes, Facet::Stream), study, GroupFigureSet::Times)
}

pub(super) fn queue_times_of_processes(study: &Study, processes: &ProcessResults) -> Table {
    let names = ["queue-times-processes", "Queue time and response time by process, ms", "Process"];
    groups(names, &by(processes, Facet::Process), study, GroupFigureSet::Times)
}

/// Returns the flags that the kernel recorded, by stream and by process; empty if the trace holds
/// none.
pub(super) fn kinds(study: &Study, processes: &ProcessResults) -> Vec<Table> {
    let by_stream = ["kinds", "Kinds of I/Os by I/O stream", "I/O stream"];
    let by_process = ["kinds-processes", "Kinds of I/Os by process", "Process"];
    let tables = [(by_stream, Facet::Stream), (by_process, Facet::Process)];
    let tables = tables
        .map(|(names, facet)| groups(names, &by(processes, facet), study, GroupFigureSet::Kinds));
    let recorded = tables.into_iter().filter(|table| columns_with_values(table) > ALWAYS_KNOWN);
    recorded.map(|table| without_zeros(table, study)).collect()
}

/// Columns of the table of flags that every trace has: the I/Os, and those that failed.
const ALWAYS_KNOWN: usize = 2;

fn columns_with_values(table: &Table) -> usize {
    let is_known = |at: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at));
        cells.any(|cell| !matches!(cell, Cell::Missing))
    };
    (0..table.columns.len()).filter(|at| is_known(*at)).count()
}

/// Removes columns that hold only zeros and names them in the title. Only the file-system layer
/// knows whether an I/O bypassed the page cache, so without it `direct` is not named.
fn without_zeros(mut table: Table, study: &Study) -> Table {
    let has_files = study.totals.sides_seen.iter().any(|side| side.layer == Layer::FileSystem);
    let is_zero = |cell: &Cell| matches!(cell, Cell::Number { value, .. } if *value == 0.0);
    let holds_zeros =
        |at: usize| table.rows.iter().all(|row| row.cells.get(at).is_some_and(is_zero));
    let zeros: Vec<bool> = (0..table.columns.len()).map(holds_zeros).collect();
    if table.rows.is_empty() || !zeros.contains(&true) {
        return table;
    }
    let removed = table.columns.iter().zip(&zeros).filter(|(_, is_zero)| **is_zero);
    let removed = removed.map(|(column, _)| column.name.trim_end_matches(" %"));
    let removed: Vec<&str> = removed.filter(|name| has_files || *name != "direct").collect();
    if !removed.is_empty() {
        table.title = format!("{}; none: {}", table.title, removed.join(", "));
    }
    let mut is_zero = zeros.iter();
    table.columns.retain(|_| is_zero.next() == Some(&false));
    for row in &mut table.rows {
        let mut is_zero = zeros.iter();
        row.cells.retain(|_| is_zero.next() == Some(&false));
    }
    table
}

/// Regroups processes and streams by one of the two.
fn by(processes: &ProcessResults, facet: Facet) -> Groups {
    processes.streams.regrouped(&[facet])
}

pub(super) fn gaps(study: &Study, singles: &SingleIoResults) -> Table {
    let rows = shape_figures::streams(
        &singles.shape, &study.streams_over_time, study.totals.span_ns, study.totals.step_ns,
    );
    let names = ["gaps", "Times between the I/Os of a stream", "I/O stream"];
    let rows = rows.into_iter().map(|row| (row.stream.clone(), row));
    table(names, StreamShape::OF_REPORT, rows)
}

pub(super) fn runs(singles: &SingleIoResults) -> Table {
    let name = |run: &RunShape| match run.lengths {
        (from, Some(to)) if from == to => from.to_string(),
        (from, Some(to)) => format!("{from} to {to}"),
        (from, None) => format!("{from} and more"),
    };
    let rows = shape_figures::runs(&singles.shape).into_iter().map(|run| (name(&run), run));
    let names = ["runs", "Sequential runs by their number of selected sequential I/Os", "I/Os"];
    table(names, &RunShape::ALL[2..], rows)
}

pub(super) fn hot_ranges(study: &Study, ranges: &HotRanges) -> Table {
    let name = device_name(&study.totals.conditions, ranges.device);
    let rows = ranges.hottest(RANGES_SHOWN).into_iter();
    let rows = rows.map(|range| (range.place(), range));
    let (id, title) = (format!("hot-{}", ranges.device), format!("Hottest ranges of {name}"));
    table([&id, &title, "Range, % of the device"], &HotRange::OF_REPORT, rows)
}

/// Returns what each stream moved on a device in the busiest minute, and where.
pub(super) fn read_out(study: &Study, read_out: &ReadOut) -> Table {
    let name = device_name(&study.totals.conditions, read_out.device);
    let busiest = study.extremes.and_then(|found| found.busiest);
    let time =
        busiest.map_or(String::new(), |busiest| super::answers::period_start(study, &busiest));
    let title = format!("Streams and their places on {name} in the busiest minute, {time}");
    let rows = read_out.streams.iter().map(|place| (place.stream.clone(), place.clone()));
    let id = format!("read-out-{}", read_out.device);
    table([&id, &title, "I/O stream"], &StreamPlace::OF_REPORT, rows)
}

pub(super) fn idle(study: &Study, singles: &SingleIoResults) -> Vec<Table> {
    let rows = shape_figures::idle(&singles.shape, &study.totals.conditions);
    let devices = rows.chunk_by(|one, next| one.device == next.device).enumerate();
    let of_device = |(at, rows): (usize, &[IdleShape])| {
        let (id, title) = (format!("idle-{at}"), format!("Idle periods of {}", rows[0].device));
        let rows = rows.iter().map(|row| (row.class(), row.clone()));
        table([&id, &title, "Idle for"], &IdleShape::OF_REPORT, rows)
    };
    devices.map(of_device).collect()
}

/// Returns a table of the largest groups.
fn groups(names: [&str; 3], groups: &Groups, study: &Study, show: GroupFigureSet) -> Table {
    let listing = groups.listing(study.totals.options.by, &study.totals.conditions);
    let rows = listing.into_iter().take(GROUPS_SHOWN).map(|group| (group.name(), group));
    table(names, GroupFigures::of_report(show), rows)
}

pub(super) fn processes(processes: &ProcessResults, most: usize) -> Table {
    process_table("processes", processes, most)
}

pub(super) fn processes_all(processes: &ProcessResults) -> Table {
    process_table("processes-all", processes, usize::MAX)
}

fn process_table(id: &str, processes: &ProcessResults, most: usize) -> Table {
    let listing = processes.all.listing().into_iter().take(most);
    let rows = listing.map(|process| (process.key.to_string(), process));
    table([id, "Processes", "Process"], &ProcessFigures::OF_REPORT, rows)
}

/// Returns a table of the capture steps with I/Os issued or outstanding.
pub(super) fn steps(study: &Study) -> Table {
    let title = "Capture steps with I/Os issued or outstanding";
    let rows = study.step_figures().map(|step| (step.begin(), step));
    let content: &[_] = if study.has_content() { &StepFigures::OF_CONTENT } else { &[] };
    let columns = [&StepFigures::OF_REPORT[..], content].concat();
    table(["steps", title, "Begin s"], &columns, rows)
}
