//! Identity of a resumed run: whether a device is the one that the run may continue on, and a
//! directory the one in which it was conducted.

use crate::ledger::{JournalLine, LedgerContents};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use steadfast_domain::{Device, DirectoryProof, JournalEntry, Proof, Transport};

/// Returns the reasons why it is not proven that a device with the proof `now` is the run's
/// device, or `directory` the run's directory. Empty if both are proven.
///
/// # Errors
/// Returns an error if a file cannot be examined.
pub fn reasons_to_doubt_device(
    contents: &LedgerContents,
    directory: &Path,
    device: &Device,
    now: &Proof,
) -> io::Result<Vec<String>> {
    let mut reasons = match opening_proofs(contents).and_then(|proofs| proofs.device) {
        Some(earlier) => earlier.differences(now, &contents.plan.device),
        None if contents.lines.is_empty() => {
            vec!["the run was interrupted before its device was confirmed".into()]
        }
        None => vec!["its record has no proof of the device".into()],
    };
    reasons.extend(reasons_to_doubt_directory(contents, directory));
    if device.transport == Transport::File && now.mark.is_none() {
        reasons.extend(changed_since(Path::new(&device.path), &contents.lines)?);
    }
    Ok(reasons)
}

/// Returns the reasons why a directory may not be the one in which the run was conducted. A run in
/// its place could have been confirmed for another device.
pub fn reasons_to_doubt_directory(contents: &LedgerContents, directory: &Path) -> Vec<String> {
    let Some(proofs) = opening_proofs(contents) else { return Vec::new() };
    match (proofs.directory, steadfast_host::directory_proof(directory)) {
        (Some(earlier), Some(now)) => earlier.differences(&now),
        _ => vec!["nothing shows that this directory is the one in which the run began".into()],
    }
}

/// Time after the last journal line in which a killed run may have written.
const GRACE_PERIOD: Duration = Duration::from_secs(15);

/// Returns a message if the file was changed after the run released it. A file without a mark is
/// judged by its ctime, which no program can set. A run killed in a long step cannot be
/// distinguished from another writer.
fn changed_since(path: &Path, lines: &[JournalLine]) -> io::Result<Option<String>> {
    // Restoring and amending a run do not write to its file.
    let may_have_written = |line: &&JournalLine| {
        !matches!(line.entry, JournalEntry::HostRestored(_) | JournalEntry::Amended(_))
    };
    let Some(last) = lines.iter().rev().find(may_have_written) else { return Ok(None) };
    let grace_period = match last.entry {
        JournalEntry::Halted(_) | JournalEntry::Ended => Duration::ZERO,
        _ => GRACE_PERIOD,
    };
    let found = std::fs::metadata(path)?;
    let changed = found.ctime().saturating_mul(1000) + found.ctime_nsec() / 1_000_000;
    let latest = u128::from(last.at) + grace_period.as_millis();
    let is_later = u128::try_from(changed).is_ok_and(|changed| changed > latest);
    Ok(is_later.then(|| "the file was changed after the last journal entry of the run".into()))
}

/// Proofs in the last opening of a run.
struct OpeningProofs<'c> {
    device: Option<&'c Proof>,
    directory: Option<&'c DirectoryProof>,
}

fn opening_proofs(contents: &LedgerContents) -> Option<OpeningProofs<'_>> {
    match &contents.opening()?.entry {
        JournalEntry::Opened { proof, directory, .. } => {
            Some(OpeningProofs { device: proof.as_deref(), directory: directory.as_deref() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    fn line(at: u64, entry: JournalEntry) -> JournalLine {
        JournalLine { n: 1, at, up: None, kernel: None, entry }
    }

    /// A run that ended wrote nothing after its last line; one that was killed may have.
    #[test]
    fn a_file_changed_after_the_run_is_not_trusted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = std::fs::metadata(file.path()).unwrap();
        let changed = u64::try_from(found.ctime() * 1000 + found.ctime_nsec() / 1_000_000).unwrap();
        let is_changed = |at, entry| {
            let lines =
                [line(at, entry), line(u64::MAX, JournalEntry::HostRestored(Default::default()))];
            changed_since(file.path(), &lines).unwrap().is_some()
        };
        let idled = || JournalEntry::Idled(Nanos::SECOND);
        for (at, entry, expected) in [
            (changed, JournalEntry::Ended, false),
            (changed - 1, JournalEntry::Ended, true),
            (changed - 15_000, idled(), false),
            (changed - 15_001, idled(), true),
        ] {
            assert_eq!(is_changed(at, entry), expected, "{changed} after {at}");
        }
        assert!(changed_since(Path::new("/absent"), &[line(1, JournalEntry::Ended)]).is_err());
        assert_eq!(changed_since(Path::new("/absent"), &[]).unwrap(), None);
    }
}
