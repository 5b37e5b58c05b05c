//! The DIRTH test (Demand Intensity / Response Time Histogram): which demand
//! gives how many IOPS at which response time, and the response times of three
//! chosen demands (PTS 2.0.x; test flow of a public implementation).
//!
//! Purge; twice the user capacity sequentially; the workload's sizes written at
//! the highest demand until measured minutes are steady; then rounds of five
//! minutes of writes and 49 one-minute steps, thread count outside, queue depth
//! inside, both from high to low, until IOPS at the highest demand are steady;
//! then three points chosen from the last round, each with an hour of writes and
//! ten minutes in which every response time is recorded.
//!
//! A gap inside a round voids it and the window begins anew; a histogram whose
//! hour of writes or whose start saw a gap is done again with its hour.

mod exhibits;
mod matrix;
mod points;
mod results;

use super::between::{self, BETWEEN_TIME, BetweenRounds, Cycle, MEASURED_FIRST};
use super::ground::{self, Ground, NO_END, attempt_phase};
use super::method::WIPC_PATTERN;
use super::workload::{ALIGNMENT, CURSOR, MIX_JESD219, Workload};
use super::{disclosure, preconditioning, rounds};
use crate::{Parameter, Unsuitable};
use matrix::Matrix;
use points::{Chosen, Role};
use results::Results;
use steadfast_domain::caveats as ids;
use steadfast_domain::settings::{Amendment, Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::Until;
use steadfast_domain::{
    Bench, Bytes, Caveat, CaveatKind, Demand, Findings, Halt, Nanos, Note, Place, Procedure,
    Record, Settings, Step,
};

/// The phase of the workload-dependent preconditioning.
pub const PRECONDITIONING: &str = "preconditioning";
/// The phase of the writes before each round's matrix.
pub const PRE_WRITE: &str = "pre-write";
/// The phase of the matrix.
pub const DEMAND: &str = "demand";

const WORKLOAD: Parameter = Parameter {
    name: "workload",
    default: "RND 8K RW65",
    meaning: "what is applied: metadata, write-intensive, read-intensive, oltp, video, composite, \
              or an access pattern like RND 8K RW65",
    source: "public implementation of PTS 2.0.x; the six synthetic workloads: SNIA tutorial",
    unverified: true,
    ..Parameter::PLAIN
};

const LOOPS: Parameter = Parameter {
    of_demand: true,
    name: "loops",
    default: "32,16,8,6,4,2,1",
    quick: Some("32,8,1"),
    meaning: "thread counts of the outer and queue depths of the inner loop, from high to 1",
    source: "two public implementations; a third leaves 6 out",
    unverified: true,
    ..Parameter::PLAIN
};

const PRE_WRITE_TIME: Parameter = Parameter {
    name: "pre-write",
    default: "5min",
    quick: Some("2s"),
    meaning: "time of the writes before each round's matrix",
    source: "public implementation; another writes 10 minutes",
    unverified: true,
    ..Parameter::PLAIN
};

const ART_CEILING: Parameter = Parameter {
    name: "art-ceiling",
    default: "5ms",
    meaning: "a point is chosen only where its average response time stays below this",
    source: "public implementation of PTS 2.0.x",
    unverified: true,
    ..Parameter::PLAIN
};

const POINT_PRE_WRITE_TIME: Parameter = Parameter {
    name: "point-pre-write",
    default: "60min",
    quick: Some("5s"),
    meaning: "time of the writes before each chosen point's histogram",
    source: "public implementation of PTS 2.0.x",
    unverified: true,
    ..Parameter::PLAIN
};

const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "10min",
    quick: Some("5s"),
    meaning: "time during which every response time of a chosen point is recorded",
    source: "public implementation of PTS 2.0.x",
    unverified: true,
    ..Parameter::PLAIN
};

/// The parameters of `dirth`.
pub const PARAMETERS: &[Parameter] = &[
    WORKLOAD,
    MIX_JESD219,
    ALIGNMENT,
    CURSOR,
    BETWEEN_TIME,
    MEASURED_FIRST,
    LOOPS,
    PRE_WRITE_TIME,
    ART_CEILING,
    POINT_PRE_WRITE_TIME,
    HISTOGRAM_TIME,
];

/// The parameters of `composite-dirth`.
pub const COMPOSITE_PARAMETERS: &[Parameter] = &[
    MIX_JESD219,
    ALIGNMENT,
    BETWEEN_TIME,
    MEASURED_FIRST,
    LOOPS,
    PRE_WRITE_TIME,
    ART_CEILING,
    POINT_PRE_WRITE_TIME,
    HISTOGRAM_TIME,
];

