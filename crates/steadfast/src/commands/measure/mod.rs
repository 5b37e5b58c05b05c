//! `steadfast measure`: applies one stimulus and prints its figures.

mod figures;
mod watch;

use super::{restore, several, start_run};
use crate::cli::{EngineName, MeasureArguments};
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::check_engine;
use crate::target::{self, EngineChoice, FioDirectory, SimulationOptions};
use crate::{hosts, rig_remarks, terminal, workloads};
use anyhow::Context;
use figures::{OperationFigures, OperationSpread, RunRow, StartErrorFigures};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steadfast_domain::measurement::{HostPart, Interval, StallEffect, mean};
use steadfast_domain::settings::HostList;
use steadfast_domain::start_error::START_ERROR_LIMIT;
use steadfast_domain::stimulus::{Pace, flush_every};
use steadfast_domain::text::{grouped, number};
use steadfast_domain::{Demand, Device, ForeignIo, IoStream, Measurement, Nanos, Op, Step};
use steadfast_engine::{PreparedStep, StopSignal};
use steadfast_host::{Consent, HostsConsent};
use steadfast_report::text_table;
use steadfast_runner::{
    HostClock, NamedTarget, Rig, SingleLoad, SingleLoadResult, StartOrder, StartSync, apply_once,
    start_tickets,
};
use steadfast_workload::WorkloadFile;
use watch::TargetBars;

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct MeasureOutput<'a> {
    device: &'a Device,
    engine: String,
    step: &'a Step,
    measurement: &'a Measurement,
    iops: Option<f64>,
    bytes_per_second: Option<f64>,
    /// Rates and response times of each operation, and of reads, writes and discards together
    /// (`all`) if there are several.
    results: Vec<OperationFigures>,
    /// Rate at which I/Os were due, per second; null for a load without a rate.
    offered_iops: Option<f64>,
    /// False if the target completed fewer I/Os than were due; null for a load without a rate.
    kept_up: Option<bool>,
    /// Delays of the program in submitting I/Os that were due; null for a closed loop, and if the
    /// engine does not report them.
    start_error: Option<StartErrorFigures>,
    /// I/Os that the device saw meanwhile and that were not of this command.
    foreign_ios: Vec<ForeignIo>,
}

/// The JSON output of several targets.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct MeasureTargetsOutput<'a> {
    targets: &'a [MeasureOutput<'a>],
}

/// The JSON output of several runs.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct MeasureRunsOutput<'a> {
    /// Every run, with its targets.
    runs: Vec<MeasureTargetsOutput<'a>>,
    /// Every target over all runs.
    over_runs: Vec<TargetOverRuns<'a>>,
}

/// One target over all runs.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct TargetOverRuns<'a> {
    target: &'a str,
    results: Vec<OperationSpread>,
}

struct ArmedTarget {
    target: String,
    rig: Box<dyn Rig>,
}

/// An armed target and the step to apply.
struct PreparedTarget<'a> {
    armed: &'a mut ArmedTarget,
    step: Step,
    prepared: PreparedStep,
}

