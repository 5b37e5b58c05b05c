//! A [`Sequence`]: the loads that another tool's file, or a preset of such a tool, asks for.
//!
//! Loads are applied one after the other, each to its own part of a target. A sequence knows no
//! device: amounts may be shares of a capacity, and [`SequenceLoad::on`] turns a load into a
//! [`Stimulus`] once the geometry is known. The run's settings contain the whole sequence, so a run
//! can be resumed and its report created without the file.

use crate::fio_steady_state::FioSteadyState;
use crate::stimulus::{
    ActiveRange, DataPattern, Demand, IoStream, LoadLimits, Op, Pace, Stimulus, Zone,
};
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Whole capacity of a device in parts per million.
const WHOLE_PPM: u32 = 1_000_000;

/// The loads that another tool's file, or a preset, asks for, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// Tool: `fio`, `iometer`, `crystaldiskmark`, `atto` or `fiosynth`.
    pub tool: String,
    /// Version of the tool whose rules are followed; `None` if it is unknown or does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Title in reports.
    pub title: String,
    /// File that the sequence was read from; `None` for a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SequenceSource>,
    /// Disk of the file to which these steps belong, if the file describes several disks and each
    /// is a separate target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Steps in the order in which they are applied.
    pub steps: Vec<SequenceStep>,
    /// Parts of the file that were interpreted differently or left out; each is disclosed on a
    /// line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<SequenceRemark>,
    /// Limits that the tool's file sets for the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SequenceLimit>,
}

/// File that a sequence was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceSource {
    /// File name without the directory.
    pub name: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

/// Note on a part of the file that was interpreted differently or left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceRemark {
    /// Line in the file, starting at 1; `None` if the remark is about the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Text of the remark, one sentence.
    pub text: String,
}

impl SequenceRemark {
    /// Creates a remark about one line of the file, counted from 1. Line 0 stands for what is not in
    /// the file, such as the command line, and makes it a remark about the whole file.
    pub fn at(line: u64, text: impl Into<String>) -> Self {
        SequenceRemark { line: (line > 0).then_some(line), text: text.into() }
    }
    /// Creates a remark about the whole file.
    pub fn whole(text: impl Into<String>) -> Self {
        SequenceRemark { line: None, text: text.into() }
    }
}

impl fmt::Display for SequenceRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Purpose of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepRole {
    /// The step brings the device into a state; its numbers are not reported as results.
    Prepare,
    /// The numbers of the step are results.
    #[default]
    Measure,
}

/// One step of a sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceStep {
    /// Name in tables, unique within the sequence.
    pub label: String,
    /// Number of the step, if it differs from its position in the sequence: steps of several
    /// targets with the same number begin together, and a target need not have all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Names and values that distinguish the step from the others, such as `Access specification`
    /// and `Queue depth`. Tables have a column for each name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<(String, String)>,
    /// Purpose of the step.
    #[serde(default)]
    pub role: StepRole,
    /// Number of attempts; the one with the highest throughput in bytes per second counts. `None`,
    /// 0 and 1 mean one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u32>,
    /// True if the device is purged before every attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purge: bool,
    /// Idle time before every attempt.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub pause: Nanos,
    /// True if the step is skipped with a remark when its transfers do not fit the device's
    /// sectors; false if the whole sequence is then refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_left_out: bool,
    /// Ends the step once its rate is steady, before its loads end by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<FioSteadyState>,
    /// Load to apply.
    pub load: SequenceLoad,
    /// Name of `load` if other loads are applied at the same time; `None` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Further loads that begin at the same time, each with its own threads, end condition and
    /// pace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent: Vec<NamedLoad>,
}

/// One of several loads that are applied at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedLoad {
    /// Name in tables, unique within the step.
    pub name: String,
    /// Load to apply.
    pub load: SequenceLoad,
}

/// Longest time of a load.
const TIME_MAX: Nanos = Nanos::from_secs(365 * 86_400);

