//! [`ActiveRange`]: the bytes that a stimulus may touch; with [`Segments`], equal pieces at random
//! places only (the active range amount and segments of PTS-C 1.x).

use crate::random_bits::mix64;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The bytes of a device that a stimulus may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ActiveRange {
    /// First byte.
    pub start: Bytes,
    /// Number of bytes.
    pub length: Bytes,
    /// Segments of the range that may be touched; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Segments>,
}

impl ActiveRange {
    /// Creates a contiguous range of `length` bytes from `start`.
    pub const fn new(start: Bytes, length: Bytes) -> Self {
        ActiveRange { start, length, segments: None }
    }
    /// Creates a range of the first `percent` of `capacity`, rounded down to a multiple of `unit`.
    pub fn first(percent: u8, capacity: Bytes, unit: u64) -> Self {
        let part = u128::from(capacity.0) * u128::from(percent) / 100;
        let length = Bytes(u64::try_from(part).unwrap_or(u64::MAX)).round_down(unit);
        ActiveRange::new(Bytes(0), length)
    }
    /// Returns the same range without segments.
    pub const fn in_one_piece(self) -> Self {
        ActiveRange { segments: None, ..self }
    }
    /// Returns the number of bytes that may be touched.
    pub fn amount(self) -> Bytes {
        self.segments.map_or(self.length, Segments::amount)
    }
    /// Returns the offset after the last byte.
    pub const fn end(self) -> Bytes {
        Bytes(self.start.0 + self.length.0)
    }
}

/// Maximum number of segments; their positions are kept in memory.
const COUNT_MAX: u32 = 1 << 20;

/// Equal contiguous segments, spread at random over an active range, no two of them adjacent. The
/// same seed gives the same positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Segments {
    /// Number of segments.
    pub count: u32,
    /// Size of a segment; a multiple of `unit`.
    pub size: Bytes,
    /// Alignment of the segments, and the minimum gap between two of them.
    pub unit: Bytes,
    /// Seed of the positions.
    pub seed: u64,
}

impl Segments {
    /// Returns the total size of all segments.
    pub const fn amount(self) -> Bytes {
        Bytes((self.count as u64).saturating_mul(self.size.0))
    }

    /// Returns the size of the smallest range that can hold the segments with gaps between them.
    pub const fn room(self) -> Bytes {
        let between = (self.count as u64).saturating_sub(1).saturating_mul(self.unit.0);
        Bytes(self.amount().0.saturating_add(between))
    }

    /// Returns the reason why the segments cannot be placed in `range`, in one sentence; `None` if
    /// they can.
    pub fn fault(self, range: ActiveRange) -> Option<String> {
        if self.count == 0 || self.count > COUNT_MAX {
            return Some(format!(
                "{} segments are not possible; give 1 to {COUNT_MAX}",
                self.count
            ));
        }
        let whole = |bytes: Bytes| bytes.0.is_multiple_of(self.unit.0);
        if self.unit.0 == 0 || self.size.0 == 0 || !whole(self.size) || !whole(range.start) {
            return Some(format!(
                "{self} from byte {} are not a whole number of units of {}",
                range.start.0,
                self.unit.binary()
            ));
        }
        if range.start.0.checked_add(range.length.0).is_none() {
            return Some(format!(
                "an active range of {} bytes from byte {} ends beyond 2^64 bytes",
                range.length.0, range.start.0
            ));
        }
        (self.room() > range.length).then(|| {
            format!(
                "an active range of {} cannot hold {self} at least {} apart: they need {}",
                range.length,
                self.unit.binary(),
                self.room()
            )
        })
    }

    /// Returns the first byte of every segment, in ascending order. Every layout possible in
    /// `range` is equally likely, except for a rounding of 2^-22.
    ///
    /// # Errors
    /// Returns the reason from [`Self::fault`] if the segments cannot be placed in `range`.
    pub fn starts(self, range: ActiveRange) -> Result<Vec<u64>, String> {
        if let Some(fault) = self.fault(range) {
            return Err(fault);
        }
        let each = self.size.0 / self.unit.0;
        let spare = (range.length.0 - self.room().0) / self.unit.0;
        let start =
            |(before, place): (u64, u64)| range.start.0 + (place + before * each) * self.unit.0;
        Ok((0..).zip(self.places(spare)).map(start).collect())
    }

    /// Returns the positions of the segments, in ascending order, in a row of `spare` free units
    /// and one unit per segment. Once the segments are expanded to their size, that unit is the gap
    /// after the segment. Every set of positions is equally likely (R. W. Floyd's algorithm for
    /// drawing a set, in J. Bentley, "Programming Pearls", CACM 30(9), 1987).
    fn places(self, spare: u64) -> BTreeSet<u64> {
        let count = u64::from(self.count);
        let mut chosen = BTreeSet::new();
        for (turn, last) in (spare..spare + count).enumerate() {
            let random = mix64(mix64(self.seed) ^ turn as u64);
            let place = scaled(random, last + 1);
            if !chosen.insert(place) {
                chosen.insert(last);
            }
        }
        chosen
    }
}

