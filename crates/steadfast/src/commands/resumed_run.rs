//! A resumed run: finds its device by identity, arms it and amends the settings.

use super::conduct::{FIO_DIRECTORY, host_requests};
use super::power_cuts::kept_paths;
use super::start_run::read_only_sequence;
use crate::cli::ResumeArguments;
use crate::target::{self, EngineChoice, SimulationOptions, TargetRef};
use crate::{hosts, terminal, workloads};
use anyhow::{Context, bail};
use std::path::Path;
use steadfast_domain::settings::{Amendment, HostList};
use steadfast_domain::{Device, Proof, Transport};
use steadfast_engine::StopSignal;
use steadfast_host::{Consent, HostsConsent, SystemRoots};
use steadfast_runner::ledger::LedgerContents;
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::run::amend;
use steadfast_runner::{Ledger, Rig, RunPlan, resume_identity};

/// A resumed run whose device is armed. Nothing was changed except a torn last line of the
/// journal.
pub struct ResumedRun {
    /// Access to the armed device.
    pub rig: Box<dyn Rig>,
    /// Ledger of the run.
    pub ledger: Ledger,
    /// Content of the ledger when it was opened.
    pub contents: LedgerContents,
}

impl ResumedRun {
    /// Finds the device of an opened run again and arms it.
    pub fn arm(
        ledger: Ledger,
        mut contents: LedgerContents,
        arguments: &ResumeArguments,
        stop: &StopSignal,
    ) -> anyhow::Result<ResumedRun> {
        if contents.torn > 0 {
            terminal::warn(&format!(
                "The journal ended in an incomplete line of {} bytes, which was removed; it held \
                 no finished step.",
                contents.torn
            ));
        }
        // Find the replayed trace before the device is touched.
        workloads::reopen(&mut contents.plan)?;
        let hosts = contents.plan.settings.hosts.clone();
        let target = match &hosts {
            Some(_) => None,
            None => Some(find_again(&contents.plan)?),
        };
        // Refuse impossible amendments before the device is armed.
        amendment(arguments, &contents)?;
        let rig = match &target {
            Some(target) => arm(arguments, &contents, target, stop)?,
            None => {
                let list = hosts.as_deref().cloned().unwrap_or_default();
                refuse_other_directory(arguments, &contents)?;
                arm_on_hosts(arguments, &contents.plan, &list, stop)?
            }
        };
        Ok(ResumedRun { rig, ledger, contents })
    }

    /// Records the amendments of the command line. Comes last, so that a run that cannot be
    /// resumed is not amended.
    pub fn amend(&mut self, arguments: &ResumeArguments) -> anyhow::Result<()> {
        let Some(amendment) = amendment(arguments, &self.contents)? else { return Ok(()) };
        Ok(amend(&mut self.ledger, &mut self.contents, amendment, wall_clock_unix_ms())?)
    }
}

/// Opens a rig on the run's device after it was proven or confirmed to be the same.
fn arm(
    arguments: &ResumeArguments,
    contents: &LedgerContents,
    target: &TargetRef,
    stop: &StopSignal,
) -> anyhow::Result<Box<dyn Rig>> {
    let (directory, plan) = (&arguments.run_dir, &contents.plan);
    let confirmation_of_device = recognize(arguments, contents, target)?;
    let consent = match read_only_sequence(&plan.settings) {
        Some(_) => Consent::Read,
        None => Consent::Destroy { confirmation: Some(confirmation(target)?) },
    };
    let keep = kept_paths(directory, &plan.settings);
    let engine = match plan.engine.as_str() {
        "fio" => EngineChoice::Fio(directory.join(FIO_DIRECTORY)),
        _ => EngineChoice::Uring,
    };
    let simulation = SimulationOptions::from(&plan.settings);
    let mut rig = target::rig(&engine, target, &consent, &keep, simulation, stop)?;
    let mut requests = host_requests(&plan.settings, directory);
    match confirmation_of_device {
        DeviceConfirmation::Simulated => {}
        DeviceConfirmation::Proven(proof) => check_armed(rig.as_ref(), &proof)?,
        DeviceConfirmation::Confirmed { proof, others } => {
            check_armed(rig.as_ref(), &proof)?;
            requests.purge.also_destroyed = others;
        }
    }
    rig.set_requests(&requests);
    Ok(rig)
}

/// Refuses a run directory that may have been replaced, unless the device is confirmed again.
fn refuse_other_directory(
    arguments: &ResumeArguments,
    contents: &LedgerContents,
) -> anyhow::Result<()> {
    let doubts = resume_identity::reasons_to_doubt_directory(contents, &arguments.run_dir);
    let is_read = read_only_sequence(&contents.plan.settings).is_some();
    if is_read || doubts.is_empty() || !arguments.yes_destroy.is_empty() {
        return Ok(());
    }
    bail!(
        "{}: cannot prove that {} is the device that this run may overwrite: {}. Nothing was done \
         to it. To overwrite all of it, confirm it for each host: --yes-destroy HOST:SERIAL",
        arguments.run_dir.display(),
        contents.plan.device.path,
        doubts.join("; ")
    )
}

