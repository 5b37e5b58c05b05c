//! The standard's one-line notation: `RND 4K RW65`, `SEQ 128K W`, `T4Q32`, and ours for skewed
//! offsets and for durable writes: `RND 4K R ZIPF/1.1`, `RND 4K W FUA`, `SEQ 8K W FLUSH/1`.
//!
//! Access patterns and demands parse back from what they print.

use crate::offset_distribution::Distribution;
use crate::stimulus::{Cursor, Demand, Durability, IoStream, Op, Order};
use crate::text::excerpt;
use crate::units::Bytes;
use std::fmt;
use std::str::FromStr;

/// Error for a text that is not an access pattern or a demand in the standard's notation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// The text is not an access pattern.
    #[error(
        "'{}' is not an access pattern; write it like \"RND 4K RW65\", \"SEQ 128K W\", with a \
         distribution of its offsets: \"RND 4K R ZIPF/1.1\", PARETO/0.2 or NORMAL/10, or with the \
         durability of its writes: \"RND 4K W FUA\", \"SEQ 8K W FLUSH/1\", \"SEQ 8K W SYNC\"",
        excerpt(.0)
    )]
    Pattern(String),
    /// The text is not a demand.
    #[error(
        "'{}' is not a demand; write it like T4Q32 (4 threads, 32 outstanding I/Os each)",
        excerpt(.0)
    )]
    Demand(String),
    /// A part of the text is above its limit.
    #[error("'{}': {limit}", excerpt(.text))]
    Limit {
        /// The text.
        text: String,
        /// The limit in words.
        limit: &'static str,
    },
}

impl NotationError {
    fn above(text: &str, limit: &'static str) -> Self {
        NotationError::Limit { text: text.to_owned(), limit }
    }
}

/// Returns true for one or more decimal digits.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An access pattern: order, transfer size and percentage of reads.
///
/// `RWnn` stands for nn percent reads (`RW0` all writes, `RW100` all reads). A pattern corresponds
/// to one or two I/O streams of a stimulus.
///
/// ```
/// use steadfast_domain::notation::{AccessPattern, NotationError};
/// let pattern: AccessPattern = "RND 4K RW65".parse()?;
/// assert_eq!(pattern.read_percent, 65);
/// assert_eq!(pattern.streams().len(), 2);
/// assert_eq!(pattern.to_string(), "RND 4K RW65");
/// # Ok::<(), NotationError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessPattern {
    /// Random, or sequential with a cursor.
    pub order: Order,
    /// Transfer size.
    pub size: Bytes,
    /// Percentage of the I/Os that are reads.
    pub read_percent: u8,
    /// Distribution of the offsets of a random pattern.
    pub distribution: Distribution,
    /// Durability of the writes.
    pub durability: Durability,
}

impl AccessPattern {
    /// Creates a random pattern.
    pub const fn random(size: Bytes, read_percent: u8) -> Self {
        AccessPattern::with_order(Order::Random, size, read_percent)
    }
    /// Creates a sequential pattern; reads and writes of a mix share one cursor.
    pub const fn sequential(size: Bytes, read_percent: u8) -> Self {
        let cursor =
            if read_percent == 0 || read_percent == 100 { Cursor::Own } else { Cursor::Shared };
        AccessPattern::with_order(Order::Sequential(cursor), size, read_percent)
    }
    const fn with_order(order: Order, size: Bytes, read_percent: u8) -> Self {
        AccessPattern {
            order,
            size,
            read_percent,
            distribution: Distribution::Uniform,
            durability: Durability::Cached,
        }
    }
    /// Sets the distribution of the offsets.
    pub const fn distribution(self, distribution: Distribution) -> Self {
        AccessPattern { distribution, ..self }
    }
    /// Sets the durability of the writes.
    pub const fn durability(self, durability: Durability) -> Self {
        AccessPattern { durability, ..self }
    }
    /// Returns the I/O streams: reads first; an operation without I/Os is omitted.
    pub fn streams(&self) -> Vec<IoStream> {
        let reads = u32::from(self.read_percent);
        [(Op::Read, reads), (Op::Write, 100 - reads)]
            .into_iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(op, weight)| {
                let durability = if op == Op::Write { self.durability } else { Durability::Cached };
                let stream = IoStream::new(op, self.order, self.size).with_weight(weight);
                IoStream { distribution: self.distribution, durability, ..stream }
            })
            .collect()
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Random => "RND",
        Order::Sequential(_) => "SEQ",
    }
}

