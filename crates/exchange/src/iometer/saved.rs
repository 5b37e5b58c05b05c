//! Findings of a saved file of results: the same tables as a run of a configuration with Steadfast,
//! so that old and new numbers can be compared.

use super::results::{ResultRow, ResultRun, ResultTable, RowKind, RunEnding, SpecResults};
use std::collections::BTreeMap;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Cell, Exhibit, Facts, FormBlock, FormHeader, Origin, Page, Row as TableRow, Setting, Table,
};
use steadfast_domain::sequence::SequenceSource;
use steadfast_domain::{Caveat, Demand, Findings};

const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

/// Returns the findings of a file of results, from the rows ALL of its tests and those of its
/// workers.
pub fn findings(runs: &[ResultRun], source: &SequenceSource, software: &str) -> Findings {
    let tests = tests(runs);
    let table = Exhibit::Table(display_table(&tests));
    let pages = [
        Page::new("Iometer", vec![table.clone()]),
        Page::new("All Steps", vec![Exhibit::Table(steps_table(&tests))]),
    ];
    let mut chapters = vec![Page::new("Results", vec![Exhibit::Facts(facts(runs, source))])];
    chapters.extend(
        workers_table(&tests).map(|table| Page::new("Workers", vec![Exhibit::Table(table)])),
    );
    Findings {
        id: "iometer".into(),
        method: "Read from a file of results that Iometer wrote; nothing was measured here".into(),
        headline: title(runs),
        digest: source.sha256.clone(),
        software: software.to_owned(),
        ending: format!("Read from {}: {} tests.", source.name, tests.len()),
        caveats: caveats(runs),
        summary: vec![table],
        form_pages: pages.into(),
        chapters,
        ..Findings::new("Iometer", header(runs, source))
    }
}

/// A test with its label and rows.
struct SavedTest<'r> {
    label: String,
    all: &'r ResultRow,
    rows: &'r [ResultRow],
}

fn tests(runs: &[ResultRun]) -> Vec<SavedTest<'_>> {
    let mut tests = Vec::new();
    let mut labels: BTreeMap<String, u32> = BTreeMap::new();
    for run in runs {
        for (part, results) in
            run.parts.iter().flat_map(|part| part.tables.iter().map(move |t| (part, t)))
        {
            let Some(all) = total_row(results) else { continue };
            let base = label(part, all);
            let count = labels.entry(base.clone()).or_default();
            *count += 1;
            let label = if *count == 1 { base } else { format!("{base} #{count}") };
            tests.push(SavedTest { label, all, rows: &results.rows });
        }
    }
    tests
}

/// Returns the row over all managers, or else the first row of a manager or a worker.
fn total_row(results: &ResultTable) -> Option<&ResultRow> {
    let of = |kind: RowKind| results.rows.iter().find(|row| row.kind == kind);
    of(RowKind::All).or_else(|| of(RowKind::Manager)).or_else(|| of(RowKind::Worker))
}

/// Returns the label that a step of a configuration has here: `4K reads, T2Q4`.
fn label(part: &SpecResults, all: &ResultRow) -> String {
    let specs: Vec<&str> = part.specs.iter().map(|spec| spec.name.as_str()).collect();
    let spec = if all.spec.is_empty() { specs.join(" + ") } else { all.spec.clone() };
    let count = |column| all.get(column).filter(|count| (1.0..=1e6).contains(count));
    let (Some(workers), Some(depth)) = (count("# Workers"), count("Queue Depth")) else {
        return spec;
    };
    let disks = count("# Disks").unwrap_or(workers);
    let each = (depth * disks / workers).round();
    format!("{spec}, {}", Demand::new(workers as u32, each as u32))
}

fn iops(row: &ResultRow) -> Option<f64> {
    row.get("IOps")
}

/// Returns bytes per second. MBps of 2006 and 2008 means MiB per second.
fn bytes_per_second(row: &ResultRow) -> Option<f64> {
    let mib = row.get("MiBps (Binary)").or_else(|| row.get("MBps"));
    mib.map(|mib| mib * MIB).or_else(|| row.get("MBps (Decimal)").map(|mb| mb * MB))
}

