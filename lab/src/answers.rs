//! The output of a guest.

use crate::process::output;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use steadfast_domain::{JournalEntry, Outcome, Step};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::LedgerContents;

/// The output of one guest: the results of its commands, and run directories.
#[derive(Debug)]
pub struct GuestOutput {
    directory: PathBuf,
}

impl GuestOutput {
    /// Unpacks the archive that a guest wrote to its second disk.
    pub fn unpack(disk: &Path, directory: PathBuf) -> anyhow::Result<GuestOutput> {
        fs::create_dir_all(&directory)?;
        output(Command::new("tar").arg("-C").arg(&directory).arg("-xf").arg(disk))
            .context("the guest left no answers")?;
        // The script of every guest ends with this file.
        ensure!(directory.join("dmesg").is_file(), "the guest left no answers");
        Ok(GuestOutput { directory })
    }

    /// Returns the path of a file in the guest's /out.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the text of a file in the guest's /out.
    pub fn text(&self, name: &str) -> anyhow::Result<String> {
        let bytes = fs::read(self.path(name)).with_context(|| format!("no answer '{name}'"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn exit_code(&self, name: &str) -> anyhow::Result<i32> {
        Ok(self.text(&format!("{name}.code"))?.trim().parse()?)
    }

    pub fn stdout(&self, name: &str) -> anyhow::Result<String> {
        self.text(&format!("{name}.stdout"))
    }

    pub fn stderr(&self, name: &str) -> anyhow::Result<String> {
        self.text(&format!("{name}.stderr"))
    }

    /// Returns both outputs of a command that ended with one of these exit codes.
    ///
    /// # Errors
    /// Fails if the command ended with another code; the error has the end of its output.
    pub fn ended(&self, name: &str, codes: &[i32]) -> anyhow::Result<String> {
        let code = self.exit_code(name)?;
        let output = format!("{}{}", self.stdout(name)?, self.stderr(name)?);
        ensure!(
            codes.contains(&code),
            "{name} ended with {code}, not {codes:?}: {}",
            tail(&output)
        );
        Ok(output)
    }

    /// Returns the JSON printed by a successful command.
    pub fn json(&self, name: &str) -> anyhow::Result<Value> {
        self.ended(name, &[0])?;
        self.printed(name)
    }

    /// Returns the JSON printed by a command, whatever its exit code.
    pub fn printed(&self, name: &str) -> anyhow::Result<Value> {
        let text = self.stdout(name)?;
        serde_json::from_str(&text).with_context(|| format!("{name} printed no JSON: {text}"))
    }

    /// Returns the entry of a device, by its path, in the output of `devices --json`.
    pub fn device(&self, name: &str, path: &str) -> anyhow::Result<Value> {
        let listed = self.json(name)?;
        let devices = listed["devices"].as_array().context("no list of devices")?;
        let found = devices.iter().find(|device| device["path"] == path);
        found.cloned().with_context(|| format!("{path} is not listed: {listed}"))
    }

    /// Reads the journal of a run.
    pub fn run(&self, name: &str) -> anyhow::Result<GuestRun> {
        Ok(GuestRun { contents: Ledger::read(&self.path(name))? })
    }
}

/// Returns the last six lines of a text, for messages.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(6)..].join(" | ")
}

/// The journal of a run in a guest.
#[derive(Debug)]
pub struct GuestRun {
    contents: LedgerContents,
}

impl GuestRun {
    pub fn entries(&self) -> impl Iterator<Item = &JournalEntry> {
        self.contents.lines.iter().map(|line| &line.entry)
    }

    /// Returns true if the journal has such an entry.
    pub fn has(&self, is_wanted: impl Fn(&JournalEntry) -> bool) -> bool {
        self.entries().any(is_wanted)
    }

    /// Returns every finished step, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Outcome)> {
        self.contents.steps()
    }

    /// Returns a parameter of the procedure (`--set`).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.contents.plan.settings.parameters.get(name).map(String::as_str)
    }

    /// Returns true if the last line is incomplete.
    pub fn is_torn(&self) -> bool {
        self.contents.torn > 0
    }
}
