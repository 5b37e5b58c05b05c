//! The findings of a trend: tables of runs, changes and metrics, and a plot of every metric.

use super::computation::ProcedureTrend;
use super::selection::TrendRun;
use super::series::{LevelChange, MetricTrend, TREND_RUNS_MIN, TrendVerdict};
use crate::date;
use crate::number::signed;
use crate::page_one::PREFERRED_LOADS;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, BandEdge, COMPARED, COMPARED_SECONDARY, Cell, Exhibit, FormHeader, Marker, Metric, Page,
    Plot, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::{Caveat, EndState, Findings};

/// Maximum number of plots; those of changed metrics come first.
const PLOTS_MAX: usize = 24;

/// Maximum number of plots that page one repeats in small.
const FRONT_PLOTS_MAX: usize = 4;

/// Maximum number of rows of changes that are printed.
const PRINTED_CHANGES_MAX: usize = 40;

/// Width of the noise band, in standard deviations to each side of the level.
const BAND_SIGMAS: f64 = 2.0;

/// Names of metrics in print, besides those of comparisons.
const METRIC_NAMES: [(&str, &str); 3] = [
    ("p50", "50 % response time"),
    ("p99", "99 % response time"),
    ("p99-9", "99.9 % response time"),
];

struct RunColumn {
    name: &'static str,
    value: fn(&TrendRun) -> &Option<String>,
}

const RUN_COLUMNS: [RunColumn; 6] = [
    RunColumn { name: "Firmware", value: |run| &run.firmware },
    RunColumn { name: "Kernel", value: |run| &run.kernel },
    RunColumn { name: "Host", value: |run| &run.host },
    RunColumn { name: "Program", value: |run| &run.software },
    RunColumn { name: "Serial number", value: |run| &run.serial },
    RunColumn { name: "Test ID", value: |run| &run.test_id },
];

impl MetricTrend {
    /// Returns the name in print: `RND 4K W: IOPS`.
    pub fn title(&self) -> String {
        let id = self.metric.metric.as_str();
        let named = COMPARED
            .iter()
            .chain(&COMPARED_SECONDARY)
            .chain(&METRIC_NAMES)
            .find(|(metric, _)| *metric == id);
        format!("{}: {}", self.metric.point, named.map_or(id, |(_, name)| name))
    }

    /// Returns the name with the unit, unless the name is the unit.
    fn title_with_unit(&self) -> String {
        let (title, unit) = (self.title(), &self.metric.unit);
        if title.ends_with(unit.as_str()) { title } else { format!("{title}, {unit}") }
    }

    /// Returns 0 for a metric that got worse, more for less important ones.
    fn rank(&self) -> u8 {
        match self.verdict {
            TrendVerdict::Worse => 0,
            TrendVerdict::Better => 1,
            _ if !self.changes.is_empty() => 2,
            _ => 3,
        }
    }

    /// Returns the ID of its rows and its plot.
    pub fn id(&self) -> String {
        format!("{} {}", self.metric.point, self.metric.metric)
    }
}

impl TrendVerdict {
    /// Returns the word of tables and files.
    pub fn word(self) -> &'static str {
        match self {
            TrendVerdict::Worse => "WORSE",
            TrendVerdict::Better => "better",
            TrendVerdict::Same => "same",
            TrendVerdict::NotJudged => "not judged",
        }
    }
}

impl ProcedureTrend {
    /// Returns the trend as findings, which print as text, HTML, JSON and CSV.
    pub fn findings(&self, software: &str) -> Findings {
        let plots = self.plots();
        let front_plots = plots.iter().take(FRONT_PLOTS_MAX).map(|plot| plot.id.clone()).collect();
        let mut summary: Vec<Table> = self.changes_table().into_iter().collect();
        summary.push(self.runs_table());
        summary.extend(self.left_out_table());
        let on_page_one: Vec<String> = summary.iter().map(|table| table.id.clone()).collect();
        summary.push(self.metrics_table());
        let mut exhibits: Vec<Exhibit> = plots.into_iter().map(Exhibit::Plot).collect();
        let (drawn, all) = (exhibits.len(), self.metrics.len());
        if drawn < all {
            exhibits.push(Exhibit::Text(format!(
                "{drawn} of {all} metrics are drawn, changed ones first; trend-metrics.csv and \
                 trend-values.csv have all of them."
            )));
        }
        let header = FormHeader {
            test: "Trend".to_owned(),
            subtitle: self.title.clone(),
            model: self.model.clone(),
            ..FormHeader::default()
        };
        let mut findings = Findings {
            id: format!("trend-{}", self.procedure),
            method: self.method.clone(),
            simulated: self.simulated,
            began_unix_ms: self.runs.first().map_or(0, |run| run.begin_unix_ms),
            ended_unix_ms: self.runs.last().map_or(0, |run| run.begin_unix_ms),
            software: software.to_owned(),
            end: if self.is_good() { EndState::Complete } else { EndState::Failed },
            ending: self.outcome(),
            caveats: self.caveats(),
            chapters: vec![
                Page::new("Every metric over the runs", exhibits).with_id("trend-plots"),
            ],
            long_tables: vec![self.values_table()],
            ..Findings::new(&format!("Trend: {}", self.title), header)
        };
        findings.front.tables = on_page_one;
        findings.front.plots = front_plots;
        findings.summary = summary.into_iter().map(Exhibit::Table).collect();
        findings
    }

