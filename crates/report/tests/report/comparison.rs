//! Comparisons of fictitious devices whose numbers are known multiples of each other.

use super::{PRINTED, assert_balanced, convergence, findings, golden, plots, suite, words};
use steadfast_domain::findings::{
    Cell, Exhibit, Facts, FormBlock, FormSubject, FrontQuestion, KeyFigure, Metric, Origin, Page,
    Plot, PlotKind, Row, Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Caveat, CaveatKind, EndState, Findings, ValueRange};
use steadfast_report::{
    COMPARED_MAX, CompareError, GroupTarget, NamedRun, StudiedTarget, TargetEnd, combined_findings,
    compare, html, metrics, pdf, svg, tables, text,
};

/// Multiplies every number of a table or plot by a factor.
fn scaled(exhibit: &mut Exhibit, factor: f64) {
    match exhibit {
        Exhibit::Table(table) => {
            for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
                if let Cell::Number { value, .. } = cell {
                    *value *= factor;
                }
            }
        }
        Exhibit::Plot(plot) => {
            let points = plot.series.iter_mut().filter(|s| s.stroke == Stroke::Measured);
            for (_, y) in points.flat_map(|s| &mut s.points) {
                *y = y.map(|y| y * factor);
            }
        }
        _ => {}
    }
}

fn scale(findings: &mut Findings, factor: f64) {
    let pages = findings.form_pages.iter_mut().chain(&mut findings.chapters);
    let exhibits = pages.flat_map(|page| &mut page.exhibits).chain(&mut findings.summary);
    exhibits.for_each(|exhibit| scaled(exhibit, factor));
    findings.parts.iter_mut().for_each(|part| scale(part, factor));
}

fn blocks(serial: &str, demand: &str, cpu: &str) -> Vec<FormBlock> {
    let set = |id: &str, label: &str, value: &str| Setting::new(id, label, value, Origin::Profile);
    vec![
        FormBlock::new(
            "Test Platform",
            [Setting::identity("CPU", cpu), Setting::outcome("Test ID No.", serial)],
        )
        .with_subject(FormSubject::Platform),
        FormBlock::new(
            "Device Under Test",
            [Setting::identity("S/N", serial), set("write-cache", "Write Cache", "disabled")],
        )
        .with_subject(FormSubject::Device),
        FormBlock::new(
            "Set Up Parameters",
            [set("active-range", "AR", "100%"), Setting::outcome("SS Rounds", serial)],
        ),
        FormBlock::new(
            "Test Parameters",
            [set("demand", "TOIO - TC/QD", demand), Setting::outcome("AR & Amount", serial)],
        ),
    ]
}

/// Returns a device that is `factor` times as fast as that of the other tests.
pub fn device(number: u32, factor: f64) -> NamedRun {
    let names = ["AX-100", "Borealis Pro 960 GB", "C7", "Data Centre NVMe 3.84 TB rev. B", "E"];
    let name = names[number as usize % 5].to_owned();
    let mut found = findings(false);
    scale(&mut found, factor);
    found.header.model = Some(name.clone());
    let (demand, cpu) = match number {
        3 => ("TC 2 / QD 16", "Xeon A"),
        5 => ("TC 4 / QD 32", "Xeon B"),
        _ => ("TC 4 / QD 32", "Xeon A"),
    };
    found.header.blocks = blocks(&format!("SERIAL{number}LONGLONGLONGLONG"), demand, cpu);
    let mut plot = Exhibit::Plot(plots::saturation(360));
    scaled(&mut plot, factor);
    found.form_pages.push(Page::new("Saturation", vec![plot]));
    found.end = if number == 4 { EndState::NotSteady } else { EndState::Steady };
    NamedRun { name, findings: found }
}

/// Returns a run under this name.
fn named(name: &str, findings: Findings) -> NamedRun {
    NamedRun { name: name.to_owned(), findings }
}

/// Speeds of seven devices relative to the first.
const FACTORS: [f64; 7] = [1.0, 0.5, 2.0, 1.1, 0.9, 1.3, 0.75];

