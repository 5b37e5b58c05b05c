//! Compares all calls of every procedure to its bench with those recorded when runs were first
//! resumed: conditions, loads, seeds, phases, pauses, verdicts. A resumed run must find the same
//! steps after a change of the code, so a line of loads.txt changes only if a procedure changes
//! on purpose, and then with a new rule number (`Settings::rules`).
//!
//! `BLESS=1` writes the file; read the diff.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::measurement::{LogDelta, StreamTally};
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, PowerCutTrial};
use steadfast_domain::sequence::SequenceEnd;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::{Cursor, Op, Order, Pace};
use steadfast_domain::{
    Bench, Bytes, Class, Conditions, Demand, Gap, Halt, IoStream, Measurement, Nanos, Note,
    Outcome, Profile, Purge, PurgeMethod, Sequence, SequenceLoad, SequenceStep, Settings, Step,
    Tally,
};
use steadfast_procedures::{CAMPAIGNS, PROCEDURES, procedure};

const GEOMETRY: Geometry = Geometry { capacity: Bytes::gib(4), logical_sector: 512 };

/// Behavior of the drive in a case.
#[derive(Clone, Copy, PartialEq)]
enum DriveBehavior {
    /// The same IOPS in every step.
    Steady,
    /// Twice as many IOPS in every other round.
    Restless,
    /// Steady, with a gap before every 17th step until the 300th.
    Interrupted,
}

/// A bench that keeps a hash of all calls.
struct HashingBench {
    drive: DriveBehavior,
    steps: u64,
    hash: u64,
    /// Time and bytes so far of the load that is still running after a cut.
    elapsed: Nanos,
    transferred: u64,
}

impl HashingBench {
    fn new(drive: DriveBehavior) -> Self {
        let hash = 0xcbf2_9ce4_8422_2325;
        HashingBench { drive, steps: 0, hash, elapsed: Nanos::ZERO, transferred: 0 }
    }
    /// Adds a call to the hash: FNV-1a over its text.
    fn add_call(&mut self, name: &str, arguments: &str) {
        for byte in name.bytes().chain(arguments.bytes()).chain([0]) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    fn iops(&self, step: &Step) -> f64 {
        match self.drive {
            DriveBehavior::Restless if step.place.round % 2 == 1 => 2000.0,
            _ => 1000.0,
        }
    }
    fn gap(&self) -> Option<Gap> {
        let is_due = self.drive == DriveBehavior::Interrupted
            && self.steps.is_multiple_of(17)
            && self.steps < 300;
        is_due.then(|| Gap { cause: "the process ended".into(), lasted: None, written: None })
    }
    fn measurement(&mut self, step: &Step) -> Measurement {
        let Some(until) = step.load.stimuli().first().map(|stimulus| stimulus.until) else {
            let elapsed = Nanos::from_secs(10);
            return Measurement { elapsed, complete: true, ..Measurement::default() };
        };
        let (elapsed, bytes) = match until.time {
            Some(time) => (step.cut.map_or(time, |cut| cut.min(time)), None),
            None => (Nanos::from_secs(10), until.bytes),
        };
        let weights: u32 = step.load.streams().map(|s| s.weight).sum();
        let ios_per_weight = self.iops(step) * elapsed.as_secs_f64() / f64::from(weights);
        let tallies = step.load.streams().map(|stream| {
            let ios = match bytes {
                Some(bytes) => bytes.0 / stream.size.0,
                None => (ios_per_weight * f64::from(stream.weight)) as u64,
            };
            let bytes = Bytes(ios * stream.size.0);
            StreamTally { op: stream.op, tally: Tally { ios, bytes, ..Tally::default() } }
        });
        let streams = tallies.collect();
        let mut measurement = Measurement { elapsed, streams, ..Measurement::default() };
        if !step.continues {
            (self.elapsed, self.transferred) = (Nanos::ZERO, 0);
        }
        self.elapsed += elapsed;
        self.transferred += measurement.bytes().0;
        let written = measurement.written();
        let extra = if self.drive == DriveBehavior::Restless { step.place.round % 2 } else { 0 };
        measurement.sensed.log = Some(LogDelta {
            host_written: Some(written),
            nand_written: Some(Bytes(written.0 * (1 + u64::from(extra)))),
            ..LogDelta::default()
        });
        measurement.complete = until.time.is_none_or(|time| self.elapsed >= time)
            || until.bytes.is_some_and(|bytes| self.transferred >= bytes.0);
        measurement
    }
}

impl Bench for HashingBench {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        self.add_call("settle", &serde_json::to_string(wanted).unwrap());
        Ok(wanted.clone())
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        self.add_call("purge", "");
        Ok(Purge::new(PurgeMethod::Simulated, Nanos::ZERO))
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        self.steps += 1;
        self.add_call("apply", &serde_json::to_string(step).unwrap());
        let gap_before = self.gap();
        Ok(Outcome { measurement: self.measurement(step), gap_before })
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.add_call("idle", &time.0.to_string());
        Ok(())
    }
    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        self.steps += 1;
        self.add_call("cut power", &serde_json::to_string(trial).unwrap());
        Ok(PowerCutOutcome { evidence: CutEvidence::Simulated, ..PowerCutOutcome::default() })
    }
    fn note(&mut self, note: &Note) {
        self.add_call("note", &serde_json::to_string(note).unwrap());
    }
}

