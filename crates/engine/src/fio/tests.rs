//! Recorded answers of fio 3.33, answers corrupted by hand, and programs that imitate fio.

use super::counts::FioCounts;
use super::expression::{Expression, FioTarget};
use super::json_output::{self, FioReport};
use super::*;
use crate::WorkDone;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{
    ActiveRange, Cursor, DataPattern, Durability, LoadLimits, Pace, Zone,
};
use steadfast_domain::{
    Bytes, Demand, FineHistogram, IoStream, Nanos, Op, Order, Segments, StepPlace, Stimulus,
};
use steadfast_host::{Consent, SystemRoots, arm, create_scratch, inspect};

/// T2Q4 RND 4K RW65 on a loop device: an answer while it ran, and the last one.
const RUNNING: &str = include_str!("answers/running-3.33.json");
const MIXED: &str = include_str!("answers/mixed-3.33.json");
/// Forty reads, half of them beyond the end of the device.
const FAILED: &str = include_str!("answers/failed-3.33.json");

const MIB: u64 = 1 << 20;

fn stimulus(pattern: &str, demand: &str, until: LoadLimits) -> Stimulus {
    let streams = pattern.parse::<AccessPattern>().unwrap().streams();
    let range = ActiveRange::new(Bytes(0), Bytes(64 * MIB));
    Stimulus::new(streams, range, demand.parse::<Demand>().unwrap(), until).seed(1)
}

fn fio_target() -> FioTarget<'static> {
    FioTarget {
        path: "/dev/x",
        length: Bytes(64 * MIB),
        writable: true,
        sector: 512,
        direct: true,
        io_engine: "io_uring",
        commit_rates: false,
    }
}

#[test]
fn a_recorded_answer_is_read_as_it_stands() {
    let answer = json_output::read(MIXED, 2).unwrap();
    json_output::check_final(&answer, &[Some(4096), Some(4096)]).unwrap();
    let counts = FioCounts::add(&answer, &FioCounts::default());
    assert_eq!(counts.elapsed, Nanos::from_millis(1207));
    let reads = counts.direction(Op::Read).tally();
    assert_eq!((reads.ios, reads.bytes), (4468 + 4462, Bytes((4468 + 4462) * 4096)));
    assert_eq!(reads.response_max, Nanos(36_269_098));
    assert_eq!(reads.response_min, Some(Nanos(13_350)));
    let mean = (4468.0 * 732_938.303715 + 4462.0 * 752_723.261318) / 8930.0;
    assert!((reads.response_mean().unwrap().0 as f64 - mean).abs() < 2.0);
    let writes = counts.direction(Op::Write).tally();
    assert_eq!((writes.ios, writes.histogram.total()), (2397 + 2452, 2397 + 2452));
    assert_eq!(writes.response_max, Nanos(36_198_751));
    assert_eq!(writes.response_min, Some(Nanos(15_869)));
    // 1.907131 % of 1206 ms.
    assert_eq!(counts.threads.len(), 2);
    assert_eq!((counts.threads[0].user, counts.threads[0].system), (23_000_000, 0));
    assert!((counts.busiest().unwrap() - 0.0191).abs() < 0.0001);
}

