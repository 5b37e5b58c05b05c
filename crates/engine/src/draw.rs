//! Drawing the next I/O of a stimulus: which stream, which zone, which offset.
//!
//! Pure arithmetic, shared by every engine. A [`DrawPlan`] is resolved once per
//! load and shared by its threads; a [`IoGenerator`] is one thread's source of I/Os
//! and neither allocates, locks nor fails.
//!
//! Streams and zones are chosen by weight, exactly but for a rounding of 2^-58.
//! A random offset is exactly uniform over every aligned position of its zone:
//! 64 random bits, scaled and where needed rejected (D. Lemire, "Fast Random
//! Integer Generation in an Interval", ACM TOMACS 29, 2019). Sequential
//! positions are shared by all threads, wrap at the end of their range and
//! outlive the load.
//!
//! A stream with another distribution draws its positions by [`SkewedPositions`].
//!
//! Where the active range has segments, a random offset is uniform over the
//! positions of all of them, and sequential I/O runs through one after the other
//! in the order of their addresses.

use crate::skewed::SkewedPositions;
use crate::xoshiro::Xoshiro256;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::stimulus::Zone;
use steadfast_domain::{Bytes, IoStream, Op, Order, Stimulus};

/// An I/O to be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnIo {
    /// Index of its stream in the stimulus.
    pub stream: u32,
    /// Operation.
    pub op: Op,
    /// Forced unit access.
    pub fua: bool,
    /// Offset of its first byte on the device.
    pub offset: u64,
    /// Size in bytes; 0 for a flush.
    pub size: u32,
}

/// A load's streams, zones and sequential cursors, resolved to bytes.
#[derive(Debug)]
pub struct DrawPlan {
    choice: AliasTable,
    streams: Box<[StreamPlan]>,
    cursors: Box<[SequentialCursor]>,
}

/// One stream, resolved to bytes.
#[derive(Debug)]
struct StreamPlan {
    op: Op,
    fua: bool,
    size: u32,
    placement: StreamPlacement,
}

#[derive(Debug)]
enum StreamPlacement {
    /// A flush, which has no offset.
    Nowhere,
    /// Random in a single zone.
    Uniform(AlignedPositions),
    /// Random with another distribution than the uniform one.
    Skewed { skew: SkewedPositions, positions: AlignedPositions },
    /// Random in several zones, chosen by weight.
    Zoned { choice: AliasTable, zones: Box<[AlignedPositions]> },
    /// Random in segments, all equally likely.
    Scattered(SegmentPositions),
    /// Sequential; `cursor` is an index into the plan's cursors.
    Sequential { cursor: u32, positions: AlignedPositions },
    /// Sequential through segments; `cursor` is an index into the plan's cursors.
    SequentialScattered { cursor: u32, scattered: SegmentPositions },
}

/// The aligned positions of a range: `first + n * alignment`, `n < count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AlignedPositions {
    first: u64,
    count: u64,
    alignment: u64,
}

/// The aligned positions of segments of equal size.
#[derive(Debug, Clone)]
struct SegmentPositions {
    /// Offset of each segment, ascending; at least one.
    starts: Arc<[u64]>,
    within: AlignedPositions,
}

/// A position that several threads, and possibly several streams, advance.
#[derive(Debug)]
struct SequentialCursor {
    key: String,
    range: Range<u64>,
    next: AtomicU64,
}

impl DrawPlan {
    /// Resolves a stimulus; every sequential cursor starts at the beginning of its range.
    ///
    /// # Errors
    ///
    /// A sentence, if a stream or a zone has no room for a single I/O or if streams that share a
    /// cursor have different ranges.
    pub fn new(stimulus: &Stimulus) -> Result<Self, String> {
        if let Some(fault) = stimulus.fault() {
            return Err(fault);
        }
        let weights: Vec<u32> = stimulus.streams.iter().map(|stream| stream.weight).collect();
        let choice = AliasTable::new(&weights).ok_or("every I/O stream has weight 0")?;
        let range = stimulus.active_range;
        let segment_starts: Option<Arc<[u64]>> = match range.segments {
            Some(segments) => Some(segments.starts(range)?.into()),
            None => None,
        };
        let mut cursors = Vec::new();
        let mut streams = Vec::with_capacity(stimulus.streams.len());
        for stream in &stimulus.streams {
            streams.push(StreamPlan {
                op: stream.op,
                fua: stream.durability.is_forced(),
                size: if stream.op == Op::Flush { 0 } else { transfer_size(stream)? },
                placement: placement(stimulus, segment_starts.as_ref(), stream, &mut cursors)?,
            });
        }
        Ok(DrawPlan { choice, streams: streams.into(), cursors: cursors.into() })
    }

