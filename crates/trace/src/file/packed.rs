//! The pages of a column chunk that is compressed with zstd. The Parquet library makes a
//! compressor and a decompressor for each chunk, which takes longer than to unpack a short
//! one; here each thread keeps a decompressor.

use bytes::Bytes;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use std::cell::RefCell;
use std::io::{self, Cursor, Read};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// What a page can have at most: Parquet has 31 bits for its length.
const PAGE_MAX: u64 = i32::MAX as u64;

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The pages of a chunk as the library gives them out: unpacked where it did that.
pub(super) struct Packed {
    pages: Box<dyn PageReader>,
    /// Whether the library took them for uncompressed though they are compressed with zstd.
    is_zstd: bool,
}

impl Packed {
    /// Pages that are unpacked.
    pub(super) fn unpacked(pages: Box<dyn PageReader>) -> Self {
        Packed { pages, is_zstd: false }
    }

    /// Pages compressed with zstd.
    pub(super) fn zstd(pages: Box<dyn PageReader>) -> Self {
        Packed { pages, is_zstd: true }
    }

    /// The next page, unpacked.
    pub(super) fn next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match page {
            Some(page) if self.is_zstd => unpack(page).map(Some),
            page => Ok(page),
        }
    }
}

fn unpack(mut page: Page) -> Result<Page> {
    // Levels of the second version stand before what is compressed.
    let begin = match &page {
        Page::DataPageV2 { is_compressed: false, .. } => return Ok(page),
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize)
        }
        _ => 0,
    };
    let (Page::DataPage { buf, .. }
    | Page::DataPageV2 { buf, .. }
    | Page::DictionaryPage { buf, .. }) = &mut page;
    let cut_off = || ParquetError::General("a page of it is cut off".into());
    let (levels, packed) = buf.split_at_checked(begin).ok_or_else(cut_off)?;
    let mut bytes = levels.to_vec();
    // Where no row has a value there need not be anything.
    if !packed.is_empty() {
        append_unpacked(packed, &mut bytes)
            .map_err(|e| ParquetError::General(format!("a page of it cannot be unpacked: {e}")))?;
    }
    *buf = Bytes::from(bytes);
    Ok(page)
}

fn append_unpacked(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    let begin = bytes.len();
    let told = get_frame_content_size(packed).ok().flatten();
    let length = told.filter(|length| *length <= PAGE_MAX).map(|length| length as usize);
    if length.is_some_and(|length| append_frame(packed, length, bytes).is_ok()) {
        return Ok(());
    }
    // Of several frames, or of one that does not tell its length; or damaged, which this tells.
    bytes.truncate(begin);
    let decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    let length = decoder.take(PAGE_MAX + 1).read_to_end(bytes)? as u64;
    let too_long = || io::Error::other("it is longer than a page can be");
    (length <= PAGE_MAX).then_some(()).ok_or_else(too_long)
}

/// Appends a frame that tells its length.
fn append_frame(packed: &[u8], length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.try_reserve_exact(length)?;
    let begin = bytes.len() as u64;
    let mut end = Cursor::new(bytes);
    end.set_position(begin);
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            None => decompressor.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(packed, &mut end).map(drop)
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
                assert_eq!(unpack(first(packed.clone())).unwrap().buffer(), &content);
                let whole = [&b"levels"[..], &content].concat();
                let page = second([&b"levels"[..], &packed].concat(), [4, 2], true);
                assert_eq!(unpack(page).unwrap().buffer(), &whole);
                let page = second(packed.clone(), [0, 0], false);
                assert_eq!(unpack(page).unwrap().buffer(), &packed);
            }
        }
    }

    #[test]
    fn a_page_without_values_is_nothing_but_its_levels() {
        let page = second(b"levels".to_vec(), [6, 0], true);
        assert_eq!(unpack(page).unwrap().buffer().as_ref(), b"levels");
        assert!(unpack(first(Vec::new())).unwrap().buffer().is_empty());
    }

    #[test]
    fn what_cannot_be_unpacked_is_an_error() {
        let frame = zstd::bulk::compress(&content(5000), 1).unwrap();
        for end in 1..frame.len() {
            assert!(unpack(first(frame[..end].to_vec())).is_err(), "cut off at {end}");
        }
        assert!(unpack(first(b"no frame at all".to_vec())).is_err());
        assert!(unpack(second(frame.clone(), [u32::MAX, u32::MAX], true)).is_err());
        // A frame of five bytes that says it holds 16 EiB.
        let mut boasting = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        boasting.extend([0xff; 8]);
        boasting.extend([1, 0, 0]);
        assert!(unpack(first(boasting)).is_err());
    }
}
