//! Behavior of the simulated drives, and its repeatability.

use super::*;
use std::collections::BTreeMap;
use std::time::Instant;
use steadfast_domain::Segments;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::steady_state::{Criteria, Track, TrackPoint, judge_every};
use steadfast_domain::step::StepPlace;
use steadfast_domain::stimulus::{ActiveRange, Demand, Durability, LoadLimits, Pace};

/// Returns a load over the whole drive.
pub(super) fn load(
    pattern: &str,
    demand: &str,
    spec: &DriveSpec,
    until: LoadLimits,
    seed: u64,
) -> Stimulus {
    let pattern: AccessPattern = pattern.parse().unwrap();
    let range = ActiveRange::new(Bytes(0), spec.capacity());
    Stimulus::new(pattern.streams(), range, demand.parse::<Demand>().unwrap(), until).seed(seed)
}

fn seconds(n: u64) -> LoadLimits {
    LoadLimits::time(Nanos::from_secs(n))
}

fn ssd(name: &str, seed: u64) -> SimulatedSsd {
    SimulatedSsd::new(drive(name).unwrap(), seed, StopSignal::default())
}

fn step_of(load: impl Into<Load>) -> Step {
    Step::alone(StepPlace::new("test", 0, 1, "test"), load)
}

impl SimulatedSsd {
    pub(super) fn attempt(&mut self, step: &Step) -> Result<Measurement, Halt> {
        self.perform(step, &StepStart::default(), &mut |_| {})
    }

    pub(super) fn run(&mut self, load: impl Into<Load>) -> Measurement {
        self.attempt(&step_of(load)).unwrap()
    }

    /// Applies a pattern for some seconds over the whole drive, at different addresses every
    /// time.
    fn measure_pattern(&mut self, pattern: &str, demand: &str, time: u64) -> Measurement {
        self.run(load(pattern, demand, &self.spec, seconds(time), self.clock))
    }

    /// Fills the drive sequentially, then writes it randomly until it is steady.
    fn make_steady(&mut self) {
        let spec = self.spec.clone();
        let bytes = |drives: u64| LoadLimits::bytes(Bytes(drives * spec.capacity().0));
        self.run(load("SEQ 128K W", "T1Q32", &spec, bytes(1), 1));
        self.run(load("RND 4K W", "T4Q32", &spec, bytes(5), 2));
    }
}

fn iops(measurement: &Measurement) -> f64 {
    measurement.iops().unwrap()
}

fn mean_us(measurement: &Measurement) -> f64 {
    measurement.total().response_mean().unwrap().as_micros_f64()
}

#[test]
fn limits_are_exact() {
    let mut ssd = ssd("small", 1);
    let spec = ssd.spec.clone();
    let counted = ssd.run(load("RND 4K RW65", "T4Q32", &spec, LoadLimits::ios(10_007), 1));
    assert_eq!((counted.total().ios, counted.complete), (10_007, true));
    assert_eq!(counted.bytes(), Bytes(10_007 * 4096));
    assert_eq!(counted.unmeasured, []);
    assert_eq!(ssd.now(), counted.elapsed);

    let whole = LoadLimits::bytes(spec.capacity());
    let filled = ssd.run(load("SEQ 128K W", "T1Q32", &spec, whole, 1));
    assert_eq!((filled.bytes(), filled.total().ios), (spec.capacity(), 8192));
    assert_eq!(filled.cursors["SEQ 128K W"], Bytes(0));

    let uneven = LoadLimits::bytes(Bytes(10 * 131_072 + 512));
    let last_is_short = ssd.run(load("SEQ 128K W", "T1Q32", &spec, uneven, 1));
    assert_eq!(last_is_short.bytes(), Bytes(10 * 131_072 + 512));
    assert_eq!(last_is_short.total().ios, 11);

    let timed = ssd.measure_pattern("RND 4K R", "T2Q16", 3);
    assert_eq!(timed.elapsed, Nanos::from_secs(3));
    assert_eq!(timed.unmeasured.iter().map(|part| part.ios).sum::<u64>(), 32);
    assert!(ssd.now() > Nanos::from_secs(3));
}

#[test]
fn every_second_is_reported_once() {
    let mut ssd = ssd("small", 1);
    let until = LoadLimits::time(Nanos::from_millis(3_500));
    let step = step_of(load("RND 4K RW65", "T1Q4", &ssd.spec, until, 1));
    let mut reported = Vec::new();
    let watch = &mut |interval: &Interval| reported.push(interval.clone());
    let m = ssd.perform(&step, &StepStart::default(), watch).unwrap();
    assert_eq!(reported, m.intervals);
    let ends: Vec<u64> = reported.iter().map(|i| i.end.0 / 1_000_000).collect();
    assert_eq!(ends, [1000, 2000, 3000, 3500]);
    let partial: Vec<bool> = reported.iter().map(|i| i.partial).collect();
    assert_eq!(partial, [false, false, false, true]);
    let counted: u64 = reported.iter().flat_map(|i| &i.tallies).map(|t| t.ios).sum();
    assert_eq!(counted, m.total().ios);
    assert_eq!(m.began_unix_ms, VIRTUAL_EPOCH_UNIX_MS);
    assert_eq!((m.cpu, m.kernel, m.verification), (None, None, None));
}

/// Applies a chain of cut steps over the same load and returns their measurements.
fn chain(ssd: &mut SimulatedSsd, stimulus: &Stimulus, cut: Nanos) -> Vec<Measurement> {
    chain_with_gap(ssd, stimulus, cut, usize::MAX)
}

