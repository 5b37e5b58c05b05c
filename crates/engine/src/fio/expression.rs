//! A stimulus as options of fio, or why fio cannot express it.
//!
//! An expressed stimulus is exact, except for what docs/fio.md lists; everything else is refused
//! before anything is touched. The rules were observed in fio 3.33, by the offsets that it issues
//! and not by its manual alone.

use crate::draw::DrawPlan;
use crate::prepared::StepRefusal;
use crate::refusals::{range_refusal, sector_refusal};
use crate::start::{StepStart, WorkDone};
use std::collections::BTreeMap;
use steadfast_domain::hex::to_hex;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::{DataPattern, Durability, Pace, Zone};
use steadfast_domain::{Bytes, IoStream, Load, Nanos, Op, Order, Stimulus};

const THREADS_LIMIT: u32 = 2048;

/// Longest pattern that fio repeats, in bytes.
const PATTERN_LIMIT: usize = 512;

/// Maximum transfer size in bytes; the kernel splits longer transfers.
const SIZE_LIMIT: u64 = 1 << 30;

/// Above this number of jobs fio adds them up before it answers: writing an answer of 32 jobs
/// takes a tenth of a second on a busy machine.
const REPORTED_JOBS_MAX: u32 = 8;

/// Properties of the target that an expression depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct FioTarget<'t> {
    pub path: &'t str,
    pub length: Bytes,
    pub writable: bool,
    /// Unit of offsets and sizes in bytes.
    pub sector: u64,
    pub direct: bool,
    pub io_engine: &'static str,
    /// True if writes may be flushed, as in [`FioOptions::commit_rates`](super::FioOptions).
    pub commit_rates: bool,
}

/// Engine of fio that writes and flushes by blocking calls, as a database does.
const BLOCKING_ENGINE: &str = "psync";

/// One call of fio: the byte range that it may touch, and its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FioCallSpec {
    pub offset: u64,
    pub length: u64,
    /// Maximum number of I/Os.
    pub ios: Option<u64>,
    /// Maximum time, including the ramp.
    pub time: Option<Nanos>,
    /// Seed of its addresses and data.
    pub seed: u64,
}

/// Returns the stimulus of a load that fio can express.
pub(super) fn single_stimulus(load: &Load) -> Result<&Stimulus, StepRefusal> {
    match load {
        Load::Stimulus(stimulus) => Ok(stimulus),
        Load::Together(_) => Err(StepRefusal(
            "fio does not report loads that are applied at once separately; use the engine uring \
             on one host"
                .to_owned(),
        )),
        Load::Script(script) => Err(StepRefusal(format!(
            "script '{}': fio replays only its own logs, does not issue every I/O at its due time \
             and does not report how late each was; use the engine uring on one host",
            script.name
        ))),
    }
}

/// A call that ends more than this before its time has failed.
const CALL_SHORTFALL_MAX: Nanos = Nanos::from_millis(50);

impl FioCallSpec {
    /// Returns true if a call that ran this long and did this many I/Os reached its time or its
    /// number of I/Os.
    pub(super) fn is_done(&self, ran: Nanos, ios: u64) -> bool {
        let in_time = self.time.is_some_and(|time| ran + CALL_SHORTFALL_MAX >= time);
        let in_full = self.ios.is_some_and(|limit| ios >= limit);
        ios > 0 && (in_time || in_full)
    }
}

/// A stimulus as options of fio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    /// Options common to all parts, in order.
    options: JobOptions,
    /// Operations with I/Os.
    pub ops: Vec<Op>,
    /// Transfer size of reads and of writes; `None` for several, or without I/Os.
    pub sizes: [Option<u64>; 2],
    /// Number of job sections in an answer.
    pub sections: usize,
    placement: JobPlacement,
    largest: u64,
    limits: IoLimits,
    /// I/Os left to do; `None` if only time limits the load.
    pub remaining_ios: Option<u64>,
    time: Option<Nanos>,
    ramp: Nanos,
    /// Seed of the first call; each later call derives its own from it.
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum JobPlacement {
    /// Anywhere in this byte range.
    Random { offset: u64, length: u64 },
    /// Sequential I/Os of `size` from `begin` to `end`, then from `first` again.
    Sequential { key: String, first: u64, end: u64, size: u64, alignment: u64, begin: u64 },
}

