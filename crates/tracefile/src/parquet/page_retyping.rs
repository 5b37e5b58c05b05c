//! Pages with their values replaced by numbers that the Parquet library decodes faster, or at all.
//!
//! Texts become keys: 32-bit positions in a table of names. A dictionary page becomes the numbers
//! 0, 1, 2, ..., so the indices in data pages are keys already. In data pages of other encodings
//! the texts are replaced by their keys. A batch keeps only the beginning of a name, so no more
//! than that is assembled: a short page can describe texts of gigabytes.
//!
//! Encodings of texts, after the definition levels of a page (all integers little endian):
//!
//! - `PLAIN`: (length: 4 bytes, bytes)*
//! - `DELTA_LENGTH_BYTE_ARRAY`: lengths: deltas, bytes of all texts
//! - `DELTA_BYTE_ARRAY`: lengths of the prefixes shared with the text before: deltas, then the
//!   rests of the texts as in `DELTA_LENGTH_BYTE_ARRAY`
//! - deltas (`DELTA_BINARY_PACKED`): block size, miniblocks per block, count, first number, block*;
//!   block: least difference, bit width of each miniblock: 1 byte, packed miniblock*; all numbers
//!   outside of miniblocks are of variable length, 7 bits per byte, lowest first

use super::packed::{DELTA_VALUES_MAX, MemoryShare, PackedPages};
use bytes::Bytes;
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::Int32Type;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use steadfast_domain::io_event::CommandName;
use steadfast_domain::varint;

/// Length of the beginning of a text that is kept, in bytes.
const KEPT: usize = 15;
/// Length of the length in front of a plainly encoded text, in bytes.
const LENGTH_BYTES: usize = 4;
/// Memory that a text takes as a key, a name and two lengths, in bytes.
const TEXT_BYTES: usize = 3 * size_of::<i32>() + size_of::<CommandName>();

/// Names by key: those of the dictionary, followed by those of data pages.
#[derive(Default)]
pub(super) struct NameTable {
    names: Vec<CommandName>,
    /// Number of names in the dictionary.
    dictionary: usize,
    /// Number of names of data pages that were dropped.
    dropped: usize,
    /// Number of names of data pages before the current one.
    before_page: usize,
}

/// A table that is filled by the reader of the pages.
pub(super) type SharedNames = Arc<Mutex<NameTable>>;

impl NameTable {
    /// A key that no name has.
    pub(super) const NO_KEY: i32 = -1;

    pub(super) fn get(&self, key: i32) -> Option<CommandName> {
        let key = usize::try_from(key).ok()?;
        let at = if key < self.dictionary { key } else { key.checked_sub(self.dropped)? };
        self.names.get(at).copied()
    }

    /// Drops the names of data pages before the current one.
    pub(super) fn drop_used(&mut self) {
        let used = self.before_page - self.dropped;
        if used > 0 {
            self.names.drain(self.dictionary..self.dictionary + used);
            self.dropped += used;
        }
    }

    /// Appends the names of a page; returns their keys as plain numbers of 32 bits.
    fn append(&mut self, names: &[CommandName]) -> Result<Bytes> {
        self.before_page = self.names.len() + self.dropped - self.dictionary;
        let first = i32::try_from(self.names.len() + self.dropped)?;
        let end = first.checked_add(i32::try_from(names.len())?);
        let end = end.ok_or_else(|| ParquetError::General("it has too many texts".into()))?;
        self.names.extend_from_slice(names);
        Ok((first..end).flat_map(i32::to_le_bytes).collect::<Vec<u8>>().into())
    }

    /// Makes the names appended before those of the dictionary.
    fn end_dictionary(&mut self) -> Result<()> {
        if self.before_page > 0 || self.dictionary > 0 {
            return Err(ParquetError::General("its dictionary is not its first page".into()));
        }
        self.dictionary = self.names.len();
        Ok(())
    }
}

/// The numbers that pages get.
pub(super) enum Retyping {
    /// Their own.
    None,
    /// Numbers of 32 bits widened to 64.
    Widened,
    /// Keys of texts.
    Keys(SharedNames),
}

