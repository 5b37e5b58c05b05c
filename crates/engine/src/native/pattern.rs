//! Content of writes: data patterns, and the stamps that make sectors unique.
//!
//! Random-unique data is a pool of random sectors. Each is stamped with 32 bytes every time it is
//! written: its address, a sequence number, its index in the pool and a check word. The stamp is
//! scrambled by a bijection with this engine's key. Therefore no two sectors ever written are
//! equal, a stamp is as incompressible as the data around it, and a sector read back shows
//! whether, where and from which pool sector it was written.

use super::memory::{Arena, PageKind, page_size};
use super::queue::SlotBuffer;
use crate::xoshiro::Xoshiro256;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::DataPattern;
use steadfast_host::{FileError, read_regular};

/// The stamped unit in bytes, whatever the device's sector size.
pub(super) const SECTOR: usize = 512;
const STAMP_BYTES: usize = 32;

/// Duplicates repeat whole blocks of this many bytes.
const DUPLICATE_BLOCK: u32 = 4096;

/// Maximum size of a pattern file in bytes; it is read into memory as a whole.
const FILE_LIMIT: u64 = 64 << 20;

/// Minimum memory in bytes from which a thread's writes take their data.
const POOL_BYTES: usize = 512 << 10;

/// An odd multiplier (from SplitMix64) and its inverse modulo 2^64.
const MULTIPLIER: u64 = 0xbf58_476d_1ce4_e5b9;
const INVERSE: u64 = inverse(MULTIPLIER);

/// Returns the inverse by Newton's iteration: every round doubles the number of correct bits.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd;
    let mut round = 0;
    while round < 5 {
        guess = guess.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(guess)));
        round += 1;
    }
    guess
}

#[inline(always)]
fn scramble(value: u64, key: u64) -> u64 {
    let product = (value ^ key).wrapping_mul(MULTIPLIER);
    product ^ (product >> 32)
}

fn unscramble(value: u64, key: u64) -> u64 {
    (value ^ (value >> 32)).wrapping_mul(INVERSE) ^ key
}

/// Secret key of this engine's stamps, which distinguishes its sectors from those of any other.
#[derive(Debug, Clone, Copy)]
pub(super) struct StampKey {
    words: [u64; 4],
    pool: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Address of the 512-byte sector that it was written to.
    pub sector: u64,
    /// Number of the write within its thread.
    pub sequence: u64,
    /// Index of the pool sector that its body came from.
    pub pool: u64,
}

impl StampKey {
    pub(super) fn new() -> StampKey {
        let mut entropy = [0u8; 8];
        // SAFETY: eight bytes are valid to write to.
        unsafe { libc::getrandom(entropy.as_mut_ptr().cast(), entropy.len(), 0) };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
        StampKey::from_seed(u64::from_ne_bytes(entropy) ^ mix64(time))
    }

    fn from_seed(seed: u64) -> StampKey {
        let mut random = Xoshiro256::new(seed, 0);
        StampKey { words: std::array::from_fn(|_| random.next()), pool: random.next() }
    }

    #[inline(always)]
    fn seal(&self, stamp: Stamp) -> [u64; 4] {
        let a = scramble(stamp.sector, self.words[0]);
        let b = scramble(stamp.sequence, self.words[1] ^ a);
        let c = scramble(stamp.pool, self.words[2] ^ b);
        [a, b, c, self.check(a, b, c)]
    }

    #[inline(always)]
    fn check(&self, a: u64, b: u64, c: u64) -> u64 {
        scramble(a ^ b.rotate_left(21) ^ c.rotate_left(42), self.words[3])
    }

