//! Converts one section into a load: streams, range, demand, pace, end and data.

use super::engines::depth;
use super::files::FileNames;
use super::options::{DEMAND_MAX, SectionOptions, TargetFacts};
use super::sizes::by_direction;
use std::num::NonZeroU32;
use steadfast_domain::sequence::{
    Amount, Extent, SequenceEnd, SequenceLoad, SteadyEnd, SteadyRate,
};
use steadfast_domain::stimulus::{Cursor, DataPattern, Durability, Op, Order, Pace, Zone};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Demand, Distribution, IoStream, Nanos};

const SECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1000;

/// The block size where a job names none.
const BLOCK_SIZE: &str = "4k";
/// Default block size in bytes, independent of kb_base.
const BLOCK_BYTES: u64 = 4096;

/// Threads of a job that may be loads of their own.
pub(super) const APART_MAX: u32 = 64;

/// The largest read or write, and the largest discard.
const SIZE_MAX: u64 = 1 << 30;
const DISCARD_MAX: u64 = 3 << 30;

/// A job: the load of one thread and the number of threads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobLoad {
    /// Load of a single thread.
    pub load: SequenceLoad,
    /// Number of threads.
    pub threads: u32,
    /// The files of its threads.
    pub files: FileNames,
    /// Distance between the starts of two threads.
    pub increment: Option<Amount>,
    /// Time from the start of fio to its first I/O.
    pub pause: Nanos,
    /// Ends it once its rate is steady.
    pub steady: Option<SteadyEnd>,
    /// Names and values that distinguish the job in tables.
    pub dimensions: Vec<(String, String)>,
    /// The pace of each of two directions, where they have their own.
    pub paces: Vec<(Op, Pace)>,
}

/// Directions and order of a job's I/Os.
struct JobAccess {
    /// Each direction with its share of the I/Os in percent.
    ops: Vec<(Op, u32)>,
    random: bool,
    /// Percent of each direction's I/Os that are random, by its place; 100 of a random job.
    shares: [u32; 3],
}

/// Returns the load of a section. Errors are added to `options`.
pub(super) fn job(options: &mut SectionOptions<'_>, assumed: &TargetFacts<'_>) -> Option<JobLoad> {
    let manner = manner(options)?;
    let mut streams = streams(options, &manner)?;
    let durability = durability(options)?;
    for stream in streams.iter_mut().filter(|stream| stream.op == Op::Write) {
        stream.durability = durability;
    }
    let depth = depth(options, &streams, assumed.ioengine);
    let threads = options.count("numjobs", DEMAND_MAX).unwrap_or(1);
    let files = FileNames::from_options(options);
    let increment = options.amount("offset_increment").filter(|amount| !is_zero(*amount));
    let least = streams.iter().map(|stream| stream.size.0).min().unwrap_or(512);
    let mut extent = extent(options, least);
    // A job that ends at the end of its device does so after an increment, too.
    extent.clipped |= matches!(increment, Some(Amount::Ppm(_)));
    split_between_files(&mut extent, files.count(), options, least);
    let blocks = TransferFit {
        least,
        are_equal: streams.iter().all(|stream| stream.size.0 == least),
        has_map: has_map(options, &manner),
        may_pass_size: files.are_given() && !ends_target(&extent, assumed),
    };
    let size = extent.length;
    if let Some(Amount::Bytes(length)) = &mut extent.length
        && files.are_given()
    {
        if length.0 < least {
            options.refuse("size", "it is smaller than a block; fio refuses it as well");
            return None;
        }
        // Random I/Os lie within the size, where sequential ones may pass its end.
        length.0 = if manner.random || blocks.ends_within_size(&manner) {
            length.0 / least * least
        } else {
            length.0.checked_next_multiple_of(least).unwrap_or(length.0)
        };
    }
    if files.count() > 1 {
        several_files(options, &manner, files.count());
    }
    let end = end(options, &manner, size, &blocks);
    let mut load = SequenceLoad {
        extent,
        ramp: options.time("ramp_time", SECOND).unwrap_or(Nanos::ZERO),
        ..SequenceLoad::new(streams, Demand::new(1, depth), end?)
    };
    let paces = pace(options, &mut load);
    if load.alters() {
        load.data_pattern = Some(pattern(options));
    }
    if load.pace != Pace::Closed || !paces.is_empty() {
        options.remark(
            "response times of paced I/Os count from when they are due; fio's from their issue",
        );
    }
    remarks(options, &manner, &load, threads);
    let pause = options.time("startdelay", SECOND).unwrap_or(Nanos::ZERO);
    let steady = steady(options);
    if options.flag("readonly") && load.alters() {
        options.refuse("readonly", "the job writes; fio refuses it as well");
    }
    let dimensions = dimensions(options, depth, threads);
    Some(JobLoad { load, threads, files, increment, pause, steady, dimensions, paces })
}

/// Returns true if fio keeps a map of the blocks that a random job has visited, which it does only
/// for offsets that are equally likely.
fn has_map(options: &mut SectionOptions<'_>, manner: &JobAccess) -> bool {
    let is_uniform = matches!(options.text("random_distribution"), None | Some("random"));
    manner.random && is_uniform && !options.flag("norandommap")
}

