//! Open directories and files of the simulated disk.

use crate::disk::{Disk, Inode, ROOT, error};
use crate::fault::{CallKind, InjectedFault, PlantedBug};
use crate::world::{Process, WorldState};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::TryLockError;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use steadfast_host::{Directory, FileError, OutputStorage, OverwritePolicy, ReadAccess};
use steadfast_recorder::MarkStorage;
use steadfast_runner::storage::{RunStorage, StoredFile};

const ROOT_PATH: &str = "/simulated";

/// A directory that a process has open.
#[derive(Debug, Clone)]
pub struct SimulatedDirectory {
    process: Process,
    inode: Inode,
    path: PathBuf,
}

/// A file that a process has open.
#[derive(Debug)]
pub struct SimulatedFile {
    process: Process,
    inode: Inode,
    position: usize,
    name: String,
    holds_lock: Cell<bool>,
}

/// Returns the error of a call hit by a fault, unless the call handles the fault itself.
fn check_fault(state: &mut WorldState, fault: Option<InjectedFault>) -> io::Result<()> {
    match fault {
        Some(InjectedFault::Error) => Err(error(libc::EIO)),
        Some(InjectedFault::NoSpace) => Err(error(libc::ENOSPC)),
        Some(InjectedFault::Interrupted) => Err(error(libc::EINTR)),
        Some(InjectedFault::Full) => {
            state.disk.is_full = true;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn text(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

impl SimulatedDirectory {
    /// Opens the root of the disk.
    pub fn root(process: &Process) -> SimulatedDirectory {
        SimulatedDirectory { process: process.clone(), inode: ROOT, path: ROOT_PATH.into() }
    }

    /// Opens a file in this directory for reading.
    pub fn open_named(&self, name: &str) -> Result<SimulatedFile, FileError> {
        RunStorage::open_file(self, OsStr::new(name))
    }

    fn call<T>(
        &self,
        kind: CallKind,
        name: &str,
        effect: impl FnOnce(&mut WorldState, Inode) -> io::Result<T>,
    ) -> io::Result<T> {
        self.process.call(kind, &|| name.to_owned(), |state, fault| {
            check_fault(state, fault)?;
            effect(state, self.inode)
        })
    }

    fn failed(&self, action: &'static str, name: &str) -> impl FnOnce(io::Error) -> FileError {
        let path = self.path.join(name);
        move |source| FileError::Io { action, path, source }
    }

    fn file(&self, inode: Inode, name: &OsStr) -> SimulatedFile {
        SimulatedFile::new(&self.process, inode, text(name))
    }
}

impl RunStorage for SimulatedDirectory {
    type File = SimulatedFile;
    fn path(&self) -> &Path {
        &self.path
    }
    fn on_this_host(&self) -> Option<&Directory> {
        None
    }
    fn foreign_writer(&self) -> Result<Option<String>, FileError> {
        let looked = self.call(CallKind::Look, "owner", |_, _| Ok(None));
        looked.map_err(self.failed("examine the directory", ""))
    }
    fn names(&self) -> Result<Vec<OsString>, FileError> {
        let names = self.call(CallKind::Look, "names", |state, directory| {
            Ok(state.disk.names(directory).into_iter().map(OsString::from).collect())
        });
        names.map_err(self.failed("list the directory", ""))
    }
    fn make_new(&self, name: &OsStr, _: ReadAccess) -> Result<Self, FileError> {
        let name = &text(name);
        let inode = self.call(CallKind::Create, name, |state, directory| {
            state.disk.create(directory, name, true)
        });
        let inode = inode.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists(self.path.join(name)),
            _ => self.failed("create the directory", name)(source),
        })?;
        let made = SimulatedDirectory { inode, path: self.path.join(name), ..self.clone() };
        if let Err(source) = RunStorage::sync(self) {
            self.remove_made(&made);
            return Err(self.failed("create the directory", name)(source));
        }
        Ok(made)
    }
    fn enter(&self, name: &OsStr) -> Result<Self, FileError> {
        let name = &text(name);
        let inode = self.call(CallKind::Look, name, |state, directory| {
            state.disk.find(directory, name).and_then(|found| {
                let is_directory = state.disk.is_directory(found);
                if is_directory { Ok(found) } else { Err(error(libc::ENOTDIR)) }
            })
        });
        let inode = inode.map_err(self.failed("open the directory", name))?;
        Ok(SimulatedDirectory { inode, path: self.path.join(name), ..self.clone() })
    }
    fn remove_made(&self, made: &Self) {
        let name = made.path.file_name().map(text).unwrap_or_default();
        // A directory that is not empty is kept.
        let _ = self.call(CallKind::Remove, &name, |state, directory| {
            if state.disk.find(directory, &name)? == made.inode {
                state.disk.remove(directory, &name)?;
            }
            Ok(())
        });
    }
    fn create(&self, name: &OsStr, _: ReadAccess) -> io::Result<SimulatedFile> {
        let inode = self.call(CallKind::Create, &text(name), |state, directory| {
            state.disk.create(directory, &text(name), false)
        })?;
        Ok(self.file(inode, name))
    }
    fn open_file(&self, name: &OsStr) -> Result<SimulatedFile, FileError> {
        let inode = self.call(CallKind::Look, &text(name), |state, directory| {
            state.disk.find(directory, &text(name))
        });
        Ok(self.file(inode.map_err(self.failed("open it", &text(name)))?, name))
    }
    fn open_to_append(&self, name: &OsStr) -> Result<SimulatedFile, FileError> {
        self.open_file(name)
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), FileError> {
        let (from, to) = (text(from), text(to));
        let renamed = self.call(CallKind::Rename, &to, |state, directory| {
            state.disk.rename(directory, &from, &to)
        });
        renamed.map_err(self.failed("rename it", &from))
    }
    fn remove(&self, name: &OsStr) -> Result<(), FileError> {
        let name = text(name);
        let removed = self
            .call(CallKind::Remove, &name, |state, directory| state.disk.remove(directory, &name));
        removed.map_err(self.failed("remove it", &name))
    }
    fn remove_own(&self, name: &OsStr, file: &SimulatedFile) {
        OutputStorage::remove_own(self, name, file);
    }
    fn sync(&self) -> io::Result<()> {
        self.call(CallKind::SyncDirectory, "", |state, directory| {
            state.disk.sync_directory(directory);
            Ok(())
        })
    }
}

impl OutputStorage for SimulatedDirectory {
    type File = SimulatedFile;
    fn path(&self) -> &Path {
        &self.path
    }
    fn check_name(&self, name: &OsStr, existing: OverwritePolicy) -> Result<bool, FileError> {
        let name = &text(name);
        let found = self.call(CallKind::Look, name, |state, directory| {
            Ok(state.disk.find(directory, name).is_ok())
        });
        match (found.map_err(self.failed("examine it", name))?, existing) {
            (false, _) => Ok(true),
            (true, OverwritePolicy::Overwrite) => Ok(false),
            (true, OverwritePolicy::Keep) => Err(FileError::Exists(self.path.join(name))),
        }
    }
    fn create_file(&self, name: &OsStr, readers: ReadAccess) -> io::Result<SimulatedFile> {
        RunStorage::create(self, name, readers)
    }
    fn has_file(&self, name: &OsStr, file: &SimulatedFile) -> bool {
        let found = self.call(CallKind::Look, &text(name), |state, directory| {
            state.disk.find(directory, &text(name))
        });
        found.is_ok_and(|found| found == file.inode)
    }
    fn rename_to_unused(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (text(from), text(to));
        self.call(CallKind::Rename, &to, |state, directory| {
            state.disk.rename_to_free(directory, &from, &to)
        })
    }
    fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (text(from), text(to));
        self.call(CallKind::Rename, &to, |state, directory| {
            state.disk.rename(directory, &from, &to)
        })
    }
    fn remove_own(&self, name: &OsStr, file: &SimulatedFile) {
        // A killed process, which unwinds, makes no more calls.
        if std::thread::panicking() || !self.has_file(name, file) {
            return;
        }
        if self.process.world.state().disk.bug != Some(PlantedBug::KeptUnfinished) {
            let _ = RunStorage::remove(self, name);
        }
    }
    fn sync_names(&self) -> io::Result<()> {
        RunStorage::sync(self)
    }
    fn duplicate(file: &SimulatedFile) -> io::Result<SimulatedFile> {
        file.look(|_| ())?;
        Ok(SimulatedFile::new(&file.process, file.inode, file.name.clone()))
    }
    fn sync_file(file: &SimulatedFile) -> io::Result<()> {
        file.store(false)
    }
    fn has_name(file: &SimulatedFile) -> io::Result<bool> {
        StoredFile::has_name(file)
    }
}

impl MarkStorage for SimulatedDirectory {
    fn names(&self) -> Result<Vec<OsString>, FileError> {
        RunStorage::names(self)
    }
    fn open_to_append(&self, name: &OsStr) -> Result<SimulatedFile, FileError> {
        RunStorage::open_to_append(self, name)
    }
    fn lock(file: &SimulatedFile) -> io::Result<()> {
        StoredFile::lock(file)
    }
    fn share_lock(file: &SimulatedFile) -> Result<(), TryLockError> {
        file.take_lock(Disk::share_lock)
    }
    fn size_of(file: &SimulatedFile) -> io::Result<u64> {
        file.size()
    }
    fn read_at(file: &SimulatedFile, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        StoredFile::read_at(file, bytes, offset)
    }
}

impl SimulatedFile {
    fn new(process: &Process, inode: Inode, name: String) -> SimulatedFile {
        let holds_lock = Cell::new(false);
        SimulatedFile { process: process.clone(), inode, position: 0, name, holds_lock }
    }

    /// Takes the lock, or shares it, unless another process has it.
    fn take_lock(&self, take: fn(&mut Disk, Inode, usize) -> bool) -> Result<(), TryLockError> {
        let locked = self.call(CallKind::Lock, |state, fault| {
            check_fault(state, fault)?;
            Ok(take(&mut state.disk, self.inode, self.process.number))
        });
        match locked {
            Ok(true) => {
                self.holds_lock.set(true);
                Ok(())
            }
            Ok(false) => Err(TryLockError::WouldBlock),
            Err(error) => Err(TryLockError::Error(error)),
        }
    }

    fn call<T>(
        &self,
        kind: CallKind,
        effect: impl FnOnce(&mut WorldState, Option<InjectedFault>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.process.call(kind, &|| self.name.clone(), effect)
    }

    fn read_into(
        &self,
        state: &mut WorldState,
        fault: Option<InjectedFault>,
        position: usize,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let bug = state.disk.bug;
        if fault == Some(InjectedFault::Error) && bug == Some(PlantedBug::ErrorAsEnd) {
            return Ok(0);
        }
        if fault == Some(InjectedFault::Interrupted) && bug == Some(PlantedBug::InterruptedAsError)
        {
            return Err(error(libc::EIO));
        }
        check_fault(state, fault)?;
        let is_short = fault == Some(InjectedFault::Short);
        let most = if is_short { buffer.len().min(7) } else { buffer.len() };
        let bytes = state.disk.read(self.inode, position, most);
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn look<T>(&self, effect: impl FnOnce(&mut WorldState) -> T) -> io::Result<T> {
        self.call(CallKind::Look, |state, fault| {
            check_fault(state, fault)?;
            Ok(effect(state))
        })
    }

    /// Stores the file, and drops the cache if a `refresh` asks for it.
    fn store(&self, refreshes: bool) -> io::Result<()> {
        self.call(CallKind::Sync, |state, fault| {
            let WorldState { disk, dice, .. } = state;
            match fault {
                Some(InjectedFault::LostSync) => {
                    disk.lose_sync(self.inode, dice);
                    Err(error(libc::EIO))
                }
                fault => {
                    check_fault(state, fault)?;
                    let is_list = self.name.contains("targets.json");
                    if is_list && state.disk.bug == Some(PlantedBug::TornList) {
                        return Ok(());
                    }
                    state.disk.sync(self.inode);
                    if refreshes {
                        state.disk.drop_cache(self.inode);
                    }
                    Ok(())
                }
            }
        })
    }
}

impl Read for SimulatedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.call(CallKind::Read, |state, fault| {
            self.read_into(state, fault, self.position, buffer)
        })?;
        self.position += read;
        Ok(read)
    }
}

impl Seek for SimulatedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let size = StoredFile::size(self)?;
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => size.checked_add_signed(offset),
            SeekFrom::Current(offset) => (self.position as u64).checked_add_signed(offset),
        };
        let target = target.ok_or_else(|| error(libc::EINVAL))?;
        self.position = usize::try_from(target).unwrap_or(usize::MAX);
        Ok(target)
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // A killed process, which unwinds and drops its buffers, writes nothing more.
        if std::thread::panicking() {
            return Err(error(libc::EIO));
        }
        self.call(CallKind::Write, |state, fault| {
            if buffer == b"\n" && state.disk.bug == Some(PlantedBug::LostLineBreak) {
                return Ok(buffer.len());
            }
            if state.disk.bug == Some(PlantedBug::Leak) {
                std::mem::forget(vec![0u8; 1 << 20]);
            }
            if state.disk.bug == Some(PlantedBug::DoubledWrite) {
                state.disk.append(self.inode, buffer)?;
            }
            let part = state.dice.below(buffer.len() as u64) as usize;
            match fault {
                // The first part fits; the rest of the line gets the error.
                Some(InjectedFault::Full) if part > 0 => {
                    state.disk.append(self.inode, &buffer[..part])?;
                    state.disk.is_full = true;
                    Ok(part)
                }
                Some(InjectedFault::NoSpace | InjectedFault::Error) => {
                    // The write failed halfway.
                    state.disk.append(self.inode, &buffer[..part])?;
                    check_fault(state, fault).map(|()| 0)
                }
                Some(InjectedFault::Short) if part > 0 => {
                    state.disk.append(self.inode, &buffer[..part]).map(|()| part)
                }
                fault => {
                    check_fault(state, fault)?;
                    state.disk.append(self.inode, buffer).map(|()| buffer.len())
                }
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StoredFile for SimulatedFile {
    fn size(&self) -> io::Result<u64> {
        self.look(|state| state.disk.size(self.inode) as u64)
    }
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let position = usize::try_from(offset).unwrap_or(usize::MAX);
        self.call(CallKind::Read, |state, fault| self.read_into(state, fault, position, bytes))
    }
    fn has_name(&self) -> io::Result<bool> {
        self.look(|state| {
            let lasts = state.disk.bug == Some(PlantedBug::LastingName) && !self.holds_lock.get();
            lasts || state.disk.has_name(self.inode)
        })
    }
    fn foreign_writer(&self) -> io::Result<Option<String>> {
        self.look(|_| None)
    }
    fn grant(&self, _: ReadAccess) -> io::Result<()> {
        self.look(|_| ())
    }
    fn set_size(&self, size: u64) -> io::Result<()> {
        self.call(CallKind::Cut, |state, fault| {
            check_fault(state, fault)?;
            state.disk.set_size(self.inode, usize::try_from(size).unwrap_or(usize::MAX));
            Ok(())
        })
    }
    fn sync(&self) -> io::Result<()> {
        self.store(false)
    }
    fn refresh(&self) -> io::Result<()> {
        self.store(true)
    }
    fn lock(&self) -> io::Result<()> {
        loop {
            match self.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
    }
    fn try_lock(&self) -> Result<(), TryLockError> {
        self.take_lock(Disk::lock)
    }
}

impl Drop for SimulatedFile {
    /// Closing releases the lock.
    fn drop(&mut self) {
        if self.holds_lock.get() {
            self.process.world.state().disk.unlock(self.inode, self.process.number);
        }
    }
}
