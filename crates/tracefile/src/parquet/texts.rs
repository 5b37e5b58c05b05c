//! Limits for pages of texts whose lengths stand before them.
//!
//! A page in `DELTA_LENGTH_BYTE_ARRAY` begins with the lengths of its texts, as a list in
//! `DELTA_BINARY_PACKED`; their bytes follow. In `DELTA_BYTE_ARRAY` another such list comes first:
//! how many bytes each text shares with the one before it. The Parquet library allocates as many
//! lengths as each list claims to have, so both claims are checked here.

use parquet::errors::{ParquetError, Result};
use steadfast_domain::varint;

/// Lengths that a page of texts may have, all of which are decoded at once.
const LENGTHS_MAX: usize = 1 << 22;

/// Checks that the texts of a page have no more lengths than the page has rows.
///
/// # Errors
/// Returns an error if a list of lengths is too long or cut off.
pub(super) fn check_lengths(texts: &[u8], have_prefixes: bool, rows: usize) -> Result<()> {
    let most = rows.min(LENGTHS_MAX) as u64;
    let impossible = || ParquetError::General("the lengths of its texts are impossible".into());
    let mut list = LengthList::begin(texts).filter(|list| list.count <= most);
    if have_prefixes {
        let suffixes = list.and_then(LengthList::rest).and_then(LengthList::begin);
        list = suffixes.filter(|list| list.count <= most);
    }
    list.map(drop).ok_or_else(impossible)
}

/// A list in `DELTA_BINARY_PACKED` whose header was read.
struct LengthList<'p> {
    /// Bit widths in the head of each block, one for each miniblock.
    miniblocks: usize,
    /// Values of a miniblock.
    values_each: u64,
    count: u64,
    /// Blocks, and what follows the list.
    blocks: &'p [u8],
}

impl<'p> LengthList<'p> {
    /// Reads a header: values of a block, miniblocks of a block, values in all, first value.
    fn begin(mut bytes: &'p [u8]) -> Option<Self> {
        let block = varint::take(&mut bytes)?;
        let miniblocks = varint::take(&mut bytes)?;
        let count = varint::take(&mut bytes)?;
        varint::take(&mut bytes)?;
        let values_each = block.checked_div(miniblocks).filter(|values| *values > 0)?;
        let miniblocks = usize::try_from(miniblocks).ok()?;
        Some(LengthList { miniblocks, values_each, count, blocks: bytes })
    }

    /// Returns what follows the last miniblock that holds a value.
    fn rest(self) -> Option<&'p [u8]> {
        let mut bytes = self.blocks;
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            // The block's smallest difference.
            varint::take(&mut bytes)?;
            let (widths, mut miniblocks) = bytes.split_at_checked(self.miniblocks)?;
            for width in widths {
                if left == 0 {
                    break;
                }
                let bits = self.values_each.checked_mul(u64::from(*width))?;
                miniblocks = miniblocks.get(usize::try_from(bits / 8).ok()?..)?;
                left = left.saturating_sub(self.values_each);
            }
            bytes = miniblocks;
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of so many lengths that all are 3; of more than fit, only the claim.
    fn list(count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [128, 4, count, varint::zigzag(3)] {
            varint::put(&mut bytes, number);
        }
        for _ in 0..count.saturating_sub(1).div_ceil(128).min(100) {
            bytes.extend([0; 5]);
        }
        bytes
    }

    #[test]
    fn a_list_has_no_more_lengths_than_its_page_has_rows() {
        for count in [0, 1, 2, 129, 1000] {
            let texts = [list(count), vec![b'x'; 3 * count as usize]].concat();
            assert!(check_lengths(&texts, false, count as usize).is_ok(), "{count}");
            assert_eq!(check_lengths(&texts, false, 129).is_ok(), count <= 129, "{count}");
            let texts = [list(count), texts].concat();
            assert!(check_lengths(&texts, true, count as usize).is_ok(), "{count}");
        }
        assert!(check_lengths(&list(1 << 40), false, usize::MAX).is_err());
        assert!(check_lengths(&[list(9), list(1 << 40)].concat(), true, usize::MAX).is_err());
    }

    #[test]
    fn a_list_that_is_cut_off_or_impossible_is_refused() {
        let whole = [list(1000), list(1000)].concat();
        for end in 0..list(1000).len() + 5 {
            assert!(check_lengths(&whole[..end], true, 1000).is_err(), "{end}");
        }
        assert!(check_lengths(&[128, 1, 0, 5, 0], false, 5).is_err(), "no miniblock");
        assert!(check_lengths(&[0, 4, 5, 0], false, 5).is_err(), "no value in a block");
        assert!(check_lengths(&[0xff; 40], true, 5).is_err());
    }
}
