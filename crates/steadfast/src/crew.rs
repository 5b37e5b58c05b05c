//! The threads that a trace is read with: as many as there are processors.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use steadfast_analysis::Crew;
use steadfast_analysis::crew::Task;

/// More threads than this take memory and gain nothing: one thread at a time puts I/Os in
/// order.
const THREADS_MAX: usize = 8;

struct Threads(usize);

/// Threads for every processor.
pub fn of_all_processors() -> Arc<dyn Crew> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(Threads(processors.min(THREADS_MAX)))
}

impl Crew for Threads {
    fn size(&self) -> usize {
        self.0
    }

    fn side_by_side(&self, tasks: Vec<Task<'_>>) {
        thread::scope(|scope| {
            for task in tasks {
                scope.spawn(task);
            }
        });
    }
}
