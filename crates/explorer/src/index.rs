//! The [`Index`] of a capture: what one pass over all I/Os leaves, so that most
//! questions need no second one. Two threads make it: one reads and judges the I/Os,
//! the other counts them.

use crate::cells::{Cells, CellsFold, CellsWanted, SERIES};
use crate::keys::NUMBERS;
use crate::maps::{Axis, COLUMNS, HitMap, PARTS, RANGES, SecondMap};
use crate::query::usual_layer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use steadfast_domain::io_event::Command;
use steadfast_domain::{Caveat, Layer};
use steadfast_trace::pass::{Checkpoint, PassAccount};
use steadfast_trace::processes::{ProcessKey, ProcessTable, ProcessTally};
use steadfast_trace::quality::Quality;
use steadfast_trace::sequence::Busy;
use steadfast_trace::streams::StreamTally;
use steadfast_trace::trust::Evidence;
use steadfast_trace::{
    Batch, Captured, Fields, Filter, Fold, Pass, Rows, StreamKey, StreamTable, TraceError,
};

/// Raised whenever an index comes to hold something else.
pub const VERSION: u32 = 1;
/// Cells of an index, at most.
pub const CELLS: u64 = 131_072;
/// The narrowest cell: 100 us.
pub const NARROWEST_NS: u64 = 100_000;
/// A window of so many cells, or more, is answered by adding cells up.
pub const CELLS_ENOUGH: u64 = 2048;
/// Stretches whose tables are kept, at most.
const STRETCHES: u64 = 256;
/// Batches that wait for the counting thread.
const WAITING: usize = 2;

/// A stretch of time whose tables were kept, and how a pass begins with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stretch {
    /// Where it begins.
    pub from_ns: u64,
    /// How a pass begins there; `None` for the capture's beginning.
    pub start: Option<Checkpoint>,
    streams: Vec<u8>,
    processes: Vec<u8>,
}

/// What one pass found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    /// The end of the capture, from its beginning.
    pub end_ns: u64,
    /// Issue time of the first and the last I/O that counts.
    pub span_ns: Option<(u64, u64)>,
    /// I/Os read.
    pub events: u64,
    /// I/Os that count.
    pub ios: u64,
    /// I/Os that could not be put into issue order.
    pub late: u64,
    /// Devices and layers with I/Os.
    pub sides: Vec<(u16, Layer)>,
    /// Time in cells.
    pub cells: Cells,
    /// Hits by address.
    pub hits: HitMap,
    /// Parts of seconds.
    pub seconds: SecondMap,
    /// I/Os of each address range by process, everything else last.
    pub hot: Vec<u32>,
    /// Where passes can begin, and tables between these places.
    pub stretches: Vec<Stretch>,
    /// What limits the trust in it.
    pub caveats: Vec<Caveat>,
}

/// How far it is, and whether it is still wanted.
#[derive(Debug, Default)]
pub struct Progress {
    /// I/Os read.
    pub done: AtomicU64,
    /// All of them.
    pub all: AtomicU64,
    /// Nobody waits for it any more.
    pub is_given_up: AtomicBool,
}

impl Progress {
    /// 0 to 1.
    pub fn share(&self) -> f64 {
        let (done, all) = (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed));
        if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) }
    }
}

/// The width of the cells of a capture.
pub fn cell_width(end_ns: u64) -> u64 {
    let mut width = NARROWEST_NS;
    while end_ns.div_ceil(width) > CELLS {
        width = width.saturating_mul(2);
    }
    width
}

