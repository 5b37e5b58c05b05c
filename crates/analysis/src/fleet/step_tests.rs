//! Tests of captured steps: written and read; complete, killed and damaged.

use crate::captured::Captured;
use crate::filter::Filter;
use crate::pass::PassOptions;
use crate::questions::cumulative::Threshold;
use crate::questions::steps::CaptureStep;
use crate::questions::streams::{ShareMeasure, StreamKey, StreamTable};
use std::collections::BTreeMap;
use std::io::Cursor;
use steadfast_domain::io_event::{DeviceBusyStep, StreamInStep};
use steadfast_domain::{CaptureConditions, FineHistogram, IoOp, Layer};
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::{StepWriter, Trace, TraceError};

fn conditions() -> CaptureConditions {
    let step_ns = Some(1_000_000_000);
    CaptureConditions { software: "test".into(), step_ns, ..CaptureConditions::default() }
}

fn row(step: u64, op: IoOp, sequential: bool, bytes: u32, ios: u64) -> StreamInStep {
    StreamInStep {
        step,
        op,
        sequential,
        bytes,
        ios,
        responses: ios,
        response_sum_ns: ios * 1000,
        response_max_ns: 5000,
        depth_sum: ios * 2,
        depth_max: 3,
        offsets: 4096,
        ..StreamInStep::default()
    }
}

fn written() -> Vec<u8> {
    let mut writer = StepWriter::new(Vec::new(), &conditions()).unwrap();
    writer.add(&[row(0, IoOp::Read, false, 4096, 10), row(1, IoOp::Write, true, 8192, 7)]);
    writer.add(&[row(0, IoOp::Read, false, 4096, 1)]);
    assert_eq!(writer.rows(), 2);
    writer.flush_before(1).unwrap();
    // A late part of a step that was already written gets its own row.
    writer.add(&[row(0, IoOp::Read, false, 4096, 2), row(3, IoOp::Flush, false, 0, 1)]);
    writer.finish(&conditions()).unwrap()
}

fn open(bytes: Vec<u8>) -> Captured {
    Captured::open(Cursor::new(bytes)).unwrap()
}

fn passing(filter: &Filter) -> PassOptions {
    PassOptions { filter: filter.clone(), ..PassOptions::default() }
}

fn streams(file: &Captured, filter: &Filter) -> StreamTable {
    file.streams(&passing(filter)).unwrap().found
}

fn steps(file: &Captured, width_ns: u64) -> BTreeMap<u64, CaptureStep> {
    file.steps(&PassOptions::default(), Some(width_ns)).unwrap().found.steps.iter().collect()
}

