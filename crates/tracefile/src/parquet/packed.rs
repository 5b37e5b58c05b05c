//! The pages of a column chunk, unpacked within bounds.
//!
//! A page's header claims how long the page is once it is unpacked, and a short page can
//! unpack to gigabytes. The Parquet library believes it, so pages are unpacked here: each
//! within [`PAGE_MAX`], and those of all columns of a row group within [`PAGES_MAX`]. A page
//! counts until its last text is dropped. Each thread keeps a decompressor, because making one
//! takes longer than unpacking a short page.

use super::texts::check_lengths;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use std::cell::RefCell;
use std::io::{Cursor, Read};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// Largest page, unpacked. This program, pyarrow and Spark write pages of 1 MiB; DuckDB
/// writes one for a row group of 122,880 rows.
pub const PAGE_MAX: usize = 64 << 20;
/// Unpacked pages of a row group that are held at one time.
const PAGES_MAX: usize = 256 << 20;

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

/// Bytes of a page, and the memory that they take.
struct PageBytes {
    bytes: Bytes,
    _memory: TakenMemory,
}

impl AsRef<[u8]> for PageBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
    /// Lists of levels that stand before the values of a page of the first version.
    levels: usize,
    /// Whether texts may be written as what differs from the one before.
    has_prefixes: bool,
    /// Rows of the chunk whose pages were not read.
    rows: usize,
    memory: PageMemory,
    /// Memory of the dictionary's decoded values.
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
        let descriptor = metadata.column_descr();
        Ok(Packed {
            pages: Box::new(SerializedPageReader::new(source, &as_stored, rows, None)?),
            codec,
            physical: metadata.column_type(),
            levels: usize::from(descriptor.max_rep_level() > 0)
                + usize::from(descriptor.max_def_level() > 0),
            has_prefixes: has_prefixes(metadata),
            rows,
            memory,
            dictionary: None,
        })
    }

    /// Counts the memory of a page and checks what the library believes without checking.
    fn admit(&mut self, page: &mut Page) -> Result<()> {
        let rows = page.num_values() as usize;
        match page {
            Page::DictionaryPage { buf, .. } => {
                if buf.len() / least_length(self.physical) < rows {
                    return Err(ParquetError::General("its dictionary is cut off".into()));
                }
                self.dictionary = None;
                let bytes = rows.saturating_mul(decoded_length(self.physical));
                self.dictionary = Some(self.memory.take(bytes)?);
            }
            Page::DataPage { .. } | Page::DataPageV2 { .. } => {
                self.rows = self.rows.checked_sub(rows).ok_or_else(|| {
                    ParquetError::General("its pages have more rows than its row group".into())
                })?;
                let values = values_of(page, self.levels)?;
                if values.is_empty() {
                    // Without any value there need not be the head that its encoding begins with.
                    set_encoding(page, Encoding::PLAIN);
                }
                match page.encoding() {
                    Encoding::DELTA_LENGTH_BYTE_ARRAY => check_lengths(&values, false, rows)?,
                    Encoding::DELTA_BYTE_ARRAY if self.has_prefixes => {
                        check_lengths(&values, true, rows)?;
                    }
                    Encoding::DELTA_BYTE_ARRAY => {
                        let what = "a page of it is in an encoding that its metadata does not name";
                        return Err(ParquetError::General(what.into()));
                    }
                    _ => {}
                }
            }
        }
        let bytes = buffer(page);
        let memory = self.memory.take(bytes.len())?;
        *bytes = Bytes::from_owner(PageBytes { bytes: mem::take(bytes), _memory: memory });
        Ok(())
    }
}

/// Whether a chunk has texts that are written as what differs from the one before: a short page
/// of those can describe texts of gigabytes.
pub(super) fn has_prefixes(metadata: &ColumnChunkMetaData) -> bool {
    metadata.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY)
}

/// The values of a data page, without the levels before them.
fn values_of(page: &Page, levels: usize) -> Result<Bytes> {
    let cut_off = || ParquetError::General("a page of it is cut off".into());
    let bytes = page.buffer();
    let mut begin = 0usize;
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            begin = (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
        }
        Page::DataPage { def_level_encoding: Encoding::RLE, .. } => {
            for _ in 0..levels {
                let length = bytes.get(begin..).and_then(|rest| rest.first_chunk());
                let length = u32::from_le_bytes(*length.ok_or_else(cut_off)?);
                begin = begin.saturating_add(size_of::<u32>()).saturating_add(length as usize);
            }
        }
        // Its levels are of another length than they say, or of none.
        _ if levels > 0 => return Err(cut_off()),
        _ => {}
    }
    if begin > bytes.len() { Err(cut_off()) } else { Ok(bytes.slice(begin..)) }
}

fn set_encoding(page: &mut Page, to: Encoding) {
    if let Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } = page {
        *encoding = to;
    }
}

fn buffer(page: &mut Page) -> &mut Bytes {
    match page {
        Page::DataPage { buf, .. }
        | Page::DataPageV2 { buf, .. }
        | Page::DictionaryPage { buf, .. } => buf,
    }
}

/// Bytes of the shortest value as it stands in a page.
fn least_length(physical: Physical) -> usize {
    match physical {
        Physical::INT64 | Physical::DOUBLE => 8,
        _ => 4,
    }
}

/// Bytes that a value of a dictionary takes once it is decoded.
fn decoded_length(physical: Physical) -> usize {
    match physical {
        Physical::BYTE_ARRAY => size_of::<ByteArray>(),
        _ => size_of::<i64>(),
    }
}

impl Iterator for Packed {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Packed {
    /// Returns the next page, unpacked.
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while let Some(page) = self.pages.get_next_page()? {
            let mut page = unpack(page, self.codec, self.memory.room())?;
            self.admit(&mut page)?;
            // The library takes a page without rows for the end of its column.
            if page.num_values() > 0 || !page.is_data_page() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        Err(ParquetError::NYI("pages are not skipped".into()))
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
    let buf = buffer(&mut page);
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
