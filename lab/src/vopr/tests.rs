//! The simulator on every run of the tests, and the simulator itself under test.

use crate::captures::{self, CaptureScenario};
use crate::changes::{self, ChangesScenario};
use crate::conversions::{self, ConversionScenario};
use crate::device_tools::{self, ToolScenario};
use crate::fault::{InjectedFault, PlannedFault, PlantedBug};
use crate::marks::{self, MarksScenario};
use crate::outputs::{self, OutputScenario};
use crate::power_tools::{self, PowerScenario};
use crate::scenario::{FIRST_RUNS, Life, RUNS, Scenario, UserAction};
use crate::shrink::{Shrink, shrink};
use crate::trial::{UndisturbedRun, play, undisturbed};
use crate::world::TrialResult;
use crate::{report, report_smallest};
use std::fmt::Debug;
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

/// The same for scenarios of groups.
const FOUND_IN_GROUPS: &[u64] = &[
    6,   // A run whose host setting could not be restored was taken for complete.
    86,  // A run whose first line could not be written was removed, and the group was incomplete.
    76,  // A run that repeated a step was not waited for at the common start.
    120, // The same for one that repeated its preconditioning.
    249, // A run's end was the time at which `restore` had restored the host.
    // A run that waited where a phase continues was taken for one behind.
    20_261_130_000_588,
];

static UNDISTURBED: LazyLock<Vec<UndisturbedRun>> = LazyLock::new(undisturbed);

/// Number of calls of each undisturbed run.
fn calls() -> Vec<u64> {
    UNDISTURBED.iter().map(|run| run.calls).collect()
}

fn scenario(seed: u64) -> Scenario {
    Scenario::new(seed, &calls())
}

/// Returns the scenario of a seed if it plays the run of this name.
fn scenario_of(name: &str, seed: u64) -> Scenario {
    let run = RUNS.iter().position(|run| run.name == name).unwrap();
    Scenario::of_run(seed, run, UNDISTURBED[run].calls)
}

/// Returns the scenario of a seed that plays the runs of several targets.
fn group_scenario(seed: u64) -> Scenario {
    Scenario::of_group(seed, &calls())
}

/// Returns the scenario of a group that a seed had when only the first runs existed.
fn first_group_scenario(seed: u64) -> Scenario {
    Scenario::of_first_group(seed, &calls())
}

/// Returns the scenario that a seed had when only the first runs existed.
fn first_scenario(seed: u64) -> Scenario {
    Scenario::new(seed, &calls()[..FIRST_RUNS])
}

