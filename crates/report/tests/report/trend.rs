//! Trends of fictitious runs whose levels are known.

use super::findings;
use steadfast_domain::device_log::DEVICE_COUNTS;
use steadfast_domain::findings::{
    Cell, Exhibit, FormBlock, FormSubject, FrontPage, Metric, Origin, Row, Setting,
};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{EndState, Findings, ValueRange};
use steadfast_report::{
    NamedRun, ProcedureTrend, TrendBaseline, TrendError, TrendOptions, TrendVerdict, html,
};

const DAY_MS: u64 = 86_400_000;

/// Returns a number between -1 and 1, the same for the same run and metric.
fn noise(run: u64, metric: u64) -> f64 {
    let unit = |n: u64| (mix64(mix64(n)) >> 11) as f64 / (1_u64 << 53) as f64;
    let base = (run << 32 | metric) * 3;
    // The mean of three uniform numbers is nearly normal, with a standard deviation of 1/3.
    2.0 * (unit(base) + unit(base + 1) + unit(base + 2)) / 3.0 - 1.0
}

/// Metrics of a run at a level, with 0.3 % noise, and rounds that vary by ± 0.5 %.
fn metrics(run: u64, factor: f64) -> Vec<Metric> {
    let points = ["RND 4K R", "RND 4K W", "RND 64K W"];
    let mut all = Vec::new();
    for (at, point) in (0..).zip(points) {
        let iops = 10_000.0 * factor * (1.0 + 0.01 * noise(run, at));
        let art = 100.0 / factor * (1.0 + 0.01 * noise(run, at + 10));
        for (name, value, unit) in [
            ("iops", iops, "IOPS"),
            ("art", art, "ms"),
            ("mrt", art * 5.0, "ms"),
            ("temperature", 40.0, "C"),
        ] {
            let range = Some(ValueRange::new(value * 0.995, value * 1.005));
            all.push(Metric::new(name, point, Some(value), unit).unwrap().with_range(range));
        }
    }
    all
}

fn run(number: u64, factor: f64) -> NamedRun {
    let mut found = findings(false);
    found.front = FrontPage::default();
    found.header.model = Some("AX-100".into());
    found.header.blocks = vec![
        FormBlock::new(
            "Device",
            [Setting::identity("Serial number", "S1"), Setting::identity("Firmware", "F1")],
        )
        .with_subject(FormSubject::Device),
        FormBlock::new("Test", [Setting::new("demand", "Demand", "T4Q32", Origin::Profile)]),
    ];
    found.metrics = metrics(number, factor);
    (found.began_unix_ms, found.ended_unix_ms) = (number * DAY_MS, number * DAY_MS + 1000);
    found.end = EndState::Steady;
    NamedRun { name: format!("run-{number}"), findings: found }
}

/// Returns runs 1, 2, ... at these levels.
fn runs(factors: &[f64]) -> Vec<NamedRun> {
    (1..).zip(factors).map(|(number, factor)| run(number, *factor)).collect()
}

fn options(baseline: Option<&str>) -> TrendOptions {
    let baseline = baseline.map(|name| TrendBaseline::Named(name.to_owned()));
    TrendOptions { procedure: None, baseline, change_min: 0.01 }
}

fn trend(factors: &[f64], baseline: Option<&str>) -> ProcedureTrend {
    // The order in which the runs are given makes no difference.
    let mut shuffled = runs(factors);
    shuffled.reverse();
    ProcedureTrend::new(shuffled, &options(baseline)).unwrap()
}

fn verdicts(trend: &ProcedureTrend) -> Vec<TrendVerdict> {
    trend.metrics.iter().map(|metric| metric.verdict).collect()
}

fn serial(run: &mut NamedRun, text: &str) {
    run.findings.header.blocks[0].rows[0].value = Some(text.to_owned());
}

fn rows(findings: &Findings, id: &str) -> Vec<Row> {
    findings.table(id).map(|table| table.rows.clone()).unwrap_or_default()
}

