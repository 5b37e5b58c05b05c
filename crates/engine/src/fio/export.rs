//! A stimulus as a job for any installed fio: the same load, without this program.

use super::expression::{Expression, FioTarget, durable, whole_percent, zones_of};
use std::fmt::Write;
use steadfast_domain::stimulus::{Durability, Order, Pace};
use steadfast_domain::{Bytes, Distribution, Nanos, Op, Stimulus};

/// The engine that every fio on Linux has.
const IO_ENGINE: &str = "libaio";

/// End of a message that advises this program's own engine.
const OTHER_ENGINE: &str = "; use the engine uring";

/// Returns a job-file section with the load of a stimulus on `filename`, a target of this
/// capacity and sector. If it `waits`, it starts when the sections before it have ended,
/// otherwise together with them.
///
/// # Errors
///
/// Why fio cannot apply the same load.
pub fn job(
    stimulus: &Stimulus,
    name: &str,
    waits: bool,
    filename: &str,
    capacity: Bytes,
    sector: u64,
) -> Result<String, String> {
    section(stimulus, name, waits, filename, capacity, sector)
        .map_err(|why| why.replace(OTHER_ENGINE, ""))
}

fn section(
    stimulus: &Stimulus,
    name: &str,
    waits: bool,
    filename: &str,
    capacity: Bytes,
    sector: u64,
) -> Result<String, String> {
    if filename.contains(['\n', '$', ';', '#']) {
        return Err(format!("a fio job file cannot contain the file name {filename:?}"));
    }
    let target = FioTarget {
        path: filename,
        length: capacity,
        writable: true,
        sector: sector.max(512),
        direct: true,
        io_engine: IO_ENGINE,
        commit_rates: false,
    };
    let zones = absolute_zones(stimulus)?;
    let durable = durable(stimulus)?.map(|(name, value)| format!("{name}={value}\n"));
    let options = paced(stimulus)?
        + &durable.unwrap_or_default()
        + &distributed(stimulus)?
        + zones.as_deref().unwrap_or_default();
    let mut plain =
        Stimulus { pace: Pace::Closed, verify: false, delay: Nanos::ZERO, ..stimulus.clone() };
    for stream in &mut plain.streams {
        stream.durability = Durability::Cached;
        stream.distribution = Distribution::Uniform;
    }
    if zones.is_some() {
        plain.zones.clear();
        for stream in &mut plain.streams {
            stream.zones.clear();
        }
    }
    let expression = Expression::new(&plain, &target)?;
    let mut part =
        expression.next_part(Nanos::ZERO, 0).ok_or("the load has nothing to do".to_owned())?;
    part.time = part.time.map(|time| time.saturating_sub(plain.ramp));
    let stonewall = if waits { "stonewall\n" } else { "" };
    let mut text = format!("[{name}]\n{stonewall}filename={filename}\n");
    text.push_str(&expression.body(&part));
    text.push_str(&options);
    if plain.ramp > Nanos::ZERO {
        let _ = writeln!(text, "ramp_time={}us", plain.ramp.0.div_ceil(1000));
    }
    if stimulus.delay > Nanos::ZERO {
        if waits {
            return Err("fio counts startdelay from its own start".into());
        }
        let _ = writeln!(text, "startdelay={}us", stimulus.delay.0.div_ceil(1000));
    }
    Ok(text)
}

/// Returns the option that distributes the offsets of all jobs.
fn distributed(stimulus: &Stimulus) -> Result<String, String> {
    let first = stimulus.streams.first().map_or(Distribution::Uniform, |s| s.distribution);
    if stimulus.streams.iter().any(|stream| stream.distribution != first) {
        return Err("the offsets of a fio job have one distribution".into());
    }
    let value = first.parameter();
    Ok(match first {
        Distribution::Uniform => String::new(),
        Distribution::Zipf(_) if value == 1.0 => return Err("fio refuses zipf:1".into()),
        Distribution::Zipf(_) => format!("random_distribution=zipf:{value}\n"),
        Distribution::Pareto(_) => format!("random_distribution=pareto:{value}\n"),
        Distribution::Normal(_) => format!("random_distribution=normal:{value}\n"),
    })
}

