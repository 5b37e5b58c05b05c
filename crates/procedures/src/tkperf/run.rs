//! `tkperf`: the tests of TKperf in one run, with the sections of its report.

use crate::catalogue::build;
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::procedure_request::ProcedureRequest;
use crate::exhibits::checks;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::frame::{frame, set_up_chapter};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::parameters::{self, Parameter};
use crate::parts::{self, EndingsTable, PartFindings, SuitePart, part_amendments};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::{method, throughput};
use crate::report_notation::PART_SPECIFIC;
use steadfast_domain::findings::{Exhibit, Facts, FormHeader, Origin, Page, Setting};
use steadfast_domain::text::excerpt;
use steadfast_domain::{
    Bench, Demand, Findings, Halt, Nanos, Procedure, Profile, Record, Settings, StepPlace,
    suggestion,
};

/// Name of the procedure on the command line.
pub const NAME: &str = "tkperf";

/// Name of each test in TKperf, and the procedure that runs it.
const TESTS_OF: [(&str, &str); 6] = [
    ("iops", "iops"),
    ("lat", "latency"),
    ("tp", "throughput"),
    ("writesat", "wsat"),
    ("hdd-iops", "hdd-iops"),
    ("hdd-tp", "hdd-throughput"),
];

/// The procedures in the order of TKperf's report, which is not that of its tests.
const REPORT_ORDER: [&str; 6] =
    ["iops", "throughput", "latency", "wsat", "hdd-iops", "hdd-throughput"];

/// TKperf's default (TKperf 2.x, `numjobs` and `iodepth`).
const DEMAND: Demand = Demand::new(1, 1);

/// Time limit of the write saturation (TKperf 2.x reports, "24h").
const DAY: Nanos = Nanos::from_secs(86_400);

const TESTS: Parameter = Parameter {
    name: "tests",
    default: "iops,lat,tp,writesat",
    meaning: "the tests in order, each once, separated by commas: iops, lat, tp, writesat; of a \
        hard disk hdd-iops, hdd-tp",
    source: "TKperf 2.x runs these four in this order",
    ..Parameter::PLAIN
};
const RUN_NAME: Parameter = Parameter {
    name: "name",
    meaning: "what the user calls the run",
    source: "TKperf 2.x: the name of its output files",
    ..Parameter::PLAIN
};
const DESCRIPTION: Parameter = Parameter {
    name: "description",
    meaning: "what the user says of the device; printed as it is",
    source: "TKperf 2.x, -dsc",
    ..Parameter::PLAIN
};
const FEATURES: Parameter = Parameter {
    name: "feature-matrix",
    meaning: "features of the device, in the user's words; printed as they are",
    source: "TKperf 2.x, -fm",
    ..Parameter::PLAIN
};
/// Parameter `zones` of the tests of a hard disk.
const ZONES: Parameter = super::hdd::ZONES;

pub const SPEC: ProcedureSpec = ProcedureSpec {
    name: NAME,
    summary: "TKperf's tests in one run, with the sections of its report (steadfast tkperf)",
    parameters: &[TESTS, RUN_NAME, DESCRIPTION, FEATURES, ZONES],
    make: |request| boxed(TkperfRun::new(request)),
};

/// The tests of TKperf, which run one after another.
pub struct TkperfRun {
    setup: ProcedureSetup,
    parts: Vec<SuitePart>,
}

impl TkperfRun {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        parameters::check(NAME, SPEC.parameters, request.settings)?;
        // The name of the procedure implies the method, so the profile in the settings is ignored.
        let settings = Settings { profile: Profile::Tkperf, ..request.settings.clone() };
        let request = ProcedureRequest { settings: &settings, ..request.clone() };
        let procedures = procedures(&settings)?;
        let last = procedures.last().copied();
        let parts: Result<Vec<SuitePart>, ProcedureError> =
            procedures.iter().map(|name| part(&request, name, last == Some(name))).collect();
        Ok(TkperfRun { parts: parts?, setup: method::setup(&request)? })
    }
}

