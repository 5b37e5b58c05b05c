//! Reports of runs of TKperf itself. They have the same names of tables, rows, columns and plots
//! as our runs of the same tests, so that both can be compared, and state for every number how far
//! it is comparable.

mod comparability;
mod exhibits;
mod results;
#[cfg(test)]
mod tests;

use crate::exhibits::disclosure::{self, ending_text, form_demand, profile_row};
use crate::exhibits::pages::page;
use crate::pts::method::TWENTY_TEN;
use results::TkperfTestResult;
use steadfast_domain::findings::{
    Exhibit, Facts, FormBlock, FormHeader, FormSubject, Origin, Page, Setting,
};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::{
    Caveat, Demand, Findings, ForeignKind, ForeignRun, ForeignTest, Nanos, caveats as ids,
};

const METHOD: &str = "TKperf's own run, read from its XML log";

/// Returns the findings of a log of TKperf; `software` is the name of the program that read it.
pub fn findings(run: &ForeignRun, software: &str) -> Findings {
    // The order of TKperf's report, which is not that of its tests.
    let mut tests: Vec<&ForeignTest> = run.tests.iter().collect();
    tests.sort_by_key(|test| match test.kind {
        ForeignKind::Iops | ForeignKind::ZoneIops => 0,
        ForeignKind::Throughput | ForeignKind::ZoneThroughput => 1,
        ForeignKind::Latency => 2,
        ForeignKind::WriteSaturation => 3,
    });
    let parts: Vec<Findings> = tests
        .into_iter()
        .map(|test| Findings {
            digest: run.digest.clone(),
            software: software.to_owned(),
            ..part(run, test)
        })
        .collect();
    let titles: Vec<&str> = parts.iter().map(|part| part.title.as_str()).collect();
    let mut caveats = vec![comparability::units_caveat()];
    caveats.extend(run.remarks.iter().map(remark));
    Findings {
        method: METHOD.into(),
        digest: run.digest.clone(),
        software: software.to_owned(),
        ending: format!("Read from a log of TKperf: {}.", titles.join(", ")),
        caveats,
        chapters: vec![comparability::page(run), setup_information(run), general_information()],
        parts,
        ..Findings::new("TKperf", header(run, "TKperf Test Report", Vec::new()))
    }
}

fn remark(text: &String) -> Caveat {
    Caveat::remark(ids::FOREIGN_LOG, format!("{text}."), "")
}

fn part(run: &ForeignRun, test: &ForeignTest) -> Findings {
    let title = match test.kind {
        ForeignKind::Iops => "IOPS",
        ForeignKind::Throughput => "Throughput",
        ForeignKind::Latency => "Latency",
        ForeignKind::WriteSaturation => "WSAT RND 4K W",
        ForeignKind::ZoneIops => "HDD IOPS",
        ForeignKind::ZoneThroughput => "HDD Throughput",
    };
    let studied = TkperfTestResult::new(test);
    let mut caveats = comparability::caveats(test, &studied);
    caveats.extend(studied.not_steady());
    let findings = Findings {
        method: METHOD.into(),
        headline: headline(test),
        ending: studied.ending(),
        caveats,
        summary: exhibits::summary(&studied),
        long_tables: exhibits::long_tables(&studied),
        chapters: exhibits::chapters(&studied),
        ..Findings::new(title, header(run, title, vec![parameters(test)]))
    }
    .with_front_page(exhibits::key_figures(&studied), [] as [&str; 0]);
    findings.with_verdict(studied.verdict.clone())
}

/// Returns the headline, such as `TKperf  T2/Q16`.
fn headline(test: &ForeignTest) -> String {
    match (test.jobs, test.depth) {
        (Some(jobs), Some(depth)) => format!("TKperf  T{jobs}/Q{depth}"),
        _ => "TKperf".to_owned(),
    }
}

/// Returns the settings of a test under the names that our runs use, including those that are fixed
/// in TKperf, so that a comparison does not report them as unknown.
fn parameters(test: &ForeignTest) -> FormBlock {
    let demand =
        test.jobs.zip(test.depth).map(|(jobs, depth)| form_demand(Demand::new(jobs, depth)));
    let time = test.step_seconds.map(|s| Nanos::from_secs(s).to_string());
    let known = [
        Setting::new("demand", "TOIO - TC/QD", demand.clone(), Origin::Found),
        Setting::new("step-time", "Step", time, Origin::Found),
        profile_row("active-range", "AR", "100%"),
        profile_row("active-range-segments", "AR Segments", "1 (contiguous)"),
        profile_row("alignment", "Alignment of offsets", "the block size (BS)"),
        profile_row("data-pattern", "Data Pattern", "random buffers of fio"),
        profile_row("verify", "Verification of data", "off"),
        Setting::identity("I/O Engine", &test.engine),
    ];
    let rows = known.into_iter().chain(fixed_settings(test)).chain(preconditioning(test, demand));
    FormBlock::new("Test Parameters", rows)
}

