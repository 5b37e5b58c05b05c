//! Other tools' tests: presets, job files of fio, suites of FioSynth, and job files that
//! are exported, run by the real fio.

use super::scratch::{code, refuse, run_in, skip, stderr, stdout, succeed};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use steadfast_domain::sequence::SequenceLoad;
use steadfast_domain::stimulus::{ActiveRange, Cursor, DataPattern, Op, Order, Pace, Until, Zone};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Stimulus};
use steadfast_engine::fio::job;
use steadfast_exchange::fio::{Assumed, JobFile, Surroundings, sequence};

const CAPACITY: Bytes = Bytes(10_007 * 4096);

fn findings(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("findings.json")).unwrap()).unwrap()
}

/// The cell of a table of findings, by ids.
fn cell(findings: &Value, table: &str, row: &str, column: &str) -> f64 {
    let pages = ["form_pages", "chapters"].map(|part| findings[part].as_array().unwrap());
    let exhibits = pages.into_iter().flatten().flat_map(|p| p["exhibits"].as_array().unwrap());
    let mut tables = exhibits.filter_map(|exhibit| exhibit.get("table"));
    let table = tables.find(|t| t["id"] == table).unwrap_or_else(|| panic!("no table {table}"));
    let at = table["columns"].as_array().unwrap().iter().position(|c| c["id"] == column).unwrap();
    let row = table["rows"].as_array().unwrap().iter().find(|r| r["id"] == row).unwrap();
    row["cells"][at]["number"]["value"].as_f64().unwrap()
}

#[test]
fn crystaldiskmark_runs_and_its_result_reads_back_to_the_same_numbers() {
    let scratch = tempfile::tempdir().unwrap();
    let mut arguments = vec!["crystaldiskmark", "--target", "sim:small", "--test-size", "64MiB"];
    arguments.extend(["--loops", "2", "--measure", "1s", "--interval", "1s", "--mix", "70%"]);
    arguments.extend(["--out", "run", "-r", "result.txt"]);
    let output = run_in(scratch.path(), &arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let run = findings(&scratch.path().join("run"));
    assert_eq!(run["id"], "crystaldiskmark");
    let text = std::fs::read_to_string(scratch.path().join("result.txt")).unwrap();
    assert!(text.contains("[Mix] Read 70%/Write 30%\r\n"), "{text}");
    let read = ["crystaldiskmark", "--read", "result.txt", "--out", "old"];
    succeed(scratch.path(), &read);
    let old = findings(&scratch.path().join("old"));
    for row in ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"] {
        for column in ["Read", "Write", "Mix"] {
            let of = |findings| cell(findings, "crystaldiskmark", row, column);
            assert!((of(&run) - of(&old)).abs() < 0.001, "{row} {column}");
        }
    }
    succeed(scratch.path(), &["compare", "old/findings.json", "run", "-o", "both"]);
    let again = run_in(scratch.path(), &arguments);
    assert_ne!(code(&again), 0, "the result file exists");
}

#[test]
fn atto_leaves_out_what_the_sectors_cannot_hold_and_plans_without_touching_anything() {
    let scratch = tempfile::tempdir().unwrap();
    let mut arguments = vec!["atto", "--target", "f.bin", "--size", "64MiB", "--length", "8MiB"];
    arguments.extend(["--from", "64KiB", "--to", "256KiB", "--out", "run"]);
    let mut plan = arguments.clone();
    plan.push("--plan");
    let shown = succeed(scratch.path(), &plan);
    assert!(shown.contains("SEQ 64K W"), "{shown}");
    assert!(!scratch.path().join("f.bin").exists() && !scratch.path().join("run").exists());
    succeed(scratch.path(), &arguments);
    let run = findings(&scratch.path().join("run"));
    for row in ["64 KiB", "128 KiB", "256 KiB"] {
        assert!(cell(&run, "atto", row, "write-mb") > 0.0);
    }
    assert!(scratch.path().join("run/report.pdf").exists());
}

