//! The rate of a load over the amount that it wrote: its plateaus, and the places at which it
//! drops.

use steadfast_domain::Measurement;
use steadfast_domain::change_points::{ChangeCriteria, change_points};

/// Samples of the shortest first plateau: 4 s (our choice; shorter dips are bursts of housekeeping).
const SHORTEST_PLATEAU: usize = 8;

pub(super) const BINS: usize = 100;

/// Bytes written in a time: of a sample, or from the beginning to a place on the curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateSample {
    pub bytes: f64,
    /// Time in seconds.
    pub seconds: f64,
}

impl RateSample {
    pub(super) fn mb_per_second(&self) -> f64 {
        self.bytes / 1e6 / self.seconds
    }
    fn add(&mut self, other: RateSample) {
        self.bytes += other.bytes;
        self.seconds += other.seconds;
    }
}

pub(super) fn rate_samples(measurement: &Measurement) -> Vec<RateSample> {
    let sample = |interval: &steadfast_domain::measurement::Interval| RateSample {
        bytes: interval.tallies.iter().map(|tally| tally.bytes.0 as f64).sum(),
        seconds: interval.end.saturating_sub(interval.begin).as_secs_f64(),
    };
    measurement.intervals.iter().map(sample).filter(|sample| sample.seconds > 0.0).collect()
}

/// A stretch of constant rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Plateau {
    /// Bytes written before it.
    pub from: f64,
    /// Bytes written until its end.
    pub to: f64,
    /// Length in seconds.
    pub seconds: f64,
}

impl Plateau {
    pub(super) fn mb_per_second(&self) -> f64 {
        (self.to - self.from) / 1e6 / self.seconds
    }

    /// Returns the GB that were written.
    pub(super) fn gigabytes(&self) -> f64 {
        (self.to - self.from) / 1e9
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    pub before: Plateau,
    pub after: Plateau,
}

/// Amount written at full speed again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReturnedAmount {
    /// Bytes written at full speed.
    pub bytes: f64,
    /// True if the rate dropped after them; otherwise more may have returned.
    pub has_dropped: bool,
}

/// The rate of a load over the amount that it wrote.
#[derive(Debug, Clone, Default)]
pub struct WriteCurve {
    pub samples: Vec<RateSample>,
    /// Stretches of constant rate, in order; one if the rate changes nowhere.
    pub plateaus: Vec<Plateau>,
}

impl WriteCurve {
    /// Finds the plateaus of these samples. A change of the rate counts from this share of the
    /// higher rate on.
    pub(super) fn new(samples: Vec<RateSample>, change: f64) -> Self {
        let samples = with_full_ends(samples);
        let rates: Vec<f64> = samples.iter().map(RateSample::mb_per_second).collect();
        let criteria = ChangeCriteria { shortest: SHORTEST_PLATEAU, change };
        let points = change_points(&rates, &criteria);
        let mut places = vec![RateSample::default()];
        for (index, point) in points.iter().enumerate() {
            let begin = if index == 0 { 0 } else { points[index - 1] };
            let end = points.get(index + 1).copied().unwrap_or(samples.len());
            let before = sum(&samples[begin..point - 1]).mb_per_second();
            let after = sum(&samples[point + 1..end]).mb_per_second();
            places.push(place_of_change(&samples, *point, before, after));
        }
        places.push(sum(&samples));
        let between = |pair: &[RateSample]| Plateau {
            from: pair[0].bytes,
            to: pair[1].bytes,
            seconds: pair[1].seconds - pair[0].seconds,
        };
        let plateaus =
            places.windows(2).map(between).filter(|plateau| plateau.seconds > 0.0).collect();
        WriteCurve { samples, plateaus }
    }

    /// Returns the first drop, whose plateau before is the one at full speed; `None` if the rate
    /// drops nowhere.
    pub(super) fn first_cliff(&self) -> Option<Cliff> {
        self.cliffs().next()
    }

