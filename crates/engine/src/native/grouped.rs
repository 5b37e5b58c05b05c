//! Loads in control groups: each runs in a child process, which inherits the armed target and
//! drives it with an engine of its own.
//!
//! All children prepare their loads, then get one start time, then report once a second and at the
//! end. If one of them fails or a stop is requested, all are ended.

use super::{Native, NativeOptions};
use crate::accounting::by_operation;
use crate::engine::{Engine, StartAgreement};
use crate::kernel::{Backend, KernelInterface};
use crate::prepared::StepRefusal;
use crate::start::{StepStart, part_cursors};
use crate::stop::StopSignal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::{
    CommonStart, CpuTime, Interval, IntervalTally, LoadPart, Silence,
};
use steadfast_domain::{Bytes, Halt, LoadGroup, Measurement, Nanos, Step, Tally};
use steadfast_host::{HostError, LoadProcess, MessageLink, inherit_target, monotonic};

/// Time from the moment all processes are ready to the start of their loads. Each must have
/// received the start time by then.
const START_DELAY: Nanos = Nanos::from_millis(20);

/// Longest wait for a process to get ready: it calibrates its clock and allocates its memory.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest wait for a report of a process before stop requests are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Load for a child process, with its starting point.
#[derive(Serialize, Deserialize)]
struct LoadOrder {
    step: Step,
    options: NativeOptions,
    /// Interface of the parent process.
    backend: Backend,
    cursors: BTreeMap<String, Bytes>,
    /// Number of resumptions, as in [`StepStart::resumed`].
    resumed: u64,
}

/// Report of a child process.
#[derive(Serialize, Deserialize)]
enum LoadReport {
    /// The load is prepared and waits for the start time.
    Ready,
    /// An interval has ended.
    Interval(Interval),
    /// The load has ended, and no I/O is outstanding.
    Measured(Box<Measurement>),
    /// The load could not be applied to its end.
    Halted(Halt),
}

struct GroupedLoad {
    group: LoadGroup,
    process: LoadProcess,
    measurement: Option<Measurement>,
}

