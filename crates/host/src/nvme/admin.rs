//! NVMe admin commands through the kernel's ioctl `NVME_IOCTL_ADMIN_CMD`.

use super::status::NvmeStatus;
use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::sysfs_node::{SysfsNode, controllers};
use crate::system_roots::{SystemRoots, file_name, read_text};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;
use steadfast_domain::DeviceNumber;

/// `NVME_IOCTL_ADMIN_CMD` of linux/nvme_ioctl.h: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN_COMMAND: libc::Ioctl =
    (3 << 30 | size_of::<PassthroughCommand>() << 16 | 0x4e << 8 | 0x41) as libc::Ioctl;

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Debug, Default)]
struct PassthroughCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10_to_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<PassthroughCommand>() == 72);

/// An admin command. The words that it does not set are zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdminCommand {
    /// Name for messages, such as "Get Log Page 02h".
    pub name: String,
    /// Opcode (NVMe Base 2.1, figure 28).
    pub opcode: u8,
    /// Namespace; 0 for none, `u32::MAX` for all.
    pub nsid: u32,
    /// Command dwords 10 to 15.
    pub words: [u32; 6],
    /// Time that the kernel waits for completion; zero for its own limit (module parameter
    /// `admin_timeout`). After it the kernel resets the controller.
    pub timeout: Duration,
}

impl fmt::Display for AdminCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Completion of an admin command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdminCompletion {
    /// Status field, as the kernel returns it; 0 if the command succeeded.
    pub status: u16,
    /// Dword 0 of the completion, whose meaning depends on the command.
    pub result: u32,
}

/// The kernel's call for admin commands of one NVMe controller; implemented by its device node and
/// by the fault simulator.
pub trait AdminQueue: Send + Sync {
    /// Sends a command and waits for its completion. A command that transfers data fills `data`,
    /// whose length is that of the transfer.
    ///
    /// # Errors
    /// The kernel does not send the command, or gives up waiting for its completion.
    fn submit(&self, command: &AdminCommand, data: &mut [u8]) -> io::Result<AdminCompletion>;
}

/// Sends admin commands to one NVMe controller.
pub(crate) trait NvmeAdmin: Send + Sync {
    /// Sends a command and waits for its completion. A command that transfers data fills `data`,
    /// whose length is that of the transfer. Returns dword 0 of the completion.
    ///
    /// # Errors
    /// Returns [`HostError::NvmeStatus`] if the controller completes the command with an error, and
    /// [`HostError::Io`] if the kernel does not send it.
    fn send(&self, command: &AdminCommand, data: &mut [u8]) -> Result<u32, HostError>;
}

/// Node of an NVMe controller, as sysfs describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmeNode {
    /// Path of the controller's character device; that of the namespace's block device if the
    /// controller has none here, as in a container.
    pub path: PathBuf,
    /// Device number in sysfs; `None` if sysfs lists none.
    number: Option<DeviceNumber>,
    is_block: bool,
    /// Serial number of the controller in sysfs.
    pub serial: Option<String>,
    /// Identifier of the namespace; `None` if sysfs lists none.
    pub nsid: Option<u32>,
}

impl NvmeNode {
    /// Returns the node of a namespace's first controller that answers.
    pub(crate) fn of_namespace(whole: &SysfsNode, roots: &SystemRoots) -> NvmeNode {
        let controllers = controllers(whole);
        let is_live = |directory: &&PathBuf| {
            read_text(&directory.join("state")).is_some_and(|state| state == "live")
        };
        let directory = controllers.iter().find(is_live).or_else(|| controllers.first()).cloned();
        let attribute = |name: &str| read_text(&directory.as_ref()?.join(name));
        let path = directory.as_ref().map(|directory| roots.dev.join(file_name(directory)));
        let serial = attribute("serial");
        let nsid = whole.number("nsid");
        match path {
            Some(path) if path.exists() => {
                let number = attribute("dev").and_then(|text| text.parse().ok());
                NvmeNode { path, number, is_block: false, serial, nsid }
            }
            _ => {
                let (path, number) = (whole.path(roots), whole.device_number());
                NvmeNode { path, number, is_block: true, serial, nsid }
            }
        }
    }

    /// Opens the node and checks that it is the device that sysfs describes.
    ///
    /// # Errors
    /// Returns [`HostError::Io`] if it cannot be opened, and [`HostError::NotNvme`] if it is another
    /// device.
    pub(crate) fn open(&self) -> Result<KernelQueue, HostError> {
        let failed = |error| HostError::io("open it for NVMe commands", &self.path, error);
        let file = File::open(&self.path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let kind = metadata.file_type();
        let is_kind = if self.is_block { kind.is_block_device() } else { kind.is_char_device() };
        if !is_kind || self.number != Some(decode_dev(metadata.rdev())) {
            let why = match self.number {
                None => "the kernel lists no device number for it".to_owned(),
                Some(number) => format!("the kernel's device is {number}"),
            };
            return Err(HostError::NotNvme { path: self.path.clone(), why });
        }
        Ok(KernelQueue(file))
    }
}

/// An open NVMe controller and its path, for messages.
pub(crate) struct NvmeController {
    pub queue: Box<dyn AdminQueue>,
    pub path: PathBuf,
}

impl NvmeAdmin for NvmeController {
    fn send(&self, command: &AdminCommand, data: &mut [u8]) -> Result<u32, HostError> {
        let (path, name) = (self.path.clone(), command.to_string());
        match self.queue.submit(command, data) {
            Ok(AdminCompletion { status: 0, result }) => Ok(result),
            Ok(AdminCompletion { status, .. }) => {
                Err(HostError::NvmeStatus { path, command: name, status: NvmeStatus::new(status) })
            }
            Err(source) => Err(HostError::NvmeCommand { path, command: name, source }),
        }
    }
}

/// An open device node of an NVMe controller.
#[derive(Debug)]
pub(crate) struct KernelQueue(File);

impl AdminQueue for KernelQueue {
    fn submit(&self, command: &AdminCommand, data: &mut [u8]) -> io::Result<AdminCompletion> {
        let length = u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut call = PassthroughCommand {
            opcode: command.opcode,
            nsid: command.nsid,
            // Commands without data have no buffer.
            address: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
            data_length: length,
            cdw10_to_15: command.words,
            timeout_ms: u32::try_from(command.timeout.as_millis()).unwrap_or(u32::MAX),
            ..PassthroughCommand::default()
        };
        // SAFETY: the kernel reads and writes one `nvme_passthru_cmd`, which `call` is by its layout
        // and size (asserted above). It transfers at most `data_length` bytes to or from `address`,
        // which is the exclusively borrowed `data` and outlives the call: the ioctl returns only
        // after the command has completed or was aborted, and its pages are released. There is no
        // metadata. The descriptor is open as long as `self`.
        let returned = unsafe { libc::ioctl(self.0.as_raw_fd(), ADMIN_COMMAND, &mut call) };
        if returned < 0 {
            return Err(io::Error::last_os_error());
        }
        // A positive value is the status of the completion.
        Ok(AdminCompletion { status: returned as u16, result: call.result })
    }
}
