//! Runs compared side by side, and judged by a datasheet.

use super::fixtures::*;
use std::path::Path;

/// Runs of the small simulated drive in `one` and `two`, which differ in their demand.
fn write_two_runs(directory: &Path) {
    finished_run(directory, "sim:small", "one");
    run_in(directory, "run iops --target sim:small --profile quick -o two --threads 2");
}

#[test]
fn runs_are_compared_and_judged() {
    let here = &TestDirectory::new();
    write_two_runs(here);
    let shown = succeed(here, "compare one two");
    assert!(shown.contains("TC 4 / QD 32  TC 2 / QD 32"), "{shown}");
    assert!(shown.contains("(one)") && shown.contains("Change against A, %"), "{shown}");
    succeed(here, "compare one two/findings.json -o both");
    for file in ["compare.html", "compare.pdf", "compare.json", "iops-summary.csv", "devices.csv"] {
        assert!(here.join("both").join(file).metadata().unwrap().len() > 50, "{file}");
    }
    succeed(here, "compare one one -o same.html");
    assert!(here.join("same.html").is_file() && !here.join("same").exists());
    assert_long_table(here);
    assert_judged_by_limits(here);
    assert_refusals(here);
}

/// The long table has one line for every number of every run, however many runs there are.
fn assert_long_table(here: &Path) {
    let runs = ["one", "two", "one", "two", "one", "two", "one", "two"];
    let printed = succeed(here, &[&["compare"], &runs[..], &["--long-table", "csv"]].concat());
    let mut lines = printed.lines();
    let head = "run,procedure,metric,point,size_bytes,read_percent,direction,unit,value,low,high,\
                simulated";
    assert_eq!(lines.next(), Some(head));
    let of = |run: &str| {
        std::fs::read_to_string(here.join(run).join("metrics.csv")).unwrap().lines().count() - 1
    };
    assert_eq!(lines.clone().count(), 4 * (of("one") + of("two")), "every number of every run");
    let is_4k = |line: &&str| line.contains(",IOPS,iops,RND 4K W,4096,0,all,IOPS,");
    assert_eq!(lines.filter(is_4k).count(), 8, "{printed}");
    run_ending(here, &[&["compare"], &runs[..], &["-o", "long.parquet"]].concat(), &[0]);
    let file = std::fs::read(here.join("long.parquet")).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"), "{} bytes", file.len());
}

fn assert_judged_by_limits(here: &Path) {
    let listed = succeed(here, "check one --list");
    assert!(listed.contains("table = \"iops\"") && listed.contains("\"100/0\""), "{listed}");
    let limit = |row: &str| {
        let text = format!("[[limit]]\ntable='iops'\nrow='{row}'\ncolumn='100/0'\nmin=1\n");
        std::fs::write(here.join("limits.toml"), text).unwrap();
    };
    limit("4");
    assert_objections(here);
    let check = "check one --limits limits.toml --allow unsteady,quick,simulated";
    let passed = run_ending(here, check, &[0]);
    assert!(stdout(&passed).contains("PASS"));
    let page = std::fs::read_to_string(here.join("one/check.html")).unwrap();
    assert!(page.contains("Check against limits"));
    limit("5");
    let failed = run_ending(here, &format!("{check} --no-report --json"), &[5]);
    let answer: serde_json::Value = parse_json(&failed);
    assert_eq!(answer["pass"], false);
    assert!(answer["limits"][0]["reason"].as_str().unwrap().contains("no row '5'"));
}

/// A quick run of a simulated drive does not pass, and says why, until every reason is allowed.
fn assert_objections(here: &Path) {
    let check = |allow: &str| {
        let check = format!("check one --limits limits.toml --no-report {allow}");
        run_ending(here, &check, &[5])
    };
    let text = stdout(&check(""));
    assert!(text.starts_with("NO PASS: the number is within its limits"), "{text}");
    for name in ["quick", "simulated"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} (does not"))), "{text}");
    }
    // Simulated is not allowed.
    check("--allow unsteady,quick");
    let answer: serde_json::Value = parse_json(&check("--json --allow simulated"));
    let objections = array(&answer["objections"]);
    let allowed = |name: &str| {
        let found = objections.iter().find(|objection| objection["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {answer}"))["allowed"].as_bool()
    };
    assert_eq!((allowed("simulated"), allowed("quick")), (Some(true), Some(false)));
    assert_eq!(answer["pass"], false);
}

/// Numbers within their limits do not pass before the run has ended.
#[test]
fn a_run_that_has_not_ended_does_not_pass() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let text = "[[limit]]\ntable='iops'\nrow='4'\ncolumn='100/0'\nmin=1\n";
    std::fs::write(here.join("limits.toml"), text).unwrap();
    let check = |run: &str, code: i32| {
        let allow = "--allow unsteady,quick,simulated";
        let check = format!("check {run} --limits limits.toml {allow}");
        stdout(&run_ending(here, &check, &[code]))
    };
    check("run", 0);
    cut_journal(&here.join("run"), |lines| lines.len() - 1);
    succeed(here, "report run --format json");
    for run in ["run", "run/findings.json"] {
        let text = check(run, 5);
        assert!(text.contains("UNFINISHED") && !text.contains("PASS"), "{text}");
    }
    assert!(std::fs::read_to_string(here.join("run/check.html")).unwrap().contains("UNFINISHED"));
    let output = run_in(here, "check run --limits limits.toml --json");
    let answer: serde_json::Value = parse_json(&output);
    assert_eq!((&answer["finished"], &answer["pass"]), (&false.into(), &false.into()));
}

fn assert_refusals(here: &Path) {
    std::fs::write(here.join("bad.toml"), "[[limit]]\ntable = 3\n").unwrap();
    refuse(here, "compare one", &["compare needs two to seven runs; got 1"]);
    refuse(here, "compare one nowhere", &["nowhere", "run directory"]);
    let limits = "bad.toml: this is a file of limits";
    let command = "steadfast check RUN_DIR --limits bad.toml";
    refuse(here, "compare one bad.toml", &[limits, command]);
    std::fs::write(here.join("new.json"), "{\"version\": 4, \"title\": \"IOPS\"}").unwrap();
    let expected = ["new.json cannot be used", "findings are of version 4", "steadfast study"];
    refuse(here, "compare one new.json", &expected);
    refuse(here, "check new.json --list", &expected);
    // Of this version, and cut: its digest is missing.
    std::fs::write(here.join("cut.json"), "{\"version\": 3, \"title\": \"IOPS\"}").unwrap();
    refuse(here, "compare one cut.json", &["cut.json cannot be used", "no SHA-256"]);
    std::fs::write(here.join("none.json"), "{\"title\": \"IOPS\"}").unwrap();
    refuse(here, "compare one none.json", &["none.json cannot be used", "contains no findings"]);
    refuse(here, "compare one two -o x.txt", &[".html, .pdf or .json"]);
    refuse(here, "compare one --long-table parquet", &["-o FILE.parquet"]);
    refuse(here, "compare one --long-table csv -o x.parquet", &["--long-table"]);
    refuse(here, "compare one --json -o x.csv", &["--json"]);
    refuse(here, "check one", &["--limits"]);
    refuse(here, "check one --limits bad.toml", &["bad.toml", "line 2"]);
    let output = run_in(here, "check one --limits bad.toml");
    let lines: Vec<String> = stderr(&output).lines().skip(1).map(str::to_owned).collect();
    assert_eq!(lines, ["    |", "  2 | table = 3", "    |         ^"]);
    refuse(here, "check one --limits missing.toml", &["missing.toml"]);
}
