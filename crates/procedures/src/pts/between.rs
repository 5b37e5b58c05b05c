//! Between-round writes (BTW): one load that runs on, of which one minute in
//! every 31 is measured; steady when five measured minutes meet 20/10 (SNIA
//! tutorial, steady-state determination, method 3).
//!
//! A cycle is one measured minute and 30 minutes between (PTS-E 1.1 as
//! implemented by CloudHarmony; other implementations have cycles of 30). Which
//! minute of the cycle is measured is a parameter. A gap begins the window anew;
//! a minute right after a gap has no value, because the device rested.

use crate::exhibits::disclosure::window_text;
use crate::exhibits::loops::{tracking_table, window_exhibits};
use crate::exhibits::pages::page;
use crate::ground::Ground;
use crate::ground::applied::Applied;
use crate::ground::stretch::NO_END;
use crate::parameters::Parameter;
use crate::unsuitable::Unsuitable;
use crate::words::{decimals, reservation_text};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, Origin, Page, Plot, PlotKind, Row, Scale, Series,
    Setting, Stroke, Table, TimeUnit,
};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::steady_state::{Point, judge_every};
use steadfast_domain::step::is_whole;
use steadfast_domain::stimulus::Until;
use steadfast_domain::{
    Bench, Bytes, Caveat, CaveatKind, Criteria, Demand, Halt, Measurement, Nanos, Note, Outcome,
    Place, Record, Settings, Step, Stimulus, Track, Verdict, judge,
};

/// The parameter `between-time`.
pub const BETWEEN_TIME: Parameter = Parameter {
    name: "between-time",
    default: "30min",
    quick: Some("4s"),
    meaning: "length of the writes between two measured minutes; one more step is measured",
    source: "SNIA tutorial (30 min between 1-min rounds: a cycle of 31 minutes); some public \
             implementations have cycles of 30",
    unverified: true,
    ..Parameter::PLAIN
};

/// The parameter `measured-minute`, the last of a cycle by default (CloudHarmony).
pub const MEASURED_LAST: Parameter = Parameter {
    name: "measured-minute",
    default: "last",
    meaning: "which minute of a cycle is measured: first or last",
    source: "public implementations differ: the last in WSAT and HIR, the first in DIRTH",
    unverified: true,
    ..Parameter::PLAIN
};

/// The same, the first of a cycle by default.
pub const MEASURED_FIRST: Parameter = Parameter { default: "first", ..MEASURED_LAST };

/// The parameter `least-fills`.
pub const LEAST_FILLS: Parameter = Parameter {
    name: "least-fills",
    default: "1",
    before_rules: Some("0"),
    meaning: "how many times the user capacity must be written after the purge before a measured \
        minute counts toward steady state; 0 for the plain rule",
    source: "our rule: a drive that was not fully written once can look steady while still fresh",
    ..Parameter::PLAIN
};

/// Which minute of a cycle is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredMinute {
    /// The first: the cycle's writes follow it.
    First,
    /// The last: the cycle's writes come before it.
    Last,
}

/// A load that runs on, with a measured minute in every cycle.
#[derive(Debug, Clone)]
pub struct BetweenRounds {
    /// The phase under which it is journalled; a cycle is a round of it.
    pub phase: String,
    /// What the load is called.
    pub label: String,
    /// The load; its own limits end it too.
    pub stimulus: Stimulus,
    /// The length of a minute.
    pub minute: Nanos,
    /// Minutes between two measured ones.
    pub between: u32,
    /// Which minute of a cycle is measured.
    pub measured: MeasuredMinute,
    /// When a window is steady.
    pub criteria: Criteria,
    /// The most cycles.
    pub cycles_max: u32,
    /// Whether it stops at the first steady window.
    pub stops: bool,
    /// The most minutes.
    pub minutes_max: u64,
    /// What had been written since the purge before minutes count.
    pub fill: Fill,
}

/// How far a drive must have been filled, and how far it was when a load began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fill {
    /// The user capacity; zero where it makes no difference, because the load
    /// writes nothing or the drive was filled before it.
    pub capacity: Bytes,
    /// Written since the purge when the load began.
    pub before: Bytes,
    /// Times the capacity that must have been written.
    pub least: f64,
    /// Whether only the load's own writes count toward `least`: preconditioning in another
    /// order leaves blocks free that the load then uses up.
    pub own_writes: bool,
}

