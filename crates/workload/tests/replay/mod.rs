//! Scripts and capture steps of traces of known composition, and captures compared
//! with what was done to one of them.

mod fidelity;

use super::{by_completion, key, known, opened};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::{Captured, Filter, PassOptions, ShareMeasure};
use steadfast_domain::io_event::{CapturedDevice, IncompleteIos, StreamInStep, flags};
use steadfast_domain::script::ReplayOmissions;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    Bytes, CaptureConditions, Demand, DueIo, IoEvent, IoOp, Layer, Nanos, Op, Script,
};
use steadfast_tracefile::{StepWriter, TraceWriter};
use steadfast_workload::replay::script::at_threshold;
use steadfast_workload::replay::{
    DueTimeSource, MapRule, NativeSteps, ReplayError, ReplayTarget, ScriptOptions, StepChoice,
    StepSource, TraceScript,
};
use steadfast_workload::workload_file::IoTotals;

const TIB: u64 = 1 << 40;
const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

/// A target on which everything of [`known`] fits.
const LARGE: ReplayTarget = ReplayTarget { size: Bytes(8 * TIB), logical_sector: 512 };

fn options(target: ReplayTarget) -> ScriptOptions {
    ScriptOptions::new("known", target)
}

/// Options of a script of the I/Os that pass a filter.
fn chosen_by(filter: Filter) -> ScriptOptions {
    let pass = PassOptions { filter, ..PassOptions::default() };
    ScriptOptions { pass, ..options(LARGE) }
}

fn prepare(events: &[IoEvent], options: &ScriptOptions) -> Result<TraceScript, ReplayError> {
    TraceScript::prepare(&captured(events), options)
}

fn captured(events: &[IoEvent]) -> Captured {
    opened(events, CaptureConditions::default()).into()
}

fn played(mut script: Box<dyn Script>) -> Vec<DueIo> {
    let (mut ios, mut batch) = (Vec::new(), Vec::with_capacity(1024));
    while script.fill(&mut batch).unwrap() > 0 {
        assert!(batch.capacity() == 1024, "it has grown");
        ios.append(&mut batch);
    }
    ios
}

fn error_of(events: &[IoEvent], options: &ScriptOptions) -> String {
    match prepare(events, options) {
        Ok(_) => panic!("it is not refused"),
        Err(refusal) => refusal.to_string(),
    }
}

fn io(issued_ns: u64, op: IoOp, offset: u64, bytes: u32) -> IoEvent {
    IoEvent { issued_ns, response_ns: 1000, op, offset, bytes, ..IoEvent::default() }
}

fn caveat_text(script: &TraceScript, id: &str) -> String {
    let found = script.caveats().into_iter().find(|caveat| caveat.id == id);
    found.map(|caveat| caveat.text).unwrap_or_default()
}

/// The engine gets the captured I/Os in the order of issue, although the file has them in the order
/// of completion.
#[test]
fn a_script_is_the_trace_in_due_order() {
    let mut expected = known();
    expected.sort_by_key(|event| event.issued_ns);
    let script = prepare(&known(), &options(LARGE)).unwrap();
    let ios = played(script.open());
    assert_eq!(ios.len(), 10_007);
    let op = |op| match op {
        IoOp::Read => Op::Read,
        IoOp::Write => Op::Write,
        _ => Op::Flush,
    };
    for (io, event) in ios.iter().zip(&expected) {
        assert_eq!((io.due, io.op), (Nanos(event.issued_ns), op(event.op)));
        assert_eq!((io.offset, io.size), (Bytes(event.offset), Bytes(u64::from(event.bytes))));
    }
    assert_eq!(played(script.open()), ios, "it opens from its beginning again");
}

