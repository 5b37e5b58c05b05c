//! A study as `Findings`: the reports of the Target Server Self-Test first,
//! then the chapters of the analysis.

mod plots;
mod tables;

use crate::reach::ReachFigures;
use crate::streams::By;
use crate::study::Study;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use steadfast_domain::findings::{
    Exhibit, FINDINGS_VERSION, Facts, FormBlock, FormHeader, Marker, Page, Table,
};
use steadfast_domain::io_event::ContentSample;
use steadfast_domain::{Bytes, Caveat, CaveatKind, Findings, Nanos};

/// The method, in one line.
const METHOD: &str = "Capture and analysis after RWSW PTS 1.0.7 as the SNIA tutorial describes it, \
    as in docs/trace.md";

/// A study as findings. `software` is the name and version of this program.
pub fn findings(study: &Study, software: &str) -> Findings {
    let began_ms = study.conditions.began_unix_ns.unwrap_or(0) / 1_000_000;
    let lasted = study.conditions.lasted_ns.max(study.span_ns.1);
    Findings {
        version: FINDINGS_VERSION,
        title: "Target Server Self-Test".into(),
        method: METHOD.into(),
        headline: headline(study),
        simulated: false,
        run_unix_ms: (began_ms, began_ms + lasted / 1_000_000),
        digest: digest(study),
        software: software.to_owned(),
        ending: ending(study),
        header: header(study),
        verdict: None,
        caveats: caveats(study),
        summary: vec![
            Exhibit::Facts(capture_facts(study)),
            Exhibit::Table(named("summary-workload", tables::workload(study))),
            Exhibit::Table(named("summary-processes", tables::processes(study, 10))),
        ],
        form_pages: form_pages(study),
        chapters: chapters(study),
        long_tables: vec![
            tables::streams(study),
            tables::steps(study),
            tables::processes_all(study),
        ],
        parts: Vec::new(),
    }
}

/// The same table under another name, so that every CSV file is its own.
fn named(id: &str, mut table: Table) -> Table {
    table.id = id.to_owned();
    table
}

fn form_pages(study: &Study) -> Vec<Page> {
    let page = |title: &str, exhibits| Page { title: title.to_owned(), exhibits };
    vec![
        page(
            "I/O streams distribution v segments",
            vec![
                Exhibit::Plot(plots::distribution(study)),
                Exhibit::Table(tables::workload(study)),
            ],
        ),
        page("IOPS and throughput v time", vec![Exhibit::Plot(plots::rates(study))]),
        page("Response time v time", vec![Exhibit::Plot(plots::response_times(study))]),
        page("Outstanding I/Os v time", vec![Exhibit::Plot(plots::outstanding(study))]),
    ]
}

fn chapters(study: &Study) -> Vec<Page> {
    let page = |title: &str, exhibits| Page { title: title.to_owned(), exhibits };
    let plot = Exhibit::Plot;
    let mut pages = vec![
        page(
            "The capture",
            vec![Exhibit::Facts(capture_facts(study)), Exhibit::Text(rules(study))],
        ),
        page(
            "IO Stream Map",
            vec![
                plot(plots::stream_map_by_frequency(study)),
                plot(plots::stream_map_by_amount(study)),
            ],
        ),
        page(
            "Processes",
            vec![plot(plots::process_map(study)), Exhibit::Table(tables::processes(study, 25))],
        ),
    ];
    let maps: Vec<Exhibit> =
        study.hits.iter().flat_map(|hits| plots::hit_maps(study, hits)).collect();
    if !maps.is_empty() {
        pages.push(page("LBA range hit map", maps));
    }
    let mut use_of_device = vec![plot(plots::sequentiality(study)), plot(plots::operations(study))];
    if study.options.pass.filter.keeps_whole_devices() {
        use_of_device.insert(0, plot(plots::utilisation(study)));
    }
    pages.push(page("Disk utilisation and sequentiality", use_of_device));
    pages.push(page(
        "Sizes and response times",
        vec![
            plot(plots::sizes(study)),
            plot(plots::response_histogram(study)),
            Exhibit::Table(tables::response_times(study)),
        ],
    ));
    if !study.reach.is_empty() {
        let reach = study.reach.iter().map(|reach| Exhibit::Facts(reach_facts(study, reach)));
        pages.push(page("Working set and reuse", reach.collect()));
    }
    if study.sides.len() > 1 {
        let sides = plots::sides(study).into_iter().map(plot).collect();
        pages.push(page("Devices and layers side by side", sides));
    }
    pages
}

fn headline(study: &Study) -> String {
    let layers: Vec<String> =
        study.sides.iter().map(|(side, _)| side.name(&study.conditions)).collect();
    format!(
        "{}  threshold {} by {}  step {}  window {}",
        layers.join("  "),
        study.options.threshold,
        study.options.by,
        Nanos(study.step_ns),
        study.options.pass.window
    )
}