#[test]
fn rates_and_times_change_at_the_right_run_and_for_the_worse() {
    let mut factors = [1.0; 20];
    factors[11..].fill(0.95);
    let found = trend(&factors, None);
    assert_eq!(found.metrics.len(), 6, "IOPS and mean response time of three points");
    assert_eq!(verdicts(&found), [TrendVerdict::Worse; 6]);
    for metric in &found.metrics {
        let [change] = metric.changes.as_slice() else { panic!("{metric:?}") };
        assert_eq!((found.runs[change.run].name.as_str(), change.runs), ("run-12", 9));
        let expected = if metric.metric.unit == "IOPS" { -5.0 } else { 5.26 };
        assert!((change.percent - expected).abs() < 0.5, "{change:?}");
        assert!((0.15..0.6).contains(&metric.noise_percent.unwrap()), "{metric:?}");
    }
    assert!(!found.is_good());
    let page = found.findings("test");
    assert_eq!((page.end, page.front.plots.len()), (EndState::Failed, 4));
    assert_eq!(rows(&page, "trend-changes").len(), 6);
    assert_eq!(rows(&page, "trend-runs")[11].head, "12: run-12");
    assert_eq!(page.long_tables[0].rows.len(), 20 * 6);
    let web = html(&page, &super::PRINTED);
    assert!(web.contains("REGRESSION: 6 of 6 metrics"), "the outcome is on the page");
}

/// The terminal prints level, noise and change of every metric, though page one has only changes.
#[test]
fn every_metric_is_in_the_summary() {
    let found = trend(&[1.0; 6], None);
    let page = found.findings("test");
    let all: Vec<&str> =
        page.summary.iter().filter_map(Exhibit::as_table).map(|table| table.id.as_str()).collect();
    assert_eq!(all, ["trend-runs", "trend-metrics"]);
    assert_eq!(page.front.tables, ["trend-runs"]);
    assert_eq!(page.front.plots[..2], ["trend RND 4K W iops", "trend RND 4K R iops"]);
    assert_eq!(rows(&page, "trend-metrics").len(), 6);
    assert!(!found.outcome().contains("better"), "nothing changed: {}", found.outcome());
}

/// A drive that reports throttling of 0 s in most runs: a time, but no rate or response time.
#[test]
fn counts_of_events_are_no_metrics_of_a_trend() {
    let mut counted = runs(&[1.0; 12]);
    for (at, run) in counted.iter_mut().enumerate() {
        let seconds = if at == 7 { 30.0 } else { 0.0 };
        for count in DEVICE_COUNTS {
            let metric = Metric::new(count.id, "RND 4K W", Some(seconds), count.unit);
            run.findings.metrics.extend(metric);
        }
    }
    for baseline in [None, Some("run-3")] {
        let found = ProcedureTrend::new(counted.clone(), &options(baseline)).unwrap();
        assert_eq!(verdicts(&found), [TrendVerdict::Same; 6], "IOPS and mean response times");
        let page = found.findings("test");
        assert_eq!(rows(&page, "trend-changes").len(), 0);
        assert!(found.metrics.iter().all(|metric| metric.percent.is_none_or(f64::is_finite)));
    }
}

#[test]
fn a_change_for_the_better_is_no_regression() {
    let found = trend(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.1, 1.1], None);
    assert_eq!(verdicts(&found), [TrendVerdict::Better; 6]);
    assert!(found.is_good());
}

#[test]
fn the_baseline_decides_whether_a_level_is_worse() {
    let mut factors = [1.0; 18];
    factors[6..12].fill(0.9);
    factors[12..].fill(0.95);
    // Better than before the last change, worse than the first level.
    assert_eq!(verdicts(&trend(&factors, None)), [TrendVerdict::Better; 6]);
    let found = trend(&factors, Some("run-2"));
    assert_eq!(verdicts(&found), [TrendVerdict::Worse; 6]);
    assert!((found.metrics[0].percent.unwrap() + 5.0).abs() < 0.5);
    assert_eq!(verdicts(&trend(&factors, Some("run-14"))), [TrendVerdict::Same; 6]);
    let outside = TrendBaseline::Outside(Box::new(run(99, 1.0)));
    let chosen = TrendOptions { baseline: Some(outside), ..options(None) };
    let found = ProcedureTrend::new(runs(&factors), &chosen).unwrap();
    assert_eq!(verdicts(&found), [TrendVerdict::Worse; 6]);
    assert_eq!(found.runs.len(), 18, "the baseline is no run of the series");
    let worse = ProcedureTrend::new(runs(&[0.9; 6]), &chosen).unwrap();
    assert_eq!(verdicts(&worse), [TrendVerdict::Worse; 6]);
    assert!(worse.metrics.iter().all(|metric| metric.first_run == Some(0)), "one level");
    let unknown = ProcedureTrend::new(runs(&factors), &options(Some("run-77"))).unwrap_err();
    assert!(matches!(unknown, TrendError::Baseline { name, .. } if name == "run-77"));
}

