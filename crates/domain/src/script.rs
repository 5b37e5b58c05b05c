//! A [`Script`]: exact I/Os in order with due times, for replay.
//!
//! A script as a [`Load`](crate::Load) is a [`ScriptLoad`]: what is known of it
//! before it is played, and how it is to be played. That description is what a
//! ledger keeps; the I/Os are delivered, batch by batch, while the step runs.

use crate::stimulus::{DataPattern, Demand, Op};
use crate::text::excerpt;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One I/O of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueIo {
    /// When it is due, counted from the script's beginning; never before the I/O
    /// in front of it.
    pub due: Nanos,
    /// What it does.
    pub op: Op,
    /// Forced unit access.
    pub fua: bool,
    /// First byte; 0 for a flush.
    pub offset: Bytes,
    /// Transfer size; 0 for a flush.
    pub size: Bytes,
    /// In a closed loop: how long it waits once there is room for it.
    pub think: Nanos,
    /// In a closed loop: I/Os outstanding at most, itself included, where that is
    /// less than the load's demand.
    pub outstanding: Option<u32>,
}

impl DueIo {
    /// A plain one.
    pub const fn new(due: Nanos, op: Op, offset: Bytes, size: Bytes) -> Self {
        DueIo { due, op, fua: false, offset, size, think: Nanos::ZERO, outstanding: None }
    }
}

/// Why a script could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script '{name}' after {ios_done} I/Os: {why}")]
pub struct ScriptError {
    /// The script's name.
    pub name: String,
    /// I/Os that it had delivered.
    pub ios_done: u64,
    /// What went wrong and what to do.
    pub why: String,
}

/// Delivers I/Os in order, in batches of 1024 or more.
pub trait Script: Send {
    /// Appends the next I/Os to `batch`, as many as it has room for without
    /// growing, and says how many; 0 when there are no more. How far a script is
    /// read ahead, and so its memory, hangs on that room.
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError>;
}

/// Opens a script from its beginning, as often as it is applied.
pub type OpenScript = Arc<dyn Fn() -> Result<Box<dyn Script>, ScriptError> + Send + Sync>;

/// When the I/Os of a script are handed over.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// At their due times.
    #[default]
    Original,
    /// At their due times, divided by this.
    Faster {
        /// The factor in thousandths: 1500 plays three seconds in two.
        thousandths: u64,
    },
    /// As soon as there is room, after the I/O's think time; due times do not
    /// count.
    Closed,
}

impl Timing {
    /// How long after its beginning a script is played what is due then; `None`
    /// where due times do not count.
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

/// What becomes of an I/O that overlaps one that is outstanding, where at least
/// one of the two changes what the device holds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Overlaps {
    /// It is handed over when it is due.
    #[default]
    Keep,
    /// It waits for the other, so that the device ends as the script says.
    Order,
}

/// What is not played, though a script has it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct LeaveOut {
    /// Flushes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushes: bool,
    /// Forced unit access: such writes are played as plain ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// Discards; records call them `trims`.
    #[serde(rename = "trims", default, skip_serializing_if = "std::ops::Not::not")]
    pub discards: bool,
}

/// How many I/Os of each operation.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
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
    /// All of them.
    pub const fn total(self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes
    }
    /// Those of one operation.
    pub const fn of(self, op: Op) -> u64 {
        match op {
            Op::Read => self.reads,
            Op::Write => self.writes,
            Op::Discard => self.discards,
            Op::Flush => self.flushes,
        }
    }
    /// Counts one more.
    pub fn count(&mut self, op: Op) {
        match op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
            Op::Discard => self.discards += 1,
            Op::Flush => self.flushes += 1,
        }
    }
}

/// A script as a load: what it holds, how it is played, and how it is opened.
#[derive(Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScriptLoad {
    /// What it is called in reports: its source.
    pub name: String,
    /// SHA-256 of its content, in hexadecimal: of the source, where addresses are
    /// mapped as `mapping` says.
    pub digest: String,
    /// How the source's addresses became this target's, in words; empty where
    /// they are the source's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mapping: String,
    /// I/Os in it.
    pub counts: OpCounts,
    /// Bytes that it reads and writes.
    pub bytes: Bytes,
    /// From its beginning to its last due time.
    pub span: Nanos,
    /// No I/O is larger, discards aside.
    pub largest: Bytes,
    /// Every offset and size is a multiple of this.
    pub unit: Bytes,
    /// The byte after the last that it touches.
    pub reach: Bytes,
    /// Threads x the most I/Os outstanding; their product counts.
    pub demand: Demand,
    /// When its I/Os are handed over.
    #[serde(default)]
    pub timing: Timing,
    /// What becomes of I/Os that overlap.
    #[serde(default)]
    pub overlaps: Overlaps,
    /// What is not played.
    #[serde(default)]
    pub leave_out: LeaveOut,
    /// What its writes write.
    #[serde(default)]
    pub data_pattern: DataPattern,
    /// How to open it; not part of the record.
    #[serde(skip)]
    pub open: Option<OpenScript>,
}

