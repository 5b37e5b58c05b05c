use super::setup::{HISTOGRAM, average_response};
use super::*;
use crate::pts::scattered::RangedTest;
use crate::testing::scripted::{
    GEOMETRY, ScriptedBench, number, page, plot_of, record, scripted, settings_of, setup, steps,
    table,
};
use steadfast_domain::findings::{Cell, Exhibit, PlotKind};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::{CaveatKind, Demand, Measurement, Nanos, Profile, Settings, Step};

/// Steps of a round: three mixes of three sizes.
const STEPS_PER_ROUND: usize = 9;

/// Pages of the report form.
const TABLES_PAGE: &str = "LAT - Ave, 5 9s, Max Response Times & IOPS - Tabular Data";
const HISTOGRAM_PAGE: &str = "LAT - Response Time Histogram - Confidence Level Plot";

fn latency_test(change: impl FnOnce(&mut Settings)) -> Latency {
    setup(&settings_of("latency", change), GEOMETRY, &[]).and_then(Latency::new).unwrap()
}

/// A drive of 1 ms for 8 KiB, 0.5 ms for all else.
fn drive() -> ScriptedBench<impl FnMut(&Step) -> f64> {
    let mut bench = scripted(|_| 1000.0);
    bench.response = |step| {
        let slow = step.place.label.contains("8K") && step.place.phase == "rounds";
        Some(Nanos(if slow { 1_000_000 } else { 500_000 }))
    };
    bench
}

#[test]
fn nine_steps_a_round_in_the_mandatory_order_and_then_the_histogram() {
    let mut bench = drive();
    latency_test(|_| ()).conduct(&mut bench).unwrap();
    let steps = steps(&bench.entries);
    assert_eq!(steps.len(), 1 + 5 * STEPS_PER_ROUND + 1);
    let labels: Vec<_> =
        steps[1..=STEPS_PER_ROUND].iter().map(|s| s.place.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "RND 8K R", "RND 4K R", "RND 0.5K R", "RND 8K RW65", "RND 4K RW65", "RND 0.5K RW65",
            "RND 8K W", "RND 4K W", "RND 0.5K W"
        ]
    );
    assert!(steps[1..].iter().all(|s| s.load.stimulus().unwrap().demand == Demand::new(1, 1)));
    let last = steps.last().unwrap();
    assert_eq!((last.place.phase.as_str(), last.place.label.as_str()), ("histogram", "RND 4K W"));
    assert_eq!(last.load.stimulus().unwrap().until.time, Some(Nanos::from_secs(1200)));
}

#[test]
fn the_average_response_time_of_4k_writes_decides() {
    let mut bench = drive();
    // 4K writes take 1, 2, 3, 3, ... ms; 8K writes never settle.
    bench.response = |step| {
        let round = u64::from(step.place.round);
        Some(Nanos::from_millis(match step.place.label.as_str() {
            "RND 4K W" => round.min(3),
            "RND 8K W" => 1 << round.min(20),
            _ => 1,
        }))
    };
    let test = latency_test(|_| ());
    let findings = bench.studied(&test, &test.setup.settings);
    let verdict = findings.verdict.unwrap();
    assert_eq!(verdict.window, Some((3, 7)));
    assert_eq!((verdict.tracks[0].average, verdict.tracks[0].unit.as_str()), (3.0, "ms"));
}

#[test]
fn the_form_ends_with_a_histogram_in_2_0_and_with_columns_in_1_1() {
    for (profile, last) in
        [(Profile::Pts20, PlotKind::Histogram), (Profile::Pts11, PlotKind::Columns3d)]
    {
        let test = latency_test(|s| s.profile = profile);
        let findings = drive().studied(&test, &test.setup.settings);
        assert_eq!(plot_of(findings.form_pages.last().unwrap()).kind, last, "{profile}");
    }
}

#[test]
fn the_tables_hold_average_five_nines_maximum_and_iops() {
    let test = latency_test(|_| ());
    let findings = drive().studied(&test, &test.setup.settings);
    let tables = page(&findings, TABLES_PAGE).exhibits.iter().filter_map(Exhibit::as_table);
    let ids: Vec<&str> = tables.map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["average", "five-nines", "maximum", "iops"]);
    let average = table(&findings, "average");
    let columns: Vec<&str> = average.columns.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(columns, ["0/100", "65/35", "100/0"]);
    assert_eq!(number(average, "8", "0/100"), 1.0);
    assert_eq!(number(average, "4", "0/100"), 0.5);
    assert_eq!(number(table(&findings, "maximum"), "8", "65/35"), 1.0);
    assert_eq!(number(table(&findings, "iops"), "4", "65/35"), 1000.0, "reads and writes added");
    let five_nines = &table(&findings, "five-nines").rows[1].cells[1];
    assert_eq!(*five_nines, Cell::Missing, "300,000 I/Os leave three beyond 99.999 %");
}

