//! The command line of captures of many hosts: fold, merge, hosts.

use super::common::WritingArguments;
use super::selection::{FilterArguments, Selection};
use clap::Args;
use std::path::PathBuf;
use steadfast_analysis::fleet::HostRank;
use steadfast_domain::Nanos;

/// `trace fold`.
#[derive(Debug, Args)]
pub struct FoldArguments {
    /// The trace files, of any number of captures and hosts; all files of a rotated capture
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Width of a step of the capture's time; must divide an hour. Tables over time and filters
    /// of time have this resolution
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = super::common::capture_step)]
    pub step: Nanos,
    /// Do not distinguish processes and threads; makes a smaller file
    #[arg(long)]
    pub no_processes: bool,
    /// Do not distinguish threads
    #[arg(long)]
    pub no_threads: bool,
    /// Do not distinguish files, and keep no paths
    #[arg(long)]
    pub no_files: bool,
    /// Skip files that cannot be read, and count them; default: refuse
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Output: the fold file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace identify`.
#[derive(Debug, Args)]
pub struct IdentifyArguments {
    /// The trace and fold files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// The fold files; a capture that is in several counts once
    #[arg(required = true, value_name = "FOLD")]
    pub files: Vec<PathBuf>,
    /// Output: the fold file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Exit with 0 even if damaged or missing parts of a capture are left out
    #[arg(long)]
    pub accept_damage: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace hosts`.
#[derive(Debug, Args)]
pub struct TraceHostsArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Largest first by this figure: iops, bytes, mean, p99, p99.9, max (response times), qd,
    /// reads, seq, failed
    #[arg(long, default_value_t, value_name = "FIGURE")]
    pub rank: HostRank,
    /// Print at most this many rows; JSON has all
    #[arg(long, value_name = "N", default_value_t = 40, conflicts_with = "json")]
    pub top: usize,
    /// Print only outliers by this figure
    #[arg(long)]
    pub outliers: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
