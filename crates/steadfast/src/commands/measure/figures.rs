//! Rates and response times of `measure`, for one run or several, as tables for the terminal,
//! Markdown and CSV.

use crate::terminal::number_or_dash;
use serde::Serialize;
use steadfast_domain::text::{counted, number, wrapped};
use steadfast_domain::{Measurement, Nanos, Op, StartError, Tally};
use steadfast_report::text_table;

/// Rates and response times of a set of I/Os, or their mean or standard deviation over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub(super) struct IoFigures {
    iops: Option<f64>,
    mb_per_second: Option<f64>,
    response_mean_ms: Option<f64>,
    response_min_ms: Option<f64>,
    response_p50_ms: Option<f64>,
    response_p99_ms: Option<f64>,
    response_p99_9_ms: Option<f64>,
    response_p99_99_ms: Option<f64>,
    response_p99_999_ms: Option<f64>,
    response_max_ms: Option<f64>,
}

/// Maximum width of lines below a table.
const LINE_WIDTH: usize = 79;

/// A column of the printed tables.
struct FigureColumn {
    head: &'static str,
    csv: &'static str,
    decimals: usize,
    of: fn(&IoFigures) -> Option<f64>,
}

const COLUMNS: [FigureColumn; 10] = [
    FigureColumn::new("IOPS", "iops", 1, |f| f.iops),
    FigureColumn::new("MB/s", "mb_per_s", 2, |f| f.mb_per_second),
    FigureColumn::new("ART ms", "response_mean_ms", 4, |f| f.response_mean_ms),
    FigureColumn::new("Min ms", "response_min_ms", 4, |f| f.response_min_ms),
    FigureColumn::new("50 % ms", "response_p50_ms", 4, |f| f.response_p50_ms),
    FigureColumn::new("99 % ms", "response_p99_ms", 4, |f| f.response_p99_ms),
    FigureColumn::new("99.9 % ms", "response_p99_9_ms", 4, |f| f.response_p99_9_ms),
    FigureColumn::new("99.99 % ms", "response_p99_99_ms", 4, |f| f.response_p99_99_ms),
    FigureColumn::new("99.999 % ms", "response_p99_999_ms", 4, |f| f.response_p99_999_ms),
    FigureColumn::new("MRT ms", "response_max_ms", 4, |f| f.response_max_ms),
];

/// A percentile of the response times.
struct Percentile {
    name: &'static str,
    fraction: f64,
    /// Minimum number of I/Os: ten lie beyond the percentile.
    ios_min: u32,
}

/// Percentiles in column order.
const PERCENTILES: [Percentile; 5] = [
    Percentile { name: "50 %", fraction: 0.5, ios_min: 20 },
    Percentile { name: "99 %", fraction: 0.99, ios_min: 1_000 },
    Percentile { name: "99.9 %", fraction: 0.999, ios_min: 10_000 },
    Percentile { name: "99.99 %", fraction: 0.9999, ios_min: 100_000 },
    Percentile { name: "99.999 %", fraction: 0.99999, ios_min: 1_000_000 },
];

impl FigureColumn {
    const fn new(
        head: &'static str,
        csv: &'static str,
        decimals: usize,
        of: fn(&IoFigures) -> Option<f64>,
    ) -> Self {
        FigureColumn { head, csv, decimals, of }
    }
    fn text(&self, figures: &IoFigures) -> String {
        number_or_dash((self.of)(figures), self.decimals)
    }
}

impl IoFigures {
    fn new(tally: &Tally, elapsed: Nanos) -> Self {
        let seconds = elapsed.as_secs_f64();
        let rate = |count: f64| (seconds > 0.0).then(|| count / seconds);
        let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
        let [p50, p99, p99_9, p99_99, p99_999] =
            PERCENTILES.map(|percentile| ms(tally.percentile(percentile.fraction)));
        IoFigures {
            iops: rate(tally.ios as f64),
            mb_per_second: rate(tally.bytes.as_mb()),
            response_mean_ms: tally.response_mean_ms(),
            response_min_ms: ms(tally.response_shortest()),
            response_p50_ms: p50,
            response_p99_ms: p99,
            response_p99_9_ms: p99_9,
            response_p99_99_ms: p99_99,
            response_p99_999_ms: p99_999,
            response_max_ms: ms(tally.response_longest()),
        }
    }