fn procedures(settings: &Settings) -> Result<Vec<&'static str>, ProcedureError> {
    let mut procedures = Vec::new();
    for name in TESTS.value(settings).split(',').map(str::trim) {
        let found = TESTS_OF.iter().find(|(test, _)| *test == name);
        let meant = || suggestion(name, TESTS_OF.iter().map(|(test, _)| *test));
        let (_, procedure) = found.ok_or_else(|| {
            let names: Vec<&str> = TESTS_OF.iter().map(|(test, _)| *test).collect();
            let all = names.join(", ");
            ProcedureError(format!(
                "TKperf has no test '{name}'{}; choose among: {all}",
                meant(),
                name = excerpt(name)
            ))
        })?;
        if procedures.contains(procedure) {
            return Err(ProcedureError(format!("test {name} is listed twice; list it once")));
        }
        procedures.push(*procedure);
    }
    Ok(procedures)
}

fn part(
    request: &ProcedureRequest<'_>,
    name: &str,
    is_last: bool,
) -> Result<SuitePart, ProcedureError> {
    let settings = part_settings(request.settings, name);
    let amendments = part_amendments(request.amendments, name, is_last);
    let procedure = build(&settings, request.geometry, &amendments)
        .map_err(|why| ProcedureError(format!("{name}: {why}")))?;
    Ok(SuitePart { name: name.to_owned(), procedure, settings })
}

/// Returns the settings of a test, with its own seed. The latency test always has one outstanding
/// I/O, and the throughput test is preconditioned, unlike that of TKperf.
fn part_settings(settings: &Settings, name: &str) -> Settings {
    let mut part = settings.clone();
    part.procedure = name.to_owned();
    part.seed = StepPlace::new(name, 0, 0, "").seed(settings.seed);
    part.parameters.retain(|parameter, _| {
        parameter == ZONES.name && matches!(name, "hdd-iops" | "hdd-throughput")
    });
    match name {
        "latency" => (part.threads, part.depth) = (None, None),
        // TKperf intends a day but always runs 1440 rounds, regardless of their length.
        "wsat" => part.rounds_max = part.rounds_max.or_else(|| part.step_time.map(rounds_of_a_day)),
        "throughput" => {
            part.set(throughput::PRECONDITION.name, "wipc");
        }
        _ => {}
    }
    part
}

/// Returns the number of steps of this length in a day, rounded up.
fn rounds_of_a_day(step: Nanos) -> u32 {
    u32::try_from(DAY.0.div_ceil(step.0.max(1))).unwrap_or(u32::MAX)
}

impl Procedure for TkperfRun {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        parts::conduct(&self.parts, bench)
    }

    fn study(&self, record: &Record) -> Findings {
        let mut studied = parts::study_parts(&self.parts, record);
        studied.sort_by_key(|part| REPORT_ORDER.iter().position(|name| *name == part.name));
        for part in studied.iter_mut().filter_map(|part| part.findings.as_mut()) {
            // The sections of a TKperf report contain what the pages of the SNIA form do.
            if !part.chapters.is_empty() && is_of_rounds(&part.id) {
                part.form_pages.clear();
            }
        }
        let endings = EndingsTable { id: "tkperf", title: "How each test ended", corner: "Test" };
        let table = Exhibit::Table(endings.table(&studied));
        let findings = Findings {
            ending: parts::ending("tests", record, &studied),
            caveats: parts::caveats(record, &studied, self.parts.last(), repeat_options),
            summary: vec![table],
            chapters: self.chapters(record),
            ..frame("TKperf", &self.choices(), record, self.header(record, &studied))
        };
        parts::add_parts(findings, studied, self.parts.last())
    }
}

/// Returns the options that run some procedures alone: `-ssdt iops -ssdt tp --max-rounds N`.
fn repeat_options(procedures: &[&str]) -> String {
    let tests = TESTS_OF.iter().filter(|(_, procedure)| procedures.contains(procedure));
    let option = |test: &str| match test.strip_prefix("hdd-") {
        Some(test) => format!("-hddt {test} "),
        None => format!("-ssdt {test} "),
    };
    let options: String = tests.map(|(test, _)| option(test)).collect();
    format!("`{options}--max-rounds N`")
}

/// Returns true if a part has its own sections in the report.
fn is_of_rounds(id: &str) -> bool {
    ["IOPS", "Latency", "Throughput"].contains(&id) || id.starts_with("WSAT")
}