/// Applies the same chain, with a gap before the part of this number, from 0.
fn chain_with_gap(
    ssd: &mut SimulatedSsd,
    stimulus: &Stimulus,
    cut: Nanos,
    gap: usize,
) -> Vec<Measurement> {
    let mut start = StepStart::default();
    let mut parts: Vec<Measurement> = Vec::new();
    while parts.last().is_none_or(|part| !part.complete) {
        let mut step = step_of(stimulus.clone());
        step.cut = Some(cut);
        step.continues = !parts.is_empty();
        if parts.len() == gap {
            ssd.idle(Nanos::from_millis(50));
        }
        let part = ssd.perform(&step, &start, &mut |_| {}).unwrap();
        start.cursors = part.cursors.clone();
        start.done.time += part.elapsed;
        start.done.bytes += part.bytes();
        start.done.ios += part.total().ios;
        parts.push(part);
    }
    parts
}

#[test]
fn a_chain_of_cut_steps_is_one_long_step() {
    let spec = drive("small").unwrap();
    let paces = [
        Pace::Closed,
        Pace::Poisson { ios: 700, per: Nanos::SECOND },
        Pace::Burst { ios: 500, delay: Nanos::from_millis(900) },
    ];
    let loads = paces.into_iter().flat_map(|pace| {
        ["RND 4K RW35", "SEQ 64K RW50"]
            .map(|pattern| load(pattern, "T2Q8", spec, seconds(12), 5).pace(pace.clone()))
    });
    for stimulus in loads.chain([load("RND 8K W", "T4Q4", spec, LoadLimits::ios(20_011), 6)]) {
        let mut long = ssd("small", 9);
        long.make_steady();
        let mut short = ssd("small", 9);
        short.make_steady();
        let whole = long.run(stimulus.clone());
        let parts = chain(&mut short, &stimulus, Nanos::from_millis(730));
        let mut sum = parts[0].streams.clone();
        for part in &parts[1..] {
            sum.iter_mut().zip(&part.streams).for_each(|(sum, p)| sum.tally.merge(&p.tally));
        }
        assert!(parts.len() > 4);
        assert_eq!(sum, whole.streams);
        assert_eq!(parts.iter().map(|p| p.elapsed.0).sum::<u64>(), whole.elapsed.0);
        assert_eq!(parts.last().unwrap().cursors, whole.cursors);
        assert_eq!(short.now(), long.now());
        assert!(parts[..parts.len() - 1].iter().all(|p| !p.complete && p.unmeasured.is_empty()));
    }
}

#[test]
fn a_resumed_load_does_the_rest() {
    let mut ssd = ssd("small", 1);
    let stimulus = load("SEQ 128K W", "T1Q32", &ssd.spec, LoadLimits::ios(1000), 1);
    let mut step = step_of(stimulus.clone());
    step.continues = true;
    let done = crate::WorkDone { ios: 900, ..Default::default() };
    let cursors = BTreeMap::from([("SEQ 128K W".to_owned(), Bytes(900 << 17))]);
    let rest = ssd
        .perform(&step, &StepStart { cursors, done, ..StepStart::default() }, &mut |_| {})
        .unwrap();
    assert_eq!((rest.total().ios, rest.complete), (100, true));
    assert_eq!(rest.cursors["SEQ 128K W"], Bytes(1000 << 17));

    let all = crate::WorkDone { ios: 1000, ..Default::default() };
    let start = StepStart { done: all, ..StepStart::default() };
    let nothing = ssd.perform(&step, &start, &mut |_| {}).unwrap();
    assert_eq!((nothing.total().ios, nothing.complete, nothing.elapsed), (0, true, Nanos::ZERO));

    step.cut = Some(Nanos::from_millis(10));
    assert!(!ssd.attempt(&step).unwrap().complete);
    let other = load("SEQ 64K W", "T1Q32", &ssd.spec, LoadLimits::ios(1000), 1);
    let mut stranger = step_of(other);
    stranger.continues = true;
    let halt = ssd.attempt(&stranger);
    assert!(halt.unwrap_err().to_string().contains("other than the running one"));
}

/// A gap ends the load. What follows continues it: it must neither write where the load began,
/// nor find a drive in another state than a load without a gap would.
#[test]
fn a_load_that_continues_after_a_gap_does_not_restart() {
    let drives = |n: u64| LoadLimits::bytes(Bytes(n * drive("small").unwrap().capacity().0));
    let stimulus = load("RND 4K W", "T4Q32", drive("small").unwrap(), drives(3), 1);
    let mut unbroken = ssd("small", 1);
    unbroken.run(load("SEQ 128K W", "T1Q32", drive("small").unwrap(), drives(1), 2));
    let whole = chain(&mut unbroken, &stimulus, Nanos::from_secs(10));
    assert!(whole.iter().all(|part| part.seed.is_none()));
    for gap in [1, 5, 12, 25] {
        let mut broken = ssd("small", 1);
        broken.run(load("SEQ 128K W", "T1Q32", drive("small").unwrap(), drives(1), 2));
        let parts = chain_with_gap(&mut broken, &stimulus, Nanos::from_secs(10), gap);
        let (before, after) = parts.split_at(gap);
        assert!(before.iter().all(|part| part.seed.is_none()));
        assert!(after.iter().all(|part| part.seed.is_some() && part.seed == after[0].seed));
        for (broken, whole) in parts.iter().zip(&whole).take(whole.len() - 1) {
            let off = iops(broken) / iops(whole) - 1.0;
            assert!(off.abs() < 0.05, "gap before {gap}: {} for {}", iops(broken), iops(whole));
        }
    }
}

