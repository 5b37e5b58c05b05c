//! Tests of cube files: what is written is read, and damage is noticed.

use super::*;
use crate::error::TraceError;
use crate::parquet::{Footer, SharedMedium, footer};
use std::io::Cursor;
use steadfast_domain::io_event::{CapturedDevice, CommandName, RangeInStep};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{FineHistogram, IoOp, Layer};

const STEP_NS: u64 = 1_000_000_000;
const EVERY: CubeColumns = CubeColumns {
    processes: true,
    threads: true,
    cgroups: true,
    files: true,
    merges: true,
    content: true,
    busy: true,
    ranges: true,
    single_ios: true,
};

fn times(count: u64, buckets: Vec<(u16, u64)>) -> Times {
    Times { total: TimeSums { count, sum_ns: 9 * count, max_ns: 77 }, buckets }
}

/// A cell with extreme values in every field, and one without any.
fn cells() -> Vec<CubeCell> {
    let full = CubeCell {
        begin_ns: 3 * STEP_NS,
        device: 1,
        layer: Layer::FileSystem,
        op: IoOp::Other,
        sequential: true,
        bytes: u32::MAX,
        who: Originator {
            pid: 4_194_304,
            command: CommandName::new("a-name-of-15-by"),
            tid: 4_194_305,
            thread: CommandName::new("thread"),
            cgroup: u16::MAX,
            inode: u64::MAX,
        },
        ios: 11,
        span_ns: (3 * STEP_NS + 5, 4 * STEP_NS - 1),
        responses: times(11, vec![(0, 1), (1, 2), (4607, 8)]),
        queued: times(2, vec![(300, u64::MAX)]),
        together: QueueResponseSums { queued_ns: 1, response_ns: 2 },
        depths: DepthSums { sum: 3, count: 2, max: 9 },
        offsets: u64::MAX,
        flags: [0, 1, 0, 0, 2, 0, 0, 0, 3],
        beyond: 1,
        merged: 1023,
        contents: Contents { blocks: 3, duplicates: 1, bytes: 9000, compressed_bytes: 77 },
    };
    let begin_ns = 2 * STEP_NS;
    let none = CubeCell { begin_ns, span_ns: (begin_ns, begin_ns), ios: 1, ..CubeCell::default() };
    vec![none, full]
}

fn busy() -> BusyInStep {
    BusyInStep { begin_ns: 3 * STEP_NS, device: 7, layer: Layer::Block, busy_ns: 12_345 }
}

fn host() -> CaptureConditions {
    let disk = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    CaptureConditions {
        host: Some("web1".into()),
        devices: vec![disk("sda"), disk("sdb")],
        ..CaptureConditions::default()
    }
}

fn fold(columns: CubeColumns) -> CubeWriter<Vec<u8>> {
    CubeWriter::fold(Vec::new(), columns, STEP_NS, &host()).unwrap()
}

/// Opens a file, with the number of places at which it is damaged.
fn open(bytes: Vec<u8>) -> Result<(CubeFile, usize), TraceError> {
    let source = SharedMedium::new(Cursor::new(bytes))?;
    let Footer { groups, conditions, recovery, mut damaged, .. } = footer(&source)?;
    let file = CubeFile::new(source, groups, conditions.as_ref(), &mut damaged)?;
    Ok((file, damaged.len() + usize::from(recovery.is_some())))
}

fn whole(bytes: Vec<u8>) -> CubeFile {
    let (file, damaged) = open(bytes).unwrap();
    assert_eq!(damaged, 0);
    file
}

fn written() -> Vec<u8> {
    let mut writer = fold(EVERY);
    cells().into_iter().for_each(|cell| writer.add(cell).unwrap());
    writer.add_busy(busy()).unwrap();
    writer.finish_fold(&()).unwrap()
}

#[test]
fn cells_and_busy_time_are_read_as_they_were_written() {
    let file = whole(written());
    assert_eq!((file.groups(), file.step_ns(), file.has_checksums()), (1, STEP_NS, true));
    let rows = file.read(0).unwrap();
    assert_eq!(rows.cells, cells());
    assert_eq!(rows.busy, [busy()]);
}

/// A column that was not recorded is absent, and its values are unknown.
#[test]
fn columns_that_were_not_recorded_are_absent() {
    let conditions = CaptureConditions { step_ns: Some(STEP_NS), ..host() };
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    writer.copy(CubeRows { cells: cells(), ..CubeRows::default() }).unwrap();
    let bytes = writer.finish(&conditions).unwrap();
    let has = |name: &str| bytes.windows(name.len()).any(|text| text == name.as_bytes());
    assert!(has("response_bucket_ios") && has("disk") && has("failed"));
    let absent = ["host", "tid", "cgroup", "inode", "queued", "busy_ns"];
    let columns = columns::columns_of(step_writer::columns(&conditions));
    let columns: Vec<&str> = columns.iter().map(|column| column.name).collect();
    assert!(absent.iter().all(|name| !columns.contains(name)), "{columns:?}");
    let found = whole(bytes).read(0).unwrap().cells;
    let process = Originator {
        tid: 0,
        thread: CommandName::default(),
        cgroup: 0,
        inode: 0,
        ..cells()[1].who
    };
    assert_eq!(found[1].who, process);
    assert_eq!((found[1].depths.count, found[0].depths.count), (11, 0), "known wherever any is");
    assert_eq!(found[1].span_ns, (3 * STEP_NS, 4 * STEP_NS - 1), "the bounds of the step");
}

