//! Progress of a run on standard error: a live panel on a terminal, log lines otherwise.

use crate::panel_trend::Trend;
use crate::terminal::{NoControlEcho, number_or_dash};
use crate::{rig_remarks, terminal};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};
use steadfast_domain::measurement::Interval;
use steadfast_domain::power_cut::PowerCutTrial;
use steadfast_domain::record::CoolDown;
use steadfast_domain::text::printable;
use steadfast_domain::{
    Device, Measurement, Nanos, Note, Outcome, Procedure, Purge, Step, StepPlace, Verdict,
};
use steadfast_engine::StopSignal;
use steadfast_host::PurgeProgress;
use steadfast_runner::progress::PowerCutStage;
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::{Forecast, ProgressSink, RunEvent, TimeLeft};

/// Minimum time between two redraws of the panel; a simulated run has many steps per second.
const REDRAW_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Time between log lines of a wait, such as a purge.
const WAIT_LOG_INTERVAL: Duration = Duration::from_secs(30);

/// The live display of a run.
pub struct RunPanel {
    view: PanelView,
    /// Name of the target at the beginning of each line; `None` for a single target.
    name: Option<String>,
    forecast: Forecast,
    verdict: Option<Verdict>,
    place: Option<StepPlace>,
    stop: StopSignal,
    stop_announced: bool,
    /// Length of the current wait at its last log line.
    wait_logged: Duration,
    /// Time of all finished steps.
    finished_time: Duration,
    /// Time of the current step so far.
    step_time: Duration,
    /// Start of the run; `None` in virtual time.
    began: Option<Instant>,
    /// True if every step has a log line.
    verbose: bool,
    /// Steps that are summarized in one log line.
    summarized: Option<SimilarSteps>,
    trend: Trend,
    /// True while events of an earlier process are replayed.
    replays: bool,
    /// Unmet conditions that were printed.
    unmet: Vec<String>,
    /// Time of the last log line of the current step.
    last_line: Instant,
    /// Time left when the last step ended, as the end of a log line.
    left: String,
}

/// Maximum time without a log line while steps repeat.
const LOG_INTERVAL_MAX: Duration = Duration::from_secs(600);

/// Steps of one phase, or of one round of it.
struct SimilarSteps {
    phase: String,
    round: u32,
    /// Number of steps, including the first.
    steps: u32,
    measured: Duration,
    lowest: Option<f64>,
    highest: Option<f64>,
    logged: Instant,
}

impl SimilarSteps {
    fn new(place: &StepPlace) -> Self {
        SimilarSteps {
            phase: place.phase.clone(),
            round: place.round,
            steps: 0,
            measured: Duration::ZERO,
            lowest: None,
            highest: None,
            logged: Instant::now(),
        }
    }

    /// Returns true for a step of the same phase and round.
    fn is_of(&self, place: &StepPlace) -> bool {
        (self.phase.as_str(), self.round) == (place.phase.as_str(), place.round)
    }

    fn count(&mut self, measurement: &Measurement) {
        self.steps += 1;
        self.measured += measurement.elapsed.to_duration();
        if let Some(iops) = measurement.iops() {
            self.lowest = Some(self.lowest.map_or(iops, |low| low.min(iops)));
            self.highest = Some(self.highest.map_or(iops, |high| high.max(iops)));
        }
    }

    /// Returns the summary: `rounds, round 2: 56 steps in 56 min, 248.6 to 499,097.2 IOPS`. `None`
    /// for a single step, which has its own line.
    fn line(&self) -> Option<String> {
        let round = if self.round > 0 { format!(", round {}", self.round) } else { String::new() };
        let measured = Nanos::from_secs(self.measured.as_secs());
        let (low, high) = (number_or_dash(self.lowest, 1), number_or_dash(self.highest, 1));
        let (phase, steps) = (&self.phase, self.steps);
        let text = format!("{phase}{round}: {steps} steps in {measured}, {low} to {high} IOPS");
        (steps > 1).then_some(text)
    }
}

