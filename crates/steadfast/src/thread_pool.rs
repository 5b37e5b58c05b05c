//! The threads that a trace is read with: as many as there are processors.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use steadfast_analysis::ThreadPool;
use steadfast_analysis::thread_pool::PoolTask;

/// More threads than this take memory and gain nothing: one thread at a time puts I/Os in
/// order.
const THREADS_MAX: usize = 8;

struct ScopedThreads(usize);

/// Threads for every processor.
pub fn of_all_processors() -> Arc<dyn ThreadPool> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(ScopedThreads(processors.min(THREADS_MAX)))
}

impl ThreadPool for ScopedThreads {
    fn size(&self) -> usize {
        self.0
    }

    fn side_by_side(&self, tasks: Vec<PoolTask<'_>>) {
        thread::scope(|scope| {
            for task in tasks {
                scope.spawn(task);
            }
        });
    }
}
