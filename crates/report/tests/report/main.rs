//! A full IOPS report of published numbers: the table of the SNIA tutorial (drive A, "R84-9014")
//! and the steady-state window of a TKperf report.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod accessible;
mod browser;
mod comparison;
mod labels;
mod limits;
mod pictures;
mod plots;
mod renamed;
mod trend;

use std::path::Path;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, Facts, FormBlock, FormHeader, FrontPage, KeyFigure, Origin, Page, Plot,
    PlotKind, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Findings};
use steadfast_report::{ReportTime, csv, html, pdf, pdf_form, svg, tables, text};

const PRINTED: ReportTime = ReportTime { report_unix_ms: 1_478_517_420_000 };

const MIXES: [&str; 7] = ["0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0"];
const SIZES: [f64; 8] = [0.5, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1024.0];
const IOPS: [[f64; 7]; 8] = [
    [47139.1, 48885.0, 70740.4, 89676.2, 118331.1, 338953.4, 499097.2],
    [61969.4, 65324.4, 90078.8, 108316.3, 104022.5, 310634.6, 407395.3],
    [31086.5, 32730.9, 44174.2, 43065.4, 67758.7, 171091.2, 207067.5],
    [15612.4, 16417.3, 22832.9, 24658.0, 37991.9, 89209.8, 104000.5],
    [7813.4, 8237.5, 11537.4, 14568.4, 18790.9, 46002.2, 52149.4],
    [3904.7, 4126.0, 5739.5, 7519.0, 9071.1, 22856.6, 26054.5],
    [1964.8, 2065.9, 2843.5, 3725.5, 4465.9, 10992.1, 12948.0],
    [248.6, 262.2, 360.8, 469.6, 636.5, 1659.1, 1571.6],
];

fn names() -> Vec<String> {
    SIZES.iter().map(|size| size.to_string()).collect()
}

fn table() -> Table {
    let rows = names().into_iter().zip(IOPS).map(|(head, values)| {
        let strong = head == "4";
        Row::new(head, values.iter().map(|v| Cell::number(Some(*v), 1))).strong(strong)
    });
    Table::new("iops", "IOPS - ALL RW Mix & BS - Tabular Data", "Block Size (KiB)")
        .spanner("Read / Write Mix %")
        .columns(MIXES)
        .rows(rows)
}

fn matrix(kind: PlotKind) -> Plot {
    let series = MIXES.iter().enumerate().map(|(mix, name)| {
        let points = (0..SIZES.len()).map(|size| {
            (if kind == PlotKind::Lines { SIZES[size] } else { size as f64 }, Some(IOPS[size][mix]))
        });
        Series::new(*name, Stroke::Measured, points.collect())
    });
    let (x, y) = match kind {
        PlotKind::Columns3d => (Scale::Categories(names()), Scale::Linear),
        _ => (Scale::Log2, Scale::Log10),
    };
    let (x, y) = (Axis::new("Block size (KiB)", x), Axis::new("IOPS", y));
    Plot::new(kind, "matrix", "IOPS - All RW Mix & BS", x, y)
        .caption("Mean IOPS in the measurement window.")
        .series(series)
}

fn convergence() -> Plot {
    let series = SIZES.iter().zip(IOPS).map(|(size, values)| {
        let points = (1..=7).map(|round| {
            let value = values[0] * (1.0 + 0.6 / f64::from(round * round));
            (f64::from(round), (round != 4).then_some(value))
        });
        Series::new(format!("RND {size}K W"), Stroke::Measured, points.collect())
    });
    let (x, y) = (Axis::new("Round", Scale::Integers), Axis::new("IOPS", Scale::Log10));
    Plot::lines("convergence", "IOPS SS Convergence", x, y)
        .caption("Round 4 is void: its lines are broken.")
        .series(series)
}

fn window() -> Plot {
    let values = [20525.0, 20354.0, 19911.0, 20602.0, 19805.0];
    let level = |name: &str, stroke, level: f64| {
        Series::new(name, stroke, vec![(0.0, Some(level)), (4.0, Some(level))])
    };
    let measured = (0..5).map(|r| (f64::from(r), Some(values[r as usize]))).collect();
    let fit = vec![(0.0, Some(20477.8)), (4.0, Some(20001.0))];
    let (x, y) = (Axis::new("Round", Scale::Integers), Axis::new("IOPS", Scale::LinearFitted));
    Plot::lines("window", "Steady State Verification - RND 4K W", x, y)
        .caption("Measured IOPS, the 20 % band, the line of best fit.")
        .with(Series::new("RND 4K W", Stroke::Measured, measured))
        .with(level("Average", Stroke::Average, 20239.4))
        .with(level("110 % average", Stroke::Limit, 22263.3))
        .with(level("90 % average", Stroke::Limit, 18215.5))
        .with(Series::new("Slope (best linear fit)", Stroke::Fit, fit))
}

