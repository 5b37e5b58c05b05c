//! Whole procedures on a simulated drive.

use super::fixtures::*;

/// Files that a finished run leaves.
const FILES: [&str; 8] = [
    "settings.json", "journal.jsonl", "findings.json", "report.pdf", "report.html", "iops.csv",
    "steps.csv", "rounds.csv",
];

#[test]
fn the_full_method_ends_in_a_report_that_says_simulated() {
    let here = &TestDirectory::new();
    let output = run_with_pdf_in(here, "run iops --target sim:small -o run");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_contains(&stdout(&output), &["SIMULATED", "0.5", "1024"]);
    let run = here.join("run");
    for file in FILES {
        assert!(run.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    let findings = findings(&run);
    assert_eq!(findings["simulated"], true);
    assert_eq!(findings["verdict"]["steady"], true);
    assert_eq!(array(&findings["form_pages"]).len(), 8);
    assert_eq!(array(&findings["verdict"]["tracks"]).len(), 3);
    assert!(std::fs::read_to_string(run.join("report.html")).unwrap().contains("SIMULATED"));
    assert!(std::fs::read(run.join("report.pdf")).unwrap().starts_with(b"%PDF"));
}

#[test]
fn study_and_report_compute_the_same_again() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let run = here.join("run");
    let before = findings(&run);
    std::fs::remove_file(run.join("findings.json")).unwrap();
    let printed = succeed_json(here, "study run --json");
    assert_eq!(printed, before);
    assert_eq!(findings(&run), before);
    std::fs::remove_file(run.join("report.html")).unwrap();
    let written = succeed(here, "report run --format html,csv");
    assert!(written.contains("report.html") && written.contains("iops.csv"));
    let text = succeed(here, "report run --format text");
    assert!(text.contains("NOT THE FULL METHOD"), "{text}");
}

#[test]
fn a_run_that_is_never_steady_exits_with_3_and_goes_on_when_told() {
    let here = &TestDirectory::new();
    let output = run_in(here, "run iops --target sim:small --profile quick --max-rounds 3 -o run");
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("NOT ACHIEVED"), "{}", stdout(&output));
    let output = run_in(here, "resume run --max-rounds 25");
    assert!(matches!(code(&output), 0 | 3), "{output:?}");
    let rounds = std::fs::read_to_string(here.join("run/rounds.csv")).unwrap();
    assert!(rounds.lines().count() > 4, "{rounds}");
}

#[test]
fn a_plan_touches_nothing_and_has_the_best_and_the_worst_time() {
    let here = &TestDirectory::new();
    let text = succeed(here, "plan iops --target absent.bin --size 4GiB --assume 100MB");
    assert!(text.contains("5 to 25 rounds of 56 steps"), "{text}");
    assert!(text.contains("RND 1024K R, RND 128K R"), "{text}");
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0);
    let json = succeed_json(here, "plan iops --target sim:small --json");
    assert_eq!(json["best_time_ns"], 5u64 * 56 * 60 * 1_000_000_000);
    assert_eq!(json["worst_time_ns"], 25u64 * 56 * 60 * 1_000_000_000);
}

#[test]
fn completions_and_the_manual_page_are_generated() {
    let here = &TestDirectory::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(succeed(here, &["completions", shell]).contains("yes-destroy"));
    }
    let man = succeed(here, &["man"]);
    assert!(man.contains(".TH") && man.contains("resume"), "{man}");
    for command in ["devices", "plan", "run", "measure", "resume", "restore", "study", "report"] {
        let help = succeed(here, &[command, "--help"]);
        assert!(help.contains("Example"), "{command}: {help}");
    }
}

#[test]
fn the_environment_chooses_the_formats_of_every_report() {
    let here = &TestDirectory::new();
    let with_formats = |formats: &str, arguments: &str| {
        command_in(here, arguments).env("STEADFAST_FORMATS", formats).output().unwrap()
    };
    let quick = "run latency --target sim:small --profile quick -o run";
    for wrong in ["html,pdfs", "text", "html,", "HTML"] {
        let refused = with_formats(wrong, quick);
        assert_eq!(code(&refused), 2, "{wrong}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("STEADFAST_FORMATS"), "{}", stderr(&refused));
        assert!(!here.join("run").exists());
    }
    let there = |name: &str| here.join("run").join(name).exists();
    let ended = with_formats("html,json", quick);
    assert!(stdout(&ended).contains("Report: run/report.html, run/findings.json\n"));
    assert!(there("report.html") && there("findings.json"));
    assert!(!there("report.pdf") && !there("steps.csv"));
    // A complete run lacks the report of another default.
    let resumed = with_formats("", "resume run");
    assert!(matches!(code(&resumed), 0 | 3), "{}", stderr(&resumed));
    assert!(there("report.pdf") && there("steps.csv"));
    let chosen = with_formats("csv", "report run --format form");
    assert_eq!(stdout(&chosen), "run/form.pdf\n");
}
