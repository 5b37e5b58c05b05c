//! Write amplification of simulated drives, whose spare capacity the procedure does not know,
//! against a closed formula and against another simulation.

use super::fixtures::{TestDirectory, assert_contains, stderr, stdout, succeed};
use super::recomputed_tables::conduct_steps_on;
use std::path::Path;
use std::process::Command;
use steadfast_domain::Settings;
use steadfast_engine::sim::{DriveSpec, drive};

const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/write_amplification.py");

/// Pages per superblock of `sim:greedy`.
const SUPERBLOCK: &str = "32";

/// Superblocks that hold no garbage: at least three are free, and two are open.
const RESERVE: &str = "5";

fn run_on(run: &Path, spec: &DriveSpec, parameters: &[(&str, &str)]) {
    let mut settings = Settings::new("write-amplification", 3);
    for (name, value) in parameters {
        settings.set(name, value);
    }
    conduct_steps_on(run, Some(settings), spec);
}

/// Compares the cells of a run with those of a drive with these logical pages and superblocks.
fn assert_as_simulated(run: &Path, logical_pages: u32, superblocks: u32, tolerance: &str) {
    let output = Command::new("python3")
        .arg(ORACLE)
        .arg(run)
        .args([&logical_pages.to_string(), SUPERBLOCK, &superblocks.to_string()])
        .args([RESERVE, tolerance])
        .output()
        .unwrap();
    print!("{}", stdout(&output));
    assert!(output.status.success(), "{superblocks} superblocks: {}", stderr(&output));
}

#[test]
fn uniform_writes_amplify_as_the_formula_says_whatever_the_spare_capacity() {
    for superblocks in [2212, 2304, 2450, 2662, 2970] {
        let here = &TestDirectory::new();
        let run = here.join("run");
        let spec =
            DriveSpec { logical_pages: 65_536, superblocks, ..drive("greedy").unwrap().clone() };
        run_on(&run, &spec, &[("workloads", "uniform"), ("used", "100")]);
        assert_as_simulated(&run, 65_536, superblocks, "0.02");
    }
}

#[test]
fn a_smaller_used_capacity_is_spare_capacity_and_so_are_discards() {
    let here = &TestDirectory::new();
    let run = here.join("run");
    run_on(&run, drive("greedy").unwrap(), &[("workloads", "uniform,discards/10,discards/30")]);
    assert_as_simulated(&run, 65_536, 2304, "0.02");
}

#[test]
fn skewed_and_mixed_writes_amplify_as_another_simulation_says() {
    let here = &TestDirectory::new();
    let spec =
        DriveSpec { logical_pages: 16_384, superblocks: 576, ..drive("greedy").unwrap().clone() };
    // Strongly skewed writes approach their steady state slowly; windows of a mix vary by chance.
    let skewed = "zipf/0.6,zipf/1.2,zones/80-20,scattered/90-10";
    for (workloads, limits, tolerance) in [(skewed, "2,1", "0.02"), ("mixed/50", "4,2", "0.03")] {
        let run = here.join(format!("run-{limits}"));
        let exact = [("workloads", workloads), ("window", "100"), ("steady-limits", limits)];
        run_on(&run, &spec, &exact);
        assert_as_simulated(&run, 16_384, 576, tolerance);
    }
}

#[test]
fn the_plan_has_every_cell_and_a_captured_workload_is_one() {
    let here = &TestDirectory::new();
    let plan =
        |more: &str| succeed(here, &format!("plan write-amplification --target sim:greedy {more}"));
    let text = plan("--assume 100MB");
    assert_contains(&text, &["counters", "fill-uniform-50", "zipf-1-2-100", "scattered-80-20-100"]);
    let captured = plan("--workload retail-web-portal --set workloads=none");
    assert!(captured.contains("captured-100") && !captured.contains("uniform"), "{captured}");
}
