//! Sectors that two names have: partitions that overlap, an extended partition, device-mapper.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;

/// The guest.
pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABOVER1", Medium::new(128))],
        cases: vec![
            Case::new("a partition inside a mounted one is refused", inside),
            Case::new("a partition around a mounted one is refused", around),
            Case::new("a partition apart from both is overwritten", beside),
            Case::new("an extended partition of a mounted one is refused", extended),
            Case::new("its table is named as what would be lost", table),
            Case::new("a mapped device over mounted sectors is refused", mapped),
            Case::new("a mapped device over other sectors is overwritten", apart),
        ],
        ..Guest::new("overlaps", include_str!("overlaps.sh"), 600)
    }
}

/// A command was refused with these words, and what was in use has the same content.
fn refused(answers: &GuestOutput, name: &str, used: &str, words: &str) -> anyhow::Result<()> {
    let said = answers.ended(name, &[1])?;
    ensure!(said.contains(words), "{name}: '{words}' is not in: {said}");
    let [before, after] =
        ["before", "after"].map(|when| answers.ended(&format!("{used}-{when}"), &[0]));
    let (before, after) = (before?, after?);
    ensure!(before == after, "{used} has changed: {before} {after}");
    Ok(())
}

fn inside(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "inside", "p1", "nvme0n1p1: mounted on /tmp/point")
}

fn around(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "around", "p2", "nvme0n1p2: mounted on /tmp/point")
}

fn beside(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("beside", &[0]).map(drop)
}

fn extended(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "extended", "p4", "nvme0n1p5: mounted on /tmp/point")
}

fn table(answers: &GuestOutput) -> anyhow::Result<()> {
    let said = answers.ended("unconfirmed", &[1])?;
    for lost in ["partition table of the logical partitions", "logical partition nvme0n1p5"] {
        ensure!(said.contains(lost), "'{lost}' is not in: {said}");
    }
    Ok(())
}

fn mapped(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "mapped", "two", "mounted on /tmp/point")
}

/// The kernel's own table says which sectors a volume has: without it, all of the partition.
fn apart(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("beside-mapped", &[0]).map(drop)
}
