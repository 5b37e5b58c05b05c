//! Media errors: a few are counted and located, many end the step.

use crate::answers::GuestOutput;
use crate::cases::asked::located;
use crate::guest::{Case, Guest};
use crate::guest_drive::{FaultDirection, GuestDrive, Medium};
use anyhow::ensure;
use steadfast_domain::JournalEntry;

/// The unreadable sector.
const BAD_SECTOR: u64 = 40_961;
const MIB: u64 = 128;

/// Returns the guest.
pub fn guest() -> Guest {
    let failing = Medium::new(MIB).with_fault(FaultDirection::Reads, Some(BAD_SECTOR));
    let dead = Medium::new(MIB).with_fault(FaultDirection::Writes, None);
    Guest {
        drives: vec![GuestDrive::nvme("LABFAIL1", failing), GuestDrive::nvme("LABDEAD1", dead)],
        cases: vec![
            Case::new("NVMe: failed reads are counted and located", |a| {
                located(a, "nvme", BAD_SECTOR, MIB << 20)
            }),
            Case::new("SCSI: the same", |a| located(a, "scsi", BAD_SECTOR, MIB << 20)),
            Case::new("a step with too many failures halts the run", halts),
        ],
        ..Guest::new("medium", include_str!("medium.sh"), 180)
    }
}

fn halts(answers: &GuestOutput) -> anyhow::Result<()> {
    let said = answers.ended("run", &[4])?;
    ensure!(said.contains("I/Os failed, the first a write of 128K at byte"), "{said}");
    let run = answers.run("run")?;
    ensure!(run.steps().count() == 0, "the journal has a failed step as finished");
    ensure!(said.contains("medium error"), "{said}");
    let halted = run.entries().any(|entry| matches!(entry, JournalEntry::Halted(_)));
    ensure!(halted, "the journal does not say that the run halted");
    Ok(())
}
