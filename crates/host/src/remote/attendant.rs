//! The process that runs on each host of a load from several hosts. It checks the device with
//! [`crate::arm`], holds it, runs a fio server on a socket that only this user can reach, and ends
//! all of this when the connection ends.
//!
//! A request is one line. An answer consists of lines that begin with a keyword, and ends with a
//! line that contains only a dot. A line that begins with "!" is an error message.

use super::view::{HostVerdict, HostView};
use crate::arming::{Consent, arm, verify_still_free};
use crate::clocks::unix_nanos;
use crate::device_number::decode_dev;
use crate::identity::{confirmation, inspect};
use crate::refusal::ArmRefusal;
use crate::sensors::kernel_counters;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use crate::target::Target;
use crate::tool::{command, find_program};
use crate::user::{effective_uid, is_root};
use serde::Serialize;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use steadfast_domain::{Device, DeviceNumber, Transport};

/// Script that every thread of a load runs in the server's directory: waits for the agreed start
/// time, then records the actual one.
const START_SCRIPT: &str = "\
now=$(date +%s%N)
left=$(($(cat at) - now))
[ \"$left\" -le 0 ] || sleep \"$(printf '%d.%09d' $((left / 1000000000)) $((left % 1000000000)))\"
date +%s%N >>began
";

/// Time limit for a fio server to start listening.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the processes of a fio server to exit after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Answers requests about a device until the input ends, no request has arrived for `silence`, or
/// the shell that started this process has exited.
///
/// The current directory must be accessible to this user only; the server's socket and files are
/// created there. It is removed if that shell has exited.
///
/// # Errors
/// An answer cannot be written.
pub fn attend_host(
    device: &Path,
    silence: Duration,
    requests: impl BufRead + Send + 'static,
    answers: &mut dyn Write,
) -> io::Result<()> {
    // SAFETY: getppid has no preconditions and cannot fail.
    let parent = || unsafe { libc::getppid() };
    let shell = parent();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for line in requests.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut attendant = match HostAgent::begin(device) {
        Ok(attendant) => {
            writeln!(answers, ".")?;
            answers.flush()?;
            attendant
        }
        Err(why) => {
            writeln!(answers, "!{}\n.", one_line(&why))?;
            return answers.flush();
        }
    };
    let mut last_request = Instant::now();
    while last_request.elapsed() < silence && parent() == shell {
        let request = match received.recv_timeout(Duration::from_secs(1)) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        last_request = Instant::now();
        if request == "pulse" {
            continue;
        }
        match attendant.answer(&request) {
            Ok(lines) => lines.iter().try_for_each(|line| writeln!(answers, "{line}"))?,
            Err(why) => writeln!(answers, "!{}", one_line(&why))?,
        }
        writeln!(answers, ".")?;
        answers.flush()?;
    }
    let place = attendant.place.clone();
    drop(attendant);
    if parent() != shell {
        let _ = fs::remove_dir_all(place);
    }
    Ok(())
}

/// Length of the random part of the directory's name, which the other side chooses.
const NAME_LENGTH: usize = 20;

/// Refuses any directory that was not created for this command, because it is removed at the end.
fn require_own_place(place: &Path) -> Result<(), String> {
    let metadata = fs::symlink_metadata(place).map_err(|error| error.to_string())?;
    let is_own = metadata.uid() == effective_uid() && metadata.mode() & 0o777 == 0o700;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let random = name.strip_prefix("steadfast-").unwrap_or_default();
    let is_made =
        random.len() == NAME_LENGTH && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_own && is_made {
        Ok(())
    } else {
        Err("only --hosts starts this command, in a directory that it makes".to_owned())
    }
}

/// The device under test on this host, with its handles and the fio server.
struct HostAgent {
    roots: SystemRoots,
    /// Directory of the server's files.
    place: PathBuf,
    device: Device,
    node: SysfsNode,
    number: DeviceNumber,
    /// The device, open for reading; fio inherits this handle.
    reading: Target,
    /// The device, held exclusively; `None` until requested.
    held: Option<Target>,
    server: Option<FioServer>,
}

impl HostAgent {
    fn begin(path: &Path) -> Result<HostAgent, String> {
        let roots = SystemRoots::real();
        let place = std::env::current_dir().map_err(|error| error.to_string())?;
        require_own_place(&place)?;
        let device = inspect(path, &roots).map_err(|error| error.to_string())?;
        if device.transport == Transport::File {
            return Err(format!("{} is not a block device on this host", path.display()));
        }
        let reading = arm(&device, &Consent::Read, &[], &roots).map_err(|why| with_remedy(&why))?;
        let number = number_of(&reading).map_err(|error| error.to_string())?;
        let node = SysfsNode::from_number(number, &roots)
            .ok_or_else(|| format!("sysfs does not list {}", path.display()))?;
        let device = reading.device().clone();
        Ok(HostAgent { roots, place, device, node, number, reading, held: None, server: None })
    }

    fn answer(&mut self, request: &str) -> Result<Vec<String>, String> {
        let (word, rest) = request.split_once(' ').unwrap_or((request, ""));
        match word {
            "look" => Ok(vec![json("view", &self.view()?)?]),
            "judge" => Ok(vec![json("verdict", &self.judge())?]),
            "hold" => self.hold().map(|()| Vec::new()),
            "check" => self.check().map(|()| Vec::new()),
            "serve" => self.serve().map(|handle| vec![format!("serves {handle}")]),
            "clock" => Ok(vec![format!("clock {}", unix_nanos())]),
            "at" => self.store_start(rest).map(|()| Vec::new()),
            "began" => self.thread_starts(),
            "counters" => {
                let counters = kernel_counters(&self.device, &self.roots);
                Ok(vec![json("counters", &counters)?])
            }
            _ => Err(format!("unknown request '{request}'")),
        }
    }

    fn view(&self) -> Result<HostView, String> {
        let read = |name: &str| {
            let path = self.roots.proc.join(name);
            read_text(&path).ok_or_else(|| format!("{} cannot be read", path.display()))
        };
        Ok(HostView {
            kernel: read("sys/kernel/osrelease")?,
            boot: read("sys/kernel/random/boot_id")?,
            fio: fio_version()?,
            number: self.number,
            device: self.device.clone(),
            confirmation: self.confirmation()?,
            is_partition: self.node.partition().is_some(),
            namespace: self.node.whole().number("nsid"),
        })
    }

    /// Returns the text that names the device among those of this host.
    fn confirmation(&self) -> Result<String, String> {
        confirmation(&self.device, &self.roots).map_err(|error| error.to_string())
    }

    /// Decides whether the device may be overwritten, without opening it for writing.
    fn judge(&self) -> HostVerdict {
        if let Some(why) = not_root() {
            return HostVerdict::Refused(why);
        }
        let unnamed = Consent::Destroy { confirmation: None };
        match arm(&self.device, &unnamed, &[], &self.roots) {
            Err(ArmRefusal::Unconfirmed { losses, .. }) => HostVerdict::Free(losses),
            Err(refusal) => HostVerdict::Refused(with_remedy(&refusal)),
            Ok(_) => HostVerdict::Refused("it is a scratch file".to_owned()),
        }
    }

    /// Arms the device and holds it exclusively until this process ends.
    fn hold(&mut self) -> Result<(), String> {
        if let Some(why) = not_root() {
            return Err(why);
        }
        let consent = Consent::Destroy { confirmation: Some(self.confirmation()?) };
        let target =
            arm(&self.device, &consent, &[], &self.roots).map_err(|why| with_remedy(&why))?;
        let number = number_of(&target).map_err(|error| error.to_string())?;
        if number != self.number {
            return Err(format!("{} leads to another device now", self.device.path));
        }
        self.held = Some(target);
        Ok(())
    }

    /// Checks again that nothing has started to use the held device.
    fn check(&mut self) -> Result<(), String> {
        let target = self.held.as_mut().ok_or("the device is not held")?;
        verify_still_free(target, &self.roots).map_err(|why| with_remedy(&why))
    }

    /// Starts a fio server. Returns the file descriptor of its handle on the device.
    fn serve(&mut self) -> Result<i32, String> {
        let failed = |error: io::Error| format!("fio --server did not start: {error}");
        fs::write("begin", START_SCRIPT).map_err(failed)?;
        let socket = self.place.join("socket");
        let log = fs::File::create("server.log").map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let handle = self.reading.fd().as_raw_fd();
        let mut fio = command(Path::new("fio")).map_err(failed)?;
        fio.arg(format!("--server=sock:{}", socket.display()))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0);
        // SAFETY: between fork and exec, only one system call is made, with integer arguments.
        unsafe {
            fio.pre_exec(move || match libc::fcntl(handle, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let child = fio.spawn().map_err(failed)?;
        // The shell reads this to kill the server if this process is killed.
        fs::write("server", child.id().to_string()).map_err(failed)?;
        let server = self.server.insert(FioServer { child });
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if socket.exists() {
                return Ok(handle);
            }
            if !matches!(server.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let log = fs::read_to_string("server.log").unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(3).collect();
        Err(format!("fio --server did not start: {}", last.join(" ")))
    }

    /// Stores the start time of the next load's threads, in nanoseconds since 1970 by this host's
    /// clock.
    fn store_start(&self, start: &str) -> Result<(), String> {
        let written = fs::write("at", start).and_then(|()| fs::write("began", ""));
        written.map_err(|error| format!("the start time cannot be stored: {error}"))
    }

    fn thread_starts(&self) -> Result<Vec<String>, String> {
        let text = fs::read_to_string("began").map_err(|error| format!("began: {error}"))?;
        Ok(text.lines().map(|line| format!("began {line}")).collect())
    }
}

/// A fio server with its workers; dropping it ends them.
struct FioServer {
    child: Child,
}

impl Drop for FioServer {
    fn drop(&mut self) {
        let Ok(group) = i32::try_from(self.child.id()) else { return };
        // SAFETY: the group belongs to a child that has not been waited for, so its number cannot
        // have been reused.
        let signal = |signal: i32| unsafe { libc::kill(-group, signal) };
        signal(libc::SIGTERM);
        let start = Instant::now();
        // The group leader remains as a zombie until it is waited for; the workers must exit.
        while start.elapsed() < EXIT_TIMEOUT && has_running(group) {
            std::thread::sleep(POLL_INTERVAL);
        }
        signal(libc::SIGKILL);
        let _ = self.child.wait();
        let _ = fs::remove_file("server");
    }
}

/// Returns true if a process group has processes other than zombies, or if this is unknown.
fn has_running(group: i32) -> bool {
    let Ok(processes) = crate::processes::all(&SystemRoots::real()) else { return true };
    processes.iter().any(|process| {
        // `PID (NAME) STATE PPID PGRP`; the name may contain anything.
        let text = read_text(&process.join("stat")).unwrap_or_default();
        let mut fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next().unwrap_or_default();
        state != "Z" && fields.nth(1).and_then(|number| number.parse().ok()) == Some(group)
    })
}

/// Returns why this user cannot see all uses of a device; `None` for root.
fn not_root() -> Option<String> {
    (!is_root()).then(|| {
        "the login is not root, so that mounts and open files of others cannot be seen; log in \
         as root"
            .to_owned()
    })
}

fn fio_version() -> Result<String, String> {
    let missing = "fio is not installed; install the package fio";
    let fio = find_program(Path::new("fio")).map_err(|_| missing)?;
    let mut child = command(&fio)
        .map_err(|_| missing)?
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("fio cannot be run: {error}"))?;
    let mut text = String::new();
    if let Some(pipe) = child.stdout.take() {
        let _ = pipe.take(1000).read_to_string(&mut text);
    }
    let _ = child.wait();
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Returns the device number of an open device.
fn number_of(target: &Target) -> io::Result<DeviceNumber> {
    Ok(decode_dev(target.file().metadata()?.rdev()))
}

fn with_remedy(refusal: &ArmRefusal) -> String {
    let remedy = refusal.remedy();
    if remedy.is_empty() { refusal.to_string() } else { format!("{refusal}: {remedy}") }
}

fn json(word: &str, value: &impl Serialize) -> Result<String, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    Ok(format!("{word} {text}"))
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::AccessMode;
    use crate::testing::machine::MachineFixture;

    /// Arming expects the same text.
    #[test]
    fn a_serial_number_of_two_disks_is_confirmed_with_the_path() {
        let (machine, node) = MachineFixture::with_nvme(1000);
        let other = machine.nvme(1, 1, 1000);
        let device = machine.device(&node);
        machine.write("medium", "x");
        let medium = inspect(&machine.path("medium"), &SystemRoots::real()).unwrap();
        let attendant = HostAgent {
            roots: machine.roots.clone(),
            place: machine.path("."),
            node,
            number: DeviceNumber::new(259, 1),
            reading: Target::open(medium, AccessMode::Read).unwrap(),
            device,
            held: None,
            server: None,
        };
        assert_eq!(attendant.confirmation(), Ok("S676NF0R000000".to_owned()));
        machine.set(&other, "device/serial", "S676NF0R000000");
        let path = machine.path("dev/nvme0n1");
        assert_eq!(attendant.confirmation(), Ok(format!("S676NF0R000000@{}", path.display())));
    }
}
