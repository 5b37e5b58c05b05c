//! Writes the cpio archive ("newc") that a kernel unpacks as its initial root.

use std::io::{self, Write};

/// An archive being written.
pub struct Archive<W: Write> {
    to: W,
    entries: u32,
}

/// Mode bits of `stat` for an entry.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

impl<W: Write> Archive<W> {
    /// Returns an empty archive.
    pub fn new(to: W) -> Self {
        Archive { to, entries: 0 }
    }

    /// Adds a directory; its parents must have been added before.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, &[])
    }

    /// Adds an executable file.
    pub fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, content)
    }

    /// Ends the archive.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        Ok(self.to)
    }

    /// Writes an entry. The header has a magic, then inode, mode, owner, group, links, time, size,
    /// device and node numbers, length of the name and an unused checksum, each as eight
    /// hexadecimal digits. Name and content are padded to four bytes.
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let size = u32::try_from(content.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let length = name.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length, 0];
        let mut header = String::from("070701");
        fields.iter().for_each(|field| header.push_str(&format!("{field:08X}")));
        header.push_str(name);
        self.padded(header.as_bytes(), 1)?;
        self.padded(content, 0)
    }

    /// Writes the bytes, at least `least` zeros, and more zeros up to a multiple of four.
    fn padded(&mut self, bytes: &[u8], least: usize) -> io::Result<()> {
        let padded = (bytes.len() + least).next_multiple_of(4);
        self.to.write_all(bytes)?;
        self.to.write_all(&[0; 8][..padded - bytes.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// cpio reads back what was written.
    #[test]
    fn cpio_reads_the_archive() {
        let mut archive = Archive::new(Vec::new());
        archive.directory("a").unwrap();
        archive.program("a/b", b"hello").unwrap();
        let bytes = archive.finish().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let Ok(mut cpio) = Command::new("busybox")
            .args(["cpio", "-i"])
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
        else {
            std::io::stderr()
                .write_all(b"SKIPPED: cpio_reads_the_archive: busybox is not installed\n")
                .unwrap();
            return;
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(cpio.wait().unwrap().success());
        assert_eq!(std::fs::read(directory.path().join("a/b")).unwrap(), b"hello");
    }
}
