//! The controller of a simulated NVMe drive.

use super::{CAPACITY, EraseCommand, SimulatedMachine, noise};
use crate::device_tools::ToolFault;
use std::io;
use std::time::Duration;
use steadfast_host::{AdminCommand, AdminCompletion};

/// Time after which the kernel resets a controller that does not complete a command without a time
/// limit of its own (module parameter `admin_timeout`).
const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);

pub const SERIAL: &str = "S676NF0R000000";

const SUCCESS: u16 = 0;
const INVALID_OPCODE: u16 = 0x001;
const INTERNAL_ERROR: u16 = 0x006;
const SANITIZE_IN_PROGRESS: u16 = 0x01d;
const FORMAT_IN_PROGRESS: u16 = 0x084;
const ABORTED_BY_HOST: u16 = 0x371;

impl SimulatedMachine {
    /// Executes an admin command, which this fault hits.
    ///
    /// # Errors
    /// The error of the kernel's call.
    pub fn submit(
        &mut self,
        command: &AdminCommand,
        data: &mut [u8],
        fault: Option<ToolFault>,
    ) -> io::Result<AdminCompletion> {
        self.is_gone |= fault == Some(ToolFault::Removed);
        if self.is_gone {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        if let Some(ToolFault::Start(errno)) = fault {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let erase = erase_of(command);
        if erase.is_some() {
            self.check_not_stopped(&command.name);
        }
        let limit = if command.timeout.is_zero() { ADMIN_TIMEOUT } else { command.timeout };
        match fault {
            Some(ToolFault::Hang { .. }) => self.advance(limit),
            Some(ToolFault::Late) => self.advance(limit / 2),
            Some(ToolFault::Restarted) => self.restart_work(),
            _ => {}
        }
        if limit > ADMIN_TIMEOUT {
            self.uncancelable_until = self.now;
        }
        let mut status = SUCCESS;
        if let Some(erase) = erase {
            status = match &self.work {
                Some(work) if work.erase.is_format => FORMAT_IN_PROGRESS,
                Some(_) => SANITIZE_IN_PROGRESS,
                None => SUCCESS,
            };
            if status == SUCCESS && begins(fault) {
                let is_endless = fault == Some(ToolFault::EndlessWork);
                self.begin(erase, fault != Some(ToolFault::NoWork), is_endless);
            }
        }
        self.has_refused |= status != SUCCESS && fault.is_none();
        match fault {
            // The kernel has reset the controller.
            Some(ToolFault::Hang { .. } | ToolFault::Exit { raw_status: 11, .. }) => {
                return Err(io::Error::from_raw_os_error(libc::EINTR));
            }
            Some(ToolFault::Exit { raw_status: 9, .. }) => status = ABORTED_BY_HOST,
            Some(ToolFault::Exit { .. }) => status = INTERNAL_ERROR,
            _ => {}
        }
        if status == SUCCESS {
            self.has_accepted |= erase.is_some();
            match erase {
                Some(erase) if erase.is_format => self.await_format(limit)?,
                Some(_) => {}
                None => status = self.fill(command, data, fault),
            }
        }
        Ok(AdminCompletion { status, result: 0 })
    }

    /// Waits as the kernel does until a Format has ended.
    fn await_format(&mut self, limit: Duration) -> io::Result<()> {
        let takes = self.work.as_ref().and_then(|work| work.takes);
        self.advance(takes.unwrap_or(limit).min(limit));
        self.uncancelable_until = self.now;
        if takes.is_some_and(|takes| takes <= limit) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::EINTR))
        }
    }

    /// Fills the data of a command that reads. Returns its status.
    fn fill(&mut self, command: &AdminCommand, data: &mut [u8], fault: Option<ToolFault>) -> u16 {
        data.fill(0);
        match (command.opcode, command.words[0] & 0xff) {
            (0x06, 0x00) => self.identify_namespace(data),
            (0x06, 0x01) => identify_controller(data),
            // The allocated namespaces.
            (0x06, 0x10) => data[0] = 1,
            (0x02, 0x81) => self.sanitize_log(data),
            _ => return INVALID_OPCODE,
        }
        match fault {
            Some(ToolFault::Silent) => data.fill(0),
            Some(ToolFault::Garbage) => {
                data.copy_from_slice(&noise(&mut self.dice, data.len()));
                // No status of a sanitize, and no progress of a format.
                data[2] |= 7;
                data[32] = 0;
            }
            Some(ToolFault::Torn) => {
                let length = self.dice.below(data.len() as u64) as usize;
                data[length..].fill(0);
            }
            _ => {}
        }
        let is_damaged = matches!(fault, Some(ToolFault::Silent | ToolFault::Torn));
        if is_damaged && command.opcode == 0x02 && !self.has_accepted {
            // Without an accepted command, nothing contradicts a drive that denies its erase.
            data[2] |= 7;
        }
        SUCCESS
    }

    /// Size at byte 0, format progress at 32, LBA format 0 of 512 bytes at 128.
    fn identify_namespace(&self, data: &mut [u8]) {
        data[..8].copy_from_slice(&(CAPACITY as u64 / 512).to_le_bytes());
        data[130] = 9;
        data[32] = 0x80;
        if self.work.as_ref().is_some_and(|work| work.erase.is_format) {
            data[32] |= 100 - self.percent().min(99) as u8;
        }
    }

    /// Progress at byte 0, status at 2.
    fn sanitize_log(&self, data: &mut [u8]) {
        let (progress, status) = match &self.work {
            Some(work) if !work.erase.is_format => (self.percent().min(99) * 65_536 / 100, 2),
            _ if self.has_completed => (65_535, 0x101),
            _ => (65_535, 0),
        };
        data[..2].copy_from_slice(&(progress as u16).to_le_bytes());
        data[2..4].copy_from_slice(&u16::to_le_bytes(status));
    }
}

/// Returns the erase that a command begins, if any.
fn erase_of(command: &AdminCommand) -> Option<EraseCommand> {
    let word = command.words[0];
    match command.opcode {
        0x80 => Some(EraseCommand { is_format: true, is_crypto: word >> 9 & 7 == 2 }),
        0x84 => Some(EraseCommand { is_format: false, is_crypto: word & 7 == 4 }),
        _ => None,
    }
}

/// Returns true if a controller that this fault hits begins the erase. One that completes the
/// command with an error of its own does not.
fn begins(fault: Option<ToolFault>) -> bool {
    match fault {
        Some(ToolFault::Exit { raw_status, has_worked }) => raw_status < 256 && has_worked,
        Some(ToolFault::Hang { has_worked }) => has_worked,
        _ => true,
    }
}

/// Serial number at byte 4, OACS at 256 (Format, namespace management), SANICAP at 328
/// (cryptographic and block erase), FNA at 524 (cryptographic erase by Format).
fn identify_controller(data: &mut [u8]) {
    data[4..24].fill(b' ');
    data[4..4 + SERIAL.len()].copy_from_slice(SERIAL.as_bytes());
    data[256] = 0xa;
    data[328] = 3;
    data[524] = 4;
}
