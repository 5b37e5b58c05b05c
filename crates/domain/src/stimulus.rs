//! A [`Stimulus`]: a weighted composition of I/O streams and the way to apply it.
//!
//! Every synthetic workload of the standards, a JESD219 composite and a captured database load have
//! this form.

use crate::empirical::EmpiricalArrivals;
use crate::hex::{from_hex, to_hex};
use crate::offset_distribution::Distribution;
pub use crate::segments::ActiveRange;
use crate::text::excerpt;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Operation of an I/O.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Deallocation of blocks (ATA TRIM, SCSI UNMAP, NVMe Deallocate). Records call it `trim`.
    #[serde(rename = "trim", alias = "discard")]
    Discard,
    /// Flush of the volatile write cache.
    Flush,
}

impl Op {
    /// All operations, in the order in which tables list them.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];
    /// Returns the name in messages and metrics: `read`, `write`, `discard` or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Discard => "discard",
            Op::Flush => "flush",
        }
    }
    /// Returns true if the operation changes the data on the device.
    pub const fn alters(self) -> bool {
        matches!(self, Op::Write | Op::Discard)
    }
}

/// When a write counts as complete: the response time of a durable write is that of the commit,
/// from the hand-over of the write until its data survive a power loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// When the device has taken it, possibly into a volatile cache.
    #[default]
    Cached,
    /// Forced unit access: each write goes past the volatile cache of the device.
    Fua,
    /// As written by a program that opened its file with `O_DSYNC`; on a block device the same as
    /// [`Durability::Fua`].
    Sync,
    /// When a flush after it has completed. A thread flushes after this many writes: after 1, each
    /// outstanding write is followed by its own flush; after more, the thread waits for all of
    /// them, flushes once and continues (group commit).
    Flush(NonZeroU32),
}

impl Durability {
    /// Returns true if nothing makes the write durable.
    pub fn is_cached(&self) -> bool {
        *self == Durability::Cached
    }
    /// Returns true if the write itself is durable when it completes.
    pub const fn is_forced(self) -> bool {
        matches!(self, Durability::Fua | Durability::Sync)
    }
}

/// Rule for the offsets of a stream's I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Drawn from the whole range, or from all its segments; every aligned offset is equally likely
    /// unless the stream has another [`Distribution`].
    Random,
    /// Ascending offsets, from segment to segment if the range has segments, wrapping at the end of
    /// the range.
    Sequential(Cursor),
}

/// Position from which a sequential stream continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cursor {
    /// A position of the stream's own, shared by all its threads.
    Own,
    /// One position for all streams of the stimulus that use this variant.
    Shared,
}

/// I/Os of one operation, order and transfer size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoStream {
    /// Operation.
    pub op: Op,
    /// Durability of a write; writes only.
    #[serde(default, skip_serializing_if = "Durability::is_cached")]
    pub durability: Durability,
    /// Random or sequential order.
    pub order: Order,
    /// Distribution of the offsets; random streams only.
    #[serde(default, skip_serializing_if = "Distribution::is_uniform")]
    pub distribution: Distribution,
    /// Transfer size.
    pub size: Bytes,
    /// Alignment: offsets are multiples of this. `None` for the transfer size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Bytes>,
    /// Share of the I/Os, relative to the weights of the other streams.
    pub weight: u32,
    /// LBA zones of this stream; empty for the zones of the stimulus.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
}

