//! Measures how quickly a blktrace recording is imported, compared with blkparse and btt on the
//! same recording: `cargo bench -p steadfast-analysis --bench import -- 3` for 3 million I/Os,
//! which are 15 million raw events.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "made for other measurements too")]
mod synthetic;
#[path = "usage/mod.rs"]
mod usage;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use steadfast_analysis::StreamTable;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_tracefile::import::{ImportInput, TraceFormat, import};
use steadfast_tracefile::{Trace, TraceWriter};
use synthetic::SyntheticServer;
use usage::{peak_memory_mb, seconds_with_children};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const PROCESSORS: usize = 2;
/// blktrace's actions before completion: queued, got a request, inserted, issued.
const ACTIONS: [u32; 4] = [1, 4, 9, 7];
const COMPLETED: u32 = 8;
const RATE: u64 = 100_000;

fn main() -> Fallible<()> {
    let millions = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let ios: u64 = millions.unwrap_or(1) * 1_000_000;
    let directory = tempfile::tempdir()?;
    let base = directory.path().join("server");
    let events = record(&base, ios)?;
    println!("{ios} I/Os, {events} raw events, files of {PROCESSORS} processors");
    measure("import", events, || imported(&base, &directory.path().join("t.parquet")))?;
    measure("import, nothing written", events, || {
        import(&TraceFormat::Blktrace, inputs(&base)?, &mut |_| Ok(()))?;
        Ok(())
    })?;
    measure("stream table of the imported trace", events, || {
        let trace = Trace::open(File::open(directory.path().join("t.parquet"))?)?;
        let mut streams = StreamTable::new();
        steadfast_analysis::PassOptions::default().run(&trace, &mut [&mut streams])?;
        Ok(())
    })?;
    println!("  peak memory {} MB", peak_memory_mb());
    let text = ["-q", "-i", "server", "-o", "/dev/null"];
    measure("blkparse", events, || peer(&directory, "blkparse", &text))?;
    let merged = ["-q", "-i", "server", "-O", "-d", "server.bin"];
    measure("blkparse, merging for btt", events, || peer(&directory, "blkparse", &merged))?;
    measure("btt", events, || peer(&directory, "btt", &["-i", "server.bin"]))
}

fn measure(name: &str, events: u64, work: impl FnOnce() -> Fallible<()>) -> Fallible<()> {
    let (begin, processor) = (Instant::now(), seconds_with_children());
    if let Err(error) = work() {
        println!("  {name}: not measured: {error}");
        return Ok(());
    }
    let clock = begin.elapsed().as_secs_f64();
    let spent = seconds_with_children() - processor;
    println!(
        "  {name}: {:.2} million raw events per second by the clock ({clock:.2} s, {spent:.2} s of processors)",
        events as f64 / clock / 1e6
    );
    Ok(())
}

fn file(base: &Path, processor: usize) -> PathBuf {
    base.with_extension(format!("blktrace.{processor}"))
}

fn inputs(base: &Path) -> Fallible<Vec<ImportInput<'static>>> {
    let input = |processor| -> Fallible<ImportInput<'static>> {
        let path = file(base, processor);
        let content = Box::new(File::open(&path)?);
        Ok(ImportInput { name: path.display().to_string(), content })
    };
    (0..PROCESSORS).map(input).collect()
}

fn imported(base: &Path, to: &Path) -> Fallible<()> {
    let conditions = CaptureConditions::default();
    let mut writer = TraceWriter::new(BufWriter::new(File::create(to)?), &conditions)?;
    let mut waiting = Vec::with_capacity(4096);
    let imported = import(&TraceFormat::Blktrace, inputs(base)?, &mut |event| {
        waiting.push(*event);
        if waiting.len() == waiting.capacity() {
            writer.write(&waiting)?;
            waiting.clear();
        }
        Ok(())
    })?;
    writer.write(&waiting)?;
    writer.finish(imported.conditions)?;
    Ok(())
}

fn peer(directory: &tempfile::TempDir, program: &str, arguments: &[&str]) -> Fallible<()> {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{program} failed: {status}").into()) }
}

/// Writes the files of blktrace: all actions of every I/O, in order of time, in the file of the
/// processor that issued it. Returns the number of actions.
fn record(base: &Path, ios: u64) -> Fallible<u64> {
    let mut files = Vec::new();
    for processor in 0..PROCESSORS {
        files.push(BufWriter::new(File::create(file(base, processor))?));
    }
    // Records that are later than the I/Os seen so far.
    let mut later: BinaryHeap<Reverse<(u64, usize, [u8; 48])>> = BinaryHeap::new();
    let mut events = SyntheticServer::new(ios / RATE, RATE).filter(|event| event.op != IoOp::Flush);
    let mut count = 0;
    loop {
        let event = events.next();
        let now = event.map_or(u64::MAX, |event| event.issued_ns);
        while later.peek().is_some_and(|Reverse((time, ..))| *time < now) {
            let Some(Reverse((_, processor, record))) = later.pop() else { break };
            files[processor].write_all(&record)?;
            count += 1;
        }
        let Some(event) = event else { break };
        let actions = (event.issued_ns..).zip(ACTIONS);
        let end = (event.issued_ns + ACTIONS.len() as u64 + event.response_ns, COMPLETED);
        let processor = usize::from(event.cpu) % PROCESSORS;
        later.extend(actions.chain([end]).map(|(time, action)| {
            Reverse((time, processor, bytes(time, action, &event, processor as u32)))
        }));
    }
    files.iter_mut().try_for_each(Write::flush)?;
    Ok(count)
}

fn bytes(time: u64, action: u32, event: &IoEvent, processor: u32) -> [u8; 48] {
    let direction = if event.op == IoOp::Read { 1 } else { 2 };
    let mut record = [0; 48];
    record[0..4].copy_from_slice(&0x6561_7407u32.to_le_bytes());
    record[8..16].copy_from_slice(&time.to_le_bytes());
    record[16..24].copy_from_slice(&(event.offset / 512).to_le_bytes());
    record[24..28].copy_from_slice(&event.bytes.to_le_bytes());
    record[28..32].copy_from_slice(&(action | direction << 16).to_le_bytes());
    record[32..36].copy_from_slice(&event.pid.to_le_bytes());
    record[36..40].copy_from_slice(&(259 << 20 | u32::from(event.device)).to_le_bytes());
    record[40..44].copy_from_slice(&processor.to_le_bytes());
    record
}
