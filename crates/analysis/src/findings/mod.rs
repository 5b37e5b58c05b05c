//! Converts a study to `Findings`: first the reports of the Target Server Self-Test, then the
//! chapters of the analysis.

mod answers;
mod caveats;
mod day;
mod facts;
mod header;
mod locality;
mod plots;
mod tables;
mod who;

use crate::questions::streams::ShareMeasure;
use crate::questions::study::{ProcessResults, SingleIoResults, Study};
use facts::{capture_facts, working_set_facts};
use header::{DEVICES_NAMED, header};
use sha2::{Digest, Sha256};
use steadfast_domain::findings::{Activity, Exhibit, KeyFigure, Page, Table};
use steadfast_domain::hex::to_hex;
use steadfast_domain::text::grouped;
use steadfast_domain::{Bytes, Findings, Nanos};

const TITLE: &str = "Captured Workload";

const METHOD: &str = "Capture and analysis of RWSW PTS 1.0.7 as described in the SNIA tutorial \
    and in docs/trace.md";

/// Plot on the first page: the IO Stream Map with response times says the most about a capture.
const FRONT_PLOTS: [&str; 1] = ["stream-map-frequency"];

/// Returns the report of a capture. `software` is the name and version of this program.
pub fn findings(study: &Study, software: &str) -> Findings {
    let mut findings = self_test(study, software);
    findings.id = "captured-workload".into();
    findings.title = TITLE.into();
    findings.header.test = TITLE.into();
    findings.ending = answers::sentence(study);
    findings.chapters = chapters(study);
    findings.front.tables.push(answers::ID.into());
    findings.summary.insert(0, Exhibit::Table(answers::table(study)));
    findings
}

/// Returns the four reports of the Target Server Self-Test, without the chapters of the analysis.
pub fn self_test(study: &Study, software: &str) -> Findings {
    let lasted = study.totals.conditions.lasted_ns.max(study.totals.span_ns.1);
    let began_ns = study.totals.conditions.began_unix_ns;
    Findings {
        method: METHOD.into(),
        headline: headline(study),
        began_unix_ms: began_ns.map_or(0, |ns| ns / 1_000_000),
        ended_unix_ms: began_ns.map_or(0, |ns| ns.saturating_add(lasted) / 1_000_000),
        activity: Activity::Capture,
        digest: digest(study),
        software: software.to_owned(),
        ending: ending(study),
        caveats: caveats::all(study),
        summary: summary(study),
        form_pages: form_pages(study),
        long_tables: long_tables(study),
        id: "self-test".into(),
        ..Findings::new("Target Server Self-Test", header(study))
            .with_front_page(figures(study), FRONT_PLOTS)
    }
}

/// Returns rates and response times of the whole capture.
fn figures(study: &Study) -> Vec<KeyFigure> {
    let total = study.totals.streams.total();
    let responses = total.times.responses.figures();
    let ms = |ns: Option<u64>| ns.map(|ns| Nanos(ns).as_millis_f64());
    let megabytes = Bytes(total.transfers().bytes).as_mb();
    let observed = &study.totals.observed;
    let mut figures = vec![
        KeyFigure::new("iops", "Mean rate", observed.per_second(total.count() as f64), "IOPS"),
        KeyFigure::new("rate", "Mean throughput", observed.per_second(megabytes), "MB/s"),
        KeyFigure::new("mean", "Mean response time", ms(responses.mean_ns), "ms"),
    ];
    if study.has_percentiles() {
        let tail = ms(responses.p99_999_ns);
        let tail = KeyFigure::new("five-nines", "99.999 % response time", tail, "ms");
        figures.push(tail.of_buckets());
    }
    figures.push(KeyFigure::new("depth", "Mean queue depth", total.times.depths.mean(), ""));
    figures
}

fn summary(study: &Study) -> Vec<Exhibit> {
    let mut summary = vec![
        Exhibit::Facts(capture_facts(study)),
        Exhibit::Table(tables::workload(study).with_id("summary-workload")),
    ];
    if let Some(processes) = &study.processes {
        summary.push(Exhibit::Table(tables::processes(processes, 10).with_id("summary-processes")));
    }
    summary
}

fn long_tables(study: &Study) -> Vec<Table> {
    let mut tables = vec![tables::streams(study), tables::steps(study)];
    tables.extend(study.processes.as_ref().map(tables::processes_all));
    tables
}

