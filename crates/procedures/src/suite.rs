//! A suite: several procedures on one device, in one plan, one run directory and
//! one report.
//!
//! The parts run one after another, each as if it ran alone: it sets the conditions,
//! purges and preconditions by its own rules, and has its own seed.

use crate::catalogue::{SINGLE, find, made, parameters_of};
use crate::exhibits::disclosure::{self, Form};
use crate::exhibits::frame::{common_chapters, frame};
use crate::exhibits::pages::page;
use crate::ground::Ground;
use crate::ground::asked::Asked;
use crate::ground::choices::Choices;
use crate::ground::ranges;
use crate::offer::{ProcedureSpec, boxed};
use crate::parameters::Parameter;
use crate::parts::{self, Part, Studied, part_amendments};
use crate::pts::method;
use crate::unsuitable::Unsuitable;
use crate::words::own;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Exhibit, FormHeader, Origin, Page, Setting};
use steadfast_domain::text::excerpt;
use steadfast_domain::{
    Bench, Caveat, CaveatKind, Findings, Halt, Place, Procedure, Record, Settings,
};

/// Name of the procedure on the command line.
pub const NAME: &str = "suite";

/// Parameter `procedures`: the parts of the suite, in order.
const PROCEDURES: Parameter = Parameter {
    name: "procedures",
    default: "iops,throughput,latency",
    meaning: "the procedures in order, each once, separated by commas; give a parameter as \
        NAME=VALUE, or as PROCEDURE.NAME=VALUE for one procedure only",
    source: "our choice: the basic tests of PTS 2.0.x",
    ..Parameter::PLAIN
};

/// Entry of the suite in the list of procedures.
pub(crate) const OFFER: ProcedureSpec = ProcedureSpec {
    name: NAME,
    summary: "several procedures on one device, in one plan and one report",
    parameters: &[PROCEDURES],
    make: |asked| boxed(Suite::new(asked)),
};

/// Several procedures that run one after another.
pub struct Suite {
    ground: Ground,
    parts: Vec<Part>,
}

impl Suite {
    /// Builds the suite that the settings ask for. An amendment that names no loop applies to the
    /// last part.
    ///
    /// # Errors
    /// Returns [`Unsuitable`] if a part is unknown, listed twice or cannot run with these
    /// settings, or if no part has one of the given parameters.
    pub fn new(asked: &Asked<'_>) -> Result<Self, Unsuitable> {
        let names = names(asked.settings)?;
        check_parameters(asked.settings, &names)?;
        let parts: Result<Vec<Part>, Unsuitable> =
            names.iter().map(|name| part(asked, name, names.last() == Some(name))).collect();
        Ok(Suite { parts: parts?, ground: method::ground(asked)? })
    }
}

fn part(asked: &Asked<'_>, name: &str, is_last: bool) -> Result<Part, Unsuitable> {
    let settings = part_settings(asked.settings, name);
    let amendments = part_amendments(asked.amendments, name, is_last);
    let procedure = made(&settings, asked.geometry, &amendments)
        .map_err(|why| Unsuitable(format!("{name}: {why}")))?;
    Ok(Part { name: name.to_owned(), procedure, settings })
}

fn names(settings: &Settings) -> Result<Vec<String>, Unsuitable> {
    let mut names: Vec<String> = Vec::new();
    for name in PROCEDURES.value(settings).split(',').map(str::trim) {
        if name.is_empty() || name == NAME || names.iter().any(|other| other == name) {
            return Err(Unsuitable(format!(
                "a suite cannot be made of '{}'; name procedures other than suite, each once, \
                 separated by commas, such as {}",
                PROCEDURES.value(settings),
                PROCEDURES.default
            )));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Returns the names of the parameters that a procedure has with these settings; empty if there
/// is no such procedure.
fn parameter_names(procedure: &str, settings: &Settings) -> Vec<&'static str> {
    let known = find(SINGLE, procedure).map(|offer| parameters_of(offer, settings));
    known.unwrap_or_default().iter().map(|parameter| parameter.name).collect()
}

/// Returns the name of a parameter without its `PROCEDURE.` prefix, or `None` if this procedure
/// does not have the parameter or the prefix names another procedure.
fn name_for<'a>(parameter: &'a str, procedure: &str, settings: &Settings) -> Option<&'a str> {
    let name = match parameter.split_once('.') {
        Some((of, name)) => (of == procedure).then_some(name)?,
        None => parameter,
    };
    parameter_names(procedure, settings).contains(&name).then_some(name)
}

