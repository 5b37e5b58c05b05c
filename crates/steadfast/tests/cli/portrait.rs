//! `run portrait` on the command line: page one compared with the parts, parts alone, resume, the
//! card and the comparison.

use super::fixtures::{
    TestDirectory, copy_ledger, cut_journal, findings, refuse, run_in, succeed, succeed_json,
};
use serde_json::Value;
use std::path::Path;

/// Settings of a light portrait; quick runs each procedure as it is alone in that profile.
const LIGHT: &str = "--profile quick --set levels=0 --set committers=1,16 --set block-sizes=4K";

fn portrait(here: &Path, target: &str, run: &str) -> Value {
    succeed(here, &format!("run portrait --target {target} --seed 7 {LIGHT} -o {run}"));
    findings(here.join(run))
}

/// The elements of an array; none if there is no such field.
fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Value of a part's key figure.
fn figure(part: &Value, id: &str) -> Option<f64> {
    array(&part["front"], "figures").iter().find(|figure| figure["id"] == id)?["value"].as_f64()
}

/// Value of a metric of all I/Os of a point of a part.
fn metric(part: &Value, name: &str, point: &str) -> Option<f64> {
    let is_named = |metric: &&Value| {
        metric["metric"] == name && metric["point"] == point && metric.get("direction").is_none()
    };
    array(part, "metrics").iter().find(is_named)?["value"].as_f64()
}

/// Returns a figure of page one from the part that measured it.
fn from_part(whole: &Value, id: &str) -> Option<f64> {
    let part = |title: &str| {
        let is_titled = |part: &&Value| part["id"].as_str().unwrap().starts_with(title);
        array(whole, "parts").iter().find(is_titled).unwrap()
    };
    let (fill, iops, latency) = (part("Fill"), part("IOPS"), part("Latency"));
    let (commit, load, idle) = (part("Commit"), part("Load Curve"), part("Idle exit"));
    match id {
        "full-speed" | "full-speed-amount" | "next-speed" => metric(fill, id, "empty"),
        "lowest-speed" | "back-after-10s" | "back-after-30s" => figure(fill, id),
        "random-read" => metric(iops, "iops", "RND 4K R"),
        "random-write" => metric(iops, "iops", "RND 4K W"),
        "random-mixed" => metric(iops, "iops", "RND 4K RW65"),
        "read-p50" => metric(latency, "p50", "RND 4K R"),
        "read-p99" => metric(latency, "p99", "RND 4K R"),
        "read-p99-99" => metric(latency, "p99-99", "RND 4K R"),
        "write-p50" => metric(latency, "p50", "RND 4K W"),
        "write-p99" => metric(latency, "p99", "RND 4K W"),
        "write-p99-99" => metric(latency, "p99-99", "RND 4K W"),
        "commits-1" => metric(commit, "iops", "SEQ 4K W FLUSH/1 T1Q1"),
        "commits-1-p99-9" => metric(commit, "p99-9", "SEQ 4K W FLUSH/1 T1Q1"),
        "commits-16" => metric(commit, "iops", "SEQ 4K W FLUSH/1 T16Q1"),
        "commits-16-p99-9" => metric(commit, "p99-9", "SEQ 4K W FLUSH/1 T16Q1"),
        "slo-iops" | "maximum-iops" => figure(load, id),
        "p99-at-50" => metric(load, "p99", "RND 8K RW65 at 50 %"),
        "back-to-back" => metric(idle, "art", "back to back"),
        "after-1s" => metric(idle, "art", "1 s idle"),
        "after-3s" => metric(idle, "art", "3 s idle"),
        "temperature-fill" => metric(fill, "temperature", "empty"),
        "temperature-write" => metric(iops, "temperature", "RND 4K W"),
        "power-write" => metric(iops, "power", "RND 4K W").map(|milliwatts| milliwatts / 1e3),
        "power-read" => metric(iops, "power", "RND 4K R").map(|milliwatts| milliwatts / 1e3),
        "power-idle" => metric(idle, "power", "3 s idle").map(|milliwatts| milliwatts / 1e3),
        "reads-per-watt" => metric(iops, "iops-per-watt", "RND 4K R"),
        other => panic!("page one has {other}, which this test does not know"),
    }
}

