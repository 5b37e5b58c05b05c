//! NVMe: admin commands by the kernel's ioctl, and the pages that a drive reports, decoded by
//! tables.

mod admin;
mod commands;
pub(crate) mod layouts;
mod page_decoder;
mod page_reader;
mod status;
#[cfg(test)]
mod tests;

pub use admin::{AdminCommand, AdminCompletion, AdminQueue, NvmeNode};
pub(crate) use admin::{NvmeAdmin, NvmeController};
pub(crate) use commands::{FormatRequest, IdentifyData, SanitizeAction};
pub(crate) use page_decoder::{PageField, ReadPage};
pub(crate) use page_reader::{
    DrivePages, OcpLogs, identify_controller, identify_namespace, sanitize_status, smart_log,
};
pub use status::NvmeStatus;
