//! Job files of our own: what is understood, what is refused, and that no damage panics.

use super::*;
use crate::parse_error::ParseError;
use crate::testing::mutations::{MUTATIONS, mutated};
use proptest::prelude::*;
use steadfast_domain::fio_steady_state::{FioSteadyState, SteadyRate};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::sequence::{Amount, SequenceLoad, SequenceStep};
use steadfast_domain::service_level::ServiceLevel;
use steadfast_domain::stimulus::{DataPattern, Op, Order, Pace};
use steadfast_domain::{Bytes, IoStream, Nanos, Sequence};

struct MemoryJobFiles;

impl JobFileContext for MemoryJobFiles {
    fn include(&mut self, name: &str) -> Result<Vec<u8>, String> {
        match name {
            "more.inc" => Ok(b"iodepth=7\n[included]\nrw=randread\n".into()),
            "itself.inc" => Ok(b"include itself.inc\n".into()),
            _ => Err("no such file".into()),
        }
    }
    fn variable(&self, name: &str) -> Result<String, String> {
        if name == "BS" { Ok("16k".to_owned()) } else { Err("set it".to_owned()) }
    }
}

fn read(text: &str) -> Result<Sequence, Vec<ParseError>> {
    sequence(&JobFile::read(text.as_bytes(), &mut MemoryJobFiles)?, &TargetFacts::default())
}

