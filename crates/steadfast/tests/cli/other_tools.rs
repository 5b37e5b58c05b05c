//! Tests of other tools: presets, job files of fio, suites of FioSynth, and exported job files run
//! by the real fio.

use super::fixtures::*;
use super::workload_export::NoContext;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::sequence::SequenceLoad;
use steadfast_domain::stimulus::{
    ActiveRange, Cursor, DataPattern, LoadLimits, Op, Order, Pace, Zone,
};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Sequence, Stimulus};
use steadfast_engine::fio::job;
use steadfast_exchange::fio::{FioCommandLine, JobFile, TargetFacts, sequence};

const CAPACITY: Bytes = Bytes(10_007 * 4096);

fn cell(findings: &Value, table: &str, row: &str, column: &str) -> f64 {
    table_cell(findings, table, row, column).unwrap_or_else(|| panic!("no {row} in {table}"))
}

/// The sequence of a job file.
fn sequence_of(text: &str) -> Sequence {
    let file = JobFile::read(text.as_bytes(), &mut NoContext).unwrap();
    sequence(&file, &TargetFacts::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn crystaldiskmark_runs_and_its_result_reads_back_to_the_same_numbers() {
    let here = &TestDirectory::new();
    let arguments = "crystaldiskmark --target sim:small --test-size 64MiB --runs 2 --time 1s --interval 1s \
                  --mix 70% -o run -r result.txt";
    run_ending(here, arguments, &[0]);
    let run = findings(here.join("run"));
    assert_eq!(run["id"], "crystaldiskmark");
    let text = std::fs::read_to_string(here.join("result.txt")).unwrap();
    assert!(text.contains("[Mix] Read 70%/Write 30%\r\n"), "{text}");
    succeed(here, "crystaldiskmark --read result.txt -o old");
    let old = findings(here.join("old"));
    for row in ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"] {
        for column in ["Read", "Write", "Mix"] {
            let of = |findings| cell(findings, "crystaldiskmark", row, column);
            assert!((of(&run) - of(&old)).abs() < 0.001, "{row} {column}");
        }
    }
    succeed(here, "compare old/findings.json run -o both");
    let again = run_in(here, arguments);
    assert_ne!(code(&again), 0, "the result file exists");
}

#[test]
fn atto_leaves_out_what_the_sectors_cannot_hold_and_plans_without_touching_anything() {
    let here = &TestDirectory::new();
    let arguments = "atto --target f.bin --size 64MiB --test-size 8MiB --min-size 64KiB --max-size 256KiB \
                  -o run";
    let shown = succeed(here, &format!("{arguments} --plan"));
    assert!(shown.contains("SEQ 64K W"), "{shown}");
    assert!(!here.join("f.bin").exists() && !here.join("run").exists());
    succeed(here, arguments);
    let run = findings(here.join("run"));
    for row in ["64 KiB", "128 KiB", "256 KiB"] {
        assert!(cell(&run, "atto", row, "write-mb") > 0.0);
    }
    assert!(here.join("run/report.html").exists());
}

#[test]
fn a_job_file_runs_whole_or_not_at_all() {
    let here = &TestDirectory::new();
    let write = |name: &str, text: &str| std::fs::write(here.join(name), text).unwrap();
    write("more.inc", "iodepth=4\nsize=16m\n");
    write(
        "good.fio",
        "[global]\nioengine=libaio\ndirect=1\nnorandommap\n[fill]\nrw=write\nbs=64k\n\
         include more.inc\n[mix]\nstonewall\nrw=randrw\nrwmixread=70\nbs=4k\nnumber_ios=1009\n\
         include more.inc\n",
    );
    let shown = succeed(here, "fio good.fio -o run --target f.bin --size 64MiB");
    assert!(shown.contains("mix"), "{shown}");
    let found = findings(here.join("run"));
    let ios = |table| cell(&found, table, "mix", "ios");
    assert_eq!(ios("sequence-reads") + ios("sequence-writes"), 1009.0);
    assert_eq!(cell(&found, "sequence-writes", "fill", "ios"), 256.0);
    write(
        "bad.fio",
        "[a]\nrw=randrw\nrandom_distribution=zipf:0\nverify=md5\n[b]\nrw=read\nnonsense=1\n",
    );
    let bad = "fio bad.fio -o never --target f.bin --size 64MiB";
    let parts =
        ["bad.fio: line 3: [a] random_distribution", "line 4: [a] verify", "line 7: [b] nonsense"];
    refuse(here, bad, &parts);
    assert!(!here.join("never").exists());
}

/// Loads that differ run at once; each has exactly the I/Os that fio gives it.
#[test]
fn jobs_without_stonewall_run_at_once_as_fio_runs_them() {
    let here = &TestDirectory::new();
    let text = "[global]\nioengine=libaio\ndirect=1\nnorandommap\nrandrepeat=0\nsize=16m\n\
                filename=f.bin\n[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=3001\n\
                [writes]\nrw=write\nbs=16k\nio_size=5m\n[more]\nrw=randrw\nrwmixread=30\n\
                bs=8k\nnumber_ios=503\n";
    std::fs::write(here.join("job.fio"), text).unwrap();
    succeed(here, "fio job.fio --target f.bin --size 64MiB -o run");
    let found = findings(here.join("run"));
    let step = "reads + writes + more";
    let ours = |job| cell(&found, "sequence-apart", &format!("{step}: {job}"), "ios");
    let all =
        cell(&found, "sequence-reads", step, "ios") + cell(&found, "sequence-writes", step, "ios");
    assert_eq!(all, 3001.0 + 320.0 + 503.0);
    assert_eq!((ours("reads"), ours("writes"), ours("more")), (3001.0, 320.0, 503.0));
    let again = succeed(here, "export fio run");
    assert_eq!(again.matches("stonewall").count(), 1, "the others begin with the first: {again}");
    assert!(again.contains("[step-1-3]"), "{again}");
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "job.fio"]).current_dir(here);
    let Ok(output) = fio.output() else { return skip("fio is not installed") };
    let answer: Value = parse_json(&output);
    for job in array(&answer["jobs"]) {
        let name = job["jobname"].as_str().unwrap();
        let ios = |op: &str| job[op]["total_ios"].as_f64().unwrap();
        assert_eq!(ios("read") + ios("write"), ours(name), "{name}");
    }
}

