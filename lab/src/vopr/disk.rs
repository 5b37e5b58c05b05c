//! A disk that loses its cache in a crash.
//!
//! Files and directories have two states: the cached one, which processes see, and the stored one.
//! A crash keeps an arbitrary subset of the sectors, sizes and names that were not synced.

use crate::dice::Dice;
use crate::fault::PlantedBug;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Size in bytes of the blocks that are written atomically.
const SECTOR: usize = 512;

/// Number of a file or directory.
pub type Inode = usize;

/// The root directory, which always exists.
pub const ROOT: Inode = 0;

/// Files of other programs, which exist in every world.
const BYSTANDERS: [&str; 2] = ["journal.jsonl", "report.html.old"];
const BYSTANDER_CONTENT: &[u8] = b"of another program";

/// A file or directory.
#[derive(Debug, Default)]
struct Node {
    cached: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    names: BTreeMap<String, Inode>,
    durable_names: BTreeMap<String, Inode>,
    /// Changes of the entries since the last sync.
    changes: Vec<NameChange>,
    is_directory: bool,
    locked_by: Option<usize>,
    shared_by: Vec<usize>,
}

/// A change of a directory, which a crash keeps or loses as a whole.
#[derive(Debug)]
struct NameChange {
    removed: Option<String>,
    added: Option<(String, Inode)>,
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<String, Inode>) {
        if let Some(name) = self.removed {
            names.remove(&name);
        }
        if let Some((name, inode)) = self.added {
            names.insert(name, inode);
        }
    }
}

/// The disk.
#[derive(Debug)]
pub struct Disk {
    nodes: Vec<Node>,
    /// True while nothing more can be stored.
    pub is_full: bool,
    pub bug: Option<PlantedBug>,
}

