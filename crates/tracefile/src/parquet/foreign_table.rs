//! Rows of the tables of other programs, in bounded memory.
//!
//! The Parquet library decodes them, but allocates the sizes that the headers of pages claim. It
//! gets its pages from [`PackedPages`], which unpacks them within limits.

use super::column::pages;
use super::packed::{PAGE_MAX, PackedPages, PageMemory, too_large};
use super::page_retyping::{decoded_length, split_levels};
use super::source::SharedMedium;
use parquet::basic::Encoding;
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

/// A Parquet file of another program.
pub(crate) struct ForeignTable {
    source: SharedMedium,
    metadata: ParquetMetaData,
}

impl ForeignTable {
    pub(crate) fn open(source: SharedMedium) -> Result<Self> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&source)?;
        Ok(ForeignTable { source, metadata })
    }
}

impl FileReader for ForeignTable {
    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    fn num_row_groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    fn get_row_group(&self, number: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        let metadata = self.metadata.row_group(number);
        Ok(Box::new(ForeignGroup { source: &self.source, metadata, memory: PageMemory::new() }))
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

struct ForeignGroup<'f> {
    source: &'f SharedMedium,
    metadata: &'f RowGroupMetaData,
    memory: PageMemory,
}

impl RowGroupReader for ForeignGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata
    }

    fn num_columns(&self) -> usize {
        self.metadata.num_columns()
    }

    fn get_column_page_reader(&self, number: usize) -> Result<Box<dyn PageReader>> {
        let chunk = self.metadata.column(number);
        let rows = usize::try_from(self.metadata.num_rows())?;
        let nullable = chunk.column_descr().max_def_level() > 0;
        let packed = pages(self.source, None, chunk, rows, &self.memory)?;
        Ok(Box::new(ForeignPages { packed, nullable }))
    }

    fn get_column_bloom_filter(&self, _: usize) -> Option<&Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

/// Pages of a column. No page decodes to more than [`PAGE_MAX`].
struct ForeignPages {
    packed: PackedPages,
    nullable: bool,
}

impl ForeignPages {
    fn check(&self, page: &Page) -> Result<()> {
        let encoding = page.encoding();
        if matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) {
            let (_, texts) = split_levels(page, self.nullable)?;
            let values = page.num_values() as usize;
            // A page in which no row has a value may be empty.
            if !texts.is_empty() && decoded_length(texts, encoding, values)? > PAGE_MAX as u64 {
                return Err(too_large());
            }
        }
        Ok(())
    }
}

impl Iterator for ForeignPages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for ForeignPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.packed.next_page()?;
        match &page {
            Some(page) => self.check(page)?,
            // The library would repeat the last rows.
            None if self.packed.rows_left > 0 => {
                let missing = self.packed.rows_left;
                return Err(ParquetError::General(format!("{missing} rows are missing")));
            }
            None => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.packed.skip_next_page()
    }
}
