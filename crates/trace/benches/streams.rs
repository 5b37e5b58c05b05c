//! How quickly a trace is written and folded into I/O streams, and how much
//! memory that takes: `cargo bench -p steadfast-trace --bench streams -- 10 100`
//! for 10 and 100 million I/Os of a made-up server.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;
use steadfast_domain::IoEvent;
use steadfast_trace::steps::Steps;
use steadfast_trace::{Fold, Pass, StreamTable, Trace, Writer};
use synthetic::{SECOND, Server, by_completion, conditions};

/// I/Os that are put in the order of completion at once.
const STRIDE: usize = 1 << 18;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let asked: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let millions = if asked.is_empty() { vec![10] } else { asked };
    let directory = tempfile::tempdir()?;
    for millions in millions {
        let path = directory.path().join("server.parquet");
        write(&path, millions)?;
        let streams = fold("streams", &path, &mut StreamTable::new())?;
        let steps = fold("steps of 1 s", &path, &mut Steps::new(SECOND))?;
        assert_eq!(streams, steps);
        println!("  peak memory {} MB", peak_memory_mb());
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

fn write(path: &Path, millions: u64) -> Fallible<()> {
    let rate = 100_000;
    let seconds = millions * 1_000_000 / rate;
    let mut server = Server::new(seconds, rate);
    let file = BufWriter::new(File::create(path)?);
    let mut writer = Writer::new(file, &conditions(seconds))?;
    let mut spent = 0;
    loop {
        let events: Vec<IoEvent> = by_completion(server.by_ref().take(STRIDE));
        if events.is_empty() {
            break;
        }
        let begin = processor_ns();
        writer.write(&events)?;
        spent += processor_ns() - begin;
    }
    let rows = writer.rows();
    let begin = processor_ns();
    writer.finish(conditions(seconds))?;
    spent += processor_ns() - begin;
    let bytes = std::fs::metadata(path)?.len();
    println!(
        "{rows} I/Os: written in {:.0} ns each, {:.1} bytes each, {} MB",
        spent as f64 / rows as f64,
        bytes as f64 / rows as f64,
        bytes / 1_000_000
    );
    Ok(())
}

fn fold(name: &str, path: &Path, fold: &mut dyn Fold) -> Fallible<u64> {
    let trace = Trace::open(File::open(path)?)?;
    let (begin, processor) = (Instant::now(), processor_ns());
    let account = Pass::default().run(&trace, &mut [fold])?;
    let spent = (processor_ns() - processor) as f64 / 1e9;
    println!(
        "  {name}: {:.1} million I/Os per second of processor time ({spent:.2} s, {:.2} s by the clock)",
        account.events as f64 / spent / 1e6,
        begin.elapsed().as_secs_f64()
    );
    Ok(account.kept)
}

/// Processor time of this thread, from the kernel: the clock alone would count
/// whatever else the machine does.
fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The most memory that this process ever held, from the kernel.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
