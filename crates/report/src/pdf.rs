//! Renders PDFs with typst: from our templates, the findings as a JSON file, plots as SVG files,
//! and embedded fonts.

use crate::fonts::fonts;
use crate::layout::{
    DuplicateFilter, PrintedExhibit, PrintedPage, as_is, borrows, chapter_number, is_left,
    is_slight, is_small, known, measured, suits_half,
};
use crate::page_one::{self, Badge, PageOneBlock, PrintedQuestion, anchor};
use crate::parts::{KINDS, disclosures, name, numbered_parts, simulated};
use crate::svg::{ACROSS, FULL, LOW, SMALL, TALL, svg_of_size, svgs_side_by_side, visible};
use crate::{ReportError, ReportTime, date, number};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use steadfast_domain::findings::{
    Cell, FormBlock, KeyFigure, Page, Plot, PlotKind, Setting, Table,
};
use steadfast_domain::glossary;
use steadfast_domain::text::printable_lines;
use steadfast_domain::{CaveatKind, Findings};
use typst::diag::{FileError, FileResult};
use typst::foundations::{Bytes, Datetime, Duration, Smart};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt, World};
use typst_pdf::{PdfOptions, PdfStandard, PdfStandards};

/// Template of the report: each number once.
const REPORT: &str = include_str!("report.typ");
/// Template of the report form, page by page.
const FORM: &str = include_str!("form.typ");
/// Functions shared by both templates.
const COMMON: &str = include_str!("common.typ");

/// Renders the findings as a report on A4: a summary on page one, then every plot and table once.
pub fn pdf(findings: &Findings, printed: &ReportTime) -> Result<Vec<u8>, ReportError> {
    let mut world = TypstWorld::new(REPORT)?;
    let mut content = common_content(findings, printed);
    content["cover"] = cover(findings, &mut world);
    content["sections"] = sections(findings, &mut world).into();
    typeset(world, content, findings)
}

/// Renders the findings as the report form on A4 landscape: every page of the form with its head
/// and complete content.
pub fn pdf_form(findings: &Findings, printed: &ReportTime) -> Result<Vec<u8>, ReportError> {
    let mut world = TypstWorld::new(FORM)?;
    let mut content = common_content(findings, printed);
    let mut forms = Vec::new();
    for (number, part) in numbered_parts(findings) {
        if !part.form_pages.is_empty() {
            forms.push(form(part, number, printed, &mut world));
        }
    }
    content["forms"] = forms.into();
    typeset(world, content, findings)
}

fn typeset(
    mut world: TypstWorld,
    mut content: Value,
    findings: &Findings,
) -> Result<Vec<u8>, ReportError> {
    make_printable(&mut content);
    let mut texts = Vec::new();
    collect_texts(&content, &mut texts);
    let drawings = world.files.values().filter_map(|file| std::str::from_utf8(file).ok());
    texts.extend(drawings.flat_map(visible));
    let used = glossary::abbreviations(texts);
    let used: Vec<_> = used.into_iter().map(|one| (one.short, one.meaning)).collect();
    content["abbreviations"] = json!(used);
    let text =
        serde_json::to_vec(&content).map_err(|error| ReportError::Encode(error.to_string()))?;
    world.add_file("findings.json", text)?;
    let compiled = typst::compile(&world);
    // Without convergence, page numbers would be wrong. That depends only on the templates, so
    // tests find it.
    debug_assert!(compiled.warnings.iter().all(|warning| !warning.message.contains("converge")));
    let document = compiled.output.map_err(typeset_error)?;
    let ident = || Smart::Custom(findings.digest.clone());
    let plain = PdfOptions { ident: ident(), ..PdfOptions::default() };
    let strict = PdfOptions { ident: ident(), standards: pdf_ua()?, ..PdfOptions::default() };
    // Fall back to a PDF without accessibility tags rather than none.
    let written = typst_pdf::pdf(&document, &strict).or_else(|_| typst_pdf::pdf(&document, &plain));
    written.map(without_suspects).map_err(typeset_error)
}

