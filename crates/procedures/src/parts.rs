//! A run of several parts on one device: the parts of a suite, or one test with
//! several active ranges.
//!
//! The parts run one after another, each as if it ran alone. In the journal, a part starts with
//! `Note::Part`, and the phases of its steps start with its name: `iops/rounds`. A part may
//! itself have parts: `iops/ar75-8GiB/rounds`.

use crate::exhibits::frame::unfinished;
use crate::exhibits::loops::NOT_STEADY_EARLIER;
use crate::report_notation::joined;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::settings::Amendment;
use steadfast_domain::{
    Bench, Caveat, CaveatKind, Conditions, EndState, Findings, Halt, JournalEntry, Nanos, Note,
    Outcome, Procedure, Purge, PurgeMethod, Record, Settings, Step, caveats as ids,
};

/// One procedure of several.
pub(crate) struct SuitePart {
    /// Name of the part, the prefix of its phases.
    pub name: String,
    pub procedure: Box<dyn Procedure>,
    /// Settings of the procedure, as if it ran alone.
    pub settings: Settings,
}

/// Returns the amendments that apply to a part, with the part's name removed from their phases.
/// An amendment that names no loop applies to the last part.
pub(crate) fn part_amendments(
    amendments: &[Amendment],
    name: &str,
    is_last: bool,
) -> Vec<Amendment> {
    amendments
        .iter()
        .filter_map(|amendment| match amendment {
            Amendment::RoundsMax(rounds) => is_last.then_some(Amendment::RoundsMax(*rounds)),
            Amendment::RoundsMaxOf { phase, rounds } => {
                let phase = own_name(phase, name)?.to_owned();
                Some(Amendment::RoundsMaxOf { phase, rounds: *rounds })
            }
        })
        .collect()
}

/// Removes the name of the part from the name of a phase or part: `rounds` for `iops/rounds`.
/// Returns `None` if the name belongs to another part.
fn own_name<'a>(name: &'a str, part: &str) -> Option<&'a str> {
    name.strip_prefix(part)?.strip_prefix('/')
}

/// Bench for a part: adds the name of the part to all phases and parts in the journal.
struct PartBench<'a> {
    bench: &'a mut dyn Bench,
    part: &'a str,
    /// True if the part starts from the state that the parts before it left.
    shares_preconditioning: bool,
}

impl PartBench<'_> {
    fn named(&self, name: &str) -> String {
        format!("{}/{name}", self.part)
    }
}

impl Bench for PartBench<'_> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        self.bench.settle(wanted)
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        if self.shares_preconditioning {
            return Ok(Purge::new(PurgeMethod::Nothing, Nanos::ZERO));
        }
        self.bench.purge()
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        let mut step = step.clone();
        step.place.phase = self.named(&step.place.phase);
        self.bench.apply(&step)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.bench.idle(time)
    }
    fn note(&mut self, note: &Note) {
        match note {
            Note::Part(name) => self.bench.note(&Note::Part(self.named(name))),
            other => self.bench.note(other),
        }
    }
}

pub(crate) fn conduct(parts: &[SuitePart], bench: &mut dyn Bench) -> Result<(), Halt> {
    parts.iter().try_for_each(|part| {
        bench.note(&Note::Part(part.name.clone()));
        let shares_preconditioning = part.settings.shares_preconditioning;
        let mut own = PartBench { bench, part: &part.name, shares_preconditioning };
        part.procedure.conduct(&mut own)
    })
}

pub(crate) struct PartFindings<'a> {
    pub name: &'a str,
    /// Findings of the part; `None` if it has not started.
    pub findings: Option<Findings>,
}

impl PartFindings<'_> {
    fn steady(&self) -> Option<bool> {
        self.end()?.steady()
    }
    /// Returns the end state, or `None` if the part has not started.
    fn end(&self) -> Option<EndState> {
        Some(self.findings.as_ref()?.whole_end())
    }
    /// Returns the title of the findings, or the name of the part if it has not started.
    pub fn title(&self) -> &str {
        self.findings.as_ref().map_or(self.name, |findings| findings.title.as_str())
    }
    /// Returns the first and last round of the judged window; `None` if there is none.
    fn window(&self) -> Option<(u32, u32)> {
        self.findings.as_ref()?.verdict.as_ref()?.window
    }
}

