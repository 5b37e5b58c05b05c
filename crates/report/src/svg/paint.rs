//! SVG elements with escaped text, and the colors and dashes of series.

use std::fmt::Write;
use steadfast_domain::text::affects_terminal;

/// Fonts of the PDF first, then fonts of browsers. None has much wider letters, because the space
/// for legends is computed from the number of letters.
pub const FONT: &str = "Libertinus Serif, Times New Roman, Liberation Serif, Tinos, Times, serif";
/// Size of the smallest letters of a drawing: 9 points if it is as wide as a page.
pub const LETTERS: f64 = 13.0;
/// Color of axes and labels.
pub const INK: &str = "#222222";
/// Color of grid lines.
pub const GRID: &str = "#dddddd";
/// Color of grid lines between labeled ones.
pub const FAINT: &str = "#eeeeee";

/// Number of points above which coordinates have one decimal instead of two.
const PRECISE_POINTS_MAX: usize = 120;

/// Colors that color-blind readers can distinguish (after Okabe and Ito 2008, darkened for paper,
/// and two more).
pub const COLORS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#b8860b", "#56b4e9", "#7b3294",
    "#666666", "#8c510a",
];

/// Name of the series that sums up the rest of many; it has a color of its own.
pub const OTHERS: &str = "others";
pub const OTHERS_COLOR: &str = "#b0b0b0";

/// Dashes of the first ten series, the next ten, and so on.
const DASHES: [Option<&str>; 4] = [None, Some("7 3"), Some("2 2.5"), Some("9 3 2 3")];

/// Returns the dash of a series; with its color it distinguishes 40 series.
pub fn dash(index: usize) -> Option<&'static str> {
    DASHES[index / COLORS.len() % DASHES.len()]
}

/// Returns the dash of a series without markers, different from its neighbors' in gray print.
pub fn plain_dash(index: usize) -> Option<&'static str> {
    DASHES[index % DASHES.len()]
}

/// Returns a color mixed with white; `part` is the share of white.
pub fn lighten(color: &str, part: f64) -> String {
    mixed(color, |c| c + (255.0 - c) * part)
}

/// Returns a color mixed with near-black; `factor` is the share of the color.
pub fn shade(color: &str, factor: f64) -> String {
    mixed(color, |c| c * factor + 26.0 * (1.0 - factor))
}

