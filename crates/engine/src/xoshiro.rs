//! The random numbers of all loads.

use steadfast_domain::random_bits::mix64;

/// xoshiro256++ (D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom
/// Number Generators", ACM TOMS 47, 2021): 64 bits at a time, period 2^256 - 1.
#[derive(Debug, Clone)]
pub(crate) struct Xoshiro256 {
    state: [u64; 4],
}

impl Xoshiro256 {
    /// Creates the generator of this seed and lane; lanes are independent.
    pub(crate) fn new(seed: u64, lane: u64) -> Self {
        let base = mix64(mix64(seed) ^ mix64(!lane));
        let word = |n: u64| mix64(base.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Xoshiro256 { state: [word(1), word(2), word(3), word(4) | 1] }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number that is exactly uniform in `0..bound`; `bound` is at least 1.
    #[inline(always)]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next()) * u128::from(bound);
        if (product as u64) < bound {
            product = self.reject(product, bound);
        }
        (product >> 64) as u64
    }

    /// The rare slow path of [`Self::below`]: draws again while the low half lies in the part of
    /// 2^64 that `bound` does not divide evenly.
    #[cold]
    fn reject(&mut self, mut product: u128, bound: u64) -> u128 {
        let uneven = bound.wrapping_neg() % bound;
        while (product as u64) < uneven {
            product = u128::from(self.next()) * u128::from(bound);
        }
        product
    }

    /// Returns a number that is uniform in (0, 1].
    pub(crate) fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}
