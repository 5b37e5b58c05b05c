//! Answers to a buyer's questions in plain sentences. They take their values from the figures that
//! `buyer` found and compute none.

use steadfast_domain::findings::{FrontAnswer, KeyFigure};
use steadfast_domain::{Nanos, ServiceLevel};

/// A figure of a question as page one shows it.
pub(super) struct FoundFigure {
    /// ID in the table of questions; the ID of the figure may contain a parameter.
    pub wanted: &'static str,
    pub figure: KeyFigure,
    pub part: String,
    /// Reason for a dash; `None` if the figure has a value or words in place of it.
    pub missing: Option<String>,
}

impl FoundFigure {
    pub fn front_answer(&self) -> FrontAnswer {
        FrontAnswer {
            figure: self.figure.id.clone(),
            part: self.part.clone(),
            missing: self.missing.clone(),
        }
    }
}

/// Figures of a question, and what its sentences take from the whole run.
pub(super) struct AnswerFigures<'a> {
    pub found: &'a [FoundFigure],
    /// Sentence on the throttling that the drive's log counted.
    pub throttling: &'a str,
    /// Limit of the load curve.
    pub limit: ServiceLevel,
}

impl AnswerFigures<'_> {
    /// Returns the answer: the sentences, or the reasons why there are none.
    pub fn answer(&self, sentences: fn(&AnswerFigures<'_>) -> Vec<String>) -> String {
        let sentences = sentences(self);
        if !sentences.is_empty() {
            return sentences.join(" ");
        }
        let mut reasons: Vec<&str> = Vec::new();
        for found in self.found {
            let reason = found.missing.as_deref().or(found.figure.note.as_deref());
            reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        }
        format!("Not answered: {}.", reasons.join("; "))
    }

    fn figure(&self, wanted: &str) -> Option<&KeyFigure> {
        self.found.iter().find(|found| found.wanted == wanted).map(|found| &found.figure)
    }

    /// Returns the value without its unit and without zeros at its end.
    fn number(&self, wanted: &str) -> Option<String> {
        let text = self.figure(wanted)?.number()?;
        if !text.contains('.') {
            return Some(text);
        }
        Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
    }

    fn value(&self, wanted: &str) -> Option<String> {
        Some(format!("{} {}", self.number(wanted)?, self.figure(wanted)?.unit))
    }

    /// Returns `VALUE UNIT TEXT` for each of these figures that has a value, joined to a sentence
    /// after `begin`; `None` if none has.
    fn listed_values(&self, begin: &str, figures: &[(&str, &str)]) -> Option<String> {
        let clause =
            |(wanted, text): &(&str, &str)| Some(format!("{} {text}", self.value(wanted)?));
        let clauses: Vec<String> = figures.iter().filter_map(clause).collect();
        (!clauses.is_empty()).then(|| format!("{begin} {}.", listed(&clauses)))
    }

    /// Returns true if words stand in place of the value.
    fn has_words(&self, wanted: &str) -> bool {
        self.figure(wanted).is_some_and(|figure| figure.value.is_none() && figure.note.is_some())
    }
}

pub(super) fn copying(figures: &AnswerFigures<'_>) -> Vec<String> {
    let Some(full) = figures.value("full-speed") else { return Vec::new() };
    if figures.has_words("next-speed") {
        return vec![format!("It writes at {full} and did not slow down within the drive's size.")];
    }
    let mut text = format!("It writes at {full}");
    if let Some(amount) = figures.value("full-speed-amount") {
        text.push_str(&format!(" for the first {amount}"));
    }
    let next = figures.value("next-speed");
    if let Some(next) = &next {
        text.push_str(&format!(", then at {next}"));
    }
    match figures.value("lowest-speed") {
        lowest if lowest.is_some() && lowest == next => text.push_str(", which is its slowest"),
        Some(lowest) => {
            let from = figures.figure("lowest-speed").and_then(|figure| figure.note.as_deref());
            let from = from.map_or(String::new(), |from| format!(", {from}"));
            text.push_str(&format!("; at its slowest {lowest}{from}"));
        }
        None => {}
    }
    vec![text + "."]
}

pub(super) fn recovery(figures: &AnswerFigures<'_>) -> Vec<String> {
    if ["back-first", "back-last"].iter().all(|wanted| figures.has_words(wanted)) {
        return vec!["It did not slow down, so there is nothing to wait for.".to_owned()];
    }
    let mut clauses: Vec<String> = Vec::new();
    for wanted in ["back-first", "back-last"] {
        let figure = figures.figure(wanted);
        let (Some(idle), Some(amount)) = (figure.and_then(idle_time), figures.value(wanted)) else {
            continue;
        };
        // A note means that the rate did not drop before all was written.
        let is_least = figure.is_some_and(|figure| figure.note.is_some());
        let least = if is_least { "at least " } else { "" };
        clauses.push(if clauses.is_empty() {
            format!("After {idle} without use it takes {least}{amount} at full speed again")
        } else {
            format!("after {idle}, {least}{amount}")
        });
    }
    if clauses.is_empty() {
        return Vec::new();
    }
    vec![clauses.join("; ") + "."]
}

