//! Finds the properties that a load must lose so that another tool's file can express it.

use steadfast_domain::stimulus::{DataPattern, Durability, Pace};
use steadfast_domain::{Distribution, IoStream, Nanos, Op, Stimulus};

/// A property that a load can lose.
struct Concession {
    /// The lost property, as the subject of a sentence.
    lost: &'static str,
    give_up: fn(&mut Stimulus),
}

static CONCESSIONS: [Concession; 9] = [
    Concession { lost: "duplicate data", give_up: without_duplicates },
    Concession {
        lost: "compressible data (random data are written)",
        give_up: |load| load.data_pattern = DataPattern::RandomUnique,
    },
    Concession { lost: "alignment", give_up: |load| each(load, |one| one.alignment = None) },
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
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Zone};
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
