//! Columns that identify the run of a row.

use super::column::{ExportColumn, count, text};
use crate::table::{ColumnType, TableValue};
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::{Device, Findings, Host, Outcome, Settings, Step};

/// A run to be exported.
#[derive(Debug, Clone)]
pub struct ExportedRun<'r> {
    /// Run directory.
    pub directory: &'r str,
    /// Wall-clock time at which the run began, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// Name and version of the program that began the run.
    pub software: &'r str,
    /// Name of the engine.
    pub engine: &'r str,
    /// Settings of the run.
    pub settings: &'r Settings,
    /// The device.
    pub device: &'r Device,
    /// The host; `None` if no process opened the run.
    pub host: Option<&'r Host>,
    /// Findings of the run.
    pub findings: &'r Findings,
    /// Finished steps, in order.
    pub steps: Vec<(&'r Step, &'r Outcome)>,
}

/// Returns the IDs of all caveats, including those of parts, with blanks between.
fn caveats(findings: &Findings) -> String {
    let all = findings.self_and_parts().into_iter().flat_map(|part| &part.caveats);
    let ids: BTreeSet<&str> = all.map(|caveat| caveat.id.as_str()).collect();
    ids.into_iter().collect::<Vec<_>>().join(" ")
}

pub(super) fn columns_of_run<'r>() -> [ExportColumn<ExportedRun<'r>>; 25] {
    use ColumnType::{Integer, Moment, Text};
    [
        ("run", Text, |run| text(Some(run.directory))),
        ("run_began", Moment, |run| count(Some(run.began_unix_ms))),
        ("software", Text, |run| text(Some(run.software))),
        ("end", Text, |run| text(Some(run.findings.whole_end().id()))),
        ("caveats", Text, |run| text(Some(caveats(run.findings)))),
        ("host", Text, |run| text(run.host.and_then(|host| host.name.as_ref()))),
        ("host_cpu_model", Text, |run| text(run.host.and_then(|host| host.cpu.as_ref()))),
        ("host_kernel", Text, |run| text(run.host.and_then(|host| host.kernel.as_ref()))),
        ("device_path", Text, |run| text(Some(&run.device.path))),
        ("device_name", Text, |run| text(Some(&run.device.name))),
        ("device_transport", Text, |run| text(Some(run.device.transport.to_string()))),
        ("device_model", Text, |run| text(run.device.model.as_ref())),
        ("device_serial", Text, |run| text(run.device.serial.as_ref())),
        ("device_firmware", Text, |run| text(run.device.firmware.as_ref())),
        ("device_wwid", Text, |run| text(run.device.wwid.as_ref())),
        ("device_capacity_bytes", Integer, |run| count(Some(run.device.capacity.0))),
        ("device_sector_bytes", Integer, |run| count(Some(run.device.logical_sector.into()))),
        ("engine", Text, |run| text(Some(run.engine))),
        ("procedure", Text, |run| text(Some(&run.settings.procedure))),
        ("profile", Text, |run| text(Some(run.settings.profile.to_string()))),
        ("class", Text, |run| text(Some(run.settings.class.to_string()))),
        ("data_pattern", Text, |run| text(Some(run.settings.data_pattern.to_string()))),
        ("run_seed", Integer, |run| count(Some(run.settings.seed))),
        ("parameters", Text, |run| pairs(&run.settings.parameters)),
        ("meta", Text, |run| pairs(&run.settings.meta)),
    ]
}

/// Returns names and values as JSON; missing if empty.
fn pairs(pairs: &BTreeMap<String, String>) -> TableValue {
    text(serde_json::to_string(pairs).ok().filter(|_| !pairs.is_empty()))
}
