//! Signal handling of commands that work on a device.
//!
//! SIGINT, SIGTERM and SIGQUIT end a run after the operation in progress: host settings are
//! restored and the run can be resumed. A second signal, [`REPEATED_NS`] or more after the first, ends
//! the process at once. Every other signal that would kill the process without indicating a fault in
//! it (SIGUSR1, SIGALRM, real-time signals, ...) requests the same stop, because otherwise host
//! settings would stay changed; a second one of [`REQUESTING`] or of the real-time signals does not
//! end the process. After SIGHUP, which a closed terminal sends, the run continues without output.

use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_engine::StopSignal;
use steadfast_host::monotonic;

/// Time after the first signal within which another one is a repetition, in nanoseconds: `timeout`
/// signals a process and then its group.
const REPEATED_NS: u64 = 1_000_000_000;

/// Time of the first signal that requested a stop; 0 before it.
static FIRST_NS: AtomicU64 = AtomicU64::new(0);

/// Signals that request a stop; a second one ends the process at once.
const STOPPING: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
];

/// Signals that request a stop and never end the process: the kernel repeats some of them, and
/// `signal_hook` does not know the default action of others.
const REQUESTING: [libc::c_int; 4] = [libc::SIGXCPU, libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error instead of killing the
/// process. Every command calls this first.
pub fn survive_limits() {
    ignore(libc::SIGXFSZ);
}

/// Returns a stop signal that Ctrl-C, SIGTERM, Ctrl-\ and similar signals set; a second one ends the
/// process at once. From now on the process survives its terminal.
pub fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let stop = StopSignal::default();
    for signal in STOPPING {
        // SAFETY: the action reads a clock and an atomic, and ends the process as a signal does.
        unsafe {
            signal_hook::low_level::register(signal, move || {
                if !is_first_or_repeated(&FIRST_NS, monotonic().0) {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            })?;
        }
        signal_hook::flag::register(signal, stop.flag())?;
    }
    for signal in REQUESTING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        // SAFETY: the action reads a clock and an atomic.
        unsafe {
            signal_hook::low_level::register(signal, || {
                is_first_or_repeated(&FIRST_NS, monotonic().0);
            })?;
        }
        signal_hook::flag::register(signal, stop.flag())?;
    }
    // Under nohup SIGHUP stays ignored.
    if !is_ignored(libc::SIGHUP) {
        signal_hook::flag::register(libc::SIGHUP, stop.hang_up_flag())?;
    }
    // Otherwise a terminal with `stty tostop` would stop a background process in a step.
    ignore(libc::SIGTTOU);
    Ok(stop)
}

/// Returns whether a signal is the first, or follows the first so soon that it repeats it.
fn is_first_or_repeated(first_ns: &AtomicU64, now_ns: u64) -> bool {
    match first_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(first_ns) => now_ns.saturating_sub(first_ns) < REPEATED_NS,
    }
}

fn ignore(signal: libc::c_int) {
    // SAFETY: no handler is installed; ignoring a signal runs no code.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zero bytes are a valid sigaction; without a new action, the call only writes the
    // current one to `now`, which is valid to write to.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_signal_counts_unless_it_repeats_the_first() {
        let first_ns = AtomicU64::new(0);
        let at = |seconds: f64| is_first_or_repeated(&first_ns, (seconds * 1e9) as u64);
        assert_eq!(
            [at(7.0), at(7.000_003), at(7.9), at(8.0), at(60.0)],
            [true, true, true, false, false]
        );
    }
}