#[test]
fn targets_of_a_suite_are_checked() {
    let here = &TestDirectory::new();
    std::fs::create_dir(here.join("jobfiles")).unwrap();
    let template = "[job]\nioengine=${IOENGINE}\ndirect=1\nnorandommap\nrw=randread\nbs=${BLKSIZE}\n\
                    iodepth=${DEPTH}\nruntime=${TIME}\ntime_based\nfilename=${DEV}\n";
    std::fs::write(here.join("jobfiles/read.fio"), template).unwrap();
    let suite = |iops: u64| {
        format!(
            "{{\"def\": [{{\"template\": \"read.fio\", \"alias\": \"reads\", \"values\": \
             {{\"BLKSIZE\": \"4k\", \"DEPTH\": 8, \"TIME\": 1}}, \"targets\": {{\"iops\": \
             {{\"read\": {{\"MIN\": {iops}}}}}}}}}], \"scale_by_capacity\": \"N\"}}"
        )
    };
    for (name, iops, expected) in [("low", 1, 0), ("high", 1_000_000_007, 5)] {
        let file = format!("{name}.json");
        std::fs::write(here.join(&file), suite(iops)).unwrap();
        succeed(here, &["fiosynth", &file, "--target", "sim:small", "-o", name]);
        let output = run_in(here, &["check", name, "--no-report", "--allow", "simulated"]);
        assert_eq!(code(&output), expected, "{}", stdout(&output));
    }
    run_ending(here, "check low/findings.json --no-report", &[2]);
}

/// Loads that fio can apply.
fn stimuli() -> Vec<Stimulus> {
    let range = ActiveRange::new(Bytes(27 * 16_384), Bytes(251 * 16_384));
    let stream = |op, order, size| IoStream::new(op, order, Bytes(size));
    let read = |size| stream(Op::Read, Order::Random, size);
    let write = |size| stream(Op::Write, Order::Random, size);
    let sequential = Order::Sequential(Cursor::Own);
    let second = Nanos::from_secs(1);
    let stimulus = |streams, (threads, depth), until| {
        Stimulus::new(streams, range, Demand::new(threads, depth), until)
    };
    let timed = |streams, demand| stimulus(streams, demand, LoadLimits::time(second));
    let counted = |stream, demand| stimulus(vec![stream], demand, LoadLimits::ios(1009));
    let zone =
        |weight, from: u32, to: u32| Zone { weight, from_ppm: from * 10_000, to_ppm: to * 10_000 };
    let aligned = |size| IoStream { alignment: Some(Bytes(4096)), ..read(size) };
    vec![
        counted(stream(Op::Write, sequential, 16_384), (1, 8)),
        timed(vec![read(4096).with_weight(7), write(8192).with_weight(3)], (3, 4)).ramp(second),
        timed(vec![aligned(4096).with_weight(3), aligned(65_536)], (2, 16)),
        counted(write(4096), (1, 1))
            .zones(vec![zone(60, 0, 10), zone(30, 10, 30), zone(10, 30, 100)])
            .data_pattern(DataPattern::Entropy { random_percent: 70, duplicate_percent: 0 }),
        timed(vec![read(4096)], (2, 2)).pace(Pace::Fixed { ios: 2014, per: second }),
        timed(vec![write(4096)], (1, 4))
            .pace(Pace::Burst { ios: 7, delay: Nanos::from_millis(3) })
            .data_pattern(DataPattern::Repeating(vec![0xde, 0xad])),
    ]
}