#[test]
fn an_interval_is_the_difference_of_two_answers() {
    let counts = |text| FioCounts::add(&json_output::read(text, 2).unwrap(), &FioCounts::default());
    let (before, after) = (counts(RUNNING), counts(MIXED));
    let part = after.since(&before);
    assert_eq!(part.elapsed, Nanos::from_millis(1207 - 221));
    let [reads, writes] = [Op::Read, Op::Write].map(|op| part.direction(op).tally());
    assert_eq!(reads.ios, 8930 - (674 + 653));
    assert_eq!(writes.ios, 4849 - (330 + 348));
    assert_eq!(reads.histogram.total(), reads.ios);
    assert_eq!(reads.response_max, Nanos(36_269_098), "longer than all before, so exact");
    assert_eq!(reads.response_min, Some(Nanos(13_350)), "shorter than all before, so exact");
    // The shortest I/O was before the interval, whose lowest bin is fio's of 13,440 to 13,567 ns.
    let earlier = RUNNING.replace("28379", "13350").replace("\"28288\"", "\"13376\"");
    let reads = after.since(&counts(&earlier)).direction(Op::Read).tally();
    assert_eq!((reads.ios, reads.response_min), (8930 - (674 + 653), Some(Nanos(13_440))));
    // Nothing happens after the last answer, so no response time is left.
    let nothing = after.since(&after);
    assert_eq!((nothing.ios(), nothing.direction(Op::Read).tally().response_max), (0, Nanos(0)));
    assert_eq!(nothing.direction(Op::Read).tally().response_min, None);
    assert_eq!(nothing.interval_tallies(), []);
    // The same over two calls of fio.
    let twice = FioCounts::add(&json_output::read(MIXED, 2).unwrap(), &after);
    assert_eq!((twice.ios(), twice.elapsed), (2 * after.ios(), Nanos::from_millis(2414)));
}

#[test]
fn failed_ios_are_told_from_completed_ones() {
    let answer = json_output::read(FAILED, 1).unwrap();
    json_output::check_final(&answer, &[Some(4096), None]).unwrap();
    let section = &answer.sections[0];
    assert_eq!((section.faults, section.first_error), (20, libc::EIO));
    assert_eq!((section.directions[0].issued, section.directions[0].completed), (40, 20));
}

/// Returns the midpoint of fio's bin by the rule in its stat.h: 64 bins per power of two, named
/// by their midpoints.
fn fio_midpoint(ns: u64) -> u64 {
    let msb = 63 - (ns | 1).leading_zeros();
    if msb <= 6 {
        return ns;
    }
    let bits = msb - 6;
    (ns >> bits << bits) + (1 << bits) / 2
}

#[test]
fn a_percentile_is_never_too_short_and_little_too_long() {
    let mut ns = 1u64;
    while ns < 1 << 34 {
        for near in [ns, ns + ns / 3, ns * 2 - 1] {
            let text = with_bins(&[(fio_midpoint(near), 1)]);
            let answer = json_output::read(&text, 1).unwrap();
            let bucket = answer.sections[0].directions[0].buckets[0].index;
            let edge = FineHistogram::bounds(bucket).1;
            assert!(edge >= near && edge as f64 <= near as f64 * (1.0 + 1.0 / 64.0), "{near}");
        }
        ns *= 2;
    }
}

/// Returns a complete answer with these bins.
fn with_bins(bins: &[(u64, u64)]) -> String {
    let mut value: Value = serde_json::from_str(FAILED).unwrap();
    let bins: BTreeMap<String, u64> = bins.iter().map(|(k, n)| (k.to_string(), *n)).collect();
    value["jobs"][0]["read"]["lat_ns"]["bins"] = json!(bins);
    value.to_string()
}

/// All fields that are used of an answer.
const USED: [&str; 26] = [
    "/fio version", "/jobs", "/jobs/0/error", "/jobs/0/total_err", "/jobs/0/first_error",
    "/jobs/0/job_runtime", "/jobs/0/usr_cpu", "/jobs/0/sys_cpu", "/jobs/0/trim",
    "/jobs/0/trim/total_ios", "/jobs/0/read", "/jobs/0/read/total_ios", "/jobs/0/read/io_bytes",
    "/jobs/0/read/runtime", "/jobs/0/read/short_ios", "/jobs/0/read/drop_ios",
    "/jobs/0/read/lat_ns", "/jobs/0/read/lat_ns/N", "/jobs/0/read/lat_ns/mean",
    "/jobs/0/read/lat_ns/max", "/jobs/0/read/lat_ns/bins", "/jobs/0/write",
    "/jobs/0/write/total_ios", "/jobs/0/write/io_bytes", "/jobs/0/write/lat_ns",
    "/jobs/0/write/lat_ns/bins",
];

