//! Between-round writes (BTW): one continuous load, of which one minute in every 31 is measured.
//! It is steady when five measured minutes meet 20/10 (SNIA tutorial, steady-state
//! determination, method 3).
//!
//! A cycle is one measured minute and 30 minutes between (PTS-E 1.1 as implemented by
//! CloudHarmony; other implementations have cycles of 30). A parameter decides which minute of
//! the cycle is measured. The window restarts after a gap; a minute right after a gap has no
//! value, because the device was idle.

use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::common::stretch::NO_END;
use crate::exhibits::disclosure::window_text;
use crate::exhibits::loops::{tracking_table, window_exhibits};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::report_notation::{decimals, reservation_text};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, Origin, Plot, PlotKind, Row, Scale, Series, Setting,
    Stroke, Table, TimeUnit,
};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::steady_state::{TrackPoint, judge_every};
use steadfast_domain::step::is_whole;
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{
    Bench, Bytes, Caveat, CaveatKind, Criteria, Demand, Halt, Measurement, Nanos, Note, Outcome,
    Record, Settings, Step, StepPlace, Stimulus, Track, Verdict, judge,
};

/// Parameter `between-time`.
pub const BETWEEN_TIME: Parameter = Parameter {
    name: "between-time",
    default: "30min",
    quick: Some("4s"),
    meaning: "length of the writes between two rounds; one more step is measured",
    source: "SNIA tutorial (30 min between 1-min rounds: a cycle of 31 minutes); some public \
             implementations have cycles of 30",
    unverified: true,
    ..Parameter::PLAIN
};

/// Parameter `measured-minute`; the default is the last of a cycle (CloudHarmony).
pub const MEASURED_LAST: Parameter = Parameter {
    name: "measured-minute",
    default: "last",
    meaning: "which minute of a cycle is measured: first or last",
    source: "public implementations differ: the last in WSAT and HIR, the first in DIRTH",
    unverified: true,
    ..Parameter::PLAIN
};

/// Parameter `measured-minute` with the first of a cycle as the default.
pub const MEASURED_FIRST: Parameter = Parameter { default: "first", ..MEASURED_LAST };

/// Parameter `least-fills`.
pub const LEAST_FILLS: Parameter = Parameter {
    name: "least-fills",
    default: "1",
    meaning: "how many times the user capacity must be written after the purge before a measured \
        minute counts toward steady state; 0 for the plain rule",
    source: "our rule: a drive that was not fully written once can look steady while still fresh",
    ..Parameter::PLAIN
};

/// Position of the measured minute in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredMinute {
    /// First minute: the cycle's writes follow it.
    First,
    /// Last minute: the cycle's writes precede it.
    Last,
}

/// A continuous load with one measured minute in every cycle.
#[derive(Debug, Clone)]
pub struct CyclicLoad {
    /// Phase of the steps in the journal; a cycle is a round of it.
    pub phase: String,
    /// Name of the load.
    pub label: String,
    /// Load to apply; its own limits also end it.
    pub stimulus: Stimulus,
    /// Length of a minute, shorter in profile `quick`.
    pub minute: Nanos,
    /// Number of minutes between two measured ones.
    pub between: u32,
    /// Position of the measured minute in a cycle.
    pub measured: MeasuredMinute,
    /// Criteria for a steady window.
    pub criteria: Criteria,
    /// Maximum number of cycles.
    pub cycles_max: u32,
    /// True if the load stops at the first steady window.
    pub stops: bool,
    /// Maximum number of minutes.
    pub minutes_max: u64,
    /// Amount that must have been written before a window counts.
    pub fill: FillRequirement,
}

/// Amount that must have been written to a drive before a window counts, and the amount written
/// before the load began.
#[derive(Debug, Clone, Copy, Default)]
pub struct FillRequirement {
    /// User capacity; zero disables the check, because the load does not write or the drive was
    /// filled before.
    pub capacity: Bytes,
    /// Bytes written between the purge and the start of the load.
    pub before: Bytes,
    /// Amount that must have been written, in user capacities.
    pub least: f64,
    /// True if only the load's own writes count toward `least`: preconditioning in another order
    /// leaves blocks free that the load then uses up.
    pub own_writes: bool,
}

