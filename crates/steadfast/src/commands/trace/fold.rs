//! `trace fold` and `trace merge`: captures as sums in one small file.

use crate::cli::fleet::{FoldArguments, MergeArguments};
use crate::exit::{ExitState, error_text, misuse};
use crate::filtered_capture::{FilteredCapture, LayerDefault, open};
use crate::output_files::OutputRule;
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steadfast_analysis::fleet::{
    FileIdentity, FoldOptions, Folded, Member, Merge, fingerprint, fold,
};
use steadfast_domain::CaptureConditions;
use steadfast_domain::text::{counted, printable};
use steadfast_host::{NewFile, open_regular};
use steadfast_tracefile::TraceError;
use steadfast_tracefile::parquet::{OmittedFile, is_same_capture};

/// Content of a fold file.
#[derive(Serialize, schemars::JsonSchema)]
pub struct FoldContent {
    file: String,
    captures: u64,
    hosts: u64,
    ios: u64,
    /// Events that the captures lost.
    lost: u64,
    /// Sums in the file.
    cells: u64,
    /// Captures that were given twice and count once.
    twice: Vec<String>,
    /// Files that could not be read.
    left_out: Vec<OmittedFile>,
    /// Damaged or missing parts of the captures, one sentence each.
    missing: Vec<String>,
}

/// Maximum number of duplicate captures named on the terminal; JSON has all.
const DUPLICATES_SHOWN: usize = 8;

/// A file whose footer was read.
struct FoldInput {
    path: PathBuf,
    identity: FileIdentity,
    conditions: CaptureConditions,
}

