//! A guest: a machine with drives, its script, and the cases its output must pass.

use crate::answers::GuestOutput;
use crate::guest_drive::GuestDrive;
use crate::nbd::{self, SharedDrives};
use crate::qmp::{NETWORK, Qmp};
use crate::root::GuestRoot;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct Guest {
    /// Name of the guest and of its script.
    pub name: &'static str,
    /// Drives of the guest; a script may create one more (`scsi_debug`).
    pub drives: Vec<GuestDrive>,
    /// Shell script that the guest runs.
    pub script: &'static str,
    /// A second guest on the same network, which starts first and is ended with this one. Its
    /// output is lost.
    pub peer: Option<Box<Guest>>,
    /// Actions from outside while the guest runs, in order.
    pub meanwhile: Vec<OutsideAction>,
    /// A number that the script reads: `given cycles`.
    pub cycles: u32,
    /// Times that the guest loses its power and starts again, each when its script tells
    /// [`LOSE_POWER`]. Its drives keep what a drive without power keeps.
    pub power_losses: u32,
    /// Time after which the guest is ended, whatever it does.
    pub limit: Duration,
    /// Output files to keep as artifacts.
    pub artifacts: &'static [&'static str],
    /// Conditions that the output must meet.
    pub cases: Vec<Case>,
    /// Returns the table of measurements, for guests that are benches.
    pub table: Option<fn(&GuestOutput) -> anyhow::Result<String>>,
}

/// An action from outside, triggered by a line of the guest (`tell`).
pub struct OutsideAction {
    /// The text of the line.
    pub word: &'static str,
    pub act: fn(&mut Qmp) -> anyhow::Result<()>,
}

/// A condition that the output of a guest must meet.
pub struct Case {
    /// The condition in words.
    pub name: &'static str,
    /// Checks the condition; an error is a failure.
    pub check: fn(&GuestOutput) -> anyhow::Result<()>,
}

impl Case {
    pub fn new(name: &'static str, check: fn(&GuestOutput) -> anyhow::Result<()>) -> Self {
        Case { name, check }
    }
}

/// The reason why a case cannot be checked here.
#[derive(Debug)]
pub struct SkipReason(pub String);

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SkipReason {}

/// Memory of a guest in MiB: for the program, a run directory and the disk of scsi_debug.
const MEMORY_MIB: u32 = 1024;

/// Name of the image of the disk for a guest's output.
const ANSWERS: &str = "answers.img";

/// Size of the disk for a guest's output, in MiB.
const ANSWERS_MIB: u64 = 128;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Name of the file with the guest's console output.
pub const CONSOLE: &str = "console.log";

/// Line with which a guest asks for a loss of power.
const LOSE_POWER: &str = "lose power";

/// Name of the file with what a guest with served drives wrote to its third serial port.
pub const RECEIVED: &str = "received";

/// Directory of a guest's peer, within its own.
const PEER: &str = "peer";

/// Socket of the network between two guests, in the directory of the one that starts second.
const SOCKET: &str = "network.sock";

/// A guest's end of the network between two guests, with the path of the socket. It leads nowhere
/// else.
enum NetworkRole {
    None,
    First(String),
    Second(String),
}

impl NetworkRole {
    fn arguments(&self) -> Vec<String> {
        let (server, path, last) = match self {
            NetworkRole::None => return Vec::new(),
            NetworkRole::First(path) => ("on", path, 1),
            NetworkRole::Second(path) => ("off", path, 2),
        };
        let network =
            format!("stream,id={NETWORK},server={server},addr.type=unix,addr.path={path}");
        let device = format!("virtio-net-pci,netdev={NETWORK},mac=52:54:00:00:00:0{last}");
        vec!["-netdev".to_owned(), network, "-device".to_owned(), device]
    }
}

/// A QEMU process, killed on drop.
struct QemuProcess(Child);

impl Drop for QemuProcess {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guest {
    /// Returns a guest without drives and cases that is ended after `seconds`.
    pub fn new(name: &'static str, script: &'static str, seconds: u64) -> Self {
        Guest {
            name,
            drives: Vec::new(),
            script,
            peer: None,
            meanwhile: Vec::new(),
            cycles: 0,
            power_losses: 0,
            limit: Duration::from_secs(seconds),
            artifacts: &[],
            cases: Vec::new(),
            table: None,
        }
    }

    /// Runs the guest in `directory`, waits for its end and collects its output. The images are
    /// removed; the console log stays.
    pub fn run(&self, root: &GuestRoot, directory: &Path) -> anyhow::Result<GuestOutput> {
        let _ = fs::remove_dir_all(directory);
        let mut images = self.create_images(directory)?;
        if let Some(peer) = &self.peer {
            images.extend(peer.create_images(&directory.join(PEER))?);
        }
        let lossy = self.drives.iter().filter_map(|drive| Some((drive.serial, drive.lossy()?)));
        let lossy: SharedDrives =
            lossy.map(|(serial, drive)| (serial, Arc::new(Mutex::new(drive)))).collect();
        if !lossy.is_empty() {
            nbd::serve(&lossy, directory)?;
        }
        let result = self.run_to_end(root, directory);
        let disk = directory.join(ANSWERS);
        let answers = result.and_then(|()| GuestOutput::unpack(&disk, directory.join("out")));
        if let Ok(answers) = &answers {
            if !lossy.is_empty() {
                fs::copy(directory.join(RECEIVED), answers.path(RECEIVED))?;
            }
            for (serial, drive) in &lossy {
                let planted = nbd::locked(drive).planted();
                fs::write(answers.path(&format!("planted-{serial}")), planted)?;
            }
        }
        for path in &images {
            fs::remove_file(path)?;
        }
        answers
    }