impl GroupedLoad {
    /// Returns the next report; `None` if none arrives within `wait`.
    fn report(&mut self, wait: Duration) -> Result<Option<LoadReport>, Halt> {
        match self.process.link.receive(Some(wait)) {
            Ok(Some(LoadReport::Halted(halt))) => Err(halt),
            Ok(report) => Ok(report),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn lost(&self, error: &io::Error) -> Halt {
        Halt::Refused(format!(
            "the process of the load '{}' has ended: {error}; see dmesg for an out-of-memory kill, \
             then steadfast resume RUN_DIR",
            self.group
        ))
    }
}

impl Native {
    /// Checks a step with control groups as its processes will.
    pub(super) fn check_grouped(&mut self, step: &Step) -> Result<(), StepRefusal> {
        if let Some(why) = step.group_fault() {
            return Err(StepRefusal(why));
        }
        self.prepare_load(&step.load).map(drop)
    }

    pub(super) fn apply_grouped(
        &mut self,
        step: &Step,
        start: &StepStart,
        agree: StartAgreement<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        self.end_load();
        self.refuse_stuck()?;
        // Other processes write with stamps of their own.
        self.written = None;
        let mut loads = self.start_grouped(step, start)?;
        if let Err(halt) = self.run_grouped(&mut loads, agree, watch) {
            // Dropping a load waits for its process, so kill all of them first.
            loads.iter_mut().for_each(|load| load.process.kill());
            return Err(halt);
        }
        for load in &mut loads {
            if !load.process.await_end(self.options.completion_timeout) {
                return Err(Halt::DeviceGone {
                    device: self.target.device().path.clone(),
                    why: format!("I/Os of the load '{}' have not completed", load.group),
                });
            }
        }
        let whole = merged(loads.into_iter().filter_map(|load| load.measurement).collect());
        self.exceptions = whole.interface.iter().cloned().collect();
        self.notes.clear();
        Ok(whole)
    }

    /// Runs the loads until each has reported its measurement.
    fn run_grouped(
        &self,
        loads: &mut [GroupedLoad],
        agree: StartAgreement<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<(), Halt> {
        for load in loads.iter_mut() {
            self.await_ready(load)?;
        }
        let start_at = agree()?.unwrap_or_else(|| monotonic() + START_DELAY);
        for load in loads.iter_mut() {
            load.process.link.send(&start_at).map_err(|error| load.lost(&error))?;
        }
        while loads.iter().any(|load| load.measurement.is_none()) {
            if self.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            for (number, load) in loads.iter_mut().enumerate() {
                if load.measurement.is_some() {
                    continue;
                }
                match load.report(POLL_INTERVAL)? {
                    // Progress is reported for the first load only.
                    Some(LoadReport::Interval(interval)) if number == 0 => watch(&interval),
                    Some(LoadReport::Measured(measured)) => load.measurement = Some(*measured),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn start_grouped(&self, step: &Step, start: &StepStart) -> Result<Vec<GroupedLoad>, Halt> {
        let refused = |error: HostError| Halt::Refused(format!("{}: {error}", step.place));
        let stimuli = step.load.stimuli();
        let mut loads = Vec::with_capacity(stimuli.len());
        for (number, (stimulus, group)) in stimuli.iter().zip(&step.groups).enumerate() {
            let process = LoadProcess::start(&self.target).map_err(refused)?;
            if let Some(groups) = &self.groups {
                groups.admit(*group, process.id()).map_err(refused)?;
            }
            let load_start = if stimuli.len() > 1 { start.for_part(number) } else { start.clone() };
            let order = LoadOrder {
                step: Step {
                    interval: step.interval,
                    ..Step::alone(step.place.clone(), stimulus.clone())
                },
                options: self.options,
                backend: self.backend,
                cursors: load_start.cursors,
                resumed: load_start.resumed,
            };
            let mut load = GroupedLoad { group: *group, process, measurement: None };
            load.process.link.send(&order).map_err(|error| load.lost(&error))?;
            loads.push(load);
        }
        Ok(loads)
    }

    fn await_ready(&self, load: &mut GroupedLoad) -> Result<(), Halt> {
        let begun = Instant::now();
        while load.report(POLL_INTERVAL)?.is_none() {
            if self.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            if begun.elapsed() > READY_TIMEOUT {
                let group = load.group;
                return Err(Halt::Refused(format!(
                    "the process of the load '{group}' was not ready after {} s",
                    READY_TIMEOUT.as_secs()
                )));
            }
        }
        Ok(())
    }
}

/// Applies the load that the parent process orders, in a process that
/// [`steadfast_host::LoadProcess`] started.
///
/// # Errors
/// Returns [`HostError`] if this process was not started that way, or if its parent has ended.
pub fn attend_load() -> Result<(), HostError> {
    let (target, mut link) = inherit_target()?;
    let lost = |error: io::Error| HostError::Unclear {
        what: "order of the parent process".into(),
        why: error.to_string(),
    };
    let mut reports = link.sender().map_err(lost)?;
    let order: LoadOrder =
        link.receive(None).map_err(lost)?.ok_or_else(|| lost(io::ErrorKind::InvalidData.into()))?;
    let stop = StopSignal::default();
    let interface = KernelInterface::first_of(&[order.backend]).map_err(Halt::Refused);
    let measured = interface.and_then(|interface| {
        let mut engine = Native::with_interface(target, stop.clone(), order.options, interface);
        apply_order(&mut engine, &order, link, stop)
    });
    let report = match measured {
        Ok(measurement) => LoadReport::Measured(Box::new(measurement)),
        Err(halt) => LoadReport::Halted(halt),
    };
    reports.send(&report).map_err(lost)
}

fn apply_order(
    engine: &mut Native,
    order: &LoadOrder,
    link: MessageLink,
    stop: StopSignal,
) -> Result<Measurement, Halt> {
    let lost = |error: io::Error| Halt::Refused(format!("the parent process has ended: {error}"));
    let mut reports = link.sender().map_err(lost)?;
    let mut ready = link.sender().map_err(lost)?;
    let start = StepStart {
        cursors: order.cursors.clone(),
        resumed: order.resumed,
        ..StepStart::default()
    };
    let prepared = engine.prepare(&order.step).map_err(|refusal| refusal.at_step(&order.step))?;
    let mut parent = Some(link);
    let mut agree = || {
        ready.send(&LoadReport::Ready).map_err(lost)?;
        let Some(mut link) = parent.take() else { return Ok(None) };
        let start_at: Option<Nanos> = link.receive(None).map_err(lost)?;
        let stop = stop.clone();
        // The parent sends nothing more, so the link only reports when the parent has ended.
        std::thread::spawn(move || {
            let _ = link.receive::<Nanos>(None);
            stop.request();
        });
        Ok(start_at)
    };
    let mut watch = |interval: &Interval| {
        // A parent that has ended is noticed by the thread above.
        let _ = reports.send(&LoadReport::Interval(interval.clone()));
    };
    let measured = engine.apply_at_common_start(prepared, &start, &mut agree, &mut watch);
    // I/Os that a limit holds back must not reach the device in the next step.
    engine.end_load();
    measured
}

fn merged(loads: Vec<Measurement>) -> Measurement {
    let is_one = loads.len() == 1;
    let mut whole = Measurement {
        complete: true,
        began_unix_ms: loads.iter().map(|load| load.began_unix_ms).min().unwrap_or_default(),
        elapsed: loads.iter().map(|load| load.elapsed).max().unwrap_or_default(),
        silences: common_silences(&loads),
        ..Measurement::default()
    };
    let mut interfaces: Vec<String> = Vec::new();
    for (number, load) in loads.into_iter().enumerate() {
        interfaces.extend(load.interface.filter(|interface| !interfaces.contains(interface)));
        if !is_one {
            let streams = load.streams.len() as u32;
            whole.parts.push(LoadPart { streams, elapsed: load.elapsed });
        }
        whole.streams.extend(load.streams);
        if let Some(alone) = load.writes_alone {
            whole.writes_alone.get_or_insert_with(Tally::default).merge(&alone);
        }
        if let Some(error) = load.start_error {
            whole.start_error.get_or_insert_default().merge(&error);
        }
        whole.threads.extend(load.threads);
        whole.unmeasured.extend(load.unmeasured);
        whole.outstanding += load.outstanding;
        whole.stalls.extend(load.stalls);
        add_intervals(&mut whole.intervals, load.intervals);
        if is_one {
            whole.cursors = load.cursors;
        } else {
            whole.cursors.extend(part_cursors(number, load.cursors));
        }
        // The latest start is that of the step.
        let late = |start: &Option<CommonStart>| start.as_ref().and_then(|start| start.late);
        if late(&load.common_start) >= late(&whole.common_start) {
            whole.common_start = load.common_start;
        }
        whole.seed = whole.seed.or(load.seed);
        if let Some(cpu) = load.cpu {
            let before = whole.cpu.unwrap_or(CpuTime { user: Nanos::ZERO, system: Nanos::ZERO });
            let (user, system) = (before.user + cpu.user, before.system + cpu.system);
            whole.cpu = Some(CpuTime { user, system });
        }
        whole.fault_count += load.fault_count;
        whole.faults.extend(load.faults);
        let busiest = [whole.sensed.busiest_thread, load.sensed.busiest_thread];
        whole.sensed.busiest_thread = busiest.into_iter().flatten().reduce(f64::max);
    }
    whole.interface = (!interfaces.is_empty()).then(|| interfaces.join("; "));
    whole.unmeasured = by_operation(&whole.unmeasured);
    // A stall of the machine stops all processes, so that each reports it.
    whole.stalls.sort_by_key(|stall| stall.at);
    whole.stalls.dedup_by(|later, stall| {
        let overlaps = later.at < stall.at + stall.lasted;
        if overlaps {
            stall.lasted = stall.lasted.max((later.at + later.lasted).saturating_sub(stall.at));
        }
        overlaps
    });
    whole
}

/// Returns the times in which the device completed I/Os of none of the loads that still ran. A load
/// that completes nothing while others do is throttled by its group, which is no silence.
fn common_silences(loads: &[Measurement]) -> Vec<Silence> {
    let mut common = Vec::new();
    for (number, load) in loads.iter().enumerate() {
        let mut silences = load.silences.clone();
        for (_, other) in loads.iter().enumerate().filter(|(other, _)| *other != number) {
            // Nothing is expected of a load that has ended.
            let ended = Silence { at: other.elapsed, lasted: Nanos(u64::MAX - other.elapsed.0) };
            let others = united(other.silences.iter().copied().chain([ended]));
            silences = overlaps(&silences, &others);
        }
        common.extend(silences);
    }
    let mut common = united(common);
    common.retain(|silence| silence.lasted >= Silence::SHORTEST);
    common
}

/// Returns the times that are in any of these, in order and without overlaps.
fn united(times: impl IntoIterator<Item = Silence>) -> Vec<Silence> {
    let mut times: Vec<Silence> = times.into_iter().collect();
    times.sort_by_key(|time| time.at);
    times.dedup_by(|later, time| {
        let end = time.at + time.lasted;
        let overlaps = later.at <= end;
        if overlaps {
            time.lasted = end.max(later.at + later.lasted).saturating_sub(time.at);
        }
        overlaps
    });
    times
}

/// Returns the times that are in both of two lists.
fn overlaps(first: &[Silence], second: &[Silence]) -> Vec<Silence> {
    let mut overlaps = Vec::new();
    for one in first {
        for other in second {
            let at = one.at.max(other.at);
            let end = (one.at + one.lasted).min(other.at + other.lasted);
            if end > at {
                overlaps.push(Silence { at, lasted: end.saturating_sub(at) });
            }
        }
    }
    overlaps
}

/// Adds the intervals of another load, which began at the same time and has the same length.
fn add_intervals(sums: &mut Vec<Interval>, intervals: Vec<Interval>) {
    for (number, interval) in intervals.into_iter().enumerate() {
        let Some(sum) = sums.get_mut(number) else {
            sums.push(interval);
            continue;
        };
        sum.end = sum.end.max(interval.end);
        for tally in interval.tallies {
            match sum.tallies.iter_mut().find(|total| total.op == tally.op) {
                Some(total) => add_tally(total, &tally),
                None => sum.tallies.push(tally),
            }
        }
    }
}

fn add_tally(sum: &mut IntervalTally, tally: &IntervalTally) {
    sum.ios += tally.ios;
    sum.bytes += tally.bytes;
    sum.response_sum += tally.response_sum;
    sum.response_max = sum.response_max.max(tally.response_max);
    sum.histogram.merge(&tally.histogram);
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Op;
    use steadfast_domain::measurement::{Stall, StreamTally, UnmeasuredIos};

    fn load(op: Op, ios: u64, seconds: u64, stall: Option<(u64, u64)>) -> Measurement {
        let tally = Tally { ios, bytes: Bytes(ios * 4096), ..Tally::default() };
        let stalls = stall.map(|(at, lasted)| Stall {
            at: Nanos::from_millis(at),
            lasted: Nanos::from_millis(lasted),
        });
        Measurement {
            elapsed: Nanos::from_secs(seconds),
            complete: true,
            streams: vec![StreamTally { op, tally }],
            stalls: stalls.into_iter().collect(),
            cursors: [("SEQ".to_owned(), Bytes(ios))].into(),
            unmeasured: vec![UnmeasuredIos { op: Op::Write, ios: 1, bytes: Bytes(4096) }],
            ..Measurement::default()
        }
    }

    #[test]
    fn loads_of_several_processes_are_parts_of_one_measurement() {
        let both = merged(vec![
            load(Op::Read, 10, 2, Some((100, 300))),
            load(Op::Write, 5, 3, Some((150, 400))),
        ]);
        assert_eq!((both.elapsed, both.complete), (Nanos::from_secs(3), true));
        let loads: Vec<_> = both
            .concurrent_loads()
            .map(|load| (load.streams[0].op, load.streams[0].tally.ios, load.elapsed))
            .collect();
        let seconds = Nanos::from_secs;
        assert_eq!(loads, [(Op::Read, 10, seconds(2)), (Op::Write, 5, seconds(3))]);
        let whole = Stall { at: Nanos::from_millis(100), lasted: Nanos::from_millis(450) };
        assert_eq!(both.stalls, [whole], "one stall of the machine");
        let keys: Vec<_> = both.cursors.keys().map(String::as_str).collect();
        assert_eq!(keys, ["#1 SEQ", "#2 SEQ"]);
        let late = UnmeasuredIos { op: Op::Write, ios: 2, bytes: Bytes(8192) };
        assert_eq!(both.unmeasured, [late]);
    }

    /// One load is silent from 1 s to 5 s and from 8 s to 14 s, the other from 2 s to 7 s and from
    /// 12 s on, each of 10 s or less.
    #[test]
    fn the_device_is_silent_only_while_all_loads_are() {
        let silences = |times: &[(u64, u64)]| -> Vec<Silence> {
            let seconds = Nanos::from_secs;
            let silence = |(from, to): &(u64, u64)| Silence {
                at: seconds(*from),
                lasted: seconds(to - from),
            };
            times.iter().map(silence).collect()
        };
        let load = |elapsed: u64, times: &[(u64, u64)]| Measurement {
            elapsed: Nanos::from_secs(elapsed),
            silences: silences(times),
            ..Measurement::default()
        };
        let first = load(10, &[(1, 5), (8, 14)]);
        assert_eq!(common_silences(std::slice::from_ref(&first)), silences(&[(1, 5), (8, 14)]));
        let second = load(10, &[(2, 7), (12, 13)]);
        assert_eq!(common_silences(&[first.clone(), second]), silences(&[(2, 5), (10, 14)]));
        let ended_early = load(3, &[]);
        assert_eq!(common_silences(&[first, ended_early]), silences(&[(3, 5), (8, 14)]));
        assert_eq!(common_silences(&[load(10, &[]), load(10, &[])]), []);
    }

    #[test]
    fn a_single_load_keeps_its_cursors_and_has_no_parts() {
        let one = merged(vec![load(Op::Read, 10, 2, None)]);
        assert!(one.parts.is_empty() && one.cursors.contains_key("SEQ"));
    }
}
