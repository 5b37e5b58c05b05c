//! `steadfast compare`: several runs side by side.

use crate::cli::CompareArguments;
use crate::exit::Outcome;
use crate::{output, terminal};
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_report::Printed;
use steadfast_runner::real::wall_clock_unix_ms;

/// Compares, and writes or prints what came out.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<Outcome> {
    let mut found = Vec::new();
    for run in &arguments.runs {
        found.push((run.as_path(), output::findings_of(run)?));
    }
    let names = names(&found);
    let runs: Vec<(String, Findings)> =
        names.into_iter().zip(found.into_iter().map(|(_, findings)| findings)).collect();
    let comparison = steadfast_report::compare(&runs)?;
    if let Some(output) = &arguments.output {
        for file in write(output, &comparison)? {
            terminal::complain(&format!("Written: {}", file.display()));
        }
    }
    if arguments.json {
        terminal::print_json(&comparison)?;
    } else if arguments.output.is_none() {
        terminal::print(&steadfast_report::text(&comparison, terminal::width()))?;
    }
    Ok(Outcome::Done)
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

/// Writes a directory of all forms, or the one form that a file's ending names.
fn write(output: &Path, comparison: &Findings) -> anyhow::Result<Vec<PathBuf>> {
    let printed = Printed { report_unix_ms: wall_clock_unix_ms() };
    let html = || steadfast_report::html(comparison, &printed).into_bytes();
    let json = || serde_json::to_vec_pretty(comparison);
    let ending = output.extension().and_then(|ending| ending.to_str());
    let content = match ending.filter(|_| !output.is_dir()) {
        Some("html") => html(),
        Some("pdf") => steadfast_report::pdf(comparison, &printed)?,
        Some("json") => json()?,
        Some("csv" | "txt" | "xlsx") => bail!(
            "{}: a comparison is written as .html, .pdf or .json, or into a directory with its \
             tables as CSV",
            output.display()
        ),
        _ => {
            fs::create_dir_all(output)
                .with_context(|| format!("{} cannot be made", output.display()))?;
            let mut files = vec![
                output::put(output, "compare.html", &html())?,
                output::put(output, "compare.pdf", &steadfast_report::pdf(comparison, &printed)?)?,
                output::put(output, "compare.json", &json()?)?,
            ];
            for (name, table) in steadfast_report::tables(comparison) {
                files.push(output::put(output, &name, table.as_bytes())?);
            }
            return Ok(files);
        }
    };
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    Ok(vec![output::put(directory.unwrap_or(Path::new(".")), &name, &content)?])
}
