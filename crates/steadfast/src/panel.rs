//! What a person sees while a run runs: a live panel on a terminal, plain lines
//! elsewhere, both on standard error.

use crate::{commands, terminal};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::Interval;
use steadfast_domain::text::{printable, printable_lines};
use steadfast_domain::{
    Device, Measurement, Nanos, Note, Outcome, Place, Procedure, Purge, Step, Verdict,
};
use steadfast_engine::Stop;
use steadfast_host::PurgeProgress;
use steadfast_runner::{Event, Outlook, Plan, Planned, Progress, rehearse};

/// How often the panel of a simulated run is redrawn at most: its seconds are short.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a purge is told of where lines are printed.
const PURGE_LINE: Duration = Duration::from_secs(30);

/// The live display of a run.
pub struct Panel {
    view: View,
    forecast: Forecast,
    verdict: Option<Verdict>,
    place: Option<Place>,
    stop: Stop,
    told_stop: bool,
    purge_told: Duration,
}

/// Where it is drawn.
enum View {
    Lines,
    Live(Live),
}

struct Live {
    bars: MultiProgress,
    phase: ProgressBar,
    rate: ProgressBar,
    steady: ProgressBar,
    left: ProgressBar,
    drawn: Option<Instant>,
}

impl Live {
    fn new() -> Self {
        let bars = MultiProgress::new();
        let line = || {
            let bar = bars.add(ProgressBar::new_spinner());
            bar.set_style(
                ProgressStyle::with_template("{msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar
        };
        let (phase, rate, steady, left) = (line(), line(), line(), line());
        Live { bars, phase, rate, steady, left, drawn: None }
    }
    fn is_due(&mut self) -> bool {
        let due = self.drawn.is_none_or(|at| at.elapsed() >= REDRAW);
        if due {
            self.drawn = Some(Instant::now());
        }
        due
    }
}

impl Panel {
    /// A display for a procedure that is about to be conducted.
    pub fn new(procedure: &dyn Procedure, device: &Device, stop: Stop) -> Self {
        let view = if terminal::is_watched() { View::Live(Live::new()) } else { View::Lines };
        let panel = Panel {
            view,
            forecast: Forecast::of(procedure),
            verdict: None,
            place: None,
            stop,
            told_stop: false,
            purge_told: Duration::ZERO,
        };
        let model = device.model.as_deref().unwrap_or("no model name");
        let simulated = if device.is_simulated() { "  SIMULATED" } else { "" };
        panel.say(&format!("{}: {model}, {}{simulated}", device.path, device.capacity));
        panel
    }

    /// Takes the live lines away.
    pub fn close(&mut self) {
        if let View::Live(live) = &self.view {
            for bar in [&live.phase, &live.rate, &live.steady, &live.left] {
                bar.finish_and_clear();
            }
            let _ = live.bars.clear();
        }
    }

    /// A line that stays.
    fn say(&self, text: &str) {
        match &self.view {
            View::Lines => terminal::complain(text),
            View::Live(live) => {
                let _ = live.bars.println(printable(text));
            }
        }
    }

    fn purging(&mut self, progress: &PurgeProgress<'_>) {
        let percent = progress.percent.map(|done| format!(", {done:.0} %")).unwrap_or_default();
        let since = Nanos::from_secs(progress.since.as_secs());
        let text = format!("purge    {}{percent} ({since})", progress.doing);
        match &mut self.view {
            View::Live(live) => {
                if live.is_due() {
                    live.phase.set_message(printable(&text).into_owned());
                }
            }
            View::Lines if progress.since >= self.purge_told + PURGE_LINE => {
                self.purge_told = progress.since;
                self.say(&text);
            }
            View::Lines => {}
        }
    }

    fn purged(&mut self, purge: &Purge) {
        self.purge_told = Duration::ZERO;
        if let Some(why) = &purge.failed {
            return self.say(&format!("Caveat: NOT purged: {why}"));
        }
        let read = purge.read_back.map(|read| format!(" Blank: {read}.")).unwrap_or_default();
        self.say(&format!("Purged: {}, {}.{read}", purge.method, purge.took));
    }

    fn begins(&mut self, step: &Step) {
        self.place = Some(step.place.clone());
        self.forecast.begin(step);
        if let View::Live(live) = &mut self.view
            && live.is_due()
        {
            live.phase.set_message(phase_line(&step.place, &self.forecast));
            live.left.set_message(self.forecast.left());
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.forecast.count(interval);
        if self.stop.is_requested() && !std::mem::replace(&mut self.told_stop, true) {
            self.say("Stopping after what is under way; press Ctrl-C again to end at once.");
        }
        let Some(place) = &self.place else { return };
        if let View::Live(live) = &mut self.view
            && live.is_due()
        {
            live.phase.set_message(phase_line(place, &self.forecast));
            live.rate.set_message(interval_line(interval));
            live.left.set_message(self.forecast.left());
        }
    }

    fn finished(&mut self, step: &Step, outcome: &Outcome, replayed: bool) {
        self.forecast.finish(&outcome.measurement);
        if replayed {
            return;
        }
        if matches!(self.view, View::Lines) {
            self.say(&finished_line(step, &outcome.measurement));
        }
    }

    fn noted(&mut self, note: &Note) {
        match note {
            Note::Verdict(verdict) => {
                let text = verdict_text(verdict);
                match &self.view {
                    View::Lines => text.lines().for_each(|line| self.say(line)),
                    View::Live(live) => {
                        live.steady.set_message(printable_lines(&text).into_owned());
                    }
                }
                self.verdict = Some(verdict.clone());
            }
            Note::Caveat(caveat) => self.say(&format!("Caveat: {}", caveat.text)),
            Note::Part(name) => self.say(&format!("Part {name} begins.")),
            Note::Chosen { what, value } => self.say(&format!("{what}: {value}")),
        }
    }
}

impl Progress for Panel {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Examined(checks) => {
                checks.iter().filter_map(commands::doctor::remark).for_each(|line| self.say(&line));
            }
            Event::Replaying { steps } => {
                self.say(&format!("The ledger holds {steps} finished steps; none is repeated."));
            }
            Event::Live { gap: Some(gap) } => {
                self.say(&format!("Resuming after a gap of {} ({}).", gap.length(), gap.cause));
            }
            Event::Live { gap: None } => {}
            Event::Settled(got) => {
                got.unmet.iter().for_each(|unmet| self.say(&format!("Caveat: {unmet}")));
            }
            Event::Purging => self.say("Purging."),
            Event::PurgeProgress(progress) => self.purging(progress),
            Event::Purged(purge) => self.purged(purge),
            Event::Begins(step) => self.begins(step),
            Event::Interval(interval) => self.interval(interval),
            Event::Finished { step, outcome, replayed } => {
                self.finished(step, outcome, *replayed);
            }
            Event::Noted(note) => self.noted(note),
        }
    }
}

fn phase_line(place: &Place, forecast: &Forecast) -> String {
    match place.round {
        0 => format!("{:<8} {}{}", place.phase, place.label, forecast.written_so_far()),
        round => format!(
            "{:<8} round {round} ({} at least, {} at most), step {} of {}: {}",
            place.phase,
            forecast.best.rounds_of(&place.phase),
            forecast.worst.rounds_of(&place.phase),
            place.point,
            forecast.worst.points_of(&place.phase, round),
            place.label
        ),
    }
}

fn interval_line(interval: &Interval) -> String {
    let mean = mean_response(interval);
    format!(
        "         {:>10} IOPS  {:>9} MB/s  {:>9} ms",
        decimal(interval.iops(), 0),
        decimal(interval.bytes_per_second().map(|rate| rate / 1e6), 1),
        decimal(mean, 3)
    )
}

fn mean_response(interval: &Interval) -> Option<f64> {
    let ios: u64 = interval.tallies.iter().map(|t| t.ios).sum();
    let sum: u64 = interval.tallies.iter().map(|t| t.response_sum.0).sum();
    sum.checked_div(ios).map(|mean| Nanos(mean).as_millis_f64())
}

fn finished_line(step: &Step, measurement: &Measurement) -> String {
    let total = measurement.total();
    format!(
        "{}: {} IOPS, {} MB/s, {} ms{}",
        step.place,
        decimal(measurement.iops(), 1),
        decimal(measurement.bytes_per_second().map(|rate| rate / 1e6), 1),
        decimal(total.response_mean().map(Nanos::as_millis_f64), 3),
        match measurement.fault_count {
            0 => String::new(),
            count => format!(", {count} FAILED I/Os"),
        }
    )
}

/// How far each variable is from its limits.
fn verdict_text(verdict: &Verdict) -> String {
    let Some((first, last)) = verdict.window else {
        return format!("steady   needs {} rounds without a gap", verdict.criteria.window);
    };
    let tracks: Vec<String> = verdict
        .tracks
        .iter()
        .map(|track| {
            let percent = |part: f64| part / track.average * 100.0;
            format!(
                "{} data {:.1} % (<= {:.0}) slope {:.1} % (<= {:.0}){}",
                track.name,
                percent(track.data_excursion),
                verdict.criteria.data_excursion * 100.0,
                percent(track.slope_excursion),
                verdict.criteria.slope_excursion * 100.0,
                if track.steady { "" } else { " NOT YET" }
            )
        })
        .collect();
    let state = if verdict.steady { "STEADY" } else { "not steady" };
    format!("steady   rounds {first}-{last} {state}\n           {}", tracks.join("\n           "))
}

fn decimal(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

/// Time left, from two rehearsals and what has been done.
struct Forecast {
    best: Outlined,
    worst: Outlined,
    /// Bytes and time of the step under way, by its finished intervals.
    under_way: (u64, Nanos),
    /// The phase of a round that only the worst case has.
    beyond: Option<String>,
    /// Bytes that the load under way has moved in the steps before this one.
    carried: u64,
    recent: VecDeque<f64>,
}

/// A plan, and where in it the run stands.
struct Outlined {
    plan: Plan,
    at: usize,
}

impl Outlined {
    fn of(procedure: &dyn Procedure, outlook: Outlook) -> Self {
        Outlined { plan: rehearse(procedure, outlook, None).unwrap_or_default(), at: 0 }
    }

    /// Goes to the planned step at this place, and tells whether there is one. A
    /// place beyond the plan (a round more than the best case needs, the next cut
    /// of a load that is planned as one) changes nothing.
    fn go_to(&mut self, place: &Place) -> bool {
        let same = |s: &Planned| {
            s.phase == place.phase && s.round == place.round && s.point == place.point
        };
        let further = self.plan.steps[self.at..].iter().position(same);
        self.at += further.unwrap_or(0);
        further.is_some()
    }

    /// Time of this step and of those after it in its round.
    fn round_rest(&self) -> Nanos {
        let steps = self.plan.steps.get(self.at..).unwrap_or_default();
        let here = steps.first().map(|s| (&s.phase, s.round));
        let round = steps.iter().take_while(|s| Some((&s.phase, s.round)) == here);
        Nanos(round.filter_map(|s| s.time).map(|t| t.0).sum())
    }

    /// Time of what follows a phase.
    fn after(&self, phase: &str) -> Nanos {
        let last = self.plan.steps.iter().rposition(|s| s.phase == phase);
        let rest = self.plan.steps.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        Nanos(rest.iter().filter_map(|s| s.time).map(|t| t.0).sum())
    }

    /// The most rounds that the plan has of a phase.
    fn rounds_of(&self, phase: &str) -> u32 {
        let steps = self.plan.steps.iter().filter(|s| s.phase == phase);
        steps.map(|s| s.round).max().unwrap_or(0)
    }

    /// How many points a round of a phase has.
    fn points_of(&self, phase: &str, round: u32) -> usize {
        self.plan.steps.iter().filter(|s| s.phase == phase && s.round == round).count()
    }

    fn step(&self) -> Option<&Planned> {
        self.plan.steps.get(self.at)
    }

    /// Time of the steps from here on, and the bytes of those whose time is unknown.
    fn rest(&self) -> (Nanos, u64) {
        let steps = self.plan.steps.get(self.at..).unwrap_or_default();
        let time = steps.iter().filter_map(|s| s.time).map(|t| t.0).sum();
        let unknown = steps.iter().filter(|s| s.time.is_none());
        (Nanos(time), unknown.filter_map(|s| s.bytes).map(|b| b.0).sum())
    }
}

/// Seconds over which the preconditioning rate is averaged.
const RECENT: usize = 30;

impl Forecast {
    fn of(procedure: &dyn Procedure) -> Self {
        Forecast {
            best: Outlined::of(procedure, Outlook::Best),
            worst: Outlined::of(procedure, Outlook::Worst),
            under_way: (0, Nanos::ZERO),
            beyond: None,
            carried: 0,
            recent: VecDeque::new(),
        }
    }

    fn begin(&mut self, step: &Step) {
        if !step.continues {
            self.carried = 0;
        }
        self.under_way = (0, Nanos::ZERO);
        let (is_best, is_worst) = (self.best.go_to(&step.place), self.worst.go_to(&step.place));
        self.beyond = (is_worst && !is_best).then(|| step.place.phase.clone());
    }

    fn count(&mut self, interval: &Interval) {
        self.under_way.0 += interval.tallies.iter().map(|t| t.bytes.0).sum::<u64>();
        self.under_way.1 = interval.end;
        let by_bytes = self.best.step().is_some_and(|step| step.time.is_none());
        if let Some(rate) = interval.bytes_per_second().filter(|_| by_bytes && !interval.partial) {
            self.recent.push_back(rate);
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
    }

    fn finish(&mut self, measurement: &Measurement) {
        self.carried += measurement.bytes().0;
        self.under_way = (0, Nanos::ZERO);
    }

    fn moved(&self) -> u64 {
        self.carried + self.under_way.0
    }

    /// How much of a load that ends by bytes is done.
    fn written_so_far(&self) -> String {
        match self.best.step() {
            Some(Planned { time: None, bytes: Some(all), .. }) if all.0 > 0 => {
                let part = self.moved().min(all.0) as f64 / all.0 as f64;
                format!("  {:.1} % written", part * 100.0)
            }
            _ => String::new(),
        }
    }

    fn left(&self) -> String {
        let bytes = self.best.rest().1.saturating_sub(self.moved()) as f64;
        let rate = self.recent.iter().sum::<f64>() / self.recent.len().max(1) as f64;
        if self.best.rest().1 > 0 && rate <= 0.0 {
            return "left     not known yet".to_owned();
        }
        let writing = if self.best.rest().1 > 0 { bytes / rate } else { 0.0 };
        let span = |planned: Nanos| {
            whole_seconds(writing + planned.saturating_sub(self.under_way.1).as_secs_f64())
        };
        // Past the best case, this round can still be the one that is steady.
        let best = match &self.beyond {
            Some(phase) => self.worst.round_rest() + self.best.after(phase),
            None => self.best.rest().0,
        };
        format!(
            "left     {} where steady at once, {} at most",
            span(best),
            span(self.worst.rest().0)
        )
    }
}

/// A forecast is no better than a second.
fn whole_seconds(seconds: f64) -> String {
    match seconds.round() {
        under if under < 1.0 => "less than 1 s".to_owned(),
        whole => Nanos::from(Duration::from_secs_f64(whole.min(1e9))).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::settings::Geometry;
    use steadfast_domain::stimulus::{ActiveRange, Until};
    use steadfast_domain::{Bytes, Demand, Settings, Stimulus};
    use steadfast_procedures::procedure;

    /// Five rounds are the best case; in the sixth, what is left is the rest of it
    /// and the histogram, and not the end of a plan that is over.
    #[test]
    fn past_the_best_case_what_is_left_is_this_round_and_what_follows() {
        let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };
        let latency = procedure(&Settings::new("latency", 1), geometry, &[]).unwrap();
        let mut forecast = Forecast::of(latency.as_ref());
        let sixth = |s: &&Planned| s.phase == "rounds" && s.round == 6 && s.point == 8;
        let planned = forecast.worst.plan.steps.iter().find(sixth).unwrap().clone();
        let place = Place::new(&planned.phase, planned.round, planned.point, "");
        let range = ActiveRange::new(Bytes(0), Bytes::gib(1));
        let minute = Until::time(Nanos::from_secs(60));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), minute);
        let last_of_best = Place::new("rounds", 5, 9, "");
        forecast.begin(&Step::alone(last_of_best, stimulus.clone()));
        forecast.begin(&Step::alone(place, stimulus));
        forecast.under_way.1 = Nanos::from_secs(20);
        let left = forecast.left();
        assert!(left.starts_with("left     21 min 40 s where"), "{left}");
    }

    #[test]
    fn less_than_a_second_is_said_so() {
        assert_eq!(whole_seconds(1e-9), "less than 1 s");
        assert_eq!(whole_seconds(61.4), "61 s");
    }
}