/// Form of the display.
enum PanelView {
    Lines,
    Live(LiveView),
    /// A line next to those of other targets.
    Line(TargetLineView),
}

struct TargetLineView {
    bars: MultiProgress,
    bar: ProgressBar,
    rate: String,
    drawn: Option<Instant>,
}

struct LiveView {
    bars: MultiProgress,
    run: ProgressBar,
    left: ProgressBar,
    step: ProgressBar,
    place: ProgressBar,
    rate: ProgressBar,
    trend: ProgressBar,
    steady: ProgressBar,
    drawn: Option<Instant>,
    /// True if run and step have bars; `None` until they are drawn.
    has_bars: Option<bool>,
    _echo: NoControlEcho,
}

/// Columns of a bar, of the line before its message, and of the shortest message.
const BAR_WIDTH: usize = 24;
const BEFORE_BAR: usize = BAR_WIDTH + 12;
const MESSAGE_WIDTH_MIN: usize = 28;

/// Columns of a line's name.
const NAME_WIDTH: usize = 9;

/// Columns below which the lines are shortened.
const NARROW_WIDTH: usize = 70;

/// Rows and columns that a terminal needs to show the trend.
const TREND_ROWS_MIN: usize = 30;
const TREND_COLUMNS_MIN: usize = 80;

/// Length of a full bar, in thousandths.
const FULL_BAR: u64 = 1000;

impl LiveView {
    fn new() -> Self {
        let bars = MultiProgress::new();
        let line = || {
            let bar = bars.add(ProgressBar::new(FULL_BAR));
            bar.set_style(bar_style("{msg}"));
            bar
        };
        let _echo = NoControlEcho::new();
        let [run, left, step, place, rate, trend, steady] = [(); 7].map(|()| line());
        LiveView {
            bars,
            run,
            left,
            step,
            place,
            rate,
            trend,
            steady,
            drawn: None,
            has_bars: None,
            _echo,
        }
    }

    /// Returns the lines from the top.
    fn lines(&self) -> [&ProgressBar; 7] {
        [&self.run, &self.left, &self.step, &self.place, &self.rate, &self.trend, &self.steady]
    }

    /// Shows the bars of run and step if the terminal is wide enough; returns the number of columns
    /// before their messages.
    fn fit_bars(&mut self) -> usize {
        let has_room = terminal::error_width() > BEFORE_BAR + MESSAGE_WIDTH_MIN;
        if self.has_bars != Some(has_room) {
            self.has_bars = Some(has_room);
            for (line, name) in [(&self.run, "run"), (&self.step, "step")] {
                let template = if has_room {
                    format!("{name:<NAME_WIDTH$}[{{bar:{BAR_WIDTH}.cyan}}] {{msg}}")
                } else {
                    format!("{name:<NAME_WIDTH$}{{msg}}")
                };
                line.set_style(bar_style(&template));
            }
        }
        if has_room { BEFORE_BAR } else { NAME_WIDTH }
    }

    fn is_due(&mut self) -> bool {
        let due = self.drawn.is_none_or(|at| at.elapsed() >= REDRAW_INTERVAL_MIN);
        if due {
            self.drawn = Some(Instant::now());
        }
        due
    }
}

/// Returns the style of a line. `console` omits the colors if the terminal has none or NO_COLOR is
/// set.
fn bar_style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

/// Returns a line that shows only a message.
fn message_line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(bar_style("{wide_msg}"));
    bar
}

impl TargetLineView {
    /// Shows the current phase, at most every tenth of a second.
    fn show(&mut self, name: &str, doing: &str, left: Option<&str>) {
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW_INTERVAL_MIN) {
            return;
        }
        self.drawn = Some(Instant::now());
        // The last part is cut off on a narrow terminal.
        let parts = [Some(name), Some(self.rate.as_str()), left, Some(doing)];
        let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: Vec<String> = parts.into_iter().flatten().map(words).collect();
        let shown = shown.iter().filter(|part| !part.is_empty()).map(String::as_str);
        self.bar.set_message(printable(&shown.collect::<Vec<_>>().join("  ")).into_owned());
    }
}

