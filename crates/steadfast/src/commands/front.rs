//! What the commands of other tools' tests share: reading their files, showing what would
//! run, and running it.
//!
//! A command turns its file or its options into a [`Sequence`] and hands it to [`conduct`].

use super::begin::{Beginning, default_seed};
use super::plan;
use crate::asked::meta;
use crate::cli::front::FrontArguments;
use crate::exit::{ExitState, misuse};
use crate::{output, regular, target, terminal};
use anyhow::{anyhow, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use steadfast_domain::sequence::SequenceSource;
use steadfast_domain::{Findings, PurgeChoice, PurgeMethod, Sequence, Settings};
use steadfast_exchange::Misread;
use steadfast_procedures::sequence::NAME;

/// The largest file of another tool that is read: theirs are of some KiB.
const FILE_LIMIT: u64 = 16 << 20;

/// Reads a file of another tool: a regular one of a reasonable size.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = regular::read(path, FILE_LIMIT)?;
    if bytes.len() as u64 > FILE_LIMIT {
        bail!("{} is larger than 16 MiB, which no such file is", path.display());
    }
    Ok(bytes)
}

/// What names a file in a record.
pub fn source(path: &Path, bytes: &[u8]) -> SequenceSource {
    let digits = Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    let name = path.file_name().unwrap_or(path.as_os_str());
    SequenceSource { name: name.to_string_lossy().into_owned(), sha256: digits }
}

/// Says everything that cannot be understood of a file, one line each; nothing of it runs.
pub fn refused(path: &Path, misread: &[Misread]) -> anyhow::Error {
    let shown = path.display();
    misread.iter().for_each(|what| terminal::complain(&format!("{shown}: {what}")));
    let many = if misread.len() == 1 { "thing" } else { "things" };
    anyhow!("{shown}: nothing was run; {} {many} in it cannot be applied", misread.len())
}

/// A sequence that was shown or run.
pub struct Conducted {
    /// How it ended.
    pub state: ExitState,
    /// Its run directory; none where it was only shown.
    pub directory: Option<PathBuf>,
}

impl Conducted {
    /// What a finished run found; nothing where it halted or was only shown.
    pub fn findings(&self) -> anyhow::Result<Option<Findings>> {
        match (&self.directory, self.state) {
            (Some(directory), ExitState::Done | ExitState::NotGood) => {
                output::study(directory).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The target that the user named.
pub fn target(arguments: &FrontArguments) -> anyhow::Result<&str> {
    arguments.target.as_deref().ok_or_else(|| {
        misuse("name what is to be tested: --target, a block device, a file or sim:NAME")
    })
}

/// Shows a sequence, or runs it to its report.
pub fn conduct(arguments: &FrontArguments, sequence: Sequence) -> anyhow::Result<Conducted> {
    let target = target(arguments)?;
    let foreseen = target::foresee(target, arguments.size)?;
    let seed = arguments.seed.unwrap_or_else(|| default_seed(&foreseen));
    let settings = settings(arguments, sequence, seed)?;
    if arguments.plan {
        let state =
            plan::show(&settings, foreseen, arguments.assume, plan::Wanted::of(arguments.json))?;
        return Ok(Conducted { state, directory: None });
    }
    for remark in settings.sequence.iter().flat_map(|sequence| &sequence.remarks) {
        terminal::complain(&format!("Note: {remark}"));
    }
    let beginning = Beginning {
        target,
        size: arguments.size,
        engine: arguments.engine,
        out: arguments.out.as_deref(),
        yes_destroy: &arguments.yes_destroy,
        group: arguments.group.as_deref(),
        json: arguments.json,
        verbose: false,
    };
    let ended = beginning.conduct(settings, &foreseen)?;
    Ok(Conducted { state: ended.state, directory: Some(ended.directory) })
}

fn settings(arguments: &FrontArguments, sequence: Sequence, seed: u64) -> anyhow::Result<Settings> {
    let mut settings = Settings::new(NAME, seed);
    if !sequence.purges() {
        settings.purge = PurgeChoice::Method(PurgeMethod::Nothing);
    }
    settings.data_pattern = arguments.data_pattern.clone().unwrap_or_default();
    settings.hold_c_states = arguments.hold_c_states;
    settings.command = std::env::args().collect::<Vec<_>>().join(" ");
    settings.meta = meta(&arguments.meta)?;
    settings.sequence = Some(Box::new(sequence.with_distinct_labels()));
    Ok(settings)
}
