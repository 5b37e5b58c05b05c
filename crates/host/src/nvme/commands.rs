//! The admin commands that this program sends. Numbers of commands and fields: NVMe Base
//! Specification 2.1, section 5.1.

use super::admin::{AdminCommand, NvmeAdmin};
use crate::error::HostError;
use std::time::Duration;
use steadfast_domain::DirectBuffer;

/// All namespaces, or the controller as a whole.
pub(crate) const EVERY_NAMESPACE: u32 = u32::MAX;

/// Size of every Identify data structure in bytes.
const IDENTIFY_LENGTH: usize = 4096;

/// Data structure that Identify returns (CNS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdentifyData {
    Namespace = 0x00,
    Controller = 0x01,
    AllocatedNamespaces = 0x10,
    UuidList = 0x17,
}

/// Part of a page to read, and the fields of the command that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRequest {
    pub nsid: u32,
    /// Bytes to read of a log page or of a feature's data, a multiple of 4.
    pub length: usize,
    /// Log specific parameter.
    pub parameter: u8,
    /// Log specific identifier, such as an endurance group.
    pub specific: u16,
    /// Index in the UUID list of the vendor whose page it is; 0 for none.
    pub uuid_index: u8,
    /// True if reading must not clear the event that announced the page (RAE).
    pub keeps_event: bool,
}

impl PageRequest {
    /// Requests the first `length` bytes of a page of the controller as a whole.
    pub const fn of_controller(length: usize) -> Self {
        PageRequest {
            nsid: EVERY_NAMESPACE,
            length,
            parameter: 0,
            specific: 0,
            uuid_index: 0,
            keeps_event: false,
        }
    }

    fn log_command(&self, id: u8) -> AdminCommand {
        let dwords = (self.length / 4).max(1) as u32 - 1;
        let low = dwords << 16 | u32::from(self.keeps_event) << 15;
        AdminCommand {
            name: format!("Get Log Page {id:02X}h"),
            opcode: 0x02,
            nsid: self.nsid,
            words: [
                low | u32::from(self.parameter & 0x7f) << 8 | u32::from(id),
                u32::from(self.specific) << 16 | dwords >> 16,
                0,
                0,
                u32::from(self.uuid_index & 0x7f),
                0,
            ],
            ..AdminCommand::default()
        }
    }
}

/// Erases the user data of a namespace and keeps its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatRequest {
    pub nsid: u32,
    /// Formatted LBA size (FLBAS) of the namespace.
    pub flbas: u8,
    /// Data protection type settings (DPS) of the namespace.
    pub dps: u8,
    /// Secure erase settings (SES): 1 user data erase, 2 cryptographic erase.
    pub erase: u8,
}

impl FormatRequest {
    /// Number of the LBA format: bits 3:0 and 6:5 of FLBAS (NVM Command Set 1.0, figure 97).
    pub const fn format(&self) -> u8 {
        (self.flbas & 0xf) | (self.flbas >> 5 & 0x3) << 4
    }
    /// Metadata settings (MSET): 1 if metadata is part of each block.
    pub const fn metadata(&self) -> u8 {
        self.flbas >> 4 & 1
    }
    /// Protection information type (PI).
    pub const fn protection(&self) -> u8 {
        self.dps & 0x7
    }
    /// Protection information location (PIL): 1 for the first bytes of the metadata.
    pub const fn location(&self) -> u8 {
        self.dps >> 3 & 1
    }

    /// Returns the command, which the kernel waits for up to `timeout`.
    pub fn command(&self, timeout: Duration) -> AdminCommand {
        let format = u32::from(self.format());
        AdminCommand {
            name: "Format NVM".to_owned(),
            opcode: 0x80,
            nsid: self.nsid,
            words: [
                (format & 0xf)
                    | u32::from(self.metadata()) << 4
                    | u32::from(self.protection()) << 5
                    | u32::from(self.location()) << 8
                    | u32::from(self.erase) << 9
                    | (format >> 4) << 12,
                0,
                0,
                0,
                0,
                0,
            ],
            timeout,
        }
    }
}

/// Sanitize operation (SANACT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SanitizeAction {
    BlockErase = 2,
    /// One pass of zeros.
    Overwrite = 3,
    CryptoErase = 4,
}

impl SanitizeAction {
    /// Returns the command. It allows an unrestricted exit from the failure mode (AUSE).
    pub fn command(self) -> AdminCommand {
        let passes = if self == SanitizeAction::Overwrite { 1 << 4 } else { 0 };
        AdminCommand {
            name: "Sanitize".to_owned(),
            opcode: 0x84,
            words: [self as u32 | 1 << 3 | passes, 0, 0, 0, 0, 0],
            ..AdminCommand::default()
        }
    }
}

