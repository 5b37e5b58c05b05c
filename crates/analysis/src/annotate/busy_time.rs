//! Busy time of devices: the parts of the durations of their I/Os in which they would have been idle
//! without each.

use crate::device_layer::DeviceLayer;
use serde::{Deserialize, Serialize};

/// The part of an I/O's duration in which its device would have been idle without it, as (begin,
/// end) in nanoseconds; (0, 0) if there is none. The parts of a device never overlap.
pub type BusySpan = (u64, u64);

/// Busy time of a device at a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceBusySpan {
    /// Device, at its layer.
    pub side: DeviceLayer,
    /// Time for which it was busy.
    pub span: BusySpan,
}

/// Time until which a device is busy with the I/Os so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceBusyTime {
    busy_until: u64,
    /// False before the first I/O.
    has_ios: bool,
}

impl DeviceBusyTime {
    /// Returns for how long the device has been idle at `issued`; 0 if it is busy, or before its
    /// first I/O.
    #[inline]
    pub(crate) fn idle_at(self, issued: u64) -> u64 {
        if self.has_ios { issued.saturating_sub(self.busy_until) } else { 0 }
    }

    /// Adds an I/O. Returns the part of its duration in which no earlier I/O was outstanding.
    #[inline]
    pub(crate) fn add(&mut self, issued: u64, completed: u64) -> BusySpan {
        self.has_ios = true;
        let begin = issued.max(self.busy_until);
        let end = completed.max(begin);
        self.busy_until = self.busy_until.max(completed);
        if end > begin { (begin, end) } else { (0, 0) }
    }

    /// Returns the span from a time until the last of the I/Os completes, or `None` if the device is
    /// idle then.
    pub(crate) fn rest_from(self, at_ns: u64) -> Option<BusySpan> {
        (self.busy_until > at_ns).then_some((at_ns, self.busy_until))
    }
}