impl IoStream {
    /// Creates a plain stream with weight 1, alignment to the transfer size and no zones of its own.
    pub fn new(op: Op, order: Order, size: Bytes) -> Self {
        IoStream {
            op,
            durability: Durability::Cached,
            order,
            distribution: Distribution::Uniform,
            size,
            alignment: None,
            weight: 1,
            zones: Vec::new(),
        }
    }
    /// Sets the weight.
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }
    /// Widens the zones of the stream that have no room for a transfer in a range of this length.
    /// Zones measured on a larger device may be that narrow.
    pub fn with_room_in_zones(mut self, range: Bytes) -> Self {
        // The edges of a zone are rounded down, and a range may begin between two positions.
        let room = u128::from(self.size.0) + 2 * u128::from(self.alignment().0);
        let needed = (room * 1_000_000).div_ceil(u128::from(range.0.max(1)));
        let needed = u32::try_from(needed).unwrap_or(u32::MAX).min(1_000_000);
        for zone in &mut self.zones {
            if zone.from_ppm < zone.to_ppm && zone.to_ppm - zone.from_ppm < needed {
                zone.to_ppm = zone.from_ppm.saturating_add(needed).min(1_000_000);
                zone.from_ppm = zone.to_ppm - needed;
            }
        }
        self
    }
    /// Returns the alignment: offsets are multiples of it.
    pub fn alignment(&self) -> Bytes {
        self.alignment.unwrap_or(self.size)
    }
    /// Returns the key under which the sequential position is kept between steps; `None` for a
    /// random stream.
    pub fn cursor_key(&self) -> Option<String> {
        match self.order {
            Order::Random => None,
            Order::Sequential(Cursor::Own) => Some(self.to_string()),
            Order::Sequential(Cursor::Shared) => Some("SEQ shared".to_owned()),
        }
    }
}

/// A part of the active range and its share of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Zone {
    /// Share of the I/Os, relative to the weights of the other zones.
    pub weight: u32,
    /// Start, in parts per million of the active range.
    pub from_ppm: u32,
    /// End, in parts per million of the active range.
    pub to_ppm: u32,
}

/// Demand intensity: threads x outstanding I/Os per thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Demand {
    /// Number of threads (T, TC).
    pub threads: u32,
    /// Outstanding I/Os per thread (Q, QD).
    pub depth: u32,
}

impl Demand {
    /// Default demand of a load with its own schedule: room for the I/Os that are not completed
    /// when the next ones are due (our choice).
    pub const SCHEDULED: Demand = Demand::new(1, 256);
    /// Creates a demand of `threads` x `depth`.
    pub const fn new(threads: u32, depth: u32) -> Self {
        Demand { threads, depth }
    }
    /// Returns the total number of outstanding I/Os.
    pub const fn outstanding(self) -> u64 {
        self.threads as u64 * self.depth as u64
    }
}

/// Content of written sectors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataPattern {
    /// Random data, different in every 512-byte sector ever written.
    #[default]
    RandomUnique,
    /// Random buffer, filled once and reused: incompressible, but always the same.
    RandomOnce,
    /// These bytes, repeated.
    Repeating(Vec<u8>),
    /// Zeros.
    Zero,
    /// Content of the file with this path, repeated.
    File(String),
    /// Partly compressible, partly duplicate data.
    Entropy {
        /// Percentage of every sector that is random; the rest is zero.
        random_percent: u8,
        /// Percentage of 4 KiB blocks that repeat an earlier block.
        duplicate_percent: u8,
    },
}

/// Schedule of the I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: an I/O is due as soon as an outstanding one completes.
    #[default]
    Closed,
    /// Evenly spaced: `ios` in every `per`.
    Fixed {
        /// I/Os per period.
        ios: u64,
        /// Length of the period.
        per: Nanos,
    },
    /// Random (exponential gaps): `ios` in every `per` on average.
    Poisson {
        /// Mean number of I/Os per period.
        ios: u64,
        /// Length of the period.
        per: Nanos,
    },
    /// Bursts: `ios` at once, then a pause of `delay` after the last of them.
    Burst {
        /// I/Os per burst.
        ios: u64,
        /// Length of the pause.
        delay: Nanos,
    },
    /// Open loop, drawn from measured distributions.
    Empirical(Box<EmpiricalArrivals>),
    /// Every stream at a rate of its own, in the order of the streams of the load. The weights of
    /// the streams have no effect, except that a stream of weight 0 has no I/Os.
    ByStream(Vec<Pace>),
}