/// Every figure of page one is that of its part; a dash has a reason, and a value has none.
fn assert_page_one_is_of_the_parts(whole: &Value) {
    let questions = array(&whole["front"], "questions");
    assert_eq!(questions.len(), 9);
    let mut shown = 0;
    for answer in questions.iter().flat_map(|question| array(question, "answers")) {
        let id = answer["figure"].as_str().unwrap();
        let value = figure(whole, id);
        let figures = array(&whole["front"], "figures");
        let note = &figures.iter().find(|figure| figure["id"] == id).unwrap()["note"];
        let has_nothing = value.is_none() && note.is_null();
        assert_eq!(has_nothing, answer["missing"].is_string(), "{id}: {answer}");
        let expected = from_part(whole, id);
        match (value, expected) {
            (Some(value), Some(expected)) => {
                assert!((value / expected - 1.0).abs() < 1e-12, "{id}: {value}, not {expected}");
                shown += 1;
            }
            _ => assert_eq!(value, expected, "{id}"),
        }
    }
    assert!(shown > 15, "{shown} figures");
}

/// Every number of an answer is the value of one of the question's figures, or stands in its note, or
/// is a constant of the test (a share, a limit, a number of sessions, an idle time).
fn assert_answers_state_their_figures(whole: &Value) {
    for question in array(&whole["front"], "questions") {
        let answer = question["answer"].as_str().unwrap();
        let figures: Vec<&str> =
            array(question, "answers").iter().map(|one| one["figure"].as_str().unwrap()).collect();
        let values: Vec<f64> = figures.iter().filter_map(|id| figure(whole, id)).collect();
        let all = array(&whole["front"], "figures").iter();
        let own = all.filter(|one| figures.contains(&one["id"].as_str().unwrap()));
        let notes: String = own.filter_map(|one| one["note"].as_str()).collect();
        let mut stated = 0;
        for word in answer.split_whitespace() {
            let word = word.trim_matches([',', ';', '.', ':']).replace(',', "");
            let Ok(number) = word.parse::<f64>() else { continue };
            if values.iter().any(|value| (number / value - 1.0).abs() < 0.005) {
                stated += 1;
                continue;
            }
            let constants = [99.9, 99.99, 99.0, 65.0, 16.0, 1.0, 3.0, 10.0, 30.0];
            let of_steps = answer.contains("throttling in");
            let is_known = constants.contains(&number) || notes.contains(&word) || of_steps;
            assert!(is_known, "{number} in '{answer}'");
        }
        let is_answered =
            !answer.starts_with("Not answered: ") && !answer.contains("not slow down");
        assert!(stated > 0 || !is_answered, "{answer}");
    }
}

/// Every figure of page one is that of its part; page, card and comparison show it.
#[test]
fn a_portrait_shows_what_its_parts_found() {
    let here = &TestDirectory::new();
    let whole = portrait(here, "sim:pslc", "run");
    assert_page_one_is_of_the_parts(&whole);
    assert_answers_state_their_figures(&whole);
    let speeds = "It writes at 120 MB/s for the first 1.5 GB, then at 40 MB/s; at its slowest 15 \
                  MB/s, from 3.50 GB.";
    assert_eq!(whole["front"]["questions"][0]["answer"], speeds);
    let cache = figure(&whole, "full-speed-amount").unwrap();
    assert!((cache - 1.5).abs() < 0.05, "the drive's cache has 1.5 GB: {cache}");
    let page = std::fs::read_to_string(here.join("run/report.html")).unwrap();
    let first = page.find("class=\"questions\"").unwrap();
    let linked = &page[first..page.find("id=\"contents\"").unwrap()];
    for part in 1..=6 {
        assert!(linked.contains(&format!("href=\"#part-{part}\"")), "no link to part {part}");
        assert!(page.contains(&format!("id=\"part-{part}\"")), "no part {part}");
    }
    assert!(!page.contains("PTS-compliant"));

    succeed(here, "report run --card drive.svg");
    let card = std::fs::read_to_string(here.join("drive.svg")).unwrap();
    assert!(card.contains("1200") && card.contains("630") && !card.contains("<text"), "outlines");
    assert!(!card.contains("href=\"http") && !card.contains("url(http"), "self-contained");
    succeed(here, "report run --card drive.png");
    let png = std::fs::read(here.join("drive.png")).unwrap();
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((&png[1..4], size(16), size(20)), (&b"PNG"[..], 1200, 630));
    refuse(here, "report run --card drive.png", &["--force"]);
    refuse(here, "report run --card drive.jpg", &[".svg or .png"]);
    refuse(here, "report run run --card both.svg", &["one run"]);

    let text = succeed(here, "compare run run");
    assert!(text.contains("Commits, 1 session"), "{text}");
    assert!(!text.contains("Random writes"), "equal within the noise: {text}");
    assert!(text.contains("equal within the noise"), "{text}");
}

