//! One self-contained web page: no script, no reference to anything outside.

use crate::parts::{disclosures, parts, simulated};
use crate::pdf::is_prose;
use crate::svg::{escape, svg};
use crate::{Printed, date, number};
use std::fmt::Write;
use steadfast_domain::findings::{
    Cell, Exhibit, Facts, FormBlock, FormHeader, Page, Plot, Setting, Table,
};
use steadfast_domain::{CaveatKind, Findings};

const STYLE: &str = include_str!("report.css");

/// The findings as a web page.
pub fn html(findings: &Findings, printed: &Printed) -> String {
    let mut out = String::new();
    let title = format!(
        "{} - {}",
        findings.title,
        findings.header.model.as_deref().unwrap_or("no model name")
    );
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body{}>\n<main>\n",
        escape(&title),
        if simulated(findings) { " class=\"simulated\"" } else { "" }
    );
    let parts = parts(findings);
    cover(&mut out, findings, &parts, printed);
    match parts.is_empty() {
        true => body(&mut out, findings, printed, 1, false),
        false => {
            body(&mut out, findings, printed, 0, false);
            for (number, part) in (1..).zip(&parts) {
                // Where the cover has no summary of its own, it has the parts'.
                part_cover(&mut out, part, number, !findings.summary.is_empty());
                body(&mut out, part, printed, number, true);
            }
        }
    }
    disclosed(&mut out, findings);
    footer(&mut out, findings);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Form pages and chapters; `number` is that of the part.
fn body(out: &mut String, findings: &Findings, printed: &Printed, number: usize, of_many: bool) {
    for (index, page) in findings.form_pages.iter().enumerate() {
        form_page(out, findings, printed, (number, index), page);
    }
    for (index, chapter) in findings.chapters.iter().enumerate() {
        let heading = chapter_number(number, index, of_many);
        let _ = writeln!(
            out,
            "<section class=\"chapter\" id=\"{}\">\n<h2>{heading}&ensp;{}</h2>",
            anchor(number, "chapter", index),
            escape(&chapter.title)
        );
        lesser(out, findings);
        exhibits(out, &chapter.exhibits);
        out.push_str("</section>\n");
    }
}

/// The number of a chapter: in a report of many parts with the part's before it;
/// the report's own chapters have letters there.
pub(crate) fn chapter_number(part: usize, index: usize, of_many: bool) -> String {
    match (part, of_many) {
        (0, _) => ('A'..='Z').nth(index).map_or_else(|| (index + 1).to_string(), String::from),
        (_, true) => format!("{part}.{}", index + 1),
        (_, false) => (index + 1).to_string(),
    }
}

fn anchor(part: usize, kind: &str, index: usize) -> String {
    format!("part-{part}-{kind}-{}", index + 1)
}

