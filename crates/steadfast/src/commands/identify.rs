//! `steadfast identify`: recognizes files and names the command that reads them.

use crate::cli::IdentifyAnyArguments;
use crate::exit::{ExitState, error_text};
use crate::recognize_file::recognize_file;
use crate::{filtered_capture, output, terminal};
use serde::Serialize;
use std::path::{Path, PathBuf};
use steadfast_domain::text::printable;
use steadfast_exchange::identify::FileKind;
use steadfast_tracefile::TraceError;

/// The JSON output.
#[derive(Serialize, schemars::JsonSchema)]
pub struct IdentifyOutput {
    files: Vec<IdentifiedFile>,
}

/// A file and its kind.
#[derive(Serialize, schemars::JsonSchema)]
struct IdentifiedFile {
    file: PathBuf,
    /// Short name of the kind; null if it is unknown.
    kind: Option<String>,
    /// Description, or the reason why it cannot be read.
    text: String,
    /// Command that reads it.
    command: Option<String>,
}

/// Identifies each file.
pub fn run(arguments: &IdentifyAnyArguments) -> anyhow::Result<ExitState> {
    let files: Vec<IdentifiedFile> = arguments.files.iter().map(|path| identify(path)).collect();
    let is_unknown = files.iter().any(|file| file.kind.is_none());
    if arguments.json {
        terminal::print_json(&IdentifyOutput { files })?;
    } else {
        for file in &files {
            terminal::print(&printable(&format!("{}: {}", file.file.display(), file.text)))?;
            if let Some(command) = &file.command {
                terminal::print(&format!("    {}", printable(command)))?;
            }
        }
    }
    Ok(if is_unknown { ExitState::Incomplete } else { ExitState::Done })
}

fn identify(path: &Path) -> IdentifiedFile {
    let identity = if path.is_dir() { identify_directory(path) } else { identify_file(path) };
    let Identity { kind, text, command } = identity;
    // An error may name the file, too.
    let own = format!("{}: ", path.display());
    let text = text.strip_prefix(&own).unwrap_or(&text).to_owned();
    IdentifiedFile { file: path.to_owned(), kind: kind.map(str::to_owned), text, command }
}

/// Kind of a file, and what to do with it.
struct Identity {
    /// Short name of the kind; `None` if it is unknown.
    kind: Option<&'static str>,
    text: String,
    command: Option<String>,
}

impl Identity {
    fn new(kind: &'static str, text: impl Into<String>, command: String) -> Self {
        Identity { kind: Some(kind), text: text.into(), command: Some(command) }
    }

    fn unknown(text: impl Into<String>) -> Self {
        Identity { kind: None, text: text.into(), command: None }
    }
}

fn identify_file(path: &Path) -> Identity {
    let found = match recognize_file(path) {
        Err(error) => return Identity::unknown(format!("cannot be read: {}", error_text(&error))),
        Ok(None) => return Identity::unknown("not recognized"),
        Ok(Some(found)) => found,
    };
    if found.kind == Some(FileKind::Parquet) {
        return identify_parquet(path);
    }
    let text = if found.command.is_none() && !found.advice.is_empty() {
        format!("{}; {}", found.name, found.advice)
    } else {
        found.name
    };
    Identity { kind: Some(found.id), text, command: found.command }
}

fn identify_directory(path: &Path) -> Identity {
    let name = path.display();
    if output::is_run_directory(path) {
        return Identity::new("run", "a run directory", format!("steadfast report {name}"));
    }
    if path.join("targets.json").is_file() {
        let text = "a directory of the runs of several targets";
        return Identity::new("run-targets", text, format!("steadfast compare {name}/*"));
    }
    match output::results_in(path) {
        Ok(files) if !files.is_empty() => {
            let text = format!("a directory with {} files of another tool's results", files.len());
            Identity::new("results", text, format!("steadfast report {name}"))
        }
        Ok(_) => Identity::unknown("a directory, and no run"),
        Err(error) => Identity::unknown(error_text(&error)),
    }
}

/// Identifies a Parquet file by its footer.
fn identify_parquet(path: &Path) -> Identity {
    let name = path.display();
    match filtered_capture::open(path) {
        Ok(captured) if captured.is_several() => {
            Identity::new("fold", "a fold of captures", format!("steadfast trace hosts {name}"))
        }
        Ok(_) => Identity::new("capture", "a capture", format!("steadfast trace streams {name}")),
        Err(error) if is_other_table(&error) => {
            let text =
                "a Parquet file without a capture: exported steps, or another program's table";
            Identity { kind: Some("parquet"), text: text.to_owned(), command: None }
        }
        // A file that is damaged or cannot be read may be a capture.
        Err(error) => Identity::unknown(error_text(&error)),
    }
}

/// Returns true if a Parquet file lacks the columns of a capture, or its own end.
fn is_other_table(error: &anyhow::Error) -> bool {
    let found = error.chain().find_map(|cause| cause.downcast_ref::<TraceError>());
    matches!(found, Some(TraceError::NotATrace(_)))
}