impl Pace {
    /// Returns the reason why no load can have this pace; `None` if one can.
    pub fn fault(&self) -> Option<String> {
        match self {
            Pace::Fixed { ios: 0, .. }
            | Pace::Poisson { ios: 0, .. }
            | Pace::Burst { ios: 0, .. } => Some("a pace needs at least one I/O".to_owned()),
            Pace::Fixed { per, .. } | Pace::Poisson { per, .. } if per.0 == 0 => {
                Some("a pace needs a period longer than 0".to_owned())
            }
            Pace::Empirical(arrivals) => arrivals.fault(),
            Pace::ByStream(paces) => paces.iter().find_map(|pace| match pace {
                Pace::Fixed { .. } | Pace::Poisson { .. } | Pace::Empirical(_) => pace.fault(),
                Pace::Closed | Pace::Burst { .. } | Pace::ByStream(_) => Some(
                    "a stream with a pace of its own needs a rate: even or random arrivals, or \
                     measured distributions"
                        .to_owned(),
                ),
            }),
            _ => None,
        }
    }
}

/// End condition of a load: it ends at the first limit that it reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LoadLimits {
    /// Measured time; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// Bytes transferred; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Number of I/Os; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
}

impl LoadLimits {
    /// Ends after this measured time.
    pub fn time(time: Nanos) -> Self {
        LoadLimits { time: Some(time), ..LoadLimits::default() }
    }
    /// Ends when this many bytes have been transferred.
    pub fn bytes(bytes: Bytes) -> Self {
        LoadLimits { bytes: Some(bytes), ..LoadLimits::default() }
    }
    /// Ends after this many I/Os.
    pub fn ios(ios: u64) -> Self {
        LoadLimits { ios: Some(ios), ..LoadLimits::default() }
    }
}

/// A synthetic load: streams, active range, demand and end condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stimulus {
    /// Composition of the load; I/Os are drawn from the streams by weight.
    pub streams: Vec<IoStream>,
    /// LBA zones; empty if all of the active range is one zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// Threads x queue depth.
    pub demand: Demand,
    /// Bytes that the load may touch.
    pub active_range: ActiveRange,
    /// Data pattern of the writes.
    pub data_pattern: DataPattern,
    /// Schedule of the I/Os.
    #[serde(default)]
    pub pace: Pace,
    /// Time at the start that is not measured.
    #[serde(default)]
    pub ramp: Nanos,
    /// Time before its first I/O, which others of its step may use already.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub delay: Nanos,
    /// Offsets are multiples of the alignment from the start of the active range, not from
    /// the start of the device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aligned_to_start: bool,
    /// When it is complete.
    pub until: LoadLimits,
    /// Seed of every random choice, recorded so that a step can be repeated.
    pub seed: u64,
    /// True to check the stamps of sectors that this run wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// True to record the tallies of each thread, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_thread: bool,
}