    /// Returns every drop of the rate, in order.
    pub(super) fn cliffs(&self) -> impl Iterator<Item = Cliff> {
        let drops = |pair: &&[Plateau]| pair[1].mb_per_second() < pair[0].mb_per_second();
        let pairs = self.plateaus.windows(2).filter(drops);
        pairs.map(|pair| Cliff { before: pair[0], after: pair[1] })
    }

    /// Returns the rate of everything in MB/s; `None` without a sample.
    pub(super) fn mean(&self) -> Option<f64> {
        Some(sum(&self.samples).mb_per_second()).filter(|rate| rate.is_finite())
    }

    /// Returns how much other samples of this drive wrote at the full speed of this curve before
    /// they dropped below the middle between it and the rate after the first cliff. `None`
    /// without a cliff or a sample.
    pub(super) fn returned(&self, samples: &[RateSample]) -> Option<ReturnedAmount> {
        let cliff = self.first_cliff()?;
        let (full, next) = (cliff.before.mb_per_second(), cliff.after.mb_per_second());
        let samples = with_full_ends(samples.to_vec());
        if samples.is_empty() {
            return None;
        }
        // A run of slow samples among fast ones moves the drop only if it is longer than what
        // follows at full speed.
        let middle = (full * next).sqrt();
        let (mut balance, mut highest, mut fast) = (0_i64, 0, 0);
        for (index, sample) in samples.iter().enumerate() {
            balance += if sample.mb_per_second() >= middle { 1 } else { -1 };
            if balance > highest {
                highest = balance;
                fast = index + 1;
            }
        }
        if fast == samples.len() {
            let bytes = samples.iter().map(|sample| sample.bytes).sum();
            return Some(ReturnedAmount { bytes, has_dropped: false });
        }
        let bytes = place_of_change(&samples, fast, full, next).bytes;
        Some(ReturnedAmount { bytes, has_dropped: true })
    }

    /// Returns what each of [`BINS`] equal parts of the amount took; empty without a sample.
    pub(super) fn bins(&self) -> Vec<RateSample> {
        let whole: f64 = self.samples.iter().map(|sample| sample.bytes).sum();
        if whole <= 0.0 {
            return Vec::new();
        }
        let width = whole / BINS as f64;
        let mut bins = vec![RateSample::default(); BINS];
        let mut written = 0.0;
        for sample in &self.samples {
            let mut left = *sample;
            while left.bytes > 0.0 {
                let bin = ((written / width) as usize).min(BINS - 1);
                let room = if bin == BINS - 1 {
                    f64::INFINITY
                } else {
                    (width * (bin + 1) as f64 - written).max(width * 1e-9)
                };
                let bytes = left.bytes.min(room);
                let seconds = left.seconds * bytes / left.bytes;
                bins[bin].add(RateSample { bytes, seconds });
                left = RateSample { bytes: left.bytes - bytes, seconds: left.seconds - seconds };
                written += bytes;
            }
            bins[((written / width) as usize).min(BINS - 1)].seconds += left.seconds;
        }
        bins
    }
}

/// Adds samples that are shorter than half of the longest to the one before: a rate over a short
/// time is noise.
fn with_full_ends(samples: Vec<RateSample>) -> Vec<RateSample> {
    let longest = samples.iter().map(|sample| sample.seconds).fold(0.0, f64::max);
    let mut full: Vec<RateSample> = Vec::with_capacity(samples.len());
    for sample in samples {
        match full.last_mut() {
            Some(last) if sample.seconds < longest / 2.0 => last.add(sample),
            _ => full.push(sample),
        }
    }
    full
}

fn sum(samples: &[RateSample]) -> RateSample {
    let mut whole = RateSample::default();
    samples.iter().for_each(|sample| whole.add(*sample));
    whole
}

