//! `steadfast schema`: JSON Schemas of all output, generated from the types.

use super::{calibrate, check, devices, doctor, identify, measure, plan, restore, several, trace};
use crate::cli::SchemaArguments;
use crate::exit::{ExitState, misuse};
use crate::terminal;
use crate::workloads::reference;
use schemars::Schema;
use steadfast_domain::{Record, suggestion};
use steadfast_report::FindingsFile;
use steadfast_runner::RunPlan;
use steadfast_runner::ledger::JournalLine;

/// Name, description and schema of a document.
type SchemaDocument = (&'static str, &'static str, fn() -> Schema);

/// All documents. docs/schema has a file for each.
const DOCUMENTS: [SchemaDocument; 37] = [
    (
        "record",
        "A record: settings and entries of a run, in one",
        terminal::schema_of_plain::<Record>,
    ),
    ("settings", "settings.json of a run directory", terminal::schema_of_plain::<RunPlan>),
    (
        "journal",
        "A line of journal.jsonl, without its chain",
        terminal::schema_of_plain::<JournalLine>,
    ),
    (
        "findings",
        "findings.json; run, resume, study, compare, trend, replay verify, trace self-test --json",
        terminal::schema_of_plain::<FindingsFile<'_>>,
    ),
    ("run-targets", "run and resume --json of several targets", several::schema),
    ("devices", "devices --json", devices::schema),
    ("doctor", "doctor --json", doctor::schema),
    ("plan", "plan --json", plan::schema),
    ("plan-targets", "plan --json of several targets", plan::schema_of_several),
    ("measure", "measure --json", measure::schema),
    ("measure-targets", "measure --json of several targets", measure::schema_of_several),
    ("measure-runs", "measure --runs --json", measure::schema_of_runs),
    ("calibrate", "calibrate --json", calibrate::schema),
    ("restore", "restore --json", restore::schema),
    ("check", "check --json", check::schema),
    ("check-list", "check --list --json", check::schema_of_list),
    ("identify", "identify --json", identify::schema),
    ("trace-streams", "trace streams --json", trace::streams::schema),
    ("trace-processes", "trace processes --json", trace::streams::schema_of_processes),
    ("trace-steps", "trace steps --json", trace::over_time::schema),
    ("trace-map", "trace map --json", trace::over_time::schema_of_map),
    ("trace-hits", "trace hits --json", trace::hits::schema),
    ("trace-hot", "trace hot --json", trace::hot::schema),
    ("trace-compare", "trace compare --json", trace::compare::schema),
    ("trace-deltas", "trace compare --json of two periods", trace::deltas::schema),
    ("trace-doctor", "trace doctor --json", trace::doctor::schema),
    ("trace-groups", "trace groups --json", trace::groups::schema),
    ("trace-hosts", "trace hosts --json", trace::hosts::schema),
    ("trace-fold", "trace fold and trace merge --json", trace::fold::schema),
    ("trace-identify", "trace identify --json", trace::identify::schema),
    ("trace-drives", "trace drives --json", trace::groups::schema_of_drives),
    ("trace-locality", "trace locality --json", trace::locality::schema),
    ("trace-shape", "trace shape --json", trace::shape::schema),
    ("trace-profile", "trace profile --json", trace::profile::schema),
    ("trace-import", "trace import --json", trace::import::schema),
    ("workload-derive", "workload derive --json", trace::derive::schema),
    ("workload-list", "workload list --json", reference::schema),
];

/// Prints a schema, or the names of all documents.
pub fn run(arguments: &SchemaArguments) -> anyhow::Result<ExitState> {
    let Some(asked) = &arguments.document else {
        let widest = DOCUMENTS.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        let lines = DOCUMENTS.iter().map(|(name, what, _)| format!("{name:widest$}  {what}"));
        terminal::print(&lines.collect::<Vec<_>>().join("\n"))?;
        return Ok(ExitState::Done);
    };
    let Some((name, what, schema)) = DOCUMENTS.iter().find(|(name, ..)| name == asked) else {
        return Err(misuse(format!(
            "there is no schema '{asked}'{}; `steadfast schema` lists all",
            suggestion(asked, DOCUMENTS.iter().map(|(name, ..)| *name))
        )));
    };
    let mut schema = schema();
    schema.insert("title".to_owned(), format!("steadfast {name}").into());
    schema.insert("description".to_owned(), (*what).into());
    terminal::print_schema(&schema)?;
    Ok(ExitState::Done)
}
