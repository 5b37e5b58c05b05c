//! A [`Stimulus`]: a weighted composition of I/O streams and how it is applied.
//!
//! Every synthetic workload of the standards, a JESD219 composite and a
//! captured database have this one form.

pub use crate::segments::ActiveRange;
use crate::text::excerpt;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an I/O does.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Deallocates blocks (ATA TRIM, SCSI UNMAP, NVMe Deallocate). Records call it `trim`.
    #[serde(rename = "trim", alias = "discard")]
    Discard,
    /// Flushes the volatile write cache.
    Flush,
}

impl Op {
    /// Every operation, in the order in which tables list them.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];
    /// Whether it changes what the device holds.
    pub const fn alters(self) -> bool {
        matches!(self, Op::Write | Op::Discard)
    }
}

/// Where a stream's next I/O lands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Uniform over the whole range, or over all its segments: every aligned
    /// offset equally likely.
    Random,
    /// One after the other, from segment to segment where the range has them,
    /// wrapping at its end.
    Sequential(Cursor),
}

/// Which position a sequential stream continues from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cursor {
    /// The stream's own, one for all its threads.
    Own,
    /// One position shared by all the stimulus's streams that say so.
    Shared,
}

/// A distinct combination of operation, order and transfer size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IoStream {
    /// What its I/Os do.
    pub op: Op,
    /// Forced unit access: a write that bypasses the volatile cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// Random or sequential.
    pub order: Order,
    /// Transfer size.
    pub size: Bytes,
    /// Offsets are multiples of this; the transfer size where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Bytes>,
    /// Share of the I/Os, as a count against the other streams' counts.
    pub weight: u32,
    /// LBA zones of its own; the stimulus's zones where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// A pace of its own; the stimulus's pace where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

impl IoStream {
    /// A plain stream that carries all of a stimulus's I/Os.
    pub fn new(op: Op, order: Order, size: Bytes) -> Self {
        IoStream {
            op,
            fua: false,
            order,
            size,
            alignment: None,
            weight: 1,
            zones: Vec::new(),
            pace: None,
        }
    }
    /// The same stream with another weight.
    pub fn weighing(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }
    /// Offsets are multiples of this many bytes.
    pub fn alignment(&self) -> Bytes {
        self.alignment.unwrap_or(self.size)
    }
    /// The name under which a sequential position is kept between steps.
    pub fn cursor_key(&self) -> Option<String> {
        match self.order {
            Order::Random => None,
            Order::Sequential(Cursor::Own) => Some(self.to_string()),
            Order::Sequential(Cursor::Shared) => Some("SEQ shared".to_owned()),
        }
    }
}

/// A part of the active range and its share of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Zone {
    /// Share of the I/Os, as a count against the other zones' counts.
    pub weight: u32,
    /// Where it begins, in parts per million of the active range.
    pub from_ppm: u32,
    /// Where it ends, in parts per million of the active range.
    pub to_ppm: u32,
}

/// Demand intensity: threads x outstanding I/Os of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Demand {
    /// Thread count (T, TC).
    pub threads: u32,
    /// Outstanding I/Os per thread (Q, QD).
    pub depth: u32,
}

impl Demand {
    /// `threads` x `depth`.
    pub const fn new(threads: u32, depth: u32) -> Self {
        Demand { threads, depth }
    }
    /// Total outstanding I/Os.
    pub const fn outstanding(self) -> u64 {
        self.threads as u64 * self.depth as u64
    }
}

/// What written sectors hold.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DataPattern {
    /// Random and different in every 512-byte sector ever written.
    #[default]
    RandomUnique,
    /// A random buffer filled once and used again: incompressible, but alike.
    RandomOnce,
    /// These bytes over and over.
    Repeating(Vec<u8>),
    /// Zeros.
    Zero,
    /// The content of a file, over and over.
    File(String),
    /// Partly compressible, partly duplicate data.
    Entropy {
        /// Percent of every sector that is random; the rest is zero.
        random_percent: u8,
        /// Percent of 4 KiB blocks that repeat an earlier block.
        duplicate_percent: u8,
    },
}

/// When the next I/O is due.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As soon as an outstanding one completes.
    #[default]
    Closed,
    /// Evenly, `ios` in every `per`.
    Fixed {
        /// I/Os in a period.
        ios: u64,
        /// The period.
        per: Nanos,
    },
    /// At random (exponential gaps), `ios` in every `per` on average.
    Poisson {
        /// I/Os in a period, on average.
        ios: u64,
        /// The period.
        per: Nanos,
    },
    /// `ios` at once, then a pause of `delay` after the last of them.
    Burst {
        /// I/Os in a burst.
        ios: u64,
        /// The pause.
        delay: Nanos,
    },
}

/// When a load is complete: at the first of the limits that is given.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Until {
    /// After this much measured time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// After this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// After this many I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
}

impl Until {
    /// For this long.
    pub fn time(time: Nanos) -> Self {
        Until { time: Some(time), ..Until::default() }
    }
    /// Until this many bytes were moved.
    pub fn bytes(bytes: Bytes) -> Self {
        Until { bytes: Some(bytes), ..Until::default() }
    }
    /// Until this many I/Os were done.
    pub fn ios(ios: u64) -> Self {
        Until { ios: Some(ios), ..Until::default() }
    }
}

