//! The engine compared with a tuned fio, in pairs, on compressed memory, on a file in memory and
//! on a loop device over one. Prints a Markdown table of medians.
//!
//! `cargo bench -p steadfast-engine [-- uring|aio|threads] [--only TEXT] [--pairs N]`; the first
//! forces the engine's kernel interface, `--only` selects the points whose name (`file in tmpfs
//! RND 4K W Q32 one`) contains the text. Needs root, fio and 2 GiB of free memory. Processor
//! times are those of the threads that do the I/O; kernel threads that work for them are not
//! included on either side.
//!
//! `T_IO_URING` in the environment is the path of fio's `t/io_uring` (built by
//! scripts/t-io-uring), the leanest program that reads through io_uring. If set, it also runs on
//! read points, one I/O per call, wherever the engine uses io_uring.
#![allow(clippy::print_stdout, reason = "its table is what it is for")]

#[path = "shared/mod.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod shared;

use shared::{
    Fallible, LoopDevice, MemoryFile, Zram, argument, fill, median, new_engine, number, perform,
    pin, run_pair, stimulus,
};
use std::path::Path;
use std::process::Command;
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{Nanos, Op};
use steadfast_engine::Engine;
use steadfast_engine::native::Backend;

/// Default number of pairs of runs per median.
const PAIRS: usize = 5;
const SECONDS: u64 = 1;

#[derive(Clone, Copy)]
struct FioComparisonRun {
    iops: f64,
    user_ns: f64,
    system_ns: f64,
    mean_ns: f64,
}

struct FioComparisonPoint {
    write: bool,
    depth: u32,
    pinned: bool,
}

impl FioComparisonPoint {
    fn load(&self) -> String {
        format!("RND 4K {} Q{}", if self.write { "W" } else { "R" }, self.depth)
    }
    fn cores(&self) -> &'static str {
        if self.pinned { "one" } else { "all" }
    }
}

struct FioComparisonOptions {
    backend: Option<Backend>,
    only: String,
    pairs: usize,
}

impl FioComparisonOptions {
    fn from_command_line() -> FioComparisonOptions {
        let backend = std::env::args().find_map(|argument| match argument.as_str() {
            "uring" => Some(Backend::Uring),
            "aio" => Some(Backend::Aio),
            "threads" => Some(Backend::Threads),
            _ => None,
        });
        FioComparisonOptions {
            backend,
            only: argument("--only").unwrap_or_default(),
            pairs: argument("--pairs").and_then(|n| n.parse().ok()).unwrap_or(PAIRS).max(1),
        }
    }
}

fn main() -> Fallible<()> {
    let options = FioComparisonOptions::from_command_line();
    let memory = MemoryFile::new()?;
    compare("file in tmpfs", &memory.path, &options)?;
    {
        let device = LoopDevice::new(&memory.path)?;
        compare("loop device on it", &device.path, &options)?;
    }
    drop(memory);
    let zram = Zram::new()?;
    compare("zram", &zram.path, &options)
}

fn points(name: &str, options: &FioComparisonOptions) -> Vec<FioComparisonPoint> {
    let mut points = Vec::new();
    for pinned in [true, false] {
        for depth in [1, 32] {
            for write in [false, true] {
                points.push(FioComparisonPoint { write, depth, pinned });
            }
        }
    }
    points.retain(|point| {
        format!("{name} {} {}", point.load(), point.cores()).contains(&options.only)
    });
    points
}