impl RunPanel {
    /// Creates the display of a run of this procedure.
    pub fn new(procedure: &dyn Procedure, device: &Device, stop: StopSignal) -> Self {
        let view = if terminal::shows_progress() {
            PanelView::Live(LiveView::new())
        } else {
            PanelView::Lines
        };
        RunPanel::with(view, None, procedure, device, stop)
    }

    /// Sets whether every step has a log line.
    pub fn verbose(self, verbose: bool) -> Self {
        RunPanel { verbose, ..self }
    }

    /// Creates the display of one of several targets, which share `bars`.
    pub fn among(
        bars: &MultiProgress,
        name: &str,
        procedure: &dyn Procedure,
        device: &Device,
        stop: StopSignal,
    ) -> Self {
        let view = if terminal::shows_progress() {
            PanelView::Line(TargetLineView {
                bars: bars.clone(),
                bar: bars.add(message_line()),
                rate: String::new(),
                drawn: None,
            })
        } else {
            PanelView::Lines
        };
        RunPanel::with(view, Some(name.to_owned()), procedure, device, stop)
    }

    fn with(
        view: PanelView,
        name: Option<String>,
        procedure: &dyn Procedure,
        device: &Device,
        stop: StopSignal,
    ) -> Self {
        let panel = RunPanel {
            view,
            name,
            forecast: Forecast::new(procedure),
            verdict: None,
            place: None,
            stop,
            stop_announced: false,
            wait_logged: Duration::ZERO,
            finished_time: Duration::ZERO,
            step_time: Duration::ZERO,
            began: (!device.is_simulated()).then(Instant::now),
            verbose: false,
            summarized: None,
            trend: Trend::default(),
            replays: false,
            unmet: Vec::new(),
            last_line: Instant::now(),
            left: String::new(),
        };
        let model = device.model.as_deref().unwrap_or("no model name");
        let simulated = if device.is_simulated() { "  SIMULATED" } else { "" };
        panel.print_line(&format!("{}: {model}, {}{simulated}", device.path, device.capacity));
        panel
    }

    /// Removes the live lines.
    pub fn close(&mut self) {
        self.print_summary();
        if let PanelView::Live(live) = &self.view {
            live.lines().into_iter().for_each(ProgressBar::finish_and_clear);
            let _ = live.bars.clear();
        }
        if let PanelView::Line(line) = &self.view {
            line.bar.finish_and_clear();
        }
    }

    /// Prints a permanent line.
    fn print_line(&self, text: &str) {
        let text = &match &self.name {
            Some(name) => format!("{name}: {text}"),
            None => text.to_owned(),
        };
        // Log lines have a time, except in virtual time.
        let time = self.began.filter(|_| matches!(self.view, PanelView::Lines)).map(|_| log_time());
        let text = &time.map_or_else(|| text.clone(), |time| format!("{time} {text}"));
        let bars = match &self.view {
            PanelView::Lines => return terminal::status(text),
            PanelView::Line(line) => &line.bars,
            PanelView::Live(live) => &live.bars,
        };
        let _ = bars.println(terminal::wrap_for_stderr(text));
    }

    fn purging(&mut self, progress: &PurgeProgress<'_>) {
        let percent = progress.percent.map(|done| format!(", {done:.0} %")).unwrap_or_default();
        let since = Nanos::from_secs(progress.since.as_secs());
        self.show_wait(&format!("purge    {}{percent} ({since})", progress.doing), progress.since);
    }

    fn cooling(&mut self, cooling: &CoolDown, limit: Nanos) {
        let CoolDown { below, to, waited, .. } = cooling;
        let text = format!("cooling  {to:.1} C, {below:.1} C wanted ({waited} of at most {limit})");
        self.show_wait(&text, waited.to_duration());
    }