fn form_pages(study: &Study) -> Vec<Page> {
    vec![
        Page::new(
            "I/O streams distribution v segments",
            vec![
                Exhibit::Plot(plots::distribution(study)),
                Exhibit::Table(tables::workload(study)),
            ],
        ),
        Page::new("IOPS and throughput v time", vec![Exhibit::Plot(plots::rates(study))]),
        Page::new("Response time v time", vec![Exhibit::Plot(plots::response_times(study))]),
        Page::new("Outstanding I/Os v time", outstanding(study)),
    ]
}

/// Returns the plot of outstanding I/Os and, where it is known, that of the server's processors.
fn outstanding(study: &Study) -> Vec<Exhibit> {
    let mut plots = vec![plots::outstanding(study)];
    // Steps much narrower than the time between two readings have none.
    if study.step_figures().any(|step| step.processors.is_some()) {
        plots.push(plots::processors(study));
    }
    plots.into_iter().map(Exhibit::Plot).collect()
}

fn chapters(study: &Study) -> Vec<Page> {
    let singles = study.single_ios.as_ref();
    let mut pages = vec![
        Page::new(
            "The capture",
            vec![
                Exhibit::Facts(capture_facts(study)),
                Exhibit::Table(tables::drives(study)),
                Exhibit::Text(rules(study)),
            ],
        ),
        Page::new(
            "IO Stream Map",
            vec![
                Exhibit::Plot(plots::stream_map_by_frequency(study)),
                Exhibit::Plot(plots::stream_map_by_amount(study)),
            ],
        ),
    ];
    pages.extend(windows(study));
    pages.extend(day::page(study));
    pages.extend(study.processes.as_ref().map(|found| processes(study, found)));
    pages.extend(singles.and_then(|singles| who::page(study, singles)));
    pages.extend(singles.and_then(|singles| hit_maps(study, singles)));
    pages.push(utilization_page(study));
    pages.extend(singles.map(|singles| shape(study, singles)));
    pages.push(sizes(study));
    pages.extend(content(study));
    pages.extend(singles.and_then(|singles| working_sets(study, singles)));
    if study.sides.len() > 1 {
        let sides = plots::sides(study).into_iter().map(Exhibit::Plot).collect();
        pages.push(Page::new("Devices and layers side by side", sides));
    }
    pages
}

fn processes(study: &Study, processes: &ProcessResults) -> Page {
    let mut exhibits = vec![
        Exhibit::Plot(plots::process_map(study, processes)),
        Exhibit::Table(tables::processes(processes, 25)),
        Exhibit::Table(tables::process_streams(study, processes)),
    ];
    exhibits.extend(tables::kinds(study, processes).into_iter().map(Exhibit::Table));
    Page::new("Processes", exhibits)
}

fn hit_maps(study: &Study, singles: &SingleIoResults) -> Option<Page> {
    let maps = singles.hit_maps.iter().flat_map(|map| plots::hit_maps(study, map));
    let mut maps: Vec<Exhibit> = maps.collect();
    let hot = singles.hot_ranges.iter().filter(|ranges| ranges.touched() > 0);
    let read_outs = singles.read_outs.iter().filter(|found| !found.streams.is_empty());
    maps.extend(read_outs.map(|found| Exhibit::Table(tables::read_out(study, found))));
    maps.extend(hot.map(|ranges| Exhibit::Table(tables::hot_ranges(study, ranges))));
    (!maps.is_empty()).then(|| Page::new("LBA range hit map", maps))
}

fn utilization_page(study: &Study) -> Page {
    let over_time = [plots::sequentiality(study), plots::operations(study)].map(Exhibit::Plot);
    if !study.has_busy_time {
        return Page::new("Sequentiality and operations", over_time.to_vec());
    }
    let busy = Exhibit::Plot(plots::busy_share(study));
    Page::new("Disk utilization and sequentiality", [vec![busy], over_time.to_vec()].concat())
        .with_id("Disk utilisation and sequentiality")
}

fn sizes(study: &Study) -> Page {
    let sizes = Exhibit::Plot(plots::sizes(study));
    if !study.has_percentiles() {
        return Page::new("Sizes", vec![sizes]);
    }
    let histogram = Exhibit::Plot(plots::response_histogram(study));
    let percentiles = Exhibit::Table(tables::response_times(study));
    let mut exhibits = vec![sizes, histogram, percentiles];
    let is_queue_recorded = study.steps.values().any(|step| step.times.queued.count > 0);
    if let Some(found) = study.processes.as_ref().filter(|_| is_queue_recorded) {
        let queue_times =
            [tables::queue_times(study, found), tables::queue_times_of_processes(study, found)];
        exhibits.extend(queue_times.map(Exhibit::Table));
    }
    Page::new("Sizes and response times", exhibits)
}

