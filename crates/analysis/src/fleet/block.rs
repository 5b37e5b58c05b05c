//! Encodes the cells of one capture as a block of a fold file: the cells of each step, then the
//! busy time, all as numbers of [`super::numbers`]. Times count from a whole step of the clock, so
//! that the steps of all captures lie on one grid.

use super::numbers::{impossible, take, take_as};
use crate::cells::{BusyInStep, Cell, FLAGS, Times, Who};
use crate::sums::content::Contents;
use std::io::{self, Read};
use steadfast_domain::io_event::Command;
use steadfast_domain::varint::put;
use steadfast_domain::{FineHistogram, IoOp, Layer};

/// Number of cells that are read at once.
const STRIDE: usize = 1 << 12;
/// Number of histogram buckets that are held at once, exceeded by at most one cell.
const BUCKETS_HELD: usize = 1 << 18;
/// Maximum number of busy-time entries in a block: a year in steps of a minute for 15 devices.
const BUSY_MAX: u64 = 1 << 23;

/// Appends the cells of a step, which share its start time.
pub(super) fn put_step(to: &mut Vec<u8>, step: u64, step_ns: u64, cells: &[Cell]) {
    put(to, cells.len() as u64);
    put(to, step);
    cells.iter().for_each(|cell| put_cell(to, step.saturating_mul(step_ns), cell));
}

/// Appends the busy time as (step, device, layer, nanoseconds), after all cells.
pub(super) fn put_busy(to: &mut Vec<u8>, busy: &[(u64, u16, Layer, u64)]) {
    put(to, 0);
    put(to, busy.len() as u64);
    for (step, device, layer, busy_ns) in busy {
        for number in [*step, u64::from(*device), *layer as u64, *busy_ns] {
            put(to, number);
        }
    }
}

fn put_cell(to: &mut Vec<u8>, begin_ns: u64, cell: &Cell) {
    let kind = cell.op as u64 | u64::from(cell.sequential) << 3 | (cell.layer as u64) << 4;
    let who = &cell.who;
    for number in [u64::from(cell.device), kind, u64::from(cell.bytes), u64::from(who.pid)] {
        put(to, number);
    }
    put_command(to, &who.command);
    let first = cell.span_ns.0.saturating_sub(begin_ns);
    let lasted = cell.span_ns.1.saturating_sub(cell.span_ns.0);
    for number in [cell.ios, first, lasted] {
        put(to, number);
    }
    put_times(to, &cell.responses);
    put_times(to, &cell.queued);
    let mask = cell.flags.iter().enumerate().filter(|(_, count)| **count > 0);
    let mask = mask.fold(0, |mask, (bit, _)| mask | 1 << bit);
    for number in [
        cell.both_queued_ns,
        cell.both_response_ns,
        cell.depth_sum,
        cell.depths,
        u64::from(cell.depth_max),
        cell.offsets,
        cell.beyond,
        mask,
    ] {
        put(to, number);
    }
    cell.flags.iter().filter(|count| **count > 0).for_each(|count| put(to, *count));
    put(to, u64::from(who.tid));
    put_command(to, &who.thread);
    for number in [u64::from(who.cgroup), who.inode, cell.merged] {
        put(to, number);
    }
    let Contents { blocks, duplicates, bytes, compressed_bytes } = cell.contents;
    put(to, blocks);
    if blocks > 0 {
        [duplicates, bytes, compressed_bytes].into_iter().for_each(|number| put(to, number));
    }
}

fn put_command(to: &mut Vec<u8>, command: &Command) {
    let name = command.to_bytes();
    put(to, name.len() as u64);
    to.extend_from_slice(name);
}

fn put_times(to: &mut Vec<u8>, times: &Times) {
    put(to, times.count);
    if times.count == 0 {
        return;
    }
    for number in [times.sum_ns, times.max_ns, times.buckets.len() as u64] {
        put(to, number);
    }
    let mut before = 0;
    for (index, count) in &times.buckets {
        put(to, u64::from(*index) - before);
        put(to, *count);
        before = u64::from(*index);
    }
}

/// A command name without its trailing zeros.
trait Name {
    fn to_bytes(&self) -> &[u8];
}

impl Name for Command {
    fn to_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        &self.0[..end]
    }
}

