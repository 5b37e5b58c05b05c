//! The rules that say what a sweep found. All are our choice.

use crate::report_notation::number;
use steadfast_domain::ValueRange;

/// Ratio of the variation of reads to the limit for writes from which reads count as unthrottled.
const READS_VARY: f64 = 3.0;

/// Rise of the temperature that counts, in degrees Celsius.
const WARMER: f64 = 3.0;

/// Rates of a level over its rounds, in MB/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRate {
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
}

impl LevelRate {
    /// Returns the rates of these rounds; `None` for fewer than two, whose noise is unknown.
    pub(super) fn new(rates: &[f64]) -> Option<Self> {
        let lowest = rates.iter().copied().reduce(f64::min)?;
        let highest = rates.iter().copied().reduce(f64::max)?;
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        (rates.len() > 1 && mean > 0.0).then_some(LevelRate { mean, lowest, highest })
    }

    /// Returns the range of the rounds as a share of their mean.
    fn noise(self) -> f64 {
        (self.highest - self.lowest) / self.mean
    }
}

/// Returns the share by which two levels must differ to count as different: `least`, or the
/// largest range of a level's rounds.
pub(super) fn tolerance(rates: &[LevelRate], least: f64) -> f64 {
    rates.iter().map(|rate| rate.noise()).fold(least, f64::max)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlignmentFinding {
    /// From this level on, larger alignments are not faster, and the smaller ones are slower.
    Unit(usize),
    /// All are equally fast.
    NoEffect,
    /// The largest alignment is faster than all others: the unit may be larger still.
    Beyond,
    /// A larger alignment is no faster than a smaller one that is slower than the fastest: no unit
    /// explains these rates.
    Unclear,
}

/// Finds the smallest alignment from which the rate no longer rises beyond the tolerance. The
/// levels are in ascending order. All levels from the unit on must be faster than all smaller ones,
/// beyond the tolerance: a single fast level is noise.
pub(super) fn find_unit(rates: &[LevelRate], tolerance: f64) -> Option<AlignmentFinding> {
    let is_enough = |at: usize| {
        let best = rates[at..].iter().map(|rate| rate.mean).fold(0.0, f64::max);
        rates[at].mean >= best * (1.0 - tolerance)
    };
    let first = (0..rates.len()).find(|at| is_enough(*at))?;
    let slowest = rates[first..].iter().map(|rate| rate.mean).fold(f64::INFINITY, f64::min);
    let fastest_smaller = rates[..first].iter().map(|rate| rate.mean).fold(0.0, f64::max);
    Some(match first {
        0 => AlignmentFinding::NoEffect,
        _ if fastest_smaller >= slowest * (1.0 - tolerance) => AlignmentFinding::Unclear,
        first if first + 1 == rates.len() => AlignmentFinding::Beyond,
        first => AlignmentFinding::Unit(first),
    })
}

/// Mean rate of a level relative to that of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRatio {
    pub ratio: f64,
    /// Range of the ratios of their rounds.
    pub range: ValueRange,
    /// True if they differ by more than the tolerance.
    pub is_effect: bool,
}

impl RateRatio {
    pub(super) fn new(rate: LevelRate, reference: LevelRate, tolerance: f64) -> Self {
        let ratio = rate.mean / reference.mean;
        RateRatio {
            ratio,
            range: ValueRange::new(
                rate.lowest / reference.highest,
                rate.highest / reference.lowest,
            ),
            is_effect: ratio.min(1.0 / ratio) < 1.0 - tolerance,
        }
    }

    /// Returns the difference in percent of the larger rate.
    pub(super) fn percent(self) -> String {
        number((1.0 - self.ratio.min(1.0 / self.ratio)) * 100.0, 1)
    }
}

/// Returns the coefficient of variation of the means; `None` for fewer than two levels.
pub(super) fn variation(rates: &[LevelRate]) -> Option<f64> {
    if rates.len() < 2 {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().map(|rate| rate.mean).sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate.mean - mean).powi(2)).sum();
    Some((squares / count).sqrt() / mean)
}

