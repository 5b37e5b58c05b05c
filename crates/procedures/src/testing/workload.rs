//! A small captured workload with known counts, for tests.

use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::stimulus::{Cursor, Op, Order, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Settings};

/// Returns a workload with 10,000 of 10,007 I/Os in three of five streams and three steps. There
/// is a pause of 20 s between the second and the third step.
pub(crate) fn workload() -> AppliedWorkload {
    let sequential = Order::Sequential(Cursor::Own);
    let step = |began: u64, streams: Vec<(usize, u64)>, demand, pace| AppliedStep {
        began: Nanos::from_secs(began),
        lasted: Nanos::from_secs(10),
        captured_ios: streams.iter().map(|(_, ios)| *ios).sum::<u64>() + 1,
        captured_bytes: Bytes(40_960_000),
        streams,
        demand,
        pace,
        outstanding_mean: Some(0.5),
        outstanding_max: Some(7),
        response_mean: Some(Nanos::from_millis(2)),
        response_max: Some(Nanos::from_millis(90)),
        threads: None,
        data_pattern: None,
    };
    let paced = Pace::Fixed { ios: 3000, per: Nanos::from_secs(10) };
    AppliedWorkload {
        name: "shop".into(),
        source: "shop.steps".into(),
        origin: vec![
            ("Capture tool".into(), "steadfast capture".into()),
            ("Capture layer".into(), "block".into()),
        ],
        streams: vec![
            IoStream::new(Op::Write, Order::Random, Bytes::kib(4)).with_weight(5000),
            IoStream::new(Op::Read, Order::Random, Bytes::kib(8)).with_weight(3000),
            IoStream::new(Op::Write, sequential, Bytes::kib(64)).with_weight(2000),
        ],
        captured_ios: 10_007,
        captured_bytes: Some(Bytes(200_000_000)),
        captured_streams: 5,
        steps: vec![
            step(0, vec![(0, 2000), (1, 1000)], Demand::new(1, 1), paced),
            step(10, vec![(1, 2000), (2, 2000)], Demand::new(2, 4), Pace::Closed),
            step(40, vec![(0, 3000)], Demand::new(1, 8), Pace::Closed),
        ],
        ..AppliedWorkload::default()
    }
}

/// Returns settings with this workload.
pub(crate) fn settings(procedure: &str) -> Settings {
    let mut settings = Settings::new(procedure, 7);
    settings.workload = Some(Box::new(workload()));
    settings
}
