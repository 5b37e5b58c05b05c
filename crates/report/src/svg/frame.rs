//! What every plot over two axes has: margins, grid, axes, marks and legend,
//! none of which may overlap or be clipped.

use super::axis::Ruler;
use super::paint::{Anchor, Drawing, FAINT, GRID, INK, LETTERS};
use steadfast_domain::findings::{Marker, Plot, Scale};

/// How large a drawing is.
#[derive(Clone, Copy)]
pub struct Size {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the rectangle that values are drawn in.
    height: f64,
    /// Room on the left, at least.
    left: f64,
    /// Entries of the legend that have room beside the plot; more of them stand below it.
    legend_beside: usize,
}

impl Size {
    /// Whether it stands beside another drawing.
    pub fn is_small(&self) -> bool {
        self.width < TALL.width
    }
}

/// A drawing as wide as a page: 176 mm in the report, where its letters have 9 points.
pub const FULL: Size = Size { width: 720.0, height: 280.0, left: 92.0, legend_beside: 18 };
/// The same for a report in which many stand below one another.
pub const LOW: Size = Size { height: 230.0, ..FULL };
/// A drawing that stands beside another one, with letters as large.
pub const SMALL: Size = Size { width: 350.0, height: 132.0, left: 60.0, legend_beside: 0 };
/// One of two on a page of the report form.
pub const TALL: Size = Size { width: 500.0, height: 330.0, left: 76.0, legend_beside: 0 };

const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;
/// Room for a legend's line and its gap.
const LEGEND_MARK: f64 = 34.0;
/// Where a legend below the plot begins.
const LEGEND_LEFT: f64 = 15.0;
const LEGEND_SIZE: f64 = LETTERS;
const LEGEND_STEP: f64 = 16.0;
const LABEL_SIZE: f64 = LETTERS;
const TITLE_SIZE: f64 = 14.0;
/// From one line of a title to the next.
const TITLE_STEP: f64 = 16.0;
/// A generous mean width of a letter, relative to the font size.
const LETTER: f64 = 0.56;
/// The same in a legend beside the plot, which nothing but the drawing's edge follows: a
/// browser may have a wider font.
const LEGEND_LETTER: f64 = 0.62;
/// A legend's names are cut beyond this many letters.
const NAME_MAX: usize = 34;
/// Room above and below the values that an upright title may use.
const TITLE_BEYOND: f64 = 68.0;
const MARK_SIZE: f64 = LETTERS;
/// Height of a row of labels over the plot, and how many there may be.
const MARK_STEP: f64 = 16.0;
const MARK_ROWS: usize = 8;
/// From one turned label to the next, in heights of a letter; and how far one reaches across,
/// in its lengths.
const TURNED_STEP: f64 = 1.5;
const TURNED_ACROSS: f64 = 0.82;
/// Lines drawn for marks, at most.
const MARKS: usize = 400;

/// The rectangle that values are drawn in.
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn x(&self, part: f64) -> f64 {
        self.left + part * self.width
    }
    pub fn y(&self, part: f64) -> f64 {
        self.top + (1.0 - part) * self.height
    }
}

/// What a series looks like.
#[derive(Clone)]
pub struct Look {
    pub colour: String,
    pub width: f64,
    pub dash: Option<&'static str>,
    pub marker: Option<usize>,
    /// Opacity of what is filled.
    pub fill: Option<f64>,
}

/// A line of the legend.
pub struct Entry {
    pub name: String,
    pub look: Look,
}

/// The axes of a plot.
pub struct Rulers {
    pub x: Ruler,
    pub y: Ruler,
    pub right: Option<Ruler>,
}

