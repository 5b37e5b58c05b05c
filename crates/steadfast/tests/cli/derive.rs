//! The content of a derived workload, and its scores against captures that were made on purpose.

use super::fixtures::{TestDirectory, array, refuse, run_ending, succeed, succeed_json};
use super::synthetic_captures::{sized_device, write_trace};
use serde_json::Value;
use std::path::Path;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    Bytes, CaptureConditions, IoEvent, IoOp, IoStream, Measurement, Record, Stimulus,
};
use steadfast_runner::Ledger;
use steadfast_workload::WorkloadFile;

const IOS: u64 = 60_013;
/// Blocks of 4 KiB of the device: 256 MiB.
const BLOCKS: u64 = 1 << 16;
/// Blocks of the hot band.
const BAND: std::ops::Range<u64> = 20_480..24_576;

/// Returns a number in (0, 1] from two numbers.
fn fraction(number: u64, lane: u64) -> f64 {
    ((mix64(mix64(number) ^ lane) >> 11) + 1) as f64 / 2f64.powi(53)
}

/// Writes a trace of 4 KiB reads (70 %) and writes that arrive at random, 2,000 per second. `hot` is
/// the share of the I/Os that go to the hot band, the others go anywhere.
fn write(path: &Path, hot: f64) {
    write_with_responses(path, hot, |n| 50_000 + mix64(n ^ 4 << 40) % 800_000);
}

/// Writes that trace with the response time that `response_ns` returns for the number of each I/O.
fn write_with_responses(path: &Path, hot: f64, response_ns: fn(u64) -> u64) {
    let mut at_ns = 0.0;
    let times = (0..IOS).map(|n| {
        at_ns -= fraction(n, 1).ln() * 500_000.0;
        at_ns as u64
    });
    write_at(path, &times.collect::<Vec<u64>>(), hot, response_ns);
}

/// Writes that trace with I/Os issued at these times.
fn write_at(path: &Path, times: &[u64], hot: f64, response_ns: fn(u64) -> u64) {
    let events: Vec<IoEvent> = (0..)
        .zip(times)
        .map(|(n, at_ns)| {
            let blocks = if fraction(n, 2) <= hot { BAND } else { 0..BLOCKS };
            let block = blocks.start + mix64(n ^ 3 << 40) % (blocks.end - blocks.start);
            IoEvent {
                issued_ns: *at_ns,
                response_ns: response_ns(n),
                offset: block * 4096,
                bytes: 4096,
                op: if fraction(n, 5) <= 0.7 { IoOp::Read } else { IoOp::Write },
                ..IoEvent::default()
            }
        })
        .collect();
    write_events(path, &events);
}

fn write_events(path: &Path, events: &[IoEvent]) {
    let conditions = CaptureConditions {
        devices: vec![sized_device("nvme0n1", Bytes(BLOCKS * 4096))],
        lasted_ns: events.last().unwrap().issued_ns + 1,
        ..CaptureConditions::default()
    };
    write_trace(path, conditions, events);
}

/// Reads the workload file of a test.
fn workload_file(here: &Path) -> WorkloadFile {
    WorkloadFile::read(&std::fs::read_to_string(here.join("w.toml")).unwrap()).unwrap()
}

/// Runs that workload by multi-wsat with its arrivals; returns the record.
fn run_of_workload(here: &Path, arrivals: &str) -> Record {
    let run = format!(
        "run multi-wsat --target sim:small --profile quick -o run --workload w.toml \
         --set arrivals={arrivals} --max-rounds 5"
    );
    run_ending(here, &run, &[0, 3]);
    Ledger::read(&here.join("run")).unwrap().into_record()
}

/// One field of the report's score of an aspect.
fn score(answer: &Value, name: &str, field: &str) -> Option<f64> {
    let aspects = array(&answer["fidelity"]["aspects"]);
    aspects.iter().find(|aspect| aspect["aspect"] == name).unwrap()[field].as_f64()
}

/// The report's score of an aspect, and that of a second drawing.
#[derive(Debug)]
struct Score {
    aspect: String,
    score: f64,
    best: f64,
    is_lost: bool,
}

fn scores(here: &Path, more: &str) -> Vec<Score> {
    let derive = format!("workload derive t.parquet --report --json {more}");
    let answer = succeed_json(here, &derive);
    let fidelity = &answer["fidelity"];
    let mut scores = Vec::new();
    for row in array(&fidelity["aspects"]) {
        let aspect = row["aspect"].as_str().unwrap().to_owned();
        let reason = format!("{aspect}: ");
        let is_reason = |text: &Value| text.as_str().unwrap().starts_with(&reason);
        let is_lost = array(&fidelity["lost"]).iter().any(is_reason);
        let best = row["best"].as_f64().unwrap_or(1.0);
        scores.push(Score { aspect, score: row["score"].as_f64().unwrap(), best, is_lost });
    }
    scores
}

fn lost_aspects(scores: &[Score]) -> Vec<&str> {
    scores.iter().filter(|one| one.is_lost).map(|one| one.aspect.as_str()).collect()
}

