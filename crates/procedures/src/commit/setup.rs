//! Setup of the commit test: its preconditioning and its matrix of durable writes.

use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::cyclic_load::{
    self, BETWEEN_TIME, CycleLayout, CyclicLoad, FillRequirement, LEAST_FILLS, MEASURED_LAST,
};
use crate::common::method::Method;
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_steady_end;
use crate::common::{ProcedureSetup, preconditioning};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use crate::rwsw::method::check_demand;
use std::num::NonZeroU32;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{Durability, LoadLimits};
use steadfast_domain::{Bytes, Demand, Nanos, Record, Settings, Step, StepPlace};

/// Phase of the writes until steady state.
pub(super) const PRECONDITIONING: &str = "preconditioning";
pub(super) const COMMITS: &str = "commits";
/// Phase of the preconditioning's load after a gap before a measured step.
pub(super) const REFRESH: &str = "refresh";

/// Pattern of the preconditioning, as in the PTS's HIR.
const PRECONDITIONING_PATTERN: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

/// Committers whose results are on page one, and that every block size is measured with.
pub(super) const PAGE_ONE: [u32; 2] = [1, 16];

/// Maximum number of committers (our choice).
const COMMITTERS_MAX: u32 = 512;

pub const COMMITTERS: Parameter = Parameter {
    of_demand: true,
    name: "committers",
    default: "1,2,4,8,16,32,64",
    quick: Some("1,4,16,64"),
    meaning: "numbers of committers, ascending, 1 to 512: threads with one write each, or the \
              writes that share a flush in a group commit. All are measured with the first block \
              size, the others with 1 and 16 where these are in the list",
    source: "ours: a single session up to the connections of a busy database",
    ..Parameter::PLAIN
};

pub const BLOCK_SIZES: Parameter = Parameter {
    name: "block-sizes",
    default: "4K,8K,16K",
    meaning: "block sizes of the writes, 512 bytes to 1 MiB, multiples of the logical sector; the \
              first is measured with every number of committers",
    source: "ours: the pages of common databases and their logs",
    ..Parameter::PLAIN
};

pub const RUN_IN: Parameter = Parameter {
    name: "run-in",
    default: "10s",
    quick: Some("200ms"),
    meaning: "time that each load runs before it is measured, so that the drive's write buffer \
              holds nothing of the load before it and is as full as this load keeps it",
    source: "ours: in 10 s even a drive that programs 50 MB/s replaces a buffer of 500 MB",
    ..Parameter::PLAIN
};

const REFRESH_TIME: Parameter = Parameter {
    name: "refresh-time",
    default: "5min",
    quick: Some("2s"),
    meaning: "time of the preconditioning's load before a step that is repeated after a gap",
    source: "ours, as long as the writes before a round of the PTS's DIRTH",
    ..Parameter::PLAIN
};

const CADENCE: &str = "ours, as in the PTS's HIR, whose load the preconditioning is";

const BETWEEN: Parameter = Parameter { source: CADENCE, unverified: false, ..BETWEEN_TIME };
const MEASURED: Parameter = Parameter { source: CADENCE, unverified: false, ..MEASURED_LAST };
const FILLS: Parameter = Parameter {
    quick: Some("0"),
    meaning: "how many times the user capacity RND 4K W must write before a measured minute counts \
              toward steady state; the sequential writes before it do not count",
    source: "our rule: after sequential writes a drive has free blocks that random ones first use \
             up, and can look steady until then",
    ..LEAST_FILLS
};

pub const PARAMETERS: &[Parameter] = &[
    COMMITTERS, BLOCK_SIZES, RUN_IN, REFRESH_TIME, INSTEAD_OF_WIPC, SPARE, BETWEEN, MEASURED, FILLS,
];

/// Durability of a load's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitKind {
    /// Nothing: the write completes when the drive has taken it.
    Plain,
    /// Each write goes past the drive's volatile cache.
    Fua,
    /// Each write is followed by a flush of its own.
    Flush,
    /// All writes outstanding share one flush.
    Group,
}

impl CommitKind {
    /// All kinds, in the order in which tables list them.
    pub const ALL: [CommitKind; 4] =
        [CommitKind::Flush, CommitKind::Fua, CommitKind::Plain, CommitKind::Group];
    /// Kinds that any number of committers can have, in the order in which they are measured.
    const EACH: [CommitKind; 3] = [CommitKind::Plain, CommitKind::Fua, CommitKind::Flush];

