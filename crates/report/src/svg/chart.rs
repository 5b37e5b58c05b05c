//! What a page's script needs of a drawing over two axes: where the values stand, and the
//! values.

use super::axis::Ruler;
use super::frame::{Frame, Look};
use serde::Serialize;
use steadfast_domain::findings::{Axis, Plot, Scale, Series, TimeUnit};

/// Points of a series, at most: of more, each slice keeps its first, least, greatest and last.
const POINTS: usize = 3000;
/// Significant digits that a pointer shows.
const DIGITS: i32 = 6;

/// A drawing's axes and values.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// Left, top, width and height of the rectangle of values.
    area: [f64; 4],
    /// Whether a part of the horizontal axis may be drawn larger: its values are joined lines
    /// or points.
    zoom: bool,
    x: Reach,
    y: Reach,
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<Reach>,
    series: Vec<Drawn>,
}

/// An axis.
#[derive(Debug, Serialize)]
struct Reach {
    label: String,
    low: f64,
    high: f64,
    log: bool,
    /// Seconds of its unit, where it is one of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

/// A series.
#[derive(Debug, Serialize)]
struct Drawn {
    name: String,
    colour: String,
    width: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dash: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    right: bool,
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    /// The upper edge of a band.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    upper: Vec<Option<f64>>,
}

impl Chart {
    /// Of a drawing whose series look so.
    pub fn of(plot: &Plot, frame: &Frame, looks: &[Look], zoom: bool) -> Chart {
        let area = &frame.area;
        let numbers = !matches!(plot.x.scale, Scale::Categories(_));
        let right = frame.rulers.right.as_ref().zip(plot.y_right.as_ref());
        Chart {
            area: [area.left, area.top, area.width, area.height],
            zoom: zoom && numbers,
            x: Reach::of(&plot.x, &frame.rulers.x),
            y: Reach::of(&plot.y, &frame.rulers.y),
            right: right.map(|(ruler, axis)| Reach::of(axis, ruler)),
            series: plot
                .series
                .iter()
                .zip(looks)
                .map(|(s, look)| Drawn::of(plot, s, look))
                .collect(),
        }
    }
}

impl Chart {
    /// Of columns on top of one another, each layer with its name, its color and its heights;
    /// the lines over them look so.
    pub fn of_layers<'a>(
        plot: &Plot,
        frame: &Frame,
        xs: &[f64],
        layers: impl Iterator<Item = (&'a str, &'a str, &'a [f64])>,
        lines: &[(&Series, Look)],
    ) -> Chart {
        let layers = layers.map(|(name, colour, heights)| Drawn {
            name: name.to_owned(),
            colour: colour.to_owned(),
            width: 0.0,
            dash: None,
            right: false,
            x: xs.iter().copied().map(rounded).collect(),
            y: heights.iter().map(|height| Some(rounded(*height))).collect(),
            upper: Vec::new(),
        });
        let lines = lines.iter().map(|(series, look)| Drawn::of(plot, series, look));
        Chart { series: layers.chain(lines).collect(), ..Chart::of(plot, frame, &[], false) }
    }
}

impl Reach {
    fn of(axis: &Axis, ruler: &Ruler) -> Reach {
        let (low, high, log) = ruler.span();
        let names = match &axis.scale {
            Scale::Categories(names) => names.clone(),
            _ => Vec::new(),
        };
        let time = axis.time.map(TimeUnit::seconds);
        Reach { label: axis.label.clone(), low, high, log, time, names }
    }
}

impl Drawn {
    fn of(plot: &Plot, series: &Series, look: &Look) -> Drawn {
        // A band is thin already: whoever makes one cuts both of its edges alike.
        let is_band = !series.upper.is_empty();
        let points = if is_band { series.points.clone() } else { envelope(&series.points) };
        let value = |y: Option<f64>| y.filter(|y| y.is_finite()).map(rounded);
        Drawn {
            name: series.name.clone(),
            colour: look.colour.clone(),
            width: look.width,
            dash: look.dash,
            right: series.right && plot.y_right.is_some(),
            x: points.iter().map(|(x, _)| rounded(*x)).collect(),
            y: points.iter().map(|(_, y)| value(*y)).collect(),
            upper: series.upper.iter().map(|y| value(*y)).collect(),
        }
    }
}

/// The points that say all of a long series: of every slice the first, the least, the greatest
/// and the last, and every gap.
fn envelope(points: &[(f64, Option<f64>)]) -> Vec<(f64, Option<f64>)> {
    let finite = |point: &&(f64, Option<f64>)| point.0.is_finite();
    if points.len() <= POINTS {
        return points.iter().filter(finite).copied().collect();
    }
    let slice = points.len().div_ceil(POINTS / 5).max(1);
    let mut out = Vec::new();
    for slice in points.chunks(slice) {
        let value = |at: &usize| slice[*at].1.filter(|y| y.is_finite());
        let with: Vec<usize> = (0..slice.len()).filter(|at| value(at).is_some()).collect();
        let by = |a: &usize, b: &usize| {
            value(a).unwrap_or_default().total_cmp(&value(b).unwrap_or_default())
        };
        let least = with.iter().copied().min_by(by);
        let greatest = with.iter().copied().max_by(by);
        let gap = (0..slice.len()).find(|at| value(at).is_none());
        let mut kept: Vec<usize> =
            [Some(0), least, greatest, gap, Some(slice.len() - 1)].into_iter().flatten().collect();
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().map(|at| slice[at]).filter(|point| point.0.is_finite()));
    }
    out
}

/// A number with as many digits as a pointer shows.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    match (value * scale).round() / scale {
        tidy if tidy.is_finite() => tidy,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_keeps_its_peaks_and_gaps() {
        let mut points: Vec<(f64, Option<f64>)> =
            (0..10_007).map(|n| (f64::from(n), Some(f64::from(n % 7)))).collect();
        (points[5003].1, points[7001].1, points[9001].1) = (Some(99.0), Some(-5.0), None);
        let kept = envelope(&points);
        assert!(kept.len() <= POINTS + 5, "{}", kept.len());
        for at in [0, 5003, 7001, 9001, 10_006] {
            assert!(kept.contains(&points[at]), "{at}");
        }
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn numbers_have_six_digits() {
        assert_eq!(rounded(123_456.789), 123_457.0);
        assert_eq!(rounded(0.000_123_456_789), 0.000_123_457);
        assert!((rounded(1e300) / 1e300 - 1.0).abs() < 1e-12, "{}", rounded(1e300));
    }
}