/// What to do to a device: streams, where, how hard, how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stimulus {
    /// The composition; I/Os are drawn from it by weight.
    pub streams: Vec<IoStream>,
    /// LBA zones; the whole active range where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// Threads x queue depth.
    pub demand: Demand,
    /// The bytes that it may touch.
    pub active_range: ActiveRange,
    /// What it writes.
    pub data_pattern: DataPattern,
    /// When I/Os are due.
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
    pub until: Until,
    /// Drives every random choice; recorded so that a step can be repeated.
    pub seed: u64,
    /// Check the stamps of sectors that this run wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

impl Stimulus {
    /// Streams over a range, as hard and as long as said: unpaced, without LBA
    /// zones or a ramp, writing the default pattern, with seed 0, unverified.
    pub fn new(
        streams: Vec<IoStream>,
        active_range: ActiveRange,
        demand: Demand,
        until: Until,
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
        }
    }
    /// With these LBA zones.
    pub fn zones(self, zones: Vec<Zone>) -> Self {
        Stimulus { zones, ..self }
    }
    /// Writing this.
    pub fn data_pattern(self, data_pattern: DataPattern) -> Self {
        Stimulus { data_pattern, ..self }
    }
    /// With I/Os due like this.
    pub fn pace(self, pace: Pace) -> Self {
        Stimulus { pace, ..self }
    }
    /// With so much time at its start that is not measured.
    pub fn ramp(self, ramp: Nanos) -> Self {
        Stimulus { ramp, ..self }
    }
    /// With random choices that this drives.
    pub fn seed(self, seed: u64) -> Self {
        Stimulus { seed, ..self }
    }
    /// With its first I/O after this delay.
    pub fn delay(self, delay: Nanos) -> Self {
        Stimulus { delay, ..self }
    }
    /// Checking the stamps of what it reads, or not.
    pub fn verify(self, verify: bool) -> Self {
        Stimulus { verify, ..self }
    }
    /// Whether any I/O of it changes what the device holds.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|s| s.op.alters())
    }
    /// Why it cannot be applied to anything, in one sentence.
    pub fn fault(&self) -> Option<String> {
        if self.streams.is_empty() {
            return Some("the stimulus has no I/O stream".into());
        }
        if self.demand.threads == 0 || self.demand.depth == 0 {
            return Some(format!("demand {} leaves nothing outstanding", self.demand));
        }
        if self.streams.iter().all(|s| s.weight == 0) {
            return Some("every I/O stream has weight 0".into());
        }
        if self.until == Until::default() {
            return Some("the stimulus has no end: give a time, bytes or I/Os".into());
        }
        let end = self.until.time.map(|time| self.ramp + time);
        if self.ramp > Nanos::ZERO && end.is_some_and(|end| self.delay >= end) {
            return Some(format!("it begins after {}, when its step has ended", self.delay));
        }
        if let Some(fault) = self.active_range.segments.and_then(|s| s.fault(self.active_range)) {
            return Some(fault);
        }
        self.streams.iter().find_map(|s| self.stream_fault(s).or_else(|| self.segment_fault(s)))
    }
    /// Every segment has the same positions for a stream's I/Os, and all of them
    /// are equally likely: LBA zones of another likeliness have no place there.
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
        zones.iter().find_map(|zone| {
            let ok = zone.from_ppm < zone.to_ppm && zone.to_ppm <= 1_000_000;
            (!ok).then(|| {
                format!("LBA zone {}..{} ppm is empty or outside", zone.from_ppm, zone.to_ppm)
            })
        })
    }
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
            DataPattern::Repeating(bytes) => {
                f.write_str("repeating:")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
            DataPattern::Entropy { random_percent, duplicate_percent } => {
                write!(f, "entropy:{random_percent},{duplicate_percent}")
            }
        }
    }
}

/// A text that names no data pattern.
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
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "random-unique" | "random" => Ok(DataPattern::RandomUnique),
            "random-once" => Ok(DataPattern::RandomOnce),
            "zero" => Ok(DataPattern::Zero),
            "file" if !rest.is_empty() => Ok(DataPattern::File(rest.to_owned())),
            "repeating" => hex(rest).map(DataPattern::Repeating).ok_or_else(fail),
            "entropy" => entropy(rest).ok_or_else(fail),
            _ => Err(fail()),
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

fn entropy(text: &str) -> Option<DataPattern> {
    let (random, duplicate) = text.split_once(',').unwrap_or((text, "0"));
    let percent = |s: &str| s.trim().trim_end_matches('%').parse::<u8>().ok().filter(|p| *p <= 100);
    Some(DataPattern::Entropy {
        random_percent: percent(random)?,
        duplicate_percent: percent(duplicate)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::Segments;

    fn scattered(stream: IoStream, zones: Vec<Zone>) -> Stimulus {
        let unit = Bytes::mib(1);
        let segments = Segments { count: 4, size: Bytes::mib(2), unit, seed: 1 };
        let range = ActiveRange::new(Bytes(0), Bytes::mib(16));
        let range = ActiveRange { segments: Some(segments), ..range };
        Stimulus::new(vec![stream], range, Demand::new(1, 1), Until::ios(1)).zones(zones)
    }

    #[test]
    fn segments_take_what_fits_into_each_of_them_alike() {
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
    fn segments_are_part_of_what_is_journalled() {
        let stimulus = scattered(IoStream::new(Op::Read, Order::Random, Bytes(512)), Vec::new());
        let text = serde_json::to_string(&stimulus).unwrap();
        assert_eq!(serde_json::from_str::<Stimulus>(&text).unwrap(), stimulus);
        let range = serde_json::to_string(&stimulus.active_range.in_one_piece()).unwrap();
        assert_eq!(range, r#"{"start":0,"length":16777216}"#);
        assert_eq!(stimulus.active_range.amount(), Bytes::mib(8));
    }
}