fn header() -> FormHeader {
    let block = |title: &str| {
        let rows = [
            Setting::identity("Ref Test Platform", "Reference platform of the laboratory, 3.0"),
            Setting::identity("CPU", "Intel(R) Xeon(R) CPU E5-2687W v2 @ 3.40GHz"),
            Setting::identity("Operating System", "Debian GNU/Linux 12 (bookworm)"),
            Setting::new("demand", "TOIO - TC/QD", "TC 4 / QD 32", Origin::Profile),
            Setting::identity("NAND Type", ""),
            Setting::new("purge", "Purge Method", "NVMe Format (user data erase)", Origin::Default),
            Setting::identity("S/N", "AVERYLONGSERIALNUMBERWITHOUTANYBREAK0123456789"),
        ];
        FormBlock::new(title, rows)
    };
    FormHeader {
        issuer: "SNIA SSS TWG".into(),
        specification: "Solid State Storage Performance Test Spec (PTS)".into(),
        disclaimer: None,
        test: "IOPS Test (REQUIRED)".into(),
        subtitle: "IOPS - Block Size x RW Mix Matrix".into(),
        revision: "PTS-E 2.0".into(),
        vendor: Some("Mfg A & <Sons>".into()),
        model: Some("SSD A - NVMe SSD".into()),
        sponsor: None,
        blocks: ["Test Platform", "Device Under Test", "Set Up Parameters", "Test Parameters"]
            .map(block)
            .to_vec(),
    }
}

fn findings(simulated: bool) -> Findings {
    let facts = Facts::new("Steady-state evidence").rows([
        Setting::outcome("Average", "20,239.4"),
        Setting::outcome("Correlation coefficient", ""),
        Setting::outcome("#set page[*] $x$ <script>", "\"quoted\" & <b>not bold</b> \\ #1"),
    ]);
    Findings {
        method: "Method of PTS 2.0.x as in docs/methods.md".into(),
        headline: "PTS-E 2.0  WCD  T4/Q32  DP=RND  AR100  Aln=BS".into(),
        simulated,
        began_unix_ms: 1_453_234_260_000,
        ended_unix_ms: 1_453_300_000_000,
        digest: "0123456789abcdef0123456789abcdef".into(),
        software: "steadfast 0.1.0".into(),
        ending: "Steady state in rounds 3 to 7 of 7.".into(),
        caveats: vec![
            Caveat::deviation("purge", "Purge: discard.", "Use the drive's own."),
            Caveat::invalidates("quick", "NOT THE FULL METHOD: <quick>.", ""),
        ],
        front: FrontPage {
            device: vec![Setting::identity("Serial number", "SN-10007")],
            conditions: vec![Setting::outcome("Purge", "NVMe Format")],
            figures: vec![
                KeyFigure::new("read", "RND 4K read", Some(IOPS[1][6]), "IOPS"),
                KeyFigure::new("tail", "99.999 %", Some(0.078_149), "ms").of_buckets(),
            ],
            plots: vec!["matrix".into(), "convergence".into()],
            ..FrontPage::default()
        },
        summary: vec![Exhibit::Table(table())],
        form_pages: vec![
            Page::new("IOPS SS Convergence", vec![Exhibit::Plot(convergence())]),
            Page::new("Window", vec![Exhibit::Plot(window()), Exhibit::Facts(facts)]),
            Page::new("Tabular Data", vec![Exhibit::Table(table())]),
            Page::new("2D Plot", vec![Exhibit::Plot(matrix(PlotKind::Lines))]),
            Page::new("3D Columns", vec![Exhibit::Plot(matrix(PlotKind::Columns3d))]),
        ],
        chapters: vec![Page::new(
            "General Information",
            vec![
                Exhibit::Text("Words & <signs>.".into()),
                Exhibit::Listing("Purge\n  loop".into()),
            ],
        )],
        long_tables: vec![table().with_id("steps")],
        ..Findings::new("IOPS", header())
    }
}

