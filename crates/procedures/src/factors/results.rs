//! Results of factors: the rate of every level, and what each sweep found.

use super::rules::{
    self, AlignmentFinding, LevelRate, RateRatio, SustainedStep, ThermalFinding, is_life_throttled,
    tolerance,
};
use super::setup::{Factor, FactorLevel, Factors, SUSTAINED};
use crate::report_notation::number;
use steadfast_domain::{Measurement, Record};

pub struct FactorsResults<'a> {
    pub levels: Vec<MeasuredLevel<'a>>,
    pub sustained: Vec<SustainedStep>,
    /// Share by which rates must differ at least.
    change: f64,
    throttle_variation: f64,
}

pub struct MeasuredLevel<'a> {
    pub level: &'a FactorLevel,
    /// Steps without a gap before them.
    pub steps: Vec<&'a Measurement>,
    /// Rate over its rounds; `None` for fewer than two.
    pub rate: Option<LevelRate>,
}

impl<'a> FactorsResults<'a> {
    pub fn new(test: &'a Factors, record: &'a Record) -> Self {
        let levels = Factor::ALL.into_iter().flat_map(|factor| test.levels(factor));
        let levels = levels.map(|level| {
            let of_level = record.steps().filter(|(step, outcome)| {
                let place = &step.place;
                (place.phase.as_str(), place.point) == (level.factor.id(), level.point)
                    && outcome.gap_before.is_none()
            });
            let steps: Vec<&Measurement> =
                of_level.map(|(_, outcome)| &outcome.measurement).collect();
            let rates: Vec<f64> = steps.iter().filter_map(|step| step.mb_per_second()).collect();
            MeasuredLevel { level, rate: LevelRate::new(&rates), steps }
        });
        let sustained = record.steps().filter(|(step, outcome)| {
            step.place.phase == SUSTAINED && outcome.gap_before.is_none()
        });
        FactorsResults {
            levels: levels.collect(),
            sustained: sustained
                .filter_map(|(_, outcome)| sustained_step(&outcome.measurement))
                .collect(),
            change: test.change,
            throttle_variation: test.throttle_variation,
        }
    }

