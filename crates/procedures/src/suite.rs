//! A suite: several procedures on one device, in one plan, one run directory and
//! one report.
//!
//! The parts run one after the other, each as if it were alone: it settles the
//! conditions, purges and preconditions by its own rules, and draws from a seed of
//! its own. In the journal a part begins with `Note::Part`, and the phases of its
//! steps begin with its name: `iops/rounds`.

use crate::parameters::Parameter;
use crate::pts::disclosure::{self, Choices, Form, row, row_maybe};
use crate::pts::exhibits::{
    NOT_STEADY, NOT_STEADY_EARLIER, common_chapters, frame, page, plain_table, unfinished,
};
use crate::pts::method::{Method, active_range};
use crate::{Unsuitable, offer};
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, Page, Row, Table};
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{
    Bench, Caveat, CaveatKind, Conditions, Entry, Findings, Halt, Nanos, Note, Outcome, Place,
    Procedure, Purge, Record, Settings, Step,
};

/// What a user types.
pub const NAME: &str = "suite";

/// What a suite is made of.
const PROCEDURES: Parameter = Parameter {
    name: "procedures",
    default: "iops,throughput,latency",
    quick: None,
    meaning: "the procedures in their order, each once, with commas between; a parameter of one \
              of them is given as NAME=VALUE, or as PROCEDURE.NAME=VALUE to one alone",
    source: "our choice: the basic tests of PTS 2.0.x",
    unverified: false,
};

/// The parameters of a suite.
pub const PARAMETERS: &[Parameter] = &[PROCEDURES];

/// One procedure of a suite.
struct Part {
    name: String,
    procedure: Box<dyn Procedure>,
    settings: Settings,
}

/// Several procedures, ready to be conducted one after the other.
pub struct Suite {
    settings: Settings,
    geometry: Geometry,
    method: Method,
    active_range: ActiveRange,
    parts: Vec<Part>,
}

impl Suite {
    /// The suite that `settings` ask for. An amendment that names no loop is for
    /// the last part.
    ///
    /// # Errors
    /// Where a part is unknown, named twice or cannot be run as asked; where a
    /// parameter is of none of the parts.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let names = names(settings)?;
        check_parameters(settings, &names)?;
        let parts: Result<Vec<Part>, Unsuitable> = names
            .iter()
            .map(|name| {
                let of_part = part_settings(settings, name);
                let is_last = names.last() == Some(name);
                let amendments = part_amendments(amendments, name, is_last);
                let procedure = crate::procedure(&of_part, geometry, &amendments)
                    .map_err(|why| Unsuitable(format!("{name}: {why}")))?;
                Ok(Part { name: name.clone(), procedure, settings: of_part })
            })
            .collect();
        let method = Method::with_contiguous_range(settings.profile, settings.class);
        Ok(Suite {
            active_range: active_range(settings, &method, geometry)?,
            settings: settings.clone(),
            geometry,
            method,
            parts: parts?,
        })
    }
}

