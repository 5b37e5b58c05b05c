//! `measure`: its numbers, several runs, exported tables.

use super::scratch::*;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: [&str; 9] =
    ["measure", "RND 4K RW65", "--target", "sim:small", "--time", "3s", "--runs", "4", "--json"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Rates, means, deviations and rows are recomputed from the counts of each run.
#[test]
fn runs_have_a_mean_a_deviation_and_rows_in_both_exports() {
    let here = &TestDirectory::new();
    let exports = ["--export-csv", "runs.csv", "--export-markdown", "runs.md"];
    let answer: Value = succeed_json(here, &[&RUNS[..], &exports].concat());
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
    // What exists is kept, and that is said before anything is measured.
    refuse(here, &[&RUNS[..], &exports].concat(), &["--force"]);
    succeed(here, &[&RUNS[..], &exports, &["--force"]].concat());
}

/// No line of the terminal's tables is wider than 80 columns, and a dash has its reason.
#[test]
fn tables_fit_a_terminal_and_dashes_have_a_reason() {
    let here = &TestDirectory::new();
    for runs in ["1", "3"] {
        let mut arguments = vec!["measure", "RND 4K RW65", "--target", "sim:small"];
        arguments.extend(["--time", "3s", "--runs", runs]);
        let text = succeed(here, &arguments);
        let table: Vec<&str> =
            text.lines().filter(|line| line.contains(" ms ") || line.contains("IOPS")).collect();
        assert!(table.len() > 7, "{text}");
        assert!(table.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("99.999 % takes 1,000,000 I/Os"), "{text}");
    }
}

/// The exact drive serves 10,000 reads per second: 5,000 are kept up with, 20,000 are not.
#[test]
fn an_offered_rate_is_reported_with_what_was_achieved() {
    let here = &TestDirectory::new();
    let load = ["measure", "RND 4K R", "--target", "sim:exact", "--demand", "T1Q256", "--json"];
    let rates: [(&[&str], f64, bool); 4] = [
        (&["--rate", "5000"], 5_000.0, true),
        (&["--rate", "5000IOPS", "--arrivals", "fixed"], 5_000.0, true),
        (&["--rate", "20.48MB/s"], 5_000.0, true),
        (&["--rate", "20000"], 20_000.0, false),
    ];
    for (rate, offered, keeps_up) in rates {
        let exported = ["--time", "20s", "--export-csv", "rate.csv", "--force"];
        let answer: Value = succeed_json(here, &[&load[..], rate, &exported].concat());
        assert_eq!(
            (number(&answer["offered_iops"]), &answer["kept_up"]),
            (offered, &keeps_up.into())
        );
        let expected = if keeps_up { offered } else { 10_000.0 };
        assert!((number(&answer["iops"]) / expected - 1.0).abs() < 0.02, "{rate:?}");
        let csv = std::fs::read_to_string(here.join("rate.csv")).unwrap();
        assert!(csv.trim_end().ends_with(&format!(",{offered},{keeps_up},0,0,0")), "{csv}");
        assert_eq!(answer["start_error"], json!({"p50_ms": 0.0, "p99_ms": 0.0, "max_ms": 0.0}));
    }
    let closed: Value = succeed_json(here, &load);
    assert!(closed["offered_iops"].is_null() && closed["kept_up"].is_null());
    assert!(closed["start_error"].is_null());
}

/// A program that is stopped for a while is late for every I/O that came due meanwhile.
#[test]
fn a_stopped_program_has_a_start_error() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let load = ["measure", "RND 4K R", "--target", &device.path, "--rate", "2000", "--json"];
    let child = steadfast()
        .current_dir(here)
        .args(load)
        .args(["--arrivals", "fixed", "--time", "4s"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let signal = |name: &str| {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    let reads = || {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
        text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let before = reads();
    wait_until("the load", || reads() > before + 500);
    signal("-STOP");
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    let stopped = stopped.elapsed().as_secs_f64() * 1e3;
    signal("-CONT");
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
    let cases: [(&[&str], &str); 6] = [
        (&["RND 4K R", "--rate", "0"], "at least 0.001"),
        (&["RND 4K R", "--rate", "fast"], "20000iops"),
        (&["RND 4K R", "--rate", "2500000"], "use 3 threads (T3Q32)"),
        (&["RND 4K R", "--arrivals", "fixed"], "--rate"),
        (&["RND 4K R FUA"], "FLUSH/1"),
        (&["RND 4K W FLUSH/0"], "FLUSH/1"),
    ];
    for (arguments, word) in cases {
        refuse(here, &[&["measure", "--target", "sim:exact"], arguments].concat(), &[word]);
    }
}

/// Four writes share a flush, so a thread of eight never has more outstanding.
#[test]
fn a_group_smaller_than_the_depth_says_how_many_writes_are_outstanding() {
    let here = &TestDirectory::new();
    let load = |pattern| ["measure", pattern, "--target", "sim:exact", "--ios", "80", "--demand"];
    let said = |pattern, demand| succeed(here, &[&load(pattern)[..], &[demand]].concat());
    let remark = "FLUSH/4: each thread has at most 4 writes outstanding, not 8";
    assert!(said("RND 4K W FLUSH/4", "T2Q8").contains(remark));
    for (pattern, demand) in [("RND 4K W FLUSH/4", "T2Q4"), ("RND 4K W FLUSH/1", "T1Q8")] {
        assert!(!said(pattern, demand).contains("outstanding, not"), "{pattern} {demand}");
    }
}

/// A commit of the exact drive is 104 us of write and 2.1 ms of flush.
#[test]
fn commits_have_rows_for_the_writes_alone_and_the_flushes() {
    let here = &TestDirectory::new();
    let load = "measure 'RND 4K W FLUSH/1' --target sim:exact --ios 200 --json";
    let answer: Value = succeed_json(here, load);
    let rows: Vec<(&str, u64, f64)> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let ios = row["ios"].as_u64().unwrap();
            (row["operation"].as_str().unwrap(), ios, number(&row["response_mean_ms"]))
        })
        .collect();
    assert_eq!(rows, [("writes", 200, 2.204), ("writes alone", 200, 0.104), ("flushes", 200, 2.1)]);
}
