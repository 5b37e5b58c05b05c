//! Expands a configuration into the tests that Iometer runs for it, in Iometer's order.
//!
//! All tests of the test type are run with the first access specification of every worker, then
//! with the second, and so on. A worker is idle if it has no targets or its list of access
//! specifications has ended.

use super::config::{
    Assignment, Cycling, DepthCycling, IDLE, IometerConfig, IometerTarget, IometerWorker, StepKind,
    TestType, WorkerCount,
};
use crate::parse_error::ParseError;
use std::collections::BTreeSet;
use steadfast_domain::sequence::SequenceRemark;
use steadfast_domain::text::excerpt;

/// Maximum number of tests of a configuration.
const TESTS_MAX: usize = 10_000;

/// One test and its active workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerTest {
    /// Index of the access specification in the workers' lists.
    pub access: usize,
    /// Active workers, in order.
    pub active: Vec<ActiveWorker>,
}

/// A worker's part in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveWorker {
    /// Index among the disk workers of the file.
    pub seat: usize,
    /// Index of its manager in the list.
    pub manager: usize,
    /// Name of the manager.
    pub manager_name: String,
    /// Name of the worker.
    pub worker: String,
    /// Line of the worker in the file.
    pub line: u64,
    /// Name of its access specification.
    pub spec: String,
    /// Targets in use.
    pub targets: Vec<String>,
    /// Outstanding I/Os per target.
    pub depth: u32,
    /// Number of sectors in use (0 for all), and the first sector.
    pub area: (u64, u64),
    /// 1.1.0: number of the data pattern.
    pub pattern: Option<u8>,
    /// True if targets are to be closed and reopened during the test.
    pub connection_rate: bool,
}

/// A disk worker, with defaults filled in.
struct DiskWorker {
    specs: Vec<String>,
    targets: Vec<String>,
    taking_part: ActiveWorker,
}

/// Processors of the host, and the disk to which the tests are limited.
#[derive(Debug, Clone, Copy)]
struct ExpansionOptions<'a> {
    processors: u32,
    disk: Option<&'a str>,
}