    /// Combines each figure over several runs; absent if any run lacks it.
    fn over(runs: &[IoFigures], combine: fn(&[f64]) -> Option<f64>) -> Self {
        let each = |of: fn(&IoFigures) -> Option<f64>| {
            let values: Option<Vec<f64>> = runs.iter().map(of).collect();
            values.and_then(|values| combine(&values))
        };
        IoFigures {
            iops: each(|f| f.iops),
            mb_per_second: each(|f| f.mb_per_second),
            response_mean_ms: each(|f| f.response_mean_ms),
            response_min_ms: each(|f| f.response_min_ms),
            response_p50_ms: each(|f| f.response_p50_ms),
            response_p99_ms: each(|f| f.response_p99_ms),
            response_p99_9_ms: each(|f| f.response_p99_9_ms),
            response_p99_99_ms: each(|f| f.response_p99_99_ms),
            response_p99_999_ms: each(|f| f.response_p99_999_ms),
            response_max_ms: each(|f| f.response_max_ms),
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation (n - 1); `None` for fewer than two values.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The I/Os of one operation, or of reads, writes and discards together (`all`).
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub(super) struct OperationFigures {
    operation: &'static str,
    ios: u64,
    bytes: u64,
    #[serde(flatten)]
    figures: IoFigures,
    /// Response times: I/Os outstanding at the end have one, too.
    #[serde(skip)]
    responses: u64,
}

/// Returns the figures of each operation that completed an I/O, and the total if there are
/// several.
pub(super) fn figures(measurement: &Measurement) -> Vec<OperationFigures> {
    let of_tally = |operation, tally: Tally| OperationFigures {
        operation,
        ios: tally.ios,
        bytes: tally.bytes.0,
        figures: IoFigures::new(&tally, measurement.elapsed),
        responses: tally.responses(),
    };
    let mut operations: Vec<OperationFigures> =
        [("reads", Op::Read), ("writes", Op::Write), ("discards", Op::Discard)]
            .into_iter()
            .map(|(operation, op)| of_tally(operation, measurement.direction(op)))
            .filter(|operation| operation.responses > 0)
            .collect();
    if operations.len() != 1 {
        operations.push(of_tally("all", measurement.total()));
    }
    if let Some(alone) = &measurement.writes_alone {
        operations.push(of_tally("writes alone", alone.clone()));
    }
    let flushes = of_tally("flushes", measurement.direction(Op::Flush));
    if flushes.responses > 0 {
        operations.push(flushes);
    }
    operations
}

/// Formats the table of one run, one column per operation.
pub(super) fn table(operations: &[OperationFigures]) -> String {
    let mut head = vec![String::new()];
    head.extend(operations.iter().map(|operation| operation.operation.to_owned()));
    let mut rows = vec![head];
    for column in &COLUMNS {
        let mut row = vec![column.head.to_owned()];
        row.extend(operations.iter().map(|operation| column.text(&operation.figures)));
        rows.push(row);
    }
    let mut text = text_table::aligned(&rows);
    let all: Vec<&OperationFigures> = operations.iter().collect();
    text.extend(missing_percentiles(&all));
    text
}

/// Returns lines that explain missing percentiles; `None` if none is missing.
fn missing_percentiles(operations: &[&OperationFigures]) -> Option<String> {
    let fewest = operations.iter().map(|operation| operation.responses).min()?;
    let needs: Vec<String> = PERCENTILES
        .iter()
        .filter(|percentile| fewest < u64::from(percentile.ios_min))
        .map(|Percentile { name, ios_min, .. }| {
            format!("{name} takes {} I/Os", number(f64::from(*ios_min), 0))
        })
        .collect();
    if needs.is_empty() {
        return None;
    }
    let reason = format!(
        "–: fewer than ten I/Os lie beyond it, which would be chance; {} (use a longer --time)",
        needs.join(", ")
    );
    Some(wrapped(&reason, LINE_WIDTH, "   ").iter().map(|line| format!("\n{line}")).collect())
}

/// Mean and standard deviation of one operation's figures over the runs that have it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct OperationSpread {
    operation: &'static str,
    /// Number of runs with the operation.
    runs: usize,
    mean: IoFigures,
    standard_deviation: IoFigures,
}

/// Operations in the order of the tables.
const OPERATIONS: [&str; 6] = ["reads", "writes", "discards", "all", "writes alone", "flushes"];

/// Returns mean and standard deviation over the runs of one target for each operation that any run
/// has.
pub(super) fn spreads(runs: &[&[OperationFigures]]) -> Vec<OperationSpread> {
    let mut spreads = Vec::new();
    for operation in OPERATIONS {
        if !runs.iter().any(|run| run.iter().any(|figures| figures.operation == operation)) {
            continue;
        }
        let own = runs.iter().filter_map(|run| figures_of(run, operation));
        let figures: Vec<IoFigures> = own.collect();
        spreads.push(OperationSpread {
            operation,
            runs: figures.len(),
            mean: IoFigures::over(&figures, mean),
            standard_deviation: IoFigures::over(&figures, standard_deviation),
        });
    }
    spreads
}

/// Returns the figures of an operation in one run. A run with a single operation has no row for
/// all of them, which would repeat it.
fn figures_of(run: &[OperationFigures], operation: &str) -> Option<IoFigures> {
    let own = run.iter().find(|figures| figures.operation == operation);
    let single = || {
        run.iter().find(|figures| {
            operation == "all" && !["writes alone", "flushes"].contains(&figures.operation)
        })
    };
    own.or_else(single).map(|figures| figures.figures)
}

/// Formats mean and standard deviation of each operation, then every run.
pub(super) fn table_of_runs(runs: &[&[OperationFigures]]) -> String {
    let spreads = spreads(runs);
    let mut head = vec![String::new()];
    for spread in &spreads {
        head.extend([spread.operation.to_owned(), "±".to_owned()]);
    }
    let mut rows = vec![head];
    for column in &COLUMNS {
        let mut row = vec![column.head.to_owned()];
        for spread in &spreads {
            row.extend([column.text(&spread.mean), column.text(&spread.standard_deviation)]);
        }
        rows.push(row);
    }
    let mut text = text_table::aligned(&rows);
    text.push_str(&format!(
        "\nMean of {}; ±: standard deviation (n - 1). Min and MRT: means of the runs.",
        counted(runs.len() as u64, "run")
    ));
    for spread in spreads.iter().filter(|spread| spread.runs < runs.len()) {
        text.push_str(&format!(
            "\nOnly {} had {}.",
            counted(spread.runs as u64, "run"),
            spread.operation
        ));
    }
    let all: Vec<&OperationFigures> = runs.iter().flat_map(|run| run.iter()).collect();
    text.extend(missing_percentiles(&all));
    // What fits 80 columns; the export files have all.
    let shown = [0, 1, 2, 5, 7, 9].map(|index: usize| &COLUMNS[index]);
    let mut rows = vec![vec!["run".to_owned(), String::new()]];
    rows[0].extend(shown.map(|column| column.head.to_owned()));
    for (run, operations) in (1..).zip(runs) {
        for (place, operation) in operations.iter().enumerate() {
            let run = if place == 0 { run.to_string() } else { String::new() };
            let mut row = vec![run, operation.operation.to_owned()];
            row.extend(shown.map(|column| column.text(&operation.figures)));
            rows.push(row);
        }
    }
    format!("{text}\n\n{}", text_table::aligned(&rows))
}

/// Start errors of a paced load in milliseconds.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct StartErrorFigures {
    /// Time that half of the I/Os did not exceed; null if fewer than ten exceed it.
    p50_ms: Option<f64>,
    /// Time that 99 % of the I/Os did not exceed; null if fewer than ten exceed it.
    p99_ms: Option<f64>,
    max_ms: f64,
}

impl StartErrorFigures {
    pub(super) fn new(error: &StartError) -> Self {
        StartErrorFigures {
            p50_ms: error.p50().map(Nanos::as_millis_f64),
            p99_ms: error.p99().map(Nanos::as_millis_f64),
            max_ms: error.max.as_millis_f64(),
        }
    }