/// On a drive without variation, a part alone with the seed that the report lists finds the same; a
/// portrait that was cut inside a part and resumed has the same page.
#[test]
fn parts_alone_and_resumed_portraits_find_the_same() {
    let here = &TestDirectory::new();
    let whole = portrait(here, "sim:dozing", "run");
    assert_page_one_is_of_the_parts(&whole);
    assert_answers_state_their_figures(&whole);
    let figures = array(&whole["front"], "figures");
    let note = |id: &str| figures.iter().find(|figure| figure["id"] == id).unwrap()["note"].clone();
    assert_eq!(note("full-speed-amount"), "1.07 GB, no drop");
    assert_eq!(note("next-speed"), "did not drop");
    assert!(note("after-3s").as_str().unwrap().contains(" I/Os, longest "), "{}", note("after-3s"));
    assert!(note("p99-at-50").as_str().unwrap().starts_with("at "), "{}", note("p99-at-50"));
    let chapters = array(&whole, "chapters").iter().flat_map(|page| array(page, "exhibits"));
    let seeds = chapters.filter_map(|exhibit| exhibit["listing"].as_str());
    let seeds: String = seeds.filter(|listing| listing.contains("(seed ")).collect();
    for (line, part) in seeds.lines().zip(array(&whole, "parts")) {
        let (name, seed) = line.split_once(" (seed ").unwrap();
        let seed = seed.trim_end_matches(')');
        let own = match name {
            "fill" => "--set levels=0",
            "commit" => "--set committers=1,16 --set block-sizes=4K",
            "load-curve" => "--workload oltp --slo p99=1ms",
            _ => "",
        };
        let run = format!("run {name} --target sim:dozing --profile quick --seed {seed}");
        run_in(here, &format!("{run} {own} -o {name}"));
        let alone = findings(here.join(name));
        let values = |findings: &Value| -> Vec<(String, String)> {
            let mut values = Vec::new();
            for metric in array(findings, "metrics") {
                let name = format!("{}{}", metric["metric"], metric["point"]);
                // The temperature continues from part to part, and a purged drive takes its
                // superblocks in another order than a new one.
                if !name.contains("temperature") && !name.contains("write-amplification") {
                    values.push((name, metric["value"].to_string()));
                }
            }
            values
        };
        assert_eq!(values(&alone), values(part), "{name}");
        assert!(!values(part).is_empty(), "{name}");
    }

    copy_ledger(&here.join("run"), &here.join("cut"));
    cut_journal(&here.join("cut"), |lines| {
        lines.iter().position(|line| line.contains("\"part\":\"latency\"")).unwrap() + 9
    });
    succeed(here, "report cut --format json");
    let cut = findings(here.join("cut"));
    assert_page_one_of_a_cut_run(&cut);
    succeed(here, "resume cut");
    let resumed = findings(here.join("cut"));
    assert_eq!(resumed["front"]["figures"], whole["front"]["figures"]);
    assert_eq!(resumed["front"]["questions"], whole["front"]["questions"]);
}

fn assert_page_one_of_a_cut_run(cut: &Value) {
    let answers = array(&cut["front"], "questions").iter().flat_map(|q| array(q, "answers"));
    let reason = |id: &str| {
        let mut answers = answers.clone();
        answers.find(|answer| answer["figure"] == id).unwrap()["missing"].as_str()
    };
    assert_eq!(reason("random-write"), None);
    assert_eq!(reason("read-p50"), Some("latency is not finished"));
    assert_eq!(reason("commits-1"), Some("commit has not begun"));
    assert_eq!(figure(cut, "commits-1"), None);
}

/// The plan of a simulated drive keeps to the length as well.
#[test]
fn plans_of_simulated_drives_keep_to_the_length() {
    let here = &TestDirectory::new();
    for (target, rate) in
        [("sim:small", "20MB"), ("sim:client", "200MB"), ("sim:enterprise", "500MB")]
    {
        for (length, hours) in [("length=1h", 1.0), ("length=8h", 8.0)] {
            let plan =
                format!("plan portrait --target {target} --assume {rate} --set {length} --json");
            let plan = succeed_json(here, &plan);
            let nanoseconds = plan["worst_time_ns"].as_f64().unwrap();
            assert!(nanoseconds < hours * 3600e9, "{target} {length}: {nanoseconds}");
            assert_eq!(plan["unknown_time_bytes"], 0, "{target}");
        }
    }
}
