//! A running purge: its target and tools, and the observer that journals changes and shows progress.

use crate::error::HostError;
use crate::nvme::{AdminCommand, NvmeAdmin};
use crate::target::Target;
use crate::tool::{Tool, Tools};
use std::time::Duration;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;

/// Interval between two status queries of a purge that the device carries out by itself.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit for such a purge.
const PURGE_TIMEOUT: Duration = Duration::from_secs(48 * 3600);

/// Number of consecutive queries without a readable status after which such a purge counts as lost
/// (our choice; a reset takes seconds).
const FAILED_QUERIES_MAX: u32 = 60;

/// Progress of a purge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PurgeProgress<'a> {
    /// Current activity, such as "formatting".
    pub doing: &'a str,
    /// Progress in percent; `None` if the device does not report it.
    pub percent: Option<f64>,
    /// Time since the purge started.
    pub since: Duration,
}

/// Observer of a purge: journals changes, shows progress and requests a stop.
pub trait PurgeWatch {
    /// Journals a change to the device before it is made.
    ///
    /// # Errors
    /// The change could not be journaled, with the reason in words; it is not made then.
    fn journal(&mut self, change: &HostChange) -> Result<(), String>;
    /// Receives the progress; called often.
    fn report(&mut self, progress: &PurgeProgress<'_>);
    /// Receives the record of a vendor's command after which the purge ends with an error.
    fn keep_command(&mut self, record: PurgeCommandRecord);
    /// Returns true if the user requested a stop.
    fn is_stopped(&self) -> bool;
}

/// Target, tools and observer of a running purge.
pub(super) struct PurgeContext<'a> {
    pub target: &'a Target,
    pub tools: &'a dyn Tools,
    pub watch: &'a mut dyn PurgeWatch,
    /// Time at which the purge started, by the clock of the tools' host.
    pub began: Duration,
    /// Vendor's command that was run, however it ended.
    pub command: Option<PurgeCommandRecord>,
}

impl PurgeContext<'_> {
    /// Returns the time since the purge started.
    pub fn elapsed(&self) -> Duration {
        self.tools.host().now().saturating_sub(self.began)
    }

    pub fn report(&mut self, doing: &str, percent: Option<f64>) {
        let since = self.elapsed();
        self.watch.report(&PurgeProgress { doing, percent, since });
    }

    /// Checks that the user has not stopped the run; called before each command that erases.
    pub fn check_stop(&self) -> Result<(), HostError> {
        if self.watch.is_stopped() {
            return Err(HostError::PurgeStopped { device: self.target.device().path.clone() });
        }
        Ok(())
    }

    /// Runs a tool that returns when the device has finished and cannot be canceled. Returns its
    /// standard output.
    pub fn run_to_end(
        &mut self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        doing: &str,
    ) -> Result<String, HostError> {
        let tools = self.tools;
        tools.run_long(tool, arguments, limit, &mut |_| self.report_uncancelable(doing))
    }

    /// Sends an NVMe command that completes when the device has finished and cannot be canceled.
    pub fn send_to_end(
        &mut self,
        admin: &dyn NvmeAdmin,
        command: &AdminCommand,
        doing: &str,
    ) -> Result<(), HostError> {
        let host = self.tools.host();
        // The kernel's call blocks until then, without a way to look at its progress.
        let mut send = || admin.send(command, &mut []);
        host.send_in_thread(&mut send, &mut || self.report_uncancelable(doing)).map(drop)
    }

    /// Waits until the device has finished a purge that it carries out by itself, and returns the
    /// outcome of the tool or call that began it. One that failed may have begun it. `query` returns
    /// the device's state, or an error if the status cannot be read; `check` says how the user finds
    /// its end.
    ///
    /// # Errors
    /// The purge was not begun or has failed, or its end is unknown, as after the user's stop.
    pub fn follow_begun<T>(
        &mut self,
        begun: Result<T, HostError>,
        doing: &str,
        check: &str,
        query: &mut dyn FnMut() -> Result<PurgeState, HostError>,
    ) -> Result<T, HostError> {
        let is_unclear = begun.as_ref().is_err_and(HostError::may_have_begun);
        if begun.is_err() && !is_unclear {
            return begun;
        }
        match self.follow(doing, check, query) {
            Err(HostError::ToolFailed { .. } | HostError::PurgeFailed { .. }) if is_unclear => {
                begun
            }
            followed => followed.and(begun),
        }
    }

    fn follow(
        &mut self,
        doing: &str,
        check: &str,
        query: &mut dyn FnMut() -> Result<PurgeState, HostError>,
    ) -> Result<(), HostError> {
        let unknown = |why: String| HostError::PurgeEndUnknown {
            device: self.target.device().path.clone(),
            purge: doing.to_owned(),
            why,
            check: check.to_owned(),
        };
        let mut failed_queries = 0;
        loop {
            match query() {
                Ok(PurgeState::Ended) => return Ok(()),
                Ok(PurgeState::Failed(error)) => return Err(error),
                Ok(PurgeState::Running(percent)) => {
                    failed_queries = 0;
                    self.report(doing, percent);
                }
                Err(error) if failed_queries >= FAILED_QUERIES_MAX => {
                    return Err(unknown(format!("its progress cannot be read ({error})")));
                }
                // A device that resets meanwhile refuses commands for a while.
                Err(_) => failed_queries += 1,
            }
            if self.watch.is_stopped() {
                self.report(&format!("the device continues {doing}; it cannot be canceled"), None);
                let why = "the run was stopped, and the device continues: it cannot be canceled";
                return Err(unknown(why.to_owned()));
            }
            // Not before the first query: a tool that returned at the end may have taken longer.
            if self.elapsed() >= PURGE_TIMEOUT {
                return Err(unknown("it did not end within 48 hours".to_owned()));
            }
            self.tools.pause(STATUS_INTERVAL);
        }
    }

    pub fn report_uncancelable(&mut self, doing: &str) {
        if self.watch.is_stopped() {
            let doing = format!("{doing}; it cannot be canceled, the run stops after it");
            self.report(&doing, None);
        } else {
            self.report(doing, None);
        }
    }
}

/// State of a purge that the device carries out by itself.
pub(super) enum PurgeState {
    /// Still at work; the progress in percent, if the device reports it.
    Running(Option<f64>),
    Ended,
    Failed(HostError),
}

/// Outcome of a purge command.
pub(super) enum PurgeOutcome {
    Purged,
    /// Purged by a command that this tool sent.
    PurgedBy(Tool),
    /// The device announced the command but does not support it.
    Unknown,
}
