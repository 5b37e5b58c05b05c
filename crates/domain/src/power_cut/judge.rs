//! The verdict on a power cut: a pure function of the log and of the blocks read back.

use super::acknowledged::AcknowledgedWrites;
use super::counters::CountedPowerLoss;
use super::stamp::{BlockFault, FoundBlock};
use super::trial::WritePlan;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of violations stored with their location; all are counted.
const VIOLATIONS_STORED_MAX: usize = 100;

/// Evidence that the power was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CutEvidence {
    /// Nothing: every I/O succeeded, or the program was stopped.
    #[default]
    Nothing,
    /// A write or flush failed, but the device stayed and answered a read: a medium error.
    MediumError,
    /// The device failed an I/O, or vanished.
    DeviceFailed,
    /// The host restarted while the program was writing.
    HostRestarted,
    /// A simulated drive lost its power.
    Simulated,
}

/// A misbehavior of a drive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A block does not hold a write that was flushed and acknowledged, nor a newer one.
    LostFlushed,
    /// A block does not hold a write of a batch, although one of a later batch survived: writes
    /// were reordered across the flush between them.
    Reordered,
    /// Some sectors of a block hold a flushed write, others an older one.
    TornBlock,
    /// A sector is a mixture of a write and something else.
    TornSector,
    /// A sector holds a write that was meant for another address.
    Misplaced,
    /// A block cannot be read.
    Unreadable,
}

impl ViolationKind {
    /// All kinds, in the order in which tables list them.
    pub const ALL: [ViolationKind; 6] = [
        ViolationKind::LostFlushed,
        ViolationKind::Reordered,
        ViolationKind::TornBlock,
        ViolationKind::TornSector,
        ViolationKind::Misplaced,
        ViolationKind::Unreadable,
    ];

    /// Returns the name shown in reports.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::LostFlushed => "Flushed write lost",
            ViolationKind::Reordered => "Write reordered across a flush",
            ViolationKind::TornBlock => "Flushed block torn",
            ViolationKind::TornSector => "Sector torn or damaged",
            ViolationKind::Misplaced => "Write at another address",
            ViolationKind::Unreadable => "Block unreadable",
        }
    }
}

/// One violation, with its place and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerCutViolation {
    /// Kind of misbehavior.
    pub kind: ViolationKind,
    /// First byte of the block on the device.
    pub offset: Bytes,
    /// Number of the write that the block must hold, or a newer one; 0 if it may hold anything
    /// that is whole.
    pub expected: u64,
    /// Oldest write that the block holds; 0 if it holds none of this trial in some sector.
    pub found: u64,
    /// Time from the first write until the flush of the expected write returned; `None` if it was
    /// not acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushed_at: Option<Nanos>,
}

/// Result of one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerCutOutcome {
    /// Evidence that the power was cut.
    pub evidence: CutEvidence,
    /// Power losses that the drive itself counted during the trial.
    #[serde(default)]
    pub counted: CountedPowerLoss,
    /// True if the kernel sends the drive no flush, because it takes the drive's cache for
    /// non-volatile (`queue/write_cache` is `write through`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_flushes: bool,
    /// Last write that was flushed and acknowledged; 0 if none was.
    pub acknowledged: u64,
    /// Number of acknowledged flushes.
    pub flushes: u64,
    /// Time from the first write until the last acknowledged flush returned.
    pub written_for: Nanos,
    /// Number of blocks read back.
    pub blocks: u64,
    /// Number of blocks that hold a write newer than the last acknowledged flush, which is legal.
    pub unflushed_survived: u64,
    /// Number of blocks in which only some sectors hold such a write; this is permitted.
    pub unflushed_torn: u64,
    /// Number of damaged lines in the log.
    #[serde(default)]
    pub damaged_lines: u64,
    /// Number of violations by kind; kinds without any are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<ViolationKind, u64>,
    /// The first 100 violations, by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<PowerCutViolation>,
}