    /// Returns the outcome in one sentence or two.
    pub fn outcome(&self) -> String {
        let worse = self.count(TrendVerdict::Worse);
        let better = self.count(TrendVerdict::Better);
        let judged = self.metrics.len() - self.count(TrendVerdict::NotJudged);
        let runs = match self.runs.len() {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        let than = match &self.baseline {
            Some(name) => format!("than {name}"),
            None => "than before their last change".to_owned(),
        };
        let newest = self.newest_left_out.as_ref().map_or(String::new(), |name| {
            format!("The newest run, {name}, does not count: see the runs left out. ")
        });
        let outcome = if judged == 0 && self.baseline.is_some() {
            format!("{runs}; no metric can be judged against the baseline.")
        } else if judged == 0 {
            format!(
                "{runs}; changes are searched from {TREND_RUNS_MIN} runs on. With fewer, name a \
                 --baseline."
            )
        } else if worse > 0 {
            format!(
                "REGRESSION: {worse} of {judged} metrics are worse {than}, {better} better ({runs})."
            )
        } else if better == 0 && self.metrics.iter().all(|metric| metric.changes.is_empty()) {
            format!("No regression: none of {judged} metrics changed ({runs}).")
        } else {
            format!("No regression: of {judged} metrics, {better} are better {than} ({runs}).")
        };
        newest + &outcome
    }

    fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let worst = self.regressions().max_by(|a, b| {
            let size = |metric: &MetricTrend| metric.percent.map_or(0.0, f64::abs);
            size(a).total_cmp(&size(b))
        });
        if let Some(worst) = worst {
            let first_run = worst.first_run.map_or("", |run| self.runs[run].name.as_str());
            let text = format!(
                "Regression: the largest is {}, {} %; the first run of this level is {first_run}.",
                worst.title(),
                signed(worst.percent.unwrap_or(0.0), 1),
            );
            let remedy = "See the table of changes; name a later --baseline to accept it.";
            caveats.push(Caveat::invalidates(ids::REGRESSION, text, remedy));
        }
        if !self.left_out.is_empty() {
            let text = format!(
                "{} of {} runs or parts are left out: they did not end, were not steady, or are \
                 there twice.",
                self.left_out.len(),
                self.left_out.len() + self.runs.len()
            );
            caveats.push(Caveat::deviation(ids::RUNS_LEFT_OUT, text, ""));
        }
        if self.runs.len() < TREND_RUNS_MIN && self.baseline.is_some() {
            let text = format!(
                "Fewer than {TREND_RUNS_MIN} runs: their spread is unknown, and the measurement \
                 windows of the runs alone decide what is noise."
            );
            let remedy = "Repeat the run until there are five.";
            caveats.push(Caveat::remark(ids::WINDOWS_DECIDE, text, remedy));
        }
        let mut serials: Vec<&str> =
            self.runs.iter().filter_map(|run| run.serial.as_deref()).collect();
        serials.sort_unstable();
        serials.dedup();
        if serials.len() > 1 {
            let text = format!(
                "The runs are of {} drives of one model: {}. Drives of one model differ.",
                serials.len(),
                serials.join(", ")
            );
            let remedy = "Give the runs of one drive to see what changed on it.";
            caveats.push(Caveat::deviation(ids::SERIALS_DIFFER, text, remedy));
        }
        if !self.not_stated.is_empty() {
            let text = format!("Not every run states: {}.", self.not_stated.join(", "));
            caveats.push(Caveat::remark(ids::SETTING_DIFFERS, text, ""));
        }
        caveats
    }

