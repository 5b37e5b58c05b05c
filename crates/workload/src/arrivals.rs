//! Arrival processes of captured I/Os: evenly spaced, at random, or in bursts.
//!
//! The process is chosen by the squared coefficient of variation of the gaps between arrivals, the
//! variance divided by the square of the mean. It is 0 for even gaps and 1 for a Poisson process
//! (D. R. Cox and P. A. W. Lewis, "The Statistical Analysis of Series of Events", 1966). The index
//! of dispersion for counts, the variance of the number of arrivals per window divided by its mean,
//! is 1 for a Poisson process in every window; above 1, the rate itself changes (R. Gusella,
//! "Characterizing the Variability of Arrival Processes with Indexes of Dispersion", 1991). It is
//! only reported and does not affect the choice.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::Nanos;
use steadfast_domain::stimulus::Pace;

/// Squared coefficient of variation below which gaps count as even (our choice; gaps uniformly
/// distributed from 0 have 1/3).
const FIXED_BELOW: f64 = 0.25;
/// Squared coefficient of variation from which arrivals count as bursts (our choice).
const BURSTS_FROM: f64 = 2.0;
/// Minimum number of gaps needed to choose a process.
pub const GAPS_MIN: u64 = 100;
/// Mean number of arrivals in a window of the index of dispersion.
const PER_WINDOW: u64 = 100;
/// Minimum number of windows of an index of dispersion.
const WINDOWS_MIN: u64 = 10;
/// Period in which the I/Os of evenly spaced arrivals are counted.
const PERIOD: Nanos = Nanos::from_secs(1000);

/// Kind of an arrival process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalKind {
    /// Evenly spaced.
    Fixed,
    /// At random, independently of one another.
    Poisson,
    /// Several at once, then a pause.
    Bursts,
}

/// An arrival process with the figures by which it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalProcess {
    /// The kind.
    pub process: ArrivalKind,
    /// Mean number of I/Os per second.
    pub iops: f64,
    /// Squared coefficient of variation of the gaps.
    pub gap_cv2: f64,
    /// Index of dispersion for counts in windows of 100 mean gaps; absent if there are fewer than
    /// ten windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_dispersion: Option<f64>,
    /// Mean number of I/Os of a burst; present for bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ios: Option<f64>,
    /// Squared coefficient of variation of the number of I/Os of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_cv2: Option<f64>,
    /// Mean pause in nanoseconds, from the completion of a burst's last I/O to the next burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<f64>,
    /// Squared coefficient of variation of the pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_cv2: Option<f64>,
}

/// Arrival processes of a capture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapturedArrivals {
    /// All I/Os together; `None` if unknown.
    pub all: Option<ArrivalProcess>,
    /// I/Os of single streams.
    pub by_stream: BTreeMap<StreamKey, ArrivalProcess>,
}

impl ArrivalProcess {
    /// Returns the pace that applies the process: the mean rate, or bursts of the mean number of
    /// I/Os with the mean pause.
    pub fn pace(&self) -> Pace {
        match (self.process, self.burst_ios, self.pause_ns) {
            (ArrivalKind::Bursts, Some(ios), Some(pause)) => {
                Pace::Burst { ios: ios.round().max(1.0) as u64, delay: Nanos(pause as u64) }
            }
            (ArrivalKind::Fixed, ..) => {
                let ios = (self.iops * PERIOD.as_secs_f64()).round().max(1.0) as u64;
                Pace::Fixed { ios, per: PERIOD }
            }
            _ => Pace::poisson(self.iops),
        }
    }

    /// Returns the reason why the figures are impossible; `None` if they are possible.
    pub fn fault(&self) -> Option<String> {
        let optional = [self.burst_ios, self.burst_cv2, self.pause_ns, self.pause_cv2];
        let optional = optional.into_iter().chain([self.count_dispersion]).flatten();
        let is_wrong = |figure: f64| !(0.0..1e18).contains(&figure);
        if !(0.001..=1e9).contains(&self.iops) {
            return Some(format!("arrivals of {} IOPS are impossible", self.iops));
        }
        if [self.gap_cv2].into_iter().chain(optional).any(is_wrong) {
            return Some("a figure of its arrivals is impossible".to_owned());
        }
        let is_burst = self.process == ArrivalKind::Bursts;
        (is_burst && (self.burst_ios.is_none() || self.pause_ns.is_none()))
            .then(|| "arrivals in bursts need burst_ios and pause_ns".to_owned())
    }

    /// Returns the figures with their names in a workload file, those that are present.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("iops", Some(self.iops)),
            ("gap_cv2", Some(self.gap_cv2)),
            ("count_dispersion", self.count_dispersion),
            ("burst_ios", self.burst_ios),
            ("burst_cv2", self.burst_cv2),
            ("pause_ns", self.pause_ns),
            ("pause_cv2", self.pause_cv2),
        ];
        all.into_iter().filter_map(|(name, figure)| Some((name, figure?)))
    }
}

