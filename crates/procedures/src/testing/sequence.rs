//! A small sequence for tests.

use steadfast_domain::sequence::{Amount, Extent, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, Op, Order};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Sequence, SequenceLoad, SequenceStep};

/// Returns a sequence with a step that prepares, one with three attempts, one of 150 s, and one
/// whose transfer size is smaller than a 4 KiB sector.
pub(crate) fn sequence() -> Sequence {
    let load = |op, order, size, end| {
        SequenceLoad::new(vec![IoStream::new(op, order, Bytes(size))], Demand::new(2, 4), end)
    };
    let sequential = Order::Sequential(Cursor::Own);
    let part = Extent { length: Some(Amount::Bytes(Bytes::mib(256))), ..Extent::default() };
    let seconds = |n| SequenceEnd::time(Nanos::from_secs(n));
    let fill = load(Op::Write, sequential, 131_072, SequenceEnd::laps(1)).within(part);
    let best = SequenceStep {
        best_of: Some(3),
        pause: Nanos::from_secs(5),
        ..SequenceStep::new("reads", load(Op::Read, Order::Random, 4096, seconds(5)).within(part))
    };
    let small = SequenceStep {
        may_be_left_out: true,
        ..SequenceStep::new("small", load(Op::Read, Order::Random, 512, seconds(5)))
    };
    Sequence {
        tool: "fio".into(),
        title: "sample.fio".into(),
        steps: vec![
            SequenceStep::new("fill", fill).preparing(),
            best.dimension("Depth", "4"),
            SequenceStep::new("writes", load(Op::Write, Order::Random, 8192, seconds(150))),
            small,
        ],
        remarks: vec![SequenceRemark::at(7, "something is otherwise")],
        ..Sequence::default()
    }
}
