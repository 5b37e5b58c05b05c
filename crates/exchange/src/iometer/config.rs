//! The content of an Iometer configuration.
//!
//! A section or value that is not in the file is `None`; no defaults are filled in here.

use super::version::IometerVersion;
use std::fmt;

/// Name of the access specification that does no I/O, built into every version of Iometer.
pub const IDLE: &str = "Idle";

/// Line number in the source file, from 1; 0 for content that was not read from a file.
///
/// Not part of the content: any two values are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineNumber(pub u64);

impl PartialEq for LineNumber {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LineNumber {}

/// An Iometer configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerConfig {
    /// Version that wrote the file.
    pub version: IometerVersion,
    /// Section TEST SETUP.
    pub setup: Option<TestSetup>,
    /// Section ACCESS SPECIFICATIONS.
    pub specs: Option<Vec<AccessSpec>>,
    /// Section MANAGER LIST.
    pub managers: Option<Vec<IometerManager>>,
}

impl IometerConfig {
    /// Returns the access specification of this name.
    pub fn spec(&self, name: &str) -> Option<&AccessSpec> {
        self.specs.iter().flatten().find(|spec| spec.name == name)
    }
}

macro_rules! tokens {
    ($type:ident, $doc:literal, $($value:ident = $token:literal : $means:literal),+) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type { $(#[doc = $means] $value),+ }
        impl $type {
            /// All values, indexed by their numbers in old files.
            pub const ALL: &'static [$type] = &[$($type::$value),+];
            /// Returns the word used in files.
            pub const fn token(self) -> &'static str {
                match self { $($type::$value => $token),+ }
            }
            /// Returns the number used in results files and in old configurations.
            pub fn number(self) -> usize {
                Self::ALL.iter().position(|other| *other == self).unwrap_or_default()
            }
            /// Parses a word, ignoring case, or a number.
            pub fn parse(text: &str) -> Option<Self> {
                let by_number = || Self::ALL.get(text.parse::<usize>().ok()?).copied();
                let mut all = Self::ALL.iter().copied();
                all.find(|value| value.token().eq_ignore_ascii_case(text)).or_else(by_number)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.token())
            }
        }
    };
}

tokens!(TestType, "The quantity varied from test to test.",
    Normal = "NORMAL": "Nothing: all workers at once, one test per access specification.",
    Targets = "CYCLE_TARGETS": "More targets for every worker from test to test.",
    Workers = "CYCLE_WORKERS": "More workers for every manager from test to test.",
    TargetsParallel = "INCREMENT_TARGETS_PARALLEL":
        "More targets for every manager, worker by worker.",
    TargetsSerial = "INCREMENT_TARGETS_SERIAL": "More targets, manager by manager.",
    WorkersAndTargets = "CYCLE_WORKERS_AND_TARGETS":
        "More targets for the same workers, then more workers.",
    Depth = "CYCLE_OUTSTANDING_IOS": "More outstanding I/Os from test to test.",
    DepthAndTargets = "CYCLE_OUTSTANDING_IOS_AND_TARGETS":
        "More outstanding I/Os for the same targets, then more targets.");

tokens!(RecordedRows, "Rows of a results file.",
    All = "ALL": "Every row.",
    NoTargets = "NO_TARGETS": "No target rows.",
    NoWorkers = "NO_WORKERS": "No worker or target rows.",
    NoManagers = "NO_MANAGERS": "Only the row for all managers together.",
    Nothing = "NONE": "No results file.");

tokens!(Assignment, "New workers that get an access specification by default.",
    Nobody = "NONE": "No worker.",
    All = "ALL": "Every worker.",
    Disk = "DISK": "Disk workers.",
    Net = "NET": "Network workers.");

tokens!(GrowthKind, "Growth of a count from test to test.",
    Linear = "LINEAR": "By adding the step.",
    Exponential = "EXPONENTIAL": "By multiplying by the step.");

/// Section TEST SETUP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSetup {
    /// Test description.
    pub description: Option<String>,
    /// Duration of each test, without the ramp-up.
    pub run_time: Option<RunTime>,
    /// Ramp-up before each test in seconds; not measured.
    pub ramp_s: Option<u32>,
    /// Disk workers of a new manager.
    pub disk_workers: Option<WorkerCount>,
    /// Network workers of a new manager.
    pub network_workers: Option<WorkerCount>,
    /// Rows to record.
    pub record: Option<RecordedRows>,
    /// Growth of the number of workers.
    pub worker_cycling: Option<Cycling>,
    /// Growth of the number of targets.
    pub disk_cycling: Option<Cycling>,
    /// Growth of the number of outstanding I/Os.
    pub depth_cycling: Option<DepthCycling>,
    /// The quantity varied from test to test.
    pub test_type: Option<TestType>,
}

/// A time as written in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunTime {
    /// Hours.
    pub hours: u32,
    /// Minutes; may be more than 59.
    pub minutes: u32,
    /// Seconds; may be more than 59.
    pub seconds: u32,
}

impl RunTime {
    /// Returns the time in seconds.
    pub fn as_secs(self) -> u64 {
        u64::from(self.hours) * 3600 + u64::from(self.minutes) * 60 + u64::from(self.seconds)
    }
}

