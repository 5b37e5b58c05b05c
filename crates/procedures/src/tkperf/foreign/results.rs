//! Results of a test of TKperf: its values point by point, judged again by the steady-state rule.

use crate::common::secondary::mean;
use crate::exhibits::tkperf::{NumberedValue, TkperfPoint};
use crate::pts::method::{TWENTY_TEN, reported_rounds};
use crate::report_notation::{distinct, rounds_text, steady_rounds};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::steady_state::{TrackPoint, judge_first_steady};
use steadfast_domain::{
    Bytes, Caveat, ForeignKind, ForeignMeasured, ForeignTest, ForeignValue, Track, Verdict,
    caveats as ids, judge,
};

/// Returns the tracking variable of a test; `None` if the test is not judged.
pub(super) fn tracked(kind: ForeignKind) -> Option<AccessPattern> {
    match kind {
        ForeignKind::Iops | ForeignKind::Latency => Some(AccessPattern::random(Bytes::kib(4), 0)),
        ForeignKind::Throughput => Some(AccessPattern::sequential(Bytes::kib(1024), 0)),
        ForeignKind::WriteSaturation | ForeignKind::ZoneIops | ForeignKind::ZoneThroughput => None,
    }
}

pub(super) struct TkperfTestResult<'a> {
    pub test: &'a ForeignTest,
    /// Verdict on TKperf's tracking variable; `None` if the test is not judged.
    pub verdict: Option<Verdict>,
    /// Rounds over which the means are taken.
    pub reported: Vec<u32>,
    /// Results of the points, in the order of the log.
    pub points: Vec<TkperfPoint>,
    /// Sequential writes whose own values are not steady in the reported rounds.
    pub unsteady: Vec<AccessPattern>,
}

impl<'a> TkperfTestResult<'a> {
    pub fn new(test: &'a ForeignTest) -> Self {
        let verdict = tracked(test.kind)
            .map(|pattern| judge_first_steady(&[track(test, &pattern)], &TWENTY_TEN));
        let reported = reported_rounds(verdict.as_ref(), last_round(test));
        let patterns = distinct(test.values.iter().map(|value| value.pattern));
        let points = patterns.iter().map(|pattern| point(test, pattern, &reported)).collect();
        let unsteady = match test.kind {
            ForeignKind::Throughput => unsteady(test, &patterns, &reported),
            _ => Vec::new(),
        };
        TkperfTestResult { test, verdict, reported, points, unsteady }
    }

    pub fn ending(&self) -> String {
        let rounds = last_round(self.test);
        let Some(verdict) = &self.verdict else {
            return match self.test.kind {
                ForeignKind::WriteSaturation => format!("{rounds} rounds of random writes."),
                _ => format!("{rounds} zones."),
            };
        };
        match steady_rounds(verdict) {
            Some(steady) => format!("Steady state in {steady} of {rounds}."),
            None => format!("Steady state NOT achieved in {rounds} rounds."),
        }
    }

    /// Returns the caveats on missing steady state and on a verdict that differs from TKperf's.
    pub fn not_steady(&self) -> Vec<Caveat> {
        let Some(verdict) = &self.verdict else { return Vec::new() };
        let mut caveats = Vec::new();
        if !verdict.steady {
            caveats.push(Caveat::invalidates(
                ids::STEADY_STATE_NOT_ACHIEVED,
                format!(
                    "STEADY STATE NOT ACHIEVED: the values are those of {}.",
                    rounds_text(&self.reported)
                ),
                "Run the test again.",
            ));
        }
        let claimed = self.test.claimed_steady_state.as_ref();
        let stated = claimed.and_then(|claimed| claimed.reached);
        if stated.is_some_and(|stated| stated != verdict.steady) {
            let (stated, found) =
                if verdict.steady { ("not steady", "steady") } else { ("steady", "not steady") };
            caveats.push(Caveat::remark(
                ids::FOREIGN_LOG,
                format!("TKperf's log says {stated}; its own values, judged again, are {found}."),
                "",
            ));
        }
        caveats
    }
}

/// Returns the value that a test reports: IOPS, MB/s or milliseconds.
fn value(kind: ForeignKind, measured: &ForeignMeasured) -> Option<f64> {
    match kind {
        ForeignKind::Iops | ForeignKind::WriteSaturation | ForeignKind::ZoneIops => measured.iops,
        ForeignKind::Latency => measured.mean_ms,
        ForeignKind::Throughput | ForeignKind::ZoneThroughput => {
            measured.bytes_per_second.map(|bytes| bytes / 1e6)
        }
    }
}

pub(super) fn unit(kind: ForeignKind) -> &'static str {
    match kind {
        ForeignKind::Iops | ForeignKind::WriteSaturation | ForeignKind::ZoneIops => "IOPS",
        ForeignKind::Latency => "ms",
        ForeignKind::Throughput | ForeignKind::ZoneThroughput => "MB/s",
    }
}

fn values_with(test: &ForeignTest, pattern: AccessPattern) -> impl Iterator<Item = &ForeignValue> {
    test.values.iter().filter(move |value| value.pattern == pattern)
}

/// Returns the value of each round or zone of a pattern.
fn values_of(test: &ForeignTest, pattern: AccessPattern) -> impl Iterator<Item = NumberedValue> {
    values_with(test, pattern).map(move |found| NumberedValue {
        number: found.round,
        value: value(test.kind, &found.measured),
    })
}

fn track(test: &ForeignTest, pattern: &AccessPattern) -> Track {
    let points = values_of(test, *pattern).map(|found| TrackPoint {
        round: found.number,
        value: found.value,
        after_gap: false,
    });
    Track { name: pattern.to_string(), unit: unit(test.kind).to_owned(), points: points.collect() }
}

fn last_round(test: &ForeignTest) -> u32 {
    test.values.iter().map(|value| value.round).max().unwrap_or(0)
}

fn point(test: &ForeignTest, pattern: &AccessPattern, reported: &[u32]) -> TkperfPoint {
    let inside = || values_with(test, *pattern).filter(|found| reported.contains(&found.round));
    let shortest = inside().filter_map(|found| found.measured.shortest_ms);
    let longest = inside().filter_map(|found| found.measured.longest_ms);
    TkperfPoint {
        pattern: *pattern,
        values: values_of(test, *pattern).collect(),
        mean: mean(inside().map(|found| value(test.kind, &found.measured))),
        shortest: shortest.reduce(f64::min),
        longest: longest.reduce(f64::max),
    }
}

/// Returns the writes whose own values are not within the limits in the reported rounds.
fn unsteady(
    test: &ForeignTest,
    patterns: &[AccessPattern],
    reported: &[u32],
) -> Vec<AccessPattern> {
    let is_unsteady = |pattern: &&AccessPattern| {
        let mut track = track(test, pattern);
        track.points.retain(|point| reported.contains(&point.round));
        pattern.read_percent == 0 && !judge(&[track], &TWENTY_TEN).steady
    };
    patterns.iter().filter(is_unsteady).copied().collect()
}
