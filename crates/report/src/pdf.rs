//! The PDF: a template of ours, the findings as a JSON file and the plots as SVG
//! files beside it, typeset by typst with fonts that the program carries.

use crate::parts::{disclosures, parts, simulated};
use crate::svg::svg;
use crate::{Printed, ReportError, date, html, number};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;
use steadfast_domain::findings::{Cell, Column, Exhibit, FormBlock, Page, Setting, Table};
use steadfast_domain::text::printable_lines;
use steadfast_domain::{CaveatKind, Findings};
use typst::diag::{FileError, FileResult};
use typst::foundations::{Bytes, Datetime, Duration, Smart};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt, World};
use typst_pdf::PdfOptions;

const TEMPLATE: &str = include_str!("report.typ");

/// The findings as a PDF, A4.
pub fn pdf(findings: &Findings, printed: &Printed) -> Result<Vec<u8>, ReportError> {
    let mut desk = Desk::new()?;
    let mut content = content(findings, printed, &mut desk);
    spell_out(&mut content);
    let text =
        serde_json::to_vec(&content).map_err(|error| ReportError::Encode(error.to_string()))?;
    desk.put("findings.json", text)?;
    let document = typst::compile(&desk).output.map_err(said)?;
    let options =
        PdfOptions { ident: Smart::Custom(findings.digest.clone()), ..PdfOptions::default() };
    typst_pdf::pdf(&document, &options).map_err(said)
}

/// Spells out what would reorder or hide the text around it.
fn spell_out(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(spelled) = printable_lines(text) {
                *text = spelled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_out),
        Value::Object(fields) => fields.values_mut().for_each(spell_out),
        _ => {}
    }
}

fn said<E: IntoIterator<Item = typst::diag::SourceDiagnostic>>(errors: E) -> ReportError {
    let messages: Vec<String> = errors.into_iter().map(|e| e.message.to_string()).collect();
    ReportError::Typeset(messages.join("; "))
}

/// Everything that the template prints, as it prints.
fn content(findings: &Findings, printed: &Printed, desk: &mut Desk) -> Value {
    let (year, month, day, hour, minute, second) = date::civil(printed.report_unix_ms);
    let parts = parts(findings);
    let of_many = !parts.is_empty();
    let mut sections = vec![section(findings, usize::from(!of_many), false, desk)];
    for (number, part) in (1..).zip(&parts) {
        sections.push(section(part, number, of_many, desk));
    }
    // Where the cover has no summary of its own, it has the parts'.
    let borrowed = findings.summary.is_empty();
    if borrowed {
        sections.iter_mut().skip(1).for_each(|part| part["cover_summary"] = Value::Bool(true));
    }
    let caveats = disclosures(findings);
    let attention = caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates);
    json!({
        "simulated": simulated(findings),
        "attention": attention.map(|c| format!("{} {}", c.text, c.remedy)).collect::<Vec<_>>(),
        "report_date": date::date_time(printed.report_unix_ms),
        "document_date": (year, month, day, hour, minute, second),
        "software": findings.software,
        "digest": findings.digest,
        "dash": number::DASH,
        "sections": sections,
        "caveats": caveats
            .iter()
            .map(|c| json!({ "kind": c.name, "text": c.text, "remedy": c.remedy }))
            .collect::<Vec<_>>(),
    })
}

/// One procedure of the report, or the whole of it.
fn section(findings: &Findings, number: usize, of_many: bool, desk: &mut Desk) -> Value {
    let header = &findings.header;
    let chapters: Vec<Value> = pages(&findings.chapters, desk)
        .into_iter()
        .enumerate()
        .map(|(index, mut page)| {
            page["number"] = html::chapter_number(number, index, of_many).into();
            page
        })
        .collect();
    json!({
        "number": number,
        "title": findings.title,
        "vendor": header.vendor,
        "model": header.model,
        "sponsor": header.sponsor,
        "issuer": header.issuer,
        "specification": header.specification,
        "lesser": header.lesser,
        "test": header.test,
        "subtitle": header.subtitle,
        "revision": header.revision,
        "method": findings.method,
        "headline": findings.headline,
        "good": findings.whole_end().good(),
        "ending": findings.ending,
        "run_from": date::date_time(findings.run_unix_ms.0),
        "run_to": date::date_time(findings.run_unix_ms.1),
        "blocks": header.blocks.iter().map(block_content).collect::<Vec<_>>(),
        "summary": exhibits(&findings.summary, desk),
        "cover_summary": false,
        "form_pages": pages(&findings.form_pages, desk),
        "chapters": chapters,
    })
}

/// A block of the form's head; its columns are narrow.
fn block_content(block: &FormBlock) -> Value {
    let row = |row: &Setting| (row.label.clone(), row.text().map(|text| breakable(&text, 16)));
    json!({ "title": block.title, "rows": block.rows.iter().map(row).collect::<Vec<_>>() })
}

/// With a place to break after so many letters of a word without one.
fn breakable(text: &str, letters: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    for c in text.chars() {
        run = if c.is_whitespace() { 0 } else { run + 1 };
        out.push(c);
        if run == letters {
            out.push('\u{200b}');
            run = 0;
        }
    }
    out
}

fn pages(pages: &[Page], desk: &mut Desk) -> Vec<Value> {
    let page = |page: &Page, desk: &mut Desk| json!({ "title": page.title, "exhibits": exhibits(&page.exhibits, desk) });
    pages.iter().map(|p| page(p, desk)).collect()
}

