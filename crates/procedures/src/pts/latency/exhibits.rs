//! The report of the latency test: seven pages of the report form (six in 1.1, which has neither
//! 99.999 %, IOPS nor the histogram).

use super::setup::{DEMAND, HISTOGRAM, HISTOGRAM_TIME, Latency, MIXES, TRACKED, average_response};
use crate::common::metrics::PointValue;
use crate::common::preconditioning;
use crate::common::results::LoopResults;
use crate::common::rounds::{TrackedMetric, random_points};
use crate::exhibits::disclosure::{self, ReportForm, SECOND_STIMULUS};
use crate::exhibits::loops::{
    ConvergencePlot, convergence, first_window, not_steady, rounds_ending, rounds_table,
    steady_facts, tracking_table,
};
use crate::exhibits::matrix::{
    AVERAGE, FIVE_NINES_TIME, LoopMatrix, MAXIMUM, MINIMUM, MatrixValue, millis,
};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{
    FIVE_NINES, bins_caveat, percentile_table, run_confidence_plot, tail_plot,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::tkperf;
use crate::pts::scattered::RangedTest;
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::report_notation::{joined, mix_name};
use steadfast_domain::findings::{
    Axis, Exhibit, KeyFigure, Metric, Page, Plot, PlotKind, Scale, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Caveat, Measurement, Profile, Record, Step, Verdict, caveats as ids};

const AVERAGE_SUMMARY: MatrixValue = MatrixValue { id: "average-summary", ..AVERAGE };
const IOPS: MatrixValue =
    MatrixValue { id: "iops", title: "IOPS", decimals: 1, value: |cell| cell.iops.mean };

type LatencyRun<'a> = StudiedRun<'a, Latency>;

impl ProcedureReport for Latency {
    type Results<'a> = LoopResults;
    const TITLE: &'static str = "Latency";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| matrix(run).table(&AVERAGE_SUMMARY)),
        ReportEntry::Table(|run| tracking_table("steady-state", &run.results.verdict)),
        ReportEntry::Form("LAT SS Convergence - Average (100 % W)"),
        ReportEntry::Plot(|run| convergence_plot(run, "Average", average_response)),
        ReportEntry::Form("LAT SS Convergence - Maximum (100 % W)"),
        ReportEntry::Plot(|run| convergence_plot(run, "Maximum", longest_response)),
        ReportEntry::Form("LAT SS Measurement Window - RND 4K W"),
        ReportEntry::Several(|run| first_window(&run.results.verdict)),
        ReportEntry::Of(
            &[Profile::Pts20, Profile::Quick],
            &[
                ReportEntry::Form("LAT - Ave, 5 9s, Max Response Times & IOPS - Tabular Data"),
                ReportEntry::Table(|run| matrix(run).table(&AVERAGE)),
                ReportEntry::Table(|run| matrix(run).table(&FIVE_NINES_TIME)),
                ReportEntry::Table(|run| matrix(run).table(&MAXIMUM)),
                ReportEntry::Table(|run| matrix(run).table(&IOPS)),
            ],
        ),
        ReportEntry::Of(
            &[Profile::Pts11, Profile::Tkperf],
            &[
                ReportEntry::Form("LAT - Ave & Max Response Times - Tabular Data"),
                ReportEntry::Table(|run| matrix(run).table(&AVERAGE)),
                ReportEntry::Table(|run| matrix(run).table(&MAXIMUM)),
            ],
        ),
        ReportEntry::Form("LAT - Average Response Time - 3D Plot"),
        ReportEntry::Plot(|run| matrix_plot(run, &AVERAGE)),
        ReportEntry::Form("LAT - Maximum Response Time - 3D Plot"),
        ReportEntry::Plot(|run| matrix_plot(run, &MAXIMUM)),
        ReportEntry::Form("LAT - Response Time Histogram - Confidence Level Plot"),
        ReportEntry::Several(histogram_exhibits),
        ReportEntry::Of(&[Profile::Tkperf], &[ReportEntry::Chapters(tkperf_chapters)]),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Latency"),
        ReportEntry::Listing(listing),
        ReportEntry::Facts(|run| steady_facts(&run.test.mixed_loop, &run.results)),
        ReportEntry::Table(|run| tracking_table("steady-state", &run.results.verdict)),
        ReportEntry::Table(|run| rounds_table("rounds", &run.test.mixed_loop, &run.results)),
        ReportEntry::Table(|run| matrix(run).table(&MINIMUM)),
        ReportEntry::OptionalTable(percentiles_table),
        ReportEntry::OptionalPlot(histogram_tail_plot),
        ReportEntry::Secondary,
        ReportEntry::Table(|run| {
            let points: Vec<SecondaryPoint> =
                run.results.cells.iter().map(SecondaryPoint::from).collect();
            secondary::points_table("secondary", "Secondary metrics", &points)
        }),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(|run| preconditioning_exhibits(&run.choices, run.record)),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["confidence", "convergence-average"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), LoopResults::new(&self.mixed_loop, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &LatencyRun<'_>) -> ReportForm {
        let rounds = disclosure::window_text(&run.results.verdict);
        let histogram =
            run.test.histogram_time.map(|time| format!("{TRACKED}, {time} (histogram)"));
        let mut test_parameters = disclosure::loop_test_rows("LAT Loop", &run.choices, &rounds);
        if let Some(second) = test_parameters.iter_mut().find(|row| row.id == SECOND_STIMULUS) {
            second.value = histogram;
            second.origin = HISTOGRAM_TIME.origin(run.choices.settings);
        }
        ReportForm {
            test: "Latency Test (REQUIRED)".into(),
            subtitle: "LAT - Response Time, OIO = 1".into(),
            set_up: disclosure::loop_set_up_rows("LAT Loop", &run.choices, &rounds),
            test_parameters,
        }
    }

    fn ending(run: &LatencyRun<'_>) -> String {
        rounds_ending(run.record, &run.results, run.test.mixed_loop.rounds_max)
    }

    fn verdict(run: &LatencyRun<'_>) -> Option<Verdict> {
        Some(run.results.verdict.clone())
    }

    fn caveats(run: &LatencyRun<'_>) -> Vec<Caveat> {
        not_steady("", run.record, &run.results).into_iter().collect()
    }

    fn later_caveats(run: &LatencyRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if run.test.demand != DEMAND {
            caveats.push(Caveat::deviation(
                ids::DEMAND,
                format!("Demand {} instead of the latency test's {DEMAND}.", run.test.demand),
                "Omit --threads and --depth.",
            ));
        }
        caveats.extend(run.test.histogram_time.map(|_| bins_caveat()));
        caveats
    }

    fn reports(run: &LatencyRun<'_>, step: &Step) -> bool {
        run.results.reports(&run.test.mixed_loop, step) || step.place.phase == HISTOGRAM
    }

    /// Returns the mean response times of random 4 KiB, and the tail of the histogram run.
    fn figures(run: &LatencyRun<'_>) -> Vec<KeyFigure> {
        let figure = |id: &str, label: &str, mix: u8| {
            let cell = run.results.cell(&AccessPattern::random(TRACKED.size, mix));
            let PointValue { mean, range } = cell.map(|cell| cell.art).unwrap_or_default();
            KeyFigure::new(id, label, mean, "ms").with_range(range)
        };
        let mut figures = vec![
            figure("rnd-4k-read-mean", "RND 4K read, mean", 100),
            figure("rnd-4k-write-mean", "RND 4K write, mean", 0),
        ];
        if run.test.histogram_time.is_some() {
            let tally = histogram(run).map(Measurement::total).unwrap_or_default();
            let tail = |id: &str, name: &str, fraction: f64| {
                let label = format!("{TRACKED}, {name}");
                KeyFigure::new(id, label, millis(tally.percentile(fraction)), "ms").of_buckets()
            };
            figures.push(tail("four-nines", "99.99 %", 0.9999));
            figures.push(tail("five-nines", "99.999 %", FIVE_NINES));
        }
        figures
    }

    fn metrics(run: &LatencyRun<'_>) -> Vec<Metric> {
        run.results.metrics()
    }
}

/// Returns the matrix. The standard's table starts with 0/100.
fn matrix<'r>(run: &'r LatencyRun<'_>) -> LoopMatrix<'r> {
    LoopMatrix::new(&run.test.sizes, &MIXES, &run.results)
}

/// Plots the matrix as columns in perspective.
fn matrix_plot(run: &LatencyRun<'_>, value: &MatrixValue) -> Plot {
    let matrix = matrix(run);
    let (x, y) = (matrix.names(), Axis::new("ms", Scale::Linear));
    let series = matrix.series(value, &x);
    let (id, title) = (format!("{}-3d", value.id), format!("Latency - {}", value.title));
    Plot::new(PlotKind::Columns3d, &id, title, x, y)
        .caption("In the rounds of the measurement window; one series per read/write mix.")
        .series(series)
}

fn longest_response(measurement: &Measurement) -> Option<f64> {
    millis(measurement.total().response_longest())
}

/// Plots 100 % writes of every block size by round.
fn convergence_plot(run: &LatencyRun<'_>, name: &str, metric: TrackedMetric) -> Plot {
    let plot = ConvergencePlot {
        id: &format!("convergence-{}", name.to_lowercase()),
        title: &format!("LAT SS Convergence - {name} Response Time, 100 % Writes"),
        caption: "Response time of random writes of each block size, round by round. A void \
                  round breaks its line.",
        y: Axis::new("ms", Scale::Linear),
        points: &random_points(&[0], &run.test.sizes),
    };
    convergence(plot, &run.test.mixed_loop, &run.test.mixed_loop.rounds_by(run.record, metric))
}

/// Returns the measurement of the histogram run; `None` if it did not run.
fn histogram<'a>(run: &LatencyRun<'a>) -> Option<&'a Measurement> {
    let steps = run.record.steps().filter(|(step, _)| step.place.phase == HISTOGRAM);
    steps.last().map(|(_, outcome)| &outcome.measurement)
}

