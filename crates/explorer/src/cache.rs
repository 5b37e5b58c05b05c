//! Cached indexes: one file per capture, named by the identity of the capture's files. A file that
//! is damaged or of another version is treated as missing.

use crate::index::{Index, VERSION};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use steadfast_domain::hex::to_hex;

/// First bytes of an index file.
pub const MAGIC: &[u8; 8] = b"SFEXPLOR";
/// Length of a SHA-256 digest, in bytes.
const DIGEST_BYTES: usize = 32;
/// Bytes at the end of a file that are part of its identity: the footer of a trace lies there.
const TAIL_BYTES: u64 = 64 << 10;
/// Extension of index files.
pub const ENDING: &str = "index";
const ZSTD_LEVEL: i32 = 1;

/// Identity of a file. It differs between files, and changes when a file is modified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFingerprint {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    tail: [u8; DIGEST_BYTES],
}

impl FileFingerprint {
    /// Returns the identity of an open file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn from_file(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        let mut tail = Vec::new();
        let mut reader = file;
        reader.seek(SeekFrom::Start(found.size().saturating_sub(TAIL_BYTES)))?;
        reader.take(TAIL_BYTES).read_to_end(&mut tail)?;
        Ok(FileFingerprint {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            tail: Sha256::digest(&tail).into(),
        })
    }

    /// Returns whether an open file is unchanged, as far as its metadata shows.
    pub fn matches(&self, file: &File) -> bool {
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

    /// Writes a file atomically.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()>;
}

/// Returns the name of a capture's index file.
pub fn index_name(files: &[FileFingerprint]) -> String {
    let mut digest = Sha256::new();
    for file in files {
        let numbers = [file.device, file.inode, file.size];
        numbers.iter().for_each(|number| digest.update(number.to_le_bytes()));
        digest.update(file.modified.0.to_le_bytes());
        digest.update(file.modified.1.to_le_bytes());
        digest.update(file.tail);
    }
    format!("{}.{ENDING}", to_hex(&digest.finalize()[..16]))
}

/// Reads the index of a name; `None` if it is missing, damaged or of another version.
pub fn read(store: &dyn IndexStore, name: &str) -> Option<Index> {
    let bytes = store.read(name)?;
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?;
    let (digest, packed) = rest.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(packed)[..] != *digest {
        return None;
    }
    let content = zstd::decode_all(packed).ok()?;
    drop(bytes);
    postcard::from_bytes(&content).ok()
}

/// Writes an index. Returns the size of its file, in bytes.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(store: &dyn IndexStore, name: &str, index: &Index) -> io::Result<u64> {
    // The index is compressed while it is serialized, so that the uncompressed form is never in
    // memory.
    let encoder = BufWriter::new(zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?);
    let encoder = postcard::to_io(index, encoder).map_err(io::Error::other)?;
    let packed = encoder.into_inner().map_err(|error| error.into_error())?.finish()?;
    let version = VERSION.to_le_bytes();
    let content = [&MAGIC[..], &version, &Sha256::digest(&packed), &packed].concat();
    drop(packed);
    store.write(name, &content)?;
    Ok(content.len() as u64)
}
