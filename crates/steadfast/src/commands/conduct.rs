//! Conducts a procedure, in a new or a resumed run, to its report.

use crate::commands::replay;
use crate::exit::ExitState;
use crate::output_files::OutputDir;
use crate::progress_panel::RunPanel;
use crate::prometheus::{MetricsExporter, ProgressTee};
use crate::{output, run_settings::SOFTWARE, terminal};
use anyhow::bail;
use std::path::Path;
use steadfast_domain::{Findings, Load, Procedure, Settings, Step};
use steadfast_engine::StopSignal;
use steadfast_host::Directory;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::run::{self, RunOutcome};
use steadfast_runner::{HostRequests, Ledger, ProgressSink, Rig, RunEvent};

/// Subdirectory of a run directory with fio's job files and results.
pub const FIO_DIRECTORY: &str = "fio";

/// Returns the purge and host changes that the settings request. Never touches the disk that holds
/// the run directory.
pub fn host_requests(settings: &Settings, directory: &Path) -> HostRequests {
    let mut requests = HostRequests::from_settings(settings);
    requests.purge.protected_paths = vec![directory.to_owned()];
    requests
}

/// A procedure to be conducted.
pub struct ProcedureRun<'a> {
    pub procedure: &'a dyn Procedure,
    /// Name of the procedure.
    pub name: &'a str,
    pub directory: &'a Path,
    /// Prints the findings as JSON.
    pub json: bool,
    /// Prints every step if no terminal shows the run.
    pub verbose: bool,
    /// Exporter of metrics during the run.
    pub metrics: Option<&'a MetricsExporter>,
}

impl ProcedureRun<'_> {
    /// Conducts the procedure, studies the record and writes the report.
    pub fn conduct_and_report(
        &self,
        rig: &mut dyn Rig,
        ledger: Ledger,
        lines: &[JournalLine],
        stop: &StopSignal,
    ) -> anyhow::Result<ExitState> {
        let mut panel =
            RunPanel::new(self.procedure, rig.device(), stop.clone()).verbose(self.verbose);
        let metrics = self
            .metrics
            .map(|metrics| metrics.add_target(rig, self.procedure, self.name, self.directory));
        let target = rig.device().name.clone();
        let mut sink = ReplayMarks { tee: ProgressTee { panel: &mut panel, metrics }, target };
        let directory = ledger.directory().clone();
        let ending = run::conduct(self.procedure, rig, ledger, lines, SOFTWARE, &mut sink);
        drop(sink);
        panel.close();
        if let Some(halted) = state_if_unfinished(&ending?, self.directory)? {
            return Ok(halted);
        }
        let findings = output::study_with(self.procedure, &directory)?;
        write_report(&directory, &findings)?;
        output::print(&findings, self.json)?;
        if !self.json {
            terminal::print(&format!("\n{}", output::report_line(self.directory)))?;
        }
        Ok(state_of(&findings))
    }
}

/// Marks the beginning and the end of a replay of single I/Os in running captures, so that
/// `replay verify` ignores I/Os before and after it.
struct ReplayMarks<'p, 'e> {
    tee: ProgressTee<'p, 'e>,
    /// Name of the target, which the marks contain, since other replays may run at the same time.
    target: String,
}

impl ProgressSink for ReplayMarks<'_, '_> {
    fn report(&mut self, event: &RunEvent<'_>) {
        let mark = match event {
            RunEvent::Begins(Step { load: Load::Script(_), continues: false, .. }) => {
                Some(replay::BEGINS)
            }
            RunEvent::Finished { step, outcome, replayed: false }
                if matches!(step.load, Load::Script(_)) && outcome.measurement.complete =>
            {
                Some(replay::ENDS)
            }
            _ => None,
        };
        if let Some(mark) = mark {
            // Usually there is no capture; only root may mark one.
            let _ = steadfast_recorder::mark(&format!("{mark} on {}", self.target), None);
        }
        self.tee.report(event);
    }
}

/// Returns the exit state of a run that stopped early, and prints why; `None` if it is complete.
pub fn state_if_unfinished(
    ending: &RunOutcome,
    directory: &Path,
) -> anyhow::Result<Option<ExitState>> {
    match ending {
        RunOutcome::Complete => Ok(None),
        RunOutcome::Halted(halt) => {
            let directory = directory.display();
            terminal::warn(&format!("steadfast: halted: {halt}"));
            terminal::warn(&format!(
                "Every finished step is in {directory}. Resume with: steadfast resume \
                 {directory}"
            ));
            Ok(Some(ExitState::Halted))
        }
        RunOutcome::Lost(halt) => bail!(
            "halted: {halt}. What this run measured is lost and cannot be resumed; start it \
             again, in another directory"
        ),
    }
}

/// Writes the report into the run directory.
pub fn write_report(directory: &Directory, findings: &Findings) -> anyhow::Result<()> {
    output::write(&OutputDir::of_run(directory), findings, output::default_formats())?;
    Ok(())
}

/// Returns the exit state that the findings imply.
pub fn state_of(findings: &Findings) -> ExitState {
    match findings.whole_end().good() {
        Some(false) => ExitState::NotPassed,
        _ => ExitState::Done,
    }
}
