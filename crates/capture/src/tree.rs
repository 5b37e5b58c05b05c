//! Breadth-first traversal of directories.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a directory and all directories below it. One that cannot be read is taken as empty.
pub(crate) fn directories(top: &Path) -> impl Iterator<Item = PathBuf> {
    let mut unvisited = VecDeque::from([top.to_owned()]);
    std::iter::from_fn(move || {
        let directory = unvisited.pop_front()?;
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        unvisited.extend(below.map(|entry| entry.path()));
        Some(directory)
    })
}
