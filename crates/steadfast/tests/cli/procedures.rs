//! Every procedure from beginning to end on simulated drives: what is found must
//! be what was accepted before. `BLESS=1` accepts what is found; read the diff.

use super::fixtures::*;
use super::report_assertions::assert_reports_are_readable;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Runs a procedure and compares its text report and the outline of all its
/// exhibits with the accepted ones.
fn assert_accepted(name: &str, arguments: &str, ends_with: i32) {
    let here = &TestDirectory::new();
    run_ending(here, &format!("run {arguments} -o run"), &[ends_with]);
    assert_reports_are_readable(here, "run");
    let mut found = succeed(here, "report run --format text");
    outline(&findings(here.join("run")), &mut found);
    golden(name, &found);
}

/// Compares with the accepted text, or accepts it.
pub fn golden(name: &str, found: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/findings");
    let path = directory.join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(expected.lines()).find(|(found, accepted)| found != accepted);
    assert!(expected == found, "{name}: {differs:?}; look at it, then BLESS=1 to accept");
}

/// Appends the titles of pages and their exhibits: tables with their size, plots with their series.
pub fn outline(findings: &Value, into: &mut String) {
    for part in ["form_pages", "chapters"] {
        for page in findings[part].as_array().into_iter().flatten() {
            writeln!(into, "{part}: {}", page["title"].as_str().unwrap_or_default()).unwrap();
            for exhibit in page["exhibits"].as_array().into_iter().flatten() {
                writeln!(into, "  {}", line(exhibit)).unwrap();
            }
        }
    }
    for inner in findings["parts"].as_array().into_iter().flatten() {
        outline(inner, into);
    }
}

fn line(exhibit: &Value) -> String {
    let (kind, content) = exhibit.as_object().unwrap().iter().next().unwrap();
    let count = |field: &str| content[field].as_array().map_or(0, Vec::len);
    let title = content["title"].as_str().unwrap_or_default();
    match kind.as_str() {
        "table" => format!("table '{title}': {} x {}", count("rows"), count("columns")),
        "plot" => {
            let points = |series: &Value| series["points"].as_array().map_or(0, Vec::len);
            let series = content["series"].as_array().into_iter().flatten();
            let points: Vec<usize> = series.map(points).collect();
            format!("plot '{title}': points {points:?}")
        }
        _ => format!("{kind} '{title}'"),
    }
}

fn quick(name: &str, more: &str) {
    quick_ends(name, more, 0);
}

fn quick_ends(name: &str, more: &str, with: i32) {
    let arguments = format!("{name} --target sim:small --profile quick {more}");
    assert_accepted(&format!("quick-{name}"), &arguments, with);
}

#[test]
fn iops_and_throughput_find_what_was_accepted() {
    quick("iops", "");
    quick("throughput", "");
}

#[test]
fn latency_and_saturation_find_what_was_accepted() {
    quick("latency", "");
    quick("wsat", "");
    quick("composite", "--mix 40/60");
}

#[test]
fn demand_and_recovery_find_what_was_accepted() {
    quick("dirth", "");
    // Its preconditioning is not steady in ten cycles, so the run is not.
    quick_ends("composite-dirth", "", 3);
    quick("xsr", "");
    // In ten cycles the drive is filled, and not steady after it.
    quick_ends("hir", "", 3);
}

#[test]
fn commits_find_what_was_accepted() {
    quick("commit", "");
    let exact = "commit --target sim:exact --profile quick --step-time 5s";
    assert_accepted("exact-commit", exact, 0);
}

#[test]
fn a_load_curve_finds_what_was_accepted() {
    quick("load-curve", "--slo p99=2ms");
}

/// Next to writes of 32 in the queue, the victim cannot keep up; next to one at a time, it can.
#[test]
fn neighbors_find_what_was_accepted() {
    quick("neighbors", "");
    let mild = "neighbors --target sim:small --profile quick --step-time 5s --set rate=1000 \
                --set offender-demand=T1Q1 --set 'offenders=RND 4K RW50,SEQ 128K W'";
    assert_accepted("mild-neighbors", mild, 0);
}

#[test]
fn fills_idle_exits_and_power_cuts_find_what_was_accepted() {
    quick("fill", "");
    quick("idle-exit", "");
    quick("power-cut", "");
    assert_accepted("pslc-fill", "fill --target sim:pslc --set levels=0,50", 0);
    assert_accepted("dozing-idle-exit", "idle-exit --target sim:dozing", 0);
}

#[test]
fn a_write_amplification_finds_what_was_accepted() {
    let run = "write-amplification --target sim:greedy --profile quick";
    assert_accepted("write-amplification", run, 0);
}

#[test]
fn factors_find_what_was_accepted() {
    quick("factors", "");
}

#[test]
fn a_suite_and_the_client_class_find_what_was_accepted() {
    quick("suite", "--procedures iops,wsat");
    let client = "latency --target sim:client --class client --step-time 1s";
    assert_accepted("client-latency", client, 0);
}

