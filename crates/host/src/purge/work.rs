//! A purge while it is done: what was ordered, what it works with, and who stands
//! beside it.

use crate::error::HostError;
use crate::target::Target;
use crate::tool::{Tool, Tools};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use steadfast_domain::record::HostChange;
use steadfast_domain::{PurgeChoice, PurgeFailure};

/// What the user wants of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeOrder {
    /// How.
    pub choice: PurgeChoice,
    /// What becomes of a failure.
    pub failed: PurgeFailure,
    /// Chooses the places that are read back.
    pub seed: u64,
    /// What else may be lost, each by what [`steadfast_domain::Device::confirmation`] says.
    pub also: Vec<String>,
    /// Paths whose disks must live.
    pub keep: Vec<PathBuf>,
}

/// How far a purge has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PurgeProgress<'a> {
    /// What is being done.
    pub doing: &'a str,
    /// Percent done, where the device tells.
    pub percent: Option<f64>,
    /// Time since it began.
    pub since: Duration,
}

/// Who stands beside a purge.
pub trait PurgeWatch {
    /// Keeps a change to the device before it is made. What it answers to is
    /// why it could not be kept.
    ///
    /// # Errors
    /// The reason, in words; the change is then not made.
    fn journal(&mut self, change: &HostChange) -> Result<(), String>;
    /// Is told how far it has come, often.
    fn tell(&mut self, progress: &PurgeProgress<'_>);
    /// Whether the user asked for an end.
    fn is_stopped(&self) -> bool;
}

/// What a purge works with.
pub(super) struct Work<'a> {
    pub target: &'a Target,
    pub tools: &'a dyn Tools,
    pub watch: &'a mut dyn PurgeWatch,
    pub began: Instant,
}

impl Work<'_> {
    pub fn tell(&mut self, doing: &str, percent: Option<f64>) {
        let since = self.began.elapsed();
        self.watch.tell(&PurgeProgress { doing, percent, since });
    }

    pub fn stopped(&self) -> HostError {
        HostError::PurgeStopped { device: self.target.device().path.clone() }
    }

    /// Runs a command that ends when the device is done; it cannot be taken back.
    pub fn run_to_end(
        &mut self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        doing: &str,
    ) -> Result<String, HostError> {
        let (tools, began, watch) = (self.tools, self.began, &mut *self.watch);
        tools.run_long(tool, arguments, limit, &mut |_| {
            let doing = match watch.is_stopped() {
                true => format!("{doing}; it cannot be canceled, the run stops after it"),
                false => doing.to_owned(),
            };
            watch.tell(&PurgeProgress { doing: &doing, percent: None, since: began.elapsed() });
        })
    }
}

/// What became of a command that was carried out.
pub(super) enum Done {
    Purged,
    /// The device did not know the command after all.
    Unknown,
}