/// The load's limits in I/Os, and in bytes as a number of I/Os of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IoLimits {
    ios: Option<u64>,
    bytes: Option<ByteLimit>,
}

/// A limit in bytes, with the size of each I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ByteLimit {
    bytes: u64,
    io_size: u64,
}

impl IoLimits {
    /// Returns the I/Os left after `done`; `None` without a limit.
    fn remaining(self, done: WorkDone) -> Option<u64> {
        let by_ios = self.ios.map(|ios| ios.saturating_sub(done.ios));
        let by_bytes = self
            .bytes
            .map(|limit| limit.bytes.saturating_sub(done.bytes.0).div_ceil(limit.io_size));
        by_ios.into_iter().chain(by_bytes).min()
    }
}

impl Expression {
    /// Expresses a stimulus from its beginning, or returns the reason why fio cannot apply it.
    pub(super) fn new(stimulus: &Stimulus, target: &FioTarget<'_>) -> Result<Expression, String> {
        refuse_range(stimulus, target)?;
        // fio counts flushes among the reads that moved too little.
        let reads = stimulus.streams.iter().any(|stream| stream.op == Op::Read);
        let may_flush = target.commit_rates && stimulus.demand.depth == 1 && !reads;
        for stream in &stimulus.streams {
            refuse_stream(stream, target.sector, may_flush)?;
        }
        refuse_features(stimulus)?;
        let used = used_streams(stimulus);
        let placement = match used[0].order {
            Order::Random => random_placement(stimulus, &used)?,
            Order::Sequential(_) => sequential_placement(stimulus, &used)?,
        };
        let limits = limits(stimulus, &used)?;
        let ops: Vec<Op> = [Op::Read, Op::Write]
            .into_iter()
            .filter(|op| used.iter().any(|stream| stream.op == *op))
            .collect();
        let jobs = stimulus.demand.threads;
        let reports_each_job = jobs <= REPORTED_JOBS_MAX;
        let durable = durable(stimulus)?;
        let io_engine = if durable.is_some() { BLOCKING_ENGINE } else { target.io_engine };
        let target = &FioTarget { io_engine, ..*target };
        let mut options = fixed_options(stimulus, target, reports_each_job);
        options.extend(durable);
        options.extend(pattern_options(stimulus)?);
        options.extend(mix_options(&used, &ops)?);
        options.extend(size_options(&used, &ops)?);
        options.extend(zone_options(stimulus, &used)?);
        Ok(Expression {
            options,
            sizes: [only_size(&used, Op::Read), only_size(&used, Op::Write)],
            ops,
            sections: if reports_each_job { jobs as usize } else { 1 },
            placement,
            largest: used.iter().map(|stream| stream.size.0).max().unwrap_or(0),
            limits,
            remaining_ios: limits.remaining(WorkDone::default()),
            time: stimulus.until.time,
            ramp: stimulus.ramp,
            seed: stimulus.seed,
        })
    }

    /// Limits the measured time to `cut`.
    #[must_use]
    pub(super) fn ending_after(mut self, cut: Option<Nanos>) -> Expression {
        if let Some(cut) = cut {
            self.time = Some(self.time.map_or(cut, |time| time.min(cut)));
        }
        self
    }

    #[must_use]
    pub(super) fn ramping_for(mut self, ramp: Nanos) -> Expression {
        self.ramp = ramp;
        self
    }

    /// Reduces the stimulus to what is left of it at `start`.
    #[must_use]
    pub(super) fn remaining_from(mut self, start: &StepStart) -> Expression {
        if let JobPlacement::Sequential { key, first, end, size, alignment, begin } =
            &mut self.placement
        {
            let cursor = start.cursors.get(key);
            let offset = cursor.and_then(|at| at.0.checked_next_multiple_of(*alignment));
            let is_in_range = |offset: &u64| (*first..=*end - *size).contains(offset);
            *begin = offset.filter(is_in_range).unwrap_or(*first);
        }
        self.remaining_ios = self.limits.remaining(start.done);
        self.time = self.time.map(|time| time.saturating_sub(start.done.time));
        self.seed = start.seed(self.seed);
        self
    }

