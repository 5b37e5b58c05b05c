//! Renders a card for sharing: one picture with the drive, up to eight key figures, and how and
//! when they were measured.
//!
//! Texts are measured with the embedded fonts and drawn as outlines, so that none is wider than its
//! place whatever fonts the viewer has.

use crate::fonts::text_width;
use crate::page_one::{self, BadgeTone};
use crate::parts::{name, simulated};
use crate::svg::escape;
use crate::{ReportError, date, number};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, WriteOptions, fontdb};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use steadfast_domain::Findings;
use steadfast_domain::findings::KeyFigure;

/// Size of the picture in dots, as social networks show it (our choice).
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 56.0;
/// Width of the lines of text that span the card.
const LINE_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

/// Maximum number of figures, in rows of [`COLUMNS`].
const FIGURES_MAX: usize = 8;
const COLUMNS: usize = 4;
const GUTTER: f64 = 24.0;

const INK: &str = "#1b1b1b";
const GRAY: &str = "#4a4a4a";
const RED: &str = "#b42318";
const BLUE: &str = "#0b4f8a";

/// Returns the card as an SVG document in which letters are outlines.
///
/// # Errors
/// Returns [`ReportError::Card`] if the drawing library rejects the picture.
pub fn card_svg(findings: &Findings) -> Result<String, ReportError> {
    let options = WriteOptions { preserve_text: false, ..WriteOptions::default() };
    Ok(tree(findings)?.to_string(&options))
}

/// Returns the card as a PNG picture of 1200 x 630 dots.
///
/// # Errors
/// Returns [`ReportError::Card`] if the drawing library rejects the picture.
pub fn card_png(findings: &Findings) -> Result<Vec<u8>, ReportError> {
    let tree = tree(findings)?;
    let no_memory = || ReportError::Card("the picture does not fit into memory".to_owned());
    let mut pixmap = Pixmap::new(WIDTH as u32, HEIGHT as u32).ok_or_else(no_memory)?;
    resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| ReportError::Card(error.to_string()))
}

fn tree(findings: &Findings) -> Result<Tree, ReportError> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut all = fontdb::Database::new();
        typst_assets::fonts().for_each(|data| all.load_font_data(data.to_vec()));
        Arc::new(all)
    });
    let options = Options { fontdb: Arc::clone(fonts), ..Options::default() };
    Tree::from_str(&svg_source(findings), &options)
        .map_err(|error| ReportError::Card(error.to_string()))
}

/// Format of a text in one line.
#[derive(Clone, Copy)]
struct CardText {
    is_bold: bool,
    size: f64,
    color: &'static str,
    /// Largest width; a longer text ends in an ellipsis.
    width: f64,
}

impl CardText {
    /// Returns the text as far as it fits, with an ellipsis if it is cut.
    fn fitted(self, text: &str) -> String {
        let width = |text: &str| text_width(text, self.is_bold) * self.size;
        if width(text) <= self.width {
            return text.to_owned();
        }
        let mut used = width("…");
        let fits = |letter: &char| {
            used += width(letter.encode_utf8(&mut [0; 4]));
            used <= self.width
        };
        let start: String = text.chars().take_while(fits).collect();
        format!("{}…", start.trim_end())
    }

    /// Writes the text at its baseline; returns its width.
    fn draw(self, out: &mut String, (x, y): (f64, f64), text: &str) -> f64 {
        let text = self.fitted(text);
        let weight = if self.is_bold { "bold" } else { "normal" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{:.2}\" font-weight=\"{weight}\" \
             fill=\"{}\" xml:space=\"preserve\">{}</text>",
            self.size,
            self.color,
            escape(&text)
        );
        text_width(&text, self.is_bold) * self.size
    }
}

fn svg_source(findings: &Findings) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"Libertinus Serif\">\n<rect \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n<rect width=\"{WIDTH}\" \
         height=\"12\" fill=\"{BLUE}\"/>\n"
    );
    let full_width = |is_bold, size, color| CardText { is_bold, size, color, width: LINE_WIDTH };
    full_width(true, 54.0, INK).draw(&mut out, (MARGIN, 92.0), &drive_name(findings));
    full_width(false, 28.0, GRAY).draw(&mut out, (MARGIN, 136.0), &page_one::drive_facts(findings));
    full_width(true, 24.0, RED).draw(&mut out, (MARGIN, 176.0), &reservations(findings));
    for (at, figure) in figures(findings).into_iter().enumerate() {
        draw_figure(&mut out, at, figure);
    }
    let _ = writeln!(
        out,
        "<line x1=\"{MARGIN}\" y1=\"524\" x2=\"{}\" y2=\"524\" stroke=\"#dcdcdc\" \
         stroke-width=\"2\"/>",
        WIDTH - MARGIN
    );
    full_width(false, 24.0, INK).draw(&mut out, (MARGIN, 562.0), &measured_with(findings));
    full_width(false, 22.0, GRAY).draw(&mut out, (MARGIN, 598.0), &findings.method);
    out.push_str("</svg>\n");
    out
}