#[test]
fn a_file_adds_up_to_streams_steps_and_maps() {
    let file = open(written());
    let all = Filter::default();
    assert_eq!(file.span_ns(&passing(&all)).unwrap(), (0, 3_999_999_999));
    let table = streams(&file, &all);
    let read = StreamKey { op: IoOp::Read, sequential: false, bytes: 4096 };
    let tally = table.get(read).unwrap();
    assert_eq!((tally.count(), tally.amount(), tally.times.depths.max), (13, 13 * 4096, 3));
    assert_eq!((tally.times.responses.total.sum_ns, tally.alignment()), (13_000, Some(4096)));
    assert_eq!(tally.times.responses.figures().p99_ns, None);
    let steps = steps(&file, 2_000_000_000);
    assert_eq!(steps.keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!((steps[&0].ios(), steps[&0].transferred_bytes()), (20, 13 * 4096 + 7 * 8192));
    assert_eq!(steps[&0].sequential_share(), Some(0.35));
    let half = Threshold(500_000);
    let map =
        file.map(&passing(&all), Some(1_000_000_000), ShareMeasure::Count, half).unwrap().found;
    assert_eq!(map.keys, [read]);
    let series = map.series;
    assert_eq!((series.steps()[&0][0].ios, series.steps()[&1][1].bytes), (13, 7 * 8192));
}

fn buckets(ns: u64, ios: u64) -> Vec<(u16, u64)> {
    vec![(FineHistogram::index(ns) as u16, ios)]
}

/// Returns a file of 1,000 reads of 1 to 1,000 us, of which `in_histogram` are in the histogram.
fn with_histogram(in_histogram: u64) -> Captured {
    let mut writer = StepWriter::new(Vec::new(), &conditions()).unwrap();
    let one = |us: u64| StreamInStep {
        response_max_ns: us * 1000,
        response_buckets: if us <= in_histogram { buckets(us * 1000, 1) } else { Vec::new() },
        ..row(0, IoOp::Read, false, 4096, 1)
    };
    writer.add(&(1..=1000).map(one).collect::<Vec<_>>());
    assert_eq!(writer.rows(), 1);
    open(writer.finish(&conditions()).unwrap())
}

#[test]
fn percentiles_need_histograms_of_nearly_all_ios() {
    let file = with_histogram(1000);
    let all = Filter::default();
    let figures = streams(&file, &all).total().times.responses.figures();
    assert_eq!((figures.count, figures.p99_9_ns), (1000, None));
    let (p50, p99) = (figures.p50_ns.unwrap(), figures.p99_ns.unwrap());
    // Upper bounds of buckets, at most the maximum.
    assert!((500_000..510_000).contains(&p50), "{p50}");
    assert!((990_000..=1_000_000).contains(&p99), "{p99}");
    assert_eq!(file.span_ns(&passing(&all)).unwrap(), (0, 999_999_999));
    let of_step = steps(&file, 1_000_000_000)[&0].percentile(0.99).unwrap().0;
    assert!((990_000..=1_000_000).contains(&of_step), "{of_step}");
    let early = Filter::default().within(&[(0, 1_000_000_000)]);
    assert_eq!(streams(&file, &early).total().times.responses.figures(), figures);
    let writes = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    assert_eq!(streams(&file, &writes).total().times.responses.figures().p50_ns, None);
    let part = streams(&with_histogram(989), &all).total().times.responses.figures();
    assert_eq!((part.p50_ns, part.mean_ns), (None, Some(1000)));
}

#[test]
fn filters_and_step_widths_are_honored() {
    let file = open(written());
    let writes = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    assert_eq!(streams(&file, &writes).total().count(), 7);
    let late = Filter::default().within(&[(1, u64::MAX)]);
    assert_eq!(streams(&file, &late).total().count(), 8);
    let thread = Filter { thread: Some(1), ..Filter::default() };
    assert!(file.streams(&passing(&thread)).unwrap_err().to_string().contains("single I/Os"));
    let window = PassOptions { window: 8, ..PassOptions::default() };
    assert!(file.streams(&window).unwrap_err().to_string().contains("--window"));
    assert_eq!(file.width(Some(3_000_000_000), (0, 0), 9).unwrap(), 3_000_000_000);
    assert!(matches!(file.width(Some(1_500_000_000), (0, 0), 9), Err(TraceError::TooFine(_))));
    let day = 86_400_000_000_000;
    assert_eq!(file.width(None, (0, day), 9).unwrap(), 600_000_000_000);
    let many = file.width(Some(1_000_000_000), (0, day), 4000).unwrap_err().to_string();
    assert!(many.contains("86400 steps"), "{many}");
}

#[test]
fn layers_are_separate_and_a_file_without_them_is_of_the_block_layer() {
    let block = row(0, IoOp::Read, false, 4096, 3);
    let files = StreamInStep { layer: Layer::FileSystem, ios: 5, ..block.clone() };
    let mut writer = StepWriter::new(Vec::new(), &conditions()).unwrap();
    writer.add(&[block.clone(), files, block]);
    let bytes = writer.finish(&conditions()).unwrap();
    let ios = |file: &Captured, layer| {
        streams(file, &Filter { layer, ..Filter::default() }).total().count()
    };
    let file = open(bytes.clone());
    let of = [None, Some(Layer::Block), Some(Layer::FileSystem)].map(|layer| ios(&file, layer));
    assert_eq!(of, [11, 6, 5]);
    let found = file.sides(&PassOptions::default(), 1_000_000_000).unwrap().found;
    let unlisted = found.unlisted;
    let sides: Vec<_> =
        found.sides.iter().map(|steps| (steps.side.layer, steps.steps[&0].ios())).collect();
    assert_eq!((sides, unlisted), (vec![(Layer::Block, 6), (Layer::FileSystem, 5)], 0));
    // Renames the column, wherever its name occurs.
    let mut older = bytes;
    for (name, other) in [("layer", "other"), ("steadfast.s", "gone.....s.")] {
        while let Some(at) = older.windows(name.len()).position(|text| text == name.as_bytes()) {
            older[at..at + name.len()].copy_from_slice(other.as_bytes());
        }
    }
    assert_eq!(ios(&open(older), Some(Layer::Block)), 11);
}

/// Returns a finished copy of all that is readable, and the number of its I/Os.
fn recovered(file: &Captured) -> (Vec<u8>, u64) {
    let (copy, copied) = file.copy(Vec::new(), || file.conditions().clone()).unwrap();
    (copy, copied.ios)
}

#[test]
fn a_recovered_file_is_complete_and_equal() {
    let mut writer = StepWriter::new(Vec::new(), &conditions()).unwrap();
    let read = StreamInStep {
        response_buckets: buckets(1000, 1000),
        ..row(0, IoOp::Read, false, 4096, 1000)
    };
    writer.add(&[read, row(2, IoOp::Write, true, 8192, 7)]);
    writer.flush_before(1).unwrap();
    writer.add(&[row(3, IoOp::Flush, false, 0, 1)]);
    let mut bytes = writer.finish(&conditions()).unwrap();
    bytes.truncate(bytes.len() - 9);
    let damaged = open(bytes);
    let (whole, ios) = recovered(&damaged);
    let whole = open(whole);
    assert_eq!((whole.recovery(), ios), (None, 1008));
    let table = |file: &Captured| format!("{:?}", streams(file, &Filter::default()));
    assert_eq!(table(&whole), table(&damaged));
    let figures = streams(&whole, &Filter::default());
    let read = figures.get(StreamKey { op: IoOp::Read, sequential: false, bytes: 4096 }).unwrap();
    assert!(read.times.responses.figures().p50_ns.is_some());
}

#[test]
fn a_file_cut_anywhere_is_read_and_recovered_as_far_as_it_goes() {
    let whole = written();
    let ios = |file: &Captured| streams(file, &Filter::default()).total().count();
    let mut seen = Vec::new();
    for length in 0..whole.len() {
        let Ok(file) = Captured::open(Cursor::new(whole[..length].to_vec())) else { continue };
        let groups = file.recovery().unwrap().row_groups;
        if groups == seen.len() {
            let (copy, copied) = recovered(&file);
            assert_eq!((ios(&file), ios(&open(copy))), (copied, copied));
            seen.push(copied);
        }
        assert!(groups + 1 == seen.len(), "{groups} row groups in {length} bytes");
    }
    assert_eq!(seen, [0, 11, 21]);
}

#[test]
fn busy_time_may_fill_an_hour_and_is_unknown_where_it_was_missed() {
    let hour = 3_600_000_000_000;
    let conditions = CaptureConditions {
        step_ns: Some(hour),
        busy_time: true,
        lasted_ns: 2 * hour,
        devices: vec![Default::default()],
        ..conditions()
    };
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    writer.add(&[row(0, IoOp::Read, false, 4096, 10), row(1, IoOp::Read, false, 4096, 10)]);
    writer.add_busy(&[DeviceBusyStep { step: 0, busy_ns: hour, ..DeviceBusyStep::default() }]);
    let file = open(writer.finish(&conditions).unwrap());
    let found = file.steps(&PassOptions::default(), Some(hour)).unwrap().found;
    let shares: Vec<Option<f64>> =
        found.figures(&conditions).map(|figures| figures.busy_share).collect();
    assert_eq!(shares, [Some(1.0), None]);
}

#[test]
fn a_step_file_is_no_trace_and_damage_causes_no_panic() {
    let why = Trace::open(Cursor::new(written())).err().unwrap().to_string();
    assert!(why.contains("no single I/Os"), "{why}");
    let plain = CaptureConditions { step_ns: None, ..conditions() };
    let trace = steadfast_tracefile::TraceWriter::new(Vec::new(), &plain)
        .unwrap()
        .finish(plain.clone())
        .unwrap();
    assert!(open(trace).check_recorded(NotRecorded::SingleIos).is_ok());
    assert!(open(written()).check_recorded(NotRecorded::HitMaps).is_err());
    let whole = written();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        if let Ok(file) = Captured::open(Cursor::new(bytes)) {
            let _ = file.streams(&PassOptions::default());
        }
    }
}