pub fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Disk {
    pub fn new(bug: Option<PlantedBug>) -> Disk {
        let root = Node { is_directory: true, ..Node::default() };
        Disk { nodes: vec![root], is_full: false, bug }
    }

    /// Stores the files of other programs.
    pub fn put_bystanders(&mut self) {
        for name in BYSTANDERS {
            let content = BYSTANDER_CONTENT.to_vec();
            let inode = self.nodes.len();
            self.nodes.push(Node { durable: content.clone(), cached: content, ..Node::default() });
            self.nodes[ROOT].names.insert(name.to_owned(), inode);
            self.nodes[ROOT].durable_names.insert(name.to_owned(), inode);
        }
    }

    /// Checks that no file of another program has changed or lost its name.
    pub fn check_bystanders(&self) -> Result<(), String> {
        for name in BYSTANDERS {
            let content = self.find(ROOT, name).map(|file| self.read(file, 0, usize::MAX));
            if !content.is_ok_and(|content| content == BYSTANDER_CONTENT) {
                return Err(format!("{name} belonged to another program, and was changed"));
            }
        }
        Ok(())
    }

    pub fn find(&self, directory: Inode, name: &str) -> io::Result<Inode> {
        let found = self.nodes[directory].names.get(name);
        found.copied().ok_or_else(|| error(libc::ENOENT))
    }

    pub fn is_directory(&self, inode: Inode) -> bool {
        self.nodes[inode].is_directory
    }

    /// Returns the names in a directory in order. That of unfinished files is the order of their
    /// numbers, so that the number with which this process began does not matter.
    pub fn names(&self, directory: Inode) -> Vec<String> {
        let mut names: Vec<String> = self.nodes[directory].names.keys().cloned().collect();
        names.sort_by_key(
            |name| if name.starts_with(".steadfast-") { name.len() } else { usize::MAX },
        );
        names
    }

    pub fn create(
        &mut self,
        directory: Inode,
        name: &str,
        is_directory: bool,
    ) -> io::Result<Inode> {
        if self.is_full {
            return Err(error(libc::ENOSPC));
        }
        if self.nodes[directory].names.contains_key(name) {
            return Err(error(libc::EEXIST));
        }
        let inode = self.nodes.len();
        self.nodes.push(Node { is_directory, ..Node::default() });
        self.change(directory, None, Some((name.to_owned(), inode)));
        Ok(inode)
    }

    pub fn rename(&mut self, directory: Inode, from: &str, to: &str) -> io::Result<()> {
        let inode = self.find(directory, from)?;
        self.change(directory, Some(from.to_owned()), Some((to.to_owned(), inode)));
        Ok(())
    }

    pub fn rename_to_free(&mut self, directory: Inode, from: &str, to: &str) -> io::Result<()> {
        let is_used = self.nodes[directory].names.contains_key(to);
        if is_used && self.bug != Some(PlantedBug::RenameReplaces) {
            return Err(error(libc::EEXIST));
        }
        self.rename(directory, from, to)
    }

    pub fn remove(&mut self, directory: Inode, name: &str) -> io::Result<()> {
        let inode = self.find(directory, name)?;
        if !self.nodes[inode].names.is_empty() {
            return Err(error(libc::ENOTEMPTY));
        }
        self.change(directory, Some(name.to_owned()), None);
        Ok(())
    }

    /// Removes a directory with its files, durably, as a user does.
    pub fn remove_all(&mut self, directory: Inode, name: &str) {
        self.nodes[directory].names.remove(name);
        self.nodes[directory].changes.clear();
        self.nodes[directory].durable_names = self.nodes[directory].names.clone();
    }

    /// Returns the path and content of every file in a directory.
    pub fn contents(&self, directory: Inode) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for (name, inode) in &self.nodes[directory].names {
            let node = &self.nodes[*inode];
            if !node.is_directory {
                files.insert(name.clone(), node.cached.clone());
            }
            let below = self.contents(*inode).into_iter();
            files.extend(below.map(|(path, content)| (format!("{name}/{path}"), content)));
        }
        files
    }

    /// Takes a name away, durably, as a user does. Returns its inode.
    pub fn take(&mut self, directory: Inode, name: &str) -> Option<Inode> {
        let taken = self.nodes[directory].names.get(name).copied();
        self.remove_all(directory, name);
        taken
    }

    /// Gives a name back that was taken away.
    pub fn put_back(&mut self, directory: Inode, name: &str, inode: Inode) {
        self.nodes[directory].names.insert(name.to_owned(), inode);
        self.nodes[directory].durable_names = self.nodes[directory].names.clone();
    }

    /// Makes a file and its name durable.
    pub fn store_all(&mut self, directory: Inode, file: Inode) {
        let bug = self.bug.take();
        self.sync(file);
        self.sync_directory(directory);
        self.bug = bug;
    }

    fn change(
        &mut self,
        directory: Inode,
        removed: Option<String>,
        added: Option<(String, Inode)>,
    ) {
        let node = &mut self.nodes[directory];
        NameChange { removed: removed.clone(), added: added.clone() }.apply(&mut node.names);
        node.changes.push(NameChange { removed, added });
    }

    pub fn has_name(&self, inode: Inode) -> bool {
        self.nodes.iter().any(|node| node.names.values().any(|named| *named == inode))
    }

    pub fn size(&self, inode: Inode) -> usize {
        self.nodes[inode].cached.len()
    }

    pub fn read(&self, inode: Inode, position: usize, most: usize) -> &[u8] {
        let content = &self.nodes[inode].cached;
        let from = position.min(content.len());
        &content[from..content.len().min(from.saturating_add(most))]
    }

    pub fn append(&mut self, inode: Inode, bytes: &[u8]) -> io::Result<()> {
        if self.is_full {
            return Err(error(libc::ENOSPC));
        }
        if self.bug == Some(PlantedBug::StrayWrite)
            && let Ok(other) = self.find(ROOT, BYSTANDERS[0])
        {
            self.nodes[other].cached.extend(bytes);
        }
        let node = &mut self.nodes[inode];
        let from = node.cached.len();
        node.cached.extend(bytes);
        if !bytes.is_empty() {
            node.dirty.extend(from / SECTOR..=(node.cached.len() - 1) / SECTOR);
        }
        Ok(())
    }

    pub fn set_size(&mut self, inode: Inode, size: usize) {
        let node = &mut self.nodes[inode];
        node.cached.resize(size, 0);
        node.dirty.retain(|sector| sector * SECTOR < size);
    }

    /// Returns true if the first line of a file is only in the cache, and no sync will store it.
    pub fn has_lost_first_line(&self, inode: Inode) -> bool {
        let Node { cached, durable, dirty, .. } = &self.nodes[inode];
        let line = cached.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        dirty.is_empty() && !durable.starts_with(line)
    }

    /// Stores content and size.
    pub fn sync(&mut self, inode: Inode) {
        if self.bug == Some(PlantedBug::NoSync) {
            return;
        }
        let node = &mut self.nodes[inode];
        node.durable.resize(node.cached.len(), 0);
        for sector in std::mem::take(&mut node.dirty) {
            node.store(sector);
        }
    }

    /// Stores an arbitrary part of the data that a sync would store. The cache regards all of it as
    /// stored.
    pub fn lose_sync(&mut self, inode: Inode, dice: &mut Dice) {
        let node = &mut self.nodes[inode];
        if dice.percent(50) {
            node.durable.resize(node.cached.len(), 0);
        }
        for sector in std::mem::take(&mut node.dirty) {
            if dice.percent(50) {
                node.store(sector);
            }
        }
    }

    /// Drops the cache of a file that was synced.
    pub fn drop_cache(&mut self, inode: Inode) {
        let node = &mut self.nodes[inode];
        if node.dirty.is_empty() {
            node.cached = node.durable.clone();
        }
    }

    pub fn sync_directory(&mut self, directory: Inode) {
        if self.bug == Some(PlantedBug::NoDirectorySync) {
            return;
        }
        let node = &mut self.nodes[directory];
        node.durable_names = node.names.clone();
        node.changes.clear();
    }

    pub fn lock(&mut self, inode: Inode, process: usize) -> bool {
        if self.is_locked_by_other(inode, process)
            || self.nodes[inode].shared_by.iter().any(|other| *other != process)
        {
            return false;
        }
        self.nodes[inode].locked_by = Some(process);
        true
    }

    pub fn share_lock(&mut self, inode: Inode, process: usize) -> bool {
        let is_free = !self.is_locked_by_other(inode, process);
        if is_free {
            self.nodes[inode].shared_by.push(process);
        }
        is_free
    }

    fn is_locked_by_other(&self, inode: Inode, process: usize) -> bool {
        let holder = self.nodes[inode].locked_by;
        self.bug != Some(PlantedBug::NoLock) && holder.is_some_and(|holder| holder != process)
    }

    pub fn unlock(&mut self, inode: Inode, process: usize) {
        let node = &mut self.nodes[inode];
        node.locked_by = node.locked_by.filter(|holder| *holder != process);
        node.shared_by.retain(|other| *other != process);
    }

    /// Releases all locks of a process that ended.
    pub fn unlock_all(&mut self, process: usize) {
        (0..self.nodes.len()).for_each(|inode| self.unlock(inode, process));
    }

    /// Loses the cache.
    pub fn crash(&mut self, dice: &mut Dice) {
        for node in &mut self.nodes {
            let (before, after) = (node.durable.len(), node.cached.len());
            if before != after {
                let between =
                    before.min(after) + dice.below(before.abs_diff(after) as u64) as usize;
                node.durable.resize(*dice.choose(&[before, after, after, between]), 0);
            }
            for sector in std::mem::take(&mut node.dirty) {
                if dice.percent(60) {
                    node.store(sector);
                }
            }
            node.cached = node.durable.clone();
            for change in std::mem::take(&mut node.changes) {
                if dice.percent(60) {
                    change.apply(&mut node.durable_names);
                }
            }
            node.names = node.durable_names.clone();
            node.locked_by = None;
            node.shared_by.clear();
        }
    }
}

