//! Names that the programs keep of processes whose threads do I/O (bpf/process_names.h).

use super::plain::{self, PlainData};
use super::programs::AttachedPrograms;
use steadfast_domain::io_event::CommandName;

/// Name of the programs' map.
pub(super) const NAMES: &str = "process_names";

/// `struct process_name` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct KeptName {
    started_ns: u64,
    name: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for KeptName {}

/// Returns the name of a process that may have ended; `None` if only its first thread did I/O.
pub(super) fn kept(programs: &AttachedPrograms, pid: u32) -> Option<CommandName> {
    let value = programs.value(NAMES, &pid.to_ne_bytes())?;
    plain::read(&value).map(|kept: KeptName| CommandName(kept.name))
}