#[test]
fn few_runs_are_judged_by_their_windows_and_only_against_a_baseline() {
    assert_eq!(verdicts(&trend(&[1.0, 0.5, 0.5], None)), [TrendVerdict::NotJudged; 6]);
    assert_eq!(verdicts(&trend(&[1.0, 1.0, 0.95], Some("run-1"))), [TrendVerdict::Worse; 6]);
    assert_eq!(verdicts(&trend(&[1.0, 1.0, 1.0], Some("run-1"))), [TrendVerdict::Same; 6]);
    let mut without = runs(&[1.0, 0.9]);
    without[1].findings.metrics.iter_mut().for_each(|metric| metric.range = None);
    let found = ProcedureTrend::new(without, &options(Some("run-1"))).unwrap();
    assert_eq!(verdicts(&found), [TrendVerdict::NotJudged; 6]);
}

/// 1,000 trends of six metrics without any change.
#[test]
fn noise_alone_is_a_regression_in_at_most_one_trend_of_a_hundred() {
    let mut wrong = 0;
    for series in 0..1000 {
        let count = 5 + series % 26;
        let all = (0..count).map(|at| {
            let mut one = run(series * 64 + at, 1.0);
            // Rounds that vary less than the runs leave the noise to the runs.
            one.findings.metrics.iter_mut().for_each(|metric| metric.range = None);
            one.findings.chapters.clear();
            one.findings.form_pages.clear();
            one
        });
        let found =
            ProcedureTrend::new(all.collect(), &TrendOptions { change_min: 0.0, ..options(None) });
        wrong += u32::from(found.unwrap().metrics.iter().any(|metric| !metric.changes.is_empty()));
    }
    assert!(wrong <= 10, "{wrong} of 1000");
}

#[test]
fn runs_that_do_not_count_are_listed() {
    let mut all = runs(&[1.0; 7]);
    all[2].findings.end = EndState::NotSteady;
    all[6].findings.end = EndState::Unfinished;
    let found = ProcedureTrend::new(all, &options(None)).unwrap();
    let left_out: Vec<&str> = found.left_out.iter().map(|run| run.name.as_str()).collect();
    assert_eq!((found.runs.len(), left_out), (5, vec!["run-3", "run-7"]));
    assert_eq!(found.newest_left_out.as_deref(), Some("run-7"));
    assert!(!found.is_good(), "nothing is known of the newest run");
    assert!(found.junit().contains("errors=\"1\""));
}

#[test]
fn a_copy_counts_once_and_parts_that_did_not_begin_are_named() {
    let mut all = runs(&[1.0; 4]);
    all.push(NamedRun { name: "copy".into(), ..all[2].clone() });
    // The same second on another drive is another run.
    let mut twin = all[1].clone();
    serial(&mut twin, "S2");
    all.push(NamedRun { name: "twin".into(), ..twin });
    let mut halted = run(9, 1.0);
    halted.findings.id = "suite".into();
    halted.findings.metrics.clear();
    halted.findings.end = EndState::Unfinished;
    let rows = [Setting::new("procedure-1", "Procedure 1", "wsat-1", Origin::Chosen)];
    halted.findings.header.blocks.push(FormBlock::new("Parts", rows));
    all.push(halted);
    let options = TrendOptions {
        procedure: Some(all[0].findings.id.clone()),
        baseline: Some(TrendBaseline::Named("run-1".into())),
        change_min: 0.01,
    };
    let found = ProcedureTrend::new(all.clone(), &options).unwrap();
    let left_out: Vec<(&str, bool)> = found
        .left_out
        .iter()
        .map(|run| {
            (run.name.as_str(), run.reason.contains("run-3") || run.reason.contains("wsat-1"))
        })
        .collect();
    assert_eq!((found.runs.len(), left_out), (5, vec![("copy", true), ("run-9, parts", true)]));
    assert_eq!(found.newest_left_out, None);
    let has_remark =
        |found: &ProcedureTrend| found.findings("x").caveat("windows-decide").is_some();
    assert!(!has_remark(&found));
    all.remove(0);
    let options = TrendOptions { baseline: Some(TrendBaseline::Named("run-2".into())), ..options };
    assert!(has_remark(&ProcedureTrend::new(all, &options).unwrap()));
}

