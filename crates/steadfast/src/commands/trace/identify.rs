//! `trace identify`: capture and host of a file, from its footer.

use crate::cli::fleet::IdentifyArguments;
use crate::exit::{ExitState, error_text};
use crate::filtered_capture::open;
use crate::terminal;
use serde::Serialize;
use std::path::{Path, PathBuf};
use steadfast_domain::text::printable;

#[derive(Serialize, schemars::JsonSchema)]
pub struct IdentifyContent {
    files: Vec<IdentifiedTraceFile>,
}

/// Capture, host and time of a file, from its footer.
#[derive(Serialize, schemars::JsonSchema)]
struct IdentifiedTraceFile {
    file: PathBuf,
    /// `trace` or `fold`; `None` if it cannot be read.
    kind: Option<&'static str>,
    host: Option<String>,
    /// ID of its capture, which all files of the capture have.
    capture: Option<String>,
    /// Number of the file within its capture.
    part: Option<u32>,
    began_unix_ns: Option<u64>,
    devices: Vec<String>,
    bytes: Option<u64>,
    /// Reason why it cannot be read.
    error: Option<String>,
}

/// Prints the capture of each file.
pub fn run(arguments: &IdentifyArguments) -> anyhow::Result<ExitState> {
    let files: Vec<IdentifiedTraceFile> =
        arguments.files.iter().map(|path| IdentifiedTraceFile::identify(path)).collect();
    let unread = files.iter().any(|file| file.error.is_some());
    if arguments.json {
        terminal::print_json(&IdentifyContent { files })?
    } else {
        let lines: Vec<String> = files.iter().map(IdentifiedTraceFile::line).collect();
        terminal::print(&lines.join("\n"))?;
    }
    Ok(if unread { ExitState::Incomplete } else { ExitState::Done })
}

impl IdentifiedTraceFile {
    fn identify(path: &Path) -> Self {
        let nothing = IdentifiedTraceFile {
            file: path.to_owned(),
            kind: None,
            host: None,
            capture: None,
            part: None,
            began_unix_ns: None,
            devices: Vec::new(),
            bytes: std::fs::metadata(path).ok().map(|metadata| metadata.len()),
            error: None,
        };
        let captured = match open(path) {
            Ok(captured) => captured,
            Err(error) => {
                return IdentifiedTraceFile { error: Some(error_text(&error)), ..nothing };
            }
        };
        let only = captured.only_capture();
        let conditions = only.unwrap_or_else(|| captured.conditions());
        let host = conditions.host.as_deref().unwrap_or("");
        let began = conditions.began_unix_ns.unwrap_or(0);
        let part = conditions.part.as_ref();
        let named = part.map(|part| part.capture.clone()).filter(|_| only.is_some());
        // Files of earlier versions have no capture ID; the start time identifies their capture.
        let by_start = conditions.began_unix_ns.map(|_| format!("{host} {began}"));
        IdentifiedTraceFile {
            kind: Some(if captured.is_several() { "fold" } else { "trace" }),
            host: conditions.host.clone(),
            capture: named.or(by_start.filter(|_| only.is_some())),
            part: part.map(|part| part.first),
            began_unix_ns: conditions.began_unix_ns,
            devices: conditions.devices.iter().map(|device| device.name.clone()).collect(),
            ..nothing
        }
    }

    fn line(&self) -> String {
        let file = self.file.display().to_string();
        let text = match &self.error {
            Some(error) => format!("{file}: unreadable: {error}"),
            None => format!(
                "{file}: {} of host {}, capture {}, devices {}",
                self.kind.unwrap_or("trace"),
                self.host.as_deref().unwrap_or("unknown"),
                self.capture.as_deref().unwrap_or("unknown"),
                self.devices.join(", ")
            ),
        };
        printable(&text).into_owned()
    }
}