/// Arms the targets, applies the stimulus the requested number of times and prints the results.
pub fn run(arguments: &MeasureArguments) -> anyhow::Result<ExitState> {
    let load = single_load(arguments)?;
    let host_list = arguments.hosts.list()?;
    match &host_list {
        Some(_) => hosts::check_engine(arguments.engine)?,
        None => check_targets(arguments, &load)?,
    }
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let create =
        |path: &Option<PathBuf>| path.as_ref().map(|path| rule.create_text(path)).transpose();
    let markdown = create(&arguments.export_markdown)?;
    let csv = create(&arguments.export_csv)?;
    let stop = target::stop_on_signals()?;
    let is_fio = arguments.engine == Some(EngineName::Fio) || host_list.is_some();
    if arguments.keep.is_some() && !is_fio {
        return Err(misuse("--keep: only fio has files to keep; add --engine fio, or omit --keep"));
    }
    // fio keeps its files here until the last run has ended.
    let fio_directory =
        if is_fio { Some(FioDirectory::new(arguments.keep.as_deref())?) } else { None };
    let mut armed = arm(arguments, &load, host_list.as_ref(), fio_directory.as_ref(), &stop)?;
    let mut runs: Vec<Vec<MeasuredTarget>> = Vec::new();
    let bars = TargetBars::new(arguments.runs);
    let mut failed = None;
    for run in 1..=arguments.runs {
        let mut done = Vec::new();
        let measured = measure_once(&load, &mut armed, run, &bars, &mut done);
        // A run counts only if every target was measured.
        if done.len() == armed.len() {
            runs.push(done);
        }
        if let Err(error) = measured {
            failed = Some(if arguments.runs > 1 {
                error.context(format!("run {run} of {}", arguments.runs))
            } else {
                error
            });
            break;
        }
    }
    if runs.is_empty() {
        return failed.map_or(Ok(ExitState::Done), Err);
    }
    let answers: Vec<Vec<MeasureOutput<'_>>> = runs
        .iter()
        .map(|run| armed.iter().zip(run).map(|(armed, done)| done.answer(armed)).collect())
        .collect();
    print(arguments, &load, &answers)?;
    let rows = rows(arguments, &load, &answers);
    if let Some(file) = markdown {
        file.write(figures::markdown(&rows).as_bytes())?;
    }
    if let Some(file) = csv {
        file.write(figures::csv(&rows).as_bytes())?;
    }
    let done = runs.iter().flat_map(|run| armed.iter().zip(run));
    let state = ExitState::worst(done.map(|(armed, done)| done.state(&armed.target)));
    failed.map_or(Ok(state), Err)
}

/// Arms every target; refuses two targets that are the same device.
fn arm(
    arguments: &MeasureArguments,
    load: &SingleLoad,
    host_list: Option<&HostList>,
    fio_directory: Option<&FioDirectory>,
    stop: &StopSignal,
) -> anyhow::Result<Vec<ArmedTarget>> {
    let is_only_target = arguments.target.names.len() == 1;
    if host_list.is_none() && fio_directory.is_some() && !is_only_target {
        return Err(misuse("fio measures one target; name one, or use --engine uring"));
    }
    let engine = match fio_directory {
        Some(directory) => EngineChoice::Fio(directory.path().to_owned()),
        None => EngineChoice::Uring,
    };
    let mut armed = Vec::new();
    for (target, number) in arguments.target.names.iter().zip(1u32..) {
        let rig = match (host_list, fio_directory) {
            (Some(list), Some(directory)) => {
                let own_directory = if is_only_target {
                    directory.path().to_owned()
                } else {
                    directory.path().join(number.to_string())
                };
                let consent = if load.alters() {
                    HostsConsent::Named(&arguments.yes_destroy)
                } else {
                    HostsConsent::Read
                };
                hosts::rig(list, target, arguments.target.size, consent, &own_directory, stop)?
            }
            _ => rig_here(arguments, load, target, &engine, stop)?,
        };
        armed.push(ArmedTarget { target: target.clone(), rig });
    }
    // Two names may resolve to the same device.
    let targets: Vec<NamedTarget<'_>> = armed
        .iter()
        .map(|armed| NamedTarget { name: &armed.target, device: armed.rig.device() })
        .collect();
    several::refuse_same(&targets)?;
    Ok(armed)
}

/// Applies the stimulus once to every target. Adds the targets that were measured to `done`.
///
/// # Errors
/// The first failure: nothing was applied, a target halted, or its host was not restored.
fn measure_once(
    load: &SingleLoad,
    armed: &mut [ArmedTarget],
    run: u32,
    bars: &TargetBars,
    done: &mut Vec<MeasuredTarget>,
) -> anyhow::Result<()> {
    let mut prepared = Vec::new();
    for armed in armed {
        prepared.push(prepare(load, armed, run)?);
    }
    start_together(&mut prepared);
    let mut outcome = Ok(());
    for AppliedTarget { target, step, result } in apply(prepared, load.alters(), run, bars) {
        rig_remarks::print(&result.checks, &result.caveats);
        if let Some(halt) = result.failure() {
            outcome = outcome.and(Err(anyhow::Error::new(halt).context(target)));
        }
        if let Ok(measurement) = result.result {
            done.push(MeasuredTarget { step, measurement });
        }
    }
    outcome
}

