//! The exhibits of RWSW DIRTH: the distribution of the streams, the response times at
//! MaxIOPS, quality of service at 1, 8 and 32 outstanding I/Os, response times and MB/s
//! against outstanding I/Os.

use super::setup::{DEMAND, Dirth, HISTOGRAM, HISTOGRAM_TIME, best};
use crate::exhibits::disclosure::{self, Form, form_demand};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::held::{self, ChosenRate};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::exhibits::response::{
    FIVE_NINES, Rates, bins_caveat, confidence_plot, percentile_table, rated_title,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::ground::applied::Applied;
use crate::ground::attempts::last_attempt;
use crate::pts::between::{check_exhibits, convergence_plot, evidence, minutes_plot, steps_of};
use crate::rwsw::disclosure as captured;
use crate::rwsw::ladder::OUTSTANDING;
use crate::rwsw::regime::STEADY;
use crate::rwsw::segments::{
    Segment, distribution, key_figures, segments_table, stream_counts, streams_table,
};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Exhibit, FormHeader, KeyFigure, Origin, Page, Plot, PlotKind, Scale, Series, Setting,
    Stroke,
};
use steadfast_domain::{
    Caveat, CaveatKind, Demand, Findings, Measurement, Nanos, Outcome, Record, Step, Tally, Verdict,
};

/// Outstanding I/Os at which quality of service is reported (SNIA tutorial, RWSW).
const SERVICE: [u64; 3] = [1, 8, 32];

/// Everything that the exhibits are made of.
struct Results<'a> {
    steady: Vec<(&'a Step, &'a Outcome)>,
    verdict: Verdict,
    /// Every demand that was run in the last attempt, in the order of the loop.
    demands: Vec<(Demand, &'a Step, &'a Measurement)>,
    /// MaxIOPS; `None` while not every demand was run.
    chosen: Option<Demand>,
    histogram: Option<&'a Measurement>,
}

impl<'a> Results<'a> {
    fn of(dirth: &Dirth, record: &'a Record) -> Self {
        let steady = steps_of(record, STEADY);
        let run = last_attempt(record, DEMAND);
        let demands: Vec<_> = dirth
            .ladder
            .demands
            .iter()
            .zip(run)
            .map(|(demand, (step, outcome))| (*demand, step, &outcome.measurement))
            .collect();
        let measured: Vec<_> = demands.iter().map(|(.., m)| *m).collect();
        let is_whole = measured.len() == dirth.ladder.demands.len();
        let histogram = last_attempt(record, HISTOGRAM);
        let histogram = histogram.last().filter(|(_, outcome)| outcome.gap_before.is_none());
        Results {
            verdict: dirth.steady.verdict(&steady),
            steady,
            chosen: is_whole.then(|| best(&dirth.ladder, &measured, dirth.art_ceiling)),
            histogram: histogram.map(|(_, outcome)| &outcome.measurement),
            demands,
        }
    }

    fn at(&self, outstanding: u64) -> Option<&'a Measurement> {
        let found = self.demands.iter().find(|(demand, ..)| demand.outstanding() == outstanding);
        found.map(|(.., measurement)| *measurement)
    }

    /// From few to many outstanding I/Os.
    fn ascending(&self) -> Vec<(u64, &'a Measurement)> {
        let mut demands: Vec<_> =
            self.demands.iter().map(|(demand, _, m)| (demand.outstanding(), *m)).collect();
        demands.sort_by_key(|(outstanding, _)| *outstanding);
        demands
    }

    fn segments(&self) -> Vec<Segment> {
        let segment =
            |(outstanding, m): &(u64, &Measurement)| Segment::of(outstanding.to_string(), &[*m]);
        self.ascending().iter().map(segment).collect()
    }
}

