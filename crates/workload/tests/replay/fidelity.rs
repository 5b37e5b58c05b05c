//! A capture beside one that was made of it by known changes.

use super::{SECOND, captured, io, options, step_file, two_steps};
use crate::{known, opened};
use std::collections::BTreeSet;
use steadfast_domain::findings::{Exhibit, Plot, Table};
use steadfast_domain::io_event::CapturedDevice;
use steadfast_domain::{Bytes, CaptureConditions, Findings, IoEvent, IoOp};
use steadfast_workload::fidelity::{Fidelity, FidelityOptions, findings};
use steadfast_workload::replay::{MapRule, ReplayError, ReplayTarget, ScriptOptions, TraceScript};

fn compared(original: &[IoEvent], replay: &[IoEvent], options: &FidelityOptions) -> Fidelity {
    Fidelity::compare(&captured(original), &captured(replay), options).unwrap()
}

fn in_issue_order() -> Vec<IoEvent> {
    let mut events = known();
    events.sort_by_key(|event| event.issued_ns);
    events
}

fn plots(findings: &Findings) -> impl Iterator<Item = &Plot> {
    findings.chapters.iter().flat_map(|page| &page.exhibits).filter_map(Exhibit::as_plot)
}

fn table<'f>(findings: &'f Findings, id: &str) -> &'f Table {
    findings.table(id).unwrap_or_else(|| panic!("there is no table {id}"))
}

#[test]
fn a_capture_is_equal_to_itself() {
    let found = compared(&known(), &known(), &FidelityOptions::default());
    let pair = &found.devices.as_ref().unwrap()[0];
    assert_eq!((pair.ios, pair.starts.pairs), ([10_007, 10_007], 10_007));
    assert_eq!((pair.sequence.first, pair.sequence.same_ios), (None, true));
    assert_eq!((pair.starts.max_ns, pair.starts.drift_ns), (0, Some(0)));
    let gaps = pair.gaps.as_ref().unwrap();
    assert!(gaps.is_exact() && gaps.ks == 0.0 && gaps.counts == [10_006, 10_006]);
    assert_eq!(found.sides[0].streams, found.sides[1].streams);
    let findings = findings(&found, "steadfast test");
    assert!(findings.ending.contains("are equal, in order"), "{}", findings.ending);
    assert_eq!(findings.caveats, []);
}

/// Five seconds later on the clock, every other I/O 3 us late, and the clock of the
/// replay fast by one in a thousand.
#[test]
fn start_errors_and_drift_are_those_of_the_changed_times() {
    let mut replay = in_issue_order();
    for (event, number) in replay.iter_mut().zip(0u64..) {
        let late = if number % 2 == 1 { 3_000 } else { 0 };
        event.issued_ns += 5 * SECOND + late + event.issued_ns / 1000;
    }
    let found = compared(&known(), &replay, &FidelityOptions::default());
    let pair = &found.devices.as_ref().unwrap()[0];
    assert_eq!((pair.sequence.first, pair.starts.early), (None, 0));
    // The last I/O with an odd number is due at 100.05 ms: 3 + 100.05 us late.
    assert_eq!(pair.starts.max_ns, 3_000 + 100_050);
    // The last thousand drift by 90 to 100 us, half of them by 3 us more.
    let drift = pair.starts.drift_ns.unwrap();
    assert!((96_000..=97_000).contains(&drift), "{drift}");
    let half = pair.starts.errors.percentile(0.5).unwrap().0;
    assert!((51_000..52_000).contains(&half), "{half}");
    // Gaps of 10 us became 13 and 7 us alternately: half of them are shorter.
    assert_eq!(pair.gaps.as_ref().unwrap().ks, 0.5);
}

