//! The load of a section: what one thread does, and how many threads there are.

use super::access::{access, durability};
use super::buffers::data_pattern;
use super::engines::depth;
use super::extent::{extent, is_zero, several_files, split_between_files};
use super::files::FileNames;
use super::job_end::{TransferFit, end, ends_target, steady_state};
use super::latency_target::refuse_latency_target;
use super::offsets::{absolute_zones, has_map};
use super::options::{DEMAND_MAX, SECOND, SectionOptions, TargetFacts};
use super::pace::{OpPace, pace};
use super::remarks::remarks;
use super::streams::streams;
use steadfast_domain::fio_steady_state::FioSteadyState;
use steadfast_domain::sequence::{Amount, SequenceLoad};
use steadfast_domain::stimulus::{Op, Order, Pace};
use steadfast_domain::{Demand, IoStream, Nanos};

/// Highest weight of a job in a flow, as in fio.
const FLOW_MAX: u32 = 1000;

/// Block size of a job that names none, as a table shows it.
const BLOCK_SIZE: &str = "4k";

/// A job: the load of one thread and the number of threads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobLoad {
    /// Load of a single thread.
    pub load: SequenceLoad,
    pub threads: u32,
    pub files: FileNames,
    /// Distance between the starts of two threads.
    pub increment: Option<Amount>,
    /// Time from the start of fio to its first I/O.
    pub pause: Nanos,
    /// Ends it once its rate is steady.
    pub steady: Option<FioSteadyState>,
    /// Names and values that distinguish the job in tables.
    pub dimensions: Vec<(String, String)>,
    /// The pace of each of two directions, where they have their own.
    pub paces: Vec<OpPace>,
    /// Length of the range as given, before it is rounded to blocks.
    pub size: Option<Amount>,
    /// Share of the I/Os of a flow; `None` without one.
    pub flow: Option<JobFlow>,
}

/// Share of a job in the I/Os of all jobs of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobFlow {
    /// Number of the flow, by `flow_id`.
    pub id: u64,
    /// Weight among the jobs of the flow, at least 1.
    pub weight: u32,
}

/// Returns the load of a section. Errors are added to `options`.
pub(super) fn job(options: &mut SectionOptions<'_>, target: &TargetFacts<'_>) -> Option<JobLoad> {
    let access = access(options)?;
    let mut streams = streams(options, &access)?;
    let durability = durability(options)?;
    for stream in streams.iter_mut().filter(|stream| stream.op == Op::Write) {
        stream.durability = durability;
    }
    let depth = depth(options, &streams, target.ioengine);
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
        has_map: has_map(options, &access),
        may_pass_size: files.are_given() && !ends_target(&extent, target),
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
        length.0 = if access.random || blocks.ends_within_size(&access) {
            length.0 / least * least
        } else {
            length.0.checked_next_multiple_of(least).unwrap_or(length.0)
        };
    }
    if files.count() > 1 {
        several_files(options, &access, files.count());
    }
    for op in Op::ALL {
        let is_random = |stream: &&mut IoStream| stream.op == op && stream.order == Order::Random;
        let mut random = streams.iter_mut().filter(is_random).peekable();
        let Some(first) = random.peek() else { continue };
        let alignment = first.alignment();
        let zones = absolute_zones(options, op, alignment, &extent, target);
        let has_one_length = matches!(extent.length, Some(Amount::Bytes(_)));
        if !zones.is_empty() && increment.is_some() && !has_one_length {
            let why = "the zones have sizes in bytes, and each thread's range ends elsewhere: give \
                       size= in bytes";
            options.refuse("offset_increment", why);
        }
        random.for_each(|stream| stream.zones.extend(zones.iter().copied()));
    }
    let end = end(options, &access, size, &blocks);
    let mut load = SequenceLoad {
        extent,
        ramp: options.time("ramp_time", SECOND).unwrap_or(Nanos::ZERO),
        ..SequenceLoad::new(streams, Demand::new(1, depth), end?)
    };
    let paces = pace(options, &mut load);
    if load.alters() {
        load.data_pattern = Some(data_pattern(options));
    }
    if load.pace != Pace::Closed || !paces.is_empty() {
        options.remark(
            "response times of paced I/Os count from when they are due; fio's from their issue",
        );
    }
    remarks(options, &access, &load, threads);
    let pause = options.time("startdelay", SECOND).unwrap_or(Nanos::ZERO);
    let steady = steady_state(options);
    refuse_latency_target(options, &load.streams);
    if options.flag("readonly") && load.alters() {
        options.refuse("readonly", "the job writes; fio refuses it as well");
    }
    let dimensions = dimensions(options, depth, threads);
    let flow = flow(options);
    Some(JobLoad { load, threads, files, increment, pause, steady, dimensions, paces, size, flow })
}

fn flow(options: &mut SectionOptions<'_>) -> Option<JobFlow> {
    let id = options.number("flow_id").unwrap_or(0);
    match options.text("flow")? {
        "0" => None,
        negative if negative.starts_with('-') => {
            let why = "weights below zero are those of earlier versions of fio; give each job its \
                       share of the I/Os, from 1 on";
            options.refuse("flow", why);
            None
        }
        _ => options.count("flow", FLOW_MAX).map(|weight| JobFlow { id, weight }),
    }
}

fn dimensions(options: &SectionOptions<'_>, depth: u32, threads: u32) -> Vec<(String, String)> {
    let given = ["bssplit", "bsrange", "bs"].into_iter().find_map(|name| options.text(name));
    let size = given.unwrap_or(BLOCK_SIZE);
    [
        ("rw", options.text("rw").unwrap_or("read").to_owned()),
        ("bs", size.to_owned()),
        ("iodepth", depth.to_string()),
        ("numjobs", threads.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
