//! Maps values to positions along an axis, with readable ticks.

use crate::date::civil;
use crate::number;
use steadfast_domain::findings::{Axis, ClockTime, Scale, Series, TimeUnit};

/// Largest absolute value of an axis; on a logarithmic axis its inverse is the smallest value.
/// Values beyond count as missing: no measurement is as large, and arithmetic stays finite.
const LARGEST: f64 = 1e18;
/// Maximum number of labeled powers of two.
const OCTAVES_MAX: i32 = 12;
/// Maximum number of measured values with their own tick.
const MEASURED_TICKS_MAX: usize = 14;

/// A labeled position along an axis.
pub struct TickLabel {
    /// Position from 0 to 1.
    pub position: f64,
    pub text: String,
}

/// An axis over a range of values.
pub struct Ruler {
    pub logarithmic: bool,
    /// Value at position 0.
    pub low: f64,
    /// Value at position 1.
    pub high: f64,
    pub labels: Vec<TickLabel>,
    /// Positions from 0 to 1 of faint grid lines between the labels.
    pub faint: Vec<f64>,
    /// True if the ticks name their unit of time, which differs from that of the axis label.
    pub names_unit: bool,
}

impl Ruler {
    /// Returns an axis for these values. Values that the scale cannot show (zero on a logarithmic
    /// one) count as missing.
    pub fn new(scale: &Scale, values: &[f64]) -> Ruler {
        let logarithmic = matches!(scale, Scale::Log10 | Scale::Log2);
        let (min, max) = range(values, logarithmic).unwrap_or((1.0, 10.0));
        match scale {
            Scale::Linear if (min, max) == (0.0, 0.0) => Ruler::stepped(0.0, 1.0, 0.2),
            Scale::Linear => linear(min.min(0.0), max.max(0.0), 0.0),
            Scale::Percent => percent(min, max),
            Scale::LinearFitted => linear(min, max, 0.08),
            Scale::Integers => integers(min, max),
            Scale::Log10 => decades(min, max),
            Scale::Log2 => octaves(min, max, values),
            Scale::Categories(names) => categories(names),
        }
    }

    /// Returns a horizontal axis. An axis of time begins at zero, ends with the last value and has
    /// ticks at whole seconds, minutes or hours.
    pub fn across(axis: &Axis, values: &[f64]) -> Ruler {
        match (&axis.scale, axis.time.map(TimeUnit::seconds), range(values, false)) {
            (Scale::Linear, Some(unit), Some((min, max))) if max > min.min(0.0) => {
                clock(min.min(0.0), max, unit, &axis.clock)
            }
            _ => Ruler::new(&axis.scale, values),
        }
    }

    /// Returns an axis exactly from `low` to `high`.
    pub fn exact(axis: &Axis, low: f64, high: f64) -> Ruler {
        match (&axis.scale, axis.time.map(TimeUnit::seconds)) {
            (Scale::Categories(names), _) => categories(names),
            (Scale::Log10 | Scale::Log2, _) if low > 0.0 => {
                Ruler::build(true, low, high, &log_labels(low, high), &[])
            }
            (Scale::Linear, Some(unit)) => clock(low, high, unit, &axis.clock),
            _ => Ruler::stepped(low, high, nice_step(high - low)),
        }
    }

    /// Returns the position of a value: 0 and 1 are the ends of the axis. `None` if the scale
    /// cannot show it.
    pub fn position(&self, value: f64) -> Option<f64> {
        is_shown(value, self.logarithmic).then(|| self.part(value))
    }

