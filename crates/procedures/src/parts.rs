//! A run of several parts on one device: the parts of a suite, or one test with several active
//! ranges.
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
    Outcome, Procedure, Purge, PurgeMethod, Record, Settings, Step, Verdict, caveats as ids,
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
                let phase = without_part(phase, name)?.to_owned();
                Some(Amendment::RoundsMaxOf { phase, rounds: *rounds })
            }
        })
        .collect()
}

/// Removes the name of the part from the name of a phase or part: `rounds` for `iops/rounds`.
/// Returns `None` if the name belongs to another part.
fn without_part<'a>(name: &'a str, part: &str) -> Option<&'a str> {
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
    /// Returns the name of a phase or part of this part in the journal.
    fn with_part(&self, name: &str) -> String {
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
        step.place.phase = self.with_part(&step.place.phase);
        self.bench.apply(&step)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.bench.idle(time)
    }
    fn note(&mut self, note: &Note) {
        match note {
            Note::Part(name) => self.bench.note(&Note::Part(self.with_part(name))),
            other => self.bench.note(other),
        }
    }
}

/// Conducts the parts one after another, each under its name in the journal.
pub(crate) fn conduct(parts: &[SuitePart], bench: &mut dyn Bench) -> Result<(), Halt> {
    for part in parts {
        bench.note(&Note::Part(part.name.clone()));
        let shares_preconditioning = part.settings.shares_preconditioning;
        part.procedure.conduct(&mut PartBench {
            bench,
            part: &part.name,
            shares_preconditioning,
        })?;
    }
    Ok(())
}

/// A part of a run and what it found.
pub(crate) struct PartFindings<'a> {
    /// Name of the part.
    pub name: &'a str,
    /// Findings of the part; `None` if it has not started.
    pub findings: Option<Findings>,
}

impl PartFindings<'_> {
    /// Returns true if the part was steady; `None` if it was not judged.
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
    /// Returns the verdict on steady state; `None` if there is none or the part has not started.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.findings.as_ref()?.verdict.as_ref()
    }
}

/// Counts the invalidating caveats of the findings and of their parts.
fn count_invalidating(findings: &Findings) -> usize {
    let own = findings.caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates).count();
    own + findings.parts.iter().map(count_invalidating).sum::<usize>()
}

/// Computes the findings of every part, each from its own record.
pub(crate) fn study_parts<'a>(parts: &'a [SuitePart], record: &Record) -> Vec<PartFindings<'a>> {
    let mut part_findings = Vec::new();
    for part in parts {
        let findings = part_record(part, record).map(|record| part.procedure.study(&record));
        part_findings.push(PartFindings { name: &part.name, findings });
    }
    part_findings
}

/// Returns the name of the part that starts with this entry, or `None` if none does.
pub(crate) fn started_part(entry: &JournalEntry) -> Option<&str> {
    let JournalEntry::Noted(note) = entry else { return None };
    match &**note {
        Note::Part(name) => Some(name),
        _ => None,
    }
}