fn ending(study: &Study) -> String {
    let workload = &study.workload;
    let (count, amount) = workload.selected();
    let part = match study.options.by {
        By::Count => format!("{count} of {} I/Os", workload.total_count),
        By::Bytes => {
            format!("{} of {}", Bytes(amount), Bytes(workload.total_amount))
        }
    };
    format!(
        "{} I/O streams; {} of them reach the threshold of {} and hold {:.1} % ({part}).",
        study.streams.len(),
        workload.streams.len(),
        study.options.threshold,
        workload.coverage() * 100.0
    )
}

/// SHA-256 over the conditions and the exact counts of every stream.
fn digest(study: &Study) -> String {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&study.conditions).unwrap_or_default());
    for stream in study.streams.listing(study.options.by) {
        hash.update(format!("{} {} {}\n", stream.key, stream.count, stream.amount));
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

type Rows = Vec<(String, Option<String>)>;

fn header(study: &Study) -> FormHeader {
    let conditions = &study.conditions;
    let row = |label: &str, value: Option<String>| (label.to_owned(), value);
    let layers: Vec<String> = conditions.layers.iter().map(ToString::to_string).collect();
    let devices = conditions.devices.iter().map(|device| {
        let facts =
            [device.model.clone(), device.serial.clone(), device.capacity.map(|c| c.to_string())];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        (device.name.clone(), (!facts.is_empty()).then(|| facts.join(", ")))
    });
    let platform: Rows = vec![
        row("Host", conditions.host.clone()),
        row("Operating System", conditions.operating_system.clone()),
        row("Kernel", conditions.kernel.clone()),
    ];
    let capture: Rows = vec![
        row("Capture Tool", Some(conditions.software.clone()).filter(|s| !s.is_empty())),
        row("Source", Some(conditions.source.clone()).filter(|s| !s.is_empty())),
        row("Layer", Some(layers.join(", ")).filter(|s| !s.is_empty())),
        row("Lost Events", Some(conditions.lost.to_string())),
    ];
    let analysis: Rows = vec![
        row("Capture Step", Some(Nanos(study.step_ns).to_string())),
        row("Threshold", Some(format!("{} by {}", study.options.threshold, study.options.by))),
        row("Sequential", Some(format!("within {} I/Os", study.options.pass.window))),
        row("I/Os", Some(study.account.kept.to_string())),
    ];
    let block = |title: &str, rows| FormBlock { title: title.to_owned(), rows };
    FormHeader {
        test: "Target Server Self-Test (pseudo-test)".into(),
        subtitle: "In situ performance during the I/O capture".into(),
        revision: "RWSW PTS 1.0.7".into(),
        vendor: None,
        model: conditions.devices.first().and_then(|device| device.model.clone()),
        sponsor: None,
        blocks: vec![
            block("Target Server", platform),
            block("Storage", devices.collect()),
            block("I/O Capture", capture),
            block("Analysis", analysis),
        ],
    }
}

fn capture_facts(study: &Study) -> Facts {
    let conditions = &study.conditions;
    let row = |label: &str, value: Option<String>| (label.to_owned(), value);
    let total = study.streams.total();
    let lasted = study.span_ns.1.saturating_sub(study.span_ns.0);
    let figures = total.responses.figures();
    let time = |ns: Option<u64>| ns.map(|ns| format!("{:.3} ms", ns as f64 / 1e6));
    Facts {
        title: "Capture".into(),
        rows: vec![
            row("I/Os", Some(total.ios.to_string())),
            row("Bytes", Some(Bytes(total.amount()).to_string())),
            row("From first to last I/O", Some(Nanos(lasted).to_string())),
            row("I/O streams", Some(study.streams.len().to_string())),
            row("Processes", Some(study.processes.iter().count().to_string())),
            row("Average response time", time(figures.mean_ns)),
            row("99.999 % response time", time(figures.p99_999_ns)),
            row("Maximum response time", time(figures.max_ns)),
            row("Average queue depth", total.depth_mean().map(|depth| format!("{depth:.2}"))),
            row("Maximum queue depth", (total.depths > 0).then(|| total.depth_max.to_string())),
            row("Compression ratio", conditions.compression_ratio.map(|r| format!("{r:.2}"))),
            row(
                "Duplication ratio",
                conditions.duplicate_share.map(|share| format!("{:.1} %", share * 100.0)),
            ),
            row("Content", conditions.content.map(|sample| sampled(&sample))),
            row("Failed I/Os", Some(total.failed.to_string())),
            row("Lost events", Some(conditions.lost.to_string())),
            row("Unfinished I/Os", Some(conditions.unfinished.to_string())),
        ],
    }
}

/// What the two ratios come from.
fn sampled(sample: &ContentSample) -> String {
    format!(
        "{} written blocks of 4 KiB, 1 in {}, read back; zstd level 1; duplicates of blocks not \
         read are not seen",
        sample.blocks, sample.every
    )
}

fn reach_facts(study: &Study, (device, reach): &(u16, ReachFigures)) -> Facts {
    let row = |label: &str, value: Option<String>| (label.to_owned(), value);
    let times = |value: Option<f64>| value.map(|times| format!("{times:.2} times"));
    let size = |bytes: u64| Some(format!("{} (estimated, standard error 0.8 %)", Bytes(bytes)));
    let mut rows = vec![
        row("Working set, 4 KiB blocks touched", size(reach.touched_bytes)),
        row("Read", size(reach.read_bytes)),
        row("Written", size(reach.written_bytes)),
        row("A touched block was touched, on average", times(reach.reuse)),
        row("A written block was written, on average", times(reach.rewrite)),
    ];
    let granule = reach.granule_bytes >> 20;
    rows.push(row(
        &format!("Granules of {granule} MiB touched"),
        Some(reach.granules_touched.to_string()),
    ));
    rows.extend(reach.hottest.iter().map(|(percent, share)| {
        let label = format!("Hits on the hottest {percent} % of them");
        row(&label, Some(format!("{:.1} %", share * 100.0)))
    }));
    Facts { title: format!("Working set of {}", device_name(study, *device)), rows }
}

/// A device's name in the conditions.
fn device_name(study: &Study, device: u16) -> String {
    let named = study.conditions.devices.get(usize::from(device));
    named.map_or_else(|| format!("device {device}"), |device| device.name.clone())
}

fn rules(study: &Study) -> String {
    format!(
        "An I/O belongs to the capture step ({}) in which it was issued. It is sequential when it \
         begins where one of the last {} I/Os or sequential runs of the same operation on the same \
         device ended. \
         Queue depth is the number of I/Os outstanding when an I/O was issued, itself included. \
         Response time is from issue to completion. Shares are of exact counts. A server is \
         throttled by its users and applications: a lab test of the same workload can be faster.",
        Nanos(study.step_ns),
        study.options.pass.window
    )
}

fn caveats(study: &Study) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut say = |kind, id: &str, text: String, remedy: &str| {
        caveats.push(Caveat::new(kind, id, text, remedy));
    };
    let conditions = &study.conditions;
    if conditions.lost > 0 {
        let text =
            format!("The capture lost {} events; every count here is too low.", conditions.lost);
        say(CaveatKind::Deviation, "events-lost", text, "Capture again with a larger buffer.");
    }
    if let Some(recovery) = &study.recovery {
        let text = format!(
            "The capture was killed. Its file was read up to its last complete row group; {} bytes \
             after it are lost.",
            recovery.bytes_ignored
        );
        say(CaveatKind::Deviation, "capture-killed", text, "End a capture with Ctrl-C.");
    }
    let order = study.account.order;
    if order.late > 0 {
        let text = format!(
            "{} I/Os could not be put in issue order; sequentiality and busy time are off by up to \
             as many.",
            order.late
        );
        say(CaveatKind::Deviation, "order-overflow", text, "Let more events wait.");
    }
    if study.account.depths_counted > 0 {
        let text = format!(
            "The source tells no queue depth for {} I/Os; it was counted from issue and response \
             times.",
            study.account.depths_counted
        );
        say(CaveatKind::Remark, "depth-counted", text, "");
    }
    if study.streams.unlisted().ios > 0 {
        let text = format!(
            "{} I/Os belong to streams beyond the first {}; they count in totals only.",
            study.streams.unlisted().ios,
            crate::streams::STREAMS_MAX
        );
        say(CaveatKind::Deviation, "streams-unlisted", text, "Filter by operation or process.");
    }
    if conditions.skipped > 0 {
        let text = format!(
            "The kernel did not let the capture look {} times: as many I/Os at most are missing.",
            conditions.skipped
        );
        say(CaveatKind::Deviation, "skipped", text, "");
    }
    for (what, count) in &conditions.unseen {
        say(CaveatKind::Remark, "unseen", format!("Not seen by the capture: {what}: {count}."), "");
    }
    for remark in &conditions.remarks {
        say(CaveatKind::Remark, "capture-remark", remark.clone(), "");
    }
    let text = "RWSW PTS 1.0.7 gives no formula for sequentiality that could be checked; the rule used \
                is stated.";
    say(CaveatKind::Unverified, "sequentiality", text.into(), "");
    caveats
}

/// The event marks inside the pictures.
fn markers(study: &Study, origin_ns: u64) -> Vec<Marker> {
    let inside = |at: &u64| *at >= origin_ns && *at <= study.span_ns.1;
    let marks = study.conditions.marks.iter().filter(|mark| inside(&mark.at_ns));
    marks
        .map(|mark| Marker { x: (mark.at_ns - origin_ns) as f64 / 1e9, label: mark.name.clone() })
        .collect()
}
