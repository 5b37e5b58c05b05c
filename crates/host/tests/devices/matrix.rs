//! The in-use matrix: every use of a device or its file, combined with every name of the same
//! blocks. Each state is built separately from its own files, loop devices, namespaces and
//! processes, which are removed with it. No state may be armed, with any confirmation, and no byte
//! may change. The same names without a use are armed, which shows that the use causes the refusal.

mod stacks;

use super::{
    MIB, UndoCommand, add_partition, arm_confirmed, fill, inspected, part, partition_table,
    print_note, retry, run, skip,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use steadfast_domain::{Bytes, Device};
use steadfast_host::{Consent, SystemRoots, Target, arm, create_scratch, inspect};
use tempfile::TempDir;

/// Minimum number of states that must be refused.
const STATES_MIN: usize = 500;

/// Number of threads; a state spends most of its time waiting for a holder to release.
const WORKERS: usize = 16;

const IMAGE_LENGTH: u64 = 2 * MIB;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockUse {
    Mounted,
    MountedInAnotherNamespace,
    FileSystemContext,
    Swap,
    ExternalJournal,
    DeviceHeld(HoldMethod),
    MountedByLoopAbove,
    MountedBySecondLoop,
    MountedByReadOnlyLoop,
    FileHeld(HoldMethod),
    SwapFile,
}

const USES: [BlockUse; 21] = [
    BlockUse::Mounted,
    BlockUse::MountedInAnotherNamespace,
    BlockUse::FileSystemContext,
    BlockUse::Swap,
    BlockUse::ExternalJournal,
    BlockUse::DeviceHeld(HoldMethod::Exclusively),
    BlockUse::DeviceHeld(HoldMethod::Open),
    BlockUse::DeviceHeld(HoldMethod::Mapped),
    BlockUse::DeviceHeld(HoldMethod::ThreadOpen),
    BlockUse::DeviceHeld(HoldMethod::ThreadMapped),
    BlockUse::DeviceHeld(HoldMethod::ThreadTable),
    BlockUse::MountedByLoopAbove,
    BlockUse::MountedBySecondLoop,
    BlockUse::MountedByReadOnlyLoop,
    BlockUse::FileHeld(HoldMethod::Flock),
    BlockUse::FileHeld(HoldMethod::Posix),
    BlockUse::FileHeld(HoldMethod::Ofd),
    BlockUse::FileHeld(HoldMethod::Open),
    BlockUse::FileHeld(HoldMethod::Mapped),
    BlockUse::FileHeld(HoldMethod::Lease),
    BlockUse::SwapFile,
];

impl BlockUse {
    /// Returns true if this use of the file also blocks a loop device on it. The creator of a loop
    /// device may keep its file open, and no lease exists for that.
    fn blocks_loops(self) -> bool {
        !matches!(
            self,
            BlockUse::FileHeld(HoldMethod::Open | HoldMethod::Mapped | HoldMethod::Lease)
        )
    }

    /// Returns true for a use of the image that needs no loop device under test.
    fn is_of_file(self) -> bool {
        matches!(self, BlockUse::MountedByReadOnlyLoop | BlockUse::FileHeld(_) | BlockUse::SwapFile)
    }
}

/// Name under which the blocks are armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum ArmedName {
    Node,
    SymbolicLink,
    SecondNode,
    ByProc,
    SecondLoop,
    LoopOverHardLink,
    LoopOverBindMount,
    LoopOverLoop,
    LoopOverSecondNode,
    LoopOfAnotherNamespace,
    File,
    HardLink,
    LinkToFile,
    BoundFile,
}

const NAMES: [ArmedName; 14] = [
    ArmedName::Node,
    ArmedName::SymbolicLink,
    ArmedName::SecondNode,
    ArmedName::ByProc,
    ArmedName::SecondLoop,
    ArmedName::LoopOverHardLink,
    ArmedName::LoopOverBindMount,
    ArmedName::LoopOverLoop,
    ArmedName::LoopOverSecondNode,
    ArmedName::LoopOfAnotherNamespace,
    ArmedName::File,
    ArmedName::HardLink,
    ArmedName::LinkToFile,
    ArmedName::BoundFile,
];

impl ArmedName {
    fn is_of_file(self) -> bool {
        self >= ArmedName::File
    }
}

type BuildResult<T> = Result<T, String>;

/// The parts of a state, removed in reverse order.
struct StateFixture {
    undo: Vec<Box<dyn Send>>,
    directory: TempDir,
}

impl Drop for StateFixture {
    fn drop(&mut self) {
        while self.undo.pop().is_some() {}
    }
}

impl StateFixture {
    /// Creates a stage with an image that contains a file system.
    fn new() -> BuildResult<StateFixture> {
        let stage = StateFixture { undo: Vec::new(), directory: tempfile::tempdir().unwrap() };
        fs::write(stage.image(), ext4()?).unwrap();
        Ok(stage)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.at("image")
    }

    fn attach(&mut self, file: &Path, options: &[&str]) -> BuildResult<PathBuf> {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(file.to_str().unwrap());
        self.attach_by(|| run("losetup", &arguments))
    }

    /// Attaches a loop device. Retries, because two requests for a free device at the same time may
    /// get the same one.
    fn attach_by(&mut self, attach: impl Fn() -> BuildResult<String>) -> BuildResult<PathBuf> {
        let path = PathBuf::from(retry(40, attach)?);
        self.undo_with(&["losetup", "--detach"], &path);
        Ok(path)
    }

