//! Finished runs as an Iometer result file.
//!
//! Workers that share a load are its threads, and have the numbers of their threads. Workers that
//! differ have loads of their own, and disks that are targets of their own have runs of their own:
//! the file has the rows of all of them. What a single disk of several of a worker did is not
//! known, and its row has no such numbers.

use super::planned_config::PlannedConfig;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::measurement::{HostActivity, HostCpu, StreamTally};
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Measurement, Nanos, Op, Record, Tally};
use steadfast_exchange::iometer::results::{
    DirectionTotals, ErrorTotals, HostRates, LATENCY_BINS, ProcessorUse, ResultRow, ResultRun,
    ResultTable, RowKind, RunEnding, SpecResults, TestFigures, write,
};
use steadfast_exchange::iometer::{
    AccessSpec, ActiveWorker, Dialect, IometerTest, RecordedRows, TestType, loads_of_workers,
};
use steadfast_procedures::sequence::phase_of;

/// The run of one target, with the part of the configuration that it covers: everything, or the
/// I/Os to one disk.
pub struct MeasuredConfig<'a> {
    /// Configuration and plan of this target.
    pub planned: &'a PlannedConfig,
    /// Record of the run.
    pub record: &'a Record,
}

/// Returns the content of the file. All runs are of the same configuration.
pub fn render(configs: &[MeasuredConfig<'_>]) -> String {
    let Some(MeasuredConfig { planned: first, record }) = configs.first() else {
        return String::new();
    };
    let setup = first.config.setup.clone().unwrap_or_default();
    let recorded = match setup.record.unwrap_or(RecordedRows::All) {
        // The user named a result file, so record all rows even if the configuration records none.
        RecordedRows::Nothing => RecordedRows::All,
        recorded => recorded,
    };
    let version = first.config.version.clone();
    let dialect = version.dialect();
    let host = record.opening().map(|opening| opening.host);
    let cpus = host.and_then(|host| host.cpus).unwrap_or(0);
    let cpu_hz = host.and_then(|host| host.cpu_hz);
    let mut parts: Vec<(usize, SpecResults)> = Vec::new();
    for shares in tests(configs).into_values() {
        let made = TestResults { active: active(&shares), shares: &shares, dialect, cpus, cpu_hz };
        let access = shares.first().map_or(0, |share| share.test.access);
        if parts.last().is_none_or(|(last, _)| *last != access) {
            parts.push((
                access,
                SpecResults { specs: specs(first, &made.active), tables: Vec::new() },
            ));
        }
        let mut table = made.table();
        table.rows.retain(|row| is_recorded(recorded, &row.kind));
        if let Some((_, part)) = parts.last_mut() {
            part.tables.push(table);
        }
    }
    let began = configs.iter().map(|config| config.record.began_unix_ms).min();
    write(&ResultRun {
        test_type: setup.test_type.unwrap_or(TestType::Normal),
        description: setup.description.unwrap_or_default(),
        began: stamp(began.unwrap_or(0)),
        parts: parts.into_iter().map(|(_, part)| part).collect(),
        ending: if dialect == Dialect::V1_1 { RunEnding::Complete } else { RunEnding::NotStated },
        version,
    })
}

/// Measurements of one target in one test, in one or more pieces.
struct TargetShare<'a> {
    test: &'a IometerTest,
    /// Load index of each active worker.
    loads: Vec<usize>,
    measured: Vec<&'a Measurement>,
}

/// Returns the tests by number, with the share of every target that takes part.
fn tests<'a>(configs: &[MeasuredConfig<'a>]) -> BTreeMap<u32, Vec<TargetShare<'a>>> {
    let mut tests: BTreeMap<u32, Vec<TargetShare<'a>>> = BTreeMap::new();
    for MeasuredConfig { planned, record } in configs {
        let steps = planned.plan.sequence.numbered();
        let measured = steps.filter(|(_, step)| step.role == StepRole::Measure);
        for (test, (number, _)) in planned.plan.tests.iter().zip(measured) {
            let phase = phase_of(number);
            let steps = record.steps().filter(|(step, _)| step.place.phase == phase);
            let measured = steps.map(|(_, outcome)| &outcome.measurement).collect();
            let loads = loads_of_workers(&planned.config, test);
            tests.entry(number).or_default().push(TargetShare { test, loads, measured });
        }
    }
    tests
}

