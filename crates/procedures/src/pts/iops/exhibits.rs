//! The exhibits of the IOPS test: the eight pages of the PTS 2.0 report form
//! (six in 1.1), and the chapters of a TKperf report.

use super::results::{Cell, Results};
use super::{Iops, TRACKED_4K};
use crate::pts::disclosure::{self, row, row_maybe};
use crate::pts::rounds::PHASE;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FINDINGS_VERSION, Facts, Page, Plot, PlotKind, Row, Scale,
    Series, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{
    Bytes, Caveat, CaveatKind, Findings, Measurement, Nanos, Op, Record, Tally,
};

/// Five nines, the standard's tail percentile.
const FIVE_NINES: f64 = 0.99999;

/// Everything that is reported of a run.
pub fn findings(iops: &Iops, record: &Record, results: &Results) -> Findings {
    let choices = iops.choices();
    let header = disclosure::form_header(
        "IOPS Test (REQUIRED)",
        "IOPS - Block Size x RW Mix Matrix",
        "IOPS Loop",
        &choices,
        record,
        &results.verdict,
    );
    let simulated = record.opening().is_some_and(|(device, ..)| device.is_simulated());
    Findings {
        version: FINDINGS_VERSION,
        title: "IOPS".into(),
        method: format!(
            "Method of {} as in docs/methods.md, profile {}, class {}",
            choices.method.document, iops.settings.profile, iops.settings.class
        ),
        headline: disclosure::headline(&choices, record),
        simulated,
        run_unix_ms: (record.began_unix_ms, record.ended_unix_ms),
        digest: record.digest.clone(),
        software: record.opening().map(|(.., software)| software.to_owned()).unwrap_or_default(),
        ending: ending(iops, record, results),
        header,
        verdict: Some(results.verdict.clone()),
        caveats: caveats(iops, record, results),
        summary: summary(iops, results),
        form_pages: form_pages(iops, results),
        chapters: chapters(iops, record, results),
        long_tables: vec![every_step(record)],
        parts: Vec::new(),
    }
}

fn ending(iops: &Iops, record: &Record, results: &Results) -> String {
    let rounds = results.rounds.len();
    if !record.has_ended() {
        return format!("The run is not finished: {rounds} rounds are complete.");
    }
    match (results.verdict.steady, results.verdict.window) {
        (true, Some((first, last))) => {
            format!("Steady state in rounds {first} to {last} of {rounds}.")
        }
        _ => format!(
            "Steady state NOT achieved in {rounds} rounds (at most {} were allowed).",
            iops.mixed_loop.rounds_max
        ),
    }
}

fn caveats(iops: &Iops, record: &Record, results: &Results) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if !record.has_ended() {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "unfinished",
            "The run is not finished; what follows is what was measured so far.",
            "Go on with `steadfast resume RUN_DIR`.",
        ));
    } else if !results.verdict.steady {
        let reported = match (results.verdict.window, results.reported) {
            (Some((first, last)), _) => format!("rounds {first} to {last}"),
            (None, Some((first, last))) => format!("all complete rounds, {first} to {last}"),
            (None, None) => "no round".into(),
        };
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "steady-state-not-achieved",
            format!("STEADY STATE NOT ACHIEVED: the values are those of {reported}."),
            "Go on with `steadfast resume RUN_DIR --rounds N`.",
        ));
    }
    caveats.extend(disclosure::caveats(&iops.choices(), record));
    caveats
}

fn summary(iops: &Iops, results: &Results) -> Vec<Exhibit> {
    vec![
        Exhibit::Table(iops_table(iops, results, "iops-summary", "IOPS in the measurement window")),
        Exhibit::Table(tracking_table(results)),
    ]
}

