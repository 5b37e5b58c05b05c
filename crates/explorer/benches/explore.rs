//! Measures the time and memory of building an index, its size, and the time of each kind of
//! question at several zooms: `cargo bench -p steadfast-explorer --bench explore -- 10 100` for 10
//! and 100 million I/Os of a made-up server. Instead of a number, give the path of a trace file, or
//! `100=FILE`, which creates the file if it is missing and leaves it. `zoom=64` measures only windows
//! of a 64th of the capture, `zoom=0` none; `cache=DIRECTORY` keeps the index there.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../../analysis/benches/drives/mod.rs"]
mod drives;
#[path = "../../analysis/tests/scoped_threads/mod.rs"]
mod scoped_threads;
#[path = "../../analysis/tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "made for other measurements too")]
mod synthetic;
#[path = "../../analysis/benches/usage/mod.rs"]
mod usage;

use drives::PacedDrives;
use scoped_threads::Threads;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steadfast_analysis::ThreadPool;
use steadfast_domain::IoEvent;
use steadfast_explorer::answers::answer;
use steadfast_explorer::cache::IndexStore;
use steadfast_explorer::capture::{ExploredCapture, open_all};
use steadfast_explorer::query::QueryString;
use steadfast_tracefile::TraceWriter;
use synthetic::{SyntheticServer, by_completion, conditions};
use usage::{peak_memory_mb, process_seconds};

/// I/Os that are sorted by completion at once.
const SORTED_AT_ONCE: usize = 1 << 18;
/// Number of windows of each width.
const WINDOWS: u64 = 20;

const QUESTIONS: [&str; 10] = [
    "series?by=stream&cells=1024", "series?by=process&cells=1024",
    "heat?kind=rt&cells=512&rows=64", "heat?kind=lba&cells=512&rows=128",
    "heat?kind=subsecond&cells=512&rows=50", "streams?", "processes?", "steps?", "hot?",
    "ios?limit=200",
];

fn thread_pool() -> Arc<dyn ThreadPool> {
    Arc::new(Threads(std::thread::available_parallelism().map_or(1, usize::from)))
}

const FILTERS: [&str; 4] = ["", "&op=write", "&process=pg_basebackup", "&stream=RND%208K%20R"];

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Windows, as a part of the capture: 1 is the whole.
const ZOOMS: [u64; 6] = [1, 4, 16, 64, 256, 1000];

fn main() -> Fallible<()> {
    // The program sets this for itself too.
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let mut restarted = Command::new(std::env::current_exe()?);
        restarted.args(std::env::args_os().skip(1)).env("MALLOC_ARENA_MAX", "1");
        return Err(restarted.exec().into());
    }
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let (mut captures, mut zooms, mut cache) = (Vec::new(), Vec::new(), None);
    for word in words {
        match word.split_once('=') {
            Some(("zoom", part)) => zooms.push(part.parse()?),
            Some(("cache", directory)) => cache = Some(PathBuf::from(directory)),
            _ => captures.push(word),
        }
    }
    if captures.is_empty() {
        captures.push("10".into());
    }
    let zooms = if zooms.is_empty() { ZOOMS.to_vec() } else { zooms };
    for word in captures {
        let directory = tempfile::tempdir()?;
        let path = trace(&word, directory.path())?;
        let cache = cache.clone().unwrap_or_else(|| directory.path().join("cache"));
        let capture = indexed(&path, &cache)?;
        // Each question in windows from the whole capture down to a thousandth.
        for part in zooms.iter().filter(|part| **part > 0) {
            zoomed(&capture, *part)?;
        }
        println!("  peak memory of the questions {} MB", peak_memory_mb());
    }
    Ok(())
}

/// Returns the path of an existing trace, or of a made-up one.
fn trace(word: &str, directory: &Path) -> Fallible<PathBuf> {
    let (size, path) = match word.split_once('=') {
        Some((size, path)) => (size, PathBuf::from(path)),
        None => (word, directory.join("server.parquet")),
    };
    match size.parse() {
        Ok(millions) if !path.exists() => write(&path, millions)?,
        Ok(_) => {}
        Err(_) => return Ok(PathBuf::from(word)),
    }
    Ok(path)
}

