//! Response times of many I/Os: histogram with confidence levels (Confidence Level Plot, CLP) and
//! table of percentiles.
//!
//! Follows the public implementations: counts on the left axis, cumulative percentage on the
//! right, marks at the average and at 99.9, 99.99 and 99.999 %, cut at 1.1 times the 99.999 %
//! value. The standard's rule for the bin width could not be verified. Here the bin width is the
//! smallest power of two, in nanoseconds, that is no narrower than any histogram bucket below the
//! cut, so that no bucket is split.

use crate::report_notation::number;
use std::borrow::Borrow;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Marker, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::histogram::MIN_IOS_BEYOND_PERCENTILE;
use steadfast_domain::text::counted;
use steadfast_domain::{Caveat, Measurement, Nanos, Tally, caveats as ids};

/// Five nines, the standard's tail percentile.
pub(crate) const FIVE_NINES: f64 = 0.99999;

/// Percentiles of the table, in percent.
pub(crate) const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9, 99.99,
    99.999, 99.9999,
];

/// Marked percentiles, in percent.
const MARKED: [f64; 3] = [99.9, 99.99, 99.999];

/// End of the plot as a multiple of the 99.999 % value.
const CUT_FACTOR: f64 = 1.1;

/// Returns the caveat that discloses the bins of a Confidence Level Plot.
pub(crate) fn bins_caveat() -> Caveat {
    Caveat::unverified(
        ids::HISTOGRAM_BINS,
        "Response-time histograms: the bin width of the standard could not be verified. The bin \
         width here is the smallest power of two, in nanoseconds, that splits no bucket of the \
         recorded histogram. Each plot states its bin width.",
        "",
    )
}

/// Plots the response-time histogram of a run with confidence levels. The title is the name,
/// followed by rates and maximum response time: `NAME - 12,345.0 IOPS, 50.6 MB/s, MRT 1.234 ms`.
pub(crate) fn run_confidence_plot(id: &str, name: &str, run: &Measurement) -> Plot {
    let tally = run.total();
    confidence_plot(id, &rated_title(name, run.iops(), run.mb_per_second(), &tally), &tally)
}