impl Rulers {
    /// Axes for these values; those of the axis on the right are the plot's own.
    pub fn new(plot: &Plot, xs: &[f64], ys: &[f64]) -> Rulers {
        let xs: Vec<f64> = xs.iter().copied().chain(plot.markers.iter().map(|m| m.x)).collect();
        let on_right = plot.series.iter().filter(|s| s.right).flat_map(|s| &s.points);
        let right = plot.y_right.as_ref().filter(|_| plot.series.iter().any(|s| s.right));
        let right_values: Vec<f64> = on_right.filter_map(|(_, y)| *y).collect();
        Rulers {
            x: Ruler::across(&plot.x, &xs),
            y: Ruler::new(&plot.y.scale, ys),
            right: right.map(|axis| Ruler::new(&axis.scale, &right_values)),
        }
    }
}

/// A mark with its label over the plot.
struct Flag {
    part: f64,
    label: String,
    width: f64,
    row: usize,
    /// Its label ends at its line and does not begin there.
    before: bool,
}

impl Flag {
    /// From where to where its label reaches in a plot so wide.
    fn reach(&self, width: f64) -> (f64, f64) {
        let x = self.part * width;
        if self.before { (x - self.width, x) } else { (x, x + self.width) }
    }
    /// Whether its label would stand over this place.
    fn covers(&self, x: f64, width: f64) -> bool {
        let (from, to) = self.reach(width);
        (from..=to).contains(&x)
    }
}

/// Everything around the values.
pub struct Frame {
    size: Size,
    pub area: Area,
    pub rulers: Rulers,
    legend: Vec<Entry>,
    flags: Vec<Flag>,
    /// What must be known of the drawing, in a row of its own over the plot.
    notes: Vec<String>,
    /// The lines of the title below.
    across: Vec<String>,
    /// The upright titles on the left and on the right.
    upright: [String; 2],
    /// The category names do not fit side by side.
    turned: bool,
    below: f64,
    legend_below: bool,
}

/// Room beside a full-width drawing against time: all of them have the same rectangle, so that
/// those under one another have the same moments under one another.
pub const BESIDE_TIME: f64 = 150.0;

impl Frame {
    /// A frame with a legend.
    pub fn new(plot: &Plot, size: Size, rulers: Rulers, legend: Vec<Entry>) -> Frame {
        let is_long = legend.len() > size.legend_beside;
        let is_time = plot.x.time.is_some() && size.legend_beside > 0;
        let wide = beside(&legend) > BESIDE_TIME || rulers.right.is_some();
        let legend_below = is_long || is_time && wide;
        let room = match (is_time, legend_below) {
            (true, _) => BESIDE_TIME - right_of(&rulers),
            (false, true) => 14.0,
            (false, false) => beside(&legend),
        };
        let mut frame = Frame::with_room(plot, size, rulers, room.max(14.0));
        (frame.legend, frame.legend_below) = (legend, legend_below);
        frame
    }

