//! The common parts of plots over two axes: margins, grid, axes, marks and legend, none of which
//! may overlap or be clipped.

use super::axis::{Ruler, TickLabel};
use super::paint::{FAINT, GRID, INK, LETTERS, SvgDrawing, TextAnchor};
use steadfast_domain::findings::{Marker, Plot, Scale};

/// Dimensions of a drawing.
#[derive(Clone, Copy, PartialEq)]
pub struct DrawingSize {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the plot area.
    height: f64,
    /// Minimum space on the left.
    left: f64,
    /// Minimum space on the right.
    right: f64,
    /// Maximum number of legend entries next to the plot; longer legends are placed below it.
    legend_beside: usize,
    /// True on a web page, where no legend is next to a plot.
    pub on_page: bool,
}

impl DrawingSize {
    /// Returns true if the drawing is placed next to another one.
    pub fn is_small(&self) -> bool {
        self.width < TALL.width
    }

    /// Returns the same with at least the space that a plot with this area has on either side.
    pub fn with_margins_of(self, area: [f64; 4]) -> DrawingSize {
        let [left, _, width, _] = area;
        // Whole numbers: the margins of a drawing with these margins are the same to the last digit.
        let (left, right) = (left.ceil(), (self.width - left - width).ceil());
        DrawingSize { left: self.left.max(left), right: self.right.max(right), ..self }
    }
}

/// A drawing as wide as a page: 176 mm in the report, where its letters have 9 points.
pub const FULL: DrawingSize = DrawingSize {
    width: 720.0,
    height: 280.0,
    left: 92.0,
    right: 0.0,
    legend_beside: 18,
    on_page: false,
};
/// The same on a web page.
pub const PAGE: DrawingSize = DrawingSize { legend_beside: 0, on_page: true, ..FULL };
/// The same with less height, for reports with many drawings one below the other.
pub const LOW: DrawingSize = DrawingSize { height: 230.0, ..FULL };
/// A drawing next to another one, with letters of the same size.
pub const SMALL: DrawingSize =
    DrawingSize { width: 350.0, height: 132.0, left: 60.0, legend_beside: 0, ..FULL };
/// One of two drawings on a page of the report form.
pub const TALL: DrawingSize =
    DrawingSize { width: 500.0, height: 330.0, left: 76.0, legend_beside: 0, ..FULL };

/// A drawing alone on a page of the report form, 273 mm wide, where its letters have 9 points.
pub const ACROSS: DrawingSize = DrawingSize { width: 1117.0, height: 376.0, ..FULL };

const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;
/// Width of a legend's line and its gap.
const LEGEND_MARK: f64 = 34.0;
/// Left edge of a legend below the plot.
const LEGEND_LEFT: f64 = 15.0;
const LEGEND_SIZE: f64 = LETTERS;
const LEGEND_STEP: f64 = 16.0;
const LABEL_SIZE: f64 = LETTERS;
const TITLE_SIZE: f64 = 14.0;
/// Distance between two lines of a title.
const TITLE_STEP: f64 = 16.0;
/// Mean width of a letter, rounded up, relative to the font size.
pub const LETTER: f64 = 0.56;
/// The same for a legend next to the plot, where only the edge of the drawing follows: a browser
/// may have a wider font.
const LEGEND_LETTER: f64 = 0.62;
/// Maximum number of letters of a name in the legend.
const NAME_MAX: usize = 34;
/// Space above and below the plot area that an upright title may use.
const TITLE_OVERHANG: f64 = 68.0;
const MARK_SIZE: f64 = LETTERS;
/// Height of a row of labels above the plot, and maximum number of rows.
const MARK_STEP: f64 = 16.0;
const MARK_ROWS_MAX: usize = 8;
/// Distance between two sloping labels in heights of a letter, and horizontal extent of one as a
/// fraction of its length.
const SLOPING_STEP: f64 = 1.5;
const SLOPING_REACH: f64 = 0.82;
/// Maximum number of lines drawn for marks.
const MARKS_MAX: usize = 400;

