//! Finds the properties that a load must lose so that another tool's file can express it.

use super::shares::{share_of, share_of_pace};
use steadfast_domain::stimulus::{DataPattern, Durability, Pace, Zone};
use steadfast_domain::{Distribution, IoStream, Nanos, Op, Stimulus};

/// A property that a load can lose.
struct Concession {
    /// The lost property, as the subject of a sentence.
    lost: &'static str,
    give_up: fn(&mut Stimulus),
}

/// A load that another tool's file can express, with the properties it lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Expressed<T> {
    /// The load in the other tool's terms.
    pub value: T,
    /// Lost properties, each as the subject of a sentence.
    pub lost: Vec<&'static str>,
}

/// Concessions, the least important first. Of two sets with equally many members, the one whose
/// most important member is less important is preferred. Small changes of zones come before
/// alignment, because the alignment of short transfers decides how a drive writes them.
static CONCESSIONS: [Concession; 10] = [
    Concession { lost: "duplicate data", give_up: remove_duplicates },
    Concession {
        lost: "compressible data (random data are written)",
        give_up: |load| load.data_pattern = DataPattern::RandomUnique,
    },
    Concession {
        lost: "zone shares to fractions of a percent (zones below 1 % are merged with a neighbor, \
               the gap between them included)",
        give_up: |load| {
            let in_percents = |zones: &[Zone]| round_to_percents(merge_small_zones(zones));
            load.zones = in_percents(&load.zones);
            change_streams(load, |stream| stream.zones = in_percents(&stream.zones));
        },
    },
    Concession {
        lost: "alignment",
        give_up: |load| change_streams(load, |stream| stream.alignment = None),
    },
    Concession {
        lost: "LBA zones (the whole range is used)",
        give_up: |load| {
            load.zones.clear();
            change_streams(load, |stream| stream.zones.clear());
        },
    },
    Concession {
        lost: "the distribution of offsets (all are equally likely)",
        give_up: |load| {
            change_streams(load, |stream| stream.distribution = Distribution::Uniform);
        },
    },
    Concession {
        lost: "the durability of writes (FUA, SYNC, FLUSH/N)",
        give_up: |load| change_streams(load, |stream| stream.durability = Durability::Cached),
    },
    Concession { lost: "discards and flushes (omitted)", give_up: remove_discards_and_flushes },
    Concession {
        lost: "the exact rate (replaced by a pause after each burst)",
        give_up: replace_rate_by_bursts,
    },
    Concession {
        lost: "bursts (the I/Os follow one another at its demand)",
        give_up: |load| {
            if let Pace::Burst { .. } = load.pace {
                load.pace = Pace::Closed;
            }
        },
    },
];

/// Expresses a load after the fewest concessions.
///
/// # Errors
/// Returns the reason that `express` gives for the whole load if no set of concessions helps.
pub fn express_with_concessions<T>(
    load: &Stimulus,
    mut express: impl FnMut(&Stimulus) -> Result<T, String>,
) -> Result<Expressed<T>, String> {
    let why = match express(load) {
        Ok(value) => return Ok(Expressed { value, lost: Vec::new() }),
        Err(why) => why,
    };
    let changes_load = |concession: &&Concession| {
        let mut changed = load.clone();
        (concession.give_up)(&mut changed);
        changed != *load
    };
    let useful: Vec<&Concession> = CONCESSIONS.iter().filter(changes_load).collect();
    for set in subsets_by_size(&useful) {
        let mut changed = load.clone();
        set.iter().for_each(|concession| (concession.give_up)(&mut changed));
        if let Ok(value) = express(&changed) {
            return Ok(Expressed { value, lost: set.iter().map(|one| one.lost).collect() });
        }
    }
    Err(why)
}

/// Returns all subsets but the empty one, the smaller ones first, each in the order of the list.
fn subsets_by_size<'c>(all: &[&'c Concession]) -> Vec<Vec<&'c Concession>> {
    let mut sets: Vec<u32> = (1..1 << all.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    let members = |set: u32| {
        let is_member = |at: &usize| set >> at & 1 == 1;
        (0..all.len()).filter(is_member).map(|at| all[at]).collect()
    };
    sets.into_iter().map(members).collect()
}

fn change_streams(load: &mut Stimulus, change: impl Fn(&mut IoStream)) {
    load.streams.iter_mut().for_each(change);
}

fn remove_duplicates(load: &mut Stimulus) {
    if let DataPattern::Entropy { duplicate_percent, .. } = &mut load.data_pattern {
        *duplicate_percent = 0;
    }
}

