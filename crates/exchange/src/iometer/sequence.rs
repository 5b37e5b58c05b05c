//! The tests of a configuration as loads for one target.
//!
//! All workers of a test must do the same: a target gets one load at a time. Where
//! they do not, the configuration is refused, with the workers' names.

use super::config::{AccessLine, AccessSpec, Config, Setup};
use super::expansion::{Active, Test, tests_of};
use super::remark::Remark;
use super::version::Dialect;
use crate::misread::Misread;
use std::collections::BTreeSet;
use steadfast_domain::sequence::{Amount, Extent, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, DataPattern, Order, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Op, Sequence, SequenceLoad, SequenceStep};

/// The names of the dimensions that every step has.
pub const DIMENSIONS: [&str; 4] = ["Access specification", "Workers", "Targets", "Queue depth"];

/// What a configuration is run with.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Processors of the host: as many workers a manager gets that the file leaves open.
    pub processors: u32,
    /// The target's sector.
    pub sector: u64,
    /// The measured time of every test, in place of the file's.
    pub time: Option<Nanos>,
    /// Only I/Os to this disk of the file.
    pub disk: Option<&'a str>,
    /// Whether the target is a file that is made for this: it is filled first, as
    /// Iometer prepares its test file.
    pub prepare: bool,
    /// Whether the user says what is written.
    pub own_pattern: bool,
}

/// A configuration made ready: what is applied, and the test behind each step that
/// measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The sequence; without a file's name.
    pub sequence: Sequence,
    /// The test of each step that measures, in their order.
    pub tests: Vec<Test>,
}

/// The plan of a configuration.
///
/// # Errors
/// What cannot be applied to one target, with its line.
pub fn plan(config: &Config, remarks: Vec<Remark>, on: Circumstances<'_>) -> Result<Plan, Misread> {
    let mut remarks = remarks;
    let tests = tests_of(config, on.processors, on.disk, &mut remarks)?;
    let setup = config.setup.clone().unwrap_or_default();
    let (time, ramp) = times(&setup, on)?;
    let mut steps = Vec::with_capacity(tests.len() + 1);
    for test in &tests {
        steps.push(step(config, test, (time, ramp), on)?);
    }
    if on.prepare {
        steps.insert(0, preparation(&steps, on));
    }
    remarks.extend(differences(config, &tests, on));
    let title = setup.description.filter(|text| !text.is_empty());
    let sequence = Sequence {
        tool: "iometer".into(),
        version: Some(config.version.to_string()),
        title: title.unwrap_or_else(|| "Iometer configuration".into()),
        steps,
        remarks: each_once(remarks),
        ..Sequence::default()
    };
    Ok(Plan { sequence, tests })
}

/// Everything that the tests touch is written once.
fn preparation(steps: &[SequenceStep], on: Circumstances<'_>) -> SequenceStep {
    let stream = IoStream::new(Op::Write, Order::Sequential(Cursor::Own), Bytes::kib(128));
    let mut load = SequenceLoad::new(vec![stream], Demand::new(1, 8), SequenceEnd::laps(1));
    let first = steps.first().map(|step| step.load.extent).unwrap_or_default();
    if steps.iter().all(|step| step.load.extent == first) {
        load.extent = first;
    }
    if !on.own_pattern {
        load.data_pattern = steps.first().and_then(|step| step.load.data_pattern.clone());
    }
    SequenceStep::new("Prepare the file", load).preparing()
}

fn each_once(remarks: Vec<Remark>) -> Vec<SequenceRemark> {
    let mut seen = BTreeSet::new();
    let new = remarks.into_iter().filter(|remark| seen.insert((remark.line, remark.text.clone())));
    new.map(|remark| SequenceRemark { line: remark.line, text: remark.text }).collect()
}

fn times(setup: &Setup, on: Circumstances<'_>) -> Result<(Nanos, Nanos), Misread> {
    let of_file = setup.run_time.map(|time| Nanos::from_secs(time.as_secs()));
    let time = on.time.or(of_file.filter(|time| time.0 > 0)).ok_or_else(|| {
        Misread::whole("the file has no run time, which means until somebody stops it; give --time")
    })?;
    Ok((time, Nanos::from_secs(setup.ramp_s.unwrap_or(0))))
}