    pub fn levels_of(&self, factor: Factor) -> Vec<&MeasuredLevel<'a>> {
        self.levels.iter().filter(|measured| measured.level.factor == factor).collect()
    }

    /// Returns the rates of the levels of a factor; `None` unless all were measured, and there are
    /// two or more.
    fn rates(&self, factor: Factor) -> Option<Vec<LevelRate>> {
        let rates: Option<Vec<LevelRate>> =
            self.levels_of(factor).iter().map(|measured| measured.rate).collect();
        rates.filter(|rates| rates.len() > 1)
    }

    /// Returns the finding on alignment, and the level of the unit if it was found.
    pub fn alignment(&self) -> Option<AlignmentFinding> {
        let rates = self.rates(Factor::Alignment)?;
        rules::find_unit(&rates, tolerance(&rates, self.change))
    }

    /// Returns the indirection unit in bytes; `None` if it was not found.
    pub fn indirection_unit(&self) -> Option<f64> {
        match self.alignment()? {
            AlignmentFinding::Unit(at) => Some(self.levels_of(Factor::Alignment)[at].level.x),
            _ => None,
        }
    }

    /// Returns the rate at the lowest level of a factor relative to that at its highest.
    pub fn lowest_to_highest(&self, factor: Factor) -> Option<RateRatio> {
        let rates = self.rates(factor)?;
        let levels = self.levels_of(factor);
        let lowest = levels.iter().min_by(|a, b| a.level.x.total_cmp(&b.level.x))?.rate?;
        let highest = levels.iter().max_by(|a, b| a.level.x.total_cmp(&b.level.x))?.rate?;
        Some(RateRatio::new(lowest, highest, tolerance(&rates, self.change)))
    }

    /// Returns the rates of the writes, purged and preconditioned, or of the reads of the sweeps
    /// over access patterns; `None` unless all were measured.
    fn pattern_rates(&self, reads: bool) -> Option<Vec<LevelRate>> {
        let sweeps = [Factor::FreshPattern, Factor::Pattern].map(|factor| self.levels_of(factor));
        let of_kind = sweeps.iter().flatten().filter(|measured| measured.level.is_read() == reads);
        of_kind.map(|measured| measured.rate).collect()
    }

    /// Returns the coefficient of variation of the MB/s of the writes or the reads over the access
    /// patterns.
    fn pattern_variation(&self, reads: bool) -> Option<f64> {
        rules::variation(&self.pattern_rates(reads)?)
    }

    /// Returns true if the rate of writes is limited whatever their pattern; `None` if unknown.
    pub fn is_life_throttled(&self) -> Option<bool> {
        let (writes, reads) = (self.pattern_rates(false)?, self.pattern_rates(true)?);
        is_life_throttled(&writes, &reads, self.throttle_variation)
    }

    /// Returns the mean rate of writes over the access patterns, in MB/s, if it is limited.
    pub fn life_throttle_rate(&self) -> Option<f64> {
        let writes = self.pattern_rates(false)?;
        let sum: f64 = writes.iter().map(|rate| rate.mean).sum();
        self.is_life_throttled()?.then(|| sum / writes.len() as f64)
    }

    pub fn thermal(&self) -> Option<ThermalFinding> {
        rules::thermal(&self.sustained, self.change)
    }

    /// Returns the number of sustained steps in which the drive counted throttling; `None` if it
    /// counts none.
    pub fn throttled_steps(&self) -> Option<u64> {
        let counted: Option<Vec<bool>> = self.sustained.iter().map(|step| step.throttled).collect();
        let counted = counted.filter(|counted| !counted.is_empty())?;
        Some(counted.into_iter().filter(|throttled| *throttled).count() as u64)
    }

    /// Returns the sentence that says what a sweep found; `None` if it is not measured.
    pub fn sentence(&self, factor: Factor) -> Option<String> {
        let rates = self.rates(factor)?;
        let percent = number(tolerance(&rates, self.change) * 100.0, 1);
        let found = self.lowest_to_highest(factor)?;
        let (ratio, times) = (found.ratio, number(found.ratio, 2));
        Some(match factor {
            Factor::Alignment => self.alignment_sentence(&percent)?,
            Factor::FreshPattern => return None,
            Factor::Pattern => return self.throttle_sentence(),
            _ if !found.is_effect => {
                let difference =
                    format!("the first and the last level differ by {} %", found.percent());
                self.no_effect(&difference, &rates)
            }
            Factor::FreshEntropy | Factor::Entropy if ratio > 1.0 => format!(
                "The drive compresses: the least random data are written {times} times as fast as \
                 the most random."
            ),
            Factor::FreshEntropy | Factor::Entropy => format!(
                "The least random data are written {times} times as fast as the most random, which \
                 is no compression."
            ),
            Factor::Randomness => {
                format!("The least random writes are {times} times as fast as the most random.")
            }
            Factor::Used => format!(
                "The smallest used capacity is written {times} times as fast as the largest."
            ),
        })
    }

    /// Returns the sentence about a factor without an effect: how far its levels differ, and from
    /// where on that counts.
    fn no_effect(&self, difference: &str, rates: &[LevelRate]) -> String {
        let tolerance = tolerance(rates, self.change);
        let percent = number(tolerance * 100.0, 1);
        if tolerance > self.change {
            format!(
                "No effect beyond the noise: {difference}, rounds of a level by up to {percent} %."
            )
        } else {
            format!("No effect: {difference}; less than {percent} % does not count.")
        }
    }

    fn alignment_sentence(&self, percent: &str) -> Option<String> {
        let levels = self.levels_of(Factor::Alignment);
        Some(match self.alignment()? {
            AlignmentFinding::Unit(at) => format!(
                "The indirection unit is {}: from this alignment on, rates rise by no more than \
                 {percent} %.",
                levels[at].level.name
            ),
            AlignmentFinding::NoEffect => {
                let smallest = levels.first()?.rate?;
                let rates = self.rates(Factor::Alignment)?;
                let fastest = rates.iter().copied().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
                let faster = number((fastest.mean / smallest.mean - 1.0) * 100.0, 1);
                let difference =
                    format!("the fastest alignment exceeds the smallest by {faster} %");
                self.no_effect(&difference, &rates)
            }
            AlignmentFinding::Unclear => format!(
                "The indirection unit was not found: rates do not rise with the alignment up to a \
                 level that all larger ones keep, beyond the noise of {percent} %."
            ),
            AlignmentFinding::Beyond => format!(
                "The largest alignment, {}, is faster than all others: the indirection unit is \
                 that or larger.",
                levels.last()?.level.name
            ),
        })
    }

    /// Returns which throttles were found, such as `No life throttle; no thermal throttle`; `None`
    /// if the sweep is not measured.
    pub fn throttles(&self) -> Option<String> {
        self.is_life_throttled()?;
        let life = match self.life_throttle_rate() {
            Some(rate) => format!("Life throttle: all writes have {} MB/s", number(rate, 1)),
            None => "No life throttle".to_owned(),
        };
        let thermal = match self.thermal() {
            Some(ThermalFinding::Counted) => {
                "thermal throttle where the drive counts time of thermal management (SMART log)"
            }
            Some(ThermalFinding::AnyCause) => {
                "a throttle where the OCP log counts throttling, which may have any cause"
            }
            Some(ThermalFinding::Warmer) => {
                "slower as the drive became warmer, perhaps a thermal throttle"
            }
            Some(ThermalFinding::None) => "no thermal throttle",
            None => "thermal throttle unknown",
        };
        Some(format!("{life}; {thermal}"))
    }

    fn throttle_sentence(&self) -> Option<String> {
        let percent = |reads: bool| {
            let share = self.pattern_variation(reads);
            share.map_or("–".to_owned(), |share| number(share * 100.0, 1))
        };
        Some(format!(
            "{}. Over the patterns, purged and preconditioned, the MB/s of writes vary by {} %, \
             those of reads by {} % (coefficients of variation).",
            self.throttles()?,
            percent(false),
            percent(true)
        ))
    }
}

fn sustained_step(measurement: &Measurement) -> Option<SustainedStep> {
    let log = measurement.sensed.log.as_ref();
    let counts = log.and_then(|log| match (log.throttle_events, log.throttle_seconds) {
        (None, None) => None,
        (events, seconds) => Some(events.unwrap_or(0) + seconds.unwrap_or(0) > 0),
    });
    Some(SustainedStep {
        mb_per_second: measurement.mb_per_second()?,
        celsius: measurement.sensed.temperature_celsius,
        throttled: counts,
        by_heat: log.and_then(|log| log.throttle_seconds).is_some_and(|seconds| seconds > 0),
    })
}
