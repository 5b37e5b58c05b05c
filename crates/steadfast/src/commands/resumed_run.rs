//! A run that is resumed: its device found by identity and armed, its amendments, its procedure.

use super::begin::reading;
use super::conduct::{FIO_DIRECTORY, wishes};
use crate::cli::ResumeArguments;
use crate::hosts;
use crate::target::{self, Course, EngineChoice, Named};
use crate::terminal;
use crate::workloads;
use anyhow::{Context, bail};
use std::path::Path;
use steadfast_domain::settings::{Amendment, HostList};
use steadfast_domain::{Device, Proof, Transport};
use steadfast_engine::Stop;
use steadfast_host::{Consent, HostsConsent, Roots};
use steadfast_runner::ledger::Contents;
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run::amend;
use steadfast_runner::{Ledger, Rig, RunPlan, recognition};

/// A run that is taken up again: its device is armed. Nothing of it was changed but an
/// incomplete last line.
pub struct ResumedRun {
    /// What is driven.
    pub rig: Box<dyn Rig>,
    /// Where it is written down.
    pub ledger: Ledger,
    /// What is written down already.
    pub contents: Contents,
}

impl ResumedRun {
    /// Opens one of several runs, which may not have begun.
    pub fn open_member(arguments: &ResumeArguments, stop: &Stop) -> anyhow::Result<ResumedRun> {
        ResumedRun::arm(Ledger::open_member(&arguments.run_dir)?, arguments, stop)
    }

    /// Finds the device of an opened run again and arms it.
    pub fn arm(
        (ledger, mut contents): (Ledger, Contents),
        arguments: &ResumeArguments,
        stop: &Stop,
    ) -> anyhow::Result<ResumedRun> {
        if contents.torn > 0 {
            terminal::complain(&format!(
                "The journal ended in an incomplete line of {} bytes, which was removed; it held \
                 no finished step.",
                contents.torn
            ));
        }
        // What the run replays is sought before anything is done to its device.
        workloads::reopen(&mut contents.plan)?;
        let hosts = contents.plan.settings.hosts.clone();
        let named = match &hosts {
            Some(_) => None,
            None => Some(find_again(&contents.plan)?),
        };
        // What cannot be amended is said before the device is armed.
        amendment(arguments, &contents)?;
        let rig = match (&named, &hosts) {
            (Some(named), _) => arm(arguments, &contents, named, stop)?,
            (None, list) => {
                let list = list.as_deref().cloned().unwrap_or_default();
                refuse_other_directory(arguments, &contents)?;
                arm_on_hosts(arguments, &contents.plan, &list, stop)?
            }
        };
        Ok(ResumedRun { rig, ledger, contents })
    }

    /// Amends what the user wants otherwise. Last of all: nothing is amended where nothing
    /// can be resumed.
    pub fn amend(&mut self, arguments: &ResumeArguments) -> anyhow::Result<()> {
        let Some(amendment) = amendment(arguments, &self.contents)? else { return Ok(()) };
        Ok(amend(&mut self.ledger, &mut self.contents, amendment, wall_clock_unix_ms())?)
    }
}

/// A rig on the run's device, once it is proven or confirmed to be that one.
fn arm(
    arguments: &ResumeArguments,
    contents: &Contents,
    named: &Named,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    let (directory, plan) = (&arguments.run_dir, &contents.plan);
    let again = recognize(arguments, contents, named)?;
    let consent = match reading(&plan.settings) {
        Some(_) => Consent::Read,
        None => Consent::Destroy { confirmation: Some(confirmation(named)?) },
    };
    let keep = [directory.clone()];
    let mover = match plan.engine.as_str() {
        "fio" => EngineChoice::Fio(directory.join(FIO_DIRECTORY)),
        _ => EngineChoice::Uring,
    };
    let course = Course::from(&plan.settings);
    let mut rig = target::rig(&mover, named, &consent, &keep, course, stop)?;
    let mut wishes = wishes(&plan.settings, directory);
    match again {
        Recognized::Simulated => {}
        Recognized::Proven(proof) => is_armed(rig.as_ref(), &proof)?,
        Recognized::Confirmed { proof, others } => {
            is_armed(rig.as_ref(), &proof)?;
            wishes.purge.also = others;
        }
    }
    rig.wish(&wishes);
    Ok(rig)
}

/// Refuses a run directory that took the place of another, unless the device is confirmed
/// again.
fn refuse_other_directory(arguments: &ResumeArguments, contents: &Contents) -> anyhow::Result<()> {
    let doubts = recognition::directory_doubts(contents, &arguments.run_dir);
    let is_read = reading(&contents.plan.settings).is_some();
    if is_read || doubts.is_empty() || !arguments.yes_destroy.is_empty() {
        return Ok(());
    }
    bail!(
        "{}: cannot prove that {} is the device that this run may overwrite: {}. Nothing was done \
         to it. To overwrite all of it, confirm it for each host: --yes-destroy HOST:SERIAL",
        shown(&arguments.run_dir),
        contents.plan.device.path,
        doubts.join("; ")
    )
}

