//! Reading a file that the user names: a regular one, and not without end.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

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
