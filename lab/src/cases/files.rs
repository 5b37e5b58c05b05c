//! The file-system layer on ext4, xfs and btrfs: what each of its two ways saw
//! must be fio's own log, I/O by I/O.

use crate::answers::Answers;
use crate::guest::{Case, Guest};
use crate::machine::{Drive, Medium};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_trace::{Batch, Fields, Trace};

/// The file systems, in the order of their devices.
const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// Jobs that both ways see.
const SEEN_BY_BOTH: [&str; 8] =
    ["any", "sequential", "synchronous", "vectored", "direct", "ring", "ring_cached", "ranges"];

/// Jobs that only the entry points see: Linux AIO.
const SEEN_AT_ENTRY: [&str; 2] = ["aio", "aio_sync"];

/// Appended writes, and their bytes.
const APPENDED: (u64, u64) = (101, 509);

/// The guest.
pub fn guest() -> Guest {
    let drive = |serial| Drive::nvme(serial, Medium::new(384));
    Guest {
        name: "files",
        drives: vec![drive("LABFILES1"), drive("LABFILES2"), drive("LABFILES3")],
        script: include_str!("files.sh"),
        meanwhile: Vec::new(),
        limit: Duration::from_secs(180),
        artefacts: &[],
        cases: vec![
            Case { name: "fio did its jobs on all three file systems", check: fio },
            Case { name: "entry points: every I/O once, with offset and bytes", check: entries },
            Case { name: "entry points: direct, synchronous, ended", check: marked },
            Case { name: "calls: the same, but for Linux AIO", check: calls },
            Case { name: "what was not seen is counted, by both alike", check: unseen },
        ],
    }
}

/// What a capture left.
struct Captured {
    conditions: CaptureConditions,
    events: Vec<IoEvent>,
}

/// One I/O: operation, offset, bytes.
type Io = (IoOp, u64, u32);

impl Captured {
    fn read(answers: &Answers, way: &str) -> anyhow::Result<Captured> {
        let said = answers.stderr(way)?;
        ensure!(answers.code(way)? == 0, "the capture failed: {said}");
        let trace = Trace::open(File::open(answers.path(&format!("{way}.parquet")))?)?;
        let (mut order, mut batch) = (trace.in_issue_order(Fields::ALL), Batch::default());
        let mut events = Vec::new();
        while order.next_batch(&mut batch)? {
            events.extend((0..batch.len()).map(|row| batch.event(row)));
        }
        let conditions = trace.conditions().clone();
        ensure!(conditions.lost == 0, "some were lost: {said}");
        Ok(Captured { conditions, events })
    }

    /// The events on one file.
    fn on(&self, answers: &Answers, device: usize, file: &str) -> anyhow::Result<Vec<IoEvent>> {
        let inode = inode(answers, device, file)?;
        let of = |event: &&IoEvent| usize::from(event.device) == device && event.inode == inode;
        Ok(self.events.iter().filter(of).copied().collect())
    }

    /// That these jobs and the appended file are there I/O by I/O, and no more.
    fn agrees(&self, answers: &Answers, jobs: &[&str]) -> anyhow::Result<()> {
        let mut expected = 0;
        for (device, kind) in KINDS.iter().enumerate() {
            for job in jobs {
                let done = logged(answers, kind, job)?;
                expected += done.len();
                same(&done, &ios(&self.on(answers, device, job)?), kind, job)?;
            }
            let appended: Vec<Io> = appended();
            expected += appended.len();
            same(&appended, &ios(&self.on(answers, device, "log")?), kind, "log")?;
        }
        let found = self.events.len();
        ensure!(found == expected, "{found} events, not {expected}");
        Ok(())
    }
}

fn appended() -> Vec<Io> {
    (0..APPENDED.0).map(|n| (IoOp::Write, n * APPENDED.1, APPENDED.1 as u32)).collect()
}

fn ios(events: &[IoEvent]) -> Vec<Io> {
    events.iter().map(|event| (event.op, event.offset, event.bytes)).collect()
}

/// That two lists hold the same I/Os, in whatever order.
fn same(wanted: &[Io], found: &[Io], kind: &str, job: &str) -> anyhow::Result<()> {
    let mut balance: BTreeMap<Io, i64> = BTreeMap::new();
    wanted.iter().for_each(|io| *balance.entry(*io).or_default() += 1);
    found.iter().for_each(|io| *balance.entry(*io).or_default() -= 1);
    balance.retain(|_, count| *count != 0);
    let first: Vec<_> = balance.iter().take(3).collect();
    ensure!(
        balance.is_empty(),
        "{kind}, {job}: {} I/Os, not {}; {} differ, such as {first:?} (positive: not seen)",
        found.len(),
        wanted.len(),
        balance.len()
    );
    Ok(())
}

