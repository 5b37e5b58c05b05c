//! The threads that a trace is read with and a PDF is typeset with: as many as there are processors.

use anyhow::anyhow;
use std::num::NonZero;
use std::sync::{Arc, OnceLock};
use std::thread;
use steadfast_analysis::ThreadPool;
use steadfast_analysis::thread_pool::PoolTask;

/// More threads than this take memory and gain nothing: one thread at a time puts I/Os in
/// order.
const THREADS_MAX: usize = 8;

/// Starts the threads of the typesetter, which panics if it has to start them and cannot.
pub fn start_typesetter() -> anyhow::Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let start =
        || rayon::ThreadPoolBuilder::new().build_global().map_err(|error| error.to_string());
    STARTED.get_or_init(start).clone().map_err(|error| {
        anyhow!(
            "no threads for a PDF: {error}; raise the limit of processes or of memory, or leave \
             pdf and form out of --format"
        )
    })
}

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
