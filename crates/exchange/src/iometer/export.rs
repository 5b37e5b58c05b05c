//! Exports loads as a configuration of Iometer.
//!
//! Loads that differ in settings of workers (threads, queue depth, range, data) get workers of
//! their own. While one load runs, the workers of the others have the access specification `Idle`,
//! so that one load runs at a time, in the given order.

use super::config::{
    AccessLine, AccessSpec, AssignedSpec, Assignment, DiskArea, IDLE, IometerConfig,
    IometerManager, IometerTarget, IometerWorker, LineNumber, OutstandingIos, RecordedRows,
    RunTime, TargetDefaults, TestSetup, TestType, WorkerCount,
};
use super::version::{Dialect, IometerVersion};
use steadfast_domain::stimulus::{DataPattern, Order, Pace};
use steadfast_domain::{IoStream, Nanos, Op, Stimulus};

/// Longest name of an access specification, in characters.
const NAME_MAX: usize = 79;

/// Heading and target of a configuration.
#[derive(Debug, Clone)]
pub struct ConfigHeading<'a> {
    /// Version that is to read the file.
    pub version: IometerVersion,
    /// Test description.
    pub description: &'a str,
    /// Disk of every worker.
    pub disk: &'a str,
    /// Sector size of the disk in bytes.
    pub sector: u64,
}

/// A configuration, and remarks on what it cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigExport {
    /// The configuration; `None` if no load can be expressed.
    pub config: Option<IometerConfig>,
    /// One sentence per load that is left out or differs.
    pub remarks: Vec<String>,
}

/// Settings of a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WorkerSettings {
    threads: u32,
    depth: u32,
    start: u64,
    sectors: u64,
    pattern: Option<u8>,
}

struct ExportedLoad<'a> {
    label: &'a str,
    settings: WorkerSettings,
    spec: AccessSpec,
    /// Measured time in seconds.
    time: u64,
    /// Time before it in seconds.
    ramp: u64,
}

impl ExportedLoad<'_> {
    fn has_times_of(&self, other: &ExportedLoad<'_>) -> bool {
        self.time == other.time && self.ramp == other.ramp
    }
}

/// Exports these loads, each with its label, in order.
pub fn export<'s>(
    heading: &ConfigHeading<'_>,
    loads: impl IntoIterator<Item = (&'s str, &'s Stimulus)>,
) -> ConfigExport {
    let mut remarks = Vec::new();
    let mut expressed: Vec<ExportedLoad<'_>> = Vec::new();
    for (label, stimulus) in loads {
        match express(heading, label, stimulus, &mut remarks) {
            Err(why) => remarks.push(format!("{label}: left out: {why}")),
            Ok(load) => expressed.push(load),
        }
    }
    // A configuration has one run time and one ramp up time: those of most loads, and of equally
    // many those of the first.
    let count =
        |one: &&ExportedLoad<'_>| expressed.iter().filter(|other| other.has_times_of(one)).count();
    let Some(typical) = expressed.iter().rev().max_by_key(count) else {
        return ConfigExport { config: None, remarks };
    };
    for load in expressed.iter().filter(|load| !load.has_times_of(typical)) {
        remarks.push(format!(
            "{}: left out: it runs {} s after {} s unmeasured, most loads {} s after {} s, and a \
             configuration has one run time and one ramp up time",
            load.label, load.time, load.ramp, typical.time, typical.ramp
        ));
    }
    let loads: Vec<&ExportedLoad<'_>> =
        expressed.iter().filter(|load| load.has_times_of(typical)).collect();
    ConfigExport { config: Some(config(heading, &loads, typical)), remarks }
}

