//! Questions of a buyer, and where page one of a portrait takes its figures from: each is a key
//! figure or a metric of a part, computed once, by that part.

use super::answers::{self, AnswerFigures, FoundFigure};
use super::lengths::{COMMIT, FILL, IDLE_EXIT, IOPS, LATENCY, SERVICE_LEVEL};
use crate::exhibits::secondary::is_throttled;
use crate::load_curve;
use crate::parts::PartFindings;
use crate::report_notation::number;
use crate::suite::StudiedSuite;
use steadfast_domain::findings::{FrontQuestion, KeyFigure, Metric};
use steadfast_domain::measurement::LogDelta;
use steadfast_domain::{EndState, Findings, Record};

/// Source of a figure within the findings of its part.
#[derive(Debug, Clone, Copy)]
enum BuyerSource {
    /// Key figure with this ID.
    Figure(&'static str),
    /// First key figure whose ID begins so. Its ID and label contain a parameter and are kept.
    FirstFigure(&'static str),
    /// Last key figure whose ID begins so. Its ID and label contain a parameter and are kept.
    LastFigure(&'static str),
    /// Metric of all I/Os of a point.
    Metric {
        metric: &'static str,
        point: &'static str,
    },
    FirstPoint(&'static str),
    /// Metric of the last point that has it and whose name ends so.
    LastPoint {
        metric: &'static str,
        end: &'static str,
    },
}

struct BuyerFigure {
    id: &'static str,
    label: &'static str,
    unit: &'static str,
    part: &'static str,
    source: BuyerSource,
    /// Factor from the unit of the part to that of page one.
    factor: f64,
    /// Reason for a missing value if the part is complete.
    absent: AbsentValue,
}

/// Reason for a missing value of a complete part.
#[derive(Debug, Clone, Copy)]
enum AbsentValue {
    /// The value is unknown: a dash with the reason below.
    Unknown(&'static str),
    /// Words that stand in place of the value.
    Words(&'static str),
}

impl BuyerFigure {
    /// Creates a figure that is the part's key figure of the same ID.
    const fn new(
        part: &'static str,
        id: &'static str,
        label: &'static str,
        unit: &'static str,
    ) -> Self {
        let source = BuyerSource::Figure(id);
        BuyerFigure {
            id,
            label,
            unit,
            part,
            source,
            factor: 1.0,
            absent: AbsentValue::Unknown("not measured"),
        }
    }
    const fn from(self, source: BuyerSource) -> Self {
        BuyerFigure { source, ..self }
    }
    const fn metric(self, metric: &'static str, point: &'static str) -> Self {
        self.from(BuyerSource::Metric { metric, point })
    }
    /// Sets the reason for a missing value.
    const fn absent(self, absent: AbsentValue) -> Self {
        BuyerFigure { absent, ..self }
    }
    const fn in_watts(self) -> Self {
        BuyerFigure { factor: 1e-3, ..self }
    }
}

struct BuyerQuestion {
    question: &'static str,
    /// Returns the load behind the figures in one or two sentences.
    note: fn(&StudiedSuite<'_>) -> String,
    /// Returns the sentences of the answer; none if the figures for them are missing.
    sentences: fn(&AnswerFigures<'_>) -> Vec<String>,
    figures: &'static [BuyerFigure],
}

const NO_SENSOR: AbsentValue = AbsentValue::Unknown("no power sensor; --power-command reads one");
const NO_TEMPERATURE: AbsentValue = AbsentValue::Unknown("the drive reports no temperature");
const TOO_FEW: AbsentValue = AbsentValue::Words("too few I/Os");

use BuyerSource::{Figure, FirstFigure, FirstPoint, LastFigure, LastPoint};

const COPY: [BuyerFigure; 4] = [
    BuyerFigure::new(FILL, "full-speed", "Full speed", "MB/s"),
    BuyerFigure::new(FILL, "full-speed-amount", "At full speed for", "GB"),
    BuyerFigure::new(FILL, "next-speed", "After that", "MB/s"),
    BuyerFigure::new(FILL, "lowest-speed", "At its slowest", "MB/s"),
];

const AGAIN: [BuyerFigure; 2] = [
    BuyerFigure::new(FILL, "back-first", "Back after the shortest idle time", "GB")
        .from(FirstFigure("back-after-")),
    BuyerFigure::new(FILL, "back-last", "Back after the longest idle time", "GB")
        .from(LastFigure("back-after-")),
];

const RANDOM: [BuyerFigure; 3] = [
    BuyerFigure::new(IOPS, "random-read", "Random reads", "IOPS").metric("iops", "RND 4K R"),
    BuyerFigure::new(IOPS, "random-write", "Random writes", "IOPS").metric("iops", "RND 4K W"),
    BuyerFigure::new(IOPS, "random-mixed", "65 % reads, 35 % writes", "IOPS")
        .metric("iops", "RND 4K RW65"),
];

const RESPONSE: [BuyerFigure; 6] = [
    response("read-p50", "Read, typical").metric("p50", "RND 4K R"),
    response("read-p99", "Reads, 99 % within").metric("p99", "RND 4K R"),
    response("read-p99-99", "Reads, 99.99 % within").metric("p99-99", "RND 4K R"),
    response("write-p50", "Write, typical").metric("p50", "RND 4K W"),
    response("write-p99", "Writes, 99 % within").metric("p99", "RND 4K W"),
    response("write-p99-99", "Writes, 99.99 % within").metric("p99-99", "RND 4K W"),
];

const fn response(id: &'static str, label: &'static str) -> BuyerFigure {
    BuyerFigure::new(LATENCY, id, label, "ms").absent(TOO_FEW)
}

const DATABASE: [BuyerFigure; 4] = [
    BuyerFigure::new(COMMIT, "commits-1", "Commits, 1 session", "commits/s")
        .from(Figure("seq-flush-1-rate")),
    BuyerFigure::new(COMMIT, "commits-1-p99-9", "1 session, 99.9 % within", "ms")
        .from(Figure("seq-flush-1-p99-9"))
        .absent(TOO_FEW),
    BuyerFigure::new(COMMIT, "commits-16", "Commits, 16 sessions", "commits/s")
        .from(Figure("seq-flush-16-rate")),
    BuyerFigure::new(COMMIT, "commits-16-p99-9", "16 sessions, 99.9 % within", "ms")
        .from(Figure("seq-flush-16-p99-9"))
        .absent(TOO_FEW),
];

const LOAD: [BuyerFigure; 3] = [
    BuyerFigure::new(load_curve::NAME, "slo-iops", "Highest load within the limit", "IOPS")
        .absent(AbsentValue::Unknown("the lowest loads have too few I/Os")),
    BuyerFigure::new(load_curve::NAME, "maximum-iops", "Maximum load", "IOPS"),
    BuyerFigure::new(load_curve::NAME, "p99-at-50", "99 % within, at half the maximum", "ms")
        .absent(TOO_FEW),
];

const IDLE: [BuyerFigure; 3] = [
    BuyerFigure::new(IDLE_EXIT, "back-to-back", "Read without a pause, mean", "ms"),
    BuyerFigure::new(IDLE_EXIT, "after-1s", "Read after 1 s idle, mean", "ms"),
    BuyerFigure::new(IDLE_EXIT, "wake", "Read after the longest idle time, mean", "ms")
        .from(LastFigure("after-")),
];

const HEAT: [BuyerFigure; 2] = [
    BuyerFigure::new(FILL, "temperature-fill", "Temperature while filled", "°C")
        .from(FirstPoint("temperature"))
        .absent(NO_TEMPERATURE),
    BuyerFigure::new(IOPS, "temperature-write", "Temperature, random writes", "°C")
        .metric("temperature", "RND 4K W")
        .absent(NO_TEMPERATURE),
];

const POWER: [BuyerFigure; 4] = [
    BuyerFigure::new(IOPS, "power-write", "Power, random writes", "W")
        .metric("power", "RND 4K W")
        .in_watts()
        .absent(NO_SENSOR),
    BuyerFigure::new(IOPS, "power-read", "Power, random reads", "W")
        .metric("power", "RND 4K R")
        .in_watts()
        .absent(NO_SENSOR),
    BuyerFigure::new(IDLE_EXIT, "power-idle", "Power, single reads after pauses", "W")
        .from(LastPoint { metric: "power", end: " idle" })
        .in_watts()
        .absent(NO_SENSOR),
    BuyerFigure::new(IOPS, "reads-per-watt", "Random reads per watt", "IOPS/W")
        .metric("iops-per-watt", "RND 4K R")
        .absent(NO_SENSOR),
];

const QUESTIONS: [BuyerQuestion; 9] = [
    BuyerQuestion {
        question: "How much can I copy to it at full speed, and how fast after that?",
        note: |_| {
            "Large writes to the empty drive, one after another, until it is full.".to_owned()
        },
        sentences: answers::copying,
        figures: &COPY,
    },
    BuyerQuestion {
        question: "How soon is the fast amount back?",
        note: |_| "Amount written at full speed again after the drive was idle.".to_owned(),
        sentences: answers::recovery,
        figures: &AGAIN,
    },
    BuyerQuestion {
        question: "How many random accesses per second does it sustain?",
        note: |_| {
            "4 KiB each, many at a time, in steady state (IOPS: accesses per second).".to_owned()
        },
        sentences: answers::random_accesses,
        figures: &RANDOM,
    },
    BuyerQuestion {
        question: "How long does one access take?",
        note: |_| {
            "Random accesses of 4 KiB, one at a time, in steady state. Typical: half of them take \
             no longer."
                .to_owned()
        },
        sentences: answers::response_times,
        figures: &RESPONSE,
    },
    BuyerQuestion {
        question: "Is it good for a database?",
        note: |_| {
            "Commits: durable writes of 4 KiB to a log, each with a flush, by sessions that each \
             wait for their own."
                .to_owned()
        },
        sentences: answers::commits,
        figures: &DATABASE,
    },
    BuyerQuestion {
        question: "How much load can it take before it becomes slow?",
        note: load_note,
        sentences: answers::loads,
        figures: &LOAD,
    },
    BuyerQuestion {
        question: "Does it become slow when it was idle?",
        note: idle_note,
        sentences: answers::idling,
        figures: &IDLE,
    },
    BuyerQuestion {
        question: "Does it become slow when it is hot?",
        note: |_| "Large writes until the drive is full, and random writes of 4 KiB.".to_owned(),
        sentences: answers::heat,
        figures: &HEAT,
    },
    BuyerQuestion {
        question: "What does it cost in power?",
        note: |_| "Mean of a sensor during the same steps as above.".to_owned(),
        sentences: answers::power,
        figures: &POWER,
    },
];

/// Figures on the card, by the IDs of the tables above.
const CARD: [&str; 8] = [
    "full-speed", "full-speed-amount", "next-speed", "random-read", "random-write", "commits-1",
    "wake", "power-write",
];

/// Adds the questions, their answers and figures, and the figures of the card to page one.
pub(super) fn add_questions(findings: &mut Findings, suite: &StudiedSuite<'_>) {
    let front = &mut findings.front;
    let throttling = throttling_text(suite.record);
    let limit = suite.settings.slo.unwrap_or(SERVICE_LEVEL);
    for question in &QUESTIONS {
        let mut found = Vec::new();
        for wanted in question.figures {
            let part = suite.parts.iter().find(|part| part.name == wanted.part);
            let (figure, missing) = resolved(wanted, part);
            if CARD.contains(&wanted.id) {
                front.card.push(figure.id.clone());
            }
            let part = part.map(PartFindings::title).unwrap_or(wanted.part).to_owned();
            found.push(FoundFigure { wanted: wanted.id, figure, part, missing });
        }
        let figures = AnswerFigures { found: &found, throttling: &throttling, limit };
        front.questions.push(FrontQuestion {
            question: question.question.to_owned(),
            answer: figures.answer(question.sentences),
            answers: found.iter().map(FoundFigure::front_answer).collect(),
            note: (question.note)(suite),
        });
        front.figures.extend(found.into_iter().map(|found| found.figure));
    }
}

/// Returns a figure as page one shows it, with the reason if it has no value.
fn resolved(wanted: &BuyerFigure, part: Option<&PartFindings<'_>>) -> (KeyFigure, Option<String>) {
    let findings = part.and_then(|part| part.findings.as_ref());
    let none = KeyFigure::new(wanted.id, wanted.label, None, wanted.unit);
    let Some(findings) = findings else {
        return (none, Some(format!("{} has not begun", wanted.part)));
    };
    let figure = part_figure(wanted, findings).unwrap_or(none);
    let reason = match findings.whole_end() {
        EndState::Complete | EndState::Steady
            if figure.value.is_some() || figure.note.is_some() =>
        {
            return (figure, None);
        }
        EndState::Complete | EndState::Steady => match wanted.absent {
            AbsentValue::Words(words) => return (figure.with_note(Some(words.to_owned())), None),
            AbsentValue::Unknown(reason) => reason.to_owned(),
        },
        EndState::NotSteady => format!("{} did not reach steady state", wanted.part),
        EndState::Void => format!("{} has too few rounds without a gap", wanted.part),
        EndState::Failed => format!("{} failed", wanted.part),
        EndState::Unfinished => format!("{} is not finished", wanted.part),
    };
    (KeyFigure { value: None, range: None, note: None, ..figure }, Some(reason))
}

/// Returns the figure from the findings of its part; `None` if they do not have it.
fn part_figure(wanted: &BuyerFigure, part: &Findings) -> Option<KeyFigure> {
    let mut figures = part.front.figures.iter();
    let metrics = || part.metrics.iter().filter(|metric| metric.direction.is_none());
    let metric = |name: &'static str| metrics().filter(move |metric| metric.metric == name);
    match wanted.source {
        Figure(id) => {
            figures.find(|figure| figure.id == id).map(|figure| with_own_names(wanted, figure))
        }
        FirstFigure(begin) => {
            figures.find(|figure| figure.id.starts_with(begin)).map(with_parameter)
        }
        LastFigure(begin) => {
            figures.rfind(|figure| figure.id.starts_with(begin)).map(with_parameter)
        }
        BuyerSource::Metric { metric: name, point } => {
            metric(name).find(|metric| metric.point == point).map(|m| metric_figure(wanted, m))
        }
        FirstPoint(name) => metric(name).next().map(|m| metric_figure(wanted, m)),
        LastPoint { metric: name, end } => {
            metric(name).rfind(|m| m.point.ends_with(end)).map(|m| metric_figure(wanted, m))
        }
    }
}

/// Returns a figure with the ID and label of page one.
fn with_own_names(wanted: &BuyerFigure, figure: &KeyFigure) -> KeyFigure {
    let (id, label) = (wanted.id.to_owned(), wanted.label.to_owned());
    KeyFigure { id, label, ..figure.clone() }
}

/// Returns a figure with its own ID and label, in which a parameter stands: `After 3 s idle` is that
/// of a read.
fn with_parameter(figure: &KeyFigure) -> KeyFigure {
    let label = match figure.label.strip_prefix("After") {
        Some(rest) => format!("Read after{rest}"),
        None => figure.label.clone(),
    };
    KeyFigure { label, ..figure.clone() }
}

fn metric_figure(wanted: &BuyerFigure, metric: &Metric) -> KeyFigure {
    let range = metric.range.map(|range| range.scaled(wanted.factor));
    let value = Some(metric.value * wanted.factor);
    let figure = KeyFigure::new(wanted.id, wanted.label, value, wanted.unit).with_range(range);
    // Percentiles are read from histograms; sensors are no more exact.
    if wanted.unit == "IOPS" { figure } else { figure.of_buckets() }
}

fn load_note(suite: &StudiedSuite<'_>) -> String {
    let slo = suite.settings.slo.unwrap_or(SERVICE_LEVEL);
    format!(
        "Random accesses of 8 KiB, 65 % of them reads, offered at a rate. The limit: {} % of them \
         take at most {}.",
        slo.percent, slo.limit
    )
}

/// Returns what idle-exit found of power states.
fn idle_note(suite: &StudiedSuite<'_>) -> String {
    let mut note = "Mean of the first reads after a pause. They are few: one slow read decides a \
        mean."
        .to_owned();
    let part = suite.parts.iter().find(|part| part.name == IDLE_EXIT);
    let findings = part.and_then(|part| part.findings.as_ref());
    let Some(findings) = findings.filter(|findings| findings.end == EndState::Complete) else {
        return note;
    };
    let value =
        |wanted: &BuyerFigure| part_figure(wanted, findings).and_then(|figure| figure.value);
    let [_, after_short_idle, after_longest_idle] = &IDLE;
    if let (Some(short), Some(longest)) = (value(after_short_idle), value(after_longest_idle))
        && short > longest
    {
        note.push_str(" A higher mean after the shorter pause may be such a read.");
    }
    format!("{note} {}", findings.ending)
}

/// Returns what the drive's log reports of throttling, over all steps of the run.
fn throttling_text(record: &Record) -> String {
    let logs = record.steps().filter_map(|(_, outcome)| outcome.measurement.sensed.log.as_ref());
    let reports = |log: &&LogDelta| {
        log.throttle_events.is_some()
            || log.throttle_seconds.is_some()
            || log.critical_warning.is_some()
    };
    let logs: Vec<&LogDelta> = logs.filter(reports).collect();
    let throttled = logs.iter().filter(|log| is_throttled(log)).count();
    let count = |count: usize| number(count as f64, 0);
    if logs.is_empty() {
        "Unknown: the drive does not report whether it throttles.".to_owned()
    } else if throttled == 0 {
        format!("No: the drive reports no throttling in any of {} steps.", count(logs.len()))
    } else {
        format!(
            "YES: it throttled. The drive reports throttling, or a temperature above its limit, in {} of \
             {} steps.",
            count(throttled),
            count(logs.len())
        )
    }
}