fn step(
    config: &Config,
    test: &Test,
    (time, ramp): (Nanos, Nanos),
    on: Circumstances<'_>,
) -> Result<SequenceStep, Misread> {
    let (first, spec) = common(config, test)?;
    let workers = test.active.len() as u32;
    let depth = first.depth.saturating_mul(first.targets.len() as u32);
    let demand = Demand::new(workers, depth);
    let mut load = SequenceLoad::new(streams(spec, on.sector), demand, SequenceEnd::time(time));
    load.extent = extent(first, on.sector);
    load.pace = pace(spec, u64::from(workers) * first.targets.len() as u64)?;
    load.ramp = ramp;
    load.data_pattern = (!on.own_pattern).then(|| data_pattern(config, first.pattern));
    let values = [
        first.spec.clone(),
        workers.to_string(),
        first.targets.len().to_string(),
        first.depth.to_string(),
    ];
    let label = format!("{}, {demand}", first.spec);
    let step = SequenceStep::new(label, load);
    Ok(DIMENSIONS.iter().zip(values).fold(step, |step, (name, value)| step.dimension(name, value)))
}

/// The first worker of a test and its access specification, where all workers do the same.
fn common<'a>(config: &'a Config, test: &'a Test) -> Result<(&'a Active, &'a AccessSpec), Misread> {
    let nobody = || Misread::whole("a test without an active worker");
    let first = test.active.first().ok_or_else(nobody)?;
    let spec_of = |active: &Active| {
        let missing = || {
            Misread::at(active.line, format!("access specification '{}' is missing", active.spec))
        };
        config.spec(&active.spec).ok_or_else(missing)
    };
    let spec = spec_of(first)?;
    for other in &test.active[1..] {
        let what = if spec_of(other)?.lines != spec.lines {
            "access specifications"
        } else if other.depth != first.depth {
            "numbers of outstanding I/Os"
        } else if other.targets.len() != first.targets.len() {
            "numbers of targets"
        } else if other.area != first.area {
            "starting sectors or sizes"
        } else if other.pattern != first.pattern {
            "data patterns"
        } else {
            continue;
        };
        return Err(Misread::at(
            other.line,
            format!(
                "'{}' and '{}' have different {what} at the same time ('{}' and '{}'); one load at \
                 a time is applied to a target: give each its own file",
                first.worker, other.worker, first.spec, other.spec
            ),
        ));
    }
    Ok((first, spec))
}

fn extent(active: &Active, sector: u64) -> Extent {
    let (sectors, start) = active.area;
    let bytes = |sectors: u64| Amount::Bytes(Bytes(sectors.saturating_mul(sector)));
    // Iometer, too, ends a size beyond the end of the disk there.
    Extent { from: bytes(start), length: (sectors > 0).then(|| bytes(sectors)), clipped: true }
}

/// Each row is up to four streams: reads and writes, at random and in sequence.
fn streams(spec: &AccessSpec, sector: u64) -> Vec<IoStream> {
    let rows = spec.lines.iter().flat_map(|row| {
        [Op::Read, Op::Write].into_iter().flat_map(move |op| {
            [true, false].map(|random| (row, op, random, weight(row, op, random)))
        })
    });
    let rows: Vec<_> = rows.filter(|(.., weight)| *weight > 0).collect();
    let sequential = rows.iter().filter(|(_, _, random, _)| !random).count();
    let cursor = if sequential > 1 { Cursor::Shared } else { Cursor::Own };
    let divisor = rows.iter().fold(0, |divisor, (.., weight)| gcd(divisor, *weight)).max(1);
    let stream = |(row, op, random, weight): (&AccessLine, Op, bool, u32)| {
        let order = if random { Order::Random } else { Order::Sequential(cursor) };
        let align = if row.align == 0 { sector } else { row.align };
        IoStream {
            alignment: (align != row.size).then_some(Bytes(align)),
            ..IoStream::new(op, order, Bytes(row.size)).weighing(weight / divisor)
        }
    };
    rows.into_iter().map(stream).collect()
}

