//! Signal handling of commands that work on a device.
//!
//! SIGINT, SIGTERM and SIGQUIT end a run after the operation in progress: host settings are
//! restored and the run can be resumed. A second signal ends the process at once. Every other signal
//! that would kill the process without indicating a fault in it (SIGUSR1, SIGALRM, real-time signals,
//! ...) requests the same stop, because otherwise host settings would stay changed; a second one of
//! [`REQUESTING`] or of the real-time signals does not end the process. After SIGHUP, which a closed
//! terminal sends, the run continues without output.

use steadfast_engine::StopSignal;

/// Signals that request a stop; the second one ends the process at once.
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
        signal_hook::flag::register_conditional_default(signal, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    for signal in REQUESTING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
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