#[test]
fn the_first_difference_is_named() {
    let original = in_issue_order();
    let mut swapped = original.clone();
    let (a, b) = (swapped[100], swapped[101]);
    (swapped[100], swapped[101]) = (b, a);
    (swapped[100].issued_ns, swapped[101].issued_ns) = (a.issued_ns, b.issued_ns);
    let found = compared(&original, &swapped, &FidelityOptions::default());
    let sequence = &found.devices.as_ref().unwrap()[0].sequence;
    assert_eq!((sequence.different, sequence.same_ios), (2, true));
    assert_eq!(sequence.first.unwrap().number, 101);
    let text = findings(&found, "test").ending;
    assert!(
        text.contains("the same I/Os in another order") && text.contains("I/O 101: "),
        "{text}"
    );

    let mut moved = original.clone();
    let at = moved.iter().rposition(|event| event.op == IoOp::Write).unwrap();
    moved[at].offset += 512;
    moved.truncate(at + 1);
    let found = compared(&original, &moved, &FidelityOptions::default());
    let pair = &found.devices.as_ref().unwrap()[0];
    assert_eq!((pair.sequence.different, pair.sequence.same_ios), (1, false));
    assert_eq!(pair.ios, [10_007, at as u64 + 1]);
    let first = pair.sequence.first.unwrap();
    assert_eq!(first.number, at as u64 + 1);
    let (text, offset) = (first.to_string(), original[at].offset);
    assert!(text.contains(&format!("at {offset} as captured")), "{text}");
    assert!(text.contains(&format!("at {} as replayed", offset + 512)), "{text}");
}

#[test]
fn a_device_without_a_name_is_named_by_its_number() {
    let devices = vec![CapturedDevice::default()];
    let conditions = CaptureConditions { devices, ..CaptureConditions::default() };
    let events = in_issue_order();
    let capture = |count| opened(&events[..count], conditions.clone()).into();
    let found =
        Fidelity::compare(&capture(1009), &capture(1008), &FidelityOptions::default()).unwrap();
    let findings = findings(&found, "test");
    assert!(findings.headline.starts_with("device 0 and device 0  "), "{}", findings.headline);
    assert!(findings.ending.contains("; on device 0 the first"), "{}", findings.ending);
    let titles: Vec<&str> = plots(&findings).map(|plot| plot.title.as_str()).collect();
    assert!(titles.contains(&"Start-time error of device 0"), "{titles:?}");
}

/// The kernel merges flushes that wait: reads and writes are still paired with their own.
#[test]
fn a_missing_flush_does_not_shift_the_pairs_of_reads_and_writes() {
    let flush = |n: u64| io(n * 10_000, IoOp::Flush, 0, 0);
    let all: Vec<IoEvent> = (0..10_007u64)
        .map(|n| match n % 7 {
            6 => flush(n),
            odd => {
                io(n * 10_000, if odd % 2 == 1 { IoOp::Write } else { IoOp::Read }, n * 8192, 4096)
            }
        })
        .collect();
    let mut replay: Vec<IoEvent> = all.clone();
    replay.retain(|event| event.op != IoOp::Flush || event.issued_ns % 130_000 != 0);
    // All but the first are 500 ns late.
    replay[1..].iter_mut().for_each(|event| event.issued_ns += 500);
    let lost = (all.len() - replay.len()) as u64;
    assert!(lost > 50, "{lost}");
    let found = compared(&all, &replay, &FidelityOptions::default());
    let pair = &found.devices.as_ref().unwrap()[0];
    assert!(pair.sequence.different > 5000 && !pair.sequence.same_ios);
    let by_op = |op| pair.by_op.iter().find(|one| one.op == op).unwrap();
    for op in [IoOp::Read, IoOp::Write] {
        let one = by_op(op);
        assert_eq!((one.sequence.first, one.sequence.different), (None, 0));
        assert_eq!((one.ios[0], one.starts.max_ns), (one.ios[1], 500));
    }
    let flushes = by_op(IoOp::Flush).ios;
    assert_eq!((flushes[0], flushes[0] - flushes[1], pair.by_op.len()), (1429, lost, 3));
    let moved = by_op(IoOp::Read).ios[0] + by_op(IoOp::Write).ios[0];
    assert_eq!((pair.starts.pairs, pair.starts.max_ns), (moved, 500));
    assert_eq!((pair.starts.drift_ns, pair.starts.early), (Some(500), 0));
    let findings = findings(&found, "test");
    let result = format!("read: equal, in order, write: equal, in order, flush: {lost} fewer");
    assert!(findings.ending.contains(&result), "{}", findings.ending);
    assert_eq!(table(&findings, "replay-operations").rows.len(), 3);
}