#[test]
fn a_trace_of_a_known_workload_scores_as_well_as_a_second_drawing() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 0.0);
    let found = scores(here, "");
    assert_eq!(found.len(), 8);
    for Score { aspect, score, best, .. } in &found {
        assert!(*score > best - 0.02 && *best > 0.98, "{aspect}: {score} of {best}");
    }
    assert!(lost_aspects(&found).is_empty(), "{found:?}");
    let same = scores(here, "--against t.parquet");
    assert!(same.iter().all(|one| one.score == 1.0), "{same:?}");
    let closed = scores(here, "--without arrivals");
    assert_eq!(
        lost_aspects(&closed),
        ["inter-arrival", "stream-inter-arrival", "depth"],
        "{closed:?}"
    );
}

/// Returns issue times in bursts whose lengths, gaps and pauses are log-normal.
fn burst_times() -> Vec<u64> {
    let mut number = 0;
    let mut log_normal = |median: f64| {
        number += 1;
        let radius = (-2.0 * fraction(number, 7).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * fraction(number, 11)).cos();
        median * (0.7 * normal).exp()
    };
    let (mut times, mut at_ns) = (Vec::new(), 0.0);
    while times.len() < 60_013 {
        for _ in 0..log_normal(13.0).ceil() as u64 {
            at_ns += log_normal(7e3);
            times.push(at_ns as u64);
        }
        at_ns += log_normal(2e7);
    }
    times
}

#[test]
fn bursts_arrive_by_their_measured_distributions() {
    let here = &TestDirectory::new();
    let times = burst_times();
    write_at(&here.join("t.parquet"), &times, 0.0, |_| 53_000);
    let kept = scores(here, "-o w.toml");
    let gaps = kept.iter().find(|one| one.aspect == "inter-arrival").unwrap();
    assert!(gaps.score >= 0.95, "{kept:?}");
    let pace = workload_file(here).arrivals.all.unwrap().pace();
    let captured_ns = (times[times.len() - 1] - times[0]) as f64;
    let iops = (times.len() - 1) as f64 * 1e9 / captured_ns;
    assert!((pace.offered_iops().unwrap() / iops - 1.0).abs() < 1e-5, "{pace:?}");
    let export = "workload export w.toml --output-format fio --device-size 1GB -o w.fio";
    succeed(here, export);
    let jobs = std::fs::read_to_string(here.join("w.fio")).unwrap();
    assert!(jobs.contains("rate_process=poisson"), "{jobs}");
    let record = run_of_workload(here, "workload");
    let mut stimuli = record.steps().filter_map(|(step, _)| step.load.stimulus());
    assert!(stimuli.any(|stimulus| stimulus.pace == pace), "no step has {pace:?}");
}

struct StreamRate {
    measured_iops: f64,
    offered_iops: f64,
}

/// Returns the rates of a step's streams; none if they do not arrive by themselves.
fn stream_rates(stimulus: &Stimulus, measurement: &Measurement) -> Vec<StreamRate> {
    let Pace::ByStream(paces) = &stimulus.pace else { return Vec::new() };
    let seconds = measurement.elapsed.as_secs_f64();
    let mut rates = Vec::new();
    for (stream, pace) in measurement.streams.iter().zip(paces) {
        let measured_iops = stream.tally.ios as f64 / seconds;
        rates.push(StreamRate { measured_iops, offered_iops: pace.offered_iops().unwrap() });
    }
    rates
}

/// Reads at random, even writes, and large writes in bursts: together they are neither. The writes in
/// bursts end after a third of the time.
#[test]
fn streams_arrive_by_their_own_distributions() {
    let here = &TestDirectory::new();
    let mut at_ns = 0.0;
    let random = (0..).map(|n| {
        at_ns -= fraction(n, 1).ln() * 4e6;
        at_ns as u64
    });
    let even = (0..).map(|n| 77_000 + n * 8_000_000);
    // No I/O ends where another begins.
    let io = |op, bytes: u32| {
        move |issued_ns: u64| {
            let offset = mix64(issued_ns) % (BLOCKS / 32) * 131_072;
            let response_ns = 50_000 + mix64(issued_ns ^ 4) % 800_000;
            IoEvent { issued_ns, response_ns, offset, bytes, op, ..IoEvent::default() }
        }
    };
    let until = |end_ns: u64| move |at_ns: &u64| *at_ns < end_ns;
    let reads = random.take_while(until(48_000_000_000)).map(io(IoOp::Read, 4096));
    let even = even.take_while(until(48_000_000_000)).map(io(IoOp::Write, 16_384));
    let bursts = burst_times().into_iter().map(|at_ns| at_ns * 4);
    let bursts = bursts.take_while(until(16_000_000_000)).map(io(IoOp::Write, 65_536));
    let mut events: Vec<IoEvent> = reads.chain(even).chain(bursts).collect();
    events.sort_by_key(|event| event.issued_ns);
    write_events(&here.join("t.parquet"), &events);
    let derive = "workload derive t.parquet --report --json -o w.toml";
    let answer = succeed_json(here, derive);
    let scores = |field: &str| {
        ["streams", "stream-inter-arrival"].map(|aspect| score(&answer, aspect, field).unwrap())
    };
    let (together, by_stream) = (scores("score"), scores("by_stream"));
    assert!(by_stream[0] >= 0.97 && by_stream[1] >= 0.93, "{together:?} {by_stream:?}");
    assert!(together[1] < 0.85, "{together:?} {by_stream:?}");
    let record = run_of_workload(here, "streams");
    let mut rates = Vec::new();
    for (step, outcome) in record.steps() {
        if let Some(stimulus) = step.load.stimulus() {
            rates.extend(stream_rates(stimulus, &outcome.measurement));
        }
    }
    let captured = events.len() as f64 / 48.0;
    let offered: f64 = rates[..3].iter().map(|rate| rate.offered_iops).sum();
    assert!((offered / captured - 1.0).abs() < 0.01, "{offered} offered, {captured} captured");
    for stream in 0..3 {
        let own = rates.iter().skip(stream).step_by(3);
        let measured: f64 = own.clone().map(|rate| rate.measured_iops).sum();
        let offered: f64 = own.map(|rate| rate.offered_iops).sum();
        assert!((measured / offered - 1.0).abs() < 0.1, "stream {stream}: {measured} of {offered}");
    }
}

