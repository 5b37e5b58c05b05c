//! No two texts of a drawing overlap and none is clipped, over many random drawings.

use super::PRINTED;
use steadfast_domain::Findings;
use steadfast_domain::findings::{
    Axis, Exhibit, FormHeader, Marker, Page, Plot, PlotKind, Scale, Series, Stroke, TimeUnit,
};
use steadfast_domain::random_bits::mix64;
use steadfast_report::{html, svg};

/// Number of drawings.
const DRAWING_COUNT: usize = 503;

/// Mean width of a letter of the report's font, relative to the font size.
const LETTER: f64 = 0.5;

/// A reproducible stream of random numbers (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, end: u64) -> u64 {
        let bits = mix64(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits % end
    }
    fn name(&mut self) -> String {
        const WORDS: [&str; 8] =
            ["RND", "SEQ", "4K", "1024K", "RW65", "average", "steady state", "99.999 %"];
        let count = self.below(4) + 1;
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(8) as usize]).collect();
        words.join(" ")
    }
    fn value(&mut self) -> f64 {
        10f64.powi(self.below(9) as i32 - 3) * (1.0 + self.below(9_000) as f64 / 1000.0)
    }
    fn scale(&mut self) -> Scale {
        match self.below(5) {
            1 => Scale::LinearFitted,
            2 => Scale::Log10,
            3 => Scale::Log2,
            _ => Scale::Linear,
        }
    }
    fn x(&mut self) -> Axis {
        match self.below(4) {
            0 => Axis::time("Time", [TimeUnit::Seconds, TimeUnit::Minutes][self.below(2) as usize]),
            1 => Axis::new("Round", Scale::Integers),
            2 => {
                let count = self.below(12) + 1;
                Axis::new("", Scale::Categories((0..count).map(|_| self.name()).collect()))
            }
            _ => Axis::new("Block size (KiB)", self.scale()),
        }
    }
    fn plot(&mut self) -> Plot {
        const KINDS: [PlotKind; 5] = [
            PlotKind::Lines,
            PlotKind::Scatter,
            PlotKind::Histogram,
            PlotKind::Stacked,
            PlotKind::Bars,
        ];
        let kind = KINDS[self.below(5) as usize];
        let (x, y) = (self.x(), Axis::new("Response time (ms)", self.scale()));
        let categories = matches!(x.scale, Scale::Categories(_));
        let mut plot = Plot::new(kind, "p", "p", x, y);
        let count = self.below(40) + 1;
        for _ in 0..self.below(30) + 1 {
            let mut at = 0.0;
            let points = (0..count).map(|n| {
                at += self.value();
                let x = if categories { n as f64 } else { at };
                (x, (self.below(9) > 0).then(|| self.value()))
            });
            let points = points.collect();
            plot.series.push(Series::new(self.name(), Stroke::Measured, points));
        }
        if self.below(3) == 0 {
            plot.y_right = Some(Axis::new("MB/s", self.scale()));
            plot.series.last_mut().unwrap().right = true;
        }
        for _ in 0..self.below(7) {
            let x = plot.series[0].points[self.below(count) as usize].0;
            plot.markers.push(Marker { x, label: self.name() });
        }
        plot
    }
}

/// The corners of a text, at its position and with its rotation.
struct TextBox {
    text: String,
    corners: [(f64, f64); 4],
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let from = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(tag[from..].split('"').next().unwrap().to_owned())
}

