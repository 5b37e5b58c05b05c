//! Maps a capture into a set of captures that are read together: onto their common time axis
//! and their common device numbers.

/// The mapping of one capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeMapping {
    /// Time from the beginning of the common axis to that of the capture, in nanoseconds.
    pub shift_ns: u64,
    /// Common device number by the capture's own device number.
    pub devices: Vec<u16>,
    /// Common cgroup number by the capture's own; both count from 1.
    pub cgroups: Vec<u16>,
    /// Number of named devices of all captures. Unnamed devices are numbered after them.
    pub named: u16,
}

impl MergeMapping {
    /// Returns the common number of a device. Devices that the conditions do not name are
    /// taken to be the same in all captures if they have the same number.
    pub fn device(&self, own: u16) -> u16 {
        let named = self.devices.get(usize::from(own)).copied();
        named.unwrap_or_else(|| self.named.saturating_add(own))
    }
    /// Returns the common number of a cgroup; 0 means none.
    pub fn cgroup(&self, own: u16) -> u16 {
        let at = usize::from(own).checked_sub(1);
        at.and_then(|at| self.cgroups.get(at)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_without_a_name_stay_apart() {
        let mapping = MergeMapping { devices: vec![4, 1], named: 5, ..MergeMapping::default() };
        let common = [0, 1, 2, 3, 9, u16::MAX].map(|own| mapping.device(own));
        assert_eq!(common, [4, 1, 7, 8, 14, u16::MAX]);
        assert_eq!([0, 7].map(|own| MergeMapping::default().device(own)), [0, 7]);
    }
}
