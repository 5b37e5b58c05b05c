//! Results of verify-write: the writes, reads and comparisons of the last attempt, and the miscompares
//! of all attempts.

use super::setup::{FILL, READ_BACK, VerifyWrite};
use crate::common::attempts::{
    attempt_suffix, current_attempt, current_attempt_steps, is_attempt_of, measurements,
};
use steadfast_domain::measurement::Verification;
use steadfast_domain::{EndState, Measurement, Record};

/// Bytes covered by one stamp.
const SECTOR: u64 = 512;

pub struct VerifyWriteResults<'a> {
    pub fill: Vec<&'a Measurement>,
    pub read: Vec<&'a Measurement>,
    /// Sum of the comparisons, with the miscompares of attempts that broke off; `None` if nothing
    /// was compared.
    pub compared: Option<Verification>,
    /// Number of 512-byte sectors in the active range.
    pub sectors: u64,
    pub end: EndState,
}

impl<'a> VerifyWriteResults<'a> {
    pub fn new(test: &VerifyWrite, record: &'a Record) -> Self {
        let read = measurements(&current_attempt_steps(record, READ_BACK));
        let compared = read.iter().filter_map(|m| m.verification.clone());
        let compared = compared.chain(miscompares_before(record)).reduce(|mut sum, more| {
            sum.merge(&more);
            sum
        });
        let sectors = test.setup.active_range.length.0 / SECTOR;
        let end = end(record.has_ended(), compared.as_ref(), sectors);
        let fill = measurements(&current_attempt_steps(record, FILL));
        VerifyWriteResults { fill, read, compared, sectors, end }
    }

    /// Returns the number of sectors that were compared, right or wrong; `None` if nothing was
    /// compared.
    pub fn compared_sectors(&self) -> Option<u64> {
        self.compared.as_ref().map(|compared| compared.sectors_right + compared.miscompares)
    }

    /// Returns the number of sectors that did not contain what was written to them; `None` if
    /// nothing was compared.
    pub fn miscompares(&self) -> Option<u64> {
        self.compared.as_ref().map(|compared| compared.miscompares)
    }
}

/// Returns the miscompares of the attempts before the current one. A miscompare remains valid even
/// if its attempt broke off and everything was written again.
fn miscompares_before(record: &Record) -> Vec<Verification> {
    let current = current_attempt(record);
    let reads = record.steps().filter(|(step, _)| is_attempt_of(&step.place.phase, READ_BACK));
    let before = reads.filter(|(step, _)| attempt_suffix(&step.place.phase) != current);
    before
        .filter_map(|(_, outcome)| outcome.measurement.verification.clone())
        .filter(|compared| compared.miscompares > 0)
        .map(|compared| Verification { sectors_right: 0, sectors_unknown: 0, ..compared })
        .collect()
}

/// Returns the end state. The test is complete only if every sector was compared and right.
fn end(ended: bool, compared: Option<&Verification>, sectors: u64) -> EndState {
    match compared {
        _ if !ended => EndState::Unfinished,
        Some(compared) if compared.miscompares > 0 => EndState::Failed,
        Some(compared) if compared.sectors_right == sectors => EndState::Complete,
        _ => EndState::Void,
    }
}
