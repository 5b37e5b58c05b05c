//! Cost of a capture: time per I/O in the kernel and in the capturing thread, Parquet included, and
//! the loss of IOPS on the server, in pairs of runs with and without a capture; then compared with
//! bpftrace recording the same fields. Prints Markdown tables of medians.
//!
//! `cargo bench -p steadfast-capture --features ebpf --bench cost [-- --pairs N] [TABLE]`, with the
//! tables `capture` and `bpftrace`. Needs root, zram and 1 GiB of free memory. Kernel time is
//! measured by the kernel (bpf_stats), which costs some ten nanoseconds per run itself.
#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

mod bpftrace;
mod load;
mod ours;
#[path = "../../testing/scratch_device.rs"]
mod scratch_device;

use bpftrace::BpftraceOutput;
use load::{CostLoad, CostLoadResult, filled_loop_device, filled_zram};
use scratch_device::ScratchDevice;
use std::time::Duration;

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Default number of pairs of runs per median.
const PAIRS: usize = 5;

/// Size of the buffer between kernel and reader.
const RING_BYTES: u32 = 16 << 20;

/// A run of a load and its recording.
#[derive(Default)]
pub struct CostRun {
    /// Results of the load.
    pub loaded: CostLoadResult,
    /// Time spent in the probes in the kernel.
    pub kernel_ns: u64,
    /// Processor time of the recorder.
    pub user_ns: u64,
    /// I/Os of the load that were recorded.
    pub recorded: u64,
    /// Length of the recording.
    pub file_bytes: u64,
    /// I/Os that the recorder reports as lost.
    pub reported_lost: u64,
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let option = arguments.iter().position(|word| word == "--pairs");
    let pairs = option.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(PAIRS);
    let named = |table: &str| arguments.iter().any(|word| word == table);
    let (zram, loop_device) = (filled_zram()?, filled_loop_device()?);
    if !named("bpftrace") {
        with_and_without(&zram, &loop_device, pairs)?;
    }
    if named("capture") {
        return Ok(());
    }
    println!();
    if bpftrace::is_installed() {
        with_bpftrace(&zram, &loop_device, pairs)
    } else {
        println!(
            "comparison with bpftrace skipped: bpftrace is not installed (scripts/tools bench)"
        );
        Ok(())
    }
}

/// A row of the first table.
struct CostPoint {
    name: &'static str,
    load: CostLoad,
    data: CapturedData,
}

/// What a capture keeps of the I/Os.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CapturedData {
    /// Every I/O.
    Ios,
    /// Sums of steps of 1 s.
    Steps,
    /// Sums of steps of 1 s, and 1,000 LBA ranges.
    Ranges,
}

fn with_and_without(
    zram: &ScratchDevice,
    loop_device: &ScratchDevice,
    pairs: usize,
) -> Fallible<()> {
    println!(
        "| device, load | capture of | IOPS without | with | loss % | p99 us without | with | \
         kernel ns/I/O | user ns/I/O | bytes/I/O | lost |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, device) in [("zram", zram), ("loop", loop_device)] {
        for point in points() {
            println!("| {name}, {} |{}", point.name, line(device, &point, pairs)?);
        }
    }
    Ok(())
}

fn paced(rate: u64) -> CostLoad {
    CostLoad { threads: 1, rate: Some(rate), time: Duration::from_secs(2) }
}

fn full(threads: u64) -> CostLoad {
    CostLoad { threads, rate: None, time: Duration::from_secs(1) }
}

fn points() -> Vec<CostPoint> {
    let point = |name, load, data| CostPoint { name, load, data };
    vec![
        point("50 k a second", paced(50_000), CapturedData::Ios),
        point("50 k a second", paced(50_000), CapturedData::Steps),
        point("50 k a second", paced(50_000), CapturedData::Ranges),
        point("full, 1 thread", full(1), CapturedData::Ios),
        point("full, 2 threads", full(2), CapturedData::Ios),
        point("full, 2 threads", full(2), CapturedData::Steps),
        point("full, 2 threads", full(2), CapturedData::Ranges),
    ]
}

fn line(device: &ScratchDevice, point: &CostPoint, pairs: usize) -> Fallible<String> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        without.push(alone(device, &point.load)?);
        with.push(ours::run(device, &point.load, point.data)?);
    }
    let (without, with) = (CostMedian::new(&without), CostMedian::new(&with));
    Ok(format!(
        " {} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} | {:.1} | {:.0} |",
        match point.data {
            CapturedData::Ios => "every I/O",
            CapturedData::Steps => "steps of 1 s",
            CapturedData::Ranges => "steps of 1 s, LBA ranges",
        },
        without.iops,
        with.iops,
        with.loss(&without),
        without.p99_us,
        with.p99_us,
        with.kernel_ns,
        with.user_ns,
        with.bytes,
        with.reported_lost,
    ))
}

