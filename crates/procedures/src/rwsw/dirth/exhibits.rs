//! Exhibits of RWSW DIRTH: distribution of the streams, response times at MaxIOPS, quality of
//! service at 1, 8 and 32 outstanding I/Os, and response times and MB/s by outstanding I/Os.

use super::setup::{DEMAND, HISTOGRAM, HISTOGRAM_TIME, RwswDirth, best};
use crate::common::applied::ApplicableWorkload;
use crate::common::attempts::last_attempt_steps;
use crate::exhibits::chosen_rate::{self, ChosenRate};
use crate::exhibits::cyclic_load::JudgedLoad;
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{
    FIVE_NINES, bins_caveat, confidence_plot, percentile_table, rated_title, run_confidence_plot,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::report_notation::{count_word, limits_text, steady_rounds};
use crate::rwsw::disclosure as captured;
use crate::rwsw::ladder::OUTSTANDING;
use crate::rwsw::segments::{
    distribution, key_figures, segments_table, stream_counts, streams_table,
};
use steadfast_domain::findings::{
    Axis, Exhibit, KeyFigure, Origin, Plot, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Demand, Measurement, Record, Step, Tally, Verdict, caveats as ids};

/// Outstanding I/Os at which quality of service is reported (SNIA tutorial, RWSW).
const SERVICE: [u64; 3] = [1, 8, 32];

pub struct RwswDirthResults<'a> {
    steady: JudgedLoad<'a>,
    /// Every demand of the last attempt, in the order of the loop.
    demands: Vec<AppliedDemand<'a>>,
    /// Demand of MaxIOPS; `None` until every demand was run.
    chosen: Option<Demand>,
    histogram: Option<&'a Measurement>,
}

/// A demand and the step that applied it.
struct AppliedDemand<'a> {
    demand: Demand,
    step: &'a Step,
    measurement: &'a Measurement,
}

impl<'a> RwswDirthResults<'a> {
    fn new(dirth: &'a RwswDirth, record: &'a Record) -> Self {
        let mut demands = Vec::new();
        for (demand, (step, outcome)) in
            dirth.ladder.demands.iter().zip(last_attempt_steps(record, DEMAND))
        {
            demands.push(AppliedDemand {
                demand: *demand,
                step,
                measurement: &outcome.measurement,
            });
        }
        let measured: Vec<&Measurement> =
            demands.iter().map(|applied| applied.measurement).collect();
        let is_whole = measured.len() == dirth.ladder.demands.len();
        let histogram = last_attempt_steps(record, HISTOGRAM);
        let histogram = histogram.last().filter(|(_, outcome)| outcome.gap_before.is_none());
        RwswDirthResults {
            steady: JudgedLoad::new(&dirth.steady, record),
            chosen: is_whole.then(|| best(&dirth.ladder, &measured, dirth.art_ceiling)),
            histogram: histogram.map(|(_, outcome)| &outcome.measurement),
            demands,
        }
    }

    fn at(&self, outstanding: u64) -> Option<&'a Measurement> {
        let mut demands = self.demands.iter();
        let found = demands.find(|applied| applied.demand.outstanding() == outstanding)?;
        Some(found.measurement)
    }

    /// Returns the demands by ascending number of outstanding I/Os.
    fn ascending(&self) -> Vec<&AppliedDemand<'a>> {
        let mut demands: Vec<&AppliedDemand<'a>> = self.demands.iter().collect();
        demands.sort_by_key(|applied| applied.demand.outstanding());
        demands
    }

    fn segments(&self) -> Vec<SecondaryPoint> {
        let segment = |applied: &AppliedDemand<'_>| {
            let name = applied.demand.outstanding().to_string();
            SecondaryPoint::from_means(name, &[applied.measurement])
        };
        self.ascending().into_iter().map(segment).collect()
    }
}

type RwswDirthRun<'a> = StudiedRun<'a, RwswDirth>;

