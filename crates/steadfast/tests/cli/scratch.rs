//! What tests need: the program, loop devices, and a way to say that something
//! is missing here.

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The program under test.
pub fn steadfast() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    command.stdin(Stdio::null());
    // What these tests leave behind is no business of the machine's own state.
    command.env("STATE_DIRECTORY", env!("CARGO_TARGET_TMPDIR"));
    // A PDF takes longer than a short run. Tests that look at one ask for it.
    command.env("STEADFAST_FORMATS", "html,csv,json");
    command
}

/// A directory of a test, removed at its end.
pub struct TestDirectory(tempfile::TempDir);

impl TestDirectory {
    pub fn new() -> TestDirectory {
        TestDirectory(tempfile::tempdir().unwrap())
    }
}

impl Deref for TestDirectory {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl AsRef<Path> for TestDirectory {
    fn as_ref(&self) -> &Path {
        self
    }
}

/// Arguments of the program: one by one, or as typed, with blanks only between single quotes.
pub trait Arguments {
    fn words(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn words(&self) -> Vec<&str> {
        let mut words = Vec::new();
        for (number, part) in self.split('\'').enumerate() {
            if number % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        words
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Arguments for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<T: AsRef<str>> Arguments for Vec<T> {
    fn words(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

/// Runs the program in a directory.
pub fn run_in(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Output {
    steadfast().current_dir(directory).args(arguments.words()).output().unwrap()
}

/// Runs the program in a directory, with its own default formats of a report.
pub fn run_with_pdf_in(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Output {
    let mut command = steadfast();
    command.env_remove("STEADFAST_FORMATS").current_dir(directory).args(arguments.words());
    command.output().unwrap()
}

/// Starts the program in a directory.
pub fn spawned(
    directory: &Path,
    arguments: &(impl Arguments + ?Sized),
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
) -> Child {
    let mut command = steadfast();
    command.current_dir(directory).args(arguments.words());
    command.stdout(stdout).stderr(stderr).spawn().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the program, which must succeed.
#[track_caller]
pub fn succeed(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> String {
    let output = run_in(directory, arguments);
    assert!(output.status.success(), "{:?}: {}", arguments.words(), stderr(&output));
    stdout(&output)
}

/// Runs the program, which must end with one of these codes: a quick run may not be steady.
#[track_caller]
pub fn run_ending(
    directory: &Path,
    arguments: &(impl Arguments + ?Sized),
    codes: &[i32],
) -> Output {
    let output = run_in(directory, arguments);
    let (ended, said) = (code(&output), stderr(&output));
    assert!(codes.contains(&ended), "{:?}: {ended}: {said}", arguments.words());
    output
}

/// Folds captures.
#[track_caller]
pub fn fold(directory: &Path, files: &[&str], to: &str) {
    succeed(directory, &[&["trace", "fold"], files, &["-o", to]].concat());
}

/// Merges fold files.
#[track_caller]
pub fn merge(directory: &Path, files: &[&str], to: &str) {
    succeed(directory, &[&["trace", "merge"], files, &["-o", to]].concat());
}

/// Puts a finished run of IOPS on a simulated drive into `directory/name`. Each is made once for all
/// tests that only read or damage one.
#[track_caller]
pub fn finished_run(directory: &Path, target: &'static str, name: &str) {
    static MADE: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let run = made.entry(target).or_insert_with(|| {
        let runs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("finished-runs");
        let run = runs.join(target);
        let _ = std::fs::remove_dir_all(&run);
        std::fs::create_dir_all(&runs).unwrap();
        let words = ["run", "iops", "--profile", "quick", "--target", target, "-o", target];
        run_ending(&runs, &words, &[0, 3]);
        run
    });
    let copied = Command::new("cp").arg("-a").arg(run).arg(directory.join(name)).status();
    assert!(copied.unwrap().success());
}

/// Runs the program, which must fail with one line that says all of `parts`.
#[track_caller]
pub fn refuse(directory: &Path, arguments: &(impl Arguments + ?Sized), parts: &[&str]) {
    let output = run_in(directory, arguments);
    let arguments = arguments.words();
    let text = stderr(&output);
    assert!(matches!(code(&output), 1 | 2), "{arguments:?}: {:?} {text}", output.status);
    assert!(!text.contains("panicked"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{arguments:?} should say '{part}': {text}");
    }
}

pub fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Waits until something holds, for at most two minutes: a machine may be slow, and stand still
/// for seconds. Looks often enough to act within a step of a test.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a capture that writes its messages to this file listens; false where it ended.
#[track_caller]
pub fn wait_until_listening(capture: &mut Child, messages: &Path) -> bool {
    let is_listening =
        || std::fs::read_to_string(messages).is_ok_and(|said| said.contains("Ctrl-C ends it"));
    wait_until("the capture", || capture.try_wait().unwrap().is_some() || is_listening());
    is_listening()
}

/// Runs the program, once or twice more where a step was void because the machine stood still:
/// that ends whatever measures for seconds, and says nothing of what is tested.
pub fn unless_stalled(mut run: impl FnMut() -> Output) -> Output {
    let mut output = run();
    for _ in 0..2 {
        let said = stderr(&output);
        if !said.contains("no thread of this program could run") {
            break;
        }
        println!("once more after: {}", said.trim());
        output = run();
    }
    output
}

/// Says why the test of this thread does nothing here.
pub fn skip(reason: &str) {
    eprintln!("SKIPPED: {}: {reason}", std::thread::current().name().unwrap_or_default());
}

/// Returns true if fio is installed; prints that it is not.
pub fn has_fio() -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok();
    if !found {
        skip("fio is not installed");
    }
    found
}

/// A loop device over a file, removed at the end.
pub struct LoopDevice {
    pub path: String,
    _backing: tempfile::NamedTempFile,
}

/// Waits for the turn to attach a loop device: while one test detaches a device to attach it
/// again, no other may be given its number.
pub fn turn_to_attach() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn losetup(arguments: &[&str]) -> bool {
    Command::new("losetup").args(arguments).status().unwrap().success()
}

impl LoopDevice {
    /// `None` with the reason printed where loop devices cannot be had.
    pub fn new(mib: u64) -> Option<LoopDevice> {
        if !is_root() {
            skip("needs root for a loop device");
            return None;
        }
        let backing = tempfile::NamedTempFile::new().unwrap();
        backing.as_file().set_len(mib << 20).unwrap();
        let turn = turn_to_attach();
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(backing.path()).output();
        drop(turn);
        match output {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                Some(LoopDevice { path, _backing: backing })
            }
            Ok(output) => {
                skip(&format!("losetup: {}", String::from_utf8_lossy(&output.stderr).trim()));
                None
            }
            Err(error) => {
                skip(&format!("losetup: {error}"));
                None
            }
        }
    }

    /// Makes ext4 on it, of which nothing is left to be initialized in the background; false with
    /// the reason printed where that cannot be done.
    pub fn has_ext4(&self) -> bool {
        let options = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &self.path];
        let made = Command::new("mkfs.ext4").args(options).status().is_ok_and(|s| s.success());
        if !made {
            skip("no mkfs.ext4");
        }
        made
    }

    /// Lays it over another file.
    pub fn attach(&self, file: &Path) {
        let _turn = turn_to_attach();
        assert!(losetup(&["--detach", &self.path]));
        // The kernel detaches it once no process has it open any more.
        wait_until("the end of its use", || losetup(&[&self.path, file.to_str().unwrap()]));
    }

    /// `loop3`.
    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }

    /// Reads that it has completed, as the kernel counts them.
    pub fn reads(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Bytes that it has written, as the kernel counts them.
    pub fn written(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        512 * text.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap()
    }

    /// `7:3`.
    pub fn numbers(&self) -> String {
        let path = format!("/sys/block/{}/dev", self.name());
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

/// A FUSE file system with one file, mounted by a user and ended with this.
pub struct FuseMount {
    server: Child,
    pub point: PathBuf,
}

impl FuseMount {
    /// `None` with the reason printed where there is no FUSE.
    pub fn new(point: &Path, user: u32) -> Option<FuseMount> {
        std::fs::create_dir_all(point).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fuse_file.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(point).arg(user.to_string());
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = String::new();
        let _ = BufReader::new(server.stdout.take().unwrap()).read_line(&mut said);
        let mount = FuseMount { server, point: point.to_owned() };
        if said.is_empty() {
            skip("FUSE is not mounted");
        }
        (!said.is_empty()).then_some(mount)
    }
}

impl Drop for FuseMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.point).output();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A cgroup that lets a device do only so many I/Os a second.
pub struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// `None` with the reason printed where there is no cgroup v1 blkio.
    pub fn new(device: &LoopDevice, iops: u32) -> Option<Throttle> {
        let root = Path::new("/sys/fs/cgroup/blkio");
        if !root.join("blkio.throttle.read_iops_device").exists() {
            skip("no cgroup v1 blkio throttle on this machine");
            return None;
        }
        let group = root.join(format!("steadfast-test-{}-{}", std::process::id(), device.name()));
        std::fs::create_dir(&group).unwrap();
        let throttle = Throttle { group };
        throttle.limit(device, iops);
        Some(throttle)
    }

    /// Lets the device do so many I/Os a second from now on.
    pub fn limit(&self, device: &LoopDevice, iops: u32) {
        for direction in ["read", "write"] {
            let file = self.group.join(format!("blkio.throttle.{direction}_iops_device"));
            std::fs::write(file, format!("{} {iops}", device.numbers())).unwrap();
        }
    }

    /// The file that takes the numbers of processes into the group.
    pub fn procs(&self) -> PathBuf {
        self.group.join("cgroup.procs")
    }

    /// Runs a command inside the group.
    pub fn run(&self, command: &mut Command) -> Output {
        use std::os::unix::process::CommandExt;
        let procs = self.procs();
        // SAFETY: between fork and exec only open, write and close are called,
        // on a path that was allocated before.
        unsafe {
            command.pre_exec(move || std::fs::write(&procs, "0"));
        }
        command.output().unwrap()
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.group);
    }
}

/// Whether Python has a module; the reason is printed where it has not.
pub fn has_module(module: &str) -> bool {
    let tried = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    let is_there = tried.is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("Python has no module {module}"));
    }
    is_there
}

/// Runs a Python script where its modules are there.
pub fn python(modules: &[&str], arguments: &[&str], place: &Path) -> Option<Output> {
    if !modules.iter().all(|module| has_module(module)) {
        return None;
    }
    let output = Command::new("python3").args(arguments).current_dir(place).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(output)
}

/// Runs the program, which must succeed, and reads the JSON that it prints.
#[track_caller]
pub fn succeed_json<T: DeserializeOwned>(
    directory: &Path,
    arguments: &(impl Arguments + ?Sized),
) -> T {
    serde_json::from_str(&succeed(directory, arguments)).unwrap()
}

/// Reads the JSON that a process printed.
#[track_caller]
pub fn parse_json<T: DeserializeOwned>(output: &Output) -> T {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Reads a JSON file.
#[track_caller]
pub fn read_json<T: DeserializeOwned>(path: impl AsRef<Path>) -> T {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Reads the findings in a run directory.
#[track_caller]
pub fn findings(run: impl AsRef<Path>) -> serde_json::Value {
    read_json(run.as_ref().join("findings.json"))
}

/// The elements of a JSON array.
#[track_caller]
pub fn array(value: &serde_json::Value) -> &Vec<serde_json::Value> {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}
