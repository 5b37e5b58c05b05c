//! Exhibits of the tests of zones: curves over the zones, and statistics over them.

use super::results::{HddResults, ZoneSpread, spread};
use super::setup::{ZoneTest, ZoneTestKind};
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::tkperf::{TkperfPoint, zone_pages};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::slug;
use steadfast_domain::Record;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Page, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};

type HddRun<'a> = StudiedRun<'a, ZoneTest>;

impl ProcedureReport for ZoneTest {
    type Results<'a> = HddResults;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(spread_table),
        ReportEntry::FormPages(form_pages),
        ReportEntry::Chapters(loop_chapter),
        ReportEntry::Setup,
        ReportEntry::Csv(zones_table),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), HddResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        title(self.kind).into()
    }

    fn form(run: &HddRun<'_>) -> ReportForm {
        let patterns: Vec<String> =
            run.test.kind.points().iter().map(ToString::to_string).collect();
        let demand = disclosure::form_demands(&run.choices.demands);
        ReportForm::new(title(run.test.kind), "Zone by zone", &run.choices)
            .set_up([disclosure::note_row(&run.choices)])
            .test_parameters([
                disclosure::profile_row("stimulus-1", "Test Stimulus 1", patterns.join(", ")),
                disclosure::profile_row("zone-count", "Zones", run.test.zones.len().to_string()),
                run.choices.demand_row("TOIO - TC/QD", demand),
                run.choices.step_row("Step"),
            ])
    }

    fn ending(run: &HddRun<'_>) -> String {
        let all = run.test.zones.len();
        let points = &run.results.points;
        let whole = |zone: &usize| points.iter().all(|point| point.values[*zone].value.is_some());
        let measured = (0..all).filter(whole).count();
        if run.record.has_ended() {
            format!("{measured} of {all} zones measured.")
        } else {
            format!("The run is not finished: {measured} of {all} zones are complete.")
        }
    }

    /// Returns the means over all zones that data sheets state.
    fn figures(run: &HddRun<'_>) -> Vec<KeyFigure> {
        let kind = run.test.kind;
        let wanted = match kind {
            ZoneTestKind::Iops => ["RND 4K R", "RND 4K W"],
            ZoneTestKind::Throughput => ["SEQ 1024K R", "SEQ 1024K W"],
        };
        let mut figures = Vec::new();
        for point in &run.results.points {
            let pattern = point.pattern.to_string();
            if wanted.contains(&pattern.as_str()) {
                let id = format!("mean-{}", pattern.to_lowercase().replace(' ', "-"));
                let label = format!("{pattern}, mean of the zones");
                figures.push(KeyFigure::new(&id, label, point.mean, unit(kind)));
            }
        }
        figures
    }
}

fn title(kind: ZoneTestKind) -> &'static str {
    match kind {
        ZoneTestKind::Iops => "HDD IOPS",
        ZoneTestKind::Throughput => "HDD Throughput",
    }
}

fn unit(kind: ZoneTestKind) -> &'static str {
    match kind {
        ZoneTestKind::Iops => "IOPS",
        ZoneTestKind::Throughput => "MB/s",
    }
}

fn loop_chapter(run: &HddRun<'_>) -> Vec<Page> {
    let size = run.test.zones.first().map(|zone| zone.length.binary()).unwrap_or_default();
    let (count, time, demand) = (run.test.zones.len(), run.test.setup.step_time, run.test.demand);
    let text = match run.test.kind {
        ZoneTestKind::Iops => format!(
            "For each of {count} zones of {size}\n  For R/W mix 100/0, 50/50, 0/100\n    For block \
             size 64K, 16K, 4K\n      Random I/O in the zone for {time}, {demand}; record IOPS"
        ),
        ZoneTestKind::Throughput => format!(
            "For block size 1024K, 4K\n  For each of {count} zones of {size}\n    Sequential reads \
             in the zone for {time}, {demand}; record MB/s\n    Sequential writes in the zone for \
             {time}, {demand}; record MB/s"
        ),
    };
    vec![page(&format!("{} - Test Loop", title(run.test.kind)), vec![Exhibit::Listing(text)])]
}

