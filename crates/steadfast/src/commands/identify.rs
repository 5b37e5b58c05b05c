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
    let of = |kind: Option<&str>, text: &str, command: Option<String>| IdentifiedFile {
        file: path.to_owned(),
        kind: kind.map(str::to_owned),
        text: text.to_owned(),
        command,
    };
    if path.is_dir() {
        return directory(path, of);
    }
    let found = match recognize_file(path) {
        Err(error) => return of(None, &format!("cannot be read: {}", error_text(&error)), None),
        Ok(None) => return of(None, "not recognized", None),
        Ok(Some(found)) => found,
    };
    if found.kind == Some(FileKind::Parquet) {
        return parquet(path, of);
    }
    let advice = if found.command.is_none() { &found.advice } else { "" };
    let comma = if advice.is_empty() { "" } else { "; " };
    of(Some(found.id), &format!("{}{comma}{advice}", found.name), found.command)
}

type IdentifiedFileFn<'a> = &'a dyn Fn(Option<&str>, &str, Option<String>) -> IdentifiedFile;

fn directory(
    path: &Path,
    of: impl Fn(Option<&str>, &str, Option<String>) -> IdentifiedFile,
) -> IdentifiedFile {
    let of: IdentifiedFileFn<'_> = &of;
    let name = path.display();
    if output::is_run_directory(path) {
        return of(Some("run"), "a run directory", Some(format!("steadfast report {name}")));
    }
    if path.join("targets.json").is_file() {
        let text = "a directory of the runs of several targets";
        return of(Some("run-targets"), text, Some(format!("steadfast compare {name}/*")));
    }
    match output::results_in(path) {
        Ok(files) if !files.is_empty() => {
            let text = format!("a directory with {} files of another tool's results", files.len());
            of(Some("results"), &text, Some(format!("steadfast report {name}")))
        }
        Err(error) => of(None, &error_text(&error), None),
        Ok(_) => of(None, "a directory, and no run", None),
    }
}

/// Returns true if a Parquet file lacks the columns of a capture, or its own end.
fn is_other_table(error: &anyhow::Error) -> bool {
    let found = error.chain().find_map(|cause| cause.downcast_ref::<TraceError>());
    matches!(found, Some(TraceError::NotATrace(_)))
}

/// Identifies a Parquet file by its footer.
fn parquet(
    path: &Path,
    of: impl Fn(Option<&str>, &str, Option<String>) -> IdentifiedFile,
) -> IdentifiedFile {
    let name = path.display();
    match filtered_capture::open(path) {
        Ok(captured) if captured.is_several() => {
            of(Some("fold"), "a fold of captures", Some(format!("steadfast trace hosts {name}")))
        }
        Ok(_) => of(Some("capture"), "a capture", Some(format!("steadfast trace streams {name}"))),
        // Damaged or not read: it may be a capture.
        Err(error) if !is_other_table(&error) => of(None, &error_text(&error), None),
        Err(_) => {
            let text =
                "a Parquet file without a capture: exported steps, or another program's table";
            of(Some("parquet"), text, None)
        }
    }
}
