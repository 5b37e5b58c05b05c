//! Finds the properties that a load must lose so that another tool's file can express it.

use steadfast_domain::stimulus::{DataPattern, Durability, Pace, Zone};
use steadfast_domain::{Distribution, IoStream, Nanos, Op, Stimulus};

/// A property that a load can lose.
struct Concession {
    /// The lost property, as the subject of a sentence.
    lost: &'static str,
    give_up: fn(&mut Stimulus),
}

static CONCESSIONS: [Concession; 10] = [
    Concession { lost: "duplicate data", give_up: without_duplicates },
    Concession {
        lost: "compressible data (random data are written)",
        give_up: |load| load.data_pattern = DataPattern::RandomUnique,
    },
    Concession { lost: "alignment", give_up: |load| each(load, |one| one.alignment = None) },
    Concession {
        lost: "the shares of LBA zones below whole percents (zones with less than 1 % of the I/Os \
               are merged with a neighbor)",
        give_up: |load| {
            load.zones = in_percents(&load.zones);
            each(load, |one| one.zones = in_percents(&one.zones));
        },
    },
    Concession {
        lost: "LBA zones (the whole range is used)",
        give_up: |load| {
            load.zones.clear();
            each(load, |one| one.zones.clear());
        },
    },
    Concession {
        lost: "the distribution of offsets (all are equally likely)",
        give_up: |load| each(load, |one| one.distribution = Distribution::Uniform),
    },
    Concession {
        lost: "the durability of writes (FUA, SYNC, FLUSH/N)",
        give_up: |load| each(load, |one| one.durability = Durability::Cached),
    },
    Concession {
        lost: "the pace of single I/O streams",
        give_up: |load| each(load, |one| one.pace = None),
    },
    Concession { lost: "discards and flushes (left out)", give_up: without_commands },
    Concession { lost: "the rate (a pause after each burst stands for it)", give_up: in_bursts },
];

