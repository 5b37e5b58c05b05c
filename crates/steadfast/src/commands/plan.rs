//! `steadfast plan`: prints the steps of a run and its duration.

use super::start_run::{RequestedRun, geometry};
use crate::cli::{self, PlanArguments};
use crate::exit::ExitState;
use crate::run_settings::{add_purge, settings};
use crate::target::{self, TargetRef};
use crate::{terminal, workloads};
use anyhow::bail;
use serde::Serialize;
use std::path::Path;
use steadfast_domain::sequence::{Amount, StepRole};
use steadfast_domain::settings::StartBelow;
use steadfast_domain::text::{counted, printable, shell_quoted};
use steadfast_domain::{
    Bytes, Device, Nanos, Procedure, PurgeChoice, PurgeMethod, Sequence, SequenceLoad,
    SequenceStep, Settings, Transport, ZoneModel, load_words,
};
use steadfast_engine::sim::SimulatedSsd;
use steadfast_engine::{Engine, StopSignal};
use steadfast_host::SystemRoots;
use steadfast_runner::forecast::{Outline, OutlineSection, RepeatedStep};

/// Phase of a purge in an outline.
const PURGE: &str = "purge";

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct PlanOutput {
    device: Device,
    /// The rate of sequential writes that was assumed, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_rate: Option<Bytes>,
    #[serde(flatten)]
    outline: Outline,
    /// The purge that a run would be asked for: a method, `auto` or `none`.
    purge: PurgeChoice,
    /// The vendor's purge command that a run would be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    purge_command: Option<String>,
    /// Temperature that the device must be below before the first load of each test.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_below: Option<StartBelow>,
    /// Value for `--yes-destroy`; absent for a simulated drive and for a file that the run would
    /// create.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation: Option<String>,
}

/// Detail of a printed plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlanDetail {
    /// Repeated steps are summarized.
    Summary,
    /// One line per section.
    EveryStep,
    /// Complete, as JSON.
    Json,
}

impl PlanDetail {
    /// Returns `Json` or `Summary`.
    pub fn new(json: bool) -> Self {
        if json { PlanDetail::Json } else { PlanDetail::Summary }
    }
}

/// The JSON output for several targets.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct PlanTargetsOutput {
    targets: Vec<PlanOutput>,
}

/// Prints the plan for each target.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let detail =
        if arguments.verbose { PlanDetail::EveryStep } else { PlanDetail::new(arguments.json) };
    let mut targets = Vec::new();
    for own in workloads::each_target(chosen)? {
        let target = own.target.names.first().map_or("", String::as_str);
        let device = target::foresee(target, chosen.target.size)?;
        let mut settings = settings(&own, 1, &device)?;
        add_purge(&mut settings, arguments.purge, arguments.purge_command.as_deref(), None)?;
        if let [_] = chosen.target.names.as_slice() {
            return show(&settings, device, arguments.assume, detail);
        }
        targets.push(PlanOutput::rehearse(&settings, device, arguments.assume)?);
    }
    if arguments.json {
        terminal::print_json(&PlanTargetsOutput { targets })?;
    } else {
        let texts: Vec<String> = targets.iter().map(|plan| text(plan, arguments.verbose)).collect();
        terminal::print(&texts.join("\n\n"))?;
    }
    Ok(ExitState::Done)
}

impl PlanOutput {
    /// Rehearses a run twice: with a steady state reached at once, and never.
    fn rehearse(
        settings: &Settings,
        device: Device,
        assume: Option<Bytes>,
    ) -> anyhow::Result<PlanOutput> {
        let procedure = steadfast_procedures::procedure(settings, geometry(&device), &[])?;
        refuse_impossible(procedure.as_ref(), &device)?;
        let mut outline = Outline::rehearse(procedure.as_ref(), assume.map(|bytes| bytes.0))?;
        if settings.purge == PurgeChoice::Method(PurgeMethod::Nothing) {
            outline.sections.retain(|section| section.phase != PURGE);
        }
        let confirmation = confirmation(&device);
        let assumed_rate = assume;
        Ok(PlanOutput {
            device,
            assumed_rate,
            outline,
            purge: settings.purge,
            purge_command: settings.purge_command.clone(),
            start_below: settings.start_below,
            confirmation,
        })
    }
}

