//! BPF programs at the kernel's tracepoints, and what they report.
//!
//! The programs are compiled once (bpf/*.bpf.c) and fitted to the running
//! kernel by its BTF when they are loaded. They work under kernel lockdown
//! "integrity", which Secure Boot sets and which stops blktrace.

mod block;
mod calls;
mod entries;
mod files;
mod programs;
mod record;
mod ring;
mod steps;

pub(crate) use block::Blocks;
pub(crate) use files::Files;

use std::time::{Duration, Instant};

/// How long a closed capture waits for what is still under way.
const WAIT: Duration = Duration::from_millis(500);

/// Waits until nothing is under way any more, for a while.
fn wait_until(mut idle: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !idle() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}
