//! The file-system layer on ext4, xfs and btrfs: captures at entry points and at calls must equal
//! fio's own log, I/O by I/O.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs::File;
use steadfast_analysis::{Captured, Filter, PassOptions, StreamTable};
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp, Layer};
use steadfast_tracefile::{Batch, Fields, NotRecorded, StreamKey, Trace};

/// The file systems, in the order of their devices.
const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// Jobs captured at entry points and at calls.
const SEEN_BY_BOTH: [&str; 9] = [
    "any", "sequential", "synchronous", "vectored", "direct", "ring", "ring_cached", "ordered",
    "ranges",
];

/// Jobs captured at entry points only: Linux AIO.
const SEEN_AT_ENTRY: [&str; 2] = ["aio", "aio_sync"];

/// Number of appended writes, and bytes of each.
const APPENDED: (u64, u32) = (101, 509);

/// Calls of sync_file_range per file system: after every fifth of 43 writes.
const RANGES: u64 = 8;

/// Number and bytes of writes through overlayfs and of reads by a loop device, on ext4.
const OVERLAID: (u64, u32) = (29, 1000);
const LOOPED: (u64, u32) = (37, 4096);

pub fn guest() -> Guest {
    let drive = |serial| GuestDrive::nvme(serial, Medium::new(384));
    Guest {
        drives: vec![drive("LABFILES1"), drive("LABFILES2"), drive("LABFILES3")],
        cases: vec![
            Case::new("fio did its jobs on all three file systems", fio),
            Case::new("entry points: every I/O once, with offset and bytes", entries),
            Case::new("entry points: direct, synchronous, ended", flags_are_right),
            Case::new("entry points: what the kernel itself asks", kernel),
            Case::new("calls: the same, except Linux AIO", calls),
            Case::new("entry points: steps add up to the same", |a| {
                steps_agree(a, "entry-points", "entry-steps")
            }),
            Case::new("calls: steps add up to the same", |a| steps_agree(a, "calls", "call-steps")),
            Case::new("both count what is not captured", unseen),
            Case::new("entry points where there are any, else calls", chosen),
        ],
        ..Guest::new("files", include_str!("files.sh"), 400)
    }
}

struct CapturedEvents {
    conditions: CaptureConditions,
    events: Vec<IoEvent>,
}

/// An I/O: operation, offset and bytes.
type FileIo = (IoOp, u64, u32);

impl CapturedEvents {
    fn read(answers: &GuestOutput, way: &str) -> anyhow::Result<CapturedEvents> {
        let output = answers.stderr(way)?;
        ensure!(answers.exit_code(way)? == 0, "the capture failed: {output}");
        let trace = Trace::open(File::open(answers.path(&format!("{way}.parquet")))?)?;
        let (mut order, mut batch) = (trace.in_issue_order(Fields::ALL), Batch::default());
        let mut events = Vec::new();
        while order.next_batch(&mut batch)? {
            events.extend((0..batch.len()).map(|row| batch.event(row)));
        }
        let conditions = trace.conditions().clone();
        ensure!(conditions.lost == 0, "some were lost: {output}");
        Ok(CapturedEvents { conditions, events })
    }

    /// Removes spliced reads. Before kernel 6.5 they call the file system like any other read;
    /// since then they are only counted.
    fn without_spliced(mut self, answers: &GuestOutput) -> anyhow::Result<CapturedEvents> {
        for device in 0..FILE_SYSTEMS.len() {
            let inode = inode(answers, device, "spliced")?;
            self.events.retain(|event| (usize::from(event.device), event.inode) != (device, inode));
        }
        Ok(self)
    }

    /// Returns the events on one file.
    fn on(&self, answers: &GuestOutput, device: usize, file: &str) -> anyhow::Result<Vec<IoEvent>> {
        let inode = inode(answers, device, file)?;
        let of = |event: &&IoEvent| usize::from(event.device) == device && event.inode == inode;
        Ok(self.events.iter().filter(of).copied().collect())
    }

    /// Checks that these jobs and the appended file were captured I/O by I/O, and `others` further
    /// events.
    fn check_jobs(&self, answers: &GuestOutput, jobs: &[&str], others: u64) -> anyhow::Result<()> {
        let mut expected = others as usize;
        for (device, kind) in FILE_SYSTEMS.iter().enumerate() {
            for job in jobs {
                let done = fio_log(answers, kind, job)?;
                expected += done.len();
                check_same_ios(&done, &ios(&self.on(answers, device, job)?), kind, job)?;
            }
            let appended = in_order(IoOp::Write, APPENDED);
            expected += appended.len();
            check_same_ios(&appended, &ios(&self.on(answers, device, "log")?), kind, "log")?;
        }
        let found = self.events.len();
        ensure!(found == expected, "{found} events, not {expected}");
        Ok(())
    }
}

/// Returns `count` I/Os of `bytes` bytes each, from the beginning of the file.
fn in_order(op: IoOp, (count, bytes): (u64, u32)) -> Vec<FileIo> {
    (0..count).map(|n| (op, n * u64::from(bytes), bytes)).collect()
}

