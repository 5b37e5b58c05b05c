//! What procedures refuse, as one table: the words that the message of each refusal has.

use super::scripted::GEOMETRY;
use super::{sequence, workload};
use steadfast_domain::rate::{Arrivals, OfferedLoad};
use steadfast_domain::{PurgeChoice, PurgeMethod, Settings};

/// A procedure, a parameter, and values that it refuses with a message that names the parameter.
const VALUES: &[(&str, &str, &[&str])] = &[
    ("commit", "committers", &["16,1", "0,1", "1,1", "513", ""]),
    ("commit", "block-sizes", &["4K,4K", "1000", "2MiB"]),
    ("commit", "run-in", &["1ms"]),
    ("dirth", "alignment", &["1000"]),
    ("dirth", "loops", &["1,2,4"]),
    ("factors", "factors", &["speed"]),
    ("factors", "rounds", &["1"]),
    ("factors", "used", &["5"]),
    ("factors", "entropies", &["0,0"]),
    ("factors", "alignments", &["8K,4K", "64K,128K"]),
    ("factors", "aligned-transfer", &["32K", "512"]),
    ("factors", "random-percents", &["101"]),
    ("factors", "change", &["0"]),
    ("factors", "throttle-variation", &["99"]),
    ("factors", "sustained-steps", &["1"]),
    ("fill", "pattern", &["RND 4K RW50"]),
    ("fill", "levels", &["0,50,50", "101"]),
    ("fill", "idle-times", &["30s,30"]),
    ("fill", "again-max", &["90"]),
    ("hir", "idle-times", &["5,5", "5,soon"]),
    ("hir", "accesses", &["0"]),
    ("idle-exit", "pattern", &["RND 4K RW50"]),
    ("idle-exit", "idle-times", &["1s,1s"]),
    ("idle-exit", "samples", &["2"]),
    ("idle-exit", "link-power", &["fast"]),
    ("idle-exit", "apst", &["yes"]),
    ("latency", "histogram-time", &["0s", "x", "25h"]),
    ("load-curve", "points", &["", "0", "10,5", "5,5", "201", "fast", "5;10"]),
    ("neighbors", "rate", &["0", "0%", "101%"]),
    ("neighbors", "arrivals", &["bursts"]),
    ("neighbors", "offenders", &["", "SEQ 128K W,nothing"]),
    ("neighbors", "controls", &["io.weight"]),
    ("neighbors", "latency-target", &["0"]),
    ("neighbors", "limit", &["500"]),
    ("neighbors", "weights", &["0:1"]),
    ("neighbors", "cycles", &["0"]),
    ("power-cut", "cycles", &["0"]),
    ("power-cut", "block", &["3", "2048"]),
    ("power-cut", "area", &["0"]),
    ("power-cut", "flush-every", &["257"]),
    ("power-cut", "within", &["500ms"]),
    ("power-cut", "return-limit", &["25h"]),
    ("write-amplification", "workloads", &["uniform,uniform", "none", "zipf"]),
    ("write-amplification", "used", &["5", "80,80"]),
    ("write-amplification", "used-others", &["101"]),
    ("write-amplification", "transfer", &["1000"]),
    ("write-amplification", "window", &["0"]),
    ("write-amplification", "steady-limits", &["5", "50,2"]),
    ("write-amplification", "limit", &["2"]),
];