/// Returns the active workers of a test with their disks on all targets.
fn active(shares: &[TargetShare<'_>]) -> Vec<ActiveWorker> {
    let mut all: BTreeMap<usize, ActiveWorker> = BTreeMap::new();
    for own in shares.iter().flat_map(|share| &share.test.active) {
        match all.get_mut(&own.index) {
            Some(active) => active.targets.extend(own.targets.iter().cloned()),
            None => {
                all.insert(own.index, own.clone());
            }
        }
    }
    all.into_values().collect()
}

fn is_recorded(recorded: RecordedRows, kind: &RowKind) -> bool {
    match recorded {
        RecordedRows::All | RecordedRows::Nothing => true,
        RecordedRows::NoTargets => *kind != RowKind::Disk,
        RecordedRows::NoWorkers => !matches!(kind, RowKind::Disk | RowKind::Worker),
        RecordedRows::NoManagers => *kind == RowKind::All,
    }
}

/// Returns the distinct access specifications of a test.
fn specs(planned: &PlannedConfig, active: &[ActiveWorker]) -> Vec<AccessSpec> {
    let mut specs: Vec<AccessSpec> = Vec::new();
    for active in active {
        if let Some(spec) = planned.config.spec(&active.spec).filter(|spec| !specs.contains(spec)) {
            specs.push(spec.clone());
        }
    }
    specs
}

/// Formats a time as Iometer does (`2026-11-22 15:30:00:007`), in UTC.
fn stamp(unix_ms: u64) -> String {
    let second = steadfast_report::date_second(unix_ms).replace('Z', "");
    format!("{second}:{:03}", unix_ms % 1000)
}

/// A test and its measurements.
struct TestResults<'a> {
    /// Active workers with their disks on all targets.
    active: Vec<ActiveWorker>,
    shares: &'a [TargetShare<'a>],
    dialect: Dialect,
    /// Processors of the host, and their nominal frequency in Hz.
    cpus: u32,
    cpu_hz: Option<u64>,
}

