//! Waiting for what is still under way.

use std::time::{Duration, Instant};

/// How long a closed capture waits for what is still under way.
const WAIT: Duration = Duration::from_millis(500);

/// Waits until nothing is under way any more, for a while; whether it came to that.
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
