//! `steadfast trend` over runs of simulated drives whose speed differs from one run on.

use super::fixtures::*;
use super::recomputed_tables::conduct_new;
use serde_json::Value;
use std::path::{Path, PathBuf};
use steadfast_domain::{Nanos, Profile, Settings};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drive};
use steadfast_runner::simulated_rig::SimulatedRig;

/// Conducts a run of the IOPS test in virtual time, `day` days after the first one.
fn conduct_iops(directory: &Path, spec: &DriveSpec, day: u64) {
    let mut settings = Settings::new("iops", 100 + day);
    settings.profile = Profile::Quick;
    if day == 3 {
        settings.meta.insert("test-id".into(), "v1.2".into());
    }
    let mut ssd = SimulatedSsd::new(spec, 100 + day, StopSignal::default());
    ssd.idle(Nanos::from_secs(day * 86_400));
    conduct_new(&directory.join(format!("run-{day}")), settings, SimulatedRig::new(ssd, None));
}

/// Returns the rows of a table in the summary or a chapter of findings, as JSON.
fn rows<'a>(findings: &'a Value, table: &str) -> Vec<&'a Value> {
    let exhibits = array(&findings["chapters"]).iter().flat_map(|page| array(&page["exhibits"]));
    let mut all = array(&findings["summary"]).iter().chain(exhibits);
    let found = all.find(|exhibit| exhibit["table"]["id"] == table);
    found.map_or(Vec::new(), |found| array(&found["table"]["rows"]).iter().collect())
}

fn number(row: &Value, cell: usize) -> f64 {
    row["cells"][cell]["number"]["value"].as_f64().unwrap()
}

/// Twelve runs; from the eighth on the drive takes 12 % longer to program. Writes are as much
/// slower as programs are the only thing that takes their time; reads are not.
#[test]
fn a_drive_that_became_slower_is_found_at_its_first_slow_run() {
    let here = &TestDirectory::new();
    let usual = drive("small").unwrap();
    let slower = DriveSpec { program_ns: 840_000, ..usual.clone() };
    let runs = here.join("runs");
    for day in 1..=12 {
        conduct_iops(&runs, if day < 8 { usual } else { &slower }, day);
    }
    let found: Value = parse_json(&run_ending(here, "trend runs --json", &[5]));
    assert_eq!(found["end"], "failed");
    // Runs that were not steady are left out, so the number of the run may be less than 8.
    let mut changes = rows(&found, "trend-changes");
    changes.retain(|row| row["id"].as_str().unwrap().starts_with("RND 4K W iops "));
    let [change] = changes.as_slice() else { panic!("{changes:#?}") };
    let first_run = change["cells"][0]["text"].as_str().unwrap();
    assert!(first_run.ends_with(": run-8"), "{first_run}");
    let percent = number(change, 4);
    assert!((-13.0..-8.0).contains(&percent), "{percent}");
    for row in rows(&found, "trend-metrics") {
        let id = row["id"].as_str().unwrap();
        let verdict = row["cells"][6]["text"].as_str().unwrap();
        match id {
            "RND 4K W iops" | "RND 4K W art" => assert_eq!(verdict, "WORSE", "{id}"),
            // A read of a whole superblock waits for no program.
            "RND 1024K R iops" => assert_eq!(verdict, "same", "{id}"),
            "RND 4K W mrt" => panic!("single I/Os are not judged"),
            _ => {}
        }
    }
    assert_outputs(here);
    assert_baselines(here);
    assert_left_out_and_refused(here);
}

fn assert_outputs(here: &Path) {
    run_ending(here, "trend runs -o out --format html,csv,json,junit,text", &[5]);
    for name in ["trend.html", "trend.json", "trend.xml", "trend.txt", "trend-values.csv"] {
        assert!(here.join("out").join(name).is_file(), "{name}");
    }
    let junit = std::fs::read_to_string(here.join("out/trend.xml")).unwrap();
    let suite = "<testcase classname=\"IOPS\" name=\"RND 4K W: IOPS\"><failure message=\"-";
    assert!(junit.contains(suite), "{junit}");
    let counted = |what: &str| junit.matches(what).count();
    assert!(junit.contains(&format!("failures=\"{}\"", counted("<failure "))), "{junit}");
    let values = std::fs::read_to_string(here.join("out/trend-values.csv")).unwrap();
    let of_metric = values.lines().filter(|line| line.contains(",iops,RND 4K W,IOPS,"));
    let marked: Vec<&str> = of_metric.clone().filter(|line| line.contains(",yes,")).collect();
    assert!(of_metric.count() >= 10);
    assert!(marked.len() == 1 && marked[0].starts_with("run-8,"), "{marked:?}");
    // No change is as large.
    succeed(here, "trend runs -o values.parquet --change-min 50%");
    refuse(here, "trend runs --format parquet", &["-o FILE.parquet"]);
    refuse(here, "trend runs --format csv,json", &["-o DIR"]);
}

