//! Properties that procedures have to find: indirection units, limits of writes, counters.

use super::tests::load;
use super::*;
use steadfast_domain::stimulus::{ActiveRange, Cursor, DataPattern, LoadLimits};
use steadfast_domain::{DueIo, Order};

/// Writes 16 MiB with this pattern and these data to a new drive.
fn written(spec: &DriveSpec, pattern: &str, data: &str) -> Measurement {
    let until = LoadLimits::bytes(Bytes::mib(16));
    let stimulus =
        load(pattern, "T1Q32", spec, until, 0).data_pattern(data.parse::<DataPattern>().unwrap());
    SimulatedSsd::new(spec, 1, StopSignal::default()).run(stimulus)
}

#[test]
fn a_write_of_a_part_of_an_indirection_unit_writes_all_of_it_and_the_log_counts_it() {
    let spec = DriveSpec { indirection_pages: 4, ..drive("greedy").unwrap().clone() };
    for (pattern, times) in [("RND 4K W", 4), ("RND 16K W", 1), ("RND 64K W", 1)] {
        let log = written(&spec, pattern, "random-unique").sensed.log.unwrap();
        assert_eq!(log.host_written, Some(Bytes::mib(16)));
        assert_eq!(log.nand_written, Some(Bytes::mib(16 * times)), "{pattern}");
    }
}

#[test]
fn a_limit_holds_all_writes_and_compression_counts_their_random_part() {
    let rate = |compresses: bool, pattern: &str, data: &str| {
        let limit = WriteLimit { mb_per_second: 10, compresses };
        let spec = DriveSpec { write_limit: Some(limit), ..drive("exact").unwrap().clone() };
        written(&spec, pattern, data).mb_per_second().unwrap()
    };
    for pattern in ["SEQ 128K W", "RND 4K W"] {
        for data in ["random-unique", "zero"] {
            assert!((rate(false, pattern, data) / 10.0 - 1.0).abs() < 0.01);
        }
        assert!((rate(true, pattern, "entropy:50") / 20.0 - 1.0).abs() < 0.01);
        assert!(rate(true, pattern, "zero") > 30.0);
    }
}

/// The capacity is no multiple of the units: the last one has a single page.
#[test]
fn the_last_indirection_unit_of_a_drive_may_be_smaller() {
    let greedy = drive("greedy").unwrap().clone();
    let (pages, blocks) = (greedy.logical_pages - 3, greedy.superblocks);
    let spec =
        DriveSpec { logical_pages: pages, superblocks: blocks, indirection_pages: 4, ..greedy };
    for (size, last_units) in [(Bytes(512), 1), (Bytes::kib(8), 2)] {
        let range = ActiveRange::new(Bytes(spec.capacity().0 - size.0), size);
        let mut stream = IoStream::new(Op::Write, Order::Sequential(Cursor::Own), size);
        stream.alignment = Some(Bytes(512));
        let stimulus =
            Stimulus::new(vec![stream], range, Demand::new(1, 1), LoadLimits::bytes(size));
        let mut ssd = SimulatedSsd::new(&spec, 1, StopSignal::default());
        let log = ssd.run(stimulus).sensed.log;
        let written = Bytes::kib(4 + 16 * (last_units - 1));
        assert_eq!(log.unwrap().nand_written, Some(written));
    }
}

/// A step's writes have its own data, not that of the step before.
#[test]
fn scripts_and_loads_at_once_have_their_own_data() {
    let limit = WriteLimit { mb_per_second: 10, compresses: true };
    let spec = DriveSpec { write_limit: Some(limit), ..drive("exact").unwrap().clone() };
    let writes = |data: &str| {
        let until = LoadLimits::time(Nanos::from_secs(4));
        load("SEQ 128K W", "T1Q8", &spec, until, 0)
            .data_pattern(data.parse::<DataPattern>().unwrap())
    };
    let mut ssd = SimulatedSsd::new(&spec, 1, StopSignal::default());
    assert!(ssd.run(writes("zero")).mb_per_second().unwrap() > 30.0);
    let both = ssd.run(Load::Together(vec![writes("random-unique"), writes("random-unique")]));
    assert!((both.mb_per_second().unwrap() / 10.0 - 1.0).abs() < 0.1, "{both:?}");
    let mixed = ssd.run(Load::Together(vec![writes("random-unique"), writes("zero")]));
    assert!(mixed.mb_per_second().unwrap() > 15.0, "{mixed:?}");
    assert!(ssd.run(writes("zero")).mb_per_second().unwrap() > 30.0);
    // 40 MB at 10 MB/s.
    let due = |n: u64| DueIo::new(Nanos(0), Op::Write, Bytes(n % 1000 * 4096), Bytes(4096));
    let ios: Vec<_> = (0..10_000).map(due).collect();
    let replayed = ssd.run(Load::Script(crate::play::tests::listed(&ios, 64)));
    assert!((replayed.elapsed.as_secs_f64() / 4.096 - 1.0).abs() < 0.1, "{}", replayed.elapsed);
}

#[test]
fn parts_of_seconds_of_throttling_add_up() {
    let fault = SimFault::Throttles { above: 0, below: 0, slower_percent: 10 };
    let spec = drive("exact").unwrap();
    let mut ssd = SimulatedSsd::new(spec, 1, StopSignal::default()).with_fault(fault);
    let mut seconds = 0;
    for _ in 0..60 {
        let until = LoadLimits::time(Nanos(900_000_000));
        let reads = load("RND 4K R", "T1Q1", spec, until, 0);
        seconds += ssd.run(reads).sensed.log.unwrap().throttle_seconds.unwrap();
    }
    // Throttling begins after the first step.
    assert_eq!(seconds, 59 * 9 / 10);
}
