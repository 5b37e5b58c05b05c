//! Converts a study to `Findings`: first the reports of the Target Server Self-Test, then the
//! chapters of the analysis.

mod answers;
mod caveats;
mod day;
mod locality;
mod plots;
mod tables;
mod who;

use crate::questions::compare::device_name;
use crate::questions::reach::WorkingSetFigures;
use crate::questions::steps::StepFigures;
use crate::questions::streams::ShareMeasure;
use crate::questions::study::{ProcessResults, SingleIoResults, Study};
use crate::questions::totals::StudyOptions;
use crate::sums::io_sums::IoSums;
use crate::sums::server_cpu_use::ServerCpuUse;
use sha2::{Digest, Sha256};
use steadfast_domain::findings::{
    Activity, Exhibit, Facts, FormBlock, FormHeader, FormSubject, KeyFigure, Origin, Page, Setting,
    Table,
};
use steadfast_domain::hex::to_hex;
use steadfast_domain::io_event::{ContentSample, Share};
use steadfast_domain::text::number;
use steadfast_domain::{Bytes, CaptureConditions, Findings, Nanos};

/// Devices named at the head of a page.
const DEVICES_NAMED: usize = 8;

/// Title of the report of a capture.
const TITLE: &str = "Captured Workload";

/// Name of the method.
const METHOD: &str = "Capture and analysis of RWSW PTS 1.0.7 as described in the SNIA tutorial \
    and in docs/trace.md";

/// Returns the report of a capture. `software` is the name and version of this program.
pub fn findings(study: &Study, software: &str) -> Findings {
    let mut header = header(study);
    header.test = TITLE.into();
    let found = Findings {
        title: TITLE.into(),
        ending: answers::sentence(study),
        header,
        ..self_test(study, software)
    };
    let mut found = Findings { id: "captured-workload".into(), chapters: chapters(study), ..found };
    found.front.tables.push(answers::ID.into());
    found.summary.insert(0, Exhibit::Table(answers::table(study)));
    found
}

/// Returns the four reports of the Target Server Self-Test, without the chapters of the analysis.
pub fn self_test(study: &Study, software: &str) -> Findings {
    let lasted = study.totals.conditions.lasted_ns.max(study.totals.span_ns.1);
    let run = |began_ns: u64| (began_ns / 1_000_000, began_ns.saturating_add(lasted) / 1_000_000);
    Findings {
        method: METHOD.into(),
        headline: headline(study),
        run_unix_ms: study.totals.conditions.began_unix_ns.map_or((0, 0), run),
        activity: Activity::Capture,
        digest: digest(study),
        software: software.to_owned(),
        ending: ending(study),
        caveats: caveats::all(study),
        summary: summary(study),
        form_pages: form_pages(study),
        long_tables: long_tables(study),
        id: "self-test".into(),
        ..Findings::new("Target Server Self-Test", header(study)).fronted(figures(study), plots())
    }
}

/// Returns the plot on the first page: the IO Stream Map with response times says the most about a
/// capture.
fn plots() -> [&'static str; 1] {
    ["stream-map-frequency"]
}

/// Returns rates and response times of the whole capture.
fn figures(study: &Study) -> Vec<KeyFigure> {
    let total = study.totals.streams.total();
    let responses = total.responses.figures();
    let ms = |ns: Option<u64>| ns.map(|ns| Nanos(ns).as_millis_f64());
    let megabytes = Bytes(total.amount()).as_mb();
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
    figures.push(KeyFigure::new("depth", "Mean queue depth", total.depth_mean(), ""));
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
    pages.push(use_of_device(study));
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
    let maps = singles.hits.iter().flat_map(|hits| plots::hit_maps(study, hits));
    let mut maps: Vec<Exhibit> = maps.collect();
    let hot = singles.hot.iter().filter(|ranges| ranges.touched() > 0);
    let read_outs = singles.read_outs.iter().filter(|found| !found.streams.is_empty());
    maps.extend(read_outs.map(|found| Exhibit::Table(tables::read_out(study, found))));
    maps.extend(hot.map(|ranges| Exhibit::Table(tables::hot_ranges(study, ranges))));
    (!maps.is_empty()).then(|| Page::new("LBA range hit map", maps))
}

