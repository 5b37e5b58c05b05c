//! `steadfast capture`: records a server's block I/O in a trace file.

use crate::cli::{CaptureArguments, CaptureFiles, CaptureSource};
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::{target, terminal};
use steadfast_domain::Nanos;
use steadfast_domain::io_event::{CapturedCgroup, ContentSample, MergeCounts};
use steadfast_domain::text::counted;
use steadfast_recorder::{
    CaptureResult, CapturedFile, CostPerIo, FileCaptureMode, Output, RecordError, Recording,
    RecordingEvent, RecordingProgress, SourceName, record,
};

/// Captures until the time is over or Ctrl-C is pressed.
pub fn run(arguments: &CaptureArguments) -> anyhow::Result<ExitState> {
    let recording = recording(arguments)?;
    let stop = target::stop_on_signals()?;
    let result =
        record(&recording, &|| stop.is_requested(), &mut CaptureScreen).map_err(as_misuse)?;
    ending(&result).iter().for_each(|line| terminal::status(line));
    Ok(ExitState::Done)
}

/// Reports invalid options as misuse of the command line.
fn as_misuse(error: RecordError) -> anyhow::Error {
    match error {
        RecordError::Unsuitable(_) | RecordError::NoBlockLayer | RecordError::NotABlockLayer(_) => {
            misuse(error)
        }
        error => error.into(),
    }
}

fn recording(arguments: &CaptureArguments) -> anyhow::Result<Recording> {
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
        source: arguments.source.map(|source| match source {
            CaptureSource::Ebpf => SourceName::Ebpf,
            CaptureSource::Tracefs => SourceName::Tracefs,
        }),
        files: arguments.file_probes.map(|files| match files {
            CaptureFiles::EntryPoints => FileCaptureMode::EntryPoints,
            CaptureFiles::Calls => FileCaptureMode::Calls,
        }),
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
            RecordingEvent::Status(now) => {
                let time = Nanos(now.lasted.0 / 1_000_000_000 * 1_000_000_000);
                terminal::progress(&format!(
                    "{time}: {}, {} lost",
                    counted(now.ios, "I/O"),
                    now.lost
                ));
            }
            RecordingEvent::Written(file) => terminal::status(&contents(file)),
        }
    }

    fn is_watched(&self) -> bool {
        terminal::shows_progress()
    }
}

fn contents(file: &CapturedFile) -> String {
    let (path, ios) = (file.path.display(), counted(file.ios, "I/O"));
    match file.step_rows {
        Some(rows) => format!("{path}: {ios} in {} of streams and steps", counted(rows, "row")),
        None => format!("{path}: {ios}"),
    }
}

/// Returns the closing lines: recorded I/Os, lost events and overhead.
fn ending(result: &CaptureResult) -> Vec<String> {
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
    lines.extend(conditions.cgroups.as_deref().map(cgroups));
    lines.extend(conditions.paths.map(paths));
    lines.extend(conditions.merging.as_deref().map(merging));
    lines.extend(conditions.content.as_ref().map(content));
    lines.extend(result.cost_per_io().as_ref().map(cost));
    lines
}

/// Returns a line on the cgroups named in the file.
fn cgroups(cgroups: &[CapturedCgroup]) -> String {
    let named = cgroups.iter().filter(|cgroup| cgroup.path.is_some()).count();
    format!("Cgroups: {named} of {} with their paths. The file contains them.", cgroups.len())
}

/// Returns a line on the number of files with and without a stored path.
fn paths((with, without): (u64, u64)) -> String {
    format!(
        "Paths: {with} stored, {without} unknown. Anyone who can read the file can see the stored \
         paths."
    )
}

fn merging(devices: &[MergeCounts]) -> String {
    let merged: u64 = devices.iter().map(|device| device.merged).sum();
    let split: u64 = devices.iter().map(|device| device.split).sum();
    format!("Requests: {merged} merged into others, {split} split.")
}

/// Returns a line on the sampled content of written blocks.
fn content(sample: &ContentSample) -> String {
    let Some((ratio, share)) = sample.compression_ratio().zip(sample.duplicate_share()) else {
        return format!("Content: {sample}.");
    };
    format!("Content: compression ratio {ratio:.2}, {share} duplicates; {sample}.")
}

fn cost(cost: &CostPerIo) -> String {
    let own = cost.own_ns;
    match cost.kernel_ns {
        Some(kernel) => {
            format!("Cost: {kernel:.0} ns in the kernel and {own:.0} ns in this process per I/O.")
        }
        None => format!("Cost: {own:.0} ns in this process per I/O."),
    }
}
