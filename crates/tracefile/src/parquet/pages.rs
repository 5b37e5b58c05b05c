//! Decodes the values of a column chunk page by page into a batch's column, in the encodings
//! that this program and nearly all others write. The Parquet library parses the pages. Its
//! own decoders write to memory that they clear first, and look names up row by row.

use super::delta::DeltaDecoder;
use super::dictionary::Dictionary;
use super::hybrid::{HybridDecoder, HybridPart};
use super::packed::{DELTA_VALUES_MAX, PackedPages};
use super::texts::TextDecoder;
use super::value::ColumnValue;
use bytes::Bytes;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::iter;

/// Returns whether all encodings of a column chunk are decoded here.
pub(super) fn are_decoded_here(metadata: &ColumnChunkMetaData) -> bool {
    let is_text = metadata.column_type() == Physical::BYTE_ARRAY;
    let is_known = |encoding| match encoding {
        // RLE is also the encoding of the levels.
        Encoding::RLE | Encoding::PLAIN => true,
        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => true,
        Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => is_text,
        other => other == Encoding::DELTA_BINARY_PACKED,
    };
    metadata.encodings().all(is_known)
}

/// A column chunk that is being read.
pub(super) struct ColumnPages<T> {
    packed: PackedPages,
    nullable: bool,
    dictionary: Dictionary<T>,
    /// The current page.
    page: Option<OpenPage>,
    /// Definition levels of some rows: 1 for each row that has a value.
    levels: Vec<u8>,
}

struct OpenPage {
    /// Rows of the page that were not read yet.
    left: usize,
    levels: Option<Box<HybridDecoder>>,
    values: PageValues,
}

enum PageValues {
    Plain(Bytes),
    InDictionary(Box<HybridDecoder>),
    Deltas(Box<DeltaDecoder>),
    Texts(Box<TextDecoder>),
}

impl<T: ColumnValue> ColumnPages<T> {
    /// Opens a column chunk; `nullable` says whether a row may lack a value.
    pub(super) fn new(packed: PackedPages, nullable: bool) -> Self {
        let dictionary = Dictionary::new(Vec::new());
        ColumnPages { packed, nullable, dictionary, page: None, levels: Vec::new() }
    }

    /// Appends up to `count` rows, with `absent` for a missing value; returns the number of rows,
    /// and of those with a value.
    pub(super) fn read(
        &mut self,
        count: usize,
        column: &mut Vec<T>,
        absent: T,
    ) -> Result<(usize, usize)> {
        let (mut rows, mut values) = (0, 0);
        while rows < count && self.find_page()? {
            let Some(page) = &mut self.page else { break };
            let part = page.left.min(count - rows);
            let begin = column.len();
            let known = page.known(part, &mut self.levels)?;
            page.values.take(known, &mut self.dictionary, column)?;
            if known < part {
                column.resize(begin + part, absent);
                put_apart(&mut column[begin..], known, &self.levels, absent);
            }
            page.left -= part;
            (rows, values) = (rows + part, values + known);
        }
        Ok((rows, values))
    }

    /// Skips at most `count` rows that all hold `value`, as far as this can be seen without
    /// decoding each; returns their number.
    pub(super) fn pass_over(&mut self, count: usize, value: T) -> Result<usize> {
        let mut passed = 0;
        while passed < count && self.find_page()? {
            let Some(page) = &mut self.page else { break };
            let part = page.left.min(count - passed);
            if !page.pass_over(part, &self.dictionary, value)? {
                break;
            }
            page.left -= part;
            passed += part;
        }
        Ok(passed)
    }

    /// Advances to the next page if no row of the current one is left; returns false at the end.
    fn find_page(&mut self) -> Result<bool> {
        while self.page.as_ref().is_none_or(|page| page.left == 0) {
            self.page = None;
            let Some(page) = self.packed.next_page()? else { return Ok(false) };
            match page {
                page if page.num_values() == 0 => {}
                Page::DictionaryPage { buf, num_values, .. } => {
                    let mut values = Vec::new();
                    take_plain(&mut buf.clone(), num_values as usize, &mut values)?;
                    self.dictionary = Dictionary::new(values);
                }
                page => self.page = Some(OpenPage::open::<T>(&page, self.nullable)?),
            }
        }
        Ok(true)
    }
}

impl OpenPage {
    fn open<T: ColumnValue>(page: &Page, nullable: bool) -> Result<Self> {
        let (levels, values) = split_levels(page, nullable)?;
        let levels = if nullable { Some(Box::new(HybridDecoder::open(levels, 1)?)) } else { None };
        let values = PageValues::open::<T>(values, page.encoding(), page.num_values() as usize)?;
        Ok(OpenPage { left: page.num_values() as usize, levels, values })
    }