/// The plot area.
pub struct PlotArea {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl PlotArea {
    pub fn x(&self, part: f64) -> f64 {
        self.left + part * self.width
    }
    pub fn y(&self, part: f64) -> f64 {
        self.top + (1.0 - part) * self.height
    }
}

#[derive(Clone)]
pub struct SeriesLook {
    pub color: String,
    pub width: f64,
    pub dash: Option<&'static str>,
    pub marker: Option<usize>,
    /// Opacity of the filled area; `None` for lines.
    pub fill: Option<f64>,
}

impl SeriesLook {
    pub fn line(color: &str, width: f64, dash: Option<&'static str>) -> SeriesLook {
        SeriesLook { color: color.to_owned(), width, dash, marker: None, fill: None }
    }

    pub fn opaque(color: String) -> SeriesLook {
        SeriesLook { color, width: 0.0, dash: None, marker: None, fill: Some(1.0) }
    }
}

/// An entry of the legend.
pub struct LegendEntry {
    pub name: String,
    pub look: SeriesLook,
}

/// An entry of a legend below the plot.
struct PlacedEntry<'a> {
    left: f64,
    row: usize,
    entry: &'a LegendEntry,
}

/// The axes of a plot.
pub struct Rulers {
    pub x: Ruler,
    pub y: Ruler,
    pub right: Option<Ruler>,
}

impl Rulers {
    /// Returns axes for these values; the values of the right axis are taken from the plot.
    pub fn new(plot: &Plot, xs: &[f64], ys: &[f64]) -> Rulers {
        Rulers::with_y_scale(plot, &plot.y.scale, xs, ys)
    }

    /// Returns axes for these values with another scale of the left axis.
    pub fn with_y_scale(plot: &Plot, y_scale: &Scale, xs: &[f64], ys: &[f64]) -> Rulers {
        let xs: Vec<f64> = xs.iter().copied().chain(plot.markers.iter().map(|m| m.x)).collect();
        let on_right = plot.series.iter().filter(|s| s.right).flat_map(|s| &s.points);
        let right = plot.y_right.as_ref().filter(|_| plot.series.iter().any(|s| s.right));
        let right_values: Vec<f64> = on_right.filter_map(|(_, y)| *y).collect();
        Rulers {
            x: Ruler::across(&plot.x, &xs),
            y: Ruler::new(y_scale, ys),
            right: right.map(|axis| Ruler::new(&axis.scale, &right_values)),
        }
    }
}

/// A mark with its label above the plot.
struct MarkLabel {
    part: f64,
    label: String,
    width: f64,
    row: usize,
    /// True if the label ends at the mark's line, false if it begins there.
    before: bool,
}

impl MarkLabel {
    /// Returns the horizontal extent of the label in a plot of this width.
    fn reach(&self, width: f64) -> (f64, f64) {
        let x = self.part * width;
        if self.before { (x - self.width, x) } else { (x, x + self.width) }
    }
    /// Returns true if the label would cover this position.
    fn covers(&self, x: f64, width: f64) -> bool {
        let (from, to) = self.reach(width);
        (from..=to).contains(&x)
    }
}

/// The parts of a drawing around its values.
pub struct PlotFrame {
    size: DrawingSize,
    pub area: PlotArea,
    pub rulers: Rulers,
    legend: Vec<LegendEntry>,
    marks: Vec<MarkLabel>,
    /// Notes in separate rows above the plot.
    notes: Vec<String>,
    /// Lines of the title below the plot.
    x_title: Vec<String>,
    /// Upright titles on the left and on the right.
    y_titles: [String; 2],
    /// True if the names of categories do not fit side by side and are drawn sloping.
    has_sloping_names: bool,
    below: f64,
    legend_below: bool,
}

/// Space on the right of a full-width drawing over time. Equal for all, so that drawings one below
/// the other have equal times one below the other.
pub const BESIDE_TIME: f64 = 150.0;

