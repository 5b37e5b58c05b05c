//! Setup of neighbors: the victim, its offenders, and the controls to compare.

use super::control::{CONTROLS, ControlName};
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::method::{Method, RANGE_UNIT};
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::preconditioning::{self, WIPC_DEMAND, WIPC_PATTERN};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use crate::report_notation::distinct;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::rate::{Arrivals, OfferedRate};
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{
    Bytes, Conditions, Demand, GroupLimits, IoControl, IoStream, Load, LoadGroup, Measurement,
    Nanos, Op, Order, Profile, Record, Step, StepPlace, Stimulus,
};

/// Phase of the victim's closed loop.
pub(super) const VICTIM_MAX: &str = "victim-max";

/// Point of the step without the offender in each cycle.
pub(super) const OFF: u32 = 1;
/// Point of the step with the offender in each cycle.
pub(super) const ON: u32 = 2;

const DISCARDS: &str = "discards";

/// Size of its discards: our choice.
const DISCARD_SIZE: Bytes = Bytes::mib(1);

/// Default demand of the victim: our choice, enough for most rates in an open loop.
const DEMAND: Demand = Demand::new(1, 32);

/// Length of a step except in profile quick: our choice, long enough for a 99.9 % response time at
/// 1,000 IOPS.
const STEP_TIME: Nanos = Nanos::from_secs(30);

const CYCLES_MAX: u32 = 1000;

const OWN: &str = "our choice";

const VICTIM: Parameter = Parameter {
    name: "victim",
    default: "RND 4K R",
    meaning: "load of the victim, such as \"RND 4K R\" or \"RND 8K RW70\"",
    source: OWN,
    ..Parameter::PLAIN
};
const RATE: Parameter = Parameter {
    name: "rate",
    default: "20%",
    meaning: "rate of the victim: IOPS, MB/s (150MB/s), or a share of the rate that it reaches \
              alone with the same demand (20%)",
    source: OWN,
    ..Parameter::PLAIN
};
const ARRIVALS: Parameter = Parameter {
    name: "arrivals",
    default: "poisson",
    meaning: "times of the victim's I/Os: poisson (at random) or fixed (evenly spaced)",
    source: OWN,
    ..Parameter::PLAIN
};
const OFFENDERS: Parameter = Parameter {
    name: "offenders",
    default: "SEQ 128K W, RND 4K W, RND 64K RW50",
    quick: Some("SEQ 128K W"),
    meaning: "loads that disturb it, separated by commas: access patterns, or discards (1 MiB, \
              random)",
    source: OWN,
    ..Parameter::PLAIN
};
const OFFENDER_DEMAND: Parameter = Parameter {
    name: "offender-demand",
    default: "T1Q32",
    meaning: "demand of each offender, in a closed loop",
    source: OWN,
    ..Parameter::PLAIN
};
const CONTROLS_COMPARED: Parameter = Parameter {
    name: "controls",
    default: "auto",
    meaning: "rules of the kernel to compare with none: auto (those that this kernel has), none, \
              or a list of io.max, io.bfq.weight, io.cost and io.latency, each of which must then be \
              available",
    source: OWN,
    ..Parameter::PLAIN
};
const LIMIT: Parameter = Parameter {
    name: "limit",
    default: "25%",
    meaning: "limit of the offender by io.max: MB/s (100MB/s), or a share of its rate alone (25%)",
    source: OWN,
    ..Parameter::PLAIN
};
const WEIGHTS: Parameter = Parameter {
    name: "weights",
    default: "1000:10",
    meaning: "weights of victim and offender by io.bfq.weight and io.cost, 1 to 1000 each",
    source: OWN,
    ..Parameter::PLAIN
};
const LATENCY_TARGET: Parameter = Parameter {
    name: "latency-target",
    default: "1ms",
    meaning: "mean response time of the victim that io.latency aims at, 1us or more",
    source: OWN,
    ..Parameter::PLAIN
};
const CYCLES: Parameter = Parameter {
    name: "cycles",
    default: "3",
    quick: Some("4"),
    meaning: "times that each offender is switched on and off under each control, 1 to 1000",
    source: OWN,
    ..Parameter::PLAIN
};