    /// Skips the next rows if the page shows that all hold `value`; returns whether it does.
    fn pass_over<T: ColumnValue>(
        &mut self,
        rows: usize,
        dictionary: &Dictionary<T>,
        value: T,
    ) -> Result<bool> {
        if let Some(levels) = &mut self.levels
            && levels.same(rows)? != Some(1)
        {
            return Ok(false);
        }
        let are_same = self.values.pass_over(rows, dictionary, value)?;
        match &mut self.levels {
            Some(levels) if are_same => levels.pass_over(rows, 1),
            _ => Ok(are_same),
        }
    }

    /// Returns the number of the next rows that have a value; if not all do, fills `known` with
    /// their levels.
    fn known(&mut self, rows: usize, known: &mut Vec<u8>) -> Result<usize> {
        let Some(levels) = &mut self.levels else { return Ok(rows) };
        if levels.pass_over(rows, 1)? {
            return Ok(rows);
        }
        known.clear();
        levels.take(rows, |part| match part {
            HybridPart::Same(level, times) => known.extend(iter::repeat_n(level as u8, times)),
            HybridPart::Each(levels) => known.extend(levels.iter().map(|level| *level as u8)),
            HybridPart::Short(levels) | HybridPart::Together(levels) => {
                known.extend_from_slice(levels)
            }
        })?;
        Ok(known.iter().map(|level| usize::from(*level == 1)).sum())
    }
}