    /// Returns the next call of fio after `done` time, including the ramp, and `ios` I/Os; `None`
    /// if nothing is left to do.
    pub(super) fn next_part(&self, done: Nanos, ios: u64) -> Option<FioCallSpec> {
        let time = self.time.map(|time| (time + self.ramp).saturating_sub(done));
        let remaining = self.remaining_ios.map(|limit| limit.saturating_sub(ios));
        if remaining == Some(0) || time.is_some_and(|time| time < CALL_TIME_MIN) {
            return None;
        }
        let (first, end, size) = match &self.placement {
            JobPlacement::Random { offset, length } => {
                // A single call does all random I/Os.
                let is_first = ios == 0 && done == Nanos::ZERO;
                return is_first.then_some(FioCallSpec {
                    offset: *offset,
                    length: *length,
                    ios: remaining,
                    time,
                    seed: self.seed,
                });
            }
            JobPlacement::Sequential { first, end, size, .. } => (first, end, size),
        };
        let offset = self.position(ios).unwrap_or(*first);
        let count = (end - offset) / size;
        // fio starts every lap where the first one started, so a lap from the middle to the end
        // is a call of its own.
        let limit =
            if offset == *first { remaining } else { Some(remaining.unwrap_or(count).min(count)) };
        let done = WorkDone { ios, ..WorkDone::default() };
        let seed = StepStart { done, ..StepStart::default() }.seed(self.seed);
        Some(FioCallSpec { offset, length: count * size, ios: limit, time, seed })
    }

    /// Returns the offset of the sequential I/O that follows the first `ios`.
    fn position(&self, ios: u64) -> Option<u64> {
        let JobPlacement::Sequential { first, end, size, begin, .. } = &self.placement else {
            return None;
        };
        let (first_lap, per_lap) = ((end - begin) / size, (end - first) / size);
        Some(match ios.checked_sub(first_lap) {
            None => begin + ios * size,
            Some(after_lap) => first + after_lap % per_lap * size,
        })
    }

    /// Returns the offset of the sequential cursor after `ios` I/Os; empty for random I/Os.
    pub(super) fn cursors(&self, ios: u64) -> BTreeMap<String, Bytes> {
        match (&self.placement, self.position(ios)) {
            (JobPlacement::Sequential { key, .. }, Some(next)) => {
                BTreeMap::from([(key.clone(), Bytes(next))])
            }
            _ => BTreeMap::new(),
        }
    }

    /// Returns the job file of a part. `title` becomes a comment.
    pub(super) fn job_file(&self, part: &FioCallSpec, filename: &str, title: &str) -> String {
        format!("; {}\n[load]\nfilename={filename}\n{}", printable(title), self.body(part))
    }

    /// Returns the options of a part without the target, one per line.
    pub(super) fn body(&self, part: &FioCallSpec) -> String {
        let mut text = String::new();
        for (name, value) in &self.options {
            text += &format!("{name}={value}\n");
        }
        text += &format!("randseed={}\n", seed(part.seed));
        text += &format!("offset={}\nsize={}\n", part.offset, part.length);
        if let Some(time) = part.time {
            text += &format!("runtime={}us\n", time.0.div_ceil(1000));
        }
        match part.ios {
            None => text += "time_based=1\n",
            Some(ios) => {
                let bytes = ios.saturating_mul(self.largest).min(i64::MAX as u64);
                text += &format!("number_ios={ios}\nio_size={bytes}\n");
            }
        }
        text
    }
}

/// Shortest call of fio that is worth its start.
const CALL_TIME_MIN: Nanos = Nanos::from_millis(5);

