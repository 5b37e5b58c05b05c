//! Every kind of drawing as a picture, compared dot by dot with the accepted one: tests what
//! readers see, whatever the SVG contains. A mismatch writes both side by side.

use super::{MIXES, SIZES, matrix, plots, window};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use steadfast_domain::findings::{Axis, BandEdge, Plot, PlotKind, Scale, Series, Stroke, TimeUnit};
use steadfast_report::svg;

/// Width of a picture in dots.
const WIDTH: f32 = 430.0;
/// Difference in a channel from which a dot counts as different.
const CHANNEL_DIFFERENCE: u8 = 64;
/// Share of dots that may differ: edges are antialiased, with small differences between machines.
const DIFFERING_SHARE_MAX: f64 = 0.001;

/// The fonts of the reports.
fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let made = FONTS.get_or_init(|| {
        let mut all = fontdb::Database::new();
        typst_assets::fonts().for_each(|data| all.load_font_data(data.to_vec()));
        all.set_serif_family("Libertinus Serif");
        Arc::new(all)
    });
    Arc::clone(made)
}

fn picture(drawing: &str) -> Pixmap {
    let options = Options { fontdb: fonts(), ..Options::default() };
    let tree = Tree::from_str(drawing, &options).unwrap();
    let scale = WIDTH / tree.size().width();
    let mut map = Pixmap::new(WIDTH as u32, (tree.size().height() * scale).ceil() as u32).unwrap();
    map.fill(resvg::tiny_skia::Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut map.as_mut());
    map
}

/// Returns the share of dots that differ; 1 if the sizes differ.
fn differing(one: &Pixmap, other: &Pixmap) -> f64 {
    if (one.width(), one.height()) != (other.width(), other.height()) {
        return 1.0;
    }
    let dots = one.data().chunks(4).zip(other.data().chunks(4));
    let off = dots
        .filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > CHANNEL_DIFFERENCE))
        .count();
    off as f64 / f64::from(one.width() * one.height())
}

/// Returns the accepted picture and the current one side by side.
fn side_by_side(accepted: Option<&Pixmap>, found: &Pixmap) -> Pixmap {
    let height = accepted.map_or(0, Pixmap::height).max(found.height());
    let mut both = Pixmap::new(found.width() * 2 + 10, height).unwrap();
    let paint = resvg::tiny_skia::PixmapPaint::default();
    if let Some(accepted) = accepted {
        both.draw_pixmap(0, 0, accepted.as_ref(), &paint, Transform::identity(), None);
    }
    let at = found.width() as i32 + 10;
    both.draw_pixmap(at, 0, found.as_ref(), &paint, Transform::identity(), None);
    both
}

/// Compares with a picture of tests/data/pictures; `BLESS=1` accepts the current one.
fn as_accepted(name: &str, plot: &Plot) -> Result<(), PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pictures").join(name);
    let found = picture(&svg(plot));
    let accepted = Pixmap::load_png(&path).ok();
    let same = accepted
        .as_ref()
        .is_some_and(|accepted| differing(accepted, &found) <= DIFFERING_SHARE_MAX);
    if std::env::var_os("BLESS").is_some() && !same {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        found.save_png(&path).unwrap();
        return Ok(());
    }
    if same {
        return Ok(());
    }
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("both-{name}"));
    side_by_side(accepted.as_ref(), &found).save_png(&shown).unwrap();
    Err(shown)
}

/// Returns a plot of response times over time: a band, its middle, and the longest.
fn band() -> Plot {
    let at = |n: u32| 0.2 + f64::from(n % 17) / 40.0 + f64::from(n) / 200.0;
    let value = |n: u32, factor: f64| (!(40..47).contains(&n)).then(|| at(n) * factor);
    let edge = |n: u32| BandEdge { x: f64::from(n), low: value(n, 1.0), high: value(n, 4.0) };
    let edges: Vec<BandEdge> = (0..120).map(edge).collect();
    let line = |factor: f64| (0..120).map(|n| (f64::from(n), value(n, factor))).collect();
    let x = Axis::time("Time", TimeUnit::Seconds);
    let y = Axis::new("Response time (ms)", Scale::Log10);
    Plot::lines("band", "Response times", x, y)
        .with(Series::new("longest", Stroke::Context, line(9.0)))
        .with(Series::band("median to 99.9 %", &edges))
        .with(Series::new("median", Stroke::Measured, line(1.0)))
}

fn bars() -> Plot {
    let names = ["RND 4K read", "RND 4K write", "SEQ 128K read"].map(str::to_owned).to_vec();
    let bars =
        |part: f64| (0..3).map(|n| (f64::from(n), Some(100.0 * part + f64::from(n)))).collect();
    let x = Axis::new("", Scale::Categories(names));
    let y = Axis::new("% of A", Scale::Linear);
    Plot::new(PlotKind::Bars, "bars", "Key figures", x, y)
        .with(Series::new("A", Stroke::Measured, bars(1.0)))
        .with(Series::new("B", Stroke::Measured, bars(1.3)))
        .with(Series::new("C", Stroke::Measured, bars(0.4)))
}

pub fn heat() -> Plot {
    let mut plot = matrix(PlotKind::Columns3d);
    plot.kind = PlotKind::HeatMap;
    plot.y.scale = Scale::Log10;
    plot.y_right = Some(Axis::new("Read/write mix (%)", Scale::Linear));
    assert_eq!((plot.series.len(), plot.series[0].points.len()), (MIXES.len(), SIZES.len()));
    plot
}

#[test]
fn every_kind_looks_as_accepted() {
    let all = [
        ("lines.png", plots::saturation(360)),
        ("window.png", window()),
        ("band.png", band()),
        ("columns.png", matrix(PlotKind::Columns3d)),
        ("heat.png", heat()),
        ("bars.png", bars()),
        ("histogram.png", plots::confidence()),
        ("cloud.png", plots::cloud()),
        ("stacked.png", plots::stacked(30, 26)),
    ];
    let changed = all.iter().filter_map(|(name, plot)| as_accepted(name, plot).err());
    let changed: Vec<String> = changed.map(|shown| shown.display().to_string()).collect();
    assert!(
        changed.is_empty(),
        "accepted on the left, found on the right; look at them, then BLESS=1 to accept:\n{}",
        changed.join("\n")
    );
}

#[test]
fn a_line_that_moved_is_noticed() {
    let one = picture(&svg(&window()));
    let mut moved = window();
    moved.series[0].points[2].1 = Some(21_500.0);
    assert!(differing(&one, &picture(&svg(&moved))) > DIFFERING_SHARE_MAX);
    assert_eq!(differing(&one, &picture(&svg(&window()))), 0.0);
}

/// The limits of a band are distinguishable in gray: their dashes differ.
#[test]
fn the_limits_of_a_band_are_distinguishable_without_color() {
    let drawing = svg(&window());
    let dashes: std::collections::BTreeSet<&str> = drawing
        .split("stroke-dasharray=\"")
        .skip(1)
        .filter_map(|piece| piece.split('"').next())
        .collect();
    assert_eq!(dashes.len(), 2, "{dashes:?}");
}