/// Returns the exhibits of the histogram run; empty if the profile has none.
fn histogram_exhibits(run: &LatencyRun<'_>) -> Vec<Exhibit> {
    if run.test.histogram_time.is_none() {
        return Vec::new();
    }
    let Some(measurement) = histogram(run) else {
        return vec![Exhibit::Text(
            "The histogram run did not take place: it runs only after steady state.".into(),
        )];
    };
    let name = format!("Confidence Level Plot - {TRACKED}");
    vec![Exhibit::Plot(run_confidence_plot("confidence", &name, measurement))]
}

fn percentiles_table(run: &LatencyRun<'_>) -> Option<Table> {
    let columns = [(TRACKED.to_string(), histogram(run)?.total())];
    Some(percentile_table("percentiles", "Response times of the histogram run, ms", &columns))
}

fn histogram_tail_plot(run: &LatencyRun<'_>) -> Option<Plot> {
    let columns = [(TRACKED.to_string(), histogram(run)?.total())];
    Some(tail_plot("histogram-tail", "Response times of the histogram run", &columns))
}

fn tkperf_chapters(run: &LatencyRun<'_>) -> Vec<Page> {
    tkperf::latency(&tkperf::TkperfTest {
        title: "Latency",
        id: "latency",
        unit: "ms",
        listing: listing(run),
        dependent: "4k block size, random write mean latency".into(),
        points: tkperf::shown(&run.test.mixed_loop, &run.results),
        verdicts: vec![run.results.verdict.clone()],
    })
}

fn listing(run: &LatencyRun<'_>) -> String {
    let histogram = run.test.histogram_time.map(|time| {
        format!(
            "\nAfter steady state: {TRACKED} for {time}, {}; record all response times",
            run.test.demand
        )
    });
    format!(
        "{}\nWhile not steady state, at most {} rounds\n  For R/W mix {}\n    For block size \
         {}\n      Random I/O for {}, {}; record average and maximum response time{}",
        preconditioning::listing(&run.test.setup),
        run.test.mixed_loop.rounds_max,
        joined(MIXES.map(mix_name)),
        joined(run.test.sizes.iter().map(|size| size.transfer_size())),
        run.test.setup.step_time,
        run.test.demand,
        histogram.unwrap_or_default()
    )
}
