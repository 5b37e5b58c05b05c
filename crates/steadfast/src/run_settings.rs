//! Settings of a run from the command line.

use crate::cli::{EngineName, ProcedureArguments};
use crate::exit::misuse;
use crate::target::{self, TargetRef};
use crate::workloads;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use steadfast_domain::rate::OfferedLoad;
use steadfast_domain::settings::{SettingName, StartBelow};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Device, PurgeChoice, PurgeFailure, PurgeMethod, Settings};
use steadfast_host::{PurgeCommandLine, read_regular_text};

/// Name and version of this program in records and reports.
pub const SOFTWARE: &str = concat!("steadfast ", env!("CARGO_PKG_VERSION"));

/// Returns the settings of a run on this device.
pub fn settings(
    chosen: &ProcedureArguments,
    seed: u64,
    device: &Device,
) -> anyhow::Result<Settings> {
    let mut settings = Settings::new(&chosen.procedure, seed);
    settings.profile = chosen.profile.unwrap_or_default();
    settings.class = chosen.class.unwrap_or_default();
    settings.given = given([
        (SettingName::Profile, chosen.profile.is_some()),
        (SettingName::Class, chosen.class.is_some()),
        (SettingName::SteadyState, chosen.steady_state.is_some()),
        (SettingName::DataPattern, chosen.data_pattern.is_some()),
        (SettingName::Seed, chosen.seed.is_some()),
        (SettingName::Verify, chosen.verify),
    ]);
    settings.threads = chosen.threads;
    settings.depth = chosen.depth;
    let arrivals = chosen.arrivals.unwrap_or_default();
    settings.rate = chosen.rate.map(|rate| OfferedLoad { rate, arrivals });
    settings.slo = chosen.slo;
    settings.step_time = chosen.step_time;
    settings.active_range_percent = chosen.active_range;
    settings.steady_state = chosen.steady_state.unwrap_or_default();
    settings.rounds_max = chosen.max_rounds;
    settings.data_pattern = chosen.data_pattern.clone().unwrap_or_default();
    settings.verify = chosen.verify;
    settings.hold_c_states = chosen.hold_c_states;
    settings.power_command = chosen.power_command.as_deref().map(power_command).transpose()?;
    settings.ambient_sensor =
        chosen.ambient_sensor.as_deref().map(|sensor| sensor.trim().to_owned());
    settings.start_below = chosen.start_below.map(|celsius| StartBelow {
        celsius,
        limit: chosen.start_below_limit.unwrap_or(StartBelow::LIMIT),
    });
    settings.command = crate::cli::command_line();
    settings.parameters = parameters(chosen)?;
    add_spare(&mut settings.parameters, device);
    settings.workload = workloads::captured_workload(chosen, device)?;
    settings.sim_gap = chosen.sim_gap;
    settings.meta = meta(&chosen.meta)?;
    if let Some(celsius) = chosen.ambient {
        set_once(&mut settings.meta, "ambient", &format!("{celsius} C"))?;
    }
    steadfast_procedures::check_chosen(&settings).map_err(misuse)?;
    Ok(settings)
}

/// Returns the names of the settings that the user gave.
pub fn given<const N: usize>(all: [(SettingName, bool); N]) -> BTreeSet<SettingName> {
    all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
}

/// Adds the purge, its command and the reaction to its failure.
pub fn add_purge(
    settings: &mut Settings,
    purge: Option<PurgeChoice>,
    command: Option<&str>,
    failed: Option<PurgeFailure>,
) -> anyhow::Result<()> {
    const VENDOR: PurgeChoice = PurgeChoice::Method(PurgeMethod::VendorCommand);
    let purge = match (purge, command) {
        (Some(VENDOR), None) => {
            return Err(misuse(
                "--purge vendor-command needs the command: --purge-command '/opt/tool erase {device}'",
            ));
        }
        (None | Some(VENDOR), Some(_)) => Some(VENDOR),
        (Some(other), Some(_)) => {
            return Err(misuse(format!(
                "--purge {other} and --purge-command are two purges; give one of them"
            )));
        }
        (purge, None) => purge,
    };
    settings.purge_command = command.map(purge_command).transpose()?;
    settings.purge = purge.unwrap_or_default();
    settings.purge_failed = failed.unwrap_or_default();
    settings.given.extend(given([
        (SettingName::Purge, purge.is_some()),
        (SettingName::PurgeFailed, failed.is_some()),
    ]));
    Ok(())
}

fn purge_command(text: &str) -> anyhow::Result<String> {
    PurgeCommandLine::parse(text).map_err(|why| misuse(format!("--purge-command: {why}")))?;
    with_full_path("--purge-command", text)
}