/// The DIRTH test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Dirth {
    ground: Ground,
    workload: Workload,
    writes: Workload,
    left_out: Vec<Bytes>,
    preconditioning: BetweenRounds,
    matrix: Matrix,
    pre_write_time: Nanos,
    art_ceiling: Nanos,
    point_pre_write_time: Nanos,
    histogram_time: Nanos,
}

impl Dirth {
    /// DIRTH of the workload that the settings name.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let workload = Workload::chosen(Some(&WORKLOAD), &MIX_JESD219, settings, geometry)?;
        Dirth::of(workload, settings, geometry, amendments)
    }

    /// DIRTH of the JESD219 composite.
    pub fn composite(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let workload = Workload::chosen(None, &MIX_JESD219, settings, geometry)?;
        Dirth::of(workload, settings, geometry, amendments)
    }

    fn of(
        workload: Workload,
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check(settings)?;
        let ground = Ground::new(settings, geometry)?;
        let writes = workload.all_writes();
        let loops = LOOPS.parse(settings, matrix::loops)?;
        let cycle = Cycle::chosen(&MEASURED_FIRST, settings, ground.minute)?;
        let rounds_max =
            |phase, last| rounds::rounds_max(settings, &ground.method, amendments, phase, last);
        let matrix = Matrix {
            demands: matrix::demands(&loops),
            label: workload.to_string(),
            criteria: ground.method.criteria,
            rounds_max: rounds_max(DEMAND, true),
        };
        let preconditioning = preconditioning_load(&ground, &writes, matrix.highest(), cycle);
        Ok(Dirth {
            left_out: workload.left_out(),
            preconditioning: BetweenRounds {
                cycles_max: rounds_max(PRECONDITIONING, false),
                ..preconditioning
            },
            pre_write_time: ground::time(&PRE_WRITE_TIME, settings)?,
            art_ceiling: ART_CEILING
                .parse(settings, |text| text.parse::<Nanos>().ok().filter(|t| t.0 > 0))?,
            point_pre_write_time: ground::time(&POINT_PRE_WRITE_TIME, settings)?,
            histogram_time: ground::time(&HISTOGRAM_TIME, settings)?,
            matrix,
            workload,
            writes,
            ground,
        })
    }

    /// One step of the matrix.
    fn demand_step(&self, round: u32, point: u32, demand: Demand) -> Step {
        let label = format!("{} {demand}", self.workload);
        let place = Place::new(DEMAND, round, point, label);
        let until = Until::time(self.ground.minute);
        let stimulus = self.ground.stimulus(&self.workload, demand, until, &place);
        Step::alone(place, stimulus)
    }

    fn histogram_step(&self, chosen: &Chosen, attempt: u32) -> Step {
        let phase = attempt_phase(&chosen.role.histogram_phase(), attempt);
        let label = format!("{} {}", self.workload, chosen.demand);
        let place = Place::new(&phase, 0, 1, label);
        let until = Until::time(self.histogram_time);
        let stimulus = self.ground.stimulus(&self.workload, chosen.demand, until, &place);
        Step::alone(place, stimulus)
    }

    fn conduct_rounds(&self, bench: &mut dyn Bench) -> Result<Vec<matrix::Round>, Halt> {
        let mut rounds = Vec::new();
        for round in 1..=self.matrix.rounds_max {
            rounds.push(self.conduct_round(bench, round)?);
            let verdict = self.matrix.judge(&rounds);
            bench.note(&Note::Verdict(verdict.clone()));
            if verdict.steady {
                break;
            }
        }
        Ok(rounds)
    }

    fn conduct_round(&self, bench: &mut dyn Bench, round: u32) -> Result<matrix::Round, Halt> {
        let highest = self.matrix.highest();
        let pre_write =
            self.ground.stretch((PRE_WRITE, round), &self.writes, highest, self.pre_write_time);
        let pieces = pre_write.conduct(bench)?;
        let mut values = matrix::Round::new(round);
        values.add_pre_write(pieces);
        for (point, demand) in (1..).zip(&self.matrix.demands) {
            values.push(&bench.apply(&self.demand_step(round, point, *demand))?);
        }
        Ok(values)
    }

    /// The hour of writes and the histogram of one point, in one piece.
    fn conduct_point(&self, bench: &mut dyn Bench, chosen: &Chosen) -> Result<(), Halt> {
        for attempt in 1.. {
            let phase = attempt_phase(&chosen.role.pre_write_phase(), attempt);
            let writes = self.ground.stretch(
                (&phase, 0),
                &self.writes,
                chosen.demand,
                self.point_pre_write_time,
            );
            let pieces = writes.conduct(bench)?;
            let outcome = bench.apply(&self.histogram_step(chosen, attempt))?;
            if !pieces.gap_inside && outcome.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn choices(&self, record: &Record) -> disclosure::Choices<'_> {
        let histograms: Vec<String> = Role::ALL.iter().map(|r| r.histogram_phase()).collect();
        let mut measured = vec![DEMAND];
        measured.extend(histograms.iter().map(String::as_str));
        disclosure::Choices {
            alignment: Some(self.workload.alignment_name(self.ground.alignment)),
            demands: self.matrix.demands.clone(),
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.matrix.rounds_max),
            ending: disclosure::ending_text(self.ground.settings.steady_state),
            judged: true,
            preconditioning: vec![WIPC_PATTERN],
            measured_phases: ground::phases_of(record, &measured),
            gap_effect,
            quick: format!(
                "profile quick runs {} demands (the standard's flow: 49) in steps of {} instead \
                 of 60 s, writes {} before a round and {} before a histogram of {}.",
                self.matrix.demands.len(),
                self.ground.minute,
                self.pre_write_time,
                self.point_pre_write_time,
                self.histogram_time
            ),
            ..self.ground.choices()
        }
    }
}

