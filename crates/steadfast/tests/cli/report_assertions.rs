//! Assertions on reports: captions are true of their plots, the HTML page has every plot and explains
//! its abbreviations, and poppler reads the PDFs without complaint.

use super::fixtures::{skip, succeed};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Exhibit, Page, Plot, PlotKind, Series, Stroke};
use steadfast_report::ReportTime;

/// A claim of captions.
struct CaptionClaim {
    /// Words of a caption that makes the claim.
    words: &'static str,
    /// Returns true if the claim is true of the plot.
    holds: fn(&Plot) -> bool,
}

const fn claim(words: &'static str, holds: fn(&Plot) -> bool) -> CaptionClaim {
    CaptionClaim { words, holds }
}

const CLAIMS: [CaptionClaim; 9] = [
    claim("band", |plot| count(plot, Stroke::Limit) >= 2 || count(plot, Stroke::Band) == 1),
    claim("line of best fit", |plot| count(plot, Stroke::Fit) == 1),
    claim("Dashed", |plot| count(plot, Stroke::Limit) >= 1),
    claim("gray", |plot| count(plot, Stroke::Context) >= 1),
    claim("99.999 % and maximum response time", |plot| {
        ["ART", "99.999 %", "MRT"].iter().all(|name| plot.series.iter().any(|s| s.name == *name))
    }),
    claim("the right one", |plot| plot.y_right.is_some() && plot.series.iter().any(|s| s.right)),
    claim("I/Os in bins of", |plot| {
        plot.kind == PlotKind::Histogram && plot.series[0].points.len() > 1
    }),
    claim("one series per", |plot| plot.series.len() > 1),
    claim("and the rounds", |plot| {
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
pub fn assert_captions_are_true(findings: &Findings) {
    let all = plots(findings);
    assert!(!all.is_empty(), "{} draws nothing", findings.title);
    for (page, plot) in all {
        let values = plot.series.iter().flat_map(|series| &series.points);
        let has_values = values.clone().any(|(_, y)| y.is_some());
        for CaptionClaim { words, holds } in &CLAIMS {
            let is_true = !has_values || !plot.caption.contains(words) || holds(plot);
            assert!(is_true, "{page}: '{words}' in: {}", plot.caption);
        }
        for (x, y) in values {
            assert!(x.is_finite() && y.is_none_or(f64::is_finite), "{page}: {x}, {y:?}");
        }
    }
}

/// Asserts that the HTML page has every plot with values as a drawing.
pub fn assert_plots_are_on_page(findings: &Findings) {
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

/// Words in capitals that are no abbreviations: emphasis, names, placeholders of commands.
const PLAIN_WORDS: &str = "\
    ACHIEVED AMPLIFICATION AN ANOTHER ATTENTION ATTO BAD CACHED CLIENT COMMIT CUT \
    CrystalDiskMark DEVICE DIR DOZING EXACT EXIT FACTORS FAILED FAST FILL FRESH FULL GNU GREEDY \
    ID IDLE METHOD MODE NAME NEIGHBORS NO NOT POWER PROCEDURE PROFILE QUICK READ REQUIRED RUN SIM SIMULATED \
    SMALL SPONSOR SQL STATE STEADY STILL TEST THE THROTTLED THROTTLING TIME TKPERF TKperf \
    TOOL UNSTEADY VALUE VERIFY VOID WRITE";

/// Returns the first letters of a word, without a number before them.
fn letters(word: &str) -> &str {
    let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
    &word[..word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len())]
}

/// Returns true for a word with two capitals, or with one and a number: `WCD`, `KiB`, `Q32`.
fn is_abbreviation(word: &str) -> bool {
    let capitals = word.chars().filter(char::is_ascii_uppercase).count();
    let (first, second) = (word.chars().next(), word.chars().nth(1));
    let is_numbered =
        first.is_some_and(|c| c.is_ascii_uppercase()) && second.is_some_and(|c| c.is_ascii_digit());
    capitals >= 2 || is_numbered
}

/// Asserts that a page explains every abbreviation that it uses.
fn assert_abbreviations_are_explained(page: &str) {
    let main = page.split_once("<main>").unwrap().1.rsplit_once("</main>").unwrap().0;
    let (_, table) = main.split_once("id=\"abbreviations\"").expect("no abbreviations");
    let table = table.split("</section>").next().unwrap();
    let shorts = table.split("<dt>").skip(1).map(|rest| rest.split('<').next().unwrap());
    let mut explained: BTreeSet<&str> = shorts.flat_map(|s| s.split(", ")).map(letters).collect();
    if table.contains("<dt>T4Q32</dt>") {
        explained.insert("Q");
    }
    let texts = main.split('<').filter_map(|piece| {
        let (tag, text) = piece.split_once('>')?;
        (!tag.starts_with("script")).then_some(text)
    });
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    let missing: BTreeSet<&str> = words
        .filter(|word| is_abbreviation(word))
        .map(letters)
        .map(|word| word.strip_suffix('s').unwrap_or(word))
        .filter(|word| {
            !PLAIN_WORDS.split(' ').any(|plain| plain == *word) && !explained.contains(word)
        })
        .collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
}

/// Asserts that the HTML report of a run explains its abbreviations, and that poppler reads its PDFs.
pub fn assert_reports_are_readable(here: &Path, run: &str) {
    assert_abbreviations_are_explained(
        &std::fs::read_to_string(here.join(run).join("report.html")).unwrap(),
    );
    succeed(here, &["report", run, "--format", "pdf,form"]);
    for name in ["report.pdf", "form.pdf"] {
        let mut command = Command::new("pdftoppm");
        let output = command.args(["-r", "10"]).arg(here.join(run).join(name)).output();
        let Ok(output) = output else { return skip("pdftoppm is missing") };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{name}: {errors}");
    }
}
