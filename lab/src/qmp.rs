//! Controls QEMU while a guest runs (QMP over the process's own pipes).

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Timeout for answers. QEMU answers at once, but a guest under load may keep it busy for a moment.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// QEMU's id of a guest's network.
pub const NETWORK: &str = "network";

pub struct Qmp {
    commands: ChildStdin,
    lines: Receiver<String>,
}

impl Qmp {
    /// Connects to QEMU and negotiates capabilities.
    pub fn new(commands: ChildStdin, answers: ChildStdout) -> anyhow::Result<Qmp> {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut qmp = Qmp { commands, lines };
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Sends a command and returns its result; events received meanwhile are ignored.
    fn execute(&mut self, command: &str, arguments: Value) -> anyhow::Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments });
        writeln!(self.commands, "{line}")
            .with_context(|| format!("QEMU exited during {command}"))?;
        loop {
            let line = self
                .lines
                .recv_timeout(ANSWER_TIMEOUT)
                .with_context(|| format!("QEMU does not answer {command}"))?;
            let answer: Value = serde_json::from_str(&line)
                .with_context(|| format!("QEMU's answer is not JSON: {line}"))?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU rejects {command}: {error}");
            }
            if let Some(result) = answer.get("return") {
                return Ok(result.clone());
            }
        }
    }

    /// Unplugs a device from the running guest.
    pub fn unplug(&mut self, device: &str) -> anyhow::Result<()> {
        self.execute("device_del", json!({ "id": device })).map(drop)
    }

    /// Cuts or mends the network link of the running guest.
    pub fn set_link(&mut self, is_up: bool) -> anyhow::Result<()> {
        self.execute("set_link", json!({ "name": NETWORK, "up": is_up })).map(drop)
    }

    /// Plugs an NVMe drive with one namespace into the running guest, over an existing image.
    pub fn plug_nvme(&mut self, serial: &str, image: &str) -> anyhow::Result<()> {
        let file = json!({ "driver": "file", "filename": image, "discard": "unmap" });
        let node = format!("{serial}-again");
        let medium = json!({ "driver": "raw", "node-name": node, "file": file });
        self.execute("blockdev-add", medium)?;
        let drive = json!({ "driver": "nvme", "id": node, "serial": serial, "drive": node });
        self.execute("device_add", drive).map(drop)
    }
}