impl Stimulus {
    /// Creates an unpaced load without LBA zones or a ramp, with the default data pattern, seed 0
    /// and no verification.
    pub fn new(
        streams: Vec<IoStream>,
        active_range: ActiveRange,
        demand: Demand,
        until: LoadLimits,
    ) -> Self {
        Stimulus {
            streams,
            zones: Vec::new(),
            demand,
            active_range,
            data_pattern: DataPattern::default(),
            pace: Pace::default(),
            ramp: Nanos::ZERO,
            delay: Nanos::ZERO,
            aligned_to_start: false,
            until,
            seed: 0,
            verify: false,
            by_thread: false,
        }
    }
    /// Sets the LBA zones.
    pub fn zones(self, zones: Vec<Zone>) -> Self {
        Stimulus { zones, ..self }
    }
    /// Sets the data pattern of the writes.
    pub fn data_pattern(self, data_pattern: DataPattern) -> Self {
        Stimulus { data_pattern, ..self }
    }
    /// Sets the schedule of the I/Os.
    pub fn pace(self, pace: Pace) -> Self {
        Stimulus { pace, ..self }
    }
    /// Sets the time at the start that is not measured.
    pub fn ramp(self, ramp: Nanos) -> Self {
        Stimulus { ramp, ..self }
    }
    /// Sets the seed of every random choice.
    pub fn seed(self, seed: u64) -> Self {
        Stimulus { seed, ..self }
    }
    /// Sets the delay before the first I/O.
    pub fn delay(self, delay: Nanos) -> Self {
        Stimulus { delay, ..self }
    }
    /// Sets whether the stamps of read data are verified.
    pub fn verify(self, verify: bool) -> Self {
        Stimulus { verify, ..self }
    }
    /// Returns the number of writes after which each thread flushes; `None` if no write of the
    /// load is followed by a flush.
    pub fn flush_every(&self) -> Option<NonZeroU32> {
        flush_every(&self.streams)
    }
    /// Returns true if any I/O of the load changes the data on the device.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|s| s.op.alters())
    }
    /// Returns the reason why the stimulus cannot be applied to any device, in one sentence; `None`
    /// if it can.
    pub fn fault(&self) -> Option<String> {
        if self.streams.is_empty() {
            return Some("the stimulus has no I/O stream".into());
        }
        if self.demand.threads == 0 || self.demand.depth == 0 {
            return Some(format!("demand {} has no outstanding I/O", self.demand));
        }
        if self.streams.iter().all(|s| s.weight == 0) {
            return Some("every I/O stream has weight 0".into());
        }
        if self.until == LoadLimits::default() {
            return Some("the stimulus has no end: give a time, bytes or I/Os".into());
        }
        let end = self.until.time.map(|time| self.ramp + time);
        if self.ramp > Nanos::ZERO && end.is_some_and(|end| self.delay >= end) {
            return Some(format!(
                "the load starts {} after its step, which has ended by then; shorten the delay",
                self.delay
            ));
        }
        let range = self.active_range;
        let fault = range.segments.and_then(|segments| segments.fault(range));
        let fault = fault.or_else(|| durability_fault(&self.streams));
        let fault = fault.or_else(|| self.pace.fault());
        if fault.is_some() {
            return fault;
        }
        if let Pace::ByStream(paces) = &self.pace
            && paces.len() != self.streams.len()
        {
            return Some(format!(
                "{} streams have {} paces; give each stream one",
                self.streams.len(),
                paces.len()
            ));
        }
        self.streams.iter().find_map(|s| self.stream_fault(s).or_else(|| self.segment_fault(s)))
    }
    /// Returns the conflict of a stream with the segments of the active range. Every segment has
    /// the same positions for a stream's I/Os, all equally likely: LBA zones, which are not equally
    /// likely, cannot be combined with segments.
    fn segment_fault(&self, stream: &IoStream) -> Option<String> {
        let segments = self.active_range.segments.filter(|_| stream.op != Op::Flush)?;
        if !stream.zones.is_empty() || !self.zones.is_empty() {
            return Some(format!("'{stream}' has LBA zones, and the active range has segments"));
        }
        if stream.size > segments.size {
            return Some(format!("'{stream}' does not fit into {segments}"));
        }
        (!segments.unit.0.is_multiple_of(stream.alignment().0)).then(|| {
            format!(
                "'{stream}' is aligned to {}, and segments to {}, which is not a multiple of it",
                stream.alignment().binary(),
                segments.unit.binary()
            )
        })
    }
    fn stream_fault(&self, stream: &IoStream) -> Option<String> {
        let range = self.active_range.length;
        if stream.op == Op::Flush {
            return None;
        }
        if stream.size.0 == 0 || stream.alignment().0 == 0 {
            return Some(format!("'{stream}' has a transfer size or an alignment of 0"));
        }
        if stream.size > range {
            return Some(format!(
                "'{stream}' does not fit into an active range of {}",
                range.binary()
            ));
        }
        let zones = if stream.zones.is_empty() { &self.zones } else { &stream.zones };
        if !stream.distribution.is_uniform() {
            let obstacle = match stream.order {
                Order::Sequential(_) => Some("is sequential"),
                Order::Random if !zones.is_empty() => Some("has LBA zones"),
                Order::Random if self.active_range.segments.is_some() => {
                    Some("is applied to segments")
                }
                Order::Random => None,
            };
            if let Some(obstacle) = obstacle {
                return Some(format!("'{stream}' {obstacle}: leave out its distribution"));
            }
        }
        zones.iter().find_map(|zone| {
            let is_valid = zone.from_ppm < zone.to_ppm && zone.to_ppm <= 1_000_000;
            (!is_valid).then(|| {
                format!(
                    "LBA zone {}..{} ppm is empty or extends beyond the active range",
                    zone.from_ppm, zone.to_ppm
                )
            })
        })
    }
}