impl SequenceStep {
    /// Creates a measured step without dimensions that is applied once.
    pub fn new(label: impl Into<String>, load: SequenceLoad) -> Self {
        SequenceStep {
            label: label.into(),
            number: None,
            dimensions: Vec::new(),
            role: StepRole::Measure,
            best_of: None,
            purge: false,
            pause: Nanos::ZERO,
            may_be_left_out: false,
            steady: None,
            load,
            name: None,
            concurrent: Vec::new(),
        }
    }
    /// Creates a measured step of several loads that begin together; `None` if `loads` is empty.
    pub fn at_once(label: impl Into<String>, loads: Vec<NamedLoad>) -> Option<Self> {
        let mut loads = loads.into_iter();
        let NamedLoad { name, load } = loads.next()?;
        let concurrent: Vec<NamedLoad> = loads.collect();
        let name = (!concurrent.is_empty()).then_some(name);
        Some(SequenceStep { name, concurrent, ..SequenceStep::new(label, load) })
    }
    /// Returns the loads and their names. A single load has the name of the step.
    pub fn loads(&self) -> impl Iterator<Item = (&str, &SequenceLoad)> {
        let first = (self.name.as_deref().unwrap_or(&self.label), &self.load);
        let others = self.concurrent.iter().map(|other| (other.name.as_str(), &other.load));
        std::iter::once(first).chain(others)
    }
    /// Returns true if any I/O of the step changes the data on the device.
    pub fn alters(&self) -> bool {
        self.loads().any(|(_, load)| load.alters())
    }
    /// Adds a dimension.
    pub fn dimension(mut self, name: &str, value: impl Into<String>) -> Self {
        self.dimensions.push((name.to_owned(), value.into()));
        self
    }
    /// Changes the role of the step to [`StepRole::Prepare`].
    pub fn preparing(self) -> Self {
        SequenceStep { role: StepRole::Prepare, ..self }
    }
    /// Returns the number of attempts, at least 1.
    pub fn attempts(&self) -> u32 {
        self.best_of.unwrap_or(1).max(1)
    }
}

/// A load, and the part of a target to which it is applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceLoad {
    /// Composition of the load; I/Os are drawn from the streams by weight.
    pub streams: Vec<IoStream>,
    /// LBA zones of the extent; empty if all of the extent is one zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// Threads x queue depth.
    pub demand: Demand,
    /// Bytes that the load may touch.
    #[serde(default)]
    pub extent: Extent,
    /// Data pattern of the writes; `None` for the pattern from the settings of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_pattern: Option<DataPattern>,
    /// Schedule of the I/Os.
    #[serde(default)]
    pub pace: Pace,
    /// Time at the start that is not measured.
    #[serde(default)]
    pub ramp: Nanos,
    /// Delay before the first I/O. Concurrent loads do not wait.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub delay: Nanos,
    /// True to record the tallies of each thread, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_thread: bool,
    /// End condition.
    pub until: SequenceEnd,
}

/// The bytes of a target that a load touches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Start of the extent.
    #[serde(default)]
    pub from: Amount,
    /// Length of the extent; `None` extends it to the end of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Amount>,
    /// True if a length beyond the end of the target is cut off there; false if it is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clipped: bool,
    /// Unit to which a start given as a share is rounded up; `None` for the target's sectors. If
    /// set, offsets are aligned to the start of the extent; otherwise to the start of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
}

/// A number of bytes, or a share of the target's capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// A number of bytes.
    Bytes(Bytes),
    /// Parts per million of the target's capacity.
    Ppm(u32),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Bytes(Bytes(0))
    }
}

impl Amount {
    /// Returns the amount in bytes on a target with this capacity. A share is rounded down to whole
    /// units of `unit` bytes.
    pub fn resolve(self, capacity: Bytes, unit: u64) -> Bytes {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Ppm(ppm) => {
                let part = u128::from(capacity.0) * u128::from(ppm) / u128::from(WHOLE_PPM);
                Bytes(u64::try_from(part).unwrap_or(u64::MAX)).round_down(unit.max(1))
            }
        }
    }
}

/// End condition of a load: it ends at the first limit that it reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceEnd {
    /// Measured time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// Bytes transferred by all threads together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Amount>,
    /// I/Os completed by all threads together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
    /// Number of times that the extent is transferred completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laps: Option<u64>,
}

impl SequenceEnd {
    /// Ends after this measured time.
    pub fn time(time: Nanos) -> Self {
        SequenceEnd { time: Some(time), ..SequenceEnd::default() }
    }
    /// Ends when the extent has been transferred this many times.
    pub fn laps(laps: u64) -> Self {
        SequenceEnd { laps: Some(laps), ..SequenceEnd::default() }
    }
}

/// Reason why a load cannot be applied to a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A transfer size or an alignment is not a multiple of the device's logical sector size.
    #[error("{0}")]
    Sector(String),
    /// Any other reason.
    #[error("{0}")]
    Other(String),
}

