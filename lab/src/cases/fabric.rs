//! A namespace over NVMe/TCP, served by one guest and used by another.

use crate::answers::GuestOutput;
use crate::cases::checks::{measured, refused, resumed_with_a_gap, total};
use crate::guest::{Case, Guest, OutsideAction};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use steadfast_domain::Op;

const MIB: u64 = 64;

pub fn guest() -> Guest {
    let target = Guest {
        drives: vec![GuestDrive::nvme("LABBACK1", Medium::new(MIB))],
        ..Guest::new("fabric-target", include_str!("fabric-target.sh"), 1200)
    };
    Guest {
        peer: Some(Box::new(target)),
        meanwhile: vec![
            OutsideAction { word: "cut", act: |qmp| qmp.set_link(false) },
            OutsideAction { word: "mend", act: |qmp| qmp.set_link(true) },
        ],
        cases: vec![
            Case::new("the namespace has the identity that its server gives it", identity),
            Case::new("it is refused unnamed, and under the name of the drive behind it", unnamed),
            Case::new("every write reaches the drive behind it, on the other host", counted),
            Case::new("with its link cut, the run halts with exit code 4", halts),
            Case::new("while its link is cut, resume refuses", |a| {
                refused(a, "absent", "is not attached to this machine")
            }),
            Case::new(
                "with the link mended, the run resumes and shows the gap",
                resumed_with_a_gap,
            ),
        ],
        ..Guest::new("fabric", include_str!("fabric.sh"), 1200)
    }
}

fn identity(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("connect", &[0])?;
    let device = answers.device("devices", answers.text("device")?.trim())?;
    ensure!(device["serial"] == "LABTCP1" && device["capacity"] == MIB << 20, "{device}");
    Ok(())
}

fn unnamed(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "unnamed", "LABTCP1")?;
    refused(answers, "misnamed", "LABTCP1")
}

/// Returns writes and sectors written from the target's statistics of its drive.
fn written(answers: &GuestOutput, name: &str) -> anyhow::Result<(u64, u64)> {
    let text = answers.text(name)?;
    let (writes, sectors) = text.trim().split_once(' ').context("no statistics")?;
    Ok((writes.parse()?, sectors.parse()?))
}

fn counted(answers: &GuestOutput) -> anyhow::Result<()> {
    let measurement = measured(answers, "write")?;
    let (writes, bytes) = total(&measurement, Op::Write);
    let (before, after) = (written(answers, "before")?, written(answers, "after")?);
    ensure!(writes >= 1009 && measurement.fault_count == 0, "{writes} writes");
    let counted = (after.0 - before.0, (after.1 - before.1) * 512);
    ensure!(counted == (writes, bytes), "{counted:?}, not {writes} writes of {bytes} bytes");
    Ok(())
}

fn halts(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.ended("run", &[4])?;
    // The kernel fails the I/Os before it removes the namespace.
    let has_reason = output.contains("is gone") || output.contains("I/Os failed, the first a ");
    ensure!(has_reason && output.contains("steadfast resume /out/run"), "{output}");
    Ok(())
}
