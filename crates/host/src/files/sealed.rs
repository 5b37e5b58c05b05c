//! Immutable text in memory for another program.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// Writes a text to an anonymous file in memory and seals it against changes. A child process that
/// inherits the descriptor reads it as `/proc/self/fd/N`.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn sealed_text(text: &str) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with NUL; it is only shown.
    let answer = unsafe { libc::memfd_create(c"steadfast".as_ptr(), flags) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave this descriptor to us alone.
    let mut file = unsafe { File::from_raw_fd(answer) };
    file.write_all(text.as_bytes())?;
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: the descriptor is open, and the argument a number.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}