impl Node {
    /// Stores a sector, up to the stored size.
    fn store(&mut self, sector: usize) {
        let from = sector * SECTOR;
        let to = (from + SECTOR).min(self.cached.len()).min(self.durable.len());
        if from < to {
            self.durable[from..to].copy_from_slice(&self.cached[from..to]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with two synced and two unsynced sectors.
    fn half_synced() -> (Disk, Inode) {
        let mut disk = Disk::new(None);
        let file = disk.create(ROOT, "file", false).unwrap();
        disk.append(file, &[1; 2 * SECTOR]).unwrap();
        disk.sync(file);
        disk.sync_directory(ROOT);
        disk.append(file, &[2; 2 * SECTOR]).unwrap();
        (disk, file)
    }

    #[test]
    fn a_crash_keeps_what_was_synced_and_any_choice_of_the_rest() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..200 {
            let (mut disk, file) = half_synced();
            disk.crash(&mut Dice::new(seed));
            assert_eq!(disk.find(ROOT, "file").unwrap(), file);
            let content = disk.read(file, 0, usize::MAX);
            assert_eq!(content[..2 * SECTOR], [1; 2 * SECTOR]);
            let rest = content[2 * SECTOR..].chunks(SECTOR);
            let rest: Vec<u8> = rest.map(|sector| sector[0]).collect();
            outcomes.insert(rest);
        }
        for possible in [&[][..], &[0], &[2], &[0, 0], &[0, 2], &[2, 0], &[2, 2]] {
            assert!(outcomes.contains(possible), "{possible:?} in {outcomes:?}");
        }
    }

    #[test]
    fn names_that_were_not_synced_come_and_go() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..100 {
            let mut disk = Disk::new(None);
            disk.create(ROOT, "old", false).unwrap();
            disk.sync_directory(ROOT);
            disk.rename(ROOT, "old", "new").unwrap();
            disk.create(ROOT, "other", false).unwrap();
            disk.crash(&mut Dice::new(seed));
            outcomes.insert(disk.names(ROOT).join(" "));
        }
        let expected = ["new", "new other", "old", "old other"].map(str::to_owned);
        assert_eq!(outcomes, BTreeSet::from(expected));
    }

    #[test]
    fn a_lost_sync_shows_only_when_the_cache_is_gone() {
        let mut differs = 0;
        for seed in 0..20 {
            let (mut disk, file) = half_synced();
            disk.lose_sync(file, &mut Dice::new(seed));
            let cached = disk.read(file, 0, usize::MAX).to_vec();
            assert_eq!(cached.len(), 4 * SECTOR);
            disk.sync(file);
            disk.drop_cache(file);
            differs += usize::from(disk.read(file, 0, usize::MAX) != cached);
        }
        assert!(differs > 10, "{differs}");
    }
}