#[derive(Debug, PartialEq)]
struct StreamShare {
    op: Op,
    order: Order,
    size: Bytes,
    alignment: Bytes,
    /// Share of the I/Os in parts per million.
    ppm: u64,
}

fn shares(stimulus: &Stimulus) -> Vec<StreamShare> {
    let all: u64 = stimulus.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let share = |stream: &IoStream| StreamShare {
        op: stream.op,
        order: stream.order,
        size: stream.size,
        alignment: stream.alignment(),
        ppm: u64::from(stream.weight) * 1_000_000 / all,
    };
    stimulus.streams.iter().map(share).collect()
}

fn zones(stimulus: &Stimulus) -> Vec<Zone> {
    let own = stimulus.streams[0].zones.clone();
    if own.is_empty() { stimulus.zones.clone() } else { own }
}

#[test]
fn an_exported_load_is_the_same_load_when_it_is_read_again() {
    for stimulus in stimuli() {
        let text = job(&stimulus, "step", true, "/dev/null", CAPACITY, 512).unwrap();
        let load: SequenceLoad = sequence_of(&text).steps.remove(0).load;
        let again = load.on(CAPACITY, 512).unwrap();
        assert_eq!(shares(&again), shares(&stimulus), "{text}");
        assert_eq!(zones(&again), zones(&stimulus), "{text}");
        assert_eq!(again.active_range, stimulus.active_range, "{text}");
        assert_eq!(again.demand, stimulus.demand, "{text}");
        assert_eq!((again.until.time, again.until.ios), (stimulus.until.time, stimulus.until.ios));
        assert_eq!((&again.pace, again.ramp), (&stimulus.pace, stimulus.ramp), "{text}");
        if stimulus.alters() {
            assert_eq!(again.data_pattern, stimulus.data_pattern, "{text}");
        }
    }
}

/// Zones between whole percents, with a gap, are written in bytes. Above 4 GiB a position is
/// narrower than a millionth of the range, so that the zones themselves are equal; below, their
/// positions are.
#[test]
fn a_fio_job_with_zones_in_bytes_reads_back_as_the_same_load() {
    let zones = vec![
        Zone { weight: 3, from_ppm: 10_001, to_ppm: 255_000 },
        Zone { weight: 1, from_ppm: 333_333, to_ppm: 1_000_000 },
    ];
    let mut streams = "RND 4K RW70".parse::<AccessPattern>().unwrap().streams();
    streams.iter_mut().for_each(|stream| stream.zones.clone_from(&zones));
    for capacity in [Bytes::mib(64), Bytes(10_007 << 12), Bytes::gib(100), Bytes(10_007 << 30)] {
        let range = ActiveRange::new(Bytes(0), capacity);
        let demand = Demand::new(1, 4);
        let written = Stimulus::new(streams.clone(), range, demand, LoadLimits::ios(10_007));
        let job = |load: &Stimulus| job(load, "j", false, "/dev/x", capacity, 512).unwrap();
        let text = job(&written);
        let sequence = sequence_of(&text);
        let read = &sequence.steps[0].load.on(capacity, 512).unwrap();
        let distribution = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("random_distribution="));
            line.unwrap().to_owned()
        };
        assert!(distribution(&text).contains("zoned_abs:0/"), "{text}");
        assert_eq!(distribution(&job(read)), distribution(&text), "{capacity}");
        if capacity >= Bytes::gib(4) {
            let mut percents = zones.clone();
            (percents[0].weight, percents[1].weight) = (75, 25);
            for stream in &read.streams {
                assert_eq!(stream.zones, percents, "{capacity}");
            }
            assert_eq!(read.streams.len(), 2, "{capacity}");
        }
        assert!(!sequence.remarks.iter().any(|remark| remark.text.contains("edges of zones")));
    }
}

