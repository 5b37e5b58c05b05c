//! What a capture costs: time per I/O in the kernel and in the capturing
//! thread, Parquet included, and what the server loses by it, in pairs of runs
//! with and without a capture. Prints a Markdown table of medians.
//!
//! `cargo bench -p steadfast-capture --features ebpf --bench cost [-- --pairs N]`.
//! Needs root, zram and 1 GiB of free memory. The kernel's time is what it
//! measures itself (bpf_stats), which itself costs some ten nanoseconds a run.
#![allow(clippy::print_stdout, reason = "its table is what it is for")]

mod load;

use load::{Device, Load, Loaded};
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, Counters, Options};
use steadfast_domain::{CaptureConditions, IoEvent, Layer};
use steadfast_trace::{StepWriter, Writer};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Pairs of runs behind every median, where the command does not say.
const PAIRS: usize = 5;

/// One line of the table.
struct Point {
    name: &'static str,
    load: Load,
    steps: bool,
}

/// One run with a capture.
struct Captured {
    loaded: Loaded,
    counters: Counters,
    ios: u64,
    user_ns: u64,
    file_bytes: u64,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = arguments.iter().position(|word| word == "--pairs");
    let pairs = asked.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(PAIRS);
    let (zram, looped) = (Device::zram()?, Device::looped()?);
    println!(
        "| device, load | capture of | IOPS without | with | loss % | p99 us without | with | \
         kernel ns/I/O | user ns/I/O | bytes/I/O | lost |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, device) in [("zram", &zram), ("loop", &looped)] {
        for point in points() {
            println!("| {name}, {} |{}", point.name, line(device, &point, pairs)?);
        }
    }
    Ok(())
}

fn points() -> Vec<Point> {
    let paced = Load { threads: 1, rate: Some(50_000), time: Duration::from_secs(2) };
    let full = |threads| Load { threads, rate: None, time: Duration::from_secs(1) };
    let point = |name, load, steps| Point { name, load, steps };
    vec![
        point("50 k a second", paced, false),
        point("50 k a second", paced, true),
        point("full, 1 thread", full(1), false),
        point("full, 2 threads", full(2), false),
        point("full, 2 threads", full(2), true),
    ]
}

fn line(device: &Device, point: &Point, pairs: usize) -> Outcome<String> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        without.push(point.load.apply(device));
        with.push(captured(device, point)?);
    }
    let iops = (median(&without, |run| run.iops), median(&with, |run| run.loaded.iops));
    let p99 = (median(&without, |run| run.p99_us), median(&with, |run| run.loaded.p99_us));
    let per_io = |value: fn(&Captured) -> u64| {
        median(&with, |run| value(run) as f64 / run.ios.max(1) as f64)
    };
    Ok(format!(
        " {} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} | {:.1} | {:.0} |",
        if point.steps { "steps of 1 s" } else { "every I/O" },
        iops.0,
        iops.1,
        (1.0 - iops.1 / iops.0) * 100.0,
        p99.0,
        p99.1,
        per_io(|run| run.counters.kernel_ns.unwrap_or(0)),
        per_io(|run| run.user_ns),
        per_io(|run| run.file_bytes),
        median(&with, |run| run.counters.lost as f64),
    ))
}

fn median<T>(runs: &[T], value: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The load with a capture beside it.
fn captured(device: &Device, point: &Point) -> Outcome<Captured> {
    let step_ns = point.steps.then_some(1_000_000_000);
    let options = Options {
        devices: vec![device.listened()],
        layers: vec![Layer::Block],
        process: None,
        commands: true,
        step_ns,
        ring_bytes: 16 << 20,
        source: None,
        files: None,
    };
    let mut capture = Capture::begin(&options)?;
    let (stop, before) = (AtomicBool::new(false), load::thread_time_ns());
    let (loaded, written) = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let loaded = point.load.apply(device);
            stop.store(true, Ordering::Relaxed);
            loaded
        });
        let written = match step_ns {
            None => write_ios(&mut capture, &stop),
            Some(_) => write_steps(&mut capture, &stop, step_ns),
        };
        (load.join(), written)
    });
    let user_ns = load::thread_time_ns() - before;
    let loaded = loaded.map_err(|_| "the load panicked")?;
    let (ios, file_bytes) = written?;
    Ok(Captured { loaded, counters: capture.counters()?, ios, user_ns, file_bytes })
}

/// I/Os, and bytes of the file.
type Written = Outcome<(u64, u64)>;

fn write_ios(capture: &mut Capture, stop: &AtomicBool) -> Written {
    let conditions = CaptureConditions::default();
    let mut writer = Writer::new(BufWriter::new(tempfile::tempfile()?), &conditions)?;
    let mut events: Vec<IoEvent> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        events.clear();
        capture.take(&mut events)?;
        writer.write(&events)?;
    }
    events.clear();
    capture.end(&mut events)?;
    writer.write(&events)?;
    let ios = writer.rows();
    finished(ios, writer.finish(conditions)?)
}

fn write_steps(capture: &mut Capture, stop: &AtomicBool, step_ns: Option<u64>) -> Written {
    let conditions = CaptureConditions { step_ns, ..CaptureConditions::default() };
    let mut writer = StepWriter::new(BufWriter::new(tempfile::tempfile()?), &conditions)?;
    let (mut parts, mut taken) = (Vec::new(), Instant::now());
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if taken.elapsed() >= Duration::from_secs(1) {
            taken = Instant::now();
            capture.take_steps(&mut parts)?;
        }
    }
    capture.end(&mut Vec::new())?;
    capture.take_steps(&mut parts)?;
    writer.add(&parts);
    let ios = parts.iter().map(|part| part.ios).sum();
    finished(ios, writer.finish(&conditions)?)
}

fn finished(ios: u64, file: BufWriter<File>) -> Written {
    let file = file.into_inner()?;
    Ok((ios, file.metadata()?.len()))
}