#[test]
fn without_response_times_gaps_are_known_at_a_rate_and_depths_never() {
    let here = &TestDirectory::new();
    write_with_responses(&here.join("t.parquet"), 0.0, |_| RESPONSE_UNKNOWN);
    let scores_of = |more: &str| {
        let derive = format!("workload derive t.parquet --report --json {more}");
        let answer = succeed_json(here, &derive);
        (score(&answer, "inter-arrival", "score"), score(&answer, "depth", "score"))
    };
    let (gaps, depth) = scores_of("");
    assert!(gaps.unwrap() > 0.97, "{gaps:?}");
    assert_eq!(depth, None);
    assert_eq!(scores_of("--without arrivals"), (None, None));
}

#[test]
fn a_hot_band_is_kept_by_zones_and_without_them_only_locality_is_lost() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 0.5);
    let kept = scores(here, "-o w.toml");
    assert!(lost_aspects(&kept).is_empty(), "{kept:?}");
    let without = scores(here, "--without zones");
    assert_eq!(lost_aspects(&without), ["locality"], "{without:?}");
    let file = workload_file(here);
    assert_eq!(file.placement.measured_in, Some(Bytes(BLOCKS * 4096)));
    assert_eq!(file.placement.by_stream.len(), 2, "reads and writes");
    for zones in file.placement.by_stream.values() {
        let ppm = |block: u64| (block * 1_000_000 / BLOCKS) as u32;
        let (from, to) = (ppm(BAND.start), ppm(BAND.end));
        let inside = |zone: &&steadfast_domain::stimulus::Zone| {
            zone.from_ppm + 2000 >= from && zone.to_ppm <= to + 2000
        };
        let band: u32 = zones.iter().filter(inside).map(|zone| zone.weight).sum();
        let all: u32 = zones.iter().map(|zone| zone.weight).sum();
        // Half, and a sixteenth of the other half.
        let share = f64::from(band) / f64::from(all);
        assert!((share - 0.53125).abs() < 0.01, "{share} {zones:?}");
    }
    succeed(here, "measure --workload w.toml --target sim:small --ios 10007");
}

/// Returns the streams of every load of a run.
fn applied_streams(run: &Path) -> Vec<Vec<IoStream>> {
    let contents = Ledger::read(run).unwrap();
    let stimuli = contents.steps().filter_map(|(step, _)| step.load.stimulus());
    stimuli.map(|stimulus| stimulus.streams.clone()).collect()
}

#[test]
fn a_trace_and_the_file_derived_from_it_apply_the_same_streams() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 0.5);
    succeed(here, "workload derive t.parquet --native --step 5s -o w.toml");
    let run = "run replay-native --target sim:small --purge none --set preconditioning=none";
    succeed(here, &format!("{run} --workload t.parquet --step 5s -o of-trace"));
    succeed(here, &format!("{run} --workload w.toml -o of-file"));
    let [from_trace, from_file] =
        ["of-trace", "of-file"].map(|name| applied_streams(&here.join(name)));
    assert_eq!(from_trace, from_file);
    assert!(from_trace.iter().flatten().all(|stream| stream.zones.len() > 1), "{from_trace:?}");
}

#[test]
fn a_workload_without_ios_is_refused_by_its_counts() {
    let here = &TestDirectory::new();
    let text = "format = \"steadfast workload 1\"\n\n[[stream]]\nstream = \"RND 4K W\"\nios = 0\n";
    std::fs::write(here.join("w.toml"), text).unwrap();
    let plan = "plan multi-wsat --target sim:small --workload w.toml";
    refuse(here, plan, &["no I/O stream has I/Os"]);
}