fn inode(answers: &Answers, device: usize, file: &str) -> anyhow::Result<u64> {
    let kind = KINDS[device];
    let list = answers.text(&format!("inodes.{kind}"))?;
    let line = list.lines().find_map(|line| line.strip_prefix(&format!("{file} ")));
    Ok(line.with_context(|| format!("{kind} has no file {file}"))?.trim().parse()?)
}

/// The I/Os of fio's log: `time file operation offset bytes`.
fn logged(answers: &Answers, kind: &str, job: &str) -> anyhow::Result<Vec<Io>> {
    let log = answers.text(&format!("{kind}.{job}.log"))?;
    let ios = log.lines().filter_map(|line| {
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [_, _, "read", offset, bytes] => Some(io(IoOp::Read, offset, bytes)),
            [_, _, "write", offset, bytes] => Some(io(IoOp::Write, offset, bytes)),
            [_, _, "sync", ..] => Some(Ok((IoOp::Flush, 0, 0))),
            _ => None,
        }
    });
    ios.collect()
}

fn io(op: IoOp, offset: &str, bytes: &str) -> anyhow::Result<Io> {
    Ok((op, offset.parse()?, bytes.parse()?))
}

fn fio(answers: &Answers) -> anyhow::Result<()> {
    for kind in KINDS {
        answers.ended(&format!("fio.{kind}"), &[0])?;
        let counts = ["any", "aio", "ring"].map(|job| logged(answers, kind, job).map(|l| l.len()));
        for (count, wanted) in counts.into_iter().zip([503, 307, 311]) {
            let count = count?;
            ensure!(count == wanted, "{kind}: {count} I/Os in fio's log, not {wanted}");
        }
    }
    Ok(())
}

fn entries(answers: &Answers) -> anyhow::Result<()> {
    let captured = Captured::read(answers, "entry-points")?;
    let source = &captured.conditions.source;
    ensure!(source.contains("entry points of ext4, xfs, btrfs"), "seen with {source}");
    captured.agrees(answers, &[&SEEN_BY_BOTH[..], &SEEN_AT_ENTRY].concat())
}

fn calls(answers: &Answers) -> anyhow::Result<()> {
    Captured::read(answers, "calls")?.agrees(answers, &SEEN_BY_BOTH)
}

fn marked(answers: &Answers) -> anyhow::Result<()> {
    let captured = Captured::read(answers, "entry-points")?;
    ensure!(
        captured.events.iter().all(|event| event.response_ns != RESPONSE_UNKNOWN),
        "an end was not seen"
    );
    for device in 0..KINDS.len() {
        for (job, wanted) in [
            ("any", 0),
            ("synchronous", flags::SYNC),
            ("direct", flags::DIRECT),
            ("aio", flags::DIRECT),
            ("aio_sync", flags::DIRECT | flags::SYNC),
            ("ring", flags::DIRECT),
            ("ring_cached", 0),
        ] {
            let found = captured.on(answers, device, job)?;
            let other = found.iter().find(|event| event.flags != wanted);
            ensure!(other.is_none(), "{}, {job}: flags of {other:?}", KINDS[device]);
        }
    }
    Ok(())
}

/// How often a way was taken that is not followed, of which `what` is told.
fn count(captured: &Captured, what: &str) -> u64 {
    let of = captured.conditions.unseen.iter().filter(|(name, _)| name.contains(what));
    of.map(|(_, count)| count).sum()
}

fn unseen(answers: &Answers) -> anyhow::Result<()> {
    let entries = Captured::read(answers, "entry-points")?;
    let calls = Captured::read(answers, "calls")?;
    let mut submitted = 0;
    for kind in KINDS {
        for job in SEEN_AT_ENTRY {
            submitted += logged(answers, kind, job)?.len() as u64;
        }
    }
    for (what, entries, calls, wanted) in [
        ("mmap", count(&entries, "mmap"), count(&calls, "mmap"), KINDS.len() as u64),
        (
            "Linux AIO",
            count(&entries, "Linux AIO") + submitted,
            count(&calls, "Linux AIO"),
            submitted,
        ),
        (
            "sync_file_range",
            count(&entries, "sync_file_range"),
            count(&calls, "sync_file_range"),
            24,
        ),
    ] {
        ensure!(
            entries == wanted && calls == wanted,
            "{what}: {entries} and {calls}, not {wanted}"
        );
    }
    Ok(())
}