/// Returns the tests of a configuration on a host with `processors` processors. With `disk`, only
/// I/Os to the disk of this name in the file are included.
///
/// # Errors
/// There is nothing to run, an access specification is not defined, or there are too many tests.
pub fn tests_of(
    config: &IometerConfig,
    processors: u32,
    disk: Option<&str>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<IometerTest>, ParseError> {
    let seats = seats(config, ExpansionOptions { processors, disk }, remarks)?;
    let accesses = seats.iter().map(|seat| seat.specs.len()).max().unwrap_or(0);
    let mut tests = Vec::new();
    for access in 0..accesses {
        let can: Vec<&DiskWorker> = seats
            .iter()
            .filter(|seat| !seat.targets.is_empty())
            .filter(|seat| seat.specs.get(access).is_some_and(|name| name != IDLE))
            .collect();
        if !can.is_empty() {
            for active in cycled(config, &can)? {
                tests.push(IometerTest { access, active: at_access(active, &can, access) });
            }
        }
        if tests.len() > TESTS_MAX {
            let what = format!("the cycling makes more than {TESTS_MAX} tests");
            return Err(ParseError::whole(what));
        }
    }
    if tests.is_empty() {
        return Err(ParseError::whole(
            "there is nothing to run: no disk worker has both an access specification and a \
             target; assign them in Iometer and save the file again",
        ));
    }
    Ok(tests)
}

impl IometerTest {
    /// Returns the part of the test that goes to one disk of the file, or `None` if no active
    /// worker uses that disk.
    pub fn of_disk(&self, disk: &str) -> Option<IometerTest> {
        let own = self.active.iter().filter_map(|active| {
            let targets = active.targets.iter().filter(|name| is_same_disk(name, disk));
            let targets: Vec<String> = targets.cloned().collect();
            (!targets.is_empty()).then(|| ActiveWorker { targets, ..active.clone() })
        });
        let active: Vec<ActiveWorker> = own.collect();
        (!active.is_empty()).then_some(IometerTest { access: self.access, active })
    }
}

/// Returns true if two names in a file mean the same disk, as `C:` and `c:Data` do.
pub fn is_same_disk(a: &str, b: &str) -> bool {
    drive(a) == drive(b)
}

/// Index of the worker, number of its targets, and depth (`None` for the worker's own).
type WorkerChoice = Vec<(usize, usize, Option<u32>)>;

fn at_access(choice: WorkerChoice, can: &[&DiskWorker], access: usize) -> Vec<ActiveWorker> {
    let take = |(place, targets, depth): (usize, usize, Option<u32>)| {
        let seat = can[place];
        ActiveWorker {
            spec: seat.specs[access].clone(),
            targets: seat.targets[..targets].to_vec(),
            depth: depth.unwrap_or(seat.taking_part.depth),
            ..seat.taking_part.clone()
        }
    };
    choice.into_iter().filter(|(_, targets, _)| *targets > 0).map(take).collect()
}

fn cycled(config: &IometerConfig, can: &[&DiskWorker]) -> Result<Vec<WorkerChoice>, ParseError> {
    let setup = config.setup.clone().unwrap_or_default();
    let one = Cycling { start: 1, step: 1, kind: StepKind::Linear };
    let workers = counts(setup.worker_cycling.unwrap_or(one));
    let disks = counts(setup.disk_cycling.unwrap_or(one));
    let all = |place: usize, depth| (place, can[place].targets.len(), depth);
    let everybody = |depth| (0..can.len()).map(|place| all(place, depth)).collect::<WorkerChoice>();
    let each = |count: u32, depth| -> WorkerChoice {
        let capped = |place: usize| can[place].targets.len().min(count as usize);
        (0..can.len()).map(|place| (place, capped(place), depth)).collect()
    };
    Ok(match setup.test_type.unwrap_or(TestType::Normal) {
        TestType::Normal => vec![everybody(None)],
        TestType::Targets => while_growing(disks, |count| each(count, None)),
        TestType::Workers => while_growing(workers, |count| {
            first_of_each_manager(can, count).into_iter().map(|place| all(place, None)).collect()
        }),
        TestType::TargetsParallel => while_growing(disks, |count| handed_out(can, count, true)),
        TestType::TargetsSerial => while_growing(disks, |count| handed_out(can, count, false)),
        TestType::WorkersAndTargets => workers_and_targets(can, workers, &disks),
        TestType::Depth => depths(setup.depth_cycling)?.into_iter().map(everybody).collect(),
        TestType::DepthAndTargets => {
            let depths = depths(setup.depth_cycling)?;
            let targets = while_growing(disks, |count| each(count, None));
            let deep = |choice: &WorkerChoice, depth| {
                choice.iter().map(|(place, count, _)| (*place, *count, depth)).collect()
            };
            let pairs = targets.iter().flat_map(|choice| depths.iter().map(move |d| (choice, d)));
            pairs.take(TESTS_MAX + 1).map(|(choice, depth)| deep(choice, *depth)).collect()
        }
    })
}

/// Returns the values of a cycling, ending before the first overflow.
fn counts(cycling: Cycling) -> Vec<u32> {
    let grow = |count: &u32| match cycling.kind {
        // Multiplying by 1 would never end; Iometer, too, adds it instead.
        StepKind::Exponential if cycling.step > 1 => count.checked_mul(cycling.step),
        _ => count.checked_add(cycling.step),
    };
    std::iter::successors(Some(cycling.start), grow).take(TESTS_MAX + 1).collect()
}

fn depths(cycling: Option<DepthCycling>) -> Result<Vec<Option<u32>>, ParseError> {
    let cycling = cycling.ok_or_else(|| {
        ParseError::whole(
            "the test type cycles outstanding I/Os, and the file has no queue depth cycling",
        )
    })?;
    let within = counts(cycling.cycling).into_iter().take_while(|depth| *depth <= cycling.end);
    let depths: Vec<Option<u32>> = within.map(Some).collect();
    if depths.is_empty() {
        let (start, end) = (cycling.cycling.start, cycling.end);
        return Err(ParseError::whole(format!(
            "the queue depth cycling starts at {start} and ends at {end}: it has no test"
        )));
    }
    Ok(depths)
}

/// Returns one choice per count, as long as each uses more targets than the one before.
fn while_growing(counts: Vec<u32>, choose: impl Fn(u32) -> WorkerChoice) -> Vec<WorkerChoice> {
    let mut chosen = Vec::new();
    let mut before = 0;
    for count in counts {
        let choice = choose(count);
        let targets: usize = choice.iter().map(|(_, targets, _)| targets).sum();
        if targets <= before {
            break;
        }
        before = targets;
        chosen.push(choice);
    }
    chosen
}

fn first_of_each_manager(can: &[&DiskWorker], count: u32) -> Vec<usize> {
    let manager = |place: usize| can[place].taking_part.manager;
    let rank = |place: usize| (0..place).filter(|o| manager(*o) == manager(place)).count();
    (0..can.len()).filter(|place| rank(*place) < count as usize).collect()
}

/// Returns a choice of `count` targets, filled worker by worker: per manager, or over all managers.
fn handed_out(can: &[&DiskWorker], count: u32, of_each_manager: bool) -> WorkerChoice {
    let mut left = count as usize;
    let mut manager = None;
    let mut choice = WorkerChoice::new();
    for (place, seat) in can.iter().enumerate() {
        if of_each_manager
            && manager.replace(seat.taking_part.manager) != Some(seat.taking_part.manager)
        {
            left = count as usize;
        }
        let targets = seat.targets.len().min(left);
        left -= targets;
        choice.push((place, targets, None));
    }
    choice
}

fn workers_and_targets(can: &[&DiskWorker], workers: Vec<u32>, disks: &[u32]) -> Vec<WorkerChoice> {
    let mut tests = Vec::new();
    let mut before = 0;
    for count in workers {
        let chosen = first_of_each_manager(can, count);
        if chosen.len() <= before {
            break;
        }
        before = chosen.len();
        tests.extend(while_growing(disks.to_vec(), |targets| {
            let capped = |place: usize| can[place].targets.len().min(targets as usize);
            chosen.iter().map(|place| (*place, capped(*place), None)).collect()
        }));
        if tests.len() > TESTS_MAX {
            break;
        }
    }
    tests
}

fn seats(
    config: &IometerConfig,
    on: ExpansionOptions<'_>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<DiskWorker>, ParseError> {
    let managers = config.managers.as_deref().unwrap_or_default();
    let mut seats = Vec::new();
    for (place, manager) in managers.iter().enumerate() {
        for worker in &manager.workers {
            if worker.kind.is_disk() {
                let specs = specs_of(config, worker, remarks)?;
                seats.push(seat((place, &manager.name), worker, specs));
            } else {
                let text = format!(
                    "worker '{}' is a network worker, which moves data between hosts and not to a \
                     drive; it is left out",
                    worker.name
                );
                remarks.push(SequenceRemark { line: Some(worker.line.0), text });
            }
        }
    }
    if managers.is_empty() {
        seats = spawned(config, on, remarks)?;
    }
    with_targets(&mut seats, managers.is_empty(), on.disk, remarks)?;
    for (number, seat) in seats.iter_mut().enumerate() {
        seat.taking_part.seat = number;
    }
    Ok(seats)
}

fn seat((place, manager): (usize, &str), worker: &IometerWorker, specs: Vec<String>) -> DiskWorker {
    let defaults = worker.defaults.clone().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let is_first = |target: &&IometerTarget| seen.insert(drive(&target.name));
    let disks = worker.targets.iter().flatten().filter(|target| target.kind.is_disk());
    let targets = disks.filter(is_first).map(|target| target.name.clone()).collect();
    let taking_part = ActiveWorker {
        seat: 0,
        manager: place,
        manager_name: manager.to_owned(),
        worker: worker.name.clone(),
        line: worker.line.0,
        spec: String::new(),
        targets: Vec::new(),
        depth: defaults.outstanding.map_or(1, |outstanding| outstanding.ios),
        area: defaults.disk.map_or((0, 0), |disk| (disk.sectors, disk.start)),
        pattern: defaults.disk.and_then(|disk| disk.pattern),
        connection_rate: defaults.outstanding.is_some_and(|o| o.connection_rate),
    };
    DiskWorker { specs, targets, taking_part }
}

/// Returns the part by which two names of a drive are compared: `c:` for `C:Data`, or the whole
/// name in lower case.
fn drive(name: &str) -> String {
    let letter = name.get(..2).filter(|start| start.ends_with(':'));
    letter.unwrap_or(name).to_lowercase()
}

/// Returns the access specifications of a worker: its own, or those assigned to new disk workers.
fn specs_of(
    config: &IometerConfig,
    worker: &IometerWorker,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<String>, ParseError> {
    let assigned = worker.specs.as_deref().unwrap_or_default();
    for spec in assigned {
        if spec.name != IDLE && config.spec(&spec.name).is_none() {
            let what = format!(
                "worker '{}' has an access specification '{}' that the file does not define",
                worker.name, spec.name
            );
            return Err(ParseError::at(spec.line.0, what));
        }
    }
    if !assigned.is_empty() {
        return Ok(assigned.iter().map(|spec| spec.name.clone()).collect());
    }
    let unasked = for_new_workers(config);
    if !unasked.is_empty() {
        let text = format!(
            "worker '{}' has no access specification; it gets those assigned to every disk worker",
            worker.name
        );
        remarks.push(SequenceRemark { line: Some(worker.line.0), text });
    }
    Ok(unasked)
}

fn for_new_workers(config: &IometerConfig) -> Vec<String> {
    let for_disks = |assignment| matches!(assignment, Assignment::All | Assignment::Disk);
    let specs = config.specs.iter().flatten();
    specs.filter(|spec| for_disks(spec.assignment)).map(|spec| spec.name.clone()).collect()
}

/// Returns the workers of a manager for a file without managers.
fn spawned(
    config: &IometerConfig,
    on: ExpansionOptions<'_>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<DiskWorker>, ParseError> {
    let spawn = config.setup.as_ref().and_then(|setup| setup.disk_workers);
    let count = match spawn.unwrap_or(WorkerCount::Processors) {
        WorkerCount::Processors => on.processors,
        WorkerCount::Count(count) => count,
    };
    let mut specs = for_new_workers(config);
    let mut which = "the access specifications for every disk worker";
    if specs.is_empty() {
        specs = config.specs.iter().flatten().map(|spec| spec.name.clone()).collect();
        which = "every access specification of the file";
    }
    if count as usize > TESTS_MAX {
        return Err(ParseError::whole(format!(
            "{count} workers; at most {TESTS_MAX} are supported"
        )));
    }
    let text = if count == 1 {
        format!("the file has no manager: one disk worker with one outstanding I/O runs {which}")
    } else {
        format!(
            "the file has no manager: {count} disk workers with one outstanding I/O each run \
             {which}"
        )
    };
    remarks.push(SequenceRemark { line: None, text });
    let worker = |number: u32| IometerWorker {
        name: format!("Worker {number}"),
        kind: super::config::WorkerKind::Disk,
        defaults: None,
        specs: None,
        targets: None,
        line: super::config::LineNumber(0),
    };
    Ok((1..=count).map(|n| seat((0, "localhost"), &worker(n), specs.clone())).collect())
}

/// Limits the targets of each worker to `disk` if it is given, and fills in a target if the file
/// has none.
fn with_targets(
    seats: &mut [DiskWorker],
    spawned: bool,
    disk: Option<&str>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<(), ParseError> {
    let names: BTreeSet<String> = seats.iter().flat_map(|seat| seat.targets.clone()).collect();
    if let Some(wanted) = disk {
        let is_wanted = |name: &String| drive(name) == drive(wanted);
        if !names.iter().any(is_wanted) {
            let names = names
                .iter()
                .map(|name| format!("'{name}'", name = excerpt(name)))
                .collect::<Vec<_>>()
                .join(", ");
            let there = if names.is_empty() { "none".to_owned() } else { names };
            let what = format!(
                "no worker has a disk '{wanted}'; the disks of the file are: {there}",
                wanted = excerpt(wanted)
            );
            return Err(ParseError::whole(what));
        }
        seats.iter_mut().for_each(|seat| seat.targets.retain(is_wanted));
        return Ok(());
    }
    if names.is_empty() {
        if !spawned && !seats.is_empty() {
            let text = "no worker has a disk: each gets the target".to_owned();
            remarks.push(SequenceRemark { line: None, text });
        }
        seats.iter_mut().for_each(|seat| seat.targets = vec!["target".to_owned()]);
        return Ok(());
    }
    for seat in seats.iter().filter(|seat| seat.targets.is_empty()) {
        let text = format!("worker '{}' has no disk and stays idle", seat.taking_part.worker);
        remarks.push(SequenceRemark { line: Some(seat.taking_part.line), text });
    }
    Ok(())
}
