//! A [`Script`]: exact I/Os in order with due times, for replay.

use crate::stimulus::{Demand, Op};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// One I/O of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueIo {
    /// When it is due, counted from the script's beginning.
    pub due: Nanos,
    /// What it does.
    pub op: Op,
    /// Forced unit access.
    pub fua: bool,
    /// First byte.
    pub offset: Bytes,
    /// Transfer size.
    pub size: Bytes,
}

/// Why a script could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script '{name}' after {ios_done} I/Os: {why}")]
pub struct ScriptError {
    /// The script's name.
    pub name: String,
    /// I/Os that it had delivered.
    pub ios_done: u64,
    /// What went wrong and what to do.
    pub why: String,
}

/// Delivers I/Os in order, in batches of 1024 or more.
pub trait Script: Send {
    /// Appends the next I/Os to `batch`; 0 when there are no more.
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError>;
}

/// Opens a script from its beginning, as often as it is applied.
pub type OpenScript = Arc<dyn Fn() -> Result<Box<dyn Script>, ScriptError> + Send + Sync>;

/// A script as a load: known by its content, opened when it is applied.
#[derive(Clone, Serialize, Deserialize)]
pub struct ScriptLoad {
    /// What it is called in reports.
    pub name: String,
    /// SHA-256 of its content, in hexadecimal: two scripts are equal when this is.
    pub digest: String,
    /// I/Os in it.
    pub ios: u64,
    /// Bytes that it moves.
    pub bytes: Bytes,
    /// From its first due time to its last.
    pub span: Nanos,
    /// Threads x the most I/Os outstanding.
    pub demand: Demand,
    /// Whether it changes what the device holds.
    pub alters: bool,
    /// How to open it; not part of the record.
    #[serde(skip)]
    pub open: Option<OpenScript>,
}

impl PartialEq for ScriptLoad {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, self.ios, self.demand) == (&other.digest, other.ios, other.demand)
    }
}

impl fmt::Debug for ScriptLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScriptLoad({}, {} I/Os, {})", self.name, self.ios, self.digest)
    }
}