#[test]
fn a_job_file_runs_whole_or_not_at_all() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
    write("more.inc", "iodepth=4\nsize=16m\n");
    write(
        "good.fio",
        "[global]\nioengine=libaio\ndirect=1\nnorandommap\n[fill]\nrw=write\nbs=64k\n\
         include more.inc\n[mix]\nstonewall\nrw=randrw\nrwmixread=70\nbs=4k\nnumber_ios=1009\n\
         include more.inc\n",
    );
    let target = ["--target", "f.bin", "--size", "64MiB"];
    let run = [&["fio", "good.fio", "--out", "run"][..], &target].concat();
    let shown = succeed(scratch.path(), &run);
    assert!(shown.contains("mix"), "{shown}");
    let found = findings(&scratch.path().join("run"));
    let ios = |table| cell(&found, table, "mix", "ios");
    assert_eq!(ios("sequence-reads") + ios("sequence-writes"), 1009.0);
    assert_eq!(cell(&found, "sequence-writes", "fill", "ios"), 256.0);
    write(
        "bad.fio",
        "[a]\nrw=randrw\nrandom_distribution=zipf:1.2\nverify=md5\n[b]\nrw=read\nnonsense=1\n",
    );
    let bad = [&["fio", "bad.fio", "--out", "never"][..], &target].concat();
    let parts =
        ["bad.fio: line 3: [a] random_distribution", "line 4: [a] verify", "line 7: [b] nonsense"];
    refuse(scratch.path(), &bad, &parts);
    assert!(!scratch.path().join("never").exists());
}

/// Loads that are unlike run at once; each has exactly the I/Os that fio gives it.
#[test]
fn jobs_without_stonewall_run_at_once_as_fio_runs_them() {
    let test = "jobs_without_stonewall_run_at_once_as_fio_runs_them";
    let scratch = tempfile::tempdir().unwrap();
    let text = "[global]\nioengine=libaio\ndirect=1\nnorandommap\nrandrepeat=0\nsize=16m\n\
                filename=f.bin\n[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=3001\n\
                [writes]\nrw=write\nbs=16k\nio_size=5m\n[more]\nrw=randrw\nrwmixread=30\n\
                bs=8k\nnumber_ios=503\n";
    std::fs::write(scratch.path().join("job.fio"), text).unwrap();
    let run = ["fio", "job.fio", "--target", "f.bin", "--size", "64MiB", "--out", "run"];
    succeed(scratch.path(), &run);
    let found = findings(&scratch.path().join("run"));
    let step = "reads + writes + more";
    let ours = |job| cell(&found, "sequence-apart", &format!("{step}: {job}"), "ios");
    let all =
        cell(&found, "sequence-reads", step, "ios") + cell(&found, "sequence-writes", step, "ios");
    assert_eq!(all, 3001.0 + 320.0 + 503.0);
    assert_eq!((ours("reads"), ours("writes"), ours("more")), (3001.0, 320.0, 503.0));
    let again = succeed(scratch.path(), &["export", "fio", "run"]);
    assert_eq!(again.matches("stonewall").count(), 1, "the others begin with the first: {again}");
    assert!(again.contains("[step-1-3]"), "{again}");
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "job.fio"]).current_dir(scratch.path());
    let Ok(output) = fio.output() else { return skip(test, "fio is not installed") };
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    for job in told["jobs"].as_array().unwrap() {
        let name = job["jobname"].as_str().unwrap();
        let ios = |op: &str| job[op]["total_ios"].as_f64().unwrap();
        assert_eq!(ios("read") + ios("write"), ours(name), "{name}");
    }
}

#[test]
fn targets_of_a_suite_are_checked() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("jobfiles")).unwrap();
    let template = "[job]\nioengine=${IOENGINE}\ndirect=1\nnorandommap\nrw=randread\nbs=${BLKSIZE}\n\
                    iodepth=${DEPTH}\nruntime=${TIME}\ntime_based\nfilename=${DEV}\n";
    std::fs::write(scratch.path().join("jobfiles/read.fio"), template).unwrap();
    let suite = |iops: u64| {
        format!(
            "{{\"def\": [{{\"template\": \"read.fio\", \"alias\": \"reads\", \"values\": \
             {{\"BLKSIZE\": \"4k\", \"DEPTH\": 8, \"TIME\": 1}}, \"targets\": {{\"iops\": \
             {{\"read\": {{\"MIN\": {iops}}}}}}}}}], \"scale_by_capacity\": \"N\"}}"
        )
    };
    for (name, iops, expected) in [("low", 1, 0), ("high", 1_000_000_007, 5)] {
        let file = format!("{name}.json");
        std::fs::write(scratch.path().join(&file), suite(iops)).unwrap();
        let run = ["fiosynth", &file, "--target", "sim:small", "--out", name];
        succeed(scratch.path(), &run);
        let output =
            run_in(scratch.path(), &["check", name, "--no-report", "--allow", "simulated"]);
        assert_eq!(code(&output), expected, "{}", stdout(&output));
    }
    let none = run_in(scratch.path(), &["check", "low/findings.json", "--no-report"]);
    assert_eq!(code(&none), 2, "{}", stderr(&none));
}