fn names(settings: &Settings) -> Result<Vec<String>, Unsuitable> {
    let mut names: Vec<String> = Vec::new();
    for name in PROCEDURES.value(settings).split(',').map(str::trim) {
        if name.is_empty() || name == NAME || names.iter().any(|other| other == name) {
            return Err(Unsuitable(format!(
                "a suite cannot be made of '{}'; name procedures other than suite, each once, \
                 with commas between, such as {}",
                PROCEDURES.value(settings),
                PROCEDURES.default
            )));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn has_parameter(procedure: &str, name: &str) -> bool {
    offer(procedure).is_some_and(|offer| offer.parameters.iter().any(|p| p.name == name))
}

/// A parameter's name without the procedure that it is for, if it is for this one.
fn name_for<'a>(parameter: &'a str, procedure: &str) -> Option<&'a str> {
    let name = match parameter.split_once('.') {
        Some((of, name)) => (of == procedure).then_some(name)?,
        None => parameter,
    };
    has_parameter(procedure, name).then_some(name)
}

fn check_parameters(settings: &Settings, names: &[String]) -> Result<(), Unsuitable> {
    let stranger = settings.parameters.keys().find(|parameter| {
        *parameter != PROCEDURES.name && names.iter().all(|n| name_for(parameter, n).is_none())
    });
    let Some(stranger) = stranger else { return Ok(()) };
    let known = names.iter().filter_map(|name| {
        let of: Vec<_> = offer(name)?.parameters.iter().map(|p| p.name).collect();
        (!of.is_empty()).then(|| format!("{name}: {}", of.join(", ")))
    });
    let known: Vec<String> = std::iter::once(PROCEDURES.name.to_owned()).chain(known).collect();
    Err(Unsuitable(format!(
        "no part of this suite has a parameter '{stranger}'; there are: {}",
        known.join("; ")
    )))
}

/// What a part is told: its own name, a seed of its own, its parameters. What is
/// given to it alone counts more than what is given to all.
fn part_settings(settings: &Settings, name: &str) -> Settings {
    let mut part = settings.clone();
    part.procedure = name.to_owned();
    part.seed = Place::new(name, 0, 0, "").seed(settings.seed);
    let given = |alone: bool| {
        settings.parameters.iter().filter(move |(given, _)| given.contains('.') == alone)
    };
    part.parameters = given(false)
        .chain(given(true))
        .filter_map(|(given, value)| Some((name_for(given, name)?.to_owned(), value.clone())))
        .collect();
    part
}

fn part_amendments(amendments: &[Amendment], name: &str, is_last: bool) -> Vec<Amendment> {
    amendments
        .iter()
        .filter_map(|amendment| match amendment {
            Amendment::RoundsMax(rounds) => is_last.then_some(Amendment::RoundsMax(*rounds)),
            Amendment::RoundsMaxOf { phase, rounds } => {
                let phase = own_phase(phase, name)?.to_owned();
                Some(Amendment::RoundsMaxOf { phase, rounds: *rounds })
            }
        })
        .collect()
}

/// A part's own name of a phase: `rounds` for `iops/rounds`.
fn own_phase<'a>(phase: &'a str, part: &str) -> Option<&'a str> {
    phase.strip_prefix(part)?.strip_prefix('/')
}

/// A bench as a part sees it: its phases are journalled under its name.
struct PartBench<'a> {
    bench: &'a mut dyn Bench,
    part: &'a str,
}

impl Bench for PartBench<'_> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        self.bench.settle(wanted)
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        self.bench.purge()
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        let mut step = step.clone();
        step.place.phase = format!("{}/{}", self.part, step.place.phase);
        self.bench.apply(&step)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.bench.idle(time)
    }
    fn note(&mut self, note: &Note) {
        self.bench.note(note);
    }
}

impl Procedure for Suite {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        for part in &self.parts {
            bench.note(&Note::Part(part.name.clone()));
            part.procedure.conduct(&mut PartBench { bench, part: &part.name })?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let studied: Vec<Studied<'_>> = self
            .parts
            .iter()
            .map(|part| Studied {
                name: &part.name,
                findings: part_record(part, record).map(|record| part.procedure.study(&record)),
            })
            .collect();
        self.findings(record, studied)
    }
}

/// A part and what it found; `None` where it has not begun.
struct Studied<'a> {
    name: &'a str,
    findings: Option<Findings>,
}

impl Studied<'_> {
    fn steady(&self) -> Option<bool> {
        self.findings.as_ref()?.verdict.as_ref().map(|verdict| verdict.steady)
    }
    fn title(&self) -> &str {
        self.findings.as_ref().map_or(self.name, |findings| findings.title.as_str())
    }
}

/// The part that begins with this entry.
fn begins(entry: &Entry) -> Option<&str> {
    let Entry::Noted(note) = entry else { return None };
    match &**note {
        Note::Part(name) => Some(name),
        _ => None,
    }
}