#[test]
fn whatever_is_missing_or_changed_is_named() {
    for pointer in USED {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let mut value: Value = serde_json::from_str(MIXED).unwrap();
        value.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
        let why = json_output::read(&value.to_string(), 2).unwrap_err();
        assert!(why.contains(name), "without {pointer}: {why}");
        for other in [json!("12"), json!(-1), json!(null), json!([1])] {
            let mut value: Value = serde_json::from_str(MIXED).unwrap();
            *value.pointer_mut(pointer).unwrap() = other.clone();
            let why = json_output::read(&value.to_string(), 2).unwrap_err();
            assert!(!why.is_empty(), "{pointer} as {other}");
        }
    }
}

fn altered(change: impl Fn(&mut Value)) -> Result<FioReport, String> {
    let mut value: Value = serde_json::from_str(MIXED).unwrap();
    change(&mut value);
    let answer = json_output::read(&value.to_string(), 2)?;
    json_output::check_final(&answer, &[Some(4096), Some(4096)]).map(|()| answer)
}

#[test]
fn what_does_not_add_up_is_an_error() {
    let why = |change: fn(&mut Value)| altered(change).unwrap_err();
    assert!(why(|v| v["fio version"] = json!("fio-4.0")).contains("fio-4.0"));
    assert!(why(|v| v["jobs"] = json!([])).contains("0 jobs"));
    assert!(why(|v| v["jobs"][0]["trim"]["total_ios"] = json!(3)).contains("discards"));
    assert!(why(|v| v["jobs"][1]["read"]["io_bytes"] = json!(18_276_351)).contains("18276351 B"));
    assert!(why(|v| v["jobs"][1]["read"]["total_ios"] = json!(4463)).contains("4463 I/Os"));
    assert!(why(|v| v["jobs"][0]["write"]["total_ios"] = json!(0)).contains("0 I/Os"));
    let more = |v: &mut Value| {
        let bins = v["jobs"][0]["read"]["lat_ns"]["bins"].as_object_mut().unwrap();
        *bins.values_mut().next().unwrap() = json!(100_000);
    };
    assert!(why(more).contains("in the bins"));
    let named = |v: &mut Value| v["jobs"][0]["read"]["lat_ns"]["bins"] = json!({"1us": 4468});
    assert!(why(named).contains("'1us'"));
    assert!(json_output::read(&MIXED[..1000], 2).unwrap_err().contains("not JSON"));
    assert!(json_output::read("", 2).unwrap_err().contains("not JSON"));
    assert!(altered(|_| ()).is_ok());
}

#[test]
fn a_step_is_a_job_file() {
    let mut load = stimulus("RND 4K RW65", "T4Q32", LoadLimits::time(Nanos::from_secs(60)));
    load.active_range = ActiveRange::new(Bytes(MIB), Bytes(32 * MIB));
    let expression = Expression::new(&load, &fio_target()).unwrap();
    let part = expression.next_part(Nanos::ZERO, 0).unwrap();
    let job = expression.job_file(&part, "/proc/self/fd/7", "round 1, step 3\n${HOME} (RND)");
    let seed = steadfast_domain::random_bits::mix64(1) >> 1 | 1;
    let expected = format!(
        "; round 1, step 3  {{HOME}} (RND)\n[load]\nfilename=/proc/self/fd/7\nioengine=io_uring\n\
         direct=1\nthread=1\nnumjobs=4\niodepth=32\ngroup_reporting=0\nallow_file_create=0\n\
         allow_mounted_write=0\ninvalidate=0\nrandrepeat=0\n\
         random_generator=tausworthe64\nnorandommap=1\nlat_percentiles=1\nclat_percentiles=0\n\
         continue_on_error=io\nfixedbufs=1\nregisterfiles=1\nnonvectored=1\nscramble_buffers=0\n\
         refill_buffers=1\nrw=randrw\nrwmixread=65\nbs=4096,4096\nblockalign=4096,4096\n\
         randseed={seed}\noffset=1048576\nsize=33554432\nruntime=60000000us\ntime_based=1\n"
    );
    assert_eq!(job, expected);
    assert_eq!(expression.next_part(Nanos::from_secs(60), 1000), None);
}

