//! A suite: several procedures on one device, in one plan, one run directory and one report.
//!
//! The parts run one after another, each as if it ran alone: it sets the conditions, purges and
//! preconditions by its own rules, and has its own seed.

use crate::catalogue::{SINGLE, build, find, parameters_of};
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::Method;
use crate::common::one_pass::{self, SPARE};
use crate::common::procedure_request::ProcedureRequest;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::frame::{common_chapters, frame};
use crate::exhibits::pages::page;
use crate::parameters::Parameter;
use crate::parts::{self, EndingsTable, PartFindings, SuitePart, part_amendments};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::method;
use crate::pts::scattered::parameters::has_scattered_ranges;
use crate::report_notation::{PART_SPECIFIC, capitalized, distinct};
use crate::tkperf;
use steadfast_domain::findings::{Exhibit, FormHeader, Origin, Page, Role, Setting};
use steadfast_domain::text::excerpt;
use steadfast_domain::{
    Bench, Caveat, Findings, Halt, Procedure, PurgeMethod, Record, Settings, StepPlace,
    caveats as ids,
};

pub const NAME: &str = "suite";

/// Name of the portrait, which is made of other procedures as well.
pub(crate) const PORTRAIT: &str = "portrait";

/// Parameter `procedures`: the parts of the suite, in order.
const PROCEDURES: Parameter = Parameter {
    name: "procedures",
    default: "iops,throughput,latency",
    meaning: "the procedures in order, separated by commas; the parts of one that is listed \
        several times have numbers (wsat-1, wsat-2); give a parameter as NAME=VALUE, or as \
        PROCEDURE.NAME=VALUE for one procedure or one part only",
    source: "our choice: the basic tests of PTS 2.0.x",
    ..Parameter::PLAIN
};

pub(crate) const SPEC: ProcedureSpec = ProcedureSpec {
    name: NAME,
    summary: "several procedures on one device, in one plan and one report",
    parameters: &[PROCEDURES],
    make: |request| boxed(Suite::new(&SUITE, plans(request.settings)?, request)),
};