#[test]
fn a_summary_is_known_before_anything_is_played() {
    let script = prepare(&known(), &options(LARGE)).unwrap();
    let summary = script.summary();
    let amount = 5003 * 4096 + 3001 * 131_072 + 1499 * 8192 + 401 * 512;
    assert_eq!((summary.ios, summary.bytes), (10_007, Bytes(amount)));
    assert_eq!(summary.span, Nanos(10_006 * 10_000));
    let sizes: Vec<(Op, u64, u64)> =
        summary.sizes.iter().map(|size| (size.op, size.size.0, size.ios)).collect();
    assert_eq!(
        sizes,
        [
            (Op::Read, 4096, 5003),
            (Op::Write, 131_072, 3001),
            (Op::Write, 8192, 1499),
            (Op::Read, 512, 401),
            (Op::Flush, 0, 103)
        ]
    );
    assert_eq!(summary.sequential_captured, Some(3400.0 / 9904.0));
    assert_eq!(summary.sequential, summary.sequential_captured);
    assert_eq!((script.map().rule(), script.issue_at()), (MapRule::Same, DueTimeSource::Issue));
    let mut hash = Sha256::new();
    for io in played(script.open()) {
        hash.update([io.op as u8, u8::from(io.fua)]);
        [io.offset.0, io.size.0, io.due.0]
            .iter()
            .for_each(|value| hash.update(value.to_le_bytes()));
    }
    let digest = hash.finalize().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    let load = script.load(None);
    assert_eq!((&load.digest, load.counts.total(), load.alters()), (&digest, 10_007, true));
    assert_eq!((load.largest, load.unit), (Bytes(131_072), Bytes(512)));
    assert_eq!(load.reach, Bytes(3 * TIB + 401 * 512));
    assert_eq!((load.fault(), load.mapping.as_str()), (None, ""));
    assert_eq!(u64::from(load.demand.depth), summary.outstanding_max.unwrap());
    assert_eq!(load.demand.threads, 1);
    assert_eq!(script.load(Some(Demand::new(2, 9))).demand, Demand::new(2, 9));
    assert_eq!(played((load.open.unwrap())().unwrap()).len(), 10_007);
}

#[test]
fn most_outstanding_is_counted_from_issue_and_completion() {
    let mut events: Vec<IoEvent> =
        (0..50).map(|n| io(n * 100, IoOp::Read, n * 8192, 4096)).collect();
    // Three at a time, and once five.
    events.iter_mut().for_each(|event| event.response_ns = 250);
    events[10].response_ns = 450;
    events[11].response_ns = 350;
    let script = prepare(&events, &options(LARGE)).unwrap();
    assert_eq!(script.summary().outstanding_max, Some(5));
    events.iter_mut().for_each(|event| event.response_ns = u64::MAX);
    let script = prepare(&events, &options(LARGE)).unwrap();
    assert_eq!(script.summary().outstanding_max, None);
    assert!(caveat_text(&script, "replay-no-completions").contains("completion"));
}

#[test]
fn a_part_of_a_trace_is_due_from_its_first_io_or_from_a_common_beginning() {
    let filter = Filter { ops: vec![IoOp::Write], ..Filter::default() };
    let part = chosen_by(filter.within(&[(50_000_000, u64::MAX)]));
    let script = prepare(&known(), &part).unwrap();
    let mut expected = known();
    expected.retain(|event| event.op == IoOp::Write && event.issued_ns >= 50_000_000);
    let first = expected.iter().map(|event| event.issued_ns).min().unwrap();
    let ios = played(script.open());
    assert_eq!((ios.len(), ios[0].due), (expected.len(), Nanos::ZERO));
    assert_eq!(script.origin_ns(), first);
    assert!(caveat_text(&script, "replay-filtered").contains("operation write"));
    let common = ScriptOptions { origin_ns: Some(40_000_000), ..part };
    let ios = played(prepare(&known(), &common).unwrap().open());
    assert_eq!(ios[0].due, Nanos(first - 40_000_000));
}

#[test]
fn a_threshold_chooses_streams_of_all_ios() {
    let trace = captured(&known());
    let choose = |text: &str| {
        at_threshold(&trace, &PassOptions::default(), ShareMeasure::Count, text.parse().unwrap())
    };
    let filter = choose("10%").unwrap();
    assert_eq!(filter.streams, [key("RND 4K R"), key("SEQ 128K W"), key("RND 8K W")]);
    let script = prepare(&known(), &chosen_by(filter)).unwrap();
    assert_eq!(script.summary().ios, 5003 + 3000 + 1499);
    assert!(matches!(choose("90%"), Err(ReplayError::BelowThreshold(_))));
}

/// I/Os that waited in the queue for up to 3 ms, as the device got them.
fn queued() -> Vec<IoEvent> {
    let event = |n: u64| IoEvent {
        queued_ns: n * 1_299_709 % 3_000_000,
        ..io(5_000_000 + n * 10_000, IoOp::Read, n * 8192, 4096)
    };
    (0..5000).map(event).collect()
}

