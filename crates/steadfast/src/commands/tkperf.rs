//! `steadfast tkperf`: accepts TKperf's command line.

use crate::cli::hosts::HostsArguments;
use crate::cli::tkperf::{DiskTest, Mode, OurArguments, SsdTest, TkperfArguments};
use crate::cli::{self, Command};
use crate::commands::{plan, run as run_command};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::output::{OptionalReport, report_line};
use crate::run_settings::SOFTWARE;
use crate::{output, terminal};
use clap::ValueEnum;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use steadfast_domain::{DiskArray, Transport};
use steadfast_host::{SystemRoots, read_regular};

/// Maximum size of a description or feature matrix in bytes, since the run's settings include it.
const TEXT_MAX: u64 = 64 << 10;

/// Runs, plans, or reads a log, according to TKperf's options.
pub fn run(arguments: &TkperfArguments) -> anyhow::Result<ExitState> {
    if arguments.version {
        terminal::print(&format!("{SOFTWARE}, with the command line of TKperf 2.2"))?;
        return Ok(ExitState::Done);
    }
    if let Some(log) = &arguments.ours.read {
        return read(log, arguments.ours.output.as_deref(), arguments);
    }
    let (Some(mode), Some(name), Some(device)) =
        (arguments.mode, &arguments.name, &arguments.device)
    else {
        return Err(misuse("give a mode, a name and a device: steadfast tkperf ssd NAME DEVICE"));
    };
    if arguments.from_xml {
        let log = PathBuf::from(format!("{name}.xml"));
        return read(&log, arguments.ours.output.as_deref(), arguments);
    }
    let mode = if mode == Mode::Raid { mode_of_array(name, device, arguments)? } else { mode };
    check_tests(mode, arguments)?;
    check_planned(device, &arguments.ours)?;
    refuse_unused(&[("--force", arguments.writing.force)], "a run directory is never overwritten")?;
    print_remarks(arguments);
    run_words(&words(mode, name, device, arguments)?)
}

/// Returns the mode whose tests fit an existing array, and prints what is known of the array.
fn mode_of_array(name: &str, device: &str, arguments: &TkperfArguments) -> anyhow::Result<Mode> {
    let found =
        steadfast_host::inspect(Path::new(device), &SystemRoots::real()).map_err(|error| {
            misuse(format!(
                "{error}; steadfast creates and deletes no arrays: create it with mdadm or the \
             controller's tool, then: steadfast tkperf raid {name} DEVICE"
            ))
        })?;
    let may_be_behind_a_controller =
        matches!(found.transport, Transport::Sas | Transport::Virtio | Transport::Other);
    if found.array.is_none() && !may_be_behind_a_controller {
        return Err(misuse(format!(
            "{device} is no array ({}); test it with: steadfast tkperf ssd {name} {device}",
            found.transport
        )));
    }
    let spins = found.rotational == Some(true);
    let mode = match (arguments.disk_tests.is_empty(), arguments.ssd_tests.is_empty()) {
        (false, true) => Mode::Hdd,
        (true, true) if spins => Mode::Hdd,
        _ => Mode::Ssd,
    };
    terminal::status(&array_line(device, found.array.as_ref()));
    Ok(mode)
}

/// Returns a line about an array: level, members and chunk size.
fn array_line(device: &str, array: Option<&DiskArray>) -> String {
    let Some(array) = array else {
        return format!("{device}: the controller reports neither members nor chunk size.");
    };
    let level = array.level.as_deref().unwrap_or("level not reported");
    let members = if array.members.is_empty() {
        "members not reported".to_owned()
    } else {
        format!("members {}", array.members.join(", "))
    };
    let chunk = array.chunk.map_or("not reported".to_owned(), |chunk| chunk.binary());
    format!("{device}: {level}, {members}, chunk size {chunk}. No array is created or changed.")
}

