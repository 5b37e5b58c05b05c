//! Rates at which I/Os are offered to a device, whether or not earlier ones have completed.

use crate::measurement::Measurement;
use crate::notation::DEMAND_MAX;
use crate::serde_text::serde_text;
use crate::start_error::START_ERROR_LIMIT;
use crate::step::Load;
use crate::stimulus::{IoStream, Op, Pace};
use crate::tally::Tally;
use crate::text::excerpt;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Period in which the I/Os of a pace are counted: a rate is kept to a thousandth of an I/O per
/// second.
const PERIOD: Nanos = Nanos::from_secs(1000);

/// Twice the largest difference in I/Os per second between a rate and its pace.
const RATE_ROUNDING: f64 = 0.001;

/// Squared coefficient of variation of numbers that are uniform from 0.
const UNIFORM_CV2: f64 = 1.0 / 3.0;

/// Highest rate of one thread, in I/Os per second (our choice: more than one thread can issue).
pub const THREAD_RATE_MAX: f64 = 1e6;

/// An offered rate.
///
/// ```
/// use steadfast_domain::rate::OfferedRate;
/// assert_eq!("20000".parse(), Ok(OfferedRate::Iops(20_000.0)));
/// assert_eq!("150MB/s".parse(), Ok(OfferedRate::MegabytesPerSecond(150.0)));
/// assert!("0".parse::<OfferedRate>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(description = "An offered rate, such as `20000 IOPS` or `150 MB/s`.")]
pub enum OfferedRate {
    /// I/Os per second.
    Iops(f64),
    /// MB (10^6 bytes) per second.
    MegabytesPerSecond(f64),
}

/// Times at which I/Os arrive at a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At random, independently of one another: exponential gaps.
    #[default]
    Poisson,
    /// Evenly spaced.
    Fixed,
}

/// A rate at which a run offers its I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedLoad {
    /// The rate.
    pub rate: OfferedRate,
    /// Times at which I/Os arrive at that rate.
    #[serde(default)]
    pub arrivals: Arrivals,
}

impl fmt::Display for OfferedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrivals = match self.arrivals {
            Arrivals::Poisson => "at random times",
            Arrivals::Fixed => "evenly spaced",
        };
        write!(f, "{}, {arrivals}", self.rate)
    }
}

/// Error for a text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a rate of at least 0.001 IOPS or 1 kB/s; write it like 20000, 20000iops, 500kB/s, \
     150MB/s or 2GB/s (decimal units)",
    excerpt(.0)
)]
pub struct RateError(String);

impl FromStr for OfferedRate {
    type Err = RateError;
    fn from_str(text: &str) -> Result<Self, RateError> {
        let lower = text.trim().to_ascii_lowercase();
        let number = |digits: &str| digits.trim().parse::<f64>().ok();
        let rate = if let Some(digits) = lower.strip_suffix("kb/s") {
            // Multiplied by 0.001 it would not be exact.
            number(digits).map(|rate| OfferedRate::MegabytesPerSecond(rate / 1000.0))
        } else if let Some(digits) = lower.strip_suffix("mb/s") {
            number(digits).map(OfferedRate::MegabytesPerSecond)
        } else if let Some(digits) = lower.strip_suffix("gb/s") {
            number(digits).map(|rate| OfferedRate::MegabytesPerSecond(rate * 1000.0))
        } else {
            number(lower.strip_suffix("iops").unwrap_or(&lower)).map(OfferedRate::Iops)
        };
        let is_valid = |rate: &OfferedRate| match rate {
            OfferedRate::Iops(rate) | OfferedRate::MegabytesPerSecond(rate) => {
                *rate >= 0.001 && rate.is_finite()
            }
        };
        rate.filter(is_valid).ok_or_else(|| RateError(text.to_owned()))
    }
}

serde_text!(OfferedRate);

impl fmt::Display for OfferedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfferedRate::Iops(rate) => write!(f, "{rate} IOPS"),
            OfferedRate::MegabytesPerSecond(rate) => write!(f, "{rate} MB/s"),
        }
    }
}

