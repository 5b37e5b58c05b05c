//! Renders one self-contained web page without references to anything outside. A script adds
//! interaction to plots and tables; all content is there without it, too.

use crate::layout::{
    DuplicateFilter, PrintedExhibit, PrintedPage, borrows, chapter_number, is_left, is_prose,
    known, measured,
};
use crate::page_one::{self, Badge, PageOneBlock, PrintedQuestion, anchor};
use crate::parts::{KINDS, disclosures, name, numbered_parts, simulated};
use crate::svg::{DrawingSize, escape, page_size, svg_of_page, svgs_side_by_side, visible};
use crate::{ReportTime, date, number};
use std::borrow::Cow;
use std::fmt::Write;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Exhibit, FormHeader, KeyFigure, Plot, Setting, Table};
use steadfast_domain::glossary::{self, Abbreviation};

const STYLE: &str = include_str!("report.css");
/// Built from `ui/` (see its README) and checked in, so that a build does not need Node.js.
const SCRIPT: &str = include_str!("report.js");

/// Returns the findings as a web page.
pub fn html(findings: &Findings, printed: &ReportTime) -> String {
    let mut out = String::new();
    let model = name(&findings.header.model);
    let title =
        model.map_or(findings.title.clone(), |model| format!("{} - {model}", findings.title));
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body{}>\n<a class=\"skip\" href=\"#contents\">Skip to \
         the contents</a>\n<a class=\"skip\" href=\"#disclosures\">Skip to the disclosures</a>\n\
         <main>\n",
        escape(&title),
        if simulated(findings) { " class=\"simulated\"" } else { "" }
    );
    let head_end = out.len();
    let all = findings.self_and_parts();
    let plots = all.iter().flat_map(|one| one.exhibits()).filter_map(Exhibit::as_plot);
    let size = page_size(&plots.collect::<Vec<_>>());
    cover(&mut out, findings, printed, size);
    let bodies = bodies(findings);
    contents(&mut out, &bodies);
    summaries(&mut out, findings, size);
    let with_summary = !borrows(findings);
    bodies.iter().for_each(|body| body.draw(&mut out, with_summary, printed, size));
    let mut end = String::new();
    disclosure_table(&mut end, findings);
    footer(&mut end, findings);
    let used = glossary::abbreviations(visible(&out[head_end..]).chain(visible(&end)));
    abbreviations(&mut out, &used);
    out.push_str(&end);
    out.push_str("<a class=\"up\" href=\"#contents\">Contents</a>\n");
    let _ = write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn abbreviations(out: &mut String, used: &[&Abbreviation]) {
    out.push_str(
        "<section class=\"chapter\" id=\"abbreviations\">\n<h2>Abbreviations</h2>\n<dl>\n",
    );
    for one in used {
        let (short, meaning) = (escape(one.short), escape(one.meaning));
        let _ = writeln!(out, "<div><dt>{short}</dt><dd>{meaning}</dd></div>");
    }
    out.push_str("</dl>\n</section>\n");
}

/// A procedure of the report, or what the whole of it has of its own.
struct HtmlPart<'a> {
    /// Number of the part; 0 for the whole of a report of several parts.
    number: usize,
    of_many: bool,
    findings: &'a Findings,
    results: Vec<PrintedPage<'a>>,
    chapters: Vec<PrintedPage<'a>>,
}

/// Returns the bodies of the whole and of every part, each table and plot once.
fn bodies(findings: &Findings) -> Vec<HtmlPart<'_>> {
    let of_many = !findings.parts.is_empty();
    let mut whole = DuplicateFilter::default();
    let mut bodies = Vec::new();
    for (number, findings) in numbered_parts(findings) {
        // Plots of different procedures may have the same id, so each part has its own list.
        let mut own = whole.of_part();
        let filter = if number == 0 { &mut whole } else { &mut own };
        // A plot that fills page one is not repeated.
        if let [only] = page_one::own_plots(findings).as_slice()
            && !(of_many && number > 0)
        {
            filter.has(only);
        }
        // Exhibits on page one or at the head of a part are not repeated.
        filter.unprinted(&findings.summary);
        let results = filter.of_pages(&findings.form_pages);
        let chapters = filter.of_pages(&findings.chapters);
        bodies.push(HtmlPart { number, of_many, findings, results, chapters });
    }
    bodies
}