impl ProcedureReport for RwswDirth {
    type Results<'a> = RwswDirthResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(outstanding_table),
        ReportEntry::Form(DISTRIBUTION),
        ReportEntry::Plot(distribution_plot),
        ReportEntry::Table(|run| streams_table(&run.test.composite)),
        ReportEntry::Form("RWSW DIRTH Response Time Histogram for MaxIOPS"),
        ReportEntry::Several(confidence),
        ReportEntry::Form("RWSW DIRTH Quality of Service: OIO 1, 8, 32"),
        ReportEntry::Several(service),
        ReportEntry::FormPlot(outstanding_plot),
        ReportEntry::Setup,
        ReportEntry::Chapters(|run| vec![captured::workload_chapter(&run.test.composite)]),
        ReportEntry::General,
        ReportEntry::Chapter("What Was Done"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| outstanding_table(run).with_id("segments-all")),
        ReportEntry::Chapter("Steady State of the Composite"),
        ReportEntry::Plot(|run| {
            let title = format!("Every step - {}", run.test.steady.label);
            run.results.steady.steps_plot("steady-time", &title)
        }),
        ReportEntry::Plot(|run| {
            let title = format!("Measured steps - {}", run.test.steady.label);
            run.results.steady.convergence_plot("steady-measured", &title)
        }),
        ReportEntry::Several(|run| run.results.steady.check_and_evidence("steady")),
        ReportEntry::Chapter("Response Times at MaxIOPS"),
        ReportEntry::OptionalTable(histogram_percentiles),
        ReportEntry::Secondary,
        ReportEntry::Table(|run| {
            let title = "Secondary metrics by OIO";
            secondary::points_table("secondary", title, &run.results.segments())
        }),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["outstanding"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), RwswDirthResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("RWSW DIRTH {}", self.composite)
    }

    fn form(run: &RwswDirthRun<'_>) -> ReportForm {
        let settings = run.choices.settings;
        let rounds = disclosure::window_text(&run.results.steady.verdict);
        captured::report_form(
            "RWSW DIRTH Test",
            "RWSW DIRTH - Fixed Composite v Outstanding I/Os",
            &run.choices,
            &run.test.composite,
            &run.test.preconditioning,
        )
        .set_up([Setting::outcome("SS Rounds", rounds)])
        .test_parameters([
            Setting::method(
                "steady-demand",
                "Steady State TC/QD",
                form_demand(run.test.ladder.highest()),
                Origin::Profile,
            ),
            OUTSTANDING.row(settings, "OIO Loop", OUTSTANDING.value(settings)),
            run.choices.step_row("Step"),
            Setting::outcome("MaxIOPS Point", run.results.chosen.map(form_demand)),
            HISTOGRAM_TIME.row(settings, "Histogram", run.test.histogram_time.to_string()),
        ])
    }

    fn ending(run: &RwswDirthRun<'_>) -> String {
        let demands =
            format!("{} of {} demands", run.results.demands.len(), run.test.ladder.demands.len());
        if !run.record.has_ended() {
            return format!("The run is not finished: {demands} are measured.");
        }
        let chosen =
            run.results.chosen.map(|demand| format!("; MaxIOPS at {demand}")).unwrap_or_default();
        match steady_rounds(&run.results.steady.verdict) {
            Some(rounds) => format!("Steady state in {rounds}; {demands}{chosen}."),
            None => format!("Steady state NOT achieved; {demands}{chosen}."),
        }
    }

    fn verdict(run: &RwswDirthRun<'_>) -> Option<Verdict> {
        Some(run.results.steady.verdict.clone())
    }

    fn caveats(run: &RwswDirthRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if run.record.has_ended() && !run.results.steady.verdict.steady {
            caveats.push(Caveat::invalidates(
                ids::STEADY_STATE_NOT_ACHIEVED,
                format!(
                    "STEADY STATE NOT ACHIEVED: the demands are those of a drive that was not \
                     steady in {} measured steps of {}.",
                    run.test.steady.cycles_max, run.test.steady.label
                ),
                "Run it again with more rounds (--max-rounds).",
            ));
        }
        caveats.extend(above_ceiling(run));
        caveats.extend(not_held(run));
        caveats.push(captured::cadence(&run.test.setup, &run.test.steady.cycle_time().to_string()));
        let composite = &run.test.composite;
        caveats.extend(captured::caveats(composite, &run.test.setup, &run.test.preconditioning));
        caveats.extend(captured::arrivals_missed(composite, &run.choices, run.record));
        caveats
    }

    fn later_caveats(_: &RwswDirthRun<'_>) -> Vec<Caveat> {
        vec![bins_caveat()]
    }

    /// Returns the chosen demand's results in its histogram, next to the sweep rate by which it
    /// was chosen: a rate that was not reached again is no result.
    fn figures(run: &RwswDirthRun<'_>) -> Vec<KeyFigure> {
        let Some(demand) = run.results.chosen else { return Vec::new() };
        let held = run
            .results
            .histogram
            .map(|m| SecondaryPoint::from_means(format!("MaxIOPS at {demand}"), &[m]));
        let swept = run.results.at(demand.outstanding()).and_then(Measurement::iops);
        let label = format!("MaxIOPS at {demand}, in the sweep");
        let mut figures: Vec<KeyFigure> = held.iter().flat_map(key_figures).collect();
        figures.push(KeyFigure::new("sweep-iops", label, swept, "IOPS"));
        figures
    }
}

/// Returns a caveat if the histogram has another rate than the sweep; `None` otherwise.
fn not_held(run: &RwswDirthRun<'_>) -> Option<Caveat> {
    let demand = run.results.chosen?;
    let rate = ChosenRate {
        point: "MaxIOPS",
        demand,
        sweep_iops: run.results.at(demand.outstanding())?.iops()?,
        repeat_iops: run.results.histogram?.iops()?,
    };
    chosen_rate::caveat(
        &[rate],
        "Run it again with --set least-fills=1 or more, so that the workload itself has filled \
         the drive before steady state is judged.",
    )
}

