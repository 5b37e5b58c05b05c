//! An applied workload as loads for other tools: one for the whole capture, or one per capture
//! step.

use super::shares::{share_of, share_of_pace};
use crate::replay::applied::ROUNDED_WEIGHTS;
use crate::workload_file::{IoTotals, WorkloadStep};
use std::collections::BTreeMap;
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::load_words::pace_text;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{AppliedWorkload, Bytes, Demand, IoStream, Nanos, Stimulus};

/// Options for the exported loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadOptions {
    /// True for one load per capture step.
    pub by_step: bool,
    /// Demand of a closed loop; `None` for demand and rate as captured.
    pub demand: Option<Demand>,
    /// Duration of each load; `None` for the captured duration.
    pub time: Option<Nanos>,
    /// Size of the device.
    pub capacity: Bytes,
    /// True if the format gives each stream a load of its own ([`loads_by_stream`]), which can then keep
    /// the stream's own arrivals.
    pub has_load_per_stream: bool,
}

/// A load for another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PortableLoad {
    /// Name of the load.
    pub label: String,
    /// The load. It ends after the captured I/Os or the captured duration, whichever comes first, unless
    /// [`LoadOptions::time`] is set.
    pub stimulus: Stimulus,
}

/// Returns the loads of a workload, and sentences on what they omit. Every stream has its own count
/// and rate; I/Os of streams below the threshold are dropped, not added to other streams.
pub fn loads(
    workload: &AppliedWorkload,
    options: &LoadOptions,
) -> (Vec<PortableLoad>, Vec<String>) {
    let mut lost = Vec::new();
    let (ios, all) = (workload.applied_ios(), workload.captured_ios);
    if ios < all {
        lost.push(format!("{} of {all} I/Os belong to streams that are left out.", all - ios));
    }
    if !workload.stream_ios.is_empty() {
        lost.push(ROUNDED_WEIGHTS.to_owned());
    }
    let steps: Vec<AppliedStep> = if options.by_step {
        workload.steps.clone()
    } else {
        join_steps(workload).into_iter().collect()
    };
    let has_pause =
        |pair: &[AppliedStep]| pair[1].began.saturating_sub(pair[0].began) > pair[0].lasted;
    if workload.steps.windows(2).any(has_pause) {
        lost.push("The pauses between capture steps are left out.".to_owned());
    }
    if !options.by_step && workload.steps.len() > 1 {
        lost.push("How the workload changes over time is left out (--native keeps it).".to_owned());
    }
    lost.extend(lost_arrivals(workload, options));
    let arrivals = exported_arrivals(workload, options);
    let is_scheduled = arrivals.is_some_and(|arrivals| arrivals.offered_iops().is_some());
    if steps.is_empty() && !is_scheduled && workload.demand.or(options.demand).is_none() {
        lost.push(
            "The source does not record a queue depth; one I/O is kept outstanding.".to_owned(),
        );
    }
    if steps.is_empty() {
        let stimulus = load(workload, None, options);
        return (vec![PortableLoad { label: "workload".to_owned(), stimulus }], lost);
    }
    let loads = (1..).zip(&steps).map(|(number, step)| PortableLoad {
        label: if options.by_step { format!("step {number}") } else { "workload".to_owned() },
        stimulus: load(workload, Some(step), options).seed(number),
    });
    (loads.collect(), lost)
}

/// Returns the arrivals to export; `None` if a demand is set, which makes a closed loop, and for bursts
/// in loads by step, because a burst has no rate that could be scaled to a step.
fn exported_arrivals<'w>(workload: &'w AppliedWorkload, options: &LoadOptions) -> Option<&'w Pace> {
    let arrivals = workload.arrivals.as_ref().filter(|_| options.demand.is_none());
    arrivals.filter(|arrivals| !options.by_step || arrivals.offered_iops().is_some())
}

/// Returns true if each stream has arrivals of its own in the loads.
fn has_stream_arrivals(workload: &AppliedWorkload, options: &LoadOptions) -> bool {
    let arrivals = exported_arrivals(workload, options);
    options.has_load_per_stream
        && !workload.stream_arrivals.is_empty()
        && arrivals.is_some_and(|arrivals| arrivals.offered_iops().is_some())
}