impl FillRequirement {
    /// Creates a requirement for a drive of this capacity from `parameter`, the procedure's
    /// `least-fills`.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if the value is not a number from 0 to 100.
    pub fn chosen(
        parameter: &Parameter,
        settings: &Settings,
        capacity: Bytes,
    ) -> Result<Self, ProcedureError> {
        let least = parameter.parse(settings, |text| {
            text.parse::<f64>().ok().filter(|fills| (0.0..=100.0).contains(fills))
        })?;
        Ok(FillRequirement { capacity, before: Bytes(0), least, own_writes: false })
    }

    /// Adjusts the verdict on a window before whose first minute the load had written `written`
    /// bytes: changes it to not steady if that is too little, and adds a reservation if the drive
    /// had not been filled once.
    fn weigh(&self, verdict: Verdict, written: Bytes) -> Verdict {
        if !verdict.steady || self.capacity.0 == 0 {
            return verdict;
        }
        let capacity = self.capacity.0 as f64;
        let fills = (self.before.0 + written.0) as f64 / capacity;
        let own = written.0 as f64 / capacity;
        let (counted, who) =
            if self.own_writes { (own, " by the workload itself") } else { (fills, "") };
        if counted < self.least {
            return verdict.refused(format!(
                "the values are within the limits, but do not count: {counted:.2} of {} drive \
                 fills were written{who} when the window began",
                self.least
            ));
        }
        let reservation = (fills < 1.0).then(|| {
            format!("STILL FRESH: {fills:.2} drive fills were written when the window began")
        });
        Verdict { reservation, ..verdict }
    }
}

/// Layout of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct CycleLayout {
    /// Number of minutes between two measured ones.
    pub between: u32,
    /// Position of the measured minute.
    pub measured: MeasuredMinute,
}

impl CycleLayout {
    /// Returns the cycle that the parameters ask for; `measured` is the procedure's
    /// `measured-minute`.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if a parameter is invalid.
    pub fn chosen(
        measured: &Parameter,
        settings: &Settings,
        minute: Nanos,
    ) -> Result<Self, ProcedureError> {
        let time = BETWEEN_TIME.time(settings)?;
        let measured = measured.parse(settings, |text| match text {
            "first" => Some(MeasuredMinute::First),
            "last" => Some(MeasuredMinute::Last),
            _ => None,
        })?;
        let between = u32::try_from(time.0.div_ceil(minute.0)).unwrap_or(u32::MAX - 1);
        Ok(CycleLayout { between, measured })
    }
}

impl CyclicLoad {
    /// Creates a load without limits of its own, with this phase and label.
    pub fn endless(
        ground: &ProcedureSetup,
        (phase, label): (&str, String),
        (applied, demand): (&impl ApplicableWorkload, Demand),
        cycle: CycleLayout,
    ) -> Self {
        let place = StepPlace::new(phase, 0, 1, "");
        let stimulus = ground.stimulus(applied, demand, LoadLimits::time(NO_END), &place);
        CyclicLoad::new(ground, (phase, label), stimulus, cycle)
    }

    /// Creates a load with the criteria and limits of the method and without a required fill.
    pub fn new(
        ground: &ProcedureSetup,
        (phase, label): (&str, String),
        stimulus: Stimulus,
        cycle: CycleLayout,
    ) -> Self {
        CyclicLoad {
            phase: phase.to_owned(),
            label,
            stimulus,
            minute: ground.minute,
            between: cycle.between,
            measured: cycle.measured,
            criteria: ground.method.criteria,
            cycles_max: ground.method.rounds_max,
            stops: ground.settings.steady_state != SteadyStateMethod::Post25,
            minutes_max: u64::MAX,
            fill: FillRequirement::default(),
        }
    }

