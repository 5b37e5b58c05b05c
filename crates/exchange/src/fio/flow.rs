//! Jobs that share their I/Os by weight as one load: `flow`, `flow_id`.
//!
//! fio holds jobs of one flow back so that their numbers of I/Os are in the proportion of their
//! weights. Here they are one load, whose I/Os are drawn from the streams of all of them by the
//! same weights.

use super::job::JobLoad;
use super::options::DEMAND_MAX;
use steadfast_domain::sequence::{Amount, Extent, SequenceEnd};
use steadfast_domain::stimulus::{DataPattern, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, SequenceLoad};

/// Largest difference between the share of a job by its number of I/Os and by its flow that comes
/// from rounding the weights to thousandths, in thousandths per job.
const ROUNDING_PER_JOB: u64 = 1;

/// Reason why jobs of a flow are not one load.
pub(super) struct FlowFault {
    /// Index of the job that does not fit.
    pub job: usize,
    /// Difference from the other jobs, and the remedy.
    pub why: String,
}

/// Returns the one load of all jobs of a flow.
pub(super) fn merge_flow(jobs: &[&JobLoad]) -> Result<JobLoad, FlowFault> {
    let Some(first) = jobs.first() else {
        return Err(FlowFault { job: 0, why: "it has no job".to_owned() });
    };
    let length = longest(jobs);
    let data_pattern = jobs.iter().find_map(|job| job.load.data_pattern.clone());
    for (at, job) in jobs.iter().enumerate() {
        if let Some(why) = difference(first, length, data_pattern.as_ref(), job) {
            return Err(FlowFault { job: at, why: why.to_owned() });
        }
    }
    let (until, shares) = end_and_shares(jobs)?;
    let fault = |why: &str| FlowFault { job: 0, why: why.to_owned() };
    let depth: u64 = jobs.iter().map(|job| u64::from(job.load.demand.depth)).sum();
    let depth =
        u32::try_from(depth).ok().filter(|depth| *depth <= DEMAND_MAX).ok_or_else(|| {
            fault(&format!("its jobs have more than {DEMAND_MAX} outstanding I/Os together"))
        })?;
    let streams = weighted_streams(jobs, &shares)
        .ok_or_else(|| fault("the shares of its streams have no common weights"))?;
    let extent = Extent {
        length,
        clipped: jobs.iter().any(|job| job.load.extent.clipped),
        block: common_block(jobs)?,
        ..first.load.extent
    };
    let load = SequenceLoad {
        streams,
        demand: Demand::new(1, depth),
        extent,
        data_pattern,
        until,
        ..first.load.clone()
    };
    let mut dimensions = Vec::new();
    for (at, (name, _)) in first.dimensions.iter().enumerate() {
        let of_jobs = jobs.iter().filter_map(|job| job.dimensions.get(at));
        let mut values: Vec<&str> = of_jobs.map(|(_, value)| value.as_str()).collect();
        values.dedup();
        let value = if name == "iodepth" { depth.to_string() } else { values.join(" + ") };
        dimensions.push((name.clone(), value));
    }
    Ok(JobLoad { load, dimensions, flow: None, ..(*first).clone() })
}

/// Returns what keeps a job from being one load with the first of its flow, whose range has this
/// length and whose writes have this data pattern; `None` if nothing does.
fn difference(
    first: &JobLoad,
    length: Option<Amount>,
    pattern: Option<&DataPattern>,
    job: &JobLoad,
) -> Option<&'static str> {
    let patterns_differ =
        job.load.data_pattern.is_some() && job.load.data_pattern.as_ref() != pattern;
    if job.threads != 1 {
        Some("numjobs: a job of a flow has one thread; give it a higher iodepth instead")
    } else if job.files.count() > 1 {
        Some("filename: a job of a flow has one file")
    } else if job.load.pace != Pace::Closed || !job.paces.is_empty() {
        Some("rate or thinktime: a job of a flow has a share of the I/Os and no pace of its own")
    } else if job.load.extent.from != first.load.extent.from || !fills(job, length) {
        Some("filename, offset or size: all jobs of a flow have the same range of one target")
    } else if job.pause != first.pause || job.load.ramp != first.load.ramp {
        Some("startdelay or ramp_time: all jobs of a flow begin together")
    } else if job.steady != first.steady {
        Some("ss: all jobs of a flow end together")
    } else if patterns_differ {
        Some("the content of its writes differs from that of the other jobs of its flow")
    } else {
        None
    }
}

