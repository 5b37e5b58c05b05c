//! Input files: regular files of bounded size.

use sha2::{Digest, Sha256};
use std::path::Path;
use steadfast_domain::hex::to_hex;
use steadfast_domain::sequence::SequenceSource;
use steadfast_host::read_regular;

/// Maximum size of another tool's file in bytes; usual ones have a few KiB.
const FOREIGN_MAX: u64 = 16 << 20;

/// Reads a file of another tool, which must be regular and at most 16 MiB large.
pub fn foreign(path: &Path) -> anyhow::Result<Vec<u8>> {
    Ok(read_regular(path, FOREIGN_MAX)?)
}

/// Returns a file's name and digest for a record.
pub fn source(path: &Path, bytes: &[u8]) -> SequenceSource {
    let name = path.file_name().unwrap_or(path.as_os_str());
    SequenceSource {
        name: name.to_string_lossy().into_owned(),
        sha256: to_hex(&Sha256::digest(bytes)),
    }
}
