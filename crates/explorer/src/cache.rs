//! Kept indexes: a file for each capture, found by the identity of the capture's files.
//! A damaged one, or one of another version, is as good as none.

use crate::index::{Index, VERSION};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

const MAGIC: &[u8; 8] = b"SFEXPLOR";
/// Length of a SHA-256.
const DIGEST: usize = 32;
/// Bytes at the end of a file that tell it apart: a trace's footer is there.
const TAIL: u64 = 64 << 10;
/// Ending of the names of index files.
pub const ENDING: &str = "index";
const ZSTD_LEVEL: i32 = 1;

/// What tells a file apart from every other, and from itself after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    tail: [u8; DIGEST],
}

impl Identity {
    /// That of an open file.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        let mut tail = Vec::new();
        let mut reader = file;
        reader.seek(SeekFrom::Start(found.size().saturating_sub(TAIL)))?;
        reader.take(TAIL).read_to_end(&mut tail)?;
        Ok(Identity {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            tail: Sha256::digest(&tail).into(),
        })
    }

    /// Whether an open file is as it was, as far as that is seen without reading it.
    pub fn still_fits(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|now| {
            (now.dev(), now.ino(), now.size()) == (self.device, self.inode, self.size)
                && (now.mtime(), now.mtime_nsec()) == self.modified
        })
    }
}

/// A directory of index files.
pub trait IndexStore: Sync {
    /// Reads a file; `None` if it is missing or cannot be read.
    fn read(&self, name: &str) -> Option<Vec<u8>>;

    /// Keeps a file, whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()>;
}

/// Returns the name of a capture's index file.
pub fn name_of(files: &[Identity]) -> String {
    let mut digest = Sha256::new();
    for file in files {
        let numbers = [file.device, file.inode, file.size];
        numbers.iter().for_each(|number| digest.update(number.to_le_bytes()));
        digest.update(file.modified.0.to_le_bytes());
        digest.update(file.modified.1.to_le_bytes());
        digest.update(file.tail);
    }
    let name: String = digest.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
    format!("{name}.{ENDING}")
}

/// Reads the index that is kept under a name, if it is whole and of this version.
pub fn read(store: &dyn IndexStore, name: &str) -> Option<Index> {
    let bytes = store.read(name)?;
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?;
    let (digest, packed) = rest.split_at_checked(DIGEST)?;
    if Sha256::digest(packed)[..] != *digest {
        return None;
    }
    let content = zstd::decode_all(packed).ok()?;
    drop(bytes);
    postcard::from_bytes(&content).ok()
}

/// Keeps an index. Returns the size of its file.
///
/// # Errors
/// Where it cannot be written.
pub fn write(store: &dyn IndexStore, name: &str, index: &Index) -> io::Result<u64> {
    // Written through, so that it never stands in memory unpacked.
    let encoder = BufWriter::new(zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?);
    let encoder = postcard::to_io(index, encoder).map_err(io::Error::other)?;
    let packed = encoder.into_inner().map_err(|error| error.into_error())?.finish()?;
    let version = VERSION.to_le_bytes();
    let content = [&MAGIC[..], &version, &Sha256::digest(&packed), &packed].concat();
    drop(packed);
    store.write(name, &content)?;
    Ok(content.len() as u64)
}