fn check_parameters(settings: &Settings, names: &[String]) -> Result<(), Unsuitable> {
    let unknown = settings.parameters.keys().find(|parameter| {
        *parameter != PROCEDURES.name
            && names.iter().all(|n| name_for(parameter, n, settings).is_none())
    });
    let Some(unknown) = unknown else { return Ok(()) };
    let known = names.iter().filter_map(|name| {
        let of = parameter_names(name, settings);
        (!of.is_empty()).then(|| format!("{name}: {}", of.join(", ")))
    });
    let known: Vec<String> = std::iter::once(PROCEDURES.name.to_owned()).chain(known).collect();
    Err(Unsuitable(format!(
        "no part of this suite has a parameter '{unknown}'; its parameters are: {}",
        known.join("; "),
        unknown = excerpt(unknown)
    )))
}

/// Returns the settings of a part: its own name, seed and parameters. `PROCEDURE.NAME=VALUE` for
/// this part overrides `NAME=VALUE` for all parts.
fn part_settings(settings: &Settings, name: &str) -> Settings {
    let mut part = settings.clone();
    part.procedure = name.to_owned();
    part.seed = Place::new(name, 0, 0, "").seed(settings.seed);
    let given = |alone: bool| {
        settings.parameters.iter().filter(move |(given, _)| given.contains('.') == alone)
    };
    part.parameters = given(false)
        .chain(given(true))
        .filter_map(|(given, value)| {
            Some((name_for(given, name, settings)?.to_owned(), value.clone()))
        })
        .collect();
    part
}

impl Procedure for Suite {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        parts::conduct(&self.parts, bench)
    }

    fn study(&self, record: &Record) -> Findings {
        let studied = parts::studied(&self.parts, record);
        let heads = ["suite", "How each procedure ended", "Procedure"];
        let table = parts::parts_table(heads, &studied);
        let findings = Findings {
            ending: parts::ending("procedures", record, &studied),
            caveats: caveats(record, &studied, self.parts.last()),
            summary: vec![Exhibit::Table(table.clone())],
            form_pages: vec![page("Suite - Procedures", vec![Exhibit::Table(table)])],
            chapters: self.chapters(record),
            ..frame("Suite", &self.choices(), record, self.header(record, &studied))
        };
        parts::with_parts(findings, studied, self.parts.last())
    }
}

