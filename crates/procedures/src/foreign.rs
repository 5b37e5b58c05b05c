//! Results of other tools as findings, with the same IDs as our runs of the same tests, so that
//! both can be compared. Several files are treated as rounds and judged by the rule of the PTS.

use crate::exhibits::loops::tracking_table;
use crate::exhibits::pages::{page, rounds_axis};
use crate::pts::method::{TWENTY_TEN, reported_rounds};
use crate::report_notation::{distinct, rounds_text, steady_rounds};
use crate::sequence::tables::PERCENTILES;
use steadfast_domain::findings::{
    Axis, Cell, Column, Exhibit, Facts, FormBlock, FormHeader, KeyFigure, Metric, Origin, Page,
    Plot, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::steady_state::{Track, TrackPoint, judge_first_steady};
use steadfast_domain::text::counted;
use steadfast_domain::{
    Caveat, Findings, ForeignIos, ForeignOutcome, ForeignResults, Op, ValueRange, Verdict,
    caveats as ids,
};

/// Returns the findings of one result file, or of several files of one tool as rounds of the same
/// tests. `software` is the program that read them.
///
/// Rounds are ordered by their numbers if present, else by time, else as given.
///
/// # Errors
/// Returns an error if there is no file, or the files are of different tools.
pub fn findings(files: &[ForeignResults], software: &str) -> Result<Findings, String> {
    let Some(first) = files.first() else { return Err("no results file given".into()) };
    if let Some(other) = files.iter().find(|file| file.id != first.id) {
        return Err(format!(
            "{} is from {}, but {} is from {}; give files of one tool",
            first.file, first.tool, other.file, other.tool
        ));
    }
    let files = ordered_files(files);
    let tests = group_tests(&files);
    let rounds = tests.iter().map(|test| test.rounds.len()).max().unwrap_or(0);
    let verdict = (rounds >= TWENTY_TEN.window as usize).then(|| judge_whole_tests(&tests, rounds));
    let reported = reported_rounds(verdict.as_ref(), u32::try_from(rounds).unwrap_or(u32::MAX));
    let means: Vec<ForeignTestMeans<'_>> =
        tests.iter().map(|test| ForeignTestMeans::new(test, &reported)).collect();
    let digest = match files.as_slice() {
        [only] => only.digest.clone(),
        several => {
            let digests = several.iter().map(|file| &file.digest[..16.min(file.digest.len())]);
            digests.collect::<Vec<_>>().join(" ")
        }
    };
    let mut form_pages = vec![page("All Steps", all_steps(&means))];
    form_pages.extend(rounds_page(&tests, verdict.as_ref(), rounds));
    let findings = Findings {
        id: first.id.clone(),
        method: format!(
            "{}'s own run, read from its results; Steadfast measured nothing",
            first.tool
        ),
        headline: tool_name(first),
        ended_unix_ms: files.iter().filter_map(|file| file.unix_ms).max().unwrap_or(0),
        digest,
        software: software.to_owned(),
        ending: ending_text(&files, &tests, verdict.as_ref(), rounds),
        caveats: caveats(&files, verdict.as_ref(), &reported, rounds),
        summary: all_steps(&means).into_iter().take(1).collect(),
        form_pages,
        chapters: vec![details(&means), source(&files, &means)],
        metrics: means.iter().flat_map(metrics).collect(),
        ..Findings::new(title(&first.id, &first.tool), header(&files))
    };
    let front_plots = if rounds > 1 { vec![ROUNDS_PLOT] } else { Vec::new() };
    Ok(findings.with_front_page(key_figures(&means), front_plots).with_verdict(verdict))
}

/// Returns the title that our runs of the same files have.
fn title<'t>(id: &str, tool: &'t str) -> &'t str {
    match id {
        "fio" => "fio job file",
        "fiosynth" => "FioSynth suite",
        _ => tool,
    }
}

/// Returns the tool with its version, if that is known.
fn tool_name(file: &ForeignResults) -> String {
    match &file.version {
        Some(version) => format!("{} {version}", file.tool),
        None => file.tool.clone(),
    }
}

