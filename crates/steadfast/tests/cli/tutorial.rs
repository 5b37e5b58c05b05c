//! The page that has a command and its result for each row of the SNIA tutorial's analysis
//! (docs/rwsw-part-2.md): every command of it is run on the made-up day, and what the page
//! shows of its output is compared with it. With BLESS=1 the page is written again.

use super::fixtures::{TestDirectory, run_ending, stdout};
use std::fs::{self, File};
use std::path::Path;

#[path = "../../../analysis/examples/retail_web_portal.rs"]
#[expect(dead_code, reason = "the example's own main")]
mod retail_web_portal;

/// Lines of an output that the page leaves out.
const LEFT_OUT: &str = "...";

/// Splits a line into words and quoted words, as a shell does.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// The output of a command of the page. Of a report, the PDF is left out: it takes seconds.
fn output(here: &Path, line: &str) -> String {
    let mut words = words(line);
    if words.starts_with(&["trace".to_owned(), "report".to_owned()]) {
        words.extend(["--format", "html,csv,json"].map(str::to_owned));
    }
    let output = run_ending(here, &words, &[0]);
    let text = stdout(&output);
    assert!(!text.trim().is_empty(), "{line} prints nothing");
    text
}

/// Returns the lines of an output that the page shows: all, or some from its beginning and its end;
/// of a report none.
fn shown(text: &str, before: &[&str]) -> Vec<String> {
    let all: Vec<&str> = text.lines().map(str::trim_end).collect();
    let (head, tail) = match before.iter().position(|line| *line == LEFT_OUT) {
        _ if before.is_empty() => return Vec::new(),
        Some(at) if before.len() < all.len() => (at, before.len() - at - 1),
        _ => (all.len(), 0),
    };
    let lines = all[..head].iter().copied().chain((head + tail < all.len()).then_some(LEFT_OUT));
    lines.chain(all[all.len() - tail..].iter().copied()).map(str::to_owned).collect()
}

#[test]
fn the_page_of_the_tutorials_rows_shows_what_its_commands_print() {
    let here = &TestDirectory::new();
    let day = File::create(here.join("day.parquet")).unwrap();
    retail_web_portal::write(day, retail_web_portal::IOS).unwrap();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join("rwsw-part-2.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut made = Vec::new();
    let mut lines = page.lines().peekable();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        made.push(line.to_owned());
        let Some(command) = line.strip_prefix("$ steadfast ") else { continue };
        commands += 1;
        let mut before = Vec::new();
        while let Some(line) = lines.next_if(|line| *line != "```") {
            before.push(line);
        }
        made.extend(shown(&output(here, command), &before));
    }
    let made = made.join("\n") + "\n";
    assert!(commands >= 20, "{commands} commands");
    for picture in page.split("](pictures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(docs.join("pictures").join(picture).exists(), "{picture}");
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, made).unwrap();
        return;
    }
    for (at, (shown, printed)) in page.lines().zip(made.lines()).enumerate() {
        assert_eq!(shown, printed, "docs/rwsw-part-2.md, line {}: BLESS=1 writes it", at + 1);
    }
    assert_eq!(page.lines().count(), made.lines().count(), "run this test with BLESS=1");
}