impl PlotFrame {
    /// Returns a frame with a legend.
    pub fn new(
        plot: &Plot,
        size: DrawingSize,
        rulers: Rulers,
        legend: Vec<LegendEntry>,
    ) -> PlotFrame {
        let is_long = legend.len() > size.legend_beside;
        let is_time = plot.x.time.is_some() && size.legend_beside > 0;
        let wide = legend_width(&legend) > BESIDE_TIME || rulers.right.is_some();
        let legend_below = is_long || is_time && wide;
        let room = match (is_time, legend_below) {
            (true, _) => BESIDE_TIME - right_axis_width(&rulers),
            (false, true) => 14.0,
            (false, false) => legend_width(&legend),
        };
        let mut frame = PlotFrame::with_room(plot, size, rulers, room.max(14.0));
        (frame.legend, frame.legend_below) = (legend, legend_below);
        frame
    }

    /// Returns a frame with free space on its right.
    pub fn with_room(plot: &Plot, size: DrawingSize, rulers: Rulers, room: f64) -> PlotFrame {
        let left = size.left.max(40.0 + label_width(&rulers.y));
        let right = right_axis_width(&rulers);
        let mut marks = marks_within(&plot.markers, &rulers.x);
        let free = (size.width - left - (right + room).max(size.right)).max(120.0);
        let sloping_height = sloping_names_height(&plot.x.scale, free);
        let most = if sloping_height.is_some() {
            free.min(width_with_sloping_names(&plot.x.scale, size.width - left))
        } else {
            free
        };
        let width = if choose_sides(&mut marks, most, size.width - left - 6.0) {
            most
        } else {
            // Every label begins at its line; the plot is narrow enough to leave space for the last
            // one.
            marks.iter_mut().for_each(|mark| mark.before = false);
            let last = marks.iter().filter(|mark| mark.part > 0.0);
            let for_labels = last.map(|mark| (size.width - 6.0 - left - mark.width) / mark.part);
            let width = for_labels.fold(most, f64::min).max(120.0);
            let width = if sloping_names_height(&plot.x.scale, width).is_some() {
                width.min(width_with_sloping_names(&plot.x.scale, size.width - left))
            } else {
                width
            };
            choose_rows(&mut marks, width);
            width
        };
        let sloping_height = sloping_height.or_else(|| sloping_names_height(&plot.x.scale, width));
        let unlabelled = marks.iter().filter(|mark| mark.row >= MARK_ROWS_MAX).count();
        let rows =
            marks.iter().map(|f| f.row + 1).filter(|r| *r <= MARK_ROWS_MAX).max().unwrap_or(0);
        let note = (unlabelled > 0).then(|| format!("{unlabelled} marks without a label"));
        let x_label = if rulers.x.names_unit { plot.x.bare_label() } else { &plot.x.label };
        let x_title = lines(x_label, letters(width + left));
        let more = x_title.len().saturating_sub(1) as f64 * TITLE_STEP;
        let y_title = |text: &str| title(text, size.height + TITLE_OVERHANG);
        let right_title = plot.y_right.as_ref().map_or_else(String::new, |y| y_title(&y.label));
        let frame = PlotFrame {
            size,
            area: PlotArea {
                left,
                top: TOP + mark_rows_height(rows, right),
                width,
                height: size.height,
            },
            rulers,
            legend: Vec::new(),
            marks,
            notes: Vec::new(),
            x_title,
            y_titles: [y_title(&plot.y.label), right_title],
            has_sloping_names: sloping_height.is_some(),
            below: BOTTOM + sloping_height.unwrap_or(0.0) + more,
            legend_below: false,
        };
        note.into_iter().fold(frame, PlotFrame::with_note)
    }

    /// Adds a note above the plot, where it cannot overlap values.
    pub fn with_note(mut self, note: String) -> PlotFrame {
        if self.notes.is_empty() {
            self.area.top += MARK_STEP;
        }
        self.notes.push(note);
        self
    }

    /// Replaces the titles of the vertical axes.
    pub fn with_y_titles(mut self, left: &str, right: &str) -> PlotFrame {
        let room = self.size.height + TITLE_OVERHANG;
        self.y_titles = [title(left, room), title(right, room)];
        self
    }