/// Only where rates alone are compared, and one I/O at a time.
#[test]
fn a_commit_is_a_blocking_write_and_its_flush() {
    let until = LoadLimits::time(Nanos::SECOND);
    let commits = stimulus("RND 4K W FLUSH/1", "T1Q1", until);
    let rates = FioTarget { commit_rates: true, ..fio_target() };
    let expression = Expression::new(&commits, &rates).unwrap();
    let body = expression.body(&expression.next_part(Nanos::ZERO, 0).unwrap());
    let lines: Vec<&str> = body.lines().collect();
    assert!(lines.contains(&"ioengine=psync") && lines.contains(&"fdatasync=1"), "{body}");
    assert!(!body.contains("fixedbufs"), "an option of io_uring: {body}");
    let refused = |pattern, demand, target: &FioTarget<'_>| {
        let why = Expression::new(&stimulus(pattern, demand, until), target).err();
        assert!(why.unwrap().contains("until the commit"), "{pattern} {demand}");
    };
    refused("RND 4K W FLUSH/1", "T1Q1", &fio_target());
    refused("RND 4K W FLUSH/1", "T1Q2", &rates);
    refused("RND 4K W FUA", "T1Q1", &rates);
    refused("RND 4K RW50 FLUSH/1", "T1Q1", &rates);
    let plain = Expression::new(&stimulus("RND 4K W", "T1Q4", until), &rates).unwrap();
    assert!(plain.body(&plain.next_part(Nanos::ZERO, 0).unwrap()).contains("ioengine=io_uring"));
}

#[test]
fn a_sequential_load_is_as_many_calls_as_it_begins_laps_in_the_middle() {
    let load = stimulus("SEQ 1M W", "T1Q4", LoadLimits::bytes(Bytes(100 * MIB)));
    let cursors = BTreeMap::from([("SEQ 1024K W".to_owned(), Bytes(60 * MIB))]);
    let done = WorkDone { time: Nanos::ZERO, bytes: Bytes(30 * MIB), ios: 30 };
    let expression = Expression::new(&load, &fio_target()).unwrap().remaining_from(&StepStart {
        cursors,
        done,
        ..StepStart::default()
    });
    let first = expression.next_part(Nanos::ZERO, 0).unwrap();
    assert_eq!((first.offset, first.length, first.ios), (60 * MIB, 4 * MIB, Some(4)));
    let second = expression.next_part(Nanos::from_secs(1), 4).unwrap();
    assert_eq!((second.offset, second.length, second.ios), (0, 64 * MIB, Some(66)));
    // Neither writes the same data as the other, or as a call before the gap.
    assert_ne!(first.seed, second.seed);
    assert!(first.seed != load.seed && second.seed != load.seed);
    assert_eq!(expression.next_part(Nanos::from_secs(2), 70), None);
    assert_eq!(expression.cursors(70)["SEQ 1024K W"], Bytes(2 * MIB));
    // Invalid cursors start at the beginning.
    for stray in [0, 64 * MIB, u64::MAX] {
        let cursors = BTreeMap::from([("SEQ 1024K W".to_owned(), Bytes(stray))]);
        let start = StepStart { cursors, ..StepStart::default() };
        let expression = Expression::new(&load, &fio_target()).unwrap().remaining_from(&start);
        assert_eq!(expression.next_part(Nanos::ZERO, 0).unwrap().offset, 0);
    }
}

#[test]
fn a_load_that_continues_after_a_gap_has_another_seed() {
    let load = stimulus("RND 4K W", "T1Q4", LoadLimits::time(Nanos::from_secs(60)));
    let seed = |done, resumed| {
        let start = StepStart { done, resumed, ..StepStart::default() };
        let expression = Expression::new(&load, &fio_target()).unwrap().remaining_from(&start);
        let part = expression.next_part(Nanos::ZERO, 0).unwrap();
        let job = expression.job_file(&part, "/dev/x", "x");
        assert_eq!(job.matches("randseed=").count(), 1);
        job.lines().find(|line| line.starts_with("randseed=")).unwrap().to_owned()
    };
    let done = |ios| WorkDone { ios, ..WorkDone::default() };
    let original = seed(done(0), 0);
    assert_eq!(original, format!("randseed={}", steadfast_domain::random_bits::mix64(1) >> 1 | 1));
    let seeds: BTreeSet<String> =
        [original, seed(done(0), 1), seed(done(7), 0), seed(done(7), 1), seed(done(8), 1)].into();
    assert_eq!(seeds.len(), 5);
}

