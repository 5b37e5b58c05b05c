//! NVMe: admin commands by the kernel's ioctl, and the pages that a drive reports, decoded by
//! tables.

mod admin;
mod commands;
pub(crate) mod layouts;
mod page;
mod pages;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use admin::{AdminCommand, NvmeAdmin, NvmeNode};
pub(crate) use commands::{FormatRequest, IdentifyData, SanitizeAction};
pub(crate) use page::{PageField, ReadPage};
pub(crate) use pages::{
    DrivePages, OcpLogs, identify_controller, identify_namespace, sanitize_status, smart_log,
};
pub use status::NvmeStatus;