/// An I/O in fio's own log.
#[derive(Debug, PartialEq)]
struct LoggedIo {
    is_read: bool,
    offset: u64,
    size: u64,
}

/// Runs a job by fio and returns its I/Os. fio appends to an existing log.
fn logged_ios(directory: &Path, text: &str) -> Vec<LoggedIo> {
    let _ = std::fs::remove_file(directory.join("log"));
    std::fs::write(directory.join("job.fio"), format!("{text}write_iolog=log\n")).unwrap();
    let output = Command::new("fio").arg("job.fio").current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(directory.join("log")).unwrap();
    let io = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| ["read", "write"].contains(word))?;
        Some(LoggedIo {
            is_read: words[at] == "read",
            offset: words.get(at + 1)?.parse().ok()?,
            size: words.get(at + 2)?.parse().ok()?,
        })
    };
    log.lines().filter_map(io).collect()
}

#[test]
fn the_real_fio_gives_an_exported_load() {
    if !has_fio() {
        return;
    }
    let here = &TestDirectory::new();
    let target = here.join("f.bin");
    std::fs::File::create(&target).unwrap().set_len(CAPACITY.0).unwrap();
    let range = ActiveRange::new(Bytes(27 * 16_384), Bytes(251 * 16_384));
    let stream =
        |op, order, size: u64, weight| IoStream::new(op, order, Bytes(size)).with_weight(weight);
    let section = |stimulus: &Stimulus| {
        job(stimulus, "step", true, target.to_str().unwrap(), CAPACITY, 512).unwrap()
    };
    let sequential = stream(Op::Write, Order::Sequential(Cursor::Own), 16_384, 1);
    let load = Stimulus::new(vec![sequential], range, Demand::new(1, 8), LoadLimits::ios(1009));
    let ios = logged_ios(here, &section(&load));
    let lap = 251;
    let write = |n: u64| LoggedIo { is_read: false, offset: (27 + n % lap) * 16_384, size: 16_384 };
    let expected: Vec<LoggedIo> = (0..1009).map(write).collect();
    assert_eq!(ios.len(), expected.len());
    let differs = ios.iter().zip(&expected).find(|(one, other)| one != other);
    assert_eq!(differs, None, "offsets in their order, lap after lap");
    let mix =
        vec![stream(Op::Read, Order::Random, 4096, 7), stream(Op::Write, Order::Random, 8192, 3)];
    let load = Stimulus::new(mix, range, Demand::new(1, 4), LoadLimits::ios(10_007));
    let ios = logged_ios(here, &section(&load));
    assert_eq!(ios.len(), 10_007);
    let reads = ios.iter().filter(|io| io.is_read).count() as f64;
    // Five standard deviations of 10,007 draws with 70 %.
    assert!((reads - 0.7 * 10_007.0).abs() < 5.0 * (10_007.0f64 * 0.7 * 0.3).sqrt(), "{reads}");
    for LoggedIo { is_read, offset, size } in ios {
        assert_eq!(size, if is_read { 4096 } else { 8192 });
        assert!(offset >= range.start.0 && offset + size <= range.end().0);
        assert_eq!((offset - range.start.0) % size, 0);
    }
}

