//! A pseudorandom permutation without a table.

use crate::random_bits::mix64;

/// A permutation of `0..count`: a Feistel network over the next power of 4, walked until it is
/// back in range (J. Black and P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
/// It depends on nothing but `count` and `key`.
///
/// ```
/// use steadfast_domain::permutation::Permutation;
/// let permutation = Permutation::new(10, 7);
/// let mut all: Vec<u64> = (0..10).map(|rank| permutation.position(rank)).collect();
/// all.sort();
/// assert_eq!(all, (0..10).collect::<Vec<u64>>());
/// ```
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    key: u64,
    half_bits: u32,
}

impl Permutation {
    const ROUNDS: u64 = 4;

    /// Creates a permutation of `count` positions, at least 1.
    pub fn new(count: u64, key: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Permutation { count, key, half_bits: bits.div_ceil(2).max(1) }
    }

    /// Returns the position of a rank, which must be below `count`.
    pub fn position(&self, rank: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let mut at = rank;
        loop {
            let (mut left, mut right) = (at >> self.half_bits, at & mask);
            for round in 0..Self::ROUNDS {
                let key = self.key.wrapping_mul(Self::ROUNDS).wrapping_add(round);
                (left, right) = (right, left ^ (mix64(right ^ mix64(key)) & mask));
            }
            at = left << self.half_bits | right;
            if at < self.count {
                return at;
            }
        }
    }
}
