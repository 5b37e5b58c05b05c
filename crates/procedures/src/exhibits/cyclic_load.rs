//! Exhibits of a cyclic load: its steps and measured steps over time, its steady-state check and
//! the evidence.

use crate::common::attempts::steps_of;
use crate::common::cyclic_load::{CyclePosition, CyclicLoad};
use crate::exhibits::disclosure::window_text;
use crate::exhibits::loops::{first_window, is_in_window, tracking_table};
use crate::exhibits::time_axis::{PlotTimeAxis, minutes};
use crate::report_notation::{decimals, reservation_text};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, Origin, Plot, Row, Scale, Series, Setting, Stroke,
    Table,
};
use steadfast_domain::{
    Caveat, Measurement, Nanos, Outcome, Record, Step, Verdict, caveats as ids,
};

/// A cyclic load with its steps in a record and the verdict on them.
pub struct JudgedLoad<'a> {
    pub load: &'a CyclicLoad,
    pub steps: Vec<(&'a Step, &'a Outcome)>,
    pub verdict: Verdict,
}

impl<'a> JudgedLoad<'a> {
    pub fn new(load: &'a CyclicLoad, record: &'a Record) -> Self {
        JudgedLoad::of_steps(load, steps_of(record, &load.phase))
    }

    pub fn of_steps(load: &'a CyclicLoad, steps: Vec<(&'a Step, &'a Outcome)>) -> Self {
        let verdict = load.verdict(&steps);
        JudgedLoad { load, steps, verdict }
    }

    pub fn measured_steps(&self) -> impl Iterator<Item = (&'a Step, &'a Outcome)> {
        self.steps.iter().copied().filter(|(step, _)| self.load.is_measured(step.place.point))
    }

    /// Returns a plot of the measured steps' IOPS by round.
    pub fn convergence_plot(&self, id: &str, title: &str) -> Plot {
        let points = self.load.track(&self.steps).points;
        let points = points.iter().map(|point| (f64::from(point.round), point.value)).collect();
        let between = Nanos(self.load.step_time.0 * u64::from(self.load.steps_between));
        Plot::lines(
            id,
            title,
            Axis::new("Round (measured step)", Scale::Integers),
            Axis::new("IOPS", Scale::Linear),
        )
        .caption(format!(
            "IOPS of every round: of its measured step. Between two of them the load continues \
             for {between}."
        ))
        .with(Series::new(self.load.label.clone(), Stroke::Measured, points))
    }

    /// Returns a plot of every step's IOPS by the time since the load began, with the measured
    /// steps highlighted.
    pub fn steps_plot(&self, id: &str, title: &str) -> Plot {
        let time = PlotTimeAxis::for_steps("Time", self.load.step_time);
        let mut elapsed = Nanos::ZERO;
        let mut all = Vec::new();
        let mut measured = Vec::new();
        for (step, outcome) in &self.steps {
            elapsed += outcome.measurement.elapsed;
            let point = (time.position(minutes(elapsed)), outcome.measurement.iops());
            all.push(point);
            if self.load.is_measured(step.place.point) {
                measured.push(point);
            }
        }
        Plot::lines(id, title, time.axis, Axis::new("IOPS", Scale::Linear))
            .caption("Every step of the load, and the rounds: its measured steps.")
            .with(Series::new("every step", Stroke::Average, all).with_id("every minute"))
            .with(Series::new("round", Stroke::Measured, measured).with_id("measured"))
    }

    /// Returns the exhibits of the steady-state check and of how the load was judged; `id` is the
    /// prefix of their IDs.
    pub fn check_and_evidence(&self, id: &str) -> Vec<Exhibit> {
        let mut exhibits = check_exhibits(&self.verdict, &format!("{id}-window"));
        exhibits.extend(self.evidence(id));
        exhibits
    }

    /// Returns the exhibits on how the load was judged: facts, limits, measured steps.
    pub fn evidence(&self, id: &str) -> Vec<Exhibit> {
        let (load, verdict) = (self.load, &self.verdict);
        let cycle =
            format!("{} (1 of {} steps measured)", load.cycle_time(), load.steps_per_cycle());
        let measured = match load.measured {
            CyclePosition::First => "the first step of a cycle",
            CyclePosition::Last => "the last step of a cycle",
        };
        let steady = if verdict.steady { "yes" } else { "NO" };
        let facts = Facts::new(format!("Between-round writes: {}", load.label)).rows([
            Setting::method("cycle", "Cycle", cycle, Origin::Profile),
            Setting::method("cycle-measured", "Measured", measured, Origin::Profile),
            Setting::outcome("Steady", format!("{steady}{}", reservation_text(verdict))),
            Setting::outcome("Measurement window", window_text(verdict)),
        ]);
        vec![
            Exhibit::Facts(facts),
            Exhibit::Table(tracking_table(&format!("{id}-steady-state"), verdict)),
            Exhibit::Table(self.measured_table(id)),
        ]
    }

    fn measured_table(&self, id: &str) -> Table {
        let inside = |round: u32| is_in_window(&self.verdict, round);
        let measured = |round: u32| -> Option<&Measurement> {
            let mut steps = self.measured_steps();
            let (_, outcome) = steps.find(|(step, _)| step.place.round == round)?;
            Some(&outcome.measurement)
        };
        let track = self.load.track(&self.steps);
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
}

/// Returns a caveat if the steady window began before the drive had been written once: a drive can
/// be steady in its factory state.
pub(crate) fn fresh_caveat(verdict: &Verdict) -> Option<Caveat> {
    let reservation = verdict.reservation.as_ref().filter(|_| verdict.steady)?;
    Some(Caveat::deviation(
        ids::STEADY_WITHIN_FIRST_FILL,
        format!(
            "Steady state was found in a drive that was not fully written once ({reservation}). \
             Such a drive can look steady in its factory state."
        ),
        "Omit --set least-fills, or choose a longer between-time.",
    ))
}

/// Returns the caveats of a preconditioning: that it is not steady, or that the drive was fresh.
/// `part` names what began after it.
pub(crate) fn preconditioning_caveats(
    record: &Record,
    verdict: &Verdict,
    part: &str,
) -> Vec<Caveat> {
    let not_steady = (record.has_ended() && !verdict.steady).then(|| {
        Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED in the preconditioning{}: the drive was still changing \
                 when the {part} began.",
                reservation_text(verdict)
            ),
            "Repeat the run with more rounds (--max-rounds).",
        )
    });
    not_steady.into_iter().chain(fresh_caveat(verdict)).collect()
}

/// Returns the exhibits of the steady-state check: the window plot with this id and the evidence,
/// or a text on why there is no window.
pub(crate) fn check_exhibits(verdict: &Verdict, id: &str) -> Vec<Exhibit> {
    let mut exhibits = first_window(verdict);
    if let Some(Exhibit::Plot(plot)) = exhibits.first_mut() {
        plot.id = id.to_owned();
    }
    exhibits
}
