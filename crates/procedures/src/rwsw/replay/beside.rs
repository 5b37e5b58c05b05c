//! Table that compares the streams of the capture with those of the replay.

use super::results::RwswReplayResults;
use super::setup::{PlannedCaptureStep, Replay, ReplayContent};
use crate::rwsw::segments::stream_counts;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::script::ScriptLoad;
use steadfast_domain::{IoStream, Op};

/// I/Os and bytes of one stream, or of one operation.
#[derive(Debug, Clone, Default)]
struct StreamComparison {
    name: String,
    captured: f64,
    /// `None` for an operation of a script, which records only the bytes of all its I/Os.
    captured_bytes: Option<f64>,
    replayed: f64,
    replayed_bytes: f64,
}

/// Returns the table of I/Os, bytes and shares in capture and replay: per stream, or for single
/// I/Os per operation, because their streams are those of the capture.
pub(super) fn streams(replay: &Replay, results: &RwswReplayResults<'_>) -> Table {
    let (corner, all) = match &replay.course {
        ReplayContent::Steps(steps) => ("I/O stream", of_steps(replay, steps, results)),
        ReplayContent::Script(script, _) => ("Operation", of_script(script, results)),
    };
    let mut whole = StreamComparison { name: "Together".to_owned(), ..StreamComparison::default() };
    for one in &all {
        whole.captured += one.captured;
        whole.replayed += one.replayed;
        whole.replayed_bytes += one.replayed_bytes;
    }
    whole.captured_bytes = match &replay.course {
        ReplayContent::Steps(_) => all.iter().map(|one| one.captured_bytes).sum(),
        ReplayContent::Script(script, _) => Some(script.bytes.0 as f64),
    };
    let share = |part: f64, of: f64| Cell::number((of > 0.0).then(|| part / of * 100.0), 2);
    let row = |of: &StreamComparison| {
        Row::new(
            of.name.clone(),
            [
                Cell::number(Some(of.captured), 0),
                share(of.captured, whole.captured),
                Cell::number(of.captured_bytes.map(|bytes| bytes / 1e6), 1),
                Cell::number(Some(of.replayed), 0),
                share(of.replayed, whole.replayed),
                Cell::number(Some(of.replayed_bytes / 1e6), 1),
            ],
        )
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    rows.push(row(&whole).strong(true));
    let columns =
        ["Capture I/Os", "Capture %", "Capture MB", "Replay I/Os", "Replay %", "Replay MB"];
    let title = "Streams of the capture and of the replay";
    Table::new("streams-beside", title, corner).columns(columns).rows(rows)
}

/// Sums the streams of the capture steps that were played to their end.
fn of_steps(
    replay: &Replay,
    planned: &[PlannedCaptureStep],
    results: &RwswReplayResults<'_>,
) -> Vec<StreamComparison> {
    let workload = &replay.composite.workload;
    let of = |stream: &IoStream| StreamComparison {
        name: stream.to_string(),
        captured_bytes: Some(0.0),
        ..StreamComparison::default()
    };
    let mut all: Vec<StreamComparison> = workload.streams.iter().map(of).collect();
    for (planned, (step, outcome)) in planned.iter().zip(&results.steps) {
        let captured = replay.composite.counts_of(&workload.steps[planned.index]);
        let replayed = stream_counts(step, &outcome.measurement);
        for ((place, ios), done) in captured.into_iter().zip(replayed) {
            let size = workload.streams[place].size.0 as f64;
            let one = &mut all[place];
            one.captured += ios as f64;
            one.captured_bytes = one.captured_bytes.map(|bytes| bytes + ios as f64 * size);
            one.replayed += done;
            one.replayed_bytes += done * size;
        }
    }
    all.retain(|one| one.captured > 0.0);
    all
}

fn of_script(script: &ScriptLoad, results: &RwswReplayResults<'_>) -> Vec<StreamComparison> {
    let named = [
        (Op::Read, "Reads"),
        (Op::Write, "Writes"),
        (Op::Discard, "Discards"),
        (Op::Flush, "Flushes"),
    ];
    let of = |(op, name): (Op, &str)| {
        let all = results.measurements().flat_map(|m| &m.streams).filter(|s| s.op == op);
        let (ios, bytes) = all.fold((0, 0), |(ios, bytes), stream| {
            (ios + stream.tally.ios, bytes + stream.tally.bytes.0)
        });
        StreamComparison {
            name: name.to_owned(),
            captured: script.counts.get(op) as f64,
            captured_bytes: None,
            replayed: ios as f64,
            replayed_bytes: bytes as f64,
        }
    };
    named.into_iter().map(of).filter(|one| one.captured > 0.0).collect()
}
