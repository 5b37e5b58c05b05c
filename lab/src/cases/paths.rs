//! An NVMe namespace with two controllers, a zoned namespace and a write-protected SCSI disk.

use crate::answers::GuestOutput;
use crate::cases::checks::{measured, refused, total};
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;
use steadfast_domain::Op;

pub fn guest() -> Guest {
    Guest {
        drives: vec![
            GuestDrive::nvme("LABPATH1", Medium::new(64).with_sector(4096)).with_second_path(),
            GuestDrive::nvme("LABZNS1", Medium::new(64).with_sector(4096).zoned(4)),
            GuestDrive::scsi("LABWP1", Medium::new(64).read_only()),
        ],
        cases: vec![
            Case::new("a namespace with two paths is one device", one_device),
            Case::new("it is written by its own name", written),
            Case::new("a zoned namespace is refused by name", zoned),
            Case::new("a write-protected disk is refused by name", |a| {
                refused(a, "protected", "is read-only")
            }),
        ],
        ..Guest::new("paths", include_str!("paths.sh"), 900)
    }
}

fn one_device(answers: &GuestOutput) -> anyhow::Result<()> {
    let listed = answers.json("devices")?;
    let devices = listed["devices"].as_array().cloned().unwrap_or_default();
    let found: Vec<_> = devices.iter().filter(|device| device["serial"] == "LABPATH1").collect();
    ensure!(found.len() == 1, "{listed}");
    ensure!(found[0]["path"] == answers.text("path-device")?.trim(), "{listed}");
    ensure!(found[0]["logical_sector"] == 4096 && found[0]["capacity"] == 64 << 20, "{listed}");
    let nodes = answers.text("nodes")?;
    let paths = nodes.lines().filter(|name| name.starts_with("nvme") && name.contains('c')).count();
    ensure!(paths >= 2, "the kernel shows {paths} paths: {nodes}");
    refused(answers, "unnamed", "LABPATH1")
}

fn written(answers: &GuestOutput) -> anyhow::Result<()> {
    let measurement = measured(answers, "write")?;
    let writes = total(&measurement, Op::Write).0;
    ensure!(writes > 0 && measurement.fault_count == 0, "{writes} writes: {measurement:?}");
    Ok(())
}

fn zoned(answers: &GuestOutput) -> anyhow::Result<()> {
    let path = answers.text("zoned-device")?;
    let device = answers.device("devices", path.trim())?;
    ensure!(device["zoned"] == "host-managed", "{device}");
    refused(answers, "zoned", "zone")
}
