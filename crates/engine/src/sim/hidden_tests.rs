//! Properties that procedures have to find: indirection units, limits of writes, counters.

use super::*;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::step::StepPlace;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, LoadLimits};

/// Writes 16 MiB with this pattern and these data to a new drive.
fn written(spec: &DriveSpec, pattern: &str, data: &str) -> Measurement {
    let pattern: AccessPattern = pattern.parse().unwrap();
    let range = ActiveRange::new(Bytes(0), spec.capacity());
    let until = LoadLimits::bytes(Bytes::mib(16));
    let stimulus = Stimulus::new(pattern.streams(), range, Demand::new(1, 32), until)
        .data_pattern(data.parse::<DataPattern>().unwrap());
    let step = Step::alone(StepPlace::new("test", 0, 1, "test"), stimulus);
    let mut ssd = SimulatedSsd::new(spec, 1, StopSignal::default());
    ssd.perform(&step, &StepStart::default(), &mut |_| {}).unwrap()
}

#[test]
fn a_write_of_a_part_of_an_indirection_unit_writes_all_of_it_and_the_log_counts_it() {
    let spec = drive("greedy").unwrap().clone().with_indirection(4);
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
        let spec = drive("exact").unwrap().clone().with_write_limit(limit);
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
    let spec = greedy.with_flash(pages, blocks).with_indirection(4);
    for (size, last_units) in [(Bytes(512), 1), (Bytes::kib(8), 2)] {
        let range = ActiveRange::new(Bytes(spec.capacity().0 - size.0), size);
        let mut stream = steadfast_domain::IoStream::new(
            steadfast_domain::Op::Write,
            steadfast_domain::stimulus::Order::Sequential(steadfast_domain::stimulus::Cursor::Own),
            size,
        );
        stream.alignment = Some(Bytes(512));
        let stimulus =
            Stimulus::new(vec![stream], range, Demand::new(1, 1), LoadLimits::bytes(size));
        let step = Step::alone(StepPlace::new("test", 0, 1, "test"), stimulus);
        let mut ssd = SimulatedSsd::new(&spec, 1, StopSignal::default());
        let log = ssd.perform(&step, &StepStart::default(), &mut |_| {}).unwrap().sensed.log;
        let written = Bytes::kib(4 + 16 * (last_units - 1));
        assert_eq!(log.unwrap().nand_written, Some(written));
    }
}
