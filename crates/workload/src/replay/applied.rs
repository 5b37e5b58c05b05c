//! Converts capture steps, or a cumulative workload without steps, to the [`AppliedWorkload`]
//! that the tests of captured workloads apply.

use super::ReplayError;
use super::steps::{NativeSteps, StepChoice, select_without_steps};
use crate::arrivals::CapturedArrivals;
use crate::placement::Placement;
use crate::workload_file::{WorkloadFile, WorkloadStep};
use std::collections::HashMap;
use steadfast_analysis::device_layer::device_names;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, io_stream, stimulus_op};
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{AppliedWorkload, CaptureConditions, Caveat, Demand, Layer, Nanos};

/// The origin of a workload, and what its steps do not define.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provenance {
    /// Name in reports.
    pub name: String,
    /// File name, or name of a reference workload.
    pub source: String,
    /// Facts of the capture as pairs of label and value: see [`origin`].
    pub origin: Vec<(String, String)>,
    /// Threads and outstanding I/Os of the whole workload; `None` if unknown.
    pub demand: Option<Demand>,
    /// Data to write.
    pub data_pattern: DataPattern,
    /// Placement of the streams.
    pub placement: Placement,
    /// Arrivals of all I/Os and of single streams.
    pub arrivals: CapturedArrivals,
}

/// Remark on a workload whose counts do not fit the weights of streams.
pub(crate) const ROUNDED_WEIGHTS: &str =
    "Counts beyond 32 bits: the weights of the streams are rounded.";

/// Returns the facts of a capture that a report discloses: tool, layer, host, devices, length.
pub fn origin(conditions: &CaptureConditions) -> Vec<(String, String)> {
    let layers: Vec<&str> = conditions.layers.iter().map(|layer| layer_name(*layer)).collect();
    let devices: Vec<String> = device_names(conditions).take(8).collect();
    let lasted = (conditions.lasted_ns > 0).then(|| Nanos(conditions.lasted_ns).elapsed_text());
    let sums = conditions.step_ns.map(|ns| format!("sums of steps of {}", Nanos(ns)));
    let facts = [
        ("Capture Tool", Some(conditions.software.clone())),
        ("Capture Source", Some(conditions.source.clone())),
        ("Layer", Some(layers.join(", "))),
        ("Host", conditions.host.clone()),
        ("Operating System", conditions.operating_system.clone()),
        ("Kernel", conditions.kernel.clone()),
        ("Captured Devices", Some(devices.join(", "))),
        ("Capture Length", lasted),
        ("Kept", sums),
    ];
    let recorded = |(label, value): (&str, Option<String>)| {
        value.filter(|value| !value.is_empty()).map(|value| (label.to_owned(), value))
    };
    facts.into_iter().filter_map(recorded).collect()
}

fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Block => "block",
        Layer::FileSystem => "file system",
    }
}

/// Converts a workload file without capture steps: its streams, applied all together.
///
/// # Errors
/// Returns [`ReplayError::BelowThreshold`] if no stream is chosen, [`ReplayError::NoSteps`] if
/// `choice` selects a part of the time, and [`ReplayError::Trace`] if it filters by what a
/// workload file does not record.
pub fn cumulative(
    file: &WorkloadFile,
    choice: &StepChoice,
    provenance: Provenance,
) -> Result<AppliedWorkload, ReplayError> {
    let (workload, caveats) = select_without_steps(file, choice)?;
    Ok(applied(&workload, &[], &caveats, provenance))
}

impl NativeSteps {
    /// Returns the workload that a test applies: every stream, and every stream of each step, with
    /// its exact count.
    pub fn applied(&self, provenance: Provenance) -> AppliedWorkload {
        applied(&self.workload, &self.steps, &self.caveats, provenance)
    }
}

/// Returns the streams of a workload and of its steps, each weighted by its exact count.
fn applied(
    workload: &CumulativeWorkload,
    steps: &[WorkloadStep],
    caveats: &[Caveat],
    provenance: Provenance,
) -> AppliedWorkload {
    // If the sum of the counts exceeds 32 bits, all are halved equally often, to no less than 1.
    let sum: u128 = workload.streams.iter().map(|stream| u128::from(stream.count)).sum();
    let shift = (u128::BITS - sum.leading_zeros()).saturating_sub(u32::BITS);
    let is_rounded = shift > 0;
    let (mut streams, mut stream_ios) = (Vec::new(), Vec::new());
    for stream in &workload.streams {
        let Some(op) = stimulus_op(stream.op) else { continue };
        let weight = u32::try_from((stream.count >> shift).max(1)).unwrap_or(u32::MAX);
        streams.push(io_stream(op, stream).with_weight(weight));
        if is_rounded {
            stream_ios.push(stream.count);
        }
    }
    provenance.placement.place(&mut streams);
    let indices: HashMap<StreamKey, usize> =
        workload.streams.iter().enumerate().map(|(index, stream)| (stream.key(), index)).collect();
    let stream_arrivals = workload.streams.iter().enumerate().filter_map(|(index, stream)| {
        Some((index, provenance.arrivals.by_stream.get(&stream.key())?.pace()))
    });
    let stream_arrivals = stream_arrivals.collect();
    let rounding = is_rounded.then(|| ROUNDED_WEIGHTS.to_owned());
    let Provenance { name, source, origin, demand, data_pattern, arrivals, .. } = provenance;
    AppliedWorkload {
        name,
        source,
        origin,
        remarks: caveats.iter().map(sentence).chain(rounding).collect(),
        streams,
        stream_ios,
        captured_ios: workload.total_count,
        captured_bytes: workload.total_bytes(),
        captured_streams: workload.total_streams as u64,
        demand,
        data_pattern,
        arrivals: arrivals.all.map(|process| process.pace()),
        stream_arrivals,
        steps: steps.iter().map(|step| applied_step(step, &indices)).collect(),
        ..AppliedWorkload::default()
    }
}

