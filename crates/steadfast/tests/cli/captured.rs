//! The tests of a captured workload from beginning to end on the small simulated drive,
//! and what a killed run finds that is taken up again. `BLESS=1` accepts what is found.

use super::procedures::{golden, outline};
use super::recomputed::conducted;
use super::scratch::{TestDirectory, array, findings};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::stimulus::{Cursor, Op, Order, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, JournalEntry, Nanos, Profile, Settings};
use steadfast_runner::Ledger;

/// Three of five streams of a shop's drive in three capture steps, with a pause of 20 s.
fn workload() -> AppliedWorkload {
    let stream = |op, order, size, ios| IoStream::new(op, order, Bytes(size)).weighing(ios);
    let step = |began, streams: Vec<(usize, u64)>, demand, pace| AppliedStep {
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
            stream(Op::Write, Order::Random, 4096, 5000),
            stream(Op::Read, Order::Random, 8192, 3000),
            stream(Op::Write, Order::Sequential(Cursor::Own), 65_536, 2000),
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

fn settings(procedure: &str) -> Settings {
    let mut settings = Settings::new(procedure, 11);
    settings.profile = Profile::Quick;
    settings.workload = Some(Box::new(workload()));
    if procedure == "individual-streams" {
        // Sequential writes after random ones become faster until they have gone over the
        // whole drive once: ten cycles are too few for that.
        settings.rounds_max = Some(20);
    }
    settings
}

/// Titles, ending, caveats and the numbers of the summary, then every page.
fn text(findings: &Value) -> String {
    let mut text = String::new();
    for name in ["title", "method", "headline", "ending", "end"] {
        writeln!(text, "{name}: {}", findings[name]).unwrap();
    }
    for caveat in array(&findings["caveats"]) {
        writeln!(text, "caveat {} {}: {}", caveat["kind"], caveat["id"], caveat["text"]).unwrap();
    }
    for exhibit in array(&findings["summary"]) {
        for row in array(&exhibit["table"]["rows"]) {
            writeln!(text, "{}: {}", row["head"], row["cells"]).unwrap();
        }
    }
    outline(findings, &mut text);
    text
}

/// The weights of every step that is measured are counts of the capture.
fn weights_are_counts(run: &Path, procedure: &str) {
    let workload = workload();
    let mut seen = 0;
    for line in &Ledger::read(run).unwrap().lines {
        let JournalEntry::Applied { step, .. } = &line.entry else { continue };
        let stimulus = step.load.stimulus().unwrap();
        let sum: u64 = stimulus.streams.iter().map(|s| u64::from(s.weight)).sum();
        let expected = match step.place.phase.as_str() {
            "wipc" => continue,
            "replay" => workload.steps[step.place.point as usize - 1].captured_ios - 1,
            phase if phase.starts_with("stream-") => 1,
            _ => 10_000,
        };
        assert_eq!(sum, expected, "{procedure}: {}", step.place);
        seen += 1;
    }
    assert!(seen > 0, "{procedure}");
}

/// The run as it was when half of its journal had been written.
fn halved(whole: &Path, half: &Path) {
    std::fs::create_dir(half).unwrap();
    for file in std::fs::read_dir(whole).unwrap().map(Result::unwrap) {
        let name = file.file_name();
        if name == "findings.json" || !file.file_type().unwrap().is_file() {
            continue;
        }
        std::fs::copy(file.path(), half.join(&name)).unwrap();
    }
    let journal = half.join("journal.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let text: Vec<&str> = lines.lines().take(lines.lines().count() / 2).collect();
    std::fs::write(&journal, text.join("\n") + "\n").unwrap();
}

fn finds_what_was_accepted(procedure: &str) {
    let here = &TestDirectory::new();
    let whole = here.join("whole");
    conducted(&whole, Some(settings(procedure)));
    let found = findings(&whole);
    weights_are_counts(&whole, procedure);
    golden(&format!("quick-{procedure}"), &text(&found));
    let half = here.join("half");
    halved(&whole, &half);
    conducted(&half, None);
    assert_eq!(text(&findings(&half)), text(&found), "{procedure}: resumed");
}

#[test]
fn a_replay_finds_what_was_accepted_also_after_a_kill() {
    finds_what_was_accepted("replay-native");
}

#[test]
fn individual_streams_find_what_was_accepted_also_after_a_kill() {
    finds_what_was_accepted("individual-streams");
}

#[test]
fn a_composite_finds_what_was_accepted_also_after_a_kill() {
    finds_what_was_accepted("multi-wsat");
}

#[test]
fn its_demands_find_what_was_accepted_also_after_a_kill() {
    finds_what_was_accepted("rwsw-dirth");
}