#[test]
fn other_models_and_settings_are_refused_by_name_and_other_serials_are_said() {
    let mut all = runs(&[1.0; 6]);
    serial(&mut all[4], "S2");
    let page = ProcedureTrend::new(all.clone(), &options(None)).unwrap().findings("test");
    assert!(page.caveat("serials-differ").is_some());
    let column = |row: &Row| row.cells[2].clone();
    assert_eq!(column(&rows(&page, "trend-runs")[4]), Cell::text("S2"));
    let mut demand = all.clone();
    demand[1].findings.header.blocks[1].rows[0].value = Some("T1Q1".into());
    let error = ProcedureTrend::new(demand, &options(None)).unwrap_err().to_string();
    assert!(error.contains("T1Q1 (run-2)") && error.contains("T4Q32 (run-1, run-3"), "{error}");
    let mut unknown = all.clone();
    unknown[1].findings.header.blocks[1].rows[0].value = None;
    assert_eq!(ProcedureTrend::new(unknown, &options(None)).unwrap().not_stated, ["Demand (Test)"]);
    let mut rounds = all.clone();
    for (run, most) in rounds.iter_mut().zip(["25", "10"]) {
        let row = Setting::new("rounds-max", "Maximum rounds", most, Origin::Chosen);
        run.findings.header.blocks[1].rows.push(row);
        run.findings.end = EndState::Complete;
    }
    let error = ProcedureTrend::new(rounds.clone(), &options(None)).unwrap_err();
    assert!(matches!(&error, TrendError::Settings { setting, .. } if setting.contains("Maximum")));
    // A limit that no run reached changes nothing.
    rounds.iter_mut().for_each(|run| run.findings.end = EndState::Steady);
    assert_eq!(ProcedureTrend::new(rounds, &options(None)).unwrap().runs.len(), 6);
    all[5].findings.header.model = Some("B-200".into());
    let error = ProcedureTrend::new(all.clone(), &options(None)).unwrap_err();
    assert!(
        matches!(&error, TrendError::Models(text) if text.contains("B-200 (run-6)")),
        "{error}"
    );
    all[5].findings.id = "latency".into();
    let error = ProcedureTrend::new(all, &options(None)).unwrap_err();
    assert!(matches!(&error, TrendError::Procedures(text) if text.contains("latency (1 run)")));
}

#[test]
fn the_first_words_of_an_id_choose_a_procedure_if_only_one_begins_with_them() {
    let mut all = runs(&[1.0; 6]);
    all.iter_mut().for_each(|run| run.findings.id = "WSAT RND 4K W".into());
    all[5].findings.id = "Latency".into();
    let chosen = |all: &[NamedRun], name: &str| {
        let options = TrendOptions { procedure: Some(name.into()), ..options(None) };
        ProcedureTrend::new(all.to_vec(), &options).map(|found| found.runs.len())
    };
    assert_eq!(chosen(&all, "wsat"), Ok(5));
    assert_eq!(chosen(&all, "latency"), Ok(1));
    assert!(matches!(chosen(&all, "wsa"), Err(TrendError::NoProcedure { .. })));
    all[4].findings.id = "WSAT composite RW40".into();
    assert!(matches!(chosen(&all, "wsat"), Err(TrendError::Procedures(_))));
    assert_eq!(chosen(&all, "wsat-composite"), Ok(1));
}

#[test]
fn junit_has_a_test_per_metric_and_escapes_names() {
    let mut all = runs(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.9, 0.9, 0.9, 0.9]);
    all[5].name = "a<b>&\"c".into();
    let junit = ProcedureTrend::new(all, &options(None)).unwrap().junit();
    assert_eq!(junit.matches("<testcase ").count(), 6);
    assert_eq!(junit.matches("<failure message=\"").count(), 6);
    assert!(junit.contains("tests=\"6\" failures=\"6\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("since a&lt;b&gt;&amp;&quot;c"), "{junit}");
}
