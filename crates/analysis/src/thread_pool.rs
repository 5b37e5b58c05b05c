//! [`ThreadPool`]: threads that the caller provides, because this crate starts none.

/// A task that runs once, on any thread.
pub type PoolTask<'t> = Box<dyn FnOnce() + Send + 't>;

/// A pool of threads.
pub trait ThreadPool: Send + Sync {
    /// Returns the number of tasks that can run at the same time.
    fn size(&self) -> usize;
    /// Runs all tasks, at least [`Self::size`] of them at the same time. Returns when the last one
    /// has finished.
    fn side_by_side(&self, tasks: Vec<PoolTask<'_>>);
}
