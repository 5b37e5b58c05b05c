//! Settings, device, host and conditions in full, for the chapter of settings.

use super::SettingRows;
use super::form::{ambient_row, start_rows};
use crate::common::applied::{ALIGNMENT, BLOCK_SIZE};
use crate::common::choices::RunChoices;
use crate::common::method::CoveredRange;
use crate::common::preconditioning::{self, WIPC_DEMAND};
use crate::origin::{chosen_or_default, chosen_or_profile};
use crate::parameters;
use crate::report_notation::{PART_SPECIFIC, joined, number};
use std::collections::BTreeSet;
use steadfast_domain::findings::{Facts, Origin, Setting};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::record::{RECORD_VERSION, RunOpening};
use steadfast_domain::settings::{SettingName, SteadyStateMethod};
use steadfast_domain::{
    Class, Conditions, Criteria, Demand, Device, DiskArray, JournalEntry, Nanos, Profile, Purge,
    Record,
};

pub fn settings_facts(choices: &RunChoices<'_>) -> Facts {
    let s = choices.settings;
    let facts = Facts::new("Settings")
        .with(Setting::identity("Command line", &s.command).by(Origin::Chosen))
        .with(Setting::new("procedure", "Procedure", &s.procedure, Origin::Chosen))
        .rows(method_rows(choices))
        .rows(load_rows(choices))
        .rows(s.rate.map(|rate| chosen_row("rate", "Offered rate", rate.to_string())))
        .rows(s.slo.map(|slo| chosen_row("slo", "Service level", slo.to_string())))
        .rows(rounds_rows(choices))
        .with(Setting::outcome("WIPC", wipc_text(choices)))
        .with(alignment_row(choices));
    let verified = if s.verify { "on" } else { "off" };
    let seed = chosen_or_default(s, SettingName::Seed, true);
    let facts = facts
        .with(choices.pattern_row("Data pattern", s.data_pattern.to_string()))
        .with(Setting::identity("Run seed", s.seed.to_string()).by(seed))
        .with(Setting::new("verify", "Verification of data", verified, verify_origin(s)))
        .with(Setting::identity("Record version", RECORD_VERSION.to_string()).by(Origin::Default));
    let gap = s.sim_gap.map(|gap| format!("before step {}, {}", gap.before, gap.lasts));
    let gap = gap.map(|gap| Setting::new("sim-gap", "Simulated gap", gap, Origin::Chosen));
    let user_fact =
        |(key, value): (&String, &String)| Setting::identity(key, value).by(Origin::Chosen);
    facts.rows(gap).rows(s.meta.iter().map(user_fact))
}

fn chosen_row(id: &str, label: &str, value: String) -> Setting {
    Setting::new(id, label, value, Origin::Chosen)
}

/// Returns the origin of the comparison: the user, or a procedure made for it.
fn verify_origin(settings: &steadfast_domain::Settings) -> Origin {
    match chosen_or_default(settings, SettingName::Verify, true) {
        Origin::Default if settings.verify => Origin::Profile,
        origin => origin,
    }
}

fn method_rows(choices: &RunChoices<'_>) -> SettingRows {
    let s = choices.settings;
    let document = format!(" ({})", choices.method.disclaimer.unwrap_or(choices.method.document));
    if choices.own_loads.is_some() {
        return Vec::new();
    }
    let profile = chosen_or_default(s, SettingName::Profile, s.profile == Profile::default());
    let class = chosen_or_default(s, SettingName::Class, s.class == Class::default());
    vec![
        Setting::method("profile", "Profile", s.profile.to_string(), profile).remark(document),
        Setting::method("class", "Class", s.class.to_string(), class),
    ]
}

fn with_origin(choices: &RunChoices<'_>, setting: Setting) -> Setting {
    let origin = match (&choices.own_loads, setting.origin) {
        (Some(own), _) => own.by,
        (None, Origin::Chosen) => "chosen",
        (None, Origin::Profile | Origin::Default | Origin::Found) => "by profile and class",
    };
    setting.remark(format!(" ({origin})"))
}