struct Nothing;

impl Surroundings for Nothing {
    fn include(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Err("nothing is included".into())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// Loads that fio can give.
fn stimuli() -> Vec<Stimulus> {
    let range = ActiveRange::new(Bytes(27 * 16_384), Bytes(251 * 16_384));
    let stream =
        |op, order, size: u64, weight| IoStream::new(op, order, Bytes(size)).weighing(weight);
    let sequential = Order::Sequential(Cursor::Own);
    let second = Nanos::from_secs(1);
    let of = |streams, demand, until| Stimulus::new(streams, range, demand, until);
    let zone =
        |weight, from: u32, to: u32| Zone { weight, from_ppm: from * 10_000, to_ppm: to * 10_000 };
    let aligned = |size| IoStream {
        alignment: Some(Bytes(4096)),
        ..stream(Op::Read, Order::Random, size, 1)
    };
    vec![
        of(vec![stream(Op::Write, sequential, 16_384, 1)], Demand::new(1, 8), Until::ios(1009)),
        of(
            vec![
                stream(Op::Read, Order::Random, 4096, 7),
                stream(Op::Write, Order::Random, 8192, 3),
            ],
            Demand::new(3, 4),
            Until::time(second),
        )
        .ramp(second),
        of(
            vec![aligned(4096).weighing(3), aligned(65_536)],
            Demand::new(2, 16),
            Until::time(second),
        ),
        of(vec![stream(Op::Write, Order::Random, 4096, 1)], Demand::new(1, 1), Until::ios(1009))
            .zones(vec![zone(60, 0, 10), zone(30, 10, 30), zone(10, 30, 100)])
            .data_pattern(DataPattern::Entropy { random_percent: 70, duplicate_percent: 0 }),
        of(vec![stream(Op::Read, Order::Random, 4096, 1)], Demand::new(2, 2), Until::time(second))
            .pace(Pace::Fixed { ios: 2014, per: second }),
        of(vec![stream(Op::Write, Order::Random, 4096, 1)], Demand::new(1, 4), Until::time(second))
            .pace(Pace::Burst { ios: 7, delay: Nanos::from_millis(3) })
            .data_pattern(DataPattern::Repeating(vec![0xde, 0xad])),
    ]
}

/// Streams with their shares of the I/Os in parts per million.
fn shares(stimulus: &Stimulus) -> Vec<(Op, Order, u64, u64, u64)> {
    let all: u64 = stimulus.streams.iter().map(|s| u64::from(s.weight)).sum();
    let share = |s: &IoStream| u64::from(s.weight) * 1_000_000 / all;
    stimulus.streams.iter().map(|s| (s.op, s.order, s.size.0, s.alignment().0, share(s))).collect()
}

fn zones(stimulus: &Stimulus) -> Vec<Zone> {
    let own = stimulus.streams[0].zones.clone();
    if own.is_empty() { stimulus.zones.clone() } else { own }
}

#[test]
fn an_exported_load_is_the_same_load_when_it_is_read_again() {
    for stimulus in stimuli() {
        let text = job(&stimulus, "step", true, "/dev/null", (CAPACITY, 512)).unwrap();
        let file = JobFile::read(text.as_bytes(), &mut Nothing).unwrap();
        let read = sequence(&file, &Assumed::default()).unwrap();
        let load: &SequenceLoad = &read.steps[0].load;
        let again = load.on(CAPACITY, 512).unwrap();
        assert_eq!(shares(&again), shares(&stimulus), "{text}");
        assert_eq!(zones(&again), zones(&stimulus), "{text}");
        assert_eq!(again.active_range, stimulus.active_range, "{text}");
        assert_eq!(again.demand, stimulus.demand, "{text}");
        assert_eq!((again.until.time, again.until.ios), (stimulus.until.time, stimulus.until.ios));
        assert_eq!((again.pace, again.ramp), (stimulus.pace, stimulus.ramp), "{text}");
        if stimulus.alters() {
            assert_eq!(again.data_pattern, stimulus.data_pattern, "{text}");
        }
    }
}

/// What fio issued, by its own log: direction, offset and size. fio adds to a log that is there.
fn issued(directory: &Path, text: &str) -> Vec<(bool, u64, u64)> {
    let _ = std::fs::remove_file(directory.join("log"));
    std::fs::write(directory.join("job.fio"), format!("{text}write_iolog=log\n")).unwrap();
    let output = Command::new("fio").arg("job.fio").current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(directory.join("log")).unwrap();
    let io = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| ["read", "write"].contains(word))?;
        Some((
            words[at] == "read",
            words.get(at + 1)?.parse().ok()?,
            words.get(at + 2)?.parse().ok()?,
        ))
    };
    log.lines().filter_map(io).collect()
}

