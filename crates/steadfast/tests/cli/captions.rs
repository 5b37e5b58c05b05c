//! Captions are true: for every plot of a run's findings, page by page, and every plot on the HTML
//! page.

use steadfast_domain::Findings;
use steadfast_domain::findings::{Exhibit, Page, Plot, PlotKind, Series, Stroke};
use steadfast_report::ReportTime;

/// Whether a plot has what a caption says.
type CaptionCheck = fn(&Plot) -> bool;

/// Words of a caption, and what a plot with them has.
const CLAIMS: [(&str, CaptionCheck); 9] = [
    ("band", |plot| count(plot, Stroke::Limit) >= 2 || count(plot, Stroke::Band) == 1),
    ("line of best fit", |plot| count(plot, Stroke::Fit) == 1),
    ("Dashed", |plot| count(plot, Stroke::Limit) >= 1),
    ("gray", |plot| count(plot, Stroke::Context) >= 1),
    ("99.999 % and maximum response time", |plot| {
        ["ART", "99.999 %", "MRT"].iter().all(|name| plot.series.iter().any(|s| s.name == *name))
    }),
    ("the right one", |plot| plot.y_right.is_some() && plot.series.iter().any(|s| s.right)),
    ("I/Os in bins of", |plot| plot.kind == PlotKind::Histogram && plot.series[0].points.len() > 1),
    ("one series per", |plot| plot.series.len() > 1),
    ("and the rounds", |plot| {
        let named = |name: &str| plot.series.iter().find(|series| series.name == name);
        let (all, measured) = (named("every step").unwrap(), named("round").unwrap());
        measured.points.iter().all(|point| all.points.contains(point))
    }),
];

fn count(plot: &Plot, stroke: Stroke) -> usize {
    let drawn = |series: &&Series| series.points.iter().any(|(_, y)| y.is_some());
    plot.series.iter().filter(|series| series.stroke == stroke).filter(drawn).count()
}

fn plots<'f>(findings: &'f Findings) -> Vec<(&'f str, &'f Plot)> {
    let of_page = |page: &'f Page| {
        let plots = page.exhibits.iter().filter_map(Exhibit::as_plot);
        plots.map(|plot| (page.title.as_str(), plot))
    };
    findings.pages().flat_map(of_page).collect()
}

/// Asserts that every plot with values has what its caption says.
pub fn are_true(findings: &Findings) {
    let all = plots(findings);
    assert!(!all.is_empty(), "{} draws nothing", findings.title);
    for (page, plot) in all {
        let values = plot.series.iter().flat_map(|series| &series.points);
        let has_values = values.clone().any(|(_, y)| y.is_some());
        for (words, holds) in CLAIMS.iter().filter(|(words, _)| plot.caption.contains(words)) {
            assert!(!has_values || holds(plot), "{page}: '{words}' in: {}", plot.caption);
        }
        for (x, y) in values {
            assert!(x.is_finite() && y.is_none_or(f64::is_finite), "{page}: {x}, {y:?}");
        }
    }
}

/// Asserts that the HTML page has every plot with values as a drawing.
pub fn are_on_the_page(findings: &Findings) {
    let html = steadfast_report::html(findings, &ReportTime { report_unix_ms: 0 });
    let all = plots(findings);
    let drawn = all.iter().filter(|(_, plot)| {
        plot.series.iter().flat_map(|series| &series.points).any(|(_, y)| y.is_some())
    });
    let mut names: Vec<&str> = drawn.map(|(_, plot)| plot.id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let found = html.matches("<figure class=\"chart\">").count();
    assert!(found >= names.len(), "{}: {found} drawings of {names:?}", findings.title);
}