/// Returns a caveat and its remedy as one text.
fn sentence(caveat: &Caveat) -> String {
    format!("{} {}", caveat.text, caveat.remedy).trim_end().to_owned()
}

fn applied_step(step: &WorkloadStep, indices: &HashMap<StreamKey, usize>) -> AppliedStep {
    let indexed = |(key, ios): &(StreamKey, u64)| Some((*indices.get(key)?, *ios));
    let captured = step.captured.unwrap_or_else(|| step.chosen_totals());
    AppliedStep {
        began: step.at,
        lasted: step.lasts,
        streams: step.ios.iter().filter_map(indexed).collect(),
        demand: step.demand(),
        pace: step.pace(),
        captured_ios: captured.ios,
        captured_bytes: captured.bytes,
        outstanding_mean: step.outstanding_mean,
        outstanding_max: step.outstanding_max,
        response_mean: step.response_mean,
        response_max: step.response_max,
        threads: step.threads,
        data_pattern: step.data_pattern.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps::StepSource;
    use super::*;
    use crate::replay_representation::ReplayRepresentation;
    use steadfast_domain::Bytes;
    use steadfast_domain::stimulus::{Op, Pace};

    const EXPORT: &str = "### Replay representation for workload 'w'\n\
        ## Step 1\n1000.000 300.000 1233 9192960 0.15 5 2.71 125.89 4.97 44.9\n\
        SEQ 0.5K W SEQ 512 W 4.87 60 0.33 30720\n\
        RND 4K W RND 4096 W 47.61 587 26.15 2404352\n\
        ## Step 2\n1300.000 300.000 800 4341248 2.2 9 1.69 33.66 4.99 41.3\n\
        RND 4K W RND 4096 W 50.00 400 37.74 1638400\n";

    fn native() -> NativeSteps {
        let text = ReplayRepresentation::read(EXPORT.as_bytes()).unwrap().0;
        let source = StepSource::Representation(&text);
        NativeSteps::read(&source, &StepChoice::default()).unwrap()
    }

    #[test]
    fn every_stream_keeps_its_exact_count_and_every_step_its_own() {
        let demand = Some(Demand::new(1, 2));
        let provenance = Provenance { name: "w".into(), demand, ..Provenance::default() };
        let applied = native().applied(provenance);
        let weights: Vec<_> = applied.streams.iter().map(|s| (s.op, s.weight)).collect();
        assert_eq!(weights, [(Op::Write, 987), (Op::Write, 60)], "not divided by 3");
        assert_eq!((applied.applied_ios(), applied.captured_ios), (1047, 2033));
        assert_eq!(applied.captured_bytes, Some(Bytes(9_192_960 + 4_341_248)));
        let [first, second] = &applied.steps[..] else { panic!("{:?}", applied.steps) };
        assert_eq!(first.streams, [(0, 587), (1, 60)]);
        assert_eq!(first.pace, Pace::Fixed { ios: 1233, per: Nanos::from_secs(300) });
        assert_eq!((first.captured_ios, first.outstanding_max), (1233, Some(5)));
        assert_eq!(first.response_mean, Some(Nanos(2_710_000)));
        assert_eq!(first.response_max, Some(Nanos(125_890_000)));
        assert_eq!((second.demand, second.pace.clone()), (Demand::new(1, 3), Pace::Closed));
        let remarks = applied.remarks.join(" ");
        assert!(remarks.contains("986 of"), "{remarks}");
    }

    /// A file that lists 100 of 130 I/Os defines the total bytes only if they exceed those of the
    /// listed I/Os.
    #[test]
    fn the_bytes_of_a_capture_of_which_a_part_is_listed_may_be_unknown() {
        let captured = |bytes: u64, choice: &StepChoice| {
            let text = format!(
                "format = \"steadfast workload 1\"\nname = \"w\"\n\
                 data_pattern = \"random-unique\"\nremarks = []\n\n[captured]\n\
                 by = \"count\"\nthreshold = \"2%\"\nstreams = 3\nios = 130\n\
                 bytes = {bytes}\n\n[[stream]]\nstream = \"RND 4K W\"\nios = 60\n\n\
                 [[stream]]\nstream = \"RND 8K R\"\nios = 40\n"
            );
            let file = WorkloadFile::read(&text).unwrap();
            cumulative(&file, choice, Provenance::default()).unwrap().captured_bytes
        };
        let listed = 60 * 4096 + 40 * 8192;
        let all = StepChoice::default();
        assert_eq!(captured(listed, &all), None);
        assert_eq!(captured(listed + 512, &all), Some(Bytes(listed + 512)));
        let one = StepChoice { threshold: "40%".parse().unwrap(), ..StepChoice::default() };
        assert_eq!(captured(listed, &one), None, "of some of the listed streams too");
    }

    #[test]
    fn counts_beyond_32_bits_are_halved_together_with_a_remark() {
        let mut native = native();
        native.workload.streams[0].count = 1 << 33;
        let applied = native.applied(Provenance::default());
        let weights: Vec<u32> = applied.streams.iter().map(|s| s.weight).collect();
        assert_eq!(weights, [1 << 31, 15]);
        assert!(applied.remarks.last().unwrap().contains("32 bits"));
    }

    #[test]
    fn facts_that_the_capture_does_not_record_have_no_line() {
        let conditions = CaptureConditions {
            software: "x 1".into(),
            layers: vec![Layer::Block],
            ..CaptureConditions::default()
        };
        let labels: Vec<String> = origin(&conditions).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["Capture Tool", "Layer"]);
    }
}