/// Returns the durability of a job's writes: `sync`, `fsync` or `fdatasync`.
fn durability(options: &mut SectionOptions<'_>) -> Option<Durability> {
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
            options.refuse(name, "it is not applied together with sync, fsync or fdatasync");
            None
        }
    }
}

fn is_zero(amount: Amount) -> bool {
    matches!(amount, Amount::Bytes(Bytes(0)) | Amount::Ppm(0))
}

/// fio divides a `size` between the files of a job, and takes `filesize` for each of them.
fn split_between_files(
    extent: &mut Extent,
    files: u64,
    options: &mut SectionOptions<'_>,
    block: u64,
) {
    if files < 2 {
        return;
    }
    let Some(Amount::Bytes(length)) = extent.length else {
        if options.text("filename").is_some() {
            options.refuse("filename", "the job has several files: give size= in bytes");
        }
        return;
    };
    if !is_zero(extent.from) {
        options.refuse("offset", "an offset in each of several files is not applied");
    }
    let has_filesize = options.text("filesize").is_some();
    let each = if has_filesize { length.0 } else { length.0 / files };
    let whole_blocks = each / block * block;
    extent.length = Some(Amount::Bytes(Bytes(whole_blocks.saturating_mul(files))));
}

/// Checks how fio distributes the I/Os of a job between its files: by `file_service_type` over
/// those that are open. Here a sequential job passes one file after the other, and a random one
/// uses all alike.
fn several_files(options: &mut SectionOptions<'_>, manner: &JobAccess, files: u64) {
    let service = options.text("file_service_type").unwrap_or("roundrobin");
    let (service, _) = service.split_once(':').unwrap_or((service, ""));
    let in_turn = match service {
        "roundrobin" | "random" => true,
        "sequential" => false,
        _ => {
            let why = "files that are used unlike are not applied; only roundrobin, sequential \
                       and random are";
            return options.refuse("file_service_type", why);
        }
    };
    let open = options.number("openfiles").filter(|open| *open > 0).unwrap_or(files);
    if !manner.random {
        if in_turn && open > 1 {
            options.remark(
                "its files are passed one after the other, in fio in turn (file_service_type)",
            );
        }
    } else if !in_turn {
        let why = "random I/Os to one file after the other are not applied; give each file a job";
        options.refuse("file_service_type", why);
    } else if open < files {
        let why =
            "random I/Os to some of the files at a time are not applied; give each file a job";
        options.refuse("openfiles", why);
    }
}

/// `ss=bw_slope:0.1%` with `ss_dur` and `ss_ramp`.
fn steady(options: &mut SectionOptions<'_>) -> Option<SteadyEnd> {
    let text = options.text("ss")?;
    let window = options.time("ss_dur", SECOND).filter(|time| time.0 > 0);
    let ramp = options.time("ss_ramp", SECOND).unwrap_or(Nanos::ZERO);
    let Some(window) = window else {
        options.remark("ss has no effect without ss_dur, as in fio");
        return None;
    };
    let (name, limit) = text.split_once(':').unwrap_or((text, ""));
    let (rate, slope) = match name.trim() {
        "iops" => (SteadyRate::Iops, false),
        "iops_slope" => (SteadyRate::Iops, true),
        "bw" => (SteadyRate::Bandwidth, false),
        "bw_slope" => (SteadyRate::Bandwidth, true),
        _ => {
            options.refuse("ss", "it is none of iops, iops_slope, bw, bw_slope");
            return None;
        }
    };
    let number = limit.trim().trim_end_matches('%');
    let percent = number != limit.trim();
    let value = match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => value,
        _ => match options.bytes_in(number) {
            Some(bytes) if !percent => bytes as f64,
            _ => {
                options.refuse("ss", "this is no limit: give a number or a percentage");
                return None;
            }
        },
    };
    options.remark(
        "ss: the rate is judged after every part of at most 59 s, in fio after every second; the \
         load may last that much longer",
    );
    Some(SteadyEnd { rate, slope, limit: value, percent, window, ramp })
}

fn dimensions(options: &SectionOptions<'_>, depth: u32, threads: u32) -> Vec<(String, String)> {
    let said = ["bssplit", "bsrange", "bs"].into_iter().find_map(|name| options.text(name));
    let size = said.unwrap_or(BLOCK_SIZE);
    [
        ("rw", options.text("rw").unwrap_or("read").to_owned()),
        ("bs", size.to_owned()),
        ("iodepth", depth.to_string()),
        ("numjobs", threads.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn manner(options: &mut SectionOptions<'_>) -> Option<JobAccess> {
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
                Some(_) => "an order with a count or a gap after the colon is not applied",
                None if text.contains("trimwrite") => {
                    "discards that are written at once are not applied"
                }
                None => {
                    "it is none of read, write, rw, randread, randwrite, randrw, trim, randtrim"
                }
            };
            options.refuse("rw", why);
            return None;
        }
    };
    let shares = if random { random_shares(options)? } else { [0; 3] };
    let random = ops.iter().any(|op| shares[place(*op)] > 0);
    let reads = read_share(options);
    let share = |op: &Op| match (ops, op) {
        ([_], _) => 100,
        (_, Op::Read) => reads,
        _ => 100 - reads,
    };
    let ops = ops.iter().map(|op| (*op, share(op))).filter(|(_, share)| *share > 0).collect();
    Some(JobAccess { ops, random, shares })
}

