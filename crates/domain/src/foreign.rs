//! [`ForeignRun`]: results of another tool, read from its own file. `exchange` reads them;
//! `procedures` shows them next to the results of this program.

use crate::notation::AccessPattern;

/// A run of another tool. Fields are `None` if the file does not contain them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignRun {
    /// Name that the user gave the run.
    pub name: String,
    /// Version of the tool.
    pub version: Option<String>,
    /// Day of the run, as the tool wrote it.
    pub date: Option<String>,
    /// Device, as described by the tool or its user.
    pub device: Option<String>,
    /// Features of the device, as described by the user.
    pub features: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Linux distribution.
    pub distribution: Option<String>,
    /// Command line of the run.
    pub command: Option<String>,
    /// Tests of the run.
    pub tests: Vec<ForeignTest>,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// Data missing from the file, and parts of it that were not understood.
    pub remarks: Vec<String>,
}

/// A test of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignTest {
    /// Kind of the test.
    pub kind: ForeignKind,
    /// Program that moved the data: name and version.
    pub engine: Option<String>,
    /// Number of processes or threads.
    pub jobs: Option<u32>,
    /// Outstanding I/Os per process or thread.
    pub depth: Option<u32>,
    /// Length of a step in seconds.
    pub step_seconds: Option<u64>,
    /// All values, in the order of the file.
    pub values: Vec<ForeignValue>,
    /// Statement of the tool about steady state; `None` if it made none.
    pub stated: Option<StatedSteadiness>,
}

/// Kind of a test of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignKind {
    /// IOPS of a matrix of read/write mixes and block sizes, per round.
    Iops,
    /// Bandwidth of sequential reads and writes, per round.
    Throughput,
    /// Response times, per round.
    Latency,
    /// Random writes, per minute.
    WriteSaturation,
    /// IOPS per zone.
    ZoneIops,
    /// Bandwidth of sequential reads and writes, per zone.
    ZoneThroughput,
}

/// Result of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignValue {
    /// Number of the round, minute or zone, starting at 1.
    pub round: u32,
    /// Load of the step.
    pub pattern: AccessPattern,
    /// Measured values of the step.
    pub measured: ForeignMeasured,
}

/// Measured values of a step, the only ones known. `None` if the tool did not report a value.
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

/// Statement of another tool about steady state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedSteadiness {
    /// True if the tool states that steady state was reached; `None` if it does not say.
    pub reached: Option<bool>,
    /// Rounds of the steady-state window, starting at 1.
    pub rounds: Vec<u32>,
}