/// Everything that is reported of a run.
pub fn findings(dirth: &Dirth, record: &Record) -> Findings {
    let choices = dirth.choices(record);
    let results = Results::of(dirth, record);
    let table = segments_table("By outstanding I/Os", "OIO", &results.segments());
    Findings {
        ending: ending(dirth, record, &results),
        caveats: caveats(dirth, record, &results),
        summary: vec![Exhibit::Table(table)],
        form_pages: form_pages(dirth, &results),
        chapters: chapters(dirth, record, &results),
        long_tables: vec![every_step(&choices, record)],
        ..frame(&title(dirth), &choices, record, header(dirth, record, &results))
            .judged(Some(results.verdict.clone()))
            .fronted(figures(&results), ["outstanding"])
    }
}

/// What the chosen demand gave in its histogram, and next to it the rate in the sweep by which
/// it was chosen: a rate that was only passed through is no result.
fn figures(results: &Results<'_>) -> Vec<KeyFigure> {
    let Some(demand) = results.chosen else { return Vec::new() };
    let held = results.histogram.map(|m| Segment::of(format!("MaxIOPS at {demand}"), &[m]));
    let swept = results.at(demand.outstanding()).and_then(Measurement::iops);
    let label = format!("MaxIOPS at {demand}, in the sweep");
    let mut figures: Vec<KeyFigure> = held.iter().flat_map(key_figures).collect();
    figures.push(KeyFigure::new("sweep-iops", label, swept, "IOPS"));
    figures
}

fn title(dirth: &Dirth) -> String {
    format!("RWSW DIRTH {}", dirth.composite)
}

fn ending(dirth: &Dirth, record: &Record, results: &Results<'_>) -> String {
    let demands = format!("{} of {} demands", results.demands.len(), dirth.ladder.demands.len());
    if !record.has_ended() {
        return format!("The run is not finished: {demands} are measured.");
    }
    let chosen = results.chosen.map(|demand| format!("; MaxIOPS at {demand}")).unwrap_or_default();
    match (results.verdict.steady, results.verdict.window) {
        (true, Some((first, last))) => {
            format!("Steady state in rounds {first} to {last}; {demands}{chosen}.")
        }
        _ => format!("Steady state NOT achieved; {demands}{chosen}."),
    }
}

fn header(dirth: &Dirth, record: &Record, results: &Results<'_>) -> FormHeader {
    let choices = dirth.choices(record);
    let settings = choices.settings;
    let mut set_up = captured::set_up_rows(&choices, &dirth.regime);
    set_up.push(Setting::outcome("SS Rounds", disclosure::window_text(&results.verdict)));
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend(captured::workload_rows(&dirth.composite));
    test_parameters.extend([
        Setting::method(
            "steady-demand",
            "Steady State TC/QD",
            form_demand(dirth.ladder.highest()),
            Origin::Profile,
        ),
        OUTSTANDING.row(settings, "OIO Loop", OUTSTANDING.value(settings)),
        choices.step_row("Step"),
        Setting::outcome("MaxIOPS Point", results.chosen.map(form_demand)),
        HISTOGRAM_TIME.row(settings, "Histogram", dirth.histogram_time.to_string()),
    ]);
    let form = Form {
        test: "RWSW DIRTH Test".into(),
        subtitle: "RWSW DIRTH - Fixed Composite v Outstanding I/Os".into(),
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn caveats(dirth: &Dirth, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if record.has_ended() && !results.verdict.steady {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED: the demands are those of a drive that was not steady \
                 in {} measured steps of {}.",
                dirth.steady.cycles_max, dirth.steady.label
            ),
            "Run it again with more rounds (--max-rounds).",
        ));
    }
    caveats.extend(above_ceiling(dirth, results));
    caveats.extend(not_held(results));
    caveats.push(captured::cadence(&dirth.ground.settings, &dirth.steady.cycle_time().to_string()));
    caveats.extend(captured::caveats(&dirth.composite, &dirth.ground, &dirth.regime));
    let choices = dirth.choices(record);
    caveats.extend(disclosure::caveats(&choices, record));
    caveats.push(bins_caveat());
    caveats.extend(secondary::caveats(record, &|step| choices.measures(step)));
    caveats
}