/// Returns the option with zones in bytes; `None` if there are none, or if whole percent of the
/// range can express their edges.
fn absolute_zones(stimulus: &Stimulus) -> Result<Option<String>, String> {
    let random = stimulus.streams.iter().filter(|stream| stream.order == Order::Random);
    let mut zones = random.map(|stream| zones_of(stimulus, stream));
    let Some(first) = zones.next().filter(|zones| !zones.is_empty()) else { return Ok(None) };
    let is_contiguous = first.windows(2).all(|pair| pair[0].to_ppm == pair[1].from_ppm)
        && first[0].from_ppm == 0
        && first.last().is_some_and(|last| last.to_ppm == 1_000_000);
    let in_percent = first.iter().all(|zone| zone.to_ppm.is_multiple_of(10_000));
    if is_contiguous && in_percent || zones.any(|others| others != first) {
        return Ok(None);
    }
    let alignments = stimulus.streams.iter().map(|stream| stream.alignment().0);
    let alignment = u128::from(alignments.max().unwrap_or(1));
    // fio rounds an edge down to a position.
    let byte = |ppm: u32| {
        u128::from(stimulus.active_range.length.0) * u128::from(ppm) / 1_000_000 / alignment
            * alignment
    };
    let whole: u64 = first.iter().map(|zone| u64::from(zone.weight)).sum();
    let (mut parts, mut edge) = (Vec::new(), 0);
    for zone in first {
        let (from, to) = (byte(zone.from_ppm), byte(zone.to_ppm));
        let access = whole_percent(zone.weight.into(), whole).filter(|access| *access > 0);
        let Some(access) = access.filter(|_| edge <= from && from < to) else {
            return Err(
                "fio's LBA zones have whole percent of the I/Os, at least one, and follow \
                        one another in addresses"
                    .into(),
            );
        };
        if from > edge {
            parts.push(format!("0/{}", from - edge));
        }
        parts.push(format!("{access}/{}", to - from));
        edge = to;
    }
    Ok(Some(format!("random_distribution=zoned_abs:{}\n", parts.join(":"))))
}

/// Returns the options of a pace; in fio every job has its own.
fn paced(stimulus: &Stimulus) -> Result<String, String> {
    let threads = u64::from(stimulus.demand.threads);
    match &stimulus.pace {
        Pace::Closed => Ok(String::new()),
        Pace::Fixed { ios, per } => rate(stimulus, *ios, *per),
        Pace::Poisson { ios, per } => {
            rate(stimulus, *ios, *per).map(|rate| rate + "rate_process=poisson\n")
        }
        Pace::Burst { ios, delay } if ios % threads == 0 && delay.0 % 1000 == 0 => {
            let (blocks, pause) = (ios / threads, delay.0 / 1000);
            Ok(format!("thinktime={pause}us\nthinktime_blocks={blocks}\n"))
        }
        Pace::Burst { .. } => {
            Err("fio pauses after whole I/Os per thread, for whole microseconds".into())
        }
        Pace::Empirical(_) => Err("fio draws no arrivals from measured distributions".into()),
        Pace::ByStream(_) => Err("fio cannot pace one I/O stream independently of another".into()),
    }
}

/// Lowest rate, in I/Os per second, that is written as a rate. Rounding changes it by at most
/// 2.5 %.
pub const WHOLE_RATES: u64 = 20;

/// Returns the pace that fio can apply to one stream and that is nearest to a rate: whole I/Os per
/// second, or below [`WHOLE_RATES`] a pause after each I/O.
pub fn playable_pace(pace: &Pace) -> Pace {
    let (Pace::Fixed { ios, per } | Pace::Poisson { ios, per }) = pace else {
        return pace.clone();
    };
    let second = u128::from(Nanos::SECOND.0);
    let (ios, per) = (u128::from((*ios).max(1)), u128::from(per.0.max(1)));
    let rate = u64::try_from((ios * second + per / 2) / per).unwrap_or(u64::MAX);
    match pace {
        _ if rate < WHOLE_RATES => {
            // fio keeps a pause in 32 bits.
            let pause_us = (per / ios / 1000).min(u128::from(u32::MAX));
            Pace::Burst { ios: 1, delay: Nanos(pause_us as u64 * 1000) }
        }
        Pace::Poisson { .. } => Pace::Poisson { ios: rate, per: Nanos::SECOND },
        _ => Pace::Fixed { ios: rate, per: Nanos::SECOND },
    }
}

/// Words of a comment in a job on a rate that was rounded; the exact rate follows.
pub const ROUNDED: &str = "per second, rounded from";

