//! Converts the tests of a configuration into loads for one target.
//!
//! Workers of a test with equal settings are the threads of one load. Where workers differ, each
//! group is a load of its own, and all loads start at the same time.

use super::config::{AccessLine, AccessSpec, DiskArea, IometerConfig, TestSetup};
use super::expansion::{ActiveWorker, IometerTest, tests_of};
use super::version::Dialect;
use crate::parse_error::ParseError;
use std::collections::BTreeSet;
use steadfast_domain::sequence::{Amount, Extent, NamedLoad, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, DataPattern, Order, Pace};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Op, Sequence, SequenceLoad, SequenceStep};

/// Names of the dimensions of every step.
pub const DIMENSIONS: [&str; 4] = ["Access specification", "Workers", "Targets", "Queue depth"];

/// Host, target and options for which a configuration is planned.
#[derive(Debug, Clone, Copy)]
pub struct PlanOptions<'a> {
    /// Processors of the host: the number of workers of a manager whose number of workers the file
    /// leaves open.
    pub processors: u32,
    /// Sector size of the target in bytes.
    pub sector: u64,
    /// Measured time of every test; `None` uses the file's.
    pub time: Option<Nanos>,
    /// The disk of the file to which I/Os are limited; `None` for all disks.
    pub disk: Option<DiskChoice<'a>>,
    /// True if the target is a file created for this run: it is filled first, as Iometer prepares
    /// its test file.
    pub prepare: bool,
    /// True if the user chose the data pattern.
    pub own_pattern: bool,
}

/// The disk of a file to which I/Os are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskChoice<'a> {
    /// The tests as if the file had this disk alone.
    Alone(&'a str),
    /// The I/Os to this disk in the tests of all disks; the other disks are mapped to other
    /// targets. Steps keep the numbers of the tests, so that those of one test start together.
    Among(&'a str),
}

impl<'a> DiskChoice<'a> {
    /// Returns the name of the disk in the file.
    pub fn name(self) -> &'a str {
        match self {
            DiskChoice::Alone(name) | DiskChoice::Among(name) => name,
        }
    }
}

/// A planned configuration: its steps, and the test behind each measuring step.
#[derive(Debug, Clone, PartialEq)]
pub struct TestPlan {
    /// The sequence, without the name of a file.
    pub sequence: Sequence,
    /// The test of each measuring step, in their order.
    pub tests: Vec<IometerTest>,
}

/// Plans a configuration.
///
/// # Errors
/// The configuration cannot be applied to one target; the error names the line.
pub fn plan(
    config: &IometerConfig,
    mut remarks: Vec<SequenceRemark>,
    options: PlanOptions<'_>,
) -> Result<TestPlan, ParseError> {
    let (tests, numbers) = tests_on(config, options, &mut remarks)?;
    let setup = config.setup.clone().unwrap_or_default();
    let times = times(&setup, options)?;
    let mut steps = Vec::with_capacity(tests.len() + 1);
    for (test, number) in tests.iter().zip(&numbers) {
        let step = step(config, test, times, options)?;
        steps.push(SequenceStep { number: *number, ..step });
    }
    if options.prepare {
        let number = numbers.first().copied().flatten().map(|_| PREPARATION);
        steps.insert(0, SequenceStep { number, ..preparation(&steps, options) });
    }
    remarks.extend(difference_remarks(config, &tests, options));
    let title = setup.description.filter(|text| !text.is_empty());
    let sequence = Sequence {
        tool: "iometer".into(),
        version: Some(config.version.to_string()),
        title: title.unwrap_or_else(|| "Iometer configuration".into()),
        disk: options.disk.map(|disk| disk.name().to_owned()),
        steps,
        remarks: without_duplicates(remarks),
        ..Sequence::default()
    };
    Ok(TestPlan { sequence, tests })
}

/// Number of the step that fills a file, where steps have the numbers of all disks' tests.
const PREPARATION: u32 = 1;

