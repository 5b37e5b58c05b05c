//! A [`Script`]: exact I/Os in order with due times, for replay.
//!
//! As a [`Load`](crate::Load), a script is described by a [`ScriptLoad`]: the facts known before it
//! is played, and the manner of playing it. A ledger keeps this description; the I/Os themselves
//! are delivered in batches while the step runs.

use crate::stimulus::{DataPattern, Demand, Op};
use crate::suggestion::{UnknownName, choice_names};
use crate::text::excerpt;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One I/O of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueIo {
    /// Due time, since the script began; never earlier than that of the preceding I/O.
    pub due: Nanos,
    /// Operation.
    pub op: Op,
    /// True for forced unit access.
    pub fua: bool,
    /// First byte; 0 for a flush.
    pub offset: Bytes,
    /// Transfer size; 0 for a flush.
    pub size: Bytes,
    /// Closed loop: think time, the delay once the queue depth allows the I/O.
    pub think: Nanos,
    /// Closed loop: maximum number of I/Os outstanding, this one included; `None` if the load's
    /// demand is the limit.
    pub outstanding: Option<u32>,
}

impl DueIo {
    /// Creates an I/O without FUA, think time or a limit of its own.
    pub const fn new(due: Nanos, op: Op, offset: Bytes, size: Bytes) -> Self {
        DueIo { due, op, fua: false, offset, size, think: Nanos::ZERO, outstanding: None }
    }
}

/// Error of a script that could not deliver its next I/Os.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script '{name}' after {ios_done} I/Os: {why}")]
pub struct ScriptError {
    /// Name of the script.
    pub name: String,
    /// I/Os delivered before the error.
    pub ios_done: u64,
    /// Cause of the error, and what to do about it.
    pub why: String,
}

/// A source that delivers I/Os in order, in batches of 1024 or more.
pub trait Script: Send {
    /// Appends the next I/Os to `batch`, up to its free capacity, and returns their number; 0 at
    /// the end of the script. The capacity therefore limits how far a script is read ahead, and its
    /// memory.
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError>;
}

/// Function that opens a script at its beginning; called each time the script is applied.
pub type OpenScript = Arc<dyn Fn() -> Result<Box<dyn Script>, ScriptError> + Send + Sync>;

/// Rule for the times at which the I/Os of a script are submitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// At their due times.
    #[default]
    Original,
    /// At their due times divided by a factor.
    Faster {
        /// Factor in thousandths: 1500 plays three seconds in two.
        thousandths: u64,
    },
    /// As soon as the queue depth allows, after the I/O's think time; due times are ignored.
    Closed,
}

impl Timing {
    /// Returns the time since the start of the replay at which an I/O due at `due` is submitted;
    /// `None` if due times are ignored.
    pub fn played(self, due: Nanos) -> Option<Nanos> {
        match self {
            Timing::Original => Some(due),
            Timing::Faster { thousandths } => {
                let nanos = u128::from(due.0) * 1000 / u128::from(thousandths.max(1));
                Some(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
            }
            Timing::Closed => None,
        }
    }
}

/// Treatment of an I/O that overlaps an outstanding one, if at least one of the two changes the
/// data on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapRule {
    /// The I/O is submitted when it is due.
    #[default]
    Keep,
    /// The I/O waits for the other one, so that the device ends with the data that the script's
    /// order implies.
    Order,
}

/// Captured time at which an I/O is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DueTimeSource {
    /// When it entered the queue: what the programs asked, whatever the device did.
    Queue,
    /// When it was issued to the device: this includes what the captured device's queue held back.
    Issue,
}

/// Rule by which captured addresses become addresses of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapRule {
    /// As they were; an I/O beyond the target's end is refused.
    Same,
    /// The number of the granule, modulo the target's granules.
    Wrap,
    /// The granules that were touched, in order and without the gaps between them.
    Pack,
    /// The captured device stretched or squeezed to the target's size.
    Scale,
}

/// Operations of a script that are not played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ReplayOmissions {
    /// True to omit flushes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushes: bool,
    /// True to play FUA writes as plain writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// True to omit discards; records call them `trims`.
    #[serde(rename = "trims", default, skip_serializing_if = "std::ops::Not::not")]
    pub discards: bool,
}

/// Number of I/Os per operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OpCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards; records call them `trims`.
    #[serde(rename = "trims")]
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
}

impl OpCounts {
    /// Returns the number of all I/Os.
    pub const fn total(self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes
    }
    /// Returns the number of I/Os with this operation.
    pub const fn get(self, op: Op) -> u64 {
        match op {
            Op::Read => self.reads,
            Op::Write => self.writes,
            Op::Discard => self.discards,
            Op::Flush => self.flushes,
        }
    }
    /// Counts one more I/O.
    pub fn count(&mut self, op: Op) {
        match op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
            Op::Discard => self.discards += 1,
            Op::Flush => self.flushes += 1,
        }
    }
}

