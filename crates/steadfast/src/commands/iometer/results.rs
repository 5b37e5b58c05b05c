//! A finished run as Iometer's file of results.
//!
//! A load is measured as a whole: what a single worker or disk of several that share one
//! did is not known, and its row has no such numbers. Workers that differ have loads of
//! their own.

use super::ready::Ready;
use std::collections::BTreeSet;
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Measurement, Nanos, Op, Record, Tally};
use steadfast_exchange::iometer::results::{
    Ending, Figures, LATENCY_BINS, Part, Processors, Row, RowKind, Run, Side, Table, write,
};
use steadfast_exchange::iometer::{
    AccessSpec, Active, Dialect, Recorded, Test, TestType, loads_of_workers,
};

/// The text of the file.
pub fn of(ready: &Ready, record: &Record) -> String {
    let setup = ready.config.setup.clone().unwrap_or_default();
    let recorded = match setup.record.unwrap_or(Recorded::All) {
        // Who names a file of results wants them.
        Recorded::Nothing => Recorded::All,
        recorded => recorded,
    };
    let version = ready.config.version.clone();
    let dialect = version.dialect();
    let cpus = record.opening().and_then(|(_, host, ..)| host.cpus).unwrap_or(0);
    let mut parts: Vec<(usize, Part)> = Vec::new();
    let steps = (1..).zip(&ready.plan.sequence.steps);
    let measured = steps.filter(|(_, step)| step.role == StepRole::Measure);
    for (test, (number, _)) in ready.plan.tests.iter().zip(measured) {
        if parts.last().is_none_or(|(access, _)| *access != test.access) {
            parts.push((test.access, Part { specs: specs(ready, test), tables: Vec::new() }));
        }
        let phase = format!("step-{number}");
        let steps = record.steps().filter(|(step, _)| step.place.phase == phase);
        let measured: Vec<&Measurement> = steps.map(|(_, outcome)| &outcome.measurement).collect();
        let loads = loads_of_workers(&ready.config, test);
        let made = Made { test, loads: &loads, dialect, cpus, measured: &measured };
        let mut table = made.table();
        table.rows.retain(|row| is_recorded(recorded, &row.kind));
        if let Some((_, part)) = parts.last_mut() {
            part.tables.push(table);
        }
    }
    write(&Run {
        test_type: setup.test_type.unwrap_or(TestType::Normal),
        description: setup.description.unwrap_or_default(),
        began: stamp(record.began_unix_ms),
        parts: parts.into_iter().map(|(_, part)| part).collect(),
        ending: if dialect == Dialect::V1_1 { Ending::Complete } else { Ending::Untold },
        version,
    })
}

fn is_recorded(recorded: Recorded, kind: &RowKind) -> bool {
    match recorded {
        Recorded::All | Recorded::Nothing => true,
        Recorded::NoTargets => *kind != RowKind::Disk,
        Recorded::NoWorkers => !matches!(kind, RowKind::Disk | RowKind::Worker),
        Recorded::NoManagers => *kind == RowKind::All,
    }
}

/// The access specifications of a test, each once.
fn specs(ready: &Ready, test: &Test) -> Vec<AccessSpec> {
    let mut specs: Vec<AccessSpec> = Vec::new();
    for active in &test.active {
        if let Some(spec) = ready.config.spec(&active.spec).filter(|spec| !specs.contains(spec)) {
            specs.push(spec.clone());
        }
    }
    specs
}

/// `2026-11-22 15:30:00:007`, in UTC.
fn stamp(unix_ms: u64) -> String {
    let text = steadfast_report::date_stamp(unix_ms);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{} {}:{}:{}:{:03}",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(9, 11),
        part(11, 13),
        part(13, 15),
        unix_ms % 1000
    )
}

/// A test and what was measured of it, in one or several pieces.
struct Made<'a> {
    test: &'a Test,
    /// Which of the test's loads each active worker is part of.
    loads: &'a [usize],
    dialect: Dialect,
    cpus: u32,
    measured: &'a [&'a Measurement],
}

