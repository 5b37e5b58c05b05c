//! Checks before a run for conditions that distort a measurement: the device's kind and link, its
//! queue and format, its health, the processors, and other users of the machine.
//!
//! The checks change nothing and read or write no data. Every check says what it found; a value
//! that the machine does not report is
//! [unknown](steadfast_domain::record::CheckState::Unknown), never good.

mod activity;
mod cgroup;
mod device_data;
mod health;
mod link;
mod processors;
mod queue;
mod running_programs;
mod subject;
#[cfg(test)]
mod tests;
mod timers;
mod topic;

use crate::system_roots::SystemRoots;
use std::time::Duration;
use steadfast_domain::Device;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::record::Check;
use subject::CheckSubject;

pub use processors::throttle_count;

/// Time to observe the machine for other activity.
pub const WATCH: Duration = Duration::from_secs(1);

/// Results of the checks, and what the drive reports about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Results of the checks.
    pub checks: Vec<Check>,
    /// Pages of an NVMe drive; empty for other devices, or if they cannot be read.
    pub pages: Vec<DrivePage>,
}

/// Runs all checks of a device and its host. Takes as long as `watch` ([`WATCH`]), or longer if the
/// device needs more time.
pub fn examine(device: &Device, roots: &SystemRoots, watch: Duration) -> Examination {
    let subject = CheckSubject::new(device, roots);
    let watching = activity::ActivityWatch::begin(&subject);
    let answer = crate::device_log::health(device, roots);
    let health = answer.as_ref().and_then(|answer| answer.as_ref().ok());
    let facts = health.map(|health| &health.nvme);
    let mut checks = device_data::checks(&subject);
    checks.extend(link::checks(&subject, facts));
    checks.extend(queue::checks(&subject, facts));
    checks.extend(health::checks(&subject, answer.as_ref()));
    checks.extend(processors::checks(&subject));
    checks.push(cgroup::check(&subject));
    checks.extend(timers::checks(&subject));
    checks.extend(watching.end(&subject, watch));
    let pages = health.map(|health| health.pages.clone()).unwrap_or_default();
    Examination { checks, pages }
}
