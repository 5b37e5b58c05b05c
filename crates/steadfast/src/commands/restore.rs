//! `steadfast restore` and `steadfast unlock`: host and drive as they were
//! before a run that died.

use crate::cli::{RunDirectory, UnlockArguments};
use crate::exit::Outcome;
use crate::terminal;
use anyhow::bail;
use std::path::Path;
use steadfast_domain::Halt;
use steadfast_domain::record::HostChange;
use steadfast_host::Roots;
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run;

/// Puts back what the journal says was changed and not restored.
pub fn run(arguments: &RunDirectory) -> anyhow::Result<Outcome> {
    let changes = put_back(&arguments.run_dir, |_| true)?;
    told(&changes, arguments.json, "Nothing to restore: this run left no host setting changed.")
}

/// Takes away the ATA password that a purge left on a drive.
pub fn unlock(arguments: &UnlockArguments) -> anyhow::Result<Outcome> {
    if let Some(run_dir) = &arguments.run_dir {
        let changes = put_back(run_dir, steadfast_host::is_password)?;
        return told(&changes, false, "Nothing to unlock: this run left no password on its drive.");
    }
    let Some(device) = &arguments.device else {
        bail!("name a run directory, or a drive with --device");
    };
    let password = arguments.password.as_deref().unwrap_or(steadfast_host::PURGE_PASSWORD);
    let (path, shown) = (Path::new(device), device.as_str());
    terminal::print(&match steadfast_host::unlock(path, password)? {
        true => format!("{shown}: the password is taken away; the drive is open"),
        false => format!("{shown}: no password is set; nothing was changed"),
    })?;
    Ok(Outcome::Done)
}

fn put_back(run_dir: &Path, meant: fn(&HostChange) -> bool) -> Result<Vec<HostChange>, Halt> {
    let roots = Roots::real();
    run::restore(run_dir, wall_clock_unix_ms(), meant, &mut |change| {
        steadfast_host::undo_change(change, &roots).map_err(|e| Halt::Refused(e.to_string()))
    })
}

fn told(changes: &[HostChange], json: bool, nothing: &str) -> anyhow::Result<Outcome> {
    if json {
        terminal::print_json(&changes)?;
        return Ok(Outcome::Done);
    }
    if changes.is_empty() {
        terminal::print(nothing)?;
    }
    for change in changes {
        terminal::print(&format!("{}: {} again", change.setting, change.before))?;
    }
    Ok(Outcome::Done)
}
