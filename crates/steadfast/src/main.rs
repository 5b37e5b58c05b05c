//! `steadfast`: SSD performance tests by the SNIA method, from purge to report.

mod cli;
mod commands;
mod exit;
mod output;
mod panel;
mod target;
mod terminal;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Devices(arguments) => commands::devices::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Measure(arguments) => commands::measure::run(&arguments),
        Command::Calibrate(arguments) => commands::calibrate::run(&arguments),
        Command::Resume(arguments) => commands::resume::run(&arguments),
        Command::Restore(arguments) => commands::restore::run(&arguments),
        Command::Unlock(arguments) => commands::restore::unlock(&arguments),
        Command::Study(arguments) => commands::study::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Capture(arguments) => commands::capture::run(&arguments),
        Command::Mark(arguments) => commands::capture::mark(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Workload(arguments) => commands::trace::derive::run(&arguments),
        Command::Completions(arguments) => commands::shell::completions(&arguments),
        Command::Man => commands::shell::man(),
    };
    exit::code(outcome)
}
