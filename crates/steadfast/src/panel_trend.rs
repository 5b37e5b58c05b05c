//! The trend lines of the panel: one variable step by step, and the temperature.

use std::collections::BTreeMap;
use steadfast_domain::measurement::Interval;
use steadfast_domain::text::number;
use steadfast_domain::{Measurement, Step};

/// Bars of a trend line.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Maximum number of values per variable; no terminal has more columns.
const VALUES_MAX: usize = 500;

/// History of a run's steps.
#[derive(Default)]
pub struct Trend {
    /// IOPS of every finished step, by the step's label.
    steps: BTreeMap<String, Vec<f64>>,
    /// IOPS of the intervals of the current step.
    intervals: Vec<f64>,
    temperatures: Vec<f64>,
}

impl Trend {
    /// Clears the intervals of the previous step.
    pub fn begin(&mut self) {
        self.intervals.clear();
    }

    pub fn count(&mut self, interval: &Interval) {
        push(&mut self.intervals, interval.iops().filter(|_| !interval.partial));
    }

    pub fn finish(&mut self, step: &Step, measurement: &Measurement) {
        let values = self.steps.entry(step.place.label.clone()).or_default();
        push(values, measurement.iops());
        push(&mut self.temperatures, measurement.sensed.temperature_celsius);
    }

    /// Returns the trend line of a tracking variable, or of the current step if the variable has
    /// fewer than two values; `None` if neither has two.
    pub fn line(&self, variable: &str, current: &str, columns: usize) -> Option<String> {
        let values_of = |label: &str| self.steps.get(label).filter(|values| values.len() > 1);
        let (label, each, values) = if let Some(values) = values_of(variable) {
            (variable, "step", values)
        } else if let Some(values) = values_of(current) {
            (current, "step", values)
        } else if self.intervals.len() > 1 {
            (current, "second", &self.intervals)
        } else {
            return None;
        };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let range = format!("{} to {} IOPS, {label} by {each}", number(low, 0), number(high, 0));
        let room = columns.saturating_sub(range.chars().count() + 12);
        Some(format!("trend    {}  {range}", sparkline(values, room)))
    }

    /// Returns the temperature line; `None` if the device reports no temperature.
    pub fn temperature_line(&self) -> Option<String> {
        let last = self.temperatures.last()?;
        let highest = self.temperatures.iter().copied().fold(*last, f64::max);
        Some(format!("temp     {last:.0} °C, highest {highest:.0} °C"))
    }
}

fn push(values: &mut Vec<f64>, value: Option<f64>) {
    if values.len() >= VALUES_MAX {
        values.remove(0);
    }
    values.extend(value);
}

/// Formats the last values as bars from zero to the highest.
fn sparkline(values: &[f64], columns: usize) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let highest = shown.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        let share = if highest > 0.0 { value / highest } else { 0.0 };
        BARS[((share * BARS.len() as f64) as usize).min(BARS.len() - 1)]
    };
    shown.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_on_zero_and_the_last_values_are_shown() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0], 10), "▁▅█");
        assert_eq!(sparkline(&[9.0, 100.0, 100.0], 2), "██");
        assert_eq!(sparkline(&[0.0, 0.0], 9), "▁▁");
    }

    #[test]
    fn the_tracking_variable_comes_before_the_current_step() {
        let mut trend = Trend { intervals: vec![5.0, 6.0], ..Trend::default() };
        let line = |trend: &Trend| trend.line("RND 4K W", "RND 4K R", 60);
        assert!(line(&trend).unwrap().ends_with("5 to 6 IOPS, RND 4K R by second"));
        trend.steps.insert("RND 4K W".into(), vec![1000.0]);
        assert!(line(&trend).unwrap().contains("by second"), "one value is no trend");
        trend.steps.insert("RND 4K W".into(), vec![1000.0, 2000.0]);
        assert_eq!(line(&trend).unwrap(), "trend    ▅█  1,000 to 2,000 IOPS, RND 4K W by step");
        assert_eq!(trend.temperature_line(), None);
        trend.temperatures = vec![43.0, 41.0];
        assert_eq!(trend.temperature_line().unwrap(), "temp     41 °C, highest 43 °C");
    }
}
