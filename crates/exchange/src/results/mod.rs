//! Results of other tools' tests: fio's JSON and terse output, diskspd's XML and text, vdbench's
//! flat file, FioSynth's table.
//!
//! Every reader takes bytes and returns [`ForeignResults`]. What a file does not state stays
//! `None`; nothing is computed that the tool could not have computed from the same numbers.

mod diskspd;
mod fio_json;
pub(crate) mod fio_terse;
mod fiosynth_csv;
#[cfg(test)]
mod tests;
mod values;
pub(crate) mod vdbench;

use crate::file_kind::FileKind;
use crate::parse_error::ParseError;
use sha2::{Digest, Sha256};
use steadfast_domain::ForeignResults;
use steadfast_domain::hex::to_hex;
use steadfast_domain::sequence::number_repeated_labels;

/// Reads a file of results. `file` is its name, which FioSynth puts the test and the round in.
///
/// # Errors
/// Returns what cannot be read, with its line where it has one; `kind` must be one of results.
pub fn read(kind: FileKind, file: &str, bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let mut results = match kind {
        FileKind::FioJson => fio_json::read(bytes)?,
        FileKind::FioTerse => fio_terse::read(bytes)?,
        FileKind::FioSynthCsv => fiosynth_csv::read(bytes)?,
        FileKind::DiskspdXml => diskspd::read_xml(bytes)?,
        FileKind::DiskspdText => diskspd::read_text(bytes)?,
        FileKind::VdbenchFlat => vdbench::read(bytes)?,
        other => return Err(ParseError::whole(format!("{} has no results", other.name()))),
    };
    if results.tests.is_empty() {
        return Err(ParseError::whole(
            "it holds no test: the tool ended before it measured anything",
        ));
    }
    number_repeated_labels(results.tests.iter_mut().map(|test| &mut test.label));
    results.file = file.to_owned();
    results.digest = to_hex(&Sha256::digest(bytes));
    if let Some((name, round)) = fiosynth_name(file).filter(|_| kind == FileKind::FioJson) {
        results.id = "fiosynth".into();
        results.round = Some(round);
        // The jobs of a FioSynth template all have one name; the file says which test it was.
        let several = results.tests.len() > 1;
        for test in &mut results.tests {
            test.label = if several { format!("{name} {}", test.label) } else { name.to_owned() };
        }
    }
    Ok(results)
}

/// Returns the test and the round in the name of a result of FioSynth: `4K_read_run3.json`.
fn fiosynth_name(file: &str) -> Option<(&str, u32)> {
    let (name, round) = file.strip_suffix(".json")?.rsplit_once("_run")?;
    Some((name, round.parse().ok()?)).filter(|(name, _)| !name.is_empty())
}
