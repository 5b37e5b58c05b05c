//! The exhibits of XSR: the pages of the 2.0 form (throughput, response times,
//! table of recovery), and those of 1.1 (windows around the switches).

use super::results::{Minute, NEARLY, Recovery, Results, SegmentResult};
use super::setup::{FIRST_TIME, LAST_TIME, MIDDLE_TIME, Xsr};
use crate::exhibits::disclosure::{self, Form, form_demand};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::pages::page;
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::seconds;
use crate::exhibits::steps::every_step;
use crate::ground::choices::Choices;
use crate::ground::metrics::Measured;
use crate::pts::between::time_axis;
use crate::words::number;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Marker, Metric, Origin, Page, Plot,
    PlotKind, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Findings, Measurement, Profile, Record, Tally};

/// Either side of a switch, in minutes (public implementation) ...
const AROUND_SWITCH: f64 = 120.0;
/// ... or a third of the shorter neighbour where segments are shorter than that.
const PART_OF_SEGMENT: f64 = 3.0;

/// Everything that is reported of a run.
pub fn findings(xsr: &Xsr, record: &Record, results: &Results<'_>) -> Findings {
    let choices = xsr.choices(record);
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    caveats.extend(disclosure::caveats(&choices, record));
    caveats.extend(secondary::caveats(record, &|_| true));
    Findings {
        ending: ending(xsr, record, results),
        caveats,
        summary: vec![Exhibit::Table(segments_table(xsr, results, "xsr-summary"))],
        form_pages: form_pages(xsr, results),
        chapters: chapters(xsr, record, results),
        long_tables: vec![minutes_table(results), every_step(&choices, record)],
        metrics: metrics(results),
        ..frame("XSR", &choices, record, header(xsr, record))
            .fronted(figures(xsr, results), ["tp-all", "recovery"])
    }
}

fn ending(xsr: &Xsr, record: &Record, results: &Results<'_>) -> String {
    if !record.has_ended() {
        let begun = results.segments.iter().filter(|s| !s.minutes.is_empty()).count();
        return format!("The run is not finished: {begun} of 3 segments have begun.");
    }
    format!("All three segments ran without interruption. {}", recovery_text(xsr, results))
}

/// When the last segment came close to the level that counts as recovered, which a drive
/// that is back at its speed passes by chance.
fn near_text(xsr: &Xsr, results: &Results<'_>) -> String {
    let time = |recovery| match recovery {
        Recovery::After(minutes) => format!("after {}", recovery_time(xsr, minutes).2),
        Recovery::NotYet => "not yet".to_owned(),
        Recovery::NotMeasured => "not measured".to_owned(),
    };
    format!(
        "{NEARLY} % of the first segment's average: {}. Within the range of the first segment's \
         own steps: {}.",
        time(results.nearly),
        time(results.within_range)
    )
}

/// A time of recovery with the resolution that it has: that of a step.
fn recovery_time(xsr: &Xsr, minutes: f64) -> (f64, &'static str, String) {
    let step = xsr.ground.minute;
    let (value, unit) = if step.0.is_multiple_of(60_000_000_000) {
        (minutes, "min")
    } else {
        (minutes * 60.0, "s")
    };
    (value, unit, format!("{} {unit} (in steps of {step})", number(value, 0)))
}

/// Decimals of a minute that steps tell apart.
fn minute_decimals(xsr: &Xsr) -> u8 {
    if xsr.ground.minute.0.is_multiple_of(60_000_000_000) { 0 } else { 2 }
}

fn recovery_text(xsr: &Xsr, results: &Results<'_>) -> String {
    let level = format!("{} % of the first segment's average throughput", xsr.recovery_level);
    match results.recovery {
        Recovery::NotMeasured => "Recovery is not measured yet.".into(),
        Recovery::NotYet => format!("Not recovered yet: the last segment never reached {level}."),
        Recovery::After(minutes) => {
            format!("Recovered after {}: {level} reached.", recovery_time(xsr, minutes).2)
        }
    }
}

