//! Recovery blocks, which keep a trace readable after its writer was killed.
//!
//! Parquet stores all metadata in a footer at the end of the file, so the file of a killed capture
//! has none. The writer therefore also writes small blocks where other Parquet readers do not look:
//! one after the magic number with the conditions at the start, and one after every row group with
//! its metadata and the conditions by then. The reader searches a file without a footer for them.
//!
//! Layout of a block: the eight bytes `SFTRACE1`, kind (1 byte), payload length (4 bytes, little endian),
//! payload, FNV-1a hash of kind and payload (8 bytes, little endian).

use std::io;

const MAGIC: [u8; 8] = *b"SFTRACE1";
/// Length of the head in front of the payload, in bytes.
const HEAD: usize = MAGIC.len() + 1 + 4;
/// Length of the hash after the payload, in bytes.
const TAIL: usize = 8;
/// Largest payload that a reader accepts, in bytes.
const PAYLOAD_MAX: usize = 16 << 20;

/// The type of a block's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Conditions as JSON.
    Conditions = 1,
    /// A Parquet footer that describes one row group.
    RowGroup = 2,
}

/// Encodes a block.
///
/// # Errors
/// Returns an error if the payload is longer than a reader accepts.
pub fn encode(kind: BlockKind, payload: &[u8]) -> io::Result<Vec<u8>> {
    if payload.len() > PAYLOAD_MAX {
        let text = format!("{} bytes of metadata are more than a trace can hold", payload.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut block = Vec::with_capacity(HEAD + payload.len() + TAIL);
    block.extend_from_slice(&MAGIC);
    block.push(kind as u8);
    block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    block.extend_from_slice(payload);
    block.extend_from_slice(&hash(kind as u8, payload).to_le_bytes());
    Ok(block)
}

/// A block as it was decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct RecoveryBlock<'b> {
    pub kind: BlockKind,
    pub payload: &'b [u8],
    /// Length of the whole block, in bytes.
    pub length: usize,
}

/// Decodes the block at the beginning of `bytes`; `None` if there is no intact block.
pub fn decode(bytes: &[u8]) -> Option<RecoveryBlock<'_>> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (&number, rest) = rest.split_first()?;
    let kind = match number {
        1 => BlockKind::Conditions,
        2 => BlockKind::RowGroup,
        _ => return None,
    };
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (payload, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let stored_hash = u64::from_le_bytes(*rest.first_chunk::<TAIL>()?);
    if stored_hash != hash(number, payload) {
        return None;
    }
    Some(RecoveryBlock { kind, payload, length: HEAD + payload.len() + TAIL })
}

/// Returns the total length that the head at the beginning of `bytes` states, or `None` if it is no
/// head or the payload would be too long.
pub fn stated_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..HEAD)?.strip_prefix(&MAGIC)?;
    let length = u32::from_le_bytes(*head.get(1..)?.first_chunk::<4>()?);
    let length = usize::try_from(length).ok()?;
    (length <= PAYLOAD_MAX).then_some(HEAD + length + TAIL)
}

/// Returns the position of the first magic number; `None` if there is none.
pub fn find(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MAGIC.len()).position(|window| window == MAGIC)
}

/// Returns the FNV-1a hash of kind and payload.
fn hash(kind: u8, payload: &[u8]) -> u64 {
    let bytes = std::iter::once(&kind).chain(payload);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_and_a_damaged_one_refused() {
        let block = encode(BlockKind::RowGroup, b"payload").unwrap();
        let mut bytes = b"SFTRACE SS".to_vec();
        bytes.extend_from_slice(&block);
        let at = find(&bytes).unwrap();
        assert_eq!(at, 10);
        assert_eq!(stated_length(&bytes[at..]), Some(block.len()));
        let payload = &b"payload"[..];
        let decoded = RecoveryBlock { kind: BlockKind::RowGroup, payload, length: block.len() };
        assert_eq!(decode(&bytes[at..]), Some(decoded));
        for broken in 0..block.len() {
            let mut copy = block.clone();
            copy[broken] ^= 1;
            assert_eq!(decode(&copy), None, "byte {broken}");
            assert_eq!(decode(&block[..broken]), None);
        }
    }
}
