//! One section as a load: streams, place, demand, pace, end, content.

use super::options::Options;
use super::sizes::by_direction;
use steadfast_domain::sequence::{Amount, Extent, SequenceEnd, SequenceLoad};
use steadfast_domain::stimulus::{Cursor, DataPattern, Op, Order, Pace, Zone};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos};

const SECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1000;

/// The most threads and outstanding I/Os of each.
const DEMAND_MAX: u32 = 4096;

/// The block size where a job names none.
const BLOCK_SIZE: &str = "4k";

/// The largest transfer.
const SIZE_MAX: u64 = 1 << 30;

/// A job: what one of its threads does, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    /// What a single thread does.
    pub load: SequenceLoad,
    /// Threads.
    pub threads: u32,
    /// The pause before it.
    pub pause: Nanos,
    /// How tables distinguish it.
    pub dimensions: Vec<(String, String)>,
    /// The pace of each of two directions, where they have their own.
    pub paces: Vec<(Op, Pace)>,
}

/// What a job moves, and where to.
struct Manner {
    /// Each direction with its share of the I/Os in percent.
    ops: Vec<(Op, u32)>,
    random: bool,
    /// Percent of each direction's I/Os that are random, by its place; 100 of a random job.
    shares: [u32; 3],
}

/// The load of a section; what is wrong with it stands in `options`.
pub(super) fn job(options: &mut Options<'_>, assumed_engine: Option<&str>) -> Option<Job> {
    let manner = manner(options)?;
    let streams = streams(options, &manner)?;
    let depth = depth(options, assumed_engine);
    let threads = options.count("numjobs", DEMAND_MAX).unwrap_or(1);
    let (extent, end) = (extent(options), end(options));
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
    let dimensions = dimensions(options, depth, threads);
    Some(Job { load, threads, pause, dimensions, paces })
}

fn dimensions(options: &Options<'_>, depth: u32, threads: u32) -> Vec<(String, String)> {
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

fn manner(options: &mut Options<'_>) -> Option<Manner> {
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
    Some(Manner { ops, random, shares })
}

/// What `percentage_random` leaves of a random job's directions.
fn random_shares(options: &mut Options<'_>) -> Option<[u32; 3]> {
    let Some(text) = options.text("percentage_random") else { return Some([100; 3]) };
    let share = |text: &str| text.trim_end_matches('%').parse().ok().filter(|share| *share <= 100);
    let [reads, writes, discards] = by_direction(text).map(share);
    let shares = reads.zip(writes).zip(discards);
    if shares.is_none() {
        options.refuse("percentage_random", "these are not percents");
    }
    shares.map(|((reads, writes), discards)| [reads, writes, discards])
}

/// Where a direction's value stands among several.
fn place(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard | Op::Flush => 2,
    }
}

/// Percent of a mix that reads: what was said last counts.
fn read_share(options: &mut Options<'_>) -> u32 {
    let reads = options.percent("rwmixread");
    let writes = options.percent("rwmixwrite");
    let later = options.line_of("rwmixwrite") > options.line_of("rwmixread");
    match (reads, writes) {
        (None, None) => 50,
        (Some(_), Some(writes)) if later => 100 - writes,
        (Some(reads), _) => reads,
        (None, Some(writes)) => 100 - writes,
    }
}

/// Sizes of a direction with their shares, which add up to the second value.
type Sizes = (Vec<(u64, u32)>, u32);

fn sizes(options: &mut Options<'_>, op: Op) -> Option<Sizes> {
    let split = options.text("bssplit").map(|text| by_direction(text)[place(op)]);
    if let Some(split) = split.filter(|split| !split.is_empty()) {
        let parsed = parts(split, &|text| options.bytes_in(text));
        if parsed.is_none() {
            options.refuse("bssplit", "this is no list of SIZE/PERCENT with 100 % in all");
        }
        return check_sizes(options, "bssplit", parsed?);
    }
    let range = options.text("bsrange").map(|text| by_direction(text)[place(op)]);
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        let drawn = drawn_sizes(range, &|text| options.bytes_in(text));
        return match drawn {
            Ok(sizes) => check_sizes(options, "bsrange", sizes),
            Err(why) => {
                options.refuse("bsrange", why);
                None
            }
        };
    }
    // `,8k` leaves the reads their preset.
    let text = Some(by_direction(options.text("bs").unwrap_or(BLOCK_SIZE))[place(op)]);
    match options.bytes_in(text.filter(|text| !text.is_empty()).unwrap_or(BLOCK_SIZE)) {
        Some(size) => check_sizes(options, "bs", (vec![(size, 1)], 1)),
        None => {
            options.refuse("bs", "this is not a size");
            None
        }
    }
}

