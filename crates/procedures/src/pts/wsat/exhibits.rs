//! Exhibits of WSAT: the pages of the PTS 2.0 form (IOPS over time, bytes and fills, response
//! times, confidence levels), those of 1.1 (linear and logarithmic), and the two of TKperf.

use super::caveats;
use super::plots::{
    WsatAxis, amplification_plot, average_latency_plot, confidence_exhibits, device_plots,
    histogram_tail_plot, iops_plot, response_plot, seconds_plot, seconds_response_plot,
    throughput_plot,
};
use super::results::{LAST_STEPS, MergedSteps, SaturationEnd, WsatResults, WsatRun};
use super::setup::{HISTOGRAM_TIME, Wsat, WsatPreconditioning};
use super::tables::{histogram_percentiles_table, steps_table, summary_table};
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::cyclic_load::{JudgedLoad, check_exhibits};
use crate::exhibits::disclosure::{self, ReportForm, SECOND_STIMULUS, form_demand};
use crate::exhibits::matrix::millis;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::FIVE_NINES;
use crate::exhibits::{secondary, tkperf};
use crate::pts::workload;
use crate::report_notation::{mix_name, number, reservation_text};
use steadfast_domain::findings::{Exhibit, Facts, KeyFigure, Metric, Page, Plot, Scale, Setting};
use steadfast_domain::{Caveat, Profile, Record, Step, Verdict};