/// Returns the settings that are fixed in each test of TKperf, by the ids of our settings.
fn fixed_settings(test: &ForeignTest) -> Vec<Setting> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut add = |pairs: &[(&'static str, &str)]| {
        rows.extend(pairs.iter().map(|(id, value)| (*id, (*value).to_owned())));
    };
    match test.kind {
        ForeignKind::Iops => add(&[
            ("procedure", "iops"),
            ("parameter-alignment", "auto"),
            ("stimulus-1", "IOPS Loop"),
            ("wdpc", "IOPS Loop (WDPC)"),
            ("mixes", "Outer Loop"),
            ("block-sizes", "Inner Loop"),
        ]),
        ForeignKind::Latency => add(&[
            ("procedure", "latency"),
            ("parameter-alignment", "auto"),
            ("stimulus-1", "LAT Loop"),
            ("wdpc", "LAT Loop (WDPC)"),
            ("mixes", "Outer Loop"),
            ("block-sizes", "Inner Loop"),
            ("parameter-histogram-time", UNUSED),
        ]),
        ForeignKind::Throughput => {
            let sizes = sequential_sizes(test);
            add(&[
                ("procedure", "throughput"),
                ("stimulus-1", &sizes),
                ("wdpc", &format!("{sizes} (WDPC)")),
                ("mixes", "100/0, 0/100"),
                ("block-sizes", "Outer Loop"),
                ("parameter-precondition", "no"),
            ]);
        }
        ForeignKind::WriteSaturation => add(&[
            ("procedure", "wsat"),
            ("stimulus-1", "RND 4K W"),
            ("wdpc", "RND 4K W (WDPC)"),
            ("mixes", "0/100"),
            ("parameter-alignment", "auto"),
            ("parameter-workload", "RND 4K W"),
            ("parameter-precondition", "no"),
            ("parameter-mix", UNUSED),
            ("parameter-cursor", UNUSED),
            ("parameter-between-time", UNUSED),
            ("parameter-measured-minute", UNUSED),
            ("parameter-least-fills", UNUSED),
        ]),
        ForeignKind::ZoneIops => add(&[("procedure", "hdd-iops"), ("zone-count", "128")]),
        ForeignKind::ZoneThroughput => {
            add(&[("procedure", "hdd-throughput"), ("zone-count", "128")]);
        }
    }
    if results::tracked(test.kind).is_some() {
        add(&[
            ("rounds-max", "25"),
            ("end-of-rounds", &ending_text(SteadyStateMethod::Rounds)),
            ("criteria", &disclosure::criteria_text(&TWENTY_TEN)),
        ]);
    }
    rows.iter().map(|(id, value)| profile_row(id, id, value)).collect()
}

/// Value of a parameter in our reports that a run does not use.
const UNUSED: &str = "not used in this run";

/// Returns the block sizes of a throughput test, such as `SEQ 1024K, SEQ 64K`.
fn sequential_sizes(test: &ForeignTest) -> String {
    let reads = test.values.iter().filter(|value| value.round == 1);
    let reads = reads.filter(|value| value.pattern.read_percent == 100);
    let names: Vec<String> =
        reads.map(|value| format!("SEQ {}", value.pattern.size.transfer_size())).collect();
    names.join(", ")
}

/// Returns the settings of the preconditioning that every job writes before the tests of IOPS and
/// latency; empty for other tests.
fn preconditioning(test: &ForeignTest, demand: Option<String>) -> Vec<Setting> {
    if !matches!(test.kind, ForeignKind::Iops | ForeignKind::Latency) {
        return Vec::new();
    }
    let amount = test.jobs.map(|jobs| format!("{} × User Capacity", 2 * u64::from(jobs)));
    vec![
        profile_row("wipc", "Pre Condition 1", "SEQ 128K W (WIPC)"),
        Setting::new("wipc-demand", "TOIO - TC/QD", demand, Origin::Found),
        Setting::new("wipc-amount", "Duration", amount, Origin::Found),
    ]
}