fn alone(device: &ScratchDevice, load: &CostLoad) -> Fallible<CostRun> {
    Ok(CostRun { loaded: load.apply(device), ..CostRun::default() })
}

/// Medians of several runs; times and bytes are per I/O.
struct CostMedian {
    iops: f64,
    p99_us: f64,
    kernel_ns: f64,
    user_ns: f64,
    bytes: f64,
    missing: f64,
    reported_lost: f64,
}

impl CostMedian {
    fn new(runs: &[CostRun]) -> CostMedian {
        let per_recorded = |value: fn(&CostRun) -> u64| {
            median(runs, |run| value(run) as f64 / run.recorded.max(1) as f64)
        };
        CostMedian {
            iops: median(runs, |run| run.loaded.iops),
            p99_us: median(runs, |run| run.loaded.p99_us),
            // The programs run for lost I/Os, too.
            kernel_ns: median(runs, |run| run.kernel_ns as f64 / run.loaded.ios.max(1) as f64),
            user_ns: per_recorded(|run| run.user_ns),
            bytes: per_recorded(|run| run.file_bytes),
            missing: median(runs, |run| run.loaded.ios as f64 - run.recorded as f64),
            reported_lost: median(runs, |run| run.reported_lost as f64),
        }
    }

    /// Returns the loss of IOPS in percent.
    fn loss(&self, without: &CostMedian) -> f64 {
        (1.0 - self.iops / without.iops) * 100.0
    }
}

fn median(runs: &[CostRun], value: impl Fn(&CostRun) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The second table: the same load alone, with a capture, with bpftrace printing a line for every
/// I/O, and with bpftrace only counting them.
fn with_bpftrace(zram: &ScratchDevice, loop_device: &ScratchDevice, rounds: usize) -> Fallible<()> {
    println!(
        "| device, load | recorder | IOPS | loss % | p99 us | kernel ns/I/O | user ns/I/O | \
         bytes/I/O | not recorded | reported lost |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, device, rate) in [("zram", zram, 50_000), ("loop", loop_device, 5_000)] {
        let paced_name = format!("{} k a second", rate / 1000);
        for (load_name, load) in [
            (paced_name.as_str(), paced(rate)),
            ("full, 1 thread", full(1)),
            ("full, 2 threads", full(2)),
        ] {
            compare(&format!("{name}, {load_name}"), device, &load, rounds)?;
        }
    }
    Ok(())
}

fn compare(name: &str, device: &ScratchDevice, load: &CostLoad, rounds: usize) -> Fallible<()> {
    let mut runs: [Vec<CostRun>; 4] = Default::default();
    for _ in 0..rounds {
        runs[0].push(alone(device, load)?);
        runs[1].push(ours::run(device, load, CapturedData::Ios)?);
        runs[2].push(bpftrace::run(device, load, BpftraceOutput::Line)?);
        runs[3].push(bpftrace::run(device, load, BpftraceOutput::Count)?);
    }
    let [nothing, ours, lines, counts] = runs.map(|runs| CostMedian::new(&runs));
    println!("| {name} | nothing | {:.0} | | {:.1} | | | | | |", nothing.iops, nothing.p99_us);
    for (recorder, it) in [("capture", &ours), ("bpftrace", &lines)] {
        println!(
            "| | {recorder} | {:.0} | {:.1} | {:.1} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} |",
            it.iops,
            it.loss(&nothing),
            it.p99_us,
            it.kernel_ns,
            it.user_ns,
            it.bytes,
            it.missing,
            it.reported_lost,
        );
    }
    println!(
        "| | bpftrace, counting | {:.0} | {:.1} | {:.1} | {:.0} | {:.0} | | | |",
        counts.iops,
        counts.loss(&nothing),
        counts.p99_us,
        counts.kernel_ns,
        counts.user_ns,
    );
    println!(
        "| | **capture : bpftrace** | {:.2} | | {:.2} | {:.2} | {:.2} | {:.2} | | |",
        ours.iops / lines.iops,
        ours.p99_us / lines.p99_us,
        ours.kernel_ns / lines.kernel_ns,
        ours.user_ns / lines.user_ns,
        ours.bytes / lines.bytes,
    );
    Ok(())
}
