//! A second program computes the tables of every procedure from the journal alone
//! and must find what the first one reports: for a run in one piece, for runs with
//! a gap in each of their phases, and for a run that was killed and resumed.

use super::fixtures::{TestDirectory, findings, has_module, spawn_in, stderr, stdout, wait_until};
use super::report_assertions::{assert_captions_are_true, assert_plots_are_on_page};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use steadfast_domain::settings::SimGap;
use steadfast_domain::{Nanos, Profile, Settings};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drive};
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::progress::NoProgress;
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig, RunPlan};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/recompute.py");

/// Phases that are like another phase of their procedure: they are left out.
const SIMILAR_PHASES: [&str; 8] =
    ["wait-2s", "wait-3s", "wait-5s", "baseline-1s", "baseline-2s", "baseline-3s", "mid-", "min-"];

/// The settings of a short run.
fn settings(procedure: &str, more: &[(&str, &str)], gap: Option<SimGap>) -> Settings {
    let mut settings = Settings::new(procedure, 11);
    (settings.profile, settings.sim_gap) = (Profile::Quick, gap);
    for (name, value) in more {
        match *name {
            "steady-state" => settings.steady_state = value.parse().unwrap(),
            "slo" => settings.slo = Some(value.parse().unwrap()),
            name => settings.set(name, value),
        }
    }
    settings
}

/// The drive that shows most of a procedure.
fn drive_for(procedure: &str) -> &'static str {
    match procedure {
        "fill" => "pslc",
        "idle-exit" => "dozing",
        "write-amplification" => "greedy",
        _ => "small",
    }
}

/// The same settings as a command line.
fn command_line(procedure: &str, more: &[(&str, &str)]) -> String {
    let drive = drive_for(procedure);
    let mut line = format!("run {procedure} --target sim:{drive} --profile quick --seed 11 -o run");
    for (name, value) in more {
        line += &match *name {
            "steady-state" | "slo" => format!(" --{name} '{value}'"),
            name => format!(" --set '{name}={value}'"),
        };
    }
    line
}

/// Conducts the steps that the ledger in this directory does not have yet, and writes the findings;
/// no report is made, which takes longer than the run.
pub fn conduct_steps(run: &Path, begins: Option<Settings>) {
    let procedure = match &begins {
        Some(settings) => settings.procedure.clone(),
        None => Ledger::read(run).unwrap().plan.settings.procedure,
    };
    conduct_steps_on(run, begins, drive(drive_for(&procedure)).unwrap());
}

/// Conducts as [`conduct_steps`], on a simulated drive made to this specification.
pub fn conduct_steps_on(run: &Path, begins: Option<Settings>, spec: &DriveSpec) {
    let gap = begins.as_ref().and_then(|settings| settings.sim_gap);
    let rig = SimulatedRig::new(SimulatedSsd::new(spec, 11, StopSignal::default()), gap);
    match begins {
        Some(settings) => conduct_new(run, settings, rig),
        None => {
            let (ledger, contents) = Ledger::open(run).unwrap();
            conduct_rest(ledger, &contents.lines, &contents.plan, rig);
        }
    }
    let contents = Ledger::read(run).unwrap();
    let plan = &contents.plan;
    let procedure = steadfast_procedures::procedure(&plan.settings, plan.geometry(), &[]).unwrap();
    let findings = procedure.study(&contents.into_record());
    assert_captions_are_true(&findings);
    std::fs::write(run.join("findings.json"), serde_json::to_vec(&findings).unwrap()).unwrap();
}

/// Conducts a run from its beginning.
pub fn conduct_new(run: &Path, settings: Settings, rig: SimulatedRig) {
    let plan =
        RunPlan::new("steadfast 0", rig.now_unix_ms(), "sim", rig.device().clone(), settings);
    conduct_rest(Ledger::create(run, &plan).unwrap(), &[], &plan, rig);
}

/// Conducts the steps that are not among the lines of a run's journal.
fn conduct_rest(ledger: Ledger, lines: &[JournalLine], plan: &RunPlan, mut rig: SimulatedRig) {
    let procedure = steadfast_procedures::procedure(&plan.settings, plan.geometry(), &[]).unwrap();
    let ending =
        conduct(procedure.as_ref(), &mut rig, ledger, lines, "steadfast 0", &mut NoProgress);
    assert_eq!(ending.unwrap(), RunOutcome::Complete);
}

fn phases(run: &Path) -> Vec<String> {
    let contents = Ledger::read(run).unwrap();
    contents.steps().map(|(step, _)| step.place.phase.clone()).collect()
}