#[test]
fn a_ramp_is_not_measured() {
    let mut ssd = ssd("small", 1);
    let stimulus = load("RND 4K R", "T1Q8", &ssd.spec, seconds(2), 1);
    let m = ssd.run(stimulus.ramp(Nanos::from_millis(1_500)));
    assert_eq!(m.elapsed, Nanos::from_secs(2));
    assert_eq!(m.began_unix_ms, VIRTUAL_EPOCH_UNIX_MS + 1_500);
    let before = m.unmeasured[0].ios as f64 - 8.0;
    assert!((before / m.total().ios as f64 - 0.75).abs() < 0.02);
}

#[test]
fn the_same_seed_does_the_same_and_another_does_not() {
    let run = |drive_seed, load_seed| {
        let mut ssd = ssd("small", drive_seed);
        ssd.make_steady();
        let m = ssd.run(load("RND 4K RW65", "T4Q32", &ssd.spec, seconds(5), load_seed));
        (m, ssd.now())
    };
    let first = run(1, 1);
    assert_eq!(first, run(1, 1));
    assert_ne!(first.0.streams, run(2, 1).0.streams);
    assert_ne!(first.0.streams, run(1, 2).0.streams);
}

#[test]
fn fresh_then_transition_then_steady_then_rested_then_fresh_again() {
    let mut ssd = ssd("small", 1);
    ssd.purge();
    let fresh = ssd.measure_pattern("RND 4K W", "T4Q32", 10);
    assert!(fresh.write_amplification.unwrap().ratio < 1.01);
    ssd.measure_pattern("RND 4K W", "T4Q32", 30);
    let transition = ssd.measure_pattern("RND 4K W", "T4Q32", 30);
    ssd.measure_pattern("RND 4K W", "T4Q32", 600);
    let steady = ssd.measure_pattern("RND 4K W", "T4Q32", 60);
    let still = ssd.measure_pattern("RND 4K W", "T4Q32", 60);
    assert!(iops(&fresh) > 1.4 * iops(&transition));
    assert!(iops(&transition) > 1.4 * iops(&steady));
    assert!((2_000.0..5_000.0).contains(&iops(&steady)));
    assert!((iops(&still) / iops(&steady) - 1.0).abs() < 0.05);
    assert!(steady.sensed.temperature_celsius > fresh.sensed.temperature_celsius);

    // Of the superblocks, 4 are kept free and about one is only half written.
    let spec = ssd.spec.clone();
    let usable = f64::from(spec.superblocks - 5) * f64::from(spec.superblock_pages);
    let expected = ftl::tests::expected_amplification(usable / f64::from(spec.logical_pages));
    let error = steady.write_amplification.unwrap().ratio / expected - 1.0;
    assert!(error.abs() < 0.1, "{:?} where {expected} was expected", steady.write_amplification);

    ssd.idle(Nanos::from_secs(30));
    let rested = ssd.measure_pattern("RND 4K W", "T4Q32", 2);
    assert!(iops(&rested) > 1.5 * iops(&steady) && iops(&rested) <= 1.05 * iops(&fresh));
    let tired = ssd.measure_pattern("RND 4K W", "T4Q32", 60);
    assert!(iops(&tired) < 0.75 * iops(&rested));

    let purge = ssd.purge();
    assert_eq!((purge.method, purge.blank), (PurgeMethod::Simulated, Some(true)));
    assert!(purge.took > Nanos::ZERO);
    let again = ssd.measure_pattern("RND 4K W", "T4Q32", 10);
    assert!((iops(&again) / iops(&fresh) - 1.0).abs() < 0.03);
}

#[test]
fn steady_drives_behave_like_drives() {
    let mut ssd = ssd("small", 1);
    ssd.make_steady();
    let mut cell = |pattern: &str, demand: &str| ssd.measure_pattern(pattern, demand, 20);
    let reads = cell("RND 4K R", "T4Q32");
    let mix = cell("RND 4K RW65", "T4Q32");
    let writes = cell("RND 4K W", "T4Q32");
    assert!(iops(&reads) > iops(&mix) && iops(&mix) > iops(&writes));
    for patterns in
        [["RND 4K R", "RND 64K R", "RND 1024K R"], ["RND 4K W", "RND 64K W", "RND 1024K W"]]
    {
        let [a, b, c] = patterns.map(|pattern| cell(pattern, "T4Q32"));
        assert!(iops(&a) > iops(&b) && iops(&b) > iops(&c));
        let rate = |m: &Measurement| m.bytes_per_second().unwrap();
        let rates = [&a, &b, &c].map(rate);
        assert!(1.05 * rates[1] > rates[0] && 1.05 * rates[2] > rates[1], "{rates:?}");
    }
    // Response times grow with the number of outstanding I/Os, throughput only until the drive is
    // saturated.
    let [q1, q8, q64] = ["T1Q1", "T1Q8", "T2Q32"].map(|demand| cell("RND 4K R", demand));
    assert!(mean_us(&q1) < mean_us(&q8) && 4.0 * mean_us(&q8) < mean_us(&q64));
    assert!(iops(&q1) < iops(&q8) && iops(&q64) > 0.98 * iops(&q8));
    // Reads mixed with writes meet dies that program and erase.
    let read_tail = mix.direction(Op::Read);
    let tail = |t: &steadfast_domain::Tally| t.percentile(0.999).unwrap();
    assert!(tail(&read_tail) > tail(&reads.total()));
    let alone = cell("RND 4K R", "T1Q1").total();
    let mixed = cell("RND 4K RW65", "T1Q1").direction(Op::Read);
    assert!(mixed.percentile(0.99).unwrap().0 > 2 * alone.percentile(0.99).unwrap().0);
    // A write of part of a page writes the whole page.
    let small = cell("RND 0.5K W", "T4Q32").write_amplification.unwrap().ratio;
    assert!(small > 7.5 * writes.write_amplification.unwrap().ratio);
    assert!(cell("RND 4K R", "T1Q1").write_amplification.is_none());
    // Sequential writes invalidate whole superblocks at once.
    let spec = ssd.spec.clone();
    let sequential = [1, 2, 3].map(|_| {
        let whole = LoadLimits::bytes(spec.capacity());
        ssd.run(load("SEQ 128K W", "T1Q32", &spec, whole, 1)).write_amplification.unwrap().ratio
    });
    assert!(sequential[0] > 1.5 && sequential[2] < 1.05, "{sequential:?}");
}