    /// Runs a program with the path as its last argument when the state is removed.
    fn undo_with(&mut self, command: &'static [&'static str], path: &Path) {
        self.undo.push(Box::new(UndoCommand(command, path.to_owned())));
    }

    fn bind_mount(&mut self, from: &Path, to: &Path) -> BuildResult<()> {
        run("mount", &["--bind", from.to_str().unwrap(), to.to_str().unwrap()])?;
        // A child process of another test may have a file of it open until exec.
        self.undo_with(&["umount", "--lazy"], to);
        Ok(())
    }

    fn second_node(&self, device: &Path) -> BuildResult<PathBuf> {
        let number = fs::metadata(device).unwrap().rdev();
        let (major, minor) = (libc::major(number).to_string(), libc::minor(number).to_string());
        let node = self.at("node");
        run("mknod", &[node.to_str().unwrap(), "b", &major, &minor])?;
        Ok(node)
    }

    /// Returns the path of the image through a bind mount.
    fn bound_image(&mut self) -> BuildResult<PathBuf> {
        let point = self.at("bound");
        fs::create_dir(&point).unwrap();
        let directory = self.directory.path().to_owned();
        self.bind_mount(&directory, &point)?;
        Ok(point.join("image"))
    }

    /// Creates the name and everything that it leads through.
    fn create_name(&mut self, name: ArmedName, device: Option<&Path>) -> BuildResult<PathBuf> {
        let image = self.image();
        let node = || device.unwrap().to_owned();
        Ok(match name {
            ArmedName::Node => node(),
            ArmedName::SymbolicLink => self.link_to(&node()),
            ArmedName::SecondNode => self.second_node(&node())?,
            ArmedName::ByProc => {
                Path::new("/proc/self/root").join(node().strip_prefix("/").unwrap())
            }
            ArmedName::SecondLoop => self.attach(&image, &[])?,
            ArmedName::LoopOverHardLink => {
                fs::hard_link(&image, self.at("hard")).unwrap();
                self.attach(&self.at("hard"), &[])?
            }
            ArmedName::LoopOverBindMount => {
                let bound = self.bound_image()?;
                self.attach(&bound, &[])?
            }
            ArmedName::LoopOverLoop => self.attach(&node(), &[])?,
            ArmedName::LoopOverSecondNode => {
                let second = self.second_node(&node())?;
                self.attach(&second, &[])?
            }
            ArmedName::LoopOfAnotherNamespace => self.loop_of_another_namespace()?,
            ArmedName::File => image,
            ArmedName::HardLink => {
                fs::hard_link(&image, self.at("hard")).unwrap();
                self.at("hard")
            }
            ArmedName::LinkToFile => self.link_to(&image),
            ArmedName::BoundFile => self.bound_image()?,
        })
    }

    fn link_to(&self, to: &Path) -> PathBuf {
        symlink(to, self.at("link")).unwrap();
        self.at("link")
    }

    /// Creates a loop device as a container does: its path is meaningless here.
    fn loop_of_another_namespace(&mut self) -> BuildResult<PathBuf> {
        let directory = self.directory.path().to_str().unwrap().to_owned();
        let script = format!("mount --bind {directory} /mnt && losetup --find --show /mnt/image");
        self.attach_by(|| run("unshare", &["--mount", "sh", "-c", &script]))
    }

    fn mount(&mut self, device: &Path) -> BuildResult<()> {
        let point = self.at("point");
        fs::create_dir_all(&point).unwrap();
        let (from, to) = (device.to_str().unwrap(), point.to_str().unwrap());
        run("mount", &["-o", "ro", "-t", "ext4", from, to])?;
        self.undo_with(&["umount"], &point);
        Ok(())
    }

    fn mount_in_another_namespace(&mut self, device: &Path) -> BuildResult<()> {
        let device = device.display();
        let script = format!("mount -o ro -t ext4 {device} /mnt && echo && exec sleep 900");
        self.run_in_another_namespace(&script)
    }

    /// Runs a script in a new mount namespace, up to its first line of output.
    fn run_in_another_namespace(&mut self, script: &str) -> BuildResult<()> {
        let mut child = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let is_ready = child.stdout.take().unwrap().read_exact(&mut [0]).is_ok();
        self.undo.push(Box::new(super::ChildProcess(child)));
        if is_ready { Ok(()) } else { Err("no use in another namespace".into()) }
    }

    fn swap(&mut self, path: &Path) -> BuildResult<()> {
        let name = path.to_str().unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        run("mkswap", &[name]).and_then(|_| run("swapon", &[name]))?;
        self.undo_with(&["swapoff"], path);
        Ok(())
    }

    /// Mounts a file system whose journal is the device.
    fn journal(&mut self, device: &Path) -> BuildResult<()> {
        let (journal, other) = (device.to_str().unwrap(), self.at("other"));
        run("mke2fs", &["-q", "-F", "-b", "1024", "-O", "journal_dev", journal])?;
        fs::write(&other, vec![0; 4 * MIB as usize]).unwrap();
        let over = self.attach(&other, &[])?;
        let option = format!("device={journal}");
        run("mkfs.ext4", &["-q", "-F", "-b", "1024", "-J", &option, over.to_str().unwrap()])?;
        self.mount(&over)
    }

    fn begin_use(&mut self, used: BlockUse, device: Option<&Path>) -> BuildResult<()> {
        let image = self.image();
        let node = || device.unwrap();
        match used {
            BlockUse::Mounted => self.mount(node()),
            BlockUse::MountedInAnotherNamespace => self.mount_in_another_namespace(node()),
            BlockUse::FileSystemContext => {
                let context =
                    super::open_ext4_context(node()).map_err(|error| error.to_string())?;
                self.undo.push(Box::new(context));
                Ok(())
            }
            BlockUse::Swap => self.swap(node()),
            BlockUse::ExternalJournal => self.journal(node()),
            BlockUse::DeviceHeld(how) => self.hold(node(), how),
            BlockUse::MountedByLoopAbove => {
                let above = self.attach(node(), &[])?;
                self.mount(&above)
            }
            BlockUse::MountedBySecondLoop => {
                let second = self.attach(&image, &[])?;
                self.mount(&second)
            }
            BlockUse::MountedByReadOnlyLoop => {
                let second = self.attach(&image, &["--read-only"])?;
                self.mount(&second)
            }
            BlockUse::FileHeld(how) => self.hold(&image, how),
            BlockUse::SwapFile => self.swap(&image),
        }
    }

    fn hold(&mut self, path: &Path, how: HoldMethod) -> BuildResult<()> {
        self.undo.push(Box::new(HolderProcess::new(path, how)?));
        Ok(())
    }
}

