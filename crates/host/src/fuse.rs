//! FUSE servers: processes that hold files open on behalf of the users of a FUSE file system.

use crate::backing::FileId;
use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::processes;
use crate::refusal::ArmRefusal;
use crate::system_roots::SystemRoots;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, DeviceNumber};

/// Device number of `/dev/fuse` (Documentation/admin-guide/devices.txt).
const FUSE_DEVICE: DeviceNumber = DeviceNumber::new(10, 229);

/// Refuses a file that a FUSE server has open.
///
/// # Errors
/// Returns [`ArmRefusal::InUse`] with the servers, or the reason why they are unknown.
pub(crate) fn refuse_fuse(
    files: &BTreeSet<FileId>,
    device: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let servers = servers(files, roots)?;
    if servers.is_empty() {
        return Ok(());
    }
    let uses = servers.iter().map(|server| format!("served through FUSE by {server}")).collect();
    let remedy = "unmount the FUSE file system (fusermount -u)".into();
    Err(ArmRefusal::InUse { device: device.path.clone(), uses, remedy })
}

/// Returns the processes that serve a FUSE file system and have one of the files open. Mounts,
/// locks and opens in the FUSE file system are not visible on the backing file.
///
/// # Errors
/// The open files of a process cannot be read.
fn servers(files: &BTreeSet<FileId>, roots: &SystemRoots) -> Result<Vec<String>, HostError> {
    let mut names = Vec::new();
    for process in processes::all(roots)? {
        let serves = processes::examine(&process, roots, || serves(&process, files));
        let failed = |error| HostError::io("list its open files", &process, error);
        if serves.map_err(failed)? == Some(true) {
            names.push(processes::name_of(&process));
        }
    }
    Ok(names)
}

fn serves(process: &Path, files: &BTreeSet<FileId>) -> io::Result<bool> {
    let (mut is_server, mut has_file) = (false, false);
    for table in tables(process)? {
        // Skip threads that have ended and files that were closed in the meantime.
        let links = match fs::read_dir(&table) {
            Err(error) if processes::has_gone(&error) => continue,
            links => links?,
        };
        for link in links {
            let link = match link {
                Err(error) if processes::has_gone(&error) => break,
                link => link?,
            };
            let Some(metadata) = processes::stat_link(&link.path())? else { continue };
            is_server |=
                metadata.file_type().is_char_device() && decode_dev(metadata.rdev()) == FUSE_DEVICE;
            has_file |= metadata.is_file() && files.contains(&FileId::from_metadata(&metadata));
        }
    }
    Ok(is_server && has_file)
}

/// Returns the `fd` directories of a process and of each of its threads, which may have separate
/// file tables.
fn tables(process: &Path) -> io::Result<Vec<PathBuf>> {
    let mut tables = vec![process.join("fd")];
    match fs::read_dir(process.join("task")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        threads => {
            for thread in threads? {
                tables.push(thread?.path().join("fd"));
            }
        }
    }
    Ok(tables)
}
