//! Cells of a cube file and the dimensions that they distinguish. A question that does not need
//! single I/Os has the same answer from cells as from the I/Os.

pub use steadfast_tracefile::cube_file::{
    BusyInStep, CubeCell, FLAGS, Originator, RangeHits, Times,
};

use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;

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
    /// Reads and writes of LBA ranges, which are in rows of their own.
    pub ranges: bool,
    /// True if the cells are sums of single I/Os, so that queue times, ends beyond the device, busy
    /// time and the response-time percentiles of each step are known.
    pub single_ios: bool,
}

impl Dimensions {
    /// Checks that the cells have all dimensions in `needed`.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if the kernel's sums lack a dimension, or
    /// [`TraceError::Unsuitable`] if a fold does. Merges are not checked: questions report them as
    /// unknown.
    pub fn check(self, needed: Dimensions) -> Result<(), TraceError> {
        let dimensions = [
            (
                needed.processes,
                self.processes,
                "processes (--no-processes)",
                NotRecorded::Processes,
            ),
            (needed.threads, self.threads, "threads (--no-threads)", NotRecorded::Threads),
            (needed.cgroups, self.cgroups, "cgroups", NotRecorded::Cgroups),
            (needed.files, self.files, "files (--no-files)", NotRecorded::Files),
        ];
        for (is_needed, is_recorded, what, missing) in dimensions {
            if is_needed && !is_recorded && self.single_ios {
                return Err(Self::without(what));
            } else if is_needed && !is_recorded {
                return Err(missing.into());
            }
        }
        Ok(())
    }

    /// Returns the error for a question about a dimension that the cells lack.
    pub(crate) fn without(what: &str) -> TraceError {
        TraceError::Unsuitable(format!(
            "the fold file has no {what}; name the trace files instead, or fold them again without \
             that option"
        ))
    }
}

/// Cells that passed the filter.
#[derive(Debug, Clone, Copy)]
pub struct FilteredCells<'a> {
    /// Width of a step, in nanoseconds.
    pub step_ns: u64,
    /// Dimensions that the cells distinguish.
    pub dimensions: Dimensions,
    /// The cells.
    pub cells: &'a [CubeCell],
    /// Busy time by step, device and layer.
    pub busy: &'a [BusyInStep],
    /// Reads and writes of LBA ranges by step and device.
    pub ranges: &'a [RangeHits],
}