impl TestResults<'_> {
    fn table(&self) -> ResultTable {
        let common = self.common_spec();
        let mut rows = vec![self.row(RowKind::All, "All", &common, &self.of_workers(|_| true))];
        let mut managers: Vec<(usize, &str)> = Vec::new();
        for active in &self.active {
            if !managers.iter().any(|(place, _)| *place == active.manager) {
                managers.push((active.manager, &active.manager_name));
            }
        }
        for manager in managers {
            self.manager_rows(&mut rows, manager);
        }
        let pieces = self.shares.iter().flat_map(|share| &share.measured);
        let end = pieces.map(|piece| piece.began_unix_ms + piece.elapsed.0 / 1_000_000).max();
        ResultTable { rows, at: stamp(end.unwrap_or(0)) }
    }

    fn row(&self, kind: RowKind, name: &str, spec: &str, figures: &TestFigures) -> ResultRow {
        ResultRow::new(kind, name, spec, self.dialect, figures)
    }

    fn manager_rows(&self, rows: &mut Vec<ResultRow>, (place, name): (usize, &str)) {
        let of_manager = self.of_workers(|active| active.manager == place);
        rows.push(self.row(RowKind::Manager, name, &self.common_spec(), &of_manager));
        let observed = self.shares.iter().map(TargetShare::each_processor);
        let observed = observed.max_by_key(BTreeMap::len).unwrap_or_default();
        let mut numbers: BTreeSet<u32> = observed.keys().copied().collect();
        if numbers.is_empty() {
            numbers.extend(0..self.cpus);
        }
        rows.extend(numbers.into_iter().map(|cpu| {
            let observed = observed.get(&cpu).copied();
            ResultRow::processor(&format!("CPU {cpu}"), observed, self.cpu_hz)
        }));
        for worker in self.active.iter().filter(|active| active.manager == place) {
            let own = self.of_workers(|active| active.index == worker.index);
            rows.push(self.row(RowKind::Worker, &worker.worker, &worker.spec, &own));
            let disk = |name: &String| {
                let figures = self.of_disk(worker.index, name, &own);
                self.row(RowKind::Disk, name, "", &figures)
            };
            rows.extend(worker.targets.iter().map(disk));
        }
    }

    /// Returns the figures of the selected workers on all targets.
    fn of_workers(&self, is_selected: impl Fn(&ActiveWorker) -> bool) -> TestFigures {
        let selected: Vec<&ActiveWorker> =
            self.active.iter().filter(|active| is_selected(active)).collect();
        let managers: BTreeSet<usize> = selected.iter().map(|active| active.manager).collect();
        let common = |of: fn(&ActiveWorker) -> u64| {
            let mut values = selected.iter().map(|active| of(active));
            let first = values.next()?;
            values.all(|value| value == first).then_some(first)
        };
        let place = TestFigures {
            managers: managers.len() as u64,
            workers: selected.len() as u64,
            disks: selected.iter().map(|active| active.targets.len() as u64).sum(),
            start: common(|active| active.area.start),
            sectors: common(|active| active.area.sectors),
            depth: common(|active| u64::from(active.depth)),
            processors: self.shares.iter().find_map(TargetShare::processors),
            host: self.shares.iter().find_map(TargetShare::host_rates).unwrap_or_default(),
            ..TestFigures::default()
        };
        let shares = self.shares.iter();
        let counted: Option<Vec<WorkerTotals>> =
            shares.map(|share| share.counted(&is_selected)).collect();
        figures(place, counted)
    }

    /// Returns the figures of a worker on one of its disks. They are known only if the disk is a
    /// separate target or the worker's only disk.
    fn of_disk(&self, index: usize, disk: &String, worker: &TestFigures) -> TestFigures {
        let holds = |active: &&ActiveWorker| active.index == index && active.targets.contains(disk);
        let found = self.shares.iter().find_map(|share| {
            share.test.active.iter().find(holds).map(|active| (share, active.targets.len()))
        });
        let counted = match found {
            Some((share, 1)) => share.counted(&|active: &ActiveWorker| active.index == index),
            _ => None,
        };
        figures(worker.clone(), counted.map(|counted| vec![counted]))
    }

    /// Returns the access specification that all workers share; empty if they differ.
    fn common_spec(&self) -> String {
        let mut names = self.active.iter().map(|active| active.spec.as_str());
        let first = names.next().unwrap_or_default();
        if names.all(|name| name == first) { first.to_owned() } else { String::new() }
    }
}

/// I/Os of the selected workers on one target.
#[derive(Default)]
struct WorkerTotals {
    read: Tally,
    write: Tally,
    errors: ErrorTotals,
    elapsed: Nanos,
}

/// Fills in a row's figures; no numbers if any part is unknown.
fn figures(place: TestFigures, counted: Option<Vec<WorkerTotals>>) -> TestFigures {
    let Some(counted) = counted else {
        return TestFigures { sides: None, errors: None, bins: None, ..place };
    };
    let mut all = WorkerTotals::default();
    for one in &counted {
        all.read.merge(&one.read);
        all.write.merge(&one.write);
        all.errors = all.errors.with(&one.errors);
        // Targets run concurrently.
        all.elapsed = all.elapsed.max(one.elapsed);
    }
    TestFigures {
        bins: Some(bins(&all.read, &all.write)),
        sides: Some((side(&all.read), side(&all.write))),
        errors: Some(all.errors),
        elapsed_ns: all.elapsed.0,
        ..place
    }
}