#[test]
fn unwritten_and_discarded_pages_are_read_without_flash() {
    let mut ssd = ssd("small", 1);
    let unwritten = ssd.measure_pattern("RND 4K R", "T1Q1", 1);
    ssd.make_steady();
    let written = ssd.measure_pattern("RND 4K R", "T1Q1", 1);
    let spec = ssd.spec.clone();
    let mut discard = load("SEQ 1024K W", "T1Q4", &spec, LoadLimits::bytes(spec.capacity()), 1);
    discard.streams[0].op = Op::Discard;
    assert_eq!(ssd.run(discard).bytes(), spec.capacity());
    let discarded = ssd.measure_pattern("RND 4K R", "T1Q1", 1);
    assert!(mean_us(&written) > mean_us(&unwritten) + 50.0);
    assert!((mean_us(&discarded) / mean_us(&unwritten) - 1.0).abs() < 0.05);
    ssd.idle(Nanos::from_secs(10));
    let after = ssd.measure_pattern("RND 4K W", "T4Q32", 10);
    assert!(after.write_amplification.unwrap().ratio < 1.01);
}

#[test]
fn only_a_volatile_buffer_makes_durable_writes_slow() {
    for (name, slower) in [("small", true), ("client", true), ("enterprise", false)] {
        let mut ssd = ssd(name, 1);
        let cached = mean_us(&ssd.measure_pattern("RND 4K W", "T1Q1", 1));
        let mut fua = load("RND 4K W", "T1Q1", &ssd.spec, seconds(1), 1);
        fua.streams[0].durability = Durability::Fua;
        let forced = mean_us(&ssd.run(fua));
        ssd.set_write_cache(WriteCache::Disabled);
        assert_eq!(ssd.device().write_cache, Some(WriteCache::Disabled));
        let durable = mean_us(&ssd.measure_pattern("RND 4K W", "T1Q1", 1));
        assert_eq!(durable > 3.0 * cached, slower, "{name}: {cached} {durable}");
        assert!((forced / durable - 1.0).abs() < 0.1, "{name}: {forced} {durable}");
    }
}

#[test]
fn a_flush_waits_for_the_buffer() {
    let mut ssd = ssd("client", 1);
    let mut stimulus = load("RND 4K W", "T1Q1", &ssd.spec, LoadLimits::ios(2_000), 1);
    let flush = IoStream::new(Op::Flush, steadfast_domain::Order::Random, Bytes(0));
    stimulus.streams.push(flush);
    let m = ssd.run(stimulus);
    let mean = |op| m.direction(op).response_mean().unwrap();
    assert!(mean(Op::Flush).0 > 3 * mean(Op::Write).0);
    assert_eq!(m.bytes().0, m.direction(Op::Write).ios * 4096);
}

#[test]
fn paces_are_kept_and_waiting_counts() {
    let mut ssd = ssd("small", 1);
    let paced =
        |pace, time| load("RND 4K R", "T1Q8", drive("small").unwrap(), seconds(time), 1).pace(pace);
    let fixed = ssd.run(paced(Pace::Fixed { ios: 1000, per: Nanos::SECOND }, 10));
    assert!((9_999..=10_001).contains(&fixed.total().ios));
    let poisson = ssd.run(paced(Pace::Poisson { ios: 1000, per: Nanos::SECOND }, 100));
    assert!((99_000..101_000).contains(&poisson.total().ios));
    let delay = Nanos::from_secs(2);
    let bursts = ssd.run(paced(Pace::Burst { ios: 100, delay }, 9));
    assert_eq!(bursts.total().ios, 500);
    assert_eq!(bursts.intervals.iter().filter(|i| i.tallies.is_empty()).count(), 4);
    // More than the drive can do: the waiting time of overdue I/Os is part of their response
    // time.
    let flooded = ssd.run(paced(Pace::Fixed { ios: 20_000, per: Nanos::SECOND }, 4));
    assert!(flooded.total().response_max > Nanos::from_millis(1_500));
}

#[test]
fn a_requested_stop_ends_the_load() {
    let stop = StopSignal::default();
    let mut ssd = SimulatedSsd::new(drive("small").unwrap(), 1, stop.clone());
    let stimulus = load("RND 4K W", "T4Q32", &ssd.spec, seconds(1_000_000_000), 1);
    let mut seconds_seen = 0;
    let halt = ssd.perform(&step_of(stimulus), &StepStart::default(), &mut |_| {
        seconds_seen += 1;
        if seconds_seen == 3 {
            stop.request();
        }
    });
    assert_eq!((halt, seconds_seen), (Err(Halt::Stopped), 3));
}