/// Job files, each with the I/Os that fio itself issues for it on files of `CAPACITY`.
const JOBS: [&str; 49] = [
    "[a]\nrw=write\nbs=4k\nfilename=x\noffset=10k\nsize=100k\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\noffset=1024\nsize=10240\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\nsize=1m\nio_size=10000\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\nsize=4MiB\n",
    "[a]\nrw=write\nbs=4096\nfilename=x\nsize=4MiB\nkb_base=1000\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nnumjobs=2\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nnrfiles=4\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=p:q\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=x\nnumjobs=2\noffset_increment=64k\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=x\nnumjobs=2\n",
    "[a]\nrw=write\nbs=64k\nsize=1m\n[b]\nrw=write\nbs=16k\nsize=1m\nloops=3\n",
    "[a]\nrw=write\nbs=8k,\nfilename=x\nsize=100k\n",
    "[a]\nrw=read\nbs=4k\nfilename=x\noffset=30%\nsize=50%\n",
    "[a]\nrw=read\nbs=256k\nfilename=x\noffset=10%\nnumjobs=2\noffset_increment=25%\n",
    "[a]\nrw=read\nbs=64k\nfilename=x\noffset=10%\noffset_align=256k\nsize=30%%\n",
    "[a]\nrw=read\nbs=4k\nfilename=x\nsize=1m\nio_size=55%\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\nsize=16k\nnumber_ios=7\nloops=2\n",
    "[a]\nrw=write\nfilename=x\nsize=64000\nkb_base=1000\nnumber_ios=7\nloops=2\n",
    "[a]\nrw=write\nbs=12k\nfilename=x\nsize=100k\n",
    "[a]\nrw=write\nbs=12k\nfilename=x\nsize=100k\nloops=2\n",
    "[a]\nrw=read\nbs=12k\nfilename=x\nsize=100k\nloops=3\n",
    "[a]\nrw=write\nbs=12k\nsize=100k\nloops=2\n",
    "[a]\nrw=write\nbs=4k\nfilesize=64k\nnrfiles=3\n",
    "[a]\nrw=write\nbs=4k\nsize=100k\nnrfiles=3\n",
    "[a]\nrw=write\nbs=4k\nsize=96k\nio_size=200k\nnrfiles=3\n",
    "[a]\nrw=write\nbs=4k\nsize=96k\nnrfiles=3\nfile_service_type=sequential\n",
    "[a]\nrw=write\nbs=4k\nsize=96k\noffset=32k\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\nsize=64k\nioengine=mmap\n",
    "[a]\nrw=write\nbs=4k\nfilename=x\nsize=64k\nfileoffset=8k\nthreads=1\nratemin=1\n",
    "[a]\nrw=write\nfilename=x\nsize=64k\n[b]\nrw=read\nwait_for=a\nbs=16k\nfilename=x\nsize=1m\n",
    "[a]\nrw=randwrite\nbs=4k\nnorandommap\nfilename=x\noffset=32k\nsize=64k\nloops=20\n",
    "[a]\nrw=randwrite\nbs=4k\nfilename=x\nsize=64k\nloops=20\n",
    "[a]\nrw=randread\nbs=12k\nfilename=x\nsize=100k\nloops=30\n",
    "[a]\nrw=randread\nbs=12k\nnorandommap\nfilename=x\nsize=100k\nloops=30\n",
    "[a]\nrw=randwrite\nbs=8k\nba=4k\nnorandommap\nfilename=x\nsize=64k\nloops=40\n",
    "[a]\nrw=randwrite\nbs=4k\nnorandommap\nsize=64k\nnumjobs=2\nloops=9\n",
    "[a]\nrw=randwrite\nbs=4k\nnorandommap\nfilename=x\nsize=64k\nnumjobs=2\nloops=9\n",
    "[a]\nrw=randwrite\nbs=4k\nnorandommap\nfilename=x\nsize=64k\nio_size=1m\n",
    "[a]\nrw=randwrite\nbs=4k\nnorandommap\npercentage_random=0\nfilename=x\nsize=64k\nloops=3\n",
    "[a]\nrw=randrw\nrwmixread=100\nbs=8k,4k\nnorandommap\nfilename=x\nsize=64k\nloops=30\n",
    "[a]\nrw=randrw\nrwmixread=0\nbs=8k,4k\nnorandommap\nfilename=x\nsize=64k\nloops=30\n",
    "[a]\nrw=randread\nbs=64k\nnorandommap\nfilename=x\nsize=10%\nloops=30\n",
    "[a]\nrw=write\nbs=4k\nsize=64k\nnumjobs=2\ndirectory=.\n",
    "[a]\nrw=write\nbs=4k\nfilesize=64k\nsize=128k\n",
    "[a]\nrw=write\nbs=4k\nfilesize=128k\nsize=64k\n",
    "[a]\nrw=write\nbs=4k:8k\nfilename=x\nsize=64k\niodepth=60?\n",
    "[a]\nrw=write\nbs=,4k/15:1024k:85,\nfilename=x\nsize=64k\n",
    "[a]\nrw=write\nbs=4096/28:8192/9\nfilename=x\nsize=64k\nloops=2!\n",
    "[a]\nrw=read\nbs=1m\nfilename=x\noffset=90%\nsize=100%\n",
];