    /// Adds a legend below the plot; an empty one takes no space.
    pub fn with_legend_below(self, legend: Vec<LegendEntry>) -> PlotFrame {
        PlotFrame { legend_below: true, legend, ..self }
    }

    /// Returns an empty drawing of the height that everything needs.
    pub fn blank_drawing(&self) -> SvgDrawing {
        let under = self.legend_height();
        let height = self.area.top + self.size.height + self.below + under;
        let mut drawing = SvgDrawing::new(self.size.width, height);
        drawing.plot_top = self.area.top;
        drawing
    }

    /// Returns the height of a legend below the plot; 0 if there is none.
    fn legend_height(&self) -> f64 {
        let entries = if self.legend_below { self.placed_legend() } else { Vec::new() };
        let last_row = entries.iter().map(|entry| entry.row).max();
        last_row.map_or(0.0, |row| (row + 1) as f64 * LEGEND_STEP + 4.0)
    }

    /// Returns the places of the entries of a legend below the plot, in their order: in columns, or
    /// one after the other if that takes fewer rows.
    fn placed_legend(&self) -> Vec<PlacedEntry<'_>> {
        let room = self.size.width - 2.0 * LEGEND_LEFT;
        let widths: Vec<f64> = self.legend.iter().map(entry_width).collect();
        let widest = widths.iter().copied().fold(1.0, f64::max);
        let columns = (room / widest).floor().clamp(1.0, 6.0) as usize;
        let deep = self.legend.len().div_ceil(columns).max(1);
        let mut running: Vec<PlacedEntry<'_>> = Vec::new();
        let (mut row, mut free) = (0, 0.0);
        for (entry, width) in self.legend.iter().zip(&widths) {
            if free > 0.0 && free + width > room {
                (row, free) = (row + 1, 0.0);
            }
            running.push(PlacedEntry { left: LEGEND_LEFT + free, row, entry });
            free += width;
        }
        if row + 1 < deep {
            return running;
        }
        let step = room / columns as f64;
        let in_columns = self.legend.iter().enumerate().map(|(index, entry)| PlacedEntry {
            left: LEGEND_LEFT + (index / deep) as f64 * step,
            row: index % deep,
            entry,
        });
        in_columns.collect()
    }

    /// Returns the position of a value, on the right axis if `right` is true and there is one;
    /// `None` if an axis cannot show it.
    pub fn position(&self, right: bool, x: f64, y: Option<f64>) -> Option<(f64, f64)> {
        let ruler = self.rulers.right.as_ref().filter(|_| right).unwrap_or(&self.rulers.y);
        Some((self.area.x(self.rulers.x.position(x)?), self.area.y(ruler.position(y?)?)))
    }

    /// Draws what lies above the series, and a note if the plot has no value.
    pub fn finish(&self, drawing: &mut SvgDrawing, has_values: bool) {
        if !has_values {
            self.draw_no_values(drawing);
        }
        self.draw_axes(drawing);
        self.draw_marks(drawing);
        self.draw_legend(drawing);
    }

    /// Draws the grid lines; to be called before the values are drawn.
    pub fn draw_grid(&self, drawing: &mut SvgDrawing) {
        let area = &self.area;
        for part in &self.rulers.y.faint {
            drawing.line((area.x(0.0), area.y(*part)), (area.x(1.0), area.y(*part)), FAINT, 0.8);
        }
        for label in &self.rulers.y.labels {
            let y = area.y(label.position);
            drawing.line((area.x(0.0), y), (area.x(1.0), y), GRID, 1.0);
        }
        for label in &self.rulers.x.labels {
            let x = area.x(label.position);
            drawing.line((x, area.y(0.0)), (x, area.y(1.0)), GRID, 1.0);
        }
    }

    /// Draws frame, labels and titles of the axes, over the values.
    fn draw_axes(&self, drawing: &mut SvgDrawing) {
        let area = &self.area;
        drawing.frame(area.left, area.top, area.width, area.height);
        for label in spaced_labels(&self.rulers.y, area.height) {
            let at = (area.left - 8.0, area.y(label.position) + 4.5);
            drawing.text(at, LABEL_SIZE, TextAnchor::End, &label.text);
        }
        self.draw_names(drawing);
        let lowest = area.y(0.0) + self.below - 12.0;
        for (above, line) in self.x_title.iter().rev().enumerate() {
            let at = (area.x(0.5), lowest - above as f64 * TITLE_STEP);
            drawing.text(at, TITLE_SIZE, TextAnchor::Middle, line);
        }
        drawing.text_upwards((20.0, area.y(0.5)), TITLE_SIZE, &self.y_titles[0]);
        if let Some(right) = &self.rulers.right {
            self.draw_right_axis(drawing, right);
        }
    }

    fn draw_right_axis(&self, drawing: &mut SvgDrawing, right: &Ruler) {
        let area = &self.area;
        let edge = area.x(1.0);
        let mut widest = 0;
        for TickLabel { position, text } in spaced_labels(right, area.height) {
            let y = area.y(*position);
            widest = widest.max(text.chars().count());
            drawing.line((edge, y), (edge + 5.0, y), INK, 1.0);
            drawing.text((edge + 8.0, y + 4.5), LABEL_SIZE, TextAnchor::Start, text);
        }
        let x = edge + 24.0 + widest as f64 * LABEL_SIZE * LETTER;
        drawing.text_upwards((x, area.y(0.5)), TITLE_SIZE, &self.y_titles[1]);
    }

    /// Draws the labels of the horizontal axis; those that would overlap are omitted.
    fn draw_names(&self, drawing: &mut SvgDrawing) {
        let area = &self.area;
        let mut free = f64::NEG_INFINITY;
        for TickLabel { position, text: label } in &self.rulers.x.labels {
            let (x, y) = (area.x(*position), area.y(0.0));
            if self.has_sloping_names {
                if x >= free {
                    drawing.text_aslant((x + 4.0, y + 14.0), LABEL_SIZE, &shown(label, NAME_MAX));
                    free = x + LABEL_SIZE * SLOPING_STEP;
                }
                continue;
            }
            let half = label.chars().count() as f64 * LABEL_SIZE * LETTER / 2.0;
            // The last label may be wider than the space next to it.
            let x = x.min(self.size.width - 3.0 - half).max(half);
            if x - half >= free {
                drawing.text((x, y + 19.0), LABEL_SIZE, TextAnchor::Middle, label);
                free = x + half + 3.0;
            }
        }
    }

    /// Draws a vertical line for every mark, with its label at the top.
    fn draw_marks(&self, drawing: &mut SvgDrawing) {
        let area = &self.area;
        for mark in self.marks.iter().take(MARKS_MAX) {
            let x = area.x(mark.part);
            let labelled = mark.row < MARK_ROWS_MAX && !mark.label.is_empty();
            let foot = mark_rows_height(0, if self.rulers.right.is_some() { 1.0 } else { 0.0 });
            let head = if labelled { 4.0 + foot + mark.row as f64 * MARK_STEP } else { 0.0 };
            let line = [(x, area.y(0.0)), (x, area.top - head - if labelled { 8.0 } else { 0.0 })];
            drawing.path(&line, "#555555", 0.9, Some("4 2"));
            if labelled {
                let (at, anchor) = if mark.before {
                    (x - 3.0, TextAnchor::End)
                } else {
                    (x + 3.0, TextAnchor::Start)
                };
                drawing.text((at, area.top - head), MARK_SIZE, anchor, &mark.label);
            }
        }
        if !self.notes.is_empty() {
            let at = (area.x(1.0), TOP + MARK_STEP - 4.0);
            drawing.text(at, LETTERS, TextAnchor::End, &self.notes.join("; "));
        }
    }

    /// Draws the legend, next to the plot or, if it is long, below it.
    fn draw_legend(&self, drawing: &mut SvgDrawing) {
        if self.legend.is_empty() {
            return;
        }
        if self.legend_below {
            drawing.begin_legend(self.legend_height());
            self.draw_legend_below(drawing);
        } else {
            drawing.begin_legend(0.0);
            let left = self.size.width - legend_width(&self.legend) + 16.0;
            let step = (self.size.height / self.legend.len() as f64).min(22.0);
            for (index, entry) in self.legend.iter().enumerate() {
                draw_entry(drawing, (left, self.area.top + 10.0 + index as f64 * step), entry);
            }
        }
        drawing.end();
    }

    fn draw_legend_below(&self, drawing: &mut SvgDrawing) {
        let top = self.area.y(0.0) + self.below + 2.0;
        for PlacedEntry { left, row, entry } in self.placed_legend() {
            draw_entry(drawing, (left, top + row as f64 * LEGEND_STEP), entry);
        }
    }

    /// Writes "no values" into the plot area.
    pub fn draw_no_values(&self, drawing: &mut SvgDrawing) {
        let middle = (self.area.x(0.5), self.area.y(0.5));
        drawing.text(middle, 16.0, TextAnchor::Middle, "no values");
    }
}

