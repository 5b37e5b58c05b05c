//! The accesses of the blocks with the smallest hashes, packed: as many blocks as fit into a fixed
//! amount of memory. The packed blocks are in order of their hashes. Each has its hash, followed by
//! its accesses as time differences with one bit for a write; most accesses take 2 to 5 bytes. New
//! accesses are packed in large groups.
//!
//! The size of a packed block depends only on its accesses, not on the order in which they arrived,
//! and a subset of the accesses never takes more than all of them: `a + b` needs no more bytes than
//! `a` and `b` separately. Therefore a block that is evicted would not have fitted at the end
//! either, and the blocks followed at the end are the same no matter how the accesses were divided
//! into parts.
//!
//! A block with very many accesses is left out, so that it does not displace all others. From then
//! on it counts with the maximum size of a block, which is no less than its size ever was.

use std::collections::BTreeSet;
use std::mem;
use std::ops::Bound::{Excluded, Included, Unbounded};
use steadfast_domain::varint;

/// Bytes of a block in addition to its accesses: its hash and the length of the packed accesses.
const HEAD: usize = 12;
/// Bytes of a page. A larger block gets a page of its own size.
const PAGE: usize = 1 << 16;
/// A block may take at most one part in this many of the memory.
const LARGEST_PART: usize = 8;
/// Accesses that are packed at once: at least this many, and as many as take one part in
/// [`FRESH_PART`] of the memory.
const FRESH_MIN: usize = 64;
const FRESH_PART: usize = 8;

/// An access of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HashedAccess {
    /// Hash of the block's number.
    pub(super) hash: u64,
    /// Twice the time, plus one for a write.
    pub(super) access: u64,
}

/// The accesses of a sample of blocks.
#[derive(Debug)]
pub(super) struct SampledAccesses {
    /// Maximum bytes of packed accesses.
    most: usize,
    /// Smallest hash that is not followed; `None` while all are.
    limit: Option<u64>,
    /// Hashes below the limit whose blocks have too many accesses.
    left_out: BTreeSet<u64>,
    pages: Vec<Vec<u8>>,
    fresh: Vec<HashedAccess>,
}

impl SampledAccesses {
    /// Creates an empty sample with at most `most` bytes of packed accesses.
    pub(super) fn new(most: usize) -> Self {
        let left_out = BTreeSet::new();
        SampledAccesses { most, limit: None, left_out, pages: Vec::new(), fresh: Vec::new() }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out.len() as u64
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Takes accesses and leaves `accesses` empty.
    pub(super) fn take(&mut self, accesses: &mut Vec<HashedAccess>) {
        self.fresh.append(accesses);
        if self.fresh.len() >= (self.most / FRESH_PART / size_of::<HashedAccess>()).max(FRESH_MIN) {
            self.pack();
        }
    }

    /// Takes the accesses of another sample and leaves it empty.
    pub(super) fn merge(&mut self, other: &mut SampledAccesses) {
        other.pack();
        self.limit = [self.limit, other.limit].into_iter().flatten().min();
        self.left_out.append(&mut other.left_out);
        let mut accesses = Vec::new();
        for page in mem::take(&mut other.pages) {
            for (hash, packed) in PackedBlocks(&page) {
                for access in PackedAccesses::new(packed) {
                    accesses.push(HashedAccess { hash, access });
                    if accesses.len() == PAGE {
                        self.take(&mut accesses);
                    }
                }
            }
        }
        self.take(&mut accesses);
    }

    /// Packs the accesses that are not packed yet.
    pub(super) fn pack(&mut self) {
        let mut fresh = mem::take(&mut self.fresh);
        fresh.sort_unstable();
        let mut packing = BlockPacker {
            most: self.most,
            limit: self.limit,
            left_out: mem::take(&mut self.left_out),
            ..BlockPacker::default()
        };
        let mut new = fresh.chunk_by(|one, next| one.hash == next.hash).peekable();
        for page in mem::take(&mut self.pages) {
            for (hash, packed) in PackedBlocks(&page) {
                while let Some(block) = new.next_if(|block| block[0].hash < hash) {
                    packing.add(block[0].hash, &[], block);
                }
                let block = new.next_if(|block| block[0].hash == hash);
                packing.add(hash, packed, block.unwrap_or(&[]));
            }
            packing.spare.extend(Some(page).filter(|page| page.capacity() == PAGE));
        }
        for block in new {
            packing.add(block[0].hash, &[], block);
        }
        packing.pass_left_out(u64::MAX);
        let limit = packing.limit.unwrap_or(u64::MAX);
        packing.left_out.retain(|hash| *hash < limit);
        (self.limit, self.pages, self.left_out) = (packing.limit, packing.pages, packing.left_out);
        fresh.clear();
        self.fresh = fresh;
    }

    /// Iterates over the packed blocks in order of their hashes. Accesses that are not packed yet
    /// are not included.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, PackedAccesses<'_>)> {
        let blocks = self.pages.iter().flat_map(|page| PackedBlocks(page));
        blocks.map(|(hash, packed)| (hash, PackedAccesses::new(packed)))
    }
}