impl dyn NvmeAdmin + '_ {
    /// Reads an Identify data structure.
    pub fn identify(&self, what: IdentifyData, nsid: u32) -> Result<Vec<u8>, HostError> {
        let command = AdminCommand {
            name: format!("Identify (CNS {:02X}h)", what as u8),
            opcode: 0x06,
            nsid,
            words: [what as u32, 0, 0, 0, 0, 0],
            ..AdminCommand::default()
        };
        self.read(&command, IDENTIFY_LENGTH)
    }

    /// Reads a log page.
    pub fn log_page(&self, id: u8, request: &PageRequest) -> Result<Vec<u8>, HostError> {
        self.read(&request.log_command(id), request.length)
    }

    /// Returns the current value of a feature without a data structure.
    pub fn feature(&self, id: u8) -> Result<u32, HostError> {
        self.send(&get_feature(id, 0), &mut [])
    }

    /// Reads the data structure of a feature.
    pub fn feature_data(
        &self,
        id: u8,
        uuid_index: u8,
        length: usize,
    ) -> Result<Vec<u8>, HostError> {
        self.read(&get_feature(id, uuid_index), length)
    }

    /// Sets the current value of a feature without a data structure; a reset restores the saved one.
    pub fn set_feature(&self, id: u8, value: u32) -> Result<(), HostError> {
        let command = AdminCommand {
            name: format!("Set Features {id:02X}h"),
            opcode: 0x09,
            words: [u32::from(id), value, 0, 0, 0, 0],
            ..AdminCommand::default()
        };
        self.send(&command, &mut []).map(drop)
    }

    fn read(&self, command: &AdminCommand, length: usize) -> Result<Vec<u8>, HostError> {
        let mut buffer = DirectBuffer::new(length);
        self.send(command, &mut buffer)?;
        Ok(buffer.to_vec())
    }
}

fn get_feature(id: u8, uuid_index: u8) -> AdminCommand {
    AdminCommand {
        name: format!("Get Features {id:02X}h"),
        opcode: 0x0a,
        words: [u32::from(id), 0, 0, 0, u32::from(uuid_index & 0x7f), 0],
        ..AdminCommand::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_page_is_requested_by_its_dwords() {
        // 512 bytes are 128 dwords, counted from 0.
        let whole = PageRequest::of_controller(512);
        let smart = whole.log_command(0x02);
        assert_eq!((smart.opcode, smart.nsid), (2, u32::MAX));
        assert_eq!(smart.words, [0x007f_0002, 0, 0, 0, 0, 0]);
        let group = PageRequest { nsid: 0, specific: 3, ..PageRequest::of_controller(64) };
        assert_eq!(group.log_command(0x22).words, [0x000f_0022, 0x0003_0000, 0, 0, 0, 0]);
        let telemetry = PageRequest { keeps_event: true, ..whole };
        assert_eq!(telemetry.log_command(0x08).words[0], 0x007f_8008);
        let events = PageRequest { parameter: 1, ..whole };
        assert_eq!(events.log_command(0x0d).words[0], 0x007f_010d);
        let vendor = PageRequest { uuid_index: 2, ..whole };
        assert_eq!(vendor.log_command(0xc0).words, [0x007f_00c0, 0, 0, 0, 2, 0]);
        // More dwords than 16 bits hold.
        let long = PageRequest::of_controller(1 << 18).log_command(0x07);
        assert_eq!((long.words[0], long.words[1]), (0xffff_0007, 0));
        let longer = PageRequest::of_controller((1 << 18) + 4).log_command(0x07);
        assert_eq!((longer.words[0], longer.words[1]), (0x0000_0007, 1));
    }

    #[test]
    fn format_keeps_format_metadata_and_protection() {
        let words = |flbas, dps, erase| {
            let request = FormatRequest { nsid: 3, flbas, dps, erase };
            let command = request.command(Duration::from_secs(1));
            assert_eq!((command.opcode, command.nsid), (0x80, 3));
            command.words
        };
        // Format 4, user data erase.
        assert_eq!(words(0x04, 0, 1), [0x204, 0, 0, 0, 0, 0]);
        // Format 17 (bits 6:5), metadata at the end of each block, protection type 1 in the first
        // bytes of the metadata, cryptographic erase.
        assert_eq!(words(0x31, 0x9, 2), [0x1531, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn sanitize_leaves_the_failure_mode_and_overwrites_once() {
        let words = |action: SanitizeAction| action.command().words;
        assert_eq!(words(SanitizeAction::BlockErase), [0x0a, 0, 0, 0, 0, 0]);
        assert_eq!(words(SanitizeAction::Overwrite), [0x1b, 0, 0, 0, 0, 0]);
        assert_eq!(words(SanitizeAction::CryptoErase), [0x0c, 0, 0, 0, 0, 0]);
    }
}
