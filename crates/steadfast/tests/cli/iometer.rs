//! Iometer's files: planned, run, their results written, exported.

use super::fixtures::*;
use serde_json::Value;
use std::path::Path;

/// Two workers with the same load, two queue depths, a part of the disk.
pub fn icf() -> String {
    let worker = |number: u32| {
        format!(
            "'Worker\r
\tWorker {number}\r
'Worker type\r
\tDISK\r
'Default target settings for worker\r
'Disk maximum size,starting sector\r
\t131072,2048\r
'End default target settings for worker\r
'Target assignments\r
'Target\r
\tE:\r
'Target type\r
\tDISK\r
'End target\r
'End target assignments\r
'End worker\r
"
        )
    };
    format!(
        "Version 2006.07.27\r
'TEST SETUP ====================================================================\r
'Test Description\r
\tTwo workers\r
'Run Time\r
'\thours      minutes    seconds\r
\t0          0          1\r
'Ramp Up Time (s)\r
\t0\r
'Queue Depth Cycling\r
'\tstart      end        step       step type\r
\t2          8          4          EXPONENTIAL\r
'Test Type\r
\tCYCLE_OUTSTANDING_IOS\r
'END test setup\r
'ACCESS SPECIFICATIONS =========================================================\r
'Access specification name,default assignment\r
\tmixed, three to one,DISK\r
'size,% of size,% reads,% random,delay,burst,align,reply\r
\t4096,100,75,100,0,1,0,0\r
'END access specifications\r
'MANAGER LIST ==================================================================\r
'Manager ID, manager name\r
\t1,OAK\r
{}{}'End manager\r
'END manager list\r
Version 2006.07.27\r
",
        worker(1),
        worker(2)
    )
}

/// A directory with that configuration.
fn directory() -> TestDirectory {
    let directory = TestDirectory::new();
    std::fs::write(directory.join("two.icf"), icf()).unwrap();
    directory
}

/// That configuration with a text replaced in its second worker.
fn with_second_worker(from: &str, to: &str) -> String {
    let icf = icf();
    let (first, second) = icf.split_at(icf.rfind("'Worker\r").unwrap());
    format!("{first}{}", second.replace(from, to))
}

/// A row in a file of results.
struct IometerRow {
    /// Values by their columns, in the order of the file.
    cells: Vec<(String, String)>,
}

impl IometerRow {
    fn cell(&self, column: &str) -> &str {
        &self.cells.iter().find(|(name, _)| name == column).unwrap().1
    }

    fn number(&self, column: &str) -> f64 {
        self.cell(column).parse().unwrap()
    }

    /// `ALL`, `MANAGER`, `PROCESSOR`, `WORKER` or `DISK`.
    fn kind(&self) -> &str {
        self.cell("Target Type")
    }
}

fn of_kind<'a>(rows: &'a [IometerRow], kind: &str) -> Vec<&'a IometerRow> {
    rows.iter().filter(|row| row.kind() == kind).collect()
}

/// Returns the rows in a file of results.
fn rows(path: &Path) -> Vec<IometerRow> {
    let text = std::fs::read_to_string(path).unwrap();
    let kinds = ["ALL,", "MANAGER,", "PROCESSOR,", "WORKER,", "DISK,"];
    let mut header: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if line.starts_with("'Target Type") {
            header = line[1..].split(',').map(str::to_owned).collect();
        } else if kinds.iter().any(|kind| line.starts_with(kind)) {
            let values = line.split(',').map(str::to_owned);
            rows.push(IometerRow { cells: header.iter().cloned().zip(values).collect() });
        }
    }
    rows
}

#[test]
fn a_configuration_is_planned_without_touching_anything() {
    let here = &directory();
    let plan = "iometer two.icf --target f.bin --size 256MiB --plan";
    let text = succeed(here, plan);
    assert!(text.contains("mixed, three to one, T2Q2"), "{text}");
    assert!(text.contains("mixed, three to one, T2Q8"), "{text}");
    assert!(text.contains("64 MiB from 1 MiB"), "{text}");
    assert!(text.contains("has no access specification"), "a remark on the file: {text}");
    assert!(!here.join("f.bin").exists());
    let longer = succeed(here, &format!("{plan} --time 30"));
    assert!(longer.contains("until 30"), "{longer}");
}

