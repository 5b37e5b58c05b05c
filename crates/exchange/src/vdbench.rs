//! Parameter files of vdbench 5.04: storage (`sd`), workload (`wd`) and run definitions (`rd`),
//! with the names and rules of its user's guide.

use std::fmt::Write;
use steadfast_domain::stimulus::{DataPattern, Order, Pace, Zone};
use steadfast_domain::{IoStream, Nanos, Op, Stimulus};

/// A load as workload and run definitions without their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VdbenchRun {
    workloads: Vec<VdbenchWorkload>,
    /// Parameters of the run definition.
    run: String,
}

/// A workload definition without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct VdbenchWorkload {
    parameters: String,
    /// Share of the I/Os, relative to the other workloads of the run.
    weight: u64,
}

/// Shares are written in millionths of a percent; those of a run add up to 100.
const SKEW_UNIT: u64 = 1_000_000;

/// Smallest share of random data in percent: vdbench compresses to 1/25 at most.
const RANDOM_PERCENT_MIN: u8 = 4;

/// Size of a block that has duplicates.
const DUPLICATE_UNIT: &str = "4k";

/// Returns the percentage of duplicate blocks in a file of these loads: that of all loads that write,
/// or 0 if they differ, because vdbench has one for all runs.
pub fn shared_duplicates<'l>(loads: impl IntoIterator<Item = &'l Stimulus>) -> u8 {
    let percent = |load: &Stimulus| match load.data_pattern {
        DataPattern::Entropy { random_percent: RANDOM_PERCENT_MIN.., duplicate_percent }
            if duplicate_percent < 100 =>
        {
            duplicate_percent
        }
        _ => 0,
    };
    let mut percents = loads.into_iter().filter(|load| load.alters()).map(percent);
    let first = percents.next().unwrap_or(0);
    if percents.all(|other| other == first) { first } else { 0 }
}

/// Returns a load as a run of a file with this percentage of duplicate blocks.
///
/// # Errors
/// Returns the reason if vdbench cannot express the load.
pub fn express(load: &Stimulus, duplicate_percent: u8) -> Result<VdbenchRun, String> {
    let mut workloads = Vec::new();
    for stream in load.streams.iter().filter(|stream| stream.weight > 0) {
        let is_random = stream.order == Order::Random;
        // The zones of all are those of random streams.
        let common: &[Zone] = if is_random { &load.zones } else { &[] };
        let zones: &[Zone] = if stream.zones.is_empty() { common } else { &stream.zones };
        let parameters = workload(stream)?;
        let weight = u64::from(stream.weight);
        let all: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
        if all == 0 {
            workloads.push(VdbenchWorkload { parameters, weight: weight * SKEW_UNIT });
            continue;
        }
        for zone in zones.iter().filter(|zone| zone.weight > 0) {
            let share = u128::from(weight * SKEW_UNIT) * u128::from(zone.weight);
            workloads.push(VdbenchWorkload {
                parameters: parameters.clone() + &range(zone),
                weight: (share / u128::from(all)) as u64,
            });
        }
    }
    if workloads.is_empty() {
        return Err("it has neither reads nor writes".to_owned());
    }
    let time = load.until.time.ok_or("it has no time, which a vdbench run needs")?;
    // The interval is a second, and a run lasts at least two intervals.
    let seconds = time.0.div_ceil(Nanos::SECOND.0).max(2);
    let threads = load.demand.outstanding();
    let run = format!(
        "{},elapsed={seconds},interval=1,threads={threads}{}",
        rate(&load.pace)?,
        compression(load, duplicate_percent)?
    );
    Ok(VdbenchRun { workloads, run })
}

