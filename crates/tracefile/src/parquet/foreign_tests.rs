//! Files of other programs: every encoding and page version, damage, and pages that describe
//! far more than they hold.

use super::source::SharedMedium;
use super::{Fields, Trace, chunk};
use crate::batch::Batch;
use crate::error::TraceError;
use crate::import::{ColumnMapping, import_parquet};
use crate::testing::{FileStyle, number, write_column};
use bytes::Bytes;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};
use std::io::Cursor;
use std::sync::Arc;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::random_bits::mix64;

type RowGroup<'w> = SerializedRowGroupWriter<'w, Vec<u8>>;

impl FileStyle {
    fn of_file(self) -> WriterProperties {
        let properties = self.properties();
        match self.encoding {
            Encoding::RLE_DICTIONARY => properties,
            texts if self.is_of_texts() => properties
                .set_encoding(Encoding::PLAIN)
                .set_column_encoding(ColumnPath::from("command"), texts),
            numbers => properties
                .set_encoding(numbers)
                .set_column_encoding(ColumnPath::from("command"), Encoding::PLAIN),
        }
        .build()
    }

    fn schema(self) -> String {
        let repetition = if self.nullable { "OPTIONAL" } else { "REQUIRED" };
        format!(
            "message m {{ REQUIRED INT64 issued_ns; REQUIRED INT64 offset; REQUIRED INT32 bytes; \
             REQUIRED INT32 op; {repetition} INT64 response_ns; {repetition} INT32 pid; \
             {repetition} BYTE_ARRAY command; }}"
        )
    }

    /// Events of which some lack a value where columns may.
    fn events(self, seed: u64) -> Vec<IoEvent> {
        (0..4001)
            .map(|n| {
                let is_known = self.is_known(n);
                let name = format!("kworker/{}", number(seed + 3, n) % 99 * 10_000_007);
                IoEvent {
                    issued_ns: number(seed, n) >> 1,
                    offset: number(seed + 1, n) >> 1,
                    bytes: number(seed + 2, n) as u32,
                    response_ns: if is_known { number(seed + 4, n) >> 1 } else { u64::MAX },
                    pid: if is_known { number(seed + 5, n) as u32 } else { 0 },
                    command: CommandName::new(if is_known { &name } else { "" }),
                    ..IoEvent::default()
                }
            })
            .collect()
    }
}

fn write(style: FileStyle, events: &[IoEvent]) -> Vec<u8> {
    let wide = |value: fn(&IoEvent) -> u64| -> Vec<Option<i64>> {
        let values = events.iter().map(value);
        values.map(|value| (value != u64::MAX).then_some(value.cast_signed())).collect()
    };
    let narrow = |value: fn(&IoEvent) -> u32| -> Vec<Option<i32>> {
        events.iter().map(|event| Some(value(event).cast_signed())).collect()
    };
    let mut pids = narrow(|event| event.pid);
    let mut names: Vec<Option<ByteArray>> = events
        .iter()
        .map(|event| Some(ByteArray::from(event.command.to_string().into_bytes())))
        .collect();
    if style.nullable {
        pids.iter_mut().for_each(|pid| *pid = pid.filter(|pid| *pid != 0));
        names.iter_mut().for_each(|name| *name = name.take().filter(|name| !name.is_empty()));
    }
    let schema = Arc::new(parse_message_type(&style.schema()).unwrap());
    let mut file =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(style.of_file())).unwrap();
    let mut group = file.next_row_group().unwrap();
    write_column::<Int64Type>(&mut group, &wide(|event| event.issued_ns), false);
    write_column::<Int64Type>(&mut group, &wide(|event| event.offset), false);
    write_column::<Int32Type>(&mut group, &narrow(|event| event.bytes), false);
    write_column::<Int32Type>(&mut group, &narrow(|event| event.op as u32), false);
    write_column::<Int64Type>(&mut group, &wide(|event| event.response_ns), style.nullable);
    write_column::<Int32Type>(&mut group, &pids, style.nullable);
    write_column::<ByteArrayType>(&mut group, &names, style.nullable);
    group.close().unwrap();
    file.into_inner().unwrap()
}

/// Reads all events, `at_once` at a time.
fn read(bytes: Vec<u8>, at_once: usize) -> Result<Vec<IoEvent>, TraceError> {
    let trace = Trace::open(Cursor::new(bytes))?;
    let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
    while batches.read(at_once, &mut batch)? > 0 {}
    assert_eq!(batch.len() as u64, trace.rows());
    Ok((0..batch.len()).map(|row| batch.event(row)).collect())
}

#[test]
fn every_encoding_is_read_however_many_rows_at_once() {
    for (seed, style) in (0..).zip(FileStyle::all()) {
        let events = style.events(seed);
        let bytes = write(style, &events);
        for at_once in [31, 1000, 1 << 20] {
            assert!(read(bytes.clone(), at_once).unwrap() == events, "{style:?} {at_once}");
        }
    }
}