/// Texts and tables of a suite or a campaign.
pub(crate) struct SuiteKind {
    pub title: &'static str,
    /// Second line of the form header.
    pub subtitle: &'static str,
    pub list: Parameter,
    /// Name of the parts in the plural: `procedures`.
    pub noun: &'static str,
    /// Table of how each part ended.
    pub endings: EndingsTable,
    /// Returns the options that repeat some parts, by their names.
    pub repeat_options: fn(&[&str]) -> String,
    /// Returns the tables over all parts; page one shows the first of them.
    pub overall_tables: fn(&[PartFindings<'_>]) -> Vec<Exhibit>,
    pub method: fn(&Settings) -> Method,
    /// Adds to page one what the parts found, and the caveats about it.
    pub add_to_page_one: fn(&mut Findings, &StudiedSuite<'_>),
}

/// A run of several parts and what they found.
pub(crate) struct StudiedSuite<'a> {
    pub settings: &'a Settings,
    pub record: &'a Record,
    /// Findings of the parts, in order.
    pub parts: &'a [PartFindings<'a>],
}

const SUITE: SuiteKind = SuiteKind {
    title: "Suite",
    subtitle: "Several procedures on one device",
    list: PROCEDURES,
    noun: "procedures",
    endings: EndingsTable { id: "suite", title: "How each procedure ended", corner: "Procedure" },
    repeat_options: |parts| format!("`--procedures {} --max-rounds N`", parts.join(",")),
    overall_tables: |_| Vec::new(),
    method: method_of_profile,
    add_to_page_one: |_, _| (),
};

pub(crate) fn method_of_profile(settings: &Settings) -> Method {
    method::for_profile(settings.profile, settings.class)
}

/// A part before its procedure is built.
#[derive(Debug, Clone)]
pub(crate) struct PartPlan {
    /// Name of the part, the prefix of its phases; unique in its run.
    pub name: String,
    pub procedure: String,
    /// Parameters that the part has unless the user gives others.
    pub preset: Vec<(&'static str, String)>,
    /// Settings of the part before the user's parameters.
    pub base: Settings,
}

impl PartPlan {
    /// Creates a part of a run with these settings: its own procedure, seed and parameters.
    pub fn new(
        name: &str,
        procedure: &str,
        preset: Vec<(&'static str, String)>,
        settings: &Settings,
    ) -> Self {
        let mut base = settings.clone();
        base.procedure = procedure.to_owned();
        base.seed = StepPlace::new(name, 0, 0, "").seed(settings.seed);
        base.parameters =
            preset.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        PartPlan { name: name.to_owned(), procedure: procedure.to_owned(), preset, base }
    }

    /// Returns the parameters of the part that the user may give; empty if there is no such
    /// procedure.
    fn parameters(&self, settings: &Settings) -> Vec<Parameter> {
        let Ok(spec) = find(SINGLE, &self.procedure) else { return Vec::new() };
        let mut known = parameters_of(spec, settings);
        // The workload of a part of a campaign is what the part is.
        known.retain(|parameter| !self.is_fixed(parameter.name));
        if self.base.shares_preconditioning {
            known.retain(|parameter| ![one_pass::CHOICE, SPARE.name].contains(&parameter.name));
        }
        known
    }

    fn is_fixed(&self, parameter: &str) -> bool {
        parameter == "workload" && self.preset.iter().any(|(name, _)| *name == parameter)
    }

    /// Returns the user's parameter `key=value` as one of this part; `None` if it is not for this
    /// part.
    fn user_parameter<'p>(
        &self,
        key: &'p str,
        value: &'p str,
        settings: &Settings,
    ) -> Option<UserParameter<'p>> {
        let (prefix, name) = match key.split_once('.') {
            None => (ParameterPrefix::None, key),
            Some((prefix, name)) if prefix == self.name => (ParameterPrefix::Part, name),
            Some((prefix, name)) if prefix == self.procedure => (ParameterPrefix::Procedure, name),
            Some(_) => return None,
        };
        let parameter = self.parameters(settings).into_iter().find(|p| p.name == name)?;
        // Of the parts of a campaign, only some can take a parameter that is given for all.
        if prefix != ParameterPrefix::Part && !self.preset.is_empty() {
            let mut with_parameters = self.base.clone();
            // One parameter may apply only with another that the user gives.
            let procedure_prefix = format!("{}.", self.procedure);
            for (other, other_value) in &settings.parameters {
                let other = other.strip_prefix(procedure_prefix.as_str()).unwrap_or(other);
                if !other.contains('.') && !self.is_fixed(other) {
                    with_parameters.set(other, other_value);
                }
            }
            with_parameters.set(name, value);
            if !(parameter.applies)(&with_parameters) {
                return None;
            }
        }
        Some(UserParameter { prefix, name, value })
    }

    /// Returns the settings of the part: its own procedure, seed and parameters. The closer the
    /// prefix of a parameter names the part, the higher its precedence.
    pub fn settings(&self, settings: &Settings) -> Settings {
        let given = settings.parameters.iter();
        let mut own: Vec<UserParameter<'_>> =
            given.filter_map(|(key, value)| self.user_parameter(key, value, settings)).collect();
        own.sort_by_key(|parameter| parameter.prefix);
        let mut part = self.base.clone();
        for parameter in own {
            part.set(parameter.name, parameter.value);
        }
        part
    }

    fn part(
        &self,
        request: &ProcedureRequest<'_>,
        is_last: bool,
    ) -> Result<SuitePart, ProcedureError> {
        let settings = self.settings(request.settings);
        let amendments = part_amendments(request.amendments, &self.name, is_last);
        let procedure = build(&settings, request.geometry, &amendments)
            .map_err(|why| ProcedureError(format!("{}: {why}", self.name)))?;
        Ok(SuitePart { name: self.name.clone(), procedure, settings })
    }
}

/// A parameter that the user gave for a part.
struct UserParameter<'p> {
    prefix: ParameterPrefix,
    /// Name without the prefix.
    name: &'p str,
    value: &'p str,
}

/// Prefix of a parameter's name, from the one that reaches most parts to the one of a single part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ParameterPrefix {
    None,
    Procedure,
    Part,
}

/// Several procedures that run one after another.
pub struct Suite {
    kind: &'static SuiteKind,
    setup: ProcedureSetup,
    parts: Vec<SuitePart>,
}