impl Fill {
    /// What the parameter asks for of a drive of this capacity: `least-fills` as the procedure
    /// has it.
    pub fn chosen(
        parameter: &Parameter,
        settings: &Settings,
        capacity: Bytes,
    ) -> Result<Self, Unsuitable> {
        let least = parameter.parse(settings, |text| {
            text.parse::<f64>().ok().filter(|fills| (0.0..=100.0).contains(fills))
        })?;
        Ok(Fill { capacity, before: Bytes(0), least, own_writes: false })
    }

    /// A window whose first minute began when so much had been written in its load:
    /// it does not count, or what must be said of it.
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

/// What decides about a cycle.
#[derive(Debug, Clone, Copy)]
pub struct Cycle {
    /// Minutes between two measured ones.
    pub between: u32,
    /// Which minute is measured.
    pub measured: MeasuredMinute,
}

impl Cycle {
    /// The cycle that the parameters ask for.
    pub fn chosen(
        measured: &Parameter,
        settings: &Settings,
        minute: Nanos,
    ) -> Result<Self, Unsuitable> {
        let time = BETWEEN_TIME.time(settings)?;
        let measured = measured.parse(settings, |text| match text {
            "first" => Some(MeasuredMinute::First),
            "last" => Some(MeasuredMinute::Last),
            _ => None,
        })?;
        let between = u32::try_from(time.0.div_ceil(minute.0)).unwrap_or(u32::MAX - 1);
        Ok(Cycle { between, measured })
    }
}

impl BetweenRounds {
    /// A load without an end of its own, under a phase and a label.
    pub fn endless(
        ground: &Ground,
        (phase, label): (&str, String),
        (applied, demand): (&impl Applied, Demand),
        cycle: Cycle,
    ) -> Self {
        let place = Place::new(phase, 0, 1, "");
        let stimulus = ground.stimulus(applied, demand, Until::time(NO_END), &place);
        BetweenRounds::new(ground, (phase, label), stimulus, cycle)
    }

    /// A load of one workload on its ground.
    pub fn new(
        ground: &Ground,
        (phase, label): (&str, String),
        stimulus: Stimulus,
        cycle: Cycle,
    ) -> Self {
        BetweenRounds {
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
            fill: Fill::default(),
        }
    }

    /// Minutes of a cycle.
    pub fn cycle(&self) -> u32 {
        self.between + 1
    }

    /// Time of a cycle.
    pub fn cycle_time(&self) -> Nanos {
        Nanos(self.minute.0 * u64::from(self.cycle()))
    }

    /// Whether a minute, counted from 1 inside its cycle, is measured.
    pub fn is_measured(&self, minute: u32) -> bool {
        match self.measured {
            MeasuredMinute::First => minute == 1,
            MeasuredMinute::Last => minute == self.cycle(),
        }
    }

