//! Arming, purging and reading on real devices: files, and loop devices that each test creates on a
//! file of its own and removes at the end.
//!
//! A test without root or a required kernel feature prints why it is skipped.
#![allow(clippy::unwrap_used, reason = "the functions here serve tests alone")]

#[path = "devices/matrix.rs"]
mod matrix;
#[path = "devices/purge_command.rs"]
mod purge_command;

use std::cell::Cell;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;
use steadfast_domain::{
    Bytes, Conditions, Device, DirectBuffer, Purge, PurgeChoice, PurgeMethod, Transport,
};
use steadfast_host::{
    ArmRefusal, ChangePlan, Consent, HostError, PurgeOptions, PurgeProgress, PurgeWatch,
    SystemRoots, Target, arm, conditions, create_scratch, devices, find_again, foresee_purge,
    inspect, kernel_counters, make_change, plan_changes, purge, undo_change,
};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Prints directly to stderr, because the harness hides the output of passing tests.
fn print_note(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

/// Prints why the test of this thread is skipped.
fn skip(reason: &str) {
    let test = std::thread::current();
    print_note(&format!("SKIPPED: {}: {reason}", test.name().unwrap_or_default()));
}

/// Runs a program. Returns its trimmed standard output, or its error in words.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Calls `attempt` up to `tries` times, 50 ms apart; returns the first success or the last failure.
fn retry<T>(tries: u32, attempt: impl Fn() -> Result<T, String>) -> Result<T, String> {
    let mut result = attempt();
    for _ in 1..tries {
        if result.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        result = attempt();
    }
    result
}

/// Returns an MBR with two partitions of `sectors` sectors, each at one of `starts`.
fn partition_table(starts: [u32; 2], sectors: u32) -> [u8; 512] {
    let mut sector = [0u8; 512];
    for (entry, start) in [446, 462].into_iter().zip(starts) {
        sector[entry + 4] = 0x83;
        sector[entry + 8..entry + 12].copy_from_slice(&start.to_le_bytes());
        sector[entry + 12..entry + 16].copy_from_slice(&sectors.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// Adds a partition unless the kernel has read it from the partition table.
fn add_partition(device: &Path, number: u32, start: u32, sectors: u32) -> Result<(), String> {
    if part(device, number).exists() {
        return Ok(());
    }
    let numbers = [number, start, sectors].map(|number| number.to_string());
    let [number, start, sectors] = numbers.each_ref().map(String::as_str);
    run("addpart", &[device.to_str().unwrap(), number, start, sectors]).map(drop)
}

fn part(device: &Path, number: u32) -> PathBuf {
    format!("{}p{number}", device.display()).into()
}

fn inspected(path: &Path) -> Device {
    inspect(path, &SystemRoots::real()).unwrap()
}

/// A loop device with its backing file; both are removed on drop.
struct LoopDevice {
    path: PathBuf,
    directory: TempDir,
}

impl LoopDevice {
    /// Creates a device on a file with `content`, extended to `size`. Returns `None` and prints the
    /// reason if that fails.
    fn new(size: u64, content: &[u8], options: &[&str]) -> Option<LoopDevice> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, content).unwrap();
        File::options().write(true).open(&image).unwrap().set_len(size).unwrap();
        let mut arguments = vec!["--find", "--show", "--partscan"];
        arguments.extend(options);
        arguments.push(image.to_str().unwrap());
        // Two tests that request a free device at the same time may get the same one.
        match retry(5, || run("losetup", &arguments)) {
            Ok(path) => Some(LoopDevice { path: path.into(), directory }),
            Err(failure) => {
                skip(&failure);
                None
            }
        }
    }

    fn blank() -> Option<LoopDevice> {
        LoopDevice::new(8 * MIB, b"", &[])
    }

    /// Creates a device with two partitions of 16 MiB each, the first at 1 MiB.
    fn partitioned() -> Option<LoopDevice> {
        let table = partition_table([2048, 34_816], 32_768);
        let device = LoopDevice::new(34 * MIB, &table, &[])?;
        for (number, start) in [(1, 2048), (2, 34_816)] {
            if let Err(error) = add_partition(&device.path, number, start, 32_768) {
                skip(&error);
                return None;
            }
        }
        Some(device)
    }

    fn part(&self, number: u32) -> PathBuf {
        part(&self.path, number)
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn inspect(&self) -> Device {
        inspected(&self.path)
    }

    /// Returns a path in the device's temporary directory.
    fn in_directory(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = run("losetup", &["--detach", self.path.to_str().unwrap()]) {
            print_note(&format!("left behind: {error}"));
        }
    }
}

/// A program with its arguments that is run on drop; the path is the last argument.
struct UndoCommand(&'static [&'static str], PathBuf);

impl Drop for UndoCommand {
    fn drop(&mut self) {
        let mut arguments = self.0[1..].to_vec();
        arguments.push(self.1.to_str().unwrap());
        if let Err(error) = run(self.0[0], &arguments) {
            print_note(&format!("left behind: {error}"));
        }
    }
}

/// A process that is killed on drop.
struct ChildProcess(Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Creates an ext4 file system on a device and mounts it.
fn mount(device: &Path, point: &Path) -> Option<UndoCommand> {
    let path = device.to_str().unwrap();
    let made = run("mkfs.ext4", &["-q", "-F", "-L", "precious", path]);
    fs::create_dir_all(point).unwrap();
    match made.and_then(|_| run("mount", &[path, point.to_str().unwrap()])) {
        Ok(_) => Some(UndoCommand(&["umount"], point.to_owned())),
        Err(error) => {
            skip(&error);
            None
        }
    }
}

/// Locked for reading while a test arms, and for writing by a test whose state blocks other devices
/// too: a mounted loop device whose backing file cannot be traced may have any file below it.
static ARMING: RwLock<()> = RwLock::new(());

thread_local! {
    static HAS_EXCLUSIVE_LOCK: Cell<bool> = const { Cell::new(false) };
}

/// Prevents other tests from arming until it is dropped.
struct ArmingLock(#[allow(dead_code, reason = "held")] RwLockWriteGuard<'static, ()>);

impl Drop for ArmingLock {
    fn drop(&mut self) {
        HAS_EXCLUSIVE_LOCK.set(false);
    }
}

fn exclusive_arming_lock() -> ArmingLock {
    let guard = ARMING.write().unwrap_or_else(PoisonError::into_inner);
    HAS_EXCLUSIVE_LOCK.set(true);
    ArmingLock(guard)
}

fn shared_arming_lock() -> Option<RwLockReadGuard<'static, ()>> {
    (!HAS_EXCLUSIVE_LOCK.get()).then(|| ARMING.read().unwrap_or_else(PoisonError::into_inner))
}

/// Arms for overwriting with the correct confirmation.
fn arm_confirmed(device: &Device, keep: &[PathBuf]) -> Result<Target, ArmRefusal> {
    let confirmation = Some(device.confirmation().to_owned());
    let _lock = shared_arming_lock();
    arm(device, &Consent::Destroy { confirmation }, keep, &SystemRoots::real())
}

fn arm_with(device: &Device, typed: Option<&str>) -> Result<Target, ArmRefusal> {
    let consent = Consent::Destroy { confirmation: typed.map(str::to_owned) };
    let _lock = shared_arming_lock();
    arm(device, &consent, &[], &SystemRoots::real())
}

fn arm_for_reading(device: &Device) -> Result<Target, ArmRefusal> {
    arm(device, &Consent::Read, &[], &SystemRoots::real())
}

/// Returns the uses in a refusal that no confirmation can override.
fn uses_in(refusal: Result<Target, ArmRefusal>) -> Vec<String> {
    match refusal {
        Err(ArmRefusal::InUse { uses, remedy, .. }) => {
            assert!(!remedy.is_empty());
            uses
        }
        other => panic!("expected a device in use, got {other:?}"),
    }
}

/// Fills a target with a pattern through its own handle.
fn fill(target: &Target, byte: u8) {
    let handle = File::from(target.fd().try_clone_to_owned().unwrap());
    let mut content = DirectBuffer::new(64 * 1024);
    content.fill(byte);
    let mut offset = 0;
    while offset < target.length().0 {
        let count = (target.length().0 - offset).min(content.len() as u64) as usize;
        handle.write_all_at(&content[..count], offset).unwrap();
        offset += count as u64;
    }
}

#[test]
fn a_free_loop_device_is_armed_by_its_name_alone() {
    let Some(device) = LoopDevice::blank() else { return };
    let facts = device.inspect();
    assert_eq!(facts.transport, Transport::Loop);
    assert_eq!(facts.capacity, Bytes(8 * MIB));
    assert_eq!(facts.confirmation(), device.name());
    assert!(facts.model.as_ref().unwrap().ends_with("/image"), "{:?}", facts.model);
    for wrong in [None, Some(""), Some("yes"), Some("loop"), Some(facts.path.as_str())] {
        let refusal = arm_with(&facts, wrong).unwrap_err();
        assert!(matches!(refusal, ArmRefusal::Unconfirmed { .. }), "{wrong:?}: {refusal}");
        assert!(refusal.remedy().contains(&format!("--yes-destroy '{}'", device.name())));
    }
    let target = arm_with(&facts, Some(&device.name())).unwrap();
    assert!(target.is_writable() && target.is_direct());
    assert_eq!(target.offset_alignment(), 512);
    assert_eq!(target.length(), Bytes(8 * MIB));
    let second = arm_confirmed(&facts, &[]).unwrap_err();
    assert!(matches!(second, ArmRefusal::HeldExclusively { .. }), "{second}");
    drop(target);
    arm_confirmed(&facts, &[]).unwrap();
}

#[test]
fn a_mounted_device_is_refused_and_may_be_read() {
    let Some(device) = LoopDevice::blank() else { return };
    let point = device.in_directory("point with a blank");
    let Some(mounted) = mount(&device.path, &point) else { return };
    let facts = device.inspect();
    let expected = format!("mounted on {}", point.display());
    assert_eq!(facts.in_use, std::slice::from_ref(&expected));
    assert_eq!(uses_in(arm_confirmed(&facts, &[])), [expected]);
    let reading = arm_for_reading(&facts).unwrap();
    assert!(!reading.is_writable());
    drop((reading, mounted));

    let refusal = arm_with(&device.inspect(), None).unwrap_err();
    let ArmRefusal::Unconfirmed { losses, .. } = &refusal else { panic!("{refusal}") };
    assert!(losses[0].starts_with("ext"), "{losses:?}");
    arm_confirmed(&device.inspect(), &[]).unwrap();
}

/// Lets the kernel open the file system on a device without mounting it, which looks like a mount
/// in another namespace.
fn open_ext4_context(device: &Path) -> std::io::Result<OwnedFd> {
    const SET_STRING: libc::c_uint = 1;
    const CREATE: libc::c_uint = 6;
    let nothing = std::ptr::null::<libc::c_char>();
    let path = CString::new(device.to_str().unwrap()).unwrap();
    let checked = |result: libc::c_long| match result {
        -1 => Err(std::io::Error::last_os_error()),
        value => Ok(i32::try_from(value).unwrap()),
    };
    // SAFETY: fsopen(2) takes a string that outlives the call; the returned descriptor has no other
    // owner.
    let context = unsafe {
        let opened = checked(libc::syscall(libc::SYS_fsopen, c"ext4".as_ptr(), 1))?;
        OwnedFd::from_raw_fd(opened)
    };
    let configure =
        |command: libc::c_uint, key: *const libc::c_char, value: *const libc::c_char| {
            let context = context.as_raw_fd();
            // SAFETY: fsconfig(2) takes strings that outlive the call, or null.
            checked(unsafe { libc::syscall(libc::SYS_fsconfig, context, command, key, value, 0) })
        };
    configure(SET_STRING, c"source".as_ptr(), path.as_ptr())?;
    configure(CREATE, nothing, nothing)?;
    Ok(context)
}

#[test]
fn a_file_system_that_is_mounted_nowhere_is_refused() {
    let Some(device) = LoopDevice::blank() else { return };
    if let Err(error) = run("mkfs.ext4", &["-q", "-F", device.path.to_str().unwrap()]) {
        return skip(&error);
    }
    let context = match open_ext4_context(&device.path) {
        Ok(context) => context,
        Err(error) => return skip(&format!("no file system contexts here: {error}")),
    };
    let facts = device.inspect();
    assert_eq!(facts.in_use, Vec::<String>::new(), "the lists do not show it");
    let refusal = arm_confirmed(&facts, &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::HeldExclusively { .. }), "{refusal}");
    drop(context);
    arm_confirmed(&facts, &[]).unwrap();
}

#[test]
fn a_swap_device_is_refused() {
    let Some(device) = LoopDevice::blank() else { return };
    let path = device.path.to_str().unwrap();
    let swapping = run("mkswap", &[path]).and_then(|_| run("swapon", &[path]));
    if let Err(error) = swapping {
        return skip(&error);
    }
    let swap = UndoCommand(&["swapoff"], device.path.clone());
    assert_eq!(uses_in(arm_confirmed(&device.inspect(), &[])), ["swap"]);
    drop(swap);
    let refusal = arm_with(&device.inspect(), None).unwrap_err().to_string();
    assert!(refusal.ends_with("it would destroy: swap"), "{refusal}");
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_the_rest_of_it_is_not() {
    let Some(device) = LoopDevice::partitioned() else { return };
    let point = device.in_directory("point");
    let Some(mounted) = mount(&device.part(1), &point) else { return };
    let expected = format!("{}p1: mounted on {}", device.name(), point.display());
    assert_eq!(uses_in(arm_confirmed(&device.inspect(), &[])), [expected]);

    let second = inspected(&device.part(2));
    assert_eq!(second.capacity, Bytes(16 * MIB));
    assert_eq!(second.confirmation(), format!("{}p2", device.name()));
    let run_directory = point.join("runs/2");
    let refusal = arm_confirmed(&second, &[run_directory]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::HoldsKept { .. }), "{refusal}");
    drop(arm_confirmed(&second, &[]).unwrap());
    drop(mounted);

    let refusal = arm_with(&device.inspect(), None).unwrap_err();
    let ArmRefusal::Unconfirmed { losses, .. } = &refusal else { panic!("{refusal}") };
    assert!(losses.iter().any(|line| line.starts_with("dos")), "{losses:?}");
    let first = format!("partition {}p1 (16.8 MB): ext", device.name());
    assert!(losses.iter().any(|line| line.starts_with(&first)), "{losses:?}");
    assert!(losses.contains(&format!("partition {}p2 (16.8 MB)", device.name())), "{losses:?}");
}

#[test]
fn the_disk_of_the_root_file_system_is_refused() {
    let mounted = |device: &Device| device.in_use.iter().any(|used| used.ends_with("mounted on /"));
    let Some(root) = devices(&SystemRoots::real()).unwrap().into_iter().find(mounted) else {
        return skip("the root file system lies on no block device here");
    };
    // Even with the correct confirmation, and without permission to write to it.
    let refusal = arm_confirmed(&root, &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::InUse { .. }), "{refusal}");
    assert!(refusal.remedy().contains("test another disk"), "{}", refusal.remedy());
}

#[test]
fn an_exclusive_handle_elsewhere_is_refused() {
    let Some(device) = LoopDevice::blank() else { return };
    let mut reading = OpenOptions::new();
    reading.read(true);
    let shared = reading.open(&device.path).unwrap();
    drop(arm_confirmed(&device.inspect(), &[]).unwrap());
    drop(shared);
    reading.custom_flags(libc::O_EXCL);
    // Another test's search for a free device claims each device briefly.
    let exclusive = loop {
        match reading.open(&device.path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::yield_now(),
            opened => break opened.unwrap(),
        }
    };
    let refusal = arm_confirmed(&device.inspect(), &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::HeldExclusively { .. }), "{refusal}");
    drop(arm_for_reading(&device.inspect()).unwrap());
    drop(exclusive);
}

