//! `steadfast fio`: a job file of fio, as far as its loads can be expressed.

use super::front;
use crate::cli::front::FioArguments;
use crate::exit::ExitState;
use crate::recognize::expect;
use std::path::Path;
use steadfast_exchange::fio::{Assumed, JobFile, Surroundings, sequence};
use steadfast_exchange::identify::FileKind;

/// Runs, or shows, every job.
pub fn run(arguments: &FioArguments) -> anyhow::Result<ExitState> {
    let path = &arguments.file;
    let bytes = front::read(path)?;
    expect(path, &bytes, "a job file of fio", &[FileKind::FioJob])?;
    let refused = |misread: Vec<_>| front::refused(path, &misread);
    let file = JobFile::read(&bytes, &mut Around { path }).map_err(refused)?;
    let assumed = Assumed { ioengine: arguments.ioengine.as_deref() };
    let mut sequence = sequence(&file, &assumed).map_err(refused)?;
    let source = front::source(path, &bytes);
    sequence.title.clone_from(&source.name);
    sequence.source = Some(source);
    front::conduct(&arguments.front, sequence).map(|conducted| conducted.state)
}

/// Included files lie beside the job file; variables are those of the environment.
struct Around<'a> {
    path: &'a Path,
}

impl Surroundings for Around<'_> {
    fn include(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let beside = self.path.parent().unwrap_or(Path::new("")).join(name);
        front::read(&beside).map_err(|why| format!("{why:#}"))
    }
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