/// Returns sentences on what the loads omit of the arrivals.
fn lost_arrivals(workload: &AppliedWorkload, options: &LoadOptions) -> Vec<String> {
    let Some(captured) = &workload.arrivals else { return Vec::new() };
    let Some(arrivals) = exported_arrivals(workload, options) else {
        let captured = pace_text(captured).unwrap_or_default();
        return vec![format!("The captured arrivals ({captured}) are left out.")];
    };
    let mut lost = Vec::new();
    if has_stream_arrivals(workload, options) {
        lost.push("The arrivals of each stream are independent of those of the others.".to_owned());
        let is_empirical = |(_, pace): &(usize, Pace)| matches!(pace, Pace::Empirical(_));
        if workload.stream_arrivals.iter().any(is_empirical) {
            lost.push(
                "The measured distributions of bursts, gaps and pauses are left out: the I/Os of a \
                 stream that had them arrive at its average rate, at random or evenly spaced."
                    .to_owned(),
            );
        }
        return lost;
    }
    let instead = if workload.stream_arrivals.is_empty() { "" } else { ", not its own arrivals" };
    lost.push(match arrivals {
        Pace::Burst { .. } => {
            format!("The bursts are those of all I/Os: each stream has its share{instead}.")
        }
        _ => format!(
            "The arrivals are those of all I/Os: each stream has its share of their rate{instead}."
        ),
    });
    if let Pace::Empirical(_) = arrivals {
        // The rate excludes the share of omitted streams.
        let (ios, all) = (workload.applied_ios(), workload.captured_ios);
        let pace = share_of_pace(&arrivals.without_distributions(), ios, all);
        lost.push(format!(
            "The measured distributions of bursts, gaps and pauses are left out: the I/Os arrive at \
             {}.",
            pace_text(&pace).unwrap_or_default()
        ));
    }
    lost
}

/// Returns each stream of a load as a separate load, with its share of the I/Os, of the rate or
/// burst, and of the outstanding I/Os (at least one). If the load has a rate, each stream may
/// have as many I/Os outstanding as the whole load.
pub fn loads_by_stream(load: &Stimulus) -> Vec<Stimulus> {
    let all: u64 = load.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let stream_load = |(number, stream): (u64, &IoStream)| {
        let weight = u64::from(stream.weight);
        let rounded_share = |count: u64| (count * weight + all / 2) / all.max(1);
        let outstanding = load.demand.outstanding().min(DEPTH_MAX);
        let depth = if load.pace.offered_iops().is_some() {
            outstanding
        } else {
            rounded_share(outstanding)
        };
        let pace = match &load.pace {
            Pace::ByStream(paces) => paces[number as usize - 1].clone(),
            Pace::Burst { ios, delay } => {
                Pace::Burst { ios: rounded_share((*ios).min(BURST_MAX)).max(1), delay: *delay }
            }
            pace => share_of_pace(pace, weight, all),
        };
        let ios = load.until.ios.map(|ios| share_of(ios, weight, all));
        let until = LoadLimits { ios, ..load.until };
        Stimulus {
            streams: vec![stream.clone()],
            demand: Demand::new(1, depth.clamp(1, DEPTH_MAX) as u32),
            pace,
            until,
            // Streams of equal transfer size must not draw the same addresses.
            seed: mix64(load.seed ^ mix64(number)),
            ..load.clone()
        }
    };
    (1..).zip(&load.streams).map(stream_load).collect()
}

/// Maximum number of outstanding I/Os of a stream.
const DEPTH_MAX: u64 = 1024;

/// Maximum number of I/Os of a burst.
const BURST_MAX: u64 = u32::MAX as u64;