/// Refuses steps that a simulated drive does not support, as a run on it would. The capabilities
/// of a real device are known only after arming.
fn refuse_impossible(procedure: &dyn Procedure, device: &Device) -> anyhow::Result<()> {
    if !device.is_simulated() {
        return Ok(());
    }
    let TargetRef::Simulated(spec) = target::find(&device.path, None)? else { return Ok(()) };
    let mut ssd = SimulatedSsd::new(spec, 1, StopSignal::default());
    match steadfast_runner::refusal(procedure, &mut |step| ssd.prepare(step)) {
        Some(why) => bail!("{}: {why}", device.path),
        None => Ok(()),
    }
}

/// Returns the confirmation that `--yes-destroy` needs for the target; `None` if it needs none.
fn confirmation(device: &Device) -> Option<String> {
    let exists = device.transport != Transport::File || Path::new(&device.path).exists();
    if !exists || device.is_simulated() {
        return None;
    }
    steadfast_host::confirmation(device, &SystemRoots::real()).ok()
}

/// Prints the plan of these settings for a device.
pub fn show(
    settings: &Settings,
    device: Device,
    assume: Option<Bytes>,
    detail: PlanDetail,
) -> anyhow::Result<ExitState> {
    let plan = PlanOutput::rehearse(settings, device, assume)?;
    if detail == PlanDetail::Json {
        terminal::print_json(&plan)?;
    } else if let Some(sequence) = &settings.sequence {
        terminal::print(&sequence_text(&plan, sequence))?;
    } else {
        terminal::print(&text(&plan, detail == PlanDetail::EveryStep))?;
    }
    Ok(ExitState::Done)
}

/// Prints the plans of runs at the same time, each with its target. `devices` are those of the
/// runs, in the same order.
pub fn show_targets(
    runs: &[RequestedRun<'_>],
    devices: &[Device],
    assume: Option<Bytes>,
    json: bool,
) -> anyhow::Result<ExitState> {
    let mut targets = Vec::new();
    for (RequestedRun { request, settings }, device) in runs.iter().zip(devices) {
        if json {
            targets.push(PlanOutput::rehearse(settings, device.clone(), assume)?);
        } else {
            terminal::print(&format!("{}:", request.target))?;
            show(settings, device.clone(), assume, PlanDetail::Summary)?;
        }
    }
    if json {
        terminal::print_json(&PlanTargetsOutput { targets })?;
    }
    Ok(ExitState::Done)
}

/// Formats one line that describes the device and what the run does to it.
fn head(device: &Device, alters: bool) -> String {
    let effect = if device.is_simulated() {
        "A simulated drive: nothing real is written. Times are virtual; the run itself takes seconds."
    } else if alters {
        "This would DESTROY everything on it."
    } else {
        "This would only read from it."
    };
    let zones = match device.zoned {
        Some(ZoneModel::HostManaged) if alters => {
            ", host-managed zones (writes that are not sequential are refused)".to_owned()
        }
        Some(zoned) => format!(", {zoned}"),
        None => String::new(),
    };
    format!(
        "{}: {}, {}, logical sector {} B{zones}. {effect}",
        device.path,
        printable(device.model.as_deref().unwrap_or("no model name")),
        device.capacity,
        device.logical_sector
    )
}

/// Formats the steps of another tool's sequence, one line each, and the remarks on differences
/// from that tool.
fn sequence_text(plan: &PlanOutput, sequence: &Sequence) -> String {
    let PlanOutput { device, outline, .. } = plan;
    let mut lines = vec![head(device, sequence.alters())];
    if sequence.alters() && !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(format!("\n{}: {}", sequence.tool, sequence.title));
    lines.extend((1..).zip(&sequence.steps).map(|(number, step)| step_line(number, step)));
    lines.extend(sequence.remarks.iter().map(|remark| format!("Note: {remark}")));
    let mut times = Vec::new();
    if outline.best_time_ns > Nanos::ZERO {
        times.push(outline.best_time_ns.to_string());
    }
    if outline.unknown_time_bytes > Bytes(0) {
        let bytes = outline.unknown_time_bytes;
        times.push(format!("the time to move {bytes} (--assume RATE includes it)"));
    }
    if times.is_empty() {
        times.push("depends on the device".to_owned());
    }
    lines.push(format!("\nTotal: {}.", times.join(", and ")));
    lines.push(closing(plan, sequence.alters()));
    lines.join("\n")
}

/// Returns the command that runs the plan. With several targets, each plan prints its own
/// confirmation.
fn closing(plan: &PlanOutput, alters: bool) -> String {
    let words: Vec<String> =
        cli::words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = run_command(&words);
    let is_confirmed = words.iter().any(|word| word.starts_with("--yes-destroy"));
    if let Some(confirmation) = &plan.confirmation
        && alters
        && !is_confirmed
    {
        command.extend(["--yes-destroy".to_owned(), shell_quoted(confirmation)]);
    }
    format!("To run it:\n  {}", command.join(" "))
}

/// Turns the command line of a plan into that of the run: `steadfast plan iops ...` into
/// `steadfast run iops ...`, and `steadfast fio job.fio --plan` into the same without `--plan`.
fn run_command(words: &[String]) -> Vec<String> {
    let mut command = vec!["steadfast".to_owned()];
    let mut rest = words.iter().skip(1).peekable();
    if rest.next_if(|word| *word == "plan").is_some() {
        command.push("run".to_owned());
    }
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--plan" | "--json" | "--verbose" => {}
            "--assume" => {
                rest.next();
            }
            word if word.starts_with("--assume=") => {}
            word => command.push(shell_quoted(word)),
        }
    }
    command
}