/// Returns an ext4 image, created once.
fn ext4() -> BuildResult<&'static [u8]> {
    static EXT4: OnceLock<BuildResult<Vec<u8>>> = OnceLock::new();
    let image = EXT4.get_or_init(|| {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(IMAGE_LENGTH).unwrap();
        run("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", file.path().to_str().unwrap()])?;
        Ok(fs::read(file.path()).unwrap())
    });
    image.as_deref().map_err(Clone::clone)
}

/// Way in which a separate process holds a file or a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HoldMethod {
    Open,
    Exclusively,
    Mapped,
    Flock,
    Posix,
    Ofd,
    Lease,
    /// Opened by a second thread, after the first has ended.
    ThreadOpen,
    /// Mapped by a second thread, with no file open.
    ThreadMapped,
    /// Opened by a thread with its own file table.
    ThreadTable,
}

struct HolderProcess(libc::pid_t);

impl HolderProcess {
    fn new(path: &Path, how: HoldMethod) -> BuildResult<HolderProcess> {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let (mut ready, ready_sender) = std::io::pipe().unwrap();
        // SAFETY: the child makes only system calls and never returns.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: as above; the path was allocated before the fork.
            unsafe { hold_until_killed(&path, how, ready_sender.as_raw_fd()) }
        }
        drop(ready_sender);
        let holder = HolderProcess(child);
        match ready.read_exact(&mut [0]) {
            Ok(()) => Ok(holder),
            Err(_) => Err(format!("no process could hold it ({how:?})")),
        }
    }
}

