//! Where job files and answers are kept.

use std::fs;
use std::io;
use std::path::PathBuf;
use steadfast_host::{Directory, Readers};

/// Makes a directory, and says with which number job files go on from those in it. fio is
/// told the path, and may look at it from elsewhere, so it becomes an absolute one.
pub(super) fn make(directory: &mut PathBuf) -> io::Result<u32> {
    Directory::make(directory, Readers::Usual).map_err(io::Error::other)?;
    *directory = directory.canonicalize()?;
    let mut last = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}