impl HtmlPart<'_> {
    fn title(&self) -> String {
        match self.number {
            0 => "The whole run".to_owned(),
            number if self.of_many => format!("{number}\u{2002}{}", self.findings.title),
            _ => "Results".to_owned(),
        }
    }

    fn draw(&self, out: &mut String, with_summary: bool, printed: &ReportTime, size: DrawingSize) {
        if self.number > 0 && self.of_many {
            part_cover(out, self.findings, self.number, with_summary, size);
        }
        for page in &self.results {
            let anchor = page_anchor(self.number, "page", page.index);
            self.draw_page(out, "result", &anchor, &escape(page.title), &page.exhibits, size);
        }
        for page in &self.chapters {
            let anchor = page_anchor(self.number, "chapter", page.index);
            let number = chapter_number(self.number, page.index, self.of_many);
            let heading = format!("{number}&ensp;{}", escape(page.title));
            self.draw_page(out, "chapter", &anchor, &heading, &page.exhibits, size);
        }
        form_head(out, self, printed);
    }

    fn draw_page(
        &self,
        out: &mut String,
        class: &str,
        anchor: &str,
        heading: &str,
        shown: &[PrintedExhibit<'_>],
        size: DrawingSize,
    ) {
        let _ = writeln!(out, "<section class=\"{class}\" id=\"{anchor}\">\n<h2>{heading}</h2>");
        // Every page repeats the disclaimer.
        if let Some(disclaimer) = &self.findings.header.disclaimer {
            let _ = writeln!(out, "<p class=\"disclaimer\">{}</p>", escape(disclaimer));
        }
        exhibits(out, shown, size);
        out.push_str("</section>\n");
    }
}

fn page_anchor(part: usize, kind: &str, index: usize) -> String {
    format!("part-{part}-{kind}-{}", index + 1)
}

fn cover(out: &mut String, findings: &Findings, printed: &ReportTime, size: DrawingSize) {
    let header = &findings.header;
    let _ = writeln!(
        out,
        "<section class=\"cover\">\n{}<h1>{}</h1>",
        if simulated(findings) { "<p class=\"stamp\">SIMULATED</p>\n" } else { "" },
        escape(&findings.title),
    );
    let device: Vec<&str> = [&header.vendor, &header.model].into_iter().filter_map(name).collect();
    if !device.is_empty() {
        let _ = writeln!(out, "<p class=\"device\">{}</p>", escape(&device.join(" ")));
    }
    if !findings.front.questions.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escape(&page_one::drive_facts(findings)));
    }
    for block in page_one::blocks(findings) {
        draw_block(out, &block, findings, size);
    }
    let all = disclosures(findings);
    let _ = writeln!(
        out,
        "<p class=\"dates\">{} Report made {}. {} disclosure{}: see the last \
         section.</p>\n</section>",
        date::time_sentence(findings),
        date::date_time(printed.report_unix_ms),
        all.len(),
        if all.len() == 1 { "" } else { "s" }
    );
}

fn draw_block(out: &mut String, block: &PageOneBlock<'_>, findings: &Findings, size: DrawingSize) {
    match block {
        PageOneBlock::Badges(all) => badges(out, all),
        PageOneBlock::BadgeMeaning(text) => draw_aside(out, text),
        PageOneBlock::Conclusion => conclusion(out, findings),
        PageOneBlock::Attention(lines) => {
            for line in lines {
                let _ = writeln!(out, "<p class=\"attention\">{}</p>", escape(line));
            }
        }
        PageOneBlock::Figures(all) => figures(out, all),
        PageOneBlock::Questions(all) => questions(out, all),
        PageOneBlock::Tables(all) => {
            exhibits(out, &DuplicateFilter::default().unprinted(all), size);
        }
        PageOneBlock::Surroundings => surroundings(out, findings),
        PageOneBlock::Tests(table) | PageOneBlock::Evidence(table) => draw_table(out, table),
        PageOneBlock::Plots(all) => small_plots(out, all, size),
    }
}

