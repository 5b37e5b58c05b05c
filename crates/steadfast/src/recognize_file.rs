//! Recognition of files from the command line, and the commands that read them. Every command that
//! reads another tool's file checks its kind here first.

use anyhow::bail;
use std::io::Read;
use std::path::Path;
use steadfast_domain::text::shell_quoted;
use steadfast_exchange::identify::{BEGINNING, FileKind, identify};
use steadfast_host::open_regular;
use steadfast_tracefile::import;

/// A recognized file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognizedFile {
    /// Short name of the kind, stable across versions.
    pub id: &'static str,
    /// Description with its article, such as `a job file of fio`.
    pub name: String,
    /// Command that reads it; `None` if no command does.
    pub command: Option<String>,
    /// Advice if no command reads it.
    pub advice: String,
    /// Kind; `None` for a trace.
    pub kind: Option<FileKind>,
}

/// Recognizes a file by its name and content; `None` if it is unknown.
pub fn recognize(path: &Path, content: &[u8]) -> Option<RecognizedFile> {
    let beginning = &content[..content.len().min(BEGINNING)];
    let file = shell_quoted(&path.display().to_string());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(kind) = identify(&name, beginning) {
        return Some(RecognizedFile {
            id: kind.id(),
            name: kind.name().to_owned(),
            command: kind.command().map(|command| command.replace("FILE", &file)),
            advice: kind.advice().replace("FILE", &file),
            kind: Some(kind),
        });
    }
    let format = import::recognize(beginning)?;
    let command = Some(format!("steadfast trace import {file} -o trace.parquet"));
    Some(RecognizedFile {
        id: format.name(),
        name: format.description(),
        command,
        advice: String::new(),
        kind: None,
    })
}

/// Recognizes a file by its first bytes; `None` if it is unknown.
pub fn recognize_file(path: &Path) -> anyhow::Result<Option<RecognizedFile>> {
    let mut beginning = Vec::new();
    open_regular(path)?.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(recognize(path, &beginning))
}

/// Refuses a file that is of none of these kinds; the error names the command that reads it. An
/// unknown file is accepted, since its parser gives a better error.
pub fn expect(
    path: &Path,
    content: &[u8],
    wanted: &str,
    accepted: &[FileKind],
) -> anyhow::Result<()> {
    let Some(found) = recognize(path, content) else { return Ok(()) };
    if found.kind.is_some_and(|kind| accepted.contains(&kind)) {
        return Ok(());
    }
    bail!("{}: this is {}, not {wanted}; {}", path.display(), found.name, found.what_to_do())
}

impl RecognizedFile {
    /// Returns the command to type, or the advice.
    pub fn what_to_do(&self) -> String {
        match &self.command {
            Some(command) => format!("type: {command}"),
            None => self.advice.clone(),
        }
    }
}
