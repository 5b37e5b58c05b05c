//! Runs in forms that other programs read: they find in them what the journal says.

use super::fixtures::{
    Arguments, TestDirectory, array, finished_run, python, refuse, run_ending, stdout, succeed,
};
use serde_json::Value;
use std::path::Path;
use steadfast_runner::Ledger;

/// Two short simulated runs, `a` and `b`.
fn write_two_runs(place: &Path) {
    finished_run(place, "sim:small", "a");
    finished_run(place, "sim:client", "b");
}

/// Sums over the journals of both runs: steps, I/Os, bytes, seconds, known percentiles.
fn journal_sums(place: &Path) -> [u64; 5] {
    let mut sums = [0; 5];
    for run in ["a", "b"] {
        for (_, outcome) in Ledger::read(&place.join(run)).unwrap().steps() {
            let measurement = &outcome.measurement;
            let total = measurement.total();
            let known = total.percentile(0.999).is_some();
            let seconds = measurement.intervals.len() as u64;
            let parts = [1, total.ios, measurement.bytes().0, seconds, known.into()];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
    }
    sums
}

#[test]
fn duckdb_reads_all_steps_of_two_runs() {
    let place = &TestDirectory::new();
    write_two_runs(place);
    succeed(place, "export parquet a b -o steps.parquet");
    succeed(place, "export parquet a b --per-second -o seconds.parquet");
    refuse(place, "export parquet a -o steps.parquet", &["exists", "--force"]);
    refuse(place, "export parquet nowhere -o x.parquet", &["nowhere"]);
    assert!(!place.join("x.parquet").exists());
    let script = "import duckdb, json\n\
        one = lambda text: [int(v) for v in duckdb.sql(text).fetchall()[0]]\n\
        print(json.dumps(one(\"\"\"select count(*), sum(ios), sum(bytes), \
        count(response_p99_9_us), count(distinct run), count(distinct device_serial), \
        sum((caveats like '%simulated%')::int), sum((abs(iops * elapsed_s - ios) > 0.5)::int), \
        sum((response_p50_us > response_max_us)::int) from 'steps.parquet'\"\"\")))\n\
        print(json.dumps(one(\"\"\"select count(*), sum(ios), count(distinct load) \
        from 'seconds.parquet'\"\"\")))\n\
        print(json.dumps([r[0] for r in duckdb.sql(\"select distinct load from 'steps.parquet' \
        order by 1\").fetchall()]))\n\
        print(duckdb.sql(\"select typeof(began) from 'steps.parquet' limit 1\").fetchall()[0][0])";
    let Some(output) = python(&["duckdb"], &["-c", script], place) else { return };
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let [steps, ios, bytes, seconds, known] = journal_sums(place);
    assert!(steps > 100 && known > 0 && known <= steps, "{steps} steps, {known} three nines");
    let first: Vec<u64> = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(first, [steps, ios, bytes, known, 2, 2, steps, 0, 0]);
    let second: Vec<u64> = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(second[0], seconds);
    assert!(second[1] <= ios && second[2] > 5, "{second:?}");
    let loads: Value = serde_json::from_str(lines[2]).unwrap();
    assert!(array(&loads).iter().any(|load| load == "RND 4K RW65"), "{loads}");
    assert!(lines[3].starts_with("TIMESTAMP"), "{}", lines[3]);
}

/// The example of the documentation, as it stands there.
#[test]
fn the_example_draws_iops_by_round() {
    let place = &TestDirectory::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/plot.py");
    let text = std::fs::read_to_string(&example).unwrap();
    assert!(text.lines().count() <= 32, "{} lines", text.lines().count());
    write_two_runs(place);
    succeed(place, "export parquet a b -o steps.parquet");
    let words = [example.to_str().unwrap(), "steps.parquet", "iops.png"];
    let Some(output) = python(&["pyarrow", "matplotlib"], &words, place) else { return };
    let text = stdout(&output);
    assert!(text.contains("iops.png") && !text.starts_with("0 lines"), "{text}");
    let picture = std::fs::read(place.join("iops.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_007, "{} bytes", picture.len());
}

/// A file for the textfile collector: by the grammar of the text format, as promtool checks it.
#[test]
fn metrics_of_a_run_are_as_the_text_format_has_them() {
    let place = &TestDirectory::new();
    let odd = "a \"b\\c\nd";
    std::fs::create_dir(place.join(odd)).unwrap();
    let out = format!("{odd}/run");
    let quick = "run iops --profile quick --prometheus run.prom --target sim:small";
    let run = [quick.words(), vec!["-o", &out]].concat();
    run_ending(place, &run, &[0, 3]);
    let text = std::fs::read_to_string(place.join("run.prom")).unwrap();
    let samples = read_samples(&text);
    let is_running = |sample: &&MetricSample| sample.name == "steadfast_run_running";
    let labels = &samples.iter().find(is_running).unwrap().labels;
    assert!(labels.contains("run=\"a \\\"b\\\\c\\nd/run\""), "{labels}");
    let steps = Ledger::read(&place.join(&out)).unwrap().steps().count();
    assert!(text.contains(&format!("}} {steps}\n")), "{steps} steps: {text}");
    run_ending(place, &format!("{quick} --target sim:client -o two"), &[0, 3]);
    let text = std::fs::read_to_string(place.join("run.prom")).unwrap();
    let both = read_samples(&text);
    assert_eq!(both.iter().filter(is_running).count(), 2);
    std::fs::write(place.join("own.prom"), "mine 1\n").unwrap();
    // A file that is no text, or no regular file, is not ours.
    std::fs::write(place.join("odd.prom"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::create_dir(place.join("dir.prom")).unwrap();
    let refusals = [
        ("own.prom", "no metrics of steadfast"),
        ("odd.prom", "no metrics of steadfast"),
        ("dir.prom", "only regular files are read"),
        ("x.txt", ".prom"),
    ];
    for (name, part) in refusals {
        let run = "run iops --profile quick --target sim:small -o no --prometheus";
        refuse(place, &format!("{run} {name}"), &[name, part]);
    }
    assert_eq!(std::fs::read_to_string(place.join("own.prom")).unwrap(), "mine 1\n");
    assert_eq!(std::fs::read(place.join("odd.prom")).unwrap(), [0xff, 0xfe, 0x00]);
    assert!(!place.join("no").exists());
}

#[derive(PartialEq)]
struct MetricSample {
    name: String,
    labels: String,
}

/// Returns every sample, once the text conforms to the format: a help and a type before each family,
/// no family and no sample twice, every value a number.
fn read_samples(text: &str) -> Vec<MetricSample> {
    assert!(text.ends_with('\n'));
    let mut families: Vec<String> = Vec::new();
    let mut samples = Vec::new();
    let mut helped = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split(' ').next().unwrap().to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, helped, "{line}");
            assert!(matches!(kind, "gauge" | "counter"), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(!families.iter().any(|family| family == name), "{line}");
            families.push(name.to_owned());
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            assert_eq!(Some(&name.to_owned()), families.last(), "{line}");
            let (labels, value) = rest.rsplit_once("} ").unwrap();
            value.parse::<f64>().unwrap();
            assert_labels(labels);
            let sample = MetricSample { name: name.to_owned(), labels: labels.to_owned() };
            assert!(!samples.contains(&sample), "{line} twice");
            samples.push(sample);
        }
    }
    samples
}

/// `name="value"` with commas between; in a value only `\\`, `\"` and `\n` are escaped.
fn assert_labels(labels: &str) {
    let mut rest = labels;
    loop {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{labels}");
        let mut bytes = value.bytes().enumerate();
        let end = loop {
            match bytes.next().unwrap() {
                (at, b'"') => break at,
                (_, b'\\') => {
                    assert!(matches!(bytes.next().unwrap().1, b'\\' | b'"' | b'n'), "{labels}");
                }
                _ => {}
            }
        };
        match value[end + 1..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return assert_eq!(&value[end + 1..], "", "{labels}"),
        }
    }
}