fn seven() -> Vec<NamedRun> {
    FACTORS.into_iter().zip(0..).map(|(factor, number)| device(number, factor)).collect()
}

fn tables_of(exhibits: &[Exhibit]) -> Vec<&Table> {
    exhibits.iter().filter_map(Exhibit::as_table).collect()
}

fn summary_table<'f>(findings: &'f Findings, id: &str) -> &'f Table {
    tables_of(&findings.summary).into_iter().find(|table| table.id == id).unwrap()
}

fn row_ids(findings: &Findings, table: &str) -> Vec<String> {
    summary_table(findings, table).rows.iter().map(|row| row.id.clone()).collect()
}

fn all_plots(findings: &Findings) -> Vec<&Plot> {
    findings.chapters.iter().flat_map(|page| &page.exhibits).filter_map(Exhibit::as_plot).collect()
}

fn numbers(row: &Row) -> Vec<f64> {
    row.cells.iter().map(|cell| cell.value().unwrap_or(f64::NAN)).collect()
}

#[test]
fn values_stand_side_by_side_in_percent_of_the_first() {
    let compared = compare(&seven()).unwrap();
    assert_eq!(compared.title, "Comparison: IOPS");
    let iops = summary_table(&compared, "iops");
    assert_eq!(iops.rows.len(), 8 * 7);
    assert_eq!(iops.columns.len(), 7 + 6);
    assert_eq!(iops.columns[12].name, "G/A %");
    assert_eq!(iops.corner, "Block Size (KiB) · Read / Write Mix %");
    let row = iops.rows.iter().find(|row| row.head == "4 · 100/0").unwrap();
    let numbers = numbers(row);
    assert!((numbers[1] - 407_395.3 * 0.5).abs() < 1e-6);
    for (percent, expected) in numbers[7..].iter().zip([50.0, 200.0, 110.0, 90.0, 130.0, 75.0]) {
        assert!((percent - expected).abs() < 1e-6, "{percent} {expected}");
    }
    assert!(row.strong, "set off as in the runs");
    let again = compared.chapters.iter().flat_map(|page| tables_of(&page.exhibits));
    assert!(again.clone().all(|table| table.id != "iops"), "printed once");
}

#[test]
fn plots_lie_over_one_another() {
    let compared = compare(&seven()).unwrap();
    let plots = all_plots(&compared);
    let of = |title: &str| plots.iter().filter(|p| p.title.starts_with(title)).count();
    assert_eq!(plots.len(), 12, "two pages of them");
    assert!(of("IOPS SS Convergence") >= 2, "several series of each");
    let flat = plots.iter().filter(|p| p.title.starts_with("IOPS - All RW Mix & BS"));
    assert!(flat.clone().count() >= 2, "not in perspective as well");
    assert!(flat.clone().all(|plot| plot.kind == PlotKind::Lines));
    for plot in &plots {
        let devices = plot.series.iter().filter(|s| s.stroke == Stroke::Measured);
        assert_eq!(devices.count(), COMPARED_MAX, "{}", plot.title);
    }
    let right = plots.iter().find(|p| p.title == "WSAT - ART").unwrap();
    assert_eq!(right.y.label, "Response time (ms)");
    assert!(right.y_right.is_none() && right.series.iter().all(|s| !s.right));
    let first = plots.iter().find(|p| p.title.starts_with("IOPS SS Convergence")).unwrap();
    let expected = convergence().series[0].points[0].1.unwrap() * 2.0;
    assert!((first.series[2].points[0].1.unwrap() - expected).abs() < 1e-6);
}

