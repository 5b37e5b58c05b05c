//! Checks of docs/seeds.md, the list of the source documents' items: each command parses, and each
//! test exists.

use super::{Cli, rewrite_words};
use clap::CommandFactory;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Items of the four documents.
const ITEMS: usize = 150;

/// Mark of a test that is not there yet.
const PENDING: &str = "PENDING ";

/// A row of the page.
struct Item {
    number: usize,
    command: String,
    tests: Vec<String>,
}

/// Returns the texts between backticks that do not follow the mark of a pending test.
fn quoted(cell: &str) -> Vec<String> {
    let parts: Vec<&str> = cell.split('`').collect();
    let pairs = parts.chunks_exact(2).filter(|pair| !pair[0].ends_with(PENDING));
    pairs.map(|pair| pair[1].to_owned()).collect()
}

fn items(page: &str) -> Vec<Item> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<&str>>());
    let item = |cells: Vec<&str>| {
        let number = cells[0].parse().ok()?;
        let [command] = quoted(cells[2]).try_into().expect("one command");
        Some(Item { number, command, tests: quoted(cells[3]) })
    };
    cells.filter_map(item).collect()
}

/// Adds the names of the tests in a directory's sources.
fn add_tests(directory: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            add_tests(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Further attributes may follow this one before the function.
            let tests = text.split("#[test]").skip(1);
            let functions = tests.filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next());
            names.extend(functions.map(str::to_owned));
        }
    }
}

fn parse(command: &str) -> Result<(), String> {
    let words = rewrite_words(command.split_whitespace().map(OsString::from).collect())?;
    Cli::command().try_get_matches_from(words).map_err(|error| error.to_string())?;
    Ok(())
}

#[test]
fn every_item_has_a_command_that_parses_and_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/seeds.md")).unwrap();
    let items = items(&page);
    assert!(items.iter().map(|item| item.number).eq(1..=ITEMS), "every item once, in order");
    let mut tests = BTreeSet::new();
    add_tests(&root.join("crates"), &mut tests);
    add_tests(&root.join("lab"), &mut tests);
    let mut wrong = Vec::new();
    for Item { number, command, tests: listed } in &items {
        if let Err(why) = parse(command) {
            wrong.push(format!("{number}: {command}: {why}"));
        }
        let missing = listed.iter().filter(|test| !tests.contains(*test));
        wrong.extend(missing.map(|test| format!("{number}: no test {test}")));
    }
    assert!(wrong.is_empty(), "docs/seeds.md:\n{}", wrong.join("\n"));
}

#[test]
fn an_unknown_option_and_a_pending_test_are_told_apart() {
    assert!(parse(&["steadfast trace streams day.parquet", "--no-such-option"].join(" ")).is_err());
    assert!(parse("steadfast tkperf ssd a sim:small -nj 2").is_ok());
    assert_eq!(quoted("`one`, PENDING `two`, `three`"), ["one", "three"]);
}
