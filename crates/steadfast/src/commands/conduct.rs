//! A procedure on its way to a report, in a run that is new or taken up again.

use crate::cli::Format;
use crate::commands::replay;
use crate::exit::ExitState;
use crate::panel::Panel;
use crate::prometheus::{Both, Exporter};
use crate::writing::OutputDir;
use crate::{asked::SOFTWARE, output, terminal};
use anyhow::bail;
use std::path::Path;
use steadfast_domain::{Findings, Load, Procedure, Settings, Step};
use steadfast_engine::Stop;
use steadfast_host::Directory;
use steadfast_runner::ledger::Line;
use steadfast_runner::run::{self, Ending};
use steadfast_runner::{Event, HostRequests, Ledger, Progress, Rig};

/// Where a run directory keeps fio's job files and answers.
pub const FIO_DIRECTORY: &str = "fio";

/// What a run's settings want of purge and host; the disk of the run directory
/// lives.
pub fn wishes(settings: &Settings, directory: &Path) -> HostRequests {
    let mut wishes = HostRequests::of(settings);
    wishes.purge.keep = vec![directory.to_owned()];
    wishes
}

/// A procedure on its way to a report.
pub struct Conduct<'a> {
    /// The procedure.
    pub procedure: &'a dyn Procedure,
    /// Its name.
    pub name: &'a str,
    /// The run directory.
    pub directory: &'a Path,
    /// Whether the findings are printed as JSON.
    pub json: bool,
    /// Whether every step prints where no terminal shows the run.
    pub verbose: bool,
    /// Where metrics go while it runs.
    pub metrics: Option<&'a Exporter>,
}

impl Conduct<'_> {
    /// Conducts, studies and reports.
    pub fn to_the_end(
        &self,
        rig: &mut dyn Rig,
        ledger: Ledger,
        lines: &[Line],
        stop: &Stop,
    ) -> anyhow::Result<ExitState> {
        let mut panel =
            Panel::new(self.procedure, rig.device(), stop.clone()).verbose(self.verbose);
        let about = (self.name, self.directory);
        let gauge = self.metrics.map(|metrics| metrics.gauge(rig, self.procedure, about));
        let mut both = ReplayMarks(Both(&mut panel, gauge));
        let directory = ledger.directory().clone();
        let ending = run::conduct(self.procedure, rig, ledger, lines, SOFTWARE, &mut both);
        drop(both);
        panel.close();
        if let Some(halted) = unfinished(&ending?, self.directory)? {
            return Ok(halted);
        }
        let findings = output::study_with(self.procedure, &directory)?;
        write_report(&directory, &findings)?;
        if self.json {
            terminal::print_findings(&findings)?;
        } else {
            terminal::print(&steadfast_report::text(&findings, terminal::width()))?;
            terminal::print(&format!(
                "\nReport: {0}/report.pdf, {0}/report.html; tables as CSV and findings.json in \
                 the same directory.",
                self.directory.display()
            ))?;
        }
        Ok(state(&findings))
    }
}

/// Marks the beginning and the end of a replay of single I/Os in captures that run at the same
/// time, so that `replay verify` tells its I/Os from what was done to its target before and after.
struct ReplayMarks<'p, 'e>(Both<'p, 'e>);

impl Progress for ReplayMarks<'_, '_> {
    fn tell(&mut self, event: &Event<'_>) {
        let mark = match event {
            Event::Begins(Step { load: Load::Script(_), continues: false, .. }) => {
                Some(replay::BEGINS)
            }
            Event::Finished { step, outcome, replayed: false }
                if matches!(step.load, Load::Script(_)) && outcome.measurement.complete =>
            {
                Some(replay::ENDS)
            }
            _ => None,
        };
        if let Some(mark) = mark {
            // Mostly there is no capture; a user who is not root may not mark one.
            let _ = steadfast_recorder::mark(mark, None);
        }
        self.0.tell(event);
    }
}

/// Says how a run ended that did not come to its end; `None` where it did.
pub fn unfinished(ending: &Ending, directory: &Path) -> anyhow::Result<Option<ExitState>> {
    match ending {
        Ending::Complete => Ok(None),
        Ending::Halted(halt) => {
            let directory = directory.display();
            terminal::complain(&format!("steadfast: halted: {halt}"));
            terminal::complain(&format!(
                "Every finished step is in {directory}. Resume with: steadfast resume \
                 {directory}"
            ));
            Ok(Some(ExitState::Halted))
        }
        Ending::Lost(halt) => bail!(
            "halted: {halt}. What this run measured is lost and cannot be resumed; start it \
             again, in another directory"
        ),
    }
}

/// Puts the report of a run into its directory.
pub fn write_report(directory: &Directory, findings: &Findings) -> anyhow::Result<()> {
    let formats = [Format::Json, Format::Csv, Format::Html, Format::Pdf];
    output::write(&OutputDir::of_run(directory), findings, &formats)?;
    Ok(())
}

/// How the command ends after a run with these findings.
pub fn state(findings: &Findings) -> ExitState {
    match findings.whole_end().good() {
        Some(false) => ExitState::NotGood,
        _ => ExitState::Done,
    }
}
