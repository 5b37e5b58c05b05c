//! blktrace on a load that is known I/O by I/O. The trace is kept: reading it
//! back must give these numbers.

use crate::answers::Answers;
use crate::guest::{Case, Guest};
use crate::machine::{Drive, Medium};
use anyhow::{Context, ensure};
use std::time::Duration;

/// I/Os of 4 KiB, reads and writes at random.
const MIXED: u64 = 2003;
/// Writes of 64 KiB in order.
const SEQUENTIAL: u64 = 211;

/// The guest.
pub fn guest() -> Guest {
    Guest {
        name: "trace",
        drives: vec![Drive::nvme("LABTRACE1", Medium::new(128))],
        script: include_str!("trace.sh"),
        meanwhile: Vec::new(),
        limit: Duration::from_secs(90),
        artefacts: &[
            "known.blktrace.0",
            "known.blktrace.1",
            "known.events",
            "known.summary",
            "known.fio.json",
        ],
        cases: vec![
            Case { name: "fio did the I/Os that were asked of it", check: fio },
            Case { name: "every I/O is in the trace, sent and completed", check: events },
        ],
    }
}

/// Reads and writes that fio says it did.
fn done(answers: &Answers, name: &str) -> anyhow::Result<(u64, u64)> {
    let answer = answers.json(name)?;
    let count = |direction: &str| answer["jobs"][0][direction]["total_ios"].as_u64();
    count("read").zip(count("write")).context("no counts")
}

fn fio(answers: &Answers) -> anyhow::Result<()> {
    let (reads, writes) = done(answers, "mixed")?;
    ensure!(reads + writes == MIXED, "{reads} reads and {writes} writes");
    ensure!(done(answers, "sequential")? == (0, SEQUENTIAL), "another number of writes");
    answers.ended("discard", &[0]).map(drop)
}

/// Events of one action, direction and size in bytes.
fn count(events: &str, action: &str, direction: &str, size: u64) -> u64 {
    let wanted = size.to_string();
    let of = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields.as_slice(), [a, d, n, ..]
            if *a == action && d.starts_with(direction) && *n == wanted)
    };
    events.lines().filter(of).count() as u64
}

fn events(answers: &Answers) -> anyhow::Result<()> {
    let events = answers.ended("events", &[0])?;
    let (reads, writes) = done(answers, "mixed")?;
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