/// Sequential jobs of several sizes, whose I/Os are drawn. Each loop moves the same bytes.
const SPLITS: [&str; 4] = [
    "[a]\nrw=write\nbssplit=4k/50:12k/50\nfilename=x\nsize=100k\n",
    "[a]\nrw=write\nbssplit=4k/50:12k/50\nfilename=x\nsize=104k\nloops=3\n",
    "[a]\nrw=read\nbssplit=8k/50:12k/50\nfilename=x\nsize=100k\nloops=2\n",
    "[a]\nrw=write\nbsrange=4k-16k\nsize=100k\nloops=2\n",
];

/// I/Os of one file or range: how many, their bytes, and where they lie.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileIoSums {
    ios: u64,
    bytes: u64,
    from: u64,
    to: u64,
}

impl FileIoSums {
    fn add(&mut self, offset: u64, size: u64) {
        let from = if self.ios == 0 { offset } else { self.from.min(offset) };
        let to = self.to.max(offset + size);
        *self = FileIoSums { ios: self.ios + 1, bytes: self.bytes + size, from, to };
    }
}

/// The I/Os of fio by its own log, file by file.
fn touched_by_fio(text: &str) -> Vec<FileIoSums> {
    let here = &TestDirectory::new();
    std::fs::File::create(here.join("x")).unwrap().set_len(CAPACITY.0).unwrap();
    std::fs::write(here.join("job.fio"), format!("[global]\nwrite_iolog=log\n{text}")).unwrap();
    let output = Command::new("fio").arg("job.fio").current_dir(here).output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(here.join("log")).unwrap();
    // fio's processes append to one log, each from an own buffer of 8,192 bytes: a longer log may
    // have lines cut in two by another process.
    let processes = log.matches("fio version").count();
    assert!(processes == 1 || log.len() < 8192, "{text}: {} bytes of {processes}", log.len());
    let mut files: std::collections::BTreeMap<String, FileIoSums> = Default::default();
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| ["read", "write"].contains(word)) else {
            continue;
        };
        let number = |at: usize| words[at].parse().unwrap();
        files.entry(words[at - 1].to_owned()).or_default().add(number(at + 1), number(at + 2));
    }
    files.into_values().collect()
}

/// The I/Os that are applied, range by range: the draws of every load until its end.
fn touched_here(sequence: &Sequence, files: usize) -> Vec<FileIoSums> {
    let mut ranges: std::collections::BTreeMap<u64, FileIoSums> = Default::default();
    for (_, load) in sequence.steps.iter().flat_map(|step| step.loads()) {
        let stimulus = load.on(CAPACITY, 512).unwrap();
        let base = if files > 1 { stimulus.active_range.start.0 } else { 0 };
        let plan = std::sync::Arc::new(steadfast_engine::draw::DrawPlan::new(&stimulus).unwrap());
        let mut drawer = steadfast_engine::draw::IoGenerator::new(plan, 7, 0);
        let touched = ranges.entry(base).or_default();
        let (mut ios, mut bytes) = (0, 0);
        let ends = |ios: u64, bytes: u64| {
            stimulus.until.ios.is_some_and(|end| ios >= end)
                || stimulus.until.bytes.is_some_and(|end| bytes >= end.0)
        };
        while !ends(ios, bytes) {
            let io = drawer.draw();
            touched.add(io.offset - base, io.size.into());
            (ios, bytes) = (ios + 1, bytes + u64::from(io.size));
        }
    }
    ranges.into_values().collect()
}

/// The words of a command line with the content of a job file.
fn words_of(text: &str) -> Vec<String> {
    let word = |line: &str| match line.strip_prefix('[') {
        Some(name) => format!("name={}", name.trim_end_matches(']')),
        None => line.to_owned(),
    };
    text.lines().map(word).collect()
}

#[test]
fn jobs_touch_what_they_touch_with_the_real_fio() {
    if !has_fio() {
        return;
    }
    for text in JOBS {
        let ours = sequence_of(text);
        let expected = touched_by_fio(text);
        if text.contains("nrfiles") || text.contains("p:q") {
            // Files that one thread takes in turn lie next to each other.
            let mut all = FileIoSums::default();
            for file in &expected {
                all.ios += file.ios;
                all.bytes += file.bytes;
                all.to += file.to;
            }
            assert_eq!(touched_here(&ours, 1), [all], "{text}");
        } else {
            assert_eq!(touched_here(&ours, expected.len()), expected, "{text}");
        }
        let words = words_of(text);
        let line = FioCommandLine::parse(words.iter().map(String::as_str));
        let typed = JobFile { sections: line.jobs };
        let typed = sequence(&typed, &TargetFacts::default()).unwrap();
        assert_eq!(typed.steps, ours.steps, "the command line of {text}");
        let texts = |sequence: &Sequence| -> Vec<String> {
            sequence.remarks.iter().map(|remark| remark.text.clone()).collect()
        };
        assert_eq!(texts(&typed), texts(&ours), "{text}");
    }
}

