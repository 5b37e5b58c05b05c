//! A small captured workload and a small sequence for the runs of scenarios.

use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::sequence::{Amount, Extent, NamedLoad, SequenceEnd};
use steadfast_domain::stimulus::{Cursor, Op, Order, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Sequence, SequenceLoad, SequenceStep};

/// Returns a workload of three streams and three steps, with a pause before the last step.
pub fn workload() -> AppliedWorkload {
    let stream = |op, order, kib, ios| IoStream::new(op, order, Bytes::kib(kib)).with_weight(ios);
    let step = |began: u64, streams: Vec<(usize, u64)>, pace| AppliedStep {
        began: Nanos::from_secs(began),
        lasted: Nanos::SECOND,
        captured_ios: streams.iter().map(|(_, ios)| *ios).sum(),
        captured_bytes: Bytes::mib(1),
        streams,
        demand: Demand::new(1, 2),
        pace,
        outstanding_mean: Some(0.5),
        outstanding_max: Some(2),
        response_mean: Some(Nanos::from_millis(2)),
        response_max: Some(Nanos::from_millis(90)),
        threads: None,
        data_pattern: None,
    };
    AppliedWorkload {
        name: "shop".into(),
        source: "shop.steps".into(),
        streams: vec![
            stream(Op::Write, Order::Random, 4, 50),
            stream(Op::Read, Order::Random, 8, 30),
            stream(Op::Write, Order::Sequential(Cursor::Own), 64, 20),
        ],
        captured_ios: 101,
        captured_bytes: Some(Bytes::mib(3)),
        captured_streams: 4,
        steps: vec![
            step(0, vec![(0, 20), (1, 10)], Pace::Fixed { ios: 30, per: Nanos::SECOND }),
            step(1, vec![(1, 20), (2, 20)], Pace::Closed),
            step(5, vec![(0, 30)], Pace::Closed),
        ],
        ..AppliedWorkload::default()
    }
}

/// Returns a sequence with a step that prepares, a step with three attempts, each after a purge and
/// a pause, a long step that is applied in parts, and two loads at once.
pub fn sequence() -> Sequence {
    let load = |op, order, kib, end| {
        let stream = IoStream::new(op, order, Bytes::kib(kib));
        SequenceLoad::new(vec![stream], Demand::new(1, 2), end)
    };
    let seconds = |count| SequenceEnd::time(Nanos::from_secs(count));
    let part = Extent { length: Some(Amount::Bytes(Bytes::mib(4))), ..Extent::default() };
    let fill = load(Op::Write, Order::Sequential(Cursor::Own), 128, SequenceEnd::laps(1));
    let reads = load(Op::Read, Order::Random, 4, seconds(1));
    let writes = load(Op::Write, Order::Random, 8, seconds(1));
    let best = SequenceStep {
        best_of: Some(3),
        purge: true,
        pause: Nanos::from_secs(5),
        ..SequenceStep::new("best", writes.clone())
    };
    let long = load(Op::Write, Order::Random, 16, seconds(130)).within(part);
    let at_once = [("reader", reads), ("writer", writes)]
        .map(|(name, load)| NamedLoad { name: name.into(), load });
    let mut steps = vec![
        SequenceStep::new("fill", fill.within(part)).preparing(),
        best,
        SequenceStep::new("long", long),
    ];
    steps.extend(SequenceStep::at_once("both", at_once.into()));
    Sequence { tool: "fio".into(), title: "small.fio".into(), steps, ..Sequence::default() }
}