fn mixed(color: &str, f: impl Fn(f64) -> f64) -> String {
    let [r, g, b] = channels(color).map(|c| f(c).round().clamp(0.0, 255.0) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn channels(color: &str) -> [f64; 3] {
    let channel = |at: usize| {
        color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
    };
    [1, 3, 5].map(|at| f64::from(channel(at)))
}

/// Returns the color of a series.
pub fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

/// Returns red, green and blue of a color.
pub fn rgb(color: &str) -> [u8; 3] {
    channels(color).map(|channel| channel as u8)
}

/// Escapes text for use between tags and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // XML 1.0 allows no other control characters, not even escaped, nor these two;
            // direction marks would reorder the text around them.
            c if affects_terminal(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Returns points in SVG notation; if there are many, with fewer digits.
fn point_list(points: &[(f64, f64)]) -> String {
    let digits = if points.len() > PRECISE_POINTS_MAX { 1 } else { 2 };
    let mut out = String::with_capacity(points.len() * 14);
    for (index, (x, y)) in points.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(out, "{space}{x:.digits$},{y:.digits$}");
    }
    out
}

/// Position of a text's anchor.
#[derive(Clone, Copy)]
pub enum TextAnchor {
    Start,
    Middle,
    End,
}

/// A drawing in progress.
pub struct SvgDrawing {
    body: String,
    width: f64,
    height: f64,
    /// Top of the plot area, below the labels of marks.
    pub plot_top: f64,
    /// Space added above the drawing, in the units of `height`.
    above: f64,
}

impl SvgDrawing {
    pub fn new(width: f64, height: f64) -> Self {
        SvgDrawing { body: String::new(), width, height, plot_top: 0.0, above: 0.0 }
    }

    /// Returns the height below the upper edge of the plot.
    pub fn below_top(&self) -> f64 {
        self.height - self.plot_top
    }

    /// Returns the drawing in a sheet of this height with space above.
    pub fn within(self, above: f64, height: f64) -> Self {
        SvgDrawing { above, height, ..self }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// Begins a group for a series, which the script of a web page can find; ended by
    /// [`SvgDrawing::end`].
    pub fn begin(&mut self, series: usize) {
        self.add(format_args!(r#"<g data-series="{series}">"#));
    }

    /// Begins a group for the value of a series at a position of the horizontal axis; ended by
    /// [`SvgDrawing::end`].
    pub fn begin_value(&mut self, series: usize, x: f64) {
        self.add(format_args!(r#"<g data-value="{series},{x}">"#));
    }

    /// Begins the legend, which lasts until [`SvgDrawing::end`]; `under` is its height below the plot.
    /// A page's script replaces it with buttons.
    pub fn begin_legend(&mut self, under: f64) {
        self.add(format_args!(r#"<g class="legend" data-under="{under}">"#));
    }

    /// Begins an entry of the legend whose mark begins at `left` and has its middle at `y`; ended by
    /// [`SvgDrawing::end`]. A page's script shows the marks of series on its buttons.
    pub fn begin_legend_entry(&mut self, left: f64, y: f64) {
        self.add(format_args!(r#"<g data-mark="{left:.2} {y:.2}">"#));
    }

    pub fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64) {
        self.add(format_args!(
            r#"<line x1="{:.2}" y1="{:.2}" x2="{:.2}" y2="{:.2}" stroke="{stroke}" stroke-width="{width}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    pub fn path(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, dash: Option<&str>) {
        let dash = dash.map(|d| format!(r#" stroke-dasharray="{d}""#)).unwrap_or_default();
        self.add(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dash}/>"#,
            point_list(points)
        ));
    }

    /// Adds a filled area without an outline.
    pub fn filled(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let opacity =
            if opacity < 1.0 { format!(r#" fill-opacity="{opacity}""#) } else { "".into() };
        self.add(format_args!(
            r#"<polygon points="{}" fill="{fill}"{opacity}/>"#,
            point_list(points)
        ));
    }

    /// Adds round dots of one color as a single compact path.
    pub fn dots(&mut self, points: &[(f64, f64)], color: &str, size: f64) {
        let mut path = String::with_capacity(points.len() * 16);
        for (x, y) in points {
            // Writing to a String cannot fail.
            let _ = write!(path, "M{x:.1} {y:.1}h.01");
        }
        self.add(format_args!(
            r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="{size}" stroke-linecap="round"/>"#
        ));
    }

    /// Adds a picture, a base64-encoded PNG.
    pub fn picture(&mut self, at: (f64, f64), size: (f64, f64), png: &str) {
        self.add(format_args!(
            r#"<image x="{:.2}" y="{:.2}" width="{:.2}" height="{:.2}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{png}"/>"#,
            at.0, at.1, size.0, size.1
        ));
    }

    pub fn polygon(&mut self, points: &[(f64, f64)], fill: &str, stroke: &str) {
        self.add(format_args!(
            r#"<polygon points="{}" fill="{fill}" stroke="{stroke}" stroke-width="0.6" stroke-linejoin="round"/>"#,
            point_list(points)
        ));
    }

    pub fn frame(&mut self, left: f64, top: f64, width: f64, height: f64) {
        self.add(format_args!(
            r#"<rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" fill="none" stroke="{INK}" stroke-width="1"/>"#
        ));
    }

    pub fn text(&mut self, at: (f64, f64), size: f64, anchor: TextAnchor, text: &str) {
        let anchor = match anchor {
            TextAnchor::Start => "start",
            TextAnchor::Middle => "middle",
            TextAnchor::End => "end",
        };
        self.add(format_args!(
            r#"<text x="{:.2}" y="{:.2}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{}</text>"#,
            at.0,
            at.1,
            escape(text)
        ));
    }

    pub fn text_upwards(&mut self, at: (f64, f64), size: f64, text: &str) {
        self.add(format_args!(
            r#"<text x="{0:.2}" y="{1:.2}" font-size="{size}" text-anchor="middle" fill="{INK}" transform="rotate(-90 {0:.2} {1:.2})">{2}</text>"#,
            at.0,
            at.1,
            escape(text)
        ));
    }

    /// Adds a text that slopes down to the right from its start.
    pub fn text_aslant(&mut self, at: (f64, f64), size: f64, text: &str) {
        self.add(format_args!(
            r#"<text x="{0:.2}" y="{1:.2}" font-size="{size}" text-anchor="start" fill="{INK}" transform="rotate(35 {0:.2} {1:.2})">{2}</text>"#,
            at.0,
            at.1,
            escape(text)
        ));
    }

    /// Adds a marker; its shape distinguishes series if colors do not.
    pub fn marker(&mut self, index: usize, at: (f64, f64), color: &str) {
        let (x, y) = at;
        let r = 3.6;
        let filled = index < 5;
        let fill = if filled { color } else { "#ffffff" };
        let corners: Vec<(f64, f64)> = match index % 5 {
            0 => {
                self.add(format_args!(
                    r#"<circle cx="{x:.2}" cy="{y:.2}" r="{r}" fill="{fill}" stroke="{color}" stroke-width="1.2"/>"#
                ));
                return;
            }
            1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2 => vec![(x, y - r * 1.2), (x + r * 1.15, y + r * 0.9), (x - r * 1.15, y + r * 0.9)],
            3 => vec![(x, y + r * 1.2), (x + r * 1.15, y - r * 0.9), (x - r * 1.15, y - r * 0.9)],
            _ => vec![(x, y - r * 1.3), (x + r * 1.3, y), (x, y + r * 1.3), (x - r * 1.3, y)],
        };
        self.polygon(&corners, fill, color);
    }

    /// Returns the SVG document with its accessible name.
    pub fn finish(self, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {4} {0} {1}\" width=\"{0}\" \
             height=\"{1}\" font-family=\"{FONT}\" role=\"img\" aria-label=\"{3}\">\n{2}</svg>\n",
            self.width,
            self.height,
            self.body,
            escape(title),
            0.0 - self.above
        )
    }
}
