//! Progress lines of `measure` on a terminal, one per target.

use crate::terminal::{self, NoControlEcho, number_or_dash};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::text::printable;
use steadfast_domain::{Nanos, Step};

/// Progress lines of all targets; empty without a terminal.
pub(super) struct TargetBars {
    bars: Option<(MultiProgress, NoControlEcho)>,
    runs: u32,
}

/// Progress line of one target.
pub(super) struct TargetLine(Option<ProgressBar>);

impl TargetBars {
    pub(super) fn new(runs: u32) -> Self {
        let bars = || (MultiProgress::new(), NoControlEcho::new());
        TargetBars { bars: terminal::shows_progress().then(bars), runs }
    }

    /// Adds the line of a target whose step is about to start.
    pub(super) fn line(&self, target: &str, step: &Step, run: u32) -> TargetLine {
        TargetLine(self.bars.as_ref().map(|(bars, _)| {
            let bar = bars.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{prefix}  {elapsed}{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            let run =
                if self.runs > 1 { format!("  run {run}/{}", self.runs) } else { String::new() };
            bar.set_prefix(format!("{}{run}", printable(target)));
            bar.set_message(of_time(step));
            // fio reports nothing before its end; keep the clock ticking.
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        }))
    }
}

/// Returns ` of 12 s` (ramp plus measured time); empty if the step ends by its I/O count.
fn of_time(step: &Step) -> String {
    let stimulus = step.load.stimulus();
    let time = stimulus.and_then(|stimulus| Some(stimulus.ramp + stimulus.until.time?));
    time.map_or(String::new(), |time: Nanos| format!(" of {time}"))
}

impl TargetLine {
    /// Shows the rates of an interval.
    pub(super) fn show(&self, step: &Step, interval: &Interval) {
        let Some(bar) = &self.0 else { return };
        bar.set_message(format!(
            "{}  {} IOPS  {} MB/s  {} ms",
            of_time(step),
            number_or_dash(interval.iops(), 0),
            number_or_dash(interval.bytes_per_second().map(|rate| rate / 1e6), 1),
            number_or_dash(interval.response_mean_ms(), 3)
        ));
    }

    /// Removes the line from the terminal.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
