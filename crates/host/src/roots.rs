//! Where the kernel tells about itself, and how its small text files are read.
//!
//! Every path of this crate begins at a [`Roots`], so that a test can lay out
//! `/sys` and `/proc` of a machine that is not there.

use crate::error::HostError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directories in which the kernel and the distribution tell about the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
    /// The distribution's own (`os-release`).
    pub etc: PathBuf,
    /// What services keep while they run (the udev database).
    pub run: PathBuf,
    /// What the loop devices of a machine that is laid out in a directory are laid
    /// over: for each a file of its name with the device number, the inode and the
    /// number of the device node. `None` asks the devices themselves.
    pub loops: Option<PathBuf>,
    /// The tables of the device-mapper devices of such a machine: for each a file of its
    /// name, as `dmsetup table` prints it. `None` asks device-mapper.
    pub tables: Option<PathBuf>,
}

impl Roots {
    /// Those of this machine.
    pub fn real() -> Self {
        Roots {
            sys: "/sys".into(),
            proc: "/proc".into(),
            dev: "/dev".into(),
            etc: "/etc".into(),
            run: "/run".into(),
            loops: None,
            tables: None,
        }
    }

    /// A path as the kernel prints it (`/dev/mapper/root`), below `dev`.
    pub(crate) fn dev_path(&self, printed: &str) -> PathBuf {
        match printed.strip_prefix("/dev/") {
            Some(rest) => self.dev.join(rest),
            None => PathBuf::from(printed),
        }
    }
}

impl Default for Roots {
    fn default() -> Self {
        Roots::real()
    }
}

/// The trimmed content of a small text file; `None` where it cannot be read or
/// says nothing.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    // Identity strings are padded with blanks or zero bytes by some firmware.
    let text = String::from_utf8_lossy(&bytes).trim_matches(is_padding).to_owned();
    (!text.is_empty()).then_some(text)
}

/// The content of a small text file as a number.
pub(crate) fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_text(path)?.parse().ok()
}

/// The entries of a directory in the order of their names; none where it
/// cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = found.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    paths
}

/// The entries of a directory in the order of their names.
///
/// # Errors
/// Where it cannot be read. One that is not there has none.
pub(crate) fn listed(directory: &Path) -> Result<Vec<PathBuf>, HostError> {
    let failed = |error| HostError::io("list it", directory, error);
    let found = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in found {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last component of a path as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a character only fills a fixed field.
pub(crate) fn is_padding(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}
