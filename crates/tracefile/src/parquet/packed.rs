//! Decompresses the pages of a column chunk within memory limits.
//!
//! A page's header claims the size of the page after decompression, and a short page can
//! decompress to gigabytes. The Parquet library trusts the header, so pages are decompressed
//! here: each within [`PAGE_MAX`], and those of all columns of a row group within
//! [`PAGES_MAX`]. Each thread keeps a decompressor, because creating one takes longer than
//! decompressing a short page.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use lz4_flex::block::DecompressError;
use parquet::basic::{Compression, Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use std::cell::RefCell;
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// Largest page after decompression. This program, pyarrow and Spark write pages of 1 MiB;
/// DuckDB writes one for a row group of 122,880 rows.
pub const PAGE_MAX: usize = 64 << 20;
/// Memory for the decompressed pages of a row group that are held at a time.
const PAGES_MAX: usize = 256 << 20;
const BROTLI_BUFFER: usize = 4096;
/// Largest number of texts in a page with delta-coded lengths, which are decoded all at once.
pub(super) const DELTA_VALUES_MAX: usize = 1 << 22;

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A memory budget that the columns of an open row group share for their pages.
#[derive(Clone)]
pub struct PageMemory(Arc<AtomicUsize>);

impl PageMemory {
    /// Creates an unused budget.
    pub fn new() -> Self {
        PageMemory(Arc::new(AtomicUsize::new(PAGES_MAX)))
    }

    /// Returns the largest size that the next page may have, in bytes.
    fn room(&self) -> usize {
        self.0.load(Ordering::Relaxed).min(PAGE_MAX)
    }

    fn take(&self, bytes: usize) -> Result<MemoryShare> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes).ok_or_else(too_large)?;
        self.0.store(left, Ordering::Relaxed);
        Ok(MemoryShare { memory: self.0.clone(), bytes })
    }
}