    /// Returns the number of minutes in a cycle.
    pub fn cycle(&self) -> u32 {
        self.between + 1
    }

    /// Returns the length of a cycle.
    pub fn cycle_time(&self) -> Nanos {
        Nanos(self.minute.0 * u64::from(self.cycle()))
    }

    /// Returns true if this minute of a cycle, counted from 1, is measured.
    pub fn is_measured(&self, minute: u32) -> bool {
        match self.measured {
            MeasuredMinute::First => minute == 1,
            MeasuredMinute::Last => minute == self.cycle(),
        }
    }

    /// Applies the load until a window of measured minutes is steady (if [`CyclicLoad::stops`]
    /// is true), the maximum number of cycles or minutes is reached, or the load reaches its own
    /// limit. Returns the measured minutes.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<Track, Halt> {
        let mut track = MinuteTracker::new(self);
        let mut minutes = 0;
        for cycle in 1..=self.cycles_max {
            for minute in 1..=self.cycle() {
                let outcome = bench.apply(&self.step(cycle, minute))?;
                track.add(cycle, minute, &outcome);
                minutes += 1;
                let is_measured = self.is_measured(minute);
                let is_steady = is_measured && self.judge_now(bench, &track);
                // Writes after the last measured minute would serve no purpose.
                let is_last = is_measured && cycle == self.cycles_max;
                let is_over = outcome.measurement.complete || minutes == self.minutes_max;
                if is_steady || is_last || is_over {
                    return Ok(track.track());
                }
            }
        }
        Ok(track.track())
    }

    /// Judges the last window and notes the verdict; returns true if it ends the load.
    fn judge_now(&self, bench: &mut dyn Bench, track: &MinuteTracker<'_>) -> bool {
        let verdict = track.weigh(judge(&[track.track()], &self.criteria));
        let ends = verdict.steady && self.stops;
        bench.note(&Note::Verdict(verdict));
        ends
    }

    fn step(&self, cycle: u32, minute: u32) -> Step {
        let label = if self.is_measured(minute) {
            self.label.clone()
        } else {
            format!("{} (between)", self.label)
        };
        let place = StepPlace::new(&self.phase, cycle, minute, label);
        Step::part(place, self.stimulus.clone(), self.minute, (cycle, minute) != (1, 1))
    }

    /// Returns the tracking variable from the steps of a record.
    pub fn track(&self, steps: &[(&Step, &Outcome)]) -> Track {
        self.tracking(steps).track()
    }

    fn tracking(&self, steps: &[(&Step, &Outcome)]) -> MinuteTracker<'_> {
        let mut tracking = MinuteTracker::new(self);
        for (step, outcome) in steps {
            tracking.add(step.place.round, step.place.point, outcome);
        }
        tracking
    }

    /// Returns the verdict for the report: on the first steady window, else on the last window.
    pub fn verdict(&self, steps: &[(&Step, &Outcome)]) -> Verdict {
        let tracking = self.tracking(steps);
        let tracks = [tracking.track()];
        judge_every(&tracks, &self.criteria)
            .into_iter()
            .map(|verdict| tracking.weigh(verdict))
            .find(|verdict| verdict.steady)
            .unwrap_or_else(|| tracking.weigh(judge(&tracks, &self.criteria)))
    }
}

/// The tracking variable, collected minute by minute.
struct MinuteTracker<'a> {
    of: &'a CyclicLoad,
    points: Vec<TrackPoint>,
    /// Bytes that the load had written before the minute of each point.
    written_before: Vec<Bytes>,
    written: Bytes,
    gap: bool,
}

impl<'a> MinuteTracker<'a> {
    fn new(of: &'a CyclicLoad) -> Self {
        MinuteTracker {
            of,
            points: Vec::new(),
            written_before: Vec::new(),
            written: Bytes(0),
            gap: false,
        }
    }

