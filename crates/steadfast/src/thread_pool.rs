//! Threads for reading traces and typesetting PDFs: one per processor.

use anyhow::anyhow;
use std::num::NonZero;
use std::sync::{Arc, OnceLock};
use std::thread;
use steadfast_analysis::ThreadPool;
use steadfast_analysis::thread_pool::PoolTask;

/// Maximum number of threads. More would only use memory, because a single thread sorts the I/Os.
const THREADS_MAX: usize = 8;

/// Starts the threads of the typesetter, which would panic if it could not start them itself.
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

/// Returns a pool with a thread per processor, at most [`THREADS_MAX`].
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