/// Number of workers of a new manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerCount {
    /// One worker per processor.
    Processors,
    /// This number of workers.
    Count(u32),
}

/// Growth of a count from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycling {
    /// Count in the first test.
    pub start: u32,
    /// Amount added, or factor.
    pub step: u32,
    /// Addition or multiplication.
    pub kind: GrowthKind,
}

/// Growth of the number of outstanding I/Os from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthCycling {
    /// Start and growth.
    pub cycling: Cycling,
    /// Largest number.
    pub end: u32,
}

/// A named access specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSpec {
    /// Name of the specification.
    pub name: String,
    /// New workers that get it by default.
    pub assignment: Assignment,
    /// Rows; their shares add up to 100 percent.
    pub lines: Vec<AccessLine>,
    /// Position in the file.
    pub line: LineNumber,
}

/// A row of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessLine {
    /// Transfer size in bytes.
    pub size: u64,
    /// Share of the I/Os, in percent.
    pub of_size: u8,
    /// Reads among them, in percent.
    pub reads: u8,
    /// Random I/Os among them, in percent.
    pub random: u8,
    /// Delay before each burst, in milliseconds.
    pub delay_ms: u64,
    /// Number of I/Os in a burst.
    pub burst: u64,
    /// Alignment of offsets in bytes; 0 for the sector size.
    pub align: u64,
    /// Size of the reply of a network transaction in bytes; 0 for none.
    pub reply: u64,
    /// Position in the file.
    pub line: LineNumber,
}

impl AccessLine {
    /// Returns a row that is a whole specification, unpaced and aligned to its transfer size.
    pub fn plain(size: u64, reads: u8, random: u8) -> Self {
        AccessLine {
            size,
            of_size: 100,
            reads,
            random,
            delay_ms: 0,
            burst: 1,
            align: size,
            reply: 0,
            line: LineNumber(0),
        }
    }
}

/// A manager: a host that runs workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerManager {
    /// Number among managers of the same name.
    pub id: u32,
    /// Name of the manager.
    pub name: String,
    /// Network address.
    pub address: Option<String>,
    /// Workers, in order.
    pub workers: Vec<IometerWorker>,
    /// Position in the file.
    pub line: LineNumber,
}

/// Kind of a worker or target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerKind {
    /// Disks.
    Disk,
    /// Network, with its protocol.
    Network(String),
}

impl WorkerKind {
    /// Returns true for disks.
    pub fn is_disk(&self) -> bool {
        *self == WorkerKind::Disk
    }
}

/// A worker: a thread that does I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerWorker {
    /// Name of the worker.
    pub name: String,
    /// Kind of its targets.
    pub kind: WorkerKind,
    /// Settings of each of its targets.
    pub defaults: Option<TargetDefaults>,
    /// Access specifications, in order; `None` if the file has no list.
    pub specs: Option<Vec<AssignedSpec>>,
    /// Targets; `None` if the file has no list.
    pub targets: Option<Vec<IometerTarget>>,
    /// Position in the file.
    pub line: LineNumber,
}

impl IometerWorker {
    /// Returns a disk worker without settings and lists.
    pub fn disk(name: impl Into<String>, line: LineNumber) -> Self {
        let kind = WorkerKind::Disk;
        let name = name.into();
        IometerWorker { name, kind, defaults: None, specs: None, targets: None, line }
    }
}

/// An access specification assigned to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedSpec {
    /// Name of the specification.
    pub name: String,
    /// Position in the file.
    pub line: LineNumber,
}

/// Settings of each target of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetDefaults {
    /// Outstanding I/Os and connection settings.
    pub outstanding: Option<OutstandingIos>,
    /// Part of the disk that is used.
    pub disk: Option<DiskArea>,
    /// Network workers: the local interface.
    pub local_interface: Option<String>,
    /// Network workers with VI: outstanding I/Os.
    pub vi_outstanding: Option<u32>,
}

/// Outstanding I/Os and connection settings of each target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutstandingIos {
    /// Number of outstanding I/Os.
    pub ios: u32,
    /// True if targets are closed and reopened during a test.
    pub connection_rate: bool,
    /// Transactions between two openings of a target.
    pub transactions: u32,
    /// Since Iometer 1.1.0: the fixed seed of the random numbers.
    pub fixed_seed: Option<FixedSeed>,
}

/// Fixed seed of the random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSeed {
    /// True if the seed is used.
    pub used: bool,
    /// The seed.
    pub value: u64,
}

/// Part of a disk that is used, in sectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskArea {
    /// Number of sectors; 0 for all.
    pub sectors: u64,
    /// First sector.
    pub start: u64,
    /// Since Iometer 1.1.0: data pattern; 0 repeating bytes, 1 pseudo-random, 2 full random.
    pub pattern: Option<u8>,
}

/// A target of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerTarget {
    /// Name of the target.
    pub name: String,
    /// Kind of target.
    pub kind: WorkerKind,
    /// Manager of a network target.
    pub manager: Option<ManagerName>,
}

impl IometerTarget {
    /// Returns a disk.
    pub fn disk(name: impl Into<String>) -> Self {
        IometerTarget { name: name.into(), kind: WorkerKind::Disk, manager: None }
    }
}

/// Number and name of a manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerName {
    /// Number.
    pub id: u32,
    /// Name; may contain commas.
    pub name: String,
}
