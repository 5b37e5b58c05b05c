//! `steadfast restore`: host settings as they were before a run that died.

use crate::cli::RunDirectory;
use crate::exit::Outcome;
use crate::terminal;
use steadfast_domain::Halt;
use steadfast_host::Roots;
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run;

/// Puts back what the journal says was changed and not restored.
pub fn run(arguments: &RunDirectory) -> anyhow::Result<Outcome> {
    let roots = Roots::real();
    let changes = run::restore(&arguments.run_dir, wall_clock_unix_ms(), &mut |change| {
        steadfast_host::undo_change(change, &roots).map_err(|e| Halt::Refused(e.to_string()))
    })?;
    if arguments.json {
        terminal::print_json(&changes)?;
        return Ok(Outcome::Done);
    }
    if changes.is_empty() {
        terminal::print("Nothing to restore: this run left no host setting changed.")?;
    }
    for change in &changes {
        terminal::print(&format!("{}: {} again", change.setting, change.before))?;
    }
    Ok(Outcome::Done)
}
