//! Purge: returns a device to a state close to never written.
//!
//! [`plan`] lists the purge methods of a target, best first, with the reason for each unsupported
//! one; `auto` takes the first supported method. A purge never erases more than what is armed: a
//! command for a whole device is refused for a partition, and a command that erases the other
//! namespaces of a controller requires each of them to be unused and confirmed.
//!
//! Before the purge, data is written to sample places across the target; afterwards they are read
//! back ([`blank`]). The purge has failed if they are not blank, unless the method does not
//! guarantee that.
//!
//! Each way to purge has its own time limit: `purge_context` (a purge that the device carries out by
//! itself), `nvme` (formatting), `ata` (hdparm) and `purge_command_line` (a vendor's command).

mod ata;
mod blank;
mod discard;
mod nvme;
mod plan;
mod purge_command_line;
mod purge_context;
mod purge_options;
mod purge_support;
mod scsi;
mod simulated;
mod vendor_command;

pub use purge_command_line::PurgeCommandLine;
pub use purge_context::{PurgeProgress, PurgeWatch};
pub use purge_options::PurgeOptions;
pub use simulated::purge_simulated;

use crate::error::HostError;
use crate::scratch;
use crate::system_roots::SystemRoots;
use crate::target::Target;
use crate::tool::{HDPARM, InstalledTools, Tools};
use blank::SamplePlaces;
use discard::no_discard;
use plan::{PurgeCommand, PurgePlan};
use purge_context::{PurgeContext, PurgeOutcome};
use std::os::fd::AsFd;
use std::path::Path;
use steadfast_domain::{Nanos, Purge, PurgeFailure, PurgeMethod};

/// Returns the method that [`purge`] would use for this target. Writes nothing.
///
/// # Errors
/// Returns [`HostError`] if the purge cannot be done; it says why and which methods are available.
pub fn foresee_purge(
    target: &Target,
    options: &PurgeOptions,
    roots: &SystemRoots,
) -> Result<PurgeMethod, HostError> {
    let plan = PurgePlan::make(target, options, roots, &InstalledTools)?;
    Ok(plan.method)
}

/// Purges the whole target and checks that sample blocks read back blank. The target's handle
/// stays valid.
///
/// # Errors
/// Returns [`HostError`] if the target was armed for reading only, or if the purge is unsupported,
/// was stopped, or failed and the options do not say to continue.
pub fn purge(
    target: &mut Target,
    options: &PurgeOptions,
    watch: &mut dyn PurgeWatch,
    roots: &SystemRoots,
) -> Result<Purge, HostError> {
    purge_with(target, options, watch, roots, &InstalledTools)
}