/// Returns the result of `express` for a load after the fewest concessions, and these concessions.
///
/// # Errors
/// Returns the reason that `express` gives for the whole load if no concession helps.
pub fn conceded<T>(
    load: &Stimulus,
    mut express: impl FnMut(&Stimulus) -> Result<T, String>,
) -> Result<(T, Vec<&'static str>), String> {
    let why = match express(load) {
        Ok(expressed) => return Ok((expressed, Vec::new())),
        Err(why) => why,
    };
    let changes = |one: &&Concession| {
        let mut changed = load.clone();
        (one.give_up)(&mut changed);
        changed != *load
    };
    let useful: Vec<&Concession> = CONCESSIONS.iter().filter(changes).collect();
    let mut sets: Vec<u32> = (1..1 << useful.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    for set in sets {
        let given = || (0..).zip(&useful).filter(move |(place, _)| set >> place & 1 > 0);
        let mut changed = load.clone();
        given().for_each(|(_, one)| (one.give_up)(&mut changed));
        if let Ok(expressed) = express(&changed) {
            return Ok((expressed, given().map(|(_, one)| one.lost).collect()));
        }
    }
    Err(why)
}

fn each(load: &mut Stimulus, change: impl Fn(&mut IoStream)) {
    load.streams.iter_mut().for_each(change);
}

fn without_duplicates(load: &mut Stimulus) {
    if let DataPattern::Entropy { duplicate_percent, .. } = &mut load.data_pattern {
        *duplicate_percent = 0;
    }
}

/// Removes discards and flushes, and their share of the rate.
fn without_commands(load: &mut Stimulus) {
    let sum = |load: &Stimulus| load.streams.iter().map(|one| u64::from(one.weight)).sum::<u64>();
    let all = sum(load).max(1);
    load.streams.retain(|stream| matches!(stream.op, Op::Read | Op::Write));
    let left = u128::from(sum(load));
    let share = |ios: u64| (u128::from(ios) * left / u128::from(all)) as u64;
    load.pace = match load.pace {
        Pace::Fixed { ios, per } => Pace::Fixed { ios: share(ios), per },
        Pace::Poisson { ios, per } => Pace::Poisson { ios: share(ios), per },
        pace => pace,
    };
    load.until.ios = load.until.ios.map(share);
}

/// Returns zones whose shares are whole percents, each at least 1. A zone with less joins the
/// neighbor in which I/Os are most nearly as dense. Zones that overlap stay as they are.
fn in_percents(zones: &[Zone]) -> Vec<Zone> {
    let whole: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
    if whole == 0 || zones.windows(2).any(|two| two[0].to_ppm > two[1].from_ppm) {
        return zones.to_vec();
    }
    let density = |zone: &Zone| {
        f64::from(zone.weight) / f64::from(zone.to_ppm.saturating_sub(zone.from_ppm).max(1))
    };
    let mut merged = zones.to_vec();
    while let Some(place) = (0..merged.len())
        .min_by_key(|place| merged[*place].weight)
        .filter(|place| u64::from(merged[*place].weight) * 100 < whole && merged.len() > 1)
    {
        let zone = merged.remove(place);
        // The neighbors are the zones now at these two places.
        let neighbor = [place.checked_sub(1), Some(place).filter(|next| *next < merged.len())]
            .into_iter()
            .flatten()
            .min_by(|a, b| {
                let apart = |at: usize| (density(&merged[at]) - density(&zone)).abs();
                apart(*a).total_cmp(&apart(*b))
            });
        let Some(neighbor) = neighbor.map(|at| &mut merged[at]) else { break };
        neighbor.weight = neighbor.weight.saturating_add(zone.weight);
        neighbor.from_ppm = neighbor.from_ppm.min(zone.from_ppm);
        neighbor.to_ppm = neighbor.to_ppm.max(zone.to_ppm);
    }
    // The largest remainders are rounded up.
    let parts = |zone: &Zone| u64::from(zone.weight) * 100;
    let mut left = 100 - merged.iter().map(|zone| parts(zone) / whole).sum::<u64>();
    let mut order: Vec<usize> = (0..merged.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(parts(&merged[*place]) % whole));
    for place in order {
        let more = left.min(1);
        merged[place].weight = (parts(&merged[place]) / whole + more) as u32;
        left -= more;
    }
    merged
}

/// Longest pause with more than one I/O per pause.
const PAUSE_NS: u64 = 10_000_000;

/// Replaces a rate by pauses of whole milliseconds, each after one or more I/Os.
fn in_bursts(load: &mut Stimulus) {
    let (Pace::Fixed { ios, per } | Pace::Poisson { ios, per }) = load.pace else { return };
    let (ios, threads) = (u128::from(ios.max(1)), u128::from(load.demand.threads.max(1)));
    let gap_ns = u128::from(per.0) * threads / ios;
    let rounded = |ns: u128| Nanos((ns + 500_000) as u64 / 1_000_000 * 1_000_000);
    load.pace = if gap_ns >= u128::from(PAUSE_NS) {
        Pace::Burst { ios: threads as u64, delay: rounded(gap_ns) }
    } else {
        let each = (u128::from(PAUSE_NS) / gap_ns.max(1)).max(1);
        Pace::Burst { ios: (each * threads) as u64, delay: rounded(each * gap_ns) }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::notation::AccessPattern;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand};

    fn load(pace: Pace) -> Stimulus {
        let streams = "RND 4K RW70 FUA".parse::<AccessPattern>().unwrap().streams();
        let range = ActiveRange::new(Bytes(0), Bytes::mib(64));
        let load = Stimulus::new(streams, range, Demand::new(2, 4), LoadLimits::ios(1000));
        let pattern = DataPattern::Entropy { random_percent: 20, duplicate_percent: 40 };
        load.pace(pace).data_pattern(pattern).zones(vec![Zone {
            weight: 1,
            from_ppm: 0,
            to_ppm: 50_000,
        }])
    }

    #[test]
    fn no_more_is_given_up_than_the_format_demands() {
        let whole = load(Pace::Closed);
        assert_eq!(conceded(&whole, |load| Ok(load.clone())), Ok((whole.clone(), Vec::new())));
        let no_zones = |load: &Stimulus| match load.zones.as_slice() {
            [] => Ok(load.clone()),
            _ => Err("zones".to_owned()),
        };
        let (kept, lost) = conceded(&whole, no_zones).unwrap();
        assert_eq!((lost.len(), kept.zones.len()), (1, 0));
        assert_eq!((&kept.streams, &kept.data_pattern), (&whole.streams, &whole.data_pattern));
        let never = conceded(&whole, |_| Err::<(), _>("never".to_owned()));
        assert_eq!(never, Err("never".to_owned()));
    }

    /// 0.4 % next to a zone as sparse and one that is dense; 3 %, 66.3 % and 30.3 % are left.
    #[test]
    fn shares_of_zones_become_whole_percents() {
        let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
        let zones = [
            zone(303, 0, 1_000),
            zone(4, 1_000, 90_001),
            zone(30, 100_000, 700_000),
            zone(663, 700_000, 1_000_000),
        ];
        let expected = [zone(30, 0, 1_000), zone(4, 1_000, 700_000), zone(66, 700_000, 1_000_000)];
        assert_eq!(in_percents(&zones), expected);
        assert_eq!(in_percents(&expected), expected);
        let overlapping = [zone(1, 0, 500_000), zone(999, 400_000, 1_000_000)];
        assert_eq!(in_percents(&overlapping), overlapping);
    }

    /// 2 threads: at 10 I/Os a second each one's gap is 200 ms; at 8,000 it issues 40 in 10 ms.
    #[test]
    fn pauses_stand_for_a_rate() {
        let per = Nanos::SECOND;
        for (ios, burst, delay_ms) in [(10, 2, 200), (8000, 80, 10), (3, 2, 667)] {
            let mut load = load(Pace::Fixed { ios, per });
            in_bursts(&mut load);
            assert_eq!(load.pace, Pace::Burst { ios: burst, delay: Nanos::from_millis(delay_ms) });
        }
    }
}
