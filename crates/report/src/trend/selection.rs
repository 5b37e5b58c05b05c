//! The runs of a trend: one procedure, one drive model, the same settings, oldest first.

use crate::compare::settings;
use crate::compare::side::ComparedRun;
use crate::date;
use crate::grouping::{comma_separated, keys_by_value};
use crate::named_run::NamedRun;
use crate::parts::simulated;
use steadfast_domain::findings::{Exhibit, Origin, Setting};
use steadfast_domain::text::counted;
use steadfast_domain::{EndState, Findings};

/// IDs of values that identify a run, each under the names that different parts of findings use.
const FIRMWARE: [&str; 3] = ["Firmware", "Firmware revision", "Firmware ver"];
const SERIAL: [&str; 2] = ["Serial number", "S/N"];
const KERNEL: [&str; 2] = ["Kernel version", "Kernel"];
const HOST: [&str; 1] = ["Host"];
const SOFTWARE: [&str; 2] = ["Software", "Test SW"];
const TEST_ID: [&str; 1] = ["Test ID No."];
const SEED: [&str; 1] = ["Run seed"];

/// The run that the newest level is compared with.
#[derive(Debug, Clone)]
pub enum TrendBaseline {
    /// A run of the series, by its name or by the test ID that the user gave it.
    Named(String),
    /// A run outside the series.
    Outside(Box<NamedRun>),
}

/// Choices of the user.
#[derive(Debug, Clone)]
pub struct TrendOptions {
    /// ID of the procedure or its first words, ignoring case; `None` if the runs have only one.
    pub procedure: Option<String>,
    /// Run to compare with; `None` to compare with the level before the last change.
    pub baseline: Option<TrendBaseline>,
    /// Smallest change that counts, as a share.
    pub change_min: f64,
}

/// Reasons why runs have no trend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrendError {
    /// The runs have several procedures; holds their IDs with the number of runs.
    #[error("the runs have several procedures: {0}; choose one with --procedure ID")]
    Procedures(String),
    /// No run has the chosen procedure.
    #[error("no run has the procedure '{chosen}'; the runs have: {present}")]
    NoProcedure {
        /// ID that was given.
        chosen: String,
        /// IDs of the procedures that the runs have.
        present: String,
    },
    /// Runs of different drive models; holds the models with their runs.
    #[error("the runs are of different drive models: {0}; give the runs of one model")]
    Models(String),
    /// Runs with different settings.
    #[error("the runs differ in {setting}: {values}; give runs with the same settings")]
    Settings {
        /// Label of the setting.
        setting: String,
        /// Values with the names of their runs.
        values: String,
    },
    /// The baseline is neither a run of the series nor a test ID of one.
    #[error("no run in the trend is named '{name}' or has this test ID; the runs are: {runs}")]
    Baseline {
        /// Name that was given.
        name: String,
        /// Names of the runs.
        runs: String,
    },
    /// Several runs have the test ID.
    #[error("{count} runs have the test ID '{name}'; name one of them: {runs}")]
    SeveralBaselines {
        /// Test ID that was given.
        name: String,
        /// Number of runs with it.
        count: usize,
        /// Names of the runs with it.
        runs: String,
    },
    /// Every run was left out; holds the reasons.
    #[error("no run is left for the trend: {0}")]
    Nothing(String),
}

/// A run in the table of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendRun {
    /// Name of the run.
    pub name: String,
    /// Start of the run, in milliseconds since 1970 (UTC); 0 if unknown.
    pub begin_unix_ms: u64,
    /// Firmware of the device.
    pub firmware: Option<String>,
    /// Kernel of the host.
    pub kernel: Option<String>,
    /// Name of the host.
    pub host: Option<String>,
    /// Program that measured, with its version.
    pub software: Option<String>,
    /// Serial number of the device.
    pub serial: Option<String>,
    /// Test ID that the user gave.
    pub test_id: Option<String>,
}

impl TrendRun {
    pub(super) fn new(run: &NamedRun) -> TrendRun {
        let fact = |ids: &[&str]| fact(&run.findings, ids).and_then(|found| found.value.clone());
        TrendRun {
            name: run.name.clone(),
            begin_unix_ms: run.findings.began_unix_ms,
            firmware: fact(&FIRMWARE),
            kernel: fact(&KERNEL),
            host: fact(&HOST),
            software: fact(&SOFTWARE),
            serial: fact(&SERIAL),
            test_id: test_id(&run.findings).map(str::to_owned),
        }
    }

    pub(super) fn begin(&self) -> String {
        date::date_time(self.begin_unix_ms)
    }
}

