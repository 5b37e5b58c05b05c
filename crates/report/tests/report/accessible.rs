//! The PDFs are tagged as PDF/UA-1 requires: a structure tree, a language, a displayed title,
//! properly nested headings, and alternative text for every picture. Properties that pages do not
//! show are read from the files.

use super::{PRINTED, findings, suite};
use std::io::Read;
use steadfast_domain::Findings;
use steadfast_report::{pdf, pdf_form};

/// Returns the document followed by all its streams, decompressed.
fn unpacked(document: &[u8]) -> String {
    let mut out = document.to_vec();
    let mut rest = document;
    while let Some(at) = find(rest, b"stream\n") {
        rest = &rest[at + 7..];
        let mut plain = Vec::new();
        // A stream that is not compressed, such as metadata, is readable as it is.
        if flate2::read::ZlibDecoder::new(rest).read_to_end(&mut plain).is_ok() {
            out.push(b'\n');
            out.extend(plain);
        }
    }
    // Names may have a space before them or not.
    String::from_utf8_lossy(&out).replace("/S /", "/S/")
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Returns the number of pages of a document.
pub fn pages(document: &[u8]) -> usize {
    let text = unpacked(document);
    let pages = text.split("/Type /Page").skip(1).filter(|rest| !rest.starts_with('s'));
    pages.count() + text.split("/Type/Page").skip(1).filter(|rest| !rest.starts_with('s')).count()
}

fn documents() -> Vec<(&'static str, Vec<u8>)> {
    let one: Findings = findings(false);
    vec![
        ("report", pdf(&one, &PRINTED).unwrap()),
        ("simulated", pdf(&findings(true), &PRINTED).unwrap()),
        ("suite", pdf(&suite(), &PRINTED).unwrap()),
        ("form", pdf_form(&one, &PRINTED).unwrap()),
    ]
}

#[test]
fn documents_are_tagged() {
    for (name, document) in documents() {
        let text = unpacked(&document);
        for wanted in ["/StructTreeRoot", "/MarkInfo", "/Marked true", "/Lang", "/Title"] {
            assert!(text.contains(wanted), "{name}: {wanted}");
        }
        assert!(text.contains("/DisplayDocTitle true"), "{name}: the title is not shown");
        assert!(text.contains("pdfuaid"), "{name}: the metadata does not name PDF/UA");
        let figures = text.matches("/S/Figure").count();
        assert!(figures > 0, "{name} has no figure");
        assert!(text.matches("/Alt").count() >= figures, "{name}: a figure without a text");
        nested(name, &text);
    }
}

/// No text is printed too small to be read comfortably on paper. A drawing as wide as the page has
/// letters of size 13, which come out as 9 points.
#[test]
fn no_letters_are_too_small() {
    for (name, document) in documents() {
        let least = if name == "form" { 7.5 } else { 9.0 };
        let text = unpacked(&document);
        // `/f0 9 Tf`: a font and its size; other occurrences of these letters are accidental.
        let size = |(end, _): (usize, &str)| {
            let mut words = text[..end].rsplit(' ');
            let size = words.next()?.parse::<f64>().ok()?;
            words.next().filter(|name| name.contains("/f")).map(|_| size)
        };
        let sizes: Vec<f64> = text.match_indices(" Tf").filter_map(size).collect();
        assert!(sizes.len() > 100, "{name}: {} texts", sizes.len());
        let smallest = sizes.into_iter().fold(f64::INFINITY, f64::min);
        assert!(smallest >= least, "{name}: {smallest} pt");
    }
    let drawing = steadfast_report::svg(&super::window());
    let number = |text: &str| text.split('"').next().and_then(|text| text.parse::<f64>().ok());
    let after = |name: &str| drawing.split(name).skip(1).filter_map(number).collect::<Vec<f64>>();
    let width = after(" width=\"")[0];
    // 176 mm in points.
    let scale = 176.0 / 25.4 * 72.0 / width;
    assert!(after("font-size=\"").into_iter().all(|size| size * scale >= 8.99), "{width}");
}

/// No heading is more than one level below the previous one.
fn nested(name: &str, text: &str) {
    let has = |level: &i32| text.contains(&format!("/S/H{level}"));
    assert!(has(&1), "{name} has no heading");
    let deepest = (1..=6).filter(has).max().unwrap_or(1);
    assert!((1..=deepest).all(|level| has(&level)), "{name}: a level of headings is left out");
}