/// Whatever depth a job asks for, fio waits for each discard with the engines of the kernel.
#[test]
fn discards_of_fio_have_a_depth_of_one() {
    if !has_fio() {
        return;
    }
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    for engine in ["libaio", "io_uring", "posixaio"] {
        let text = format!(
            "[a]\nrw=trim\nbs=1m\nsize=32m\ndirect=1\niodepth=8\nioengine={engine}\nfilename={}\n",
            device.path
        );
        std::fs::write(here.join("trim.fio"), &text).unwrap();
        let mut fio = Command::new("fio");
        fio.args(["--output-format=json", "trim.fio"]).current_dir(here);
        let answer: Value = parse_json(&fio.output().unwrap());
        let job = &answer["jobs"][0];
        assert_eq!(job["trim"]["total_ios"], 32, "{engine}: {job}");
        assert_eq!(job["iodepth_level"]["1"], 100.0, "{engine}: {job}");
        let ours = sequence_of(&text).steps.remove(0).load;
        assert_eq!((ours.demand.depth, ours.until.laps), (1, Some(1)), "{engine}");
    }
}

#[test]
fn sequential_jobs_of_several_sizes_end_with_the_bytes_of_fio() {
    if !has_fio() {
        return;
    }
    for text in SPLITS {
        let ours = sequence_of(text);
        let end = ours.steps[0].load.on(CAPACITY, 512).unwrap().until.bytes;
        let fio: u64 = touched_by_fio(text).iter().map(|touched| touched.bytes).sum();
        assert_eq!(end, Some(Bytes(fio)), "{text}");
    }
}

/// A range that ends with the target cannot be passed: fio leaves the rest of a block out.
#[test]
fn a_size_that_is_the_whole_target_is_not_passed() {
    let text = "[a]\nrw=write\nbs=12k\nfilename=x\nsize=100k\nloops=2\n";
    let file = JobFile::read(text.as_bytes(), &mut NoContext).unwrap();
    let bytes = |facts: &TargetFacts<'_>| {
        let load = sequence(&file, facts).unwrap().steps.remove(0).load;
        load.on(CAPACITY, 512).unwrap().until.bytes
    };
    assert_eq!(bytes(&TargetFacts::default()), Some(Bytes(17 * 12_288)));
    let capacity = Some(Bytes(100 << 10));
    let known = TargetFacts { capacity, ..TargetFacts::default() };
    let new = TargetFacts { is_new: true, ..TargetFacts::default() };
    assert_eq!([bytes(&known), bytes(&new)], [Some(Bytes(16 * 12_288)); 2]);
}

/// A plan refuses what the run would, with the option that gives a size here.
#[test]
fn a_plan_of_reads_needs_a_file_as_the_run_does() {
    let here = &TestDirectory::new();
    std::fs::write(here.join("r.fio"), "[r]\nrw=randread\nbs=4k\nsize=1m\n").unwrap();
    for line in [
        "fio r.fio --target missing --size 64MiB",
        "fio --name=r --rw=randread --filename=missing --size=1m",
    ] {
        let planned = run_in(here, &format!("{line} --plan"));
        let ran = run_in(here, &format!("{line} -o run"));
        let why = |output: &Output| stderr(output).lines().last().unwrap_or_default().to_owned();
        assert_eq!((code(&planned), code(&ran)), (1, 1));
        assert_eq!(why(&planned), why(&ran));
        assert!(why(&ran).starts_with("steadfast: missing does not exist"), "{}", why(&ran));
    }
    assert!(!here.join("missing").exists());
    let line = "fio --name=w --rw=write --size=1m --target=missing";
    refuse(here, line, &["missing: no such file; give --target-size to create it"]);
    std::fs::write(here.join("w.fio"), "[w]\nrw=write\nsize=1m\n").unwrap();
    refuse(here, "fio w.fio --target=missing", &["give --size to create it"]);
}

