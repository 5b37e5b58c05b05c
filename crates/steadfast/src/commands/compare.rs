//! `steadfast compare`: several runs side by side.

use crate::cli::CompareArguments;
use crate::exit::ExitState;
use crate::writing::{Rule, Shelf};
use crate::{output, terminal};
use anyhow::bail;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_host::NewFile;
use steadfast_report::Printed;
use steadfast_runner::real::wall_clock_unix_ms;

/// Compares, and writes or prints what came out.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<ExitState> {
    let rule = Rule::of(&arguments.writing)?;
    let place = arguments.output.as_deref().map(|output| Place::of(output, rule)).transpose()?;
    let mut found = Vec::new();
    for run in &arguments.runs {
        found.push((run.as_path(), output::findings_of(run)?));
    }
    let names = names(&found);
    let runs: Vec<(String, Findings)> =
        names.into_iter().zip(found.into_iter().map(|(_, findings)| findings)).collect();
    let comparison = steadfast_report::compare(&runs)?;
    if let Some(place) = place {
        for file in place.write(&comparison)? {
            terminal::tell(&format!("Written: {}", file.display()));
        }
    }
    if arguments.json {
        terminal::print_findings(&comparison)?;
    } else if arguments.output.is_none() {
        terminal::print(&steadfast_report::text(&comparison, terminal::width()))?;
    }
    Ok(ExitState::Done)
}

/// What each run is called: its model, with the directory's name where models
/// are the same or unknown.
fn names(found: &[(&Path, Findings)]) -> Vec<String> {
    let model = |findings: &Findings| {
        let of_part = || findings.parts.iter().find_map(|part| part.header.model.clone());
        findings.header.model.clone().or_else(of_part)
    };
    let models: Vec<Option<String>> = found.iter().map(|(_, findings)| model(findings)).collect();
    let directory = |run: &Path| -> String {
        // A file of another tool has a name of its own.
        let ending = run.extension().filter(|ending| !ending.eq_ignore_ascii_case("json"));
        if let (Some(_), Some(name), true) = (ending, run.file_stem(), run.is_file()) {
            return name.to_string_lossy().into_owned();
        }
        let run = if run.is_dir() { Some(run) } else { run.parent() };
        let real = run.and_then(|run| run.canonicalize().ok());
        let name = real.as_deref().and_then(Path::file_name);
        name.map_or("run".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    found
        .iter()
        .zip(&models)
        .map(|((run, _), model)| {
            let same = models.iter().filter(|other| *other == model).count();
            match model {
                Some(model) if same == 1 => model.clone(),
                Some(model) => format!("{model} ({})", directory(run)),
                None => directory(run),
            }
        })
        .collect()
}

/// Where a comparison goes.
enum Place {
    /// One form, which the file's ending names.
    File(NewFile, Form),
    /// All of them.
    Shelf(Shelf),
}

enum Form {
    Html,
    Pdf,
    Json,
}

impl Place {
    /// A directory of all forms, or a file of one.
    fn of(output: &Path, rule: Rule) -> anyhow::Result<Place> {
        let ending = output.extension().and_then(|ending| ending.to_str());
        let form = match ending.filter(|_| !output.is_dir()) {
            Some("html") => Form::Html,
            Some("pdf") => Form::Pdf,
            Some("json") => Form::Json,
            Some("csv" | "txt" | "xlsx") => bail!(
                "{}: a comparison is written as .html, .pdf or .json, or into a directory with \
                 tables as CSV",
                output.display()
            ),
            _ => {
                let names = ["compare.html", "compare.pdf", "compare.json"];
                return Shelf::named(output, rule, &names).map(Place::Shelf);
            }
        };
        Ok(Place::File(rule.begin(output)?, form))
    }

    fn write(self, comparison: &Findings) -> anyhow::Result<Vec<PathBuf>> {
        let printed = Printed { report_unix_ms: wall_clock_unix_ms() };
        let made = |form: &Form| -> anyhow::Result<Vec<u8>> {
            Ok(match form {
                Form::Html => steadfast_report::html(comparison, &printed).into_bytes(),
                Form::Pdf => steadfast_report::pdf(comparison, &printed)?,
                Form::Json => serde_json::to_vec_pretty(comparison)?,
            })
        };
        match self {
            Place::File(file, form) => {
                let path = file.path();
                file.hold(&made(&form)?)?;
                Ok(vec![path])
            }
            Place::Shelf(shelf) => {
                let mut files = vec![
                    ("compare.html".to_owned(), made(&Form::Html)?),
                    ("compare.pdf".to_owned(), made(&Form::Pdf)?),
                    ("compare.json".to_owned(), made(&Form::Json)?),
                ];
                files.extend(output::tables(comparison));
                shelf.put(&files)
            }
        }
    }
}
