//! What signals have asked of a running step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What signals have asked of a running step; cheap to share and to look at.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
}

impl Stop {
    /// The flag that asks for it, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }
    /// The flag that says that the terminal was lost, for a signal handler to set.
    pub fn hang_up_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hung_up)
    }
    /// Asks for it.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }
    /// Whether it was asked for.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
    /// Whether the terminal was lost, which stops nothing.
    pub fn lost_terminal(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }
}