/// Pages of numbers in place of those of a column that is not nested.
pub(super) struct RetypedPages {
    packed: PackedPages,
    nullable: bool,
    retyping: Retyping,
    /// Memory of the values of the page returned last.
    page: Option<MemoryShare>,
}

impl RetypedPages {
    /// Opens the pages of a column; `nullable` says whether a row may lack a value.
    pub(super) fn new(packed: PackedPages, nullable: bool, retyping: Retyping) -> Self {
        RetypedPages { packed, nullable, retyping, page: None }
    }

    fn retype(&mut self, page: Page) -> Result<Page> {
        if let Page::DictionaryPage { buf, num_values, .. } = &page {
            let plain = self.plain(buf.clone(), Encoding::PLAIN, *num_values as usize)?;
            if let Retyping::Keys(names) = &self.retyping {
                names.lock().unwrap_or_else(PoisonError::into_inner).end_dictionary()?;
            }
            return Ok(self.with_values(page, &[], plain));
        }
        let (levels, values) = split_levels(&page, self.nullable)?;
        // A page in which no row has a value may be empty, which only plain values can be.
        if values.is_empty() {
            return Ok(self.with_values(page, &levels, values));
        }
        let is_unchanged = match (&self.retyping, page.encoding()) {
            (Retyping::None, _) => true,
            (_, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => true,
            (Retyping::Widened, encoding) => encoding == Encoding::DELTA_BINARY_PACKED,
            (Retyping::Keys(_), _) => false,
        };
        if is_unchanged {
            return Ok(page);
        }
        let plain = self.plain(values, page.encoding(), page.num_values() as usize)?;
        Ok(self.with_values(page, &levels, plain))
    }

    /// Returns the plainly encoded numbers for at most `most` values.
    fn plain(&mut self, values: Bytes, encoding: Encoding, most: usize) -> Result<Bytes> {
        match &self.retyping {
            Retyping::None => Ok(values),
            Retyping::Widened if encoding == Encoding::PLAIN => {
                self.page = Some(self.packed.reserve(values.len().saturating_mul(2))?);
                let numbers = values.as_chunks().0.iter().map(|four| i32::from_le_bytes(*four));
                let wide = numbers.flat_map(|number| i64::from(number).to_le_bytes());
                Ok(wide.collect::<Vec<u8>>().into())
            }
            Retyping::Widened => Err(unexpected(encoding)),
            Retyping::Keys(names) => {
                let most = match encoding {
                    Encoding::PLAIN => most.min(values.len() / LENGTH_BYTES),
                    _ => most.min(DELTA_VALUES_MAX),
                };
                self.page = Some(self.packed.reserve(most.saturating_mul(TEXT_BYTES))?);
                let texts = texts_of(values, encoding, most)?;
                names.lock().unwrap_or_else(PoisonError::into_inner).append(&texts)
            }
        }
    }

    /// Returns a page with the same levels and other, plainly encoded values.
    fn with_values(&self, mut page: Page, levels: &[u8], plain: Bytes) -> Page {
        let bytes = match &page {
            Page::DictionaryPage { .. } => plain,
            // The levels of this version begin with their length.
            Page::DataPage { .. } if self.nullable => {
                [&(levels.len() as u32).to_le_bytes(), levels, &plain].concat().into()
            }
            _ => [levels, &plain].concat().into(),
        };
        let (Page::DataPage { buf, encoding, .. }
        | Page::DataPageV2 { buf, encoding, .. }
        | Page::DictionaryPage { buf, encoding, .. }) = &mut page;
        (*buf, *encoding) = (bytes, Encoding::PLAIN);
        page
    }
}

impl Iterator for RetypedPages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for RetypedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.page = None;
        while let Some(page) = self.packed.next_page()? {
            let is_dictionary = matches!(page, Page::DictionaryPage { .. });
            // The library would take an empty page for the end.
            if is_dictionary || page.num_values() > 0 {
                return self.retype(page).map(Some);
            }
        }
        Ok(None)
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        self.packed.skip_next_page()
    }
}