/// Returns the configuration of loads that all have the times of `typical`.
fn config(
    heading: &ConfigHeading<'_>,
    loads: &[&ExportedLoad<'_>],
    typical: &ExportedLoad<'_>,
) -> IometerConfig {
    let mut distinct: Vec<WorkerSettings> = Vec::new();
    for load in loads {
        if !distinct.contains(&load.settings) {
            distinct.push(load.settings);
        }
    }
    let mut workers = Vec::new();
    for settings in distinct {
        let spec = |load: &&ExportedLoad<'_>| {
            if load.settings == settings { load.spec.name.clone() } else { IDLE.to_owned() }
        };
        let specs: Vec<String> = loads.iter().map(spec).collect();
        for _ in 0..settings.threads {
            let name = format!("Worker {}", workers.len() + 1);
            workers.push(worker(name, settings, &specs, heading));
        }
    }
    let mut specs: Vec<AccessSpec> = Vec::new();
    for load in loads {
        if !specs.iter().any(|spec| spec.name == load.spec.name) {
            specs.push(load.spec.clone());
        }
    }
    let manager = IometerManager {
        id: 1,
        name: "localhost".into(),
        address: Some(String::new()),
        workers,
        line: LineNumber(0),
    };
    IometerConfig {
        version: heading.version.clone(),
        setup: Some(setup(heading, typical.time, typical.ramp)),
        specs: Some(specs),
        managers: Some(vec![manager]),
    }
}

fn setup(heading: &ConfigHeading<'_>, time: u64, ramp: u64) -> TestSetup {
    let part = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
    TestSetup {
        description: Some(clean(heading.description)),
        run_time: Some(RunTime {
            hours: part(time / 3600),
            minutes: part(time / 60 % 60),
            seconds: part(time % 60),
        }),
        ramp_s: Some(part(ramp)),
        disk_workers: Some(WorkerCount::Count(0)),
        network_workers: Some(WorkerCount::Count(0)),
        record: Some(RecordedRows::All),
        test_type: Some(TestType::Normal),
        ..TestSetup::default()
    }
}

fn worker(
    name: String,
    settings: WorkerSettings,
    specs: &[String],
    heading: &ConfigHeading<'_>,
) -> IometerWorker {
    let WorkerSettings { depth, start, sectors, pattern, .. } = settings;
    let defaults = TargetDefaults {
        outstanding: Some(OutstandingIos {
            ios: depth,
            connection_rate: false,
            transactions: 1,
            fixed_seed: None,
        }),
        disk: Some(DiskArea { sectors, start, pattern }),
        ..TargetDefaults::default()
    };
    let assigned = |name: &String| AssignedSpec { name: name.clone(), line: LineNumber(0) };
    IometerWorker {
        defaults: Some(defaults),
        specs: Some(specs.iter().map(assigned).collect()),
        targets: Some(vec![IometerTarget::disk(clean(heading.disk))]),
        ..IometerWorker::disk(name, LineNumber(0))
    }
}

/// Returns a name that fits on a line of its own.
fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text.replace(',', ";").trim().trim_start_matches('\'').to_owned()
}

/// Returns a load as Iometer has it, or the reason why it has none.
fn express<'a>(
    heading: &ConfigHeading<'_>,
    label: &'a str,
    stimulus: &Stimulus,
    remarks: &mut Vec<String>,
) -> Result<ExportedLoad<'a>, String> {
    check_expressible(stimulus)?;
    let range = stimulus.active_range;
    let sectors = |bytes: u64| bytes / heading.sector.max(1);
    let (delay_ms, burst) = burst_columns(stimulus)?;
    let rows = rows(stimulus, heading.sector)?.into_iter();
    let lines: Vec<AccessLine> = rows.map(|row| AccessLine { delay_ms, burst, ..row }).collect();
    let name: String = clean(label).chars().take(NAME_MAX).collect();
    if differs_by_rounding(stimulus, &lines) {
        remarks.push(format!("{label}: shares are rounded to whole percent"));
    }
    let settings = WorkerSettings {
        threads: stimulus.demand.threads,
        depth: stimulus.demand.depth,
        start: sectors(range.start.0),
        sectors: sectors(range.length.0),
        pattern: pattern(heading, &stimulus.data_pattern, stimulus.alters())?,
    };
    let time = whole_seconds(stimulus.until.time.unwrap_or_default(), "the time")?;
    let ramp = whole_seconds(stimulus.ramp, "the ramp")?;
    let spec = AccessSpec { name, assignment: Assignment::Nobody, lines, line: LineNumber(0) };
    Ok(ExportedLoad { label, settings, spec, time, ramp })
}

