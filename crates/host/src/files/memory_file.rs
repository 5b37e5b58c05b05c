//! Files in memory for another program.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io::{self, Write};

/// Creates an empty anonymous file in memory. A child process inherits it only as its standard
/// input or output.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn memory_file() -> io::Result<File> {
    Ok(memfd_create("steadfast", MemfdFlags::CLOEXEC)?.into())
}

/// Writes a text to an anonymous file in memory and seals it against changes. A child process that
/// inherits the descriptor reads it as `/proc/self/fd/N`.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn sealed_text(text: &str) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("steadfast", flags)?);
    file.write_all(text.as_bytes())?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}
