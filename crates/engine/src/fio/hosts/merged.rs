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
    let first_begin = first_begin(shares);
    let intervals = intervals(&measured);
    let mut measurement = Measurement {
        elapsed: elapsed(&measured, first_begin),
        streams: all.stream_tallies(stimulus, ops),
        unmeasured: unmeasured(&measured, ops),
        silences: Silence::from_intervals(&stimulus.pace, &intervals),
        intervals,
        cpu: Some(all.cpu()),
        fault_count: all.faults,
        hosts: measured.iter().map(|host| host.part(first_begin)).collect(),
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

    /// Returns how long after the first host it started; `None` if that is unknown.
    fn delay(&self, first_begin: Option<Nanos>) -> Option<Nanos> {
        Some(self.share.began?.saturating_sub(first_begin?))
    }

    fn part(&self, first_begin: Option<Nanos>) -> HostPart {
        let total = self.total();
        HostPart {
            host: self.share.host.clone(),
            fio: self.share.fio.clone(),
            ios: total.ios(),
            bytes: total.bytes(),
            response_sum: total.response_sum(),
            response_max: total.response_max(),
            elapsed: total.elapsed,
            late: self.delay(first_begin),
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

/// Returns the start of the first host; `None` unless that of every host is known.
pub(super) fn first_begin(shares: &[HostShare]) -> Option<Nanos> {
    let begins: Option<Vec<Nanos>> = shares.iter().map(|share| share.began).collect();
    begins?.into_iter().min()
}

/// Returns the time from the first host's start to the last one's end, or the longest time of a
/// host if their starts are unknown.
fn elapsed(measured: &[MeasuredShare<'_>], first_begin: Option<Nanos>) -> Nanos {
    let ends = measured
        .iter()
        .map(|host| host.total().elapsed + host.delay(first_begin).unwrap_or_default());
    ends.max().unwrap_or_default()
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
    let count = measured.iter().map(|host| host.reports.len()).max().unwrap_or(0);
    let mut intervals = Vec::new();
    for number in 0..count {
        let mut all = FioCounts::default();
        let (mut begin_sum, mut end_sum, mut hosts) = (0, 0, 0);
        for host in measured {
            let Some(report) = host.reports.get(number) else { continue };
            let previous =
                number.checked_sub(1).map_or(&host.ramp_counts, |before| &host.reports[before]);
            all.join(&report.since(previous));
            begin_sum += previous.elapsed.saturating_sub(host.ramp_counts.elapsed).0;
            end_sum += report.elapsed.saturating_sub(host.ramp_counts.elapsed).0;
            hosts += 1;
        }
        let (begin, end) = (Nanos(begin_sum / hosts.max(1)), Nanos(end_sum / hosts.max(1)));
        if all.ios() == 0 && end <= begin {
            continue;
        }
        let has_all_hosts = hosts == measured.len() as u64;
        intervals.push(Interval {
            begin,
            end,
            partial: !has_all_hosts || is_partial(end.saturating_sub(begin), Nanos::SECOND),
            tallies: all.interval_tallies(),
        });
    }
    intervals
}
