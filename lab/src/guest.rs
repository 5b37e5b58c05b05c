//! A guest: a machine with drives, what it does, and what must come of it.

use crate::answers::Answers;
use crate::machine::Drive;
use crate::qmp::Qmp;
use crate::root::Root;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A guest and the cases that it serves.
pub struct Guest {
    /// Its name, and its script's.
    pub name: &'static str,
    /// Its drives; a script may make one more itself (`scsi_debug`).
    pub drives: Vec<Drive>,
    /// What it does.
    pub script: &'static str,
    /// What happens to it meanwhile, in order.
    pub meanwhile: Vec<Meanwhile>,
    /// When it is ended, whatever it does.
    pub limit: Duration,
    /// Files among its answers that are worth keeping.
    pub artefacts: &'static [&'static str],
    /// What must come of it.
    pub cases: Vec<Case>,
    /// What was measured in it, where that is what it is for.
    pub table: Option<fn(&Answers) -> anyhow::Result<String>>,
}

/// Something done from outside once the guest has said a word (`tell`).
pub struct Meanwhile {
    /// The word.
    pub word: &'static str,
    /// What is done.
    pub act: fn(&mut Qmp) -> anyhow::Result<()>,
}

/// Something that must hold for what a guest left.
pub struct Case {
    /// What must hold, in words.
    pub name: &'static str,
    /// Whether it does.
    pub check: fn(&Answers) -> anyhow::Result<()>,
}

/// A case that cannot be looked at here, and why.
#[derive(Debug)]
pub struct Skipped(pub String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

/// Memory of a guest, in MiB: the program, a run directory and scsi_debug's disk.
const MEMORY_MIB: u32 = 1024;

/// Room for a guest's answers.
const ANSWERS_MIB: u64 = 128;

/// How often a running guest is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The file that a guest's console is kept in.
pub const CONSOLE: &str = "console.log";

/// A QEMU process; ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guest {
    /// Starts the guest in `directory`, waits for its end and collects what it
    /// left. Its images are removed; the console log stays.
    ///
    /// # Errors
    /// Where QEMU does not start, the guest does not end in time, or leaves
    /// no answers.
    pub fn run(&self, root: &Root, directory: &Path) -> anyhow::Result<Answers> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
        let disk = directory.join("answers.img");
        let mut images = vec![(disk.clone(), ANSWERS_MIB)];
        let of_drives = self.drives.iter().flat_map(Drive::images);
        images.extend(of_drives.map(|(name, mib)| (directory.join(name), mib)));
        for (path, mib) in &images {
            File::create(path)?.set_len(mib << 20)?;
        }
        let result = self.to_its_end(root, directory);
        let answers = result.and_then(|()| Answers::unpack(&disk, directory.join("out")));
        for (path, _) in &images {
            fs::remove_file(path)?;
        }
        answers
    }

    fn to_its_end(&self, root: &Root, directory: &Path) -> anyhow::Result<()> {
        let (began, console) = (Instant::now(), directory.join(CONSOLE));
        let errors = File::create(directory.join("qemu.stderr"))?;
        let child = Command::new("qemu-system-x86_64")
            .args(self.arguments(root)?)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("cannot run QEMU; install it as root with scripts/tools lab")?;
        let mut running = Running(child);
        let pipes = running.0.stdin.take().zip(running.0.stdout.take());
        let (commands, answers) = pipes.context("QEMU has no pipes")?;
        let mut qmp = Qmp::new(commands, answers).with_context(|| {
            fs::read_to_string(directory.join("qemu.stderr")).unwrap_or_default()
        })?;
        let mut pending = self.meanwhile.iter().peekable();
        while running.0.try_wait()?.is_none() {
            if began.elapsed() > self.limit {
                bail!("the guest did not end within {} s", self.limit.as_secs());
            }
            if let Some(meanwhile) = pending.next_if(|m| has_told(&console, m.word)) {
                (meanwhile.act)(&mut qmp).with_context(|| format!("after '{}'", meanwhile.word))?;
            }
            std::thread::sleep(LOOK);
        }
        match pending.next() {
            Some(meanwhile) => bail!("the guest never sent '{}'", meanwhile.word),
            None => Ok(()),
        }
    }

    fn arguments(&self, root: &Root) -> anyhow::Result<Vec<String>> {
        let absolute = |path: &PathBuf| -> anyhow::Result<String> {
            Ok(fs::canonicalize(path)?.to_string_lossy().into_owned())
        };
        let boot = format!(
            "console=ttyS0 loglevel=4 panic=-1 tsc=reliable lab.script={} lab.limit={}",
            self.name,
            self.limit.as_secs()
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
        arguments.extend(disk("answers.img", ""));
        arguments.extend(self.drives.iter().flat_map(Drive::arguments));
        Ok(arguments)
    }
}

/// Whether the console shows a word of the guest's script.
fn has_told(console: &Path, word: &str) -> bool {
    let said = fs::read(console).unwrap_or_default();
    String::from_utf8_lossy(&said)
        .lines()
        .any(|line| line.trim().split_once("lab: ").is_some_and(|(_, told)| told == word))
}
