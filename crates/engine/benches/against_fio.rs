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

use shared::{Fallible, LoopDevice, MemoryFile, SIZE, Zram, new_engine, pin};
use std::path::Path;
use std::process::Command;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Demand, Nanos, Op, Step, StepPlace, Stimulus};
use steadfast_engine::native::Backend;
use steadfast_engine::{Engine, StepStart};

/// Default number of pairs of runs per median.
const PAIRS: usize = 5;
const SECONDS: u64 = 1;

/// Result of one run.
#[derive(Clone, Copy)]
struct FioComparisonRun {
    iops: f64,
    user_ns: f64,
    system_ns: f64,
    mean_ns: f64,
}

/// One line of the table.
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
    fn name(&self) -> String {
        format!("{} {}", self.load(), self.cores())
    }
}

/// The command line.
struct FioComparisonOptions {
    backend: Option<Backend>,
    only: String,
    pairs: usize,
}

impl FioComparisonOptions {
    fn of_command_line() -> FioComparisonOptions {
        let arguments: Vec<String> = std::env::args().collect();
        let backend = arguments.iter().find_map(|argument| match argument.as_str() {
            "uring" => Some(Backend::Uring),
            "aio" => Some(Backend::Aio),
            "threads" => Some(Backend::Threads),
            _ => None,
        });
        let after = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name)?;
            arguments.get(at + 1).cloned()
        };
        FioComparisonOptions {
            backend,
            only: after("--only").unwrap_or_default(),
            pairs: after("--pairs").and_then(|n| n.parse().ok()).unwrap_or(PAIRS).max(1),
        }
    }
}

fn main() -> Fallible<()> {
    let choice = FioComparisonOptions::of_command_line();
    let memory = MemoryFile::new()?;
    compare("file in tmpfs", &memory.path, &choice)?;
    {
        let device = LoopDevice::new(&memory.path)?;
        compare("loop device on it", &device.path, &choice)?;
    }
    drop(memory);
    let zram = Zram::new()?;
    compare("zram", &zram.path, &choice)
}

fn points(name: &str, choice: &FioComparisonOptions) -> Vec<FioComparisonPoint> {
    let mut points = Vec::new();
    for pinned in [true, false] {
        for depth in [1, 32] {
            for write in [false, true] {
                points.push(FioComparisonPoint { write, depth, pinned });
            }
        }
    }
    points.retain(|point| format!("{name} {}", point.name()).contains(&choice.only));
    points
}

fn compare(name: &str, path: &Path, choice: &FioComparisonOptions) -> Fallible<()> {
    let points = points(name, choice);
    if points.is_empty() {
        return Ok(());
    }
    fill(path)?;
    println!("\n### {name}\n\n{}\n", new_engine(path, choice.backend)?.describe());
    println!(
        "| load | cores | IOPS, engine | IOPS, fio | ratio | IOPS, t/io_uring | ratio | user ns/IO, engine | fio \
         | system ns/IO, engine | fio | mean response ns, engine | fio |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    points.iter().try_for_each(|point| print_point(path, choice, point))
}

fn print_point(
    path: &Path,
    choice: &FioComparisonOptions,
    point: &FioComparisonPoint,
) -> Fallible<()> {
    pin(point.pinned)?;
    let (mut ours, mut theirs, mut leanest) = (Vec::new(), Vec::new(), Vec::new());
    let lean = lean_reader(path, choice, point)?;
    for pair in 0..choice.pairs {
        // The order within a pair alternates.
        for turn in 0..2 {
            if (pair + turn) % 2 == 0 {
                ours.push(run_engine(path, choice.backend, point)?);
            } else {
                theirs.push(run_fio(path, point)?);
            }
        }
        if let Some(program) = &lean {
            leanest.push(run_lean(program, path, point)?);
        }
    }
    let both = |of: fn(&FioComparisonRun) -> f64| (median(&ours, of), median(&theirs, of));
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a.iops / b.iops).collect();
    let (iops, user, system, mean) =
        (both(|r| r.iops), both(|r| r.user_ns), both(|r| r.system_ns), both(|r| r.mean_ns));
    let ratio = |all: &[f64]| {
        let ratios = ours.iter().zip(all).map(|(a, b)| a.iops / b);
        format!("{:.2}", middle(ratios.collect()))
    };
    let [lean_iops, lean_ratio] = if leanest.is_empty() {
        ["–".to_owned(), "–".to_owned()]
    } else {
        [format!("{:.0}", middle(leanest.clone())), ratio(&leanest)]
    };
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.2} | {lean_iops} | {lean_ratio} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
        point.load(),
        point.cores(),
        iops.0,
        iops.1,
        middle(ratios),
        user.0,
        user.1,
        system.0,
        system.1,
        mean.0,
        mean.1,
    );
    Ok(())
}