impl TkperfRun {
    fn choices(&self) -> RunChoices<'_> {
        let settings = &self.setup.settings;
        RunChoices {
            demands: vec![settings.demand_or(DEMAND)],
            parameters: &[TESTS],
            preconditioning_text: Some(PART_SPECIFIC.to_owned()),
            ending: disclosure::ending_text(settings.steady_state),
            judged: true,
            rounds_max: Some(settings.rounds_max.unwrap_or(method::ROUNDS_MAX)),
            ..self.setup.choices()
        }
    }

    fn header(&self, record: &Record, studied: &[PartFindings<'_>]) -> FormHeader {
        let choices = self.choices();
        let origin = TESTS.origin(&self.setup.settings);
        let each = |(number, part): (usize, &PartFindings<'_>)| {
            let (id, label) = (format!("test-{}", number + 1), format!("Test {}", number + 1));
            Setting::new(&id, &label, part.title(), origin)
        };
        let form =
            ReportForm::new("TKperf Test Report", "TKperf's tests with correct I/O", &choices)
                .set_up([disclosure::note_row(&choices)])
                .test_parameters(studied.iter().enumerate().map(each));
        disclosure::form_header(form, &choices, record)
    }

    /// Returns the first sections of a TKperf report, then the chapters that it does not have.
    fn chapters(&self, record: &Record) -> Vec<Page> {
        let choices = self.choices();
        let set_up = set_up_chapter(&choices, record);
        vec![
            self.setup_information(record),
            general_chapter(&choices),
            page("Device, Host and Settings in Full", set_up.exhibits),
            checks::chapter(record),
        ]
    }

    fn setup_information(&self, record: &Record) -> Page {
        let mut exhibits = Vec::new();
        exhibits.extend(record.opening().map(|opening| {
            let device = opening.device;
            let rows = [
                Setting::identity("Model number", &device.model),
                Setting::identity("Serial number", &device.serial),
                Setting::identity("Firmware revision", &device.firmware),
                Setting::identity("Device size", device.capacity.to_string()),
                Setting::identity("Write cache", device.write_cache.map(|c| c.to_string())),
            ];
            let array = device.array.as_ref().map(disclosure::array_rows).unwrap_or_default();
            Exhibit::Facts(Facts::new("Tested Device").rows(rows).rows(array))
        }));
        let user_texts = [
            (DESCRIPTION, "The device in the words of the user (-dsc):"),
            (FEATURES, "Feature matrix (-fm):"),
        ];
        for (parameter, title) in user_texts {
            let text = parameter.value(&self.setup.settings);
            if !text.is_empty() {
                exhibits.push(Exhibit::Text(title.to_owned()));
                exhibits.push(Exhibit::Listing(text.to_owned()));
            }
        }
        exhibits.push(Exhibit::Text("Used command line:".into()));
        exhibits.push(Exhibit::Listing(self.setup.settings.command.clone()));
        exhibits.extend(self.performance_system(record).map(Exhibit::Facts));
        page("Setup Information", exhibits)
    }

    fn performance_system(&self, record: &Record) -> impl Iterator<Item = Facts> {
        let demand = self.setup.settings.demand_or(DEMAND);
        let opening = record.opening();
        let host_text = |value: fn(&steadfast_domain::Host) -> Option<String>| {
            opening.and_then(|opening| value(opening.host))
        };
        let name = RUN_NAME.value(&self.setup.settings);
        let system = Facts::new("Performance System").rows([
            Setting::identity("Name of the run", name).by(Origin::Chosen),
            Setting::identity("Software", opening.map(|opening| opening.software)),
            Setting::identity("Engine", opening.map(|opening| opening.engine)),
            Setting::outcome("Tests", self.parts.len().to_string()),
            Setting::outcome("Number of jobs (-nj)", demand.threads.to_string()),
            Setting::outcome("Number of outstanding IOs (-iod)", demand.depth.to_string()),
            Setting::outcome("Length of a step (-rt)", self.setup.step_time.to_string()),
        ]);
        let operating_system = Facts::new("Operating System").rows([
            Setting::identity("Kernel", host_text(|host| host.kernel.clone())),
            Setting::identity("Description", host_text(|host| host.operating_system.clone())),
        ]);
        [system, operating_system].into_iter()
    }
}