pub(super) fn random_accesses(figures: &AnswerFigures<'_>) -> Vec<String> {
    let rates = [
        ("random-read", "random reads per second"),
        ("random-write", "random writes per second"),
        ("random-mixed", "accesses per second if 65 % are reads"),
    ];
    let clause = |(wanted, what): (&str, &str)| Some(format!("{} {what}", figures.number(wanted)?));
    let clauses: Vec<String> = rates.into_iter().filter_map(clause).collect();
    if clauses.is_empty() {
        return Vec::new();
    }
    vec![format!("It sustains {}.", listed(&clauses))]
}

pub(super) fn response_times(figures: &AnswerFigures<'_>) -> Vec<String> {
    let sentence = |name: &str, typical: &str, tails: [(&str, &str); 2]| {
        let mut text = format!("A {name} takes {} typically", figures.value(typical)?);
        // The rarest that enough I/Os prove.
        let tail = tails.iter().find_map(|(wanted, share)| Some((figures.value(wanted)?, share)));
        if let Some((time, share)) = tail {
            text.push_str(&format!("; {share} take at most {time}"));
        }
        Some(text + ".")
    };
    let reads = sentence("read", "read-p50", [("read-p99-99", "99.99 %"), ("read-p99", "99 %")]);
    let writes =
        sentence("write", "write-p50", [("write-p99-99", "99.99 %"), ("write-p99", "99 %")]);
    reads.into_iter().chain(writes).collect()
}

pub(super) fn commits(figures: &AnswerFigures<'_>) -> Vec<String> {
    let sentence = |who: &str, rate: &str, tail: &str| {
        let mut text = format!("{who} {} commits per second", figures.number(rate)?);
        if let Some(time) = figures.value(tail) {
            text.push_str(&format!("; 99.9 % of them take at most {time}"));
        }
        Some(text + ".")
    };
    let one = sentence("One session makes", "commits-1", "commits-1-p99-9");
    let many = sentence("16 sessions together make", "commits-16", "commits-16-p99-9");
    one.into_iter().chain(many).collect()
}

pub(super) fn loads(figures: &AnswerFigures<'_>) -> Vec<String> {
    let (percent, limit) = (figures.limit.percent, figures.limit.limit);
    let mut sentences = Vec::new();
    if let Some(rate) = figures.number("slo-iops") {
        sentences.push(format!(
            "Up to {rate} accesses per second, {percent} % of them take at most {limit}."
        ));
    } else if figures.has_words("slo-iops") {
        sentences.push(format!("At no measured load do {percent} % take at most {limit}."));
    }
    if let Some(rate) = figures.number("maximum-iops") {
        let mut text = format!("It completes at most {rate} accesses per second");
        if let Some(time) = figures.value("p99-at-50") {
            text.push_str(&format!("; at half of that, 99 % take at most {time}"));
        }
        sentences.push(text + ".");
    }
    sentences
}

pub(super) fn idling(figures: &AnswerFigures<'_>) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    let at_once = figures.value("back-to-back");
    clauses.extend(at_once.map(|time| format!("{time} without a pause")));
    for wanted in ["after-1s", "wake"] {
        let idle = figures.figure(wanted).and_then(idle_time);
        if let (Some(idle), Some(time)) = (idle, figures.value(wanted)) {
            clauses.push(format!("{time} after {idle} without use"));
        }
    }
    if clauses.is_empty() {
        return Vec::new();
    }
    vec![format!("On average a read takes {}.", listed(&clauses))]
}

pub(super) fn heat(figures: &AnswerFigures<'_>) -> Vec<String> {
    let temperatures =
        [("temperature-fill", "while it is filled"), ("temperature-write", "during random writes")];
    let mut sentences = vec![figures.throttling.to_owned()];
    sentences.extend(figures.listed_values("It reports", &temperatures));
    sentences
}

pub(super) fn power(figures: &AnswerFigures<'_>) -> Vec<String> {
    let loads = [
        ("power-write", "during random writes"),
        ("power-read", "during random reads"),
        ("power-idle", "with single reads after pauses"),
    ];
    let mut sentences = Vec::from_iter(figures.listed_values("It draws", &loads));
    if let Some(rate) = figures.number("reads-per-watt") {
        sentences.push(format!("For each watt it makes {rate} random reads per second."));
    }
    sentences
}

/// Returns the idle time in the ID of a figure, such as `back-after-30s`.
fn idle_time(figure: &KeyFigure) -> Option<Nanos> {
    figure.id.rsplit_once("after-")?.1.parse().ok()
}

/// Joins clauses with commas and `and`.
fn listed(clauses: &[String]) -> String {
    match clauses {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