impl TargetShare<'_> {
    /// Returns the I/Os of the selected workers on this target; `None` unless the selection is all
    /// workers, or all workers of some loads.
    fn counted(&self, is_selected: &impl Fn(&ActiveWorker) -> bool) -> Option<WorkerTotals> {
        let selection: Vec<bool> = self.test.active.iter().map(is_selected).collect();
        if !selection.contains(&true) {
            return Some(WorkerTotals::default());
        }
        if !selection.contains(&false) {
            return Some(self.whole());
        }
        let loads = || self.loads.iter().zip(&selection);
        let own: BTreeSet<usize> =
            loads().filter(|(_, selected)| **selected).map(|(load, _)| *load).collect();
        let is_shared = loads().any(|(load, selected)| !*selected && own.contains(load));
        // Which load or thread an error belongs to is not kept.
        if self.measured.iter().any(|piece| piece.fault_count > 0) {
            return None;
        }
        let mut counted = WorkerTotals { elapsed: self.elapsed(), ..WorkerTotals::default() };
        for piece in &self.measured {
            if is_shared {
                let threads = self.threads_of_workers();
                for (thread, selected) in threads.into_iter().zip(&selection) {
                    if *selected {
                        counted.add(&piece.threads.get(thread)?.operations);
                    }
                }
            } else {
                for (number, load) in piece.concurrent_loads().enumerate() {
                    if own.contains(&number) {
                        counted.add(load.streams);
                    }
                }
            }
        }
        Some(counted)
    }

    /// Returns the thread of each active worker: the threads of the loads one after the other, and
    /// those of a load in the order of its workers.
    fn threads_of_workers(&self) -> Vec<usize> {
        let mut threads = Vec::new();
        for (worker, load) in self.loads.iter().enumerate() {
            let of_earlier_loads = self.loads.iter().filter(|other| *other < load).count();
            let of_same_load = self.loads[..worker].iter().filter(|other| *other == load).count();
            threads.push(of_earlier_loads + of_same_load);
        }
        threads
    }

    fn whole(&self) -> WorkerTotals {
        let mut counted = WorkerTotals { elapsed: self.elapsed(), ..WorkerTotals::default() };
        for piece in &self.measured {
            counted.read.merge(&piece.direction(Op::Read));
            counted.write.merge(&piece.direction(Op::Write));
            counted.errors = counted.errors.with(&errors(piece));
        }
        counted
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.measured.iter().map(|piece| piece.elapsed.0).sum())
    }

    /// Returns the mean over the pieces with processor observations, weighted by length.
    fn processors(&self) -> Option<ProcessorUse> {
        let pieces = self.measured.iter();
        processor_use(pieces.filter_map(|piece| Some((piece.elapsed, piece.sensed.host_cpu?))))
    }

    /// Returns the mean use of each processor by its number.
    fn each_processor(&self) -> BTreeMap<u32, ProcessorUse> {
        let mut pieces: BTreeMap<u32, Vec<(Nanos, HostCpu)>> = BTreeMap::new();
        for piece in &self.measured {
            for (number, cpu) in piece.sensed.host.iter().flat_map(|host| &host.processors) {
                pieces.entry(*number).or_default().push((piece.elapsed, *cpu));
            }
        }
        let mut uses = BTreeMap::new();
        for (number, pieces) in pieces {
            uses.extend(processor_use(pieces.into_iter()).map(|mean| (number, mean)));
        }
        uses
    }

    /// Returns interrupts and packets over the pieces that observed them; `None` if none did.
    fn host_rates(&self) -> Option<HostRates> {
        let pieces: Vec<&HostActivity> =
            self.measured.iter().filter_map(|piece| piece.sensed.host.as_deref()).collect();
        let sum = |count: fn(&HostActivity) -> Option<u64>| -> Option<f64> {
            let counts: Option<Vec<u64>> = pieces.iter().map(|piece| count(piece)).collect();
            counts.map(|counts| counts.iter().sum::<u64>() as f64)
        };
        let seconds: f64 = pieces.iter().map(|piece| piece.elapsed.as_secs_f64()).sum();
        (seconds > 0.0).then(|| HostRates {
            interrupts: sum(|host| host.interrupts).map(|count| count / seconds),
            packets: sum(|host| host.packets).map(|count| count / seconds),
            packet_errors: sum(|host| host.packet_errors),
            segments_retransmitted: sum(|host| host.segments_retransmitted).map(|n| n / seconds),
        })
    }
}