/// The tracking variables against their limits.
fn tracking_table(results: &Results) -> Table {
    let columns = [
        "Average IOPS",
        "Data excursion",
        "Data allowed",
        "Slope excursion",
        "Slope allowed",
        "Steady",
    ];
    let rows = results
        .verdict
        .tracks
        .iter()
        .map(|track| Row {
            head: track.name.clone(),
            cells: vec![
                TableCell::number(Some(track.average), 1),
                TableCell::number(Some(track.data_excursion), 1),
                TableCell::number(Some(track.data_excursion_allowed), 1),
                TableCell::number(Some(track.slope_excursion), 1),
                TableCell::number(Some(track.slope_excursion_allowed), 1),
                TableCell::text(if track.steady { "yes" } else { "NO" }),
            ],
            strong: false,
        })
        .collect();
    Table {
        id: "steady-state".into(),
        title: "Steady-state variables in the measurement window".into(),
        corner: "Variable".into(),
        spanner: None,
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

/// The pages of the SNIA report form, in the standard's order.
fn form_pages(iops: &Iops, results: &Results) -> Vec<Page> {
    let mut pages = vec![
        page(
            "IOPS SS Convergence Plot - All Block Sizes",
            vec![Exhibit::Plot(convergence(iops, results))],
        ),
        page("IOPS SS Measurement Window", measurement_window(results)),
    ];
    for track in &results.verdict.tracks {
        pages.push(page(
            &format!("IOPS SS Measurement Window - {}", track.name),
            vec![Exhibit::Plot(window_plot(results, track)), Exhibit::Facts(window_facts(track))],
        ));
    }
    let table =
        iops_table(iops, results, "iops", "IOPS, mean of the rounds of the measurement window");
    pages.push(page("IOPS - All RW Mix & BS - Tabular Data", vec![Exhibit::Table(table)]));
    pages.push(page(
        "IOPS - All RW Mix & BS - 2D Plot",
        vec![Exhibit::Plot(matrix_plot(iops, results, PlotKind::Lines))],
    ));
    pages.push(page(
        "IOPS - All RW Mix & BS - 3D Columns",
        vec![Exhibit::Plot(matrix_plot(iops, results, PlotKind::Columns3d))],
    ));
    pages
}

fn page(title: &str, exhibits: Vec<Exhibit>) -> Page {
    Page { title: title.to_owned(), exhibits }
}

fn rounds_axis() -> Axis {
    Axis { label: "Round".into(), scale: Scale::Integers }
}

fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), scale }
}

/// 100 % writes of every block size against the rounds.
fn convergence(iops: &Iops, results: &Results) -> Plot {
    let series = iops
        .sizes
        .iter()
        .map(|size| Series {
            name: format!("RND {} W", size.transfer_size()),
            right: false,
            stroke: Stroke::Measured,
            points: results
                .rounds
                .iter()
                .map(|round| {
                    let pattern = AccessPattern::random(*size, 0);
                    (f64::from(round.round), results.round_value(iops, round, pattern))
                })
                .collect(),
        })
        .collect();
    Plot {
        id: "convergence".into(),
        title: "IOPS SS Convergence - 100 % Writes, All Block Sizes".into(),
        caption: "IOPS of random writes of each block size, round by round. A void round breaks \
                  its line."
            .into(),
        kind: PlotKind::Lines,
        x: rounds_axis(),
        y: axis("IOPS", Scale::Log10),
        series,
        y_right: None,
        markers: Vec::new(),
    }
}

/// All tracking variables in one picture: percent of their window's average.
fn measurement_window(results: &Results) -> Vec<Exhibit> {
    let tracks = &results.verdict.tracks;
    let Some((first, last)) = results.verdict.window else {
        return vec![Exhibit::Text(
            "There is no measurement window: fewer than five rounds without a gap are complete."
                .into(),
        )];
    };
    let mut series: Vec<Series> = tracks
        .iter()
        .map(|track| Series {
            name: track.name.clone(),
            right: false,
            stroke: Stroke::Measured,
            points: (first..=last)
                .zip(&track.values)
                .map(|(round, value)| (f64::from(round), Some(value / track.average * 100.0)))
                .collect(),
        })
        .collect();
    for (name, level) in [("110 % average", 110.0), ("90 % average", 90.0)] {
        series.push(level_line(name, Stroke::Limit, (first, last), level));
    }
    let plot = Plot {
        id: "measurement-window".into(),
        title: format!("Measurement window: rounds {first} to {last}"),
        caption: "Each tracking variable as percent of its average in the window; all must meet \
                  the criteria in the same window."
            .into(),
        kind: PlotKind::Lines,
        x: rounds_axis(),
        y: axis("% of window average", Scale::LinearFitted),
        series,
        y_right: None,
        markers: Vec::new(),
    };
    vec![Exhibit::Plot(plot), Exhibit::Table(window_values(results, first, last))]
}

fn level_line(name: &str, stroke: Stroke, rounds: (u32, u32), level: f64) -> Series {
    let points =
        [rounds.0, rounds.1].into_iter().map(|round| (f64::from(round), Some(level))).collect();
    Series::new(name, stroke, points)
}

