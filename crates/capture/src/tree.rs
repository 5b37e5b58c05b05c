//! Directories below a directory, level by level.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory and all below it; one that cannot be read has none below it.
pub(crate) fn directories(top: &Path) -> impl Iterator<Item = PathBuf> {
    let mut left = VecDeque::from([top.to_owned()]);
    std::iter::from_fn(move || {
        let here = left.pop_front()?;
        let entries = fs::read_dir(&here).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        left.extend(below.map(|entry| entry.path()));
        Some(here)
    })
}
