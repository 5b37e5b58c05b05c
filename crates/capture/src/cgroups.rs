//! The cgroups of a capture: their paths, and their numbers in the events of all sources.

use crate::counters::EventSource;
use crate::error::CaptureError;
use crate::handles::{self, FileHandle};
use crate::tree;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::CapturedCgroup;

/// Maximum number of directories visited in the search for a cgroup.
const SEARCH_MAX: usize = 1 << 14;

pub(crate) struct Cgroups {
    /// Mount point of the hierarchy.
    mount_point: PathBuf,
    mount_handle: Option<File>,
    /// Cgroups in the order of the capture's numbers, which count from 1.
    pub(crate) captured: Vec<CapturedCgroup>,
    /// By source: the capture's number for each number of the source; 0 if not known yet.
    numbers: Vec<Vec<u16>>,
    /// The capture's numbers by the kernel's ID.
    numbers_by_id: HashMap<u64, u16>,
}

impl Cgroups {
    pub(crate) fn new(mount_point: PathBuf) -> Self {
        let mount_handle = File::open(&mount_point).ok();
        Cgroups {
            mount_point,
            mount_handle,
            captured: Vec::new(),
            numbers: Vec::new(),
            numbers_by_id: HashMap::new(),
        }
    }

    /// Replaces the source's cgroup numbers in events by those of the capture.
    pub(crate) fn complete(
        &mut self,
        source_index: usize,
        source: &dyn EventSource,
        events: &mut [IoEvent],
    ) -> Result<(), CaptureError> {
        for event in events.iter_mut().filter(|event| event.cgroup > 0) {
            if self.number(source_index, event.cgroup).is_none() {
                self.add_cgroups(source_index, source)?;
            }
            event.cgroup = self.number(source_index, event.cgroup).unwrap_or(0);
        }
        Ok(())
    }

    /// Returns the capture's number for a number of a source, if it is known.
    fn number(&self, source_index: usize, source_number: u16) -> Option<u16> {
        let numbers = self.numbers.get(source_index)?;
        numbers.get(usize::from(source_number)).copied().filter(|number| *number > 0)
    }

    /// Assigns numbers of the capture to the cgroups that a source lists.
    fn add_cgroups(
        &mut self,
        source_index: usize,
        source: &dyn EventSource,
    ) -> Result<(), CaptureError> {
        let mut listed = Vec::new();
        source.cgroups(&mut |number, id| listed.push((number, id)))?;
        if self.numbers.len() <= source_index {
            self.numbers.resize(source_index + 1, Vec::new());
        }
        for (source_number, id) in listed {
            let capture_number = self.capture_number(id);
            let numbers = &mut self.numbers[source_index];
            let index = usize::from(source_number);
            if numbers.len() <= index {
                numbers.resize(index + 1, 0);
            }
            numbers[index] = capture_number;
        }
        Ok(())
    }

    /// Returns the capture's number, from 1, for the cgroup with the kernel's ID `id`.
    fn capture_number(&mut self, id: u64) -> u16 {
        if let Some(number) = self.numbers_by_id.get(&id) {
            return *number;
        }
        let path = self.path(id);
        self.captured.push(CapturedCgroup { id, path, host: None });
        // Beyond 65,535 it is 0 as if unknown: each such event lists the source's cgroups again.
        let number = u16::try_from(self.captured.len()).unwrap_or(0);
        self.numbers_by_id.insert(id, number);
        number
    }

    /// Returns the path of a cgroup in its hierarchy; `None` if it was removed.
    fn path(&self, id: u64) -> Option<String> {
        let path = self.path_by_handle(id).or_else(|| find_by_inode(&self.mount_point, id))?;
        let below = path.strip_prefix(&self.mount_point).ok()?;
        Some(format!("/{}", below.display()))
    }

    fn path_by_handle(&self, id: u64) -> Option<PathBuf> {
        let mount = self.mount_handle.as_ref()?;
        let directory = FileHandle::of_cgroup(id).open(mount).ok()?;
        handles::path(&directory).ok()
    }
}

/// Finds a directory by its inode, which equals the cgroup's ID.
fn find_by_inode(mount_point: &Path, id: u64) -> Option<PathBuf> {
    let has_inode = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.ino() == id);
    tree::directories(mount_point).take(SEARCH_MAX).find(has_inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_by_its_inode() {
        let scratch = tempfile::tempdir().unwrap();
        let below = scratch.path().join("a/b/c");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(scratch.path().join("d")).unwrap();
        assert_eq!(find_by_inode(scratch.path(), fs::metadata(&below).unwrap().ino()), Some(below));
        assert_eq!(find_by_inode(scratch.path(), u64::MAX), None);
    }
}
