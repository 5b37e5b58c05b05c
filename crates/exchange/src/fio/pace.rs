//! The pace of a job: `rate`, `rate_iops`, `rate_process`, `thinktime`.

use super::access::direction_index;
use super::options::{MICROSECOND, SECOND, SectionOptions};
use super::sizes::by_direction;
use steadfast_domain::sequence::{SequenceEnd, SequenceLoad};
use steadfast_domain::stimulus::{Op, Pace};
use steadfast_domain::{IoStream, Nanos};

/// The pace of one direction of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpPace {
    pub op: Op,
    pub pace: Pace,
}

/// Sets the pace of the load, or returns the pace of each direction.
pub(super) fn pace(options: &mut SectionOptions<'_>, load: &mut SequenceLoad) -> Vec<OpPace> {
    let rated = ["rate", "rate_iops"].into_iter().find(|name| {
        let text = options.text(name).unwrap_or_default();
        let is_rated = |op: Op| !matches!(by_direction(text)[direction_index(op)], "" | "0");
        load.streams.iter().any(|stream| is_rated(stream.op))
    });
    let think_time = options.time("thinktime", MICROSECOND).filter(|time| time.0 > 0);
    let blocks = think_time.and_then(|_| options.count("thinktime_blocks", u32::MAX));
    let mut paces = rated.and_then(|name| rates(options, name, load)).unwrap_or_default();
    if let [only] = paces.as_slice() {
        load.pace = only.pace.clone();
        paces.clear();
    }
    if let Some(delay) = think_time {
        let ios = u64::from(blocks.unwrap_or(1));
        if !paces.is_empty() {
            options.refuse(
                "thinktime",
                "pauses in a mix of directions that have rates are not supported",
            );
        } else if load.pace == Pace::Closed {
            load.pace = Pace::Burst { ios, delay };
        } else {
            load.pace = rate_with_pauses(options, load.pace.clone(), ios, delay);
        }
    }
    paces
}

/// Returns the pace of a rate with pauses. fio makes up for a pause by issuing faster after it, so
/// that the slower of the two decides.
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

/// Returns the pace of each direction with I/Os; `None` if an error was added to `options`.
fn rates(options: &mut SectionOptions<'_>, name: &str, load: &SequenceLoad) -> Option<Vec<OpPace>> {
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
        let own_rate = by_direction(text)[direction_index(op)];
        // An empty value is no limit.
        let rate = if own_rate.is_empty() { Some(0) } else { options.bytes_in(own_rate) };
        let Some(rate) = rate.map(u128::from) else {
            options.refuse(name, "this is not a rate");
            return None;
        };
        if rate == 0 {
            paces.push(OpPace { op, pace: Pace::Closed });
            continue;
        }
        let weights: u128 = own.iter().map(|stream| u128::from(stream.weight)).sum();
        let bytes: u128 = own.iter().map(|s| u128::from(s.weight) * u128::from(s.size.0)).sum();
        let second = u128::from(SECOND);
        let (ios, per) =
            if name == "rate" { (rate * weights, bytes * second) } else { (rate, second) };
        let Some((ios, per)) = whole_rate(ios, per) else {
            options.refuse(name, "this rate is beyond what can be counted");
            return None;
        };
        let pace = if poisson { Pace::Poisson { ios, per } } else { Pace::Fixed { ios, per } };
        paces.push(OpPace { op, pace });
    }
    if paces.len() > 1 {
        if load.until == (SequenceEnd { time: load.until.time, ..SequenceEnd::default() }) {
            options.remark(
                "each direction has a rate of its own and is applied as a load of its own, with \
                 the job's whole iodepth",
            );
        } else {
            let why = "directions with rates of their own are applied where time alone ends the \
                       job: set time_based and runtime";
            options.refuse(name, why);
        }
    }
    Some(paces)
}

/// Returns a rate as I/Os per time: per second if that is a whole number.
fn whole_rate(ios: u128, per: u128) -> Option<(u64, Nanos)> {
    let second = u128::from(SECOND);
    let (ios, per) = if (ios * second).is_multiple_of(per) {
        (ios * second / per, second)
    } else {
        let divisor = greatest_common_divisor(ios, per);
        (ios / divisor, per / divisor)
    };
    Some((u64::try_from(ios).ok()?, Nanos(u64::try_from(per).ok()?)))
}

/// Returns the greatest common divisor of two numbers; 1 if both are 0.
fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}