/// Replaces `$` and control characters: fio expands `${...}` in job files from the environment.
fn printable(title: &str) -> String {
    title.chars().map(|c| if c.is_control() || c == '$' { ' ' } else { c }).collect()
}

fn used_streams(stimulus: &Stimulus) -> Vec<&IoStream> {
    stimulus.streams.iter().filter(|stream| stream.weight > 0).collect()
}

fn refuse_range(stimulus: &Stimulus, target: &FioTarget<'_>) -> Result<(), String> {
    if let Some(fault) = stimulus.fault() {
        return Err(fault);
    }
    let range = stimulus.active_range;
    if let Some(why) = range_refusal(range, target.path, target.length) {
        return Err(why);
    }
    if let Some(segments) = range.segments {
        return Err(format!(
            "fio has no active range of {segments} at random places; use the engine uring"
        ));
    }
    if stimulus.alters() && !target.writable {
        return Err(format!("{} is armed for reading only; this load writes", target.path));
    }
    DrawPlan::new(stimulus).map(|_| ())
}

fn refuse_stream(stream: &IoStream, sector: u64, may_flush: bool) -> Result<(), String> {
    let is_possible = stream.durability.is_cached()
        || may_flush && matches!(stream.durability, Durability::Flush(_));
    let reason = match stream.op {
        Op::Discard => Some(
            "fio waits for every discard to complete, so it does not keep the queue depth"
                .to_owned(),
        ),
        Op::Flush => Some("fio flushes after a number of writes, not as one of the I/Os".into()),
        Op::Write if !is_possible => {
            Some("fio does not report the time of a write until the commit".into())
        }
        _ if !stream.distribution.is_uniform() => Some(
            "fio's ranks may share a block, so it would not draw the same distribution".to_owned(),
        ),
        _ => sector_refusal(stream, sector).or_else(|| {
            (stream.size.0 > SIZE_LIMIT)
                .then(|| "one I/O moves at most 1 GiB; choose a smaller size".into())
        }),
    };
    match reason {
        Some(why) => Err(format!("'{stream}': {why}; use the engine uring")),
        None => Ok(()),
    }
}

fn refuse_features(stimulus: &Stimulus) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("{why}; use the engine uring"));
    if stimulus.pace != Pace::Closed {
        return refuse(
            "fio counts the response time of a paced I/O from its issue, not from its due time, \
             which hides the wait",
        );
    }
    if stimulus.verify {
        return refuse("fio's verification uses a different stamp");
    }
    if stimulus.delay > Nanos::ZERO {
        return refuse("a load that begins after the others of its step is not applied with fio");
    }
    if stimulus.demand.threads > THREADS_LIMIT {
        return Err(format!("fio carries at most {THREADS_LIMIT} jobs; lower the threads"));
    }
    let has_count = stimulus.until.bytes.is_some() || stimulus.until.ios.is_some();
    if has_count && stimulus.ramp > Nanos::ZERO {
        return Err("a ramp is time that is not measured: give the load a limit in time".into());
    }
    let used = used_streams(stimulus);
    let random = used.iter().filter(|stream| stream.order == Order::Random).count();
    if random != 0 && random != used.len() {
        return refuse("fio cannot keep the shares in a mix of random and sequential I/Os");
    }
    Ok(())
}

