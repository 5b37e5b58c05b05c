//! What an Iometer configuration holds.
//!
//! A section or a value that a file does not have is `None`: nothing is filled in here.

use super::version::Version;
use std::fmt;

/// The access specification that does nothing; every Iometer has it.
pub const IDLE: &str = "Idle";

/// Where something was read: the line, from 1; 0 where it was made here.
///
/// It says nothing about the content, so two of them are always equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Line(pub u64);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Line {}

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The version that wrote it.
    pub version: Version,
    /// TEST SETUP.
    pub setup: Option<Setup>,
    /// RESULTS DISPLAY.
    pub display: Option<Display>,
    /// ACCESS SPECIFICATIONS.
    pub specs: Option<Vec<AccessSpec>>,
    /// MANAGER LIST.
    pub managers: Option<Vec<Manager>>,
}

impl Config {
    /// The access specification of this name.
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
            /// Every one, by the number that old files have for it.
            pub const ALL: &'static [$type] = &[$($type::$value),+];
            /// The word in a file.
            pub const fn token(self) -> &'static str {
                match self { $($type::$value => $token),+ }
            }
            /// The number in a file of results, and in old configurations.
            pub fn number(self) -> usize {
                Self::ALL.iter().position(|other| *other == self).unwrap_or_default()
            }
            /// By its word in any case, or by its number.
            pub fn parse(text: &str) -> Option<Self> {
                let by_number = || Self::ALL.get(text.parse::<usize>().ok()?).copied();
                let mut all = Self::ALL.iter().copied();
                all.find(|value| value.token().eq_ignore_ascii_case(text)).or_else(by_number)
            }
            /// Every word, for messages.
            pub(super) fn choices() -> String {
                Self::ALL.iter().map(|value| value.token()).collect::<Vec<_>>().join(", ")
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.token())
            }
        }
    };
}

tokens!(TestType, "What is varied from test to test.",
    Normal = "NORMAL": "Everything at once, once for each access specification.",
    Targets = "CYCLE_TARGETS": "More targets of every worker from test to test.",
    Workers = "CYCLE_WORKERS": "More workers of every manager from test to test.",
    TargetsParallel = "INCREMENT_TARGETS_PARALLEL":
        "More targets of every manager, worker by worker.",
    TargetsSerial = "INCREMENT_TARGETS_SERIAL": "More targets, manager by manager.",
    WorkersAndTargets = "CYCLE_WORKERS_AND_TARGETS":
        "More targets of the same workers, then more workers.",
    Depth = "CYCLE_OUTSTANDING_IOS": "More outstanding I/Os from test to test.",
    DepthAndTargets = "CYCLE_OUTSTANDING_IOS_AND_TARGETS":
        "More outstanding I/Os for the same targets, then more targets.");

tokens!(Recorded, "Which rows a file of results has.",
    All = "ALL": "Every row.",
    NoTargets = "NO_TARGETS": "No rows of targets.",
    NoWorkers = "NO_WORKERS": "No rows of workers and targets.",
    NoManagers = "NO_MANAGERS": "Only the row of all managers.",
    Nothing = "NONE": "No file of results.");

tokens!(Assignment, "Which new workers get an access specification unasked.",
    Nobody = "NONE": "No worker.",
    All = "ALL": "Every worker.",
    Disk = "DISK": "Disk workers.",
    Net = "NET": "Network workers.");

tokens!(StepKind, "How a count grows from test to test.",
    Linear = "LINEAR": "By adding the step.",
    Exponential = "EXPONENTIAL": "By multiplying with the step.");

tokens!(UpdateType, "Which time the results display covers.",
    WholeTest = "WHOLE_TEST": "The whole test.",
    LastUpdate = "LAST_UPDATE": "The time since the last update.");

/// TEST SETUP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// What the test is called.
    pub description: Option<String>,
    /// The measured time of each test.
    pub run_time: Option<RunTime>,
    /// Seconds before each test's measured time.
    pub ramp_s: Option<u64>,
    /// Disk workers that a new manager gets.
    pub disk_workers: Option<Spawn>,
    /// Network workers that a new manager gets.
    pub network_workers: Option<Spawn>,
    /// Which rows are recorded.
    pub record: Option<Recorded>,
    /// How the number of workers grows.
    pub worker_cycling: Option<Cycling>,
    /// How the number of targets grows.
    pub disk_cycling: Option<Cycling>,
    /// How the number of outstanding I/Os grows.
    pub depth_cycling: Option<DepthCycling>,
    /// What is varied.
    pub test_type: Option<TestType>,
}

/// Hours, minutes and seconds, as written.
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
    /// In seconds.
    pub fn as_secs(self) -> u64 {
        u64::from(self.hours) * 3600 + u64::from(self.minutes) * 60 + u64::from(self.seconds)
    }
}

