//! Targets that several hosts share.

use crate::cli::EngineName;
use crate::cli::hosts::AttendHostArguments;
use crate::exit::{ExitState, misuse};
use crate::target;
use anyhow::{anyhow, bail};
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;
use steadfast_domain::settings::HostList;
use steadfast_domain::{Bytes, Device};
use steadfast_engine::StopSignal;
use steadfast_engine::fio::{FioHosts, FioOptions};
use steadfast_host::HostsConsent;
use steadfast_runner::Rig;
use steadfast_runner::hosts::HostsRig;

/// Describes a target as the given hosts see it, or this host if there are none. Read-only.
pub fn foresee_from(
    list: Option<&HostList>,
    target: &str,
    size: Option<Bytes>,
) -> anyhow::Result<Device> {
    match list {
        Some(list) => foresee(list, target, size),
        None => target::foresee(target, size),
    }
}

/// Describes a target as the hosts see it. Read-only.
fn foresee(list: &HostList, target: &str, size: Option<Bytes>) -> anyhow::Result<Device> {
    check_target(target)?;
    if list.plain {
        return Ok(steadfast_host::unseen(target, plain_size(target, size)?));
    }
    if size.is_some() {
        return Err(misuse("--size is for files; with --hosts, a device is measured as it is"));
    }
    Ok(steadfast_host::inspect_from_hosts(list, target)?)
}

/// Opens a rig on a target that several hosts share. fio stores its files in `directory`.
pub fn rig(
    list: &HostList,
    target: &str,
    size: Option<Bytes>,
    consent: HostsConsent<'_>,
    directory: &Path,
    stop: &StopSignal,
) -> anyhow::Result<Box<dyn Rig>> {
    check_target(target)?;
    let remote = match (list.plain, consent) {
        (false, _) => steadfast_host::arm_hosts(list, target, consent)?,
        (true, HostsConsent::Read) => {
            steadfast_host::plain_hosts(list, target, plain_size(target, size)?)
        }
        (true, _) => bail!(
            "{target}: hosts that are reached without a shell cannot be checked, so they are only \
             read from; omit --hosts-plain to write"
        ),
    };
    let engine = FioHosts::new(remote, stop.clone(), FioOptions::in_directory(directory))
        .map_err(|halt| anyhow!("{target}: no engine can be started: {halt}"))?;
    Ok(Box::new(HostsRig::new(engine, stop.clone())))
}

/// Answers requests that steadfast on another machine sends over ssh.
pub fn attend(arguments: &AttendHostArguments) -> anyhow::Result<ExitState> {
    let silence = Duration::from_secs(arguments.silence);
    let requests = BufReader::new(std::io::stdin());
    steadfast_host::attend_host(&arguments.device, silence, requests, &mut std::io::stdout())?;
    Ok(ExitState::Done)
}

/// Refuses an engine other than fio, the only one on other hosts.
pub fn check_engine(engine: Option<EngineName>) -> anyhow::Result<()> {
    match engine {
        None | Some(EngineName::Fio) => Ok(()),
        Some(_) => Err(misuse("--hosts uses the fio of the hosts; omit --engine")),
    }
}

fn check_target(target: &str) -> anyhow::Result<()> {
    let odd = target.contains(|c: char| c.is_control());
    if !target.starts_with("/dev/") || odd || target.split('/').any(|part| part == "..") {
        return Err(misuse(format!(
            "{target}: with --hosts, name a block device by its path on the hosts, such as \
             /dev/disk/by-id/nvme-MODEL_SERIAL"
        )));
    }
    Ok(())
}

/// Requires a size, since a host without a shell cannot report that of its device.
fn plain_size(target: &str, size: Option<Bytes>) -> anyhow::Result<Bytes> {
    match size {
        Some(size) if size.0.is_multiple_of(512) => Ok(size),
        Some(size) => Err(misuse(format!("--size {}: it is not a multiple of 512", size.0))),
        None => Err(misuse(format!(
            "{target}: with --hosts-plain, give the size of the hosts' device with --size"
        ))),
    }
}