    /// A frame with free room on its right.
    pub fn with_room(plot: &Plot, size: Size, rulers: Rulers, room: f64) -> Frame {
        let left = size.left.max(40.0 + width_of(&rulers.y));
        let right = right_of(&rulers);
        let mut flags = flags(&plot.markers, &rulers.x);
        let free = (size.width - left - right - room).max(120.0);
        let (turned, deep) = names_below(&plot.x.scale, free);
        let most = match turned {
            true => free.min(beside_turned(&plot.x.scale, size.width - left)),
            false => free,
        };
        let width = if hung(&mut flags, most, size.width - left - 6.0) {
            most
        } else {
            // Every label begins at its line: the plot is as wide as leaves room for the last.
            flags.iter_mut().for_each(|flag| flag.before = false);
            let last = flags.iter().filter(|flag| flag.part > 0.0);
            let for_flags = last.map(|flag| (size.width - 6.0 - left - flag.width) / flag.part);
            let width = for_flags.fold(most, f64::min).max(120.0);
            let width = match names_below(&plot.x.scale, width).0 {
                true => width.min(beside_turned(&plot.x.scale, size.width - left)),
                false => width,
            };
            raise(&mut flags, width);
            width
        };
        let (turned, deep) =
            if turned { (turned, deep) } else { names_below(&plot.x.scale, width) };
        let unlabelled = flags.iter().filter(|flag| flag.row >= MARK_ROWS).count();
        let rows = flags.iter().map(|f| f.row + 1).filter(|r| *r <= MARK_ROWS).max().unwrap_or(0);
        let notes = (unlabelled > 0).then(|| format!("{unlabelled} marks without a label"));
        let across = if rulers.x.names_unit { plot.x.bare_label() } else { &plot.x.label };
        let across = lines(across, letters(width + left));
        let more = across.len().saturating_sub(1) as f64 * TITLE_STEP;
        let upright = |text: &str| title(text, size.height + TITLE_BEYOND);
        let right_title = plot.y_right.as_ref().map_or_else(String::new, |y| upright(&y.label));
        let frame = Frame {
            size,
            area: Area { left, top: TOP + above(rows, right), width, height: size.height },
            rulers,
            legend: Vec::new(),
            flags,
            notes: Vec::new(),
            across,
            upright: [upright(&plot.y.label), right_title],
            turned,
            below: BOTTOM + deep + more,
            legend_below: false,
        };
        notes.into_iter().fold(frame, Frame::noted)
    }

    /// With a note over the plot, where no value can meet it.
    pub fn noted(mut self, note: String) -> Frame {
        if self.notes.is_empty() {
            self.area.top += MARK_STEP;
        }
        self.notes.push(note);
        self
    }

    /// With other titles of the vertical axes.
    pub fn entitled(mut self, left: &str, right: &str) -> Frame {
        let room = self.size.height + TITLE_BEYOND;
        self.upright = [title(left, room), title(right, room)];
        self
    }

    /// With a legend below, where there is something to explain.
    pub fn explained(self, legend: Vec<Entry>) -> Frame {
        Frame { legend_below: true, legend, ..self }
    }

    /// An empty sheet with the grid, of the height that everything needs.
    pub fn sheet(&self) -> Drawing {
        let under = self.legend_height();
        let height = self.area.top + self.size.height + self.below + under;
        let mut drawing = Drawing::new(self.size.width, height);
        drawing.plot_top = self.area.top;
        drawing
    }

    /// The height of a legend below the plot, where there is one.
    fn legend_height(&self) -> f64 {
        match self.legend_below && !self.legend.is_empty() {
            true => self.legend_rows().len() as f64 * LEGEND_STEP + 4.0,
            false => 0.0,
        }
    }

    /// The entries of a legend below the plot, row by row, each with where it begins: in columns,
    /// or one after the other where that takes fewer rows.
    fn legend_rows(&self) -> Vec<Vec<(f64, &Entry)>> {
        let room = self.size.width - 2.0 * LEGEND_LEFT;
        let widths: Vec<f64> = self.legend.iter().map(entry_width).collect();
        let widest = widths.iter().copied().fold(1.0, f64::max);
        let columns = (room / widest).floor().clamp(1.0, 6.0) as usize;
        let deep = self.legend.len().div_ceil(columns).max(1);
        let mut running: Vec<Vec<(f64, &Entry)>> = Vec::new();
        let mut free = f64::INFINITY;
        for (entry, width) in self.legend.iter().zip(&widths) {
            if free + width > room {
                running.push(Vec::new());
                free = 0.0;
            }
            running.last_mut().into_iter().for_each(|row| row.push((LEGEND_LEFT + free, entry)));
            free += width;
        }
        if running.len() < deep {
            return running;
        }
        let step = room / columns as f64;
        let place = |row: usize| {
            let of_row = (0..columns).map(|column| (column, self.legend.get(column * deep + row)));
            of_row
                .filter_map(|(at, entry)| Some((LEGEND_LEFT + at as f64 * step, entry?)))
                .collect()
        };
        (0..deep).map(place).collect()
    }