/// Returns a device with numbers in long form: each mean moved by 2 % within its window.
fn measured(number: u32, factor: f64) -> NamedRun {
    let mut run = device(number, factor);
    let cell = |size: usize, mix: usize| {
        let value = super::IOPS[size][mix] * factor;
        let pattern = AccessPattern::random(Bytes((super::SIZES[size] * 1024.0) as u64), MIX[mix]);
        let range = Some(ValueRange::new(value * 0.99, value * 1.01));
        let iops = Metric::new("iops", &pattern.to_string(), Some(value), "IOPS").unwrap();
        let art = Metric::new("art", &pattern.to_string(), Some(1e3 / value), "ms").unwrap();
        [iops.with_range(range).with_pattern(&pattern), art.with_pattern(&pattern)]
    };
    let all = (0..8).flat_map(|size| (0..7).map(move |mix| (size, mix)));
    run.findings.metrics = all.flat_map(|(size, mix)| cell(size, mix)).collect();
    run.findings.front.figures = vec![
        KeyFigure::new("r", "RND 4K read", Some(407_395.3 * factor), "IOPS"),
        KeyFigure::new("w", "RND 4K write", Some(61_969.4 * factor), "IOPS")
            .with_range(Some(ValueRange::new(61_000.0 * factor, 62_900.0 * factor))),
    ];
    run
}

const MIX: [u8; 7] = [0, 5, 35, 50, 65, 95, 100];

#[test]
fn a_change_within_the_noise_is_gray() {
    let compared = compare(&[measured(0, 1.0), measured(1, 1.01), measured(2, 1.5)]).unwrap();
    let page = compared.chapters.iter().find(|page| page.id == "changes").unwrap();
    let tables = tables_of(&page.exhibits);
    let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["change-iops-B", "change-iops-C", "change-art-B", "change-art-C"]);
    let row = |table: usize| tables[table].rows.iter().find(|row| row.head == "4K").unwrap();
    assert_eq!(row(0).gray, [0, 1, 2, 3, 4, 5, 6], "1 % of rounds that move by 2 %");
    assert!(numbers(row(0)).iter().all(|change| (change - 1.0).abs() < 1e-9));
    assert!(row(1).gray.is_empty() && numbers(row(1)).iter().all(|c| (c - 50.0).abs() < 1e-9));
    assert_eq!(row(2).gray.len(), 7, "nothing is known of how far it moved");
    let changes = summary_table(&compared, "key-figure-changes");
    let gray: Vec<&[usize]> = changes.rows.iter().map(|row| row.gray.as_slice()).collect();
    assert_eq!(gray, [&[0, 1][..], &[0]], "reads without a range; B's writes are A's");
    let page = html(&compared, &PRINTED);
    assert!(page.contains("<td class=\"gray\">+1.0</td>") && page.contains(">+50.0</td>"));
    assert_eq!(row(1).marked.len(), 7, "beyond the noise in every cell");
}

/// Every run has a noise of its own, by which a change against A is judged.
#[test]
fn the_noise_of_every_run_is_stated() {
    let mut runs = [measured(0, 1.0), measured(1, 1.0), measured(2, 1.0)];
    for (run, width) in runs.iter_mut().zip([0.01, 0.02, 0.3]) {
        run.findings.front.figures = vec![
            KeyFigure::new("w", "RND 4K write", Some(100.0), "IOPS")
                .with_range(Some(ValueRange::new(100.0 * (1.0 - width), 100.0 * (1.0 + width)))),
            KeyFigure::new("r", "RND 4K read", Some(100.0), "IOPS"),
        ];
    }
    let compared = compare(&runs).unwrap();
    let changes = summary_table(&compared, "key-figure-changes");
    let ids: Vec<&str> = changes.columns.iter().map(|column| column.id.as_str()).collect();
    assert_eq!(ids, ["B", "C", "noise-A", "noise-B", "noise-C"]);
    for (noise, expected) in numbers(&changes.rows[0])[2..].iter().zip([1.0, 2.0, 30.0]) {
        assert!((noise - expected).abs() < 1e-9, "{noise} {expected}");
    }
    assert_eq!(changes.rows[1].cells[2..], [Cell::Missing, Cell::Missing, Cell::Missing]);
}