    /// Returns the content of a sector's stamp; `None` if it has no stamp of this key.
    pub(super) fn open(&self, sector: &[u8]) -> Option<Stamp> {
        let mut words = [0u64; 4];
        for (word, bytes) in words.iter_mut().zip(sector.get(..STAMP_BYTES)?.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        let [a, b, c, check] = words;
        (check == self.check(a, b, c)).then(|| Stamp {
            sector: unscramble(a, self.words[0]),
            sequence: unscramble(b, self.words[1] ^ a),
            pool: unscramble(c, self.words[2] ^ b),
        })
    }

    /// Fills a sector with the random bytes of one pool sector.
    fn fill_sector(&self, sector: &mut [u8], pool: u64) {
        let mut random = Xoshiro256::new(self.pool, pool);
        for bytes in sector.chunks_mut(8) {
            bytes.copy_from_slice(&random.next().to_le_bytes()[..bytes.len()]);
        }
    }

    /// Returns true if everything after the stamp equals that pool sector.
    pub(super) fn body_is(&self, sector: &[u8], pool: u64) -> bool {
        let mut expected = [0u8; SECTOR];
        self.fill_sector(&mut expected, pool);
        sector.get(STAMP_BYTES..) == expected.get(STAMP_BYTES..)
    }
}

#[derive(Debug)]
pub(super) enum FillPattern {
    /// Random and stamped.
    Unique,
    /// Random, generated once and reused.
    Once,
    /// These bytes, repeated.
    Fixed(Vec<u8>),
    /// Stamped; `random_bytes` of each sector are random and the rest is zero. `duplicates` of
    /// 2^32 blocks repeat an earlier one.
    Mixed { random_bytes: usize, duplicates: u64 },
}

impl FillPattern {
    /// Resolves a pattern, and reads its file if it has one.
    pub(super) fn new(pattern: &DataPattern) -> Result<FillPattern, String> {
        match pattern {
            DataPattern::RandomUnique => Ok(FillPattern::Unique),
            DataPattern::RandomOnce => Ok(FillPattern::Once),
            DataPattern::Zero => Ok(FillPattern::Fixed(vec![0])),
            DataPattern::Repeating(bytes) if bytes.is_empty() => {
                Err("a repeating data pattern needs at least one byte".to_owned())
            }
            DataPattern::Repeating(bytes) => Ok(FillPattern::Fixed(bytes.clone())),
            DataPattern::File(path) => read_pattern(path)
                .map(FillPattern::Fixed)
                .map_err(|why| format!("the data pattern file {path} {why}")),
            DataPattern::Entropy { random_percent, duplicate_percent } => {
                let share = usize::from((*random_percent).min(100));
                let random_bytes =
                    if share == 0 { 0 } else { (SECTOR * share / 100).max(STAMP_BYTES) };
                let duplicates = (u64::from((*duplicate_percent).min(100)) << 32) / 100;
                Ok(FillPattern::Mixed { random_bytes, duplicates })
            }
        }
    }

