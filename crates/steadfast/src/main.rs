//! `steadfast`: SSD performance tests by the SNIA method, from purge to report.

mod cli;
mod commands;
mod exit;
mod filtered_capture;
mod hosts;
mod import_inputs;
mod input_file;
mod output;
mod output_files;
mod panel_trend;
mod progress_panel;
mod prometheus;
mod recognize_file;
mod rig_remarks;
mod run_settings;
mod signals;
mod tags_file;
mod target;
mod terminal;
mod thread_pool;
mod unpack;
mod workloads;

use cli::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    silence_caught_panics();
    signals::survive_limits();
    if let Err(error) = steadfast_host::check_clocks() {
        return exit::report(Err(anyhow::anyhow!(
            "cannot read the clock: {error}; allow the system call clock_gettime"
        )));
    }
    let cli = cli::parse();
    terminal::set_up(cli.global.quiet, cli.global.color.forced());
    if let Err(error) = output::read_default_formats() {
        return exit::report(Err(error));
    }
    if cli.command.works_on_devices() {
        commands::restore::remind();
    }
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
        Command::Trend(arguments) => commands::trend::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Identify(arguments) => commands::identify::run(&arguments),
        Command::Capture(arguments) => commands::capture::run(&arguments),
        Command::Mark(arguments) => commands::mark::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        #[cfg(feature = "explorer")]
        Command::Explore(arguments) => commands::explore::run(&arguments),
        Command::Workload(arguments) => commands::trace::derive::run(&arguments),
        Command::Crystaldiskmark(arguments) => commands::crystaldiskmark::run(&arguments),
        Command::Atto(arguments) => commands::atto::run(&arguments),
        Command::Iometer(arguments) => commands::iometer::run(&arguments),
        Command::Fio(arguments) => commands::fio::run(&arguments),
        Command::Fiosynth(arguments) => commands::fiosynth::run(&arguments),
        Command::Schema(arguments) => commands::schema::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Tkperf(arguments) => commands::tkperf::run(&arguments),
        Command::TkperfCmp(_) => commands::tkperf::refuse_cmp(),
        Command::AttendHost(arguments) => hosts::attend(&arguments),
        Command::AttendLoad => attend_load(),
        Command::Completions(arguments) => commands::shell::completions(&arguments),
        Command::Man => commands::shell::man(),
    };
    exit::report(outcome)
}

/// Applies the load that the parent process orders.
fn attend_load() -> anyhow::Result<exit::ExitState> {
    steadfast_engine::native::attend_load()?;
    Ok(exit::ExitState::Done)
}

/// Suppresses the message of a panic that is caught and reported as an error.
fn silence_caught_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !steadfast_tracefile::parquet::panics_are_caught() {
            usual(panic);
        }
    }));
}