fn badges(out: &mut String, badges: &[Badge]) {
    out.push_str("<ul class=\"badges\">");
    for badge in badges {
        let text = escape(&badge.text);
        let _ = match &badge.to {
            Some(to) => {
                let tone = badge.tone.word();
                write!(out, "<li class=\"{tone}\"><a href=\"#{to}\">{text}</a></li>")
            }
            None => write!(out, "<li class=\"{}\">{text}</li>", badge.tone.word()),
        };
    }
    out.push_str("</ul>\n");
}

/// Writes the questions of page one with their figures, each linked to the part that measured it.
fn questions(out: &mut String, all: &[PrintedQuestion<'_>]) {
    out.push_str("<div class=\"questions\">\n");
    for asked in all {
        let _ = writeln!(
            out,
            "<div class=\"question\">\n<div><h2>{}</h2>\n<p>{}",
            escape(asked.question),
            escape(asked.note)
        );
        for (number, title) in &asked.sources {
            let _ = write!(out, " <a href=\"#part-{number}\">{number} {}</a>", escape(title));
        }
        // Four figures are two pairs.
        let class = if asked.answers.len() == 4 { "figures pairs" } else { "figures" };
        let _ = writeln!(
            out,
            "</p></div>\n<div><p class=\"answer\">{}</p>\n<dl class=\"{class}\">",
            escape(asked.answer)
        );
        for answer in &asked.answers {
            let value = escape(&number::figure(answer.figure));
            let value = match answer.part {
                Some(number) => format!("<a href=\"#part-{number}\">{value}</a>"),
                None => value,
            };
            let _ = writeln!(
                out,
                "<div><dt>{}</dt><dd>{value} <span>{}</span></dd></div>",
                escape(&answer.figure.label),
                escape(&number::unit(answer.figure))
            );
        }
        out.push_str("</dl>\n");
        asked.missing.iter().for_each(|line| draw_aside(out, line));
        out.push_str("</div></div>\n");
    }
    out.push_str("</div>\n");
}

fn figures(out: &mut String, figures: &[&KeyFigure]) {
    out.push_str("<dl class=\"figures\">\n");
    for figure in figures {
        let words = if figure.value.is_none() { " class=\"words\"" } else { "" };
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd{words}>{} <span>{}</span></dd></div>",
            escape(&figure.label),
            escape(&number::figure(figure)),
            escape(&number::unit(figure))
        );
    }
    out.push_str("</dl>\n");
}

fn surroundings(out: &mut String, findings: &Findings) {
    let front = &findings.front;
    out.push_str("<div class=\"sides\">\n");
    for (title, settings) in [("Device", &front.device), ("Conditions", &front.conditions)] {
        if !settings.is_empty() {
            draw_rows(out, title, settings);
        }
    }
    out.push_str("</div>\n");
}