/// Maximum number of writes that share a flush (our choice: they are kept until it completes).
const WRITES_PER_FLUSH_MAX: u32 = 1 << 16;

/// Returns the number of writes after which a thread that applies these streams flushes.
pub fn flush_every(streams: &[IoStream]) -> Option<NonZeroU32> {
    streams.iter().find_map(|stream| match stream.durability {
        Durability::Flush(every) => Some(every),
        _ => None,
    })
}

fn durability_fault(streams: &[IoStream]) -> Option<String> {
    let other = |s: &&IoStream| s.op != Op::Write && !s.durability.is_cached();
    if let Some(stream) = streams.iter().find(other) {
        return Some(format!("'{stream}' is no write, so nothing can make it durable"));
    }
    let every = flush_every(streams)?;
    if every.get() > WRITES_PER_FLUSH_MAX {
        return Some(format!("FLUSH/{every}: at most {WRITES_PER_FLUSH_MAX} writes share a flush"));
    }
    if streams.iter().any(|s| s.op == Op::Flush && s.weight > 0) {
        return Some(format!(
            "a stream of flushes and FLUSH/{every} cannot be in one load: leave one of them out"
        ));
    }
    let differs = |s: &&IoStream| s.op == Op::Write && s.durability != Durability::Flush(every);
    streams.iter().find(differs).map(|stream| {
        format!("'{stream}' needs FLUSH/{every}: all writes of a load share their flushes")
    })
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}Q{}", self.threads, self.depth)
    }
}

impl fmt::Display for DataPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataPattern::RandomUnique => f.write_str("random-unique"),
            DataPattern::RandomOnce => f.write_str("random-once"),
            DataPattern::Zero => f.write_str("zero"),
            DataPattern::File(path) => write!(f, "file:{path}"),
            DataPattern::Repeating(bytes) => write!(f, "repeating:{}", to_hex(bytes)),
            DataPattern::Entropy { random_percent, duplicate_percent } => {
                write!(f, "entropy:{random_percent},{duplicate_percent}")
            }
        }
    }
}

/// Error for a text that is not a data pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a data pattern; choose random-unique, random-once, zero, repeating:HEX, \
     file:PATH or entropy:RANDOM%,DUPLICATE%",
    excerpt(.0)
)]
pub struct PatternError(String);

impl FromStr for DataPattern {
    type Err = PatternError;
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let fail = || PatternError(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "random-unique" | "random" => Ok(DataPattern::RandomUnique),
                "random-once" => Ok(DataPattern::RandomOnce),
                "zero" => Ok(DataPattern::Zero),
                _ => Err(fail()),
            },
            Some(("file", path)) if !path.is_empty() => Ok(DataPattern::File(path.to_owned())),
            Some(("repeating", hex)) => from_hex(hex).map(DataPattern::Repeating).ok_or_else(fail),
            Some(("entropy", percents)) => entropy(percents).ok_or_else(fail),
            Some(_) => Err(fail()),
        }
    }
}