/// Returns the width of the longest label of an axis.
pub fn label_width(ruler: &Ruler) -> f64 {
    let longest = ruler.labels.iter().map(|label| label.text.chars().count()).max();
    longest.unwrap_or(0) as f64 * LABEL_SIZE * LETTER
}

/// Returns the width of the right axis; 0 if there is none.
fn right_axis_width(rulers: &Rulers) -> f64 {
    rulers.right.as_ref().map_or(0.0, |ruler| 34.0 + label_width(ruler))
}

/// Returns the width of a legend next to the plot.
fn legend_width(legend: &[LegendEntry]) -> f64 {
    let longest = legend.iter().map(|entry| name_length(&entry.name)).max().unwrap_or(0);
    LEGEND_MARK + 24.0 + longest as f64 * LEGEND_SIZE * LEGEND_LETTER
}

/// Returns the width of an entry of a legend below the plot, including the gap after it.
fn entry_width(entry: &LegendEntry) -> f64 {
    LEGEND_MARK + 14.0 + name_length(&entry.name) as f64 * LEGEND_SIZE * LETTER
}

fn name_length(name: &str) -> usize {
    name.chars().count().min(NAME_MAX)
}

fn draw_entry(drawing: &mut SvgDrawing, at: (f64, f64), entry: &LegendEntry) {
    let (left, y) = at;
    let look = &entry.look;
    drawing.begin_legend_entry(left, y);
    if let Some(opacity) = look.fill {
        let corners = [(0.0, -5.5), (26.0, -5.5), (26.0, 5.5), (0.0, 5.5)];
        let corners = corners.map(|(dx, dy)| (left + dx, y + dy));
        drawing.filled(&corners, &look.color, opacity);
        drawing.path(&[corners[0], corners[1]], &look.color, look.width, look.dash);
    } else if look.width > 0.0 {
        drawing.path(&[(left, y), (left + 26.0, y)], &look.color, look.width, look.dash);
    }
    if let Some(marker) = look.marker {
        drawing.marker(marker, (left + 13.0, y), &look.color);
    }
    let name = shown(&entry.name, NAME_MAX);
    drawing.text((left + LEGEND_MARK, y + 4.5), LEGEND_SIZE, TextAnchor::Start, &name);
    drawing.end();
}