/// Returns a parameter file with a run per load, on the file or device `lun`, with this percentage
/// of duplicate blocks.
pub fn write(runs: &[VdbenchRun], lun: &str, duplicate_percent: u8) -> String {
    let mut text = String::new();
    if duplicate_percent > 0 {
        let ratio = 100.0 / f64::from(100 - duplicate_percent.min(99));
        let _ = writeln!(text, "dedupratio={ratio:.4}\ndedupunit={DUPLICATE_UNIT}");
    }
    let _ = writeln!(text, "sd=sd1,lun={lun},openflags=o_direct");
    // All workloads precede the first run: a `wd` after it would be a parameter of the run.
    let mut definitions = String::new();
    for (number, run) in (1..).zip(runs) {
        let mut names = Vec::new();
        for (place, (workload, skew)) in (1..).zip(run.workloads.iter().zip(skews(&run.workloads)))
        {
            let VdbenchWorkload { parameters, .. } = workload;
            let name = format!("wd{number}_{place}");
            let (whole, part) = (skew / SKEW_UNIT, skew % SKEW_UNIT);
            let _ = writeln!(text, "wd={name},sd=sd1,{parameters},skew={whole}.{part:06}");
            names.push(name);
        }
        let _ = writeln!(definitions, "rd=run{number},wd=({}),{}", names.join(","), run.run);
    }
    text + &definitions
}

/// Returns each workload's share in millionths of a percent. They add up to 100 %; the rounding
/// remainder goes to the first.
fn skews(workloads: &[VdbenchWorkload]) -> Vec<u64> {
    let all: u128 = workloads.iter().map(|workload| u128::from(workload.weight)).sum();
    let whole = u128::from(100 * SKEW_UNIT);
    let skew =
        |workload: &VdbenchWorkload| (u128::from(workload.weight) * whole / all.max(1)) as u64;
    let mut skews: Vec<u64> = workloads.iter().map(skew).collect();
    let sum: u64 = skews.iter().sum();
    if let Some(first) = skews.first_mut() {
        *first += whole as u64 - sum;
    }
    skews
}

/// Returns the parameters of a stream.
fn workload(stream: &IoStream) -> Result<String, String> {
    let lacks = [
        (!matches!(stream.op, Op::Read | Op::Write), "discards and flushes as I/Os"),
        (!stream.durability.is_cached(), "durability of single I/Os"),
        (!stream.distribution.is_uniform(), "nonuniform distribution of offsets"),
        (stream.alignment() != stream.size, "alignment other than the transfer size"),
        (!stream.size.0.is_multiple_of(512), "transfer sizes that are not multiples of 512"),
    ];
    if let Some((_, what)) = lacks.into_iter().find(|(is_needed, _)| *is_needed) {
        return Err(format!("'{stream}': vdbench has no {what}"));
    }
    let reads = if stream.op == Op::Read { 100 } else { 0 };
    let random = if stream.order == Order::Random { 100 } else { 0 };
    Ok(format!("xfersize={},rdpct={reads},seekpct={random}", stream.size.0))
}

/// Returns the part of the device in percent.
fn range(zone: &Zone) -> String {
    let percent = |ppm: u32| format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    format!(",range=({},{})", percent(zone.from_ppm), percent(zone.to_ppm))
}

/// Returns the parameters of the rate at which I/Os arrive.
fn rate(pace: &Pace) -> Result<String, String> {
    let per_second = |ios: &u64, per: &Nanos| *ios as f64 / per.as_secs_f64();
    match pace {
        Pace::Closed => Ok("iorate=max".to_owned()),
        Pace::Fixed { ios, per } => {
            Ok(format!("iorate={:.3},distribution=deterministic", per_second(ios, per)))
        }
        Pace::Poisson { ios, per } => {
            Ok(format!("iorate={:.3},distribution=exponential", per_second(ios, per)))
        }
        Pace::Burst { .. } => Err("vdbench has no bursts with pauses".to_owned()),
        Pace::Empirical(_) => {
            Err("vdbench draws no arrivals from measured distributions".to_owned())
        }
        Pace::ByStream(_) => Err("vdbench has no separate arrivals for a workload".to_owned()),
    }
}