/// A run that is not in the series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutRun {
    /// Name of the run.
    pub name: String,
    /// Start of the run, in milliseconds since 1970 (UTC); 0 if unknown.
    pub begin_unix_ms: u64,
    /// Reason in words.
    pub reason: String,
}

/// The baseline, if it is chosen.
pub(super) struct SelectedBaseline {
    pub run: NamedRun,
    /// Index in the series; `None` for a run outside it.
    pub index: Option<usize>,
}

/// The runs that were chosen, and the others.
pub(super) struct SelectedRuns {
    pub title: String,
    pub procedure: String,
    pub series: Vec<NamedRun>,
    pub left_out: Vec<LeftOutRun>,
    pub newest_left_out: Option<String>,
    pub not_stated: Vec<String>,
    pub baseline: Option<SelectedBaseline>,
}

/// Selects the runs of one procedure and checks that they can be compared.
pub(super) fn select(
    runs: Vec<NamedRun>,
    options: &TrendOptions,
) -> Result<SelectedRuns, TrendError> {
    let procedure = procedure(&runs, options.procedure.as_deref())?;
    let mut of_procedure: Vec<NamedRun> =
        runs.iter().filter_map(|run| with_procedure(run, &procedure)).collect();
    // Runs that began at the same time keep the order in which they were given.
    of_procedure.sort_by_key(|run| run.findings.began_unix_ms);
    let (of_procedure, copies) = without_copies(of_procedure);
    let newest = of_procedure.last().map(|run| run.name.clone());
    let (series, others): (Vec<NamedRun>, Vec<NamedRun>) =
        of_procedure.into_iter().partition(|run| unfit(&run.findings).is_none());
    let mut left_out: Vec<LeftOutRun> = others.iter().map(left_out_run).collect();
    left_out.extend(copies);
    left_out.extend(runs.iter().filter_map(|run| uncounted_parts(run, &procedure)));
    left_out.sort_by_key(|run| run.begin_unix_ms);
    let Some(first) = series.first() else {
        let reason = |run: &LeftOutRun| format!("{}: {}", run.name, run.reason);
        let reasons: Vec<String> = left_out.iter().map(reason).collect();
        return Err(TrendError::Nothing(reasons.join("; ")));
    };
    let title = first.findings.title.clone();
    let baseline = baseline(&series, options.baseline.as_ref(), &procedure)?;
    let outside = baseline.as_ref().filter(|baseline| baseline.index.is_none());
    let compared: Vec<&NamedRun> =
        series.iter().chain(outside.map(|baseline| &baseline.run)).collect();
    same_model(&compared)?;
    let not_stated = same_settings(&compared)?;
    let newest_left_out = newest.filter(|name| left_out.iter().any(|run| run.name == *name));
    Ok(SelectedRuns { title, procedure, series, left_out, newest_left_out, not_stated, baseline })
}

/// Returns the ID of the procedure that the trend is about.
fn procedure(runs: &[NamedRun], chosen: Option<&str>) -> Result<String, TrendError> {
    let mut ids = Vec::new();
    for run in runs {
        ids.extend(procedures(&run.findings).into_iter().map(|one| (run, one.id.as_str())));
    }
    let mut present = keys_by_value(ids);
    if let Some(chosen) = chosen {
        if let Some((id, _)) = present.iter().find(|(id, _)| id.eq_ignore_ascii_case(chosen)) {
            return Ok((*id).to_owned());
        }
        // `iops` stands for `IOPS` and for `IOPS of another kind`.
        let (matching, others): (Vec<_>, Vec<_>) =
            present.into_iter().partition(|(id, _)| begins_with_words(id, chosen));
        if matching.is_empty() {
            let present = ids_with_counts(&others);
            return Err(TrendError::NoProcedure { chosen: chosen.to_owned(), present });
        }
        present = matching;
    }
    match present.as_slice() {
        [] => Err(TrendError::Nothing("no run was given".to_owned())),
        [(only, _)] => Ok((*only).to_owned()),
        several => Err(TrendError::Procedures(ids_with_counts(several))),
    }
}

/// Formats IDs with their number of runs.
fn ids_with_counts(runs_by_id: &[(&str, Vec<&NamedRun>)]) -> String {
    let text = |(id, runs): &(&str, Vec<&NamedRun>)| {
        format!("{id} ({})", counted(runs.len() as u64, "run"))
    };
    comma_separated(runs_by_id.iter().map(text))
}

/// Returns true if an ID begins with the words of a procedure's name, such as `load-curve`.
fn begins_with_words(id: &str, name: &str) -> bool {
    let words = |text: &str| format!("{}-", text.to_lowercase().replace(' ', "-"));
    words(id).starts_with(&words(name))
}