impl fmt::Display for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", order_name(self.order), self.size.transfer_size())?;
        match self.read_percent {
            0 => f.write_str("W"),
            100 => f.write_str("R"),
            mix => write!(f, "RW{mix}"),
        }?;
        write!(f, "{}{}", self.distribution, self.durability)
    }
}

/// Prints as the end of an access pattern, with a blank before it; empty for cached writes.
impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Durability::Cached => Ok(()),
            Durability::Fua => f.write_str(" FUA"),
            Durability::Sync => f.write_str(" SYNC"),
            Durability::Flush(every) => write!(f, " FLUSH/{every}"),
        }
    }
}

impl Durability {
    /// Parses the word behind an access pattern, in upper case; `None` if it is none.
    pub fn from_word(word: &str) -> Option<Durability> {
        match word {
            "FUA" => Some(Durability::Fua),
            "SYNC" => Some(Durability::Sync),
            _ => Some(Durability::Flush(word.strip_prefix("FLUSH/")?.parse().ok()?)),
        }
    }
}

impl fmt::Display for IoStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            Op::Read => "R",
            Op::Write => "W",
            Op::Discard => "DISCARD",
            Op::Flush => return f.write_str("FLUSH"),
        };
        let (order, size) = (order_name(self.order), self.size.transfer_size());
        write!(f, "{order} {size} {op}{}{}", self.distribution, self.durability)
    }
}

impl FromStr for AccessPattern {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let fail = || NotationError::Pattern(text.to_owned());
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        let [order, size, mix, more @ ..] = words.as_slice() else { return Err(fail()) };
        let distribution = more.first().and_then(|word| Distribution::from_word(word));
        let more = if distribution.is_some() { &more[1..] } else { more };
        let distribution = distribution.unwrap_or_default();
        let durability = match more {
            [] => Durability::Cached,
            [word] => Durability::from_word(word).ok_or_else(fail)?,
            _ => return Err(fail()),
        };
        let size: Bytes = size.parse().map_err(|_| fail())?;
        let read_percent = match mix.as_str() {
            "R" => 100,
            "W" => 0,
            mix => {
                let percent = mix.strip_prefix("RW").filter(|n| is_number(n)).ok_or_else(fail)?;
                let read_percent = percent.parse().ok().filter(|n| *n <= 100);
                read_percent.ok_or_else(|| {
                    NotationError::above(text, "RW takes the percentage of reads, 0 to 100")
                })?
            }
        };
        let only_reads = read_percent == 100 && !durability.is_cached();
        if size.0 == 0 || size.0 > u64::from(u32::MAX) || only_reads {
            return Err(fail());
        }
        let pattern = match order.as_str() {
            "RND" => AccessPattern::random(size, read_percent),
            "SEQ" if distribution.is_uniform() => AccessPattern::sequential(size, read_percent),
            _ => return Err(fail()),
        };
        Ok(pattern.distribution(distribution).durability(durability))
    }
}

/// Maximum number of threads, and of I/Os outstanding per thread.
pub(crate) const DEMAND_MAX: u32 = 65_536;