fn load_rows(choices: &RunChoices<'_>) -> SettingRows {
    let demand = match choices.demands.as_slice() {
        [] => choices.demand_row("Demand", PART_SPECIFIC.to_owned()),
        demands => with_origin(choices, choices.demand_row("Demand", demands_text(demands))),
    };
    let range = match (&choices.own_loads, choices.covered.is_empty()) {
        (Some(loads), _) => {
            with_origin(choices, choices.range_row("Active range", loads.range.clone()))
        }
        (None, true) => choices.range_row("Active range", PART_SPECIFIC.to_owned()),
        (None, false) => with_origin(
            choices,
            choices.range_row("Active range", choices.of_covered("; ", covered_text)),
        ),
    };
    let step = choices.step_row("Step time");
    let is_common = choices.step_text.is_none() || choices.own_loads.is_some();
    vec![demand, if is_common { with_origin(choices, step) } else { step }, range]
}

fn rounds_rows(choices: &RunChoices<'_>) -> SettingRows {
    let s = choices.settings;
    let most = choices.rounds_max.map(|most| {
        let origin = chosen_or_profile(s.rounds_max.is_some());
        with_origin(choices, Setting::new("rounds-max", "Maximum rounds", most.to_string(), origin))
    });
    let is_default = s.steady_state == SteadyStateMethod::default();
    let end = chosen_or_default(s, SettingName::SteadyState, is_default);
    let criteria = if choices.judged {
        criteria_text(&choices.method.criteria)
    } else {
        "not judged".to_owned()
    };
    let rest = [
        Setting::new("end-of-rounds", "End of rounds", &choices.ending, end),
        Setting::new("criteria", "Steady state", criteria, Origin::Profile),
    ];
    most.into_iter().chain(rest).collect()
}

fn alignment_row(choices: &RunChoices<'_>) -> Setting {
    let text = choices.alignment.as_deref().map(alignment_text);
    let (text, origin) = match &choices.own_loads {
        Some(_) => (text.or(Some("each step's own".to_owned())), Origin::Chosen),
        None => (text, ALIGNMENT.origin(choices.settings)),
    };
    Setting::new("alignment", "Alignment of offsets", text, origin)
}

fn alignment_text(alignment: &str) -> String {
    match alignment {
        BLOCK_SIZE => "the block size (BS)".to_owned(),
        other => other.to_owned(),
    }
}

/// Formats an accessed part of the capacity, without its origin.
fn covered_text(covered: &CoveredRange) -> String {
    let (percent, range) = (covered.percent, covered.range);
    let of_these = range.segments.map(|segments| {
        format!(
            ", with {} of it in {} scattered segments of {} (layout seed {})",
            segments.amount().binary(),
            number(segments.count.into(), 0),
            segments.size.binary(),
            segments.seed
        )
    });
    format!(
        "{percent} % of the capacity: {} bytes, from byte {} to byte {}{}",
        number(range.length.0 as f64, 0),
        number(range.start.0 as f64, 0),
        number(range.end().0.saturating_sub(1) as f64, 0),
        of_these.unwrap_or_default()
    )
}

/// Formats demands: `T4Q32`, or the first and the last of several.
pub(super) fn demands_text(demands: &[Demand]) -> String {
    match demands {
        [first, .., last] if demands.len() > 3 => format!("{first} ... {last}"),
        few => joined(few),
    }
}

pub fn parameters_facts(choices: &RunChoices<'_>) -> Facts {
    parameters::facts(choices.parameters, choices.settings)
}

/// Formats the rule of steady state in one line.
pub fn criteria_text(criteria: &Criteria) -> String {
    format!(
        "{} rounds; data excursion ≤ {:.0} %, slope excursion ≤ {:.0} % of the average",
        criteria.window,
        criteria.data_excursion * 100.0,
        criteria.slope_excursion * 100.0
    )
}

