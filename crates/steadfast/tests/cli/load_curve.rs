//! `run load-curve` and `run --rate` from their command lines.

use super::fixtures::*;
use serde_json::Value;
use std::process::Command;

const FORMULAS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/open_loop.py");

/// Service time of the exact drive, and the time of a transfer of 4 KiB on its link.
const SERVICE_AND_LINK: [&str; 2] = ["100000", "4000"];

/// Means, percentiles, knee and the highest rate for a service level on a drive with constant
/// service time are those of the M/D/1 queue.
#[test]
fn an_exact_drive_has_the_curve_of_the_formulas() {
    let here = &TestDirectory::new();
    let run = "run load-curve --target sim:exact --purge none --seed 5 --set preconditioning=none \
               --set points=10,30,50,60,70,80,90,102 --set point-time=400s --step-time 1s \
               --threads 1 --depth 1024 --slo p99=500us -o run";
    succeed(here, run);
    let mut formulas = Command::new("python3");
    formulas.arg(FORMULAS).arg("run").args(SERVICE_AND_LINK).current_dir(here);
    let Ok(output) = formulas.output() else {
        return skip("there is no python3");
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("p99=500us: "), "{}", stdout(&output));
    // Four of each of the seven rates up to 90 %.
    assert!(stdout(&output).ends_with("28 percentiles\n"), "{}", stdout(&output));
}

/// The rate is in the plan, in the record, in every step and in the report.
#[test]
fn a_rate_of_a_run_is_planned_recorded_and_disclosed() {
    let here = &TestDirectory::new();
    let quick = "wsat --target sim:small --profile quick --rate";
    let plan = succeed(here, &format!("plan {quick} 500 --arrivals fixed"));
    assert!(plan.contains("RND 4K W at 500 IOPS"), "{plan}");
    let set = "--set histogram-time=2s --seed 7 -o run";
    run_in(here, &format!("run {quick} 500 --arrivals fixed {set}"));
    let settings: Value = read_json(here.join("run/settings.json"));
    assert_eq!(settings["settings"]["rate"]["rate"], "500 IOPS");
    assert_eq!(settings["settings"]["rate"]["arrivals"], "fixed");
    let steps = std::fs::read_to_string(here.join("run/steps.csv")).unwrap();
    let mut lines = steps.lines();
    let columns =
        ",Offered IOPS,Kept up,Start error 50 % ms,Start error 99 % ms,Start error max ms";
    assert!(lines.next().unwrap().ends_with(columns));
    // Of the 500 I/Os of a second, five lie beyond 99 %; of those of the last step, ten.
    let is_kept =
        |line: &str| [",500,yes,0,,0", ",500,yes,0,0,0"].iter().any(|e| line.ends_with(e));
    assert!(lines.all(is_kept), "{steps}");
    assert!(caveat(&findings(here.join("run")), "offered-rate").is_some());
    run_in(here, &format!("run {quick} 100MB/s -o fast"));
    assert!(caveat(&findings(here.join("fast")), "rate-missed").is_some());
}

#[test]
fn impossible_rates_and_service_levels_are_refused_before_a_run() {
    let here = &TestDirectory::new();
    let cases: [(&str, &[&str]); 7] = [
        ("load-curve --slo 1ms", &["'1ms' is not a service level", "p99=1ms"]),
        ("load-curve --slo p99=1", &["with a unit"]),
        ("load-curve --rate 500", &["--set points="]),
        ("load-curve --set points=50,10", &["ascending"]),
        ("iops --rate 500", &["wsat, composite, multi-wsat"]),
        ("wsat --slo p99=1ms", &["run load-curve"]),
        ("wsat --rate 0", &["at least 0.001"]),
    ];
    for (run, parts) in cases {
        refuse(here, &format!("run {run} --target sim:small -o run"), parts);
    }
    assert!(!here.join("run").exists());
}

/// A name that is no access pattern is the name of a captured workload.
#[test]
fn a_captured_workload_has_a_load_curve() {
    let here = &TestDirectory::new();
    let run = "run load-curve --target sim:small --profile quick -o run \
               --workload retail-web-portal --set points=20,60";
    run_ending(here, run, &[0, 3]);
    assert!(findings(here.join("run"))["title"].as_str().unwrap().starts_with("Load Curve "));
    let rates = std::fs::read_to_string(here.join("run/load-curve-summary.csv")).unwrap();
    assert_eq!(rates.lines().count(), 3, "{rates}");
}
