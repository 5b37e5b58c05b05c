use super::*;
use crate::batch::Batch;
use crate::error::TraceError;
use parquet::basic::Compression;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturedDevice, CommandName, FileName, Mark, MergeCounts, ProcessorReading,
};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer};

fn conditions() -> CaptureConditions {
    CaptureConditions {
        software: "steadfast test".into(),
        source: "made up".into(),
        devices: vec![CapturedDevice {
            name: "nvme0n1".into(),
            capacity: Some(Bytes(1 << 40)),
            ..CapturedDevice::default()
        }],
        ..CaptureConditions::default()
    }
}

/// Events of every kind, a prime number of them, by completion.
fn events(count: u64) -> Vec<IoEvent> {
    let mut events: Vec<IoEvent> = (0..count)
        .map(|n| {
            let x = mix64(n);
            IoEvent {
                issued_ns: n * 1000 + x % 700,
                response_ns: if x.is_multiple_of(11) { u64::MAX } else { x >> 44 },
                queued_ns: x % 977,
                offset: (x % 100_000) * 512,
                bytes: (1 + (x % 256) as u32) * 512,
                depth: (x % 33) as u32,
                pid: (x % 7) as u32,
                cpu: (x % 128) as u16,
                flags: (x % 512) as u16,
                device: (x % 3) as u16,
                op: IoOp::ALL[(x % 5) as usize],
                layer: if x.is_multiple_of(4) { Layer::FileSystem } else { Layer::Block },
                command: CommandName::new(["", "postgres", "kworker/u8:1"][(x % 3) as usize]),
                inode: x % 5,
                ..IoEvent::default()
            }
        })
        .collect();
    events.sort_by_key(|event| event.completed_ns().unwrap_or(event.issued_ns));
    events
}

fn file(events: &[IoEvent], rows_per_group: usize) -> Vec<u8> {
    let mut writer =
        TraceWriter::new(Vec::new(), &conditions()).unwrap().with_rows_per_group(rows_per_group);
    for part in events.chunks(777) {
        writer.write(part).unwrap();
    }
    assert_eq!(writer.rows(), events.len() as u64);
    let mut end = conditions();
    end.lost = 3;
    end.marks.push(Mark { at_ns: 5, name: "backup".into() });
    writer.finish(end).unwrap()
}

fn open(bytes: Vec<u8>) -> Trace {
    Trace::open(Cursor::new(bytes)).unwrap()
}

fn read_all(trace: &Trace) -> Vec<IoEvent> {
    let mut batches = trace.batches(Fields::ALL);
    let mut found = Vec::new();
    let mut batch = Batch::default();
    while batches.read(1000, &mut batch).unwrap() > 0 {
        found.extend((0..batch.len()).map(|row| batch.event(row)));
        batch.clear();
    }
    found
}

fn by_issue(mut events: Vec<IoEvent>) -> Vec<IoEvent> {
    events.sort_by_key(|e| (e.issued_ns, e.offset, e.response_ns, e.bytes, e.queued_ns));
    events
}

fn in_order(trace: &Trace, waiting: usize) -> (Vec<IoEvent>, crate::issue_order::OrderAccount) {
    let mut order = trace.in_issue_order(Fields::ALL).waiting_at_most(waiting);
    let (mut found, mut batch) = (Vec::new(), Batch::default());
    while order.next_batch(&mut batch).unwrap() {
        found.extend((0..batch.len()).map(|row| batch.event(row)));
    }
    (found, order.account())
}

#[test]
fn a_written_trace_is_read_back() {
    let events = events(10_007);
    let trace = open(file(&events, 1009));
    assert_eq!(trace.rows(), 10_007);
    assert_eq!(by_issue(read_all(&trace)), by_issue(events.clone()));
    assert_eq!(trace.conditions().lost, 3);
    assert_eq!(trace.conditions().marks.len(), 1);
    assert_eq!(trace.start.as_ref(), Some(&conditions()));
    assert!(trace.recovery().is_none());
    let issued = |e: &IoEvent| e.issued_ns;
    let span = (events.iter().map(issued).min().unwrap(), events.iter().map(issued).max().unwrap());
    assert_eq!(trace.span_ns(), Some(span));
    let end = trace.end_of_range().unwrap();
    assert!(events.iter().all(|e| e.offset + u64::from(e.bytes) <= end));
}