impl ProcedureReport for Wsat {
    type Results<'a> = WsatResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(summary_table),
        ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Time, Scale::Linear)),
        ReportEntry::Of(
            &[Profile::Pts11],
            &[
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Time, Scale::Log10)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Linear)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Log10)),
            ],
        ),
        ReportEntry::Of(
            &[Profile::Tkperf],
            &[ReportEntry::FormPlot(average_latency_plot), ReportEntry::Chapters(tkperf_chapters)],
        ),
        ReportEntry::Of(
            &[Profile::Pts20, Profile::Quick],
            &[
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Linear)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Fills, Scale::Linear)),
                ReportEntry::FormPlot(|run| response_plot(run, WsatAxis::Fills)),
                ReportEntry::Form("WSAT Response Time Histogram - Confidence Level Plot"),
                ReportEntry::Several(confidence_exhibits),
            ],
        ),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Saturation Second by Second"),
        ReportEntry::Plot(seconds_plot),
        ReportEntry::Plot(seconds_response_plot),
        ReportEntry::Several(device_plots),
        ReportEntry::Chapter("Write Saturation"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(summary_table),
        // The scale that page one of the form does not use.
        ReportEntry::Plot(|run| Plot {
            id: "iops-time-log-chapter".into(),
            ..iops_plot(run, WsatAxis::Time, Scale::Log10)
        }),
        ReportEntry::Plot(throughput_plot),
        ReportEntry::OptionalPlot(amplification_plot),
        ReportEntry::Chapter("WSAT SS Check"),
        ReportEntry::Several(steady_check),
        ReportEntry::Chapter("Steady State of the Rounds"),
        ReportEntry::Several(steady_evidence),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Plot(|run| response_plot(run, WsatAxis::Time)),
        ReportEntry::Plot(|run| response_plot(run, WsatAxis::Written)),
        ReportEntry::OptionalTable(histogram_percentiles_table),
        ReportEntry::OptionalPlot(histogram_tail_plot),
        ReportEntry::Secondary,
        ReportEntry::Facts(|run| {
            let iops = run.results.last_steps(run.results.steps.len()).and_then(|s| s.iops);
            let rows = secondary::rows(&run.results.secondary(), iops);
            Facts::new("Over the whole saturation").rows(rows)
        }),
        ReportEntry::Csv(steps_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["seconds", "seconds-response"];
    // Below the seconds of the saturation.
    const DRAWS_ROUNDS: bool = false;

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), WsatResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("WSAT {}", self.workload)
    }

    fn form(run: &WsatRun<'_>) -> ReportForm {
        let demand = form_demand(run.test.demand);
        let rounds = match &run.results.verdict {
            Some(verdict) if !verdict.steady && ended_as_allowed(run) => {
                format!("not required: {}", limit_name(run))
            }
            Some(verdict) => disclosure::window_text(verdict),
            None => "not judged (pseudo steady state)".into(),
        };
        let settings = run.choices.settings;
        let workload_row = |id: &str, label: &str, value: Option<String>| {
            Setting::new(id, label, value, workload::origin(settings))
        };
        let workload = run.test.workload.to_string();
        let mix = mix_name(run.test.workload.read_percent());
        let histogram_time = run.test.histogram_time;
        let histogram_workload = histogram_time.map(|_| workload.clone());
        let histogram_demand = histogram_time.map(|_| demand.clone()).unwrap_or_default();
        ReportForm::new("WSAT Test", &format!("WSAT - Write Saturation, {workload}"), &run.choices)
            .set_up(disclosure::preconditioning_rows(&run.choices))
            .set_up([
                workload_row("wdpc", "Pre Condition 2", Some(format!("{workload} (WDPC)"))),
                run.choices.demand_row("TOIO - TC/QD", demand.clone()),
                Setting::outcome("SS Rounds", &rounds),
                disclosure::note_row(&run.choices),
            ])
            .test_parameters([
                workload_row("stimulus-1", "Test Stimulus 1", Some(workload)),
                workload_row("mixes", "RW Mix", Some(mix)),
                run.choices.demand_row("TOIO - TC/QD", demand),
                run.choices.step_row("Step"),
                Setting::outcome("Steady State", rounds),
                workload_row(SECOND_STIMULUS, "Test Stimulus 2", histogram_workload),
                run.choices.demand_row("TOIO - TC/QD", histogram_demand).with_id("demand-2"),
                HISTOGRAM_TIME.row(
                    settings,
                    "Duration",
                    histogram_time.map(|time| time.to_string()),
                ),
            ])
    }

    fn ending(run: &WsatRun<'_>) -> String {
        let Some(last) = run.results.steps.last() else {
            return "The run is not finished: nothing has been written yet.".into();
        };
        let progress = format!(
            "{} minutes, {} GB written, {} drive fills",
            number(last.time, 1),
            number(last.written_gb, 1),
            number(last.fills, 2)
        );
        match run.results.end {
            SaturationEnd::NotYet => format!("The run is not finished: {progress}."),
            SaturationEnd::Written => format!("Ended after {}: {progress}.", run.test.fills_text()),
            SaturationEnd::Time => format!("Ended by its time limit: {progress}."),
            SaturationEnd::Count => {
                match run.results.verdict.as_ref().filter(|verdict| !verdict.steady) {
                    Some(verdict) => format!(
                        "Steady state NOT achieved in the maximum number of rounds{}: {progress}.",
                        reservation_text(verdict)
                    ),
                    None => format!("Ended after the maximum number of steps: {progress}."),
                }
            }
            SaturationEnd::Steady => {
                let verdict = run.results.verdict.as_ref();
                let (first, last) = verdict.and_then(|v| v.window).unwrap_or_default();
                let reservation = verdict.map(reservation_text).unwrap_or_default();
                format!("Steady state in rounds {first} to {last}{reservation}: {progress}.")
            }
        }
    }

    /// A saturation ended by bytes or time has a verdict only if it is steady.
    fn verdict(run: &WsatRun<'_>) -> Option<Verdict> {
        let verdict = run.results.verdict.as_ref();
        verdict.filter(|verdict| verdict.steady || run.test.requires_steady_state()).cloned()
    }

    fn caveats(run: &WsatRun<'_>) -> Vec<Caveat> {
        caveats::caveats(run)
    }

    fn later_caveats(run: &WsatRun<'_>) -> Vec<Caveat> {
        run.test.workload.caveats()
    }

    fn reports(_: &WsatRun<'_>, _: &Step) -> bool {
        true
    }

    /// Returns the fresh rate, the late rate and their ratio, and response times from the steps of
    /// the late rate.
    fn figures(run: &WsatRun<'_>) -> Vec<KeyFigure> {
        let name = &run.test.workload;
        let fresh = run.results.steps.first().and_then(|step| step.iops);
        let mut figures =
            vec![KeyFigure::new("fresh-iops", format!("{name}, first step"), fresh, "IOPS")];
        let Some(LateRate { id, label, share, merged }) = late_rate(run) else {
            return figures;
        };
        let fresh = fresh.filter(|fresh| *fresh > 0.0);
        let percent = merged.iops.zip(fresh).map(|(late, fresh)| late / fresh * 100.0);
        let mean = millis(merged.tally.response_mean());
        let tail = millis(merged.tally.percentile(FIVE_NINES));
        let figure = |suffix: &str, label: String, value: Option<f64>, unit: &str| {
            KeyFigure::new(&format!("{id}-{suffix}"), label, value, unit)
        };
        figures.extend([
            figure("iops", format!("{name}, {label}"), merged.iops, "IOPS"),
            figure("share", share, percent, "%"),
            figure("mean", format!("Mean, {label}"), mean, "ms"),
            figure("five-nines", format!("99.999 %, {label}"), tail, "ms").of_buckets(),
        ]);
        figures
    }

    /// First step, last step, steady window and histogram run in long form.
    fn metrics(run: &WsatRun<'_>) -> Vec<Metric> {
        let results = &run.results;
        let measured =
            |index: usize| results.outcomes.get(index).map(|(_, o)| vec![&o.measurement]);
        let last = results.outcomes.len().checked_sub(1).filter(|last| *last > 0);
        let window = run.test.cyclic_load().and_then(|load| results.steady_measurements(load));
        let pattern = run.test.workload.pattern();
        let mut metrics = Vec::new();
        for (name, steps) in [
            (FIRST_STEP, measured(0)),
            (LAST_STEP, last.and_then(measured)),
            (SUSTAINED, window),
            (HISTOGRAM_RUN, results.histogram.map(|measurement| vec![measurement])),
        ] {
            let Some(steps) = steps else { continue };
            let point = format!("{}{}", run.test.workload, name.suffix);
            let measured = MeasuredPoint { point: &point, pattern, steps: &steps, rounds: false };
            metrics.extend(measured.metrics());
        }
        metrics
    }
}

