//! Recovery blocks, which keep a trace readable after its writer was killed.
//!
//! Parquet keeps everything that a reader must know in a footer at the end of the file, which
//! the file of a killed capture lacks. The writer therefore puts small blocks between the row
//! groups, where other Parquet readers do not look: one after the magic number with the
//! conditions known at the start, and one after every row group with the metadata of that row
//! group and the conditions known by then. A file without a footer is searched for them.
//!
//! A block: the eight bytes `SFTRACE1`, kind (1 byte), payload length (4 bytes, little endian),
//! payload, FNV-1a hash of kind and payload (8 bytes, little endian).

/// Magic number at the beginning of a block.
const MAGIC: [u8; 8] = *b"SFTRACE1";
/// Length of the head in front of the payload, in bytes.
const HEAD: usize = MAGIC.len() + 1 + 4;
/// Length of the hash after the payload, in bytes.
const TAIL: usize = 8;
/// Largest payload that a reader accepts, in bytes.
pub const PAYLOAD_MAX: usize = 16 << 20;

/// The type of a block's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Conditions as JSON.
    Conditions = 1,
    /// A Parquet footer that describes one row group.
    RowGroup = 2,
}

/// Encodes a block.
pub fn encode(kind: BlockKind, payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(HEAD + payload.len() + TAIL);
    block.extend_from_slice(&MAGIC);
    block.push(kind as u8);
    block.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    block.extend_from_slice(payload);
    block.extend_from_slice(&hash(kind as u8, payload).to_le_bytes());
    block
}

/// Decodes the block at the beginning of `bytes`; returns its type, payload and total length,
/// or `None` if there is no intact block.
pub fn decode(bytes: &[u8]) -> Option<(BlockKind, &[u8], usize)> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (&number, rest) = rest.split_first()?;
    let kind = match number {
        1 => BlockKind::Conditions,
        2 => BlockKind::RowGroup,
        _ => return None,
    };
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let payload = rest.get(..length)?;
    let told = rest.get(length..)?.first_chunk::<TAIL>()?;
    (u64::from_le_bytes(*told) == hash(number, payload)).then_some((
        kind,
        payload,
        HEAD + length + TAIL,
    ))
}

/// Returns the total length of the block at the beginning of `bytes` according to its head.
pub fn told_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..HEAD)?.strip_prefix(&MAGIC)?;
    let length = u32::from_le_bytes(*head.get(1..)?.first_chunk::<4>()?);
    let length = usize::try_from(length).ok()?;
    (length <= PAYLOAD_MAX).then_some(HEAD + length + TAIL)
}

/// Returns the position of the first magic number.
pub fn find(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == MAGIC[0]) {
        let at = from + at;
        if bytes[at..].starts_with(&MAGIC) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

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
        let block = encode(BlockKind::RowGroup, b"payload");
        let mut bytes = b"SFTRACE SS".to_vec();
        bytes.extend_from_slice(&block);
        let at = find(&bytes).unwrap();
        assert_eq!(at, 10);
        assert_eq!(told_length(&bytes[at..]), Some(block.len()));
        assert_eq!(decode(&bytes[at..]), Some((BlockKind::RowGroup, &b"payload"[..], block.len())));
        for broken in 0..block.len() {
            let mut copy = block.clone();
            copy[broken] ^= 1;
            assert_eq!(decode(&copy), None, "byte {broken}");
            assert_eq!(decode(&block[..broken]), None);
        }
    }
}