fn write(path: &Path, millions: u64) -> Fallible<()> {
    let rate = 20_000;
    let seconds = millions * 1_000_000 / rate;
    let mut server = SyntheticServer::new(seconds, rate).map(PacedDrives::default().serving());
    let mut writer = TraceWriter::new(BufWriter::new(File::create(path)?), &conditions(seconds))?;
    loop {
        // On one device, because questions about addresses are about one.
        let events = server.by_ref().take(SORTED_AT_ONCE);
        let events = by_completion(events.map(|event| IoEvent { device: 0, ..event }));
        if events.is_empty() {
            break;
        }
        writer.write(&events)?;
    }
    writer.finish(conditions(seconds))?;
    Ok(())
}

struct BenchStore<'a>(&'a Path);

impl IndexStore for BenchStore<'_> {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.join(name)).ok()
    }
    fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        std::fs::create_dir_all(self.0)?;
        std::fs::write(self.0.join(name), content)
    }
}

fn indexed(path: &Path, cache: &Path) -> Fallible<ExploredCapture> {
    let capture = open_all(&[path.to_owned()], Some(&thread_pool()))?.remove(0);
    let (begin, processor) = (Instant::now(), process_seconds());
    capture.prepare(Some(&BenchStore(cache)));
    let (all, processor) = (begin.elapsed(), process_seconds() - processor);
    let index = capture.index()?;
    let took = capture.origin().map_or(all, |origin| origin.took);
    let bytes = capture.origin().and_then(|origin| origin.bytes).unwrap_or(0);
    println!(
        "{} I/Os: index in {:.2} s ({:.2} s until it is kept, processors {processor:.2} s), \
         {:.1} M I/Os/s, {:.1} MB; peak memory {} MB",
        index.events,
        took.as_secs_f64(),
        all.as_secs_f64(),
        index.events as f64 / took.as_secs_f64() / 1e6,
        bytes as f64 / 1e6,
        peak_memory_mb()
    );
    // The questions are answered as after a second start, with the index from the cache.
    drop((index, capture));
    reset_peak_memory();
    let begin = Instant::now();
    let reopened = open_all(&[path.to_owned()], Some(&thread_pool()))?.remove(0);
    reopened.prepare(Some(&BenchStore(cache)));
    let took = begin.elapsed().as_secs_f64();
    println!("  from the cache in {took:.2} s; peak memory {} MB", peak_memory_mb());
    reset_peak_memory();
    Ok(reopened)
}

fn zoomed(capture: &ExploredCapture, part: u64) -> Fallible<()> {
    for filter in FILTERS {
        let count = if part == 1 { 1 } else { WINDOWS };
        for question in QUESTIONS {
            let mut times: Vec<Duration> = Vec::new();
            for window in 0..count {
                let question = format!("{question}{filter}");
                times.push(time_question(capture, &question, part, window, count)?);
            }
            times.sort();
            let p95 = times[(times.len() * 95).div_ceil(100) - 1].as_secs_f64() * 1e3;
            let median = times[times.len() / 2].as_secs_f64() * 1e3;
            println!(
                "  1/{part:<5} {question:40}{filter:24} median {median:7.1} ms, p95 {p95:7.1} ms"
            );
        }
    }
    Ok(())
}

/// Returns the time that a question takes in one of `count` windows.
fn time_question(
    capture: &ExploredCapture,
    question: &str,
    part: u64,
    window: u64,
    count: u64,
) -> Fallible<Duration> {
    let end = capture.index()?.end_ns;
    let width = end / part;
    // Windows do not begin with a cell or a segment.
    let from = (end - width) / count.max(2) * window + window * 104_729;
    let to = (from + width).min(end);
    let (what, query) = question.split_once('?').unwrap_or((question, ""));
    let query = QueryString::parse(&format!("{query}&from={from}&to={to}"))?;
    let begin = Instant::now();
    answer(capture, what, &query)?;
    Ok(begin.elapsed())
}

/// Resets the peak memory of the process. If the system does not permit it, the peak is that since
/// the start.
fn reset_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