impl OfferedRate {
    /// Returns the rate in I/Os per second for I/Os drawn from these streams; `None` if they move
    /// no bytes and the rate is in bytes.
    pub fn iops(self, streams: &[IoStream]) -> Option<f64> {
        match self {
            OfferedRate::Iops(rate) => Some(rate),
            OfferedRate::MegabytesPerSecond(rate) => {
                let size = |s: &IoStream| if s.op == Op::Flush { 0.0 } else { s.size.0 as f64 };
                let weight: f64 = streams.iter().map(|s| f64::from(s.weight)).sum();
                let bytes: f64 = streams.iter().map(|s| f64::from(s.weight) * size(s)).sum();
                (bytes > 0.0).then(|| rate * 1e6 * weight / bytes)
            }
        }
    }

    /// Returns the pace of a load of these streams by `threads` threads.
    ///
    /// # Errors
    /// A sentence, if the rate is less than an I/O in 1,000 s or more than the threads can issue.
    pub fn pace(
        self,
        streams: &[IoStream],
        threads: u32,
        arrivals: Arrivals,
    ) -> Result<Pace, String> {
        let iops = self.iops(streams).ok_or("the load moves no bytes: give a rate in IOPS")?;
        if iops > THREAD_RATE_MAX * f64::from(threads) {
            let needed = (iops / THREAD_RATE_MAX).ceil();
            if needed > f64::from(DEMAND_MAX) {
                return Err(format!(
                    "{self} is more than {DEMAND_MAX} threads can issue ({THREAD_RATE_MAX} IOPS \
                     a thread): give a lower rate"
                ));
            }
            return Err(format!(
                "{self} is more than T{threads} can issue ({THREAD_RATE_MAX} IOPS a thread): \
                 use {needed} threads (T{needed}Q32)"
            ));
        }
        let ios = (iops * PERIOD.as_secs_f64()).round() as u64;
        if ios == 0 {
            return Err(format!("{self} is less than one I/O in {PERIOD}"));
        }
        Ok(match arrivals {
            Arrivals::Poisson => Pace::poisson(iops),
            Arrivals::Fixed => Pace::Fixed { ios, per: PERIOD },
        })
    }
}