/// Writes plots: a single one as wide as the page, several side by side.
fn small_plots(out: &mut String, plots: &[Cow<'_, Plot>], size: DrawingSize) {
    match plots {
        [] => {}
        [only] => draw_plot(out, only, size),
        several => {
            out.push_str("<div class=\"sides plots\">\n");
            for (plot, drawing) in several.iter().zip(svgs_side_by_side(several)) {
                let title = escape(&plot.title);
                let _ =
                    writeln!(out, "<figure>\n{drawing}<figcaption>{title}</figcaption>\n</figure>");
            }
            out.push_str("</div>\n");
        }
    }
}

fn contents(out: &mut String, bodies: &[HtmlPart<'_>]) {
    out.push_str(
        "<nav class=\"contents\" id=\"contents\" aria-label=\"Contents\">\n<h2>Contents</h2>\n",
    );
    for body in bodies {
        let mut links = String::new();
        for (kind, pages) in [("page", &body.results), ("chapter", &body.chapters)] {
            for page in pages {
                let anchor = page_anchor(body.number, kind, page.index);
                let title = escape(page.title);
                let _ = write!(links, "<li><a href=\"#{anchor}\">{title}</a></li>");
            }
        }
        if links.is_empty() && (body.number == 0 || !body.of_many) {
            continue;
        }
        let title = escape(&body.title());
        if body.number > 0 && body.of_many {
            let _ = writeln!(
                out,
                "<details><summary><a href=\"#part-{}\">{title}</a> <span>{}</span></summary>",
                body.number,
                escape(&body.findings.ending)
            );
        } else {
            let _ = writeln!(out, "<details open><summary>{title}</summary>");
        }
        let _ = writeln!(out, "<ul>{links}</ul>\n</details>");
    }
    out.push_str("<p><a href=\"#abbreviations\">Abbreviations</a></p>\n<p><a href=\"#disclosures\">Disclosures</a></p>\n</nav>\n");
}

/// Writes the summary tables: the report's own, or else those of its parts.
fn summaries(out: &mut String, findings: &Findings, size: DrawingSize) {
    let (_, others) = page_one::summary_tables(findings);
    let own = DuplicateFilter::default().unprinted(&others);
    if !own.is_empty() {
        out.push_str("<section class=\"result\">\n<h2>Summary</h2>\n");
        exhibits(out, &own, size);
        out.push_str("</section>\n");
    }
    if borrows(findings) {
        for part in findings.all_parts().into_iter().filter(|part| !part.summary.is_empty()) {
            let title = escape(&part.title);
            let _ = writeln!(out, "<section class=\"result\">\n<h2>Summary: {title}</h2>");
            exhibits(out, &DuplicateFilter::default().unprinted(&part.summary), size);
            out.push_str("</section>\n");
        }
    }
}

fn part_cover(
    out: &mut String,
    part: &Findings,
    number: usize,
    with_summary: bool,
    size: DrawingSize,
) {
    let _ = writeln!(
        out,
        "<section class=\"cover part\" id=\"part-{number}\">\n<h1>{number}&ensp;{}</h1>",
        escape(&part.title)
    );
    for block in page_one::part_blocks(part) {
        draw_block(out, &block, part, size);
    }
    if with_summary {
        exhibits(out, &DuplicateFilter::default().unprinted(&part.summary), size);
    }
    out.push_str("</section>\n");
}

fn conclusion(out: &mut String, findings: &Findings) {
    let class = match page_one::is_good(findings) {
        Some(true) => "steady",
        Some(false) => "not-steady",
        None => "plain",
    };
    let _ = writeln!(out, "<p class=\"verdict {class}\">{}</p>", escape(&findings.ending));
    let _ = writeln!(out, "<p>{}</p>", escape(&findings.method));
    if !findings.headline.is_empty() {
        let headline = escape(&findings.headline);
        let _ =
            writeln!(out, "<p class=\"headline\"><a href=\"#abbreviations\">{headline}</a></p>");
    }
}

fn form_head(out: &mut String, body: &HtmlPart<'_>, printed: &ReportTime) {
    let findings = body.findings;
    let header: &FormHeader = &findings.header;
    if header.blocks.is_empty() {
        return;
    }
    let text = |value: &Option<String>| escape(value.as_deref().unwrap_or(number::DASH));
    let _ = write!(
        out,
        "<section class=\"form\">\n<h2>Head of the report form{}</h2>\n<div class=\"scroll\">\
         <table class=\"formhead\"><tr><th scope=\"row\">Test Run Date:</th><td>{}</td><th \
         scope=\"row\">Report Run Date:</th><td>{}</td></tr>\n<tr><td colspan=\"4\" \
         class=\"testname\">{} - Report Page</td></tr>\n<tr><th scope=\"row\">{}</th><td>{}</td>\
         <td>{}</td><td>Rev. {}</td></tr>\n<tr><th scope=\"row\">Vendor: {}</th><td>SSD Model: {}\
         </td><td colspan=\"2\">TEST SPONSOR: {}</td></tr></table></div>\n",
        if body.of_many { format!(": {}", escape(&findings.title)) } else { String::new() },
        date::date_time(findings.began_unix_ms),
        date::date_time(printed.report_unix_ms),
        escape(&header.test),
        escape(&header.issuer),
        escape(&header.specification),
        escape(&header.subtitle),
        escape(&header.revision),
        text(&header.vendor),
        text(&header.model),
        text(&header.sponsor),
    );
    out.push_str("<div class=\"blocks\">\n");
    header.blocks.iter().for_each(|block| draw_rows(out, &block.title, &block.rows));
    out.push_str("</div>\n</section>\n");
}

fn draw_rows<'a>(out: &mut String, title: &str, rows: impl IntoIterator<Item = &'a Setting>) {
    let _ = writeln!(out, "<table class=\"facts\"><caption>{}</caption>", escape(title));
    for row in rows {
        let text = row.text();
        let text = text.as_deref().unwrap_or(number::DASH);
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(&row.label),
            escape(text)
        );
    }
    out.push_str("</table>\n");
}