/// The most sizes of a range.
const RANGE_MAX: u64 = 256;

/// `4k-16k`: fio draws each multiple of the smaller size up to the larger one equally often.
fn drawn_sizes(text: &str, value: &dyn Fn(&str) -> Option<u64>) -> Result<Sizes, &'static str> {
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

fn check_sizes(options: &mut Options<'_>, name: &str, sizes: Sizes) -> Option<Sizes> {
    let fits = sizes.0.iter().all(|(size, _)| (512..=SIZE_MAX).contains(size));
    if !fits {
        options.refuse(name, "transfers are of 512 B to 1 GiB");
    }
    fits.then_some(sizes)
}

/// `A/30:B/70`: values with their shares; those without a share divide what is left.
fn parts(text: &str, value: &dyn Fn(&str) -> Option<u64>) -> Option<Sizes> {
    let mut parsed: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        let (first, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(share.parse::<u32>().ok().filter(|share| *share <= 100)?),
        };
        parsed.push((value(first.trim())?, share));
    }
    let said: u32 = parsed.iter().filter_map(|(_, share)| *share).sum();
    let open = u32::try_from(parsed.iter().filter(|(_, share)| share.is_none()).count()).ok()?;
    let left = 100u32.checked_sub(said)?;
    if open == 0 && left > 0 || parsed.len() > 64 {
        return None;
    }
    // So that what is left divides evenly.
    let scale = open.max(1);
    let share = |share: Option<u32>| share.map_or(left, |share| share * scale);
    let all: Vec<(u64, u32)> =
        parsed.into_iter().map(|(v, s)| (v, share(s))).filter(|(_, share)| *share > 0).collect();
    let sum = all.iter().map(|(_, share)| *share).sum();
    (!all.is_empty()).then_some((all, sum))
}

fn streams(options: &mut Options<'_>, manner: &Manner) -> Option<Vec<IoStream>> {
    let each: Option<Vec<(Op, u32, Sizes)>> =
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
        let zones = if manner.random { zones(options, *op)? } else { Vec::new() };
        let others: u32 =
            each.iter().filter(|(o, ..)| o != op).map(|(.., (_, sum))| *sum).product();
        for (size, part) in sizes {
            let own = (alignment != *size).then_some(Bytes(alignment));
            // Every direction's parts add up to its share.
            let weight = share * part * if each.len() > 1 { others } else { 1 };
            for (order, weight) in orders(manner, *op, weight, several) {
                let stream = IoStream::new(*op, order, Bytes(*size)).weighing(weight);
                streams.push(IoStream { alignment: own, zones: zones.clone(), ..stream });
            }
        }
    }
    Some(streams)
}

/// The orders of a direction's I/Os with their weights: `percentage_random` makes two of them.
fn orders(manner: &Manner, op: Op, weight: u32, several: bool) -> Vec<(Order, u32)> {
    let cursor = if several { Cursor::Shared } else { Cursor::Own };
    let random = manner.shares[place(op)];
    let scale = if manner.is_mixed() { 1 } else { 100 };
    [(Order::Random, random), (Order::Sequential(cursor), 100 - random)]
        .into_iter()
        .map(|(order, share)| (order, weight.saturating_mul(share) / scale))
        .filter(|(_, weight)| *weight > 0)
        .collect()
}

impl Manner {
    /// Whether some I/Os of a direction are random and others are not.
    fn is_mixed(&self) -> bool {
        self.ops.iter().any(|(op, _)| !matches!(self.shares[place(*op)], 0 | 100))
    }
}