/// Returns the parameter of the data, with a comma before it; empty if the defaults suit.
fn compression(load: &Stimulus, duplicate_percent: u8) -> Result<String, String> {
    match &load.data_pattern {
        _ if !load.alters() => Ok(String::new()),
        DataPattern::RandomUnique if duplicate_percent == 0 => Ok(String::new()),
        DataPattern::Entropy {
            random_percent: percent @ RANDOM_PERCENT_MIN..,
            duplicate_percent: of_load,
        } if *of_load == duplicate_percent => {
            Ok(format!(",compratio={:.2}", 100.0 / f64::from(*percent)))
        }
        other => Err(format!("vdbench does not write {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::notation::AccessPattern;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand};

    fn load(patterns: &[(&str, u32)]) -> Stimulus {
        let streams = |(text, weight): &(&str, u32)| {
            let streams = text.parse::<AccessPattern>().unwrap().streams();
            streams.into_iter().map(|stream| stream.with_weight(*weight)).collect::<Vec<_>>()
        };
        let streams = patterns.iter().flat_map(streams).collect();
        let range = ActiveRange::new(Bytes(0), Bytes::gib(1));
        Stimulus::new(streams, range, Demand::new(2, 4), LoadLimits::time(Nanos::from_millis(2500)))
    }

    #[test]
    fn streams_zones_rates_and_data_become_parameters() {
        let mut load = load(&[("RND 4K R", 2), ("SEQ 64K W", 1)]);
        let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
        load.streams[0].zones = vec![zone(3, 0, 50_000), zone(1, 50_000, 1_000_000)];
        load.pace = Pace::Poisson { ios: 1500, per: Nanos::SECOND };
        load.data_pattern = DataPattern::Entropy { random_percent: 40, duplicate_percent: 0 };
        let text = write(&[express(&load, 0).unwrap()], "/dev/sdx", 0);
        let expected = "sd=sd1,lun=/dev/sdx,openflags=o_direct\n\
            wd=wd1_1,sd=sd1,xfersize=4096,rdpct=100,seekpct=100,range=(0.0000,5.0000),skew=50.000001\n\
            wd=wd1_2,sd=sd1,xfersize=4096,rdpct=100,seekpct=100,range=(5.0000,100.0000),skew=16.666666\n\
            wd=wd1_3,sd=sd1,xfersize=65536,rdpct=0,seekpct=0,skew=33.333333\n\
            rd=run1,wd=(wd1_1,wd1_2,wd1_3),iorate=1500.000,distribution=exponential,elapsed=3,\
            interval=1,threads=8,compratio=2.50\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_vdbench_lacks_is_refused() {
        for (pattern, why) in
            [("RND 4K W FUA", "durability"), ("RND 4K R ZIPF/1.1", "distribution")]
        {
            assert!(express(&load(&[(pattern, 1)]), 0).unwrap_err().contains(why));
        }
        let plain = load(&[("RND 4K W", 1)]);
        assert!(express(&plain, 0).is_ok());
        let burst = Pace::Burst { ios: 8, delay: Nanos::SECOND };
        assert!(express(&plain.clone().pace(burst), 0).unwrap_err().contains("bursts"));
        let zero = plain.clone().data_pattern(DataPattern::Zero);
        assert!(express(&zero, 0).unwrap_err().contains("zero"));
        let pattern = DataPattern::Entropy { random_percent: 3, duplicate_percent: 0 };
        assert!(express(&plain.data_pattern(pattern), 0).unwrap_err().contains("entropy:3"));
    }

    /// 60 % of the blocks are distinct: 100 written blocks are 60, a ratio of 1.6667. Loads that
    /// differ, or that only read, have none in common.
    #[test]
    fn duplicates_are_written_if_all_loads_have_as_many() {
        let with = |pattern: &str, duplicate_percent| {
            let pattern = load(&[(pattern, 1)]);
            pattern.data_pattern(DataPattern::Entropy { random_percent: 50, duplicate_percent })
        };
        let (written, read) = (with("RND 4K W", 40), with("RND 4K R", 70));
        let loads = [written.clone(), read, written.clone()];
        assert_eq!(shared_duplicates(&loads), 40);
        let runs: Vec<_> = loads.iter().map(|load| express(load, 40).unwrap()).collect();
        let text = write(&runs, "/dev/sdx", 40);
        assert!(text.starts_with("dedupratio=1.6667\ndedupunit=4k\nsd=sd1,"), "{text}");
        assert_eq!(text.matches(",compratio=2.00").count(), 2, "{text}");
        for others in [with("RND 4K W", 41), load(&[("RND 4K W", 1)]), with("RND 4K W", 100)] {
            assert_eq!(shared_duplicates(&[written.clone(), others.clone()]), 0);
            assert!(express(&others, 40).is_err(), "{others:?}");
        }
        assert!(express(&written, 0).is_err());
    }
}