    /// Returns the runs with what may explain a change; a column without any value is left out.
    fn runs_table(&self) -> Table {
        let is_known =
            |column: &&RunColumn| self.runs.iter().any(|run| (column.value)(run).is_some());
        let kept: Vec<&RunColumn> = RUN_COLUMNS.iter().filter(is_known).collect();
        let rows = (1..).zip(&self.runs).map(|(number, run): (usize, _)| {
            let begin = Cell::text(run.begin());
            let cells = kept.iter().map(|column| Cell::known((column.value)(run).as_ref()));
            let row =
                Row::new(format!("{number}: {}", run.name), std::iter::once(begin).chain(cells));
            row.with_id(&run.name).strong(self.baseline.as_ref() == Some(&run.name))
        });
        let names = std::iter::once("Begin").chain(kept.iter().map(|column| column.name));
        let title = match &self.baseline {
            Some(name) => format!("Runs, oldest first; baseline: {name}"),
            None => "Runs, oldest first".to_owned(),
        };
        Table::new("trend-runs", title, "Run").columns(names).rows(rows)
    }

    fn left_out_table(&self) -> Option<Table> {
        let rows = self.left_out.iter().map(|run| {
            let begin = Cell::text(date::date_time(run.begin_unix_ms));
            Row::new(&run.name, [begin, Cell::text(&run.reason)])
        });
        let table = Table::new("trend-left-out", "Runs left out of the series", "Run");
        (!self.left_out.is_empty()).then(|| table.columns(["Begin", "Reason"]).rows(rows))
    }

    /// Returns the changed metrics: the level changes, or the differences from the baseline.
    fn changes_table(&self) -> Option<Table> {
        let mut rows: Vec<Row> = Vec::new();
        for metric in self.by_importance() {
            rows.extend(metric.changes.iter().map(|change| self.change_row(metric, change)));
        }
        let left_out = rows.len().saturating_sub(PRINTED_CHANGES_MAX);
        rows.truncate(PRINTED_CHANGES_MAX);
        let more = if left_out > 0 { format!("; {left_out} more") } else { String::new() };
        let columns = ["First run", "Runs", "Before", "After", "Change %", "Noise %"];
        let title = format!("Level changes; bold or *: for the worse{more}");
        let table = Table::new("trend-changes", title, "Metric");
        (!rows.is_empty()).then(|| table.columns(columns).rows(rows))
    }

    fn change_row(&self, metric: &MetricTrend, change: &LevelChange) -> Row {
        let decimals = decimals_of(change.before.min(change.after));
        Row::new(
            metric.title_with_unit(),
            [
                Cell::text(format!("{}: {}", change.run + 1, self.runs[change.run].name)),
                Cell::count(change.runs as u64),
                Cell::number(Some(change.before), decimals),
                Cell::number(Some(change.after), decimals),
                Cell::change(Some(change.percent), 1),
                Cell::number(metric.noise_percent, 2),
            ],
        )
        .with_id(format!("{} {}", metric.id(), change.run + 1))
        .strong(change.is_worse)
        // The change in percent.
        .marked(change.is_worse.then_some(4))
    }

    /// Returns all metrics with their noise and their verdict.
    fn metrics_table(&self) -> Table {
        let rows = self.metrics.iter().map(|metric| {
            let newest = metric.levels.iter().rev().flatten().next().copied();
            let value = newest.or(metric.values.iter().rev().flatten().next().copied());
            let source = match (metric.noise_percent, metric.noise_of_windows) {
                (None, _) => Cell::Missing,
                (_, true) => Cell::text("windows"),
                (_, false) => Cell::text("runs"),
            };
            let changes = metric.changes.len() as u64;
            Row::new(
                metric.title_with_unit(),
                [
                    Cell::number(value, value.map_or(0, decimals_of)),
                    Cell::number(metric.noise_percent, 2),
                    source,
                    Cell::count(changes),
                    Cell::number(metric.baseline, metric.baseline.map_or(0, decimals_of)),
                    Cell::change(metric.percent, 1),
                    Cell::text(metric.verdict.word()),
                ],
            )
            .with_id(metric.id())
            .strong(metric.verdict == TrendVerdict::Worse)
        });
        let columns = [
            ("level", "Level"),
            ("noise", "Noise %"),
            ("noise-from", "Noise from"),
            ("changes", "Changes"),
            ("baseline", "Baseline"),
            ("change", "Change %"),
            ("verdict", "Verdict"),
        ];
        let title = "Metrics: newest level, noise of a run, change against the baseline or of the \
                     last change";
        Table::new("trend-metrics", title, "Metric").columns(columns).rows(rows)
    }