fn window_values(results: &Results, first: u32, last: u32) -> Table {
    let mut columns: Vec<String> = (first..=last).map(|round| format!("Round {round}")).collect();
    columns.push("Average".into());
    let rows = results
        .verdict
        .tracks
        .iter()
        .map(|track| Row {
            head: track.name.clone(),
            cells: track
                .values
                .iter()
                .chain([&track.average])
                .map(|value| TableCell::number(Some(*value), 1))
                .collect(),
            strong: false,
        })
        .collect();
    Table {
        id: "window-values".into(),
        title: "IOPS of the tracking variables in the measurement window".into(),
        corner: "Variable".into(),
        spanner: None,
        columns,
        rows,
    }
}

/// The form's steady-state window plot: five series (PTS 2.0.2; docs/methods.md).
fn window_plot(results: &Results, track: &TrackVerdict) -> Plot {
    let rounds = results.verdict.window.unwrap_or((0, 0));
    let measured = (rounds.0..=rounds.1)
        .zip(&track.values)
        .map(|(round, value)| (f64::from(round), Some(*value)))
        .collect();
    let fit = [rounds.0, rounds.1]
        .into_iter()
        .map(|round| {
            let x = f64::from(round);
            (x, Some(track.intercept + track.slope * x))
        })
        .collect();
    let series = vec![
        Series::new(track.name.clone(), Stroke::Measured, measured),
        level_line("Average", Stroke::Average, rounds, track.average),
        level_line("110 % average", Stroke::Limit, rounds, track.average * 1.1),
        level_line("90 % average", Stroke::Limit, rounds, track.average * 0.9),
        Series::new("Slope (best linear fit)", Stroke::Fit, fit),
    ];
    Plot {
        id: format!("window-{}", track.name.to_lowercase().replace(' ', "-")),
        title: format!("Steady State Verification - {}", track.name),
        caption: "Measured IOPS, the 20 % band around their average, and the line of best fit."
            .into(),
        kind: PlotKind::Lines,
        x: rounds_axis(),
        y: axis("IOPS", Scale::LinearFitted),
        series,
        y_right: None,
        markers: Vec::new(),
    }
}

fn window_facts(track: &TrackVerdict) -> Facts {
    let n = |value: f64| number(value, 1);
    let values: Vec<String> = track.values.iter().map(|v| n(*v)).collect();
    let rows = vec![
        row("Values", values.join("  ")),
        row("Average", n(track.average)),
        row("Allowed data excursion (20 % of average)", n(track.data_excursion_allowed)),
        row("Measured data excursion", n(track.data_excursion)),
        row("Allowed slope excursion (10 % of average)", n(track.slope_excursion_allowed)),
        row("Measured slope excursion", n(track.slope_excursion)),
        row("Least-squares fit", format!("{:.3} x R + {:.3}", track.slope, track.intercept)),
        row_maybe("Correlation coefficient", track.correlation.map(|r| format!("{r:.4}"))),
        row("Steady", if track.steady { "yes" } else { "NO" }),
    ];
    Facts { title: format!("Steady-state evidence: {}", track.name), rows }
}

/// `1,234.5`: thousands separated, as the report prints numbers.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if fraction.is_empty() {
        format!("{sign}{grouped}")
    } else {
        format!("{sign}{grouped}.{fraction}")
    }
}

fn mix_name(read_percent: u8) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

/// The standard's table: block sizes down from the smallest, mixes from 0/100.
fn iops_table(iops: &Iops, results: &Results, id: &str, title: &str) -> Table {
    matrix_table(iops, id, title, Orientation::Standard, |mix, size| {
        TableCell::number(results.iops(mix, size), 1)
    })
}

/// Which way round the mixes run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orientation {
    /// 0/100 first.
    Standard,
    /// 100/0 first.
    Tkperf,
}

fn matrix_table(
    iops: &Iops,
    id: &str,
    title: &str,
    orientation: Orientation,
    cell: impl Fn(u8, Bytes) -> TableCell,
) -> Table {
    let mut mixes = iops.mixes.clone();
    if orientation == Orientation::Standard {
        mixes.reverse();
    }
    let rows = iops
        .sizes
        .iter()
        .rev()
        .map(|size| Row {
            head: size_name(*size),
            cells: mixes.iter().map(|mix| cell(*mix, *size)).collect(),
            strong: *size == TRACKED_4K.size,
        })
        .collect();
    Table {
        id: id.to_owned(),
        title: title.to_owned(),
        corner: "Block Size (KiB)".into(),
        spanner: Some("Read / Write Mix %".into()),
        columns: mixes.iter().map(|mix| mix_name(*mix)).collect(),
        rows,
    }
}

