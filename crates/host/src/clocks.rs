//! Clocks of this host.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};
use steadfast_domain::Nanos;

/// Returns the wall-clock time in milliseconds since 1970 (UTC).
pub fn wall_clock_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the wall-clock time in nanoseconds since 1970 (UTC).
pub(crate) fn unix_nanos() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// Reads a clock of the kernel.
fn read(clock: libc::clockid_t) -> io::Result<libc::timespec> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time)
}

/// Converts a time of a clock that begins at boot, which is never negative.
fn since_begin(time: libc::timespec) -> Nanos {
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Returns the time since boot, including time in suspend; `None` if the clock cannot be read.
pub fn since_boot() -> Option<Nanos> {
    read(libc::CLOCK_BOOTTIME).ok().map(since_begin)
}

/// Checks that this process may read the monotonic and the wall clock: a seccomp filter can forbid
/// it.
///
/// # Errors
/// Returns the kernel's error of the first clock that cannot be read.
pub fn check_clocks() -> io::Result<()> {
    read(libc::CLOCK_MONOTONIC)?;
    read(libc::CLOCK_REALTIME).map(drop)
}

/// Returns the time of `CLOCK_MONOTONIC`, which is the same for all threads of the host.
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC).map(since_begin).unwrap_or_default()
}

/// Sleeps until a time of [`monotonic`]. Returns how late the thread woke up.
pub fn wait_until(then: Nanos) -> Nanos {
    loop {
        let now = monotonic();
        if now >= then {
            return now.saturating_sub(then);
        }
        std::thread::sleep(then.saturating_sub(now).to_duration());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_since_the_start_goes_forward() {
        let first = since_boot().unwrap();
        assert!(since_boot().unwrap() >= first && first > Nanos::ZERO);
    }
}