#[test]
fn damage_is_an_error_or_changes_values_but_never_panics() {
    for (seed, style) in (0..).zip(FileStyle::all()).filter(|(_, style)| style.page_rows > 7) {
        let whole = write(style, &style.events(seed)[..1500]);
        for flip in 0..200 {
            let at = mix64(seed << 32 | flip) % (whole.len() as u64 * 8);
            let mut bytes = whole.clone();
            bytes[at as usize / 8] ^= 1 << (at % 8);
            if let Err(error) = read(bytes, 1 << 20) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// Writes a chunk of 64 bits and calls it one of 32.
fn append_as_narrow(group: &mut RowGroup<'_>, name: &str, values: &[i64]) {
    let descriptor = |physical| {
        let column = Type::primitive_type_builder(name, physical);
        let column = column.with_repetition(parquet::basic::Repetition::REQUIRED).build().unwrap();
        Arc::new(ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from(name)))
    };
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::None);
    let mut chunk = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut chunk));
    let column =
        get_column_writer(descriptor(Physical::INT64), Arc::new(properties.build()), pages);
    let mut column = get_typed_column_writer::<Int64Type>(column);
    column.write_batch(values, None, None).unwrap();
    let close = column.close().unwrap();
    let wide = &close.metadata;
    let metadata = ColumnChunkMetaData::builder(descriptor(Physical::INT32))
        .set_encodings_mask(*wide.encodings_mask())
        .set_num_values(wide.num_values())
        .set_total_compressed_size(wide.compressed_size())
        .set_total_uncompressed_size(wide.uncompressed_size())
        .set_data_page_offset(wide.data_page_offset())
        .build()
        .unwrap();
    let close = ColumnCloseResult { metadata, ..close };
    group.append_column(&Bytes::from(chunk.into_inner().unwrap()), close).unwrap();
}

/// DuckDB writes differences of 33 and 34 bits between numbers of 32.
#[test]
fn differences_may_have_more_bits_than_their_column() {
    let columns = "REQUIRED INT64 issued_ns; REQUIRED INT64 offset; REQUIRED INT32 bytes; \
                   REQUIRED INT32 op;";
    let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let sizes = [4096, 4_294_966_784, 4096];
    write_column::<Int64Type>(&mut group, &[Some(1), Some(2), Some(3)], false);
    write_column::<Int64Type>(&mut group, &[Some(0); 3], false);
    append_as_narrow(&mut group, "bytes", &sizes);
    write_column::<Int32Type>(&mut group, &[Some(0); 3], false);
    group.close().unwrap();
    let bytes = file.into_inner().unwrap();
    // As the columns of a cube file are read.
    let source = SharedMedium::new(Cursor::new(bytes.clone())).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&source).unwrap();
    let group = metadata.row_group(0);
    let numbers = chunk::narrow_numbers(&source, group.column(2), 3, 0).unwrap();
    assert_eq!(numbers.iter().map(|n| i64::from(n.cast_unsigned())).collect::<Vec<_>>(), sizes);
    assert!(chunk::narrow_numbers(&source, group.column(0), 3, 0).is_err());
    let events = read(bytes, 100).unwrap();
    assert_eq!(events.iter().map(|event| i64::from(event.bytes)).collect::<Vec<_>>(), sizes);
}

/// A page of 300 equal texts of 4 MiB takes few bytes in the file; of each, a name is kept.
#[test]
fn texts_that_share_a_long_beginning_are_cut_to_names() {
    let long = ByteArray::from(vec![b'n'; 4 << 20]);
    let names = vec![Some(long); 300];
    let style = FileStyle {
        encoding: Encoding::DELTA_BYTE_ARRAY,
        version: WriterVersion::PARQUET_2_0,
        page_rows: 1 << 20,
        nullable: false,
    };
    let schema = Arc::new(parse_message_type(&style.schema()).unwrap());
    let zstd = parquet::basic::Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let properties = style.of_file().into_builder().set_compression(zstd).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let (wide, narrow) = (vec![Some(512); names.len()], vec![Some(1); names.len()]);
    write_column::<Int64Type>(&mut group, &wide, false);
    write_column::<Int64Type>(&mut group, &wide, false);
    write_column::<Int32Type>(&mut group, &narrow, false);
    write_column::<Int32Type>(&mut group, &narrow, false);
    write_column::<Int64Type>(&mut group, &wide, false);
    write_column::<Int32Type>(&mut group, &narrow, false);
    write_column::<ByteArrayType>(&mut group, &names, false);
    group.close().unwrap();
    let bytes = file.into_inner().unwrap();
    assert!(bytes.len() < 1 << 20);
    // A table of another program keeps whole texts, so it is refused.
    let mapping = "time = { column = \"issued_ns\", unit = \"ns\" }\nop = \"op\"\n\
                   offset = \"offset\"\nbytes = \"bytes\"\ncommand = \"command\"\n";
    let mapping = ColumnMapping::parse(mapping).unwrap();
    let table = import_parquet(&mapping, "t", Cursor::new(bytes.clone()), &mut |_| Ok(()));
    assert!(table.unwrap_err().to_string().contains("its pages are longer than 64 MiB"));
    let events = read(bytes, 1 << 20).unwrap();
    let name = CommandName::new("nnnnnnnnnnnnnnn");
    assert_eq!(events.iter().filter(|event| event.command == name).count(), 300);
}
