//! A fault simulator: runs in a simulated world with faults chosen by seed.
//!
//! The runner's production code executes short procedures on a simulated drive. A seed decides what
//! fails: calls to a disk that loses its cache, the drive, the clock, the power, the process. After
//! every interruption the run is continued, and the invariants are checked (`docs/fire.md`). The same
//! seed also decides the faults of a group of runs, of programs that write reports into one directory,
//! of a capture and its marks, of commands that change host settings without a run directory, of the
//! device tools and NVMe commands that purge a drive, and of the user's commands that cut or measure
//! its power.

mod captures;
mod changes;
mod conversions;
mod cuts;
mod device_tools;
mod dice;
mod directory;
mod disk;
mod drive;
mod fault;
mod groups;
mod marks;
mod memory;
mod outputs;
mod power_tools;
mod reports;
mod rig;
mod scenario;
mod shrink;
#[cfg(test)]
mod tests;
mod tool_drive;
mod trial;
mod workload;
mod world;

// Files of the program, which has no library.
#[path = "../../../crates/steadfast/src/import_inputs.rs"]
#[expect(dead_code, reason = "the program's messages need more of it")]
mod import_inputs;
#[path = "../../../crates/steadfast/src/recognize_file.rs"]
#[expect(dead_code, reason = "other commands need more of it")]
mod recognize_file;
#[path = "../../../crates/steadfast/src/unpack.rs"]
mod unpack;

use clap::Parser;
use fault::PlantedBug;
use memory::CountingAllocator;
use scenario::Scenario;
use shrink::{Shrink, shrink};
use std::fmt::Debug;
use std::io::Write;
use std::process::ExitCode;
use trial::UndisturbedRun;
use world::TrialResult;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Executes runs in a simulated world and injects faults by seed.
#[derive(Debug, Parser)]
#[command(name = "steadfast-vopr")]
struct SimulatorArguments {
    /// Seed of the first scenario
    seed: u64,
    /// Number of scenarios, with consecutive seeds
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Print the calls of every scenario, not only of failing ones
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let arguments = SimulatorArguments::parse();
    let undisturbed = trial::undisturbed();
    let calls: Vec<u64> = undisturbed.iter().map(|run| run.calls).collect();
    let seeds = arguments.seed..arguments.seed.saturating_add(arguments.count);
    let mut failed = 0;
    for seed in seeds.clone() {
        let is_traced = arguments.trace;
        let reports = [
            check_seed(seed, outputs::play_seed, outputs::play, is_traced),
            check_seed(seed, changes::play_seed, changes::play, is_traced),
            check_seed(seed, marks::play_seed, marks::play, is_traced),
            check_seed(seed, captures::play_seed, captures::play, is_traced),
            check_seed(seed, conversions::play_seed, conversions::play, is_traced),
            check_seed(seed, device_tools::play_seed, device_tools::play, is_traced),
            check_seed(seed, power_tools::play_seed, power_tools::play, is_traced),
        ];
        for report in reports.into_iter().flatten() {
            failed += 1;
            print_line(&report);
        }
        for scenario in [Scenario::new(seed, &calls), Scenario::of_group(seed, &calls)] {
            let result = trial::play(&scenario, &undisturbed, None, is_traced);
            result.trace.iter().for_each(|line| print_line(line));
            if let Some(violation) = result.violation {
                failed += 1;
                print_line(&report(&scenario, &violation, &undisturbed));
            }
        }
    }
    print_line(&format!("failed scenarios: {failed} (seeds: {})", seeds.count()));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays the scenario of a seed that is no run, and prints its calls if they were requested. Returns
/// its report if it has failed.
fn check_seed<S: Shrink + Debug>(
    seed: u64,
    play_seed: fn(u64, Option<PlantedBug>) -> (S, TrialResult),
    play: fn(&S, Option<PlantedBug>) -> TrialResult,
    is_traced: bool,
) -> Option<String> {
    let (scenario, result) = play_seed(seed, None);
    if is_traced {
        result.trace.iter().for_each(|line| print_line(line));
    }
    result.violation.map(|_| report_smallest(seed, &scenario, play))
}

/// Returns the report of a failing scenario that is no run: the smallest one that fails, and its
/// calls.
fn report_smallest<S: Shrink + Debug>(
    seed: u64,
    scenario: &S,
    play: fn(&S, Option<PlantedBug>) -> TrialResult,
) -> String {
    let smallest = shrink(scenario, |smaller| play(smaller, None).violation.is_some());
    let result = play(&smallest, None);
    format!(
        "seed {seed}:\n{}\n  smallest: {smallest:?}\n  {}",
        result.trace.join("\n"),
        result.violation.unwrap_or_default(),
    )
}

/// Returns the report of a failing scenario: the smallest one that fails, and its calls.
fn report(scenario: &Scenario, violation: &str, undisturbed: &[UndisturbedRun]) -> String {
    let fails =
        |smaller: &Scenario| trial::play(smaller, undisturbed, None, false).violation.is_some();
    let smallest = shrink(scenario, fails);
    let result = trial::play(&smallest, undisturbed, None, true);
    let lives: String = smallest
        .lives
        .iter()
        .map(|life| format!("\n    {:?} {:?}", life.action, life.faults))
        .collect();
    format!(
        "seed {}: {violation}\n{}\n  smallest: {}, targets: {}, drive_forgets: {}, setting_is_kept: {}{lives}\n  {}",
        scenario.seed,
        result.trace.join("\n"),
        scenario::RUNS[smallest.run].name,
        smallest.targets,
        smallest.drive_forgets,
        smallest.setting_is_kept,
        result.violation.unwrap_or_default(),
    )
}

fn print_line(line: &str) {
    // The reader may have closed the pipe.
    let _ = writeln!(std::io::stdout(), "{line}");
}