/// Prints the results of all runs.
fn print(
    arguments: &MeasureArguments,
    load: &SingleLoad,
    runs: &[Vec<MeasureOutput<'_>>],
) -> anyhow::Result<()> {
    let names = || arguments.target.names.iter().map(String::as_str).enumerate();
    let figures_of = |at: usize| -> Vec<&[OperationFigures]> {
        runs.iter().map(|run| run[at].results.as_slice()).collect()
    };
    match (arguments.json, single(arguments.runs, runs)) {
        (true, Some(only)) => match only.as_slice() {
            [one] => terminal::print_json(one),
            all => terminal::print_json(&MeasureTargetsOutput { targets: all }),
        },
        (true, None) => terminal::print_json(&MeasureRunsOutput {
            runs: runs.iter().map(|run| MeasureTargetsOutput { targets: run }).collect(),
            over_runs: names()
                .map(|(at, target)| TargetOverRuns {
                    target,
                    results: figures::spreads(&figures_of(at)),
                })
                .collect(),
        }),
        (false, Some(only)) => {
            let texts = names().map(|(at, name)| {
                let answer = &only[at];
                text(name, load, &[answer], figures::table(&answer.results))
            });
            terminal::print(&texts.collect::<Vec<_>>().join("\n\n"))
        }
        (false, None) => {
            let texts = names().map(|(at, name)| {
                let answers: Vec<&MeasureOutput<'_>> = runs.iter().map(|run| &run[at]).collect();
                text(name, load, &answers, figures::table_of_runs(&figures_of(at)))
            });
            terminal::print(&texts.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Returns the only run if one was asked for. The form of the output depends on that, not on the
/// number of runs that ended.
fn single<T>(requested: u32, runs: &[T]) -> Option<&T> {
    runs.first().filter(|_| requested == 1)
}

/// Returns the rows of the exported tables.
fn rows<'a>(
    arguments: &'a MeasureArguments,
    load: &'a SingleLoad,
    runs: &'a [Vec<MeasureOutput<'a>>],
) -> Vec<RunRow<'a>> {
    let of_run = |(run, answers): (u32, &'a Vec<MeasureOutput<'a>>)| {
        arguments.target.names.iter().zip(answers).map(move |(target, answer)| RunRow {
            target,
            load: &load.name,
            demand: load.demand.to_string(),
            run,
            elapsed: answer.measurement.elapsed,
            offered_iops: answer.offered_iops,
            kept_up: answer.kept_up,
            start_error: answer.start_error.as_ref(),
            results: &answer.results,
        })
    };
    (1..).zip(runs).flat_map(of_run).collect()
}

/// Results of one target.
struct MeasuredTarget {
    step: Step,
    measurement: Measurement,
}

impl MeasuredTarget {
    fn answer<'a>(&'a self, armed: &'a ArmedTarget) -> MeasureOutput<'a> {
        let measurement = &self.measurement;
        let pace = self.step.load.stimulus().map_or(&Pace::Closed, |stimulus| &stimulus.pace);
        MeasureOutput {
            device: armed.rig.device(),
            engine: armed.rig.engine(),
            step: &self.step,
            measurement,
            iops: measurement.iops(),
            bytes_per_second: measurement.bytes_per_second(),
            results: figures::figures(measurement),
            offered_iops: pace.offered_iops(),
            kept_up: measurement.kept_up(pace),
            start_error: measurement.start_error.as_deref().map(StartErrorFigures::new),
            foreign_ios: measurement.foreign_ios(&self.step),
        }
    }

    /// Returns the exit state: failed if too many I/Os failed for a reliable figure.
    fn state(&self, target: &str) -> ExitState {
        let measurement = &self.measurement;
        let failed = measurement.fault_count;
        let flushed = measurement.direction(Op::Flush).ios;
        let issued = failed + measurement.total().ios + flushed;
        // After a failed flush none of its writes is durable.
        let unflushed = measurement.faults.iter().any(|fault| fault.op == Op::Flush);
        if failed > 0 && (unflushed || failed * FAILED_SHARE >= issued) {
            terminal::warn(&format!(
                "steadfast: {target}: {failed} of {issued} I/Os failed; see the kernel log (dmesg) \
                 and the drive's error log (smartctl -x)"
            ));
            return ExitState::Failed;
        }
        match &measurement.verification {
            Some(verification) if verification.miscompares > 0 => ExitState::NotPassed,
            _ => ExitState::Done,
        }
    }
}

/// One failed I/O in this many fails a measurement (our choice).
const FAILED_SHARE: u64 = 100;

/// Refuses a device named twice, an ambiguous confirmation, and a missing target that would not be
/// created.
fn check_targets(arguments: &MeasureArguments, load: &SingleLoad) -> anyhow::Result<()> {
    let mut devices = Vec::new();
    for target in &arguments.target.names {
        if !load.alters() {
            target::find_to_read(target, arguments.target.size, &load.name)?;
        }
        devices.push(target::foresee(target, arguments.target.size)?);
    }
    let names = arguments.target.names.iter();
    let targets: Vec<NamedTarget<'_>> =
        names.zip(&devices).map(|(name, device)| NamedTarget { name, device }).collect();
    for device in &devices {
        check_engine(arguments.engine, device)?;
    }
    several::refuse_same(&targets)?;
    start_run::refuse_ambiguous(&arguments.yes_destroy, &devices)
}

/// Arms a target of this host.
fn rig_here(
    arguments: &MeasureArguments,
    load: &SingleLoad,
    target: &str,
    engine: &EngineChoice,
    stop: &StopSignal,
) -> anyhow::Result<Box<dyn Rig>> {
    let size = arguments.target.size;
    let (target, consent) = if load.alters() {
        let target = target::find(target, size)?;
        let is_only_target = arguments.target.names.len() == 1;
        let confirmation = start_run::confirmation(&arguments.yes_destroy, &target, is_only_target);
        (target, Consent::Destroy { confirmation })
    } else {
        (target::find_to_read(target, size, &load.name)?, Consent::Read)
    };
    target::rig(engine, &target, &consent, &[], SimulationOptions::with_seed(arguments.seed), stop)
}

/// Prepares a run on an armed target.
fn prepare<'a>(
    load: &SingleLoad,
    armed: &'a mut ArmedTarget,
    run: u32,
) -> anyhow::Result<PreparedTarget<'a>> {
    let step = load.step(armed.rig.device(), run);
    let prepared = armed.rig.prepare(&step).with_context(|| armed.target.clone())?;
    Ok(PreparedTarget { armed, step, prepared })
}