    /// The position of a value, against the axis on the right where that is there.
    pub fn place(&self, right: bool, x: f64, y: Option<f64>) -> Option<(f64, f64)> {
        let ruler = self.rulers.right.as_ref().filter(|_| right).unwrap_or(&self.rulers.y);
        Some((self.area.x(self.rulers.x.place(x)?), self.area.y(ruler.place(y?)?)))
    }

    /// Grid lines, to be drawn before the values.
    pub fn grid(&self, drawing: &mut Drawing) {
        let area = &self.area;
        for part in &self.rulers.y.ticks.faint {
            drawing.line((area.x(0.0), area.y(*part)), (area.x(1.0), area.y(*part)), FAINT, 0.8);
        }
        for (part, _) in &self.rulers.y.ticks.labelled {
            drawing.line((area.x(0.0), area.y(*part)), (area.x(1.0), area.y(*part)), GRID, 1.0);
        }
        for (part, _) in &self.rulers.x.ticks.labelled {
            drawing.line((area.x(*part), area.y(0.0)), (area.x(*part), area.y(1.0)), GRID, 1.0);
        }
    }

    /// Frame, labels and titles of the axes; drawn over the values.
    pub fn axes(&self, drawing: &mut Drawing) {
        let area = &self.area;
        drawing.frame(area.left, area.top, area.width, area.height);
        for (part, label) in apart(&self.rulers.y, area.height) {
            drawing.text((area.left - 8.0, area.y(part) + 4.5), LABEL_SIZE, Anchor::End, label);
        }
        self.names(drawing);
        let lowest = area.y(0.0) + self.below - 12.0;
        for (above, line) in self.across.iter().rev().enumerate() {
            let at = (area.x(0.5), lowest - above as f64 * TITLE_STEP);
            drawing.text(at, TITLE_SIZE, Anchor::Middle, line);
        }
        drawing.text_upwards((20.0, area.y(0.5)), TITLE_SIZE, &self.upright[0]);
        if let Some(right) = &self.rulers.right {
            self.right_axis(drawing, right);
        }
    }

    fn right_axis(&self, drawing: &mut Drawing, right: &Ruler) {
        let area = &self.area;
        let edge = area.x(1.0);
        let mut widest = 0;
        for (part, label) in apart(right, area.height) {
            widest = widest.max(label.chars().count());
            drawing.line((edge, area.y(part)), (edge + 5.0, area.y(part)), INK, 1.0);
            drawing.text((edge + 8.0, area.y(part) + 4.5), LABEL_SIZE, Anchor::Start, label);
        }
        let x = edge + 24.0 + widest as f64 * LABEL_SIZE * LETTER;
        drawing.text_upwards((x, area.y(0.5)), TITLE_SIZE, &self.upright[1]);
    }

    /// The labels of the horizontal axis; those that would overlap are left out.
    fn names(&self, drawing: &mut Drawing) {
        let area = &self.area;
        let mut free = f64::NEG_INFINITY;
        for (part, label) in &self.rulers.x.ticks.labelled {
            let (x, y) = (area.x(*part), area.y(0.0));
            if self.turned {
                if x >= free {
                    drawing.text_aslant((x + 4.0, y + 14.0), LABEL_SIZE, &shown(label, NAME_MAX));
                    free = x + LABEL_SIZE * TURNED_STEP;
                }
                continue;
            }
            let half = label.chars().count() as f64 * LABEL_SIZE * LETTER / 2.0;
            // The last label may be wider than what is beside it.
            let x = x.min(self.size.width - 3.0 - half).max(half);
            if x - half >= free {
                drawing.text((x, y + 19.0), LABEL_SIZE, Anchor::Middle, label);
                free = x + half + 3.0;
            }
        }
    }