    fn add(&mut self, cycle: u32, minute: u32, outcome: &Outcome) {
        self.gap |= outcome.gap_before.is_some();
        let measurement = &outcome.measurement;
        let before = self.written + (outcome.written() - measurement.written());
        self.written += outcome.written();
        if !self.of.is_measured(minute) {
            return;
        }
        // A gap before the first minute is harmless.
        let first = (cycle, minute) == (1, 1);
        let rested = outcome.gap_before.is_some() && !first;
        let whole = is_whole(measurement.elapsed, self.of.minute);
        let value = measurement.iops().filter(|_| whole && !rested);
        self.points.push(TrackPoint { round: cycle, value, after_gap: self.gap });
        self.written_before.push(before);
        self.gap = false;
    }

    fn track(&self) -> Track {
        Track { name: self.of.label.clone(), unit: "IOPS".to_owned(), points: self.points.clone() }
    }

    /// Adjusts a verdict by how much had been written when its window began.
    fn weigh(&self, verdict: Verdict) -> Verdict {
        let first = verdict.window.map(|(first, _)| first);
        let index = self.points.iter().position(|point| Some(point.round) == first);
        match index.and_then(|index| self.written_before.get(index)) {
            Some(written) => self.of.fill.weigh(verdict, *written),
            None => verdict,
        }
    }
}

/// Returns a sentence on the effect of a gap before a step of such a load.
pub fn gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (1, 1) => "The load had not started.",
        _ => "The load continued after it, and the steady-state window restarts.",
    }
}

/// Returns a plot of the measured minutes' IOPS by cycle.
pub fn convergence_plot(
    between: &CyclicLoad,
    steps: &[(&Step, &Outcome)],
    (id, title): (&str, &str),
) -> Plot {
    let points = between.track(steps).points;
    let points = points.iter().map(|p| (f64::from(p.round), p.value)).collect();
    Plot::new(
        PlotKind::Lines,
        id,
        title,
        Axis::new("Round (measured step)", Scale::Integers),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of every round: of its measured step. Between two of them the load continues for {}.",
        Nanos(between.minute.0 * u64::from(between.between))
    ))
    .with(Series::new(between.label.clone(), Stroke::Measured, points))
}

/// Returns a plot of every minute's IOPS by the time since the load began, with the measured
/// minutes highlighted.
pub fn minutes_plot(
    between: &CyclicLoad,
    steps: &[(&Step, &Outcome)],
    (id, title): (&str, &str),
) -> Plot {
    let (time, minute) = time_axis("Time", between.minute);
    let mut elapsed = Nanos::ZERO;
    let (mut all, mut measured) = (Vec::new(), Vec::new());
    for (step, outcome) in steps {
        elapsed += outcome.measurement.elapsed;
        let point = (minutes(elapsed) * minute, outcome.measurement.iops());
        all.push(point);
        if between.is_measured(step.place.point) {
            measured.push(point);
        }
    }
    Plot::new(PlotKind::Lines, id, title, time, Axis::new("IOPS", Scale::Linear))
        .caption("Every step of the load, and the rounds: its measured steps.")
        .with(Series::new("every step", Stroke::Average, all).with_id("every minute"))
        .with(Series::new("round", Stroke::Measured, measured).with_id("measured"))
}

/// Converts a time to minutes.
pub fn minutes(time: Nanos) -> f64 {
    time.as_secs_f64() / 60.0
}

/// Steps shorter than this are plotted by seconds instead of minutes.
const DRAWN_IN_SECONDS: Nanos = Nanos::from_secs(10);

/// Returns the time axis for steps of this length, and the number of its units per minute.
pub fn time_axis(name: &str, step: Nanos) -> (Axis, f64) {
    if step < DRAWN_IN_SECONDS {
        (Axis::time(name, TimeUnit::Seconds), 60.0)
    } else {
        (Axis::time(name, TimeUnit::Minutes), 1.0)
    }
}