/// Appends rates and maximum response time to a title, as far as they are known.
pub(crate) fn rated_title(
    title: &str,
    iops: Option<f64>,
    mb_per_second: Option<f64>,
    tally: &Tally,
) -> String {
    let parts: Vec<String> = [
        iops.map(|v| format!("{} IOPS", number(v, 1))),
        mb_per_second.map(|v| format!("{} MB/s", number(v, 1))),
        tally.response_longest().map(|t| format!("MRT {:.3} ms", t.as_millis_f64())),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { title.to_owned() } else { format!("{title} - {}", parts.join(", ")) }
}

/// Returns a percentile given in percent.
fn percentile_at(tally: &Tally, percent: f64) -> Option<Nanos> {
    tally.percentile(percent / 100.0)
}

/// Plots the response-time histogram of a tally with confidence levels.
pub(crate) fn confidence_plot(id: &str, title: &str, tally: &Tally) -> Plot {
    let cut = cut_time(tally);
    let width = bin_width(cut);
    let binned = count_bins(tally, cut, width);
    let total = tally.histogram.total();
    let mut plot = Plot::new(
        PlotKind::Histogram,
        id,
        title,
        Axis::new("Response time (ms)", Scale::Linear),
        Axis::new("I/Os per bin", Scale::Log10),
    )
    .caption(caption(tally, cut, width))
    .with(Series::new("I/Os", Stroke::Measured, binned.clone()))
    .with(
        Series::new("Confidence level", Stroke::Measured, confidence(&binned, width, total))
            .on_right(),
    );
    plot.y_right = Some(Axis::new("Confidence level (%)", Scale::Percent));
    plot.markers = markers(tally, cut);
    plot
}

/// Returns the end of the plot: 1.1 times the 99.999 % value, or the maximum response time if there
/// are too few I/Os for that percentile.
fn cut_time(tally: &Tally) -> Nanos {
    match tally.percentile(FIVE_NINES) {
        Some(time) => Nanos((time.0 as f64 * CUT_FACTOR).ceil() as u64),
        None => tally.response_max,
    }
}

/// Bits of a histogram bucket's number below its power of two: each has 128 buckets.
const BUCKET_BITS: u32 = 7;

/// Returns the width of the histogram bucket that contains `cut`, in nanoseconds.
fn bin_width(cut: Nanos) -> u64 {
    1 << cut.0.max(1).ilog2().saturating_sub(BUCKET_BITS)
}

/// Returns counts in bins of equal width from 0 to the cut; I/Os beyond it are omitted. Bucket edges
/// are multiples of the bucket width, a power of two, so every bucket lies within one bin.
fn count_bins(tally: &Tally, cut: Nanos, width: u64) -> Vec<(f64, Option<f64>)> {
    if tally.histogram.total() == 0 {
        return Vec::new();
    }
    let mut counts = vec![0u64; usize::try_from(cut.0 / width).unwrap_or(0) + 1];
    for (low, _, count) in tally.histogram.buckets() {
        let bin = usize::try_from(low.0 / width).unwrap_or(usize::MAX);
        if let Some(sum) = counts.get_mut(bin) {
            *sum += count;
        }
    }
    (0u64..)
        .zip(counts)
        .map(|(bin, count)| (Nanos(bin * width).as_millis_f64(), Some(count as f64)))
        .collect()
}

/// Returns the cumulative percentage of I/Os at the end of each bin, as steps. The position of an
/// I/O within its bin is unknown, so the sum rises at the bin's end.
fn confidence(bins: &[(f64, Option<f64>)], width: u64, total: u64) -> Vec<(f64, Option<f64>)> {
    let Some((begin, _)) = bins.first() else { return Vec::new() };
    let width = Nanos(width).as_millis_f64();
    let percent = |sum: f64| Some(sum / total as f64 * 100.0);
    let mut sum = 0.0;
    let mut steps = vec![(*begin, Some(0.0))];
    for (begin, count) in bins {
        let count = count.unwrap_or_default();
        if count > 0.0 {
            let end = begin + width;
            steps.push((end, percent(sum)));
            sum += count;
            steps.push((end, percent(sum)));
        }
    }
    steps
}

/// Plots the share of I/Os slower than each response time, as steps at the upper edges of the
/// histogram's buckets. A curve ends where fewer than ten I/Os are slower, because no higher
/// percentile is printed.
pub(crate) fn tail_plot<N: AsRef<str>, T: Borrow<Tally>>(
    id: &str,
    title: &str,
    columns: &[(N, T)],
) -> Plot {
    let curves = columns
        .iter()
        .map(|(name, tally)| Series::new(name.as_ref(), Stroke::Measured, tail(tally.borrow())));
    Plot::lines(
        id,
        title,
        Axis::new("Response time (ms)", Scale::Log10),
        Axis::new("Slower I/Os (%)", Scale::Log10),
    )
    .caption(
        "Percentage of I/Os slower than each response time: 1 % is at the 99th percentile, 0.001 % \
         at the 99.999th. Curves start at the median and end where fewer than ten I/Os are slower.",
    )
    .series(curves)
}

/// Returns the steps of the curve: upper bucket edge, and percentage of I/Os beyond it.
fn tail(tally: &Tally) -> Vec<(f64, Option<f64>)> {
    let total = tally.histogram.total();
    let mut beyond = total;
    let share = |beyond: u64| Some(beyond as f64 / total as f64 * 100.0);
    let mut steps: Vec<(f64, Option<f64>)> = Vec::new();
    for (_, high, count) in tally.histogram.buckets() {
        // Below the median response time the curve is nearly flat and would take half of the axis.
        if 2 * (beyond - count) > total {
            beyond -= count;
            continue;
        }
        let x = high.as_millis_f64();
        steps.push((x, share(beyond)));
        beyond -= count;
        if beyond < MIN_IOS_BEYOND_PERCENTILE {
            break;
        }
        steps.push((x, share(beyond)));
    }
    steps
}

fn markers(tally: &Tally, cut: Nanos) -> Vec<Marker> {
    let average = tally.response_mean().map(|time| (time, "ART".to_owned()));
    let marked = MARKED
        .iter()
        .filter_map(|percent| Some((percentile_at(tally, *percent)?, format!("{percent} %"))));
    average
        .into_iter()
        .chain(marked)
        .filter(|(time, _)| *time <= cut)
        .map(|(time, name)| Marker {
            x: time.as_millis_f64(),
            label: format!("{name} {} ms", three_digits(time.as_millis_f64())),
        })
        .collect()
}

/// Formats a value with three significant digits, because buckets are 0.78 % wide.
fn three_digits(value: f64) -> String {
    let integer_digits = value.abs().max(1e-9).log10().floor() as i32 + 1;
    number(value, usize::try_from(3 - integer_digits).unwrap_or(0))
}

fn caption(tally: &Tally, cut: Nanos, width: u64) -> String {
    let total = tally.histogram.total();
    if total == 0 {
        return "No I/Os were recorded.".into();
    }
    let beyond: u64 = tally
        .histogram
        .buckets()
        .filter(|(low, ..)| low.0 / width > cut.0 / width)
        .map(|(.., count)| count)
        .sum();
    let cut_at = match tally.percentile(FIVE_NINES) {
        Some(_) => "1.1 times the 99.999th percentile",
        None => "the maximum response time (too few I/Os for the 99.999th percentile)",
    };
    format!(
        "{} in bins of {:.3} µs, and their cumulative percentage. The plot ends at {cut_at}; {} \
         beyond it not shown.",
        counted(total, "I/O"),
        Nanos(width).as_micros_f64(),
        counted(beyond, "I/O")
    )
}

/// Returns a table of percentiles with a column per tally; a percentile with fewer than ten I/Os
/// beyond it is a dash.
pub(crate) fn percentile_table<N: AsRef<str>, T: Borrow<Tally>>(
    id: &str,
    title: &str,
    columns: &[(N, T)],
) -> Table {
    let row = |head: &str, value: &dyn Fn(&Tally) -> TableCell| {
        Row::new(head, columns.iter().map(|(_, tally)| value(tally.borrow())))
    };
    let mut rows = vec![
        row("I/Os", &|tally| TableCell::number((tally.ios > 0).then_some(tally.ios as f64), 0)),
        row("ART", &|tally| time_cell(tally.response_mean())).strong(true),
        row("Minimum", &|tally| time_cell(tally.response_shortest())),
    ];
    for percent in PERCENTILES {
        let value = |tally: &Tally| time_cell(percentile_at(tally, percent));
        rows.push(row(&format!("{percent} %"), &value).strong(percent == 99.999));
    }
    rows.push(row("MRT (maximum)", &|tally| time_cell(tally.response_longest())).strong(true));
    let names = columns.iter().map(|(name, _)| name.as_ref().to_owned());
    Table::new(id, title, "Percentile").columns(names).rows(rows)
}

fn time_cell(time: Option<Nanos>) -> TableCell {
    TableCell::number(time.map(Nanos::as_millis_f64), 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::tally_of;
    use proptest::prelude::*;
    use steadfast_domain::FineHistogram;

    /// Two million I/Os of 100 to 199 µs and one of 50 ms.
    fn two_million() -> Tally {
        tally_of((0..2_000_000).map(|n| 100_000 + n % 100 * 1000).chain([50_000_000]))
    }

    #[test]
    fn counts_stay_whole_and_the_curve_is_cut_beyond_five_nines() {
        let tally = two_million();
        let plot = confidence_plot("clp", "CLP", &tally);
        let counted: f64 = plot.series[0].points.iter().filter_map(|p| p.1).sum();
        assert_eq!(counted, 2_000_000.0, "all but the one beyond the cut");
        assert!(plot.series[0].points.iter().all(|p| p.1.unwrap().fract() == 0.0));
        let five_nines = tally.percentile(0.99999).unwrap().as_millis_f64();
        let last = plot.series[0].points.last().unwrap().0;
        assert!(last <= five_nines * 1.1 && last > five_nines, "{last} {five_nines}");
        assert!(plot.caption.contains("; 1 I/O beyond it not shown"), "{}", plot.caption);
        let labels: Vec<_> = plot.markers.iter().map(|m| m.label.as_str()).collect();
        assert_eq!(labels[0], "ART 0.150 ms", "{labels:?}");
        assert_eq!(labels.len(), 4, "{labels:?}");
    }

    /// Returns the height of steps at `x`: that of the last point not beyond it.
    fn height(steps: &[(f64, Option<f64>)], x: f64) -> Option<f64> {
        steps.iter().rev().find(|point| point.0 <= x).and_then(|point| point.1)
    }

    #[test]
    fn the_confidence_curve_is_the_running_sum_of_the_bins() {
        // Two humps with nothing between them: 639 short I/Os of every 1000.
        let humps = tally_of((0..100_000).map(|n| if n % 1000 < 639 { 100_000 } else { 900_000 }));
        let plot = confidence_plot("clp", "CLP", &humps);
        let (bins, curve) = (&plot.series[0].points, &plot.series[1]);
        assert!(curve.right);
        let width = bins[1].0 - bins[0].0;
        let mut sum = 0.0;
        for (begin, count) in bins {
            let before = height(&curve.points, begin + width * 0.5).unwrap();
            assert!((before - sum / 1000.0).abs() < 1e-9, "{begin}: {before} {sum}");
            sum += count.unwrap();
        }
        assert!((height(&curve.points, 0.5).unwrap() - 63.9).abs() < 1e-9);
        let last = |plot: &Plot| plot.series[1].points.last().and_then(|p| p.1).unwrap();
        assert_eq!(last(&plot), 100.0);
        let cut = last(&confidence_plot("clp", "CLP", &two_million()));
        assert!((cut - 2_000_000.0 / 2_000_001.0 * 100.0).abs() < 1e-9, "one lies beyond: {cut}");
    }

    #[test]
    fn the_tail_ends_where_ten_ios_lie_beyond() {
        // Fifteen of two million take 50 ms: five nines lie before them.
        let quick = (0..2_000_000).map(|n| 100_000 + n % 100 * 1000);
        let tally = tally_of(quick.chain([50_000_000; 15]));
        let plot = tail_plot("tail", "Tail", &[("W", &tally)]);
        let points = &plot.series[0].points;
        let five_nines = tally.percentile(0.99999).unwrap().as_millis_f64();
        let at = |x: f64| height(points, x).unwrap();
        assert!(at(five_nines) <= 0.001 && at(five_nines * 0.99) > 0.001);
        let least = 10.0 / tally.ios as f64 * 100.0;
        assert!(points.iter().all(|(_, y)| y.unwrap() >= least), "{points:?}");
        // One alone supports nothing: the curve ends before it.
        let plot = tail_plot("tail", "Tail", &[("W", &two_million())]);
        assert!(plot.series[0].points.iter().all(|(x, y)| *x < 1.0 && y.unwrap() > 0.0));
        assert!(tail_plot("e", "E", &[("W", &Tally::default())]).series[0].points.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(83))]

        /// The steps, the tail and the bins are three views of the same counts.
        #[test]
        fn steps_and_tail_agree_with_the_bins(
            values in prop::collection::vec((1_000u64..100_000_000, 1u64..3_000), 1..41),
        ) {
            let all = values.iter().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count as usize));
            let tally = tally_of(all);
            let total = tally.histogram.total() as f64;
            let plot = confidence_plot("clp", "CLP", &tally);
            let (bins, curve) = (&plot.series[0].points, &plot.series[1].points);
            let tail = tail(&tally);
            let width = bins.get(1).map_or(0.0, |second| second.0 - bins[0].0);
            let mut sum = 0.0;
            for (begin, count) in bins {
                sum += count.unwrap_or_default();
                let end = (begin + width) * (1.0 + 1e-12);
                let below = height(curve, end).unwrap_or_default();
                prop_assert!((below - sum / total * 100.0).abs() < 1e-6, "{} {}", below, sum);
                // No bucket is split between bins: at the end of a bin both say the same.
                if let Some(beyond) = height(&tail, end).filter(|_| total - sum >= 10.0) {
                    prop_assert!((below + beyond - 100.0).abs() < 1e-6, "{} {}", below, beyond);
                }
            }
            prop_assert!(tail.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            prop_assert!(tail.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            for fraction in [0.5, 0.9, 0.99, 0.999] {
                let Some(time) = tally.percentile(fraction) else { continue };
                // The curve knows buckets alone, and nothing beyond its end.
                let (_, high) = FineHistogram::bounds(FineHistogram::index(time.0));
                let time = Nanos(high).as_millis_f64();
                if tail.last().is_none_or(|end| time >= end.0) {
                    continue;
                }
                let beyond = height(&tail, time * (1.0 + 1e-9)).unwrap_or(100.0);
                prop_assert!(beyond <= (1.0 - fraction) * 100.0 + 1e-6, "{} {}", fraction, beyond);
            }
        }
    }

    #[test]
    fn no_bucket_is_split_between_bins_at_any_scale() {
        for top in [300u64, 5_000, 77_777, 1_000_003, 900_000_000] {
            let width = bin_width(Nanos(top));
            for index in 0..=FineHistogram::index(top) {
                let (low, high) = FineHistogram::bounds(index);
                assert_eq!(low / width, high / width, "bucket {low}..{high} at {top}");
            }
            assert!((127..=256).contains(&(top / width)), "{top}: {width}");
        }
    }

    #[test]
    fn few_or_no_ios_invent_nothing() {
        let few = tally_of((0..50).map(|n| 1_000 + n));
        let table = percentile_table("p", "P", &[("W", &few)]);
        let cell =
            |head: &str| table.rows.iter().find(|r| r.head == head).unwrap().cells[0].clone();
        assert_eq!(cell("99 %"), TableCell::Missing);
        assert!(matches!(cell("80 %"), TableCell::Number { .. }));
        let empty = confidence_plot("e", "E", &Tally::default());
        assert!(empty.series.iter().all(|s| s.points.is_empty()) && empty.markers.is_empty());
        assert_eq!(rated_title("CLP", None, None, &Tally::default()), "CLP");
    }
}
