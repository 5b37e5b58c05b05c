//! Directories in which the kernel describes the machine, and functions to read their text files.
//!
//! Every path in this crate starts at a [`SystemRoots`], so that tests can simulate the `/sys` and
//! `/proc` of another machine.

use crate::error::HostError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories in which the kernel and the distribution describe the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoots {
    /// sysfs, usually `/sys`.
    pub sys: PathBuf,
    /// procfs, usually `/proc`.
    pub proc: PathBuf,
    /// Device nodes, usually `/dev`.
    pub dev: PathBuf,
    /// Configuration of the distribution (`os-release`), usually `/etc`.
    pub etc: PathBuf,
    /// Runtime data of services (the udev database), usually `/run`.
    pub run: PathBuf,
    /// Backing files of a simulated machine's loop devices: one file per device, with device
    /// number, inode and number of the device node. `None` to query the devices.
    pub loops: Option<PathBuf>,
    /// Tables of a simulated machine's device-mapper devices: one file per device, as `dmsetup
    /// table` prints it. `None` to query device-mapper.
    pub tables: Option<PathBuf>,
}

impl SystemRoots {
    /// Returns the directories of this machine.
    pub fn real() -> Self {
        SystemRoots {
            sys: "/sys".into(),
            proc: "/proc".into(),
            dev: "/dev".into(),
            etc: "/etc".into(),
            run: "/run".into(),
            loops: None,
            tables: None,
        }
    }

    /// Returns the kernel's boot ID, which changes with every restart.
    pub(crate) fn boot_id(&self) -> Option<String> {
        read_text(&self.proc.join("sys/kernel/random/boot_id"))
    }

    /// Returns a path that the kernel prints (`/dev/mapper/root`), below `dev`.
    pub(crate) fn dev_path(&self, printed: &str) -> PathBuf {
        match printed.strip_prefix("/dev/") {
            Some(rest) => self.dev.join(rest),
            None => PathBuf::from(printed),
        }
    }
}

impl Default for SystemRoots {
    fn default() -> Self {
        SystemRoots::real()
    }
}

/// Reads a small text file without padding; `None` if it is empty or cannot be read.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    // Some firmware pads identity strings with blanks or zero bytes.
    let text = String::from_utf8_lossy(&bytes).trim_matches(is_padding).to_owned();
    (!text.is_empty()).then_some(text)
}

/// Reads a small text file as a number; `None` if it is none or cannot be read.
pub(crate) fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_text(path)?.parse().ok()
}

/// Returns the entries of a directory, ordered by name; empty if it cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    paths
}

/// Returns the entries of a directory, ordered by name; empty if it does not exist.
///
/// # Errors
/// Returns [`HostError::Io`] if it exists and cannot be read.
pub(crate) fn try_entries(directory: &Path) -> Result<Vec<PathBuf>, HostError> {
    let failed = |error| HostError::io("list it", directory, error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Returns the last component of a path as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns true if a name consists of this prefix and a decimal number.
pub(crate) fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix);
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns true for characters that pad fixed-size fields.
pub(crate) fn is_padding(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}
