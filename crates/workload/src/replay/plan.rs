//! What the first pass over a trace leaves for playing it.

use super::map::AddressMap;
use super::options::ScriptOptions;
use steadfast_domain::script::IssueAt;

/// What is known of a script before it is played.
#[derive(Debug)]
pub(super) struct ReplayPlan {
    pub(super) options: ScriptOptions,
    pub(super) issue_at: IssueAt,
    pub(super) map: AddressMap,
    /// What due times are counted from, from the capture's beginning.
    pub(super) origin_ns: u64,
    /// The longest that any I/O is due before its issue.
    pub(super) slack_ns: u64,
    /// The capture's times are coarser than what lies between two I/Os.
    pub(super) rounded_times: bool,
    /// The capture holds the flushes that make the forced unit access of its writes.
    pub(super) fua_is_flushed: bool,
}
