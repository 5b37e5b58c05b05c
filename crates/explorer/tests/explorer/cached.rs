//! Index files: a damaged one, or one of another capture, is never used.

use super::paths::{IOS, write};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_explorer::cache::IndexStore;
use steadfast_explorer::capture::{ExploredCapture, open_all};
use steadfast_explorer::http_error::HttpError;

/// Keeps indexes in a directory, which is created with the first.
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
fn an_index_is_cached_and_rebuilt_if_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("t.parquet"), directory.path().join("cache"));
    write(&path);
    let first = opened(&path, &cache);
    assert!(!first.origin().unwrap().from_cache);
    let whole = fs::read(index_file(&cache)).unwrap();
    let second = opened(&path, &cache);
    assert!(second.origin().unwrap().from_cache);
    assert_eq!(second.index().unwrap().cells.span_ns(), first.index().unwrap().cells.span_ns());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let mut other_version = whole.clone();
    other_version[8] ^= 1;
    let cut = whole[..whole.len() / 3].to_vec();
    for damaged in [flipped, other_version, cut, Vec::new(), b"something else".to_vec()] {
        fs::write(index_file(&cache), damaged).unwrap();
        let capture = opened(&path, &cache);
        assert!(!capture.origin().unwrap().from_cache);
        assert_eq!(capture.index().unwrap().ios, IOS);
        assert_eq!(fs::read(index_file(&cache)).unwrap(), whole);
    }
}

#[test]
fn an_index_that_cannot_be_cached_is_built() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = opened(&path, &path.join("cache"));
    assert_eq!(capture.origin().unwrap().bytes, None);
    assert_eq!(capture.index().unwrap().ios, IOS);
}

#[test]
fn questions_about_a_changed_file_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path);
    let capture = opened(&path, &directory.path().join("cache"));
    // Another file gets its name; the opened one still exists.
    let moved = directory.path().join("moved.parquet");
    fs::rename(&path, &moved).unwrap();
    fs::write(&path, b"no trace").unwrap();
    assert!(capture.captured().is_ok());
    fs::OpenOptions::new().write(true).open(&moved).unwrap().set_len(1000).unwrap();
    let HttpError { status, text } = capture.captured().err().unwrap();
    assert_eq!(status, 409);
    assert!(text.contains("was changed"), "{text}");
}

/// Only the beginning exists because the writer was killed, or a part was copied.
#[test]
fn a_cut_trace_is_refused_or_shown_in_part() {
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
