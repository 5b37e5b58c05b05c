//! What a ledger tells of its run to whoever takes it up again: whether a device
//! is the one that it may continue on, and how far it came.

use crate::ledger::{Contents, Line};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use steadfast_domain::{Device, Entry, Load, Note, Proof, Transport};

/// Why it is not proven that a device, of which `now` is known, is the one that
/// this run was begun on; nothing where it is.
///
/// # Errors
/// Where a file cannot be looked at.
pub fn doubts(contents: &Contents, device: &Device, now: &Proof) -> io::Result<Vec<String>> {
    let mut doubts = match journalled_proof(contents) {
        Some(then) => then.differences(now, &contents.settings.device),
        None if contents.lines.is_empty() => {
            vec!["the run was interrupted before its device was confirmed".into()]
        }
        None => vec![
            "the run was started by a version of steadfast that stored no proof of its device"
                .into(),
        ],
    };
    if device.transport == Transport::File && now.mark.is_none() {
        doubts.extend(changed_since(Path::new(&device.path), &contents.lines)?);
    }
    Ok(doubts)
}

/// How long after its last journal line a killed run may have written.
const GRACE: Duration = Duration::from_secs(15);

/// Whether a file was changed after the run released it. A file without a mark
/// is judged by its ctime, which no program can set. A run that was killed in a
/// long step cannot be distinguished from another writer.
fn changed_since(path: &Path, lines: &[Line]) -> io::Result<Option<String>> {
    let ours = |line: &&Line| !matches!(line.entry, Entry::HostRestored(_) | Entry::Amended(_));
    let Some(last) = lines.iter().rev().find(ours) else { return Ok(None) };
    let grace = match last.entry {
        Entry::Halted(_) | Entry::Ended => Duration::ZERO,
        _ => GRACE,
    };
    let found = std::fs::metadata(path)?;
    let changed = found.ctime().saturating_mul(1000) + found.ctime_nsec() / 1_000_000;
    let latest = u128::from(last.at) + grace.as_millis();
    let is_later = u128::try_from(changed).is_ok_and(|changed| changed > latest);
    Ok(is_later.then(|| "the file was changed after the last journal entry of the run".into()))
}

fn journalled_proof(contents: &Contents) -> Option<&Proof> {
    match &contents.opening()?.entry {
        Entry::Opened { proof, .. } => proof.as_deref(),
        _ => None,
    }
}

/// Rounds that a verdict was noted for: those are complete.
pub fn complete_rounds(lines: &[Line]) -> u32 {
    let last_complete = lines.iter().rposition(|line| {
        matches!(&line.entry, Entry::Noted(note)
            if matches!(**note, Note::Verdict(_)))
    });
    lines[..last_complete.unwrap_or(0)]
        .iter()
        .rev()
        .find_map(|line| match &line.entry {
            Entry::Applied { step, .. } if !matches!(step.load, Load::Script(_)) => {
                Some(step.place.round)
            }
            _ => None,
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    fn line(at: u64, entry: Entry) -> Line {
        Line { n: 1, at, up: None, entry }
    }

    /// A run that ended well wrote nothing after its last line; one that was killed
    /// may have, for a while.
    #[test]
    fn a_file_that_was_changed_after_the_run_is_doubted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = std::fs::metadata(file.path()).unwrap();
        let changed = u64::try_from(found.ctime() * 1000 + found.ctime_nsec() / 1_000_000).unwrap();
        let doubted = |at, entry| {
            let lines = [line(at, entry), line(u64::MAX, Entry::HostRestored(Default::default()))];
            changed_since(file.path(), &lines).unwrap().is_some()
        };
        let idled = || Entry::Idled(Nanos::SECOND);
        assert!(!doubted(changed, Entry::Ended) && doubted(changed - 1, Entry::Ended));
        assert!(!doubted(changed - 15_000, idled()) && doubted(changed - 15_001, idled()));
        assert!(changed_since(Path::new("/absent"), &[line(1, Entry::Ended)]).is_err());
        assert_eq!(changed_since(Path::new("/absent"), &[]).unwrap(), None);
    }
}
