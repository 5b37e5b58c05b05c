//! Media errors: a few are counted and located, many end the step.

use crate::answers::GuestOutput;
use crate::cases::asked::total;
use crate::guest::{Case, Guest};
use crate::machine::{FaultDirection, GuestDrive, Medium};
use anyhow::{Context, ensure};
use steadfast_domain::{JournalEntry, Measurement, Op};

/// The unreadable sector, and the transfer size of 128 KiB.
const BAD_SECTOR: u64 = 40_961;
const TRANSFER: u64 = 128 << 10;
const MIB: u64 = 128;

/// Returns the guest.
pub fn guest() -> Guest {
    let failing = Medium::new(MIB).failing(FaultDirection::Reads, Some(BAD_SECTOR));
    let dead = Medium::new(MIB).failing(FaultDirection::Writes, None);
    Guest {
        drives: vec![GuestDrive::nvme("LABFAIL1", failing), GuestDrive::nvme("LABDEAD1", dead)],
        cases: vec![
            Case::new("NVMe: failed reads are counted and located", |a| located(a, "nvme")),
            Case::new("SCSI: the same", |a| located(a, "scsi")),
            Case::new("a step with too many failures halts the run", halts),
        ],
        ..Guest::new("medium", include_str!("medium.sh"), 180)
    }
}

/// Checks that the same I/O fails in every sequential pass over the drive.
fn located(answers: &GuestOutput, name: &str) -> anyhow::Result<()> {
    let answer = answers.json(name)?;
    let measurement: Measurement = serde_json::from_value(answer["measurement"].clone())?;
    let offset = BAD_SECTOR * 512 / TRANSFER * TRANSFER;
    let (place, pass) = (offset / TRANSFER, (MIB << 20) / TRANSFER);
    let done = total(&measurement, Op::Read).0;
    let tried = done + measurement.fault_count;
    let expected = (tried + pass - 1 - place) / pass;
    ensure!(expected > 0, "only {tried} reads in the time");
    let count = measurement.fault_count;
    ensure!(count == expected, "{count} failed of {tried}, not {expected}");
    let first = measurement.faults.first().context("no fault is located")?;
    ensure!(first.op == Op::Read && first.offset.0 == offset, "{first:?}, not at {offset}");
    ensure!(measurement.faults.iter().all(|fault| fault.offset.0 == offset), "{:?}", first);
    Ok(())
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