/// Returns a caveat if the steady window began before the drive had been written once: a drive can
/// be steady in its factory state.
pub fn fresh_caveat(verdict: &Verdict) -> Option<Caveat> {
    let reservation = verdict.reservation.as_ref().filter(|_| verdict.steady)?;
    Some(Caveat::new(
        CaveatKind::Deviation,
        ids::STEADY_WITHIN_FIRST_FILL,
        format!(
            "Steady state was found in a drive that was not fully written once ({reservation}). \
             Such a drive can look steady in its factory state."
        ),
        "Omit --set least-fills, or choose a longer between-time.",
    ))
}

/// Returns the exhibits of the steady-state check: the window plot with this id and the evidence,
/// or a text on why there is no window.
pub fn check_exhibits(verdict: &Verdict, id: &str) -> Vec<Exhibit> {
    match verdict.tracks.first() {
        Some(track) => {
            let mut exhibits = window_exhibits(verdict, track);
            if let Some(Exhibit::Plot(plot)) = exhibits.first_mut() {
                plot.id = id.to_owned();
            }
            exhibits
        }
        None => vec![Exhibit::Text(
            "There is no measurement window: fewer than five rounds without a gap \
             between them."
                .into(),
        )],
    }
}

/// Returns the exhibits on how the load was judged: facts, limits, measured minutes.
pub fn evidence(between: &CyclicLoad, steps: &[(&Step, &Outcome)], id: &str) -> Vec<Exhibit> {
    let verdict = between.verdict(steps);
    let cycle = format!("{} (1 of {} steps measured)", between.cycle_time(), between.cycle());
    let measured = match between.measured {
        MeasuredMinute::First => "the first step of a cycle",
        MeasuredMinute::Last => "the last step of a cycle",
    };
    let steady = if verdict.steady { "yes" } else { "NO" };
    let facts = Facts::new(format!("Between-round writes: {}", between.label)).rows([
        Setting::method("cycle", "Cycle", cycle, Origin::Profile),
        Setting::method("cycle-measured", "Measured", measured, Origin::Profile),
        Setting::outcome("Steady", format!("{steady}{}", reservation_text(&verdict))),
        Setting::outcome("Measurement window", window_text(&verdict)),
    ]);
    vec![
        Exhibit::Facts(facts),
        Exhibit::Table(tracking_table(&format!("{id}-steady-state"), &verdict)),
        Exhibit::Table(measured_table(between, steps, &verdict, id)),
    ]
}

fn measured_table(
    between: &CyclicLoad,
    steps: &[(&Step, &Outcome)],
    verdict: &Verdict,
    id: &str,
) -> Table {
    let inside =
        |round: u32| verdict.window.is_some_and(|(first, last)| (first..=last).contains(&round));
    let measured = |round: u32| -> Option<&Measurement> {
        steps
            .iter()
            .find(|(s, _)| s.place.round == round && between.is_measured(s.place.point))
            .map(|(_, outcome)| &outcome.measurement)
    };
    let track = between.track(steps);
    let some_outside = track.points.iter().any(|point| !inside(point.round));
    let rows = track.points.iter().map(|point| {
        let response = measured(point.round).and_then(|m| m.total().response_mean());
        let remark = match (point.value, point.after_gap, inside(point.round)) {
            (None, ..) => "no value: after a gap, or cut short",
            (_, true, _) => "after a gap",
            (_, _, true) => "window",
            _ => "",
        };
        Row::new(
            point.round.to_string(),
            [
                TableCell::number(point.value, decimals("IOPS")),
                TableCell::number(response.map(Nanos::as_millis_f64), 4),
                TableCell::text(remark),
            ],
        )
        .strong(inside(point.round) && some_outside)
    });
    Table::new(&format!("{id}-minutes"), "Rounds, each a measured step", "Round")
        .columns([("IOPS", "IOPS"), ("ART ms", "ART ms"), ("window", "Window")])
        .rows(rows)
}

/// Returns the steps of a phase of a record.
pub fn steps_of<'a>(record: &'a Record, phase: &str) -> Vec<(&'a Step, &'a Outcome)> {
    record.steps().filter(|(step, _)| step.place.phase == phase).collect()
}