/// Blocks packed one after the other, until one does not fit.
#[derive(Default)]
struct BlockPacker {
    most: usize,
    limit: Option<u64>,
    left_out: BTreeSet<u64>,
    /// Last of the left-out blocks that was counted.
    passed: Option<u64>,
    bytes: usize,
    pages: Vec<Vec<u8>>,
    /// Pages that are no longer needed, kept for reuse: threads that pack in turn would otherwise
    /// each allocate their own.
    spare: Vec<Vec<u8>>,
    /// Buffer for the accesses of one block.
    packed: Vec<u8>,
}

impl BlockPacker {
    /// Adds a block with its already packed and its new accesses. Hashes must ascend.
    fn add(&mut self, hash: u64, before: &[u8], new: &[HashedAccess]) {
        self.pass_left_out(hash);
        let is_beyond = self.limit.is_some_and(|limit| hash >= limit);
        if is_beyond || self.left_out.contains(&hash) {
            return;
        }
        let mut merged = mem::take(&mut self.packed);
        let packed = match new {
            [] => before,
            _ => {
                merged.clear();
                merge_packed(&mut merged, before, new);
                &merged[..]
            }
        };
        if packed.len() > self.most / LARGEST_PART {
            // Its bytes are counted when the next block is added.
            self.left_out.insert(hash);
        } else {
            self.bytes += HEAD + packed.len();
            match u32::try_from(packed.len()).ok().filter(|_| self.bytes <= self.most) {
                Some(length) => self.keep(hash, length, packed),
                None => self.limit = Some(hash),
            }
        }
        self.packed = merged;
    }

    /// Counts the bytes of the left-out blocks up to a hash.
    fn pass_left_out(&mut self, end: u64) {
        let begin = self.passed.map_or(Unbounded, Excluded);
        if self.passed.is_some_and(|passed| passed >= end) {
            return;
        }
        for hash in self.left_out.range((begin, Included(end))) {
            self.bytes += HEAD + self.most / LARGEST_PART;
            if self.bytes > self.most {
                self.limit = Some(self.limit.map_or(*hash, |limit| limit.min(*hash)));
                break;
            }
            self.passed = Some(*hash);
        }
    }

    fn keep(&mut self, hash: u64, length: u32, packed: &[u8]) {
        let size = HEAD + packed.len();
        let room = self.pages.last().map_or(0, |page| page.capacity() - page.len());
        if room < size {
            let spare = if size <= PAGE { self.spare.pop() } else { None };
            let room = size.max(PAGE.min(self.most));
            let mut page = spare.unwrap_or_else(|| Vec::with_capacity(room));
            page.clear();
            self.pages.push(page);
        }
        let Some(page) = self.pages.last_mut() else { return };
        page.extend_from_slice(&hash.to_le_bytes());
        page.extend_from_slice(&length.to_le_bytes());
        page.extend_from_slice(packed);
    }
}

/// Merges packed accesses with new ones and packs the result.
fn merge_packed(out: &mut Vec<u8>, before: &[u8], new: &[HashedAccess]) {
    let (mut before, mut last) = (PackedAccesses::new(before).peekable(), 0);
    let mut put = |access: u64| {
        varint::put(out, ((access >> 1) - last) << 1 | access & 1);
        last = access >> 1;
    };
    for HashedAccess { access, .. } in new {
        while let Some(earlier) = before.next_if(|earlier| earlier <= access) {
            put(earlier);
        }
        put(*access);
    }
    before.for_each(put);
}

/// Iterator over the blocks of a page: the hash and the packed accesses of each.
struct PackedBlocks<'p>(&'p [u8]);

impl<'p> Iterator for PackedBlocks<'p> {
    type Item = (u64, &'p [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        let (hash, rest) = self.0.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (packed, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some((u64::from_le_bytes(*hash), packed))
    }
}

/// Iterator over the accesses of a block in order, each as twice its time, plus one for a write.
pub(super) struct PackedAccesses<'p> {
    packed: &'p [u8],
    time: u64,
}

impl<'p> PackedAccesses<'p> {
    fn new(packed: &'p [u8]) -> Self {
        PackedAccesses { packed, time: 0 }
    }
}

impl Iterator for PackedAccesses<'_> {
    type Item = u64;
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let number = varint::take(&mut self.packed)?;
        self.time += number >> 1;
        Some(self.time << 1 | number & 1)
    }
}

