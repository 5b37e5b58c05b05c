//! Status of a completed NVMe command.

use std::fmt;

/// Status field of a completion: status code and status code type, without the phase, retry and
/// "more" bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeStatus(u16);

/// Names of status values, sorted by value: type in bits 10:8, code in bits 7:0 (NVMe Base 2.1,
/// 4.2.3; linux/nvme.h).
const NAMES: [(u16, &str); 41] = [
    (0x001, "Invalid Command Opcode"),
    (0x002, "Invalid Field in Command"),
    (0x004, "Data Transfer Error"),
    (0x005, "Commands Aborted due to Power Loss Notification"),
    (0x006, "Internal Error"),
    (0x007, "Command Abort Requested"),
    (0x00b, "Invalid Namespace or Format"),
    (0x00c, "Command Sequence Error"),
    (0x015, "Operation Denied"),
    (0x01c, "Sanitize Failed"),
    (0x01d, "Sanitize In Progress"),
    (0x020, "Namespace is Write Protected"),
    (0x021, "Command Interrupted"),
    (0x022, "Transient Transport Error"),
    (0x023, "Command Prohibited by Command and Feature Lockdown"),
    (0x024, "Admin Command Media Not Ready"),
    (0x029, "FDP Disabled"),
    (0x080, "LBA Out of Range"),
    (0x081, "Capacity Exceeded"),
    (0x082, "Namespace Not Ready"),
    (0x083, "Reservation Conflict"),
    (0x084, "Format In Progress"),
    (0x105, "Asynchronous Event Request Limit Exceeded"),
    (0x109, "Invalid Log Page"),
    (0x10a, "Invalid Format"),
    (0x10b, "Firmware Activation Requires Conventional Reset"),
    (0x10d, "Feature Identifier Not Saveable"),
    (0x10e, "Feature Not Changeable"),
    (0x10f, "Feature Not Namespace Specific"),
    (0x118, "Namespace Already Attached"),
    (0x119, "Namespace Is Private"),
    (0x11a, "Namespace Not Attached"),
    (0x11d, "Device Self-test In Progress"),
    (0x11e, "Boot Partition Write Prohibited"),
    (0x123, "Sanitize Prohibited While Persistent Memory Region is Enabled"),
    (0x280, "Write Fault"),
    (0x281, "Unrecovered Read Error"),
    (0x286, "Access Denied"),
    (0x300, "Internal Path Error"),
    (0x370, "Host Pathing Error"),
    (0x371, "Command Aborted By Host"),
];

impl NvmeStatus {
    /// Returns the status in a value of the kernel, whose upper bits say whether to retry.
    pub(crate) const fn new(bits: u16) -> Self {
        NvmeStatus(bits & 0x7ff)
    }

    /// Returns true if the controller may be erasing although the command that erases it has this
    /// status: Sanitize In Progress, Format In Progress, or a status of the path and not of the
    /// controller.
    pub(crate) const fn may_have_begun(self) -> bool {
        matches!(self.0, 0x01d | 0x084 | 0x300..=0x3ff)
    }
}

impl fmt::Display for NvmeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(value, _)| *value == self.0).map(|(_, name)| *name);
        let name = name.unwrap_or(match self.0 >> 8 {
            0 => "Generic Command Status",
            1 => "Command Specific Status",
            2 => "Media and Data Integrity Error",
            3 => "Path Related Status",
            7 => "Vendor Specific Status",
            _ => "Reserved Status",
        });
        write!(f, "{name} ({:03X}h)", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_its_name_without_the_retry_bits() {
        assert_eq!(NvmeStatus::new(0x4109).to_string(), "Invalid Log Page (109h)");
        assert_eq!(NvmeStatus::new(0x6002).to_string(), "Invalid Field in Command (002h)");
        assert_eq!(NvmeStatus::new(0x01ff).to_string(), "Command Specific Status (1FFh)");
        assert_eq!(NvmeStatus::new(0x07c0).to_string(), "Vendor Specific Status (7C0h)");
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