/// Returns the option with the I/Os per second of every job, by direction. fio's rates are whole
/// numbers; a comment names what was rounded.
fn rate(stimulus: &Stimulus, ios: u64, per: Nanos) -> Result<String, String> {
    let total: u128 = stimulus.streams.iter().map(|stream| u128::from(stream.weight)).sum();
    let rates = [(Op::Read, "reads"), (Op::Write, "writes")].map(|(op, plural)| {
        let weight: u128 =
            stimulus.streams.iter().filter(|s| s.op == op).map(|s| u128::from(s.weight)).sum();
        let numerator = u128::from(ios) * 1_000_000_000 * weight;
        let denominator =
            u128::from(per.0.max(1)) * u128::from(stimulus.demand.threads) * total.max(1);
        let whole = (numerator + denominator / 2) / denominator;
        // As for `WHOLE_RATES`: at most 2.5 % off.
        if (whole * denominator).abs_diff(numerator) * 40 > numerator {
            return Err(format!(
                "its {:.2} {plural} per second and thread are too few to be rounded to fio's whole \
                 rates; choose fewer threads or a higher rate",
                numerator as f64 / denominator as f64
            ));
        }
        let note = (whole * denominator != numerator).then(|| {
            format!("; {plural} {ROUNDED} {:.2}\n", numerator as f64 / denominator as f64)
        });
        let rate = if whole > 0 { whole.to_string() } else { String::new() };
        Ok((rate, note.unwrap_or_default()))
    });
    let [reads, writes] = rates;
    let ((reads, read_note), (writes, write_note)) = (reads?, writes?);
    Ok(format!("{read_note}{write_note}rate_iops={reads},{writes}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::notation::AccessPattern;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Zone};
    use steadfast_domain::{Demand, IoStream};

    fn options_of(streams: Vec<IoStream>, pace: Pace) -> Result<String, String> {
        let range = ActiveRange::new(Bytes(0), Bytes::mib(64));
        let until = LoadLimits::time(Nanos::SECOND);
        let stimulus = Stimulus::new(streams, range, Demand::new(2, 4), until).pace(pace);
        job(&stimulus, "j", false, "/dev/x", Bytes::mib(64), 512)
    }

    /// 64 MiB: from 1 % and 1 ppm to 25.5 %, and from 30 % to the end; edges are whole blocks.
    #[test]
    fn zones_between_whole_percents_are_counted_in_bytes() {
        let zones = |weights: [u32; 2]| {
            let mut streams = "RND 4K R".parse::<AccessPattern>().unwrap().streams();
            streams[0].zones = vec![
                Zone { weight: weights[0], from_ppm: 10_001, to_ppm: 255_000 },
                Zone { weight: weights[1], from_ppm: 300_000, to_ppm: 1_000_000 },
            ];
            options_of(streams, Pace::Closed)
        };
        let text = zones([3, 1]).unwrap();
        let option = "\nrandom_distribution=zoned_abs:0/667648:75/16441344:0/3022848:25/46977024\n";
        assert!(text.contains(option), "{text}");
        assert_eq!(text.matches("random_distribution").count(), 1);
        assert!(zones([999, 1]).unwrap_err().contains("whole percent"));
    }

    #[test]
    fn a_rate_becomes_whole_ios_a_second_or_pauses() {
        let per = Nanos::from_secs(10);
        let second = Nanos::SECOND;
        let fixed = |ios| playable_pace(&Pace::Fixed { ios, per });
        assert_eq!(fixed(10_007), Pace::Fixed { ios: 1001, per: second });
        assert_eq!(fixed(200), Pace::Fixed { ios: 20, per: second });
        assert_eq!(fixed(50), Pace::Burst { ios: 1, delay: Nanos::from_millis(200) });
        let poisson = playable_pace(&Pace::Poisson { ios: 10_007, per });
        assert_eq!(poisson, Pace::Poisson { ios: 1001, per: second });
        assert_eq!(playable_pace(&Pace::Closed), Pace::Closed);
    }

    #[test]
    fn a_rate_that_is_not_whole_is_rounded_if_that_changes_little() {
        let streams = || "RND 4K R".parse::<AccessPattern>().unwrap().streams();
        let options = |ios| options_of(streams(), Pace::Fixed { ios, per: Nanos::from_secs(100) });
        // Two threads.
        let rounded = options(186_182).unwrap();
        assert!(rounded.contains("rounded from 930.91\nrate_iops=931,\n"), "{rounded}");
        assert!(!options(186_200).unwrap().contains("rounded"));
        assert!(options(310).is_err());
    }

    #[test]
    fn durability_arrivals_and_distribution_become_options() {
        let streams = |text: &str| text.parse::<AccessPattern>().unwrap().streams();
        let poisson = Pace::Poisson { ios: 500, per: Nanos::SECOND };
        for (pattern, pace, line) in [
            ("RND 4K W FUA", Pace::Closed, "sync=dsync"),
            ("RND 8K W SYNC", Pace::Closed, "sync=dsync"),
            ("RND 4K RW30 FLUSH/8", Pace::Closed, "fdatasync=8"),
            ("RND 4K W", poisson, "rate_process=poisson"),
            ("RND 4K RW70 ZIPF/1.1", Pace::Closed, "random_distribution=zipf:1.1"),
            ("RND 4K R PARETO/0.2", Pace::Closed, "random_distribution=pareto:0.2"),
            ("RND 4K R NORMAL/10", Pace::Closed, "random_distribution=normal:10"),
        ] {
            let text = options_of(streams(pattern), pace).unwrap();
            assert!(text.lines().any(|option| option == line), "{pattern}: {text}");
        }
        let mixed = [streams("RND 4K W FUA"), streams("RND 8K W")].concat();
        assert!(options_of(mixed, Pace::Closed).unwrap_err().contains("equally durable"));
    }
}
