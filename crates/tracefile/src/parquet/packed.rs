//! The pages of a column chunk, unpacked within bounds.
//!
//! A page's header claims how long the page is once it is unpacked, and a short page can
//! unpack to gigabytes. The Parquet library believes it, so pages are unpacked here: each
//! within [`PAGE_MAX`], and those of all columns of a row group within [`PAGES_MAX`]. Each
//! thread keeps a decompressor, because making one takes longer than unpacking a short page.

use bytes::Bytes;
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

/// Largest page, unpacked. This program, pyarrow and Spark write pages of 1 MiB; DuckDB
/// writes one for a row group of 122,880 rows.
pub const PAGE_MAX: usize = 64 << 20;
/// Unpacked pages of a row group that are held at one time.
const PAGES_MAX: usize = 256 << 20;
/// Texts of a page whose lengths stand before them: those are all decoded at once.
pub(super) const DELTA_VALUES_MAX: usize = 1 << 22;

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Memory that the columns of an open row group share for their pages.
#[derive(Clone)]
pub struct PageMemory(Arc<AtomicUsize>);

impl PageMemory {
    /// Memory of which nothing is taken.
    pub fn new() -> Self {
        PageMemory(Arc::new(AtomicUsize::new(PAGES_MAX)))
    }

    /// Bytes that the next page may have.
    fn room(&self) -> usize {
        self.0.load(Ordering::Relaxed).min(PAGE_MAX)
    }

    fn take(&self, bytes: usize) -> Result<TakenMemory> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes).ok_or_else(too_large)?;
        self.0.store(left, Ordering::Relaxed);
        Ok(TakenMemory { memory: self.0.clone(), bytes })
    }
}

/// Memory that a page takes until this is dropped.
struct TakenMemory {
    memory: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        self.memory.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

fn too_large() -> ParquetError {
    ParquetError::General(format!(
        "its pages are longer than {} MiB, or those of its row group than {} MiB; write the file \
         with smaller row groups",
        PAGE_MAX >> 20,
        PAGES_MAX >> 20
    ))
}

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    None,
    Zstd,
    Snappy,
}

/// The pages of a column chunk.
pub struct Packed {
    pages: Box<dyn PageReader>,
    codec: Codec,
    physical: Physical,
    /// Rows of the chunk whose pages were not read.
    rows: usize,
    memory: PageMemory,
    /// Memory of the page that was given out last.
    page: Option<TakenMemory>,
    /// Memory of the dictionary.
    dictionary: Option<TakenMemory>,
}

impl Packed {
    /// Opens the pages of a column chunk of `rows` rows.
    ///
    /// # Errors
    /// Returns an error if the chunk is compressed in a way that is not read here.
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
            other => return Err(ParquetError::NYI(format!("it is compressed as {other}"))),
        };
        // The library gives pages out as they stand in the file if it takes them for
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
        rows: usize,
        memory: PageMemory,
    ) -> Self {
        Packed { pages, codec, physical, rows, memory, page: None, dictionary: None }
    }

    /// Pages that are not compressed, of any number of rows.
    #[cfg(test)]
    pub(super) fn unpacked(pages: Box<dyn PageReader>) -> Self {
        Self::new(pages, Codec::None, Physical::INT32, usize::MAX, PageMemory::new())
    }

    /// Returns the next page, unpacked. The one before counts as dropped.
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
            let rows = self.rows.checked_sub(values);
            self.rows = rows.ok_or_else(|| {
                ParquetError::General("its pages have more rows than its row group".into())
            })?;
            self.page = Some(self.memory.take(page.buffer().len())?);
        }
        Ok(Some(page))
    }
}

/// Bytes that a value of a dictionary takes at most when it is decoded.
const VALUE_BYTES: usize = 16;

/// Bytes of the shortest value as it stands in a page.
fn least_length(physical: Physical) -> usize {
    match physical {
        Physical::INT64 | Physical::DOUBLE => 8,
        _ => 4,
    }
}

