//! Counts of start errors, while a paced load runs and for a step.

use steadfast_domain::{CoarseHistogram, Nanos, StartError};

/// Start errors of the I/Os of one thread in an interval, or of all threads in a step.
#[derive(Debug, Clone)]
pub struct StartErrorCounts {
    ios: u64,
    max_ns: u64,
    buckets: Box<[u64]>,
}

impl StartErrorCounts {
    /// Creates empty counts.
    pub fn new() -> Self {
        StartErrorCounts { ios: 0, max_ns: 0, buckets: vec![0; CoarseHistogram::LEN].into() }
    }

    /// Counts an I/O that was submitted `error_ns` late.
    #[inline(always)]
    pub fn count(&mut self, error_ns: u64) {
        self.ios += 1;
        self.max_ns = self.max_ns.max(error_ns);
        self.buckets[CoarseHistogram::index(error_ns)] += 1;
    }

    /// Moves the counts of `part` into these.
    pub fn take(&mut self, part: &mut StartErrorCounts) {
        if part.ios == 0 {
            return;
        }
        self.ios += part.ios;
        self.max_ns = self.max_ns.max(part.max_ns);
        for (sum, count) in self.buckets.iter_mut().zip(&mut part.buckets) {
            *sum += std::mem::take(count);
        }
        (part.ios, part.max_ns) = (0, 0);
    }

    /// Returns the start errors; `None` without I/Os.
    pub fn result(&self) -> Option<Box<StartError>> {
        let max = Nanos(self.max_ns);
        let histogram = CoarseHistogram::from_dense(&self.buckets);
        (self.ios > 0).then(|| Box::new(StartError { max, histogram }))
    }
}
