//! A drive unplugged during a run: finished steps are safe, and no other drive is mistaken for it.

use crate::answers::GuestOutput;
use crate::cases::checks::{refused, resumed_with_a_gap};
use crate::guest::{Case, Guest, OutsideAction};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;
use steadfast_domain::JournalEntry;

const SERIAL: &str = "LABGONE1";

/// Image file of the guest's drive.
const IMAGE: &str = "LABGONE1-1.img";

pub fn guest() -> Guest {
    Guest {
        drives: vec![
            GuestDrive::nvme(SERIAL, Medium::new(128)),
            GuestDrive::nvme("LABSTAY1", Medium::new(128)),
        ],
        meanwhile: vec![
            OutsideAction { word: "pull it out", act: |qmp| qmp.unplug(SERIAL) },
            OutsideAction { word: "plug it in", act: |qmp| qmp.plug_nvme(SERIAL, IMAGE) },
        ],
        cases: vec![
            Case::new("the run halts with exit code 4 and says why", halts),
            Case::new("every finished step is in the journal", journal),
            Case::new("resume says that the drive is not there", absent),
            Case::new("plugged in again, the run resumes and shows the gap", resumed_with_a_gap),
        ],
        ..Guest::new("unplug", include_str!("unplug.sh"), 240)
    }
}

fn halts(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.ended("run", &[4])?;
    ensure!(output.contains("/dev/nvme0n1 is gone"), "{output}");
    ensure!(output.contains("steadfast resume /out/run"), "{output}");
    Ok(())
}

fn journal(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("halted")?;
    ensure!(!run.is_torn(), "the journal ends in a torn line");
    let finished = run.steps().count();
    // Preconditioning and the first steps of round 1.
    ensure!(finished >= 5, "{finished} steps");
    let shown = answers.stderr("run")?.lines().filter(|line| line.contains(" IOPS, ")).count();
    ensure!(finished.abs_diff(shown) <= 1, "{finished} steps in the journal, {shown} were shown");
    let halted = run.has(|entry| matches!(entry, JournalEntry::Halted(_)));
    ensure!(halted, "the journal does not say that the run halted");
    Ok(())
}

fn absent(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "absent", "is not attached to this machine")?;
    refused(answers, "absent", SERIAL)
}
