//! The file-system layer at the file systems' own functions (fentry, fexit): sees I/O of any
//! origin, on the file systems whose functions are listed here.

use super::programs::{AlignedBytes, FilePrograms, KernelFunctions, kernel_knows};
use crate::error::CaptureError;
use crate::options::CaptureOptions;
use std::collections::BTreeSet;

/// The compiled programs, aligned because ELF files are read in words.
static PROGRAMS: &AlignedBytes<[u8]> =
    &AlignedBytes(*include_bytes!(concat!(env!("OUT_DIR"), "/entries.bpf.o")));

/// A kind of file system: its name, which is also the name of its module and the prefix of its
/// programs, and its functions.
struct FileSystemKind {
    name: &'static str,
    functions: [&'static str; 3],
}

const KINDS: [FileSystemKind; 3] = [
    FileSystemKind {
        name: "ext4",
        functions: ["ext4_file_read_iter", "ext4_file_write_iter", "ext4_sync_file"],
    },
    FileSystemKind {
        name: "xfs",
        functions: ["xfs_file_read_iter", "xfs_file_write_iter", "xfs_file_fsync"],
    },
    FileSystemKind {
        name: "btrfs",
        functions: ["btrfs_file_read_iter", "btrfs_file_write_iter", "btrfs_sync_file"],
    },
];

/// Suffixes of the programs of one kind, in the order of attachment.
const PROGRAM_SUFFIXES: [&str; 6] = ["read_end", "write_end", "sync_end", "read", "write", "sync"];

/// Programs shared by all kinds, with the kernel function each one needs: those that see calls
/// complete asynchronously, and those that only count.
const SHARED: [(&str, &str); 6] = [
    ("on_aio_end", "aio_complete_rw"),
    ("on_aio_end_again", "aio_complete_rw"),
    ("on_map", "vm_mmap_pgoff"),
    ("on_splice", "filemap_splice_read"),
    ("on_range_sync", "sync_file_range"),
    ("on_whole_sync", "sync_filesystem"),
];

pub(super) fn programs(options: &CaptureOptions) -> Result<FilePrograms, CaptureError> {
    let mut kinds = Vec::new();
    let mut programs = shared_programs()?;
    for kind in &KINDS {
        let functions = KernelFunctions::with(Some(kind.name))?;
        if kind.functions.iter().all(|function| functions.contain(function)) {
            kinds.push(kind.name);
            programs.extend(PROGRAM_SUFFIXES.map(|suffix| format!("{}_{suffix}", kind.name)));
        }
    }
    check(&mounted_kinds(options), &kinds)?;
    Ok(FilePrograms {
        object: &PROGRAMS.0,
        programs,
        description: format!("entry points of {}", kinds.join(", ")),
        keeps_unended: true,
    })
}

fn shared_programs() -> Result<Vec<String>, CaptureError> {
    let functions = KernelFunctions::with(None)?;
    let usable = SHARED.iter().filter(|(_, function)| functions.contain(function));
    let mut programs: Vec<String> = usable.map(|(program, _)| (*program).to_owned()).collect();
    if kernel_knows("btf_trace_io_uring_complete")? {
        programs.push("on_request_end".to_owned());
    }
    Ok(programs)
}

/// Returns the kinds of file system mounted from the devices.
fn mounted_kinds(options: &CaptureOptions) -> BTreeSet<&str> {
    let file_systems = options.devices.iter().flat_map(|device| &device.file_systems);
    file_systems.filter_map(|file_system| file_system.kind.as_deref()).collect()
}

/// Refuses kinds of file system without known entry points: their I/O would be missed.
fn check(mounted: &BTreeSet<&str>, known: &[&str]) -> Result<(), CaptureError> {
    let refuse = |what: String| {
        Err(CaptureError::new(what, "omit --file-probes, or give --file-probes calls"))
    };
    if mounted.is_empty() {
        return refuse("no file system of the devices is mounted".to_owned());
    }
    match mounted.iter().find(|kind| !known.contains(kind)) {
        Some(kind) => refuse(format!("the entry points of {kind} are unknown to steadfast")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_unknown_file_system_is_refused() {
        let known = ["ext4", "xfs"];
        assert_eq!(check(&BTreeSet::from(["ext4"]), &known), Ok(()));
        let refused = |mounted: &[&'static str]| {
            check(&mounted.iter().copied().collect(), &known).unwrap_err().what
        };
        assert!(refused(&["ext4", "vfat"]).contains(" vfat "));
        assert!(refused(&["btrfs"]).contains(" btrfs "));
        assert!(refused(&[]).contains("no file system"));
    }
}
