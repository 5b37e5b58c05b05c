//! What the last attempt wrote, read back and compared.

use super::setup::{FILL, READ_BACK, VerifyWrite};
use crate::ground::attempts::{attempt_of, current_attempt, last_attempt};
use steadfast_domain::measurement::Verification;
use steadfast_domain::{EndState, Measurement, Record};

/// Bytes of a sector as stamps have it.
const SECTOR: u64 = 512;

/// Everything that the exhibits are made of.
pub struct Results<'a> {
    /// The measured pieces of the writes.
    pub fill: Vec<&'a Measurement>,
    /// Those of the reads.
    pub read: Vec<&'a Measurement>,
    /// What was compared; `None` where nothing was.
    pub compared: Option<Verification>,
    /// Sectors that there are to compare.
    pub sectors: u64,
    /// How it ended.
    pub end: EndState,
}

impl<'a> Results<'a> {
    /// The results of a record: those of the last attempt.
    pub fn of(test: &VerifyWrite, record: &'a Record) -> Self {
        let current = current_attempt(record);
        let pass = |base: &str| -> Vec<&'a Measurement> {
            let steps = last_attempt(record, base).into_iter();
            let current = steps.filter(|(step, _)| attempt_of(&step.place.phase) == current);
            current.map(|(_, outcome)| &outcome.measurement).collect()
        };
        let read = pass(READ_BACK);
        let compared = read.iter().filter_map(|m| m.verification.as_ref());
        let compared = compared.cloned().reduce(|mut sum, more| {
            sum.merge(&more);
            sum
        });
        let sectors = test.ground.active_range.length.0 / SECTOR;
        let end = end(record.has_ended(), compared.as_ref(), sectors);
        Results { fill: pass(FILL), read, compared, sectors, end }
    }

    /// Sectors that were read back and compared, right or wrong.
    pub fn compared_sectors(&self) -> Option<u64> {
        self.compared.as_ref().map(|compared| compared.sectors_right + compared.miscompares)
    }

    /// Sectors that did not hold what was written to them.
    pub fn miscompares(&self) -> Option<u64> {
        self.compared.as_ref().map(|compared| compared.miscompares)
    }
}

/// A sector that was not compared is no sector that is right.
fn end(ended: bool, compared: Option<&Verification>, sectors: u64) -> EndState {
    match compared {
        _ if !ended => EndState::Unfinished,
        Some(compared) if compared.miscompares > 0 => EndState::Failed,
        Some(compared) if compared.sectors_right == sectors => EndState::Complete,
        _ => EndState::Void,
    }
}