/// Folds captures into a file.
pub fn run(arguments: &FoldArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.create(&arguments.output)?;
    let options = FoldOptions {
        step_ns: arguments.step.0,
        processes: !arguments.no_processes,
        window: arguments.filter.window,
        threads: !arguments.no_processes && !arguments.no_threads,
        files: !arguments.no_files,
    };
    let mut merge = Merge::new(&options);
    let mut duplicates = Vec::new();
    for files in captures(arguments, &mut merge, &mut duplicates)? {
        match fold_capture(&files, arguments, &options) {
            Ok(folded) => duplicates.extend(merge.add(folded)?),
            Err(error) if arguments.skip_unreadable => {
                for file in files {
                    leave_out(&mut merge, &file.path, &error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    let content = write(merge, duplicates, output)?;
    finish(&content, arguments.json, arguments.filter.accept_damage)
}

/// Merges fold files.
pub fn merge(arguments: &MergeArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.create(&arguments.output)?;
    let mut merge = Merge::default();
    let mut duplicates = Vec::new();
    for path in &arguments.files {
        let shown = path.display();
        let file = open_regular(path)?;
        let added = merge.add_file(file, &shown.to_string());
        duplicates.extend(added.with_context(|| shown.to_string())?);
    }
    let content = write(merge, duplicates, output)?;
    finish(&content, arguments.json, arguments.accept_damage)
}

/// Returns the files by capture, in order of first appearance.
fn captures(
    arguments: &FoldArguments,
    merge: &mut Merge,
    duplicates: &mut Vec<String>,
) -> anyhow::Result<Vec<Vec<FoldInput>>> {
    let mut captures: Vec<Vec<FoldInput>> = Vec::new();
    let mut digests = BTreeSet::new();
    for path in &arguments.files {
        let input = match read_footer(path) {
            Ok(input) => input,
            Err(error) if arguments.skip_unreadable => {
                leave_out(merge, path, &error);
                continue;
            }
            Err(error) => return Err(error),
        };
        if !digests.insert(input.identity.digest.clone()) {
            duplicates.push(format!("{} is a duplicate; counted once", path.display()));
            continue;
        }
        let is_part = |files: &&mut Vec<FoldInput>| {
            files.iter().any(|file| is_same_capture(&file.conditions, &input.conditions))
        };
        match captures.iter_mut().find(is_part) {
            Some(files) => files.push(input),
            None => captures.push(vec![input]),
        }
    }
    Ok(captures)
}

/// Reads a file's footer and closes it again, so that thousands of files can be named.
fn read_footer(path: &Path) -> anyhow::Result<FoldInput> {
    let shown = path.display();
    let captured = open(path)?;
    if captured.is_several() {
        bail!("{shown} is a fold file already; merge fold files with: steadfast trace merge");
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut file = open_regular(path)?;
    let identity = fingerprint(&mut file, &name.unwrap_or_default());
    let identity = identity.with_context(|| format!("{shown} cannot be read"))?;
    Ok(FoldInput { path: path.to_owned(), identity, conditions: captured.conditions().clone() })
}

fn fold_capture(
    files: &[FoldInput],
    arguments: &FoldArguments,
    options: &FoldOptions,
) -> anyhow::Result<Folded> {
    let parts = files.iter().map(|file| open(&file.path)).collect::<anyhow::Result<Vec<_>>>()?;
    let first = files.first().context("name a trace")?;
    let selected = FilteredCapture::new(&first.path, parts, &arguments.filter, LayerDefault::Each)?;
    let identities = files.iter().map(|file| file.identity.clone()).collect();
    selected.ask(|captured, pass| fold(captured, identities, pass, options))
}

/// Records a file that cannot be read, and prints a warning.
fn leave_out(merge: &mut Merge, path: &Path, error: &anyhow::Error) {
    let reason = error_text(error);
    terminal::warn(&format!("omitted: {reason}"));
    let bytes = std::fs::metadata(path).ok().map(|metadata| metadata.len());
    let name = name_with_parent(path);
    // The directory is meaningless on another machine.
    let reason = reason.replace(&path.display().to_string(), &name);
    merge.leave_out(OmittedFile { name, bytes, reason });
}

/// Returns a file's name with its parent directory, since hosts may have files of the same name.
fn name_with_parent(path: &Path) -> String {
    let mut parts: Vec<_> = path.components().rev().take(2).collect();
    parts.reverse();
    let names = parts.iter().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    names.collect::<Vec<_>>().join("/")
}

/// Writes the file and returns its content.
fn write(merge: Merge, duplicates: Vec<String>, output: NewFile) -> anyhow::Result<FoldContent> {
    let content = FoldContent::new(&merge, duplicates, &output.path());
    if content.captures == 0 && content.left_out.is_empty() {
        return Err(misuse("there is no capture to fold"));
    }
    merge.check()?;
    let shown = output.path().display().to_string();
    let sink = BufWriter::new(output.handle()?);
    let mut sink = merge.write(sink).map_err(|error| match error {
        // It names the file that cannot be merged.
        TraceError::Unsuitable(_) => anyhow::Error::new(error),
        error => anyhow::Error::new(error).context(shown.clone()),
    })?;
    sink.flush().with_context(|| format!("{shown} cannot be written"))?;
    drop(sink);
    output.persist()?;
    Ok(content)
}

/// Prints the content of the file and returns how the command ends.
fn finish(content: &FoldContent, json: bool, accept_damage: bool) -> anyhow::Result<ExitState> {
    content.twice.iter().take(DUPLICATES_SHOWN).for_each(|text| terminal::warn(text));
    if let Some(more @ 1..) = content.twice.len().checked_sub(DUPLICATES_SHOWN) {
        terminal::warn(&format!("{more} more are there twice and count once"));
    }
    if json {
        terminal::print_json(content)?
    } else {
        terminal::print(&printable(&content.line()))?
    }
    let is_whole = content.left_out.is_empty() && content.missing.is_empty();
    Ok(if is_whole || accept_damage { ExitState::Done } else { ExitState::Incomplete })
}

impl FoldContent {
    fn new(merge: &Merge, twice: Vec<String>, path: &Path) -> Self {
        let hosts: BTreeSet<_> =
            merge.captures().map(|one| one.conditions.host.as_deref()).collect();
        let sum = |of: fn(&Member) -> u64| merge.captures().map(of).sum();
        let missing = merge.captures().flat_map(|one| {
            let texts = one.integrity.missing();
            texts.into_iter().map(|text| format!("{}: {text}", one.label()))
        });
        FoldContent {
            file: path.display().to_string(),
            captures: merge.captures().count() as u64,
            hosts: hosts.len() as u64,
            ios: sum(|one| one.account.kept),
            lost: sum(|one| one.conditions.lost),
            cells: sum(|one| one.cells),
            twice,
            left_out: merge.left_out().cloned().collect(),
            missing: missing.collect(),
        }
    }

    fn line(&self) -> String {
        let mut text = format!(
            "{}: {} of {}, {} in {}",
            self.file,
            counted(self.captures, "capture"),
            counted(self.hosts, "host"),
            counted(self.ios, "I/O"),
            counted(self.cells, "sum")
        );
        if !self.left_out.is_empty() {
            let files = counted(self.left_out.len() as u64, "file");
            text.push_str(&format!("; {files} omitted"));
        }
        text
    }
}
