//! Sums of the I/Os of a stream or a process, and the names that both have in queries.

use serde::{Deserialize, Serialize};
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_domain::IoOp;
use steadfast_tracefile::StreamKey;

/// Sums over the I/Os of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySum {
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl KeySum {
    /// Adds I/Os and bytes.
    pub fn add(&mut self, ios: u64, bytes: u64) {
        self.ios += ios;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Returns the name of a stream for display and for queries.
pub fn stream_id(key: &StreamKey) -> String {
    key.to_string()
}

/// Returns the name of a process for queries: its number, or its command name if the number is
/// unknown.
pub fn process_id(key: &ProcessKey) -> String {
    if key.pid > 0 { key.pid.to_string() } else { key.command.to_string() }
}

/// Returns the operation with a name of the command line.
pub fn op_named(name: &str) -> Option<IoOp> {
    match name {
        "read" | "r" => Some(IoOp::Read),
        "write" | "w" => Some(IoOp::Write),
        "discard" | "trim" => Some(IoOp::Discard),
        "flush" => Some(IoOp::Flush),
        "other" => Some(IoOp::Other),
        _ => None,
    }
}
