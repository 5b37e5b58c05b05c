//! The user's cache directory, where the explorer keeps indexes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use steadfast_explorer::cache::{ENDING, IndexStore};
use steadfast_host::{Directory, FileError, NewFile, OverwritePolicy, ReadAccess};

/// Subdirectory of the user's cache directory.
const DIRECTORY_NAME: &str = "steadfast";
/// Maximum number of index files; the oldest are removed.
const INDEXES_MAX: usize = 32;
/// Maximum size of an index in bytes; 100 million I/Os need 24 MB.
const INDEX_MAX: u64 = 4 << 30;
/// File extension during writing.
const UNFINISHED: &str = "unfinished";
/// Age after which an unfinished file is considered abandoned.
const UNFINISHED_AGE_MAX: Duration = Duration::from_secs(86_400);

/// An index directory that only this user can modify.
pub struct IndexCache(Directory);

impl IndexCache {
    /// Opens or creates the directory: `$XDG_CACHE_HOME/steadfast` or `~/.cache/steadfast`. `None`
    /// if the environment names neither.
    ///
    /// # Errors
    /// Returns an error if another user can modify or replace the directory: its indexes could not
    /// be trusted.
    pub fn open() -> Result<Option<IndexCache>, FileError> {
        match base() {
            Some(base) => IndexCache::open_in(&base).map(Some),
            None => Ok(None),
        }
    }

    fn open_in(base: &Path) -> Result<IndexCache, FileError> {
        Directory::check_place(&base.join(DIRECTORY_NAME))?;
        let base = Directory::make(base, ReadAccess::Usual)?;
        let directory = Directory::private_in(&base, DIRECTORY_NAME)?;
        directory.refuse_exchangeable()?;
        Ok(IndexCache(directory))
    }

    /// Removes abandoned files and the oldest indexes beyond the limit. Failures are ignored and
    /// retried next time.
    fn tidy(&self) {
        let mut indexes: Vec<(SystemTime, OsString)> = Vec::new();
        for name in self.0.names().unwrap_or_default() {
            let found = self.0.entry_metadata(&name).ok().flatten().filter(|found| found.is_file());
            let Some(modified) = found.and_then(|found| found.modified().ok()) else { continue };
            let age = SystemTime::now().duration_since(modified).unwrap_or_default();
            match Path::new(&name).extension().and_then(OsStr::to_str) {
                Some(ENDING) => indexes.push((modified, name)),
                Some(UNFINISHED) if age > UNFINISHED_AGE_MAX => drop(self.0.remove(&name)),
                _ => {}
            }
        }
        indexes.sort();
        let beyond = indexes.len().saturating_sub(INDEXES_MAX);
        indexes[..beyond].iter().for_each(|(_, name)| drop(self.0.remove(name)));
    }
}

impl IndexStore for IndexCache {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.read(OsStr::new(name), INDEX_MAX).ok()
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = NewFile::create_in(
            &self.0,
            OsStr::new(name),
            OverwritePolicy::Overwrite,
            ReadAccess::Usual,
        );
        new.and_then(|new| new.write_and_persist(content)).map_err(io::Error::other)?;
        self.tidy();
        Ok(())
    }
}

fn base() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn what_a_killed_process_left_goes_and_only_the_newest_indexes_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let cache = IndexCache::open_in(&scratch.path().join("a/b")).unwrap();
        let place = scratch.path().join("a/b/steadfast");
        let (old, new) = (place.join(".1.unfinished"), place.join(".2.unfinished"));
        for left in [&old, &new] {
            fs::write(left, b"half of an index").unwrap();
        }
        let long_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
        fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        for number in 0..INDEXES_MAX + 3 {
            cache.write(&format!("{number}.index"), b"whole").unwrap();
            let at = long_ago + Duration::from_secs(number as u64);
            let file = fs::File::options().write(true).open(place.join(format!("{number}.index")));
            file.unwrap().set_modified(at).unwrap();
        }
        assert!(!old.exists() && new.exists());
        assert_eq!(cache.read("2.index"), None);
        assert_eq!(cache.read("34.index").as_deref(), Some(&b"whole"[..]));
        assert_eq!(fs::read_dir(&place).unwrap().count(), INDEXES_MAX + 1);
    }

    #[test]
    fn a_cache_of_another_user_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().join("base");
        let outside = scratch.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir(&base).unwrap();
        symlink(&outside, base.join(DIRECTORY_NAME)).unwrap();
        assert!(IndexCache::open_in(&base).is_err(), "a link");
        fs::remove_file(base.join(DIRECTORY_NAME)).unwrap();
        IndexCache::open_in(&base).unwrap();
        if fs::metadata(&base).is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0) {
            chown(base.join(DIRECTORY_NAME), Some(65_534), None).unwrap();
            assert!(IndexCache::open_in(&base).is_err(), "another user's");
            chown(base.join(DIRECTORY_NAME), Some(0), None).unwrap();
            chown(&base, Some(65_534), None).unwrap();
            assert!(IndexCache::open_in(&base).is_err(), "he can exchange it");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