#[test]
fn a_process_that_may_write_is_named() {
    let Some(device) = LoopDevice::blank() else { return };
    let with = |opened: File| {
        ChildProcess(Command::new("sleep").arg("600").stdin(opened).spawn().unwrap())
    };
    let reader = with(File::open(&device.path).unwrap());
    drop(arm_confirmed(&device.inspect(), &[]).unwrap());
    drop(reader);
    let child = with(OpenOptions::new().read(true).write(true).open(&device.path).unwrap());
    let refusal = arm_confirmed(&device.inspect(), &[]).unwrap_err();
    let ArmRefusal::OpenForWriting { by, .. } = &refusal else { panic!("{refusal}") };
    assert_eq!(by.len(), 1);
    assert!(by[0].ends_with(&format!("(process {})", child.0.id())), "{by:?}");
}

#[test]
fn a_read_only_device_is_refused_and_may_be_read() {
    let Some(device) = LoopDevice::new(MIB, b"", &["--read-only"]) else { return };
    let refusal = arm_confirmed(&device.inspect(), &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::ReadOnly { .. }), "{refusal}");
    let mut target = arm_for_reading(&device.inspect()).unwrap();
    let error = purge_target(&mut target, &PurgeOptions::default()).unwrap_err();
    assert!(matches!(error, HostError::ReadingOnly { .. }), "{error}");
}

