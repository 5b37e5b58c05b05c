//! From values to positions along an axis, with ticks that people read.

use crate::number;
use steadfast_domain::findings::Scale;

/// A labelled position, and positions of faint grid lines between them.
pub struct Ticks {
    /// Position from 0 to 1, and label.
    pub labelled: Vec<(f64, String)>,
    /// Positions from 0 to 1.
    pub faint: Vec<f64>,
}

/// An axis over a range of values.
pub struct Ruler {
    logarithmic: bool,
    low: f64,
    high: f64,
    pub ticks: Ticks,
}

impl Ruler {
    /// An axis for these values. Values that a scale cannot show (zero on a
    /// logarithmic one) count as missing.
    pub fn new(scale: &Scale, values: &[f64]) -> Ruler {
        let logarithmic = matches!(scale, Scale::Log10 | Scale::Log2);
        let usable = values.iter().copied().filter(|v| v.is_finite() && (!logarithmic || *v > 0.0));
        let (min, max) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        let (min, max) = if min <= max { (min, max) } else { (1.0, 10.0) };
        match scale {
            Scale::Linear => linear(min.min(0.0), max.max(0.0), 0.0),
            Scale::LinearFitted => linear(min, max, 0.08),
            Scale::Integers => integers(min, max),
            Scale::Log10 => decades(min, max),
            Scale::Log2 => octaves(min, max),
            Scale::Categories(names) => categories(names),
        }
    }

    /// The position of a value from 0 to 1; `None` where the scale has none.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.logarithmic && value <= 0.0) {
            return None;
        }
        Some(self.part(value))
    }

    fn part(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn build(logarithmic: bool, range: (f64, f64), labels: &[f64], faint: &[f64]) -> Ruler {
        let empty = Ticks { labelled: Vec::new(), faint: Vec::new() };
        let mut ruler = Ruler { logarithmic, low: range.0, high: range.1, ticks: empty };
        let inside = |part: &f64| (-1e-9..=1.0 + 1e-9).contains(part);
        let labelled = labels.iter().map(|v| (ruler.part(*v), number::short(*v)));
        let labelled = labelled.filter(|(part, _)| inside(part)).collect();
        let faint = faint.iter().map(|v| ruler.part(*v)).filter(inside).collect();
        ruler.ticks = Ticks { labelled, faint };
        ruler
    }
}

/// 1, 2 or 5 times a power of ten, such that about six of them cover `span`.
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

fn linear(min: f64, max: f64, pad: f64) -> Ruler {
    let span = if max > min { max - min } else { max.abs().max(1.0) * 0.2 };
    let middle = f64::midpoint(min, max);
    let (min, max) = match pad > 0.0 && max <= min {
        true => (middle - span / 2.0, middle + span / 2.0),
        false => (min - span * pad, max + span * pad.max(0.02)),
    };
    let step = nice_step(max - min);
    let low = if pad > 0.0 { min } else { (min / step).floor() * step };
    let first = (low / step).ceil();
    let labels: Vec<f64> =
        (0..20).map(|n| (first + f64::from(n)) * step).take_while(|v| *v <= max + step).collect();
    let high =
        if pad > 0.0 { max } else { labels.iter().copied().find(|v| *v >= max).unwrap_or(max) };
    Ruler::build(false, (low, high), &labels, &[])
}

fn integers(min: f64, max: f64) -> Ruler {
    let (min, max) = (min.floor(), max.ceil());
    let step = if max - min > 20.0 { ((max - min) / 10.0).ceil() } else { 1.0 };
    let labels: Vec<f64> =
        (0..1000).map(|n| min + f64::from(n) * step).take_while(|v| *v <= max).collect();
    Ruler::build(false, (min - 0.4, max + 0.4), &labels, &[])
}

/// The multiples of powers of ten from `low` to `high`.
fn multiples(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .filter(|v| *v >= low * 0.999_999 && *v <= high * 1.000_001)
        .collect()
}

const ONE_TWO_FIVE: [f64; 3] = [1.0, 2.0, 5.0];

fn decades(min: f64, max: f64) -> Ruler {
    let all = multiples(min / 20.0, max * 20.0, &ONE_TWO_FIVE);
    let low = all.iter().copied().rev().find(|v| *v <= min * 0.97).unwrap_or(min);
    let high = all.iter().copied().find(|v| *v >= max * 1.03).unwrap_or(max);
    let few = (high / low).log10() <= 2.5;
    let labels =
        if few { multiples(low, high, &ONE_TWO_FIVE) } else { multiples(low, high, &[1.0]) };
    let faint = multiples(low, high, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    Ruler::build(true, (low, high), &labels, &faint)
}

fn octaves(min: f64, max: f64) -> Ruler {
    let (first, last) = (min.log2().floor() as i32, max.log2().ceil() as i32);
    let labels: Vec<f64> = (first..=last.max(first + 1)).map(|n| 2f64.powi(n)).collect();
    let range = (min / 1.3, max.max(min * 2.0) * 1.3);
    Ruler::build(true, range, &labels, &[])
}

fn categories(names: &[String]) -> Ruler {
    let count = names.len().max(1) as f64;
    let labelled = names
        .iter()
        .enumerate()
        .map(|(index, name)| ((index as f64 + 0.5) / count, name.clone()))
        .collect();
    let ticks = Ticks { labelled, faint: Vec::new() };
    Ruler { logarithmic: false, low: -0.5, high: count - 0.5, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, values: &[f64]) -> Vec<String> {
        Ruler::new(scale, values).ticks.labelled.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn every_value_lies_inside_its_axis() {
        let sets: [&[f64]; 6] =
            [&[0.5, 1024.0], &[3.0], &[0.0], &[90.0, 110.0], &[1e-9, 1e12], &[]];
        for scale in
            [Scale::Linear, Scale::LinearFitted, Scale::Integers, Scale::Log10, Scale::Log2]
        {
            for values in sets {
                let ruler = Ruler::new(&scale, values);
                for value in values {
                    let Some(part) = ruler.place(*value) else { continue };
                    assert!((0.0..=1.0).contains(&part), "{scale:?} {value}: {part}");
                }
                assert!(ruler.place(f64::NAN).is_none());
            }
        }
    }

    #[test]
    fn labels_are_round() {
        assert_eq!(labels(&Scale::Log2, &[0.5, 8.0]), ["0.5", "1", "2", "4", "8"]);
        assert_eq!(labels(&Scale::Integers, &[1.0, 5.0]), ["1", "2", "3", "4", "5"]);
        assert_eq!(labels(&Scale::Linear, &[0.0, 93.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(
            labels(&Scale::Log10, &[12.0, 1e6]),
            ["10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
    }
}