fn wipc_text(choices: &RunChoices<'_>) -> String {
    let each = |pattern: &AccessPattern| {
        let bytes = preconditioning::amount(choices.geometry, pattern.size).0;
        format!("{pattern}, {WIPC_DEMAND}, {} bytes", number(bytes as f64, 0))
    };
    let all: Vec<String> = choices.preconditioning.iter().map(each).collect();
    choices.preconditioning_or((!all.is_empty()).then(|| all.join("; ")))
}

pub fn capacity_text(device: &Device) -> String {
    format!("{} ({} bytes)", device.capacity, number(device.capacity.0 as f64, 0))
}

pub fn sectors_text(device: &Device) -> String {
    format!("{} B logical, {} B physical", device.logical_sector, device.physical_sector)
}

/// Returns the facts of the device: those that TKperf lists and more.
pub fn device_facts(device: &Device) -> Facts {
    let cache = device.write_cache.map(|c| c.to_string());
    Facts::new("Tested device")
        .rows([
            Setting::identity("Device", &device.path),
            Setting::identity("Model number", &device.model),
            Setting::identity("Serial number", &device.serial),
            Setting::identity("Firmware revision", &device.firmware),
            Setting::identity("World-wide identifier", &device.wwid),
            Setting::identity("User capacity", capacity_text(device)),
            Setting::identity("Sectors", sectors_text(device)),
            Setting::identity("Interface", device.transport.to_string()),
            Setting::identity("Link", &device.link),
            Setting::identity(
                "Rotational",
                device.rotational.map(|r| if r { "yes" } else { "no" }),
            ),
            Setting::identity("Discard", if device.discard { "yes" } else { "no" }),
            Setting::identity("Write cache as found", cache),
        ])
        .rows(device.array.as_ref().map(array_rows).unwrap_or_default())
}

/// Returns level, members and chunk size of an array; a controller hides most of them.
pub fn array_rows(array: &DiskArray) -> SettingRows {
    let members = (!array.members.is_empty()).then(|| array.members.join("; "));
    let missing = array.wanted.map(|wanted| (wanted as usize).saturating_sub(array.members.len()));
    let missing = missing.filter(|missing| *missing > 0 && members.is_some());
    vec![
        Setting::identity("Array", &array.level),
        Setting::identity("Members", members),
        Setting::identity("Chunk size", array.chunk.map(|chunk| chunk.binary())),
        Setting::identity("Stripe", array.stripe.map(|stripe| stripe.binary())),
    ]
    .into_iter()
    .chain(missing.map(|missing| Setting::outcome("Members missing", missing.to_string())))
    .collect()
}

pub fn host_facts(record: &Record) -> Facts {
    let facts = Facts::new("Performance system");
    let Some(RunOpening { host, engine, software, .. }) = record.opening() else { return facts };
    // Steps that another interface carried add it to the engine's description.
    let mut engines = vec![engine];
    for interface in record.steps().filter_map(|(_, o)| o.measurement.interface.as_deref()) {
        if !engines.contains(&interface) {
            engines.push(interface);
        }
    }
    facts.rows([
        Setting::identity("Software", software),
        Setting::identity("Engine", engines.join("; ")),
        Setting::identity("Host", &host.name),
        Setting::identity("System", &host.product),
        Setting::identity("Mainboard", &host.motherboard),
        Setting::identity("Processor", &host.cpu),
        Setting::identity("Processors online", host.cpus.map(|n| n.to_string())),
        Setting::identity("Memory", host.memory.map(|m| m.to_string())),
        Setting::identity("Frequency governor", &host.governor),
        Setting::identity("Kernel version", &host.kernel),
        Setting::identity("Distribution", &host.operating_system),
        Setting::identity("Controller", &host.hba),
    ])
}

