//! Every planted loss is found, in every one of 200 cycles, and none on the honest drive.

use super::*;
use crate::random_bits::mix64;
use crate::units::{Bytes, Nanos};
use proptest::prelude::*;

/// Number of cycles of each behavior.
const CYCLES: u64 = 200;

fn trial(blocks: u64) -> PowerCutTrial {
    PowerCutTrial {
        cycle: 1,
        start: Bytes::mib(3),
        block: Bytes(4096),
        blocks,
        sector: 512,
        flush_every: 32,
        cut_after: Nanos::SECOND,
        cut_limit: Nanos::SECOND,
        return_limit: Nanos::SECOND,
        seed: 7,
    }
}

/// Writes `writes` blocks with a flush after each batch, and cuts the power. The log has the
/// acknowledgments up to the write `logged`.
fn cut_after(
    plan: &WritePlan,
    behavior: PowerLossBehavior,
    writes: u64,
    logged: u64,
    seed: u64,
) -> (AcknowledgedWrites, Vec<FoundBlock>) {
    let mut drive = ModeledDrive::new(plan, behavior, seed);
    let mut log = AcknowledgedWrites::default();
    for sequence in 1..=writes {
        drive.write(sequence);
        if sequence.is_multiple_of(32) {
            drive.flush();
            if sequence <= logged {
                log.add(Acknowledgment { sequence, at: Nanos(sequence) });
            }
        }
    }
    (log, drive.cut())
}

/// Returns the outcomes of all cycles, cut at random moments after the first flush, with a part of
/// a batch unflushed. The log may lack the newest acknowledgment.
fn cycles(behavior: PowerLossBehavior, lacks_newest: bool) -> Vec<PowerCutOutcome> {
    (0..CYCLES)
        .map(|cycle| {
            let plan = WritePlan::new(&trial(96), cycle);
            let batches = 2 + mix64(cycle) % 17;
            let writes = 32 * batches + 1 + mix64(!cycle) % 31;
            let logged = 32 * (batches - u64::from(lacks_newest));
            let (log, found) = cut_after(&plan, behavior, writes, logged, cycle);
            let outcome = judge(&plan, &log, &found);
            assert_eq!(outcome.acknowledged, logged);
            outcome
        })
        .collect()
}

#[test]
fn an_honest_drive_has_no_violation() {
    for lacks_newest in [false, true] {
        let all = cycles(PowerLossBehavior::Honest, lacks_newest);
        assert!(all.iter().all(|outcome| outcome.counts.is_empty()), "{all:?}");
        // What was not flushed may be there or not, whole or not.
        assert!(all.iter().any(|outcome| outcome.unflushed_survived > 0));
        assert!(all.iter().any(|outcome| outcome.unflushed_torn > 0));
    }
}

#[test]
fn every_planted_loss_is_found() {
    for (behavior, lacks_newest, kind) in [
        (PowerLossBehavior::DropsFlushed, false, ViolationKind::LostFlushed),
        (PowerLossBehavior::IgnoresFlushes, false, ViolationKind::LostFlushed),
        (PowerLossBehavior::TearsSector, false, ViolationKind::TornSector),
        (PowerLossBehavior::Reorders, false, ViolationKind::LostFlushed),
        // The acknowledgment did not reach the log: what survived of the next batch proves it.
        (PowerLossBehavior::Reorders, true, ViolationKind::Reordered),
        (PowerLossBehavior::Misplaces, false, ViolationKind::Misplaced),
    ] {
        for (cycle, outcome) in cycles(behavior, lacks_newest).iter().enumerate() {
            let count = outcome.counts.get(&kind);
            assert!(count.is_some(), "{behavior:?}, cycle {cycle}: {outcome:?}");
        }
    }
}

/// The three blocks of one batch: the second was lost, and its flush returned after 96 ns.
#[test]
fn a_violation_names_block_and_time() {
    let plan = WritePlan::new(&trial(96), 5);
    let (log, mut found) = cut_after(&plan, PowerLossBehavior::Honest, 96, 96, 5);
    let block = plan.block_of(70);
    found[block as usize] = FoundBlock::default();
    let outcome = judge(&plan, &log, &found);
    assert_eq!(
        outcome.violations,
        [PowerCutViolation {
            kind: ViolationKind::LostFlushed,
            offset: Bytes((3 << 20) + 4096 * block),
            expected: 70,
            found: 0,
            flushed_at: Some(Nanos(96)),
        }]
    );
    found[block as usize] = FoundBlock { lowest: 0, highest: 70, fault: None };
    let torn = judge(&plan, &log, &found);
    assert_eq!(torn.counts, [(ViolationKind::TornBlock, 1)].into());
    found[block as usize] = FoundBlock::unreadable();
    let unreadable = judge(&plan, &log, &found);
    assert_eq!(unreadable.counts, [(ViolationKind::Unreadable, 1)].into());
    assert!(!unreadable.is_test(), "nothing showed a cut");
}