impl fmt::Display for ArrivalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrivalKind::Fixed => "fixed",
            ArrivalKind::Poisson => "poisson",
            ArrivalKind::Bursts => "bursts",
        })
    }
}

impl fmt::Display for ArrivalProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArrivalProcess { iops, gap_cv2, .. } = self;
        match (self.process, self.burst_ios, self.pause_ns) {
            (ArrivalKind::Fixed, ..) => write!(f, "evenly spaced, {iops:.2} IOPS")?,
            (ArrivalKind::Bursts, Some(ios), Some(pause)) => write!(
                f,
                "bursts of {ios:.1} I/Os with pauses of {}, {iops:.2} IOPS",
                Nanos(pause as u64)
            )?,
            _ => write!(f, "at random, {iops:.2} IOPS")?,
        }
        write!(f, " (squared CV of the gaps {gap_cv2:.3}")?;
        match self.count_dispersion {
            Some(index) => write!(f, ", index of dispersion {index:.2})"),
            None => f.write_str(")"),
        }
    }
}

/// Sums of a sample: number, sum and sum of squares.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        if self.count > 0.0 { (self.squares / self.count - mean * mean).max(0.0) } else { 0.0 }
    }

    /// Returns the squared coefficient of variation; 0 for a mean of 0.
    fn cv2(&self) -> f64 {
        let mean = self.mean();
        if mean > 0.0 { self.variance() / (mean * mean) } else { 0.0 }
    }
}

/// Arrivals of a stream whose mean gap is known, taken in order.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalSums {
    /// Mean gap in nanoseconds.
    mean_ns: f64,
    /// First arrival, with which the first window begins.
    first_ns: u64,
    last_ns: Option<u64>,
    gaps: Moments,
    window: u64,
    in_window: u64,
    windows: Moments,
    /// Number of I/Os in the current burst, and the completion time of its last I/O.
    in_burst: u64,
    busy_until_ns: u64,
    bursts: Moments,
    pauses: Moments,
}

impl ArrivalSums {
    /// Creates empty sums for `ios` arrivals between two times; `None` if they are too few, or too
    /// close or too far apart for a rate.
    pub(crate) fn new(ios: u64, first_ns: u64, last_ns: u64) -> Option<Self> {
        let gaps = ios.checked_sub(1).filter(|gaps| *gaps >= GAPS_MIN)?;
        let mean_ns = last_ns.checked_sub(first_ns).filter(|time| *time > 0)? as f64 / gaps as f64;
        if !(1.0..=1e12).contains(&mean_ns) {
            return None;
        }
        Some(ArrivalSums {
            mean_ns,
            first_ns,
            last_ns: None,
            gaps: Moments::default(),
            window: 0,
            in_window: 0,
            windows: Moments::default(),
            in_burst: 0,
            busy_until_ns: 0,
            bursts: Moments::default(),
            pauses: Moments::default(),
        })
    }

    /// Adds an arrival at or after the last one.
    pub(crate) fn add_arrival(&mut self, at_ns: u64, response_ns: Option<u64>) {
        match self.last_ns {
            None => self.window = self.window_at(at_ns),
            Some(last_ns) => {
                let gap = at_ns.saturating_sub(last_ns) as f64;
                // Relative to the mean, so that the sum of squares keeps its precision.
                self.gaps.add(gap / self.mean_ns);
                // Within a burst the gaps are shorter than the mean, between bursts longer.
                if gap > self.mean_ns {
                    self.bursts.add(self.in_burst as f64);
                    self.pauses.add(at_ns.saturating_sub(self.busy_until_ns.max(last_ns)) as f64);
                    self.in_burst = 0;
                    self.busy_until_ns = 0;
                }
            }
        }
        let window = self.window_at(at_ns);
        if window != self.window {
            self.windows.add(self.in_window as f64);
            (self.window + 1..window.min(self.window + (1 << 20)))
                .for_each(|_| self.windows.add(0.0));
            (self.window, self.in_window) = (window, 0);
        }
        self.in_window += 1;
        self.in_burst += 1;
        self.busy_until_ns = self.busy_until_ns.max(at_ns.saturating_add(response_ns.unwrap_or(0)));
        self.last_ns = Some(at_ns);
    }

    fn window_at(&self, at_ns: u64) -> u64 {
        let since_ns = at_ns.saturating_sub(self.first_ns);
        (since_ns as f64 / (self.mean_ns * PER_WINDOW as f64)) as u64
    }

