//! The lab: guests under QEMU in which the program runs against real command sets, NVMe as
//! implemented by QEMU and SCSI by the kernel's scsi_debug.
//!
//! Each guest boots Debian's kernel, runs one script and leaves its output on a disk; the cases are
//! conditions on that output. Nothing is written outside the lab's directory.

mod answers;
mod cases;
mod guest;
mod guest_drive;
mod kernel;
mod lossy_drive;
mod nbd;
mod process;
mod qmp;
mod root;
mod tally;

use answers::GuestOutput;
use anyhow::{Context, anyhow, ensure};
use clap::Parser;
use guest::Guest;
use kernel::Kernel;
use root::GuestRoot;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tally::CaseTally;

/// Runs the program against NVMe and SCSI command sets in guests under QEMU.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program under test
    #[arg(long, default_value = "target/debug/steadfast")]
    program: PathBuf,
    /// Directory for kernels, disks, logs and artifacts
    #[arg(long, default_value = "target/lab")]
    directory: PathBuf,
    /// Debian kernel packages, each with or without a suite of Debian (PACKAGE/SUITE); every guest
    /// runs once per package
    #[arg(long, value_delimiter = ',', default_value = "linux-image-cloud-amd64")]
    kernels: Vec<String>,
    /// Keep the output of every guest, not only of failing ones
    #[arg(long)]
    keep: bool,
    /// Run a guest once more, alone, if a case fails
    #[arg(long)]
    again: bool,
    /// Guests that run at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    at_once: u32,
    /// Power cuts of each drive in guest power
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    cycles: u32,
    /// Guests to run; default: all except benches
    guests: Vec<String>,
}

/// Exit status on a machine that cannot run guests; automake's test suites use it for "skipped".
const EXIT_UNFIT: u8 = 77;

/// The reason why this machine cannot run guests.
#[derive(Debug)]
struct UnfitHost(String);

impl std::fmt::Display for UnfitHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "guests are unavailable here: {}", self.0)
    }
}

impl std::error::Error for UnfitHost {}

impl Arguments {
    fn guests_directory(&self, kernel: &Kernel) -> PathBuf {
        self.directory.join("guests").join(&kernel.release)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run_guests(&arguments) {
        Ok(tally) if tally.is_good() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            tally::print_line(&format!("lab: {error:#}"));
            if error.is::<UnfitHost>() { ExitCode::from(EXIT_UNFIT) } else { ExitCode::FAILURE }
        }
    }
}

fn run_guests(arguments: &Arguments) -> anyhow::Result<CaseTally> {
    let guests = chosen_guests(arguments)?;
    let mut tally = CaseTally::default();
    for package in &arguments.kernels {
        let root = prepare(package, &guests, arguments)
            .map_err(|error| anyhow!(UnfitHost(format!("{error:#}"))))?;
        let directory = arguments.guests_directory(&root.kernel);
        tally::print_line(&format!("Kernel {}", root.kernel.release));
        let results = first_runs(&guests, &root, &directory, arguments.at_once);
        for (guest, result) in guests.iter().zip(results) {
            check_guest(guest, result, &root, &directory.join(guest.name), arguments, &mut tally)?;
        }
        fs::remove_file(&root.disk)?;
        fs::remove_file(&root.first)?;
    }
    tally.print_totals();
    Ok(tally)
}

/// Builds the files that guests start from, and checks that a guest starts.
fn prepare(package: &str, guests: &[Guest], arguments: &Arguments) -> anyhow::Result<GuestRoot> {
    let kernel = Kernel::fetch(package, &arguments.directory.join("kernels"))?;
    let directory = arguments.guests_directory(&kernel);
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let first = cases::first();
    let peers = guests.iter().filter_map(|guest| guest.peer.as_deref());
    let all = guests.iter().chain(peers).chain([&first]);
    let scripts: Vec<_> = all.map(|guest| (guest.name, guest.script)).collect();
    let root = GuestRoot::build(kernel, &arguments.program, &scripts, &directory)?;
    first.run(&root, &directory.join(first.name)).context("the first guest")?;
    fs::remove_dir_all(directory.join(first.name))?;
    Ok(root)
}

fn chosen_guests(arguments: &Arguments) -> anyhow::Result<Vec<Guest>> {
    let (names, guests) = (&arguments.guests, cases::guests(arguments.cycles));
    if names.is_empty() {
        return Ok(guests);
    }
    let all: Vec<Guest> = guests.into_iter().chain(cases::benches()).collect();
    for name in names {
        ensure!(
            all.iter().any(|guest| guest.name == name),
            "no guest '{name}'; choose from: {}",
            all.iter().map(|guest| guest.name).collect::<Vec<_>>().join(", ")
        );
    }
    let is_wanted = |guest: &Guest| names.iter().any(|name| name == guest.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// Runs every guest, `at_once` of them at the same time, and returns their outputs in order.
fn first_runs(
    guests: &[Guest],
    root: &GuestRoot,
    directory: &Path,
    at_once: u32,
) -> Vec<anyhow::Result<GuestOutput>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(guest) = guests.get(index) else { break };
                    let result = guest.run(root, &directory.join(guest.name));
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Checks the cases of a guest, runs it once more if one fails, and keeps or removes its output.
fn check_guest(
    guest: &Guest,
    mut result: anyhow::Result<GuestOutput>,
    root: &GuestRoot,
    directory: &Path,
    arguments: &Arguments,
    tally: &mut CaseTally,
) -> anyhow::Result<()> {
    if arguments.again && tally::print_failures(guest, &result) {
        result = guest.run(root, directory);
    }
    let is_good = tally.judge(guest, &result);
    if let Ok(answers) = &result {
        if let Some(table) = guest.table {
            tally::print_line(
                &table(answers).unwrap_or_else(|error| format!("no table: {error:#}")),
            );
        }
        let keep = arguments.directory.join("artefacts").join(&root.kernel.release);
        for name in guest.artifacts {
            fs::create_dir_all(&keep)?;
            fs::copy(answers.path(name), keep.join(name))
                .with_context(|| format!("{}: no artifact {name}", guest.name))?;
        }
    }
    if is_good && !arguments.keep {
        fs::remove_dir_all(directory)?;
    } else if !is_good {
        tally::print_line(&format!("      kept: {}", directory.display()));
    }
    Ok(())
}