/// Returns the tests and the numbers of their steps; `None` for steps numbered by position.
fn tests_on(
    config: &IometerConfig,
    options: PlanOptions<'_>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<(Vec<IometerTest>, Vec<Option<u32>>), ParseError> {
    let alone = match options.disk {
        Some(DiskChoice::Alone(name)) => Some(name),
        _ => None,
    };
    let tests = tests_of(config, options.processors, alone, remarks)?;
    let Some(DiskChoice::Among(name)) = options.disk else {
        let numbers = vec![None; tests.len()];
        return Ok((tests, numbers));
    };
    let on_disk = tests.iter().zip(PREPARATION + 1..);
    let on_disk = on_disk.filter_map(|(test, number)| Some((test.of_disk(name)?, Some(number))));
    let (tests, numbers): (Vec<IometerTest>, Vec<Option<u32>>) = on_disk.unzip();
    if tests.is_empty() {
        Err(ParseError::whole(format!("no test uses a disk '{name}'", name = excerpt(name))))
    } else {
        Ok((tests, numbers))
    }
}

/// Returns a step that writes everything the tests touch once.
fn preparation(steps: &[SequenceStep], options: PlanOptions<'_>) -> SequenceStep {
    let stream = IoStream::new(Op::Write, Order::Sequential(Cursor::Own), Bytes::kib(128));
    let mut load = SequenceLoad::new(vec![stream], Demand::new(1, 8), SequenceEnd::laps(1));
    let first = steps.first().map(|step| step.load.extent).unwrap_or_default();
    let mut loads = steps.iter().flat_map(SequenceStep::loads);
    if loads.all(|(_, load)| load.extent == first) {
        load.extent = first;
    }
    if !options.own_pattern {
        load.data_pattern = steps.first().and_then(|step| step.load.data_pattern.clone());
    }
    SequenceStep::new("Prepare the file", load).preparing()
}

fn without_duplicates(remarks: Vec<SequenceRemark>) -> Vec<SequenceRemark> {
    let mut seen = BTreeSet::new();
    let is_new = |remark: &SequenceRemark| seen.insert((remark.line, remark.text.clone()));
    remarks.into_iter().filter(is_new).collect()
}

/// Times of every test.
#[derive(Clone, Copy)]
struct TestTimes {
    measured: Nanos,
    ramp: Nanos,
}

fn times(setup: &TestSetup, options: PlanOptions<'_>) -> Result<TestTimes, ParseError> {
    let of_file = setup.run_time.map(|time| Nanos::from_secs(time.as_secs()));
    let measured = options.time.or(of_file.filter(|time| time.0 > 0)).ok_or_else(|| {
        ParseError::whole(
            "the file has no run time, so the test would run until stopped; give --time",
        )
    })?;
    Ok(TestTimes { measured, ramp: Nanos::from_secs(setup.ramp_s.unwrap_or(0).into()) })
}

fn step(
    config: &IometerConfig,
    test: &IometerTest,
    times: TestTimes,
    options: PlanOptions<'_>,
) -> Result<SequenceStep, ParseError> {
    let groups = worker_groups(config, test)?;
    let mut loads = Vec::with_capacity(groups.len());
    for group in &groups {
        let load = load(config, group, times, options)?;
        loads.push(NamedLoad { name: group.name(test), load });
    }
    let labels: Vec<String> = groups
        .iter()
        .zip(&loads)
        .map(|(group, named)| step_label(&group.first().spec, named.load.demand))
        .collect();
    let Some(step) = SequenceStep::at_once(labels.join(" + "), loads) else {
        return Err(ParseError::whole("a test without an active worker"));
    };
    let values = [
        joined_values(&groups, |active| active.spec.clone()),
        test.active.len().to_string(),
        joined_values(&groups, |active| active.targets.len().to_string()),
        joined_values(&groups, |active| active.depth.to_string()),
    ];
    Ok(DIMENSIONS.iter().zip(values).fold(step, |step, (name, value)| step.dimension(name, value)))
}

/// Names a step by its access specification and demand. The names of specifications that this
/// program writes end with the demand.
fn step_label(spec: &str, demand: Demand) -> String {
    if spec.ends_with(&demand.to_string()) { spec.to_owned() } else { format!("{spec}, {demand}") }
}