/// The record of one part, as if it had been run alone; `None` where it has not
/// begun.
fn part_record(part: &Part, record: &Record) -> Option<Record> {
    let first = record.entries.iter().position(|e| begins(e) == Some(&part.name))? + 1;
    let rest = &record.entries[first..];
    let next = rest.iter().position(|entry| begins(entry).is_some());
    let own = rest.get(..next.unwrap_or(rest.len())).unwrap_or_default();
    let mut entries: Vec<Entry> =
        record.entries.iter().filter(|e| is_general(e)).cloned().collect();
    entries.extend(own.iter().filter_map(|entry| own_entry(entry, &part.name)));
    if next.is_some() || record.has_ended() {
        entries.push(Entry::Ended);
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

/// What holds for every part: who ran the suite, on what, and what was checked.
fn is_general(entry: &Entry) -> bool {
    matches!(entry, Entry::Opened { .. } | Entry::Examined(_) | Entry::Amended(_))
}

/// A part's entry with its phase as the part knows it; how the run as a whole
/// began and ended is left out.
fn own_entry(entry: &Entry, part: &str) -> Option<Entry> {
    match entry {
        Entry::Applied { step, outcome } => {
            let mut step = step.clone();
            step.place.phase = own_phase(&step.place.phase, part)?.to_owned();
            Some(Entry::Applied { step, outcome: outcome.clone() })
        }
        Entry::Ended | Entry::Halted(_) | Entry::HostChange(_) | Entry::HostRestored(_) => None,
        general if is_general(general) => None,
        other => Some(other.clone()),
    }
}

/// From the first step's beginning to the last one's end.
fn span(record: &Record) -> Option<(u64, u64)> {
    let (_, first) = record.steps().next()?;
    let (_, last) = record.steps().last()?;
    let last = &last.measurement;
    let ended = last.began_unix_ms.saturating_add(last.elapsed.0 / 1_000_000);
    Some((first.measurement.began_unix_ms, ended))
}

impl Suite {
    fn findings(&self, record: &Record, studied: Vec<Studied<'_>>) -> Findings {
        let choices = self.choices();
        let table = parts_table(&studied);
        let findings = Findings {
            ending: ending(record, &studied),
            caveats: caveats(record, &studied),
            summary: vec![Exhibit::Table(table.clone())],
            form_pages: vec![page("Suite - Procedures", vec![Exhibit::Table(table)])],
            chapters: self.chapters(record),
            ..frame("Suite", &choices, record, self.header(record, &studied))
        };
        let last = self.parts.len().saturating_sub(1);
        let parts = studied.into_iter().enumerate().filter_map(|(number, part)| {
            let mut part = part.findings?;
            // What is said of the suite as a whole is not said again of each part.
            part.chapters.retain(|chapter| !findings.chapters.contains(chapter));
            if number < last {
                part.caveats.iter_mut().filter(|c| c.id == NOT_STEADY).for_each(|caveat| {
                    caveat.remedy = NOT_STEADY_EARLIER.into();
                });
            }
            Some(part)
        });
        let parts = parts.collect();
        Findings { parts, ..findings }
    }

    fn header(&self, record: &Record, studied: &[Studied<'_>]) -> FormHeader {
        let choices = self.choices();
        let each = |number: usize| {
            let part = studied.get(number);
            row_maybe(&format!("Procedure {}", number + 1), part.map(|p| p.title().to_owned()))
        };
        let mut set_up = disclosure::common_set_up_rows(&choices);
        set_up.push(row("Purge and preconditioning", "each procedure its own"));
        set_up.push(disclosure::note_row(&choices));
        let mut test_parameters = disclosure::common_test_rows(&choices);
        test_parameters.extend((0..studied.len()).map(each));
        let form = Form {
            test: "Suite",
            subtitle: "Several procedures on one device",
            set_up,
            test_parameters,
        };
        disclosure::form_header(form, &choices, record)
    }

    fn chapters(&self, record: &Record) -> Vec<Page> {
        let listing: Vec<String> = self
            .parts
            .iter()
            .map(|part| format!("{} (seed {})", part.name, part.settings.seed))
            .collect();
        let mut chapters = vec![page("Procedures", vec![Exhibit::Listing(listing.join("\n"))])];
        chapters.extend(common_chapters(&self.choices(), record));
        chapters
    }

    fn choices(&self) -> Choices<'_> {
        Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            active_range: self.active_range,
            demands: Vec::new(),
            recommended: None,
            step_time: self.settings.step_time.unwrap_or(self.method.step_time),
            block_sizes_left_out: &[],
            rounds_max: None,
            ending: disclosure::ending_text(self.settings.steady_state),
            judged: false,
            preconditioning: Vec::new(),
            measured_phases: Vec::new(),
            gap_effect: |_| "",
            quick: String::new(),
            tkperf: "",
        }
    }
}

/// How each part ended.
fn parts_table(studied: &[Studied<'_>]) -> Table {
    let rows = studied
        .iter()
        .map(|part| {
            let window = part
                .findings
                .as_ref()
                .and_then(|f| f.verdict.as_ref()?.window)
                .map(|(first, last)| format!("{first} - {last}"));
            let steady = part.steady().map(|steady| if steady { "yes" } else { "NO" });
            let ending = part.findings.as_ref().map_or("not begun", |f| f.ending.as_str());
            let invalid = part.findings.as_ref().map(|f| {
                f.caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates).count() as f64
            });
            Row {
                head: part.title().to_owned(),
                cells: vec![
                    steady.map_or(Cell::Missing, Cell::text),
                    window.map_or(Cell::Missing, Cell::Text),
                    Cell::number(invalid, 0),
                    Cell::text(ending),
                ],
                strong: part.steady() == Some(false),
            }
        })
        .collect();
    let columns = ["Steady", "Window", "Invalidating caveats", "Ending"];
    plain_table(
        "suite",
        "How each procedure ended",
        "Procedure",
        columns.map(str::to_owned).to_vec(),
        rows,
    )
}

/// Titles of the parts of which something is so.
fn titles(studied: &[Studied<'_>], is_so: impl Fn(&Studied<'_>) -> bool) -> String {
    let named: Vec<&str> = studied.iter().filter(|p| is_so(p)).map(Studied::title).collect();
    named.join(", ")
}

fn ending(record: &Record, studied: &[Studied<'_>]) -> String {
    let groups = [
        ("steady", titles(studied, |p| p.steady() == Some(true))),
        ("NOT steady", titles(studied, |p| p.steady() == Some(false))),
        (
            "without a steady state of their own",
            titles(studied, |p| p.findings.is_some() && p.steady().is_none()),
        ),
        ("not begun", titles(studied, |p| p.findings.is_none())),
    ];
    let told: Vec<String> = groups
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(state, names)| format!("{state}: {names}"))
        .collect();
    let state = if record.has_ended() { "All procedures ended" } else { "The run is not finished" };
    format!("{state}; {}.", told.join("; "))
}

fn caveats(record: &Record, studied: &[Studied<'_>]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    let unsteady = titles(studied, |part| part.steady() == Some(false));
    if record.has_ended() && !unsteady.is_empty() {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "part-not-steady",
            format!("STEADY STATE NOT ACHIEVED in: {unsteady}."),
            "See the part's own page; the last part can be gone on with by `steadfast resume \
             RUN_DIR --rounds N`.",
        ));
    }
    if studied.iter().filter(|part| part.findings.is_some()).count() > 1 {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            "suite-order",
            "The procedures ran one after the other, each from its own purge: all but the first \
             began on a device that the one before had warmed.",
            "",
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::scripted::{GEOMETRY, record, scripted, steps};
    use std::collections::HashSet;

    fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::new(NAME, 7);
        change(&mut settings);
        settings
    }

    fn suite(change: impl FnOnce(&mut Settings)) -> Suite {
        Suite::new(&settings(change), GEOMETRY, &[]).unwrap()
    }

    fn set(settings: &mut Settings, name: &str, value: &str) {
        settings.parameters.insert(name.to_owned(), value.to_owned());
    }

    fn refused(change: impl FnOnce(&mut Settings)) -> String {
        crate::procedure(&settings(change), GEOMETRY, &[]).err().unwrap().0
    }

    #[test]
    fn the_parts_run_in_their_order_under_their_names_with_seeds_of_their_own() {
        let mut bench = scripted(|_| 1000.0);
        suite(|_| ()).conduct(&mut bench).unwrap();
        let mut phases: Vec<&str> = Vec::new();
        let steps = steps(&bench.entries);
        for step in &steps {
            if phases.last() != Some(&step.place.phase.as_str()) {
                phases.push(&step.place.phase);
            }
        }
        assert_eq!(
            phases,
            [
                "iops/wipc",
                "iops/rounds",
                "throughput/wipc-1024K",
                "throughput/rounds-1024K",
                "throughput/wipc-128K",
                "throughput/rounds-128K",
                "latency/wipc",
                "latency/rounds",
                "latency/histogram"
            ]
        );
        let seeds: HashSet<u64> = steps.iter().map(|s| s.load.stimulus().unwrap().seed).collect();
        assert_eq!(seeds.len(), steps.len(), "also where two parts have the same place");
        let parts: Vec<_> = bench.entries.iter().filter_map(begins).collect();
        assert_eq!(parts, ["iops", "throughput", "latency"]);
    }

    #[test]
    fn each_part_is_studied_as_if_it_had_been_run_alone() {
        let suite = suite(|_| ());
        let mut bench = scripted(|_| 1000.0);
        suite.conduct(&mut bench).unwrap();
        let whole = suite.study(&record(&suite.settings, bench.entries));
        assert!(whole.verdict.is_none());
        assert_eq!(whole.ending, "All procedures ended; steady: IOPS, Throughput, Latency.");
        assert_eq!(whole.parts.len(), 3);
        let part = &suite.parts[0];
        let mut alone = scripted(|_| 1000.0);
        part.procedure.conduct(&mut alone).unwrap();
        let alone = part.procedure.study(&record(&part.settings, alone.entries));
        assert_eq!(whole.parts[0].form_pages, alone.form_pages);
        let titles = |findings: &Findings| -> Vec<String> {
            findings.chapters.iter().map(|chapter| chapter.title.clone()).collect()
        };
        let mut expected = titles(&alone);
        expected.retain(|title| title != "Host and device check");
        assert_eq!(titles(&whole.parts[0]), expected, "the check stands once in the report");
        assert_eq!(whole.parts[0].caveats, alone.caveats);
    }

    #[test]
    fn a_part_that_is_not_steady_is_named_and_the_next_one_runs() {
        let suite = suite(|s| set(s, "procedures", "iops, latency"));
        let mut bench = scripted(|step| match step.place.phase.as_str() {
            "iops/rounds" => 2f64.powi(step.place.round as i32),
            _ => 1000.0,
        });
        suite.conduct(&mut bench).unwrap();
        let findings = suite.study(&record(&suite.settings, bench.entries));
        assert_eq!(findings.ending, "All procedures ended; steady: Latency; NOT steady: IOPS.");
        let caveat = findings.caveats.iter().find(|c| c.id == "part-not-steady").unwrap();
        assert!(caveat.text.ends_with("in: IOPS."));
        let of_part = findings.parts[0].caveats.iter().find(|c| c.id == NOT_STEADY).unwrap();
        assert!(of_part.remedy.contains("--max-rounds"), "latency stands behind it");
    }

    #[test]
    fn a_record_that_broke_off_has_the_parts_that_began() {
        let suite = suite(|_| ());
        let mut bench = scripted(|_| 1000.0);
        suite.conduct(&mut bench).unwrap();
        let cut = bench.entries.iter().position(|entry| match entry {
            Entry::Applied { step, .. } => step.place.phase == "throughput/rounds-1024K",
            _ => false,
        });
        bench.entries.truncate(cut.unwrap() + 2);
        let mut broken = record(&suite.settings, bench.entries);
        broken.entries.pop();
        let findings = suite.study(&broken);
        assert_eq!(findings.parts.len(), 2);
        assert!(findings.ending.contains("not begun: latency"), "{}", findings.ending);
        let unfinished = |n: usize| findings.parts[n].caveats.iter().any(|c| c.id == "unfinished");
        assert!(!unfinished(0) && unfinished(1));
        let nothing = Record { entries: Vec::new(), ..broken };
        assert!(suite.study(&nothing).parts.is_empty());
    }

    #[test]
    fn parameters_reach_the_parts_that_have_them() {
        let suite = suite(|s| set(s, "latency.histogram-time", "5min"));
        assert_eq!(suite.parts[2].settings.parameters["histogram-time"], "5min");
        assert!(suite.parts[0].settings.parameters.is_empty());
        let why = refused(|s| set(s, "histogram", "5min"));
        assert!(why.contains("'histogram'") && why.contains("histogram-time"), "{why}");
        assert!(refused(|s| set(s, "iops.histogram-time", "5min")).contains("iops.histogram-time"));
    }

    #[test]
    fn amendments_reach_the_part_that_they_name_or_the_last() {
        let all = [
            Amendment::RoundsMaxOf { phase: "iops/rounds".into(), rounds: 6 },
            Amendment::RoundsMax(40),
        ];
        let own = Amendment::RoundsMaxOf { phase: "rounds".into(), rounds: 6 };
        assert_eq!(part_amendments(&all, "iops", false), [own]);
        assert_eq!(part_amendments(&all, "latency", true), [Amendment::RoundsMax(40)]);
        assert!(part_amendments(&all, "throughput", false).is_empty());
    }

    #[test]
    fn what_makes_no_suite_is_refused_with_the_reason() {
        for list in ["", "iops,", "iops,iops", "suite", "iops,suite"] {
            assert!(refused(|s| set(s, "procedures", list)).contains("each once"), "{list}");
        }
        assert!(refused(|s| set(s, "procedures", "iops,nothing")).contains("'nothing'"));
        let why = refused(|s| s.steady_state = "btw".parse().unwrap());
        assert!(why.starts_with("iops: ") && why.contains("WSAT"), "{why}");
    }
}