/// One plan with the time of all workloads. A run that was cut continues with the workload in which
/// it was cut, and finds the same.
#[test]
fn a_campaign_is_planned_whole_and_resumed_in_its_part() {
    let here = &TestDirectory::new();
    let campaign = "wsat-campaign --target sim:small --profile quick --set workloads=oltp,video \
                    --seed 7";
    let plan = succeed(here, &format!("plan {campaign}"));
    assert!(plan.contains("oltp/") && plan.contains("video/"), "{plan}");
    succeed(here, &format!("run {campaign} -o run"));
    let text = |run: &str| std::fs::read_to_string(here.join(run).join("metrics.csv")).unwrap();
    copy_ledger(&here.join("run"), &here.join("cut"));
    // Cut in the second workload, five steps after it began.
    cut_journal(&here.join("cut"), |lines| {
        lines.iter().position(|line| line.contains("\"part\":\"video\"")).unwrap() + 8
    });
    succeed(here, "resume cut");
    assert_eq!(text("cut"), text("run"));
}

/// Every active range and amount of PTS-C 1.x; the small drive holds smaller ones.
fn client_1(name: &str) {
    let run = format!(
        "{name} --target sim:small --profile pts-1.1 --class client --step-time 1s \
         --set ar-amount=64MiB,256MiB --set ar-segments=64"
    );
    assert_accepted(&format!("client-1-{name}"), &run, 0);
}

#[test]
fn scattered_active_ranges_find_what_was_accepted() {
    client_1("iops");
    client_1("throughput");
    client_1("latency");
}

/// The full matrix in short steps on a drive that gets slower with every byte.
#[test]
fn a_drive_that_is_never_steady_says_so() {
    assert_accepted("unsteady-iops", "iops --target sim:unsteady --step-time 3s", 3);
}

#[test]
fn a_drive_that_throttles_is_named_as_the_reason() {
    let run = "iops --target sim:throttling --step-time 10s --max-rounds 6";
    assert_accepted("throttling-iops", run, 3);
}

#[test]
fn a_gap_voids_the_round_it_lies_in() {
    let run = "iops --target sim:small --profile quick --sim-gap 12:1h";
    assert_accepted("gap-iops", run, 0);
    let here = &TestDirectory::new();
    let output = run_in(here, "run iops --target x --size 64MiB --sim-gap 12:1h");
    assert!(code(&output) != 0 && stderr(&output).contains("simulated"), "{}", stderr(&output));
    assert!(!here.join("x").exists());
}

/// The steady-state pattern in a round.
#[derive(Debug)]
struct WriteRound {
    iops: f64,
    seed: Option<u64>,
}

/// A load that continues after a gap writes at random addresses, not from the first address again:
/// then the drive is in the same state, and the test finds the same as without the gap.
#[test]
fn a_gap_in_a_long_load_does_not_change_what_is_found() {
    let here = &TestDirectory::new();
    let base =
        "run wsat --target sim:small --steady-state btw --step-time 1s --set between-time=9s";
    let rounds_of = |name: &str, more: &str| -> Vec<WriteRound> {
        succeed(here, &format!("{base} -o {name} {more}"));
        let mut rounds = Vec::new();
        for (step, outcome) in steadfast_runner::Ledger::read(&here.join(name)).unwrap().steps() {
            let measurement = &outcome.measurement;
            if step.place.label == "RND 4K W" {
                let iops = measurement.iops().unwrap();
                rounds.push(WriteRound { iops, seed: measurement.seed });
            }
        }
        rounds
    };
    let steady_iops = |rounds: &[WriteRound]| {
        rounds.iter().rev().take(5).map(|round| round.iops).sum::<f64>() / 5.0
    };
    let rounds = rounds_of("unbroken", "");
    assert!(rounds.iter().all(|round| round.seed.is_none()));
    let unbroken = steady_iops(&rounds);
    for gap in ["61", "91"] {
        let rounds = rounds_of(gap, &format!("--sim-gap {gap}:50ms"));
        let broken = steady_iops(&rounds);
        let off = broken / unbroken - 1.0;
        assert!(off.abs() < 0.05, "gap before {gap}: {broken} for {unbroken}");
        let after = gap.parse::<usize>().unwrap() / 10;
        assert!(rounds[..after].iter().all(|round| round.seed.is_none()), "{rounds:?}");
        let seed = rounds[after].seed;
        assert!(seed.is_some() && rounds.last().unwrap().seed == seed);
    }
}

/// The drive is gone three hours into a long test: what was finished is kept and counted, and no
/// report is written.
#[test]
fn a_drive_that_fails_after_three_hours_leaves_what_was_finished() {
    let here = &TestDirectory::new();
    let output = run_in(here, "run hir --target sim:failing -o run");
    let text = stderr(&output) + &stdout(&output);
    assert!(code(&output) > 3 || code(&output) == 1, "{text}");
    assert!(text.contains("no longer answers"), "{text}");
    assert!(!here.join("run/findings.json").exists(), "no report of a part");
    let steps = finished_steps(&here.join("run"));
    // Minutes of the preconditioning and five-second accesses until then.
    assert!(steps > 180, "{steps}");
    let resumed = run_in(here, "resume run");
    let text = stderr(&resumed);
    assert!(code(&resumed) != 0 && text.contains("no longer answers"), "{text}");
    assert_eq!(finished_steps(&here.join("run")), steps);
}
