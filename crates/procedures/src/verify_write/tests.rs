use super::*;
use crate::testing::scripted::{
    ScriptedBench, figure, phases, purges, requested, retouched, settings_of, steps,
};
use steadfast_domain::measurement::Verification;
use steadfast_domain::{Bytes, EndState, Measurement, Op, Settings, Step};

const SECTORS: u64 = 1 << 21;

fn build(change: impl FnOnce(&mut Settings)) -> VerifyWrite {
    requested(&settings_of("verify-write", change), VerifyWrite::new)
}

fn found(step: &Step, measurement: &mut Measurement, wrong: u64, unknown: u64) {
    if step.place.phase.starts_with("read-back") {
        measurement.verification = Some(Verification {
            sectors_right: SECTORS - wrong - unknown,
            sectors_unknown: unknown,
            miscompares: wrong,
            first: (0..wrong).map(|n| Bytes(n * 512)).collect(),
        });
    }
}

fn conducted(bench: &mut ScriptedBench<impl FnMut(&Step) -> f64>) -> Findings {
    let test = build(|_| ());
    bench.studied(&test, &test.setup.settings)
}

#[test]
fn all_is_written_then_all_is_read_and_every_step_verifies() {
    let mut bench = retouched(|step, m| found(step, m, 0, 0));
    let findings = conducted(&mut bench);
    let steps = steps(&bench.entries);
    let labels: Vec<_> =
        steps.iter().map(|s| (s.place.phase.as_str(), s.place.label.as_str())).collect();
    assert_eq!(labels, [("fill", "SEQ 128K W"), ("read-back", "SEQ 128K R")]);
    for (step, op) in steps.iter().zip([Op::Write, Op::Read]) {
        let stimulus = step.load.stimulus().unwrap();
        assert!(stimulus.verify && stimulus.streams.iter().all(|s| s.op == op));
        assert_eq!(stimulus.until.bytes, Some(Bytes::gib(1)), "all of the active range");
    }
    assert_eq!(purges(&bench.entries), 0);
    assert_eq!(findings.end, EndState::Complete);
    let compared = &findings.front.figures[0];
    assert_eq!((compared.value, compared.digits), (Some(2_097_152.0), 7), "exact");
    assert!(findings.ending.starts_with("0 miscompares: all 2,097,152 sectors"));
}

#[test]
fn a_miscompare_is_a_failed_end_and_says_where() {
    let findings = conducted(&mut retouched(|step, m| found(step, m, 3, 0)));
    assert_eq!((findings.end, findings.end.good()), (EndState::Failed, Some(false)));
    assert!(findings.ending.contains("3 of 2,097,152"), "{}", findings.ending);
    assert!(findings.caveat("miscompares").is_some());
    assert_eq!(findings.form_pages[0].exhibits.len(), 3, "with the places");
}

#[test]
fn what_was_not_compared_is_not_right() {
    for retouch in [(|_, _| ()) as fn(&Step, &mut Measurement), |step, m| found(step, m, 0, 8)] {
        let findings = conducted(&mut retouched(retouch));
        assert_eq!(findings.end, EndState::Void);
        assert!(findings.ending.starts_with("NOT VERIFIED"), "{}", findings.ending);
        assert!(findings.caveat("not-compared").is_some());
    }
}

/// Only the process that wrote the sectors knows which ones were written.
#[test]
fn a_gap_begins_anew_with_the_writes_and_only_the_last_attempt_counts() {
    let mut bench = retouched(|step, m| match step.place.phase.as_str() {
        "read-back" => found(step, m, 0, SECTORS),
        _ => found(step, m, 0, 0),
    });
    bench.gap_before.push(("read-back", 0, 1));
    let findings = conducted(&mut bench);
    assert_eq!(
        phases(&bench.entries),
        ["fill", "read-back", "fill (attempt 2)", "read-back (attempt 2)"]
    );
    assert_eq!(findings.end, EndState::Complete);
}

#[test]
fn what_was_wrong_in_an_attempt_that_broke_off_stays_wrong() {
    let mut bench = retouched(|step, m| match step.place.phase.as_str() {
        "read-back" => found(step, m, 3, SECTORS - 3),
        _ => found(step, m, 1, 0),
    });
    bench.gap_before.push(("read-back", 0, 1));
    let findings = conducted(&mut bench);
    assert_eq!(findings.end, EndState::Failed);
    assert_eq!(figure(&findings, "miscompares"), Some(4.0));
}