pub(crate) const PARAMETERS: &[Parameter] = &[
    VICTIM, RATE, ARRIVALS, OFFENDERS, OFFENDER_DEMAND, CONTROLS_COMPARED, LIMIT, WEIGHTS,
    LATENCY_TARGET, CYCLES, INSTEAD_OF_WIPC, SPARE,
];

/// A rate, or a share of a measured one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RateChoice {
    Rate(OfferedRate),
    /// Share, above 0 and at most 1.
    Share(f64),
}

impl RateChoice {
    fn parse(text: &str) -> Option<RateChoice> {
        match text.trim().strip_suffix('%') {
            Some(percent) => {
                let share = percent.trim().parse::<f64>().ok()? / 100.0;
                (share > 0.0 && share <= 1.0).then_some(RateChoice::Share(share))
            }
            None => text.parse().ok().map(RateChoice::Rate),
        }
    }
}

/// Limit of the offender by io.max.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LimitChoice {
    BytesPerSecond(f64),
    /// Share of the offender's rate when it runs alone, above 0 and at most 1.
    Share(f64),
}

impl LimitChoice {
    fn parse(text: &str) -> Option<LimitChoice> {
        match RateChoice::parse(text)? {
            RateChoice::Share(share) => Some(LimitChoice::Share(share)),
            RateChoice::Rate(OfferedRate::MegabytesPerSecond(rate)) => {
                Some(LimitChoice::BytesPerSecond(rate * 1e6))
            }
            RateChoice::Rate(OfferedRate::Iops(_)) => None,
        }
    }
}

/// A load that disturbs the victim.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OffenderLoad {
    pub name: String,
    pub streams: Vec<IoStream>,
}

impl OffenderLoad {
    fn parse(text: &str) -> Option<OffenderLoad> {
        let text = text.trim();
        if text == DISCARDS {
            let streams = vec![IoStream::new(Op::Discard, Order::Random, DISCARD_SIZE)];
            return Some(OffenderLoad { name: DISCARDS.to_owned(), streams });
        }
        let pattern: AccessPattern = text.parse().ok()?;
        Some(OffenderLoad { name: pattern.to_string(), streams: pattern.streams() })
    }

    /// Returns true if it discards, so that its range must be written again before each use.
    pub fn discards(&self) -> bool {
        self.streams.iter().any(|stream| stream.op == Op::Discard)
    }