#[test]
fn hits_of_ranges_are_read_as_they_were_written() {
    let conditions = CaptureConditions { step_ns: Some(STEP_NS), lba_ranges: Some(7), ..host() };
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    writer.copy(CubeRows { cells: cells(), ..CubeRows::default() }).unwrap();
    let read = RangeInStep {
        step: 3,
        device: 1,
        range: 6,
        reads: 2,
        read_bytes: 9000,
        ..RangeInStep::default()
    };
    let written = RangeInStep { writes: 5, written_bytes: u64::MAX, ..RangeInStep::default() };
    let written = RangeInStep { step: 3, device: 1, range: 6, ..written };
    writer.add_ranges(&[read, RangeInStep { step: 2, range: 0, ..read }, written]);
    assert_eq!((writer.waiting(), writer.rows()), (2, 2));
    let file = whole(writer.finish(&conditions).unwrap());
    assert_eq!(file.groups(), 2);
    assert_eq!(file.read(0).unwrap().cells.len(), 2);
    let rows = file.read(1).unwrap();
    assert!(rows.cells.is_empty() && rows.busy.is_empty());
    let hits = |begin_ns, range, writes, written_bytes| RangeHits {
        begin_ns,
        device: 1,
        range,
        reads: 2,
        read_bytes: 9000,
        writes,
        written_bytes,
    };
    assert_eq!(rows.ranges, [hits(2 * STEP_NS, 0, 0, 0), hits(3 * STEP_NS, 6, 5, u64::MAX)]);
}

/// Merging copies row groups; what a capture did not record is null.
#[test]
fn appended_row_groups_are_the_same_bytes_as_written_ones() {
    let narrow = CubeColumns { threads: false, content: false, ..EVERY };
    let mut writer = fold(narrow);
    cells().into_iter().for_each(|cell| writer.add(cell).unwrap());
    let one = whole(writer.finish_fold(&()).unwrap());
    let append = |file: &CubeFile| {
        let mut writer = fold(EVERY);
        writer.append(file, 0).unwrap();
        writer.append(file, 0).unwrap();
        writer.finish_fold(&()).unwrap()
    };
    let merged = append(&one);
    let again = append(&whole(merged.clone()));
    assert!(merged == again, "nulls are written the same way");
    let known = |mut cell: CubeCell| {
        (cell.who.tid, cell.who.thread) = Default::default();
        cell.contents = Contents::default();
        cell
    };
    let file = whole(merged);
    assert_eq!(file.groups(), 2);
    let expected: Vec<CubeCell> = cells().into_iter().map(known).collect();
    assert!((0..2).all(|number| file.read(number).unwrap().cells == expected));
}

/// Cells with every bucket fill a row group long before its rows do.
#[test]
fn row_groups_are_bounded_by_rows_and_by_buckets() {
    let buckets: Vec<(u16, u64)> = (0..FineHistogram::LEN as u16).map(|at| (at, 1)).collect();
    let mut writer = fold(EVERY);
    for _ in 0..150 {
        let responses = times(1, buckets.clone());
        writer.add(CubeCell { responses, ..CubeCell::default() }).unwrap();
    }
    let file = whole(writer.finish_fold(&()).unwrap());
    let rows: Vec<usize> =
        (0..file.groups()).map(|at| file.read(at).unwrap().cells.len()).collect();
    assert_eq!(rows, [114, 36]);
    let mut writer = fold(EVERY);
    (0..ROWS_PER_GROUP + 1).for_each(|_| writer.add(CubeCell::default()).unwrap());
    let file = whole(writer.finish_fold(&()).unwrap());
    assert_eq!((file.groups(), file.read(1).unwrap().cells.len()), (2, 1));
}

#[test]
fn every_flipped_bit_is_refused_named_or_without_effect() {
    let whole_file = written();
    let right = whole(whole_file.clone()).read(0).unwrap();
    let mut refused = 0;
    for seed in 0..2000u64 {
        let at = mix64(seed) as usize % (whole_file.len() * 8);
        let mut bytes = whole_file.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        match open(bytes) {
            Ok((file, 0)) => assert_eq!(file.read(0).unwrap(), right, "bit {at}"),
            _ => refused += 1,
        }
    }
    assert!(refused > 1500, "{refused}");
}

/// Without checksums a crafted file reaches the decoders: it is refused or read, without a panic.
#[test]
fn crafted_row_groups_are_refused_or_read_without_a_panic() {
    let whole_file = written();
    let source = SharedMedium::new(Cursor::new(whole_file.clone())).unwrap();
    let found = footer(&source).unwrap();
    for seed in 0..3000u64 {
        let mut bytes = whole_file.clone();
        let end = found.groups[0].sum.as_ref().map_or(0, |sum| sum.at + sum.bytes) as usize;
        let at = 4 + mix64(seed) as usize % (end - 4);
        bytes[at] = (mix64(seed) >> 32) as u8;
        let mut groups = found.groups.clone();
        groups[0].sum = None;
        let source = SharedMedium::new(Cursor::new(bytes)).unwrap();
        let conditions = found.conditions.as_ref();
        if let Ok(file) = CubeFile::new(source, groups, conditions, &mut Vec::new()) {
            let _ = file.read(0);
        }
    }
}

#[test]
fn files_of_an_unreleased_version_are_refused_by_name() {
    let error = |bytes: &[u8]| open(bytes.to_vec()).err().unwrap().to_string();
    let refusal = error(b"steadfast fold 2\n120 abc\n");
    assert!(refusal.contains("unreleased version; import or capture again"), "{refusal}");
    // The list of buckets is what distinguishes a file of steps from an older one.
    let mut older = written();
    for name in ["response_bucket", "steadfast.s"] {
        while let Some(at) = older.windows(name.len()).position(|text| text == name.as_bytes()) {
            older[at..at + name.len()].fill(b'x');
        }
    }
    let refusal = error(&older);
    assert!(refusal.contains("unreleased version; import or capture again"), "{refusal}");
}
