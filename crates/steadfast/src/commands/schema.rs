//! `steadfast schema`: JSON Schemas of all output, generated from the types.

use super::{calibrate, check, devices, doctor, identify, measure, plan, restore, several, trace};
use crate::cli::SchemaArguments;
use crate::exit::{ExitState, misuse};
use crate::filtered_capture::capture_schema;
use crate::terminal::{self, file_schema, output_schema};
use crate::workloads::reference::WorkloadListOutput;
use schemars::Schema;
use steadfast_analysis::questions::streams::StreamListing;
use steadfast_domain::{Record, suggestion};
use steadfast_report::{CheckVerdict, FindingsFile};
use steadfast_runner::RunPlan;
use steadfast_runner::ledger::JournalLine;

/// Name, description and schema of a document.
type SchemaDocument = (&'static str, &'static str, fn() -> Schema);

/// All documents. docs/schema.json has a definition of each.
const DOCUMENTS: [SchemaDocument; 38] = [
    ("record", "A record: settings and entries of a run, in one", file_schema::<Record>),
    ("settings", "settings.json of a run directory", file_schema::<RunPlan>),
    ("journal", "A line of journal.jsonl, without its chain", file_schema::<JournalLine>),
    (
        "findings",
        "findings.json; run, resume, study, compare, trend, replay verify, trace self-test --json",
        file_schema::<FindingsFile<'_>>,
    ),
    (
        "run-targets",
        "run and resume --json of several targets",
        output_schema::<several::RunTargetsOutput<'_>>,
    ),
    ("devices", "devices --json", output_schema::<devices::DevicesOutput>),
    ("doctor", "doctor --json", output_schema::<doctor::DoctorOutput<'_>>),
    ("plan", "plan --json", output_schema::<plan::PlanOutput>),
    ("plan-targets", "plan --json of several targets", output_schema::<plan::PlanTargetsOutput>),
    ("measure", "measure --json", output_schema::<measure::MeasureOutput<'_>>),
    (
        "measure-targets",
        "measure --json of several targets",
        output_schema::<measure::MeasureTargetsOutput<'_>>,
    ),
    ("measure-runs", "measure --runs --json", output_schema::<measure::MeasureRunsOutput<'_>>),
    ("calibrate", "calibrate --json", output_schema::<calibrate::CalibrateOutput<'_>>),
    ("restore", "restore --json", output_schema::<restore::RestoreOutput>),
    ("check", "check --json", output_schema::<CheckVerdict>),
    ("check-list", "check --list --json", output_schema::<check::CheckListOutput>),
    ("identify", "identify --json", output_schema::<identify::IdentifyOutput>),
    ("trace-streams", "trace streams --json", capture_schema::<StreamListing>),
    (
        "trace-processes",
        "trace processes --json",
        capture_schema::<trace::streams::ProcessesContent>,
    ),
    ("trace-steps", "trace steps --json", capture_schema::<trace::over_time::StepsContent<'_>>),
    ("trace-map", "trace map --json", capture_schema::<trace::over_time::MapContent>),
    ("trace-hits", "trace hits --json", capture_schema::<trace::hit_map::HitsContent>),
    ("trace-hot", "trace hot --json", capture_schema::<trace::hot::HotContent>),
    ("trace-compare", "trace compare --json", capture_schema::<trace::compare::CompareContent>),
    (
        "trace-deltas",
        "trace compare --json of two periods",
        capture_schema::<trace::deltas::DeltasContent<'_>>,
    ),
    ("trace-doctor", "trace doctor --json", capture_schema::<trace::doctor::DoctorContent>),
    ("trace-groups", "trace groups --json", capture_schema::<trace::groups::GroupsContent>),
    ("trace-hosts", "trace hosts --json", capture_schema::<trace::hosts::HostsContent>),
    ("trace-fold", "trace fold and trace merge --json", output_schema::<trace::fold::FoldContent>),
    ("trace-identify", "trace identify --json", output_schema::<trace::identify::IdentifyContent>),
    ("trace-drives", "trace drives --json", capture_schema::<trace::groups::DrivesContent>),
    ("trace-locality", "trace locality --json", capture_schema::<trace::locality::LocalityContent>),
    ("trace-shape", "trace shape --json", capture_schema::<trace::shape::ShapeContent>),
    ("trace-profile", "trace profile --json", capture_schema::<trace::profile::ProfileContent>),
    ("trace-import", "trace import --json", output_schema::<trace::import::ImportOutput<'_>>),
    (
        "workload-derive",
        "workload derive --json",
        output_schema::<trace::derive::DeriveContent<'_>>,
    ),
    ("workload-export", "workload export --json", output_schema::<trace::export::ExportOutput<'_>>),
    ("workload-list", "workload list --json", output_schema::<WorkloadListOutput>),
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