/// Formats one step: name, load and end condition. Concurrent loads get one line each.
fn step_line(number: usize, step: &SequenceStep) -> String {
    let times = match step.attempts() {
        1 => String::new(),
        many => format!(", best of {many}"),
    };
    let purpose = match (step.role, step.purge) {
        (StepRole::Prepare, _) => " (preparation)",
        (StepRole::Measure, true) => " (purged before)",
        (StepRole::Measure, false) => "",
    };
    let steady = step.steady.map(|steady| format!(", or {steady}")).unwrap_or_default();
    let times = format!("{times}{steady}");
    let head = format!("{number:>4}. {}{purpose}:", printable(&step.label));
    if step.concurrent.is_empty() {
        return format!("{head} {}{times}", load_text(&step.load));
    }
    let one = |(name, load)| format!("\n        {}: {}", printable(name), load_text(load));
    let loads: Vec<String> = step.loads().map(one).collect();
    format!("{head} at the same time{times}{}", loads.concat())
}

fn load_text(load: &SequenceLoad) -> String {
    let all: u64 = load.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let share = |weight: u32| f64::from(weight) * 100.0 / all.max(1) as f64;
    let streams: Vec<String> = match load.streams.as_slice() {
        [only] => vec![only.to_string()],
        many => many.iter().map(|s| format!("{s} {}", share_text(share(s.weight)))).collect(),
    };
    let until = load.until;
    let ends: Vec<String> = [
        until.time.map(|time| time.to_string()),
        until.bytes.map(amount),
        until.ios.map(|ios| format!("{ios} I/Os")),
        until.laps.map(|laps| format!("{laps} x the range")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let from = amount(load.extent.from);
    let extent = match load.extent.length {
        Some(length) => format!("{} from {from}", amount(length)),
        None => format!("from {from} to the end"),
    };
    let ramp = if load.ramp.0 > 0 { format!(", {} unmeasured", load.ramp) } else { String::new() };
    let delay =
        if load.delay.0 > 0 { format!(", begins after {}", load.delay) } else { String::new() };
    let pattern = load.data_pattern.as_ref();
    let more: String = [
        load_words::pace_text(&load.pace).map(|text| format!(", held to {text}")),
        load_words::alignment_text(&load.streams).map(|text| format!(", aligned to {text}")),
        load_words::zones_text(&load.zones, &load.streams).map(|text| format!(", {text}")),
        pattern
            .and_then(|pattern| load_words::content_text(pattern, &load.streams))
            .map(|text| format!(", writing {text}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "{} {}, {extent}, until {}{ramp}{delay}{more}",
        streams.join(", "),
        load.demand,
        ends.join(" or ")
    )
}

/// Formats a share in percent (`33 %`), with more digits below one percent (`0.3 %`, `0.004 %`).
fn share_text(percent: f64) -> String {
    let decimals = match percent {
        zero if zero <= 0.0 => 0,
        under if under < 1.0 => (-under.log10()).ceil() as usize,
        _ => 0,
    };
    format!("{percent:.decimals$} %")
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.binary(),
        Amount::Ppm(ppm) => format!("{} %", f64::from(ppm) / 1e4),
    }
}

fn text(plan: &PlanOutput, verbose: bool) -> String {
    let PlanOutput { device, outline, purge, .. } = plan;
    let mut lines = vec![head(device, true)];
    if !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(method_line(outline));
    lines.push(String::new());
    let mut plan_lines = plan_lines(plan, verbose);
    for line in plan_lines.iter_mut().filter(|line| line.phase == PURGE) {
        line.text = match purge {
            PurgeChoice::Auto => "the best method that the device supports (--purge)".to_owned(),
            PurgeChoice::Method(method) => match &plan.purge_command {
                Some(command) => format!("{method}: {command}"),
                None => method.to_string(),
            },
        };
        line.text.push_str("; its time depends on the device");
    }
    lines.extend(if verbose {
        plan_lines.iter().map(PlanLine::print).collect()
    } else {
        grouped(&plan_lines)
    });
    lines.push(String::new());
    if let Some(wanted) = &plan.start_below {
        lines.push(format!(
            "Before the first load of each test, and after each purge: waits until the device has \
             less than {} C, at most {} (--start-below).",
            wanted.celsius, wanted.limit
        ));
    }
    let mut more = Vec::new();
    if outline.sections.iter().any(|section| section.phase == PURGE) {
        more.push("the purge".to_owned());
    }
    if outline.unknown_time_bytes > Bytes(0) {
        let bytes = outline.unknown_time_bytes;
        more.push(format!("the time to write {bytes} (--assume RATE includes it)"));
    }
    let more = more.join(", and ");
    lines.push(match (known_total(plan), more.as_str()) {
        (Some(total), "") => format!("Total: {total}."),
        (Some(total), more) => format!("Total: {total}; plus {more}."),
        (None, "") => "Total: depends on the device.".to_owned(),
        (None, more) => format!("Total: {more}."),
    });
    lines.push(closing(plan, true));
    lines.join("\n")
}

/// Formats the time of the steps whose time is known; `None` if there are none.
fn known_total(plan: &PlanOutput) -> Option<String> {
    let outline = &plan.outline;
    let (best, worst) = (outline.best_time_ns, outline.worst_time_ns);
    if worst == Nanos::ZERO {
        return None;
    }
    let may_end_sooner = plan.assumed_rate.is_none()
        && outline.sections.iter().any(|section| section.bytes_at_most.is_some());
    let mut total = if best != worst {
        format!("{best} if steady at once, {worst} at most")
    } else if may_end_sooner {
        format!("{worst} at most")
    } else {
        worst.to_string()
    };
    if may_end_sooner {
        total.push_str(", less where bytes end a load sooner (--assume RATE estimates it)");
    }
    Some(total)
}

/// Maximum number of demands in the method line.
const DEMANDS_SHOWN: usize = 8;

/// Returns the line with demand and write cache of the measured steps.
fn method_line(outline: &Outline) -> String {
    let shown = outline.demands.iter().take(DEMANDS_SHOWN);
    let mut demands: Vec<String> = shown.map(ToString::to_string).collect();
    if outline.demands.len() > demands.len() {
        demands.push(format!("{} more", outline.demands.len() - demands.len()));
    }
    let demand = match demands.as_slice() {
        [] => "as captured".to_owned(),
        demands => demands.join(", "),
    };
    let cache = outline
        .write_cache
        .map_or_else(|| "left as it is".to_owned(), |write_cache| write_cache.to_string());
    format!("Demand (threads, outstanding I/Os each): {demand}. Write cache: {cache}.")
}

/// One line of a plan: a phase and what it does.
struct PlanLine {
    phase: String,
    text: String,
}

impl PlanLine {
    fn print(&self) -> String {
        format!("{:<8} {}", self.phase, self.text)
    }

    /// Splits a name that ends in a number with a unit, e.g. `wait-15s` into `wait` and `15s`.
    fn name_and_number(&self) -> Option<(&str, &str)> {
        let (name, number) = self.phase.rsplit_once('-')?;
        number.starts_with(|c: char| c.is_ascii_digit()).then_some((name, number))
    }

    /// Splits the description into words.
    fn words(&self) -> Vec<PlanWord<'_>> {
        let end = self.name_and_number().map_or("", |(_, end)| end);
        let number = end.trim_end_matches(|c: char| !c.is_ascii_digit());
        let words = self.text.split(' ');
        words.map(|text| PlanWord { text, is_number: text == number }).collect()
    }

    /// Returns true if both lines differ in their number only.
    fn is_alike(&self, other: &PlanLine) -> bool {
        let (Some((name, _)), Some((other_name, _))) =
            (self.name_and_number(), other.name_and_number())
        else {
            return false;
        };
        let (words, other_words) = (self.words(), other.words());
        let mut pairs = words.iter().zip(&other_words);
        name == other_name
            && words.len() == other_words.len()
            && pairs.all(|(a, b)| a.text == b.text || a.is_number && b.is_number)
    }
}

/// A word of a line's description.
struct PlanWord<'a> {
    text: &'a str,
    /// True if it equals the number at the end of the line's phase.
    is_number: bool,
}

/// Returns the lines of a plan in order; repetitions within a phase are merged.
fn plan_lines(plan: &PlanOutput, verbose: bool) -> Vec<PlanLine> {
    let outline = &plan.outline;
    let mut lines = Vec::new();
    let mut rest = outline.sections.as_slice();
    while let Some(first) = rest.first() {
        let rounds = rest.iter().take_while(|s| s.round > 0 && s.phase == first.phase).count();
        let (text, used) = if rounds > 0 {
            (rounds_text(first, plan, verbose), rounds)
        } else {
            let period = if verbose { Period::ONCE } else { period_of_sections(rest) };
            let used = period.length * period.times;
            let text = match period.times {
                1 => section_text(first, plan.assumed_rate),
                times => repeated_text(&rest[..period.length], times),
            };
            (text, used)
        };
        lines.push(PlanLine { phase: first.phase.clone(), text });
        rest = &rest[used..];
    }
    lines
}

/// Formats the lines. Phases that alternate and differ in a number only are grouped.
fn grouped(mut lines: &[PlanLine]) -> Vec<String> {
    let mut printed = Vec::new();
    while let Some(first) = lines.first() {
        let period = period_of(lines, PlanLine::is_alike);
        let used = period.length * period.times;
        match period.times {
            1 => printed.push(first.print()),
            _ => printed.extend(group_text(&lines[..used], period)),
        }
        lines = &lines[used..];
    }
    printed
}

/// Items at the beginning of a list that repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    /// Number of items that repeat.
    length: usize,
    /// Number of times that they occur.
    times: usize,
}