#[test]
fn invalid_loads_are_refused() {
    let mut ssd = ssd("small", 1);
    let spec = ssd.spec.clone();
    let good = || load("RND 4K W", "T4Q32", &spec, seconds(1), 1);
    type Spoil = fn(&mut Stimulus);
    let cases: [(&str, Spoil); 13] = [
        ("no I/O stream", |s| s.streams.clear()),
        ("beyond sim:small", |s| s.active_range.length.0 += 4096),
        ("beyond sim:small", |s| s.active_range.start.0 = u64::MAX),
        ("cannot hold 512 segments", |s| {
            let (size, unit) = (Bytes::mib(2), Bytes::mib(1));
            s.active_range.segments = Some(Segments { count: 512, size, unit, seed: 1 });
        }),
        ("multiples of 512 B", |s| s.streams[0].size = Bytes(1000)),
        ("at most 64 MiB", |s| s.streams[0].size = Bytes::mib(128)),
        ("needs a rate", |s| s.pace = Pace::ByStream(vec![Pace::Closed])),
        ("give each stream one", |s| s.pace = Pace::ByStream(Vec::new())),
        ("outstanding", |s| s.demand = Demand::new(65_536, 2)),
        ("nothing can be verified", |s| s.verify = true),
        ("at least one I/O", |s| s.pace = Pace::Fixed { ios: 0, per: Nanos::SECOND }),
        ("not a multiple of 512 B", |s| s.until = LoadLimits::bytes(Bytes(1000))),
        ("ramp", |s| (s.ramp, s.until) = (Nanos(1), LoadLimits::ios(1))),
    ];
    for (words, spoil) in cases {
        let mut bad = good();
        spoil(&mut bad);
        let why = ssd.prepare(&step_of(bad.clone())).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
        assert!(matches!(ssd.attempt(&step_of(bad)), Err(Halt::Refused(_))));
    }
    assert!(ssd.prepare(&step_of(good())).is_ok());
    assert_eq!(ssd.now(), Nanos::ZERO);
}

#[test]
fn failing_ios_are_counted_and_too_many_void_the_step() {
    let until = LoadLimits::ios(10_000);
    let mut faulty = ssd("small", 1).with_fault(SimFault::FailEvery(200));
    let stimulus = load("RND 4K W", "T1Q8", &faulty.spec, until, 1);
    let m = faulty.run(stimulus.clone());
    assert_eq!((m.total().ios, m.fault_count), (10_000, 50));
    assert_eq!(m.faults.len(), 32);
    assert_eq!((m.faults[0].op, m.faults[0].errno), (Op::Write, 5));
    let mut worse = ssd("small", 1).with_fault(SimFault::FailEvery(10));
    let Err(Halt::Faults { count, first, .. }) = worse.attempt(&step_of(stimulus)) else {
        panic!("a void step");
    };
    assert_eq!(count, 100);
    assert!(first.starts_with("write of 4096 B at byte"), "{first}");
}

#[test]
fn a_drive_can_be_gone_and_can_hang() {
    let mut gone = ssd("small", 1).with_fault(SimFault::GoneAfter(500));
    let stimulus = load("RND 4K W", "T1Q8", &gone.spec, LoadLimits::ios(400), 1);
    assert_eq!(gone.run(stimulus.clone()).total().ios, 400);
    for _ in 0..2 {
        let halt = gone.attempt(&step_of(stimulus.clone())).unwrap_err();
        assert!(matches!(&halt, Halt::DeviceGone { device, .. } if device == "sim:small"));
    }
    let stop = StopSignal::default();
    let mut hanging = SimulatedSsd::new(drive("small").unwrap(), 1, stop.clone())
        .with_fault(SimFault::HangAt(100));
    let requester = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        stop.request();
    });
    assert_eq!(hanging.attempt(&step_of(stimulus)), Err(Halt::Stopped));
    requester.join().unwrap();
}

/// Returns the IOPS of every cell of the IOPS test, round by round.
fn iops_rounds(ssd: &mut SimulatedSsd, rounds: u32, step: u64) -> Vec<Vec<f64>> {
    let spec = ssd.spec.clone();
    let twice = LoadLimits::bytes(Bytes(2 * spec.capacity().0));
    ssd.run(load("SEQ 128K W", "T1Q32", &spec, twice, 1));
    (1..=rounds)
        .map(|round| {
            let mut cells = Vec::new();
            for mix in [100, 95, 65, 50, 35, 5, 0] {
                for size in ["1024K", "128K", "64K", "32K", "16K", "8K", "4K", "0.5K"] {
                    let seed = StepPlace::new("rounds", round, cells.len() as u32, "").seed(7);
                    let pattern = format!("RND {size} RW{mix}");
                    let m = ssd.run(load(&pattern, "T4Q32", &spec, seconds(step), seed));
                    cells.push(m.iops().unwrap());
                }
            }
            cells
        })
        .collect()
}

/// Returns the first round that ends a steady window.
fn steady_at(rounds: &[Vec<f64>]) -> Option<u32> {
    let track = |name: &str, cell: usize| Track {
        name: name.to_owned(),
        unit: "IOPS".to_owned(),
        points: (1..)
            .zip(rounds)
            .map(|(round, cells)| TrackPoint { round, value: Some(cells[cell]), after_gap: false })
            .collect(),
    };
    let tracks = [track("RND 4K W", 54), track("RND 64K RW65", 18), track("RND 1024K R", 0)];
    let criteria = Criteria { window: 5, data_excursion: 0.2, slope_excursion: 0.1 };
    let verdicts = judge_every(&tracks, &criteria);
    verdicts.iter().find(|v| v.steady).and_then(|v| v.window).map(|(_, last)| last)
}