fn entropy(text: &str) -> Option<DataPattern> {
    let (random, duplicate) = text.split_once(',').unwrap_or((text, "0"));
    let percent = |text: &str| {
        let text = text.trim();
        let number = text.strip_suffix('%').unwrap_or(text).parse::<u8>();
        number.ok().filter(|percent| *percent <= 100)
    };
    Some(DataPattern::Entropy {
        random_percent: percent(random)?,
        duplicate_percent: percent(duplicate)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::Segments;

    #[test]
    fn text_after_the_name_of_a_data_pattern_is_refused() {
        for text in ["zero:4096", "random:", "random-once:7", "file:", "entropy:50%%", "repeating:"]
        {
            assert!(text.parse::<DataPattern>().is_err(), "{text}");
        }
        let half = DataPattern::Entropy { random_percent: 50, duplicate_percent: 0 };
        assert_eq!("entropy:50%".parse(), Ok(half));
    }

    fn scattered(stream: IoStream, zones: Vec<Zone>) -> Stimulus {
        let unit = Bytes::mib(1);
        let segments = Segments { count: 4, size: Bytes::mib(2), unit, seed: 1 };
        let range = ActiveRange::new(Bytes(0), Bytes::mib(16));
        let range = ActiveRange { segments: Some(segments), ..range };
        Stimulus::new(vec![stream], range, Demand::new(1, 1), LoadLimits::ios(1)).zones(zones)
    }

    #[test]
    fn a_load_has_one_rule_for_its_flushes() {
        let fault = |streams: Vec<IoStream>| {
            let range = ActiveRange::first(100, Bytes::mib(1), 512);
            Stimulus::new(streams, range, Demand::new(1, 1), LoadLimits::ios(1)).fault()
        };
        let write = |every| {
            let durability = Durability::Flush(NonZeroU32::new(every).unwrap());
            IoStream { durability, ..IoStream::new(Op::Write, Order::Random, Bytes(4096)) }
        };
        let flush = IoStream::new(Op::Flush, Order::Random, Bytes(4096));
        assert_eq!(fault(vec![write(1 << 16)]), None);
        assert!(fault(vec![write((1 << 16) + 1)]).unwrap().contains("65536"));
        assert!(fault(vec![write(8), flush]).unwrap().contains("stream of flushes"));
        assert!(fault(vec![write(8), write(4)]).unwrap().contains("FLUSH/8"));
    }

    #[test]
    fn narrow_zones_are_widened_to_hold_a_transfer() {
        let mut stream = IoStream::new(Op::Write, Order::Random, Bytes::kib(64));
        let zone = |from_ppm, to_ppm| Zone { weight: 1, from_ppm, to_ppm };
        stream.zones = vec![zone(10, 20), zone(999_990, 1_000_000), zone(0, 500_000)];
        let wide = |range| stream.clone().with_room_in_zones(range).zones;
        // 192 KiB of 64 MiB are 2,929.7 ppm.
        let widened = [zone(10, 2940), zone(997_070, 1_000_000), zone(0, 500_000)];
        assert_eq!(wide(Bytes::mib(64)), widened);
        assert_eq!(wide(Bytes(1 << 45)), stream.zones);
        assert_eq!(wide(Bytes(0))[0], zone(0, 1_000_000));
    }

    #[test]
    fn streams_must_fit_every_segment() {
        let stream = |size| IoStream::new(Op::Read, Order::Random, size);
        let fault = |stream| scattered(stream, Vec::new()).fault();
        assert_eq!(fault(stream(Bytes::mib(1))), None);
        assert!(fault(stream(Bytes::mib(4))).unwrap().contains("4 segments of 2 MiB"));
        let odd = IoStream { alignment: Some(Bytes(1536)), ..stream(Bytes::kib(4)) };
        assert!(fault(odd).unwrap().contains("not a multiple"));
        let zone = Zone { weight: 1, from_ppm: 0, to_ppm: 1_000_000 };
        let zoned = scattered(stream(Bytes::kib(4)), vec![zone]);
        assert!(zoned.fault().unwrap().contains("LBA zones"));
        let mut tight = scattered(stream(Bytes::kib(4)), Vec::new());
        tight.active_range.length = Bytes::mib(10);
        assert!(tight.fault().unwrap().contains("cannot hold"));
    }

    #[test]
    fn segments_are_journaled() {
        let stimulus = scattered(IoStream::new(Op::Read, Order::Random, Bytes(512)), Vec::new());
        let text = serde_json::to_string(&stimulus).unwrap();
        assert_eq!(serde_json::from_str::<Stimulus>(&text).unwrap(), stimulus);
        let range = serde_json::to_string(&stimulus.active_range.in_one_piece()).unwrap();
        assert_eq!(range, r#"{"start":0,"length":16777216}"#);
        assert_eq!(stimulus.active_range.amount(), Bytes::mib(8));
    }
}