/// What a direction's offsets are multiples of: in a random job what is said, or its
/// smallest size.
fn alignment(options: &mut Options<'_>, op: Op, least: u64, random: bool) -> Option<u64> {
    let Some(text) = options.text("ba").filter(|_| random) else { return Some(least) };
    match options.bytes_in(by_direction(text)[place(op)]) {
        Some(0) => Some(least),
        Some(alignment) if alignment % 512 == 0 => Some(alignment),
        _ => {
            options.refuse("ba", "this is not a multiple of 512 B");
            None
        }
    }
}

/// The zones of a direction: `random_distribution=zoned:ACCESS/SPACE:...`.
fn zones(options: &mut Options<'_>, op: Op) -> Option<Vec<Zone>> {
    let Some(text) = options.text("random_distribution") else { return Some(Vec::new()) };
    let own = by_direction(text)[place(op)];
    if own == "random" {
        return Some(Vec::new());
    }
    let Some(list) = own.strip_prefix("zoned:") else {
        options.refuse(
            "random_distribution",
            "only random and zoned are applied; zipf, pareto, normal and zoned_abs are not",
        );
        return None;
    };
    let zones = zones_of(list);
    if zones.is_none() {
        options.refuse("random_distribution", "accesses and spaces must each add up to 100 %");
    }
    zones
}

fn zones_of(list: &str) -> Option<Vec<Zone>> {
    let mut edge = 0;
    let mut zones = Vec::new();
    let mut accesses = 0;
    for part in list.split(':') {
        let (access, space) = part.split_once('/')?;
        let (access, space): (u32, u32) = (access.trim().parse().ok()?, space.trim().parse().ok()?);
        if access > 100 || space == 0 || space > 100 {
            return None;
        }
        let from_ppm = edge;
        edge += space * 10_000;
        accesses += access;
        if access > 0 {
            zones.push(Zone { weight: access, from_ppm, to_ppm: edge });
        }
        if edge > 1_000_000 {
            return None;
        }
    }
    (edge == 1_000_000 && accesses == 100).then_some(zones)
}

/// Engines of fio that hand one I/O over and wait for it.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio-sync"];

/// Engines that keep a depth.
const ASYNCHRONOUS: [&str; 7] =
    ["libaio", "io_uring", "posixaio", "windowsaio", "solarisaio", "io_uring_cmd", "spdk"];

fn depth(options: &mut Options<'_>, assumed: Option<&str>) -> u32 {
    let depth = options.count("iodepth", DEMAND_MAX).unwrap_or(1);
    let engine = options.text("ioengine").or(assumed).unwrap_or("psync");
    if engine.starts_with("external:") && engine.contains("spdk") || ASYNCHRONOUS.contains(&engine)
    {
        return depth;
    }
    if !SYNCHRONOUS.contains(&engine) {
        options
            .refuse("ioengine", "this engine moves no data of a block device as it is meant here");
        return depth;
    }
    if depth > 1 {
        let said = options.text("ioengine").is_some();
        let hint = if said { "" } else { "; where fio was given another engine, give --ioengine" };
        options.remark(&format!(
            "iodepth={depth} has no effect with the engine {engine}, which waits for every I/O: \
             depth 1{hint}"
        ));
    }
    1
}

fn extent(options: &mut Options<'_>) -> Extent {
    let from = options.amount("offset").unwrap_or_default();
    let length = options.amount("filesize").or_else(|| options.amount("size"));
    let length = length.filter(|length| *length != Amount::Bytes(Bytes(0)));
    // A share of the target that begins behind its beginning ends with the target.
    let clipped = matches!(length, Some(Amount::Ppm(_)));
    Extent { from, length, clipped }
}

