//! The executable of this program, as sent to other hosts.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The executable of this process without symbols and line numbers.
#[derive(Debug)]
pub(super) struct ProgramImage(File, OnceLock<Arc<Vec<u8>>>);

// Size of the ELF header and of a program header, and the type of a loaded segment (elf.h, 64
// bits).
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PT_LOAD: u32 = 1;

impl ProgramImage {
    /// Output of `uname -m` on a host that can run the program.
    pub const MACHINE: &'static str = std::env::consts::ARCH;

    /// Opens the executable of this process, even if the file was replaced since.
    pub fn open() -> io::Result<ProgramImage> {
        Ok(ProgramImage(File::open(Path::new("/proc/self/exe"))?, OnceLock::new()))
    }

    /// Returns the bytes that a kernel loads; empty if they cannot be read, so that nothing is
    /// sent.
    pub fn bytes(&self) -> Arc<Vec<u8>> {
        Arc::clone(self.1.get_or_init(|| Arc::new(read_loaded(&self.0).unwrap_or_default())))
    }
}

fn read_loaded(mut executable: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    executable.read_to_end(&mut bytes)?;
    bytes.truncate(loaded_length(&bytes).unwrap_or(bytes.len()));
    Ok(bytes)
}

/// Returns the end of the last loaded segment of an executable; `None` if it is no valid ELF file.
/// Symbols and line numbers follow, which are half of a development build.
fn loaded_length(bytes: &[u8]) -> Option<usize> {
    let at = |start: usize, length: usize| bytes.get(start..start.checked_add(length)?);
    let long = |start: usize| Some(u64::from_ne_bytes(at(start, 8)?.try_into().ok()?));
    let header = at(0, HEADER)?;
    if !header.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let first = usize::try_from(long(32)?).ok()?;
    let count = u16::from_ne_bytes(at(56, 2)?.try_into().ok()?);
    let mut end = None;
    for number in 0..usize::from(count) {
        let segment = first.checked_add(number * PROGRAM_HEADER)?;
        if u32::from_ne_bytes(at(segment, 4)?.try_into().ok()?) == PT_LOAD {
            let last = long(segment + 8)?.checked_add(long(segment + 32)?)?;
            end = end.max(Some(usize::try_from(last).ok()?));
        }
    }
    end.filter(|end| *end <= bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_loaded_segments_are_enough_to_run() {
        let whole = std::fs::metadata("/proc/self/exe").unwrap().len();
        let bytes = ProgramImage::open().unwrap().bytes();
        assert!((bytes.len() as u64) < whole, "{} of {whole}", bytes.len());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, &*bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        // This test binary lists its tests.
        let output = std::process::Command::new(&path).arg("--list").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("the_loaded_segments_are_enough_to_run"), "{output:?}");
    }

    #[test]
    fn what_is_no_executable_has_no_loaded_length() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02", &[0xff; 4096]] {
            assert_eq!(loaded_length(bytes), None);
        }
        let mut odd = vec![0xff_u8; 4096];
        odd[..5].copy_from_slice(b"\x7fELF\x02");
        assert_eq!(loaded_length(&odd), None);
    }
}
