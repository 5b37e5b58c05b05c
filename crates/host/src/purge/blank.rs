//! Verification read: compares sample blocks across a target before and after a purge.

use crate::error::HostError;
use crate::target::Target;
use std::os::unix::fs::FileExt;
use std::path::Path;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, DirectBuffer, ReadBack};

/// Number of places: the first and the last block, the others drawn at random. If a fraction p of
/// the device kept its content, all places miss it with probability (1 - p)^254: a remainder of 1 %
/// is missed in 8 of 100 runs.
pub(super) const PLACES: usize = 256;

/// Bytes read at each place; more if the device's alignment is larger, less if the target is
/// smaller.
const UNIT: u64 = 4096;

/// Sample places of a target and their content before the purge.
pub(super) struct SamplePlaces {
    unit: u64,
    places: Vec<SamplePlace>,
    /// Number of blank places that were written to.
    marked: u32,
    seed: u64,
}

struct SamplePlace {
    offset: u64,
    content: PlaceContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PlaceContent {
    Unknown,
    Zero,
    /// One byte other than 0, repeated.
    Constant,
    Something(Box<[u8]>),
}

impl PlaceContent {
    fn classify(block: &[u8]) -> PlaceContent {
        match block.split_first() {
            Some((first, rest)) if rest.iter().all(|byte| byte == first) => match first {
                0 => PlaceContent::Zero,
                _ => PlaceContent::Constant,
            },
            _ => PlaceContent::Something(block.into()),
        }
    }
}

impl SamplePlaces {
    /// Chooses the places; the same seed and size give the same places.
    pub fn choose(target: &Target, seed: u64) -> SamplePlaces {
        let unit = UNIT.max(u64::from(target.offset_alignment())).min(target.length().0);
        let places = place_offsets(target.length(), unit, seed)
            .into_iter()
            .map(|offset| SamplePlace { offset, content: PlaceContent::Unknown })
            .collect();
        SamplePlaces { unit, places, marked: 0, seed }
    }

    /// Stores the content of each place and writes data to blank ones, so that a blank place after
    /// the purge is evidence. A place that cannot be read or written is skipped: it proves nothing.
    pub fn prepare(&mut self, target: &Target) {
        let block = &mut *DirectBuffer::new(self.unit as usize);
        for SamplePlace { offset, content } in &mut self.places {
            if target.file().read_exact_at(block, *offset).is_err() {
                continue;
            }
            *content = PlaceContent::classify(block);
            if matches!(content, PlaceContent::Something(_)) {
                continue;
            }
            fill_random(block, self.seed ^ *offset);
            if target.file().write_all_at(block, *offset).is_ok() {
                *content = PlaceContent::classify(block);
                self.marked += 1;
            }
        }
        // Data left in a cache would be purged there and not on the media: then the marks prove
        // nothing.
        if target.file().sync_data().is_err() {
            self.marked = 0;
            for place in &mut self.places {
                place.content = PlaceContent::Unknown;
            }
        }
    }

    /// Reads each place again and compares it with its content before the purge.
    ///
    /// # Errors
    /// A place cannot be read.
    pub fn compare(&self, target: &Target) -> Result<ReadBack, HostError> {
        let block = &mut *DirectBuffer::new(self.unit as usize);
        let mut read = ReadBack {
            places: self.places.len() as u32,
            unit: Bytes(self.unit),
            marked: self.marked,
            ..ReadBack::default()
        };
        for SamplePlace { offset, content: before } in &self.places {
            target.file().read_exact_at(block, *offset).map_err(|error| {
                HostError::io("read it back", Path::new(&target.device().path), error)
            })?;
            let had_content = matches!(before, PlaceContent::Something(_));
            read.written_before += u32::from(had_content);
            match PlaceContent::classify(block) {
                PlaceContent::Zero => read.zero += 1,
                PlaceContent::Constant => read.constant += 1,
                after => read.unchanged += u32::from(had_content && after == *before),
            }
        }
        Ok(read)
    }
}

fn fill_random(block: &mut [u8], seed: u64) {
    for (number, word) in (0..).zip(block.chunks_mut(8)) {
        let drawn = mix64(seed.wrapping_add(number)).to_le_bytes();
        word.copy_from_slice(&drawn[..word.len()]);
    }
}

/// Returns the byte offsets of the places in ascending order: every block if the target has at
/// most [`PLACES`].
fn place_offsets(length: Bytes, unit: u64, seed: u64) -> Vec<u64> {
    let blocks = (length.0 / unit.max(1)).max(1);
    let mut chosen: Vec<u64> = if blocks <= PLACES as u64 {
        (0..blocks).collect()
    } else {
        let drawn = (2..PLACES as u64).map(|n| mix64(seed.wrapping_add(n)) % blocks);
        drawn.chain([0, blocks - 1]).collect()
    };
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|block| block * unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_reach_from_the_first_block_to_the_last_and_repeat_with_the_seed() {
        let many = place_offsets(Bytes::gib(1), 4096, 7);
        assert_eq!((many[0], *many.last().unwrap()), (0, (1 << 30) - 4096));
        assert!(many.len() > 250 && many.len() <= PLACES, "{}", many.len());
        assert_eq!(many, place_offsets(Bytes::gib(1), 4096, 7));
        assert_ne!(many, place_offsets(Bytes::gib(1), 4096, 8));
        assert_eq!(place_offsets(Bytes(8192 + 512), 4096, 1), [0, 4096]);
        assert_eq!(place_offsets(Bytes(512), 512, 1), [0]);
        let huge = place_offsets(Bytes(u64::MAX), 4096, 1);
        assert!(huge.iter().all(|offset| offset % 4096 == 0));
        let halves = huge.iter().filter(|offset| **offset > u64::MAX / 2).count();
        assert!((64..192).contains(&halves), "{halves} in the upper half");
    }

    #[test]
    fn a_repeated_byte_is_distinguished_from_other_content() {
        let mut block = [0u8; 512];
        assert_eq!(PlaceContent::classify(&block), PlaceContent::Zero);
        assert_eq!(PlaceContent::classify(&[0xff; 512]), PlaceContent::Constant);
        block[511] = 1;
        assert!(matches!(PlaceContent::classify(&block), PlaceContent::Something(_)));
        fill_random(&mut block, 1);
        assert!(matches!(PlaceContent::classify(&block), PlaceContent::Something(_)));
    }
}