fn cover(out: &mut String, findings: &Findings, parts: &[&Findings], printed: &Printed) {
    let header = &findings.header;
    let model = header.model.as_deref().unwrap_or("no model name");
    let vendor = header.vendor.as_deref().map(|v| format!("{v} ")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<section class=\"cover\">\n{}<h1>{}</h1>\n<p class=\"device\">{}{}</p>",
        if simulated(findings) { "<p class=\"stamp\">SIMULATED</p>\n" } else { "" },
        escape(&findings.title),
        escape(&vendor),
        escape(model),
    );
    conclusion(out, findings);
    let all = disclosures(findings);
    for caveat in all.iter().filter(|c| c.kind == CaveatKind::Invalidates) {
        let _ = writeln!(
            out,
            "<p class=\"attention\">{} {}</p>",
            escape(&caveat.text),
            escape(caveat.remedy)
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"dates\">Run {} to {}. Report made {}. {} disclosure{}: see the last section.</p>",
        date::date_time(findings.run_unix_ms.0),
        date::date_time(findings.run_unix_ms.1),
        date::date_time(printed.report_unix_ms),
        all.len(),
        if all.len() == 1 { "" } else { "s" }
    );
    if !parts.is_empty() {
        contents(out, findings, parts);
    }
    exhibits(out, &findings.summary);
    if findings.summary.is_empty() {
        for part in parts {
            let _ = writeln!(out, "<h2>{}</h2>", escape(&part.title));
            exhibits(out, &part.summary);
        }
    }
    out.push_str("</section>\n");
}

/// The parts with how each ended and, of more than one, links to every page.
fn contents(out: &mut String, findings: &Findings, parts: &[&Findings]) {
    let list = |out: &mut String, number: usize, part: &Findings| {
        let pages = part.form_pages.iter().enumerate().map(|(n, p)| ("page", n, p));
        let chapters = part.chapters.iter().enumerate().map(|(n, p)| ("chapter", n, p));
        out.push_str("<ul>");
        for (kind, index, page) in pages.chain(chapters) {
            let (to, title) = (anchor(number, kind, index), escape(&page.title));
            let _ = write!(out, "<li><a href=\"#{to}\">{title}</a></li>");
        }
        out.push_str("</ul>\n");
    };
    out.push_str("<nav class=\"contents\">\n");
    let own = findings.form_pages.len() + findings.chapters.len();
    if own > 0 {
        list(out, 0, findings);
    }
    for (number, part) in (1..).zip(parts) {
        let (title, ending) = (escape(&part.title), escape(&part.ending));
        let _ = writeln!(
            out,
            "<details{}><summary><a href=\"#part-{number}\">{number}&ensp;{title}</a> <span>{ending}\
             </span></summary>",
            if parts.len() == 1 { " open" } else { "" }
        );
        list(out, number, part);
        out.push_str("</details>\n");
    }
    out.push_str("</nav>\n");
}

/// The first page of a part.
fn part_cover(out: &mut String, part: &Findings, number: usize, with_summary: bool) {
    let _ = writeln!(
        out,
        "<section class=\"cover part\" id=\"part-{number}\">\n<h1>{number}&ensp;{}</h1>",
        escape(&part.title)
    );
    conclusion(out, part);
    if with_summary {
        exhibits(out, &part.summary);
    }
    out.push_str("</section>\n");
}

/// How it was tested and how it ended.
fn conclusion(out: &mut String, findings: &Findings) {
    if !findings.headline.is_empty() {
        let _ = writeln!(out, "<p class=\"headline\">{}</p>", escape(&findings.headline));
    }
    let class = match findings.whole_end().good() {
        Some(true) => "steady",
        Some(false) => "not-steady",
        None => "plain",
    };
    let _ = write!(
        out,
        "<p>{}</p>\n<p class=\"verdict {class}\">{}</p>\n",
        escape(&findings.method),
        escape(&findings.ending)
    );
}

fn form_page(
    out: &mut String,
    findings: &Findings,
    printed: &Printed,
    (number, index): (usize, usize),
    page: &Page,
) {
    let _ = writeln!(out, "<section class=\"form\" id=\"{}\">", anchor(number, "page", index));
    form_head(out, findings, printed, index);
    let _ = writeln!(out, "<h2>{}</h2>", escape(&page.title));
    exhibits(out, &page.exhibits);
    let _ = writeln!(
        out,
        "<p class=\"foot\">Plot {number}.{} - {}</p>\n</section>",
        index + 1,
        escape(&page.title)
    );
}

/// What every page says where less than the full method was done.
fn lesser(out: &mut String, findings: &Findings) {
    if let Some(lesser) = &findings.header.lesser {
        let _ = writeln!(out, "<p class=\"lesser\">{}</p>", escape(lesser));
    }
}

fn form_head(out: &mut String, findings: &Findings, printed: &Printed, index: usize) {
    let header: &FormHeader = &findings.header;
    let known = |value: &Option<String>| escape(value.as_deref().unwrap_or(number::DASH));
    lesser(out, findings);
    let _ = write!(
        out,
        "<table class=\"formhead\"><tr><th>Test Run Date:</th><td>{}</td><th>Report Run Date:</th>\
         <td>{}</td></tr>\n<tr><td colspan=\"4\" class=\"testname\">{} - Report Page</td></tr>\n\
         <tr><th>{}</th><td>{}</td><td>{}\
         </td><td>Rev. {}<br>Page {} of {}</td></tr>\n<tr><th>Vendor: {}</th><td>SSD Model: {}</td>\
         <td colspan=\"2\">TEST SPONSOR: {}</td></tr></table>\n",
        date::date_time(findings.run_unix_ms.0),
        date::date_time(printed.report_unix_ms),
        escape(&header.test),
        escape(&header.issuer),
        escape(&header.specification),
        escape(&header.subtitle),
        escape(&header.revision),
        index + 1,
        findings.form_pages.len(),
        known(&header.vendor),
        known(&header.model),
        known(&header.sponsor),
    );
    out.push_str("<div class=\"blocks\">\n");
    header.blocks.iter().for_each(|block| form_block(out, block));
    out.push_str("</div>\n");
}

fn form_block(out: &mut String, block: &FormBlock) {
    let _ = writeln!(out, "<table><caption>{}</caption>", escape(&block.title));
    rows(out, &block.rows);
    out.push_str("</table>\n");
}

fn rows(out: &mut String, rows: &[Setting]) {
    for row in rows {
        let text = row.text();
        let text = text.as_deref().unwrap_or(number::DASH);
        let _ = writeln!(out, "<tr><th>{}</th><td>{}</td></tr>", escape(&row.label), escape(text));
    }
}

fn exhibits(out: &mut String, exhibits: &[Exhibit]) {
    for exhibit in exhibits {
        match exhibit {
            Exhibit::Table(table) => draw_table(out, table),
            Exhibit::Plot(plot) => draw_plot(out, plot),
            Exhibit::Facts(facts) => draw_facts(out, facts),
            Exhibit::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", escape(text));
            }
            Exhibit::Listing(text) => {
                let _ = writeln!(out, "<pre>{}</pre>", escape(text));
            }
        }
    }
}

