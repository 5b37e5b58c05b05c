//! Every report: abbreviations are explained, and poppler reads the PDFs without complaint.

use super::scratch::{skip, succeed};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Words in capitals that are no abbreviations: emphasis, names, placeholders of commands.
const PLAIN: &str = "\
    ACHIEVED AMPLIFICATION AN ANOTHER ATTENTION ATTO BAD CACHED CLIENT COMMIT CUT \
    CrystalDiskMark DEVICE DIR DOZING EXACT EXIT FACTORS FAILED FAST FILL FRESH FULL GNU GREEDY \
    ID IDLE METHOD MODE NAME NEIGHBORS NO NOT POWER PROCEDURE PROFILE QUICK READ REQUIRED RUN SIM SIMULATED \
    SMALL SPONSOR SQL STATE STEADY STILL TEST THE THROTTLED THROTTLING TIME TKPERF TKperf \
    TOOL UNSTEADY VALUE VERIFY VOID WRITE";

/// The letters that a word begins with, a number before them left out.
fn letters(word: &str) -> &str {
    let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
    &word[..word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len())]
}

/// Words with two capitals, or with one and a number: `WCD`, `KiB`, `Q32`.
fn looks_short(word: &str) -> bool {
    let capitals = word.chars().filter(char::is_ascii_uppercase).count();
    let (first, second) = (word.chars().next(), word.chars().nth(1));
    let is_numbered =
        first.is_some_and(|c| c.is_ascii_uppercase()) && second.is_some_and(|c| c.is_ascii_digit());
    capitals >= 2 || is_numbered
}

/// Asserts that a page explains every abbreviation that it uses.
fn are_explained(page: &str) {
    let main = page.split_once("<main>").unwrap().1.rsplit_once("</main>").unwrap().0;
    let (_, table) = main.split_once("id=\"abbreviations\"").expect("no abbreviations");
    let table = table.split("</section>").next().unwrap();
    let shorts = table.split("<dt>").skip(1).map(|rest| rest.split('<').next().unwrap());
    let mut explained: BTreeSet<&str> = shorts.flat_map(|s| s.split(", ")).map(letters).collect();
    if table.contains("<dt>T4Q32</dt>") {
        explained.insert("Q");
    }
    let texts = main.split('<').filter_map(|piece| {
        let (tag, text) = piece.split_once('>')?;
        (!tag.starts_with("script")).then_some(text)
    });
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    let missing: BTreeSet<&str> = words
        .filter(|word| looks_short(word))
        .map(letters)
        .map(|word| word.strip_suffix('s').unwrap_or(word))
        .filter(|word| !PLAIN.split(' ').any(|plain| plain == *word) && !explained.contains(word))
        .collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
}

/// Asserts both of the reports in a run directory.
pub fn are_readable(here: &Path, run: &str) {
    are_explained(&std::fs::read_to_string(here.join(run).join("report.html")).unwrap());
    succeed(here, &["report", run, "--format", "pdf,form"]);
    for name in ["report.pdf", "form.pdf"] {
        let mut command = Command::new("pdftoppm");
        let output = command.args(["-r", "10"]).arg(here.join(run).join(name)).output();
        let Ok(output) = output else { return skip("pdftoppm is missing") };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{name}: {errors}");
    }
}