    /// Creates the directory of a guest and its empty images; returns their paths.
    fn create_images(&self, directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
        fs::create_dir_all(directory)?;
        let of_drives = self.drives.iter().flat_map(GuestDrive::images);
        let images = of_drives.chain([(ANSWERS.to_owned(), ANSWERS_MIB)]);
        let create = |(name, mib): (String, u64)| {
            let path = directory.join(name);
            File::create(&path)?.set_len(mib << 20)?;
            Ok(path)
        };
        images.map(create).collect()
    }

    fn run_to_end(&self, root: &GuestRoot, directory: &Path) -> anyhow::Result<()> {
        let (began, console) = (Instant::now(), directory.join(CONSOLE));
        let first = NetworkRole::First(format!("../{SOCKET}"));
        let peer = self.peer.as_ref().map(|peer| peer.start(root, &directory.join(PEER), &first));
        // Its network is ready when its QMP answers. It runs until it is dropped.
        let _peer = peer.transpose().context("the guest on the same network")?;
        let role = match self.peer {
            Some(_) => NetworkRole::Second(SOCKET.to_owned()),
            None => NetworkRole::None,
        };
        let (mut running, mut qmp) = self.start(root, directory, &role)?;
        let mut pending = self.meanwhile.iter().peekable();
        let mut power_losses = 0;
        while running.0.try_wait()?.is_none() {
            if began.elapsed() > self.limit {
                bail!("the guest did not end within {} s", self.limit.as_secs());
            }
            if let Some(meanwhile) = pending.next_if(|m| has_announced(&console, m.word)) {
                (meanwhile.act)(&mut qmp).with_context(|| format!("after '{}'", meanwhile.word))?;
            }
            if power_losses < self.power_losses && has_announced(&console, LOSE_POWER) {
                power_losses += 1;
                // Killed, QEMU says goodbye to no server of a drive.
                drop(running);
                (running, qmp) = self.start(root, directory, &role)?;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        if power_losses < self.power_losses {
            bail!("the guest lost its power {power_losses} times of {}", self.power_losses);
        }
        if let Some(meanwhile) = pending.next() {
            bail!("the guest never sent '{}'", meanwhile.word);
        }
        Ok(())
    }

    fn start(
        &self,
        root: &GuestRoot,
        directory: &Path,
        role: &NetworkRole,
    ) -> anyhow::Result<(QemuProcess, Qmp)> {
        let errors = File::create(directory.join("qemu.stderr"))?;
        let child = Command::new("qemu-system-x86_64")
            .args(self.arguments(root)?)
            .args(role.arguments())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("cannot run QEMU; install it as root with scripts/tools lab")?;
        let mut running = QemuProcess(child);
        let pipes = running.0.stdin.take().zip(running.0.stdout.take());
        let (commands, answers) = pipes.context("QEMU has no pipes")?;
        let qmp = Qmp::new(commands, answers).with_context(|| {
            fs::read_to_string(directory.join("qemu.stderr")).unwrap_or_default()
        })?;
        Ok((running, qmp))
    }

    fn arguments(&self, root: &GuestRoot) -> anyhow::Result<Vec<String>> {
        let absolute = |path: &PathBuf| -> anyhow::Result<String> {
            let path = fs::canonicalize(path).with_context(|| path.display().to_string())?;
            Ok(path.to_string_lossy().into_owned())
        };
        let boot = format!(
            "console=ttyS0 loglevel=4 panic=-1 tsc=reliable no_timer_check lab.script={} lab.limit={} \
             lab.cycles={}",
            self.name,
            self.limit.as_secs(),
            self.cycles
        );
        let disk = |path: &str, more: &str| {
            ["-drive".to_owned(), format!("file={path},format=raw,if=virtio,cache=unsafe{more}")]
        };
        let mut arguments: Vec<String> =
            ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
                .into_iter()
                .chain(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2"])
                .chain(["-serial", "file:console.log", "-qmp", "stdio"])
                .map(str::to_owned)
                .collect();
        arguments.extend(["-m".to_owned(), MEMORY_MIB.to_string()]);
        arguments.extend(["-kernel".to_owned(), absolute(&root.kernel.image())?]);
        arguments.extend(["-initrd".to_owned(), absolute(&root.first)?]);
        arguments.extend(["-append".to_owned(), boot]);
        arguments.extend(disk(&absolute(&root.disk)?, ",readonly=on"));
        arguments.extend(disk(ANSWERS, ""));
        if self.drives.iter().any(|drive| drive.lossy().is_some()) {
            arguments.extend(["-serial".to_owned(), format!("unix:{}", nbd::SWITCH)]);
            let received = format!("file,id=received,path={RECEIVED},append=on");
            arguments.extend(["-chardev".to_owned(), received]);
            arguments.extend(["-serial", "chardev:received"].map(str::to_owned));
        }
        arguments.extend(self.drives.iter().flat_map(GuestDrive::qemu_arguments));
        Ok(arguments)
    }
}

/// Returns true if the console shows this line of the guest's script.
fn has_announced(console: &Path, word: &str) -> bool {
    let console = fs::read(console).unwrap_or_default();
    String::from_utf8_lossy(&console)
        .lines()
        .any(|line| line.trim().split_once("lab: ").is_some_and(|(_, text)| text == word))
}
