//! The header of a capture's report.

use crate::device_layer::device_names;
use crate::questions::study::Study;
use crate::questions::totals::StudyOptions;
use steadfast_domain::findings::{FormBlock, FormHeader, FormSubject, Origin, Setting};
use steadfast_domain::text::grouped;
use steadfast_domain::{CaptureConditions, Nanos};

pub(super) const DEVICES_NAMED: usize = 8;

pub(super) fn header(study: &Study) -> FormHeader {
    let conditions = &study.totals.conditions;
    FormHeader {
        issuer: "Steadfast".into(),
        specification: "Capture and analysis of a workload".into(),
        disclaimer: None,
        test: "Target Server Self-Test (pseudo-test)".into(),
        subtitle: "In situ performance during the I/O capture".into(),
        revision: "after RWSW PTS 1.0.7".into(),
        vendor: None,
        model: conditions.devices.first().and_then(|device| device.model.clone()),
        sponsor: None,
        blocks: vec![
            FormBlock::new("Target Server", server_rows(conditions))
                .with_subject(FormSubject::Platform),
            FormBlock::new("Storage", storage_rows(conditions)).with_subject(FormSubject::Device),
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
    let named = device_names(conditions).zip(&conditions.devices);
    let devices = named.take(DEVICES_NAMED).map(|(name, device)| {
        let facts =
            [device.model.clone(), device.serial.clone(), device.capacity.map(|c| c.to_string())];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        Setting::identity(&name, facts.join(", "))
    });
    let further = conditions.devices.len().saturating_sub(DEVICES_NAMED);
    let further = (further > 0)
        .then(|| Setting::identity("Further devices", further.to_string()).with_id("and"));
    devices.chain(further).collect()
}

fn capture_rows(conditions: &CaptureConditions) -> Vec<Setting> {
    let layers: Vec<String> = conditions.layers.iter().map(ToString::to_string).collect();
    let mut rows = vec![
        found("capture-tool", "Capture Tool", Some(conditions.software.clone())),
        found("source", "Source", Some(conditions.source.clone())),
        found("layer", "Layer", Some(layers.join(", "))),
        Setting::outcome("Lost Events", conditions.lost.to_string()),
    ];
    let process = conditions.process.map(|pid| pid.to_string());
    rows.extend(process.map(|pid| found("process", "Only Process", Some(pid))));
    let kept = conditions.step_ns.map(|ns| format!("I/O streams in steps of {}", Nanos(ns)));
    rows.extend(kept.map(|kept| found("kept", "Kept", Some(kept))));
    rows.extend(names(conditions));
    rows
}

/// Returns a setting that the trace records.
fn found(id: &str, label: &str, value: Option<String>) -> Setting {
    Setting::new(id, label, value, Origin::Found)
}

/// Returns the name and the comment that the user gave the captured workload.
pub(super) fn names(conditions: &CaptureConditions) -> impl Iterator<Item = Setting> {
    let workload = given_name("workload", "Workload", conditions.workload.as_ref());
    workload.into_iter().chain(given_name("comment", "Comment", conditions.comment.as_ref()))
}

fn given_name(id: &str, label: &str, text: Option<&String>) -> Option<Setting> {
    let text = text.filter(|text| !text.is_empty())?;
    Some(found(id, label, Some(text.clone())))
}

/// Returns the settings of the study. A value that equals the default of the program counts as
/// default.
fn analysis_rows(study: &Study) -> Vec<Setting> {
    let totals = &study.totals;
    let (options, presets) = (&totals.options, StudyOptions::default());
    let is_default_threshold = options.threshold == presets.threshold && options.by == presets.by;
    let is_default_window = options.pass.window == presets.pass.window;
    let threshold = format!("{} by {}", options.threshold, options.by);
    let step = Nanos(totals.step_ns).to_string();
    let window = format!("within {} I/Os", options.pass.window);
    let mut rows = vec![
        Setting::new("capture-step", "Capture Step", step, origin(options.step_ns.is_none())),
        Setting::new("threshold", "Threshold", threshold, origin(is_default_threshold)),
        Setting::new("sequential", "Sequential", window, origin(is_default_window)),
        Setting::outcome("I/Os", grouped(totals.streams.total().count())),
    ];
    let filter = totals.describe_filter();
    rows.extend(filter.map(|text| Setting::new("filter", "Only", text, Origin::Chosen)));
    rows
}

fn origin(is_default: bool) -> Origin {
    if is_default { Origin::Default } else { Origin::Chosen }
}
