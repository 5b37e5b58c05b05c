//! Reading a file that the user names: a regular one, and not without end.

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use steadfast_domain::sequence::SequenceSource;

/// The largest file of another tool that is read: theirs are of some KiB.
const FOREIGN_MAX: u64 = 16 << 20;

/// Reads a file of another tool: a regular one of a reasonable size.
pub fn foreign(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = read(path, FOREIGN_MAX)?;
    if bytes.len() as u64 > FOREIGN_MAX {
        bail!("{} is larger than 16 MiB, which no such file is", path.display());
    }
    Ok(bytes)
}

/// What names a file in a record.
pub fn source(path: &Path, bytes: &[u8]) -> SequenceSource {
    let digits = Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    let name = path.file_name().unwrap_or(path.as_os_str());
    SequenceSource { name: name.to_string_lossy().into_owned(), sha256: digits }
}

/// The bytes of a regular file; of one that is longer than `most`, one byte more than that.
pub fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("{shown} cannot be opened"))?;
    if !metadata.is_file() {
        bail!("{shown} is not a regular file");
    }
    let file = File::open(path).with_context(|| format!("{shown} cannot be opened"))?;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown} cannot be read"))?;
    Ok(bytes)
}
