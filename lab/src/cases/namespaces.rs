//! A drive with two namespaces, one with 512-byte and one with 4096-byte sectors (4Kn): each is
//! named separately, and testing one does not touch the other.

use crate::answers::GuestOutput;
use crate::cases::checks::{doctor_check, refused};
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;
use steadfast_domain::JournalEntry;

pub fn guest() -> Guest {
    let drive = GuestDrive::nvme("LABTWO1", Medium::new(64))
        .with_namespace(Medium::new(128).with_sector(4096));
    Guest {
        drives: vec![drive],
        cases: vec![
            Case::new("each namespace has its own name and sector", identity),
            Case::new("the drive's or a sibling's name is not enough", refusals),
            Case::new("4Kn: 0.5K is left out, and the findings say so", left_out),
            Case::new("the other namespace is unharmed", unharmed),
        ],
        ..Guest::new("namespaces", include_str!("namespaces.sh"), 600)
    }
}

fn identity(answers: &GuestOutput) -> anyhow::Result<()> {
    for (path, serial, sector) in
        [("/dev/nvme0n1", "LABTWO1-n1", 512), ("/dev/nvme0n2", "LABTWO1-n2", 4096)]
    {
        let device = answers.device("devices", path)?;
        ensure!(device["serial"] == serial, "{device}");
        ensure!(device["logical_sector"] == sector, "{device}");
        ensure!(device["physical_sector"] == sector, "{device}");
    }
    answers.ended("doctor", &[6])?;
    let (_, sectors) = doctor_check(answers, "doctor", "sector-format")?;
    ensure!(sectors.contains("4096 B logical"), "{sectors}");
    Ok(())
}

fn refusals(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "whole-drive", "LABTWO1-n2")?;
    refused(answers, "sibling", "LABTWO1-n2")
}

fn left_out(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let steps: Vec<_> = run.steps().filter(|(step, _)| step.place.round == 1).collect();
    ensure!(steps.len() == 7 * 7, "{} steps, not 7 mixes x 7 sizes", steps.len());
    for (step, outcome) in steps {
        let streams = step.load.stimulus().map(|stimulus| stimulus.streams.as_slice());
        let fits = streams.unwrap_or_default().iter().all(|s| s.size.0.is_multiple_of(4096));
        ensure!(fits, "{}: not a multiple of the sector", step.place);
        ensure!(outcome.measurement.fault_count == 0, "{}: failed I/Os", step.place);
    }
    ensure!(run.has(|entry| matches!(entry, JournalEntry::Ended)), "the journal has no end");
    let findings = answers.json("study")?.to_string();
    ensure!(findings.contains("0.5K"), "the findings do not say that 0.5K was left out");
    Ok(())
}

fn unharmed(answers: &GuestOutput) -> anyhow::Result<()> {
    let (before, after) = (answers.ended("before", &[0])?, answers.ended("after", &[0])?);
    ensure!(before == after, "its content has changed");
    Ok(())
}