fn weight(row: &AccessLine, op: Op, random: bool) -> u32 {
    let share = |percent: u8, yes: bool| u32::from(if yes { percent } else { 100 - percent });
    u32::from(row.of_size) * share(row.reads, op == Op::Read) * share(row.random, random)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One pace for all rows: bursts of every queue together.
fn pace(spec: &AccessSpec, queues: u64) -> Result<Pace, Misread> {
    let rows = || spec.lines.iter().filter(|row| row.of_size > 0);
    let Some(first) = rows().next() else { return Ok(Pace::Closed) };
    if rows().all(|row| row.delay_ms == 0) {
        return Ok(Pace::Closed);
    }
    let other = rows().find(|row| (row.delay_ms, row.burst) != (first.delay_ms, first.burst));
    if let Some(other) = other {
        return Err(Misread::at(
            other.line.0,
            format!(
                "access specification '{}' has rows with different delays or bursts: their I/Os \
                 cannot be drawn as Iometer does; give all rows the same",
                spec.name
            ),
        ));
    }
    let delay = Nanos::from_millis(first.delay_ms);
    Ok(Pace::Burst { ios: first.burst.saturating_mul(queues), delay })
}

/// What a version writes.
fn data_pattern(config: &Config, chosen: Option<u8>) -> DataPattern {
    match (config.version.dialect(), chosen) {
        (Dialect::Y2006, None) | (_, Some(2)) => DataPattern::RandomUnique,
        (Dialect::Y2008, None) | (_, Some(1)) => DataPattern::RandomOnce,
        (_, _) => DataPattern::Repeating(vec![0x49]),
    }
}

/// What Iometer would do otherwise.
fn differences(config: &Config, tests: &[Test], on: Circumstances<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut say = |line: u64, text: String| {
        remarks.push(Remark { line: (line > 0).then_some(line), text });
    };
    of_access(config, tests, &mut say);
    of_workers(tests, &mut say);
    if !on.own_pattern {
        of_data(config, tests, &mut say);
    }
    remarks
}

fn of_access(config: &Config, tests: &[Test], say: &mut impl FnMut(u64, String)) {
    let active = || tests.iter().flat_map(|test| &test.active);
    let run: BTreeSet<&str> = active().map(|active| active.spec.as_str()).collect();
    let specs = || config.specs.iter().flatten().filter(|spec| run.contains(spec.name.as_str()));
    for spec in specs() {
        if let Some(row) = spec.lines.iter().find(|row| row.reply > 0) {
            say(row.line.0, format!("'{}': replies are of networks and are ignored", spec.name));
        }
    }
    if specs().flat_map(|spec| &spec.lines).any(|row| row.random > 0 && row.random < 100) {
        let text = "sequential I/Os of a mix continue where the last sequential I/O ended; in \
            Iometer where the last I/O ended, random or not";
        say(0, text.to_owned());
    }
    let is_sequential = |name: &str| {
        config.spec(name).is_some_and(|spec| spec.lines.iter().any(|row| row.random < 100))
    };
    let together = tests.iter().filter(|test| test.active.len() > 1);
    if together.flat_map(|test| &test.active).any(|active| is_sequential(&active.spec)) {
        let text = "the workers share one sequential position, so that no block is read or \
            written twice; in Iometer each begins at the same sector";
        say(0, text.to_owned());
    }
}

fn of_workers(tests: &[Test], say: &mut impl FnMut(u64, String)) {
    let active = || tests.iter().flat_map(|test| &test.active);
    for worker in active().filter(|active| active.connection_rate) {
        say(
            worker.line,
            format!(
                "'{}': the target is not opened and closed again; the test connection rate is ignored",
                worker.worker
            ),
        );
    }
    let managers: BTreeSet<&str> = active().map(|a| a.manager_name.as_str()).collect();
    if managers.len() > 1 {
        let names: Vec<&str> = managers.into_iter().collect();
        say(0, format!("the workers of managers {} are threads of this host", names.join(", ")));
    }
    let disks: BTreeSet<&str> = active().flat_map(|a| &a.targets).map(String::as_str).collect();
    if disks.len() > 1 {
        let names: Vec<String> = disks.into_iter().map(|name| format!("'{name}'")).collect();
        say(
            0,
            format!(
                "the disks {} all stand for the one target: the outstanding I/Os of a worker on its \
             disks are added up; --disk NAME runs those of one disk",
                names.join(", ")
            ),
        );
    }
}

fn of_data(config: &Config, tests: &[Test], say: &mut impl FnMut(u64, String)) {
    let patterns: BTreeSet<Option<u8>> =
        tests.iter().flat_map(|test| &test.active).map(|active| active.pattern).collect();
    for pattern in patterns {
        let text = match (config.version.dialect(), pattern) {
            (Dialect::Y2006, None) => continue,
            (Dialect::Y2008, None) => {
                "2008 writes quasi-random data, parts of which come again: here one random buffer \
                 is written again and again (random-once)"
            }
            (_, Some(2)) => {
                "data pattern 'full random' takes its data from a random buffer of 16 MiB; here \
                 every sector differs from every other (random-unique)"
            }
            (_, Some(1)) => {
                "data pattern 'pseudo-random': one random buffer is written again and \
                again (random-once)"
            }
            (_, _) => {
                "data pattern 'repeating bytes' fills each I/O with one byte, another one \
                each time; here every I/O has the same byte. Drives that compress or deduplicate \
                write almost nothing"
            }
        };
        say(0, text.to_owned());
    }
    let seeded = config.managers.iter().flatten().flat_map(|manager| &manager.workers);
    let used = |worker: &&super::config::Worker| {
        let outstanding = worker.defaults.as_ref().and_then(|defaults| defaults.outstanding);
        outstanding.and_then(|o| o.fixed_seed).is_some_and(|seed| seed.used)
    };
    for worker in seeded.filter(used) {
        say(
            worker.line.0,
            format!(
                "'{}': its fixed seed draws other addresses here; --seed repeats a run of ours",
                worker.name
            ),
        );
    }
}
