//! Commits and offered rates compared with fio, in pairs, on a loop device over a file in memory.
//! Prints a Markdown table of medians. Then the start errors of one thread at rates up to 200,000
//! IOPS, on a file in memory and on compressed memory.
//!
//! `cargo bench -p steadfast-engine --bench service [-- --pairs N] [--directory DIR]`. Needs root,
//! fio and 2 GiB of free memory. With a directory, the comparison runs at low rates on a loop
//! device with direct I/O over a file in it, and ends there: that device's time is the disk's, not
//! that of a kernel thread which shares the processors with the two programs.
//!
//! A commit is a write of 4 KiB and its flush, one at a time and by blocking calls (fio: `psync`
//! with `fdatasync=1`); its time is the sum of both. A rate has Poisson arrivals (fio:
//! `rate_process=poisson`); our response times count from when an I/O is due, fio's from when it is
//! submitted, so that ours are longer by the start error. Flushes are compared with the kernel's
//! own count, run by run.
#![allow(clippy::print_stdout, reason = "its table is what it is for")]

#[path = "shared/mod.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod shared;

use shared::{
    Fallible, LoopDevice, MemoryFile, SIZE, Zram, argument, fill, median, new_engine, number,
    perform, run_pair, sorted, stimulus,
};
use std::fs;
use std::path::Path;
use steadfast_domain::stimulus::{LoadLimits, Pace};
use steadfast_domain::{Nanos, Op, Stimulus};
use steadfast_engine::Engine;

/// Default number of pairs of runs per median.
const PAIRS: usize = 7;

const SECONDS: u64 = 3;

const RATES: [u32; 3] = [1_000, 5_000, 20_000];

/// Rates on a disk, in I/Os per second.
const DISK_RATES: [u32; 3] = [200, 500, 1_000];

/// Rates of one thread alone, in I/Os per second.
const ALONE: [u32; 4] = [1_000, 20_000, 100_000, 200_000];

/// A load that both programs apply.
#[derive(Clone, Copy)]
enum ServiceLoad {
    Commits,
    Rate(u32),
}

#[derive(Clone, Copy)]
struct ServiceRun {
    iops: f64,
    /// Mean time of a commit, or of an I/O.
    mean_ns: f64,
    flush_mean_ns: f64,
    /// Flushes that the program counted, and the kernel.
    flushes: (u64, u64),
    start_error_p99_ns: f64,
}

impl ServiceLoad {
    fn name(self) -> String {
        match self {
            ServiceLoad::Commits => "RND 4K W FLUSH/1 T1Q1".to_owned(),
            ServiceLoad::Rate(iops) => format!("RND 4K R T1Q256 at {iops} IOPS"),
        }
    }

    fn stimulus(self, seed: u64) -> Fallible<Stimulus> {
        let (pattern, depth) = match self {
            ServiceLoad::Commits => ("RND 4K W FLUSH/1", 1),
            ServiceLoad::Rate(_) => ("RND 4K R", 256),
        };
        let until = LoadLimits::time(Nanos::from_secs(SECONDS));
        let stimulus = stimulus(pattern, depth, until)?.seed(seed);
        Ok(match self {
            ServiceLoad::Commits => stimulus,
            ServiceLoad::Rate(iops) => stimulus.pace(Pace::poisson(iops.into())),
        })
    }

    fn fio_options(self) -> Vec<String> {
        match self {
            ServiceLoad::Commits => {
                ["--ioengine=psync", "--rw=randwrite", "--fdatasync=1"].map(str::to_owned).to_vec()
            }
            ServiceLoad::Rate(iops) => vec![
                "--ioengine=io_uring".to_owned(),
                "--fixedbufs=1".to_owned(),
                "--registerfiles=1".to_owned(),
                "--nonvectored=1".to_owned(),
                "--rw=randread".to_owned(),
                "--iodepth=256".to_owned(),
                format!("--rate_iops={iops}"),
                "--rate_process=poisson".to_owned(),
            ],
        }
    }
}

