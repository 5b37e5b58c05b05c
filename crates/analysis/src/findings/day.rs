//! The load by time of day.

use super::tables;
use crate::clock::hour_and_minute;
use crate::questions::day_profile::ProfileFigures;
use crate::questions::study::{PROFILE_NS, Study};
use steadfast_domain::Nanos;
use steadfast_domain::findings::{
    Axis, BandEdge, Exhibit, Page, Plot, Scale, Series, Stroke, Table, TimeUnit,
};

const HOUR_NS: f64 = 3.6e12;

/// Returns the page of a day profile, or `None` if the capture was too short or has no clock.
pub(super) fn page(study: &Study) -> Option<Page> {
    let day = study.day.as_ref().filter(|day| !day.is_empty())?;
    Some(Page::new("Time of day", vec![Exhibit::Plot(plot(day)), Exhibit::Table(table(day))]))
}

fn plot(day: &[ProfileFigures]) -> Plot {
    // The middle of an interval, in hours.
    let middle = |interval: &ProfileFigures| {
        interval.begin_ns.saturating_add(PROFILE_NS / 2) as f64 / HOUR_NS
    };
    let places = || day.iter().map(|interval| (middle(interval), interval));
    let points = |value: fn(&ProfileFigures) -> Option<f64>| {
        places().map(|(at, interval)| (at, value(interval))).collect()
    };
    let edge = |(x, interval): (f64, &ProfileFigures)| BandEdge {
        x,
        low: interval.iops_least,
        high: interval.iops_most,
    };
    let edges: Vec<BandEdge> = places().map(edge).collect();
    let response = |interval: &ProfileFigures| {
        Some(interval.sums.times.responses.total.mean_ns()? as f64 / 1e6)
    };
    let plot = Plot::lines(
        "time-of-day",
        "IOPS by time of day",
        Axis::time("Time of day", TimeUnit::Hours),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "Average over all days in intervals of {}; the band reaches from the quietest to the \
         busiest day.",
        Nanos(PROFILE_NS)
    ))
    .with(Series::band("Quietest to busiest day", &edges))
    .with(Series::new(
        "Average IOPS",
        Stroke::Measured,
        points(|interval| Some(interval.iops())),
    ));
    let has_responses = day.iter().any(|interval| interval.sums.times.responses.total.count > 0);
    if has_responses {
        plot.right(Axis::new("Response time (ms)", Scale::Linear)).with(
            Series::new("Average response time", Stroke::Measured, points(response)).on_right(),
        )
    } else {
        plot
    }
}

fn table(day: &[ProfileFigures]) -> Table {
    let rows = day.iter().map(|interval| (hour_and_minute(interval.begin_ns), interval.clone()));
    // The first column is the heading of the row, the time.
    let columns = &ProfileFigures::TABLE[1..];
    tables::table(["day-profile", "Time of day over all days", "From"], columns, rows)
}