    /// Returns the limits that let it move this number of bytes per second. A discard moves
    /// nothing, so that the number of discards is limited.
    pub fn limits(&self, bytes_per_second: f64) -> GroupLimits {
        let size = |stream: &IoStream| f64::from(stream.weight) * stream.size.0 as f64;
        let moves = |op: Op| self.streams.iter().filter(move |stream| stream.op == op);
        let all: f64 = self.streams.iter().map(size).sum();
        let bytes = |op: Op| {
            let share = moves(op).map(size).sum::<f64>() / all;
            (share > 0.0).then(|| (bytes_per_second * share).round().max(1.0) as u64)
        };
        let discards = bytes(Op::Discard).map(|bytes| (bytes / DISCARD_SIZE.0).max(1));
        GroupLimits {
            read_bytes: bytes(Op::Read),
            write_bytes: bytes(Op::Write),
            read_ios: None,
            write_ios: discards,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ControlChoice {
    pub names: Vec<ControlName>,
    /// True if the user named them, so that each must be available.
    pub required: bool,
}

impl ControlChoice {
    fn parse(text: &str) -> Option<Self> {
        let mut names = Vec::new();
        match text.trim() {
            "auto" => return Some(ControlChoice { names: CONTROLS.to_vec(), required: false }),
            "none" => {}
            list => {
                for name in list.split(',') {
                    let name = CONTROLS.into_iter().find(|known| known.name() == name.trim())?;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        Some(ControlChoice { names, required: true })
    }
}

#[derive(Debug, Clone)]
pub struct Neighbors {
    pub(super) setup: ProcedureSetup,
    pub(super) victim: AccessPattern,
    pub(super) demand: Demand,
    pub(super) rate: RateChoice,
    pub(super) arrivals: Arrivals,
    pub(super) offenders: Vec<OffenderLoad>,
    pub(super) offender_demand: Demand,
    pub(super) controls: ControlChoice,
    limit: LimitChoice,
    weights: ControlWeights,
    latency_target: Nanos,
    pub(super) cycles: u32,
}

impl Neighbors {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        check_no_rounds(settings, "it runs a fixed number of cycles; choose with --set cycles=N")?;
        if settings.verify {
            return Err(ProcedureError(
                "neighbors cannot verify: its loads run in processes of their own; omit --verify"
                    .into(),
            ));
        }
        let base = method::for_own_test(settings);
        let method = Method {
            document: "neighbors",
            revision: "Neighbors",
            disclaimer: Some("NEIGHBORS: isolation between two loads, not a method of the PTS"),
            step_time: match settings.profile {
                Profile::Quick => base.step_time,
                _ => STEP_TIME,
            },
            ..base
        };
        let test = Neighbors {
            setup: ProcedureSetup::new(request, method)?,
            victim: VICTIM.parse(settings, |text| text.parse().ok())?,
            demand: settings.demand_or(DEMAND),
            rate: RATE.parse(settings, RateChoice::parse)?,
            arrivals: ARRIVALS
                .choice(settings, &[("poisson", Arrivals::Poisson), ("fixed", Arrivals::Fixed)])?,
            offenders: OFFENDERS
                .parse(settings, |text| text.split(',').map(OffenderLoad::parse).collect())?,
            offender_demand: OFFENDER_DEMAND.parse(settings, |text| text.parse().ok())?,
            controls: CONTROLS_COMPARED.parse(settings, ControlChoice::parse)?,
            limit: LIMIT.parse(settings, LimitChoice::parse)?,
            weights: WEIGHTS.parse(settings, ControlWeights::parse)?,
            latency_target: LATENCY_TARGET.parse(settings, |text| {
                text.parse::<Nanos>().ok().filter(|target| target.0 >= 1000)
            })?,
            cycles: CYCLES.within(settings, 1..=CYCLES_MAX)?,
        };
        if let RateChoice::Rate(rate) = test.rate {
            test.pace(rate).map_err(ProcedureError)?;
        }
        Ok(test)
    }

    pub(super) fn pace(&self, rate: OfferedRate) -> Result<Pace, String> {
        rate.pace(&self.victim.streams(), self.demand.threads, self.arrivals)
    }

    /// Returns the conditions under a control; `scheduler` is the one that the device had.
    pub(super) fn conditions(&self, control: IoControl, scheduler: Option<&str>) -> Conditions {
        let scheduler = match control {
            IoControl::BfqWeight { .. } => Some("bfq"),
            _ => scheduler,
        };
        Conditions {
            io_control: Some(control),
            scheduler: scheduler.map(str::to_owned),
            ..self.setup.conditions()
        }
    }

    /// Returns the rule of a control for an offender with this measurement alone; any limit if
    /// there is none yet.
    pub(super) fn rule(
        &self,
        name: ControlName,
        offender: &OffenderLoad,
        alone: Option<&Measurement>,
    ) -> IoControl {
        match name {
            ControlName::Uncontrolled => IoControl::Uncontrolled,
            ControlName::Max => {
                let alone = alone.and_then(Measurement::bytes_per_second).unwrap_or(1e9);
                let limit = match self.limit {
                    LimitChoice::Share(share) => share * alone,
                    LimitChoice::BytesPerSecond(rate) => rate,
                };
                IoControl::Max(offender.limits(limit))
            }
            ControlName::BfqWeight => {
                let ControlWeights { victim, offender } = self.weights;
                IoControl::BfqWeight { victim, offender }
            }
            ControlName::Cost => {
                let ControlWeights { victim, offender } = self.weights;
                IoControl::Cost { victim, offender }
            }
            ControlName::Latency => IoControl::Latency { target: self.latency_target },
        }
    }

    /// Returns the halves of the active range: the victim's and the offender's.
    fn halves(&self) -> [ActiveRange; 2] {
        let range = self.setup.active_range;
        let half = Bytes(range.length.0 / 2).round_down(RANGE_UNIT);
        let middle = Bytes(range.start.0 + half.0);
        [ActiveRange::new(range.start, half), ActiveRange::new(middle, half)]
    }

    fn victim_load(&self, pace: &Pace, place: &StepPlace) -> Stimulus {
        let [range, _] = self.halves();
        self.stimulus(self.victim.streams(), range, self.demand)
            .pace(pace.clone())
            .seed(self.seed(place))
    }

    fn offender_load(&self, offender: &OffenderLoad, place: &StepPlace) -> Stimulus {
        let [_, range] = self.halves();
        let seed = mix64(self.seed(place).wrapping_add(1));
        self.stimulus(offender.streams.clone(), range, self.offender_demand).seed(seed)
    }

    fn stimulus(&self, streams: Vec<IoStream>, range: ActiveRange, demand: Demand) -> Stimulus {
        Stimulus::new(streams, range, demand, LoadLimits::time(self.setup.step_time))
            .data_pattern(self.setup.settings.data_pattern.clone())
    }

    fn seed(&self, place: &StepPlace) -> u64 {
        place.seed(self.setup.settings.seed)
    }

    /// Returns the step of the victim alone in a closed loop.
    pub(super) fn victim_max(&self) -> Step {
        let place = StepPlace::new(VICTIM_MAX, 0, 1, format!("{} {}", self.victim, self.demand));
        let load = self.victim_load(&Pace::Closed, &place);
        Step::alone(place, load).in_groups([LoadGroup::Victim])
    }

    pub(super) fn offender_alone(&self, number: usize) -> Step {
        let offender = &self.offenders[number];
        let label = format!("{} {}", offender.name, self.offender_demand);
        let place = StepPlace::new(&alone_phase(number), 0, 1, label);
        let load = self.offender_load(offender, &place);
        Step::alone(place, load).in_groups([LoadGroup::Offender])
    }

    pub(super) fn step_without_offender(&self, pace: &Pace, phase: &str, cycle: u32) -> Step {
        let place = StepPlace::new(phase, cycle, OFF, format!("{}, offender off", self.victim));
        let load = self.victim_load(pace, &place);
        Step::alone(place, load).in_groups([LoadGroup::Victim])
    }

    pub(super) fn step_with_offender(
        &self,
        pace: &Pace,
        number: usize,
        phase: &str,
        cycle: u32,
    ) -> Step {
        let offender = &self.offenders[number];
        let label = format!("{}, offender {}", self.victim, offender.name);
        let place = StepPlace::new(phase, cycle, ON, label);
        let loads = vec![self.victim_load(pace, &place), self.offender_load(offender, &place)];
        Step::alone(place, Load::Together(loads)).in_groups(LoadGroup::ALL)
    }

    /// Returns the load that writes the range of an offender that discards.
    pub(super) fn refill(&self, phase: &str) -> ContinuousLoad {
        let [_, range] = self.halves();
        let phase = format!("fill-{phase}");
        self.setup.load_for_bytes(&phase, &WIPC_PATTERN, WIPC_DEMAND, range.length).within(range)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let grouped = record.steps().filter(|(step, _)| !step.groups.is_empty());
        let measured_phases = distinct(grouped.map(|(step, _)| step.place.phase.clone()));
        RunChoices {
            demands: vec![self.demand],
            ending: format!("after {} cycles of each offender and control", self.cycles),
            measured_phases,
            gap_effect: |_| "The drive rested before the step; other steps are not affected.",
            preconditioning: preconditioning::patterns(&self.setup),
            ..self.setup.choices()
        }
    }

    /// Returns the victim's load and rate as text.
    pub(super) fn victim_text(&self) -> String {
        let rate = match self.rate {
            RateChoice::Rate(rate) => rate.to_string(),
            RateChoice::Share(share) => format!("{} % of its maximum", share * 100.0),
        };
        let arrivals = match self.arrivals {
            Arrivals::Poisson => "Poisson",
            Arrivals::Fixed => "fixed",
        };
        format!("{} at {rate} ({arrivals} arrivals)", self.victim)
    }
}

pub(super) fn alone_phase(number: usize) -> String {
    format!("offender-{}", number + 1)
}

pub(super) fn cycles_phase(name: ControlName, number: usize) -> String {
    format!("{}-{}", name.id(), number + 1)
}

/// Weights of victim and offender, 1 to 1000 each.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ControlWeights {
    victim: u32,
    offender: u32,
}

impl ControlWeights {
    /// Parses weights such as `1000:10`.
    fn parse(text: &str) -> Option<Self> {
        let (victim, offender) = text.split_once(':')?;
        let weight = |text: &str| text.trim().parse().ok().filter(|n| (1..=1000).contains(n));
        Some(ControlWeights { victim: weight(victim)?, offender: weight(offender)? })
    }
}