fn header(run: &ForeignRun, test: &str, blocks: Vec<FormBlock>) -> FormHeader {
    let version = run.version.as_ref().map_or("TKperf".to_owned(), |v| format!("TKperf {v}"));
    let platform = FormBlock::new(
        "Test Platform",
        [
            Setting::identity("Operating System", line(&run.distribution)),
            Setting::identity("Test SW", Some(version.clone())),
        ],
    );
    let device = FormBlock::new(
        "Device Under Test",
        [
            Setting::identity("Model No.", Some(model(run))),
            Setting::identity("S/N", labeled(run, "Serial Number")),
            Setting::identity("Firmware ver", labeled(run, "Firmware Revision")),
        ],
    );
    let mut all = vec![
        platform.with_subject(FormSubject::Platform),
        device.with_subject(FormSubject::Device),
    ];
    all.extend(blocks);
    FormHeader {
        issuer: "TKperf".into(),
        specification: "TKperf's own method".into(),
        disclaimer: Some("MEASURED BY TKPERF: see what its numbers are worth".into()),
        test: test.to_owned(),
        subtitle: format!("Run {}", run.name),
        revision: version,
        vendor: None,
        model: Some(model(run)),
        sponsor: None,
        blocks: all,
    }
}

/// Returns a value of hdparm's listing, which TKperf copies line by line; `None` if it is missing
/// or empty.
fn labeled(run: &ForeignRun, label: &str) -> Option<String> {
    let lines = run.device.as_deref().unwrap_or_default().lines();
    let found =
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == label);
    found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Returns the model, or the name of the run if the log has no model.
fn model(run: &ForeignRun) -> String {
    labeled(run, "Model Number").unwrap_or_else(|| run.name.clone())
}

/// Returns a text as one line, without the label that `lsb_release` writes before it.
fn line(text: &Option<String>) -> Option<String> {
    let text = text.as_deref()?;
    let text = text.strip_prefix("Description:").unwrap_or(text);
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the first section of TKperf's report.
fn setup_information(run: &ForeignRun) -> Page {
    let mut exhibits = Vec::new();
    let texts = [
        ("Tested device, as TKperf wrote it:", &run.device),
        ("Feature matrix:", &run.features),
        ("Used command line:", &run.command),
    ];
    for (title, text) in texts {
        exhibits.push(Exhibit::Text(title.to_owned()));
        let text = text.clone().unwrap_or_else(|| "not in the log".into());
        exhibits.push(Exhibit::Listing(text));
    }
    exhibits.push(Exhibit::Facts(Facts::new("Performance System").rows([
        Setting::identity("Name of the run", Some(run.name.clone())),
        Setting::identity("TKperf version", &run.version),
        Setting::identity("Fio version", run.tests.iter().find_map(|test| test.engine.clone())),
        Setting::identity("Date of test run", &run.date),
        Setting::identity("Number of jobs (-nj)", run_option(run, |test| test.jobs)),
        Setting::identity("Number of outstanding IOs (-iod)", run_option(run, |test| test.depth)),
        Setting::identity("Seconds of a step (-rt)", run_option(run, |test| test.step_seconds)),
    ])));
    exhibits.push(Exhibit::Facts(Facts::new("Operating System").rows([
        Setting::identity("Kernel", &run.kernel),
        Setting::identity("Description", line(&run.distribution)),
    ])));
    page("Setup Information", exhibits)
}

/// Returns a number of the command line, taken from the tests. The latency test is the last choice,
/// because it has its own.
fn run_option<N: ToString>(
    run: &ForeignRun,
    value: impl Fn(&ForeignTest) -> Option<N>,
) -> Option<String> {
    let others = || run.tests.iter().filter(|test| test.kind != ForeignKind::Latency);
    let found = others().chain(&run.tests).find_map(value);
    found.map(|number| number.to_string())
}

/// Returns the section on TKperf's terms and its steady-state rule.
fn general_information() -> Page {
    let word = |word: &str, means: &str| Setting::method(word, word, means, Origin::Default);
    let words = Facts::new("Terms").rows([
        word("Workloads", "percent of the I/Os that are reads / writes; 95/5 is 95 % reads"),
        word("Block size", "transfer size of fio's I/Os in KiB (1,024 bytes)"),
        word("Measurement window", "the rounds in which the dependent variable became stable"),
        word("Dependent variable", "the value of each round that is checked for steady state"),
    ]);
    let rule = "Steady state is reached when, in 5 consecutive rounds, the largest and the smallest \
                value differ by no more than 20 % of the average, and the line of best fit rises or \
                falls by no more than 10 % of the average. TKperf calls this window 4, the number of \
                its intervals. At most 25 rounds are run.";
    page("General Information", vec![Exhibit::Facts(words), Exhibit::Text(rule.to_owned())])
}