/// Returns a line: the case, the number of its steps, and the hash of all calls.
fn line(
    name: &str,
    settings: &Settings,
    geometry: Geometry,
    drive: DriveBehavior,
    amendments: &[Amendment],
) -> String {
    let drive_name = match drive {
        DriveBehavior::Steady => "steady",
        DriveBehavior::Restless => "restless",
        DriveBehavior::Interrupted => "interrupted",
    };
    let Ok(test) = procedure(settings, geometry, amendments) else {
        return format!("{name} {drive_name}: refused\n");
    };
    let mut bench = HashingBench::new(drive);
    let end = if test.conduct(&mut bench).is_ok() { "" } else { ", halted" };
    format!("{name} {drive_name}: {} steps{end}, {:016x}\n", bench.steps, bench.hash)
}

const DRIVES: [DriveBehavior; 3] =
    [DriveBehavior::Steady, DriveBehavior::Restless, DriveBehavior::Interrupted];

/// Appends a line for every procedure, profile, class and drive.
fn add_every_procedure(lines: &mut String) {
    // The parts of a campaign are runs of wsat and dirth, which their own test compares.
    for spec in PROCEDURES.iter().filter(|spec| !CAMPAIGNS.contains(&spec.name)) {
        for profile in [Profile::Pts20, Profile::Pts11, Profile::Tkperf, Profile::Quick] {
            for class in [Class::Enterprise, Class::Client] {
                let mut settings = Settings::new(spec.name, 7);
                (settings.profile, settings.class) = (profile, class);
                settings.workload = workload();
                settings.sequence = sequence();
                let scatters = ["iops", "throughput", "latency", "suite"].contains(&spec.name);
                if (profile, class) == (Profile::Pts11, Class::Client) && scatters {
                    set(&mut settings, "ar-amount=256MiB,1GiB");
                    set(&mut settings, "ar-segments=64");
                }
                for drive in DRIVES {
                    let name = format!("{} {profile} {class}", spec.name);
                    lines.push_str(&line(&name, &settings, GEOMETRY, drive, &[]));
                }
            }
        }
    }
}

/// Captured workload; procedures that apply none ignore it.
fn workload() -> Option<Box<AppliedWorkload>> {
    let stream = |op, ios| IoStream::new(op, Order::Random, Bytes::kib(4)).with_weight(ios);
    let step = |began, pace| AppliedStep {
        began: Nanos::from_secs(began),
        lasted: Nanos::from_secs(10),
        streams: vec![(0, 30), (1, 70)],
        demand: Demand::new(1, 4),
        pace,
        captured_ios: 101,
        captured_bytes: Bytes::kib(404),
        outstanding_mean: None,
        outstanding_max: None,
        response_mean: None,
        response_max: None,
        threads: None,
        data_pattern: None,
    };
    Some(Box::new(AppliedWorkload {
        name: "captured".into(),
        streams: vec![stream(Op::Read, 60), stream(Op::Write, 140)],
        captured_ios: 202,
        captured_bytes: Some(Bytes::kib(808)),
        captured_streams: 3,
        steps: vec![
            step(0, Pace::Closed),
            step(30, Pace::Fixed { ios: 100, per: Nanos::from_secs(10) }),
        ],
        ..AppliedWorkload::default()
    }))
}

/// Loads of another tool's file; all procedures except `sequence` ignore it.
fn sequence() -> Option<Box<Sequence>> {
    let load = |op, order, end| {
        let stream = IoStream::new(op, order, Bytes::kib(128));
        SequenceLoad::new(vec![stream], Demand::new(1, 8), end)
    };
    let sequential = Order::Sequential(Cursor::Own);
    let fill = load(Op::Write, sequential, SequenceEnd::laps(2));
    let short = load(Op::Read, Order::Random, SequenceEnd::time(Nanos::from_secs(5)));
    let long = load(Op::Write, Order::Random, SequenceEnd::time(Nanos::from_secs(150)));
    let best = SequenceStep {
        best_of: Some(3),
        pause: Nanos::from_secs(5),
        ..SequenceStep::new("reads", short)
    };
    let steps =
        vec![SequenceStep::new("fill", fill).preparing(), best, SequenceStep::new("writes", long)];
    Some(Box::new(Sequence { tool: "fio".into(), steps, ..Sequence::default() }))
}