/// Returns the table of the six results of Iometer's display.
fn display_table(tests: &[SavedTest<'_>]) -> Table {
    let row = |test: &SavedTest<'_>| {
        let of = |column| test.all.get(column);
        let cells = [
            Cell::number(iops(test.all), 1),
            Cell::number(bytes_per_second(test.all).map(|bytes| bytes / MIB), 2),
            Cell::number(of("Average Response Time"), 4),
            Cell::number(of("Maximum Response Time"), 4),
            Cell::number(of("% CPU Utilization"), 2),
            Cell::number(of("Errors"), 0),
        ];
        TableRow::new(test.label.clone(), cells)
    };
    Table::new("iometer", "Results as Iometer displays them; its MBs are MiB", "Test")
        .columns([
            ("iops", "Total I/Os per second"),
            ("mib", "Total MiB/s"),
            ("mean-ms", "Average response time (ms)"),
            ("max-ms", "Maximum response time (ms)"),
            ("cpu", "% CPU utilization (total)"),
            ("errors", "Total error count"),
        ])
        .rows(tests.iter().map(row))
}

/// Returns the table of the values that both a step here and Iometer's results have.
fn steps_table(tests: &[SavedTest<'_>]) -> Table {
    let row = |test: &SavedTest<'_>| TableRow::new(test.label.clone(), values(test.all));
    Table::new("sequence", "Every step", "Step").columns(COLUMNS).rows(tests.iter().map(row))
}

const COLUMNS: [(&str, &str); 5] = [
    ("iops", "IOPS"),
    ("mb", "MB/s"),
    ("mean-ms", "Mean ms"),
    ("max-ms", "Max ms"),
    ("errors", "Errors"),
];

fn values(row: &ResultRow) -> [Cell; 5] {
    [
        Cell::number(iops(row), 1),
        Cell::number(bytes_per_second(row).map(|bytes| bytes / MB), 2),
        Cell::number(row.get("Average Response Time"), 4),
        Cell::number(row.get("Maximum Response Time"), 4),
        Cell::number(row.get("Errors"), 0),
    ]
}

/// Returns the table of the workers of tests with several workers, or `None` if there is no such
/// test.
fn workers_table(tests: &[SavedTest<'_>]) -> Option<Table> {
    let rows = tests.iter().flat_map(|test| {
        let of_workers = || test.rows.iter().filter(|row| row.kind == RowKind::Worker);
        let several = of_workers().count() > 1;
        let row = move |row: &ResultRow| {
            TableRow::new(format!("{}: {}", test.label, row.name), values(row))
        };
        of_workers().filter(move |_| several).map(row)
    });
    let rows: Vec<TableRow> = rows.collect();
    let table = Table::new("iometer-workers", "Each worker", "Step: worker").columns(COLUMNS);
    (!rows.is_empty()).then(|| table.rows(rows))
}

fn title(runs: &[ResultRun]) -> String {
    let description = runs.iter().map(|run| run.description.trim()).find(|text| !text.is_empty());
    description.unwrap_or("Results of Iometer").to_owned()
}

fn versions(runs: &[ResultRun]) -> String {
    let mut versions: Vec<String> = runs.iter().map(|run| run.version.to_string()).collect();
    versions.dedup();
    versions.join(", ")
}

fn header(runs: &[ResultRun], source: &SequenceSource) -> FormHeader {
    let file = Setting::new("sequence-file", "File", &source.name, Origin::Chosen);
    let version = Setting::new("tool-version", "Version", versions(runs), Origin::Found);
    FormHeader {
        issuer: "Steadfast".into(),
        specification: "Results of Iometer".into(),
        disclaimer: Some("NOT MEASURED HERE: read from a file of results of Iometer".into()),
        test: "Iometer".into(),
        subtitle: title(runs),
        revision: format!("Iometer {}", versions(runs)),
        blocks: vec![FormBlock::new("Test Parameters", [file, version])],
        ..FormHeader::default()
    }
}

fn facts(runs: &[ResultRun], source: &SequenceSource) -> Facts {
    let began = runs.iter().map(|run| run.began.as_str()).find(|text| !text.is_empty());
    Facts::new("File of results").rows([
        Setting::identity("File", source.name.as_str()),
        Setting::identity("SHA-256 of the file", source.sha256.as_str()),
        Setting::identity("Version of Iometer", versions(runs)),
        Setting::identity("Began", began.map(str::to_owned)),
        Setting::identity("Runs in the file", runs.len().to_string()),
    ])
}

fn caveats(runs: &[ResultRun]) -> Vec<Caveat> {
    let mut caveats = vec![Caveat::deviation(
        ids::SEQUENCE_NOT_STEADY,
        "Iometer judges no steady state and does not purge: what a fresh drive gives for some \
         seconds is not what it sustains. The file has no percentiles.",
        "Compare with a run of the same configuration: steadfast iometer FILE.icf.",
    )];
    if runs.iter().any(|run| run.ending == RunEnding::Aborted) {
        caveats.push(Caveat::deviation(
            ids::UNFINISHED,
            "Somebody or an error stopped Iometer: the last test may be incomplete.",
            "Do not rely on the last test of the file.",
        ));
    }
    caveats
}