    pub fn name(self) -> &'static str {
        match self {
            CommitKind::Plain => "plain write",
            CommitKind::Fua => "FUA",
            CommitKind::Flush => "write + flush",
            CommitKind::Group => "group commit",
        }
    }

    pub fn id(self) -> &'static str {
        match self {
            CommitKind::Plain => "plain",
            CommitKind::Fua => "fua",
            CommitKind::Flush => "flush",
            CommitKind::Group => "group",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOrder {
    Random,
    /// A log: ascending offsets, shared by all committers.
    Log,
}

impl CommitOrder {
    /// Both, in the order in which tables list them.
    pub const ALL: [CommitOrder; 2] = [CommitOrder::Log, CommitOrder::Random];

    /// Returns the notation, `SEQ` or `RND`.
    pub fn name(self) -> &'static str {
        match self {
            CommitOrder::Random => "RND",
            CommitOrder::Log => "SEQ",
        }
    }

    pub fn id(self) -> &'static str {
        match self {
            CommitOrder::Random => "rnd",
            CommitOrder::Log => "seq",
        }
    }
}

/// A measured load: writes of one pattern by a number of committers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitLoad {
    pub order: CommitOrder,
    pub size: Bytes,
    pub kind: CommitKind,
    pub committers: NonZeroU32,
}

impl CommitLoad {
    /// Returns the pattern in the notation, such as `SEQ 4K W FLUSH/1`.
    pub fn pattern(&self) -> AccessPattern {
        let pattern = match self.order {
            CommitOrder::Random => AccessPattern::random(self.size, 0),
            CommitOrder::Log => AccessPattern::sequential(self.size, 0),
        };
        pattern.durability(match self.kind {
            CommitKind::Plain => Durability::Cached,
            CommitKind::Fua => Durability::Fua,
            CommitKind::Flush => Durability::Flush(NonZeroU32::MIN),
            CommitKind::Group => Durability::Flush(self.committers),
        })
    }

    /// Returns a thread per committer; one thread with all writes for a group commit.
    pub fn demand(&self) -> Demand {
        match self.kind {
            CommitKind::Group => Demand::new(1, self.committers.get()),
            _ => Demand::new(self.committers.get(), 1),
        }
    }

    /// Returns the label of the step, such as `SEQ 4K W FLUSH/1 T16Q1`.
    pub fn label(&self) -> String {
        format!("{} {}", self.pattern(), self.demand())
    }
}

#[derive(Debug, Clone)]
pub struct Commit {
    pub(super) setup: ProcedureSetup,
    pub(super) preconditioning: CyclicLoad,
    pub(super) sizes: Vec<Bytes>,
    pub(super) committers: Vec<NonZeroU32>,
    /// Every measured load, in the order of the steps.
    pub(super) loads: Vec<CommitLoad>,
    pub(super) run_in: Nanos,
    refresh_time: Nanos,
}

impl Commit {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let setup = ProcedureSetup::new(request, commit_method(request.settings))?;
        let settings = &setup.settings;
        check_steady_end(
            settings,
            "its commits begin when rounds with writes between them are steady; omit \
             --steady-state, or allow fewer rounds with --max-rounds",
        )?;
        check_demand(settings, "; choose committers with --set committers=1,16")?;
        let committers = COMMITTERS.ascending(settings, |text| {
            text.parse().ok().filter(|n: &NonZeroU32| n.get() <= COMMITTERS_MAX)
        })?;
        let sector = Bytes(u64::from(setup.geometry.logical_sector));
        let sizes = BLOCK_SIZES.list(settings, |text| block_size(text, sector))?;
        Ok(Commit {
            preconditioning: steady_writes(&setup)?,
            loads: loads(&sizes, &committers),
            run_in: RUN_IN.time(settings)?,
            refresh_time: REFRESH_TIME.time(settings)?,
            sizes,
            committers,
            setup,
        })
    }

    pub(super) fn step(&self, point: u32, attempt: u32, load: &CommitLoad) -> Step {
        let place = StepPlace::new(&attempt_phase(COMMITS, attempt), 0, point, load.label());
        let until = LoadLimits::time(self.setup.step_time);
        let stimulus = self.setup.stimulus(&load.pattern(), load.demand(), until, &place);
        Step::alone(place, stimulus.ramp(self.run_in))
    }

    /// Returns the preconditioning's load before an attempt at a point after the first.
    pub(super) fn refresh(&self, point: u32, attempt: u32) -> ContinuousLoad {
        let phase = attempt_phase(REFRESH, attempt);
        let demand = self.preconditioning.stimulus.demand;
        let (pattern, time) = (PRECONDITIONING_PATTERN, self.refresh_time);
        self.setup.load_for_time(&phase, point, &pattern, demand, time)
    }

    /// Returns the numbers of committers whose results are on page one.
    pub(super) fn page_one(&self) -> Vec<NonZeroU32> {
        page_one(&self.committers)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        RunChoices {
            demands: self.committers.iter().map(|n| Demand::new(n.get(), 1)).collect(),
            rounds_max: Some(self.preconditioning.cycles_max),
            ending: "preconditioning: five measurements with writes between them (btw); commits: \
                     when every load was measured"
                .into(),
            judged: true,
            preconditioning: preconditioning::patterns(&self.setup),
            measured_phases: phases_of(record, &[COMMITS, PRECONDITIONING]),
            gap_effect,
            quick: format!(
                "profile quick measures {} loads of {} after {} each, instead of 60 s after 10 s, \
                 and preconditions in steps of {}; steady state is judged before RND 4K W has \
                 filled the drive once.",
                self.loads.len(),
                self.setup.step_time,
                self.run_in,
                self.setup.step_time
            ),
            ..self.setup.choices()
        }
    }
}

