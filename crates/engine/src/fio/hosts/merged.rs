//! Merges the results of several hosts into one measurement: adds up counts, bytes, histograms and
//! intervals. fio's own sum over several hosts has no histogram bins before 3.39.

use super::super::counts::FioCounts;
use super::client::HostResult;
use crate::accounting::by_operation;
use std::collections::BTreeMap;
use steadfast_domain::measurement::{HostPart, Interval, Silence, UnmeasuredIos};
use steadfast_domain::step::is_partial;
use steadfast_domain::{Bytes, Halt, Measurement, Nanos, Op, Stimulus};

/// One host's part of a step, and its start.
pub(super) struct HostShare {
    pub host: String,
    pub fio: Option<String>,
    pub done: HostResult,
    /// Start of its first thread by our wall clock; `None` if unknown.
    pub began: Option<Nanos>,
    /// Offset of its sequential cursor.
    pub cursors: BTreeMap<String, Bytes>,
}

/// A host's part of a step, with the ramp and the measured time separated.
struct MeasuredShare<'s> {
    share: &'s HostShare,
    /// Counts at the end of the ramp; zero without a ramp.
    ramp_counts: FioCounts,
    /// Counts since the load began, at each report in the measured time.
    reports: Vec<FioCounts>,
}

/// Adds up the parts of all hosts. `ops` are the operations of the load; I/Os in the `ramp` are
/// not measured.
pub(super) fn merge(
    shares: &[HostShare],
    stimulus: &Stimulus,
    ops: &[Op],
    ramp: Nanos,
) -> Result<Measurement, Halt> {
    let mut measured = Vec::new();
    for share in shares {
        measured.push(separate_ramp(share, ramp)?);
    }
    let mut all = FioCounts::default();
    for host in &measured {
        all.join(&host.total());
    }
    let (elapsed, late) = span(&measured);
    let intervals = intervals(&measured);
    let mut measurement = Measurement {
        elapsed,
        streams: all.stream_tallies(stimulus, ops),
        unmeasured: unmeasured(&measured, ops),
        silences: Silence::from_intervals(&stimulus.pace, &intervals),
        intervals,
        cpu: Some(all.cpu()),
        fault_count: all.faults,
        hosts: measured.iter().zip(late).map(|(host, late)| host.part(late)).collect(),
        ..Measurement::default()
    };
    for share in shares {
        measurement.cursors.extend(share.cursors.clone());
    }
    measurement.sensed.busiest_thread = all.busiest();
    Ok(measurement)
}

impl MeasuredShare<'_> {
    /// Returns its counts in the measured time.
    fn total(&self) -> FioCounts {
        self.share.done.last().since(&self.ramp_counts)
    }

    fn part(&self, late: Option<Nanos>) -> HostPart {
        let total = self.total();
        let (response_sum, response_max) = total.responses();
        HostPart {
            host: self.share.host.clone(),
            fio: self.share.fio.clone(),
            ios: total.ios(),
            bytes: total.bytes(),
            response_sum,
            response_max,
            elapsed: total.elapsed,
            late,
        }
    }
}

/// Separates the ramp of a host, which lasts to its first report after `ramp`, from its measured
/// time. Returns [`Halt::Refused`] if no report follows the end of the ramp.
fn separate_ramp(share: &HostShare, ramp: Nanos) -> Result<MeasuredShare<'_>, Halt> {
    let reports = &share.done.reports;
    if ramp == Nanos::ZERO {
        let ramp_counts = FioCounts::default();
        return Ok(MeasuredShare { share, ramp_counts, reports: reports.clone() });
    }
    let ramp_end = reports.iter().position(|counts| counts.elapsed >= ramp);
    match ramp_end.filter(|end| end + 1 < reports.len()) {
        Some(end) => {
            let (ramp_counts, reports) = (reports[end].clone(), reports[end + 1..].to_vec());
            Ok(MeasuredShare { share, ramp_counts, reports })
        }
        None => Err(Halt::Refused(format!(
            "host {} gave no report between the ramp and the end of the step; the step is void",
            share.host
        ))),
    }
}

/// Returns the time from the first host's start to the last one's end, and how late each started.
/// If the clocks are unknown, returns the longest time.
fn span(measured: &[MeasuredShare<'_>]) -> (Nanos, Vec<Option<Nanos>>) {
    let begins: Option<Vec<Nanos>> = measured.iter().map(|host| host.share.began).collect();
    let times = measured.iter().map(|host| host.total().elapsed);
    match begins.as_ref().and_then(|all| all.iter().min()) {
        Some(first) => {
            let begins = begins.iter().flatten();
            let late: Vec<Nanos> = begins.map(|begin| begin.saturating_sub(*first)).collect();
            let ends = times.zip(&late).map(|(time, late)| time + *late);
            (ends.max().unwrap_or_default(), late.into_iter().map(Some).collect())
        }
        None => (times.max().unwrap_or_default(), vec![None; measured.len()]),
    }
}

/// Returns the I/Os in the ramps of all hosts by operation, without operations that had none.
fn unmeasured(measured: &[MeasuredShare<'_>], ops: &[Op]) -> Vec<UnmeasuredIos> {
    let mut ios = Vec::new();
    for host in measured {
        ios.extend(ops.iter().map(|op| host.ramp_counts.unmeasured(*op)));
    }
    by_operation(&ios)
}

/// Merges the hosts' intervals by number. An interval's begin and end are the averages over the
/// hosts, which report up to a quarter of a second apart.
fn intervals(measured: &[MeasuredShare<'_>]) -> Vec<Interval> {
    let most = measured.iter().map(|host| host.reports.len()).max().unwrap_or(0);
    let mut intervals = Vec::new();
    for at in 0..most {
        let mut all = FioCounts::default();
        let (mut begin_sum, mut end_sum, mut hosts) = (0, 0, 0);
        for host in measured {
            let Some(report) = host.reports.get(at) else { continue };
            let previous =
                at.checked_sub(1).map_or(&host.ramp_counts, |before| &host.reports[before]);
            all.join(&report.since(previous));
            begin_sum += previous.elapsed.saturating_sub(host.ramp_counts.elapsed).0;
            end_sum += report.elapsed.saturating_sub(host.ramp_counts.elapsed).0;
            hosts += 1;
        }
        let (begin, end) = (Nanos(begin_sum / hosts.max(1)), Nanos(end_sum / hosts.max(1)));
        if all.ios() == 0 && end <= begin {
            continue;
        }
        let complete = hosts == measured.len() as u64;
        intervals.push(Interval {
            begin,
            end,
            partial: !complete || is_partial(end.saturating_sub(begin), Nanos::SECOND),
            tallies: all.interval_tallies(),
        });
    }
    intervals
}