/// A procedure, settings that it refuses, and words of the message.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("commit", "--threads=4", "--set committers"),
    ("commit", "--steady-state=fills:4", "steady"),
    ("dirth", "--threads=4", "--set loops"),
    ("dirth", "--steady-state=fills:4", "written for longer"),
    ("factors", "--purge=none", "--purge none"),
    ("factors", "--max-rounds=9", "rounds="),
    ("fill", "--max-rounds=9", "no rounds"),
    ("hdd-iops", "zones=1", "2 to 1024"),
    ("hdd-iops", "zones=1024 --active-range=50", "or fewer zones"),
    ("hdd-iops", "zones=5 --max-rounds=3", "last zone"),
    ("hir", "--steady-state=fills:4", "choose btw"),
    ("idle-exit", "--depth=4", "one outstanding"),
    ("idle-exit", "--max-rounds=9", "no rounds"),
    ("idle-exit", "link-power=fast", "med_power_with_dipm"),
    ("idle-exit", "apst=yes", "on or off"),
    ("individual-streams", "--steady-state=time:1h", "cannot end by"),
    ("iops", "precondition=no", "precondition cannot be"),
    ("iops", "--rate=20000", "wsat, composite, multi-wsat"),
    ("latency", "histogram-time=25h", "20min"),
    ("load-curve", "points=10,5", "ascending"),
    ("load-curve", "--rate=20000", "--set points="),
    (
        "load-curve",
        "precondition=one-pass spare=7% preconditioning=none",
        "preconditioning=none leaves out",
    ),
    ("load-curve", "point-time=1h", "longer than point-time-max 10 min"),
    ("load-curve", "--steady-state=time:6h", "steady maximum"),
    ("multi-wsat", "--steady-state=time:1h", "cannot end by"),
    ("neighbors", "rate=1500000", "T2Q32"),
    // Parts of a short portrait share a state, and none of them preconditions the drive.
    ("portrait", "length=1h precondition=one-pass spare=7%", "no part of this run takes"),
    ("portrait", "length=2h", "complete"),
    ("portrait", "length=1h --profile=tkperf", "--profile pts-2.0"),
    ("portrait", "length=1h histogram=5min", "histogram-time"),
    ("power-cut", "area=1 block=1024 flush-every=2", "fewer blocks"),
    ("replay-native", "--depth=4", "its own demands"),
    ("replay-native", "--steady-state=time:1h", "cannot end by"),
    ("rwsw-dirth", "--threads=2", "--set outstanding="),
    ("rwsw-dirth", "--steady-state=time:1h", "cannot end by"),
    ("sequence", "--rate=20000", "wsat, composite, multi-wsat"),
    ("suite", "procedures=iops,portrait", "not made of others"),
    ("suite", "procedures=iops,nothing", "'nothing'"),
    ("suite", "iops.histogram-time=5min", "iops.histogram-time"),
    ("throughput", "--steady-state=btw", "WSAT"),
    ("throughput", "--steady-state=time:6h", "rounds or post-25"),
    ("throughput", "--steady-state=bytes:8TB", "rounds or post-25"),
    ("throughput", "--steady-state=fills:4", "rounds or post-25"),
    ("tkperf", "tests=iosp", "'iosp'"),
    ("tkperf", "tests=iosp", "iops"),
    ("tkperf", "tests=lat,lat", "twice"),
    ("tkperf", "tests=lat mix=1", "'mix'"),
    ("verify-write", "--max-rounds=9", "no rounds"),
    ("verify-write", "--steady-state=btw", "verify-write"),
    ("write-amplification", "--purge=none", "--purge none"),
    ("write-amplification", "--active-range=50", "--active-range"),
    ("write-amplification", "--max-rounds=9", "steady-limits"),
    ("wsat", "--slo=p99=1ms", "run load-curve"),
    ("wsat", "precondition=one-pass", "--set spare=7%"),
    ("wsat", "precondition=one-pass spare=0", "1% to 400%"),
    ("wsat", "workload=read-intensive --steady-state=fills:4", "writes nothing"),
    ("wsat", "workload=oltp mix=40/60", "mix belongs to the composite"),
    ("wsat", "workload=composite mix=40/70", "mix cannot be"),
    ("wsat", "workload=composite zone-shift=100", "zone-shift"),
    ("wsat", "workload=oltp zone-shift=5", "no LBA zones"),
    ("wsat", "workload=oltp cursor=own", "mixed sequential"),
    ("wsat", "workload=video cursor=both", "cursor cannot be"),
    ("wsat-campaign", "workloads=oltpp", "'oltpp'"),
    ("wsat-campaign", "workloads=oltp,OLTP", "twice"),
    ("wsat-campaign", "workload=oltp", "'workload'"),
    // No workload of these takes it.
    ("wsat-campaign", "workloads=oltp mix=40/60", "'mix'"),
    ("xsr", "--steady-state=btw", "no steady state"),
];

/// Settings next to the refused ones that are accepted.
const ACCEPTED: &[(&str, &str)] = &[
    ("neighbors", "rate=150MB/s limit=100MB/s controls=none"),
    ("power-cut", "area=1 block=16 flush-every=7"),
    ("verify-write", "--profile=quick"),
    ("write-amplification", "--purge=none used=100"),
];

/// Returns settings with an option or a parameter.
fn with(mut settings: Settings, name: &str, value: &str) -> Settings {
    match name {
        "--active-range" => settings.active_range_percent = value.parse().ok(),
        "--depth" => settings.depth = value.parse().ok(),
        "--max-rounds" => settings.rounds_max = value.parse().ok(),
        "--profile" => settings.profile = value.parse().unwrap(),
        "--purge" => settings.purge = PurgeChoice::Method(PurgeMethod::Nothing),
        "--rate" => {
            let (rate, arrivals) = (value.parse().unwrap(), Arrivals::default());
            settings.rate = Some(OfferedLoad { rate, arrivals });
        }
        "--slo" => settings.slo = value.parse().ok(),
        "--steady-state" => settings.steady_state = value.parse().unwrap(),
        "--threads" => settings.threads = value.parse().ok(),
        _ => {
            settings.set(name, value);
        }
    }
    settings
}

fn refusal(settings: &Settings) -> Option<String> {
    crate::procedure(settings, GEOMETRY, &[]).err().map(|why| why.0)
}

fn settings(procedure: &str) -> Settings {
    let sequence = Some(Box::new(sequence::sequence()));
    let settings = Settings { sequence, ..Settings::new(procedure, 7) };
    if crate::rwsw::NAMES.contains(&procedure) { workload::settings(procedure) } else { settings }
}

/// Returns settings with several options, separated by spaces.
fn with_all(procedure: &str, options: &str) -> Settings {
    let mut settings = settings(procedure);
    for option in options.split(' ') {
        let (name, value) = option.split_once('=').unwrap();
        settings = with(settings, name, value);
    }
    settings
}

#[test]
fn what_makes_no_sense_is_refused_and_named() {
    for (procedure, parameter, values) in VALUES {
        for value in *values {
            let refused = refusal(&with(settings(procedure), parameter, value));
            let why = refused.unwrap_or_else(|| panic!("{procedure} {parameter}={value} runs"));
            assert!(why.contains(parameter), "{procedure} {parameter}={value}: {why}");
        }
    }
    for (procedure, options, words) in SETTINGS {
        let refused = refusal(&with_all(procedure, options));
        let why = refused.unwrap_or_else(|| panic!("{procedure} {options} runs"));
        assert!(why.contains(words), "{procedure} {options}: {why}");
    }
    for (procedure, options) in ACCEPTED {
        assert_eq!(refusal(&with_all(procedure, options)), None, "{procedure} {options}");
    }
}