#[test]
fn a_member_of_a_zfs_pool_is_refused() {
    let mut content = vec![0u8; MIB as usize];
    content[132 * 1024..132 * 1024 + 8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
    let Some(device) = LoopDevice::new(2 * MIB, &content, &[]) else { return };
    let refusal = arm_confirmed(&device.inspect(), &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::ZfsMember { .. }), "{refusal}");
    drop(arm_for_reading(&device.inspect()).unwrap());
}

#[test]
fn a_loop_device_over_a_device_counts_both_ways() {
    let Some(device) = LoopDevice::blank() else { return };
    let over = run("losetup", &["--find", "--show", device.path.to_str().unwrap()]);
    let over = match over {
        Ok(path) => UndoCommand(&["losetup", "--detach"], path.into()),
        Err(error) => return skip(&error),
    };
    let name = over.1.file_name().unwrap().to_str().unwrap();
    assert_eq!(uses_in(arm_confirmed(&device.inspect(), &[])), [format!("held by {name}")]);
    let upper = inspected(&over.1);
    drop(arm_confirmed(&upper, &[]).unwrap());
    let Some(mounted) = mount(&device.path, &device.in_directory("point")) else { return };
    let below = uses_in(arm_confirmed(&upper, &[]));
    assert!(below[0].starts_with(&format!("{}: mounted on ", device.name())), "{below:?}");
    drop(mounted);
}

