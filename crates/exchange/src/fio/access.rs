//! Directions, order and durability of a job's I/Os: `rw`, `rwmixread`, `rwmixwrite`,
//! `percentage_random`, `sync`, `fsync`, `fdatasync`.

use super::options::SectionOptions;
use super::sizes::by_direction;
use std::num::NonZeroU32;
use steadfast_domain::Op;
use steadfast_domain::stimulus::Durability;

/// Directions and order of a job's I/Os.
pub(super) struct JobAccess {
    pub ops: Vec<OpShare>,
    /// True if any I/O is random.
    pub random: bool,
    /// Random share of each direction in percent, by [`direction_index`]; 100 for a random job.
    pub random_percents: [u32; 3],
}

/// An operation and its share of a job's I/Os.
pub(super) struct OpShare {
    pub op: Op,
    pub percent: u32,
}

impl JobAccess {
    /// Returns true if some I/Os of a direction are random and others are not.
    pub fn is_mixed(&self) -> bool {
        self.ops
            .iter()
            .any(|share| !matches!(self.random_percents[direction_index(share.op)], 0 | 100))
    }
}

/// Returns the directions and the order of a job. Errors are added to `options`.
pub(super) fn access(options: &mut SectionOptions<'_>) -> Option<JobAccess> {
    let text = options.text("rw").unwrap_or("read").to_ascii_lowercase();
    let (random, ops): (bool, &[Op]) = match text.as_str() {
        "read" => (false, &[Op::Read]),
        "write" => (false, &[Op::Write]),
        "rw" | "readwrite" => (false, &[Op::Read, Op::Write]),
        "randread" => (true, &[Op::Read]),
        "randwrite" => (true, &[Op::Write]),
        "randrw" => (true, &[Op::Read, Op::Write]),
        "trim" => (false, &[Op::Discard]),
        "randtrim" => (true, &[Op::Discard]),
        text => {
            let why = match text.split_once(':') {
                Some(_) => "an order with a count or a gap after the colon is not supported",
                None if text.contains("trimwrite") => {
                    "discards that are written at once are not supported"
                }
                None => {
                    "it is none of read, write, rw, randread, randwrite, randrw, trim, randtrim"
                }
            };
            options.refuse("rw", why);
            return None;
        }
    };
    let random_percents = if random { random_percents(options)? } else { [0; 3] };
    let random = ops.iter().any(|op| random_percents[direction_index(*op)] > 0);
    let read_percent = read_percent(options);
    let mut shares = Vec::new();
    for op in ops {
        let percent = match (ops, op) {
            ([_], _) => 100,
            (_, Op::Read) => read_percent,
            _ => 100 - read_percent,
        };
        if percent > 0 {
            shares.push(OpShare { op: *op, percent });
        }
    }
    Some(JobAccess { ops: shares, random, random_percents })
}

/// Returns the random share of each direction, in percent, by `percentage_random`.
fn random_percents(options: &mut SectionOptions<'_>) -> Option<[u32; 3]> {
    let Some(text) = options.text("percentage_random") else { return Some([100; 3]) };
    // An empty value is fio's default.
    let share = |text: &str| match text.trim_end_matches('%') {
        "" => Some(100),
        text => text.parse().ok().filter(|share| *share <= 100),
    };
    if let [Some(reads), Some(writes), Some(discards)] = by_direction(text).map(share) {
        return Some([reads, writes, discards]);
    }
    options.refuse("percentage_random", "these are not percents");
    None
}

/// Returns the index of a direction's value in a list such as `bs=4k,8k`.
pub(super) fn direction_index(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard | Op::Flush => 2,
    }
}

/// Returns the percentage of reads in a mix; the last option counts.
fn read_percent(options: &mut SectionOptions<'_>) -> u32 {
    let reads = options.percent("rwmixread");
    let writes = options.percent("rwmixwrite");
    let later = options.position_of("rwmixwrite") > options.position_of("rwmixread");
    match (reads, writes) {
        (None, None) => 50,
        (Some(_), Some(writes)) if later => 100 - writes,
        (Some(reads), _) => reads,
        (None, Some(writes)) => 100 - writes,
    }
}

/// Returns the durability of a job's writes: `sync`, `fsync` or `fdatasync`.
pub(super) fn durability(options: &mut SectionOptions<'_>) -> Option<Durability> {
    let sync = match options.text("sync").unwrap_or("none") {
        "0" | "none" => false,
        "" | "1" | "sync" | "dsync" => true,
        _ => {
            options.refuse("sync", "it is none of none, sync, dsync");
            return None;
        }
    };
    let mut every = [None; 2];
    for (every, name) in every.iter_mut().zip(["fsync", "fdatasync"]) {
        let Some(writes) = options.number(name) else { continue };
        let Ok(writes) = u32::try_from(writes) else {
            options.refuse(name, "it is more writes than can be counted");
            return None;
        };
        *every = NonZeroU32::new(writes).map(|writes| (name, writes));
    }
    match (sync, every) {
        (false, [None, None]) => Some(Durability::Cached),
        (true, [None, None]) => Some(Durability::Sync),
        (false, [Some((_, every)), None] | [None, Some((_, every))]) => {
            options.remark(
                "response times of writes that a flush follows count until it has completed, which \
                 begins when they are written; fio's count until they are written",
            );
            Some(Durability::Flush(every))
        }
        (_, [Some((name, _)), _] | [_, Some((name, _))]) => {
            options.refuse(name, "it is not supported together with sync, fsync or fdatasync");
            None
        }
    }
}