/// Ten times as fast is a bar that is cut off at the edge, with its number, and the times of a
/// tenth are drawn in full.
#[test]
fn bars_beyond_the_axis_are_cut_off_and_numbered() {
    let mut runs = [measured(0, 1.0), measured(1, 10.0)];
    for (run, milliseconds) in runs.iter_mut().zip([1.0, 0.1]) {
        let time = KeyFigure::new("t", "RND 4K read, mean", Some(milliseconds), "ms");
        let unknown = KeyFigure::new("u", "RND 4K read, 99.99 %", None, "ms");
        run.findings.front.figures.extend([time, unknown]);
    }
    let compared = compare(&runs).unwrap();
    let exhibits = compared.form_pages.iter().flat_map(|page| &page.exhibits);
    let plots: Vec<&Plot> = exhibits.filter_map(Exhibit::as_plot).collect();
    let [rates, times] = plots.as_slice() else { panic!("{plots:?}") };
    let values: Vec<f64> = rates.series[1].points.iter().filter_map(|(_, y)| *y).collect();
    assert!(values.iter().all(|change| (change - 900.0).abs() < 1e-6) && values.len() == 2);
    assert_eq!(svg(rates).matches(">+900</text>").count(), 2);
    assert_eq!(rates.caption.matches("+900 %").count(), 2);
    assert_eq!(times.series[1].points.len(), 1, "a figure without a value has no place");
    assert!(times.caption.is_empty() && !svg(times).contains("−90</text>"));
}

/// A figure whose subject the results decide is compared only with the same subject.
#[test]
fn figures_of_different_subjects_are_not_compared() {
    let run = |cell: &str, value: f64| {
        let mut found = findings(false);
        found.front.figures = vec![
            KeyFigure::new("best", cell, Some(value), "").with_subject(Some(cell.to_owned())),
            KeyFigure::new("knee", cell, Some(value), "IOPS"),
        ];
        found
    };
    let rows = |one: Findings, other: Findings| -> Vec<String> {
        let compared = compare(&[named("one", one), named("two", other)]).unwrap();
        row_ids(&compared, "key-figures")
    };
    assert_eq!(rows(run("at 50 %", 1.1), run("at 80 %", 1.8)), ["knee"]);
    assert_eq!(rows(run("at 50 %", 1.1), run("at 50 %", 1.8)), ["best", "knee"]);
}

/// Page one with a question: a figure that is equal within the noise of both is left out and counted;
/// one of unknown noise stays, and so does a text in place of a number.
#[test]
fn answers_that_are_equal_within_the_noise_are_left_out() {
    let portrait = |factor: f64| {
        let figure = |id: &str, value: f64| KeyFigure::new(id, id, Some(value), "IOPS");
        let ranged = |id: &str, value: f64| {
            figure(id, value).with_range(Some(ValueRange::new(value * 0.99, value * 1.01)))
        };
        let text = (factor > 1.0).then(|| "no drop".to_owned());
        let amount = (factor == 1.0).then_some(3.0);
        let mut found = findings(false);
        found.front.figures = vec![
            ranged("equal", 100.0),
            ranged("faster", 100.0 * factor),
            figure("unknown", 100.0),
            KeyFigure::new("amount", "amount", amount, "GB").with_note(text),
        ];
        found.front.questions = vec![FrontQuestion {
            question: "?".into(),
            answer: String::new(),
            answers: Vec::new(),
            note: String::new(),
        }];
        found
    };
    let runs = [named("one", portrait(1.0)), named("two", portrait(1.5))];
    let compared = compare(&runs).unwrap();
    for id in ["key-figures", "key-figure-changes"] {
        assert_eq!(row_ids(&compared, id), ["faster", "unknown", "amount"]);
    }
    assert!(compared.ending.contains("1 key figure is equal"), "{}", compared.ending);
    let table = summary_table(&compared, "key-figures");
    assert_eq!(table.rows[2].cells, [Cell::text("3.000"), Cell::text("no drop")]);
}