fn size_name(size: Bytes) -> String {
    size.transfer_size().trim_end_matches('K').to_owned()
}

/// IOPS of every mix against the block size.
fn matrix_plot(iops: &Iops, results: &Results, kind: PlotKind) -> Plot {
    let sizes: Vec<Bytes> = iops.sizes.iter().rev().copied().collect();
    let series = iops
        .mixes
        .iter()
        .map(|mix| Series {
            name: mix_name(*mix),
            right: false,
            stroke: Stroke::Measured,
            points: (0u32..)
                .zip(&sizes)
                .map(|(position, size)| {
                    let x = match kind {
                        PlotKind::Columns3d => f64::from(position),
                        _ => size.as_kib(),
                    };
                    (x, results.iops(*mix, *size))
                })
                .collect(),
        })
        .collect();
    let (id, title, x, y) = match kind {
        PlotKind::Columns3d => {
            let names = sizes.iter().map(|size| size_name(*size)).collect();
            ("matrix-3d", "3D Columns", Scale::Categories(names), Scale::Linear)
        }
        _ => ("matrix-2d", "2D Plot", Scale::Log2, Scale::Log10),
    };
    Plot {
        id: id.into(),
        title: format!("IOPS - All RW Mix & BS - {title}"),
        caption: "Mean IOPS in the measurement window, reads and writes added; one series per \
                  read/write mix."
            .into(),
        kind,
        x: axis("Block size (KiB)", x),
        y: axis("IOPS", y),
        series,
        y_right: None,
        markers: Vec::new(),
    }
}

fn chapters(iops: &Iops, record: &Record, results: &Results) -> Vec<Page> {
    vec![
        set_up_chapter(iops, record),
        general_chapter(iops),
        iops_chapter(iops, results),
        response_time_chapter(iops, results),
        preconditioning_chapter(iops, record),
    ]
}

fn set_up_chapter(iops: &Iops, record: &Record) -> Page {
    let mut exhibits = Vec::new();
    if let Some((device, ..)) = record.opening() {
        exhibits.push(Exhibit::Facts(disclosure::device_facts(device)));
    }
    exhibits.push(Exhibit::Facts(disclosure::host_facts(record)));
    exhibits.push(Exhibit::Facts(disclosure::conditions_facts(record)));
    exhibits.push(Exhibit::Facts(disclosure::settings_facts(&iops.choices())));
    page("Setup Information", exhibits)
}

fn general_chapter(iops: &Iops) -> Page {
    let criteria = iops.method.criteria;
    let definitions = Facts {
        title: "Words".into(),
        rows: vec![
            row(
                "R/W mix",
                "percent of the I/Os that read / that write; 65/35 is also written RW65",
            ),
            row("Block size", "transfer size in KiB (1,024 bytes)"),
            row("Tracking variable", "a value of each round that is judged for steady state"),
            row("Measurement window", "the five rounds in which every tracking variable is steady"),
            row(
                "Response time",
                "from submission to completion; percentiles are upper edges of buckets at most \
                 0.78 % wide, and are printed only where ten or more I/Os lie beyond them",
            ),
        ],
    };
    let rule = format!(
        "Steady state is reached when, in {} consecutive rounds, for every tracking variable the \
         largest and the smallest value differ by no more than {:.0} % of the average, and the \
         line of best fit rises or falls by no more than {:.0} % of the average. All variables \
         must meet both in the same window. At most {} rounds are run.",
        criteria.window,
        criteria.data_excursion * 100.0,
        criteria.slope_excursion * 100.0,
        iops.mixed_loop.rounds_max
    );
    page("General Information", vec![Exhibit::Facts(definitions), Exhibit::Text(rule)])
}