/// Loads that fio cannot apply exactly, with a word of the reason.
fn inexpressible() -> Vec<(Stimulus, &'static str)> {
    let base = || stimulus("RND 4K RW65", "T1Q4", LoadLimits::time(Nanos::SECOND));
    let change = |change: &dyn Fn(&mut Stimulus)| {
        let mut load = base();
        change(&mut load);
        load
    };
    let stream = |op, order, size| IoStream::new(op, order, Bytes(size));
    let sequential = Order::Sequential(Cursor::Own);
    let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
    vec![
        (stimulus("SEQ 128K RW90", "T1Q4", LoadLimits::time(Nanos::SECOND)), "restarts both"),
        (stimulus("SEQ 128K W", "T2Q4", LoadLimits::time(Nanos::SECOND)), "share no position"),
        (stimulus("RND 4K W", "T2Q4", LoadLimits::ios(100)), "a limit of its own"),
        (stimulus("RND 8K W", "T1Q4", LoadLimits::bytes(Bytes(12_288))), "not a whole number"),
        (change(&|s| s.streams.push(stream(Op::Discard, Order::Random, 4096))), "every discard"),
        (change(&|s| s.streams.push(stream(Op::Flush, Order::Random, 0))), "flushes"),
        (change(&|s| s.streams[1].durability = Durability::Fua), "until the commit"),
        (change(&|s| s.streams[0].order = sequential), "mix of random and sequential"),
        (change(&|s| s.streams[0].weight = 64), "whole percent"),
        (change(&|s| s.pace = Pace::Fixed { ios: 9, per: Nanos::SECOND }), "its due time"),
        (change(&|s| s.verify = true), "verification"),
        (change(&|s| s.zones = vec![zone(1, 0, 500_000)]), "LBA zones follow"),
        (change(&|s| s.zones = vec![zone(1, 0, 5_500), zone(1, 5_500, 1_000_000)]), "LBA zones"),
        (change(&|s| s.streams[0].zones = vec![zone(1, 0, 1_000_000)]), "one set of LBA zones"),
        (
            change(&|s| {
                s.streams.push(stream(Op::Read, Order::Random, 512).with_weight(65));
                s.streams[1].weight = 70;
            }),
            "aligns all",
        ),
        (change(&|s| s.data_pattern = DataPattern::File("x".into())), "512 bytes of a file"),
        (change(&|s| s.data_pattern = DataPattern::Repeating(vec![1; 513])), "1 to 512 bytes"),
        (
            change(&|s| {
                s.data_pattern = DataPattern::Entropy { random_percent: 50, duplicate_percent: 10 };
            }),
            "repeats whole I/Os",
        ),
        (change(&|s| s.active_range.length = Bytes(65 * MIB)), "ends beyond /dev/x"),
        (
            change(&|s| {
                let (size, unit) = (Bytes(MIB), Bytes(MIB));
                s.active_range.segments = Some(Segments { count: 4, size, unit, seed: 1 });
            }),
            "4 segments of 1 MiB at random places; use the engine uring",
        ),
        (change(&|s| s.streams.clear()), "no I/O stream"),
        (change(&|s| s.streams[0].size = Bytes(4000)), "multiples of 512 B"),
        (change(&|s| s.demand.threads = 5000), "2048 jobs"),
        (
            change(&|s| {
                s.active_range.start = Bytes(512);
                s.active_range.length = Bytes(MIB);
                s.streams[1].size = Bytes(8192);
            }),
            "from the beginning of the range",
        ),
    ]
}