fn set(settings: &mut Settings, pair: &str) {
    let (name, value) = pair.split_once('=').unwrap();
    settings.set(name, value);
}

/// Appends lines for settings that change the loads.
fn add_chosen_settings(lines: &mut String) {
    let cases: [(&str, &[&str]); 24] = [
        ("iops", &["alignment=4K"]),
        ("latency", &["alignment=512", "histogram-time=5min"]),
        ("wsat", &["workload=composite", "mix=40/60"]),
        ("wsat", &["workload=metadata", "cursor=own", "precondition=wipc"]),
        ("wsat", &["workload=RND 4K R", "precondition=wipc", "least-fills=0"]),
        ("composite", &["alignment=512", "measured-minute=first"]),
        ("dirth", &["workload=oltp", "loops=4,2,1", "alignment=4K"]),
        ("composite-dirth", &["loops=4,2,1", "mix=100/0"]),
        ("xsr", &["first-time=1h", "middle-demand=T8Q32"]),
        ("hir", &["idle-times=1,500ms", "accesses=7", "access-time=2500ms"]),
        ("suite", &["procedures=latency,wsat,hir", "hir.accesses=3"]),
        ("suite", &["procedures=iops,throughput", "iops.alignment=4K"]),
        ("iops", &["precondition=one-pass", "spare=7%"]),
        ("latency", &["precondition=one-pass", "spare=28%"]),
        ("composite", &["precondition=one-pass", "spare=7%"]),
        ("dirth", &["precondition=one-pass", "spare=7%", "loops=4,2,1"]),
        ("hir", &["precondition=one-pass", "spare=7%"]),
        ("commit", &["precondition=one-pass", "spare=7%"]),
        ("load-curve", &["precondition=one-pass", "spare=7%"]),
        ("multi-wsat", &["precondition=one-pass", "spare=7%"]),
        ("factors", &["precondition=one-pass", "spare=7%"]),
        ("suite", &["procedures=iops,throughput", "precondition=one-pass", "spare=7%"]),
        ("throughput", &["precondition=one-pass", "spare=7%"]),
        ("xsr", &["precondition=one-pass", "spare=7%"]),
    ];
    for (name, pairs) in cases {
        let mut settings = Settings::new(name, 11);
        settings.verify = true;
        settings.data_pattern = "entropy:50,20".parse().unwrap();
        settings.active_range_percent = Some(50);
        settings.step_time = Some(Nanos::from_secs(30));
        pairs.iter().for_each(|pair| set(&mut settings, pair));
        if name == "multi-wsat" {
            settings.workload = workload();
        }
        for sector in [512, 4096] {
            let geometry = Geometry { logical_sector: sector, ..GEOMETRY };
            let case = format!("{name} {} ({sector})", pairs.join(" "));
            for drive in DRIVES {
                lines.push_str(&line(&case, &settings, geometry, drive, &[]));
            }
        }
    }
}

/// Appends lines for endings, demands and amendments.
fn add_endings(lines: &mut String) {
    for name in ["iops", "throughput", "latency", "wsat", "composite", "dirth", "hir"] {
        for ending in ["post-25", "btw", "time:20min", "bytes:3GB", "fills:2"] {
            let mut settings = Settings::new(name, 13);
            settings.steady_state = ending.parse().unwrap();
            settings.threads = (name != "dirth").then_some(3);
            settings.rounds_max = Some(7);
            let amendments = [Amendment::RoundsMax(9)];
            let case = format!("{name} {ending}");
            let drive = DriveBehavior::Restless;
            lines.push_str(&line(&case, &settings, GEOMETRY, drive, &amendments));
        }
    }
}

#[test]
fn every_procedure_asks_for_the_steps_that_it_always_asked_for() {
    let mut found = String::new();
    add_every_procedure(&mut found);
    add_chosen_settings(&mut found);
    add_endings(&mut found);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loads.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap();
    let known: BTreeMap<&str, &str> = known.lines().filter_map(|l| l.split_once(": ")).collect();
    let mut changed = String::new();
    for (case, result) in found.lines().filter_map(|line| line.split_once(": ")) {
        let previous = known.get(case).copied().unwrap_or("not known");
        if previous != result {
            writeln!(changed, "{case}: was {previous}, is {result}").unwrap();
        }
    }
    assert!(changed.is_empty(), "{changed}");
    assert_eq!(known.len(), found.lines().count());
}
