//! What can be done to a target.

use steadfast_domain::PurgeMethod;

/// A method, and how it is done here (`W`) or why it cannot be.
pub(super) struct Ability<W> {
    pub method: PurgeMethod,
    /// The device does not say whether it can; `auto` leaves it then.
    pub unsure: bool,
    pub way: Result<W, String>,
}

impl<W> Ability<W> {
    pub const fn sure(method: PurgeMethod, way: Result<W, String>) -> Self {
        Ability { method, unsure: false, way }
    }

    /// The same in the words of a whole that this way is a part of.
    pub fn map<V>(self, whole: impl FnOnce(W) -> V) -> Ability<V> {
        Ability { method: self.method, unsure: self.unsure, way: self.way.map(whole) }
    }
}