impl SequenceLoad {
    /// Creates an unpaced load of the whole target.
    pub fn new(streams: Vec<IoStream>, demand: Demand, until: SequenceEnd) -> Self {
        SequenceLoad {
            streams,
            zones: Vec::new(),
            demand,
            extent: Extent::default(),
            data_pattern: None,
            pace: Pace::Closed,
            ramp: Nanos::ZERO,
            delay: Nanos::ZERO,
            by_thread: false,
            until,
        }
    }
    /// Restricts the load to an extent.
    pub fn within(self, extent: Extent) -> Self {
        SequenceLoad { extent, ..self }
    }
    /// Returns true if any I/O of the load changes the data on the device.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.alters())
    }
    /// Returns the stimulus for a device with this capacity and logical sector size. It has seed 0,
    /// and the default data pattern if the load has none.
    ///
    /// # Errors
    /// Returns [`LoadError::Sector`] if a transfer size or an alignment is not a multiple of the sector
    /// size, and [`LoadError::Other`] if the load cannot be applied for any other reason.
    pub fn on(&self, capacity: Bytes, logical_sector: u32) -> Result<Stimulus, LoadError> {
        let sector = u64::from(logical_sector.max(1));
        self.check_sectors(sector)?;
        for time in [self.until.time.unwrap_or(Nanos::ZERO), self.ramp, self.delay] {
            if time > TIME_MAX {
                return Err(LoadError::Other(format!(
                    "a time of the load is {time}, more than the maximum of {TIME_MAX} (365 days); choose \
                     a shorter time"
                )));
            }
        }
        let range = self.range(capacity, sector)?;
        let until = LoadLimits {
            time: self.until.time,
            bytes: self.bytes(capacity, sector, range)?,
            ios: self.until.ios,
        };
        let stimulus = Stimulus::new(self.streams.clone(), range, self.demand, until)
            .zones(self.zones.clone())
            .data_pattern(self.data_pattern.clone().unwrap_or_default())
            .pace(self.pace.clone())
            .ramp(self.ramp)
            .delay(self.delay);
        let start = stimulus.active_range.start.0;
        let is_odd = |stream: &IoStream| {
            stream.op != Op::Flush && !start.is_multiple_of(stream.alignment().0)
        };
        let aligned_to_start = self.extent.block.is_some() && stimulus.streams.iter().any(is_odd);
        let stimulus = Stimulus { aligned_to_start, by_thread: self.by_thread, ..stimulus };
        match stimulus.fault() {
            None => Ok(stimulus),
            Some(fault) => Err(LoadError::Other(fault)),
        }
    }

    /// Refuses transfers that are not whole sectors.
    fn check_sectors(&self, sector: u64) -> Result<(), LoadError> {
        let is_whole = |bytes: Bytes| bytes.0.is_multiple_of(sector);
        for stream in self.streams.iter().filter(|stream| stream.op != Op::Flush) {
            if !is_whole(stream.size) || !is_whole(stream.alignment()) {
                return Err(LoadError::Sector(format!(
                    "the transfer size or the alignment of '{stream}' is not a multiple of the \
                     sector size of {sector} B"
                )));
            }
        }
        Ok(())
    }

    /// Returns the active range that the extent covers on a device of this capacity.
    fn range(&self, capacity: Bytes, sector: u64) -> Result<ActiveRange, LoadError> {
        let from = match (self.extent.from, self.extent.block) {
            (Amount::Bytes(from), Some(_)) if !from.0.is_multiple_of(sector) => {
                return Err(LoadError::Sector(format!(
                    "the load begins at byte {}, which is not a multiple of the sector size of \
                     {sector} B; choose another offset",
                    from.0
                )));
            }
            (Amount::Bytes(from), _) => {
                Bytes(from.0.checked_next_multiple_of(sector).unwrap_or(u64::MAX))
            }
            (share, Some(block)) => {
                let exact = share.resolve(capacity, 1).0;
                let unit = block.0.max(sector);
                Bytes(exact.checked_next_multiple_of(unit).unwrap_or(u64::MAX))
            }
            (share, None) => share.resolve(capacity, sector),
        };
        if from >= capacity {
            return Err(LoadError::Other(format!(
                "the load begins at byte {}, but the target has only {} bytes",
                from.0, capacity.0
            )));
        }
        let left = capacity - from;
        let length = match self.extent.length {
            None => left,
            Some(length) => match length.resolve(capacity, sector) {
                length if length <= left => length,
                _ if self.extent.clipped => left,
                length => {
                    return Err(LoadError::Other(format!(
                        "the load needs {} ({} bytes) from byte {}, but the target has only {} \
                         bytes; choose a smaller size or a larger target",
                        length.binary(),
                        length.0,
                        from.0,
                        capacity.0
                    )));
                }
            },
        };
        Ok(ActiveRange::new(from, length.round_down(sector)))
    }

    /// Returns the smallest of the limits in bytes, or `None` if there is none.
    fn bytes(
        &self,
        capacity: Bytes,
        sector: u64,
        range: ActiveRange,
    ) -> Result<Option<Bytes>, LoadError> {
        let amount = self.until.bytes.map(|amount| amount.resolve(capacity, sector));
        let largest = self.streams.iter().map(|stream| stream.size.0).max().unwrap_or(1).max(1);
        // One pass moves whole transfers only.
        let lap = range.length.round_down(largest).0;
        if let Some(stream) = self.streams.iter().find(|stream| stream.size > range.length)
            && self.until.laps.is_some()
        {
            return Err(LoadError::Other(format!(
                "'{stream}' does not fit into a range of {} bytes; choose a larger range or a \
                 smaller transfer size",
                range.length.0
            )));
        }
        let laps = self.until.laps.map(|laps| lap.saturating_mul(laps));
        let least = amount.into_iter().chain(laps.map(Bytes)).min();
        match least {
            Some(Bytes(0)) => Err(LoadError::Other("the load ends before its first I/O".into())),
            least => Ok(least),
        }
    }
}