#[test]
fn ios_are_due_at_queue_entry_if_the_trace_records_it() {
    let script = prepare(&queued(), &options(LARGE)).unwrap();
    assert_eq!(script.issue_at(), DueTimeSource::Queue);
    assert!(caveat_text(&script, "replay-issue-at").contains("queue"));
    let mut entered: Vec<(u64, u64)> =
        queued().iter().map(|event| (event.issued_ns - event.queued_ns, event.offset)).collect();
    entered.sort_by_key(|(due, _)| *due);
    let first = entered[0].0;
    let ios: Vec<(u64, u64)> =
        played(script.open()).iter().map(|io| (io.due.0 + first, io.offset.0)).collect();
    assert_eq!(ios, entered);
    assert!(!ios.is_sorted_by_key(|io| io.1), "some were overtaken in the queue");

    let at_issue = ScriptOptions { issue_at: Some(DueTimeSource::Issue), ..options(LARGE) };
    let ios = played(prepare(&queued(), &at_issue).unwrap().open());
    assert!(ios.iter().zip(0..).all(|(io, n)| io.due == Nanos(n * 10_000)));
    let at_queue = ScriptOptions { issue_at: Some(DueTimeSource::Queue), ..options(LARGE) };
    assert!(error_of(&known(), &at_queue).contains("has no queue times"));
    assert!("queue".parse::<DueTimeSource>().is_ok() && "later".parse::<DueTimeSource>().is_err());
}

#[test]
fn due_times_ascend_even_if_the_order_cannot_be_kept() {
    let mut events = queued();
    events[500].response_ns = 3 * SECOND;
    let pass = PassOptions { waiting_max: 100, ..PassOptions::default() };
    let recorded = by_completion(events.into_iter());
    let script = prepare(&recorded, &ScriptOptions { pass, ..options(LARGE) }).unwrap();
    let ios = played(script.open());
    assert_eq!(ios.len(), 5000);
    assert!(ios.is_sorted_by_key(|io| io.due));
    assert!(caveat_text(&script, "replay-order").contains("could not be put in order"));
}

/// On a device without FUA the kernel flushes after each such write, and the capture has it.
#[test]
fn a_flush_that_implements_forced_unit_access_is_not_requested_again() {
    let capture = |with_flushes: bool| -> Vec<IoEvent> {
        let pair = |n: u64| {
            let write = IoEvent {
                flags: flags::FUA | flags::SYNC,
                response_ns: 400,
                ..io(n * 1000, IoOp::Write, n * 4096, 4096)
            };
            [write, IoEvent { response_ns: 300, ..io(n * 1000 + 410, IoOp::Flush, 0, 0) }]
        };
        (0..20).flat_map(pair).filter(|io| with_flushes || io.op != IoOp::Flush).collect()
    };
    let script = prepare(&capture(true), &options(LARGE)).unwrap();
    let ios = played(script.open());
    let flushes = ios.iter().filter(|io| io.op == Op::Flush).count();
    assert_eq!((ios.len(), flushes, ios.iter().filter(|io| io.fua).count()), (40, 20, 0));
    assert!(caveat_text(&script, "replay-fua-flushed").starts_with("20 writes"));
    let script = prepare(&capture(false), &options(LARGE)).unwrap();
    assert!(played(script.open()).iter().all(|io| io.fua));
    assert_eq!(caveat_text(&script, "replay-fua-flushed"), "");
}

