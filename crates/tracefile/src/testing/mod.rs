//! Parquet columns in every encoding, for tests of the readers.

use parquet::basic::{Encoding, Type as Physical};
use parquet::data_type::DataType;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::writer::SerializedRowGroupWriter;
use steadfast_domain::random_bits::mix64;

/// The way in which a test file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStyle {
    pub(crate) encoding: Encoding,
    pub(crate) version: WriterVersion,
    pub(crate) page_rows: usize,
    pub(crate) nullable: bool,
}

impl FileStyle {
    /// Returns every encoding in both versions, with short and long pages.
    pub(crate) fn all() -> Vec<FileStyle> {
        let mut styles = Vec::new();
        for encoding in [
            Encoding::PLAIN,
            Encoding::RLE_DICTIONARY,
            Encoding::DELTA_BINARY_PACKED,
            Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Encoding::DELTA_BYTE_ARRAY,
        ] {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                for (page_rows, nullable) in [(7, true), (1009, false), (1009, true), (9001, true)]
                {
                    styles.push(FileStyle { encoding, version, page_rows, nullable });
                }
            }
        }
        styles
    }

    pub(crate) fn is_of_texts(self) -> bool {
        matches!(self.encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
    }

    /// Returns true if values of a type can have the encoding.
    pub(crate) fn is_for<D: DataType>(self) -> bool {
        let is_text = D::get_physical_type() == Physical::BYTE_ARRAY;
        match self.encoding {
            Encoding::DELTA_BINARY_PACKED => !is_text,
            _ => is_text || !self.is_of_texts(),
        }
    }

    /// Returns the properties without the encoding.
    pub(crate) fn properties(self) -> WriterPropertiesBuilder {
        WriterProperties::builder()
            .set_writer_version(self.version)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_data_page_row_count_limit(self.page_rows)
            .set_write_batch_size(self.page_rows)
            .set_dictionary_enabled(self.encoding == Encoding::RLE_DICTIONARY)
    }

    pub(crate) fn is_known(self, row: u64) -> bool {
        !self.nullable || (row / 500).is_multiple_of(3) || mix64(row) % 9 > 2
    }
}

/// Returns numbers of several kinds, one after the other: equal, ascending, in runs, of few bits, of
/// all bits.
pub(crate) fn number(seed: u64, at: u64) -> u64 {
    let draw = mix64(seed << 32 | at);
    match (at / 667 + seed) % 6 {
        0 => 7,
        1 => at * 4096,
        2 => at / 13 % 5,
        3 => draw % 300,
        4 => draw >> (draw % 64),
        _ => draw,
    }
}

/// Writes a column whose rows may lack a value.
pub(crate) fn write_column<D: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Option<D::T>],
    nullable: bool,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let known: Vec<D::T> = rows.iter().flatten().cloned().collect();
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.is_some())).collect();
    let levels = nullable.then_some(&levels[..]);
    column.typed::<D>().write_batch(&known, levels, None).unwrap();
    column.close().unwrap();
}