/// Orders files by the rounds in their names, else by time, else as given.
fn ordered_files(files: &[ForeignResults]) -> Vec<&ForeignResults> {
    let mut files: Vec<&ForeignResults> = files.iter().collect();
    if files.iter().all(|file| file.round.is_some()) {
        files.sort_by_key(|file| file.round);
    } else if files.iter().all(|file| file.unix_ms.is_some()) {
        files.sort_by_key(|file| file.unix_ms);
    }
    files
}

/// A test with its results in every round.
struct ForeignSeries<'a> {
    label: &'a str,
    rounds: Vec<&'a ForeignOutcome>,
}

/// Returns the tests of all files, each with its results in every file that has it.
fn group_tests<'a>(files: &[&'a ForeignResults]) -> Vec<ForeignSeries<'a>> {
    let mut tests: Vec<ForeignSeries<'a>> = Vec::new();
    for outcome in files.iter().flat_map(|file| &file.tests) {
        match tests.iter_mut().find(|test| test.label == outcome.label) {
            Some(test) => test.rounds.push(outcome),
            None => tests.push(ForeignSeries { label: &outcome.label, rounds: vec![outcome] }),
        }
    }
    tests
}

/// Returns the tracking variable of a test: IOPS, which MB/s are proportional to.
fn track(test: &ForeignSeries<'_>) -> Track {
    let points = (1..).zip(&test.rounds).map(|(round, outcome)| TrackPoint {
        round,
        value: outcome.all.iops,
        after_gap: false,
    });
    Track { name: test.label.to_owned(), unit: "IOPS".into(), points: points.collect() }
}

/// Judges the tests that every round has.
fn judge_whole_tests(tests: &[ForeignSeries<'_>], rounds: usize) -> Verdict {
    let whole = tests.iter().filter(|test| test.rounds.len() == rounds);
    judge_first_steady(&whole.map(track).collect::<Vec<_>>(), &TWENTY_TEN)
}

/// A test with its means over the reported rounds.
struct ForeignTestMeans<'a> {
    label: &'a str,
    first: &'a ForeignOutcome,
    all: ForeignIos,
    reads: ForeignIos,
    writes: ForeignIos,
    errors: Option<u64>,
    concurrent_loads: Vec<ForeignConcurrentLoad<'a>>,
    /// Lowest and highest IOPS of the rounds; `None` for a single round.
    iops_range: Option<ValueRange>,
}

/// A load that ran at the same time as others of its test.
struct ForeignConcurrentLoad<'a> {
    name: &'a str,
    mean: ForeignIos,
}

impl<'a> ForeignTestMeans<'a> {
    fn new(test: &ForeignSeries<'a>, reported: &[u32]) -> Self {
        let mut rounds: Vec<&'a ForeignOutcome> = Vec::new();
        for (round, outcome) in (1..).zip(&test.rounds) {
            if reported.contains(&round) {
                rounds.push(*outcome);
            }
        }
        // A test with fewer rounds than the others uses all its rounds.
        if rounds.is_empty() {
            rounds.clone_from(&test.rounds);
        }
        let mean = |direction: fn(&ForeignOutcome) -> &ForeignIos| {
            let ios: Vec<&ForeignIos> = rounds.iter().map(|outcome| direction(outcome)).collect();
            ForeignIos::mean_of(&ios)
        };
        let first = rounds[0];
        let mut concurrent_loads = Vec::new();
        for load in &first.concurrent {
            let loads = rounds.iter().flat_map(|outcome| &outcome.concurrent);
            let ios: Vec<&ForeignIos> =
                loads.filter(|other| other.name == load.name).map(|other| &other.ios).collect();
            let mean = ForeignIos::mean_of(&ios);
            concurrent_loads.push(ForeignConcurrentLoad { name: &load.name, mean });
        }
        let iops = rounds.iter().filter_map(|outcome| outcome.all.iops);
        ForeignTestMeans {
            label: test.label,
            first,
            all: mean(|outcome| &outcome.all),
            reads: mean(|outcome| &outcome.reads),
            writes: mean(|outcome| &outcome.writes),
            errors: rounds.iter().map(|outcome| outcome.errors).sum(),
            concurrent_loads,
            iops_range: ValueRange::from_values(iops).filter(|_| rounds.len() > 1),
        }
    }
}

