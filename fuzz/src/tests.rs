//! Every target reads its seeds, and damaged copies of them.

use super::*;
use mutations::{MUTATIONS, mutated};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use steadfast_domain::Nanos;
use steadfast_domain::power_cut::Acknowledgment;
use steadfast_explorer::index::Index;

#[path = "../../crates/exchange/src/testing/mutations.rs"]
mod mutations;

/// Damaged inputs of each target.
const DAMAGED: u64 = MUTATIONS / 10;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The seeds of a target with their paths.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = fs::read_dir(root().join("seeds").join(target)).unwrap();
    let mut paths: Vec<PathBuf> = directory.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_target_accepts_its_seeds() {
    let entries = fs::read_dir(root().join("seeds")).unwrap();
    let directories: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(directories, TARGETS.iter().map(|target| target.name.to_owned()).collect());
    let mut refused = Vec::new();
    for target in &TARGETS {
        let seeds = seeds(target.name);
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        refused.extend(seeds.into_iter().filter(|(_, seed)| !target.try_input(seed)));
    }
    let refused: Vec<PathBuf> = refused.into_iter().map(|(path, _)| path).collect();
    assert!(refused.is_empty(), "refused (see scripts/fuzz-seeds): {refused:?}");
}

#[test]
fn damaged_inputs_are_read_or_refused() {
    limit_memory();
    for target in &TARGETS {
        let begun = Instant::now();
        let seeds = seeds(target.name);
        let share = DAMAGED.div_ceil(seeds.len() as u64);
        let mut accepted = 0;
        for (at, (path, seed)) in (0..).zip(&seeds) {
            for (number, input) in (at * share..).zip(mutated(seed, at * share..(at + 1) * share)) {
                let result = panic::catch_unwind(|| target.try_input(&input));
                let Ok(is_accepted) = result else {
                    panic!("{}: mutation {number} of {}", target.name, path.display())
                };
                accepted += u64::from(is_accepted);
            }
        }
        println!("{}: {accepted} accepted, {:?}", target.name, begun.elapsed());
    }
}

/// Takes the index that is written.
#[derive(Default)]
struct TakenIndex(Mutex<Vec<u8>>);

impl IndexStore for TakenIndex {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn write(&self, _: &str, content: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = content.to_vec();
        Ok(())
    }
}

/// The index of a capture in the form that [`explorer_index`] reads.
fn index_of(capture: &str) -> Vec<u8> {
    let file = File::open(root().join("seeds/capture").join(capture)).unwrap();
    let index = Index::read(&Captured::open(file).unwrap(), &Arc::default()).unwrap();
    let store = TakenIndex::default();
    cache::write(&store, "seed", &index).unwrap();
    let written = store.0.into_inner().unwrap();
    let head = cache::MAGIC.len() + VERSION.to_le_bytes().len() + Sha256::output_size();
    zstd::decode_all(&written[head..]).unwrap()
}

/// `BLESS=1` writes the seeds.
#[test]
fn seeds_of_our_own_binary_forms_are_current() {
    let flush = |n: u64| Acknowledgment { sequence: 32 * n, at: Nanos(n * 1_000) };
    let log: String = (1..=3).map(|n| flush(n).line(7)).chain([flush(4).line(8)]).collect();
    for (name, content) in [
        ("cut_log/flushes", log.into_bytes()),
        ("explorer_index/ios", index_of("ios")),
        ("explorer_index/fold", index_of("fold")),
    ] {
        let path = root().join("seeds").join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &content).unwrap();
        }
        assert!(fs::read(&path).unwrap_or_default() == content, "{name}: run with BLESS=1");
    }
}

/// A program of a shell script, for the environment of a script under test.
fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A target fails if it panics, is killed, or does not start, whatever it prints.
#[test]
fn the_script_reports_every_way_to_fail() {
    // A tree of its own, since the script writes to its tree.
    let tree = tempfile::tempdir().unwrap();
    let [script, tools] = ["scripts/fuzz", "target/tools/bin"].map(|name| tree.path().join(name));
    for directory in ["scripts", "fuzz/libfuzzer"] {
        fs::create_dir_all(tree.path().join(directory)).unwrap();
    }
    for target in &TARGETS {
        fs::create_dir_all(tree.path().join("fuzz/seeds").join(target.name)).unwrap();
    }
    fs::copy(root().join("../scripts/fuzz"), &script).unwrap();
    fs::write(tree.path().join("Cargo.lock"), "").unwrap();
    write_program(&tools.join("cargo-fuzz"), "");
    let run = "case $2$FUZZ_TARGET in runnotation) kill -9 $$;; runlimits) exit 101;; \
               runsuites) echo panicked; exit 77;; runworkload) echo 'stat::peak_rss_mb: 7';; esac";
    write_program(&tools.join("cargo"), run);
    let fuzz = |targets: &[&str]| {
        let output = Command::new(&script).args(targets).env_remove("CARGO_TARGET_DIR").output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for target in ["notation", "limits", "suites"] {
        let (code, said) = fuzz(&["workload", target]);
        assert_eq!(code, Some(1), "{target}: {said}");
        assert!(said.contains(&format!("Failed: {target}.")), "{said}");
    }
    assert_eq!(fuzz(&["workload", "http_query"]).0, Some(0));
    assert_eq!(fuzz(&["no_such_target"]).0, Some(2));
}