fn whole_seconds(time: Nanos, what: &str) -> Result<u64, String> {
    match time.0 % 1_000_000_000 {
        0 => Ok(time.0 / 1_000_000_000),
        _ => Err(format!("{what} of {time} is not in whole seconds")),
    }
}

/// Returns an error with the reason if Iometer has no such load.
fn check_expressible(stimulus: &Stimulus) -> Result<(), String> {
    let odd = |stream: &&IoStream| {
        !stream.durability.is_cached()
            || !stream.distribution.is_uniform()
            || !matches!(stream.op, Op::Read | Op::Write)
    };
    if let Some(stream) = stimulus.streams.iter().find(odd) {
        return Err(format!("'{stream}' is neither a plain read nor a plain write"));
    }
    if !stimulus.zones.is_empty() || stimulus.streams.iter().any(|s| !s.zones.is_empty()) {
        return Err("it has LBA zones".into());
    }
    if stimulus.active_range.segments.is_some() {
        return Err("its active range is scattered over segments".into());
    }
    match stimulus.until.time {
        Some(_) if stimulus.until.bytes.is_none() && stimulus.until.ios.is_none() => Ok(()),
        _ => Err("it ends after an amount of I/O; a test of Iometer ends only after a time".into()),
    }
}

fn burst_columns(stimulus: &Stimulus) -> Result<(u64, u64), String> {
    match &stimulus.pace {
        Pace::Closed => Ok((0, 1)),
        Pace::Burst { ios, delay } => {
            let queues = u64::from(stimulus.demand.threads).max(1);
            if !ios.is_multiple_of(queues) || delay.0 % 1_000_000 != 0 {
                return Err(
                    "its bursts are no multiple of the workers, or its delay is not in whole ms"
                        .into(),
                );
            }
            Ok((delay.0 / 1_000_000, ios / queues))
        }
        Pace::Fixed { .. } | Pace::Poisson { .. } | Pace::Empirical(_) | Pace::ByStream(_) => {
            Err("it is paced by a rate; Iometer has no rates".into())
        }
    }
}

/// Returns the number of a data pattern; `None` if the version has a fixed pattern.
fn pattern(
    heading: &ConfigHeading<'_>,
    pattern: &DataPattern,
    writes: bool,
) -> Result<Option<u8>, String> {
    let number = match pattern {
        DataPattern::RandomUnique => 2,
        DataPattern::RandomOnce => 1,
        DataPattern::Repeating(_) => 0,
        _ if !writes => 2,
        other => return Err(format!("Iometer does not write data pattern {other}")),
    };
    match heading.version.dialect() {
        Dialect::V1_1 => Ok(Some(number)),
        Dialect::Y2006 | Dialect::Y2008 if number == 2 || !writes => Ok(None),
        dialect_without => Err(format!(
            "only version 1.1.0 has a choice of data ({dialect_without:?} has none), and this is \
             {pattern}"
        )),
    }
}

/// Weights of the streams of one transfer size and alignment.
#[derive(Default)]
struct SizeWeights {
    size: u64,
    align: u64,
    random_reads: u64,
    sequential_reads: u64,
    random_writes: u64,
    sequential_writes: u64,
}

/// A row without its share, and the weight from which the share follows.
struct WeightedRow {
    row: AccessLine,
    weight: u64,
}