impl Period {
    /// One item that does not repeat.
    const ONCE: Period = Period { length: 1, times: 1 };
}

/// Maximum number of items that repeat.
const PERIOD_MAX: usize = 3;

/// Returns the shortest period at the beginning of `items`, which must not be empty.
fn period_of<T>(items: &[T], is_alike: impl Fn(&T, &T) -> bool) -> Period {
    for length in 1..=PERIOD_MAX.min(items.len()) {
        let first = &items[..length];
        let is_next = |next: &&[T]| {
            next.len() == length && first.iter().zip(*next).all(|(a, b)| is_alike(a, b))
        };
        // The first group is a repetition of itself, whatever `is_alike` says.
        let times = 1 + items.chunks(length).skip(1).take_while(is_next).count();
        if times > 1 {
            return Period { length, times };
        }
    }
    Period::ONCE
}

/// Returns the period of sections, e.g. a load and a pause, 360 times. Rounds do not count: they
/// have a line of their own.
fn period_of_sections(sections: &[OutlineSection]) -> Period {
    let period = period_of(sections, |a, b| a == b);
    let has_rounds = sections[..period.length].iter().any(|section| section.round > 0);
    if has_rounds { Period::ONCE } else { period }
}

/// Formats lines that repeat: one line per line of the first period, with the numbers of all
/// repetitions.
fn group_text(lines: &[PlanLine], period: Period) -> Vec<String> {
    let first = lines.first().map_or("", |line| &line.phase);
    let last = lines.last().map_or("", |line| &line.phase);
    let mut printed = vec![format!("{first} to {last}: {} times in turn", period.times)];
    for (at, line) in lines[..period.length].iter().enumerate() {
        let repetitions: Vec<_> =
            lines.iter().skip(at).step_by(period.length).map(PlanLine::words).collect();
        let mut words = Vec::new();
        for (index, word) in line.words().into_iter().enumerate() {
            let all: Vec<&str> = repetitions.iter().map(|words| words[index].text).collect();
            if all.iter().all(|other| *other == word.text) {
                words.push(word.text.to_owned());
            } else {
                words.push(all.join("/"));
            }
        }
        let name = line.name_and_number().map_or(line.phase.as_str(), |(name, _)| name);
        printed.push(format!("  {name:<8} {}", words.join(" ")));
    }
    printed
}