#[test]
fn a_link_leads_to_its_device_and_a_changed_one_is_noticed() {
    let Some(device) = LoopDevice::blank() else { return };
    let Some(other) = LoopDevice::new(16 * MIB, b"", &[]) else { return };
    let link = device.in_directory("by-id");
    symlink(&device.path, &link).unwrap();
    let facts = inspected(&link);
    assert_eq!((facts.name.as_str(), Path::new(&facts.path)), (&*device.name(), &*link));
    drop(arm_confirmed(&facts, &[]).unwrap());
    fs::remove_file(&link).unwrap();
    symlink(&other.path, &link).unwrap();
    let refusal = arm_confirmed(&facts, &[]).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::Changed { .. }), "{refusal}");
}

#[test]
fn without_permission_the_refusal_says_so() {
    let Some(device) = LoopDevice::blank() else { return };
    let facts = device.inspect();
    // The identity for file access belongs to the thread and ends with it.
    let refusal = std::thread::spawn(move || {
        // SAFETY: takes an integer and changes only this thread's permissions.
        unsafe { libc::setfsuid(65_534) };
        arm_confirmed(&facts, &[]).unwrap_err()
    });
    let refusal = refusal.join().unwrap();
    let ArmRefusal::Host(HostError::Io { source, .. }) = refusal else { panic!("{refusal}") };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
fn a_forged_device_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, [0; 4096]).unwrap();
    let genuine = inspected(&file);
    for path in ["/", "/dev/null", "/no/such/device", "sim:fast"] {
        let forged = Device { path: path.into(), ..genuine.clone() };
        let refusal = arm_confirmed(&forged, &[]).unwrap_err();
        assert!(matches!(refusal, ArmRefusal::Host(_)), "{path}: {refusal}");
    }
    fs::write(&file, []).unwrap();
    let empty = inspected(&file);
    assert!(matches!(arm_confirmed(&genuine, &[]), Err(ArmRefusal::Changed { .. })));
    assert!(matches!(arm_confirmed(&empty, &[]), Err(ArmRefusal::Empty { .. })));
}