#[test]
fn flushes_discards_and_fua_are_kept_or_left_out_with_their_count() {
    let mut events: Vec<IoEvent> =
        (0..100).map(|n| io(n * 100, IoOp::Write, n * 4096, 4096)).collect();
    events[3].flags = flags::FUA;
    events[4].flags = flags::PREFLUSH;
    events[5] = io(500, IoOp::Flush, 77, 0);
    events[6] = IoEvent { flags: flags::PREFLUSH, ..io(600, IoOp::Write, 4096, 0) };
    events[7] = io(700, IoOp::Discard, 0, 1 << 20);
    events[8] = io(800, IoOp::Other, 0, 512);
    events[9] = io(900, IoOp::Read, 4096, 0);
    let script = prepare(&events, &options(LARGE)).unwrap();
    let ios = played(script.open());
    let ops: Vec<Op> = ios[3..8].iter().map(|io| io.op).collect();
    assert_eq!(ops, [Op::Write, Op::Write, Op::Flush, Op::Flush, Op::Discard]);
    assert_eq!((ios[3].fua, ios[4].fua, script.summary().fua), (true, false, 1));
    assert_eq!((ios[5].offset, ios[6].size, ios[7].size), (Bytes(0), Bytes(0), Bytes(MIB)));
    assert_eq!(
        (ios.len(), script.left_out().describe().as_str()),
        (98, "1 of an unknown operation; 1 without bytes")
    );
    assert!(caveat_text(&script, "replay-preflush").starts_with("1 writes"));

    let text = caveat_text(&script, "replay-left-out");
    assert!(text.starts_with("2 of the 100 chosen I/Os are not replayed: 1 of an"), "{text}");
    assert_eq!(caveat_text(&script, "replay-without-flushes"), "");

    let leave_out = ReplayOmissions { flushes: true, fua: true, discards: true };
    let without = ScriptOptions { leave_out, ..options(LARGE) };
    let script = prepare(&events, &without).unwrap();
    assert_eq!(script.load(None).leave_out, leave_out, "the engine leaves them out");
    assert_eq!(played(script.open()), ios);
    assert!(caveat_text(&script, "replay-without-flushes").starts_with("2 flushes"));
    assert!(caveat_text(&script, "replay-without-discards").starts_with("1 discards"));
    assert!(caveat_text(&script, "replay-without-fua").starts_with("1 writes"));
    let discards = [io(0, IoOp::Discard, 0, 4096), io(1, IoOp::Flush, 0, 0)];
    assert!(error_of(&discards, &without).contains("flushes and discards, as requested"));
}

#[test]
fn a_discard_above_2_gib_is_played_in_parts() {
    const GIB: u64 = 1 << 30;
    let most = u32::MAX - 511;
    let events = [
        io(1000, IoOp::Discard, 512 * 7, most),
        io(2000, IoOp::Discard, 0, 1 << 31),
        io(3000, IoOp::Read, 0, 4096),
    ];
    let script = prepare(&events, &options(LARGE)).unwrap();
    let ios = played(script.open());
    let parts: Vec<_> = ios.iter().map(|io| (io.due.0, io.offset.0, io.size.0)).collect();
    let divided = [(0, 3584, 2 * GIB), (0, 3584 + 2 * GIB, 2 * GIB - 512)];
    assert_eq!(parts, [&divided[..], &[(1000, 0, 2 * GIB), (2000, 0, 4096)]].concat());
    assert_eq!(script.load(None).counts.discards, 3);
    assert!(caveat_text(&script, "replay-divided").contains("divided 1 times"));
    let whole = prepare(&events[1..], &options(LARGE)).unwrap();
    assert_eq!(caveat_text(&whole, "replay-divided"), "");
}

#[test]
fn addresses_beyond_the_target_wrap_unless_another_map_is_chosen() {
    let small = ReplayTarget { size: Bytes::gib(1), logical_sector: 512 };
    let script = prepare(&known(), &options(small)).unwrap();
    assert_eq!(script.map().rule(), MapRule::Wrap);
    let ios = played(script.open());
    assert_eq!(ios.len(), 10_007);
    assert!(ios.iter().all(|io| io.offset.0 + io.size.0 <= 1 << 30));
    // Runs stay runs; by chance a few others begin where one has just ended.
    let summary = script.summary();
    let (before, after) = (summary.sequential_captured.unwrap(), summary.sequential.unwrap());
    assert!((before..before + 0.001).contains(&after), "{before} {after}");
    assert!(script.load(None).mapping.contains("wrap"));
    let text = caveat_text(&script, "replay-addresses");
    assert!(text.contains("1024 granules") && text.contains("wrapped"), "{text}");
    let same = ScriptOptions { map: Some(MapRule::Same), ..options(small) };
    let text = error_of(&known(), &same);
    assert!(text.starts_with("4901 of 10007 I/Os reach beyond"), "{text}");
    assert!(text.contains("--map wrap, pack or scale"), "{text}");
}

#[test]
fn a_packed_trace_needs_no_more_than_what_it_touches() {
    let space = ReplayTarget { size: Bytes::gib(2), logical_sector: 512 };
    let pack = ScriptOptions { map: Some(MapRule::Pack), ..options(space) };
    let script = prepare(&known(), &pack).unwrap();
    let text = caveat_text(&script, "replay-addresses");
    assert!(!text.contains("wrapped"), "{text}");
    assert_eq!(script.summary().sequential, script.summary().sequential_captured);
    let far = [io(0, IoOp::Read, 0, 4096), io(1, IoOp::Read, 1 << 62, 4096)];
    assert_eq!(played(prepare(&far, &pack).unwrap().open())[1].offset, Bytes(MIB));
}

