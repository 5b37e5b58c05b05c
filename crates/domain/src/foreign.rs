//! [`ForeignRun`]: what another tool measured, as its own file says it. `exchange` reads
//! it, `procedures` shows it beside what this program measures.

use crate::notation::AccessPattern;

/// A run of another tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignRun {
    /// What its user called it.
    pub name: String,
    /// The tool's version.
    pub version: Option<String>,
    /// The day of the run, as the tool wrote it.
    pub date: Option<String>,
    /// The device, in the words of the tool or of its user.
    pub device: Option<String>,
    /// Features of the device, in the user's words.
    pub features: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The distribution.
    pub distribution: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// What was measured.
    pub tests: Vec<ForeignTest>,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// What the file lacks, and what in it was not understood.
    pub remarks: Vec<String>,
}

/// A test of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignTest {
    /// Which.
    pub kind: ForeignKind,
    /// What moved the data: the name and version of a program.
    pub engine: Option<String>,
    /// Processes or threads.
    pub jobs: Option<u32>,
    /// Outstanding I/Os of each.
    pub depth: Option<u32>,
    /// Length of a step in seconds.
    pub step_seconds: Option<u64>,
    /// Every value, in the order of the file.
    pub values: Vec<ForeignValue>,
    /// What the tool said of steady state.
    pub stated: Option<StatedSteadiness>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignKind {
    /// IOPS of a matrix of mixes and block sizes, round by round.
    Iops,
    /// Bandwidth of sequential reads and writes, round by round.
    Throughput,
    /// Response times, round by round.
    Latency,
    /// Random writes, minute by minute.
    WriteSaturation,
    /// IOPS, zone by zone.
    ZoneIops,
    /// Bandwidth of sequential reads and writes, zone by zone.
    ZoneThroughput,
}

/// One value: what one step gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignValue {
    /// The round, minute or zone, from 1.
    pub round: u32,
    /// What was applied.
    pub pattern: AccessPattern,
    /// What came of it.
    pub measured: ForeignMeasured,
}

/// What came of a step. Nothing else is known of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ForeignMeasured {
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Mean response time in milliseconds.
    pub mean_ms: Option<f64>,
    /// Longest response time in milliseconds.
    pub longest_ms: Option<f64>,
}

/// What the tool said of steady state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedSteadiness {
    /// Whether it was reached.
    pub reached: Option<bool>,
    /// The rounds of the window, from 1.
    pub rounds: Vec<u32>,
}
