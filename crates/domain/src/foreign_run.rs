//! [`ForeignRun`]: results of another tool, read from its own file. `exchange` reads them;
//! `procedures` shows them next to the results of this program.

use crate::histogram::MIN_IOS_BEYOND_PERCENTILE;
use crate::notation::AccessPattern;
use std::collections::BTreeMap;

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
    pub claimed_steady_state: Option<ClaimedSteadyState>,
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
    /// Shortest response time in milliseconds.
    pub shortest_ms: Option<f64>,
    /// Longest response time in milliseconds.
    pub longest_ms: Option<f64>,
}

/// Statement of another tool about steady state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimedSteadyState {
    /// True if the tool states that steady state was reached; `None` if it does not say.
    pub reached: Option<bool>,
    /// Rounds of the steady-state window, starting at 1.
    pub rounds: Vec<u32>,
}

/// Results that another tool wrote into one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignResults {
    /// The id of the findings: `fio`, so that they stand next to our run of the same job file.
    pub id: String,
    /// The tool's name: `fio`, `diskspd`.
    pub tool: String,
    /// The tool's version, where the file states it.
    pub version: Option<String>,
    /// The file's name.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// The round that the file's name states: `NAME_run3.json`.
    pub round: Option<u32>,
    /// When the run ended or the file was written, in milliseconds since 1970.
    pub unix_ms: Option<u64>,
    /// Device, host and options as the file states them: label and value.
    pub facts: Vec<(String, String)>,
    /// Tests, in the order of the file.
    pub tests: Vec<ForeignOutcome>,
    /// Values that the file lacks, with the reason; each prints as a dash.
    pub absent: Vec<String>,
    /// Remarks without which the numbers would be misread.
    pub remarks: Vec<String>,
}

/// The outcome of one test of another tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignOutcome {
    /// The test's name; unique in its file.
    pub label: String,
    /// The load in the tool's own words: `randread, bs=4k`.
    pub load: Option<String>,
    /// Threads and queue depth in the tool's own words.
    pub demand: Option<String>,
    /// All I/Os.
    pub all: ForeignIos,
    /// The reads.
    pub reads: ForeignIos,
    /// The writes.
    pub writes: ForeignIos,
    /// I/Os that failed.
    pub errors: Option<u64>,
    /// Loads that ran at the same time; empty where there is only one.
    pub concurrent: Vec<ConcurrentIos>,
}

/// One of several loads of a test that ran at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrentIos {
    /// Name of the load.
    pub name: String,
    /// I/Os of the load.
    pub ios: ForeignIos,
}

/// Rates and response times of some I/Os, as a tool states them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignIos {
    /// I/Os completed.
    pub ios: Option<u64>,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Mean response time in milliseconds.
    pub mean_ms: Option<f64>,
    /// Shortest response time in milliseconds.
    pub shortest_ms: Option<f64>,
    /// Longest response time in milliseconds.
    pub longest_ms: Option<f64>,
    /// Percentiles: percent and milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Histogram of response times: I/Os by time in nanoseconds. Empty where the file has none.
    pub histogram: BTreeMap<u64, u64>,
}

impl ForeignIos {
    /// Returns the throughput in MB/s.
    pub fn megabytes_per_second(&self) -> Option<f64> {
        self.bytes_per_second.map(|bytes| bytes / 1e6)
    }

