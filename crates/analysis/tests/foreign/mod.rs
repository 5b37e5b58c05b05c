//! Parquet files of other programs, with a trace's columns but none of its keys.

use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Cursor;
use std::sync::Arc;
use steadfast_analysis::{PassOptions, StreamTable};
use steadfast_tracefile::Trace;

/// DuckDB writes such files from a trace.
#[test]
fn depths_are_counted_if_completions_are_missing_and_the_file_has_no_keys() {
    // The second of three is never completed, and stays in the depths of those after it.
    let columns = "REQUIRED INT64 issued_ns; OPTIONAL INT64 response_ns; REQUIRED INT64 offset; \
                   REQUIRED INT32 bytes; REQUIRED INT32 depth; REQUIRED INT32 op;";
    let read = |responses: &[i64], known: &[i16]| {
        let schema = parse_message_type(&format!("message schema {{ {columns} }}")).unwrap();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut wide = |values: &[i64], levels: Option<&[i16]>| {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(values, levels, None).unwrap();
            column.close().unwrap();
        };
        wide(&[0, 10, 20], None);
        wide(responses, Some(known));
        wide(&[512, 4096, 9216], None);
        for values in [[512, 512, 512], [1, 2, 2], [0, 0, 0]] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let trace = Trace::open(Cursor::new(bytes)).unwrap();
        let mut table = StreamTable::new();
        PassOptions::default().run(&trace, &mut [&mut table]).unwrap();
        let (total, remarks) = (table.total(), &trace.conditions().remarks);
        let has_remark = remarks.iter().any(|remark| remark.contains("queue depths are counted"));
        assert_eq!(has_remark, trace.conditions().in_part.is_some());
        (
            trace.conditions().in_part.map(|part| part.unended),
            total.times.depths.sum,
            total.times.depths.count,
        )
    };
    assert_eq!(read(&[15, 5], &[1, 0, 1]), (Some(1), 1 + 1, 2));
    // If all are known, or none, nothing indicates that the depths are wrong.
    assert_eq!(read(&[15, 5, 5], &[1, 1, 1]), (None, 1 + 2 + 2, 3));
    assert_eq!(read(&[], &[0, 0, 0]), (None, 1 + 2 + 2, 3));
}