/// A rig on the device that several hosts share, once it is proven or confirmed again.
fn arm_on_hosts(
    arguments: &ResumeArguments,
    plan: &RunPlan,
    list: &HostList,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    let device = &plan.device;
    let consent = match (reading(&plan.settings), arguments.yes_destroy.as_slice()) {
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
    rig.wish(&wishes(&plan.settings, &arguments.run_dir));
    Ok(rig)
}

/// How a device was found to be the one that may be overwritten.
enum Recognized {
    /// It exists in virtual time only.
    Simulated,
    /// The kernel says that it is the one that was confirmed before.
    Proven(Box<Proof>),
    /// The user has confirmed it again, and these others that a purge reaches.
    Confirmed { proof: Box<Proof>, others: Vec<String> },
}

/// Compares the device with the one that was taken up last. It is only read.
fn recognize(
    arguments: &ResumeArguments,
    contents: &Contents,
    named: &Named,
) -> anyhow::Result<Recognized> {
    let Named::Real(device) = named else { return Ok(Recognized::Simulated) };
    let now = Box::new(steadfast_host::proof(device, &Roots::real())?);
    let doubts = recognition::doubts(contents, &arguments.run_dir, device, &now)
        .with_context(|| format!("{}: cannot be examined", device.path))?;
    let expected = what_to_type(device)?;
    let is_file = device.transport == Transport::File;
    let is_it = |typed: &&String| {
        typed.trim() == expected || is_file && typed.trim() == device.confirmation()
    };
    let others = arguments.yes_destroy.iter().filter(|typed| !is_it(typed)).cloned().collect();
    match (doubts.is_empty(), arguments.yes_destroy.iter().any(|typed| is_it(&typed))) {
        (true, _) if arguments.yes_destroy.is_empty() => Ok(Recognized::Proven(now)),
        (_, true) => Ok(Recognized::Confirmed { proof: now, others }),
        (true, false) => bail!(
            "{} is named {}, not {}; nothing was done to it",
            device.path,
            expected,
            arguments.yes_destroy.join(", ")
        ),
        (false, false) => bail!(
            "{}: cannot prove that {} is the device that this run may overwrite: {}. Nothing was \
             done to it. To overwrite all of it: steadfast resume {} --yes-destroy {}",
            shown(&arguments.run_dir),
            device.path,
            doubts.join("; "),
            shown(&arguments.run_dir),
            expected
        ),
    }
}

/// The handle must lead to what was recognized, not to what came into its place
/// meanwhile.
fn is_armed(rig: &dyn Rig, recognized: &Proof) -> anyhow::Result<()> {
    match rig.proof() {
        Some(armed) if armed.is_same_device(recognized) => Ok(()),
        _ => bail!(
            "{} was replaced a moment ago; nothing was written to it. Check it, then resume again",
            rig.device().path
        ),
    }
}

/// The shortest text that names a device.
fn what_to_type(device: &Device) -> anyhow::Result<String> {
    let path = Path::new(&device.name);
    Ok(match (&device.transport, path.file_name()) {
        (Transport::File, Some(name)) => name.to_string_lossy().into_owned(),
        _ => steadfast_host::confirmation(device, &Roots::real())?,
    })
}

/// What arming asks for: the device was recognized by then.
fn confirmation(named: &Named) -> anyhow::Result<String> {
    Ok(match named {
        Named::Simulated(spec) => spec.name().to_owned(),
        Named::Real(device) => steadfast_host::confirmation(device, &Roots::real())?,
    })
}

fn find_again(plan: &RunPlan) -> anyhow::Result<Named> {
    let device: &Device = &plan.device;
    if device.is_simulated() {
        return target::find(&device.path, None);
    }
    Ok(Named::Real(Box::new(steadfast_host::find_again(device, &Roots::real())?)))
}

fn amendment(
    arguments: &ResumeArguments,
    contents: &Contents,
) -> anyhow::Result<Option<Amendment>> {
    if let Some(rounds) = arguments.max_rounds {
        return Ok(Some(Amendment::RoundsMax(rounds)));
    }
    if !arguments.stop {
        return Ok(None);
    }
    match recognition::complete_rounds(&contents.lines) {
        0 => bail!(
            "{}: no round is complete, so there is nothing to report; resume without --stop",
            shown(&arguments.run_dir)
        ),
        rounds => Ok(Some(Amendment::RoundsMax(rounds))),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