/// Part of the budget, returned to it on drop.
pub(super) struct MemoryShare {
    memory: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.memory.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

pub(super) fn too_large() -> ParquetError {
    ParquetError::General(format!(
        "its pages are longer than {} MiB, or those of its row group than {} MiB; write the file \
         with smaller row groups",
        PAGE_MAX >> 20,
        PAGES_MAX >> 20
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    None,
    Zstd,
    Snappy,
    Gzip,
    Lz4,
    Brotli,
}

/// The pages of a column chunk.
pub struct PackedPages {
    pages: Box<dyn PageReader>,
    codec: Codec,
    physical: Physical,
    /// Rows of the chunk in pages that were not read yet.
    pub(super) rows_left: usize,
    memory: PageMemory,
    /// Memory of the page returned last.
    page: Option<MemoryShare>,
    /// Memory of the dictionary.
    dictionary: Option<MemoryShare>,
}

impl PackedPages {
    /// Opens the pages of a column chunk of `rows` rows.
    ///
    /// # Errors
    /// Returns an error if the compression of the chunk is not supported.
    pub fn open<R: ChunkReader + 'static>(
        source: Arc<R>,
        metadata: &ColumnChunkMetaData,
        rows: usize,
        memory: PageMemory,
    ) -> Result<Self> {
        let codec = match metadata.compression() {
            Compression::UNCOMPRESSED => Codec::None,
            Compression::ZSTD(_) => Codec::Zstd,
            Compression::SNAPPY => Codec::Snappy,
            Compression::GZIP(_) => Codec::Gzip,
            Compression::LZ4_RAW => Codec::Lz4,
            Compression::BROTLI(_) => Codec::Brotli,
            other => {
                return Err(ParquetError::NYI(format!(
                    "it is compressed as {other}, which is not supported; convert the file: \
                     python3 -c \"import pyarrow.parquet as p; \
                     p.write_table(p.read_table('FILE'), 'NEW', compression='zstd')\""
                )));
            }
        };
        // The library returns pages as they are stored if the metadata says that they are
        // uncompressed.
        let as_stored = metadata.clone().into_builder();
        let as_stored = as_stored.set_compression(Compression::UNCOMPRESSED).build()?;
        let pages = Box::new(SerializedPageReader::new(source, &as_stored, rows, None)?);
        Ok(Self::new(pages, codec, metadata.column_type(), rows, memory))
    }

    fn new(
        pages: Box<dyn PageReader>,
        codec: Codec,
        physical: Physical,
        rows_left: usize,
        memory: PageMemory,
    ) -> Self {
        PackedPages { pages, codec, physical, rows_left, memory, page: None, dictionary: None }
    }

    /// Creates a reader of uncompressed pages with any number of rows.
    #[cfg(test)]
    pub(super) fn unpacked(pages: Box<dyn PageReader>) -> Self {
        Self::new(pages, Codec::None, Physical::INT32, usize::MAX, PageMemory::new())
    }

    /// Takes part of the memory for what is made of a page.
    pub(super) fn reserve(&self, bytes: usize) -> Result<MemoryShare> {
        self.memory.take(bytes)
    }

    /// Returns the next page, decompressed. The memory of the page before is given back.
    pub fn next_page(&mut self) -> Result<Option<Page>> {
        self.page = None;
        let Some(page) = self.pages.get_next_page()? else { return Ok(None) };
        let page = unpack(page, self.codec, self.memory.room())?;
        let values = page.num_values() as usize;
        if let Page::DictionaryPage { buf, .. } = &page {
            self.dictionary = None;
            if buf.len() / least_length(self.physical) < values {
                return Err(ParquetError::General("its dictionary is cut off".into()));
            }
            let bytes = buf.len().saturating_add(values.saturating_mul(VALUE_BYTES));
            self.dictionary = Some(self.memory.take(bytes)?);
        } else {
            let rows_left = self.rows_left.checked_sub(values);
            self.rows_left = rows_left.ok_or_else(|| {
                ParquetError::General("its pages have more rows than its row group".into())
            })?;
            self.page = Some(self.memory.take(page.buffer().len())?);
        }
        Ok(Some(page))
    }
}

/// Largest size of a decoded dictionary value in bytes.
const VALUE_BYTES: usize = 16;

/// Returns the size of the shortest encoded value in bytes.
fn least_length(physical: Physical) -> usize {
    match physical {
        Physical::INT64 | Physical::DOUBLE => 8,
        Physical::FIXED_LEN_BYTE_ARRAY => 1,
        _ => 4,
    }
}

impl Iterator for PackedPages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Gives pages to the decoders of the Parquet library.
impl PageReader for PackedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.next_page()?;
        // The decoders of the library would allocate the size that such a page claims.
        match page.as_ref().map(Page::encoding) {
            Some(encoding @ (Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)) => {
                Err(ParquetError::General(format!("a page of it is in the encoding {encoding}")))
            }
            _ => Ok(page),
        }
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        Err(ParquetError::NYI("pages are not skipped".into()))
    }
}

fn unpack(mut page: Page, codec: Codec, room: usize) -> Result<Page> {
    // In pages of version 2 the levels come first and are not compressed.
    let (begin, is_packed) = match &page {
        Page::DataPageV2 { is_compressed: false, .. } => (0, false),
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels =
                (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize);
            (levels, codec != Codec::None)
        }
        _ => (0, codec != Codec::None),
    };
    let (Page::DataPage { buf, .. }
    | Page::DataPageV2 { buf, .. }
    | Page::DictionaryPage { buf, .. }) = &mut page;
    if buf.len() > room {
        return Err(too_large());
    }
    if !is_packed {
        return Ok(page);
    }
    let cut_off = || ParquetError::General("a page of it is cut off".into());
    let (levels, packed) = buf.split_at_checked(begin).ok_or_else(cut_off)?;
    let mut bytes = levels.to_vec();
    // A page in which no row has a value may be empty.
    if !packed.is_empty() {
        match codec {
            Codec::Snappy => append_snappy(packed, room, &mut bytes)?,
            Codec::Gzip => {
                append_stream(MultiGzDecoder::new(packed), room - levels.len(), &mut bytes)?
            }
            Codec::Lz4 => append_lz4(packed, room, &mut bytes)?,
            Codec::Brotli => {
                let decoder = brotli_decompressor::Decompressor::new(packed, BROTLI_BUFFER);
                append_stream(decoder, room - levels.len(), &mut bytes)?;
            }
            Codec::Zstd | Codec::None => append_zstd(packed, room, &mut bytes)?,
        }
    }
    *buf = Bytes::from(bytes);
    Ok(page)
}