fn draw_plot(out: &mut String, plot: &Plot) {
    let _ = writeln!(
        out,
        "<figure>\n{}<figcaption><b>{}.</b> {}</figcaption>\n</figure>",
        svg(plot),
        escape(&plot.title),
        escape(&plot.caption)
    );
}

fn draw_facts(out: &mut String, facts: &Facts) {
    let _ = writeln!(out, "<table class=\"facts\"><caption>{}</caption>", escape(&facts.title));
    rows(out, &facts.rows);
    out.push_str("</table>\n");
}

fn draw_table(out: &mut String, table: &Table) {
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"values\"><caption>{}</caption><thead>",
        escape(&table.title)
    );
    if let Some(spanner) = &table.spanner {
        let _ = writeln!(
            out,
            "<tr><td></td><th colspan=\"{}\" class=\"spanner\">{}</th></tr>",
            table.columns.len(),
            escape(spanner)
        );
    }
    let prose: Vec<bool> = (0..table.columns.len()).map(|at| is_prose(table, at)).collect();
    let _ = write!(out, "<tr><th>{}</th>", escape(&table.corner));
    for (at, column) in table.columns.iter().enumerate() {
        let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at));
        let words = cells.any(|cell| matches!(cell, Cell::Text(_)));
        let class = side(words, prose[at]);
        let _ = write!(out, "<th{class}>{}</th>", escape(&column.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        let class = if row.strong { " class=\"strong\"" } else { "" };
        let _ = write!(out, "<tr{class}><th>{}</th>", escape(&row.head));
        for (at, cell) in row.cells.iter().enumerate() {
            let is_prose = prose.get(at).copied().unwrap_or(false);
            let class = side(matches!(cell, Cell::Text(_)), is_prose);
            let _ = write!(out, "<td{class}>{}</td>", escape(&number::cell(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Where a cell's text stands: numbers to the right, words in the middle,
/// sentences at the left.
fn side(word: bool, prose: bool) -> &'static str {
    match (word, prose) {
        (true, true) => " class=\"word prose\"",
        (true, false) => " class=\"word\"",
        (false, _) => "",
    }
}

fn disclosed(out: &mut String, findings: &Findings) {
    out.push_str("<section class=\"chapter\">\n<h2>Disclosures</h2>\n<table class=\"caveats\">\n");
    for caveat in disclosures(findings) {
        let _ = writeln!(
            out,
            "<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
            caveat.name,
            escape(&caveat.text),
            escape(caveat.remedy)
        );
    }
    out.push_str("</table>\n</section>\n");
}

fn footer(out: &mut String, findings: &Findings) {
    let _ = writeln!(
        out,
        "<footer>{}. SHA-256 of the measured entries: {}</footer>",
        escape(&findings.software),
        escape(&findings.digest)
    );
}
