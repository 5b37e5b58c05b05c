//! The house's rules that a machine can check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Which of our crates each of our crates may depend on.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("lab", vec!["domain", "runner", "trace"]),
        ("domain", vec![]),
        ("procedures", vec!["domain"]),
        ("report", vec!["domain"]),
        ("host", vec!["domain"]),
        ("engine", vec!["domain", "host"]),
        ("runner", vec!["domain", "engine", "host"]),
        ("trace", vec!["domain"]),
        ("capture", vec!["domain"]),
        (
            "steadfast",
            vec!["domain", "procedures", "report", "host", "engine", "runner", "trace", "capture"],
        ),
    ])
}

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
    let allowed = allowed();
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let mut seen = 0;
    for path in crates.map(|entry| entry.unwrap().path()).chain([root().join("lab")]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let rule = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no rule"));
        for dependency in dependencies(&manifest) {
            assert!(rule.contains(&dependency.as_str()), "{name} must not use {dependency}");
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

/// What they may not use stands in clippy.toml, and clippy looks for it.
#[test]
fn pure_crates_touch_nothing() {
    let rule = "#![deny(clippy::disallowed_methods, clippy::disallowed_types)]";
    for name in ["domain", "procedures", "report", "trace"] {
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
    for row in vocabulary.lines().filter(|line| line.starts_with("| ")).skip(1) {
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