fn damaged(why: impl std::fmt::Display) -> ParquetError {
    ParquetError::General(format!("a page of it cannot be unpacked: {why}"))
}

fn append_snappy(packed: &[u8], room: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let length = snap::raw::decompress_len(packed).map_err(damaged)?;
    let begin = bytes.len();
    if begin.saturating_add(length) > room {
        return Err(too_large());
    }
    bytes.try_reserve_exact(length).map_err(damaged)?;
    bytes.resize(begin + length, 0);
    snap::raw::Decoder::new().decompress(packed, &mut bytes[begin..]).map_err(damaged)?;
    Ok(())
}

fn append_zstd(packed: &[u8], room: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let begin = bytes.len();
    let room = room.saturating_sub(begin);
    let stated = get_frame_content_size(packed).ok().flatten();
    let length = stated.and_then(|length| usize::try_from(length).ok());
    if length.is_some_and(|length| length <= room && append_frame(packed, length, bytes)) {
        return Ok(());
    }
    // Several frames, or one without its length. If the data are damaged, this reports it.
    bytes.truncate(begin);
    append_stream(zstd::stream::read::Decoder::with_buffer(packed).map_err(damaged)?, room, bytes)
}

/// Appends all that a decoder returns, at most `room` bytes.
fn append_stream(decoder: impl Read, room: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let length = decoder.take(room as u64 + 1).read_to_end(bytes).map_err(damaged)?;
    if length > room {
        return Err(too_large());
    }
    Ok(())
}

/// Appends a block of LZ4, which does not record its length.
fn append_lz4(packed: &[u8], room: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let begin = bytes.len();
    let room = room.saturating_sub(begin);
    let mut length = packed.len().saturating_mul(4).min(room);
    loop {
        bytes.try_reserve_exact(length).map_err(damaged)?;
        bytes.resize(begin + length, 0);
        match lz4_flex::block::decompress_into(packed, &mut bytes[begin..]) {
            Ok(found) => {
                bytes.truncate(begin + found);
                return Ok(());
            }
            Err(DecompressError::OutputTooSmall { .. }) if length < room => {
                length = length.saturating_mul(4).min(room);
            }
            Err(DecompressError::OutputTooSmall { .. }) => return Err(too_large()),
            Err(error) => return Err(damaged(error)),
        }
    }
}