impl Drop for HolderProcess {
    fn drop(&mut self) {
        // SAFETY: takes integers and a null pointer; the child has not been waited for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Holds the file until the process is killed. Closes inherited descriptors, so that it holds
/// nothing of the other states.
///
/// # Safety
/// Must be called only in the child of a fork; makes only system calls.
unsafe fn hold_until_killed(path: &CString, how: HoldMethod, ready_sender: i32) -> ! {
    // SAFETY: system calls with integers and with strings that outlive them.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // This signal reports a broken lease.
        libc::signal(libc::SIGIO, libc::SIG_IGN);
        libc::dup2(ready_sender, 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        let flags = match how {
            HoldMethod::Exclusively => libc::O_RDONLY | libc::O_EXCL,
            // The lock alone must block, without an open for writing.
            HoldMethod::Flock | HoldMethod::Lease => libc::O_RDONLY,
            _ => libc::O_RDWR,
        };
        let file = libc::open(path.as_ptr(), flags);
        let mut range: libc::flock = std::mem::zeroed();
        range.l_type = libc::F_WRLCK as i16;
        let held = match how {
            HoldMethod::Open | HoldMethod::Exclusively => file,
            HoldMethod::Flock => libc::flock(file, libc::LOCK_SH | libc::LOCK_NB),
            HoldMethod::Lease => libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK),
            HoldMethod::Posix => libc::fcntl(file, libc::F_SETLK, &range),
            HoldMethod::Ofd => libc::fcntl(file, libc::F_OFD_SETLK, &range),
            HoldMethod::ThreadOpen | HoldMethod::ThreadTable => file,
            HoldMethod::Mapped | HoldMethod::ThreadMapped => {
                let both = libc::PROT_READ | libc::PROT_WRITE;
                let at = libc::mmap(std::ptr::null_mut(), 4096, both, libc::MAP_SHARED, file, 0);
                libc::close(file);
                if at == libc::MAP_FAILED { -1 } else { 0 }
            }
        };
        let mut is_held = file >= 0 && held >= 0;
        // This function never returns, so that it outlives the thread.
        let mut stack = [0u8; 16 << 10];
        if matches!(
            how,
            HoldMethod::ThreadOpen | HoldMethod::ThreadMapped | HoldMethod::ThreadTable
        ) {
            let table = if how == HoldMethod::ThreadTable { 0 } else { libc::CLONE_FILES };
            let shared = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_SIGHAND;
            let flags = shared | libc::CLONE_THREAD | libc::CLONE_SYSVSEM | table;
            let top = stack.as_mut_ptr_range().end.map_addr(|at| at & !15).cast();
            is_held &= libc::clone(wait_forever, top, flags, std::ptr::null_mut()) > 0;
        }
        if how == HoldMethod::ThreadTable {
            libc::close(file);
        }
        if is_held {
            libc::write(0, [1u8].as_ptr().cast(), 1);
        }
        libc::close(0);
        if matches!(how, HoldMethod::ThreadOpen | HoldMethod::ThreadMapped) {
            libc::syscall(libc::SYS_exit, 0);
        }
        wait_forever(std::ptr::null_mut());
        unreachable!()
    }
}

extern "C" fn wait_forever(_: *mut libc::c_void) -> i32 {
    loop {
        // SAFETY: takes no argument.
        unsafe { libc::pause() };
    }
}

/// A state: its name, and the function that builds and checks it.
struct MatrixState {
    name: String,
    check: Box<dyn FnOnce() -> BuildResult<()> + Send>,
}

impl MatrixState {
    fn new(
        name: impl Into<String>,
        check: impl FnOnce() -> BuildResult<()> + Send + 'static,
    ) -> MatrixState {
        MatrixState { name: name.into(), check: Box::new(check) }
    }
}

/// Tries to arm with the correct confirmation. Returns the text of a refusal.
fn try_arming(path: &Path) -> Result<Target, String> {
    let device = inspect(path, &SystemRoots::real()).map_err(|error| error.to_string())?;
    arm_confirmed(&device, &[]).map_err(|refusal| format!("{refusal}; {}", refusal.remedy()))
}

/// Asserts that a path is not armed and that a file keeps its content. A target that is armed
/// nevertheless is written to, so that the content shows it too.
fn must_be_refused(path: &Path, kept: &Path, length: usize) {
    let read = || {
        let mut bytes = fs::read(kept).unwrap();
        bytes.truncate(length);
        bytes
    };
    let before = read();
    let result = try_arming(path);
    assert!(before == read(), "bytes have changed");
    match result {
        Err(refusal) => {
            assert!(refusal.len() > 20 && !refusal.contains("not confirmed"), "{refusal}");
        }
        Ok(target) => panic!("ARMED: {target:?}"),
    }
}

fn used_state(used: BlockUse, name: ArmedName) -> MatrixState {
    MatrixState::new(format!("{used:?} / {name:?}"), move || {
        let mut stage = StateFixture::new()?;
        let image = stage.image();
        let device = if used.is_of_file() && name.is_of_file() {
            None
        } else {
            Some(stage.attach(&image, &[])?)
        };
        let path = stage.create_name(name, device.as_deref())?;
        stage.begin_use(used, device.as_deref())?;
        // The kernel may swap after the first page.
        let swaps = matches!(used, BlockUse::Swap | BlockUse::SwapFile);
        must_be_refused(&path, &image, if swaps { 4096 } else { IMAGE_LENGTH as usize });
        Ok(())
    })
}

/// Asserts that a name is armed if nothing uses the blocks.
fn free_state(name: ArmedName) -> MatrixState {
    MatrixState::new(format!("free / {name:?}"), move || {
        if name == ArmedName::LoopOfAnotherNamespace && is_overlay_mounted() {
            return Err(
                "an overlay is mounted here, and its file could be one of its layers".into()
            );
        }
        let mut stage = StateFixture::new()?;
        let image = stage.image();
        let device = if name.is_of_file() { None } else { Some(stage.attach(&image, &[])?) };
        let path = stage.create_name(name, device.as_deref())?;
        let target = try_arming(&path).unwrap();
        fill(&target, 0x5a);
        drop(target);
        // The layers in between write through the page cache.
        device.iter().for_each(|device| File::open(device).unwrap().sync_all().unwrap());
        assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == 0x5a));
        Ok(())
    })
}

/// Returns true if a process of this machine sees an overlay.
fn is_overlay_mounted() -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mounts = |process: fs::DirEntry| fs::read_to_string(process.path().join("mountinfo")).ok();
    processes.filter_map(mounts).any(|mounts| mounts.contains(" - overlay "))
}

