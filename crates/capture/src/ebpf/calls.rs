//! The file-system layer at system calls and io_uring: covers every file system, but only the I/O
//! that programs request.

use super::programs::{AlignedBytes, FilePrograms, kernel_knows};
use crate::error::CaptureError;

/// The compiled programs, aligned because ELF files are read in words.
static PROGRAMS: &AlignedBytes<[u8]> =
    &AlignedBytes(*include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o")));

pub(super) fn programs() -> Result<FilePrograms, CaptureError> {
    let mut programs = vec!["on_call_end", "on_call"];
    let mut description = "system calls on files";
    if kernel_knows("btf_trace_io_uring_complete")? {
        let by_request = kernel_knows("btf_trace_io_uring_submit_req")?;
        let submit = if by_request { "on_request" } else { "on_request_by_entry" };
        programs.extend(["on_request_end", submit]);
        description = "system calls and io_uring on files";
    }
    Ok(FilePrograms {
        object: &PROGRAMS.0,
        programs: programs.into_iter().map(str::to_owned).collect(),
        description: description.to_owned(),
        keeps_unended: false,
    })
}
