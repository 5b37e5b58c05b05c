//! The cgroups of a capture: their paths, and their numbers in the events of all sources.

use crate::counters::EventSource;
use crate::error::CaptureError;
use crate::handles::{self, HandleNumber};
use crate::tree;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::CapturedCgroup;

/// Maximum number of directories visited in the search for a cgroup.
const SEARCHED: usize = 1 << 14;

/// The cgroups of a capture.
pub(crate) struct Cgroups {
    /// Mount point of the hierarchy.
    place: PathBuf,
    mount: Option<File>,
    found: Vec<CapturedCgroup>,
    /// By source: the capture's number for each number of the source; 0 if not known yet.
    numbers: Vec<Vec<u16>>,
    known: HashMap<u64, u16>,
}

impl Cgroups {
    /// Returns an empty set of cgroups of the hierarchy mounted at `place`.
    pub(crate) fn new(place: PathBuf) -> Self {
        let mount = File::open(&place).ok();
        Cgroups { place, mount, found: Vec::new(), numbers: Vec::new(), known: HashMap::new() }
    }

    /// Returns the cgroups found so far.
    pub(crate) fn found(&self) -> &[CapturedCgroup] {
        &self.found
    }

    /// Replaces the source's cgroup numbers in events by those of the capture.
    pub(crate) fn complete(
        &mut self,
        (number, source): (usize, &dyn EventSource),
        events: &mut [IoEvent],
    ) -> Result<(), CaptureError> {
        for event in events.iter_mut().filter(|event| event.cgroup > 0) {
            if self.number(number, event.cgroup).is_none() {
                self.learn(number, source)?;
            }
            event.cgroup = self.number(number, event.cgroup).unwrap_or(0);
        }
        Ok(())
    }

    fn number(&self, source: usize, number: u16) -> Option<u16> {
        let numbers = self.numbers.get(source)?;
        numbers.get(usize::from(number)).copied().filter(|number| *number > 0)
    }

    fn learn(&mut self, number: usize, source: &dyn EventSource) -> Result<(), CaptureError> {
        let mut numbered = Vec::new();
        source.cgroups(&mut |number, id| numbered.push((number, id)))?;
        if self.numbers.len() <= number {
            self.numbers.resize(number + 1, Vec::new());
        }
        for (small, id) in numbered {
            let of_all = self.of_kernel(id);
            let (numbers, at) = (&mut self.numbers[number], usize::from(small));
            if numbers.len() <= at {
                numbers.resize(at + 1, 0);
            }
            numbers[at] = of_all;
        }
        Ok(())
    }

    /// Returns the capture's number, from 1, for the cgroup with the kernel's ID `id`.
    fn of_kernel(&mut self, id: u64) -> u16 {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let path = self.path(id);
        self.found.push(CapturedCgroup { id, path, host: None });
        let number = u16::try_from(self.found.len()).unwrap_or(0);
        self.known.insert(id, number);
        number
    }

    fn path(&self, id: u64) -> Option<String> {
        let opened =
            self.mount.as_ref().map(|mount| handles::open(mount, HandleNumber::Cgroup(id)));
        let by_handle = opened.and_then(|file| handles::path(&file.ok()?).ok());
        let path = by_handle.or_else(|| searched(&self.place, id))?;
        let below = path.strip_prefix(&self.place).ok()?;
        Some(format!("/{}", below.display()))
    }
}

/// Finds a directory by its inode, which equals the cgroup's ID.
fn searched(place: &Path, id: u64) -> Option<PathBuf> {
    let is_it = |here: &PathBuf| fs::metadata(here).is_ok_and(|directory| directory.ino() == id);
    tree::directories(place).take(SEARCHED).find(is_it)
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
        assert_eq!(searched(scratch.path(), fs::metadata(&below).unwrap().ino()), Some(below));
        assert_eq!(searched(scratch.path(), u64::MAX), None);
    }
}
