//! Where a capture stands among others that are read with it: on their common time
//! axis, and its devices among theirs.

/// The place of a capture among others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// How much later than the axis it began, in nanoseconds.
    pub shift_ns: u64,
    /// The numbers that its devices have among those of all.
    pub devices: Vec<u16>,
}

impl Place {
    /// The number of one of its devices among those of all.
    pub fn device(&self, own: u16) -> u16 {
        self.devices.get(usize::from(own)).copied().unwrap_or(u16::MAX)
    }
}