fn exhibits(out: &mut String, shown: &[PrintedExhibit<'_>], size: DrawingSize) {
    for exhibit in shown {
        match exhibit {
            PrintedExhibit::Table(table) => draw_table(out, table),
            PrintedExhibit::Plot(plot) => draw_plot(out, plot, size),
            PrintedExhibit::Facts(facts) => {
                let (known, unknown) = known(facts);
                draw_rows(out, &facts.title, known);
                if let Some(line) = unknown {
                    draw_aside(out, &line);
                }
            }
            PrintedExhibit::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", escape(text));
            }
            PrintedExhibit::Nothing(text) => draw_aside(out, text),
            PrintedExhibit::Listing(text) => {
                let _ = writeln!(out, "<pre>{}</pre>", escape(text));
            }
        }
    }
}

/// Writes a line in gray: about something that is not there, or in smaller letters.
fn draw_aside(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p class=\"nothing\">{}</p>", escape(text));
}

/// Writes a drawing with its values for the script.
fn draw_plot(out: &mut String, plot: &Plot, size: DrawingSize) {
    let (drawing, chart) = svg_of_page(plot, size);
    let data = chart.and_then(|chart| serde_json::to_string(&chart).ok());
    // A script element is ended only by its end tag, so only '<' is escaped.
    let data = data.map(|data| {
        format!("<script type=\"application/json\">{}</script>\n", data.replace('<', "\\u003c"))
    });
    let caption = match plot.caption.as_str() {
        "" => String::new(),
        caption => format!(" {}", escape(caption)),
    };
    let _ = writeln!(
        out,
        "<figure class=\"chart\">\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" \
         aria-label=\"{0}\">\n{drawing}</div>\n<figcaption><b>{0}.</b>{caption}</figcaption>\n{1}\
         </figure>",
        escape(&plot.title),
        data.unwrap_or_default(),
    );
}

/// Number of letters above which the name of a row may wrap.
const LONG_NAME: usize = 48;

/// Number of columns above which a table has smaller letters and narrower columns, and the names of
/// its rows may wrap.
const NARROW_COLUMNS: usize = 7;

