//! Unpacks compressed files while they are read, in bounded memory and to a bounded size.

use std::cell::Cell;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::rc::Rc;

/// Number of bytes to which a file of any size may unpack.
const FREE_BYTES: u64 = 1 << 30;
/// Maximum ratio of unpacked to packed size above that; real traces stay below 100.
const RATIO_MAX: u64 = 1_000;
/// Memory of xz's decoder: enough for `xz -9`, whose files need 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;
/// Memory of zstd's decoder, as a power of two: the limit of zstd itself without `--long`.
const ZSTD_WINDOW: u32 = 27;

/// A reader that first returns bytes already read from its source.
pub type PeekedStream = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

/// Returns the first bytes and a reader that starts with them again.
pub fn peek(mut from: Box<dyn Read>, most: usize) -> io::Result<(Vec<u8>, PeekedStream)> {
    let mut beginning = Vec::new();
    from.by_ref().take(most as u64).read_to_end(&mut beginning)?;
    Ok((beginning.clone(), Cursor::new(beginning).chain(from)))
}

/// Returns a reader of a file's content, which unpacks gzip, zstd, xz and bzip2.
///
/// # Errors
/// Returns an error if the file cannot be read. Reading fails if the packed data is damaged, needs
/// too much memory, or unpacks to more than 1 GiB and to more than 1,000 times its size.
pub fn unpacked(file: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let packed = Rc::new(Cell::new(0));
    let (start, rest) = peek(file, 6)?;
    let rest = BufReader::new(CountedReader { inner: rest, bytes: Rc::clone(&packed) });
    let plain: Box<dyn Read> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(rest)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(rest)?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            Box::new(decoder)
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(rest, stream))
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(rest)),
        _ => return Ok(Box::new(rest)),
    };
    Ok(Box::new(BoundedReader { inner: plain, packed, unpacked: 0, free: FREE_BYTES }))
}

/// Counts the bytes that are read.
struct CountedReader<R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        self.bytes.set(self.bytes.get() + length as u64);
        Ok(length)
    }
}

/// Fails if a file unpacks to too many bytes.
struct BoundedReader<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    free: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let unpacked = self.unpacked;
            io::Error::other(format!(
                "it cannot be unpacked after {unpacked} bytes in at most {} MiB of memory: {error}; \
                 test it with the program that packed it, or unpack it first",
                XZ_MEMORY >> 20
            ))
        })?;
        self.unpacked += length as u64;
        let packed = self.packed.get();
        if self.unpacked > self.free && self.unpacked / RATIO_MAX > packed {
            return Err(io::Error::other(format!(
                "its first {packed} bytes unpack to more than {} MiB and to more than {RATIO_MAX} times \
                 their size, which is the limit; if it is a trace, unpack it first",
                self.free >> 20
            )));
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A reader of a gzip file of `length` zeros, bounded beyond `free` bytes.
    fn zeros(length: usize, free: u64) -> io::Result<u64> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&vec![0; length])?;
        let packed = Rc::new(Cell::new(0));
        let file =
            CountedReader { inner: Cursor::new(packer.finish()?), bytes: Rc::clone(&packed) };
        let inner = flate2::read::MultiGzDecoder::new(BufReader::with_capacity(512, file));
        io::copy(&mut BoundedReader { inner, packed, unpacked: 0, free }, &mut io::sink())
    }

    #[test]
    fn a_bomb_stops_at_the_bound_that_the_message_gives() {
        assert_eq!(zeros(10_007_000, 16 << 20).unwrap(), 10_007_000);
        let error = zeros(10_007_000, 2 << 20).unwrap_err().to_string();
        assert!(error.contains("more than 2 MiB and to more than 1000 times"), "{error}");
    }
}