/// Splits a data page into its definition levels and its values.
pub(super) fn split_levels(page: &Page, nullable: bool) -> Result<(Bytes, Bytes)> {
    let bytes = page.buffer();
    match page {
        // Only a nested column has repetition levels.
        Page::DataPageV2 { rep_levels_byte_len: 1.., .. } => {
            Err(ParquetError::General("a page of it has repetition levels".into()))
        }
        Page::DataPageV2 { def_levels_byte_len, .. } => {
            let end = *def_levels_byte_len as usize;
            Ok((part(bytes, 0, end)?, part(bytes, end, bytes.len())?))
        }
        Page::DataPage { def_level_encoding: Encoding::RLE, .. } if nullable => {
            let length = bytes.first_chunk().map(|length| u32::from_le_bytes(*length));
            let begin = size_of::<u32>();
            let end = begin.saturating_add(length.unwrap_or(u32::MAX) as usize);
            Ok((part(bytes, begin, end)?, part(bytes, end, bytes.len())?))
        }
        Page::DataPage { def_level_encoding, .. } if nullable => {
            Err(unexpected(*def_level_encoding))
        }
        _ => Ok((Bytes::new(), bytes.clone())),
    }
}

fn part(bytes: &Bytes, begin: usize, end: usize) -> Result<Bytes> {
    let is_there = begin <= end && end <= bytes.len();
    let cut_off = || ParquetError::General("a page of it is cut off".into());
    is_there.then(|| bytes.slice(begin..end)).ok_or_else(cut_off)
}

fn unexpected(encoding: Encoding) -> ParquetError {
    ParquetError::General(format!("a page of it is in the encoding {encoding}, unlike the others"))
}

fn damaged() -> ParquetError {
    ParquetError::General("the lengths of its texts are impossible".into())
}

/// Returns the beginnings of the texts of a page, at most `most`.
fn texts_of(bytes: Bytes, encoding: Encoding, most: usize) -> Result<Vec<CommandName>> {
    match encoding {
        Encoding::PLAIN => Ok(plain_texts(&bytes, most)),
        Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => {
            DeltaTexts::open(bytes, encoding, most)?.names()
        }
        other => Err(unexpected(other)),
    }
}

/// Returns plainly encoded texts, as far as they are complete.
fn plain_texts(mut bytes: &[u8], most: usize) -> Vec<CommandName> {
    let mut names = Vec::new();
    while names.len() < most
        && let Some((length, rest)) = bytes.split_first_chunk()
        && let Ok(length) = usize::try_from(u32::from_le_bytes(*length))
        && let Some((text, rest)) = rest.split_at_checked(length)
    {
        names.push(name(text));
        bytes = rest;
    }
    names
}

/// Truncates a name to 15 bytes, as the kernel does.
fn name(text: &[u8]) -> CommandName {
    let mut name = CommandName::default();
    let length = text.len().min(KEPT);
    name.0[..length].copy_from_slice(&text[..length]);
    name
}

/// Texts stored after their lengths, perhaps as their difference from the text before.
struct DeltaTexts {
    /// Length of the prefix shared with the text before; empty if all texts are stored whole.
    prefixes: Vec<i32>,
    /// Length of the stored part of each text.
    lengths: Vec<i32>,
    bytes: Bytes,
}

impl DeltaTexts {
    fn open(bytes: Bytes, encoding: Encoding, most: usize) -> Result<Self> {
        let most = most.min(DELTA_VALUES_MAX);
        let has_prefixes = encoding == Encoding::DELTA_BYTE_ARRAY;
        let (prefixes, bytes) =
            if has_prefixes { deltas(bytes, most)? } else { (Vec::new(), bytes) };
        let (lengths, bytes) = deltas(bytes, most)?;
        if has_prefixes && prefixes.len() != lengths.len() {
            return Err(damaged());
        }
        Ok(DeltaTexts { prefixes, lengths, bytes })
    }