/// Splits a data page into its definition levels and its values.
pub(super) fn split_levels(page: &Page, nullable: bool) -> Result<(Bytes, Bytes)> {
    let bytes = page.buffer();
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            let begin = *rep_levels_byte_len as usize;
            let end = begin.saturating_add(*def_levels_byte_len as usize);
            Ok((part(bytes, begin, end)?, part(bytes, end, bytes.len())?))
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

impl PageValues {
    fn open<T: ColumnValue>(bytes: Bytes, encoding: Encoding, count: usize) -> Result<Self> {
        let Some(width) = bytes.first() else {
            // A page in which no row has a value may be empty.
            return Ok(PageValues::Plain(bytes));
        };
        match encoding {
            Encoding::PLAIN => Ok(PageValues::Plain(bytes)),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                let places = HybridDecoder::open(bytes.slice(1..), usize::from(*width))?;
                Ok(PageValues::InDictionary(Box::new(places)))
            }
            Encoding::DELTA_BINARY_PACKED if T::IS_NUMBER => {
                Ok(PageValues::Deltas(Box::new(DeltaDecoder::open(bytes)?)))
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY if !T::IS_NUMBER => {
                let have_prefixes = encoding == Encoding::DELTA_BYTE_ARRAY;
                let most = count.min(DELTA_VALUES_MAX);
                Ok(PageValues::Texts(Box::new(TextDecoder::open(bytes, most, have_prefixes)?)))
            }
            other => Err(unexpected(other)),
        }
    }

    /// Skips the next values if the page shows that all equal `value`; returns whether it does.
    fn pass_over<T: ColumnValue>(
        &mut self,
        count: usize,
        dictionary: &Dictionary<T>,
        value: T,
    ) -> Result<bool> {
        match self {
            PageValues::Plain(_) | PageValues::Texts(_) => Ok(false),
            PageValues::InDictionary(places) => match places.same(count)? {
                Some(place) if dictionary.get(place) == Some(value) => {
                    places.pass_over(count, place)
                }
                _ => Ok(false),
            },
            PageValues::Deltas(deltas) => deltas.pass_over(count, value),
        }
    }

    /// Appends the next values.
    fn take<T: ColumnValue>(
        &mut self,
        count: usize,
        dictionary: &mut Dictionary<T>,
        column: &mut Vec<T>,
    ) -> Result<()> {
        match self {
            PageValues::Plain(bytes) => take_plain(bytes, count, column),
            PageValues::InDictionary(places) => dictionary.take(places, count, column),
            PageValues::Deltas(deltas) => deltas.take(count, column),
            PageValues::Texts(texts) => texts.take(count, column),
        }
    }
}

/// Appends plainly encoded values.
fn take_plain<T: ColumnValue>(bytes: &mut Bytes, count: usize, column: &mut Vec<T>) -> Result<()> {
    let mut at = 0;
    for _ in 0..count {
        let value = T::of_bytes(&bytes[at..]);
        let (value, length) =
            value.ok_or_else(|| ParquetError::General("a page of it has too few values".into()))?;
        column.push(value);
        at += length;
    }
    *bytes = bytes.slice(at..);
    Ok(())
}

/// Moves the values at the beginning of a column to the rows that have one.
fn put_apart<T: Copy>(column: &mut [T], values: usize, levels: &[u8], absent: T) {
    let mut left = values;
    for (row, level) in levels.iter().enumerate().take(column.len()).rev() {
        column[row] = match (level, left.checked_sub(1)) {
            (1, Some(last)) => {
                left = last;
                column[last]
            }
            _ => absent,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::command;
    use super::*;
    use crate::testing::{FileStyle, number, write_column};
    use parquet::basic::Repetition;
    use parquet::column::page::{PageMetadata, PageReader};
    use parquet::column::reader::{get_column_reader, get_typed_column_reader};
    use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use steadfast_domain::io_event::CommandName;

    /// Writes a file of one column; a nullable column has rows without a value.
    fn file<D: DataType>(way: FileStyle, values: &[Option<D::T>]) -> SerializedFileReader<Bytes> {
        let repetition = if way.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder("v", D::get_physical_type());
        let column = column.with_repetition(repetition).build().unwrap();
        let schema = Type::group_type_builder("s").with_fields(vec![Arc::new(column)]);
        let properties = match way.encoding {
            Encoding::RLE_DICTIONARY => way.properties(),
            other => way.properties().set_encoding(other),
        };
        let schema = Arc::new(schema.build().unwrap());
        let properties = Arc::new(properties.build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        write_column::<D>(&mut group, values, way.nullable);
        group.close().unwrap();
        SerializedFileReader::new(Bytes::from(writer.into_inner().unwrap())).unwrap()
    }

    fn pages_of(file: &SerializedFileReader<Bytes>) -> Box<dyn PageReader> {
        file.get_row_group(0).unwrap().get_column_page_reader(0).unwrap()
    }

    /// Reads all rows, some at a time.
    fn read<T: ColumnValue + PartialEq>(
        pages: Box<dyn PageReader>,
        nullable: bool,
        at_once: usize,
        absent: T,
    ) -> Result<Vec<T>> {
        let (mut pages, mut column) =
            (ColumnPages::new(PackedPages::unpacked(pages), nullable), Vec::new());
        loop {
            let before = column.len();
            let (rows, values) = pages.read(at_once, &mut column, absent)?;
            let known = column[before..].iter().filter(|value| **value != absent).count();
            assert!(column.len() == before + rows && known <= values && values <= rows);
            if rows < at_once {
                return Ok(column);
            }
        }
    }

    /// Reads the column with the Parquet library.
    fn by_library<D: DataType, T: ColumnValue>(
        file: &SerializedFileReader<Bytes>,
        absent: T,
        convert: impl Fn(&D::T) -> T,
    ) -> Vec<T> {
        let descriptor = file.metadata().row_group(0).column(0).column_descr_ptr();
        let reader = get_column_reader(descriptor, pages_of(file));
        let mut reader = get_typed_column_reader::<D>(reader);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (rows, ..) =
            reader.read_records(1 << 20, Some(&mut levels), None, &mut values).unwrap();
        let mut values = values.iter().map(convert);
        levels.resize(rows, 1);
        levels
            .iter()
            .map(|level| if *level == 1 { values.next().unwrap() } else { absent })
            .collect()
    }

    fn numbers(seed: u64) -> Vec<u64> {
        (0..4001).map(|at| number(seed, at)).collect()
    }

    fn check<D: DataType, T: ColumnValue + PartialEq + std::fmt::Debug>(
        of_number: impl Fn(u64) -> D::T,
        absent: T,
        convert: impl Fn(&D::T) -> T + Copy,
    ) {
        for (seed, way) in (0..).zip(FileStyle::all().into_iter().filter(|way| way.is_for::<D>())) {
            let value = |(at, number)| way.is_known(at).then(|| of_number(number));
            let values: Vec<Option<D::T>> = (0..).zip(numbers(seed)).map(value).collect();
            let file = file::<D>(way, &values);
            assert!(are_decoded_here(file.metadata().row_group(0).column(0)), "{way:?}");
            let expected = by_library::<D, T>(&file, absent, convert);
            let plainly = values.iter().map(|value| value.as_ref().map_or(absent, convert));
            assert_eq!(expected, plainly.collect::<Vec<T>>(), "{way:?}");
            for at_once in [1, 31, 33, 1000, 1 << 20] {
                let found = read(pages_of(&file), way.nullable, at_once, absent).unwrap();
                assert!(found == expected, "{way:?} {at_once}");
            }
        }
    }

    #[test]
    fn what_is_decoded_is_what_the_library_decodes() {
        check::<Int64Type, i64>(u64::cast_signed, -1, |value| *value);
        check::<Int32Type, i32>(|number| number as i32, 0, |value| *value);
        let name = |number: u64| {
            ByteArray::from(format!("kworker/{}", number % 99 * 10_000_007).into_bytes())
        };
        check::<ByteArrayType, CommandName>(name, CommandName::default(), |name| {
            command(name.data())
        });
    }

    /// The same value up to a row, then values that sometimes repeat.
    #[test]
    fn what_is_passed_over_is_the_same_and_what_follows_is_not_lost() {
        for (way, alike) in FileStyle::all()
            .into_iter()
            .filter(|way| way.is_for::<Int64Type>())
            .flat_map(|way| [0, 1, 333, 2500, 4001].map(|n| (way, n)))
        {
            let mut values: Vec<Option<i64>> = vec![Some(7); alike];
            values.extend(numbers(3)[alike..].iter().map(|number| Some(number.cast_signed() & 15)));
            let file = file::<Int64Type>(way, &values);
            for at_once in [1, 500, 1 << 20] {
                let mut pages =
                    ColumnPages::new(PackedPages::unpacked(pages_of(&file)), way.nullable);
                let mut passed = 0;
                loop {
                    let more = pages.pass_over(at_once, 7i64).unwrap();
                    passed += more;
                    if more < at_once {
                        break;
                    }
                }
                assert!(values[..passed].iter().all(|value| *value == Some(7)), "{way:?}");
                let is_told = way.encoding != Encoding::PLAIN;
                assert!(!is_told || alike < values.len() || passed == alike, "{way:?} {passed}");
                let mut rest = Vec::new();
                pages.read(1 << 20, &mut rest, -1).unwrap();
                let wanted: Vec<i64> = values[passed..].iter().flatten().copied().collect();
                assert!(rest == wanted, "{way:?} {alike} {at_once}: {passed}");
            }
        }
    }

    /// Pages that were read before.
    struct Kept(VecDeque<Page>);

    impl Iterator for Kept {
        type Item = Result<Page>;
        fn next(&mut self) -> Option<Result<Page>> {
            self.get_next_page().transpose()
        }
    }

    impl PageReader for Kept {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            Ok(self.0.pop_front())
        }
        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }
        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Returns the page with other bytes.
    fn with_bytes(page: &Page, bytes: Vec<u8>) -> Page {
        let mut page = page.clone();
        match &mut page {
            Page::DataPage { buf, .. }
            | Page::DataPageV2 { buf, .. }
            | Page::DictionaryPage { buf, .. } => *buf = bytes.into(),
        }
        page
    }

    /// Damages the first pages of a column whose contents are `whole`.
    fn damage<D: DataType, T: ColumnValue + PartialEq>(
        way: FileStyle,
        values: &[Option<D::T>],
        whole: &[T],
        absent: T,
    ) {
        let file = file::<D>(way, values);
        let pages: VecDeque<Page> = pages_of(&file).collect::<Result<_>>().unwrap();
        for which in 0..pages.len().min(3) {
            let bytes = pages[which].buffer();
            for at in (0..bytes.len()).filter(|at| *at < 40 || at % 97 == 0) {
                let mut changed = pages.clone();
                let mut flipped = bytes.to_vec();
                flipped[at] ^= 1 << (at % 8) | 0x80;
                changed[which] = with_bytes(&pages[which], flipped);
                let rows = read(Box::new(Kept(changed)), way.nullable, 1 << 20, absent);
                assert!(rows.is_err() || rows.unwrap().len() == values.len());
                let mut cut = pages.clone();
                cut[which] = with_bytes(&pages[which], bytes[..at].to_vec());
                let rows = read(Box::new(Kept(cut)), way.nullable, 1 << 20, absent);
                // The padding of the last block may be missing.
                let is_right = rows.is_err() || rows.unwrap() == whole;
                assert!(is_right, "{way:?}, page {which} ends at byte {at}");
            }
        }
    }

    #[test]
    fn damaged_pages_are_errors_or_other_values_but_never_panic() {
        let numbers: Vec<i64> = numbers(3).into_iter().map(u64::cast_signed).collect();
        let known: Vec<Option<i64>> = numbers.iter().copied().map(Some).collect();
        let names: Vec<String> =
            numbers.iter().map(|number| format!("kworker/{}", number % 999)).collect();
        let texts: Vec<Option<ByteArray>> =
            names.iter().map(|name| Some(ByteArray::from(name.as_bytes().to_vec()))).collect();
        let commands: Vec<CommandName> =
            names.iter().map(|name| command(name.as_bytes())).collect();
        for way in FileStyle::all().into_iter().filter(|way| way.page_rows != 7) {
            if way.is_for::<Int64Type>() {
                damage::<Int64Type, i64>(way, &known, &numbers, -1);
            }
            if way.is_for::<ByteArrayType>() {
                damage::<ByteArrayType, CommandName>(
                    way,
                    &texts,
                    &commands,
                    CommandName::default(),
                );
            }
        }
    }
}