    /// Sets every sequential cursor to its byte offset in `cursors`. A cursor that is missing
    /// there, or lies outside its range, starts at the beginning of its range.
    #[must_use]
    pub fn with_cursors(self, cursors: &BTreeMap<String, Bytes>) -> Self {
        // The first of the streams that share a cursor decides where it may lie.
        for stream in self.streams.iter().rev() {
            match &stream.placement {
                StreamPlacement::Sequential { cursor, positions } => {
                    self.cursors[*cursor as usize].set(cursors, |at| positions.round_up(at));
                }
                StreamPlacement::SequentialScattered { cursor, scattered } => {
                    self.cursors[*cursor as usize].set(cursors, |at| scattered.round_up(at));
                }
                _ => {}
            }
        }
        self
    }

    /// Returns the byte offset of every sequential cursor's next I/O.
    pub fn cursors(&self) -> BTreeMap<String, Bytes> {
        self.cursors
            .iter()
            .map(|cursor| (cursor.key.clone(), Bytes(cursor.next.load(Ordering::Relaxed))))
            .collect()
    }
}

fn transfer_size(stream: &IoStream) -> Result<u32, String> {
    u32::try_from(stream.size.0)
        .map_err(|_| format!("'{stream}': a transfer of {} is more than 4 GiB", stream.size))
}

/// Resolves where a stream's I/Os lie. `segment_starts` has the offsets of the active range's
/// segments, if it has any.
fn placement(
    stimulus: &Stimulus,
    segment_starts: Option<&Arc<[u64]>>,
    stream: &IoStream,
    cursors: &mut Vec<SequentialCursor>,
) -> Result<StreamPlacement, String> {
    if stream.op == Op::Flush {
        return Ok(StreamPlacement::Nowhere);
    }
    let Some((segments, starts)) = stimulus.active_range.segments.zip(segment_starts) else {
        return match stream.order {
            Order::Random => random_placement(stimulus, stream),
            Order::Sequential(_) => sequential_placement(stimulus, stream, cursors),
        };
    };
    let within = AlignedPositions::within(0..segments.size.0, stream, false)?;
    let scattered = SegmentPositions { starts: Arc::clone(starts), within };
    match stream.order {
        Order::Random => Ok(StreamPlacement::Scattered(scattered)),
        Order::Sequential(_) => {
            let round_up = |offset| scattered.round_up(offset);
            let cursor = cursor_index(stream, whole_range(stimulus), round_up, cursors)?;
            Ok(StreamPlacement::SequentialScattered { cursor, scattered })
        }
    }
}

fn sequential_placement(
    stimulus: &Stimulus,
    stream: &IoStream,
    cursors: &mut Vec<SequentialCursor>,
) -> Result<StreamPlacement, String> {
    let range = match stream.zones.as_slice() {
        [] => whole_range(stimulus),
        [zone] => zone_range(stimulus, stream, zone),
        zones => {
            return Err(format!("'{stream}' is sequential in {} LBA zones; give one", zones.len()));
        }
    };
    let positions = AlignedPositions::within(range.clone(), stream, stimulus.aligned_to_start)?;
    let cursor = cursor_index(stream, range, |offset| positions.round_up(offset), cursors)?;
    Ok(StreamPlacement::Sequential { cursor, positions })
}

/// Returns the index of the stream's cursor, and creates it if it does not exist. `round_up`
/// rounds an offset up to a position.
fn cursor_index(
    stream: &IoStream,
    range: Range<u64>,
    round_up: impl Fn(u64) -> u64,
    cursors: &mut Vec<SequentialCursor>,
) -> Result<u32, String> {
    let key = stream.cursor_key().unwrap_or_default();
    let index = match cursors.iter().position(|c| c.key == key) {
        Some(index) if cursors[index].range == range => index,
        Some(_) => {
            return Err(format!("'{stream}': streams that share a cursor need the same LBA zone"));
        }
        None => {
            let next = AtomicU64::new(round_up(range.start));
            cursors.push(SequentialCursor { key, range, next });
            cursors.len() - 1
        }
    };
    u32::try_from(index).map_err(|_| "the stimulus has too many sequential streams".to_owned())
}