/// Twice the power at the same rate is half the IOPS per watt; what only one run measured is a
/// dash, and what none did has no page.
#[test]
fn power_and_processor_use_change_on_a_page_of_their_own() {
    let with = |number: u32, milliwatts: f64, cpu: Option<f64>| {
        let mut run = measured(number, 1.0);
        let pattern = AccessPattern::random(Bytes(4096), 65);
        let point = pattern.to_string();
        let more = [
            Metric::new("power", &point, Some(milliwatts), "mW"),
            Metric::new("iops-per-watt", &point, Some(1e6 / milliwatts), "IOPS/W"),
            Metric::new("cpu-system", &point, cpu, "%"),
        ];
        let more = more.into_iter().flatten().map(|metric| metric.with_pattern(&pattern));
        run.findings.metrics.extend(more);
        run
    };
    let runs = [with(0, 2000.0, Some(3.0)), with(1, 4000.0, None)];
    let compared = compare(&runs).unwrap();
    let page = compared.chapters.iter().find(|page| page.id == "changes-secondary").unwrap();
    let tables = tables_of(&page.exhibits);
    let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["change-power-B", "change-iops-per-watt-B"]);
    let row = tables[0].rows.iter().find(|row| row.head == "4K").unwrap();
    assert_eq!(numbers(row)[4], 100.0, "RW65 is the fifth of the mixes");
    let row = tables[1].rows.iter().find(|row| row.head == "4K").unwrap();
    assert_eq!(numbers(row)[4], -50.0);
    let long = metrics(&runs);
    let of =
        |metric: &str| long.rows.iter().filter(|row| row.cells[1] == Cell::text(metric)).count();
    assert_eq!((of("iops-per-watt"), of("cpu-system"), of("cpu-io-wait")), (2, 1, 0));
    let without = compare(&[measured(0, 1.0), measured(1, 1.0)]).unwrap();
    assert!(without.chapters.iter().all(|page| page.id != "changes-secondary"));
}

#[test]
fn a_comparison_has_six_pages_at_most_and_every_value_in_a_file() {
    let all: Vec<_> = FACTORS.into_iter().zip(0..).map(|(f, n)| measured(n, f)).collect();
    for runs in [&all[..2], &all[..]] {
        let compared = compare(runs).unwrap();
        let pages = super::accessible::pages(&pdf(&compared, &PRINTED).unwrap());
        assert!((2..=6).contains(&pages), "{} runs on {pages} pages", runs.len());
        let files = tables(&compared);
        let (_, long) = files.iter().find(|(name, _)| name == "metrics.csv").unwrap();
        assert_eq!(long.lines().count(), 1 + runs.len() * 8 * 7 * 2);
        assert!(files.iter().any(|(name, _)| name == "iops.csv"));
    }
    let many: Vec<_> = (0..11).map(|n| measured(n, 1.0)).collect();
    assert_eq!(metrics(&many).rows.len(), 11 * 8 * 7 * 2, "any number of runs");
}

#[test]
fn what_differs_stands_on_the_first_page() {
    let compared = compare(&seven()).unwrap();
    let severe: Vec<&str> = compared
        .caveats
        .iter()
        .filter(|caveat| caveat.kind == CaveatKind::Invalidates)
        .map(|caveat| caveat.text.as_str())
        .collect();
    let demand = "The runs differ in TOIO - TC/QD (Test Parameters): A, B, C, E, F, G: TC 4 / QD \
                  32; D: TC 2 / QD 16.";
    let quick = "All runs: NOT THE FULL METHOD: <quick>.";
    assert_eq!(severe, [demand, "E: steady state was not achieved.", quick]);
    let texts: String = compared.caveats.iter().map(|caveat| caveat.text.clone()).collect();
    assert!(texts.contains("CPU: A, B, C, D, E, G: Xeon A; F: Xeon B"), "{texts}");
    for alike in ["S/N", "Test ID", "SS Rounds", "AR & Amount"] {
        assert!(!texts.contains(alike), "{alike} is no setting: {texts}");
    }
    assert!(compared.ending.contains("1 setting differs"), "{}", compared.ending);
    let alike = compare(&[device(0, 1.0), device(1, 2.0)]).unwrap();
    assert!(alike.ending.contains("No setting differs"), "{}", alike.ending);
}