    fn cooled(&mut self, cooling: &CoolDown) {
        self.wait_logged = Duration::ZERO;
        let CoolDown { below, from, to, waited, .. } = cooling;
        self.print_line(&if *waited == Nanos::ZERO {
            format!("Temperature: {to:.1} C, below {below:.1} C.")
        } else {
            format!("Cooled: from {from:.1} C to {to:.1} C in {waited}, below {below:.1} C.")
        });
    }

    /// Shows a wait that has lasted for `since`: live, or in a log line every 30 s.
    fn show_wait(&mut self, text: &str, since: Duration) {
        match &mut self.view {
            PanelView::Live(live) => {
                if live.is_due() {
                    live.place.set_message(fit_to_terminal(text, PREFIX));
                }
            }
            PanelView::Line(line) => {
                line.show(self.name.as_deref().unwrap_or_default(), text, None)
            }
            PanelView::Lines if since >= self.wait_logged + WAIT_LOG_INTERVAL => {
                self.wait_logged = since;
                self.print_line(text);
            }
            PanelView::Lines => {}
        }
    }

    fn purged(&mut self, purge: &Purge) {
        self.wait_logged = Duration::ZERO;
        if let Some(why) = &purge.failed {
            return self.print_line(&format!("Caveat: NOT purged: {why}"));
        }
        let read = purge.read_back.map(|read| format!(" Blank: {read}.")).unwrap_or_default();
        self.print_line(&format!("Purged: {}, {}.{read}", purge.method, purge.took.taken()));
    }

    fn begins(&mut self, step: &Step) {
        self.place = Some(step.place.clone());
        self.step_time = Duration::ZERO;
        self.last_line = Instant::now();
        self.trend.begin();
        self.forecast.begin(step);
        self.show_line();
        self.redraw(None);
    }

    /// Redraws the live lines if it is time.
    fn redraw(&mut self, interval: Option<&Interval>) {
        let measured = self.finished_time + self.step_time;
        let elapsed = self.began.map_or(measured, |began| began.elapsed());
        let (Some(place), PanelView::Live(live)) = (&self.place, &mut self.view) else { return };
        if !live.is_due() {
            return;
        }
        let before_bar = live.fit_bars();
        let (rows, columns) = terminal::error_size();
        let is_narrow = columns < NARROW_WIDTH;
        let left = self.forecast.left();
        let share = left.map(|left| share_done(measured, left.best));
        live.run.set_position(thousandths(share));
        let clock = self.began.map(|_| wall_clock_unix_ms());
        live.run.set_message(fit_to_terminal(&run_line(share, elapsed), before_bar));
        live.left.set_message(fit_to_terminal(&left_line(left, clock, is_narrow), PREFIX));
        let of_step = self.forecast.share_of_step();
        live.step.set_position(thousandths(of_step));
        live.step
            .set_message(fit_to_terminal(&step_line(of_step, place, &self.forecast), before_bar));
        live.place.set_message(fit_to_terminal(&phase_line(place, &self.forecast), PREFIX));
        if let Some(interval) = interval {
            let rate = interval_line(interval);
            // Aligned columns of digits do not fit.
            let rate = if is_narrow {
                rate.split_whitespace().collect::<Vec<_>>().join(" ")
            } else {
                rate
            };
            live.rate.set_message(fit_to_terminal(&rate, PREFIX));
        }
        let mut trend_lines = Vec::new();
        if rows >= TREND_ROWS_MIN && columns >= TREND_COLUMNS_MIN {
            let track = self.verdict.as_ref().and_then(|verdict| verdict.tracks.first());
            let variable = track.map_or(place.label.as_str(), |track| track.name.as_str());
            let trend = self.trend.line(variable, &place.label, columns);
            for line in trend.into_iter().chain(self.trend.temperature_line()) {
                trend_lines.push(fit_to_terminal(&line, PREFIX));
            }
        }
        live.trend.set_message(trend_lines.join("\n"));
    }