fn iops_chapter(iops: &Iops, results: &Results) -> Page {
    let tracked: Vec<String> =
        iops.mixed_loop.tracked.iter().map(|pattern| pattern.to_string()).collect();
    let windows: Vec<String> =
        results.steady_windows.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    let facts = Facts {
        title: "Steady State Information".into(),
        rows: vec![
            row("Tracking variables", tracked.join(", ")),
            row("Steady state reached", if results.verdict.steady { "yes" } else { "NO" }),
            row("Measurement window", disclosure::window_text(&results.verdict)),
            row("Rounds run", results.rounds.len().to_string()),
            row_maybe("All steady windows", Some(windows.join(", "))),
        ],
    };
    let table = matrix_table(
        iops,
        "iops-tkperf",
        "Measurement Window Summary Table: average IOPS",
        Orientation::Tkperf,
        |mix, size| TableCell::number(results.iops(mix, size), 1),
    );
    let throughput = matrix_table(
        iops,
        "throughput",
        "Average throughput in the measurement window, MB/s (10^6 bytes)",
        Orientation::Standard,
        |mix, size| TableCell::number(results.cell(mix, size).and_then(|c| c.mb_per_second), 1),
    );
    let exhibits = vec![
        Exhibit::Listing(listing(iops)),
        Exhibit::Facts(facts),
        Exhibit::Table(tracking_table(results)),
        Exhibit::Table(table),
        Exhibit::Table(throughput),
        Exhibit::Table(rounds_table(iops, results)),
    ];
    page("IOPS", exhibits)
}

fn listing(iops: &Iops) -> String {
    let mixes: Vec<String> = iops.mixes.iter().map(|mix| mix_name(*mix)).collect();
    let sizes: Vec<String> = iops.sizes.iter().map(|size| size.transfer_size()).collect();
    format!(
        "Purge\nWorkload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity\n\
         While not steady state, at most {} rounds\n  For R/W mix {}\n    For block size {}\n      \
         Random I/O for {}, {}; record IOPS (reads + writes)",
        iops.mixed_loop.rounds_max,
        mixes.join(", "),
        sizes.join(", "),
        iops.step_time,
        iops.demand
    )
}

/// Every tracking variable in every round.
fn rounds_table(iops: &Iops, results: &Results) -> Table {
    let tracked = &iops.mixed_loop.tracked;
    let inside = |round: u32| {
        results.verdict.window.is_some_and(|(first, last)| (first..=last).contains(&round))
    };
    let rows = results
        .rounds
        .iter()
        .map(|round| Row {
            head: round.round.to_string(),
            cells: tracked
                .iter()
                .map(|pattern| TableCell::number(results.round_value(iops, round, *pattern), 1))
                .chain([TableCell::text(if round.is_void() {
                    "void: a gap inside"
                } else if inside(round.round) {
                    "window"
                } else {
                    ""
                })])
                .collect(),
            strong: inside(round.round),
        })
        .collect();
    Table {
        id: "rounds".into(),
        title: "Tracking variables, round by round (IOPS)".into(),
        corner: "Round".into(),
        spanner: None,
        columns: tracked.iter().map(|p| p.to_string()).chain([String::new()]).collect(),
        rows,
    }
}

/// A response time read off a cell.
type ResponseTime = fn(&Cell) -> Option<Nanos>;

/// The optional secondary metrics of the standard: mixes 0/100, 65/35 and 100/0.
fn response_time_chapter(iops: &Iops, results: &Results) -> Page {
    let tables: [(&str, &str, ResponseTime); 3] = [
        ("art", "Average response time (ART), ms", |cell| cell.tally.response_mean()),
        ("five-nines", "99.999 % response time, ms", |cell| cell.tally.percentile(FIVE_NINES)),
        ("mrt", "Maximum response time (MRT), ms", |cell| cell.tally.response_longest()),
    ];
    let mut exhibits = vec![Exhibit::Text(
        "Response times of reads and writes together, over all I/Os of the measurement window. \
         A dash stands where fewer than ten I/Os lie beyond the percentile."
            .into(),
    )];
    exhibits.extend(tables.map(|(id, title, value)| {
        Exhibit::Table(matrix_table(iops, id, title, Orientation::Standard, |mix, size| {
            let time = results.cell(mix, size).and_then(value);
            TableCell::number(time.map(Nanos::as_millis_f64), 3)
        }))
    }));
    page("Response Times (secondary metrics)", exhibits)
}