/// Returns the random share of each direction, in percent, by `percentage_random`.
fn random_shares(options: &mut SectionOptions<'_>) -> Option<[u32; 3]> {
    let Some(text) = options.text("percentage_random") else { return Some([100; 3]) };
    // An empty place is fio's default.
    let share = |text: &str| match text.trim_end_matches('%') {
        "" => Some(100),
        text => text.parse().ok().filter(|share| *share <= 100),
    };
    let [reads, writes, discards] = by_direction(text).map(share);
    let shares = reads.zip(writes).zip(discards);
    if shares.is_none() {
        options.refuse("percentage_random", "these are not percents");
    }
    shares.map(|((reads, writes), discards)| [reads, writes, discards])
}

/// Returns the index of a direction's value in a list such as `bs=4k,8k`.
fn place(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard | Op::Flush => 2,
    }
}

/// Percent of a mix that reads: what was said last counts.
fn read_share(options: &mut SectionOptions<'_>) -> u32 {
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

/// Sizes of a direction with their shares, which add up to the second value.
type SizeShares = (Vec<(u64, u32)>, u32);

fn sizes(options: &mut SectionOptions<'_>, op: Op) -> Option<SizeShares> {
    let split = options.text("bssplit").map(|text| by_direction(text)[place(op)]);
    if let Some(split) = split.filter(|split| !split.is_empty()) {
        let Some(parsed) = parts(options, split) else {
            options.refuse("bssplit", "this is no list of SIZE/PERCENT with at most 100 % each");
            return None;
        };
        return check_sizes(options, "bssplit", op, parsed);
    }
    let range = options.text("bsrange").map(|text| by_direction(text)[place(op)]);
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        let drawn = drawn_sizes(range, &|text| options.bytes_in(text));
        return match drawn {
            Ok(sizes) => check_sizes(options, "bsrange", op, sizes),
            Err(why) => {
                options.refuse("bsrange", why);
                None
            }
        };
    }
    // `,8k` leaves the reads their preset. fio reads `4k:8k` and `4k-8k` as reads and writes, too.
    let text = options.text("bs").map(|text| match text.split_once([':', '-']) {
        Some((reads, writes)) if !text.contains(',') => {
            if op == Op::Read {
                reads.trim()
            } else {
                writes.trim()
            }
        }
        _ => by_direction(text)[place(op)],
    });
    let size = match text.filter(|text| !text.is_empty()) {
        Some(text) => options.leading_bytes_in("bs", text),
        None => Some(BLOCK_BYTES),
    };
    match size {
        Some(size) => check_sizes(options, "bs", op, (vec![(size, 1)], 1)),
        None => {
            options.refuse("bs", "this is not a size");
            None
        }
    }
}

/// The most sizes of a range.
const RANGE_MAX: u64 = 256;

/// `4k-16k`: fio draws each multiple of the smaller size up to the larger one equally often.
fn drawn_sizes(
    text: &str,
    value: &dyn Fn(&str) -> Option<u64>,
) -> Result<SizeShares, &'static str> {
    let ends = text.split_once('-').or(text.split_once(':'));
    let ends = ends.and_then(|(a, b)| Some((value(a.trim())?, value(b.trim())?)));
    let (a, b) = ends.ok_or("this is no range of two sizes")?;
    let (least, most) = (a.min(b), a.max(b));
    if least == 0 || !most.is_multiple_of(least) {
        return Err("the larger size is not a multiple of the smaller one; name the sizes with \
                    bssplit");
    }
    match most / least {
        count if count <= RANGE_MAX => {
            let sizes = (1..=count).map(|times| (least * times, 1)).collect();
            Ok((sizes, u32::try_from(count).unwrap_or(u32::MAX)))
        }
        _ => Err("the range has more than 256 sizes; name fewer with bssplit"),
    }
}

fn check_sizes(
    options: &mut SectionOptions<'_>,
    name: &str,
    op: Op,
    sizes: SizeShares,
) -> Option<SizeShares> {
    let most = if op == Op::Discard { DISCARD_MAX } else { SIZE_MAX };
    let fits = sizes.0.iter().all(|(size, _)| (512..=most).contains(size));
    if !fits {
        options.refuse(name, "reads and writes are of 512 B to 1 GiB, discards of up to 3 GiB");
    }
    let odd = sizes.0.iter().find(|(size, _)| !size.is_multiple_of(512)).copied();
    if let Some((size, _)) = odd.filter(|_| fits) {
        let why = format!(
            "this is {size} bytes as fio reads it (kb_base), no whole sectors of 512 B; write the \
             bytes, such as 4096"
        );
        options.refuse(name, &why);
        return None;
    }
    fits.then_some(sizes)
}

