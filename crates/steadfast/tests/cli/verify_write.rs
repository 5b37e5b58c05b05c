//! Verify-write as a user runs it, on a scratch file.

use super::fixtures::*;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

const SIZE: u64 = 256 << 20;
const BEGIN: &str = "run verify-write --target f.bin --size 256MiB -o run";

#[test]
fn what_was_written_reads_back_and_the_run_is_planned_reported_and_studied_like_any_other() {
    let here = &TestDirectory::new();
    let text = succeed(here, BEGIN);
    let plan = succeed(here, "plan verify-write --target f.bin");
    assert!(plan.contains("fill") && plan.contains("read-back"), "{plan}");
    assert!(text.contains("0 miscompares: all 524,288 sectors"), "{text}");
    let found = findings(here.join("run"));
    assert_eq!(found["end"], "complete");
    assert!(succeed(here, "report run --format text").contains("0 miscompares"));
    succeed(here, "study run");
    assert_eq!(findings(here.join("run")), found);
    assert_eq!(code(&run_in(here, "resume run")), 0, "there is nothing left to do");
}

#[test]
fn a_drive_that_keeps_no_data_is_refused_before_anything_is_done() {
    let here = &TestDirectory::new();
    refuse(here, "run verify-write --target sim:small -o run", &["verif"]);
    refuse(here, "plan verify-write --target sim:small", &["verif"]);
}

/// Changes the last sector between the writes and its turn to be read; returns the exit code and the
/// findings, or `None` if this process was too slow.
fn run_with_changed_sector() -> Option<(i32, Value)> {
    let here = &TestDirectory::new();
    let mut child = spawn_in(here, BEGIN, Stdio::null(), Stdio::inherit());
    let journal = here.join("run/journal.jsonl");
    wait_until("the fill", || {
        assert!(child.try_wait().unwrap().is_none());
        std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"phase\":\"fill\""))
    });
    let file = File::options().write(true).open(here.join("f.bin")).unwrap();
    file.write_all_at(&[7; 512], SIZE - 512).unwrap();
    file.sync_all().unwrap();
    let ended = child.wait().unwrap().code().unwrap();
    (ended != 0).then(|| (ended, findings(here.join("run"))))
}

#[test]
fn a_sector_that_changed_after_it_was_written_ends_the_run_with_3() {
    let (ended, found) =
        (0..5).find_map(|_| run_with_changed_sector()).expect("five times too slow");
    assert_eq!((ended, &found["end"]), (3, &Value::from("failed")));
    assert!(found["ending"].as_str().unwrap().starts_with("MISCOMPARES: 1 of 524,288"));
    assert!(caveat(&found, "miscompares").is_some());
}

#[test]
fn rounds_are_no_part_of_it() {
    let here = &TestDirectory::new();
    let output = run_ending(here, &format!("{BEGIN} --max-rounds 5"), &[2]);
    assert!(stderr(&output).contains("verify-write has no rounds"));
}