/// Options of a job by their names, in order.
type JobOptions = Vec<(&'static str, String)>;

/// Returns the options that every job has.
fn fixed_options(
    stimulus: &Stimulus,
    target: &FioTarget<'_>,
    reports_each_job: bool,
) -> JobOptions {
    let flag = |on: bool| u8::from(on).to_string();
    let mut options = vec![
        ("ioengine", target.io_engine.to_owned()),
        ("direct", flag(target.direct)),
        ("thread", flag(true)),
        ("numjobs", stimulus.demand.threads.to_string()),
        ("iodepth", stimulus.demand.depth.to_string()),
        // One section for all jobs, or one for each.
        ("group_reporting", flag(!reports_each_job)),
        // The target exists, and nothing else may be created or touched.
        ("allow_file_create", flag(false)),
        ("allow_mounted_write", flag(false)),
        ("invalidate", flag(false)),
        // Without randrepeat=0, fio 3.33 ignores randseed.
        ("randrepeat", flag(false)),
        ("random_generator", "tausworthe64".to_owned()),
        ("norandommap", flag(true)),
        // Response times run from submission to completion, as in this program.
        ("lat_percentiles", flag(true)),
        ("clat_percentiles", flag(false)),
        ("continue_on_error", "io".to_owned()),
    ];
    if target.io_engine == "io_uring" {
        for name in ["fixedbufs", "registerfiles", "nonvectored"] {
            options.push((name, flag(true)));
        }
    }
    options
}

/// Returns the option that makes the writes of all jobs durable.
pub(super) fn durable(stimulus: &Stimulus) -> Result<Option<(&'static str, String)>, String> {
    let mut writes = stimulus.streams.iter().filter(|stream| stream.op == Op::Write);
    let Some(first) = writes.next().map(|stream| stream.durability) else {
        return Ok(None);
    };
    if writes.any(|stream| stream.durability != first) {
        return Err("all writes of a fio job are equally durable".into());
    }
    Ok(match first {
        Durability::Cached => None,
        Durability::Fua | Durability::Sync => Some(("sync", "dsync".to_owned())),
        Durability::Flush(every) => Some(("fdatasync", every.to_string())),
    })
}

/// Returns a seed that fits fio, which multiplies it by a job's number and reads it as a signed
/// number.
fn seed(seed: u64) -> u64 {
    mix64(seed) >> 1 | 1
}

fn pattern_options(stimulus: &Stimulus) -> Result<JobOptions, String> {
    let mut options = Vec::new();
    if !stimulus.alters() {
        return Ok(options);
    }
    options.push(("scramble_buffers", "0".to_owned()));
    match &stimulus.data_pattern {
        DataPattern::RandomUnique => options.push(("refill_buffers", "1".to_owned())),
        DataPattern::RandomOnce => {}
        DataPattern::Zero => options.push(("zero_buffers", "1".to_owned())),
        DataPattern::Repeating(bytes) if (1..=PATTERN_LIMIT).contains(&bytes.len()) => {
            options.push(("buffer_pattern", format!("0x{}", to_hex(bytes))));
        }
        DataPattern::Repeating(_) => {
            return Err(format!("fio repeats patterns of 1 to {PATTERN_LIMIT} bytes"));
        }
        DataPattern::File(_) => {
            return Err(format!(
                "fio takes no more than {PATTERN_LIMIT} bytes of a file as its data; choose \
                 another data pattern, or the engine uring"
            ));
        }
        DataPattern::Entropy { duplicate_percent: 1.., .. } => {
            return Err("fio repeats whole I/Os, not blocks of 4 KiB; choose 0 % duplicates, or \
                        the engine uring"
                .into());
        }
        DataPattern::Entropy { random_percent, .. } => {
            let zeros = 100 - random_percent.min(&100);
            options.push(("refill_buffers", "1".to_owned()));
            options.push(("buffer_compress_percentage", zeros.to_string()));
            options.push(("buffer_compress_chunk", "512".to_owned()));
        }
    }
    Ok(options)
}

fn mix_options(used: &[&IoStream], ops: &[Op]) -> Result<JobOptions, String> {
    let random = used[0].order == Order::Random;
    let rw = match (ops, random) {
        ([Op::Read], true) => "randread",
        ([Op::Read], false) => "read",
        ([Op::Write], true) => "randwrite",
        ([Op::Write], false) => "write",
        _ => "randrw",
    };
    let mut options = vec![("rw", rw.to_owned())];
    if ops.len() > 1 {
        let weight = |op: Op| -> u64 {
            used.iter().filter(|s| s.op == op).map(|s| u64::from(s.weight)).sum()
        };
        let (reads, writes) = (weight(Op::Read), weight(Op::Write));
        let percent = whole_percent(reads, reads + writes).ok_or_else(|| {
            format!("fio mixes reads and writes in whole percent, not {reads} to {writes}")
        })?;
        options.push(("rwmixread", percent.to_string()));
    }
    Ok(options)
}

pub(super) fn whole_percent(part: u64, whole: u64) -> Option<u64> {
    let hundredfold = part.checked_mul(100)?;
    (whole > 0 && hundredfold.is_multiple_of(whole)).then(|| hundredfold / whole)
}

fn streams_with<'s>(used: &[&'s IoStream], op: Op) -> Vec<&'s IoStream> {
    used.iter().filter(|stream| stream.op == op).copied().collect()
}