/// Parses sizes with their shares, such as `4k/30:8k/70`. Sizes without a share divide the rest.
fn parts(options: &mut SectionOptions<'_>, text: &str) -> Option<SizeShares> {
    let mut parsed: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(leading_percent(options, share)?),
        };
        parsed.push((options.leading_bytes_in("bssplit", size)?, share));
    }
    if parsed.is_empty() || parsed.len() > 64 {
        return None;
    }
    let said: u32 = parsed.iter().filter_map(|(_, share)| *share).sum();
    let open = u32::try_from(parsed.iter().filter(|(_, share)| share.is_none()).count()).ok()?;
    if open > 0 {
        let left = 100u32.checked_sub(said)?;
        // So that what is left divides evenly.
        let share = |share: Option<u32>| share.map_or(left, |share| share * open);
        let all = parsed.into_iter().map(|(size, own)| (size, share(own)));
        let all: Vec<(u64, u32)> = all.filter(|(_, share)| *share > 0).collect();
        let sum = all.iter().map(|(_, share)| *share).sum();
        return (!all.is_empty()).then_some((all, sum));
    }
    let mut all: Vec<(u64, u32)> =
        parsed.into_iter().map(|(size, share)| (size, share.unwrap_or(0))).collect();
    if said != 100 {
        // fio goes through the shares from the smallest on, and ends with the largest.
        let largest =
            all.iter().enumerate().max_by_key(|(at, (_, share))| (*share, usize::MAX - at));
        let largest = largest.map(|(at, _)| at)?;
        let others = said - all[largest].1;
        all[largest].1 = 100u32.checked_sub(others)?;
        options.remark(&format!(
            "bssplit: the shares of a direction are {said} % in all; the largest of them is {} %, \
             as in fio",
            all[largest].1
        ));
    }
    all.retain(|(_, share)| *share > 0);
    (!all.is_empty()).then_some((all, 100))
}

/// Parses a share of a split as fio does, which ignores what stands behind the whole number.
fn leading_percent(options: &mut SectionOptions<'_>, text: &str) -> Option<u32> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let percent = text[..digits].parse().ok().filter(|percent| *percent <= 100)?;
    if digits < text.len() {
        let text = excerpt(text);
        options.remark(&format!("bssplit: fio reads '{text}' as {percent} %; so do we"));
    }
    Some(percent)
}

fn streams(options: &mut SectionOptions<'_>, manner: &JobAccess) -> Option<Vec<IoStream>> {
    let each: Option<Vec<(Op, u32, SizeShares)>> =
        manner.ops.iter().map(|(op, share)| Some((*op, *share, sizes(options, *op)?))).collect();
    let each = each?;
    let several = each.iter().any(|(.., (sizes, _))| sizes.len() > 1);
    if several && !manner.random && each.len() > 1 {
        let name = if options.text("bsrange").is_some() { "bsrange" } else { "bssplit" };
        options.refuse(name, "a sequential mix of directions and of sizes is not applied");
        return None;
    }
    let mut streams = Vec::new();
    for (op, share, (sizes, _)) in &each {
        let least = sizes.iter().map(|(size, _)| *size).min().unwrap_or(512);
        let alignment = alignment(options, *op, least, manner.random)?;
        let (zones, distribution) = if manner.random {
            random_distribution(options, *op)?
        } else {
            (Vec::new(), Distribution::Uniform)
        };
        let others: u32 =
            each.iter().filter(|(o, ..)| o != op).map(|(.., (_, sum))| *sum).product();
        for (size, part) in sizes {
            let own = (alignment != *size).then_some(Bytes(alignment));
            // Every direction's parts add up to its share.
            let weight = share * part * if each.len() > 1 { others } else { 1 };
            for (order, weight) in orders(manner, *op, weight, several) {
                let stream = IoStream::new(*op, order, Bytes(*size)).weighing(weight);
                let distribution = match order {
                    Order::Random => distribution,
                    Order::Sequential(_) => Distribution::Uniform,
                };
                let zones = zones.clone();
                streams.push(IoStream { alignment: own, zones, distribution, ..stream });
            }
        }
    }
    Some(streams)
}

/// Returns the orders of a direction's I/Os with their weights; `percentage_random` makes two.
fn orders(manner: &JobAccess, op: Op, weight: u32, several: bool) -> Vec<(Order, u32)> {
    let cursor = if several { Cursor::Shared } else { Cursor::Own };
    let random = manner.shares[place(op)];
    let scale = if manner.is_mixed() { 1 } else { 100 };
    [(Order::Random, random), (Order::Sequential(cursor), 100 - random)]
        .into_iter()
        .map(|(order, share)| (order, weight.saturating_mul(share) / scale))
        .filter(|(_, weight)| *weight > 0)
        .collect()
}

impl JobAccess {
    /// Returns true if some I/Os of a direction are random and others are not.
    fn is_mixed(&self) -> bool {
        self.ops.iter().any(|(op, _)| !matches!(self.shares[place(*op)], 0 | 100))
    }
}