impl Sequence {
    /// Returns true if any step changes the data on the device.
    pub fn alters(&self) -> bool {
        self.steps.iter().any(|step| step.purge || step.alters())
    }
    /// Returns true if any step purges the device.
    pub fn purges(&self) -> bool {
        self.steps.iter().any(|step| step.purge)
    }
    /// Returns the steps with their numbers: the step's own, or its position starting at 1.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &SequenceStep)> {
        (1..).zip(&self.steps).map(|(place, step)| (step.number.unwrap_or(place), step))
    }
    /// Returns true if any step has its own number.
    pub fn is_numbered(&self) -> bool {
        self.steps.iter().any(|step| step.number.is_some())
    }
    /// Returns the number of bytes of a target that hold all of its loads; `None` if one of them needs
    /// a share of the target or all of it.
    pub fn reach(&self) -> Option<Bytes> {
        let end = |load: &SequenceLoad| match (load.extent.from, load.extent.length) {
            (Amount::Bytes(from), Some(Amount::Bytes(length))) => from.0.checked_add(length.0),
            _ => None,
        };
        let ends: Option<Vec<u64>> =
            self.steps.iter().flat_map(SequenceStep::loads).map(|(_, load)| end(load)).collect();
        ends?.into_iter().max().map(Bytes)
    }
    /// Returns the names of the dimensions of its steps, each once, in order.
    pub fn dimensions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.steps.iter().flat_map(|step| &step.dimensions) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
    /// Makes the labels unique by appending a number to a repeated label.
    pub fn with_distinct_labels(mut self) -> Self {
        number_repeated_labels(self.steps.iter_mut().map(|step| &mut step.label));
        self
    }
}

/// Makes labels unique by appending a number to a repeated label.
pub fn number_repeated_labels<'a>(labels: impl Iterator<Item = &'a mut String>) {
    let mut taken = BTreeSet::new();
    for label in labels {
        let base = label.clone();
        let mut number = 1u32;
        while !taken.insert(label.clone()) {
            number += 1;
            *label = format!("{base} #{number}");
        }
    }
}