#[test]
fn the_real_fio_gives_an_exported_load() {
    let test = "the_real_fio_gives_an_exported_load";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(test, "fio is not installed");
    }
    let scratch = tempfile::tempdir().unwrap();
    let target = scratch.path().join("f.bin");
    std::fs::File::create(&target).unwrap().set_len(CAPACITY.0).unwrap();
    let range = ActiveRange::new(Bytes(27 * 16_384), Bytes(251 * 16_384));
    let stream =
        |op, order, size: u64, weight| IoStream::new(op, order, Bytes(size)).weighing(weight);
    let section = |stimulus: &Stimulus| {
        job(stimulus, "step", true, target.to_str().unwrap(), (CAPACITY, 512)).unwrap()
    };
    let sequential = stream(Op::Write, Order::Sequential(Cursor::Own), 16_384, 1);
    let load = Stimulus::new(vec![sequential], range, Demand::new(1, 8), Until::ios(1009));
    let ios = issued(scratch.path(), &section(&load));
    let lap = 251;
    let expected: Vec<(bool, u64, u64)> =
        (0..1009).map(|n| (false, (27 + n % lap) * 16_384, 16_384)).collect();
    assert_eq!(ios.len(), expected.len());
    let differs = ios.iter().zip(&expected).find(|(one, other)| one != other);
    assert_eq!(differs, None, "offsets in their order, lap after lap");
    let mix =
        vec![stream(Op::Read, Order::Random, 4096, 7), stream(Op::Write, Order::Random, 8192, 3)];
    let load = Stimulus::new(mix, range, Demand::new(1, 4), Until::ios(10_007));
    let ios = issued(scratch.path(), &section(&load));
    assert_eq!(ios.len(), 10_007);
    let reads = ios.iter().filter(|(is_read, ..)| *is_read).count() as f64;
    // Five standard deviations of 10,007 draws with 70 %.
    assert!((reads - 0.7 * 10_007.0).abs() < 5.0 * (10_007.0f64 * 0.7 * 0.3).sqrt(), "{reads}");
    for (is_read, offset, size) in ios {
        assert_eq!(size, if is_read { 4096 } else { 8192 });
        assert!(offset >= range.start.0 && offset + size <= range.end().0);
        assert_eq!((offset - range.start.0) % size, 0);
    }
}

#[test]
fn steps_of_a_run_are_exported_by_their_number() {
    let scratch = tempfile::tempdir().unwrap();
    let mut arguments = vec!["atto", "--target", "sim:small", "--length", "8MiB", "--out", "run"];
    arguments.extend(["--from", "64KiB", "--to", "128KiB"]);
    succeed(scratch.path(), &arguments);
    let all = succeed(scratch.path(), &["export", "fio", "run", "--filename", "x.bin"]);
    assert_eq!(all.matches("stonewall").count(), 4, "{all}");
    // fio would split the name of a simulated drive at its colon.
    refuse(scratch.path(), &["export", "fio", "run"], &["sim:small", "--filename"]);
    let mut one = vec!["export", "fio", "run", "--step", "3", "-o", "step3.fio"];
    one.extend(["--filename", "x.bin"]);
    succeed(scratch.path(), &one);
    let text = std::fs::read_to_string(scratch.path().join("step3.fio")).unwrap();
    assert!(text.contains("[step-3]") && text.contains("bs=131072"), "{text}");
    refuse(scratch.path(), &["export", "fio", "run", "--step", "9"], &["steps 1 to 4, not 9"]);
}
