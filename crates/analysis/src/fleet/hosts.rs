//! Compares hosts: the activity of each during its observed time, ranked by any figure, and
//! outliers among them.

use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, json_columns};
use crate::named_values::named_values;
use crate::questions::compare::host_name;
use crate::questions::groups::{Facet, GroupKey, Groups};
use crate::sums::io_sums::IoSums;
use crate::sums::response::ResponseFigures;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use steadfast_domain::CaptureConditions;
use steadfast_domain::change_points::median;
use steadfast_tracefile::observed_time::ObservedTime;

/// A host with a modified z-score above this is an outlier (Iglewicz and Hoaglin, How to Detect and
/// Handle Outliers, ASQC 1993).
const OUTLIER_SCORE: f64 = 3.5;
/// Minimum number of hosts for detecting outliers.
const HOSTS_MIN: usize = 5;

named_values! {
    /// The figure by which hosts are ranked.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    HostRank {
        /// I/Os per second.
        #[default]
        Iops = "iops",
        /// Bytes of reads and writes per second.
        Bytes = "bytes",
        /// Mean response time.
        Mean = "mean",
        /// 99th percentile of the response time.
        P99 = "p99",
        /// 99.9th percentile of the response time.
        P999 = "p99.9",
        /// Longest response time.
        Max = "max",
        /// Mean queue depth.
        Depth = "qd",
        /// Share of reads.
        Reads = "reads",
        /// Share of sequential reads and writes.
        Sequential = "seq",
        /// Number of failed I/Os.
        Failed = "failed",
    }
}

/// The hosts of one or more captures, not yet ranked.
#[derive(Debug, Clone)]
pub struct Hosts {
    groups: Groups,
}

impl Hosts {
    /// Creates an empty fold for captures with these conditions.
    pub fn from_conditions(conditions: &CaptureConditions) -> Self {
        // A host is identified by the index of its first device.
        let hosts_max = usize::from(u16::MAX) + 1;
        Hosts { groups: Groups::keeping(hosts_max, &[Facet::Host]).with_hosts(conditions) }
    }

    /// Returns the fold to fill.
    pub fn fold(&mut self) -> &mut Groups {
        &mut self.groups
    }

    /// Returns the hosts, ranked by a figure from the largest to the smallest; hosts without this
    /// figure come last. Rates refer to the observed time of each host
    /// ([`crate::Captured::observed_by_host`]).
    pub fn listing(
        &self,
        rank: HostRank,
        conditions: &CaptureConditions,
        observed: &BTreeMap<String, ObservedTime>,
    ) -> Vec<HostFigures> {
        let figures = |(key, tally): (&GroupKey, &IoSums)| {
            let host = host_name(conditions, key.host.unwrap_or(0));
            let observed_ns = observed.get(&host).map_or(0, ObservedTime::total_ns);
            HostFigures::new(host, tally.clone(), conditions, observed_ns)
        };
        let mut hosts: Vec<HostFigures> = self.groups.iter().map(figures).collect();
        let value = |host: &HostFigures| host.value(rank);
        hosts.sort_by(|one, other| {
            let order = value(other).partial_cmp(&value(one)).unwrap_or(Ordering::Equal);
            order.then_with(|| one.host.cmp(&other.host))
        });
        let scores = scores(&hosts.iter().map(value).collect::<Vec<_>>());
        for (host, score) in hosts.iter_mut().zip(scores) {
            host.score = score;
        }
        hosts
    }
}

/// Returns the modified z-score of each value: its distance from the median in units of the median
/// distance. Every score is `None` if there are too few values or all are equal.
fn scores(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let unscored = vec![None; values.len()];
    if known.len() < HOSTS_MIN {
        return unscored;
    }
    let middle = median(&known).unwrap_or_default();
    let distances: Vec<f64> = known.iter().map(|value| (value - middle).abs()).collect();
    let mean_distance = distances.iter().sum::<f64>() / distances.len() as f64;
    // If half of the hosts are equal, the mean distance replaces the median distance.
    let deviation = match median(&distances) {
        Some(distance) if distance > 0.0 => distance / 0.6745,
        _ if mean_distance > 0.0 => mean_distance * 1.253_314,
        _ => return unscored,
    };
    values.iter().map(|value| value.map(|value| (value - middle) / deviation)).collect()
}

/// Figures of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFigures {
    /// Host name.
    pub host: String,
    /// Number of devices in the captures.
    pub devices: u64,
    /// Observed time, in nanoseconds.
    pub observed_ns: u64,
    /// Sums over all I/Os of the host.
    pub tally: IoSums,
    /// Response times.
    pub response: ResponseFigures,
    /// Distance from the median host by the ranked figure, in robust standard deviations; `None`
    /// with fewer than five hosts, or if all hosts are equal.
    pub score: Option<f64>,
}

impl HostFigures {
    fn new(host: String, tally: IoSums, conditions: &CaptureConditions, observed_ns: u64) -> Self {
        let all = 0..u16::try_from(conditions.devices.len()).unwrap_or(u16::MAX);
        let devices = all.filter(|device| host_name(conditions, *device) == host).count() as u64;
        let response = tally.times.responses.figures();
        HostFigures { host, devices, observed_ns, tally, response, score: None }
    }