    /// The marks: a vertical line each, with its label at its head.
    pub fn marks(&self, drawing: &mut Drawing) {
        let area = &self.area;
        for flag in self.flags.iter().take(MARKS) {
            let x = area.x(flag.part);
            let labelled = flag.row < MARK_ROWS && !flag.label.is_empty();
            let foot = above(0, if self.rulers.right.is_some() { 1.0 } else { 0.0 });
            let head = if labelled { 4.0 + foot + flag.row as f64 * MARK_STEP } else { 0.0 };
            let line = [(x, area.y(0.0)), (x, area.top - head - if labelled { 8.0 } else { 0.0 })];
            drawing.path(&line, "#555555", 0.9, Some("4 2"));
            if labelled {
                let (at, anchor) =
                    if flag.before { (x - 3.0, Anchor::End) } else { (x + 3.0, Anchor::Start) };
                drawing.text((at, area.top - head), MARK_SIZE, anchor, &flag.label);
            }
        }
        if !self.notes.is_empty() {
            let at = (area.x(1.0), TOP + MARK_STEP - 4.0);
            drawing.text(at, LETTERS, Anchor::End, &self.notes.join("; "));
        }
    }

    /// The legend, beside the plot or, where it is long, below it.
    pub fn legend(&self, drawing: &mut Drawing) {
        if self.legend.is_empty() {
            return;
        }
        if self.legend_below {
            drawing.begin_legend(self.legend_height());
            self.legend_below(drawing);
        } else {
            drawing.begin_legend(0.0);
            let left = self.size.width - beside(&self.legend) + 16.0;
            let step = (self.size.height / self.legend.len() as f64).min(22.0);
            for (index, entry) in self.legend.iter().enumerate() {
                draw_entry(drawing, (left, self.area.top + 10.0 + index as f64 * step), entry);
            }
        }
        drawing.end();
    }

    fn legend_below(&self, drawing: &mut Drawing) {
        let top = self.area.y(0.0) + self.below + 2.0;
        for (row, entries) in self.legend_rows().into_iter().enumerate() {
            for (left, entry) in entries {
                draw_entry(drawing, (left, top + row as f64 * LEGEND_STEP), entry);
            }
        }
    }

    /// Says that there is nothing to draw.
    pub fn no_values(&self, drawing: &mut Drawing) {
        let middle = (self.area.x(0.5), self.area.y(0.5));
        drawing.text(middle, 16.0, Anchor::Middle, "no values");
    }
}

/// The width of the longest label of an axis.
fn width_of(ruler: &Ruler) -> f64 {
    let longest = ruler.ticks.labelled.iter().map(|(_, label)| label.chars().count()).max();
    longest.unwrap_or(0) as f64 * LABEL_SIZE * LETTER
}

/// The width of the axis on the right, where there is one.
fn right_of(rulers: &Rulers) -> f64 {
    rulers.right.as_ref().map_or(0.0, |ruler| 34.0 + width_of(ruler))
}

/// The width of a legend beside the plot.
fn beside(legend: &[Entry]) -> f64 {
    let longest = legend.iter().map(|entry| name_length(&entry.name)).max().unwrap_or(0);
    LEGEND_MARK + 24.0 + longest as f64 * LEGEND_SIZE * LEGEND_LETTER
}

/// The width of an entry of a legend below the plot, with the gap behind it.
fn entry_width(entry: &Entry) -> f64 {
    LEGEND_MARK + 14.0 + name_length(&entry.name) as f64 * LEGEND_SIZE * LETTER
}

fn name_length(name: &str) -> usize {
    name.chars().count().min(NAME_MAX)
}

