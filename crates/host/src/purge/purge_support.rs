//! A purge method and whether a target supports it.

use steadfast_domain::PurgeMethod;

/// A purge method with the command that applies it (`W`), or the reason why the target does not
/// support it.
pub(super) struct PurgeSupport<W> {
    pub method: PurgeMethod,
    /// True if the device does not report whether it supports the method; `auto` skips it then.
    pub unsure: bool,
    pub way: Result<W, String>,
}

impl<W> PurgeSupport<W> {
    pub const fn sure(method: PurgeMethod, way: Result<W, String>) -> Self {
        PurgeSupport { method, unsure: false, way }
    }

    /// Converts the command with `whole`, for example into a variant of an enum.
    pub fn map<V>(self, whole: impl FnOnce(W) -> V) -> PurgeSupport<V> {
        PurgeSupport { method: self.method, unsure: self.unsure, way: self.way.map(whole) }
    }
}
