//! Several captured devices, each replayed on its own target: `--target DEVICE=TARGET`.

use super::exact;
use super::source::SelectedSource;
use crate::cli::ProcedureArguments;
use crate::exit::misuse;
use std::path::{Path, PathBuf};
use steadfast_domain::Nanos;

/// A target as the user names it.
#[derive(Debug, PartialEq, Eq)]
struct TargetChoice<'a> {
    /// Captured device to replay on the target.
    device: Option<&'a str>,
    target: &'a str,
}

impl<'a> TargetChoice<'a> {
    /// Parses `TARGET`, or `DEVICE=TARGET` if the procedure applies a captured workload. Text with
    /// a slash before the equals sign is a path without a device.
    fn parse(text: &'a str, is_captured: bool) -> Self {
        match text.split_once('=') {
            Some((device, target))
                if is_captured
                    && !device.is_empty()
                    && !device.contains('/')
                    && !target.is_empty()
                    && !Path::new(text).exists() =>
            {
                TargetChoice { device: Some(device), target }
            }
            _ => TargetChoice { device: None, target: text },
        }
    }
}

fn target_choices(chosen: &ProcedureArguments) -> Vec<TargetChoice<'_>> {
    let is_captured = super::applies(chosen);
    chosen.target.names.iter().map(|text| TargetChoice::parse(text, is_captured)).collect()
}

/// Returns the arguments of each target's run.
///
/// # Errors
/// Returns an error if only some targets name a captured device, or the capture has no device of
/// that name.
pub fn each_target(chosen: &ProcedureArguments) -> anyhow::Result<Vec<ProcedureArguments>> {
    let targets = target_choices(chosen);
    let mut each: Vec<ProcedureArguments> = targets
        .iter()
        .map(|TargetChoice { device, target }| {
            let mut own = chosen.clone();
            own.target.names = vec![(*target).to_owned()];
            own.replay.filter.device.extend(device.map(str::to_owned));
            own
        })
        .collect();
    if targets.iter().all(|target| target.device.is_none()) {
        return Ok(each);
    }
    refuse_mixed(chosen, &targets)?;
    if chosen.replay.exact && chosen.replay.counted_from.is_none() && each.len() > 1 {
        let origin = common_origin(&each)?;
        each.iter_mut().for_each(|own| own.replay.counted_from = Some(origin));
    }
    Ok(each)
}

/// Returns true if the targets name the captured devices to replay on them.
pub fn maps_devices(chosen: &ProcedureArguments) -> bool {
    target_choices(chosen).iter().any(|target| target.device.is_some())
}

/// Refuses targets without a captured device next to targets with one, and `--device`.
fn refuse_mixed(chosen: &ProcedureArguments, targets: &[TargetChoice<'_>]) -> anyhow::Result<()> {
    if let Some(TargetChoice { target, .. }) = targets.iter().find(|target| target.device.is_none())
    {
        return Err(misuse(format!(
            "--target {target}: name the captured device that is played on it, as for the other \
             targets: --target DEVICE={target}"
        )));
    }
    if chosen.replay.filter.device.is_empty() {
        return Ok(());
    }
    Err(misuse(
        "--device and --target DEVICE=TARGET both choose captured devices; omit --device"
            .to_owned(),
    ))
}

/// Returns the earliest due time of all chosen I/Os, counted from the start of the capture.
fn common_origin(each: &[ProcedureArguments]) -> anyhow::Result<Nanos> {
    let mut earliest = None::<Nanos>;
    for own in each {
        let files: Vec<PathBuf> = own.workload.iter().map(PathBuf::from).collect();
        let opened = SelectedSource::open(&files, &own.replay.filter)?;
        let first = exact::first_due(&opened, &own.replay)?;
        earliest = Some(earliest.map_or(first, |earliest| earliest.min(first)));
    }
    Ok(earliest.unwrap_or(Nanos::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_device_stands_before_its_target_and_a_path_may_contain_the_sign() {
        for (text, target) in [
            ("sda=/dev/nvme0n1", "/dev/nvme0n1"),
            ("sda=a=b.img", "a=b.img"),
            ("sda=sim:small", "sim:small"),
        ] {
            let named = TargetChoice { device: Some("sda"), target };
            assert_eq!(TargetChoice::parse(text, true), named);
        }
        for text in ["/dev/nvme0n1", "./sda=b", "=b", "sda=", "sim:small"] {
            let named = TargetChoice { device: None, target: text };
            assert_eq!(TargetChoice::parse(text, true), named);
        }
        let named = TargetChoice { device: None, target: "sda=b" };
        assert_eq!(TargetChoice::parse("sda=b", false), named);
    }
}