/// Returns the alignment of a direction's offsets: `blockalign` of a random job, or the smallest
/// size.
fn alignment(options: &mut SectionOptions<'_>, op: Op, least: u64, random: bool) -> Option<u64> {
    let Some(text) = options.text("ba").filter(|_| random) else { return Some(least) };
    match options.leading_bytes_in("ba", by_direction(text)[place(op)]) {
        Some(0) => Some(least),
        Some(alignment) if alignment % 512 == 0 => Some(alignment),
        _ => {
            options.refuse("ba", "this is not a multiple of 512 B");
            None
        }
    }
}

/// Returns the zones and the distribution of a direction: `random_distribution`.
fn random_distribution(
    options: &mut SectionOptions<'_>,
    op: Op,
) -> Option<(Vec<Zone>, Distribution)> {
    const NAME: &str = "random_distribution";
    let plain = (Vec::new(), Distribution::Uniform);
    let Some(text) = options.text(NAME) else { return Some(plain) };
    let own = by_direction(text)[place(op)];
    let (kind, value) = own.split_once(':').unwrap_or((own, ""));
    match kind {
        "random" => Some(plain),
        "zoned" => {
            let zones = zones_of(value);
            if zones.is_none() {
                options.refuse(NAME, "accesses and spaces must each add up to 100 %");
            }
            Some((zones?, Distribution::Uniform))
        }
        "zipf" | "pareto" | "normal" => {
            // A second value is the center, which fio places at random otherwise.
            let Some(distribution) = Distribution::from_name(kind, value) else {
                options.refuse(
                    NAME,
                    "it needs one value: zipf:THETA of 0.001 to 10, pareto:H of 0.001 to 0.999, \
                     normal:PERCENT of 0.001 to 100; a center is not applied",
                );
                return None;
            };
            options.remark(match distribution {
                Distribution::Normal(_) => {
                    "offsets are normally distributed around the middle of the range; fio \
                     approximates it by a sum of uniform numbers"
                }
                _ => {
                    "every rank has a block of its own, at the same place in every load; fio's \
                     ranks may share a block (its hash is cut to the size)"
                }
            });
            Some((Vec::new(), distribution))
        }
        _ => {
            options.refuse(NAME, "random, zipf, pareto, normal and zoned are applied");
            None
        }
    }
}

/// Parses shares of the I/Os and of the space in percent, such as `60/10:40/`. Missing shares
/// divide the rest.
fn zones_of(list: &str) -> Option<Vec<Zone>> {
    let mut shares = Vec::new();
    for part in list.split(':') {
        let (access, space) = part.split_once('/').unwrap_or((part, ""));
        let percent = |text: &str| match text.trim() {
            "" => Some(None),
            text => text.parse::<u32>().ok().filter(|percent| *percent <= 100).map(Some),
        };
        shares.push((percent(access)?, percent(space)?));
    }
    let accesses = filled(shares.iter().map(|(access, _)| *access).collect())?;
    let spaces = filled(shares.iter().map(|(_, space)| *space).collect())?;
    let mut edge = 0;
    let mut zones = Vec::new();
    for (access, space) in accesses.into_iter().zip(spaces) {
        let from_ppm = edge;
        edge += space * 10_000;
        if space == 0 {
            return None;
        }
        if access > 0 {
            zones.push(Zone { weight: access, from_ppm, to_ppm: edge });
        }
    }
    Some(zones)
}

/// Completes percentages to 100; missing ones divide the rest.
fn filled(percents: Vec<Option<u32>>) -> Option<Vec<u32>> {
    let said: u32 = percents.iter().flatten().sum();
    let open = u32::try_from(percents.iter().filter(|percent| percent.is_none()).count()).ok()?;
    let left = 100u32.checked_sub(said)?;
    if open == 0 {
        return (left == 0).then(|| percents.into_iter().flatten().collect());
    }
    if !left.is_multiple_of(open) {
        return None;
    }
    Some(percents.into_iter().map(|percent| percent.unwrap_or(left / open)).collect())
}

/// Returns the range of a job; `block` is its smallest transfer.
fn extent(options: &mut SectionOptions<'_>, block: u64) -> Extent {
    let align = options.number("offset_align").filter(|align| *align > 0);
    let from = options.amount("offset").unwrap_or_default();
    let filesize = options.amount("filesize");
    let length = filesize.or_else(|| options.amount("size"));
    let length = match length.filter(|length| !is_zero(*length)) {
        // An offset lies within the size of the file.
        Some(Amount::Bytes(size)) if filesize.is_some() => match from {
            Amount::Bytes(from) => Some(Amount::Bytes(Bytes(size.0.saturating_sub(from.0)))),
            Amount::Ppm(_) => Some(Amount::Bytes(size)),
        },
        Some(Amount::Ppm(share)) if share > WHOLE_PPM => {
            options.remark("a size above 100 % is all of the target, as fio does on a device");
            Some(Amount::Ppm(WHOLE_PPM))
        }
        length => length,
    };
    // A share of the target that begins behind its beginning ends with the target.
    let clipped = matches!(length, Some(Amount::Ppm(_)));
    Extent { from, length, clipped, block: Some(Bytes(align.unwrap_or(block))) }
}