/// Returns the procedures of a run that have numbers: its own or those of its parts.
fn procedures(findings: &Findings) -> Vec<&Findings> {
    let own = findings.parts.is_empty() || !findings.metrics.is_empty();
    own.then_some(findings).into_iter().chain(&findings.parts).collect()
}

/// Returns the run with the findings of a procedure, or with those of the whole run if it ended
/// before this one of its procedures; `None` if the run does not have it.
fn with_procedure(run: &NamedRun, id: &str) -> Option<NamedRun> {
    let is_planned = || {
        let mut names = planned_procedures(&run.findings).filter_map(|row| row.value.as_deref());
        names.any(|name| name.eq_ignore_ascii_case(id))
    };
    let own = procedures(&run.findings).into_iter().find(|one| one.id == id);
    let mut findings = own.or_else(|| is_planned().then_some(&run.findings))?.clone();
    if findings.began_unix_ms == 0 {
        findings.began_unix_ms = run.findings.began_unix_ms;
        findings.ended_unix_ms = run.findings.ended_unix_ms;
    }
    Some(NamedRun { name: run.name.clone(), findings })
}

/// Returns the rows of the form that name the procedures of a run.
fn planned_procedures(findings: &Findings) -> impl Iterator<Item = &Setting> {
    let rows = findings.header.blocks.iter().flat_map(|block| &block.rows);
    rows.filter(|row| row.id.starts_with("procedure-"))
}

/// Removes copies of runs. Two findings are copies if their start times, seeds, devices and metrics
/// are equal. Runs of simulated drives all start at the same virtual time, and a seed always gives
/// the same numbers: they are no copies.
fn without_copies(runs: Vec<NamedRun>) -> (Vec<NamedRun>, Vec<LeftOutRun>) {
    let (mut kept, mut copies): (Vec<NamedRun>, Vec<LeftOutRun>) = (Vec::new(), Vec::new());
    for run in runs {
        match kept.iter().find(|other| is_same_run(&other.findings, &run.findings)) {
            Some(other) => copies.push(LeftOutRun {
                reason: format!("a copy of {}; counted once", other.name),
                begin_unix_ms: run.findings.began_unix_ms,
                name: run.name,
            }),
            None => kept.push(run),
        }
    }
    (kept, copies)
}

fn is_same_run(one: &Findings, other: &Findings) -> bool {
    let has_same_fact = |ids: &[&str]| {
        let value = |findings| fact(findings, ids).map(|found| found.value.clone());
        value(one) == value(other)
    };
    let begin = one.began_unix_ms;
    begin != 0
        && begin == other.began_unix_ms
        && !simulated(one)
        && one.metrics == other.metrics
        && has_same_fact(&SERIAL)
        && has_same_fact(&SEED)
}

/// Returns the parts of a run that may be of the trend's procedure but are left out: the parts that
/// an aborted run did not start, and all but the first part of the procedure.
fn uncounted_parts(run: &NamedRun, id: &str) -> Option<LeftOutRun> {
    let findings = &run.findings;
    let may_be_missing = unfit(findings).is_some() && with_procedure(run, id).is_none();
    let planned = planned_procedures(findings).filter_map(|row| row.value.as_ref());
    let missing: Vec<&String> = planned
        .filter(|name| may_be_missing && findings.parts.iter().all(|part| part.title != **name))
        .collect();
    let repetitions = procedures(findings).into_iter().filter(|one| one.id == id).skip(1).count();
    let reason = if !missing.is_empty() {
        format!("it ended before these parts: {}", comma_separated(missing))
    } else if repetitions > 0 {
        format!("{repetitions} more of its parts are of this procedure; only the first counts")
    } else {
        return None;
    };
    let begin_unix_ms = findings.began_unix_ms;
    Some(LeftOutRun { name: format!("{}, parts", run.name), begin_unix_ms, reason })
}

/// Returns the reason why a run's numbers do not count; `None` if they do.
fn unfit(findings: &Findings) -> Option<String> {
    match findings.whole_end() {
        EndState::Complete | EndState::Steady if findings.metrics.is_empty() => {
            Some("it has no metrics".to_owned())
        }
        EndState::Complete | EndState::Steady => None,
        end => Some(format!("{}: {}", end.id(), findings.ending)),
    }
}

fn left_out_run(run: &NamedRun) -> LeftOutRun {
    LeftOutRun {
        name: run.name.clone(),
        begin_unix_ms: run.findings.began_unix_ms,
        reason: unfit(&run.findings).unwrap_or_default(),
    }
}

