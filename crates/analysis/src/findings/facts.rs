//! Facts about a capture and about the working sets of its devices.

use super::header::names;
use crate::device_layer::device_name;
use crate::questions::steps::StepFigures;
use crate::questions::study::{DeviceWorkingSet, Study};
use crate::sums::io_sums::IoSums;
use crate::sums::server_cpu_use::ServerCpuUse;
use steadfast_domain::findings::{Facts, Setting};
use steadfast_domain::io_event::{ContentSample, Share};
use steadfast_domain::text::grouped;
use steadfast_domain::{Bytes, CaptureConditions, Nanos};

pub(super) fn capture_facts(study: &Study) -> Facts {
    let conditions = &study.totals.conditions;
    let total = study.totals.streams.total();
    let untransferred = total.amount().saturating_sub(total.transfers().bytes);
    let span = study.totals.span_ns.1.saturating_sub(study.totals.span_ns.0);
    let figures = total.times.responses.figures();
    let time = |ns: Option<u64>| ns.map(|ns| format!("{:.3} ms", ns as f64 / 1e6));
    let span_label = if study.single_ios.is_some() {
        "From first to last I/O"
    } else {
        "Capture steps with I/Os span"
    };
    let five_nines = study
        .has_percentiles()
        .then(|| Setting::outcome("99.999 % response time", time(figures.p99_999_ns)));
    let processes = study.processes.as_ref().map(|found| found.all.iter().count().to_string());
    Facts::new("Capture")
        .rows(names(conditions))
        .with(Setting::outcome("I/Os", grouped(total.count())))
        .with(Setting::outcome("Bytes", Bytes(total.transfers().bytes).to_string()))
        .rows((untransferred > 0).then(|| {
            Setting::outcome("Bytes of discards and others", Bytes(untransferred).to_string())
        }))
        .with(Setting::outcome(
            "Observed time",
            Nanos(study.totals.observed.total_ns()).elapsed_text(),
        ))
        .with(Setting::outcome(span_label, Nanos(span).elapsed_text()))
        .with(Setting::outcome("I/O streams", grouped(study.totals.streams.len() as u64)))
        .rows(processes.map(|count| Setting::outcome("Processes", count)))
        .with(Setting::outcome("Average response time", time(figures.mean_ns)))
        .rows(five_nines)
        .with(Setting::outcome("Maximum response time", time(figures.max_ns)))
        .rows(queue_depths(&total))
        .rows(threads(study))
        .rows(processors(study))
        .rows(contents(conditions))
        .with(Setting::outcome("Failed I/Os", grouped(total.failed())))
        .with(Setting::outcome("Lost events", grouped(conditions.lost)))
        .rows(incomplete(conditions))
}

/// Returns the mean and the maximum number of threads with I/Os in a capture step, and the mean
/// queue depth per thread.
fn threads(study: &Study) -> Vec<Setting> {
    let steps: Vec<StepFigures> =
        study.step_figures().filter(|step| step.threads.is_some() && step.count > 0).collect();
    let counts = || steps.iter().filter_map(|step| step.threads);
    let Some(most) = counts().max() else { return Vec::new() };
    let mean = counts().map(f64::from).sum::<f64>() / steps.len() as f64;
    let depths: Vec<f64> = steps.iter().filter_map(StepFigures::depth_per_thread).collect();
    let mean_depth = depths.iter().sum::<f64>() / depths.len() as f64;
    let mean_depth = (!depths.is_empty()).then(|| format!("{mean_depth:.2}"));
    let width = Nanos(study.totals.step_ns);
    vec![
        Setting::outcome(
            &format!("Threads in a step of {width}"),
            format!("{mean:.1} on average, {most} at most"),
        ),
        Setting::outcome("Queue depth per thread", mean_depth),
    ]
}

/// Returns processor use and I/O wait of the captured host from the first reading to the last.
fn processors(study: &Study) -> Vec<Setting> {
    let readings = &study.totals.conditions.processors;
    let Some((first, last)) = readings.first().zip(readings.last()) else { return Vec::new() };
    let cpu_use = ServerCpuUse::between(&study.totals.conditions, first.at_ns, last.at_ns);
    vec![
        Setting::outcome("Processor use of the server", cpu_use.map(|cpu| percent_text(cpu.busy))),
        Setting::outcome("I/O wait of the server", cpu_use.map(|cpu| percent_text(cpu.io_wait))),
    ]
}

fn queue_depths(total: &IoSums) -> [Setting; 2] {
    let mean = total.times.depths.mean().map(|depth| format!("{depth:.2}"));
    let max = total.times.depths.largest().map(|depth| depth.to_string());
    [Setting::outcome("Average queue depth", mean), Setting::outcome("Maximum queue depth", max)]
}

fn contents(conditions: &CaptureConditions) -> [Setting; 3] {
    let ratio = conditions.compression_ratio.map(|ratio| format!("{ratio:.2}"));
    let duplicates = conditions.duplicates().map(|share| share.to_string());
    let sample = conditions.content.map(|sample| sample_text(&sample));
    [
        Setting::outcome("Compression ratio", ratio),
        Setting::outcome("Duplication ratio", duplicates),
        Setting::outcome("Content", sample),
    ]
}

/// Returns the numbers of incomplete I/Os, by reason if the reasons are known.
fn incomplete(conditions: &CaptureConditions) -> Vec<Setting> {
    let row = |label: &str, count: u64| Setting::outcome(label, grouped(count));
    let Some(part) = conditions.in_part else {
        return vec![row("Incomplete I/Os, omitted", conditions.unfinished)];
    };
    vec![
        row("Completion not seen (no response time)", part.unended),
        row("Issued before the capture (omitted)", part.begun_before),
        row("Too many outstanding to follow (omitted)", part.too_many),
    ]
}

/// Describes the sample that both ratios are based on.
fn sample_text(sample: &ContentSample) -> String {
    let bound = match sample.duplicate_share() {
        Some(Share::AtLeast(_)) => "; a duplicate is detected only if both blocks were read",
        Some(Share::Exact(_)) | None => "",
    };
    format!("{sample}; zstd level 1{bound}")
}

pub(super) fn working_set_facts(study: &Study, set: &DeviceWorkingSet) -> Facts {
    let DeviceWorkingSet { device, figures } = set;
    let granules = format!("Granules of {} MiB touched", figures.granule_bytes >> 20);
    let hottest = figures.hottest.iter().map(|(percent, share)| {
        let label = format!("Accesses to the hottest {percent} % of the granules");
        Setting::outcome(&label, percent_text(*share))
    });
    let name = device_name(&study.totals.conditions, *device);
    Facts::new(format!("Working set of {name}"))
        .with(Setting::outcome(
            "Working set, 4 KiB blocks touched",
            estimated_size(figures.touched_bytes),
        ))
        .with(Setting::outcome("Working set of reads", estimated_size(figures.read_bytes)))
        .with(Setting::outcome("Working set of writes", estimated_size(figures.written_bytes)))
        .with(Setting::outcome("Accesses per touched block, average", times_text(figures.reuse)))
        .with(Setting::outcome("Writes per written block, average", times_text(figures.rewrite)))
        .with(Setting::outcome(&granules, grouped(figures.granules_touched)))
        .rows(hottest)
}

fn percent_text(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn times_text(times: Option<f64>) -> Option<String> {
    times.map(|times| format!("{times:.2} times"))
}

fn estimated_size(bytes: u64) -> String {
    format!("{} (estimated, standard error 0.8 %)", Bytes(bytes))
}