/// The whole of the target, in parts per million.
const WHOLE_PPM: u32 = 1_000_000;

/// Transfers of a job as they fit into its size.
struct TransferFit {
    /// Smallest transfer size in bytes.
    least: u64,
    /// True if all transfers have this size.
    are_equal: bool,
    /// True if a random job visits every block once; the map has whole blocks only.
    has_map: bool,
    /// True if the target continues behind the size of the job. A file that fio creates ends there.
    may_pass_size: bool,
}

impl TransferFit {
    /// Returns true if every loop ends with the last of the smallest blocks that fits: in the map,
    /// at the end of the target, or because fio shortens the last I/O of a sequential job of
    /// several sizes.
    fn ends_within_size(&self, manner: &JobAccess) -> bool {
        let passes_size = self.may_pass_size && self.are_equal;
        self.has_map || !(manner.random || passes_size)
    }
}

/// Returns true if the range ends where the target does.
fn ends_target(extent: &Extent, assumed: &TargetFacts<'_>) -> bool {
    let (Amount::Bytes(from), Some(Amount::Bytes(length))) = (extent.from, extent.length) else {
        return assumed.is_new;
    };
    let end = from.0.saturating_add(length.0);
    assumed.is_new || assumed.capacity.is_some_and(|capacity| end >= capacity.0)
}

/// Returns when a job ends. fio completes the I/O in which it reaches an amount.
fn end(
    options: &mut SectionOptions<'_>,
    manner: &JobAccess,
    length: Option<Amount>,
    blocks: &TransferFit,
) -> Option<SequenceEnd> {
    let block = blocks.least;
    let time = options.time("runtime", SECOND).filter(|time| time.0 > 0);
    let loops = u64::from(options.count("loops", u32::MAX).unwrap_or(1));
    match (options.flag("time_based"), time) {
        (true, Some(time)) => return Some(SequenceEnd::time(time)),
        (true, None) => {
            options.remark("time_based without runtime has no effect, as in fio");
        }
        (false, _) => {}
    }
    // fio counts them anew in every loop.
    let ios = options.number("number_ios").filter(|ios| *ios > 0);
    let ios = ios.map(|ios| ios.saturating_mul(loops));
    let both = options.text("filesize").and(options.text("size")).is_some();
    let bytes = match options.text("io_size") {
        Some(_) => options.amount("io_size"),
        // A size beyond the end of the file is cut there.
        None if both => match (options.amount("size"), length) {
            (Some(Amount::Bytes(size)), Some(Amount::Bytes(length))) => {
                Some(Amount::Bytes(size.min(length)))
            }
            (size, _) => size,
        },
        None => None,
    };
    let whole_ios = |bytes: u64| {
        let all = bytes.saturating_mul(loops);
        Some(Amount::Bytes(Bytes(all.checked_next_multiple_of(block).unwrap_or(all))))
    };
    let laps = SequenceEnd { time, ios, laps: Some(loops), ..SequenceEnd::default() };
    let ended_by = |bytes| SequenceEnd { time, ios, bytes, laps: None };
    Some(match (bytes, length) {
        (Some(Amount::Ppm(share)), _) if share > WHOLE_PPM => {
            options.refuse("io_size", "fio takes at most 100 %");
            return None;
        }
        (Some(Amount::Ppm(WHOLE_PPM)), _) => laps,
        (Some(Amount::Ppm(share)), Some(Amount::Bytes(length))) => {
            let part = u128::from(length.0) * u128::from(share) / u128::from(WHOLE_PPM);
            ended_by(whole_ios(u64::try_from(part).unwrap_or(u64::MAX)))
        }
        (Some(Amount::Ppm(share)), Some(Amount::Ppm(length))) if loops == 1 => {
            let part = u64::from(share) * u64::from(length) / u64::from(WHOLE_PPM);
            ended_by(Some(Amount::Ppm(u32::try_from(part).unwrap_or(WHOLE_PPM))))
        }
        (Some(Amount::Ppm(share)), None) if loops == 1 && options.text("offset").is_none() => {
            ended_by(Some(Amount::Ppm(share)))
        }
        (Some(Amount::Ppm(_)), _) => {
            options.refuse("io_size", "this share of the range is not applied; give bytes");
            return None;
        }
        (Some(Amount::Bytes(bytes)), _) => ended_by(whole_ios(bytes.0)),
        (None, Some(Amount::Bytes(length))) => {
            let is_within = blocks.ends_within_size(manner);
            if blocks.are_equal && (is_within || length.0.is_multiple_of(block)) {
                laps
            } else if is_within {
                let all = (length.0 / block * block).saturating_mul(loops);
                ended_by(Some(Amount::Bytes(Bytes(all))))
            } else {
                // The last I/O of all loops passes their sizes.
                ended_by(whole_ios(length.0))
            }
        }
        (None, _) => laps,
    })
}