/// The histogram is of another rate than the one by which its demand was chosen.
fn not_held(results: &Results<'_>) -> Option<Caveat> {
    let demand = results.chosen?;
    let swept = results.at(demand.outstanding())?.iops()?;
    let rate = ChosenRate { point: "MaxIOPS", demand, swept, held: results.histogram?.iops()? };
    held::caveat(
        &[rate],
        "Run it again with --set least-fills=1 or more, so that the workload itself has filled \
         the drive before steady state is judged.",
    )
}

fn above_ceiling(dirth: &Dirth, results: &Results<'_>) -> Option<Caveat> {
    let chosen = results.chosen.and_then(|demand| results.at(demand.outstanding()))?;
    let mean = chosen.total().response_mean().filter(|mean| *mean >= dirth.art_ceiling)?;
    Some(Caveat::new(
        CaveatKind::Remark,
        ids::ART_CEILING,
        format!(
            "No demand kept the average response time below {}; at MaxIOPS it is {:.3} ms.",
            dirth.art_ceiling,
            mean.as_millis_f64()
        ),
        "Choose another ceiling with --set art-ceiling=...",
    ))
}

fn form_pages(dirth: &Dirth, results: &Results<'_>) -> Vec<Page> {
    vec![
        distribution_page(dirth, results),
        histogram_page(dirth, results),
        service_page(results),
        outstanding_page(results),
    ]
}

fn distribution_page(dirth: &Dirth, results: &Results<'_>) -> Page {
    const TITLE: &str = "RWSW DIRTH IO Streams Distribution v Segments";
    let names: Vec<String> = dirth.composite.streams().iter().map(ToString::to_string).collect();
    let counts: Vec<Vec<f64>> =
        results.demands.iter().map(|(_, step, m)| stream_counts(step, m)).collect();
    let caption = "Share of every I/O stream in the I/Os that were applied, by the demands of the \
                   loop in their order.";
    let plot = distribution(TITLE, "Segment (demand)", &names, &counts, caption);
    page(TITLE, vec![Exhibit::Plot(plot), Exhibit::Table(streams_table(&dirth.composite))])
}

fn histogram_page(dirth: &Dirth, results: &Results<'_>) -> Page {
    const TITLE: &str = "RWSW DIRTH Response Time Histogram for MaxIOPS";
    let (Some(demand), Some(measurement)) = (results.chosen, results.histogram) else {
        let text = "The histogram at MaxIOPS has not been made yet, or a gap voided it.";
        return page(TITLE, vec![Exhibit::Text(text.into())]);
    };
    let tally = measurement.total();
    let rates = Rates { iops: measurement.iops(), mb_per_second: measurement.mb_per_second() };
    let title = rated_title(&format!("{} {demand}", dirth.composite), rates, &tally);
    page(TITLE, vec![Exhibit::Plot(confidence_plot("max-clp", &title, &tally))])
}

fn service_page(results: &Results<'_>) -> Page {
    const TITLE: &str = "RWSW DIRTH Quality of Service: OIO 1, 8, 32";
    let there: Vec<(String, Tally)> = SERVICE
        .iter()
        .filter_map(|oio| Some((format!("OIO={oio}"), results.at(*oio)?.total())))
        .collect();
    if there.is_empty() {
        let text = "None of 1, 8 and 32 outstanding I/Os was measured.";
        return page(TITLE, vec![Exhibit::Text(text.into())]);
    }
    let columns: Vec<(&str, &Tally)> = there.iter().map(|(name, t)| (name.as_str(), t)).collect();
    let table = percentile_table(
        "quality-of-service",
        "Response times at 1, 8 and 32 outstanding I/Os, ms",
        &columns,
    );
    let mut exhibits = vec![Exhibit::Table(table)];
    exhibits.extend(there.iter().map(|(name, tally)| {
        let id = format!("qos-{}", name.trim_start_matches("OIO="));
        Exhibit::Plot(confidence_plot(&id, &rated_title(name, Rates::default(), tally), tally))
    }));
    page(TITLE, exhibits)
}