    fn interval(&mut self, interval: &Interval) {
        self.forecast.count(interval);
        self.trend.count(interval);
        if self.stop.is_requested() && !std::mem::replace(&mut self.stop_announced, true) {
            self.print_line(
                "Stopping after the operation in progress; press Ctrl-C again to end at once.",
            );
        }
        if let PanelView::Line(line) = &mut self.view {
            line.rate = interval_line(interval).trim().to_owned();
        }
        self.show_line();
        self.step_time = interval.end.to_duration();
        self.redraw(Some(interval));
        self.log_step(interval);
    }

    /// Prints a log line of a long step every 10 min.
    fn log_step(&mut self, interval: &Interval) {
        let is_due = self.began.is_some() && self.last_line.elapsed() >= LOG_INTERVAL_MAX;
        let Some(place) = self.place.as_ref().filter(|_| is_due) else { return };
        if matches!(self.view, PanelView::Lines) {
            self.last_line = Instant::now();
            let share = percent_text(self.forecast.share_of_step());
            let rates = interval_line(interval);
            self.print_line(&format!("{place}: {share}, now {}{}", rates.trim(), self.left_text()));
        }
    }

    /// Returns the time left at best and at most, as the end of a log line.
    fn left_text(&self) -> String {
        match self.forecast.left().filter(|_| self.began.is_some()) {
            Some(TimeLeft { best, worst }) if best == worst => {
                format!("; left {}", whole_seconds(best))
            }
            Some(TimeLeft { best, worst }) => {
                format!("; left {} at best, {} at most", whole_seconds(best), whole_seconds(worst))
            }
            None => String::new(),
        }
    }

    /// Updates the line of one of several targets.
    fn show_line(&mut self) {
        let (PanelView::Line(line), Some(place)) = (&mut self.view, &self.place) else { return };
        let left = self.forecast.left().map(|TimeLeft { best, worst }| {
            format!("left {} to {}", whole_seconds(best), whole_seconds(worst))
        });
        let name = self.name.as_deref().unwrap_or_default();
        line.show(name, &phase_line(place, &self.forecast), left.as_deref());
    }

    fn finished(&mut self, step: &Step, outcome: &Outcome, replayed: bool) {
        self.left = self.left_text();
        self.forecast.finish(&outcome.measurement);
        self.trend.finish(step, &outcome.measurement);
        self.finished_time += outcome.measurement.elapsed.to_duration();
        self.step_time = Duration::ZERO;
        if replayed || !matches!(self.view, PanelView::Lines) {
            return;
        }
        let measurement = &outcome.measurement;
        if self.summarized.as_ref().is_none_or(|similar| !similar.is_of(&step.place)) {
            self.print_summary();
        }
        let similar = self.summarized.get_or_insert_with(|| SimilarSteps::new(&step.place));
        similar.count(measurement);
        let is_due = similar.steps == 1 || similar.logged.elapsed() >= LOG_INTERVAL_MAX;
        if is_due || self.verbose || measurement.fault_count > 0 {
            similar.logged = Instant::now();
            self.last_line = Instant::now();
            self.print_line(&format!("{}{}", finished_line(step, measurement), self.left));
        }
    }

    /// Prints the summary of steps without their own log lines.
    fn print_summary(&mut self) {
        let similar = self.summarized.take().filter(|_| !self.verbose);
        if let Some(line) = similar.and_then(|similar| similar.line()) {
            self.print_line(&format!("{line}{}", self.left));
        }
    }