/// Blanks the entry `/Suspects false` of the catalog, which is the default: poppler before 24
/// warns about it. Length and offsets of the file stay the same.
fn without_suspects(mut pdf: Vec<u8>) -> Vec<u8> {
    const WRITTEN: &[u8] = b"/MarkInfo<</Marked true/Suspects false>>";
    const WANTED: &[u8] = b"/MarkInfo<</Marked true               >>";
    // The catalog is among the last objects.
    if let Some(at) = pdf.windows(WRITTEN.len()).rposition(|window| window == WRITTEN) {
        pdf[at..at + WRITTEN.len()].copy_from_slice(WANTED);
    }
    pdf
}

/// Returns the PDF standard of the documents: PDF/UA-1, for screen readers.
fn pdf_ua() -> Result<PdfStandards, ReportError> {
    PdfStandards::new(&[PdfStandard::Ua_1])
        .map_err(|error| ReportError::Typeset(error.message().to_string()))
}

/// Replaces characters that would reorder or hide the text around them.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(spelled) = printable_lines(text) {
                *text = spelled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_printable),
        Value::Object(fields) => fields.values_mut().for_each(make_printable),
        _ => {}
    }
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        _ => {}
    }
}

fn typeset_error<E: IntoIterator<Item = typst::diag::SourceDiagnostic>>(errors: E) -> ReportError {
    let messages: Vec<String> = errors.into_iter().map(|e| e.message.to_string()).collect();
    ReportError::Typeset(messages.join("; "))
}

/// Returns the content common to all documents.
fn common_content(findings: &Findings, printed: &ReportTime) -> Value {
    let at = date::civil(printed.report_unix_ms);
    let header = &findings.header;
    let all = disclosures(findings);
    let of_kind = |(kind, name): (CaveatKind, &str)| {
        let rows = all.iter().filter(|c| c.kind == kind).map(|c| (&c.text, c.remedy, &c.anchor));
        json!({ "anchor": anchor(kind), "name": name, "rows": rows.collect::<Vec<_>>() })
    };
    json!({
        "simulated": simulated(findings),
        "title": findings.title,
        "vendor": name(&header.vendor),
        "model": name(&header.model),
        "disclaimer": header.disclaimer,
        "report_date": date::date_time(printed.report_unix_ms),
        "document_date":
            (at.year(), at.month(), at.day(), at.hour(), at.minute(), at.second()),
        "software": findings.software,
        "digest": findings.digest,
        "dash": number::DASH,
        "caveats": KINDS.map(of_kind),
    })
}

fn cover(findings: &Findings, world: &mut TypstWorld) -> Value {
    let blocks = page_one::blocks(findings);
    let blocks: Vec<Value> = blocks.iter().map(|one| block(one, findings, world)).collect();
    let (first, others) = page_one::summary_tables(findings);
    let mut filter = DuplicateFilter::default();
    filter.unprinted(&first);
    let mut summaries = exhibits(&filter.unprinted(&others), world);
    if borrows(findings) {
        for part in findings.all_parts() {
            let of_part = DuplicateFilter::default().unprinted(&part.summary);
            let of_part = exhibits(&of_part, world);
            if !of_part.is_empty() {
                summaries.push(json!({ "kind": "heading", "text": part.title }));
                summaries.extend(of_part);
            }
        }
    }
    json!({
        "facts": (!findings.front.questions.is_empty()).then(|| page_one::drive_facts(findings)),
        "blocks": blocks,
        "summary": summaries,
        "run": date::time_sentence(findings),
        "disclosed": disclosures(findings).len(),
    })
}

