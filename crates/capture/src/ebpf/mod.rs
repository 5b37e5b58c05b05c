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
mod rings;
mod steps;

pub(crate) use block::Blocks;
pub(crate) use files::Files;

use std::time::{Duration, Instant};

/// How long a closed capture waits for what is still under way.
const WAIT: Duration = Duration::from_millis(500);

/// Waits until nothing is under way any more, for a while; whether it came to that.
fn wait_until(mut idle: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + WAIT;
    loop {
        if idle() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