/// Returns the method: steps, criteria and active range of the PTS. The write cache stays as it is
/// found, because a service finds it so.
fn commit_method(settings: &Settings) -> Method {
    Method {
        document: "commit",
        revision: "Commit",
        disclaimer: Some("COMMIT: durable writes by a method of our own, not one of the PTS"),
        write_cache: None,
        ..method::for_own_test(settings)
    }
}

/// Creates the load that runs until the drive is steady.
fn steady_writes(setup: &ProcedureSetup) -> Result<CyclicLoad, ProcedureError> {
    let settings = &setup.settings;
    let pattern = PRECONDITIONING_PATTERN;
    let demand = setup.method.random_demand;
    let cycle = CycleLayout::from_settings(&MEASURED, settings, setup.step_time)?;
    let fill = FillRequirement::from_settings(&FILLS, settings, setup.geometry.capacity)?;
    let label = pattern.to_string();
    let load = CyclicLoad::endless(setup, PRECONDITIONING, label, &pattern, demand, cycle);
    // The parts of the run before this one wrote the active range at least once.
    let before = if settings.shares_preconditioning {
        setup.active_range.length
    } else {
        preconditioning::written(setup)
    };
    // Sequential writes leave blocks free that the load then uses up; the pass does not.
    let own_writes = setup.one_pass.is_none();
    Ok(CyclicLoad {
        fill: FillRequirement { before, own_writes, ..fill },
        cycles_max: setup.rounds_max(PRECONDITIONING, true, setup.method.rounds_max),
        ..load
    })
}

/// Returns the numbers of committers that page one shows: those of [`PAGE_ONE`] in the list, or
/// the first if neither is.
fn page_one(committers: &[NonZeroU32]) -> Vec<NonZeroU32> {
    let mut shown = committers.to_vec();
    shown.retain(|n| PAGE_ONE.contains(&n.get()));
    if shown.is_empty() {
        shown.extend(committers.first());
    }
    shown
}

/// Returns every measured load in order. Random writes precede those to a log, because the
/// preconditioning is random. Kinds that are compared follow one another.
fn loads(sizes: &[Bytes], committers: &[NonZeroU32]) -> Vec<CommitLoad> {
    let page_one = page_one(committers);
    let mut loads = Vec::new();
    for order in [CommitOrder::Random, CommitOrder::Log] {
        for (at, size) in sizes.iter().enumerate() {
            let is_first = at == 0;
            for n in if is_first { committers } else { page_one.as_slice() } {
                let load = |kind| CommitLoad { order, size: *size, kind, committers: *n };
                loads.extend(CommitKind::EACH.map(load));
                // A group of one is a write with its own flush.
                if is_first && order == CommitOrder::Log && n.get() > 1 {
                    loads.push(load(CommitKind::Group));
                }
            }
        }
    }
    loads
}

/// Parses a block size that the device can transfer.
fn block_size(text: &str, sector: Bytes) -> Option<Bytes> {
    let size: Bytes = text.parse().ok()?;
    let fits = (sector..=Bytes::mib(1)).contains(&size) && size.0.is_multiple_of(sector.0);
    fits.then_some(size)
}

fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    match phase {
        PRECONDITIONING => cyclic_load::gap_effect(step),
        _ if is_attempt_of(phase, COMMITS) => {
            "That step is void: it was repeated after the preconditioning's load."
        }
        _ if step.place.point == 1 => "The preconditioning's load had not started again.",
        _ => "The step after it was repeated.",
    }
}