/// Returns the load of a step, or of the whole workload.
fn load(workload: &AppliedWorkload, step: Option<&AppliedStep>, options: &LoadOptions) -> Stimulus {
    let ios = match step {
        Some(step) => step.streams.iter().map(|(_, ios)| *ios).fold(0, u64::saturating_add),
        None => workload.applied_ios(),
    };
    let (captured_demand, captured_pace) = match step {
        Some(step) => (step.demand, step.pace.clone()),
        None => (workload.demand.unwrap_or(Demand::new(1, 1)), Pace::Closed),
    };
    let (demand, pace) = match (options.demand, exported_arrivals(workload, options)) {
        (Some(demand), _) => (demand, Pace::Closed),
        (None, Some(bursts @ Pace::Burst { .. })) => (captured_demand, bursts.clone()),
        // Do not limit the depth to the captured one: I/Os would then wait for one another.
        (None, Some(arrivals)) => (Demand::SCHEDULED, arrivals.without_distributions()),
        (None, None) => (captured_demand, captured_pace),
    };
    let pace = match (pace, step.filter(|_| options.by_step).map(|step| step.lasted)) {
        (Pace::Fixed { .. }, Some(per)) => Pace::Fixed { ios, per },
        (Pace::Poisson { .. }, Some(per)) => Pace::Poisson { ios, per },
        (pace, _) => share_of_pace(&pace, ios, workload.captured_ios),
    };
    let pace = if has_stream_arrivals(workload, options) {
        stream_paces(workload, step, pace.offered_iops().unwrap_or_default())
    } else {
        pace
    };
    let until = match options.time {
        Some(time) => LoadLimits::time(time),
        None => LoadLimits { ios: Some(ios), time: step.map(|step| step.lasted), bytes: None },
    };
    let range = ActiveRange::new(Bytes(0), options.capacity);
    let pattern = step.and_then(|step| step.data_pattern.clone());
    Stimulus::new(streams_of(workload, step), range, demand, until)
        .pace(pace)
        .data_pattern(pattern.unwrap_or_else(|| workload.data_pattern.clone()))
        .seed(1)
}

/// Returns the applied streams of a step, or of the whole workload.
fn streams_of(workload: &AppliedWorkload, step: Option<&AppliedStep>) -> Vec<IoStream> {
    step.map_or_else(|| workload.streams.clone(), |step| workload.streams_of(step))
}

/// Returns the arrivals of each stream at its share of a rate.
fn stream_paces(workload: &AppliedWorkload, step: Option<&AppliedStep>, iops: f64) -> Pace {
    let indices: Vec<usize> = match step {
        Some(step) => step.streams.iter().map(|(index, _)| *index).collect(),
        None => (0..workload.streams.len()).collect(),
    };
    let streams = streams_of(workload, step);
    let all: f64 = streams.iter().map(|stream| f64::from(stream.weight)).sum();
    let own_pace = |index: &usize| {
        let mut arrivals = workload.stream_arrivals.iter();
        arrivals.find(|(other, _)| other == index).map(|(_, pace)| pace.without_distributions())
    };
    let paces: Vec<Option<Pace>> = indices.iter().map(own_pace).collect();
    let weighted = paces.iter().zip(&streams).map(|(pace, stream)| (pace.as_ref(), stream.weight));
    Pace::by_stream(weighted, iops / all.max(1.0))
}