/// Returns the transfer size of an operation; `None` for several, or without I/Os.
fn only_size(used: &[&IoStream], op: Op) -> Option<u64> {
    let mut sizes = used.iter().filter(|stream| stream.op == op).map(|stream| stream.size.0);
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(first)
}

/// Returns the block sizes, their shares and their alignment, by direction.
fn size_options(used: &[&IoStream], ops: &[Op]) -> Result<JobOptions, String> {
    let (mut sizes, mut splits, mut alignments) = (Vec::new(), Vec::new(), Vec::new());
    for op in ops {
        let streams = streams_with(used, *op);
        let alignment = streams[0].alignment().0;
        if streams.iter().any(|stream| stream.alignment().0 != alignment) {
            return Err(format!(
                "fio aligns all transfers of one direction equally; '{}' and '{}' differ: give \
                 them one alignment, or use the engine uring",
                streams[0],
                streams[streams.len() - 1]
            ));
        }
        alignments.push(alignment);
        sizes.extend(only_size(used, *op));
        splits.push(split(&streams)?);
    }
    let mut options = vec![if sizes.len() == ops.len() {
        ("bs", by_direction(&sizes))
    } else {
        ("bssplit", by_direction(&splits))
    }];
    if used[0].order == Order::Random {
        options.push(("blockalign", by_direction(&alignments)));
    }
    Ok(options)
}

/// Returns the value of an option that has one value per direction.
fn by_direction<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    match &values[..] {
        // For a job with writes alone, fio takes the second of two values.
        [single] => format!("{single},{single}"),
        several => several.join(","),
    }
}

/// Returns sizes with their shares of a direction's I/Os, such as `512/4:4096/67:...`.
fn split(streams: &[&IoStream]) -> Result<String, String> {
    let mut shares: BTreeMap<u64, u64> = BTreeMap::new();
    for stream in streams {
        *shares.entry(stream.size.0).or_default() += u64::from(stream.weight);
    }
    let whole: u64 = shares.values().sum();
    let parts: Option<Vec<String>> = shares
        .iter()
        .map(|(size, weight)| Some(format!("{size}/{}", whole_percent(*weight, whole)?)))
        .collect();
    parts.map(|parts| parts.join(":")).ok_or_else(|| {
        format!(
            "fio divides transfer sizes in whole percent of a direction; {} are not: use the \
             engine uring",
            shares.iter().map(|(s, w)| format!("{s} B x {w}")).collect::<Vec<_>>().join(", ")
        )
    })
}

/// Returns the zones that a random stream draws from.
pub(super) fn zones_of<'s>(stimulus: &'s Stimulus, stream: &'s IoStream) -> &'s [Zone] {
    if stream.zones.is_empty() { &stimulus.zones } else { &stream.zones }
}

fn zone_options(stimulus: &Stimulus, used: &[&IoStream]) -> Result<JobOptions, String> {
    let zones = zones_of(stimulus, used[0]);
    if zones.is_empty() || used[0].order != Order::Random {
        return Ok(Vec::new());
    }
    let whole: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
    let mut edge = 0;
    let mut parts = Vec::new();
    for zone in zones {
        let access = whole_percent(zone.weight.into(), whole).filter(|access| *access > 0);
        let space = zone.to_ppm.saturating_sub(zone.from_ppm);
        let is_adjacent = zone.from_ppm == edge && space.is_multiple_of(10_000);
        let Some(access) = access.filter(|_| is_adjacent) else { return Err(no_such_zones()) };
        parts.push(format!("{access}/{}", space / 10_000));
        edge = zone.to_ppm;
    }
    if edge != 1_000_000 {
        return Err(no_such_zones());
    }
    Ok(vec![("random_distribution", format!("zoned:{}", parts.join(":")))])
}