/// A script as a load: its content, the manner of playing it, and how to open it.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScriptLoad {
    /// Name in reports: the source of the script.
    pub name: String,
    /// SHA-256 in hexadecimal: of the script's content, or of the source if addresses are mapped by
    /// `mapping`.
    pub digest: String,
    /// Mapping of the source's addresses to those of the target, in words; empty if they are the
    /// source's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mapping: String,
    /// Number of I/Os per operation.
    pub counts: OpCounts,
    /// Bytes read and written.
    pub bytes: Bytes,
    /// Time from the beginning to the last due time.
    pub span: Nanos,
    /// Largest transfer size, discards excluded.
    pub largest: Bytes,
    /// Common unit: every offset and size is a multiple of it.
    pub unit: Bytes,
    /// End of the touched bytes: the offset after the last one.
    pub reach: Bytes,
    /// Threads x maximum number of I/Os outstanding; only their product matters.
    pub demand: Demand,
    /// Rule for the times of the I/Os.
    #[serde(default)]
    pub timing: Timing,
    /// Treatment of overlapping I/Os.
    #[serde(default)]
    pub overlaps: OverlapRule,
    /// Operations that are not played.
    #[serde(default)]
    pub leave_out: ReplayOmissions,
    /// Data pattern of the writes.
    #[serde(default)]
    pub data_pattern: DataPattern,
    /// Function that opens the script; not part of the record.
    #[serde(skip)]
    pub open: Option<OpenScript>,
}

impl ScriptLoad {
    /// Creates a script without I/Os that is played at its due times and cannot be opened.
    pub fn new(name: impl Into<String>, demand: Demand) -> Self {
        ScriptLoad {
            name: name.into(),
            digest: String::new(),
            mapping: String::new(),
            counts: OpCounts::default(),
            bytes: Bytes(0),
            span: Nanos::ZERO,
            largest: Bytes(0),
            unit: Bytes(0),
            reach: Bytes(0),
            demand,
            timing: Timing::default(),
            overlaps: OverlapRule::default(),
            leave_out: ReplayOmissions::default(),
            data_pattern: DataPattern::default(),
            open: None,
        }
    }
    /// Returns true if playing the script changes the data on the device.
    pub fn alters(&self) -> bool {
        self.counts.writes > 0 || self.plays_discards()
    }
    /// Returns true if the script plays any discard.
    pub fn plays_discards(&self) -> bool {
        self.counts.discards > 0 && !self.leave_out.discards
    }
    /// Returns the duration of the replay; `None` if it depends on the device.
    pub fn lasts(&self) -> Option<Nanos> {
        self.timing.played(self.span)
    }
    /// Returns the reason why the script cannot be played on any device, in one sentence; `None` if
    /// it can.
    pub fn fault(&self) -> Option<String> {
        let why = if self.demand.outstanding() == 0 {
            format!("demand {} has no outstanding I/O", self.demand)
        } else if self.timing == (Timing::Faster { thousandths: 0 }) {
            "timing faster:0 never ends; give faster:0.001 or more".to_owned()
        } else if self.unit.0 == 0 && self.reach.0 > 0 {
            "the alignment of its offsets is missing".to_owned()
        } else if self.open.is_none() {
            "only its description is available; reopen its source".to_owned()
        } else {
            return None;
        };
        Some(format!("script '{}': {why}", self.name))
    }
}

impl PartialEq for ScriptLoad {
    /// Compares content and manner of playing; the name is ignored.
    fn eq(&self, other: &Self) -> bool {
        let content = |s: &Self| (s.counts, s.bytes, s.span, s.largest, s.unit, s.reach);
        let manner = |s: &Self| (s.demand, s.timing, s.overlaps, s.leave_out);
        self.digest == other.digest
            && self.mapping == other.mapping
            && content(self) == content(other)
            && manner(self) == manner(other)
            && self.data_pattern == other.data_pattern
    }
}