    fn part(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Returns an axis with a label at each of the values `labels`.
    fn build(logarithmic: bool, low: f64, high: f64, labels: &[f64], faint: &[f64]) -> Ruler {
        let named = labels.iter().map(|v| (*v, number::short(*v))).collect();
        Ruler::named(logarithmic, low, high, named, faint)
    }

    /// Returns a linear axis with a tick at every multiple of `step`, each with enough decimals to
    /// distinguish it from the next.
    fn stepped(low: f64, high: f64, step: f64) -> Ruler {
        let values = multiples_of(step, low, high);
        let named = values.into_iter().map(|v| (v, number::stepped(v, step))).collect();
        Ruler::named(false, low, high, named, &[])
    }

    /// Returns an axis with these labels of values; those beyond its ends are left out.
    fn named(
        logarithmic: bool,
        low: f64,
        high: f64,
        labels: Vec<(f64, String)>,
        faint: &[f64],
    ) -> Ruler {
        // A range too narrow for floating-point division is widened.
        let high = high.max(low + low.abs() * 1e-9 * f64::from(!logarithmic));
        let ruler = Ruler {
            logarithmic,
            low,
            high,
            labels: Vec::new(),
            faint: Vec::new(),
            names_unit: false,
        };
        let is_inside = |position: &f64| (-1e-9..=1.0 + 1e-9).contains(position);
        let labels = labels
            .into_iter()
            .map(|(value, text)| TickLabel { position: ruler.part(value), text })
            .filter(|label| is_inside(&label.position))
            .collect();
        let faint = faint.iter().map(|v| ruler.part(*v)).filter(is_inside).collect();
        Ruler { labels, faint, ..ruler }
    }
}

fn is_shown(value: f64, logarithmic: bool) -> bool {
    value.is_finite() && value.abs() <= LARGEST && (!logarithmic || value >= 1.0 / LARGEST)
}

/// Returns the smallest and largest value that can be shown.
pub fn range(values: &[f64], logarithmic: bool) -> Option<(f64, f64)> {
    let usable = values.iter().copied().filter(|v| is_shown(*v, logarithmic));
    let (min, max) =
        usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    (min <= max).then_some((min, max))
}

/// Returns the x values of several series that can be shown, ascending, each once.
pub fn distinct_xs(series: &[&Series]) -> Vec<f64> {
    let mut xs: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|(x, _)| *x).collect();
    xs.retain(|x| x.is_finite() && x.abs() < LARGEST);
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

/// Returns 1, 2 or 5 times a power of ten, chosen so that about six steps cover `span`.
fn nice_step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// Fraction of a linear axis that stays free beyond its values.
const HEADROOM: f64 = 0.03;

/// Adds space below the values; an axis from zero gets none.
fn room_below(min: f64, room: f64) -> f64 {
    if min < 0.0 { min - room } else { min }
}

fn linear(min: f64, max: f64, pad: f64) -> Ruler {
    let span = if max > min { max - min } else { max.abs().max(1.0) * 0.2 };
    let middle = f64::midpoint(min, max);
    let (min, max) = if max > min {
        (min - span * pad, max + span * pad)
    } else {
        (middle - span / 2.0, middle + span / 2.0)
    };
    let step = nice_step(max - min);
    if pad > 0.0 {
        return Ruler::stepped(min, max, step);
    }
    // Whole steps at both ends, and space between the highest value and the frame.
    let room = (max - min) * HEADROOM;
    let (low, high) = (room_below(min, room), if max > 0.0 { max + room } else { max });
    let (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
    Ruler::stepped(low, high, step)
}

/// From zero to 100 at most: no part is larger than the whole. Changes may be negative, to −100 at
/// most; drawings cut off what is beyond. Without any value above or below zero to 100: a line along
/// the axis says "none of it".
fn percent(min: f64, max: f64) -> Ruler {
    let (min, max) = (min.clamp(-100.0, 0.0), max.min(100.0));
    let max = if max > 0.0 || min < 0.0 { max.max(0.0) } else { 100.0 };
    let ruler = linear(min, max, 0.0);
    let (low, high) = (ruler.low.max(-100.0), ruler.high.min(100.0));
    if (low, high) == (ruler.low, ruler.high) {
        ruler
    } else {
        Ruler::stepped(low, high, nice_step(high - low))
    }
}

/// Returns the multiples of `step` in a range, at most 50.
fn multiples_of(step: f64, low: f64, high: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    (0..50)
        .map(|n| (first + f64::from(n)) * step)
        .take_while(|v| *v <= high + step * 1e-9)
        .collect()
}

fn integers(min: f64, max: f64) -> Ruler {
    // Columns reach half a step beyond the first and the last number.
    let (first, last) = (min.ceil(), max.floor().max(min.ceil()));
    let step = if last - first > 20.0 { ((last - first) / 10.0).ceil() } else { 1.0 };
    let labels: Vec<f64> =
        (0..1000).map(|n| first + f64::from(n) * step).take_while(|v| *v <= last).collect();
    Ruler::build(false, min.min(first - 0.4), max.max(last + 0.4), &labels, &[])
}

/// Tick steps of an axis of time, in seconds.
const CLOCK_STEPS: [f64; 19] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
    10800.0, 14400.0, 21600.0, 43200.0, 86400.0,
];

/// Returns an axis of time with a unit of `unit` seconds. If the ticks are whole minutes or hours
/// of a smaller unit, they are labeled as such.
fn clock(low: f64, high: f64, unit: f64, clock_times: &[ClockTime]) -> Ruler {
    let span = (high - low) * unit;
    let fits = |step: &&f64| span / **step <= 8.0;
    let step = match CLOCK_STEPS.iter().find(fits) {
        Some(_) if span < 6.0 => nice_step(span),
        Some(step) => *step,
        None => nice_step(span / 86400.0) * 86400.0,
    };
    if !clock_times.is_empty() {
        let labels = times_of_day(low, high, unit, step, clock_times);
        return Ruler { names_unit: true, ..Ruler::named(false, low, high, labels, &[]) };
    }
    let whole = |seconds: f64| step % seconds == 0.0 && unit < seconds;
    let name = |value: f64| match value * unit {
        0.0 => "0".to_owned(),
        seconds if whole(3600.0) => format!("{} h", number::short(seconds / 3600.0)),
        seconds if whole(60.0) => format!("{} min", number::short(seconds / 60.0)),
        _ => number::short(value),
    };
    let labels = multiples_of(step / unit, low, high).into_iter().map(|v| (v, name(v))).collect();
    let names_unit = whole(3600.0) || whole(60.0);
    Ruler { names_unit, ..Ruler::named(false, low, high, labels, &[]) }
}

/// Returns clock times at the multiples of `step` seconds: the time of day, or the date at midnight.
fn times_of_day(
    low: f64,
    high: f64,
    unit: f64,
    step: f64,
    clock_times: &[ClockTime],
) -> Vec<(f64, String)> {
    let mut labels = Vec::new();
    for (index, part) in clock_times.iter().enumerate() {
        let end = clock_times.get(index + 1).map_or(f64::INFINITY, |next| next.from);
        let first = low.max(if part.from > 0.0 { part.from } else { low });
        let last = if end <= high { end - step / unit * 1e-6 } else { high };
        let clock_time = |value: f64| value * unit + part.ahead_s;
        for seconds in multiples_of(step, clock_time(first), clock_time(last)) {
            labels.push(((seconds - part.ahead_s) / unit, clock_face(seconds, step)));
        }
    }
    labels
}

/// Formats as `06:15`, `06:15:30` or `06:15:30.0005`; at midnight as the date.
fn clock_face(seconds: f64, step: f64) -> String {
    let decimals = if step < 1.0 { (-step.log10() - 1e-9).ceil() as usize } else { 0 };
    let scale = 10f64.powi(decimals as i32);
    let ticks = (seconds * scale).round();
    let (day, rest) = ((ticks / scale / 86_400.0).floor(), ticks % (86_400.0 * scale));
    if rest == 0.0 && step >= 60.0 {
        return civil((day * 86_400_000.0) as u64).date().to_string();
    }
    let whole = (rest / scale).floor() as u64;
    let text = format!("{:02}:{:02}", whole / 3600, whole / 60 % 60);
    match (step >= 60.0, decimals) {
        (true, _) => text,
        (false, 0) => format!("{text}:{:02}", whole % 60),
        (false, decimals) => {
            let part = (rest - whole as f64 * scale) as u64;
            format!("{text}:{:02}.{part:0decimals$}", whole % 60)
        }
    }
}

/// Returns the multiples of powers of ten from `low` to `high`.
fn multiples(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .filter(|v| *v >= low * 0.999_999 && *v <= high * 1.000_001)
        .collect()
}

const ONE_TWO_FIVE: [f64; 3] = [1.0, 2.0, 5.0];

/// Returns the labels of a logarithmic axis: decades; for few decades also 1-2-5 between them; for
/// a fraction of a decade further whole and half multiples.
fn log_labels(low: f64, high: f64) -> Vec<f64> {
    match (high / low).log10() {
        wide if wide > 2.5 => multiples(low, high, &[1.0]),
        narrow if narrow < 0.35 => multiples(low, high, &[1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]),
        _ => multiples(low, high, &ONE_TWO_FIVE),
    }
}

fn decades(min: f64, max: f64) -> Ruler {
    let all = multiples(min / 20.0, max * 20.0, &ONE_TWO_FIVE);
    let low = all.iter().copied().rev().find(|v| *v <= min * 0.97).unwrap_or(min);
    let high = all.iter().copied().find(|v| *v >= max * 1.03).unwrap_or(max);
    let faint = multiples(low, high, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    Ruler::build(true, low, high, &log_labels(low, high), &faint)
}

/// Returns an axis with ticks at the values, such as block sizes, if they are few; otherwise at
/// powers of two. Labels have no thousands separators, like `RND 1024K`.
fn octaves(min: f64, max: f64, values: &[f64]) -> Ruler {
    let mut measured: Vec<f64> = values.iter().copied().filter(|v| is_shown(*v, true)).collect();
    measured.sort_by(f64::total_cmp);
    measured.dedup();
    let (first, last) = (min.log2().floor() as i32, max.log2().ceil() as i32);
    let last = last.max(first + 1);
    let step = ((last - first) / OCTAVES_MAX + 1).max(1) as usize;
    let labels = match measured.len() {
        2..=MEASURED_TICKS_MAX => measured,
        _ => (first..=last).step_by(step).map(|n| 2f64.powi(n)).collect(),
    };
    let named = labels.into_iter().map(|v| (v, number::short(v).replace(',', ""))).collect();
    Ruler::named(true, min / 1.3, max.max(min * 2.0) * 1.3, named, &[])
}

fn categories(names: &[String]) -> Ruler {
    let count = names.len().max(1) as f64;
    let label = |(index, name): (usize, &String)| TickLabel {
        position: (index as f64 + 0.5) / count,
        text: name.clone(),
    };
    Ruler {
        logarithmic: false,
        low: -0.5,
        high: count - 0.5,
        labels: names.iter().enumerate().map(label).collect(),
        faint: Vec::new(),
        names_unit: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(ruler: Ruler) -> Vec<String> {
        ruler.labels.into_iter().map(|label| label.text).collect()
    }

    fn labels(scale: &Scale, values: &[f64]) -> Vec<String> {
        named(Ruler::new(scale, values))
    }

    #[test]
    fn every_value_lies_inside_its_axis() {
        let sets: [&[f64]; 8] = [
            &[0.5, 1024.0],
            &[3.0],
            &[0.0],
            &[90.0, 110.0],
            &[1e-9, 1e12],
            &[],
            &[f64::MAX, f64::MIN_POSITIVE, -f64::MAX, 7.0],
            &[-5.0, -1e18, 1e18, 1e-18],
        ];
        for scale in
            [Scale::Linear, Scale::LinearFitted, Scale::Integers, Scale::Log10, Scale::Log2]
        {
            for values in sets {
                let time = Axis { scale: scale.clone(), ..Axis::time("Time", TimeUnit::Minutes) };
                for ruler in [Ruler::new(&scale, values), Ruler::across(&time, values)] {
                    for value in values {
                        let Some(part) = ruler.position(*value) else { continue };
                        let about = -1e-9..=1.0 + 1e-9;
                        assert!(about.contains(&part), "{scale:?} {value}: {part}");
                    }
                    assert!(
                        ruler.position(f64::NAN).is_none() && ruler.position(f64::MAX).is_none()
                    );
                    assert!(ruler.labels.len() < 60, "{scale:?} {values:?}");
                }
            }
        }
    }

    #[test]
    fn labels_are_round() {
        assert_eq!(labels(&Scale::Log2, &[0.5, 8.0, 1024.0, 8.0]), ["0.5", "8", "1024"]);
        let many: Vec<f64> = (1..=32).map(f64::from).collect();
        assert_eq!(labels(&Scale::Log2, &many), ["1", "2", "4", "8", "16", "32"]);
        assert_eq!(labels(&Scale::Percent, &[0.0, 98.5, 100.000_001])[5..], ["100"]);
        assert_eq!(labels(&Scale::Percent, &[2.9]).last().unwrap(), "3");
        let ends = |values: &[f64]| {
            let ruler = Ruler::new(&Scale::Percent, values);
            (ruler.low, ruler.high)
        };
        assert_eq!(ends(&[-40.0, 899.0]), (-50.0, 100.0));
        assert_eq!(ends(&[-899.0, -1.0]), (-100.0, 0.0));
        for (scale, last) in [(Scale::Percent, "100"), (Scale::Linear, "1")] {
            for values in [&[0.0][..], &[0.0, 0.0]] {
                let all = labels(&scale, values);
                assert_eq!((all[0].as_str(), all[all.len() - 1].as_str()), ("0", last), "{all:?}");
            }
        }
        assert_eq!(labels(&Scale::Integers, &[0.5, 5.5]), ["1", "2", "3", "4", "5"]);
        assert_eq!(labels(&Scale::Integers, &[1.0, 5.0]), ["1", "2", "3", "4", "5"]);
        assert_eq!(labels(&Scale::Linear, &[0.0, 93.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&Scale::Log10, &[13.1, 16.0]), ["10", "12", "15", "20"]);
        assert_eq!(
            labels(&Scale::LinearFitted, &[1.13, 1.38]),
            ["1.15", "1.2", "1.25", "1.3", "1.35", "1.4"]
        );
        assert_eq!(
            labels(&Scale::Log10, &[12.0, 1e6]),
            ["10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
    }

    #[test]
    fn neighbouring_ticks_never_read_the_same() {
        for low in [0.0, 1.25, 99.9, 12_345.678, -3.0] {
            for span in [3e-5, 0.004, 0.07, 0.3, 1.1, 26.0, 4e6] {
                let labels = labels(&Scale::LinearFitted, &[low, low + span]);
                assert!(labels.len() > 1, "{low} {span}: {labels:?}");
                let distinct: std::collections::HashSet<_> = labels.iter().collect();
                assert_eq!(distinct.len(), labels.len(), "{low} {span}: {labels:?}");
            }
        }
    }

    #[test]
    fn time_has_the_ticks_of_a_clock() {
        let across =
            |unit, high: f64| named(Ruler::across(&Axis::time("Time", unit), &[0.0, high]));
        let (seconds, minutes, hours) = (TimeUnit::Seconds, TimeUnit::Minutes, TimeUnit::Hours);
        assert_eq!(across(minutes, 360.0), ["0", "1 h", "2 h", "3 h", "4 h", "5 h", "6 h"]);
        assert_eq!(across(minutes, 1440.0)[1..3], ["3 h", "6 h"]);
        assert_eq!(across(minutes, 31.0), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(across(seconds, 600.0)[1..3], ["2 min", "4 min"]);
        assert_eq!(across(seconds, 3.0)[1], "0.5");
        assert_eq!(across(hours, 24.0)[1], "3");
        assert_eq!(across(hours, 1e6).len(), 5);
        let by_clock = |ahead_s: f64, high: f64| {
            let clock = vec![ClockTime { from: 0.0, ahead_s }];
            named(Ruler::across(&Axis::time("Time", seconds).by_clock(clock), &[0.0, high]))
        };
        // 2026-11-20 22:10:05 and 2026-11-20 22:10:05.25.
        assert_eq!(by_clock(1_795_212_605.0, 14_400.0)[..3], ["22:30", "23:00", "23:30"]);
        assert_eq!(by_clock(1_795_212_605.0, 14_400.0)[3], "2026-11-21");
        assert_eq!(by_clock(1_795_212_605.25, 12.0)[..2], ["22:10:06", "22:10:08"]);
        assert_eq!(by_clock(1_795_212_605.250_5, 0.004)[..2], ["22:10:05.251", "22:10:05.252"]);
        // The hour from 2:00 occurs twice.
        let clock = vec![
            ClockTime { from: 0.0, ahead_s: 3600.0 },
            ClockTime { from: 7200.0, ahead_s: 0.0 },
        ];
        let axis = Axis::time("Time", seconds).by_clock(clock);
        let twice = named(Ruler::across(&axis, &[0.0, 14_400.0]));
        assert_eq!(twice[1..7], ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"]);
        let words = Axis::new("Time in minutes (min)", Scale::Linear);
        assert_eq!(named(Ruler::across(&words, &[0.0, 360.0]))[1], "100", "words say nothing");
    }
}
