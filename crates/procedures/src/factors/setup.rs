//! Setup of factors: its sweeps, their levels, and its parameters.

use crate::common::applied::ApplicableWorkload;
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::method::{Method, part_of};
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::common::{ProcedureSetup, preconditioning};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use std::fmt;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, Cursor, DataPattern, LoadLimits};
use steadfast_domain::{Bytes, Demand, IoStream, Op, Order, Record, Step, StepPlace, Stimulus};

/// Phase of the long writes that show a thermal throttle.
pub(super) const SUSTAINED: &str = "sustained";
/// Phase of the random writes after the preconditioning.
pub(super) const OVERWRITE: &str = "overwrite";

/// Default demand (our choice, as for preconditioning).
const DEMAND: Demand = Demand::new(1, 32);

/// Transfer sizes of the sweep over access patterns.
const PATTERN_SIZES: [Bytes; 3] = [Bytes::kib(128), Bytes::kib(32), Bytes::kib(4)];

pub(super) const SEQUENTIAL: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
pub(super) const RANDOM: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

/// A property of a load that is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// Compressibility of the data on a purged drive.
    FreshEntropy,
    /// Access pattern on a purged drive.
    FreshPattern,
    Alignment,
    /// Share of random I/Os.
    Randomness,
    /// Compressibility of the data on a preconditioned drive.
    Entropy,
    /// Access pattern on a preconditioned drive.
    Pattern,
    /// Used part of the capacity.
    Used,
}

impl Factor {
    /// All factors in the order in which they are measured.
    pub(super) const ALL: [Factor; 7] = [
        Factor::FreshEntropy,
        Factor::FreshPattern,
        Factor::Alignment,
        Factor::Randomness,
        Factor::Entropy,
        Factor::Pattern,
        Factor::Used,
    ];

    /// Returns the phase of its steps, which is also the ID of its exhibits.
    pub(super) fn id(self) -> &'static str {
        self.names().id
    }

    pub(super) fn title(self) -> &'static str {
        self.names().title
    }

    const fn names(self) -> FactorNames {
        let (id, sweep, title) = match self {
            Factor::FreshEntropy => {
                ("entropy-fresh", "entropy", "Random share of the data, after a purge")
            }
            Factor::FreshPattern => ("pattern-fresh", "pattern", "Access pattern, after a purge"),
            Factor::Alignment => ("alignment", "alignment", "Alignment of random offsets"),
            Factor::Randomness => ("random", "random", "Random share of the I/Os"),
            Factor::Entropy => ("entropy", "entropy", "Random share of the data, preconditioned"),
            Factor::Pattern => ("pattern", "pattern", "Access pattern"),
            Factor::Used => ("used", "used", "Used capacity"),
        };
        FactorNames { id, sweep, title }
    }

    /// Returns the factors of a sweep, in order; `None` if there is no such sweep.
    fn of_sweep(name: &str) -> Option<Vec<Factor>> {
        let mut factors = Factor::ALL.to_vec();
        factors.retain(|factor| factor.names().sweep == name);
        (!factors.is_empty()).then_some(factors)
    }
}

struct FactorNames {
    id: &'static str,
    /// Name in the parameter `factors`; a sweep may be made purged and preconditioned.
    sweep: &'static str,
    title: &'static str,
}

/// A level of a factor: one load.
#[derive(Debug, Clone)]
pub struct FactorLevel {
    pub factor: Factor,
    /// Number of the level in its sweep, from 1.
    pub point: u32,
    /// Name, such as `16K` or `50 %`.
    pub name: String,
    /// Position on the axis of the sweep.
    pub x: f64,
    streams: Vec<IoStream>,
    data_pattern: Option<DataPattern>,
    pub range: ActiveRange,
}

impl FactorLevel {
    pub(super) fn is_read(&self) -> bool {
        self.streams.iter().all(|stream| stream.op == Op::Read)
    }
}

impl ApplicableWorkload for FactorLevel {
    fn streams(&self) -> Vec<IoStream> {
        self.streams.clone()
    }
}

impl fmt::Display for FactorLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let streams: Vec<String> = self.streams.iter().map(IoStream::to_string).collect();
        write!(f, "{}, {}: {}", self.factor.title(), self.name, streams.join(" + "))
    }
}

pub(super) const FACTORS: Parameter = Parameter {
    name: "factors",
    default: "entropy,alignment,random,pattern,used",
    meaning: "sweeps: entropy (after a purge and preconditioned), alignment, random, pattern (with \
              the sustained writes, for throttles) and used",
    source: "Viking AN0006, section 2.2",
    ..Parameter::PLAIN
};