impl Suite {
    /// Builds a run of these parts. An amendment that names no loop applies to the last part.
    pub(crate) fn new(
        kind: &'static SuiteKind,
        plans: Vec<PartPlan>,
        request: &ProcedureRequest<'_>,
    ) -> Result<Self, ProcedureError> {
        check_parameters(kind, request.settings, &plans)?;
        check_power_management(request.settings, &plans)?;
        // Before the parts, so that a refusal of the whole run does not name one of them.
        let setup = ProcedureSetup::new(request, (kind.method)(request.settings))?;
        let mut parts = Vec::new();
        for (number, plan) in (1..).zip(&plans) {
            parts.push(plan.part(request, number == plans.len())?);
        }
        Ok(Suite { kind, parts, setup })
    }
}

/// Refuses a part that does not change the power management after one that does: what a part
/// changes of it holds to the end of the run.
fn check_power_management(settings: &Settings, plans: &[PartPlan]) -> Result<(), ProcedureError> {
    let changes_power = |plan: &PartPlan| {
        let parameters = plan.settings(settings).parameters;
        let is_changed = |name| parameters.get(name).is_some_and(|value| value != "unchanged");
        is_changed("link-power") || is_changed("apst")
    };
    let mut later = plans.iter().skip_while(|plan| !changes_power(plan));
    let Some(plan) = later.find(|plan| !changes_power(plan)) else { return Ok(()) };
    Err(ProcedureError(format!(
        "{} would run with the power management that a part before it sets (link-power, apst); \
         list it before that part",
        plan.name
    )))
}

/// Returns the parts of a suite: its procedures, with a number if they are listed several times.
fn plans(settings: &Settings) -> Result<Vec<PartPlan>, ProcedureError> {
    let names: Vec<&str> = PROCEDURES.value(settings).split(',').map(str::trim).collect();
    let is_combined =
        |name: &str| [NAME, tkperf::NAME, PORTRAIT].contains(&name) || name.ends_with("-campaign");
    if names.iter().any(|name| name.is_empty() || is_combined(name)) {
        return Err(ProcedureError(format!(
            "a suite cannot be made of '{}'; name procedures that are not made of others, \
             separated by commas, such as {}",
            excerpt(PROCEDURES.value(settings)),
            PROCEDURES.default
        )));
    }
    let mut plans = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let count = |names: &[&str]| names.iter().filter(|other| *other == name).count();
        let part = if count(&names) > 1 {
            format!("{name}-{}", count(&names[..=index]))
        } else {
            (*name).to_owned()
        };
        plans.push(PartPlan::new(&part, name, Vec::new(), settings));
    }
    Ok(plans)
}

/// Returns an error if the user gave a parameter that no part has.
fn check_parameters(
    kind: &SuiteKind,
    settings: &Settings,
    plans: &[PartPlan],
) -> Result<(), ProcedureError> {
    let unknown = settings.parameters.iter().find(|(key, value)| {
        *key != kind.list.name
            && plans.iter().all(|plan| plan.user_parameter(key, value, settings).is_none())
    });
    let Some((unknown, _)) = unknown else { return Ok(()) };
    let mut known: Vec<String> = vec![kind.list.name.to_owned()];
    for plan in plans {
        let parameters = plan.parameters(settings);
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
        let line = format!("{}: {}", plan.procedure, names.join(", "));
        if !names.is_empty() && !known.contains(&line) {
            known.push(line);
        }
    }
    Err(ProcedureError(format!(
        "no part of this run takes a parameter '{unknown}'; its parameters are: {}",
        known.join("; "),
        unknown = excerpt(unknown)
    )))
}

