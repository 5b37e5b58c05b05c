//! Where a capture stands among others that are read with it: on their common time
//! axis, and its devices among theirs.

/// The place of a capture among others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// How much later than the axis it began, in nanoseconds.
    pub shift_ns: u64,
    /// The numbers that its devices have among those of all.
    pub devices: Vec<u16>,
    /// The same of its cgroups, both counted from 1.
    pub cgroups: Vec<u16>,
}

impl Place {
    /// The number of one of its devices among those of all.
    pub fn device(&self, own: u16) -> u16 {
        self.devices.get(usize::from(own)).copied().unwrap_or(u16::MAX)
    }
    /// The number of one of its cgroups among those of all; 0 is none.
    pub fn cgroup(&self, own: u16) -> u16 {
        let at = usize::from(own).checked_sub(1);
        at.and_then(|at| self.cgroups.get(at)).copied().unwrap_or(0)
    }
}
