//! Names that the programs keep of processes whose threads do I/O (bpf/process_names.h).

use super::programs::AttachedPrograms;
use steadfast_domain::io_event::CommandName;

/// Name of the programs' map.
pub(super) const NAMES: &str = "process_names";

/// Returns the name that a process had at its last I/O; `None` if only its first thread did I/O.
pub(super) fn kept(programs: &AttachedPrograms, pid: u32) -> Option<CommandName> {
    let name = programs.value(NAMES, &pid.to_ne_bytes())?;
    name.try_into().ok().map(CommandName)
}
