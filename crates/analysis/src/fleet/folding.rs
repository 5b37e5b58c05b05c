//! Folds one capture.

use super::cell_builder::FoldCellBuilder;
use super::file::{FileIdentity, FoldOptions, Member, step_fits};
use crate::captured::Captured;
use crate::fold::Fold;
use crate::pass::PassOptions;
use crate::sums::content_of_part::PartContent;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek, SeekFrom};
use steadfast_domain::Nanos;
use steadfast_domain::hex::to_hex;
use steadfast_tracefile::cube_file::CubeFile;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;

/// Number of bytes hashed at each end of a file. The end of a trace holds the checksums of all row
/// groups.
const HASHED_BYTES: u64 = 1 << 20;

/// A folded capture.
pub struct Folded {
    /// Description of the capture.
    pub member: Member,
    /// Cells, as a file in memory.
    pub(super) cube: CubeFile,
}

/// Folds a capture. `files` identifies the files that it was read from.
///
/// # Errors
/// Returns [`TraceError::Unsuitable`] if no single I/Os were kept, [`TraceError::TooFine`] if the
/// step width does not divide an hour or there are too many cells or steps, or the errors of
/// [`Captured::run`].
pub fn fold(
    captured: &Captured,
    mut files: Vec<FileIdentity>,
    pass: &PassOptions,
    options: &FoldOptions,
) -> Result<Folded, TraceError> {
    if captured.check_recorded(NotRecorded::SingleIos).is_err() {
        let what = "cannot fold a capture of steps, which holds sums already; give its file to the \
            trace commands together with fold files";
        return Err(TraceError::Unsuitable(what.into()));
    }
    let step_ns = options.step_ns;
    if !step_fits(step_ns) {
        let what = format!(
            "step width {} does not divide an hour, so captures that began at different times \
             cannot be merged; choose 1min, 10min or 1h",
            Nanos(step_ns)
        );
        return Err(TraceError::TooFine(what));
    }
    let conditions = captured.conditions();
    let mut builder = FoldCellBuilder::new(options, conditions)?;
    let mut content = PartContent::read(captured, pass);
    let mut folds: Vec<&mut dyn Fold> = vec![&mut builder];
    folds.extend(content.fold());
    let account = captured.run(pass, &mut folds)?;
    let built = builder.finish(account.span_ns.map_or(0, |(_, last)| last))?;
    files.sort();
    let member = Member {
        files,
        conditions: content.conditions(conditions),
        paths: if options.files { conditions.files.to_vec() } else { Vec::new() },
        filter: pass.filter.describe(conditions),
        spans_ns: spans_of(captured, pass, conditions.lasted_ns),
        account,
        integrity: captured.integrity(),
        recovery: captured.recovery().cloned(),
        cells: built.cells,
        row_groups: built.cube.groups(),
    };
    Ok(Folded { member, cube: built.cube })
}

/// Returns the observed time that passes the filter, or `None` if that is the whole capture.
fn spans_of(captured: &Captured, pass: &PassOptions, lasted_ns: u64) -> Option<Vec<(u64, u64)>> {
    let observed = captured.observed(&pass.filter);
    let is_whole = pass.filter.spans_ns.is_empty()
        && observed.first_ns().is_none_or(|first| first == 0)
        && observed.spans_ns().len() <= 1
        && observed.end_ns().unwrap_or(0) >= lasted_ns;
    (!is_whole).then(|| observed.spans_ns().to_vec())
}

/// Returns the identity of a file: its name, its size, and a digest that depends only on its
/// content.
///
/// # Errors
/// Returns [`io::Error`] if reading fails.
pub fn fingerprint(medium: &mut (impl Read + Seek), name: &str) -> io::Result<FileIdentity> {
    let bytes = medium.seek(SeekFrom::End(0))?;
    let mut sum = Sha256::new();
    sum.update(bytes.to_le_bytes());
    for from in [0, bytes.saturating_sub(HASHED_BYTES)] {
        let mut part = Vec::new();
        medium.seek(SeekFrom::Start(from))?;
        medium.take(HASHED_BYTES).read_to_end(&mut part)?;
        sum.update(&part);
    }
    medium.seek(SeekFrom::Start(0))?;
    let digest = to_hex(&sum.finalize());
    Ok(FileIdentity { digest, name: name.to_owned(), bytes })
}