#[test]
fn the_iops_test_finds_steady_state() {
    let mut ssd = ssd("small", 1);
    ssd.purge();
    let rounds = iops_rounds(&mut ssd, 8, 8);
    assert!(steady_at(&rounds).is_some_and(|round| (5..=8).contains(&round)));
    let first: Vec<f64> = rounds.iter().map(|cells| cells[54]).collect();
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "rounds differ a little");
}

#[test]
fn a_drive_can_be_kept_from_steady_state() {
    let fault = SimFault::NeverSteady { slower_percent_per_gib: 10 };
    let mut ssd = ssd("small", 1).with_fault(fault);
    assert_eq!(steady_at(&iops_rounds(&mut ssd, 25, 3)), None);
}

/// Returns the drive named by `DRIVE`; `small` by default.
fn drive_to_measure() -> &'static DriveSpec {
    let name = std::env::var("DRIVE").unwrap_or_else(|_| "small".to_owned());
    drive(&name).unwrap()
}

/// Applies a pattern, prints a row of a table and returns its IOPS by second.
fn print_row(ssd: &mut SimulatedSsd, pattern: &str, demand: &str, time: u64) -> Vec<f64> {
    let begun = Instant::now();
    let m = ssd.measure_pattern(pattern, demand, time);
    let total = m.total();
    println!(
        "| {pattern} | {demand} | {time} | {:.0} | {:.1} | {:.0} | {:.0} | {} | {:.1} | {:.1} |",
        iops(&m),
        m.bytes_per_second().unwrap() / 1e6,
        mean_us(&m),
        total.response_max.as_micros_f64(),
        m.write_amplification.map_or("-".to_owned(), |found| found.to_string()),
        m.sensed.temperature_celsius.unwrap(),
        total.ios as f64 / begun.elapsed().as_secs_f64() / 1e6
    );
    m.intervals.iter().map(|i| i.iops().unwrap().round()).collect()
}

/// `DRIVE=small cargo test -p steadfast-engine --release --lib -- --ignored --nocapture speed`
#[test]
#[ignore = "a measurement, not a test"]
fn speed_and_behavior() {
    let mut ssd = SimulatedSsd::new(drive_to_measure(), 1, StopSignal::default());
    println!(
        "| pattern | demand | s | IOPS | MB/s | mean us | max us | WA | C | M I/O/s of wall time |"
    );
    let fresh = print_row(&mut ssd, "RND 4K W", "T4Q32", 600);
    println!("{:?}", fresh.iter().step_by(10).collect::<Vec<_>>());
    for row in [
        "RND 4K W T4Q32", "RND 4K RW65 T4Q32", "RND 4K R T4Q32", "RND 64K W T4Q32",
        "RND 64K RW65 T4Q32", "RND 1024K W T4Q32", "RND 1024K R T4Q32", "RND 0.5K W T4Q32",
        "RND 4K W T1Q1", "RND 4K RW65 T1Q1", "RND 4K R T1Q1", "SEQ 128K R T1Q32",
    ] {
        let (pattern, demand) = row.rsplit_once(' ').unwrap();
        print_row(&mut ssd, pattern, demand, 60);
    }
    print_row(&mut ssd, "RND 4K W", "T4Q32", 300);
    for idle in [5, 50] {
        ssd.idle(Nanos::from_secs(idle));
        println!("after {idle} s of idleness: {:?}", print_row(&mut ssd, "RND 4K W", "T4Q32", 20));
    }
}

/// `cargo test -p steadfast-engine --release --lib -- --ignored --nocapture iops_test_duration`
#[test]
#[ignore = "a measurement, not a test"]
fn iops_test_duration() {
    let mut ssd = SimulatedSsd::new(drive_to_measure(), 1, StopSignal::default());
    let begun = Instant::now();
    ssd.purge();
    let rounds = iops_rounds(&mut ssd, 5, 60);
    println!(
        "{:.1} s of wall time, steady at {:?}",
        begun.elapsed().as_secs_f64(),
        steady_at(&rounds)
    );
    for cells in &rounds {
        println!("4K W {:.0}, 64K RW65 {:.1}, 1024K R {:.2}", cells[54], cells[18], cells[0]);
    }
    for mix in rounds[4].chunks(8) {
        println!("{}", mix.iter().map(|v| format!("{v:9.1}")).collect::<String>());
    }
}

#[test]
fn loads_at_once_are_counted_separately_and_end_at_their_own_ends() {
    let mut ssd = ssd("small", 1);
    let spec = ssd.spec.clone();
    let reads = load("RND 4K R", "T1Q4", &spec, LoadLimits::ios(10_007), 1);
    let writes = load("SEQ 128K W", "T1Q1", &spec, LoadLimits::ios(101), 2);
    let timed = load("RND 8K R", "T1Q2", &spec, seconds(1), 3);
    let m = ssd.run(Load::Together(vec![reads.clone(), writes, timed]));
    assert!(m.complete);
    let ios: Vec<u64> = m.concurrent_loads().map(|load| load.streams[0].tally.ios).collect();
    assert_eq!((ios[0], ios[1]), (10_007, 101));
    let ends: Vec<Nanos> = m.concurrent_loads().map(|load| load.elapsed).collect();
    assert_eq!(ends[2], Nanos::from_secs(1));
    assert!(ends[0] < m.elapsed || ends[1] < m.elapsed, "{ends:?}");
    assert_eq!(ends.iter().max(), Some(&m.elapsed));
    assert_eq!(m.total().ios, ios.iter().sum::<u64>());
    assert_eq!(m.cursors["#2 SEQ 128K W"], Bytes(101 * 131_072));
    // Alongside others, a closed loop is slower than alone, and its streams are not mixed with
    // theirs.
    let alone = self::ssd("small", 1).run(reads);
    assert!(ends[0] > alone.elapsed, "{} {}", ends[0], alone.elapsed);
}

