//! How quickly an index is made, how large it is, what memory that takes, and how long
//! each kind of question takes at several zooms: `cargo bench -p steadfast-explorer
//! --bench explore -- 10 100` for 10 and 100 million I/Os of a made-up server, or with
//! the path of a trace file.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../../trace/tests/synthetic/mod.rs"]
mod synthetic;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_domain::IoEvent;
use steadfast_explorer::answers::answer;
use steadfast_explorer::capture::{Capture, open_all};
use steadfast_explorer::query::Query;
use steadfast_trace::Writer;
use synthetic::{Server, by_completion, conditions};

/// I/Os that are put in the order of completion at once.
const STRIDE: usize = 1 << 18;
/// Windows of each width that are asked for.
const WINDOWS: u64 = 20;

const QUESTIONS: [&str; 10] = [
    "series?by=stream&cells=1024",
    "series?by=process&cells=1024",
    "heat?kind=rt&cells=512&rows=64",
    "heat?kind=lba&cells=512&rows=128",
    "heat?kind=subsecond&cells=512&rows=50",
    "streams?",
    "processes?",
    "steps?",
    "hot?",
    "ios?limit=200",
];

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let mut asked: Vec<String> = words.collect();
    if asked.is_empty() {
        asked.push("10".into());
    }
    for word in asked {
        let directory = tempfile::tempdir()?;
        let path = match word.parse() {
            Ok(millions) => written(directory.path(), millions)?,
            Err(_) => PathBuf::from(word),
        };
        let capture = indexed(&path, &directory.path().join("cache"))?;
        // Each question in windows from the whole capture down to a thousandth.
        for part in [1, 4, 16, 64, 1000] {
            zoomed(&capture, part)?;
        }
        println!("  peak memory {} MB", peak_memory_mb());
    }
    Ok(())
}

fn written(directory: &Path, millions: u64) -> Fallible<PathBuf> {
    let (path, rate) = (directory.join("server.parquet"), 100_000);
    let seconds = millions * 1_000_000 / rate;
    let mut server = Server::new(seconds, rate);
    let mut writer = Writer::new(BufWriter::new(File::create(&path)?), &conditions(seconds))?;
    loop {
        let events: Vec<IoEvent> = by_completion(server.by_ref().take(STRIDE));
        if events.is_empty() {
            break;
        }
        writer.write(&events)?;
    }
    writer.finish(conditions(seconds))?;
    Ok(path)
}

fn indexed(path: &Path, cache: &Path) -> Fallible<Capture> {
    let capture = open_all(&[path.to_owned()])?.remove(0);
    let begin = Instant::now();
    capture.prepare(Some(cache));
    let took = begin.elapsed();
    let index = capture.index()?;
    let bytes = capture.made().and_then(|made| made.bytes).unwrap_or(0);
    println!(
        "{} I/Os: index in {:.2} s, {:.1} M I/Os/s, {:.1} MB; peak memory {} MB",
        index.events,
        took.as_secs_f64(),
        index.events as f64 / took.as_secs_f64() / 1e6,
        bytes as f64 / 1e6,
        peak_memory_mb()
    );
    let begin = Instant::now();
    let again = open_all(&[path.to_owned()])?.remove(0);
    again.prepare(Some(cache));
    println!("  from the cache in {:.2} s", begin.elapsed().as_secs_f64());
    Ok(capture)
}

fn zoomed(capture: &Capture, part: u64) -> Fallible<()> {
    let end = capture.index()?.end_ns;
    let width = end / part;
    let count = if part == 1 { 1 } else { WINDOWS };
    for question in QUESTIONS {
        let mut times: Vec<Duration> = Vec::new();
        for window in 0..count {
            // Windows begin where no cell and no stretch does.
            let from = (end - width) / count.max(2) * window + window * 104_729;
            let to = (from + width).min(end);
            let (what, query) = question.split_once('?').unwrap_or((question, ""));
            let query = Query::parse(&format!("{query}&from={from}&to={to}"))?;
            let begin = Instant::now();
            answer(capture, what, &query)?;
            times.push(begin.elapsed());
        }
        times.sort();
        let p95 = times[(times.len() * 95).div_ceil(100) - 1];
        let median = times[times.len() / 2];
        println!(
            "  1/{part:<5} {question:40} median {:7.1} ms, p95 {:7.1} ms",
            median.as_secs_f64() * 1e3,
            p95.as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// The most memory that this process had so far.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