/// The names of a baseline: a run's name, its test ID, its directory, and a run elsewhere.
fn assert_baselines(here: &Path) {
    for baseline in ["run-3", "v1.2", "runs/run-3"] {
        let trend = ["trend", "runs", "--baseline", baseline, "--json"];
        let found: Value = parse_json(&run_ending(here, &trend, &[5]));
        let metrics = rows(&found, "trend-metrics");
        let metric = metrics.iter().find(|row| row["id"] == "RND 4K W iops").unwrap();
        assert!((-13.0..-8.0).contains(&number(metric, 5)), "{metric}");
    }
    // No run is worse than one of the newest level.
    succeed(here, "trend runs --baseline run-9");
    refuse(here, "trend runs --baseline v9", &["'v9'", "run-1", "test ID"]);
    // Fewer runs than it takes to know their noise: the windows decide, against a run elsewhere.
    run_ending(here, "trend runs/run-8 runs/run-9 --baseline runs/run-1", &[5]);
    succeed(here, "trend runs/run-1 runs/run-2 --baseline run-1");
    let text = succeed(here, "trend runs/run-8 runs/run-1");
    assert!(text.contains("--baseline"), "{text}");
}

/// A run that did not end is left out, and fails the trend if it is the newest. Another model is
/// refused.
fn assert_left_out_and_refused(here: &Path) {
    let broken = here.join("runs/run-13");
    copy_ledger(&here.join("runs/run-12"), &broken);
    cut_journal(&broken, |_| 20);
    // The newest run does not count.
    let found: Value = parse_json(&run_ending(here, "trend runs --json --change-min 50", &[5]));
    let left_out = rows(&found, "trend-left-out");
    assert_eq!(rows(&found, "trend-runs").len() + left_out.len(), 13);
    let newest = left_out.last().unwrap();
    assert_eq!(newest["head"], "run-13");
    assert!(newest["cells"][1]["text"].as_str().unwrap().starts_with("unfinished: "));
    refuse(here, "trend runs/run-13", &["no run is left", "unfinished"]);
    std::fs::remove_dir_all(&broken).unwrap();
    finished_run(here, "sim:throttling", "other");
    let models =
        ["different drive models", "Simulated Small (run-1", "Simulated Throttling (other)"];
    refuse(here, "trend runs other", &models);
    succeed(here, "run idle-exit --target sim:small --profile quick -o idle");
    refuse(here, "trend runs idle", &["IOPS (12 runs)", "--procedure"]);
    refuse(here, "trend runs --procedure nope", &["'nope'", "IOPS (12 runs)"]);
    run_ending(here, "trend runs idle --procedure iops", &[5]);
    std::fs::create_dir(here.join("empty")).unwrap();
    refuse(here, "trend empty", &["no run directory", "empty"]);
}

/// A script of a job in docs/ci.md, and the variable that numbers its pipelines.
struct CiScript {
    name: &'static str,
    number: &'static str,
    lines: String,
}

/// Returns the scripts of the two jobs as a shell would run them.
fn ci_scripts() -> [CiScript; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    let page = std::fs::read_to_string(path).unwrap();
    let yaml = |heading: &str| {
        let section = page.split(heading).nth(1).unwrap();
        section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
    };
    let github = yaml("## GitHub Actions");
    let block = github.split("run: |\n").nth(1).unwrap();
    let block = block.lines().take_while(|line| line.starts_with("          "));
    let github: Vec<&str> = block.collect();
    let gitlab = yaml("## GitLab");
    let list = gitlab.split("script:\n").nth(1).unwrap();
    let list = list.lines().map_while(|line| line.strip_prefix("    - "));
    // GitLab ends a job with the first command that fails.
    let gitlab: Vec<&str> = std::iter::once("set -e").chain(list).collect();
    [
        CiScript { name: "github", number: "GITHUB_RUN_NUMBER", lines: github.join("\n") },
        CiScript { name: "gitlab", number: "CI_PIPELINE_IID", lines: gitlab.join("\n") },
    ]
}

#[test]
fn the_scripts_of_the_page_on_ci_run() {
    let here = &TestDirectory::new();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_steadfast"));
    let directory = program.parent().unwrap().display().to_string();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    for script in ci_scripts() {
        let place = here.join(script.name);
        std::fs::create_dir(&place).unwrap();
        let pipeline = |number: u32| {
            std::process::Command::new("bash")
                .args(["-c", &script.lines])
                .current_dir(&place)
                .env("PATH", &path)
                .env("STATE_DIRECTORY", env!("CARGO_TARGET_TMPDIR"))
                .envs([("TARGET", "sim:small"), ("SERIAL", "sim:small"), ("PROFILE", "quick")])
                .envs([
                    ("RUNS", "runs"),
                    ("BASELINE", "run-9"),
                    (script.number, &*number.to_string()),
                ])
                .output()
                .unwrap()
        };
        for number in 9..12 {
            let output = pipeline(number);
            assert_eq!(code(&output), 0, "{}, {number}: {}", script.name, stderr(&output));
            assert!(place.join("trend/trend.xml").is_file());
        }
        let runs = std::fs::read_to_string(place.join("trend/trend-runs.csv")).unwrap();
        let names: Vec<&str> =
            runs.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
        assert_eq!(names, ["1: run-9", "2: run-10", "3: run-11"]);
        // A pipeline whose run fails ends with that failure, before the trend.
        assert_eq!(code(&pipeline(11)), 1, "its directory is taken");
    }
}
