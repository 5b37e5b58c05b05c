//! Power cuts of a drive that keeps its state, and the logs of their acknowledged writes.
//!
//! The drive has a volatile cache and is honest. It shares the power of the host.

use crate::dice::Dice;
use std::sync::{Arc, Mutex};
use steadfast_domain::Nanos;
use steadfast_domain::power_cut::{
    AcknowledgedWrites, Acknowledgment, FoundBlock, ModeledDrive, PowerLossBehavior, WritePlan,
};

/// Interval between two syncs of the log (docs/procedures/power-cut.md).
const SYNC_INTERVAL: Nanos = Nanos::from_millis(20);

/// The last trial of a drive, which outlives the process that wrote it.
pub type SharedCut = Arc<Mutex<Option<TrialOnDrive>>>;

/// The writes of one trial, as the drive received them.
#[derive(Debug)]
pub struct TrialOnDrive {
    plan: WritePlan,
    /// Number of times the machine had been started when the trial began.
    boots: u64,
    behavior: PowerLossBehavior,
    writes: u64,
    flushed: u64,
    has_lost_power: bool,
    /// Flushes that the program was about to append to its logs.
    attempted: Vec<Acknowledgment>,
    /// Number of these that the log took without an error.
    appended: usize,
}

impl TrialOnDrive {
    pub fn new(plan: &WritePlan, boots: u64) -> TrialOnDrive {
        TrialOnDrive {
            plan: plan.clone(),
            boots,
            behavior: PowerLossBehavior::Honest,
            writes: 0,
            flushed: 0,
            has_lost_power: false,
            attempted: Vec::new(),
            appended: 0,
        }
    }

    /// Returns the number of batches until the power is cut, and the time between two flushes.
    pub fn schedule(&self) -> (u64, Nanos) {
        let mut dice = Dice::new(self.plan.key());
        (1 + dice.below(12), Nanos::from_millis(4 + dice.below(20)))
    }

    /// Writes and flushes a batch. Returns its acknowledgment.
    pub fn write_batch(&mut self, batch: u64, every: Nanos) -> Acknowledgment {
        self.writes = *self.plan.batch(batch).end();
        self.flushed = self.writes;
        let flush = Acknowledgment { sequence: self.writes, at: Nanos(every.0 * (batch + 1)) };
        self.attempted.push(flush);
        flush
    }

    /// Records that the last acknowledgment is in the log.
    pub fn note_appended(&mut self) {
        self.appended = self.attempted.len();
    }

    /// Writes a part of a batch and loses the power. A drive with wrong data loses a flushed write.
    pub fn cut(&mut self, batch: u64, is_wrong: bool) {
        self.writes = self.plan.batch(batch).start() + self.plan.key() % 3;
        self.has_lost_power = true;
        if is_wrong {
            self.behavior = PowerLossBehavior::DropsFlushed;
        }
    }

    /// Returns what the blocks hold for a trial, which may be a later one that has not written yet.
    pub fn read_back(&self, plan: &WritePlan, boots: u64) -> Vec<FoundBlock> {
        let is_written = self.plan.key() == plan.key();
        let mut drive = ModeledDrive::new(plan, self.behavior, plan.key());
        for sequence in 1..=if is_written { self.writes } else { 0 } {
            drive.write(sequence);
            if sequence <= self.flushed && sequence == self.last_of_batch(sequence) {
                drive.flush();
            }
        }
        if !self.has_lost_power && self.boots == boots {
            drive.flush();
        }
        drive.cut()
    }

    fn last_of_batch(&self, sequence: u64) -> u64 {
        self.plan.end_of_batch_before(sequence) + u64::from(self.plan.trial.flush_every)
    }

    /// Checks that what the program read from its logs has no acknowledgment that was made up, and
    /// lacks none if the host kept its power or the log was synced after it.
    pub fn check_log(
        &self,
        plan: &WritePlan,
        log: &AcknowledgedWrites,
        boots: u64,
    ) -> Result<(), String> {
        let attempted = if self.plan.key() == plan.key() { self.attempted.as_slice() } else { &[] };
        let is_read = |flush: &&Acknowledgment| log.flushed_at(flush.sequence) == Some(flush.at);
        if log.flush_count() != attempted.iter().filter(is_read).count() as u64 {
            return Err(format!("an acknowledgment was made up: {log:?} of {attempted:?}"));
        }
        if attempted.is_empty() {
            return Ok(());
        }
        let appended = &attempted[..self.appended];
        let required = if self.boots == boots { appended } else { synced(appended) };
        match required.iter().find(|flush| !is_read(flush)) {
            Some(lost) => Err(format!("an acknowledgment is lost: {lost:?}, not in {log:?}")),
            None => Ok(()),
        }
    }
}

/// Returns the acknowledgments that a log has synced: the first, and from then on every 20 ms.
fn synced(appended: &[Acknowledgment]) -> &[Acknowledgment] {
    let (mut last, mut count) = (None, 0);
    for (position, flush) in appended.iter().enumerate() {
        let is_due = |last: Nanos| flush.at.saturating_sub(last) >= SYNC_INTERVAL;
        if last.is_none_or(is_due) {
            (last, count) = (Some(flush.at), position + 1);
        }
    }
    &appended[..count]
}