#[test]
fn the_command_line_of_fio_runs() {
    let here = &TestDirectory::new();
    let run = |line: &str| succeed(here, &format!("fio {line}"));
    run("-direct=1 -ioengine libaio --name=t --rw=randwrite --bs 4k --iodepth=4 --norandommap \
         --size=1m --filename=f.bin --group_reporting -o run");
    assert_eq!(std::fs::metadata(here.join("f.bin")).unwrap().len(), 64 << 20);
    let found = findings(here.join("run"));
    assert_eq!(cell(&found, "sequence-writes", "t", "ios"), 256.0);
    std::fs::write(here.join("job.fio"), "[a]\nrw=write\nsize=64k\n").unwrap();
    let plan = run("job.fio --bs=16k --target f.bin --plan");
    assert!(plan.contains("SEQ 16K W"), "global options are those of the file's jobs: {plan}");
    let longer = "fio --name=t --size=3g --rw=read --target f.bin";
    refuse(here, longer, &["3 GiB", "64 MiB", "larger target"]);
    let several = run("--filename=/dev/nowhere0:/dev/nowhere1 --name=t --size=4m --rw=read \
                       --target sim:small --plan");
    assert!(several.contains("4 MiB"), "{several}");
    for (line, parts) in [
        ("--name=t --rwx=read --target sim:small", ["--rwx", "did you mean 'rw'"]),
        ("--name=t --rw=read --bs=4q --filename=f.bin", ["[t] --bs=4q", "not a size"]),
        ("--rw=read --target sim:small", ["--name=", "job file"]),
        ("--name=t --rw=read", ["--filename", "--target"]),
        ("--name=t --rw=read --size=1m --filename=/dev/nowhere7", ["/dev/nowhere7", "No such"]),
    ] {
        refuse(here, &format!("fio {line}"), &parts);
    }
}

/// A delayed job has its I/Os in its own time, and a steady rate ends a step.
#[test]
fn jobs_begin_after_their_delay_and_end_once_they_are_steady() {
    let here = &TestDirectory::new();
    let text = "[global]\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=2\n\
                rw=randread\nrate_iops=100\n[a]\n[b]\nstartdelay=1\nbs=8k\n";
    std::fs::write(here.join("job.fio"), text).unwrap();
    std::fs::File::create(here.join("f.bin")).unwrap().set_len(64 << 20).unwrap();
    // On a busy machine the last I/Os of a real target are not in time.
    for (target, out, missing) in [("f.bin", "native", 20.0), ("sim:small", "sim", 1.0)] {
        succeed(here, &["fio", "job.fio", "--target", target, "-o", out]);
        let found = findings(here.join(out));
        for job in ["a", "b"] {
            let row = format!("a + b: {job}");
            let ios = cell(&found, "sequence-apart", &row, "ios");
            assert!((200.0 - missing..=201.0).contains(&ios), "{out} {job}: {ios}");
            let iops = cell(&found, "sequence-apart", &row, "iops");
            assert!((iops - ios / 2.0).abs() < 3.0, "{out} {job}: {iops}");
        }
    }
    let steady = "[s]\nfilename=/dev/x\nioengine=libaio\ndirect=1\nnorandommap\nrw=randread\nrate_iops=100\n\
                  time_based\nruntime=500\nss=iops:20%\nss_dur=5\nss_ramp=3\n";
    std::fs::write(here.join("steady.fio"), steady).unwrap();
    succeed(here, "fio steady.fio --target sim:small -o steady");
    let found = findings(here.join("steady"));
    let ios = cell(&found, "sequence-reads", "s", "ios");
    assert!((ios - 1000.0).abs() <= 2.0, "two parts of 5 s: {ios}");
}

#[test]
fn steps_of_a_run_are_exported_by_their_number() {
    let here = &TestDirectory::new();
    let atto = "atto --target sim:small --test-size 8MiB -o run --min-size 64KiB --max-size 128KiB";
    succeed(here, atto);
    let all = succeed(here, "export fio run --filename x.bin");
    assert_eq!(all.matches("stonewall").count(), 4, "{all}");
    // fio would split the name of a simulated drive at its colon.
    refuse(here, "export fio run", &["sim:small", "--filename"]);
    succeed(here, "export fio run --step-number 3 -o step3.fio --filename x.bin");
    let text = std::fs::read_to_string(here.join("step3.fio")).unwrap();
    assert!(text.contains("[step-3]") && text.contains("bs=131072"), "{text}");
    refuse(here, "export fio run --step-number 9", &["steps 1 to 4, not 9"]);
}