impl PowerCutOutcome {
    /// Returns true if the power was cut during the writes, as far as the device and the drive's own
    /// counters show.
    ///
    /// If no I/O failed, a counted power loss is not enough: the kernel hid the cut and wrote on, so
    /// that a later flush may have returned without the writes that the cut lost.
    pub fn is_cut(&self) -> bool {
        match self.evidence {
            CutEvidence::Nothing => false,
            CutEvidence::MediumError => self.counted == CountedPowerLoss::Yes,
            CutEvidence::DeviceFailed | CutEvidence::HostRestarted => {
                self.counted != CountedPowerLoss::No
            }
            CutEvidence::Simulated => true,
        }
    }

    /// Returns true if the power was cut, but the drive's counters do not prove it.
    pub fn is_unproven(&self) -> bool {
        let is_real = self.evidence != CutEvidence::Simulated;
        self.is_cut() && is_real && self.counted == CountedPowerLoss::Unknown
    }

    /// Returns true if the trial tested the drive: its power was cut, after an acknowledged flush
    /// or with a violation.
    pub fn is_test(&self) -> bool {
        self.is_cut() && (self.acknowledged > 0 || !self.counts.is_empty())
    }

    /// Returns the number of violations.
    pub fn violation_count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Judges the blocks read back after a trial, in order. The caller sets the evidence of the cut.
///
/// A batch is written only after the flush of the previous batch has returned. The newest surviving
/// write therefore proves the flushes before it, even if their acknowledgments did not reach the
/// log.
pub fn judge(plan: &WritePlan, log: &AcknowledgedWrites, found: &[FoundBlock]) -> PowerCutOutcome {
    let newest = log.newest();
    let acknowledged = newest.map_or(0, |newest| newest.sequence);
    let survivor = found.iter().map(|block| block.highest).max().unwrap_or(0);
    let proven = acknowledged.max(plan.end_of_batch_before(survivor));
    let (by_log, by_order) = (plan.newest_writes(acknowledged), plan.newest_writes(proven));
    let mut outcome = PowerCutOutcome {
        acknowledged,
        flushes: log.flush_count(),
        written_for: newest.map_or(Nanos::ZERO, |newest| newest.at),
        blocks: found.len() as u64,
        damaged_lines: log.damaged_lines,
        ..PowerCutOutcome::default()
    };
    let required = by_log.into_iter().zip(by_order);
    for (block, (found, (by_log, by_order))) in found.iter().zip(required).enumerate() {
        let required = RequiredWrites { by_log, by_order };
        if found.fault.is_none() && found.highest > required.by_order {
            outcome.unflushed_survived += 1;
            outcome.unflushed_torn += u64::from(found.lowest != found.highest);
        }
        let Some(kind) = violation(found, required) else { continue };
        *outcome.counts.entry(kind).or_default() += 1;
        if outcome.violations.len() < VIOLATIONS_STORED_MAX {
            // The log has the time at which the write that it lists was flushed.
            let is_listed = kind == ViolationKind::LostFlushed;
            let expected = if is_listed { required.by_log } else { required.by_order };
            outcome.violations.push(PowerCutViolation {
                kind,
                offset: Bytes(plan.offset(block as u64)),
                expected,
                found: found.lowest,
                flushed_at: log.flushed_at(expected),
            });
        }
    }
    outcome
}

/// Lower bounds of a block's write.
#[derive(Clone, Copy)]
struct RequiredWrites {
    /// Newest write whose flush is in the log.
    by_log: u64,
    /// Newest write whose flush is proven, by the log or by a later write that survived. The block
    /// must hold it or a later one.
    by_order: u64,
}

fn violation(found: &FoundBlock, required: RequiredWrites) -> Option<ViolationKind> {
    match found.fault {
        Some(BlockFault::Unreadable) => return Some(ViolationKind::Unreadable),
        Some(BlockFault::Misplaced) => return Some(ViolationKind::Misplaced),
        Some(BlockFault::TornSector) => return Some(ViolationKind::TornSector),
        None => {}
    }
    if found.lowest >= required.by_order {
        None
    } else if found.highest >= required.by_order {
        Some(ViolationKind::TornBlock)
    } else if found.lowest < required.by_log {
        Some(ViolationKind::LostFlushed)
    } else {
        Some(ViolationKind::Reordered)
    }
}