/// Returns one row per transfer size, alignment and direction. Reads and writes with the same share
/// of random I/Os are combined. The shares of the rows add up to 100.
fn rows(stimulus: &Stimulus, sector: u64) -> Result<Vec<AccessLine>, String> {
    let mut sizes: Vec<SizeWeights> = Vec::new();
    for stream in stimulus.streams.iter().filter(|stream| stream.weight > 0) {
        let align = stream.alignment().0;
        let align = if align == sector && align != stream.size.0 { 0 } else { align };
        let size = stream.size.0;
        let known = sizes.iter().position(|other| other.size == size && other.align == align);
        let index = known.unwrap_or_else(|| {
            sizes.push(SizeWeights { size, align, ..SizeWeights::default() });
            sizes.len() - 1
        });
        let weights = &mut sizes[index];
        *match (stream.op == Op::Write, stream.order == Order::Random) {
            (false, true) => &mut weights.random_reads,
            (false, false) => &mut weights.sequential_reads,
            (true, true) => &mut weights.random_writes,
            (true, false) => &mut weights.sequential_writes,
        } += u64::from(stream.weight);
    }
    let mut rows: Vec<WeightedRow> = Vec::new();
    for of_size in sizes {
        let SizeWeights { size, align, random_reads, random_writes, .. } = of_size;
        let reads = random_reads + of_size.sequential_reads;
        let writes = random_writes + of_size.sequential_writes;
        let mut push = |weight, reads_percent, random_percent| {
            let row =
                AccessLine { align, ..AccessLine::plain(size, reads_percent, random_percent) };
            rows.push(WeightedRow { row, weight });
        };
        if random_reads * writes == random_writes * reads {
            let all = reads + writes;
            push(all, percent(reads, all), percent(random_reads + random_writes, all));
        } else {
            push(reads, 100, percent(random_reads, reads));
            push(writes, 0, percent(random_writes, writes));
        }
    }
    round_shares(rows)
}

/// Returns a share, rounded to whole percent.
fn percent(part: u64, whole: u64) -> u8 {
    let percent = (part * 100 + whole / 2).checked_div(whole).unwrap_or(0);
    u8::try_from(percent).unwrap_or(100)
}

/// Rounds shares to whole percent that add up to 100; the remainder goes to the rows with the
/// largest fractions.
fn round_shares(rows: Vec<WeightedRow>) -> Result<Vec<AccessLine>, String> {
    let all: u64 = rows.iter().map(|row| row.weight).sum();
    if rows.len() > 100 || all == 0 {
        return Err(format!("{} rows; an access specification has 1 to 100", rows.len()));
    }
    let mut shares: Vec<u64> = rows.iter().map(|row| row.weight * 100 / all).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rows[*at].weight * 100 % all));
    let left = 100 - shares.iter().sum::<u64>();
    order.iter().take(left as usize).for_each(|at| shares[*at] += 1);
    let with_share = |(weighted, share): (WeightedRow, u64)| AccessLine {
        of_size: u8::try_from(share).unwrap_or(100),
        ..weighted.row
    };
    let lines = rows.into_iter().zip(shares).map(with_share);
    Ok(lines.filter(|line| line.of_size > 0).collect())
}

/// Returns true if the rows differ from the streams because of rounding.
fn differs_by_rounding(stimulus: &Stimulus, rows: &[AccessLine]) -> bool {
    let all: u64 = stimulus.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    stimulus.streams.iter().any(|stream| {
        let is_random = stream.order == Order::Random;
        let same = rows.iter().filter(|row| row.size == stream.size.0);
        let share = |row: &AccessLine| {
            let of = |percent: u8, yes: bool| u64::from(if yes { percent } else { 100 - percent });
            u64::from(row.of_size)
                * of(row.reads, stream.op == Op::Read)
                * of(row.random, is_random)
        };
        let written: u64 = same.map(share).sum();
        let similar = stimulus.streams.iter().filter(|other| {
            other.size == stream.size
                && other.op == stream.op
                && (other.order == Order::Random) == is_random
        });
        let weight: u64 = similar.map(|other| u64::from(other.weight)).sum();
        u128::from(written) * u128::from(all) != u128::from(weight) * 1_000_000
    })
}