fn random_placement(stimulus: &Stimulus, stream: &IoStream) -> Result<StreamPlacement, String> {
    let positions_in = |range| AlignedPositions::within(range, stream, stimulus.aligned_to_start);
    let zones = if stream.zones.is_empty() { &stimulus.zones } else { &stream.zones };
    if zones.is_empty() {
        let positions = positions_in(whole_range(stimulus))?;
        return Ok(match SkewedPositions::new(stream.distribution, positions.count) {
            Some(skew) => StreamPlacement::Skewed { skew, positions },
            None => StreamPlacement::Uniform(positions),
        });
    }
    let (mut weights, mut positions) = (Vec::new(), Vec::new());
    for zone in zones.iter().filter(|zone| zone.weight > 0) {
        weights.push(zone.weight);
        positions.push(positions_in(zone_range(stimulus, stream, zone))?);
    }
    let choice = AliasTable::new(&weights)
        .ok_or_else(|| format!("every LBA zone of '{stream}' has weight 0"))?;
    match positions[..] {
        [single] => Ok(StreamPlacement::Uniform(single)),
        _ => Ok(StreamPlacement::Zoned { choice, zones: positions.into() }),
    }
}

fn whole_range(stimulus: &Stimulus) -> Range<u64> {
    let range = stimulus.active_range;
    range.start.0..range.start.0.saturating_add(range.length.0)
}

/// Returns a zone in bytes. Its edges are rounded down to the stream's alignment, so that
/// adjacent zones leave no position out.
fn zone_range(stimulus: &Stimulus, stream: &IoStream, zone: &Zone) -> Range<u64> {
    let Range { start, end } = whole_range(stimulus);
    let alignment = stream.alignment().0;
    let edge = |ppm: u32| {
        let part = u128::from(end - start) * u128::from(ppm) / 1_000_000;
        start + u64::try_from(part).unwrap_or(u64::MAX)
    };
    let origin = if stimulus.aligned_to_start { start } else { 0 };
    let inner = |ppm: u32| (edge(ppm) - (edge(ppm) - origin) % alignment).max(start);
    let zone_end = if zone.to_ppm >= 1_000_000 { end } else { inner(zone.to_ppm) };
    inner(zone.from_ppm)..zone_end
}

impl AlignedPositions {
    /// Returns the positions at which a stream's I/O lies wholly inside `range`, the first at its
    /// start if it is `aligned_to_start`.
    fn within(
        range: Range<u64>,
        stream: &IoStream,
        aligned_to_start: bool,
    ) -> Result<Self, String> {
        let (alignment, size) = (stream.alignment().0, stream.size.0);
        let first = if aligned_to_start {
            Some(range.start)
        } else {
            range.start.checked_next_multiple_of(alignment)
        };
        let room = first.and_then(|first| range.end.checked_sub(first)?.checked_sub(size));
        match (first, room) {
            (Some(first), Some(room)) => {
                Ok(AlignedPositions { first, count: room / alignment + 1, alignment })
            }
            _ => Err(format!(
                "'{stream}' has no position aligned to {} B in {} bytes from byte {}",
                alignment,
                range.end.saturating_sub(range.start),
                range.start
            )),
        }
    }

    #[inline(always)]
    fn at(&self, n: u64) -> u64 {
        self.first + n * self.alignment
    }

    /// Rounds `offset` up to a position; past the last one, returns the first.
    #[inline(always)]
    fn round_up(&self, offset: u64) -> u64 {
        let aligned = self.aligned(offset.max(self.first) - self.first);
        if aligned <= self.last() { self.first + aligned } else { self.first }
    }

    /// Returns the distance from the first to the last position in bytes.
    #[inline(always)]
    fn last(&self) -> u64 {
        (self.count - 1) * self.alignment
    }

    /// Rounds a distance from the first position up to the alignment.
    #[inline(always)]
    fn aligned(&self, distance: u64) -> u64 {
        let excess = if self.alignment.is_power_of_two() {
            distance & (self.alignment - 1)
        } else {
            distance % self.alignment
        };
        if excess == 0 { distance } else { distance.saturating_add(self.alignment - excess) }
    }
}

