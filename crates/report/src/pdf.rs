//! The PDF: a template of ours, the findings as a JSON file and the plots as SVG
//! files beside it, typeset by typst with fonts that the program carries.

use crate::svg::svg;
use crate::text::KINDS;
use crate::{Printed, ReportError, date, number};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;
use steadfast_domain::findings::{Cell, Exhibit, Page, Table};
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
    let content = content(findings, printed, &mut desk);
    let text =
        serde_json::to_vec(&content).map_err(|error| ReportError::Encode(error.to_string()))?;
    desk.put("findings.json", text)?;
    let document = typst::compile(&desk).output.map_err(said)?;
    let options =
        PdfOptions { ident: Smart::Custom(findings.digest.clone()), ..PdfOptions::default() };
    typst_pdf::pdf(&document, &options).map_err(said)
}

fn said<E: IntoIterator<Item = typst::diag::SourceDiagnostic>>(errors: E) -> ReportError {
    let messages: Vec<String> = errors.into_iter().map(|e| e.message.to_string()).collect();
    ReportError::Typeset(messages.join("; "))
}

/// Everything that the template prints, as it prints.
fn content(findings: &Findings, printed: &Printed, desk: &mut Desk) -> Value {
    let header = &findings.header;
    let (year, month, day, hour, minute, second) = date::civil(printed.report_unix_ms);
    let attention = findings.caveats.iter().filter(|c| c.kind == CaveatKind::Invalidates);
    let caveats = KINDS.iter().flat_map(|(kind, name)| {
        findings
            .caveats
            .iter()
            .filter(move |c| c.kind == *kind)
            .map(move |c| json!({ "kind": name, "text": c.text, "remedy": c.remedy }))
    });
    json!({
        "title": findings.title,
        "vendor": header.vendor,
        "model": header.model,
        "sponsor": header.sponsor,
        "test": header.test,
        "subtitle": header.subtitle,
        "revision": header.revision,
        "method": findings.method,
        "headline": findings.headline,
        "simulated": findings.simulated,
        "steady": findings.verdict.as_ref().is_some_and(|v| v.steady),
        "ending": findings.ending,
        "attention": attention.map(|c| format!("{} {}", c.text, c.remedy)).collect::<Vec<_>>(),
        "run_from": date::date_time(findings.run_unix_ms.0),
        "run_to": date::date_time(findings.run_unix_ms.1),
        "report_date": date::date_time(printed.report_unix_ms),
        "document_date": (year, month, day, hour, minute, second),
        "software": findings.software,
        "digest": findings.digest,
        "dash": number::DASH,
        "blocks": header.blocks,
        "summary": exhibits(&findings.summary, desk),
        "form_pages": pages(&findings.form_pages, desk),
        "chapters": pages(&findings.chapters, desk),
        "caveats": caveats.collect::<Vec<_>>(),
    })
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
                json!({ "kind": "facts", "title": facts.title, "rows": facts.rows })
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
    let rows = table.rows.iter().map(|row| {
        let cells: Vec<Value> = row
            .cells
            .iter()
            .map(
                |cell| json!({ "text": number::cell(cell), "word": matches!(cell, Cell::Text(_)) }),
            )
            .collect();
        json!({ "head": row.head, "cells": cells, "strong": row.strong })
    });
    json!({
        "kind": "table",
        "title": table.title,
        "corner": table.corner,
        "spanner": table.spanner,
        "columns": table.columns,
        "rows": rows.collect::<Vec<_>>(),
    })
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
        .map_err(|_| ReportError::Typeset(format!("'{name}' is no file name")))?;
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