fn no_such_zones() -> String {
    "fio's LBA zones follow one another from the first byte of the range to its last, in whole \
     percent of space and of I/Os, none without I/Os; use the engine uring"
        .into()
}

/// Returns the first offset of the active range that an I/O of this alignment may have.
fn first_offset(stimulus: &Stimulus, alignment: u64) -> u64 {
    let start = stimulus.active_range.start.0;
    if stimulus.aligned_to_start { start } else { start.next_multiple_of(alignment) }
}

/// Returns the byte range of random I/Os: fio counts positions from its first byte.
fn random_placement(stimulus: &Stimulus, used: &[&IoStream]) -> Result<JobPlacement, String> {
    if used.iter().any(|stream| zones_of(stimulus, stream) != zones_of(stimulus, used[0])) {
        return Err("fio has one set of LBA zones for all I/Os, these streams have several; use \
                    the engine uring"
            .into());
    }
    let (start, end) = (stimulus.active_range.start.0, stimulus.active_range.end().0);
    if used.iter().all(|stream| start.is_multiple_of(stream.alignment().0)) {
        return Ok(JobPlacement::Random { offset: start, length: end - start });
    }
    let first = first_offset(stimulus, used[0].alignment().0);
    let is_uniform = used.iter().all(|stream| stream.alignment() == used[0].alignment())
        && zones_of(stimulus, used[0]).is_empty();
    if !is_uniform || first >= end {
        return Err(format!(
            "fio aligns I/Os from the beginning of the range, byte {start}, which is not a \
             multiple of their alignment; choose an aligned range"
        ));
    }
    Ok(JobPlacement::Random { offset: first, length: end - first })
}

fn sequential_placement(stimulus: &Stimulus, used: &[&IoStream]) -> Result<JobPlacement, String> {
    let [stream] = used else {
        return Err(
            "fio keeps one position for reads and one for writes, and restarts both when one \
             reaches the end of the range; use the engine uring for sequential mixes"
                .into(),
        );
    };
    if stimulus.demand.threads > 1 {
        return Err("every fio thread runs through the range by itself, and the threads share no \
            position; use one thread, or the engine uring"
            .into());
    }
    let (size, alignment) = (stream.size.0, stream.alignment().0);
    if !stream.zones.is_empty() || !size.is_multiple_of(alignment) {
        return Err(format!(
            "'{stream}': fio goes through the whole range without leaving gaps; use the engine \
             uring"
        ));
    }
    let first = first_offset(stimulus, alignment);
    let end = stimulus.active_range.end().0;
    if first.checked_add(size).is_none_or(|behind| behind > end) {
        return Err(format!("'{stream}' has no room in the active range"));
    }
    let key = stream.cursor_key().unwrap_or_default();
    Ok(JobPlacement::Sequential { key, first, end, size, alignment, begin: first })
}

fn limits(stimulus: &Stimulus, used: &[&IoStream]) -> Result<IoLimits, String> {
    let until = stimulus.until;
    let mut limits = IoLimits { ios: until.ios, bytes: None };
    if until.bytes.is_none() && until.ios.is_none() {
        return Ok(limits);
    }
    if stimulus.demand.threads > 1 {
        return Err("fio gives every job a limit of its own instead of one for all threads: use \
                    one thread, a limit in time, or the engine uring"
            .into());
    }
    if let Some(bytes) = until.bytes {
        let size = used[0].size.0;
        let is_whole =
            used.iter().all(|stream| stream.size.0 == size) && bytes.0.is_multiple_of(size);
        if !is_whole {
            return Err(format!(
                "fio ends with the last whole I/O: {} B is not a whole number of transfers; give \
                 the limit in time or I/Os, or use the engine uring",
                bytes.0
            ));
        }
        limits.bytes = Some(ByteLimit { bytes: bytes.0, io_size: size });
    }
    Ok(limits)
}