fn end(options: &mut Options<'_>) -> Option<SequenceEnd> {
    let time = options.time("runtime", SECOND).filter(|time| time.0 > 0);
    let loops = options.count("loops", 1_000_000).unwrap_or(1);
    match (options.flag("time_based"), time) {
        (true, Some(time)) => return Some(SequenceEnd::time(time)),
        (true, None) => {
            options.remark("time_based without runtime has no effect, as in fio");
        }
        (false, _) => {}
    }
    let ios = options.number("number_ios").filter(|ios| *ios > 0);
    let both = options.text("filesize").and(options.text("size")).is_some();
    let bytes = match options.text("io_size") {
        Some(_) => options.amount("io_size"),
        None if both => options.amount("size"),
        None => None,
    };
    let (bytes, laps) = match bytes {
        None => (None, Some(u64::from(loops))),
        Some(Amount::Ppm(1_000_000)) => (None, Some(u64::from(loops))),
        Some(Amount::Ppm(_)) => {
            options.refuse("io_size", "a share of the range is not applied; give bytes");
            return None;
        }
        Some(Amount::Bytes(bytes)) => {
            let all = Bytes(bytes.0.saturating_mul(u64::from(loops)));
            (Some(Amount::Bytes(all)), None)
        }
    };
    Some(SequenceEnd { time, bytes, ios, laps })
}

/// Rates and pauses between I/Os: the load's own pace, or that of each direction.
fn pace(options: &mut Options<'_>, load: &mut SequenceLoad) -> Vec<(Op, Pace)> {
    let rated = ["rate", "rate_iops"].into_iter().find(|name| {
        options
            .text(name)
            .is_some_and(|text| text.split(',').any(|v| !matches!(v.trim(), "" | "0")))
    });
    let think = options.time("thinktime", MICROSECOND).filter(|time| time.0 > 0);
    match (rated, think) {
        (None, None) => {}
        (None, Some(delay)) => {
            let ios = u64::from(options.count("thinktime_blocks", u32::MAX).unwrap_or(1));
            load.pace = Pace::Burst { ios, delay };
        }
        (Some(_), Some(_)) => {
            options.refuse("thinktime", "a rate and pauses together are not applied");
        }
        (Some(name), None) => return rates(options, name, load).unwrap_or_default(),
    }
    Vec::new()
}

fn rates(
    options: &mut Options<'_>,
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
        let rate = options.bytes_in(said).filter(|rate| *rate > 0);
        let Some(rate) = rate.map(u128::from) else {
            let why = match said.is_empty() || options.bytes_in(said) == Some(0) {
                true => "every direction of the job needs a rate above 0",
                false => "this is not a rate",
            };
            options.refuse(name, why);
            return None;
        };
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

/// So many I/Os in so many nanoseconds: in a second where they are whole then.
fn in_words(ios: u128, per: u128) -> Option<(u64, Nanos)> {
    let second = u128::from(SECOND);
    let (ios, per) = match (ios * second).is_multiple_of(per) {
        true => (ios * second / per, second),
        false => (ios / common(ios, per), per / common(ios, per)),
    };
    Some((u64::try_from(ios).ok()?, Nanos(u64::try_from(per).ok()?)))
}

/// The greatest common divisor.
fn common(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { common(b, a % b) }
}

fn pattern(options: &mut Options<'_>) -> DataPattern {
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
        let bytes = number.to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
        return Some(bytes[first..].to_vec());
    }
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let odd = ['%', '\'', '"', '\\'];
    (is_plain && !text.is_empty() && text.len() <= 512 && !text.contains(odd))
        .then(|| text.as_bytes().to_vec())
}

/// What is applied otherwise than fio would.
fn remarks(options: &mut Options<'_>, manner: &Manner, load: &SequenceLoad, threads: u32) {
    let buffered = options.flag("buffered");
    if buffered || !options.flag("direct") {
        options.remark("direct=1 is not set: I/O is direct here, past the page cache");
    }
    if manner.random && !options.flag("norandommap") {
        options.remark(
            "norandommap is not set: fio visits every block once before any a second time; here \
             offsets are drawn anew for every I/O",
        );
    }
    if manner.is_mixed() {
        options.remark(
            "percentage_random: a sequential I/O continues where the last sequential one ended; \
             in fio where the last I/O ended, random or not",
        );
    }
    if !manner.random && threads > 1 {
        options.remark(
            "each of fio's jobs goes through the range by itself; here the threads share one \
             position",
        );
    }
    if !options.flag("refill_buffers")
        && load.data_pattern == Some(DataPattern::RandomUnique)
        && options.text("buffer_compress_percentage").is_none()
    {
        options.remark(
            "fio changes a few bytes of one random buffer for every write; here every sector is \
             random",
        );
    }
}