impl Index {
    /// Goes over a capture once.
    ///
    /// # Errors
    /// Where it cannot be read, or kept no single I/Os.
    pub fn of(captured: &Captured<File>, progress: &Progress) -> Result<Self, TraceError> {
        let rows = captured.rows().unwrap_or_default();
        progress.all.store(rows, Ordering::Relaxed);
        let span_ns = match rows {
            0 => (0, 0),
            _ => captured.span_ns(&Pass::default()).or_else(none_is_empty)?,
        };
        let end_ns = captured.conditions().lasted_ns.max(span_ns.1.saturating_add(1));
        let layer = usual_layer(captured.conditions());
        let filter = Filter { layer, ..Filter::default() };
        let pass = Pass { filter, ..Pass::default() };
        let reach = captured.reach().unwrap_or(1 << 40);
        let quality = Quality::of(captured.conditions());
        let making = Making::new(end_ns, reach, rows / STRETCHES, quality);
        let (making, account) = counted(captured, &pass, making, progress)?;
        Ok(making.finish(captured, account))
    }

    /// The last place at or before a time where a pass can begin.
    pub fn stretch_before(&self, time_ns: u64) -> usize {
        self.stretches.partition_point(|stretch| stretch.from_ns <= time_ns).saturating_sub(1)
    }

    /// The stretches that lie in a window whole; empty where there is none.
    pub fn stretches_within(&self, (from_ns, to_ns): (u64, u64)) -> std::ops::Range<usize> {
        let first = match from_ns {
            0 => 0,
            _ => self.stretches.partition_point(|stretch| stretch.from_ns < from_ns),
        };
        let end = match to_ns >= self.end_ns {
            true => self.stretches.len(),
            false => self.stretches.partition_point(|s| s.from_ns <= to_ns).saturating_sub(1),
        };
        first..end.max(first)
    }

    /// The end of a stretch.
    pub fn end_of(&self, stretch: usize) -> u64 {
        self.stretches.get(stretch + 1).map_or(self.end_ns, |next| next.from_ns)
    }
}

impl Stretch {
    /// Adds its I/Os by stream to a table.
    ///
    /// # Errors
    /// Where the index is damaged.
    pub fn add_streams(&self, table: &mut StreamTable) -> Result<(), TraceError> {
        let (streams, unlisted): (Vec<(StreamKey, StreamTally)>, StreamTally) =
            postcard::from_bytes(&self.streams).map_err(unreadable)?;
        streams.iter().for_each(|(key, tally)| table.add(*key, tally));
        table.add_unlisted(&unlisted);
        Ok(())
    }

    /// Adds its I/Os by process to a table.
    ///
    /// # Errors
    /// Where the index is damaged.
    pub fn add_processes(&self, table: &mut ProcessTable) -> Result<(), TraceError> {
        let (processes, unlisted): (Vec<(u32, [u8; 16], ProcessTally)>, ProcessTally) =
            postcard::from_bytes(&self.processes).map_err(unreadable)?;
        for (pid, command, tally) in &processes {
            table.add(ProcessKey { pid: *pid, command: Command(*command) }, tally);
        }
        table.add_unlisted(&unlisted);
        Ok(())
    }
}

fn none_is_empty(error: TraceError) -> Result<(u64, u64), TraceError> {
    match error {
        TraceError::Unsuitable(_) => Ok((0, 0)),
        error => Err(error),
    }
}

fn unreadable(error: postcard::Error) -> TraceError {
    TraceError::Unsuitable(format!("the index is damaged ({error}); remove it and start again"))
}

/// Some I/Os with what their neighbors tell, on their way to the counting thread.
struct Judged {
    batch: Batch,
    sequential: Vec<bool>,
    depth: Vec<u32>,
    busy: Vec<Busy>,
    kept: Vec<bool>,
    checkpoint: Option<Checkpoint>,
}

impl Judged {
    fn of(rows: &Rows<'_>) -> Self {
        Judged {
            batch: rows.batch.clone(),
            sequential: rows.sequential.to_vec(),
            depth: rows.depth.to_vec(),
            busy: rows.busy.to_vec(),
            kept: rows.kept.to_vec(),
            checkpoint: None,
        }
    }

    fn rows(&self) -> Rows<'_> {
        Rows {
            batch: &self.batch,
            sequential: &self.sequential,
            depth: &self.depth,
            busy: &self.busy,
            kept: &self.kept,
            after: &[],
        }
    }
}