/// Returns the height of rows of labels above the plot. Above a right axis they start higher,
/// because they may extend over its labels.
fn mark_rows_height(rows: usize, right: f64) -> f64 {
    rows as f64 * MARK_STEP + if right > 0.0 { 7.0 } else { 0.0 }
}

/// Returns the width of a plot with sloping names of categories if `room` is the width for the plot
/// and the overhang of the names.
fn width_with_sloping_names(scale: &Scale, room: f64) -> f64 {
    let Scale::Categories(names) = scale else { return room };
    let count = names.len().max(1) as f64;
    let most = names.iter().enumerate().map(|(place, name)| {
        let across = name_length(name) as f64 * LABEL_SIZE * LETTER * SLOPING_REACH;
        (room - 8.0 - across) * count / (place as f64 + 0.5)
    });
    most.fold(room, f64::min).max(120.0)
}

/// Returns the additional height that sloping names of categories need; `None` if the names fit side
/// by side.
fn sloping_names_height(scale: &Scale, width: f64) -> Option<f64> {
    let Scale::Categories(names) = scale else { return None };
    let longest = names.iter().map(|name| name_length(name)).max().unwrap_or(0) as f64;
    let length = longest * LABEL_SIZE * LETTER;
    (length + 4.0 > width / names.len().max(1) as f64).then_some(length * 0.58)
}