impl Suite {
    fn header(&self, record: &Record, studied: &[Studied<'_>]) -> FormHeader {
        let choices = self.choices();
        let origin = PROCEDURES.origin(&self.ground.settings);
        let each = |number: usize| {
            let (number, title) = (number + 1, studied.get(number).map(Studied::title));
            let (id, label) = (format!("procedure-{number}"), format!("Procedure {number}"));
            Setting::new(&id, &label, title, origin)
        };
        let mut set_up = disclosure::common_set_up_rows(&choices);
        let own = "each procedure its own";
        set_up.push(Setting::method("set-up", "Purge and preconditioning", own, Origin::Profile));
        set_up.push(disclosure::note_row(&choices));
        let mut test_parameters = disclosure::common_test_rows(&choices);
        test_parameters.extend((0..studied.len()).map(each));
        let form = Form {
            test: "Suite".into(),
            subtitle: "Several procedures on one device".into(),
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
        let settings = &self.ground.settings;
        let mut choices = Choices {
            alignment: None,
            ending: disclosure::ending_text(settings.steady_state),
            preconditioning_text: Some(own(String::new())),
            ..self.ground.choices()
        };
        // Each part has its own active ranges.
        if ranges::is_asked(settings) {
            choices.covered.clear();
        }
        choices
    }
}

fn caveats(record: &Record, studied: &[Studied<'_>], last: Option<&Part>) -> Vec<Caveat> {
    let options = |names: &[&str]| format!("`--procedures {} --max-rounds N`", names.join(","));
    let mut caveats = parts::caveats(record, studied, last, options);
    if studied.iter().filter(|part| part.findings.is_some()).count() > 1 {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::SUITE_ORDER,
            "The procedures ran one after another, each starting with its own purge. Each one \
             after the first began on a device that the previous one had warmed.",
            "",
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::asked;
    use crate::parts::begins;
    use crate::testing::scripted::{GEOMETRY, record, scripted, steps};
    use std::collections::HashSet;
    use steadfast_domain::settings::Amendment;
    use steadfast_domain::{Class, EndState, Entry, Profile, Step};

    fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::new(NAME, 7);
        change(&mut settings);
        settings
    }

    fn suite(change: impl FnOnce(&mut Settings)) -> Suite {
        Suite::new(&asked(&OFFER, &settings(change), GEOMETRY, &[])).unwrap()
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
        let whole = suite.study(&record(&suite.ground.settings, bench.entries));
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
        let findings = suite.study(&record(&suite.ground.settings, bench.entries));
        assert_eq!(findings.ending, "All procedures ended; steady: Latency; NOT steady: IOPS.");
        assert_eq!(findings.whole_end(), EndState::NotSteady, "the exit code goes by it");
        let caveat = findings.caveats.iter().find(|c| c.id == "part-not-steady").unwrap();
        assert!(caveat.text.ends_with("in: IOPS."));
        // Latency stands behind it in the journal.
        assert!(caveat.remedy.contains("`--procedures iops --max-rounds N`"), "{}", caveat.remedy);
        assert!(!caveat.remedy.contains("steadfast resume"), "{}", caveat.remedy);
        let of_part = findings.parts[0]
            .caveats
            .iter()
            .find(|c| c.id == ids::STEADY_STATE_NOT_ACHIEVED)
            .unwrap();
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
        let mut broken = record(&suite.ground.settings, bench.entries);
        broken.entries.pop();
        let findings = suite.study(&broken);
        assert_eq!(findings.parts.len(), 2);
        assert!(findings.ending.contains("not started: latency"), "{}", findings.ending);
        assert!(findings.ending.contains("not finished: Throughput"), "{}", findings.ending);
        let ends: Vec<EndState> = findings.parts.iter().map(|part| part.end).collect();
        assert_eq!(ends, [EndState::Steady, EndState::Unfinished]);
        assert_eq!(findings.whole_end(), EndState::Unfinished);
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

    /// With PTS-C 1.x, a part of the suite has parts itself.
    #[test]
    fn a_part_may_have_parts_of_its_own() {
        let client_1 = |s: &mut Settings| {
            (s.profile, s.class) = (Profile::Pts11, Class::Client);
            set(s, "procedures", "throughput,latency");
            set(s, "ar-amount", "64MiB");
            set(s, "ar-segments", "16");
            set(s, "latency.ar-segments", "32");
        };
        let suite = suite(client_1);
        let mut bench = scripted(|step| match step.place.phase.as_str() {
            "throughput/ar75-64MiB/rounds-1024K" => 2f64.powi(step.place.round as i32),
            _ => 1000.0,
        });
        suite.conduct(&mut bench).unwrap();
        let begun: Vec<_> = bench.entries.iter().filter_map(begins).map(str::to_owned).collect();
        assert_eq!(
            begun,
            [
                "throughput",
                "throughput/ar100-64MiB",
                "throughput/ar75-64MiB",
                "latency",
                "latency/ar100-64MiB",
                "latency/ar75-64MiB"
            ]
        );
        let count = |step: &Step| step.load.stimulus().unwrap().active_range.segments;
        let counts = |phase: &str| -> Vec<Option<u32>> {
            let all = steps(&bench.entries);
            let of_phase = all.iter().filter(|step| step.place.phase == phase);
            of_phase.take(1).map(|step| count(step).map(|s| s.count)).collect()
        };
        assert_eq!(counts("throughput/ar75-64MiB/rounds-1024K"), [Some(16)]);
        assert_eq!(counts("latency/ar75-64MiB/rounds"), [Some(32)]);
        assert_eq!(counts("latency/ar75-64MiB/wipc"), [None]);

        let whole = suite.study(&record(&suite.ground.settings, bench.entries));
        assert_eq!(whole.ending, "All procedures ended; steady: Latency; NOT steady: Throughput.");
        let titles: Vec<&str> =
            whole.parts.iter().flat_map(|p| &p.parts).map(|p| p.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Throughput AR100 64 MiB",
                "Throughput AR75 64 MiB",
                "Latency AR100 64 MiB",
                "Latency AR75 64 MiB"
            ]
        );
        let unsteady = &whole.parts[0].parts[1];
        let caveat =
            unsteady.caveats.iter().find(|c| c.id == ids::STEADY_STATE_NOT_ACHIEVED).unwrap();
        assert!(caveat.remedy.contains("--max-rounds"), "latency stands behind it");
        let amended =
            [Amendment::RoundsMaxOf { phase: "latency/ar100-64MiB/rounds".into(), rounds: 6 }];
        assert!(crate::procedure(&settings(client_1), GEOMETRY, &amended).is_ok());
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
