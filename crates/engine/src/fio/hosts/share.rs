//! Division of a load among hosts.
//!
//! Random I/Os: the whole active range, with a separate seed per host. Sequential I/Os: a
//! separate part of the range, so that no host writes what another has just written. Limits in
//! I/Os and bytes are divided, in whole I/Os, so that the hosts reach them together.

use super::super::expression::{Expression, FioTarget};
use super::client::HostResult;
use crate::start::{StepStart, WorkDone};
use std::collections::BTreeMap;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Nanos, Order, Step, Stimulus};

/// Separator between the key of a sequential cursor and its host.
const HOST_SEPARATOR: &str = " @ ";

#[derive(Debug, Clone)]
pub(super) struct HostLoads(Vec<HostLoad>);

#[derive(Debug, Clone)]
struct HostLoad {
    host: String,
    expression: Expression,
}

impl HostLoads {
    pub(super) fn split(
        stimulus: &Stimulus,
        hosts: &[String],
        target: &FioTarget<'_>,
    ) -> Result<HostLoads, String> {
        let count = hosts.len() as u64;
        let mut loads = Vec::with_capacity(hosts.len());
        for (host, number) in hosts.iter().zip(0u64..) {
            let stimulus = host_stimulus(stimulus, number, count)?;
            let expression = Expression::new(&stimulus, target)?;
            loads.push(HostLoad { host: host.clone(), expression });
        }
        Ok(HostLoads(loads))
    }

    /// Returns the hosts' loads from their starts, with this ramp, ended by the step's cut.
    pub(super) fn expressions(
        &self,
        starts: &[StepStart],
        ramp: Nanos,
        cut: Option<Nanos>,
    ) -> Vec<Expression> {
        let expression = |(load, start): (&HostLoad, &StepStart)| {
            let mut start = start.clone();
            start.cursors = without_host(&start.cursors, &load.host);
            load.expression.clone().remaining_from(&start).ramping_for(ramp).ending_after(cut)
        };
        self.0.iter().zip(starts).map(expression).collect()
    }
}

/// Returns the stimulus of host `number` of `count`.
fn host_stimulus(stimulus: &Stimulus, number: u64, count: u64) -> Result<Stimulus, String> {
    let mut share = stimulus.clone();
    share.seed = mix64(stimulus.seed ^ mix64(number + 1));
    let used: Vec<_> = stimulus.streams.iter().filter(|stream| stream.weight > 0).collect();
    let Some(first) = used.first() else { return Ok(share) };
    if let Some(bytes) = share.until.bytes {
        let size = first.size.0.max(1);
        share.until.bytes = Some(Bytes(part(bytes.0 / size, number, count) * size));
    }
    share.until.ios = share.until.ios.map(|ios| part(ios, number, count));
    if share.until.bytes == Some(Bytes(0)) || share.until.ios == Some(0) {
        return Err(format!("its limit is less than one I/O for each of {count} hosts"));
    }
    if let Order::Sequential(_) = first.order {
        share.active_range = slice(stimulus.active_range, first.size.0, number, count)?;
    }
    Ok(share)
}

/// Returns the part of `whole` for one of several hosts; the parts add up to `whole`.
fn part(whole: u64, number: u64, count: u64) -> u64 {
    whole / count + u64::from(number < whole % count)
}

/// Returns the host's part of a range, in whole transfers.
fn slice(range: ActiveRange, size: u64, number: u64, count: u64) -> Result<ActiveRange, String> {
    let first = range.start.0.next_multiple_of(size.max(1));
    let transfers = range.end().0.saturating_sub(first) / size.max(1);
    let before: u64 = (0..number).map(|host| part(transfers, host, count)).sum();
    let share = part(transfers, number, count);
    if share == 0 {
        return Err(format!(
            "the active range holds {transfers} transfers of {size} B, fewer than {count} hosts"
        ));
    }
    Ok(ActiveRange::new(Bytes(first + before * size), Bytes(share * size)))
}

/// Returns the start of a host if only the total work of all hosts is known.
pub(super) fn host_start(start: &StepStart, host: usize, count: usize) -> StepStart {
    let (host, count) = (host as u64, count as u64);
    let WorkDone { time, bytes, ios } = start.done;
    let done =
        WorkDone { time, bytes: Bytes(part(bytes.0, host, count)), ios: part(ios, host, count) };
    StepStart { done, ..start.clone() }
}