/// Joins a value of every group of workers; one value if all are equal.
fn joined_values(groups: &[WorkerGroup<'_>], value: impl Fn(&ActiveWorker) -> String) -> String {
    let mut values: Vec<String> = groups.iter().map(|group| value(group.first())).collect();
    if values.iter().all(|value| *value == values[0]) {
        values.truncate(1);
    }
    values.join(" + ")
}

fn load(
    config: &IometerConfig,
    group: &WorkerGroup<'_>,
    times: TestTimes,
    options: PlanOptions<'_>,
) -> Result<SequenceLoad, ParseError> {
    let (first, spec) = (group.first(), group.spec);
    let workers = u32::try_from(group.workers.len()).unwrap_or(u32::MAX);
    let targets = u32::try_from(first.targets.len()).unwrap_or(u32::MAX);
    let demand = Demand::new(workers, first.depth.saturating_mul(targets));
    let mut load =
        SequenceLoad::new(streams(spec, options.sector), demand, SequenceEnd::time(times.measured));
    load.extent = extent(first, options.sector);
    load.pace = pace(spec, u64::from(workers) * u64::from(targets))?;
    load.ramp = times.ramp;
    // Each worker has a row in the results.
    load.by_thread = workers > 1;
    load.data_pattern = (!options.own_pattern).then(|| data_pattern(config, first.area.pattern));
    Ok(load)
}

/// Workers of a test with equal settings.
struct WorkerGroup<'a> {
    spec: &'a AccessSpec,
    /// At least one worker.
    workers: Vec<&'a ActiveWorker>,
}

impl WorkerGroup<'_> {
    fn first(&self) -> &ActiveWorker {
        self.workers[0]
    }

    fn fits(&self, other: &ActiveWorker, spec: &AccessSpec) -> bool {
        let first = self.first();
        spec.lines == self.spec.lines
            && other.depth == first.depth
            && other.targets.len() == first.targets.len()
            && other.area == first.area
    }

    /// Returns the names of the workers, with their managers if a name occurs twice.
    fn name(&self, test: &IometerTest) -> String {
        let is_twice = |name: &str| test.active.iter().filter(|a| a.worker == name).count() > 1;
        let name = |active: &&ActiveWorker| {
            if is_twice(&active.worker) {
                format!("{}: {}", active.manager_name, active.worker)
            } else {
                active.worker.clone()
            }
        };
        self.workers.iter().map(name).collect::<Vec<_>>().join(" + ")
    }
}

/// Groups the active workers of a test by equal settings.
fn worker_groups<'a>(
    config: &'a IometerConfig,
    test: &'a IometerTest,
) -> Result<Vec<WorkerGroup<'a>>, ParseError> {
    let mut groups: Vec<WorkerGroup<'a>> = Vec::new();
    for active in &test.active {
        let spec = config.spec(&active.spec).ok_or_else(|| {
            ParseError::at(
                active.line,
                format!("access specification '{}' is missing", active.spec),
            )
        })?;
        match groups.iter_mut().find(|group| group.fits(active, spec)) {
            Some(group) => group.workers.push(active),
            None => groups.push(WorkerGroup { spec, workers: vec![active] }),
        }
    }
    Ok(groups)
}

/// Returns for each active worker of a test the index of its load.
pub fn loads_of_workers(config: &IometerConfig, test: &IometerTest) -> Vec<usize> {
    let groups = worker_groups(config, test).unwrap_or_default();
    let load_of = |active: &ActiveWorker| {
        let is_active = |worker: &&ActiveWorker| std::ptr::eq(*worker, active);
        groups.iter().position(|group| group.workers.iter().any(is_active)).unwrap_or(0)
    };
    test.active.iter().map(load_of).collect()
}

fn extent(active: &ActiveWorker, sector: u64) -> Extent {
    let DiskArea { sectors, start, .. } = active.area;
    let bytes = |sectors: u64| Amount::Bytes(Bytes(sectors.saturating_mul(sector)));
    // Iometer, too, ends a size beyond the end of the disk there.
    Extent {
        from: bytes(start),
        length: (sectors > 0).then(|| bytes(sectors)),
        clipped: true,
        block: None,
    }
}

