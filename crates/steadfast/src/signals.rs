//! What signals do to a command that works on a device.
//!
//! A run goes on for hours, often from a terminal that does not. SIGINT, SIGTERM
//! and SIGQUIT end it well: after what is under way, host settings put back, so
//! that it can be resumed; a second one ends the process at once. So does every
//! other signal that would end the process otherwise and that says nothing of a
//! fault in it (SIGUSR1, SIGALRM, real-time signals, ...): left alone, it would
//! leave host settings changed. SIGHUP ends nothing: what is printed afterwards is
//! lost with the terminal, everything else goes on.

use steadfast_engine::StopSignal;

/// Signals that ask for an end, the second time at once.
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

/// Signals that ask for an end, however often they come: the kernel repeats some of them, and
/// `signal_hook` does not know what others do by default.
const ASKING: [libc::c_int; 4] = [libc::SIGXCPU, libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

/// For every command, before it does anything: a write past the limit of file
/// sizes (`ulimit -f`) is an error with a name like any other, not a death.
pub fn survive_limits() {
    ignore(libc::SIGXFSZ);
}

/// Requests a stop on Ctrl-C, SIGTERM, Ctrl-\ and the like; a second one ends the process
/// at once. From now on the process outlives its terminal.
pub fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let stop = StopSignal::default();
    for signal in STOPPING {
        signal_hook::flag::register_conditional_default(signal, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    for signal in ASKING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        signal_hook::flag::register(signal, stop.flag())?;
    }
    // Under nohup the terminal's end is no news, and stays none.
    if !is_ignored(libc::SIGHUP) {
        signal_hook::flag::register(libc::SIGHUP, stop.hang_up_flag())?;
    }
    // A background process that writes to a terminal is stopped by it otherwise
    // (`stty tostop`), in the middle of a step.
    ignore(libc::SIGTTOU);
    Ok(stop)
}

fn ignore(signal: libc::c_int) {
    // SAFETY: no handler is installed; ignoring a signal runs no code.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zero bytes are a valid sigaction; with no new action, the call
    // only writes the present one to `now`, which is valid to write to.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}