/// Refuses `tkperf-cmp` with the command to type instead.
pub fn refuse_cmp() -> anyhow::Result<ExitState> {
    Err(misuse(
        "tkperf-cmp is `steadfast compare A B ...` here: up to seven run directories or logs of \
         TKperf (NAME.xml), old and new, with -o DIR for HTML, PDF and CSV",
    ))
}

/// Starts the equivalent steadfast command.
fn run_words(words: &[String]) -> anyhow::Result<ExitState> {
    let cli = cli::parse_words(words).map_err(|error| misuse(error.to_string().trim_end()))?;
    match cli.command {
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Run(arguments) => run_command::run(&arguments),
        _ => Err(misuse("nothing to run")),
    }
}

/// Refuses tests of the other mode, which would run nothing.
fn check_tests(mode: Mode, arguments: &TkperfArguments) -> anyhow::Result<()> {
    match mode {
        Mode::Ssd if !arguments.disk_tests.is_empty() => {
            Err(misuse("-hddt is for hdd mode; choose tests of an SSD with -ssdt"))
        }
        Mode::Hdd if !arguments.ssd_tests.is_empty() => {
            Err(misuse("-ssdt is for ssd mode; choose tests of a hard disk with -hddt"))
        }
        Mode::Ssd if arguments.ours.zones.is_some() => Err(misuse("--zones is for hdd mode")),
        _ => Ok(()),
    }
}

/// Requires a size to plan for a device of another machine.
fn check_planned(device: &str, ours: &OurArguments) -> anyhow::Result<()> {
    let is_here = device.starts_with("sim:") || Path::new(device).exists();
    if !ours.plan || ours.size.is_some() || is_here {
        return Ok(());
    }
    Err(misuse(format!(
        "{device} is not on this machine; to plan for it, give its size, such as --size 960GB"
    )))
}

/// Prints remarks on options without effect.
fn print_remarks(arguments: &TkperfArguments) {
    let remarks = [
        (
            arguments.force_test,
            "-ft: no question is asked. It waives nothing else: a block device needs its serial \
             number (--yes-destroy SERIAL), and a device in use is refused in any case.",
        ),
        (arguments.refill, "-rfb: always so; every sector that is written is random and unique."),
        (
            arguments.interface.is_some(),
            "-i: not needed; the purge is the best one that the device itself reports (--purge \
             chooses another).",
        ),
        (
            arguments.mail.is_some() || arguments.smtp.is_some(),
            "-m, -s: ignored, no mail is sent; the exit code says how the run ended, so that any \
             mail program can follow it.",
        ),
        (arguments.generator.is_some(), "-g: ignored; reports are made without it."),
        (arguments.debug, "-d: ignored; the run directory holds every step and its job."),
        (arguments.config.is_some(), "-c: ignored; no array is made of it."),
    ];
    for (is_given, remark) in remarks {
        if is_given {
            terminal::status(remark);
        }
    }
}

/// Returns the words of the command `steadfast run tkperf ...`.
fn words(
    mode: Mode,
    name: &str,
    device: &str,
    arguments: &TkperfArguments,
) -> anyhow::Result<Vec<String>> {
    let ours = &arguments.ours;
    let command = if ours.plan { "plan" } else { "run" };
    let mut words: Vec<String> =
        ["steadfast", command, "tkperf", "--profile", "tkperf"].map(str::to_owned).to_vec();
    words.push(format!("--target={device}"));
    let mut set = |name: &str, value: &str| words.push(format!("--set={name}={value}"));
    set("tests", &tests(mode, arguments));
    set("name", name);
    for (name, file) in
        [("description", &arguments.description), ("feature-matrix", &arguments.features)]
    {
        if let Some(file) = file {
            set(name, &text_of(file)?);
        }
    }
    if let Some(zones) = ours.zones {
        set("zones", &zones.to_string());
    }
    push_option(&mut words, "threads", &arguments.jobs);
    push_option(&mut words, "depth", &arguments.depth);
    push_option(&mut words, "step-time", &arguments.runtime.map(|seconds| format!("{seconds}s")));
    push_option(&mut words, "size", &ours.size.map(|size| format!("{}B", size.0)));
    push_option(&mut words, "max-rounds", &ours.max_rounds);
    push_option(&mut words, "seed", &ours.seed);
    let engine = ours.engine.and_then(|engine| engine.to_possible_value());
    push_option(&mut words, "engine", &engine.map(|value| value.get_name().to_owned()));
    if ours.json {
        words.push("--json".into());
    }
    if ours.plan {
        push_option(&mut words, "assume", &ours.assume.map(|rate| format!("{}B", rate.0)))
    } else {
        push_options_of_run(&mut words, name, arguments)
    }
    Ok(words)
}