/// Name of a point in the metrics of WSAT.
pub(crate) struct PointName {
    /// Suffix after the workload's name.
    pub suffix: &'static str,
    /// The steps of the point in words.
    pub description: &'static str,
}

/// Point with the rate of the fresh drive.
pub(crate) const FIRST_STEP: PointName =
    PointName { suffix: ", first step", description: "first step" };
const LAST_STEP: PointName = PointName { suffix: ", last step", description: "last step" };
const SUSTAINED: PointName = PointName { suffix: ", sustained", description: "steady window" };
const HISTOGRAM_RUN: PointName =
    PointName { suffix: ", histogram run", description: "histogram run" };

/// Points that a saturation is summed up by, best first.
pub(crate) const LATE_POINTS: [PointName; 4] = [SUSTAINED, HISTOGRAM_RUN, LAST_STEP, FIRST_STEP];

/// Returns true if the run ended at a limit that the method allows in place of steady state.
fn ended_as_allowed(run: &WsatRun<'_>) -> bool {
    matches!(run.results.end, SaturationEnd::Written | SaturationEnd::Time)
        && !run.test.requires_steady_state()
}

/// Describes what ended the saturation, for the form.
fn limit_name(run: &WsatRun<'_>) -> String {
    match run.results.end {
        SaturationEnd::Written => run.test.fills_text(),
        _ => "time limit".to_owned(),
    }
}

/// The late rate of page one: its steps, and how it may be called.
struct LateRate {
    /// Prefix of the IDs of its figures: figures of different kinds are never compared.
    id: &'static str,
    /// Text after the workload's name.
    label: String,
    /// Label of its ratio to the fresh rate.
    share: String,
    merged: MergedSteps,
}

/// Chooses the rate to compare with the fresh drive. Only a steady window is called "sustained".
/// Without one it is the histogram run, which follows the saturation directly; without that, the
/// last steps, which were not steady.
fn late_rate(run: &WsatRun<'_>) -> Option<LateRate> {
    let window = run.test.cyclic_load().and_then(|load| run.results.steady_window(load));
    if let Some(merged) = window {
        let (label, share) = ("sustained".to_owned(), "Sustained share of fresh".to_owned());
        return Some(LateRate { id: "sustained", label, share, merged });
    }
    if let (Some(histogram), Some(time)) = (run.results.histogram, run.test.histogram_time) {
        let label = format!("mean of the {time} after the saturation");
        let share = format!("Share of fresh, mean of the {time} after");
        let merged = MergedSteps::from(histogram);
        return Some(LateRate { id: "after", label, share, merged });
    }
    // With so few steps the mean would include the first one and mix two states.
    let (count, steps) = match run.results.steps.len() {
        0 | 1 => return None,
        few if few <= LAST_STEPS => (1, "last step".to_owned()),
        _ => (LAST_STEPS, format!("mean of the last {LAST_STEPS} steps")),
    };
    let label = format!("{steps}, not steady");
    let share = format!("Share of fresh, {label}");
    Some(LateRate { id: "last", label, share, merged: run.results.last_steps(count)? })
}

fn listing(run: &WsatRun<'_>) -> String {
    let histogram = run.test.histogram_time.map(|time| {
        format!(
            "\n{} at {} for {time}; record every response time",
            run.test.workload, run.test.demand
        )
    });
    format!(
        "Purge{}\n{} at {} without a pause, accounted in \
         steps of {}\n  ends {}{}",
        match &run.test.preconditioning {
            WsatPreconditioning::Nothing => " (no workload independent preconditioning)".to_owned(),
            WsatPreconditioning::Wipc => "; 2 x user capacity written sequentially".to_owned(),
            WsatPreconditioning::OnePass(pass) => format!("; {}", pass.text()),
        },
        run.test.workload,
        run.test.demand,
        run.test.setup.step_time,
        run.test.ending_rule(),
        histogram.unwrap_or_default()
    )
}

/// Returns the exhibits of the steady-state check; empty if nothing is judged.
fn steady_check(run: &WsatRun<'_>) -> Vec<Exhibit> {
    match &run.results.verdict {
        Some(verdict) => check_exhibits(verdict, "wsat-window"),
        None => Vec::new(),
    }
}

/// Returns the evidence; empty if nothing is or could be judged.
fn steady_evidence(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let Some(load) = run.test.cyclic_load() else { return Vec::new() };
    let judged = JudgedLoad::new(load, run.record);
    if judged.measured_steps().next().is_none() {
        return Vec::new();
    }
    let mut exhibits = judged.evidence("wsat");
    let rounds = judged.convergence_plot("measured-minutes", "Rounds of the saturation");
    exhibits.push(Exhibit::Plot(rounds));
    exhibits
}

/// Returns the test in the form of a TKperf report.
fn tkperf_chapters(run: &WsatRun<'_>) -> Vec<Page> {
    let minutes = run.results.steps.iter().map(|step| tkperf::SaturatedMinute {
        iops: step.iops,
        mean_ms: step.art,
        gap: step.gap,
    });
    tkperf::write_saturation(listing(run), &minutes.collect::<Vec<_>>())
}