/// Returns the record of one part as if it had run alone, or `None` if it has not started.
pub(crate) fn part_record(part: &SuitePart, record: &Record) -> Option<Record> {
    let start = record.entries.iter().position(|e| started_part(e) == Some(&part.name))? + 1;
    let rest = &record.entries[start..];
    let starts_another_part =
        |entry| started_part(entry).is_some_and(|name| without_part(name, &part.name).is_none());
    let end = rest.iter().position(starts_another_part);
    let own = &rest[..end.unwrap_or(rest.len())];
    let mut entries: Vec<JournalEntry> =
        record.entries.iter().filter(|e| is_general(e)).cloned().collect();
    entries.extend(own.iter().filter_map(|entry| part_entry(entry, &part.name)));
    if end.is_some() || record.has_ended() {
        entries.push(JournalEntry::Ended);
    }
    let steps = || entries.iter().filter_map(JournalEntry::applied);
    let first = steps().next().map(|(_, outcome)| outcome.measurement.began_unix_ms);
    let last = steps().next_back().map(|(_, outcome)| {
        let last = &outcome.measurement;
        last.began_unix_ms.saturating_add(last.elapsed.0 / 1_000_000)
    });
    Some(Record {
        version: record.version,
        settings: part.settings.clone(),
        began_unix_ms: first.unwrap_or(record.began_unix_ms),
        ended_unix_ms: last.unwrap_or(record.ended_unix_ms),
        digest: record.digest.clone(),
        entries,
    })
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
fn part_entry(entry: &JournalEntry, part: &str) -> Option<JournalEntry> {
    if let Some(name) = started_part(entry) {
        let name = without_part(name, part)?.to_owned();
        return Some(JournalEntry::Noted(Box::new(Note::Part(name))));
    }
    match entry {
        JournalEntry::Applied { step, outcome } => {
            let mut step = step.clone();
            step.place.phase = without_part(&step.place.phase, part)?.to_owned();
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

/// Adds the findings of the parts to those of the whole. `last` is the part that ran last.
pub(crate) fn add_parts(
    mut whole: Findings,
    parts: Vec<PartFindings<'_>>,
    last: Option<&SuitePart>,
) -> Findings {
    for PartFindings { name, findings } in parts {
        let Some(mut part) = findings else { continue };
        // Chapters of the whole are not repeated in the parts.
        part.chapters.retain(|chapter| !whole.chapters.contains(chapter));
        if last.is_some_and(|last| last.name != name) {
            replace_resume_remedy(&mut part);
        }
        whole.parts.push(part);
    }
    whole
}

/// Replaces the remedy of missing steady state: rounds cannot be added to a part that other parts
/// follow.
fn replace_resume_remedy(findings: &mut Findings) {
    for caveat in &mut findings.caveats {
        if caveat.id == ids::STEADY_STATE_NOT_ACHIEVED {
            caveat.remedy = NOT_STEADY_EARLIER.into();
        }
    }
    findings.parts.iter_mut().for_each(replace_resume_remedy);
}

/// Texts of the table of how each part ended.
pub(crate) struct EndingsTable {
    pub id: &'static str,
    pub title: &'static str,
    /// Heading of the first column: what the parts are.
    pub corner: &'static str,
}

impl EndingsTable {
    /// Returns the table with one row per part.
    pub fn table(&self, parts: &[PartFindings<'_>]) -> Table {
        let rows = parts.iter().map(|part| {
            let window = part.verdict().and_then(|verdict| verdict.window);
            let window = window.map(|(first, last)| format!("{first} - {last}"));
            let ending = part.findings.as_ref().map_or("not started", |f| f.ending.as_str());
            let invalidating = part.findings.as_ref().map(|f| count_invalidating(f) as f64);
            Row::new(
                part.title(),
                [
                    part.steady().map_or(Cell::Missing, Cell::verdict),
                    Cell::known(window),
                    Cell::number(invalidating, 0),
                    Cell::text(ending),
                ],
            )
            .strong(part.steady() == Some(false))
        });
        Table::new(self.id, self.title, self.corner)
            .columns(["Steady", "Window", "Invalidating caveats", "Ending"])
            .rows(rows)
    }
}

/// Returns one sentence on how the run ended. `noun` names the parts in the plural, such as
/// `procedures`.
pub(crate) fn ending(noun: &str, record: &Record, parts: &[PartFindings<'_>]) -> String {
    let titles = |is_in_state: fn(&PartFindings<'_>) -> bool| {
        joined(parts.iter().filter(|part| is_in_state(part)).map(PartFindings::title))
    };
    let states = [
        ("steady", titles(|part| part.steady() == Some(true))),
        ("NOT steady", titles(|part| part.steady() == Some(false))),
        // Complete: finished, and nothing to judge.
        ("not judged for steady state", titles(|part| part.end() == Some(EndState::Complete))),
        ("failed", titles(|part| part.end() == Some(EndState::Failed))),
        ("not finished", titles(|part| part.end() == Some(EndState::Unfinished))),
        ("not started", titles(|part| part.findings.is_none())),
    ];
    let mut ending = if record.has_ended() {
        format!("All {noun} ended; ")
    } else {
        "The run is not finished; ".to_owned()
    };
    let states = states.iter().filter(|(_, titles)| !titles.is_empty());
    let states: Vec<String> = states.map(|(state, titles)| format!("{state}: {titles}")).collect();
    ending.push_str(&states.join("; "));
    ending + "."
}

/// Returns the caveats of the run as a whole. Only the rounds of the part that ran `last` can be
/// continued. `repeat_options` formats the options that run the given parts again.
pub(crate) fn caveats(
    record: &Record,
    parts: &[PartFindings<'_>],
    last: Option<&SuitePart>,
    repeat_options: impl Fn(&[&str]) -> String,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    let unsteady: Vec<&PartFindings<'_>> =
        parts.iter().filter(|part| part.steady() == Some(false)).collect();
    if !record.has_ended() || unsteady.is_empty() {
        return caveats;
    }
    let (resumable, earlier): (Vec<&PartFindings<'_>>, Vec<_>) =
        unsteady.iter().copied().partition(|part| last.is_some_and(|last| last.name == part.name));
    let mut remedies = Vec::new();
    for part in resumable {
        let title = part.title();
        remedies.push(format!("Continue {title} with `steadfast resume RUN_DIR --max-rounds N`."));
    }
    if !earlier.is_empty() {
        let names: Vec<&str> = earlier.iter().map(|part| part.name).collect();
        remedies.push(format!(
            "{} cannot be resumed, because the journal already holds later tests: run again with \
             {}.",
            joined(earlier.iter().map(|part| part.title())),
            repeat_options(&names)
        ));
    }
    let titles = joined(unsteady.iter().map(|part| part.title()));
    caveats.push(Caveat::invalidates(
        ids::PART_NOT_STEADY,
        format!("STEADY STATE NOT ACHIEVED in: {titles}."),
        remedies.join(" "),
    ));
    caveats
}
