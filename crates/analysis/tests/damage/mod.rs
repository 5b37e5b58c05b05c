//! Damage to files: whichever bit is flipped and wherever a file is cut, its I/Os are those that
//! were written, or the damage is reported.

mod every_question;

use super::steps_alone::StepRows;
use std::collections::HashSet;
use std::io::Cursor;
use steadfast_analysis::{Captured, PassOptions, StreamTable};
use steadfast_domain::io_event::{CapturePart, StreamInStep};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_tracefile::parquet::{Integrity, Recovery};
use steadfast_tracefile::{Batch, Fields, NotRecorded, StepWriter, Trace, TraceError, TraceWriter};

const FLIPS: u64 = 1000;

fn conditions(step_ns: Option<u64>) -> CaptureConditions {
    CaptureConditions {
        software: "steadfast test".into(),
        began_unix_ns: Some(1_763_697_600_000_000_000),
        step_ns,
        ..CaptureConditions::default()
    }
}

fn events(from: u64, count: u64) -> Vec<IoEvent> {
    let event = |n: u64| IoEvent {
        issued_ns: n * 1_000_000,
        response_ns: 1000 + mix64(n) % 100_000,
        offset: mix64(n) % 100_000 * 4096,
        bytes: 4096 << (n % 3),
        depth: 1 + (n % 4) as u32,
        op: IoOp::ALL[(n % 2) as usize],
        ..IoEvent::default()
    };
    (from..from + count).map(event).collect()
}

fn trace(conditions: &CaptureConditions, events: &[IoEvent]) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), conditions).unwrap().with_rows_per_group(101);
    writer.write(events).unwrap();
    writer.finish(conditions.clone()).unwrap()
}

fn rows() -> Vec<StreamInStep> {
    let row = |step: u64| StreamInStep {
        step,
        op: IoOp::ALL[(step % 2) as usize],
        bytes: 4096,
        ios: 10 + step,
        responses: 10 + step,
        response_sum_ns: 70_000 + mix64(step) % 1000,
        response_max_ns: 9000,
        depth_sum: 20 + step,
        depth_max: 3,
        offsets: 4096,
        ..StreamInStep::default()
    };
    (0..70).map(row).collect()
}

fn steps() -> Vec<u8> {
    let conditions = conditions(Some(1_000_000_000));
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    for rows in rows().chunks(10) {
        writer.add(rows);
        writer.flush_before(u64::MAX).unwrap();
    }
    writer.finish(&conditions).unwrap()
}

/// Returns a file without its footer, as after its writer was killed.
fn killed(mut bytes: Vec<u8>) -> Vec<u8> {
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap());
    bytes.truncate(bytes.len() - footer as usize - 8);
    bytes
}

/// The content of a file as a reader finds it.
struct ReadOutcome<T> {
    found: Vec<T>,
    conditions: CaptureConditions,
    /// True if the reader reports damage, missing checksums or a killed writer.
    is_damage_reported: bool,
    ios_missing: Option<u64>,
}

impl<T> ReadOutcome<T> {
    fn new(
        found: Vec<T>,
        conditions: &CaptureConditions,
        integrity: &Integrity,
        recovery: Option<&Recovery>,
    ) -> Self {
        let is_intact = integrity.is_whole() && integrity.checksums && recovery.is_none();
        ReadOutcome {
            found,
            conditions: conditions.clone(),
            is_damage_reported: !is_intact,
            ios_missing: integrity.damaged.iter().map(|damage| damage.ios).sum(),
        }
    }
}

fn all_events(trace: &Trace) -> Result<Vec<IoEvent>, TraceError> {
    let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
    while batches.read(1000, &mut batch)? > 0 {}
    Ok((0..batch.len()).map(|row| batch.event(row)).collect())
}

fn read_trace(bytes: Vec<u8>) -> Result<ReadOutcome<IoEvent>, TraceError> {
    let trace = Trace::open(Cursor::new(bytes))?;
    let events = all_events(&trace)?;
    Ok(ReadOutcome::new(events, trace.conditions(), &trace.integrity(), trace.recovery()))
}

fn read_steps(bytes: Vec<u8>) -> Result<ReadOutcome<StreamInStep>, TraceError> {
    let file = Captured::open(Cursor::new(bytes))?;
    // Damage may turn it into a file of another kind, which is an error to its reader.
    if file.check_recorded(NotRecorded::SingleIos).is_ok() {
        return Err(TraceError::Unsuitable("no step file".into()));
    }
    let mut rows = StepRows::default();
    file.run(&PassOptions::default(), &mut [&mut rows])?;
    Ok(ReadOutcome::new(rows.0, file.conditions(), &file.integrity(), file.recovery()))
}

#[derive(Debug, Default)]
struct DamageCounts {
    refused: u64,
    reported: u64,
}

