//! fio's job files, read and written.
//!
//! [`JobFile`] is the text: sections with their options, globals and includes resolved,
//! every option with its line. [`sequence()`] returns the loads that can be applied here: each option
//! is applied, has no effect, or is refused by name. If an option is refused, nothing is applied.
//! The rules are those of fio 3.
//!
//! Where each option is mapped:
//!
//! | file | options |
//! |---|---|
//! | `access` | `rw`, `rwmixread`, `rwmixwrite`, `percentage_random`, `sync`, `fsync`, `fdatasync` |
//! | `transfer_sizes` | `bs`, `bsrange`, `bssplit` |
//! | `offsets` | `random_distribution`, `norandommap`, `blockalign` |
//! | `extent` | `offset`, `size`, `filesize`, `offset_align`, `file_service_type`, `openfiles` |
//! | `job_end` | `runtime`, `time_based`, `io_size`, `loops`, `number_ios`, `ss`, `ss_dur`, `ss_ramp` |
//! | `pace` | `rate`, `rate_iops`, `rate_process`, `rate_ignore_thinktime`, `thinktime`, `thinktime_blocks` |
//! | `buffers` | `buffer_pattern`, `buffer_compress_percentage`, `dedupe_percentage`, `zero_buffers`, `refill_buffers`, `scramble_buffers` |
//! | `engines` | `ioengine`, `iodepth` |
//! | `files` | `filename`, `directory`, `nrfiles`, `filename_format` |
//! | `flow` | the jobs of one `flow_id` as one load, by their weights |
//! | `job` | `numjobs`, `offset_increment`, `ramp_time`, `startdelay`, `readonly`, `flow`, `flow_id` |
//! | `sequence` | `stonewall`, `wait_for`, `group_reporting` |
//! | `remarks` | options whose effect differs here: `direct`, `buffered`, `randrepeat`, `randseed`, `random_generator`, `dedupe_mode` |
//! | `latency_target` | `latency_target` with its window and percentile: refused, with the command to type and how it differs |
//! | `option_support` | all others: without effect, with a remark, or refused |

mod access;
mod buffers;
mod engines;
mod extent;
mod files;
mod flow;
mod job;
mod job_end;
mod latency_target;
mod offsets;
mod option_support;
mod options;
mod pace;
mod remarks;
mod sequence;
mod sizes;
mod streams;
#[cfg(test)]
mod tests;
mod text;
mod transfer_sizes;

pub use option_support::{is_switch, names as option_names};
pub use options::TargetFacts;
pub(crate) use sequence::joined_names;
pub use sequence::{files, sequence};
pub use text::{FioCommandLine, JobFile, JobFileContext, JobOption, JobSection};