/// How many workers a new manager gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawn {
    /// One for each processor.
    Processors,
    /// So many.
    Count(u32),
}

/// A count that grows from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycling {
    /// In the first test.
    pub start: u32,
    /// What is added, or multiplied with.
    pub step: u32,
    /// How it grows.
    pub kind: StepKind,
}

/// Outstanding I/Os that grow from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthCycling {
    /// How they grow, from where.
    pub cycling: Cycling,
    /// The most.
    pub end: u32,
}

/// RESULTS DISPLAY. It changes no measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Display {
    /// 1.1.0: whether results since the last update are recorded too.
    pub record_last: Option<bool>,
    /// Seconds between updates, 0 for none before the end; and what they show.
    pub update: Option<(u32, UpdateType)>,
    /// The bar charts' lines, in their order.
    pub bars: Vec<Bar>,
}

/// One line about a bar chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Which chart, from 1 to 6.
    pub chart: u8,
    /// What it says of it.
    pub subject: BarSubject,
}

/// What a bar chart shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BarSubject {
    /// This result.
    Statistic(String),
    /// Of this manager: number and name.
    Manager(u32, String),
    /// Of this worker: number and name.
    Worker(u32, String),
}

/// A named access specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSpec {
    /// Its name.
    pub name: String,
    /// Which workers get it unasked.
    pub assignment: Assignment,
    /// What it is composed of; the shares add up to 100.
    pub lines: Vec<AccessLine>,
    /// Where it was read.
    pub line: Line,
}

/// One row of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessLine {
    /// Transfer size in bytes.
    pub size: u64,
    /// Share of the I/Os, in percent.
    pub of_size: u8,
    /// Share of reads among them, in percent.
    pub reads: u8,
    /// Share of I/Os at a random place among them, in percent.
    pub random: u8,
    /// Milliseconds before each burst.
    pub delay_ms: u64,
    /// I/Os in a burst.
    pub burst: u64,
    /// Offsets are multiples of this; 0 for the sector.
    pub align: u64,
    /// Bytes of the reply of a network transaction; 0 for none.
    pub reply: u64,
    /// Where it was read.
    pub line: Line,
}

impl AccessLine {
    /// A whole specification in one row, unpaced and aligned to its size.
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
            line: Line(0),
        }
    }
}

/// A manager: a machine that runs workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// Its number among managers of its name.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its address on the network.
    pub address: Option<String>,
    /// Its workers, in order.
    pub workers: Vec<Worker>,
    /// Where it was read.
    pub line: Line,
}

/// What a worker's targets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerKind {
    /// Disks.
    Disk,
    /// A network, by this protocol.
    Network(String),
}

impl WorkerKind {
    /// Whether it moves data of disks.
    pub fn is_disk(&self) -> bool {
        *self == WorkerKind::Disk
    }
}

/// A worker: a thread that does I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// What its targets are.
    pub kind: WorkerKind,
    /// The settings of each of its targets.
    pub defaults: Option<Defaults>,
    /// Its access specifications, in order; absent where the file does not say.
    pub specs: Option<Vec<Assigned>>,
    /// Its targets; absent where the file does not say.
    pub targets: Option<Vec<Target>>,
    /// Where it was read.
    pub line: Line,
}

/// An access specification by name, as a worker has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// The name.
    pub name: String,
    /// Where it was read.
    pub line: Line,
}

/// The settings of each target of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// Outstanding I/Os, and what stands beside them.
    pub outstanding: Option<Outstanding>,
    /// Which part of a disk is used.
    pub disk: Option<DiskArea>,
    /// Of network workers: the interface.
    pub local_interface: Option<String>,
    /// Of network workers by VI: outstanding I/Os.
    pub vi_outstanding: Option<u32>,
}

/// Outstanding I/Os of each target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outstanding {
    /// Outstanding I/Os.
    pub ios: u32,
    /// Whether targets are opened and closed again while they are tested.
    pub connection_rate: bool,
    /// After so many transactions, where they are.
    pub transactions: u32,
    /// 1.1.0: whether random numbers begin at this value.
    pub fixed_seed: Option<FixedSeed>,
}

/// Where random numbers begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSeed {
    /// Whether the value is used.
    pub used: bool,
    /// The value.
    pub value: u64,
}

/// Which part of a disk is used, in sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskArea {
    /// Sectors; 0 for all.
    pub sectors: u64,
    /// The first sector.
    pub start: u64,
    /// 1.1.0: 0 repeating bytes, 1 pseudo-random, 2 full random.
    pub pattern: Option<u8>,
}

/// A target of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: WorkerKind,
    /// Of network targets: the number and the name of the manager.
    pub manager: Option<(u32, String)>,
}