impl Pace {
    /// Returns random arrivals at this many I/Os per second, at least one in 1,000 s.
    pub fn poisson(iops: f64) -> Self {
        let ios = (iops * PERIOD.as_secs_f64()).round().max(1.0) as u64;
        Pace::Poisson { ios, per: PERIOD }
    }
    /// Returns a pace for each stream of a load, at `iops_of_one` times its weight: its own pace at
    /// that rate, or random arrivals if it has none. A stream that was active in a part of a capture
    /// has a higher rate of its own, and would otherwise have too many I/Os.
    pub fn by_stream<'a>(
        streams: impl Iterator<Item = (Option<&'a Pace>, u32)>,
        iops_of_one: f64,
    ) -> Self {
        let pace = |(own, weight): (Option<&Pace>, u32)| {
            let iops = iops_of_one * f64::from(weight);
            own.map_or_else(|| Pace::poisson(iops), |own| own.with_rate(iops))
        };
        Pace::ByStream(streams.map(pace).collect())
    }
    /// Returns the same kind of arrivals at this many I/Os per second, at least one in 1,000 s.
    /// Measured distributions get other pauses, or where that does not suffice other gaps, too.
    fn with_rate(&self, iops: f64) -> Self {
        match self {
            Pace::Fixed { .. } => {
                let ios = (iops * PERIOD.as_secs_f64()).round().max(1.0) as u64;
                Pace::Fixed { ios, per: PERIOD }
            }
            Pace::Poisson { .. } => Pace::poisson(iops),
            Pace::Empirical(arrivals) => {
                let gap_ns = 1e9 / iops.max(1.0 / PERIOD.as_secs_f64());
                let paused = arrivals.with_pauses_for_mean_gap_ns(gap_ns);
                let is_reached = (paused.mean_gap_ns() / gap_ns - 1.0).abs() < 1e-3;
                let slowed = || arrivals.with_mean_gap_ns(gap_ns);
                Pace::Empirical(Box::new(if is_reached { paused } else { slowed() }))
            }
            Pace::Closed | Pace::Burst { .. } | Pace::ByStream(_) => self.clone(),
        }
    }
    /// Returns the offered rate in I/Os per second; `None` if the load has none of its own.
    pub fn offered_iops(&self) -> Option<f64> {
        match self {
            Pace::Closed | Pace::Burst { .. } => None,
            Pace::Fixed { ios, per } | Pace::Poisson { ios, per } => {
                Some(*ios as f64 / per.as_secs_f64())
            }
            Pace::Empirical(arrivals) => Some(1e9 / arrivals.mean_gap_ns()),
            Pace::ByStream(paces) => paces.iter().map(Pace::offered_iops).sum(),
        }
    }
    /// Returns the pace of the same rate for a format that knows no measured distributions: even
    /// arrivals if the gaps vary less than those drawn uniformly from 0, otherwise random ones.
    /// Other paces are unchanged.
    pub fn without_distributions(&self) -> Pace {
        let Pace::Empirical(arrivals) = self else { return self.clone() };
        let random = Pace::poisson(1e9 / arrivals.mean_gap_ns());
        match random {
            Pace::Poisson { ios, per } if arrivals.gap_cv2() < UNIFORM_CV2 => {
                Pace::Fixed { ios, per }
            }
            random => random,
        }
    }
    /// Returns the variance of the number of I/Os offered in a long time: 0 if they are evenly spaced
    /// or follow completions, their mean number if they arrive at random.
    fn count_variance(&self, seconds: f64) -> f64 {
        let offered = self.offered_iops().unwrap_or_default() * seconds;
        match self {
            Pace::Closed | Pace::Burst { .. } | Pace::Fixed { .. } => 0.0,
            Pace::Poisson { .. } => offered,
            Pace::Empirical(arrivals) => offered * arrivals.count_dispersion(),
            // An even stream is joined at a random moment: by chance it has one I/O more or less.
            Pace::ByStream(paces) => {
                paces.iter().map(|pace| pace.count_variance(seconds).max(0.25)).sum()
            }
        }
    }
}

impl Measurement {
    /// Returns the I/Os of the load's own streams, without the flushes that follow its writes.
    pub fn drawn_ios(&self) -> u64 {
        let all: u64 = self.streams.iter().map(|stream| stream.tally.ios).sum();
        all - self.writes_alone.as_ref().map_or(0, |_| self.direction(Op::Flush).ios)
    }
    /// Returns true if a load with this pace kept up with its rate; see
    /// [`Measurement::kept_up_below`], without a known maximum.
    pub fn kept_up(&self, pace: &Pace) -> Option<bool> {
        self.kept_up_below(pace, None)
    }
    /// Returns true if a load with this pace completed as many I/Os as were offered; `None` if it
    /// has no rate. May be missing: 1 % of the I/Os and, of arrivals that are drawn, three standard
    /// deviations of their number. If `maximum`, the I/Os per second that the device completed in
    /// a closed loop of the same load, is known and not above the rate, only 0.1 % may be missing: a
    /// step too short for its queue to show would otherwise pass. All of this is our rule
    /// (docs/procedures/load-curve.md).
    pub fn kept_up_below(&self, pace: &Pace, maximum: Option<f64>) -> Option<bool> {
        let rate = pace.offered_iops()?;
        let seconds = self.elapsed.as_secs_f64();
        let offered = rate * seconds;
        let missing = if maximum.is_some_and(|maximum| rate >= maximum - RATE_ROUNDING) {
            0.001 * offered
        } else {
            0.01 * offered + 3.0 * pace.count_variance(seconds).sqrt()
        };
        // Writes that are written and wait for their flush have kept up.
        let writes = self.direction(Op::Write).ios;
        let written = self.writes_alone.as_ref().map_or(writes, |alone| alone.ios.max(writes));
        let done = (self.drawn_ios() + written - writes) as f64;
        Some(done + 1.0 >= offered - missing)
    }