impl fmt::Debug for ScriptLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ios = self.counts.total();
        write!(f, "ScriptLoad({}, {ios} I/Os, {}, {})", self.name, self.timing, self.digest)
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Timing::Original => f.write_str("original"),
            Timing::Closed => f.write_str("closed"),
            Timing::Faster { thousandths } => {
                let factor = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
                write!(f, "faster:{}", factor.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

/// Error for a text that is not a [`Timing`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// Unknown name of a timing.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Invalid N in `faster:N`; holds its text.
    #[error("faster:N takes a number from 0.001 to 999999999, not '{}'", excerpt(.0))]
    Factor(String),
}

impl FromStr for Timing {
    type Err = TimingError;
    fn from_str(text: &str) -> Result<Self, TimingError> {
        match text.split_once(':') {
            None if text == "original" => Ok(Timing::Original),
            None if text == "closed" => Ok(Timing::Closed),
            Some(("faster", digits)) => match factor_thousandths(digits) {
                Some(thousandths) => Ok(Timing::Faster { thousandths }),
                None => Err(TimingError::Factor(digits.to_owned())),
            },
            _ => Err(TimingError::Unknown(UnknownName {
                kind: "timing",
                given: text.to_owned(),
                choices: "original, faster:N (N 0.001 or more), closed",
            })),
        }
    }
}

/// Parses the N of `faster:N`; returns it in thousandths, or `None` if it is out of range.
fn factor_thousandths(digits: &str) -> Option<u64> {
    let factor: f64 = digits.parse().ok()?;
    let thousandths = (factor * 1000.0).round();
    (1.0..1e12).contains(&thousandths).then_some(thousandths as u64)
}

choice_names!(OverlapRule, "rule for overlaps", "keep, order",
    "keep" => OverlapRule::Keep, "order" => OverlapRule::Order);
choice_names!(DueTimeSource, "captured time", "queue, issue",
    "queue" => DueTimeSource::Queue, "issue" => DueTimeSource::Issue);
choice_names!(MapRule, "address mapping", "same, wrap, pack, scale",
    "same" => MapRule::Same, "wrap" => MapRule::Wrap,
    "pack" => MapRule::Pack, "scale" => MapRule::Scale);

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> ScriptLoad {
        ScriptLoad {
            digest: "ab".repeat(32),
            counts: OpCounts { reads: 7, writes: 3, discards: 0, flushes: 1 },
            bytes: Bytes(40_960),
            span: Nanos::from_secs(3),
            largest: Bytes(4096),
            unit: Bytes(512),
            reach: Bytes(1 << 20),
            timing: Timing::Faster { thousandths: 1500 },
            overlaps: OverlapRule::Order,
            leave_out: ReplayOmissions { flushes: true, ..ReplayOmissions::default() },
            ..ScriptLoad::new("oltp.parquet", Demand::new(1, 32))
        }
    }

    #[test]
    fn timings_and_overlap_rules_parse_as_they_print() {
        for text in ["original", "closed", "faster:2", "faster:1.5", "faster:0.125", "faster:1000"]
        {
            assert_eq!(text.parse::<Timing>().unwrap().to_string(), text);
        }
        for unknown in ["", "faster", "Original:1"] {
            let error = unknown.parse::<Timing>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("unknown timing '{unknown}'")), "{error}");
        }
        for factor in ["", "0", "0.0004", "-1", "x", "1e9", "inf"] {
            let error = format!("faster:{factor}").parse::<Timing>().unwrap_err().to_string();
            let expected =
                format!("faster:N takes a number from 0.001 to 999999999, not '{factor}'");
            assert_eq!(error, expected);
        }
        for text in ["keep", "order"] {
            assert_eq!(text.parse::<OverlapRule>().unwrap().to_string(), text);
        }
        assert!("wait".parse::<OverlapRule>().unwrap_err().to_string().contains("keep, order"));
    }

    #[test]
    fn due_times_are_divided_exactly() {
        let faster = Timing::Faster { thousandths: 1500 };
        assert_eq!(faster.played(Nanos(3_000_000_003)), Some(Nanos(2_000_000_002)));
        assert_eq!(Timing::Original.played(Nanos(7)), Some(Nanos(7)));
        assert_eq!(Timing::Closed.played(Nanos(7)), None);
        assert_eq!(described().lasts(), Some(Nanos::from_secs(2)));
    }

    #[test]
    fn a_stored_description_recognizes_its_script() {
        let text = serde_json::to_string(&described()).unwrap();
        assert!(text.len() < 700, "{} bytes", text.len());
        let read: ScriptLoad = serde_json::from_str(&text).unwrap();
        assert_eq!(read, described());
        assert_eq!(read, ScriptLoad { name: "renamed.parquet".into(), ..described() });
        type Change = fn(&mut ScriptLoad);
        let changes: [Change; 5] = [
            |s| s.digest = "cd".repeat(32),
            |s| s.mapping = "scaled".into(),
            |s| s.timing = Timing::Original,
            |s| s.counts.count(Op::Read),
            |s| s.leave_out.fua = true,
        ];
        for change in changes {
            let mut other = described();
            change(&mut other);
            assert_ne!(read, other);
        }
        assert!(read.fault().unwrap().contains("reopen its source"));
    }
}
