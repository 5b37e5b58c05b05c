//! [`Crew`]: the threads that a caller lends, because nothing here starts one.

/// Something to be done, once, on any thread.
pub type Task<'t> = Box<dyn FnOnce() + Send + 't>;

/// Threads to work with.
pub trait Crew: Send + Sync {
    /// How many tasks it does side by side.
    fn size(&self) -> usize;
    /// Does all tasks side by side, [`Self::size`] of them at least, and comes back
    /// when the last is done.
    fn side_by_side(&self, tasks: Vec<Task<'_>>);
}
