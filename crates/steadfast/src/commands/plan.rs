//! `steadfast plan`: what would run, in order, and how long.

use super::begin::geometry;
use crate::asked::settings;
use crate::cli::PlanArguments;
use crate::exit::ExitState;
use crate::{target, terminal, workloads};
use serde::Serialize;
use steadfast_domain::sequence::{Amount, StepRole};
use steadfast_domain::text::printable;
use steadfast_domain::{
    Bytes, Device, PurgeChoice, PurgeMethod, Sequence, SequenceLoad, SequenceStep, Settings,
};
use steadfast_runner::forecast::{Outline, Stretch};

/// What a purge is called in an outline.
const PURGE: &str = "purge";

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Answer {
    device: Device,
    #[serde(flatten)]
    outline: Outline,
}

/// How much of a plan is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// What repeats is summed up.
    Summary,
    /// A line for every stretch.
    EveryStep,
    /// All of it as JSON.
    Json,
}

impl Wanted {
    /// JSON, or what a person reads.
    pub fn of(json: bool) -> Self {
        if json { Wanted::Json } else { Wanted::Summary }
    }
}

/// The JSON output for several targets.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Answers {
    targets: Vec<Answer>,
}

/// The schema of the JSON output.
pub fn schema() -> schemars::Schema {
    terminal::schema_of::<Answer>()
}

/// The schema of the JSON output for several targets.
pub fn schema_of_several() -> schemars::Schema {
    terminal::schema_of::<Answers>()
}

/// Shows what would run on each target.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let wanted = match (arguments.json, arguments.verbose) {
        (true, _) => Wanted::Json,
        (false, true) => Wanted::EveryStep,
        (false, false) => Wanted::Summary,
    };
    let mut targets = Vec::new();
    for own in workloads::each_target(chosen)? {
        let target = own.target.first().map_or("", String::as_str);
        let device = target::foresee(target, chosen.size)?;
        let mut settings = settings(&own, 1, &device)?;
        settings.purge = arguments.purge;
        if let [_] = chosen.target.as_slice() {
            return show(&settings, device, arguments.assume, wanted);
        }
        targets.push(Answer::of(&settings, device, arguments.assume)?);
    }
    if arguments.json {
        terminal::print_json(&Answers { targets })?;
    } else {
        let texts: Vec<String> =
            targets.iter().map(|answer| text(answer, arguments.verbose)).collect();
        terminal::print(&texts.join("\n\n"))?;
    }
    Ok(ExitState::Done)
}

impl Answer {
    /// Rehearses a run twice, steady at once, and never.
    fn of(settings: &Settings, device: Device, assume: Option<Bytes>) -> anyhow::Result<Answer> {
        let procedure = steadfast_procedures::procedure(settings, geometry(&device), &[])?;
        let mut outline = Outline::of(procedure.as_ref(), assume.map(|bytes| bytes.0))?;
        if settings.purge == PurgeChoice::Method(PurgeMethod::Nothing) {
            outline.stretches.retain(|stretch| stretch.phase != PURGE);
        }
        Ok(Answer { device, outline })
    }
}

/// Shows what a run of these settings would do to a device.
pub fn show(
    settings: &Settings,
    device: Device,
    assume: Option<Bytes>,
    wanted: Wanted,
) -> anyhow::Result<ExitState> {
    let answer = Answer::of(settings, device, assume)?;
    match (wanted, settings.sequence.as_deref()) {
        (Wanted::Json, _) => terminal::print_json(&answer)?,
        (_, Some(sequence)) => terminal::print(&sequence_text(&answer, sequence))?,
        (_, None) => terminal::print(&text(&answer, wanted == Wanted::EveryStep))?,
    }
    Ok(ExitState::Done)
}

/// The device, and what would become of it.
fn head(device: &Device, alters: bool) -> String {
    let effect = match alters {
        true => "This would DESTROY everything on it.",
        false => "It would only be read.",
    };
    format!(
        "{}: {}, {}, logical sector {} B. {effect}",
        device.path,
        printable(device.model.as_deref().unwrap_or("no model name")),
        device.capacity,
        device.logical_sector
    )
}

/// The steps of another tool's sequence, one line each, and what was understood with a
/// difference.
fn sequence_text(answer: &Answer, sequence: &Sequence) -> String {
    let Answer { device, outline } = answer;
    let mut lines = vec![head(device, sequence.alters())];
    if sequence.alters() && !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(format!("\n{}: {}", sequence.tool, sequence.title));
    lines.extend((1..).zip(&sequence.steps).map(|(number, step)| step_line(number, step)));
    lines.extend(sequence.remarks.iter().map(|remark| format!("Note: {remark}")));
    let unknown = match outline.unknown_time_bytes {
        Bytes(0) => String::new(),
        bytes => format!(", and the time to move {bytes} (--assume RATE includes it)"),
    };
    lines.push(format!("\nTotal: {}{unknown}.", outline.best_time_ns));
    lines.join("\n")
}

/// One step: what it is called, what it applies, and until when; loads at the same time a
/// line each.
fn step_line(number: usize, step: &SequenceStep) -> String {
    let times = match step.attempts() {
        1 => String::new(),
        many => format!(", best of {many}"),
    };
    let purpose = match (step.role, step.purge) {
        (StepRole::Prepare, _) => " (prepares)",
        (StepRole::Measure, true) => " (purged before)",
        (StepRole::Measure, false) => "",
    };
    let head = format!("{number:>4}. {}{purpose}:", printable(&step.label));
    if step.beside.is_empty() {
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
        many => many.iter().map(|s| format!("{s} {:.0} %", share(s.weight))).collect(),
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
    let length = load.extent.length.map_or("to the end".to_owned(), amount);
    let ramp = if load.ramp.0 > 0 { format!(", {} unmeasured", load.ramp) } else { String::new() };
    format!(
        "{} {}, from {} {length}, until {}{ramp}",
        streams.join(", "),
        load.demand,
        amount(load.extent.from),
        ends.join(" or ")
    )
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.binary(),
        Amount::Ppm(ppm) => format!("{} %", f64::from(ppm) / 1e4),
    }
}

