//! `steadfast capture`: records a server's block I/O in a trace file.

use crate::cli::CaptureArguments;
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::{target, terminal};
use steadfast_domain::Nanos;
use steadfast_domain::io_event::{CapturedCgroup, ContentSample, MergeCounts};
use steadfast_domain::text::counted;
use steadfast_recorder::{
    CaptureResult, CapturedFile, CostPerIo, Output, RecordError, Recording, RecordingEvent,
    RecordingProgress, record,
};

/// Captures until the time is over or Ctrl-C is pressed.
pub fn run(arguments: &CaptureArguments) -> anyhow::Result<ExitState> {
    let recording = recording_of(arguments)?;
    let stop = target::stop_on_signals()?;
    let result = record(&recording, &|| stop.is_requested(), &mut CaptureScreen)
        .map_err(misuse_if_option)?;
    for line in closing_lines(&result) {
        terminal::status(&line);
    }
    Ok(ExitState::Done)
}

/// Turns the error of an invalid option into misuse of the command line.
fn misuse_if_option(error: RecordError) -> anyhow::Error {
    match error {
        RecordError::Unsuitable(_) | RecordError::NoBlockLayer | RecordError::NotABlockLayer(_) => {
            misuse(error)
        }
        error => error.into(),
    }
}

/// Returns the settings of the capture, after a check of the output file.
fn recording_of(arguments: &CaptureArguments) -> anyhow::Result<Recording> {
    let OutputRule { existing, readers } = OutputRule::from_arguments(&arguments.writing)?;
    OutputRule::check(&arguments.output)?;
    Ok(Recording {
        devices: arguments.device.clone(),
        mounts: arguments.mount.clone(),
        layers: arguments.layer.clone(),
        duration: arguments.duration,
        step: arguments.totals_every,
        ranges: arguments.totals_ranges,
        process: arguments.pid,
        commands: !arguments.no_commands,
        mark: arguments.mark.clone(),
        workload: arguments.workload_name.clone(),
        comment: arguments.comment.clone(),
        content_sample: arguments.content_sample,
        buffer: arguments.buffer,
        source: arguments.source,
        files: arguments.file_probes,
        paths: arguments.paths,
        cgroups: arguments.cgroups,
        merges: arguments.merges,
        output: Output {
            path: arguments.output.clone(),
            existing,
            readers,
            rotate_size: arguments.rotate_size,
            rotate_time: arguments.rotate_time,
        },
        software: SOFTWARE.to_owned(),
    })
}

/// Terminal output during a capture.
struct CaptureScreen;

impl RecordingProgress for CaptureScreen {
    fn report(&mut self, event: &RecordingEvent<'_>) {
        match event {
            RecordingEvent::Removed { instance } => {
                terminal::warn(&format!("Removed {instance}, which a killed capture left behind."))
            }
            RecordingEvent::Remark(remark) => terminal::warn(&format!("Caveat: {remark}")),
            RecordingEvent::Begun { source } => {
                terminal::status(&format!("Capturing with {source}. Ctrl-C ends it."));
            }
            RecordingEvent::Status(status) => {
                let whole_seconds = Nanos::from_secs(status.lasted.0 / Nanos::SECOND.0);
                terminal::progress(&format!(
                    "{whole_seconds}: {}, {} lost",
                    counted(status.ios, "I/O"),
                    status.lost
                ));
            }
            RecordingEvent::Written(file) => terminal::status(&file_line(file)),
        }
    }

    fn is_watched(&self) -> bool {
        terminal::shows_progress()
    }
}

/// Returns the line on a finished file: its name and number of I/Os.
fn file_line(file: &CapturedFile) -> String {
    let (path, ios) = (file.path.display(), counted(file.ios, "I/O"));
    match file.step_rows {
        Some(rows) => format!("{path}: {ios} in {} of streams and steps", counted(rows, "row")),
        None => format!("{path}: {ios}"),
    }
}

/// Returns the lines printed at the end: recorded I/Os, lost events and overhead.
fn closing_lines(result: &CaptureResult) -> Vec<String> {
    let CaptureResult { conditions, counters, ios } = result;
    let mut lines = vec![format!(
        "{} in {}; {} lost, {}, {} requeued.",
        counted(*ios, "I/O"),
        Nanos(conditions.lasted_ns).elapsed_text(),
        counters.lost,
        counters.in_part,
        counters.requeues
    )];
    if counters.lost > 0 {
        lines.push("I/Os were lost because the buffer was full: use a larger --buffer.".to_owned());
    }
    if counters.skipped > 0 {
        lines.push(format!(
            "The kernel skipped {}: at most that many I/Os are missing or incomplete.",
            counted(counters.skipped, "probe run")
        ));
    }
    for (kind, count) in &counters.unseen {
        lines.push(format!("Not captured: {kind}: {count}."));
    }
    if let Some(cgroups) = &conditions.cgroups {
        lines.push(cgroups_line(cgroups));
    }
    if let Some((stored, unknown)) = conditions.paths {
        lines.push(format!(
            "Paths: {stored} stored, {unknown} unknown. Anyone who can read the file can see the \
             stored paths."
        ));
    }
    if let Some(devices) = &conditions.merging {
        lines.push(merging_line(devices));
    }
    if let Some(sample) = &conditions.content {
        lines.push(content_line(sample));
    }
    if let Some(cost) = result.cost_per_io() {
        lines.push(cost_line(&cost));
    }
    lines
}

/// Returns the line on the cgroups whose paths the file contains.
fn cgroups_line(cgroups: &[CapturedCgroup]) -> String {
    let named = cgroups.iter().filter(|cgroup| cgroup.path.is_some()).count();
    format!("Cgroups: {named} of {} with their paths. The file contains them.", cgroups.len())
}

/// Returns the line on merged and split requests of all devices.
fn merging_line(devices: &[MergeCounts]) -> String {
    let merged: u64 = devices.iter().map(|device| device.merged).sum();
    let split: u64 = devices.iter().map(|device| device.split).sum();
    format!("Requests: {merged} merged into others, {split} split.")
}

/// Returns the line on the sampled content of written blocks.
fn content_line(sample: &ContentSample) -> String {
    match (sample.compression_ratio(), sample.duplicate_share()) {
        (Some(ratio), Some(duplicates)) => {
            format!("Content: compression ratio {ratio:.2}, {duplicates} duplicates; {sample}.")
        }
        _ => format!("Content: {sample}."),
    }
}

/// Returns the line on the processor time of the capture itself.
fn cost_line(cost: &CostPerIo) -> String {
    let CostPerIo { own_ns, kernel_ns } = cost;
    let in_kernel =
        kernel_ns.map(|ns| format!("{ns:.0} ns in the kernel and ")).unwrap_or_default();
    format!("Cost: {in_kernel}{own_ns:.0} ns in this process per I/O.")
}
