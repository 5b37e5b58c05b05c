//! Power cuts of drives with a volatile cache: every loss that the lab's server behind a drive
//! (`lossy_drive.rs`) planted is found, and none on the honest drive.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::ensure;
use std::collections::BTreeSet;
use steadfast_domain::JournalEntry;
use steadfast_domain::power_cut::CutEvidence::DeviceFailed;
use steadfast_domain::power_cut::{
    CountedPowerLoss, CutEvidence, PowerCutOutcome, PowerLossBehavior, ViolationKind,
};

/// Bytes per write: default of the procedure's `block`.
const BLOCK: u64 = 16 << 10;

/// Time limit of the guest without its cycles, and for each of them; `power.sh` ends earlier.
const BASE_SECONDS: u64 = 1800;
const SECONDS_PER_CYCLE: u64 = 900;

/// Returns a guest that cuts the power of each drive `cycles` times.
pub fn guest(cycles: u32) -> Guest {
    use PowerLossBehavior::{
        DropsFlushed, Honest, IgnoresFlushes, Misplaces, Reorders, TearsSector,
    };
    use ViolationKind::{LostFlushed, Misplaced, TornBlock, TornSector};
    let drive =
        |serial, behavior| GuestDrive::nvme(serial, Medium::new(128).with_power_loss(behavior));
    Guest {
        drives: vec![
            drive("HONEST", Honest),
            drive("DROPS", DropsFlushed),
            drive("IGNORES", IgnoresFlushes),
            drive("TEARS", TearsSector),
            drive("REORDERS", Reorders),
            drive("MISPLACES", Misplaces),
        ],
        cases: vec![
            Case::new("nothing is found on the honest drive", honest),
            Case::new("every dropped flushed write is found", |answers| {
                check_found(answers, "DROPS", &[LostFlushed])
            }),
            Case::new("every ignored flush is found", |answers| {
                check_found(answers, "IGNORES", &[LostFlushed])
            }),
            // If the old half of a torn sector is from an earlier cycle, the block counts as torn.
            Case::new("every torn sector is found", |answers| {
                check_found(answers, "TEARS", &[TornSector, TornBlock])
            }),
            Case::new("every lost write before kept ones is found", |answers| {
                check_found(answers, "REORDERS", &[LostFlushed])
            }),
            Case::new("every write at another address is found", |answers| {
                check_found(answers, "MISPLACES", &[LostFlushed, Misplaced])
            }),
            Case::new(
                "a run stopped while the drive is silent judges its cut when it is resumed",
                stopped,
            ),
        ],
        cycles,
        ..Guest::new(
            "power",
            include_str!("power.sh"),
            BASE_SECONDS + SECONDS_PER_CYCLE * u64::from(cycles),
        )
    }
}

/// Returns the outcomes of all cycles of a run. Checks that each has this evidence, that no counter
/// proves it (QEMU's drives count no power cycles), and that at least half tested the drive.
pub fn checked_outcomes(
    answers: &GuestOutput,
    serial: &str,
    evidence: CutEvidence,
) -> anyhow::Result<Vec<PowerCutOutcome>> {
    let run = answers.run(&format!("run-{serial}"))?;
    let judged = run.entries().filter_map(|entry| match entry {
        JournalEntry::PowerCutJudged(outcome) => Some((**outcome).clone()),
        _ => None,
    });
    let judged: Vec<PowerCutOutcome> = judged.collect();
    let cycles = run.parameter("cycles").unwrap_or_default();
    ensure!(judged.len().to_string() == cycles, "{serial}: {} of {cycles} cycles", judged.len());
    for outcome in &judged {
        ensure!(outcome.evidence == evidence, "{serial}: {outcome:?}");
        ensure!(outcome.counted == CountedPowerLoss::Unknown, "{serial}: {outcome:?}");
        // On a busy machine a cut may come before the first flush, and proves nothing.
        let is_too_early = outcome.acknowledged == 0 && outcome.counts.is_empty();
        ensure!(outcome.is_test() || is_too_early, "{serial}: {outcome:?}");
        ensure!(is_too_early || !outcome.without_flushes, "{serial}: {outcome:?}");
    }
    let tests = judged.iter().filter(|outcome| outcome.is_test()).count();
    ensure!(tests > 0 && tests * 2 >= judged.len(), "{serial}: {tests} tests in {judged:?}");
    Ok(judged)
}

pub fn ends_as(answers: &GuestOutput, serial: &str, end: &str) -> anyhow::Result<()> {
    let findings = answers.json(&format!("study-{serial}"))?;
    ensure!(findings["end"] == end, "{serial}: {}", findings["ending"]);
    Ok(())
}

fn honest(answers: &GuestOutput) -> anyhow::Result<()> {
    let outcomes = checked_outcomes(answers, "HONEST", DeviceFailed)?;
    let all_are_tests = outcomes.iter().all(PowerCutOutcome::is_test);
    ends_as(answers, "HONEST", if all_are_tests { "complete" } else { "void" })?;
    ensure!(outcomes.iter().all(|outcome| outcome.counts.is_empty()), "{outcomes:?}");
    let survived: u64 = outcomes.iter().map(|outcome| outcome.unflushed_survived).sum();
    ensure!(survived > 0, "no cut came between a write and its flush: {outcomes:?}");
    Ok(())
}

/// Returns the blocks of flushed writes that the server damaged in each cut of a drive.
pub fn planted(answers: &GuestOutput, serial: &str) -> anyhow::Result<Vec<BTreeSet<u64>>> {
    let cuts: Vec<BTreeSet<u64>> =
        serde_json::from_str(&answers.text(&format!("planted-{serial}"))?)?;
    let blocks = |offsets: BTreeSet<u64>| offsets.iter().map(|offset| offset / BLOCK).collect();
    Ok(cuts.into_iter().map(blocks).collect())
}

/// Returns the blocks with violations. At most 64 are damaged in a cut, so all are stored.
pub fn blocks_with_violations(outcome: &PowerCutOutcome) -> BTreeSet<u64> {
    outcome.violations.iter().map(|violation| violation.offset.0 / BLOCK).collect()
}

/// Checks that the violations of each cycle are at the places that the server damaged, at no other,
/// and of these kinds.
fn check_found(answers: &GuestOutput, serial: &str, kinds: &[ViolationKind]) -> anyhow::Result<()> {
    ends_as(answers, serial, "failed")?;
    let outcomes = checked_outcomes(answers, serial, DeviceFailed)?;
    let planted = planted(answers, serial)?;
    ensure!(planted.len() == outcomes.len(), "{} cuts, {outcomes:?}", planted.len());
    for (cycle, (outcome, planted)) in outcomes.iter().zip(planted).enumerate() {
        if !outcome.is_test() {
            continue;
        }
        let found = blocks_with_violations(outcome);
        ensure!(!planted.is_empty(), "{serial}, cycle {cycle}: nothing was damaged");
        ensure!(found == planted, "{serial}, cycle {cycle}: damaged {planted:?}, found {found:?}");
        let has_other = outcome.counts.keys().any(|kind| !kinds.contains(kind));
        ensure!(!has_other, "{serial}: {outcome:?}");
    }
    Ok(())
}

fn stopped(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("STOPPED", &[4])?;
    ends_as(answers, "STOPPED", "complete")?;
    let outcomes = checked_outcomes(answers, "STOPPED", DeviceFailed)?;
    ensure!(outcomes.len() == 1 && outcomes[0].flushes >= 20, "{outcomes:?}");
    ensure!(outcomes[0].counts.is_empty(), "{outcomes:?}");
    Ok(())
}