/// Returns the content of a block of page one; the template draws it by its kind.
fn block(block: &PageOneBlock<'_>, findings: &Findings, world: &mut TypstWorld) -> Value {
    match block {
        PageOneBlock::Badges(all) => {
            let badge = |badge: &Badge| json!({ "text": badge.text, "tone": badge.tone.word(), "anchor": badge.to });
            json!({ "kind": "badges", "badges": all.iter().map(badge).collect::<Vec<_>>() })
        }
        PageOneBlock::BadgeMeaning(text) => json!({ "kind": "meaning", "text": text }),
        PageOneBlock::Conclusion => json!({
            "kind": "conclusion",
            "method": findings.method,
            "headline": findings.headline,
            "good": page_one::is_good(findings),
            "ending": findings.ending,
        }),
        PageOneBlock::Attention(lines) => json!({ "kind": "attention", "lines": lines }),
        PageOneBlock::Figures(all) => {
            let figure = |figure: &&KeyFigure| {
                let (value, unit) = (number::figure(figure), number::unit(figure));
                json!({ "label": figure.label, "value": value, "unit": unit })
            };
            json!({ "kind": "figures", "figures": all.iter().map(figure).collect::<Vec<_>>() })
        }
        PageOneBlock::Questions(all) => {
            let questions: Vec<Value> = all.iter().map(question_content).collect();
            json!({ "kind": "questions", "questions": questions })
        }
        PageOneBlock::Tables(all) => {
            let tables = exhibits(&DuplicateFilter::default().unprinted(all), world);
            json!({ "kind": "tables", "tables": tables })
        }
        PageOneBlock::Surroundings => json!({
            "kind": "surroundings",
            "device": rows(&findings.front.device),
            "conditions": rows(&findings.front.conditions),
        }),
        PageOneBlock::Tests(table) | PageOneBlock::Evidence(table) => table_content(table),
        PageOneBlock::Plots(plots) => {
            json!({ "kind": "plots", "plots": small_plots(plots, world) })
        }
    }
}

fn question_content(question: &PrintedQuestion<'_>) -> Value {
    let answers = question.answers.iter().map(|answer| {
        let value = number::figure(answer.figure);
        let label = &answer.figure.label;
        json!({ "label": label, "value": value, "unit": number::unit(answer.figure), "part": answer.part })
    });
    json!({
        "question": question.question,
        "answer": question.answer,
        "note": question.note,
        "answers": answers.collect::<Vec<_>>(),
        "sources": question.sources,
        "missing": question.missing,
    })
}

/// Stores plots: a single one as wide as the page, several at half its width.
fn small_plots(plots: &[Cow<'_, Plot>], world: &mut TypstWorld) -> Vec<Value> {
    let drawings = match plots {
        [only] => vec![svg_of_size(only, LOW)],
        several => svgs_side_by_side(several),
    };
    plots.iter().zip(drawings).map(|(plot, drawing)| plot_content(plot, drawing, world)).collect()
}

/// Returns the sections: the whole report if it has pages of its own, and every part.
fn sections(findings: &Findings, world: &mut TypstWorld) -> Vec<Value> {
    let mut whole = DuplicateFilter::default();
    let mut sections = Vec::new();
    for (number, part) in numbered_parts(findings) {
        let mut own = whole.of_part();
        let filter = if number == 0 { &mut whole } else { &mut own };
        sections.push(section(findings, part, number, filter, world));
    }
    sections
}

/// Returns the section of a part, or of the whole report's own content.
fn section<'a>(
    whole: &'a Findings,
    part: &'a Findings,
    number: usize,
    filter: &mut DuplicateFilter<'a>,
    world: &mut TypstWorld,
) -> Value {
    let of_many = !whole.parts.is_empty();
    let is_part = of_many && number > 0;
    let key_plots = page_one::own_plots(part);
    // A plot that fills page one is not repeated.
    if let ([only], false) = (key_plots.as_slice(), is_part) {
        filter.has(only);
    }
    let summary = filter.unprinted(&part.summary);
    let has_summary = is_part && !borrows(whole);
    let summary = if has_summary { exhibits(&summary, world) } else { Vec::new() };
    let key_ids: Vec<&str> = key_plots.iter().map(|plot| plot.id.as_str()).collect();
    let results = pages(filter.of_pages(&part.form_pages), &key_ids, world, |_| String::new());
    let number_of = |index| format!("{}  ", chapter_number(number, index, of_many));
    let chapters = pages(filter.of_pages(&part.chapters), &key_ids, world, number_of);
    let mut head = page_one::part_blocks(part);
    // Device and conditions are those of page one and of the part's settings.
    head.retain(|block| is_part && !matches!(block, PageOneBlock::Surroundings));
    let head: Vec<Value> = head.iter().map(|one| block(one, part, world)).collect();
    json!({
        "number": number,
        "is_part": is_part,
        "title": part.title,
        "head": head,
        "summary": summary,
        "results": results,
        "chapters": chapters,
    })
}

