//! Head of the SNIA report form, and the settings string.

use super::{SettingRows, form_demand, form_demands, profile_row};
use crate::common::choices::RunChoices;
use crate::common::method::CoveredRange;
use crate::common::one_pass;
use crate::common::preconditioning::{self, PRECONDITION, WIPC_DEMAND};
use crate::origin;
use crate::pts::scattered::parameters::SEGMENTS;
use crate::report_notation::{joined, number, or_part_specific};
use crate::user_facts::{self, user_fact};
use steadfast_domain::findings::{FormBlock, FormHeader, FormSubject, Origin, Setting};
use steadfast_domain::purge::PurgeChoice;
use steadfast_domain::settings::SettingName;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Demand, Device, Nanos, Purge, Record, Settings, ValueRange, WriteCache};

/// Returns the settings string of the standard's secondary tables, such as `PTS-E  WCD  T4/Q32
/// DP=RND  AR100  Aln=4K`.
pub fn headline(choices: &RunChoices<'_>, record: &Record) -> String {
    let cache = record.conditions_last().and_then(|(got, _)| got.write_cache);
    let cache = match cache {
        Some(WriteCache::Enabled) => "WCE",
        Some(WriteCache::Disabled) => "WCD",
        None => "WC=?",
    };
    let pattern = match choices.settings.data_pattern {
        DataPattern::RandomUnique => "RND".to_owned(),
        ref other => other.to_string(),
    };
    let slashed = |demand: &Demand| format!("T{}/Q{}", demand.threads, demand.depth);
    let demands = match choices.demands.as_slice() {
        [first, .., last] if choices.demands.len() > 3 => {
            format!("{}...{}", slashed(first), slashed(last))
        }
        few => few.iter().map(slashed).collect::<Vec<_>>().join("+"),
    };
    let parts = [
        choices.method.revision.to_owned(),
        cache.to_owned(),
        demands,
        format!("DP={pattern}"),
        headline_range(choices),
        choices.alignment.as_ref().map(|a| format!("Aln={a}")).unwrap_or_default(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// Formats the active range: `AR75`, or with its amount `AR75/8GiB`.
fn headline_range(choices: &RunChoices<'_>) -> String {
    let percents = choices.of_covered("+", |covered| covered.percent.to_string());
    let amounts = choices.of_covered("+", |covered| amount(covered).replace(' ', ""));
    match (choices.covered.is_empty(), choices.is_scattered()) {
        (true, _) => String::new(),
        (_, false) => format!("AR{percents}"),
        (_, true) => format!("AR{percents}/{amounts}"),
    }
}

/// Formats the accessed bytes as the document does: decimal like a capacity, binary if that is a
/// round number.
fn amount(covered: &CoveredRange) -> String {
    match covered.range.segments {
        None => covered.range.length.to_string(),
        Some(segments) => segments.amount().binary(),
    }
}

/// A procedure's part of the form's head.
pub struct ReportForm {
    /// Title of the test: `IOPS Test (REQUIRED)`.
    pub test: String,
    /// Subtitle: `IOPS - Block Size x RW Mix Matrix`.
    pub subtitle: String,
    /// Block of setup parameters; see [`loop_set_up_rows`].
    pub set_up: SettingRows,
    /// Block of test parameters; see [`loop_test_rows`].
    pub test_parameters: SettingRows,
}

impl ReportForm {
    /// Creates a form with the rows that every procedure has.
    pub fn new(test: &str, subtitle: &str, choices: &RunChoices<'_>) -> Self {
        ReportForm {
            test: test.to_owned(),
            subtitle: subtitle.to_owned(),
            set_up: common_set_up_rows(choices),
            test_parameters: common_test_rows(choices),
        }
    }
    pub fn set_up(mut self, rows: impl IntoIterator<Item = Setting>) -> Self {
        self.set_up.extend(rows);
        self
    }
    pub fn test_parameters(mut self, rows: impl IntoIterator<Item = Setting>) -> Self {
        self.test_parameters.extend(rows);
        self
    }
}

pub fn form_header(form: ReportForm, choices: &RunChoices<'_>, record: &Record) -> FormHeader {
    let settings = choices.settings;
    let device = record.opening().map(|opening| opening.device);
    let blocks = vec![
        FormBlock::new("Test Platform", platform_rows(record, choices))
            .with_subject(FormSubject::Platform),
        FormBlock::new("Device Under Test", device_rows(record, choices))
            .with_subject(FormSubject::Device),
        FormBlock::new("Set Up Parameters", form.set_up),
        FormBlock::new("Test Parameters", form.test_parameters),
    ];
    let disclaimer = choices.method.disclaimer;
    // The layout is SNIA's, the report is not issued by SNIA.
    let software = record.opening().map_or("steadfast", |opening| opening.software);
    let issuer = format!("Issued by {software}");
    let specification = match disclaimer {
        None => format!("in the layout of {}", choices.method.specification),
        Some(_) => format!("Profile {}: no report by the PTS", choices.settings.profile),
    };
    // A lesser method does not fulfill the requirement of the PTS, so omit "(REQUIRED)".
    let test = match disclaimer {
        None => form.test,
        Some(_) => form.test.trim_end_matches(" (REQUIRED)").to_owned(),
    };
    FormHeader {
        issuer,
        specification,
        disclaimer: disclaimer.map(str::to_owned),
        test,
        subtitle: form.subtitle,
        revision: choices.method.revision.to_owned(),
        vendor: user_fact(settings, user_facts::VENDOR),
        model: user_fact(settings, user_facts::MODEL)
            .or_else(|| device.and_then(|d| d.model.clone())),
        sponsor: user_fact(settings, user_facts::SPONSOR),
        blocks,
    }
}

/// Returns a value given by the user, or else the one found.
fn known(label: &str, given: Option<String>, found: Option<String>) -> Setting {
    let origin = if given.is_some() { Origin::Chosen } else { Origin::Found };
    Setting::identity(label, given.or(found)).by(origin)
}

fn platform_rows(record: &Record, choices: &RunChoices<'_>) -> SettingRows {
    let meta = |key: &str| user_fact(choices.settings, key);
    let opening = record.opening();
    let host = opening.map(|opening| opening.host.clone()).unwrap_or_default();
    let mut rows = vec![
        known("Ref Test Platform", meta(user_facts::PLATFORM), host.product),
        known("Motherboard", meta(user_facts::MOTHERBOARD), host.motherboard),
        Setting::identity("CPU", host.cpu),
        Setting::identity("Memory", host.memory.map(|m| format!("{:.1} GB", m.as_gb()))),
        Setting::identity("Operating System", host.operating_system),
        Setting::identity("Test SW", opening.map(|opening| opening.software)),
        Setting::identity("I/O Engine", opening.map(|opening| short_engine(opening.engine))),
        test_id(record, choices),
        known("HBA", meta(user_facts::HBA), host.hba),
        Setting::identity("PCIe", opening.and_then(|opening| opening.device.link.clone())),
    ];
    rows.extend(ambient_row(record, choices.settings));
    rows.extend(start_rows(record, choices.settings));
    rows
}

/// Returns the ambient temperature that the user gave, with the range that a sensor showed; `None`
/// if neither is known.
pub(super) fn ambient_row(record: &Record, settings: &Settings) -> Option<Setting> {
    let given = user_fact(settings, user_facts::AMBIENT);
    let readings = record.steps().filter_map(|(_, o)| o.measurement.sensed.ambient_celsius);
    let sensed = ValueRange::from_values(readings)
        .map(|range| format!("{:.1} to {:.1} C by its sensor", range.low, range.high));
    let origin = if given.is_some() { Origin::Chosen } else { Origin::Found };
    let value: Vec<String> = given.into_iter().chain(sensed).collect();
    let row = Setting::outcome("Ambient Temperature", value.join("; ")).by(origin);
    (!value.is_empty()).then_some(row)
}

/// Returns the temperature that the device had to be below, and the waits for it; empty if the user
/// did not ask for one.
pub(super) fn start_rows(record: &Record, settings: &Settings) -> SettingRows {
    let Some(wanted) = settings.start_below else { return Vec::new() };
    let below = format!("{} C", wanted.celsius);
    let waits: Vec<String> = record
        .cool_downs()
        .map(|cooling| {
            let failed = match cooling.failed_readings {
                0 => String::new(),
                failed => format!(" ({failed} readings failed)"),
            };
            match cooling.waited {
                Nanos::ZERO => format!("{:.1} C", cooling.to),
                waited => {
                    format!("{:.1} C after {waited} from {:.1} C{failed}", cooling.to, cooling.from)
                }
            }
        })
        .collect();
    let waits = (!waits.is_empty()).then(|| waits.join("; "));
    vec![
        Setting::new("start-below", "Start Below", below, Origin::Chosen),
        Setting::outcome("Start Temperature", waits),
    ]
}

fn short_engine(engine: &str) -> &str {
    engine.split(['(', ';', ',']).next().unwrap_or(engine).trim()
}

/// Returns the ID of the run: given by the user, or the first twelve digits of the journal's
/// SHA-256. It contains nothing about the platform.
fn test_id(record: &Record, choices: &RunChoices<'_>) -> Setting {
    let given = user_fact(choices.settings, user_facts::TEST_ID);
    let origin = if given.is_some() { Origin::Chosen } else { Origin::Found };
    let digits = || record.digest.get(..12).map(str::to_owned);
    Setting::outcome("Test ID No.", given.or_else(digits)).by(origin)
}

fn device_rows(record: &Record, choices: &RunChoices<'_>) -> SettingRows {
    let meta = |key: &str| user_fact(choices.settings, key);
    let device = record.opening().map(|opening| opening.device);
    let device_text = |f: &dyn Fn(&Device) -> Option<String>| device.and_then(f);
    vec![
        known("Mfgr", meta(user_facts::VENDOR), None),
        known("Model No.", meta(user_facts::MODEL), device_text(&|d| d.model.clone())),
        Setting::identity("S/N", device_text(&|d| d.serial.clone())),
        Setting::identity("Firmware ver", device_text(&|d| d.firmware.clone())),
        Setting::identity("Capacity", device_text(&|d| Some(d.capacity.to_string()))),
        Setting::identity("Interface", device_text(&|d| Some(d.transport.to_string()))),
        known("NAND Type", meta(user_facts::NAND), None),
        known("Form Factor", meta(user_facts::FORM_FACTOR), None),
        purge_row(record, choices),
        write_cache_row(record),
    ]
}

fn purge_row(record: &Record, choices: &RunChoices<'_>) -> Setting {
    let is_default = choices.settings.purge == PurgeChoice::default();
    let origin = origin::chosen_or_default(choices.settings, SettingName::Purge, is_default);
    Setting::new("purge", "Purge Method", record.purge().map(purge_method), origin)
}

fn purge_method(purge: &Purge) -> String {
    match purge.failed {
        Some(_) => format!("{}, FAILED", purge.method),
        None => match &purge.command {
            Some(record) => format!("{}: {}", purge.method, record.command),
            None => purge.method.to_string(),
        },
    }
}

/// Returns the write cache as last read back; its origin is the class if that requires it.
fn write_cache_row(record: &Record) -> Setting {
    let cache = record.conditions_last().and_then(|(got, _)| got.write_cache);
    let is_asked = record.conditions().is_some_and(|(wanted, _)| wanted.write_cache.is_some());
    let origin = if is_asked { Origin::Profile } else { Origin::Found };
    Setting::new("write-cache", "Write Cache", cache.map(|c| c.to_string()), origin)
}

/// Returns data pattern and active range, the first rows of the setup parameters.
fn common_set_up_rows(choices: &RunChoices<'_>) -> SettingRows {
    let segments = or_part_specific(choices.of_covered(", ", form_segments));
    vec![
        choices.pattern_row("Data Pattern", form_pattern(&choices.settings.data_pattern)),
        choices.range_row("AR", or_part_specific(form_percents(choices))),
        Setting::new("active-range-segments", "AR Segments", segments, segments_origin(choices)),
    ]
}

/// Returns data pattern and active range, the first rows of the test parameters. The amount
/// follows from range and capacity.
pub fn common_test_rows(choices: &RunChoices<'_>) -> SettingRows {
    vec![
        choices.pattern_row("Data Pattern", form_pattern(&choices.settings.data_pattern)),
        Setting::outcome("AR & Amount", or_part_specific(form_amounts(choices))),
    ]
}

fn segments_origin(choices: &RunChoices<'_>) -> Origin {
    if choices.is_scattered() { SEGMENTS.origin(choices.settings) } else { Origin::Profile }
}

fn form_percents(choices: &RunChoices<'_>) -> String {
    choices.of_covered(", ", |covered| format!("{}%", covered.percent))
}

fn form_segments(covered: &CoveredRange) -> String {
    match covered.range.segments {
        None => "1 (contiguous)".to_owned(),
        Some(segments) => {
            format!("{} x {}", number(segments.count.into(), 0), segments.size.binary())
        }
    }
}

fn form_amounts(choices: &RunChoices<'_>) -> String {
    let sign = match (choices.covered.is_empty(), choices.is_scattered()) {
        (true, _) => return String::new(),
        (_, false) => " =",
        (_, true) => ":",
    };
    format!("{}{sign} {}", form_percents(choices), choices.of_covered(", ", amount))
}

pub fn note_row(choices: &RunChoices<'_>) -> Setting {
    known("Note", user_fact(choices.settings, user_facts::NOTE), None)
}

/// Returns the amount of workload-independent preconditioning: `2 × User Capacity`.
pub fn preconditioning_amount(choices: &RunChoices<'_>) -> Option<String> {
    let pattern = choices.preconditioning.first()?;
    let amount = preconditioning::amount(choices.geometry, pattern.size);
    let times = amount.0 as f64 / choices.geometry.capacity.0 as f64;
    // Rounding up to whole transfers may give a little more.
    let times = (times * 10.0).round() / 10.0;
    Some(format!("{times} × User Capacity"))
}

/// Returns the rows of workload-independent preconditioning; dashes without it.
pub fn preconditioning_rows(choices: &RunChoices<'_>) -> SettingRows {
    if let Some(pass) = choices.one_pass {
        let row = |id, label, value: String| Setting::new(id, label, value, Origin::Chosen);
        let fills = pass.amount().0 as f64 / choices.geometry.capacity.0 as f64;
        return vec![
            row("wipc", "Pre Condition 1", "RND 4K W, one pass (not the PTS's)".to_owned()),
            row("wipc-demand", "TOIO - TC/QD", form_demand(one_pass::DEMAND)),
            row("wipc-amount", "Duration", format!("{fills:.2} × User Capacity")),
        ];
    }
    let passes = preconditioning_amount(choices);
    let pattern = passes.as_ref().map(|_| format!("{} (WIPC)", joined(&choices.preconditioning)));
    let demand = passes.as_ref().map(|_| form_demand(WIPC_DEMAND));
    // WSAT preconditions only on request.
    let is_given = choices.settings.parameters.contains_key(PRECONDITION.name);
    vec![
        Setting::new("wipc", "Pre Condition 1", pattern, origin::chosen_or_profile(is_given)),
        Setting::new("wipc-demand", "TOIO - TC/QD", demand, Origin::Profile),
        Setting::new("wipc-amount", "Duration", passes, Origin::Profile),
    ]
}

pub fn loop_set_up_rows(stimulus: &str, choices: &RunChoices<'_>, rounds: &str) -> SettingRows {
    let mut rows = common_set_up_rows(choices);
    rows.extend(preconditioning_rows(choices));
    let wdpc = format!("{stimulus} (WDPC)");
    rows.extend([
        Setting::new("wdpc", "Pre Condition 2", wdpc, Origin::Profile),
        choices.demand_row("TOIO - TC/QD", form_demands(&choices.demands)),
        Setting::outcome("SS Rounds", rounds),
        note_row(choices),
    ]);
    rows
}

pub fn loop_test_rows(stimulus: &str, choices: &RunChoices<'_>, rounds: &str) -> SettingRows {
    let mut rows = common_test_rows(choices);
    rows.extend([
        profile_row("stimulus-1", "Test Stimulus 1", stimulus),
        profile_row("mixes", "RW Mix", "Outer Loop"),
        profile_row("block-sizes", "Block Sizes", "Inner Loop"),
        choices.demand_row("TOIO - TC/QD", form_demands(&choices.demands)),
        choices.step_row("Step"),
        Setting::outcome("Steady State", rounds),
        profile_row(SECOND_STIMULUS, "Test Stimulus 2", ""),
        Setting::outcome("Steady State", ""),
    ]);
    rows
}

/// ID of the second stimulus in the form, which some procedures have.
pub const SECOND_STIMULUS: &str = "stimulus-2";

fn form_pattern(pattern: &DataPattern) -> String {
    match pattern {
        DataPattern::RandomUnique => "RND (unique in every sector)".into(),
        DataPattern::RandomOnce => "RND_ONCE".into(),
        other => other.to_string(),
    }
}