#[test]
fn a_run_without_a_procedure_has_dashes() {
    let mut single = findings(false);
    (single.id, single.title) = ("Latency".into(), "Latency".into());
    let mut double = suite();
    scale(&mut double, 2.0);
    let runs = [named("Suite", suite()), named("Double", double), named("Only latency", single)];
    let compared = compare(&runs).unwrap();
    let titles: Vec<&str> = compared.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(titles, ["Suite", "IOPS", "Latency", "WSAT"]);
    let iops = &compared.parts[1];
    assert!(iops.caveats.iter().any(|c| c.text == "C has no IOPS: its values are missing."));
    let table = summary_table(iops, "iops");
    assert_eq!(table.rows[0].cells[2], Cell::Missing);
    assert_eq!(numbers(&table.rows[0])[3], 200.0);
    assert!(compared.simulated, "one part is");
    assert_balanced(&html(&compared, &PRINTED));
}

/// A suite that is compared with a run of one of its procedures only.
#[test]
fn caveats_of_a_whole_run_are_kept_if_only_a_part_is_compared() {
    let mut whole = suite();
    whole.caveats = vec![Caveat::invalidates("gap", "There was a gap.", "Repeat the run.")];
    let mut single = whole.parts[0].clone();
    single.caveats.clear();
    let runs = [named("Single", single), named("Suite", whole)];
    let compared = compare(&runs).unwrap();
    assert!(compared.caveats.iter().any(|c| c.text == "B: There was a gap."), "{compared:?}");
}