#[test]
fn somebody_s_file_needs_its_name_and_a_scratch_file_none() {
    let directory = tempfile::tempdir().unwrap();
    let letters = directory.path().join("letters");
    fs::write(&letters, [b'x'; 8192]).unwrap();
    let facts = inspected(&letters);
    for wrong in [None, Some(""), Some("scratch")] {
        let refusal = arm_with(&facts, wrong).unwrap_err();
        assert!(matches!(refusal, ArmRefusal::Unconfirmed { .. }), "{wrong:?}: {refusal}");
    }
    drop(arm_with(&facts, Some("letters")).unwrap());
    drop(arm_with(&facts, Some(&facts.name)).unwrap());
    let keep = [directory.path().to_owned()];
    let refusal = arm_confirmed(&facts, &keep).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::Kept { .. }), "{refusal}");
    assert_eq!(fs::read(&letters).unwrap(), [b'x'; 8192]);

    let scratch = directory.path().join("scratch");
    create_scratch(&scratch, Bytes(MIB)).unwrap();
    let facts = inspected(&scratch);
    let unconfirmed = Consent::Destroy { confirmation: None };
    let first = match arm(&facts, &unconfirmed, &keep, &SystemRoots::real()) {
        Err(ArmRefusal::Unconfirmed { .. }) => return skip("no extended attributes here"),
        other => other.unwrap(),
    };
    let second = arm_confirmed(&facts, &[]).unwrap_err();
    assert!(matches!(second, ArmRefusal::HeldExclusively { .. }), "{second}");
    let busy = create_scratch(&scratch, Bytes(2 * MIB)).unwrap_err();
    assert!(matches!(busy, HostError::FileBusy { .. }), "{busy}");
    drop(first);
    create_scratch(&scratch, Bytes(2 * MIB)).unwrap();
}

