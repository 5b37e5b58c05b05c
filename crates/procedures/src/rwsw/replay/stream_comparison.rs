//! Table that compares the streams of the capture with those of the replay.

use super::results::RwswReplayResults;
use super::setup::{PlannedCaptureStep, Replay, ReplayContent};
use crate::rwsw::segments::stream_tallies;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::script::ScriptLoad;
use steadfast_domain::{IoStream, Op, Tally};

/// I/Os and bytes of one stream, or of one operation.
#[derive(Debug, Clone, Default)]
struct StreamComparison {
    name: String,
    captured: f64,
    /// `None` for an operation of a script, which records only the bytes of all its I/Os.
    captured_bytes: Option<f64>,
    /// Captured I/Os of the time that was played.
    to_play: f64,
    /// I/Os that completed in their steps; `None` if the engine did not count streams separately.
    replayed: Option<f64>,
    replayed_bytes: Option<f64>,
    /// I/Os that were outstanding at the end of their steps.
    late: Option<f64>,
}

/// A stream whose I/Os the target did not all complete.
pub(super) struct WorstStream {
    pub name: String,
    pub to_play: f64,
    pub replayed: f64,
}

impl WorstStream {
    pub(super) fn share(&self) -> f64 {
        self.replayed / self.to_play
    }
}

/// Returns the stream with the smallest share of its captured I/Os. Streams are drawn at random by
/// their counts, so a stream counts only if it lacks more than that explains (three standard
/// deviations). `None` if there is no such stream or if the engine did not count them separately.
pub(super) fn worst_stream(
    replay: &Replay,
    results: &RwswReplayResults<'_>,
) -> Option<WorstStream> {
    let ReplayContent::Steps(steps) = &replay.content else { return None };
    let all = played_streams(replay, steps, results).into_iter().filter_map(|stream| {
        let StreamComparison { name, to_play, .. } = stream;
        let worst = WorstStream { name, to_play, replayed: stream.replayed? };
        (worst.to_play - worst.replayed > 3.0 * worst.to_play.sqrt()).then_some(worst)
    });
    all.min_by(|a, b| a.share().total_cmp(&b.share()))
}

/// Returns the table of I/Os, bytes and shares in capture and replay: per stream, or for single
/// I/Os per operation, because their streams are those of the capture.
pub(super) fn streams(replay: &Replay, results: &RwswReplayResults<'_>) -> Table {
    let (corner, all) = match &replay.content {
        ReplayContent::Steps(steps) => ("I/O stream", played_streams(replay, steps, results)),
        ReplayContent::Script { script, .. } => ("Operation", operations(script, results)),
    };
    let whole = StreamComparison {
        name: "Together".to_owned(),
        captured: all.iter().map(|stream| stream.captured).sum(),
        captured_bytes: match &replay.content {
            ReplayContent::Steps(_) => all.iter().map(|stream| stream.captured_bytes).sum(),
            ReplayContent::Script { script, .. } => Some(script.bytes.0 as f64),
        },
        to_play: all.iter().map(|stream| stream.to_play).sum(),
        replayed: all.iter().map(|stream| stream.replayed).sum(),
        replayed_bytes: all.iter().map(|stream| stream.replayed_bytes).sum(),
        late: all.iter().map(|stream| stream.late).sum(),
    };
    let share = |part: f64, sum: f64| Cell::number((sum > 0.0).then(|| part / sum * 100.0), 2);
    let row = |compared: &StreamComparison| {
        Row::new(
            compared.name.clone(),
            [
                Cell::number(Some(compared.captured), 0),
                share(compared.captured, whole.captured),
                Cell::number(compared.captured_bytes.map(|bytes| bytes / 1e6), 1),
                Cell::number(compared.replayed, 0),
                compared
                    .replayed
                    .zip(whole.replayed)
                    .map_or(Cell::Missing, |(own, all)| share(own, all)),
                Cell::number(compared.replayed_bytes.map(|bytes| bytes / 1e6), 1),
                Cell::number(compared.late, 0),
            ],
        )
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    rows.push(row(&whole).strong(true));
    let columns = [
        "Capture I/Os", "Capture %", "Capture MB", "Replay I/Os", "Replay %", "Replay MB",
        "I/Os after their step",
    ];
    let title = "Streams of the capture and of the replay";
    Table::new("streams-compared", title, corner).columns(columns).rows(rows)
}

/// Sums the streams of the capture steps that were played to their end.
fn played_streams(
    replay: &Replay,
    planned: &[PlannedCaptureStep],
    results: &RwswReplayResults<'_>,
) -> Vec<StreamComparison> {
    let workload = &replay.composite.workload;
    let empty = |stream: &IoStream| StreamComparison {
        name: stream.to_string(),
        captured_bytes: Some(0.0),
        replayed: Some(0.0),
        replayed_bytes: Some(0.0),
        late: Some(0.0),
        ..StreamComparison::default()
    };
    let mut all: Vec<StreamComparison> = workload.streams.iter().map(empty).collect();
    for (planned, (step, outcome)) in planned.iter().zip(&results.steps) {
        let captured = replay.composite.counts_of(&workload.steps[planned.index]);
        let tallies = stream_tallies(step, &outcome.measurement);
        let part = planned.played_part(replay);
        for (number, (place, ios)) in captured.into_iter().enumerate() {
            let size = workload.streams[place].size.0 as f64;
            let tally = tallies.and_then(|tallies| Some(&tallies.get(number)?.tally));
            let compared = &mut all[place];
            let add = |sum: Option<f64>, more: Option<f64>| Some(sum? + more?);
            compared.captured += ios as f64;
            compared.captured_bytes = add(compared.captured_bytes, Some(ios as f64 * size));
            compared.to_play += ios as f64 * part;
            compared.replayed = add(compared.replayed, tally.map(|tally| tally.ios as f64));
            compared.replayed_bytes =
                add(compared.replayed_bytes, tally.map(|tally| tally.ios as f64 * size));
            compared.late = add(compared.late, tally.map(|tally| tally.outstanding as f64));
        }
    }
    all.retain(|stream| stream.captured > 0.0);
    all
}

fn operations(script: &ScriptLoad, results: &RwswReplayResults<'_>) -> Vec<StreamComparison> {
    let named = [
        (Op::Read, "Reads"),
        (Op::Write, "Writes"),
        (Op::Discard, "Discards"),
        (Op::Flush, "Flushes"),
    ];
    let compared = |(op, name): (Op, &str)| {
        let all = results.measurements().flat_map(|m| &m.streams).filter(|s| s.op == op);
        let tally: Tally = all.map(|stream| &stream.tally).sum();
        StreamComparison {
            name: name.to_owned(),
            captured: script.counts.get(op) as f64,
            captured_bytes: None,
            to_play: script.counts.get(op) as f64,
            replayed: Some(tally.ios as f64),
            replayed_bytes: Some(tally.bytes.0 as f64),
            late: Some(tally.outstanding as f64),
        }
    };
    named.into_iter().map(compared).filter(|stream| stream.captured > 0.0).collect()
}