#[test]
fn what_fio_cannot_express_is_refused_with_the_reason() {
    for (load, reason) in inexpressible() {
        let why = Expression::new(&load, &fio_target()).err().unwrap_or_default();
        assert!(why.contains(reason), "expected '{reason}', found '{why}'");
    }
    let read_only = FioTarget { writable: false, ..fio_target() };
    let writes = stimulus("RND 4K W", "T1Q4", LoadLimits::ios(1));
    assert!(Expression::new(&writes, &read_only).unwrap_err().contains("reading only"));
}

/// A program that runs a shell script in place of fio.
struct FakeFio {
    directory: tempfile::TempDir,
}

impl FakeFio {
    /// `body` is the shell text of a call with a job file; `$answer` is the path of a recorded
    /// answer.
    fn new(version: &str, engines: &str, body: &str) -> FakeFio {
        let directory = tempfile::tempdir().unwrap();
        let answer = directory.path().join("answer.json");
        fs::write(&answer, MIXED).unwrap();
        let script = format!(
            "#!/bin/sh\nanswer='{}'\ncase \"$1\" in\n--version) echo {version} ;;\n\
             --enghelp) printf '{engines}' ;;\n*) {body} ;;\nesac\n",
            answer.display()
        );
        let program = directory.path().join("fio");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        create_scratch(&directory.path().join("target"), Bytes(64 * MIB)).unwrap();
        FakeFio { directory }
    }

    fn running(body: &str) -> FakeFio {
        FakeFio::new("fio-3.33", "io_uring\\nlibaio\\n", body)
    }

    fn engine(&self) -> Result<Fio, Halt> {
        let roots = SystemRoots::real();
        let device = inspect(&self.directory.path().join("target"), &roots).unwrap();
        let consent = Consent::Destroy { confirmation: None };
        let target = arm(&device, &consent, &[], &roots).unwrap();
        let mut options = FioOptions::in_directory(self.directory.path().join("saved"));
        options.program = self.directory.path().join("fio");
        options.interface = Some(FioIoEngine::Libaio);
        Fio::new(target, StopSignal::default(), options)
    }

    /// Applies the load of the recorded answer.
    fn apply(&self) -> (Result<Measurement, Halt>, Fio) {
        let mut engine = self.engine().unwrap();
        let load = stimulus("RND 4K RW65", "T2Q4", LoadLimits::time(Nanos::from_millis(1200)));
        let step = Step::alone(StepPlace::new("rounds", 2, 7, "RND 4K RW65"), load);
        (engine.perform(&step, &StepStart::default(), &mut |_| {}), engine)
    }

    fn complaint(&self) -> String {
        self.apply().0.unwrap_err().to_string()
    }

    fn saved(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.path().join("saved").join(name)).ok()
    }
}

#[test]
fn a_missing_an_old_and_a_foreign_fio_are_refused_in_one_line() {
    let refusal = |fake: &FakeFio| fake.engine().err().unwrap().to_string();
    let old = refusal(&FakeFio::new("fio-3.1", "libaio\\n", "true"));
    assert!(old.contains("fio-3.1 is not supported") && old.contains("3.20"), "{old}");
    let ancient = refusal(&FakeFio::new("fio-2.21", "libaio\\n", "true"));
    assert!(ancient.contains("fio-2.21"), "{ancient}");
    let foreign = refusal(&FakeFio::new("vim", "libaio\\n", "true"));
    assert!(foreign.contains("is not fio"), "{foreign}");
    let poor = refusal(&FakeFio::new("fio-3.40-12-gabcd", "psync\\n", "true"));
    assert!(poor.contains("without the I/O engine libaio"), "{poor}");
    let fake = FakeFio::running("true");
    fs::remove_file(fake.directory.path().join("fio")).unwrap();
    let missing = refusal(&fake);
    assert!(missing.contains("install the package fio") && !missing.contains('\n'), "{missing}");
}