#[test]
fn loads_at_once_continue_after_a_cut_as_if_there_was_none() {
    let spec = ssd("small", 1).spec.clone();
    let loads = || {
        vec![
            load("RND 4K W", "T1Q4", &spec, LoadLimits::ios(10_007), 1),
            load("RND 4K R", "T2Q2", &spec, seconds(2), 2)
                .pace(Pace::Fixed { ios: 1009, per: Nanos::from_secs(1) }),
        ]
    };
    let counts = |m: &Measurement| -> Vec<u64> {
        m.concurrent_loads().map(|load| load.streams[0].tally.ios).collect()
    };
    let whole = ssd("small", 1).run(Load::Together(loads()));
    let mut ssd = ssd("small", 1);
    let (mut sums, mut elapsed) = (vec![0, 0], Nanos::ZERO);
    for point in 1.. {
        let place = StepPlace::new("test", 0, point, "at once");
        let cut = Nanos::from_millis(37);
        let step = Step::part(place, Load::Together(loads()), cut, point > 1);
        let m = ssd.attempt(&step).unwrap();
        for (sum, count) in sums.iter_mut().zip(counts(&m)) {
            *sum += count;
        }
        elapsed += m.elapsed;
        if m.complete {
            break;
        }
    }
    assert_eq!((sums, elapsed), (counts(&whole), whole.elapsed));
}

/// By closed form: I/Os outstanding when the drive freezes take longer by the length of the
/// freeze.
#[test]
fn a_freeze_across_the_end_of_a_step_is_in_its_response_times() {
    let freeze = SimFault::Freezes { at: Nanos::from_secs(55), lasts: Nanos::from_secs(9) };
    let spec = drive("small").unwrap();
    let reads = |seconds_| load("RND 4K R", "T2Q4", spec, seconds(seconds_), 1);
    let calm = ssd("small", 1).run(reads(55)).direction(Op::Read);
    let done = ssd("small", 1).with_fault(freeze).run(reads(60));
    let felt = done.direction(Op::Read);
    assert_eq!((done.elapsed, felt.ios, felt.bytes), (Nanos::from_secs(60), calm.ios, calm.bytes));
    assert_eq!((felt.outstanding, calm.outstanding), (8, 8));
    let nine = Nanos::from_secs(9);
    assert_eq!(felt.response_sum, calm.response_sum + Nanos(8 * nine.0));
    assert!(felt.response_max >= nine && felt.response_max < nine + Nanos::from_millis(10));
    assert_eq!(felt.histogram.total(), felt.ios + 8);
    assert_eq!(done.outstanding, 0);
    let [silence] = done.silences[..] else { panic!("{:?}", done.silences) };
    let close = Nanos::from_millis(10);
    assert!(silence.at <= Nanos::from_secs(55) && silence.at + close > Nanos::from_secs(55));
    assert!(silence.lasted >= nine && silence.lasted < nine + close);
    let empty: Vec<Option<f64>> =
        done.intervals.iter().skip(55).map(|interval| interval.iops()).collect();
    assert_eq!(empty, [Some(0.0); 5]);
}

/// A chain that is cut within a freeze: each step has its part of the silence, and the step in
/// which the I/Os complete has their response times.
#[test]
fn a_freeze_across_a_cut_is_in_both_steps() {
    let freeze = SimFault::Freezes { at: Nanos::from_secs(2), lasts: Nanos::from_secs(5) };
    let mut ssd = ssd("small", 1).with_fault(freeze);
    let mut step = step_of(load("RND 4K R", "T1Q1", &ssd.spec, seconds(9), 1));
    step.cut = Some(Nanos::from_secs(4));
    let first = ssd.attempt(&step).unwrap();
    (step.cut, step.continues) = (None, true);
    let second = ssd.attempt(&step).unwrap();
    assert!(!first.complete && second.complete);
    let rounded = |m: &Measurement| -> Vec<(u64, u64)> {
        let parts = m.silences.iter();
        parts.map(|s| (s.at.0.div_ceil(100_000_000), s.lasted.0 / 100_000_000)).collect()
    };
    assert_eq!((rounded(&first), rounded(&second)), (vec![(20, 20)], vec![(0, 30)]));
    assert!(first.total().response_max < Nanos::from_millis(10));
    assert!(second.total().response_max >= Nanos::from_secs(5));
}

/// Between two due times nothing is outstanding, which is no silence of the drive.
#[test]
fn a_paced_load_with_nothing_outstanding_is_not_silent() {
    let mut ssd = ssd("small", 1);
    let pace = Pace::Fixed { ios: 1, per: Nanos::from_secs(3) };
    let slow = load("RND 4K R", "T1Q4", &ssd.spec, seconds(20), 1).pace(pace);
    assert_eq!(ssd.run(slow.clone()).silences, []);
    let freeze = SimFault::Freezes { at: Nanos::from_secs(25), lasts: Nanos::from_secs(8) };
    let mut frozen = self::ssd("small", 1).with_fault(freeze);
    frozen.idle(Nanos::from_secs(20));
    let done = frozen.run(slow);
    assert!(done.silences.iter().any(|silence| silence.lasted > Nanos::from_secs(2)), "{done:?}");
}

