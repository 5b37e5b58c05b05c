//! Pseudorandom bits from a number.

/// Returns the output of SplitMix64's finalizer (Steele, Lea and Flood 2014): a bijection that
/// spreads every input bit over the output.
pub const fn mix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform numbers from 0 to 1 and normal ones for tests, the same for the same seed.
#[cfg(test)]
pub(crate) struct Noise(pub u64);

#[cfg(test)]
impl Noise {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(1);
        (mix64(mix64(self.0)) >> 11) as f64 / (1_u64 << 53) as f64
    }
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
    pub fn whole(&mut self, from: usize, to: usize) -> usize {
        from + (self.uniform() * (to - from + 1) as f64) as usize
    }
}