/// Returns the mean use of processors in percent, by the lengths of the pieces; `None` without
/// pieces.
fn processor_use(pieces: impl Iterator<Item = (Nanos, HostCpu)>) -> Option<ProcessorUse> {
    let pieces: Vec<(Nanos, HostCpu)> = pieces.collect();
    let seconds: f64 = pieces.iter().map(|(elapsed, _)| elapsed.as_secs_f64()).sum();
    let mean = |share: fn(&HostCpu) -> Option<f64>| -> Option<f64> {
        let weighted =
            pieces.iter().map(|(elapsed, cpu)| Some(share(cpu)? * elapsed.as_secs_f64()));
        let sum: Option<f64> = weighted.sum();
        sum.filter(|_| seconds > 0.0).map(|sum| sum / seconds * 100.0)
    };
    Some(ProcessorUse {
        user: mean(|cpu| Some(cpu.user))?,
        system: mean(|cpu| Some(cpu.system))?,
        soft_interrupts: mean(|cpu| cpu.soft_interrupts),
        interrupts: mean(|cpu| cpu.interrupts),
    })
}

impl WorkerTotals {
    /// Adds the reads and writes among these tallies.
    fn add(&mut self, streams: &[StreamTally]) {
        for stream in streams {
            match stream.op {
                Op::Read => self.read.merge(&stream.tally),
                Op::Write => self.write.merge(&stream.tally),
                Op::Discard | Op::Flush => {}
            }
        }
    }
}

/// Counts the failed I/Os. Only the first ones are listed with their operation; with more, the
/// number of reads is known only for a load of one direction.
fn errors(piece: &Measurement) -> ErrorTotals {
    let all = piece.fault_count;
    let listed = piece.faults.iter().filter(|fault| fault.op == Op::Read).count() as u64;
    let reads = if piece.faults.len() as u64 >= all {
        Some(listed)
    } else if piece.streams.is_empty() {
        None
    } else if piece.streams.iter().all(|stream| stream.op == Op::Read) {
        Some(all)
    } else if piece.streams.iter().all(|stream| stream.op != Op::Read) {
        Some(0)
    } else {
        None
    };
    ErrorTotals { all, reads }
}

fn side(tally: &Tally) -> DirectionTotals {
    DirectionTotals {
        ios: tally.ios,
        bytes: tally.bytes.0,
        response_sum_ns: tally.response_sum.0,
        responses: tally.responses(),
        response_max_ns: tally.response_max.0,
    }
}

/// Returns I/O counts by response time. A histogram bucket that spans a bin limit counts in the
/// bin of its midpoint.
fn bins(read: &Tally, write: &Tally) -> Vec<u64> {
    let mut bins = vec![0; LATENCY_BINS.len()];
    for (from, to, count) in read.histogram.buckets().chain(write.histogram.buckets()) {
        let middle_us = (from.0 + to.0.saturating_sub(from.0) / 2) / 1000;
        let bin = LATENCY_BINS.partition_point(|(_, limit)| *limit <= middle_us);
        bins[bin.min(LATENCY_BINS.len() - 1)] += count;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Bytes;
    use steadfast_domain::measurement::{Fault, StreamTally};

    #[test]
    fn errors_beyond_the_listed_ones_are_split_only_for_one_direction() {
        let (offset, size, at) = (Bytes(0), Bytes(4096), Nanos::ZERO);
        let fault = |op| Fault { op, offset, size, errno: 5, at };
        for (ops, listed, all, reads) in [
            (&[Op::Read][..], vec![Op::Read; 32], 50, Some(50)),
            (&[Op::Write], vec![Op::Write; 32], 50, Some(0)),
            (&[Op::Read, Op::Write], vec![Op::Read, Op::Write, Op::Read], 3, Some(2)),
            (&[Op::Read, Op::Write], vec![Op::Read; 32], 33, None),
            (&[], vec![Op::Read; 32], 33, None),
        ] {
            let stream = |op: &Op| StreamTally { op: *op, tally: Tally::default() };
            let piece = Measurement {
                streams: ops.iter().map(stream).collect(),
                faults: listed.into_iter().map(fault).collect(),
                fault_count: all,
                ..Measurement::default()
            };
            assert_eq!(errors(&piece), ErrorTotals { all, reads }, "{ops:?}");
        }
    }
}