/// Formats repeating sections in one line.
fn repeated_text(sections: &[OutlineSection], times: usize) -> String {
    let each: Vec<String> = sections.iter().map(|section| section_text(section, None)).collect();
    format!("{times} times: {}", each.join("; "))
}

/// Formats the content and duration of a section.
fn section_text(section: &OutlineSection, assumed_rate: Option<Bytes>) -> String {
    let what = match (section.steps.first(), section.steps.last(), section.step_count()) {
        (Some(only), _, 1) => only.label.clone(),
        (Some(first), Some(last), steps) if first.label != last.label => {
            format!("{steps} steps, from '{}' to '{}'", first.label, last.label)
        }
        (Some(first), _, steps) => format!("{steps} steps of {}", first.label),
        (None, ..) => String::new(),
    };
    if let (Some(time), Some(bytes)) = (section.time_ns, section.bytes_at_most) {
        return match assumed_rate {
            None => format!("{what}: at most {time}, or {bytes} moved, whichever comes first"),
            Some(rate) => format!(
                "{what}: {time}, until {bytes} are moved at {rate}/s (--assume) or its time is over"
            ),
        };
    }
    match (section.time_ns, section.bytes) {
        (Some(time), _) => format!("{what}: {time}"),
        (None, Some(bytes)) => format!("{what}: {bytes} ({} bytes)", bytes.0),
        (None, None) => "time depends on the device".to_owned(),
    }
}