/// Returns the streams of a specification, up to four per row: random and sequential reads and
/// writes.
fn streams(spec: &AccessSpec, sector: u64) -> Vec<IoStream> {
    let has_sequential = |row: &AccessLine, op| weight(row, op, false) > 0;
    let sequential = spec.lines.iter().flat_map(|row| [Op::Read, Op::Write].map(|op| (row, op)));
    let sequential = sequential.filter(|(row, op)| has_sequential(row, *op)).count();
    let cursor = if sequential > 1 { Cursor::Shared } else { Cursor::Own };
    let mut streams = Vec::new();
    for row in &spec.lines {
        let align = if row.align == 0 { sector } else { row.align };
        for op in [Op::Read, Op::Write] {
            for order in [Order::Random, Order::Sequential(cursor)] {
                let weight = weight(row, op, order == Order::Random);
                let stream = IoStream::new(op, order, Bytes(row.size)).with_weight(weight);
                let alignment = (align != row.size).then_some(Bytes(align));
                streams.push(IoStream { alignment, ..stream });
            }
        }
    }
    streams.retain(|stream| stream.weight > 0);
    let weights = streams.iter().map(|stream| stream.weight);
    let divisor = weights.fold(0, greatest_common_divisor).max(1);
    streams.iter_mut().for_each(|stream| stream.weight /= divisor);
    streams
}