/// The report compares the first seven targets, and has the caveats of all.
#[test]
fn the_report_over_all_targets_has_the_caveats_of_runs_and_parts_of_each() {
    let names: Vec<String> = (0..COMPARED_MAX + 1).map(|target| format!("drive{target}")).collect();
    let caveat = |text: String| Caveat::invalidates("gap", text, "Repeat the run.");
    let target = |name: &String| {
        let mut findings = suite();
        findings.caveats.push(caveat(format!("{name} had a gap.")));
        findings.parts[1].caveats.push(caveat(format!("A part on {name} had one.")));
        TargetEnd::Studied(Box::new(StudiedTarget { findings, starts: Vec::new() }))
    };
    let targets: Vec<GroupTarget<'_>> = names
        .iter()
        .map(|name| GroupTarget {
            target: name,
            name,
            directory: name.into(),
            exit_code: 0,
            end: target(name),
        })
        .collect();
    let whole = combined_findings(targets.iter()).unwrap().unwrap();
    let caveats: Vec<&Caveat> =
        whole.self_and_parts().into_iter().flat_map(|part| &part.caveats).collect();
    for name in &names {
        for text in [format!("{name} had a gap."), format!("A part on {name} had one.")] {
            assert!(caveats.iter().any(|caveat| caveat.text.ends_with(&text)), "{text}");
        }
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let one = || device(0, 1.0);
    assert_eq!(compare(&[one()]), Err(CompareError::Count(1)));
    let eight: Vec<_> = (0..8).map(|_| one()).collect();
    assert_eq!(compare(&eight), Err(CompareError::Count(8)));
    let mut other = one();
    other.findings.id = "Throughput".into();
    other.findings.title = "Throughput".into();
    let error = compare(&[one(), other]).unwrap_err().to_string();
    assert!(error.contains("IOPS, Throughput"), "{error}");
}

/// The tutorial's table of secondary metrics: two blocks side by side, with a name in the first row
/// of each metric only.
pub fn secondary(factor: f64) -> Table {
    let block = |size: u32, value: f64, celsius: bool| {
        let cell = |value: f64| {
            if celsius { Cell::celsius(Some(value), 1) } else { Cell::number(Some(value), 1) }
        };
        vec![Cell::text(format!("{size} KiB")), cell(value), cell(value + 1.0)]
    };
    let row = |head: &str, id: &str, (left, right): (u32, u32), value: f64, celsius: bool| {
        let cells = [block(left, value, celsius), block(right, value + 2.0, celsius)].concat();
        Row::new(head, cells).with_id(id)
    };
    let columns = ["Block Size", "RW 0", "RW100"];
    Table::new("secondary", "Secondary metrics", "Data")
        .columns([columns, columns].concat())
        .in_blocks_of(3)
        .rows([
            row("IOPS", "iops", (4, 64), 100.0 * factor, false),
            row("", "iops", (8, 128), 200.0 * factor, false),
            row("Temp. Celsius", "celsius", (4, 64), 30.0 * factor, true),
            row("", "celsius", (8, 128), 40.0 * factor, true),
        ])
}

#[test]
fn no_value_of_two_blocks_side_by_side_is_lost_and_degrees_have_no_percentage() {
    let mut runs = [device(0, 1.0), device(1, 1.0)];
    for (run, factor) in runs.iter_mut().zip([1.0, 2.0]) {
        run.findings.summary = vec![Exhibit::Table(secondary(factor))];
    }
    let compared = compare(&runs).unwrap();
    let table = summary_table(&compared, "secondary");
    assert_eq!(table.rows.len(), 16, "2 metrics x 4 sizes x 2 mixes");
    let row = |head: &str| table.rows.iter().find(|row| row.head == head).unwrap();
    let iops = numbers(row("IOPS · 128 KiB · RW100"));
    assert_eq!(iops[..2], [203.0, 403.0]);
    assert!((iops[2] - 403.0 / 203.0 * 100.0).abs() < 1e-9);
    let celsius = row("Temp. Celsius · 8 KiB · RW 0");
    assert_eq!(numbers(celsius)[..2], [40.0, 80.0]);
    assert_eq!(celsius.cells[2], Cell::Missing);
}

#[test]
fn a_caption_claims_only_what_is_drawn() {
    let mut runs = [device(0, 1.0), device(1, 1.5)];
    let pages = runs.iter_mut().flat_map(|run| &mut run.findings.form_pages);
    for exhibit in pages.flat_map(|page| &mut page.exhibits) {
        if let Exhibit::Plot(plot) = exhibit {
            plot.caption = "Rounds 1 to 5; grey: the allowed band.".into();
        }
    }
    for plot in all_plots(&compare(&runs).unwrap()) {
        assert!(!plot.caption.contains("band"), "{}: {}", plot.title, plot.caption);
        let limits = plot.series.iter().any(|series| series.stroke == Stroke::Limit);
        assert_eq!(plot.caption.contains("limits"), limits, "{}", plot.title);
    }
}

#[test]
fn odd_tables_are_compared_without_panic() {
    let mut runs = [device(0, 1.0), device(1, 1.0)];
    let odd = |value: f64| {
        let head = |n: u32| if n < 2 { "twice".to_owned() } else { n.to_string() };
        let cells = [Cell::number(Some(value), 1), Cell::Missing];
        let rows = (0..1500).map(|n| Row::new(head(n), cells.clone()));
        Table::new("odd", "Odd", "").columns(["x", "x", "y"]).rows(rows)
    };
    for (run, value) in runs.iter_mut().zip([0.0, 5.0]) {
        run.findings.summary = vec![Exhibit::Table(odd(value))];
    }
    let compared = compare(&runs).unwrap();
    let table = compared.table("odd").unwrap();
    assert_eq!(table.rows.len(), 1500, "long ones are files");
    assert_eq!((table.rows[0].head.as_str(), table.rows[1].head.as_str()), ("twice", "twice (2)"));
    assert_eq!(table.rows[0].cells[2], Cell::Missing, "no percentage of zero");
    assert!(tables(&compared).iter().any(|(name, _)| name == "odd.csv"));
}

#[test]
fn a_comparison_of_seven_prints() {
    let compared = compare(&seven()).unwrap();
    golden("comparison.txt", &text(&compared, 100));
    assert_balanced(&html(&compared, &PRINTED));
    let document = pdf(&compared, &PRINTED).unwrap();
    let Some(words) = words(&document) else { return };
    assert!(words.contains("G: Borealis") && words.contains("814,791"), "{words}");
}

/// A page must not state of all runs what holds for one.
#[test]
fn titles_and_headers_claim_nothing_that_is_of_one_run_alone() {
    let of = |number, window: &str| {
        let mut run = device(number, 1.0);
        let mut plot = plots::saturation(10);
        (plot.id, plot.title) = ("judged".into(), format!("Measurement window: rounds {window}"));
        run.findings.form_pages.push(Page::new("Judged", vec![Exhibit::Plot(plot)]));
        run
    };
    let mut runs = [of(0, "4 to 8"), of(1, "1 to 5")];
    runs[0].findings.header.disclaimer = Some("PROFILE QUICK".into());
    let both = compare(&runs).unwrap();
    assert_eq!(both.header.disclaimer.as_deref(), Some("A: PROFILE QUICK"));
    assert!(!all_plots(&both).iter().any(|plot| plot.title.contains("rounds")));
    let titles: Vec<&str> = all_plots(&both).iter().map(|plot| plot.title.as_str()).collect();
    assert!(titles.iter().any(|title| title.starts_with("Measurement window")), "{titles:?}");
    runs[1].findings.header.disclaimer = Some("PROFILE TKPERF".into());
    let disclaimer = |runs: &[NamedRun]| compare(runs).unwrap().header.disclaimer;
    assert_eq!(disclaimer(&runs).as_deref(), Some("A: PROFILE QUICK; B: PROFILE TKPERF"));
    runs[1].findings.header.disclaimer = runs[0].findings.header.disclaimer.clone();
    assert_eq!(disclaimer(&runs).as_deref(), Some("PROFILE QUICK"));
}

#[test]
fn a_parameter_that_differs_is_named_and_its_origin_is_not_a_difference() {
    let of = |number, time: (&str, Origin), alignment: Origin| {
        let mut run = device(number, 1.0);
        let rows = [
            Setting::new("parameter-between-time", "between-time", time.0, time.1)
                .remark(" (said): time; source: x"),
            Setting::new("parameter-alignment", "alignment", "4K", alignment)
                .remark(" (so): bytes"),
        ];
        let facts = Facts::new("Parameters").noun("Parameter").rows(rows);
        run.findings.chapters.push(Page::new("Setup", vec![Exhibit::Facts(facts)]));
        run
    };
    let runs = [
        of(0, ("4s", Origin::Profile), Origin::Default),
        of(1, ("9s", Origin::Chosen), Origin::Chosen),
    ];
    let both = compare(&runs).unwrap();
    let texts: Vec<&str> = both.caveats.iter().map(|c| c.text.as_str()).collect();
    assert!(
        texts.contains(&"The runs differ in Parameter between-time: A: 4s; B: 9s."),
        "{texts:?}"
    );
    assert!(!texts.iter().any(|text| text.contains("alignment")), "{texts:?}");
}

#[test]
fn a_place_that_is_empty_in_all_runs_has_no_line() {
    let mut runs = [device(0, 1.0), device(1, 1.0)];
    for run in &mut runs {
        let table = Table::new("sparse", "Sparse", "")
            .columns(["IOPS", "MB/s"])
            .row(Row::new("Mean", [Cell::number(Some(7.0), 1), Cell::text("")]));
        run.findings.summary.push(Exhibit::Table(table));
    }
    let both = compare(&runs).unwrap();
    let sparse = summary_table(&both, "sparse");
    let heads: Vec<&str> = sparse.rows.iter().map(|row| row.head.as_str()).collect();
    assert_eq!(heads, ["Mean · IOPS"]);
}