#[test]
fn ios_off_the_targets_sectors_are_rounded_outward_and_counted() {
    let space = ReplayTarget { size: Bytes(8 * TIB), logical_sector: 4096 };
    let script = prepare(&known(), &options(space)).unwrap();
    let text = caveat_text(&script, "replay-addresses");
    assert!(text.contains("401 I/Os were rounded outward"), "{text}");
    assert_eq!(script.summary().sizes[0].size, Bytes(4096));
    assert_eq!(script.summary().sizes[0].ios, 5003 + 401);
}

#[test]
fn writes_under_way_to_the_same_bytes_are_counted() {
    let mut events: Vec<IoEvent> =
        (0..20).map(|n| io(n * 100, IoOp::Write, n * 8192, 4096)).collect();
    events.iter_mut().for_each(|event| event.response_ns = 150);
    events[7].offset = events[6].offset;
    events[9] = io(900, IoOp::Read, events[8].offset, 512);
    events[11].offset = events[5].offset;
    let script = prepare(&events, &options(LARGE)).unwrap();
    assert_eq!(script.summary().overlapping, 2, "the sixth is long done when the twelfth comes");
    assert!(caveat_text(&script, "replay-overlaps").starts_with("2 I/Os"));
}

#[test]
fn ios_that_cannot_be_played_are_refused_in_one_line() {
    let all = options(LARGE);
    assert!(error_of(&[], &all).contains("no I/O"));
    let process = Some(ProcessSelector::Command("nobody".into()));
    let text = error_of(&known(), &chosen_by(Filter { process, ..Filter::default() }));
    assert!(text.contains("command nobody"), "{text}");
    let flushes: Vec<IoEvent> = (0..7).map(|n| io(n, IoOp::Flush, 0, 0)).collect();
    let text = error_of(&flushes, &all);
    assert!(text.starts_with("the 7 chosen I/Os are all flushes"), "{text}");
    let text = error_of(&[io(0, IoOp::Other, 0, 512)], &all);
    assert!(text.contains("1 of an unknown operation"), "{text}");
    let large = [io(0, IoOp::Discard, 0, 1 << 31)];
    let text =
        error_of(&large, &options(ReplayTarget { size: Bytes::gib(1), logical_sector: 512 }));
    assert!(text.contains("1 larger than the target"), "{text}");
    let below = ReplayTarget { size: Bytes::kib(64), logical_sector: 512 };
    let text = error_of(&known(), &options(below));
    assert!(text.contains("64 KiB") && text.contains("granules of 1 MiB"), "{text}");
    for text in [error_of(&[], &all), error_of(&flushes, &all)] {
        assert!(!text.contains('\n') && text.contains("replay"), "{text}");
    }
}

#[test]
fn a_script_is_of_one_device_at_one_layer() {
    let device = |name: &str| CapturedDevice { name: name.into(), ..CapturedDevice::default() };
    let conditions =
        CaptureConditions { devices: vec![device("sda"), device("sdb")], ..Default::default() };
    let mut events = vec![io(0, IoOp::Read, 0, 4096), io(10, IoOp::Read, 0, 4096)];
    events[1].device = 1;
    let trace = || -> Captured { opened(&events, conditions.clone()).into() };
    let text = TraceScript::prepare(&trace(), &options(LARGE)).err().unwrap().to_string();
    assert!(text.contains("2 devices (sda, sdb)") && text.contains("--device"), "{text}");
    let filter = Filter::default().with_device("sdb", &conditions).unwrap();
    let one = TraceScript::prepare(&trace(), &chosen_by(filter)).unwrap();
    assert_eq!(one.summary().ios, 1);
    events[1] = IoEvent { device: 0, layer: Layer::FileSystem, ..events[1] };
    let text = error_of(&events, &options(LARGE));
    assert!(text.contains("--layer block"), "{text}");
    let filter = Filter { layer: Some(Layer::FileSystem), ..Filter::default() };
    let files = prepare(&events, &chosen_by(filter)).unwrap();
    assert!(caveat_text(&files, "replay-files").contains("places in files"));
}

