//! Campaigns: WSAT or DIRTH of the six standard synthetic workloads of PTS 2.0.x on one device,
//! in one plan, one run directory and one report with a table over all of them.
//!
//! A campaign is a suite whose parts are workloads. Each part is the procedure as it runs alone:
//! it purges, preconditions by its own rule, and has its own seed.

use crate::parameters::Parameter;
use crate::parts::PartFindings;
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::workload::{self, WORKLOADS};
use crate::pts::{dirth, wsat};
use crate::suite::{PartPlan, Suite, SuiteKind, method_of_profile};
use steadfast_domain::findings::{Cell, Exhibit, Metric, Row, Table};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Findings, Settings, suggestion};

/// Names of the campaigns on the command line.
pub const NAMES: [&str; 2] = ["wsat-campaign", "dirth-campaign"];

/// Parameter `workloads`: the parts of the campaign, in order.
const CAMPAIGN_WORKLOADS: Parameter = Parameter {
    name: "workloads",
    default: "metadata,write-intensive,read-intensive,oltp,video,composite",
    meaning: "the standard workloads in order, each once, separated by commas; give a parameter of \
        the test as NAME=VALUE, or as oltp.NAME=VALUE for one workload only",
    source: "the six standard synthetic workloads of PTS 2.0.1 (SNIA tutorial)",
    ..Parameter::PLAIN
};

pub(crate) const WSAT: ProcedureSpec = ProcedureSpec {
    name: NAMES[0],
    summary: "WSAT of each of the six standard workloads of PTS 2.0.x, with a table over all",
    parameters: &[CAMPAIGN_WORKLOADS],
    make: |request| boxed(Suite::new(&WSAT_KIND, plans("wsat", request.settings)?, request)),
};

pub(crate) const DIRTH: ProcedureSpec = ProcedureSpec {
    name: NAMES[1],
    summary: "DIRTH of each of the six standard workloads of PTS 2.0.x, with a table over all",
    parameters: &[CAMPAIGN_WORKLOADS],
    make: |request| boxed(Suite::new(&DIRTH_KIND, plans("dirth", request.settings)?, request)),
};

const WSAT_KIND: SuiteKind = SuiteKind {
    title: "WSAT Campaign",
    subtitle: "Write Saturation of the Standard Workloads",
    list: CAMPAIGN_WORKLOADS,
    noun: "workloads",
    heads: ["campaign-ends", "How each workload ended", "Workload"],
    again: |parts| format!("`--set workloads={} --max-rounds N`", parts.join(",")),
    over_all: wsat_tables,
    method: method_of_profile,
    add_to_page_one: |_, _| (),
};

const DIRTH_KIND: SuiteKind = SuiteKind {
    title: "DIRTH Campaign",
    subtitle: "Demand Intensity of the Standard Workloads",
    over_all: dirth_tables,
    ..WSAT_KIND
};

/// Returns the parts for the workloads in the settings.
fn plans(procedure: &'static str, settings: &Settings) -> Result<Vec<PartPlan>, ProcedureError> {
    let mut plans: Vec<PartPlan> = Vec::new();
    for name in CAMPAIGN_WORKLOADS.value(settings).split(',').map(str::trim) {
        let Some(role) = WORKLOADS.iter().find(|role| name.eq_ignore_ascii_case(role)) else {
            return Err(ProcedureError(format!(
                "'{name}' is not a standard workload{meant}; choose among: {all}",
                name = excerpt(name),
                meant = suggestion(name, WORKLOADS),
                all = WORKLOADS.join(", ")
            )));
        };
        if plans.iter().any(|plan| plan.name == *role) {
            return Err(ProcedureError(format!("workload {role} is listed twice; list it once")));
        }
        let mut preset = vec![("workload", (*role).to_owned())];
        // Without it, WSAT would read a purged drive.
        if procedure == "wsat" && workload::only_reads(role) {
            preset.push(("precondition", "wipc".to_owned()));
        }
        plans.push(PartPlan::new(role, procedure, preset, settings));
    }
    Ok(plans)
}