/// Returns the labels of a vertical axis that do not overlap.
fn spaced_labels(ruler: &Ruler, height: f64) -> impl Iterator<Item = &TickLabel> {
    let mut last = f64::NEG_INFINITY;
    ruler.labels.iter().filter(move |label| {
        let is_drawn = !label.text.is_empty() && (label.position - last) * height >= LABEL_SIZE;
        if is_drawn {
            last = label.position;
        }
        is_drawn
    })
}

/// Returns the marks within the axis, from left to right.
fn marks_within(markers: &[Marker], x: &Ruler) -> Vec<MarkLabel> {
    let mut marks = Vec::new();
    for marker in markers {
        let label = shown(&marker.label, NAME_MAX);
        let width = label.chars().count() as f64 * MARK_SIZE * LETTER + 6.0;
        if let Some(part) = x.position(marker.x).filter(|part| (-1e-9..=1.0 + 1e-9).contains(part))
        {
            marks.push(MarkLabel { part, label, width, row: 0, before: false });
        }
    }
    marks.sort_by(|a, b| a.part.total_cmp(&b.part));
    marks
}

/// Maximum number of marks whose labels may be on either side of their lines.
const TWO_SIDED_MARKS_MAX: usize = 40;

/// Chooses sides and rows of the labels in a plot of this width. Returns false if there is not
/// enough space for all. A label that would extend beyond `end` is placed before its line. A label
/// is above every line it would cross, and next to or above the labels it would overlap.
fn choose_sides(marks: &mut [MarkLabel], width: f64, end: f64) -> bool {
    for mark in marks.iter_mut() {
        mark.before = mark.reach(width).1 > end;
    }
    let fits = marks.iter().all(|mark| mark.reach(width).0 >= 0.0);
    if marks.len() > TWO_SIDED_MARKS_MAX || !fits {
        return false;
    }
    let mut rows: Vec<Option<usize>> = vec![None; marks.len()];
    for _ in 0..marks.len() {
        let is_over = |at: &usize, other: &usize| {
            other != at && marks[*at].covers(marks[*other].part * width, width)
        };
        // Next comes a label that covers no line of a mark without a row.
        let next = (0..marks.len())
            .filter(|at| rows[*at].is_none())
            .find(|at| (0..marks.len()).all(|other| rows[other].is_some() || !is_over(at, &other)));
        let Some(at) = next else { return false };
        let (from, to) = marks[at].reach(width);
        let meets = |other: usize| {
            let (low, high) = marks[other].reach(width);
            low <= to && from <= high
        };
        let over = (0..marks.len()).filter(|other| is_over(&at, other));
        let least = over.filter_map(|other| rows[other]).map(|row| row + 1).max().unwrap_or(0);
        let taken =
            |row: &usize| (0..marks.len()).any(|other| rows[other] == Some(*row) && meets(other));
        rows[at] = (least..).find(|row| !taken(row));
    }
    for (mark, row) in marks.iter_mut().zip(rows) {
        mark.row = row.unwrap_or(MARK_ROWS_MAX);
    }
    true
}

