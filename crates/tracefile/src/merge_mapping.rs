//! Where a capture stands among others that are read with it: on their common time
//! axis, and its devices among theirs.

/// The place of a capture among others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// How much later than the axis it began, in nanoseconds.
    pub shift_ns: u64,
    /// The numbers that its devices have among those of all.
    pub devices: Vec<u16>,
    /// The same of its cgroups, both counted from 1.
    pub cgroups: Vec<u16>,
    /// Devices of all: what the captures do not name comes after them.
    pub named: u16,
}

impl Place {
    /// The number of one of its devices among those of all. One that its conditions do not
    /// name is the same as another capture's of that number: nothing else tells it.
    pub fn device(&self, own: u16) -> u16 {
        let named = self.devices.get(usize::from(own)).copied();
        named.unwrap_or_else(|| self.named.saturating_add(own))
    }
    /// The number of one of its cgroups among those of all; 0 is none.
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
        let place = Place { devices: vec![4, 1], named: 5, ..Place::default() };
        assert_eq!(
            [0, 1, 2, 3, 9, u16::MAX].map(|own| place.device(own)),
            [4, 1, 7, 8, 14, u16::MAX]
        );
        assert_eq!([0, 7].map(|own| Place::default().device(own)), [0, 7]);
    }
}