/// Returns a report of three procedures.
fn suite() -> Findings {
    let page = |title: &str, plot: Plot| Page::new(title, vec![Exhibit::Plot(plot)]);
    let part = |title: &str, pages: Vec<Page>| Findings {
        id: title.into(),
        title: title.into(),
        headline: format!("PTS-E 2.0  WCD  {title}"),
        header: FormHeader { test: format!("{title} Test"), ..header() },
        form_pages: pages,
        long_tables: Vec::new(),
        ..findings(false)
    };
    let mut wsat = part(
        "WSAT",
        vec![
            page("IOPS & ART v Time", plots::saturation(1440)),
            page("LBA Hits", plots::hits(500, 200)),
        ],
    );
    wsat.ending = "The run ended after four drive fills.".into();
    wsat.caveats.push(Caveat::remark("fills", "Four fills.", ""));
    let latency = part(
        "Latency",
        vec![
            page("Confidence Level Plot", plots::confidence()),
            page("Every I/O", plots::cloud()),
            page("Streams", plots::stacked(1440, 26)),
        ],
    );
    Findings {
        id: "Suite".into(),
        title: "Suite".into(),
        headline: String::new(),
        ending: "Three procedures ended; all are steady.".into(),
        summary: vec![Exhibit::Text("What all three have in common.".into())],
        form_pages: Vec::new(),
        chapters: Vec::new(),
        long_tables: Vec::new(),
        caveats: vec![Caveat::invalidates("quick", "NOT THE FULL METHOD: <quick>.", "")],
        parts: vec![findings(true), latency, wsat],
        ..findings(false)
    }
}

/// Compares with a file of tests/data; `BLESS=1` accepts the current content.
#[track_caller]
fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs; look at it, then BLESS=1 to accept");
}

#[test]
fn drawings_text_and_tables_are_as_accepted() {
    golden("convergence.svg", &svg(&convergence()));
    golden("window.svg", &svg(&window()));
    golden("matrix-2d.svg", &svg(&matrix(PlotKind::Lines)));
    golden("matrix-3d.svg", &svg(&matrix(PlotKind::Columns3d)));
    golden("report.txt", &text(&findings(false), 100));
    golden("suite.txt", &text(&suite(), 100));
    golden("iops.csv", &csv(&table()));
}

#[test]
fn a_disclosure_names_the_largest_parts_that_it_holds_for() {
    let caveat = |text: &str| Caveat::deviation("d", text, "");
    let part = |title: &str, texts: &[&str]| Findings {
        title: title.into(),
        caveats: texts.iter().map(|text| caveat(text)).collect(),
        ..findings(false)
    };
    let whole = |title: &str, texts: &[&str], parts| Findings { parts, ..part(title, texts) };
    let inner = whole(
        "Inner",
        &["of inner"],
        vec![part("One", &["of all", "of inner", "of each"]), part("Two", &["of all", "of each"])],
    );
    let outer = whole("Outer", &[], vec![inner, part("Three", &["of all", "of one"])]);
    let text = text(&outer, 100);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Deviation")).collect();
    assert_eq!(
        lines,
        [
            "Deviation: Inner: of inner", "Deviation: of all", "Deviation: Inner: of each",
            "Deviation: Three: of one"
        ]
    );
}

#[test]
fn a_suite_has_its_parts_one_after_another() {
    let page = html(&suite(), &PRINTED);
    assert_balanced(&page);
    let order = [
        "<h1>Suite</h1>", "class=\"contents\"", "id=\"part-1\"", "id=\"part-2\"",
        "id=\"disclosures\"",
    ];
    let places: Vec<usize> = order.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
    for link in page.split("href=\"#").skip(1) {
        let to = link.split('"').next().unwrap();
        assert_eq!(page.matches(&format!("id=\"{to}\"")).count(), 1, "{to}");
    }
    // One part is simulated: every page states that, and names the part.
    assert!(page.contains("class=\"simulated\"") && page.contains("<h2>LBA Hits</h2>"));
    assert!(page.contains("<h2>2.1&ensp;General Information</h2>"));
    assert_eq!(page.matches("NOT THE FULL METHOD").count(), 2, "on the cover and in the list");
    assert!(page.contains("WSAT: Four fills.") && page.contains(">Purge: discard."));
    let mut names: Vec<String> = tables(&suite()).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    assert_eq!(names, ["iops-iops.csv", "iops-steps.csv", "latency-iops.csv", "wsat-iops.csv"]);
}