/// Flips bits in a file, one at a time, and reads the results.
fn flip_bits<T: Eq + std::fmt::Debug>(
    whole: &[u8],
    read: fn(Vec<u8>) -> Result<ReadOutcome<T>, TraceError>,
) -> DamageCounts {
    let intact = read(whole.to_vec()).unwrap();
    let written: HashSet<String> = intact.found.iter().map(|one| format!("{one:?}")).collect();
    let mut counts = DamageCounts::default();
    for seed in 0..FLIPS {
        let at = mix64(seed) % (whole.len() as u64 * 8);
        let mut bytes = whole.to_vec();
        bytes[at as usize / 8] ^= 1 << (at % 8);
        match read(bytes) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                counts.refused += 1;
            }
            Ok(outcome) => {
                let mut found = outcome.found.iter();
                let made_up = found.find(|one| !written.contains(&format!("{one:?}")));
                assert_eq!(made_up, None, "bit {at}");
                let is_same =
                    outcome.found == intact.found && outcome.conditions == intact.conditions;
                assert!(is_same || outcome.is_damage_reported, "bit {at}: unreported change");
                counts.reported += u64::from(!is_same);
            }
        }
    }
    counts
}

#[test]
fn every_flipped_bit_is_refused_reported_or_without_effect() {
    fn check<T: Eq + std::fmt::Debug>(
        whole: Vec<u8>,
        read: fn(Vec<u8>) -> Result<ReadOutcome<T>, TraceError>,
    ) {
        let counts = flip_bits(&whole, read);
        assert!(counts.refused > 100 && counts.reported > 100, "{counts:?}");
        let counts = flip_bits(&killed(whole), read);
        assert!(counts.reported > 100, "{counts:?}");
    }
    check(trace(&conditions(None), &events(0, 1009)), read_trace);
    check(steps(), read_steps);
}

#[test]
fn a_damaged_row_group_is_reported_with_its_ios_and_all_others_are_read() {
    let events = events(0, 1009);
    let mut bytes = trace(&conditions(None), &events);
    let intact = Trace::open(Cursor::new(bytes.clone())).unwrap().integrity();
    assert!(intact.is_whole() && intact.checksums);
    // The first bytes after a recovery block are the next row group's.
    let block = bytes.windows(8).rposition(|text| text == b"SFTRACE1").unwrap();
    let before = bytes[..block].windows(8).rposition(|text| text == b"SFTRACE1").unwrap();
    let length = u32::from_le_bytes(bytes[before + 9..][..4].try_into().unwrap()) as usize;
    bytes[before + 21 + length + 30] ^= 0x10;
    let outcome = read_trace(bytes.clone()).unwrap();
    assert_eq!((outcome.found.len(), outcome.ios_missing), (909, Some(100)));
    assert_eq!(outcome.found, events[..909]);
    let trace = Trace::open(Cursor::new(bytes)).unwrap();
    let mut table = StreamTable::new();
    PassOptions::default().run(&trace, &mut [&mut table]).unwrap();
    assert_eq!(table.total().count(), 909);
    let missing = trace.integrity().missing();
    let expected = ["row group 10", "0.909 s to 1.008 s", "100 I/Os"];
    assert!(expected.iter().all(|part| missing[0].contains(part)), "{missing:?}");
}

#[test]
fn a_damaged_end_is_refused_and_recovered_from_the_blocks() {
    let events = events(0, 307);
    let whole = trace(&conditions(None), &events);
    let mut bytes = whole.clone();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let at = bytes.len() - 8 - footer / 2;
    bytes[at] ^= 4;
    for damaged in [bytes, [b"\0", &whole[1..]].concat()] {
        let refusal = Trace::open(Cursor::new(damaged.clone())).err().unwrap().to_string();
        assert!(refusal.contains("trace recover"), "{refusal}");
        let trace = Trace::recover(Cursor::new(damaged)).unwrap();
        assert_eq!(all_events(&trace).unwrap(), events);
        assert!(trace.integrity().is_whole() && trace.recovery().is_some());
    }
}

#[test]
fn damage_to_the_first_bytes_does_not_hide_the_checksums() {
    let events = events(0, 307);
    for software in ["", "another 1.2"] {
        let conditions = CaptureConditions { software: software.into(), ..conditions(None) };
        let mut bytes = trace(&conditions, &events);
        bytes[6] ^= 1;
        let opened = Trace::open(Cursor::new(bytes.clone())).unwrap();
        assert!(opened.integrity().checksums, "'{software}'");
        assert!(opened.conditions().remarks.is_empty(), "{:?}", opened.conditions().remarks);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let outcome = read_trace(bytes).unwrap();
        assert!(outcome.is_damage_reported || outcome.found == events, "'{software}'");
    }
}

/// Returns the lengths to which a file is cut: around every recovery block, near its end, and at
/// regular distances.
fn cut_lengths(whole: &[u8]) -> Vec<usize> {
    let blocks = whole.windows(8).enumerate().filter(|(_, text)| *text == b"SFTRACE1");
    let near = blocks.flat_map(|(at, _)| at.saturating_sub(2)..at + 14);
    let end = whole.len() - 12..whole.len();
    near.chain(end).chain((0..whole.len()).step_by(97)).collect()
}

