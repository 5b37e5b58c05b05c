//! Due times of a load's I/Os.

use crate::xoshiro::Xoshiro256;
use steadfast_domain::stimulus::Pace;

/// State of a load's pace.
#[derive(Debug)]
pub(super) enum Pacer {
    /// An I/O is due as soon as a slot is free.
    Closed,
    /// I/O n is due at `origin + n * per / ios`.
    Fixed { origin: u64, ios: u64, per: u64, number: u64 },
    /// Exponential gaps with this mean in nanoseconds.
    Poisson { next: u64, mean: f64, random: Xoshiro256 },
    /// `left` more I/Os are due at once, then a pause of `delay` follows.
    Burst { ios: u64, delay: u64, left: u64, due: u64 },
}

impl Pacer {
    pub(super) fn new(pace: Pace, seed: u64, now: u64) -> Self {
        match pace {
            Pace::Closed => Pacer::Closed,
            Pace::Fixed { ios, per } => Pacer::Fixed { origin: now, ios, per: per.0, number: 0 },
            Pace::Poisson { ios, per } => {
                let mean = per.0 as f64 / ios as f64;
                let mut pacer =
                    Pacer::Poisson { next: now, mean, random: Xoshiro256::new(seed, 0xace) };
                pacer.took();
                pacer
            }
            Pace::Burst { ios, delay } => Pacer::Burst { ios, delay: delay.0, left: ios, due: now },
        }
    }

    /// Returns why a pace cannot be kept; `None` if it can.
    pub(super) fn fault(pace: Pace) -> Option<String> {
        let empty = match pace {
            Pace::Closed => false,
            Pace::Fixed { ios, per } | Pace::Poisson { ios, per } => ios == 0 || per.0 == 0,
            Pace::Burst { ios, .. } => ios == 0,
        };
        empty.then(|| "a pace needs at least one I/O and a period longer than 0".to_owned())
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Pacer::Closed)
    }

    /// Returns when the next I/O is due; `None` while that depends on a completion.
    pub(super) fn due(&self) -> Option<u64> {
        match self {
            Pacer::Closed => Some(0),
            Pacer::Fixed { origin, ios, per, number } => {
                let offset = u128::from(*number) * u128::from(*per) / u128::from(*ios);
                Some(origin.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX)))
            }
            Pacer::Poisson { next, .. } => Some(*next),
            Pacer::Burst { left, due, .. } => (*left > 0).then_some(*due),
        }
    }

    /// Notes that an I/O was issued.
    pub(super) fn took(&mut self) {
        match self {
            Pacer::Closed => {}
            Pacer::Fixed { number, .. } => *number += 1,
            Pacer::Poisson { next, mean, random } => {
                // 53 bits, never 0, so that the logarithm is finite.
                let chance = ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                *next = next.saturating_add((-chance.ln() * *mean) as u64);
            }
            Pacer::Burst { left, .. } => *left -= 1,
        }
    }

    /// Notes that the last outstanding I/O has completed.
    pub(super) fn drained(&mut self, now: u64) {
        if let Pacer::Burst { ios, delay, left, due } = self
            && *left == 0
        {
            *left = *ios;
            *due = now.saturating_add(*delay);
        }
    }
}