#[test]
fn gaps_of_the_capture_are_caveats_of_the_replay() {
    let conditions = CaptureConditions {
        lost: 17,
        skipped: 3,
        in_part: Some(IncompleteIos { begun_before: 5, ..IncompleteIos::default() }),
        ..CaptureConditions::default()
    };
    let script =
        TraceScript::prepare(&opened(&known(), conditions).into(), &options(LARGE)).unwrap();
    assert!(caveat_text(&script, "events-lost").contains("lost 17 events"));
    assert!(caveat_text(&script, "skipped").contains("3 times"));
    assert!(caveat_text(&script, "replay-incomplete").starts_with("5 I/Os"));
}

/// Sequences of I/Os with gaps of up to 1 ms over 4 GiB.
fn any_events() -> impl Strategy<Value = Vec<IoEvent>> {
    let event =
        (0u64..1_000_000, 0u64..5_000_000, 0u64..(1 << 23), 1u32..600, 0u8..3, 0u64..2_000_000);
    prop::collection::vec(event, 1..120).prop_map(|parts| {
        let mut now = 0;
        let event = |(gap, response_ns, at, sectors, op, queued_ns)| {
            now += gap;
            let op = IoOp::from_number(op).unwrap();
            let queued_ns = std::cmp::min(queued_ns, now);
            IoEvent { response_ns, queued_ns, ..io(now, op, at * 512, sectors * 512) }
        };
        let events: Vec<IoEvent> = parts.into_iter().map(event).collect();
        by_completion(events.into_iter())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_script_holds_every_io_once_in_due_order_within_the_target(
        events in any_events(), rule in 0usize..4, mib in 4u64..9000
    ) {
        let rule = [MapRule::Same, MapRule::Wrap, MapRule::Pack, MapRule::Scale][rule];
        let space = ReplayTarget { size: Bytes::mib(mib), logical_sector: 512 };
        let mapped = ScriptOptions { map: Some(rule), ..options(space) };
        let script = match prepare(&events, &mapped) {
            Ok(script) => script,
            Err(ReplayError::BeyondTarget { ios, .. }) => {
                let beyond = events.iter().filter(|e| e.offset + u64::from(e.bytes) > mib * MIB);
                prop_assert_eq!(ios, beyond.count() as u64);
                return Ok(());
            }
            Err(other) => panic!("{other}"),
        };
        let ios = played(script.open());
        prop_assert_eq!(ios.len(), events.len());
        prop_assert!(ios.is_sorted_by_key(|io| io.due) && ios[0].due == Nanos::ZERO);
        prop_assert!(ios.iter().all(|io| io.offset.0 + io.size.0 <= mib * MIB));
        let mut sizes: Vec<(u8, u64)> = ios.iter().map(|io| (io.op as u8, io.size.0)).collect();
        let mut expected: Vec<(u8, u64)> =
            events.iter().map(|event| (event.op as u8, u64::from(event.bytes))).collect();
        sizes.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(sizes, expected, "operations and sizes are as captured");
        prop_assert_eq!(&script.load(None).digest, &script.summary().digest);
    }
}

/// In the first second four reads of 100 ms, in the third three writes of a second.
fn two_steps() -> Vec<IoEvent> {
    let read = |n: u64| IoEvent {
        response_ns: SECOND / 10,
        depth: 1,
        ..io(n * SECOND / 4, IoOp::Read, n * 65_536 + 8192, 4096)
    };
    let write = |n: u64| IoEvent {
        response_ns: SECOND,
        depth: n as u32 + 1,
        ..io(2 * SECOND + n, IoOp::Write, n * 65_536 + 8192, 8192)
    };
    (0..4).map(read).chain((0..3).map(write)).collect()
}

/// The trace of [`two_steps`], which was recorded for three seconds.
fn trace_of_two_steps() -> Captured {
    let lasted_ns = 3 * SECOND;
    opened(&two_steps(), CaptureConditions { lasted_ns, ..CaptureConditions::default() }).into()
}

fn native_steps(captured: &Captured, choice: &StepChoice) -> NativeSteps {
    NativeSteps::read(&StepSource::Capture(captured), choice).unwrap()
}

fn expect_two_steps(native: &NativeSteps) {
    let [first, second] = &native.steps[..] else { panic!("{:?}", native.steps) };
    assert_eq!((first.at, first.lasts), (Nanos::ZERO, Nanos::SECOND));
    assert_eq!(first.ios, [(key("RND 4K R"), 4)]);
    assert_eq!(first.captured, Some(IoTotals { ios: 4, bytes: Bytes(16_384) }));
    assert!((first.outstanding_mean.unwrap() - 0.4).abs() < 1e-9);
    assert_eq!(first.pace(), Pace::Fixed { ios: 4, per: Nanos::SECOND });
    assert_eq!(second.at, Nanos::from_secs(2), "the second in between was idle");
    assert_eq!(second.outstanding_mean, Some(3.0));
    assert_eq!((second.pace(), second.demand()), (Pace::Closed, Demand::new(1, 3)));
    let paced = native.caveats.iter().find(|caveat| caveat.id == "replay-paced").unwrap();
    assert!(paced.text.starts_with("1 of 2 capture steps"), "{}", paced.text);
}

fn step_file(events: &[IoEvent]) -> Captured {
    let conditions = CaptureConditions { step_ns: Some(SECOND), ..CaptureConditions::default() };
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    let sum = |event: &IoEvent| StreamInStep::from_io(event, false, SECOND);
    writer.add(&events.iter().map(sum).collect::<Vec<_>>());
    Captured::open(Cursor::new(writer.finish(&conditions).unwrap())).unwrap()
}

#[test]
fn single_ios_and_their_sums_make_the_same_steps() {
    let trace = captured(&two_steps());
    let choice = StepChoice { step_ns: Some(SECOND), ..StepChoice::default() };
    expect_two_steps(&native_steps(&trace, &choice));
    let file = step_file(&two_steps());
    expect_two_steps(&native_steps(&file, &choice));
    let unchosen = native_steps(&file, &StepChoice::default());
    assert_eq!(unchosen.steps[0].lasts, Nanos::SECOND, "the width that was kept");
}

/// From 0.5 s to 2.25 s: half a second of one step and a quarter of a second of another.
fn cut() -> PassOptions {
    let filter = Filter::default().within(&[(SECOND / 2, SECOND * 9 / 4)]);
    PassOptions { filter, ..PassOptions::default() }
}

#[test]
fn a_step_cut_by_a_time_filter_lasts_as_long_as_its_part_within() {
    let choice = StepChoice { pass: cut(), step_ns: Some(SECOND), ..StepChoice::default() };
    let trace = trace_of_two_steps();
    let native = native_steps(&trace, &choice);
    let [first, second] = &native.steps[..] else { panic!("{:?}", native.steps) };
    assert_eq!((first.at, first.lasts), (Nanos::ZERO, Nanos(SECOND / 2)));
    assert_eq!((first.captured.unwrap().ios, first.rate()), (2, 4.0));
    assert!((first.outstanding_mean.unwrap() - 0.4).abs() < 1e-9);
    assert_eq!((second.at, second.lasts), (Nanos(SECOND * 3 / 2), Nanos(SECOND / 4)));
    assert_eq!((second.rate(), second.outstanding_mean), (12.0, Some(12.0)));
}

#[test]
fn a_step_of_sums_passes_whole_and_lasts_its_whole_width() {
    let choice = StepChoice { pass: cut(), step_ns: Some(SECOND), ..StepChoice::default() };
    let file = step_file(&two_steps());
    let native = native_steps(&file, &choice);
    // The first begins before the time that the filter passes.
    let [only] = &native.steps[..] else { panic!("{:?}", native.steps) };
    assert_eq!((only.captured.unwrap().ios, only.lasts, only.rate()), (3, Nanos::SECOND, 3.0));
}

#[test]
fn rates_and_busy_time_of_a_cut_step_are_those_of_its_part_within() {
    let trace = trace_of_two_steps();
    let found = trace.steps(&cut(), Some(SECOND)).unwrap().found;
    let figures: Vec<_> = found.figures(trace.conditions()).collect();
    let figures_of = |at: usize| {
        let step = &figures[at];
        (step.begin_ns, step.count, step.iops, step.bytes_per_second, step.busy_share)
    };
    assert_eq!(figures.len(), 2);
    assert_eq!(figures_of(0), (0, 2, Some(4.0), Some(16_384.0), Some(0.4)));
    // The writes last beyond the filter's end: only the time up to it counts.
    assert_eq!(figures_of(1), (2 * SECOND, 3, Some(12.0), Some(98_304.0), Some(1.0)));
}

#[test]
fn streams_below_the_threshold_are_left_out_of_steps_with_their_count() {
    let trace = captured(&two_steps());
    let threshold = "50%".parse().unwrap();
    let choice = StepChoice { step_ns: Some(SECOND), threshold, ..StepChoice::default() };
    let native = native_steps(&trace, &choice);
    assert_eq!((native.steps.len(), native.left_out()), (1, (3, Some(Bytes(24_576)))));
    let by_bytes = StepChoice { by: ShareMeasure::Bytes, ..choice.clone() };
    let native = native_steps(&trace, &by_bytes);
    assert_eq!(native.workload.streams[0].key(), key("RND 8K W"));
    assert_eq!(native.left_out(), (4, Some(Bytes(16_384))));
    let text = &native.caveats.iter().find(|c| c.id == "replay-streams-left-out").unwrap().text;
    assert!(text.starts_with("4 of 7 I/Os"), "{text}");
    let none = Filter::default().within(&[(90 * SECOND, u64::MAX)]);
    let pass = PassOptions { filter: none, ..PassOptions::default() };
    let empty = NativeSteps::read(&StepSource::Capture(&trace), &StepChoice { pass, ..choice });
    assert!(matches!(empty, Err(ReplayError::Empty { events: 7, .. })));
}

#[test]
fn single_ios_of_a_step_file_are_refused() {
    let refusal = TraceScript::prepare(&step_file(&two_steps()), &options(LARGE)).err().unwrap();
    let text = refusal.to_string();
    assert!(text.contains("no single I/O") && text.contains("replay its steps instead"), "{text}");
    assert!(matches!(refusal, ReplayError::SingleIosNeeded(Nanos::SECOND)));
}

/// A trace that cannot be read to its end ends its script with an error that names the place.
#[test]
fn a_read_error_while_playing_is_an_error_of_the_script() {
    let mut writer = TraceWriter::new(Vec::new(), &CaptureConditions::default())
        .unwrap()
        .with_rows_per_group(1009);
    writer.write(&known()).unwrap();
    let bytes = writer.finish(CaptureConditions::default()).unwrap();
    let medium = FailingMedium { bytes: Cursor::new(bytes), reads_left: Arc::default() };
    let reads_left = Arc::clone(&medium.reads_left);
    reads_left.store(usize::MAX, std::sync::atomic::Ordering::Relaxed);
    let captured = Captured::open(medium).unwrap();
    let mut playing = TraceScript::prepare(&captured, &options(LARGE)).unwrap().open();
    assert!(playing.fill(&mut Vec::with_capacity(1024)).unwrap() > 0);
    reads_left.store(0, std::sync::atomic::Ordering::Relaxed);
    let mut rest = Vec::with_capacity(20_000);
    let error = loop {
        match playing.fill(&mut rest) {
            Ok(0) => panic!("the failure was not noticed"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.name, "known");
    assert!(error.why.contains("pulled out"), "{error}");
}

/// A medium that fails after `reads_left` reads.
struct FailingMedium {
    bytes: Cursor<Vec<u8>>,
    reads_left: Arc<std::sync::atomic::AtomicUsize>,
}

impl std::io::Read for FailingMedium {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        use std::sync::atomic::Ordering::Relaxed;
        let left = self.reads_left.load(Relaxed);
        if left == 0 {
            return Err(std::io::Error::other("the medium was pulled out"));
        }
        self.reads_left.store(left - 1, Relaxed);
        self.bytes.read(buffer)
    }
}

impl std::io::Seek for FailingMedium {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// Two processes with one I/O outstanding each. In a closed loop an I/O waits for the think time of
/// its process, but at most for the time since the I/O before it.
#[test]
fn a_closed_loop_thinks_as_the_processes_did() {
    let by = |pid: u32, issued_ns: u64, response_ns: u64| IoEvent {
        pid,
        response_ns,
        ..io(issued_ns, IoOp::Read, issued_ns * 4096, 4096)
    };
    let events = [
        by(7, 1000, 100),
        by(7, 1150, 100), // thought 50
        by(8, 1200, 500), // from the beginning, but the last was 50 ago
        by(7, 1300, 100), // 50
        by(7, 1400, 100), // 0
        by(8, 2000, 100), // 300 since 1700, and nothing else since 1400
    ];
    let script = prepare(&events, &options(LARGE)).unwrap();
    let ios = played(script.open());
    let think: Vec<u64> = ios.iter().map(|io| io.think.0).collect();
    assert_eq!(think, [0, 50, 50, 50, 0, 300]);
    let outstanding: Vec<Option<u32>> = ios.iter().map(|io| io.outstanding).collect();
    assert_eq!(outstanding, [1, 1, 2, 2, 2, 1].map(Some));
    assert_eq!(script.summary().think, Nanos(450));
}
