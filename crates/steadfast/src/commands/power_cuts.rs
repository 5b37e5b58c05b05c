//! Support for `run power-cut` outside the run: its options, and the wait for the device's return.

use crate::exit::{ExitState, misuse, refuse_unused};
use crate::run_settings::with_full_path;
use crate::{target, terminal};
use anyhow::bail;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_domain::{Device, Settings, Transport};
use steadfast_engine::StopSignal;
use steadfast_host::SystemRoots;
use steadfast_runner::{Ledger, LogPlace};

/// Name of the procedure.
pub const PROCEDURE: &str = "power-cut";

/// Interval between checks for the device.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Adds the command that cuts the power, and the second log.
pub fn add_options(
    settings: &mut Settings,
    command: Option<&str>,
    log_to: Option<&str>,
) -> anyhow::Result<()> {
    if settings.procedure != PROCEDURE {
        let given = [("--cut-command", command.is_some()), ("--log-to", log_to.is_some())];
        let procedure = &settings.procedure;
        refuse_unused(&given, format!("{procedure} cuts no power, only {PROCEDURE} does"))?;
    }
    if settings.procedure == PROCEDURE && settings.power_command.is_some() && command.is_none() {
        return Err(misuse(
            "--power-command reads a power meter, and no command cuts the power; give that as \
             --cut-command, or '--cut-command' with '--power-command' for both",
        ));
    }
    settings.cut_command = command.map(|line| with_full_path("--cut-command", line)).transpose()?;
    // Otherwise a missing program would be noticed only after the area was overwritten.
    if let Some(line) = &settings.cut_command {
        let program = line.split_whitespace().next().unwrap_or_default();
        let found = steadfast_host::find_program(Path::new(program));
        if !found.is_ok_and(|path| path.is_file()) {
            return Err(misuse(format!("--cut-command: the program {program} is not installed")));
        }
    }
    // A resumed run may start in another directory.
    settings.log_to = match log_to.map(LogPlace::parse) {
        None => None,
        Some(LogPlace::Listener(address)) => Some(address),
        Some(LogPlace::File(path)) => {
            let path =
                std::path::absolute(path).map_err(|error| misuse(format!("--log-to: {error}")))?;
            Some(path.display().to_string())
        }
    };
    Ok(())
}

/// Returns the paths that must not be on the target's disk: the run directory and the second log.
pub fn kept_paths(directory: &Path, settings: &Settings) -> Vec<PathBuf> {
    let mut paths = vec![directory.to_owned()];
    if let Some(LogPlace::File(path)) = settings.log_to.as_deref().map(LogPlace::parse) {
        paths.push(path);
    }
    paths
}

/// Refuses options that cannot be combined with the target.
///
/// Arming refuses a disk that holds one of these paths; for a target that is a file, the file
/// systems are compared here.
pub fn check_target(settings: &Settings, device: &Device, directory: &Path) -> anyhow::Result<()> {
    if settings.procedure != PROCEDURE {
        return Ok(());
    }
    if device.is_simulated() && (settings.cut_command.is_some() || settings.log_to.is_some()) {
        return Err(misuse(format!(
            "{}: a simulated drive loses its power in virtual time; omit --cut-command and --log-to",
            device.path
        )));
    }
    if settings.hosts.is_some() {
        return Err(misuse("power-cut tests a device of this host; omit --hosts"));
    }
    if settings.start_below.is_some() {
        return Err(misuse("power-cut does not wait for a temperature; omit --start-below"));
    }
    if device.transport != Transport::File {
        return Ok(());
    }
    let own = file_system_of(Path::new(&device.path));
    for path in kept_paths(directory, settings) {
        if own.is_some() && file_system_of(&path) == own {
            bail!(
                "{}: the log of acknowledged writes in {} would lie on the target's own file \
                 system, whose power is cut; give -o DIR (or --log-to FILE) on another device",
                device.path,
                path.display()
            );
        }
    }
    Ok(())
}

/// Returns the device number of the file system that holds a path, or would hold it.
fn file_system_of(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|above| above.metadata().ok()).map(|found| found.dev())
}

/// Resumes a run with `resume` each time that it halts for a power cut, once the device has
/// returned.
pub fn resume_after_cuts(
    mut state: ExitState,
    directory: &Path,
    resume: &mut dyn FnMut(&StopSignal) -> anyhow::Result<ExitState>,
) -> anyhow::Result<ExitState> {
    let mut stop = None;
    let mut last_cycle = None;
    while matches!(state, ExitState::Halted) {
        let contents = Ledger::read(directory)?;
        let Some(trial) = contents.awaited_trial() else { break };
        // The same error would halt the reading again.
        if last_cycle.replace(trial.cycle) == Some(trial.cycle) {
            break;
        }
        let stop = match &stop {
            Some(stop) => stop,
            None => stop.insert(target::stop_on_signals()?),
        };
        let limit = trial.return_limit;
        terminal::warn(&format!("Waiting for the device, at most {limit}."));
        if !await_return(&contents.plan.device, limit.to_duration(), stop) {
            terminal::warn(&format!(
                "{} has not returned. Attach it, then: steadfast resume {}",
                contents.plan.device.path,
                directory.display()
            ));
            break;
        }
        state = resume(stop)?;
        if stop.is_requested() {
            break;
        }
    }
    Ok(state)
}

/// Waits for the device. Returns true once it is attached again and answers a read.
fn await_return(device: &Device, limit: Duration, stop: &StopSignal) -> bool {
    let began = Instant::now();
    let roots = SystemRoots::real();
    while began.elapsed() < limit && !stop.is_requested() {
        if steadfast_host::has_returned(device, &roots) {
            return true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    false
}
