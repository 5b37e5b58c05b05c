//! Campaigns: WSAT or DIRTH of the six standard synthetic workloads of PTS 2.0.x on one device,
//! in one plan, one run directory and one report with a table over all of them.
//!
//! A campaign is a suite whose parts are workloads. Each part is the procedure as it runs alone:
//! it purges, preconditions by its own rule, and has its own seed.

use crate::parameters::Parameter;
use crate::parts::{EndingsTable, PartFindings};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::workload::{self, WORKLOADS};
use crate::pts::wsat::PointName;
use crate::pts::{dirth, wsat};
use crate::suite::{PartPlan, Suite, SuiteKind, method_of_profile};
use steadfast_domain::findings::{Cell, Exhibit, Metric, Row, Table};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Settings, suggestion};

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
    endings: EndingsTable {
        id: "campaign-ends",
        title: "How each workload ended",
        corner: "Workload",
    },
    repeat_options: |parts| format!("`--set workloads={} --max-rounds N`", parts.join(",")),
    overall_tables: wsat_tables,
    method: method_of_profile,
    add_to_page_one: |_, _| (),
};

const DIRTH_KIND: SuiteKind = SuiteKind {
    title: "DIRTH Campaign",
    subtitle: "Demand Intensity of the Standard Workloads",
    overall_tables: dirth_tables,
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

/// A point of a part: a row of the tables over all workloads.
struct CampaignPoint<'a> {
    /// First cell of the row.
    head: String,
    /// Access pattern of the workload, and the cells that only this kind of campaign has.
    own_cells: [Cell; 3],
    is_strong: bool,
    /// Metrics of the point over all I/Os; empty if the part has no such point.
    metrics: Vec<&'a Metric>,
}

impl CampaignPoint<'_> {
    /// Returns the cells of these columns.
    fn metric_cells(&self, columns: &[MetricColumn]) -> impl Iterator<Item = Cell> {
        columns.iter().map(move |column| {
            Cell::number(metric_value(&self.metrics, column.metric), column.decimals)
        })
    }
}

/// A column of the tables over all workloads.
struct MetricColumn {
    /// Name of the metric.
    metric: &'static str,
    heading: &'static str,
    decimals: u8,
}

const RESULTS: [MetricColumn; 6] = [
    MetricColumn { metric: "iops", heading: "IOPS", decimals: 1 },
    MetricColumn { metric: "throughput", heading: "MB/s", decimals: 1 },
    MetricColumn { metric: "art", heading: "ART ms", decimals: 3 },
    MetricColumn { metric: "min-response", heading: "Min ms", decimals: 3 },
    MetricColumn { metric: "p99-999", heading: "99.999 % ms", decimals: 3 },
    MetricColumn { metric: "mrt", heading: "MRT ms", decimals: 3 },
];

const SECONDARY: [MetricColumn; 6] = [
    MetricColumn { metric: "power", heading: "Avg Power mW", decimals: 0 },
    MetricColumn { metric: "iops-per-watt", heading: "IOPS / W", decimals: 1 },
    MetricColumn { metric: "joules-per-gb", heading: "J / GB", decimals: 2 },
    MetricColumn { metric: "temperature", heading: "Temp. Celsius", decimals: 1 },
    MetricColumn { metric: "cpu-system", heading: "CPU system %", decimals: 1 },
    MetricColumn { metric: "cpu-io-wait", heading: "CPU I/O wait %", decimals: 1 },
];

/// Returns the metrics over all I/Os of the first point of a part whose name has this suffix;
/// empty if there is none.
fn point_metrics<'a>(part: &'a PartFindings<'_>, suffix: &str) -> Vec<&'a Metric> {
    let metrics = part.findings.iter().flat_map(|findings| &findings.metrics);
    let Some(first) = metrics.clone().find(|metric| metric.point.ends_with(suffix)) else {
        return Vec::new();
    };
    metrics.filter(|metric| metric.point == first.point && metric.direction.is_none()).collect()
}