    fn noted(&mut self, note: &Note) {
        if self.replays {
            if let Note::Verdict(verdict) = note {
                self.verdict = Some(verdict.clone());
            }
            return;
        }
        self.print_summary();
        match note {
            Note::Verdict(verdict) => {
                let text = verdict_text(verdict);
                match &self.view {
                    PanelView::Lines => text.lines().for_each(|line| self.print_line(line)),
                    PanelView::Line(_) => {}
                    PanelView::Live(live) => {
                        let lines: Vec<String> =
                            text.lines().map(|line| fit_to_terminal(line, PREFIX)).collect();
                        live.steady.set_message(lines.join("\n"));
                    }
                }
                self.verdict = Some(verdict.clone());
            }
            Note::Caveat(caveat) => self.print_line(&format!("Caveat: {}", caveat.text)),
            Note::Part(name) => self.print_line(&format!("Starting part {name}.")),
            Note::Chosen { what, value } => self.print_line(&format!("{what}: {value}")),
        }
    }

    fn power_cut(&mut self, trial: &PowerCutTrial, stage: PowerCutStage<'_>) {
        let what = match stage {
            PowerCutStage::Writes => {
                let after = number_or_dash(Some(trial.cut_after.as_secs_f64()), 1);
                format!("writing; the power is cut after {after} s.")
            }
            PowerCutStage::Cuts(Some(command)) => format!("cutting the power: {command}"),
            PowerCutStage::Cuts(None) => {
                format!("CUT THE POWER OF THE DEVICE NOW (waiting {}).", trial.cut_limit)
            }
            PowerCutStage::Hangs => {
                "waiting for I/Os that the kernel neither completes nor fails. Most drivers fail \
                 them after 30 s; if the device's driver has no timeout, restart the host, then \
                 resume the run."
                    .to_owned()
            }
            PowerCutStage::Reads => "reading back.".to_owned(),
            PowerCutStage::Judged(outcome) => format!(
                "{} writes in {} flushes acknowledged, {} violations.",
                outcome.acknowledged,
                outcome.flushes,
                outcome.violation_count()
            ),
        };
        if !self.replays {
            self.print_line(&format!("Power cut {}: {what}", trial.cycle));
        }
    }
}

impl ProgressSink for RunPanel {
    fn report(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Examined(checks) => {
                checks
                    .iter()
                    .filter_map(rig_remarks::check_line)
                    .for_each(|line| self.print_line(&line));
            }
            RunEvent::Replaying { steps } => {
                self.replays = true;
                if *steps == 0 {
                    return;
                }
                let steps = match steps {
                    1 => "1 finished step; it is not repeated".to_owned(),
                    steps => format!("{steps} finished steps; none is repeated"),
                };
                self.print_line(&format!("The journal holds {steps}."));
            }
            RunEvent::Live { gap: Some(gap) } => {
                self.replays = false;
                self.print_line(&format!(
                    "Resuming after a gap of {} ({}).",
                    gap.length(),
                    gap.cause
                ));
            }
            RunEvent::Live { gap: None } => self.replays = false,
            RunEvent::Settled(_)
            | RunEvent::Purged(_)
            | RunEvent::Cooling { .. }
            | RunEvent::Cooled(_)
                if self.replays => {}
            RunEvent::Settled(got) => {
                for unmet in &got.unmet {
                    // A procedure may settle several times.
                    if !self.unmet.contains(unmet) {
                        self.unmet.push(unmet.clone());
                        self.print_line(&format!("Caveat: {unmet}"));
                    }
                }
            }
            RunEvent::Purging => {
                self.print_summary();
                self.print_line("Purging.");
            }
            RunEvent::PurgeProgress(progress) => self.purging(progress),
            RunEvent::Purged(purge) => self.purged(purge),
            RunEvent::Cooling { cooling, limit } => self.cooling(cooling, *limit),
            RunEvent::Cooled(cooling) => self.cooled(cooling),
            RunEvent::Begins(step) => self.begins(step),
            RunEvent::Interval(interval) => self.interval(interval),
            RunEvent::Finished { step, outcome, replayed } => {
                self.finished(step, outcome, *replayed);
            }
            RunEvent::PowerCut(trial, stage) => self.power_cut(trial, *stage),
            RunEvent::Noted(note) => self.noted(note),
        }
    }
}

