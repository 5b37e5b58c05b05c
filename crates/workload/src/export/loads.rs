//! An applied workload as loads for other tools: one for the whole capture, or one per capture
//! step.

use super::shares::{share_of, share_of_pace};
use crate::replay::applied::ROUNDED_WEIGHTS;
use crate::workload_file::{IoTotals, WorkloadStep};
use std::collections::BTreeMap;
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::load_words::pace_text;
use steadfast_domain::step::mix64;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{AppliedWorkload, Bytes, Demand, IoStream, Nanos, Stimulus};

/// Choices for the loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadChoice {
    /// True for one load per capture step.
    pub by_step: bool,
    /// Demand of a closed loop; `None` for demand and rate as captured.
    pub demand: Option<Demand>,
    /// Time of each load; `None` for the captured time.
    pub time: Option<Nanos>,
    /// Size of the device.
    pub capacity: Bytes,
}

/// A load for another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PortableLoad {
    /// Name of the load.
    pub label: String,
    /// The load, with as many I/Os as captured in the captured time.
    pub stimulus: Stimulus,
}

/// Returns the loads of a workload, and sentences on what they omit. Every stream has its own count
/// and rate; streams below the threshold are not represented by others.
pub fn loads(workload: &AppliedWorkload, choice: &LoadChoice) -> (Vec<PortableLoad>, Vec<String>) {
    let mut lost = Vec::new();
    let (ios, all) = (workload.applied_ios(), workload.captured_ios);
    if ios < all {
        lost.push(format!("{} of {all} I/Os belong to streams that are left out.", all - ios));
    }
    if !workload.stream_ios.is_empty() {
        lost.push(ROUNDED_WEIGHTS.to_owned());
    }
    let own: Vec<AppliedStep> =
        if choice.by_step { workload.steps.clone() } else { whole(workload).into_iter().collect() };
    let begins_late =
        |two: &[AppliedStep]| two[1].began.saturating_sub(two[0].began) > two[0].lasted;
    if workload.steps.windows(2).any(begins_late) {
        lost.push("The pauses between capture steps are left out.".to_owned());
    }
    if !choice.by_step && workload.steps.len() > 1 {
        lost.push("How the workload changes over time is left out (--native keeps it).".to_owned());
    }
    match &workload.arrivals {
        Some(arrivals) if choice.demand.is_none() && arrivals.offered_iops().is_some() => {
            lost.push(
                "The arrivals are those of all I/Os: each stream has its share of their rate."
                    .to_owned(),
            );
            if let Pace::Empirical(_) = arrivals {
                // Streams that are left out leave their share of the rate out.
                let pace = share_of_pace(&arrivals.without_distributions(), ios, all);
                lost.push(format!(
                    "The measured distributions of bursts, gaps and pauses are left out: the I/Os \
                     arrive at {}.",
                    pace_text(&pace).unwrap_or_default()
                ));
            }
        }
        Some(arrivals) => lost.push(format!(
            "The captured arrivals ({}) are left out.",
            pace_text(arrivals).unwrap_or_default()
        )),
        None => {}
    }
    if own.is_empty() && workload.demand.or(choice.demand).is_none() {
        lost.push("The source has no queue depth; one I/O is outstanding.".to_owned());
    }
    let one = |number: u64, step: &AppliedStep| PortableLoad {
        label: if choice.by_step { format!("step {number}") } else { "workload".to_owned() },
        stimulus: load(workload, Some(step), choice).seed(number),
    };
    if own.is_empty() {
        let stimulus = load(workload, None, choice);
        return (vec![PortableLoad { label: "workload".to_owned(), stimulus }], lost);
    }
    ((1..).zip(&own).map(|(number, step)| one(number, step)).collect(), lost)
}

