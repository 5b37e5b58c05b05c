//! The file-system layer at system calls and io_uring: covers every file system, but only the I/O
//! that programs request.

use super::file_programs::FilePrograms;
use super::programs::{AlignedBytes, kernel_knows};
use crate::error::CaptureError;

/// The compiled programs, aligned because ELF files are read in words.
static PROGRAMS: &AlignedBytes<[u8]> =
    &AlignedBytes(*include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o")));

pub(super) fn programs() -> Result<FilePrograms, CaptureError> {
    let mut programs = vec!["on_call_end", "on_call"];
    let uring = kernel_knows("btf_trace_io_uring_complete")?;
    if uring {
        let new = kernel_knows("btf_trace_io_uring_submit_req")?;
        let submit = if new { "on_request" } else { "on_request_by_entry" };
        programs.extend(["on_request_end", submit]);
    }
    let what = if uring { "system calls and io_uring" } else { "system calls" };
    Ok(FilePrograms {
        file: &PROGRAMS.0,
        programs: programs.into_iter().map(str::to_owned).collect(),
        description: format!("{what} on files"),
        keeps_unended: false,
    })
}
