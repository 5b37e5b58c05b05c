//! Waiting for outstanding I/Os.

use std::time::{Duration, Instant};

/// Longest time that a closed capture waits for outstanding I/Os.
const WAIT: Duration = Duration::from_millis(500);

/// Waits until nothing is outstanding, half a second at most. Returns true if that was reached.
pub(super) fn wait_until(mut idle: impl FnMut() -> bool) -> bool {
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