fn text(answer: &Answer, verbose: bool) -> String {
    let Answer { device, outline } = answer;
    let mut lines = vec![head(device, true)];
    if !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(String::new());
    let mut rest = outline.stretches.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|s| s.round > 0 && s.phase == first.phase).count();
        let (period, times) = if verbose || alike > 0 { (1, 1) } else { repeated(rest) };
        lines.extend(match (alike, times) {
            (0, 1) => vec![stretch_line(first)],
            (0, _) => repeated_lines(&rest[..period], times),
            _ => round_lines(first, outline, verbose),
        });
        rest = &rest[alike.max(period * times)..];
    }
    lines.push(String::new());
    let is_purged = outline.stretches.iter().any(|stretch| stretch.phase == PURGE);
    let writes = match outline.unknown_time_bytes {
        Bytes(0) => None,
        bytes => Some(format!("the time to write {bytes} (--assume RATE includes it)")),
    };
    let more: Vec<String> =
        is_purged.then(|| "the purge".to_owned()).into_iter().chain(writes).collect();
    let plus =
        if more.is_empty() { String::new() } else { format!("; plus {}", more.join(", and ")) };
    lines.push(format!(
        "Total: {} if steady at once, {} at most{plus}.",
        outline.best_time_ns, outline.worst_time_ns
    ));
    lines.join("\n")
}

/// Stretches that come again and again, at most so many of them in turn.
const PERIOD: usize = 3;

/// How many stretches at the beginning come again, and how often they are there: a load and
/// the pause behind it, 360 times. What is there once is one stretch, once.
fn repeated(stretches: &[Stretch]) -> (usize, usize) {
    let times = |period: usize| {
        let first = &stretches[..period];
        stretches.chunks(period).take_while(|next| *next == first).count()
    };
    let periods = 1..=PERIOD.min(stretches.len());
    let found = periods.map(|period| (period, times(period))).find(|(_, times)| *times > 1);
    let outside = |stretch: &Stretch| stretch.round == 0;
    found.filter(|(period, _)| stretches[..*period].iter().all(outside)).unwrap_or((1, 1))
}

/// Stretches that come again, once each.
fn repeated_lines(stretches: &[Stretch], times: usize) -> Vec<String> {
    let each = stretches.iter().map(|stretch| format!("  {}", stretch_line(stretch)));
    std::iter::once(format!("{times} times:")).chain(each).collect()
}

/// A stretch outside rounds.
fn stretch_line(stretch: &Stretch) -> String {
    let what = match stretch.steps.as_slice() {
        [only] => only.clone(),
        [first, ..] => format!("{} steps of {first}", stretch.steps.len()),
        [] => String::new(),
    };
    match (stretch.time_ns, stretch.bytes) {
        (Some(time), _) => format!("{:<8} {what}: {time}", stretch.phase),
        (None, Some(bytes)) => format!("{:<8} {what}: {bytes} ({} bytes)", stretch.phase, bytes.0),
        (None, None) => format!("{:<8} time depends on the device", stretch.phase),
    }
}

/// The steps of a round, those alike that follow one another counted.
fn counted(steps: &[String]) -> Vec<String> {
    let alike = steps.chunk_by(|a, b| a == b);
    let named = |group: &[String]| match group {
        [only] => only.clone(),
        group => format!("{} x {}", group.len(), group[0]),
    };
    alike.map(named).collect()
}

/// The rounds of a phase, all alike.
fn round_lines(round: &Stretch, outline: &Outline, verbose: bool) -> Vec<String> {
    let (best, worst) = outline.rounds.get(&round.phase).copied().unwrap_or_default();
    let head = format!(
        "{:<8} {best} to {worst} rounds of {} steps, {} each:",
        round.phase,
        round.steps.len(),
        round.time_ns.unwrap_or_default()
    );
    let steps = if verbose { round.steps.clone() } else { counted(&round.steps) };
    let rows = steps.chunks(8).map(|row| format!("           {}", row.join(", ")));
    std::iter::once(head).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    fn stretch(phase: &str, round: u32, steps: &[&str]) -> Stretch {
        Stretch {
            phase: phase.to_owned(),
            round,
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            time_ns: Some(Nanos::from_secs(5)),
            bytes: None,
        }
    }

    #[test]
    fn what_comes_again_is_told_once() {
        let (wait, idle) = (stretch("wait", 0, &["W"]), stretch("idle", 0, &["idle"]));
        let both = std::iter::repeat_n([wait.clone(), idle.clone()], 361);
        let mut all: Vec<Stretch> = both.flatten().collect();
        all.push(stretch("baseline", 0, &["W"]));
        assert_eq!(repeated(&all), (2, 361));
        assert_eq!(repeated(&all[722..]), (1, 1));
        assert_eq!(repeated(&[wait.clone(), wait.clone(), idle.clone()]), (1, 2));
        let round = stretch("rounds", 1, &["W"]);
        assert_eq!(repeated(&[round.clone(), round]), (1, 1), "rounds have lines of their own");
        let lines = repeated_lines(&[wait, idle], 361);
        assert_eq!(lines, ["361 times:", "  wait     W: 5 s", "  idle     idle: 5 s"]);
        assert_eq!(counted(&["A", "B", "B", "B", "A"].map(str::to_owned)), ["A", "3 x B", "A"]);
    }
}
