//! Threads for a pass in tests and benches: one per task.

use steadfast_analysis::thread_pool::{PoolTask, ThreadPool};

/// A pool of this many threads.
pub struct Threads(pub usize);

impl ThreadPool for Threads {
    fn size(&self) -> usize {
        self.0
    }
    fn side_by_side(&self, tasks: Vec<PoolTask<'_>>) {
        std::thread::scope(|scope| tasks.into_iter().for_each(|task| drop(scope.spawn(task))));
    }
}
