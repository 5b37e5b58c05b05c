//! Checks common to cases of several guests.

use crate::answers::{GuestOutput, GuestRun};
use anyhow::{Context, ensure};
use steadfast_domain::{JournalEntry, Measurement, Op};

/// Transfer size of the reads that [`check_bad_sector`] checks.
const TRANSFER: u64 = 128 << 10;

/// Checks that a command was refused with a message that contains `why`.
pub(super) fn refused(answers: &GuestOutput, name: &str, why: &str) -> anyhow::Result<()> {
    let output = answers.ended(name, &[1])?;
    ensure!(output.contains(why), "{name}: the refusal does not say '{why}': {output}");
    Ok(())
}

/// Returns the measurement that a successful command printed.
pub(super) fn measured(answers: &GuestOutput, name: &str) -> anyhow::Result<Measurement> {
    Ok(serde_json::from_value(answers.json(name)?["measurement"].take())?)
}

/// Returns I/Os and bytes of one direction, measured and unmeasured.
pub(super) fn total(measurement: &Measurement, op: Op) -> (u64, u64) {
    let tally = measurement.direction(op);
    let unmeasured = measurement.unmeasured.iter().filter(|one| one.op == op);
    unmeasured
        .fold((tally.ios, tally.bytes.0), |(ios, bytes), one| (ios + one.ios, bytes + one.bytes.0))
}

/// Returns the writes, and their bytes, that a run made before its purge so that a blank result is
/// meaningful.
pub(super) fn marks(run: &GuestRun) -> (u64, u64) {
    let purges = run.entries().filter_map(|entry| match entry {
        JournalEntry::Purged(purge) => purge.read_back,
        _ => None,
    });
    purges.fold((0, 0), |(writes, bytes), read| {
        let marked = u64::from(read.marked);
        (writes + marked, bytes + marked * read.unit.0)
    })
}

/// Parses the value of a feature, which nvme-cli prints in hexadecimal, zero without `0x`.
pub(super) fn feature_value(answers: &GuestOutput, name: &str) -> anyhow::Result<u32> {
    let output = answers.ended(name, &[0])?;
    let (_, value) = output.split_once("value:").context("no value")?;
    Ok(u32::from_str_radix(value.trim().trim_start_matches("0x"), 16)?)
}

/// Returns state and finding of one check in the output of `doctor`.
pub(super) fn doctor_check(
    answers: &GuestOutput,
    name: &str,
    id: &str,
) -> anyhow::Result<(String, String)> {
    let answer = answers.printed(name)?;
    let checks = answer["checks"].as_array().context("no checks")?;
    let check = checks.iter().find(|check| check["id"] == id);
    let check = check.with_context(|| format!("{name} does not look at {id}"))?;
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    Ok((text("state"), text("found")))
}

/// Checks that the I/O that reads a bad sector fails in every sequential pass over the device.
pub(super) fn check_bad_sector(
    answers: &GuestOutput,
    name: &str,
    sector: u64,
    capacity: u64,
) -> anyhow::Result<()> {
    let measurement = measured(answers, name)?;
    let offset = sector * 512 / TRANSFER * TRANSFER;
    let (earlier_reads, reads_per_pass) = (offset / TRANSFER, capacity / TRANSFER);
    let failed = measurement.fault_count;
    let tried = total(&measurement, Op::Read).0 + failed;
    let expected = (tried + reads_per_pass - 1 - earlier_reads) / reads_per_pass;
    ensure!(expected > 0, "only {tried} reads in the time");
    ensure!(failed == expected, "{failed} failed of {tried}, not {expected}");
    let first = measurement.faults.first().context("no fault is located")?;
    ensure!(first.op == Op::Read && first.offset.0 == offset, "{first:?}, not at {offset}");
    ensure!(measurement.faults.iter().all(|fault| fault.offset.0 == offset), "{:?}", first);
    Ok(())
}

/// Checks that a run that had halted and was resumed kept its steps, and that the first new one has
/// the gap. It was stopped then, to save time.
pub(super) fn resumed_with_a_gap(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("resumed", &[4])?;
    let (before, after) = (answers.run("halted")?, answers.run("run")?);
    let before: Vec<_> = before.steps().collect();
    let after: Vec<_> = after.steps().collect();
    ensure!(after.len() >= before.len() + 3, "{} steps, then {}", before.len(), after.len());
    let (old, new) = after.split_at(before.len());
    ensure!(old == before, "finished steps have changed");
    ensure!(new[0].1.gap_before.is_some(), "the first new step shows no gap");
    Ok(())
}
