//! Media errors: a few are counted and located, many end the step.

use crate::answers::GuestOutput;
use crate::cases::checks::check_bad_sector;
use crate::guest::{Case, Guest};
use crate::guest_drive::{FaultDirection, GuestDrive, Medium};
use anyhow::ensure;
use steadfast_domain::JournalEntry;

const BAD_SECTOR: u64 = 40_961;
const MIB: u64 = 128;

pub fn guest() -> Guest {
    let failing = Medium::new(MIB).with_fault(FaultDirection::Reads, Some(BAD_SECTOR));
    let dead = Medium::new(MIB).with_fault(FaultDirection::Writes, None);
    Guest {
        drives: vec![GuestDrive::nvme("LABFAIL1", failing), GuestDrive::nvme("LABDEAD1", dead)],
        cases: vec![
            Case::new("NVMe: failed reads are counted and located", |a| {
                check_bad_sector(a, "nvme", BAD_SECTOR, MIB << 20)
            }),
            Case::new("SCSI: the same", |a| check_bad_sector(a, "scsi", BAD_SECTOR, MIB << 20)),
            Case::new("a step with too many failures halts the run", halts),
        ],
        ..Guest::new("medium", include_str!("medium.sh"), 180)
    }
}

fn halts(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.ended("run", &[4])?;
    ensure!(output.contains("I/Os failed, the first a write of 128K at byte"), "{output}");
    let run = answers.run("run")?;
    ensure!(run.steps().count() == 0, "the journal has a failed step as finished");
    ensure!(output.contains("medium error"), "{output}");
    let halted = run.has(|entry| matches!(entry, JournalEntry::Halted(_)));
    ensure!(halted, "the journal does not say that the run halted");
    Ok(())
}