fn power_command(text: &str) -> anyhow::Result<String> {
    with_full_path("--power-command", text)
}

/// Replaces the program of a command by its full path: a resumed run may start in another
/// directory, and must not find another program of that name.
pub fn with_full_path(option: &str, text: &str) -> anyhow::Result<String> {
    let text = text.trim();
    let (program, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if program.is_empty() {
        return Err(misuse(format!("{option} is empty; give a program and its arguments")));
    }
    // A program that is not installed is reported where it is run.
    let Ok(path) = steadfast_host::find_program(Path::new(program)) else {
        return Ok(text.to_owned());
    };
    match path.to_str().filter(|path| !path.contains(char::is_whitespace)) {
        Some(path) => Ok(format!("{path} {arguments}").trim_end().to_owned()),
        None => Err(misuse(format!(
            "{option} {program}: its path {} contains a blank, and the command is split at blanks; \
             move the program",
            path.display()
        ))),
    }
}

/// Returns the parameters of `--set` and of the options that set one.
fn parameters(chosen: &ProcedureArguments) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for item in &chosen.set {
        let (name, value) = item
            .split_once('=')
            .ok_or_else(|| misuse(format!("--set {item} is not of the form NAME=VALUE")))?;
        set_once(&mut all, name, value)?;
    }
    let own = [
        ("mix", &chosen.mix),
        ("procedures", &chosen.procedures),
        ("alignment", &chosen.alignment),
        ("precondition", &chosen.precondition),
    ];
    for (name, value) in own {
        if let Some(value) = value {
            set_once(&mut all, name, value)?;
        }
    }
    match chosen.workload.as_slice() {
        _ if workloads::applies(chosen) => {}
        [] => {}
        [pattern] => set_once(&mut all, "workload", pattern)?,
        [_, second, ..] => {
            return Err(misuse(format!(
                "--workload {second}: {} applies one workload; name one",
                chosen.procedure
            )));
        }
    }
    Ok(all)
}

/// Sets a value.
///
/// # Errors
/// Another value was given for it before.
fn set_once(all: &mut BTreeMap<String, String>, name: &str, value: &str) -> anyhow::Result<()> {
    let (name, value) = (name.trim(), value.trim());
    match all.insert(name.to_owned(), value.to_owned()) {
        Some(earlier) if earlier != value => Err(misuse(format!(
            "{name} is given twice, as {earlier} and as {value}; give one value"
        ))),
        _ => Ok(()),
    }
}

/// Adds the spare flash of a simulated drive, the only one that reports it, for one-pass
/// preconditioning.
fn add_spare(parameters: &mut BTreeMap<String, String>, device: &Device) {
    let is_one_pass = parameters.get("precondition").is_some_and(|choice| choice == "one-pass");
    if !is_one_pass || !device.is_simulated() {
        return;
    }
    if let Ok(TargetRef::Simulated(drive)) = target::existing(&device.path) {
        let spare = || format!("{}%", drive.spare() * 100.0);
        parameters.entry("spare".to_owned()).or_insert_with(spare);
    }
}

/// Maximum size of a file of `--meta` in bytes.
const META_MAX: u64 = 16 << 20;

/// Parses facts that only the user knows: `key=value` pairs, and files of such lines; `#` begins a comment line.
pub fn meta(given: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for item in given {
        let text = if item.contains('=') {
            item.clone()
        } else {
            read_regular_text(Path::new(item), META_MAX).map_err(|e| {
                misuse(format!("--meta {item} is neither key=value nor a file: {e}"))
            })?
        };
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        for line in lines {
            let (key, value) = line.split_once('=').ok_or_else(|| {
                misuse(format!("--meta {item}: '{line}' is not key=value", line = excerpt(line)))
            })?;
            steadfast_procedures::check_meta(key.trim())?;
            set_once(&mut all, key, value)?;
        }
    }
    Ok(all)
}

/// Refuses an engine that cannot drive this device.
pub fn check_engine(engine: Option<EngineName>, device: &Device) -> anyhow::Result<()> {
    match (engine, device.is_simulated()) {
        (Some(EngineName::Sim), false) => Err(misuse(format!(
            "--engine sim needs a simulated target such as sim:small, not {}",
            device.path
        ))),
        (Some(name @ (EngineName::Uring | EngineName::Fio)), true) => {
            let name = if name == EngineName::Fio { "fio" } else { "uring" };
            Err(misuse(format!(
                "--engine {name} needs a block device or a file, not {}",
                device.path
            )))
        }
        _ => Ok(()),
    }
}