/// Returns the length of the longest range in bytes, or else that of the first job.
fn longest(jobs: &[&JobLoad]) -> Option<Amount> {
    let bytes = jobs.iter().filter_map(|job| match job.size {
        Some(Amount::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    bytes.max().map(Amount::Bytes).or_else(|| jobs.first()?.size)
}

/// Returns true if the range of a job has this length, less a part that none of its transfers fits.
fn fills(job: &JobLoad, length: Option<Amount>) -> bool {
    match (job.size, length) {
        (Some(Amount::Bytes(own)), Some(Amount::Bytes(length))) => {
            let largest = job.load.streams.iter().map(|stream| stream.size.0).max().unwrap_or(0);
            length == own || length.0.saturating_sub(own.0) < largest
        }
        (own, length) => own == length,
    }
}

/// Returns the end of the load of a flow, and the share of each job: its weight if all jobs end
/// after the same time, or else its number of I/Os, which must be in the proportion of the weights.
fn end_and_shares(jobs: &[&JobLoad]) -> Result<(SequenceEnd, Vec<u64>), FlowFault> {
    let weights: Vec<u64> =
        jobs.iter().map(|job| job.flow.map_or(1, |flow| u64::from(flow.weight))).collect();
    let time = jobs.first().and_then(|job| job.load.until.time);
    let ends_otherwise = |job| FlowFault {
        job,
        why: "all jobs of a flow end together: give all the same runtime with time_based, or each \
              number_ios in proportion to its flow, within its size"
            .to_owned(),
    };
    if let Some(by_time) = time.map(SequenceEnd::time)
        && jobs.first().is_some_and(|job| job.load.until == by_time)
    {
        let other = jobs.iter().position(|job| job.load.until != by_time);
        return other.map_or(Ok((by_time, weights)), |other| Err(ends_otherwise(other)));
    }
    let mut ios = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let own = job.load.until.ios.filter(|_| job.load.until.time == time);
        let own = own.filter(|ios| *ios > 0 && ends_by_ios(job, *ios));
        ios.push(own.ok_or_else(|| ends_otherwise(at))?);
    }
    let [all_ios, all_weights] =
        [&ios, &weights].map(|all| all.iter().map(|one| u128::from(*one)).sum::<u128>());
    let tolerance = (jobs.len() as u128 + 1) * u128::from(ROUNDING_PER_JOB);
    for (at, (ios, weight)) in ios.iter().zip(&weights).enumerate() {
        let by_ios = u128::from(*ios) * all_weights;
        let by_weight = u128::from(*weight) * all_ios;
        if by_ios.abs_diff(by_weight).saturating_mul(1000) > tolerance * all_ios * all_weights {
            return Err(ends_otherwise(at));
        }
    }
    let all = u64::try_from(all_ios).map_err(|_| ends_otherwise(0))?;
    Ok((SequenceEnd { time, ios: Some(all), ..SequenceEnd::default() }, ios))
}

/// Returns true if a job reaches its number of I/Os before any limit of bytes.
fn ends_by_ios(job: &JobLoad, ios: u64) -> bool {
    let largest = job.load.streams.iter().map(|stream| stream.size.0).max().unwrap_or(0);
    let needed = u128::from(ios) * u128::from(largest);
    let within_bytes = match job.load.until.bytes {
        Some(Amount::Bytes(bytes)) => u128::from(bytes.0) >= needed,
        Some(Amount::Ppm(_)) => false,
        None => true,
    };
    let within_laps = match (job.load.until.laps, job.load.extent.length) {
        (Some(laps), Some(Amount::Bytes(length))) => {
            u128::from(length.0) * u128::from(laps) >= needed
        }
        (Some(_), _) => false,
        (None, _) => true,
    };
    within_bytes && within_laps
}

/// Returns the streams of all jobs with the weights of the whole load, in lowest terms; `None` if
/// they exceed 32 bits.
fn weighted_streams(jobs: &[&JobLoad], shares: &[u64]) -> Option<Vec<IoStream>> {
    // A job's streams divide its share by their weights.
    let sum = |job: &JobLoad| job.load.streams.iter().map(|one| u64::from(one.weight)).sum::<u64>();
    let mut common = 1u64;
    for job in jobs {
        let own = sum(job).max(1);
        common = (common / greatest_common_divisor(common, own)).checked_mul(own)?;
    }
    let mut weighted: Vec<(IoStream, u64)> = Vec::new();
    for (job, share) in jobs.iter().zip(shares) {
        let factor = share.checked_mul(common / sum(job).max(1))?;
        for stream in &job.load.streams {
            weighted.push((stream.clone(), factor.checked_mul(u64::from(stream.weight))?));
        }
    }
    let weights = weighted.iter().map(|(_, weight)| *weight);
    let divisor = weights.fold(0, greatest_common_divisor).max(1);
    weighted
        .into_iter()
        .map(|(stream, weight)| Some(stream.with_weight(u32::try_from(weight / divisor).ok()?)))
        .collect()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Returns the unit in which the start of the range counts for all jobs.
fn common_block(jobs: &[&JobLoad]) -> Result<Option<Bytes>, FlowFault> {
    let least = jobs.iter().filter_map(|job| job.load.extent.block).min();
    for (at, job) in jobs.iter().enumerate() {
        let extent = job.load.extent;
        let is_aligned = match (extent.from, extent.block) {
            (Amount::Bytes(from), Some(block)) => from.0.is_multiple_of(block.0.max(1)),
            (Amount::Ppm(0), _) => true,
            (Amount::Ppm(_), _) => extent.block == least,
            (_, None) => true,
        };
        if !is_aligned {
            let why = "offset: it is no multiple of the transfer size of every job of its flow";
            return Err(FlowFault { job: at, why: why.to_owned() });
        }
    }
    Ok(least)
}