fn baseline(
    series: &[NamedRun],
    chosen: Option<&TrendBaseline>,
    procedure: &str,
) -> Result<Option<SelectedBaseline>, TrendError> {
    let of_series =
        |index: usize| SelectedBaseline { run: series[index].clone(), index: Some(index) };
    match chosen {
        None => Ok(None),
        Some(TrendBaseline::Outside(run)) => {
            let Some(run) = with_procedure(run, procedure) else {
                let present = procedures(&run.findings).into_iter().map(|one| &one.id);
                return Err(TrendError::NoProcedure {
                    chosen: procedure.to_owned(),
                    present: format!("{} (baseline {})", comma_separated(present), run.name),
                });
            };
            if let Some(reason) = unfit(&run.findings) {
                return Err(TrendError::Nothing(format!("baseline {}: {reason}", run.name)));
            }
            Ok(Some(SelectedBaseline { run, index: None }))
        }
        Some(TrendBaseline::Named(name)) => {
            if let Some(index) = series.iter().position(|run| run.name == *name) {
                return Ok(Some(of_series(index)));
            }
            let has_id = |run: &&NamedRun| test_id(&run.findings) == Some(name.as_str());
            let tagged: Vec<&NamedRun> = series.iter().filter(has_id).collect();
            match tagged.len() {
                0 => Err(TrendError::Baseline {
                    name: name.clone(),
                    runs: comma_separated(series.iter().map(|run| &run.name)),
                }),
                1 => Ok(series.iter().position(|run| has_id(&run)).map(of_series)),
                count => Err(TrendError::SeveralBaselines {
                    name: name.clone(),
                    count,
                    runs: comma_separated(tagged.iter().map(|run| &run.name)),
                }),
            }
        }
    }
}

/// Returns the test ID that the user gave; `None` if it was made of the journal's digest.
fn test_id(findings: &Findings) -> Option<&str> {
    fact(findings, &TEST_ID).filter(|found| found.origin == Origin::Chosen)?.value.as_deref()
}

/// Returns the first value with one of these IDs: on page one, in the form or in a chapter.
fn fact<'a>(findings: &'a Findings, ids: &[&str]) -> Option<&'a Setting> {
    let front = findings.front.device.iter().chain(&findings.front.conditions);
    let form = findings.header.blocks.iter().flat_map(|block| &block.rows);
    let chapters = findings.chapters.iter().flat_map(|page| &page.exhibits);
    let facts = chapters.filter_map(Exhibit::as_facts).flat_map(|facts| &facts.rows);
    let mut all = front.chain(form).chain(facts);
    all.find(|row| ids.contains(&row.id.as_str()) && row.value.is_some())
}

/// Refuses runs of different drive models. Runs without a known model count as one.
fn same_model(runs: &[&NamedRun]) -> Result<(), TrendError> {
    let models =
        runs.iter().map(|run| (run.name.as_str(), run.findings.model().unwrap_or("unknown model")));
    let groups = keys_by_value(models);
    if groups.len() > 1 { Err(TrendError::Models(values_with_runs(&groups))) } else { Ok(()) }
}

/// Refuses runs that differ in a setting on which the numbers depend. Returns the labels of
/// settings that only some runs state.
fn same_settings(runs: &[&NamedRun]) -> Result<Vec<String>, TrendError> {
    let sides: Vec<ComparedRun<'_>> = runs
        .iter()
        .map(|NamedRun { name, findings }| ComparedRun {
            letter: 'A',
            name: name.clone(),
            findings: Some(findings),
        })
        .collect();
    let mut not_stated = Vec::new();
    let all = settings::differences(&sides);
    for difference in all.into_iter().filter(|difference| difference.severe) {
        let pairs = runs.iter().zip(&difference.values);
        let stated = pairs.filter_map(|(run, value)| Some((run.name.as_str(), value.as_deref()?)));
        let groups = keys_by_value(stated);
        if groups.len() > 1 {
            let values = values_with_runs(&groups);
            return Err(TrendError::Settings { setting: difference.label, values });
        }
        not_stated.push(difference.label);
    }
    Ok(not_stated)
}

/// Maximum number of runs per value that an error names.
const RUNS_NAMED_MAX: usize = 4;

/// Formats values with the names of the runs that have them.
fn values_with_runs(groups: &[(&str, Vec<&str>)]) -> String {
    let text = |(value, runs): &(&str, Vec<&str>)| {
        let (named, others) = runs.split_at(runs.len().min(RUNS_NAMED_MAX));
        let named = named.join(", ");
        match others.len() {
            0 => format!("{value} ({named})"),
            more => format!("{value} ({named} and {more} more)"),
        }
    };
    groups.iter().map(text).collect::<Vec<_>>().join("; ")
}