impl SegmentPositions {
    /// Returns a random position of a random segment. All segments have equally many positions.
    #[inline(always)]
    fn draw(&self, random: &mut Xoshiro256) -> u64 {
        let segment = random.below(self.starts.len() as u64);
        self.starts[segment as usize] + self.within.at(random.below(self.within.count))
    }

    /// Rounds `offset` up to a position in this segment or the next; past the last one, returns
    /// the first of all.
    #[inline]
    fn round_up(&self, offset: u64) -> u64 {
        let last = self.within.last();
        let segment = self.starts.partition_point(|start| start + last < offset);
        match self.starts.get(segment) {
            Some(start) => start + self.within.aligned(offset.saturating_sub(*start)),
            None => self.starts[0],
        }
    }
}

impl SequentialCursor {
    /// Continues where an earlier load left the cursor.
    fn set(&self, cursors: &BTreeMap<String, Bytes>, round_up: impl Fn(u64) -> u64) {
        let offset = cursors.get(&self.key).map_or(self.range.start, |cursor| cursor.0);
        self.next.store(round_up(offset), Ordering::Relaxed);
    }

    /// Returns the offset of this I/O and advances to the next. `round_up` rounds an offset up to
    /// a position.
    #[inline(always)]
    fn advance(&self, round_up: impl Fn(u64) -> u64, size: u32) -> u64 {
        let mut current = self.next.load(Ordering::Relaxed);
        loop {
            let offset = round_up(current);
            let next = round_up(offset + u64::from(size));
            match self.next.compare_exchange_weak(
                current,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return offset,
                Err(changed) => current = changed,
            }
        }
    }
}

/// One thread's source of I/Os.
#[derive(Debug)]
pub struct IoGenerator {
    plan: Arc<DrawPlan>,
    random: Xoshiro256,
}

impl IoGenerator {
    /// Creates the source of thread number `thread` of a load with this seed.
    pub fn new(plan: Arc<DrawPlan>, seed: u64, thread: u32) -> Self {
        IoGenerator { plan, random: Xoshiro256::new(seed, u64::from(thread)) }
    }

    /// Draws the next I/O, of a stream chosen by weight.
    #[inline]
    pub fn draw(&mut self) -> DrawnIo {
        self.draw_of(None)
    }

    /// Draws the next I/O of this stream; `None` chooses one by weight.
    #[inline]
    pub fn draw_of(&mut self, stream: Option<u32>) -> DrawnIo {
        let plan = &*self.plan;
        let index = stream.unwrap_or_else(|| plan.choice.choose(&mut self.random));
        let stream = &plan.streams[index as usize];
        let offset = match &stream.placement {
            StreamPlacement::Uniform(positions) => positions.at(self.random.below(positions.count)),
            StreamPlacement::Skewed { skew, positions } => {
                positions.at(skew.draw(&mut self.random))
            }
            StreamPlacement::Sequential { cursor, positions } => {
                plan.cursors[*cursor as usize].advance(|at| positions.round_up(at), stream.size)
            }
            StreamPlacement::Scattered(scattered) => scattered.draw(&mut self.random),
            StreamPlacement::SequentialScattered { cursor, scattered } => {
                plan.cursors[*cursor as usize].advance(|at| scattered.round_up(at), stream.size)
            }
            StreamPlacement::Zoned { choice, zones } => {
                let zone = &zones[choice.choose(&mut self.random) as usize];
                zone.at(self.random.below(zone.count))
            }
            StreamPlacement::Nowhere => 0,
        };
        DrawnIo { stream: index, op: stream.op, fua: stream.fua, offset, size: stream.size }
    }
}

/// A weighted choice by the alias method (A. J. Walker 1977, M. D. Vose 1991):
/// one random number, one multiplication, one comparison.
#[derive(Debug)]
struct AliasTable {
    columns: Box<[AliasColumn]>,
}

/// Yields its own index below `threshold` (of 2^64), `alias` above.
#[derive(Debug, Clone, Copy)]
struct AliasColumn {
    threshold: u64,
    alias: u32,
}

