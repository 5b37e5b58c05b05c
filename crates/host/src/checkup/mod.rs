//! What can spoil a measurement, looked for before a run: the device's place
//! and link, its queue and format, its health, the processors, and whatever
//! else uses the machine.
//!
//! Nothing is changed and no data is read or written. Every check says what was
//! found; what the machine does not tell is
//! [unknown](steadfast_domain::record::CheckState::Unknown), never good.

mod activity;
mod cgroup;
mod health;
mod link;
mod place;
mod processors;
mod programs;
mod queue;
mod subject;
#[cfg(test)]
mod tests;
mod timers;
mod topic;

use crate::roots::Roots;
use std::time::Duration;
use steadfast_domain::Device;
use steadfast_domain::record::Check;
use subject::Subject;

pub use processors::throttle_count;

/// How long the machine should be watched for what else it does.
pub const WATCH: Duration = Duration::from_secs(1);

/// Looks a device and its host over. It takes as long as `watch` ([`WATCH`]),
/// or as the device's tools take to answer.
pub fn examine(device: &Device, roots: &Roots, watch: Duration) -> Vec<Check> {
    let subject = Subject::new(device, roots);
    let watching = activity::Watch::begin(&subject);
    let answer = crate::device_log::health(device, roots);
    let facts = answer.as_ref().and_then(|answer| answer.as_ref().ok()).map(|h| &h.nvme);
    let mut checks = place::checks(&subject);
    checks.extend(link::checks(&subject, facts));
    checks.extend(queue::checks(&subject, facts));
    checks.extend(health::checks(&subject, answer.as_ref()));
    checks.extend(processors::checks(&subject));
    checks.push(cgroup::check(&subject));
    checks.extend(timers::checks(&subject));
    checks.extend(watching.end(&subject, watch));
    checks
}