/// Reads on this thread and counts on another.
fn counted(
    captured: &Captured<File>,
    pass: &Pass,
    making: Making,
    progress: &Progress,
) -> Result<(Making, PassAccount), TraceError> {
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        let counting = scope.spawn(move || making.take_all(&receiver));
        let account = read_all(captured, pass, &sender, progress);
        drop(sender);
        let stopped = || TraceError::Unsuitable("the counting thread ended early".into());
        let making = counting.join().map_err(|_| stopped())??;
        Ok((making, account?))
    })
}

fn read_all(
    captured: &Captured<File>,
    pass: &Pass,
    sender: &SyncSender<Judged>,
    progress: &Progress,
) -> Result<PassAccount, TraceError> {
    let mut ios = captured.ios(pass, Making::fields())?.keeping_checkpoints();
    while let Some(rows) = ios.next_rows()? {
        let mut judged = Judged::of(&rows);
        judged.checkpoint = ios.checkpoint();
        progress.done.fetch_add(judged.batch.len() as u64, Ordering::Relaxed);
        let is_over = progress.is_given_up.load(Ordering::Relaxed) || sender.send(judged).is_err();
        if is_over {
            return Err(TraceError::Unsuitable("it was given up".into()));
        }
    }
    Ok(ios.account())
}

/// An index that is being made.
struct Making {
    end_ns: u64,
    cells: CellsFold,
    hits: HitMap,
    seconds: SecondMap,
    /// I/Os of every address range by process number.
    hot: Vec<u32>,
    sides: BTreeSet<(u16, Layer)>,
    last_side: Option<(u16, Layer)>,
    streams: StreamTable,
    processes: ProcessTable,
    quality: Quality,
    stretches: Vec<Stretch>,
    /// I/Os of a stretch, at least.
    long: u64,
    /// I/Os of the stretch that is open.
    open: u64,
}

/// Everything is wanted of every cell.
fn wanted(end_ns: u64) -> CellsWanted {
    let width_ns = cell_width(end_ns);
    let count = end_ns.div_ceil(width_ns).max(1) as usize;
    CellsWanted { width_ns, first: 0, count, streams: true, processes: true }
}

impl Making {
    fn fields() -> Fields {
        let tables = StreamTable::new().fields().and(ProcessTable::default().fields());
        tables.and(CellsFold::fields(&wanted(1))).and(Quality::default().fields())
    }

    fn new(end_ns: u64, reach: u64, long: u64, quality: Quality) -> Self {
        let cells = wanted(end_ns);
        let beside = cells.count.div_ceil(COLUMNS).next_power_of_two();
        let axis = Axis {
            width_ns: cells.width_ns.saturating_mul(beside as u64),
            first: 0,
            columns: cells.count.div_ceil(beside),
        };
        Making {
            end_ns,
            cells: CellsFold::new(cells),
            hits: HitMap::new(axis, (0, reach), RANGES),
            seconds: SecondMap::new((0, end_ns), COLUMNS, PARTS),
            hot: vec![0; RANGES * (NUMBERS + 1)],
            sides: BTreeSet::new(),
            last_side: None,
            streams: StreamTable::new(),
            processes: ProcessTable::default(),
            quality,
            stretches: vec![Stretch::at(0, None)],
            long: long.max(1),
            open: 0,
        }
    }