/// Counts the invalidating caveats of the findings and of their parts.
fn invalidating(findings: &Findings) -> usize {
    let own = findings.caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates).count();
    own + findings.parts.iter().map(invalidating).sum::<usize>()
}

pub(crate) fn studied<'a>(parts: &'a [SuitePart], record: &Record) -> Vec<PartFindings<'a>> {
    parts
        .iter()
        .map(|part| PartFindings {
            name: &part.name,
            findings: part_record(part, record).map(|record| part.procedure.study(&record)),
        })
        .collect()
}

/// Returns the name of the part that starts with this entry, or `None` if none does.
pub(crate) fn begins(entry: &JournalEntry) -> Option<&str> {
    let JournalEntry::Noted(note) = entry else { return None };
    match &**note {
        Note::Part(name) => Some(name),
        _ => None,
    }
}

/// Returns the record of one part as if it had run alone, or `None` if it has not started.
pub(crate) fn part_record(part: &SuitePart, record: &Record) -> Option<Record> {
    let first = record.entries.iter().position(|e| begins(e) == Some(&part.name))? + 1;
    let rest = &record.entries[first..];
    let is_another = |entry| begins(entry).is_some_and(|name| own_name(name, &part.name).is_none());
    let next = rest.iter().position(is_another);
    let own = rest.get(..next.unwrap_or(rest.len())).unwrap_or_default();
    let mut entries: Vec<JournalEntry> =
        record.entries.iter().filter(|e| is_general(e)).cloned().collect();
    entries.extend(own.iter().filter_map(|entry| own_entry(entry, &part.name)));
    if next.is_some() || record.has_ended() {
        entries.push(JournalEntry::Ended);
    }
    let mut of_part = Record {
        version: record.version,
        settings: part.settings.clone(),
        began_unix_ms: record.began_unix_ms,
        ended_unix_ms: record.ended_unix_ms,
        digest: record.digest.clone(),
        entries,
    };
    if let Some((began, ended)) = span(&of_part) {
        (of_part.began_unix_ms, of_part.ended_unix_ms) = (began, ended);
    }
    Some(of_part)
}

/// Returns true if the entry applies to all parts: opening, examination and amendments.
fn is_general(entry: &JournalEntry) -> bool {
    matches!(
        entry,
        JournalEntry::Opened { .. }
            | JournalEntry::Examined(_)
            | JournalEntry::DrivePages(_)
            | JournalEntry::Amended(_)
    )
}

/// Returns an entry with the part's name removed, or `None` for an entry of another part, of the
/// run as a whole, or about host changes.
fn own_entry(entry: &JournalEntry, part: &str) -> Option<JournalEntry> {
    if let Some(name) = begins(entry) {
        let name = own_name(name, part)?.to_owned();
        return Some(JournalEntry::Noted(Box::new(Note::Part(name))));
    }
    match entry {
        JournalEntry::Applied { step, outcome } => {
            let mut step = step.clone();
            step.place.phase = own_name(&step.place.phase, part)?.to_owned();
            Some(JournalEntry::Applied { step, outcome: outcome.clone() })
        }
        JournalEntry::Ended
        | JournalEntry::Halted(_)
        | JournalEntry::HostChange(_)
        | JournalEntry::HostRestored(_) => None,
        general if is_general(general) => None,
        other => Some(other.clone()),
    }
}

/// Returns the start of the first step and the end of the last one, in milliseconds since the
/// Unix epoch; `None` without steps.
fn span(record: &Record) -> Option<(u64, u64)> {
    let (_, first) = record.steps().next()?;
    let (_, last) = record.steps().last()?;
    let last = &last.measurement;
    let ended = last.began_unix_ms.saturating_add(last.elapsed.0 / 1_000_000);
    Some((first.measurement.began_unix_ms, ended))
}

/// Adds the findings of the parts to those of the whole. `last` is the part that ran last.
pub(crate) fn with_parts(
    whole: Findings,
    studied: Vec<PartFindings<'_>>,
    last: Option<&SuitePart>,
) -> Findings {
    let parts = studied.into_iter().filter_map(|PartFindings { name, findings }| {
        let mut part = findings?;
        // Chapters of the whole are not repeated in the parts.
        part.chapters.retain(|chapter| !whole.chapters.contains(chapter));
        if last.is_some_and(|last| last.name != name) {
            cannot_go_on(&mut part);
        }
        Some(part)
    });
    let parts = parts.collect();
    Findings { parts, ..whole }
}