/// Chooses the rows of labels that begin at their lines and extend to the right. A label is one row
/// above every mark that begins below it, so that it crosses neither another label nor another
/// line.
fn choose_rows(marks: &mut [MarkLabel], width: f64) {
    for index in (0..marks.len()).rev() {
        let end = marks[index].part * width + marks[index].width;
        let beneath = marks[index + 1..].iter().take_while(|other| other.part * width <= end);
        // A mark without a label ends at the edge of the plot and obstructs nothing.
        let labelled = beneath.filter(|mark| mark.row < MARK_ROWS_MAX);
        marks[index].row = labelled.map(|mark| mark.row + 1).max().unwrap_or(0);
    }
}

/// Returns the title of an axis, cut to the available space.
fn title(text: &str, room: f64) -> String {
    shown(text, letters(room))
}

/// Returns the number of letters of a title that fit into the space.
fn letters(room: f64) -> usize {
    ((room / (TITLE_SIZE * LETTER)) as usize).max(8)
}

/// Splits a title into two lines if it does not fit into one, if possible after a comma.
fn lines(text: &str, letters: usize) -> Vec<String> {
    if text.chars().count() <= letters {
        return vec![text.to_owned()];
    }
    let fits = |at: &usize| text[..*at].trim_end().chars().count() <= letters;
    let behind = |gap: &str| text.rmatch_indices(gap).map(|(at, _)| at + gap.len()).find(fits);
    match behind(", ").or_else(|| behind(" ")) {
        Some(at) => vec![text[..at].trim_end().to_owned(), shown(&text[at..], letters)],
        None => vec![shown(text, letters)],
    }
}

/// Returns a text, cut to `letters` characters with an ellipsis.
pub fn shown(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(part: f64, width: f64) -> MarkLabel {
        MarkLabel { part, label: "x".into(), width, row: 0, before: false }
    }

    /// Asserts that no label overlaps another label of its row or the line of a mark that extends
    /// higher.
    fn assert_free(marks: &[MarkLabel], width: f64) {
        for (index, mark) in marks.iter().enumerate().filter(|(_, f)| f.row < MARK_ROWS_MAX) {
            let end = mark.part * width + mark.width;
            for other in marks[index + 1..].iter().filter(|f| f.row < MARK_ROWS_MAX) {
                assert!(other.part * width > end || other.row < mark.row);
            }
        }
    }

    #[test]
    fn a_long_title_has_two_lines() {
        assert_eq!(lines("Time of day", 11), ["Time of day"]);
        let days = "Time on 2026-10-23 to 2026-10-27, CEST and CET";
        assert_eq!(lines(days, 42), ["Time on 2026-10-23 to 2026-10-27,", "CEST and CET"]);
        assert_eq!(lines(days, 20), ["Time on 2026-10-23", "to 2026-10-27, CEST…"]);
        assert_eq!(lines("Überlängen", 8), ["Überlän…"]);
    }

    #[test]
    fn labels_of_marks_never_meet() {
        for count in [1, 2, 5, 40, 300] {
            let mut marks: Vec<MarkLabel> = (0..count)
                .map(|n| mark(f64::from(n * n % 17) / 17.0, 20.0 + f64::from(n % 7) * 15.0))
                .collect();
            marks.sort_by(|a, b| a.part.total_cmp(&b.part));
            choose_rows(&mut marks, 600.0);
            assert_free(&marks, 600.0);
            assert!(marks.iter().any(|f| f.row == 0), "some label stands lowest");
        }
        let mut near = [mark(0.2, 150.0), mark(0.9, 150.0), mark(0.95, 150.0)];
        assert!(choose_sides(&mut near, 300.0, 330.0), "there is room on the other side");
        assert_eq!(near.each_ref().map(|f| f.before), [false, true, true]);
        assert_eq!(near.map(|f| f.row), [0, 1, 2]);
        assert!(
            !choose_sides(&mut [mark(0.1, 290.0), mark(0.9, 290.0)], 300.0, 330.0),
            "none at all"
        );
        let mut spread = [mark(0.0, 50.0), mark(0.5, 50.0), mark(0.55, 50.0)];
        choose_rows(&mut spread, 600.0);
        assert_eq!(spread.map(|f| f.row), [0, 1, 0]);
    }
}
