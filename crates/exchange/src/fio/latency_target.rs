//! `latency_target`, `latency_window`, `latency_percentile`: fio's search for the depth at which a
//! closed loop meets a response time. Here `run load-curve` searches for the offered rate that meets
//! it: another procedure, with purge and preconditioning, so that a job does not become one
//! silently.

use super::options::{MICROSECOND, SectionOptions};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::service_level::ServiceLevel;
use steadfast_domain::{IoStream, Nanos, Op};

/// Percentile that replaces the longest response time, fio's default: a load curve shows it within
/// a minute.
const INSTEAD_OF_LONGEST: f64 = 99.99;

/// Lowest percentile of a service level.
const LOWEST_PERCENT: f64 = 1.0;

/// Refuses a job with a `latency_target`. Names the command that searches for its rate, and
/// everything in which that search differs from fio's.
pub(super) fn refuse_latency_target(options: &mut SectionOptions<'_>, streams: &[IoStream]) {
    const NAME: &str = "latency_target";
    let Some(limit) = options.time(NAME, MICROSECOND).filter(|limit| limit.0 > 0) else { return };
    let percent = match options.text("latency_percentile").map(str::parse::<f64>) {
        None => 100.0,
        Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => percent,
        Some(_) => return options.refuse("latency_percentile", "this is not a percentage"),
    };
    let mut differences = vec![
        "a rate of random arrivals is searched for, not a depth".to_owned(),
        "times count from when an I/O is due".to_owned(),
        "it purges and preconditions first (--purge none --set preconditioning=none do not)"
            .to_owned(),
    ];
    let (level, difference) = service_level(percent, limit);
    differences.extend(difference);
    if options.text("latency_window").is_some() {
        differences.push("latency_window is not used: all of a rate's time counts".to_owned());
    }
    let pattern = pattern_of(streams)
        .map_or_else(|| "PATTERN".to_owned(), |pattern| format!("\"{pattern}\""));
    let why = format!(
        "not supported; type: steadfast run load-curve --workload {pattern} --slo {level} --target \
         TARGET; it differs: {}",
        differences.join("; ")
    );
    options.refuse(NAME, &why);
}

/// Returns the service level for one of fio's percentages, and the difference in words if a service
/// level cannot have that percentage.
fn service_level(percent: f64, limit: Nanos) -> (ServiceLevel, Option<String>) {
    let exact = ServiceLevel { percent, limit };
    if exact.to_string().parse() == Ok(exact) {
        return (exact, None);
    }
    let possible = if percent < LOWEST_PERCENT { LOWEST_PERCENT } else { INSTEAD_OF_LONGEST };
    let default = if percent == 100.0 { " (its default)" } else { "" };
    let difference = format!("{possible} % in place of fio's {percent} %{default}");
    (ServiceLevel { percent: possible, limit }, Some(difference))
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
    let without_weight = |stream: &IoStream| IoStream { weight: 1, ..stream.clone() };
    let expected = pattern.streams();
    let is_pattern = expected.iter().map(without_weight).eq(streams.iter().map(without_weight));
    is_pattern.then_some(pattern)
}