#[test]
fn a_run_writes_iometer_s_results_and_they_are_the_record_s() {
    let path = &directory();
    let run = "iometer two.icf --target f.bin --size 256MiB -o run -r r.csv";
    succeed(path, run);
    let found = findings(path.join("run"));
    assert_eq!((&found["id"], &found["end"]), (&"iometer".into(), &"complete".into()));
    let rows = rows(&path.join("r.csv"));
    let all = of_kind(&rows, "ALL");
    assert_eq!(all.len(), 2);
    for (row, depth) in all.iter().zip(["2", "8"]) {
        let number = |column| row.number(column);
        assert_eq!(row.cell("Queue Depth"), depth);
        assert_eq!([number("# Managers"), number("# Workers"), number("# Disks")], [1.0, 2.0, 2.0]);
        assert_eq!(row.cell("Access Specification Name"), "mixed  three to one");
        let (reads, writes) = (number("Read I/Os"), number("Write I/Os"));
        assert!(reads > 2.0 * writes && writes > 0.0, "{reads} {writes}");
        assert_eq!(number("Bytes Read"), reads * 4096.0);
        let rate = number("IOps") * 4096.0 / 1_048_576.0;
        assert!((number("MBps") - rate).abs() < 1e-3 * rate, "MBps are MiB");
        assert_eq!(row.cell("Total Raw Run Time"), "");
        assert_eq!(row.cell("Starting Sector"), "2048");
        assert_eq!(row.cell("Maximum Size"), "131072");
    }
    let kinds: Vec<&str> =
        rows.iter().map(IometerRow::kind).filter(|kind| *kind != "PROCESSOR").collect();
    assert_eq!(kinds[..6], ["ALL", "MANAGER", "WORKER", "DISK", "WORKER", "DISK"]);
    // Two workers share the load of each test: their threads add up to it.
    let workers = of_kind(&rows, "WORKER");
    for (all, workers) in all.iter().zip(workers.chunks(2)) {
        for column in ["Read I/Os", "Write I/Os", "Bytes Read", "Bytes Written"] {
            let number = |row: &IometerRow| row.cell(column).parse::<u64>().unwrap();
            assert!(workers.iter().all(|row| number(row) > 0), "{column}");
            assert_eq!(workers.iter().map(|row| number(row)).sum::<u64>(), number(all), "{column}");
        }
    }
    // The record has what the kernel counted in the same steps.
    let contents = steadfast_runner::Ledger::read(&path.join("run")).unwrap();
    let sensed =
        contents.steps().filter_map(|(_, outcome)| outcome.measurement.sensed.host.clone());
    let host = sensed.last().unwrap();
    let last = *of_kind(&rows, "MANAGER").last().unwrap();
    let rate = host.interrupts.unwrap() as f64 / host.elapsed.as_secs_f64();
    assert_eq!(last.cell("Interrupts per Second"), format!("{rate:.6}"));
    let processors = of_kind(&rows, "PROCESSOR");
    assert_eq!(processors.len(), all.len() * host.processors.len());
    for (row, (number, cpu)) in processors.iter().rev().zip(host.processors.iter().rev()) {
        assert_eq!(row.cell("Target Name"), format!("CPU {number}"));
        let percent = |share: f64| format!("{:.6}", share * 100.0);
        assert_eq!(row.cell("% User Time"), percent(cpu.user));
        assert_eq!(row.cell("% DPC Time"), percent(cpu.soft_interrupts.unwrap()));
        assert_eq!(row.cell("% Interrupt Time"), percent(cpu.interrupts.unwrap()));
        assert_eq!(row.cell("IOps"), "");
    }
    succeed(path, "iometer two.icf --from-run run -r again.csv");
    let text = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(text("again.csv"), text("r.csv"));
    refuse(path, run, &["r.csv"]);
    let text = succeed(path, "report run --format text");
    assert!(text.contains("Average response time"), "{text}");
    assert_eq!(code(&run_in(path, "resume run")), 0);
}

#[test]
fn what_cannot_be_run_is_refused_with_file_and_line() {
    let path = &directory();
    std::fs::write(path.join("odd.icf"), icf().replace("'Test Type", "'Test Kind")).unwrap();
    let parts = ["odd.icf: line 13: 'Test Kind' is not a key", "nothing was run"];
    refuse(path, "iometer odd.icf --target sim:small --plan", &parts);
    refuse(path, "iometer --target sim:small", &["FILE"]);
    refuse(path, "iometer two.icf --plan", &["--target"]);
    refuse(path, "iometer missing.icf --target sim:small", &["missing.icf"]);
}

