//! Columns that identify the run of a row.

use super::column::{ExportColumn, count, text};
use super::step_columns::{ExportedSecond, ExportedStep};
use crate::output;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::{Device, Findings, Host, JournalEntry};
use steadfast_runner::ledger::LedgerContents;
use steadfast_runner::{Ledger, RunPlan};
use steadfast_tracefile::table::{ColumnType, TableValue};

/// A run directory that was read.
pub struct ExportedRun {
    directory: String,
    plan: RunPlan,
    device: Device,
    host: Host,
    end: &'static str,
    caveats: String,
    steps: Vec<ExportedStep>,
}

impl ExportedRun {
    /// Reads a run directory and computes its findings for the caveats.
    pub fn read(directory: &Path) -> anyhow::Result<ExportedRun> {
        let contents = Ledger::read(directory)?;
        let plan = contents.plan.clone();
        let (device, host) = opened(&contents);
        let steps = steps(&contents);
        let procedure = output::procedure(&contents)?;
        let findings = output::findings(procedure.as_ref(), contents);
        let caveats: Vec<String> = caveats(&findings).into_iter().collect();
        Ok(ExportedRun {
            directory: directory.display().to_string(),
            device: device.unwrap_or_else(|| plan.device.clone()),
            host: host.unwrap_or_default(),
            end: findings.whole_end().id(),
            caveats: caveats.join(" "),
            plan,
            steps,
        })
    }

    pub fn steps(&self) -> Vec<ExportedStep> {
        self.steps.clone()
    }

    /// Returns the seconds of all steps.
    pub fn seconds(&self) -> Vec<ExportedSecond> {
        self.steps.iter().flat_map(ExportedStep::seconds).collect()
    }
}

/// Returns device and host as recorded when the run was last opened.
fn opened(contents: &LedgerContents) -> (Option<Device>, Option<Host>) {
    match contents.opening().map(|line| &line.entry) {
        Some(JournalEntry::Opened { device, host, .. }) => {
            (Some(device.as_ref().clone()), Some(host.as_ref().clone()))
        }
        _ => (None, None),
    }
}

fn steps(contents: &LedgerContents) -> Vec<ExportedStep> {
    let mut steps = Vec::new();
    for line in &contents.lines {
        if let JournalEntry::Applied { step, outcome } = &line.entry {
            let number = steps.len() as u64 + 1;
            steps.push(ExportedStep {
                number,
                step: Arc::new((**step).clone()),
                outcome: Arc::new((**outcome).clone()),
            });
        }
    }
    steps
}

/// Returns the IDs of all caveats, including those of parts.
fn caveats(findings: &Findings) -> BTreeSet<String> {
    let own = findings.caveats.iter().map(|caveat| caveat.id.clone());
    own.chain(findings.parts.iter().flat_map(caveats)).collect()
}

pub fn columns() -> [ExportColumn<ExportedRun>; 25] {
    use ColumnType::{Integer, Moment, Text};
    [
        ("run", Text, |run| text(Some(&run.directory))),
        ("run_began", Moment, |run| count(Some(run.plan.began_unix_ms))),
        ("software", Text, |run| text(Some(&run.plan.software))),
        ("end", Text, |run| text(Some(run.end))),
        ("caveats", Text, |run| text(Some(&run.caveats))),
        ("host", Text, |run| text(run.host.name.as_ref())),
        ("host_cpu_model", Text, |run| text(run.host.cpu.as_ref())),
        ("host_kernel", Text, |run| text(run.host.kernel.as_ref())),
        ("device_path", Text, |run| text(Some(&run.device.path))),
        ("device_name", Text, |run| text(Some(&run.device.name))),
        ("device_transport", Text, |run| text(Some(run.device.transport.to_string()))),
        ("device_model", Text, |run| text(run.device.model.as_ref())),
        ("device_serial", Text, |run| text(run.device.serial.as_ref())),
        ("device_firmware", Text, |run| text(run.device.firmware.as_ref())),
        ("device_wwid", Text, |run| text(run.device.wwid.as_ref())),
        ("device_capacity_bytes", Integer, |run| count(Some(run.device.capacity.0))),
        ("device_sector_bytes", Integer, |run| count(Some(run.device.logical_sector.into()))),
        ("engine", Text, |run| text(Some(&run.plan.engine))),
        ("procedure", Text, |run| text(Some(&run.plan.settings.procedure))),
        ("profile", Text, |run| text(Some(run.plan.settings.profile.to_string()))),
        ("class", Text, |run| text(Some(run.plan.settings.class.to_string()))),
        ("data_pattern", Text, |run| text(Some(run.plan.settings.data_pattern.to_string()))),
        ("run_seed", Integer, |run| count(Some(run.plan.settings.seed))),
        ("parameters", Text, |run| pairs(&run.plan.settings.parameters)),
        ("meta", Text, |run| pairs(&run.plan.settings.meta)),
    ]
}

/// Returns names and values as JSON; missing if empty.
fn pairs(pairs: &std::collections::BTreeMap<String, String>) -> TableValue {
    text(serde_json::to_string(pairs).ok().filter(|_| !pairs.is_empty()))
}