/// Sets the pace of the load, or returns the pace of each direction.
fn pace(options: &mut SectionOptions<'_>, load: &mut SequenceLoad) -> Vec<(Op, Pace)> {
    let rated = ["rate", "rate_iops"].into_iter().find(|name| {
        let text = options.text(name).unwrap_or_default();
        let is_rated = |op: Op| !matches!(by_direction(text)[place(op)], "" | "0");
        load.streams.iter().any(|stream| is_rated(stream.op))
    });
    let think = options.time("thinktime", MICROSECOND).filter(|time| time.0 > 0);
    let think = think.map(|delay| {
        let ios = u64::from(options.count("thinktime_blocks", u32::MAX).unwrap_or(1));
        (ios, delay)
    });
    let paces = match rated {
        Some(name) => rates(options, name, load).unwrap_or_default(),
        None => Vec::new(),
    };
    if let Some((ios, delay)) = think {
        if !paces.is_empty() {
            options.refuse(
                "thinktime",
                "pauses in a mix of directions that have rates are not applied",
            );
        } else if load.pace == Pace::Closed {
            load.pace = Pace::Burst { ios, delay };
        } else {
            load.pace = rate_with_pauses(options, load.pace, ios, delay);
        }
    }
    paces
}

/// A rate together with pauses. fio makes up for a pause by issuing faster after it, so that
/// the slower one of both decides.
fn rate_with_pauses(
    options: &mut SectionOptions<'_>,
    rate: Pace,
    burst: u64,
    delay: Nanos,
) -> Pace {
    let (Pace::Fixed { ios, per } | Pace::Poisson { ios, per }) = rate else { return rate };
    // Time that the I/Os of a burst take at the rate.
    let at_rate = u128::from(burst) * u128::from(per.0) / u128::from(ios.max(1));
    if options.flag("rate_ignore_thinktime") {
        options.remark(
            "rate_ignore_thinktime: the I/Os between two pauses and the pause together make the \
             rate, and are evenly spaced here",
        );
        let period = u64::try_from(at_rate).unwrap_or(u64::MAX).saturating_add(delay.0);
        return Pace::Fixed { ios: burst, per: Nanos(period) };
    }
    if at_rate <= u128::from(delay.0) {
        options.remark("the pauses hold the load below its rate, which has no effect, as in fio");
        return Pace::Burst { ios: burst, delay };
    }
    options.remark(
        "fio makes up for its pauses and keeps the rate on average; here the I/Os are evenly \
         spaced at that rate",
    );
    rate
}

fn rates(
    options: &mut SectionOptions<'_>,
    name: &str,
    load: &mut SequenceLoad,
) -> Option<Vec<(Op, Pace)>> {
    let text = options.text(name).unwrap_or_default();
    let poisson = match options.text("rate_process") {
        None | Some("linear") => false,
        Some("poisson") => true,
        Some(_) => {
            options.refuse("rate_process", "it is neither linear nor poisson");
            return None;
        }
    };
    let mut paces = Vec::new();
    for op in Op::ALL {
        let own: Vec<&IoStream> = load.streams.iter().filter(|stream| stream.op == op).collect();
        if own.is_empty() {
            continue;
        }
        let said = by_direction(text)[place(op)];
        // An empty place is no limit.
        let rate = if said.is_empty() { Some(0) } else { options.bytes_in(said) };
        let Some(rate) = rate.map(u128::from) else {
            options.refuse(name, "this is not a rate");
            return None;
        };
        if rate == 0 {
            paces.push((op, Pace::Closed));
            continue;
        }
        let weights: u128 = own.iter().map(|stream| u128::from(stream.weight)).sum();
        let bytes: u128 = own.iter().map(|s| u128::from(s.weight) * u128::from(s.size.0)).sum();
        let second = u128::from(SECOND);
        let (ios, per) =
            if name == "rate" { (rate * weights, bytes * second) } else { (rate, second) };
        let Some((ios, per)) = in_words(ios, per) else {
            options.refuse(name, "this rate is beyond what can be counted");
            return None;
        };
        paces.push((
            op,
            if poisson { Pace::Poisson { ios, per } } else { Pace::Fixed { ios, per } },
        ));
    }
    match paces.as_slice() {
        [(_, only)] => {
            load.pace = *only;
            return None;
        }
        _ if load.until != SequenceEnd { time: load.until.time, ..SequenceEnd::default() } => {
            let why = "directions with rates of their own are applied where time alone ends the \
                       job: set time_based and runtime";
            options.refuse(name, why);
        }
        _ => options.remark(
            "each direction has a rate of its own and is applied as a load of its own, with the \
             job's whole iodepth",
        ),
    }
    Some(paces)
}

/// Returns a rate as I/Os per time: per second if that is a whole number.
fn in_words(ios: u128, per: u128) -> Option<(u64, Nanos)> {
    let second = u128::from(SECOND);
    let (ios, per) = if (ios * second).is_multiple_of(per) {
        (ios * second / per, second)
    } else {
        (ios / common(ios, per), per / common(ios, per))
    };
    Some((u64::try_from(ios).ok()?, Nanos(u64::try_from(per).ok()?)))
}