fn use_of_device(study: &Study) -> Page {
    let over_time = [plots::sequentiality(study), plots::operations(study)].map(Exhibit::Plot);
    if !study.tells_busy_time {
        return Page::new("Sequentiality and operations", over_time.to_vec());
    }
    let busy = Exhibit::Plot(plots::utilisation(study));
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
    let fine = Nanos(study.totals.fine_ns?);
    let text = format!(
        "The pictures of the whole capture have steps of {}: it has too many steps of {fine}. These \
         pictures show those around two moments; a span is shown with --from and --to, and trace \
         steps lists every step with I/Os or busy time.",
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
    let sets = singles.reach.iter().map(|reach| Exhibit::Facts(reach_facts(study, reach)));
    let mut sets: Vec<Exhibit> = sets.collect();
    sets.extend(locality::exhibits(study, singles));
    (!sets.is_empty()).then(|| Page::new("Working set and reuse", sets))
}

fn headline(study: &Study) -> String {
    let sides = study.sides_counted().take(DEVICES_NAMED);
    let mut layers: Vec<String> =
        sides.map(|(side, _)| side.name(&study.totals.conditions)).collect();
    if study.sides_counted().count() > DEVICES_NAMED {
        layers.push("and more".to_owned());
    }
    if study.totals.mixes_layers() {
        layers.push("BOTH LAYERS COUNTED TOGETHER".to_owned());
    }
    let filter =
        study.totals.describe_filter().map(|filter| format!("  only {filter}")).unwrap_or_default();
    format!(
        "{}  threshold {} by {}  step {}  window {}{filter}",
        layers.join("  "),
        study.totals.options.threshold,
        study.totals.options.by,
        Nanos(study.totals.step_ns),
        study.totals.options.pass.window
    )
}

/// Formats a count with thousands separators.
fn grouped(count: u64) -> String {
    number(count as f64, 0)
}

fn ending(study: &Study) -> String {
    let workload = &study.totals.workload;
    let (count, amount) = workload.selected();
    let part = match study.totals.options.by {
        ShareMeasure::Count => {
            format!("{} of {} I/Os", grouped(count), grouped(workload.total_count))
        }
        ShareMeasure::Bytes => {
            format!("{} of {}", Bytes(amount), Bytes(workload.total_amount))
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

fn header(study: &Study) -> FormHeader {
    let conditions = &study.totals.conditions;
    FormHeader {
        issuer: "Steadfast".into(),
        specification: "Capture and analysis of a workload".into(),
        lesser: None,
        test: "Target Server Self-Test (pseudo-test)".into(),
        subtitle: "In situ performance during the I/O capture".into(),
        revision: "after RWSW PTS 1.0.7".into(),
        vendor: None,
        model: conditions.devices.first().and_then(|device| device.model.clone()),
        sponsor: None,
        blocks: vec![
            FormBlock::new("Target Server", server_rows(conditions)).about(FormSubject::Platform),
            FormBlock::new("Storage", storage_rows(conditions)).about(FormSubject::Device),
            FormBlock::new("I/O Capture", capture_rows(conditions)),
            FormBlock::new("Analysis", analysis_rows(study)),
        ],
    }
}

fn server_rows(conditions: &CaptureConditions) -> Vec<Setting> {
    vec![
        Setting::identity("Host", &conditions.host),
        Setting::identity("Operating System", &conditions.operating_system),
        Setting::identity("Kernel", &conditions.kernel),
    ]
}

fn storage_rows(conditions: &CaptureConditions) -> Vec<Setting> {
    let devices = conditions.devices.iter().take(DEVICES_NAMED).map(|device| {
        let facts =
            [device.model.clone(), device.serial.clone(), device.capacity.map(|c| c.to_string())];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        Setting::identity(&device.name, facts.join(", "))
    });
    let more = conditions.devices.len().saturating_sub(DEVICES_NAMED);
    let more = (more > 0).then(|| Setting::identity("and", format!("{more} more")));
    devices.chain(more).collect()
}

/// Returns the circumstances of the capture that the trace records.
fn capture_rows(conditions: &CaptureConditions) -> Vec<Setting> {
    let told = |id: &str, label: &str, value: Option<String>| {
        Setting::new(id, label, value, Origin::Found)
    };
    let layers: Vec<String> = conditions.layers.iter().map(ToString::to_string).collect();
    let mut rows = vec![
        told("capture-tool", "Capture Tool", Some(conditions.software.clone())),
        told("source", "Source", Some(conditions.source.clone())),
        told("layer", "Layer", Some(layers.join(", "))),
        Setting::outcome("Lost Events", conditions.lost.to_string()),
    ];
    let process = conditions.process.map(|pid| pid.to_string());
    rows.extend(process.map(|pid| told("process", "Only Process", Some(pid))));
    let kept = conditions.step_ns.map(|ns| format!("I/O streams in steps of {}", Nanos(ns)));
    rows.extend(kept.map(|kept| told("kept", "Kept", Some(kept))));
    rows.extend(names(conditions));
    rows
}

/// Returns the name and the comment that the user gave the captured workload.
fn names(conditions: &CaptureConditions) -> impl Iterator<Item = Setting> {
    let named = |id: &str, label: &str, text: &Option<String>| {
        let text = text.clone().filter(|text| !text.is_empty());
        text.map(|text| Setting::new(id, label, text, Origin::Found))
    };
    let workload = named("workload", "Workload", &conditions.workload);
    workload.into_iter().chain(named("comment", "Comment", &conditions.comment))
}

/// Returns the settings of the study. A value that equals the default of the program counts as
/// default.
fn analysis_rows(study: &Study) -> Vec<Setting> {
    let totals = &study.totals;
    let (options, presets) = (&totals.options, StudyOptions::default());
    let origin = |is_preset: bool| if is_preset { Origin::Default } else { Origin::Chosen };
    let threshold = options.threshold == presets.threshold && options.by == presets.by;
    let window = options.pass.window == presets.pass.window;
    let by = format!("{} by {}", options.threshold, options.by);
    let (step, asked) = (Nanos(totals.step_ns).to_string(), options.step_ns.is_some());
    let within = format!("within {} I/Os", options.pass.window);
    let mut rows = vec![
        Setting::new("capture-step", "Capture Step", step, origin(!asked)),
        Setting::new("threshold", "Threshold", by, origin(threshold)),
        Setting::new("sequential", "Sequential", within, origin(window)),
        Setting::outcome("I/Os", grouped(totals.streams.total().count())),
    ];
    let filter = totals.describe_filter();
    rows.extend(filter.map(|told| Setting::new("filter", "Only", told, Origin::Chosen)));
    rows
}

fn capture_facts(study: &Study) -> Facts {
    let conditions = &study.totals.conditions;
    let total = study.totals.streams.total();
    let lasted = study.totals.span_ns.1.saturating_sub(study.totals.span_ns.0);
    let figures = total.responses.figures();
    let time = |ns: Option<u64>| ns.map(|ns| format!("{:.3} ms", ns as f64 / 1e6));
    let singles = study.single_ios.as_ref();
    let between = singles.map_or("Capture steps with I/Os span", |_| "From first to last I/O");
    let five_nines = study.has_percentiles().then(|| time(figures.p99_999_ns));
    let five_nines = five_nines.map(|time| Setting::outcome("99.999 % response time", time));
    let processes = study.processes.as_ref().map(|found| found.all.iter().count().to_string());
    Facts::new("Capture")
        .rows(names(conditions))
        .with(Setting::outcome("I/Os", grouped(total.count())))
        .with(Setting::outcome("Bytes", Bytes(total.amount()).to_string()))
        .with(Setting::outcome(
            "Observed time",
            Nanos(study.totals.observed.total_ns()).elapsed_text(),
        ))
        .with(Setting::outcome(between, Nanos(lasted).elapsed_text()))
        .with(Setting::outcome("I/O streams", grouped(study.totals.streams.len() as u64)))
        .rows(processes.map(|count| Setting::outcome("Processes", count)))
        .with(Setting::outcome("Average response time", time(figures.mean_ns)))
        .rows(five_nines)
        .with(Setting::outcome("Maximum response time", time(figures.max_ns)))
        .rows(queue_depths(&total))
        .rows(threads(study))
        .rows(processors(study))
        .rows(contents(conditions))
        .with(Setting::outcome("Failed I/Os", grouped(total.failed())))
        .with(Setting::outcome("Lost events", grouped(conditions.lost)))
        .rows(incomplete(conditions))
}

/// Returns mean and maximum of the threads with I/Os in a capture step, and the mean depth of each.
fn threads(study: &Study) -> Vec<Setting> {
    let steps: Vec<StepFigures> =
        study.step_figures().filter(|step| step.threads.is_some() && step.count > 0).collect();
    let counts = || steps.iter().filter_map(|step| step.threads);
    let Some(most) = counts().max() else { return Vec::new() };
    let mean = counts().map(f64::from).sum::<f64>() / steps.len() as f64;
    let depths: Vec<f64> = steps.iter().filter_map(StepFigures::depth_per_thread).collect();
    let depth = depths.iter().sum::<f64>() / depths.len() as f64;
    let depth = (!depths.is_empty()).then(|| format!("{depth:.2}"));
    let width = Nanos(study.totals.step_ns);
    vec![
        Setting::outcome(
            &format!("Threads in a step of {width}"),
            format!("{mean:.1} on average, {most} at most"),
        ),
        Setting::outcome("Queue depth per thread", depth),
    ]
}

/// Returns processor use and I/O wait of the captured host from the first reading to the last.
fn processors(study: &Study) -> Vec<Setting> {
    let readings = &study.totals.conditions.processors;
    let Some((first, last)) = readings.first().zip(readings.last()) else { return Vec::new() };
    let found = ServerCpuUse::between(&study.totals.conditions, first.at_ns, last.at_ns);
    let text = |value: fn(ServerCpuUse) -> f64| {
        found.map(|found| format!("{:.1} %", value(found) * 100.0))
    };
    vec![
        Setting::outcome("Processor use of the server", text(|found| found.busy)),
        Setting::outcome("I/O wait of the server", text(|found| found.io_wait)),
    ]
}

fn queue_depths(total: &IoSums) -> [Setting; 2] {
    let mean = total.depth_mean().map(|depth| format!("{depth:.2}"));
    let max = total.depth_max().map(|depth| depth.to_string());
    [Setting::outcome("Average queue depth", mean), Setting::outcome("Maximum queue depth", max)]
}

fn contents(conditions: &CaptureConditions) -> [Setting; 3] {
    let ratio = conditions.compression_ratio.map(|ratio| format!("{ratio:.2}"));
    let duplicates = conditions.duplicates().map(|share| share.to_string());
    let sample = conditions.content.map(|sample| sampled(&sample));
    [
        Setting::outcome("Compression ratio", ratio),
        Setting::outcome("Duplication ratio", duplicates),
        Setting::outcome("Content", sample),
    ]
}

/// Returns the numbers of incomplete I/Os, by reason if the reasons are known.
fn incomplete(conditions: &CaptureConditions) -> Vec<Setting> {
    let row = |label: &str, count: u64| Setting::outcome(label, grouped(count));
    let Some(part) = conditions.in_part else {
        return vec![
            row("Incomplete I/Os, omitted", conditions.unfinished)
                .with_id("Incomplete I/Os, left out"),
        ];
    };
    vec![
        row("Completion missing, no response time", part.unended)
            .with_id("Completion not seen, no response time"),
        row("Issued before the capture, omitted", part.begun_before)
            .with_id("Issued before the capture, left out"),
        row("Too many at once, omitted", part.too_many).with_id("Too many at once, left out"),
    ]
}

/// Describes the sample that both ratios are based on.
fn sampled(sample: &ContentSample) -> String {
    let bound = match sample.duplicate_share() {
        Some(Share::AtLeast(_)) => "; a duplicate is detected only if both blocks were read",
        Some(Share::Exact(_)) | None => "",
    };
    format!("{sample}; zstd level 1{bound}")
}

fn reach_facts(study: &Study, (device, reach): &(u16, WorkingSetFigures)) -> Facts {
    let row = |label: &str, value: Option<String>| Setting::outcome(label, value);
    let times = |value: Option<f64>| value.map(|times| format!("{times:.2} times"));
    let size = |bytes: u64| Some(format!("{} (estimated, standard error 0.8 %)", Bytes(bytes)));
    let granules = format!("Granules of {} MiB touched", reach.granule_bytes >> 20);
    let hottest = reach.hottest.iter().map(|(percent, share)| {
        let label = format!("Hits on the hottest {percent} % of them");
        row(&label, Some(format!("{:.1} %", share * 100.0)))
    });
    let name = device_name(&study.totals.conditions, *device);
    Facts::new(format!("Working set of {name}"))
        .with(row("Working set, 4 KiB blocks touched", size(reach.touched_bytes)))
        .with(row("Read", size(reach.read_bytes)))
        .with(row("Written", size(reach.written_bytes)))
        .with(
            row("Accesses per touched block, average", times(reach.reuse))
                .with_id("A touched block was touched, on average"),
        )
        .with(
            row("Writes per written block, average", times(reach.rewrite))
                .with_id("A written block was written, on average"),
        )
        .with(row(&granules, Some(reach.granules_touched.to_string())))
        .rows(hottest)
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