/// Appends the options that only a run has.
fn push_options_of_run(words: &mut Vec<String>, name: &str, arguments: &TkperfArguments) {
    let OurArguments { output, purge, purge_failed, yes_destroy, hosts, .. } = &arguments.ours;
    let output = output.clone().unwrap_or_else(|| PathBuf::from(name));
    words.push(format!("--output={}", output.display()));
    push_option(words, "purge", purge);
    push_option(words, "purge-failed", purge_failed);
    push_option(words, "group", &arguments.writing.group);
    yes_destroy.iter().for_each(|serial| words.push(format!("--yes-destroy={serial}")));
    let HostsArguments { hosts: names, hosts_plain, ssh_config } = hosts;
    names.iter().for_each(|name| words.push(format!("--hosts={name}")));
    if *hosts_plain {
        words.push("--hosts-plain".to_owned());
    }
    push_option(words, "ssh-config", &ssh_config.as_ref().map(|path| path.display()));
}

/// Appends `--name=value` if there is a value.
fn push_option<T: Display>(words: &mut Vec<String>, name: &str, value: &Option<T>) {
    words.extend(value.as_ref().map(|value| format!("--{name}={value}")));
}

/// Returns the tests in command-line order without duplicates; all tests of the mode if none is
/// named.
fn tests(mode: Mode, arguments: &TkperfArguments) -> String {
    let mut named: Vec<&str> = Vec::new();
    let of_ssd = arguments.ssd_tests.iter().map(|test| match test {
        SsdTest::Iops => "iops",
        SsdTest::Lat => "lat",
        SsdTest::Tp => "tp",
        SsdTest::Writesat => "writesat",
    });
    let of_disk = arguments.disk_tests.iter().map(|test| match test {
        DiskTest::Iops => "hdd-iops",
        DiskTest::Tp => "hdd-tp",
    });
    for test in of_ssd.chain(of_disk) {
        if !named.contains(&test) {
            named.push(test);
        }
    }
    match (mode, named.is_empty()) {
        (_, false) => named.join(","),
        (Mode::Hdd, true) => "hdd-iops,hdd-tp".to_owned(),
        _ => "iops,lat,tp,writesat".to_owned(),
    }
}

/// Reads a UTF-8 text file of the user.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let bytes = read_regular(file, TEXT_MAX)?;
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| misuse(format!("{}: not a text in UTF-8", file.display())))?;
    Ok(text.trim_end().to_owned())
}

/// Reports a TKperf log.
fn read(log: &Path, out: Option<&Path>, arguments: &TkperfArguments) -> anyhow::Result<ExitState> {
    let report = OptionalReport::open(out, &arguments.writing)?;
    report.show(&output::findings_of_tkperf(log)?, arguments.ours.json)?;
    if arguments.ours.json {
        return Ok(ExitState::Done);
    }
    let where_to = match out {
        Some(out) => report_line(out),
        None => "Write a report with -o DIR.".to_owned(),
    };
    let log = log.display();
    terminal::print(&format!(
        "\n{where_to}\nCompare with a new run: steadfast compare {log} RUN_DIR"
    ))?;
    Ok(ExitState::Done)
}