fn main() -> Fallible<()> {
    let pairs = argument("--pairs").and_then(|pairs| pairs.parse().ok()).unwrap_or(PAIRS).max(1);
    if let Some(directory) = argument("--directory") {
        let file = tempfile::NamedTempFile::new_in(directory)?;
        file.as_file().set_len(SIZE.0)?;
        let device = LoopDevice::with_direct_io(file.path())?;
        return print_comparison(&device.path, &DISK_RATES, pairs);
    }
    let memory = MemoryFile::new()?;
    let device = LoopDevice::new(&memory.path)?;
    print_comparison(&device.path, &RATES, pairs)?;
    drop(device);
    println!(
        "\n| RND 4K R T1Q256 on | arrivals | offered | achieved | start error us, 50 % | 99 % | max \
         | mean response us | CPU |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    print_start_errors("file in tmpfs", &memory.path)?;
    drop(memory);
    let zram = Zram::new()?;
    fill(&zram.path)?;
    print_start_errors("zram", &zram.path)
}

/// Prints the table of commits and rates, ours and fio's.
fn print_comparison(path: &Path, rates: &[u32], pairs: usize) -> Fallible<()> {
    fill(path)?;
    println!("{}, {pairs} pairs of {SECONDS} s\n", new_engine(path, None)?.describe());
    println!(
        "| load | IOPS, engine | fio | ratio | mean us, engine | fio | ratio (lowest to highest) \
         | flush us, engine | fio | flushes, engine - kernel | fio - kernel | 99 % start error us |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    print_row(path, ServiceLoad::Commits, pairs)?;
    rates.iter().try_for_each(|rate| print_row(path, ServiceLoad::Rate(*rate), pairs))
}

/// Prints the start errors at each rate, of the run of three with the median 99 %.
fn print_start_errors(name: &str, path: &Path) -> Fallible<()> {
    for iops in ALONE {
        let fixed = Pace::Fixed { ios: iops.into(), per: Nanos::SECOND };
        for (arrivals, pace) in [("fixed", fixed), ("poisson", Pace::poisson(iops.into()))] {
            let mut runs = Vec::new();
            for seed in 0..3 {
                let load = ServiceLoad::Rate(iops).stimulus(seed)?.pace(pace.clone());
                runs.push(perform(&mut new_engine(path, None)?, name, load)?);
            }
            runs.sort_by_key(|run| run.start_error.as_ref().and_then(|error| error.p99()));
            let run = &runs[1];
            let error = run.start_error.as_ref().ok_or("no start errors")?;
            let us = |time: Option<Nanos>| time.map_or(f64::NAN, |time| time.0 as f64 / 1e3);
            println!(
                "| {name} | {arrivals} | {iops} | {:.0} | {:.2} | {:.2} | {:.0} | {:.2} | {:.2} |",
                run.iops().unwrap_or(f64::NAN),
                us(error.p50()),
                us(error.p99()),
                us(Some(error.max)),
                us(run.total().response_mean()),
                run.sensed.busiest_thread.unwrap_or(f64::NAN),
            );
        }
    }
    Ok(())
}

fn print_row(path: &Path, load: ServiceLoad, pairs: usize) -> Fallible<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let seed = pair as u64;
        let (engine, fio) =
            run_pair(pair, || run_engine(path, load, seed), || run_fio(path, load, seed))?;
        ours.push(engine);
        theirs.push(fio);
    }
    let both = |of: fn(&ServiceRun) -> f64| {
        let ratios = sorted(ours.iter().zip(&theirs).map(|(a, b)| of(a) / of(b)));
        (median(ours.iter().map(of)), median(theirs.iter().map(of)), ratios)
    };
    let (iops, mean) = (both(|run| run.iops), both(|run| run.mean_ns));
    let flush = both(|run| run.flush_mean_ns);
    let surplus = |runs: &[ServiceRun]| {
        let each = runs.iter().map(|run| run.flushes.0 as i64 - run.flushes.1 as i64);
        each.max_by_key(|difference| difference.abs()).unwrap_or_default()
    };
    println!(
        "| {} | {:.0} | {:.0} | {:.3} | {:.2} | {:.2} | {:.3} ({:.3} to {:.3}) | {:.2} | {:.2} | {} | {} | {:.2} |",
        load.name(),
        iops.0,
        iops.1,
        iops.2[pairs / 2],
        mean.0 / 1e3,
        mean.1 / 1e3,
        mean.2[pairs / 2],
        mean.2[0],
        mean.2[pairs - 1],
        flush.0 / 1e3,
        flush.1 / 1e3,
        surplus(&ours),
        surplus(&theirs),
        median(ours.iter().map(|run| run.start_error_p99_ns)) / 1e3,
    );
    Ok(())
}

/// Returns the flushes that the kernel has counted for a device.
fn kernel_flushes(path: &Path) -> Fallible<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(format!("/sys/block/{name}/stat"))?;
    Ok(text.split_whitespace().nth(15).ok_or("the kernel counts no flushes")?.parse()?)
}

fn run_engine(path: &Path, load: ServiceLoad, seed: u64) -> Fallible<ServiceRun> {
    let mut engine = new_engine(path, None)?;
    let before = kernel_flushes(path)?;
    let done = perform(&mut engine, &load.name(), load.stimulus(seed)?)?;
    let kernel = kernel_flushes(path)? - before;
    let unmeasured = done.unmeasured.iter().filter(|part| part.op == Op::Flush);
    let flushes = done.direction(Op::Flush);
    let mean = |ms: Option<f64>| ms.unwrap_or(f64::NAN) * 1e6;
    let error = done.start_error.as_ref().and_then(|error| error.p99());
    Ok(ServiceRun {
        iops: done.iops().unwrap_or(f64::NAN),
        mean_ns: mean(done.total().response_mean_ms()),
        flush_mean_ns: mean(flushes.response_mean_ms()),
        flushes: (flushes.ios + unmeasured.map(|part| part.ios).sum::<u64>(), kernel),
        start_error_p99_ns: error.map_or(f64::NAN, |error| error.0 as f64),
    })
}

fn run_fio(path: &Path, load: ServiceLoad, seed: u64) -> Fallible<ServiceRun> {
    let before = kernel_flushes(path)?;
    let mut options = load.fio_options();
    options.push(format!("--randseed={}", seed + 1));
    let job = shared::run_fio(path, SECONDS, &options)?;
    let kernel = kernel_flushes(path)? - before;
    let flush_mean_ns = number(&job["sync"]["lat_ns"]["mean"]);
    let (direction, flush) = match load {
        ServiceLoad::Commits => (&job["write"], flush_mean_ns),
        ServiceLoad::Rate(_) => (&job["read"], 0.0),
    };
    Ok(ServiceRun {
        iops: number(&direction["iops"]),
        mean_ns: number(&direction["lat_ns"]["mean"]) + flush,
        flush_mean_ns,
        // `total_ios` is 0 in fio 3.33.
        flushes: (job["sync"]["lat_ns"]["N"].as_u64().unwrap_or(0), kernel),
        start_error_p99_ns: f64::NAN,
    })
}
