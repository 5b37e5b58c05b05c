//! Sums over I/Os.

pub mod buckets;
pub mod busy_spans;
pub mod capture_step;
pub mod content;
pub mod content_of_part;
pub mod io_count;
pub mod io_sums;
pub mod io_times;
pub mod op_sums;
pub mod packed_steps;
pub mod response;
pub mod server_cpu_use;
pub mod sparse;
pub mod step_width;
pub mod stream_chunk;
pub mod stream_sums;