/// Makes the loads of several real targets start together.
fn start_together(all: &mut [PreparedTarget<'_>]) {
    let real: Vec<&mut PreparedTarget<'_>> =
        all.iter_mut().filter(|one| !one.armed.rig.device().is_simulated()).collect();
    if real.len() < 2 {
        return;
    }
    let (sync, clock) = (StartSync::Steps, Arc::new(HostClock));
    let tickets = start_tickets(real.len(), StartOrder::default(), sync, clock);
    real.into_iter().zip(tickets).for_each(|(one, ticket)| one.armed.rig.join(ticket, None));
}

/// A target to which a step was applied.
struct AppliedTarget {
    target: String,
    step: Step,
    result: SingleLoadResult,
}

/// Applies the step of every target in its own thread.
fn apply(
    targets: Vec<PreparedTarget<'_>>,
    writes: bool,
    run: u32,
    bars: &TargetBars,
) -> Vec<AppliedTarget> {
    let apply_to = |number: u64, target: PreparedTarget<'_>| {
        let PreparedTarget { armed, step, prepared } = target;
        let line = bars.line(&armed.target, &step, run);
        let mut changes = restore::journal_of(number);
        let mut show = |interval: &Interval| line.show(&step, interval);
        let result = apply_once(armed.rig.as_mut(), prepared, writes, &mut changes, &mut show);
        line.clear();
        AppliedTarget { target: armed.target.clone(), step, result }
    };
    std::thread::scope(|scope| {
        let apply_to = &apply_to;
        let mut threads = Vec::new();
        for (number, target) in (0..).zip(targets) {
            threads.push(scope.spawn(move || apply_to(number, target)));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Returns the step to apply, from an access pattern or a workload file.
fn single_load(arguments: &MeasureArguments) -> anyhow::Result<SingleLoad> {
    let (name, streams, file) = match (&arguments.pattern, &arguments.workload) {
        (Some(pattern), _) => (pattern.to_string(), pattern.streams(), None),
        (None, Some(path)) => {
            let (file, streams) = read_workload(path)?;
            (format!("{} ({} I/O streams)", path.display(), streams.len()), streams, Some(file))
        }
        (None, None) => {
            return Err(misuse(
                "give an access pattern such as \"RND 4K R\", or a workload file with --workload",
            ));
        }
    };
    let default_demand =
        if arguments.rate.is_some() { Demand::SCHEDULED } else { Demand::new(1, 1) };
    let demand_of_file = file.as_ref().and_then(|file| file.demand);
    let demand = arguments.demand.or(demand_of_file).unwrap_or(default_demand);
    let pace = match arguments.rate {
        Some(rate) => {
            let arrivals = arguments.arrivals.unwrap_or_default();
            rate.pace(&streams, demand.threads, arrivals).map_err(|why| misuse(&why))?
        }
        None => Pace::Closed,
    };
    let data_pattern = file.map(|file| file.data_pattern);
    Ok(SingleLoad {
        name,
        streams,
        pace,
        demand,
        data_pattern: arguments.data_pattern.clone().or(data_pattern).unwrap_or_default(),
        active_range_percent: arguments.active_range,
        ramp: arguments.ramp,
        time: arguments.time,
        ios: arguments.ios,
        seed: arguments.seed,
        verify: arguments.verify,
    })
}

/// Reads a workload and its streams; prints its remarks.
fn read_workload(path: &Path) -> anyhow::Result<(WorkloadFile, Vec<IoStream>)> {
    let place = || path.display().to_string();
    let file = workloads::streams_of(path)?;
    let (streams, remarks) = file.io_streams().with_context(place)?;
    for remark in file.doubts.iter().chain(&remarks) {
        terminal::warn(&format!("{}: {remark}", place()));
    }
    Ok((file, streams))
}

/// Formats the figures of a target and the remarks on its runs.
fn text(target: &str, load: &SingleLoad, runs: &[&MeasureOutput<'_>], numbers: String) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let mut lines = Vec::new();
    if first.device.is_simulated() {
        lines.push("SIMULATED: this drive runs in virtual time.".to_owned());
    }
    let times = if runs.len() > 1 { format!("{} runs of ", runs.len()) } else { String::new() };
    let elapsed = first.measurement.elapsed.elapsed_text();
    lines.push(format!("{target}  {}  {}  {times}{elapsed}", load.name, load.demand));
    lines.push(numbers);
    lines.extend(flush_remark(&load.streams, load.demand));
    for (number, answer) in (1..).zip(runs) {
        let remarks = remarks_of(answer);
        if runs.len() > 1 && !remarks.is_empty() {
            lines.push(format!("Run {number}:"));
        }
        lines.extend(remarks);
    }
    lines.push(format!("Engine: {}", first.engine));
    lines.join("\n")
}

/// Returns a remark if a thread waits for its flush before its writes fill its queue depth; `None`
/// otherwise.
fn flush_remark(streams: &[IoStream], demand: Demand) -> Option<String> {
    let every = flush_every(streams)?.get();
    let writes_only = streams.iter().all(|stream| stream.op == Op::Write);
    (writes_only && every > 1 && every < demand.depth).then(|| {
        format!(
            "FLUSH/{every}: each thread has at most {every} writes outstanding, not {}",
            demand.depth
        )
    })
}

/// Returns remarks on a run's figures.
fn remarks_of(answer: &MeasureOutput<'_>) -> Vec<String> {
    let measurement = answer.measurement;
    let mut lines: Vec<String> = table_by_host(measurement).into_iter().collect();
    lines.extend(rate_line(answer));
    lines.extend(start_error_line(answer));
    if let Some((user, system)) = measurement.cpu_ns_per_io() {
        lines.push(format!(
            "CPU per I/O: {} ns user, {} ns system",
            number(user, 0),
            number(system, 0)
        ));
    }
    lines.extend(irregularities(measurement));
    lines.extend(answer.foreign_ios.iter().map(foreign_line));
    if measurement.fault_count > 0 {
        lines.push(format!("FAILED I/Os: {}", grouped(measurement.fault_count)));
    }
    if let Some(verification) = &measurement.verification {
        lines.push(format!(
            "Verified: {} sectors correct, {} not written by this command, {} MISCOMPARES",
            grouped(verification.sectors_right),
            grouped(verification.sectors_unknown),
            grouped(verification.miscompares)
        ));
    }
    if let Some(late) = measurement.common_start.and_then(|start| start.late) {
        lines.push(format!("Began with the other targets, {late} after the agreed moment"));
    }
    lines
}

/// Returns the offered rate and what was achieved of it; `None` for a load without a rate.
fn rate_line(answer: &MeasureOutput<'_>) -> Option<String> {
    let (offered, achieved) = (answer.offered_iops?, answer.iops?);
    let rates = format!(
        "{} IOPS offered, {} achieved ({:.2} %)",
        number(offered, 1),
        number(achieved, 1),
        100.0 * achieved / offered
    );
    Some(if answer.kept_up == Some(false) {
        format!(
            "COULD NOT KEEP UP: {rates}; response times count from when each I/O was due and grow \
             with the time of the step"
        )
    } else {
        format!("Rate: {rates}; response times count from when each I/O was due")
    })
}

/// Returns how late the program was; `None` for a load without a rate, and if the engine does not
/// report it.
fn start_error_line(answer: &MeasureOutput<'_>) -> Option<String> {
    let error = answer.measurement.start_error.as_ref()?;
    let time = |time: Option<Nanos>| time.map_or("–".to_owned(), |time| time.to_string());
    let is_high = answer.measurement.has_high_start_error(&answer.step.load);
    let remark = if is_high {
        format!(
            "; 99 % is more than {} % of the mean response time: the program was late itself, leave \
             a processor free for each thread",
            START_ERROR_LIMIT * 100.0
        )
    } else if let Some(longest) = answer.measurement.total().response_longest()
        && error.max.0 > longest.0 / 2
    {
        format!(
            "; the longest is most of the longest response time, {longest}, or may be: it is the \
             program's as well as the device's"
        )
    } else {
        String::new()
    };
    Some(format!(
        "Start error: 50 % {}, 99 % {}, longest {}{remark}",
        time(error.p50()),
        time(error.p99()),
        error.max
    ))
}

/// Returns the share of each host; `None` for a single host.
fn table_by_host(measurement: &Measurement) -> Option<String> {
    if measurement.hosts.is_empty() {
        return None;
    }
    let head = ["host", "I/Os", "IOPS", "MB/s", "ART ms", "MRT ms", "began after ms"];
    let milliseconds = |time: Nanos| number(time.as_millis_f64(), 4);
    let row = |part: &HostPart| {
        let seconds = part.elapsed.as_secs_f64();
        let rate = |count: f64| {
            if seconds > 0.0 { number(count / seconds, 1) } else { "–".to_owned() }
        };
        let mean = mean(part.response_sum, part.ios);
        [
            part.host.clone(),
            grouped(part.ios),
            rate(part.ios as f64),
            rate(part.bytes.as_mb()),
            mean.map_or("–".to_owned(), milliseconds),
            milliseconds(part.response_max),
            part.late.map_or("–".to_owned(), milliseconds),
        ]
    };
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(measurement.hosts.iter().map(row));
    Some(text_table::aligned(&rows))
}

/// Returns remarks on irregularities other than the I/Os themselves.
fn irregularities(measurement: &Measurement) -> Vec<String> {
    let mut lines = Vec::new();
    if measurement.stalling() != StallEffect::Slight {
        lines.push(format!(
            "STALLED for {} of {}: steadfast could not run (stopped, frozen, suspended, or \
             the virtual machine paused); repeat the measurement",
            measurement.stalled(),
            measurement.elapsed
        ));
    }
    if let Some(longest) = measurement.silences.iter().map(|silence| silence.lasted).max() {
        let all = Nanos(measurement.silences.iter().map(|silence| silence.lasted.0).sum());
        lines.push(format!(
            "SILENT: the device completed no I/O for {all} although some were outstanding, at \
             longest for {longest}; see the kernel log (dmesg)"
        ));
    }
    if measurement.outstanding > 0 {
        lines.push(format!(
            "OUTSTANDING: {} I/Os had not completed long after the end; they count with their time \
             so far, and the longest response time is longer than shown",
            grouped(measurement.outstanding)
        ));
    }
    if let Some(share) = measurement.throttled_share().filter(|share| *share > 0.01) {
        lines.push(format!(
            "CPU QUOTA: the control group's processor quota stopped steadfast for {:.0} % of a \
             processor's time; run it in a group without a quota",
            100.0 * share
        ));
    }
    for limit in &measurement.sensed.cgroup_limits {
        lines.push(if limit.is_of_memory() {
            let times = limit.reached.unwrap_or(0);
            format!("MEMORY LIMIT: {limit} was reached {times} times, which delays steadfast")
        } else {
            format!("I/O LIMIT: {limit} may be what was measured, not the device")
        });
    }
    lines
}

/// Returns a remark on I/Os of other processes on the device.
fn foreign_line(foreign: &ForeignIo) -> String {
    let direction = if foreign.op == Op::Read { "reads" } else { "writes" };
    format!(
        "FOREIGN I/O: the device saw {direction} of other programs: {} I/Os, {}, {:.2} % of its \
         bytes; end them and measure again (iotop, fatrace)",
        grouped(foreign.ios),
        foreign.bytes,
        100.0 * foreign.share
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Bytes;
    use steadfast_domain::notation::AccessPattern;
    use steadfast_engine::sim::{SimulatedSsd, drives};
    use steadfast_runner::simulated_rig::SimulatedRig;

    #[test]
    fn one_of_several_runs_is_printed_as_several() {
        assert_eq!(single(1, &["first"]), Some(&"first"));
        assert_eq!(single(5, &["first"]), None);
    }

    fn armed(is_stopped: bool) -> ArmedTarget {
        let stop = StopSignal::default();
        if is_stopped {
            stop.request();
        }
        let ssd = SimulatedSsd::new(&drives()[0], 1, stop);
        ArmedTarget { target: "sim".to_owned(), rig: Box::new(SimulatedRig::new(ssd, None)) }
    }

    #[test]
    fn a_target_that_halts_hides_no_other() {
        let pattern = AccessPattern::random(Bytes::kib(4), 100);
        let load = SingleLoad {
            name: pattern.to_string(),
            streams: pattern.streams(),
            pace: Pace::Closed,
            demand: Demand::new(1, 1),
            data_pattern: Default::default(),
            active_range_percent: 100,
            ramp: Nanos::ZERO,
            time: None,
            ios: Some(100),
            seed: 1,
            verify: false,
        };
        let (mut both, mut done) = ([armed(true), armed(false)], Vec::new());
        let measured = measure_once(&load, &mut both, 1, &TargetBars::new(1), &mut done);
        assert_eq!(measured.unwrap_err().root_cause().to_string(), "stopped on request");
        let ios: Vec<u64> = done.iter().map(|done| done.measurement.total().ios).collect();
        assert_eq!(ios, [100]);
    }
}
