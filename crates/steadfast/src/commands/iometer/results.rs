//! A finished run as Iometer's file of results.
//!
//! One load is measured as a whole: what a single worker or disk of several did is not
//! known, and its row has no such numbers.

use super::ready::Ready;
use steadfast_domain::{Measurement, Nanos, Op, Record, Tally};
use steadfast_exchange::iometer::results::{
    Ending, Figures, LATENCY_BINS, Part, Processors, Row, RowKind, Run, Side, Table, write,
};
use steadfast_exchange::iometer::{AccessSpec, Dialect, Recorded, Test, TestType};

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
    // A file is filled before the first test.
    let first = ready.plan.sequence.steps.len() - ready.plan.tests.len() + 1;
    for (test, number) in ready.plan.tests.iter().zip(first..) {
        if parts.last().is_none_or(|(access, _)| *access != test.access) {
            parts.push((test.access, Part { specs: specs(ready, test), tables: Vec::new() }));
        }
        let phase = format!("step-{number}");
        let steps = record.steps().filter(|(step, _)| step.place.phase == phase);
        let measured: Vec<&Measurement> = steps.map(|(_, outcome)| &outcome.measurement).collect();
        let made = Made { test, dialect, cpus, measured: &measured };
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
        let is_alone = managers.len() == 1;
        for (place, name) in managers {
            self.manager_rows(&mut rows, (place, name), is_alone, &whole);
        }
        let end = self.measured.last().map_or(0, |m| m.began_unix_ms + m.elapsed.0 / 1_000_000);
        Table { rows, at: stamp(end) }
    }

    fn row(&self, kind: RowKind, name: &str, spec: &str, figures: &Figures) -> Row {
        Row::of(kind, name, spec, self.dialect, figures)
    }

    fn manager_rows(
        &self,
        rows: &mut Vec<Row>,
        (place, name): (usize, &str),
        is_alone: bool,
        whole: &Figures,
    ) {
        let workers: Vec<_> = self.test.active.iter().filter(|a| a.manager == place).collect();
        let disks: usize = workers.iter().map(|worker| worker.targets.len()).sum();
        let of_manager = Figures {
            workers: workers.len() as u64,
            disks: disks as u64,
            ..part_of(whole, is_alone)
        };
        rows.push(self.row(RowKind::Manager, name, &self.common_spec(), &of_manager));
        rows.extend((0..self.cpus).map(|cpu| Row::processor(&format!("CPU {cpu}"))));
        for worker in &workers {
            let is_alone = is_alone && workers.len() == 1;
            let disks = worker.targets.len() as u64;
            let figures = Figures { disks, ..part_of(whole, is_alone) };
            rows.push(self.row(RowKind::Worker, &worker.worker, &worker.spec, &figures));
            let of_disk = part_of(whole, is_alone && disks == 1);
            let disk = |name: &String| self.row(RowKind::Disk, name, "", &of_disk);
            rows.extend(worker.targets.iter().map(disk));
        }
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
        let managers: std::collections::BTreeSet<usize> =
            active.iter().map(|active| active.manager).collect();
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

/// What is known of a part of the whole: everything where it is all of it.
fn part_of(whole: &Figures, is_whole: bool) -> Figures {
    match is_whole {
        true => whole.clone(),
        false => Figures { sides: None, bins: None, ..whole.clone() },
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