/// The greatest common divisor.
fn common(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { common(b, a % b) }
}

fn pattern(options: &mut SectionOptions<'_>) -> DataPattern {
    if options.flag("zero_buffers") {
        return DataPattern::Zero;
    }
    let zeros = options.percent("buffer_compress_percentage");
    let duplicates = options.percent("dedupe_percentage");
    if let Some(text) = options.text("buffer_pattern") {
        if zeros.is_some_and(|percent| percent > 0) {
            options.refuse("buffer_pattern", "a pattern that is partly random is not applied");
        }
        return match repeated(text) {
            Some(bytes) => DataPattern::Repeating(bytes),
            None => {
                options.refuse("buffer_pattern", "only numbers, 0x... and \"text\" are applied");
                DataPattern::default()
            }
        };
    }
    if zeros.is_some() || duplicates.is_some() {
        let percent = |value: Option<u32>| u8::try_from(value.unwrap_or(0)).unwrap_or(100);
        let (zeros, duplicate_percent) = (percent(zeros), percent(duplicates));
        let random_percent = 100 - zeros.min(100);
        return match (random_percent, duplicate_percent) {
            (100, 0) => DataPattern::RandomUnique,
            _ => DataPattern::Entropy { random_percent, duplicate_percent },
        };
    }
    let refills = options.flag("refill_buffers");
    let scrambles = options.text("scramble_buffers").is_none() || options.flag("scramble_buffers");
    if refills || scrambles { DataPattern::RandomUnique } else { DataPattern::RandomOnce }
}

/// The bytes of `0xdeadbeef`, `"text"` or a number.
fn repeated(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("0x") {
        let even = if hex.len() % 2 == 0 { hex.to_owned() } else { format!("0{hex}") };
        if even.is_empty() || even.len() > 1024 || !even.is_ascii() {
            return None;
        }
        return (0..even.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&even[at..at + 2], 16).ok())
            .collect();
    }
    if let Ok(number) = text.parse::<u32>() {
        // The lowest byte comes first.
        let bytes = number.to_le_bytes();
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        return Some(bytes[..=last].to_vec());
    }
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let odd = ['%', '\'', '"', '\\'];
    (is_plain && !text.is_empty() && text.len() <= 512 && !text.contains(odd))
        .then(|| text.as_bytes().to_vec())
}

/// Adds remarks on differences from fio.
fn remarks(
    options: &mut SectionOptions<'_>,
    manner: &JobAccess,
    load: &SequenceLoad,
    threads: u32,
) {
    let buffered = options.flag("buffered");
    if buffered || !options.flag("direct") {
        options.remark("direct=1 is not set: I/O is direct here, past the page cache");
    }
    let is_lfsr = options.text("random_generator") == Some("lfsr");
    if is_lfsr && manner.random || has_map(options, manner) {
        options.remark(&format!(
            "{}: fio visits every block once before repeating any; here every offset is drawn \
             independently",
            if is_lfsr { "random_generator=lfsr" } else { "norandommap is not set" }
        ));
        let sizes = load.streams.iter().map(|stream| stream.size).collect::<Vec<_>>();
        if sizes.iter().any(|size| *size != sizes[0]) {
            options.remark(
                "transfer sizes are drawn as asked; fio cuts transfers that do not fit its map \
                 of visited blocks, so its shares and sizes differ",
            );
        }
    }
    let is_seeded = options.text("randrepeat").is_none() || options.flag("randrepeat");
    if manner.random && (is_seeded || options.text("randseed").is_some()) {
        options.remark(
            "randrepeat: fio draws the same offsets in every run and every step; here each draws \
             its own, from a seed that is recorded",
        );
    }
    let repeats = options.percent("dedupe_percentage").is_some_and(|percent| percent > 0);
    if repeats && options.text("dedupe_mode").is_some_and(|mode| mode != "repeat") {
        options.remark("dedupe_mode: blocks repeat any earlier one");
    }
    if repeats && load.streams.iter().any(|stream| stream.size != Bytes::kib(4)) {
        options.remark(
            "dedupe_percentage: blocks of 4 KiB repeat earlier ones; in fio whole transfers",
        );
    }
    if manner.is_mixed() {
        options.remark(
            "percentage_random: a sequential I/O continues where the last sequential one ended; \
             in fio where the last I/O ended, random or not",
        );
    }
    let is_random = load.streams.iter().all(|stream| stream.order == Order::Random);
    if !is_random && threads > APART_MAX {
        options.remark(
            "each of fio's jobs goes through the range by itself; here the threads share one \
             position",
        );
    }
    if !options.flag("refill_buffers")
        && load.streams.iter().any(|stream| stream.op == Op::Write)
        && load.data_pattern == Some(DataPattern::RandomUnique)
        && options.text("buffer_compress_percentage").is_none()
    {
        options.remark(
            "fio changes a few bytes of one random buffer for every write; here every sector is \
             random",
        );
    }
}