/// Returns the value of a metric; `None` if it was not measured.
fn metric_value(metrics: &[&Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.metric == name).map(|metric| metric.value)
}

/// Returns the tables of the fresh rate of every workload and its last rate: of the steady window,
/// else of the histogram run, else of the last step.
fn wsat_tables(parts: &[PartFindings<'_>]) -> Vec<Exhibit> {
    let mut points = Vec::new();
    for part in parts {
        let fresh = point_metrics(part, wsat::FIRST_STEP.suffix);
        let has_point = |name: &&PointName| !point_metrics(part, name.suffix).is_empty();
        let late = wsat::LATE_POINTS.iter().find(has_point);
        points.push(CampaignPoint {
            head: part.name.to_owned(),
            own_cells: [
                pattern_cell(part.name),
                Cell::number(metric_value(&fresh, "iops"), 1),
                Cell::text(late.map_or("", |name| name.description)),
            ],
            is_strong: false,
            metrics: late.map(|name| point_metrics(part, name.suffix)).unwrap_or_default(),
        });
    }
    let title = "All workloads: first step, and the rate that page one of each reports";
    tables(title, ["Pattern", "IOPS, first step", "Values of"], &points)
}

/// Returns the tables of the three chosen points of every workload, by their histograms.
fn dirth_tables(parts: &[PartFindings<'_>]) -> Vec<Exhibit> {
    let mut points = Vec::new();
    for part in parts {
        for role in dirth::POINTS {
            let metrics = point_metrics(part, role);
            let demand = |name| Cell::number(metric_value(&metrics, name), 0);
            points.push(CampaignPoint {
                head: format!("{}, {role}", part.name),
                own_cells: [pattern_cell(part.name), demand("threads"), demand("queue-depth")],
                is_strong: role == dirth::POINTS[0],
                metrics,
            });
        }
    }
    tables("All workloads: the chosen points", ["Pattern", "Threads", "Queue depth"], &points)
}

fn pattern_cell(role: &str) -> Cell {
    Cell::text(workload::notation(role).unwrap_or("JESD219"))
}

/// Returns the table of results with this title, and that of secondary metrics.
fn tables(title: &str, own_columns: [&str; 3], points: &[CampaignPoint<'_>]) -> Vec<Exhibit> {
    let results = points.iter().map(|point| {
        let cells = point.own_cells.iter().cloned().chain(point.metric_cells(&RESULTS));
        Row::new(point.head.clone(), cells).strong(point.is_strong)
    });
    let results = Table::new("campaign", title, "Workload")
        .columns(own_columns)
        .columns(RESULTS.map(|column| column.heading))
        .rows(results);
    let title = "All workloads: secondary metrics of the same steps";
    let secondary = Table::new("campaign-secondary", title, "Workload")
        .columns(SECONDARY.map(|column| column.heading))
        .rows(points.iter().map(|p| Row::new(p.head.clone(), p.metric_cells(&SECONDARY))));
    vec![Exhibit::Table(results), Exhibit::Table(secondary)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::started_part;
    use crate::testing::scripted::{broken_record, build, purges, scripted, steps};
    use steadfast_domain::settings::Geometry;
    use steadfast_domain::{Bytes, Findings, JournalEntry, Measurement, Nanos, Step};

    fn settings(name: &str, parameters: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::new(name, 7);
        for (name, value) in parameters {
            settings.set(name, value);
        }
        settings
    }

    /// IOPS of each workload: 1,000 of the first to 6,000 of the last.
    fn workload_iops(role: &str) -> f64 {
        let number = WORKLOADS.iter().position(|workload| *workload == role).unwrap() + 1;
        number as f64 * 1000.0
    }

    /// Two watts.
    fn powered(_: &Step, measurement: &mut Measurement) {
        measurement.sensed.power_milliwatts = Some(2000.0);
    }

    /// Runs a campaign and returns its journal and its findings.
    fn run(settings: &Settings) -> (Vec<JournalEntry>, Findings) {
        let mut bench = scripted(|step| workload_iops(step.place.phase.split('/').next().unwrap()));
        bench.response = |_| Some(Nanos::from_millis(2));
        bench.retouch = powered;
        let findings = bench.studied(&*build(settings), settings);
        (bench.entries, findings)
    }

    fn number(findings: &Findings, table: &str, row: &str, column: &str) -> Option<f64> {
        findings.table(table).unwrap().cell(row, column).unwrap().value()
    }

    /// The same steps as each workload alone with the seed that the report lists; a purge of its
    /// own for each.
    #[test]
    fn a_wsat_campaign_is_six_wsats_with_a_purge_each_and_one_table() {
        let settings = settings(NAMES[0], &[("histogram-time", "5min"), ("mix", "40/60")]);
        let (entries, findings) = run(&settings);
        assert_eq!(purges(&entries), 6);
        for plan in plans("wsat", &settings).unwrap() {
            let alone = plan.settings(&settings);
            assert_eq!(alone.parameters.contains_key("mix"), plan.name == "composite");
            let bench = scripted(|_| workload_iops(&plan.name)).conducted(&*build(&alone));
            let prefix = format!("{}/", plan.name);
            let mut part_steps: Vec<Step> = steps(&entries).into_iter().cloned().collect();
            part_steps.retain(|step| step.place.phase.starts_with(&prefix));
            for step in &mut part_steps {
                step.place.phase = step.place.phase.replace(&prefix, "");
            }
            let expected: Vec<Step> = steps(&bench.entries).into_iter().cloned().collect();
            assert_eq!(part_steps, expected, "{}", plan.name);
        }
        let titles: Vec<&str> = findings.parts.iter().map(|part| part.title.as_str()).collect();
        let expected = [
            "WSAT SEQ 0.5K RW50", "WSAT RND 4K W", "WSAT RND 4K R", "WSAT RND 8K RW65",
            "WSAT SEQ 128K RW90",
        ];
        assert_eq!(titles[..5], expected);
        for role in WORKLOADS {
            let iops = workload_iops(role);
            let value = |table, column| number(&findings, table, role, column);
            assert_eq!(value("campaign", "IOPS, first step"), Some(iops), "{role}");
            assert_eq!(value("campaign", "IOPS"), Some(iops), "{role}");
            assert_eq!(value("campaign", "Min ms"), Some(2.0), "{role}");
            assert_eq!(value("campaign-secondary", "IOPS / W"), Some(iops / 2.0), "{role}");
            assert_eq!(value("campaign-secondary", "CPU system %"), None, "not measured");
        }
    }

    #[test]
    fn a_dirth_campaign_has_the_chosen_points_of_every_workload() {
        let settings = settings(NAMES[1], &[("loops", "2,1"), ("workloads", "oltp, Video")]);
        let (_, findings) = run(&settings);
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
        let (mut entries, _) = run(&settings);
        let cut = entries.iter().position(|entry| started_part(entry) == Some("video"));
        entries.truncate(cut.unwrap());
        let broken = broken_record(&settings, entries);
        let findings = build(&settings).study(&broken);
        assert!(findings.ending.contains("not started: video"), "{}", findings.ending);
        assert_eq!(number(&findings, "campaign", "oltp", "IOPS"), Some(4000.0));
        assert_eq!(number(&findings, "campaign", "video", "IOPS"), None);
    }

    #[test]
    fn a_campaign_that_the_sectors_do_not_allow_is_refused_with_the_reason() {
        let sectors = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
        let why = crate::procedure(&settings(NAMES[0], &[]), sectors, &[]).err().unwrap().0;
        assert!(why.starts_with("metadata: ") && why.contains("sector size"), "{why}");
    }
}