#[test]
fn the_histogram_s_title_has_rate_and_maximum() {
    let test = latency_test(|_| ());
    let findings = drive().studied(&test, &test.setup.settings);
    let plot = plot_of(page(&findings, HISTOGRAM_PAGE));
    assert_eq!(plot.kind, PlotKind::Histogram);
    let title = &plot.title;
    assert!(title.contains("1,000.0 IOPS, 4.1 MB/s, MRT 0.500 ms"), "{title}");
}

#[test]
fn without_steady_state_there_is_no_histogram() {
    let test = latency_test(|_| ());
    let mut bench = drive();
    bench.response = |step| Some(Nanos(1000 << step.place.round));
    let findings = bench.studied(&test, &test.setup.settings);
    assert_eq!(steps(&bench.entries).last().unwrap().place.round, 25);
    let text = serde_json::to_string(page(&findings, HISTOGRAM_PAGE)).unwrap();
    assert!(text.contains("did not take place"), "{text}");
}

#[test]
fn post_25_makes_the_histogram_where_any_window_was_steady() {
    let test = latency_test(|s| s.steady_state = SteadyStateMethod::Post25);
    let mut bench = drive();
    bench.response = |step| Some(Nanos(1_000_000 << step.place.round.saturating_sub(20)));
    test.conduct(&mut bench).unwrap();
    let steps = steps(&bench.entries);
    assert_eq!(steps.last().unwrap().place.phase, HISTOGRAM);
    assert_eq!(steps.len(), 1 + 25 * STEPS_PER_ROUND + 1);
}

#[test]
fn gaps_in_rounds_and_before_the_histogram_have_caveats_of_their_own() {
    let test = latency_test(|_| ());
    let mut bench = drive();
    bench.gap_before = vec![("rounds", 2, 5), ("histogram", 0, 1)];
    let findings = bench.studied(&test, &test.setup.settings);
    assert_eq!(findings.verdict.unwrap().window, Some((3, 7)));
    let gaps: Vec<_> = findings.caveats.iter().filter(|c| c.id == "gap").collect();
    assert_eq!(gaps.len(), 2);
    assert!(gaps[0].text.contains("void") && gaps[1].text.contains("restarted"));
}

#[test]
fn another_demand_is_a_deviation() {
    let busy = latency_test(|s| s.depth = Some(4));
    let findings = busy.study(&record(&busy.setup.settings, Vec::new()));
    let caveat = findings.caveat("demand").unwrap();
    assert_eq!(caveat.kind, CaveatKind::Deviation);
}

/// A rehearsal counts I/Os and keeps no response times.
#[test]
fn a_bench_without_response_times_is_steady_by_its_ios() {
    let bench = scripted(|_| 1000.0).conducted(&latency_test(|_| ()));
    assert_eq!(steps(&bench.entries).len(), 1 + 5 * STEPS_PER_ROUND + 1);
    let dead = Measurement { elapsed: Nanos::SECOND, ..Measurement::default() };
    assert_eq!(average_response(&dead), None);
}

/// Rounds of different numbers of I/Os: the standard averages rounds.
#[test]
fn every_average_is_the_mean_of_the_rounds() {
    let mut bench = drive();
    // 1.0, 1.1, 1.0, 1.1, 1.0 ms; the slower rounds have half the I/Os.
    bench.response =
        |step| Some(Nanos(if step.place.round % 2 == 0 { 1_100_000 } else { 1_000_000 }));
    bench.retouch = |step, measurement| {
        if step.place.round % 2 == 0 {
            for stream in &mut measurement.streams {
                stream.tally.ios /= 2;
                stream.tally.response_sum.0 /= 2;
            }
        }
    };
    let test = latency_test(|_| ());
    let findings = bench.studied(&test, &test.setup.settings);
    let track = findings.verdict.as_ref().unwrap().tracks[0].average;
    assert!((track - 1.04).abs() < 1e-9, "{track}");
    let averages = averages_of_4k_writes(&findings);
    assert_eq!(averages.len(), 3);
    for average in averages {
        assert!((average - track).abs() < 1e-9, "{average} is not {track}");
    }
}

/// Returns the average response time of RND 4K W in every table that has it.
fn averages_of_4k_writes(findings: &Findings) -> Vec<f64> {
    let mut averages = Vec::new();
    for table in findings.tables() {
        let (row, column) = match table.id.as_str() {
            "average" | "average-summary" => ("4", "0/100"),
            "secondary" => ("ART ms", "RND 4K W"),
            _ => continue,
        };
        averages.push(number(table, row, column));
    }
    averages
}
