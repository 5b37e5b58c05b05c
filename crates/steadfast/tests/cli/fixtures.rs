//! Fixtures of the tests: the program, runs, loop devices, mounts, control groups and findings.

use serde::de::DeserializeOwned;
use serde_json::Value;
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
    // The state of the machine is not for tests to change.
    command.env("STATE_DIRECTORY", env!("CARGO_TARGET_TMPDIR"));
    // A PDF takes longer than a short run. Tests that look at one ask for it.
    command.env("STEADFAST_FORMATS", "html,csv,json");
    command
}

/// A temporary directory, removed when dropped.
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

/// Arguments of the program: a list, or a line split at blanks outside single quotes.
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

impl<T: AsRef<str>> Arguments for [T] {
    fn words(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
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

/// Returns the command that runs the program in a directory.
pub fn command_in(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Command {
    let mut command = steadfast();
    command.current_dir(directory).args(arguments.words());
    command
}

/// Runs the program in a directory.
pub fn run_in(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Output {
    command_in(directory, arguments).output().unwrap()
}

/// Runs the program with its own default formats of a report.
pub fn run_with_pdf_in(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Output {
    command_in(directory, arguments).env_remove("STEADFAST_FORMATS").output().unwrap()
}

/// Starts the program in a directory.
pub fn spawn_in(
    directory: &Path,
    arguments: &(impl Arguments + ?Sized),
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
) -> Child {
    command_in(directory, arguments).stdout(stdout).stderr(stderr).spawn().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Runs the program, which must succeed.
#[track_caller]
pub fn succeed(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> String {
    let output = run_in(directory, arguments);
    assert!(output.status.success(), "{:?}: {}", arguments.words(), stderr(&output));
    stdout(&output)
}

/// Runs the program, which must end with one of these codes: a quick run may not reach steady state.
#[track_caller]
pub fn run_ending(
    directory: &Path,
    arguments: &(impl Arguments + ?Sized),
    codes: &[i32],
) -> Output {
    let output = run_in(directory, arguments);
    let ended = code(&output);
    assert!(codes.contains(&ended), "{:?}: {ended}: {}", arguments.words(), stderr(&output));
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

/// Copies a finished run of IOPS on a simulated drive to `directory/name`. Each drive is tested once
/// for all tests that only read or damage such a run.
#[track_caller]
pub fn finished_run(directory: &Path, target: &'static str, name: &str) {
    static RUNS: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut finished = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let run = finished.entry(target).or_insert_with(|| {
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

/// Number of finished steps in a run's journal; 0 before there is one.
pub fn finished_steps(run: &Path) -> usize {
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    journal.matches("\"applied\"").count()
}

/// Copies the settings and the journal of a run.
pub fn copy_ledger(run: &Path, copy: &Path) {
    std::fs::create_dir(copy).unwrap();
    for name in ["settings.json", "journal.jsonl"] {
        std::fs::copy(run.join(name), copy.join(name)).unwrap();
    }
}

/// Cuts a run's journal to the number of lines that `kept` returns, as a killed run leaves it.
pub fn cut_journal(run: &Path, kept: impl FnOnce(&[&str]) -> usize) {
    let journal = run.join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&journal, lines[..kept(&lines)].concat()).unwrap();
}

/// Asserts that a text contains all of `parts`.
#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
}

/// Runs the program, which must fail with a message that contains all of `parts`.
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

/// Waits until a condition holds, for at most two minutes: a machine may be slow, and stand still
/// for seconds. The poll interval is short enough to act within a step of a test.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < end, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to a process that the test started and has not waited for.
pub fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes any pid and signal; the child is ours and not yet reaped.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// Waits until a capture that writes its messages to this file listens; false if it ended.
#[track_caller]
pub fn wait_until_listening(capture: &mut Child, messages: &Path) -> bool {
    let is_listening =
        || std::fs::read_to_string(messages).is_ok_and(|text| text.contains("Ctrl-C ends it"));
    wait_until("the capture", || capture.try_wait().unwrap().is_some() || is_listening());
    is_listening()
}

/// Repeats a measurement until its result is good: a busy machine may starve one attempt, not three.
/// Returns the last result.
pub fn best_of_three<T>(mut measure: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    let mut result = measure();
    for _ in 0..2 {
        if is_good(&result) {
            break;
        }
        result = measure();
    }
    result
}

/// Runs the program again if a step was void because the machine stood still, which ends whatever
/// measures for seconds.
pub fn unless_stalled(run: impl FnMut() -> Output) -> Output {
    best_of_three(run, |output| !stderr(output).contains("no thread of this program could run"))
}

/// Says why the test of this thread does nothing on this machine.
pub fn skip(reason: &str) {
    eprintln!("SKIPPED: {}: {reason}", std::thread::current().name().unwrap_or_default());
}

/// Returns true if fio is installed; prints the reason if it is not.
pub fn has_fio() -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok();
    if !found {
        skip("fio is not installed");
    }
    found
}

/// A loop device over a file, detached when dropped.
pub struct LoopDevice {
    pub path: String,
    _backing: tempfile::NamedTempFile,
}

/// Locks the attaching of loop devices: while one test detaches a device to attach it again, no
/// other may be given its number.
pub fn turn_to_attach() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn losetup(arguments: &[&str]) -> bool {
    Command::new("losetup").args(arguments).status().unwrap().success()
}

impl LoopDevice {
    /// Returns `None` and prints the reason where loop devices are unavailable.
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

    /// Options of a command that may overwrite it.
    pub fn confirmed(&self) -> String {
        format!("--target {} --yes-destroy {}", self.path, self.name())
    }

    /// Makes ext4 on it, with nothing left to initialize in the background. Returns false and
    /// prints the reason if that fails.
    pub fn has_ext4(&self) -> bool {
        let options = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &self.path];
        let made = Command::new("mkfs.ext4").args(options).status().is_ok_and(|s| s.success());
        if !made {
            skip("no mkfs.ext4");
        }
        made
    }

    /// Attaches it to another file.
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

    /// The kernel's counters: the columns of `/sys/block/NAME/stat`.
    pub fn counters(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        text.split_whitespace().map(|column| column.parse().unwrap()).collect()
    }

    /// Completed reads.
    pub fn reads(&self) -> u64 {
        self.counters()[0]
    }

    /// Bytes written.
    pub fn written(&self) -> u64 {
        512 * self.counters()[6]
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

/// A mounted file system, unmounted when dropped.
pub struct Mount(pub PathBuf);

impl Mount {
    pub fn new(device: &LoopDevice, point: PathBuf) -> Mount {
        assert!(Command::new("mount").arg(&device.path).arg(&point).status().unwrap().success());
        Mount(point)
    }

    /// Mounts a file system that needs no device; `None` if the kernel has no such file system.
    pub fn of_kind(kind: &str, options: &str, point: PathBuf) -> Option<Mount> {
        let words = ["-t", kind, kind, "-o", options];
        let output = Command::new("mount").args(words).arg(&point).output().unwrap();
        output.status.success().then_some(Mount(point))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let is_unmounted = Command::new("umount").arg(&self.0).status().unwrap().success();
        assert!(is_unmounted || std::thread::panicking());
    }
}

/// A FUSE file system with one file, mounted by a user and ended when dropped.
pub struct FuseMount {
    server: Child,
    pub point: PathBuf,
}

impl FuseMount {
    /// Returns `None` and prints the reason where there is no FUSE.
    pub fn new(point: &Path, user: u32) -> Option<FuseMount> {
        std::fs::create_dir_all(point).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fuse_file.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(point).arg(user.to_string());
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let _ = BufReader::new(server.stdout.take().unwrap()).read_line(&mut line);
        let mount = FuseMount { server, point: point.to_owned() };
        if line.is_empty() {
            skip("FUSE is not mounted");
        }
        (!line.is_empty()).then_some(mount)
    }
}

impl Drop for FuseMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.point).output();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A cgroup that limits the I/Os per second on a device.
pub struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// Returns `None` and prints the reason where there is no cgroup v1 blkio.
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

    /// Changes the limit.
    pub fn limit(&self, device: &LoopDevice, iops: u32) {
        for direction in ["read", "write"] {
            let file = self.group.join(format!("blkio.throttle.{direction}_iops_device"));
            std::fs::write(file, format!("{} {iops}", device.numbers())).unwrap();
        }
    }

    /// The file that takes the process IDs of the group.
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

/// Returns true if Python has a module; prints the reason if it has not.
pub fn has_module(module: &str) -> bool {
    let import = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    let is_there = import.is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("Python has no module {module}"));
    }
    is_there
}

/// Runs a Python script if its modules are installed.
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
pub fn succeed_json(directory: &Path, arguments: &(impl Arguments + ?Sized)) -> Value {
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
pub fn findings(run: impl AsRef<Path>) -> Value {
    read_json(run.as_ref().join("findings.json"))
}

/// The caveat with this id, if the findings have one.
pub fn caveat<'f>(findings: &'f Value, id: &str) -> Option<&'f Value> {
    array(&findings["caveats"]).iter().find(|caveat| caveat["id"] == id)
}

/// The number in a cell of a table of the findings, by ids.
pub fn table_cell(findings: &Value, table: &str, row: &str, column: &str) -> Option<f64> {
    let pages = ["form_pages", "chapters"].iter().flat_map(|part| array(&findings[part]));
    let exhibits = pages.flat_map(|page| array(&page["exhibits"]));
    let found = exhibits.map(|exhibit| &exhibit["table"]).find(|own| own["id"] == table)?;
    let at = array(&found["columns"]).iter().position(|own| own["id"] == column)?;
    let row = array(&found["rows"]).iter().find(|own| own["id"] == row)?;
    row["cells"][at]["number"]["value"].as_f64()
}

/// The elements of a JSON array.
#[track_caller]
pub fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}