/// Returns the names of a round's steps; equal consecutive steps are merged.
fn step_names(steps: &[RepeatedStep], verbose: bool) -> Vec<String> {
    let name = |step: &RepeatedStep| match (step.times, verbose) {
        (1, _) => vec![step.label.clone()],
        (times, true) => vec![step.label.clone(); times as usize],
        (times, false) => vec![format!("{times} x {}", step.label)],
    };
    steps.iter().flat_map(name).collect()
}

/// Maximum number of steps per line, and on the line of their phase.
const STEPS_PER_LINE: usize = 8;
const STEPS_ON_PHASE_LINE: usize = 3;

/// Formats the rounds of a phase, which are all equal.
fn rounds_text(round: &OutlineSection, plan: &PlanOutput, verbose: bool) -> String {
    let (best, worst) = plan.outline.rounds.get(&round.phase).copied().unwrap_or_default();
    let byte_limit = match round.bytes_at_most {
        Some(bytes) => {
            format!(", or until {} are moved", limit_text(bytes, plan.device.capacity))
        }
        None => String::new(),
    };
    let rounds = if best == worst {
        counted(u64::from(best), "round")
    } else {
        format!("{best} to {worst} rounds")
    };
    let head = format!(
        "{rounds} of {}, {} each{byte_limit}:",
        counted(round.step_count() as u64, "step"),
        round.time_ns.unwrap_or_default()
    );
    let steps = step_names(&round.steps, verbose);
    if steps.len() <= STEPS_ON_PHASE_LINE {
        return format!("{head} {}", steps.join(", "));
    }
    let rows = steps.chunks(STEPS_PER_LINE).map(|row| format!("\n           {}", row.join(", ")));
    std::iter::once(head).chain(rows).collect()
}

