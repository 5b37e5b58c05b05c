//! One self-contained web page: no script, no reference to anything outside.

use crate::svg::{escape, svg};
use crate::text::KINDS;
use crate::{Printed, date, number};
use std::fmt::Write;
use steadfast_domain::findings::{Cell, Exhibit, Facts, FormBlock, FormHeader, Page, Plot, Table};
use steadfast_domain::{Caveat, CaveatKind, Findings};

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
        if findings.simulated { " class=\"simulated\"" } else { "" }
    );
    cover(&mut out, findings, printed);
    for (index, page) in findings.form_pages.iter().enumerate() {
        form_page(&mut out, findings, printed, index, page);
    }
    for (index, chapter) in findings.chapters.iter().enumerate() {
        let _ = writeln!(
            out,
            "<section class=\"chapter\">\n<h2>{}&ensp;{}</h2>",
            index + 1,
            escape(&chapter.title)
        );
        exhibits(&mut out, &chapter.exhibits);
        out.push_str("</section>\n");
    }
    disclosures(&mut out, findings);
    footer(&mut out, findings);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn cover(out: &mut String, findings: &Findings, printed: &Printed) {
    let header = &findings.header;
    let model = header.model.as_deref().unwrap_or("no model name");
    let vendor = header.vendor.as_deref().map(|v| format!("{v} ")).unwrap_or_default();
    let _ = write!(
        out,
        "<section class=\"cover\">\n{}<h1>{}</h1>\n<p class=\"device\">{}{}</p>\n<p \
         class=\"headline\">{}</p>\n<p>{}</p>\n",
        if findings.simulated { "<p class=\"stamp\">SIMULATED</p>\n" } else { "" },
        escape(&findings.title),
        escape(&vendor),
        escape(model),
        escape(&findings.headline),
        escape(&findings.method),
    );
    let steady = findings.verdict.as_ref().map(|v| v.steady);
    let class = if steady == Some(true) { "steady" } else { "not-steady" };
    let _ = writeln!(out, "<p class=\"verdict {class}\">{}</p>", escape(&findings.ending));
    for caveat in findings.caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates) {
        let _ = writeln!(
            out,
            "<p class=\"attention\">{} {}</p>",
            escape(&caveat.text),
            escape(&caveat.remedy)
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"dates\">Run {} to {}. Report made {}. {} disclosures: see the last section.</p>",
        date::date_time(findings.run_unix_ms.0),
        date::date_time(findings.run_unix_ms.1),
        date::date_time(printed.report_unix_ms),
        findings.caveats.len()
    );
    exhibits(out, &findings.summary);
    out.push_str("</section>\n");
}

fn form_page(out: &mut String, findings: &Findings, printed: &Printed, index: usize, page: &Page) {
    out.push_str("<section class=\"form\">\n");
    form_head(out, findings, printed, index);
    let _ = writeln!(out, "<h2>{}</h2>", escape(&page.title));
    exhibits(out, &page.exhibits);
    let _ = writeln!(
        out,
        "<p class=\"foot\">Plot {}.{} - {}</p>\n</section>",
        1,
        index + 1,
        escape(&page.title)
    );
}

fn form_head(out: &mut String, findings: &Findings, printed: &Printed, index: usize) {
    let header: &FormHeader = &findings.header;
    let known = |value: &Option<String>| escape(value.as_deref().unwrap_or(number::DASH));
    let _ = write!(
        out,
        "<table class=\"formhead\"><tr><th>Test Run Date:</th><td>{}</td><th>Report Run Date:</th>\
         <td>{}</td></tr>\n<tr><td colspan=\"4\" class=\"testname\">{} - Report Page</td></tr>\n\
         <tr><th>SNIA SSS TWG</th><td>Solid State Storage Performance Test Spec (PTS)</td><td>{}\
         </td><td>Rev. {}<br>Page {} of {}</td></tr>\n<tr><th>Vendor: {}</th><td>SSD Model: {}</td>\
         <td colspan=\"2\">TEST SPONSOR: {}</td></tr></table>\n",
        date::date_time(findings.run_unix_ms.0),
        date::date_time(printed.report_unix_ms),
        escape(&header.test),
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

fn rows(out: &mut String, rows: &[(String, Option<String>)]) {
    for (label, value) in rows {
        let value = value.as_deref().unwrap_or(number::DASH);
        let _ = writeln!(out, "<tr><th>{}</th><td>{}</td></tr>", escape(label), escape(value));
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
    let _ = write!(out, "<tr><th>{}</th>", escape(&table.corner));
    for column in &table.columns {
        let _ = write!(out, "<th>{}</th>", escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        let class = if row.strong { " class=\"strong\"" } else { "" };
        let _ = write!(out, "<tr{class}><th>{}</th>", escape(&row.head));
        for cell in &row.cells {
            let class = if matches!(cell, Cell::Text(_)) { " class=\"word\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escape(&number::cell(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn disclosures(out: &mut String, findings: &Findings) {
    out.push_str("<section class=\"chapter\">\n<h2>Disclosures</h2>\n<table class=\"caveats\">\n");
    for (kind, name) in KINDS {
        for Caveat { text, remedy, .. } in findings.caveats.iter().filter(|c| c.kind == kind) {
            let _ = writeln!(
                out,
                "<tr><th>{name}</th><td>{}</td><td>{}</td></tr>",
                escape(text),
                escape(remedy)
            );
        }
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
