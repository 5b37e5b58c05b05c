//! The result of the first pass over a trace, from which a script is played.

use super::address_map::AddressMap;
use super::options::ScriptOptions;
use steadfast_domain::script::DueTimeSource;

/// Everything that is known of a script before it is played.
#[derive(Debug)]
pub(super) struct ReplayPlan {
    pub(super) options: ScriptOptions,
    pub(super) issue_at: DueTimeSource,
    pub(super) map: AddressMap,
    /// Origin of the due times, in nanoseconds from the capture's beginning.
    pub(super) origin_ns: u64,
    /// Longest time by which an I/O is due before its issue, in nanoseconds.
    pub(super) wait_max_ns: u64,
    /// True if the capture's times are too coarse to separate two I/Os.
    pub(super) rounded_times: bool,
    /// True if the capture holds the flushes that implement the forced unit access of its writes.
    pub(super) fua_is_emulated: bool,
}