/// Removes discards and flushes, and their share of the rate. A load without other I/Os stays as it
/// is.
fn remove_discards_and_flushes(load: &mut Stimulus) {
    let weights =
        |streams: &[IoStream]| streams.iter().map(|one| u64::from(one.weight)).sum::<u64>();
    let all = weights(&load.streams);
    let mut remaining = load.streams.clone();
    remaining.retain(|stream| matches!(stream.op, Op::Read | Op::Write));
    let left = weights(&remaining);
    if left == 0 {
        return;
    }
    load.streams = remaining;
    load.pace = share_of_pace(&load.pace, left, all);
    load.until.ios = load.until.ios.map(|ios| share_of(ios, left, all));
}

/// Merges each zone with less than 1 % of the I/Os with the neighbor in which I/Os are most nearly
/// as dense. A gap between the two becomes part of the zone, so that blocks without I/Os get some.
/// Zones that overlap stay as they are.
fn merge_small_zones(zones: &[Zone]) -> Vec<Zone> {
    let mut merged = zones.to_vec();
    if overlap(zones) {
        return merged;
    }
    let whole: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
    let density = |zone: &Zone| {
        f64::from(zone.weight) / f64::from(zone.to_ppm.saturating_sub(zone.from_ppm).max(1))
    };
    while merged.len() > 1
        && let Some(smallest) = (0..merged.len()).min_by_key(|at| merged[*at].weight)
        && u64::from(merged[smallest].weight) * 100 < whole
    {
        let zone = merged.remove(smallest);
        // The neighbors are the zones now at these two places.
        let next = Some(smallest).filter(|next| *next < merged.len());
        let neighbors = smallest.checked_sub(1).into_iter().chain(next);
        let difference = |at: &usize| (density(&merged[*at]) - density(&zone)).abs();
        let neighbor = neighbors.min_by(|a, b| difference(a).total_cmp(&difference(b)));
        let Some(neighbor) = neighbor.map(|at| &mut merged[at]) else { break };
        neighbor.weight = neighbor.weight.saturating_add(zone.weight);
        neighbor.from_ppm = neighbor.from_ppm.min(zone.from_ppm);
        neighbor.to_ppm = neighbor.to_ppm.max(zone.to_ppm);
    }
    merged
}

/// Rounds the shares of zones to whole percents whose sum is 100; the largest remainders are
/// rounded up. Zones that overlap stay as they are.
fn round_to_percents(mut zones: Vec<Zone>) -> Vec<Zone> {
    let whole: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
    if whole == 0 || overlap(&zones) {
        return zones;
    }
    let parts = |zone: &Zone| u64::from(zone.weight) * 100;
    let mut left = 100 - zones.iter().map(|zone| parts(zone) / whole).sum::<u64>();
    let mut order: Vec<usize> = (0..zones.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(parts(&zones[*at]) % whole));
    for at in order {
        let rounding = left.min(1);
        zones[at].weight = (parts(&zones[at]) / whole + rounding) as u32;
        left -= rounding;
    }
    zones
}

fn overlap(zones: &[Zone]) -> bool {
    zones.windows(2).any(|pair| pair[0].to_ppm > pair[1].from_ppm)
}

/// Shortest and longest pause, in nanoseconds, if several I/Os per thread precede it.
const PAUSES_NS: [u128; 2] = [10_000_000, 100_000_000];
const MILLISECOND_NS: u128 = 1_000_000;

/// Error of a rate that needs no longer pause: 1 in 200.
const ACCURACY: u128 = 200;