/// Formats a limit in bytes, and in user capacities if it is a multiple of them.
fn limit_text(bytes: Bytes, capacity: Bytes) -> String {
    match bytes.0.checked_div(capacity.0) {
        Some(times) if times * capacity.0 == bytes.0 => {
            format!("{bytes} ({times} x the user capacity)")
        }
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    fn section(phase: &str, round: u32, steps: &[&str]) -> OutlineSection {
        OutlineSection {
            phase: phase.to_owned(),
            round,
            steps: steps.iter().map(|label| repeated_step(label, 1)).collect(),
            time_ns: Some(Nanos::from_secs(5)),
            bytes: None,
            bytes_at_most: None,
        }
    }

    fn repeated_step(label: &str, times: u32) -> RepeatedStep {
        RepeatedStep { label: label.to_owned(), times }
    }

    #[test]
    fn a_small_share_is_not_zero() {
        let shares = [100.0, 33.4, 1.0, 0.49, 0.05, 0.004].map(share_text);
        assert_eq!(shares, ["100 %", "33 %", "1 %", "0.5 %", "0.05 %", "0.004 %"]);
    }

    #[test]
    fn a_load_that_bytes_may_end_first_says_so() {
        let mut saturation = section("saturation", 0, &[]);
        saturation.steps = vec![repeated_step("W", 1440)];
        (saturation.time_ns, saturation.bytes_at_most) =
            (Some(Nanos::from_secs(86_400)), Some(Bytes(4_000_000_000)));
        let text = section_text(&saturation, None);
        assert_eq!(text, "1440 steps of W: at most 24 h, or 4.00 GB moved, whichever comes first");
        saturation.time_ns = Some(Nanos::from_secs(8));
        let text = section_text(&saturation, Some(Bytes(500_000_000)));
        assert!(text.contains("8 s, until 4.00 GB are moved at 500 MB/s"), "{text}");
    }

    #[test]
    fn a_limit_in_bytes_names_the_user_capacities() {
        let (capacity, odd) = (Bytes::gib(1), Bytes(4_000_000_000));
        assert_eq!(limit_text(Bytes::gib(4), capacity), "4.29 GB (4 x the user capacity)");
        assert_eq!(limit_text(odd, capacity), "4.00 GB");
        assert_eq!(limit_text(odd, Bytes(0)), "4.00 GB");
    }

    #[test]
    fn a_period_of_sections_is_one_line() {
        let (wait, idle) = (section("wait", 0, &["W"]), section("idle", 0, &["idle"]));
        let both = std::iter::repeat_n([wait.clone(), idle.clone()], 361);
        let mut all: Vec<OutlineSection> = both.flatten().collect();
        all.push(section("baseline", 0, &["W"]));
        let period = |length, times| Period { length, times };
        assert_eq!(period_of_sections(&all), period(2, 361));
        assert_eq!(period_of_sections(&all[722..]), Period::ONCE);
        assert_eq!(period_of_sections(&[wait.clone(), wait.clone(), idle.clone()]), period(1, 2));
        let round = section("rounds", 1, &["W"]);
        assert_eq!(
            period_of_sections(&[round.clone(), round]),
            Period::ONCE,
            "a line of their own"
        );
        assert_eq!(repeated_text(&[wait, idle], 361), "361 times: W: 5 s; idle: 5 s");
        let steps = [repeated_step("A", 1), repeated_step("B", 3), repeated_step("A", 1)];
        assert_eq!(step_names(&steps, false), ["A", "3 x B", "A"]);
        assert_eq!(step_names(&steps, true), ["A", "B", "B", "B", "A"]);
    }

    #[test]
    fn the_command_of_the_run_has_the_options_of_the_plan() {
        let run = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            run_command(&words).join(" ")
        };
        assert_eq!(
            run("/x/steadfast plan iops --assume 2GB --target plan --json --seed 7"),
            "steadfast run iops --target plan --seed 7"
        );
        assert_eq!(
            run("steadfast plan wsat --verbose --assume=2GB --purge none"),
            "steadfast run wsat --purge none"
        );
        assert_eq!(run("steadfast fio j.fio --plan --target T"), "steadfast fio j.fio --target T");
    }

    #[test]
    fn phases_that_differ_by_a_number_are_one_group() {
        let entry = |phase: &str, text: &str| PlanLine { phase: phase.into(), text: text.into() };
        let mut all = vec![entry("purge", "once")];
        for wait in ["5", "10", "15"] {
            all.push(entry(&format!("wait-{wait}s"), &format!("5 times: W: 5 s; idle: {wait} s")));
            all.push(entry(&format!("baseline-{wait}s"), "360 steps of W: 30 min"));
        }
        let expected = [
            "purge    once",
            "wait-5s to baseline-15s: 3 times in turn",
            "  wait     5 times: W: 5 s; idle: 5/10/15 s",
            "  baseline 360 steps of W: 30 min",
        ];
        assert_eq!(grouped(&all), expected);
        // Lines that differ in more than their numbers are not grouped.
        let segments =
            [entry("segment-1", "480 steps of SEQ"), entry("segment-2", "9 steps of RND")];
        assert_eq!(grouped(&segments).len(), 2);
    }
}
