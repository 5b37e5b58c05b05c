//! Adapts `Read + Seek` to the interface of the Parquet library.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes read at a time if a column is too long to be held in memory.
const BUFFER: usize = 1 << 10;
/// Largest footer, page or column chunk that is read in one piece.
const READ_MAX: usize = 256 << 20;

/// A medium that holds a trace: a file, or bytes in memory.
pub trait TraceMedium: Read + Seek + Send + 'static {}

impl<M: Read + Seek + Send + 'static> TraceMedium for M {}

/// A medium shared by several column readers.
#[derive(Clone)]
pub struct SharedMedium {
    medium: Arc<Mutex<dyn TraceMedium>>,
    /// Length in bytes.
    pub length: u64,
}

impl SharedMedium {
    /// Opens a medium and determines its length.
    ///
    /// # Errors
    /// Returns an error if the medium cannot seek to its end.
    pub fn new(mut medium: impl TraceMedium) -> io::Result<Self> {
        let length = medium.seek(SeekFrom::End(0))?;
        Ok(SharedMedium { medium: Arc::new(Mutex::new(medium)), length })
    }

    /// Returns the same medium, as if it ended after `length` bytes.
    pub fn ending_at(&self, length: u64) -> Self {
        SharedMedium { length: self.length.min(length), ..self.clone() }
    }

    /// Returns up to `length` bytes from `start`; fewer at the end of the medium.
    pub fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let available = self.length.saturating_sub(start).min(length as u64);
        let mut bytes = Vec::with_capacity(usize::try_from(available).unwrap_or(0));
        let mut medium = self.medium.lock().unwrap_or_else(PoisonError::into_inner);
        medium.seek(SeekFrom::Start(start))?;
        (&mut *medium).take(available).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn exactly(&self, start: u64, length: usize) -> Result<Bytes> {
        if length > READ_MAX {
            let what = format!("{length} bytes at {start} exceed the limit for one read");
            return Err(ParquetError::General(what));
        }
        let bytes = self.read(start, length)?;
        if bytes.len() == length { Ok(bytes.into()) } else { Err(cut_off(start, length)) }
    }
}

fn cut_off(start: u64, length: usize) -> ParquetError {
    ParquetError::EOF(format!("{length} bytes at {start} reach beyond the end of the file"))
}

/// A read position in the shared medium.
pub struct MediumCursor {
    source: SharedMedium,
    at: u64,
}

impl Read for MediumCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(self.at, buffer.len())?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
}

impl Length for SharedMedium {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedMedium {
    type T = BufReader<MediumCursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let position = MediumCursor { source: self.clone(), at: start };
        Ok(BufReader::with_capacity(BUFFER, position))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.exactly(start, length)
    }
}

/// A part of the medium held in memory: a column chunk or a row group.
#[derive(Clone)]
pub struct HeldBytes {
    start: u64,
    pub bytes: Bytes,
}

impl HeldBytes {
    pub fn new(source: &SharedMedium, start: u64, length: usize) -> Result<Self> {
        Ok(HeldBytes { start, bytes: source.exactly(start, length)? })
    }

    /// Reads `length` bytes from `start`, or fewer if the medium ends first.
    pub fn up_to(source: &SharedMedium, start: u64, length: usize) -> io::Result<Self> {
        Ok(HeldBytes { start, bytes: source.read(start, length)?.into() })
    }

    /// Returns the held bytes from an offset in the file; `None` if it is outside of them.
    fn tail_from(&self, start: u64) -> Option<Bytes> {
        let at = usize::try_from(start.checked_sub(self.start)?).ok()?;
        (at <= self.bytes.len()).then(|| self.bytes.slice(at..))
    }
}

impl Length for HeldBytes {
    /// Returns the end of the held bytes: the library's offsets are those of the whole file.
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for HeldBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let rest = self.tail_from(start).ok_or_else(|| {
            ParquetError::EOF(format!("offset {start} is outside of the bytes held in memory"))
        })?;
        Ok(bytes::Buf::reader(rest))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let rest = self.tail_from(start).filter(|rest| rest.len() >= length);
        rest.map(|rest| rest.slice(..length)).ok_or_else(|| cut_off(start, length))
    }
}
