//! The command line of `steadfast explore`.

use super::common::WritingArguments;
use clap::Args;
use std::path::PathBuf;

/// `explore`.
#[derive(Debug, Args)]
pub struct ExploreArguments {
    /// Trace files and run directories; the files of a rotated capture count as one capture
    #[arg(required = true, value_name = "FILE|RUN_DIR")]
    pub paths: Vec<PathBuf>,
    /// The port on 127.0.0.1; default: any free one
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Print the address only; start no browser
    #[arg(long)]
    pub no_browser: bool,
    /// Do not read or keep an index in the cache directory
    #[arg(long)]
    pub no_cache: bool,
    /// Output: one self-contained page of the first views; nothing is served
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["port", "no_browser"])]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
}