/// Replaces the remedy of missing steady state: rounds cannot be added to a part that other parts
/// follow.
fn cannot_go_on(findings: &mut Findings) {
    let rounds = findings.caveats.iter_mut().filter(|c| c.id == ids::STEADY_STATE_NOT_ACHIEVED);
    rounds.for_each(|caveat| {
        caveat.remedy = NOT_STEADY_EARLIER.into();
    });
    findings.parts.iter_mut().for_each(cannot_go_on);
}

/// Returns the table of how each part ended; `heads` are the id of the table, its title and the
/// heading of its first column.
pub(crate) fn parts_table(heads: [&str; 3], studied: &[PartFindings<'_>]) -> Table {
    let rows = studied.iter().map(|part| {
        let window = part.window().map(|(first, last)| format!("{first} - {last}"));
        let ending = part.findings.as_ref().map_or("not started", |f| f.ending.as_str());
        let invalid = part.findings.as_ref().map(|f| invalidating(f) as f64);
        Row::new(
            part.title(),
            [
                part.steady().map_or(Cell::Missing, Cell::verdict),
                Cell::known(window),
                Cell::number(invalid, 0),
                Cell::text(ending),
            ],
        )
        .strong(part.steady() == Some(false))
    });
    let columns = ["Steady", "Window", "Invalidating caveats", "Ending"];
    let [id, title, corner] = heads;
    Table::new(id, title, corner).columns(columns).rows(rows)
}

/// Returns the titles of the parts that `keep` accepts, separated by commas.
fn titles(studied: &[PartFindings<'_>], keep: impl Fn(&PartFindings<'_>) -> bool) -> String {
    joined(studied.iter().filter(|part| keep(part)).map(PartFindings::title))
}

/// Returns one sentence on how the run ended. `noun` names the parts in the plural, such as
/// `procedures`.
pub(crate) fn ending(noun: &str, record: &Record, studied: &[PartFindings<'_>]) -> String {
    let groups = [
        ("steady", titles(studied, |p| p.steady() == Some(true))),
        ("NOT steady", titles(studied, |p| p.steady() == Some(false))),
        // Complete: finished, and nothing to judge.
        ("not judged for steady state", titles(studied, |p| p.end() == Some(EndState::Complete))),
        ("failed", titles(studied, |p| p.end() == Some(EndState::Failed))),
        ("not finished", titles(studied, |p| p.end() == Some(EndState::Unfinished))),
        ("not started", titles(studied, |p| p.findings.is_none())),
    ];
    let states: Vec<String> = groups
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(state, names)| format!("{state}: {names}"))
        .collect();
    let state = if record.has_ended() {
        format!("All {noun} ended")
    } else {
        "The run is not finished".to_owned()
    };
    format!("{state}; {}.", states.join("; "))
}

/// Returns the caveats of the run as a whole. Only the rounds of the part that ran `last` can be
/// continued. `options` formats the options that run the given parts again.
pub(crate) fn caveats(
    record: &Record,
    studied: &[PartFindings<'_>],
    last: Option<&SuitePart>,
    options: impl Fn(&[&str]) -> String,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    let unsteady = titles(studied, |part| part.steady() == Some(false));
    if record.has_ended() && !unsteady.is_empty() {
        let (running, over): (Vec<&PartFindings<'_>>, Vec<_>) = studied
            .iter()
            .filter(|part| part.steady() == Some(false))
            .partition(|part| last.is_some_and(|last| last.name == part.name));
        let mut remedies: Vec<String> = running
            .iter()
            .map(|part| {
                format!("Continue {} with `steadfast resume RUN_DIR --max-rounds N`.", part.title())
            })
            .collect();
        if !over.is_empty() {
            let names: Vec<&str> = over.iter().map(|part| part.name).collect();
            remedies.push(format!(
                "{} cannot be resumed, because the journal already holds later tests: run again \
                 with {}.",
                joined(over.iter().map(|part| part.title())),
                options(&names)
            ));
        }
        caveats.push(Caveat::invalidates(
            ids::PART_NOT_STEADY,
            format!("STEADY STATE NOT ACHIEVED in: {unsteady}."),
            remedies.join(" "),
        ));
    }
    caveats
}
