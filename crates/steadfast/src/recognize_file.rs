//! What a file is that the user names, and which command takes it. Every command that reads
//! another tool's file asks here first.

use anyhow::bail;
use std::io::Read;
use std::path::Path;
use steadfast_domain::text::shell_quoted;
use steadfast_exchange::identify::{BEGINNING, FileKind, identify};
use steadfast_host::open_regular;
use steadfast_tracefile::import;

/// A file whose kind is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognizedFile {
    /// A short name of the kind, stable across versions.
    pub id: &'static str,
    /// What it is, with its article.
    pub name: String,
    /// The command that takes it; `None` where none does.
    pub command: Option<String>,
    /// What to do where no command takes it.
    pub advice: String,
    /// The kind; `None` of a trace.
    pub kind: Option<FileKind>,
}

/// Returns what a file is, from its name and its content; `None` where nothing is recognized.
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

/// Returns what a file is, from its first bytes.
pub fn recognize_file(path: &Path) -> anyhow::Result<Option<RecognizedFile>> {
    let mut beginning = Vec::new();
    open_regular(path)?.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(recognize(path, &beginning))
}

/// Refuses a file that is of none of these kinds, and names the command that takes it. A file
/// that is not recognized is left to the parser, which knows more.
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
    /// The command to type, or what to do first.
    pub fn what_to_do(&self) -> String {
        match &self.command {
            Some(command) => format!("type: {command}"),
            None => self.advice.clone(),
        }
    }
}