#[test]
fn a_cut_file_is_read_up_to_its_last_whole_row_group_and_reported() {
    let written = events(0, 307);
    let whole = trace(&conditions(None), &written);
    for length in cut_lengths(&whole) {
        let Ok(outcome) = read_trace(whole[..length].to_vec()) else { continue };
        let found = outcome.found;
        assert!(outcome.is_damage_reported && found == written[..found.len()], "{length} bytes");
        assert!(found.len() == written.len() || found.len() % 101 == 0);
    }
    let (rows, whole) = (rows(), steps());
    for length in cut_lengths(&whole) {
        let Ok(outcome) = read_steps(whole[..length].to_vec()) else { continue };
        let found = outcome.found;
        assert!(outcome.is_damage_reported && found == rows[..found.len()], "{length} bytes");
    }
}

fn part(number: u32, lasted_ns: u64) -> CaptureConditions {
    CaptureConditions {
        part: Some(CapturePart { capture: "a".into(), first: number, last: number }),
        lasted_ns,
        ..conditions(None)
    }
}

fn read(parts: Vec<Vec<u8>>) -> Result<(u64, Vec<u32>), TraceError> {
    let parts = parts.into_iter().map(|bytes| Trace::open(Cursor::new(bytes)));
    let whole = Trace::join(parts.collect::<Result<Vec<_>, _>>()?)?;
    Ok((whole.rows(), whole.integrity().missing_parts))
}

/// A part that was killed before it had a row group has lasted no longer than the one before.
#[test]
fn parts_are_ordered_by_their_conditions_even_if_they_were_killed() {
    let first = trace(&part(1, 307), &events(0, 307));
    let second = trace(&part(2, 707), &events(307, 400));
    let third = killed(trace(&part(3, 707), &[]));
    let all = || vec![second.clone(), third.clone(), first.clone()];
    assert_eq!(read(all()).unwrap(), (707, Vec::new()));
    assert_eq!(read(vec![first.clone(), third.clone()]).unwrap(), (307, vec![2]));
    let twice = read(vec![second.clone(), second.clone()]).unwrap_err().to_string();
    assert!(twice.contains("twice"), "{twice}");
    // Files without a number are ordered by the times at which they began.
    let lasted = |lasted_ns| CaptureConditions { lasted_ns, ..conditions(None) };
    let mut first = TraceWriter::new(Vec::new(), &conditions(None)).unwrap();
    first.write(&events(0, 5)).unwrap();
    let first = first.finish(lasted(307)).unwrap();
    let second = killed(trace(&lasted(307), &[]));
    assert_eq!(read(vec![second, first.clone()]).unwrap(), (5, Vec::new()));
    assert!(read(vec![first.clone(), first]).is_err());
}

#[test]
fn the_files_of_a_rotated_capture_of_steps_are_read_as_one() {
    let part = |number: u32, rows: &[StreamInStep]| {
        let conditions = CaptureConditions {
            step_ns: Some(1_000_000_000),
            ..part(number, u64::from(number) * 10_000_000_000)
        };
        let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
        writer.add(rows);
        writer.flush_before(u64::MAX).unwrap();
        writer.finish(&conditions).unwrap()
    };
    let rows = rows();
    let files = [part(2, &rows[10..20]), killed(part(3, &[])), part(1, &rows[..10])];
    let open = |bytes: &Vec<u8>| Captured::open(Cursor::new(bytes.clone())).unwrap();
    let whole = Captured::together(files.iter().map(open).collect()).unwrap();
    let ios: u64 = rows[..20].iter().map(|row| row.ios).sum();
    let all = PassOptions::default();
    assert_eq!(whole.streams(&all).unwrap().found.total().count(), ios);
    assert_eq!(whole.span_ns(&all).unwrap(), (0, 19_999_999_999));
    let (_, copied) = whole.copy(Vec::new(), || whole.conditions().clone()).unwrap();
    assert_eq!((copied.ios, copied.sums), (ios, Some(20)));
    assert!(Captured::together(vec![open(&files[0]), open(&files[0])]).is_err());
}

/// Files without checksums may hold any numbers; their sums must not wrap.
#[test]
fn sums_that_overflow_are_an_error() {
    let huge = StreamInStep { ios: u64::MAX / 2, bytes: 4096, ..rows().remove(0) };
    let conditions = conditions(Some(1_000_000_000));
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    writer.add(&[huge]);
    let bytes = writer.finish(&conditions).unwrap();
    let all = PassOptions::default();
    let streams = Captured::open(Cursor::new(bytes)).unwrap().streams(&all);
    let error = streams.unwrap_err().to_string();
    assert!(error.contains("impossible"), "{error}");
    let endless: Vec<IoEvent> =
        events(0, 3).into_iter().map(|e| IoEvent { response_ns: u64::MAX - 1, ..e }).collect();
    let bytes = trace(&self::conditions(None), &endless);
    let trace = Trace::open(Cursor::new(bytes)).unwrap();
    let error = all.run(&trace, &mut []).unwrap_err().to_string();
    assert!(error.contains("584 years"), "{error}");
}