    /// Returns a percentile in milliseconds; `None` where the file does not have it, or where
    /// fewer than [`MIN_IOS_BEYOND_PERCENTILE`] I/Os lie beyond it.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        // Rounding avoids errors of binary fractions: 0.1 % of 10,000 I/Os are ten.
        let beyond = |ios: u64| (ios as f64 * (100.0 - percent) / 100.0 * 1e6).round() / 1e6;
        if self.ios.is_some_and(|ios| beyond(ios) < MIN_IOS_BEYOND_PERCENTILE as f64) {
            return None;
        }
        let stated = self.percentiles.iter().find(|(of, _)| (of - percent).abs() < 1e-9);
        stated.map(|(_, ms)| *ms).or_else(|| self.percentile_of_histogram(percent))
    }

    /// Returns the first bucket up to which this share of the I/Os is reached, in milliseconds, as
    /// fio computes it.
    fn percentile_of_histogram(&self, percent: f64) -> Option<f64> {
        let all = self.histogram.values().fold(0u64, |sum, ios| sum.saturating_add(*ios));
        let wanted = percent / 100.0 * all as f64;
        let mut sum = 0u64;
        for (ns, ios) in &self.histogram {
            sum = sum.saturating_add(*ios);
            if sum as f64 >= wanted {
                return Some(*ns as f64 / 1e6);
            }
        }
        None
    }

    /// Returns true if no I/O was done.
    pub fn is_empty(&self) -> bool {
        self.ios.unwrap_or(0) == 0
            && self.iops.unwrap_or(0.0) == 0.0
            && self.bytes_per_second.unwrap_or(0.0) == 0.0
    }

    /// Returns the sum of I/Os that ran at the same time.
    pub fn at_once(all: &[&ForeignIos]) -> ForeignIos {
        let busy: Vec<&ForeignIos> = all.iter().copied().filter(|ios| !ios.is_empty()).collect();
        ForeignIos {
            iops: sum(&busy, |ios| ios.iops),
            bytes_per_second: sum(&busy, |ios| ios.bytes_per_second),
            ..ForeignIos::pooled(&busy)
        }
    }

    /// Returns the mean of rounds that ran one after the other.
    pub fn mean_of(rounds: &[&ForeignIos]) -> ForeignIos {
        let count = rounds.len() as f64;
        ForeignIos {
            iops: sum(rounds, |ios| ios.iops).map(|all| all / count),
            bytes_per_second: sum(rounds, |ios| ios.bytes_per_second).map(|all| all / count),
            ..ForeignIos::pooled(rounds)
        }
    }

    /// Returns counts and response times of all I/Os together. Percentiles cannot be added up; they
    /// follow from the histograms if all have one.
    fn pooled(all: &[&ForeignIos]) -> ForeignIos {
        if let [only] = all {
            return (*only).clone();
        }
        let counts: Option<Vec<u64>> = all.iter().map(|ios| ios.ios).collect();
        let weighted = |(ios, count): (&&ForeignIos, &u64)| Some(ios.mean_ms? * *count as f64);
        let mean_ms = counts.as_ref().and_then(|counts| {
            let whole = saturating_sum(counts);
            let sum: Option<f64> = all.iter().zip(counts).map(weighted).sum();
            sum.filter(|_| whole > 0).map(|sum| sum / whole as f64)
        });
        let shortest: Option<Vec<f64>> = all.iter().map(|ios| ios.shortest_ms).collect();
        let longest: Option<Vec<f64>> = all.iter().map(|ios| ios.longest_ms).collect();
        let mut histogram = BTreeMap::new();
        if all.iter().all(|ios| !ios.histogram.is_empty()) {
            for (ns, ios) in all.iter().flat_map(|ios| &ios.histogram) {
                let sum: &mut u64 = histogram.entry(*ns).or_insert(0);
                *sum = sum.saturating_add(*ios);
            }
        }
        ForeignIos {
            ios: counts.map(|counts| saturating_sum(&counts)),
            mean_ms,
            shortest_ms: shortest.and_then(|all| all.into_iter().reduce(f64::min)),
            longest_ms: longest.and_then(|all| all.into_iter().reduce(f64::max)),
            histogram,
            ..ForeignIos::default()
        }
    }
}

/// Returns the sum of counts; readers refuse counts above 2^53, so that it does not saturate.
fn saturating_sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Returns the sum; `None` if a value is unknown.
fn sum(all: &[&ForeignIos], value: fn(&ForeignIos) -> Option<f64>) -> Option<f64> {
    all.iter().map(|ios| value(ios)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ios(count: u64, iops: f64, mean_ms: f64, histogram: &[(u64, u64)]) -> ForeignIos {
        ForeignIos {
            ios: Some(count),
            iops: Some(iops),
            bytes_per_second: Some(iops * 4096.0),
            mean_ms: Some(mean_ms),
            shortest_ms: Some(mean_ms / 2.0),
            longest_ms: Some(mean_ms * 2.0),
            percentiles: vec![(50.0, 1.0), (99.9, 3.0)],
            histogram: histogram.iter().copied().collect(),
        }
    }

    #[test]
    fn loads_at_once_add_up_and_rounds_are_averaged() {
        let (one, two) = (ios(100, 10.0, 1.0, &[]), ios(300, 30.0, 2.0, &[]));
        let sum = ForeignIos::at_once(&[&one, &two, &ForeignIos::default()]);
        assert_eq!((sum.iops, sum.ios), (Some(40.0), Some(400)));
        assert_eq!((sum.mean_ms, sum.longest_ms), (Some(1.75), Some(4.0)), "by I/Os");
        assert_eq!(sum.shortest_ms, Some(0.5));
        assert_eq!(sum.percentile(50.0), None, "percentiles do not add up");
        assert_eq!(ForeignIos::mean_of(&[&one, &two]).iops, Some(20.0));
        assert_eq!(ForeignIos::at_once(&[&one, &ForeignIos::default()]), one);
        let rate = ForeignIos { bytes_per_second: Some(5e6), ..ForeignIos::default() };
        assert_eq!(ForeignIos::at_once(&[&rate]).bytes_per_second, Some(5e6));
    }

    #[test]
    fn percentiles_need_ten_ios_beyond_and_add_up_as_histograms() {
        assert_eq!(ios(9_999, 1.0, 1.0, &[]).percentile(99.9), None);
        assert_eq!(ios(10_000, 1.0, 1.0, &[]).percentile(99.9), Some(3.0));
        let one = ios(50, 1.0, 1.0, &[(1_000_000, 50)]);
        let two = ios(50, 1.0, 1.0, &[(2_000_000, 49), (9_000_000, 1)]);
        let sum = ForeignIos::at_once(&[&one, &two]);
        assert_eq!(sum.percentile(50.0), Some(1.0));
        assert_eq!(sum.percentile(51.0), Some(2.0));
        let unknown = ForeignIos { ios: None, ..one };
        assert_eq!(ForeignIos::at_once(&[&unknown, &two]).mean_ms, None, "no count, no weight");
    }
}