#[test]
fn a_replay_twice_as_fast_equals_the_scaled_trace() {
    let mut replay = in_issue_order();
    replay.iter_mut().for_each(|event| event.issued_ns = 1_000_000 + event.issued_ns / 2);
    let options = FidelityOptions::default().played("faster:2".parse().unwrap());
    let found = compared(&known(), &replay, &options);
    let pair = &found.devices.as_ref().unwrap()[0];
    assert_eq!((pair.starts.max_ns, pair.gaps.as_ref().unwrap().ks), (0, 0.0));
    let ios =
        |side: usize| found.sides[side].steps.values().map(|step| step.ios()).collect::<Vec<_>>();
    assert_eq!(ios(0), ios(1), "step by step on one axis");
    assert!(ios(0).len() > 50);
    let as_captured = compared(&known(), &replay, &FidelityOptions::default());
    let pair = &as_captured.devices.as_ref().unwrap()[0];
    assert_eq!(pair.starts.max_ns, 10_006 * 5_000);
    assert_eq!(pair.gaps.as_ref().unwrap().ks, 1.0);
    let stopped = FidelityOptions { faster: 0.0, ..FidelityOptions::default() };
    let refusal = Fidelity::compare(&captured(&known()), &captured(&known()), &stopped);
    assert!(matches!(refusal, Err(ReplayError::Trace(_))));
}

/// A replay on a small target is equal to the original with mapped offsets.
#[test]
fn offsets_are_compared_as_the_replay_mapped_them() {
    let space = ReplayTarget { size: Bytes::gib(1), logical_sector: 512 };
    let wrapped = ScriptOptions { map: Some(MapRule::Wrap), ..options(space) };
    let script = TraceScript::prepare(&captured(&known()), &wrapped).unwrap();
    let mut replay = in_issue_order();
    let mut playing = script.open();
    let mut ios = Vec::with_capacity(20_000);
    while playing.fill(&mut ios).unwrap() > 0 {}
    for (event, io) in replay.iter_mut().zip(&ios) {
        event.offset = io.offset.0;
    }
    let plain = compared(&known(), &replay, &FidelityOptions::default());
    assert!(plain.devices.unwrap()[0].sequence.different > 4000);
    let map = Some(script.map().clone());
    let found = compared(&known(), &replay, &FidelityOptions { map, ..FidelityOptions::default() });
    assert_eq!(found.devices.unwrap()[0].sequence.first, None);
}

#[test]
fn devices_are_paired_in_order_and_unpaired_ones_are_a_caveat() {
    let on = |device: u16, n: u64| IoEvent { device, ..io(n * 1000, IoOp::Read, n * 8192, 4096) };
    let original: Vec<IoEvent> = (0..90).map(|n| on((n % 3) as u16, n)).collect();
    let replay: Vec<IoEvent> =
        (0..90).filter(|n| n % 3 < 2).map(|n| on((n % 3) as u16 + 4, n)).collect();
    let found = compared(&original, &replay, &FidelityOptions::default());
    let pairs = found.devices.as_ref().unwrap();
    let names: Vec<&str> = pairs.iter().flat_map(|pair| &pair.names).map(String::as_str).collect();
    assert_eq!(names, ["device 0", "device 4", "device 1", "device 5"]);
    assert!(pairs.iter().all(|pair| pair.sequence.first.is_none() && pair.ios == [30, 30]));
    let findings = findings(&found, "test");
    let text = &findings.caveat("devices-unpaired").unwrap().text;
    assert!(text.contains("3 devices and the replay 2; 2 are compared"), "{text}");
}

