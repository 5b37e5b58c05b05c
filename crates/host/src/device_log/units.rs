//! Unit in which a counter of a device advances.

use steadfast_domain::Bytes;

/// Unit of one counter, learned from its values: some drives count in larger steps than the log
/// page states.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LearnedUnit {
    /// Greatest common divisor of the values read so far; 0 before the first.
    common: u64,
    /// True if two different values other than 0 were read.
    has_two: bool,
}

impl LearnedUnit {
    /// Takes a value of the counter and the unit that its log states. Returns the unit to be
    /// expected: a common divisor of all values, if it is larger than the stated unit. Until two
    /// different values were read, the stated unit, or `None` if that is a byte: few drives
    /// count single bytes.
    pub fn learn(&mut self, value: Option<Bytes>, stated: Option<Bytes>) -> Option<Bytes> {
        if let Some(Bytes(value)) = value.filter(|value| value.0 > 0) {
            // The divisor of the first value alone is the value.
            self.has_two |= self.common > 0 && value != self.common;
            self.common = greatest_common_divisor(self.common, value);
        }
        let learned = if self.has_two { self.common } else { 0 };
        let stated = stated.filter(|stated| self.has_two || stated.0 != 1);
        stated.map(|stated| stated.max(Bytes(learned)))
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(stated: u64, values: &[u64]) -> Vec<u64> {
        let mut unit = LearnedUnit::default();
        let learn = |value: &u64| unit.learn(Some(Bytes(*value)), Some(Bytes(stated))).unwrap().0;
        values.iter().map(learn).collect()
    }

    /// A drive that states 512,000 bytes and counts in 64 such units shows it in its values.
    #[test]
    fn larger_steps_than_the_stated_unit_are_learned() {
        let step = 64 * 512_000;
        assert_eq!(
            learned(512_000, &[3 * step, 3 * step, 8 * step, 9 * step])[1..],
            [512_000, step, step]
        );
        // Two values may have a divisor by chance; a third one corrects that.
        let found = learned(512_000, &[6 * 512_000, 9 * 512_000, 10 * 512_000]);
        assert_eq!(found, [512_000, 3 * 512_000, 512_000]);
        assert_eq!(learned(512, &[0, 77, 154])[..2], [512, 512], "a factory-new drive");
    }

    #[test]
    fn an_unknown_unit_stays_unknown() {
        let mut unit = LearnedUnit::default();
        assert_eq!(unit.learn(Some(Bytes(6)), None), None);
        assert_eq!(unit.learn(None, Some(Bytes(4))), Some(Bytes(4)));
        // A counter of bytes that has not advanced yet may advance in steps of a gigabyte.
        let mut bytes = LearnedUnit::default();
        let mut learn = |value| bytes.learn(Some(Bytes(value)), Some(Bytes(1)));
        assert_eq!([0_u64, 7 << 20, 7 << 20, 9 << 20].map(&mut learn)[..3], [None, None, None]);
        assert_eq!(learn(9 << 20), Some(Bytes(1 << 20)));
    }
}
