//! Where indexes are kept: a file for each capture in the user's cache directory,
//! found by the identity of the capture's files, whole or not there. A damaged one,
//! or one of another version, is as good as none.

use crate::index::{Index, VERSION};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"SFEXPLOR";
/// Length of a SHA-256.
const DIGEST: usize = 32;
/// Bytes at the end of a file that tell it apart: a trace's footer is there.
const TAIL: u64 = 64 << 10;
/// Index files that are kept; the oldest beyond these are removed.
const KEPT: usize = 32;
const ENDING: &str = "index";
/// Beginning of the name of a file that is being written.
const UNFINISHED: &str = ".index-";
/// Age from which an unfinished file is what a killed process left.
const UNFINISHED_MOST: Duration = Duration::from_secs(86_400);
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

/// The cache directory, where there can be one: `$XDG_CACHE_HOME/steadfast` or
/// `~/.cache/steadfast`.
pub fn usual_directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("steadfast"))
}

/// The index file of a capture.
pub fn path_of(directory: &Path, files: &[Identity]) -> PathBuf {
    let mut digest = Sha256::new();
    for file in files {
        let numbers = [file.device, file.inode, file.size];
        numbers.iter().for_each(|number| digest.update(number.to_le_bytes()));
        digest.update(file.modified.0.to_le_bytes());
        digest.update(file.modified.1.to_le_bytes());
        digest.update(file.tail);
    }
    let name: String = digest.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
    directory.join(format!("{name}.{ENDING}"))
}

/// The index that is kept, where it is whole and of this version.
pub fn read(path: &Path) -> Option<Index> {
    let bytes = fs::read(path).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?;
    let (digest, packed) = rest.split_at_checked(DIGEST)?;
    if Sha256::digest(packed)[..] != *digest {
        return None;
    }
    let content = zstd::decode_all(packed).ok()?;
    drop(bytes);
    postcard::from_bytes(&content).ok()
}

/// Keeps an index, whole or not at all, and removes the oldest beyond the number that
/// is kept. Returns its size.
///
/// # Errors
/// Where it cannot be written.
pub fn write(path: &Path, index: &Index) -> io::Result<u64> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Written through, so that it never stands in memory unpacked.
    let encoder = BufWriter::new(zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?);
    let encoder = postcard::to_io(index, encoder).map_err(io::Error::other)?;
    let packed = encoder.into_inner().map_err(|error| error.into_error())?.finish()?;
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
    file.write_all(MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    file.write_all(&Sha256::digest(&packed))?;
    file.write_all(&packed)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    remove_oldest(directory);
    Ok((MAGIC.len() + 4 + DIGEST + packed.len()) as u64)
}

/// Only index files are looked at.
fn remove_oldest(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.iter().filter(|path| is_left_over(path)).for_each(|path| drop(fs::remove_file(path)));
    let is_index = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    let paths = paths.into_iter().filter(is_index);
    let dated = |path: PathBuf| Some((fs::symlink_metadata(&path).ok()?.modified().ok()?, path));
    let mut all: Vec<_> = paths.filter_map(dated).collect();
    all.sort();
    let beyond = all.len().saturating_sub(KEPT);
    for (_, path) in &all[..beyond] {
        // One that cannot be removed now is removed later.
        let _ = fs::remove_file(path);
    }
}

/// Whether a process that was killed left it.
fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let modified = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    name.is_some_and(|name| name.starts_with(UNFINISHED))
        && age.is_some_and(|age| age > UNFINISHED_MOST)
}
