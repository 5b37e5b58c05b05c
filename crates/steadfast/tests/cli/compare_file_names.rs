//! Every pair of kinds of runs in a comparison: each file that it writes has a name of its own.

use super::fixtures::{TestDirectory, read_json, refuse, run_ending, succeed};
use std::collections::BTreeSet;
use std::path::Path;
use steadfast_domain::Findings;
use steadfast_report::NamedRun;

/// Every procedure on a simulated drive, in the shortest form that it has.
const KINDS: [&str; 24] = [
    "iops",
    "throughput",
    "latency",
    "wsat",
    "composite --mix 40/60",
    "dirth",
    "composite-dirth",
    "xsr",
    "hir",
    "verify-write",
    "fill",
    "idle-exit",
    "write-amplification",
    "factors",
    "hdd-iops --step-time 1s",
    "hdd-throughput --step-time 1s",
    "individual-streams --workload retail-web-portal",
    "multi-wsat --workload retail-web-portal",
    "rwsw-dirth --workload retail-web-portal",
    "suite --procedures iops,wsat",
    "tkperf --set tests=iops,lat --step-time 1s",
    "commit",
    "neighbors",
    "load-curve --slo p99=20ms",
];

fn findings(run: &Path) -> Findings {
    read_json(run.join("findings.json"))
}

#[test]
fn a_comparison_of_any_two_kinds_has_every_file_once() {
    let here = &TestDirectory::new();
    let mut found: Vec<NamedRun> = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        let name = format!("run-{number}");
        // A simulated drive keeps no data to verify.
        let target = match kind.split(' ').next() {
            Some("verify-write") => "scratch.bin --size 64MiB",
            Some("write-amplification") => "sim:greedy",
            _ => "sim:small",
        };
        let run = format!("run {kind} --target {target} --profile quick -o {name}");
        run_ending(here, &run, &[0, 3]);
        let findings = findings(&here.join(&name));
        found.push(NamedRun { name: (*kind).to_owned(), findings });
    }
    let marks = "crystaldiskmark --test-size 16MiB --runs 1 --time 1s --target sim:small -o marks";
    succeed(here, marks);
    let findings = findings(&here.join("marks"));
    found.push(NamedRun { name: "crystaldiskmark".into(), findings });
    let mut compared = 0;
    for (at, one) in found.iter().enumerate() {
        for other in &found[at..] {
            let Ok(comparison) = steadfast_report::compare(&[one.clone(), other.clone()]) else {
                continue;
            };
            compared += 1;
            let mut names = BTreeSet::from(["compare.html", "compare.pdf", "compare.json"]);
            let files = steadfast_report::tables(&comparison);
            for (name, _) in &files {
                assert!(names.insert(name), "{} and {}: {name} twice", one.name, other.name);
            }
            assert!(files.len() > 2, "{} and {}", one.name, other.name);
        }
    }
    // Each with itself; a suite and TKperf's tests with their parts.
    assert!(compared >= found.len() + 4, "{compared}");
    // The directory itself, where a run has parts.
    let run_of = |name: &str| {
        let number = KINDS.iter().position(|kind| kind.split(' ').next() == Some(name)).unwrap();
        format!("run-{number}")
    };
    let (suite, tkperf) = (run_of("suite"), run_of("tkperf"));
    succeed(here, &["compare", &suite, &suite, "-o", "suites"]);
    succeed(here, &["compare", &tkperf, &suite, "-o", "both"]);
    for name in ["compare.html", "compare.pdf", "compare.json"] {
        assert!(here.join("suites").join(name).is_file() && here.join("both").join(name).is_file());
    }
    refuse(here, "compare run-0 marks -o nothing", &["no procedure in common"]);
    assert!(!here.join("nothing").exists());
}
