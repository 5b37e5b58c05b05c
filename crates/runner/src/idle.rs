//! Idle times in real time.

use std::time::{Duration, Instant};
use steadfast_domain::{Halt, Nanos};
use steadfast_engine::StopSignal;

/// Interval between checks for a stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Leaves the device idle for `time`.
///
/// # Errors
/// Returns [`Halt::Stopped`] as soon as a stop is requested.
pub(crate) fn idle(time: Nanos, stop: &StopSignal) -> Result<(), Halt> {
    let end = Instant::now() + time.to_duration();
    loop {
        if stop.is_requested() {
            return Err(Halt::Stopped);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(STOP_CHECK_INTERVAL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_the_wait() {
        let stop = StopSignal::default();
        assert_eq!(idle(Nanos(1), &stop), Ok(()));
        stop.request();
        assert_eq!(idle(Nanos::from_secs(3600), &stop), Err(Halt::Stopped));
    }
}