/// Returns the current time, such as `2026-11-25 21:35:12Z`.
fn log_time() -> String {
    steadfast_report::date_second(wall_clock_unix_ms())
}

/// Columns before the message of a line without a bar.
const PREFIX: usize = 0;

/// Cuts a line at a word boundary to the width of the terminal.
fn fit_to_terminal(text: &str, before: usize) -> String {
    let room = terminal::error_width().saturating_sub(before + 1).max(8);
    cut(&printable(text), room)
}

/// Cuts a text at a word boundary to a number of columns.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let head: String = text.chars().take(room.saturating_sub(1)).collect();
    // A single word that is longer than the line is cut anywhere.
    let whole = head.rfind(' ').filter(|at| *at > 0).map_or(head.as_str(), |at| &head[..at]);
    format!("{}…", whole.trim_end())
}

fn share_done(done: Duration, left: Duration) -> f64 {
    let all = (done + left).as_secs_f64();
    if all > 0.0 { done.as_secs_f64() / all } else { 0.0 }
}

fn thousandths(share: Option<f64>) -> u64 {
    (share.unwrap_or(0.0).clamp(0.0, 1.0) * FULL_BAR as f64) as u64
}

fn percent_text(share: Option<f64>) -> String {
    share.map_or(" – %".to_owned(), |share| format!("{:>2.0} %", share * 100.0))
}

/// Formats the progress of the run, if it is steady as early as possible, and its elapsed time.
fn run_line(share: Option<f64>, elapsed: Duration) -> String {
    format!("{}  {} elapsed", percent_text(share), whole_seconds(elapsed))
}

/// Formats the time left and the clock time at which the run ends.
fn left_line(left: Option<TimeLeft>, clock_unix_ms: Option<u64>, is_narrow: bool) -> String {
    let Some(TimeLeft { best, worst }) = left else { return "left     unknown".to_owned() };
    if is_narrow && best != worst {
        return format!("left     {} to {}", whole_seconds(best), whole_seconds(worst));
    }
    let at = |after: Duration| match clock_unix_ms {
        Some(now) => format!("{} ({} UTC)", whole_seconds(after), clock_text(now, after)),
        None => whole_seconds(after),
    };
    if best == worst {
        format!("left     {}", at(best))
    } else {
        format!("left     {} if steady at once, {} at most", at(best), at(worst))
    }
}

/// Formats a time of day, such as `17:05`, with the number of days until then if it is another day.
fn clock_text(now_unix_ms: u64, after: Duration) -> String {
    const DAY: u64 = 86_400;
    let now = now_unix_ms / 1000;
    let then = now.saturating_add(after.as_secs());
    let days = then / DAY - now / DAY;
    let (hours, minutes) = (then % DAY / 3600, then % 3600 / 60);
    let later = if days > 0 { format!(" +{days} d") } else { String::new() };
    format!("{hours:02}:{minutes:02}{later}")
}

fn step_line(share: Option<f64>, place: &StepPlace, forecast: &Forecast) -> String {
    let points = forecast.points(&place.phase, place.round);
    let of = match points {
        0 | 1 => String::new(),
        points => format!("step {} of {points}: ", place.point.min(points as u32)),
    };
    format!("{}  {of}{}", percent_text(share), place.label)
}

fn phase_line(place: &StepPlace, forecast: &Forecast) -> String {
    if place.round == 0 {
        let share = forecast.share_written().map(|share| format!("{:.1} % written", share * 100.0));
        return format!("{:<8} {}", place.phase, share.unwrap_or_default());
    }
    let (least, most) = forecast.rounds(&place.phase);
    format!("{:<8} round {} (of {least} to {most})", place.phase, place.round)
}

fn interval_line(interval: &Interval) -> String {
    let mean = interval.response_mean_ms();
    format!(
        "         {:>10} IOPS  {:>9} MB/s  {:>9} ms",
        number_or_dash(interval.iops(), 0),
        number_or_dash(interval.bytes_per_second().map(|rate| rate / 1e6), 1),
        number_or_dash(mean, 3)
    )
}

