//! Signals, lost terminals and kills: what continues, what ends well, and what is restored
//! afterwards.

use super::fixtures::*;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use steadfast_domain::JournalEntry;
use steadfast_runner::Ledger;

/// A long run on a scratch file.
const RUN: &str =
    "run iops --profile quick --target scratch.bin --size 64MiB --step-time 500ms -o run";

fn steps(directory: &Path) -> usize {
    finished_steps(&directory.join("run"))
}

/// Returns the command of that run, without its output.
fn silent_run(directory: &Path) -> Command {
    let mut command = command_in(directory, RUN);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The two sides of a terminal. No other child of these tests inherits one of them: that of the
/// person must be closed once nobody has it.
struct TerminalPair {
    person: File,
    /// Becomes the child's controlling terminal.
    program: OwnedFd,
}

fn open_terminal() -> TerminalPair {
    let person = File::options().read(true).write(true).open("/dev/ptmx").unwrap();
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: both calls take a terminal that is open, and no memory.
    let program = unsafe {
        assert_eq!(libc::unlockpt(person.as_raw_fd()), 0);
        libc::ioctl(person.as_raw_fd(), libc::TIOCGPTPEER, flags)
    };
    assert!(program >= 0);
    // SAFETY: the call has just opened it, and nobody else has it.
    let program = unsafe { OwnedFd::from_raw_fd(program) };
    TerminalPair { person, program }
}

/// Reads what a terminal shows until a condition holds, as a person does: a terminal that nobody
/// reads stops its writers.
fn watch(terminal: &File, what: &str, holds: impl Fn() -> bool) {
    let (mut terminal, mut buffer) = (terminal, [0; 4096]);
    wait_until(what, || {
        let mut ready = libc::pollfd { fd: terminal.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `ready` is one valid pollfd.
        while unsafe { libc::poll(&raw mut ready, 1, 0) } > 0 {
            let _ = terminal.read(&mut buffer).unwrap();
        }
        holds()
    });
}

/// An ssh connection drops: the terminal is closed, SIGHUP comes, writes fail. The run continues, and
/// its journal says so; SIGTERM still halts it resumably.
#[test]
fn a_run_outlives_its_terminal() {
    let here = &TestDirectory::new();
    let TerminalPair { person, program } = open_terminal();
    let mut command = command_in(here, RUN);
    let stream = || Stdio::from(program.try_clone().unwrap());
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let side = program.as_raw_fd();
    // SAFETY: between fork and exec only three system calls are made.
    unsafe {
        command.pre_exec(move || {
            // Tests that run under nohup would hand on that SIGHUP is ignored.
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            libc::setsid();
            libc::ioctl(side, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    drop((command, program));
    watch(&person, "the first step", || steps(here) > 0);
    drop(person);
    let before = steps(here);
    wait_until("a step without a terminal", || steps(here) > before + 2);
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let lines = Ledger::read(&here.join("run")).unwrap().lines;
    let is_noted = lines.iter().any(|line| match &line.entry {
        JournalEntry::Examined(checks) => {
            checks.iter().any(|c| c.found.contains("lost during the run"))
        }
        _ => false,
    });
    assert!(is_noted, "the journal says that the terminal was lost");
    assert!(matches!(lines.last().unwrap().entry, JournalEntry::Halted(_)));
}

/// Under nohup SIGHUP is ignored already, and stays so.
#[test]
fn sigquit_and_sigterm_halt_and_sighup_under_nohup_does_nothing() {
    for ending in [libc::SIGQUIT, libc::SIGTERM] {
        let here = &TestDirectory::new();
        let mut command = silent_run(here);
        // SAFETY: between fork and exec only one system call is made.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        wait_until("the first step", || steps(here) > 0);
        signal(&child, libc::SIGHUP);
        let before = steps(here);
        wait_until("a further step", || steps(here) > before);
        // As by `timeout`, which signals the process and its group.
        signal(&child, ending);
        signal(&child, ending);
        assert_eq!(child.wait().unwrap().code(), Some(4), "signal {ending}");
        let journal = fs::read_to_string(here.join("run/journal.jsonl")).unwrap();
        assert!(!journal.contains("SIGHUP"), "nothing was lost");
    }
}

/// A limit of file sizes halts a run with an error; it does not kill the process.
#[test]
fn a_limit_of_file_sizes_is_an_error_that_names_the_file() {
    let here = &TestDirectory::new();
    let program = env!("CARGO_BIN_EXE_steadfast");
    let run = "run iops --target sim:small --profile quick -o run";
    let output = Command::new("bash")
        .current_dir(here)
        .args(["-c", &format!("ulimit -f 16; exec {program} {run}")])
        .output()
        .unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.signal(), None, "{text}");
    assert_eq!(code(&output), 4, "{text}");
    assert!(text.contains("File too large") && text.contains("journal.jsonl"), "{text}");
    run_ending(here, "resume run", &[0, 3]);
}

/// A loop device with merges on, and the attribute that controls them.
struct MergingDevice {
    device: LoopDevice,
    attribute: String,
}

impl MergingDevice {
    fn new() -> Option<MergingDevice> {
        let device = LoopDevice::new(64)?;
        // A detached loop device keeps its queue's settings for the next user.
        let attribute = format!("/sys/block/{}/queue/nomerges", device.name());
        if let Err(error) = fs::write(&attribute, "0") {
            skip(&format!("{attribute}: {error}"));
            return None;
        }
        Some(MergingDevice { device, attribute })
    }

    fn level(&self) -> String {
        fs::read_to_string(&self.attribute).unwrap().trim().to_owned()
    }

    /// Measures for a while, with its state in this directory, once merges are off.
    fn measure(&self, state: &Path, time: &str) -> Child {
        let arguments = format!("measure 'RND 4K W' {} --time {time}", self.device.confirmed());
        let mut command = command_in(state, &arguments);
        command.env("STATE_DIRECTORY", state).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the change", || self.level() == "2");
        child
    }

    /// Kills a measurement.
    fn kill_measurement(&self, state: &Path) {
        let mut child = self.measure(state, "60s");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(self.level(), "2", "nobody has restored it");
    }
}

impl Drop for MergingDevice {
    fn drop(&mut self) {
        let _ = fs::write(&self.attribute, "0");
    }
}

#[derive(Debug, PartialEq)]
struct RestoredSetting {
    outcome: String,
    reason: String,
}

/// Restores the changes recorded in `state` and returns them. The trace instances that it removes are
/// not returned: they may be those of other tests.
fn restore(state: &Path) -> Vec<RestoredSetting> {
    let mut command = steadfast();
    let output =
        command.env("STATE_DIRECTORY", state).args(["restore", "--json"]).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer: serde_json::Value = parse_json(&output);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let setting = |change: &serde_json::Value| RestoredSetting {
        outcome: text(&change["outcome"]),
        reason: text(&change["why"]),
    };
    answer["changes"].as_array().unwrap().iter().map(setting).collect()
}

#[test]
fn a_measurement_outlives_sighup_and_restores_everything() {
    let Some(merging) = MergingDevice::new() else { return };
    let state = &TestDirectory::new();
    let output = unless_stalled(|| {
        let child = merging.measure(state, "4s");
        signal(&child, libc::SIGHUP);
        assert_eq!(restore(state), [], "its process lives");
        child.wait_with_output().unwrap()
    });
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("writes"), "{}", stdout(&output));
    assert_eq!(merging.level(), "0");
    assert_eq!(fs::read_dir(state.join("host-changes")).unwrap().count(), 0);
}

#[test]
fn the_changes_of_a_killed_measurement_are_reported_and_restored() {
    let Some(merging) = MergingDevice::new() else { return };
    let state = &TestDirectory::new();
    merging.kill_measurement(state);
    let mut doctor = command_in(state, "doctor sim:small");
    let text = stderr(&doctor.env("STATE_DIRECTORY", &**state).output().unwrap());
    let setting = format!("queue/nomerges of {}", merging.device.name());
    assert!(text.contains(&setting) && text.contains("steadfast restore"), "{text}");
    let restored = RestoredSetting { outcome: "restored".to_owned(), reason: String::new() };
    assert_eq!(restore(state), [restored]);
    assert_eq!(merging.level(), "0");
    assert_eq!(restore(state), []);
}

/// What somebody else has set since then, and another device of the same name, are left as they are.
#[test]
fn what_is_no_longer_ours_is_left() {
    let Some(merging) = MergingDevice::new() else { return };
    let state = &TestDirectory::new();
    merging.kill_measurement(state);
    fs::write(&merging.attribute, "1").unwrap();
    let changes = restore(state);
    assert!(
        matches!(&changes[..], [one] if one.outcome == "left" && one.reason.contains("is 1 now")),
        "{changes:?}"
    );
    assert_eq!(merging.level(), "1");
    fs::write(&merging.attribute, "0").unwrap();
    merging.kill_measurement(state);
    // A loop device that is attached again has its name, and another number.
    let journal = fs::read_dir(state.join("host-changes")).unwrap().next().unwrap();
    let journal = journal.unwrap().path();
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replace("\"disk_sequence\":", "\"disk_sequence\":99999")).unwrap();
    let changes = restore(state);
    assert!(matches!(&changes[..], [one] if one.outcome == "gone"), "{changes:?}");
    assert_eq!(merging.level(), "2");
    assert_eq!(restore(state), []);
}

/// A command that sees tracefs, which is mounted for it alone where it is not.
fn with_tracefs(command: &Path, arguments: &[&str]) -> Command {
    let mut unshared = Command::new("unshare");
    let script = "test -d /sys/kernel/tracing/instances || mount -t tracefs nodev \
                  /sys/kernel/tracing; exec \"$0\" \"$@\"";
    unshared.args(["--mount", "sh", "-c", script]).arg(command).args(arguments);
    unshared.env("STATE_DIRECTORY", env!("CARGO_TARGET_TMPDIR")).stdin(Stdio::null());
    unshared
}

fn instances() -> Vec<String> {
    let list = with_tracefs(Path::new("ls"), &["/sys/kernel/tracing/instances"]).output().unwrap();
    stdout(&list).split_whitespace().map(str::to_owned).collect()
}

fn instance_of(child: &Child) -> String {
    format!("steadfast-{}-0", child.id())
}

/// Begins a capture through tracefs and waits until it listens.
fn begin_capture(directory: &Path, device: &LoopDevice, file: &str) -> Result<Child, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_steadfast"));
    let messages = directory.join("messages.txt");
    let arguments = ["capture", "--device", &device.path, "--source", "tracefs", "-o", file];
    let mut child = with_tracefs(program, &arguments)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(File::create(&messages).unwrap())
        .spawn()
        .unwrap();
    let has_begun = wait_until_listening(&mut child, &messages);
    if has_begun { Ok(child) } else { Err(fs::read_to_string(&messages).unwrap()) }
}

/// The kernel continues the recording of a killed capture until it is removed: by `restore` or by
/// the next capture, which leave running captures, and those of other programs, alone.
#[test]
fn the_trace_instance_of_a_killed_capture_is_removed() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    let mut dead = match begin_capture(here, &device, "dead.parquet") {
        Ok(child) => child,
        Err(why) => return skip(why.trim()),
    };
    let name = format!("steadfast-test-{}", std::process::id());
    let foreign = &format!("/sys/kernel/tracing/instances/{name}");
    assert!(with_tracefs(Path::new("mkdir"), &[foreign]).status().unwrap().success());
    let mut live = begin_capture(here, &device, "live.parquet").unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_steadfast"));
    let restore = |dead: &mut Child| {
        dead.kill().unwrap();
        dead.wait().unwrap();
        stdout(&with_tracefs(program, &["restore"]).output().unwrap())
    };
    let mut text = restore(&mut dead);
    // A capture that another test begins may be first to remove it.
    for _ in 0..10 {
        assert!(!text.contains(&instance_of(&live)), "{text}");
        if text.contains(&instance_of(&dead)) {
            break;
        }
        dead = begin_capture(here, &device, &format!("{}.parquet", dead.id())).unwrap();
        text = restore(&mut dead);
    }
    assert!(text.contains(&instance_of(&dead)), "{text}");
    let left = instances();
    assert!(!left.contains(&instance_of(&dead)) && left.contains(&instance_of(&live)), "{left:?}");
    assert!(left.contains(&name));
    live.kill().unwrap();
    live.wait().unwrap();
    let mut next = begin_capture(here, &device, "next.parquet").unwrap();
    assert!(!instances().contains(&instance_of(&live)), "the next capture removes it too");
    signal(&next, libc::SIGINT);
    assert!(next.wait().unwrap().success());
    assert!(with_tracefs(Path::new("rmdir"), &[foreign]).status().unwrap().success());
}

/// What is written to a deleted file is lost: the capture reports that and ends.
#[test]
fn a_capture_whose_file_is_deleted_ends_with_an_error() {
    if !is_root() {
        return skip("needs root to capture");
    }
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    let mut child = match begin_capture(here, &device, "t.parquet") {
        Ok(child) => child,
        Err(why) => return skip(why.trim()),
    };
    signal(&child, libc::SIGHUP);
    let file = here.join("t.parquet");
    wait_until("the file", || file.exists());
    fs::remove_file(file).unwrap();
    let status = child.wait().unwrap();
    let text = fs::read_to_string(here.join("messages.txt")).unwrap();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("t.parquet was deleted"), "{text}");
    assert!(!instances().contains(&instance_of(&child)), "nothing is left");
}

/// A host whose state cannot be written is not changed.
#[test]
fn nothing_is_changed_that_cannot_be_journaled() {
    let Some(merging) = MergingDevice::new() else { return };
    let here = &TestDirectory::new();
    fs::write(here.join("host-changes"), "a file in its way").unwrap();
    let load = format!("measure 'RND 4K W' {} --time 1s", merging.device.confirmed());
    let mut command = command_in(here, &load);
    let output = command.env("STATE_DIRECTORY", &**here).output().unwrap();
    let text = stderr(&output);
    assert_eq!(code(&output), 1, "{text}");
    assert!(text.contains("STATE_DIRECTORY"), "{text}");
    assert_eq!(merging.level(), "0");
}

/// The page of exit codes and `--help` say the same.
#[test]
fn help_says_what_signals_do() {
    let help = succeed(Path::new("/"), &["--help"]);
    assert!(help.contains("SIGHUP") && help.contains("continues without"), "{help}");
}
