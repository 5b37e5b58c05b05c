//! Sectors that two names have: partitions that overlap, an extended partition, device-mapper.

use crate::answers::GuestOutput;
use crate::cases::checks::refused;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABOVER1", Medium::new(128))],
        cases: vec![
            Case::new("a partition inside a mounted one is refused", |a| {
                refused_unharmed(a, "inside", "p1", "nvme0n1p1: mounted on /tmp/point")
            }),
            Case::new("a partition around a mounted one is refused", |a| {
                refused_unharmed(a, "around", "p2", "nvme0n1p2: mounted on /tmp/point")
            }),
            Case::new("a partition apart from both is overwritten", |a| {
                a.ended("beside", &[0]).map(drop)
            }),
            Case::new("an extended partition of a mounted one is refused", |a| {
                refused_unharmed(a, "extended", "p4", "nvme0n1p5: mounted on /tmp/point")
            }),
            Case::new("its table is named as what would be lost", table),
            Case::new("a mapped device over mounted sectors is refused", |a| {
                refused_unharmed(a, "mapped", "two", "mounted on /tmp/point")
            }),
            // The kernel's own table says which sectors a volume has: without it, all of the
            // partition.
            Case::new("a mapped device over other sectors is overwritten", |a| {
                a.ended("beside-mapped", &[0]).map(drop)
            }),
        ],
        ..Guest::new("overlaps", include_str!("overlaps.sh"), 600)
    }
}

/// Checks that a command was refused because of `why`, and that what is in use has the same content.
fn refused_unharmed(
    answers: &GuestOutput,
    name: &str,
    used: &str,
    why: &str,
) -> anyhow::Result<()> {
    refused(answers, name, why)?;
    let before = answers.ended(&format!("{used}-before"), &[0])?;
    let after = answers.ended(&format!("{used}-after"), &[0])?;
    ensure!(before == after, "{used} has changed: {before} {after}");
    Ok(())
}

fn table(answers: &GuestOutput) -> anyhow::Result<()> {
    for lost in ["partition table of the logical partitions", "logical partition nvme0n1p5"] {
        refused(answers, "unconfirmed", lost)?;
    }
    Ok(())
}
