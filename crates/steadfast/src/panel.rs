//! What a person sees while a run runs: a live panel on a terminal, plain lines
//! elsewhere, both on standard error.

use crate::{remarks, terminal};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};
use steadfast_domain::measurement::Interval;
use steadfast_domain::text::{printable, printable_lines};
use steadfast_domain::{
    Device, Measurement, Nanos, Note, Outcome, Place, Procedure, Purge, Step, Verdict,
};
use steadfast_engine::Stop;
use steadfast_host::PurgeProgress;
use steadfast_runner::{Event, Forecast, Progress, TimeLeft};

/// How often the panel of a simulated run is redrawn at most: its seconds are short.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a purge is told of where lines are printed.
const PURGE_LINE: Duration = Duration::from_secs(30);

/// The live display of a run.
pub struct Panel {
    view: View,
    /// What its lines begin with, where several targets are tested.
    name: Option<String>,
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
    /// One line among those of other targets.
    Line(OneLine),
}

/// The line of one target.
struct OneLine {
    bars: MultiProgress,
    bar: ProgressBar,
    rate: String,
    drawn: Option<Instant>,
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
        let line = || bars.add(line_of("{msg}"));
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

/// A line that shows a message and nothing else.
fn line_of(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar
}

impl OneLine {
    /// Shows what is under way, at most every tenth of a second.
    fn show(&mut self, name: &str, doing: &str, left: Option<&str>) {
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        let parts = [Some(name), Some(doing), Some(self.rate.as_str()), left];
        let shown: Vec<&str> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        self.bar.set_message(printable(&shown.join("  ")).into_owned());
    }
}

impl Panel {
    /// A display for a procedure that is about to be conducted.
    pub fn new(procedure: &dyn Procedure, device: &Device, stop: Stop) -> Self {
        let view = if terminal::is_watched() { View::Live(Live::new()) } else { View::Lines };
        Panel::with(view, None, procedure, device, stop)
    }

    /// A display of one target among others, which share `bars`.
    pub fn among(
        bars: &MultiProgress,
        name: &str,
        procedure: &dyn Procedure,
        device: &Device,
        stop: Stop,
    ) -> Self {
        let view = match terminal::is_watched() {
            true => View::Line(OneLine {
                bars: bars.clone(),
                bar: bars.add(line_of("{wide_msg}")),
                rate: String::new(),
                drawn: None,
            }),
            false => View::Lines,
        };
        Panel::with(view, Some(name.to_owned()), procedure, device, stop)
    }

    fn with(
        view: View,
        name: Option<String>,
        procedure: &dyn Procedure,
        device: &Device,
        stop: Stop,
    ) -> Self {
        let panel = Panel {
            view,
            name,
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
        if let View::Line(line) = &self.view {
            line.bar.finish_and_clear();
        }
    }

    /// A line that stays.
    fn say(&self, text: &str) {
        let text = &match &self.name {
            Some(name) => format!("{name}: {text}"),
            None => text.to_owned(),
        };
        match &self.view {
            View::Line(line) => {
                let _ = line.bars.println(printable(text));
            }
            View::Lines => terminal::tell(text),
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
            View::Line(line) => line.show(self.name.as_deref().unwrap_or_default(), &text, None),
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
        self.show_line();
        if let View::Live(live) = &mut self.view
            && live.is_due()
        {
            live.phase.set_message(phase_line(&step.place, &self.forecast));
            live.left.set_message(left_line(self.forecast.left()));
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.forecast.count(interval);
        if self.stop.is_requested() && !std::mem::replace(&mut self.told_stop, true) {
            self.say(
                "Stopping after the operation in progress; press Ctrl-C again to end at once.",
            );
        }
        if let View::Line(line) = &mut self.view {
            line.rate = interval_line(interval).trim().to_owned();
        }
        self.show_line();
        let Some(place) = &self.place else { return };
        if let View::Live(live) = &mut self.view
            && live.is_due()
        {
            live.phase.set_message(phase_line(place, &self.forecast));
            live.rate.set_message(interval_line(interval));
            live.left.set_message(left_line(self.forecast.left()));
        }
    }

    /// The line of one target among others.
    fn show_line(&mut self) {
        let (View::Line(line), Some(place)) = (&mut self.view, &self.place) else { return };
        let left = left_line(self.forecast.left());
        let name = self.name.as_deref().unwrap_or_default();
        line.show(name, &phase_line(place, &self.forecast), Some(&left));
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
                    View::Line(_) => {}
                    View::Live(live) => {
                        live.steady.set_message(printable_lines(&text).into_owned());
                    }
                }
                self.verdict = Some(verdict.clone());
            }
            Note::Caveat(caveat) => self.say(&format!("Caveat: {}", caveat.text)),
            Note::Part(name) => self.say(&format!("Starting part {name}.")),
            Note::Chosen { what, value } => self.say(&format!("{what}: {value}")),
        }
    }
}

impl Progress for Panel {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Examined(checks) => {
                checks.iter().filter_map(remarks::of_check).for_each(|line| self.say(&line));
            }
            Event::Replaying { steps } => {
                self.say(&format!("The journal holds {steps} finished steps; none is repeated."));
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
    if place.round == 0 {
        let share =
            forecast.share_written().map(|share| format!("  {:.1} % written", share * 100.0));
        return format!("{:<8} {}{}", place.phase, place.label, share.unwrap_or_default());
    }
    let (least, most) = forecast.rounds(&place.phase);
    format!(
        "{:<8} round {} ({least} at least, {most} at most), step {} of {}: {}",
        place.phase,
        place.round,
        place.point,
        forecast.points(&place.phase, place.round),
        place.label
    )
}

fn left_line(left: Option<TimeLeft>) -> String {
    match left {
        Some(TimeLeft { best, worst }) => format!(
            "left     {} if steady at once, {} at most",
            whole_seconds(best),
            whole_seconds(worst)
        ),
        None => "left     unknown".to_owned(),
    }
}

fn interval_line(interval: &Interval) -> String {
    let mean = interval.response_mean().map(Nanos::as_millis_f64);
    format!(
        "         {:>10} IOPS  {:>9} MB/s  {:>9} ms",
        decimal(interval.iops(), 0),
        decimal(interval.bytes_per_second().map(|rate| rate / 1e6), 1),
        decimal(mean, 3)
    )
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
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}

/// A forecast is no better than a second.
fn whole_seconds(time: Duration) -> String {
    match time.as_secs_f64().round() {
        under if under < 1.0 => "less than 1 s".to_owned(),
        whole => Nanos::from_secs(whole as u64).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_second_is_said_so() {
        assert_eq!(whole_seconds(Duration::from_nanos(1)), "less than 1 s");
        assert_eq!(whole_seconds(Duration::from_millis(61_400)), "61 s");
    }
}
