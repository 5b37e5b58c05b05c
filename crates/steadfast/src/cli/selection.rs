//! Selection of I/Os: the files of a trace and the filters of its rows.

use super::common::{NamedValue, one_of};
use super::heading;
use crate::exit::first_given;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use steadfast_analysis::moment::Moment;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::{IoOp, Layer, TimeZone};

/// Files of a trace and filters of its I/Os.
#[derive(Debug, Args)]
pub struct Selection {
    /// The trace or fold file; for a rotated capture, all its files, read as one. Captures of
    /// several hosts are read together
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArguments,
}

impl Selection {
    /// The first file, which the trace is called by.
    pub fn file(&self) -> &Path {
        self.files.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// Filters of I/Os.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArguments {
    /// I/Os issued at or after this moment: a time from the start of the capture (90min,
    /// 2h5min), a time of day (02:00), "2026-11-21 06:16:17", or a mark (backup+5min, backup-30s);
    /// --from 02:00 --to 02:30 selects this time of every day
    #[arg(help_heading = heading::SELECTION, long, value_name = "MOMENT")]
    pub from: Option<Moment>,
    /// I/Os issued before this moment
    #[arg(help_heading = heading::SELECTION, long, value_name = "MOMENT")]
    pub to: Option<Moment>,
    /// Time zone of clock times, such as UTC or +01:00; default: the captured host's
    #[arg(help_heading = heading::SELECTION, long, value_name = "ZONE", allow_hyphen_values = true)]
    pub time_zone: Option<TimeZone>,
    /// I/Os from this event mark to the next (repeatable)
    #[arg(help_heading = heading::SELECTION, long, value_name = "MARK")]
    pub event: Vec<String>,
    /// I/Os of this process only; by its number or command name
    #[arg(help_heading = heading::SELECTION, long, value_name = "PID|COMMAND")]
    pub pid: Option<String>,
    /// I/Os of this thread
    #[arg(help_heading = heading::SELECTION, long, value_name = "TID")]
    pub tid: Option<u32>,
    /// I/Os of processes in this cgroup; by its path or the last part of it (capture --cgroups)
    #[arg(help_heading = heading::SELECTION, long, value_name = "CGROUP")]
    pub cgroup: Vec<String>,
    /// I/Os on this file; by its path (capture --paths) or its inode (layer filesystem)
    #[arg(help_heading = heading::SELECTION, long, value_name = "PATH|INODE")]
    pub file: Vec<String>,
    /// I/Os of this operation
    #[arg(help_heading = heading::SELECTION, long, value_name = "OP", value_parser = one_of(OPERATIONS))]
    pub op: Vec<IoOp>,
    /// I/Os on this device; by its name in the trace
    #[arg(help_heading = heading::SELECTION, long, value_name = "NAME")]
    pub device: Vec<String>,
    /// I/Os of this host
    #[arg(help_heading = heading::SELECTION, long, value_name = "NAME")]
    pub host: Vec<String>,
    /// I/Os of hosts with this role in the tags file
    #[arg(help_heading = heading::SELECTION, long, value_name = "ROLE", requires = "tags")]
    pub role: Vec<String>,
    /// File of host roles, one line HOST ROLE [ROLE ...] per host
    #[arg(help_heading = heading::SELECTION, long, value_name = "FILE", requires = "role")]
    pub tags: Option<PathBuf>,
    /// I/Os of this layer; default for a trace of both: block (compare: both)
    #[arg(help_heading = heading::SELECTION, long, value_name = "LAYER")]
    pub layer: Option<LayerChoice>,
    /// I/Os of this stream, such as "RND 4K W"
    #[arg(help_heading = heading::SELECTION, long, value_name = "STREAM")]
    pub stream: Vec<StreamKey>,
    /// An I/O is sequential if it starts where one of this many I/Os before it ended
    #[arg(help_heading = heading::SELECTION, long, default_value_t = steadfast_analysis::annotate::sequential::WINDOW, value_name = "N",
        value_parser = window)]
    pub window: usize,
    /// Exit with 0 even if damaged or missing parts of a capture are left out
    #[arg(help_heading = heading::SELECTION, long)]
    pub accept_damage: bool,
}

impl FilterArguments {
    /// Returns the first option that was given, or `None`.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given(&[
            ("--from", self.from.is_some()),
            ("--to", self.to.is_some()),
            ("--time-zone", self.time_zone.is_some()),
            ("--event", !self.event.is_empty()),
            ("--pid", self.pid.is_some()),
            ("--tid", self.tid.is_some()),
            ("--cgroup", !self.cgroup.is_empty()),
            ("--file", !self.file.is_empty()),
            ("--op", !self.op.is_empty()),
            ("--device", !self.device.is_empty()),
            ("--host", !self.host.is_empty()),
            ("--role", !self.role.is_empty()),
            ("--layer", self.layer.is_some()),
            ("--stream", !self.stream.is_empty()),
            ("--window", self.window != steadfast_analysis::annotate::sequential::WINDOW),
            ("--accept-damage", self.accept_damage),
        ])
    }
}

/// Parses the number of I/Os before an I/O that it may follow sequentially.
fn window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(window @ 1..=4096) => Ok(window),
        _ => Err("a window is 1 to 4096 I/Os".to_owned()),
    }
}

/// Operations of captured I/Os.
const OPERATIONS: [NamedValue<IoOp>; 5] = [
    NamedValue::new("read", IoOp::Read, "Reads").with_alias("r"),
    NamedValue::new("write", IoOp::Write, "Writes").with_alias("w"),
    NamedValue::new("discard", IoOp::Discard, "Discards (ATA TRIM, SCSI UNMAP, NVMe Deallocate)")
        .with_alias("trim"),
    NamedValue::new("flush", IoOp::Flush, "Cache flushes"),
    NamedValue::new("other", IoOp::Other, "Anything else"),
];

/// Layers of captured I/Os.
pub const LAYERS: [NamedValue<Layer>; 2] = [
    NamedValue::new("block", Layer::Block, "Block devices"),
    NamedValue::new("filesystem", Layer::FileSystem, "File systems"),
];

/// The layers that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayerChoice {
    /// Block devices.
    Block,
    /// File systems.
    Filesystem,
    /// Both, counted together.
    Both,
}