fn draw_entry(drawing: &mut Drawing, at: (f64, f64), entry: &Entry) {
    let (left, y) = at;
    let look = &entry.look;
    if let Some(opacity) = look.fill {
        let corners = [(0.0, -5.5), (26.0, -5.5), (26.0, 5.5), (0.0, 5.5)];
        let corners = corners.map(|(dx, dy)| (left + dx, y + dy));
        drawing.filled(&corners, &look.colour, opacity);
        drawing.path(&[corners[0], corners[1]], &look.colour, look.width, look.dash);
    } else if look.width > 0.0 {
        drawing.path(&[(left, y), (left + 26.0, y)], &look.colour, look.width, look.dash);
    }
    if let Some(marker) = look.marker {
        drawing.marker(marker, (left + 13.0, y), &look.colour);
    }
    let name = shown(&entry.name, NAME_MAX);
    drawing.text((left + LEGEND_MARK, y + 4.5), LEGEND_SIZE, Anchor::Start, &name);
}

/// Room over the plot for so many rows of labels: over an axis on the right they begin higher,
/// as they may reach over its labels.
fn above(rows: usize, right: f64) -> f64 {
    rows as f64 * MARK_STEP + if right > 0.0 { 7.0 } else { 0.0 }
}

/// How wide a plot may be whose categories' names hang down to the right, where so much is left
/// for both.
fn beside_turned(scale: &Scale, room: f64) -> f64 {
    let Scale::Categories(names) = scale else { return room };
    let count = names.len().max(1) as f64;
    let most = names.iter().enumerate().map(|(place, name)| {
        let across = name_length(name) as f64 * LABEL_SIZE * LETTER * TURNED_ACROSS;
        (room - 8.0 - across) * count / (place as f64 + 0.5)
    });
    most.fold(room, f64::min).max(120.0)
}

/// Whether the names of categories must be turned, and how much deeper they
/// then hang than numbers.
fn names_below(scale: &Scale, width: f64) -> (bool, f64) {
    let Scale::Categories(names) = scale else { return (false, 0.0) };
    let longest = names.iter().map(|name| name_length(name)).max().unwrap_or(0) as f64;
    let length = longest * LABEL_SIZE * LETTER;
    let turned = length + 4.0 > width / names.len().max(1) as f64;
    (turned, if turned { length * 0.58 } else { 0.0 })
}

/// The labels of a vertical axis that have room.
fn apart(ruler: &Ruler, height: f64) -> impl Iterator<Item = (f64, &str)> {
    let mut last = f64::NEG_INFINITY;
    ruler.ticks.labelled.iter().filter_map(move |(part, label)| {
        let room = (part - last) * height >= LABEL_SIZE;
        room.then(|| {
            last = *part;
            (*part, label.as_str())
        })
    })
}

/// The marks that lie on the axis, from left to right.
fn flags(markers: &[Marker], x: &Ruler) -> Vec<Flag> {
    let mut flags: Vec<Flag> = markers
        .iter()
        .filter_map(|marker| {
            let label = shown(&marker.label, NAME_MAX);
            let width = label.chars().count() as f64 * MARK_SIZE * LETTER + 6.0;
            let part = x.place(marker.x).filter(|part| (-1e-9..=1.0 + 1e-9).contains(part))?;
            Some(Flag { part, label, width, row: 0, before: false })
        })
        .collect();
    flags.sort_by(|a, b| a.part.total_cmp(&b.part));
    flags
}

/// Marks of which each label may stand on either side of its line.
const HUNG: usize = 40;

