//! Rules of the house that a machine can check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Each crate, and the crates on which it may depend.
const ALLOWED: [(&str, &str); 16] = [
    ("lab", "domain procedures exchange host engine runner recorder tracefile analysis report"),
    ("fuzz", "domain report exchange host runner tracefile analysis workload explorer"),
    ("domain", ""),
    ("procedures", "domain"),
    ("report", "domain"),
    ("exchange", "domain"),
    ("host", "domain"),
    ("engine", "domain host"),
    ("runner", "domain engine host"),
    ("tracefile", "domain"),
    ("analysis", "domain tracefile"),
    ("workload", "domain tracefile analysis"),
    ("capture", "domain"),
    ("recorder", "domain host capture tracefile"),
    ("explorer", "domain tracefile analysis workload"),
    (
        "steadfast",
        "domain procedures report exchange host engine runner tracefile analysis workload capture \
         recorder explorer",
    ),
];

/// Our crates in the `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.strip_prefix("steadfast-"))
        .filter_map(|rest| rest.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_depend_only_on_what_the_house_allows() {
    let allowed = BTreeMap::from(ALLOWED);
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let mut seen = 0;
    for path in crates
        .map(|entry| entry.unwrap().path())
        .chain(["lab", "fuzz"].map(|name| root().join(name)))
    {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let rule = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no rule"));
        for dependency in dependencies(&manifest) {
            let is_allowed = rule.split(' ').any(|allowed| allowed == dependency);
            assert!(is_allowed, "{name} must not use {dependency}");
        }
        seen += 1;
    }
    assert_eq!(seen, allowed.len());
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// clippy.toml lists what they may not use, and clippy checks it.
#[test]
fn pure_crates_touch_nothing() {
    let rule = "#![deny(clippy::disallowed_methods, clippy::disallowed_types)]";
    for name in ["domain", "procedures", "report", "exchange", "tracefile", "analysis", "workload"]
    {
        let path = root().join("crates").join(name).join("src/lib.rs");
        let code = std::fs::read_to_string(&path).unwrap();
        assert!(code.lines().any(|line| line == rule), "{}: no {rule}", path.display());
    }
}

/// Every type that the vocabulary names exists.
#[test]
fn the_vocabulary_names_types_that_exist() {
    let vocabulary = std::fs::read_to_string(root().join("docs/vocabulary.md")).unwrap();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let code: String = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let mut rows = 0;
    let terms = vocabulary.split("## Abbreviations").next().unwrap();
    for row in terms.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let Some(name) = row.trim_end_matches(" |").rsplit("| ").next() else { continue };
        let name = name.trim_matches('`').rsplit("::").next().unwrap();
        let there = ["struct", "enum", "trait", "fn", "mod"]
            .iter()
            .any(|kind| code.contains(&format!("{kind} {name}")))
            || code.contains(&format!("pub {name}:"));
        assert!(there, "vocabulary: no '{name}' in the code ({row})");
        rows += 1;
    }
    assert!(rows > 30);
}

/// Reads a source up to its unit tests.
fn without_tests(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

fn sources_of_all_crates() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    files.retain(|path| path.file_name().is_some_and(|name| name != "tests.rs"));
    files
}

/// A caveat with a literal id could be misspelled where it is looked up.
#[test]
fn caveats_have_names_of_one_module() {
    let mut made = 0;
    for path in sources_of_all_crates() {
        let source = without_tests(&path);
        let named = ["invalidates(", "deviation(", "unverified(", "remark("];
        let short = source.split("Caveat::").skip(1).map(|after| {
            named.iter().find_map(|name| after.strip_prefix(name)).unwrap_or_default()
        });
        let long = source.split("CaveatKind::").skip(1).map(|after| {
            after.trim_start_matches(char::is_alphanumeric).strip_prefix(',').unwrap_or_default()
        });
        for name in short.chain(long).map(str::trim_start) {
            // What stands before a caveat in print begins with a capital.
            let literal = name.strip_prefix('"').unwrap_or_default();
            let shown: String = name.chars().take(40).collect();
            assert!(!literal.starts_with(char::is_lowercase), "{}: {shown}", path.display());
            made += usize::from(name.starts_with("ids::") || name.starts_with("caveats::"));
        }
    }
    assert!(made > 50, "{made}");
}

/// A literal that continues in the next line without a backslash prints the blanks of its indentation.
#[test]
fn no_message_has_the_blanks_of_a_broken_line() {
    let mut literals = 0;
    for path in sources_of_all_crates() {
        let tokens = without_tests(&path).parse::<proc_macro2::TokenStream>();
        let Ok(tokens) = tokens else { continue };
        for text in texts(tokens) {
            literals += 1;
            let broken = text.contains("        ") && !text.contains('\n');
            let is_prose = text.split("        ").all(|part| part.trim().len() > 8);
            assert!(!broken || !is_prose, "{}: {text}", path.display());
        }
    }
    assert!(literals > 10_000, "{literals}");
}

/// The text literals in a stream of tokens, those in macros and attributes included.
fn texts(tokens: proc_macro2::TokenStream) -> Vec<String> {
    let of = |token| match token {
        proc_macro2::TokenTree::Group(group) => texts(group.stream()),
        proc_macro2::TokenTree::Literal(literal) => {
            let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
            text.into_iter().map(|text| text.value()).collect()
        }
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

/// The findings have what is printed of a document.
#[test]
fn the_report_names_no_document_and_no_procedure() {
    let mut files = Vec::new();
    sources(&root().join("crates/report/src"), &mut files);
    assert!(files.len() > 15);
    let words =
        ["SNIA", "PTS", "Performance Test Spec", "WSAT", "DIRTH", "\"iops\"", "\"latency\""];
    for path in files {
        let text = without_tests(&path);
        for word in words {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
