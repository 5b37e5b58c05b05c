//! A [`ScriptSource`]: the trace of an exact replay, and the choices by which its script is made.
//!
//! A run's settings contain it as data. Whatever the user left open, or named by a word of the
//! command line, is decided in it: times are nanoseconds of the capture, devices and cgroups are
//! the trace's numbers.

use crate::io_event::{IoOp, Layer};
use crate::script::{DueTimeSource, MapRule};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Trace of an exact replay and the choices by which its script is made, at the start of a run and
/// on resume. The manner of playing it is part of the [`ScriptLoad`](crate::ScriptLoad).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScriptSource {
    /// Full paths of the trace's files.
    pub files: Vec<String>,
    /// I/Os that are played.
    pub chosen: ChosenIos,
    /// Number of previous I/Os with which an I/O is compared to classify it as sequential or random.
    pub window: usize,
    /// Captured time at which an I/O is due.
    pub issue_at: DueTimeSource,
    /// Rule for the addresses.
    pub map: MapRule,
    /// Time from which due times count, since the start of the capture.
    pub counted_from: Nanos,
}

/// I/Os chosen from a trace. An empty list or `None` chooses all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ChosenIos {
    /// Spans of issue times, first and end, in nanoseconds since the start of the capture.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans_ns: Vec<(u64, u64)>,
    /// Number or command name of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ChosenProcess>,
    /// Number of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Numbers of the cgroups in the trace, by the name that chose them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cgroups: BTreeMap<String, Vec<u16>>,
    /// Devices (`None` for any) and inodes of the files, by the name that chose them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Vec<(Option<u16>, u64)>>,
    /// Operations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<IoOp>,
    /// Numbers of the devices in the trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<u16>,
    /// Numbers of the hosts' devices in the trace, by host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, Vec<u16>>,
    /// Layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// I/O streams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<ChosenStream>,
}

/// Process whose I/Os are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChosenProcess {
    /// Process with this number.
    Pid(u32),
    /// All processes with this command name.
    Command(String),
}

/// I/O stream that is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChosenStream {
    /// Operation.
    pub op: IoOp,
    /// True for sequential I/Os, false for random ones.
    pub sequential: bool,
    /// Transfer size in bytes.
    pub bytes: u32,
}