/// Returns true if the load has ended, not only its step.
pub(super) fn is_load_over(
    stimulus: &Stimulus,
    step: &Step,
    start: &StepStart,
    expressions: &[Expression],
    done: &[HostResult],
) -> bool {
    if step.cut.is_none() {
        return true;
    }
    let ran = done.iter().map(|part| part.last().elapsed).max().unwrap_or_default();
    let in_time = stimulus.until.time.is_some_and(|time| start.done.time + ran >= time);
    let in_full = |(expression, done): (&Expression, &HostResult)| {
        expression.remaining_ios.is_some_and(|ios| done.last().ios() >= ios)
    };
    in_time || expressions.iter().zip(done).all(in_full)
}

pub(super) fn with_host(cursors: BTreeMap<String, Bytes>, host: &str) -> BTreeMap<String, Bytes> {
    cursors.into_iter().map(|(key, at)| (format!("{key}{HOST_SEPARATOR}{host}"), at)).collect()
}

/// Returns the cursors of one host, with the host removed from their keys.
fn without_host(cursors: &BTreeMap<String, Bytes>, host: &str) -> BTreeMap<String, Bytes> {
    let key_of_host = |key: &str| {
        let (key, key_host) = key.rsplit_once(HOST_SEPARATOR)?;
        (key_host == host).then(|| key.to_owned())
    };
    cursors.iter().filter_map(|(key, at)| Some((key_of_host(key)?, *at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::LoadLimits;
    use steadfast_domain::{Demand, IoStream, Op};

    const KIB: u64 = 1024;

    fn fio_target() -> FioTarget<'static> {
        FioTarget {
            path: "/dev/x",
            length: Bytes(10_007 * 4 * KIB),
            writable: true,
            sector: 512,
            direct: true,
            io_engine: "libaio",
            commit_rates: false,
        }
    }

    fn sequential(until: LoadLimits) -> Stimulus {
        let order = Order::Sequential(steadfast_domain::stimulus::Cursor::Shared);
        let stream = IoStream::new(Op::Write, order, Bytes(4 * KIB));
        let range = ActiveRange::new(Bytes(0), Bytes(10_007 * 4 * KIB));
        Stimulus::new(vec![stream], range, Demand::new(1, 8), until)
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        for (whole, count) in [(10_007, 3), (2, 3), (0, 7), (u64::MAX, 5)] {
            let sum: u64 = (0..count).map(|at| part(whole, at, count)).sum();
            assert_eq!(sum, whole);
        }
    }

    #[test]
    fn sequential_hosts_share_no_byte_and_leave_none_out() {
        let load = sequential(LoadLimits::bytes(Bytes(2 * 10_007 * 4 * KIB)));
        let mut next = 0;
        let mut bytes = 0;
        for at in 0..3 {
            let share = host_stimulus(&load, at, 3).unwrap();
            assert_eq!(share.active_range.start.0, next);
            next = share.active_range.end().0;
            bytes += share.until.bytes.unwrap().0;
        }
        assert_eq!((next, bytes), (10_007 * 4 * KIB, 2 * 10_007 * 4 * KIB));
        let refused = host_stimulus(&sequential(LoadLimits::ios(2)), 2, 3).unwrap_err();
        assert!(refused.contains("less than one"), "{refused}");
    }

    #[test]
    fn hosts_draw_differently_and_continue_where_they_stopped() {
        let load = sequential(LoadLimits::time(Nanos::from_secs(60)));
        let hosts = ["a".to_owned(), "b".to_owned()];
        let shares = HostLoads::split(&load, &hosts, &fio_target()).unwrap();
        let starts: Vec<StepStart> =
            (0..2).map(|at| host_start(&StepStart::default(), at, 2)).collect();
        let fresh = shares.expressions(&starts, Nanos::ZERO, None);
        assert_ne!(fresh[0].seed, fresh[1].seed);
        let mut cursors = with_host(fresh[0].cursors(7), "a");
        cursors.extend(with_host(fresh[1].cursors(11), "b"));
        let starts = vec![StepStart { cursors, ..StepStart::default() }; 2];
        let again = shares.expressions(&starts, Nanos::ZERO, Some(Nanos::SECOND));
        let part = |at: usize| again[at].next_part(Nanos::ZERO, 0).unwrap();
        assert_eq!(part(0).offset, 7 * 4 * KIB);
        assert_eq!(part(1).offset, (5004 + 11) * 4 * KIB);
        assert_eq!(part(1).time, Some(Nanos::SECOND));
    }
}