impl Procedure for Suite {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        parts::conduct(&self.parts, bench)
    }

    fn study(&self, record: &Record) -> Findings {
        let parts = parts::study_parts(&self.parts, record);
        let kind = self.kind;
        let mut exhibits = (kind.overall_tables)(&parts);
        let first_table = exhibits.first().and_then(Exhibit::as_table);
        let front_tables: Vec<String> =
            first_table.map(|table| table.id.clone()).into_iter().collect();
        exhibits.push(Exhibit::Table(kind.endings.table(&parts)));
        let title = format!("{} - {}", kind.title, capitalized(kind.noun));
        let mut findings = Findings {
            ending: parts::ending(kind.noun, record, &parts),
            caveats: self.caveats(record, &parts),
            summary: exhibits.clone(),
            form_pages: vec![page(&title, exhibits)],
            chapters: self.chapters(record),
            ..frame(kind.title, &self.choices(), record, self.header(record, &parts))
        };
        findings.front.tables = front_tables;
        let suite = StudiedSuite { settings: &self.setup.settings, record, parts: &parts };
        (kind.add_to_page_one)(&mut findings, &suite);
        replace_differing_values(&mut findings, &parts);
        parts::add_parts(findings, parts, self.parts.last())
    }
}

impl Suite {
    fn header(&self, record: &Record, parts: &[PartFindings<'_>]) -> FormHeader {
        let choices = self.choices();
        let origin = self.kind.list.origin(&self.setup.settings);
        let titles = (1..).zip(parts).map(|(number, part): (u32, _)| {
            let (id, label) = (format!("procedure-{number}"), format!("Procedure {number}"));
            Setting::new(&id, &label, part.title(), origin)
        });
        let source = if self.parts.iter().any(|part| part.settings.shares_preconditioning) {
            "its own, or shared with the parts before it"
        } else {
            "each procedure its own"
        };
        let set_up = "Purge and preconditioning";
        let form = ReportForm::new(self.kind.title, self.kind.subtitle, &choices)
            .set_up([Setting::method("set-up", set_up, source, Origin::Profile)])
            .set_up([disclosure::note_row(&choices)])
            .test_parameters(titles);
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

    fn caveats(&self, record: &Record, parts: &[PartFindings<'_>]) -> Vec<Caveat> {
        let last = self.parts.last();
        let mut caveats = parts::caveats(record, parts, last, self.kind.repeat_options);
        if parts.iter().filter(|part| part.findings.is_some()).count() > 1 {
            let unpurged = self.parts.iter().filter(|part| !is_purged(part, record));
            let unpurged: Vec<&str> = unpurged.map(|part| part.name.as_str()).collect();
            let start = if unpurged.is_empty() {
                "each starting with its own purge".to_owned()
            } else {
                format!("these without a purge of their own: {}", unpurged.join(", "))
            };
            caveats.push(Caveat::remark(
                ids::SUITE_ORDER,
                format!(
                    "The procedures ran one after another, {start}. Each one after the first began \
                     on a device that the previous one had warmed."
                ),
                "",
            ));
        }
        caveats
    }

    fn choices(&self) -> RunChoices<'_> {
        let settings = &self.setup.settings;
        let mut choices = RunChoices {
            alignment: None,
            ending: disclosure::ending_text(settings.steady_state),
            preconditioning_text: Some(PART_SPECIFIC.to_owned()),
            ..self.setup.choices()
        };
        // Each part has its own active ranges.
        if has_scattered_ranges(settings) {
            choices.covered.clear();
        }
        choices
    }
}

/// Results that may differ from part to part, by the IDs of their rows.
const OWN_OUTCOMES: [&str; 2] = ["AR & Amount", "Write cache, read back"];

/// Replaces each value of the whole that differs between the parts: the value of one part, such as
/// the last write cache, is not that of the run.
fn replace_differing_values(findings: &mut Findings, parts: &[PartFindings<'_>]) {
    let parts: Vec<&Findings> = parts.iter().filter_map(|part| part.findings.as_ref()).collect();
    let differs = |id: &str| {
        let values = parts.iter().filter_map(|part| {
            rows(part).find(|row| row.id == id).and_then(|row| row.value.clone())
        });
        distinct(values).len() > 1
    };
    // The purge of the run is that before its first part.
    let may_differ = |row: &Setting| {
        let is_own = row.role == Role::Setting || OWN_OUTCOMES.contains(&row.id.as_str());
        is_own && row.id != "purge" && row.value.is_some()
    };
    for row in rows_mut(findings) {
        if may_differ(row) && differs(&row.id) {
            row.value = Some(PART_SPECIFIC.to_owned());
            row.remark = String::new();
        }
    }
    // The settings string starts with the method, then the write cache.
    let cache = |headline: &str| headline.split("  ").nth(1).map(str::to_owned);
    if distinct(parts.iter().filter_map(|part| cache(&part.headline))).len() > 1
        && let Some(last_cache) = cache(&findings.headline)
    {
        findings.headline = findings.headline.replacen(&last_cache, "WC=own", 1);
    }
}

/// Returns the labeled values of the header and of page one.
fn rows(findings: &Findings) -> impl Iterator<Item = &Setting> {
    let blocks = findings.header.blocks.iter().flat_map(|block| &block.rows);
    blocks.chain(&findings.front.conditions)
}

fn rows_mut(findings: &mut Findings) -> impl Iterator<Item = &mut Setting> {
    let blocks = findings.header.blocks.iter_mut().flat_map(|block| &mut block.rows);
    blocks.chain(&mut findings.front.conditions)
}

/// Returns true unless a part has started without a purge, or with one that failed.
fn is_purged(part: &SuitePart, record: &Record) -> bool {
    let Some(own) = parts::part_record(part, record) else { return true };
    own.purge().is_some_and(|purge| purge.method != PurgeMethod::Nothing && purge.failed.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::procedure_request;
    use crate::parts::started_part;
    use crate::testing::scripted::{
        GEOMETRY, broken_record, first_of_phase, phase_steps, phases, purges, refusal, scripted,
        settings_of, steps,
    };
    use std::collections::HashSet;
    use steadfast_domain::settings::Amendment;
    use steadfast_domain::{Class, Conditions, EndState, Nanos, Profile, WriteCache};

    fn suite(change: impl FnOnce(&mut Settings)) -> Suite {
        let settings = settings_of(NAME, change);
        let request = procedure_request(&SPEC, &settings, GEOMETRY, &[]);
        Suite::new(&SUITE, plans(&settings).unwrap(), &request).unwrap()
    }

    fn refused(change: impl FnOnce(&mut Settings)) -> String {
        refusal(&settings_of(NAME, change))
    }

    #[test]
    fn the_parts_run_in_their_order_under_their_names_with_seeds_of_their_own() {
        let bench = scripted(|_| 1000.0).conducted(&suite(|_| ()));
        let steps = steps(&bench.entries);
        assert_eq!(
            phases(&bench.entries),
            [
                "iops/wipc", "iops/rounds", "throughput/wipc-1024K", "throughput/rounds-1024K",
                "throughput/wipc-128K", "throughput/rounds-128K", "latency/wipc", "latency/rounds",
                "latency/histogram"
            ]
        );
        let seeds: HashSet<u64> = steps.iter().map(|s| s.load.stimulus().unwrap().seed).collect();
        assert_eq!(seeds.len(), steps.len(), "also where two parts have the same place");
        let parts: Vec<_> = bench.entries.iter().filter_map(started_part).collect();
        assert_eq!(parts, ["iops", "throughput", "latency"]);
    }

    #[test]
    fn each_part_is_studied_as_if_it_had_been_run_alone() {
        let suite = suite(|_| ());
        let mut bench = scripted(|_| 1000.0);
        let whole = bench.studied(&suite, &suite.setup.settings);
        assert!(whole.verdict.is_none());
        assert_eq!(whole.ending, "All procedures ended; steady: IOPS, Throughput, Latency.");
        assert_eq!(whole.parts.len(), 3);
        let part = &suite.parts[0];
        let alone = scripted(|_| 1000.0).studied(&*part.procedure, &part.settings);
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
        let suite = suite(|s| s.set("procedures", "iops, latency"));
        let mut bench = scripted(|step| match step.place.phase.as_str() {
            "iops/rounds" => 2f64.powi(step.place.round as i32),
            _ => 1000.0,
        });
        let findings = bench.studied(&suite, &suite.setup.settings);
        assert_eq!(findings.ending, "All procedures ended; steady: Latency; NOT steady: IOPS.");
        assert_eq!(findings.whole_end(), EndState::NotSteady, "the exit code goes by it");
        let caveat = findings.caveat("part-not-steady").unwrap();
        assert!(caveat.text.ends_with("in: IOPS."));
        // Latency stands behind it in the journal.
        assert!(caveat.remedy.contains("`--procedures iops --max-rounds N`"), "{}", caveat.remedy);
        assert!(!caveat.remedy.contains("steadfast resume"), "{}", caveat.remedy);
        let of_part = findings.parts[0].caveat(ids::STEADY_STATE_NOT_ACHIEVED).unwrap();
        assert!(of_part.remedy.contains("--max-rounds"), "latency stands behind it");
    }

    #[test]
    fn a_record_that_broke_off_has_the_parts_that_began() {
        let suite = suite(|_| ());
        let mut bench = scripted(|_| 1000.0).conducted(&suite);
        let round = first_of_phase(&bench.entries, "throughput/rounds-1024K");
        bench.entries.truncate(round + 2);
        let broken = broken_record(&suite.setup.settings, bench.entries);
        let findings = suite.study(&broken);
        assert_eq!(findings.parts.len(), 2);
        assert!(findings.ending.contains("not started: latency"), "{}", findings.ending);
        assert!(findings.ending.contains("not finished: Throughput"), "{}", findings.ending);
        let ends: Vec<EndState> = findings.parts.iter().map(|part| part.end).collect();
        assert_eq!(ends, [EndState::Steady, EndState::Unfinished]);
        assert_eq!(findings.whole_end(), EndState::Unfinished);
        let unfinished = |n: usize| findings.parts[n].caveat("unfinished").is_some();
        assert!(!unfinished(0) && unfinished(1));
        let nothing = Record { entries: Vec::new(), ..broken };
        assert!(suite.study(&nothing).parts.is_empty());
    }

    #[test]
    fn parameters_reach_the_parts_that_have_them() {
        let suite = suite(|s| s.set("latency.histogram-time", "5min"));
        assert_eq!(suite.parts[2].settings.parameters["histogram-time"], "5min");
        assert!(suite.parts[0].settings.parameters.is_empty());
        let why = refused(|s| s.set("histogram", "5min"));
        assert!(why.contains("'histogram'") && why.contains("histogram-time"), "{why}");
    }

    /// Two WSATs: one parameter for both, one for the second, and a seed for each.
    #[test]
    fn a_procedure_that_is_listed_twice_is_two_parts_with_settings_of_their_own() {
        let suite = suite(|s| {
            s.set("procedures", "wsat,latency,wsat");
            s.set("wsat.workload", "oltp");
            s.set("wsat-2.workload", "video");
            s.set("histogram-time", "5min");
            s.set("wsat.histogram-time", "6min");
        });
        let names: Vec<&str> = suite.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["wsat-1", "latency", "wsat-2"]);
        let given = |part: usize, name: &str| suite.parts[part].settings.parameters[name].as_str();
        assert_eq!((given(0, "workload"), given(2, "workload")), ("oltp", "video"));
        let times = [0, 1, 2].map(|part| given(part, "histogram-time"));
        assert_eq!(times, ["6min", "5min", "6min"]);
        let seeds: HashSet<u64> = suite.parts.iter().map(|part| part.settings.seed).collect();
        assert_eq!(seeds.len(), 3);
        let mut bench = scripted(|_| 100_000.0);
        let findings = bench.studied(&suite, &suite.setup.settings);
        assert_eq!(purges(&bench.entries), 3);
        let titles: Vec<&str> = findings.parts.iter().map(|part| part.title.as_str()).collect();
        assert_eq!(titles, ["WSAT RND 8K RW65", "Latency", "WSAT SEQ 128K RW90"]);
        assert!(refused(|s| s.set("wsat-1.workload", "oltp")).contains("'wsat-1.workload'"));
    }

    /// With PTS-C 1.x, a part of the suite has parts itself.
    #[test]
    fn a_part_may_have_parts_of_its_own() {
        let client_1 = |s: &mut Settings| {
            (s.profile, s.class) = (Profile::Pts11, Class::Client);
            s.set("procedures", "throughput,latency");
            s.set("ar-amount", "64MiB");
            s.set("ar-segments", "16");
            s.set("latency.ar-segments", "32");
        };
        let suite = suite(client_1);
        let mut bench = scripted(|step| match step.place.phase.as_str() {
            "throughput/ar75-64MiB/rounds-1024K" => 2f64.powi(step.place.round as i32),
            _ => 1000.0,
        });
        let whole = bench.studied(&suite, &suite.setup.settings);
        let started: Vec<_> = bench.entries.iter().filter_map(started_part).collect();
        assert_eq!(
            started,
            [
                "throughput", "throughput/ar100-64MiB", "throughput/ar75-64MiB", "latency",
                "latency/ar100-64MiB", "latency/ar75-64MiB"
            ]
        );
        let segments = |phase: &str| {
            let first = phase_steps(&bench.entries, phase)[0];
            first.load.stimulus().unwrap().active_range.segments.map(|segments| segments.count)
        };
        assert_eq!(segments("throughput/ar75-64MiB/rounds-1024K"), Some(16));
        assert_eq!(segments("latency/ar75-64MiB/rounds"), Some(32));
        assert_eq!(segments("latency/ar75-64MiB/wipc"), None);
        assert_eq!(whole.ending, "All procedures ended; steady: Latency; NOT steady: Throughput.");
        let titles: Vec<&str> =
            whole.parts.iter().flat_map(|p| &p.parts).map(|p| p.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Throughput AR100 64 MiB", "Throughput AR75 64 MiB", "Latency AR100 64 MiB",
                "Latency AR75 64 MiB"
            ]
        );
        let unsteady = &whole.parts[0].parts[1];
        let caveat = unsteady.caveat(ids::STEADY_STATE_NOT_ACHIEVED).unwrap();
        assert!(caveat.remedy.contains("--max-rounds"), "latency stands behind it");
        let amended =
            [Amendment::RoundsMaxOf { phase: "latency/ar100-64MiB/rounds".into(), rounds: 6 }];
        assert!(crate::procedure(&settings_of(NAME, client_1), GEOMETRY, &amended).is_ok());
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
        for list in ["", "iops,", "suite", "iops,suite", "tkperf", "wsat-campaign"] {
            let why = refused(|s| s.set("procedures", list));
            assert!(why.contains("not made of others"), "{list}: {why}");
        }
        let why = refused(|s| s.steady_state = "btw".parse().unwrap());
        assert!(why.starts_with("iops: ") && why.contains("WSAT"), "{why}");
    }

    fn findings_of(procedures: &str) -> Findings {
        let suite = suite(|settings| settings.set("procedures", procedures));
        let mut bench = scripted(|_| 1000.0);
        bench.settle = |wanted| Conditions {
            write_cache: wanted.write_cache.or(Some(WriteCache::Enabled)),
            ..wanted.clone()
        };
        bench.response = |_| Some(Nanos(500_000));
        bench.studied(&suite, &suite.setup.settings)
    }

    /// The class disables the write cache for IOPS; idle-exit leaves it enabled.
    #[test]
    fn a_write_cache_that_differs_between_parts_is_each_parts_own() {
        let caches = |findings: &Findings| -> Vec<String> {
            let is_cache = |row: &&Setting| {
                ["write-cache", "Write cache, read back"].contains(&row.id.as_str())
            };
            rows(findings).filter(is_cache).filter_map(|row| row.value.clone()).collect()
        };
        for order in ["iops,idle-exit", "idle-exit,iops"] {
            let found = findings_of(order);
            assert_eq!(caches(&found), [PART_SPECIFIC; 2], "{order}");
            assert!(found.headline.contains("  WC=own  "), "{}", found.headline);
        }
        let same = findings_of("iops,latency");
        let disabled = WriteCache::Disabled.to_string();
        assert_eq!(caches(&same), [disabled.clone(), disabled]);
        assert!(same.headline.contains("  WCD  "), "{}", same.headline);
    }

    /// Every round of this drive has the same rate, so that the range of rounds has no width.
    #[test]
    fn a_mean_of_rounds_has_their_range() {
        let found = findings_of("throughput,latency,hir,load-curve");
        let ids = ["seq-1024k-write-rate", "rnd-4k-read-mean", "saturated-iops", "maximum-iops"];
        for (part, id) in found.parts.iter().zip(ids) {
            let figure = part.figure(id);
            let figure = figure.unwrap_or_else(|| panic!("{id}"));
            let (value, range) = (figure.value.unwrap(), figure.range.expect(id));
            assert!([range.low, range.high].iter().all(|v| (v / value - 1.0).abs() < 1e-9), "{id}");
        }
    }
}
