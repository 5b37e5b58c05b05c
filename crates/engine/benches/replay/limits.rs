//! The highest rate in I/Os per second that one thread plays on time, and the memory that a long
//! trace takes.

use crate::ReplayBenchOptions;
use crate::ours;
use crate::shared::{Fallible, MemoryFile, Zram, command};
use crate::trace::{SyntheticTrace, TraceRhythm};
use std::fs;
use std::path::Path;
use steadfast_domain::Nanos;
use steadfast_domain::script::Timing;

/// Maximum number of outstanding I/Os.
const OUTSTANDING: u32 = 64;

/// Largest 99th percentile of the lateness that counts as on time.
const ON_TIME: Nanos = Nanos(200_000);

const STEP: f64 = 50e3;
const MOST: f64 = 1e6;
const SECONDS: u64 = 2;

pub fn rates() -> Fallible<()> {
    println!("\n### One thread, Poisson: how late, by rate\n");
    println!("| target | kIOPS | played kIOPS | p50 us | p99 us | max us | starved |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let memory = MemoryFile::new()?;
    command("fallocate", &["-l", "1GiB", &memory.path.to_string_lossy()])?;
    until_late("file in tmpfs", &memory.path)?;
    drop(memory);
    let zram = Zram::new()?;
    until_late("zram, unwritten", &zram.path)
}

fn until_late(name: &str, path: &Path) -> Fallible<()> {
    let (mut rate, mut missed) = (STEP, 0);
    let mut on_time = 0.0;
    while rate <= MOST && missed < 2 {
        let trace = SyntheticTrace {
            reads_only: true,
            ..SyntheticTrace::lasting(TraceRhythm::Poisson(rate), SECONDS)
        };
        let played = ours::play(path, trace, Timing::Original, OUTSTANDING)?;
        let p99 = played.late(0.99);
        println!(
            "| {name} | {:.0} | {:.0} | {:.1} | {:.1} | {:.0} | {} |",
            rate / 1e3,
            trace.ios as f64 / played.done.elapsed.0 as f64 * 1e6,
            played.late(0.5).0 as f64 / 1e3,
            p99.0 as f64 / 1e3,
            played.latest().0 as f64 / 1e3,
            played.replay.starved,
        );
        if p99 <= ON_TIME {
            (on_time, missed) = (rate, 0);
        } else {
            missed += 1;
        }
        rate += STEP;
    }
    println!("\n{name}: on time up to {:.0} kIOPS\n", on_time / 1e3);
    Ok(())
}

pub fn memory(choice: &ReplayBenchOptions) -> Fallible<()> {
    let zram = Zram::new()?;
    let rhythm = TraceRhythm::Poisson(1e6);
    let trace = SyntheticTrace { rhythm, ios: choice.ios, reads_only: true };
    // Resets the peak memory use.
    fs::write("/proc/self/clear_refs", "5")?;
    let played = ours::play(&zram.path, trace, Timing::Closed, OUTSTANDING)?;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no peak");
    let seconds = played.done.elapsed.0 as f64 / 1e9;
    println!("\n### Memory\n\n{} I/Os in {seconds:.1} s, closed loop: {peak}", trace.ios);
    Ok(())
}
