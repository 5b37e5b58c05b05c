//! `steadfast trace`: tables, JSON and reports of a capture. All commands accept captures of
//! single I/Os and of step sums.

pub mod compare;
pub mod deltas;
pub mod derive;
pub mod doctor;
pub mod export;
mod fidelity;
pub mod fold;
pub mod groups;
pub mod hit_map;
pub mod hosts;
pub mod hot;
pub mod identify;
pub mod import;
mod listing_table;
pub mod locality;
pub mod over_time;
pub mod profile;
mod recover;
mod report;
mod self_test;
pub mod shape;
mod step_time_format;
pub mod streams;

use crate::cli::trace::{TraceArguments, TraceCommand};
use crate::exit::ExitState;

/// Runs `trace`.
pub fn run(arguments: &TraceArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        TraceCommand::Streams(arguments) => streams::streams(arguments),
        TraceCommand::Processes(arguments) => streams::processes(arguments),
        TraceCommand::Steps(arguments) => over_time::steps(arguments),
        TraceCommand::Map(arguments) => over_time::map(arguments),
        TraceCommand::Groups(arguments) => groups::groups(arguments),
        TraceCommand::Hosts(arguments) => hosts::run(arguments),
        TraceCommand::Drives(arguments) => groups::drives(arguments),
        TraceCommand::Profile(arguments) => profile::run(arguments),
        TraceCommand::Locality(arguments) => locality::run(arguments),
        TraceCommand::Shape(arguments) => shape::run(arguments),
        TraceCommand::Doctor(arguments) => doctor::run(arguments),
        TraceCommand::Hits(arguments) => hit_map::run(arguments),
        TraceCommand::Hot(arguments) => hot::run(arguments),
        TraceCommand::Compare(arguments) => compare::run(arguments),
        TraceCommand::Report(arguments) => report::run(arguments),
        TraceCommand::SelfTest(arguments) => self_test::run(arguments),
        TraceCommand::Import(arguments) => import::run(arguments),
        TraceCommand::Fold(arguments) => fold::run(arguments),
        TraceCommand::Merge(arguments) => fold::merge(arguments),
        TraceCommand::Identify(arguments) => identify::run(arguments),
        TraceCommand::Recover(arguments) => recover::run(arguments),
    }
}