/// Returns each stream of a load as a separate load, with its share of the I/Os, of the rate and of
/// the outstanding I/Os, of which it has at least one.
pub fn own_loads(load: &Stimulus) -> Vec<Stimulus> {
    let all: u64 = load.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let own = |(place, stream): (u64, &IoStream)| {
        let weight = u64::from(stream.weight);
        let outstanding = load.demand.outstanding().min(DEPTH_MAX);
        let depth = (outstanding * weight + all / 2) / all.max(1);
        let pace = share_of_pace(&load.pace, weight, all);
        let ios = load.until.ios.map(|ios| share_of(ios, weight, all));
        let until = LoadLimits { ios, ..load.until };
        Stimulus {
            streams: vec![stream.clone()],
            demand: Demand::new(1, depth.clamp(1, DEPTH_MAX) as u32),
            pace,
            until,
            // Streams of equal transfer size must not draw the same addresses.
            seed: mix64(load.seed ^ mix64(place)),
            ..load.clone()
        }
    };
    (1..).zip(&load.streams).map(own).collect()
}

/// Maximum number of outstanding I/Os of a stream.
const DEPTH_MAX: u64 = 1024;

fn load(workload: &AppliedWorkload, step: Option<&AppliedStep>, choice: &LoadChoice) -> Stimulus {
    let streams = step.map_or_else(|| workload.streams.clone(), |step| workload.streams_of(step));
    let ios = match step {
        Some(step) => step.streams.iter().map(|(_, ios)| *ios).fold(0, u64::saturating_add),
        None => workload.applied_ios(),
    };
    let own = match step {
        Some(step) => (step.demand, step.pace.clone()),
        None => (workload.demand.unwrap_or(Demand::new(1, 1)), Pace::Closed),
    };
    let (demand, pace) = match (choice.demand, &workload.arrivals) {
        (Some(demand), _) => (demand, Pace::Closed),
        (None, Some(arrivals)) if arrivals.offered_iops().is_some() => {
            (own.0, arrivals.without_distributions())
        }
        (None, _) => own,
    };
    let pace = match (pace, step.map(|step| step.lasted)) {
        (Pace::Fixed { .. }, Some(per)) => Pace::Fixed { ios, per },
        (Pace::Poisson { .. }, Some(per)) => Pace::Poisson { ios, per },
        (pace, _) => share_of_pace(&pace, ios, workload.captured_ios),
    };
    let until = match choice.time {
        Some(time) => LoadLimits::time(time),
        None => LoadLimits { ios: Some(ios), time: step.map(|step| step.lasted), bytes: None },
    };
    let range = ActiveRange::new(Bytes(0), choice.capacity);
    let pattern = step.and_then(|step| step.data_pattern.clone());
    Stimulus::new(streams, range, demand, until)
        .pace(pace)
        .data_pattern(pattern.unwrap_or_else(|| workload.data_pattern.clone()))
        .seed(1)
}

/// Returns all capture steps as one; `None` without steps. Its demand follows the rule of a step.
fn whole(workload: &AppliedWorkload) -> Option<AppliedStep> {
    let first = workload.steps.first()?;
    let steps = &workload.steps;
    let sum = |of: fn(&AppliedStep) -> u64| steps.iter().map(of).fold(0, u64::saturating_add);
    let lasted = Nanos(sum(|step| step.lasted.0));
    let outstanding = |step: &AppliedStep| Some(step.outstanding_mean? * step.lasted.as_secs_f64());
    let all: Option<f64> = steps.iter().map(outstanding).sum();
    let mean = all.map(|all| all / lasted.as_secs_f64());
    let most = steps.iter().filter_map(|step| step.outstanding_max).max();
    let mut streams: BTreeMap<usize, u64> = BTreeMap::new();
    for (place, ios) in steps.iter().flat_map(|step| &step.streams) {
        let sum = streams.entry(*place).or_default();
        *sum = sum.saturating_add(*ios);
    }
    let captured_ios = sum(|step| step.captured_ios);
    let captured_bytes = Bytes(sum(|step| step.captured_bytes.0));
    let depth = steps.iter().map(|step| step.demand.depth).max();
    let rule = WorkloadStep {
        lasts: lasted,
        captured: Some(IoTotals { ios: captured_ios, bytes: captured_bytes }),
        outstanding_mean: mean,
        outstanding_max: most.or(depth),
        ..WorkloadStep::default()
    };
    Some(AppliedStep {
        lasted,
        streams: streams.into_iter().collect(),
        demand: rule.demand(),
        pace: rule.pace(),
        captured_ios,
        captured_bytes,
        outstanding_mean: mean,
        outstanding_max: most,
        data_pattern: None,
        ..first.clone()
    })
}