/// Creates a loop device with two partitions; the first contains an ext4 file system.
fn partitioned() -> BuildResult<(StateFixture, PathBuf)> {
    let mut stage = StateFixture::new()?;
    let sectors = (IMAGE_LENGTH / 512) as u32;
    let starts = [2048, 2048 + sectors];
    let mut image = partition_table(starts, sectors).to_vec();
    image.resize(MIB as usize, 0);
    image.extend(ext4()?);
    image.resize((MIB + 2 * IMAGE_LENGTH) as usize, 0);
    fs::write(stage.image(), &image).unwrap();
    let device = stage.attach(&stage.image(), &["--partscan"])?;
    for (number, start) in [(1, starts[0]), (2, starts[1])] {
        add_partition(&device, number, start, sectors)?;
    }
    Ok((stage, device))
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A partition in use blocks itself and its disk, by every name.
fn partition_states() -> Vec<MatrixState> {
    let uses = [
        BlockUse::Mounted,
        BlockUse::MountedInAnotherNamespace,
        BlockUse::FileSystemContext,
        BlockUse::Swap,
        BlockUse::DeviceHeld(HoldMethod::Exclusively),
        BlockUse::DeviceHeld(HoldMethod::Open),
        BlockUse::DeviceHeld(HoldMethod::Mapped),
        BlockUse::MountedByLoopAbove,
    ];
    let names =
        [None, Some(ArmedName::Node), Some(ArmedName::SecondNode), Some(ArmedName::SecondLoop)];
    let all = uses.iter().flat_map(|used| names.iter().map(move |name| (*used, *name)));
    let state = |(used, name): (BlockUse, Option<ArmedName>)| {
        MatrixState::new(format!("partition {used:?} / {name:?}"), move || {
            let (mut stage, device) = partitioned()?;
            let first = part(&device, 1);
            let path = match name {
                None => first.clone(),
                Some(name) => stage.create_name(name, Some(&device))?,
            };
            stage.begin_use(used, Some(&first))?;
            let length = if used == BlockUse::Swap { MIB } else { u64::MAX };
            must_be_refused(&path, &stage.image(), length as usize);
            Ok(())
        })
    };
    all.map(state).collect()
}

/// Paths that can never be targets.
fn special_states() -> Vec<MatrixState> {
    let fixed = [
        "/",
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/block/loop0/queue/nomerges",
        "/proc/sys/vm/swappiness",
        "/proc/self/oom_score_adj",
        "/proc/self/mem",
        "/no/such/device",
    ];
    let mut states: Vec<MatrixState> = fixed
        .into_iter()
        .map(|path| {
            MatrixState::new(format!("special {path}"), move || {
                // Forged facts, which claim that the path is a file.
                let file = tempfile::NamedTempFile::new().unwrap();
                fs::write(file.path(), [0; 4096]).unwrap();
                let genuine = inspected(file.path());
                let forged = Device { path: path.into(), ..genuine };
                assert!(arm_confirmed(&forged, &[]).is_err(), "armed");
                assert!(inspect(Path::new(path), &SystemRoots::real()).is_err(), "inspected");
                Ok(())
            })
        })
        .collect();
    states.push(MatrixState::new("special FIFO", || {
        let stage = StateFixture::new()?;
        run("mkfifo", &[stage.at("pipe").to_str().unwrap()])?;
        must_be_refused(&stage.at("pipe"), &stage.image(), usize::MAX);
        Ok(())
    }));
    states.push(MatrixState::new("special socket", || {
        let stage = StateFixture::new()?;
        let _listening = UnixListener::bind(stage.at("socket")).unwrap();
        must_be_refused(&stage.at("socket"), &stage.image(), usize::MAX);
        Ok(())
    }));
    for kind in ["memfd", "deleted", "O_TMPFILE"] {
        states.push(MatrixState::new(format!("special {kind}"), move || {
            let stage = StateFixture::new()?;
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let file = match kind {
                "memfd" => memfd_create("x", MemfdFlags::empty()).unwrap().into(),
                "deleted" => {
                    let file = options.open(stage.image()).unwrap();
                    fs::remove_file(stage.image()).unwrap();
                    file
                }
                _ => {
                    options.custom_flags(libc::O_TMPFILE);
                    options.open(stage.directory.path()).map_err(|error| error.to_string())?
                }
            };
            file.set_len(MIB).unwrap();
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            must_be_refused(&path, &path, usize::MAX);
            Ok(())
        }));
    }
    states.push(MatrixState::new("read-only loop", || {
        let mut stage = StateFixture::new()?;
        let device = stage.attach(&stage.image(), &["--read-only"])?;
        must_be_refused(&device, &stage.image(), usize::MAX);
        Ok(())
    }));
    states.extend([0u64, 256, 1536, 1792].map(|kib| {
        MatrixState::new(format!("ZFS label at {kib} KiB"), move || {
            let mut stage = StateFixture::new()?;
            let mut image = vec![0; IMAGE_LENGTH as usize];
            let at = (kib as usize + 128) << 10;
            image[at..at + 8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
            fs::write(stage.image(), image).unwrap();
            let device = stage.attach(&stage.image(), &[])?;
            must_be_refused(&device, &stage.image(), usize::MAX);
            Ok(())
        })
    }));
    states
}

/// A partition in a simulated `/sys`.
#[derive(Clone, Copy)]
struct PartitionEntry {
    number: u32,
    start: u64,
    sectors: u64,
}

impl PartitionEntry {
    fn new(number: u32, start: u64, sectors: u64) -> PartitionEntry {
        PartitionEntry { number, start, sectors }
    }
}

/// A machine whose only disk is a loop device, with a simulated `/sys` and `/proc` that can show
/// features that this kernel lacks.
struct SimulatedMachine {
    stage: StateFixture,
    device: PathBuf,
    roots: SystemRoots,
    disk: PathBuf,
}

impl SimulatedMachine {
    fn new() -> BuildResult<SimulatedMachine> {
        let mut stage = StateFixture::new()?;
        let device = stage.attach(&stage.image(), &[])?;
        let number = fs::metadata(&device).unwrap().rdev();
        let number = format!("{}:{}", libc::major(number), libc::minor(number));
        let roots =
            SystemRoots { sys: stage.at("sys"), proc: stage.at("proc"), ..SystemRoots::real() };
        let machine = SimulatedMachine { disk: stage.at("sys/devices/disk"), stage, device, roots };
        machine.block("disk", &number, IMAGE_LENGTH / 512);
        machine.write("proc/swaps", "Filename Type Size Used Priority\n");
        machine.write("proc/locks", "");
        for process in ["self", "1"] {
            machine
                .write(&format!("proc/{process}/mountinfo"), "1 1 0:20 / / rw - tmpfs tmpfs rw\n");
        }
        machine.link("proc/self/ns/pid", "pid:[4026531836]");
        machine.link("proc/self/ns/mnt", "mnt:[4026531832]");
        machine.link("proc/self/root", "/");
        fs::create_dir_all(machine.stage.at("proc/1")).unwrap();
        Ok(machine)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.stage.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) {
        let path = self.stage.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// Adds a block device; `disk` gets the kernel name of the loop device.
    fn block(&self, name: &str, number: &str, sectors: u64) {
        let kernel_name = match name {
            "disk" => file_name(&self.device),
            other => other,
        };
        let at = format!("sys/devices/{name}/{kernel_name}");
        self.write(&format!("{at}/dev"), number);
        self.write(&format!("{at}/size"), &sectors.to_string());
        self.write(&format!("{at}/ro"), "0");
        for list in [
            format!("sys/block/{kernel_name}"),
            format!("sys/class/block/{kernel_name}"),
            format!("sys/dev/block/{number}"),
        ] {
            self.link(&list, self.stage.at(&at));
        }
    }

    /// Turns the device into a partition of a new disk that has another partition.
    fn make_partition(&self, own: PartitionEntry, other: PartitionEntry) {
        self.write("sys/devices/disk/dev", "8:90");
        self.write("sys/devices/disk/ro", "0");
        self.write("sys/devices/disk/size", "1000000");
        self.write("sys/devices/disk/other/dev", "8:91");
        self.link("sys/dev/block/8:91", self.stage.at("sys/devices/disk/other"));
        for (name, entry) in [(file_name(&self.device), own), ("other", other)] {
            let directory = format!("sys/devices/disk/{name}");
            self.write(&format!("{directory}/partition"), &entry.number.to_string());
            self.write(&format!("{directory}/start"), &entry.start.to_string());
            self.write(&format!("{directory}/size"), &entry.sectors.to_string());
        }
    }

    fn mount_other(&self) {
        let lines = "1 1 0:20 / / rw - tmpfs tmpfs rw\n2 1 8:91 / /other rw - ext4 /dev/other rw\n";
        self.write("proc/self/mountinfo", lines);
    }

    fn node(&self) -> PathBuf {
        self.disk.join(self.device.file_name().unwrap())
    }

    fn add_holder(&self, name: &str, uuid: &str) {
        self.block(name, "252:7", 1);
        self.write(&format!("sys/devices/{name}/{name}/dm/name"), "vault");
        self.write(&format!("sys/devices/{name}/{name}/dm/uuid"), uuid);
        let holders = self.node().join("holders");
        fs::create_dir_all(&holders).unwrap();
        symlink(self.stage.at(&format!("sys/devices/{name}/{name}")), holders.join(name)).unwrap();
    }

    fn try_arming(&self) -> Result<Target, String> {
        let device = inspect(&self.device, &self.roots).map_err(|error| error.to_string())?;
        let confirmation = Some(device.confirmation().to_owned());
        arm(&device, &Consent::Destroy { confirmation }, &[], &self.roots)
            .map_err(|refusal| refusal.to_string())
    }
}

/// A state of a simulated machine, refused with a text that contains `expected`. Without the state,
/// the machine's disk is armed.
fn simulated(name: &str, expected: &'static str, change: fn(&SimulatedMachine)) -> MatrixState {
    MatrixState::new(format!("simulated: {name}"), move || {
        let machine = SimulatedMachine::new()?;
        drop(machine.try_arming().unwrap());
        let before = fs::read(machine.stage.image()).unwrap();
        change(&machine);
        let refusal = machine.try_arming().expect_err("ARMED");
        assert!(refusal.contains(expected), "{refusal}");
        assert!(before == fs::read(machine.stage.image()).unwrap());
        Ok(())
    })
}

/// Uses that need features of another kernel.
fn foreign_states() -> Vec<MatrixState> {
    vec![
        simulated("LVM", "LVM vault", |m| m.add_holder("dm-0", "LVM-1")),
        simulated("crypt", "crypt vault", |m| m.add_holder("dm-1", "CRYPT-LUKS2-1")),
        simulated("multipath", "multipath vault", |m| m.add_holder("dm-2", "mpath-1")),
        simulated("md", "held by md0", |m| m.add_holder("md0", "")),
        simulated("bcache", "held by bcache0", |m| m.add_holder("bcache0", "")),
        simulated("btrfs member", "mounted on /data", |m| {
            m.block("other", "8:99", 9);
            m.link("sys/fs/btrfs/1/devices/other", "/");
            let name = m.device.file_name().unwrap().to_str().unwrap().to_owned();
            m.link(&format!("sys/fs/btrfs/1/devices/{name}"), "/");
            m.write("proc/self/mountinfo", "1 1 8:99 / /data rw - btrfs /dev/other rw\n");
        }),
        simulated("XFS log", "mounted on /x", |m| {
            let line = format!("1 1 8:99 / /x rw - xfs /dev/a rw,logdev={}\n", m.device.display());
            m.write("proc/self/mountinfo", &line);
        }),
        simulated("XFS realtime device", "mounted on /x", |m| {
            let line = format!("1 1 8:99 / /x rw - xfs /dev/a rw,rtdev={}\n", m.device.display());
            m.write("proc/self/mountinfo", &line);
        }),
        simulated("partition that overlaps a mounted one", "other: mounted on /other", |m| {
            m.make_partition(
                PartitionEntry::new(2, 40_000, IMAGE_LENGTH / 512),
                PartitionEntry::new(1, 64, 131_072),
            );
            m.mount_other();
        }),
        simulated("partition in which a mounted one lies", "other: mounted on /other", |m| {
            m.make_partition(
                PartitionEntry::new(1, 64, IMAGE_LENGTH / 512),
                PartitionEntry::new(2, 100, 8),
            );
            m.mount_other();
        }),
        simulated("extended partition of a mounted one", "other: mounted on /other", |m| {
            m.make_partition(PartitionEntry::new(2, 4096, 2), PartitionEntry::new(5, 8192, 100));
            m.mount_other();
        }),
        simulated("partition beside one of unknown sectors", "which sectors other has", |m| {
            m.make_partition(
                PartitionEntry::new(2, 40_000, IMAGE_LENGTH / 512),
                PartitionEntry::new(1, 64, 10),
            );
            fs::remove_file(m.stage.at("sys/devices/disk/other/start")).unwrap();
        }),
        simulated("mount of a thread", "mounted on /inner", |m| {
            let number = fs::read_to_string(m.node().join("dev")).unwrap();
            fs::create_dir_all(m.stage.at("proc/77/task/78")).unwrap();
            m.write("proc/78/mountinfo", &format!("1 1 {number} / /inner rw - ext4 /x rw\n"));
            m.link("proc/78/ns/mnt", "mnt:[78]");
            m.link("proc/78/root", "/");
        }),
        simulated("mount of another process", "mounted on /inner", |m| {
            let number = fs::read_to_string(m.node().join("dev")).unwrap();
            fs::create_dir_all(m.stage.at("proc/77/task/77")).unwrap();
            m.write("proc/77/mountinfo", &format!("1 1 {number} / /inner rw - ext4 /x rw\n"));
            m.link("proc/77/ns/mnt", "mnt:[77]");
            m.link("proc/77/root", "/");
        }),
    ]
}

/// Machines that do not report a fact, or report it under another name.
fn silent_states() -> Vec<MatrixState> {
    vec![
        simulated("no mountinfo", "mountinfo", |m| {
            fs::remove_file(m.stage.at("proc/self/mountinfo")).unwrap();
        }),
        simulated("mountinfo that is not understood", "not understood", |m| {
            m.write("proc/self/mountinfo", "what is this\n");
        }),
        simulated("no swaps", "swaps", |m| fs::remove_file(m.stage.at("proc/swaps")).unwrap()),
        simulated("no locks", "locks", |m| fs::remove_file(m.stage.at("proc/locks")).unwrap()),
        simulated("no /proc", "proc", |m| fs::remove_dir_all(m.stage.at("proc")).unwrap()),
        simulated("no /sys", "sys", |m| fs::remove_dir_all(m.stage.at("sys")).unwrap()),
        simulated("no /sys/block", "sys/block", |m| {
            fs::remove_dir_all(m.stage.at("sys/block")).unwrap();
        }),
        simulated("holders that cannot be listed", "holders", |m| {
            fs::write(m.node().join("holders"), "no directory").unwrap();
        }),
        simulated("open files that cannot be listed", "list its open files", |m| {
            m.write("proc/77/fd", "no directory");
            fs::create_dir_all(m.stage.at("proc/77/task/77")).unwrap();
            m.write("proc/77/mountinfo", "");
            m.link("proc/77/ns/mnt", "mnt:[4026531832]");
            m.link("proc/77/root", "/");
        }),
        simulated("PID namespace of a container", "--pid=host", |m| {
            fs::remove_file(m.stage.at("proc/self/ns/pid")).unwrap();
            m.link("proc/self/ns/pid", "pid:[4026532000]");
        }),
        simulated("/proc that hides processes", "hidepid", |m| {
            fs::remove_dir_all(m.stage.at("proc/1")).unwrap();
        }),
        simulated("swap under another name", "swap", |m| {
            let node = m.stage.second_node(&m.device).unwrap();
            let text = format!("head\n{} partition 9 0 -2\n", node.display());
            m.write("proc/swaps", &text);
        }),
        simulated("swap device that is not known", "swaps to", |m| {
            m.write("proc/swaps", "head\n/dev/none partition 9 0 -2\n");
        }),
        simulated("loop device that cannot be asked", "find what it is built on", |m| {
            m.block("loop999", "7:999", 9);
            fs::create_dir(m.stage.at("sys/devices/loop999/loop999/loop")).unwrap();
        }),
        simulated("read-only", "read-only", |m| fs::write(m.node().join("ro"), "1").unwrap()),
    ]
}

/// Outcomes of states.
#[derive(Default)]
struct MatrixOutcomes {
    /// Number of states that passed.
    passed: usize,
    /// The states that failed, each with its message.
    failed: Vec<String>,
    /// The states that could not be built, each with its message.
    skipped: Vec<String>,
}

/// Runs states on many threads.
fn check_states(states: Vec<MatrixState>) -> MatrixOutcomes {
    // A loop device in use whose backing file cannot be traced blocks other files: states that must
    // be armed and states that must be refused run alternately.
    static CHECKING: Mutex<()> = Mutex::new(());
    let _lock = CHECKING.lock().unwrap_or_else(PoisonError::into_inner);
    let queue = Mutex::new(states);
    let outcomes = Mutex::new(MatrixOutcomes::default());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(state) = queue.lock().unwrap().pop() else { return };
                    let MatrixState { name, check } = state;
                    let result = catch_unwind(AssertUnwindSafe(check));
                    let mut outcomes = outcomes.lock().unwrap();
                    match result {
                        Ok(Ok(())) => outcomes.passed += 1,
                        Ok(Err(why)) => outcomes.skipped.push(format!("{name}: {why}")),
                        Err(panic) => {
                            let message = panic.downcast_ref::<String>().cloned();
                            let message = message.unwrap_or_else(|| "see above".into());
                            outcomes.failed.push(format!("{name}: {message}"));
                        }
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

fn can_attach() -> bool {
    match StateFixture::new().and_then(|mut stage| stage.attach(&stage.image(), &[])) {
        Ok(_) => true,
        Err(error) => {
            skip(&error);
            false
        }
    }
}

/// Takes about two minutes.
#[test]
fn nothing_in_use_is_armed_by_any_name() {
    if !can_attach() {
        return;
    }
    let all = USES.iter().flat_map(|used| NAMES.iter().map(move |name| (*used, *name)));
    let counts = |(used, name): &(BlockUse, ArmedName)| used.blocks_loops() || name.is_of_file();
    let mut states: Vec<MatrixState> =
        all.filter(counts).map(|(used, name)| used_state(used, name)).collect();
    states.extend(partition_states());
    states.extend(stacks::states());
    states.extend(special_states());
    states.extend(foreign_states());
    states.extend(silent_states());
    let all = states.len();
    let MatrixOutcomes { passed: refused, failed, skipped } = check_states(states);
    for state in &skipped {
        skip(state);
    }
    print_note(&format!(
        "in-use matrix: {refused} of {all} states refused, {} failed",
        failed.len()
    ));
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(refused + skipped.len(), all);
    assert!(all >= STATES_MIN && refused >= STATES_MIN.min(all - skipped.len()), "{refused}");
}

#[test]
fn a_free_device_is_armed_by_every_name() {
    if !can_attach() {
        return;
    }
    let MatrixOutcomes { passed: armed, failed, skipped } =
        check_states(NAMES.iter().map(|name| free_state(*name)).collect());
    skipped.iter().for_each(|state| skip(state));
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(armed + skipped.len(), NAMES.len());
}

/// A partition is armed if it shares no sector with a mounted one next to it.
#[test]
fn a_partition_that_touches_a_mounted_one_is_armed() {
    if !can_attach() {
        return;
    }
    let sectors = IMAGE_LENGTH / 512;
    for other in [
        PartitionEntry::new(1, 64, 39_936),
        PartitionEntry::new(3, 40_000 + sectors, 9),
        PartitionEntry::new(5, 100, 9),
    ] {
        let machine = SimulatedMachine::new().unwrap();
        machine.make_partition(PartitionEntry::new(2, 40_000, sectors), other);
        machine.mount_other();
        drop(machine.try_arming().unwrap());
    }
}

/// Switches a link 1,000 times between a scratch file and another file: only the scratch file is
/// ever armed.
#[test]
fn a_link_that_is_switched_all_the_time_never_arms_the_other_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    create_scratch(&at("scratch"), Bytes(MIB)).unwrap();
    fs::write(at("other"), vec![b'x'; MIB as usize]).unwrap();
    symlink(at("scratch"), at("link")).unwrap();
    let scratch = fs::metadata(at("scratch")).unwrap().ino();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..1000 {
                let to = if turn % 2 == 0 { "other" } else { "scratch" };
                symlink(at(to), at("next")).unwrap();
                fs::rename(at("next"), at("link")).unwrap();
                std::thread::sleep(Duration::from_micros(500));
            }
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            let Ok(device) = inspect(&at("link"), &SystemRoots::real()) else { continue };
            // Confirmed by the scratch file's name only.
            let Ok(target) = super::arm_with(&device, Some("scratch")) else { continue };
            assert_eq!(
                File::from(target.fd().try_clone_to_owned().unwrap()).metadata().unwrap().ino(),
                scratch
            );
            fill(&target, 0x5a);
        }
    });
    assert!(fs::read(at("other")).unwrap().iter().all(|byte| *byte == b'x'));
}

/// An armed target also holds other devices on the same blocks, and locks the file against
/// programs that use locks.
#[test]
fn what_is_armed_cannot_be_used_by_others() {
    if !can_attach() {
        return;
    }
    let mut stage = StateFixture::new().unwrap();
    let image = stage.image();
    let below = stage.attach(&image, &[]).unwrap();
    let over = stage.attach(&below, &[]).unwrap();
    let target = try_arming(&over).unwrap();
    let exclusively =
        |path: &Path| OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path).map(drop);
    for path in [&below, &over] {
        let error = exclusively(path).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBUSY), "{}", path.display());
    }
    assert!(stage.mount(&below).is_err());
    drop(target);

    let mut stage = StateFixture::new().unwrap();
    let target = try_arming(&stage.image()).unwrap();
    for how in [HoldMethod::Flock, HoldMethod::Posix, HoldMethod::Ofd] {
        assert!(stage.hold(&stage.image(), how).is_err(), "{how:?}");
    }
    drop(target);
    // A child process of another test has the handle until exec.
    retry(40, || HolderProcess::new(&stage.image(), HoldMethod::Ofd)).unwrap();
}