impl Made<'_> {
    fn table(&self) -> Table {
        let whole = self.figures();
        let common = self.common_spec();
        let mut rows = vec![self.row(RowKind::All, "All", &common, &whole)];
        let mut managers: Vec<(usize, &str)> = Vec::new();
        for active in &self.test.active {
            if !managers.iter().any(|(place, _)| *place == active.manager) {
                managers.push((active.manager, &active.manager_name));
            }
        }
        for (place, name) in managers {
            self.manager_rows(&mut rows, (place, name), &whole);
        }
        let end = self.measured.last().map_or(0, |m| m.began_unix_ms + m.elapsed.0 / 1_000_000);
        Table { rows, at: stamp(end) }
    }

    fn row(&self, kind: RowKind, name: &str, spec: &str, figures: &Figures) -> Row {
        Row::of(kind, name, spec, self.dialect, figures)
    }

    fn manager_rows(&self, rows: &mut Vec<Row>, (place, name): (usize, &str), whole: &Figures) {
        let workers: Vec<&Active> =
            self.test.active.iter().filter(|active| active.manager == place).collect();
        let disks: usize = workers.iter().map(|worker| worker.targets.len()).sum();
        let of_manager = Figures {
            workers: workers.len() as u64,
            disks: disks as u64,
            ..self.part_of(whole, |active| active.manager == place)
        };
        rows.push(self.row(RowKind::Manager, name, &self.common_spec(), &of_manager));
        rows.extend((0..self.cpus).map(|cpu| Row::processor(&format!("CPU {cpu}"))));
        for worker in workers {
            let disks = worker.targets.len() as u64;
            let own = self.part_of(whole, |active| std::ptr::eq(active, worker));
            let (start, sectors) = (worker.area.1, worker.area.0);
            let own = Figures { disks, start, sectors, depth: u64::from(worker.depth), ..own };
            rows.push(self.row(RowKind::Worker, &worker.worker, &worker.spec, &own));
            let of_disk = match disks {
                1 => own,
                _ => Figures { sides: None, bins: None, ..own },
            };
            let disk = |name: &String| self.row(RowKind::Disk, name, "", &of_disk);
            rows.extend(worker.targets.iter().map(disk));
        }
    }

    /// What is known of some workers: everything where they are all of the test, or all of
    /// the workers of some of its loads.
    fn part_of(&self, whole: &Figures, are_meant: impl Fn(&Active) -> bool) -> Figures {
        let meant: Vec<bool> = self.test.active.iter().map(are_meant).collect();
        if meant.iter().all(|meant| *meant) {
            return whole.clone();
        }
        let loads = || self.loads.iter().zip(&meant);
        let is_shared = |load: usize| loads().any(|(other, meant)| *other == load && !*meant);
        let own: BTreeSet<usize> =
            loads().filter(|(_, meant)| **meant).map(|(load, _)| *load).collect();
        let unknown = Figures { sides: None, bins: None, ..whole.clone() };
        // Which load an error belongs to is not kept.
        let has_errors = self.measured.iter().any(|piece| piece.fault_count > 0);
        if has_errors || own.iter().any(|load| is_shared(*load)) {
            return unknown;
        }
        let (mut read, mut write) = (Tally::default(), Tally::default());
        for piece in self.measured {
            let parts = piece.apart().enumerate().filter(|(load, _)| own.contains(load));
            for stream in parts.flat_map(|(_, (streams, _))| streams) {
                match stream.op {
                    Op::Read => read.merge(&stream.tally),
                    Op::Write => write.merge(&stream.tally),
                    Op::Discard | Op::Flush => {}
                }
            }
        }
        let sides = Some((side(&read, 0), side(&write, 0)));
        Figures { sides, bins: Some(bins(&read, &write)), ..unknown }
    }

    /// The access specification of all workers, where they have one.
    fn common_spec(&self) -> String {
        let mut names = self.test.active.iter().map(|active| active.spec.as_str());
        let first = names.next().unwrap_or_default();
        if names.all(|name| name == first) { first.to_owned() } else { String::new() }
    }

    fn figures(&self) -> Figures {
        let active = &self.test.active;
        let (mut read, mut write) = (Tally::default(), Tally::default());
        let mut errors = (0, 0);
        let mut elapsed = Nanos::ZERO;
        for piece in self.measured {
            read.merge(&piece.direction(Op::Read));
            write.merge(&piece.direction(Op::Write));
            let of_reads = piece.faults.iter().filter(|fault| fault.op == Op::Read).count() as u64;
            errors.0 += of_reads;
            errors.1 += piece.fault_count.saturating_sub(of_reads);
            elapsed += piece.elapsed;
        }
        let managers: BTreeSet<usize> = active.iter().map(|active| active.manager).collect();
        let first = active.first();
        Figures {
            managers: managers.len() as u64,
            workers: active.len() as u64,
            disks: active.iter().map(|active| active.targets.len() as u64).sum(),
            bins: Some(bins(&read, &write)),
            sides: Some((side(&read, errors.0), side(&write, errors.1))),
            elapsed_ns: elapsed.0,
            start: first.map_or(0, |active| active.area.1),
            sectors: first.map_or(0, |active| active.area.0),
            depth: first.map_or(0, |active| u64::from(active.depth)),
            processors: self.processors(),
        }
    }

    /// The mean over the pieces that observed the processors, by their lengths.
    fn processors(&self) -> Option<Processors> {
        let mut sum = (0.0, 0.0, 0.0);
        for piece in self.measured {
            if let Some(cpu) = piece.sensed.host_cpu {
                let seconds = piece.elapsed.as_secs_f64();
                sum = (sum.0 + cpu.user * seconds, sum.1 + cpu.system * seconds, sum.2 + seconds);
            }
        }
        let percent = |part: f64| part / sum.2 * 100.0;
        (sum.2 > 0.0).then(|| Processors { user: percent(sum.0), system: percent(sum.1) })
    }
}

fn side(tally: &Tally, errors: u64) -> Side {
    Side {
        ios: tally.ios,
        bytes: tally.bytes.0,
        response_sum_ns: tally.response_sum.0,
        response_max_ns: tally.response_max.0,
        errors,
    }
}

/// I/Os by response time. A bucket of ours that reaches over the limit of a bin counts
/// where its middle lies.
fn bins(read: &Tally, write: &Tally) -> Vec<u64> {
    let mut bins = vec![0; LATENCY_BINS.len()];
    for (from, to, count) in read.histogram.buckets().chain(write.histogram.buckets()) {
        let middle_us = (from.0 + to.0.saturating_sub(from.0) / 2) / 1000;
        let bin = LATENCY_BINS.partition_point(|(_, limit)| *limit <= middle_us);
        bins[bin.min(LATENCY_BINS.len() - 1)] += count;
    }
    bins
}