#[test]
fn an_answer_becomes_a_measurement_and_its_files_are_kept() {
    let fake = FakeFio::running("cat \"$answer\"");
    let (measurement, mut engine) = fake.apply();
    let measurement = measurement.unwrap();
    assert_eq!(measurement.total().ios, 8930 + 4849);
    assert_eq!(measurement.streams.len(), 2);
    assert_eq!(measurement.elapsed, Nanos::from_millis(1207));
    assert_eq!(measurement.intervals.len(), 1);
    assert!(measurement.complete && measurement.cpu.is_some());
    assert_eq!(engine.take_caveats(), []);
    let name = "0001-rounds-2-7-rnd-4k-rw65";
    assert!(fake.saved(&format!("{name}.fio")).unwrap().contains("rwmixread=65"));
    assert_eq!(fake.saved(&format!("{name}.json")).as_deref(), Some(MIXED));
    assert_eq!(fake.saved(&format!("{name}.txt")), None);
    // A second engine in the same directory continues the numbering.
    drop(engine);
    fake.apply().0.unwrap();
    assert!(fake.saved("0002-rounds-2-7-rnd-4k-rw65.fio").is_some());
}

#[test]
fn text_beside_the_answer_is_kept_and_quoted_and_no_failure() {
    let body = "echo 'note: a remark'; echo 'fio: a warning' >&2; cat \"$answer\"; echo bye";
    let fake = FakeFio::running(body);
    let (measurement, mut engine) = fake.apply();
    assert_eq!(measurement.unwrap().total().ios, 8930 + 4849);
    let text = fake.saved("0001-rounds-2-7-rnd-4k-rw65.txt").unwrap();
    for line in ["stdout: note: a remark", "stderr: fio: a warning", "stdout: bye"] {
        assert!(text.contains(line), "{text}");
    }
    let caveats = engine.take_caveats();
    assert_eq!(caveats.len(), 3);
    assert!(
        caveats.iter().all(|c| c.id == caveats::FIO_MESSAGES && c.text.contains("round 2, step 7"))
    );
    assert!(engine.describe().contains("a warning"), "{}", engine.describe());
    assert_eq!(engine.take_caveats(), []);
}

#[test]
fn a_fio_that_fails_says_how_and_gives_no_numbers() {
    let killed = FakeFio::running("kill -9 $$").complaint();
    assert!(killed.contains("was ended by signal 9") && killed.contains(".fio"), "{killed}");
    let silent = FakeFio::running("echo 'fio: no such option' >&2; exit 1").complaint();
    assert!(silent.contains("ended with status 1 without an answer"), "{silent}");
    assert!(silent.contains("no such option"), "{silent}");
    let torn = FakeFio::running("head -c 2000 \"$answer\"; exit 0");
    assert!(torn.complaint().contains("without an answer"));
    assert_eq!(torn.saved("0001-rounds-2-7-rnd-4k-rw65.json").unwrap().len(), 2001);
    let complaint = FakeFio::running("cat \"$answer\"; exit 3").complaint();
    assert!(complaint.contains("ended with status 3"), "{complaint}");
    let changed = FakeFio::running("sed 's/lat_ns/latency_ns/' \"$answer\"");
    let complaint = changed.complaint();
    assert!(
        complaint.contains("jobs[0].read.lat_ns") && complaint.contains(".json"),
        "{complaint}"
    );
    assert!(changed.saved("0001-rounds-2-7-rnd-4k-rw65.json").unwrap().contains("latency_ns"));
}

#[test]
fn a_fio_that_ends_early_is_not_believed() {
    let early = FakeFio::running("sed 's/\"runtime\" : 120[67]/\"runtime\" : 900/' \"$answer\"");
    let complaint = early.complaint();
    assert!(complaint.contains("ended after") && complaint.contains("of 1.2"), "{complaint}");
}

#[test]
fn scripts_are_refused() {
    let fake = FakeFio::running("true");
    let mut engine = fake.engine().unwrap();
    let script = steadfast_domain::script::ScriptLoad::new("trace", Demand::new(1, 1));
    let step = Step::alone(StepPlace::new("x", 0, 1, "x"), Load::Script(script));
    assert!(engine.prepare(&step).unwrap_err().0.contains("use the engine uring"));
}
