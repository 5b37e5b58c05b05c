//! `measure`: its numbers, several runs, exported tables.

use super::fixtures::*;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

const RUNS: &str = "measure 'RND 4K RW65' --target sim:small --time 3s --runs 4 --json --export-csv runs.csv \
     --export-markdown runs.md";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Rates, means, deviations and rows are recomputed from the counts of each run.
#[test]
fn runs_have_a_mean_a_deviation_and_rows_in_both_exports() {
    let here = &TestDirectory::new();
    let answer = succeed_json(here, RUNS);
    let runs = array(&answer["runs"]);
    assert_eq!(runs.len(), 4);
    let csv = std::fs::read_to_string(here.join("runs.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 4 * 3, "reads, writes and all of each run");
    let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
    for (place, operation) in ["reads", "writes", "all"].into_iter().enumerate() {
        let mut rates = Vec::new();
        for (number_of_run, run) in runs.iter().enumerate() {
            let target = &run["targets"][0];
            let streams = array(&target["measurement"]["streams"]);
            let own = streams.iter().filter(|s| match operation {
                "reads" => s["op"] == "read",
                "writes" => s["op"] == "write",
                _ => true,
            });
            let counts = |field: &str| -> f64 {
                own.clone().map(|stream| number(&stream["tally"][field])).sum()
            };
            let seconds = number(&target["measurement"]["elapsed"]) / 1e9;
            let shown = &target["results"][place];
            assert_eq!(shown["operation"], operation);
            let near = |value: &Value, wanted: f64| {
                assert!((number(value) / wanted - 1.0).abs() < 1e-9, "{value}, {wanted}");
            };
            near(&shown["iops"], counts("ios") / seconds);
            near(&shown["mb_per_second"], counts("bytes") / seconds / 1e6);
            // Response times are those of the I/Os outstanding at the end, too.
            let outstanding: f64 =
                own.clone().filter_map(|s| s["tally"]["outstanding"].as_f64()).sum();
            let responses = counts("ios") + outstanding;
            near(&shown["response_mean_ms"], counts("response_sum") / responses / 1e6);
            rates.push(counts("ios") / seconds);
            let row = &rows[1 + number_of_run * 3 + place];
            assert_eq!(row[column("run")], (number_of_run + 1).to_string());
            assert_eq!(row[column("operation")], operation);
            near(&shown["iops"], row[column("iops")].parse().unwrap());
            let longest = shown["response_max_ms"].to_string();
            assert_eq!(row[column("response_max_ms")].parse::<f64>().unwrap().to_string(), longest);
            assert!(shown["response_p99_999_ms"].is_null());
            assert_eq!(row[column("response_p99_999_ms")], "");
        }
        let mean = rates.iter().sum::<f64>() / 4.0;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let over = &answer["over_runs"][0]["results"][place];
        assert!((number(&over["mean"]["iops"]) / mean - 1.0).abs() < 1e-9);
        let deviation = number(&over["standard_deviation"]["iops"]);
        assert!((deviation - (squares / 3.0).sqrt()).abs() < 1e-6, "{deviation}");
        assert!(rates.windows(2).any(|pair| pair[0] != pair[1]), "runs have seeds of their own");
    }
    let markdown = std::fs::read_to_string(here.join("runs.md")).unwrap();
    assert_eq!(markdown.lines().count(), 2 + 4 * 3 + 3 * 2, "{markdown}");
    let bars = |line: &str| line.matches('|').count();
    assert!(markdown.lines().all(|line| bars(line) == 16), "{markdown}");
    // An existing file is kept, and the command says so before it measures.
    refuse(here, RUNS, &["--force"]);
    succeed(here, &format!("{RUNS} --force"));
}

/// No line of the terminal's tables is wider than 80 columns, and a dash has its reason.
#[test]
fn tables_fit_a_terminal_and_dashes_have_a_reason() {
    let here = &TestDirectory::new();
    for runs in ["1", "3"] {
        let measure = format!(
            "measure 'RND 4K RW65' --target sim:small --yes-destroy SIM-SMALL --time 3s --runs {runs}"
        );
        let text = succeed(here, &measure);
        let table: Vec<&str> =
            text.lines().filter(|line| line.contains(" ms ") || line.contains("IOPS")).collect();
        assert!(table.len() > 7, "{text}");
        assert!(table.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("99.999 % takes 1,000,000 I/Os"), "{text}");
        assert!(text.starts_with("SIMULATED"), "{text}");
        assert!(text.contains("reads") && text.contains("writes"), "{text}");
    }
}

/// Without `--runs` the answer is that of the only target, and its IOPS those of the whole time.
#[test]
fn measure_answers_in_the_standards_notation() {
    let here = &TestDirectory::new();
    let answer = succeed_json(here, "measure 'RND 4K R' --target sim:small --time 3s --json");
    let ios = number(&answer["measurement"]["streams"][0]["tally"]["ios"]);
    assert!((number(&answer["iops"]) - ios / 3.0).abs() < 1e-6, "{answer}");
}

/// The exact drive serves 10,000 reads per second: it keeps up with 5,000, and not with 20,000.
#[test]
fn an_offered_rate_is_reported_with_what_was_achieved() {
    let here = &TestDirectory::new();
    let load = "measure 'RND 4K R' --target sim:exact --demand T1Q256 --json";
    for (rate, offered, keeps_up) in [
        ("--rate 5000", 5_000.0, true),
        ("--rate 5000IOPS --arrivals fixed", 5_000.0, true),
        ("--rate 20.48MB/s", 5_000.0, true),
        ("--rate 20000", 20_000.0, false),
    ] {
        let measure = format!("{load} {rate} --time 20s --export-csv rate.csv --force");
        let answer = succeed_json(here, &measure);
        assert_eq!(answer["offered_iops"], offered);
        assert_eq!(answer["kept_up"], keeps_up);
        let expected = if keeps_up { offered } else { 10_000.0 };
        assert!((number(&answer["iops"]) / expected - 1.0).abs() < 0.02, "{rate:?}");
        let csv = std::fs::read_to_string(here.join("rate.csv")).unwrap();
        assert!(csv.trim_end().ends_with(&format!(",{offered},{keeps_up},0,0,0")), "{csv}");
        assert_eq!(answer["start_error"], json!({"p50_ms": 0.0, "p99_ms": 0.0, "max_ms": 0.0}));
    }
    let closed = succeed_json(here, load);
    assert!(closed["offered_iops"].is_null() && closed["kept_up"].is_null());
    assert!(closed["start_error"].is_null());
}

/// A program that is stopped for a while is late for every I/O that came due meanwhile.
#[test]
fn a_stopped_program_has_a_start_error() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let load = format!(
        "measure 'RND 4K R' --target {} --rate 2000 --json --arrivals fixed --time 4s",
        device.path
    );
    let child = spawn_in(here, &load, Stdio::piped(), Stdio::inherit());
    let before = device.reads();
    wait_until("the load", || device.reads() > before + 500);
    signal(&child, libc::SIGSTOP);
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    let stopped = stopped.elapsed().as_secs_f64() * 1e3;
    signal(&child, libc::SIGCONT);
    let answer: Value = parse_json(&child.wait_with_output().unwrap());
    let error = &answer["start_error"];
    // At 2,000 per second, a hundredth of the step's I/Os came due in 40 ms.
    let (p99, max) = (number(&error["p99_ms"]), number(&error["max_ms"]));
    assert!(max >= stopped - 20.0 && p99 >= stopped - 100.0, "{error} after {stopped} ms");
    // Without the I/Os that came due while it was stopped, 1,850 per second would be left.
    assert!(number(&answer["iops"]) >= 1900.0, "{answer}");
}

#[test]
fn impossible_rates_and_durabilities_are_refused() {
    let here = &TestDirectory::new();
    for (arguments, part) in [
        ("'RND 4K R' --rate 0", "at least 0.001"),
        ("'RND 4K R' --rate fast", "20000iops"),
        ("'RND 4K R' --rate 2500000", "use 3 threads (T3Q32)"),
        ("'RND 4K R' --arrivals fixed", "--rate"),
        ("'RND 4K R FUA'", "FLUSH/1"),
        ("'RND 4K W FLUSH/0'", "FLUSH/1"),
    ] {
        refuse(here, &format!("measure --target sim:exact {arguments}"), &[part]);
    }
}

/// Four writes share a flush, so a thread of eight never has more outstanding.
#[test]
fn a_group_smaller_than_the_depth_says_how_many_writes_are_outstanding() {
    let here = &TestDirectory::new();
    let measure = |pattern: &str, demand: &str| {
        let load = format!("measure '{pattern}' --target sim:exact --ios 80 --demand {demand}");
        succeed(here, &load)
    };
    let remark = "FLUSH/4: each thread has at most 4 writes outstanding, not 8";
    assert!(measure("RND 4K W FLUSH/4", "T2Q8").contains(remark));
    for (pattern, demand) in [("RND 4K W FLUSH/4", "T2Q4"), ("RND 4K W FLUSH/1", "T1Q8")] {
        assert!(!measure(pattern, demand).contains("outstanding, not"), "{pattern} {demand}");
    }
}

/// A commit of the exact drive is 104 us of write and 2.1 ms of flush.
#[test]
fn commits_have_rows_for_the_writes_alone_and_the_flushes() {
    let here = &TestDirectory::new();
    let load = "measure 'RND 4K W FLUSH/1' --target sim:exact --ios 200 --json";
    let answer = succeed_json(here, load);
    let row = |row: &Value| {
        let mean_ms = number(&row["response_mean_ms"]);
        (row["operation"].as_str().unwrap().to_owned(), row["ios"].as_u64().unwrap(), mean_ms)
    };
    let rows: Vec<(String, u64, f64)> = array(&answer["results"]).iter().map(row).collect();
    let expected = [("writes", 2.204), ("writes alone", 0.104), ("flushes", 2.1)];
    assert_eq!(rows, expected.map(|(name, mean_ms)| (name.to_owned(), 200, mean_ms)));
}