/// Writes the first `bytes` of a drive and returns the measurement, in intervals of half a second.
fn writes(ssd: &mut SimulatedSsd, bytes: u64) -> Measurement {
    let until = LoadLimits::bytes(Bytes(bytes).round_down(512));
    let stimulus = load("SEQ 128K W", "T1Q32", &ssd.spec, until, 1);
    let step = step_of(stimulus).with_interval(Nanos::from_millis(500));
    ssd.attempt(&step).unwrap()
}

#[test]
fn a_pslc_cache_is_fast_until_it_is_full_and_folds_when_idle() {
    let mut ssd = ssd("pslc", 1);
    let cache = ssd.spec.pseudo_slc.unwrap();
    let m = writes(&mut ssd, 5_000_000_000);
    // 1.5 GB at 120, 2 GB at 40, 1.5 GB at 15 MB/s.
    let seconds = m.elapsed.as_secs_f64();
    assert!((seconds - (12.5 + 50.0 + 100.0)).abs() < 0.1, "{seconds}");
    let rates: Vec<f64> = m.intervals.iter().map(|i| i.bytes_per_second().unwrap() / 1e6).collect();
    let near = |at: usize, rate: f64| (rates[at] / rate - 1.0).abs() < 0.02;
    assert!(near(5, 120.0) && near(50, 40.0) && near(200, 15.0), "{rates:?}");
    assert!(m.intervals.iter().rev().skip(1).all(|interval| !interval.partial));

    // Half a minute: 25 s of folding at 10 MB/s.
    ssd.idle(Nanos::from_secs(30));
    let again = writes(&mut ssd, 250_000_000).elapsed.as_secs_f64();
    assert!((again - 250.0 / 120.0).abs() < 0.05, "{again}");
    let full = writes(&mut ssd, 40_000_000).elapsed.as_secs_f64();
    assert!((full - 1.0).abs() < 0.2, "{full}");
    ssd.idle(Nanos::from_secs(3600));
    let all = writes(&mut ssd, cache.size.0).elapsed.as_secs_f64();
    assert!((all - 12.5).abs() < 0.05, "{all}");
    ssd.purge();
    assert!((writes(&mut ssd, cache.size.0).elapsed.as_secs_f64() - 12.5).abs() < 0.05);
}

#[test]
fn data_in_the_pslc_cache_is_read_faster() {
    let mut ssd = ssd("pslc", 1);
    writes(&mut ssd, 2_000_000_000);
    let reads = |ssd: &mut SimulatedSsd, start: u64| {
        let until = LoadLimits::bytes(Bytes::mib(64));
        let mut stimulus = load("SEQ 128K R", "T1Q32", &ssd.spec, until, 1);
        stimulus.active_range = ActiveRange::new(Bytes(start), Bytes::mib(64));
        ssd.run(stimulus).mb_per_second().unwrap()
    };
    let (cached, direct) = (reads(&mut ssd, 0), reads(&mut ssd, 1_600_126_976));
    assert!((cached / 550.0 - 1.0).abs() < 0.02, "{cached}");
    assert!(direct < 400.0, "{direct}");
    ssd.idle(Nanos::from_secs(3600));
    assert!(reads(&mut ssd, 0) < 400.0, "folded");
}

#[test]
fn a_dozing_drive_answers_late_after_its_thresholds_and_by_its_latencies() {
    let after = |idle: u64| {
        let mut ssd = ssd("dozing", 1);
        ssd.measure_pattern("RND 4K R", "T1Q1", 1);
        let pace = Pace::Burst { ios: 1, delay: Nanos(idle) };
        let stimulus = load("RND 4K R", "T1Q1", &ssd.spec, seconds(60), 1).pace(pace);
        let total = ssd.run(stimulus.ramp(Nanos(idle / 2))).total();
        assert!(total.ios > 1 && total.response_shortest() == total.response_longest());
        total.response_max.0
    };
    let back_to_back =
        ssd("dozing", 1).measure_pattern("RND 4K R", "T1Q1", 1).total().response_max.0;
    assert_eq!(after(99_999_999), back_to_back);
    assert_eq!(after(100_000_000), back_to_back + 1_500_000);
    assert_eq!(after(1_999_999_999), back_to_back + 1_500_000);
    assert_eq!(after(2_000_000_000), back_to_back + 25_000_000);
}

#[test]
fn every_drive_draws_idle_power_and_the_energy_of_its_work() {
    for spec in drives() {
        let mut ssd = ssd(spec.name, 1);
        let power = ssd.measure_pattern("RND 4K R", "T1Q1", 1).sensed.power_milliwatts.unwrap();
        assert!(power > f64::from(spec.power.idle_milliwatts), "{}: {power}", spec.name);
    }
    // 10,000 commands of 100 uJ in a second above 1 W.
    let mut exact = ssd("exact", 1);
    let power = exact.measure_pattern("RND 4K R", "T1Q32", 10).sensed.power_milliwatts.unwrap();
    assert!((power - 2000.0).abs() < 1.0, "{power}");
    // Without collection, each write is a command, a page and 4,096 bytes: 88.192 uJ above 0.4 W.
    let mut small = ssd("small", 1);
    let fresh = small.measure_pattern("RND 4K W", "T1Q1", 5);
    let power = fresh.sensed.power_milliwatts.unwrap();
    let expected = 400.0 + iops(&fresh) * 0.088_192;
    assert!((power - expected).abs() < 0.1, "{power} of {expected}");
}