fn header(xsr: &Xsr, record: &Record) -> FormHeader {
    let choices = xsr.choices(record);
    let mut set_up = disclosure::common_set_up_rows(&choices);
    set_up.extend(disclosure::preconditioning_rows(&choices));
    set_up.extend([
        Setting::new("wdpc", "Pre Condition 2", "", Origin::Profile),
        Setting::new("wdpc-demand", "TOIO - TC/QD", "", Origin::Profile),
        Setting::outcome("SS Rounds", ""),
        disclosure::note_row(&choices),
    ]);
    let mut test_parameters = disclosure::common_test_rows(&choices);
    for (number, segment) in (1..).zip(&xsr.segments) {
        let (id, label) = (format!("stimulus-{number}"), format!("Test Stimulus {number}"));
        let workload = segment.workload.to_string();
        test_parameters.push(Setting::new(&id, &label, workload, Origin::Profile));
        let how = format!("{}, {}", form_demand(segment.demand), segment.time);
        let id = format!("demand-and-time-{number}");
        let origin = segment_origin(&choices, number);
        test_parameters.push(Setting::new(&id, "TC/QD, Duration", how, origin));
    }
    test_parameters.push(choices.step_row("Step"));
    test_parameters.push(Setting::outcome("Steady State", "none: by time"));
    let form = Form {
        test: "XSR Test".into(),
        subtitle: "XSR - Cross Stimulus Recovery".into(),
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

/// Who decides demand and time of a segment.
fn segment_origin(choices: &Choices<'_>, number: usize) -> Origin {
    let time = [FIRST_TIME, MIDDLE_TIME, LAST_TIME].get(number - 1).copied();
    let time = time.map_or(Origin::Profile, |time| time.origin(choices.settings));
    // Only the middle segment's demand can be chosen.
    match (number, choices.demand_origin()) {
        (2, Origin::Chosen) => Origin::Chosen,
        _ => time,
    }
}

/// End-of-segment throughput, peaks and recovery.
fn figures(xsr: &Xsr, results: &Results<'_>) -> Vec<KeyFigure> {
    let rate = |(number, segment): (usize, &SegmentResult<'_>)| {
        let id = format!("segment-{}-rate", number + 1);
        let label = format!("Segment {}, {}", number + 1, name(segment));
        KeyFigure::new(&id, label, segment.average(), "MB/s")
    };
    let mut figures: Vec<KeyFigure> = results.segments.iter().enumerate().map(rate).collect();
    let step = xsr.ground.minute;
    for (id, label, recovery) in [
        ("recovery", format!("Bandwidth recovery, in steps of {step}"), results.recovery),
        ("recovery-nearly", format!("To {NEARLY} % of segment 1"), results.nearly),
        ("recovery-range", "To the range of segment 1's steps".to_owned(), results.within_range),
    ] {
        let (value, unit) = match recovery {
            Recovery::After(minutes) => {
                let (value, unit, _) = recovery_time(xsr, minutes);
                (Some(value), unit)
            }
            Recovery::NotYet | Recovery::NotMeasured => (None, "min"),
        };
        figures.push(KeyFigure::new(id, label, value, unit).whole());
    }
    figures
}

/// Every segment in long form.
fn metrics(results: &Results<'_>) -> Vec<Metric> {
    let of_segment = |(index, segment): (usize, &SegmentResult<'_>)| {
        let steps: Vec<&Measurement> =
            segment.steps.iter().map(|(_, outcome)| &outcome.measurement).collect();
        let point = format!("{} {}", index + 1, name(segment));
        let pattern = segment.segment.workload.pattern();
        Measured { point: &point, pattern, steps: &steps, rounds: false }.metrics()
    };
    results.segments.iter().enumerate().flat_map(of_segment).collect()
}

fn segments_table(xsr: &Xsr, results: &Results<'_>, id: &str) -> Table {
    let decimals = minute_decimals(xsr);
    let recovered = |index: usize, recovery: Recovery| match (index, recovery) {
        (2, Recovery::After(minutes)) => TableCell::number(Some(minutes), decimals),
        (2, Recovery::NotYet) => TableCell::text("not yet"),
        (2, Recovery::NotMeasured) => TableCell::Missing,
        _ => TableCell::text(""),
    };
    let rows = results.segments.iter().enumerate().map(|(index, segment)| {
        Row::new(
            format!("{} {}", index + 1, name(segment)),
            [
                TableCell::number(segment.average(), 1),
                TableCell::number(segment.end(), 1),
                TableCell::number(segment.peak_art(), 3),
                TableCell::number(segment.peak_mrt(), 3),
                recovered(index, results.recovery),
                recovered(index, results.nearly),
                recovered(index, results.within_range),
            ],
        )
    });
    let columns = [
        "Average MB/s",
        "End of segment MB/s",
        "Peak ART ms",
        "Peak MRT ms",
        "Bandwidth recovery min",
        "To 95 % min",
        "To segment 1's range min",
    ];
    Table::new(id, "Segments: throughput, peaks and recovery", "Segment")
        .columns(columns)
        .rows(rows)
}

fn name(segment: &SegmentResult<'_>) -> String {
    format!("{} {}", segment.segment.workload, segment.segment.demand)
}

fn form_pages(xsr: &Xsr, results: &Results<'_>) -> Vec<Page> {
    let plot_page = |plot: Plot| page(&plot.title.clone(), vec![Exhibit::Plot(plot)]);
    let all = throughput_plot(xsr, results, None, ("tp-all", "XSR TP v Time - All Access Groups"));
    match xsr.ground.settings.profile {
        Profile::Pts11 => vec![
            plot_page(all),
            plot_page(switch_plot(xsr, results, 1)),
            plot_page(switch_plot(xsr, results, 2)),
            plot_page(response_plot(xsr, results, "MRT", "mrt-time", |m| m.mrt)),
            plot_page(response_plot(xsr, results, "ART", "art-time", |m| m.art)),
        ],
        _ => vec![
            plot_page(all),
            plot_page(combined_plot(xsr, results)),
            page(
                "XSR End of Segment TP, Peak ART, Peak MRT, Recovery",
                vec![
                    Exhibit::Table(segments_table(xsr, results, "segments")),
                    Exhibit::Text(recovery_text(xsr, results)),
                    Exhibit::Text(near_text(xsr, results)),
                ],
            ),
        ],
    }
}

/// Something of a minute.
type Value = fn(&Minute) -> Option<f64>;

/// One series per segment, inside a window of time.
fn curves(
    xsr: &Xsr,
    results: &Results<'_>,
    window: Option<(f64, f64)>,
    value: Value,
) -> Vec<Series> {
    let (_, minute) = time_axis("Time", xsr.ground.minute);
    results
        .segments
        .iter()
        .enumerate()
        .filter_map(|(index, segment)| {
            let points: Vec<(f64, Option<f64>)> = segment
                .minutes
                .iter()
                .filter(|m| window.is_none_or(|(from, to)| (from..=to).contains(&m.time)))
                .map(|m| (m.time * minute, value(m)))
                .collect();
            let title = format!("{} {}", index + 1, name(segment));
            // Sequential segments alike, the random one apart.
            let stroke = if index == 1 { Stroke::Fit } else { Stroke::Average };
            (!points.is_empty()).then(|| Series::new(title, stroke, points))
        })
        .collect()
}

/// Where one segment ends and the next begins.
fn switches(xsr: &Xsr, results: &Results<'_>) -> Vec<Marker> {
    let (_, minute) = time_axis("Time", xsr.ground.minute);
    (1..results.segments.len())
        .filter(|index| !results.segments[*index].minutes.is_empty())
        .map(|index| Marker {
            x: results.begins(index) * minute,
            label: format!("segment {}", index + 1),
        })
        .collect()
}

fn throughput_plot(
    xsr: &Xsr,
    results: &Results<'_>,
    window: Option<(f64, f64)>,
    (id, title): (&str, &str),
) -> Plot {
    let (time, minute) = time_axis("Time", xsr.ground.minute);
    let mut plot = Plot::new(
        PlotKind::Lines,
        id,
        title,
        Axis { scale: if window.is_some() { Scale::LinearFitted } else { Scale::Linear }, ..time },
        Axis::new("Throughput (MB/s)", Scale::Linear),
    )
    .caption("MB/s, minute by minute since the purge.");
    plot.series = curves(xsr, results, window, |m| m.mb_per_second);
    plot.markers = switches(xsr, results);
    if let Some((from, to)) = window {
        plot.markers.retain(|marker| (from * minute..=to * minute).contains(&marker.x));
    }
    plot
}

/// Throughput either side of the switch from segment `index` to the next.
fn switch_plot(xsr: &Xsr, results: &Results<'_>, index: usize) -> Plot {
    let switch = results.begins(index);
    let before = switch - results.begins(index - 1);
    let end = results.segments[index].minutes.last().map_or(switch, |m| m.time);
    let side = AROUND_SWITCH.min(before.min(end - switch) / PART_OF_SEGMENT);
    let title = format!("XSR TP v Time - Groups {index} & {}", index + 1);
    let id = format!("tp-switch-{index}");
    throughput_plot(xsr, results, Some((switch - side, switch + side)), (&id, &title))
}

/// Of the last segment so many times the recovery is drawn ...
const RECOVERY_SHOWN: f64 = 3.0;
/// ... and at least so many minutes.
const RECOVERY_LEAST: f64 = 10.0;

/// The last segment from its beginning until it has recovered and some time beyond: every
/// second, the steps, what they are held against, and how far the first segment's steps went.
fn recovery_plot(xsr: &Xsr, results: &Results<'_>) -> Option<Plot> {
    let (first, last) = (results.segments.first()?, results.segments.last()?);
    let begin = results.begins(results.segments.len() - 1);
    let whole = last.minutes.last()?.time - begin;
    let recovered = match results.recovery {
        Recovery::After(minutes) => Some(minutes),
        Recovery::NotYet | Recovery::NotMeasured => None,
    };
    let reach = recovered.map_or(whole, |minutes| (minutes * RECOVERY_SHOWN).max(RECOVERY_LEAST));
    let end = reach.min(whole);
    let (time, unit) = time_axis("Time since the switch", xsr.ground.minute);
    let seconds = seconds::curve(&seconds::seconds(&last.steps), unit, |s| s.mb_per_second);
    let seconds = seconds.into_iter().filter(|(x, _)| *x <= end * unit).collect();
    // A step's mean stands at its middle, as the seconds around it do.
    let mut before = begin;
    let mut steps = Vec::new();
    for minute in last.minutes.iter().filter(|m| m.time - begin <= end * 1.000_001) {
        let middle = (f64::midpoint(before, minute.time) - begin) * unit;
        steps.push((middle, minute.mb_per_second));
        before = minute.time;
    }
    let rates = || first.minutes.iter().filter_map(|minute| minute.mb_per_second);
    let (low, high) = (rates().min_by(f64::total_cmp), rates().max_by(f64::total_cmp));
    let band = Series::band("first segment's steps", &[(0.0, low, high), (end * unit, low, high)]);
    let level = first.average().map(|rate| rate * f64::from(xsr.recovery_level) / 100.0);
    let name = format!("{} % of its average", xsr.recovery_level);
    let threshold = vec![(0.0, level), (end * unit, level)];
    let mark = recovered.map(|minutes| Marker {
        x: minutes * unit,
        label: {
            let (value, unit, _) = recovery_time(xsr, minutes);
            format!("recovered: {} {unit}", number(value, 0))
        },
    });
    let y = Axis::new("Throughput (MB/s)", Scale::Linear);
    let plot = Plot::new(PlotKind::Lines, "recovery", "XSR Recovery after the switch", time, y)
        .caption(
            "Throughput of the last segment: every second, and the mean of every step at the \
             step's middle. Band: from the lowest to the highest step of the first segment. \
             Dashed: what counts as recovered.",
        )
        .with(band)
        .with(Series::new("every second", Stroke::Context, seconds))
        .with(Series::new(name, Stroke::Limit, threshold))
        .with(Series::new("step", Stroke::Measured, steps))
        .markers(mark);
    Some(plot)
}

fn response_plot(xsr: &Xsr, results: &Results<'_>, what: &str, id: &str, value: Value) -> Plot {
    let (time, _) = time_axis("Time", xsr.ground.minute);
    let mut plot = Plot::new(
        PlotKind::Lines,
        id,
        format!("XSR {what} v Time"),
        time,
        Axis::new(format!("{what} (ms)"), Scale::Log10),
    )
    .caption("Minute by minute since the purge.");
    plot.series = curves(xsr, results, None, value);
    plot.markers = switches(xsr, results);
    plot
}

fn combined_plot(xsr: &Xsr, results: &Results<'_>) -> Plot {
    let (time, minute) = time_axis("Time", xsr.ground.minute);
    let curve = |value: Value| -> Vec<(f64, Option<f64>)> {
        results.all().map(|m| (m.time * minute, value(m))).collect()
    };
    let mut plot = Plot::new(
        PlotKind::Lines,
        "tp-art-mrt",
        "XSR Throughput, ART & MRT v Time",
        time,
        Axis::new("Throughput (MB/s)", Scale::Linear),
    )
    .caption(
        "Throughput against the left axis; average and maximum response time of every minute \
         against the right one.",
    )
    .with(Series::new("Throughput", Stroke::Average, curve(|m| m.mb_per_second)))
    .with(Series::new("ART", Stroke::Fit, curve(|m| m.art)).on_right())
    .with(Series::new("MRT", Stroke::Context, curve(|m| m.mrt)).on_right());
    plot.y_right = Some(Axis::new("Response time (ms)", Scale::Log10));
    plot.markers = switches(xsr, results);
    plot
}

fn chapters(xsr: &Xsr, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = xsr.choices(record);
    let mut chapters = common_chapters(&choices, record);
    let mut segments = vec![
        Exhibit::Listing(listing(xsr)),
        Exhibit::Table(segments_table(xsr, results, "segments-chapter")),
        Exhibit::Text(recovery_text(xsr, results)),
        Exhibit::Text(near_text(xsr, results)),
    ];
    segments.extend(recovery_plot(xsr, results).map(Exhibit::Plot));
    let is_11 = xsr.ground.settings.profile == Profile::Pts11;
    if !is_11 {
        segments.push(Exhibit::Plot(switch_plot(xsr, results, 1)));
        segments.push(Exhibit::Plot(switch_plot(xsr, results, 2)));
    }
    chapters.push(page("Segments", segments));
    chapters.push(response_chapter(xsr, results, is_11));
    chapters.push(secondary_chapter(record, results));
    chapters
}

fn listing(xsr: &Xsr) -> String {
    let segments: Vec<String> = xsr
        .segments
        .iter()
        .map(|s| format!("  {} at {} for {}", s.workload, s.demand, s.time))
        .collect();
    format!(
        "Purge\nWithout a pause, accounted in steps of {}:\n{}\nRecovery: the first step of the \
         last segment with {} % of the first segment's average throughput",
        xsr.ground.minute,
        segments.join("\n"),
        xsr.recovery_level
    )
}

fn tallies(results: &Results<'_>) -> Vec<(String, Tally)> {
    results
        .segments
        .iter()
        .enumerate()
        .map(|(index, segment)| {
            let mut tally = Tally::default();
            segment.steps.iter().for_each(|(_, o)| tally.merge(&o.measurement.total()));
            (format!("{} {}", index + 1, name(segment)), tally)
        })
        .collect()
}

fn response_chapter(xsr: &Xsr, results: &Results<'_>, form_has_plots: bool) -> Page {
    let tallies = tallies(results);
    let columns: Vec<(&str, &Tally)> =
        tallies.iter().map(|(name, tally)| (name.as_str(), tally)).collect();
    let table =
        percentile_table("segment-percentiles", "Response times of the segments, ms", &columns);
    let tails = tail_plot("segment-tails", "Response times of the segments", &columns);
    let mut exhibits = vec![Exhibit::Table(table), Exhibit::Plot(tails)];
    if !form_has_plots {
        exhibits.push(Exhibit::Plot(response_plot(xsr, results, "ART", "art-time", |m| m.art)));
        exhibits.push(Exhibit::Plot(response_plot(xsr, results, "MRT", "mrt-time", |m| m.mrt)));
    }
    page("Response Times", exhibits)
}

fn secondary_chapter(record: &Record, results: &Results<'_>) -> Page {
    let tallies = tallies(results);
    let points: Vec<SecondaryPoint<'_>> = results
        .segments
        .iter()
        .zip(&tallies)
        .map(|(segment, (name, tally))| {
            let time: f64 =
                segment.steps.iter().map(|(_, o)| o.measurement.elapsed.as_secs_f64()).sum();
            SecondaryPoint {
                name: name.clone(),
                iops: (time > 0.0).then(|| tally.ios as f64 / time),
                art: tally.response_mean_ms(),
                tally,
                sensed: segment.secondary(),
            }
        })
        .collect();
    let table =
        secondary::points_table("secondary-segments", "Secondary metrics of the segments", &points);
    secondary::chapter(vec![Exhibit::Table(table)], record)
}

/// One line per minute, for spreadsheets.
fn minutes_table(results: &Results<'_>) -> Table {
    let rows = results
        .segments
        .iter()
        .enumerate()
        .flat_map(|(index, segment)| segment.minutes.iter().map(move |m| (index, m)))
        .map(|(index, m)| {
            Row::new(
                (index + 1).to_string(),
                [
                    TableCell::number(Some(m.time), 4),
                    TableCell::number(m.mb_per_second, 3),
                    TableCell::number(m.art, 6),
                    TableCell::number(m.mrt, 6),
                ],
            )
        });
    Table::new("minutes", "Every minute of the segments", "Segment")
        .columns(["Time min", "MB/s", "ART ms", "MRT ms"])
        .rows(rows)
}