impl FromStr for Demand {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let fail = || NotationError::Demand(text.to_owned());
        let upper = text.trim().to_ascii_uppercase();
        let (threads, depth) =
            upper.strip_prefix('T').and_then(|rest| rest.split_once('Q')).ok_or_else(fail)?;
        let threads = threads.strip_suffix('/').unwrap_or(threads);
        if !is_number(threads) || !is_number(depth) {
            return Err(fail());
        }
        let number = |s: &str| s.parse::<u32>().ok().filter(|n| (1..=DEMAND_MAX).contains(n));
        match (number(threads), number(depth)) {
            (Some(threads), Some(depth)) => Ok(Demand { threads, depth }),
            _ => Err(NotationError::above(text, "T and Q are 1 to 65,536 each")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn a_mix_is_two_streams_weighted_by_percent() {
        let pattern: AccessPattern = "RND 4K RW65".parse().unwrap();
        let shown: Vec<_> = pattern.streams().iter().map(|s| (s.to_string(), s.weight)).collect();
        assert_eq!(shown, [("RND 4K R".to_owned(), 65), ("RND 4K W".to_owned(), 35)]);
    }

    #[test]
    fn patterns_and_demands_parse_as_they_print() {
        for text in ["RND 4K RW65", "SEQ 128K W", "RND 0.5K R", "SEQ 1024K RW90", "RND 1.5K W"] {
            let pattern: AccessPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
        }
        assert_eq!("rnd 64k rw0".parse::<AccessPattern>().unwrap().to_string(), "RND 64K W");
        assert_eq!("T4/Q32".parse::<Demand>().unwrap().to_string(), "T4Q32");
        for text in ["T4Q3/2", "T/4Q32", "T4//Q32", "T4Q32/", "/T4Q32"] {
            assert!(text.parse::<Demand>().is_err(), "{text}");
        }
    }

    /// Every pattern that can be constructed prints as a text that parses to it again.
    #[test]
    fn every_durability_of_every_mix_parses_as_it_prints() {
        let every = |n| Durability::Flush(NonZeroU32::new(n).unwrap());
        let all =
            [Durability::Cached, Durability::Fua, Durability::Sync, every(1), every(u32::MAX)];
        for durability in all {
            for mix in 0..100 {
                for size in [512, 4096, 6656, 1 << 20] {
                    for pattern in [AccessPattern::random, AccessPattern::sequential] {
                        let pattern = pattern(Bytes(size), mix).durability(durability);
                        assert_eq!(pattern.to_string().parse(), Ok(pattern));
                        let last = pattern.streams().pop().unwrap();
                        assert_eq!((last.op, last.durability), (Op::Write, durability));
                    }
                }
            }
        }
        for bad in ["RND 4K R FUA", "RND 4K W FLUSH", "RND 4K W FLUSH/0", "RND 4K W FUA SYNC"] {
            assert!(bad.parse::<AccessPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_distribution_precedes_the_durability() {
        for text in
            ["RND 4K R ZIPF/1.1", "RND 4K RW65 PARETO/0.2 FLUSH/8", "RND 8K W NORMAL/10 FUA"]
        {
            let pattern: AccessPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
            assert!(pattern.streams().iter().all(|s| s.distribution == pattern.distribution));
        }
        for bad in
            ["SEQ 4K R ZIPF/1.1", "RND 4K W FUA ZIPF/1.1", "RND 4K R ZIPF/0", "RND 4K R ZIPF"]
        {
            assert!(bad.parse::<AccessPattern>().is_err(), "{bad}");
        }
    }

    /// Records have always used the name `trim` and continue to use it.
    #[test]
    fn a_discard_is_recorded_as_trim() {
        let stream = IoStream::new(Op::Discard, Order::Random, Bytes::kib(4));
        assert_eq!(stream.to_string(), "RND 4K DISCARD");
        let recorded = serde_json::to_string(&stream).unwrap();
        assert!(recorded.contains("\"op\":\"trim\""), "{recorded}");
        assert_eq!(serde_json::from_str::<IoStream>(&recorded).unwrap(), stream);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "RND", "RND 4K", "RND 4K RW101", "FOO 4K R", "RND 0 R", "RND 4K R extra"] {
            assert!(bad.parse::<AccessPattern>().is_err(), "{bad}");
        }
        for bad in ["", "T", "Q1", "T0Q1", "T1Q0", "T1Q99999999", "4x32"] {
            assert!(bad.parse::<Demand>().is_err(), "{bad}");
        }
        for above in ["T99999Q99999", "T1Q0", "t1/q65537"] {
            let error = above.parse::<Demand>().unwrap_err();
            assert!(matches!(error, NotationError::Limit { .. }), "{error}");
        }
        let error = "RND 4K RW165".parse::<AccessPattern>().unwrap_err();
        assert!(matches!(error, NotationError::Limit { .. }), "{error}");
    }
}