/// Reads a block of steps of one width. Passes its cells to `cells_of` in portions and its busy
/// time to `busy_of` at the end.
///
/// # Errors
/// Returns [`io::Error`] as `E` if reading fails or the block is damaged, or the error of a
/// callback.
pub(super) fn read<E: From<io::Error>>(
    mut from: impl Read,
    step_ns: u64,
    mut cells_of: impl FnMut(Vec<Cell>) -> Result<(), E>,
    busy_of: impl FnOnce(Vec<BusyInStep>) -> Result<(), E>,
) -> Result<(), E> {
    let mut some = Vec::new();
    let mut buckets = 0;
    loop {
        let count = take(&mut from)?;
        if count == 0 {
            break;
        }
        let begin_ns = take(&mut from)?.checked_mul(step_ns);
        let begin_ns = begin_ns.ok_or_else(|| impossible("an impossible step"))?;
        for _ in 0..count {
            let mut cell = take_cell(&mut from, begin_ns)?;
            take_who(&mut from, &mut cell)?;
            buckets += cell.responses.buckets.len() + cell.queued.buckets.len();
            some.push(cell);
            if some.len() >= STRIDE || buckets >= BUCKETS_HELD {
                cells_of(std::mem::take(&mut some))?;
                buckets = 0;
            }
        }
    }
    cells_of(some)?;
    let mut busy = Vec::new();
    let entries = take(&mut from)?;
    if entries > BUSY_MAX {
        return Err(impossible("too many entries of busy time").into());
    }
    for _ in 0..entries {
        let begin_ns = take(&mut from)?.saturating_mul(step_ns);
        let (device, layer) = (take_as(&mut from)?, layer_of(take(&mut from)?)?);
        busy.push(BusyInStep { begin_ns, device, layer, busy_ns: take(&mut from)? });
    }
    busy_of(busy)?;
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(impossible("more bytes than its cells").into()),
    }
}

fn take_cell(from: &mut impl Read, begin_ns: u64) -> io::Result<Cell> {
    let device = take_as(from)?;
    let kind = take(from)?;
    let op = u8::try_from(kind & 7).ok().and_then(IoOp::of_number);
    let op = op.ok_or_else(|| impossible("an unknown operation"))?;
    let (bytes, pid) = (take_as(from)?, take_as(from)?);
    let command = take_command(from)?;
    let ios = take(from)?;
    let first = begin_ns.saturating_add(take(from)?);
    let span_ns = (first, first.saturating_add(take(from)?));
    let (responses, queued) = (take_times(from)?, take_times(from)?);
    let mut cell = Cell {
        begin_ns,
        device,
        layer: layer_of(kind >> 4)?,
        op,
        sequential: kind & 8 != 0,
        bytes,
        who: Who { pid, command, ..Who::default() },
        ios,
        span_ns,
        responses,
        queued,
        both_queued_ns: take(from)?,
        both_response_ns: take(from)?,
        depth_sum: take(from)?,
        depths: take(from)?,
        depth_max: take_as(from)?,
        offsets: take(from)?,
        beyond: take(from)?,
        flags: [0; FLAGS],
        merged: 0,
        contents: Contents::default(),
    };
    let mask = take(from)?;
    for (bit, count) in cell.flags.iter_mut().enumerate() {
        if mask & 1 << bit != 0 {
            *count = take(from)?;
        }
    }
    Ok(cell)
}

/// Reads the thread, cgroup, file, merges and content of a cell.
fn take_who(from: &mut impl Read, cell: &mut Cell) -> io::Result<()> {
    cell.who.tid = take_as(from)?;
    cell.who.thread = take_command(from)?;
    cell.who.cgroup = take_as(from)?;
    cell.who.inode = take(from)?;
    cell.merged = take(from)?;
    let blocks = take(from)?;
    if blocks > 0 {
        let (duplicates, bytes, compressed_bytes) = (take(from)?, take(from)?, take(from)?);
        cell.contents = Contents { blocks, duplicates, bytes, compressed_bytes };
    }
    Ok(())
}

fn take_command(from: &mut impl Read) -> io::Result<Command> {
    let (length, mut command) = (take(from)?, Command::default());
    let length = usize::try_from(length).ok().filter(|length| *length <= command.0.len());
    let length = length.ok_or_else(|| impossible("a command name that is too long"))?;
    from.read_exact(&mut command.0[..length])?;
    Ok(command)
}

fn take_times(from: &mut impl Read) -> io::Result<Times> {
    let count = take(from)?;
    if count == 0 {
        return Ok(Times::default());
    }
    let (sum_ns, max_ns, buckets) = (take(from)?, take(from)?, take(from)?);
    let mut times = Times { count, sum_ns, max_ns, buckets: Vec::new() };
    let mut index = 0u64;
    for number in 0..buckets {
        let step = take(from)?;
        index = index.saturating_add(step);
        let is_next = (number == 0 || step > 0) && index < FineHistogram::LEN as u64;
        let bucket = u16::try_from(index).ok().filter(|_| is_next);
        let bucket = bucket.ok_or_else(|| impossible("an impossible histogram"))?;
        times.buckets.push((bucket, take(from)?));
    }
    Ok(times)
}

