//! SCSI and SATA: a SCSI disk and an ATA disk emulated by QEMU, and the kernel's scsi_debug;
//! identity, refusals, the quick test, the write cache.

use crate::answers::GuestOutput;
use crate::cases::checks::refused;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use steadfast_domain::JournalEntry;

/// Capacity of each drive in MiB.
const MIB: u64 = 128;

pub fn guest() -> Guest {
    Guest {
        drives: vec![
            GuestDrive::scsi("LABSCSI1", Medium::new(MIB)),
            GuestDrive::sata("LABSATA1", Medium::new(MIB)),
        ],
        cases: vec![
            Case::new("identity is what each drive was made with", identity),
            Case::new("a drive is not mistaken for its neighbor", |a| {
                refused(a, "wrong", "LABSATA1")
            }),
            Case::new("scsi_debug: the quick test runs to its end", quick_test),
            Case::new("SCSI: the write cache is off during the run, on after it", |a| {
                cache(a, "scsi")
            }),
            Case::new("SATA: the same", |a| cache(a, "sata")),
            Case::new("scsi_debug: the same", |a| cache(a, "debug")),
            Case::new("a format that erases nothing halts the run", format_lies),
            Case::new("a purge that the drive does not know is refused", no_such_purge),
            Case::new("a signal halts the run, and its journal is whole", stopped),
        ],
        ..Guest::new("scsi", include_str!("scsi.sh"), 600)
    }
}

/// Checks the identities. Those of scsi_debug are in the kernel's source; its ATA information page
/// (89h) names a different disk.
fn identity(answers: &GuestOutput) -> anyhow::Result<()> {
    let made = |transport: &str, model: &str, firmware: &str, serial: &str, sector: u32| {
        json!({
            "transport": transport, "model": model, "firmware": firmware, "serial": serial,
            "logical_sector": sector, "capacity": MIB << 20, "write_cache": "enabled",
        })
    };
    let drives = [
        ("scsi", made("sas", "LABDISK", "0042", "LABSCSI1", 512)),
        ("sata", made("sata", "LABSATA", "0042", "LABSATA1", 512)),
        ("debug", made("sata", "ST380013AS", "3.18", "2000", 4096)),
    ];
    for (kind, wanted) in drives {
        let device = listed(answers, kind)?;
        for (field, value) in wanted.as_object().into_iter().flatten() {
            ensure!(device[field] == *value, "{kind}: {field} is not {value}: {device}");
        }
    }
    Ok(())
}

fn listed(answers: &GuestOutput, kind: &str) -> anyhow::Result<Value> {
    answers.device("devices", answers.text(kind)?.trim())
}

fn quick_test(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("debug-run")?;
    ensure!(run.has(|entry| matches!(entry, JournalEntry::Ended)), "the journal has no end");
    for (step, outcome) in run.steps() {
        let measurement = &outcome.measurement;
        ensure!(measurement.fault_count == 0, "{}: failed I/Os", step.place);
        let kernel = measurement.kernel.with_context(|| format!("{}: no counters", step.place))?;
        let merged = kernel.read_merges + kernel.write_merges;
        ensure!(merged == 0, "{}: {merged} merges", step.place);
    }
    Ok(())
}

/// Returns the WCE bit, bit 2 of byte 2 of the caching page (SBC-4, 6.5.6), as the drive reports
/// it; a header of 8 bytes and possibly block descriptors precede the page.
fn is_cached(answers: &GuestOutput, name: &str) -> anyhow::Result<bool> {
    let text = answers.ended(name, &[0])?;
    let bytes: Vec<u8> = text
        .split_whitespace()
        .map(|word| u8::from_str_radix(word, 16))
        .collect::<Result<_, _>>()
        .with_context(|| format!("{name}: {text}"))?;
    let descriptors = bytes.get(7).context("no mode header")?;
    let flags = bytes.get(8 + usize::from(*descriptors) + 2).context("no caching page")?;
    Ok(flags & 4 != 0)
}

fn cache(answers: &GuestOutput, kind: &str) -> anyhow::Result<()> {
    for (when, wanted) in [("before", true), ("meanwhile", false), ("after", true)] {
        let found = is_cached(answers, &format!("{kind}-{when}"))?;
        ensure!(found == wanted, "{kind}, {when}: write cache {found}");
    }
    Ok(())
}

fn format_lies(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.ended("scsi-format", &[4])?;
    ensure!(output.contains("(SCSI FORMAT UNIT) failed: not blank"), "{output}");
    let run = answers.run("scsi-format-run")?;
    ensure!(run.steps().count() == 0, "the run continued");
    Ok(())
}

fn no_such_purge(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "scsi-sanitize", "cannot be purged by scsi-sanitize-block")?;
    refused(answers, "sata-erase", "the drive has no ATA security")
}

fn stopped(answers: &GuestOutput) -> anyhow::Result<()> {
    for kind in ["scsi", "sata"] {
        let name = format!("{kind}-run");
        answers.ended(&name, &[4])?;
        let run = answers.run(&name)?;
        ensure!(!run.is_torn() && run.steps().count() >= 3, "{name}: steps are missing");
        let changed = run.entries().filter(|e| matches!(e, JournalEntry::HostChange(_))).count();
        let restored = run.entries().filter(|e| matches!(e, JournalEntry::HostRestored(_))).count();
        ensure!(changed == 2 && restored == 2, "{name}: {changed} changes, {restored} restored");
        let halted =
            run.has(|entry| matches!(entry, JournalEntry::Halted(why) if why.contains("request")));
        ensure!(halted, "{name}: the journal does not say that it was stopped");
    }
    Ok(())
}
