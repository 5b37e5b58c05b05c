//! Measures how quickly a trace is written and folded into I/O streams, and the memory that this
//! takes: `cargo bench -p steadfast-analysis --bench streams -- 10 100` for 10 and 100 million I/Os
//! of a made-up server. If a path is given too, the file is kept there, and the questions of the
//! commands are timed with one thread and with all (`all`: only with all); an existing file is
//! measured as it is. `many` writes as many streams as are counted separately. `streams`, `map`,
//! `derive`, `study` or `steps` (a million of them) measures only that question, so that the peak
//! memory is its own.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "drives/mod.rs"]
mod drives;
#[path = "../tests/scoped_threads/mod.rs"]
mod scoped_threads;
#[path = "../tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "made for other measurements too")]
mod synthetic;
#[path = "usage/mod.rs"]
mod usage;

use drives::PacedDrives;
use scoped_threads::Threads;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use steadfast_analysis::questions::steps::Steps;
use steadfast_analysis::{
    Captured, Derivation, Fold, PassOptions, StreamTable, Study, StudyOptions,
};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{IoEvent, IoOp};
use steadfast_tracefile::{Trace, TraceWriter};
use synthetic::{SECOND, SyntheticServer, by_completion, conditions};
use usage::{peak_memory_mb, process_seconds};

/// I/Os that are sorted by completion at once.
const SORTED_AT_ONCE: usize = 1 << 18;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut millions: Vec<u64> =
        std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if millions.is_empty() {
        millions.push(10);
    }
    let path = std::env::args().skip(1).find(|word| word.contains('/'));
    if let Some(path) = path.as_deref().map(Path::new) {
        if !path.exists() {
            write(path, millions[0])?;
        }
        return time_questions(path);
    }
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

/// Times the questions of `trace streams`, `trace map`, `workload derive` and `trace report`.
fn time_questions(path: &Path) -> Fallible<()> {
    let all = std::thread::available_parallelism()?.get();
    let threads: Vec<usize> =
        if std::env::args().any(|word| word == "all") { vec![all] } else { vec![1, all] };
    let (pass, options) = (PassOptions::default(), StudyOptions::default());
    for threads in threads {
        let captured =
            Captured::open(File::open(path)?)?.with_thread_pool(Arc::new(Threads(threads)));
        println!("{threads} threads");
        timed("streams", || Ok(captured.streams(&pass)?.account.kept))?;
        timed("map", || {
            Ok(captured.map(&pass, None, options.by, options.threshold)?.account.kept)
        })?;
        timed("derive", || Ok(Derivation::read(&captured, &options, false)?.totals.account.kept))?;
        timed("study", || Ok(Study::read(&captured, &options)?.totals.account.kept))?;
        if is_asked("steps") {
            let (from, to) = captured.span_ns(&pass)?;
            let width_ns = (to - from) / 1_000_000;
            timed("steps", || Ok(captured.steps(&pass, Some(width_ns))?.account.kept))?;
        }
    }
    Ok(())
}

/// Questions that can be measured alone.
const QUESTIONS: [&str; 5] = ["streams", "map", "derive", "study", "steps"];

fn is_asked(question: &str) -> bool {
    std::env::args().any(|word| word == question)
}

fn timed(name: &str, ask: impl FnOnce() -> Fallible<u64>) -> Fallible<()> {
    if QUESTIONS.into_iter().any(is_asked) && !is_asked(name) {
        return Ok(());
    }
    let (begin, processor) = (Instant::now(), process_seconds());
    let ios = ask()?;
    let seconds = begin.elapsed().as_secs_f64();
    let processor = process_seconds() - processor;
    let peak = peak_memory_mb();
    println!(
        "  {name}: {ios} I/Os in {seconds:.2} s, processors {processor:.2} s, peak memory so far \
         {peak} MB"
    );
    Ok(())
}

fn write(path: &Path, millions: u64) -> Fallible<()> {
    let rate = 100_000;
    let seconds = millions * 1_000_000 / rate;
    let mut server = SyntheticServer::new(seconds, rate).map(PacedDrives::default().serving());
    let file = BufWriter::new(File::create(path)?);
    let mut writer = TraceWriter::new(file, &conditions(seconds))?;
    let mut spent = 0;
    loop {
        let mut events: Vec<IoEvent> = by_completion(server.by_ref().take(SORTED_AT_ONCE));
        if is_asked("many") {
            events.iter_mut().for_each(into_many_streams);
        }
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

/// Changes an I/O to one of 32,768 pairs of size and operation.
fn into_many_streams(event: &mut IoEvent) {
    let number = mix64(event.issued_ns);
    event.op = if number & 1 == 0 { IoOp::Read } else { IoOp::Write };
    event.bytes = 512 * (1 + (number >> 1 & 0x3fff) as u32);
}

fn fold(name: &str, path: &Path, fold: &mut dyn Fold) -> Fallible<u64> {
    let trace = Trace::open(File::open(path)?)?;
    let (begin, processor) = (Instant::now(), processor_ns());
    let account = PassOptions::default().run(&trace, &mut [fold])?;
    let spent = (processor_ns() - processor) as f64 / 1e9;
    println!(
        "  {name}: {:.1} million I/Os per second of processor time ({spent:.2} s, {:.2} s by the clock)",
        account.events as f64 / spent / 1e6,
        begin.elapsed().as_secs_f64()
    );
    Ok(account.kept)
}

/// Returns the processor time of this thread. The clock would also count other processes.
fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}