fn layer_of(number: u64) -> io::Result<Layer> {
    match number {
        0 => Ok(Layer::Block),
        1 => Ok(Layer::FileSystem),
        _ => Err(impossible("an unknown layer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    const STEP_NS: u64 = 1_000_000_000;

    fn cells() -> Vec<Cell> {
        let times = |count, buckets| Times { count, sum_ns: 9 * count, max_ns: 77, buckets };
        let full = Cell {
            begin_ns: 3 * STEP_NS,
            device: 7,
            layer: Layer::FileSystem,
            op: IoOp::Other,
            sequential: true,
            bytes: u32::MAX,
            who: Who {
                pid: 4_194_304,
                command: Command::new("a-name-of-15-by"),
                tid: 4_194_305,
                thread: Command::new("thread"),
                cgroup: u16::MAX,
                inode: u64::MAX,
            },
            ios: 11,
            span_ns: (3 * STEP_NS + 5, 4 * STEP_NS - 1),
            responses: times(11, vec![(0, 1), (1, 2), (4607, 8)]),
            queued: times(2, vec![(300, 2)]),
            both_queued_ns: 1,
            both_response_ns: 2,
            depth_sum: 3,
            depths: 2,
            depth_max: 9,
            offsets: u64::MAX,
            flags: [0, 1, 0, 0, 2, 0, 0, 0, 3],
            beyond: 1,
            merged: 1023,
            contents: Contents { blocks: 3, duplicates: 1, bytes: 9000, compressed_bytes: 77 },
        };
        let begin_ns = full.begin_ns;
        vec![Cell { begin_ns, span_ns: (begin_ns, begin_ns), ios: 1, ..Cell::default() }, full]
    }

    /// Covers cells with every bucket, and a busy-time count that exceeds the limit.
    #[test]
    fn what_a_block_claims_is_held_in_small_parts_or_refused() {
        let buckets: Vec<(u16, u64)> = (0..FineHistogram::LEN as u16).map(|at| (at, 1)).collect();
        let all = buckets.len();
        let responses = Times { count: all as u64, sum_ns: 9, max_ns: 7, buckets };
        let full = Cell { queued: responses.clone(), responses, ..cells().remove(1) };
        let mut block = Vec::new();
        put_step(&mut block, 3, STEP_NS, &vec![full.clone(); 200]);
        put_busy(&mut block, &[]);
        let (mut number, mut most) = (0, 0);
        let cells_of = |cells: Vec<Cell>| {
            number += cells.len();
            assert!(cells.iter().all(|cell| *cell == full));
            most = most.max(cells.len() * 2 * all);
            Ok(())
        };
        read::<io::Error>(&block[..], STEP_NS, cells_of, |_| Ok(())).unwrap();
        assert_eq!(number, 200);
        assert!(most < BUCKETS_HELD + 2 * all, "{most}");
        let mut endless = Vec::new();
        put(&mut endless, 0);
        put(&mut endless, BUSY_MAX + 1);
        endless.resize(1 << 20, 0);
        let error = read::<io::Error>(&endless[..], STEP_NS, |_| Ok(()), |_| Ok(()));
        assert!(error.unwrap_err().to_string().contains("busy time"));
    }

    fn block() -> Vec<u8> {
        let mut block = Vec::new();
        put_step(&mut block, 3, STEP_NS, &cells());
        put_busy(&mut block, &[(3, 7, Layer::Block, 12_345)]);
        block
    }

    fn read_all(block: &[u8]) -> io::Result<(Vec<Cell>, Vec<BusyInStep>)> {
        let (mut all, mut busy) = (Vec::new(), Vec::new());
        let take = |cells: Vec<Cell>| {
            all.extend(cells);
            Ok::<(), io::Error>(())
        };
        read(block, STEP_NS, take, |found| {
            busy = found;
            Ok(())
        })?;
        Ok((all, busy))
    }

    #[test]
    fn cells_come_back_as_they_were_put() {
        let (found, busy) = read_all(&block()).unwrap();
        assert_eq!(found, cells());
        let there =
            BusyInStep { begin_ns: 3 * STEP_NS, device: 7, layer: Layer::Block, busy_ns: 12_345 };
        assert_eq!(busy, [there]);
    }

    /// A file with valid checksums may still be crafted to do harm.
    #[test]
    fn a_block_that_is_none_is_refused_or_read_without_a_panic() {
        let whole = block();
        for length in 0..whole.len() {
            assert!(read_all(&whole[..length]).is_err(), "cut off at {length}");
        }
        assert!(read_all(&[&whole[..], &[0]].concat()).is_err(), "something was added");
        for seed in 0..10_007u64 {
            let mut bent = whole.clone();
            let at = mix64(seed) as usize % bent.len();
            bent[at] = (mix64(seed) >> 32) as u8;
            let _ = read_all(&bent);
        }
    }
}
