//! Replay compared with fio's replay (`read_iolog`, version 3) of the same traces, on a file in
//! memory, on a loop device over one and on an unwritten zram device, which completes at once.
//! Prints Markdown tables.
//!
//! `cargo bench -p steadfast-engine --bench replay [-- PART...]`; parts are `beside` (both
//! players, and `faster:N`), `rates` (the rate at which the 99th percentile of the lateness
//! exceeds its goal) and `memory`, by default all. `--seconds N` sets the length of a trace,
//! `--ios N` the I/Os of the long one, `--pin` binds everything to the last processor, `--no-fio`
//! omits fio. Needs root, fio and 3 GiB of free memory. On block devices an independent observer
//! records when each I/O began: the kernel's own event of its issue to the device.
#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

mod beside;
mod fio;
mod limits;
mod observer;
mod ours;
#[path = "../shared/mod.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod shared;
mod start_times;
mod trace;

use shared::{Fallible, pin};

/// The command line.
pub struct ReplayBenchOptions {
    parts: Vec<String>,
    /// Length of a trace in seconds.
    pub seconds: u64,
    /// Number of I/Os of the long trace.
    pub ios: u64,
    /// Whether fio plays too.
    pub fio: bool,
}

impl ReplayBenchOptions {
    fn from_command_line() -> ReplayBenchOptions {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let after = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name)?;
            arguments.get(at + 1)?.parse().ok()
        };
        ReplayBenchOptions {
            parts: arguments.iter().filter(|a| PARTS.contains(&a.as_str())).cloned().collect(),
            seconds: after("--seconds").unwrap_or(10),
            ios: after("--ios").unwrap_or(10_000_019),
            fio: !arguments.iter().any(|argument| argument == "--no-fio"),
        }
    }

    fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

const PARTS: [&str; 3] = ["beside", "rates", "memory"];

fn main() -> Fallible<()> {
    let choice = ReplayBenchOptions::from_command_line();
    pin(std::env::args().any(|argument| argument == "--pin"))?;
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    if choice.wants("beside") {
        beside::compare(&choice)?;
    }
    if choice.wants("rates") {
        limits::rates()?;
    }
    if choice.wants("memory") {
        limits::memory(&choice)?;
    }
    Ok(())
}