fn finished_line(step: &Step, measurement: &Measurement) -> String {
    let total = measurement.total();
    let pace = step.load.stimulus().map(|stimulus| stimulus.pace.clone()).unwrap_or_default();
    let offered =
        pace.offered_iops().map(|iops| format!(" of {} offered", number_or_dash(Some(iops), 1)));
    let late = if measurement.kept_up(&pace) == Some(false) { ", COULD NOT KEEP UP" } else { "" };
    format!(
        "{}: {}{} IOPS, {} MB/s, {} ms{late}{}",
        step.place,
        number_or_dash(measurement.iops(), 1),
        offered.unwrap_or_default(),
        number_or_dash(measurement.bytes_per_second().map(|rate| rate / 1e6), 1),
        number_or_dash(total.response_mean_ms(), 3),
        match measurement.fault_count {
            0 => String::new(),
            count => format!(", {count} FAILED I/Os"),
        }
    )
}

/// Formats the excursions of each variable and their limits.
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
                "{} data excursion {:.1} % (≤ {:.0}) slope excursion {:.1} % (≤ {:.0}){}",
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

/// Formats a forecast in whole seconds, its accuracy.
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
    fn steps_of_a_round_are_one_line() {
        let place = |round| StepPlace::new("rounds", round, 1, "RND 4K W");
        let measurement = |elapsed| Measurement { elapsed, ..Measurement::default() };
        let mut similar = SimilarSteps::new(&place(2));
        similar.count(&measurement(Nanos::SECOND));
        assert_eq!(similar.line(), None, "the first has its own line");
        (0..3).for_each(|_| similar.count(&measurement(Nanos::SECOND)));
        assert!(similar.is_of(&place(2)) && !similar.is_of(&place(3)));
        let line = similar.line().unwrap();
        assert!(line.starts_with("rounds, round 2: 4 steps in 4 s"), "{line}");
    }

    #[test]
    fn a_line_is_cut_between_words() {
        assert_eq!(cut("one two three", 13), "one two three");
        assert_eq!(cut("one two three", 12), "one two…");
        assert_eq!(cut("onetwothree", 6), "onetw…");
    }

    #[test]
    fn a_run_says_how_far_it_is_and_when_it_ends() {
        let left = TimeLeft { best: Duration::from_secs(1800), worst: Duration::from_secs(90_000) };
        let done = Duration::from_secs(600);
        let share = Some(share_done(done, left.best));
        let now = Some(23 * 3_600_000 + 40 * 60_000);
        assert_eq!(run_line(share, done), "25 %  10 min elapsed");
        let line = left_line(Some(left), now, false);
        let whole =
            "left     30 min (00:10 +1 d UTC) if steady at once, 25 h (00:40 +2 d UTC) at most";
        assert_eq!(line, whole);
        let short = TimeLeft { best: Duration::from_secs(32), worst: Duration::from_secs(73) };
        assert_eq!(left_line(Some(short), now, true), "left     32 s to 73 s");
        let line = left_line(Some(short), now, false);
        assert!(line.ends_with("73 s (23:41 UTC) at most") && line.len() < 80, "{line}");
        assert_eq!(
            left_line(Some(short), None, false),
            "left     32 s if steady at once, 73 s at most"
        );
        assert_eq!(left_line(None, None, false), "left     unknown");
        assert_eq!(run_line(None, Duration::ZERO), " – %  less than 1 s elapsed");
        assert_eq!((thousandths(share), thousandths(None)), (250, 0));
    }

    #[test]
    fn less_than_a_second_is_said_so() {
        assert_eq!(whole_seconds(Duration::from_nanos(1)), "less than 1 s");
        assert_eq!(whole_seconds(Duration::from_millis(61_400)), "61 s");
    }
}
