//! Records which granules of a device were touched, one bit each in a sparse bitmap, and numbers
//! them in order.

use super::ReplayError;
use std::collections::BTreeMap;

/// Unit in which addresses move, in bytes: small enough that a trace of a few gigabytes spans
/// many granules, large enough that few I/Os of a sequential run cross a boundary.
pub const GRANULE: u64 = 1 << 20;

/// Words per piece: 32 Ki granules, or 32 GiB of a device, in 4 KiB of memory.
const WORDS: usize = 512;
const GRANULES_OF_PIECE: u64 = WORDS as u64 * 64;
/// Most pieces: 64 MB of memory, enough for a device of 512 TiB.
const PIECES_MAX: usize = 1 << 14;

/// The set of touched granules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granules {
    pieces: BTreeMap<u64, Box<[u64; WORDS]>>,
}

impl Granules {
    /// Adds the granules of the bytes from `offset` to `end`.
    ///
    /// # Errors
    /// Returns [`ReplayError::TooFarApart`] if the addresses need more memory than is set aside.
    pub fn touch(&mut self, offset: u64, end: u64) -> Result<(), ReplayError> {
        let last = end.max(offset + 1) - 1;
        for granule in offset / GRANULE..=last / GRANULE {
            let GranulePlace { piece, word, bit } = GranulePlace::new(granule);
            if self.pieces.len() == PIECES_MAX && !self.pieces.contains_key(&piece) {
                return Err(ReplayError::TooFarApart);
            }
            self.pieces.entry(piece).or_insert_with(|| Box::new([0; WORDS]))[word] |= 1 << bit;
        }
        Ok(())
    }

    /// Counts the granules, so that the number of each is known.
    pub fn ranked(self) -> GranuleRanks {
        let mut before = 0;
        let pieces = self.pieces.into_iter().map(|(number, words)| {
            let piece = RankPiece { number, before, words_before: touched_before(&words), words };
            before += piece.words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            piece
        });
        let pieces = pieces.collect();
        GranuleRanks { pieces, total: before }
    }
}

/// The touched granules, numbered in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GranuleRanks {
    pieces: Vec<RankPiece>,
    total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RankPiece {
    number: u64,
    /// Number of touched granules in all earlier pieces.
    before: u64,
    words: Box<[u64; WORDS]>,
    /// Number of touched granules in all earlier words of this piece.
    words_before: Box<[u16; WORDS]>,
}

impl GranuleRanks {
    /// Returns the number of touched granules.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of touched granules before this one.
    #[inline]
    pub fn rank(&self, granule: u64) -> u64 {
        let GranulePlace { piece: number, word, bit } = GranulePlace::new(granule);
        let at = self.pieces.partition_point(|piece| piece.number < number);
        match self.pieces.get(at) {
            Some(piece) if piece.number == number => {
                let below = piece.words[word] & ((1 << bit) - 1);
                piece.before + u64::from(piece.words_before[word]) + u64::from(below.count_ones())
            }
            Some(piece) => piece.before,
            None => self.total,
        }
    }
}

/// The bit of a granule.
struct GranulePlace {
    /// Number of the piece.
    piece: u64,
    /// Index of the word in the piece.
    word: usize,
    bit: u32,
}

impl GranulePlace {
    fn new(granule: u64) -> Self {
        let inside = granule % GRANULES_OF_PIECE;
        GranulePlace {
            piece: granule / GRANULES_OF_PIECE,
            word: (inside / 64) as usize,
            bit: (inside % 64) as u32,
        }
    }
}

/// Returns the number of bits set before each word.
fn touched_before(words: &[u64; WORDS]) -> Box<[u16; WORDS]> {
    let mut counts = Box::new([0; WORDS]);
    let mut before = 0;
    for (count, word) in counts.iter_mut().zip(words) {
        *count = before;
        before += word.count_ones() as u16;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_io_touches_every_granule_that_it_reaches_into() {
        let mut granules = Granules::default();
        granules.touch(GRANULE - 1, GRANULE).unwrap();
        granules.touch(5 * GRANULE - 512, 7 * GRANULE + 512).unwrap();
        let ranks = granules.ranked();
        assert_eq!(ranks.total(), 5);
        assert_eq!([0, 4, 5, 6, 7].map(|granule| ranks.rank(granule)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut granules = Granules::default();
        for piece in 0..PIECES_MAX as u64 {
            granules.touch(piece << 40, (piece << 40) + 1).unwrap();
        }
        granules.touch(0, 4096).unwrap();
        assert!(matches!(granules.touch(1 << 60, 1 << 61), Err(ReplayError::TooFarApart)));
    }

    proptest! {
        #[test]
        fn a_rank_is_the_number_of_touched_granules_before(
            touched in prop::collection::btree_set(0u64..200_000, 1..200)
        ) {
            let mut granules = Granules::default();
            for granule in &touched {
                granules.touch(granule * GRANULE, (granule + 1) * GRANULE).unwrap();
            }
            let ranks = granules.ranked();
            prop_assert_eq!(ranks.total(), touched.len() as u64);
            for probe in touched.iter().flat_map(|granule| [*granule, granule + 1, granule * 2]) {
                let before: BTreeSet<_> = touched.range(..probe).collect();
                prop_assert_eq!(ranks.rank(probe), before.len() as u64);
            }
        }
    }
}
