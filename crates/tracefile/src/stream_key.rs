//! The key of an I/O stream ([`StreamKey`]).

use crate::error::TraceError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use steadfast_domain::IoOp;
use steadfast_domain::text::excerpt;
use steadfast_domain::units::Bytes;

/// A distinct combination of operation, order and transfer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamKey {
    /// Operation.
    pub op: IoOp,
    /// True if its I/Os are sequential (SEQ) rather than random (RND).
    pub sequential: bool,
    /// Transfer size in bytes.
    pub bytes: u32,
}

impl StreamKey {
    /// Returns `RND` or `SEQ`.
    pub fn order(&self) -> &'static str {
        if self.sequential { "SEQ" } else { "RND" }
    }

    /// Packs the key into one number.
    #[inline]
    pub fn packed(self) -> u64 {
        u64::from(self.sequential) << 36 | (self.op as u64) << 32 | u64::from(self.bytes)
    }
    /// Unpacks a number that [`Self::packed`] made.
    pub fn unpacked(key: u64) -> StreamKey {
        let op =
            u8::try_from(key >> 32 & 7).ok().and_then(IoOp::from_number).unwrap_or(IoOp::Other);
        StreamKey { op, sequential: key >> 36 & 1 == 1, bytes: (key & u64::from(u32::MAX)) as u32 }
    }
}

impl fmt::Display for StreamKey {
    /// Formats in the notation of the standard: `RND 4K W`, `SEQ 128K R`, `FLUSH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Bytes(u64::from(self.bytes)).transfer_size();
        let op = match self.op {
            IoOp::Read => "R",
            IoOp::Write => "W",
            IoOp::Discard => "DISCARD",
            IoOp::Flush if self.bytes == 0 => return f.write_str("FLUSH"),
            IoOp::Flush => "FLUSH",
            IoOp::Other => "OTHER",
        };
        write!(f, "{} {size} {op}", self.order())
    }
}

impl FromStr for StreamKey {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let key = match words.as_slice() {
            ["FLUSH"] => Some(StreamKey { op: IoOp::Flush, sequential: false, bytes: 0 }),
            [order, size, op] => parse_key(order, size, op),
            _ => None,
        };
        key.ok_or_else(|| {
            TraceError::Unsuitable(format!(
                "'{}' is not an I/O stream; write it like \"RND 4K W\" or \"SEQ 128K R\"",
                excerpt(text)
            ))
        })
    }
}

fn parse_key(order: &str, size: &str, op: &str) -> Option<StreamKey> {
    let sequential = match order {
        "RND" => false,
        "SEQ" => true,
        _ => return None,
    };
    let op = match op {
        "R" => IoOp::Read,
        "W" => IoOp::Write,
        "DISCARD" | "TRIM" => IoOp::Discard,
        "FLUSH" => IoOp::Flush,
        "OTHER" => IoOp::Other,
        _ => return None,
    };
    let size: Bytes = size.parse().ok()?;
    Some(StreamKey { op, sequential, bytes: u32::try_from(size.0).ok()? })
}