    /// Returns the process of the arrivals.
    pub(crate) fn into_process(mut self) -> ArrivalProcess {
        self.bursts.add(self.in_burst as f64);
        let gap_cv2 = self.gaps.cv2();
        let process = match gap_cv2 {
            cv2 if cv2 < FIXED_BELOW => ArrivalKind::Fixed,
            cv2 if cv2 < BURSTS_FROM => ArrivalKind::Poisson,
            _ => ArrivalKind::Bursts,
        };
        let burst = |figure: f64| (process == ArrivalKind::Bursts).then(|| rounded(figure));
        let has_windows = self.windows.count >= WINDOWS_MIN as f64 && self.windows.mean() > 0.0;
        ArrivalProcess {
            process,
            iops: rounded((1e9 / self.mean_ns).clamp(0.001, 1e9)),
            gap_cv2: rounded(gap_cv2),
            count_dispersion: has_windows
                .then(|| rounded(self.windows.variance() / self.windows.mean())),
            burst_ios: burst(self.bursts.mean()),
            burst_cv2: burst(self.bursts.cv2()),
            pause_ns: burst(self.pauses.mean()),
            pause_cv2: burst(self.pauses.cv2()),
        }
    }
}

/// Returns a figure with six significant digits.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    fn process_of(times: &[u64]) -> ArrivalProcess {
        let (first, last) = (times[0], *times.last().unwrap());
        let mut sums = ArrivalSums::new(times.len() as u64, first, last).unwrap();
        times.iter().for_each(|at| sums.add_arrival(*at, Some(50_000)));
        sums.into_process()
    }

    #[test]
    fn even_arrivals_are_fixed_at_their_rate() {
        let times: Vec<u64> =
            (0..10_007).map(|n| 77 + n * 1_000_000 + mix64(n) % 100_000).collect();
        let even = process_of(&times);
        assert_eq!((even.process, even.burst_ios), (ArrivalKind::Fixed, None));
        assert!((even.iops - 1000.0).abs() < 0.1 && even.gap_cv2 < 0.01, "{even:?}");
        assert!(even.count_dispersion.unwrap() < 0.02, "{even:?}");
        let Pace::Fixed { ios, .. } = even.pace() else { panic!("{even:?}") };
        assert!(ios.abs_diff(1_000_000) < 100);
    }

    #[test]
    fn exponential_gaps_are_a_poisson_process() {
        let mut at = 0.0;
        let gap = |n: u64| -((mix64(n) >> 11) as f64 + 1.0).log2() + 53.0;
        let times: Vec<u64> = (0..100_003)
            .map(|n| {
                at += gap(n) * std::f64::consts::LN_2 * 2e6;
                at as u64
            })
            .collect();
        let random = process_of(&times);
        assert_eq!(random.process, ArrivalKind::Poisson, "{random:?}");
        assert!((random.gap_cv2 - 1.0).abs() < 0.02, "{random:?}");
        assert!((random.count_dispersion.unwrap() - 1.0).abs() < 0.2, "{random:?}");
        assert!((random.pace().offered_iops().unwrap() - 500.0).abs() < 5.0);
    }

    /// Bursts of 16 and 18 I/Os every 20 ms; within one, 1 us between two I/Os of 50 us.
    #[test]
    fn bursts_have_their_length_and_their_pause() {
        let burst = |n: u64| (0..16 + n % 2 * 2).map(move |io| n * 20_000_000 + io * 1000);
        let times: Vec<u64> = (0..1000).flat_map(burst).collect();
        let bursts = process_of(&times);
        assert_eq!((bursts.process, bursts.burst_ios), (ArrivalKind::Bursts, Some(17.0)));
        assert!((bursts.burst_cv2.unwrap() - 1.0 / 289.0).abs() < 1e-4, "{bursts:?}");
        // 20 ms less 15 or 17 us and the last I/O's 50 us.
        assert!((bursts.pause_ns.unwrap() - 19_934_000.0).abs() < 100.0, "{bursts:?}");
        assert!(bursts.pause_cv2.unwrap() < 1e-6);
        let Pace::Burst { ios: 17, delay } = bursts.pace() else { panic!("{bursts:?}") };
        assert_eq!(delay.as_millis_f64().round(), 20.0);
        assert!(bursts.to_string().starts_with("bursts of 17.0 I/Os with pauses of "));
    }

    #[test]
    fn few_arrivals_or_arrivals_without_times_have_no_process() {
        assert!(ArrivalSums::new(GAPS_MIN, 0, 1000).is_none());
        assert!(ArrivalSums::new(10_007, 5, 5).is_none());
        let wrong = ArrivalProcess { iops: 0.0, ..process_of(&(0..101).collect::<Vec<_>>()) };
        assert!(wrong.fault().unwrap().contains("0 IOPS"));
        let wrong = ArrivalProcess { iops: 9.0, process: ArrivalKind::Bursts, ..wrong };
        assert!(wrong.fault().unwrap().contains("burst_ios"));
    }
}