/// Plays all scenarios on two threads. Panics with the report of the first that failed.
fn must_survive(scenarios: impl Iterator<Item = Scenario> + Send) {
    let (scenarios, failed) = (Mutex::new(scenarios.enumerate()), Mutex::new(None));
    let next = || scenarios.lock().unwrap().next();
    let work = || {
        while let Some((position, scenario)) = next() {
            if play(&scenario, &UNDISTURBED, None, false).violation.is_some() {
                let mut failed = failed.lock().unwrap();
                let is_first = failed.as_ref().is_none_or(|(first, _)| position < *first);
                if is_first {
                    *failed = Some((position, scenario));
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    if let Some((_, scenario)) = failed.into_inner().unwrap() {
        panic!("{}", report(&scenario, "failed", &UNDISTURBED));
    }
}

/// Returns a number of the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

/// Returns the seeds to play: `SEEDS` or this many from `FIRST`, until `TIME` seconds have passed.
/// `make fire` sets these.
fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let first = variable("FIRST").unwrap_or(0);
    let end = variable("TIME").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    (first..first.saturating_add(variable("SEEDS").unwrap_or(usual)))
        .take_while(move |_| end.is_none_or(|end| Instant::now() < end))
}

#[test]
fn runs_survive_everything() {
    let found = FOUND.iter().map(|seed| first_scenario(*seed));
    must_survive(found.chain(seeds(720).map(scenario)));
}

#[test]
fn power_cuts_lose_no_acknowledgment() {
    must_survive(seeds(200).map(|seed| scenario_of("power-cut", seed)));
}

#[test]
fn groups_lose_no_step_and_no_target() {
    let found = FOUND_IN_GROUPS.iter().map(|seed| first_group_scenario(*seed));
    must_survive(found.chain(seeds(52).map(group_scenario)));
}

/// Plays seeds without a planted bug. Panics with the smallest failing scenario.
fn must_hold<S: Shrink + Debug>(
    seeds: impl Iterator<Item = u64>,
    play_seed: fn(u64, Option<PlantedBug>) -> (S, TrialResult),
    play: fn(&S, Option<PlantedBug>) -> TrialResult,
) {
    for seed in seeds {
        let (scenario, result) = play_seed(seed, None);
        if result.violation.is_some() {
            panic!("{}", report_smallest(seed, &scenario, play));
        }
    }
}

/// Asserts that each bug breaks an invariant, whose text has these words, within 100 seeds, and that
/// the smallest scenario in which it does so has at most two faults.
fn must_be_found<S: Shrink + Debug>(
    bugs: &[(PlantedBug, &str)],
    play_seed: fn(u64, Option<PlantedBug>) -> (S, TrialResult),
    play: fn(&S, Option<PlantedBug>) -> TrialResult,
    faults_of: fn(&S) -> usize,
) {
    for (bug, says) in bugs {
        let played = (0..100).map(|seed| play_seed(seed, Some(*bug)));
        let found = played.filter_map(|(scenario, result)| Some((scenario, result.violation?)));
        let (scenario, violation) =
            found.into_iter().next().unwrap_or_else(|| panic!("{bug:?} is not found"));
        assert!(violation.contains(says), "{bug:?}: {violation}");
        let smallest = shrink(&scenario, |smaller| play(smaller, Some(*bug)).violation.is_some());
        assert!(play(&smallest, Some(*bug)).violation.is_some());
        assert!(faults_of(&smallest) <= 2, "{bug:?}: {smallest:?}");
    }
}

#[test]
fn output_files_appear_whole_and_stay() {
    must_hold(seeds(1000), outputs::play_seed, outputs::play);
}

#[test]
fn conversions_are_complete_or_absent() {
    let written = conversions::ios_of_first_input();
    assert_eq!(written.len() as u64, conversions::IOS);
    assert_eq!(conversions::ios_of_first_import(), written);
    must_hold(seeds(300), conversions::play_seed, conversions::play);
}

#[test]
fn captures_lose_nothing_in_silence() {
    must_hold(seeds(1000), captures::play_seed, captures::play);
}

#[test]
fn host_settings_without_a_run_are_undone_or_journaled() {
    must_hold(seeds(1000), changes::play_seed, changes::play);
}

#[test]
fn marks_are_neither_lost_nor_doubled() {
    must_hold(seeds(1000), marks::play_seed, marks::play);
}

#[test]
fn purges_by_failing_tools_end_and_tell_the_truth() {
    must_hold(seeds(1000), device_tools::play_seed, device_tools::play);
}

#[test]
fn power_commands_are_believed_only_if_they_end_well() {
    must_hold(seeds(1000), power_tools::play_seed, power_tools::play);
}

/// Each defect breaks another invariant of commands that cut or measure power.
#[test]
fn bugs_planted_below_power_commands_are_found() {
    use PlantedBug::{EarlyWake, KeptTool, Leak, SlowClock, TrustedCut};
    let bugs = [
        (EarlyWake, "less than a second apart"),
        (KeptTool, "still runs"),
        (Leak, "MiB of memory"),
        (SlowClock, "was killed after"),
        (TrustedCut, "was not cut"),
    ];
    must_be_found(&bugs, power_tools::play_seed, power_tools::play, PowerScenario::faults);
}

/// Each defect breaks another invariant of host settings.
#[test]
fn bugs_planted_below_host_settings_are_found() {
    use PlantedBug::{ChangeBeforeJournal, NoDirectorySync, NoLock, NoSync, StrayWrite};
    // A setting is in no journal, or a journal is damaged.
    let unjournaled = "journal";
    let bugs = [
        (ChangeBeforeJournal, unjournaled),
        (NoSync, unjournaled),
        (NoDirectorySync, unjournaled),
        (NoLock, "the setting of drive"),
        (StrayWrite, "belonged to another program"),
    ];
    must_be_found(&bugs, changes::play_seed, changes::play, ChangesScenario::faults);
}

/// Each defect breaks another invariant of purges.
#[test]
fn bugs_planted_below_device_tools_are_found() {
    use PlantedBug::{ChangeBeforeJournal, HiddenChild, KeptTool, Leak, SlowClock, StoppedClock};
    use PlantedBug::{IgnoredStop, LateStop, SilentStop, StrayErase, TrustedTool};
    let bugs = [
        (IgnoredStop, "after the stop"),
        (LateStop, "was started after the stop"),
        (SilentStop, "still erases"),
        (ChangeBeforeJournal, "not in the journal"),
        (HiddenChild, "still erases"),
        (KeptTool, "still runs"),
        (Leak, "MiB of memory"),
        (SlowClock, "was killed after"),
        (StoppedClock, "did not end"),
        (StrayErase, "the other drive was changed"),
        (TrustedTool, "was reported as purged"),
    ];
    must_be_found(&bugs, device_tools::play_seed, device_tools::play, ToolScenario::faults);
}

/// Each defect breaks another invariant of marks.
#[test]
fn bugs_planted_below_marks_are_found() {
    use PlantedBug::{DoubledWrite, LastingName, StrayWrite};
    let bugs = [
        (LastingName, "lacks"),
        (DoubledWrite, "has a mark twice"),
        (StrayWrite, "belonged to another program"),
    ];
    must_be_found(&bugs, marks::play_seed, marks::play, MarksScenario::faults);
}

/// Without syncs, a power loss takes files that the recorder called complete.
#[test]
fn bugs_planted_below_captures_are_found() {
    use PlantedBug::{IgnoredSourceError, NoDirectorySync, NoSync, StrayWrite};
    let ignored = (IgnoredSourceError, "the probes failed, and the capture was called complete");
    let stray = (StrayWrite, "belonged to another program");
    let bugs = [(NoSync, "file"), (NoDirectorySync, "I/Os"), ignored, stray];
    must_be_found(&bugs, captures::play_seed, captures::play, CaptureScenario::faults);
}

/// Each defect breaks another invariant of output files.
#[test]
fn bugs_planted_below_output_files_are_found() {
    use PlantedBug::{NoDirectorySync, NoSync, RenameReplaces, StrayWrite};
    let unwritten = (NoSync, "holds what no program has written");
    let replaced = (RenameReplaces, "was replaced");
    let stray = (StrayWrite, "belonged to another program");
    let bugs = [unwritten, (NoDirectorySync, "or nothing"), replaced, stray];
    must_be_found(&bugs, outputs::play_seed, outputs::play, OutputScenario::faults);
}

/// Each defect breaks another invariant of conversions.
#[test]
fn bugs_planted_below_conversions_are_found() {
    use PlantedBug::{ErrorAsEnd, InterruptedAsError, KeptUnfinished, RenameReplaces};
    use PlantedBug::{NoDirectorySync, NoSync, StrayWrite};
    let bugs = [
        (ErrorAsEnd, "is incomplete"),
        (InterruptedAsError, "although no call failed"),
        (KeptUnfinished, "was left behind"),
        (NoSync, "is incomplete"),
        (NoDirectorySync, "was reported and is not there"),
        (StrayWrite, "belonged to another program"),
    ];
    must_be_found(&bugs, conversions::play_seed, conversions::play, ConversionScenario::faults);
    let replaced = [(RenameReplaces, "was replaced")];
    let play_two = conversions::play_two_writers;
    must_be_found(&replaced, play_two, conversions::play, ConversionScenario::faults);
}

/// Every kind of scenario: the same calls with the same faults.
#[test]
fn a_seed_always_means_the_same() {
    let mut runs: Vec<usize> = Vec::new();
    for seed in 0..1000 {
        let scenario = scenario(seed);
        if runs.contains(&scenario.run) {
            continue;
        }
        runs.push(scenario.run);
        let play = || play(&scenario, &UNDISTURBED, None, true).trace;
        let trace = play();
        assert!(trace.len() > 30 && trace == play(), "seed {seed}");
    }
    assert_eq!(runs.len(), RUNS.len());
    for scenario in (0..4).map(group_scenario) {
        let play = || play(&scenario, &UNDISTURBED, None, true).trace;
        assert_eq!(play(), play(), "{scenario:?}");
    }
    for seed in 0..12 {
        let played = || {
            let files = [outputs::play_seed(seed, None).1, changes::play_seed(seed, None).1];
            let captures = [captures::play_seed(seed, None).1, marks::play_seed(seed, None).1];
            let conversions =
                [conversions::play_seed(seed, None).1, device_tools::play_seed(seed, None).1];
            let power = [power_tools::play_seed(seed, None).1];
            files.into_iter().chain(captures).chain(conversions).chain(power)
        };
        let traces = || {
            played().map(|result| result.trace.iter().map(|line| plain(line)).collect()).collect()
        };
        let first: Vec<Vec<String>> = traces();
        assert_eq!(first, traces(), "seed {seed}");
    }
}

/// Returns a line of a trace without the numbers in the name of an unfinished file, which are those
/// of the test's own process.
fn plain(line: &str) -> String {
    match line.split_once(".steadfast-") {
        Some((before, after)) => {
            let is_name = |c: char| c.is_ascii_digit() || c == '-';
            format!("{before}.steadfast-{}", after.trim_start_matches(is_name))
        }
        None => line.to_owned(),
    }
}

/// What the simulator is for.
#[test]
fn planted_bugs_are_found_and_shrunk() {
    use PlantedBug::{ChangeBeforeJournal, ForgottenStep, NoDirectorySync, NoSync, StrayWrite};
    for bug in [NoSync, NoDirectorySync, ForgottenStep, ChangeBeforeJournal, StrayWrite] {
        must_be_found_and_shrunk(bug, scenario);
    }
}

fn must_be_found_and_shrunk(bug: PlantedBug, scenario: fn(u64) -> Scenario) {
    let fails =
        |scenario: &Scenario| play(scenario, &UNDISTURBED, Some(bug), false).violation.is_some();
    let found = (0..100).map(scenario).find(fails);
    let found = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
    let smallest = shrink(&found, fails);
    let faults = smallest.faults().count();
    assert!(faults <= 2 && smallest.lives.len() <= 2, "{bug:?}: {smallest:?}");
}

/// Below the runs of several targets, whose list must exist and be complete.
#[test]
fn bugs_planted_below_groups_are_found_and_shrunk() {
    use PlantedBug::{ForgottenStep, NoDirectorySync, NoSync, StrayWrite, TornList};
    for bug in [NoSync, NoDirectorySync, ForgottenStep, StrayWrite, TornList] {
        must_be_found_and_shrunk(bug, group_scenario);
    }
}

/// Each defect breaks another invariant of runs.
#[test]
fn losses_in_reports_and_exceeded_limits_are_found() {
    use PlantedBug::{EndlessWait, Leak, LostCaveat, LostMetric};
    let lost = [(LostCaveat, "no caveat of"), (LostMetric, "lack")];
    must_break(&lost, scenario);
    must_break(&[(Leak, "MiB of memory")], scenario);
    // Few runs have idle times.
    must_break(&[(EndlessWait, "in steps")], |seed| scenario_of("hir", seed));
}

/// Each defect breaks another invariant of groups.
#[test]
fn targets_that_start_alone_or_are_missing_are_found() {
    use PlantedBug::{IgnoredOtherRun, KeptTicket, LoneStart, SharedFate, SilentTarget};
    use PlantedBug::{LostTarget, LostTargetCaveat, SwappedTargets};
    let starts = [(LoneStart, "begin together"), (KeptTicket, "did not end")];
    let runs = [(SharedFate, "was hit by no fault"), (IgnoredOtherRun, "0 runs are resumed")];
    let said = [(SilentTarget, "the results lack"), (LostTarget, "report over all targets")];
    let report = [
        (LostTargetCaveat, "report over all targets"),
        (SwappedTargets, "report over all targets"),
    ];
    must_break(&[starts, runs, said, report].concat(), group_scenario);
}

/// Caveats of a whole run and of its parts, on drives whose runs have gaps.
#[test]
fn the_report_over_groups_of_suites_keeps_all_caveats() {
    let run = RUNS.iter().position(|run| run.name == "portrait").unwrap();
    let half = PlannedFault { call: UNDISTURBED[run].calls, fault: InjectedFault::Kill };
    let life = Life { action: UserAction::Continue, faults: vec![half] };
    let scenario = Scenario {
        targets: 2,
        drive_forgets: false,
        lives: vec![life],
        ..Scenario::of_run(7, run, UNDISTURBED[run].calls)
    };
    let result = play(&scenario, &UNDISTURBED, None, false);
    assert_eq!(result.violation, None);
}

/// Asserts that each bug breaks the invariant whose text has these words within 400 seeds.
fn must_break(bugs: &[(PlantedBug, &str)], scenario: fn(u64) -> Scenario) {
    for (bug, says) in bugs {
        let found = (0..400)
            .find_map(|seed| play(&scenario(seed), &UNDISTURBED, Some(*bug), false).violation);
        let found = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
        assert!(found.contains(says), "{bug:?}: {found}");
    }
}

/// A torn line of the log of acknowledged writes takes the first one of the next power cut.
#[test]
fn bugs_planted_below_power_cuts_are_found_and_shrunk() {
    use PlantedBug::{LostLineBreak, NoDirectorySync, NoSync};
    for bug in [LostLineBreak, NoSync, NoDirectorySync] {
        must_be_found_and_shrunk(bug, |seed| scenario_of("power-cut", seed));
    }
}