#[test]
fn steps_of_a_procedure_and_of_a_run_are_exported_and_run_again() {
    let path = &directory();
    let export = "iometer export iops --profile quick --target sim:small -o iops.icf";
    let exported = run_ending(path, export, &[0]);
    assert!(stderr(&exported).contains("it ends after an amount"), "{}", stderr(&exported));
    let plan = succeed(path, "iometer iops.icf --target sim:small --plan");
    assert!(plan.contains("RND 4K"), "{plan}");
    succeed(path, "iometer two.icf --target sim:small -o run");
    succeed(path, "iometer export-run run --icf-version 1.1.0 -o again.icf");
    let again = std::fs::read_to_string(path.join("again.icf")).unwrap();
    assert!(again.starts_with("Version 1.1.0 \r\n") && again.contains("131072,2048,2"), "{again}");
    let plan = succeed(path, "iometer again.icf --target sim:small --plan");
    assert!(plan.contains("T2Q8"), "{plan}");
}

#[test]
fn the_viking_procedure_compares_the_fresh_drive_with_the_preconditioned_one() {
    let path = &TestDirectory::new();
    let viking = "iometer --preset viking --target sim:small --time 2";
    let plan = succeed(path, &format!("{viking} --plan"));
    assert!(plan.contains("Preconditioning") && plan.contains("2 x the range"), "{plan}");
    succeed(path, &format!("{viking} -o run -r results.csv"));
    let written = std::fs::read_to_string(path.join("results.csv")).unwrap();
    assert_eq!(written.matches("'Results").count(), 2 * 6 + 4 * 6, "every test: {written}");
    let old = succeed_json(path, "iometer report results.csv -o old --json");
    let rows = array(&old["summary"][0]["table"]["rows"]);
    assert_eq!(rows.len(), 36);
    assert_eq!(rows[35]["id"], "Preconditioned: 4k_ran_100wr, T1Q32");
    assert!(path.join("old/report.html").exists());
    succeed(path, "compare results.csv old/findings.json -o both");
    refuse(path, "iometer report run/journal.jsonl", &["journal.jsonl: line 1"]);
    let table = std::fs::read_to_string(path.join("run/viking.csv"));
    let table =
        table.or_else(|_| std::fs::read_to_string(path.join("run/tables/viking.csv"))).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains("k_")).count(), 4, "{table}");
    let found = findings(path.join("run"));
    assert_eq!((&found["id"], &found["end"]), (&"viking".into(), &"complete".into()));
    let text = found.to_string();
    assert_contains(&text, &["viking-depth-4k_ran_100rd", "viking-fresh-4k_ran_100wr"]);
    let purges = std::fs::read_to_string(path.join("run/journal.jsonl")).unwrap();
    assert_eq!(purges.matches("\"purged\"").count(), 2);
    assert_eq!(code(&run_in(path, "resume run")), 0);
}

#[test]
fn workers_that_differ_run_at_once_and_have_rows_with_their_own_numbers() {
    let path = &TestDirectory::new();
    std::fs::write(path.join("unlike.icf"), with_second_worker("131072,2048", "65536,4096"))
        .unwrap();
    let run = "iometer unlike.icf --target f.bin --size 64MiB";
    let plan = succeed(path, &format!("{run} --plan"));
    assert!(plan.contains("Worker 1") && plan.contains("Worker 2"), "each by its name: {plan}");
    succeed(path, &format!("{run} -o run -r r.csv"));
    let rows = rows(&path.join("r.csv"));
    let ios = |kind: &str| -> Vec<f64> {
        let rows = of_kind(&rows, kind).into_iter();
        rows.map(|row| row.number("Read I/Os") + row.number("Write I/Os")).collect()
    };
    let (all, workers) = (ios("ALL"), ios("WORKER"));
    assert_eq!((all.len(), workers.len()), (2, 4));
    for (all, workers) in all.iter().zip(workers.chunks(2)) {
        assert_eq!(*all, workers[0] + workers[1]);
        assert!(workers.iter().all(|ios| *ios > 0.0), "{workers:?}");
    }
    let workers = of_kind(&rows, "WORKER").into_iter();
    let sectors: Vec<&str> = workers.map(|row| row.cell("Starting Sector")).collect();
    assert_eq!(sectors, ["2048", "4096", "2048", "4096"]);
}