#[test]
fn the_form_of_a_suite_has_bookmarks_and_its_pages_run_on() {
    let document = pdf_form(&suite(), &PRINTED).unwrap();
    let Some(words) = words(&document) else { return };
    let last = words.trim_end_matches('\x0c').rsplit('\x0c').next().unwrap();
    let pages = words.matches('\x0c').count();
    assert!(last.contains(&format!("{pages} / {pages}")), "{last}");
    assert!(words.contains("Plot 3.2") && words.contains("page 3 of 3"));
    // The stamp is aslant: its letters are read one or two at a time.
    let scrap = |word: &&str| word.len() < 4 && word.chars().all(|c| "SIMULATED".contains(c));
    let stamped = |page: &str| page.split_whitespace().filter(scrap).count() >= 4;
    assert!(words.split('\x0c').take(pages).all(stamped));
    assert!(document.windows(9).filter(|bytes| bytes == b"/Outlines").count() > 0);
}

#[test]
fn page_one_of_a_suite_has_every_test_and_the_contents_follow() {
    let document = pdf(&suite(), &PRINTED).unwrap();
    let Some(words) = words(&document) else { return };
    let pages: Vec<&str> = words.split('\x0c').collect();
    for part in ["All tests", "IOPS", "Latency", "WSAT", "407,400"] {
        assert!(pages[0].contains(part), "'{part}' is missing: {}", pages[0]);
    }
    assert!(pages[..2].concat().contains("Contents") && words.contains("LBA Hits"));
}

#[test]
fn every_kind_of_drawing_is_typeset() {
    let mut odd = findings(false);
    odd.form_pages = Vec::new();
    odd.chapters = vec![Page::new("", plots::all().into_iter().map(Exhibit::Plot).collect())];
    pdf(&odd, &PRINTED).unwrap();
    odd.form_pages = std::mem::take(&mut odd.chapters);
    pdf_form(&odd, &PRINTED).unwrap();
}

#[test]
fn a_plot_without_values_says_so_and_never_prints_nan() {
    let mut empty = matrix(PlotKind::Lines);
    for series in &mut empty.series {
        series.points = vec![(f64::NAN, Some(1.0)), (1.0, None), (2.0, Some(f64::INFINITY))];
    }
    for kind in [PlotKind::Lines, PlotKind::Columns3d] {
        empty.kind = kind;
        let drawn = svg(&empty);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        empty.series.iter_mut().for_each(|s| s.points.clear());
        assert!(svg(&empty).contains("no values"));
    }
}

fn without_scripts(page: &str) -> String {
    let mut pieces = page.split("<script");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| out + piece.split_once("</script>").unwrap().1)
}