/// One job of the engine libaio, direct and without a random map.
fn one(options: &str) -> Result<SequenceStep, String> {
    let text =
        format!("[job]\nfilename=/dev/target\nioengine=libaio\ndirect=1\nnorandommap\n{options}\n");
    match read(&text) {
        Ok(sequence) => Ok(sequence.steps.into_iter().next().unwrap()),
        Err(wrong) => Err(wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
fn sections_globals_includes_variables_and_comments_are_read() {
    let text = "\u{feff}; a job file\r\n[global]\r\nioengine=libaio ; the engine\r\nDirect = 1\r\n\
        bs=${BS}\r\n[first]\r\nrw=randread\r\nruntime=10\r\ntime_based\r\n# none\r\n\
        [global]\r\niodepth=3\r\n[second]\r\nstonewall\r\nrw=write\r\ninclude more.inc\r\n";
    let file = JobFile::read(text.as_bytes(), &mut MemoryJobFiles).unwrap();
    let names: Vec<&str> = file.sections.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "included"]);
    assert!(file.sections[0].option("iodepth").is_none());
    let second = &file.sections[1];
    assert_eq!(second.option("iodepth").unwrap().value.as_deref(), Some("7"));
    assert_eq!(second.option("bs").unwrap().value.as_deref(), Some("16k"));
    let wrong = read("[a]\ninclude itself.inc\n").unwrap_err();
    assert!(wrong[0].to_string().contains("too deeply"), "{wrong:?}");
    assert_eq!(read("[a]\nbs=${NONE}\n").unwrap_err()[0].line, Some(2));
}

#[test]
fn a_job_is_a_step_with_its_load() {
    let step =
        one("rw=randrw\nrwmixread=70\nbs=4k,8k\niodepth=8\nnumjobs=3\noffset=1m\nsize=10m\n\
                    runtime=107\ntime_based\nramp_time=5")
        .unwrap();
    let load = &step.load;
    assert_eq!((load.demand.threads, load.demand.depth), (3, 8));
    let streams: Vec<(Op, u64, u32)> =
        load.streams.iter().map(|s| (s.op, s.size.0, s.weight)).collect();
    assert_eq!(streams, [(Op::Read, 4096, 70), (Op::Write, 8192, 30)]);
    assert_eq!(load.extent.from, Amount::Bytes(Bytes::mib(1)));
    assert_eq!(load.extent.length, Some(Amount::Bytes(Bytes::mib(10))));
    assert_eq!((load.until.time, load.until.laps), (Some(Nanos::from_secs(107)), None));
    assert_eq!(load.ramp, Nanos::from_secs(5));
    let step = one("rw=write\nbs=128k\nloops=2\nsize=50%").unwrap();
    assert_eq!(step.load.until.laps, Some(2));
    assert_eq!(step.load.extent.length, Some(Amount::Ppm(500_000)));
}

#[test]
fn splits_zones_rates_and_pauses_are_those_of_fio() {
    let step = one("rw=randread\nbssplit=4k/30:8k/:16k/").unwrap();
    let shares: Vec<(u64, u32, u64)> = step
        .load
        .streams
        .iter()
        .map(|s| (s.size.0 >> 10, s.weight / 100, s.alignment().0))
        .collect();
    assert_eq!(shares, [(4, 60, 4096), (8, 70, 4096), (16, 70, 4096)]);
    let step = one("rw=randwrite\nrandom_distribution=zoned:60/10:30/20:10/70").unwrap();
    let zones: Vec<(u32, u32)> =
        step.load.streams[0].zones.iter().map(|z| (z.weight, z.to_ppm)).collect();
    assert_eq!(zones, [(60, 100_000), (30, 300_000), (10, 1_000_000)]);
    let pace = |options: &str| one(&format!("rw=randread\n{options}")).unwrap().load.pace;
    let second = Nanos::from_secs(1);
    assert_eq!(pace("rate_iops=107\nnumjobs=3"), Pace::Fixed { ios: 321, per: second });
    assert_eq!(pace("rate=1m\nbs=4k"), Pace::Fixed { ios: 256, per: second });
    assert_eq!(
        pace("rate_iops=107\nrate_process=poisson"),
        Pace::Poisson { ios: 107, per: second }
    );
    assert_eq!(
        pace("thinktime=5ms\nthinktime_blocks=3"),
        Pace::Burst { ios: 3, delay: Nanos::from_millis(5) }
    );
    let both = one("rw=randrw\nrate_iops=100,7\nnumjobs=3\ntime_based\nruntime=5").unwrap();
    let paces: Vec<(&str, Op, Pace)> =
        both.loads().map(|(name, load)| (name, load.streams[0].op, load.pace.clone())).collect();
    let fixed = |ios| Pace::Fixed { ios, per: second };
    let expected = [("job reads", Op::Read, fixed(300)), ("job writes", Op::Write, fixed(21))];
    assert_eq!(paces, expected, "each direction by itself");
    let sizes = one("rate=1m\nbssplit=4k/50:12k/50").unwrap().load;
    assert_eq!((sizes.pace.clone(), sizes.streams.len()), (fixed(128), 2), "of the mean of 8 KiB");
}

#[test]
fn writes_are_as_durable_as_asked() {
    let stream = |options: &str| one(options).unwrap().load.streams[0].to_string();
    assert_eq!(stream("rw=write\nfsync=1"), "SEQ 4K W FLUSH/1");
    assert_eq!(stream("rw=randwrite\nfdatasync=32"), "RND 4K W FLUSH/32");
    assert_eq!(stream("rw=randwrite\nsync=1"), "RND 4K W SYNC");
    assert_eq!(stream("rw=randwrite\nsync=dsync\nfsync=0"), "RND 4K W SYNC");
    assert_eq!(stream("rw=randwrite\nsync=none"), "RND 4K W");
    assert_eq!(stream("rw=randread\nfsync=8"), "RND 4K R");
    for bad in ["sync=1\nfsync=1", "fsync=1\nfdatasync=2", "sync=often"] {
        assert!(one(&format!("rw=write\n{bad}")).is_err(), "{bad}");
    }
}

#[test]
fn a_job_may_be_random_in_part() {
    let step = one("rw=randrw\nrwmixread=60\nbs=4k\npercentage_random=30,100").unwrap();
    let streams: Vec<(String, u32)> =
        step.load.streams.iter().map(|s| (s.to_string(), s.weight)).collect();
    let expected = [("RND 4K R", 1800), ("SEQ 4K R", 4200), ("RND 4K W", 4000)];
    assert_eq!(streams, expected.map(|(name, weight)| (name.to_owned(), weight)));
    let sequential = one("rw=randread\npercentage_random=0").unwrap();
    assert_eq!(sequential.load.streams[0].to_string(), "SEQ 4K R");
    let remarks = read("[j]\nrw=randread\npercentage_random=7\n").unwrap().remarks;
    assert!(remarks.iter().any(|r| r.text.contains("where the last sequential one ended")));
}

#[test]
fn contents_are_those_of_fio() {
    let pattern = |options: &str| one(&format!("rw=write\n{options}")).unwrap().load.data_pattern;
    assert_eq!(pattern("refill_buffers"), Some(DataPattern::RandomUnique));
    assert_eq!(pattern("scramble_buffers=0"), Some(DataPattern::RandomOnce));
    assert_eq!(pattern("zero_buffers"), Some(DataPattern::Zero));
    assert_eq!(pattern("buffer_pattern=0xdead"), Some(DataPattern::Repeating(vec![0xde, 0xad])));
    assert_eq!(
        pattern("buffer_compress_percentage=30\ndedupe_percentage=20"),
        Some(DataPattern::Entropy { random_percent: 70, duplicate_percent: 20 })
    );
    assert_eq!(one("rw=read").unwrap().load.data_pattern, None);
}

#[test]
fn an_engine_that_waits_has_a_depth_of_one_and_a_line_says_so() {
    let sequence = read("[j]\ndirect=1\nrw=read\niodepth=32\n").unwrap();
    assert_eq!(sequence.steps[0].load.demand.depth, 1);
    assert!(sequence.remarks.iter().any(|r| r.text.contains("psync")), "{:?}", sequence.remarks);
    let file = JobFile::read(b"[j]\ndirect=1\nrw=read\niodepth=32\n", &mut MemoryJobFiles).unwrap();
    let assumed =
        super::sequence(&file, &TargetFacts { ioengine: Some("libaio"), ..TargetFacts::default() })
            .unwrap();
    assert_eq!((assumed.steps[0].load.demand.depth, assumed.remarks.len()), (32, 0));
}

#[test]
fn an_engine_of_a_library_or_a_server_is_ours_and_a_line_says_so() {
    let cases =
        [("sg", 1), ("libpmem", 1), ("rbd", 16), ("external:/lib/x.so", 16), ("libaio", 16)];
    for (engine, depth) in cases {
        let text = format!("[j]\ndirect=1\nrw=read\nioengine={engine}\niodepth=16\npool=p\n");
        let sequence = read(&text).unwrap();
        let says = |word: &str| sequence.remarks.iter().any(|remark| remark.text.contains(word));
        assert_eq!(sequence.steps[0].load.demand.depth, depth, "{engine}");
        assert_eq!(says("is not used"), engine != "libaio", "{engine}: {:?}", sequence.remarks);
        assert!(says("pool: it says where"), "{:?}", sequence.remarks);
    }
}

#[test]
fn an_engine_in_a_file_has_options_of_its_own() {
    let text = "[j]\ndirect=1\nrw=read\nioengine=./lib.so\ngflags=--a=1\n";
    let remarks = read(text).unwrap().remarks;
    assert!(
        remarks.iter().any(|r| r.text.contains("gflags: assumed to be an option")),
        "{remarks:?}"
    );
    let refused = |from: &str, to: &str| read(&text.replace(from, to)).unwrap_err()[0].to_string();
    assert!(refused("gflags", "iodepht").contains("did you mean 'iodepth'"));
    assert!(refused("./lib.so", "libaio").contains("not known"));
}

/// As `discards_of_fio_have_a_depth_of_one` sees it in fio's own numbers.
#[test]
fn discards_have_the_depth_that_fio_gives_them() {
    let depth = |options: &str| read(&format!("[j]\niodepth=8\n{options}\n")).unwrap();
    for engine in ["libaio", "io_uring", "posixaio"] {
        let trims = depth(&format!("rw=trim\nioengine={engine}"));
        assert_eq!(trims.steps[0].load.demand.depth, 1, "{engine}");
        assert!(trims.remarks.iter().any(|remark| remark.text.contains("on discards")));
        let writes = depth(&format!("rw=write\nioengine={engine}"));
        assert_eq!(writes.steps[0].load.demand.depth, 8, "{engine}");
    }
    let deep = "rw=randtrim\nioengine=libaio\niodepth=5280";
    assert_eq!(depth(deep).steps[0].load.demand.depth, 1, "as deep as a large drive's");
    assert_eq!(depth("rw=trim\nioengine=io_uring_cmd").steps[0].load.demand.depth, 8);
}

#[test]
fn a_job_waits_for_the_one_that_is_alone_before_it() {
    let labels = |text: &str| -> Result<Vec<String>, String> {
        let steps = read(text).map_err(|wrong| wrong[0].to_string())?.steps;
        Ok(steps.into_iter().map(|step| step.label).collect())
    };
    let chain = "[a]\nrw=read\n[b]\nrw=write\nwait_for=a\n[c]\nrw=trim\nwait_for=a\n\
                 [d]\nstonewall\nrw=read\n[e]\nrw=write\nwait_for=d\n";
    assert_eq!(labels(chain).unwrap(), ["a", "b + c", "d", "e"]);
    let wrong = |text: &str| labels(text).unwrap_err();
    let both = "[a]\nrw=read\n[b]\nrw=write\n[c]\nwait_for=a\nrw=trim\n";
    assert!(wrong(both).contains("line 5: [c] wait_for=a"), "{}", wrong(both));
    let late = "[a]\nrw=read\n[b]\nrw=write\nwait_for=a\n[c]\nrw=trim\n";
    assert!(wrong(late).contains("[c] it begins with the first jobs"), "{}", wrong(late));
}

#[test]
fn jobs_at_the_same_time_are_one_load_where_they_are_alike_and_run_at_once_otherwise() {
    let alike =
        read("[global]\nioengine=libaio\ndirect=1\nrw=randread\n[a]\n[b]\nnumjobs=2\n").unwrap();
    assert_eq!(alike.steps.len(), 1);
    assert_eq!((alike.steps[0].label.as_str(), alike.steps[0].load.demand.threads), ("a + b", 3));
    let unlike = read("[a]\nrw=randread\n[b]\nrw=write\nbs=8k\n[c]\nrw=randread\n").unwrap();
    assert_eq!(unlike.steps.len(), 1);
    let step = &unlike.steps[0];
    let loads: Vec<(&str, u32)> = step.loads().map(|(n, l)| (n, l.demand.threads)).collect();
    assert_eq!(loads, [("a + c", 2), ("b", 1)]);
    assert_eq!(step.label, "a + c + b");
    let of = |name| step.dimensions.iter().find(|(own, _)| own == name).unwrap().1.as_str();
    assert_eq!((of("rw"), of("bs"), of("iodepth")), ("randread + write", "4k + 8k", "1"));
    assert_eq!(read("[a]\nrw=read\n[b]\nstonewall\nrw=write\n").unwrap().steps.len(), 2);
    let wrong = read("[a]\nrw=read\n[b]\nrw=write\nramp_time=7\n").unwrap_err();
    let why = wrong[0].to_string();
    assert!(why.contains("line 3: [b]: ramp_time") && why.contains("[a]"), "{why}");
    let many: String = (1..=257).map(|n| format!("[j{n}]\nrw=read\nbs={n}k\n")).collect();
    assert!(read(&many).unwrap_err()[0].to_string().contains("more than 256"));
}

#[test]
fn sizes_of_a_range_are_drawn_equally_often() {
    let step = one("rw=randrw\nrwmixread=75\nbsrange=16k-4k,8k-16k").unwrap();
    let shown: Vec<String> =
        step.load.streams.iter().map(|s| format!("{s} {} {}", s.weight, s.alignment().0)).collect();
    assert_eq!(
        shown,
        [
            "RND 4K R 150 4096", "RND 8K R 150 4096", "RND 12K R 150 4096", "RND 16K R 150 4096",
            "RND 8K W 100 8192", "RND 16K W 100 8192",
        ]
    );
    let preset = one("rw=randrw\nbs=,8k\npercentage_random=100%\nnumber_ios=1k").unwrap();
    let sizes: Vec<u64> = preset.load.streams.iter().map(|stream| stream.size.0).collect();
    assert_eq!((sizes, preset.load.until.ios), (vec![4096, 8192], Some(1024)));
    let over = one("rw=randread\nbs=64k\nbsrange=1k-2k").unwrap();
    assert_eq!(over.load.streams.len(), 2, "a range counts before a size, as in fio");
    assert!(read("[a]\nrw=read\ntime_based\nexitall\n").is_ok());
}

#[test]
fn what_is_not_understood_is_named_with_its_line_and_nothing_runs() {
    let cases = [
        ("bsrange=4k", "two sizes"),
        ("bsrange=3k-4k", "bssplit"),
        ("bsrange=512-1m", "256 sizes"),
        ("bsrange=1-4k", "256 sizes"),
        ("bsrange=0-4k", "multiple"),
        ("verify=crc32c", "verification"),
        ("zonemode=strided", "zones"),
        ("random_distribution=zipf:1.2:0.5", "center"),
        ("rw=randread:8", "colon"),
        ("percentage_random=107", "percents"),
        ("rw=randrw\nrate_iops=7,100", "time alone"),
        ("iodepht=4", "did you mean 'iodepth'"),
        ("bs=4q", "not a size"),
        ("rate=1.5m", "not a rate"),
        ("rw=randwrite\nbuffer_pattern=\"abcd\"-12", "only numbers"),
        ("ioengine=null", "no I/O"),
        ("ioengine=filecreate", "no data"),
        ("ioengine=cpuio\ncpuload=50", "uses processors and does no I/O"),
        ("ioengine=net\nhostname=h\nport=8765", "over a network"),
        ("ioengine=falloc", "moves no data"),
        ("filesize=1m-4m", "draws the size of each file"),
        ("filesize=1m:4m\nnrfiles=2\nfilename=", "draws the size of each file"),
        ("filesize=1m-many", "not a size"),
        ("verify=md5\nverify_interval=4k\ndo_verify=1", "run verify-write"),
        ("verify=null", "run verify-write"),
        ("ioengine=libaioo", "no engine of this name"),
        ("nrfiles=2\nsize=1m\nfilename=\nfile_service_type=zipf:1.2", "used unequally"),
        ("filename=a:b\nsize=1m\nfile_service_type=sequential", "give each file a job"),
        ("filename=a:b\nsize=1m\nopenfiles=1", "give each file a job"),
        ("filename=a:b:a\nsize=1m", "named twice"),
        ("lockfile=readwrite", "wait for each other"),
        ("md_per_io_size=8", "protection information"),
        ("num_range=4", "several ranges"),
        ("atomic=1", "atomic"),
        ("sg_write_mode=write_same", "SCSI commands"),
        ("wait_for=other", "alone before it"),
        ("rw=randrw\nrate_iops=7\ntime_based\nruntime=5\nthinktime=1", "mix of directions"),
        ("bssplit=4k/50:8k/140", "100 %"),
        ("bs=4KiB", "4000 bytes"),
        ("io_size=150%\nsize=1m", "at most 100 %"),
        ("ss=lat:3%\nss_dur=5", "bw_slope"),
        ("rw=randwrite\nreadonly", "job writes"),
        ("numjobs=2\noffset=1m\noffset_increment=10%", "cannot be added"),
        ("random_distribution=zoned:50/5:30/15", "100 %"),
        ("runtime=soon", "not a time"),
        ("numjobs=0", "from 1 to"),
        ("iodepth=60%", "from 1 to"),
        ("iodepth=4097", "at most 4096"),
        ("rw=rw\nbsrange=4k-8k\nbssplit=4k/50:8k/50", "bssplit=4k/50:8k/50: a sequential mix"),
        ("random_distribution=zoned_abs:50/1g", "add up to 100"),
        ("random_distribution=zoned_abs:50/1g:50/1g", "give size="),
        ("size=1g\nrandom_distribution=zoned_abs:50/1g:50/1g", "the 1073741824 bytes"),
        ("size=1g\nrandom_distribution=zoned_abs:50/1k:50/1m", "no room"),
        ("filename=a:b\nsize=1m\nrandom_distribution=zipf:1.2", "within each file"),
    ];
    for (options, word) in cases {
        let why = one(&format!("rw=randread\n{options}")).unwrap_err();
        assert!(why.contains(word) && why.contains("line "), "{options}: {why}");
        assert_eq!(why.lines().count(), 1, "{options}: {why}");
    }
    let all = one("rw_sequencer=identical\nverify=crc32c").unwrap_err();
    assert_eq!(all.lines().count(), 2, "each by itself: {all}");
}

/// The command is one that this program understands.
#[test]
fn a_latency_target_names_the_command_that_meets_it() {
    for (options, workload, level) in [
        ("latency_target=5ms\nlatency_window=1s", "\"RND 4K R\"", "p99.99=5ms"),
        ("latency_target=500\nlatency_percentile=99.9", "\"RND 4K R\"", "p99.9=500us"),
        (
            "rw=rw\nrwmixread=65\nbs=64k\nlatency_target=1s\nlatency_percentile=50",
            "\"SEQ 64K RW65\"",
            "p50=1s",
        ),
        ("rw=randwrite\nsync=1\nlatency_target=2ms", "\"RND 4K W SYNC\"", "p99.99=2ms"),
        ("bssplit=4k/50:8k/50\nlatency_target=2ms", "PATTERN", "p99.99=2ms"),
        ("latency_target=2ms\nlatency_percentile=99.999", "\"RND 4K R\"", "p99.999=2ms"),
        ("latency_target=2ms\nlatency_percentile=0.5", "\"RND 4K R\"", "p1=2ms"),
    ] {
        let why = one(&format!("rw=randread\n{options}")).unwrap_err();
        let command =
            format!("steadfast run load-curve --workload {workload} --slo {level} --target TARGET");
        assert!(why.contains(&format!("type: {command}; it differs: ")), "{why}");
        assert_eq!(why.lines().count(), 1, "{why}");
        // Each difference is named, and none that is not there.
        let has_window = options.contains("latency_window");
        assert_eq!(why.contains("latency_window is not used"), has_window, "{why}");
        let replaced = ["p99.99=", "p1="].iter().any(|percent| level.starts_with(percent));
        assert_eq!(why.contains(" % in place of "), replaced, "{why}");
        assert!(["not a depth", "is due", "--purge none"].iter().all(|part| why.contains(part)));
        assert!(level.parse::<ServiceLevel>().is_ok());
        let pattern = workload.trim_matches('"');
        assert!(pattern == "PATTERN" || pattern.parse::<AccessPattern>().is_ok());
    }
    assert!(one("latency_target=0").is_ok(), "0 is off");
    assert!(one("latency_window=1s\nlatency_percentile=99").is_ok(), "nothing without a target");
}

/// Weight, begin and end of the zones of each stream.
fn zones(step: &SequenceStep) -> Vec<Vec<(u32, u32, u32)>> {
    let of = |stream: &IoStream| {
        stream.zones.iter().map(|zone| (zone.weight, zone.from_ppm, zone.to_ppm)).collect()
    };
    step.load.streams.iter().map(of).collect()
}

/// The kind stands once, before the zones of all directions.
#[test]
fn directions_have_zones_of_their_own() {
    let mixed = "rw=randrw\nrandom_distribution=zoned:60/10:40/90,80/50:20/50";
    let expected = [
        vec![(60, 0, 100_000), (40, 100_000, 1_000_000)],
        vec![(80, 0, 500_000), (20, 500_000, 1_000_000)],
    ];
    assert_eq!(zones(&one(mixed).unwrap()), expected);
    let half = one("rw=randread\npercentage_random=50\nrandom_distribution=zoned:60/10:40/90");
    let half = half.unwrap();
    assert_eq!(zones(&half), [expected[0].clone(), vec![]], "sequential I/Os have no zones");
    assert!(half.load.on(Bytes::gib(1), 512).is_ok());
}

/// A range of 100 MiB with a gap from 10 to 20 MiB for reads; writes stay within 50 MiB.
#[test]
fn zones_in_bytes_become_parts_of_the_range() {
    let options = "rw=randrw\nrandom_distribution=zoned_abs:75/10m:0/10m:25/80m,100/50m";
    let expected = [vec![(75, 0, 100_000), (25, 200_000, 1_000_000)], vec![(100, 0, 500_000)]];
    let sized = one(&format!("size=100m\n{options}")).unwrap();
    assert_eq!(zones(&sized), expected);
    let text =
        |length: &str| format!("[j]\nfilename=/dev/x\ndirect=1\noffset=20m\n{length}\n{options}\n");
    let on = |length: &str, capacity: Bytes| {
        let file = JobFile::read(text(length).as_bytes(), &mut MemoryJobFiles).unwrap();
        let assumed = TargetFacts { capacity: Some(capacity), ..TargetFacts::default() };
        super::sequence(&file, &assumed)
    };
    for (length, capacity) in [("", 120), ("size=50%", 200)] {
        let found = on(length, Bytes::mib(capacity)).unwrap();
        assert_eq!(zones(&found.steps[0]), expected, "{length}");
    }
    assert!(on("", Bytes::mib(100)).is_err(), "the zones end behind the target");
    // 1 TiB and 4 KiB: a millionth of the range is 256 positions.
    let coarse = on("size=1t", Bytes(2 << 40)).unwrap();
    let moved = coarse.remarks.iter().find(|remark| remark.text.contains("edges of zones"));
    assert!(moved.unwrap().text.contains("less than 1"), "{:?}", coarse.remarks);
    let exact = on("size=1000000k", Bytes(2 << 40)).unwrap();
    assert!(exact.remarks.iter().all(|remark| !remark.text.contains("edges of zones")));
}

/// The extents of all loads of the first step, from and length.
fn extents(sequence: &Sequence) -> Vec<(u64, u64)> {
    let bytes = |amount| match amount {
        Amount::Bytes(bytes) => bytes.0,
        Amount::Ppm(_) => panic!("a share"),
    };
    let of = |(_, load): (&str, &SequenceLoad)| {
        (bytes(load.extent.from), load.extent.length.map_or(0, bytes))
    };
    sequence.steps[0].loads().map(of).collect()
}

#[test]
fn jobs_with_files_of_their_own_have_a_range_each() {
    const MIB: u64 = 1 << 20;
    let own = read("[rw]\nrw=randwrite\nsize=100m\nnumjobs=3\ndirectory=/mnt/x\n").unwrap();
    assert_eq!(extents(&own), [(0, 100 * MIB), (100 * MIB, 100 * MIB), (200 * MIB, 100 * MIB)]);
    let has_remark = |sequence: &Sequence, word: &str| {
        sequence.remarks.iter().any(|remark| remark.text.contains(word))
    };
    assert!(has_remark(&own, "300 MiB in all: /mnt/x/rw.0.0 from 0 B"), "{:?}", own.remarks);
    let shared = read("[rw]\nrw=randwrite\nsize=100m\nnumjobs=3\nfilename=x\n").unwrap();
    assert_eq!(extents(&shared), [(0, 100 * MIB)]);
    assert_eq!(shared.steps[0].load.demand.threads, 3);
    let devices = "[w]\nrw=write\nsize=100m\nfilename=/dev/sda:/dev/sdb\n[r]\nrw=randread\n\
                   size=30m\nfilename=/dev/sdc\n";
    let both = read(devices).unwrap();
    assert_eq!(extents(&both), [(0, 100 * MIB), (100 * MIB, 30 * MIB)]);
    assert!(!has_remark(&both, "before it reads"), "devices hold what they hold");
    assert!(has_remark(&read("[r]\nrw=read\nsize=1m\n").unwrap(), "before it reads"));
    let increment = "[a]\nrw=write\nfilename=/dev/x\nnumjobs=2\noffset=1m\nsize=4m\n\
                     offset_increment=4m\n";
    assert_eq!(extents(&read(increment).unwrap()), [(MIB, 4 * MIB), (5 * MIB, 4 * MIB)]);
    let file = JobFile::read(devices.as_bytes(), &mut MemoryJobFiles).unwrap();
    assert_eq!(files(&file), ["/dev/sda", "/dev/sdb", "/dev/sdc"]);
    let on = |device| {
        super::sequence(&file, &TargetFacts { device: Some(device), ..TargetFacts::default() })
    };
    assert_eq!(extents(&on("/dev/sdc").unwrap()), [(0, 30 * MIB)]);
    assert!(on("/dev/sda").unwrap_err()[0].to_string().contains("several targets"));
    for (text, word) in [
        ("[a]\nfilename=/dev/a\n[b]\nfilename=/dev/b\n", "--target /dev/a=TARGET"),
        ("[a]\nfilename=a:b\nsize=1m\n[b]\nfilename=b\nsize=1m\n", "also used by another job"),
        ("[a]\nsize=1m\nnumjobs=65\n", "at most 64 threads"),
        ("[a]\nsize=1m\nnumjobs=2\nfilename_format=f.$filenum\n", "only the first"),
    ] {
        let why = read(text).unwrap_err()[0].to_string();
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn delays_count_from_the_start_of_fio() {
    let text = "[global]\ntime_based\nruntime=10\n[a]\nrw=read\nstartdelay=2\n[b]\nrw=write\n\
                startdelay=5\n[c]\nstonewall\nrw=read\nstartdelay=20\n[d]\nstonewall\n\
                rw=read\nstartdelay=20\n";
    let sequence = read(text).unwrap();
    let delays = |at: usize| -> Vec<u64> {
        sequence.steps[at].loads().map(|(_, load)| load.delay.0 / 1_000_000_000).collect()
    };
    let pauses: Vec<u64> = sequence.steps.iter().map(|step| step.pause.0 / 1_000_000_000).collect();
    // [a] and [b] end 15 s after the start, [c] 30 s after it.
    assert_eq!((pauses, delays(0)), (vec![2, 5, 0], vec![0, 3]));
}

#[test]
fn a_ramp_of_a_job_that_ends_by_its_size_is_measured() {
    let text = "[global]\nramp_time=3\n[a]\nrw=read\nruntime=10\nsize=1m\n[b]\nrw=write\n\
                time_based\nruntime=10\n[c]\nstonewall\nrw=read\ntime_based\nruntime=10\n";
    let sequence = read(text).unwrap();
    let times = |at: usize| -> Vec<(Nanos, Option<Nanos>)> {
        sequence.steps[at].loads().map(|(_, load)| (load.ramp, load.until.time)).collect()
    };
    let both = (Nanos::ZERO, Some(Nanos::from_secs(13)));
    assert_eq!(times(0), [both, both]);
    assert_eq!(times(1), [(Nanos::from_secs(3), Some(Nanos::from_secs(10)))]);
    let remarks =
        sequence.remarks.iter().filter(|remark| remark.text.contains("from its beginning"));
    assert_eq!(remarks.count(), 1);
}

#[test]
fn empty_places_shares_and_junk_are_read_as_fio_reads_them() {
    let streams = |options: &str| -> Vec<String> {
        let load = one(options).unwrap_or_else(|why| panic!("{options}: {why}")).load;
        let all: u32 = load.streams.iter().map(|s| s.weight).sum();
        load.streams.iter().map(|s| format!("{s} {}", s.weight * 100 / all)).collect()
    };
    assert_eq!(streams("rw=randwrite\nbssplit=16k/50:32k/40"), ["RND 16K W 60", "RND 32K W 40"]);
    let thirds = ["RND 16K R 34", "RND 32K R 33", "RND 64K R 33"];
    assert_eq!(streams("rw=randread\nbssplit=16k/33:32k/33:64k/33"), thirds);
    assert_eq!(streams("rw=randread\nbs=4096/28:8192/9"), ["RND 4K R 100"]);
    assert_eq!(streams("rw=randwrite\nbs=,4k/15:1024k:85,"), ["RND 4K W 100"]);
    assert_eq!(streams("rw=randwrite\nbssplit=,16k/100,"), ["RND 16K W 100"]);
    assert_eq!(streams("rw=randwrite\npercentage_random=,98,"), ["RND 4K W 98", "SEQ 4K W 2"]);
    assert_eq!(streams("rw=trim\nbs=2G"), ["SEQ 2097152K DISCARD 100"]);
    let zones = one("rw=randwrite\nrandom_distribution=zoned:50/5:30/15:20/").unwrap();
    let zones: Vec<(u32, u32)> =
        zones.load.streams[0].zones.iter().map(|z| (z.weight, z.to_ppm)).collect();
    assert_eq!(zones, [(50, 50_000), (30, 200_000), (20, 1_000_000)]);
    let pace = |options: &str| one(options).unwrap().load.pace;
    assert_eq!(pace("rw=randwrite\nrate_iops=100,"), Pace::Closed, "reads are limited");
    let second = Nanos::from_secs(1);
    let burst = |ios, millis| Pace::Burst { ios, delay: Nanos::from_millis(millis) };
    let thinking = "rw=write\nthinktime=100ms\nthinktime_blocks=10\nrate_iops=";
    assert_eq!(pace(&format!("{thinking}1000")), burst(10, 100), "the pauses decide");
    assert_eq!(pace(&format!("{thinking}50")), Pace::Fixed { ios: 50, per: second });
    let ignored = pace(&format!("{thinking}1000\nrate_ignore_thinktime=1"));
    assert_eq!(ignored, Pace::Fixed { ios: 10, per: Nanos::from_millis(110) });
    let mixed = one("rw=randrw\nrate_iops=100,\ntime_based\nruntime=5").unwrap();
    let paces: Vec<Pace> = mixed.loads().map(|(_, load)| load.pace.clone()).collect();
    assert_eq!(paces, [Pace::Fixed { ios: 100, per: second }, Pace::Closed]);
    let pattern = one("rw=write\nbuffer_pattern=1234").unwrap().load.data_pattern;
    assert_eq!(pattern, Some(DataPattern::Repeating(vec![0xd2, 0x04])));
    let size = |options: &str| one(&format!("rw=read\n{options}")).unwrap().load.extent.length;
    assert_eq!(size("size=100%%"), Some(Amount::Ppm(1_000_000)));
    assert_eq!(size("size=200%"), Some(Amount::Ppm(1_000_000)));
    assert_eq!(size("size=4GiB"), Some(Amount::Bytes(Bytes(976_563 * 4096))));
    assert_eq!(size("size=4GiB\nkb_base=1000"), Some(Amount::Bytes(Bytes::gib(4))));
    let steady = one("rw=write\nss=bw_slope:0.1%\nss_dur=300\nss_ramp=600").unwrap().steady;
    let expected = FioSteadyState {
        rate: SteadyRate::Bandwidth,
        slope: true,
        limit: 0.1,
        percent: true,
        window: Nanos::from_secs(300),
        ramp: Nanos::from_secs(600),
    };
    assert_eq!(steady, Some(expected));
}

/// Options of which a remark is expected, with a word of it.
#[test]
fn what_is_not_done_is_said() {
    let cases = [
        ("cpus_allowed=0", "processors"),
        ("end_fsync=1", "not flushed"),
        ("fsync_on_close=1", "not flushed"),
        ("pre_read=1", "page cache"),
        ("file_append=1", "behind what the file holds"),
        ("sync_file_range=write:8", "page cache"),
        ("cmd_type=nvme", "NVMe"),
        ("size=4GiB", "kb_base"),
        ("bs=4096/28", "ignores the rest"),
        ("dedupe_percentage=50\nbs=64k\nrw=write", "whole transfers"),
        ("rw=randread\nnorandommap=0\nbssplit=4k/50:8k/50", "cuts transfers"),
        ("rw=randread\nrandseed=7\nrandrepeat=0", "its own, from a seed"),
        ("rw=randread", "the same offsets in every run"),
        ("rw=randread\nnorandommap\nrandom_generator=lfsr", "lfsr: fio visits every block once"),
        ("rw=write\ndedupe_mode=working_set\ndedupe_percentage=50", "any earlier one"),
        ("cmdprio_percentage=20", "priorities"),
        ("bssplit=4k/5.5:8k/95", "'5.5' as 5 %"),
        ("rw=randread\nba=4096/28", "ignores the rest"),
        ("ioengine=libaio\niodepth=60?", "'60?' as 60 and"),
        ("hipri_percentage=50", "not polled"),
        ("steadystate_check_interval=2", "at most 59 s"),
    ];
    for (options, word) in cases {
        let text = format!("[j]\nfilename=/dev/x\ndirect=1\n{options}\n");
        let remarks = read(&text).unwrap_or_else(|why| panic!("{options}: {why:?}")).remarks;
        assert!(remarks.iter().any(|r| r.text.contains(word)), "{options}: {remarks:?}");
    }
    let accepted = [
        "rwmixcycle=10", "fadvise_hint=0", "start_delay=5", "offset_align=4k", "ratemin=1k",
        "threads=1", "nr_files=1", "fileoffset=4k", "lockfile=none", "log_prio=1", "num_range=0",
        "md_per_io_size=0", "filesize=1m-1m", "verify=0", "pi_act=1", "log_issue_time=1",
        "plids=1,2",
    ];
    for option in accepted {
        assert!(one(option).is_ok(), "{option}");
    }
}

/// Amounts that fio 3.33 moved with `bs=64k` on a file of 4 MiB.
#[test]
fn io_size_and_loops_end_where_fio_ends() {
    for (rw, size, io_size, loops, moved) in [
        ("read", 1024, 3072, 2, 3072),
        ("read", 1024, 1536, 2, 2048),
        ("read", 2048, 1024, 3, 3072),
        ("read", 1024, 150, 2, 320),
        ("read", 1000, 1024, 3, 3072),
        ("read", 1000, 2990, 3, 3072),
        ("randread\nnorandommap=0", 1000, 1024, 3, 2880),
        ("randread\nnorandommap=0", 1000, 2500, 2, 2880),
        ("randread", 512, 1024, 2, 2048),
        ("randread", 1000, 1060, 2, 2176),
    ] {
        let text = format!("rw={rw}\nbs=64k\nsize={size}k\nio_size={io_size}k\nloops={loops}");
        let bytes = one(&text).unwrap().load.until.bytes;
        assert_eq!(bytes, Some(Amount::Bytes(Bytes(moved * 1024))), "{text}");
    }
}

fn word() -> impl Strategy<Value = String> {
    "[a-z_]{1,12}".prop_filter("no include", |word| word != "include")
}

fn value() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[a-zA-Z0-9:/%.,=-]{1,16}".prop_filter("no blank", |v| !v.is_empty()))
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        sections in proptest::collection::vec(
            (word(), proptest::collection::vec((word(), value()), 0..6)), 1..5)
    ) {
        let section = |(name, options): (String, Vec<(String, Option<String>)>)| JobSection {
            name: format!("job {name}"),
            line: 0,
            options: options
                .into_iter()
                .map(|(name, value)| JobOption { name, value, line: 0 })
                .collect(),
        };
        let file = JobFile { sections: sections.into_iter().map(section).collect() };
        let mut again = JobFile::read(file.write().as_bytes(), &mut MemoryJobFiles).unwrap();
        for section in &mut again.sections {
            section.line = 0;
            section.options.iter_mut().for_each(|option| option.line = 0);
        }
        prop_assert_eq!(again, file);
    }
}

#[test]
fn no_mutation_makes_it_panic() {
    let text = "[global]\nioengine=libaio\ndirect=1\nbssplit=4k/30:8k/70,16k/100\nrate=1m,2m\n\
        [r]\nbsrange=1k-4k,8k-16k\nstonewall\n[a]\nrw=randrw\nrwmixread=70\nrandom_distribution=zoned:60/10:40/90\nruntime=1:30\n\
        buffer_pattern=0xdead\npercentage_random=30\nthinktime=5ms\nnumjobs=4\nsize=90%\n[b]\nstonewall\n\
        include more.inc\nbs=${BS}\nloops=2\nio_size=10m\noffset=1m\nkb_base=1000\n";
    for bytes in mutated(text.as_bytes(), 0..MUTATIONS) {
        let read = JobFile::read(&bytes, &mut MemoryJobFiles)
            .and_then(|f| sequence(&f, &TargetFacts::default()));
        let steps = read.iter().flat_map(|sequence| &sequence.steps);
        for (_, load) in steps.flat_map(|step| step.loads()) {
            let _ = load.on(Bytes(10_007 * 4096), 512);
        }
    }
    assert_eq!(one("rw=randread").unwrap().load.streams[0].order, Order::Random);
}

/// Jobs of one flow: `(name, options)`, all of one file with a flow number.
fn flow_jobs(jobs: &[(&str, &str)]) -> Result<Sequence, String> {
    let global = "[global]\nioengine=libaio\ndirect=1\nnorandommap\nfilename=/dev/target\nsize=1g\n\
                  flow_id=7\n";
    let sections = jobs.iter().map(|(name, options)| format!("[{name}]\n{options}\n"));
    let text = global.to_owned() + &sections.collect::<String>();
    let lines = |wrong: Vec<ParseError>| wrong.iter().map(ToString::to_string).collect::<Vec<_>>();
    read(&text).map_err(|wrong| lines(wrong).join("\n"))
}

/// Streams with their weights, demand and end of a load.
type FlowLoad = (Vec<(String, u32)>, String, Option<u64>);

fn flow_loads(sequence: &Sequence) -> Vec<FlowLoad> {
    let [step] = sequence.steps.as_slice() else { panic!("{:?}", sequence.steps) };
    let loads = std::iter::once(&step.load).chain(step.concurrent.iter().map(|named| &named.load));
    loads
        .map(|load| {
            let streams = load.streams.iter().map(|one| (one.to_string(), one.weight)).collect();
            (streams, load.demand.to_string(), load.until.ios)
        })
        .collect()
}

#[test]
fn jobs_of_one_flow_are_one_load_with_their_weights() {
    let timed = "time_based\nruntime=7\n";
    let random = format!("{timed}rw=randread\nbs=4k\niodepth=5\nflow=3");
    let mixed = format!("{timed}rw=randrw\nrwmixread=25\nbs=8k\niodepth=2\nflow=1");
    let alone = format!("{timed}rw=write\nbs=64k\nflow=0");
    let sequence = flow_jobs(&[("a", &random), ("b", &alone), ("c", &mixed)]).unwrap();
    // 3 : 1, of which 1 is 25 % reads and 75 % writes.
    let weights = [("RND 4K R", 12), ("RND 8K R", 1), ("RND 8K W", 3)];
    let weights = weights.map(|(stream, weight)| (stream.to_owned(), weight)).to_vec();
    let loads = flow_loads(&sequence);
    assert_eq!(loads[0], (weights, "T1Q7".to_owned(), None));
    assert_eq!(loads[1].0, [("SEQ 64K W".to_owned(), 100)]);
    assert_eq!(sequence.steps[0].label, "a + c + b");
    let remarks: Vec<u64> = sequence
        .remarks
        .iter()
        .filter(|remark| remark.text.contains("jobs of a flow are one load"))
        .filter_map(|remark| remark.line)
        .collect();
    assert_eq!(remarks, [8]);
    // Numbers of I/Os are finer than weights.
    let counted = |ios: u64, flow: u64, size: &str| {
        format!("rw=randread\nbs={size}\nnumber_ios={ios}\nio_size=64g\nflow={flow}")
    };
    let (most, few) = (counted(9_973, 997, "4k"), counted(34, 3, "8k"));
    let loads = flow_loads(&flow_jobs(&[("a", &most), ("b", &few)]).unwrap());
    let weights = [("RND 4K R".to_owned(), 9_973), ("RND 8K R".to_owned(), 34)].to_vec();
    assert_eq!(loads, [(weights, "T1Q2".to_owned(), Some(10_007))]);
    // Another flow is another load; a job alone in its flow has no one to share with.
    let other = format!("{timed}rw=randread\nbs=16k\nflow=9\nflow_id=8");
    let sequence = flow_jobs(&[("a", &random), ("b", &other), ("c", &mixed)]).unwrap();
    assert_eq!(flow_loads(&sequence).len(), 2);
}

#[test]
fn a_flow_that_is_no_load_is_refused_with_what_differs() {
    let timed = "time_based\nruntime=7\nrw=randread\nbs=4k\nflow=3\n";
    for (other, part) in [
        ("numjobs=2", "numjobs: a job of a flow has one thread"),
        ("rate_iops=100", "rate or thinktime"),
        ("offset=1m", "filename, offset or size"),
        ("size=512m", "filename, offset or size"),
        ("filename=/dev/other", "filename, offset or size"),
        ("ramp_time=3", "startdelay or ramp_time"),
        ("startdelay=3", "startdelay or ramp_time"),
        ("runtime=8", "all jobs of a flow end together"),
        ("time_based=0\nnumber_ios=7", "all jobs of a flow end together"),
        ("flow=-1", "weights below zero"),
        ("flow=1001", "not a number from 1 to 1000"),
    ] {
        let changed = format!("{timed}{other}");
        let error = flow_jobs(&[("a", timed), ("b", &changed)]).unwrap_err();
        assert!(error.contains(part), "{other}: {error}");
        assert!(error.contains("[b] "), "{other}: {error}");
    }
    // Numbers of I/Os that contradict the weights, and one that the size cuts.
    let counted =
        |ios: u64, more: &str| format!("rw=randread\nbs=4k\nflow=500\nnumber_ios={ios}\n{more}");
    let (half, third) = (counted(5_003, ""), counted(2_503, ""));
    let error = flow_jobs(&[("a", &half), ("b", &third)]).unwrap_err();
    assert!(error.contains("in proportion to its flow"), "{error}");
    let cut = counted(5_003, "io_size=1m");
    let error = flow_jobs(&[("a", &half), ("b", &cut)]).unwrap_err();
    assert!(error.contains("within its size"), "{error}");
}
