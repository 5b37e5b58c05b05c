//! Reading a file that the user names: a regular one, and not without end.

use sha2::{Digest, Sha256};
use std::path::Path;
use steadfast_domain::hex::to_hex;
use steadfast_domain::sequence::SequenceSource;
use steadfast_host::read_regular;

/// The largest file of another tool that is read: theirs are of some KiB.
const FOREIGN_MAX: u64 = 16 << 20;

/// Reads a file of another tool: a regular one of a reasonable size.
pub fn foreign(path: &Path) -> anyhow::Result<Vec<u8>> {
    Ok(read_regular(path, FOREIGN_MAX)?)
}

/// What names a file in a record.
pub fn source(path: &Path, bytes: &[u8]) -> SequenceSource {
    let name = path.file_name().unwrap_or(path.as_os_str());
    SequenceSource {
        name: name.to_string_lossy().into_owned(),
        sha256: to_hex(&Sha256::digest(bytes)),
    }
}