fn scaled(random: u64, bound: u64) -> u64 {
    u64::try_from((u128::from(random) * u128::from(bound)) >> 64).unwrap_or_default()
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.count == 1 { "segment" } else { "segments" };
        write!(f, "{} {noun} of {}", self.count, self.size.binary())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn segments(count: u32, mib: u64, seed: u64) -> Segments {
        Segments { count, size: Bytes::mib(mib), unit: Bytes::mib(1), seed }
    }

    fn range(start_mib: u64, mib: u64) -> ActiveRange {
        ActiveRange::new(Bytes::mib(start_mib), Bytes::mib(mib))
    }

    /// Checks that the segments are aligned, inside the range, in order, and at least one unit
    /// apart.
    fn check(segments: Segments, range: ActiveRange, starts: &[u64]) {
        assert_eq!(starts.len(), segments.count as usize);
        assert!(starts.iter().all(|start| start % segments.unit.0 == 0));
        assert!(starts[0] >= range.start.0);
        assert!(starts[starts.len() - 1] + segments.size.0 <= range.end().0);
        let distance_min = segments.size.0 + segments.unit.0;
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= distance_min), "{starts:?}");
    }

    #[test]
    fn client_layouts_are_valid_for_every_seed() {
        // 24 GB, three quarters of it, and the smallest range that can hold the segments.
        for (each, whole) in [(4, 22_888), (4, 17_166), (8, 22_888), (8, 18_431)] {
            for seed in (0..40).chain([u64::MAX, u64::MAX / 2]) {
                let (segments, range) = (segments(2048, each, seed), range(0, whole));
                assert_eq!(segments.amount(), Bytes::gib(each * 2));
                check(segments, range, &segments.starts(range).unwrap());
            }
        }
    }

    #[test]
    fn a_full_range_has_one_layout() {
        let (segments, range) = (segments(5, 3, 9), range(2, 19));
        assert_eq!(segments.room(), Bytes::mib(19));
        let starts = segments.starts(range).unwrap();
        assert_eq!(starts, [2, 6, 10, 14, 18].map(|mib| mib * MIB));
    }

    #[test]
    fn every_layout_is_equally_likely() {
        // Two segments of one unit in five units: (0,2) (0,3) (0,4) (1,3) (1,4) (2,4).
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..60_000 {
            *counts.entry(segments(2, 1, seed).starts(range(0, 5)).unwrap()).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6, "{counts:?}");
        assert!(counts.values().all(|n| (9_600..10_400).contains(n)), "{counts:?}");
    }

    #[test]
    fn the_seed_alone_decides() {
        let starts = |seed| segments(64, 2, seed).starts(range(0, 4096)).unwrap();
        assert_eq!(starts(3), starts(3));
        assert_ne!(starts(3), starts(4));
        // A journal stores only the seed: it must give these positions in all future versions.
        let starts = segments(4, 1, 1).starts(range(0, 100)).unwrap();
        assert_eq!(starts, [34, 52, 72, 89].map(|mib| mib * MIB));
    }

    #[test]
    fn impossible_segments_are_refused() {
        let why = |segments: Segments, range| segments.fault(range).unwrap();
        assert!(why(segments(5, 3, 9), range(0, 18)).contains("5 segments of 3 MiB"));
        assert!(why(segments(0, 3, 9), range(0, 18)).contains("0 segments"));
        assert!(why(segments(u32::MAX, 3, 9), range(0, 18)).contains("not possible"));
        assert!(why(segments(1, 0, 9), range(0, 18)).contains("whole number"));
        assert!(why(segments(9, 1 << 43, 9), range(0, 18)).contains("cannot hold"));
        let odd = ActiveRange::new(Bytes(512), Bytes::gib(1));
        assert!(why(segments(1, 1, 9), odd).contains("whole number"));
        let endless = ActiveRange::new(Bytes(u64::MAX << 20), Bytes::gib(1));
        assert!(why(segments(1, 1, 9), endless).contains("beyond 2^64"));
        let no_unit = Segments { unit: Bytes(0), ..segments(1, 1, 9) };
        assert!(why(no_unit, range(0, 18)).contains("whole number"));
        assert!(no_unit.starts(range(0, 18)).is_err());
    }

    proptest! {
        #[test]
        fn any_layout_that_has_room_lies_apart_inside(
            count in 1u32..300, units in 1u64..9, unit_log in 9u32..22, spare in 0u64..5_000,
            start in 0u64..50, seed: u64,
        ) {
            let unit = Bytes(1 << unit_log);
            let segments = Segments { count, size: Bytes(units * unit.0), unit, seed };
            let length = Bytes(segments.room().0 + spare * unit.0 + (seed % unit.0));
            let range = ActiveRange::new(Bytes(start * unit.0), length);
            check(segments, range, &segments.starts(range).unwrap());
        }
    }
}