#[test]
fn every_pass_writes_every_block_once() {
    let plan = WritePlan::new(&trial(96), 1);
    for pass in 0..3 {
        let mut blocks: Vec<u64> =
            (pass * 96 + 1..=(pass + 1) * 96).map(|sequence| plan.block_of(sequence)).collect();
        blocks.sort_unstable();
        assert_eq!(blocks, (0..96).collect::<Vec<u64>>());
    }
    let newest = plan.newest_writes(96 * 2 + 31);
    assert!((0..96).all(|block| plan.block_of(newest[block as usize]) == block));
    assert_eq!(newest.iter().filter(|sequence| **sequence > 192).count(), 31);
    assert_eq!((plan.end_of_batch_before(32), plan.end_of_batch_before(33)), (0, 32));
}

fn stamped(plan: &WritePlan, sequence: u64) -> Vec<u8> {
    let mut content = vec![0; 4096];
    stamp_block(plan, sequence, &mut content);
    content
}

proptest! {
    /// A block torn anywhere is seen as whole sectors of one write or the other, or as a torn one.
    #[test]
    fn a_torn_block_is_never_whole(at in 1usize..4096) {
        let plan = WritePlan::new(&trial(96), 2);
        // The second and the third write of the same block.
        let block = plan.block_of(100);
        let newer = (193..=288).find(|sequence| plan.block_of(*sequence) == block).unwrap();
        let (old, new) = (stamped(&plan, 100), stamped(&plan, newer));
        prop_assert_eq!(
            FoundBlock::from_bytes(&plan, block, &new),
            FoundBlock { lowest: newer, highest: newer, fault: None }
        );
        let torn = [&new[..at], &old[at..]].concat();
        prop_assume!(torn != new);
        let found = FoundBlock::from_bytes(&plan, block, &torn);
        match at % 512 {
            // The key of both is the same.
            0..=8 => prop_assert_eq!(found.fault, None),
            _ => prop_assert_eq!(found.fault, Some(BlockFault::TornSector)),
        }
        prop_assert!(found.fault.is_some() || found.lowest == 100);
    }

    /// No flipped bit leaves a sector of the trial.
    #[test]
    fn a_damaged_sector_is_no_write(byte in 0usize..4096, bit in 0u8..8) {
        let plan = WritePlan::new(&trial(96), 2);
        let mut content = stamped(&plan, 1);
        content[byte] ^= 1 << bit;
        let found = FoundBlock::from_bytes(&plan, plan.block_of(1), &content);
        prop_assert_eq!(found.lowest, 0);
    }

    /// A log with lines of others, cut anywhere, gives the acknowledgments of its whole lines.
    #[test]
    fn a_torn_log_has_only_whole_lines(cut in 0usize..400) {
        let lines = [1u64, 2, 3].map(|n| Acknowledgment { sequence: 32 * n, at: Nanos(n) }.line(9));
        let other = Acknowledgment { sequence: 10_007, at: Nanos(1) }.line(8);
        let log = format!("[    0.1] kernel\n{other}{}{}{}", lines[0], lines[1], lines[2]);
        let cut = cut.min(log.len());
        let mut read = AcknowledgedWrites::default();
        read.add_log(&log[..cut], 9);
        // The end of a line is not part of it.
        let whole = |line: &&String| log.find(line.as_str()).unwrap() + line.len() - 1 <= cut;
        prop_assert_eq!(read.flush_count(), lines.iter().filter(whole).count() as u64);
        prop_assert!(read.damaged_lines <= 1);
        read.add_log(&log, 9);
        prop_assert_eq!(read.newest(), Some(Acknowledgment { sequence: 96, at: Nanos(3) }));
        prop_assert_eq!(read.flushed_at(33), Some(Nanos(2)));
        prop_assert_eq!(read.flushed_at(97), None);
    }
}

#[test]
fn stamps_of_another_run_or_address_are_recognized() {
    let plan = WritePlan::new(&trial(96), 2);
    let other = WritePlan::new(&trial(96), 3);
    let content = stamped(&plan, 1);
    let block = plan.block_of(1);
    assert_eq!(FoundBlock::from_bytes(&other, block, &content), FoundBlock::default());
    let elsewhere = FoundBlock::from_bytes(&plan, (block + 1) % 96, &content);
    assert_eq!(elsewhere.fault, Some(BlockFault::Misplaced));
}

#[test]
fn counters_prove_or_refute_a_cut_only_if_the_drive_counts() {
    let counters =
        |power_cycles, unsafe_shutdowns| PowerCounters { power_cycles, unsafe_shutdowns };
    for (before, now, counted) in [
        (counters(Some(7), Some(2)), counters(Some(8), Some(2)), CountedPowerLoss::Yes),
        (counters(Some(7), Some(2)), counters(Some(7), Some(3)), CountedPowerLoss::Yes),
        (counters(Some(7), None), counters(Some(7), None), CountedPowerLoss::No),
        (counters(Some(7), Some(2)), counters(Some(6), Some(3)), CountedPowerLoss::Unknown),
        (counters(Some(0), Some(0)), counters(Some(0), Some(0)), CountedPowerLoss::Unknown),
        (counters(None, Some(2)), counters(None, Some(2)), CountedPowerLoss::Unknown),
        (counters(Some(7), None), counters(None, None), CountedPowerLoss::Unknown),
    ] {
        assert_eq!(now.since(&before), counted, "{before:?}, {now:?}");
    }
}
