//! Index files: whole or not there, of this capture or of none.

use super::paths::{IOS, write};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_explorer::cache::IndexStore;
use steadfast_explorer::capture::{ExploredCapture, open_all};
use steadfast_explorer::http_error::HttpError;

/// Keeps indexes in a directory, which is made with the first.
struct TestStore<'a>(&'a Path);

impl IndexStore for TestStore<'_> {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join(name)).ok()
    }
    fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(self.0)?;
        fs::write(self.0.join(name), content)
    }
}

fn opened(path: &Path, cache: &Path) -> ExploredCapture {
    let capture = open_all(&[path.to_owned()], None).unwrap().remove(0);
    capture.prepare(Some(&TestStore(cache)));
    capture
}

fn index_file(cache: &Path) -> PathBuf {
    let files: Vec<PathBuf> = fs::read_dir(cache).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn an_index_is_kept_and_damage_to_it_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("t.parquet"), directory.path().join("cache"));
    write(&path);
    let first = opened(&path, &cache);
    assert!(!first.made().unwrap().from_cache);
    let whole = fs::read(index_file(&cache)).unwrap();
    let again = opened(&path, &cache);
    assert!(again.made().unwrap().from_cache);
    assert_eq!(again.index().unwrap().cells.span_ns(), first.index().unwrap().cells.span_ns());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let mut other_version = whole.clone();
    other_version[8] ^= 1;
    let cut = whole[..whole.len() / 3].to_vec();
    for damaged in [flipped, other_version, cut, Vec::new(), b"something else".to_vec()] {
        fs::write(index_file(&cache), damaged).unwrap();
        let capture = opened(&path, &cache);
        assert!(!capture.made().unwrap().from_cache);
        assert_eq!(capture.index().unwrap().ios, IOS);
        assert_eq!(fs::read(index_file(&cache)).unwrap(), whole);
    }
}

#[test]
fn an_index_that_cannot_be_kept_is_made_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let no_directory = directory.path().join("t.parquet/cache");
    let capture = opened(&path, &no_directory);
    assert_eq!(capture.made().unwrap().bytes, None);
    assert_eq!(capture.index().unwrap().ios, IOS);
}

#[test]
fn a_file_that_changes_is_no_longer_answered_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = opened(&path, &directory.path().join("cache"));
    // Another file under its name: the one that was opened is still there.
    let moved = directory.path().join("moved.parquet");
    fs::rename(&path, &moved).unwrap();
    fs::write(&path, b"no trace").unwrap();
    assert!(capture.captured().is_ok());
    fs::OpenOptions::new().write(true).open(&moved).unwrap().set_len(1000).unwrap();
    let Err(HttpError { status, text }) = capture.captured().map(|_| ()) else {
        panic!("it was answered for")
    };
    assert_eq!(status, 409);
    assert!(text.contains("was changed"), "{text}");
}

/// The beginning of a trace: its writer was killed, or it was copied in part.
#[test]
fn a_trace_that_was_cut_off_is_refused_or_shown_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cut) = (directory.path().join("t.parquet"), directory.path().join("cut.parquet"));
    write(&path);
    let whole = fs::read(&path).unwrap();
    for share in [0, 1, 3, 7, 9] {
        fs::write(&cut, &whole[..whole.len() / 10 * share]).unwrap();
        let Ok(mut captures) = open_all(std::slice::from_ref(&cut), None) else { continue };
        let capture = captures.remove(0);
        capture.prepare(None);
        let index = capture.index().unwrap();
        assert!(index.ios < IOS && !index.caveats.is_empty(), "{share}: {:?}", index.caveats);
    }
}
