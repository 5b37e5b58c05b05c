//! The cube file: sums of I/Os by step, device, stream and originator, as `capture --totals-every`
//! and `trace fold` write them. It is a Parquet file with one row per [`CubeCell`] and the same
//! metadata and checksums as a trace file. A dimension that was not recorded is an absent column, and
//! a key that a row does not distinguish is null: rows without `op` hold the busy time of a device or
//! the I/Os of an LBA range. `docs/formats.md` describes the columns.

mod cell;
mod columns;
mod reader;
mod step_writer;
mod sums;
#[cfg(test)]
mod tests;
mod writer;

pub use cell::{BusyInStep, CubeCell, FLAGS, Originator, RangeHits, Times};
pub use columns::CubeColumns;
pub use reader::{CubeFile, CubeRows};
pub use step_writer::StepWriter;
pub use sums::{Contents, DepthSums, QueueResponseSums, TimeSums};
pub use writer::CubeWriter;

use steadfast_domain::CaptureConditions;

/// Range of step widths, in nanoseconds: 100 us to 1 h (RWSW PTS 1.0.7 p. 15 as the tutorial quotes
/// it shows 100 us to 5 min).
pub const WIDTH_NS: std::ops::RangeInclusive<u64> = 100_000..=3_600_000_000_000;

const ROWS_PER_GROUP: usize = 1 << 15;
/// Number of histogram buckets that ends a row group; the last row may exceed it.
const BUCKETS_PER_GROUP: usize = 1 << 19;

/// Source in the conditions of a fold file, whose cells are of several captures.
const FOLD_SOURCE: &str = "steadfast trace fold";

/// Returns the conditions of a fold file. Its description holds those of its captures.
fn fold_conditions(step_ns: u64) -> CaptureConditions {
    CaptureConditions {
        source: FOLD_SOURCE.into(),
        step_ns: Some(step_ns),
        ..CaptureConditions::default()
    }
}

pub(crate) fn is_fold(conditions: &CaptureConditions) -> bool {
    conditions.source == FOLD_SOURCE && conditions.step_ns.is_some()
}