#[test]
fn what_is_copied_over_a_scratch_file_needs_a_confirmation_once() {
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("scratch");
    create_scratch(&scratch, Bytes(MIB)).unwrap();
    if steadfast_host::scratch_mark(&scratch).is_none() {
        return skip("no extended attributes here");
    }
    let facts = || inspected(&scratch);
    let target = arm_with(&facts(), None).unwrap();
    let nonce = target.mark_nonce().unwrap().to_owned();
    fill(&target, 1);
    drop(target);
    assert_eq!(arm_with(&facts(), None).unwrap().mark_nonce(), Some(nonce.as_str()));

    fs::write(&scratch, vec![b'x'; MIB as usize]).unwrap();
    let Err(ArmRefusal::Unconfirmed { losses, .. }) = arm_with(&facts(), None) else {
        panic!("it is somebody's");
    };
    assert!(losses[0].contains("something else has written to it"), "{losses:?}");
    let resized = create_scratch(&scratch, Bytes(2 * MIB)).unwrap_err();
    assert!(matches!(resized, HostError::FileExists { .. }), "{resized}");
    assert!(fs::read(&scratch).unwrap().iter().all(|byte| *byte == b'x'));
    let second = arm_with(&facts(), Some("scratch")).unwrap();
    assert_ne!(second.mark_nonce(), Some(nonce.as_str()));
    drop(second);
    drop(arm_with(&facts(), None).unwrap());
}

/// tmpfs does not update the last-write time when a page is written through a mapping after a read.
#[test]
fn a_scratch_file_in_memory_always_needs_a_confirmation() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return skip("no /dev/shm here");
    };
    let scratch = directory.path().join("scratch");
    create_scratch(&scratch, Bytes(MIB)).unwrap();
    let facts = || inspected(&scratch);
    drop(arm_with(&facts(), Some("scratch")).unwrap());
    let refusal = arm_with(&facts(), None).unwrap_err();
    assert!(matches!(refusal, ArmRefusal::Unconfirmed { .. }), "{refusal}");
    assert_eq!(steadfast_host::scratch_mark(&scratch), None);
}

#[test]
fn a_kept_directory_is_known_by_number() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("kept/inner")).unwrap();
    fs::create_dir(at("elsewhere")).unwrap();
    fs::write(at("kept/inner/letters"), [b'x'; 8192]).unwrap();
    fs::hard_link(at("kept/inner/letters"), at("hard")).unwrap();
    symlink(at("kept"), at("link")).unwrap();
    let mut names = vec![at("kept/inner/letters"), at("hard"), at("link/inner/letters")];
    let (from, to) = (at("kept/inner"), at("elsewhere"));
    let _bound = match run("mount", &["--bind", from.to_str().unwrap(), to.to_str().unwrap()]) {
        Ok(_) => {
            names.push(at("elsewhere/letters"));
            Some(UndoCommand(&["umount"], to))
        }
        Err(error) => {
            skip(&error);
            None
        }
    };
    for keep in [at("kept"), at("link")] {
        for name in &names {
            let refusal = arm_confirmed(&inspected(name), std::slice::from_ref(&keep)).unwrap_err();
            assert!(matches!(refusal, ArmRefusal::Kept { .. }), "{}: {refusal}", name.display());
        }
    }
    assert_eq!(fs::read(at("hard")).unwrap(), [b'x'; 8192]);
}

#[test]
fn a_file_below_a_loop_device_is_refused() {
    let Some(device) = LoopDevice::blank() else { return };
    let image = inspected(&device.in_directory("image"));
    assert_eq!(uses_in(arm_confirmed(&image, &[])), [format!("backs {}", device.name())]);
}

/// Observer of a purge that requests a stop after `stop_after` progress reports.
#[derive(Default)]
struct StoppingWatch {
    percents: Vec<Option<f64>>,
    stop_after: Option<usize>,
    command: Option<PurgeCommandRecord>,
}

impl PurgeWatch for StoppingWatch {
    fn journal(&mut self, change: &HostChange) -> Result<(), String> {
        Err(format!("{} is not to be changed here", change.setting))
    }
    fn report(&mut self, progress: &PurgeProgress<'_>) {
        self.percents.push(progress.percent);
    }
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        self.command = Some(record);
    }
    fn is_stopped(&self) -> bool {
        self.stop_after.is_some_and(|most| self.percents.len() >= most)
    }
}

fn purge_target(target: &mut Target, options: &PurgeOptions) -> Result<Purge, HostError> {
    purge(target, options, &mut StoppingWatch::default(), &SystemRoots::real())
}

fn options(method: PurgeMethod) -> PurgeOptions {
    PurgeOptions { choice: PurgeChoice::Method(method), ..PurgeOptions::default() }
}

#[test]
fn a_purged_device_reads_blank_and_its_neighbor_does_not() {
    let Some(device) = LoopDevice::partitioned() else { return };
    let part = |number| arm_confirmed(&inspected(&device.part(number)), &[]).unwrap();
    let neighbor = part(2);
    fill(&neighbor, 0xa5);
    let mut target = part(1);
    fill(&target, 0x5a);
    let done = purge_target(&mut target, &PurgeOptions::default()).unwrap();
    if done.method == PurgeMethod::Nothing {
        return skip(&done.remark);
    }
    assert_eq!((done.method, done.blank), (PurgeMethod::Discard, Some(true)));
    assert!(!done.method.in_standard() && !done.remark.is_empty() && done.took.0 > 0);
    drop((target, neighbor));
    let whole = File::open(&device.path).unwrap();
    let mut block = vec![1; 16 * MIB as usize];
    whole.read_exact_at(&mut block, MIB).unwrap();
    assert!(block.iter().all(|byte| *byte == 0));
    whole.read_exact_at(&mut block, 17 * MIB).unwrap();
    assert!(block.iter().all(|byte| *byte == 0xa5));
}