/// Asserts that opening and closing tags match, outside escaped text.
fn assert_balanced(page: &str) {
    const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    // Scripts are not markup.
    let page = without_scripts(page);
    let mut rest = page.as_str();
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag without its end");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').find(|n| !n.is_empty());
        let name = name.unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_is_well_formed_self_contained_and_escaped() {
    let page = html(&findings(true), &PRINTED);
    assert_balanced(&page);
    assert!(page.contains("SIMULATED") && page.contains("Head of the report form"));
    assert!(page.contains("Mfg A &amp; &lt;Sons&gt;"));
    // Only our own scripts: the values of a drawing, and the code that reads them.
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    let (values, own): (Vec<&str>, Vec<&str>) =
        scripts.iter().partition(|text| text.starts_with(" type=\"application/json\">"));
    assert_eq!(own.len(), 1);
    for text in values {
        let json = text.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        let chart: serde_json::Value = serde_json::from_str(json).unwrap();
        assert!(chart["series"].as_array().is_some_and(|series| !series.is_empty()));
    }
    assert!(page.contains("2016-11-07 11:17 UTC"));
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http") && !outside.contains("url("), "nothing from outside");
    assert!(!html(&findings(false), &PRINTED).contains("class=\"simulated\""));
}

#[test]
fn every_table_becomes_a_file() {
    let names: Vec<String> = tables(&findings(false)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["iops.csv", "steps.csv"]);
}

/// Returns the words of a PDF, with a form feed after each page.
fn words(document: &[u8]) -> Option<String> {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.pdf");
    std::fs::write(&path, document).unwrap();
    let output =
        std::process::Command::new("pdftotext").arg("-layout").arg(&path).arg("-").output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: the words of the PDF: pdftotext is not installed");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_form_has_its_pages_its_words_and_the_same_bytes_every_time() {
    let document = pdf_form(&findings(true), &PRINTED).unwrap();
    assert!(document.starts_with(b"%PDF"));
    assert_eq!(document, pdf_form(&findings(true), &PRINTED).unwrap(), "deterministic");
    let Some(words) = words(&document) else { return };
    assert_eq!(words.matches('\x0c').count(), 5 + 1, "{words}");
    for part in
        ["Mfg A & <Sons>", "61,969", "page 3 of 5", "#set page[*]", "NOT THE FULL", "SIMULATED"]
    {
        assert!(words.contains(part), "'{part}' is missing: {words}");
    }
}

/// The dash of a missing text is aligned with the texts of its column, that of a missing number with
/// the numbers.
#[test]
fn a_dash_is_aligned_as_its_column() {
    let mut found = findings(false);
    let rows = [
        Row::new("a", [Cell::text("SIM-1"), Cell::count(7)]),
        Row::new("b", [Cell::Missing, Cell::Missing]),
    ];
    let mixed = Row::new("c", [Cell::Missing, Cell::count(8)]);
    let table = Table::new("dashes", "Dashes", "").columns(["x", "y"]).rows(rows).row(mixed);
    found.chapters[0].exhibits.push(Exhibit::Table(table));
    let page = html(&found, &PRINTED);
    let table = page.split("<caption>Dashes").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(table.contains("<td class=\"word\">–</td><td>8</td>"), "{table}");
}

#[test]
fn page_one_sums_it_up_and_every_number_has_one_place() {
    let mut steady = findings(false);
    let void = Table::new("void", "Nothing was sensed", "").column("x");
    steady.chapters[0].exhibits.push(Exhibit::Table(void.row(Row::new("a", [Cell::Missing]))));
    let document = pdf(&steady, &PRINTED).unwrap();
    assert_eq!(document, pdf(&steady, &PRINTED).unwrap(), "deterministic");
    let Some(words) = words(&document) else { return };
    let pages: Vec<&str> = words.split('\x0c').collect();
    for part in ["Mfg A & <Sons>", "407,400 IOPS", "0.0781 ms", "SN-10007", "1 deviation"] {
        assert!(pages[0].contains(part), "'{part}' is missing: {}", pages[0]);
    }
    assert_eq!(words.matches("IOPS - ALL RW Mix & BS - Tabular Data").count(), 1);
    assert!(words.contains("Nothing was sensed: no values."));
    assert!(pages.len() <= 7, "{} pages", pages.len());
    let page = html(&steady, &PRINTED);
    assert!(page.contains("<dd>407,400 <span>IOPS</span></dd>"));
    assert!(page.contains("href=\"#disclosed-deviations\"") && page.contains("scope=\"row\""));
}

/// Quick and TKperf are not PTS reports; no page may suggest it.
#[test]
fn every_page_of_a_lesser_profile_says_so_and_none_names_the_pts() {
    let mut lesser = findings(false);
    lesser.header.issuer = "Steadfast".into();
    lesser.header.specification = "Profile quick".into();
    lesser.header.disclaimer = Some("PROFILE QUICK: a look".into());
    lesser.header.test = "IOPS Test".into();
    lesser.header.revision = "Quick-E".into();
    let page = html(&lesser, &PRINTED);
    // Of the form's five pages, the one with the table repeats the summary and is omitted.
    let pages = lesser.form_pages.len() - 1 + lesser.chapters.len();
    assert_eq!(page.matches("<p class=\"disclaimer\">PROFILE QUICK: a look</p>").count(), pages);
    assert!(!page.contains("SNIA SSS TWG") && !page.contains("Solid State Storage"));
    let full = html(&findings(false), &PRINTED);
    assert!(full.contains("SNIA SSS TWG") && !full.contains("class=\"disclaimer\""));
}

#[test]
fn a_device_without_a_name_leaves_no_dash_in_the_title() {
    for missing in [None, Some("–"), Some(" ")] {
        let mut one = findings(false);
        one.header.model = missing.map(str::to_owned);
        one.header.vendor = missing.map(str::to_owned);
        let page = html(&one, &PRINTED);
        let title = page.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        assert_eq!(title, Some(one.title.as_str()), "{missing:?}");
        assert!(!page.contains("<p class=\"device\">"), "{missing:?}");
    }
}
