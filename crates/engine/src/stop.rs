//! Requests to a running step that come from signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests to a running step that come from signals; cheap to share and to check.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    requested: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
}

impl StopSignal {
    /// Returns the flag that requests a stop, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }
    /// Returns the flag that reports the loss of the terminal, for a signal handler to set.
    pub fn hang_up_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hung_up)
    }
    /// Requests a stop.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }
    /// Returns true if a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
    /// Returns true if the terminal was lost, which stops nothing.
    pub fn lost_terminal(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }
}