impl Iterator for Packed {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Pages for the decoders of the Parquet library.
impl PageReader for Packed {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.next_page()?;
        if let Some(page) = &page {
            check_for_library(page)?;
        }
        Ok(page)
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        Err(ParquetError::NYI("pages are not skipped".into()))
    }
}

/// Refuses a page for which the decoders of the Parquet library allocate what it claims.
fn check_for_library(page: &Page) -> Result<()> {
    match page.encoding() {
        encoding @ (Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) => {
            Err(ParquetError::General(format!("a page of it is in the encoding {encoding}")))
        }
        _ => Ok(()),
    }
}

fn unpack(mut page: Page, codec: Codec, room: usize) -> Result<Page> {
    // Levels of the second version stand before what is compressed.
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
    // Where no row has a value there need not be anything.
    if !packed.is_empty() {
        match codec {
            Codec::Snappy => append_snappy(packed, room, &mut bytes)?,
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
    let told = get_frame_content_size(packed).ok().flatten();
    let length = told.and_then(|length| usize::try_from(length).ok());
    if length.is_some_and(|length| length <= room && append_frame(packed, length, bytes)) {
        return Ok(());
    }
    // Of several frames, or of one that does not tell its length; or damaged, which this tells.
    bytes.truncate(begin);
    let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(damaged)?;
    let length = decoder.take(room as u64 + 1).read_to_end(bytes).map_err(damaged)?;
    if length > room {
        return Err(too_large());
    }
    Ok(())
}

/// Appends a frame that tells its length; returns whether it could be unpacked.
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
    use parquet::basic::Encoding;
    use std::io::Write;
    use steadfast_domain::step::mix64;

    fn first(bytes: Vec<u8>) -> Page {
        let (plain, rle) = (Encoding::PLAIN, Encoding::RLE);
        Page::DataPage {
            buf: bytes.into(),
            num_values: 1,
            encoding: plain,
            def_level_encoding: rle,
            rep_level_encoding: rle,
            statistics: None,
        }
    }

    fn second(bytes: Vec<u8>, levels: [u32; 2], is_compressed: bool) -> Page {
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

    /// A frame that does not tell its length.
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
            let two = |pack: &dyn Fn(&[u8]) -> Vec<u8>| [pack(head), pack(tail)].concat();
            let told = |part: &[u8]| zstd::bulk::compress(part, 3).unwrap();
            for packed in [frame, two(&told), streamed(&content), two(&|part| streamed(part))] {
                assert_eq!(unpacked(first(packed.clone())).unwrap().buffer(), &content);
                let whole = [&b"levels"[..], &content].concat();
                let page = second([&b"levels"[..], &packed].concat(), [4, 2], true);
                assert_eq!(unpacked(page).unwrap().buffer(), &whole);
                let page = second(packed.clone(), [0, 0], false);
                assert_eq!(unpacked(page).unwrap().buffer(), &packed);
            }
        }
    }

    #[test]
    fn a_page_without_values_is_nothing_but_its_levels() {
        let page = second(b"levels".to_vec(), [6, 0], true);
        assert_eq!(unpacked(page).unwrap().buffer().as_ref(), b"levels");
        assert!(unpacked(first(Vec::new())).unwrap().buffer().is_empty());
    }

    #[test]
    fn what_cannot_be_unpacked_is_an_error() {
        let frame = zstd::bulk::compress(&content(5000), 1).unwrap();
        for end in 1..frame.len() {
            assert!(unpacked(first(frame[..end].to_vec())).is_err(), "cut off at {end}");
        }
        assert!(unpacked(first(b"no frame at all".to_vec())).is_err());
        assert!(unpacked(second(frame.clone(), [u32::MAX, u32::MAX], true)).is_err());
        // A frame of five bytes that says it holds 16 EiB.
        let mut boasting = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        boasting.extend([0xff; 8]);
        boasting.extend([1, 0, 0]);
        assert!(unpacked(first(boasting)).is_err());
    }
}