    fn names(&self) -> Result<Vec<CommandName>> {
        let mut names = Vec::with_capacity(self.lengths.len());
        let (mut rest, mut before, mut before_length) = (&self.bytes[..], [0; KEPT], 0);
        for (at, length) in self.lengths.iter().enumerate() {
            let length = usize::try_from(*length).map_err(|_| damaged())?;
            let prefix = self.prefixes.get(at).copied().unwrap_or(0);
            let prefix = usize::try_from(prefix).map_err(|_| damaged())?;
            let (text, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
            if prefix > before_length {
                return Err(damaged());
            }
            let kept = prefix.min(KEPT);
            let more = text.len().min(KEPT - kept);
            before[kept..kept + more].copy_from_slice(&text[..more]);
            names.push(name(&before[..kept + more]));
            before_length = prefix + length;
            rest = after;
        }
        Ok(names)
    }
}

/// Returns the number of bytes of all texts of a page, at most `most`.
pub(super) fn decoded_length(bytes: Bytes, encoding: Encoding, most: usize) -> Result<u64> {
    let texts = DeltaTexts::open(bytes, encoding, most)?;
    let lengths = texts.prefixes.iter().chain(&texts.lengths);
    lengths.map(|length| u64::try_from(*length).map_err(|_| damaged())).sum()
}

/// Decodes the numbers at the beginning of a page, at most `most`; returns them and the bytes that
/// follow.
fn deltas(bytes: Bytes, most: usize) -> Result<(Vec<i32>, Bytes)> {
    let DeltaExtent { count, end } = DeltaExtent::find(&bytes).ok_or_else(damaged)?;
    if count > most {
        return Err(damaged());
    }
    let column = Type::primitive_type_builder("lengths", Physical::INT32);
    let column = column.with_repetition(Repetition::REQUIRED).build()?;
    let descriptor = ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("lengths"));
    let page = Page::DataPage {
        buf: bytes.slice(..end),
        num_values: u32::try_from(count)?,
        encoding: Encoding::DELTA_BINARY_PACKED,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let pages = Box::new(PageQueue([page].into()));
    let mut reader = ColumnReaderImpl::<Int32Type>::new(Arc::new(descriptor), pages);
    let mut numbers = Vec::new();
    reader.read_records(count, None, None, &mut numbers)?;
    if numbers.len() < count {
        return Err(damaged());
    }
    Ok((numbers, bytes.slice(end..)))
}

/// The extent of delta-coded numbers at the beginning of a page.
struct DeltaExtent {
    /// Count of the numbers.
    count: usize,
    /// Offset of the end of their last miniblock.
    end: usize,
}

impl DeltaExtent {
    /// Returns the extent; `None` if the page is damaged.
    fn find(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let block = usize::try_from(varint::take(&mut rest)?).ok()?;
        let miniblocks = usize::try_from(varint::take(&mut rest)?).ok()?;
        let count = usize::try_from(varint::take(&mut rest)?).ok()?;
        // The first number.
        varint::take(&mut rest)?;
        let numbers_each = block.checked_div(miniblocks).filter(|numbers| *numbers > 0)?;
        let mut left = count.saturating_sub(1);
        while left > 0 {
            // The least difference of the block.
            varint::take(&mut rest)?;
            let (widths, after) = rest.split_at_checked(miniblocks)?;
            rest = after;
            for width in widths.iter().take(left.div_ceil(numbers_each)) {
                rest = rest.get(numbers_each.checked_mul(usize::from(*width))? / 8..)?;
            }
            left = left.saturating_sub(block);
        }
        Some(DeltaExtent { count, end: bytes.len() - rest.len() })
    }
}

/// Pages for the Parquet library.
pub(super) struct PageQueue(pub(super) VecDeque<Page>);

impl Iterator for PageQueue {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.0.pop_front().map(Ok)
    }
}

impl PageReader for PageQueue {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.0.pop_front())
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(None)
    }
    fn skip_next_page(&mut self) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }
}