impl ScriptLoad {
    /// Whether it changes what the device holds.
    pub fn alters(&self) -> bool {
        self.counts.writes > 0 || self.plays_discards()
    }
    /// Whether it discards anything.
    pub fn plays_discards(&self) -> bool {
        self.counts.discards > 0 && !self.leave_out.discards
    }
    /// How long it plays; `None` where that is up to the device.
    pub fn lasts(&self) -> Option<Nanos> {
        self.timing.played(self.span)
    }
    /// Why it cannot be played on anything, in one sentence.
    pub fn fault(&self) -> Option<String> {
        let why = if self.demand.outstanding() == 0 {
            format!("demand {} leaves nothing outstanding", self.demand)
        } else if self.timing == (Timing::Faster { thousandths: 0 }) {
            "played 0 times as fast it would never end".to_owned()
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
    /// The same content, played in the same way; what it is called does not count.
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
                write!(f, "faster:{}", thousandths / 1000)?;
                match thousandths % 1000 {
                    0 => Ok(()),
                    rest => {
                        let digits = format!("{rest:03}");
                        write!(f, ".{}", digits.trim_end_matches('0'))
                    }
                }
            }
        }
    }
}

impl fmt::Display for Overlaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overlaps::Keep => "keep",
            Overlaps::Order => "order",
        })
    }
}

/// A text that names no way to play a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not {wanted}", excerpt(text))]
pub struct MannerError {
    text: String,
    wanted: &'static str,
}

impl FromStr for Timing {
    type Err = MannerError;
    fn from_str(text: &str) -> Result<Self, MannerError> {
        let factor = |digits: &str| {
            let times: f64 = digits.parse().ok()?;
            let thousandths = (times * 1000.0).round();
            (1.0..1e12).contains(&thousandths).then_some(thousandths as u64)
        };
        let timing = match text.split_once(':') {
            None if text == "original" => Some(Timing::Original),
            None if text == "closed" => Some(Timing::Closed),
            Some(("faster", digits)) => {
                factor(digits).map(|thousandths| Timing::Faster { thousandths })
            }
            _ => None,
        };
        let wanted = "a timing; choose original, faster:N (N 0.001 or more) or closed";
        timing.ok_or_else(|| MannerError { text: text.to_owned(), wanted })
    }
}

impl FromStr for Overlaps {
    type Err = MannerError;
    fn from_str(text: &str) -> Result<Self, MannerError> {
        match text {
            "keep" => Ok(Overlaps::Keep),
            "order" => Ok(Overlaps::Order),
            _ => {
                let wanted = "a rule for overlaps; choose keep or order";
                Err(MannerError { text: text.to_owned(), wanted })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> ScriptLoad {
        ScriptLoad {
            name: "oltp.parquet".into(),
            digest: "ab".repeat(32),
            mapping: String::new(),
            counts: OpCounts { reads: 7, writes: 3, discards: 0, flushes: 1 },
            bytes: Bytes(40_960),
            span: Nanos::from_secs(3),
            largest: Bytes(4096),
            unit: Bytes(512),
            reach: Bytes(1 << 20),
            demand: Demand::new(1, 32),
            timing: Timing::Faster { thousandths: 1500 },
            overlaps: Overlaps::Order,
            leave_out: LeaveOut { flushes: true, ..LeaveOut::default() },
            data_pattern: DataPattern::RandomUnique,
            open: None,
        }
    }

    #[test]
    fn timings_and_overlaps_read_as_they_print() {
        for text in ["original", "closed", "faster:2", "faster:1.5", "faster:0.125", "faster:1000"]
        {
            assert_eq!(text.parse::<Timing>().unwrap().to_string(), text);
        }
        for bad in ["", "faster", "faster:", "faster:0", "faster:-1", "faster:x", "Original:1"] {
            assert!(bad.parse::<Timing>().is_err(), "{bad}");
        }
        for text in ["keep", "order"] {
            assert_eq!(text.parse::<Overlaps>().unwrap().to_string(), text);
        }
        assert!("wait".parse::<Overlaps>().unwrap_err().to_string().contains("keep or order"));
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
    fn a_ledger_keeps_the_description_and_knows_the_script_again() {
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