const EIO: i32 = 5;

/// A medium whose reads fail after the first few, as a bad sector's do.
struct Failing {
    bytes: Cursor<Vec<u8>>,
    reads_left: usize,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads_left =
            self.reads_left.checked_sub(1).ok_or(io::Error::from_raw_os_error(EIO))?;
        self.bytes.read(buffer)
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

#[test]
fn an_error_of_the_medium_is_never_reported_as_damage() {
    let whole = file(&events(1009), 101);
    let read = |reads_left| -> Result<usize, TraceError> {
        let trace = Trace::open(Failing { bytes: Cursor::new(whole.clone()), reads_left })?;
        let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
        let mut rows = 0;
        loop {
            match batches.read(1000, &mut batch)? {
                0 => break Ok(rows),
                more => rows += more,
            }
            batch.clear();
        }
    };
    let mut failed = 0;
    let rows = loop {
        match read(failed) {
            Ok(rows) => break rows,
            Err(TraceError::Io(error)) => assert_eq!(error.raw_os_error(), Some(EIO)),
            Err(other) => panic!("after {failed} reads: {other}"),
        }
        failed += 1;
    };
    assert!(rows == 1009 && failed > 10, "{rows} rows after {failed} failed attempts");
}

/// Data that only some captures have, in a file that was finished and in one that was not.
#[test]
fn threads_cgroups_merges_and_paths_are_read_back() {
    let mut conditions = conditions();
    conditions.threads = true;
    conditions.cgroups = Some(Vec::new());
    conditions.merging = Some(vec![MergeCounts::default()]);
    let names = ["", "a-thread", "another"];
    let mut events = events(5003);
    for (event, n) in events.iter_mut().zip(0u64..) {
        let x = mix64(n ^ 0xabc);
        (event.tid, event.cgroup) = ((x % 4_194_303) as u32, (x % 1025) as u16);
        (event.merged, event.thread) = ((x % 97) as u16, CommandName::new(names[(x % 3) as usize]));
    }
    let mut writer = TraceWriter::new(Vec::new(), &conditions).unwrap().with_rows_per_group(503);
    let path = |n: u64| FileName { device: 0, inode: n, path: format!("/srv/\"{n}\" ü") };
    let reading = |n: u64| ProcessorReading { at_ns: n * 7, busy: n * 3, io_wait: n, total: n * 5 };
    for (part, n) in events.chunks(503).zip(1u64..) {
        // Some blocks have no new path.
        conditions.files = Arc::new((0..n / 2 * 2).map(path).collect());
        // The list is thinned out on the way.
        let step = if n > 5 { 2 } else { 1 };
        conditions.processors = Arc::new((0..n * 3).step_by(step).map(reading).collect());
        writer.update(&conditions).unwrap();
        writer.write(part).unwrap();
    }
    let whole = writer.finish(conditions.clone()).unwrap();
    let trace = open(whole.clone());
    assert_eq!(by_issue(read_all(&trace)), by_issue(events));
    assert_eq!(trace.conditions(), &conditions);
    assert_eq!(trace.conditions().files.len(), 10);
    let mut killed = whole;
    killed.truncate(killed.len() - 100);
    let trace = open(killed);
    assert!(trace.recovery().is_some());
    assert_eq!(trace.conditions().files, conditions.files);
    // The first half as it was before it was thinned out.
    let readings = (0..15).chain((16..30).step_by(2)).map(reading);
    assert_eq!(*trace.conditions().processors, readings.collect::<Vec<_>>());
    // A capture without them has none of the columns.
    let usual = file(&[], 10);
    assert!(!usual.windows(6).any(|bytes| bytes == b"cgroup"));
}

#[test]
fn every_row_keeps_its_own_name() {
    let mut events = events(10_007);
    for (event, n) in events.iter_mut().zip(0u64..) {
        // Runs of one name, then more names than have buffers.
        let name = if n < 3001 { n / 1000 } else { mix64(n) % 499 };
        event.command = CommandName::new(&format!("worker-{name}"));
    }
    let trace = open(file(&events, 2503));
    let read = by_issue(read_all(&trace));
    assert!(read == by_issue(events), "names differ");
}

#[test]
fn an_empty_trace_is_a_trace() {
    let trace = open(file(&[], 10));
    assert_eq!((trace.rows(), trace.span_ns()), (0, None));
    assert!(read_all(&trace).is_empty());
    assert!(in_order(&trace, 10).0.is_empty());
}

#[test]
fn only_requested_columns_are_read() {
    let trace = open(file(&events(101), 50));
    let mut batch = Batch::default();
    trace.batches(Fields::new(&[Field::Bytes])).read(50, &mut batch).unwrap();
    assert!(batch.bytes(0) > 0);
    assert_eq!((batch.offset(0), batch.response_ns(0), batch.pid(0)), (0, u64::MAX, 0));
}

#[test]
fn issue_order_is_restored() {
    let events = events(10_007);
    let trace = open(file(&events, 101));
    let (found, account) = in_order(&trace, 1 << 20);
    assert!(found.is_sorted_by_key(|event| event.issued_ns));
    assert_eq!(by_issue(found), by_issue(events));
    assert_eq!((account.overflowed, account.late), (0, 0));
}

/// Columns that hold nothing in some row groups, something in others, and both in some.
#[test]
fn columns_without_a_value_are_read_beside_any_others() {
    let mut events = events(10_007);
    for (at, event) in events.iter_mut().enumerate() {
        let kind = mix64((at / 1500) as u64);
        let is_plain = |bit: u32| kind >> bit & 1 == 0 || at % 1500 < 700 && kind >> bit & 2 == 0;
        event.device *= u16::from(!is_plain(0));
        event.layer = if is_plain(2) { Layer::Block } else { event.layer };
        event.inode *= u64::from(!is_plain(4));
        event.depth *= u32::from(!is_plain(6));
        event.pid *= u32::from(!is_plain(8));
        event.flags *= u16::from(!is_plain(10));
        event.queued_ns *= u64::from(!is_plain(12));
        event.response_ns = if is_plain(14) { u64::MAX } else { event.response_ns };
        event.command = if is_plain(16) { CommandName::default() } else { event.command };
    }
    let wanted = by_issue(events.clone());
    for rows_per_group in [97, 750, 1500, 10_007] {
        let trace = open(file(&events, rows_per_group));
        assert_eq!(by_issue(read_all(&trace)), wanted, "{rows_per_group}");
        for most in [31, 997] {
            let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
            while batches.read(most, &mut batch).unwrap() > 0 {}
            let found = (0..batch.len()).map(|row| batch.event(row)).collect();
            assert_eq!(by_issue(found), wanted, "{rows_per_group} {most}");
        }
        for waiting in [0, 100, 1 << 20] {
            let (found, _) = in_order(&trace, waiting);
            assert_eq!(by_issue(found), wanted, "{rows_per_group} {waiting}");
        }
    }
}

/// One I/O of ten seconds is recorded after 5,000 that were issued later.
#[test]
fn an_overflow_is_counted() {
    let mut events: Vec<IoEvent> =
        (1..=5_000).map(|n| IoEvent { issued_ns: n * 1000, ..IoEvent::default() }).collect();
    events.push(IoEvent { issued_ns: 500, response_ns: 10_000_000_000, ..IoEvent::default() });
    let bytes = file(&events, 100);
    let trace = open(bytes);
    let (found, account) = in_order(&trace, 5_000);
    assert!(found.is_sorted_by_key(|event| event.issued_ns));
    assert_eq!(account.overflowed, 0);
    assert!(account.waited_max >= 4_900);
    let (found, account) = in_order(&trace, 1_000);
    assert_eq!(found.len(), 5_001);
    assert!(account.overflowed >= 3_900, "{account:?}");
    assert_eq!(account.late, 1);
}

#[test]
fn bytes_after_a_complete_file_lose_no_io() {
    let events = by_issue(events(1_009));
    let whole = file(&events, 100);
    for more in [&b"x"[..], b"PAR1 and more", &[0; 3 << 20]] {
        let trace = open([&whole[..], more].concat());
        assert_eq!(trace.recovery(), None);
        assert_eq!(by_issue(read_all(&trace)), events);
        let remark = format!("{} bytes that follow the end", more.len());
        assert!(trace.conditions().remarks.iter().any(|text| text.starts_with(&remark)));
    }
}

#[test]
fn a_killed_writer_loses_only_the_unfinished_row_group() {
    let events: Vec<IoEvent> = by_issue(events(1_009));
    let mut sink = Vec::new();
    let mut ends = Vec::new();
    {
        let mut writer = TraceWriter::new(&mut sink, &conditions()).unwrap();
        let mut later = conditions();
        for (n, part) in events.chunks(100).enumerate() {
            later.lost = n as u64;
            writer.update(&later).unwrap();
            writer.write(part).unwrap();
            writer.flush().unwrap();
            ends.push(writer.bytes_written() as usize);
        }
    }
    // Nothing can be read before the first row group is complete.
    let unreadable = Trace::open(Cursor::new(sink[..ends[0] - 1].to_vec())).err();
    assert!(matches!(unreadable, Some(TraceError::Unsuitable(_))), "{unreadable:?}");
    for (complete, pair) in ends.windows(2).enumerate() {
        for cut in [pair[0], pair[0] + 1, usize::midpoint(pair[0], pair[1]), pair[1] - 1] {
            let trace = open(sink[..cut].to_vec());
            let account = trace.recovery().unwrap();
            assert_eq!(account.row_groups, complete + 1);
            assert_eq!(account.bytes_ignored, (cut - pair[0]) as u64);
            assert_eq!(trace.conditions().lost, complete as u64);
            assert_eq!(trace.start.as_ref(), Some(&conditions()));
            assert_eq!(
                by_issue(read_all(&trace)),
                by_issue(events[..(complete + 1) * 100].to_vec())
            );
        }
    }
}

/// A finished file that lost its end, wherever it was cut.
#[test]
fn a_cut_off_file_is_read_or_refused() {
    let whole = file(&events(307), 100);
    let mut least = u64::MAX;
    for cut in (0..whole.len()).rev().step_by(7) {
        match Trace::open(Cursor::new(whole[..cut].to_vec())) {
            Ok(trace) => {
                assert!(trace.recovery().is_some() && trace.rows() <= least);
                least = trace.rows();
                assert_eq!(read_all(&trace).len() as u64, trace.rows());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert_eq!(least, 100, "a file without a whole row group is refused");
}

/// Reads all events and metadata that can be read.
fn read_everything(bytes: Vec<u8>) {
    let Ok(trace) = Trace::open(Cursor::new(bytes)) else { return };
    let _ = (trace.rows(), trace.span_ns(), trace.end_of_range(), trace.conditions().lost);
    let mut order = trace.in_issue_order(Fields::ALL).waiting_at_most(50);
    let mut batch = Batch::default();
    while let Ok(true) = order.next_batch(&mut batch) {
        (0..batch.len()).for_each(|row| {
            std::hint::black_box(batch.event(row));
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_damage_panics(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        near_end in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>())
    ) {
        let mut bytes = file(&events(211), 70);
        for (at, value) in hits {
            let length = bytes.len();
            let from = if near_end { length.saturating_sub(3000) } else { 0 };
            bytes[from + at.index(length - from)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_everything(bytes);
    }
}

/// The recovery blocks of a file: where each begins and ends.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = recovery_block::find(&bytes[at..]) {
        let length = recovery_block::stated_length(&bytes[at + next..at + next + 16]).unwrap();
        found.push((at + next, at + next + length));
        at += next + length;
    }
    found
}

#[test]
fn a_copied_recovery_block_counts_no_row_group_twice() {
    let events = events(300);
    let whole = file(&events, 100);
    let found = blocks(&whole);
    let (begin, end) = found[found.len() - 1];
    let killed = &whole[..end];
    let copied = [killed, &whole[begin..end]].concat();
    let trace = open(copied);
    assert_eq!(by_issue(read_all(&trace)), by_issue(events));
    assert!(!trace.integrity().is_whole());
}

/// The Parquet library skips the field that holds all keys, checksums included, if its head has
/// another number.
#[test]
fn a_footer_whose_keys_are_hidden_is_damaged() {
    let whole = file(&events(300), 100);
    let key = b"steadfast.format";
    let head = whole.windows(key.len()).rposition(|bytes| bytes == key).unwrap() - 4;
    for bit in 0..8 {
        let mut bytes = whole.clone();
        bytes[head] ^= 1 << bit;
        assert!(Trace::open(Cursor::new(bytes)).is_err(), "bit {bit}");
    }
}

/// A trace that pandas wrote again: the same keys with other bytes.
#[test]
fn a_file_that_another_program_wrote_again_is_a_trace_without_checksums() {
    let ours = bytes::Bytes::from(file(&events(101), 50));
    let keys = |keys: &SerializedFileReader<bytes::Bytes>| {
        keys.metadata().file_metadata().key_value_metadata().cloned()
    };
    let found = SerializedFileReader::new(ours).unwrap();
    let columns = "REQUIRED INT64 issued_ns; REQUIRED INT64 offset; REQUIRED INT32 bytes; \
                   REQUIRED INT32 op;";
    let again = |author: &str| {
        let schema = parse_message_type(&format!("message schema {{ {columns} }}")).unwrap();
        let properties = WriterProperties::builder()
            .set_created_by(author.to_owned())
            .set_key_value_metadata(keys(&found));
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties.build()))
                .unwrap();
        let mut group = writer.next_row_group().unwrap();
        for wide in [true, true, false, false] {
            let mut column = group.next_column().unwrap().unwrap();
            if wide {
                column.typed::<Int64Type>().write_batch(&[512, 1024], None, None)
            } else {
                column.typed::<Int32Type>().write_batch(&[1, 0], None, None)
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        Trace::open(Cursor::new(bytes))
    };
    let trace = again("parquet-cpp-arrow version 21.0.0").unwrap();
    let offsets: Vec<u64> = read_all(&trace).iter().map(|io| io.offset).collect();
    assert_eq!((offsets, trace.integrity().checksums), (vec![512, 1024], false));
    let remark = trace.conditions().remarks.last().unwrap();
    assert!(remark.contains("rewritten by another program (parquet-cpp-arrow"), "{remark}");
    // This program is the author, but did not seal the footer.
    let error = again("steadfast 0.1.0").err().unwrap().to_string();
    assert!(error.contains("its metadata is damaged"), "{error}");
}

#[test]
fn columns_that_compress_little_are_stored_uncompressed_and_tried_again() {
    // Noise at first, and multiples of a large number later; the size never changes.
    let io = |n: u64| {
        let x = mix64(n);
        let response_ns = if n < 40_000 { x >> 40 } else { (x >> 61) * 1_000_000 };
        IoEvent { issued_ns: n * 1000, response_ns, bytes: 4096, ..IoEvent::default() }
    };
    let all: Vec<IoEvent> = (0..80_000).map(io).collect();
    let bytes = file(&all, 2000);
    let found = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    let is_compressed = |group: &usize, name: &str| {
        let columns = found.metadata().row_group(*group).columns();
        let column = columns.iter().find(|column| column.column_path().string() == name);
        column.unwrap().compression() != Compression::UNCOMPRESSED
    };
    let groups = 0..40;
    let responses = |group: &usize| is_compressed(group, "response_ns");
    let compressed: Vec<usize> = groups.clone().filter(responses).collect();
    // Every sixteenth is a trial; the trial of the 33rd finds that compression gains enough.
    assert_eq!(compressed, [vec![0, 16], (32..40).collect()].concat());
    assert!(groups.clone().all(|group| is_compressed(&group, "issued_ns")));
    assert_eq!(read_all(&open(bytes.clone())), all);
    // The same after a kill of its writer.
    let cut = open(bytes[..bytes.len() - 100].to_vec());
    assert_eq!((cut.recovery().is_some(), read_all(&cut)), (true, all));
}
