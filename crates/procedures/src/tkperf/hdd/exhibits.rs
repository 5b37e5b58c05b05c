//! The exhibits of the tests of zones: curves over the zones, and what the zones have in
//! common.

use super::results::{Point, Results, Spread};
use super::setup::{Kind, Zones};
use crate::exhibits::disclosure::{self, Form};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::pages::page;
use crate::exhibits::secondary;
use crate::exhibits::steps::every_step;
use crate::exhibits::tkperf::{ZoneCurve, zones};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, FormHeader, KeyFigure, Origin, Page, Plot, PlotKind, Row, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Findings, Record};

/// Everything that is reported of a run.
pub fn findings(test: &Zones, record: &Record, results: &Results) -> Findings {
    let choices = test.choices();
    let mut chapters = vec![loop_chapter(test)];
    chapters.extend(common_chapters(&choices, record));
    Findings {
        ending: ending(test, record, results),
        caveats: caveats(test, record),
        summary: vec![Exhibit::Table(spread_table(test, results))],
        form_pages: form_pages(test, results),
        chapters,
        long_tables: vec![zones_table(test, results), every_step(&choices, record)],
        ..frame(title(test.kind), &choices, record, header(test, record))
            .fronted(figures(test.kind, results), [] as [&str; 0])
    }
}

/// The mean over all zones of what data sheets state.
fn figures(kind: Kind, results: &Results) -> Vec<KeyFigure> {
    let wanted = match kind {
        Kind::Iops => ["RND 4K R", "RND 4K W"],
        Kind::Throughput => ["SEQ 1024K R", "SEQ 1024K W"],
    };
    let of = |point: &Point| {
        let pattern = point.pattern.to_string();
        let mean = point.spread().map(|spread| spread.mean);
        let id = format!("mean-{}", pattern.to_lowercase().replace(' ', "-"));
        KeyFigure::new(&id, format!("{pattern}, mean of the zones"), mean, unit(kind))
    };
    let points = results.points.iter();
    points.filter(|point| wanted.contains(&point.pattern.to_string().as_str())).map(of).collect()
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Iops => "HDD IOPS",
        Kind::Throughput => "HDD Throughput",
    }
}

fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Iops => "IOPS",
        Kind::Throughput => "MB/s",
    }
}

fn ending(test: &Zones, record: &Record, results: &Results) -> String {
    let all = test.zones.len();
    let whole = |zone: &usize| results.points.iter().all(|point| point.values[*zone].is_some());
    let measured = (0..all).filter(whole).count();
    if record.has_ended() {
        format!("{measured} of {all} zones measured.")
    } else {
        format!("The run is not finished: {measured} of {all} zones are complete.")
    }
}

fn caveats(test: &Zones, record: &Record) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    caveats.extend(disclosure::caveats(&test.choices(), record));
    caveats.extend(secondary::caveats(record, &|_| true));
    caveats
}

fn header(test: &Zones, record: &Record) -> FormHeader {
    let choices = test.choices();
    let fixed =
        |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Profile);
    let patterns: Vec<String> = test.kind.points().iter().map(ToString::to_string).collect();
    let mut set_up = disclosure::common_set_up_rows(&choices);
    set_up.push(disclosure::note_row(&choices));
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend([
        fixed("stimulus-1", "Test Stimulus 1", patterns.join(", ")),
        fixed("zone-count", "Zones", test.zones.len().to_string()),
        choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&choices.demands)),
        choices.step_row("Step"),
    ]);
    let form = Form { test: title(test.kind).into(), subtitle: "Zone by zone".into(), set_up, test_parameters };
    disclosure::form_header(form, &choices, record)
}

/// The loop as the procedure runs it.
fn loop_chapter(test: &Zones) -> Page {
    let size = test.zones.first().map(|zone| zone.length.binary()).unwrap_or_default();
    let (count, time, demand) = (test.zones.len(), test.ground.minute, test.demand);
    let text = match test.kind {
        Kind::Iops => format!(
            "For each of {count} zones of {size}\n  For R/W mix 100/0, 50/50, 0/100\n    For block \
             size 64K, 16K, 4K\n      Random I/O in the zone for {time}, {demand}; record IOPS"
        ),
        Kind::Throughput => format!(
            "For block size 1024K, 4K\n  For each of {count} zones of {size}\n    Sequential reads \
             in the zone for {time}, {demand}; record MB/s\n    Sequential writes in the zone for \
             {time}, {demand}; record MB/s"
        ),
    };
    page(&format!("{} - Test Loop", title(test.kind)), vec![Exhibit::Listing(text)])
}