#[test]
fn sums_are_compared_without_their_single_ios() {
    let (original, sums) = (captured(&two_steps()), step_file(&two_steps()));
    let options = FidelityOptions::default();
    for found in [
        Fidelity::compare(&original, &sums, &options).unwrap(),
        Fidelity::compare(&sums, &original, &options).unwrap(),
        Fidelity::compare(&sums, &sums, &options).unwrap(),
    ] {
        assert!(found.devices.is_none());
        assert_eq!(found.step_ns, SECOND);
        let steps = found.sides.each_ref().map(|side| {
            let steps = side.steps.iter();
            steps.map(|(at, step)| (*at, step.ios(), step.transferred_bytes())).collect::<Vec<_>>()
        });
        assert_eq!(steps[0], [(0, 4, 16_384), (2, 3, 24_576)]);
        assert_eq!(steps[0], steps[1]);
        let findings = findings(&found, "test");
        let sizes = table(&findings, "replay-sizes");
        assert!(sizes.rows.iter().all(|row| row.cells[0] == row.cells[1]), "{sizes:?}");
        assert!(findings.caveat("steps-only").is_some());
        assert!(findings.ending.contains("did not keep single I/Os"));
    }
    let narrow = FidelityOptions { step_ns: Some(SECOND / 2), ..options };
    let refusal = Fidelity::compare(&sums, &original, &narrow).unwrap_err().to_string();
    assert!(refusal.contains("multiple"), "{refusal}");
}

#[test]
fn the_exhibits_show_both_on_one_axis() {
    let conditions = crate::synthetic::conditions(8);
    let events = crate::by_completion(crate::synthetic::SyntheticServer::new(8, 2000));
    let original = opened(&events, conditions.clone()).into();
    let mut late = events.clone();
    late.iter_mut().for_each(|event| {
        event.issued_ns += 3 * SECOND + event.issued_ns % 977;
        event.response_ns /= 2;
    });
    let replay = opened(&late, CaptureConditions { lost: 9, ..conditions }).into();
    let found = Fidelity::compare(&original, &replay, &FidelityOptions::default()).unwrap();
    let findings = findings(&found, "test");
    let ids: Vec<&str> = plots(&findings).map(|plot| plot.id.as_str()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for id in ["replay-iops", "replay-mbs", "replay-response", "replay-depth"] {
        let plot = plots(&findings).find(|plot| plot.id == id).unwrap();
        let [original, replay] = &plot.series[..] else { panic!("{id}") };
        assert_eq!(original.points.len(), replay.points.len(), "{id}");
        assert!(original.points.iter().zip(&replay.points).all(|(a, b)| a.0 == b.0), "{id}");
        assert!(original.points.iter().any(|point| point.1.is_some_and(|value| value > 0.0)));
    }
    let cell = |row: &str, column: usize| {
        let totals = table(&findings, "replay-totals");
        let found = totals.rows.iter().find(|one| one.head == row).unwrap();
        found.cells[column].value().unwrap()
    };
    assert_eq!((cell("I/Os", 0), cell("I/Os", 1)), (events.len() as f64, events.len() as f64));
    assert!((cell("Average response time, ms", 2) + 50.0).abs() < 0.1);
    assert!(findings.caveats.iter().any(|c| c.text.contains("replay lost 9 events")));
    assert_eq!(table(&findings, "replay-times").rows.len(), 2, "one row for each device");
    let streams = &table(&findings, "replay-streams").rows;
    let total: f64 = streams.iter().filter_map(|row| row.cells[0].value()).sum();
    assert_eq!(total, events.len() as f64, "others are one row");
}

#[test]
fn a_comparison_without_ios_is_refused() {
    let refusal =
        Fidelity::compare(&captured(&known()), &captured(&[]), &FidelityOptions::default());
    assert!(matches!(refusal, Err(ReplayError::Empty { events: 0, .. })));
}