fn compare(name: &str, path: &Path, options: &FioComparisonOptions) -> Fallible<()> {
    let points = points(name, options);
    if points.is_empty() {
        return Ok(());
    }
    fill(path)?;
    println!("\n### {name}\n\n{}\n", new_engine(path, options.backend)?.describe());
    println!(
        "| load | cores | IOPS, engine | IOPS, fio | ratio | IOPS, t/io_uring | ratio | user ns/IO, engine | fio \
         | system ns/IO, engine | fio | mean response ns, engine | fio |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    points.iter().try_for_each(|point| print_point(path, options, point))
}

fn print_point(
    path: &Path,
    options: &FioComparisonOptions,
    point: &FioComparisonPoint,
) -> Fallible<()> {
    pin(point.pinned)?;
    let (mut ours, mut theirs, mut lean_iops) = (Vec::new(), Vec::new(), Vec::new());
    let lean = lean_reader(path, options, point)?;
    for pair in 0..options.pairs {
        let (engine, fio) =
            run_pair(pair, || run_engine(path, options.backend, point), || run_fio(path, point))?;
        ours.push(engine);
        theirs.push(fio);
        if let Some(program) = &lean {
            lean_iops.push(run_lean(program, path, point)?);
        }
    }
    let both = |of: fn(&FioComparisonRun) -> f64| {
        (median(ours.iter().map(of)), median(theirs.iter().map(of)))
    };
    let (iops, user, system, mean) =
        (both(|r| r.iops), both(|r| r.user_ns), both(|r| r.system_ns), both(|r| r.mean_ns));
    let iops_ratio = median(ours.iter().zip(&theirs).map(|(a, b)| a.iops / b.iops));
    let [lean_iops, lean_ratio] = if lean_iops.is_empty() {
        ["–".to_owned(), "–".to_owned()]
    } else {
        let ratio = median(ours.iter().zip(&lean_iops).map(|(a, lean)| a.iops / lean));
        [format!("{:.0}", median(lean_iops.iter().copied())), format!("{ratio:.2}")]
    };
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.2} | {lean_iops} | {lean_ratio} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
        point.load(),
        point.cores(),
        iops.0,
        iops.1,
        iops_ratio,
        user.0,
        user.1,
        system.0,
        system.1,
        mean.0,
        mean.1,
    );
    Ok(())
}

fn run_engine(
    path: &Path,
    forced: Option<Backend>,
    point: &FioComparisonPoint,
) -> Fallible<FioComparisonRun> {
    let pattern = if point.write { "RND 4K W" } else { "RND 4K R" };
    let load = stimulus(pattern, point.depth, LoadLimits::time(Nanos::from_secs(SECONDS)))?
        .seed(u64::from(std::process::id()));
    let done = perform(&mut new_engine(path, forced)?, pattern, load)?;
    let tally = done.direction(if point.write { Op::Write } else { Op::Read });
    let cpu = done.cpu.ok_or("the engine measured no processor time")?;
    Ok(FioComparisonRun {
        iops: done.iops().unwrap_or(0.0),
        user_ns: cpu.user.0 as f64 / tally.ios as f64,
        system_ns: cpu.system.0 as f64 / tally.ios as f64,
        mean_ns: tally.response_sum.0 as f64 / tally.ios as f64,
    })
}

/// Returns the path of `t/io_uring`, if it is set and does the same as the engine at this point.
fn lean_reader(
    path: &Path,
    options: &FioComparisonOptions,
    point: &FioComparisonPoint,
) -> Fallible<Option<String>> {
    let program = std::env::var("T_IO_URING").ok().filter(|program| !program.is_empty());
    if program.is_none() || point.write {
        return Ok(None);
    }
    let is_uring = new_engine(path, options.backend)?.describe().starts_with("uring: io_uring (");
    Ok(program.filter(|_| is_uring))
}

/// Returns the I/Os per second of `t/io_uring` in its best second.
fn run_lean(program: &str, path: &Path, point: &FioComparisonPoint) -> Fallible<f64> {
    let output = Command::new(program)
        .args([&format!("-d{}", point.depth), "-s1", "-c1", "-b4096", "-B1", "-F1", "-p0", "-n1"])
        .arg(format!("-r{}", SECONDS + 1))
        .arg(path)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let best = text.lines().rev().find_map(|line| line.split_once("IOPS=")).map(|(_, best)| best);
    let best = best.ok_or_else(|| format!("t/io_uring reported no IOPS: {text}"))?;
    let end = best.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(best.len());
    let factor = match best[end..].chars().next() {
        Some('K') => 1e3,
        Some('M') => 1e6,
        _ => 1.0,
    };
    Ok(best[..end].parse::<f64>()? * factor)
}

fn run_fio(path: &Path, point: &FioComparisonPoint) -> Fallible<FioComparisonRun> {
    let direction = if point.write { "write" } else { "read" };
    let depth = format!("--iodepth={}", point.depth);
    let options = ["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1"]
        .into_iter()
        .chain(["--group_reporting", &depth, &format!("--rw=rand{direction}")])
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let job = shared::run_fio(path, SECONDS, &options)?;
    let direction = &job[direction];
    let ios = number(&direction["total_ios"]);
    let percent_ns = number(&job["job_runtime"]) * 1e6 / 100.0;
    Ok(FioComparisonRun {
        iops: number(&direction["iops"]),
        user_ns: number(&job["usr_cpu"]) * percent_ns / ios,
        system_ns: number(&job["sys_cpu"]) * percent_ns / ios,
        mean_ns: number(&direction["lat_ns"]["mean"]),
    })
}