/// Returns where the rate changes from `before` to `after`, both in MB/s. Sample `point` is the
/// first at the new rate; the change lies in it or in the one before, which are mixes of both
/// rates.
fn place_of_change(samples: &[RateSample], point: usize, before: f64, after: f64) -> RateSample {
    let first = point.saturating_sub(1);
    let (place, pair) = (sum(&samples[..first]), sum(&samples[first..=point]));
    let seconds = (pair.bytes / 1e6 - after * pair.seconds) / (before - after);
    let seconds = if seconds.is_finite() { seconds.clamp(0.0, pair.seconds) } else { 0.0 };
    let bytes = (seconds * before * 1e6).min(pair.bytes);
    RateSample { bytes: place.bytes + bytes, seconds: place.seconds + seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(parts: &[(f64, f64)]) -> Vec<RateSample> {
        // Half-second samples of plateaus given by amount in MB and rate in MB/s.
        let (mut all, mut open) = (Vec::new(), RateSample::default());
        for (amount, rate) in parts {
            let mut left = *amount;
            while left > 1e-9 {
                let seconds = (left / rate).min(0.5 - open.seconds);
                open.add(RateSample { bytes: seconds * rate * 1e6, seconds });
                left -= seconds * rate;
                if open.seconds > 0.5 - 1e-9 {
                    all.push(std::mem::take(&mut open));
                }
            }
        }
        if open.seconds > 0.0 {
            all.push(open);
        }
        all
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} for {expected}");
    }

    #[test]
    fn plateaus_are_exact_though_no_sample_ends_with_one() {
        let curve = WriteCurve::new(samples(&[(1234.5, 100.0), (777.0, 31.0), (403.0, 9.0)]), 0.2);
        let ends: Vec<f64> = curve.plateaus.iter().map(|plateau| plateau.to / 1e6).collect();
        [1234.5, 2011.5, 2414.5].iter().zip(&ends).for_each(|(place, end)| close(*end, *place));
        let rates: Vec<f64> = curve.plateaus.iter().map(Plateau::mb_per_second).collect();
        [100.0, 31.0, 9.0].iter().zip(&rates).for_each(|(rate, found)| close(*found, *rate));
        assert_eq!(curve.cliffs().count(), 2);
        close(curve.mean().unwrap(), 2414.5 / (12.345 + 777.0 / 31.0 + 403.0 / 9.0));
    }

    #[test]
    fn what_returned_is_written_at_full_speed_again() {
        let curve = WriteCurve::new(samples(&[(1200.0, 100.0), (700.0, 30.0)]), 0.2);
        let returned = |parts: &[(f64, f64)]| curve.returned(&samples(parts)).unwrap().bytes;
        close(returned(&[(431.0, 100.0), (300.0, 30.0)]), 431e6);
        close(returned(&[(70.0, 100.0), (300.0, 30.0)]), 70e6);
        assert!(returned(&[(300.0, 30.0)]) < 1.0);
        let whole = curve.returned(&samples(&[(900.0, 98.0)])).unwrap();
        close(whole.bytes, 900e6);
        assert!(!whole.has_dropped, "more may have returned");
        assert_eq!(curve.returned(&[]), None);
        let flat = WriteCurve::new(samples(&[(900.0, 100.0)]), 0.2);
        assert_eq!(flat.returned(&samples(&[(900.0, 100.0)])), None, "nothing was used up");
    }

    #[test]
    fn bins_have_equal_amounts_and_all_of_the_time() {
        let curve = WriteCurve::new(samples(&[(500.0, 100.0), (500.0, 20.0)]), 0.2);
        let bins = curve.bins();
        assert_eq!(bins.len(), BINS);
        bins.iter().for_each(|bin| close(bin.bytes, 10e6));
        close(bins.iter().map(|bin| bin.seconds).sum(), 30.0);
        close(bins[10].mb_per_second(), 100.0);
        close(bins[99].mb_per_second(), 20.0);
        assert!(WriteCurve::default().bins().is_empty());
    }
}