/// Returns one plot per mix (IOPS test) or block size (throughput test).
fn form_pages(run: &HddRun<'_>) -> Vec<Page> {
    let name = title(run.test.kind);
    let mut pages = zone_pages(name, unit(run.test.kind), &run.results.points);
    let table = spread_table(run).with_id(&format!("{}-zones", slug(name)));
    let exhibits = vec![Exhibit::Plot(spread_plot(run)), Exhibit::Table(table)];
    pages.push(page(&format!("{name} - Summary Table"), exhibits));
    pages
}

/// Returns TKperf's box plot: statistics over the zones by point.
fn spread_plot(run: &HddRun<'_>) -> Plot {
    type SpreadValue = fn(&ZoneSpread) -> f64;
    let parts: [(&str, SpreadValue); 5] = [
        ("Minimum", |spread| spread.least),
        ("Lower quartile", |spread| spread.lower),
        ("Median", |spread| spread.median),
        ("Upper quartile", |spread| spread.upper),
        ("Maximum", |spread| spread.most),
    ];
    let series = parts.map(|(name, value)| {
        let spreads = run.results.points.iter().map(|point| spread(&point.values));
        let points =
            spreads.enumerate().map(|(at, spread)| (at as f64, spread.as_ref().map(value)));
        Series::new(name, Stroke::Measured, points.collect())
    });
    let patterns: Vec<String> =
        run.results.points.iter().map(|point| point.pattern.to_string()).collect();
    Plot::new(
        PlotKind::Bars,
        &format!("{}-spread", slug(title(run.test.kind))),
        format!("{} over the zones: minimum, quartiles, maximum", unit(run.test.kind)),
        Axis::new("Point", Scale::Categories(patterns)),
        Axis::new(unit(run.test.kind), Scale::Linear),
    )
    .series(series)
}

const SPREAD: [TypedColumn<TkperfPoint>; 10] = [
    TypedColumn::number("Mean", 1, |point| point.mean),
    TypedColumn::number("Minimum", 1, |point| Some(spread(&point.values)?.least)),
    TypedColumn::number("Lower quartile", 1, |point| Some(spread(&point.values)?.lower)),
    TypedColumn::number("Median", 1, |point| Some(spread(&point.values)?.median)),
    TypedColumn::number("Upper quartile", 1, |point| Some(spread(&point.values)?.upper)),
    TypedColumn::number("Maximum", 1, |point| Some(spread(&point.values)?.most)),
    TypedColumn::number("First zone", 1, |point| point.values.first()?.value),
    TypedColumn::number("Last zone", 1, |point| point.values.last()?.value),
    TypedColumn::number("Min ms", 3, |point| point.shortest),
    TypedColumn::number("MRT ms", 3, |point| point.longest),
];

fn spread_table(run: &HddRun<'_>) -> Table {
    let id = slug(title(run.test.kind));
    let title = format!("{} over the zones", unit(run.test.kind));
    let points = run.results.points.iter();
    typed_table(&id, title, "Point", &SPREAD)
        .rows(points.map(|point| typed_row(point.pattern.to_string(), &SPREAD, point)))
}

fn zones_table(run: &HddRun<'_>) -> Table {
    let rows = run.test.zones.iter().enumerate().map(|(zone, range)| {
        let mut cells = vec![Cell::count(range.start.0)];
        let values =
            run.results.points.iter().map(|point| Cell::number(point.values[zone].value, 3));
        cells.extend(values);
        Row::new((zone + 1).to_string(), cells)
    });
    let names = run.results.points.iter().map(|point| point.pattern.to_string());
    let id = format!("{}-every-zone", slug(title(run.test.kind)));
    Table::new(&id, format!("Every zone, {}", unit(run.test.kind)), "Zone")
        .columns(std::iter::once("First byte".to_owned()).chain(names))
        .rows(rows)
}
