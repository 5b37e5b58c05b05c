//! Commits: of the exact drive by formula, of a loop device by the kernel's counts, and judged by
//! the limits of docs/examples.

use super::fixtures::*;
use super::real_io::issued;
use serde_json::Value;
use std::path::Path;
use steadfast_domain::findings::{Cell, Exhibit, Table};
use steadfast_domain::{Findings, Op};
use steadfast_runner::Ledger;

/// Times of the exact drive in milliseconds: command, 4 KiB on the link, flush.
const COMMAND: f64 = 0.1;
const LINK: f64 = 0.004;
const FLUSH: f64 = COMMAND + 2.0;

fn table(run: &Path, id: &str) -> Table {
    let findings: Findings = read_json(run.join("findings.json"));
    findings.table(id).unwrap_or_else(|| panic!("no table {id}")).clone()
}

fn number(table: &Table, row: &str, column: &str) -> f64 {
    let value = table.cell(row, column).and_then(Cell::value);
    value.unwrap_or_else(|| panic!("no number in {row}, {column}"))
}

/// A plain write takes a command and the link, a commit a flush more; a group of N waits for the
/// commands of all its writes, the link, and one flush.
#[test]
fn commits_of_the_exact_drive_take_the_write_and_its_flush() {
    let here = &TestDirectory::new();
    succeed(here, "run commit --target sim:exact --profile quick -o run");
    let run = here.join("run");
    let near = |found: f64, expected: f64, what: &str| {
        assert!((found - expected).abs() < 1e-9, "{what}: {found}, not {expected}");
    };
    let cost = table(&run, "flush-cost");
    for order in ["SEQ", "RND"] {
        for (size, pages) in [("4K", 1.0), ("8K", 2.0), ("16K", 4.0)] {
            let (row, write) = (format!("{order} {size}"), COMMAND + pages * LINK);
            for (column, expected) in [
                ("Plain write ms", write),
                ("FUA ms", write),
                ("Write alone ms", write),
                ("Flush ms", FLUSH),
                ("Write + flush ms", write + FLUSH),
                ("Flushed : plain", (write + FLUSH) / write),
                ("Flushed : alone", (write + FLUSH) / write),
            ] {
                near(number(&cost, &row, column), expected, &format!("{row} {column}"));
            }
        }
    }
    let groups = table(&run, "group-commit");
    for n in [4.0, 16.0, 64.0] {
        let commit = n * COMMAND + LINK + FLUSH;
        let of_group = |column: &str| number(&groups, &n.to_string(), column);
        near(of_group("group-art"), commit, "group");
        let (commits, flushes) = (of_group("group-rate"), of_group("group-flushes"));
        near(commits / flushes, n, "commits per flush");
        // Whole groups in a second.
        assert!((commits - n * 1000.0 / commit).abs() <= n, "{n}: {commits}");
    }
}

/// Interface of loads that flush with one I/O outstanding per thread.
const BLOCKING: &str = "a thread per I/O for commits at queue depth 1";

/// Each flush of a single committer and of a group reaches the device; of several committers the
/// kernel merges the flushes that wait. A loop device has no FUA, so the kernel flushes after each
/// such write.
#[test]
fn flushes_of_commits_are_those_that_the_kernel_counts() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let run = format!(
        "run commit --profile quick --step-time 300ms --set committers=1,4 --set block-sizes=4K \
         --set run-in=100ms --set between-time=300ms {} -o run",
        device.confirmed()
    );
    run_ending(here, &run, &[0, 3]);
    let mut checked = 0;
    for (step, outcome) in Ledger::read(&here.join("run")).unwrap().steps() {
        let (label, measurement) = (step.place.label.as_str(), &outcome.measurement);
        if !step.place.phase.starts_with("commits") {
            continue;
        }
        let counted = measurement.kernel.and_then(|kernel| kernel.flushes).unwrap();
        let (writes, flushes) =
            (issued(measurement, Op::Write).ios, issued(measurement, Op::Flush).ios);
        if label.ends_with(" W T1Q1") || label.ends_with(" W T4Q1") {
            assert_eq!((counted, flushes), (0, 0), "{label}");
        } else if label.ends_with("FUA T1Q1") {
            assert_eq!((counted, flushes), (writes, 0), "{label}");
        } else if label.ends_with("FLUSH/1 T1Q1") || label.contains("FLUSH/4") {
            assert_eq!(counted, flushes, "{label}");
            assert!(writes > 0 && writes.div_ceil(flushes) <= 4, "{label}: {writes} {flushes}");
        } else if label.ends_with("FLUSH/1 T4Q1") {
            assert!(counted > 0 && counted <= flushes, "{label}: {counted} of {flushes}");
            assert_eq!(writes, flushes, "{label}");
        }
        let is_blocking = label.contains("FLUSH/1 ");
        assert_eq!(measurement.interface.as_deref(), is_blocking.then_some(BLOCKING), "{label}");
        checked += 1;
    }
    assert_eq!(checked, 2 * 6 + 1);
    let findings: Findings = read_json(here.join("run/findings.json"));
    let mut facts = findings.exhibits().filter_map(Exhibit::as_facts).flat_map(|facts| &facts.rows);
    let engine = facts.find(|row| row.label == "Engine").unwrap().value.as_deref().unwrap();
    assert_eq!(engine.matches(BLOCKING).count(), 1, "{engine}");
}

#[test]
fn the_plan_states_the_time_of_the_commits() {
    let here = &TestDirectory::new();
    let plan = succeed(here, "plan commit --target sim:client");
    // 72 steps of 60 s after 10 s each.
    let commits =
        "commits  72 steps, from 'RND 4K W T1Q1' to 'SEQ 16K W FLUSH/1 T16Q1': 1 h 24 min";
    assert!(plan.lines().any(|line| line == commits), "{plan}");
    let other = "--set committers=1,2 --set block-sizes=4K --step-time 20s";
    let plan = succeed(here, &format!("plan commit --target sim:client {other}"));
    let commits = "commits  13 steps, from 'RND 4K W T1Q1' to 'SEQ 4K W FLUSH/2 T1Q2': 6 min 30 s";
    assert!(plan.contains(commits), "{plan}");
}

/// Returns whether the run passes each limit in a file of docs/examples.
fn verdicts(here: &Path, file: &str) -> Vec<bool> {
    let limits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(file);
    let limits = limits.display();
    let check =
        format!("check run --limits {limits} --no-report --json --allow quick,simulated,method");
    let output = run_in(here, &check);
    let answer: Value = parse_json(&output);
    let limits = array(&answer["limits"]);
    assert!(limits.iter().all(|limit| !limit["measured"].is_null()), "{answer:#}");
    let all_pass = limits.iter().all(|limit| limit["pass"] == true);
    assert_eq!((answer["pass"] == true, code(&output) == 0), (all_pass, all_pass), "{answer:#}");
    limits.iter().map(|limit| limit["pass"].as_bool().unwrap()).collect()
}

/// The exact drive makes 453 commits a second: enough for etcd, too few for the others.
#[test]
fn the_limits_of_the_examples_judge_a_run() {
    let here = &TestDirectory::new();
    succeed(here, "run commit --target sim:exact --profile quick --step-time 5s -o run");
    assert_eq!(verdicts(here, "limits-etcd.toml"), [true, true]);
    assert_eq!(verdicts(here, "limits-ceph-journal.toml"), [true, false]);
    assert_eq!(verdicts(here, "limits-postgresql-wal.toml"), [false, true]);
}