    /// Returns every value of every run as one long table.
    pub fn values_table(&self) -> Table {
        let columns = [
            "begin", "firmware", "kernel", "host", "software", "serial", "metric", "point", "unit",
            "value", "low", "high", "level", "noise_percent", "new_level", "change_percent",
        ];
        let mut rows = Vec::new();
        for (at, run) in self.runs.iter().enumerate() {
            for metric in self.metrics.iter().filter(|metric| metric.values[at].is_some()) {
                let number = |value: Option<f64>| Cell::number(value, 6);
                let change = metric.changes.iter().find(|change| change.run == at);
                let range = metric.ranges[at];
                rows.push(Row::new(
                    &run.name,
                    [
                        Cell::text(run.begin()),
                        Cell::known(run.firmware.as_ref()),
                        Cell::known(run.kernel.as_ref()),
                        Cell::known(run.host.as_ref()),
                        Cell::known(run.software.as_ref()),
                        Cell::known(run.serial.as_ref()),
                        Cell::text(&metric.metric.metric),
                        Cell::text(&metric.metric.point),
                        Cell::text(&metric.metric.unit),
                        number(metric.values[at]),
                        number(range.map(|range| range.low)),
                        number(range.map(|range| range.high)),
                        number(metric.levels[at]),
                        number(metric.noise_percent),
                        Cell::text(if change.is_some() { "yes" } else { "no" }),
                        number(change.map(|change| change.percent)),
                    ],
                ));
            }
        }
        Table::new("trend-values", "Every value of every run", "run").columns(columns).rows(rows)
    }

    /// Returns the metrics: worse ones, better ones, those that changed before, and the others,
    /// each in their order.
    fn by_importance(&self) -> Vec<&MetricTrend> {
        let mut all: Vec<&MetricTrend> = self.metrics.iter().collect();
        all.sort_by_key(|metric| metric.rank());
        all
    }

    /// Returns the plots of the most important metrics that have several values. Of equally
    /// important ones, those come first that are the first of a load in [`PREFERRED_LOADS`].
    fn plots(&self) -> Vec<Plot> {
        let mut metrics = self.by_importance();
        metrics.retain(|metric| metric.values.iter().flatten().count() > 1);
        metrics.sort_by_key(|metric| (metric.rank(), self.preference(&metric.metric)));
        metrics.into_iter().take(PLOTS_MAX).map(|metric| self.plot(metric)).collect()
    }

    /// Returns the index of the metric's load in [`PREFERRED_LOADS`], or its length.
    fn preference(&self, metric: &Metric) -> usize {
        let first = self.metrics.iter().find(|other| other.metric.point == metric.point);
        PREFERRED_LOADS
            .iter()
            .position(|names| names.contains(&metric.point.as_str()))
            .filter(|_| first.is_some_and(|first| first.metric.metric == metric.metric))
            .unwrap_or(PREFERRED_LOADS.len())
    }

    fn plot(&self, metric: &MetricTrend) -> Plot {
        let x = Axis::new("Run", Scale::Integers);
        let y = Axis::new(metric.metric.unit.as_str(), Scale::LinearFitted);
        let mut plot = Plot::lines(&format!("trend {}", metric.id()), metric.title(), x, y);
        if metric.levels.iter().any(Option::is_some) {
            plot = plot.with(Series::band("level ± 2 σ of a run", &noise_band(metric)));
        }
        let values =
            (1..).zip(&metric.values).map(|(run, value): (u32, _)| (f64::from(run), *value));
        plot = plot.with(Series::new("runs", Stroke::Measured, values.collect()));
        if let Some(baseline) = metric.baseline {
            let ends = [1.0, self.runs.len() as f64].map(|x| (x, Some(baseline)));
            plot = plot.with(Series::new("baseline", Stroke::Limit, ends.to_vec()));
        }
        let markers = metric.changes.iter().map(|change| Marker {
            x: change.run as f64 + 1.0,
            label: format!("{} %", signed(change.percent, 1)),
        });
        plot.markers(markers)
    }
}

/// Returns the band of the noise around each level, with a gap between two levels.
fn noise_band(metric: &MetricTrend) -> Vec<BandEdge> {
    let width = metric.noise_percent.map_or(0.0, |noise| BAND_SIGMAS * noise / 100.0);
    let edge = |x: f64, level: Option<f64>| BandEdge {
        x,
        low: level.map(|level| level * (1.0 - width)),
        high: level.map(|level| level * (1.0 + width)),
    };
    let mut edges: Vec<BandEdge> = Vec::new();
    for (at, level) in metric.levels.iter().enumerate() {
        let x = at as f64 + 1.0;
        if at > 0 && metric.changes.iter().any(|change| change.run == at) {
            edges.push(edge(x - 0.6, metric.levels[at - 1]));
            edges.push(edge(x - 0.5, None));
            edges.push(edge(x - 0.4, *level));
        }
        edges.push(edge(x, *level));
    }
    edges
}

/// Returns the number of decimals that show three digits of a small value.
fn decimals_of(value: f64) -> u8 {
    match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 4,
    }
}
