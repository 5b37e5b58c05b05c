//! Talking to QEMU while a guest runs (QMP over the process's own pipes).

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// QEMU answers at once; a guest under load may keep it busy for a moment.
const PATIENCE: Duration = Duration::from_secs(20);

/// A QEMU that takes commands.
pub struct Qmp {
    commands: ChildStdin,
    said: Receiver<String>,
}

impl Qmp {
    /// Greets QEMU.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn new(commands: ChildStdin, answers: ChildStdout) -> anyhow::Result<Qmp> {
        let (tell, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let mut qmp = Qmp { commands, said };
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Gives one command and returns its answer; events that come between are
    /// passed over.
    ///
    /// # Errors
    /// Where QEMU refuses it or says nothing.
    pub fn execute(&mut self, command: &str, arguments: Value) -> anyhow::Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments });
        writeln!(self.commands, "{line}")
            .with_context(|| format!("QEMU exited during {command}"))?;
        loop {
            let line = self
                .said
                .recv_timeout(PATIENCE)
                .with_context(|| format!("QEMU does not answer {command}"))?;
            let answer: Value = serde_json::from_str(&line)
                .with_context(|| format!("QEMU's answer is not JSON: {line}"))?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU refuses {command}: {error}");
            }
            if let Some(result) = answer.get("return") {
                return Ok(result.clone());
            }
        }
    }

    /// Pulls a device out of the running guest.
    ///
    /// # Errors
    /// Where QEMU refuses.
    pub fn unplug(&mut self, device: &str) -> anyhow::Result<()> {
        self.execute("device_del", json!({ "id": device })).map(drop)
    }

    /// Plugs an NVMe drive of one namespace into the running guest, over an
    /// image that is there.
    ///
    /// # Errors
    /// Where QEMU refuses.
    pub fn plug_nvme(&mut self, serial: &str, image: &str) -> anyhow::Result<()> {
        let file = json!({ "driver": "file", "filename": image, "discard": "unmap" });
        let node = format!("{serial}-again");
        let medium = json!({ "driver": "raw", "node-name": node, "file": file });
        self.execute("blockdev-add", medium)?;
        let drive = json!({ "driver": "nvme", "id": node, "serial": serial, "drive": node });
        self.execute("device_add", drive).map(drop)
    }
}