/// Returns true if writes have the same rate whatever the pattern, though reads do not. Writes that
/// are as fast as the fastest reads are limited by the interface.
pub(super) fn is_life_throttled(
    writes: &[LevelRate],
    reads: &[LevelRate],
    limit: f64,
) -> Option<bool> {
    let fastest = |rates: &[LevelRate]| rates.iter().map(|rate| rate.mean).fold(0.0, f64::max);
    let is_below_reads = fastest(writes) < fastest(reads) * (1.0 - limit);
    let (writes, reads) = (variation(writes)?, variation(reads)?);
    Some(writes <= limit && reads >= READS_VARY * limit && is_below_reads)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedStep {
    pub mb_per_second: f64,
    /// Temperature at its end, in degrees Celsius; `None` if unknown.
    pub celsius: Option<f64>,
    /// True if the drive's own counters say that it throttled; `None` if it has none.
    pub throttled: Option<bool>,
    /// True if a counter of thermal throttling rose.
    pub by_heat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThermalFinding {
    /// Steps in which the drive counts thermal throttling are slower than the others.
    Counted,
    /// The same, but the counter counts throttling of any cause.
    AnyCause,
    /// The rate fell while the temperature rose; the drive counts no throttling.
    Warmer,
    /// The rate did not fall for this reason.
    None,
}

/// Says whether the rate falls because the drive is too warm; `None` if it falls and the drive
/// reports neither throttling nor its temperature.
pub(super) fn thermal(steps: &[SustainedStep], tolerance: f64) -> Option<ThermalFinding> {
    let (first, last) = (steps.first()?, steps.last()?);
    let mean = |wanted: &dyn Fn(&SustainedStep) -> bool| {
        let rates: Vec<f64> =
            steps.iter().filter(|step| wanted(step)).map(|step| step.mb_per_second).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let throttled = mean(&|step| step.throttled == Some(true));
    let others = mean(&|step| step.throttled == Some(false));
    let counted = if steps.iter().any(|step| step.by_heat) {
        ThermalFinding::Counted
    } else {
        ThermalFinding::AnyCause
    };
    if let (Some(throttled), Some(others)) = (throttled, others) {
        let is_slower = throttled < others * (1.0 - tolerance);
        return Some(if is_slower { counted } else { ThermalFinding::None });
    }
    let counts = steps.iter().any(|step| step.throttled.is_some());
    let is_warmer = last.celsius.zip(first.celsius).map(|(b, a)| b - a >= WARMER);
    let is_slower = last.mb_per_second < first.mb_per_second * (1.0 - tolerance);
    if !counts && is_slower && is_warmer.is_none() {
        return None;
    }
    Some(match (throttled.is_some(), counts, is_warmer == Some(true) && is_slower) {
        // It throttled from the first step to the last.
        (true, ..) => counted,
        (false, false, true) => ThermalFinding::Warmer,
        _ => ThermalFinding::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(means: &[f64]) -> Vec<LevelRate> {
        means.iter().map(|mean| LevelRate::new(&[mean * 0.99, mean * 1.01]).unwrap()).collect()
    }

    #[test]
    fn the_unit_is_the_smallest_alignment_that_is_as_fast_as_all_larger_ones() {
        let found = |means: &[f64]| find_unit(&rates(means), 0.05).unwrap();
        assert_eq!(found(&[50.0, 60.0, 70.0, 100.0, 101.0, 99.0]), AlignmentFinding::Unit(3));
        assert_eq!(found(&[100.0, 99.0, 101.0]), AlignmentFinding::NoEffect);
        assert_eq!(found(&[50.0, 60.0, 100.0]), AlignmentFinding::Beyond);
        assert_eq!(found(&[50.0, 60.0, 100.0, 80.0]), AlignmentFinding::Unit(2));
        assert_eq!(found(&[60.0, 100.0, 60.0, 70.0]), AlignmentFinding::Unclear);
        assert_eq!(found(&[90.0, 60.0, 100.0]), AlignmentFinding::Beyond);
        assert_eq!(find_unit(&[], 0.05), None);
    }

    #[test]
    fn noise_raises_the_tolerance_and_hides_small_effects() {
        assert_eq!(LevelRate::new(&[1.0]), None);
        let noisy = LevelRate::new(&[90.0, 110.0]).unwrap();
        let exact = LevelRate::new(&[120.0, 120.0]).unwrap();
        assert!((tolerance(&[noisy, exact], 0.05) - 0.2).abs() < 1e-12);
        assert_eq!(tolerance(&[exact], 0.05), 0.05);
        let found = |tolerance| RateRatio::new(exact, noisy, tolerance);
        assert_eq!([0.2, 0.05].map(|tolerance| found(tolerance).is_effect), [false, true]);
        assert_eq!([0.2, 0.05].map(|tolerance| found(tolerance).ratio), [1.2, 1.2]);
        assert_eq!(found(0.2).range, ValueRange::new(120.0 / 110.0, 120.0 / 90.0));
    }

    #[test]
    fn a_life_throttle_holds_writes_and_leaves_reads_alone() {
        let (same, various) = (rates(&[20.0, 20.1, 19.9]), rates(&[500.0, 300.0, 40.0]));
        assert_eq!(is_life_throttled(&same, &various, 0.05), Some(true));
        assert_eq!(is_life_throttled(&various, &various, 0.05), Some(false));
        assert_eq!(is_life_throttled(&same, &same, 0.05), Some(false));
        assert_eq!(is_life_throttled(&same, &[], 0.05), None);
        let by_the_interface = rates(&[500.0, 499.0, 501.0]);
        assert_eq!(is_life_throttled(&by_the_interface, &various, 0.05), Some(false));
    }

    #[test]
    fn a_thermal_throttle_needs_counters_or_a_rising_temperature() {
        let step = |mb_per_second, celsius, throttled| SustainedStep {
            mb_per_second,
            celsius: Some(celsius),
            throttled,
            by_heat: throttled == Some(true),
        };
        let counted = [step(100.0, 40.0, Some(false)), step(60.0, 50.0, Some(true))];
        assert_eq!(thermal(&counted, 0.05), Some(ThermalFinding::Counted));
        let any_cause = counted.map(|step| SustainedStep { by_heat: false, ..step });
        assert_eq!(thermal(&any_cause, 0.05), Some(ThermalFinding::AnyCause));
        let warm = [step(100.0, 40.0, None), step(60.0, 50.0, None)];
        assert_eq!(thermal(&warm, 0.05), Some(ThermalFinding::Warmer));
        // A drive that counts throttling and counted none is slower for another reason.
        let slow = [step(100.0, 40.0, Some(false)), step(60.0, 50.0, Some(false))];
        assert_eq!(thermal(&slow, 0.05), Some(ThermalFinding::None));
        let cool = [step(100.0, 40.0, None), step(60.0, 40.0, None)];
        assert_eq!(thermal(&cool, 0.05), Some(ThermalFinding::None));
        assert_eq!(thermal(&[], 0.05), None);
        let unknown = warm.map(|step| SustainedStep { celsius: None, ..step });
        assert_eq!(thermal(&unknown, 0.05), None);
        assert_eq!(thermal(&[unknown[0]; 2], 0.05), Some(ThermalFinding::None));
    }
}