fn boxes(drawing: &str) -> Vec<TextBox> {
    drawing
        .split("<text")
        .skip(1)
        .map(|piece| {
            let (tag, rest) = piece.split_once('>').unwrap();
            let text = rest.split("</text>").next().unwrap().replace("&lt;", "<");
            let number = |name: &str| attribute(tag, name).unwrap().parse::<f64>().unwrap();
            let (x, y, size) = (number("x"), number("y"), number("font-size"));
            let width = text.chars().count() as f64 * size * LETTER;
            let left = match attribute(tag, "text-anchor").unwrap().as_str() {
                "start" => x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            let (top, foot) = (y - size * 0.68, y + size * 0.12);
            let turn = attribute(tag, "transform").map_or(0.0, |text| {
                text.trim_start_matches("rotate(").split(' ').next().unwrap().parse().unwrap()
            });
            let (sin, cos) = f64::to_radians(turn).sin_cos();
            let turned = |(px, py): (f64, f64)| {
                let (dx, dy) = (px - x, py - y);
                (x + dx * cos - dy * sin, y + dx * sin + dy * cos)
            };
            let corners = [(left, top), (left + width, top), (left + width, foot), (left, foot)];
            TextBox { text, corners: corners.map(turned) }
        })
        .collect()
}

/// Returns true if two boxes overlap: no line along a side separates them (separating axis theorem).
fn overlap(a: &TextBox, b: &TextBox) -> bool {
    !is_separated(a, b) && !is_separated(b, a)
}

/// Returns true if a line along a side of `a` separates the boxes.
fn is_separated(a: &TextBox, b: &TextBox) -> bool {
    (0..4).any(|side| {
        let (start, end) = (a.corners[side], a.corners[(side + 1) % 4]);
        let normal = (start.1 - end.1, end.0 - start.0);
        let (a_low, a_high) = projection(a, normal);
        let (b_low, b_high) = projection(b, normal);
        a_high <= b_low || b_high <= a_low
    })
}

/// Returns the lowest and the highest corner along a direction.
fn projection(text: &TextBox, direction: (f64, f64)) -> (f64, f64) {
    let along = text.corners.map(|(x, y)| x * direction.0 + y * direction.1);
    (along.into_iter().fold(f64::MAX, f64::min), along.into_iter().fold(f64::MIN, f64::max))
}

/// Asserts that no text of a drawing overlaps another or leaves it; returns the number of texts.
fn assert_readable(name: &str, drawing: &str) -> usize {
    let size = |name: &str| attribute(drawing, name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let all = boxes(drawing);
    for (index, one) in all.iter().enumerate() {
        let inside = one
            .corners
            .iter()
            .all(|(x, y)| (-0.5..=width + 0.5).contains(x) && (-0.5..=height + 0.5).contains(y));
        let (text, corners) = (&one.text, &one.corners);
        assert!(inside, "{name}: '{text}' {corners:?} leaves {width} x {height}");
        if let Some(other) = all[index + 1..].iter().find(|other| overlap(one, other)) {
            panic!("{name}: '{text}' meets '{}'", other.text);
        }
    }
    all.len()
}

#[test]
fn no_two_texts_of_a_drawing_meet_and_none_leaves_it() {
    let mut random = SplitMix64(10_007);
    let mut texts = 0;
    for number in 0..DRAWING_COUNT {
        let plot = random.plot();
        texts += assert_readable(&format!("drawing {number} ({:?})", plot.kind), &svg(&plot));
    }
    assert!(texts > 10_007, "{texts}");
}

/// Returns the numbers of a JSON array, whose end is the first ']'.
fn numbers(text: &str) -> Vec<f64> {
    text.split(']').next().unwrap().split(',').map(|part| part.parse().unwrap()).collect()
}

#[test]
fn the_plots_of_a_web_page_have_the_same_edges() {
    let mut random = SplitMix64(4711);
    for number in 0..23 {
        // Categories with names that slope and marks at the right edge narrow a plot.
        let mut plots: Vec<Plot> = (0..7).map(|_| random.plot()).collect();
        plots.push(super::pictures::heat());
        for (at, plot) in plots.iter_mut().enumerate() {
            plot.id = format!("p{at}");
        }
        let exhibits = plots.into_iter().map(Exhibit::Plot).collect();
        let page = html(
            &Findings {
                form_pages: vec![Page::new("Plots", exhibits)],
                ..Findings::new("Plots", FormHeader::default())
            },
            &PRINTED,
        );
        let areas: Vec<Vec<f64>> = page.split("\"area\":[").skip(1).map(numbers).collect();
        assert!(areas.len() > 6, "{number}: {areas:?}");
        let edges = |area: &[f64]| (area[0].round(), (area[0] + area[2]).round());
        for area in &areas {
            assert_eq!(edges(area), edges(&areas[0]), "{number}: {areas:?}");
        }
        for (at, drawing) in page.split("<svg").skip(1).enumerate() {
            assert_readable(&format!("page {number}, drawing {at}"), &format!("<svg{drawing}"));
        }
    }
}