fn exhibits(exhibits: &[Exhibit], desk: &mut Desk) -> Vec<Value> {
    exhibits
        .iter()
        .map(|exhibit| match exhibit {
            Exhibit::Table(table) => table_content(table),
            Exhibit::Facts(facts) => {
                let row = |row: &Setting| (row.label.clone(), row.text());
                let rows: Vec<(String, Option<String>)> = facts.rows.iter().map(row).collect();
                json!({ "kind": "facts", "title": facts.title, "rows": rows })
            }
            Exhibit::Text(text) => json!({ "kind": "text", "text": text }),
            Exhibit::Listing(text) => json!({ "kind": "listing", "text": text }),
            Exhibit::Plot(plot) => json!({
                "kind": "plot",
                "file": desk.put_plot(svg(plot)),
                "title": plot.title,
                "caption": plot.caption,
            }),
        })
        .collect()
}

fn table_content(table: &Table) -> Value {
    let narrow = if table.columns.len() > 6 { 10 } else { 16 };
    let rows = table.rows.iter().map(|row| {
        let cell = |cell: &Cell| {
            let word = matches!(cell, Cell::Text(_));
            let text = number::cell(cell);
            json!({ "text": if word { breakable(&text, narrow) } else { text }, "word": word })
        };
        let cells: Vec<Value> = row.cells.iter().map(cell).collect();
        json!({ "head": row.head, "cells": cells, "strong": row.strong })
    });
    json!({
        "kind": "table",
        "title": table.title,
        "corner": table.corner,
        "spanner": table.spanner,
        "columns": table.columns.iter().map(|column| &column.name).collect::<Vec<_>>(),
        "widths": widths(table, 40),
        "letters": widths(table, 0).iter().map(|letters| letters + 2).sum::<usize>() - 2,
        "words": (0..table.columns.len()).map(|at| of_words(table, at)).collect::<Vec<_>>(),
        "prose": (0..table.columns.len()).map(|at| is_prose(table, at)).collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// Whether a column holds texts and no number.
fn of_words(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    cells.clone().any(|cell| matches!(cell, Cell::Text(_)))
        && !cells.any(|cell| matches!(cell, Cell::Number { .. }))
}

/// Letters of a text that is read as a sentence, not as a value.
const SENTENCE: usize = 24;

/// Whether a column holds sentences: they begin at its left edge, and do not
/// stand in its middle.
pub(crate) fn is_prose(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    cells.any(|cell| matches!(cell, Cell::Text(text) if text.chars().count() > SENTENCE))
}

/// Letters that each column needs, the first column's first: numbers are never
/// broken, long words are. A sentence has up to so many letters of a line.
fn widths(table: &Table, sentence: usize) -> Vec<usize> {
    let word_max = if table.columns.len() > 6 { 10 } else { 16 };
    let longest_word =
        |text: &str| text.split_whitespace().map(|w| w.chars().count()).max().unwrap_or(0);
    let of_cell = |cell: &Cell| match cell {
        Cell::Text(text) => longest_word(text)
            .clamp(4, word_max)
            .max(text.chars().count().div_ceil(2).min(sentence)),
        number => number::cell(number).chars().count() + 1,
    };
    let heads = table.rows.iter().map(|row| row.head.chars().count().min(30));
    let first = heads.chain([longest_word(&table.corner)]).max().unwrap_or(1);
    let column = |(at, column): (usize, &Column)| {
        let name = &column.name;
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at)).map(of_cell);
        cells.chain([longest_word(name), name.chars().count().min(7)]).max().unwrap_or(1).max(3)
    };
    std::iter::once(first).chain(table.columns.iter().enumerate().map(column)).collect()
}

/// What the typesetter sees of the world: its template, our files, the fonts.
struct Desk {
    library: LazyHash<Library>,
    main: FileId,
    source: Source,
    files: HashMap<FileId, Bytes>,
    plots: usize,
}

fn file_id(name: &str) -> Result<FileId, ReportError> {
    let path = VirtualPath::new(name)
        .map_err(|_| ReportError::Typeset(format!("'{name}' is not a file name")))?;
    Ok(RootedPath::new(VirtualRoot::Project, path).intern())
}

impl Desk {
    fn new() -> Result<Self, ReportError> {
        let main = file_id("report.typ")?;
        Ok(Desk {
            library: LazyHash::new(Library::default()),
            main,
            source: Source::new(main, TEMPLATE.to_owned()),
            files: HashMap::new(),
            plots: 0,
        })
    }

    fn put(&mut self, name: &str, content: Vec<u8>) -> Result<(), ReportError> {
        self.files.insert(file_id(name)?, Bytes::new(content));
        Ok(())
    }

    /// Keeps a plot and returns the name of its file.
    fn put_plot(&mut self, drawing: String) -> String {
        self.plots += 1;
        let name = format!("plot-{}.svg", self.plots);
        // A name of letters and digits is a file name.
        let _ = self.put(&name, drawing.into_bytes());
        name
    }
}

struct Fonts {
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
}

/// The fonts are parsed once: they are the same for every report.
fn fonts() -> &'static Fonts {
    static FONTS: OnceLock<Fonts> = OnceLock::new();
    FONTS.get_or_init(|| {
        let fonts: Vec<Font> =
            typst_assets::fonts().flat_map(|data| Font::iter(Bytes::new(data))).collect();
        Fonts { book: LazyHash::new(FontBook::from_fonts(&fonts)), fonts }
    })
}

impl World for Desk {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }
    fn book(&self) -> &LazyHash<FontBook> {
        &fonts().book
    }
    fn main(&self) -> FileId {
        self.main
    }
    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.main { Ok(self.source.clone()) } else { Err(missing()) }
    }
    fn file(&self, id: FileId) -> FileResult<Bytes> {
        self.files.get(&id).cloned().ok_or_else(missing)
    }
    fn font(&self, index: usize) -> Option<Font> {
        fonts().fonts.get(index).cloned()
    }
    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}

fn missing() -> FileError {
    FileError::Other(Some("there is no such file in a report".into()))
}