fn above_ceiling(run: &RwswDirthRun<'_>) -> Option<Caveat> {
    let chosen = run.results.chosen.and_then(|demand| run.results.at(demand.outstanding()))?;
    let mean = chosen.total().response_mean().filter(|mean| *mean >= run.test.art_ceiling)?;
    Some(Caveat::remark(
        ids::ART_CEILING,
        format!(
            "No demand kept the average response time below {}; at MaxIOPS it is {:.3} ms.",
            run.test.art_ceiling,
            mean.as_millis_f64()
        ),
        "Choose another ceiling with --set art-ceiling=...",
    ))
}

fn listing(run: &RwswDirthRun<'_>) -> String {
    let demands: Vec<String> = run.test.ladder.demands.iter().map(Demand::to_string).collect();
    let criteria = &run.test.steady.criteria;
    format!(
        "{}\nThe composite at {} until {} measured steps, one in each cycle of {}, meet {}\n\
         The composite for {} at each of {}\n\
         At the demand with most IOPS: for {}, then for {} with every response time recorded",
        run.test.preconditioning.text(&run.choices),
        run.test.ladder.highest(),
        count_word(criteria.window),
        run.test.steady.cycle_time(),
        limits_text(criteria),
        run.test.setup.step_time,
        demands.join(", "),
        run.test.run_in_time,
        run.test.histogram_time
    )
}

const DISTRIBUTION: &str = "RWSW DIRTH IO Streams Distribution v Segments";

fn distribution_plot(run: &RwswDirthRun<'_>) -> Plot {
    let names: Vec<String> = run.test.composite.streams().iter().map(ToString::to_string).collect();
    let demands = run.results.demands.iter();
    let counts: Vec<Vec<f64>> =
        demands.map(|applied| stream_counts(applied.step, applied.measurement)).collect();
    let caption = "Share of every I/O stream in the I/Os that were applied, by the demands of the \
                   loop in their order.";
    distribution(DISTRIBUTION, "Segment (demand)", &names, &counts, caption)
}

fn outstanding_table(run: &RwswDirthRun<'_>) -> Table {
    segments_table("By outstanding I/Os", "OIO", &run.results.segments())
}

fn confidence(run: &RwswDirthRun<'_>) -> Vec<Exhibit> {
    let (Some(demand), Some(measurement)) = (run.results.chosen, run.results.histogram) else {
        let text = "The histogram at MaxIOPS has not been made yet, or a gap voided it.";
        return vec![Exhibit::Text(text.into())];
    };
    let name = format!("{} {demand}", run.test.composite);
    vec![Exhibit::Plot(run_confidence_plot("max-clp", &name, measurement))]
}

fn service(run: &RwswDirthRun<'_>) -> Vec<Exhibit> {
    let columns: Vec<(String, Tally)> = SERVICE
        .iter()
        .filter_map(|oio| Some((format!("OIO={oio}"), run.results.at(*oio)?.total())))
        .collect();
    if columns.is_empty() {
        let text = "None of 1, 8 and 32 outstanding I/Os was measured.";
        return vec![Exhibit::Text(text.into())];
    }
    let title = "Response times at 1, 8 and 32 outstanding I/Os, ms";
    let mut exhibits =
        vec![Exhibit::Table(percentile_table("quality-of-service", title, &columns))];
    exhibits.extend(columns.iter().map(|(name, tally)| {
        let id = format!("qos-{}", name.trim_start_matches("OIO="));
        Exhibit::Plot(confidence_plot(&id, &rated_title(name, None, None, tally), tally))
    }));
    exhibits
}

fn outstanding_plot(run: &RwswDirthRun<'_>) -> Plot {
    let ascending = run.results.ascending();
    let curve = |value: fn(&Measurement) -> Option<f64>| {
        let point = |applied: &&AppliedDemand<'_>| {
            (applied.demand.outstanding() as f64, value(applied.measurement))
        };
        ascending.iter().map(point).collect()
    };
    let five_nines = |m: &Measurement| Some(m.total().percentile(FIVE_NINES)?.as_millis_f64());
    Plot::lines(
        "outstanding",
        "RWSW DIRTH ART, 99.999 % & Throughput v Total OIO",
        Axis::new("Total outstanding I/Os", Scale::Log2),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average and 99.999 % response time, left (99.999 % only where ten or more I/Os lie \
         beyond it); MB/s, right.",
    )
    .right(Axis::new("MB/s", Scale::Linear))
    .with(Series::new("ART", Stroke::Measured, curve(|m| m.total().response_mean_ms())))
    .with(Series::new("99.999 %", Stroke::Measured, curve(five_nines)))
    .with(Series::new("MB/s", Stroke::Average, curve(Measurement::mb_per_second)).on_right())
}

fn histogram_percentiles(run: &RwswDirthRun<'_>) -> Option<Table> {
    let columns = [("MaxIOPS", run.results.histogram?.total())];
    let title = format!("Response times of the histogram ({}), ms", run.test.histogram_time);
    Some(percentile_table("histogram-percentiles", &title, &columns))
}