fn pages(
    pages: Vec<PrintedPage<'_>>,
    key_ids: &[&str],
    world: &mut TypstWorld,
    number: impl Fn(usize) -> String,
) -> Vec<Value> {
    let page = |page: PrintedPage<'_>| {
        json!({
            "title": format!("{}{}", number(page.index), page.title),
            "exhibits": exhibits_of_page(&page.exhibits, key_ids, world),
        })
    };
    pages.into_iter().map(page).collect()
}

/// Returns the form of one procedure with all its pages.
fn form(findings: &Findings, number: usize, printed: &ReportTime, world: &mut TypstWorld) -> Value {
    let header = &findings.header;
    let mut page = |page: &Page| {
        let shown: Vec<PrintedExhibit<'_>> = page.exhibits.iter().map(as_is).collect();
        let size = match shown.as_slice() {
            [PrintedExhibit::Plot(_)] => ACROSS,
            [PrintedExhibit::Plot(_), PrintedExhibit::Plot(_)] => TALL,
            _ => FULL,
        };
        let plots = shown.iter().filter(|one| matches!(one, PrintedExhibit::Plot(_))).count();
        let content = |one: &PrintedExhibit<'_>| match one {
            PrintedExhibit::Plot(plot) => {
                let mut content = plot_content(plot, svg_of_size(plot, size), world);
                // The template uses this drawing if the tables fit next to it.
                if plots == 1 && shown.len() > 1 {
                    content["tall"] = world.add_plot(svg_of_size(plot, TALL)).into();
                }
                content
            }
            other => exhibit_content(other, world),
        };
        json!({ "title": page.title, "exhibits": shown.iter().map(content).collect::<Vec<_>>() })
    };
    json!({
        "number": number,
        "pages": findings.form_pages.iter().map(&mut page).collect::<Vec<_>>(),
        "vendor": header.vendor,
        "model": header.model,
        "sponsor": header.sponsor,
        "issuer": header.issuer,
        "specification": header.specification,
        "disclaimer": header.disclaimer,
        "test": header.test,
        "subtitle": header.subtitle,
        "revision": header.revision,
        "run_from": date::date_time(findings.began_unix_ms),
        "report_date": date::date_time(printed.report_unix_ms),
        "blocks": header.blocks.iter().map(block_content).collect::<Vec<_>>(),
    })
}

/// Returns a block of the form's head, whose columns are narrow.
fn block_content(block: &FormBlock) -> Value {
    let row = |row: &Setting| (row.label.clone(), row.text().map(|text| breakable(&text, 20)));
    json!({ "title": block.title, "rows": block.rows.iter().map(row).collect::<Vec<_>>() })
}

/// Inserts break opportunities into words longer than `letters`.
fn breakable(text: &str, letters: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    for c in text.chars() {
        run = if c.is_whitespace() || c == '\u{200b}' { 0 } else { run + 1 };
        out.push(c);
        if run == letters {
            out.push('\u{200b}');
            run = 0;
        }
    }
    out
}

fn rows<'a>(rows: impl IntoIterator<Item = &'a Setting>) -> Vec<(String, Option<String>)> {
    rows.into_iter()
        .map(|row| (row.label.clone(), row.text().map(|text| breakable(&text, 30))))
        .collect()
}

/// Letters per line of a value and of its label, at half the width of a page.
const VALUE_LETTERS: usize = 34;
const LABEL_LETTERS: usize = 20;

/// Returns the number of lines of labeled values, with their title, at half the width of a page.
fn lines(rows: &[&Setting]) -> usize {
    let of_row = |row: &&Setting| {
        let letters = row.text().map_or(1, |text| text.chars().count());
        let label_letters = row.label.chars().count();
        letters.div_ceil(VALUE_LETTERS).max(label_letters.div_ceil(LABEL_LETTERS)).max(1)
    };
    2 + rows.iter().map(of_row).sum::<usize>()
}