fn purge_with(
    target: &Target,
    options: &PurgeOptions,
    watch: &mut dyn PurgeWatch,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Result<Purge, HostError> {
    if !target.is_writable() {
        return Err(HostError::ReadingOnly { device: target.device().path.clone() });
    }
    let plan = PurgePlan::make(target, options, roots, tools)?;
    if plan.method == PurgeMethod::Nothing {
        return Ok(Purge::none(&plan.remark));
    }
    let mut places = SamplePlaces::choose(target, options.seed);
    places.prepare(target);
    let began = tools.host().now();
    let mut work = PurgeContext { target, tools, watch, began, command: None };
    let result = plan.carry_out(&mut work);
    let took = Nanos::from(work.elapsed());
    let result = result.and_then(|outcome| verify(&plan, outcome, &places, target, tools, took));
    let command = work.command.take();
    match result {
        Ok(purge) => Ok(Purge { command, ..purge }),
        Err(error) if options.failed == PurgeFailure::Continue && may_continue(&error) => {
            let read_back = places.compare(target).ok();
            let blank = read_back.map(|read| read.is_blank());
            let failed = Some(error.to_string());
            Ok(Purge { blank, read_back, failed, command, ..Purge::new(plan.method, took) })
        }
        Err(error) => {
            if let Some(record) = command {
                work.watch.keep_command(record);
            }
            Err(error)
        }
    }
}

/// Returns true if the run may continue after this error. It may not after a stop, without a journal,
/// on another device, or while a process still erases the device.
fn may_continue(error: &HostError) -> bool {
    !matches!(
        error,
        HostError::PurgeStopped { .. }
            | HostError::Unjournaled(_)
            | HostError::PurgeChangedDevice { .. }
            | HostError::PurgeStillRuns { .. }
            | HostError::PurgeEndUnknown { .. }
    )
}

/// Reads the sample blocks back and returns the result of a purge.
fn verify(
    plan: &PurgePlan,
    outcome: PurgeOutcome,
    places: &SamplePlaces,
    target: &Target,
    tools: &dyn Tools,
    took: Nanos,
) -> Result<Purge, HostError> {
    if matches!(outcome, PurgeOutcome::Unknown) {
        return Ok(Purge::none(&no_discard(&target.device().name)));
    }
    let read_back = places.compare(target)?;
    let mut remarks = vec![plan.remark.clone()];
    if let PurgeOutcome::PurgedBy(tool) = outcome {
        let path = tools.path_of(tool);
        remarks.extend(path.map(|path| format!("commanded by {}", path.display())));
    }
    if read_back.written_before == 0 {
        remarks.push(
            "no sample block held data before the purge, so the read-back proves nothing".into(),
        );
    }
    match plan.method {
        _ if read_back.is_blank() => {}
        PurgeMethod::Discard => remarks.push(
            "some sample blocks are not blank; a discard does not guarantee that they are".into(),
        ),
        method if method.is_cryptographic() && read_back.unchanged == 0 => {
            remarks
                .push("sample blocks are not blank, as a new key allows; none is unchanged".into());
        }
        method => {
            return Err(HostError::PurgeFailed {
                device: target.device().path.clone(),
                method: method.to_string(),
                why: format!("not blank: {read_back}"),
            });
        }
    }
    remarks.retain(|remark| !remark.is_empty());
    Ok(Purge {
        blank: Some(read_back.is_blank()),
        read_back: Some(read_back),
        remark: remarks.join("; "),
        ..Purge::new(plan.method, took)
    })
}

impl PurgePlan {
    fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<PurgeOutcome, HostError> {
        let device = work.target.device().path.clone();
        let method = self.method.to_string();
        let result = match &self.command {
            PurgeCommand::Nothing => Ok(PurgeOutcome::Purged),
            PurgeCommand::File => reallocate(work.target).map(|()| PurgeOutcome::Purged),
            PurgeCommand::Discard => discard::discard(work),
            PurgeCommand::Nvme(command) => command.carry_out(work),
            PurgeCommand::Ata(command) => {
                command.carry_out(work).map(|()| PurgeOutcome::PurgedBy(HDPARM))
            }
            PurgeCommand::Scsi(command) => {
                command.carry_out(work).map(|()| PurgeOutcome::PurgedBy(command.tool()))
            }
            PurgeCommand::Vendor(command) => command.carry_out(work).map(|()| PurgeOutcome::Purged),
        };
        result.map_err(|error| match error {
            HostError::ToolFailed { .. }
            | HostError::ToolMissing { .. }
            | HostError::Io { .. }
            | HostError::NvmeStatus { .. }
            | HostError::NvmeCommand { .. } => {
                HostError::PurgeFailed { device, method, why: error.to_string() }
            }
            other => other,
        })
    }
}

/// Frees all blocks of a file and allocates new ones through the open handle, so that the file
/// keeps its inode and its mark.
fn reallocate(target: &Target) -> Result<(), HostError> {
    let (file, size) = (target.file(), target.device().capacity);
    let path = Path::new(&target.device().name);
    scratch::refuse_without_room(file.as_fd(), path, size, scratch::allocated(file, path)?)?;
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let emptied = match scratch::fallocate(file, punch, size) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            file.set_len(0).and_then(|()| file.set_len(size.0))
        }
        other => other,
    };
    // The freed blocks must be committed to disk before new ones are allocated; otherwise some
    // file systems reuse the same blocks without a discard to the drive.
    emptied
        .and_then(|()| file.sync_all())
        .map_err(|error| HostError::io("free its blocks", path, error))?;
    scratch::allocate(file, path, size)
}

#[cfg(test)]
mod tests;