fn preconditioning_load(
    ground: &Ground,
    writes: &Workload,
    demand: Demand,
    cycle: Cycle,
) -> BetweenRounds {
    let place = Place::new(PRECONDITIONING, 0, 1, "");
    let stimulus = ground.stimulus(writes, demand, Until::time(NO_END), &place);
    BetweenRounds::new(ground, (PRECONDITIONING, format!("{writes} {demand}")), stimulus, cycle)
}

/// Refuses settings that this test has no use for.
fn check(settings: &Settings) -> Result<(), Unsuitable> {
    if settings.threads.is_some() || settings.depth.is_some() {
        return Err(Unsuitable(format!(
            "{} goes through thread counts and queue depths of its own; leave --threads and \
             --depth out, or change them with --set loops=32,16,8,6,4,2,1",
            settings.procedure
        )));
    }
    match settings.steady_state {
        SteadyStateMethod::Rounds | SteadyStateMethod::Btw => Ok(()),
        other => Err(Unsuitable(format!(
            "{} cannot end by --steady-state {other}: what follows steady state would see a \
             drive that was written longer; choose rounds",
            settings.procedure
        ))),
    }
}

/// What a gap did.
fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    let is_first_minute = step.place.point == 1;
    match phase {
        preconditioning::PHASE => "Preconditioning went on from its last checkpoint.",
        PRECONDITIONING => between::gap_effect(step),
        PRE_WRITE if is_first_minute => "The steady-state window begins anew with that round.",
        PRE_WRITE | DEMAND => {
            "That round is void, and the steady-state window begins anew after it."
        }
        _ if Role::ALL.iter().any(|r| ground::is_attempt_of(phase, &r.histogram_phase())) => {
            "That histogram is void: it was done again with its hour of writes."
        }
        _ if is_first_minute => "The writes before the histogram had not begun.",
        _ => "The writes before the histogram, and the histogram, were done again.",
    }
}

/// The notes of a choice: each point, and a caveat where no point stays below
/// the ceiling.
fn note_choice(bench: &mut dyn Bench, chosen: &points::Selection) {
    for point in &chosen.points {
        bench.note(&Note::Chosen { what: point.role.name().to_owned(), value: point.describe() });
    }
}

/// What must be said of a choice.
fn selection_caveats(selection: &points::Selection, ceiling: Nanos) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if selection.above_ceiling {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::ART_CEILING,
            format!(
                "No point stays below an average response time of {ceiling}: MaxIOPS and MidIOPS \
                 were chosen from the {} points of lowest average response time.",
                points::LOWEST_POINTS
            ),
            "Raise the ceiling with --set art-ceiling=TIME to choose by IOPS.",
        ));
    }
    let demands: Vec<Demand> = selection.points.iter().map(|point| point.demand).collect();
    let all_differ = (1..demands.len()).all(|n| !demands[..n].contains(&demands[n]));
    if !all_differ {
        let all: Vec<String> =
            selection.points.iter().map(|p| format!("{} {}", p.role.name(), p.demand)).collect();
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::POINTS_COINCIDE,
            format!("The rule chose the same demand more than once: {}.", all.join(", ")),
            "",
        ));
    }
    caveats
}

impl Procedure for Dirth {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let Ground { settings, geometry, active_range, .. } = &self.ground;
        bench.settle(&self.ground.conditions())?;
        bench.purge()?;
        preconditioning::precondition(bench, settings, *geometry, *active_range)?;
        self.preconditioning.conduct(bench)?;
        let rounds = self.conduct_rounds(bench)?;
        let Some(selection) = points::select(&self.matrix, &rounds, self.art_ceiling) else {
            return Err(Halt::Refused(
                "no round of the demand matrix is complete without a gap, so no point can be \
                 chosen; run more rounds"
                    .into(),
            ));
        };
        note_choice(bench, &selection);
        for chosen in &selection.points {
            self.conduct_point(bench, chosen)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(self, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