fn preconditioning_chapter(iops: &Iops, record: &Record) -> Page {
    let parts: Vec<&Measurement> = record
        .steps()
        .filter(|(step, _)| step.place.phase == crate::pts::preconditioning::PHASE)
        .map(|(_, outcome)| &outcome.measurement)
        .collect();
    let mut written = 0.0;
    let mut points = Vec::new();
    for interval in parts.iter().flat_map(|part| &part.intervals) {
        written += interval.tallies.iter().map(|t| t.bytes.as_gb()).sum::<f64>();
        if !interval.partial {
            points.push((written, interval.bytes_per_second().map(|rate| rate / 1e6)));
        }
    }
    let points = thinned(points);
    let bytes: u64 = parts.iter().map(|part| part.bytes().0).sum();
    let time: u64 = parts.iter().map(|part| part.elapsed.0).sum();
    let rate = (time > 0).then(|| bytes as f64 / 1e6 / Nanos(time).as_secs_f64());
    let asked = crate::pts::preconditioning::amount(iops.geometry);
    let facts = Facts {
        title: "Workload independent preconditioning".into(),
        rows: vec![
            row("Written", format!("{bytes} bytes of {} asked for", asked.0)),
            row("Took", Nanos(time).to_string()),
            row_maybe("Average throughput", rate.map(|r| format!("{} MB/s", number(r, 1)))),
        ],
    };
    let plot = Plot {
        id: "wipc".into(),
        title: "Preconditioning throughput".into(),
        caption: "SEQ 128K W, second by second, against the amount written.".into(),
        kind: PlotKind::Lines,
        x: axis("Written (GB)", Scale::Linear),
        y: axis("MB/s", Scale::Linear),
        series: vec![Series::new("SEQ 128K W", Stroke::Average, points)],
        y_right: None,
        markers: Vec::new(),
    };
    page("Preconditioning", vec![Exhibit::Facts(facts), Exhibit::Plot(plot)])
}

/// At most a thousand points of a curve: more than a page can show apart.
fn thinned<T>(points: Vec<T>) -> Vec<T> {
    let every = points.len().div_ceil(1000).max(1);
    points.into_iter().step_by(every).collect()
}

/// One line per step, for spreadsheets.
fn every_step(record: &Record) -> Table {
    let columns = [
        "Round",
        "Step",
        "Label",
        "Elapsed s",
        "Reads",
        "Writes",
        "Read bytes",
        "Write bytes",
        "IOPS",
        "MB/s",
        "ART ms",
        "99 % ms",
        "99.9 % ms",
        "99.999 % ms",
        "MRT ms",
        "CPU user ns/IO",
        "CPU system ns/IO",
        "Failed I/Os",
        "Write amplification",
        "Seed",
    ];
    let rows = record
        .steps()
        .map(|(step, outcome)| {
            let seed = step.load.stimulus().map(|s| s.seed.to_string());
            let mut cells = vec![
                TableCell::number(Some(f64::from(step.place.round)), 0),
                TableCell::number(Some(f64::from(step.place.point)), 0),
                TableCell::text(step.place.label.clone()),
            ];
            cells.extend(step_cells(&outcome.measurement));
            cells.push(seed.map_or(TableCell::Missing, TableCell::Text));
            Row { head: step.place.phase.clone(), cells, strong: step.place.phase == PHASE }
        })
        .collect();
    Table {
        id: "steps".into(),
        title: "Every step".into(),
        corner: "Phase".into(),
        spanner: None,
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

fn step_cells(measurement: &Measurement) -> Vec<TableCell> {
    let total: Tally = measurement.total();
    let (reads, writes) = (measurement.direction(Op::Read), measurement.direction(Op::Write));
    let count = |n: u64| TableCell::number(Some(n as f64), 0);
    let time = |t: Option<Nanos>| TableCell::number(t.map(Nanos::as_millis_f64), 6);
    let per_io = |t: Option<Nanos>| {
        let each = t.filter(|_| total.ios > 0).map(|t| t.0 as f64 / total.ios as f64);
        TableCell::number(each, 1)
    };
    vec![
        TableCell::number(Some(measurement.elapsed.as_secs_f64()), 6),
        count(reads.ios),
        count(writes.ios),
        count(reads.bytes.0),
        count(writes.bytes.0),
        TableCell::number(measurement.iops(), 3),
        TableCell::number(measurement.bytes_per_second().map(|r| r / 1e6), 3),
        time(total.response_mean()),
        time(total.percentile(0.99)),
        time(total.percentile(0.999)),
        time(total.percentile(FIVE_NINES)),
        time(total.response_longest()),
        per_io(measurement.cpu.map(|c| c.user)),
        per_io(measurement.cpu.map(|c| c.system)),
        count(measurement.fault_count),
        TableCell::number(measurement.write_amplification, 3),
    ]
}