pub(super) const ROUNDS: Parameter = Parameter {
    name: "rounds",
    default: "3",
    quick: Some("2"),
    meaning: "measured steps of each level, 2 to 20; their range is the noise",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const USED: Parameter = Parameter {
    name: "used",
    default: "100,90,80,70,60,50",
    quick: Some("100,60"),
    meaning: "used capacities in percent of the active range, 10 to 100; the rest was never \
              written since the purge",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const ENTROPIES: Parameter = Parameter {
    name: "entropies",
    default: "0,50,100",
    meaning: "random percentages of the written data, the rest of each sector is zero, 0 to 100",
    source: "our choice: compressible, half, and incompressible",
    ..Parameter::PLAIN
};

pub(super) const ALIGNMENTS: Parameter = Parameter {
    name: "alignments",
    default: "512,4K,8K,16K,32K,64K",
    meaning: "alignments of random writes, ascending, 512 bytes to 1 MiB",
    source: "our choice: from a partition that begins at an odd sector to the largest known \
             indirection unit",
    ..Parameter::PLAIN
};

pub(super) const ALIGNED_TRANSFER: Parameter = Parameter {
    name: "aligned-transfer",
    default: "64K",
    meaning: "size of the random writes whose alignment is varied, 4 KiB to 1 MiB; no alignment may \
              be larger; indirection units below it are found",
    source: "our choice: the largest alignment",
    ..Parameter::PLAIN
};

pub(super) const RANDOM_PERCENTS: Parameter = Parameter {
    name: "random-percents",
    default: "0,25,50,75,100",
    meaning: "percentages of 4 KiB writes at random offsets, the others are sequential, 0 to 100",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const CHANGE: Parameter = Parameter {
    name: "change",
    default: "5",
    meaning: "percent by which rates must differ at least to count as different, 1 to 50; more if \
              the rounds of a level differ by more",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const THROTTLE_VARIATION: Parameter = Parameter {
    name: "throttle-variation",
    default: "5",
    meaning: "largest coefficient of variation, in percent, of the MB/s of all write patterns, \
              purged and preconditioned, that counts as a life throttle; reads must vary by three \
              times as much, 1 to 30",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const SUSTAINED_STEPS: Parameter = Parameter {
    name: "sustained-steps",
    default: "15",
    quick: Some("5"),
    meaning: "steps of sequential writes in a row that show a thermal throttle, 2 to 1000",
    source: "our choice: a drive has its final temperature after 15 minutes",
    ..Parameter::PLAIN
};

pub const PARAMETERS: &[Parameter] = &[
    FACTORS, ROUNDS, USED, ENTROPIES, ALIGNMENTS, ALIGNED_TRANSFER, RANDOM_PERCENTS, CHANGE,
    THROTTLE_VARIATION, SUSTAINED_STEPS, INSTEAD_OF_WIPC, SPARE,
];

#[derive(Debug, Clone)]
pub struct Factors {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
    /// Levels of all chosen sweeps, in order.
    levels: Vec<FactorLevel>,
    pub(super) rounds: u32,
    /// Share by which rates must differ at least.
    pub(super) change: f64,
    pub(super) throttle_variation: f64,
    pub(super) sustained_steps: u32,
}

impl Factors {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        check_no_rounds(
            settings,
            "every level has the same number of steps; choose it with --set rounds=, and omit \
             --steady-state and --max-rounds",
        )?;
        let method = Method {
            document: "factors",
            revision: "Factors",
            disclaimer: Some("FACTORS: our own test, not a method of the PTS"),
            // The class decides the write cache and the active range.
            ..method::for_own_test(settings)
        };
        let setup = ProcedureSetup::new(request, method)?;
        let levels = levels(&setup)?;
        let has_unused = |level: &FactorLevel| level.range.length < setup.active_range.length;
        if !preconditioning::is_purged(settings) && levels.iter().any(has_unused) {
            return Err(ProcedureError(
                "without a purge all of the drive holds data, so no smaller part can be in use; \
                 omit --purge none, or leave the sweep out with --set \
                 factors=entropy,alignment,random,pattern"
                    .into(),
            ));
        }
        Ok(Factors {
            demand: settings.demand_or(DEMAND),
            rounds: ROUNDS.within(settings, 2..=20)?,
            change: f64::from(CHANGE.within(settings, 1..=50u32)?) / 100.0,
            throttle_variation: f64::from(THROTTLE_VARIATION.within(settings, 1..=30u32)?) / 100.0,
            sustained_steps: SUSTAINED_STEPS.within(settings, 2..=1000)?,
            levels,
            setup,
        })
    }

    /// Returns the levels of a factor, in order; empty if it is not chosen.
    pub(super) fn levels(&self, factor: Factor) -> impl Iterator<Item = &FactorLevel> {
        self.levels.iter().filter(move |level| level.factor == factor)
    }

    pub(super) fn has(&self, factor: Factor) -> bool {
        self.levels(factor).next().is_some()
    }

    pub(super) fn step(&self, level: &FactorLevel, round: u32) -> Step {
        let place = StepPlace::new(level.factor.id(), round, level.point, level.to_string());
        let until = LoadLimits::time(self.setup.step_time);
        let stimulus = self.setup.stimulus(level, self.demand, until, &place);
        let stimulus = Stimulus { active_range: level.range, ..stimulus };
        Step::alone(
            place,
            match &level.data_pattern {
                Some(pattern) => stimulus.data_pattern(pattern.clone()),
                None => stimulus,
            },
        )
    }

    pub(super) fn sustained_step(&self, point: u32) -> Step {
        let place = StepPlace::new(SUSTAINED, 0, point, SEQUENTIAL.to_string());
        self.setup.step(place, &SEQUENTIAL, self.demand, self.setup.step_time)
    }

    pub(super) fn overwrite(&self) -> ContinuousLoad {
        let bytes = self.setup.active_range.length;
        self.setup.load_for_bytes(OVERWRITE, &RANDOM, self.demand, bytes)
    }

    /// Returns writes over a used capacity; `what` is the begin of their phase.
    pub(super) fn used_load(
        &self,
        level: &FactorLevel,
        what: &str,
        pattern: AccessPattern,
    ) -> ContinuousLoad {
        let phase = format!("{what}-used-{}", level.x);
        let amount = level.range.length;
        self.setup.load_for_bytes(&phase, &pattern, self.demand, amount).within(level.range)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let phases = Factor::ALL.into_iter().map(Factor::id).chain([SUSTAINED]);
        let is_recorded = |phase: &&str| record.steps().any(|(step, _)| step.place.phase == *phase);
        RunChoices {
            alignment: None,
            demands: vec![self.demand],
            ending: "when every level has had all of its rounds".into(),
            preconditioning: preconditioning::patterns(&self.setup),
            measured_phases: phases.filter(is_recorded).map(str::to_owned).collect(),
            gap_effect,
            quick: format!(
                "profile quick has {} rounds, used capacities of 100 and 60 % and {} sustained \
                 steps, each step of {}.",
                self.rounds, self.sustained_steps, self.setup.step_time
            ),
            ..self.setup.choices()
        }
    }
}

fn levels(setup: &ProcedureSetup) -> Result<Vec<FactorLevel>, ProcedureError> {
    let settings = &setup.settings;
    let chosen = FACTORS.parse(settings, |text| {
        let all: Option<Vec<Vec<Factor>>> =
            text.split(',').map(|name| Factor::of_sweep(name.trim())).collect();
        all.map(|all| all.concat())
    })?;
    let mut levels = Vec::new();
    for factor in Factor::ALL.into_iter().filter(|factor| chosen.contains(factor)) {
        let of_factor = match factor {
            Factor::FreshEntropy | Factor::Entropy => entropy_levels(setup, factor)?,
            Factor::Alignment => alignment_levels(setup)?,
            Factor::Randomness => randomness_levels(setup)?,
            // Writes whose rate garbage collection does not limit.
            Factor::FreshPattern => levels_of_patterns(setup, factor, &[SEQUENTIAL, RANDOM]),
            Factor::Pattern => pattern_levels(setup),
            Factor::Used => used_levels(setup)?,
        };
        levels.extend((1..).zip(of_factor).map(|(point, level)| FactorLevel { point, ..level }));
    }
    Ok(levels)
}

fn level(setup: &ProcedureSetup, factor: Factor, x: f64, streams: Vec<IoStream>) -> FactorLevel {
    let (name, range) = (format!("{x} %"), setup.active_range);
    FactorLevel { factor, point: 0, name, x, streams, data_pattern: None, range }
}

fn entropy_levels(
    setup: &ProcedureSetup,
    factor: Factor,
) -> Result<Vec<FactorLevel>, ProcedureError> {
    // Sequential writes would tidy up a preconditioned drive from step to step.
    let pattern = if factor == Factor::FreshEntropy { SEQUENTIAL } else { RANDOM };
    let of_percent = |random_percent: u8| FactorLevel {
        data_pattern: Some(DataPattern::Entropy { random_percent, duplicate_percent: 0 }),
        ..level(setup, factor, f64::from(random_percent), pattern.streams())
    };
    Ok(ENTROPIES.percents(&setup.settings, 0)?.into_iter().map(of_percent).collect())
}

fn alignment_levels(setup: &ProcedureSetup) -> Result<Vec<FactorLevel>, ProcedureError> {
    let settings = &setup.settings;
    let sector = u64::from(setup.geometry.logical_sector);
    let size = |text: &str, least: u64| {
        let size = text.trim().parse::<Bytes>().ok();
        size.filter(|size| (least..=1 << 20).contains(&size.0))
    };
    let transfer = ALIGNED_TRANSFER.parse(settings, |text| size(text, 4096))?;
    let alignments = ALIGNMENTS.ascending(settings, |text| size(text, 512))?;
    // A drive with larger sectors has no smaller alignments.
    if let Some(larger) = alignments.iter().find(|alignment| **alignment > transfer) {
        return Err(ProcedureError(format!(
            "alignments: writes of {} at offsets aligned to {} would reach only a part of the \
             addresses, which makes them faster; choose smaller alignments or a larger \
             aligned-transfer",
            transfer.transfer_size(),
            larger.transfer_size()
        )));
    }
    let possible = alignments.into_iter().filter(|alignment| alignment.0.is_multiple_of(sector));
    let of_alignment = |alignment: Bytes| {
        let stream = IoStream::new(Op::Write, Order::Random, transfer);
        let stream = IoStream { alignment: Some(alignment), ..stream };
        let x = alignment.0 as f64;
        FactorLevel {
            name: alignment.transfer_size(),
            ..level(setup, Factor::Alignment, x, vec![stream])
        }
    };
    Ok(possible.map(of_alignment).collect())
}

fn randomness_levels(setup: &ProcedureSetup) -> Result<Vec<FactorLevel>, ProcedureError> {
    let stream = |order, percent: u8| {
        IoStream::new(Op::Write, order, Bytes::kib(4)).with_weight(u32::from(percent))
    };
    let of_percent = |percent: u8| {
        let mut streams = vec![
            stream(Order::Random, percent),
            stream(Order::Sequential(Cursor::Own), 100 - percent),
        ];
        streams.retain(|stream| stream.weight > 0);
        level(setup, Factor::Randomness, f64::from(percent), streams)
    };
    Ok(RANDOM_PERCENTS.percents(&setup.settings, 0)?.into_iter().map(of_percent).collect())
}

/// Returns writes, then reads: large sequential ones, and random ones of several sizes.
fn pattern_levels(setup: &ProcedureSetup) -> Vec<FactorLevel> {
    let mut patterns = Vec::new();
    for reads in [0, 100] {
        patterns.push(AccessPattern::sequential(Bytes::kib(128), reads));
        patterns.extend(PATTERN_SIZES.map(|size| AccessPattern::random(size, reads)));
    }
    levels_of_patterns(setup, Factor::Pattern, &patterns)
}

fn levels_of_patterns(
    setup: &ProcedureSetup,
    factor: Factor,
    patterns: &[AccessPattern],
) -> Vec<FactorLevel> {
    let of_pattern = |(place, pattern): (u32, &AccessPattern)| FactorLevel {
        name: pattern.to_string(),
        ..level(setup, factor, f64::from(place), pattern.streams())
    };
    (0..).zip(patterns).map(of_pattern).collect()
}

fn used_levels(setup: &ProcedureSetup) -> Result<Vec<FactorLevel>, ProcedureError> {
    let of_percent = |percent: u8| {
        let range = part_of(setup.active_range, percent);
        FactorLevel { range, ..level(setup, Factor::Used, f64::from(percent), RANDOM.streams()) }
    };
    Ok(USED.percents(&setup.settings, 10)?.into_iter().map(of_percent).collect())
}

fn gap_effect(step: &Step) -> &'static str {
    match step.place.phase.as_str() {
        OVERWRITE => "The overwriting continued from its last checkpoint.",
        phase if phase.contains("-used-") => "The writes continued from their last checkpoint.",
        _ => "That step is void; its level counts with the other rounds.",
    }
}