fn draw_table(out: &mut String, table: &Table) {
    let (table, unmeasured) = measured(table);
    let table = table.as_ref();
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table \
         class=\"values{1}\"><caption>{0}</caption><thead>",
        escape(&table.title),
        if table.columns.len() > NARROW_COLUMNS { " wide" } else { "" }
    );
    if let Some(spanner) = &table.spanner {
        let _ = writeln!(
            out,
            "<tr><td></td><th colspan=\"{}\" scope=\"colgroup\" class=\"spanner\">{}</th></tr>",
            table.columns.len(),
            escape(spanner)
        );
    }
    let columns = 0..table.columns.len();
    let sides: Vec<ColumnSide> = columns.map(|at| ColumnSide::new(table, at)).collect();
    let _ = write!(out, "<tr><th scope=\"col\">{}</th>", escape(&table.corner));
    for (at, column) in table.columns.iter().enumerate() {
        let class = if sides[at].has_text { sides[at].class } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(&column.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (row, printed) in table.rows.iter().zip(number::printed(table)) {
        let class = if row.strong { " class=\"strong\"" } else { "" };
        let long = if row.head.chars().count() > LONG_NAME { " class=\"long\"" } else { "" };
        let _ = write!(out, "<tr{class}><th scope=\"row\"{long}>{}</th>", escape(&row.head));
        for (at, (cell, text)) in row.cells.iter().zip(printed).enumerate() {
            let class = match (row.gray.contains(&at), row.marked.contains(&at)) {
                (true, _) => " class=\"gray\"",
                (_, true) => " class=\"strong\"",
                _ => sides.get(at).map_or("", |side| side.of(cell)),
            };
            let _ = write!(out, "<td{class}>{}</td>", escape(&text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if let Some(line) = unmeasured {
        draw_aside(out, &line);
    }
}

/// Alignment of a column's cells: numbers to the right, words centered, names and sentences to the
/// left.
struct ColumnSide {
    /// Class attribute of the texts.
    class: &'static str,
    has_text: bool,
    has_number: bool,
}

impl ColumnSide {
    fn new(table: &Table, at: usize) -> Self {
        let cells = || table.rows.iter().filter_map(|row| row.cells.get(at));
        let class = match (is_left(table, at), is_prose(table, at)) {
            (_, true) => " class=\"word prose\"",
            (true, false) => " class=\"word left\"",
            (false, false) => " class=\"word\"",
        };
        ColumnSide {
            class,
            has_text: cells().any(|cell| matches!(cell, Cell::Text(_))),
            has_number: cells().any(|cell| matches!(cell, Cell::Number { .. })),
        }
    }

    /// Returns the class attribute of a cell. The dash of a missing text stands where texts do.
    fn of(&self, cell: &Cell) -> &'static str {
        match cell {
            Cell::Text(_) => self.class,
            Cell::Missing if self.has_text && !self.has_number => self.class,
            Cell::Missing | Cell::Number { .. } => "",
        }
    }
}

fn disclosure_table(out: &mut String, findings: &Findings) {
    out.push_str(
        "<section class=\"chapter\" id=\"disclosures\">\n<h2>Disclosures</h2>\n<table \
         class=\"caveats\">\n<thead><tr><th scope=\"col\">Kind</th><th scope=\"col\">Disclosure\
         </th><th scope=\"col\">Remedy</th></tr></thead>\n",
    );
    let all = disclosures(findings);
    for (kind, name) in KINDS {
        let of_kind: Vec<_> = all.iter().filter(|disclosure| disclosure.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<tbody id=\"{}\">", anchor(kind));
        for caveat in of_kind {
            let id = caveat.anchor.as_ref().map(|anchor| format!(" id=\"{anchor}\""));
            let _ = writeln!(
                out,
                "<tr{}><th scope=\"row\">{name}</th><td>{}</td><td>{}</td></tr>",
                id.unwrap_or_default(),
                escape(&caveat.text),
                escape(caveat.remedy)
            );
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n</section>\n");
}

fn footer(out: &mut String, findings: &Findings) {
    let _ = write!(out, "<footer>{}.", escape(&findings.software));
    // A trend has no entries of its own.
    if !findings.digest.is_empty() {
        let _ = write!(out, " SHA-256 of the measured entries: {}", escape(&findings.digest));
    }
    out.push_str("</footer>\n");
}