fn outstanding_page(results: &Results<'_>) -> Page {
    const TITLE: &str = "RWSW DIRTH ART, 99.999 % & Throughput v Total OIO";
    let points = |value: &dyn Fn(&Measurement) -> Option<f64>| {
        let ascending = results.ascending();
        ascending.iter().map(|(oio, m)| (*oio as f64, value(m))).collect::<Vec<_>>()
    };
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let plot = Plot::new(
        PlotKind::Lines,
        "outstanding",
        TITLE,
        Axis::new("Total outstanding I/Os", Scale::Log2),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average and 99.999 % response time, left (99.999 % only where ten or more I/Os lie \
         beyond it); MB/s, right.",
    )
    .right(Axis::new("MB/s", Scale::Linear))
    .with(Series::new("ART", Stroke::Measured, points(&|m| m.total().response_mean_ms())))
    .with(Series::new(
        "99.999 %",
        Stroke::Measured,
        points(&|m| ms(m.total().percentile(FIVE_NINES))),
    ))
    .with(Series::new("MB/s", Stroke::Average, points(&|m| m.mb_per_second())).on_right());
    page(TITLE, vec![Exhibit::Plot(plot)])
}

fn chapters(dirth: &Dirth, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = dirth.choices(record);
    let mut chapters = common_chapters(&choices, record);
    chapters.push(captured::workload_chapter(&dirth.composite));
    chapters.push(general_chapter(&choices));
    let segments = results.segments();
    let table = segments_table("By outstanding I/Os", "OIO", &segments).named("segments-all");
    chapters
        .push(page("What Was Done", vec![Exhibit::Listing(listing(dirth)), Exhibit::Table(table)]));
    chapters.push(steady_chapter(dirth, results));
    if let Some(measurement) = results.histogram {
        let total = measurement.total();
        chapters.push(page(
            "Response Times at MaxIOPS",
            vec![Exhibit::Table(percentile_table(
                "histogram-percentiles",
                &format!("Response times of the histogram ({}), ms", dirth.histogram_time),
                &[("MaxIOPS", &total)],
            ))],
        ));
    }
    let points: Vec<SecondaryPoint<'_>> = segments.iter().map(SecondaryPoint::from).collect();
    let table = secondary::points_table("secondary", "Secondary metrics by OIO", &points);
    chapters.push(secondary::chapter(vec![Exhibit::Table(table)], record));
    chapters
}

fn steady_chapter(dirth: &Dirth, results: &Results<'_>) -> Page {
    let title = format!("Every step - {}", dirth.steady.label);
    let measured = format!("Measured steps - {}", dirth.steady.label);
    let mut exhibits = vec![
        Exhibit::Plot(minutes_plot(&dirth.steady, &results.steady, ("steady-time", &title))),
        Exhibit::Plot(convergence_plot(
            &dirth.steady,
            &results.steady,
            ("steady-measured", &measured),
        )),
    ];
    exhibits.extend(check_exhibits(&results.verdict, "steady-window"));
    exhibits.extend(evidence(&dirth.steady, &results.steady, "steady"));
    page("Steady State of the Composite", exhibits)
}

fn listing(dirth: &Dirth) -> String {
    let demands: Vec<String> = dirth.ladder.demands.iter().map(Demand::to_string).collect();
    format!(
        "{}\nThe composite at {} until five measured steps, one in each cycle of {}, meet 20/10\n\
         The composite for {} at each of {}\n\
         At the demand with most IOPS: for {}, then for {} with every response time recorded",
        dirth.regime.text(&dirth.ground.settings),
        dirth.ladder.highest(),
        dirth.steady.cycle_time(),
        dirth.ground.minute,
        demands.join(", "),
        dirth.run_in_time,
        dirth.histogram_time
    )
}
