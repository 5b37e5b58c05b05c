//! Sums over I/Os.

pub(crate) mod buckets;
pub mod busy_spans;
pub mod capture_step;
pub mod content;
pub(crate) mod content_of_part;
pub mod io_count;
pub mod io_sums;
pub mod io_times;
pub mod op_sums;
pub(crate) mod packed_steps;
pub mod response;
pub(crate) mod server_cpu_use;
pub mod sparse;
pub mod step_width;