    /// Returns true if the 99 % start error of a step is more than [`START_ERROR_LIMIT`] of the
    /// mean response time of its paced loads: the response times are then those of the program as
    /// well as of the device.
    pub fn has_high_start_error(&self, load: &Load) -> bool {
        let p99 = self.start_error.as_ref().and_then(|error| error.p99());
        let mean = self.paced_total(load).response_mean();
        p99.zip(mean).is_some_and(|(p99, mean)| p99.0 as f64 > mean.0 as f64 * START_ERROR_LIMIT)
    }

    /// Returns the tally of the I/Os that had due times: in a step of several loads, those of the
    /// paced ones.
    fn paced_total(&self, load: &Load) -> Tally {
        if self.parts.is_empty() {
            return self.total();
        }
        let mut sum = Tally::default();
        for (stimulus, measured) in load.stimuli().iter().zip(self.concurrent_loads()) {
            if stimulus.pace != Pace::Closed {
                let counted = measured.streams.iter().filter(|stream| stream.op != Op::Flush);
                counted.for_each(|stream| sum.merge(&stream.tally));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{CoarseHistogram, FineHistogram};
    use crate::measurement::{LoadPart, StreamTally};
    use crate::notation::AccessPattern;
    use crate::start_error::StartError;
    use crate::stimulus::{ActiveRange, Demand, LoadLimits, Stimulus};
    use crate::units::Bytes;

    #[test]
    fn a_rate_in_bytes_is_divided_by_the_mean_size() {
        let streams = "RND 4K RW50".parse::<AccessPattern>().unwrap().streams();
        let rate: OfferedRate = "40.96 MB/s".parse().unwrap();
        assert_eq!(rate.iops(&streams), Some(10_000.0));
        let pace = rate.pace(&streams, 1, Arrivals::Fixed).unwrap();
        assert_eq!(pace, Pace::Fixed { ios: 10_000_000, per: PERIOD });
        assert_eq!(pace.offered_iops(), Some(10_000.0));
        let most = OfferedRate::Iops(THREAD_RATE_MAX * f64::from(DEMAND_MAX));
        assert!(most.pace(&streams, 1, Arrivals::Fixed).unwrap_err().contains("T65536Q32"));
        let more = OfferedRate::Iops(THREAD_RATE_MAX * f64::from(DEMAND_MAX) + 1.0);
        let refusal = more.pace(&streams, DEMAND_MAX, Arrivals::Fixed).unwrap_err();
        assert!(!refusal.contains("T65537"), "no such demand: {refusal}");
    }

    #[test]
    fn a_rate_parses_as_it_prints() {
        for text in ["20000", "0.5 IOPS", "150MB/s", "33.3 mb/s", "2.5GB/s", "100 kB/s"] {
            let rate: OfferedRate = text.parse().unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate), "{text}");
        }
        for (text, rate) in [("20GB/s", 20_000.0), ("150MB/s", 150.0), ("300kB/s", 0.3)] {
            assert_eq!(text.parse(), Ok(OfferedRate::MegabytesPerSecond(rate)));
        }
        for text in [
            "", "0", "-5", "nan", "inf", "1e-9", "0.0005", "20k", "5 GB", "20MiB/s", "-1GB/s",
            "0MB/s", "kB/s", "0.5kB/s",
        ] {
            assert!(text.parse::<OfferedRate>().is_err(), "{text}");
        }
    }

    #[test]
    fn writes_that_wait_for_their_flush_have_kept_up() {
        let tally = |ios| Tally { ios, ..Tally::default() };
        let measured = |commits, written| Measurement {
            elapsed: Nanos::from_secs(10),
            streams: vec![
                StreamTally { op: Op::Write, tally: tally(commits) },
                StreamTally { op: Op::Flush, tally: tally(15) },
            ],
            writes_alone: Some(tally(written)),
            ..Measurement::default()
        };
        let pace = Pace::Fixed { ios: 100, per: Nanos::SECOND };
        assert_eq!(measured(960, 1000).drawn_ios(), 960);
        assert_eq!(measured(960, 1000).kept_up(&pace), Some(true));
        assert_eq!(measured(960, 980).kept_up(&pace), Some(false));
        assert_eq!(measured(960, 1000).kept_up(&Pace::Closed), None);
    }

    /// 100 random I/Os per second for 10 s: 1000 offered, of which 10 + 95 may be missing; 1 if the
    /// device is known to do less, even if only a little.
    #[test]
    fn at_the_closed_loop_maximum_a_thousandth_may_be_missing() {
        let measured = |ios| Measurement {
            elapsed: Nanos::from_secs(10),
            streams: vec![StreamTally { op: Op::Read, tally: Tally { ios, ..Tally::default() } }],
            ..Measurement::default()
        };
        let pace = Pace::poisson(100.0);
        for (maximum, fewest) in
            [(None, 895), (Some(101.0), 895), (Some(100.0), 998), (Some(99.9), 998)]
        {
            assert_eq!(measured(fewest).kept_up_below(&pace, maximum), Some(true), "{maximum:?}");
            let missed = measured(fewest - 1).kept_up_below(&pace, maximum);
            assert_eq!(missed, Some(false), "{maximum:?}");
        }
        assert_eq!(measured(1000).kept_up_below(&Pace::Closed, Some(1.0)), None);
    }

    #[test]
    fn a_rate_beyond_the_threads_is_refused() {
        let streams = "RND 4K R".parse::<AccessPattern>().unwrap().streams();
        let rate: OfferedRate = "1500000IOPS".parse().unwrap();
        assert!(rate.pace(&streams, 1, Arrivals::Poisson).unwrap_err().contains("T2Q32"));
        assert!(rate.pace(&streams, 2, Arrivals::Poisson).is_ok());
    }

    /// Returns this many start errors of this length.
    fn start_errors(ns: u64, ios: u64) -> StartError {
        StartError { max: Nanos(ns), histogram: CoarseHistogram::from_counts([(ns, ios)]) }
    }

    /// A victim with a rate, mean 1 ms, and a closed offender, mean 100 ms: the limit is 0.1 ms.
    #[test]
    fn the_limit_is_a_share_of_the_response_times_of_the_paced_loads() {
        let load = |pace| {
            let streams = "RND 4K R".parse::<AccessPattern>().unwrap().streams();
            let range = ActiveRange::new(Bytes(0), Bytes::mib(1));
            Stimulus::new(streams, range, Demand::new(1, 1), LoadLimits::ios(1)).pace(pace)
        };
        let together = Load::Together(vec![load(Pace::poisson(1000.0)), load(Pace::Closed)]);
        let stream = |ios, mean_us: u64| StreamTally {
            op: Op::Read,
            tally: Tally {
                ios,
                response_sum: Nanos(ios * mean_us * 1000),
                histogram: FineHistogram::from_counts([(mean_us * 1000, ios)]),
                ..Tally::default()
            },
        };
        let part = LoadPart { streams: 1, elapsed: Nanos::SECOND };
        let measured = |error_us: u64| Measurement {
            elapsed: Nanos::SECOND,
            streams: vec![stream(1000, 1000), stream(1000, 100_000)],
            parts: vec![part, part],
            start_error: Some(Box::new(start_errors(error_us * 1000, 1100))),
            ..Measurement::default()
        };
        assert!(measured(101).has_high_start_error(&together));
        assert!(!measured(99).has_high_start_error(&together));
        assert!(!Measurement::default().has_high_start_error(&together));
    }
}
