//! blktrace and our own capture on a load known I/O by I/O: both recordings, and an import of
//! blktrace's files, must have exactly these numbers.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use serde_json::Value;

/// Random reads and writes of 4 KiB.
const MIXED: u64 = 2003;
/// Sequential writes of 64 KiB.
const SEQUENTIAL: u64 = 211;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABTRACE1", Medium::new(128))],
        artifacts: &[
            "known.blktrace.0", "known.blktrace.1", "known.events", "known.summary",
            "known.fio.json",
        ],
        cases: vec![
            Case::new("fio did the I/Os that were asked of it", fio),
            Case::new("every I/O is in the trace, sent and completed", events),
            Case::new("our capture saw the same I/Os, none lost", captured),
            Case::new("the file-system layer can be captured", |a| {
                a.ended("layers", &[0]).map(drop)
            }),
            Case::new("blktrace's files are imported I/O by I/O", imported),
            Case::new("blkparse's text is imported I/O by I/O", text),
        ],
        ..Guest::new("trace", include_str!("trace.sh"), 180)
    }
}

/// Returns the reads and writes that fio reports.
fn fio_counts(answers: &GuestOutput, name: &str) -> anyhow::Result<(u64, u64)> {
    let answer = answers.json(name)?;
    let count = |direction: &str| answer["jobs"][0][direction]["total_ios"].as_u64();
    count("read").zip(count("write")).context("no counts")
}

fn fio(answers: &GuestOutput) -> anyhow::Result<()> {
    let (reads, writes) = fio_counts(answers, "mixed")?;
    ensure!(reads + writes == MIXED, "{reads} reads and {writes} writes");
    ensure!(fio_counts(answers, "sequential")? == (0, SEQUENTIAL), "another number of writes");
    answers.ended("discard", &[0]).map(drop)
}

/// Counts events of one action, direction and size in bytes.
fn count(events: &str, action: &str, direction: &str, size: u64) -> u64 {
    let wanted = size.to_string();
    let is_wanted = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields.as_slice(), [a, d, n, ..]
            if *a == action && d.starts_with(direction) && *n == wanted)
    };
    events.lines().filter(is_wanted).count() as u64
}

fn events(answers: &GuestOutput) -> anyhow::Result<()> {
    let events = answers.ended("events", &[0])?;
    let (reads, writes) = fio_counts(answers, "mixed")?;
    for (direction, size, wanted) in
        [("R", 4096, reads), ("W", 4096, writes), ("W", 65_536, SEQUENTIAL), ("D", 1 << 20, 1)]
    {
        for action in ["Q", "D", "C"] {
            let found = count(&events, action, direction, size);
            ensure!(
                found == wanted,
                "{found} events {action} {direction} of {size} bytes, not {wanted}"
            );
        }
    }
    Ok(())
}

/// Returns the I/Os of all streams of a size in bytes that have this value in a field.
fn streamed(table: &Value, field: &str, value: &str, size: u64) -> u64 {
    let streams = table["streams"].as_array().into_iter().flatten();
    let wanted = streams.filter(|stream| stream[field] == value && stream["bytes"] == size);
    wanted.filter_map(|stream| stream["count"].as_u64()).sum()
}

/// Checks that a stream table has fio's I/Os and the discard, with none lost.
fn matches_fio(answers: &GuestOutput, name: &str) -> anyhow::Result<()> {
    let table = answers.json(name)?;
    let (reads, writes) = fio_counts(answers, "mixed")?;
    for (op, size, wanted) in [
        ("read", 4096, reads),
        ("write", 4096, writes),
        ("write", 65_536, SEQUENTIAL),
        ("discard", 1 << 20, 1),
    ] {
        let found = streamed(&table, "op", op, size);
        ensure!(found == wanted, "{name}: {found} {op}s of {size} bytes, not {wanted}");
    }
    let count = streamed(&table, "order", "SEQ", 65_536);
    ensure!(count >= SEQUENTIAL - 1, "{name}: {count} of {SEQUENTIAL} writes are sequential");
    Ok(())
}

fn captured(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.stderr("capture")?;
    ensure!(answers.exit_code("capture")? == 0, "the capture failed: {output}");
    matches_fio(answers, "captured")
}

fn imported(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("import", &[0])?;
    matches_fio(answers, "imported")
}

fn text(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("text", &[0])?;
    matches_fio(answers, "texts")
}
