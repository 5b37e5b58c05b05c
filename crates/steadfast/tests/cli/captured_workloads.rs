//! The tests of a captured workload from beginning to end on the small simulated drive, and the
//! findings of a killed run that is resumed. `BLESS=1` accepts what is found.

use super::fixtures::{TestDirectory, array, copy_ledger, cut_journal, findings};
use super::procedures::{golden, outline};
use super::recomputed_tables::conduct_steps;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use steadfast_domain::{Profile, Settings};
use steadfast_runner::Ledger;

#[path = "../../../procedures/src/testing/workload.rs"]
mod shop;

fn settings(procedure: &str) -> Settings {
    let mut settings = shop::settings(procedure);
    (settings.seed, settings.profile) = (11, Profile::Quick);
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

/// Asserts that the weights of every measured step are counts of the capture.
fn assert_weights_are_counts(run: &Path, procedure: &str) {
    let workload = shop::workload();
    let mut seen = 0;
    for (step, _) in Ledger::read(run).unwrap().steps() {
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

fn assert_finds_what_was_accepted(procedure: &str) {
    let here = &TestDirectory::new();
    let whole = here.join("whole");
    conduct_steps(&whole, Some(settings(procedure)));
    let found = findings(&whole);
    assert_weights_are_counts(&whole, procedure);
    golden(&format!("quick-{procedure}"), &text(&found));
    let half = here.join("half");
    copy_ledger(&whole, &half);
    cut_journal(&half, |lines| lines.len() / 2);
    conduct_steps(&half, None);
    assert_eq!(text(&findings(&half)), text(&found), "{procedure}: resumed");
}

#[test]
fn a_replay_finds_what_was_accepted_also_after_a_kill() {
    assert_finds_what_was_accepted("replay-native");
}

#[test]
fn individual_streams_find_what_was_accepted_also_after_a_kill() {
    assert_finds_what_was_accepted("individual-streams");
}

#[test]
fn a_composite_finds_what_was_accepted_also_after_a_kill() {
    assert_finds_what_was_accepted("multi-wsat");
}

#[test]
fn its_demands_find_what_was_accepted_also_after_a_kill() {
    assert_finds_what_was_accepted("rwsw-dirth");
}