/// Returns plots with narrow steps, if these were requested and are too many for a single plot.
fn windows(study: &Study) -> Option<Page> {
    let fine = Nanos(study.totals.detail_step_ns?);
    let text = format!(
        "The plots of the whole capture have steps of {}, because it has too many steps of {fine}. \
         These plots show the narrow steps around two moments. Choose another span with --from and \
         --to. `steadfast trace steps` lists every step with I/Os or busy time.",
        Nanos(study.totals.step_ns)
    );
    let plots = study.windows.iter().zip(0..).map(|(window, at)| plots::window(study, window, at));
    let exhibits = std::iter::once(Exhibit::Text(text)).chain(plots.map(Exhibit::Plot)).collect();
    Some(Page::new(format!("Steps of {fine}"), exhibits))
}

fn shape(study: &Study, singles: &SingleIoResults) -> Page {
    let mut exhibits = vec![Exhibit::Plot(plots::response_heat(study))];
    exhibits.extend(plots::depths_over_time(study, singles).map(Exhibit::Plot));
    exhibits.push(Exhibit::Table(tables::gaps(study, singles)));
    exhibits.push(Exhibit::Table(tables::runs(singles)));
    exhibits.extend(tables::idle(study, singles).into_iter().map(Exhibit::Table));
    Page::new("Shape of the load", exhibits)
}

/// Returns compression and duplicates over time, if content was sampled.
fn content(study: &Study) -> Option<Page> {
    let plots = [plots::compression(study), plots::duplicates(study)];
    let page = || Page::new("Compression and duplicates", plots.map(Exhibit::Plot).to_vec());
    study.has_content().then(page)
}

fn working_sets(study: &Study, singles: &SingleIoResults) -> Option<Page> {
    let sets = singles.working_sets.iter().map(|set| Exhibit::Facts(working_set_facts(study, set)));
    let mut sets: Vec<Exhibit> = sets.collect();
    sets.extend(locality::exhibits(study, singles));
    (!sets.is_empty()).then(|| Page::new("Working set and reuse", sets))
}

fn headline(study: &Study) -> String {
    let sides = study.sides_counted().take(DEVICES_NAMED);
    let mut layers: Vec<String> =
        sides.map(|steps| steps.side.name(&study.totals.conditions)).collect();
    if study.sides_counted().count() > DEVICES_NAMED {
        layers.push("and more".to_owned());
    }
    if study.totals.mixes_layers() {
        layers.push("both layers counted together".to_owned());
    }
    let filter =
        study.totals.describe_filter().map(|filter| format!("; only {filter}")).unwrap_or_default();
    format!(
        "{}; threshold {} by {}; step {}; window {}{filter}",
        layers.join("; "),
        study.totals.options.threshold,
        study.totals.options.by,
        Nanos(study.totals.step_ns),
        study.totals.options.pass.window
    )
}

fn ending(study: &Study) -> String {
    let workload = &study.totals.workload;
    let selected = workload.selected();
    let part = match study.totals.options.by {
        ShareMeasure::Count => {
            format!("{} of {} I/Os", grouped(selected.ios), grouped(workload.total_count))
        }
        ShareMeasure::Bytes => {
            format!("{} of {}", Bytes(selected.bytes), Bytes(workload.total_amount))
        }
    };
    format!(
        "{} I/O streams; {} of them reach the threshold of {} and hold {:.1} % ({part}).",
        grouped(study.totals.streams.len() as u64),
        grouped(workload.streams.len() as u64),
        study.totals.options.threshold,
        workload.coverage() * 100.0
    )
}

/// Returns the SHA-256 over the conditions and the exact counts of every stream.
fn digest(study: &Study) -> String {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&study.totals.conditions).unwrap_or_default());
    for stream in study.totals.streams.listing(study.totals.options.by) {
        hash.update(format!("{} {} {}\n", stream.key, stream.count(), stream.sums.amount()));
    }
    to_hex(&hash.finalize())
}

fn rules(study: &Study) -> String {
    let order = match study.single_ios {
        Some(_) => "",
        None => {
            " This was decided during the capture, in the order in which its programs ran. \
             Percentiles are upper edges of buckets of at most 25 %."
        }
    };
    format!(
        "An I/O belongs to the capture step ({}) in which it was issued. It is sequential when it \
         begins where one of the last {} I/Os or sequential runs of the same operation on the \
         same device ended.{order} Queue depth is the number of I/Os outstanding when an I/O was \
         issued, itself included. Response time is from issue to completion. Shares are computed \
         from exact counts. A server is throttled by its users and applications: a lab test of \
         the same workload can be faster.",
        Nanos(study.totals.step_ns),
        study.totals.options.pass.window
    )
}
