//! Input files of an import: opened, unpacked and recognized.

use crate::recognize_file::recognize;
use crate::unpack::{peek, unpacked};
use anyhow::{Context, bail};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use steadfast_exchange::identify::FileKind;
use steadfast_tracefile::import::{self, ImportInput, RecognizedFormat, TraceFormat};

/// Number of leading bytes used to recognize a format.
pub const BEGINNING: usize = 16 << 10;

/// Compressed files that are unpacked while they are read.
pub const COMPRESSED: [FileKind; 4] =
    [FileKind::Gzip, FileKind::Zstd, FileKind::Xz, FileKind::Bzip2];

/// A file whose content does not prove its format.
pub struct UnprovenFile<'a> {
    pub path: &'a Path,
    pub recognized: RecognizedFormat,
}

/// The inputs of an import, and what their beginnings show.
pub struct ImportInputs<'a> {
    pub inputs: Vec<ImportInput<'static>>,
    /// The first format that an input proves.
    pub proven_format: Option<TraceFormat>,
    /// The first input that proves none, and fits one or several.
    pub unproven: Option<UnprovenFile<'a>>,
    /// First bytes of the first input, unpacked.
    pub first_beginning: Vec<u8>,
}

impl<'a> ImportInputs<'a> {
    /// Opens each file by `open` and recognizes it. Parquet files are refused unless `has_mapping`,
    /// the columns of one are given.
    ///
    /// # Errors
    /// A file cannot be read or unpacked, or is no input of an import.
    pub fn open(
        files: &'a [PathBuf],
        has_mapping: bool,
        open: &dyn Fn(&Path) -> io::Result<Box<dyn Read>>,
    ) -> anyhow::Result<Self> {
        let mut opened = ImportInputs {
            inputs: Vec::new(),
            proven_format: None,
            unproven: None,
            first_beginning: Vec::new(),
        };
        for path in files {
            let name = path.display().to_string();
            let file = open(path).with_context(|| format!("{name} cannot be opened"))?;
            let reading = || format!("reading {name}");
            let plain = unpacked(file).with_context(reading)?;
            let (beginning, content) = peek(plain, BEGINNING).with_context(reading)?;
            refuse_other_kinds(path, &beginning, has_mapping)?;
            match import::recognize_any(&beginning) {
                Some(RecognizedFormat::Proven(format)) => {
                    opened.proven_format.get_or_insert(format);
                }
                Some(recognized) => {
                    opened.unproven.get_or_insert(UnprovenFile { path, recognized });
                }
                None => {}
            }
            if opened.inputs.is_empty() {
                opened.first_beginning = beginning;
            }
            opened.inputs.push(ImportInput { name, content: Box::new(content) });
        }
        Ok(opened)
    }
}

/// Refuses binary data of other kinds, which would be parsed as lines.
fn refuse_other_kinds(path: &Path, beginning: &[u8], has_mapping: bool) -> anyhow::Result<()> {
    let Some(file) = recognize(path, beginning) else { return Ok(()) };
    let Some(kind) = file.kind else { return Ok(()) };
    if COMPRESSED.contains(&kind) {
        bail!("{}: it is compressed twice; unpack it first", path.display());
    }
    if kind.is_packed() {
        bail!("{}: this is {}; {}", path.display(), file.name, file.what_to_do());
    }
    if kind == FileKind::Parquet && !has_mapping {
        bail!(
            "{}: this is a Parquet file; if it is a trace of Steadfast, {}; give the columns of another \
             program's table with --columns FILE",
            path.display(),
            file.what_to_do()
        );
    }
    Ok(())
}