fn ios(events: &[IoEvent]) -> Vec<FileIo> {
    events.iter().map(|event| (event.op, event.offset, event.bytes)).collect()
}

/// Checks that two lists have the same I/Os, in any order.
fn check_same_ios(
    wanted: &[FileIo],
    found: &[FileIo],
    kind: &str,
    job: &str,
) -> anyhow::Result<()> {
    let mut balance: BTreeMap<FileIo, i64> = BTreeMap::new();
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

fn inode(answers: &GuestOutput, device: usize, file: &str) -> anyhow::Result<u64> {
    let kind = FILE_SYSTEMS[device];
    let list = answers.text(&format!("inodes.{kind}"))?;
    let line = list.lines().find_map(|line| line.strip_prefix(&format!("{file} ")));
    Ok(line.with_context(|| format!("{kind} has no file {file}"))?.trim().parse()?)
}

/// Parses fio's log: `time file operation offset bytes`.
fn fio_log(answers: &GuestOutput, kind: &str, job: &str) -> anyhow::Result<Vec<FileIo>> {
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

fn io(op: IoOp, offset: &str, bytes: &str) -> anyhow::Result<FileIo> {
    Ok((op, offset.parse()?, bytes.parse()?))
}

fn fio(answers: &GuestOutput) -> anyhow::Result<()> {
    for kind in FILE_SYSTEMS {
        answers.ended(&format!("fio.{kind}"), &[0])?;
        let counts = ["any", "aio", "ring"].map(|job| fio_log(answers, kind, job).map(|l| l.len()));
        for (count, wanted) in counts.into_iter().zip([503, 307, 311]) {
            let count = count?;
            ensure!(count == wanted, "{kind}: {count} I/Os in fio's log, not {wanted}");
        }
    }
    Ok(())
}

fn entries(answers: &GuestOutput) -> anyhow::Result<()> {
    let captured = CapturedEvents::read(answers, "entry-points")?.without_spliced(answers)?;
    let source = &captured.conditions.source;
    ensure!(source.contains("entry points of ext4, xfs, btrfs"), "seen with {source}");
    captured.check_jobs(
        answers,
        &[&SEEN_BY_BOTH[..], &SEEN_AT_ENTRY].concat(),
        OVERLAID.0 + LOOPED.0,
    )
}

fn calls(answers: &GuestOutput) -> anyhow::Result<()> {
    CapturedEvents::read(answers, "calls")?.check_jobs(answers, &SEEN_BY_BOTH, 0)
}

/// Checks that a capture of steps has the same streams as a capture of single I/Os, for each file
/// system.
fn steps_agree(answers: &GuestOutput, every: &str, added: &str) -> anyhow::Result<()> {
    let output = answers.stderr(added)?;
    ensure!(answers.exit_code(added)? == 0, "the capture failed: {output}");
    let open =
        |name| anyhow::Ok(Captured::open(File::open(answers.path(&format!("{name}.parquet")))?)?);
    let (every, steps) = (open(every)?, open(added)?);
    ensure!(steps.check_recorded(NotRecorded::SingleIos).is_err(), "it is not a capture of steps");
    ensure!(steps.conditions().lost == 0, "some were lost: {output}");
    for (device, kind) in FILE_SYSTEMS.iter().enumerate() {
        let devices = vec![u16::try_from(device)?];
        let layer = Some(Layer::FileSystem);
        let filter = Filter { devices, layer, ..Filter::default() };
        let pass = PassOptions { filter, ..PassOptions::default() };
        let (wanted, found) = (every.streams(&pass)?.found, steps.streams(&pass)?.found);
        for (key, tally) in wanted.iter().filter(|(_, tally)| tally.count() > 100) {
            let depth = found.get(key).and_then(|found| found.times.depths.mean()).unwrap_or(0.0);
            let known = tally.times.depths.mean().unwrap_or(0.0);
            let near = (depth / known - 1.0).abs() < 0.25;
            ensure!(near, "{kind}, {key}: an average queue depth of {depth}, not {known}");
        }
        let (whole, added) = (in_any_order(&wanted), in_any_order(&found));
        let differ = whole.iter().zip(&added).find(|(one, other)| one != other);
        ensure!(whole == added, "{kind}: {differ:?} differ");
        let (sequential, otherwise) = (sequential(&wanted), sequential(&found));
        let near = sequential.abs_diff(otherwise) <= REORDERED_MAX;
        ensure!(near, "{kind}: {sequential} sequential I/Os, by steps {otherwise}");
        let wanted = listed(&wanted);
        ensure!(wanted.len() > 9, "{kind}: {} streams", wanted.len());
        // All but the first of the ordered reads, eight of which are outstanding at a time.
        let ordered = StreamKey { op: IoOp::Read, sequential: true, bytes: 4096 };
        let ordered =
            wanted.iter().find(|(key, ..)| *key == ordered).map_or(0, |(_, ios, ..)| *ios);
        ensure!(ordered >= 130, "{kind}: {ordered} sequential reads");
    }
    Ok(())
}

/// Number of I/Os that may be sequential in one capture and not in the other: two processors may
/// report their I/Os in an order that differs from that of their clocks.
const REORDERED_MAX: u64 = 4;

/// Returns I/Os, failures and response times by operation and size, regardless of order.
fn in_any_order(streams: &StreamTable) -> BTreeMap<(IoOp, u32), (u64, u64, u64)> {
    let mut all = BTreeMap::new();
    for (key, ios, failed, responses, _) in listed(streams) {
        let sums: &mut (u64, u64, u64) = all.entry((key.op, key.bytes)).or_default();
        *sums = (sums.0 + ios, sums.1 + failed, sums.2 + responses);
    }
    all
}

fn sequential(streams: &StreamTable) -> u64 {
    listed(streams).iter().filter(|(key, ..)| key.sequential).map(|(_, ios, ..)| ios).sum()
}

/// Returns stream, I/Os, failed I/Os, I/Os with a response time, and alignment.
fn listed(streams: &StreamTable) -> Vec<(StreamKey, u64, u64, u64, Option<u64>)> {
    let mut all: Vec<_> = streams
        .iter()
        .map(|(key, tally)| {
            let responses = tally.times.responses.figures().count;
            (key, tally.count(), tally.failed(), responses, tally.alignment())
        })
        .collect();
    all.sort_by_key(|(key, ..)| (key.op, key.sequential, key.bytes));
    all
}

fn kernel(answers: &GuestOutput) -> anyhow::Result<()> {
    let captured = CapturedEvents::read(answers, "entry-points")?;
    let overlaid = captured.on(answers, 0, "laid")?;
    check_same_ios(&in_order(IoOp::Write, OVERLAID), &ios(&overlaid), "ext4", "overlayfs")?;
    let looped = captured.on(answers, 0, "looped")?;
    check_same_ios(&in_order(IoOp::Read, LOOPED), &ios(&looped), "ext4", "loop")?;
    // A read that the drive completes at once returns with its result; the completion of any other
    // is reported to the loop device alone.
    let unknown = |event: &&IoEvent| event.response_ns == RESPONSE_UNKNOWN;
    let of_loop = looped.iter().filter(unknown).count();
    let of_all = captured.events.iter().filter(unknown).count();
    let counted = captured.conditions.in_part.map_or(0, |part| part.unended);
    ensure!(
        of_loop == of_all && counted == of_all as u64,
        "{of_all} I/Os without an end, {of_loop} of them the loop device's; {counted} counted"
    );
    Ok(())
}

fn flags_are_right(answers: &GuestOutput) -> anyhow::Result<()> {
    let captured = CapturedEvents::read(answers, "entry-points")?;
    for (device, kind) in FILE_SYSTEMS.iter().enumerate() {
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
            let is_other =
                |event: &&IoEvent| event.flags != wanted || event.response_ns == RESPONSE_UNKNOWN;
            let other = found.iter().find(is_other);
            ensure!(other.is_none(), "{kind}, {job}: {other:?}");
        }
    }
    Ok(())
}

/// Returns how often a kind of access that is not followed was used, by a part of its description.
fn count(captured: &CapturedEvents, what: &str) -> u64 {
    let of = captured.conditions.unseen.iter().filter(|(name, _)| name.contains(what));
    of.map(|(_, count)| count).sum()
}

fn unseen(answers: &GuestOutput) -> anyhow::Result<()> {
    let entries = CapturedEvents::read(answers, "entry-points")?;
    let calls = CapturedEvents::read(answers, "calls")?;
    let (mut submitted, mut spliced, mut seen) = (0, 0, 0);
    for (device, kind) in FILE_SYSTEMS.iter().enumerate() {
        for job in SEEN_AT_ENTRY {
            submitted += fio_log(answers, kind, job)?.len() as u64;
        }
        spliced += fio_log(answers, kind, "spliced")?.len() as u64;
        seen += entries.on(answers, device, "spliced")?.len() as u64;
    }
    let files = FILE_SYSTEMS.len() as u64;
    for (what, seen, wanted) in [
        ("mmap", 0, files),
        ("Linux AIO", submitted, submitted),
        ("splice", seen, spliced),
        ("sync_file_range", 0, files * RANGES),
    ] {
        let (entries, calls) = (count(&entries, what) + seen, count(&calls, what));
        ensure!(
            entries == wanted && calls == wanted,
            "{what}: {entries} and {calls}, not {wanted}"
        );
    }
    Ok(())
}

fn chosen(answers: &GuestOutput) -> anyhow::Result<()> {
    for (name, code, words) in [
        ("chosen", 0, "Capturing with eBPF, entry points of "),
        ("unmounted", 0, "Caveat: Files are captured at system calls"),
        ("unmounted", 0, "Capturing with eBPF, system calls"),
        ("refused", 1, "no file system of the devices is mounted"),
    ] {
        answers.ended(name, &[code])?;
        let output = answers.stderr(name)?;
        ensure!(output.contains(words), "{name}: not '{words}': {output}");
    }
    Ok(())
}
