//! The simulator on every run of the tests, and the simulator itself under test.

use crate::captures;
use crate::fault::PlantedBug;
use crate::outputs;
use crate::report;
use crate::scenario::Scenario;
use crate::shrink::shrink;
use crate::trial::{TrialResult, UndisturbedRun, play, undisturbed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Seeds that find a mended defect if it comes back.
const FOUND: &[u64] = &[
    3,    // The name of a new run directory was not durable.
    47,   // A run was called complete although its last note was not journaled.
    126,  // Lines were appended behind a torn one that could not be cut off.
    142,  // A crash that left a block of the last line unwritten was taken for an edit.
    2173, // A miscompare was forgotten when the attempt that found it broke off.
];

static UNDISTURBED: LazyLock<Vec<UndisturbedRun>> = LazyLock::new(undisturbed);

fn scenario(seed: u64) -> Scenario {
    let calls: Vec<u64> = UNDISTURBED.iter().map(|run| run.calls).collect();
    Scenario::new(seed, &calls)
}

/// Plays all seeds on two threads. Returns the report of the first that failed.
fn first_failure(seeds: impl Iterator<Item = u64> + Send) -> Option<String> {
    let (seeds, failed) = (Mutex::new(seeds), AtomicU64::new(u64::MAX));
    let next = || seeds.lock().unwrap().next();
    let work = || {
        while let Some(seed) = next() {
            if play(&scenario(seed), &UNDISTURBED, None, false).violation.is_some() {
                failed.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let seed = Some(failed.into_inner()).filter(|seed| *seed < u64::MAX)?;
    Some(report(&scenario(seed), "failed", &UNDISTURBED))
}

/// Returns a number of the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

/// Returns the seeds to play: `SEEDS` or this many from `FIRST`, until `TIME` seconds have passed.
fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let first = variable("FIRST").unwrap_or(0);
    let end = variable("TIME").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    (first..first.saturating_add(variable("SEEDS").unwrap_or(usual)))
        .take_while(move |_| end.is_none_or(|end| Instant::now() < end))
}

/// `make fire` sets FIRST, SEEDS and TIME.
#[test]
fn runs_survive_everything() {
    if let Some(report) = first_failure(FOUND.iter().copied().chain(seeds(1000))) {
        panic!("{report}");
    }
}

/// Plays seeds without a planted bug.
fn must_hold(seeds: impl Iterator<Item = u64>, play: fn(u64, Option<PlantedBug>) -> TrialResult) {
    for seed in seeds {
        let result = play(seed, None);
        if let Some(violation) = result.violation {
            panic!("seed {seed}: {violation}\n{}", result.trace.join("\n"));
        }
    }
}

/// Asserts that each bug breaks an invariant, whose text has these words, within 300 seeds.
fn must_be_found(bugs: &[(PlantedBug, &str)], play: fn(u64, Option<PlantedBug>) -> TrialResult) {
    for (bug, says) in bugs {
        let found = (0..300).find_map(|seed| play(seed, Some(*bug)).violation);
        let found = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
        assert!(found.contains(says), "{bug:?}: {found}");
    }
}

/// `make fire` sets FIRST, SEEDS and TIME.
#[test]
fn output_files_appear_whole_and_stay() {
    must_hold(seeds(1000), outputs::play);
}

/// `make fire` sets FIRST, SEEDS and TIME.
#[test]
fn captures_lose_nothing_in_silence() {
    must_hold(seeds(1000), captures::play);
}

/// Without syncs, a power loss takes files that the recorder called complete.
#[test]
fn bugs_planted_below_captures_are_found() {
    use PlantedBug::{IgnoredSourceError, NoDirectorySync, NoSync, StrayWrite};
    let ignored = (IgnoredSourceError, "the probes failed, and the capture was called complete");
    let stray = (StrayWrite, "belonged to another program");
    must_be_found(&[(NoSync, "file"), (NoDirectorySync, "I/Os"), ignored, stray], captures::play);
}

/// Each defect breaks another invariant of output files.
#[test]
fn bugs_planted_below_output_files_are_found() {
    use PlantedBug::{NoDirectorySync, NoSync, RenameReplaces, StrayWrite};
    let unwritten = (NoSync, "holds what no program has written");
    let replaced = (RenameReplaces, "was replaced");
    let stray = (StrayWrite, "belonged to another program");
    must_be_found(&[unwritten, (NoDirectorySync, "or nothing"), replaced, stray], outputs::play);
}

#[test]
fn a_seed_always_means_the_same() {
    for seed in 0..10 {
        let play = || play(&scenario(seed), &UNDISTURBED, None, true).trace;
        let trace = play();
        assert!(trace.len() > 50 && trace == play(), "seed {seed}");
    }
}

/// What the simulator is for.
#[test]
fn planted_bugs_are_found_and_shrunk() {
    use PlantedBug::{ChangeBeforeJournal, ForgottenStep, NoDirectorySync, NoSync, StrayWrite};
    for bug in [NoSync, NoDirectorySync, ForgottenStep, ChangeBeforeJournal, StrayWrite] {
        let fails =
            |seed: &u64| play(&scenario(*seed), &UNDISTURBED, Some(bug), false).violation.is_some();
        let seed = (0..100).find(fails).unwrap_or_else(|| panic!("{bug:?} is not found"));
        let smallest = shrink(&scenario(seed), &UNDISTURBED, Some(bug));
        let faults: usize = smallest.lives.iter().map(|life| life.faults.len()).sum();
        assert!(faults <= 2 && smallest.lives.len() <= 2, "{bug:?}: {smallest:?}");
    }
}