/// Chooses the sides and the rows of the labels in a plot so wide, and says whether there is
/// room for all: a label that would reach beyond `end` stands before its line. A label stands
/// above every line that it would cross, and beside or above the labels that it would meet.
fn hung(flags: &mut [Flag], width: f64, end: f64) -> bool {
    for flag in flags.iter_mut() {
        flag.before = flag.reach(width).1 > end;
    }
    let fits = flags.iter().all(|flag| flag.reach(width).0 >= 0.0);
    if flags.len() > HUNG || !fits {
        return false;
    }
    let mut rows: Vec<Option<usize>> = vec![None; flags.len()];
    for _ in 0..flags.len() {
        let is_over = |at: &usize, other: &usize| {
            other != at && flags[*at].covers(flags[*other].part * width, width)
        };
        // The next one is over none that has no row yet.
        let next = (0..flags.len())
            .filter(|at| rows[*at].is_none())
            .find(|at| (0..flags.len()).all(|other| rows[other].is_some() || !is_over(at, &other)));
        let Some(at) = next else { return false };
        let (from, to) = flags[at].reach(width);
        let meets = |other: usize| {
            let (low, high) = flags[other].reach(width);
            low <= to && from <= high
        };
        let over = (0..flags.len()).filter(|other| is_over(&at, other));
        let least = over.filter_map(|other| rows[other]).map(|row| row + 1).max().unwrap_or(0);
        let taken =
            |row: &usize| (0..flags.len()).any(|other| rows[other] == Some(*row) && meets(other));
        rows[at] = (least..).find(|row| !taken(row));
    }
    for (flag, row) in flags.iter_mut().zip(rows) {
        flag.row = row.unwrap_or(MARK_ROWS);
    }
    true
}

/// Chooses the rows of the labels. A label begins at its line and reaches to
/// the right: it stands one row above everything that begins beneath it, so
/// that neither another label nor another line crosses it.
fn raise(flags: &mut [Flag], width: f64) {
    for index in (0..flags.len()).rev() {
        let end = flags[index].part * width + flags[index].width;
        let beneath = flags[index + 1..].iter().take_while(|other| other.part * width <= end);
        // A mark without a label ends at the plot's edge: it is in nobody's way.
        let labelled = beneath.filter(|flag| flag.row < MARK_ROWS);
        flags[index].row = labelled.map(|flag| flag.row + 1).max().unwrap_or(0);
    }
}

/// The title of an axis, as much of it as has room.
fn title(text: &str, room: f64) -> String {
    shown(text, letters(room))
}

/// Letters of a title that have room.
fn letters(room: f64) -> usize {
    ((room / (TITLE_SIZE * LETTER)) as usize).max(8)
}

/// A title in one line, or in two if it has more letters than one has room for. It breaks after
/// a comma where it can.
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

/// A text, cut where it is longer than `letters`.
pub fn shown(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(part: f64, width: f64) -> Flag {
        Flag { part, label: "x".into(), width, row: 0, before: false }
    }

    /// No label meets another label of its row, or the line of a mark that
    /// reaches higher.
    fn assert_free(flags: &[Flag], width: f64) {
        for (index, flag) in flags.iter().enumerate().filter(|(_, f)| f.row < MARK_ROWS) {
            let end = flag.part * width + flag.width;
            for other in flags[index + 1..].iter().filter(|f| f.row < MARK_ROWS) {
                assert!(other.part * width > end || other.row < flag.row);
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
            let mut flags: Vec<Flag> = (0..count)
                .map(|n| flag(f64::from(n * n % 17) / 17.0, 20.0 + f64::from(n % 7) * 15.0))
                .collect();
            flags.sort_by(|a, b| a.part.total_cmp(&b.part));
            raise(&mut flags, 600.0);
            assert_free(&flags, 600.0);
            assert!(flags.iter().any(|f| f.row == 0), "some label stands lowest");
        }
        let mut near = [flag(0.2, 150.0), flag(0.9, 150.0), flag(0.95, 150.0)];
        assert!(hung(&mut near, 300.0, 330.0), "there is room on the other side");
        assert_eq!(near.each_ref().map(|f| f.before), [false, true, true]);
        assert_eq!(near.map(|f| f.row), [0, 1, 2]);
        assert!(!hung(&mut [flag(0.1, 290.0), flag(0.9, 290.0)], 300.0, 330.0), "none at all");
        let mut apart = [flag(0.0, 50.0), flag(0.5, 50.0), flag(0.55, 50.0)];
        raise(&mut apart, 600.0);
        assert_eq!(apart.map(|f| f.row), [0, 1, 0]);
    }
}