#[test]
fn a_purged_file_is_blank_and_its_handle_still_writes() {
    for parent in [std::env::temp_dir(), "/dev/shm".into()] {
        let Ok(directory) = tempfile::tempdir_in(&parent) else {
            skip("no /dev/shm here");
            continue;
        };
        let path = directory.path().join("scratch");
        create_scratch(&path, Bytes(3 * MIB + 512)).unwrap();
        let mut target = arm_with(&inspected(&path), Some("scratch")).unwrap();
        let usable = (3 * MIB + 512) / u64::from(target.offset_alignment());
        assert_eq!(target.length().0, usable * u64::from(target.offset_alignment()));
        fill(&target, 0x5a);
        let done = purge_target(&mut target, &PurgeOptions::default()).unwrap();
        assert_eq!((done.method, done.blank), (PurgeMethod::RecreateFile, Some(true)));
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), 3 * MIB + 512);
        assert!(metadata.blocks() * 512 >= 3 * MIB, "{} blocks", metadata.blocks());
        fill(&target, 0xa5);
        drop(target);
        let content = fs::read(&path).unwrap();
        assert!(content[..3 * MIB as usize].iter().all(|byte| *byte == 0xa5));
    }
}

/// A zram device that is removed on drop.
struct Zram {
    number: String,
}

