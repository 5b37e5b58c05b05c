//! Expands a configuration into the tests that Iometer runs for it, in Iometer's order.
//!
//! All tests of the test type are run with the first access specification of every worker, then
//! with the second, and so on. A worker is idle if it has no targets or its list of access
//! specifications has ended.

use super::config::{
    Assignment, Cycling, DepthCycling, DiskArea, GrowthKind, IDLE, IometerConfig, IometerTarget,
    IometerWorker, LineNumber, TestType, WorkerCount,
};
use crate::parse_error::ParseError;
use std::collections::BTreeSet;
use steadfast_domain::sequence::SequenceRemark;
use steadfast_domain::text::excerpt;

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
    pub index: usize,
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
    /// Part of each target that is used, and the data pattern.
    pub area: DiskArea,
    /// True if targets are to be closed and reopened during the test.
    pub connection_rate: bool,
}

/// A disk worker, with defaults filled in.
struct DiskWorker {
    specs: Vec<String>,
    targets: Vec<String>,
    active: ActiveWorker,
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
    let workers = disk_workers(config, ExpansionOptions { processors, disk }, remarks)?;
    let accesses = workers.iter().map(|worker| worker.specs.len()).max().unwrap_or(0);
    let mut tests = Vec::new();
    for access in 0..accesses {
        let ready: Vec<&DiskWorker> = workers
            .iter()
            .filter(|worker| !worker.targets.is_empty())
            .filter(|worker| worker.specs.get(access).is_some_and(|name| name != IDLE))
            .collect();
        if !ready.is_empty() {
            for shares in tests_of_access(config, &ready)? {
                tests.push(IometerTest { access, active: active_workers(shares, &ready, access) });
            }
        }
        if tests.len() > TESTS_MAX {
            return Err(ParseError::whole(format!(
                "the cycling makes more than {TESTS_MAX} tests"
            )));
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

/// A worker's part in a test of a cycling.
#[derive(Clone, Copy)]
struct WorkerShare {
    /// Index of the worker.
    worker: usize,
    /// Number of its first targets in use.
    targets: usize,
    /// Outstanding I/Os per target; `None` for the worker's own number.
    depth: Option<u32>,
}

type TestShares = Vec<WorkerShare>;

fn active_workers(shares: TestShares, workers: &[&DiskWorker], access: usize) -> Vec<ActiveWorker> {
    let active = |share: WorkerShare| {
        let worker = workers[share.worker];
        ActiveWorker {
            spec: worker.specs[access].clone(),
            targets: worker.targets[..share.targets].to_vec(),
            depth: share.depth.unwrap_or(worker.active.depth),
            ..worker.active.clone()
        }
    };
    shares.into_iter().filter(|share| share.targets > 0).map(active).collect()
}

/// Returns the tests of one access specification, as the test type of the file says.
fn tests_of_access(
    config: &IometerConfig,
    workers: &[&DiskWorker],
) -> Result<Vec<TestShares>, ParseError> {
    let setup = config.setup.clone().unwrap_or_default();
    let one = Cycling { start: 1, step: 1, kind: GrowthKind::Linear };
    let worker_counts = counts(setup.worker_cycling.unwrap_or(one));
    let target_counts = counts(setup.disk_cycling.unwrap_or(one));
    let first_targets = |count: u32| shares(workers, 0..workers.len(), count);
    let all = || first_targets(u32::MAX);
    Ok(match setup.test_type.unwrap_or(TestType::Normal) {
        TestType::Normal => vec![all()],
        TestType::Targets => while_growing(target_counts, first_targets),
        TestType::Workers => while_growing(worker_counts, |count| {
            shares(workers, first_of_each_manager(workers, count), u32::MAX)
        }),
        TestType::TargetsParallel => {
            while_growing(target_counts, |count| filled_in_order(workers, count, true))
        }
        TestType::TargetsSerial => {
            while_growing(target_counts, |count| filled_in_order(workers, count, false))
        }
        TestType::WorkersAndTargets => workers_and_targets(workers, worker_counts, &target_counts),
        TestType::Depth => at_depths(&[all()], &depths(setup.depth_cycling)?),
        TestType::DepthAndTargets => {
            at_depths(&while_growing(target_counts, first_targets), &depths(setup.depth_cycling)?)
        }
    })
}

/// Returns a test of the workers with these indexes, with up to `targets` targets each.
fn shares(
    workers: &[&DiskWorker],
    indexes: impl IntoIterator<Item = usize>,
    targets: u32,
) -> TestShares {
    let share = |worker: usize| {
        let targets = workers[worker].targets.len().min(targets as usize);
        WorkerShare { worker, targets, depth: None }
    };
    indexes.into_iter().map(share).collect()
}

fn at_depths(tests: &[TestShares], depths: &[u32]) -> Vec<TestShares> {
    let pairs = tests.iter().flat_map(|test| depths.iter().map(move |depth| (test, *depth)));
    let at_depth = |(test, depth): (&TestShares, u32)| {
        test.iter().map(|share| WorkerShare { depth: Some(depth), ..*share }).collect()
    };
    pairs.take(TESTS_MAX + 1).map(at_depth).collect()
}

/// Returns the values of a cycling, ending before the first overflow.
fn counts(cycling: Cycling) -> Vec<u32> {
    let grow = |count: &u32| match cycling.kind {
        // Multiplying by 1 would never end; Iometer, too, adds it instead.
        GrowthKind::Exponential if cycling.step > 1 => count.checked_mul(cycling.step),
        _ => count.checked_add(cycling.step),
    };
    std::iter::successors(Some(cycling.start), grow).take(TESTS_MAX + 1).collect()
}

fn depths(cycling: Option<DepthCycling>) -> Result<Vec<u32>, ParseError> {
    let cycling = cycling.ok_or_else(|| {
        ParseError::whole(
            "the test type cycles outstanding I/Os, and the file has no queue depth cycling",
        )
    })?;
    let mut depths = counts(cycling.cycling);
    depths.retain(|depth| *depth <= cycling.end);
    if depths.is_empty() {
        let (start, end) = (cycling.cycling.start, cycling.end);
        return Err(ParseError::whole(format!(
            "the queue depth cycling starts at {start} and ends at {end}: it has no test"
        )));
    }
    Ok(depths)
}

/// Returns one test per count, as long as each uses more targets than the one before.
fn while_growing(counts: Vec<u32>, test: impl Fn(u32) -> TestShares) -> Vec<TestShares> {
    let mut tests = Vec::new();
    let mut before = 0;
    for count in counts {
        let shares = test(count);
        let targets: usize = shares.iter().map(|share| share.targets).sum();
        if targets <= before {
            break;
        }
        before = targets;
        tests.push(shares);
    }
    tests
}

/// Returns the first `count` workers of each manager.
fn first_of_each_manager(workers: &[&DiskWorker], count: u32) -> Vec<usize> {
    let manager = |worker: usize| workers[worker].active.manager;
    let rank = |worker: usize| (0..worker).filter(|o| manager(*o) == manager(worker)).count();
    (0..workers.len()).filter(|worker| rank(*worker) < count as usize).collect()
}

/// Returns a test of `count` targets, filled worker by worker: per manager, or over all managers.
fn filled_in_order(workers: &[&DiskWorker], count: u32, of_each_manager: bool) -> TestShares {
    let mut left = count as usize;
    let mut manager = None;
    let mut shares = TestShares::new();
    for (number, worker) in workers.iter().enumerate() {
        let is_first = manager.replace(worker.active.manager) != Some(worker.active.manager);
        if of_each_manager && is_first {
            left = count as usize;
        }
        let targets = worker.targets.len().min(left);
        left -= targets;
        shares.push(WorkerShare { worker: number, targets, depth: None });
    }
    shares
}

fn workers_and_targets(
    workers: &[&DiskWorker],
    worker_counts: Vec<u32>,
    target_counts: &[u32],
) -> Vec<TestShares> {
    let mut tests = Vec::new();
    let mut before = 0;
    for count in worker_counts {
        let indexes = first_of_each_manager(workers, count);
        if indexes.len() <= before {
            break;
        }
        before = indexes.len();
        tests.extend(while_growing(target_counts.to_vec(), |targets| {
            shares(workers, indexes.iter().copied(), targets)
        }));
        if tests.len() > TESTS_MAX {
            break;
        }
    }
    tests
}

/// Returns the disk workers of a file, or those of its defaults if it has no manager.
fn disk_workers(
    config: &IometerConfig,
    options: ExpansionOptions<'_>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<DiskWorker>, ParseError> {
    let managers = config.managers.as_deref().unwrap_or_default();
    let mut workers = Vec::new();
    for (place, manager) in managers.iter().enumerate() {
        for worker in &manager.workers {
            if worker.kind.is_disk() {
                let specs = specs_of(config, worker, remarks)?;
                workers.push(disk_worker(place, &manager.name, worker, specs));
            } else {
                let text = format!(
                    "worker '{}' is a network worker, which moves data between hosts and not to a \
                     drive; it is left out",
                    worker.name
                );
                remarks.push(SequenceRemark::at(worker.line.0, text));
            }
        }
    }
    if managers.is_empty() {
        workers = workers_by_default(config, options, remarks)?;
    }
    with_targets(&mut workers, managers.is_empty(), options.disk, remarks)?;
    for (number, worker) in workers.iter_mut().enumerate() {
        worker.active.index = number;
    }
    Ok(workers)
}

fn disk_worker(
    manager: usize,
    manager_name: &str,
    worker: &IometerWorker,
    specs: Vec<String>,
) -> DiskWorker {
    let defaults = worker.defaults.clone().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let is_first = |target: &&IometerTarget| seen.insert(drive(&target.name));
    let disks = worker.targets.iter().flatten().filter(|target| target.kind.is_disk());
    let targets = disks.filter(is_first).map(|target| target.name.clone()).collect();
    let active = ActiveWorker {
        index: 0,
        manager,
        manager_name: manager_name.to_owned(),
        worker: worker.name.clone(),
        line: worker.line.0,
        spec: String::new(),
        targets: Vec::new(),
        depth: defaults.outstanding.map_or(1, |outstanding| outstanding.ios),
        area: defaults.disk.unwrap_or_default(),
        connection_rate: defaults.outstanding.is_some_and(|o| o.connection_rate),
    };
    DiskWorker { specs, targets, active }
}

/// Returns the part by which two names of a drive are compared: `c:` for `C:Data`, or the whole
/// name in lower case.
fn drive(name: &str) -> String {
    name.get(..2).filter(|start| start.ends_with(':')).unwrap_or(name).to_lowercase()
}

/// Returns the access specifications of a worker: its own, or those assigned to new disk workers.
fn specs_of(
    config: &IometerConfig,
    worker: &IometerWorker,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<String>, ParseError> {
    let assigned_specs = worker.specs.as_deref().unwrap_or_default();
    for spec in assigned_specs {
        if spec.name != IDLE && config.spec(&spec.name).is_none() {
            let what = format!(
                "worker '{}' has an access specification '{}' that the file does not define",
                worker.name, spec.name
            );
            return Err(ParseError::at(spec.line.0, what));
        }
    }
    if !assigned_specs.is_empty() {
        return Ok(assigned_specs.iter().map(|spec| spec.name.clone()).collect());
    }
    let assigned_to_all = for_new_workers(config);
    if !assigned_to_all.is_empty() {
        let text = format!(
            "worker '{}' has no access specification; it gets those assigned to every disk worker",
            worker.name
        );
        remarks.push(SequenceRemark::at(worker.line.0, text));
    }
    Ok(assigned_to_all)
}

fn for_new_workers(config: &IometerConfig) -> Vec<String> {
    let for_disks = |assignment| matches!(assignment, Assignment::All | Assignment::Disk);
    let specs = config.specs.iter().flatten();
    specs.filter(|spec| for_disks(spec.assignment)).map(|spec| spec.name.clone()).collect()
}

/// Returns the workers of a manager for a file without managers.
fn workers_by_default(
    config: &IometerConfig,
    options: ExpansionOptions<'_>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<Vec<DiskWorker>, ParseError> {
    let spawn = config.setup.as_ref().and_then(|setup| setup.disk_workers);
    let count = match spawn.unwrap_or(WorkerCount::Processors) {
        WorkerCount::Processors => options.processors,
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
    remarks.push(SequenceRemark::whole(text));
    let worker = |number| IometerWorker::disk(format!("Worker {number}"), LineNumber(0));
    Ok((1..=count).map(|n| disk_worker(0, "localhost", &worker(n), specs.clone())).collect())
}

/// Limits the targets of each worker to `disk` if it is given, and fills in a target if the file
/// has none.
fn with_targets(
    workers: &mut [DiskWorker],
    has_no_manager: bool,
    disk: Option<&str>,
    remarks: &mut Vec<SequenceRemark>,
) -> Result<(), ParseError> {
    let names: BTreeSet<String> =
        workers.iter().flat_map(|worker| worker.targets.clone()).collect();
    if let Some(wanted) = disk {
        let is_wanted = |name: &String| drive(name) == drive(wanted);
        if !names.iter().any(is_wanted) {
            let names: Vec<String> =
                names.iter().map(|name| format!("'{}'", excerpt(name))).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ParseError::whole(format!(
                "no worker has a disk '{}'; the disks of the file are: {names}",
                excerpt(wanted)
            )));
        }
        workers.iter_mut().for_each(|worker| worker.targets.retain(is_wanted));
        return Ok(());
    }
    if names.is_empty() {
        if !has_no_manager && !workers.is_empty() {
            let text = "no worker has a disk: each gets the target";
            remarks.push(SequenceRemark::whole(text));
        }
        workers.iter_mut().for_each(|worker| worker.targets = vec!["target".to_owned()]);
        return Ok(());
    }
    for worker in workers.iter().filter(|worker| worker.targets.is_empty()) {
        let text = format!("worker '{}' has no disk and stays idle", worker.active.worker);
        remarks.push(SequenceRemark::at(worker.active.line, text));
    }
    Ok(())
}