    /// Fills memory whose first sector has index `first` in the pool.
    fn fill(&self, memory: &mut [u8], key: &StampKey, first: u64) {
        if let FillPattern::Fixed(bytes) = self {
            let mut phase = (first as usize * SECTOR) % bytes.len();
            for chunk in memory {
                *chunk = bytes[phase];
                phase = if phase + 1 == bytes.len() { 0 } else { phase + 1 };
            }
            return;
        }
        for (index, sector) in memory.chunks_mut(SECTOR).enumerate() {
            key.fill_sector(sector, first + index as u64);
            if let FillPattern::Mixed { random_bytes, .. } = self {
                sector.iter_mut().skip(*random_bytes).for_each(|byte| *byte = 0);
            }
        }
    }
}

/// Returns the whole content of a file, or the reason why it is no data pattern. Only a regular
/// file has content that is available at once and ends; a FIFO is not waited for.
fn read_pattern(path: &str) -> Result<Vec<u8>, String> {
    match read_regular(Path::new(path), FILE_LIMIT) {
        Ok(bytes) if bytes.is_empty() => Err("is empty; name one with content".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(FileError::Unreadable { .. }) => {
            Err("is not a regular file; copy the content into one".to_owned())
        }
        Err(FileError::TooLong { .. }) => {
            Err(format!("is larger than {} MiB; name a smaller one", FILE_LIMIT >> 20))
        }
        Err(FileError::Io { source, .. }) => Err(format!("cannot be read: {source}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Dimensions of the memory for a thread's writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteShape {
    pub depth: u32,
    pub largest: u32,
    /// Alignment of the buffers in bytes.
    alignment: u32,
}

impl WriteShape {
    /// Creates the dimensions for a device that requires this memory alignment. Buffers are at
    /// least page-aligned.
    pub(super) fn new(depth: u32, largest: u32, alignment: u32) -> WriteShape {
        WriteShape { depth, largest, alignment: alignment.max(page_size() as u32) }
    }

    /// Returns the bytes of one slot: several times the largest write if that is small, so that a
    /// slot does not write the same pool sectors over and over.
    pub(super) fn area(&self) -> u64 {
        let buffer = u64::from(self.largest).next_multiple_of(u64::from(self.alignment));
        let pool_share = POOL_BYTES as u64 / u64::from(self.depth);
        buffer * (pool_share / buffer).max(1)
    }

    pub(super) fn total(&self) -> u64 {
        self.area() * u64::from(self.depth)
    }
}

#[derive(Debug)]
pub(super) struct PatternWriter {
    arena: Arena,
    area: u32,
    /// Alignment of every buffer in bytes.
    grain: u32,
    /// Offset in its area from which each slot takes its next data.
    positions: Box<[u32]>,
    key: StampKey,
    stamping: StampMode,
    sequence: u64,
    /// Pool index of the arena's first sector.
    first: u64,
}

#[derive(Debug)]
enum StampMode {
    None,
    Unique,
    Mixed { duplicates: u64, random: Xoshiro256 },
}

impl PatternWriter {
    /// Fills the memory of thread number `thread`. `sequence` is above that of every earlier load
    /// of this engine.
    pub(super) fn new(
        content: &FillPattern,
        key: StampKey,
        shape: WriteShape,
        thread: u32,
        sequence: u64,
    ) -> io::Result<PatternWriter> {
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let total = usize::try_from(shape.total()).map_err(|_| too_much())?;
        let area = u32::try_from(shape.area()).map_err(|_| too_much())?;
        let first = u64::from(thread) * (total / SECTOR) as u64;
        let mut arena = Arena::new(total)?;
        content.fill(&mut arena.bytes_mut()[..total], &key, first);
        let stamping = match content {
            FillPattern::Unique => StampMode::Unique,
            FillPattern::Mixed { random_bytes, duplicates } if *random_bytes > 0 => {
                StampMode::Mixed {
                    duplicates: *duplicates,
                    random: Xoshiro256::new(key.pool, !first),
                }
            }
            _ => StampMode::None,
        };
        let positions = vec![0; shape.depth as usize].into();
        Ok(PatternWriter {
            arena,
            area,
            grain: shape.alignment,
            positions,
            key,
            stamping,
            sequence,
            first,
        })
    }

    pub(super) fn pages(&self) -> PageKind {
        self.arena.pages
    }

    pub(super) fn slot_buffer(&self, slot: u32) -> SlotBuffer {
        let length = self.area as usize;
        SlotBuffer { start: self.arena.at(slot as usize * length), length }
    }

    /// Returns the data of a write of `size` bytes to `offset`, which stays unchanged until the
    /// slot's next write.
    #[inline(always)]
    pub(super) fn next(&mut self, slot: u32, offset: u64, size: u32) -> *mut u8 {
        let position = &mut self.positions[slot as usize];
        if *position + size > self.area {
            *position = 0;
        }
        let start = slot as usize * self.area as usize + *position as usize;
        *position += size.next_multiple_of(self.grain);
        self.sequence += 1;
        match &self.stamping {
            StampMode::None => {}
            StampMode::Unique => self.stamp(start, offset / SECTOR as u64, size),
            StampMode::Mixed { .. } => {
                self.stamp_with_duplicates(start, offset / SECTOR as u64, size)
            }
        }
        self.arena.at(start)
    }

    /// Stamps the sectors from `start` on in the arena.
    #[inline(always)]
    fn stamp(&mut self, start: usize, sector: u64, size: u32) {
        let pool = self.first + (start / SECTOR) as u64;
        // A copy, so that the compiler keeps it in registers across the stores.
        let (key, sequence) = (self.key, self.sequence);
        for index in 0..u64::from(size) / SECTOR as u64 {
            let stamp = Stamp { sector: sector + index, sequence, pool: pool + index };
            self.write_stamp(start + index as usize * SECTOR, key.seal(stamp));
        }
    }

    #[inline(always)]
    fn write_stamp(&mut self, offset: usize, words: [u64; 4]) {
        let target = self.arena.at(offset).cast::<[u64; 4]>();
        // SAFETY: `offset` is the start of a sector in the arena, so 32 bytes fit and are aligned.
        // The slot's last write has completed.
        unsafe { target.write(words.map(u64::to_le)) };
    }

    /// Stamps block by block. A duplicate carries a stamp without an address, the same whenever
    /// its pool block is a duplicate again.
    fn stamp_with_duplicates(&mut self, start: usize, sector: u64, size: u32) {
        let pool = self.first + (start / SECTOR) as u64;
        for begin in (0..size).step_by(DUPLICATE_BLOCK as usize) {
            let length = DUPLICATE_BLOCK.min(size - begin);
            let block_start = start + begin as usize;
            let first_sector = u64::from(begin) / SECTOR as u64;
            if self.draws_duplicate() {
                for index in 0..u64::from(length) / SECTOR as u64 {
                    let pool = pool + first_sector + index;
                    let stamp = Stamp { sector: u64::MAX, sequence: 0, pool };
                    self.write_stamp(block_start + index as usize * SECTOR, self.key.seal(stamp));
                }
            } else {
                self.stamp(block_start, sector + first_sector, length);
            }
        }
    }

    fn draws_duplicate(&mut self) -> bool {
        match &mut self.stamping {
            StampMode::Mixed { duplicates, random } => random.next() >> 32 < *duplicates,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SHAPE: WriteShape = WriteShape { depth: 4, largest: 16_384, alignment: 4096 };

    fn writer(content: &FillPattern) -> PatternWriter {
        PatternWriter::new(content, StampKey::from_seed(1), SHAPE, 0, 0).unwrap()
    }

    fn written(writer: &mut PatternWriter, slot: u32, offset: u64, size: u32) -> Vec<u8> {
        let start = writer.next(slot, offset, size);
        // SAFETY: `next` returned `size` bytes.
        unsafe { std::slice::from_raw_parts(start, size as usize) }.to_vec()
    }

    /// Returns the share of the 8-byte words that repeat an earlier one: what a dictionary coder
    /// in a compressing or deduplicating drive can save.
    fn repeated_share(content: &[u8]) -> f64 {
        let mut seen = HashSet::new();
        let repeats = content.chunks_exact(8).filter(|c| !seen.insert(c.to_vec())).count();
        repeats as f64 * 8.0 / content.len() as f64
    }

    fn bits_per_byte(content: &[u8]) -> f64 {
        let mut counts = [0f64; 256];
        content.iter().for_each(|b| counts[usize::from(*b)] += 1.0);
        let total = content.len() as f64;
        counts.iter().filter(|c| **c > 0.0).map(|c| -(c / total) * (c / total).log2()).sum()
    }

    #[test]
    fn a_stamp_opens_to_what_was_sealed_and_to_nothing_under_another_key() {
        let (key, other) = (StampKey::from_seed(1), StampKey::from_seed(2));
        for sector in [0, 1, 12_345, u64::MAX >> 9] {
            let stamp = Stamp { sector, sequence: sector ^ 77, pool: 3 };
            let mut bytes: Vec<u8> = key.seal(stamp).iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(key.open(&bytes), Some(stamp));
            assert_eq!(other.open(&bytes), None);
            bytes[9] ^= 1;
            assert_eq!(key.open(&bytes), None);
        }
        assert_eq!(key.open(&[0; 16]), None);
    }

    #[test]
    fn no_two_sectors_ever_written_are_equal() {
        let mut sectors = HashSet::new();
        let mut writers: Vec<PatternWriter> = (0..2)
            .map(|thread| {
                PatternWriter::new(&FillPattern::Unique, StampKey::from_seed(1), SHAPE, thread, 0)
                    .unwrap()
            })
            .collect();
        for round in 0..500u64 {
            for writer in &mut writers {
                let bytes = written(writer, (round % 4) as u32, round % 3 * 4096, 4096);
                for sector in bytes.chunks(SECTOR) {
                    assert!(sectors.insert(sector.to_vec()), "round {round}");
                }
            }
        }
        assert_eq!(sectors.len(), 500 * 2 * 8);
    }

    #[test]
    fn unique_data_neither_compresses_nor_repeats_within_the_pool() {
        let mut writer = writer(&FillPattern::Unique);
        let content: Vec<u8> = (0..30)
            .flat_map(|n| written(&mut writer, n % 4, u64::from(n) * 16_384, 16_384))
            .collect();
        assert!(bits_per_byte(&content) > 7.99, "{}", bits_per_byte(&content));
        assert_eq!(repeated_share(&content), 0.0);
        let stamps: Vec<u8> =
            content.chunks(SECTOR).flat_map(|s| s[..STAMP_BYTES].to_vec()).collect();
        assert!(bits_per_byte(&stamps) > 7.9, "{}", bits_per_byte(&stamps));
    }

    #[test]
    fn a_body_is_recognized_by_its_pool_number_alone() {
        let key = StampKey::from_seed(1);
        let mut writer = writer(&FillPattern::Unique);
        let bytes = written(&mut writer, 3, 8192, 8192);
        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
            let stamp = key.open(sector).unwrap();
            assert_eq!(stamp.sector, 16 + index as u64);
            assert!(key.body_is(sector, stamp.pool));
            assert!(!key.body_is(sector, stamp.pool + 1));
        }
    }

    #[test]
    fn fixed_contents_are_sent_as_they_are() {
        let zeros =
            written(&mut writer(&FillPattern::new(&DataPattern::Zero).unwrap()), 0, 0, 4096);
        assert!(zeros.iter().all(|b| *b == 0));
        let pattern = FillPattern::new(&DataPattern::Repeating(vec![1, 2, 3])).unwrap();
        let repeated = written(&mut writer(&pattern), 0, 0, 4096);
        assert!(repeated.iter().enumerate().all(|(n, b)| usize::from(*b) == n % 3 + 1));
        let mut once = writer(&FillPattern::Once);
        let first = written(&mut once, 0, 0, 16_384);
        let later: Vec<_> = (0..8).map(|n| written(&mut once, 0, n * 16_384, 16_384)).collect();
        assert!(later.contains(&first));
        assert!(bits_per_byte(&first) > 7.9);
    }

    #[test]
    fn a_pattern_file_repeats_or_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("content");
        let name = path.to_str().unwrap().to_owned();
        let refused = FillPattern::new(&DataPattern::File(name.clone())).unwrap_err();
        assert!(refused.contains("cannot be read"), "{refused}");
        std::fs::write(&path, b"").unwrap();
        assert!(FillPattern::new(&DataPattern::File(name.clone())).unwrap_err().contains("empty"));
        std::fs::write(&path, b"steadfast").unwrap();
        let content = FillPattern::new(&DataPattern::File(name)).unwrap();
        assert!(written(&mut writer(&content), 0, 0, 4096).starts_with(b"steadfaststead"));
    }

    #[test]
    fn a_directory_a_fifo_and_a_large_file_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let name = path.to_str().unwrap().to_owned();
        let c_name = std::ffi::CString::new(name.clone()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(c_name.as_ptr(), 0o600) }, 0);
        let refusal =
            |name: &str| FillPattern::new(&DataPattern::File(name.to_owned())).unwrap_err();
        for other in [name.as_str(), "/dev/zero", "/"] {
            assert!(refusal(other).contains("not a regular file"), "{}", refusal(other));
        }
        let large = directory.path().join("large");
        std::fs::File::create(&large).unwrap().set_len(FILE_LIMIT + 1).unwrap();
        assert!(refusal(large.to_str().unwrap()).contains("larger than 64 MiB"));
        // A link to the file is followed.
        std::fs::write(directory.path().join("content"), b"steadfast").unwrap();
        std::os::unix::fs::symlink("content", directory.path().join("link")).unwrap();
        let link = directory.path().join("link").to_str().unwrap().to_owned();
        assert!(FillPattern::new(&DataPattern::File(link)).is_ok());
    }

    #[test]
    fn every_buffer_begins_with_a_page_whatever_the_sizes_are() {
        for (depth, largest) in [(1, 512), (3, 6144), (7, 65_536 + 512), (128, 4096)] {
            let shape = WriteShape::new(depth, largest, 512);
            let mut writer =
                PatternWriter::new(&FillPattern::Once, StampKey::from_seed(1), shape, 0, 0)
                    .unwrap();
            for n in 0..1000u32 {
                let size = if n % 3 == 0 { 512 } else { largest };
                let start = writer.next(n % depth, 0, size);
                assert_eq!(start as usize % page_size(), 0, "{depth} {largest} {n}");
            }
        }
    }

    #[test]
    fn entropy_and_duplicates_are_as_specified() {
        let entropy = |random_percent, duplicate_percent| {
            let pattern = DataPattern::Entropy { random_percent, duplicate_percent };
            let mut writer = writer(&FillPattern::new(&pattern).unwrap());
            let blocks: Vec<Vec<u8>> = (0..2000u32)
                .map(|n| written(&mut writer, n % 4, u64::from(n) * 4096, 4096))
                .collect();
            let zeros = blocks.iter().flatten().filter(|b| **b == 0).count();
            let distinct = blocks.iter().collect::<HashSet<_>>().len();
            (zeros as f64 / (2000.0 * 4096.0), distinct)
        };
        let (zeros, distinct) = entropy(25, 0);
        assert!((zeros - 0.75).abs() < 0.01 && distinct == 2000, "{zeros} {distinct}");
        let (zeros, distinct) = entropy(100, 50);
        assert!(zeros < 0.01);
        // 128 pool blocks can each be repeated; about half of the rest is new.
        assert!((950..1200).contains(&distinct), "{distinct}");
        let (zeros, distinct) = entropy(0, 0);
        assert!(zeros == 1.0 && distinct == 1);
    }
}
