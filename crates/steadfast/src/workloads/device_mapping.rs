//! Several captured devices, each replayed on its own target: `--target DEVICE=TARGET`.

use super::exact;
use super::source::SelectedSource;
use crate::cli::ProcedureArguments;
use crate::exit::misuse;
use std::path::{Path, PathBuf};
use steadfast_domain::Nanos;

/// Returns the arguments of each target's run.
///
/// # Errors
/// Returns an error if only some targets name a captured device, or the capture has no device of
/// that name.
pub fn each_target(chosen: &ProcedureArguments) -> anyhow::Result<Vec<ProcedureArguments>> {
    let is_captured = super::applies(chosen);
    let parts: Vec<_> = chosen.target.names.iter().map(|text| split(is_captured, text)).collect();
    let mut each: Vec<ProcedureArguments> = parts
        .iter()
        .map(|(device, target)| {
            let mut own = chosen.clone();
            own.target.names = vec![(*target).to_owned()];
            own.replay.filter.device.extend(device.map(str::to_owned));
            own
        })
        .collect();
    if parts.iter().all(|(device, _)| device.is_none()) {
        return Ok(each);
    }
    refuse_mixed(chosen, &parts)?;
    if chosen.replay.exact && chosen.replay.counted_from.is_none() && each.len() > 1 {
        let origin = common_origin(&each)?;
        each.iter_mut().for_each(|own| own.replay.counted_from = Some(origin));
    }
    Ok(each)
}

/// Returns true if the targets name the captured devices to replay on them.
pub fn maps_devices(chosen: &ProcedureArguments) -> bool {
    let is_captured = super::applies(chosen);
    chosen.target.names.iter().any(|text| split(is_captured, text).0.is_some())
}

/// Splits `DEVICE=TARGET` if the procedure applies a captured workload. Text with a slash before the
/// equals sign is a path without a device.
fn split(is_captured: bool, text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((device, target))
            if is_captured
                && !device.is_empty()
                && !device.contains('/')
                && !target.is_empty()
                && !Path::new(text).exists() =>
        {
            (Some(device), target)
        }
        _ => (None, text),
    }
}

fn refuse_mixed(chosen: &ProcedureArguments, parts: &[(Option<&str>, &str)]) -> anyhow::Result<()> {
    if let Some((_, target)) = parts.iter().find(|(device, _)| device.is_none()) {
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

/// Returns the earliest due time of all chosen I/Os, from the start of the capture.
fn common_origin(each: &[ProcedureArguments]) -> anyhow::Result<Nanos> {
    let mut first = None::<Nanos>;
    for own in each {
        let files: Vec<PathBuf> = own.workload.iter().map(PathBuf::from).collect();
        let opened = SelectedSource::open(&files, &own.replay.filter)?;
        let begins = exact::first_due(&opened, &own.replay)?;
        first = Some(first.map_or(begins, |first| first.min(begins)));
    }
    Ok(first.unwrap_or(Nanos::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_device_stands_before_its_target_and_a_path_may_contain_the_sign() {
        let native = |text| split(true, text);
        assert_eq!(native("sda=/dev/nvme0n1"), (Some("sda"), "/dev/nvme0n1"));
        assert_eq!(native("sda=a=b.img"), (Some("sda"), "a=b.img"));
        assert_eq!(native("sda=sim:small"), (Some("sda"), "sim:small"));
        for text in ["/dev/nvme0n1", "./sda=b", "=b", "sda=", "sim:small"] {
            assert_eq!(native(text), (None, text));
        }
        assert_eq!(split(false, "sda=b"), (None, "sda=b"));
    }
}