/// Replaces a rate by pauses of whole milliseconds, each after one or more I/Os of every thread.
/// The number of I/Os is chosen so that rounding changes the rate by at most 1 %.
fn replace_rate_by_bursts(load: &mut Stimulus) {
    let (Pace::Fixed { ios, per } | Pace::Poisson { ios, per }) = load.pace else { return };
    let (ios, threads) = (u128::from(ios.max(1)), u128::from(load.demand.threads.max(1)));
    // Time in which each thread issues `count` I/Os at the rate.
    let time_of = |count: u128| count * u128::from(per.0) * threads / ios;
    let rounded = |ns: u128| ((ns + MILLISECOND_NS / 2) / MILLISECOND_NS).max(1) * MILLISECOND_NS;
    let gap_ns = time_of(1).max(1);
    let [shortest, longest] = PAUSES_NS.map(|pause| (pause / gap_ns).max(1));
    // The rounding error in parts per million of the pause.
    let error = |count: u128| {
        rounded(time_of(count)).abs_diff(time_of(count)) * 1_000_000 / time_of(count).max(1)
    };
    let is_accurate = |count: &u128| error(*count) * ACCURACY <= 1_000_000;
    let count = (shortest..=longest)
        .find(is_accurate)
        .or_else(|| (shortest..=longest).min_by_key(|count| error(*count)))
        .unwrap_or(1);
    let delay = Nanos(u64::try_from(rounded(time_of(count))).unwrap_or(u64::MAX));
    load.pace = Pace::Burst { ios: (count * threads) as u64, delay };
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::notation::AccessPattern;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, Order};

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
    fn a_load_loses_no_more_than_the_format_demands() {
        let whole = load(Pace::Closed);
        let complete = express_with_concessions(&whole, |load| Ok(load.clone())).unwrap();
        assert_eq!(complete, Expressed { value: whole.clone(), lost: Vec::new() });
        let no_zones = |load: &Stimulus| match load.zones.as_slice() {
            [] => Ok(load.clone()),
            _ => Err("zones".to_owned()),
        };
        let Expressed { value, lost } = express_with_concessions(&whole, no_zones).unwrap();
        assert_eq!((lost.len(), value.zones.len()), (1, 0));
        assert_eq!((&value.streams, &value.data_pattern), (&whole.streams, &whole.data_pattern));
        let never = express_with_concessions(&whole, |_| Err::<(), _>("never".to_owned()));
        assert_eq!(never, Err("never".to_owned()));
    }

    /// 4 reads and 1 discard of each 5 I/Os, 1 I/O in 10 s: 0.08 reads a second are left.
    #[test]
    fn a_load_of_discards_and_flushes_alone_keeps_them() {
        let stream =
            |op, weight| IoStream::new(op, Order::Random, Bytes::kib(4)).with_weight(weight);
        let mut mixed = load(Pace::Fixed { ios: 1, per: Nanos::from_secs(10) });
        mixed.streams = vec![stream(Op::Read, 4), stream(Op::Discard, 1)];
        let mut commands = mixed.clone();
        remove_discards_and_flushes(&mut mixed);
        assert_eq!((mixed.streams.len(), mixed.until.ios), (1, Some(800)));
        assert!((mixed.pace.offered_iops().unwrap() - 0.08).abs() < 1e-4, "{:?}", mixed.pace);
        commands.streams = vec![stream(Op::Discard, 1), stream(Op::Flush, 3)];
        let unchanged = commands.clone();
        remove_discards_and_flushes(&mut commands);
        assert_eq!(commands, unchanged);
        commands.streams[0] = stream(Op::Read, 0);
        remove_discards_and_flushes(&mut commands);
        assert_eq!(commands.streams.len(), 2, "a read without a share is no load either");
    }

    /// Shares of 30.3, 0.4, 3.0 and 66.3 %. The zone with 0.4 % merges with the sparser of its two
    /// neighbors, across the gap between them.
    #[test]
    fn shares_of_zones_become_whole_percents() {
        let in_percents = |zones: &[Zone]| round_to_percents(merge_small_zones(zones));
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

    /// 2 threads: at 10 I/Os a second each one's gap is 200 ms; at 8,000 it issues 40 in 10 ms. A
    /// gap of 5.49 ms has no pause in whole milliseconds, two of them are nearly 11 ms.
    #[test]
    fn a_rate_becomes_pauses_in_whole_milliseconds() {
        for (ios, per_us, burst, delay_ms) in [
            (10, 1_000_000, 2, 200),
            (8000, 1_000_000, 80, 10),
            (3, 1_000_000, 2, 667),
            (2, 5_490, 4, 11),
            (2, 10_490, 4, 21),
        ] {
            let mut load = load(Pace::Fixed { ios, per: Nanos(per_us * 1000) });
            replace_rate_by_bursts(&mut load);
            assert_eq!(load.pace, Pace::Burst { ios: burst, delay: Nanos::from_millis(delay_ms) });
        }
    }

    #[test]
    fn pauses_change_a_rate_by_at_most_one_percent() {
        for gap_us in (1..200_000).step_by(7) {
            let per = Nanos(gap_us * 1000);
            let mut load = load(Pace::Fixed { ios: 2, per });
            replace_rate_by_bursts(&mut load);
            let Pace::Burst { ios, delay } = load.pace else { panic!("{:?}", load.pace) };
            let (exact, applied) = (2e9 / per.0 as f64, ios as f64 * 1e9 / delay.0 as f64);
            assert!((applied / exact - 1.0).abs() <= 0.0101, "{gap_us} us: {:?}", load.pace);
        }
    }
}