impl AliasTable {
    /// Builds the table; `None` if all weights are 0.
    fn new(weights: &[u32]) -> Option<Self> {
        let total: u128 = weights.iter().map(|w| u128::from(*w)).sum();
        if total == 0 || u32::try_from(weights.len()).is_err() {
            return None;
        }
        let count = weights.len();
        let mut shares: Vec<u128> =
            weights.iter().map(|w| u128::from(*w) * count as u128).collect();
        let (mut below_mean, mut above_mean): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|index| shares[*index] < total);
        let mut columns: Vec<AliasColumn> =
            (0..count as u32).map(|alias| AliasColumn { threshold: u64::MAX, alias }).collect();
        // The shares add up to count x total, so for each column below the mean there is one
        // above it to fill it from.
        while let (Some(low), Some(high)) = (below_mean.pop(), above_mean.last().copied()) {
            let threshold = (shares[low] << 64) / total;
            columns[low] = AliasColumn { threshold: threshold as u64, alias: high as u32 };
            shares[high] -= total - shares[low];
            if shares[high] < total {
                above_mean.pop();
                below_mean.push(high);
            }
        }
        Some(AliasTable { columns: columns.into() })
    }

    #[inline(always)]
    fn choose(&self, random: &mut Xoshiro256) -> u32 {
        if self.columns.len() == 1 {
            return 0;
        }
        let product = u128::from(random.next()) * self.columns.len() as u128;
        let index = (product >> 64) as usize;
        let column = &self.columns[index];
        if (product as u64) < column.threshold { index as u32 } else { column.alias }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use steadfast_domain::stimulus::{ActiveRange, Cursor, Demand, LoadLimits};
    use steadfast_domain::{Segments, notation::AccessPattern};

    const SEQUENTIAL: Order = Order::Sequential(Cursor::Own);

    fn stimulus(streams: Vec<IoStream>, start: u64, length: u64) -> Stimulus {
        let range = ActiveRange::new(Bytes(start), Bytes(length));
        Stimulus::new(streams, range, Demand::new(1, 1), LoadLimits::ios(1)).seed(1)
    }

    fn generator(stimulus: &Stimulus, seed: u64) -> IoGenerator {
        let plan = DrawPlan::new(stimulus).unwrap();
        IoGenerator::new(Arc::new(plan), seed, 0)
    }

    fn random_reads(size: u64) -> IoStream {
        IoStream::new(Op::Read, Order::Random, Bytes(size))
    }

    /// Returns Pearson's statistic as standard deviations above its mean.
    pub(crate) fn chi_square_excess(counts: &[u64], expected: &[f64]) -> f64 {
        let statistic: f64 =
            counts.iter().zip(expected).map(|(c, e)| (*c as f64 - e).powi(2) / e).sum();
        let freedom = (counts.len() - 1) as f64;
        (statistic - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn positions_count_from_the_start_of_the_range_if_the_load_is_aligned_to_it() {
        let mut load = stimulus(vec![random_reads(8192)], 12_288, 30_000);
        let positions = AlignedPositions::within(12_288..42_288, &load.streams[0], false);
        assert_eq!(positions.unwrap().first, 16_384);
        load.aligned_to_start = true;
        let mut generator = generator(&load, 4);
        let mut offsets: Vec<u64> = (0..1000).map(|_| generator.draw().offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets, [12_288, 20_480, 28_672]);
    }

    #[test]
    fn random_offsets_are_uniform_and_cover_every_position() {
        let positions = 1009;
        let mut generator =
            generator(&stimulus(vec![random_reads(4096)], 0, positions * 4096 + 100), 3);
        let mut counts = vec![0u64; positions as usize];
        for _ in 0..1_000_000 {
            let drawn = generator.draw();
            assert_eq!(drawn.offset % 4096, 0);
            counts[(drawn.offset / 4096) as usize] += 1;
        }
        assert!(counts.iter().all(|c| *c > 0));
        let expected = vec![1_000_000.0 / positions as f64; counts.len()];
        assert!(chi_square_excess(&counts, &expected).abs() < 5.0);
    }

    #[test]
    fn capacities_beyond_2_to_the_32_blocks_are_uniform_to_the_end() {
        let blocks = (1u64 << 35) + 12_345;
        let mut generator = generator(&stimulus(vec![random_reads(512)], 0, blocks * 512), 5);
        let mut counts = vec![0u64; 1000];
        let mut low_bits = vec![0u64; 1024];
        for _ in 0..1_000_000 {
            let block = generator.draw().offset / 512;
            assert!(block < blocks);
            counts[(u128::from(block) * 1000 / u128::from(blocks)) as usize] += 1;
            low_bits[(block % 1024) as usize] += 1;
        }
        assert!(chi_square_excess(&counts, &vec![1000.0; 1000]).abs() < 5.0);
        assert!(chi_square_excess(&low_bits, &vec![1_000_000.0 / 1024.0; 1024]).abs() < 5.0);
    }

    #[test]
    fn streams_and_zones_are_chosen_by_weight() {
        let weights = [40u32, 0, 35, 17, 5, 3];
        let streams = weights.iter().map(|w| random_reads(4096).with_weight(*w)).collect();
        let mut load = stimulus(streams, 0, 1_000_000 * 4096);
        let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
        load.zones =
            vec![zone(50, 0, 50_000), zone(30, 50_000, 200_000), zone(20, 200_000, 1_000_000)];
        let mut generator = generator(&load, 9);
        let (mut by_stream, mut by_zone) = (vec![0u64; 6], vec![0u64; 3]);
        for _ in 0..1_000_000 {
            let drawn = generator.draw();
            by_stream[drawn.stream as usize] += 1;
            let block = drawn.offset / 4096;
            by_zone[usize::from(block >= 50_000) + usize::from(block >= 200_000)] += 1;
        }
        assert_eq!(by_stream.remove(1), 0);
        let expected = [400_000.0, 350_000.0, 170_000.0, 50_000.0, 30_000.0];
        assert!(chi_square_excess(&by_stream, &expected).abs() < 5.0);
        assert!(chi_square_excess(&by_zone, &[500_000.0, 300_000.0, 200_000.0]).abs() < 5.0);
    }

    #[test]
    fn alias_columns_add_up_to_the_weights() {
        for weights in [vec![1, 1], vec![65, 35], vec![1, u32::MAX], vec![7, 0, 0, 2, 90, 1]] {
            let choice = AliasTable::new(&weights).unwrap();
            let mut shares = vec![0f64; weights.len()];
            for (index, column) in choice.columns.iter().enumerate() {
                let own = column.threshold as f64 / 2f64.powi(64);
                shares[index] += own;
                shares[column.alias as usize] += 1.0 - own;
            }
            let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
            for (share, weight) in shares.iter().zip(&weights) {
                let expected = f64::from(*weight) / total * weights.len() as f64;
                assert!((share - expected).abs() < 1e-9, "{weights:?}");
            }
        }
        assert!(AliasTable::new(&[0, 0]).is_none());
    }

    #[test]
    fn alignment_keeps_every_io_inside_the_range() {
        for (size, alignment) in [(65_536, 4096), (4096, 16_384), (1536, 512), (4096, 3 * 512)] {
            let mut stream = random_reads(size);
            stream.alignment = Some(Bytes(alignment));
            let (start, length) = (5 * 512, 1_000_000);
            for order in [Order::Random, SEQUENTIAL] {
                stream.order = order;
                let mut generator = generator(&stimulus(vec![stream.clone()], start, length), 1);
                let mut highest = 0;
                for _ in 0..20_000 {
                    let drawn = generator.draw();
                    assert_eq!(drawn.offset % alignment, 0);
                    assert!(drawn.offset >= start);
                    assert!(drawn.offset + size <= start + length);
                    highest = highest.max(drawn.offset);
                }
                assert!(highest + size + alignment.max(size) > start + length, "{order:?} {size}");
            }
        }
    }

    #[test]
    fn neighbouring_zones_leave_no_position_out() {
        let blocks = 333u64;
        let zone = |from_ppm, to_ppm| Zone { weight: 1, from_ppm, to_ppm };
        let mut load = stimulus(vec![random_reads(4096)], 0, blocks * 4096);
        load.zones = vec![zone(0, 123_456), zone(123_456, 777_777), zone(777_777, 1_000_000)];
        let mut generator = generator(&load, 2);
        let mut seen = vec![false; blocks as usize];
        (0..50_000).for_each(|_| seen[(generator.draw().offset / 4096) as usize] = true);
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn the_same_seed_repeats_and_another_does_not() {
        let load = stimulus(vec![random_reads(4096)], 0, 1 << 40);
        let offsets = |seed, thread| {
            let plan = Arc::new(DrawPlan::new(&load).unwrap());
            let mut generator = IoGenerator::new(plan, seed, thread);
            (0..100).map(|_| generator.draw().offset).collect::<Vec<_>>()
        };
        assert_eq!(offsets(1, 0), offsets(1, 0));
        let common = |a: &[u64], b: &[u64]| a.iter().filter(|x| b.contains(x)).count();
        assert_eq!(common(&offsets(1, 0), &offsets(2, 0)), 0);
        assert_eq!(common(&offsets(1, 0), &offsets(1, 1)), 0);
    }

    #[test]
    fn a_sequential_cursor_covers_its_range_once_then_wraps_and_continues() {
        let writes = IoStream::new(Op::Write, SEQUENTIAL, Bytes::kib(128));
        let load = stimulus(vec![writes], 1 << 20, 10 << 17);
        let plan = Arc::new(DrawPlan::new(&load).unwrap());
        let mut generators = [0, 1].map(|t| IoGenerator::new(Arc::clone(&plan), 1, t));
        let offsets: Vec<u64> = (0..13).map(|n| generators[n % 2].draw().offset).collect();
        let expected: Vec<u64> = (0..13).map(|n| (1 << 20) + ((n % 10) << 17)).collect();
        assert_eq!(offsets, expected);

        let cursors = plan.cursors();
        assert_eq!(cursors["SEQ 128K W"], Bytes((1 << 20) + (3 << 17)));
        let later = Arc::new(DrawPlan::new(&load).unwrap().with_cursors(&cursors));
        assert_eq!(IoGenerator::new(later, 2, 0).draw().offset, (1 << 20) + (3 << 17));
    }

    #[test]
    fn a_cursor_outside_its_range_restarts() {
        let writes = IoStream::new(Op::Write, SEQUENTIAL, Bytes::kib(128));
        let load = stimulus(vec![writes], 1 << 20, 10 << 17);
        for stray in [0, 1 << 40, u64::MAX] {
            let cursors = BTreeMap::from([("SEQ 128K W".to_owned(), Bytes(stray))]);
            let plan = Arc::new(DrawPlan::new(&load).unwrap().with_cursors(&cursors));
            assert_eq!(IoGenerator::new(plan, 1, 0).draw().offset, 1 << 20);
        }
    }

    #[test]
    fn reads_and_writes_of_a_sequential_mix_share_one_cursor() {
        let mix: AccessPattern = "SEQ 64K RW90".parse().unwrap();
        let mut generator = generator(&stimulus(mix.streams(), 0, 1 << 30), 4);
        let drawn: Vec<DrawnIo> = (0..1000).map(|_| generator.draw()).collect();
        assert!(drawn.iter().enumerate().all(|(n, d)| d.offset == (n as u64) << 16));
        let reads = drawn.iter().filter(|d| d.op == Op::Read).count();
        assert!((850..950).contains(&reads));
    }

    #[test]
    fn threads_that_share_a_cursor_draw_every_position_once() {
        let writes = IoStream::new(Op::Write, SEQUENTIAL, Bytes(4096));
        let load = stimulus(vec![writes], 0, 4096 * 4000);
        let plan = Arc::new(DrawPlan::new(&load).unwrap());
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|t| {
                    let mut generator = IoGenerator::new(Arc::clone(&plan), 1, t);
                    scope.spawn(move || {
                        (0..1000).map(|_| generator.draw().offset).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(n, offset)| *offset == n as u64 * 4096));
    }

    /// 7 segments of 2 MiB in 64 MiB, from 3 MiB on.
    fn scattered(stream: IoStream, seed: u64) -> (Stimulus, Vec<u64>) {
        let mib = Bytes::mib;
        let segments = Segments { count: 7, size: mib(2), unit: mib(1), seed };
        let mut load = stimulus(vec![stream], 3 << 20, 64 << 20);
        load.active_range.segments = Some(segments);
        let starts = segments.starts(load.active_range).unwrap();
        (load, starts)
    }

    #[test]
    fn random_offsets_are_uniform_over_all_segments_and_nowhere_else() {
        for (size, alignment) in [(4096, 4096), (1 << 20, 1 << 20), (65_536, 4096)] {
            let stream = IoStream { alignment: Some(Bytes(alignment)), ..random_reads(size) };
            let (load, starts) = scattered(stream, 5);
            let each = ((2 << 20) - size) / alignment + 1;
            let mut counts = vec![0u64; 7 * each as usize];
            let mut generator = generator(&load, 3);
            for _ in 0..500_000 {
                let offset = generator.draw().offset;
                let segment = starts.partition_point(|start| *start <= offset) - 1;
                let inside = offset - starts[segment];
                assert!(inside + size <= 2 << 20, "{offset} is outside of every segment");
                assert_eq!(inside % alignment, 0);
                counts[segment * each as usize + (inside / alignment) as usize] += 1;
            }
            assert!(counts.iter().all(|n| *n > 0), "every position is reached");
            let expected = vec![500_000.0 / counts.len() as f64; counts.len()];
            assert!(chi_square_excess(&counts, &expected).abs() < 5.0, "{size}");
        }
    }

    #[test]
    fn sequential_io_runs_through_the_segments_in_order_and_wraps() {
        for seed in 0..50 {
            let writes = IoStream::new(Op::Write, SEQUENTIAL, Bytes::kib(512));
            let (load, starts) = scattered(writes, seed);
            let once: Vec<u64> =
                starts.iter().flat_map(|start| (0..4).map(move |n| start + (n << 19))).collect();
            let plan = Arc::new(DrawPlan::new(&load).unwrap());
            let mut generators = [0, 1].map(|t| IoGenerator::new(Arc::clone(&plan), 1, t));
            let drawn: Vec<u64> = (0..61).map(|n| generators[n % 2].draw().offset).collect();
            let expected: Vec<u64> = once.iter().cycle().take(61).copied().collect();
            assert_eq!(drawn, expected);
            // A later load continues there. From an offset outside the segments it starts at the
            // next segment.
            let cursors = plan.cursors();
            let later = DrawPlan::new(&load).unwrap().with_cursors(&cursors);
            assert_eq!(IoGenerator::new(Arc::new(later), 2, 0).draw().offset, once[61 % 28]);
            let begin = |at: u64| {
                let cursors = BTreeMap::from([("SEQ 512K W".to_owned(), Bytes(at))]);
                let plan = DrawPlan::new(&load).unwrap().with_cursors(&cursors);
                IoGenerator::new(Arc::new(plan), 2, 0).draw().offset
            };
            assert_eq!(begin(starts[2] + (2 << 20)), starts[3], "between two segments");
            assert_eq!(begin(starts[2] + 1), starts[2] + (1 << 19));
            assert_eq!([0, u64::MAX].map(begin), [starts[0]; 2]);
        }
    }

    #[test]
    fn a_transfer_that_does_not_fill_its_segment_continues_with_the_next() {
        let mut writes = IoStream::new(Op::Write, SEQUENTIAL, Bytes::kib(1536));
        writes.alignment = Some(Bytes::kib(512));
        let (load, starts) = scattered(writes, 8);
        let mut generator = generator(&load, 1);
        let drawn: Vec<u64> = (0..7).map(|_| generator.draw().offset).collect();
        assert_eq!(drawn, starts);
    }

    #[test]
    fn streams_without_room_are_refused_with_the_reason() {
        let mut stream = random_reads(4096);
        stream.alignment = Some(Bytes::mib(1));
        let text = DrawPlan::new(&stimulus(vec![stream], 512, 8192));
        assert!(text.unwrap_err().contains("no position aligned to 1048576 B"));

        let mut own = IoStream::new(Op::Write, SEQUENTIAL, Bytes(4096));
        let mut other = own.clone();
        own.zones = vec![Zone { weight: 1, from_ppm: 0, to_ppm: 500_000 }];
        other.zones = vec![Zone { weight: 1, from_ppm: 500_000, to_ppm: 1_000_000 }];
        let text = DrawPlan::new(&stimulus(vec![own, other], 0, 1 << 20));
        assert!(text.unwrap_err().contains("share a cursor"));
        let huge = stimulus(vec![random_reads(1 << 33)], 0, 1 << 40);
        assert!(DrawPlan::new(&huge).unwrap_err().contains("4 GiB"));
    }

    #[test]
    fn a_flush_has_no_offset_and_moves_nothing() {
        let flush = IoStream::new(Op::Flush, Order::Random, Bytes(0));
        let drawn = generator(&stimulus(vec![flush], 0, 4096), 1).draw();
        assert_eq!((drawn.op, drawn.offset, drawn.size), (Op::Flush, 0, 0));
    }
}