/// Returns all capture steps as one; `None` without steps. Demand and pace are derived as for a single
/// step.
fn join_steps(workload: &AppliedWorkload) -> Option<AppliedStep> {
    let first = workload.steps.first()?;
    let steps = &workload.steps;
    let sum = |of: fn(&AppliedStep) -> u64| steps.iter().map(of).fold(0, u64::saturating_add);
    let lasted = Nanos(sum(|step| step.lasted.0));
    let io_seconds = |step: &AppliedStep| Some(step.outstanding_mean? * step.lasted.as_secs_f64());
    let total: Option<f64> = steps.iter().map(io_seconds).sum();
    let outstanding_mean = total.map(|total| total / lasted.as_secs_f64());
    let outstanding_max = steps.iter().filter_map(|step| step.outstanding_max).max();
    let mut streams: BTreeMap<usize, u64> = BTreeMap::new();
    for (index, ios) in steps.iter().flat_map(|step| &step.streams) {
        let sum = streams.entry(*index).or_default();
        *sum = sum.saturating_add(*ios);
    }
    let captured_ios = sum(|step| step.captured_ios);
    let captured_bytes = Bytes(sum(|step| step.captured_bytes.0));
    let depth = steps.iter().map(|step| step.demand.depth).max();
    let joined = WorkloadStep {
        lasts: lasted,
        captured: Some(IoTotals { ios: captured_ios, bytes: captured_bytes }),
        outstanding_mean,
        outstanding_max: outstanding_max.or(depth),
        ..WorkloadStep::default()
    };
    Some(AppliedStep {
        lasted,
        streams: streams.into_iter().collect(),
        demand: joined.demand(),
        pace: joined.pace(),
        captured_ios,
        captured_bytes,
        outstanding_mean,
        outstanding_max,
        data_pattern: None,
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::{Op, Order};

    const IOPS: Pace = Pace::Poisson { ios: 1000, per: Nanos::SECOND };

    fn options(has_load_per_stream: bool, demand: Option<Demand>) -> LoadOptions {
        LoadOptions {
            by_step: false,
            demand,
            time: None,
            capacity: Bytes::gib(1),
            has_load_per_stream,
        }
    }

    /// 3 reads to 1 write; half of the I/Os belong to streams that are not applied.
    fn workload(arrivals: Pace, of_reads: Option<Pace>) -> AppliedWorkload {
        let stream =
            |op, weight| IoStream::new(op, Order::Random, Bytes::kib(4)).with_weight(weight);
        AppliedWorkload {
            streams: vec![stream(Op::Read, 7500), stream(Op::Write, 2500)],
            captured_ios: 20_000,
            demand: Some(Demand::new(2, 4)),
            arrivals: Some(arrivals),
            stream_arrivals: of_reads.into_iter().map(|pace| (0, pace)).collect(),
            ..AppliedWorkload::default()
        }
    }

    /// Kind and rate of the arrivals of each stream, and its outstanding I/Os.
    fn streams(workload: &AppliedWorkload, options: LoadOptions) -> Vec<(&'static str, f64, u64)> {
        let (loads, _) = loads(workload, &options);
        let figures = |load: Stimulus| {
            let kind = match load.pace {
                Pace::Closed => "closed",
                Pace::Fixed { .. } => "fixed",
                Pace::Poisson { .. } => "poisson",
                _ => "other",
            };
            (kind, load.pace.offered_iops().unwrap_or(0.0), load.demand.outstanding())
        };
        loads_by_stream(&loads[0].stimulus).into_iter().map(figures).collect()
    }

    #[test]
    fn a_stream_has_its_own_arrivals_if_each_is_a_separate_load() {
        let even = Pace::Fixed { ios: 9, per: Nanos::SECOND };
        let own = workload(IOPS, Some(even));
        let apart = [("fixed", 375.0, 256), ("poisson", 125.0, 256)];
        assert_eq!(streams(&own, options(true, None)), apart);
        let together = [("poisson", 375.0, 256), ("poisson", 125.0, 256)];
        assert_eq!(streams(&own, options(false, None)), together);
        assert_eq!(streams(&workload(IOPS, None), options(true, None)), together);
        let closed = [("closed", 0.0, 6), ("closed", 0.0, 2)];
        assert_eq!(streams(&own, options(true, Some(Demand::new(1, 8)))), closed);
        let lost =
            |has_load_per_stream| loads(&own, &options(has_load_per_stream, None)).1.join(" ");
        assert!(lost(true).contains("independent") && !lost(true).contains("share of their rate"));
        assert!(lost(false).contains("share of their rate, not its own"), "{}", lost(false));
    }

    #[test]
    fn streams_share_bursts() {
        let bursts = |ios| Pace::Burst { ios, delay: Nanos::from_millis(50) };
        let (loads, lost) = loads(&workload(bursts(32), None), &options(true, None));
        let load = &loads[0].stimulus;
        assert_eq!((&load.pace, load.demand), (&bursts(32), Demand::new(2, 4)));
        let own = loads_by_stream(load).into_iter().map(|load| load.pace);
        assert_eq!(own.collect::<Vec<_>>(), [bursts(24), bursts(8)]);
        assert!(lost.iter().any(|text| text.contains("bursts are those of all I/Os")), "{lost:?}");
    }
}