fn weight(row: &AccessLine, op: Op, random: bool) -> u32 {
    let share = |percent: u8, yes: bool| u32::from(if yes { percent } else { 100 - percent });
    u32::from(row.of_size) * share(row.reads, op == Op::Read) * share(row.random, random)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Returns the pace of all rows: bursts of every queue together.
fn pace(spec: &AccessSpec, queues: u64) -> Result<Pace, ParseError> {
    let rows = || spec.lines.iter().filter(|row| row.of_size > 0);
    let Some(first) = rows().next() else { return Ok(Pace::Closed) };
    if rows().all(|row| row.delay_ms == 0) {
        return Ok(Pace::Closed);
    }
    let other = rows().find(|row| (row.delay_ms, row.burst) != (first.delay_ms, first.burst));
    if let Some(other) = other {
        return Err(ParseError::at(
            other.line.0,
            format!(
                "access specification '{}' has rows with different delays or bursts: their I/Os \
                 cannot be drawn as Iometer does; give all rows the same delay and burst",
                spec.name
            ),
        ));
    }
    let delay = Nanos::from_millis(first.delay_ms);
    Ok(Pace::Burst { ios: first.burst.saturating_mul(queues), delay })
}

/// Returns the data pattern that the version writes.
fn data_pattern(config: &IometerConfig, pattern: Option<u8>) -> DataPattern {
    match (config.version.dialect(), pattern) {
        (Dialect::Y2006, None) | (_, Some(2)) => DataPattern::RandomUnique,
        (Dialect::Y2008, None) | (_, Some(1)) => DataPattern::RandomOnce,
        (_, _) => DataPattern::Repeating(vec![0x49]),
    }
}

fn difference_remarks(
    config: &IometerConfig,
    tests: &[IometerTest],
    options: PlanOptions<'_>,
) -> Vec<SequenceRemark> {
    let mut remarks = Vec::new();
    add_access_remarks(config, tests, &mut remarks);
    add_worker_remarks(tests, &mut remarks);
    if !options.own_pattern {
        add_data_remarks(config, tests, &mut remarks);
    }
    remarks
}

fn add_access_remarks(
    config: &IometerConfig,
    tests: &[IometerTest],
    remarks: &mut Vec<SequenceRemark>,
) {
    let active = || tests.iter().flat_map(|test| &test.active);
    let run: BTreeSet<&str> = active().map(|active| active.spec.as_str()).collect();
    let specs = || config.specs.iter().flatten().filter(|spec| run.contains(spec.name.as_str()));
    for spec in specs() {
        if let Some(row) = spec.lines.iter().find(|row| row.reply > 0) {
            let text = format!("'{}': replies exist only on networks and are ignored", spec.name);
            remarks.push(SequenceRemark::at(row.line.0, text));
        }
    }
    if specs().flat_map(|spec| &spec.lines).any(|row| row.random > 0 && row.random < 100) {
        let text = "sequential I/Os of a mix continue where the last sequential I/O ended; in \
            Iometer where the last I/O ended, random or not";
        remarks.push(SequenceRemark::whole(text));
    }
    let is_sequential = |name: &str| {
        config.spec(name).is_some_and(|spec| spec.lines.iter().any(|row| row.random < 100))
    };
    let shares = |test: &IometerTest| {
        let groups = worker_groups(config, test).unwrap_or_default();
        groups.iter().any(|group| group.workers.len() > 1 && is_sequential(&group.first().spec))
    };
    if tests.iter().any(shares) {
        let text = "workers with equal settings share one sequential position, so that no block is \
            read or written twice; in Iometer each begins at the same sector";
        remarks.push(SequenceRemark::whole(text));
    }
}

fn add_worker_remarks(tests: &[IometerTest], remarks: &mut Vec<SequenceRemark>) {
    let active = || tests.iter().flat_map(|test| &test.active);
    for worker in active().filter(|active| active.connection_rate) {
        let text = format!(
            "'{}': targets are not closed and reopened; the test connection rate is ignored",
            worker.worker
        );
        remarks.push(SequenceRemark::at(worker.line, text));
    }
    let managers: BTreeSet<&str> = active().map(|a| a.manager_name.as_str()).collect();
    if managers.len() > 1 {
        let names: Vec<&str> = managers.into_iter().collect();
        let text = format!("the workers of managers {} are threads of this host", names.join(", "));
        remarks.push(SequenceRemark::whole(text));
    }
    let disks: BTreeSet<&str> = active().flat_map(|a| &a.targets).map(String::as_str).collect();
    if disks.len() > 1 {
        let names: Vec<String> =
            disks.into_iter().map(|name| format!("'{}'", excerpt(name))).collect();
        remarks.push(SequenceRemark::whole(format!(
            "the disks {} are all mapped to the one target: the outstanding I/Os of a worker on \
             its disks are added up; --disk NAME runs those of one disk",
            names.join(", ")
        )));
    }
}

fn add_data_remarks(
    config: &IometerConfig,
    tests: &[IometerTest],
    remarks: &mut Vec<SequenceRemark>,
) {
    // What is said of data concerns writes only.
    let writes = |active: &&ActiveWorker| {
        let spec = config.specs.iter().flatten().find(|spec| spec.name == active.spec);
        spec.is_none_or(|spec| spec.lines.iter().any(|line| line.of_size > 0 && line.reads < 100))
    };
    let active = tests.iter().flat_map(|test| &test.active).filter(writes);
    let patterns: BTreeSet<Option<u8>> = active.map(|active| active.area.pattern).collect();
    for pattern in patterns {
        let text = match (config.version.dialect(), pattern) {
            (Dialect::Y2006, None) => continue,
            (Dialect::Y2008, None) => {
                "2008 writes quasi-random data that repeats in part: here one random buffer \
                 is written repeatedly (random-once)"
            }
            (_, Some(2)) => {
                "data pattern 'full random' takes its data from a random buffer of 16 MiB; here \
                 every sector differs from every other (random-unique)"
            }
            (_, Some(1)) => {
                "data pattern 'pseudo-random': one random buffer is written \
                repeatedly (random-once)"
            }
            (_, _) => {
                "data pattern 'repeating bytes' fills each I/O with one byte, another one \
                each time; here every I/O has the same byte. Drives that compress or deduplicate \
                write almost nothing"
            }
        };
        remarks.push(SequenceRemark::whole(text));
    }
    let seeded = config.managers.iter().flatten().flat_map(|manager| &manager.workers);
    let used = |worker: &&super::config::IometerWorker| {
        let outstanding = worker.defaults.as_ref().and_then(|defaults| defaults.outstanding);
        outstanding.and_then(|o| o.fixed_seed).is_some_and(|seed| seed.used)
    };
    for worker in seeded.filter(used) {
        let text = format!(
            "'{}': its fixed seed gives other addresses here; use --seed to repeat a run",
            worker.name
        );
        remarks.push(SequenceRemark::at(worker.line.0, text));
    }
}