    /// Returns true if the host is an outlier.
    pub fn is_outlier(&self) -> bool {
        self.score.is_some_and(|score| score.abs() > OUTLIER_SCORE)
    }

    /// Returns an amount per second of observed time, or `None` if too little was observed.
    fn rate(&self, amount: u64) -> Option<f64> {
        (self.observed_ns > 1).then(|| amount as f64 * 1e9 / self.observed_ns as f64)
    }

    /// Returns the figure by which hosts are ranked, or `None` if it is unknown.
    fn value(&self, rank: HostRank) -> Option<f64> {
        let time = |time: Option<u64>| time.map(|ns| ns as f64);
        match rank {
            HostRank::Iops => self.rate(self.tally.count()),
            HostRank::Bytes => self.rate(self.tally.transfers().bytes),
            HostRank::Mean => time(self.response.mean_ns),
            HostRank::P99 => time(self.response.p99_ns),
            HostRank::P999 => time(self.response.p99_9_ns),
            HostRank::Max => time(self.response.max_ns),
            HostRank::Depth => self.tally.times.depths.mean(),
            HostRank::Reads => self.tally.read_share(),
            HostRank::Sequential => self.tally.transfers().sequential_share(),
            HostRank::Failed => Some(self.tally.failed() as f64),
        }
    }
}

json_columns! {
    HostFigures;
    /// Host name.
    HOST = "host", "Host", Plain(0), Text(|h| h.host.clone());
    /// Captured devices.
    DEVICES = "devices", "devices", Plain(0), Whole(|h| h.devices);
    /// Observed time.
    OBSERVED_NS = "observed_ns", "seconds", Seconds, Whole(|h| h.observed_ns);
    /// I/Os.
    COUNT = "count", "I/Os", Plain(0), Whole(|h| h.tally.count());
    /// I/Os per second; null if too little time was observed.
    IOPS = "iops", "IOPS", Plain(1), MaybeReal(|h| h.rate(h.tally.count()));
    /// Data moved; null if too little time was observed.
    BYTES_PER_SECOND = "bytes_per_second", "MB/s", Megabytes(3),
        MaybeReal(|h| h.rate(h.tally.transfers().bytes));
    /// Share of reads among reads and writes; null without them.
    READ_SHARE = "read_share", "reads %", Percent(1), MaybeReal(|h| h.tally.read_share());
    /// Share of sequential I/Os among reads and writes; null without them.
    SEQUENTIAL_SHARE = "sequential_share", "SEQ %", Percent(1),
        MaybeReal(|h| h.tally.transfers().sequential_share());
    /// Average queue depth at issue; null if unknown.
    QD_MEAN = "qd_mean", "QD avg", Plain(2), MaybeReal(|h| h.tally.times.depths.mean());
    /// Average response time.
    RESPONSE_MEAN_NS = "response_mean_ns", "ART ms", Milliseconds,
        MaybeWhole(|h| h.response.mean_ns);
    /// 99th percentile of the response times.
    RESPONSE_P99_NS = "response_p99_ns", "99% ms", Milliseconds, MaybeWhole(|h| h.response.p99_ns);
    /// 99.9th percentile of the response times.
    RESPONSE_P99_9_NS = "response_p99_9_ns", "99.9% ms", Milliseconds,
        MaybeWhole(|h| h.response.p99_9_ns);
    /// Longest response time.
    RESPONSE_MAX_NS = "response_max_ns", "MRT ms", Milliseconds, MaybeWhole(|h| h.response.max_ns);
    /// Failed I/Os.
    FAILED = "failed", "failed", Plain(0), Whole(|h| h.tally.failed());
    /// Distance from the median host by the ranked figure, in robust standard deviations.
    SCORE = "score", "score", Plain(1), MaybeReal(|h| h.score);
    /// True if the score is beyond 3.5.
    OUTLIER = "outlier", "outlier", Plain(0), Flag(HostFigures::is_outlier);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_far_from_the_median_is_an_outlier() {
        let values = [10.0, 11.0, 9.0, 10.5, 9.5, 100.0].map(Some);
        let scores = scores(&values);
        // The median is 10.25, the median distance 0.75: (100 - 10.25) x 0.6745 / 0.75.
        assert!((scores[5].unwrap() - 80.715).abs() < 0.01, "{scores:?}");
        assert!(scores[..5].iter().all(|score| score.unwrap().abs() < OUTLIER_SCORE));
    }

    #[test]
    fn few_hosts_and_equal_hosts_have_no_outlier() {
        assert_eq!(scores(&[1.0, 2.0, 3.0, 900.0].map(Some)), vec![None; 4]);
        assert_eq!(scores(&[Some(7.0); 9]), vec![None; 9]);
        assert_eq!(scores(&[None; 9]), vec![None; 9]);
        // Half of the hosts are equal, so the mean distance is used.
        let some = scores(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 50.0].map(Some));
        assert!(some[8].unwrap() > OUTLIER_SCORE && some[0] == Some(0.0), "{some:?}");
    }
}