/// A limit that a file sets for one value in one of the tables of all steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceLimit {
    /// Title of the limit in the file.
    pub title: String,
    /// Label of the step.
    pub step: String,
    /// ID of the table: `sequence`, `sequence-reads` or `sequence-writes`.
    pub table: String,
    /// ID of the column, such as `iops` or `p99-ms`.
    pub column: String,
    /// Minimum allowed value; `None` if there is no lower limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Maximum allowed value; `None` if there is no upper limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stimulus::{Cursor, Order};

    const CAPACITY: Bytes = Bytes(10_007 * 4096);

    fn on(load: SequenceLoad) -> Result<Stimulus, LoadError> {
        load.on(CAPACITY, 4096)
    }

    fn load(size: u64) -> SequenceLoad {
        let stream = IoStream::new(Op::Write, Order::Sequential(Cursor::Own), Bytes(size));
        SequenceLoad::new(vec![stream], Demand::new(1, 8), SequenceEnd::laps(2))
    }

    #[test]
    fn an_extent_is_resolved_with_the_geometry() {
        let stimulus = on(load(4096)).unwrap();
        assert_eq!(stimulus.active_range, ActiveRange::new(Bytes(0), CAPACITY));
        assert_eq!(stimulus.until.bytes, Some(Bytes(2 * 10_007 * 4096)));
        let half = Extent { from: Amount::Ppm(500_000), ..Extent::default() };
        let range = on(load(4096).within(half)).unwrap().active_range;
        assert_eq!((range.start, range.length), (Bytes(5003 * 4096), Bytes(5004 * 4096)));
        let odd = on(load(8192)).unwrap();
        assert_eq!(odd.until.bytes, Some(Bytes(2 * 5003 * 8192)), "whole transfers");
    }

    #[test]
    fn offsets_are_aligned_to_the_start_of_an_extent_with_blocks() {
        let extent = Extent { block: Some(Bytes(4096)), ..Extent::default() };
        let at = |from| on(load(8192).within(Extent { from, ..extent }));
        let odd = at(Amount::Bytes(Bytes(4096))).unwrap();
        assert_eq!((odd.active_range.start, odd.aligned_to_start), (Bytes(4096), true));
        assert!(!at(Amount::Bytes(Bytes(8192))).unwrap().aligned_to_start);
        let share = at(Amount::Ppm(300_000)).unwrap().active_range.start;
        assert_eq!(share, Bytes(3003 * 4096), "30 % of 10,007 blocks, rounded up");
        assert!(matches!(at(Amount::Bytes(Bytes(1024))), Err(LoadError::Sector(_))));
    }

    #[test]
    fn loads_that_do_not_fit_are_refused() {
        assert!(matches!(on(load(512)), Err(LoadError::Sector(_))));
        let large = Some(Amount::Bytes(Bytes::gib(1)));
        let extent = Extent { length: large, ..Extent::default() };
        let why = on(load(4096).within(extent)).unwrap_err().to_string();
        assert!(why.contains("1 GiB") && why.contains("larger target"), "{why}");
        let clipped = Extent { clipped: true, ..extent };
        assert!(on(load(4096).within(clipped)).is_ok());
        let behind = Extent { from: Amount::Ppm(WHOLE_PPM), ..Extent::default() };
        assert!(on(load(4096).within(behind)).is_err());
        let last = Extent { from: Amount::Bytes(Bytes(u64::MAX)), ..Extent::default() };
        assert!(on(load(4096).within(last)).is_err(), "not at byte 0");
        let small = Extent { length: Some(Amount::Bytes(Bytes(4096))), ..Extent::default() };
        let until = SequenceEnd { laps: Some(1), ..SequenceEnd::default() };
        let laps = SequenceLoad { until, ..load(8192).within(small) };
        assert!(
            on(laps).unwrap_err().to_string().contains("4096 bytes"),
            "not the end of the load"
        );
        let late = SequenceLoad { delay: Nanos(u64::MAX), ..load(4096) };
        assert!(on(late).unwrap_err().to_string().contains("365 days"));
    }

    #[test]
    fn a_step_names_all_of_its_loads() {
        let named = |name: &str, size| NamedLoad { name: name.into(), load: load(size) };
        let step = SequenceStep::at_once("a + b", vec![named("a", 4096), named("b", 8192)]);
        let step = step.unwrap();
        assert_eq!(step.loads().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(step.alters());
        let one = SequenceStep::at_once("one", vec![named("a", 4096)]).unwrap();
        assert_eq!(one, SequenceStep::new("one", load(4096)));
        assert_eq!(one.loads().next().unwrap().0, "one");
        assert_eq!(SequenceStep::at_once("none", Vec::new()), None);
    }

    #[test]
    fn repeated_labels_are_numbered() {
        let step = |label: &str| SequenceStep::new(label, load(4096)).dimension("Depth", "8");
        let steps = vec![step("a"), step("a"), step("a #2"), step("b").preparing()];
        let sequence = Sequence { steps, ..Sequence::default() }.with_distinct_labels();
        let labels: Vec<&str> = sequence.steps.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["a", "a #2", "a #2 #2", "b"]);
        assert_eq!(sequence.dimensions(), ["Depth"]);
        let text = serde_json::to_string(&sequence).unwrap();
        assert_eq!(serde_json::from_str::<Sequence>(&text).unwrap(), sequence);
    }
}