/// Returns the middle step of each phase, counted through the run from 1.
fn middle_steps(run: &Path) -> Vec<u64> {
    let phases = phases(run);
    let mut unique = phases.clone();
    unique.sort();
    unique.dedup();
    unique.retain(|phase| !SIMILAR_PHASES.iter().any(|similar| phase.starts_with(similar)));
    let middle = |phase: &String| {
        let numbered = (1..).zip(&phases).filter(|(_, other)| *other == phase);
        let steps: Vec<u64> = numbered.map(|(number, _)| number).collect();
        steps[steps.len() / 2]
    };
    unique.iter().map(middle).collect()
}

/// Kills a run after half of its steps and resumes it.
fn kill_and_resume(run: &Path, line: &str, steps: usize) {
    let mut child = spawn_in(run.parent().unwrap(), line, Stdio::null(), Stdio::null());
    let journal = run.join("journal.jsonl");
    let written = || std::fs::read(&journal).map_or(0, |text| text.split(|b| *b == b'\n').count());
    wait_until("its steps", || written() >= steps / 2 || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    conduct_steps(run, None);
}

/// Conducts the three kinds of run and has them recomputed.
fn assert_recomputed(procedure: &str, more: &[(&str, &str)]) {
    if !has_module("numpy") {
        return;
    }
    let here = &TestDirectory::new();
    let mut runs: Vec<PathBuf> = Vec::new();
    let mut place = |name: &str| {
        let directory = here.join(name);
        std::fs::create_dir_all(&directory).unwrap();
        runs.push(directory.join("run"));
        directory.join("run")
    };
    let whole = place("whole");
    conduct_steps(&whole, Some(settings(procedure, more, None)));
    assert_plots_are_on_page(&serde_json::from_value(findings(&whole)).unwrap());
    for step in middle_steps(&whole) {
        let gap = SimGap { before: step, lasts: Nanos::from_millis(500) };
        conduct_steps(&place(&format!("gap-{step}")), Some(settings(procedure, more, Some(gap))));
    }
    kill_and_resume(&place("killed"), &command_line(procedure, more), phases(&whole).len());
    let output = Command::new("python3").arg(SCRIPT).args(&runs).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    print!("{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [first, gaps @ .., last] = lines.as_slice() else { panic!("{text}") };
    let is_whole = |line: &&str| line.ends_with(" 0 gaps");
    assert!(is_whole(first) && is_whole(last) && !gaps.iter().any(is_whole), "{text}");
}

/// The second program finds a number that is not the journal's.
#[test]
fn a_number_that_is_not_the_journals_is_found() {
    if !has_module("numpy") {
        return;
    }
    let here = &TestDirectory::new();
    let run = here.join("run");
    conduct_steps(&run, Some(settings("latency", &[], None)));
    let file = run.join("findings.json");
    let right = std::fs::read_to_string(&file).unwrap();
    let average = right.find("\"average\":").unwrap() + "\"average\":".len();
    let mut wrong = right.clone();
    wrong.replace_range(average..average, "1");
    std::fs::write(&file, wrong).unwrap();
    let output = Command::new("python3").arg(SCRIPT).arg(&run).output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("RND 4K W average: recomputed"), "{}", stderr(&output));
}

macro_rules! procedures {
    ($($test:ident: $procedure:literal, $more:expr;)+) => {
        $(#[test]
        fn $test() {
            assert_recomputed($procedure, &$more);
        })+
    };
}

procedures! {
    recomputed_iops: "iops", [];
    recomputed_throughput: "throughput", [];
    recomputed_latency: "latency", [];
    recomputed_wsat: "wsat", [("steady-state", "btw")];
    recomputed_composite: "composite", [];
    recomputed_dirth: "dirth", [];
    recomputed_composite_dirth: "composite-dirth", [];
    recomputed_xsr: "xsr", [("first-time", "12s"), ("middle-time", "8s"), ("last-time", "12s")];
    recomputed_hir: "hir", [];
    recomputed_commit: "commit", [("committers", "1,4,16"), ("block-sizes", "4K,16K")];
    recomputed_load_curve: "load-curve", [("slo", "p99=20ms"), ("workload", "RND 4K RW70")];
    recomputed_neighbors: "neighbors", [];
    recomputed_mild_neighbors: "neighbors",
        [("rate", "1000"), ("offender-demand", "T1Q1"), ("offenders", "RND 4K RW50,SEQ 128K W")];
    recomputed_fill: "fill", [("levels", "30,45"), ("idle-times", "10,240")];
    recomputed_idle_exit: "idle-exit", [];
    recomputed_factors: "factors", [];
    recomputed_write_amplification: "write-amplification", [];
}
