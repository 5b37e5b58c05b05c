//! A purge method and whether a target supports it.

use crate::error::HostError;
use steadfast_domain::PurgeMethod;

/// A purge method with the command that applies it (`C`), or the reason why the target does not
/// support it.
pub(super) struct PurgeSupport<C> {
    pub method: PurgeMethod,
    /// True if the device does not report whether it supports the method; `auto` skips it then.
    pub unsure: bool,
    pub command: Result<C, String>,
}

impl<C> PurgeSupport<C> {
    pub const fn sure(method: PurgeMethod, command: Result<C, String>) -> Self {
        PurgeSupport { method, unsure: false, command }
    }

    /// Converts the command, for example into a variant of an enum.
    pub fn map<D>(self, convert: impl FnOnce(C) -> D) -> PurgeSupport<D> {
        let PurgeSupport { method, unsure, command } = self;
        PurgeSupport { method, unsure, command: command.map(convert) }
    }
}

/// Returns the outcome of a purge that a tool has begun and the device carries out by itself.
/// `follow` waits for its end: a tool that failed may have begun it.
///
/// # Errors
/// Returns the error of the tool if the device is idle, and the error of `follow` if it may still
/// erase.
pub(super) fn follow_begun<T>(
    begun: Result<T, HostError>,
    follow: impl FnOnce() -> Result<(), HostError>,
) -> Result<T, HostError> {
    let is_unclear = matches!(begun, Err(HostError::ToolFailed { .. }));
    if begun.is_err() && !is_unclear {
        return begun;
    }
    match follow() {
        Err(HostError::ToolFailed { .. } | HostError::PurgeFailed { .. }) if is_unclear => begun,
        followed => followed.and(begun),
    }
}