    /// Runs on until five measured minutes are steady, the cap is reached or the
    /// load's own limit.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let mut track = Tracking::new(self);
        let mut minutes = 0;
        for cycle in 1..=self.cycles_max {
            for minute in 1..=self.cycle() {
                let outcome = bench.apply(&self.step(cycle, minute))?;
                track.add(cycle, minute, &outcome);
                minutes += 1;
                let is_measured = self.is_measured(minute);
                let is_steady = is_measured && self.judge_now(bench, &track);
                // Writes after the last measured minute would prepare nothing.
                let is_last = is_measured && cycle == self.cycles_max;
                let is_over = outcome.measurement.complete || minutes == self.minutes_max;
                if is_steady || is_last || is_over {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Notes where the track stands; `true` where that ends the load.
    fn judge_now(&self, bench: &mut dyn Bench, track: &Tracking<'_>) -> bool {
        let verdict = track.weigh(judge(&[track.track()], &self.criteria));
        let ends = verdict.steady && self.stops;
        bench.note(&Note::Verdict(verdict));
        ends
    }

    fn step(&self, cycle: u32, minute: u32) -> Step {
        let label = match self.is_measured(minute) {
            true => self.label.clone(),
            false => format!("{} (between)", self.label),
        };
        let place = Place::new(&self.phase, cycle, minute, label);
        Step::part(place, self.stimulus.clone(), self.minute, (cycle, minute) != (1, 1))
    }

    /// The tracking variable as a record has it.
    pub fn track(&self, steps: &[(&Step, &Outcome)]) -> Track {
        self.tracking(steps).track()
    }

    fn tracking(&self, steps: &[(&Step, &Outcome)]) -> Tracking<'_> {
        let mut tracking = Tracking::new(self);
        for (step, outcome) in steps {
            tracking.add(step.place.round, step.place.point, outcome);
        }
        tracking
    }

    /// The verdict that counts: the first steady window, or the last window.
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

/// The tracking variable on its way through the minutes.
struct Tracking<'a> {
    of: &'a BetweenRounds,
    points: Vec<Point>,
    /// Written in the load before each point's minute.
    written_before: Vec<Bytes>,
    written: Bytes,
    gap: bool,
}

impl<'a> Tracking<'a> {
    fn new(of: &'a BetweenRounds) -> Self {
        Tracking {
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
        // The first minute of all has nothing before it that a gap could spoil.
        let first = (cycle, minute) == (1, 1);
        let rested = outcome.gap_before.is_some() && !first;
        let whole = is_whole(measurement.elapsed, self.of.minute);
        let value = measurement.iops().filter(|_| whole && !rested);
        self.points.push(Point { round: cycle, value, after_gap: self.gap });
        self.written_before.push(before);
        self.gap = false;
    }

    fn track(&self) -> Track {
        Track { name: self.of.label.clone(), unit: "IOPS".to_owned(), points: self.points.clone() }
    }

    /// Whether a window counts on a drive that was so far filled when it began.
    fn weigh(&self, verdict: Verdict) -> Verdict {
        let first = verdict.window.map(|(first, _)| first);
        let index = self.points.iter().position(|point| Some(point.round) == first);
        match index.and_then(|index| self.written_before.get(index)) {
            Some(written) => self.of.fill.weigh(verdict, *written),
            None => verdict,
        }
    }
}

/// What a gap before a step of such a load did.
pub fn gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (1, 1) => "The load had not started.",
        _ => "The load continued after it, and the steady-state window restarts.",
    }
}

/// The measured minutes against the cycles.
pub fn convergence_plot(
    between: &BetweenRounds,
    steps: &[(&Step, &Outcome)],
    (id, title): (&str, &str),
) -> Plot {
    let points = between.track(steps).points;
    let points = points.iter().map(|p| (f64::from(p.round), p.value)).collect();
    Plot::new(
        PlotKind::Lines,
        id,
        title,
        Axis::new("Round (measured minute)", Scale::Integers),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of the measured minutes. Between two of them the load continues for {}.",
        Nanos(between.minute.0 * u64::from(between.between))
    ))
    .with(Series::new(between.label.clone(), Stroke::Measured, points))
}

/// Every minute's IOPS against the time since the load began, the measured
/// minutes set off.
pub fn minutes_plot(
    between: &BetweenRounds,
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
        .caption("Every minute of the load, and the measured ones.")
        .with(Series::new("every minute", Stroke::Average, all))
        .with(Series::new("measured", Stroke::Measured, measured))
}

/// Minutes as a number.
pub fn minutes(time: Nanos) -> f64 {
    time.as_secs_f64() / 60.0
}

/// Steps shorter than this are drawn against seconds instead of minutes.
const DRAWN_IN_SECONDS: Nanos = Nanos::from_secs(10);

/// The axis of time for steps of this length, and what a minute is on it.
pub fn time_axis(name: &str, step: Nanos) -> (Axis, f64) {
    match step < DRAWN_IN_SECONDS {
        true => (Axis::time(name, TimeUnit::Seconds), 60.0),
        false => (Axis::time(name, TimeUnit::Minutes), 1.0),
    }
}

/// A drive that was not written once over can be steady in the state in which it
/// left the factory: a window that was taken there all the same.
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

/// The steady-state check: window plot of this id and evidence, or why there is
/// none.
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
            "There is no measurement window: fewer than five measured minutes without a gap \
             between them."
                .into(),
        )],
    }
}

/// The page of the steady-state check.
pub fn check_page(title: &str, verdict: &Verdict, id: &str) -> Page {
    page(title, check_exhibits(verdict, id))
}

/// How the load was judged: facts, table of limits, table of measured minutes.
pub fn evidence(between: &BetweenRounds, steps: &[(&Step, &Outcome)], id: &str) -> Vec<Exhibit> {
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
    between: &BetweenRounds,
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
        .strong(inside(point.round))
    });
    Table::new(&format!("{id}-minutes"), "Measured minutes", "Round")
        .columns(["IOPS", "ART ms", ""])
        .rows(rows)
}

/// The steps of a record under a phase.
pub fn steps_of<'a>(record: &'a Record, phase: &str) -> Vec<(&'a Step, &'a Outcome)> {
    record.steps().filter(|(step, _)| step.place.phase == phase).collect()
}