/// Returns the name of the drive, or of the test if the drive has none.
fn drive_name(findings: &Findings) -> String {
    let vendor = name(&findings.header.vendor).unwrap_or_default();
    let model = findings.model().unwrap_or(&findings.title);
    format!("{vendor} {model}").trim().to_owned()
}

/// Returns what makes the numbers worth less: simulated, not steady, not the full method.
fn reservations(findings: &Findings) -> String {
    let mut badges = page_one::badges(findings);
    badges.retain(|badge| badge.tone == BadgeTone::Bad);
    badges.into_iter().map(|badge| badge.text).collect::<Vec<_>>().join("  ·  ")
}

/// Returns the figures of the card: those that the findings choose, else the first with a value.
fn figures(findings: &Findings) -> Vec<&KeyFigure> {
    let chosen = &findings.front.card;
    if chosen.is_empty() {
        return page_one::figures(findings).into_iter().take(FIGURES_MAX).collect();
    }
    chosen.iter().filter_map(|id| findings.figure(id)).take(FIGURES_MAX).collect()
}

fn draw_figure(out: &mut String, at: usize, figure: &KeyFigure) {
    let width = (LINE_WIDTH - GUTTER * (COLUMNS as f64 - 1.0)) / COLUMNS as f64;
    let x = MARGIN + (at % COLUMNS) as f64 * (width + GUTTER);
    let y = 232.0 + (at / COLUMNS) as f64 * 150.0;
    // A label is somewhat smaller before it is cut.
    let size = (width / text_width(&figure.label, false).max(0.1)).clamp(18.0, 24.0);
    let label = CardText { is_bold: false, size, color: GRAY, width };
    label.draw(out, (x, y), &figure.label);
    // A long number is smaller, not cut: a number without its end would be another one.
    let value = number::figure(figure);
    let unit_text = if figure.value.is_some() { figure.unit.as_str() } else { "" };
    let unit = CardText { is_bold: false, size: 26.0, color: INK, width };
    let room = width - text_width(unit_text, false) * unit.size - 10.0;
    let size = (room / text_width(&value, true).max(0.1)).clamp(16.0, 54.0);
    let number = CardText { is_bold: true, size, color: INK, width };
    let used = number.draw(out, (x, y + 58.0), &value) + 10.0;
    let unit = CardText { width: width - used, ..unit };
    unit.draw(out, (x + used, y + 58.0), unit_text);
    // A note in place of a value is drawn above.
    if let (Some(_), Some(note)) = (figure.value, &figure.note) {
        CardText { is_bold: false, size: 18.0, color: GRAY, width }.draw(out, (x, y + 84.0), note);
    }
}

fn measured_with(findings: &Findings) -> String {
    if simulated(findings) {
        // Its date is that of a virtual clock.
        return format!("{}: simulated with {}", findings.title, findings.software);
    }
    let Findings { began_unix_ms, ended_unix_ms, .. } = *findings;
    let when = match if ended_unix_ms > 0 { ended_unix_ms } else { began_unix_ms } {
        0 => String::new(),
        time => format!(" on {}", date::date_time(time).split(' ').next().unwrap_or_default()),
    };
    format!("{}: measured{when} with {}", findings.title, findings.software)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: CardText = CardText { is_bold: true, size: 54.0, color: INK, width: LINE_WIDTH };

    #[test]
    fn a_text_that_is_too_wide_ends_in_an_ellipsis_and_fits() {
        assert_eq!(TEXT.fitted("NVMe SSD 9A3"), "NVMe SSD 9A3");
        for letter in ["W", "i", "M", "é", "_"] {
            let fitted = TEXT.fitted(&letter.repeat(4_000));
            assert!(fitted.ends_with('…') && fitted.starts_with(letter), "{fitted}");
            let width = text_width(&fitted, true) * TEXT.size;
            assert!(
                width <= LINE_WIDTH && width > LINE_WIDTH - 2.0 * TEXT.size,
                "{letter}: {width}"
            );
        }
        assert_eq!(CardText { width: 1.0, ..TEXT }.fitted("anything"), "…");
    }

    /// Widths of letters by the font's own tables: digits are as wide as one another.
    #[test]
    fn widths_are_those_of_the_font() {
        let digits: Vec<f64> = ('0'..='9').map(|d| text_width(&d.to_string(), true)).collect();
        assert!(digits.iter().all(|width| *width == digits[0]), "{digits:?}");
        assert!(text_width("W", false) > 2.0 * text_width("i", false));
        assert_eq!(text_width("ab", false), text_width("a", false) + text_width("b", false));
        assert!(text_width("W", true) != text_width("W", false), "two weights");
    }
}