#[test]
fn disks_of_a_configuration_are_targets_of_their_own() {
    let path = &TestDirectory::new();
    std::fs::write(path.join("two.icf"), with_second_worker("E:", "F:")).unwrap();
    let run = "iometer two.icf --target F:=sim:client --target E:=sim:small";
    let plan = succeed(path, &format!("{run} --plan"));
    assert!(plan.contains("sim:client:") && plan.contains("T1Q8"), "{plan}");
    succeed(path, &format!("{run} -o both -r both.csv"));
    let all = rows(&path.join("both.csv"));
    let kinds: Vec<&str> =
        all.iter().map(IometerRow::kind).filter(|kind| *kind != "PROCESSOR").collect();
    assert_eq!(kinds[..6], ["ALL", "MANAGER", "WORKER", "DISK", "WORKER", "DISK"]);
    assert_eq!(kinds.len(), 2 * 6, "one table for each test, whatever the number of targets");
    for test in all.chunks(all.len() / 2) {
        let counts = ["# Managers", "# Workers", "# Disks"].map(|column| test[0].cell(column));
        assert_eq!(counts, ["1", "2", "2"]);
        for column in ["Read I/Os", "Write I/Os", "Bytes Read", "Bytes Written", "Errors"] {
            let sum = |kind: &str| -> f64 {
                of_kind(test, kind).into_iter().map(|row| row.number(column)).sum()
            };
            assert_eq!([sum("WORKER"), sum("DISK")], [sum("ALL"); 2], "{column}");
        }
        let disks = of_kind(test, "DISK");
        assert_eq!([disks[0].cell("Target Name"), disks[1].cell("Target Name")], ["E:", "F:"]);
        assert_eq!(disks.len(), 2);
        assert!(disks.iter().all(|row| row.number("IOps") > 0.0));
    }
    succeed(path, "iometer two.icf --from-run both -r again.csv");
    let text = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(text("again.csv"), text("both.csv"));
    succeed(path, "compare both.csv again.csv -o compared");
    let members = std::fs::read_dir(path.join("both")).unwrap().flatten();
    let runs: Vec<_> = members.filter(|one| one.path().join("journal.jsonl").exists()).collect();
    assert_eq!(runs.len(), 2);
    assert!(path.join("both/report.html").exists());
    let other = runs.iter().find(|run| run.file_name().to_string_lossy().contains("client"));
    let directory = other.unwrap().path();
    let directory = directory.to_str().unwrap();
    succeed(path, &format!("iometer two.icf --disk F: --from-run {directory} -r f.csv"));
    assert_eq!(of_kind(&rows(&path.join("f.csv")), "DISK").len(), 2);
    let wrong = "iometer two.icf --target G:=sim:small --target E:=sim:client";
    refuse(path, wrong, &["'E:', 'F:'"]);
    refuse(path, "iometer two.icf --target a --target b --target c", &["2 disks"]);
    refuse(path, "atto --target sim:small --target sim:client", &["--target once"]);
}

/// One worker with two disks: tests of one disk and of both, as Iometer cycles them.
#[test]
fn a_disk_takes_part_in_the_tests_that_iometer_gives_it() {
    let path = &TestDirectory::new();
    let icf = icf();
    let one = &icf[..icf.rfind("'Worker\r").unwrap()];
    let (before, after) = one.split_at(one.find("'End target assignments").unwrap());
    let second = "'Target\r\n\tF:\r\n'Target type\r\n\tDISK\r\n'End target\r\n";
    let text = format!("{before}{second}{after}'End manager\r\n'END manager list\r\n")
        .replace("CYCLE_OUTSTANDING_IOS", "CYCLE_OUTSTANDING_IOS_AND_TARGETS");
    std::fs::write(path.join("cycled.icf"), text).unwrap();
    let run = "iometer cycled.icf --target sim:small --target sim:client -o both -r r.csv";
    succeed(path, run);
    let rows = rows(&path.join("r.csv"));
    let all = of_kind(&rows, "ALL").into_iter();
    let disks: Vec<&str> = all.map(|row| row.cell("# Disks")).collect();
    assert_eq!(disks, ["1", "1", "2", "2"], "two depths on one disk, then on both");
    let disks = of_kind(&rows, "DISK").into_iter();
    let names: Vec<&str> = disks.map(|row| row.cell("Target Name")).collect();
    assert_eq!(names, ["E:", "E:", "E:", "F:", "E:", "F:"]);
    let settings =
        |run: &str| read_json::<Value>(path.join("both").join(run).join("settings.json"));
    let members: Value = read_json(path.join("both/targets.json"));
    let second = settings(members["targets"][1]["directory"].as_str().unwrap());
    assert_eq!(second["settings"]["sequence"]["steps"][0]["number"], 4);
    succeed(path, "report both/client --format text");
}
