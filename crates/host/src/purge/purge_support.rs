//! A purge method and whether a target supports it.

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
