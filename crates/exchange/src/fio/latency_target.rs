//! `latency_target`, `latency_percentile`: fio's search for the depth at which a closed loop meets a
//! response time. Here `run load-curve` searches for the offered rate that meets it.

use super::options::{MICROSECOND, SectionOptions};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::service_level::ServiceLevel;
use steadfast_domain::{IoStream, Op};

/// Percentile that replaces fio's default, the longest response time: a load curve shows it within
/// a minute.
const HIGHEST_PERCENT: f64 = 99.99;

/// Refuses a job with a `latency_target`, and names the command that searches for its rate.
pub(super) fn refuse_latency_target(options: &mut SectionOptions<'_>, streams: &[IoStream]) {
    const NAME: &str = "latency_target";
    let Some(limit) = options.time(NAME, MICROSECOND).filter(|limit| limit.0 > 0) else { return };
    let percent = match options.text("latency_percentile").map(str::parse::<f64>) {
        None => 100.0,
        Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => percent,
        Some(_) => return options.refuse("latency_percentile", "this is not a percentage"),
    };
    let level = ServiceLevel { percent: percent.clamp(1.0, HIGHEST_PERCENT), limit };
    let pattern = pattern_of(streams)
        .map_or_else(|| "PATTERN".to_owned(), |pattern| format!("\"{pattern}\""));
    let why = format!(
        "a depth that follows a response time is not supported; find the highest rate that meets it \
         with: steadfast run load-curve --workload {pattern} --slo {level} --target TARGET"
    );
    options.refuse(NAME, &why);
}

/// Returns the access pattern of a job; `None` if its streams are not one pattern.
fn pattern_of(streams: &[IoStream]) -> Option<AccessPattern> {
    let first = streams.first()?;
    let weight = |op: Op| -> u64 {
        streams.iter().filter(|one| one.op == op).map(|one| u64::from(one.weight)).sum()
    };
    let all: u64 = streams.iter().map(|one| u64::from(one.weight)).sum();
    let reads = weight(Op::Read) * 100;
    if all == 0 || !reads.is_multiple_of(all) {
        return None;
    }
    let writes = streams.iter().find(|one| one.op == Op::Write);
    let pattern = AccessPattern {
        order: first.order,
        size: first.size,
        read_percent: u8::try_from(reads / all).ok()?,
        distribution: first.distribution,
        durability: writes.map(|one| one.durability).unwrap_or_default(),
    };
    let same = |own: &IoStream, other: &IoStream| {
        IoStream { weight: 1, ..own.clone() } == IoStream { weight: 1, ..other.clone() }
    };
    let expected = pattern.streams();
    let is_pattern = expected.len() == streams.len()
        && expected.iter().zip(streams).all(|(own, other)| same(own, other));
    is_pattern.then_some(pattern)
}