fn median(runs: &[FioComparisonRun], of: fn(&FioComparisonRun) -> f64) -> f64 {
    middle(runs.iter().map(of).collect())
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn stimulus(pattern: &str, depth: u32, until: LoadLimits) -> Fallible<Stimulus> {
    let streams = pattern.parse::<AccessPattern>()?.streams();
    let range = ActiveRange::new(Bytes(0), SIZE);
    let stimulus = Stimulus::new(streams, range, Demand::new(1, depth), until);
    Ok(stimulus.seed(u64::from(std::process::id())))
}

fn fill(path: &Path) -> Fallible<()> {
    let writes = stimulus("SEQ 128K W", 4, LoadLimits::bytes(SIZE))?;
    let step = Step::alone(StepPlace::new("fill", 0, 1, "fill"), writes);
    new_engine(path, None)?.perform(&step, &StepStart::default(), &mut |_| {})?;
    Ok(())
}

fn run_engine(
    path: &Path,
    forced: Option<Backend>,
    point: &FioComparisonPoint,
) -> Fallible<FioComparisonRun> {
    let pattern = if point.write { "RND 4K W" } else { "RND 4K R" };
    let wanted = stimulus(pattern, point.depth, LoadLimits::time(Nanos::from_secs(SECONDS)))?;
    let step = Step::alone(StepPlace::new("bench", 0, 1, pattern), wanted);
    let done = new_engine(path, forced)?.perform(&step, &StepStart::default(), &mut |_| {})?;
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
    choice: &FioComparisonOptions,
    point: &FioComparisonPoint,
) -> Fallible<Option<String>> {
    let program = std::env::var("T_IO_URING").ok().filter(|program| !program.is_empty());
    let is_uring = || {
        Fallible::Ok(new_engine(path, choice.backend)?.describe().starts_with("uring: io_uring ("))
    };
    Ok(match program {
        Some(program) if !point.write && is_uring()? => Some(program),
        _ => None,
    })
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
    let best = best.ok_or_else(|| format!("t/io_uring said: {text}"))?;
    let end = best.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(best.len());
    let times = match best[end..].chars().next() {
        Some('K') => 1e3,
        Some('M') => 1e6,
        _ => 1.0,
    };
    Ok(best[..end].parse::<f64>()? * times)
}

fn run_fio(path: &Path, point: &FioComparisonPoint) -> Fallible<FioComparisonRun> {
    let rw = if point.write { "randwrite" } else { "randread" };
    let output = Command::new("fio")
        .args(["--name=bench", "--bs=4k", "--ioengine=io_uring", "--fixedbufs=1"])
        .args(["--registerfiles=1", "--nonvectored=1", "--norandommap=1", "--randrepeat=0"])
        .args(["--thread", "--direct=1", "--group_reporting", "--time_based", "--invalidate=0"])
        .args(["--output-format=json", &format!("--runtime={SECONDS}"), &format!("--rw={rw}")])
        .args([&format!("--iodepth={}", point.depth), &format!("--size={}", SIZE.0)])
        .arg(format!("--filename={}", path.display()))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let entry = &report["jobs"][0];
    let direction = &entry[if point.write { "write" } else { "read" }];
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let ios = number(&direction["total_ios"]);
    let percent_ns = number(&entry["job_runtime"]) * 1e6 / 100.0;
    Ok(FioComparisonRun {
        iops: number(&direction["iops"]),
        user_ns: number(&entry["usr_cpu"]) * percent_ns / ios,
        system_ns: number(&entry["sys_cpu"]) * percent_ns / ios,
        mean_ns: number(&direction["lat_ns"]["mean"]),
    })
}
