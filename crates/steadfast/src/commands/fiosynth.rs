//! `steadfast fiosynth`: runs a FioSynth suite with its templates.

use super::other_tools;
use crate::cli::other_tools::FioSynthArguments;
use crate::exit::ExitState;
use crate::recognize_file::expect;
use std::path::{Component, Path, PathBuf};
use steadfast_exchange::fiosynth::{DriveScale, FioSynthSuite, TemplateSource, sequence};
use steadfast_exchange::identify::FileKind;

/// Runs every workload of the suite, or prints the plan.
pub fn run(arguments: &FioSynthArguments) -> anyhow::Result<ExitState> {
    let path = &arguments.file;
    let bytes = other_tools::read(path)?;
    expect(path, &bytes, "a suite of FioSynth", &[FileKind::FioSynthSuite])?;
    let refused = |errors: Vec<_>| other_tools::refused(path, &errors);
    let suite = FioSynthSuite::read(&bytes).map_err(refused)?;
    let device = other_tools::foresee(&arguments.front, other_tools::target(&arguments.front)?)?;
    let drive = DriveScale { capacity: device.capacity, factor: arguments.capacity };
    let mut templates = TemplateDirectories { directories: directories(arguments) };
    let mut sequence = sequence(&suite, drive, &mut templates).map_err(refused)?;
    let source = other_tools::source(path, &bytes);
    sequence.title.clone_from(&source.name);
    sequence.source = Some(source);
    other_tools::conduct(&arguments.front, sequence).map(|conducted| conducted.state)
}

/// Returns the template directories: the given one, or FioSynth's usual places next to the suite.
fn directories(arguments: &FioSynthArguments) -> Vec<PathBuf> {
    if let Some(directory) = &arguments.templates {
        return vec![directory.clone()];
    }
    let directory = arguments.file.parent().unwrap_or(Path::new(""));
    vec![directory.to_owned(), directory.join("jobfiles"), directory.join("../jobfiles")]
}

struct TemplateDirectories {
    directories: Vec<PathBuf>,
}

impl TemplateSource for TemplateDirectories {
    fn environment(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn template(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(format!("{name}: give a template's file name, without a directory"));
        }
        let found = self.directories.iter().map(|d| d.join(name)).find(|path| path.exists());
        match found {
            Some(path) => other_tools::read(&path).map_err(|why| why.to_string()),
            None => Err(format!(
                "no such template in {}; name their directory with --templates",
                self.directories
                    .iter()
                    .map(|d| if d.as_os_str().is_empty() {
                        ".".into()
                    } else {
                        d.display().to_string()
                    })
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    }
}