/// Appends a frame that records its length; returns false if it cannot be decompressed.
fn append_frame(packed: &[u8], length: usize, bytes: &mut Vec<u8>) -> bool {
    if bytes.try_reserve_exact(length).is_err() {
        return false;
    }
    let begin = bytes.len() as u64;
    let mut end = Cursor::new(bytes);
    end.set_position(begin);
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            None => match Decompressor::new() {
                Ok(new) => decompressor.insert(new),
                Err(_) => return false,
            },
        };
        decompressor.decompress_to_buffer(packed, &mut end).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use steadfast_domain::random_bits::mix64;

    fn page_v1(bytes: Vec<u8>) -> Page {
        Page::DataPage {
            buf: bytes.into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    fn page_v2(bytes: Vec<u8>, levels: [u32; 2], is_compressed: bool) -> Page {
        Page::DataPageV2 {
            buf: bytes.into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 1,
            def_levels_byte_len: levels[0],
            rep_levels_byte_len: levels[1],
            is_compressed,
            statistics: None,
        }
    }

    fn unpacked(page: Page) -> Result<Page> {
        unpack(page, Codec::Zstd, PAGE_MAX)
    }

    /// Compresses to a frame that does not record its length.
    fn streamed(content: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(content).unwrap();
        let frame = encoder.finish().unwrap();
        assert_eq!(get_frame_content_size(&frame).unwrap(), None);
        frame
    }

    fn content(length: u64) -> Vec<u8> {
        (0..length).map(|at| (mix64(at / 3) % 7) as u8).collect()
    }

    #[test]
    fn pages_are_unpacked_however_their_frames_were_written() {
        for length in [0, 1, 5000, 300_007] {
            let content = content(length);
            let frame = zstd::bulk::compress(&content, 1).unwrap();
            let (head, tail) = content.split_at(content.len() / 3);
            let two_frames = |pack: &dyn Fn(&[u8]) -> Vec<u8>| [pack(head), pack(tail)].concat();
            let with_length = |part: &[u8]| zstd::bulk::compress(part, 3).unwrap();
            for packed in [
                frame,
                two_frames(&with_length),
                streamed(&content),
                two_frames(&|part| streamed(part)),
            ] {
                assert_eq!(unpacked(page_v1(packed.clone())).unwrap().buffer(), &content);
                let whole = [&b"levels"[..], &content].concat();
                let page = page_v2([&b"levels"[..], &packed].concat(), [4, 2], true);
                assert_eq!(unpacked(page).unwrap().buffer(), &whole);
                let page = page_v2(packed.clone(), [0, 0], false);
                assert_eq!(unpacked(page).unwrap().buffer(), &packed);
            }
        }
    }

    /// `pyarrow.Codec(NAME).compress(b"steadfast" * 100)`.
    const GZIP: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 43, 46, 73, 77, 76, 73, 75, 44, 46, 41, 30, 101, 140, 50,
        70, 25, 3, 193, 0, 0, 5, 115, 248, 118, 132, 3, 0, 0,
    ];
    const LZ4_RAW: &[u8] = &[
        159, 115, 116, 101, 97, 100, 102, 97, 115, 116, 9, 0, 255, 255, 255, 102, 80, 100, 102, 97,
        115, 116,
    ];
    const BROTLI: &[u8] =
        &[27, 131, 3, 0, 4, 28, 114, 64, 252, 173, 2, 121, 209, 91, 48, 107, 250, 146, 225, 1];

    #[test]
    fn pages_of_every_codec_are_unpacked_within_the_room() {
        let whole = b"steadfast".repeat(100);
        for (codec, packed) in [(Codec::Gzip, GZIP), (Codec::Lz4, LZ4_RAW), (Codec::Brotli, BROTLI)]
        {
            let page = |packed: &[u8]| page_v1(packed.to_vec());
            let found = unpack(page(packed), codec, PAGE_MAX).unwrap();
            assert_eq!(found.buffer(), &whole, "{codec:?}");
            let exact = unpack(page(packed), codec, whole.len()).unwrap();
            assert_eq!(exact.buffer(), &whole, "{codec:?}");
            let small = unpack(page(packed), codec, whole.len() - 1).unwrap_err();
            assert_eq!(small.to_string(), too_large().to_string(), "{codec:?}");
            // A page that is cut off is an error, or ends early, but never panics.
            for end in 1..packed.len() {
                if let Ok(part) = unpack(page(&packed[..end]), codec, PAGE_MAX) {
                    assert!(whole.starts_with(part.buffer()), "{codec:?} {end}");
                }
            }
        }
    }

    #[test]
    fn a_page_without_values_is_its_levels() {
        let page = page_v2(b"levels".to_vec(), [6, 0], true);
        assert_eq!(unpacked(page).unwrap().buffer().as_ref(), b"levels");
        assert!(unpacked(page_v1(Vec::new())).unwrap().buffer().is_empty());
    }

    #[test]
    fn a_page_that_cannot_be_unpacked_is_an_error() {
        let frame = zstd::bulk::compress(&content(5000), 1).unwrap();
        for end in 1..frame.len() {
            assert!(unpacked(page_v1(frame[..end].to_vec())).is_err(), "cut off at {end}");
        }
        assert!(unpacked(page_v1(b"no frame at all".to_vec())).is_err());
        assert!(unpacked(page_v2(frame.clone(), [u32::MAX, u32::MAX], true)).is_err());
        // A frame of a few bytes that claims to hold 16 EiB.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        frame.extend([0xff; 8]);
        frame.extend([1, 0, 0]);
        assert!(unpacked(page_v1(frame)).is_err());
    }
}
