//! Parameter files of vdbench 5.04: storage (`sd`), workload (`wd`) and run definitions (`rd`),
//! with the names and rules of its user's guide.

use std::fmt::Write;
use steadfast_domain::stimulus::{DataPattern, Order, Pace, Zone};
use steadfast_domain::{IoStream, Nanos, Op, Stimulus};

/// A load as workload and run definitions without their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VdbenchRun {
    /// Parameters of each workload definition, with its share of the I/Os.
    workloads: Vec<(String, u64)>,
    /// Parameters of the run definition.
    run: String,
}

/// Shares are written in millionths of a percent; those of a run add up to 100.
const SKEW_UNIT: u64 = 1_000_000;

/// Returns a load as a run.
///
/// # Errors
/// Returns the reason if vdbench cannot express the load.
pub fn express(load: &Stimulus) -> Result<VdbenchRun, String> {
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
            workloads.push((parameters, weight * SKEW_UNIT));
            continue;
        }
        for zone in zones.iter().filter(|zone| zone.weight > 0) {
            let share = u128::from(weight * SKEW_UNIT) * u128::from(zone.weight);
            workloads.push((parameters.clone() + &range(zone), (share / u128::from(all)) as u64));
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
        compression(load)?
    );
    Ok(VdbenchRun { workloads, run })
}

/// Returns a parameter file with a run per load, on the file or device `lun`.
pub fn write(runs: &[VdbenchRun], lun: &str) -> String {
    let mut text = format!("sd=sd1,lun={lun},openflags=o_direct\n");
    // All workloads precede the first run: a `wd` after it would be a parameter of the run.
    let mut definitions = String::new();
    for (number, run) in (1..).zip(runs) {
        let mut names = Vec::new();
        for (place, (parameters, skew)) in (1..).zip(skewed(&run.workloads)) {
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
fn skewed(workloads: &[(String, u64)]) -> Vec<(&str, u64)> {
    let all: u128 = workloads.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let whole = u128::from(100 * SKEW_UNIT);
    let share = |weight: u64| (u128::from(weight) * whole / all.max(1)) as u64;
    let mut shares: Vec<(&str, u64)> =
        workloads.iter().map(|(text, weight)| (text.as_str(), share(*weight))).collect();
    let given: u64 = shares.iter().map(|(_, share)| share).sum();
    if let Some(first) = shares.first_mut() {
        first.1 += whole as u64 - given;
    }
    shares
}

fn workload(stream: &IoStream) -> Result<String, String> {
    let lacks = [
        (!matches!(stream.op, Op::Read | Op::Write), "discards and flushes as I/Os"),
        (!stream.durability.is_cached(), "durability of single I/Os"),
        (!stream.distribution.is_uniform(), "nonuniform distribution of offsets"),
        (stream.alignment() != stream.size, "alignment other than the transfer size"),
        (!stream.size.0.is_multiple_of(512), "transfer sizes that are not multiples of 512"),
    ];
    if let Some((_, what)) = lacks.into_iter().find(|(is, _)| *is) {
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

fn compression(load: &Stimulus) -> Result<String, String> {
    match &load.data_pattern {
        DataPattern::RandomUnique => Ok(String::new()),
        _ if !load.alters() => Ok(String::new()),
        DataPattern::Entropy { random_percent: percent @ 1.., duplicate_percent: 0 } => {
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
            streams.into_iter().map(|stream| stream.weighing(*weight)).collect::<Vec<_>>()
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
        let text = write(&[express(&load).unwrap()], "/dev/sdx");
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
            assert!(express(&load(&[(pattern, 1)])).unwrap_err().contains(why));
        }
        let plain = load(&[("RND 4K W", 1)]);
        assert!(express(&plain).is_ok());
        let burst = Pace::Burst { ios: 8, delay: Nanos::SECOND };
        assert!(express(&plain.clone().pace(burst)).unwrap_err().contains("bursts"));
        let zero = plain.data_pattern(DataPattern::Zero);
        assert!(express(&zero).unwrap_err().contains("zero"));
    }
}