/// Opens a rig on the shared device after it was proven or confirmed to be the same.
fn arm_on_hosts(
    arguments: &ResumeArguments,
    plan: &RunPlan,
    list: &HostList,
    stop: &StopSignal,
) -> anyhow::Result<Box<dyn Rig>> {
    let device = &plan.device;
    let consent = match (read_only_sequence(&plan.settings), arguments.yes_destroy.as_slice()) {
        (Some(_), _) => HostsConsent::Read,
        (None, []) => HostsConsent::Same(device),
        (None, given) => HostsConsent::Named(given),
    };
    let size = list.plain.then_some(device.capacity);
    let directory = arguments.run_dir.join(FIO_DIRECTORY);
    let mut rig = hosts::rig(list, &device.path, size, consent, &directory, stop)?;
    if rig.device().capacity != device.capacity {
        bail!("{} has another size than when the run began", device.path);
    }
    rig.set_requests(&host_requests(&plan.settings, &arguments.run_dir));
    Ok(rig)
}

/// Evidence that a device is the one that may be overwritten.
enum DeviceConfirmation {
    /// A simulated drive.
    Simulated,
    /// The kernel reports the identity that was confirmed before.
    Proven(Box<Proof>),
    /// Confirmed again by the user, with the other devices that a purge affects.
    Confirmed { proof: Box<Proof>, others: Vec<String> },
}

/// Compares the device with the one last opened by the run. Read-only.
fn recognize(
    arguments: &ResumeArguments,
    contents: &LedgerContents,
    target: &TargetRef,
) -> anyhow::Result<DeviceConfirmation> {
    let TargetRef::Real(device) = target else { return Ok(DeviceConfirmation::Simulated) };
    let proof = Box::new(steadfast_host::proof(device, &SystemRoots::real())?);
    let doubts =
        resume_identity::reasons_to_doubt_device(contents, &arguments.run_dir, device, &proof)
            .with_context(|| format!("{}: cannot be examined", device.path))?;
    let expected = what_to_type(device)?;
    let is_file = device.transport == Transport::File;
    let names_device = |typed: &&String| {
        typed.trim() == expected || is_file && typed.trim() == device.confirmation()
    };
    let others =
        arguments.yes_destroy.iter().filter(|typed| !names_device(typed)).cloned().collect();
    let is_confirmed = arguments.yes_destroy.iter().any(|typed| names_device(&typed));
    match (doubts.is_empty(), is_confirmed) {
        (true, _) if arguments.yes_destroy.is_empty() => Ok(DeviceConfirmation::Proven(proof)),
        (_, true) => Ok(DeviceConfirmation::Confirmed { proof, others }),
        (true, false) => bail!(
            "{} is named {}, not {}; nothing was done to it",
            device.path,
            expected,
            arguments.yes_destroy.join(", ")
        ),
        (false, false) => bail!(
            "{}: cannot prove that {} is the device that this run may overwrite: {}. Nothing was \
             done to it. To overwrite all of it: steadfast resume {} --yes-destroy {}",
            arguments.run_dir.display(),
            device.path,
            doubts.join("; "),
            arguments.run_dir.display(),
            expected
        ),
    }
}

/// Refuses a rig whose device is not the recognized one: the node may have been replaced in
/// between.
fn check_armed(rig: &dyn Rig, recognized: &Proof) -> anyhow::Result<()> {
    match rig.proof() {
        Some(armed) if armed.is_same_device(recognized) => Ok(()),
        _ => bail!(
            "{} was replaced a moment ago; nothing was written to it. Check it, then resume again",
            rig.device().path
        ),
    }
}

/// Returns the shortest text that confirms a device.
fn what_to_type(device: &Device) -> anyhow::Result<String> {
    let path = Path::new(&device.name);
    Ok(match (&device.transport, path.file_name()) {
        (Transport::File, Some(name)) => name.to_string_lossy().into_owned(),
        _ => steadfast_host::confirmation(device, &SystemRoots::real())?,
    })
}

/// Returns the confirmation for arming; the device was recognized before.
fn confirmation(target: &TargetRef) -> anyhow::Result<String> {
    Ok(match target {
        TargetRef::Simulated(spec) => spec.name.to_owned(),
        TargetRef::Real(device) => steadfast_host::confirmation(device, &SystemRoots::real())?,
    })
}

/// Finds the device of a run by its identity.
fn find_again(plan: &RunPlan) -> anyhow::Result<TargetRef> {
    let device: &Device = &plan.device;
    if device.is_simulated() {
        return target::find(&device.path, None);
    }
    Ok(TargetRef::Real(Box::new(steadfast_host::find_again(device, &SystemRoots::real())?)))
}

/// Returns the number of rounds that the command line sets; `None` if it sets none.
fn amendment(
    arguments: &ResumeArguments,
    contents: &LedgerContents,
) -> anyhow::Result<Option<Amendment>> {
    if let Some(rounds) = arguments.max_rounds {
        return Ok(Some(Amendment::RoundsMax(rounds)));
    }
    if !arguments.stop {
        return Ok(None);
    }
    match contents.complete_rounds() {
        0 => bail!(
            "{}: no round is complete, so there is nothing to report; resume without --stop",
            arguments.run_dir.display()
        ),
        rounds => Ok(Some(Amendment::RoundsMax(rounds))),
    }
}