fn count_cell(ios: &ForeignIos) -> Cell {
    Cell::number(ios.ios.map(|ios| ios as f64), 0)
}

fn rate_cells(ios: &ForeignIos) -> [Cell; 3] {
    [
        Cell::number(ios.iops, 1),
        Cell::number(ios.megabytes_per_second(), 2),
        Cell::number(ios.mean_ms, 4),
    ]
}

/// Returns the cells of [`COLUMNS`].
fn cells(ios: &ForeignIos) -> impl Iterator<Item = Cell> {
    let response_times =
        [ios.shortest_ms, ios.percentile(99.0), ios.percentile(99.9), ios.longest_ms];
    rate_cells(ios).into_iter().chain(response_times.map(|ms| Cell::number(ms, 4)))
}

const COLUMNS: [(&str, &str); 7] = [
    ("iops", "IOPS"),
    ("mb", "MB/s"),
    ("mean-ms", "Mean ms"),
    ("min-ms", "Min ms"),
    ("p99-ms", "99 % ms"),
    ("p99.9-ms", "99.9 % ms"),
    ("max-ms", "Max ms"),
];

/// Returns all tests, and loads that ran concurrently, under the IDs of a sequence's tables.
fn all_steps(means: &[ForeignTestMeans<'_>]) -> Vec<Exhibit> {
    let mut test_rows = Vec::new();
    let mut load_rows = Vec::new();
    for test in means {
        let errors = Cell::number(test.errors.map(|errors| errors as f64), 0);
        test_rows.push(Row::new(test.label, cells(&test.all).chain([errors])));
        for ForeignConcurrentLoad { name, mean } in &test.concurrent_loads {
            let head = format!("{}: {name}", test.label);
            load_rows.push(Row::new(head, std::iter::once(count_cell(mean)).chain(cells(mean))));
        }
    }
    let tests = Table::new("sequence", "Every step", "Step")
        .columns(COLUMNS)
        .column(("errors", "Errors"))
        .rows(test_rows);
    let mut exhibits = vec![Exhibit::Table(tests)];
    if !load_rows.is_empty() {
        let loads = Table::new("sequence-apart", "Loads that ran at the same time", "Step: load")
            .column(("ios", "I/Os"))
            .columns(COLUMNS)
            .rows(load_rows);
        exhibits.push(Exhibit::Table(loads));
    }
    exhibits
}

/// Returns the page of reads and writes of every test.
fn details(means: &[ForeignTestMeans<'_>]) -> Page {
    let reads = means.iter().map(|test| (test.label, &test.reads));
    let writes = means.iter().map(|test| (test.label, &test.writes));
    let tables = [
        direction_table("sequence-reads", "Reads of every step", reads),
        direction_table("sequence-writes", "Writes of every step", writes),
    ];
    page("Details of the Steps", tables.into_iter().flatten().map(Exhibit::Table).collect())
}

/// Returns the table of the reads or the writes of all tests, each given with its label; `None` if
/// there were none.
fn direction_table<'a>(
    id: &str,
    title: &str,
    tests: impl Iterator<Item = (&'a str, &'a ForeignIos)>,
) -> Option<Table> {
    let mut rows = Vec::new();
    for (label, ios) in tests.filter(|(_, ios)| !ios.is_empty()) {
        let mut cells = vec![count_cell(ios)];
        cells.extend(rate_cells(ios));
        cells.push(Cell::number(ios.shortest_ms, 4));
        cells.extend(PERCENTILES.map(|(percent, _)| Cell::number(ios.percentile(percent), 4)));
        cells.push(Cell::number(ios.longest_ms, 4));
        rows.push(Row::new(label, cells));
    }
    let table = Table::new(id, title, "Step")
        .column(("ios", "I/Os"))
        .columns(COLUMNS.into_iter().take(4))
        .columns(PERCENTILES.map(|(percent, id)| Column::new(id, format!("{percent} %"))))
        .column(("max-ms", "Max ms"))
        .spanner("Response times in ms");
    (!rows.is_empty()).then(|| table.rows(rows))
}

const ROUNDS_PLOT: &str = "foreign-rounds";

/// Returns the page of IOPS by round, with the verdict.
fn rounds_page(
    tests: &[ForeignSeries<'_>],
    verdict: Option<&Verdict>,
    rounds: usize,
) -> Option<Page> {
    if rounds < 2 {
        return None;
    }
    let numbers = 1..=rounds;
    let rows = tests.iter().map(|test| {
        let value = |round: usize| test.rounds.get(round - 1).and_then(|outcome| outcome.all.iops);
        Row::new(test.label, numbers.clone().map(|round| Cell::number(value(round), 1)))
    });
    let table = Table::new("foreign-round-iops", "IOPS of every round", "Step")
        .columns(numbers.clone().map(|round| round.to_string()))
        .rows(rows);
    let series = tests.iter().map(|test| {
        let points = (1u32..).zip(&test.rounds);
        let points = points.map(|(round, outcome)| (f64::from(round), outcome.all.iops));
        Series::new(test.label, Stroke::Measured, points.collect())
    });
    let plot = Plot::lines(
        ROUNDS_PLOT,
        "IOPS of every round",
        rounds_axis(),
        Axis::new("IOPS", Scale::Linear),
    );
    let mut exhibits = vec![Exhibit::Plot(plot.series(series))];
    exhibits.extend(verdict.map(|verdict| Exhibit::Table(tracking_table("steady-state", verdict))));
    exhibits.push(Exhibit::Table(table));
    Some(page("Rounds", exhibits))
}

/// Maximum number of key figures on page one; each test has two.
const KEY_FIGURES_MAX: usize = 8;

fn key_figures(means: &[ForeignTestMeans<'_>]) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    for ForeignTestMeans { label, all, iops_range, .. } in means {
        let iops = KeyFigure::new(&format!("{label}-iops"), *label, all.iops, "IOPS");
        figures.push(iops.with_range(*iops_range));
        let rate = all.megabytes_per_second();
        figures.push(KeyFigure::new(&format!("{label}-rate"), *label, rate, "MB/s"));
    }
    figures.truncate(KEY_FIGURES_MAX);
    figures
}

fn metrics(test: &ForeignTestMeans<'_>) -> Vec<Metric> {
    let mut metrics = direction_metrics(test.label, &test.all, None);
    for metric in metrics.iter_mut().filter(|metric| metric.metric == "iops") {
        metric.range = test.iops_range;
    }
    if !test.reads.is_empty() && !test.writes.is_empty() {
        metrics.extend(direction_metrics(test.label, &test.reads, Some(Op::Read)));
        metrics.extend(direction_metrics(test.label, &test.writes, Some(Op::Write)));
    }
    metrics
}

/// Returns the metrics of all I/Os of a test, or of those of one direction.
fn direction_metrics(label: &str, ios: &ForeignIos, direction: Option<Op>) -> Vec<Metric> {
    let metrics = [
        ("iops", ios.iops, "IOPS"),
        ("throughput", ios.megabytes_per_second(), "MB/s"),
        ("art", ios.mean_ms, "ms"),
        ("p50", ios.percentile(50.0), "ms"),
        ("p99", ios.percentile(99.0), "ms"),
        ("p99-9", ios.percentile(99.9), "ms"),
        ("p99-99", ios.percentile(99.99), "ms"),
        ("p99-999", ios.percentile(99.999), "ms"),
        ("min-response", ios.shortest_ms, "ms"),
        ("mrt", ios.longest_ms, "ms"),
    ];
    let measured =
        metrics.into_iter().filter_map(|(name, value, unit)| Metric::new(name, label, value, unit));
    measured.map(|metric| metric.only(direction)).collect()
}

fn ending_text(
    files: &[&ForeignResults],
    tests: &[ForeignSeries<'_>],
    verdict: Option<&Verdict>,
    rounds: usize,
) -> String {
    let source = match files {
        [only] => format!("Read from {}: ", only.file),
        several => format!("Read from {} files: ", several.len()),
    };
    let count = counted(tests.len() as u64, "test");
    let steady_state = match verdict.map(steady_rounds) {
        Some(Some(steady)) => format!(", steady state in {steady} of {rounds}"),
        Some(None) => format!(", steady state NOT achieved in {rounds} rounds"),
        None => String::new(),
    };
    format!("{source}{count}{steady_state}.")
}

fn caveats(
    files: &[&ForeignResults],
    verdict: Option<&Verdict>,
    reported: &[u32],
    rounds: usize,
) -> Vec<Caveat> {
    let tool = &files[0].tool;
    let remark = |id, text: String| Caveat::remark(id, text, "");
    let mut caveats = vec![Caveat::deviation(
        ids::FOREIGN_RESULT,
        format!(
            "{tool} measured these numbers, Steadfast did not. Purge, preconditioning, write cache \
             and what the drive did before are not in the file."
        ),
        "Repeat the test with Steadfast to know the conditions.",
    )];
    match verdict {
        Some(verdict) if !verdict.steady => caveats.push(Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED: the values are those of {}.",
                rounds_text(reported)
            ),
            "Run more rounds.",
        )),
        Some(_) => {}
        None => {
            let text = match rounds {
                1 => "One round: steady state cannot be judged.".to_owned(),
                few => format!(
                    "{few} rounds are too few to judge steady state; it needs {}.",
                    TWENTY_TEN.window
                ),
            };
            let remedy =
                "Give the files of five or more rounds: steadfast report ROUND1 ROUND2 ...";
            caveats.push(Caveat::deviation(ids::SEQUENCE_NOT_STEADY, text, remedy));
        }
    }
    if rounds > 1 {
        let text = "Rates and mean response times are means over the reported rounds, the \
                      maximum is their largest. Percentiles follow from histograms, where the \
                      files have them.";
        caveats.push(remark(ids::FOREIGN_LOG, text.into()));
    }
    let remarks = distinct(files.iter().flat_map(|file| &file.remarks));
    caveats.extend(remarks.into_iter().map(|text| remark(ids::FOREIGN_LOG, text.clone())));
    for text in distinct(files.iter().flat_map(|file| &file.absent)) {
        let text = format!("Not in the file (shown as a dash): {text}");
        caveats.push(remark(ids::FOREIGN_ABSENT, text));
    }
    caveats
}

/// Returns the page on the source of the numbers, and the loads in the tool's own terms.
fn source(files: &[&ForeignResults], means: &[ForeignTestMeans<'_>]) -> Page {
    let mut exhibits = Vec::new();
    for file in files {
        let facts = Facts::new(&*file.file).rows([
            Setting::identity("Tool", tool_name(file)),
            Setting::identity("SHA-256 of the file", file.digest.as_str()),
        ]);
        let rows = file.facts.iter().map(|(label, value)| Setting::identity(label, value.as_str()));
        exhibits.push(Exhibit::Facts(facts.rows(rows)));
    }
    let rows = means.iter().map(|test| {
        let cells =
            [Cell::known(test.first.load.as_deref()), Cell::known(test.first.demand.as_deref())];
        Row::new(test.label, cells)
    });
    let loads = Table::new("foreign-loads", "What was applied, in the tool's own words", "Step")
        .columns(["Load", "Demand"])
        .rows(rows);
    exhibits.push(Exhibit::Table(loads));
    page("Source", exhibits)
}

fn header(files: &[&ForeignResults]) -> FormHeader {
    let first = files[0];
    let names: Vec<&str> = files.iter().map(|file| file.file.as_str()).collect();
    let subtitle = match names.as_slice() {
        [only] => (*only).to_owned(),
        [first, .., last] => format!("{first} to {last}, {} files", names.len()),
        [] => String::new(),
    };
    let fact = |label: &str| {
        let found = first.facts.iter().find(|(name, _)| name == label);
        found.map(|(_, value)| value.clone())
    };
    FormHeader {
        issuer: first.tool.clone(),
        specification: format!("Results of {}", tool_name(first)),
        disclaimer: Some(format!("NOT MEASURED BY STEADFAST: read from results of {}", first.tool)),
        test: title(&first.id, &first.tool).to_owned(),
        subtitle: subtitle.clone(),
        revision: tool_name(first),
        vendor: None,
        model: fact("Device"),
        sponsor: None,
        blocks: vec![FormBlock::new(
            "Test Parameters",
            [
                Setting::identity("Results", subtitle),
                Setting::identity("Test SW", tool_name(first)),
                load_setting("foreign-load", "Load", files, |test| test.load.as_deref()),
                load_setting("foreign-demand", "Demand", files, |test| test.demand.as_deref()),
            ],
        )],
    }
}

/// Returns the applied loads as a setting on which the numbers depend: the distinct values of all
/// tests.
fn load_setting(
    id: &str,
    label: &str,
    files: &[&ForeignResults],
    value: fn(&ForeignOutcome) -> Option<&str>,
) -> Setting {
    let values = distinct(files.iter().flat_map(|file| &file.tests).filter_map(value));
    Setting::new(id, label, values.join("; "), Origin::Found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::EndState;

    fn file(name: &str, at: u64, iops: f64) -> ForeignResults {
        let ios = ForeignIos {
            ios: Some((iops * 60.0) as u64),
            iops: Some(iops),
            bytes_per_second: Some(iops * 4096.0),
            mean_ms: Some(1.0),
            shortest_ms: Some(1.0 / at as f64),
            longest_ms: Some(at as f64),
            percentiles: vec![(99.0, 2.0)],
            ..ForeignIos::default()
        };
        let test = ForeignOutcome {
            label: "w".into(),
            all: ios.clone(),
            writes: ios,
            ..ForeignOutcome::default()
        };
        ForeignResults {
            id: "fio".into(),
            tool: "fio".into(),
            file: name.into(),
            digest: "0".repeat(64),
            unix_ms: Some(at),
            tests: vec![test],
            ..ForeignResults::default()
        }
    }

    fn cell(findings: &Findings, column: &str) -> Option<f64> {
        findings.summary[0].as_table().unwrap().cell("w", column).unwrap().value()
    }

    #[test]
    fn one_file_is_reported_as_it_is_and_not_judged() {
        let found = findings(&[file("a.json", 7, 1000.0)], "steadfast").unwrap();
        assert_eq!((found.end, &found.verdict), (EndState::Complete, &None));
        assert_eq!((cell(&found, "iops"), cell(&found, "p99-ms")), (Some(1000.0), Some(2.0)));
        assert_eq!(cell(&found, "p99.9-ms"), None);
        assert!(found.header.disclaimer.unwrap().contains("NOT MEASURED BY STEADFAST"));
    }

    /// The mean of the window by hand; files in any order.
    #[test]
    fn rounds_are_judged_by_the_rule_of_the_pts() {
        let rates = [2000.0, 1010.0, 990.0, 1000.0, 1020.0, 980.0];
        let mut files: Vec<ForeignResults> =
            (1..).zip(rates).map(|(at, iops)| file(&format!("{at}"), at, iops)).collect();
        files.reverse();
        let found = findings(&files, "steadfast").unwrap();
        assert_eq!(found.end, EndState::Steady);
        assert_eq!(found.verdict.as_ref().unwrap().window, Some((2, 6)));
        assert_eq!((cell(&found, "iops"), cell(&found, "max-ms")), (Some(1000.0), Some(6.0)));
        assert_eq!(cell(&found, "min-ms"), Some(1.0 / 6.0));
        assert_eq!(cell(&found, "p99-ms"), None, "percentiles of rounds do not add up");
        assert_eq!(found.metrics[0].range, Some(ValueRange::new(980.0, 1020.0)));
        let falling: Vec<ForeignResults> =
            (1..7).map(|at| file("x", at, 1000.0 / at as f64)).collect();
        let found = findings(&falling, "steadfast").unwrap();
        assert_eq!(found.end, EndState::NotSteady);
        assert!(found.caveat(ids::STEADY_STATE_NOT_ACHIEVED).is_some());
        let few = findings(&falling[..3], "steadfast").unwrap();
        assert_eq!((few.end, few.verdict), (EndState::Complete, None));
    }

    #[test]
    fn files_of_two_tools_are_no_rounds() {
        let other = ForeignResults { id: "diskspd".into(), ..file("b", 1, 1.0) };
        assert!(findings(&[file("a", 1, 1.0), other], "x").unwrap_err().contains("one tool"));
        assert!(findings(&[], "x").is_err());
    }
}