    fn take_all(mut self, receiver: &Receiver<Judged>) -> Result<Self, TraceError> {
        for mut judged in receiver {
            if let Some(start) = judged.checkpoint.take().filter(|_| self.open >= self.long) {
                self.close()?;
                self.stretches.push(Stretch::at(start.at_ns, Some(start)));
                self.open = 0;
            }
            self.open += judged.batch.len() as u64;
            self.take(&judged.rows())?;
        }
        self.close()?;
        Ok(self)
    }

    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in 0..rows.batch.len() {
            let side = (rows.batch.device(row), rows.batch.layer(row));
            if self.last_side != Some(side) {
                self.last_side = Some(side);
                self.sides.insert(side);
            }
        }
        for row in rows.iter() {
            let process = usize::from(self.cells.take_row(rows, row));
            self.seconds.take_row(rows, row);
            if let Some((first, last)) = self.hits.take_row(rows, row) {
                for range in first..=last {
                    let hot = &mut self.hot[range * (NUMBERS + 1) + process];
                    *hot = hot.saturating_add(1);
                }
            }
        }
        self.streams.take(rows)?;
        self.processes.take(rows)?;
        self.quality.take(rows)
    }

    /// Keeps the tables of the stretch that is open.
    fn close(&mut self) -> Result<(), TraceError> {
        let (streams, processes) =
            (std::mem::take(&mut self.streams), std::mem::take(&mut self.processes));
        let Some(stretch) = self.stretches.last_mut() else { return Ok(()) };
        let mut listed: Vec<(StreamKey, &StreamTally)> = streams.iter().collect();
        listed.sort_by_key(|(key, _)| *key);
        stretch.streams = postcard::to_stdvec(&(listed, streams.unlisted())).map_err(unreadable)?;
        let mut listed: Vec<(u32, [u8; 16], &ProcessTally)> =
            processes.iter().map(|(key, tally)| (key.pid, key.command.0, tally)).collect();
        listed.sort_by_key(|(pid, command, _)| (*pid, *command));
        stretch.processes =
            postcard::to_stdvec(&(listed, processes.unlisted())).map_err(unreadable)?;
        Ok(())
    }

    fn finish(self, captured: &Captured<File>, account: PassAccount) -> Index {
        let caveats = Evidence::seen(captured, account, self.quality).limits();
        let numbers = self.cells.process_numbers();
        let cells = self.cells.finish();
        let hot = by_place(&self.hot, &numbers, &cells);
        Index {
            end_ns: self.end_ns,
            span_ns: account.span_ns,
            events: account.events,
            ios: account.kept,
            late: account.order.late,
            sides: self.sides.into_iter().collect(),
            cells,
            hits: self.hits,
            seconds: self.seconds,
            hot,
            stretches: self.stretches,
            caveats,
        }
    }
}

impl Stretch {
    fn at(from_ns: u64, start: Option<Checkpoint>) -> Self {
        Stretch { from_ns, start, streams: Vec::new(), processes: Vec::new() }
    }
}

/// The I/Os of every range by the process's place among those with a series.
fn by_place(hot: &[u32], numbers: &[ProcessKey], cells: &Cells) -> Vec<u32> {
    let places = cells.processes.keys.len();
    let place = |key: &ProcessKey| {
        let kept = (key.pid, key.command.0);
        cells.processes.keys.iter().take(SERIES).position(|one| *one == kept).unwrap_or(places)
    };
    let mut of_number: Vec<usize> = numbers.iter().map(place).collect();
    of_number.resize(NUMBERS + 1, places);
    let mut found = vec![0u32; RANGES * (places + 1)];
    for range in 0..RANGES {
        for (number, place) in of_number.iter().enumerate() {
            let count = &mut found[range * (places + 1) + place];
            *count = count.saturating_add(hot[range * (NUMBERS + 1) + number]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_a_power_of_two_wide_and_few_enough() {
        assert_eq!(cell_width(1), NARROWEST_NS);
        assert_eq!(cell_width(NARROWEST_NS * CELLS), NARROWEST_NS);
        assert_eq!(cell_width(NARROWEST_NS * CELLS + 1), 2 * NARROWEST_NS);
        for end in [86_400_000_000_000, u64::MAX / 2, u64::MAX] {
            let width = cell_width(end);
            assert!(end.div_ceil(width) <= CELLS && width.is_multiple_of(NARROWEST_NS));
            assert!((width / NARROWEST_NS).is_power_of_two());
        }
    }
}
