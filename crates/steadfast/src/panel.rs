//! What a person sees while a run runs: a live panel on a terminal, plain lines
//! elsewhere, both on standard error.

use crate::terminal;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::Interval;
use steadfast_domain::{
    Device, Measurement, Nanos, Note, Outcome, Place, Procedure, Step, Verdict,
};
use steadfast_engine::Stop;
use steadfast_runner::{Event, Outlook, Plan, Progress, rehearse};

/// How often the panel of a simulated run is redrawn at most: its seconds are short.
const REDRAW: Duration = Duration::from_millis(100);

/// The live display of a run.
pub struct Panel {
    view: View,
    forecast: Forecast,
    verdict: Option<Verdict>,
    place: Option<Place>,
    stop: Stop,
    told_stop: bool,
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
                let _ = live.bars.println(text);
            }
        }
    }

    fn begins(&mut self, step: &Step) {
        self.place = Some(step.place.clone());
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
        self.forecast.finish(step, &outcome.measurement);
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
                    View::Lines => self.say(&text),
                    View::Live(live) => live.steady.set_message(text),
                }
                self.verdict = Some(verdict.clone());
            }
            Note::Caveat(caveat) => self.say(&format!("Caveat: {}", caveat.text)),
            Note::Chosen { what, value } => self.say(&format!("{what}: {value}")),
        }
    }
}

impl Progress for Panel {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Replaying { steps } => {
                self.say(&format!("The ledger holds {steps} finished steps; none is repeated."));
            }
            Event::Live { gap: Some(gap) } => {
                self.say(&format!("Going on after a gap of {} ({}).", gap.lasted, gap.cause));
            }
            Event::Live { gap: None } => {}
            Event::Settled(got) => {
                got.unmet.iter().for_each(|unmet| self.say(&format!("Caveat: {unmet}")));
            }
            Event::Purging => self.say("Purging."),
            Event::Purged(purge) => {
                self.say(&format!("Purged: {}, {}.", purge.method, purge.took));
            }
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
        0 => format!("{:<8} {}  {}", place.phase, place.label, forecast.preconditioned()),
        round => format!(
            "rounds   round {round} ({} at least, {} at most), step {} of {}: {}",
            forecast.best.rounds(),
            forecast.worst.rounds(),
            place.point,
            forecast.steps_in_round,
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
    best: Plan,
    worst: Plan,
    steps_in_round: usize,
    finished_steps: usize,
    written: u64,
    under_way: u64,
    recent: VecDeque<f64>,
}

/// Seconds over which the preconditioning rate is averaged.
const RECENT: usize = 30;

impl Forecast {
    fn of(procedure: &dyn Procedure) -> Self {
        let plan = |outlook| rehearse(procedure, outlook, None).unwrap_or_default();
        let best = plan(Outlook::Best);
        let steps_in_round = best.steps.iter().filter(|s| s.round == 1).count();
        Forecast {
            worst: plan(Outlook::Worst),
            best,
            steps_in_round,
            finished_steps: 0,
            written: 0,
            under_way: 0,
            recent: VecDeque::new(),
        }
    }

    fn count(&mut self, interval: &Interval) {
        if self.finished_steps > 0 {
            return;
        }
        self.under_way += interval.tallies.iter().map(|t| t.bytes.0).sum::<u64>();
        if let Some(rate) = interval.bytes_per_second().filter(|_| !interval.partial) {
            self.recent.push_back(rate);
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
    }

    fn finish(&mut self, step: &Step, measurement: &Measurement) {
        self.under_way = 0;
        match step.place.round {
            0 => self.written += measurement.bytes().0,
            _ => self.finished_steps += 1,
        }
    }

    fn bytes_left(&self) -> u64 {
        if self.finished_steps > 0 {
            return 0;
        }
        self.best.bytes_of_unknown_time().0.saturating_sub(self.written + self.under_way)
    }

    fn preconditioned(&self) -> String {
        let all = self.best.bytes_of_unknown_time().0.max(1);
        format!("{:.1} % written", (all - self.bytes_left().min(all)) as f64 / all as f64 * 100.0)
    }

    fn rest(&self, plan: &Plan) -> f64 {
        let steps = plan.steps.iter().filter(|s| s.round > 0);
        let planned = steps.clone().count();
        // Beyond the best case, the end of the round under way is the next chance.
        let done = match self.finished_steps {
            done if done < planned => done,
            done => {
                planned - (self.steps_in_round - done % self.steps_in_round.max(1)).min(planned)
            }
        };
        steps.skip(done).filter_map(|s| s.time).map(Nanos::as_secs_f64).sum()
    }

    fn left(&self) -> String {
        let rate = self.recent.iter().sum::<f64>() / self.recent.len().max(1) as f64;
        let bytes = self.bytes_left() as f64;
        if bytes > 0.0 && rate <= 0.0 {
            return "left     not known yet".to_owned();
        }
        let writing = if bytes > 0.0 { bytes / rate } else { 0.0 };
        let span =
            |seconds: f64| Nanos::from(Duration::from_secs_f64(seconds.min(1e9))).to_string();
        format!(
            "left     {} where steady at once, {} at most",
            span(writing + self.rest(&self.best)),
            span(writing + self.rest(&self.worst))
        )
    }
}