    /// Returns the fields of a row.
    fn csv(&self) -> [String; 3] {
        [self.p50_ms, self.p99_ms, Some(self.max_ms)]
            .map(|value| value.map_or(String::new(), |value| value.to_string()))
    }
}

/// One run of one target.
pub(super) struct RunRow<'a> {
    pub target: &'a str,
    pub load: &'a str,
    pub demand: String,
    pub run: u32,
    pub elapsed: Nanos,
    /// Rate at which I/Os were due, per second; `None` for a load without a rate.
    pub offered_iops: Option<f64>,
    /// False if the target completed fewer I/Os than were due; `None` for a load without a rate.
    pub kept_up: Option<bool>,
    pub start_error: Option<&'a StartErrorFigures>,
    pub results: &'a [OperationFigures],
}

/// Returns all runs as CSV, one row per operation, without rounding.
pub(super) fn csv(rows: &[RunRow<'_>]) -> String {
    let mut out = "target,load,demand,run,operation,ios,bytes,seconds".to_owned();
    COLUMNS.iter().for_each(|column| {
        out.push(',');
        out.push_str(column.csv);
    });
    out.push_str(
        ",offered_iops,kept_up,start_error_p50_ms,start_error_p99_ms,start_error_max_ms\r\n",
    );
    for row in rows {
        for operation in row.results {
            let mut fields = vec![
                steadfast_report::csv_field(row.target),
                steadfast_report::csv_field(row.load),
                row.demand.clone(),
                row.run.to_string(),
                operation.operation.to_owned(),
                operation.ios.to_string(),
                operation.bytes.to_string(),
                row.elapsed.as_secs_f64().to_string(),
            ];
            let figures = COLUMNS.iter().map(|column| (column.of)(&operation.figures));
            fields.extend(figures.map(|value| value.map_or(String::new(), |v| v.to_string())));
            fields.push(row.offered_iops.map(|iops| iops.to_string()).unwrap_or_default());
            fields.push(row.kept_up.map(|kept_up| kept_up.to_string()).unwrap_or_default());
            fields.extend(row.start_error.map(StartErrorFigures::csv).unwrap_or_default());
            out.push_str(&fields.join(","));
            out.push_str("\r\n");
        }
    }
    out
}

/// Returns all runs as a Markdown table, with mean and standard deviation if there are several.
pub(super) fn markdown(rows: &[RunRow<'_>]) -> String {
    let heads = ["Target", "Load", "Demand", "Run", "Operation"].into_iter();
    let heads: Vec<&str> = heads.chain(COLUMNS.iter().map(|column| column.head)).collect();
    let mut out = markdown_line(heads.iter().map(|head| (*head).to_owned()));
    out +=
        &markdown_line((0..heads.len()).map(|at| if at < 5 { "---" } else { "---:" }.to_owned()));
    let mut targets: Vec<&RunRow<'_>> = Vec::new();
    for row in rows {
        if !targets.iter().any(|other| other.target == row.target) {
            targets.push(row);
        }
        for operation in row.results {
            out +=
                &markdown_row(row, &row.run.to_string(), operation.operation, &operation.figures);
        }
    }
    for first in targets {
        let own = rows.iter().filter(|row| row.target == first.target);
        let runs: Vec<&[OperationFigures]> = own.map(|row| row.results).collect();
        if runs.len() < 2 {
            continue;
        }
        for spread in spreads(&runs) {
            let of_runs = if spread.runs < runs.len() {
                format!(" of {}", spread.runs)
            } else {
                String::new()
            };
            let mean = format!("mean{of_runs}");
            out += &markdown_row(first, &mean, spread.operation, &spread.mean);
            let deviation = format!("standard deviation{of_runs}");
            out += &markdown_row(first, &deviation, spread.operation, &spread.standard_deviation);
        }
    }
    out
}

fn markdown_row(row: &RunRow<'_>, run: &str, operation: &str, figures: &IoFigures) -> String {
    let names = [row.target, row.load, &row.demand, run, operation].map(str::to_owned);
    let cells = COLUMNS.iter().map(|column| column.text(figures));
    markdown_line(names.into_iter().chain(cells))
}

fn markdown_line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Bytes;
    use steadfast_domain::measurement::StreamTally;

    /// `ios` reads of 4 KiB in two seconds that all took 1 ms.
    fn measured(ios: u64) -> Measurement {
        let mut counts = vec![0u64; steadfast_domain::FineHistogram::LEN];
        counts[steadfast_domain::FineHistogram::index(1_000_000)] = ios;
        let tally = Tally {
            ios,
            bytes: Bytes(ios * 4096),
            response_sum: Nanos::from_millis(ios),
            response_min: Some(Nanos::from_millis(1)),
            response_max: Nanos::from_millis(1),
            histogram: steadfast_domain::FineHistogram::from_dense(&counts),
            outstanding: 0,
        };
        let streams = vec![StreamTally { op: Op::Read, tally }];
        Measurement { elapsed: Nanos::from_secs(2), streams, ..Measurement::default() }
    }

    #[test]
    fn figures_are_of_the_elapsed_time_and_missing_percentiles_have_a_reason() {
        let [reads] = &figures(&measured(20_000))[..] else { panic!("one operation") };
        assert_eq!((reads.operation, reads.figures.iops), ("reads", Some(10_000.0)));
        assert_eq!(reads.figures.mb_per_second, Some(40.96));
        assert_eq!(reads.figures.response_mean_ms, Some(1.0));
        assert_eq!(reads.figures.response_p99_9_ms, Some(1.0));
        assert_eq!(reads.figures.response_p99_99_ms, None);
        let text = table(std::slice::from_ref(reads));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("10,000.0"), "{text}");
        assert!(text.contains("99.99 % takes 100,000 I/Os"), "{text}");
        assert!(!text.contains("99.9 % takes"), "{text}");
        assert!(!table(&figures(&measured(1_100_000))).contains('–'));
    }

    #[test]
    fn several_runs_have_a_mean_and_the_deviation_of_a_sample() {
        let runs = [16_000, 20_000, 24_000].map(|ios| figures(&measured(ios)));
        let runs: Vec<&[OperationFigures]> = runs.iter().map(Vec::as_slice).collect();
        let [spread] = &spreads(&runs)[..] else { panic!("one operation") };
        assert_eq!(spread.mean.iops, Some(10_000.0));
        assert_eq!(spread.standard_deviation.iops, Some(2_000.0));
        assert_eq!(spread.standard_deviation.response_p99_99_ms, None);
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(spread.runs, 3);
        let text = table_of_runs(&runs);
        assert!(!text.contains("Only"), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(text.contains("Mean of 3 runs") && widest <= 100, "{text}");
    }

    /// Discards that only the second of three runs completed.
    #[test]
    fn an_operation_of_some_runs_is_averaged_over_those() {
        let both = {
            let mut measurement = measured(20_000);
            let discards = Tally { ios: 2_000, ..measurement.streams[0].tally.clone() };
            measurement.streams.push(StreamTally { op: Op::Discard, tally: discards });
            measurement
        };
        let runs = [measured(16_000), both, measured(24_000)].map(|run| figures(&run));
        let runs: Vec<&[OperationFigures]> = runs.iter().map(Vec::as_slice).collect();
        let found: Vec<_> =
            spreads(&runs).iter().map(|one| (one.operation, one.runs, one.mean.iops)).collect();
        let expected = [
            ("reads", 3, Some(10_000.0)),
            ("discards", 1, Some(1_000.0)),
            ("all", 3, Some((8_000.0 + 11_000.0 + 12_000.0) / 3.0)),
        ];
        assert_eq!(found, expected);
        let text = table_of_runs(&runs);
        assert!(text.contains("Mean of 3 runs") && text.contains("Only 1 run had discards."));
        let mut rows = Vec::new();
        for (run, results) in (1..).zip(runs) {
            let (demand, elapsed) = ("T1Q1".to_owned(), Nanos::from_secs(2));
            rows.push(RunRow {
                target: "sim:small",
                load: "mixed",
                demand,
                run,
                elapsed,
                offered_iops: None,
                kept_up: None,
                start_error: None,
                results,
            });
        }
        let text = markdown(&rows);
        assert!(text.starts_with("| Target | Load | Demand | Run | Operation | IOPS |"), "{text}");
        assert!(text.contains("| mean | reads | 10,000.0 |"), "{text}");
        assert!(text.contains("| mean of 1 | discards | 1,000.0 |"), "{text}");
    }
}