/// Returns the requested conditions of host and device, and those read back.
pub fn conditions_facts(record: &Record) -> Facts {
    let (wanted, got) = match record.conditions() {
        Some((wanted, got)) => (wanted.clone(), got.clone()),
        None => (Conditions::default(), Conditions::default()),
    };
    let requested = |id: &str, label: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "unchanged".into());
        Setting::method(id, label, value, Origin::Profile)
    };
    let merges = |m: bool| if m { "allowed" } else { "off (nomerges=2)" }.to_owned();
    let cache = |conditions: &Conditions| conditions.write_cache.map(|c| c.to_string());
    let longest = got.request_kib_max.map(|kib| format!("{kib} KiB"));
    let facts = Facts::new("Conditions and purge").rows([
        requested("write-cache-asked", "Write cache, requested", cache(&wanted)),
        Setting::outcome("Write cache, read back", cache(&got)),
        requested("merging-asked", "Request merging, requested", wanted.merges.map(merges)),
        Setting::outcome("Request merging, read back", got.merges.map(merges)),
        Setting::identity("I/O scheduler", got.scheduler.clone()),
        Setting::identity("Longest request", longest),
    ]);
    // Only what a run asks for is a condition of it.
    let mut power: Vec<Setting> = Vec::new();
    if let Some(policy) = &wanted.link_power {
        power.push(requested("link-power-asked", "Link power, requested", Some(policy.clone())));
        power.push(Setting::outcome("Link power, read back", got.link_power));
    }
    if let Some(on) = wanted.power_state_changes {
        let text = |on: bool| if on { "on" } else { "off" }.to_owned();
        power.push(requested("apst-asked", "APST, requested", Some(text(on))));
        power.push(Setting::outcome("APST, read back", got.power_state_changes.map(text)));
    }
    let facts = facts.rows(power);
    let read_again = record.entries.iter().filter_map(|entry| match entry {
        JournalEntry::Resettled { got, when } => {
            let when = when.map_or("on resume".to_owned(), |when| when.to_string());
            Some((format!("Write cache, read back {when}"), cache(got)))
        }
        _ => None,
    });
    // Every part of a suite reads the conditions again; list each moment and value once.
    let mut seen = BTreeSet::new();
    let each = read_again.filter(|read| seen.insert(read.clone()));
    let rows: Vec<Setting> = each.map(|(label, value)| Setting::outcome(&label, value)).collect();
    facts
        .rows(rows)
        .rows(record.purge().into_iter().flat_map(purge_rows))
        .rows(ambient_row(record, &record.settings))
        .rows(start_rows(record, &record.settings))
}

fn purge_rows(purge: &Purge) -> SettingRows {
    let read = purge.read_back.map(|read| format!(": {read}")).unwrap_or_default();
    let blank = purge.blank.map(|b| format!("{}{read}", if b { "yes" } else { "NO" }));
    let mut rows = vec![
        Setting::outcome("Purge", purge.method.to_string()),
        Setting::outcome("Purge duration", purge.took.taken()).with_id("Purge took"),
        Setting::outcome("Blank on read-back", blank),
    ];
    rows.extend(purge.failed.as_ref().map(|why| Setting::outcome("Purge FAILED", why)));
    if let Some(record) = &purge.command {
        rows.push(Setting::outcome("Purge command", &record.command));
        rows.push(Setting::outcome("Version of the purge command", record.version.clone()));
        let failure = record.failure.as_ref();
        rows.extend(failure.map(|why| Setting::outcome("Purge command FAILED", why)));
        if record.awaited > Nanos::ZERO {
            let awaited = format!("{} after the command", record.awaited);
            rows.push(Setting::outcome("Processes of the purge command ended", awaited));
        }
        rows.push(Setting::outcome(
            "Output of the purge command",
            record.output.replace('\n', "; "),
        ));
    }
    rows.push(Setting::outcome("Purge note", &purge.remark).with_id("Purge remark"));
    rows
}