/// Returns the exhibits; important plots and those that need it are as wide as the page.
fn exhibits_of_page(
    shown: &[PrintedExhibit<'_>],
    key_ids: &[&str],
    world: &mut TypstWorld,
) -> Vec<Value> {
    shown
        .iter()
        .map(|exhibit| match exhibit {
            PrintedExhibit::Plot(plot)
                if suits_half(plot)
                    && (is_slight(plot) || !key_ids.contains(&plot.id.as_str())) =>
            {
                let mut content = plot_content(plot, svg_of_size(plot, SMALL), world);
                content["kind"] = "half".into();
                // If nothing is next to it, it uses the full width.
                if !is_slight(plot) {
                    content["whole"] = world.add_plot(svg_of_size(plot, LOW)).into();
                }
                content
            }
            PrintedExhibit::Facts(facts) => {
                let (known, unknown) = known(facts);
                let lines = lines(&known);
                json!({
                    "kind": "facts",
                    "title": facts.title,
                    "rows": rows(known),
                    "unknown": unknown,
                    "lines": lines,
                })
            }
            other => exhibit_content(other, world),
        })
        .collect()
}

fn exhibits(shown: &[PrintedExhibit<'_>], world: &mut TypstWorld) -> Vec<Value> {
    shown.iter().map(|exhibit| exhibit_content(exhibit, world)).collect()
}

fn exhibit_content(exhibit: &PrintedExhibit<'_>, world: &mut TypstWorld) -> Value {
    match exhibit {
        PrintedExhibit::Table(table) => table_content(table),
        PrintedExhibit::Facts(facts) => {
            json!({ "kind": "facts", "title": facts.title, "rows": rows(&facts.rows) })
        }
        PrintedExhibit::Text(text) => json!({ "kind": "text", "text": text }),
        PrintedExhibit::Nothing(text) => json!({ "kind": "nothing", "text": text }),
        PrintedExhibit::Listing(text) => json!({ "kind": "listing", "text": text }),
        PrintedExhibit::Plot(plot) => plot_content(plot, svg_of_size(plot, LOW), world),
    }
}

fn plot_content(plot: &Plot, drawing: String, world: &mut TypstWorld) -> Value {
    json!({
        "kind": "plot",
        "file": world.add_plot(drawing),
        "title": plot.title,
        "caption": plot.caption,
        // Columns in perspective have one size, the width of a page.
        "wide": plot.kind == PlotKind::Columns3d,
        "alt": format!("{}. {}", plot.title, plot.caption),
    })
}

fn table_content(table: &Table) -> Value {
    let (table, unmeasured) = measured(table);
    let table = table.as_ref();
    let printed = number::printed(table);
    let heads = heads(table);
    let rows = table.rows.iter().zip(&printed).zip(&heads).map(|((row, texts), head)| {
        let cell = |(cell, text): (&Cell, &String)| {
            let word = matches!(cell, Cell::Text(_));
            json!({ "text": if word { breakable(text, CELL_WORD_MAX) } else { text.clone() }, "word": word })
        };
        let cells: Vec<Value> = row.cells.iter().zip(texts).map(cell).collect();
        let head = breakable_name(head);
        json!({ "head": head, "cells": cells, "strong": row.strong, "gray": row.gray, "marked": row.marked })
    });
    json!({
        "kind": "table",
        "title": table.title,
        "unmeasured": unmeasured,
        "corner": table.corner,
        "spanner": table.spanner,
        "columns": table.columns.iter().map(|column| &column.name).collect::<Vec<_>>(),
        "small": is_small(table),
        "words": (0..table.columns.len()).map(|at| has_only_texts(table, at)).collect::<Vec<_>>(),
        "left": (0..table.columns.len()).map(|at| is_left(table, at)).collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// Length from which a hexadecimal ID is shortened, and the number of digits kept (as Docker
/// shows).
const LONG_ID_DIGITS: usize = 32;
const SHORT_ID_DIGITS: usize = 12;

/// Returns the row names. Long IDs are shortened if they stay distinct.
fn heads(table: &Table) -> Vec<String> {
    let whole: Vec<String> = table.rows.iter().map(|row| row.head.clone()).collect();
    let short: Vec<String> = whole.iter().map(|head| short_ids(head)).collect();
    let count = |heads: &[String]| heads.iter().collect::<HashSet<_>>().len();
    if count(&short) == count(&whole) { short } else { whole }
}

/// Shortens long hexadecimal numbers to their first digits: `docker-0123456789ab….scope`.
fn short_ids(name: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(name.len()), name);
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let piece = if digits == 0 { first.len_utf8() } else { digits };
        let kept = if digits < LONG_ID_DIGITS { piece } else { SHORT_ID_DIGITS };
        out.push_str(&rest[..kept]);
        if kept < piece {
            out.push('…');
        }
        rest = &rest[piece..];
    }
    out
}

/// Maximum length of an unbroken word in a row name.
const NAME_WORD_MAX: usize = 18;

/// Inserts break opportunities into long words of a row name: after a hyphen, and after a few
/// letters.
fn breakable_name(name: &str) -> String {
    let pieces = name.split_inclusive(' ').map(|word| match word.chars().count() {
        0..=NAME_WORD_MAX => word.to_owned(),
        _ => breakable(&word.replace('/', "/\u{200b}"), 6),
    });
    pieces.collect()
}

/// Maximum length of an unbroken word in a cell.
const CELL_WORD_MAX: usize = 16;

/// Returns true if a column contains texts and no number.
fn has_only_texts(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    cells.clone().any(|cell| matches!(cell, Cell::Text(_)))
        && !cells.any(|cell| matches!(cell, Cell::Number { .. }))
}

/// Inputs of the typesetter: template, files and fonts.
struct TypstWorld {
    library: LazyHash<Library>,
    main: FileId,
    common: FileId,
    sources: [Source; 2],
    files: HashMap<FileId, Bytes>,
    plots: usize,
}

fn file_id(name: &str) -> Result<FileId, ReportError> {
    let path = VirtualPath::new(name)
        .map_err(|_| ReportError::Typeset(format!("'{name}' is not a file name")))?;
    Ok(RootedPath::new(VirtualRoot::Project, path).intern())
}

impl TypstWorld {
    /// Creates the inputs for a template.
    fn new(template: &str) -> Result<Self, ReportError> {
        let (main, common) = (file_id("main.typ")?, file_id("common.typ")?);
        Ok(TypstWorld {
            library: LazyHash::new(Library::default()),
            main,
            common,
            sources: [
                Source::new(main, template.to_owned()),
                Source::new(common, COMMON.to_owned()),
            ],
            files: HashMap::new(),
            plots: 0,
        })
    }

    fn add_file(&mut self, name: &str, content: Vec<u8>) -> Result<(), ReportError> {
        self.files.insert(file_id(name)?, Bytes::new(content));
        Ok(())
    }

    /// Stores a plot and returns its file name.
    fn add_plot(&mut self, drawing: String) -> String {
        self.plots += 1;
        let name = format!("plot-{}.svg", self.plots);
        // The name consists of letters and digits, so it is valid.
        let _ = self.add_file(&name, drawing.into_bytes());
        name
    }
}

/// Returns the index of the fonts, which is computed once.
fn font_book() -> &'static LazyHash<FontBook> {
    static BOOK: OnceLock<LazyHash<FontBook>> = OnceLock::new();
    BOOK.get_or_init(|| LazyHash::new(FontBook::from_fonts(fonts())))
}

impl World for TypstWorld {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }
    fn book(&self) -> &LazyHash<FontBook> {
        font_book()
    }
    fn main(&self) -> FileId {
        self.main
    }
    fn source(&self, id: FileId) -> FileResult<Source> {
        match id {
            id if id == self.main => Ok(self.sources[0].clone()),
            id if id == self.common => Ok(self.sources[1].clone()),
            _ => Err(missing()),
        }
    }
    fn file(&self, id: FileId) -> FileResult<Bytes> {
        self.files.get(&id).cloned().ok_or_else(missing)
    }
    fn font(&self, index: usize) -> Option<Font> {
        fonts().get(index).cloned()
    }
    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}

fn missing() -> FileError {
    FileError::Other(Some("there is no such file in a report".into()))
}
