//! Cells with the dimensions that they distinguish. Every question that needs no single I/Os gets
//! the same answer from cells as from the I/Os themselves.

pub use steadfast_tracefile::cube_file::{BusyInStep, CubeCell, FLAGS, Times, Who};

use steadfast_tracefile::error::TraceError;

/// The dimensions that cells distinguish, or that a question needs, in addition to streams and
/// devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// Processes.
    pub processes: bool,
    /// Threads.
    pub threads: bool,
    /// Cgroups.
    pub cgroups: bool,
    /// Files.
    pub files: bool,
    /// Merged requests.
    pub merges: bool,
    /// True if the cells are sums of single I/Os, so that queue times, ends beyond the device, busy
    /// time and the response-time percentiles of each step are known.
    pub single_ios: bool,
}

impl Dimensions {
    /// Checks that the cells have all dimensions in `asked`.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if one is missing. The error says what to do.
    pub fn check(self, asked: Dimensions) -> Result<(), TraceError> {
        let lacks = [
            (asked.processes && !self.processes, "processes (--no-processes)"),
            (asked.threads && !self.threads, "threads (--no-threads)"),
            (asked.files && !self.files, "files (--no-files)"),
        ];
        match lacks.into_iter().find(|(is_lacking, _)| *is_lacking) {
            None => Ok(()),
            Some((_, what)) => Err(Self::without(what)),
        }
    }

    /// Returns the error for a question about a dimension that the cells lack.
    pub(crate) fn without(what: &str) -> TraceError {
        TraceError::Unsuitable(format!(
            "the fold was made without {what}, so it cannot report them; name the trace files \
             instead, or fold them again"
        ))
    }
}

/// Cells that passed the filter.
#[derive(Debug, Clone, Copy)]
pub struct FilteredCells<'a> {
    /// Width of a step, in nanoseconds.
    pub step_ns: u64,
    /// Dimensions that the cells distinguish.
    pub told: Dimensions,
    /// The cells.
    pub cells: &'a [CubeCell],
    /// Busy time by step, device and layer.
    pub busy: &'a [BusyInStep],
}