/// A point of a part that the tables over all workloads show.
struct CampaignPoint<'a> {
    head: String,
    /// Steps that the values come from, in words; empty where the heading says it.
    source: &'a str,
    /// Findings of the part; `None` if it has not started.
    findings: Option<&'a Findings>,
    /// Name of the point in the part's metrics; `None` if the part has no such point.
    point: Option<&'a str>,
}

impl<'a> CampaignPoint<'a> {
    /// Finds the first point of a part whose name has one of the endings.
    fn new(head: String, part: &'a PartFindings<'_>, endings: &[(&str, &'static str)]) -> Self {
        let findings = part.findings.as_ref();
        let found = findings.and_then(|findings| first_point(findings, endings));
        let source = found.map_or("", |(_, source)| source);
        CampaignPoint { head, source, findings, point: found.map(|(point, _)| point) }
    }

    /// Returns the value of a metric over all I/Os; `None` if it was not measured.
    fn value(&self, metric: &str) -> Option<f64> {
        self.value_of(metric, self.point?)
    }

    fn value_of(&self, metric: &str, point: &str) -> Option<f64> {
        let is_it = |m: &&Metric| m.metric == metric && m.point == point && m.direction.is_none();
        self.findings?.metrics.iter().find(is_it).map(|metric| metric.value)
    }

    fn cell(&self, (metric, _, decimals): &MetricColumn) -> Cell {
        Cell::number(self.value(metric), *decimals)
    }
}

/// Metric, heading of its column, and decimal places.
type MetricColumn = (&'static str, &'static str, u8);

const RESULTS: [MetricColumn; 6] = [
    ("iops", "IOPS", 1),
    ("throughput", "MB/s", 1),
    ("art", "ART ms", 3),
    ("min-response", "Min ms", 3),
    ("p99-999", "99.999 % ms", 3),
    ("mrt", "MRT ms", 3),
];

const SECONDARY: [MetricColumn; 6] = [
    ("power", "Avg Power mW", 0),
    ("iops-per-watt", "IOPS / W", 1),
    ("joules-per-gb", "J / GB", 2),
    ("temperature", "Temp. Celsius", 1),
    ("cpu-system", "CPU system %", 1),
    ("cpu-io-wait", "CPU I/O wait %", 1),
];

/// Returns the first point of the part whose name ends with one of these, and which one it is.
fn first_point<'a>(
    findings: &'a Findings,
    ends: &[(&str, &'static str)],
) -> Option<(&'a str, &'static str)> {
    ends.iter().find_map(|(end, source)| {
        let metric = findings.metrics.iter().find(|metric| metric.point.ends_with(end))?;
        Some((metric.point.as_str(), *source))
    })
}

/// The fresh rate of every workload and its last rate: of the steady window, else of the
/// histogram run, else of the last step.
fn wsat_tables(studied: &[PartFindings<'_>]) -> Vec<Exhibit> {
    let points: Vec<CampaignPoint<'_>> = studied
        .iter()
        .map(|part| CampaignPoint::new(part.name.to_owned(), part, &wsat::LATE_POINTS))
        .collect();
    let row = |point: &CampaignPoint<'_>| {
        let fresh = point.findings.and_then(|f| first_point(f, &[wsat::FRESH_POINT]));
        let fresh = fresh.and_then(|(name, _)| point.value_of("iops", name));
        let first = [pattern(&point.head), Cell::number(fresh, 1), Cell::text(point.source)];
        let cells = first.into_iter().chain(RESULTS.iter().map(|column| point.cell(column)));
        Row::new(point.head.clone(), cells)
    };
    let title = "All workloads: first step, and the rate that page one of each reports";
    let table = Table::new("campaign", title, "Workload")
        .columns(["Pattern", "IOPS, first step", "Values of"])
        .columns(RESULTS.map(|(_, head, _)| head))
        .rows(points.iter().map(row));
    tables(table, &points)
}

/// The three chosen points of every workload, by their histograms.
fn dirth_tables(studied: &[PartFindings<'_>]) -> Vec<Exhibit> {
    let points: Vec<CampaignPoint<'_>> = studied
        .iter()
        .flat_map(|part| {
            dirth::POINTS.map(|role| {
                CampaignPoint::new(format!("{}, {role}", part.name), part, &[(role, "")])
            })
        })
        .collect();
    let row = |point: &CampaignPoint<'_>| {
        let role = point.head.split_once(", ").map_or("", |(role, _)| role);
        let demand = |metric| Cell::number(point.value(metric), 0);
        let first = [pattern(role), demand("threads"), demand("queue-depth")];
        let cells = first.into_iter().chain(RESULTS.iter().map(|column| point.cell(column)));
        Row::new(point.head.clone(), cells).strong(point.head.ends_with(dirth::POINTS[0]))
    };
    let table = Table::new("campaign", "All workloads: the chosen points", "Workload")
        .columns(["Pattern", "Threads", "Queue depth"])
        .columns(RESULTS.map(|(_, head, _)| head))
        .rows(points.iter().map(row));
    tables(table, &points)
}

fn pattern(role: &str) -> Cell {
    Cell::text(workload::notation(role).unwrap_or("JESD219"))
}

fn tables(results: Table, points: &[CampaignPoint<'_>]) -> Vec<Exhibit> {
    let row = |point: &CampaignPoint<'_>| {
        Row::new(point.head.clone(), SECONDARY.iter().map(|column| point.cell(column)))
    };
    let secondary = Table::new(
        "campaign-secondary",
        "All workloads: secondary metrics of the same steps",
        "Workload",
    )
    .columns(SECONDARY.map(|(_, head, _)| head))
    .rows(points.iter().map(row));
    vec![Exhibit::Table(results), Exhibit::Table(secondary)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{broken_record, build, purges, refusal, scripted, steps};
    use steadfast_domain::settings::Geometry;
    use steadfast_domain::{Bytes, JournalEntry, Measurement, Nanos, Step};

    fn settings(name: &str, pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::new(name, 7);
        settings.parameters =
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        settings
    }

    fn refused(name: &str, pairs: &[(&str, &str)]) -> String {
        refusal(&settings(name, pairs))
    }

    /// IOPS of each workload: 1,000 of the first to 6,000 of the last.
    fn rate(step: &Step) -> f64 {
        let role = step.place.phase.split('/').next().unwrap();
        let number = WORKLOADS.iter().position(|workload| *workload == role).unwrap() + 1;
        number as f64 * 1000.0
    }

    /// Two watts.
    fn powered(_: &Step, measurement: &mut Measurement) {
        measurement.sensed.power_milliwatts = Some(2000.0);
    }

    fn found(settings: &Settings) -> (Vec<JournalEntry>, Findings) {
        let mut bench = scripted(rate);
        bench.response = |_| Some(Nanos::from_millis(2));
        bench.retouch = powered;
        let findings = bench.studied(&*build(settings), settings);
        (bench.entries, findings)
    }

    fn number(findings: &Findings, table: &str, row: &str, column: &str) -> Option<f64> {
        let table = findings.table(table).unwrap();
        let at = table.columns.iter().position(|own| own.name == column).unwrap();
        table.rows.iter().find(|own| own.head == row).unwrap().cells[at].value()
    }

    /// The same steps as each workload alone with the seed that the report lists; a purge of its
    /// own for each.
    #[test]
    fn a_wsat_campaign_is_six_wsats_with_a_purge_each_and_one_table() {
        let settings = settings(NAMES[0], &[("histogram-time", "5min"), ("mix", "40/60")]);
        let (entries, findings) = found(&settings);
        assert_eq!(purges(&entries), 6);
        for plan in plans("wsat", &settings).unwrap() {
            let alone = plan.settings(&settings);
            assert_eq!(alone.parameters.contains_key("mix"), plan.name == "composite");
            let bench = scripted(|_| rate(&step_of(&plan.name))).conducted(&*build(&alone));
            let prefix = format!("{}/", plan.name);
            let mut own: Vec<Step> = steps(&entries).into_iter().cloned().collect();
            own.retain(|step| step.place.phase.starts_with(&prefix));
            own.iter_mut().for_each(|step| {
                step.place.phase = step.place.phase.replace(&prefix, "");
            });
            let expected: Vec<Step> = steps(&bench.entries).into_iter().cloned().collect();
            assert_eq!(own, expected, "{}", plan.name);
        }
        let titles: Vec<&str> = findings.parts.iter().map(|part| part.title.as_str()).collect();
        let names = ["SEQ 0.5K RW50", "RND 4K W", "RND 4K R", "RND 8K RW65", "SEQ 128K RW90"];
        let names = names.iter().map(|name| format!("WSAT {name}"));
        assert_eq!(titles[..5], names.collect::<Vec<_>>());
        for (number_of, role) in (1..).zip(WORKLOADS) {
            let iops = f64::from(number_of) * 1000.0;
            let value = |table, column| number(&findings, table, role, column);
            assert_eq!(value("campaign", "IOPS, first step"), Some(iops), "{role}");
            assert_eq!(value("campaign", "IOPS"), Some(iops), "{role}");
            assert_eq!(value("campaign", "Min ms"), Some(2.0), "{role}");
            assert_eq!(value("campaign-secondary", "IOPS / W"), Some(iops / 2.0), "{role}");
            assert_eq!(value("campaign-secondary", "CPU system %"), None, "not measured");
        }
    }

    fn step_of(role: &str) -> Step {
        let bench = scripted(|_| 1.0).conducted(&*build(&settings("wsat", &[])));
        let mut step = steps(&bench.entries)[0].clone();
        step.place.phase = format!("{role}/saturation");
        step
    }

    #[test]
    fn a_dirth_campaign_has_the_chosen_points_of_every_workload() {
        let settings = settings(NAMES[1], &[("loops", "2,1"), ("workloads", "oltp, Video")]);
        let (_, findings) = found(&settings);
        assert_eq!(findings.parts.len(), 2);
        for (role, iops) in [("oltp", 4000.0), ("video", 5000.0)] {
            // All demands have the same rate, so that the one with the fewest I/Os is chosen.
            let row = format!("{role}, MaxIOPS");
            let value = |column| number(&findings, "campaign", &row, column);
            assert_eq!((value("Threads"), value("Queue depth")), (Some(1.0), Some(1.0)));
            assert_eq!((value("IOPS"), value("ART ms")), (Some(iops), Some(2.0)));
        }
    }

    #[test]
    fn a_campaign_that_broke_off_has_a_row_for_every_workload() {
        let settings = settings(NAMES[0], &[("workloads", "oltp,video")]);
        let (mut entries, _) = found(&settings);
        let cut = entries.iter().position(|entry| crate::parts::begins(entry) == Some("video"));
        entries.truncate(cut.unwrap());
        let broken = broken_record(&settings, entries);
        let findings = build(&settings).study(&broken);
        assert!(findings.ending.contains("not started: video"), "{}", findings.ending);
        assert_eq!(number(&findings, "campaign", "oltp", "IOPS"), Some(4000.0));
        assert_eq!(number(&findings, "campaign", "video", "IOPS"), None);
    }

    #[test]
    fn what_makes_no_campaign_is_refused_with_the_reason() {
        let refused_list = |list| refused(NAMES[0], &[("workloads", list)]);
        assert!(
            refused_list("oltpp").contains("'oltpp'") && refused_list("oltpp").contains("oltp")
        );
        assert!(refused_list("oltp,OLTP").contains("twice"));
        assert!(refused(NAMES[0], &[("workload", "oltp")]).contains("'workload'"));
        let without = [("workloads", "oltp"), ("mix", "40/60")];
        assert!(refused(NAMES[0], &without).contains("'mix'"), "no workload takes it");
        let sectors = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
        let why = crate::procedure(&settings(NAMES[0], &[]), sectors, &[]).err().unwrap().0;
        assert!(why.starts_with("metadata: ") && why.contains("sector size"), "{why}");
    }
}