impl Zram {
    fn new(size: u64) -> Option<Zram> {
        let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
            skip("no zram (needs root and the module)");
            return None;
        };
        let zram = Zram { number: number.trim().to_owned() };
        fs::write(format!("/sys/block/zram{}/disksize", zram.number), size.to_string()).unwrap();
        Some(zram)
    }
    fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        for _ in 0..50 {
            let reset = fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
            if reset.is_ok()
                && fs::write("/sys/class/zram-control/hot_remove", &self.number).is_ok()
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// zram announces a memory alignment of 512 bytes, but overwrites the memory before a buffer that
/// does not begin on a page. All buffers of this program do.
#[test]
fn a_purge_reads_into_nothing_but_its_own_memory() {
    let Some(device) = Zram::new(16 * MIB) else { return };
    let mut target = arm_confirmed(&inspected(&device.path()), &[]).unwrap();
    fill(&target, 0xa5);
    // Neighbors of the purge's allocations.
    let neighbors: Vec<Vec<u8>> = (0..2000).map(|n| vec![0x5a; 64 + n * 7 % 5000]).collect();
    let kept: Vec<&Vec<u8>> = neighbors.iter().step_by(2).collect();
    for _ in 0..3 {
        let done = purge_target(&mut target, &options(PurgeMethod::Discard)).unwrap();
        assert!(done.read_back.is_none_or(|read| read.unchanged == 0));
    }
    assert!(kept.iter().all(|bytes| bytes.iter().all(|byte| *byte == 0x5a)));
}

#[test]
fn what_a_device_cannot_do_is_refused_before_anything_is_written() {
    let Some(device) = LoopDevice::blank() else { return };
    let mut target = arm_confirmed(&device.inspect(), &[]).unwrap();
    for method in [PurgeMethod::NvmeFormat, PurgeMethod::AtaSecurityErase] {
        let error =
            foresee_purge(&target, &options(method), &SystemRoots::real()).unwrap_err().to_string();
        assert!(error.contains("(loop) does not support that command set"), "{error}");
        assert!(error.ends_with("possible here: discard, none"), "{error}");
        let refused = purge_target(&mut target, &options(method));
        assert!(matches!(refused, Err(HostError::NoSuchPurge { .. })));
    }
    let done = purge_target(&mut target, &options(PurgeMethod::Nothing)).unwrap();
    assert_eq!((done.method, done.blank, done.took.0), (PurgeMethod::Nothing, None, 0));
    drop(target);
    let content = fs::read(device.in_directory("image")).unwrap();
    assert!(content.iter().all(|byte| *byte == 0), "something was written");
}

#[test]
fn a_discard_runs_in_pieces_and_can_be_stopped() {
    let Some(device) = LoopDevice::new(5 << 30, b"", &[]) else { return };
    let roots = SystemRoots::real();
    let mut target = arm_confirmed(&device.inspect(), &[]).unwrap();
    let mut watch = StoppingWatch::default();
    let done = purge(&mut target, &options(PurgeMethod::Discard), &mut watch, &roots).unwrap();
    if done.method == PurgeMethod::Nothing {
        return skip(&done.remark);
    }
    let percents: Vec<f64> = watch.percents.iter().map(|percent| percent.unwrap()).collect();
    assert_eq!(percents, [20.0, 40.0, 60.0, 80.0, 100.0]);
    let read = done.read_back.unwrap();
    assert_eq!((done.blank, read.zero, read.unchanged), (Some(true), read.places, 0));
    assert!(read.places > 250 && read.marked == read.places, "{read:?}");
    assert_eq!(read.written_before, read.places);

    let mut watch = StoppingWatch { stop_after: Some(2), ..StoppingWatch::default() };
    let error = purge(&mut target, &options(PurgeMethod::Discard), &mut watch, &roots).unwrap_err();
    assert!(matches!(error, HostError::PurgeStopped { .. }), "{error}");
    assert_eq!(watch.percents.len(), 2);
}

#[test]
fn the_alignment_of_a_target_is_what_its_handle_takes() {
    for parent in [std::env::temp_dir(), "/dev/shm".into()] {
        let Ok(directory) = tempfile::tempdir_in(&parent) else { continue };
        let path = directory.path().join("scratch");
        create_scratch(&path, Bytes(MIB)).unwrap();
        let target = arm_with(&inspected(&path), Some("scratch")).unwrap();
        let (unit, align) =
            (target.offset_alignment() as usize, target.memory_alignment() as usize);
        assert!(unit.is_power_of_two() && align.is_power_of_two());
        let memory = vec![7u8; unit + 3 * align.max(4096)];
        // Aligned to exactly the required alignment, and no more.
        let start = memory.as_ptr().align_offset(2 * align) + align;
        // SAFETY: the buffer holds `start + unit` bytes and outlives the call.
        let written = unsafe {
            let from = memory[start..start + unit].as_ptr().cast();
            libc::pwrite(target.fd().as_raw_fd(), from, unit, unit as i64)
        };
        assert_eq!(written, unit as isize, "{}", parent.display());
    }
}

#[test]
fn the_queue_of_a_loop_device_is_changed_and_restored() {
    let Some(device) = LoopDevice::blank() else { return };
    let roots = SystemRoots::real();
    let target = arm_confirmed(&device.inspect(), &[]).unwrap();
    // A detached loop device keeps its queue settings for the next user.
    let attribute = format!("/sys/block/{}/queue/nomerges", device.name());
    if let Err(error) = fs::write(&attribute, "0") {
        return skip(&format!("{attribute}: {error}"));
    }
    let before = conditions(&target, &roots);
    assert_eq!(before.merges, Some(true));
    assert!(before.request_kib_max.is_some());
    let wanted = Conditions { merges: Some(false), ..Conditions::default() };
    let ChangePlan { changes, unmet } = plan_changes(&wanted, &target, &roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0));
    make_change(&changes[0], &roots).unwrap();
    assert_eq!(conditions(&target, &roots).merges, Some(false));
    undo_change(&changes[0], &roots).unwrap();
    assert_eq!(conditions(&target, &roots), before);
}

#[test]
fn the_kernel_counts_what_a_target_writes() {
    let Some(device) = LoopDevice::blank() else { return };
    let roots = SystemRoots::real();
    let facts = device.inspect();
    let target = arm_confirmed(&facts, &[]).unwrap();
    let before = kernel_counters(&facts, &roots).unwrap();
    fill(&target, 1);
    // The kernel counts an I/O after it has woken the writer.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut counted = kernel_counters(&facts, &roots).unwrap().since(&before);
    while counted.writes < 128 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
        counted = kernel_counters(&facts, &roots).unwrap().since(&before);
    }
    assert_eq!((counted.writes, counted.write_bytes), (128, Bytes(8 * MIB)));
}

#[test]
fn a_loop_device_is_listed_and_found_again_with_its_size_only() {
    let Some(device) = LoopDevice::blank() else { return };
    let roots = SystemRoots::real();
    let facts = device.inspect();
    assert!(devices(&roots).unwrap().contains(&facts));
    assert_eq!(find_again(&facts, &roots).unwrap(), facts);
    // The backing file is identified by the proof, not by the text of its path.
    let renamed = Device { model: Some("loop device on /another".into()), ..facts.clone() };
    assert_eq!(find_again(&renamed, &roots).unwrap(), facts);
    let larger = Device { capacity: Bytes(facts.capacity.0 * 2), ..facts };
    let error = find_again(&larger, &roots).unwrap_err();
    assert!(matches!(error, HostError::Absent { .. }), "{error}");
}