/// One plot for each mix of the IOPS test, for each block size of the throughput test.
fn form_pages(test: &Zones, results: &Results) -> Vec<Page> {
    let (name, id) = (title(test.kind), table_id(test.kind));
    let curve = |point: &Point| ZoneCurve {
        pattern: point.pattern,
        values: (1..).zip(point.values.iter().copied()).collect(),
    };
    let curves: Vec<ZoneCurve> = results.points.iter().map(curve).collect();
    let mut pages = zones((name, id), unit(test.kind), &curves);
    let table = spread_table(test, results).named(&format!("{id}-zones"));
    let exhibits = vec![Exhibit::Plot(spread_plot(test, results)), Exhibit::Table(table)];
    pages.push(page(&format!("{name} - Summary Table"), exhibits));
    pages
}

/// TKperf's box plot: what the zones have in common, point by point.
fn spread_plot(test: &Zones, results: &Results) -> Plot {
    type Of = fn(&Spread) -> f64;
    let parts: [(&str, Of); 5] = [
        ("Minimum", |spread| spread.least),
        ("Lower quartile", |spread| spread.lower),
        ("Median", |spread| spread.median),
        ("Upper quartile", |spread| spread.upper),
        ("Maximum", |spread| spread.most),
    ];
    let series = parts.map(|(name, of)| {
        let value = |point: &Point| point.spread().map(|spread| of(&spread));
        let points = results.points.iter().enumerate();
        let points = points.map(|(at, point)| (at as f64, value(point))).collect();
        Series::new(name, Stroke::Measured, points)
    });
    let patterns: Vec<String> =
        results.points.iter().map(|point| point.pattern.to_string()).collect();
    Plot::new(
        PlotKind::Bars,
        &format!("{}-spread", table_id(test.kind)),
        format!("{} over the zones: minimum, quartiles, maximum", unit(test.kind)),
        Axis::new("Point", Scale::Categories(patterns)),
        Axis::new(unit(test.kind), Scale::Linear),
    )
    .series(series)
}

fn table_id(kind: Kind) -> &'static str {
    match kind {
        Kind::Iops => "hdd-iops",
        Kind::Throughput => "hdd-throughput",
    }
}

/// What the zones have in common, as numbers.
fn spread_table(test: &Zones, results: &Results) -> Table {
    let rows = results.points.iter().map(|point| {
        let spread = point.spread();
        let cell = |value: Option<f64>| Cell::number(value, 1);
        let mut cells: Vec<Cell> = vec![
            cell(spread.map(|s| s.mean)),
            cell(spread.map(|s| s.least)),
            cell(spread.map(|s| s.lower)),
            cell(spread.map(|s| s.median)),
            cell(spread.map(|s| s.upper)),
            cell(spread.map(|s| s.most)),
            cell(point.values.first().copied().flatten()),
            cell(point.values.last().copied().flatten()),
        ];
        cells.push(Cell::number(point.longest, 3));
        Row::new(point.pattern.to_string(), cells)
    });
    let columns = [
        "Mean",
        "Minimum",
        "Lower quartile",
        "Median",
        "Upper quartile",
        "Maximum",
        "First zone",
        "Last zone",
        "MRT ms",
    ];
    let title = format!("{} over the zones", unit(test.kind));
    Table::new(table_id(test.kind), title, "Point").columns(columns).rows(rows)
}

/// A line for each zone.
fn zones_table(test: &Zones, results: &Results) -> Table {
    let rows = test.zones.iter().enumerate().map(|(zone, range)| {
        let mut cells = vec![Cell::count(range.start.0)];
        let values = results.points.iter().map(|point| Cell::number(point.values[zone], 3));
        cells.extend(values);
        Row::new((zone + 1).to_string(), cells)
    });
    let names = results.points.iter().map(|point| point.pattern.to_string());
    let title = format!("Every zone, {}", unit(test.kind));
    Table::new(&format!("{}-every-zone", table_id(test.kind)), title, "Zone")
        .columns(std::iter::once("First byte".to_owned()).chain(names))
        .rows(rows)
}