/// Returns the number of the block with this hash: the inverse of [`mix64`].
///
/// [`mix64`]: steadfast_domain::random_bits::mix64
pub(super) const fn block_number(hash: u64) -> u64 {
    let mut z = hash ^ hash >> 31 ^ hash >> 62;
    z = z.wrapping_mul(0x3196_42b2_d24d_8ec3);
    z = z ^ z >> 27 ^ z >> 54;
    z = z.wrapping_mul(0x96de_1b17_3f11_9089);
    z = z ^ z >> 30 ^ z >> 60;
    z.wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    #[test]
    fn a_hash_is_inverted() {
        for number in (0..10_007).chain([u64::MAX, 1 << 52, 1 << 63]) {
            assert_eq!(block_number(mix64(number)), number);
        }
    }

    fn at(hash: u64, access: u64) -> HashedAccess {
        HashedAccess { hash, access }
    }

    /// Returns everything that is followed.
    fn listed(followed: &mut SampledAccesses) -> Vec<(u64, Vec<u64>)> {
        followed.pack();
        followed.blocks().map(|(hash, accesses)| (hash, accesses.collect())).collect()
    }

    #[test]
    fn accesses_are_unpacked_as_they_were_whatever_their_order() {
        let mut accesses: Vec<HashedAccess> = (0..9001u64)
            .map(|n| at(mix64(n * n % 97), (mix64(n) >> (n % 64)) & !(1 << 63)))
            .collect();
        accesses.extend([u64::MAX, 0, 0, 1].map(|access| at(5, access)));
        let mut followed = SampledAccesses::new(1 << 20);
        accesses.chunks(501).for_each(|some| followed.take(&mut some.to_vec()));
        accesses.sort_unstable();
        let blocks = accesses.chunk_by(|one, next| one.hash == next.hash);
        let wanted: Vec<_> = blocks
            .map(|block| (block[0].hash, block.iter().map(|one| one.access).collect()))
            .collect();
        assert_eq!(listed(&mut followed), wanted);
    }

    /// The followed blocks are those with the smallest hashes, and a block that once did not fit is
    /// not followed again.
    #[test]
    fn as_many_blocks_as_fit_are_followed() {
        let accesses = |blocks: u64, each: u64| {
            let of = move |block: u64| (0..each).map(move |n| at(mix64(block), n * 2000));
            (0..blocks).flat_map(of).collect::<Vec<HashedAccess>>()
        };
        let mut followed = SampledAccesses::new(3000);
        followed.take(&mut accesses(1009, 10));
        let found = listed(&mut followed);
        let size = HEAD + 1 + 9 * 2;
        assert_eq!(found.len(), 3000 / size);
        let mut hashes: Vec<u64> = (0..1009).map(mix64).collect();
        hashes.sort_unstable();
        assert!(found.iter().map(|block| block.0).eq(hashes[..found.len()].iter().copied()));
        assert_eq!(followed.limit(), Some(hashes[found.len()]));
        followed.take(&mut vec![at(hashes[found.len()], 0), at(hashes[0], 1 << 40)]);
        let again = listed(&mut followed);
        assert_eq!(again.len(), found.len());
        assert_eq!(again[0].1.last(), Some(&(1 << 40)));
        assert_eq!(again[1..], found[1..]);
    }

    #[test]
    fn a_block_of_too_many_accesses_leaves_room_for_others_in_whatever_parts() {
        let mut hashes: Vec<u64> = (0..1009).map(mix64).collect();
        hashes.sort_unstable();
        // Two of many blocks; one of them is too large.
        let many = [hashes[3], hashes[40], hashes[1000]];
        let accesses: Vec<HashedAccess> = (0..60u64)
            .flat_map(|time| {
                let others = hashes.iter().filter(move |_| time < 4);
                let others = others.map(move |hash| at(*hash, time));
                others.chain((0..100).flat_map(move |n| many.map(|hash| at(hash, time * 1000 + n))))
            })
            .collect();
        let found = |parts: usize, backwards: bool| {
            let mut all = SampledAccesses::new(8000);
            let mut some: Vec<&[HashedAccess]> =
                accesses.chunks(accesses.len().div_ceil(parts)).collect();
            if backwards {
                some.reverse();
            }
            for part in some {
                let mut one = SampledAccesses::new(8000);
                one.take(&mut part.to_vec());
                all.merge(&mut one);
            }
            let listed = listed(&mut all);
            (listed, all.limit(), all.left_out())
        };
        let (blocks, limit, left_out) = found(1, false);
        assert_eq!((left_out, blocks.len()), (2, (8000 - 2 * (HEAD + 1000)) / (HEAD + 4)));
        assert!(blocks.iter().all(|block| block.1.len() == 4 && !many.contains(&block.0)));
        for (parts, backwards) in [(2, false), (7, true), (31, false), (31, true)] {
            assert_eq!(found(parts, backwards), (blocks.clone(), limit, 2), "{parts} {backwards}");
        }
    }
}
