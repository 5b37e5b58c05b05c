//! What a terminal shows while `measure` runs: a line for each target.

use crate::terminal::{self, NoControlEcho};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::text::{number, printable};
use steadfast_domain::{Nanos, Step};

/// The lines of all targets; none where no terminal shows them.
pub(super) struct Watch {
    bars: Option<(MultiProgress, NoControlEcho)>,
    runs: u32,
}

/// The line of one target.
pub(super) struct TargetLine(Option<ProgressBar>);

impl Watch {
    pub(super) fn new(runs: u32) -> Self {
        let bars = || (MultiProgress::new(), NoControlEcho::new());
        Watch { bars: terminal::is_watched().then(bars), runs }
    }

    /// Adds the line of a target whose step is about to begin.
    pub(super) fn line(&self, target: &str, step: &Step, run: u32) -> TargetLine {
        TargetLine(self.bars.as_ref().map(|(bars, _)| {
            let bar = bars.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{prefix}  {elapsed}{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            let run =
                if self.runs > 1 { format!("  run {run}/{}", self.runs) } else { String::new() };
            bar.set_prefix(format!("{}{run}", printable(target)));
            bar.set_message(of_time(step));
            // fio reports nothing before its end: the clock runs all the same.
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        }))
    }
}

/// ` of 12 s`: ramp and measured time; empty where I/Os end the step.
fn of_time(step: &Step) -> String {
    let stimulus = step.load.stimulus();
    let time = stimulus.and_then(|stimulus| Some(stimulus.ramp + stimulus.until.time?));
    time.map_or(String::new(), |time: Nanos| format!(" of {time}"))
}

impl TargetLine {
    /// Shows the rates of the last interval.
    pub(super) fn show(&self, step: &Step, interval: &Interval) {
        let Some(bar) = &self.0 else { return };
        let text = |value: Option<f64>, decimals| {
            value.map_or("–".to_owned(), |value| number(value, decimals))
        };
        bar.set_message(format!(
            "{}  {} IOPS  {} MB/s  {} ms",
            of_time(step),
            text(interval.iops(), 0),
            text(interval.bytes_per_second().map(|rate| rate / 1e6), 1),
            text(interval.response_mean_ms(), 3)
        ));
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
